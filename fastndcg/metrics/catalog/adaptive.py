"""Metrics of a user who adapts to what was found so far."""

from fastndcg.metrics.catalog.record import GAIN_REL, WITHOUT_AVERAGE, Parameter, Record

OWN_GAIN = Parameter(
    "gain", "gain", "binary", "binary, linear, exp2 or a table of gains, none of them above 1 for INST"
)
NO_AVERAGE = (
    "the mean over the orders of a tie would need how many sets of documents gain each sum, for which no way is known "
    "that takes a power of their number"
)

RECORDS = (
    Record(
        name="INST",
        title="inverse squares of ranks and of what is still to be gained",
        kernel="adaptive.inst",
        formula="sum over ranks r = 1 … k of gain(label at rank r) · V(r), over the sum of V(r); V(1) = 1 and "
        "V(r + 1) = V(r) · ((r + goal + left − 1) / (r + goal + left))², where left is the goal less the gains down to "
        "rank r; ranks below the last document gain nothing, and without k there is no end of them; "
        f"{NO_AVERAGE}",
        latex=(
            r"\mathrm{INST@}k = \frac{\sum_{r=1}^{k} g_r \cdot V_r}{\sum_{r=1}^{k} V_r}",
            r"V_1 = 1, \quad V_{r+1} = V_r \cdot \left(\frac{r + T + T_r - 1}{r + T + T_r}\right)^2",
            r"T_r = T - \sum_{i=1}^{r} g_i",
        ),
        range="0 to 1",
        undefined="never",
        source="A. Moffat, P. Bailey, F. Scholer, P. Thomas, Incorporating user expectations and behavior into the "
        "measurement of search effectiveness, TOIS 2017",
        doi="10.1145/3052768",
        parameters=(
            Parameter("goal", "float", 1, "T, what the user wants to gain; from 0.25 to 10000", min=0.25, max=10_000),
            OWN_GAIN,
            GAIN_REL,
        ),
        aliases=("inst",),
        peers=(("ir_measures", "INST, which ends at rank 1000: INST@1000"), ("cwl_eval", "INST")),
        ties=WITHOUT_AVERAGE,
    ),
    Record(
        name="BPM",
        title="Bejeweled player model, static",
        kernel="adaptive.bejeweled_player",
        formula="gains down to the rank where they reach the goal, or down to rank k if that comes first, over that "
        f"rank; without k, 0 if the goal is not reached; {NO_AVERAGE}",
        latex=(
            r"\mathrm{BPM@}k = \frac{1}{m} \sum_{r=1}^{m} g_r",
            r"m = \min\left(k, \; \min \{ r : \sum_{i=1}^{r} g_i \geq T \}\right)",
        ),
        range="0 to 1 for gains up to 1",
        undefined="never",
        source="F. Zhang, Y. Liu, X. Li, M. Zhang, Y. Xu, S. Ma, Evaluating web search with a Bejeweled player model, "
        "SIGIR 2017",
        doi="10.1145/3077136.3080841",
        parameters=(Parameter("goal", "float", 1, "T, what the user wants to gain", above=0), OWN_GAIN, GAIN_REL),
        aliases=("bpm",),
        peers=(("ir_measures", "BPM, whose K is the cutoff"), ("cwl_eval", "BPM-Static")),
        ties=WITHOUT_AVERAGE,
    ),
)
SECTIONS = {1100: RECORDS}

"""Metrics of a user who stops at a document with some chance."""

from fastndcg.metrics.catalog.record import REL, Parameter, Record

MAX_GRADE = Parameter("max_grade", "int", 4, "the highest label there is; a higher one is an error", min=1, max=1023)
STOP = Parameter(
    "stop", "choice", "grades",
    "what labels are: grades, with (2^label − 1) / 2^max_grade the chance to stop at a document, or such chances",
    choices=("grades", "labels"),
)  # fmt: skip
CHAPELLE_2009 = (
    "O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009"
)
TIES = "; in a tie group by elementary symmetric polynomials of the chances to go on"

RECORDS = (
    Record(
        name="ERR",
        title="expected reciprocal rank",
        kernel="cascade.expected_reciprocal_rank",
        formula="sum over ranks r = 1 … k of 1/r · stop(r) · product over the ranks i above of 1 − stop(i), where "
        "stop(r) = (2^label − 1) / 2^max_grade" + TIES,
        latex=(
            r"\mathrm{ERR@}k = \sum_{r=1}^{k} \frac{s_r}{r} \prod_{i=1}^{r-1} (1 - s_i)",
            r"s_r = \frac{2^{\ell_r} - 1}{2^{\ell_{\max}}}",
        ),
        range="0 to 1",
        undefined="never",
        source=CHAPELLE_2009,
        doi="10.1145/1645953.1646033",
        parameters=(MAX_GRADE, STOP),
        aliases=("err", "expected_reciprocal_rank"),
        peers=(("ir_measures", "ERR"), ("RankLib", "ERR"), ("CatBoost", "ERR, as ERR(stop=labels)")),
    ),
    Record(
        name="nERR",
        title="normalised expected reciprocal rank",
        kernel="cascade.normalised_reciprocal_rank",
        formula="ERR@k / ERR@k of the best order of all judged documents",
        latex=(r"\mathrm{nERR@}k = \frac{\mathrm{ERR@}k}{\mathrm{ERR}^*\mathrm{@}k}",),
        range="0 to 1",
        undefined="nothing has a label above 0",
        source=CHAPELLE_2009 + "; C. L. A. Clarke and others, A comparative analysis of cascade measures, WSDM 2011",
        doi="10.1145/1935826.1935847",
        parameters=(MAX_GRADE, STOP),
        aliases=("nerr",),
    ),
    Record(
        name="PFound",
        title="chance to find",
        kernel="cascade.pfound",
        formula="sum over ranks r = 1 … k of decay^(r − 1) · stop(r) · product over the ranks i above of 1 − stop(i)"
        + TIES,
        latex=(r"\mathrm{PFound@}k = \sum_{r=1}^{k} \delta^{r-1} \cdot s_r \prod_{i=1}^{r-1} (1 - s_i)",),
        range="0 to 1",
        undefined="never",
        source="A. Gulin, P. Karpovich, D. Raskovalov, I. Segalovich, Yandex at ROMIP 2009, ROMIP 2009, "
        "http://romip.ru/romip2009/15_yandex.pdf",
        parameters=(
            Parameter("decay", "float", 0.85, "the chance to go on from one rank to the next", above=0, below=1),
            MAX_GRADE,
            STOP,
        ),
        aliases=("pfound",),
        peers=(("CatBoost", "PFound, as PFound(stop=labels)"),),
    ),
    Record(
        name="TBG",
        title="time-biased gain",
        kernel="cascade.time_biased_gain",
        formula="sum over ranks r = 1 … k with a relevant document of 0.64 · 0.77 · 2^(−t / half_life), where t "
        "seconds were read above: 4.4 + (0.018 · words + 7.8) · 0.64 for each relevant document, · 0.39 for each other",
        latex=(
            r"\mathrm{TBG@}k = \sum_{r=1}^{k} \mathrm{rel}_r \cdot 0.64 \cdot 0.77 \cdot 2^{-t_r / t_{1/2}}",
            r"t_r = \sum_{i=1}^{r-1} (4.4 + (0.018 \, \mathrm{words} + 7.8) \cdot (0.39 + 0.25 \, \mathrm{rel}_i))",
        ),
        range="0 and up",
        undefined="never",
        source="M. D. Smucker and C. L. A. Clarke, Time-based calibration of effectiveness measures, SIGIR 2012; "
        "every document is taken to be as long, and none to be a duplicate",
        doi="10.1145/2348283.2348300",
        parameters=(
            Parameter("half_life", "float", 224, "seconds after which half of the users read on", above=0),
            Parameter("words", "float", 363, "words in a document; by default the mean of AQUAINT's", above=0),
            REL,
        ),
        aliases=("tbg", "time_biased_gain"),
    ),
)
SECTIONS = {1000: RECORDS}

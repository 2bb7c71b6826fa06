"""Metrics that blend gains with counts."""

from fastndcg.metrics.catalog.record import GAIN, REL, Parameter, Record

RECORDS = (
    Record(
        name="Q",
        title="Q-measure",
        kernel="q_measure.q_measure",
        formula="sum over ranks r = 1 … k with a relevant document of (C(r) + beta · G(r)) / (r + beta · G*(r)), where "
        "C counts the relevant documents down to r, G adds up their gains, and G* those of the best order; divided by "
        "the number of relevant documents, or what else AP divides by",
        latex=(
            r"\mathrm{Q@}k = \frac{1}{R} \sum_{r=1}^{k} \mathrm{rel}_r \cdot \frac{h_r + \beta \sum_{i=1}^{r} g_i}{r "
            r"+ \beta \sum_{i=1}^{r} g^*_i}",
        ),
        range="0 to 1",
        undefined="nothing is relevant",
        source="T. Sakai, New performance metrics based on multigrade relevance: their application to question "
        "answering, NTCIR-4, 2004; T. Sakai, On the reliability of information retrieval metrics based on graded "
        "relevance, Information Processing & Management 2007",
        doi="10.1016/j.ipm.2006.07.020",
        parameters=(
            Parameter("beta", "float", 1, "how much a gain counts beside a relevant document", above=0),
            GAIN,
            REL,
        ),
        aliases=("q_measure", "q-measure"),
        peers=(("NTCIREVAL", "Q-measure"),),
    ),
)
SECTIONS = {1200: RECORDS}

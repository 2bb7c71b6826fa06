"""Metrics that blend gains with counts."""

from fastndcg.catalog.record import GAIN, REL, Parameter, Record

RECORDS = (
    Record(
        name="Q",
        title="Q-measure",
        kernel="blended.q_measure",
        formula="sum over ranks r = 1 … k with a relevant document of (C(r) + beta · G(r)) / (r + beta · G*(r)), where "
        "C counts the relevant documents down to r, G adds up their gains, and G* those of the best order; divided by "
        "the number of relevant documents, or what else AP divides by",
        range="0 to 1",
        undefined="nothing is relevant",
        source="T. Sakai, New performance metrics based on multigrade relevance: their application to question "
        "answering, NTCIR-4, 2004",
        parameters=(Parameter("beta", "positive", 1, "how much a gain counts beside a relevant document"), GAIN, REL),
        aliases=("q_measure", "q-measure"),
        peers=(("NTCIREVAL", "Q-measure"),),
    ),
)

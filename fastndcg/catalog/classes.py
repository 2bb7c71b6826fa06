"""Metrics of a classifier that takes the first k documents for relevant."""

from fastndcg.catalog.record import REL, VAN_RIJSBERGEN_1979, Record

RECORDS = (
    Record(
        name="Accuracy",
        title="accuracy",
        kernel="classes.accuracy",
        formula="relevant documents among the first k and others below them, divided by the number of documents that "
        "are ranked or relevant",
        range="0 to 1",
        undefined="there are no documents",
        source=VAN_RIJSBERGEN_1979,
        parameters=(REL,),
        aliases=("accuracy",),
        peers=(("RecTools", "Accuracy"),),
    ),
    Record(
        name="FallOut",
        title="fall-out",
        kernel="classes.fall_out",
        formula="documents among the first k that are not relevant, divided by the number of those that are ranked",
        range="0 to 1",
        undefined="everything is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(REL,),
        aliases=("fall_out", "fallout"),
        peers=(("TorchMetrics", "retrieval_fall_out"),),
        higher_is_better=False,
    ),
)

"""Precision at a recall, interpolated: the highest that is reached there or deeper."""

from fastndcg.catalog.record import REL, VAN_RIJSBERGEN_1979, Parameter, Record

ELEVEN = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
OVER_ORDERS = (
    "in tie groups, which are independent, P(highest < t) counts the orders that stay below a line, for each value t "
    "that a precision may have: by their last crossing, at no more than the square of the relevant documents of a "
    "group times its others, which must be at most 2e9"
)

RECORDS = (
    Record(
        name="IPrec",
        title="interpolated precision at a recall",
        kernel="interpolated.precision_at_recall",
        formula="highest P@r at any rank r by which recall · R relevant documents are found, rounded as the convention "
        f"says; 0 if so many are not found; {OVER_ORDERS}",
        range="0 to 1",
        undefined="nothing is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(Parameter("recall", "share", 0.5, "the recall, from 0 to 1"), REL),
        aliases=("interpolated_precision", "iprec_at_recall"),
        trec_at=("iprec_at_recall", "recall"),
        takes_k=False,
    ),
    Record(
        name="IAP",
        title="interpolated average precision, of 11 points",
        kernel="interpolated.average_over_recalls",
        formula=f"mean of IPrec over the recalls; {OVER_ORDERS}",
        range="0 to 1",
        undefined="nothing is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(Parameter("recalls", "shares", ELEVEN, "the recalls, by default 0, 0.1, …, 1"), REL),
        aliases=("11pt_avg", "11-pt_avg", "eleven_point_average_precision"),
        trec_name="11pt_avg",
        takes_k=False,
    ),
)

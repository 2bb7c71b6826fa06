"""Precision at a recall, interpolated: the highest that is reached there or deeper."""

from fastndcg.metrics.catalog.record import REL, VAN_RIJSBERGEN_1979, WITHOUT_AVERAGE, Parameter, Record

ELEVEN = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

NO_AVERAGE = "the mean of this maximum over the orders of a tie has no short formula"

RECORDS = (
    Record(
        name="IPrec",
        title="interpolated precision at a recall",
        kernel="interpolated_precision.interpolate",
        formula="highest P@r at any rank r by which recall · R relevant documents are found, rounded as the convention "
        f"says; 0 if so many are not found; {NO_AVERAGE}",
        latex=(r"\mathrm{IPrec}(\varrho) = \max_{r \, : \, h_r \geq \varrho R} \; \frac{h_r}{r}",),
        range="0 to 1",
        undefined="nothing is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(Parameter("recall", "float", 0.5, "the recall, from 0 to 1", min=0, max=1), REL),
        aliases=("interpolated_precision", "iprec_at_recall"),
        trec_at=("iprec_at_recall", "recall"),
        ties=WITHOUT_AVERAGE,
        has_cutoff=False,
    ),
    Record(
        name="IAP",
        title="interpolated average precision, of 11 points",
        kernel="interpolated_precision.average_over_recalls",
        formula=f"mean of IPrec over the recalls; {NO_AVERAGE}",
        latex=(r"\mathrm{IAP} = \frac{1}{|\mathcal{L}|} \sum_{\varrho \in \mathcal{L}} \mathrm{IPrec}(\varrho)",),
        range="0 to 1",
        undefined="nothing is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(Parameter("recalls", "table", ELEVEN, "the recalls, by default 0, 0.1, …, 1", min=0, max=1), REL),
        aliases=("11pt_avg", "11-pt_avg", "eleven_point_average_precision"),
        trec_name="11pt_avg",
        ties=WITHOUT_AVERAGE,
        has_cutoff=False,
    ),
)
SECTIONS = {500: RECORDS}

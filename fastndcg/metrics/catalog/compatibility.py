"""Metrics that compare a ranking with ideal ones."""

from fastndcg.metrics.catalog.record import Parameter, Record

RECORDS = (
    Record(
        name="Compat",
        title="compatibility: the highest rank-biased overlap with an ideal ranking",
        kernel="compatibility.compatibility",
        formula="sum over d = 1 … k of p^(d − 1) · |R:d ∩ I:d| / d, over the same of I with itself; R:d are the first "
        "d documents, I those with a label by falling label, of one label in the order of R; without k all ranks",
        latex=(
            r"\mathrm{Compat@}k = \frac{\sum_{d=1}^{k} p^{d-1} \cdot |A_d \cap I_d| \, / \, d}{\sum_{d=1}^{k} "
            r"p^{d-1} \cdot |I_d| \, / \, d}",
        ),
        range="0 to 1",
        undefined="no label is above 0",
        source="C. L. A. Clarke, A. Vtyurina and M. D. Smucker, Assessing top-k preferences, TOIS 2021",
        doi="10.1145/3451161",
        parameters=(
            Parameter("p", "float", 0.95, "how likely the user is to look at the next rank", above=0, below=1),
        ),
        aliases=("compat", "compatibility"),
        peers=(("ir_measures", "Compat, whose ranks end with the longer of both lists"),),
    ),
)
SECTIONS = {900: RECORDS}

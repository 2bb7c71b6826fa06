"""Methods that learn from judgments how much the ranks of each run are worth."""

from dataclasses import replace
from typing import Any

from fastndcg.fusion.records import ASLAM_2001, LILLIS_2010, NORM, MethodRecord
from fastndcg.metrics.families import Parameter

SHOKOUHI_2007 = "M. Shokouhi, Segmentation of search engine results for effective data-fusion, ECIR 2007"


def _make_trained(name: str, *, absent: str = "zero", **fields: Any) -> MethodRecord:
    """Return a method of ranx that adds up points, which it learns."""
    return MethodRecord(
        name=name, kernel="weighted_sum", points=name, peers=(("ranx", name),), absent=absent, is_linear=True,
        needs_training=True, **fields,
    )  # fmt: skip


TRAINED_METHODS = (
    _make_trained(
        "bayesfuse",
        title="BayesFuse, the sum of log odds",
        formula="Σ ln(p / (1 − p)), p the precision in the rank's segment, with ends at 5, 10, 15, 20, 30, 100, 200, "
        "500 and 1000, 0.001 in place of 0; absent documents and ranks beyond 1000 count as p = 0.001",
        source=ASLAM_2001,
        doi="10.1145/383952.384007",
        absent="own",
    ),
    _make_trained(
        "probfuse",
        title="ProbFuse, probabilities of relevance in segments of equal size",
        formula="Σ p / segment, p the mean precision in the rank's segment, segments numbered from 1",
        source="D. Lillis, F. Toolan, R. W. Collier and J. Dunnion, ProbFuse: a probabilistic approach to data fusion, "
        "SIGIR 2006",
        doi="10.1145/1148170.1148197",
        parameters=(Parameter("n_segments", "int", 25, "the number of segments", min=1),),
    ),
    _make_trained(
        "segfuse",
        title="SegFuse, scores in segments of growing size",
        formula="Σ p · (x + 1), p the precision in the rank's segment; segment j ends at rank 10 · 2^(j − 1) − 5",
        source=SHOKOUHI_2007,
        doi="10.1007/978-3-540-71496-5_19",
        parameters=(replace(NORM[0], default="min_max"), NORM[1]),
    ),
    _make_trained(
        "slidefuse",
        title="SlideFuse, probabilities of relevance in a sliding window",
        formula="Σ of the mean precision at the ranks from rank − w to rank + w, inside the run",
        source="D. Lillis, F. Toolan, R. W. Collier and J. Dunnion, Extending probabilistic data fusion using sliding "
        "windows, ECIR 2008",
        doi="10.1007/978-3-540-78646-7_33",
        parameters=(Parameter("w", "int", 5, "how many ranks before and after count", min=0),),
    ),
    _make_trained(
        "posfuse",
        title="PosFuse, the probability of relevance at each rank",
        formula="Σ p, p the share of queries with a relevant document at this rank",
        source=LILLIS_2010,
        doi="10.1145/1835449.1835508",
    ),
    _make_trained(
        "mapfuse",
        title="MAPFuse, mean average precision by rank",
        formula="Σ MAP / rank, MAP the run's mean average precision",
        source=LILLIS_2010,
        doi="10.1145/1835449.1835508",
    ),
)

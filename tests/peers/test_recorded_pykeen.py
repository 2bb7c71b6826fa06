"""Link prediction: the convention `pykeen` gives the values that PyKEEN's evaluators gave."""

import json

import link_prediction_cases
import numpy as np
import pytest
from recorded_data import DATA

import fastndcg as fn

RECORD = json.loads((DATA / "peers" / "pykeen.json").read_text(encoding="utf-8"))
TIES = {"optimistic": "best", "realistic": "mean_rank", "pessimistic": "worst"}
NAMES = {
    "arithmetic_mean_rank": "Rank",
    "geometric_mean_rank": "geometric_mean_rank",
    "harmonic_mean_rank": "harmonic_mean_rank",
    "inverse_harmonic_mean_rank": "RR",
    "median_rank": "median_rank",
    "adjusted_arithmetic_mean_rank": "AMR",
    "adjusted_arithmetic_mean_rank_index": "AMRI",
    "adjusted_inverse_harmonic_mean_rank": "adjusted_mrr",
    **{f"hits_at_{k}": f"Success@{k}" for k in link_prediction_cases.CUTOFFS},
    **{f"adjusted_hits_at_{k}": f"adjusted_hits@{k}" for k in link_prediction_cases.CUTOFFS},
}


def evaluate(metrics, ranks, **options):
    """Return results of the recorded case under the convention for one kind of ranks."""
    is_true, scores = link_prediction_cases.draw_case()
    convention = f"pykeen(ties={TIES[ranks]})"
    return fn.evaluate_pairs(is_true.astype("i1"), scores, metrics, convention=convention, **options)


@pytest.mark.parametrize("ranks", TIES)
@pytest.mark.parametrize(("protocol", "competitors"), [("filtered", "nonrelevant"), ("raw", "all")])
def test_link_prediction_equals_pykeen(protocol, competitors, ranks):
    recorded = RECORD[protocol][ranks]

    result = evaluate(list(NAMES.values()), ranks, competitors=competitors)

    ours = dict(zip(NAMES, result.means(), strict=True))
    assert ours == pytest.approx({name: recorded[name] for name in NAMES}, rel=1e-6)  # PyKEEN's ranks are float32


@pytest.mark.parametrize("ranks", TIES)
def test_rows_of_queries_equal_pykeens_macro_evaluator(ranks):
    """The mean of queries over their pairs, and pairs with the weight 1 / pairs of the query."""
    names = [name for name in NAMES if name != "median_rank"]
    is_true, _ = link_prediction_cases.draw_case()
    recorded = {name: RECORD["macro"][ranks][name] for name in names}
    asked = [NAMES[name] for name in names]

    pairs = evaluate(asked, ranks)
    queries = evaluate(asked, ranks, rows="query")

    weighted = pairs.means(weights=1 / np.repeat(is_true.sum(axis=1), is_true.sum(axis=1)))
    assert dict(zip(names, weighted, strict=True)) == pytest.approx(recorded, rel=1e-6)
    of_means = {name: mean for name, mean in zip(names, queries.means(), strict=True) if name[0] not in "gh"}
    assert of_means == pytest.approx({name: recorded[name] for name in of_means}, rel=1e-6)

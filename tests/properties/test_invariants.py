"""Changes of input that must not change a value, and bounds that a value must not exceed."""

from itertools import pairwise, permutations

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.engine import run as engine
from fastndcg.metrics.families import CATALOG
from fastndcg.named_conventions import CHOICES
from fastndcg.rankings.rankings import Rankings

DEFAULT = fn.conventions["default"].replace(negative_labels="zero", nan_scores="last")
ALL_METRICS = strategies.all_metrics()
AP_DENOMINATORS = [choice for choice in CHOICES["ap_denominator"] if choice != "k"]  # which needs one
DEPTHS = pytest.mark.parametrize("deepest", [10, None])
any_case = st.one_of(strategies.cases(), strategies.long_cases())
tie_policies = st.sampled_from(strategies.TIES)


def evaluate_arrays(rankings, metrics=ALL_METRICS, convention=DEFAULT):
    return engine.run(rankings, metrics, convention).values


def metrics_for(case, deepest, ties="average"):
    asked = [
        one
        for one in strategies.all_metrics(deepest, ties)
        if case.kind in strategies.kinds_for(one.name, as_it_is=True)
    ]
    return tuple(one for one in asked if case.kind != "huge" or one.get("gain") != "exp2")


@DEPTHS
@strategies.examples(60)
@given(case=any_case, data=st.data())
def test_order_of_documents_changes_no_bit_of_an_average(deepest, case, data):
    queries = np.arange(case.rankings.n_queries)
    spans = [np.arange(start, stop) for start, stop in pairwise(case.rankings.offsets.tolist())]
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    documents = np.concatenate([np.empty(0, "i8"), *map(random.permutation, spans)]).astype("i8")
    permuted = strategies.reordered(case.rankings, queries, documents)
    expected = evaluate_arrays(case.rankings, metrics_for(case, deepest))
    assert evaluate_arrays(permuted, metrics_for(case, deepest)).tobytes() == expected.tobytes()


@pytest.mark.parametrize("denominator", AP_DENOMINATORS)
@strategies.examples(25)
@given(
    documents=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([1.0, 1.0, 2.0])), min_size=1, max_size=5),
    unretrieved=st.lists(st.integers(0, 3), max_size=2),
)
def test_average_is_the_mean_over_all_orders(documents, unretrieved, denominator):
    orders = list(permutations(documents))
    labels, scores = np.array(orders).reshape(-1, 2).T
    offsets = np.arange(len(orders) + 1) * len(documents)
    pool = [label for label, _ in documents] + unretrieved
    pools = (pool * len(orders), np.arange(len(orders) + 1) * len(pool))
    rankings = Rankings(labels, scores, offsets, pool=pools)
    convention = DEFAULT.replace(ap_denominator=denominator)
    each = evaluate_arrays(rankings, convention=convention.replace(ties="input"))
    average = evaluate_arrays(rankings, convention=convention)
    assert average[0].tobytes() == average[-1].tobytes()
    np.testing.assert_allclose(each.mean(axis=0), average[0], rtol=1e-12, atol=0)


@DEPTHS
@strategies.examples(40)
@given(case=any_case, ties=tie_policies)
def test_queries_together_give_what_each_gives_alone(deepest, case, ties):
    convention = DEFAULT.replace(ties=ties)
    together = evaluate_arrays(case.rankings, metrics_for(case, deepest, ties), convention)
    for q in range(case.rankings.n_queries):
        alone = evaluate_arrays(strategies.reordered(case.rankings, [q]), metrics_for(case, deepest, ties), convention)
        assert alone.tobytes() == together[q : q + 1].tobytes()


TRANSFORMS = {
    "line": lambda scores: 3.0 * scores - 7.0, "cube": lambda scores: scores**3,
    "exponential": lambda scores: np.exp2(scores / 64), "reciprocal": lambda scores: -1.0 / (scores + 1000.0),
    "rank": lambda scores: np.searchsorted(np.unique(scores), scores), "float32": lambda scores: scores.astype("f4"),
    "infinite ends": lambda scores: np.where(scores == scores.max(), np.inf,
        np.where(scores == scores.min(), -np.inf, scores)),
}  # fmt: skip


@DEPTHS
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@strategies.examples(15)
@given(data=st.data(), ties=tie_policies)
def test_monotone_transforms_of_scores_change_no_bit(deepest, transform, data, ties):
    documents = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(-60, 60)), min_size=2, max_size=100))
    labels, scores = np.array(documents).T
    rankings = Rankings(labels, scores.astype("f8"), [0, len(labels)], tie_keys=scores[::-1])
    asked, convention = strategies.all_metrics(deepest, ties), DEFAULT.replace(ties=ties)
    transformed = evaluate_arrays(rankings.replace(scores=transform(rankings.scores)), asked, convention)
    assert transformed.tobytes() == evaluate_arrays(rankings, asked, convention).tobytes()


# Compat's ranks and the users of BPM and INST go on below the last document, and trec_eval's measures divide by k
# (and by R) whatever is retrieved
BEYOND_THE_LAST = {"BPM", "Compat", "INST", "RelP", "Unjudged"}


@strategies.examples(40)
@given(case=any_case, ties=tie_policies, denominator=st.sampled_from(AP_DENOMINATORS))
def test_cutoff_beyond_last_rank_changes_nothing(case, ties, denominator):
    """K ≥ n equals no k, for P and F where they divide by no more than the number retrieved."""
    convention = DEFAULT.replace(ties=ties, precision_denominator="min(k, n_retrieved)", ap_denominator=denominator)
    names = [name for name in strategies.names(ties) if CATALOG[name].has_cutoff and name not in BEYOND_THE_LAST]
    names = [name for name in names if case.kind in strategies.kinds_for(name, as_it_is=True)]
    without_k = tuple(map(fn.Metric, names))
    longest = max((stop - start for start, stop in pairwise(case.rankings.offsets.tolist())), default=0)
    n_judged = 0 if case.rankings.pool is None else len(case.rankings.pool[0])
    for k in {max(longest, n_judged, 1), max(longest, n_judged, 1) + 1, 10**9, 10**30}:
        with_k = tuple(metric @ k for metric in without_k)
        assert (
            evaluate_arrays(case.rankings, with_k, convention).tobytes()
            == evaluate_arrays(case.rankings, without_k, convention).tobytes()
        )


@st.composite
def ideal_orders(draw):
    positive = st.sampled_from([0.1, 0.3, 1.0, 1.5, 2.0, 3.0, 7.0, 30.0])
    labels = sorted(draw(st.lists(positive, min_size=1, max_size=60)), reverse=True)
    labels += [0.0] * draw(st.integers(0, 5))
    scores = [0]
    for above, label in pairwise(labels):
        scores.append(scores[-1] - (1 if label != above else draw(st.integers(0, 1))))
    return labels, scores


@pytest.mark.parametrize("ties", strategies.TIES)
@strategies.examples(40)
@given(order=ideal_orders(), data=st.data())
def test_ideal_order_scores_exactly_one(ties, order, data):
    labels, scores = order
    k = data.draw(st.integers(1, 70))
    pool = data.draw(st.permutations(labels))
    rankings = Rankings(labels, scores, [0, len(labels)], pool=(pool, [0, len(pool)]), tie_keys=range(len(labels)))
    convention = DEFAULT.replace(ties=ties, ap_denominator="min(k, n_relevant)")
    graded = [fn.Metric("nDCG", cut, gain=gain) for cut in (None, k) for gain in ("linear", "exp2")]
    binary = [fn.Metric(name, cut, rel=0.1) for cut in (None, k) for name in ("AP", "RR", "Success", "Rprec")]
    n_relevant = sum(label > 0 for label in labels)
    at_n_relevant = [fn.Metric(name, n_relevant, rel=0.1) for name in ("P", "R", "F")]
    values = evaluate_arrays(rankings, (*graded, *binary, *at_n_relevant, fn.Metric("R", rel=0.1)), convention)
    assert set(values[0].tolist()) == {1.0}


def test_rounding_lifts_no_value_above_one():
    assert 0.1 + 0.2 + 0.3 > 0.3 + 0.2 + 0.1
    assert fn.evaluate([[0.1, 0.2, 0.3]], [[3, 2, 1]], "nDCG", convention="default(discount=[1,1,1])")["nDCG"] == [1.0]


@pytest.mark.parametrize(
    "scores", [lambda labels: labels, lambda labels: labels * np.arange(len(labels))], ids=["tied", "untied"]
)
def test_rounding_takes_nothing_from_a_perfect_area(scores):
    """0.1 · 6 is not 0.1 + … + 0.1: a perfect order has an area of 1 for any numbers of documents, tied or not."""
    for n_relevant in range(1, 40):
        labels = np.arange(n_relevant + 7) >= 7
        assert fn.evaluate([labels], [scores(labels.astype("f8"))], "pAUC")["pAUC"] == [1.0]


@strategies.examples(60)
@given(case=any_case, data=st.data(), ties=tie_policies)
def test_values_stay_in_their_range(case, data, ties):
    convention = data.draw(strategies.conventions(case, ties)).replace(negative_labels="zero")
    gain = data.draw(st.sampled_from(["linear"] if case.kind == "huge" else ["linear", "exp2"]))
    for k in (None, data.draw(st.integers(1, 8))):
        names = [
            name for name in strategies.names(ties) if k is not None or not strategies.needs_cutoff(name, convention)
        ]
        names = [name for name in names if case.kind in strategies.kinds_for(name, as_it_is=True)]
        metrics = [strategies.with_cutoff(name, k) for name in names]
        metrics = tuple(one(gain=gain) if strategies.has_gain(one.record) else one for one in metrics)
        values = dict(zip(names, evaluate_arrays(case.rankings, metrics, convention).T, strict=True))
        for metric in metrics:
            value = values[metric.name][~np.isnan(values[metric.name])]
            assert (value >= 0).all() or not metric.record.range.startswith("0 "), metric
            assert (value <= 1).all() or metric.record.range != "0 to 1", metric
        assert "IDCG" not in values or not (values["DCG"] > values["IDCG"] * (1 + 1e-14)).any()
        most = np.minimum(values["num_rel"], values["num_ret"])
        assert not (values["num_rel_ret"] > most).any()


# what infAP estimates depends on which documents were judged, so that no order by label is its best or its worst
NOT_BY_LABEL = {"infAP"}


@DEPTHS
@strategies.examples(60)
@given(case=any_case)
def test_best_is_above_average_is_above_worst(deepest, case):
    everywhere = [one for one in metrics_for(case, deepest) if set(strategies.TIES) <= set(one.record.ties)]
    rising = [one for one in everywhere if one.record.higher_is_better and one.record.range.startswith("0 ")]
    asked = tuple(one for one in rising if one.name not in NOT_BY_LABEL)
    values = {ties: evaluate_arrays(case.rankings, asked, DEFAULT.replace(ties=ties)) for ties in strategies.TIES}
    best, worst = np.nan_to_num(values["best"]), np.nan_to_num(values["worst"])
    for policy in set(strategies.TIES) - {"best", "worst"}:
        between = np.nan_to_num(values[policy])
        assert (between <= best * (1 + 1e-14)).all(), policy
        assert (between >= worst * (1 - 1e-14)).all(), policy

"""Kernels and reference give the same values. The bytes of a value depend on data and convention only."""

from math import inf, nan

import numpy as np
import pytest
import strategies
from evaluators import STRATEGIES, assert_equals_reference
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.engine import chunk
from fastndcg.engine import run as engine
from fastndcg.kernels.ranking.rank import COUNT, SELECT, SORT
from fastndcg.metrics.families import CATALOG
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import CHOICES, parse_convention

VARIANTS = [
    "default(negative_labels=removed,gain=binary,relevant=above 0.5,no_relevant=skipped,pool=retrieved,default_k=64)",
    "default(negative_labels=zero,discount=1/r,label_fractions=cut off,no_relevant=undefined,precision_mean=micro)",
    "default(negative_labels=zero)",
    "default(negative_labels=keep,gain=exp2,score_dtype=float32)",
    "default(negative_labels=zero,gain=[0,1,3,7,15],ap_denominator=n_hits,unjudged=removed)",
]


@pytest.mark.parametrize("name", strategies.PLAIN)
@strategies.examples(75, plain=16)
@given(data=st.data())
def test_metric_equals_reference(name, data):
    ties = data.draw(st.sampled_from(strategies.POLICIES))
    case = data.draw(strategies.cases(strategies.kinds_for(name)))
    convention = data.draw(strategies.conventions(case, ties))
    asked = data.draw(st.lists(strategies.metrics(name, case.kind, convention), min_size=1, max_size=2))
    if ties != "average" and ties not in CATALOG[name].ties:
        for evaluate in (fn.evaluate, fn.reference.evaluate):
            with pytest.raises(fn.InvalidInputError, match="must have a tie policy that it is defined for"):
                evaluate(case.rankings, metrics=asked, convention=convention)
        return
    assert_equals_reference(case.rankings, asked, convention)


@pytest.mark.parametrize("ties", strategies.POLICIES)
@strategies.examples(48, plain=5)
@given(data=st.data())
def test_long_queries_equal_reference(ties, data):
    case = data.draw(strategies.long_cases())
    convention = data.draw(strategies.conventions(case, ties)).replace(negative_labels="raise")
    deepest = data.draw(st.sampled_from([3, 10, None]))
    asked = tuple(
        data.draw(strategies.metrics(name, case.kind, convention, deepest)) for name in strategies.names(ties)
    )
    slow = fn.reference.evaluate(case.rankings, metrics=asked, convention=convention)
    for name, strategy in STRATEGIES.items():
        output = engine.run(case.rankings, asked, convention, strategy=strategy)
        np.testing.assert_allclose(output.values, slow.values, rtol=1e-12, atol=0, err_msg=name)
        assert output.n_tied == slow.n_tied, name


@pytest.mark.parametrize("name", strategies.PLAIN)
@strategies.examples(15, plain=5)
@given(data=st.data())
def test_large_tie_groups_equal_the_reference(name, data):
    n = data.draw(st.integers(2, 60))
    n_relevant = data.draw(st.integers(1, 2 if n > 12 else n))
    n_above = data.draw(st.integers(0, 3))
    labels = [1] * data.draw(st.integers(0, n_above)) + [1] * n_relevant + [0] * (n - n_relevant)
    scores = [2.0 + i for i in range(len(labels) - n)] + [1.0] * n
    convention = fn.conventions["default"].replace(ap_denominator=data.draw(st.sampled_from(CHOICES["ap_denominator"])))
    asked = data.draw(strategies.metrics(name, "binary", convention))
    assert_equals_reference(labels, asked, convention, scores, groups=[len(labels)])


def drawn_numbers(data, highest, n):
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    return random.integers(0, highest, n, endpoint=True).astype("f8")


@pytest.mark.parametrize("dtype", strategies.DTYPES)
@pytest.mark.parametrize("side", [0, 1], ids=["labels", "scores"])
@strategies.examples(8)
@given(data=st.data(), n=st.integers(1, 300))
def test_dtype_and_layout_change_nothing(side, dtype, data, n):
    arrays = [drawn_numbers(data, 4, n) * (drawn_numbers(data, 3, n) == 0), drawn_numbers(data, 100, n)]
    arrays[side] = np.minimum(arrays[side], 1) if dtype == "bool" else arrays[side]
    expected = fn.evaluate(*arrays, "nDCG@5,AP,RR", groups=[n])
    for layout, array in strategies.layouts(arrays[side].astype(dtype)).items():
        arrays[side] = array
        result = fn.evaluate(*arrays, "nDCG@5,AP,RR", groups=[n])
        assert result.values.tobytes() == expected.values.tobytes(), layout


@strategies.examples(60)
@given(data=st.data(), n=st.integers(1, 200))
def test_nan_is_found_wherever_it_is(data, n):
    numbers = drawn_numbers(data, 3, n)
    with_nan = numbers.astype(data.draw(st.sampled_from(["f4", "f8"])))
    place = data.draw(st.integers(0, n - 1))
    with_nan[place] = nan
    offsets = sorted([0, data.draw(st.integers(0, n)), data.draw(st.integers(0, n)), n])
    with pytest.raises(fn.InvalidInputError, match=rf"`scores` must not be NaN, but scores\[{place}\]"):
        fn.evaluate(numbers, with_nan, "nDCG@5", offsets=offsets)
    with pytest.raises(fn.InvalidInputError, match=rf"`labels` must not be NaN, but labels\[{place}\]"):
        fn.evaluate(with_nan, numbers, "nDCG@5", offsets=offsets)


ids = st.sampled_from(["a", "b", "c", "d"])


@pytest.mark.parametrize("in_qrels", CHOICES["missing_in_qrels"])
@pytest.mark.parametrize("in_run", CHOICES["missing_in_run"])
@strategies.examples(30)
@given(
    qrels=st.dictionaries(ids, st.dictionaries(ids, st.integers(-1, 2), min_size=1)),
    run=st.dictionaries(ids, st.dictionaries(ids, st.sampled_from([0.5, 0.5, 1.0, 2.0]), min_size=1)),
    data=st.data(),
)
def test_judgments_and_runs_equal_the_reference(in_run, in_qrels, qrels, run, data):
    convention = fn.conventions["default"].replace(
        missing_in_run=in_run,
        missing_in_qrels=in_qrels,
        ties=data.draw(st.sampled_from(strategies.TIES)),
        undefined=data.draw(st.sampled_from(CHOICES["undefined"])),
        unjudged=data.draw(st.sampled_from(CHOICES["unjudged"])),
        pool=data.draw(st.sampled_from(CHOICES["pool"])),
        negative_labels=data.draw(st.sampled_from(["zero", "removed"])),
        no_relevant=data.draw(st.sampled_from(CHOICES["no_relevant"])),
        precision_mean=data.draw(st.sampled_from(CHOICES["precision_mean"])),
    )
    metrics = "nDCG@2,AP,P,P@3,num_ret,num_rel"
    try:
        fn.evaluate(qrels, run, metrics, convention=convention)
    except fn.FastndcgError as error:
        with pytest.raises(type(error)):
            fn.reference.evaluate(qrels, run, metrics, convention=convention)
        return
    assert_equals_reference(qrels, metrics, convention, run)


@pytest.mark.parametrize(("labels", "scores", "metric", "convention"), [
    ([1, nan], [1.0, 2.0], "RR", "default"), ([1, inf], [1.0, 2.0], "RR", "default"),
    ([1, 2.0**54], [1.0, 2.0], "RR", "default"), ([1, -1], [1.0, 2.0], "RR", "default"),
    ([1, 0], [1.0, nan], "RR", "default"), ([1024, 0], [1.0, 2.0], "DCG(gain=exp2)", "default"),
    ([3, 0], [1.0, 2.0], "DCG(gain=[0,1,2])", "default"), ([0.5, 0], [1.0, 2.0], "DCG(gain=[0,1,2])", "default"),
    ([-1, 0], [1.0, 2.0], "DCG(gain=[0,1,2])", "default(negative_labels=keep)"),
    ([1, 0], [1.0, 2.0], "RR", "default(ties=id_descending)"),
])  # fmt: skip
@pytest.mark.parametrize("evaluate", [fn.evaluate, fn.reference.evaluate], ids=["kernels", "reference"])
def test_kernels_and_reference_raise_on_wrong_input(evaluate, labels, scores, metric, convention):
    with pytest.raises(fn.InvalidInputError):
        evaluate(labels, scores, metric, offsets=[0, 2], convention=convention)


@pytest.mark.parametrize("evaluate", [fn.evaluate, fn.reference.evaluate], ids=["kernels", "reference"])
def test_kernels_and_reference_raise_on_undefined_metric(evaluate):
    with pytest.raises(fn.UndefinedMetricError, match=r"AP must have a value.* query 1 has none"):
        evaluate([1, 0], [1.0, 1.0], "RR,AP", offsets=[0, 1, 2], convention="default(undefined=raise)")


def test_reference_says_where_it_gives_up():
    """Ten relevant of twenty tied documents have 20! / (10! · 10!) = 184756 orders, more than the reference tries."""
    labels, scores = [1, 0] * 10, [1.0] * 20
    with pytest.raises(fn.InvalidInputError, match=r"100000 orders .* query 0 has 184756. Call fastndcg.evaluate"):
        fn.reference.evaluate(labels, scores, "RR", offsets=[0, 20])
    assert fn.evaluate(labels, scores, "P@5", offsets=[0, 20])["P@5"] == pytest.approx([0.5], rel=1e-15)


@pytest.fixture(scope="module")
def rankings():
    return strategies.random_rankings(200, 150) if strategies.JIT else strategies.random_rankings(15, 60)


@pytest.mark.parametrize("ties", strategies.TIES)
def test_threads_and_chunks_change_no_bit(rankings, ties, monkeypatch):
    for module in (chunk, engine):
        monkeypatch.setattr(module, "MIN_DOCUMENTS_FOR_THREADS", 1)
    asked = strategies.all_metrics(ties=ties)
    convention = parse_convention(VARIANTS[strategies.TIES.index(ties) % len(VARIANTS)]).replace(ties=ties)
    expected = engine.run(rankings, asked, convention, threads=1)
    for documents, threads in [(3, 3), (100, 1), (10**9, 2)]:
        result = engine.run(rankings, asked, convention, threads=threads, chunk_documents=documents)
        assert strategies.bits(result) == strategies.bits(expected), (documents, threads)


@pytest.mark.parametrize(("place", "cutoffs"), [*enumerate([(None, 1), (1, 3), (2, 10), (5, 11)])], ids=str)
@pytest.mark.parametrize("ties", strategies.TIES)
def test_strategy_changes_no_bit(rankings, ties, place, cutoffs):
    """Each tie policy, and each pair of cutoffs, meets four of the five variants or more."""
    text = VARIANTS[(place + strategies.TIES.index(ties)) % len(VARIANTS)]
    convention, named = parse_convention(text).replace(ties=ties), strategies.names(ties)
    asked = tuple(dict.fromkeys(strategies.with_cutoff(name, k) for name in named for k in cutoffs))
    counted = engine.run(rankings, asked, convention, strategy=COUNT)
    for name, strategy in STRATEGIES.items():
        result = engine.run(rankings, asked, convention, strategy=strategy)
        assert strategies.bits(result) == strategies.bits(counted), name


@pytest.mark.parametrize("ties", strategies.TIES)
@pytest.mark.parametrize("n_at_the_bar", [1, 16, 63, 64, 65, 128, 300])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_selection_with_many_documents_at_threshold(dtype, n_at_the_bar, ties):
    generator = np.random.default_rng(n_at_the_bar)
    scores = np.concatenate([generator.random((20, 300 - n_at_the_bar)), np.full((20, n_at_the_bar), 2.0)], axis=1)
    scores = generator.permuted(scores, axis=1).astype(dtype)
    labels = generator.integers(0, 3, scores.shape, "u1")
    offsets, ids = np.arange(0, scores.size + 1, 300), generator.permutation(scores.size)
    rankings = fn.Rankings(labels.ravel(), scores.ravel(), offsets, tie_keys=ids)
    convention, asked = parse_convention("default").replace(ties=ties), parse_metrics("ndcg@10,P@3,Success@1")
    selected = engine.run(rankings, asked, convention, strategy=SELECT)
    ordered = engine.run(rankings, asked, convention, strategy=SORT)
    assert strategies.bits(selected) == strategies.bits(ordered)


@pytest.mark.parametrize("text", VARIANTS[:2])
@pytest.mark.parametrize("ties", strategies.TIES)
def test_companions_change_no_bit(rankings, ties, text):
    asked, convention = strategies.all_metrics(ties=ties), parse_convention(text).replace(ties=ties)
    together = engine.run(rankings, asked, convention, threads=1)
    for column, metric in enumerate(asked):
        alone = engine.run(rankings, (metric,), convention).values[:, 0]
        assert alone.tobytes() == together.values[:, column].tobytes(), metric

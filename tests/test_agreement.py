"""Two rankings compared: the reference, SciPy and other programs, every form of input, and what is refused."""

import operator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from strategies import examples

import fastndcg as fn
from fastndcg import rank_agreement

stats = pytest.importorskip("scipy.stats")

ALL = "tau_b,spearman,tau_ap,tau_ap_b,rbo,rbo(p=0.3)@2,rbo(p=0.99,form=min),rbo(form=min)@3"
SCORES = st.integers(0, 3).map(float) | st.floats(-1e3, 1e3)


@st.composite
def two_arrays(draw):
    """Draw scores of the same documents by two systems, few enough for the reference to list all orders."""
    sizes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    n = sum(sizes)
    first, second = (draw(st.lists(SCORES, min_size=n, max_size=n)) for _ in range(2))
    return np.array(first, "f8"), np.array(second, "f8"), np.cumsum([0, *sizes])


RUNS = st.dictionaries(
    st.sampled_from("pqrs"), st.dictionaries(st.sampled_from("abcdefg"), SCORES, min_size=1, max_size=5), min_size=1
)


@examples(150)
@given(case=two_arrays())
def test_arrays_equal_reference(case):
    first, second, offsets = case
    result = fn.agreement(first, second, ALL, offsets=offsets)
    expected = fn.reference.agreement(first, second, ALL, offsets=offsets)
    np.testing.assert_allclose(result.values, expected, rtol=1e-12, atol=1e-14)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rank_agreement, "CHUNK_DOCUMENTS", 3)
        again = fn.agreement(first, second, ALL, offsets=offsets, threads=2)
    assert again.values.tobytes() == result.values.tobytes()
    assert again.n_tied == result.n_tied


@examples(150)
@given(first=RUNS, second=RUNS)
def test_runs_equal_reference(first, second):
    """Documents and queries of one run only are what the reference takes them for."""
    if not first.keys() & second.keys():
        return
    result = fn.agreement(first, second, ALL)
    expected = fn.reference.agreement(first, second, ALL)
    np.testing.assert_allclose(result.values, expected, rtol=1e-12, atol=1e-14)
    assert result.query_ids.tolist() == [query for query in first if query in second]


def drawn(n_queries, n_documents, n_levels, seed=7):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(2, n_documents, n_queries)
    scores = generator.integers(0, n_levels, (2, sizes.sum())).astype("f8")
    return scores[0], scores[1] + scores[0] // 2, np.cumsum([0, *sizes])


@pytest.mark.parametrize("n_levels", [3, 50, 10**9])
def test_equals_scipy(n_levels):
    first, second, offsets = drawn(100, 200, n_levels)
    result = fn.agreement(first, second, "tau_b, spearman", offsets=offsets)
    for q, (a, b) in enumerate(pairwise(offsets)):
        if len(set(first[a:b])) > 1 and len(set(second[a:b])) > 1:
            expected = [function(first[a:b], second[a:b]).statistic for function in (stats.kendalltau, stats.spearmanr)]
            np.testing.assert_allclose(result.values[q], expected, rtol=1e-12, atol=1e-12)
        else:
            assert np.isnan(result.values[q]).all()


X = [0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94]
Y = [0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94]


def test_equals_ircor():
    rounded_x, rounded_y = (np.round(np.array(scores) * 5) / 5 for scores in (X, Y))
    for first, second, metric, expected in (
        (X, Y, "tau_b", 0.7777778), (X, Y, "tau_ap", 0.7491182), (X, rounded_y, "tau_ap", 0.6074515),
        (rounded_x, rounded_y, "tau_b", 0.75), (rounded_x, rounded_y, "tau_ap_b", 0.6269841),
    ):  # fmt: skip
        assert fn.agreement([first], [second], metric).values.item() == pytest.approx(expected, abs=5e-8)


@pytest.mark.peers
def test_equals_rbo():
    rbo = pytest.importorskip("rbo")  # it wants NumPy before 2
    generator = np.random.default_rng(3)
    for _ in range(50):
        lists = [generator.permutation(30)[: generator.integers(1, 25)].tolist() for _ in range(2)]
        runs = [{1: {item: -place for place, item in enumerate(one)}} for one in lists]
        p = float(generator.uniform(0.1, 0.98))
        expected = rbo.RankingSimilarity(*lists).rbo_ext(p=p)
        assert fn.agreement(*runs, f"rbo(p={p})").values.item() == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_large_groups_of_ties():
    n = 100_000
    tied, ranked = np.zeros(n), -np.arange(n, dtype="f8")
    values = fn.agreement([tied, tied, ranked], [ranked, tied, ranked], ALL).values
    names = ALL.split(",")
    assert np.isnan(values[:2, [names.index("tau_b"), names.index("spearman"), names.index("tau_ap_b")]]).all()
    assert values[0, names.index("tau_ap")] == pytest.approx(0, abs=1e-12)
    assert values[1, names.index("tau_ap")] == pytest.approx(0, abs=1e-12)
    # of all orders the first d have d²/n documents in common, so that RBO_EXT is the sum of (1 − p) p^(d − 1) d / n
    assert values[0, names.index("rbo")] == pytest.approx(1 / (1 - 0.9) / n, rel=1e-9)
    assert values[1, names.index("rbo")] == pytest.approx(1 / (1 - 0.9) / n, rel=1e-9)
    assert (values[2, :5] == 1).all()


TIES = "RBO: means over all orders of equal scores, which 0 of 1 queries have"


def test_results_print_and_compare():
    old, new = {"q": {"a": 2, "b": 1}, "r": {"a": 1}}, {"q": {"a": 1, "b": 2}, "s": {"a": 1}}
    result = fn.agreement(old, new, "tau_b, rbo")
    assert str(result).splitlines()[-3:] == [
        TIES,
        "queries that only the first ranking has, left out: 1",
        "queries that only the second ranking has, left out: 1",
    ]
    assert result.to_dict() == {"q": {"tau_b": -1.0, "RBO": pytest.approx(0.9)}}
    assert str(fn.agreement([[1, 1]], [[2, 1]], "spearman")).endswith("equal scores, which 1 of 1 queries have")
    first, second, offsets = drawn(40, 20, 30)
    systems = {"a": fn.agreement(first, second, "tau_b", offsets=offsets)}
    systems["b"] = fn.agreement(first, first + 0.1 * second, "tau_b", offsets=offsets)
    assert fn.compare(systems, replicates=100).rows[1].difference > 0


def test_agreement_accepts_every_input_form(tmp_path):
    first, second, offsets = drawn(5, 9, 4)
    expected = fn.agreement(first, second, ALL, offsets=offsets).values
    sizes = np.diff(offsets)
    for ways in ({"groups": sizes}, {"query_ids": np.repeat(np.arange(5), sizes)}):
        np.testing.assert_array_equal(fn.agreement(first, second, ALL, **ways).values, expected)
    floats = fn.agreement(first.astype("f4"), second.astype("i8"), ALL, offsets=offsets)
    np.testing.assert_array_equal(floats.values, expected)
    tables = [
        {f"q{q}": {f"d{d}": float(scores[d]) for d in range(a, b)} for q, (a, b) in enumerate(pairwise(offsets))}
        for scores in (first, second)
    ]
    paths = [tmp_path / "first.run", tmp_path / "second.run"]
    for path, table in zip(paths, tables, strict=True):
        lines = [f"{q} Q0 {d} 1 {score} x\n" for q, row in reversed(table.items()) for d, score in row.items()]
        path.write_text("".join(lines), encoding="utf-8")
    runs = [fn.Run(path) for path in paths]
    by_name = fn.agreement(*tables, ALL).to_dict()
    for forms in ((tables[0], runs[1]), (runs[0], tables[1]), tuple(paths), tuple(map(str, paths))):
        assert fn.agreement(*forms, ALL).to_dict() == by_name
    np.testing.assert_array_equal(fn.agreement(*tables, ALL).values, expected)
    pl = pytest.importorskip("polars")
    ragged = [pl.Series([scores[a:b].tolist() for a, b in pairwise(offsets)]) for scores in (first, second)]
    np.testing.assert_array_equal(fn.agreement(*ragged, ALL).values, expected)
    frames = [
        pl.DataFrame([{"qid": q, "docno": d, "s": score} for q, row in table.items() for d, score in row.items()])
        for table in tables
    ]
    named = [fn.Run(frame, columns={"score": "s"}) for frame in frames]
    assert fn.agreement(*named, ALL).to_dict() == by_name


A, B = [[1.0, 2.0]], [[2.0, 1.0]]
RUN = {"q": {"a": 1}}


test_agreement_raises_on_wrong_input = refuses(operator.call, [
    (lambda: fn.agreement(A, B), "`metrics` is missing. Name at least one, such as 'tau_b'"),
    (lambda: fn.agreement(A, B, "ndcg"), "`metrics` must be metrics of agreement, but nDCG ("),
    (lambda: fn.evaluate(A, B, "tau_b"), "`metrics` must be metrics of evaluate, but tau_b (Kendall's"),
    (lambda: fn.agreement(A, B, "coverage"), "`metrics` must be metrics of agreement, but coverage ("),
    (lambda: fn.agreement(A, [[1.0]], "tau_b"), "`second` must have the shape of `first`, (1, 2), but has (1, 1)"),
    (lambda: fn.agreement(A, [[1.0, np.nan]], "tau_b"), "`second` must not be NaN, but second[0, 1] is. Leave out"),
    (lambda: fn.agreement([1.0], [1.0], "tau_b"), "queries must be cut by exactly one of `offsets`"),
    (lambda: fn.agreement(A, RUN, "tau_b"), "`first` and `second` must be alike, but are an array and a run with"),
    (lambda: fn.agreement(RUN, {"r": {"a": 1}}, "tau_b"), "first run and second run must have a query in common"),
    (lambda: fn.agreement(RUN, {1: {"a": 1}}, "rbo"), "ids of queries are texts in the first run, such as 'q'"),
    (lambda: fn.agreement(RUN, {"q": {"a": np.nan}}, "rbo"), "the run: score of document a of query q must not be"),
    (lambda: fn.agreement(RUN, RUN, "rbo", offsets=[0, 1]), "`offsets` cuts arrays into queries, but"),
    (lambda: fn.agreement(A, B, "rbo(p=1)"), "`p` of RBO must be between 0 and 1, not 1"),
    (lambda: fn.agreement(A, B, "rbo(p=0)"), "`p` of RBO must be between 0 and 1, not 0"),
    (lambda: fn.agreement(A, B, "rbo(form=max)"), "`form` of RBO must be one of ext, min, not 'max'"),
    (lambda: fn.agreement(A, B, "tau_b@5"), "tau_b must have no cutoff, because it reads all ranks. Leave out @5"),
    (lambda: fn.agreement(A, B, "rbo", threads=0), "`threads` must be 1 or more, not 0"),
    (lambda: fn.agreement(A, B, "rbo", columns={}), "`columns` is no argument of agreement. It is said where a"),
    (lambda: fn.agreement(np.array([["a"]]), B, "rbo"), "`first` must hold numbers, but its dtype is <U1"),
], text="^{}")  # fmt: skip


def test_agreement_of_empty_input_is_undefined():
    assert fn.agreement([], [], ALL, offsets=[0]).values.shape == (0, 8)
    assert np.isnan(fn.agreement([], [], ALL, offsets=[0, 0]).values).all()
    alone = fn.agreement({"q": {"a": 1}}, {"q": {"b": 1}}, ALL).values[0]
    assert np.isnan(alone[:4]).all()
    assert (alone[4:] == 0).all()

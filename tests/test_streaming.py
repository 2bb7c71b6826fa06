"""Batches and merged parts: the same means to the bit as all at once; and sums without rounding."""

import math
import pickle
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from cases import examples
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg import sums
from fastndcg.sums import ExactSum

METRICS = "ndcg@10,map,rr"
RANDOM = np.random.default_rng(11)
SIZES = RANDOM.integers(0, 30, 200)
OFFSETS = np.cumsum([0, *SIZES])
LABELS = RANDOM.integers(0, 3, OFFSETS[-1])
SCORES = RANDOM.random(OFFSETS[-1])
IDS = np.repeat(np.arange(200) * 7919 % 200, SIZES)
WHOLE = fn.evaluate(LABELS, SCORES, METRICS, offsets=OFFSETS)
WITH_IDS = fn.evaluate(LABELS, SCORES, METRICS, query_ids=IDS)


def stream_of(first, stop, **options):
    """What evaluates some of the queries, those without documents aside, in two batches."""
    stream = fn.StreamingEvaluator(METRICS, **options)
    middle = (first + stop) // 2
    for one, other in ((first, middle), (middle, stop)):
        rows = slice(OFFSETS[one], OFFSETS[other])
        stream.update(LABELS[rows], SCORES[rows], query_ids=IDS[rows])
    return stream


FLOATS = st.floats(allow_nan=True, allow_infinity=False)


@examples(300)
@given(values=st.lists(FLOATS, max_size=40), cut=st.integers(0, 40))
def test_sums_are_exact(values, cut):
    """A sum of any floats is the rounded sum of the fractions that they are, in whatever parts they come."""
    array = np.array(values, "f8")
    total = ExactSum.of(array[cut:]) + ExactSum.of(array[:cut])
    exact = sum(Fraction(value) for value in values if not math.isnan(value))
    assert (total.n, total.n_nan) == (np.count_nonzero(~np.isnan(array)), np.count_nonzero(np.isnan(array)))
    assert Fraction(total.units, sums.UNIT) == exact
    try:
        wanted = exact.numerator / exact.denominator
    except OverflowError:
        wanted = math.inf if exact > 0 else -math.inf
    assert total.value() == wanted


def test_infinite_values():
    """Infinity stays; of both signs it has no sum; a sum beyond float64 is infinite."""
    for values, wanted in (([math.inf, 1], math.inf), ([-math.inf, 1], -math.inf), ([1e308] * 20, math.inf)):
        assert ExactSum.of(np.array(values)).value() == wanted
        assert sums.mean(np.array(values)) == wanted
    assert math.isnan(ExactSum.of(np.array([math.inf, -math.inf])).value())
    assert math.isnan(sums.mean(np.array([math.inf, -math.inf])))
    assert math.isnan(sums.mean(np.array([math.nan])))


def test_short_and_long_columns_have_the_same_mean(monkeypatch):
    """Whether Python or the kernel adds up, the bits are the same."""
    values = np.where(RANDOM.random(5000) < 0.1, np.nan, RANDOM.random(5000) ** 9)
    short = sums.mean(values)
    monkeypatch.setattr(sums, "SMALL", 0)
    assert sums.mean(values) == short


@pytest.mark.parametrize("n_batches", [1, 2, 7, 200])
def test_batches_give_the_mean_of_the_whole(n_batches):
    """Of arrays that are cut by offsets, whatever the number of batches."""
    stream = fn.StreamingEvaluator(METRICS)
    for queries in np.array_split(np.arange(200), n_batches):
        first, stop = queries[0], queries[-1] + 1
        rows = slice(OFFSETS[first], OFFSETS[stop])
        stream.update(LABELS[rows], SCORES[rows], offsets=OFFSETS[first : stop + 1] - OFFSETS[first])
    result = stream.result()
    assert result.mean() == WHOLE.mean()
    assert str(result) == str(WHOLE)
    assert (len(result), result.n_tied) == (200, WHOLE.n_tied)
    assert result.n_undefined().tolist() == WHOLE.n_undefined().tolist()


def test_merged_parts_give_the_mean_of_the_whole():
    """To the bit, in any order of the parts, also when they come from other processes."""
    cuts = [0, 30, 31, 90, 200]
    for order in permutations(range(4)):
        parts = [pickle.loads(pickle.dumps(stream_of(cuts[part], cuts[part + 1]))) for part in order]
        merged = parts[0]
        for part in parts[1:]:
            merged.merge(part)
        assert merged.result().mean() == WITH_IDS.mean()
        assert len(merged.result()) == len(WITH_IDS)


def test_values_of_single_queries_on_request():
    """Batch after batch, with the ids of the queries, or their numbers where they have none."""
    result = stream_of(0, 100, per_query=True).merge(stream_of(100, 200, per_query=True)).result()
    np.testing.assert_array_equal(result.values, WITH_IDS.values)
    assert result.query_ids.tolist() == WITH_IDS.query_ids.tolist()
    mixed = fn.StreamingEvaluator("rr", per_query=True).update([[1, 0]], [[1, 2]])
    mixed.update({"q": {"d": 1}}, {"q": {"d": 1.0}}).update([[1]], [[1]])
    assert mixed.result().to_dict() == {0: {"RR": 0.5}, "q": {"RR": 1.0}, 2: {"RR": 1.0}}
    assert len(fn.StreamingEvaluator("rr", per_query=True).result()) == 0


def test_every_kind_of_batch():
    """Dicts, frames and recommendations, one after the other."""
    pl = pytest.importorskip("polars")
    stream = fn.StreamingEvaluator("rr")
    stream.update({"a": {"x": 1}, "b": {"x": 1}}, {"a": {"x": 1.0}, "z": {"x": 1.0}})
    stream.update(pl.DataFrame({"qid": ["c", "d"], "label": [1, 0], "score": [1, 2]}))
    stream.update(fn.Interactions([3], offsets=[0, 1]), [[1, 3]])
    result = stream.result()
    assert result.mean() == {"RR": (1 + 0 + 1 + 0 + 1 / 2) / 5}
    assert (result.n_missing_in_run, result.n_missing_in_qrels) == (1, 1)


def test_a_query_in_two_batches():
    """It is named, whether in a second batch, in a merged part or twice in one; nothing of that batch counts."""
    stream = stream_of(0, 100)
    before = stream.result().mean()
    with pytest.raises(fn.InvalidInputError, match=f"whole, but query {WITH_IDS.query_ids[3]} comes again; bring its"):
        stream.update([1, 0, 1], [1, 2, 3], query_ids=[1000, 1000, WITH_IDS.query_ids[3]])
    with pytest.raises(fn.InvalidInputError, match="comes again"):
        stream.merge(stream_of(90, 120))
    rankings = fn.Rankings([1, 1], [1, 1], [0, 1, 2], query_ids=["twin", "twin"])
    with pytest.raises(fn.InvalidInputError, match="query twin comes again"):
        stream.update(rankings)
    assert stream.result().mean() == before
    assert repr(stream.update([1], [1], query_ids=[1000])).endswith(f"of {len(stream.result())} queries")


def test_what_cannot_be_merged():
    """Other metrics, other conventions, other objects, and values kept by one side only."""
    stream = fn.StreamingEvaluator("rr")
    for other, message in (
        (fn.StreamingEvaluator("map"), "`other` must have the same metrics"),
        (fn.StreamingEvaluator("rr", convention="trec_eval"), "`other` must have the same convention"),
        (fn.StreamingEvaluator("rr", per_query=True), "`other` must keep values of single queries as this does"),
        (WHOLE, "`other` must be a StreamingEvaluator, not Results"),
    ):
        with pytest.raises(fn.InvalidInputError, match=message):
            stream.merge(other)


def test_values_that_were_not_kept():
    """Asking for them is an error that says how to keep them; nothing makes them up."""
    result = stream_of(0, 10).result()
    for ask in (
        lambda: result["rr"], lambda: result.query_ids, result.to_dict, result.to_pandas, result.to_arrow,
    ):  # fmt: skip
        with pytest.raises(fn.InvalidInputError, match=r"not kept; take StreamingEvaluator\(..., per_query=True\)"):
            ask()

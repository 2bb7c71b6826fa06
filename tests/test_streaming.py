"""Batches and merged parts have the same means to the bit as one evaluation, with sums without rounding."""

import contextlib
import itertools
import json
import math
import operator
import pickle
import sys
import threading
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from strategies import examples

import fastndcg as fn
from fastndcg.results import aggregates
from fastndcg.results.aggregates import ExactSum, PartialSums, add_up_columns

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
    """Return a StreamingEvaluator of some queries in two batches, without queries that have no documents."""
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
    array = np.array(values, "f8")
    total = ExactSum.of(array[cut:]) + ExactSum.of(array[:cut])
    exact = sum(Fraction(value) for value in values if not math.isnan(value))
    assert (total.n, total.n_nan) == (np.count_nonzero(~np.isnan(array)), np.count_nonzero(np.isnan(array)))
    assert Fraction(total.units, aggregates.UNIT) == exact
    try:
        wanted = exact.numerator / exact.denominator
    except OverflowError:
        wanted = math.inf if exact > 0 else -math.inf
    assert total.value() == wanted


def test_infinite_values():
    for values, wanted in (([math.inf, 1], math.inf), ([-math.inf, 1], -math.inf), ([1e308] * 20, math.inf)):
        assert ExactSum.of(np.array(values)).value() == wanted
        assert (ExactSum.of(np.array([0.5])) + ExactSum.of(np.array(values))).value() == wanted
        assert aggregates.mean(np.array(values)) == wanted
    assert math.isnan(ExactSum.of(np.array([math.inf, -math.inf])).value())
    assert math.isnan(aggregates.mean(np.array([math.inf, -math.inf])))
    assert math.isnan(aggregates.mean(np.array([math.nan])))
    for values in ([math.inf, 1.0], [1e200, -1e200], [1.0]):  # the squares of 1e200 are infinite
        column = np.array(values)
        assert np.isnan(aggregates.compute_spread(ExactSum.of(column), aggregates.sum_squares(column))).all()


def test_short_and_long_columns_have_the_same_mean(monkeypatch):
    values = np.where(RANDOM.random(5000) < 0.1, np.nan, RANDOM.random(5000) ** 9)
    short = aggregates.mean(values)
    monkeypatch.setattr(aggregates, "SMALL", 0)
    assert aggregates.mean(values) == short


@pytest.mark.parametrize("n_batches", [1, 2, 7, 200])
def test_batches_give_the_mean_of_the_whole(n_batches):
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
    cuts = [0, 30, 31, 90, 200]
    for order in permutations(range(4)):
        parts = [pickle.loads(pickle.dumps(stream_of(cuts[part], cuts[part + 1]))) for part in order]
        merged = parts[0]
        for part in parts[1:]:
            merged.merge(part)
        assert merged.result().mean() == WITH_IDS.mean()
        assert len(merged.result()) == len(WITH_IDS)


def test_values_of_single_queries_on_request():
    result = stream_of(0, 100, per_query=True).merge(stream_of(100, 200, per_query=True)).result()
    np.testing.assert_array_equal(result.values, WITH_IDS.values)
    assert result.query_ids.tolist() == WITH_IDS.query_ids.tolist()
    assert result.query_ids.dtype == WITH_IDS.query_ids.dtype
    mixed = fn.StreamingEvaluator("rr", per_query=True).update([[1, 0]], [[1, 2]])
    mixed.update({"q": {"d": 1}}, {"q": {"d": 1.0}}).update([[1]], [[1]])
    assert mixed.result().to_dict() == {0: {"RR": 0.5}, "q": {"RR": 1.0}, 2: {"RR": 1.0}}
    assert len(fn.StreamingEvaluator("rr", per_query=True).result()) == 0


def test_streaming_accepts_every_kind_of_batch():
    pl = pytest.importorskip("polars")
    stream = fn.StreamingEvaluator("rr")
    stream.update({"a": {"x": 1}, "b": {"x": 1}}, {"a": {"x": 1.0}, "z": {"x": 1.0}})
    stream.update(pl.DataFrame({"qid": ["c", "d"], "label": [1, 0], "score": [1, 2]}))
    stream.update(fn.Interactions([3], offsets=[0, 1]), [[1, 3]])
    result = stream.result()
    assert result.mean() == {"RR": (1 + 0 + 1 + 0 + 1 / 2) / 5}
    assert (result.n_missing_in_run, result.n_missing_in_qrels) == (1, 1)


def test_streaming_raises_on_query_in_two_batches():
    stream = stream_of(0, 100)
    before = stream.result().mean()
    with pytest.raises(fn.InvalidInputError, match=f"whole, but query {WITH_IDS.query_ids[3]} comes again. Bring its"):
        stream.update([1, 0, 1], [1, 2, 3], query_ids=[1000, 1000, WITH_IDS.query_ids[3]])
    refused("comes again", lambda: stream.merge(stream_of(90, 120)))
    rankings = fn.Rankings([1, 1], [1, 1], [0, 1, 2], query_ids=["twin", "twin"])
    refused("query twin comes again", stream.update, rankings)
    assert stream.result().mean() == before
    assert repr(stream.update([1], [1], query_ids=[1000])).endswith(f"of {len(stream.result())} queries")


def test_streaming_merge_raises_on_other_settings():
    stream = fn.StreamingEvaluator("rr")
    for other, message in (
        (fn.StreamingEvaluator("map"), "`other` must have the same metrics"),
        (fn.StreamingEvaluator("rr", convention="trec_eval"), "`other` must have the same convention"),
        (fn.StreamingEvaluator("rr", per_query=True), "`other` must keep values of single queries as this does"),
        (WHOLE, "`other` must be a StreamingEvaluator, not Results"),
    ):
        refused(message, stream.merge, other)


def test_a_summary_has_means_and_no_values():
    """Raise an error that names `per_query=True` for what needs the values of single queries."""
    result = stream_of(0, 10).result()
    assert isinstance(result, fn.Summary)
    assert not isinstance(result, fn.Results)
    for name in ("values", "query_ids", "std", "to_dict", "by", "plot", "save"):
        with pytest.raises(AttributeError, match=rf"no `{name}`, as .* Take StreamingEvaluator\(..., per_query=True\)"):
            getattr(result, name)
    with pytest.raises(TypeError, match=r"no columns, as .* Take StreamingEvaluator\(..., per_query=True\)"):
        result["rr"]
    with pytest.raises(AttributeError, match=r"a Summary has no `other`$"):
        result.other  # noqa: B018
    facts = json.loads(result.to_json())
    assert facts["mean"] == result.mean()
    assert list(facts["n_undefined"].values()) == result.n_undefined().tolist()
    assert result.to_csv().splitlines()[0] == "metric,mean,n_queries,n_undefined"
    assert result.to_markdown().splitlines()[2].split("|")[1].strip() == "nDCG@10"
    assert len(result.to_csv().splitlines()) == 4


PARTIAL = PartialSums.from_values((fn.RR,), fn.conventions["default"], np.array([[1.0], [np.nan]]), {"n_queries": 2})
BYTES = PARTIAL.to_bytes()


@examples(100)
@given(values=st.lists(st.floats(), max_size=20))
def test_partial_sums_survive_bytes(values):
    array = np.array(values, "f8").reshape(-1, 1)
    partial = PartialSums.from_values((fn.RR,), fn.conventions["default"], array)
    read = PartialSums.from_bytes(partial.to_bytes())
    assert repr(read) == repr(partial)
    assert repr(read + partial) == repr(partial + partial)


@pytest.mark.parametrize(("content", "message"), [
    (b"", "must begin with 'fastndcg sums '"), (b"\x80\x04" + BYTES, "must begin with 'fastndcg sums '"),
    (BYTES.replace(b"sums 1", b"sums 3"), "must be of version 1, but these have b'3'"),
    (BYTES[:-1], "checksum is wrong"), (BYTES[:60] + b"?" + BYTES[61:], "checksum is wrong"),
    (BYTES[:20], "checksum is wrong"),
])  # fmt: skip
def test_partial_sums_refuse_other_bytes(content, message):
    refused(message, PartialSums.from_bytes, content)
    refused("must be bytes, not str", PartialSums.from_bytes, "text", error=fn.InvalidTypeError)


def test_partial_sums_of_other_conventions_or_without_squares_do_not_add_up():
    numbers, default = add_up_columns(np.ones((3, 1))), fn.conventions["default"]
    bare = PartialSums.from_numbers((fn.RR,), default, numbers, {"n_queries": 3})
    assert PartialSums.from_bytes(bare.to_bytes()) == bare
    by_input = PartialSums.from_values((fn.RR,), default.replace(ties="input"), np.ones((1, 1)))
    for one, other, message in (
        (PARTIAL, by_input, "same convention, but its ties is 'input', not 'average'"),
        (PARTIAL, PartialSums.from_values((fn.AP,), default, np.ones((1, 1))), "same metrics, RR, not AP"),
        (bare, PARTIAL, "must have sums of squares if these sums have some"),
    ):
        refused(message, operator.add, one, other)


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("method", ["auto", "t"])
def test_intervals_of_merged_parts_equal_those_of_all_values(order, method):
    pytest.importorskip("scipy")
    parts = [stream_of(first, stop) for first, stop in ((0, 60), (60, 61), (61, 200))]
    whole = fn.StreamingEvaluator(METRICS)
    for place in order:
        whole.merge(pickle.loads(pickle.dumps(parts[place])))
    result = whole.result()
    for metric in result.metrics:
        expected = WITH_IDS.confidence_interval(metric, method=method)
        assert result.confidence_interval(metric, method=method) == expected


@pytest.mark.parametrize(
    ("metric", "method"), [("success@1", "clopper-pearson"), ("p@5", "korn-graubard"), ("dcg@5", "t")]
)
def test_sums_know_the_method(metric, method):
    pytest.importorskip("scipy")
    options = {"convention": "default(ties=input)"}
    scores = SCORES.round(2)
    stream = fn.StreamingEvaluator(metric, **options)
    for first, stop in ((0, 90), (90, 200)):
        rows = slice(OFFSETS[first], OFFSETS[stop])
        stream.update(LABELS[rows], scores[rows], query_ids=IDS[rows])
    found = stream.result().confidence_interval(metric)
    assert found == fn.evaluate(LABELS, scores, metric, query_ids=IDS, **options).confidence_interval(metric)
    assert found.method == method


def test_intervals_of_streams_that_need_values():
    pytest.importorskip("scipy")
    result = stream_of(0, 30).result()
    with pytest.raises(fn.InvalidInputError, match="`method` must be 'auto' or 't', as values of single queries"):
        result.confidence_interval("rr", method="percentile")
    empty = fn.StreamingEvaluator("rr").result().confidence_interval("rr")
    assert math.isnan(empty.low)
    assert empty.reason == "no query has a value"


def test_threads_that_share_a_stream_lose_no_query():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for per_query in (False, True):
            stream = fn.StreamingEvaluator("rr", threads=1, per_query=per_query)

            def send(first, stream=stream):
                for place in range(50):
                    stream.update([0, 1, 1], [0.0, 0.2, 0.3], query_ids=[first * 100 + place] * 3)

            threads = [threading.Thread(target=send, args=(first,)) for first in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert (len(stream.result()), stream.result().means()) == (400, [1.0])
            assert stream.partial_sums().counts["n_queries"] == 400
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("per_query", [False, True])
@pytest.mark.parametrize("method", ["update", "merge"])
def test_a_batch_counts_whole_or_can_be_sent_again(per_query, method):
    counts = set()
    for line in range(1, 40):
        stream = fn.StreamingEvaluator("rr", threads=1, per_query=per_query)
        stream.update([0, 1], [0.1, 0.9], query_ids=[1, 1])
        other = fn.StreamingEvaluator("rr", threads=1, per_query=per_query)
        other.update([0, 1], [0.9, 0.1], query_ids=[2, 2])

        def send(stream=stream, other=other):
            if method == "merge":
                stream.merge(other)
            else:
                stream.update([0, 1], [0.9, 0.1], query_ids=[2, 2])

        interrupt_at_line(fn.StreamingEvaluator._add.__code__, line, send)
        counts.add(len(stream.result()))
        if len(stream.result()) == 1:
            send()
        assert (len(stream.result()), stream.result().means()) == (2, [0.75])
    assert counts == {1, 2}


def interrupt_at_line(code, n_lines, call):
    """Call a function, and raise KeyboardInterrupt when `code` has run a number of lines."""
    lines = itertools.count(1)

    def trace(frame, event, argument):
        if frame.f_code is not code:
            return None
        if event == "line" and next(lines) == n_lines:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            call()
    finally:
        sys.settrace(before)

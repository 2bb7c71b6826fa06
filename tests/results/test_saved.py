"""Results as files: every value comes back, and nothing damaged or foreign is read."""

import functools
import json
import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from scipy import sparse
from strategies import examples

import fastndcg as fn
from fastndcg.forms.digests import compute_digest
from fastndcg.results.results import Results
from fastndcg.results.saved import add_checksum, is_saved_result

FLOATS = st.floats(-1e100, 1e100) | st.just(np.nan)
QRELS = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1}}
RUN = {"q1": {"b": 1.0, "a": 1.0}, "q2": {"d": 2.0, "c": 1.0}}


def saved(tmp_path, **options):
    path = tmp_path / "results.json"
    fn.evaluate(QRELS, RUN, "ndcg@10, rr, gm(map)", **options).save(path)
    return path


@given(st.data())
@examples(60)
def test_every_value_comes_back(tmp_path_factory, data):
    n = data.draw(st.integers(0, 5))
    values = np.array(data.draw(st.lists(st.tuples(FLOATS, FLOATS), min_size=n, max_size=n)), "f8").reshape(n, 2)
    kind = data.draw(st.sampled_from(["text", "number", "none"]))
    drawn_ids = st.text(max_size=3) if kind == "text" else st.integers(-(2**62), 2**62)
    ids = data.draw(st.lists(drawn_ids, min_size=n, max_size=n, unique=True))
    if any("\x00" in str(query) or not str(query).isprintable() for query in ids):
        ids = [f"id{place}" for place in range(n)]
    array = None if kind == "none" else np.array(ids, dtype=object if kind == "text" else "i8")
    weights = data.draw(st.sampled_from([None, np.full((n, 2), 0.5)]))
    convention = fn.conventions["trec_eval"].replace(ties="best")
    before = Results(values, (fn.nDCG @ 10, fn.RR), array, convention, n_tied=2, value_weights=weights)
    path = tmp_path_factory.mktemp("saved") / "results.json"
    before.save(path)
    after = fn.load_result(path)
    assert after.values.tobytes() == before.values.tobytes() or np.array_equal(after.values, values, equal_nan=True)
    assert after.query_ids.tolist() == before.query_ids.tolist()
    assert (after.metrics, after.convention, after.n_tied) == (before.metrics, convention, 2)
    assert after.has_query_ids == before.has_query_ids
    assert (after.value_weights is None) == (weights is None)


def test_export_is_the_same_file(tmp_path):
    result = fn.evaluate(QRELS, RUN, "ndcg@10, rr, gm(map)", convention="trec_eval")
    path = tmp_path / "results.json"
    fields = json.loads(result.to_json())
    for text in (result.to_json(), json.dumps(fields), "\n" + json.dumps(fields, sort_keys=True), json.dumps(RUN)):
        path.write_text(text)
        assert is_saved_result(path) == (text != json.dumps(RUN))
        if not is_saved_result(path):
            continue
        again = fn.load_result(path)
        assert again.mean() == result.mean()
        assert again.notes == result.notes


def test_every_damage_is_refused(tmp_path):
    path = saved(tmp_path)
    text = path.read_text()
    rows = json.loads(text)
    rows["per_query"].pop()
    deep = [text.replace("{", '{"deep": ' + "[" * n + "]" * n + ", ", 1) for n in (600, 200_000)]
    for damaged in (text.replace("0.5", "0.6", 1), json.dumps(rows), text[: len(text) // 2], "", "[]", "{}", *deep):
        path.write_text(damaged)
        refused("must be results as fastndcg writes them", fn.load_result, path)


def list_places(value, place=()):
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, own in inner:
        yield from list_places(own, (*place, key))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # means of infinite values
def test_fields_of_another_kind_are_refused(tmp_path):
    """Each place of the file has a value of each kind, below a right checksum: it is refused, or can be used."""
    path = saved(tmp_path)
    fields = json.loads(path.read_text())
    del fields["checksum"]
    n_refused = 0
    for *above, last in filter(None, list_places(fields)):
        owner = functools.reduce(operator.getitem, above, fields)
        kept = owner[last]
        for value in (None, True, -1, 1.5, 10**400, math.inf, "x", [], [[]], {}, {"a": []}):
            owner[last] = value
            path.write_text(json.dumps(add_checksum(fields)))
            try:
                result = fn.load_result(path)
            except fn.InvalidInputError:
                n_refused += 1
            else:
                assert len(result.to_dict()) == len({*result.query_ids.tolist()})
                assert all((str(result), result.to_json(), result.mean()))
        owner[last] = kept
    assert n_refused > 300


def test_later_formats_and_fields(tmp_path):
    path = saved(tmp_path)
    fields = json.loads(path.read_text())
    del fields["checksum"]
    path.write_text(json.dumps(add_checksum(fields | {"later": 1})))
    assert len(fn.load_result(path)) == 2
    path.write_text(json.dumps(fields | {"format": "fastndcg results 2"}))
    refused("must have the format 'fastndcg results 1', but has", fn.load_result, path)
    path.write_text(json.dumps(add_checksum(fields | {"metrics": ["nDCG@10", "Nope"]})))
    refused("must have metrics of this version", fn.load_result, path)
    convention = fields["convention"] | {"gain": "exp2"}
    path.write_text(json.dumps(add_checksum(fields | {"convention": convention})))
    refused("default had gain='exp2' and has 'linear' now", fn.load_result, path)


BY_SUBTOPIC = {"q1": {"a": {"x": 1, "y": 2}, "b": {"x": 0}}}
SAME = {  # forms of one content
    "judgments": [
        QRELS,
        {query: dict(reversed(labels.items())) for query, labels in reversed(QRELS.items())},
        fn.Qrels(["q2", "q1", "q1"], ["c", "b", "a"], [1, 2.0, 1]),
        [{"query": query, "document": d, "label": label} for query, own in QRELS.items() for d, label in own.items()],
    ],
    "relevant ids": [{"q1": ["a", "b"], "q2": {"c"}}, {"q1": {"b": 1, "a": 1}, "q2": {"c": 1}}],
    "items": [{0: [4, 3]}, fn.Interactions([3, 4], offsets=[0, 2]), sparse.csr_array([[0, 0, 0, 1, 1]])],
    "subtopics": [BY_SUBTOPIC, {"q1": {"b": {"x": 0}, "a": {"y": 2, "x": 1}}}],
    "groups": [
        {"q1": [["a", "b"], ["c"]]},
        {"q1": [["b", "a"], ["c"]]},
        {"q1": {"c": {2: 1}, "b": {1: 1}, "a": {1: 1}}},
    ],
    "labels": [[[1, 0, 2], [0, 1, 1]], np.array([[1.0, -0.0, 2], [0, 1, 1]]), np.array([[1, 0, 2], [0, 1, 1]], "i1")],
    "ragged labels": [[[1, 0], [2]], [np.array([1.0, 0]), np.array([2.0])]],
}
OTHER = [  # contents that differ from these and from each other
    {"q1": {"a": 1, "b": 3}, "q2": {"c": 1}}, {"q1": {"a": 1, "c": 2}, "q2": {"c": 1}}, {"q1": {"a": 1, "b": 2}},
    {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}}, {"q1": {"a": 1}, "q2": {"b": 2, "c": 1}}, {1: [4, 3]},
    {"q1": {"a": {"x": 1, "y": 1}, "b": {"x": 0}}}, {"q1": [["a"], ["b", "c"]]}, {"q1": {"a": {"y": 2, "x": 1}}},
    np.array([[1, 0], [2, 0], [1, 1]]), np.array([1, 0, 2, 0, 1, 1]), [[1, 0, 2], [0, 1, 2]], [[1], [0, 2]],
    np.zeros((2, 6)), np.zeros((3, 4)),
]  # fmt: skip


def test_digests():
    """One digest of a content in every form and any order; the ids, numbers and shapes that it holds are all in it."""
    digests = {name: {compute_digest(value) for value in values} for name, values in SAME.items()}
    assert {len(own) for own in digests.values()} == {1}
    every = [*(compute_digest(values[0]) for values in SAME.values()), *map(compute_digest, OTHER)]
    assert len(set(every)) == len(every)
    assert compute_digest(QRELS) == "3-03107e607ba30526"  # that of files that are there already
    weighed = fn.DiversityQrels(BY_SUBTOPIC, importance={"q1": {"x": 0.5}})
    assert compute_digest(weighed) != compute_digest(BY_SUBTOPIC)
    gold = [
        {"q": [("a", 0, 9), ("b", 5, 7)]},
        {"query": ["q", "q"], "document": ["b", "a"], "start": [5, 0], "end": [7, 9]},
    ]
    assert len({compute_digest(spans, "gold") for spans in (*gold, {"q": [("a", 0, 9), ("b", 5, 8)]})}) == 2
    runs = [{"q": ["a", "a"]}, {"q": ["a", "b"]}, {"q": ["b", "a"]}, {"q": {"a": 0.5}}]  # with repeats and scores
    assert len({compute_digest(run, "run") for run in runs}) == len(runs)
    assert compute_digest(object()) == compute_digest(np.zeros((2, 2)), "run") == ""


def test_save_names_a_json_file(tmp_path):
    result = fn.evaluate(QRELS, RUN, "rr")
    refused(r"must name a JSON file", result.save, tmp_path / "results.json.gz")
    refused("must be the path of a file", result.save, 7, error=fn.InvalidTypeError)
    assert not list(tmp_path.iterdir())

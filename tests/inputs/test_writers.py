"""Judgments and runs that are written are read back equal: ids, values to the last bit, and the order of ties."""

import gzip
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from strategies import examples

import fastndcg as fn
from fastndcg.inputs.writers import WRITERS

FILES = [
    f"{stem}{compression}" for stem in ("x.run", "x.json", "x.jsonl", "x.csv") for compression in ("", ".gz", ".bz2")
]
FILES += ["x.json.zst", "x.parquet", "x.pq", "x.ndjson", "no_suffix"]
SCORES = [0.1, 1e-310, -1.5, 2.0**-1074, 1 / 3, 1e308, math.inf, -math.inf, -0.0, 0.1]
RUN = {"q1": {f"d{place}": score for place, score in enumerate(SCORES)}, 'é,"2"': {"ü": 0.0, "a,b": 0.0, "c": 5.0}}
QRELS = {"q1": {"d1": 2, "d2": 0, "d3": -1}, "007": {"d1": 0.25, "7": 3}}
SUBTOPICS = {"q1": {"d2": {"cars": 1, "cats": 2}, "d1": {"dogs": 1}}, "q2": {"a": {"x": 1.5}}}


def skip_without(name):
    if name.endswith((".parquet", ".pq")) or ".csv" in name:
        pytest.importorskip("pyarrow")
    if name.endswith(".zst"):
        pytest.importorskip("backports.zstd")


def same_bits(first, second):
    return {q: {d: np.float64(v).tobytes() for d, v in row.items()} for q, row in first.items()} == {
        q: {d: np.float64(v).tobytes() for d, v in row.items()} for q, row in second.items()
    }


@pytest.mark.parametrize(("kind", "table"), [(fn.Run, RUN), (fn.Qrels, QRELS)])
@pytest.mark.parametrize("name", FILES)
def test_written_tables_are_read_back(name, kind, table, tmp_path):
    skip_without(name)
    kind(table).write(tmp_path / name)
    again = kind(tmp_path / name).to_dict()
    assert same_bits(again, table)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    if kind is fn.Qrels or not name.startswith(("x.run", "no_suffix")):  # TREC's lines of runs stand by falling score
        assert [list(row) for row in again.values()] == [list(row) for row in table.values()]


@pytest.mark.parametrize("ids", [str, int, lambda number: f"é{number}"], ids=["ASCII", "whole numbers", "UTF-8"])
def test_lines_of_a_run(ids):
    """Lines have the numbers as repr writes them, also equal ones and those of float32, -0.0 and empty queries."""
    generator = np.random.default_rng(9)
    scores = generator.choice([0.0, -0.0, 1 / 3, 1e-7, 1e22, 5.0], 300).astype("f4" if ids is int else "f8")
    rows = {ids(query): {ids(place): scores[100 * query + place].item() for place in range(query * 50)}
            for query in range(3)}  # fmt: skip
    run = fn.Run(rows)
    lines = [
        f"{query} Q0 {document} {rank} {score!r} t\n"
        for query, row in rows.items()
        for rank, (document, score) in enumerate(sorted(row.items(), key=lambda item: -item[1]), 1)
    ]
    assert run.to_trec(tag="t") == "".join(lines)


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.csv", "x.parquet", "x.qrels"])
def test_written_subtopics_are_read_back(name, tmp_path):
    skip_without(name)
    fn.DiversityQrels(SUBTOPICS).write(tmp_path / name)
    again = fn.Qrels(tmp_path / name, format="trec_diversity" if name == "x.qrels" else None)
    assert again.to_dict() == SUBTOPICS
    run = {"q1": {"d1": 1.0, "d2": 2.0}, "q2": {"a": 1.0}}
    before, after = (fn.evaluate(qrels, run, "alpha_nDCG@2,S_recall@1") for qrels in (SUBTOPICS, again))
    assert before.values.tobytes() == after.values.tobytes()


def test_each_label_by_subtopic_is_written_as_it_was_given():
    rows = {"q": {"d1": {"a": 0, "b": 0}, "d2": {"a": 1, "b": -1}, "d3": {"b": -2}}, "r": {"d1": {"b": 3}}}
    qrels = fn.DiversityQrels(rows)
    assert qrels.to_dict() == rows
    assert qrels.filter(["r"]).to_dict() == {"r": rows["r"]}
    rows.pop("r")
    qrels = qrels.filter(["q"])
    assert qrels.to_dict() == rows
    assert qrels.filter(["other"]).to_dict() == {}


@pytest.mark.parametrize("dtype", ["i4", "i8", "u8"])
def test_whole_ids_are_kept_by_parquet_and_are_texts_elsewhere(dtype, tmp_path):
    pytest.importorskip("pyarrow")
    top = 2**63 + 5 if dtype == "u8" else 5
    ids = np.array([3, 3, top], dtype)
    run = fn.Run(ids, ids[::-1], [0.5, 0.25, 1.0])
    run.write(tmp_path / "x.parquet")
    assert fn.Run(tmp_path / "x.parquet").to_dict() == run.to_dict() == {3: {top: 0.5, 3: 0.25}, top: {3: 1.0}}
    for name in ("x.run", "x.json", "x.csv"):
        run.write(tmp_path / name)
        assert fn.Run(tmp_path / name).to_dict() == {"3": {str(top): 0.5, "3": 0.25}, str(top): {"3": 1.0}}


def test_float32_scores_keep_their_bits_and_nan_is_last(tmp_path):
    run = fn.Run(["q"] * 3, ["a", "b", "c"], np.array([0.1, 1 / 3, 1e-40], "f4"))
    run.write(tmp_path / "x.run")
    assert same_bits(fn.Run(tmp_path / "x.run").to_dict(), run.to_dict())
    assert run.to_dict()["q"]["a"] == float(np.float32(0.1))
    run = fn.Run(["q"] * 3, ["a", "b", "c"], [math.nan, 1.0, 2.0])
    assert [line.split()[2] for line in run.to_trec().splitlines()] == ["c", "b", "a"]
    for name in ("x.run", "x.json"):
        run.write(tmp_path / name)
        assert math.isnan(fn.Run(tmp_path / name).to_dict()["q"]["a"])


def test_ranks_tag_and_ties_of_trec_runs(tmp_path):
    run = fn.Run({"q1": {"b": 1.0, "a": 1.0, "c": 2.0}, "q2": {"x": -1.0}})
    assert run.to_trec(tag="bm25").splitlines() == [
        "q1 Q0 c 1 2.0 bm25", "q1 Q0 b 2 1.0 bm25", "q1 Q0 a 3 1.0 bm25", "q2 Q0 x 1 -1.0 bm25",
    ]  # fmt: skip
    labels = {"q": {"a": 0, "b": 1, "c": 1}}
    run = fn.Run({"q": {"a": 0.5, "b": 0.5, "c": 0.25}})
    expected = fn.evaluate(labels, run, "ndcg", convention="default(ties=input)")["ndcg"]
    for name in ("x.run", "x.json"):
        run.write(tmp_path / name)
        assert fn.evaluate(labels, tmp_path / name, "ndcg", convention="default(ties=input)")["ndcg"] == expected


IDS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=5)
TABLES = st.dictionaries(
    IDS, st.dictionaries(IDS, st.floats(allow_nan=False), min_size=1, max_size=5), min_size=1, max_size=4
)


@examples(60)
@given(table=TABLES, suffix=st.sampled_from([".json", ".jsonl", ".run"]))
def test_any_run_is_read_back_or_refused(table, suffix, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / f"x{suffix}"
    is_for_fields = not any(
        re.search("[\0\t-\r ]", text) for text in (*table, *(d for row in table.values() for d in row))
    )
    has_comment = any(query.startswith("#") for query in table)
    if suffix == ".run" and (not is_for_fields or has_comment or next(iter(table)).startswith(("{", "[", "\ufeff"))):
        refused("Write JSON or Parquet", lambda: fn.Run(table).write(path))
        assert not path.exists()
        return
    fn.Run(table).write(path)
    assert same_bits(fn.Run(path).to_dict(), table)


def test_ids_with_lone_surrogates_are_written_as_json(tmp_path):
    """UTF-8 has no lone surrogates, but JSON's escapes do."""
    run = fn.Run({"q": {"caf\udce9": 1.0}})
    run.write(tmp_path / "x.json")
    assert fn.Run(tmp_path / "x.json").to_dict() == run.to_dict()
    for name in ("x.run", "x.csv", "x.parquet"):
        skip_without(name)
        refused(r"no lone surrogates, but one is 'caf\\udce9'. Write JSON", run.write, tmp_path / name)


@pytest.mark.parametrize(("run", "name", "arguments", "message"), [
    ({"q 1": {"d": 1}}, "x.run", {}, "have no blanks and no NUL, but query 'q 1' does. Write JSON or Parquet"),
    ({"q": {"d": 1, "": 2}}, "x.run", {}, "must not be empty and have no blanks and no NUL, but document '' does"),
    ({"{q": {"d": 1}}, "x.run", {}, "must not begin with .*, which show other formats, but is '{q'"),
    ({"q": {"d\n": 1}}, "x.csv", {}, r"ids in CSV must .* no line ends .*, but document 'd\\n' does"),
    ({"q": {"d": 1}}, "x.run", {"tag": "a b"}, "`tag` must be a text without blanks, but is 'a b'"),
    ({"q": {"d": 1}}, "x.run", {"tag": 5}, "`tag` must be the name of the system as a text, not 5"),
    ({"q": {"d": 1}}, "x", {"format": "jsn"}, "`format` 'jsn' is not known. Did you mean 'json'?"),
    ({"q": {"d": 1}}, "x", {"format": 3}, "`format` 3 is not known. There are trec, json, jsonl, csv, parquet"),
    ({"q": {"d": 1}}, "x.run.xz", {}, "`path` must end in .gz, .bz2, .zst for a compressed file"),
    ({"q": {"d": 1}}, "x.parquet.gz", {}, "`path` must not end in .* for Parquet"),
    ({"q": {"d": 1}}, "x.xlsx", {}, "`path` must end in .json, .*, but ends in .xlsx"),
])  # fmt: skip
def test_what_cannot_be_written_is_refused(run, name, arguments, message, tmp_path):
    (tmp_path / name).write_text("old")
    refused(message.replace("?", r"\?"), lambda: fn.Run(run).write(tmp_path / name, **arguments))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_paths_must_be_paths_and_compressed_files_have_no_date(tmp_path):
    for path in (3, None, b"x"):
        refused("`path` must be the path of a file", fn.Run({"q": {"d": 1}}).write, path, error=fn.InvalidTypeError)
    run = fn.Run(RUN)
    for name in ("a.json.gz", "b.json.gz"):
        run.write(tmp_path / name)
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()).decode() == run.to_json()
    from fastndcg.inputs.formats import FORMATS_BY_NAME

    assert set(WRITERS) <= set(FORMATS_BY_NAME)


def test_top_and_filter():
    run = fn.Run({"q1": {"a": 1.0, "b": 3.0, "c": 1.0}, "q2": {"x": -1.0}})
    assert [list(row.items()) for row in run.top(2).to_dict().values()] == [[("b", 3.0), ("a", 1.0)], [("x", -1.0)]]
    assert run.top(99).to_dict() == run.to_dict()
    refused("`k` must be a whole number of 1 or more, not 0", run.top, 0)
    run = fn.Run({"q1": {"a": 1.0}, "q2": {"x": -1.0}, "q3": {"y": 0.0}})
    assert run.filter(["q3", "q1", "q9"]).to_dict() == {"q1": {"a": 1.0}, "q3": {"y": 0.0}}
    assert run.filter([]).to_dict() == {}
    refused(re.escape("ids of queries are texts in the run"), run.filter, [1, 2], error=fn.InvalidTypeError)
    assert fn.Qrels({1: {"a": 2}, 2: {"a": 0}}).filter(iter([2])).to_dict() == {2: {"a": 0}}

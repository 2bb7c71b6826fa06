"""Data sets and results as tools for retrieval have them, in objects, columns and files, equal plain dicts."""

import json

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.cli import main

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")

GROUPS = {"q1": [["d1", "é"], ["d3"]], "q2": [], "q3": [["d4"], ["d1", "d5", "d6"]]}
FOUND = {"q1": ["é", "d7", "d3"], "q2": ["d1"], "q3": ["d9"]}
OF_GROUPS = "evidence_recall@2, all_evidence@3, recall@3"
QA = {
    "qid": list(GROUPS), "query": ["a?", "b?", "c?"], "retrieval_gt": list(GROUPS.values()),
    "generation_gt": [["yes"], [], ["no"]], "retrieved_ids": list(FOUND.values()),
}  # fmt: skip


def check_same(found, expected):
    assert found.query_ids.tolist() == expected.query_ids.tolist()
    np.testing.assert_array_equal(found.values, expected.values)


def nest(groups):
    """Return groups as pandas reads them from Parquet: arrays of arrays."""
    found = np.empty(len(groups), object)
    for place, group in enumerate(groups):
        found[place] = group if group is None else nest(group) if isinstance(group, list) else group
    return found


def write_parquet(folder, table):
    pq.write_table(pa.table(table), folder / "qa.parquet")
    return folder / "qa.parquet"


def write_lines(folder, table):
    path = folder / "qa.jsonl"
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


TABLES = {
    "pandas": lambda table, _: pd.DataFrame(table),
    "pandas with arrays": lambda table, _: pd.DataFrame(
        {name: list(map(nest, rows)) if name in ("retrieval_gt", "gt") else rows for name, rows in table.items()}
    ),
    "pandas from Parquet": lambda table, folder: pd.read_parquet(write_parquet(folder, table)),
    "Polars": lambda table, _: pl.DataFrame(table),
    "a lazy frame": lambda table, _: pl.LazyFrame(table),
    "pyarrow": lambda table, _: pa.table(table),
    "pyarrow in chunks": lambda table, _: pa.concat_tables([pa.table(table)[:1], pa.table(table)[1:]]),
    "a dict of columns": lambda table, _: table,
    "records": lambda table, _: pd.DataFrame(table).to_dict("records"),
    "Parquet": lambda table, folder: write_parquet(folder, table),
    "JSON Lines": lambda table, folder: write_lines(folder, table),
}  # fmt: skip


@pytest.mark.parametrize("form", TABLES)
def test_groups_of_evidence_in_a_column(form, tmp_path):
    """AutoRAG's retrieval_gt has lists of lists, of each of which one document is enough."""
    expected = fn.evaluate(GROUPS, FOUND, OF_GROUPS)
    assert expected.to_dict()["q1"] == {"S_recall@2": 1 / 2, "all_evidence@3": 1.0, "R@3": 2 / 3}
    make = TABLES[form]
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        check_same(evaluate(make(QA, tmp_path), metrics=OF_GROUPS), expected)
    truth = {name: QA[name] for name in ("qid", "query", "retrieval_gt")}
    assert fn.evaluate(make(truth, tmp_path), FOUND, OF_GROUPS).notes == expected.notes
    for read in (fn.Qrels, fn.DiversityQrels):
        judged = read(make(truth, tmp_path))
        assert isinstance(judged, fn.DiversityQrels)
        assert judged.to_dict() == fn.Qrels(GROUPS).to_dict()
    named = {"q": QA["qid"], "gt": QA["retrieval_gt"], "found": QA["retrieved_ids"]}
    if form != "JSON Lines" and not form.startswith("a dict"):  # which show by usual names that they have columns
        columns = {"query": "q", "document": "gt", "score": "found"}
        assert (
            fn.evaluate(fn.Rows(make(named, tmp_path), columns=columns), metrics=OF_GROUPS).means() == expected.means()
        )
    numbers = {"qid": [1], "retrieval_gt": [[[3, 4], [5]]]}
    assert fn.evaluate(make(numbers, tmp_path), {1: [4]}, "evidence_recall").to_dict() == {1: {"S_recall": 1 / 2}}


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"retrieval_gt": [[["a"], []]]}, r"must have groups of ids, all different, .* query 'q' has \[\]"),
        ({"retrieval_gt": [[["a", "a"]]]}, r"must have groups of ids, all different, .* has \['a', 'a'\]"),
        ({"retrieval_gt": [[[["a"]]]]}, r"where \['a'\] is no id"),
        ({"retrieval_gt": [[[0.5]]]}, r"where 0\.5 is no id"),
        ({"retrieval_gt": [[["a"], None]]}, "must have groups of ids, all different, .* has None"),
        ({"retrieval_gt": [[["a", None]]]}, "where None is no id"),
        ({"qid": ["q", "q"], "retrieval_gt": [[["a"]], [["b"]]]}, "one row per query .* query q has "),
        ({"retrieval_gt": [[["a"]]], "grade": [[1]]}, "no labels beside groups of ids, .* 'grade' .* Drop it, or give"),
        ({"retrieval_gt": [[["a"]]], "importance": ["vital"]}, "no importances beside groups of ids, .* 'importance'"),
    ],
)  # fmt: skip
def test_groups_that_cannot_be_read(form, change, message, tmp_path):
    table = {"qid": ["q"]} | change
    with pytest.raises(fn.InvalidInputError, match=message) as error:
        fn.evaluate(TABLES[form](table, tmp_path), {"q": ["a"]}, "evidence_recall")
    name = {"Parquet": "qa.parquet", "JSON Lines": "qa.jsonl"}.get(form, "")
    assert name in str(error.value)


def test_columns_of_empty_and_of_null_groups():
    """A frame without any group is one of queries without judgments, as the dict is."""
    empty = pa.table({"qid": ["q"], "retrieval_gt": pa.array([[]], pa.list_(pa.list_(pa.string())))})
    assert fn.Qrels(empty).to_dict() == fn.Qrels({"q": []}).to_dict() == {"q": {}}
    assert len(fn.Qrels(empty[:0])) == 0
    with pytest.raises(fn.InvalidInputError, match="must have subtopics, but has none"):
        fn.DiversityQrels(empty)
    null = pa.table({"qid": ["q", "r"], "retrieval_gt": pa.array([[["a"]], None], pa.list_(pa.list_(pa.string())))})
    with pytest.raises(fn.InvalidInputError, match="no null, but column 'retrieval_gt' has one in row 1"):
        fn.Qrels(null)
    with pytest.raises(fn.InvalidInputError, match="the type in its lists is list"):
        fn.Run(pa.table({"qid": ["q"], "retrieved_ids": [[["a"]]]}))


def test_command_line_of_groups(tmp_path, capsys):
    path = write_parquet(tmp_path, QA)
    assert main(["evaluate", str(path), "-m", "evidence_recall@2,all_evidence@3", "--json"]) == 0
    means = json.loads(capsys.readouterr().out)["runs"][0]["mean"]
    assert means == fn.evaluate(GROUPS, FOUND, "evidence_recall@2, all_evidence@3").mean()

"""Frames of every library, the names of their columns, ids of every type, ranks, and ragged columns."""

import random
import re
from decimal import Context, Decimal
from pathlib import Path

import numpy as np
import pytest
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.inputs import frames as names_of_columns

pa, pl, pd, duckdb, ak, pq = map(
    pytest.importorskip, ("pyarrow", "polars", "pandas", "duckdb", "awkward", "pyarrow.parquet")
)
METRICS = "ndcg,map,rr,p@2,num_ret"
ROLES = "query, document, label, score, subtopic, importance, rank"
QUERIES = ["q7", "q3", "q7", "007", "q3", "q7", "007", "q7"]
DOCUMENTS = ["a", "é", "b", "a", "long document id", "c", "", "d"]
LABELS = [1, 0, 2, 0, 1, 0, 3, 1]
SCORES = [0.5, 0.25, 0.5, 0.125, 0.75, 0.25, 2.0, 0.0]
COLUMNS = {"query_id": QUERIES, "docno": DOCUMENTS, "relevance": LABELS, "score": SCORES}
QRELS, RUN = {}, {}
for query, document, label, score in zip(QUERIES, DOCUMENTS, LABELS, SCORES, strict=True):
    QRELS.setdefault(query, {})[document] = label
    RUN.setdefault(query, {})[document] = score
EXPECTED = {
    convention: fn.evaluate(QRELS, RUN, METRICS, convention=convention).to_dict()
    for convention in ("default", "default(ties=id_descending)")
}
MAKERS = {
    "pandas": pd.DataFrame,
    "pandas objects": lambda columns: pd.DataFrame(columns).astype(dict.fromkeys(list(columns)[:1], object)),
    "pandas categories": lambda columns: pd.DataFrame(columns).astype(dict.fromkeys(list(columns)[:1], "category")),
    "pandas arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas index": lambda columns: pd.DataFrame(columns).set_index(next(iter(columns))),
    "pandas shuffled index": lambda columns: pd.DataFrame(columns, index=range(len(QUERIES), 0, -1)),
    "polars": pl.DataFrame,
    "polars categories": lambda columns: pl.DataFrame(columns).with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "polars in chunks": lambda columns: pl.concat(
        [pl.DataFrame(columns)[:3], pl.DataFrame(columns)[3:]], rechunk=False
    ),
    "pyarrow": pa.table,
    "pyarrow sliced": lambda columns: pa.concat_tables([pa.table(columns)] * 2).combine_chunks()[len(QUERIES) :],
    "pyarrow in chunks": lambda columns: pa.concat_tables([pa.table(columns)[:5], pa.table(columns)[5:]]),
    "pyarrow dictionaries": lambda columns: pa.concat_tables(
        [
            pa.table({n: pa.array(v).dictionary_encode() if isinstance(v[0], str) else v for n, v in part.items()})
            for part in ({n: v[:2] for n, v in columns.items()}, {n: v[2:] for n, v in columns.items()})
        ]
    ),
    "pyarrow stream": lambda columns: pa.table(columns).to_reader(),
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
}


def without(*names):
    return {name: values for name, values in COLUMNS.items() if name not in names}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("convention", EXPECTED)
def test_frames_alone_and_beside_others_give_the_values_of_dicts(maker, convention):
    make = MAKERS[maker]
    for truth, predictions in (
        (make(COLUMNS), None), (make(without("score")), make(without("relevance"))), (make(without("score")), RUN),
        (QRELS, make(without("relevance"))),
    ):  # fmt: skip
        assert fn.evaluate(truth, predictions, METRICS, convention=convention).to_dict() == EXPECTED[convention]


def test_frames_without_documents_and_with_other_names():
    result = fn.evaluate(pl.DataFrame(without("docno")), None, METRICS)
    assert result.to_dict() == EXPECTED["default"]
    reference = fn.reference.evaluate(pl.DataFrame(without("docno")), None, METRICS)
    np.testing.assert_allclose(reference.values, result.values, rtol=1e-15)
    renamed = pd.DataFrame(COLUMNS).set_axis(["A", "B", "C", "D"], axis=1)
    columns = {"query": "A", "document": "B", "label": "C", "score": "D"}
    assert fn.evaluate(fn.Rows(renamed, columns=columns), metrics=METRICS).to_dict() == EXPECTED["default"]
    del columns["score"]
    qrels = fn.Qrels(renamed, columns=columns)
    run = fn.Run(renamed, columns={"query": "A", "document": "B", "score": "D"})
    assert fn.evaluate(qrels, run, METRICS).to_dict() == EXPECTED["default"]


INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("maker", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frame_integer_ids(dtype, maker):
    info = np.iinfo(dtype)
    queries = np.array([info.max, info.min, info.max, 5, info.min], dtype)
    documents = np.array([info.max, info.min, 0, info.max, info.max], dtype)
    labels, scores = [1, 0, 2, 3, 1], [0.5, 0.25, 0.75, 1.0, 0.125]
    qrels = maker({"qid": queries, "pid": documents, "label": labels})
    run = maker({"qid": queries[::-1].copy(), "pid": documents[::-1].copy(), "score": scores[::-1]})
    result = fn.evaluate(qrels, run, "ndcg,num_rel_ret")
    assert result.query_ids.tolist() == [info.max, info.min, 5]
    assert result.query_ids.dtype == dtype
    assert result["num_rel_ret"].tolist() == [2, 1, 1]
    one = maker({"qid": queries, "label": labels, "score": scores})
    np.testing.assert_array_equal(fn.evaluate(one, metrics="ndcg")["ndcg"], result["ndcg"])


def test_unsigned_and_signed_ids_meet_by_value():
    qrels = pl.DataFrame({"qid": pl.Series([2**64 - 1, 7], dtype=pl.UInt64), "pid": [1, 1], "label": [1, 1]})
    run = pl.DataFrame({"qid": [-1, 7], "pid": pl.Series([1, 1], dtype=pl.UInt8), "score": [0.5, 0.5]})
    result = fn.evaluate(qrels, run, "rr", convention="default(missing_in_qrels=undefined)")
    assert result.n_missing_in_run == result.n_missing_in_qrels == 1
    assert result["rr"].tolist()[:2] == [0, 1]
    wide = pl.DataFrame({"qid": [7, 7], "pid": pl.Series([2**64 - 1, 2**63], dtype=pl.UInt64), "label": [1, 0]})
    run = wide.rename({"label": "score"}).with_columns(score=0.5)
    assert fn.evaluate(wide, run, "rr", convention="default(ties=id_descending)")["rr"].tolist() == [1]


LISTS = {"labels": [[1, 0, 2], [], [0, 1]], "scores": [[0.5, 0.25, 0.125], [], [0.5, 0.75]]}
RAGGED = {
    "pyarrow": pa.array,
    "large lists": lambda lists: pa.array(lists).cast(pa.large_list(pa.array(lists).type.value_type)),
    "sliced": lambda lists: pa.array([[9, 9], *lists, [9]])[1:-1],
    "chunks": lambda lists: pa.chunked_array([pa.array(lists[:1]), pa.array([[3], *lists[1:]])[1:]]),
    "views": lambda lists: pa.array(lists, pa.list_view(pa.array(lists).type.value_type)),
    "views in any order": lambda lists: pa.ListViewArray.from_arrays([2, 0, 0], [3, 0, 2],
        pa.array([*lists[2], *lists[0]])),
    "views sliced": lambda lists: pa.array([[9], *lists], pa.large_list_view(pa.array(lists).type.value_type))[1:],
    "polars": pl.Series, "polars sliced": lambda lists: pl.Series([lists[0], *lists])[1:],
    "pandas": lambda lists: pd.Series(pd.arrays.ArrowExtensionArray(pa.array(lists))), "awkward": ak.Array,
    "awkward sliced": lambda lists: ak.Array([[9, 9], *lists])[1:],
}  # fmt: skip


@pytest.mark.parametrize("kind", RAGGED)
def test_ragged_columns(kind):
    expected = fn.evaluate([1, 0, 2, 0, 1], [0.5, 0.25, 0.125, 0.5, 0.75], METRICS, offsets=[0, 3, 3, 5]).values
    labels, scores = (RAGGED[kind](lists) for lists in LISTS.values())
    np.testing.assert_array_equal(fn.evaluate(labels, scores, METRICS).values, expected)
    np.testing.assert_array_equal(fn.Evaluator(labels, METRICS).evaluate(scores).values, expected)


def test_fixed_lists_and_frames_of_lists():
    expected = fn.evaluate([[1, 0], [0, 1]], [[0.5, 0.75], [0.5, 0.75]], METRICS).values
    lists = [
        pa.array(rows, pa.list_(kind, 2))
        for rows, kind in (([[1, 0], [0, 1]], pa.int32()), ([[0.5, 0.75]] * 2, pa.float32()))
    ]
    np.testing.assert_array_equal(fn.evaluate(*lists, METRICS).values, expected)
    frame = pl.DataFrame({"user": [5, 3, 4], **LISTS})
    result = fn.evaluate(frame, metrics="rr")
    assert result.to_dict() == {5: {"RR": 1.0}, 3: {"RR": 0.0}, 4: {"RR": 1.0}}
    views = pa.table({"user": [5, 3, 4]} | {name: RAGGED["views"](lists) for name, lists in LISTS.items()})
    assert fn.evaluate(views, metrics="rr").to_dict() == result.to_dict()


ITS = "its columns are"
test_bad_frames = refuses(lambda columns: fn.evaluate(pl.DataFrame(columns), metrics="rr"), {
    "two queries": ({"user_id": [1], "session_id": [1], "label": [1], "score": [1]},
        f"`truth` must have one column of query ids or values, but has more than one of its usual names: {ITS} "
        "'user_id', 'session_id', 'label', 'score'. Give fn.Rows(…, columns={'query': NAME})"),
    "no label": ({"q": [1], "x": [1], "score": [1]},
        f"`truth` must have one column of label ids or values, but has none of its usual names: {ITS} 'q', 'x', "
        "'score'. Give fn.Rows(…, columns={'label': NAME})"),
    "null label": ({"q": [1, 1], "label": [1, None], "score": [1, 2]},
        "`truth` must have no null, but column 'label' has one in row 1. Drop or fill it"),
    "null query": ({"q": ["a", None], "label": [1, 1], "score": [1, 2]},
        "`truth` must have no null, but column 'q' has one in row 1. Drop or fill it"),
    "floats as queries": ({"q": [1.5], "label": [1], "score": [1]},
        "column 'q' of `truth` must hold texts or whole numbers, but its type is double. Cast it to one of them"),
    "texts as scores": ({"q": [1], "label": [1], "score": ["high"]},
        "column 'score' of `truth` must hold numbers, but its type is string_view, such as 'high' in row 0. "
        "Cast it to int or float"),
    "twice": ({"q": ["a", "b", "a"], "doc": ["x", "x", "x"], "label": [1, 1, 0], "score": [1, 2, 3]},
        "`truth`: a document must stand once in a query, but document x of query a is in rows 0 and 2. "
        "Keep one of them, name a column that tells them apart: columns={'document': NAME}, or take "
        "fn.Rows(…, duplicates='first')"),
    "lists of other lengths": ({"labels": [[1], [1, 0]], "scores": [[0.5], [0.5]]},
        "`truth` must have the same number of labels as scores in each row, but row 1 has 2 and 1. "
        "Give each score its label"),
}, text="^{}$")  # fmt: skip


def test_bad_categories_and_runs():
    ids = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    with pytest.raises(fn.InvalidInputError, match=r"`truth` must have no null, but column 'q' has one in row 1. Drop"):
        fn.evaluate(pa.table({"q": ids, "label": [1, 1], "score": [1.0, 2.0]}), metrics="rr")
    run = pd.DataFrame({"qid": ["a", "a"], "docid": ["x", "y"], "score": [0.5, np.nan]})
    refused(r"^the run, row 1: score of document y of query a must not be NaN", fn.evaluate, {"a": {"x": 1}}, run, "rr")
    last = fn.evaluate({"a": {"y": 1}}, run, "rr", convention="default(nan_scores=last)")
    assert last["rr"].tolist() == [1 / 2]
    refused(r"rows 0 and 1\. Keep one of them", fn.Run, run.assign(docid="x", score=1))
    with pytest.raises(fn.InvalidInputError, match=r"`truth` must convert to Arrow columns, but does.*. Cast them to"):
        fn.evaluate(pd.DataFrame({"q": np.array(["a", 1], object), "label": 1, "score": 1}), metrics="rr")


ONE_ROW = pl.DataFrame({"q": [1], "label": [1], "score": [1]})
test_bad_names_of_columns = refuses(lambda columns: fn.evaluate(fn.Rows(ONE_ROW, columns=columns), metrics="rr"), [
    ({"labels": "label"}, f"`columns` must have keys among {ROLES}, not 'labels'"),
    (["label"], f"`columns` must map {ROLES} to names of columns, not ['label']"),
    ({"label": 3}, f"`columns` must map {ROLES} to names of columns, not {{'label': 3}}"),
    ({"label": "x"}, "`truth` must have one column 'x', but has 0: its columns are 'q', 'label', 'score'. Give "
        "fn.Rows(…, columns={'label': NAME})"),
], text="^{}$")  # fmt: skip
test_bad_lists = refuses(lambda labels, scores: fn.evaluate(pl.Series(labels), pl.Series(scores), "rr"), [
    (LISTS["labels"], [[0.5], [0.5], [0.5]],
        "`scores` must have the same number of numbers as `labels` in each list, but"),
    (LISTS["labels"], [[0.5]], "`scores` must have the same number of lists as `labels`, 3, but has 1"),
    ([[1], None], [[1], [2]], "`labels` must have no null, but list 1 is null. Drop its query"),
    ([[1], [2, None]], [[1], [2]], "`labels` must have no null, but a number of list 1 is null. Drop or fill it"),
], text="^{}")  # fmt: skip


def test_inputs_that_do_not_go_together():
    ragged = pl.Series(LISTS["labels"])
    for message, arguments, ways in (
        ("`labels` and `scores` must be alike, but `scores` are not ragged. Convert them", (ragged, [1.0] * 5), {}),
        ("`labels` and `scores` must be alike, but `scores` are not ragged. Convert them", (ragged, np.ones(5)), {}),
        ("`scores` must have the same number of lists as `labels`, 1, but has 3.", ([[1, 2]], ragged), {}),
        ("`offsets` cuts arrays into queries, but `truth` has its own. Leave it out", (ragged, ragged),
            {"offsets": [0]}),
    ):  # fmt: skip
        refused(f"^{re.escape(message)}", fn.evaluate, *arguments, metrics="rr", **ways)


GENERATOR = random.Random(3)
DECIMALS = [
    Decimal(GENERATOR.randrange(-(10**30), 10**30)).scaleb(-9, Context(prec=60)) for _ in range(300)
]  # fmt: skip


def test_decimals_are_the_nearest_floats(tmp_path):
    n, queries = len(DECIMALS), np.arange(len(DECIMALS)) // 7
    labels = [Decimal(i % 4) / 2 for i in range(n)]
    given = pa.table({"qid": queries, "docno": np.arange(n), "score": pa.array(DECIMALS, pa.decimal128(38, 9))})
    wide = given.set_column(2, "score", pa.array(DECIMALS, pa.decimal256(60, 20)))
    floats = np.array(list(map(float, DECIMALS)))
    for frame in (given, wide, given.to_pandas(), pl.from_arrow(given)):
        assert fn.Run(frame).values.tobytes() == floats.tobytes()
    expected = fn.evaluate(np.array(labels, "f8"), floats, "dcg,rr", query_ids=queries)
    rows = given.append_column("label", pa.array(labels))
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=50)
    offsets = pa.array([*range(0, n, 7), n])
    lists = (pa.ListArray.from_arrays(offsets, rows[name].chunk(0)) for name in ("label", "score"))
    for arguments in ((rows,), (tmp_path / "rows.parquet",), tuple(lists)):
        result = fn.evaluate(*arguments, metrics="dcg,rr")
        np.testing.assert_array_equal(result.values, expected.values)


def test_duckdb_decimal_columns():
    rows = duckdb.sql(
        "SELECT q, 0.5 - q / 10.0 AS score, sum(x) AS label FROM (VALUES (1, 2), (1, 3)) t(q, x) GROUP BY q"
    )
    assert fn.evaluate(rows, metrics="dcg").to_dict() == {1: {"DCG": 5.0}}


PAIRS = pd.DataFrame({"user": [0, 0, 1, 1], "item": [3, 4, 5, 6], "day": [1, 2, 3, 4]})
RECOMMENDED = np.array([[3, 5], [1, 6]])


def test_pairs_without_labels(tmp_path):
    kept = PAIRS[PAIRS.item != 4]
    pairs = kept[["user", "item"]]
    labelled = pairs.assign(label=1)
    expected = fn.evaluate(labelled, RECOMMENDED, "rr,recall,ndcg").to_dict()
    assert expected[1] == {"RR": 0.5, "R": 0.5, "nDCG": expected[1]["nDCG"]}
    pairs.to_parquet(tmp_path / "pairs.parquet")
    for frame in (pairs, pl.from_pandas(pairs), pa.table(pairs), tmp_path / "pairs.parquet"):
        assert fn.evaluate(frame, RECOMMENDED, "rr,recall,ndcg").to_dict() == expected
    pairs.to_csv(tmp_path / "pairs.csv", index=False)
    run = {"0": {"3": 2, "5": 1}, "1": {"1": 2, "6": 1}}
    assert fn.evaluate(tmp_path / "pairs.csv", run, "rr").to_dict() == {"0": {"RR": 1.0}, "1": {"RR": 0.5}}


def test_pairs_beside_another_column(tmp_path):
    message = (
        " must have one column of label ids or values, but has none of its usual names: its columns are 'user', "
        "'item', 'day'. Give {} or, if each document counts 1, only the columns of queries and documents"
    )
    columns = "columns={'label': NAME}"
    PAIRS.to_parquet(tmp_path / "pairs.parquet")
    PAIRS.to_csv(tmp_path / "pairs.csv", index=False)
    refused(re.escape(message.format(f"fn.Qrels(…, {columns})")), fn.evaluate, PAIRS, RECOMMENDED, "rr")
    for truth in (tmp_path / "pairs.parquet", tmp_path / "pairs.csv"):
        refused(re.escape(message.format(columns)), fn.evaluate, truth, RECOMMENDED, "rr")
    with pytest.raises(fn.InvalidInputError, match="`qrels` must have one column 'grade', but has 0"):
        fn.Qrels(PAIRS[["user", "item"]], columns={"label": "grade"})
    message = r"none of its usual names: .* Give fn.Rows\(…, columns={'label': NAME}\)$"
    refused(message, fn.evaluate, PAIRS.assign(score=1), metrics="rr")


GRADES = {"qid": ["a", "a", "b"], "docno": ["x", "y", "x"], "grade": [1, 2, 1]}
BM25 = {"qid": ["a", "a", "b"], "docno": ["y", "z", "x"], "bm25": [0.5, 0.75, 0.25]}
ROWS = {**GRADES, "bm25": [0.5, 0.75, 0.25]}
TOPICS = {**GRADES, "intent": ["s", "t", "s"]}
BOTH = {"label": "grade", "score": "bm25"}
DICT = {"a": {"x": 1, "y": 2}, "b": {"x": 1}}
FORMS = {
    "polars": lambda columns, _: pl.DataFrame(columns),
    "csv": lambda columns, path: pl.DataFrame(columns).write_csv(path) or path,
    "parquet": lambda columns, path: pl.DataFrame(columns).write_parquet(path) or path,
}


@pytest.mark.parametrize("role", ["query", "document", "label", "score", "subtopic"])
@pytest.mark.parametrize("form", ["polars", "parquet"])
def test_column_names_for_single_frame(tmp_path, form, role):
    given = FORMS[form](ROWS, tmp_path / "rows")
    assert fn.evaluate(fn.Rows(given, columns=BOTH), metrics="rr").to_dict() == {"a": {"RR": 1.0}, "b": {"RR": 1.0}}
    wrong = fn.Rows(given, columns=BOTH | {role: "nope"})
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        message = "must have one column 'nope', but has 0: its columns are 'qid', 'docno', 'grade', 'bm25'"
        refused(message, evaluate, wrong, metrics="rr")


@pytest.mark.parametrize("role", ["query", "document", "label", "score", "subtopic"])
@pytest.mark.parametrize("forms", [("polars", "csv"), ("csv", "parquet"), ("parquet", "polars")])
def test_judgments_and_run(tmp_path, forms, role):
    """One dict serves both. Names of roles of the other side do not count."""
    truth, run = (
        FORMS[form](table, tmp_path / name) for form, table, name in zip(forms, (GRADES, BM25), "qr", strict=True)
    )
    result = fn.evaluate(fn.Qrels(truth, columns=BOTH), fn.Run(run, columns=BOTH), "rr")
    assert result.to_dict() == {"a": {"RR": 0.5}, "b": {"RR": 1.0}}
    wrong = BOTH | {role: "nope"}
    for kind, table, side in ((fn.Qrels, truth, "truth"), (fn.Run, run, "predictions")):
        if names_of_columns.HOLDERS.get(role, side) == side:
            message = "must have one column 'nope', but has 0: its columns are 'qid', 'docno', "
            refused(message, kind, table, columns=wrong)
        else:
            assert len(kind(table, columns=wrong)) == 3


@pytest.mark.parametrize("form", FORMS)
def test_column_names_for_frame_next_to_other_input(tmp_path, form):
    ids = {**GRADES, "qid": [0, 0, 1], "docno": [3, 4, 5]}
    truth, run, items = (
        FORMS[form](one, tmp_path / name) for name, one in zip("tri", (GRADES, BM25, ids), strict=True)
    )
    refused("'qid', 'docno', 'grade'", fn.evaluate, fn.Rows(truth, columns=BOTH), metrics="rr")
    assert len(fn.evaluate(fn.Qrels(truth, columns=BOTH), DICT, "rr")) == 2
    assert len(fn.evaluate(DICT, fn.Run(run, columns=BOTH), "rr")) == 2
    if form != "csv":  # ids in CSV are texts
        assert len(fn.evaluate(fn.Qrels(items, columns=BOTH), np.array([[3], [4]]), "rr")) == 2


@pytest.mark.parametrize("kind", [fn.Qrels, fn.Run])
def test_column_names_without_frame_raise(kind):
    message = f"`columns` can only be used for frames, records and files with columns, but `{kind.__name__.lower()}` is"
    refused(message, kind, DICT, columns={"query": "qid"})
    assert len(kind(DICT, columns={})) == 3


def test_evaluators_and_agreement():
    evaluator = fn.Evaluator(fn.Qrels(pl.DataFrame(GRADES), columns=BOTH), "rr")
    run = fn.Run(pl.DataFrame(BM25), columns=BOTH)
    assert len(evaluator.evaluate(run)) == len(evaluator.evaluate(DICT)) == len(evaluator.evaluate(fn.Run(DICT))) == 2
    assert fn.Evaluator(fn.Rows(pl.DataFrame(ROWS), columns=BOTH), "rr").evaluate().means() == [1.0]
    for agreement in (fn.agreement, fn.reference.agreement):
        assert len(agreement(run, {"a": {"x": 1.0, "y": 2.0}}, "tau_b")) == 1


@pytest.mark.parametrize("form", FORMS)
def test_column_names_for_subtopics(tmp_path, form):
    truth = FORMS[form](TOPICS | {"intent": ["007", "7", "7"]}, tmp_path / "named")
    usual = FORMS[form]({**GRADES, "subtopic_id": ["007", "7", "7"]}, tmp_path / "usual")
    labels = {"a": {"x": {"007": 1}, "y": {"7": 2}}, "b": {"x": {"7": 1}}}
    run = {"a": {"x": 0.5, "y": 0.25}, "b": {"x": 1.0}}
    expected = fn.evaluate(labels, run, "alpha_ndcg,s_recall@1").to_dict()
    assert expected["a"]["S_recall@1"] == 0.5
    named = fn.Qrels(truth, columns={"label": "grade", "subtopic": "intent"})
    assert fn.evaluate(named, run, "alpha_ndcg,s_recall@1").to_dict() == expected
    assert fn.evaluate(usual, run, "alpha_ndcg,s_recall@1").to_dict() == expected


def test_subtopics_out_of_place(tmp_path):
    path = FORMS["csv"](
        {"qid": ["a", "a"], "docno": ["x", "y"], "subtopic": ["s", "s"], "label": [1, -1]}, tmp_path / "qrels.csv"
    )
    with pytest.raises(fn.InvalidInputError, match=r"that of document y \(.*qrels\.csv, line 3\) is -1"):
        fn.evaluate(path, {"a": {"x": 1.0}}, "s_recall@1", convention="default(negative_labels=raise)")
    assert sorted(fn.Qrels(path).source.numbers.tolist()) == [2, 3]
    rule = "must have no scores if it has subtopics, but column 'intent' has the usual name of one: give the run apart"
    rows = fn.Rows(FORMS["parquet"](TOPICS | BM25, tmp_path / "rows"), columns=BOTH | {"subtopic": "intent"})
    refused(rule, fn.evaluate, rows, metrics="rr")


@pytest.mark.parametrize("form", FORMS)
def test_column_with_misleading_name(tmp_path, form):
    truth = FORMS[form]({"qid": ["a", "a"], "docno": ["x", "y"], "subtopic": [1, 2]}, tmp_path / "rows")
    run = {"a": {"x": 1.0, "y": 2.0}}
    assert fn.evaluate(fn.Qrels(truth, columns={"label": "subtopic"}), run, "dcg@1").mean() == {"DCG@1": 2.0}
    other = FORMS[form]({**GRADES, "aspect": ["s", None, "t"]}, tmp_path / "other")
    assert fn.evaluate(other, DICT, "rr").mean() == {"RR": 1.0}


@pytest.mark.parametrize("kind", [fn.Qrels, fn.DiversityQrels])
def test_judgments_with_subtopics(kind):
    made = kind(pl.DataFrame(TOPICS), columns={"label": "grade", "subtopic": "intent"})
    assert isinstance(made, fn.DiversityQrels)
    assert len(fn.evaluate(made, DICT, "s_recall@1")) == 2
    refused(r"`qrels` must have subtopics, but has none\. Take Qrels, or name", fn.DiversityQrels, {"q": {"d": 1}})


def test_truth_without_columns(put):
    path = put("1 qid:1 1:0.5\n0 qid:1 1:0.25\n", "labels.svm")
    rankings = fn.Rankings([1, 0], [0.5, 0.25], [0, 2])
    for truth, predictions in ((path, [0.5, 0.25]), (rankings, None)):
        assert len(fn.evaluate(truth, predictions, metrics="rr")) == 1
        refused("`data` of Rows must ", fn.evaluate, fn.Rows(truth, columns={"query": "q"}), metrics="rr")
    refused("`columns` can only be used for CSV, Parquet", fn.Qrels, path, columns={"query": "q"})


def test_guide_lists_all_usual_names():
    guide = Path(__file__).parents[2] / "docs" / "guides" / "inputs.md"
    table = guide.read_text(encoding="utf-8").partition("### Names of columns")[2].partition("###")[0]
    documented = {}
    for line in table.splitlines():
        if line.startswith("| ") and not line.startswith("| role"):
            role, names, _ = (cell.strip() for cell in line.strip("|").split("|", 2))
            documented[role] = sorted({name.strip("`").replace("_", "") for name in names.split(", ")})
    expected = {
        role: sorted({name.replace("_", "") for name in names.split()})
        for role, names in names_of_columns.NAMES.items()
    }
    for role, names in (
        ("label, if no column has a name above", names_of_columns.LAST_LABELS),
        ("label of a truth with predictions, likewise", names_of_columns.LABELS_OF_TRUTH),
        ("score of predictions, likewise", names_of_columns.SCORES_OF_RUNS),
    ):
        expected[role] = sorted(names.split())
    assert documented == expected


DEEP = "ndcg@10,map,rr,recall"
RECO = pd.DataFrame({"user_id": [2, 1, 1, 2, 1], "item_id": [5, 6, 5, 7, 9], "rank": [2, 1, 2, 1, 3]})
LIKED = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [5, 9, 5], "weight": [1.0, 3.0, 2.0], "datetime": [0, 0, 0]})
SCORED = RECO.assign(score=-RECO["rank"]).drop(columns="rank")
BY_RANK = fn.evaluate(LIKED.rename(columns={"weight": "label"}), SCORED, DEEP).to_dict()


def test_ranks_and_weights_of_rectools(tmp_path):
    assert fn.evaluate(LIKED, RECO, DEEP).to_dict() == BY_RANK
    assert fn.evaluate(LIKED.to_dict("records"), RECO.to_dict("records"), DEEP).to_dict() == BY_RANK
    placed = fn.Run(RECO.rename(columns={"rank": "place"}), columns={"rank": "place"})
    assert fn.evaluate(LIKED, placed, DEEP).to_dict() == BY_RANK
    RECO.to_parquet(tmp_path / "reco.parquet")
    assert fn.evaluate(LIKED, tmp_path / "reco.parquet", DEEP).to_dict() == BY_RANK
    texts = {"user_id": str, "item_id": str}
    RECO.to_csv(tmp_path / "reco.csv", index=False)
    RECO.astype(texts).to_json(tmp_path / "reco.jsonl", orient="records", lines=True)
    expected = {str(user): values for user, values in BY_RANK.items()}
    for name in ("reco.csv", "reco.jsonl"):
        assert fn.evaluate(LIKED.astype(texts), tmp_path / name, DEEP).to_dict() == expected


def test_ranks_and_weights_count_where_there_is_nothing_else():
    both = RECO.assign(score=[9.0, 1.0, 3.0, 8.0, 2.0])
    expected = fn.evaluate(LIKED, both.drop(columns="rank"), DEEP).to_dict()
    assert fn.evaluate(LIKED, both, DEEP).to_dict() == expected != BY_RANK
    assert fn.evaluate(LIKED, fn.Run(both, columns={"rank": "rank"}), DEEP).to_dict() == BY_RANK
    run = fn.Run(both, columns={"rank": "rank", "score": "score"})
    assert fn.evaluate(LIKED, run, DEEP).to_dict() == expected
    both = LIKED.assign(rating=[1, 0, 1])
    expected = fn.evaluate(LIKED.drop(columns="weight").assign(rating=[1, 0, 1]), RECO, DEEP).to_dict()
    assert fn.evaluate(both, RECO, DEEP).to_dict() == expected
    assert fn.evaluate(fn.Qrels(both, columns={"label": "weight"}), RECO, DEEP).to_dict() == BY_RANK
    refused("`run` must have one column 'place', but has 0", fn.Run, SCORED, columns={"rank": "place"})


test_ranks_with_ties_or_gaps_raise_an_error = refuses(lambda ranks: fn.evaluate(LIKED, RECO.assign(rank=ranks), "rr"), [
    ([2, 1, 2, 2, 3], "the run: ranks must differ in a query, but document 5 of query 2 (row 0) and document 7 of "
     "query 2 (row 3) both have rank 2. For ranks with ties or gaps give a column of scores, such as -rank"),
    ([2, 1, 2, 1, 4], "the run: ranks must be 1, 2, 3 and so on in each query, but document 9 of query 1 (row 4) "
     "has rank 4, and its query has 3 documents. For ranks with ties or gaps give"),
    ([1, 0, 1, 0, 2], "the run: rank must be a whole number from 1 on, but that of document 6 of query 1 (row 1) "
     "is 0. Add 1 to all ranks"),
    ([1, 1.5, 1, 2, 2], "is 1.5. Correct it, or give a column of scores"),
    ([1, np.nan, 1, 2, 2], "is nan. Correct it"),
    ([1, np.inf, 1, 2, 2], "is inf. Correct it"),
    ([-1, -1, -2, -2, -3], "(row 0) is -1. Correct it"),
    (list("abcde"), "column 'rank' of `run` must hold numbers, but its type is"),
], text="{}")  # fmt: skip

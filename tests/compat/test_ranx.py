"""The drop-in for ranx: values of random runs, containers, and differences from the library."""

import math

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refuses

from fastndcg.compat import common
from fastndcg.compat import ranx as ours
from fastndcg.compat.ranx.data import order_by_number

TRUTH1, RUN1 = {"q1": {"a": 1, "b": 0}}, {"q1": {"a": 1.0, "b": 0.5}}
QRELS3 = {"q1": {"a": 1, "b": 0, "c": 2}}
NUMBERS = (np.float16, np.float32, np.float64, np.int8, np.int64, np.uint8, np.uint64, np.bool_, np.array, float, int)
# wrong calls, and the built-in exceptions that the original's is one of
ERRORS = {
    "rows of None": (lambda m: m.Run({"q1": None}), "AttributeError"),
    "query of a number": (lambda m: m.evaluate(TRUTH1, {1: {"a": 1.0}}, "map"), "AssertionError"),
    "other queries": (lambda m: m.evaluate(m.Qrels(TRUTH1), m.Run({"q2": {"a": 1.0}}), "map"), "AssertionError"),
    "label of 2**70": (lambda m: m.evaluate(m.Qrels({"q1": {"a": 2**70}}), m.Run(RUN1), "map"), "OverflowError"),
    "metrics of None": (lambda m: m.evaluate(m.Qrels(TRUTH1), m.Run(RUN1), None), "TypeError"),
    "unknown metric": (lambda m: m.evaluate(m.Qrels(TRUTH1), m.Run(RUN1), "foo"), "ValueError"),
    "frame of a dict": (lambda m: m.Run.from_df({}), "KeyError"),
    "unknown test": (
        lambda m: m.compare(m.Qrels(TRUTH1), [m.Run(RUN1, "a"), m.Run(RUN1, "b")], ["map"], stat_test="foo"),
        "NotImplementedError",
    ),
    "file of bad lines": (lambda m: from_file(m, "bad.trec", b"q1 0 a\n"), "ValueError"),
    "file of a list": (lambda m: from_file(m, "list.json", b"[1]"), "AttributeError"),
}  # fmt: skip
TAKEN = [  # calls that the original takes
    *(
        lambda m, kind=kind: m.evaluate(m.Qrels(QRELS3), m.Run(numbered(kind)), ["ndcg", "map"])
        for kind in NUMBERS
    ),
    lambda m: m.evaluate(m.Qrels(QRELS3), m.Run({"q1": {"a": np.float32(0.5), "b": 1, "c": np.int64(2)}}), "ndcg"),
    lambda m: m.evaluate(QRELS3, numbered(np.float32), "ndcg"),
    lambda m: m.evaluate(m.Qrels(TRUTH1), m.Run(RUN1), ["rbp.50", "rbp.95", "rbp@8"]),
    lambda m: [*m.Run(numbered(np.uint8))["q1"]].index("a"),
]  # fmt: skip


def from_file(module, name, content):
    with open(name, "wb") as file:
        file.write(content)
    return module.Qrels.from_file(name)


def numbered(kind):
    """Return a run whose scores are of a type."""
    return {"q1": {"a": kind(1), "b": kind(0), "c": kind(2)}}


def compare_runs():
    runs = [ours.Run(RUN1, "a"), ours.Run({"q1": {"a": 0.5, "b": 1.0}}, "b")]
    return ours.compare(ours.Qrels(TRUTH1), runs, ["ndcg", "mrr"], stat_test="fisher")


COPIES = {  # objects to copy and to pickle, and what tells whether two are alike
    "compat.ranx.Qrels": (
        lambda: ours.Qrels(TRUTH1, "q"),
        lambda one: (one.name, ours.evaluate(one, ours.Run(RUN1), ["ndcg", "map"])),
    ),
    "compat.ranx.Report": (compare_runs, lambda one: (str(one), repr(one.to_dict()))),
    "compat.ranx.Run": (
        lambda: ours.Run(RUN1, "r"),
        lambda one: (one.name, ours.evaluate(ours.Qrels(TRUTH1), one, ["ndcg", "map"])),
    ),
}


pytestmark = pytest.mark.peers

QRELS = {"q2": {"a": 1, "b": 2}, "q1": {"c": 3, "d": 0}}
RUN = {"q1": {"c": 0.5, "x": 0.7}, "q2": {"b": 0.1, "a": 0.3}}
METRICS = [
    f"{name}{cutoff}{level}"
    for name in ours.METRICS
    if name != "bpref"  # ranx divides by 0 for it
    for cutoff in ("", "@1", "@3", "@0")
    for level in ("", "-l2")
]


@st.composite
def dicts(draw):
    """Draw judgments and a run of the same queries. Scores of a query are distinct, so that ranx has one order."""
    ids = st.sampled_from(["d1", "d10", "d9", "D", "é", "z"])
    qrels, run = {}, {}
    for query in draw(st.lists(st.sampled_from(["q1", "q2", "q10"]), min_size=1, unique=True)):
        qrels[query] = draw(st.dictionaries(ids, st.integers(0, 4), min_size=1, max_size=6))
        documents = draw(st.lists(ids, min_size=1, max_size=6, unique=True))
        scores = draw(st.permutations(range(len(documents))))
        run[query] = {document: score / 4 for document, score in zip(documents, scores, strict=True)}
    return qrels, run


@pytest.mark.filterwarnings("ignore")
@given(data=dicts())
@strategies.examples(30)
def test_ranx_dropin_equals_library(ranx_library, data):
    qrels, run = data
    expected = ranx_library.evaluate(ranx_library.Qrels(qrels), ranx_library.Run(run), METRICS, return_mean=False)
    result = ours.evaluate(ours.Qrels(qrels), ours.Run(run), METRICS, return_mean=False)
    for metric in METRICS:
        np.testing.assert_allclose(result[metric], expected[metric], rtol=1e-12, err_msg=metric)
    options = {"return_std": True}
    expected = ranx_library.evaluate(ranx_library.Qrels(qrels), ranx_library.Run(run), "ndcg@3", **options)
    assert ours.evaluate(qrels, run, "ndcg@3", **options) == pytest.approx(expected, rel=1e-12)


def test_ranx_evaluate_return_types():
    qrels, run = ours.Qrels(QRELS), ours.Run(RUN)
    first = 1 / math.log2(3)
    second = (1 / math.log2(2) + 2 / math.log2(3)) / (2 / math.log2(2) + 1 / math.log2(3))
    assert ours.evaluate(qrels, run, "ndcg@10") == pytest.approx((first + second) / 2, rel=1e-15)
    both = ours.evaluate(qrels, run, ["ndcg@10", "mrr-l2"])
    assert both == {"ndcg@10": pytest.approx((first + second) / 2, rel=1e-15), "mrr-l2": 0.5}
    values = ours.evaluate(qrels, run, "ndcg@10", return_mean=False)
    assert values == pytest.approx([first, second], rel=1e-15)
    assert ours.evaluate(qrels, run, ["map"], return_std=True) == {"mean": 0.75, "std": 0.25}
    assert (run.mean_scores["mrr-l2"], run.std_scores) == (0.5, {"map": 0.25})
    assert run.scores["ndcg@10"] == pytest.approx({"q1": first, "q2": second}, rel=1e-15)
    ours.evaluate(qrels, run, "hits", save_results_in_run=False)
    assert "hits" not in run.scores
    assert ours.evaluate(qrels, run, "map", threads=1) == 0.75


def test_ties_rank_as_given():
    qrels, run = {"q": {"d0": 1}}, {"q": {f"d{number}": 0.5 for number in range(40)}}
    assert ours.evaluate(qrels, run, "mrr") == ours.evaluate(ours.Qrels(qrels), ours.Run(run), "mrr") == 1


def test_make_comparable():
    qrels, run = ours.Qrels(QRELS), ours.Run({"q1": {"c": 0.5}, "z": {"c": 1.0}})
    with pytest.raises(AssertionError, match="query ids do not match: 'q2' is on one side only, one of 2"):
        ours.evaluate(qrels, run, "map")
    assert ours.evaluate(qrels, run, "map", make_comparable=True) == 0.5
    assert run.scores["map"] == {"q1": 1, "q2": 0}
    assert list(run.keys()) == ["q1", "z"]
    assert ours.evaluate(qrels, run.make_comparable(qrels), "map") == 0.5
    assert list(run.keys()) == ["q1", "q2"]


def test_ranx_qrels_and_run():
    qrels, run = ours.Qrels(), ours.Run(name="mine")
    qrels.add_multi(["q2", "q1"], [["a", "b"], ["c"]], [[1, 2], [3]])
    qrels.add_score("q1", "d", 0)
    for query, row in RUN.items():
        run.add(query, list(row), list(row.values()))
    assert (qrels.to_dict(), run.to_dict()) == (QRELS, RUN)
    assert (list(qrels.keys()), qrels.get_query_ids(), qrels.size, len(run), run.name) == (
        ["q1", "q2"], ["q1", "q2"], 2, 2, "mine",
    )  # fmt: skip
    assert (list(run["q1"]), list(run["q2"])) == (["x", "c"], ["a", "b"])
    assert qrels.get_doc_ids_and_scores() == [{"c": 3, "d": 0}, {"b": 2, "a": 1}]
    assert repr(run) == "{'q1': {'x': 0.7, 'c': 0.5}, 'q2': {'a': 0.3, 'b': 0.1}}"
    assert ours.evaluate(qrels, run, "map") == 0.75
    qrels.set_relevance_level(3)
    assert qrels.to_dict() == {"q1": {"c": 1, "d": -2}, "q2": {"b": 0, "a": -1}}
    assert ours.evaluate(qrels, run, "map") == 0.25
    run.add_score("q1", "c", 9)
    assert ours.evaluate(qrels, run, "map") == 0.5


def test_frames_and_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    qrels, run = ours.Qrels(QRELS), ours.Run(RUN)
    for table, numbers in ((qrels, "i8"), (run, "f8")):
        frame = table.to_dataframe()
        assert list(frame.columns) == ["q_id", "doc_id", "score"]
        assert frame["score"].dtype == numbers
        assert type(table).from_df(frame).to_dict() == table.to_dict()
        renamed = frame.rename(columns={"q_id": "qid", "doc_id": "docno", "score": "value"})
        renamed.to_parquet(tmp_path / "table.parquet")
        columns = {"q_id_col": "qid", "doc_id_col": "docno", "score_col": "value"}
        read = type(table).from_parquet(tmp_path / "table.parquet", **columns, pd_kwargs={"engine": "pyarrow"})
        assert read.to_dict() == table.to_dict()
        with pytest.raises(KeyError):
            type(table).from_df(renamed)
    refused("must have whole numbers as labels", ours.Qrels.from_df, run.to_dataframe(), error=AssertionError)
    with pytest.raises(AssertionError, match="`df` must have texts as ids"):
        ours.Run.from_df(pandas.DataFrame({"q_id": ["q"], "doc_id": [7], "score": [0.5]}))


test_refuses_metrics = refuses(lambda metric: ours.evaluate(QRELS, RUN, [metric]), [
    ("nope@3", "Metric nope not supported. Supported metrics are hits, hit_rate", ValueError),
    ("nsdcg", "Metric nsdcg not supported. Did you mean 'ndcg'", ValueError),
    ("rbp.x", "Metric rbp.x not supported", ValueError),
    ("rbp", "rbp needs a persistence. Write 'rbp.95' for 0.95", ValueError),
    ("rbp.95@10", "rbp needs a persistence", ValueError), ("rbp.95-l0", "the level 1 or more", AssertionError),
    ("r_precision", "Did you mean 'r-precision'", ValueError),
    ("ndcg@x", "cutoff and level must be whole numbers, but the metric is 'ndcg@x'", ValueError),
    ("ndcg@-1", "the cutoff must be 0 or more", AssertionError), ("map-l0", "the level 1 or more", ValueError),
    (5, "`metrics` must be texts, but one is 5", AssertionError),
])  # fmt: skip


@pytest.mark.parametrize("kind", [ours.Qrels, ours.Run])
def test_ranx_dicts_of_tables_are_live(kind):
    name = "qrels" if kind is ours.Qrels else "run"
    tables = {"qrels": ours.Qrels(QRELS), "run": ours.Run(RUN)}
    ours.evaluate(tables["qrels"], tables["run"], "map")
    rows = getattr(tables[name], name)
    assert rows == (QRELS if kind is ours.Qrels else RUN)
    assert list(rows) == ["q1", "q2"]
    assert [list(row.values()) for row in rows.values()] == [
        sorted(row.values(), reverse=True) for row in rows.values()
    ]
    assert ours.evaluate(tables["qrels"], tables["run"], "map") == 0.75
    rows["q1"]["c"] = 0 if kind is ours.Qrels else 9
    changed = 0.5 if kind is ours.Qrels else 1
    assert ours.evaluate(tables["qrels"], tables["run"], "map") == changed
    setattr(tables[name], name, {"q2": {"b": 1, "a": 1}, "q1": {"c": 1}})
    assert tables[name].get_query_ids() == ["q1", "q2"]
    rows = getattr(tables[name], name)
    rows["q1"] = 5
    refused("but 'q1' maps to 5", ours.evaluate, tables["qrels"], tables["run"], "map", error=AssertionError)
    with pytest.raises(TypeError, match=f"`{kind.__name__}` must be a dict that maps queries to dicts, but is a list"):
        setattr(tables[name], name, [1])


def test_ranx_sorted_follows_the_library(ranx_library):
    for kind in ("Qrels", "Run"):
        tables = [getattr(module, kind)() for module in (ours, ranx_library)]
        steps = [
            lambda one: None, lambda one: one.add_score("q2", "a", 1), lambda one: one.add_score("q2", "b", 2),
            lambda one: one.add_score("q1", "a", 1), lambda one: one.sort(), lambda one: one.add_score("q0", "a", 1),
            lambda one: one.add("q00", ["x", "y"], [1, 2]), lambda one: one.add_score("q2", "c", 3),
        ]  # fmt: skip
        for step in steps:
            for table in tables:
                step(table)
            one, other = tables
            assert (one.sorted, one.size, list(one.keys())) == (other.sorted, other.size, list(other.keys()))
            assert [list(row) for row in one.to_dict().values()] == [list(row) for row in other.to_dict().values()]


def test_ranx_bpref_equals_library(ranx_library):
    qrels = {"q1": {"a": 1, "b": 0, "c": 2, "e": 0}, "q2": {"a": 1, "b": 1, "c": 0, "d": 0}}
    run = {"q1": {"x": 5, "b": 4, "a": 3, "y": 2, "c": 1}, "q2": {"c": 3, "d": 2, "a": 1, "z": 0}}
    names = ["bpref", "map", "bpref-l2", "bpref@1"]
    expected = ranx_library.evaluate(ranx_library.Qrels(qrels), ranx_library.Run(run), [*names[:2], names[3]])
    tables = ours.Qrels(qrels), ours.Run(run)
    assert ours.evaluate(*tables, "map") == expected["map"]
    result = ours.evaluate(*tables, names)
    assert {name: result[name] for name in expected} == pytest.approx(expected)
    assert result["bpref-l2"] == 0.5 * (1 - 1 / 1)
    assert ours.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "bpref") == 1


def count_sorts(monkeypatch):
    counts = []
    name = "fastndcg.compat.ranx.data.order_by_number"
    monkeypatch.setattr(name, lambda row: counts.append(len(row)) or order_by_number(row))
    return counts


def test_ranx_tables_are_built_without_sorting(monkeypatch):
    """Adding 1,000 documents or queries one by one, and evaluating them, orders no documents."""
    counts = count_sorts(monkeypatch)
    run, qrels = ours.Run(), ours.Qrels()
    for number in range(1000):
        run.add_score(f"q{number % 7}", f"d{number}", number)
        qrels.add(f"q{number % 7}", ["d1", "d2"], [1, 0])
    ours.evaluate(qrels, run, "ndcg")
    assert counts == []
    run.sort()
    assert sum(counts) == 1000


def test_ranx_further_metrics_do_not_join_again(monkeypatch):
    joins = []
    judge = common.judge
    monkeypatch.setattr("fastndcg.compat.ranx.data.judge", lambda *tables: joins.append(1) or judge(*tables))
    qrels, run = ours.Qrels(QRELS), ours.Run(RUN)
    for metric in ("map", "ndcg", "bpref", "mrr"):
        ours.evaluate(qrels, run, metric)
        assert len(joins) == 1


@pytest.mark.parametrize(("call", "message"), [
    (lambda run: run.add_score("q", "d", "x"), "scores must be numbers that float.. takes, but one is 'x'"),
    (lambda run: run.add("q", ["a", "b"], [1]), "`q_ids`, `doc_ids` and `scores` must have equal lengths"),
    (lambda run: run.add_multi(["q"], [["a"]], [[None]]), "but one is None"),
    (lambda run: ours.Run({"q": {"a": 1, "b": None}}).sort(), "numbers of the documents of a query must be comp"),
])  # fmt: skip
def test_ranx_tables_raise_on_wrong_numbers(call, message):
    run = ours.Run(RUN)
    refused(message, call, run)
    assert run.to_dict() == RUN


def test_rbp_for_ranx_counts_relevant_documents_once():
    """Each label of at least the level counts 1 in the drop-in's RBP, while ranx multiplies by the label."""
    judged, run = ours.Qrels(QRELS3), ours.Run(numbered(float))
    found = ours.evaluate(judged, run, ["rbp.80", "rbp.80-l2"])
    assert found == pytest.approx({"rbp.80": 0.2 + 0.2 * 0.8, "rbp.80-l2": 0.2})
    report = ours.compare(judged, [ours.Run(numbered(float), "a"), ours.Run(numbered(float), "b")], ["rbp.80"])
    assert "RBP.80" in str(report)

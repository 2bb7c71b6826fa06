"""The drop-in for ranx on files and arrays, its functions of metrics, and `fuse` and `optimize_fusion`."""

import gzip
import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from recorded_data import DATA

import fastndcg as fn
from fastndcg.compat import ranx as ours
from fastndcg.compat.ranx import metrics
from fastndcg.compat.ranx.data import QRELS_KINDS, RUN_KINDS, get_file_kind

QRELS = {"q1": {"d1": 1, "é": 0, "d3": 3}, "q2": {"d1": 2**40}}
RUN = {"q1": {"d1": 0.1, "d2": 1 / 3, "é": 1e-300}, "q2": {"d1": -2.0, "d9": 7.0}}
PACKAGES = {"parquet": ("pandas", "pyarrow"), "lz4": ("lz4.frame", "cbor2")}
CASES = [
    *((ours.Qrels, QRELS, f"qrels.{ending}") for ending in ("json", "trec", "txt", "gz", "parq", "parquet")),
    *((ours.Run, RUN, f"run.{ending}") for ending in ("json", "trec", "txt", "gz", "parq", "parquet", "lz4")),
]


def need_packages(kind):
    """Skip a test whose format needs an absent package."""
    for package in PACKAGES.get(kind, ()):
        pytest.importorskip(package)


@pytest.mark.parametrize(("table", "rows", "name"), CASES, ids=[name for *_, name in CASES])
def test_ranx_files_are_read_back_equal(table, rows, name, tmp_path):
    kind = get_file_kind(name)
    need_packages(kind)
    number = np.int16 if table is ours.Qrels else np.float32  # written as Python's numbers
    given, rows = rows | {"q3": {"a": number(2), "b": 1}}, rows | {"q3": {"a": 2, "b": 1}}
    table(given, name="bm25").save(tmp_path / name)
    back = table.from_file(tmp_path / name)
    assert back.to_dict() == rows
    assert {type(number) for row in back.to_dict().values() for number in row.values()} == {table.kind}
    assert list(back.to_dict()["q1"]) == list(table(rows).to_dict()["q1"])
    table(rows, name="bm25").save(tmp_path / "other.xyz", kind=kind)
    assert table.from_file(tmp_path / "other.xyz", kind=kind, name="mine").to_dict() == rows


def test_ranx_trec_lines(tmp_path):
    ours.Qrels({"q1": {"d1": 1, "d3": 3}}).save(tmp_path / "qrels.trec")
    assert (tmp_path / "qrels.trec").read_text(encoding="utf-8") == "q1 0 d3 3\nq1 0 d1 1\n"
    run = ours.Run(name="bm25")
    run.add_score("q2", "d1", 0.25)
    run.add_score("q1", "d1", 0.5)
    run.add_score("q1", "d2", 2)
    run.save(tmp_path / "run.trec")
    assert run.sorted
    lines = "q1 Q0 d2 1 2.0 bm25\nq1 Q0 d1 2 0.5 bm25\nq2 Q0 d1 1 0.25 bm25\n"
    assert (tmp_path / "run.trec").read_text(encoding="utf-8") == lines
    ours.Run(RUN).save(tmp_path / "run.gz")
    assert gzip.decompress((tmp_path / "run.gz").read_bytes()).decode().endswith("q2 Q0 d1 2 -2.0 None\n")
    assert fn.read_run(tmp_path / "run.trec").queries.names().tolist() == ["q1", "q2"]


def test_ranx_json_keeps_queries_without_documents(tmp_path):
    run = ours.Run({"q1": {"d": 1.0}}).make_comparable(ours.Qrels({"q1": {"d": 1}, "q2": {"d": 1}}))
    run.save(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8")) == {"q1": {"d": 1.0}, "q2": {}}
    assert ours.Run.from_file(tmp_path / "run.json").to_dict() == {"q1": {"d": 1.0}, "q2": {}}


@pytest.mark.parametrize(
    ("rows", "name", "file", "message"),
    [
        ({"q 1": {"d": 1.0}}, None, "run.trec", "not be empty and have no blanks and no NUL, but query 'q 1' does"),
        ({"q": {"d\t": 1.0}}, None, "run.trec", r"but document 'd.t' does"),
        ({"q": {"": 1.0}}, None, "run.gz", "but document '' does"),
        ({"q": {"d": 1.0}}, "BM25 + RM3", "run.txt", "`tag` must be a text without blanks, but is 'BM25"),
        ({"q": {"d": float("nan")}}, None, "run.json", "scores in JSON must be finite"),
        ({"q": {"d": None}}, None, "run.json", "scores must be numbers that float.. takes, but one is None"),
        ({"q": {"d": 1.0}}, None, "run.csv", "`kind` must be one of 'json', 'trec', 'lz4', 'gz', 'parquet', but is 'c"),
    ],
)
def test_ranx_save_refuses_what_a_format_cannot_hold(rows, name, file, message, tmp_path):
    (tmp_path / file).write_text("old", encoding="utf-8")
    with pytest.raises(fn.InvalidInputError, match=message):
        ours.Run(rows, name).save(tmp_path / file)
    assert (tmp_path / file).read_text(encoding="utf-8") == "old"


def test_ranx_kinds_of_files():
    """The ending or the argument gives the kind. Judgments have no LZ4 format."""
    endings = {"json": "json", "trec": "trec", "txt": "trec", "gz": "gz", "parquet": "parquet", "parq": "parquet"}
    for ending, kind in endings.items():
        for kinds in (QRELS_KINDS, RUN_KINDS):
            assert get_file_kind(f"a/b.{ending}", kinds=kinds) == get_file_kind("b", kind, kinds) == kind
    with pytest.raises(AssertionError, match="but is 'lz4' for"):
        ours.Qrels(QRELS).save("qrels.lz4")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.lz4", b"\x04\x22\x4d\x18 no", r"run.lz4 must be a complete lz4 file"),
        ("run.lz4", b"text", r"run.lz4 must be a complete lz4 file"),
        ("run.trec", b"q Q0 \xff 1 1 x\n", "must be UTF-8 text"),
    ],
)
def test_ranx_refuses_damaged_files(name, content, message, tmp_path):
    need_packages(get_file_kind(name))
    (tmp_path / name).write_bytes(content)
    with pytest.raises(fn.InvalidInputError, match=message):
        ours.Run.from_file(tmp_path / name)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
def test_ranx_and_the_dropin_read_each_others_files(ranx_library, tmp_path):
    for name in ("json", "trec", "lz4"):
        ours.Run(RUN, "bm25").save(tmp_path / f"ours.{name}")
        theirs = ranx_library.Run.from_file(str(tmp_path / f"ours.{name}"))
        assert (theirs.to_dict(), theirs.name) == (RUN, "bm25" if name == "trec" else None)
        theirs.save(str(tmp_path / f"theirs.{name}"))
        assert ours.Run.from_file(tmp_path / f"theirs.{name}").to_dict() == RUN
    for name in ("json", "trec", "parquet"):
        ranx_library.Qrels(QRELS).save(str(tmp_path / f"theirs.{name}"))
        assert ours.Qrels.from_file(tmp_path / f"theirs.{name}").to_dict() == QRELS
        ours.Qrels(QRELS).save(tmp_path / f"ours.{name}")
        if name != "parquet":  # ranx refuses text columns of pandas 3
            assert ranx_library.Qrels.from_file(str(tmp_path / f"ours.{name}")).to_dict() == QRELS


def test_ranx_qrels_of_ir_datasets(monkeypatch):
    dataset = SimpleNamespace(qrels_dict=lambda: QRELS)
    monkeypatch.setitem(sys.modules, "ir_datasets", SimpleNamespace(load={"vaswani": dataset}.__getitem__))
    qrels = ours.Qrels.from_ir_datasets("vaswani")
    assert (qrels.to_dict(), qrels.name) == (QRELS, "vaswani")
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(fn.MissingPackageError, match="from_ir_datasets needs ir_datasets"):
        ours.Qrels.from_ir_datasets("vaswani")


JUDGED = [np.array([[7, 3], [8, 0], [9, 1]]), np.array([[7, 1]])]
RANKED = [np.array([[9, 0.9], [8, 0.8], [5, 0.7], [7, 0.6]]), np.array([[4, 0.5], [7, 0.4]])]
FUNCTIONS = {
    "hits": metrics.hits, "hit_rate": metrics.hit_rate, "precision": metrics.precision, "recall": metrics.recall,
    "f1": metrics.f1, "r-precision": metrics.r_precision, "bpref": metrics.bpref, "mrr": metrics.reciprocal_rank,
    "map": metrics.average_precision, "dcg": metrics.dcg, "dcg_burges": metrics.dcg_burges, "ndcg": metrics.ndcg,
    "ndcg_burges": metrics.ndcg_burges,
}  # fmt: skip


@st.composite
def arrays(draw):
    ids = st.integers(1, 9)
    qrels, run = [], []
    for _ in range(draw(st.integers(1, 3))):
        documents = draw(st.lists(ids, min_size=2, max_size=6, unique=True))
        others = draw(st.lists(st.integers(0, 4), min_size=len(documents) - 2, max_size=len(documents) - 2))
        labels = sorted([2, 0, *others], reverse=True)
        qrels.append(np.array([documents, labels], "f8").T.copy())
        ranked = draw(st.lists(ids, min_size=1, max_size=8, unique=True))
        scores = draw(st.permutations(range(len(ranked))))  # of any order, because the order of rows counts
        run.append(np.array([ranked, scores], "f8").T.copy())
    return qrels, run


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
@given(data=arrays())
@strategies.examples(20)
def test_ranx_arrays_equal_library(ranx_library, data):
    numba = pytest.importorskip("numba")
    typed_lists = [numba.typed.List(side) for side in data]
    names = [f"{name}{cutoff}{level}" for name in ours.METRICS for cutoff in ("", "@2") for level in ("", "-l2")]
    expected = ranx_library.evaluate(*typed_lists, names, return_mean=False)
    for sides in (data, typed_lists):
        result = ours.evaluate(*sides, names, return_mean=False)
        for name in names:
            np.testing.assert_allclose(result[name], expected[name], rtol=1e-12, err_msg=name)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
@given(data=arrays())
@strategies.examples(10)
def test_ranx_metric_functions_equal_library(ranx_library, data):
    numba = pytest.importorskip("numba")
    theirs = __import__("ranx.metrics", fromlist=["_"])
    typed_lists = [numba.typed.List(side) for side in data]
    for function in FUNCTIONS.values():
        expected = getattr(theirs, function.__name__)(*typed_lists, 3, 2)
        np.testing.assert_allclose(function(*data, 3, 2), expected, rtol=1e-12, err_msg=function.__name__)
    expected = theirs.interpolated_precision_at_recall(*typed_lists)
    np.testing.assert_allclose(metrics.interpolated_precision_at_recall(*data), expected, rtol=1e-12)
    for hit_list, wanted in zip(metrics.get_hit_lists(*data, 2), theirs.get_hit_lists(*typed_lists, 2), strict=True):
        np.testing.assert_array_equal(hit_list, wanted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ranx_metric_functions_equal_evaluate(name):
    for k, level in ((0, 1), (2, 1), (2, 2)):
        text = f"{name}{f'@{k}' if k else ''}-l{level}"
        expected = ours.evaluate(JUDGED, RANKED, text, return_mean=False)
        np.testing.assert_array_equal(FUNCTIONS[name](JUDGED, RANKED, k, level), expected)


EXAMPLES = [  # rows of a query's judgments, rows of its run, and values
    ([[1, 1]], [[2, 0.1], [1, 0.9]], {"mrr": 0.5}),  # the order of the rows counts, not their scores
    ([[9, 1], [6, 1], [6, 1]], [[6, 1], [9, 0.5]], {"recall": 2 / 3}),  # a label that stands twice counts twice
    ([[1, 1], [2, 3], [3, 2]], [[2, 3], [3, 2], [1, 1]], {"ndcg": 1, "ndcg@2": 1}),  # the ideal is by label
    *(
        ([[-1, 1], [-5, 1], [0, 0]], run, {"precision": 2 / 3, "hits": 2, "recall@1": 0.5})
        for run in ([[-5, 3], [4, 2], [-1, 1]], [[-5, 3.0], [4, 2], [-1, 1]])
    ),
]


@pytest.mark.parametrize(("judged", "ranked", "expected"), EXAMPLES)
def test_ranx_arrays_of_examples(judged, ranked, expected):
    found = ours.evaluate([np.array(judged)], [np.array(ranked)], [*expected, "f1"])
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    for k, level in ((-1, 1), (1, 0)):
        for function in (metrics.hits, metrics.get_hit_lists):
            with pytest.raises(AssertionError, match="the cutoff must be 0 or more and the level 1 or more"):
                function(JUDGED, RANKED, k, level)


def test_ranx_arrays_pair_with_tables():
    qrels, run = ours.Qrels({"b": {"x": 1}, "a": {"y": 2, "z": 0}}), ours.Run({"a": {"z": 1, "y": 0}, "b": {"x": 5}})
    expected = ours.evaluate(qrels, run, "ndcg", return_mean=False)
    for sides in ((qrels, run.to_typed_list()), (qrels.to_typed_list(), run), (qrels.to_typed_list(), run.to_dict())):
        np.testing.assert_array_equal(ours.evaluate(*sides, "ndcg", return_mean=False), expected)
    ours.evaluate(qrels.to_typed_list(), run, "mrr")
    assert (run.scores["mrr"], run.mean_scores["mrr"]) == ({"a": 0.5, "b": 1.0}, 0.75)


def test_ranx_arrays_of_three_dimensions():
    """Queries of equal length may be one array. Padding that is not relevant may repeat an id."""
    qrels = np.array([[[1, 2], [0, 0]], [[4, 1], [5, 1]]])
    run = np.array([[[1, 9], [0, 0], [0, 0]], [[5, 9], [6, 8], [4, 7]]])
    recall = ours.evaluate(qrels, run, ["recall@2", "precision@3"], return_std=True)
    assert recall["recall@2"] == {"mean": 0.75, "std": 0.25}
    assert recall["precision@3"]["mean"] == (1 / 3 + 2 / 3) / 2


def test_ranx_labels_of_arrays_may_be_fractions():
    """A label of 1 or more is relevant with its fraction as gain, and a label between 0 and 1 is not relevant."""
    qrels, run = [np.array([[1, 1.5], [2, 0.5]])], [np.array([[2, 1.0], [1, 0.5]])]
    assert metrics.dcg(qrels, run) == pytest.approx([1.5 / np.log2(3)], rel=1e-15)
    assert metrics.hits(qrels, run).tolist() == [1]
    assert metrics.bpref(qrels, run).tolist() == [0]


def test_ranx_large_ids_are_exact():
    """Whole ids beyond 2**53 stay distinct, and raise an error if float64 would have to hold them."""
    qrels = [np.array([[2**53, 1], [2**53 + 1, 0]])]
    assert metrics.hits(qrels, [np.array([[2**53 + 1, 1]])]).tolist() == [0]
    with pytest.raises(fn.InvalidInputError, match="ids of documents in `qrels` must be numbers that float64 holds"):
        metrics.hits(qrels, [np.array([[2**53 + 1, 0.5]])])


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        (JUDGED, RANKED[:1], "`run` must have 2 queries as `qrels` has, but has 1"),
        ([[1, 2]], RANKED[:1], r"`qrels` must have an array of numbers of shape \(n_documents, 2\)"),
        (JUDGED, [*RANKED[:1], np.array([["a", "b"]])], r"\[1\] has shape \(1, 2\) and dtype <U1"),
        (5, RANKED, "`qrels` must be arrays, Qrels, Run or dicts"),
        ([[[1, 2], [3]]], RANKED, "`qrels` must be arrays, Qrels, Run or dicts"),
        ([np.array([[1, 1], [1, 2]])], RANKED[:1], "one label for each document .*, but not document 1 of query 0"),
        (JUDGED[:1], [np.array([[7, 1], [7, 0.5]])], r"relevant document once .*, but not document 7.0 of query 0"),
        ([np.array([[np.nan, 1]])], RANKED[:1], "ids of documents in `qrels` must be numbers"),
        ([np.array([[1, np.inf]])], RANKED[:1], r"in `qrels` must be finite .*, but not document 1.0 of query 0"),
    ],
)  # fmt: skip
def test_ranx_arrays_raise_on_wrong_input(qrels, run, message):
    with pytest.raises(fn.InvalidInputError, match=message):
        ours.evaluate(qrels, run, "ndcg")


def test_ranx_metric_functions_of_persistence():
    """A persistence of 0 reads the first rank alone."""
    assert metrics.rank_biased_precision(JUDGED, RANKED, 0.0).tolist() == [1, 0]
    assert metrics.rank_biased_precision(JUDGED, RANKED, 0.5).tolist() == [0.5 * (1 + 0.5**3), 0.5 * 0.5]
    assert ours.evaluate(JUDGED, RANKED, "rbp.0") == 0.5


def test_ranx_arrays_may_be_empty():
    qrels, run = [np.array([[1, 1]]), np.zeros((0, 2))], [np.zeros((0, 2)), np.array([[1, 1.0]])]
    for values in ours.evaluate(qrels, run, ["ndcg", "hits", "bpref"], return_mean=False).values():
        assert values.tolist() == [0, 0]


def test_ranx_arrays_are_looked_up_without_sorting(monkeypatch):
    for name in ("argsort", "lexsort", "sort", "unique"):
        monkeypatch.delattr(np, name)
    assert metrics.hits(JUDGED, RANKED).tolist() == [2, 1]


RECORD = json.loads((DATA / "peers" / "fusion.json").read_text())
THEIR_NORMS = {"min_max": "min-max", "min_max_inverted": "min-max-inverted", "z_score": "zmuv", "none": None}
QRELS_FUSE = {query: {d: label for d, label in labels.items() if label} for query, labels in RECORD["qrels"].items()}


def make_runs(module, rows=None):
    return [module.Run(run) for run in rows or RECORD["runs"]]


@pytest.mark.parametrize("method", ["min", "max", "med", "sum", "anz", "mnz", "wsum", "mixed", "wmnz"])
@pytest.mark.parametrize("norm", ["none", "min_max", "min_max_inverted", "max", "sum", "z_score", "rank", "borda"])
def test_fuse_gives_the_scores_of_ranx(method, norm):
    params = {"weights": [0.2, 0.5, 0.3]} if method in ("wsum", "mixed", "wmnz") else {}
    fused = ours.fuse(make_runs(ours), THEIR_NORMS.get(norm, norm), method, params)
    for query, row in RECORD["ranx"]["fused"][f"{method}(norm={norm})"].items():
        assert fused.run[query] == pytest.approx(row, abs=1e-9)


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("rrf", {"k": 20}, "rrf(k=20)"), ("isr", {}, "isr"), ("logn_isr", {"sigma": 0.3}, "logn_isr(sigma=0.3)"),
        ("rbc", {"phi": 0.7}, "rbc(phi=0.7)"), ("bordafuse", {}, "borda"),
        ("w_bordafuse", {"weights": [0.2, 0.5, 0.3]}, "wborda"),
    ],
)  # fmt: skip
def test_fuse_by_rank_gives_the_scores_of_ranx(method, params, text):
    fused = ours.fuse(make_runs(ours), None, method, params)
    for query, row in RECORD["ranx"]["fused"][text].items():
        assert fused.run[query] == pytest.approx(row, abs=1e-9)


@pytest.mark.parametrize(
    ("method", "text"),
    [("bayesfuse", "bayesfuse"), ("segfuse", "segfuse"), ("posfuse", "posfuse"), ("mapfuse", "mapfuse")],
)
def test_learned_parameters_are_those_that_fuse_takes(method, text):
    norm = "min-max" if method == "segfuse" else None
    runs = make_runs(ours)
    params = ours.optimize_fusion(ours.Qrels(QRELS_FUSE), runs, norm, method)
    fused = ours.fuse(runs, norm, method, params)
    for query, row in RECORD["ranx"]["fused"][text].items():
        assert fused.run[query] == pytest.approx(row, abs=1e-9)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("rrf", {"k": 20}), ("isr", {}), ("log_isr", {}), ("logn_isr", {}), ("rbc", {"phi": 0.7}),
        ("bordafuse", {}), ("w_bordafuse", {"weights": [0.2, 0.5, 0.3]}), ("condorcet", {}),
        ("w_condorcet", {"weights": [0.2, 0.5, 0.3]}),
    ],
)  # fmt: skip
def test_methods_by_rank_take_the_ranks_of_the_runs_with_any_normalisation(method, params):
    """Only distances are ranked the other way. With 'borda' ranx has the order of a set, which is not copied."""
    expected = ours.fuse(make_runs(ours), None, method, params).run
    for norm in ("min-max", "max", "sum", "zmuv", "rank", "borda"):
        assert ours.fuse(make_runs(ours), norm, method, params).run == expected
    assert ours.fuse(make_runs(ours), "min-max-inverted", method, params).run != expected


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("rrf", {"kk": 5}, "`params` of rrf must be among k, name, not 'kk'. Did you mean 'k'?"),
        ("rrf", {"weights": [1, 1, 1]}, "`params` of rrf must be among k, name, not 'weights'"),
        ("isr", {"k": 5}, "`params` of isr must be among name, not 'k'"),
        ("wsum", {}, "`params` of wsum must have weights, but it is missing"), ("rbc", {}, "must have phi"),
        ("gmnz", {}, "must have gamma"), ("slidefuse", {"probs": [[0.1]] * 3}, "must have w"),
        ("posfuse", {}, "must have probs"),
    ],
)  # fmt: skip
def test_parameters_are_those_of_ranx(method, params, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        ours.fuse(make_runs(ours), None, method, params)


def test_fused_run_has_a_name_and_keeps_empty_queries():
    """The name is ranx's default or the one in `params`. A query without documents stays."""
    runs = [ours.Run({"a": {"x": 1.0}, "b": {}}), ours.Run({"a": {"y": 1.0}, "b": {}})]
    fused = ours.fuse(runs, "min-max", "sum")
    assert fused.name == "comb_sum"
    assert fused.run["b"] == {}
    assert ours.fuse(runs, None, "rrf", {"name": "mine"}).name == "mine"


def test_optimize_fusion_tries_the_weights_that_ranx_loses():
    """All 66 points for three runs: ranx loses 4 of them, as their sums are not exactly 1."""
    _, report = ours.optimize_fusion(
        ours.Qrels(QRELS_FUSE), make_runs(ours), metric="mrr", return_optimization_report=True
    )
    lost = [point for point in report.configs if sum(map(float, point.strip("()").split(","))) != 1.0]
    assert (len(report.configs), len(lost)) == (66, 4)
    assert "(0.0, 0.0, 1.0)" in str(report)


def test_of_equal_points_the_last_one_wins():
    """A single relevant document at the top under every weight: the last weights are the best."""
    runs = [ours.Run({"q": {"a": 2.0, "b": 1.0}}), ours.Run({"q": {"a": 9.0, "b": 1.0}})]
    assert ours.optimize_fusion(ours.Qrels({"q": {"a": 1}}), runs) == {"weights": (1.0, 0.0)}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda runs: ours.fuse(runs[:1]), AssertionError, "Only one run"),
        (lambda runs: ours.fuse([runs[0], ours.Run({"z": {"d": 1.0}})]), AssertionError, "do not match"),
        (lambda runs: ours.fuse(runs, "min-max", "wsumm", {}), ValueError, "Did you mean 'wsum'"),
        (lambda runs: ours.fuse(runs, "minmaxx", "wsum", {}), ValueError, "no normalisation is called"),
        (lambda runs: ours.optimize_fusion(ours.Qrels(QRELS_FUSE), runs, method="isr"), ValueError, "not support"),
        (lambda runs: ours.optimize_fusion(ours.Qrels({"z": {"d": 1}}), runs), AssertionError, "do not match"),
    ],
)
def test_wrong_input_raises_errors_that_are_also_those_of_ranx(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call(make_runs(ours))
    assert isinstance(caught.value, fn.FastndcgError)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")  # the library warns when it compiles
@pytest.mark.parametrize(("method", "norm"), [("wsum", "min-max"), ("rrf", None)])
def test_optimize_fusion_finds_the_parameters_of_ranx(method, norm, ranx_library):
    """For two runs ranx loses no point, so that the grids and their best points are equal."""
    their_runs = make_runs(ranx_library)[:2]
    theirs, their_report = ranx_library.optimize_fusion(
        ranx_library.Qrels(QRELS_FUSE), their_runs, norm, method, "mrr", True, show_progress=False
    )
    best, report = ours.optimize_fusion(ours.Qrels(QRELS_FUSE), make_runs(ours)[:2], norm, method, "mrr", True)
    assert report.configs == [re.sub(r"np\.float64\(([^)]*)\)", r"\1", text) for text in their_report.configs]
    assert report.results == pytest.approx(their_report.results, abs=1e-9)
    assert best == theirs

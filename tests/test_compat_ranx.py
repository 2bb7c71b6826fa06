"""The drop-in for ranx: the library's numbers on random runs, its containers, and what it gets wrong."""

import gzip
import json
import math

import cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.compat import ranx as ours
from fastndcg.compat.lookups import look_at_judgments

QRELS = {"q2": {"a": 1, "b": 2}, "q1": {"c": 3, "d": 0}}
RUN = {"q1": {"c": 0.5, "x": 0.7}, "q2": {"b": 0.1, "a": 0.3}}
METRICS = [
    f"{name}{cutoff}{level}" for name in ours.METRICS for cutoff in ("", "@1", "@3", "@0") for level in ("", "-l2")
]


@st.composite
def dicts(draw):
    """Judgments and a run of the same queries; no two scores of a query are equal, so that theirs has one order."""
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
@cases.examples(30)
def test_is_the_library(ranx_library, data):
    """Every metric, cutoff and level that both have: each query's value, means and deviations."""
    qrels, run = data
    expected = ranx_library.evaluate(ranx_library.Qrels(qrels), ranx_library.Run(run), METRICS, return_mean=False)
    result = ours.evaluate(ours.Qrels(qrels), ours.Run(run), METRICS, return_mean=False)
    for metric in METRICS:
        np.testing.assert_allclose(result[metric], expected[metric], rtol=1e-12, err_msg=metric)
    options = {"return_std": True}
    expected = ranx_library.evaluate(ranx_library.Qrels(qrels), ranx_library.Run(run), "ndcg@3", **options)
    assert ours.evaluate(qrels, run, "ndcg@3", **options) == pytest.approx(expected, rel=1e-12)


def test_results():
    """One metric gives a number, several a dict; without means one value a query, in the order of the ids."""
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


def test_queries_are_paired_by_id():
    """In dicts too, whatever their order: theirs pairs them by position."""
    perfect = {"q1": {"c": 1.0}, "q2": {"b": 2.0, "a": 1.0}}
    for run in (perfect, dict(reversed(perfect.items()))):
        assert ours.evaluate(QRELS, run, "ndcg") == 1


def test_ties_rank_as_given():
    """In a dict as in a Run, and in long lists."""
    qrels, run = {"q": {"d0": 1}}, {"q": {f"d{number}": 0.5 for number in range(40)}}
    assert ours.evaluate(qrels, run, "mrr") == ours.evaluate(ours.Qrels(qrels), ours.Run(run), "mrr") == 1


def test_make_comparable():
    """Queries on one side only: an assertion error, or 0 and left out; the run that was given stays as it is."""
    qrels, run = ours.Qrels(QRELS), ours.Run({"q1": {"c": 0.5}, "z": {"c": 1.0}})
    with pytest.raises(AssertionError, match="query ids do not match: 'q2' is on one side only, one of 2"):
        ours.evaluate(qrels, run, "map")
    assert ours.evaluate(qrels, run, "map", make_comparable=True) == 0.5
    assert run.scores["map"] == {"q1": 1, "q2": 0}
    assert list(run.keys()) == ["q1", "z"]
    assert ours.evaluate(qrels, run.make_comparable(qrels), "map") == 0.5
    assert list(run.keys()) == ["q1", "q2"]


def test_containers():
    """Ids in order, documents by score, and rows that are added."""
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
    """Any columns, strings of any kind; other types are assertion errors."""
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
    with pytest.raises(AssertionError, match="scores column dtype must be `float`"):
        ours.Run.from_df(qrels.to_dataframe())
    with pytest.raises(AssertionError, match="scores column dtype must be `int`"):
        ours.Qrels.from_df(run.to_dataframe())
    with pytest.raises(AssertionError, match="Document IDs column must hold strings, but 'doc_id' holds 7"):
        ours.Run.from_df(pandas.DataFrame({"q_id": ["q"], "doc_id": [7], "score": [0.5]}))


def test_files(tmp_path):
    """JSON, TREC's format, gzipped; the run's name from its lines or as given."""
    (tmp_path / "qrels.json").write_text(json.dumps(QRELS), encoding="utf-8")
    lines = "".join(
        f"{query} 0 {document} {label}\n" for query, row in QRELS.items() for document, label in row.items()
    )
    (tmp_path / "qrels.txt").write_text(lines, encoding="utf-8")
    (tmp_path / "qrels.gz").write_bytes(gzip.compress(lines.encode()))
    for name in ("qrels.json", "qrels.txt", "qrels.gz"):
        assert ours.Qrels.from_file(tmp_path / name).to_dict() == QRELS
    lines = "".join(
        f"{query} Q0 {document} 1 {score} bm25\n" for query, row in RUN.items() for document, score in row.items()
    )
    (tmp_path / "run.trec").write_text(lines, encoding="utf-8")
    (tmp_path / "run").write_text(json.dumps(RUN), encoding="utf-8")
    run = ours.Run.from_file(tmp_path / "run.trec")
    assert (run.to_dict(), run.name) == (RUN, "bm25")
    assert ours.Run.from_file(tmp_path / "run.trec", name="mine").name == "mine"
    assert ours.Run.from_file(tmp_path / "run", kind="json").to_dict() == RUN
    for kind in (None, "parquet", "lz5"):
        with pytest.raises(AssertionError, match="`kind` must be one of 'json', 'trec', 'lz4', 'gz', but is"):
            ours.Run.from_file(tmp_path / "run", kind=kind)
    (tmp_path / "twice.trec").write_text("q Q0 d 1 0.5 x\nq Q0 d 2 0.4 x\n", encoding="utf-8")
    with pytest.raises(fn.InvalidInputError, match="document must stand once in a query, but 'd' of 'q' is repeated"):
        ours.Run.from_file(tmp_path / "twice.trec")


def test_lz4(tmp_path):
    """JSON that LZ4 has made smaller."""
    lz4 = pytest.importorskip("lz4.frame")
    (tmp_path / "run.lz4").write_bytes(lz4.compress(json.dumps(RUN).encode()))
    assert ours.Run.from_file(tmp_path / "run.lz4").to_dict() == RUN


@pytest.mark.parametrize(
    ("metric", "kind", "message"),
    [
        ("nope@3", ValueError, "Metric nope not supported. Supported metrics are hits, hit_rate"),
        ("nsdcg", ValueError, "Metric nsdcg not supported. Did you mean 'ndcg'"),
        ("rbp.8", ValueError, "Metric rbp.8 not supported"),
        ("bpref", ValueError, "Metric bpref not supported"),
        ("ndcg@x", ValueError, "cutoff and level must be whole numbers, but the metric is 'ndcg@x'"),
        ("ndcg@-1", AssertionError, "the cutoff must be 0 or more"),
        ("map-l0", ValueError, "the level 1 or more"),
        (5, AssertionError, "`metrics` must be texts, but one is 5"),
    ],
)
def test_refuses_metrics(metric, kind, message):
    """Those that the catalogue lacks, by name."""
    with pytest.raises(kind, match=message):
        ours.evaluate(QRELS, RUN, [metric])


@pytest.mark.parametrize(
    ("qrels", "run", "kind"),
    [
        ([1], RUN, TypeError),
        (QRELS, [1], TypeError),
        (QRELS, {"q1": {"c": "x"}, "q2": {"a": 1.0}}, ValueError),
        (QRELS, {"q1": {1: 0.5}, "q2": {"a": 1.0}}, TypeError),
        ({"q": {"a": "x"}}, {"q": {"a": 1.0}}, ValueError),
    ],
)
def test_misuse(qrels, run, kind):
    """What is no dict of dicts of numbers is refused."""
    with pytest.raises(kind):
        ours.evaluate(qrels, run, "map")


def test_numba_stays_as_it_is():
    """A few queries leave the number of threads alone."""
    numba = pytest.importorskip("numba")
    before = numba.get_num_threads()
    ours.evaluate(QRELS, RUN, "ndcg")
    assert numba.get_num_threads() == before


def test_no_metric_asks_who_was_judged():
    """So that it need not be found out for any."""
    for metric in ours.METRICS.values():
        for one in (metric, metric(rel=2)):
            assert not look_at_judgments([one], ours.CONVENTION)
    assert look_at_judgments([fn.Metric("bpref")], ours.CONVENTION)
    assert look_at_judgments([fn.Metric("P", 5)], ours.CONVENTION.replace(unjudged="removed"))
    assert not look_at_judgments([], ours.CONVENTION)

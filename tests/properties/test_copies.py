"""Copies and pickles: every public object gives the same afterwards, and nothing that a copy does changes it."""

import copy
import gc
import inspect
import operator
import pickle

import drop_ins
import numpy as np
import pytest
from refusals import refused

import fastndcg as fn
from fastndcg.compat import ranx

QRELS = {f"q{query}": {f"d{document}": (query + document) % 3 for document in range(9)} for query in range(40)}
RUN = {f"q{query}": {f"d{document}": float(query * document % 7) for document in range(12)} for query in range(40)}
LABELS, SCORES = [[1, 0, 2], [0, 1, 0], [2, 0, 1]], [[0.1, 0.9, 0.5], [0.3, 0.3, 0.1], [0.5, 0.2, 0.4]]
LIKED = fn.Interactions([0, 2, 3], offsets=[0, 2, 3])
VECTORS = np.array([[0.5, 1.0], [1.0, -0.5]], "f4")
ITEM_VECTORS = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [-1.0, 0.5]], "f4")
BY_SUBTOPIC = {"q1": {"d1": {"cars": 1, "cats": 1}, "d2": {"cars": 1}}}


def score_rows(users):
    return VECTORS[users] @ ITEM_VECTORS.T


def compared():
    return fn.compare(QRELS, {"a": RUN, "b": {query: dict.fromkeys(row, 1.0) for query, row in RUN.items()}}, "rr")


def streamed(*, per_query):
    return fn.StreamingEvaluator("rr", per_query=per_query).update(
        *map(np.ravel, (LABELS, SCORES)), query_ids=np.arange(9) // 3
    )


def rows(result):
    return str(result), str(result.to_dict()), result.metrics, result.convention


def tuned():
    other = {query: dict(zip(row, reversed(row.values()), strict=True)) for query, row in RUN.items()}
    return fn.tune_fusion(QRELS, {"a": RUN, "b": other}, "ndcg@5", methods="wsum(norm=min_max)", folds=2)


# of each class: what makes an object, and what tells whether two are alike
EXAMPLES = {
    "Audit": (lambda: fn.audit(1.0, 10, other=0.7), str),
    "Gate": (
        lambda: fn.gate(QRELS, RUN, RUN, "ndcg,map"), lambda one: (str(one), repr(one.rows), one.differences().tolist())
    ),
    "Leaderboard": (
        lambda: fn.leaderboard({"a": {"x": 0.9, "y": 0.8}, "b": {"x": 0.4, "y": 0.3}}), lambda one: (str(one), one.rows)
    ),
    "Plan": (lambda: fn.plan(0.02, from_=0.2), lambda one: one),
    "Agreement": (lambda: fn.agreement(LABELS, SCORES, "tau_b"), rows),
    "BeyondAccuracy": (lambda: fn.beyond_accuracy([[1, 2], [2, 3]], "coverage,gini", catalogue=5), rows),
    "SpanResults": (lambda: fn.evaluate_spans({"q": [("a", 0, 9)]}, {"q": [("a", 5, 9)]}, "span_iou"), rows),
    "IndexRecall": (
        lambda: fn.index_recall(fn.Embeddings(VECTORS, ITEM_VECTORS), [[0]] * len(VECTORS), "recall@1, recall@2"),
        lambda one: (rows(one), one.first_lost.tolist(), one.relative_error.tolist(), str(one)),
    ),
    "Bounds": (
        lambda: fn.bounds({"q": {"d1": 1}}, {"a": {"q": ["new", "d1"]}, "b": {"q": ["d1"]}}, "ndcg@2"),
        lambda one: (one.rows, one.notes, str(one), one.difference("b", "a"), one.queries("b").rows),
    ),
    "Change": (
        lambda: fn.explain_change(LABELS, SCORES, SCORES[::-1], "ndcg@2"),
        lambda one: (str(one), one.parts, one.queries().rows, one.documents(1).rows),
    ),
    "Table": (
        lambda: fn.estimate_with_judge(QRELS, QRELS, {"a": RUN, "b": RUN}, "ndcg@2"),
        lambda one: (str(one), repr(one.rows), one.to_markdown()),
    ),
    "JudgeComparison": (
        lambda: fn.compare_judges(QRELS, QRELS, {"a": RUN, "b": RUN}, "ndcg@2"),
        lambda one: (str(one), repr(one.rows), str(one.confusion), str(one.ranks), one.kappa, one.alpha),
    ),
    "Comparison": (compared, lambda one: (str(one.table()), repr(one.rows), one.settings)),
    "Convention": (lambda: fn.conventions["trec_eval"].replace(ties="best"), lambda one: one),
    "DiversityQrels": (
        lambda: fn.DiversityQrels(BY_SUBTOPIC),
        lambda one: rows(fn.evaluate(one, {"q1": {"d2": 0.9, "d1": 0.5}}, "S_recall@1,alpha_nDCG")),
    ),
    "Evaluator": (lambda: fn.Evaluator(LABELS, "ndcg@2,map"), lambda one: rows(one.evaluate(SCORES))),
    "Explanation": (lambda: fn.explain(LABELS, SCORES, "ndcg@2", query=1), lambda one: one),
    "Explanation of a mean": (lambda: fn.explain(LABELS, SCORES, "ndcg@2", against="lightgbm"), lambda one: one),
    "Embeddings": (
        lambda: fn.Embeddings(VECTORS, ITEM_VECTORS, similarity="cosine"),
        lambda one: rows(fn.evaluate(LIKED, one, "ndcg,rr")),
    ),
    "FusedRun": (
        lambda: fn.fuse({"a": RUN, "b": {key: {"d2": 1.0, "d3": 0.5} for key in RUN}}, "rrf", depth=5),
        lambda one: (one.method, one.counts, rows(fn.evaluate(QRELS, one, "ndcg,map"))),
    ),
    "FusionConvention": (lambda: fn.fusion_conventions["ranx"], lambda one: one),
    "FusionCurve": (lambda: tuned().curve, lambda one: (one.plateau, one.step_means.tolist(), one.points.tolist())),
    "Interactions": (
        lambda: fn.Interactions([4, 7, 2], offsets=[0, 2, 3]),
        lambda one: rows(fn.evaluate(one, [[7, 1], [3, 2]], "rr")),
    ),
    "Metric": (lambda: fn.nDCG(gain="exp2") @ 10, lambda one: one),
    "Parameter": (lambda: fn.CATALOG["nDCG"].parameters[0], lambda one: one),
    "PairResults": (lambda: fn.evaluate_pairs([[1, 0, 1]], [[0.2, 0.9, 0.5]], "rr"), rows),
    "Qrels": (lambda: fn.Qrels(QRELS), lambda one: rows(fn.evaluate(one, RUN, "ndcg,map"))),
    "Rankings": (
        lambda: fn.Rankings([3, 0, 1], [0.1, 0.9, 0.5], [0, 1, 3], query_ids=["a", "b"]),
        lambda one: rows(fn.evaluate(one, metrics="ndcg,rr")),
    ),
    "Recommendations": (
        lambda: fn.Recommendations([[4, 4, 1]], duplicates="first"),
        lambda one: rows(fn.evaluate(fn.Interactions([4], offsets=[0, 1]), one, "p@2")),
    ),
    "Results": (lambda: fn.evaluate(QRELS, RUN, "ndcg,map"), rows),
    "Rows": (
        lambda: fn.Rows({"q": [1, 1], "label": [1, 0], "score": [0.5, 0.9]}),
        lambda one: rows(fn.evaluate(one, metrics="rr")),
    ),
    "Run": (lambda: fn.Run(RUN), lambda one: rows(fn.evaluate(QRELS, one, "ndcg,map"))),
    "Run of documents again": (
        lambda: fn.Run({"q1": ["d1", "d1"]}, duplicates="first"), lambda one: rows(fn.evaluate(QRELS, one, "ndcg,map"))
    ),
    "Scorer": (lambda: fn.Scorer(score_rows, n_items=4), lambda one: rows(fn.evaluate(LIKED, one, "ndcg,rr"))),
    "Scores": (
        lambda: fn.Scores([[0.3, 0.1, 0.2]], exclude={0}),
        lambda one: rows(fn.evaluate(fn.Interactions([1], offsets=[0, 1]), one, "rr")),
    ),
    "Spans": (
        lambda: fn.Spans({"q": [("a", 0, 9)]}),
        lambda one: rows(fn.evaluate_spans(one, {"q": [("a", 5, 9)]}, "span_iou")),
    ),
    "StreamingEvaluator": (lambda: streamed(per_query=True), lambda one: rows(one.result())),
    "StreamingEvaluator of sums": (lambda: streamed(per_query=False), lambda one: str(one.result())),
    "sums of a stream": (lambda: streamed(per_query=False).partial_sums(), lambda one: one.to_bytes()),
    "segments": (lambda: fn.evaluate(QRELS, RUN, "rr").by(["x"] * 40), str),
    "Summary": (lambda: streamed(per_query=False).result(), lambda one: (str(one), one.means(), len(one))),
    "TopItems": (
        lambda: fn.Embeddings(VECTORS, ITEM_VECTORS).top(2), lambda one: rows(fn.evaluate(LIKED, one, "p@2,rr"))
    ),
    "TunedFusion": (tuned, lambda one: (one.best, str(one.folds), str(one), rows(one.held_out))),
}  # fmt: skip
for _module in drop_ins.PEERS:
    EXAMPLES |= drop_ins.read(_module, "COPIES")
WAYS = {  # protocols 0 and 1 take no classes with slots
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "oldest protocol": lambda one: pickle.loads(pickle.dumps(one, 2)),
    "newest protocol": lambda one: pickle.loads(pickle.dumps(one, pickle.HIGHEST_PROTOCOL)),
}


def test_copies_cover_every_public_class():
    classes = {name for name in fn.__all__ if inspect.isclass(getattr(fn, name))}
    errors = {name for name in classes if issubclass(getattr(fn, name), Exception)}
    assert classes - errors <= set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_copies_give_the_same(name):
    make, look = EXAMPLES[name]
    gc.freeze()  # what other tests made is not searched for garbage, which takes a second
    original = make()
    check_form(original)
    expected = look(original)
    copies = {way: make_copy(original) for way, make_copy in WAYS.items()}
    assert {type(again) for again in copies.values()} == {type(original)}
    del original
    gc.collect()
    gc.unfreeze()
    others = [dict(zip("abcdefghi", range(9), strict=True)) for _ in range(200)]  # where the original's dicts were
    for way, again in copies.items():
        assert look(again) == expected, way
    assert len(others) == 200


def check_form(one):
    """`notes` is a tuple of texts, `mean()` a dict by metric, and `means()` a list in the order of the metrics."""
    if hasattr(one, "notes"):
        assert isinstance(one.notes, tuple)
        assert all(isinstance(note, str) for note in one.notes)
    if callable(getattr(one, "mean", None)):
        assert list(one.mean()) == list(map(str, one.metrics))
    if callable(getattr(one, "means", None)):
        assert isinstance(one.means(), list)
        assert len(one.means()) == len(one.metrics)


@pytest.mark.parametrize("per_query", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_streams_go_on_alone_after_a_copy(way, per_query):
    stream = streamed(per_query=per_query)
    other = WAYS[way](stream)
    more = {"query_ids": [20, 20]}
    other.update([1, 0], [0.1, 0.9], **more)
    assert (len(stream.result()), len(other.result())) == (3, 4)
    stream.update([1, 0], [0.9, 0.1], **more)
    assert (len(stream.result()), len(other.result())) == (4, 4)
    assert stream.result().mean() != other.result().mean()
    refused("query 20 comes again", other.update, [1, 0], [0.1, 0.9], **more)


@pytest.mark.parametrize("kind", [ranx.Qrels, ranx.Run])
def test_changes_of_a_copy_for_ranx_stay_there(kind):
    qrels, run = ranx.Qrels(QRELS), ranx.Run(RUN)
    expected = ranx.evaluate(qrels, run, "ndcg")
    original = qrels if kind is ranx.Qrels else run
    other = copy.copy(original)
    for place in range(100):
        other.add_score("q1", f"new{place}", 2)
    assert len(original["q1"]) < 100 < len(other["q1"])
    assert ranx.evaluate(qrels, run, "ndcg") == expected


# arrays that kernels follow without checks: a class, the arrays to damage, and a place in them
FOLLOWED = [
    ("Rankings", "offsets"), ("Interactions", "offsets"), ("Qrels", "offsets"), ("Run", "offsets"),
    ("Qrels", "documents.ids.offsets"), ("Run", "queries.ids.offsets"), ("FusedRun", "offsets"),
    ("DiversityQrels", "offsets"), ("Evaluator", "_truth._layout.offsets"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path"), FOLLOWED)
@pytest.mark.parametrize("value", [-1, 1 << 40])
def test_offsets_of_a_pickle_are_checked_as_those_of_constructors(name, path, value):
    """Kernels read without bounds, so that a wrong offset could end the process."""
    original = copy.deepcopy(EXAMPLES[name][0]())
    array = operator.attrgetter(path)(original)
    place = len(array) // 2 if value < 0 else -1
    array.flags.writeable = True
    array[place] = value
    refused("offsets", pickle.loads, pickle.dumps(original))

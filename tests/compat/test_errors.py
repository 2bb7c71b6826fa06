"""Drop-ins raise errors that are also of the original's types, one rule each, and accept the original's input."""

import builtins
import types

import numpy as np
import pytest
from peer_libraries import library

import fastndcg as fn

pytestmark = pytest.mark.peers

TRUTH, SCORES = [[1, 0, 2], [0, 1, 1]], [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]
CLASSES, OF_CLASSES = [0, 1, 2, 2], [[0.5, 0.2, 0.2], [0.3, 0.4, 0.2], [0.2, 0.4, 0.3], [0.7, 0.2, 0.1]]
QRELS, RUN = {"q1": {"a": 1, "b": 0}}, {"q1": {"a": 1.0, "b": 0.5}}
BOTH = "ValueError TypeError"  # built-in classes of scikit-learn's InvalidParameterError

# of each drop-in: calls, and the built-in exceptions that the original's is one of
SKLEARN = {
    "no array": (lambda m: m.dcg_score("a", SCORES), BOTH),
    "None among labels": (lambda m: m.ndcg_score([[None, 1, 2], [1, 2, 3]], SCORES), "TypeError"),
    "NaN among labels": (lambda m: m.ndcg_score([[np.nan, 1, 2], [1, 2, 3]], SCORES), "ValueError"),
    "short": (lambda m: m.dcg_score([[1, 2, 3]], SCORES), "ValueError"),
    "negative": (lambda m: m.ndcg_score([[-1, 2, 3], [1, 2, 3]], SCORES), "ValueError"),
    "k of 0": (lambda m: m.dcg_score(TRUTH, SCORES, k=0), BOTH),
    "weights of 2": (lambda m: m.ndcg_score(TRUTH, SCORES, sample_weight=2), BOTH),
    "weights of 0": (lambda m: m.dcg_score(TRUTH, SCORES, sample_weight=[0, 0]), "ZeroDivisionError"),
    "labels unordered": (lambda m: m.top_k_accuracy_score(CLASSES, OF_CLASSES, labels=[2, 1, 0]), "ValueError"),
}  # fmt: skip
PYTREC_EVAL = {
    "judgments of None": (lambda m: evaluator(m, None), "AttributeError"),
    "label 1.5": (lambda m: evaluator(m, {"q1": {"a": 1.5}}), "TypeError"),
    "run of None": (lambda m: evaluator(m, QRELS).evaluate({"q1": None}), "TypeError"),
    "unknown measure": (lambda m: m.RelevanceEvaluator(QRELS, {"foo"}), "ValueError"),
    "level of 1.0": (lambda m: m.RelevanceEvaluator(QRELS, {"map"}, relevance_level=1.0), "TypeError"),
    "line of 3": (lambda m: m.parse_qrel(["q1 0 a"]), "ValueError"),
    "line of a number": (lambda m: m.parse_run([1]), "AttributeError"),
}  # fmt: skip
RANX = {
    "rows of None": (lambda m: m.Run({"q1": None}), "AttributeError"),
    "query of a number": (lambda m: m.evaluate(QRELS, {1: {"a": 1.0}}, "map"), "AssertionError"),
    "other queries": (lambda m: m.evaluate(m.Qrels(QRELS), m.Run({"q2": {"a": 1.0}}), "map"), "AssertionError"),
    "label of 2**70": (lambda m: m.evaluate(m.Qrels({"q1": {"a": 2**70}}), m.Run(RUN), "map"), "OverflowError"),
    "metrics of None": (lambda m: m.evaluate(m.Qrels(QRELS), m.Run(RUN), None), "TypeError"),
    "unknown metric": (lambda m: m.evaluate(m.Qrels(QRELS), m.Run(RUN), "foo"), "ValueError"),
    "frame of a dict": (lambda m: m.Run.from_df({}), "KeyError"),
    "unknown test": (
        lambda m: m.compare(m.Qrels(QRELS), [m.Run(RUN, "a"), m.Run(RUN, "b")], ["map"], stat_test="foo"),
        "NotImplementedError",
    ),
    "file of bad lines": (lambda m: from_file(m, "bad.trec", b"q1 0 a\n"), "ValueError"),
    "file of a list": (lambda m: from_file(m, "list.json", b"[1]"), "AttributeError"),
}  # fmt: skip
TORCHMETRICS = {
    "no tensor": (lambda m: retrieval(m, "normalized_dcg", preds=[1.0]), "AttributeError"),
    "sparse scores": (
        lambda m: retrieval(m, "auroc", preds=library("torch").ones(4).to_sparse()), "NotImplementedError"
    ),
    "labels of 2": (lambda m: retrieval(m, "recall", target=library("torch").tensor([2, 0, 0, 1])), "ValueError"),
    "top_k of 0": (lambda m: retrieval(m, "precision", top_k=0), "ValueError"),
    "top_k of a text": (lambda m: retrieval(m, "average_precision", top_k="1"), "TypeError"),
    "top_k of -1": (lambda m: retrieval(m, "reciprocal_rank", top_k=-1), "RuntimeError"),
    "max_fpr of 1.5": (lambda m: retrieval(m, "auroc", max_fpr=1.5), "IndexError"),
    "max_k of 10**20": (lambda m: retrieval(m, "precision_recall_curve", max_k=10**20), "OverflowError"),
}  # fmt: skip
TABLES = {
    "sklearn": (SKLEARN, "sklearn.metrics"),
    "pytrec_eval": (PYTREC_EVAL, "pytrec_eval"),
    "ranx": (RANX, "ranx"),
    "torchmetrics": (TORCHMETRICS, "torchmetrics.functional.retrieval"),
}


def evaluator(module, qrels):
    """Return a module's evaluator of judgments."""
    return module.RelevanceEvaluator(qrels, {"map"})


def from_file(module, name, content):
    """Write a file to the current folder, and return the judgments that ranx reads from the file."""
    with open(name, "wb") as file:
        file.write(content)
    return module.Qrels.from_file(name)


def retrieval(module, function, preds=..., target=..., **options):
    """Call a retrieval function of torchmetrics, by default with four documents."""
    torch = library("torch")
    preds = torch.tensor([0.9, 0.2, 0.7, 0.4]) if preds is ... else preds
    target = torch.tensor([1, 0, 0, 1]) if target is ... else target
    return getattr(module, f"retrieval_{function}")(preds, target, **options)


def drop_in(name):
    """Import and return the drop-in module."""
    if name == "torchmetrics":
        library("torch")
    return __import__(f"fastndcg.compat.{name}", fromlist=["_"])


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:unsafe cast"
)
@pytest.mark.parametrize("module", TABLES)
def test_errors_are_ours_and_theirs(module, tmp_path, monkeypatch, request):
    """The original raises the built-in exceptions of the table. Ours is a FastndcgError and one of them, too."""
    if module == "ranx":
        request.getfixturevalue("ranx_library")
    monkeypatch.chdir(tmp_path)
    table, peer = TABLES[module]
    original = library(peer)
    for name, (call, exceptions) in table.items():
        for place, kind in ((original, Exception), (drop_in(module), fn.FastndcgError)):
            with pytest.raises(kind) as caught:
                call(place)
            for exception in exceptions.split():
                assert isinstance(caught.value, getattr(builtins, exception)), name
        assert len(str(caught.value)) < 1000, name


NUMBERS = (np.float16, np.float32, np.float64, np.int8, np.int64, np.uint8, np.uint64, np.bool_, np.array, float, int)
TAKEN = {
    "ranx": [
        *(
            lambda m, kind=kind: m.evaluate(m.Qrels(QRELS3), m.Run(numbered(kind)), ["ndcg", "map"])
            for kind in NUMBERS
        ),
        lambda m: m.evaluate(m.Qrels(QRELS3), m.Run({"q1": {"a": np.float32(0.5), "b": 1, "c": np.int64(2)}}), "ndcg"),
        lambda m: m.evaluate(QRELS3, numbered(np.float32), "ndcg"),
        lambda m: m.evaluate(m.Qrels(QRELS), m.Run(RUN), ["rbp.50", "rbp.95", "rbp@8"]),
        lambda m: [*m.Run(numbered(np.uint8))["q1"]].index("a"),
    ],
    "pytrec_eval": [
        lambda m: evaluator(m, types.MappingProxyType(QRELS)).evaluate(RUN),
        lambda m: m.RelevanceEvaluator(QRELS3, {"map", "P_5"}, relevance_level=np.int64(1)).evaluate(numbered(float)),
        lambda m: m.RelevanceEvaluator(QRELS, {"map"}, judged_docs_only_flag=np.int64(1)).evaluate(RUN),
        lambda m: m.RelevanceEvaluator(QRELS, {"map.5", "recip_rank_3"}).evaluate(RUN),
    ],
    "torchmetrics": [
        *(
            lambda m, function=function, top_k=top_k: float(retrieval(m, function, top_k=top_k))
            for function, top_k in (
                ("normalized_dcg", 10**20), ("average_precision", np.int64(2)), ("average_precision", 0),
                ("reciprocal_rank", np.array(2)), ("hit_rate", 10**20), ("recall", True),
            )
        ),
        *(
            lambda m, function=function, dtype=dtype: retrieval(m, function, target=cast(dtype)).item()
            for function in ("normalized_dcg", "average_precision", "recall")
            for dtype in ("float16", "bfloat16", "float64", "float32 with gradients")
        ),
        *(
            lambda m, function=function: float(
                retrieval(m, function, target=library("torch").tensor([0.5, 0.0, 0.25, 1.0]))
            )
            for function in ("average_precision", "reciprocal_rank", "hit_rate", "normalized_dcg")
        ),
    ],
}  # fmt: skip
QRELS3 = {"q1": {"a": 1, "b": 0, "c": 2}}


def numbered(kind):
    """Return a run whose scores are of a type."""
    return {"q1": {"a": kind(1), "b": kind(0), "c": kind(2)}}


def cast(dtype):
    """Return labels of a type of PyTorch."""
    name, _, gradients = dtype.partition(" ")
    labels = library("torch").tensor([1.0, 0.0, 0.0, 1.0], dtype=getattr(library("torch"), name))
    return labels.requires_grad_() if gradients else labels


@pytest.mark.filterwarnings("ignore:.*unsafe cast from uint64 to int64")  # numba warns of casts in ranx
@pytest.mark.parametrize("module", TAKEN)
def test_dropins_give_value_of_originals(module, request):
    """Input that the original accepts, such as NumPy numbers and large cutoffs, has its value."""
    if module == "ranx":
        request.getfixturevalue("ranx_library")
    original = library(TABLES[module][1])
    for call in TAKEN[module]:
        assert flat(call(drop_in(module))) == pytest.approx(flat(call(original)), rel=1e-6)


def flat(value):
    """Return a dict of dicts as one flat dict, and other values unchanged."""
    while isinstance(value, dict) and any(isinstance(one, dict) for one in value.values()):
        value = {(outer, inner): one for outer, row in value.items() for inner, one in row.items()}
    return value


def test_rbp_for_ranx_counts_relevant_documents_once():
    """Each label of at least the level counts 1 in the drop-in's RBP, while ranx multiplies by the label."""
    ranx = drop_in("ranx")
    judged, run = ranx.Qrels(QRELS3), ranx.Run(numbered(float))
    found = ranx.evaluate(judged, run, ["rbp.80", "rbp.80-l2"])
    assert found == pytest.approx({"rbp.80": 0.2 + 0.2 * 0.8, "rbp.80-l2": 0.2})
    report = ranx.compare(judged, [ranx.Run(numbered(float), "a"), ranx.Run(numbered(float), "b")], ["rbp.80"])
    assert "RBP.80" in str(report)

"""Drop-ins raise errors that are also of the original's types, and accept the original's input."""

import builtins
import types

import numpy as np
import pytest
from peer_libraries import library

import fastndcg as fn

pytestmark = pytest.mark.peers

TRUTH, SCORES, MULTILABEL = [[1, 0, 2], [0, 1, 1]], [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], [[1, 0, 0], [0, 0, 1]]
CLASSES, OF_CLASSES = [0, 1, 2, 2], [[0.5, 0.2, 0.2], [0.3, 0.4, 0.2], [0.2, 0.4, 0.3], [0.7, 0.2, 0.1]]
QRELS, RUN = {"q1": {"a": 1, "b": 0}}, {"q1": {"a": 1.0, "b": 0.5}}
BOTH = "ValueError TypeError"  # built-in classes of scikit-learn's InvalidParameterError


class Weird:
    """An object that is neither a number nor an array."""


# each call, and the built-in exceptions that the original's is one of
SKLEARN = {
    **{
        f"{function} of {name}": (
            lambda m, function=function, bad=bad: getattr(m, function)(bad, SCORES),
            BOTH,
        )
        for function in ("dcg_score", "ndcg_score", "label_ranking_average_precision_score", "top_k_accuracy_score")
        for name, bad in {"None": None, "a text": "a", "a number": 3, "bytes": b"abc", "an object": Weird()}.items()
    },
    "None among labels": (lambda m: m.ndcg_score([[None, 1, 2], [1, 2, 3]], SCORES), "TypeError"),
    "NaN among labels": (lambda m: m.ndcg_score([[np.nan, 1, 2], [1, 2, 3]], SCORES), "ValueError"),
    "datetimes": (lambda m: m.dcg_score(np.zeros((2, 3), "M8[s]"), SCORES), "TypeError"),
    "ragged": (lambda m: m.dcg_score([[1, 2], [1]], SCORES), "ValueError"),
    "short": (lambda m: m.dcg_score([[1, 2, 3]], SCORES), "ValueError"),
    "negative": (lambda m: m.ndcg_score([[-1, 2, 3], [1, 2, 3]], SCORES), "ValueError"),
    "k of 0": (lambda m: m.dcg_score(TRUTH, SCORES, k=0), BOTH),
    "top k of 0": (lambda m: m.top_k_accuracy_score(CLASSES, OF_CLASSES, k=0), BOTH),
    "base of 0": (lambda m: m.dcg_score(TRUTH, SCORES, log_base=0), BOTH),
    "weights of 2": (lambda m: m.ndcg_score(TRUTH, SCORES, sample_weight=2), BOTH),
    "weights of texts": (lambda m: m.dcg_score(TRUTH, SCORES, sample_weight=["a", "b"]), "TypeError"),
    "weights of 0": (lambda m: m.dcg_score(TRUTH, SCORES, sample_weight=[0, 0]), "ZeroDivisionError"),
    "too few weights": (lambda m: m.dcg_score(TRUTH, SCORES, sample_weight=[1]), "ValueError"),
    "labels unordered": (lambda m: m.top_k_accuracy_score(CLASSES, OF_CLASSES, labels=[2, 1, 0]), "ValueError"),
}  # fmt: skip
PYTREC_EVAL = {
    **{
        f"judgments of {name}": (lambda m, bad=bad: evaluator(m, bad), "AttributeError")
        for name, bad in {"None": None, "list": [1], "str": "a", "int": 1, "tuple": (), "set": set()}.items()
    },
    "rows of None": (lambda m: evaluator(m, {"q1": None}), "TypeError"),
    "label 1.5": (lambda m: evaluator(m, {"q1": {"a": 1.5}}), "TypeError"),
    "label [1]": (lambda m: evaluator(m, {"q1": {"a": [1]}}), "TypeError"),
    "run of None": (lambda m: evaluator(m, QRELS).evaluate({"q1": None}), "TypeError"),
    "score of NumPy": (lambda m: evaluator(m, QRELS).evaluate({"q1": {"a": np.float32(1)}}), "TypeError"),
    "measures of None": (lambda m: m.RelevanceEvaluator(QRELS, None), "TypeError"),
    "unknown measure": (lambda m: m.RelevanceEvaluator(QRELS, {"foo"}), "ValueError"),
    "level of 1.0": (lambda m: m.RelevanceEvaluator(QRELS, {"map"}, relevance_level=1.0), "TypeError"),
    "line of 3": (lambda m: m.parse_qrel(["q1 0 a"]), "ValueError"),
    "line of a number": (lambda m: m.parse_run([1]), "AttributeError"),
    "a label that is no number": (lambda m: m.parse_qrel(["q1 0 a x"]), "ValueError"),
}  # fmt: skip
RANX = {
    **{
        f"{kind} of {name}": (lambda m, kind=kind, bad=bad: getattr(m, kind)(bad), "AttributeError")
        for kind in ("Qrels", "Run")
        for name, bad in {
            "list": [1], "str": "a", "int": 1, "set": {1},
            "rows of None": {"q1": None}, "rows of lists": {"q1": [1]}, "rows of texts": {"q1": "a"},
        }.items()
    },
    "rows of None in a dict": (lambda m: m.evaluate(QRELS, {"q1": None}, "map"), "AttributeError"),
    "query of a number": (lambda m: m.evaluate(QRELS, {1: {"a": 1.0}}, "map"), "AssertionError"),
    "other queries": (lambda m: m.evaluate(m.Qrels(QRELS), m.Run({"q2": {"a": 1.0}}), "map"), "AssertionError"),
    "label of 2**70": (lambda m: m.evaluate(m.Qrels({"q1": {"a": 2**70}}), m.Run(RUN), "map"), "OverflowError"),
    "metrics of None": (lambda m: m.evaluate(m.Qrels(QRELS), m.Run(RUN), None), "TypeError"),
    "unknown metric": (lambda m: m.evaluate(m.Qrels(QRELS), m.Run(RUN), "foo"), "ValueError"),
    "no cutoff": (lambda m: m.evaluate(m.Qrels(QRELS), m.Run(RUN), "map@"), "ValueError"),
    "frame of None": (lambda m: m.Qrels.from_df(None), "TypeError"),
    "frame of a dict": (lambda m: m.Run.from_df({}), "KeyError"),
    "frame without a column": (lambda m: m.Qrels.from_df(frame().drop(columns="score")), "KeyError"),
    "unknown test": (
        lambda m: m.compare(m.Qrels(QRELS), [m.Run(RUN, "a"), m.Run(RUN, "b")], ["map"], stat_test="foo"),
        "NotImplementedError",
    ),
    **{
        f"file {name}": (
            lambda m, name=name, content=content: from_file(m, name, content), exception
        )
        for name, content, exception in (
            ("bad.trec", b"q1 0 a\n", "ValueError"), ("bad.json", b"{", "ValueError"),
            ("list.json", b"[1]", "AttributeError"), ("bad.gz", b"abc", "OSError"),
        )
    },
}  # fmt: skip
TORCHMETRICS = {
    **{
        f"{function} of {name}": (
            lambda m, function=function, make=make: retrieval(m, function, preds=make()), exception
        )
        for function in ("normalized_dcg", "average_precision", "precision", "auroc", "precision_recall_curve")
        for name, make, exception in (
            ("None", lambda: None, "AttributeError"), ("a list", lambda: [1.0], "AttributeError"),
            ("an array", lambda: np.ones(4, "f4"), "AttributeError"), ("a text", lambda: "a", "AttributeError"),
            ("a sparse tensor", lambda: library("torch").ones(4).to_sparse(), "NotImplementedError"),
        )
    },
    "meta labels": (lambda m: retrieval(m, "recall", target=library("torch").ones(4, device="meta")), "RuntimeError"),
    "sparse labels": (lambda m: retrieval(m, "recall", target=library("torch").ones(4).to_sparse()), "RuntimeError"),
    "labels of 2": (lambda m: retrieval(m, "recall", target=library("torch").tensor([2, 0, 0, 1])), "ValueError"),
    **{
        f"top_k {top_k!r} of {function}": (
            lambda m, function=function, top_k=top_k: retrieval(m, function, top_k=top_k), exception
        )
        for function, top_k, exception in (
            ("precision", 0, "ValueError"), ("recall", 1.5, "ValueError"), ("average_precision", 1.5, "TypeError"),
            ("average_precision", "1", "TypeError"), ("reciprocal_rank", -1, "RuntimeError"),
            ("reciprocal_rank", True, "TypeError"), ("average_precision", np.float64(2), "TypeError"),
        )
    },
    "max_fpr of a text": (lambda m: retrieval(m, "auroc", max_fpr="a"), "TypeError"),
    "max_fpr of 1.5": (lambda m: retrieval(m, "auroc", max_fpr=1.5), "IndexError"),
    "max_k of 10**20": (lambda m: retrieval(m, "precision_recall_curve", max_k=10**20), "OverflowError"),
}  # fmt: skip
TABLES = {
    "sklearn": (SKLEARN, "sklearn.metrics"),
    "pytrec_eval": (PYTREC_EVAL, "pytrec_eval"),
    "ranx": (RANX, "ranx"),
    "torchmetrics": (TORCHMETRICS, "torchmetrics.functional.retrieval"),
}
CASES = [(module, name) for module, (table, _) in TABLES.items() for name in table]


def evaluator(module, qrels):
    """Return a module's evaluator of judgments."""
    return module.RelevanceEvaluator(qrels, {"map"})


def frame():
    """Return judgments in the pandas form that ranx reads."""
    rows = {"q_id": ["q1", "q1"], "doc_id": ["a", "b"], "score": [1, 0]}
    return library("pandas").DataFrame(rows).astype({"q_id": object, "doc_id": object})


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


@pytest.mark.parametrize(("module", "name"), CASES)
def test_errors_are_ours_and_theirs(module, name, tmp_path, monkeypatch):
    """Each error is a FastndcgError and an instance of the built-in classes of the original's error."""
    monkeypatch.chdir(tmp_path)
    call, exceptions = TABLES[module][0][name]
    with pytest.raises(fn.FastndcgError) as caught:
        call(drop_in(module))
    for exception in exceptions.split():
        assert isinstance(caught.value, getattr(builtins, exception))
    assert len(str(caught.value)) < 1000


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:unsafe cast"
)
@pytest.mark.parametrize(("module", "name"), CASES)
def test_originals_raise_what_the_table_says(module, name, tmp_path, monkeypatch, request):
    """The original raises an error of the classes in the table."""
    if module == "ranx":
        request.getfixturevalue("ranx_library")
    monkeypatch.chdir(tmp_path)
    original = library(TABLES[module][1])
    call, exceptions = TABLES[module][0][name]
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the assertions below check the class
        call(original)
    for exception in exceptions.split():
        assert isinstance(caught.value, getattr(builtins, exception))


TAKEN = {
    **{
        f"scores of {kind.__name__}": (
            "ranx", lambda m, kind=kind: m.evaluate(m.Qrels(QRELS3), m.Run(numbered(kind)), ["ndcg", "map"])
        )
        for kind in (np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8, np.uint64, np.bool_,
                     np.array, float, int)
    },
    "scores of several kinds": ("ranx", lambda m: m.evaluate(m.Qrels(QRELS3), m.Run(MIXED), "ndcg")),
    "scores in a dict": ("ranx", lambda m: m.evaluate(QRELS3, numbered(np.float32), "ndcg")),
    "rbp": ("ranx", lambda m: m.evaluate(m.Qrels(QRELS), m.Run(RUN), ["rbp.50", "rbp.95", "rbp@8"])),
    "documents with scores": ("ranx", lambda m: [*m.Run(numbered(np.uint8))["q1"]].index("a")),
    "judgments in a proxy": (
        "pytrec_eval", lambda m: evaluator(m, types.MappingProxyType(QRELS)).evaluate(RUN)
    ),
    "levels": ("pytrec_eval", lambda m: [
        m.RelevanceEvaluator(QRELS3, {"map", "P_5"}, relevance_level=level).evaluate(numbered(float))
        for level in (True, np.int64(1), np.int32(2))
    ]),
    "judged_docs_only_flag": (
        "pytrec_eval", lambda m: m.RelevanceEvaluator(QRELS, {"map"}, judged_docs_only_flag=np.int64(1)).evaluate(RUN)
    ),
    "cutoffs of measures without": (
        "pytrec_eval", lambda m: m.RelevanceEvaluator(QRELS, {"map.5", "recip_rank_3"}).evaluate(RUN)
    ),
    **{
        f"top_k {top_k!r} of {function}": (
            "torchmetrics", lambda m, function=function, top_k=top_k: float(retrieval(m, function, top_k=top_k))
        )
        for function, top_k in (
            ("normalized_dcg", 10**20), ("average_precision", 10**20), ("reciprocal_rank", 10**20), ("recall", 10**20),
            ("hit_rate", 10**20), ("average_precision", np.int64(2)), ("reciprocal_rank", np.int32(2)),
            ("average_precision", 0), ("average_precision", np.array(2)), ("recall", True),
        )
    },
    **{
        f"{function} of {dtype}": (
            "torchmetrics", lambda m, function=function, dtype=dtype: retrieval(m, function, target=cast(dtype)).item()
        )
        for function in ("normalized_dcg", "average_precision", "reciprocal_rank", "recall", "hit_rate", "precision")
        for dtype in ("float16", "bfloat16", "float64", "float32 with gradients")
    },
    **{
        f"{function} of 0.5": (
            "torchmetrics",
            lambda m, function=function: float(
                retrieval(m, function, target=library("torch").tensor([0.5, 0.0, 0.25, 1.0]))
            ),
        )
        for function in ("average_precision", "reciprocal_rank", "hit_rate", "normalized_dcg")
    },
}  # fmt: skip
MIXED = {"q1": {"a": np.float32(0.5), "b": 1, "c": np.int64(2)}}
QRELS3 = {"q1": {"a": 1, "b": 0, "c": 2}}
EXPECTED = {"average_precision of 0.5": 1.0, "scores of float32": {"ndcg": 1.0, "map": 1.0}}


def numbered(kind):
    """Return a run whose scores are of a type."""
    return {"q1": {"a": kind(1), "b": kind(0), "c": kind(2)}}


def cast(dtype):
    """Return labels of a type of PyTorch."""
    name, _, gradients = dtype.partition(" ")
    labels = library("torch").tensor([1.0, 0.0, 0.0, 1.0], dtype=getattr(library("torch"), name))
    return labels.requires_grad_() if gradients else labels


@pytest.mark.parametrize("name", TAKEN)
def test_dropins_accept_input_of_originals(name):
    """Input that the originals accept, such as NumPy numbers and large cutoffs, gives a value."""
    module, call = TAKEN[name]
    value = call(drop_in(module))
    assert name not in EXPECTED or value == pytest.approx(EXPECTED[name])


@pytest.mark.filterwarnings("ignore:.*unsafe cast from uint64 to int64")  # numba warns of casts in ranx
@pytest.mark.parametrize("name", TAKEN)
def test_dropins_give_value_of_originals(name, request):
    """The drop-in's value equals the original's value."""
    module, call = TAKEN[name]
    if module == "ranx":
        request.getfixturevalue("ranx_library")
    expected, value = call(library(TABLES[module][1])), call(drop_in(module))
    assert flat(value) == pytest.approx(flat(expected), rel=1e-6)


def flat(value):
    """Return a list or dict of dicts as one flat dict, and other values unchanged."""
    if isinstance(value, list) and isinstance(value[0], dict):
        value = dict(enumerate(value))
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

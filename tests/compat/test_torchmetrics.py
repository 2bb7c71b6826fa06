"""The drop-in for torchmetrics: values of its functions and classes, and differences from the library."""

import importlib
import inspect
import math
import operator

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.compat import torchmetrics as ours

library = importlib.import_module

# wrong calls, and the built-in exceptions that the original's is one of
ERRORS = {
    "no tensor": (lambda m: retrieval(m, "normalized_dcg", preds=[1.0]), "AttributeError"),
    "sparse scores": (
        lambda m: retrieval(m, "auroc", preds=library("torch").ones(4).to_sparse()), "NotImplementedError"
    ),
    "labels of 2": (lambda m: retrieval(m, "recall", target=library("torch").tensor([2, 0, 0, 1])), "ValueError"),
    "labels of another shape": (lambda m: retrieval(m, "recall", target=library("torch").tensor([1])), "ValueError"),
    "whole scores": (lambda m: retrieval(m, "recall", preds=library("torch").tensor([4, 3, 2, 1])), "ValueError"),
    "complex labels": (lambda m: retrieval(m, "recall", target=library("torch").ones(4) * 1j), "ValueError"),
    "top_k of 0": (lambda m: retrieval(m, "precision", top_k=0), "ValueError"),
    "half a top_k": (lambda m: retrieval(m, "recall", top_k=1.5), "ValueError"),
    "adaptive_k of 1": (lambda m: retrieval(m, "precision", adaptive_k=1), "ValueError"),
    "top_k of a text": (lambda m: retrieval(m, "average_precision", top_k="1"), "TypeError"),
    "top_k of -1": (lambda m: retrieval(m, "reciprocal_rank", top_k=-1), "RuntimeError"),
    "max_fpr of 1.5": (lambda m: retrieval(m, "auroc", max_fpr=1.5), "IndexError"),
    "max_k of 10**20": (lambda m: retrieval(m, "precision_recall_curve", max_k=10**20), "OverflowError"),
}  # fmt: skip
TAKEN = [  # calls that the original takes
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
]  # fmt: skip


def retrieval(module, function, preds=..., target=..., **options):
    torch = library("torch")
    preds = torch.tensor([0.9, 0.2, 0.7, 0.4]) if preds is ... else preds
    target = torch.tensor([1, 0, 0, 1]) if target is ... else target
    return getattr(module, f"retrieval_{function}")(preds, target, **options)


def cast(dtype):
    name, _, gradients = dtype.partition(" ")
    labels = library("torch").tensor([1.0, 0.0, 0.0, 1.0], dtype=getattr(library("torch"), name))
    return labels.requires_grad_() if gradients else labels


torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torchmetrics.functional.retrieval")
classes = pytest.importorskip("torchmetrics.retrieval")

pytestmark = pytest.mark.peers

CLASSES = {
    "normalized_dcg": "RetrievalNormalizedDCG", "average_precision": "RetrievalMAP", "reciprocal_rank": "RetrievalMRR",
    "precision": "RetrievalPrecision", "recall": "RetrievalRecall", "hit_rate": "RetrievalHitRate",
    "r_precision": "RetrievalRPrecision", "fall_out": "RetrievalFallOut", "auroc": "RetrievalAUROC",
}  # fmt: skip


@st.composite
def tensors(draw, graded, ties=False):
    """Draw scores above 0, with or without ties, and labels."""
    n = draw(st.integers(1, 9))
    scores = (
        draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)) if ties else draw(st.permutations(range(1, n + 1)))
    )
    labels = draw(st.lists(st.integers(0, 4 if graded else 1), min_size=n, max_size=n))
    kinds = [torch.long, torch.int, torch.float32] if graded else [torch.bool, torch.long, torch.int, torch.float32]
    preds = torch.tensor(scores, dtype=draw(st.sampled_from([torch.float32, torch.float64, torch.float16]))) / 8
    return preds, torch.tensor(labels).to(draw(st.sampled_from(kinds)))


@pytest.mark.parametrize("name", CLASSES)
@given(data=st.data())
@strategies.examples(60)
def test_torchmetrics_dropin_equals_library(name, data):
    preds, target = data.draw(tensors(name == "normalized_dcg", ties=name == "normalized_dcg"))
    if name in ("fall_out", "r_precision"):
        target = target.long()  # theirs cannot subtract bools, or cut at floats
    options = {} if name == "r_precision" else {"top_k": data.draw(st.none() | st.integers(1, 12))}
    if name == "auroc":
        options["max_fpr"] = data.draw(st.sampled_from([None, 0.3, 0.5, 1.0]))
    if name == "precision":
        options["adaptive_k"] = data.draw(st.booleans())
    expected = getattr(theirs, f"retrieval_{name}")(preds, target, **options)
    value = getattr(ours, f"retrieval_{name}")(preds, target, **options)
    assert (value.shape, value.dtype, value.device) == (expected.shape, torch.float32, preds.device)
    assert float(value) == pytest.approx(float(expected), abs=2e-6)
    preds, target = data.draw(tensors(name == "normalized_dcg", ties=name != "auroc"))  # which refuses some ties
    function, preds = getattr(ours, f"retrieval_{name}"), preds - 0.25
    several = function(preds, target, **options, indexes=torch.zeros(len(preds), dtype=torch.long))
    assert torch.equal(several[0], function(preds, target, **options))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CLASSES)
@given(data=st.data())
@strategies.examples(20)
def test_torchmetrics_indexes(name, data):
    cuts = data.draw(st.lists(tensors(name == "normalized_dcg"), min_size=1, max_size=4))
    ids = data.draw(st.permutations(range(len(cuts))))
    preds = torch.cat([scores.float() for scores, _ in cuts])
    target = torch.cat([labels.long() for _, labels in cuts])
    indexes = torch.cat([torch.full((len(scores),), number) for number, (scores, _) in zip(ids, cuts, strict=True)])
    options = {} if name == "r_precision" else {"top_k": data.draw(st.none() | st.integers(1, 12))}
    values = getattr(ours, f"retrieval_{name}")(preds, target, **options, indexes=indexes)
    single = [getattr(ours, f"retrieval_{name}")(scores.float(), labels.long(), **options) for scores, labels in cuts]
    assert torch.equal(values, torch.stack(single))
    options |= {"empty_target_action": "pos" if name == "fall_out" else "neg"}
    expected = getattr(classes, CLASSES[name])(**options)(preds, target, indexes=indexes)
    if name == "fall_out":  # the class gives 1 if all documents are relevant
        without = [bool(labels.bool().all()) for _, labels in cuts]
        values = torch.where(torch.tensor(without), torch.ones(()), values)
    assert float(values.mean()) == pytest.approx(float(expected), abs=2e-6)


def test_negative_labels_keep_their_gain():
    preds, target = torch.tensor([0.9, 0.8, 0.7]), torch.tensor([2, -1, 1])
    several = ours.retrieval_normalized_dcg(preds, target, indexes=torch.zeros(3, dtype=torch.long))
    assert torch.equal(several[0], ours.retrieval_normalized_dcg(preds, target))
    assert float(several[0]) == pytest.approx(float(theirs.retrieval_normalized_dcg(preds, target)), abs=2e-6)


@given(data=tensors(False), max_k=st.none() | st.integers(1, 12), adaptive=st.booleans())
@strategies.examples(60)
def test_precision_recall_curve(data, max_k, adaptive):
    expected = theirs.retrieval_precision_recall_curve(*data, max_k, adaptive)
    result = ours.retrieval_precision_recall_curve(*data, max_k, adaptive)
    for ours_, theirs_ in zip(result, expected, strict=True):
        np.testing.assert_allclose(ours_, theirs_, atol=2e-6)


def test_torchmetrics_known_bugs_are_not_copied():
    """Scores below 0 are ranked, and a tie has the mean value of its orders in every metric."""
    preds, target = torch.tensor([-1.0, -2.0, -3.0]), torch.tensor([1, 0, 1])
    assert float(theirs.retrieval_average_precision(preds, target)) == 0
    assert float(ours.retrieval_average_precision(preds, target)) == pytest.approx((1 + 2 / 3) / 2)
    assert float(ours.retrieval_hit_rate(torch.ones(20), torch.eye(20)[0].long(), top_k=1)) == pytest.approx(1 / 20)
    expected = sum(1 / rank for rank in range(1, 21)) / 20
    assert float(ours.retrieval_reciprocal_rank(torch.ones(20), torch.eye(20)[0].long())) == pytest.approx(expected)


def test_tensors_that_lie_otherwise():
    preds, target = torch.tensor([0.9, 0.8, 0.7, 0.6]), torch.tensor([0, 1, 0, 2])
    expected = ours.retrieval_normalized_dcg(preds, target, top_k=3)
    odd = torch.frombuffer(bytearray(17), dtype=torch.float32, offset=1).copy_(preds)
    assert odd.data_ptr() % 4 == 1
    for scores, labels in (
        (torch._neg_view(-preds), target), (preds, torch._neg_view(-target.float())), (odd, target),
        (preds, torch.frombuffer(bytearray(36), dtype=torch.long, offset=4)[:4].copy_(target)),
        (torch.stack([preds, -preds], 1)[:, 0], target), (preds, torch.stack([target, target], 1)[:, 1]),
        (preds.reshape(2, 2), target.reshape(2, 2)), (torch.nn.Parameter(preds), target), (preds, target.int()),
        (preds.half(), target), (preds.bfloat16(), target), (preds.reshape(2, 2).T.T, target.reshape(2, 2)),
    ):  # fmt: skip
        value = ours.retrieval_normalized_dcg(scores, labels, top_k=3)
        assert torch.equal(value, expected)
        assert not value.requires_grad
    one = torch.tensor([1 - 2j]).conj().imag
    assert one.is_contiguous()
    assert one.is_neg()
    assert ours.retrieval_normalized_dcg(torch.ones(1), one) == 1


SCORES, LABELS = torch.tensor([0.9, 0.8]), torch.tensor([0, 1])


def test_torchmetrics_dropin_has_every_function():
    for name in theirs.__all__:
        parameters = inspect.signature(getattr(ours, name)).parameters
        assert [one for one in parameters if one != "indexes"] == list(
            inspect.signature(getattr(theirs, name)).parameters
        )


test_torchmetrics_errors_of_our_own = refuses(operator.call, [
    (lambda: ours.retrieval_recall([0.9], LABELS[:1]), "`preds` must be a tensor, not list"),
    (lambda: ours.retrieval_recall(SCORES, torch.tensor([0.5, 1.0])), "must contain `binary` values, only 0 and 1"),
    (lambda: ours.retrieval_recall(SCORES, LABELS, indexes=[0, 0]), "`indexes` must be a tensor of long integers"),
    (lambda: ours.retrieval_recall(SCORES, LABELS, indexes=LABELS[:1]), "must be of the shape of `preds`"),
    (lambda: ours.retrieval_recall(SCORES * math.nan, LABELS), "`scores` must not be NaN"),
    *((lambda share=share: ours.retrieval_auroc(SCORES, LABELS, max_fpr=share),
        "`max_fpr` has to be a float ab") for share in (0.0, 1.5, -0.5, "0.5", 1)),
], error=fn.FastndcgError)  # fmt: skip


@pytest.mark.parametrize("top_k", [None, 2])
def test_auroc_of_tied_scores(top_k):
    """A tied pair counts 0.5 in AUROC. A tie of different labels at the cutoff raises an error."""
    preds, target = torch.tensor([0.9, 0.5, 0.5, 0.5]), torch.tensor([0, 1, 0, 1])
    if top_k is None:
        assert float(ours.retrieval_auroc(preds, target)) == pytest.approx((0 + 1 / 2) / 2)
        assert float(theirs.retrieval_auroc(preds, target)) == pytest.approx((0 + 1 / 2) / 2)
        return
    with pytest.raises(fn.InvalidInputError, match=r"at rank top_k = 2, but 3 documents have the score 0.5. Remove"):
        ours.retrieval_auroc(preds, target, top_k)
    assert float(ours.retrieval_auroc(preds, torch.tensor([0, 1, 1, 1]), top_k)) == 0
    refused("`scores` must not be NaN", ours.retrieval_auroc, preds * math.nan, target, top_k)


def test_torchmetrics_missing_metrics_are_named():
    with pytest.raises(AttributeError, match="the catalogue lacks other: use torchmetrics for retrieval_other"):
        _ = ours.retrieval_other
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        _ = ours.other

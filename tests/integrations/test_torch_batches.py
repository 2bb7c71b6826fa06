"""PyTorch: batches of tensors in every form, of every dtype and device, and what is refused."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples
from tensor_batches import ASKED, EXPECTED, LABELS, OFFSETS, QUERIES, RANDOM, SCORES, batch, padded, values

import fastndcg as fn

torch = pytest.importorskip("torch", reason="torch is absent: pip install 'fastndcg[torch]'")
torchmetrics = pytest.importorskip("torchmetrics", reason="torchmetrics is absent: pip install 'fastndcg[torch]'")

from fastndcg.integrations import torch_tensors  # noqa: E402
from fastndcg.integrations.torch import RankingMetrics  # noqa: E402

pytestmark = pytest.mark.peers

TWO, IDS = torch.tensor([0.9, 0.1]), torch.tensor([0, 0])


@given(data=st.data())
@examples(25)
def test_torch_batches_equal_evaluate(data):
    cuts = sorted(data.draw(st.lists(st.integers(0, 60), max_size=5)))
    spans = data.draw(st.permutations(list(zip([0, *cuts], [*cuts, 60], strict=True))))
    metrics = RankingMetrics(ASKED)
    for first, stop in spans:
        arguments, options = batch(data.draw(st.sampled_from(["offsets", "indexes", "mask"])), first, stop)
        metrics.update(*arguments, **options)
    assert values(metrics.compute()) == EXPECTED


def test_rows_without_a_mask():
    """Two dimensions are one query a row."""
    preds, target = torch.rand(7, 5), torch.randint(0, 3, (7, 5))
    ndcg = RankingMetrics(fn.nDCG @ 3)
    ndcg.update(preds, target)
    assert ndcg.compute().item() == fn.evaluate(target.numpy(), preds.numpy(), "ndcg@3").mean()["nDCG@3"]


def test_torch_query_in_several_batches():
    order = RANDOM.permutation(len(QUERIES))
    metrics = RankingMetrics(ASKED)
    for documents in np.array_split(order, 7):
        given = (torch.from_numpy(array[documents]) for array in (SCORES, LABELS, QUERIES))
        metrics.update(*given)
    assert values(metrics.compute()) == fn.evaluate(LABELS, SCORES, ASKED, query_ids=QUERIES).mean()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("ndcg@3", "RetrievalNormalizedDCG"), ("P@3", "RetrievalPrecision"), ("R@3", "RetrievalRecall"),
        ("success@3", "RetrievalHitRate"),
    ],
)  # fmt: skip
def test_torch_metrics_equal_torchmetrics(ours, theirs):
    """Under its convention the values are those of the library, which takes the same batches."""
    one = RankingMetrics(ours, "torchmetrics")
    other = getattr(torchmetrics.retrieval, theirs)(top_k=3)
    target = torch.from_numpy(LABELS > 0).long() if ours != "ndcg@3" else torch.from_numpy(LABELS)
    preds = torch.from_numpy(RANDOM.permutation(len(LABELS)).astype("f4") + 1)
    for documents in np.array_split(np.arange(len(LABELS)), 4):
        one.update(preds[documents], target[documents], torch.from_numpy(QUERIES[documents]))
        other.update(preds[documents], target[documents], torch.from_numpy(QUERIES[documents]))
    assert one.compute().item() == pytest.approx(other.compute().item(), abs=2e-6)


DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.int64, torch.uint8]


@pytest.mark.parametrize("form", ["offsets", "indexes", "mask"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_torch_dtypes(dtype, form):
    """Scores of every kind are taken as they are: 16 bits, or 8, become more and no value changes."""
    kept = (SCORES * 4).astype("i8")  # which each of them holds
    (_, target, *rest), options = batch("offsets" if form == "mask" else form, 0, 60)
    preds = torch.from_numpy(kept).to(dtype)
    if form == "mask":
        _, target, mask = padded(0, 60)
        wide = torch.zeros(mask.shape)
        wide[mask] = preds.float()
        preds, options = wide.to(dtype), {"mask": mask}
    metrics = RankingMetrics(ASKED)
    metrics.update(preds, target, *rest, **options)
    assert values(metrics.compute()) == EXPECTED


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int32, torch.float16, torch.bfloat16, torch.float64])
def test_dtypes_of_labels(dtype):
    binary = torch.from_numpy(LABELS > 0)
    metrics = RankingMetrics("ndcg@3, map")
    metrics.update(torch.from_numpy(SCORES), binary.to(dtype), offsets=torch.from_numpy(OFFSETS))
    assert values(metrics.compute()) == fn.evaluate(LABELS > 0, SCORES, "ndcg@3, map", offsets=OFFSETS).mean()


def test_tensors_are_left_alone():
    """With gradients or without, strided, reversed, of inference mode: read where they lie, and not changed."""
    scores = torch.from_numpy(np.repeat(SCORES, 2))[::2].requires_grad_()
    with torch.inference_mode():
        labels = torch.from_numpy(LABELS) * 1
    for form in ({"offsets": torch.from_numpy(OFFSETS)}, {"indexes": torch.from_numpy(QUERIES)}):
        metrics = RankingMetrics(ASKED)
        metrics.update(scores, labels, **form)
        assert values(metrics.compute()) == EXPECTED
    assert scores.requires_grad
    assert scores.grad is None


def test_torch_cpu_tensors_are_not_copied():
    for tensor in (torch.rand(5), torch.rand(4, requires_grad=True), torch.arange(6).reshape(2, 3)):
        (array,) = torch_tensors.to_arrays([tensor])
        assert array.ctypes.data == tensor.data_ptr()
        assert array.shape == tuple(tensor.shape)


def test_batches_may_be_written_over():
    """Rows that are kept for later are copies: a training loop uses its buffers again."""
    metrics, preds, target = RankingMetrics(ASKED), torch.empty(300), torch.empty(300, dtype=torch.int64)
    for documents in np.array_split(np.arange(len(QUERIES)), 3):
        n = len(documents)
        preds[:n], target[:n] = torch.from_numpy(SCORES[documents]), torch.from_numpy(LABELS[documents])
        metrics.update(preds[:n], target[:n], torch.from_numpy(QUERIES[documents]))
    preds.zero_()
    assert values(metrics.compute()) == EXPECTED


class OnDevice:
    """A fake tensor on another device, which logs its copies."""

    def __init__(self, tensor, device, log):
        self.tensor, self.device, self.log = tensor, torch.device(device), log

    def detach(self):
        """Itself."""
        return self

    def to(self, device, *, non_blocking):
        self.log.append(("copy", str(self.device), device, non_blocking))
        return self.tensor


def test_torch_device_tensors_are_copied_together(monkeypatch):
    log = []
    monkeypatch.setattr(torch_tensors, "wait_for", lambda device: log.append(("wait", str(device))))
    one, two = torch.rand(3), torch.rand(4)
    arrays = torch_tensors.to_arrays([OnDevice(one, "cuda:0", log), OnDevice(two, "cuda:0", log)])
    assert log == [("copy", "cuda:0", "cpu", True), ("copy", "cuda:0", "cpu", True), ("wait", "cuda:0")]
    assert [array.ctypes.data for array in arrays] == [one.data_ptr(), two.data_ptr()]


def test_waiting_for_a_device(monkeypatch):
    log = []
    stream = type("Stream", (), {"synchronize": lambda _: log.append("stream")})
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: log.append(str(device)) or stream())
    monkeypatch.setattr(torch.mps, "synchronize", lambda: log.append("all"))
    torch_tensors.wait_for(torch.device("cuda:1"))
    torch_tensors.wait_for(torch.device("mps"))
    assert log == ["cuda:1", "stream", "all"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device")
@pytest.mark.parametrize("form", ["offsets", "indexes", "mask"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_torch_cuda_tensors(form, device):
    arguments, options = batch(form, 0, 60)
    metrics = RankingMetrics(ASKED).to(device)
    cuda = [tensor.cuda() for tensor in arguments]
    metrics.update(*cuda, **{name: tensor.cuda() for name, tensor in options.items()})
    computed = metrics.compute()
    assert {value.device.type for value in computed.values()} == {device}
    assert values(computed) == EXPECTED


def test_queries_without_documents():
    """Offsets that stand still and rows without any document are queries, undefined or 0 as in `evaluate`."""
    metrics = RankingMetrics("ndcg, rr")
    metrics.update(TWO, IDS + 1, offsets=torch.tensor([0, 0, 2, 2]))
    metrics.update(TWO[None], IDS[None], mask=torch.tensor([[False, False]]))
    assert values(metrics.compute()) == {"nDCG": 1.0, "RR": 0.25}


MISUSES = {
    "no tensor": (([0.9], IDS, IDS), {}, "`preds` must be a tensor, not list"),
    "complex": ((TWO * 1j, IDS, IDS), {}, "`preds` must be a dense tensor of real numbers, but is complex"),
    "sparse": ((TWO, IDS.to_sparse(), IDS), {}, "`target` must be a dense tensor .* but is of torch.sparse_coo"),
    "meta": ((TWO.to("meta"), IDS, IDS), {}, "`preds` must have values, but is a tensor of the device meta"),
    "another length": ((TWO, IDS[:1], IDS), {}, r"`target` must have the shape of `preds`, \(2,\), but has \(1,\)"),
    "other indexes": ((TWO, IDS, IDS[:1]), {}, r"`indexes` must have the shape of `preds`, \(2,\), but has \(1,\)"),
    "broken indexes": ((TWO, IDS, TWO), {}, "`indexes` must hold whole numbers, but is of torch.float32"),
    "bool offsets": ((TWO, IDS), {"offsets": IDS.bool()}, "`offsets` must hold whole numbers, but is of torch.bool"),
    "no queries": ((TWO, IDS), {}, "must be separated by exactly one of .* but there is no separator"),
    "cut twice": ((TWO, IDS, IDS), {"offsets": IDS}, "exactly one of .* but there is `indexes` and `offsets`"),
    "offsets of rows": ((TWO[None], IDS[None]), {"offsets": IDS}, r"`offsets` \(for tensors of one dimension\)"),
    "offsets too short": ((TWO, IDS), {"offsets": torch.tensor([0, 1])}, "`offsets` must end at the number"),
    "a mask of numbers": ((TWO[None], IDS[None]), {"mask": IDS[None]}, "`mask` must be a bool tensor of two"),
    "a mask of one": ((TWO, IDS), {"mask": IDS.bool()}, "`mask` must be a bool tensor of two dimensions"),
    "another mask": ((TWO[None], IDS[None]), {"mask": IDS[:1, None].bool()}, "`mask` must have the shape of `preds`"),
    "NaN": ((TWO * torch.nan, IDS), {"offsets": torch.tensor([0, 2])}, r"nDCG@3, RR: .*preds\[0\].* diverged"),
    "NaN in rows": ((TWO * torch.nan, IDS, IDS), {}, r"nDCG@3, RR: .*preds\[0\] of this batch is: the model diverged"),
    "NaN under a mask": (
        (torch.tensor([[torch.nan, 1.0, torch.nan]]), torch.ones(1, 3)), {"mask": torch.tensor([[False, True, True]])},
        r"preds\[0, 2\] of this batch",
    ),
    "negative labels": (
        (TWO, IDS - 1), {"offsets": torch.tensor([0, 2])}, r"`target` must not be negative, but target\[0\] \(query 0\)"
    ),
    "labels beyond float64": ((TWO, IDS + 2**53 + 1, IDS), {}, "`target` must fit float64 exactly"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSES)
def test_torch_update_raises_on_wrong_tensors(name):
    arguments, options, message = MISUSES[name]
    metrics = RankingMetrics("ndcg@3, rr")
    with pytest.raises(fn.FastndcgError, match=message):
        metrics.update(*arguments, **options)
    metrics.update(torch.from_numpy(SCORES), torch.from_numpy(LABELS), offsets=torch.from_numpy(OFFSETS))
    assert values(metrics.compute()) == fn.evaluate(LABELS, SCORES, "ndcg@3, rr", offsets=OFFSETS).mean()


def test_torch_compute_raises_on_wrong_rows():
    metrics = RankingMetrics("ndcg@3")
    metrics.update(TWO, IDS - 1, IDS)
    with pytest.raises(fn.InvalidInputError, match="nDCG@3: `target` must not be negative"):
        metrics.compute()


@pytest.mark.parametrize(
    ("metrics", "convention", "error", "message"),
    [
        ("ndgc", "default", fn.UnknownMetricError, "Did you mean 'ndcg'"),
        ("ndcg", "lightgmb", fn.UnknownConventionError, "lightgbm"),
        ("median(ap)", "default", fn.InvalidInputError, "must be a mean over queries, .* Use AP"),
        ("P@5", "implicit", fn.InvalidInputError, "must be a mean over queries, .* precision_mean='macro'"),
        (None, "default", fn.InvalidInputError, "`metrics` is missing"),
    ],
)
def test_torch_metrics_raise_on_wrong_metrics(metrics, convention, error, message):
    with pytest.raises(error, match=message):
        RankingMetrics(metrics, convention)


def test_options_of_torchmetrics():
    assert RankingMetrics("rr", sync_on_compute=False).sync_on_compute is False
    with pytest.raises(ValueError, match="Unexpected keyword arguments"):
        RankingMetrics("rr", topk=3)


def test_torch_missing_torchmetrics_error():
    code = """
        import sys
        sys.modules["torchmetrics"] = None
        try:
            import fastndcg.integrations.torch
        except ImportError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout == "RankingMetrics needs torchmetrics. Install it: pip install torchmetrics\n"

"""PyTorch: batches in every form, dtype and device, and a metric's life: collections, Lightning, copies, processes."""

import json
import math
import os
import pickle
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refuses
from strategies import examples
from tensor_batches import ASKED, EXPECTED, LABELS, OFFSETS, QUERIES, RANDOM, SCORES, batch, padded, values

import fastndcg as fn

torch = pytest.importorskip("torch")
torchmetrics = pytest.importorskip("torchmetrics")

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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("ours", "theirs"), [
    ("ndcg@3", "RetrievalNormalizedDCG"), ("P@3", "RetrievalPrecision"), ("R@3", "RetrievalRecall"),
    ("success@3", "RetrievalHitRate"),
])  # fmt: skip
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
    for documents in np.array_split(RANDOM.permutation(len(QUERIES)), 7):  # a query comes in several batches
        n = len(documents)
        preds[:n], target[:n] = torch.from_numpy(SCORES[documents]), torch.from_numpy(LABELS[documents])
        metrics.update(preds[:n], target[:n], torch.from_numpy(QUERIES[documents]))
    preds.zero_()
    assert values(metrics.compute()) == fn.evaluate(LABELS, SCORES, ASKED, query_ids=QUERIES).mean()


class OnDevice:
    """A fake tensor on another device, which logs its copies."""

    def __init__(self, tensor, device, log):
        self.tensor, self.device, self.log = tensor, torch.device(device), log

    def detach(self):
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
    refused(message, metrics.update, *arguments, **options, error=fn.FastndcgError)
    metrics.update(torch.from_numpy(SCORES), torch.from_numpy(LABELS), offsets=torch.from_numpy(OFFSETS))
    assert values(metrics.compute()) == fn.evaluate(LABELS, SCORES, "ndcg@3, rr", offsets=OFFSETS).mean()


def test_torch_compute_raises_on_wrong_rows():
    metrics = RankingMetrics("ndcg@3")
    metrics.update(TWO, IDS - 1, IDS)
    refused("nDCG@3: `target` must not be negative", metrics.compute)


test_torch_metrics_raise_on_wrong_metrics = refuses(RankingMetrics, [
    ("ndgc", "Did you mean 'ndcg'", fn.UnknownMetricError),
    ("ndcg", "lightgmb", "lightgbm", fn.UnknownConventionError),
    ("median(ap)", "must be a mean over queries, .* Use AP"),
    ("P@5", "implicit", "must be a mean over queries, .* precision_mean='macro'"),
    (None, "`metrics` is missing"),
])  # fmt: skip


def test_options_of_torchmetrics():
    assert RankingMetrics("rr", sync_on_compute=False).sync_on_compute is False
    refused("Unexpected keyword arguments", RankingMetrics, "rr", topk=3, error=ValueError)


def test_torch_missing_torchmetrics_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    monkeypatch.delitem(sys.modules, "fastndcg.integrations.torch")
    message = "^RankingMetrics needs torchmetrics. Install it: pip install torchmetrics$"
    refused(message, import_module, "fastndcg.integrations.torch", error=ImportError)


def test_torch_compute_return_types():
    one, listed, several = RankingMetrics("ndcg@3"), RankingMetrics(["ndcg@3"]), RankingMetrics("ndcg@3, rr")
    for metrics in (one, listed, several):
        metrics.update(torch.zeros(2, 2), torch.zeros(2, 2))
    assert math.isnan(one.compute().item())
    assert one.compute().dtype == torch.float64
    assert list(listed.compute()) == ["nDCG@3"]
    assert values(several.compute())["RR"] == 0.0
    assert (one.higher_is_better, several.higher_is_better, one.is_differentiable) == (True, True, False)
    assert repr(several) == "RankingMetrics(nDCG@3, RR; convention default)"


@pytest.mark.parametrize("form", ["offsets", "indexes", "mask"])
def test_torch_metric_reset_copy_and_pickle(form):
    parts = [batch(form, first, first + 20) for first in (0, 20, 40)]
    metrics = RankingMetrics(ASKED)
    for number, (arguments, options) in enumerate(parts):
        rows = slice(OFFSETS[20 * number], OFFSETS[20 * number + 20])
        alone = fn.evaluate(LABELS[rows], SCORES[rows], ASKED, offsets=OFFSETS[20 * number :][:21] - rows.start)
        assert values(metrics(*arguments, **options)) == alone.mean()
    assert values(metrics.compute()) == EXPECTED
    assert values(pickle.loads(pickle.dumps(metrics)).compute()) == EXPECTED
    merged = RankingMetrics(ASKED)
    for arguments, options in (parts[1], parts[2]):
        merged.update(*arguments, **options)
    first = RankingMetrics(ASKED)
    first.update(*parts[0][0], **parts[0][1])
    merged.merge_state(first)
    assert values(merged.compute()) == EXPECTED
    copy = metrics.clone().half().float()  # which must not touch states
    metrics.reset()
    metrics.update(*parts[1][0], **parts[1][1])
    assert values(metrics.compute()) != EXPECTED
    assert values(copy.compute()) == EXPECTED
    refused("Expected state variable", merged.merge_state, RankingMetrics("rr"), error=ValueError)


def test_torch_metric_checkpoints():
    metrics, again = RankingMetrics(ASKED), RankingMetrics(ASKED)
    for one in (metrics, again):
        one.persistent(True)
    for form, first, stop in (("offsets", 0, 10), ("indexes", 10, 35)):
        arguments, options = batch(form, first, stop)
        metrics.update(*arguments, **options)
    again.load_state_dict(metrics.state_dict())
    arguments, options = batch("mask", 35, 60)
    again.update(*arguments, **options)
    assert values(again.compute()) == EXPECTED


@pytest.mark.filterwarnings("ignore")
def test_torch_metric_in_collection():
    collection = torchmetrics.MetricCollection(
        {
            "ndcg": RankingMetrics("ndcg@1", "torchmetrics"),
            "deep": RankingMetrics("ndcg@3", "torchmetrics"),
            "all": RankingMetrics("map, rr"),
            "theirs": torchmetrics.retrieval.RetrievalNormalizedDCG(top_k=3),
        },
        prefix="val_",
    )
    right = torch.tensor([3.0, 2.0, 1.0]), torch.tensor([1, 0, 0]), torch.tensor([0, 0, 0])
    wrong = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1, 0, 0]), torch.tensor([1, 1, 1])
    for preds, target, indexes in (right, wrong):
        collection.update(preds, target, indexes=indexes)
    found = values(collection.compute())
    assert found["val_ndcg"] == 0.5
    assert found["val_deep"] == pytest.approx((1 + 0.5) / 2)
    assert found["val_deep"] == pytest.approx(found["val_theirs"])
    assert found["val_RR"] == pytest.approx((1 + 1 / 3) / 2)
    collection.reset()
    assert values(collection(*right[:2], indexes=right[2]))["val_ndcg"] == 1.0


def test_keys_of_a_collection():
    preds, target = torch.tensor([[0.9, 0.1]]), torch.tensor([[0, 1]])
    for asked, keys in (("ndcg@10", {"x"}), (fn.nDCG @ 10, {"x"}), ("ndcg@10, map", {"nDCG@10", "AP"})):
        collection = torchmetrics.MetricCollection({"x": RankingMetrics(asked)})
        collection.update(preds, target)
        assert set(collection.compute()) == keys


@pytest.mark.parametrize("kind", ["gradients", "bfloat16"])
@pytest.mark.parametrize("name", ["labels", "scores"])
def test_tensors_that_numpy_cannot_read_name_the_remedy(kind, name):
    tensor = torch.tensor([[1.0, 0.0]], dtype=torch.bfloat16 if kind == "bfloat16" else torch.float32)
    tensor = tensor.requires_grad_() if kind == "gradients" else tensor
    given = (tensor, [[0.5, 0.1]]) if name == "labels" else ([[1, 0]], tensor)
    with pytest.raises(fn.InvalidTypeError, match=rf"`{name}` must be a tensor .*\.detach\(\).*RankingMetrics"):
        fn.evaluate(*given, "rr")
    metrics = RankingMetrics("rr")
    metrics.update(tensor, torch.tensor([[1, 0]]))
    assert metrics.compute() == 1.0


@pytest.mark.filterwarnings("ignore")
def test_torch_metric_in_lightning(tmp_path):
    lightning = pytest.importorskip("pytorch_lightning")

    class Ranker(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))
            self.ndcg, self.others = RankingMetrics("ndcg@3"), RankingMetrics("map, rr")
            self.seen = []

        def training_step(self, rows, _):
            return (self.weight * len(rows[0])).sum()

        def validation_step(self, rows, _):
            preds, target, mask = rows
            for metrics in (self.ndcg, self.others):
                metrics.update(self.weight * preds, target, mask=mask)
            self.log("ndcg", self.ndcg)

        def on_validation_epoch_end(self):
            self.log_dict(self.others.compute())
            self.others.reset()

        def on_train_epoch_end(self):
            self.seen.append({name: value.item() for name, value in self.trainer.callback_metrics.items()})

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-6)

    rows = torch.utils.data.TensorDataset(*padded(0, 60))
    loader = torch.utils.data.DataLoader(rows, batch_size=7)
    ranker = Ranker()
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", default_root_dir=tmp_path, **quiet)
    trainer.fit(ranker, loader, loader)
    wanted = fn.evaluate(LABELS, SCORES, "ndcg@3,map,rr", offsets=OFFSETS).mean()
    assert len(ranker.seen) == 2
    for found in ranker.seen:
        assert found == pytest.approx({"ndcg": wanted["nDCG@3"], "AP": wanted["AP"], "RR": wanted["RR"]}, abs=1e-6)


PROCESSES = """
    import datetime, json, os, sys, warnings
    warnings.simplefilter("ignore")
    import torch
    import torch.distributed as distributed
    import tensor_batches as cases
    from fastndcg.integrations.torch import RankingMetrics

    rank, folder, scenarios = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2,
        timeout=datetime.timedelta(seconds=60),
    )
    found = []
    for parts in scenarios:
        metrics = RankingMetrics(cases.ASKED)
        for form, first, stop in parts[rank]:
            arguments, options = cases.batch(form, first, stop)
            metrics.update(*arguments, **options)
        found.append([cases.values(metrics.compute()) for _ in range(2)])
        arguments, options = cases.batch("indexes", 0, 3)
        metrics.update(*arguments, **options)  # goes on after the states were gathered
        metrics.reset()
    distributed.barrier()
    distributed.destroy_process_group()
    print(json.dumps(found))
"""
SCENARIOS = {
    "even": [[("offsets", 0, 30)], [("offsets", 30, 60)]],
    "uneven batches": [[("offsets", 0, 7), ("mask", 7, 8), ("offsets", 8, 40)], [("mask", 40, 60)]],
    "an empty process": [[("offsets", 0, 60)], []],
    "the other empty": [[], [("indexes", 0, 20), ("indexes", 20, 60)]],
    "indexes": [[("indexes", 0, 9), ("indexes", 9, 11), ("indexes", 11, 12)], [("indexes", 12, 60)]],
    "both kinds": [[("indexes", 0, 30)], [("offsets", 30, 60)]],
    "batches of nothing": [[("offsets", 0, 60), ("offsets", 3, 3), ("indexes", 4, 4)], [("indexes", 0, 0)]],
    "nothing at all": [[], []],
}


def test_torch_metric_of_two_processes_equals_one(tmp_path):
    """However batches are spread over processes, both have the means of all, to the bit, and neither waits for ever."""
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    paths = [
        str(Path(__file__).resolve().parents[1] / "helpers"),
        str(Path(fn.__file__).parents[1]),
        os.environ.get("PYTHONPATH", ""),
    ]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    command = [sys.executable, "-c", textwrap.dedent(PROCESSES)]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path), json.dumps(list(SCENARIOS.values()))], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for rank in range(2)
    ]  # fmt: skip
    try:
        answers = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, answers, strict=True):
        assert process.returncode == 0, errors
    for found, _ in answers:
        by_name = dict(zip(SCENARIOS, json.loads(found.splitlines()[-1]), strict=True))
        for value in by_name.pop("nothing at all")[0].values():
            assert math.isnan(value)
        assert by_name == {name: [EXPECTED, EXPECTED] for name in by_name}

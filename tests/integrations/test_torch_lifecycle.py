"""PyTorch: a metric's life, in collections, in Lightning, from checkpoints, and on several processes."""

import json
import math
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tensor_batches import ASKED, EXPECTED, LABELS, OFFSETS, SCORES, batch, padded, values

import fastndcg as fn

torch = pytest.importorskip("torch", reason="torch is absent: pip install 'fastndcg[torch]'")
torchmetrics = pytest.importorskip("torchmetrics", reason="torchmetrics is absent: pip install 'fastndcg[torch]'")

from fastndcg.integrations.torch import RankingMetrics  # noqa: E402

pytestmark = pytest.mark.peers


def test_torch_compute_return_types():
    """`compute` returns a float64 tensor for one named metric, and a dict for a list or for several metrics."""
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
    with pytest.raises(ValueError, match="Expected state variable"):
        merged.merge_state(RankingMetrics("rr"))


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
    for given, keys in (("ndcg@10", {"x"}), (fn.nDCG @ 10, {"x"}), ("ndcg@10, map", {"nDCG@10", "AP"})):
        collection = torchmetrics.MetricCollection({"x": RankingMetrics(given)})
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
    lightning = pytest.importorskip("pytorch_lightning", reason="Lightning is absent: pip install pytorch-lightning")

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
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
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

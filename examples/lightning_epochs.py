"""
Lightning: nDCG of every validation epoch by `self.log`, and other metrics from the same batches.

Rows are queries, padded; a mask says which entries are documents. Whatever the number of processes, the logged values
are the means over all queries, to the bit.

Run: python examples/lightning_epochs.py
"""

import pytorch_lightning as lightning
import torch

from fastndcg.integrations.torch import RankingMetrics

FEATURES = 8


class Ranker(lightning.LightningModule):
    """A linear model, trained on each document's label."""

    def __init__(self):
        """Make the model and its metrics."""
        super().__init__()
        self.model = torch.nn.Linear(FEATURES, 1)
        self.ndcg = RankingMetrics("ndcg@10")
        self.others = RankingMetrics("map, rr, ndcg@3")

    def forward(self, documents):
        """Score documents."""
        return self.model(documents).squeeze(-1)

    def training_step(self, batch, _):
        """Regress on labels."""
        documents, labels, mask = batch
        return ((self(documents) - labels)[mask] ** 2).mean()

    def validation_step(self, batch, _):
        """Take in a batch of queries; Lightning computes and resets what is logged as a metric."""
        documents, labels, mask = batch
        scores = self(documents)
        self.ndcg.update(scores, labels, mask=mask)
        self.others.update(scores, labels, mask=mask)
        self.log("val_ndcg", self.ndcg)

    def on_validation_epoch_end(self):
        """Log the metrics of a dict by hand."""
        self.log_dict(self.others.compute())
        self.others.reset()

    def configure_optimizers(self):
        """Adam."""
        return torch.optim.Adam(self.parameters(), 0.05)


def queries(n_queries, seed):
    """Queries of up to thirty documents, whose labels a linear model can learn."""
    random = torch.Generator().manual_seed(seed)
    documents = torch.randn((n_queries, 30, FEATURES), generator=random)
    mask = torch.arange(30) < torch.randint(5, 31, (n_queries, 1), generator=random)
    labels = documents.sum(-1).div(3).round().clamp(0, 3)
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(documents, labels, mask), batch_size=64)


def main():
    """Train for three epochs, and print what the last one logged."""
    lightning.seed_everything(0)
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", **quiet)
    trainer.fit(Ranker(), queries(512, 1), queries(256, 2))
    print({name: round(value.item(), 4) for name, value in sorted(trainer.callback_metrics.items())})


if __name__ == "__main__":
    main()

"""
Log nDCG of every validation epoch in Lightning by `self.log`, and further metrics of the same batches.

Each row is a query, padded to 30 documents. A mask is True for its documents. The logged values are means over all
queries, bit-identical for any number of processes.

Install: pip install '.[torch]' pytorch-lightning
Run: python examples/lightning_epochs.py
"""

import pytorch_lightning as lightning
import torch

from fastndcg.integrations.torch import RankingMetrics

FEATURES = 8


class Ranker(lightning.LightningModule):
    """A linear model that is trained on the labels of documents."""

    def __init__(self):
        """Create the model and its metrics."""
        super().__init__()
        self.model = torch.nn.Linear(FEATURES, 1)
        self.ndcg = RankingMetrics("ndcg@10")
        self.further = RankingMetrics("map, rr, ndcg@3")

    def forward(self, documents):
        """Score documents."""
        return self.model(documents).squeeze(-1)

    def training_step(self, batch, _):
        """Return the squared error of the scores."""
        documents, labels, mask = batch
        return ((self(documents) - labels)[mask] ** 2).mean()

    def validation_step(self, batch, _):
        """Add a batch of queries. Lightning computes and resets the metric that is logged."""
        documents, labels, mask = batch
        scores = self(documents)
        self.ndcg.update(scores, labels, mask=mask)
        self.further.update(scores, labels, mask=mask)
        self.log("val_ndcg", self.ndcg)

    def on_validation_epoch_end(self):
        """Log the metrics whose value is a dict."""
        self.log_dict(self.further.compute())
        self.further.reset()

    def configure_optimizers(self):
        """Return the optimizer."""
        return torch.optim.Adam(self.parameters(), 0.05)


def make_queries(n_queries, seed):
    """Create queries of up to 30 documents with labels that a linear model can learn."""
    random = torch.Generator().manual_seed(seed)
    documents = torch.randn((n_queries, 30, FEATURES), generator=random)
    mask = torch.arange(30) < torch.randint(5, 31, (n_queries, 1), generator=random)
    labels = documents.sum(-1).div(3).round().clamp(0, 3)
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(documents, labels, mask), batch_size=64)


def main():
    """Train for three epochs, and print the values that the last one logged."""
    lightning.seed_everything(0)
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", **quiet)
    trainer.fit(Ranker(), make_queries(512, 1), make_queries(256, 2))
    print({name: round(value.item(), 4) for name, value in sorted(trainer.callback_metrics.items())})


if __name__ == "__main__":
    main()

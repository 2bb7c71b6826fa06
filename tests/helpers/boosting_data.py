"""Data to boost on: LightGBM's ranking example, and random queries of every kind."""

from typing import NamedTuple

import numpy as np
from recorded_data import DATA


class Data(NamedTuple):
    """Documents of many queries, one after the other, with weights of the queries."""

    features: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    weights: np.ndarray

    @property
    def query_ids(self):
        """The query of each document."""
        return np.repeat(np.arange(len(self.groups)), self.groups)

    @property
    def weights_of_documents(self):
        """The weight of each document's query."""
        return np.repeat(self.weights, self.groups)

    def first(self, n):
        """Return the first n queries."""
        stop = int(self.groups[:n].sum())
        return Data(self.features[:stop], self.labels[:stop], self.groups[:n], self.weights[:n])

    def without_empty(self):
        """Return the queries that have a relevant document."""
        has = np.bincount(self.query_ids, self.labels) > 0
        kept = np.repeat(has, self.groups)
        return Data(self.features[kept], self.labels[kept], self.groups[has], self.weights[has])


def random_data(n_queries=120, seed=0, most=40, highest=4):
    """
    Return ragged queries with weights in eighths.

    Some queries have only one document or no relevant document.
    """
    random = np.random.default_rng(seed)
    groups = random.integers(1, most, n_queries)
    features = random.random((groups.sum(), 5))
    labels = np.clip((features[:, 0] * 4 + random.normal(size=len(features)) - 1).round(), 0, highest)
    labels[np.repeat(random.random(n_queries) < 0.15, groups)] = 0
    return Data(features, labels, groups, random.integers(1, 9, n_queries) / 8)


def example(part):
    """Return LightGBM's ranking example, "train" or "test"."""
    from sklearn.datasets import load_svmlight_file

    folder = DATA / "ranking_example"
    features, labels = load_svmlight_file(str(folder / f"rank.{part}.gz"), n_features=301)
    groups = np.loadtxt(folder / f"rank.{part}.query", dtype="i8")
    return Data(features.toarray(), labels, groups, np.ones(len(groups)))

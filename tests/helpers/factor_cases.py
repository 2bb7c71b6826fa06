"""Seeded factors of users and items, with labels and seen items, for values that libraries gave."""

from typing import NamedTuple

import numpy as np

CUTOFFS = (1, 5, 10)
RECOMETRICS = {  # by their names: our metric, and what their option changes
    "P@{k}": ("P@{k}", ""), "TP@{k}": ("P@{k}", "(precision_denominator=min(k, n_relevant))"),
    "R@{k}": ("R@{k}", ""), "AP@{k}": ("AP@{k}", ""), "TAP@{k}": ("AP@{k}", "(ap_denominator=min(k, n_relevant))"),
    "NDCG@{k}": ("nDCG@{k}", ""), "Hit@{k}": ("Success@{k}", ""), "RR@{k}": ("RR@{k}", ""), "ROC_AUC": ("AUC", ""),
    "PR_AUC": ("AP", ""),
}  # fmt: skip
LIGHTFM = {"precision_at_k@{k}": "P@{k}", "recall_at_k@{k}": "R@{k}", "reciprocal_rank": "RR", "auc_score": "AUC"}
SENTENCE_TRANSFORMERS = {
    "accuracy": "Success", "precision": "P", "recall": "R", "ndcg": "nDCG", "mrr": "RR", "map": "AP",
}  # fmt: skip
N_USERS, N_ITEMS, N_DIMENSIONS = 30, 60, 6


class FactorCase(NamedTuple):
    """Factors with biases of items, labels (0: not relevant), and True for items that a user has seen."""

    users: np.ndarray
    items: np.ndarray
    item_biases: np.ndarray
    labels: np.ndarray
    is_seen: np.ndarray

    @property
    def scores(self):
        return self.users @ self.items.T + self.item_biases

    def flatten(self):
        is_ranked = ~self.is_seen
        offsets = np.concatenate([[0], np.cumsum(is_ranked.sum(axis=1))])
        return self.labels[is_ranked], self.scores[is_ranked], offsets


def draw_case(seed=11):
    """Return a case without equal scores. Some users like nothing, and have seen nothing."""
    generator = np.random.default_rng(seed)
    shape = (N_USERS, N_ITEMS)
    drawn = generator.random(shape)
    labels = np.where(drawn < 0.1, generator.integers(1, 4, shape), 0)
    is_seen = (drawn > 0.7) & (np.arange(N_USERS) % 7 != 0)[:, None]
    labels[::10] = 0
    users, items = (generator.normal(size=(n, N_DIMENSIONS)).astype("f4") for n in shape)
    return FactorCase(users, items, generator.normal(size=N_ITEMS).astype("f4"), labels, is_seen)


def draw_tied_case(seed=12):
    """Return a case of small whole numbers without biases, which has many equal scores."""
    generator = np.random.default_rng(seed)
    case = draw_case(seed)
    users, items = (generator.integers(-2, 3, rows.shape).astype("f4") for rows in (case.users, case.items))
    return case._replace(users=users, items=items, item_biases=np.zeros(N_ITEMS, "f4"))

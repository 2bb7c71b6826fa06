"""Drawn ratings, divided into training and test, for factors that implicit trains."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

LEAST_RATINGS = 10  # of an item
LIKED = 4  # the least rating of a liked item
K = 10


class RatingCase(NamedTuple):
    """Matrices of users by items: ratings for training, and 1 for liked items of the test."""

    train: Any
    test: Any


def read_case(path) -> RatingCase:
    users, items, ratings = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1, 2)).T
    _, codes, counts = np.unique(items, return_inverse=True, return_counts=True)
    is_common = counts[codes] >= LEAST_RATINGS
    users = np.unique(users, return_inverse=True)[1][is_common]
    items = np.unique(codes[is_common], return_inverse=True)[1]
    ratings = ratings[is_common]
    is_test = (np.random.default_rng(0).random(len(users)) < 0.2) & (ratings >= LIKED)
    shape = int(users.max()) + 1, int(items.max()) + 1
    parts = [
        scipy.sparse.csr_matrix((values[mask].astype("f4"), (users[mask], items[mask])), shape=shape)
        for values, mask in ((ratings, ~is_test), (np.ones(len(users)), is_test))
    ]
    for part in parts:
        part.sort_indices()
    return RatingCase(*parts)

"""Models with other options, and a case of exact scores that are often equal."""

import copy

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.recommenders.models import Model


def choose(model, *, exclude=None, candidates=None, missing_truth="raise", memory=None):
    """Return a model, or a matrix of scores, with these options."""
    if not isinstance(model, Model):
        return fn.Scores(model, exclude=exclude, candidates=candidates, missing_truth=missing_truth)
    copied = copy.copy(model)
    copied._select(exclude, candidates, missing_truth, memory)
    return copied


N_USERS, N_ITEMS, N_LIKED = 61, 530, 4


def draw_case(dtype="f4", n_columns=5):
    """Return graded truth and factors of small whole numbers, whose scores are exact and often equal."""
    rng = np.random.default_rng(5)
    users, items = (rng.integers(-2, 3, (n, n_columns)).astype(dtype) for n in (N_USERS, N_ITEMS))
    liked = np.stack([rng.choice(N_ITEMS, N_LIKED, replace=False) for _ in range(N_USERS)]).reshape(-1)
    offsets = np.arange(N_USERS + 1) * N_LIKED
    return fn.Interactions(liked, rng.integers(0, 4, len(liked)), offsets, n_items=N_ITEMS), users, items


LIKED, USERS, ITEMS = draw_case()
SCORES = USERS @ ITEMS.T


def draw_selections():
    """Return options of models that leave every liked item a candidate. The candidates of user 3 are few."""
    rng = np.random.default_rng(6)
    liked = [set(row.tolist()) for row in LIKED.items.reshape(N_USERS, N_LIKED)]
    seen = [set(rng.choice(N_ITEMS, 30, replace=False).tolist()) - items for items in liked]
    own = [set(rng.choice(N_ITEMS, 90, replace=False).tolist()) | items for items in liked]
    own[3] = set(range(20)) | liked[3]
    shared = set(range(0, N_ITEMS, 3)) | set(LIKED.items.tolist())
    return {
        "all": {}, "exclude": {"exclude": seen}, "own candidates": {"candidates": own},
        "own candidates, exclude": {"candidates": own, "exclude": seen}, "candidates": {"candidates": shared},
        "candidates, exclude": {"candidates": shared, "exclude": seen},
    }  # fmt: skip


SELECTIONS = draw_selections()


def make_model(kind, **options):
    """Return a model of the case of which all kinds have the same scores."""
    if kind == "scorer":
        return fn.Scorer(lambda users: SCORES[users], n_items=N_ITEMS, n_users=N_USERS, **options)
    convert = pytest.importorskip("torch").from_numpy if kind == "tensors" else np.asarray
    return fn.Embeddings(convert(USERS), convert(ITEMS), **options)

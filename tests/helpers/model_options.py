"""Models with other options."""

import copy

import fastndcg as fn
from fastndcg.recommenders.models import Model


def choose(model, *, exclude=None, candidates=None, missing_truth="raise", memory=None):
    """Return a model, or a matrix of scores, with these options."""
    if not isinstance(model, Model):
        return fn.Scores(model, exclude=exclude, candidates=candidates, missing_truth=missing_truth)
    copied = copy.copy(model)
    copied._select(exclude, candidates, missing_truth, memory)
    return copied

"""Queries as batches of tensors, in every form that RankingMetrics takes, and the means of all of them."""

import numpy as np
import pytest

import fastndcg as fn

torch = pytest.importorskip("torch")

ASKED = "ndcg@3,map,rr,P(rel=2)@2,nDCG(gain=exp2)"
RANDOM = np.random.default_rng(8)
SIZES = RANDOM.integers(1, 9, 60)
OFFSETS = np.cumsum([0, *SIZES])
QUERIES = np.repeat(np.arange(60) * 7 % 60, SIZES)
LABELS = RANDOM.integers(0, 4, OFFSETS[-1]) * (RANDOM.random(OFFSETS[-1]) < 0.6)
SCORES = RANDOM.integers(0, 12, OFFSETS[-1]).astype("f4") / 4
EXPECTED = fn.evaluate(LABELS, SCORES, ASKED, offsets=OFFSETS).mean()


def values(computed):
    return {name: value.item() for name, value in computed.items()}


def padded(first, stop):
    sizes = SIZES[first:stop]
    mask = np.arange(max(sizes, default=0) + 2)[None, :] < sizes[:, None]
    scores, labels = np.full(mask.shape, np.nan, "f4"), np.full(mask.shape, -7)
    documents = slice(OFFSETS[first], OFFSETS[stop])
    scores[mask], labels[mask] = SCORES[documents], LABELS[documents]
    return [torch.from_numpy(array) for array in (scores, labels, mask)]


def batch(form, first, stop):
    """Return the arguments of `update` for some queries in one of the forms."""
    documents = slice(OFFSETS[first], OFFSETS[stop])
    preds, target = torch.from_numpy(SCORES[documents]), torch.from_numpy(LABELS[documents])
    if form == "offsets":
        return (preds, target), {"offsets": torch.from_numpy(OFFSETS[first : stop + 1] - OFFSETS[first])}
    if form == "indexes":
        return (preds, target, torch.from_numpy(QUERIES[documents])), {}
    preds, target, mask = padded(first, stop)
    return (preds, target), {"mask": mask}

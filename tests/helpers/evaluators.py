"""Helpers for tests that run both the kernels and the reference."""

import pytest

import fastndcg as fn
from fastndcg.rankings.rankings import Rankings

EVALUATE = pytest.mark.parametrize("evaluate", [fn.evaluate, fn.reference.evaluate], ids=["kernels", "reference"])


def exactly(value):
    return pytest.approx([value], rel=1e-14, abs=0, nan_ok=True)


def rank_labels(labels, unretrieved):
    pool = (labels + unretrieved, [0, len(labels) + len(unretrieved)])
    return Rankings(labels, [-rank for rank in range(len(labels))], [0, len(labels)], pool=pool)


def rank_groups(groups):
    labels = [label for group in groups for label in group]
    scores = [-place for place, group in enumerate(groups) for _ in group]
    return labels, scores

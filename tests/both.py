"""Tests that hold the package and its reference to the same values."""

import pytest

import fastndcg as fn

EVALUATE = pytest.mark.parametrize("evaluate", [fn.evaluate, fn.reference.evaluate], ids=["kernels", "reference"])


def exactly(value):
    """The value up to the last digits of float64."""
    return pytest.approx([value], rel=1e-14, abs=0, nan_ok=True)


# record: metric, labels in rank order, labels that were judged and not retrieved, value

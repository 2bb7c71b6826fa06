"""Frames of libraries that are read through narwhals, or through the Arrow stream of a plan."""

import os

import numpy as np
import pytest

import fastndcg as fn

pytestmark = pytest.mark.peers

ROWS = np.arange(60)
COLUMNS = {
    "query": [f"q{row // 6}" for row in ROWS], "document": [f"d{row}" for row in ROWS], "label": ROWS % 3,
    "score": ROWS * 7 % 11 / 2,
}  # fmt: skip


def check(frame):
    """Compare one frame, and two that are joined, with the values of a dict of columns."""
    expected = fn.evaluate(COLUMNS, metrics="ndcg@3,rr").to_dict()
    assert fn.evaluate(frame, metrics="ndcg@3,rr").to_dict() == expected
    sides = frame[["query", "document", "label"]], frame[["query", "document", "score"]]
    assert fn.evaluate(*sides, "ndcg@3,rr").to_dict() == expected
    with pytest.raises(fn.InvalidInputError, match="must have one column 'clicks', but has 0"):
        fn.evaluate(fn.Rows(frame, columns={"label": "clicks"}), metrics="rr")


def test_modin(monkeypatch):
    pytest.importorskip("narwhals")
    if "MODIN_ENGINE" not in os.environ:
        monkeypatch.setenv("MODIN_ENGINE", "python")  # in this process, without workers
    frame = pytest.importorskip("modin.pandas").DataFrame(COLUMNS)
    check(frame)
    frame.loc[0, "score"] = np.nan
    with pytest.raises(fn.InvalidInputError, match="`scores` must not be NaN"):
        fn.evaluate(frame, metrics="rr")


def test_ibis():
    ibis = pytest.importorskip("ibis")
    check(ibis.memtable(COLUMNS).mutate(other=ibis._.label + 1))

"""Candidates of each query, and their places, are collected from labels and combined before they are ranked."""

import numpy as np
import pytest

from fastndcg.kernels.jit import kernel
from fastndcg.kernels.ranking import candidates, rank
from fastndcg.kernels.ranking.candidates import Candidates, Query
from fastndcg.kernels.ranking.rank import WindowBuffers
from fastndcg.kernels.simd import WIDE

BEHIND = 5
NOT_READ = np.empty(0, "i8"), np.empty(0, "u8"), np.empty(0, "i8")  # offsets, bitmask and counts of candidates


@kernel
def gather(scores, query, candidates, buffers):
    """Call a part of kernels from Python."""
    return rank.gather_candidates(scores, query, candidates, buffers)


def collected(labels, offsets, first, stop):
    """Candidates of queries `first` up to `stop`, in room for each document, and the least label and the most."""
    n_documents = offsets[stop] - offsets[first]
    n_blocks = -(-n_documents // WIDE)
    documents, values = np.full(n_documents + BEHIND, -7, "i4"), np.full(n_documents + BEHIND, -7.0)
    found = np.empty(stop - first + 1, "i8")
    marks, before = np.empty(n_blocks, "u8"), np.empty(n_blocks, "i8")
    about = np.empty(4)
    out = documents[:n_documents], values[:n_documents], found, marks, before
    candidates.collect(labels, offsets, first, -np.inf, out, about)
    assert (documents[n_documents:] == -7).all()
    assert (values[n_documents:] == -7).all()
    n = found[-1]
    assert about[:2].tolist() == [0, 0]
    return documents[:n].tolist(), values[:n].tolist(), found.tolist(), about[2:].tolist()


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("dtype", ["u1", "i8", "f4"])
def test_collects_what_is_not_zero(share, dtype):
    """Queries of all sizes, empty ones among them and at either end, as parts of the arrays."""
    rng = np.random.default_rng(3)
    for size in (0, 1, 3, WIDE - 1, WIDE, WIDE + 1, 3 * WIDE, 200):
        sizes = np.array([7, 0, size, 2, size, 0, 0])
        offsets = np.append(0, sizes.cumsum())
        labels = ((rng.random(offsets[-1]) < share) * rng.integers(1, 5, offsets[-1])).astype(dtype)
        for first, stop in ((0, 7), (1, 5), (1, 2), (4, 7), (5, 7)):
            own = labels[offsets[first] : offsets[stop]]
            expected = np.flatnonzero(own)
            starts = offsets[first : stop + 1] - offsets[first]
            documents, values, found, about = collected(labels, offsets, first, stop)
            assert documents == expected.tolist()
            assert values == own[expected].tolist()
            assert found == np.searchsorted(expected, starts).tolist()
            assert about == [min(values, default=np.inf), max(values, default=-np.inf)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, WIDE - 2, WIDE - 1, WIDE])
def test_candidates_of_a_query_are_put_together(n):
    """Scores, labels and places in the query, where others follow and where none does, and nothing behind the room."""
    rng = np.random.default_rng(4)
    scores, base = rng.random(5 * WIDE), 10
    documents = np.sort(rng.permutation(np.arange(base, 2 * WIDE))[: n + 2]).astype("i4")
    labels = rng.random(n + 2)
    for c in (0, 2):
        room = np.full(WIDE + BEHIND, -7.0), np.full(WIDE + BEHIND, -7.0), np.full(WIDE + BEHIND, -7, "i4")
        query = Query(0, WIDE + base, len(scores), base, c, n)
        gathered = gather(scores, query, Candidates(documents, labels, *NOT_READ), WindowBuffers(*room, np.empty(0)))
        assert (gathered[0], int(gathered[1])) == (n, 2**n - 1)
        own = slice(c, c + n)
        expected = scores[WIDE + documents[own]], labels[own], documents[own] - base
        for found, right in zip(room, expected, strict=True):
            np.testing.assert_array_equal(found[:n], right)
            assert (found[WIDE:] == -7).all()

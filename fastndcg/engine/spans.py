"""Spans of queries: the chunks that an evaluation is cut into, of about equal work."""

from __future__ import annotations

import itertools

import numpy as np

from fastndcg.rankings.validation import Array

MIN_DOCUMENTS_FOR_THREADS = 1 << 17  # evaluating fewer takes less time than starting a thread

Span = tuple[int, int]  # queries from the first up to a stop


def cut_queries(offsets: Array, chunk_size: int, threads: int, max_queries: int | None = None) -> list[Span]:
    """
    Return spans of consecutive queries with about `chunk_size` documents each, the largest first.

    Parameters
    ----------
    offsets : (n_queries + 1,) int array
        The number of documents before each query, as a measure of work. The first need not be 0.
    chunk_size : int
        The largest number of documents of a chunk, except for one long query.
    threads : int
        The number of threads that share the chunks.
    max_queries : int, optional
        The largest number of queries of a chunk. By default `chunk_size`: queries without documents take time, too.
    """
    n_queries = len(offsets) - 1
    n_documents = int(offsets[-1] - offsets[0])
    max_queries = chunk_size if max_queries is None else max_queries
    if threads == 1 and n_documents <= chunk_size and n_queries <= max_queries:
        return [(0, n_queries)] if n_queries else []
    places = np.array(find_cuts(n_documents, chunk_size, threads), "i8") + offsets[0]
    bounds = sorted({0, n_queries, *offsets.searchsorted(places).tolist(), *range(max_queries, n_queries, max_queries)})
    before = dict(zip(bounds, offsets[bounds].tolist(), strict=True))
    return sorted(itertools.pairwise(bounds), key=lambda span: before[span[0]] - before[span[1]])


def find_cuts(n_documents: int, chunk_size: int, threads: int) -> list[int]:
    """
    Return the number of documents before each chunk but the first.

    With one thread all chunks are about equal. With more, chunks get smaller to the end, so that no thread waits long
    for the last one. A chunk is not smaller than the work that a thread is worth.
    """
    if threads == 1:
        n_chunks = -(-n_documents // chunk_size)
        return [n_documents * number // n_chunks for number in range(1, n_chunks)]
    cuts: list[int] = []
    remaining = n_documents
    while remaining > chunk_size or remaining >= 2 * MIN_DOCUMENTS_FOR_THREADS:
        remaining -= min(max(remaining // threads, MIN_DOCUMENTS_FOR_THREADS), chunk_size)
        cuts.append(n_documents - remaining)
    return cuts

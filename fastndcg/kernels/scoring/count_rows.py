"""Count the candidates that score above labelled items and the same, in rows of scores that a model returned."""

from fastndcg.kernels.jit import kernel
from fastndcg.kernels.scoring.count import Counts, Labelled, count_row
from fastndcg.kernels.scoring.tiles import Extent, Lists, select_candidates
from fastndcg.kernels.simd import WIDE

CHUNK = 2048  # scores that are copied and counted at once, which stay in the processor's first cache


@kernel
def count_rows(scores, rows, span, lists, labelled, scratch, out):
    """
    Write the counts of some rows.

    scores    (n_rows_of_block, n_items) float32 or float64
    rows      (n_rows_of_block,) int64, number of each row of the block among all rows, -1 for rows that do not count
    span      first row of the block and a stop
    lists     `Lists` as a tuple
    labelled  `Labelled` as a tuple, whose scores are written
    scratch   (2, CHUNK) of the dtype of the scores
    out       `Counts` as a tuple, for all rows
    """
    lists = Lists(*lists)
    labelled = Labelled(*labelled)
    counts = Counts(*out)
    n_items = scores.shape[1]
    chunk, row_scratch = scratch
    for r in range(span[0], span[1]):
        row = rows[r]
        if row >= 0:
            first = labelled.offsets[row]
            for e in range(first, labelled.offsets[row + 1]):
                labelled.scores[e] = scores[r, labelled.items[e]]
            for start in range(0, n_items, CHUNK):
                n = min(CHUNK, n_items - start)
                row_width = (n + WIDE - 1) // WIDE * WIDE
                for i in range(n):
                    chunk[i] = scores[r, start + i]
                extent = Extent(1, 0, n, start, 0, None)
                select_candidates(chunk, 0, row_width, extent, lists, row, row_scratch)
                count_row(chunk, 0, row_width, extent, row, labelled, counts)

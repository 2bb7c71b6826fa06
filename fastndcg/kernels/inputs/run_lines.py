"""
Lines of a run in TREC's format: query, Q0, document, rank, score, tag.

queries    ids of queries, texts: see id_hashing.py
documents  ids of documents, texts
rows       (n_rows,)         int64, the rows of each query by falling score
offsets    (n_queries + 1,)  int64, query q owns rows[offsets[q]:offsets[q + 1]]
words      (n_documents,)    uint64, the bits of the scores: see format_float.py
tag        uint8, the name of the system
place      (3,)              int64, the query and the place in `rows` of the next line, both updated, and where to stop
out        uint8, room for one line or more
"""

from fastndcg.kernels.inputs.format_float import LONGEST, write_float
from fastndcg.kernels.inputs.id_hashing import find_bounds
from fastndcg.kernels.jit import helper, inline, kernel

BLANK = 32
LINE_FEED = 10
LETTER_Q = 81
DIGIT_0 = 48
SEPARATORS = LONGEST + 32  # bytes that a line takes at most beside its ids and the tag


@kernel
def write_run_lines(queries, documents, rows, offsets, words, tag, place, out):
    """Write lines up to place[2], or until `out` may have no room for the next, and return the number of bytes."""
    end = 0
    query = place[0]
    row = place[1]
    while row < place[2]:
        if row == offsets[query + 1]:
            query += 1
            continue
        document = rows[row]
        first, stop = find_bounds(documents, document)
        query_first, query_stop = find_bounds(queries, query)
        if end + stop - first + query_stop - query_first + tag.shape[0] + SEPARATORS > out.shape[0]:
            break
        end = copy_text(queries.data, query_first, query_stop, end, out)
        out[end] = BLANK
        out[end + 1] = LETTER_Q
        out[end + 2] = DIGIT_0
        out[end + 3] = BLANK
        end = copy_text(documents.data, first, stop, end + 4, out)
        out[end] = BLANK
        end = write_rank(row - offsets[query] + 1, end + 1, out)
        out[end] = BLANK
        end = write_float(words[document], end + 1, out)
        out[end] = BLANK
        end = copy_text(tag, 0, tag.shape[0], end + 1, out)
        out[end] = LINE_FEED
        end += 1
        row += 1
    place[0] = query
    place[1] = row
    return end


@inline
def copy_text(data, first, stop, place, out):
    """Copy data[first:stop], and return the place behind it."""
    for i in range(first, stop):
        out[place + i - first] = data[i]
    return place + stop - first


@helper
def write_rank(rank, place, out):
    """Write a whole number above 0, and return the place behind it."""
    n_digits = 1
    above = 10
    while rank >= above:
        above *= 10
        n_digits += 1
    for i in range(place + n_digits - 1, place - 1, -1):
        out[i] = DIGIT_0 + rank % 10
        rank //= 10
    return place + n_digits

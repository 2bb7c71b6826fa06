"""
A list of dicts with a query, a document and a number each, into arrays.

See dicts.py for `kinds` and the interpreter's lock. At the first row that breaks a rule, the kernel stops, and Python
reads the list.

rows             address of a list
row_type         address of the type dict
fields           (3,)             int64, addresses of the keys of the query, the document and the number
out.query_ends, out.document_ends  (n_rows,)   int64, the end of each id among the bytes of all ids
out.query_data, out.document_data  (n_bytes,)  uint8, the ids in UTF-8, as far as they fit
out.values       (n_rows,)        float64
out.counts       (4,)             int64: bytes of queries, bytes of documents, fractions, rows read
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.inputs.dicts import TEXT, read_number
from fastndcg.kernels.inputs.python_objects import copy_bytes, dict_get, exact_type, list_item, list_size, to_utf8
from fastndcg.kernels.jit import inline, kernel

QUERY, DOCUMENT, NUMBER = range(3)
QUERY_BYTES, DOCUMENT_BYTES, N_FRACTIONS, N_ROWS = range(4)

Array = np.ndarray


class RecordColumns(NamedTuple):
    """The output of `read_records`."""

    query_ends: Array
    query_data: Array
    document_ends: Array
    document_data: Array
    values: Array
    counts: Array


@kernel(holds_gil=True)
def read_records(rows, row_type, fields, kinds, out):
    """Read the ids and numbers of dicts, up to the first row that Python must read."""
    out = RecordColumns(*out)
    n_rows = min(out.values.shape[0], list_size(rows))
    query_end = 0
    document_end = 0
    n_fractions = 0
    i = 0
    while i < n_rows:
        row = list_item(rows, i)
        if exact_type(row) != row_type:
            break
        value = dict_get(row, fields[NUMBER])
        if value == 0:
            break
        number, is_exact, is_whole = read_number(value, kinds)
        query_end = write_text(dict_get(row, fields[QUERY]), kinds, query_end, i, out.query_ends, out.query_data)
        document = dict_get(row, fields[DOCUMENT])
        document_end = write_text(document, kinds, document_end, i, out.document_ends, out.document_data)
        if not is_exact or query_end < 0 or document_end < 0:
            break
        out.values[i] = number
        n_fractions += not is_whole
        i += 1
    out.counts[QUERY_BYTES] = query_end
    out.counts[DOCUMENT_BYTES] = document_end
    out.counts[N_FRACTIONS] = n_fractions
    out.counts[N_ROWS] = i


@inline
def write_text(text, kinds, end, i, out_ends, out_data):
    """Append a text of row i to the bytes, and return their end, or -1 for an object that is no text."""
    if text == 0 or exact_type(text) != kinds[TEXT]:
        return -1
    start, size = to_utf8(text)
    if start == 0:
        return -1
    if end + size <= out_data.shape[0]:
        copy_bytes(start, size, out_data, end)
    out_ends[i] = end + size
    return end + size

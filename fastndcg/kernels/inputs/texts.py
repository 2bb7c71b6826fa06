"""
A list of texts into UTF-8 bytes, one text after the other.

The kernel holds the interpreter's lock. See python_objects.py for the functions of Python's C API that it calls.

texts        address of a list
kinds        (5,)        int64, see dicts.py
out.ends     (n_texts,)  int64, the end of each text among the bytes of all texts
out.data     (n_bytes,)  uint8, the texts, as far as they fit
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.inputs.dicts import TEXT
from fastndcg.kernels.inputs.python_objects import copy_bytes, exact_type, list_item, list_size, to_utf8
from fastndcg.kernels.jit import kernel

NO_TEXT = -1


class Texts(NamedTuple):
    """The output of `read_texts`."""

    ends: np.ndarray
    data: np.ndarray


@kernel(holds_gil=True)
def read_texts(texts, kinds, out):
    """Read the texts of a list, and return the number of their bytes, or NO_TEXT if Python must read the list."""
    out = Texts(*out)
    n_texts = out.ends.shape[0]
    if list_size(texts) != n_texts:
        return NO_TEXT
    end = 0
    for i in range(n_texts):
        text = list_item(texts, i)
        if exact_type(text) != kinds[TEXT]:
            return NO_TEXT
        start, size = to_utf8(text)
        if start == 0:
            return NO_TEXT
        if end + size <= out.data.shape[0]:
            copy_bytes(start, size, out.data, end)
        end += size
        out.ends[i] = end
    return end

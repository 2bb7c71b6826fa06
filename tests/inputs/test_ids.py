"""Columns of ids: texts of NumPy without Python objects, and rows in any order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastndcg.inputs.ids import IdColumn

TEXTS = st.lists(st.text(st.characters(max_codepoint=200, exclude_categories=[]), max_size=20), max_size=30)


@given(texts=TEXTS, order=st.sampled_from("<>"), step=st.sampled_from([1, -2]))
def test_arrays_of_texts_are_read_as_lists_are(texts, order, step):
    """The bytes are those of Python's texts: with characters beyond ASCII, zeros inside, and in any layout."""
    array = np.array(texts, dtype=f"{order}U20")[::step]
    ours, expected = IdColumn.of(array, "ids"), IdColumn.of(array.tolist(), "ids")
    assert ours.are_texts == expected.are_texts
    assert ours.names().tolist() == expected.names().tolist()


@pytest.mark.parametrize("sizes", [range(1), range(3), range(7, 10), range(40)])
def test_rows_in_any_order(sizes):
    generator = np.random.default_rng(8)
    texts = ["".join(generator.choice(list("abcé"), size)) for size in sizes for _ in range(3)]
    rows = generator.integers(0, len(texts), 50)
    taken = IdColumn.of(texts, "ids").take(rows)
    assert taken.names().tolist() == [texts[row] for row in rows]
    assert len(taken.text_bytes()[0]) == sum(len(texts[row].encode()) for row in rows)

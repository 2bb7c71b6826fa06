"""Columns of ids: texts of NumPy without Python objects, and rows in any order."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastndcg.inputs import ids
from fastndcg.inputs.duplicates import _find_best
from fastndcg.inputs.ids import IdColumn, IdIndex

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


@given(texts=TEXTS, rows=st.lists(st.integers(0, 29), max_size=50), kind=st.sampled_from([str, len]))
def test_threads_change_nothing(texts, rows, kind):
    """Rows of ids, their numbers, and their groups are the same if each span of three rows is a thread's."""
    column = IdColumn.of(list(map(kind, texts)), "ids")
    rows = np.array([row % len(texts) for row in rows if texts], "i8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids, "SPAN", 3)
        taken = [column.take(rows, threads).names().tolist() for threads in (1, 2)]
        numbered = [[a.tolist() for a in column.factorize(rows, threads)] for threads in (1, 2)]
        grouped = [[None if a is None else a.tolist() for a in ids.group(column, threads)] for threads in (1, 2)]
    assert taken[0] == taken[1] == [column.names().tolist()[row] for row in rows]
    assert numbered[0] == numbered[1]
    assert grouped[0] == grouped[1]


@given(texts=TEXTS, others=TEXTS, numbers=st.booleans())
def test_ids_are_found_as_in_a_dict(texts, others, numbers):
    """The row of each id among other ids, texts of any bytes or numbers, is that of Python's dict."""
    others = list(dict.fromkeys(others))
    if numbers:
        texts, others = list(map(len, texts)), list(dict.fromkeys(map(len, others)))
    rows = {other: row for row, other in enumerate(others)}
    if texts and others:
        found = IdIndex(IdColumn.of(others, "others")).find(IdColumn.of(texts, "ids"))
        assert found.tolist() == [rows.get(text, -1) for text in texts]


@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=9), data=st.data())
def test_first_rows_of_documents_of_a_query(sizes, data):
    """Each row's first row with the same document is that of a loop over its query, whatever other queries have."""
    documents = [data.draw(st.sampled_from("abcdé")) for _ in range(sum(sizes))]
    offsets = np.cumsum([0, *sizes])
    first, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(sizes))] * 2)))
    expected = [
        begin + documents[begin:end].index(documents[row])
        for begin, end in pairwise(offsets[first : stop + 1].tolist())
        for row in range(begin, end)
    ]
    assert IdColumn.of(documents, "documents").find_firsts(offsets, first, stop).tolist() == expected


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.5, 1.0, -0.0, 0.0, np.nan, -np.inf])), min_size=1))
@pytest.mark.parametrize("falling", [False, True])
def test_best_row_of_each_document(rows, falling):
    """The row with the highest value is kept, NaN being the lowest, and of equal ones the one with the lowest place."""
    codes = np.unique([code for code, _ in rows], return_inverse=True)[1]
    places = np.arange(len(rows))[:: -1 if falling else 1].copy()
    best = {}
    for row in np.argsort(places):
        value = rows[row][1]
        other = rows[best[codes[row]]][1] if codes[row] in best else None
        if other is None or value > other or (np.isnan(other) and not np.isnan(value)):
            best[codes[row]] = row
    found = _find_best(codes, len(best), np.array([value for _, value in rows]), places)
    assert found.tolist() == sorted(best.values())

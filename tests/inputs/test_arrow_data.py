"""Invalid Arrow data raise an error that names the column, before a kernel follows an offset."""

import io

import numpy as np
import pytest

import fastndcg as fn

pa = pytest.importorskip("pyarrow")
ipc = pytest.importorskip("pyarrow.ipc")

FAR = 200_000
TEXTS = ["aaaa", "bbbb", "cccc"]
LISTS = [[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]]
WORDS = {"string": "i4", "large_string": "i8"}


def damaged(table, old, new):
    file = io.BytesIO()
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    content = file.getvalue()
    assert content.count(old) == 1
    return ipc.open_file(pa.py_buffer(content.replace(old, new))).read_all()


def damaged_column(array, old, new):
    return damaged(pa.table({"column": array}), old, new)["column"]


def rows(**columns):
    return pa.table(
        {"query": TEXTS, "document": ["x", "y", "z"], "label": [1, 0, 1], "score": [0.5, 1.0, 2.0]} | columns
    )


def refused(call, message):
    with pytest.raises(fn.InvalidInputError, match=f"must hold valid Arrow data, but does not: .*{message}.*. Write"):
        call()


@pytest.mark.parametrize("kind", WORDS)
def test_offsets_of_texts(kind):
    good, *all_bad = (
        np.array(places, WORDS[kind]).tobytes()
        for places in ([0, 4, 8, 12], [0, FAR, 8, 12], [0, 100, 8, 12], [0, -(10**8), 8, 12], [0, -5, 8, 12],
                       [0, 7, 4, 12], [4, 2, 8, 12], [5, 4, 8, 12])
    )  # fmt: skip
    for bad in all_bad:
        column = damaged_column(pa.array(TEXTS, getattr(pa, kind)()), good, bad)
        for role in ("query", "document"):
            table = rows(**{role: column})
            refused(lambda table=table: fn.evaluate(table, metrics="rr"), "ffset")
            batch = pa.record_batch({name: table[name].chunk(0) for name in table.column_names})
            refused(lambda batch=batch: fn.evaluate(batch, metrics="rr"), "ffset")
            refused(lambda table=table: fn.Run.from_frame(table), "ffset")


def test_offsets_beyond_the_data():
    good, *all_bad = (np.array(places, "i4").tobytes() for places in
                      ([0, 4, 8, 12], [0, 4, 8, 130], [0, FAR, FAR + 4, FAR + 8], [-4, 0, 4, 8]))  # fmt: skip
    for bad in all_bad:
        table = damaged(rows(), good, bad)
        refused(lambda table=table: fn.evaluate(table, metrics="rr"), "ffset")


def test_texts_that_are_not_utf8():
    column = damaged_column(pa.array(TEXTS), b"aaaabbbbcccc", b"aaaabb\xff\xfecccc")
    with pytest.raises(fn.InvalidInputError, match=r"Invalid UTF8 sequence at string index 1\. Write the"):
        fn.evaluate(rows(query=column), metrics="rr")
    sliced = pa.table({"query": pa.array(["é", "ü", "a"]).slice(1), "label": [1, 0], "score": [0.5, 0.25]})
    assert fn.evaluate(sliced, metrics="rr").query_ids.tolist() == ["ü", "a"]


def test_views_of_texts():
    texts = ["a text that is longer", "another that is too", "short"]
    column = pa.array(texts, pa.string_view())
    assert fn.evaluate(rows(query=column), metrics="rr").query_ids.tolist() == texts
    views = np.frombuffer(column.buffers()[1], "i4", 12).copy()
    bad = views.copy()
    bad[7] = 10**8
    refused(lambda: fn.evaluate(rows(query=damaged_column(column, views.tobytes(), bad.tobytes())), metrics="rr"), "")


@pytest.mark.parametrize("index", [9, -7, 127])
def test_indices_of_categories(index):
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, index], pa.int8()), pa.array(["a", "b"]), safe=False)
    refused(lambda: fn.evaluate(rows(query=column), metrics="rr"), "out of bounds")


def test_offsets_of_categories():
    good, bad = (np.array(places, "i4").tobytes() for places in ([0, 4, 8, 12], [0, FAR, 8, 12]))
    column = damaged_column(pa.array(TEXTS).dictionary_encode(), good, bad)
    refused(lambda: fn.evaluate(rows(query=column), metrics="rr"), "")


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
@pytest.mark.parametrize("offsets", [[0, 5, 3, 6], [0, -1, 3, 6], [0, FAR, 3, 6], [4, 2, 3, 6]], ids=str)
def test_offsets_of_lists(kind, offsets):
    word = "i4" if kind is pa.list_ else "i8"
    good, bad = (np.array(places, word).tobytes() for places in ([0, 2, 3, 6], offsets))
    labels, scores = pa.array([[1, 0], [1], [0, 1, 1]], kind(pa.int64())), pa.array(LISTS, kind(pa.float64()))
    bad_labels, bad_scores = damaged_column(labels, good, bad), damaged_column(scores, good, bad)
    message = "Offset invariant failure"
    refused(lambda: fn.evaluate(pa.table({"label": labels, "score": bad_scores}), metrics="rr"), message)
    refused(lambda: fn.evaluate(labels, bad_scores, "rr"), message)
    refused(lambda: fn.evaluate(bad_labels, scores, "rr"), message)
    items = pa.array([[1, 0], [1], [0, 1, 2]], kind(pa.int64()))
    bad_items = damaged_column(items, good, bad)
    refused(lambda: fn.Interactions(bad_items), message)
    refused(lambda: fn.evaluate(fn.Interactions(items), bad_items, "rr"), message)


@pytest.mark.parametrize(
    ("good", "bad"), [([3, 1, 2], [3, 1, 4]), ([0, 3, 4], [0, -3, 4]), ([3, 1, 2], [3, -1, 2])], ids=str
)
def test_views_of_lists(good, bad):
    views = pa.array([[1, 2, 3], [4], [5, 6]], pa.list_view(pa.float64()))
    column = damaged_column(views, *(np.array(places, "i4").tobytes() for places in (good, bad)))
    labels = pa.array([[1, 0, 1], [1], [0, 1]])
    fn.evaluate(labels, views, "rr")
    refused(lambda: fn.evaluate(pa.table({"label": labels, "score": column}), metrics="rr"), "")
    refused(lambda: fn.evaluate(labels, column, "rr"), "")


def test_offsets_of_texts_in_lists():
    good, bad = (
        np.array(places, "i4").tobytes() for places in ([0, 4, 8, 12, 16, 20, 24], [0, FAR, 8, 12, 16, 20, 24])
    )
    ids = pa.array([["aaaa", "bbbb"], ["cccc"], ["dddd", "eeee", "ffff"]])
    table = pa.table({"label": [[1, 0], [1], [0, 1, 1]], "score": LISTS, "document": damaged_column(ids, good, bad)})
    refused(lambda: fn.evaluate(table, metrics="rr"), "Offset invariant failure")


@pytest.mark.parametrize("kind", ["i4", "i8", "f4"])
def test_numbers_that_lack_bytes(kind):
    numbers = pa.array(np.arange(300, dtype=kind))
    size = 300 * numbers.type.bit_width // 8
    table = pa.table({"label": numbers})
    lengths = [np.array([place, size], "i8").tobytes() for place in range(0, 4096, 8)]
    file = io.BytesIO()
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    old = next(length for length in lengths if file.getvalue().count(length) == 1)
    cut = damaged(table, old, old[:8] + np.array([64], "i8").tobytes())
    frame = cut.append_column("score", numbers).append_column("query", pa.array(np.arange(300)))
    refused(lambda: fn.evaluate(frame, metrics="rr"), "too small")


def test_arrow_data_of_every_valid_kind():
    expected = fn.evaluate(rows(), metrics="rr,num_ret").to_dict()
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        padded = pa.array(["é", *TEXTS, "z"]).cast(kind).slice(1, 3)
        chunked = pa.chunked_array([padded.slice(0, 1), padded.slice(1, 0), padded.slice(1)])
        for column in (padded, chunked):
            assert fn.evaluate(rows(query=column, other=[None, 1, 2]), metrics="rr,num_ret").to_dict() == expected

"""Rows of blocks: blocks in any order, buffers of any size, and the shortest lines."""

import gzip
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

import fastndcg as fn
from fastndcg.inputs import text_lines
from fastndcg.inputs.text_lines import BlockOrder, Documents

TEXTS = st.lists(st.lists(st.binary(max_size=3), max_size=4), min_size=1, max_size=5)


@examples(200)
@given(blocks=TEXTS, data=st.data(), size=st.sampled_from([1, 20, 1000]), known=st.booleans())
def test_blocks_in_any_order(blocks, data, size, known):
    """Each id and value is at the place of its block and row, for every order of blocks and every buffer size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_lines, "BUFFER_BYTES", size)
        gathered = BlockOrder(1, size if known else None)
        for number in data.draw(st.permutations(range(len(blocks)))):
            ids = blocks[number]
            rows = Documents(
                np.frombuffer(b"".join(ids), "u1").copy(),
                np.cumsum([len(one) for one in ids], dtype="i8"),
                np.array([10.0 * number + place for place in range(len(ids))]),
            )
            gathered.add(number, sum(len(one) + 2 for one in ids), rows)
            for array in rows:  # the reader's own memory is used again
                array[:] = 7
        documents, values = gathered.collect()
    assert [name.encode(errors="surrogateescape") for name in _names(documents)] == list(itertools.chain(*blocks))
    assert values.tolist() == [10.0 * n + place for n, ids in enumerate(blocks) for place in range(len(ids))]


def _names(column):
    offsets, data = column.ids.offsets, column.ids.data
    return [bytes(data[i:j]).decode(errors="surrogateescape") for i, j in itertools.pairwise(offsets.tolist())]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_shortest_lines(tmp_path, pack):
    """A plain or packed file with one digit per line is read completely."""
    n = 1_200_000  # more than a block of text
    scores, labels = tmp_path / "scores", tmp_path / "labels"
    text = np.full(2 * n, ord("\n"), "u1")
    text[::2] = ord("0") + np.arange(n) % 10
    scores.write_bytes(pack(text.tobytes()))
    labels.write_bytes(b"1 qid:1\n" * n)
    result = fn.evaluate(labels, scores, "num_ret,p@1")
    assert result.values.tolist() == [[n, 1.0]]


def test_memory_for_many_sheets(tmp_path, monkeypatch):
    """A packed file, whose length is unknown, gives equal rows for large and small buffers."""
    text = "".join(f"q{n // 7} Q0 d{n} 1 {n / 8} name\n" for n in range(20_000)).encode()
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text))
    expected = fn.read_run(tmp_path / "plain")
    for size in (1 << 26, 1000):
        monkeypatch.setattr(text_lines, "BUFFER_BYTES", size)
        run = fn.read_run(tmp_path / "packed")
        assert run.documents.names().tolist() == expected.documents.names().tolist()
        np.testing.assert_array_equal(run.values, expected.values)
        np.testing.assert_array_equal(run.offsets, expected.offsets)

"""Lines of runs that a kernel writes: those that Python would write, to the byte."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import examples

import fastndcg as fn
from fastndcg.inputs import writers
from fastndcg.kernels.lookup import load_kernels

POWERS = [float(f"1e{power}") for power in range(-9, 16)]
HARD = [
    0.0, -0.0, 0.1, 0.3, -1.5e-5, 5e-324, 2.0**-24, 2.0**-30, 1e15, 123456.0, 1e-10, 9007199254740993.0,
    9999999999999998.0, 1.2345678901234567e-10, 1 / 3, 100.0,
    *POWERS, *np.nextafter(POWERS, 0.0).tolist(), *np.nextafter(POWERS, np.inf).tolist(),
    *(2.0 ** np.arange(-33, 53)).tolist(), *np.nextafter(2.0 ** np.arange(-33, 53), 0.0).tolist(),
]  # fmt: skip


def list_lines(run, tag):
    """Return the lines of a run by Python alone."""
    values = {query: sorted(rows.items(), key=lambda item: -item[1]) for query, rows in run.to_dict().items()}
    return "".join(
        f"{query} Q0 {document} {rank} {score!r} {tag}\n"
        for query, rows in values.items()
        for rank, (document, score) in enumerate(rows, 1)
    )


def test_kernel_writes_scores_as_repr():
    """The shortest digits that are read back, with a point or an exponent as in Python."""
    for score in (score for score in HARD if score == 0 or abs(score) >= 1e-10):
        run = fn.Run(["q"], ["d"], np.array([score]))
        assert writers.are_written_by_kernel(run.values)
        assert run.to_trec() == f"q Q0 d 1 {score!r} fastndcg\n"


@examples(300)
@given(st.lists(st.floats(1e-10, 1e16, exclude_max=True) | st.floats(-1e6, 1e6), min_size=1, max_size=30))
@example([2.0**-24, 0.1 + 0.2])
def test_kernel_writes_random_scores_as_repr(scores):
    """Random scores of any size, also with the fallback to Python."""
    run = fn.Run(["q"] * len(scores), [f"d{i}" for i in range(len(scores))], np.array(scores))
    assert run.to_trec(tag="system") == list_lines(run, "system")


def test_kernel_is_left_out_for_scores_that_it_lacks():
    """Tiny, huge and infinite scores and NaN are written by Python."""
    for scores in ([1e-11], [1e16], [np.inf], [np.nan]):
        run = fn.Run(["q"], ["d"], np.asarray(scores))
        assert not writers.are_written_by_kernel(run.values)
        assert run.to_trec() == f"q Q0 d 1 {run.values.tolist()[0]!r} fastndcg\n"


def test_lines_are_written_in_pieces(monkeypatch):
    """Ids of any length, numbers as ids, several queries, ties, and room for a few lines at a time."""
    random = np.random.default_rng(0)
    queries = np.repeat([7, 12345678901, 3], [40, 1, 25])
    documents = random.permutation(66)
    run = fn.Run(queries, documents, np.round(random.random(66), 1))
    expected = run.to_trec()
    assert expected == list_lines(run, "fastndcg")
    for piece in (1, 200, 1000):
        monkeypatch.setattr(writers, "PIECE", piece)
        assert run.to_trec() == expected
    for block in (1, 7, 40, 41):
        monkeypatch.setattr(writers, "BLOCK", block)
        assert run.to_trec() == expected
    texts = fn.Run(["é" * 300, "b", "b"], ["x", "長い" * 500, "y"], [0.5, 0.25, 0.75])
    assert texts.to_trec() == list_lines(texts, "fastndcg")


def test_kernel_stops_where_there_is_no_room():
    """No line is written in part: the rest is written by the next call."""
    run = fn.Run(["q"] * 3, ["a", "b", "c"], [0.75, 0.5, 0.25])
    kernels = load_kernels("inputs.run_lines")
    out = np.zeros(2 + len("tag") + kernels.SEPARATORS, "u1")
    place = np.array([0, 0, 3])
    tag = writers.read_only(np.frombuffer(b"tag", "u1"))
    words = writers.read_only(run.values.view("u8"))
    arguments = (run.queries.ids, run.documents.ids, writers.read_only(np.arange(3)), run.offsets, words, tag)
    lines = []
    while place[1] < 3:
        size = kernels.write_run_lines(*arguments, place, out)
        lines.append(out[:size].tobytes())
    assert len(lines) > 1
    assert b"".join(lines) == b"q Q0 a 1 0.75 tag\nq Q0 b 2 0.5 tag\nq Q0 c 3 0.25 tag\n"

"""Dicts whose size and content disagree: an evaluation gives consistent values or raises an error."""

import threading
from collections.abc import Mapping
from unittest.mock import patch

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.compat import pytrec_eval
from fastndcg.inputs import table

QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1}}
RUN = {"q1": {"d1": 2.0, "d2": 3.0}, "q2": {"d1": 1.0}}
METRICS = "map,ndcg,num_ret"
EXPECTED = fn.evaluate(QRELS, RUN, METRICS).to_dict()


class Sized(Mapping):
    def __init__(self, rows, size):
        self.rows = rows
        self.size = size

    def __len__(self):
        return self.size

    def __iter__(self):
        return iter(self.rows)

    def __getitem__(self, key):
        return self.rows[key]


class SizedDict(dict):
    size = 0

    def __len__(self):
        return self.size


class Forgetful(Sized):
    def __iter__(self):
        return iter([*self.rows, "gone"])


@pytest.mark.parametrize("size", [1, 3, 5000, 10**8])
@pytest.mark.parametrize("side", ["qrels", "run"])
def test_rows_of_another_size(size, side):
    given = {"qrels": QRELS, "run": RUN}
    given[side] = given[side] | {"q1": Sized(given[side]["q1"], size)}
    assert fn.evaluate(given["qrels"], given["run"], METRICS).to_dict() == EXPECTED


@pytest.mark.parametrize("size", [1, 3, 5000])
def test_outer_dicts_of_another_size(size):
    assert fn.evaluate(Sized(QRELS, size), Sized(RUN, size), METRICS).to_dict() == EXPECTED


@pytest.mark.parametrize("size", [0, 1, 10**8])
def test_drop_ins_read_the_content_of_dicts_of_another_size(size):
    expected = pytrec_eval.RelevanceEvaluator(QRELS, {"map", "num_ret"}).evaluate(RUN)
    row, labels = SizedDict(RUN["q1"]), SizedDict(QRELS["q1"])
    row.size = labels.size = size
    evaluator = pytrec_eval.RelevanceEvaluator(QRELS | {"q1": labels}, {"map", "num_ret"})
    assert evaluator.evaluate(RUN | {"q1": row}) == expected


def test_dict_raises_when_a_key_is_lost_while_reading():
    message = r"^`run\['q1'\]` must not change while it is read, but did: 'gone'. Pass a copy"
    with pytest.raises(fn.InvalidInputError, match=message):
        fn.evaluate(QRELS, RUN | {"q1": Forgetful(RUN["q1"], 2)}, "rr")


CHANGES = {
    "shrinks": lambda row: row.popitem(), "grows": lambda row: row.update({f"x{number}": 9.0 for number in range(7)}),
    "is cleared": lambda row: row.clear(), "is another": lambda row: (row.clear(), row.update(z=1.0)),
    "has other types": lambda row: row.update(d1=np.float32(4.0), x=3.0),
}  # fmt: skip


def changed_after_its_size_was_taken(module, row, change):
    """Return a patch that changes a row once, after its size is read and before its content is read."""
    count_offsets, changes = module.count_offsets, [change]

    def offsets(rows):
        found = count_offsets(rows)
        if changes:
            changes.pop()(row)
        return found

    return patch.object(module, "count_offsets", offsets)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_dict_row_changed_while_reading_gives_new_values(change, place):
    rows = {f"q{number}": {f"d{number}{place}": float(place) for place in range(3)} for number in range(3)}
    qrels = {f"q{number}": {f"d{number}2": 1, f"d{number}1": 2} for number in range(3)}
    with changed_after_its_size_was_taken(table, rows[f"q{place}"], CHANGES[change]):
        run = fn.Run.from_dict(rows)
    result, expected = (fn.evaluate(qrels, given, METRICS).to_dict() for given in (run, rows))
    assert result == expected


@pytest.mark.parametrize("change", [name for name in CHANGES if name != "has other types"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_drop_ins_read_a_row_that_changes(change, place):
    rows = {f"q{number}": {f"d{number}{place}": float(place) for place in range(3)} for number in range(3)}
    qrels = {f"q{number}": {f"d{number}2": 1, f"d{number}1": 2} for number in range(3)}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg", "num_ret"})
    with changed_after_its_size_was_taken(table, rows[f"q{place}"], CHANGES[change]):
        found = evaluator.evaluate(rows)
    assert found == evaluator.evaluate(rows)


@pytest.mark.parametrize("way", ["evaluate", "drop-in"])
def test_dicts_that_threads_change(way):
    """Each value is between 0 and 1, or the call raises an error, while two threads write to the run."""
    documents = [f"d{number}" for number in range(30)]
    qrels = {f"q{number}": dict.fromkeys(documents[::2], 1) for number in range(50)}
    run = {query: dict.fromkeys(documents, 0.5) for query in qrels}
    evaluator, is_over = pytrec_eval.RelevanceEvaluator(qrels, {"map"}), threading.Event()

    def write(seed):
        random = np.random.default_rng(seed)
        while not is_over.is_set():
            query, row = f"q{random.integers(50)}", dict.fromkeys(documents[: random.integers(30)], random.random())
            if random.random() < 0.1:
                run[query] = row
            elif random.random() < 0.1:
                run.pop(query, None)
            else:
                known = run.get(query, {})
                known.clear()
                known.update(row)

    writers = [threading.Thread(target=write, args=(seed,)) for seed in range(2)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(40):
            try:
                if way == "evaluate":
                    values = fn.evaluate(qrels, run, "map").values
                else:
                    values = np.array([row["map"] for row in evaluator.evaluate(run).values()])
            except fn.InvalidInputError:
                continue
            assert ((values >= 0) & (values <= 1)).all()
    finally:
        is_over.set()
        for writer in writers:
            writer.join()

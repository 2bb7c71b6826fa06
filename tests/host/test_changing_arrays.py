"""Arrays and dicts that change between passes give consistent values within their bounds, or an error that says so."""

import threading
from collections.abc import Mapping
from unittest.mock import patch

import numpy as np
import pytest
from refusals import refused

import fastndcg as fn
from fastndcg.compat import pytrec_eval
from fastndcg.inputs import table
from fastndcg.kernels.metrics import gains, judgments, subtopics
from fastndcg.kernels.ranking import candidates
from fastndcg.kernels.shared import MAX_RANK

CHANGED = "must not change during an evaluation"


def hits(*columns):
    return [np.array(column, "i4") for column in columns]


@pytest.mark.parametrize(("queries", "above", "tied", "are_right"), [
    ([], [], [], True), ([0, 0, 1], [0, 2, 0], [1, 1, 1], True), ([0, 0, 0], [0, 0, 2], [2, 2, 1], True),
    ([0, 0, 1, 1], [3, 3, 3, 3], [2, 2, 3, 3], True), ([0, 0], [1, 0], [1, 1], False), ([0, 0], [1, 1], [1, 1], False),
    ([0, 0], [0, 1], [2, 1], False), ([0, 0, 0], [4, 4, 4], [2, 2, 2], False), ([0, 0], [4, 4], [2, 3], False),
    ([0], [0], [0], False), ([0, 1], [0, 0], [1, 0], False),
])  # fmt: skip
def test_ranks_that_contradict_one_another_are_found(queries, above, tied, are_right):
    assert candidates.has_valid_tie_order(*hits(queries, above, tied)) == are_right


def test_ranks_are_checked_across_blocks():
    """A tie group with too many hits is found if the group spans two blocks of sixty-four hits."""
    queries, above, tied = hits(np.zeros(100), np.full(100, 7), np.full(100, 100))
    assert candidates.has_valid_tie_order(queries, above, tied)
    assert not candidates.has_valid_tie_order(queries, above, tied - 1)


def test_order_by_keys_stays_within_a_query_whose_scores_became_nan():
    documents, above, tied = hits([0, 1], [0, 0], [2, 2])
    scores, keys = np.full(4, np.nan), np.arange(4)
    columns = (documents, np.array([2.0, 1.0]), above, tied, np.zeros(2, "i4"), np.array([0, 2]))
    out = (*columns, np.empty(4, "i8"), np.empty(0, "u8"))
    candidates.order_by_key(scores, keys, np.array([0, 4]), 0, MAX_RANK, np.inf, out)
    assert not candidates.has_valid_tie_order(np.zeros(2, "i4"), above, tied)


def test_bpref_of_fewer_judged_than_relevant_documents():
    """The metric bpref counts 1 for each relevant document if fewer documents are judged than relevant."""
    out = np.zeros(1)
    queries, above, tied = hits([0, 0], [0, 1], [1, 1])
    judgments.binary_preference(queries, above, tied, np.ones(2), 1.0, np.array([2.0]), np.array([0.0]), out)
    assert out[0] == 1.0


def test_infap_of_views_with_fewer_hits():
    """The metric infAP is between 0 and 1 if some views of the hits hold fewer hits than others."""
    queries, above, tied = hits([0, 0, 0], [0, 1, 1], [1, 2, 2])
    fewer, few_ties = hits([0, 1], [1, 2])
    out = np.zeros(1)
    judgments.inferred_average_precision(
        queries, above, tied, np.ones(3), fewer, few_ties, fewer, few_ties, 1.0, np.array([3.0]), out
    )
    assert 0 <= out[0] <= 1


def test_gains_above_those_of_the_pool():
    (above,) = hits([0, 1])
    offsets, discounts, out = np.array([0, 2]), np.ones(5), np.zeros(1)
    gains.normalised_gain(above, np.array([9.0, 9.0]), offsets, np.ones(1), np.array([0, 1]), discounts, out)
    assert np.isfinite(out[0])


def test_labels_outside_their_table_have_no_gain_and_no_subtopic():
    out = np.empty(5)
    gains.table_gains(np.array([np.nan, -1e9, 1e9, np.inf, 2.0]), np.array([0.0, 1.0, 5.0]), -np.inf, out)
    assert out.tolist() == [0, 0, 0, 0, 5]
    offsets, patterns, out = np.array([0, 0, 1]), np.array([0], "i4"), np.empty(1)
    subtopics.count_subtopics(np.array([1e9, np.nan, -7.0, 1.0]), np.array([0, 4]), offsets, patterns, 1, out)
    assert out[0] == 1


def test_changed_array_raises_when_the_bad_value_is_gone():
    with pytest.raises(fn.InvalidInputError, match=f"`scores` {CHANGED}"):
        fn.Rankings([1, 0], [0.5, 0.1], [0, 2]).refuse("scores", np.zeros(2, bool), "not be NaN: replace it")


@pytest.mark.parametrize(("labels", "offsets", "change"), [
    ([1, 0, -1, 2] * 50, [0, 200], lambda labels: np.where(np.arange(200) < 100, -1, labels)),
    ([1, -1, -1, 2, 1, 0, 0, 2], [0, 4, 8], lambda labels: np.roll(labels, 4)),  # as many of another query
])  # fmt: skip
def test_evaluator_refuses_labels_that_remove_other_documents(labels, offsets, change):
    labels, scores = np.array(labels), np.arange(float(len(labels)))
    evaluator = fn.Evaluator(labels, "ndcg", offsets=offsets, convention="default(negative_labels=removed)")
    evaluator.evaluate(scores)
    labels[:] = change(labels)
    refused(f"`labels` {CHANGED}", evaluator.evaluate, scores)


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
    refused(message, lambda: fn.evaluate(QRELS, RUN | {"q1": Forgetful(RUN["q1"], 2)}, "rr"))


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
@pytest.mark.parametrize("way", ["Run", "drop-in"])
def test_dict_row_changed_while_reading_gives_new_values(way, place, change):
    rows = {f"q{number}": {f"d{number}{place}": float(place) for place in range(3)} for number in range(3)}
    qrels = {f"q{number}": {f"d{number}2": 1, f"d{number}1": 2} for number in range(3)}
    drop_in = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg", "num_ret"})
    ways = {"Run": lambda run: fn.evaluate(qrels, fn.Run(run), METRICS).to_dict(), "drop-in": drop_in.evaluate}
    evaluate = ways[way]
    with changed_after_its_size_was_taken(table, rows[f"q{place}"], CHANGES[change]):
        found = evaluate(rows)
    assert found == evaluate(rows)


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

"""Recommended items and found neighbours against liked items: every form gives the values of dicts, or an error."""

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refuses
from strategies import examples

import fastndcg as fn
from fastndcg import partitions
from fastndcg.engine import run as engine
from fastndcg.kernels.inputs.items import are_rising
from fastndcg.metrics.families import records_of
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import parse_convention
from fastndcg.rankings.compact import RankedLists
from fastndcg.rankings.validation import read_only
from fastndcg.recommenders import interactions as items

sparse, pa = pytest.importorskip("scipy.sparse"), pytest.importorskip("pyarrow")
METRICS = "ndcg,ndcg@2,recall@2,p@3,map,rr,num_ret"
LIKED = [{3: 1, 0: 4}, {}, {5: 2, 1: 1, 2: 0}, {4: 3}]
RECOMMENDED = [[0, 5, 3], [1, 2], [2, 4, 5, 1], []]


def expected(liked=LIKED, recommended=RECOMMENDED, convention="default"):
    """Return each user's values from dicts, or None for a user that the dicts lack."""
    qrels = {user: row for user, row in enumerate(liked) if row}
    run = {user: {item: -place for place, item in enumerate(row)} for user, row in enumerate(recommended) if row}
    rows = fn.evaluate(qrels, run, METRICS, convention=convention).to_dict() if qrels.keys() & run.keys() else {}
    return [list(rows[user].values()) if user in rows else None for user in range(len(liked))]


def padded(recommended, dtype="i8", width=None):
    array = np.full((len(recommended), width or max(map(len, recommended))), -1, dtype)
    for row, found in zip(array, recommended, strict=True):
        row[: len(found)] = found
    return array


def flat(liked):
    offsets = np.cumsum([0, *map(len, liked)])
    return [item for row in liked for item in row], [label for row in liked for label in row.values()], offsets


def frame(users, items):
    return pa.table({"user": users, "item": items, "label": [1] * len(users)})


def matrix(liked, n_items=9):
    users = np.repeat(np.arange(len(liked)), list(map(len, liked)))
    found, labels, _ = flat(liked)
    return sparse.csr_matrix((labels, (users, found)), shape=(len(liked), n_items))


def rows_of(names, rows):
    """Return rows as a table, in the reverse order."""
    return pa.table(dict(zip(names, map(list, zip(*reversed(rows), strict=True)), strict=True)))


LABELLED = [(user, item, label) for user, row in enumerate(LIKED) for item, label in row.items()]
PLACED = [(user, item, -place) for user, row in enumerate(RECOMMENDED) for place, item in enumerate(row)]
LISTS = [pa.array(rows, pa.list_(pa.int64())) for rows in (map(list, LIKED), [list(row.values()) for row in LIKED])]
TABLE = rows_of(("customer", "item", "weight"), PLACED)
TRUTHS = {
    "csr": matrix(LIKED), "csc": matrix(LIKED).tocsc(), "coo array": sparse.coo_array(matrix(LIKED)),
    "offsets": fn.Interactions(*flat(LIKED)), "frame": rows_of(("user", "item", "rating"), LABELLED),
    "ragged": fn.Interactions(*LISTS),
}  # fmt: skip
RECOMMENDATIONS = {
    "padded": padded(RECOMMENDED), "int32": padded(RECOMMENDED, "i4", 7),
    "wrapped": fn.Recommendations(padded(RECOMMENDED)),
    "int8 in Fortran's order": np.asfortranarray(padded(RECOMMENDED, "i1")),
    "masked": np.ma.masked_less(padded(RECOMMENDED), 0), "lists": padded(RECOMMENDED).tolist(),
    "ragged": pa.array(RECOMMENDED, pa.list_(pa.int32())),
    "table": fn.Recommendations(TABLE, columns={"query": "customer", "score": "weight"}),
    "dict": fn.Recommendations(dict(enumerate(RECOMMENDED[:3]))),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("form", RECOMMENDATIONS)
def test_recommendations_in_every_form(name, form):
    truth, recommended = TRUTHS[name], RECOMMENDATIONS[form]
    if name == "frame" and form == "lists":  # lists next to a frame must be wrapped
        recommended = fn.Recommendations(recommended)
    for call in (fn.evaluate, fn.reference.evaluate):
        result = call(truth, recommended, METRICS)
        for row, wanted in zip(result.values, expected(), strict=True):
            assert wanted is None or row.tolist() == pytest.approx(wanted, nan_ok=True, rel=1e-15)
        assert np.isnan(result["ndcg"][1])
        assert result["num_ret"].tolist() == [3, 2, 4, 0]
        assert result["recall@2"][3] == 0


POWER_OF_TWO = 1 << 14
LIKES = st.lists(st.dictionaries(st.integers(0, 30), st.integers(0, 3), max_size=9), min_size=1, max_size=6)


@examples(60)
@given(liked=LIKES, data=st.data())
def test_equals_dicts(liked, data):
    rows = st.lists(st.integers(0, 30), unique=True, max_size=12)
    recommended = data.draw(st.lists(rows, min_size=len(liked), max_size=len(liked)))
    values = fn.evaluate(matrix(liked, 31), padded(recommended, width=12), METRICS).values
    for row, wanted in zip(values, expected(liked, recommended), strict=True):
        assert wanted is None or row.tolist() == pytest.approx(wanted, nan_ok=True, rel=1e-15)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(items, "PART", 3)
        again = fn.evaluate(matrix(liked, 31), padded(recommended, width=12), METRICS, threads=2).values
    np.testing.assert_array_equal(again, values)


def test_unjudged_items_can_be_removed_and_repeated_entries_add_up():
    removed = "default(unjudged=removed)"
    result = fn.evaluate(matrix(LIKED), padded(RECOMMENDED), METRICS, convention=removed)
    assert result.values[0].tolist() == pytest.approx(expected(convention=removed)[0])
    kept = fn.evaluate(fn.Interactions([7, 5], [0, 1], [0, 2]), [[7, 3, 5]], "rr", convention=removed)
    assert kept["rr"].tolist() == [1 / 2]
    given_matrix = sparse.csr_matrix(([1, 2, 1], [4, 4, 1], [0, 3]), shape=(1, 6))
    assert fn.evaluate(given_matrix, [[4, 1]], "dcg@1")["dcg@1"].tolist() == [3]
    assert given_matrix.nnz == 3


@pytest.mark.parametrize("convention", ["replay", "trec_eval_c", "default(ties=id_ascending)"])
def test_lists_take_conventions_that_order_ties_by_id(convention):
    liked = fn.Interactions([1, 3, 0], [1, 4, 2], [0, 2, 3], n_items=4)
    lists = [[3, 2, 1], [1, 0, -1]]
    by_id = {"q0": ["3", "2", "1"], "q1": ["1", "0"]}
    qrels = {"q0": {"1": 1, "3": 4}, "q1": {"0": 2}}
    means = fn.evaluate(liked, lists, "ndcg@2, map", convention=convention).means()
    assert means == fn.evaluate(qrels, by_id, "ndcg@2, map", convention=convention).means()
    slow = fn.reference.evaluate(liked, lists, "ndcg@2, map", convention=convention)
    assert slow.means() == pytest.approx(means, rel=1e-14)
    explanation = fn.explain(liked, lists, "ndcg@2", query=0, convention=convention)
    assert explanation.value == pytest.approx(fn.evaluate(liked, lists, "ndcg@2", convention=convention)["ndcg@2"][0])


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_recommendations_of_many_users(dtype):
    n, wide = 1100, 40
    ranks = np.arange(n) % wide
    rows = np.array([np.roll(np.arange(wide), user) for user in range(n)], dtype)
    rows[::3] += wide  # only lists of other users hold the liked items
    liked = sparse.csr_matrix((np.ones(n, "f4"), (np.arange(n), np.zeros(n, int))), shape=(n, 2 * wide))
    wanted = np.where(np.arange(n) % 3 == 0, 0, 1 / (ranks + 1))
    np.testing.assert_array_equal(fn.evaluate(liked, rows, "rr")["rr"], wanted)
    for place, item, message in (
        (7, -1, "-1 behind them only, but place 7 of user 700 is -1"),
        (7, 80, "a column for, 0 to 79, but place 7 of user 700 is 80"),
        (38, int(rows[700, 9]), f"once in a row, but item {rows[700, 9]} stands again in place 38 of user 700"),
        (8, int(rows[700, 9]), f"once in a row, but item {rows[700, 9]} stands again in place 9 of user 700. Drop it"),
    ):
        wrong = rows.copy()
        wrong[700, place] = item
        wrong[700, 39] = 99  # a later wrong item
        refused(re.escape(message), fn.evaluate, liked, wrong, "rr", threads=1)


CSR = matrix(LIKED)
ROWS = padded(RECOMMENDED)
test_recommendations_raise_on_wrong_input = refuses(lambda call: call(), [
    (lambda: fn.evaluate(CSR, ROWS[:3], "rr"), "`predictions` must have one row per user, 4, but has 3"),
    (lambda: fn.evaluate(CSR, ROWS * 1.0, "rr"),
        "`predictions` must have a row per user and a column per item of the truth, (4, 9), but its shape is "
        "(4, 4). If these are item ids in rank order, cast them to int"),
    (lambda: fn.evaluate(CSR, np.array([[1, 2], [1, -2], [1, 2], [1, 2]]), "rr"),
        "`predictions` must hold items of 0 or more, and -1 behind them only, but place 1 of user 1 is -2. "
        "Pad rows with -1"),
    (lambda: fn.evaluate(matrix([{7: 1}, {3: 1, 5: np.inf}], 8), ROWS[:2], "rr"),
        "`labels` must be finite, but that of item 5 of user 1 is inf. Leave the item out, or give it the label 0"),
    (lambda: fn.evaluate(CSR, [1, 2, 3, 4], "rr"),
        "`predictions` must have one row per user, but its shape is (4,)"),
    (lambda: fn.evaluate(CSR, [[1, 9]] * 4, "rr"),
        "`predictions` must hold items that the matrix has a column for, 0 to 8, but place 1 of user 0 is 9"),
    (lambda: fn.evaluate(CSR, [[1, 2], [-1, 2], [1, 2], [1, 2]], "rr"),
        "`predictions` must hold items of 0 or more, and -1 behind them only, but place 0 of user 1 is -1. Move"),
    (lambda: fn.evaluate(frame([0, 4], [1, 2]), ROWS, "rr"),
        "`truth` must have users from 0 to 3, as `predictions` has one row per user, but one is 4"),
    (lambda: fn.evaluate(frame([0, 1], ["a", "b"]), ROWS, "rr"),
        "`truth` must have whole numbers for users and items where `predictions` is an array, but has 'a'. Number"),
    (lambda: fn.evaluate(CSR, ROWS, "rr", offsets=[0]), "`offsets` cuts arrays into queries, but `truth` has"),
    (lambda: fn.Interactions([1, 2]), "`items` must be cut into users by `offsets`, or have a row"),
    (lambda: fn.Interactions([1, -2], offsets=[0, 2]), "`items` must be 0 or more, but items[1] is -2"),
    (lambda: fn.Interactions([1, 2, 1], offsets=[0, 3]),
        "`items` must have each item of a user once, but item 1 of user 0 stands twice. Keep one of them"),
    (lambda: fn.Interactions([1], [1, 2], [0, 1]), "`labels` must have length 1 (one per item), got 2"),
    (lambda: fn.Interactions([1], [np.nan], [0, 1]), "`labels` must be finite, but that of item 1 of user 0 is"),
    (lambda: fn.Recommendations({"a": ["x"]}), "`items` must have whole numbers for users and items here, but has"),
    (lambda: fn.Recommendations({-1: [2]}), "`items` must have users from 0 up, but one is -1"),
    (lambda: fn.evaluate(CSR, fn.Recommendations({4: [2]}), "rr"),
        "`predictions` must have one row per user, 4, but has 5"),
    (lambda: fn.evaluate(CSR, fn.Recommendations({0: [2, 2]}), "rr"),
        "`predictions` must have each item once in a row, but item 2 stands again in place 1 of user 0"),
    (
        lambda: fn.Recommendations([[1]], duplicates="twice"),
        "`duplicates` must be 'raise', 'first', 'best', 'sum' or 'counted', not 'twice'",
    ),
], text="^{}")  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("label", [127, 128, 256, 300, -129, 0.5, 1e6])
def test_labels_of_any_size(label, dtype):
    labels = np.ones(9000, dtype)
    labels[-1] = label
    liked = fn.Interactions(np.arange(9000), labels, [0, 8999, 9000])
    result = fn.evaluate(liked, [[1], [8999]], "dcg@1", convention="default(negative_labels=zero)")
    assert result["dcg@1"].tolist() == [1, max(float(labels[-1]), 0)]


@examples(200)
@given(lists=st.lists(st.lists(st.integers(-1, 4), max_size=4), max_size=6), part=st.integers(1, 5))
def test_recommendations_accept_unsorted_relevant_items(lists, part):
    offsets = np.cumsum([0, *map(len, lists)])
    liked = read_only(np.array([item for one in lists for item in one], "i4"))
    labels = np.arange(len(liked))
    assert are_rising(liked, read_only(offsets), 0, len(lists)) == all(
        low < high for one in lists for low, high in pairwise([-1, *one])
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(items, "PART", part)
        if (liked < 0).any() or any(len(set(one)) < len(one) for one in lists):
            refused("`items` must ", fn.Interactions, liked, labels, offsets, threads=2)
        else:
            assert fn.Interactions(liked, labels, offsets, threads=2).labels.tolist() == labels.tolist()


def plain(liked, row, k):
    """Return reciprocal rank, and recall and DCG at k, computed with sets. A repeated item counts once."""
    seen, hits = set(), []
    for rank, item in enumerate(row, 1):
        if item in liked and item not in seen:
            hits.append((rank, liked[item]))
        seen.add(item)
    relevant = [rank for rank, label in hits if label >= 1]
    n_relevant = sum(label >= 1 for label in liked.values())
    recall = sum(rank <= k for rank in relevant) / n_relevant if n_relevant else np.nan
    rr = 1 / relevant[0] if relevant else 0
    return [rr, recall, sum(label / np.log2(rank + 1) for rank, label in hits if rank <= k)]


IDS = {
    "few": lambda rng, n: rng.permutation(n + 40)[:n],
    "any": lambda rng, n: rng.permutation(50_000)[:n],
    "low bits alike": lambda rng, n: rng.permutation(n + 40)[:n] * POWER_OF_TWO,
    "low bits mostly alike": lambda rng, n: rng.permutation(n + 40)[:n] * (POWER_OF_TWO // 2),
    "large": lambda rng, n: rng.permutation(n + 40)[:n] * 2**40 + 2**62,
}


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("width", [1, 63, 64, 65, 255, 256, 257, 300])
def test_rows_of_any_length_and_items_of_any_bits(width, ids, once):
    rng = np.random.default_rng(width)
    sizes = [0, 1, width, width // 2, width, *rng.integers(0, width + 1, 7).tolist()]
    rows, liked = [], []
    for size in sizes:
        known = IDS[ids](rng, size + 30)
        row, others = known[:size].tolist(), known[size:].tolist()
        again = rng.integers(0, max(size, 1), (2, size // 4 if once else 0)).tolist()
        for place, source in zip(*again, strict=True):
            row[place] = row[source]
        some = set(rng.permutation(row)[: max(size // 5, 1)].tolist() + others[:9]) if size else set(others[:3])
        rows.append(row)
        liked.append({item: int(rng.integers(0, 4)) for item in sorted(some)})
    truth = fn.Interactions(*flat(liked))
    given_rows = padded(rows, "i8", width)
    result = fn.evaluate(truth, fn.Recommendations(given_rows, duplicates="first" if once else None), "rr,R@20,dcg@20")
    for values, own, row in zip(result.values.tolist(), liked, rows, strict=True):
        assert values == pytest.approx(plain(own, row, 20), rel=1e-14, nan_ok=True)
    n_again = sum(len(row) - len(set(row)) for row in rows)
    assert bool(result.notes) == (n_again > 0)
    assert all(f"ranks left empty: {n_again}" in note for note in result.notes)
    if width > 1 and not once:
        given_rows[4] = IDS[ids](rng, width)
        given_rows[4, -1] = given_rows[4, 0]
        refused(f"item {given_rows[4, 0]} stands again in place {width - 1} of", fn.evaluate, truth, given_rows, "rr")


@pytest.mark.parametrize("name", ["default", "default(unjudged=removed)", "default(pool=retrieved)", "recommenders"])
def test_recommendation_metrics_equal_metrics_of_full_labels(name):
    liked = [{3: 1, 0: 4}, {}, {5: 2, 1: 1, 2: 0}, {4: 3}, {1: 1, 2: 1}]
    given = items.match_recommendations(fn.Interactions(*flat(liked)), padded([*RECOMMENDED, [2, 0, 1]]))
    made, convention = given.new_builder()(0, 5), parse_convention(name)
    dense = given.whole()
    assert isinstance(made, RankedLists)
    assert not isinstance(dense, RankedLists)
    assert dense.labels.tolist() == [4, 0, 1, 0, 0, 0, 0, 2, 1, 1, 0, 1]
    assert dense.judged.tolist() == [True, False, True, False, False, True, False, True, True, True, False, True]
    assert dense.scores.tolist() == [0, -1, -2, 0, -1, 0, -1, -2, -3, 0, -1, -2]
    for record in records_of("evaluate"):
        for k in (None, 2) if record.has_cutoff else (None,):
            metric = Metric(record.name, k)
            try:
                wanted = engine.run(dense, (metric,), convention).values
            except fn.FastndcgError as error:
                refused(re.escape(str(error)), engine.run, made, (metric,), convention, error=type(error))
                continue
            for options in ({}, {"chunk_documents": 2}):
                found = engine.run(made, (metric,), convention, **options).values
                np.testing.assert_array_equal(found, wanted, str(metric))
            np.testing.assert_array_equal(partitions.run(given, (metric,), convention).values, wanted, str(metric))


CHANGES = {
    "a bound that decreases": lambda matrix: matrix.indptr.__setitem__(1, 10**6),
    "a bound below 0": lambda matrix: matrix.indptr.__setitem__(0, -5),
    "a last bound beyond the entries": lambda matrix: matrix.indptr.__setitem__(-1, 10**8),
    "an index beyond the items": lambda matrix: matrix.indices.__setitem__(0, 10**8),
    "an index below 0": lambda matrix: matrix.indices.__setitem__(0, -(10**8)),
    "fewer numbers than indices": lambda matrix: setattr(matrix, "data", matrix.data[:2]),
    "fewer indices than bounds say": lambda matrix: setattr(matrix, "indices", matrix.indices[:2]),
    "fewer bounds than users": lambda matrix: setattr(matrix, "indptr", matrix.indptr[:2]),
}


def matrix_of(format):
    rows = np.array([[1, 0, 0, 2, 0, 1], [0, 3, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]])
    return sparse.bsr_matrix(rows, blocksize=(2, 3)) if format == "bsr" else sparse.csr_matrix(rows).asformat(format)


def test_coordinates_outside_the_shape():
    matrix = sparse.eye(5, format="coo")
    matrix.row[2] = 10**6
    refused("sparse matrix must", fn.evaluate, matrix, np.zeros((5, 1), int), "rr")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
def test_index_arrays_that_do_not_fit(format, change):
    recommended = np.array([[0, 1, 2]] * 4)
    assert fn.evaluate(matrix_of(format), recommended, "rr").values[:, 0].tolist() == [1.0, 0.5, 1.0, 0.0]
    matrix = matrix_of(format)
    CHANGES[change](matrix)
    message = r"^a sparse matrix must be valid, but this is not: .*ind.*. Build it from its entries"
    refused(message, fn.evaluate, matrix, recommended, "rr")
    refused(message, fn.beyond_accuracy, [[0, 1]], "coverage", catalogue=6, categories=matrix)


def test_interactions_of_every_form_are_the_same():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"customer": [1, 0, 0], "item": [2, 4, 7], "clicks": [3, 1, 2]})
    columns = {"query": "customer", "label": "clicks"}
    matrix = sparse.csr_array(([1, 2, 3], ([0, 0, 1], [4, 7, 2])), shape=(2, 9))
    graded = [fn.Interactions(table, columns=columns) for table in (frame, frame.to_dict("list"))]
    for liked in (*graded, fn.Interactions(matrix), fn.Interactions({1: {2: 3}, 0: {4: 1, 7: 2}})):
        assert [liked[user] for user in liked] == [{4: 1, 7: 2}, {2: 3}]
    plain = fn.Interactions([4, 7, 2], offsets=[0, 2, 3])
    for liked in (fn.Interactions(np.array([[4, 7], [2, -1]])), fn.Interactions({0: [4, 7], 1: {2}})):
        assert [liked[user] for user in liked] == [plain[user] for user in plain]
    for wrong, message in (
        (lambda: fn.Interactions(pd.DataFrame({"user": ["a"], "item": ["b"]})),
            "`items` must have whole numbers for use"),
        (lambda: fn.Interactions({0: {4}, -1: {2}}), "`items` must have users from 0 up, but one is -1"),
        (lambda: fn.Interactions(matrix, [1, 2, 3]), "`labels` and `offsets` must be left out for a matrix or a frame"),
        (lambda: fn.Interactions([1, 2]),
            "`items` must be cut into users by `offsets`, or have a row or list for each"),
    ):  # fmt: skip
        refused(f"^{message}", wrong, error=fn.FastndcgError)


NEAREST = np.array([[3, 1, 4], [2, 0, -1]])
SCORES = np.array([[0.9, 0.5, 0.5], [0.8, 0.7, -3.4e38]], "f4")
EXACT = np.array([[3, 4], [0, -1]])
OF_NEIGHBOURS = "recall@2, rr, ndcg"


@dataclass
class BatchMatches:
    """What usearch returns for several vectors. Places behind the counts hold any keys."""

    keys: np.ndarray
    distances: np.ndarray
    counts: np.ndarray

    def __len__(self):
        return len(self.keys)


PAIRS = {
    "scores and ids, as FAISS": (SCORES, NEAREST), "distances and ids, as FAISS": (-SCORES, NEAREST),
    "ids and distances, as hnswlib": (NEAREST.astype("i4"), -SCORES), "a list": [NEAREST, SCORES],
    "float64": (SCORES.astype("f8"), NEAREST),
    "usearch": BatchMatches(np.array([[3, 1, 4], [2, 0, 2]], "u8"), -SCORES, np.array([3, 2])),
}  # fmt: skip


@pytest.mark.parametrize("form", PAIRS)
def test_pairs_give_the_values_of_their_ids(form):
    """Equal scores keep the order of the row; -1 is padding."""
    found = PAIRS[form]
    expected = fn.evaluate(fn.Interactions(EXACT), fn.Recommendations(NEAREST), OF_NEIGHBOURS).values.tolist()
    assert expected[0][:2] == [0.5, 1.0]
    truths = fn.Interactions(EXACT), {0: [3, 4], 1: [0]}, EXACT, fn.Interactions((EXACT, SCORES[:, :2]))
    for truth in (*truths, (EXACT, SCORES[:, :2])):
        assert fn.evaluate(truth, found, OF_NEIGHBOURS).values.tolist() == expected
    assert fn.reference.evaluate({0: [3, 4], 1: [0]}, found, OF_NEIGHBOURS).values.tolist() == expected
    assert fn.Evaluator(truths[0], OF_NEIGHBOURS)(found).values.tolist() == expected
    settled = fn.Recommendations(found, duplicates="first")
    assert fn.evaluate(truths[0], settled, OF_NEIGHBOURS).values.tolist() == expected
    systems = {"index": found, "ids": fn.Recommendations(NEAREST)}
    assert fn.compare(truths[0], systems, "rr").rows[1].difference == 0
    assert fn.Interactions(found)[1] == {2: 1, 0: 1}


@pytest.mark.parametrize("form", PAIRS)
def test_runs_of_pairs_have_scores(form):
    """Distances are negative scores, which a note says."""
    run = fn.Run(PAIRS[form])
    rows = SCORES.tolist()
    expected = {0: {3: rows[0][0], 1: rows[0][1], 4: rows[0][2]}, 1: {2: rows[1][0], 0: rows[1][1]}}
    assert run.to_dict() == expected
    assert fn.Run(PAIRS[form], duplicates="first").to_dict() == expected
    are_distances = "distances" in form or form == "usearch"
    assert ("read as distances" in str(fn.evaluate({0: [3], 1: [0]}, run, "rr"))) == are_distances


@pytest.mark.peers
def test_a_pair_of_tensors_is_a_pair():
    torch = pytest.importorskip("torch")
    found = torch.topk(torch.tensor([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]]), 2)
    assert fn.evaluate([{2}, {0}], fn.Run(found), "rr").means() == [0.75]
    assert fn.evaluate(fn.Interactions([[2], [0]]), found, "rr").means() == [0.75]


def test_one_neighbour_a_row_has_no_direction():
    pair = np.array([[0.4], [0.2]]), NEAREST[:, :1]
    assert fn.evaluate(fn.Interactions([[3], [0]]), pair, "hit_rate@1").means() == [0.5]


BOTH = SCORES[:, :2]
REFUSED = {
    "one row that rises": ((np.array([[0.9, 0.5], [0.2, 0.7]]), NEAREST[:, :2]), r"but row 1 has \[0.2, 0.7\]"),
    "a row without an order": ((np.array([[1, 0.5, 0.7], [0.2, 0.1, 0]]), NEAREST), "rise in all, but row 0 has"),
    "NaN": ((np.array([[1, np.nan, 0.7], [0.2, 0.1, 0]]), NEAREST), r"but row 0 has \[1.0, nan, 0.7\]"),
    "shapes": ((BOTH, NEAREST), r"of one shape, \(n_queries, k\), but theirs are \(2, 3\) and \(2, 2\). Take both"),
    "a gap": ((BOTH, np.array([[-1, 3], [1, 2]])), "-1 behind them only, but place 0 of user 0 is -1"),
    "two arrays of scores": ((BOTH, BOTH), r"is a tuple of several \(2 in all\)"),
    "two arrays of ids": ((EXACT, EXACT), r"is a tuple of several \(2 in all\).* Of ids with Hamming distances give"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_pair_of_neighbours(found, message):
    for truth in (fn.Interactions(EXACT), {0: [3], 1: [0]}):
        refused(message, fn.evaluate, truth, found, "rr", error=fn.FastndcgError)


def test_labels_beside_a_pair_are_refused():
    with pytest.raises(fn.InvalidTypeError, match=r"`predictions` must be an array of scores.* fn.Recommendations"):
        fn.Evaluator([[1, 0], [0, 1]], "rr")((SCORES, NEAREST))


def test_exact_neighbours_of_a_model_are_a_truth():
    """`top` gives predictions, and `Interactions` of its items the truth for an approximate index."""
    vectors = np.random.default_rng(7).normal(size=(30, 4)).astype("f4")
    exact = fn.Embeddings(vectors[:5], vectors).top(3)
    with pytest.raises(fn.InvalidTypeError, match=r"give fn.Interactions\(truth.items\)"):
        fn.evaluate(exact, exact.items, "recall@3")
    assert fn.evaluate(fn.Interactions(exact.items), (exact.scores, exact.items), "recall@3").means() == [1.0]

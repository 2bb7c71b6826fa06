"""Score matrices against the items of users: the bits of explicit candidate lists, in every form of the arguments."""

import pickle
import re

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import fastndcg as fn
from fastndcg.engine import run as engine
from fastndcg.kernels.ranking.rank import AUTO, COUNT, SELECT, SORT
from fastndcg.metrics.metric import parse_metrics
from fastndcg.rankings.compact import CompactRankings
from fastndcg.recommenders import item_selection, models
from fastndcg.recommenders.interactions import Interactions

sparse, pa = pytest.importorskip("scipy.sparse"), pytest.importorskip("pyarrow")
METRICS = "ndcg@3,ndcg,ap,rr,p@2,recall@4,auc,bpref,num_ret,judged@3"
SHALLOW = "ndcg@10,recall@5"
LIKED = [{3: 1, 0: 4}, {}, {5: 2, 1: 1, 2: 0}, {4: 3}]
SEEN = [{1, 6}, {0, 1, 2, 3, 4, 5, 6}, set(), {0, 6}]
SCORES = np.random.default_rng(5).integers(0, 4, (4, 7)).astype("f4")


def flat(liked):
    offsets = np.cumsum([0, *map(len, liked)])
    return [item for row in liked for item in row], [label for row in liked for label in row.values()], offsets


def matrix(liked, n_items=7):
    users = np.repeat(np.arange(len(liked)), list(map(len, liked)))
    items, labels, _ = flat(liked)
    return sparse.csr_array((labels, (users, items)), shape=(len(liked), n_items))


def mask(rows, n_items=7):
    return matrix([dict.fromkeys(sorted(row), 1) for row in rows], n_items)


def list_by_hand(liked, scores, excluded=None, candidates=None, missing_truth="raise"):
    documents = []
    offsets = [0]
    pool = []
    pool_offsets = [0]
    for user, own in enumerate(liked):
        items = [
            item
            for item in range(scores.shape[1])
            if (excluded is None or item not in excluded[user]) and (candidates is None or item in candidates[user])
        ]
        documents += [(own.get(item, 0), scores[user, item], item in own, item) for item in items]
        offsets.append(len(documents))
        pool += [own[item] for item in sorted(own) if item in items or missing_truth == "unretrieved"]
        pool_offsets.append(len(pool))
    labels, values, judged, items = (
        np.array([document[field] for document in documents], dtype)
        for field, dtype in enumerate(("f8", scores.dtype, bool, "i8"))
    )
    all_labels = np.array([label for own in liked for label in own.values()])
    dtype = "i1" if (all_labels % 1 == 0).all() and (abs(all_labels) < 100).all() else "f8"
    return fn.Rankings(
        labels.astype(dtype), values, offsets, judged=judged, tie_keys=items,
        pool=(np.array(pool, dtype), pool_offsets) if missing_truth == "unretrieved" else None,
    )  # fmt: skip


def assert_same_bits(result, expected):
    np.testing.assert_array_equal(result.values, expected.values)
    assert result.values.tobytes() == expected.values.tobytes()
    assert result.n_tied == expected.n_tied


@st.composite
def score_cases(draw, labels, n_items):
    """Draw liked items of some users, scores, excluded items and candidates, the last two perhaps None."""
    n_users = draw(st.integers(1, 4))
    items = st.integers(0, n_items - 1)
    liked = draw(st.lists(st.dictionaries(items, labels, max_size=6), min_size=n_users, max_size=n_users))
    sets = st.lists(st.sets(items, max_size=n_items), min_size=n_users, max_size=n_users)
    levels = draw(st.sampled_from([2, 5, 1000]))
    scores = np.random.default_rng(draw(st.integers(0, 99))).integers(0, levels, (n_users, n_items)) - 1
    return liked, scores, draw(st.none() | sets), draw(st.none() | sets)


@pytest.mark.parametrize("ties", strategies.TIES)
@strategies.examples(25)
@given(data=st.data())
def test_values_are_those_of_explicit_candidates(ties, data):
    kind = data.draw(st.sampled_from(["binary", "graded", "float", "negative"]))
    n_items = data.draw(st.sampled_from([1, 5, 20, 64, 130]))
    liked, scores, excluded, candidates = data.draw(score_cases(strategies.LABELS[kind], n_items))
    scores = scores.astype(data.draw(st.sampled_from(["f2", "f4", "f8"])))
    if data.draw(st.booleans()):
        scores = np.asfortranarray(scores)
    missing_truth = data.draw(st.sampled_from(["skip", "unretrieved"]))
    shallow = data.draw(st.booleans())
    by_hand = list_by_hand(liked, scores, excluded, candidates, missing_truth)
    convention = data.draw(strategies.conventions(strategies.Case(by_hand, kind), ties))
    metrics = SHALLOW if shallow else METRICS
    if ties in ("best", "worst"):
        metrics = "ndcg@3,rr,auc" if not shallow else SHALLOW
    truth = fn.Interactions(*flat(liked), n_items=n_items)
    selection = {
        "exclude": None if excluded is None else list(map(sorted, excluded)),
        "candidates": None if candidates is None or not any(candidates) else list(map(sorted, candidates)),
        "missing_truth": missing_truth,
    }
    if candidates is not None and not any(candidates):
        by_hand = list_by_hand(liked, scores, excluded, None, missing_truth)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "MOST_SCORES", data.draw(st.sampled_from([1, 50, 10**6])))
        patch.setattr(models, "LEAST_PART", 1)
        try:
            expected = fn.evaluate(by_hand, metrics=metrics, convention=convention)
        except fn.InvalidInputError:  # such as a metric that needs a cutoff under the convention
            with pytest.raises(fn.InvalidInputError):
                fn.evaluate(truth, fn.Scores(scores, **selection), metrics, convention=convention)
            return
        result = fn.evaluate(truth, fn.Scores(scores, **selection), metrics, convention=convention, threads=2)
    assert_same_bits(result, expected)


@pytest.mark.parametrize("ties", strategies.TIES)
@strategies.examples(8)
@given(seed=st.integers(0, 99), missing_truth=st.sampled_from(["skip", "unretrieved"]))
def test_values_are_those_of_the_reference(ties, seed, missing_truth):
    rng = np.random.default_rng(seed)
    liked, excluded = ([dict.fromkeys(rng.permutation(9)[:3].tolist(), 1) for _ in range(3)] for _ in range(2))
    scores = rng.integers(0, 6, (3, 9)) / 2
    chosen = fn.Scores(scores, exclude=mask(excluded, 9), candidates=range(1, 9), missing_truth=missing_truth)
    arguments = (matrix(liked, 9), chosen, "ndcg@3,recall@3,auc,rr")
    convention = fn.conventions["default"].replace(ties=ties)
    result = fn.evaluate(*arguments, convention=convention)
    slow = fn.reference.evaluate(*arguments, convention=convention)
    np.testing.assert_allclose(result.values, slow.values, rtol=1e-12)
    assert result.n_tied == slow.n_tied


@pytest.mark.parametrize("strategy", [AUTO, COUNT, SELECT, SORT])
@pytest.mark.parametrize("metrics", ["ndcg@5,recall@10", "ndcg,auc,recall@100"])
@pytest.mark.parametrize("ties", ["average", "input", "id_descending", "worst"])
@pytest.mark.parametrize("n_relevant", [3, 64, 65, 150])
def test_strategies_give_the_same_bits(n_relevant, ties, metrics, strategy):
    rng = np.random.default_rng(n_relevant)
    liked = [dict.fromkeys(np.sort(rng.permutation(300)[:n_relevant]).tolist(), 1 + user % 2) for user in range(5)]
    excluded = [
        set(rng.permutation(300)[:n].tolist()) - liked[user].keys() for user, n in enumerate((0, 30, 100, 0, 1))
    ]
    scores = rng.integers(0, 60, (5, 300)).astype("f4")
    convention = fn.conventions["default"].replace(ties=ties)
    chosen = fn.Scores(scores, exclude=list(excluded))
    rankings = models.match_scores(Interactions(*flat(liked)), chosen, None).new_builder()(0, 5)
    output = engine.run(rankings, parse_metrics(metrics), convention, strategy=strategy)
    by_hand = list_by_hand(liked, scores, excluded)
    expected = engine.run(by_hand, parse_metrics(metrics), convention)
    assert strategies.bits(output) == strategies.bits(expected)


@pytest.mark.parametrize("name", strategies.PLAIN)
def test_all_metrics_have_the_bits_of_explicit_candidates(name):
    liked = [{3: 1, 0: 1}, {}, {5: 0, 1: 1, 2: 0}, {4: 1}]
    scores = np.random.default_rng(6).permutation(28).reshape(4, 7).astype("f8")
    result = fn.evaluate(matrix(liked), fn.Scores(scores, exclude=SEEN, missing_truth="skip"), [name])
    assert_same_bits(result, fn.evaluate(list_by_hand(liked, scores, SEEN), metrics=[name]))


def test_dense_labels_and_truths_of_every_form():
    result = fn.evaluate(matrix(LIKED), SCORES, "ndcg@3,ap,auc,recall@2")
    dense = fn.evaluate(matrix(LIKED).toarray(), SCORES, "ndcg@3,ap,auc,recall@2")
    assert_same_bits(result, dense)
    assert np.isnan(result["ap"][1])
    rows = [(user, item, label) for user, row in enumerate(LIKED) for item, label in row.items()][::-1]
    frame = pa.table(dict(zip(("user", "item", "rating"), map(list, zip(*rows, strict=True)), strict=True)))
    expected = fn.evaluate(matrix(LIKED), SCORES, METRICS)
    for truth in (frame, matrix(LIKED).tocsc(), matrix(LIKED).tocoo(), fn.Interactions(*flat(LIKED))):
        assert_same_bits(fn.evaluate(truth, SCORES, METRICS), expected)
    slow = fn.reference.evaluate(frame, SCORES, METRICS)
    np.testing.assert_allclose(slow.values, expected.values, rtol=1e-12)


UNWRITABLE = SCORES.copy()
UNWRITABLE.flags.writeable = False
SCORE_FORMS = {
    **{dtype: SCORES.astype(dtype) for dtype in ("f2", "f4", "f8", ">f4", "longdouble")},
    "Fortran's order": np.asfortranarray(SCORES), "every second column": np.repeat(SCORES, 2, axis=1)[:, ::2],
    "rows backwards": SCORES[::-1].copy()[::-1], "list": SCORES.tolist(), "read-only": UNWRITABLE,
    "unaligned": np.frombuffer(b"x" + SCORES.tobytes(), "f4", offset=1).reshape(SCORES.shape),
}  # fmt: skip


@pytest.mark.parametrize("name", [*SCORE_FORMS, "memory map"])
def test_score_matrices_of_every_form(name, tmp_path):
    if name == "memory map":
        scores = np.memmap(tmp_path / "scores", "f4", "w+", shape=SCORES.shape)
        scores[...] = SCORES
    else:
        scores = SCORE_FORMS[name]
    result = fn.evaluate(matrix(LIKED), fn.Scores(scores, exclude=SEEN, missing_truth="skip"), METRICS)
    assert_same_bits(result, fn.evaluate(list_by_hand(LIKED, SCORES, SEEN), metrics=METRICS))


@pytest.mark.peers
def test_torch_scores():
    torch = pytest.importorskip("torch")
    result = fn.evaluate(matrix(LIKED), torch.from_numpy(SCORES), METRICS)
    assert_same_bits(result, fn.evaluate(list_by_hand(LIKED, SCORES), metrics=METRICS))
    assert fn.evaluate(matrix(LIKED), torch.tensor([[0, 3]] * 4), "rr")["rr"][0] == 1


ROWS = list(map(sorted, SEEN))
SEEN_ITEMS = [(user, item, 1) for user, row in enumerate(ROWS) for item in row]
ITEM_FORMS = {
    "csr": mask(SEEN), "csc": mask(SEEN).tocsc(), "coo": mask(SEEN).tocoo(),
    "csr matrix of bool": sparse.csr_matrix(mask(SEEN)).astype(bool), "mask": mask(SEEN).toarray() > 0,
    "lists": ROWS, "unsorted lists": [row[::-1] for row in ROWS], "sets": SEEN,
    "arrays": [np.array(row, "i4") for row in ROWS],
    "padded array": np.array([row + [-1] * (7 - len(row)) for row in ROWS]),
    "Interactions": fn.Interactions(*flat([dict.fromkeys(row, 0) for row in ROWS])),
    "ragged": pa.array(ROWS, pa.list_(pa.int64())),
    "frame": pa.table(dict(zip(("user", "item", "label"), zip(*SEEN_ITEMS, strict=True), strict=True))),
}  # fmt: skip


@pytest.mark.parametrize("items", ITEM_FORMS.values(), ids=ITEM_FORMS)
def test_exclude_and_candidates_of_every_form(items):
    excluded = fn.evaluate(matrix(LIKED), fn.Scores(SCORES, exclude=items, missing_truth="skip"), METRICS)
    assert_same_bits(excluded, fn.evaluate(list_by_hand(LIKED, SCORES, SEEN), metrics=METRICS))
    others = [set(range(7)) - row for row in SEEN]
    candidates = fn.evaluate(matrix(LIKED), fn.Scores(SCORES, candidates=items, missing_truth="skip"), METRICS)
    assert_same_bits(candidates, fn.evaluate(list_by_hand(LIKED, SCORES, others), metrics=METRICS))


@pytest.mark.parametrize(
    "items", [[4, 1, 0], {0, 1, 4}, np.array([0, 1, 4], "i1"), np.isin(range(7), [0, 1, 4]), frozenset({0, 1, 4})]
)
def test_items_of_all_users_in_every_form(items):
    shared = [{0, 1, 4}] * 4
    for options, by_hand in (
        ({"exclude": items, "missing_truth": "unretrieved"}, {"excluded": shared, "missing_truth": "unretrieved"}),
        ({"candidates": items, "exclude": SEEN, "missing_truth": "skip"}, {"excluded": SEEN, "candidates": shared}),
        ({"exclude": items, "candidates": SEEN, "missing_truth": "skip"}, {"excluded": shared, "candidates": SEEN}),
    ):
        result = fn.evaluate(matrix(LIKED), fn.Scores(SCORES, **options), METRICS)
        assert_same_bits(result, fn.evaluate(list_by_hand(LIKED, SCORES, **by_hand), metrics=METRICS))


def test_scores_are_read_in_place():
    liked = Interactions(*flat(LIKED))
    build = models.match_scores(liked, fn.Scores(SCORES, exclude=SEEN, missing_truth="skip"), None).new_builder()
    assert np.shares_memory(build(0, 4).rows.scores, SCORES)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(CompactRankings, "__getattr__")
        fn.evaluate(matrix(LIKED), fn.Scores(SCORES, exclude=SEEN, missing_truth="skip"), "ndcg@3,ap,auc,recall@2")
        with pytest.raises(AttributeError):
            fn.evaluate(matrix(LIKED), SCORES, "bpref")


def test_converted_scores_take_the_memory_of_a_part(monkeypatch):
    monkeypatch.setattr(models, "MOST_SCORES", 100)
    monkeypatch.setattr(models, "LEAST_PART", 1)
    scores = np.asfortranarray(np.random.default_rng(0).random((500, 10)))
    liked = Interactions(np.zeros(500, "i8"), offsets=np.arange(501))
    partitions = models.match_scores(liked, fn.Scores(scores), None)
    assert max(stop - first for first, stop in partitions.spans) <= 11
    build = partitions.new_builder()
    first = build(*partitions.spans[0]).rows.scores
    assert first.size <= 110
    assert np.shares_memory(first, build(*partitions.spans[-1]).rows.scores)


def test_nan_is_refused_at_candidates_alone():
    scores = SCORES.copy()
    scores[0, 6] = scores[3, 0] = np.nan
    result = fn.evaluate(matrix(LIKED), fn.Scores(scores, exclude=SEEN), METRICS)
    assert_same_bits(result, fn.evaluate(list_by_hand(LIKED, SCORES, SEEN), metrics=METRICS))
    scores[2, 5] = np.nan
    with pytest.raises(fn.InvalidInputError, match=re.escape("`scores` must not be NaN, but scores[5] (query 2) is")):
        fn.evaluate(matrix(LIKED), fn.Scores(scores, exclude=SEEN), METRICS)
    last = "default(nan_scores=last)"
    result = fn.evaluate(matrix(LIKED), fn.Scores(scores, exclude=SEEN), METRICS, convention=last)
    by_hand = list_by_hand(LIKED, scores, SEEN)
    assert_same_bits(result, fn.evaluate(by_hand, metrics=METRICS, convention=last))


def test_missing_truth_is_counted():
    seen = [{3}, {0}, {1, 5}, {0}]
    skipped = fn.evaluate(matrix(LIKED), fn.Scores(SCORES, exclude=seen, missing_truth="skip"), "recall@7")
    assert skipped["recall@7"].tolist()[::3] == [1, 1]
    assert skipped.notes == ("items of the truth that are no candidates, left out of the truth: 3, of 2 users",)
    pooled = fn.evaluate(matrix(LIKED), fn.Scores(SCORES, exclude=seen, missing_truth="unretrieved"), "recall@7")
    assert pooled["recall@7"].tolist()[::3] == [1 / 2, 1]
    assert pooled["recall@7"][2] == 0
    assert pooled.notes == ("items of the truth that are no candidates, counted as not retrieved: 3, of 2 users",)


def test_evaluator_and_compare_take_scores_of_one_selection():
    first = fn.Scores(SCORES, exclude=SEEN, candidates=range(7), missing_truth="skip")
    systems = {"a": first, "b": first.replace(np.asfortranarray(-SCORES))}
    assert str(first) == "Scores of 4 users, 7 items"
    results = {name: fn.evaluate(matrix(LIKED), scores, METRICS) for name, scores in systems.items()}
    first.selection._last = None
    calls = []
    match = item_selection.match_items
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item_selection, "match_items", lambda *arguments: calls.append(1) or match(*arguments))
        evaluator = fn.Evaluator(matrix(LIKED), METRICS)
        for name, scores in systems.items():
            assert_same_bits(evaluator.evaluate(scores), results[name])
    assert len(calls) == 1
    assert_same_bits(pickle.loads(pickle.dumps(evaluator)).evaluate(pickle.loads(pickle.dumps(first))), results["a"])
    compared = fn.compare(matrix(LIKED), systems, "ndcg@3", replicates=10)
    for row in compared.rows:
        assert row.mean == results[row.system].mean()["nDCG@3"]


def test_explain_shows_the_candidates_of_one_user():
    explanation = fn.explain(matrix(LIKED), fn.Scores(SCORES, exclude=[{1}, {1}, {4}, {5}]), "ndcg@3", query=2)
    expected = fn.evaluate(matrix(LIKED), fn.Scores(SCORES, exclude=[{1}, {1}, {4}, {5}]), "ndcg@3")["ndcg@3"][2]
    assert explanation.value == expected
    assert sorted(row.document for row in explanation.ranking) == ["0", "1", "2", "3", "5", "6"]


CSR = matrix(LIKED)


def evaluate_scores(**options):
    return fn.evaluate(CSR, fn.Scores(SCORES, **options), "rr")


test_wrong_input_raises = refuses(lambda call: call(), [
    (lambda: fn.evaluate(CSR, SCORES[:3], "rr"),
        "`predictions` must have a row per user and a column per item of the truth, (4, 7), but its shape is"),
    (lambda: fn.evaluate(CSR, SCORES[:, :5], "rr"),
        "`predictions` must have a row per user and a column per item of the truth, (4, 7), but its shape is"),
    (lambda: fn.evaluate(fn.Interactions([9], offsets=[0, 1]), SCORES[:1], "rr"),
        "`predictions` must have a column for each item of the truth, but user 0 likes item 9 and there are 7"),
    (lambda: evaluate_scores(exclude=mask(SEEN)[:3]), "`exclude` must have one row per user, 4, but has 3"),
    (lambda: evaluate_scores(exclude=mask(SEEN, 8)), "`exclude` must have one column per item, 7, but has 8"),
    (lambda: evaluate_scores(exclude=[[1], [2], [7], [3]]),
        "`exclude` must hold items below 7, the number of items of the predictions, but one of user 2 is 7"),
    (lambda: evaluate_scores(candidates=[1, -2]), "`candidates`: `items` must be 0 or more, but"),
    (lambda: evaluate_scores(candidates=[1, 2, 1]),
        "`candidates`: `items` must have each item of a user once, but item 1 of user 0 stands twice"),
    (lambda: evaluate_scores(candidates=[]), "`candidates` must have an item, but is empty"),
    (lambda: evaluate_scores(candidates=[[], [], [], []]), "`candidates` must have an item, but"),
    (lambda: evaluate_scores(exclude=range(7)), "`exclude` must leave a candidate, but has all"),
    (lambda: evaluate_scores(exclude=["a"]), "`exclude` must hold whole numbers where items"),
    (lambda: evaluate_scores(exclude={"a"}), "`exclude` must hold whole numbers where items"),
    (lambda: evaluate_scores(exclude=[[1], 2]), "`exclude`: rows must be lists, sets or arrays of"),
    (lambda: evaluate_scores(exclude=3), "`exclude` must be interactions (a scipy.sparse matrix, "),
    (lambda: evaluate_scores(exclude=sparse.csr_array(([0, 1], ([0, 1], [1, 2])), shape=(4, 7))),
        "`exclude`: a sparse matrix must store no 0, but that of item 1 of user 0 is one. Call eliminate_zeros()"),
    (lambda: evaluate_scores(exclude=mask([{1}, {2}, {1, 5}, {0}])),
        "items of `truth` must not be excluded, but item 1 of user 2 is in `exclude` (in all 2). Take it out"),
    (lambda: evaluate_scores(exclude=[3, 6]),
        "items of `truth` must not be excluded, but item 3 of user 0 is in `exclude` (in all 1). Take it out"),
    (lambda: evaluate_scores(candidates=[0, 1, 2, 3, 5]),
        "items of `truth` must not lie outside the candidates, but item 4 of user 3 is not in `candidates` (in all"),
    (lambda: evaluate_scores(exclude=[np.array(0)] * 4),
        "`exclude`: rows must be lists, sets or arrays of items, but one is array(0)"),
    (lambda: evaluate_scores(missing_truth="last"), "`missing_truth` must be one of 'raise', 's"),
    (lambda: fn.evaluate(CSR.toarray(), fn.Scores(SCORES, exclude=[0]), "rr"),
        "`truth` must be items that users like, or judgments with ids, for Scores, but is an array of labels"),
    (lambda: fn.Scores(np.array([[0, 3]] * 4), candidates=[0]),
        "`matrix` must be an array of floats of users by items, not ndarray. Convert it"),
    (lambda: fn.Scores({"q": {"d": 1.0}}, missing_truth="skip"),
        "`matrix` must be an array of floats of users by items, not dict. Convert it"),
    (lambda: fn.Scores(CSR), "`matrix` must be an array of floats of users by items, not csr_array. Leave the sc"),
    (lambda: fn.evaluate(CSR, SCORES, "rr", exclude=[0]),
        "`exclude` is no argument of evaluate. It belongs to the model: fn.Embeddings(…, exclude=…), fn.Scorer("),
    (lambda: fn.compare(CSR, {"a": SCORES, "b": SCORES}, "rr", missing_truth="skip"),
        "`missing_truth` is no argument of compare. It belongs to the model"),
    (lambda: fn.Evaluator(CSR, "rr", memory=10), "`memory` is no argument of Evaluator. It is said where data are"),
    (lambda: fn.evaluate(CSR, SCORES, "rr", offsets=[0]), "`offsets` cuts arrays into queries, but `truth` has"),
    (lambda: fn.evaluate(CSR, SCORES.astype("longdouble") + np.longdouble(2) ** -60, "rr"),
        "`predictions` must fit float64 exactly, but predictions[0, "),
], text="^{}")  # fmt: skip


def test_no_users_no_items_and_nothing_relevant():
    empty = fn.Interactions(np.empty(0, "i4"), offsets=[0])
    assert fn.evaluate(empty, np.empty((0, 5)), "rr").values.shape == (0, 1)
    result = fn.evaluate(sparse.csr_array((2, 0)), np.empty((2, 0)), "rr,ndcg")
    assert np.isnan(result["ndcg"]).all()
    scores = np.array([[0.2, 0.1], [0.3, 0.4]])
    expected = fn.evaluate(fn.Interactions([], offsets=[0, 0, 0]), scores, "rr,ndcg").to_dict()
    for truth in ({}, {0: set()}, {0: {}, 1: {}}):
        np.testing.assert_equal(fn.evaluate(truth, scores, "rr,ndcg").to_dict(), expected)


def test_large_exclusions_are_matched_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    liked = [{int(item): 1} for item in rng.integers(0, 7, 4)]
    scores = fn.Scores(SCORES, exclude=SEEN, candidates=[[*range(7)]] * 4, missing_truth="skip")
    expected = fn.evaluate(matrix(liked), scores, METRICS)
    monkeypatch.setattr(item_selection, "PART", 1)
    result = fn.evaluate(matrix(liked), scores, METRICS, threads=2)
    assert_same_bits(result, expected)

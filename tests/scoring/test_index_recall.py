"""The recall of an index: brute force over every candidate, with ties, repeats, padding and filters."""

import math

import numpy as np
import pytest
from model_options import ITEMS, N_ITEMS, N_USERS, SCORES, SELECTIONS, USERS, make_model
from refusals import refused, refuses

import fastndcg as fn

CUTOFFS = (1, 2, 7, 40)
METRICS = [f"recall@{k}" for k in CUTOFFS]


def list_candidates(user, options):
    """Return the scores of a user's candidates."""
    chosen = options.get("candidates", range(N_ITEMS))
    chosen = set(chosen[user] if isinstance(chosen, list) else chosen)
    seen = options.get("exclude", ())
    chosen -= set(seen[user] if isinstance(seen, list) else seen)
    return {item: float(SCORES[user, item]) for item in chosen}


def make_found(n_found=40):
    """Return what a poor index found: noise, documents found twice, rows that end early, and an empty one."""
    rng = np.random.default_rng(9)
    found = np.argsort(-(SCORES + rng.normal(0, 2, SCORES.shape)), axis=1, kind="stable")[:, :n_found].astype("i8")
    found[::3, 5] = found[::3, 2]
    for user in range(0, N_USERS, 4):
        found[user, rng.integers(1, n_found) :] = -1
    found[7] = -1
    return found


FOUND = make_found()


def expect(options, found=FOUND, tolerance=0.0):
    return np.array([
        [fn.reference.index_recall(list_candidates(user, options), found[user].tolist(), k, tolerance) for k in CUTOFFS]
        for user in range(N_USERS)
    ])  # fmt: skip


def list_losses(options, found=FOUND, tolerance=0.0):
    """Return the first rank lost and the relative error of scores of each user."""
    losses = []
    for user in range(N_USERS):
        candidates = list_candidates(user, options)
        best = sorted(candidates.values(), reverse=True)[: max(CUTOFFS)]
        own = sorted((candidates[item] for item in set(found[user].tolist()) if item in candidates), reverse=True)
        lost = [rank for rank, (score, of_found) in enumerate(zip(best, own, strict=False), 1)
                if of_found < score - tolerance]  # fmt: skip
        first = lost[0] if lost else len(own) + 1 if len(own) < len(best) else 0
        total = sum(map(abs, best[: len(own)]))
        losses.append((first, (sum(best[: len(own)]) - sum(own)) / total if total else math.nan))
    return np.array(losses).T


@pytest.mark.parametrize("kind", ["embeddings", "scorer", pytest.param("tensors", marks=pytest.mark.peers)])
@pytest.mark.parametrize("options", SELECTIONS.values(), ids=SELECTIONS)
def test_brute_force(options, kind):
    recall = fn.index_recall(make_model(kind, **options), FOUND, METRICS)
    np.testing.assert_array_equal(recall.values, expect(options))
    first, error = list_losses(options)
    np.testing.assert_array_equal(recall.first_lost, first)
    np.testing.assert_allclose(recall.relative_error, error, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("tolerance", [0.5, 1.0, 3.0])
def test_tolerance(tolerance):
    recall = fn.index_recall(make_model("embeddings"), FOUND, METRICS, tolerance=tolerance)
    np.testing.assert_array_equal(recall.values, expect({}, tolerance=tolerance))
    np.testing.assert_array_equal(recall.first_lost, list_losses({}, tolerance=tolerance)[0])
    assert f", 5 columns, dot, tolerance {tolerance:g}" in str(recall)
    exact = fn.index_recall(make_model("embeddings"), FOUND, "recall@7").mean()["R@7"]
    assert (recall.mean()["R@7"] > exact) == (tolerance >= 1)  # scores are whole numbers


@pytest.mark.parametrize("similarity", ["dot", "cosine", "euclidean"])
def test_exact_search_loses_nothing(similarity):
    users, items = (np.where(vectors.any(axis=1)[:, None], vectors, 1) for vectors in (USERS, ITEMS))
    items[200:260] = items[:60]  # documents that are there twice
    for selection in SELECTIONS.values():
        model = fn.Embeddings(users, items, similarity=similarity, **selection)
        recall = fn.index_recall(model, model.top(40), METRICS)
        assert (recall.values == 1).all()
        assert not recall.first_lost.any()
        assert not recall.relative_error.any()


def test_documents_found_again_take_a_place_in_every_form():
    model = fn.Embeddings([[1.0]], [[3.0], [2.0], [1.0]], query_ids=["q"], document_ids=["a", "b", "c"])
    twice = ["a", "a", "b"]
    hits = [{"id": document, "score": 9 - place} for place, document in enumerate(twice)]
    for found in ([[0, 0, 1]], {"q": twice}, {"q": hits}, [twice], fn.Run({"q": twice}, duplicates="first")):
        recall = fn.index_recall(model, found, "recall@2, recall@3")
        assert recall.values.tolist() == [[0.5, 2 / 3]]
        assert "documents found again, counted once: 1" in recall.notes


def test_ties_at_the_edge_count_up_to_the_cutoff():
    model = fn.Embeddings([[1.0]], [[2.0], [1.0], [1.0], [1.0], [0.0]])
    values = {tuple(found): fn.index_recall(model, [found], "recall@2").values.item() for found in (
        [0, 1], [0, 3], [1, 2], [3, 2], [1, 4], [4, 4], [1, 1], [0, 0])}  # fmt: skip
    assert values == {(0, 1): 1, (0, 3): 1, (1, 2): 1, (3, 2): 1, (1, 4): 0.5, (4, 4): 0, (1, 1): 0.5, (0, 0): 0.5}
    assert fn.index_recall(model, [[3, 2]], "recall@2").first_lost == [1]  # three of equal score are no better ones


def test_infinite_scores():
    """Items that a Scorer leaves out by -inf are lost as others, and no part of the relative error."""
    scores = np.array([[3.0, 2.0, 1.0, -np.inf, -np.inf], [1.0, -np.inf, -np.inf, -np.inf, -np.inf]])
    model = fn.Scorer(lambda users: scores[users], n_items=5, n_users=2)
    recall = fn.index_recall(model, [[0, 2, 4], [0, 3, 4]], "recall@3")
    assert recall.values[:, 0].tolist() == [2 / 3, 1]
    assert recall.first_lost.tolist() == [2, 0]
    assert recall.relative_error.tolist() == [1 / 5, 0]


def test_fewer_candidates_than_the_cutoff():
    model = fn.Embeddings([[1.0], [1.0]], [[2.0], [1.0]], exclude=[[0], [0, 1]])
    recall = fn.index_recall(model, [[1, -1], [-1, -1]], "recall@10")
    np.testing.assert_array_equal(recall.values, [[1.0], [np.nan]])
    assert recall.n_missing_in_run == 0
    filtered = fn.Embeddings([[1.0]], [[2.0], [1.0], [0.0]], candidates={2})
    assert fn.index_recall(filtered, [[0, 1, 2]], "recall@3").values == 1
    assert fn.index_recall(fn.Embeddings([[1.0]], [[2.0], [1.0]]), [[1]], "recall@10").values == [[0.5]]


IDS = {"query_ids": [f"q{user}" for user in range(N_USERS)], "document_ids": [f"d{item}" for item in range(N_ITEMS)]}


def make_forms():
    """Return what was found in the forms that clients give, without repeats and the empty row's query."""
    first = np.array([np.where(row == row[2], np.where(np.arange(len(row)) == 2, row, -1), row) for row in FOUND])
    first = np.take_along_axis(first, np.argsort(first == -1, axis=1, kind="stable"), axis=1)
    lists = {f"q{user}": [f"d{item}" for item in row if item >= 0] for user, row in enumerate(first)}
    scores = -np.arange(first.size, dtype="f4").reshape(first.shape)
    hits = {query: [{"id": item, "score": -rank} for rank, item in enumerate(row)] for query, row in lists.items()}
    numbers = dict(enumerate(row[row >= 0].tolist() for row in first))
    return first, {
        "rows": (first, {}), "rows of a model with texts as ids": (first, IDS),
        "pair": ((first, scores), {}), "distances and ids": ((-scores, first), IDS),
        "Recommendations": (fn.Recommendations(first), {}), "TopItems": (fn.TopItems(first, scores, *map(
            np.array, IDS.values())), IDS),
        "lists of ids": (lists, IDS), "hits": ({query: own for query, own in hits.items() if own}, IDS),
        "Run": (fn.Run({query: dict(zip(own, range(40, 0, -1), strict=False)) for query, own in lists.items()}), IDS),
        "rows by query": (dict(enumerate(first)), {}),
        "lists of numbers": ({user: own for user, own in numbers.items() if own}, {}),
    }  # fmt: skip


@pytest.mark.parametrize("form", make_forms()[1])
def test_forms(form):
    first, forms = make_forms()
    found, ids = forms[form]
    recall = fn.index_recall(make_model("embeddings", **ids), found, METRICS)
    np.testing.assert_array_equal(recall.values, expect({}, first))
    is_there = form not in {"hits", "lists of numbers", "TopItems"}
    assert recall.n_missing_in_run == 1 - is_there
    assert ("queries of which nothing was found: 1" in recall.notes) == is_there
    assert recall.query_ids.tolist() == (IDS["query_ids"] if ids else list(range(N_USERS)))


def test_rows_of_texts_are_by_position():
    """Row r is of query r, whatever the ids of queries are: numbers of them are no rows."""
    found = [["a", "b"], [], ["b"]]
    for ids in (None, ["q", "r", "s"], [1, 2, 0]):
        model = fn.Embeddings([[1.0]] * 3, [[2.0], [1.0]], query_ids=ids, document_ids=["a", "b"])
        assert fn.index_recall(model, found, "recall@2").values[:, 0].tolist() == [1.0, 0.0, 0.5]
        for rows in (np.array([["b"], ["a"], ["b"]]), [np.array(["b"]), np.array(["a"]), np.array(["b"])]):
            assert fn.index_recall(model, rows, "recall@1").values[:, 0].tolist() == [0.0, 1.0, 0.0]


@pytest.mark.peers
def test_tensors_of_rows():
    torch = pytest.importorskip("torch")
    recall = fn.index_recall(make_model("embeddings"), torch.from_numpy(FOUND), METRICS)
    np.testing.assert_array_equal(recall.values, expect({}))


def test_gate_of_queries_of_which_nothing_was_found():
    """An empty list counts as zero, and only a query that is not there makes two results differ in kind."""
    model = make_model("embeddings")
    best = model.top(10).items.copy()
    base = fn.index_recall(model, best)
    best[7] = -1
    assert fn.gate(None, base, fn.index_recall(model, best)).verdict != "not comparable"
    lists = {user: row for user, row in enumerate(best.tolist()) if user != 7}
    assert fn.gate(None, base, fn.index_recall(model, lists)).verdict == "not comparable"


def test_numbers_of_numpy_are_tolerances():
    for tolerance in (np.float32(1), np.int64(1)):
        recall = fn.index_recall(make_model("embeddings"), FOUND, METRICS, tolerance=tolerance)
        np.testing.assert_array_equal(recall.values, expect({}, tolerance=1.0))


def test_columns_keep_negative_scores():
    columns = {"query": np.array([0, 0]), "document": np.array([1, 0]), "score": np.array([-1, -2])}
    assert fn.index_recall(fn.Embeddings([[1.0]], [[2.0], [1.0]]), columns, "recall@1, recall@2").values.tolist() == [
        [0, 1]]  # fmt: skip


def test_numbers_are_ids_where_documents_have_numbers():
    model = fn.Embeddings([[1.0]], [[2.0], [1.0]], document_ids=[70, 1])
    assert fn.index_recall(model, [[70]], "recall@1").values == 1
    assert fn.index_recall(model, [[1]], "recall@1").values == 0


def test_notes():
    recall = fn.index_recall(make_model("embeddings", exclude={int(FOUND[0, 0])}), FOUND, METRICS)
    printed = str(recall)
    n_short = sum(0 < len(set(row[row >= 0].tolist())) < 40 for row in FOUND)
    assert "queries of which nothing was found: 1" in printed
    assert f"documents found again, counted once: {len(FOUND[::3])}" not in printed  # one of them is padding
    for text in ("queries with fewer than 40 documents found, the others are lost: ", "documents found again",
                 "documents found that are no candidates, not counted: ", "quantile 0.05: R@1 ",
                 f"exact search: Embeddings of {N_USERS} users, {N_ITEMS} items, 5 columns, dot"):  # fmt: skip
        assert text in printed
    clean = fn.index_recall(make_model("embeddings"), FOUND, "recall@40")
    assert f"the others are lost: {n_short}" in str(clean)
    assert "no candidates" not in str(clean)
    assert list(clean.to_pandas().columns[-2:]) == ["first_lost", "relative_error"]


def test_settings_of_an_index_in_a_comparison(tmp_path):
    model = make_model("embeddings")
    settings = {"poor": FOUND, "exact": model.top(40)}
    comparison = fn.compare(model, settings, METRICS)
    alone = {name: fn.index_recall(model, found, METRICS) for name, found in settings.items()}
    for name, column in zip(settings, comparison.columns, strict=True):
        np.testing.assert_array_equal(column, alone[name].values)
    half = {"poor": alone["poor"], "exact": settings["exact"]}  # results are kept as they are
    assert fn.compare(model, half).rows == fn.compare(alone).rows == comparison.rows
    assert [metric.k for metric in fn.compare(model, settings).metrics] == [10]
    assert comparison.rows[1].wins > 0 == comparison.rows[1].losses
    comparison.to_html(tmp_path / "index.html", documents=True)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("Recall of a vector index") == 2
    assert "relative error of scores" in page
    fn.compare([[1, 0]], {"a": [[2, 1]], "b": [[1, 2]]}, "rr").to_html(tmp_path / "other.html")
    assert "Recall of a vector index" not in (tmp_path / "other.html").read_text(encoding="utf-8")


def test_cost():
    model = make_model("embeddings", **IDS)
    best = model.top(3).items
    qrels = {f"q{user}": {f"d{item}": 2} for user, (item, *_) in enumerate(best) if user % 2}
    recall = fn.index_recall(model, FOUND, "recall@2, recall@40", truth=qrels)
    found = {f"q{user}": list(dict.fromkeys(f"d{item}" for item in row if item >= 0)) for user, row in enumerate(FOUND)}
    expected = fn.evaluate(qrels, found, "ndcg@2, ndcg@40")
    exact = fn.evaluate(qrels, {f"q{user}": [f"d{item}" for item in row] for user, row in enumerate(best)}, "ndcg@2")
    assert recall.quality["index"].mean() == pytest.approx(expected.mean(), abs=1e-12)
    assert recall.quality["exact"].mean()["nDCG@2"] == exact.mean()["nDCG@2"] == 1
    assert recall.cost().rows[1].difference == pytest.approx(expected.mean()["nDCG@2"] - 1)
    assert "exact search, index: nDCG@2 1.0000, " in str(recall)
    refused("`truth` must be given", fn.index_recall(model, FOUND).cost)


def test_the_command_gives_the_results_of_python(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    for name, array in {"users": USERS, "items": ITEMS, "a": FOUND, "b": make_found(30)}.items():
        np.save(f"{name}.npy", array)
    words = "index-recall", "users.npy,items.npy", "-m", ",".join(METRICS), "a.npy"
    a, b = (fn.index_recall(make_model("embeddings"), np.load(f"{name}.npy"), METRICS) for name in "ab")
    assert run(*words, "--save-baseline", "old.json")[:2] == (0, f"{a}\n")
    assert str(fn.load_result("old.json")) == str(a)
    code, out, _ = run(*words, "b.npy", "--html", "page.html")
    assert code == 0
    assert out.endswith("".join(f"{name}: {line}\n" for name, one in (("a", a), ("b", b)) for line in one.list_loss()))
    assert "--html is of two FOUND or more, not 1" in run(*words, "--html", "page.html")[2]
    assert "--save-baseline is of one FOUND, not 2" in run(*words, "b.npy", "--save-baseline", "old.json")[2]


MODEL = fn.Embeddings([[1.0], [2.0]], [[2.0], [1.0]], query_ids=["q", "r"], document_ids=["a", "b"])
OF_INDEX = [[0], [1]]
OF_QUERIES = {"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a"], "r": ["b"]}
test_wrong_use = refuses(fn.index_recall, [
    ({"q": {"a": 1}}, {"q": ["a"]}, "`model` must be Embeddings or a Scorer"),
    (MODEL, OF_INDEX, "ndcg@10", "such as 'recall@10', but one is nDCG@10"),
    (MODEL, OF_INDEX, "recall", r"such as 'recall@10', but one is R\."),
    (MODEL, OF_INDEX, "recall(rel=2)@5", r"but one is R\(rel=2\)@5"),
    (MODEL, [[0]], "a row for each of the 2 queries of the model, but has 1"),
    (MODEL, [["a"], ["b"], ["a"]], "a row for each of the 2 queries of the model, but has 3"),
    (MODEL, [[0], [2]], "documents of the model, but 2 at rank 1 of query 'r' is none"),
    (MODEL, {"q": ["a", "c"]}, "documents of the model, but 'c' at rank 2 of query 'q'"),
    (MODEL, {"x": ["a"]}, "`found` must have queries of the model, but has none, such as 'x'"),
    (MODEL, fn.Recommendations(OF_INDEX, parents={0: 1, 1: 1}), "`duplicates` and `parents`"),
    (fn.Scorer(lambda users: None, n_items=2), OF_INDEX, "must have queries, but has none. Give a Scorer `n_users`"),
    (fn.Embeddings(USERS[:0], ITEMS), np.empty((0, 3), "i8"), "model` must have queries, but has none"),
    (MODEL, np.array([[0], [2**64 - 1]], "u8"), "must fit int64, but one is 18446744073709551615. Pad rows with -1"),
    (MODEL, np.array([0, 1]),
        r"a row for each query, \(n_queries, k\), but its shape is \(2,\). Of one query give found\[None\]"),
    (MODEL, {"q": [1]}, "ids of documents are whole numbers in the index, such as 1, but texts in the model"),
    (MODEL, {"q": {"a": math.nan, "b": 1.0}}, "score of document a of query q must not be NaN"),
    (MODEL, {"q": {"a", "b"}}, "`found` must have ids in rank order, but those of query 'q' are a set"),
    (MODEL, (np.array([[0, 1], [1, 0]]), np.array([[1.0, 2.0], [2.0, 1.0]])), "best first|fall in all rows"),
], error=fn.FastndcgError)  # fmt: skip
test_wrong_use_in_other_calls = refuses(lambda call: call(), [
    *((lambda number=number: fn.index_recall(MODEL, OF_INDEX, tolerance=number),
       f"`tolerance` must be a number from 0 on, not {number}") for number in (-1, math.nan)),
    (lambda: fn.compare(MODEL, {"one": OF_INDEX, "two": [[0]]}, "recall@1"),
        "system 'two': .* a row for each of the 2"),
    (lambda: fn.compare(MODEL, {"one": OF_INDEX, "two": [[1], [0]]}, convention="trec_eval"),
        "`convention` must be left out for the recall of an index"),
    (lambda: fn.compare(MODEL, {"one": OF_INDEX, "two": [[1], [0]]}, "recall@1", offsets=[0, 1]),
        "`offsets` cuts arrays into queries"),
    (lambda: fn.compare({"a": fn.index_recall(MODEL, OF_INDEX, "recall@1"), "b": fn.evaluate(*OF_QUERIES, "recall@1")}),
        "'a' has recall of an index and 'b' has queries. Evaluate all by evaluate, or all by index_recall"),
    (lambda: fn.gate(OF_QUERIES[0], fn.index_recall(MODEL, OF_INDEX, "recall@1"), OF_QUERIES[1]),
        "'baseline' has recall of an index and 'candidate' has queries"),
    (lambda: fn.evaluate(MODEL, OF_INDEX, "recall@1"), "For the recall of an index take fn.index_recall"),
], error=fn.FastndcgError)  # fmt: skip


def test_queries_that_the_model_lacks_are_counted():
    recall = fn.index_recall(MODEL, {"q": ["a"], "x": ["b"]}, "recall@1")
    assert recall.n_missing_in_qrels == 1
    assert "queries that the model lacks: 1 (skip)" in str(recall)
    assert recall.mean() == {"R@1": 0.5}

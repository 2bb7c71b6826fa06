"""Embeddings with truth in every form, and what their best items feed: lists, runs, fusion, beyond accuracy."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from model_options import choose
from refusals import refused

import fastndcg as fn

N_USERS, N_ITEMS = 12, 40
METRICS = "ndcg@5, recall@7, rr, auc, ap"


def make_case():
    rng = np.random.default_rng(4)
    users, items = (rng.integers(-2, 3, (n, 6)).astype("f4") for n in (N_USERS, N_ITEMS))
    drawn = rng.random((N_USERS, N_ITEMS))
    labels = np.where(drawn < 0.1, rng.integers(1, 4, drawn.shape), 0)
    labels[:, 0] = 1
    return users, items, labels, (drawn > 0.7) & (labels == 0)


USERS, ITEMS, LABELS, IS_SEEN = make_case()
SCORES = USERS @ ITEMS.T
QUERIES = [f"q{user}" for user in range(N_USERS)]
DOCUMENTS = [f"d{item:02}" for item in range(N_ITEMS)]
ROWS, COLUMNS = (places.tolist() for places in np.nonzero(LABELS))
GRADES = LABELS[LABELS > 0].tolist()
SEEN = scipy.sparse.csr_array(IS_SEEN)


def make_frame(is_named):
    queries = [QUERIES[row] for row in ROWS] if is_named else ROWS
    documents = [DOCUMENTS[column] for column in COLUMNS] if is_named else COLUMNS
    return pd.DataFrame({"user_id": queries, "item_id": documents, "rating": GRADES})


def make_dict(is_named):
    return fn.Qrels(make_frame(is_named)).to_dict()


def write_trec(folder):
    fn.Qrels(make_frame(is_named=True)).write(folder / "qrels.txt")
    return str(folder / "qrels.txt")


MODEL = fn.Embeddings(USERS, ITEMS)
NAMED = fn.Embeddings(USERS, ITEMS, query_ids=QUERIES, document_ids=DOCUMENTS)
EXPECTED = fn.evaluate(LABELS, SCORES, METRICS).values
OFFSETS = np.concatenate([[0], np.cumsum((LABELS > 0).sum(axis=1))])
NUMBERED = {
    "csr": scipy.sparse.csr_array(LABELS), "csc": scipy.sparse.csc_matrix(LABELS),
    "Interactions": fn.Interactions(np.array(COLUMNS), np.array(GRADES), OFFSETS), "frame": make_frame(is_named=False),
    "dict": make_dict(is_named=False), "table": pa.table(make_frame(is_named=False)),
}  # fmt: skip


@pytest.mark.parametrize("truth", NUMBERED.values(), ids=NUMBERED)
def test_truth_by_numbers(truth):
    assert fn.evaluate(truth, MODEL, METRICS).values.tolist() == EXPECTED.tolist()
    assert fn.Evaluator(truth, METRICS).evaluate(MODEL).values.tolist() == EXPECTED.tolist()


@pytest.mark.parametrize("form", ["frame", "dict", "trec", "qrels", "records"])
def test_truth_by_ids(form, tmp_path):
    forms = {
        "frame": make_frame(is_named=True).sample(frac=1, random_state=1),
        "dict": dict(reversed(make_dict(is_named=True).items())),
        "trec": write_trec(tmp_path),
        "qrels": fn.Qrels(write_trec(tmp_path)),
        "records": list(make_frame(is_named=True).rename(columns={"rating": "label"}).to_dict("records")),
    }
    result = fn.evaluate(forms[form], NAMED, METRICS)
    order = [QUERIES.index(query) for query in result.query_ids.tolist()]
    assert sorted(order) == list(range(N_USERS))
    assert result.values.tolist() == EXPECTED[order].tolist()


def test_exclude_and_candidates_by_ids(put):
    users, items = np.nonzero(IS_SEEN)
    seen = pd.DataFrame({"query": np.array(QUERIES)[users], "document": np.array(DOCUMENTS)[items]})
    path = put("".join(f"{query} 0 {document} 1\n" for query, document in seen.itertuples(index=False)), "seen.txt")
    seen_dict = {query: set(rows["document"]) for query, rows in seen.groupby("query")}
    candidates = sorted({*COLUMNS, *range(0, N_ITEMS, 3)})
    names = [DOCUMENTS[item] for item in candidates]
    truth = make_dict(is_named=True)
    scores = choose(SCORES, exclude=SEEN, candidates=candidates)
    expected = fn.evaluate(NUMBERED["csr"], scores, METRICS).values.tolist()
    for exclude in (seen, seen_dict, str(path)):
        for chosen in (names, set(names), np.array(names), [*names, "unknown"]):
            result = fn.evaluate(truth, choose(NAMED, exclude=exclude, candidates=chosen), METRICS)
            assert result.values.tolist() == expected
    numbered = fn.Embeddings(USERS, ITEMS, query_ids=QUERIES, document_ids=np.arange(N_ITEMS) + 100)
    moved = {query: {DOCUMENTS.index(name) + 100: label for name, label in row.items()} for query, row in truth.items()}
    chosen = {item + 100 for item in candidates}
    result = fn.evaluate(moved, choose(numbered, exclude=IS_SEEN, candidates=chosen), METRICS)
    assert result.values.tolist() == expected
    refused("`candidates` must have an item", lambda: fn.evaluate(moved, choose(numbered, candidates=set()), METRICS))


@pytest.mark.parametrize("ties", ["id_descending", "input"])
def test_columns_that_are_excluded_are_those_of_the_model_whatever_the_order_of_ids(ties):
    order = np.random.default_rng(3).permutation(N_ITEMS)
    names = [DOCUMENTS[item] for item in order]
    masks = IS_SEEN[:, order], scipy.sparse.csr_array(IS_SEEN[:, order])
    ids = {
        query: {DOCUMENTS[item] for item in np.flatnonzero(row)} for query, row in zip(QUERIES, IS_SEEN, strict=True)
    }
    results = [
        fn.evaluate(
            make_dict(is_named=True),
            fn.Embeddings(USERS, ITEMS[order], query_ids=QUERIES, document_ids=names, exclude=exclude),
            "bpref, judged@5, ndcg@5", convention=f"default(ties={ties})",
        ).values.tolist()
        for exclude in (ids, *masks)
    ]  # fmt: skip
    assert results[0] == results[1] == results[2]


def test_best_items_feed_everything(tmp_path):
    k = N_ITEMS
    truth = make_dict(is_named=True)
    best, named = choose(MODEL, exclude=SEEN).top(10), choose(NAMED, exclude=SEEN).top(k)
    expected = fn.evaluate(
        NUMBERED["csr"], choose(MODEL, exclude=SEEN), "recall@7, p@3", convention="default(ties=input)"
    )
    lists = fn.evaluate(NUMBERED["csr"], best, "recall@7, p@3")
    assert lists.values.tolist() == expected.values.tolist()
    found = fn.evaluate(truth, named, "recall@7", convention="default(ties=input)")
    assert found.values[:, 0].tolist() == expected.values[:, 0].tolist()
    shown = fn.beyond_accuracy(best, "coverage@10", catalogue=N_ITEMS)
    assert shown.means() == [len(np.unique(best.items)) / N_ITEMS]
    assert not IS_SEEN[np.repeat(np.arange(N_USERS), 10), best.items.ravel()].any()
    run = named.to_run()
    path = tmp_path / "best.run.gz"
    run.write(path)
    assert fn.Run(path).to_dict() == run.to_dict()
    assert fn.evaluate(truth, path, "auc, ap").values.tolist() == fn.evaluate(truth, run, "auc, ap").values.tolist()
    fused = fn.fuse({"first": named, "second": run}, "rrf")
    assert fn.evaluate(truth, fused, "recall@7").means() == fn.evaluate(truth, run, "recall@7").means()


def test_compare_many_models_with_one_truth():
    models = {
        "dot": MODEL, "cosine": fn.Embeddings(USERS + 0.5, ITEMS + 0.5, similarity="cosine"),
        "function": fn.Scorer(lambda users: SCORES[users], n_items=N_ITEMS), "matrix": SCORES,
    }  # fmt: skip
    models = {name: choose(model, exclude=SEEN) for name, model in models.items()}
    table = fn.compare(NUMBERED["csr"], models, "ndcg@5, auc", replicates=200)
    for name, model in models.items():
        own = fn.evaluate(NUMBERED["csr"], model, "ndcg@5, auc")
        assert table.results[name].values.tolist() == own.values.tolist()
    assert table.results["function"].values.tolist() == table.results["matrix"].values.tolist()


def test_explain_by_ids_shows_documents():
    truth = make_dict(is_named=True)
    explained = fn.explain(truth, choose(NAMED, exclude=SEEN), "ndcg@5", query="q3")
    values = fn.evaluate(truth, choose(NAMED, exclude=SEEN), "ndcg@5").to_dict()
    assert values["q3"]["nDCG@5"] == pytest.approx(explained.value, rel=1e-12)
    assert any(name in str(explained) for name in DOCUMENTS)


def test_evaluator_is_shared_by_models_and_pickled():
    model = choose(NAMED, exclude={QUERIES[0]: {DOCUMENTS[1]}}, missing_truth="skip")
    evaluator = fn.Evaluator(make_dict(is_named=True), METRICS)
    values = [evaluator.evaluate(own).values.tolist() for own in (model, pickle.loads(pickle.dumps(model)))]
    assert values[0] == values[1] != evaluator.evaluate(NAMED).values.tolist()
    assert pickle.loads(pickle.dumps(evaluator)).evaluate(model).values.tolist() == values[0]


def test_report_lists_documents_of_models(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    pytest.importorskip("scipy")
    from fastndcg.reports import documents

    other = fn.Embeddings(USERS, -ITEMS, query_ids=QUERIES, document_ids=DOCUMENTS)
    table = fn.compare(make_dict(is_named=True), {"new": NAMED, "old": other}, "ndcg@5", replicates=100)
    table.to_html(tmp_path / "whole.html", documents=True)
    monkeypatch.setattr(documents, "MAX_SCORES", N_USERS * N_ITEMS - 1)
    table.to_html(tmp_path / "short.html", documents=True)
    whole, short = ((tmp_path / name).read_text(encoding="utf-8") for name in ("whole.html", "short.html"))
    assert "d17" in whole
    assert "d17" not in short
    assert f"new has no documents here, since it scores {N_ITEMS} for each query" in short

"""Values that libraries gave for factors, embeddings and ratings: from arrays and from models."""

import json

import dense_cases
import factor_cases
import link_prediction_cases
import numpy as np
import pytest
import rating_cases
import scipy.sparse
from factor_cases import LIGHTFM, RECOMETRICS, SENTENCE_TRANSFORMERS
from model_options import choose
from recorded_data import DATA, RATINGS

import fastndcg as fn

PYKEEN, FACTORS, DENSE = (
    json.loads((DATA / "peers" / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("pykeen", "factors", "dense_libraries")
)
FORMS = ("arrays", "embeddings", "scorer")
TIES = {"optimistic": "best", "realistic": "mean_rank", "pessimistic": "worst"}
NAMES = {
    "arithmetic_mean_rank": "Rank", "geometric_mean_rank": "geometric_mean_rank",
    "harmonic_mean_rank": "harmonic_mean_rank", "inverse_harmonic_mean_rank": "RR", "median_rank": "median_rank",
    "adjusted_arithmetic_mean_rank": "AMR", "adjusted_arithmetic_mean_rank_index": "AMRI",
    "adjusted_inverse_harmonic_mean_rank": "adjusted_mrr",
    **{f"hits_at_{k}": f"Success@{k}" for k in link_prediction_cases.CUTOFFS},
    **{f"adjusted_hits_at_{k}": f"adjusted_hits@{k}" for k in link_prediction_cases.CUTOFFS},
}  # fmt: skip


def make_model(form, users, items, **options):
    if form == "embeddings":
        return fn.Embeddings(users, items, **options)
    scores = users @ items.T + options.get("item_biases", 0)
    return fn.Scorer(lambda span: scores[span], n_items=len(items))


def evaluate_pairs(form, names, ranks, **options):
    """Return results of the recorded triples for one kind of ranks."""
    truth, given = link_prediction_cases.draw_case()
    if form == "arrays":
        truth = truth.astype("i1")
    else:
        truth, given = scipy.sparse.csr_array(truth), make_model(form, given, np.eye(given.shape[1], dtype="f4"))
    return fn.evaluate_pairs(
        truth, given, [NAMES[name] for name in names], convention=f"pykeen(ties={TIES[ranks]})", **options
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ranks", TIES)
@pytest.mark.parametrize(("protocol", "competitors"), [("filtered", "nonrelevant"), ("raw", "all")])
def test_link_prediction_equals_pykeen(protocol, competitors, ranks, form):
    ours = dict(zip(NAMES, evaluate_pairs(form, NAMES, ranks, competitors=competitors).means(), strict=True))
    recorded = {name: PYKEEN[protocol][ranks][name] for name in NAMES}
    assert ours == pytest.approx(recorded, rel=1e-6)  # PyKEEN's ranks are float32


@pytest.mark.parametrize("ranks", TIES)
def test_rows_of_queries_equal_pykeens_macro_evaluator(ranks):
    """The mean of queries over their pairs, and pairs with the weight 1 / pairs of the query."""
    n_pairs = link_prediction_cases.draw_case()[0].sum(axis=1)
    names = [name for name in NAMES if name != "median_rank"]
    weighted = evaluate_pairs("arrays", names, ranks).means(weights=1 / np.repeat(n_pairs, n_pairs))
    found = [(names, weighted)]
    names = [name for name in names if name[0] not in "gh"]
    found += [(names, evaluate_pairs(form, names, ranks, rows="query").means()) for form in FORMS[:2]]
    for names, means in found:
        assert means == pytest.approx([PYKEEN["macro"][ranks][name] for name in names], rel=1e-6)


def evaluate(form, case, metric, convention):
    if form == "arrays":
        labels, scores, offsets = case.flatten()
        return fn.evaluate(labels, scores, metric, offsets=offsets, convention=convention).values[:, 0]
    model = make_model(form, case.users, case.items, item_biases=case.item_biases)
    truth = scipy.sparse.csr_array(np.where(case.is_seen, 0, case.labels))
    return fn.evaluate(truth, choose(model, exclude=case.is_seen), metric, convention=convention).values[:, 0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("theirs", RECOMETRICS)
def test_factors_equal_recometrics(theirs, form):
    metric, choice = RECOMETRICS[theirs]
    for k in factor_cases.CUTOFFS:
        values = evaluate(form, factor_cases.draw_case(), metric.format(k=k), f"recometrics{choice}")
        expected = np.array(FACTORS["recometrics"][theirs.format(k=k)], "f8")
        assert values == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("theirs", RECOMETRICS)
def test_ties_are_the_mean_of_recometrics_orders(theirs):
    metric, choice = RECOMETRICS[theirs]
    values = evaluate("arrays", factor_cases.draw_tied_case(), metric.format(k=5), f"recometrics{choice}")
    expected = np.array(FACTORS["recometrics_tied"][theirs.format(k=5)], "f8")
    assert values == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(1000), nan_ok=True)
    assert np.nanmean(values) == pytest.approx(np.nanmean(expected), abs=5 * 0.5 / np.sqrt(1000 * len(values)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("theirs", LIGHTFM)
def test_factors_equal_lightfm(theirs, form):
    """Items with the score of a relevant item are ranked above it, where relevant items have different scores."""
    for k in factor_cases.CUTOFFS:
        for name, case in (("lightfm", factor_cases.draw_case()), ("lightfm_tied", factor_cases.draw_tied_case())):
            has_relevant = case.labels.any(axis=1)
            values = evaluate(form, case, LIGHTFM[theirs].format(k=k), "lightfm")
            assert np.isnan(values[~has_relevant]).all()
            is_told_apart = [
                len(set(scores[row > 0])) == (row > 0).sum()
                for row, scores in zip(case.labels[has_relevant], case.scores[has_relevant], strict=True)
            ]
            assert sum(is_told_apart) >= 3
            recorded = np.array(FACTORS[name][theirs.format(k=k)])[is_told_apart]
            assert values[has_relevant][is_told_apart] == pytest.approx(recorded, rel=1e-6)  # float32


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("theirs", SENTENCE_TRANSFORMERS)
def test_factors_equal_sentence_transformers(theirs, tied):
    case = factor_cases.draw_tied_case() if tied else factor_cases.draw_case()
    queries, items = map(str, range(len(case.users))), [f"{item:02}" for item in range(len(case.items))]
    qrels, run = (
        {str(user): {items[item]: value for item, value in enumerate(row) if keeps(value)} for user, row in rows}
        for rows, keeps in ((enumerate(case.labels.tolist()), bool), (enumerate(case.scores.tolist()), lambda _: True))
    )
    model = fn.Embeddings(
        case.users, case.items, item_biases=case.item_biases, query_ids=list(queries), document_ids=items
    )
    with_relevant = {query: row for query, row in qrels.items() if row}
    recorded = FACTORS["sentence_transformers_tied" if tied else "sentence_transformers"]
    for k in factor_cases.CUTOFFS:
        for given in ((qrels, run), (with_relevant, model)):
            metric = f"{SENTENCE_TRANSFORMERS[theirs]}@{k}"
            (mean,) = fn.evaluate(*given, metric, convention="sentence_transformers").means()
            assert mean == pytest.approx(recorded[f"{theirs}@{k}"], rel=1e-12)


def test_retrieval_by_cosine_equals_sentence_transformers():
    """The scores of a model, and the same scores as a run."""
    queries, corpus, relevant = dense_cases.draw_texts()
    encoder = dense_cases.StandInModel()
    query_ids, document_ids = [query for query in queries if relevant.get(query)], sorted(corpus)
    rows = ([texts[name] for name in names] for texts, names in ((queries, query_ids), (corpus, document_ids)))
    scores = encoder.similarity(*map(encoder.encode, rows))
    ids = {"query_ids": query_ids, "document_ids": document_ids, "missing_truth": "unretrieved"}
    model = fn.Scorer(lambda users: scores[users], n_items=len(document_ids), **ids)
    run = {query: dict(zip(document_ids, row, strict=True)) for query, row in zip(query_ids, scores, strict=True)}
    truth = {query: relevant[query] for query in query_ids}
    for name, value in DENSE["sentence_transformers"].items():
        theirs, k = name.removeprefix("case_cosine_").split("@")
        for given in (model, run):
            metric = f"{SENTENCE_TRANSFORMERS[theirs]}@{k}"
            (mean,) = fn.evaluate(truth, given, metric, convention="sentence_transformers").means()
            assert mean == pytest.approx(value, rel=1e-12), name


RECORD = json.loads((DATA / "ratings" / "recorded.json").read_text(encoding="utf-8"))
K = rating_cases.K
METRICS = {
    "implicit": {"precision": f"P@{K}", "map": f"AP@{K}", "ndcg": f"nDCG@{K}"},
    "rectools": {
        "NDCG": f"nDCG@{K}", "MAP": f"AP@{K}", "Precision": f"P@{K}", "Recall": f"R@{K}", "MRR": f"RR@{K}",
        "HitRate": f"Success@{K}",
    },
    "lenskit": {
        "NDCG": f"nDCG@{K}", "AveragePrecision": f"AP@{K}", "Precision": f"P@{K}", "Recall": f"R@{K}",
        "RecipRank": f"RR@{K}", "Hit": f"Success@{K}",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def case():
    factors = np.load(DATA / "ratings" / "factors.npz")
    return rating_cases.read_case(RATINGS), factors["users"], factors["items"]


@pytest.mark.parametrize("dtype", ["f2", "f4"])
@pytest.mark.parametrize("library", METRICS)
def test_embeddings_equal_the_library(case, library, dtype):
    (train, test), users, items = case
    model = fn.Embeddings(users.astype(dtype), items.astype(dtype))
    convention = fn.conventions[library].replace(no_relevant="skipped")
    result = fn.evaluate(test, choose(model, exclude=train), list(METRICS[library].values()), convention=convention)
    assert dict(zip(METRICS[library], result.means(), strict=True)) == pytest.approx(
        {name: RECORD[library][name] for name in METRICS[library]}, rel=1e-6
    )
    n_without = int((np.diff(test.indptr) == 0).sum())
    assert result.notes[-1:] == (f"users without truth, with the values of the convention: {n_without}",)


def test_best_items_equal_ranks(case):
    (train, test), users, items = case
    users, items = users.astype("f4"), items.astype("f4")
    model = fn.Embeddings(users, items)
    scorer = fn.Scorer(lambda span: users[span] @ items.T, n_items=len(items))
    metrics = f"ndcg@{K}, recall@{K}, rr@{K}"
    convention = "default(no_relevant=skipped)"
    counted = fn.evaluate(test, choose(model, exclude=train), metrics, convention=convention)
    lists = fn.evaluate(test, choose(model, exclude=train).top(K), metrics, convention=convention)
    np.testing.assert_allclose(lists.values, counted.values, rtol=1e-12)
    scored = fn.evaluate(test, choose(scorer, exclude=train), metrics, convention=convention)
    np.testing.assert_allclose(scored.values, counted.values, rtol=1e-12)

"""Values that libraries gave for factors, from embeddings: PyKEEN, recometrics, LightFM and sentence-transformers."""

import json

import dense_cases
import factor_cases
import link_prediction_cases
import numpy as np
import pytest
import scipy.sparse
from recorded_data import DATA

import fastndcg as fn

PYKEEN, FACTORS, DENSE = (
    json.loads((DATA / "peers" / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("pykeen", "factors", "dense_libraries")
)
TIES = {"optimistic": "best", "realistic": "mean_rank", "pessimistic": "worst"}
PYKEEN_NAMES = {
    "arithmetic_mean_rank": "mean_rank",
    "geometric_mean_rank": "geometric_mean_rank",
    "harmonic_mean_rank": "harmonic_mean_rank",
    "inverse_harmonic_mean_rank": "mrr",
    "median_rank": "median_rank",
    "adjusted_arithmetic_mean_rank": "AMR",
    "adjusted_arithmetic_mean_rank_index": "AMRI",
    "adjusted_inverse_harmonic_mean_rank": "adjusted_mrr",
    **{f"hits_at_{k}": f"hits_at@{k}" for k in link_prediction_cases.CUTOFFS},
    **{f"adjusted_hits_at_{k}": f"adjusted_hits@{k}" for k in link_prediction_cases.CUTOFFS},
}
RECOMETRICS = factor_cases.RECOMETRICS
LIGHTFM = factor_cases.LIGHTFM
SENTENCE_TRANSFORMERS = factor_cases.SENTENCE_TRANSFORMERS


def make_model(kind, users, items, **options):
    if kind == "embeddings":
        return fn.Embeddings(users, items, **options)
    scores = users @ items.T + options.get("item_biases", 0)
    return fn.Scorer(lambda span: scores[span], n_items=len(items))


@pytest.mark.parametrize("kind", ["embeddings", "scorer"])
@pytest.mark.parametrize("ranks", TIES)
@pytest.mark.parametrize(("protocol", "competitors"), [("filtered", "nonrelevant"), ("raw", "all")])
def test_link_prediction_equals_pykeen(protocol, competitors, ranks, kind):
    is_true, scores = link_prediction_cases.draw_case()
    model = make_model(kind, scores, np.eye(scores.shape[1], dtype="f4"))

    result = fn.evaluate_pairs(
        scipy.sparse.csr_array(is_true), model, list(PYKEEN_NAMES.values()), competitors=competitors,
        convention=f"pykeen(ties={TIES[ranks]})",
    )  # fmt: skip

    ours = dict(zip(PYKEEN_NAMES, result.means(), strict=True))
    recorded = PYKEEN[protocol][ranks]
    assert ours == pytest.approx({name: recorded[name] for name in PYKEEN_NAMES}, rel=1e-6)  # PyKEEN's are float32


@pytest.mark.parametrize("ranks", TIES)
def test_rows_of_queries_equal_pykeens_macro_evaluator(ranks):
    """The mean of each head over its true tails."""
    is_true, scores = link_prediction_cases.draw_case()
    names = {name: ours for name, ours in PYKEEN_NAMES.items() if name[0] not in "gh" and name != "median_rank"}
    model = fn.Embeddings(scores, np.eye(scores.shape[1], dtype="f4"))

    result = fn.evaluate_pairs(
        scipy.sparse.csr_array(is_true), model, list(names.values()), rows="query",
        convention=f"pykeen(ties={TIES[ranks]})",
    )  # fmt: skip

    recorded = PYKEEN["macro"][ranks]
    ours = dict(zip(names, result.means(), strict=True))
    assert ours == pytest.approx({name: recorded[name] for name in names}, rel=1e-6)


def evaluate_factors(case, metric, convention, kind="embeddings"):
    model = make_model(kind, case.users, case.items, item_biases=case.item_biases)
    truth = scipy.sparse.csr_array(np.where(case.is_seen, 0, case.labels))
    return fn.evaluate(truth, model, metric, exclude=case.is_seen, convention=convention).values[:, 0]


@pytest.mark.parametrize("kind", ["embeddings", "scorer"])
@pytest.mark.parametrize("theirs", RECOMETRICS)
@pytest.mark.parametrize("k", factor_cases.CUTOFFS)
def test_embeddings_equal_recometrics(theirs, k, kind):
    """All metrics of each user, and the options for truncated metrics."""
    metric, choice = RECOMETRICS[theirs]

    values = evaluate_factors(factor_cases.draw_case(), metric.format(k=k), f"recometrics{choice}", kind)

    expected = np.array(FACTORS["recometrics"][theirs.format(k=k)], "f8")
    assert values == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("kind", ["embeddings", "scorer"])
@pytest.mark.parametrize("theirs", LIGHTFM)
@pytest.mark.parametrize("k", factor_cases.CUTOFFS)
def test_embeddings_equal_lightfm(theirs, k, kind):
    """All metrics of each user with relevant items."""
    case = factor_cases.draw_case()

    values = evaluate_factors(case, LIGHTFM[theirs].format(k=k), "lightfm", kind)

    has_relevant = case.labels.any(axis=1)
    assert np.isnan(values[~has_relevant]).all()
    assert values[has_relevant] == pytest.approx(FACTORS["lightfm"][theirs.format(k=k)], rel=1e-6)  # float32


@pytest.mark.parametrize("theirs", LIGHTFM)
@pytest.mark.parametrize("k", factor_cases.CUTOFFS)
def test_ties_of_embeddings_equal_lightfms(theirs, k):
    """Items with the score of a relevant item are ranked above it, where relevant items have different scores."""
    case = factor_cases.draw_tied_case()
    has_relevant = case.labels.any(axis=1)
    is_told_apart = [
        len(set(scores[row > 0])) == (row > 0).sum()
        for row, scores in zip(case.labels[has_relevant], case.scores[has_relevant], strict=True)
    ]

    values = evaluate_factors(case, LIGHTFM[theirs].format(k=k), "lightfm")[has_relevant]

    recorded = np.array(FACTORS["lightfm_tied"][theirs.format(k=k)])
    assert values[is_told_apart] == pytest.approx(recorded[is_told_apart], rel=1e-6)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("k", factor_cases.CUTOFFS)
@pytest.mark.parametrize("theirs", SENTENCE_TRANSFORMERS)
def test_embeddings_equal_sentence_transformers(theirs, k, tied):
    """Means over the queries with relevant documents, with ties ordered by ids."""
    case = factor_cases.draw_tied_case() if tied else factor_cases.draw_case()
    qrels = {
        str(user): {f"{item:02}": int(label) for item, label in enumerate(row) if label}
        for user, row in enumerate(case.labels)
        if row.any()
    }
    model = fn.Embeddings(
        case.users, case.items, item_biases=case.item_biases, query_ids=list(map(str, range(len(case.users)))),
        document_ids=[f"{item:02}" for item in range(len(case.items))],
    )  # fmt: skip

    metric = f"{SENTENCE_TRANSFORMERS[theirs]}@{k}"
    (mean,) = fn.evaluate(qrels, model, metric, convention="sentence_transformers").means()

    recorded = FACTORS["sentence_transformers_tied" if tied else "sentence_transformers"]
    assert mean == pytest.approx(recorded[f"{theirs}@{k}"], rel=1e-12)


def test_retrieval_by_cosine_equals_sentence_transformers():
    queries, corpus, relevant = dense_cases.draw_texts()
    encoder = dense_cases.StandInModel()
    query_ids, document_ids = [query for query in queries if relevant.get(query)], sorted(corpus)
    scores = encoder.similarity(
        encoder.encode([queries[query] for query in query_ids]), encoder.encode([corpus[name] for name in document_ids])
    )
    model = fn.Scorer(
        lambda users: scores[users], n_items=len(document_ids), query_ids=query_ids, document_ids=document_ids
    )
    truth = {query: relevant[query] for query in query_ids}
    recorded = {name.removeprefix("case_cosine_"): value for name, value in DENSE["sentence_transformers"].items()}

    for name, value in recorded.items():
        theirs, k = name.split("@")
        metric = f"{SENTENCE_TRANSFORMERS[theirs]}@{k}"
        (mean,) = fn.evaluate(
            truth, model, metric, convention="sentence_transformers", missing_truth="unretrieved"
        ).means()  # fmt: skip
        assert mean == pytest.approx(value, rel=1e-12), name

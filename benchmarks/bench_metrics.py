"""Every metric beside nDCG@10, many metrics in one pass, metrics by subtopic, filtered ranks."""

from dataclasses import replace

import numpy as np
import pytest

import fastndcg as fn
from benchmarks.data import ALL_TREC, NDCG, TREC, TWELVE, make_rows, make_workload, parse_measures, prepare_evaluation
from benchmarks.proof import equals, verify_values

NAMES = [row.name for row in fn.list_metrics() if row.function == "evaluate" and row.family != "subtopics"]
DOCUMENTS = 100
MEASURES = [
    *(f"{name}@{k}" for name in ("alpha-nDCG", "alpha-DCG", "ERR-IA", "nERR-IA", "P-IA", "strec") for k in (5, 10, 20)),
    "NRBP", "nNRBP", "MAP-IA",
]  # fmt: skip
BY_SUBTOPIC = ["alpha_nDCG@10", "alpha_DCG@10", "ERR_IA@10", "NRBP", "nNRBP", "P_IA@10", "AP_IA", "S_recall@10"]


@pytest.mark.parametrize("name", NAMES)
def test_metric(race, name):
    """Time nDCG@10 with one more metric: one with a cutoff at 10, one of all ranks beside AP, which finds them."""
    metric = fn.Metric.parse(name)
    base = NDCG if metric.record.has_cutoff else (*NDCG, "AP")
    if metric.record.has_cutoff and metric.k is None:
        metric = metric @ 10
    convention = "default" if "average" in metric.record.ties else "default(ties=input)"
    workload = replace(make_workload("sparse8", 0.1 * race.scale), convention=convention, metrics=base)
    longer = replace(workload, metrics=tuple(dict.fromkeys((*base, str(metric)))))
    race(
        prepare_evaluation(longer),
        lambda values: verify_values(longer, values, 20),
        floors={f"{' and '.join(base)} alone": prepare_evaluation(workload)},
    )


@pytest.mark.parametrize("metrics", [TWELVE, ALL_TREC], ids=["twelve metrics", "all_trec"])
def test_many_metrics(race, metrics):
    """Time many metrics in one pass, against nDCG@10, nDCG of all ranks, and writing as large an output."""
    convention = TREC if metrics is ALL_TREC else "default"
    workload = replace(make_workload("sparse8", 0.2 * race.scale), metrics=metrics, convention=convention)
    race(
        prepare_evaluation(workload),
        lambda values: verify_values(workload, values, 50),
        floors={
            "nDCG@10": prepare_evaluation(replace(workload, metrics=NDCG)),
            "nDCG of all ranks": prepare_evaluation(replace(workload, metrics=("nDCG",))),
            "writing the output": lambda: np.full((len(metrics), len(workload.offsets) - 1), 1.0),
        },
    )


@pytest.mark.parametrize("kind", ["ranked", "no order, ties"])
def test_all_trec_measures(race, kind):
    """Time all measures of trec_eval against pytrec_eval, both with judgments prepared and a run in dicts."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    options = {"is_shuffled": kind != "ranked", "levels": None if kind == "ranked" else 50}
    qrels, run = make_rows(race.size(5_000, 5), 100, is_text=True, **options).make_dicts()
    run = {query: run[query] for query in qrels}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"all_trec"})
    expected = theirs.evaluate(run)
    by_name = parse_measures(next(iter(expected.values())))
    ours = fn.Evaluator(qrels, list(dict.fromkeys(by_name.values())), convention="trec_eval_9")

    def check(result):
        for name, metric in by_name.items():
            if metric.aggregate is None:
                column = [expected[query][name] for query in result.query_ids]
                np.testing.assert_allclose(result[metric], column, rtol=1e-9, atol=1e-12, err_msg=name)

    race(lambda: ours.evaluate(run), check, peers={"pytrec_eval": lambda: theirs.evaluate(run)})


def make_subtopics(n_queries):
    """Make labels by subtopic, scores without ties, and offsets."""
    rng = np.random.default_rng(2008)
    labels = (rng.random((n_queries * DOCUMENTS, 6)) < 0.05).astype("u1")
    places = np.broadcast_to(np.arange(DOCUMENTS, dtype="f4"), (n_queries, DOCUMENTS))
    return labels, rng.permuted(places, axis=1).reshape(-1), np.arange(n_queries + 1) * DOCUMENTS


@pytest.mark.parametrize("metric", [*BY_SUBTOPIC, BY_SUBTOPIC], ids=[*BY_SUBTOPIC, "all"])
def test_subtopics(race, metric):
    """Time metrics by subtopic against nDCG@10 of plain labels."""
    labels, scores, offsets = make_subtopics(race.size(50_000, 2))
    evaluator = fn.Evaluator(labels, metric, offsets=offsets)
    plain = fn.Evaluator(labels.max(axis=1), "nDCG@10", offsets=offsets)
    some = offsets[:51]
    expected = fn.reference.evaluate(labels[: some[-1]], scores[: some[-1]], metric, offsets=some).values
    race(
        lambda: evaluator.evaluate(scores),
        equals(expected, 1e-12, read=lambda result: result.values[:50]),
        floors={"nDCG@10": lambda: plain.evaluate(scores)},
    )


@pytest.mark.parametrize("form", ["ids", "arrays"])
def test_ndeval_measures(race, form):
    """Time all measures of ndeval against pyndeval, whose judgments are prepared."""
    pyndeval = pytest.importorskip("pyndeval")
    labels, scores, offsets = make_subtopics(race.size(2_000, 2))
    n_queries = len(offsets) - 1
    names = [f"d{DOCUMENTS - place:03}" for place in range(DOCUMENTS)] * n_queries
    queries = [str(query) for query in range(n_queries) for _ in range(DOCUMENTS)]
    run = list(zip(queries, names, scores.tolist(), strict=True))
    rows, subtopics = (index.ravel().tolist() for index in np.indices(labels.shape))
    entries = zip(rows, subtopics, labels.ravel().tolist(), strict=True)
    judgments = [(queries[row], str(subtopic), names[row], label) for row, subtopic, label in entries]
    theirs = pyndeval.RelevanceEvaluator(judgments, MEASURES)
    if form == "ids":
        table = fn.Run(*map(list, zip(*run, strict=True)))
        qrels = fn.DiversityQrels(*map(list, zip(*judgments, strict=True)))
        ours, predictions = fn.Evaluator(qrels, MEASURES, convention="ndeval"), table
    else:
        ours = fn.Evaluator(labels, MEASURES, offsets=offsets, convention="ndeval(ties=average)")
        predictions = scores
    expected = theirs.evaluate(run)
    values = [[expected[str(query)][measure] for measure in MEASURES] for query in range(n_queries)]
    race(
        lambda: ours.evaluate(predictions),
        equals(values, 1e-9, read=lambda result: result.values),
        peers={"pyndeval": lambda: theirs.evaluate(run)},
    )


def make_answers(n_queries, n_entities=15_000, n_answers=5):
    """Make the true answers of queries as a sparse matrix, and the scores of all entities, some of them tied."""
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(1)
    scores = np.round(rng.normal(size=(n_queries, n_entities)), 4).astype("f4")
    columns = np.concatenate([rng.choice(n_entities, n_answers, replace=False) for _ in range(n_queries)])
    rows = np.repeat(np.arange(n_queries), n_answers)
    return sparse.csr_array((np.ones(len(rows), "i1"), (rows, columns)), shape=scores.shape), scores


def count_ranks(answers, scores, block=256):
    """Return the means of rank, reciprocal rank and hits, from counts of NumPy over filtered scores in blocks."""
    rows, columns = answers.nonzero()
    ranks = np.empty(len(rows))
    for start in range(0, len(rows), block):
        part = slice(start, start + block)
        own = scores[rows[part]]
        true = own[np.arange(len(own)), columns[part]].copy()[:, None]
        own[answers[rows[part]].toarray() != 0] = np.nan
        ranks[part] = (own > true).sum(axis=1) + 1 + (own == true).sum(axis=1) / 2
    return np.array([ranks.mean(), (1 / ranks).mean(), *((ranks <= k).mean() for k in (1, 3, 10))])


def run_pykeen(answers, scores, block=256):
    """Return the same means from PyKEEN's evaluator."""
    import torch
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.evaluation.evaluator import create_sparse_positive_filter_, filter_scores_

    heads, tails = (torch.as_tensor(ids.astype("i8")) for ids in answers.nonzero())
    triples = torch.stack([heads, torch.zeros_like(heads), tails], dim=1)
    all_scores = torch.as_tensor(scores)
    evaluator = RankBasedEvaluator()
    for batch in triples.split(block):
        batch_scores = all_scores[batch[:, 0]]
        true_scores = batch_scores.gather(1, batch[:, 2:])
        positives, _ = create_sparse_positive_filter_(batch, triples, relation_filter=None, filter_col=2)
        filtered = filter_scores_(batch_scores, positives).scatter_(1, batch[:, 2:], true_scores)
        evaluator.process_scores_(batch, "tail", filtered, true_scores)
    values = evaluator.finalize().to_flat_dict()
    names = ("arithmetic_mean_rank", "inverse_harmonic_mean_rank", "hits_at_1", "hits_at_3", "hits_at_10")
    return np.array([values[f"tail.realistic.{name}"] for name in names])


@pytest.mark.parametrize("peer", ["NumPy", "PyKEEN"])
def test_filtered_ranks(race, peer):
    """Time the filtered ranks of all true answers on one thread, against counts of NumPy and PyKEEN's evaluator."""
    if peer == "PyKEEN":
        pytest.importorskip("pykeen")
    answers, scores = make_answers(race.size(1_000, 20))
    theirs = {"NumPy": count_ranks, "PyKEEN": run_pykeen}[peer]
    metrics = "Rank, RR, Success@1, Success@3, Success@10"
    options = {"convention": "pykeen", "threads": 1}
    race(
        lambda: fn.evaluate_pairs(answers, scores, metrics, **options).means(),
        equals(theirs(answers, scores), 1e-6),
        peers={peer: lambda: theirs(answers, scores)},
    )

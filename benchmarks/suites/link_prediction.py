"""
Link prediction suite: filtered ranks of all true answers, against NumPy's counts and PyKEEN's evaluator.

NumPy counts the higher and the equal scores of each answer, with the other answers of the query set to NaN, in blocks.
PyKEEN does the same in batches of torch, and computes its default metrics. Values are compared before they are timed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.suite import Options, Row, Suite, make_row, measure_parts
from benchmarks.lib.timing import time_alternately

QUERIES = 2000
ENTITIES = 15_000
ANSWERS = 5
BLOCK = 256
METRICS = "Rank, RR, Success@1, Success@3, Success@10"
NAMES = ("arithmetic_mean_rank", "inverse_harmonic_mean_rank", "hits_at_1", "hits_at_3", "hits_at_10")


def make_case(scale: float) -> tuple[Any, np.ndarray]:
    """Make the true answers of queries as a sparse matrix, and the scores of all entities, some of them tied."""
    from scipy import sparse

    n_queries = max(20, int(QUERIES * scale))
    generator = np.random.default_rng(1)
    scores = np.round(generator.normal(size=(n_queries, ENTITIES)), 4).astype("f4")
    columns = np.concatenate([generator.choice(ENTITIES, ANSWERS, replace=False) for _ in range(n_queries)])
    rows = np.repeat(np.arange(n_queries), ANSWERS)
    answers = sparse.csr_array((np.ones(len(rows), "i1"), (rows, columns)), shape=scores.shape)
    return answers, scores


def evaluate_pairs(answers: Any, scores: np.ndarray) -> np.ndarray:
    """Return the means of the metrics of all answers."""
    result = fn.evaluate(
        answers, scores, METRICS, competitors="nonrelevant", rows="pair", convention="pykeen", threads=1
    )
    return np.array(result.means())


def count_ranks(answers: Any, scores: np.ndarray) -> np.ndarray:
    """Return the same means from counts of NumPy."""
    rows, columns = answers.nonzero()
    ranks = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        own = scores[rows[block]]
        places = np.arange(len(own))
        true = own[places, columns[block]].copy()
        own[answers[rows[block]].toarray() != 0] = np.nan
        higher = (own > true[:, None]).sum(axis=1)
        equal = (own == true[:, None]).sum(axis=1)
        ranks[block] = higher + 1 + equal / 2
    return np.array([ranks.mean(), (1 / ranks).mean(), *((ranks <= k).mean() for k in (1, 3, 10))])


def run_pykeen(answers: Any, scores: np.ndarray) -> np.ndarray:
    """Return the same means from PyKEEN's evaluator."""
    import torch
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.evaluation.evaluator import create_sparse_positive_filter_, filter_scores_

    heads, tails = (torch.as_tensor(ids.astype("i8")) for ids in answers.nonzero())
    triples = torch.stack([heads, torch.zeros_like(heads), tails], dim=1)
    all_scores = torch.as_tensor(scores)
    evaluator = RankBasedEvaluator()
    for batch in triples.split(BLOCK):
        batch_scores = all_scores[batch[:, 0]]
        true_scores = batch_scores.gather(1, batch[:, 2:])
        positives, _ = create_sparse_positive_filter_(batch, triples, relation_filter=None, filter_col=2)
        filtered = filter_scores_(batch_scores, positives).scatter_(1, batch[:, 2:], true_scores)
        evaluator.process_scores_(batch, "tail", filtered, true_scores)
    values = evaluator.finalize().to_flat_dict()
    return np.array([values[f"tail.realistic.{name}"] for name in NAMES])


def compare_with(peer: str, theirs: Callable[[Any, np.ndarray], np.ndarray], options: Options) -> list[Row]:
    """Return the row of a ratio of times, after comparing the means."""
    case = make_case(options.scale)
    ours = partial(evaluate_pairs, *case)
    np.testing.assert_allclose(ours(), theirs(*case), rtol=1e-6)
    seconds = time_alternately({"ours": ours, "theirs": partial(theirs, *case)}, options.repeat)
    what = f"filtered ranks: {case[0].nnz:,} answers × {ENTITIES:,} entities, one thread"
    detail = f"{seconds['ours']:.4g} s and {seconds['theirs']:.4g} s"
    return [make_row(what, seconds["theirs"] / seconds["ours"], f"× as fast as {peer}", detail=detail)]


PARTS: dict[str, Callable[[Options], list[Row]]] = {
    "numpy": partial(compare_with, "NumPy", count_ranks),
    "pykeen": partial(compare_with, "PyKEEN", run_pykeen),
}
SUITE = Suite(partial(measure_parts, PARTS), tuple(PARTS), packages=("scipy", "pykeen"))

"""Compare two rankings of each query: the function `agreement` and its results."""

from __future__ import annotations

from typing import Any

from fastndcg.engine.chunk import Span
from fastndcg.engine.compute.agreement import PairedChunk
from fastndcg.engine.loop import evaluate_chunks
from fastndcg.engine.run import EvaluationOutput
from fastndcg.engine.scratch import Scratch
from fastndcg.forms.dispatch import read_pairs
from fastndcg.inputs.join import PairedRankings
from fastndcg.inputs.messages import Options, answer_keywords
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.named_conventions import conventions
from fastndcg.results.kinds import Agreement
from fastndcg.runtime.threads import check_threads


@answer_keywords
def agreement(
    first: Any,
    second: Any,
    metrics: Metrics | None = None,
    *,
    offsets: Any = None,
    groups: Any = None,
    query_ids: Any = None,
    threads: int | None = None,
) -> Agreement:
    """
    Compare two rankings of the same documents, query by query.

    Correlations (tau_b, spearman, tau_ap, tau_ap_b) compare the documents that both rankings have. RBO compares all
    documents. For tau_ap the first ranking is the true one, and high ranks of the second one count most.

    Parameters
    ----------
    first, second : array, path, dict, frame or Run
        Scores, higher is better: two arrays of the same shape, or two runs, which are joined on their ids.
    metrics : str, Metric, or iterable of them
        Such as "tau_b" or ``["tau_ap", "rbo(p=0.9)@100"]``. ``fastndcg metrics`` lists them.
    offsets, groups, query_ids
        See `evaluate`.
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    Agreement
        `Results` with one value a query and metric, NaN where a metric is undefined.

    Raises
    ------
    InvalidInputError
        If shapes disagree, a score is NaN, or the runs have no query in common.

    Examples
    --------
    >>> fn.agreement([[3, 2, 1], [1, 2, 3]], [[3, 1, 2], [1, 2, 3]], "tau_b, rbo(p=0.5)@2").to_dict()
    {0: {'tau_b': 0.3333333333333333, 'RBO(p=0.5)@2': 0.75}, 1: {'tau_b': 1.0, 'RBO(p=0.5)@2': 1.0}}
    >>> old, new = {"q": {"d1": 3, "d2": 2, "d3": 1}}, {"q": {"d1": 9, "d4": 8, "d3": 7}}
    >>> fn.agreement(old, new, ["spearman", "rbo"])
    metric      mean  queries  undefined
    spearman  1.0000        1          0
    RBO       0.6850        1          0
    RBO: means over all orders of equal scores, which 0 of 1 queries have
    """
    parsed = parse_metrics(metrics, "agreement")
    n_threads = check_threads(threads)
    options = Options(offsets, groups, query_ids, threads=threads)
    pairs = read_pairs(first, second, options)
    output = evaluate_pairs_of_rankings(pairs, parsed, n_threads)
    default = conventions["default"]
    return Agreement(output.values, parsed, pairs.query_ids, default, n_tied=output.n_tied, notes=pairs.notes)


CHUNK_DOCUMENTS = 1 << 16  # of both rankings: 1 MB of their places


def evaluate_pairs_of_rankings(pairs: PairedRankings, metrics: tuple[Metric, ...], threads: int) -> EvaluationOutput:
    """Evaluate every metric on every pair of rankings. A query with ties in either ranking counts as tied."""
    tied_counts: list[int] = []

    def read(span: Span, scratch: Scratch) -> PairedChunk:
        offsets = [every[span[0] : span[1] + 1] for every in (pairs.first_offsets, pairs.second_offsets)]
        first, second = (slice(own[0], own[-1]) for own in offsets)
        partners = None if pairs.partners is None else pairs.partners[second]
        from_0 = (offsets[0] - offsets[0][0], offsets[1] - offsets[1][0])
        chunk = PairedChunk((pairs.first[first], pairs.second[second]), from_0, partners, scratch)
        tied_counts.append(chunk.n_tied)
        return chunk

    offsets = pairs.first_offsets + pairs.second_offsets
    return EvaluationOutput(evaluate_chunks(metrics, offsets, CHUNK_DOCUMENTS, threads, read), sum(tied_counts))

"""Compare two rankings of each query: the function `agreement` and its results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fastndcg.choices import FusedDuplicateChoice
from fastndcg.engine.chunk import Span, cut_queries
from fastndcg.engine.plan import describe_kernel, find_depth
from fastndcg.engine.run import EvaluationOutput
from fastndcg.engine.scratch import I4, I8, Scratch
from fastndcg.inputs.dispatch import read_pairs
from fastndcg.inputs.duplicates import make_closed_duplicates
from fastndcg.inputs.join import PairedRankings
from fastndcg.inputs.messages import Options, answer_keywords
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.named_conventions import conventions
from fastndcg.rankings.validation import Array, read_only
from fastndcg.results.kinds import Agreement
from fastndcg.runtime.threads import check_threads, run_all


@answer_keywords
def agreement(
    first: Any,
    second: Any,
    metrics: Metrics | None = None,
    *,
    offsets: Any = None,
    groups: Any = None,
    query_ids: Any = None,
    duplicates: FusedDuplicateChoice | None = None,
    columns: Mapping[str, str | Mapping[str, str]] | None = None,
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
    duplicates : {'raise', 'first', 'best', 'sum'}, optional
        What to do with a document that a query of a run has again. See `evaluate`. Later documents move up. Of equal
        scores the earlier row is first.
    columns, threads
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
    options = Options(
        offsets, groups, query_ids, columns, threads=threads, duplicates=make_closed_duplicates(duplicates)
    )
    pairs = read_pairs(first, second, options)
    output = evaluate_pairs_of_rankings(pairs, parsed, n_threads)
    default = conventions["default"]
    return Agreement(output.values, parsed, pairs.query_ids, default, n_tied=output.n_tied, notes=pairs.notes)


CHUNK_DOCUMENTS = 1 << 16  # of both rankings
FORMS = {"ext": 0.0, "min": 1.0}


def evaluate_pairs_of_rankings(pairs: PairedRankings, metrics: tuple[Metric, ...], threads: int) -> EvaluationOutput:
    """Evaluate every metric on every pair of rankings. A query with ties in either ranking counts as tied."""
    n_queries = len(pairs.first_offsets) - 1
    values = np.empty((len(metrics), n_queries))
    chunks = cut_queries(pairs.first_offsets + pairs.second_offsets, CHUNK_DOCUMENTS, threads)
    tied_counts: list[int] = []

    def make_worker() -> Callable[[Span], None]:
        scratch = Scratch()

        def evaluate_chunk(span: Span) -> None:
            paired = read_chunk(pairs, span, scratch)
            tied_counts.append(paired.n_tied)
            for metric, row in zip(metrics, values, strict=True):
                call = describe_kernel(metric.record.place)
                has_all = metric.name == "RBO"  # others read the documents that both rankings have
                inputs = paired if has_all else paired.common
                call.kernel(*call.bind(read_parameters(metric), inputs), row[slice(*span)])

        return evaluate_chunk

    run_all(chunks, make_worker, min(threads, len(chunks)))
    return EvaluationOutput(values.T, sum(tied_counts))


def read_parameters(metric: Metric) -> dict[str, Any]:
    """Return the metric's cutoff and parameters as numbers, by the names that kernels have for them."""
    numbers: dict[str, Any] = {"k": find_depth(metric)}
    for parameter in metric.record.parameters:
        value = metric.get(parameter.name)
        if parameter.name == "form":
            numbers["form"] = FORMS[value]
        elif value is not None:
            numbers[parameter.name] = float(value)
    return numbers


def read_chunk(pairs: PairedRankings, span: Span, scratch: Scratch) -> PairedChunk:
    """Return the rankings of a span of queries, with offsets from 0."""
    scratch.restart()
    first, stop = span
    first_offsets = pairs.first_offsets[first : stop + 1]
    second_offsets = pairs.second_offsets[first : stop + 1]
    first_scores = pairs.first[first_offsets[0] : first_offsets[-1]]
    second_scores = pairs.second[second_offsets[0] : second_offsets[-1]]
    partners = None if pairs.partners is None else pairs.partners[second_offsets[0] : second_offsets[-1]]
    offsets = (first_offsets - first_offsets[0], second_offsets - second_offsets[0])
    return PairedChunk((first_scores, second_scores), offsets, partners, scratch)


class PairedChunk:
    """
    Two rankings of some queries: attributes with the names of kernels' parameters.

    kernels/metrics/agreement.py describes them. Those that few kernels take are computed on first use.
    """

    def __init__(
        self, scores: tuple[Array, Array], offsets: tuple[Array, Array], partners: Array | None, scratch: Scratch
    ):
        self._first_scores = read_only(scores[0])
        self._second_scores = read_only(scores[1])
        self._partners = partners
        self._scratch = scratch
        self._take = scratch.take
        self.first_offsets = read_only(offsets[0])
        self.second_offsets = read_only(offsets[1])
        first = self._rank(self._first_scores, self.first_offsets)
        second = self._rank(self._second_scores, self.second_offsets)
        self.first_order, self.first_above, self.first_ties, first_tied = first
        self.second_order, self.second_above, self.second_ties, second_tied = second
        self.n_tied = int(np.count_nonzero(first_tied | second_tied))
        self.first_other, self.second_other = self._find_other_ranks()

    @property
    def offsets(self) -> Array:
        """The offsets of both rankings, where they have the same documents."""
        return self.second_offsets

    @functools.cached_property
    def common(self) -> PairedChunk:
        """The documents that both rankings have."""
        if self._partners is None:
            return self
        n_common = int(np.count_nonzero(self._partners >= 0))
        first_scores = np.empty(n_common, self._first_scores.dtype)
        second_scores = np.empty(n_common, self._second_scores.dtype)
        offsets = np.empty(len(self.second_offsets), I8)
        load_kernels("metrics.agreement").gather_common(
            self._first_scores, self.first_offsets, self._second_scores, self.second_offsets, self._partners,
            first_scores, second_scores, offsets,
        )  # fmt: skip
        return PairedChunk((first_scores, second_scores), (offsets, offsets), None, self._scratch.view("common"))

    @functools.cached_property
    def _concordance(self) -> tuple[Array, Array]:
        return self._count_concordant(self.second_order, self.second_ties, self.second_other)

    @property
    def n_concordant_above(self) -> Array:
        """For each document, the number of documents that both rankings place above it."""
        return self._concordance[0]

    @property
    def n_tied_in_first(self) -> Array:
        """For each document, the number above it in the second ranking that tie with it in the first."""
        return self._concordance[1]

    @functools.cached_property
    def first_n_concordant_above(self) -> Array:
        """The counts of `n_concordant_above` in the order of the first ranking."""
        return self._count_concordant(self.first_order, self.first_ties, self.first_other)[0]

    def _rank(self, scores: Array, offsets: Array) -> tuple[Array, Array, Array, Array]:
        order, above, ties = (self._take(len(scores), I4) for _ in range(3))
        is_tied = np.empty(len(offsets) - 1, bool)
        load_kernels("metrics.agreement").rank_all(scores, offsets, order, above, ties, is_tied)
        return order, above, ties, is_tied

    def _find_other_ranks(self) -> tuple[Array, Array]:
        if self._partners is None:
            return self.second_above, self.first_above
        first = self._take(len(self._first_scores), I4)
        second = self._take(len(self._second_scores), I4)
        load_kernels("metrics.agreement").ranks_in_other(
            self._partners, self.first_above, self.first_offsets, self.second_above, self.second_offsets, first, second
        )
        return first, second

    def _count_concordant(self, order: Array, ties: Array, other: Array) -> tuple[Array, Array]:
        concordant = self._take(len(order), I4)
        tied_in_other = self._take(len(order), I4)
        load_kernels("metrics.agreement").count_concordant(order, ties, other, self.offsets, concordant, tied_in_other)
        return concordant, tied_in_other

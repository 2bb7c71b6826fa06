"""Kinds of results: those of pairs, of spans, of two rankings and of recommended items, and `load_result` for all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.exports import FilePath
from fastndcg.inputs.spans import SIDES
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import is_micro
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array
from fastndcg.results.aggregates import aggregate
from fastndcg.results.results import Results
from fastndcg.results.saved import read_saved
from fastndcg.runtime import upper_floors

if TYPE_CHECKING:
    from fastndcg.statistics.comparison import Comparison

ROWS = ("pair", "query")
COMPETITORS = ("nonrelevant", "all")


def check_pairs(rows: Any, competitors: Any, metrics: tuple[Metric, ...], convention: Convention) -> None:
    """
    Check that metrics have a meaning where each relevant document is ranked on its own.

    Raises
    ------
    InvalidInputError
        If `rows` or `competitors` is no choice, or if a metric reads more than labels, or is a quotient of sums that a
        mean over pairs does not keep.
    """
    for name, value, choices in (("rows", rows, ROWS), ("competitors", competitors, COMPETITORS)):
        if not isinstance(value, str) or value not in choices:
            raise InvalidInputError(f"`{name}` must be {' or '.join(map(repr, choices))}, not {shorten(value)}")
    for metric in metrics:
        if metric.record.view != "labels":
            raise InvalidInputError(
                f"{metric} reads which documents are judged or subtopics, and one relevant document alone does not say "
                "that. Take another metric, or evaluate."
            )
        has_weight = metric.get("weight") in ("positives", "impressions") or is_micro(metric, convention)
        if rows == "query" and has_weight:
            raise InvalidInputError(
                f"{metric} weighs queries, and under rows='query' a query has the mean over its pairs. "
                f"Take {metric.bare} with precision_mean='macro', or rows='pair'."
            )


class PairResults(Results):
    """
    Results whose rows are pairs of a query and a relevant document: `evaluate_pairs` makes them.

    `query_ids` repeat. In intervals and comparisons the pairs of a query are a cluster, unless `clusters` says
    otherwise. See `Results` for the methods.

    Parameters
    ----------
    values : (n_pairs, n_metrics) float64 array
        NaN where a metric is undefined.
    metrics : tuple of Metric
        One a column.
    query_ids : (n_pairs,) array or None
        The query of each row. By default numbers from 0.
    convention : Convention
        The meaning of the numbers.
    document_ids : (n_pairs,) array
        The relevant document of each row.
    **counts
        `n_tied` and others. See `Results`.

    Examples
    --------
    >>> result = fn.evaluate_pairs([[1, 0, 1]], [[0.5, 0.4, 0.3]], "rr")
    >>> result.query_ids, result.document_ids, result["rr"]
    (array([0, 0]), array([0, 2]), array([1. , 0.5]))
    >>> result.to_dict()
    {(0, 0): {'RR': 1.0}, (0, 2): {'RR': 0.5}}
    """

    _rows: ClassVar[str] = "pairs"
    __slots__ = ("document_ids",)

    def __init__(
        self,
        values: Array,
        metrics: tuple[Metric, ...],
        query_ids: Array | None,
        convention: Convention,
        *,
        document_ids: Array,
        **counts: Any,
    ) -> None:
        super().__init__(values, metrics, query_ids, convention, **counts)
        self.document_ids = document_ids

    @property
    def pair_ids(self) -> Array:
        """The ids of the rows: tuples of a query id and a document id."""
        pairs = np.empty(len(self), object)
        pairs[:] = self._list_keys()
        return pairs

    def _list_keys(self) -> list[Any]:
        return list(zip(self.query_ids.tolist(), self.document_ids.tolist(), strict=True))

    def _id_columns(self) -> dict[str, Array]:
        return {"query": self.query_ids, "document": self.document_ids}

    def _count_rows(self) -> dict[str, int]:
        return {"n_queries": len(set(self.query_ids.tolist())), "n_pairs": len(self)}


class SpanResults(Results):
    """
    How much of the gold text retrieved chunks cover: `Results` with one row a query of the gold.

    `evaluate_spans` makes it.

    Parameters
    ----------
    values, metrics, query_ids, convention, n_tied, value_weights, n_missing_in_run, n_missing_in_qrels, notes
        See `Results`.
    chance_values, provenance, judged
        See `Results`.

    Examples
    --------
    >>> fn.evaluate_spans({"q": [("a", 0, 10)]}, {"q": [("a", 5, 10)]}, "span_recall")["span_recall"]
    array([0.5])
    """

    sides: ClassVar[tuple[str, str]] = SIDES
    __slots__ = ()

    @property
    def missing_notes(self) -> list[str]:
        """The lines on queries without chunks, and without gold text."""
        counts = {
            f"queries without chunks: {self.n_missing_in_run} (zero)": self.n_missing_in_run,
            f"queries without gold text: {self.n_missing_in_qrels} (skip)": self.n_missing_in_qrels,
        }
        return [line for line, n in counts.items() if n]

    def _footer(self) -> list[str]:
        return [*self.missing_notes, *self.notes]


class Agreement(Results):
    """
    The agreement of two rankings of each query: `Results` with a line on ties.

    `agreement` makes it. `n_tied` is the number of queries in which either ranking has equal scores.

    Parameters
    ----------
    values, metrics, query_ids, convention, n_tied, value_weights, n_missing_in_run, n_missing_in_qrels, notes
        See `Results`.
    chance_values, provenance, judged
        See `Results`.

    Examples
    --------
    >>> result = fn.agreement([[2, 1, 1]], [[3, 2, 1]], "tau_ap")
    >>> result["tau_ap"], result.n_tied
    (array([0.75]), 1)
    """

    __slots__ = ()

    def _footer(self) -> list[str]:
        averages = dict.fromkeys(metric.name for metric in self.metrics if "average" in metric.record.ties)
        ties = f"equal scores, which {self.n_tied} of {len(self)} queries have"
        first = f"{' and '.join(averages)}: means over all orders of {ties}" if averages else ties
        return [first, *self.notes]


class BeyondAccuracy(Results):
    """
    Results with one row a user.

    See `Results` for the methods.

    Some metrics, such as coverage, have one value for all users together. Their column of `values` is NaN. Their mean
    is that value, and so is ``result["coverage"]``. `beyond_accuracy` makes it.

    Parameters
    ----------
    values, metrics, query_ids, convention
        See `Results`. Rows are users.
    overall_values : {Metric: float}
        The value for all users of each metric that has one.
    **counts
        See `Results`.

    Examples
    --------
    >>> result = fn.beyond_accuracy([[0, 1], [0, 2]], "coverage, popularity", popularity=[3, 2, 1, 0])
    >>> result["coverage"], result["popularity"]
    (array(0.75), array([2.5, 2. ]))
    >>> result.mean(), result.overall_values
    ({'coverage': 0.75, 'popularity': 2.25}, {coverage: 0.75})
    """

    __slots__ = ("overall_values",)

    def __init__(
        self,
        values: Array,
        metrics: tuple[Metric, ...],
        query_ids: Array | None,
        convention: Convention,
        *,
        overall_values: Mapping[Metric, float],
        **counts: Any,
    ) -> None:
        super().__init__(values, metrics, query_ids, convention, **counts)
        self.overall_values = dict(overall_values)

    def __getitem__(self, metric: str | Metric) -> Array:
        """Return every user's value of one metric, or the one value for all users."""
        column_metric = self.metrics[self._column(metric)]
        if column_metric in self.overall_values:
            return np.asarray(self.overall_values[column_metric])
        return super().__getitem__(column_metric)

    def means(self, weights: Any = None) -> list[float]:
        """
        Return each metric's mean over users, or its one value for all users.

        Parameters
        ----------
        weights : (n_users,) array or {user id: weight}, optional
            See `mean`.

        Returns
        -------
        list of float
            In the order of the metrics.
        """
        user_means = super().means(weights)
        return [self.overall_values.get(metric, mean) for metric, mean in zip(self.metrics, user_means, strict=True)]

    def _table(self) -> list[tuple[str, str, str, str]]:
        head, *rows = super()._table()
        body = [
            (*row[:2], "all", "") if metric in self.overall_values else row
            for metric, row in zip(self.metrics, rows, strict=True)
        ]
        return [(head[0], head[1], "users", head[3]), *body]

    def _footer(self) -> list[str]:
        return [*(["all: one value for all users together"] if self.overall_values else []), *self.notes]


class IndexRecall(Results):
    """
    The recall of a vector index: `Results` with one row a query, and what was lost.

    `index_recall` makes it. Files of results keep all but `quality`.

    Parameters
    ----------
    values, metrics, query_ids, convention
        See `Results`.
    first_lost : (n_queries,) int array
        The first rank of exact search, from 1, that was not found within the largest cutoff. 0: nothing was lost.
    relative_error : (n_queries,) float64 array
        The sum of the finite scores of what was found, below that of as many best ones, as a share of it. NaN without
        any.
    quality : {"exact": Results, "index": Results}, optional
        The values of nDCG, if judgments were given.
    **counts
        See `Results`.

    Examples
    --------
    >>> recall = fn.index_recall(fn.Embeddings([[1.0]], [[3.0], [2.0], [1.0]]), [[0, 2]], "recall@2")
    >>> recall.first_lost, recall.relative_error.round(4)
    (array([2]), array([0.2]))
    """

    __slots__ = ("first_lost", "quality", "relative_error")

    def __init__(
        self,
        values: Array,
        metrics: tuple[Metric, ...],
        query_ids: Array | None,
        convention: Convention,
        *,
        first_lost: Array,
        relative_error: Array,
        quality: Mapping[str, Results] | None = None,
        **counts: Any,
    ) -> None:
        super().__init__(values, metrics, query_ids, convention, **counts)
        self.first_lost = first_lost
        self.relative_error = relative_error
        self.quality = quality

    def cost(self) -> Comparison:
        """
        Compare the index with exact search by nDCG.

        Returns
        -------
        Comparison
            Of the systems "exact", the baseline, and "index".

        Raises
        ------
        InvalidInputError
            If no judgments were given.

        Examples
        --------
        >>> model = fn.Embeddings([[1.0], [1.0]], [[3.0], [2.0]], query_ids=["q", "r"], document_ids=["a", "b"])
        >>> recall = fn.index_recall(model, {"q": ["b"], "r": ["a"]}, "recall@1", truth={"q": {"a": 1}, "r": {"a": 1}})
        >>> recall.cost().rows[1].difference
        -0.5
        """
        if self.quality is None:
            raise InvalidInputError("`truth` must be given to index_recall for the cost of the index in nDCG")
        comparison: Comparison = upper_floors.find("compare")(dict(self.quality))
        return comparison

    @property
    def missing_notes(self) -> list[str]:
        """The lines on queries that the index was not given, and on those that the model lacks."""
        counts = {
            f"queries that the index lacks: {self.n_missing_in_run} (zero)": self.n_missing_in_run,
            f"queries that the model lacks: {self.n_missing_in_qrels} (skip)": self.n_missing_in_qrels,
        }
        return [line for line, n in counts.items() if n]

    def list_loss(self) -> list[str]:
        """Return what was lost, in lines."""
        worst, *others = (f"{name}: {text}" for name, text in self.describe_loss().items() if text)
        return [worst, "; ".join(others)]

    def describe_loss(self) -> dict[str, str]:
        """Return what was lost, as texts by name."""
        bare = {metric.bare: place for place, metric in enumerate(self.metrics)}
        worst = {metric: aggregate(metric.aggregated("quantile", q=WORST), self.values[:, place], None)
                 for metric, place in bare.items()}  # fmt: skip
        lost = self.first_lost[self.first_lost > 0]
        errors = self.relative_error[~np.isnan(self.relative_error)]
        facts = {
            f"quantile {WORST:g}": ", ".join(f"{metric} {value:.4f}" for metric, value in worst.items()),
            "queries without loss": f"{len(self) - len(lost)} of {len(self)}",
            "first rank lost, median": f"{np.median(lost):g}" if len(lost) else "",
            "relative error of scores": f"{errors.mean():.2g}" if len(errors) else "",
        }
        if self.quality is not None:
            exact, own = (self.quality[name].mean() for name in ("exact", "index"))
            costs = (f"{metric} {exact[metric]:.4f}, {own[metric]:.4f}" for metric in exact)
            facts["exact search, index"] = "; ".join(costs)
        return facts

    def summary_facts(self) -> dict[str, Any]:
        """
        Return means and counts by name, for JSON.

        Returns
        -------
        dict
            That of `Results`, the number of queries without loss, the mean relative error of scores, and means of nDCG.
        """
        facts = super().summary_facts()
        errors = self.relative_error[~np.isnan(self.relative_error)]
        facts["n_without_loss"] = int(np.count_nonzero(self.first_lost == 0))
        facts["relative_error"] = float(errors.mean()) if len(errors) else math.nan
        if self.quality is not None:
            facts["quality"] = {name: own.mean() for name, own in self.quality.items()}
        return facts

    def _export_columns(self) -> dict[str, Any]:
        return super()._export_columns() | {"first_lost": self.first_lost, "relative_error": self.relative_error}

    def _list_facts(self, **extra_facts: Any) -> dict[str, Any]:
        arrays = {name: getattr(self, name).tolist() for name in ("first_lost", "relative_error")}
        return super()._list_facts(**arrays, **extra_facts)

    def _footer(self) -> list[str]:
        return [*self.missing_notes, *self.list_loss(), *self.notes]


WORST = 0.05  # the share of the worst queries, of whose best one the recall is shown
KINDS: dict[str, type[Results]] = {  # by the function that computes the metrics
    "evaluate": Results,
    "evaluate_spans": SpanResults,
    "agreement": Agreement,
    "beyond_accuracy": BeyondAccuracy,
}


def load_result(path: FilePath) -> Results:
    """
    Read results that `Results.save`, `Results.to_json` or ``--save-baseline`` of the command line wrote.

    Parameters
    ----------
    path : str or path
        The file, plain or packed, a pipe, or "-" for standard input.

    Returns
    -------
    Results
        Of the class that was written, such as `PairResults`, with the same values, metrics, query ids and convention.

    Raises
    ------
    InvalidInputError
        If the file is damaged or was written by something else, or its format is of a later version. If a metric or a
        choice of its convention has another meaning in this version.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/baseline.json"
    >>> fn.evaluate({"q1": {"d1": 1}}, {"q1": {"d2": 2, "d1": 1}}, "rr").save(path)
    >>> fn.load_result(path).to_dict()
    {'q1': {'RR': 0.5}}
    """
    fields = read_saved(path)
    kind = PairResults if "document_ids" in fields else KINDS[fields["metrics"][0].record.function_name]
    if "first_lost" in fields:
        kind = IndexRecall
    return kind(**fields)

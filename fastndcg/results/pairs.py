"""Results of pairs of a query and a relevant document, and the arguments that say what pairs are."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.exports.files import FilePath
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import is_micro
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array
from fastndcg.results.results import Results
from fastndcg.results.saved import read_saved

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

    Any number of threads may use one at once.

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


def load_result(path: FilePath) -> Results:
    """
    Read results that `Results.save`, `Results.to_json` or ``fastndcg evaluate --save-baseline`` wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Results
        With the same values, metrics, query ids and convention. `PairResults` if these were written.

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
    return PairResults(**fields) if "document_ids" in fields else Results(**fields)

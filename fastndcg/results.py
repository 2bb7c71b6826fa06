"""Results: one value a query and metric, with means, a table to look at, and ways out to frames."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError, InvalidTypeError, nearest, optional_import
from fastndcg.metric import Metric
from fastndcg.rankings import Array
from fastndcg.sums import mean


class Results:
    """
    The values of metrics for every query.

    Attributes
    ----------
    values : (n_queries, n_metrics) float64 array
        NaN where a metric is undefined.
    metrics : tuple of Metric
        One a column.
    query_ids : (n_queries,) array
        One a row.
    convention : Convention
        What the numbers mean.
    n_tied : int
        In how many queries equal scores with different labels begin within the deepest cutoff, so that the tie
        policy decides a value.
    n_missing_in_run, n_missing_in_qrels : int
        Queries on one side only.
    notes : tuple of str
        What else was done to the input, as it is printed.

    Examples
    --------
    >>> result = fn.evaluate([1, 0, 0, 2], [0.1, 0.9, 0.8, 0.3], "ndcg@10,rr", offsets=[0, 2, 4])
    >>> result["rr"]
    array([0.5, 0.5])
    >>> print(result)
    metric     mean  queries  undefined
    nDCG@10  0.6309        2          0
    RR       0.5000        2          0
    convention default; ties average, in 0 of 2 queries between different labels
    """

    __slots__ = (
        "_query_ids",
        "convention",
        "metrics",
        "n_missing_in_qrels",
        "n_missing_in_run",
        "n_tied",
        "notes",
        "values",
    )

    def __init__(
        self,
        values: Array,
        metrics: tuple[Metric, ...],
        query_ids: Array | None,
        convention: Convention,
        *,
        n_tied: int = 0,
        n_missing_in_run: int = 0,
        n_missing_in_qrels: int = 0,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.values = values
        self.metrics = metrics
        self._query_ids = query_ids
        self.convention = convention
        self.n_tied = n_tied
        self.n_missing_in_run = n_missing_in_run
        self.n_missing_in_qrels = n_missing_in_qrels
        self.notes = notes

    @property
    def query_ids(self) -> Array:
        """The queries' ids, their numbers from 0 where they have none."""
        return np.arange(len(self.values)) if self._query_ids is None else self._query_ids

    @property
    def has_query_ids(self) -> bool:
        """Whether queries have ids, and not only numbers."""
        return self._query_ids is not None

    def __getitem__(self, metric: str | Metric) -> Array:
        """Every query's value of one metric."""
        return self.values[:, self._column(metric)]

    def __len__(self) -> int:
        return len(self.values)

    __iter__ = None  # over queries or over metrics? `query_ids` and `metrics` say which

    def mean(self) -> dict[str, float]:
        """Each metric's mean over the queries for which it is defined; NaN where there are none."""
        return dict(zip(map(str, self.metrics), self.means(), strict=True))

    def means(self) -> list[float]:
        """Each metric's mean, in the order of the metrics."""
        return [mean(self.values[:, column]) for column in range(len(self.metrics))]

    def n_undefined(self) -> Array:
        """For each metric, how many queries have no value."""
        return np.asarray(np.count_nonzero(np.isnan(self.values), axis=0))

    def to_dict(self) -> dict[Any, dict[str, float]]:
        """One dict a query id, with one value a metric: plain Python ids and floats."""
        names = [str(metric) for metric in self.metrics]
        rows = zip(self.query_ids.tolist(), self.values.tolist(), strict=True)
        named = {query: dict(zip(names, row, strict=True)) for query, row in rows}
        if len(named) < len(self):
            raise InvalidInputError("`query_ids` must differ to be keys of a dict, but some are equal; use `values`")
        return named

    def to_pandas(self) -> Any:
        """One row a query, indexed by its id, and one column a metric, as a pandas DataFrame."""
        pandas = optional_import("pandas", "a pandas frame", "pandas")
        index = pandas.Index(self.query_ids, name="query")
        return pandas.DataFrame(self.values, index=index, columns=[str(metric) for metric in self.metrics])

    def to_polars(self) -> Any:
        """One row a query: its id in the column ``query``, and one column a metric, as a Polars DataFrame."""
        polars = optional_import("polars", "a Polars frame", "polars")
        return polars.DataFrame(self._columns())

    def to_arrow(self) -> Any:
        """One row a query: its id in the column ``query``, and one column a metric, as a pyarrow Table."""
        pyarrow = optional_import("pyarrow", "an Arrow table", "arrow")
        return pyarrow.table(self._columns())

    def __str__(self) -> str:
        rows = [[*row] for row in self._table()]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = (
            "  ".join(
                [
                    row[0].ljust(widths[0]),
                    *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)),
                ]
            )
            for row in rows
        )
        return "\n".join([*lines, *self._footer()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head, *body = self._table()
        cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        rows = "".join(
            "<tr>" + "".join(f"<td style='text-align:{'right' if i else 'left'}'>{html.escape(cell)}</td>"
                             for i, cell in enumerate(row)) + "</tr>"
            for row in body
        )  # fmt: skip
        notes = "<br>".join(html.escape(line) for line in self._footer())
        return (
            f"<table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody>"
            f"<tfoot><tr><td colspan='4' style='text-align:left'>{notes}</td></tr></tfoot></table>"
        )

    def _table(self) -> list[tuple[str, str, str, str]]:
        body = [
            (str(metric), f"{mean:.4f}", str(len(self)), str(undefined))
            for metric, mean, undefined in zip(self.metrics, self.means(), self.n_undefined(), strict=True)
        ]
        return [("metric", "mean", "queries", "undefined"), *body]

    def _footer(self) -> list[str]:
        policy = f"ties {self.convention.ties}, in {self.n_tied} of {len(self)} queries between different labels"
        lines = [f"convention {self.convention}; {policy}"]
        if self.n_missing_in_run:
            lines.append(
                f"judged queries missing in the run: {self.n_missing_in_run} ({self.convention.missing_in_run})"
            )
        if self.n_missing_in_qrels:
            choice = self.convention.missing_in_qrels
            lines.append(f"queries of the run missing in the qrels: {self.n_missing_in_qrels} ({choice})")
        return [*lines, *self.notes]

    def _columns(self) -> dict[str, Any]:
        ids = self.query_ids
        columns: dict[str, Any] = {"query": ids.tolist() if ids.dtype == object else ids}
        return columns | {str(metric): self.values[:, column] for column, metric in enumerate(self.metrics)}

    def _column(self, metric: str | Metric) -> int:
        wanted = Metric.parse(metric) if isinstance(metric, str) else metric
        if not isinstance(wanted, Metric):
            raise InvalidTypeError(f"a column of results is named by a text or a Metric, not {type(metric).__name__}")
        if wanted not in self.metrics:
            known = [str(one) for one in self.metrics]
            hint = nearest(str(wanted), known)
            raise InvalidInputError(f"these results have no {wanted}.{hint} They have {', '.join(known)}")
        return self.metrics.index(wanted)

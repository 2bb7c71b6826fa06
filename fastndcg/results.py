"""Results: one value a query and metric, with means, a table to look at, and ways out to frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fastndcg.aggregates import aggregate
from fastndcg.conventions import Convention
from fastndcg.display import aligned, html_table
from fastndcg.errors import InvalidInputError, InvalidTypeError, nearest, optional_import
from fastndcg.metric import Metric
from fastndcg.of_queries import checked_weights
from fastndcg.rankings import Array

if TYPE_CHECKING:
    from fastndcg.statistics.intervals import Interval
    from fastndcg.statistics.single import Segment
    from fastndcg.statistics.table import Table


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
    value_weights : (n_queries, n_metrics) float64 array or None
        What each value counts in its metric's mean, beside the weight of its query; None if all count the same.
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
        "value_weights",
        "values",
    )

    def __init__(
        self,
        values: Array,
        metrics: tuple[Metric, ...],
        query_ids: Array | None,
        convention: Convention,
        n_tied: int = 0,
        value_weights: Array | None = None,
        n_missing_in_run: int = 0,
        n_missing_in_qrels: int = 0,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.values = values
        self.metrics = metrics
        self._query_ids = query_ids
        self.convention = convention
        self.value_weights = value_weights
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

    def mean(self, weights: Any = None) -> dict[str, float]:
        """
        Each metric's mean over the queries for which it is defined; NaN where there are none.

        Metrics such as ``gm(AP)`` or ``quantile(nDCG@10, q=0.9)`` have their own aggregate in its place.

        Parameters
        ----------
        weights : (n_queries,) array or {query id: weight}, optional
            How much each query counts, such as its traffic: finite numbers of 0 or more. A query whose value is
            undefined counts nothing, neither above nor below the line.

        Examples
        --------
        >>> fn.evaluate([[0, 1], [1, 0]], [[2, 1], [2, 1]], "rr").mean(weights=[3, 1])
        {'RR': 0.625}
        """
        return dict(zip(map(str, self.metrics), self.means(weights), strict=True))

    def means(self, weights: Any = None) -> list[float]:
        """Each metric's mean, in the order of the metrics; `weights` as in `mean`."""
        counted = self.value_weights
        if weights is not None:
            of_queries = checked_weights(weights, self.query_ids)[:, None]
            counted = np.broadcast_to(of_queries, self.values.shape) if counted is None else counted * of_queries
        return [
            aggregate(metric, self.values[:, column], None if counted is None else counted[:, column])
            for column, metric in enumerate(self.metrics)
        ]

    def n_undefined(self) -> Array:
        """For each metric, how many queries have no value."""
        return np.asarray(np.count_nonzero(np.isnan(self.values), axis=0))

    def confidence_interval(
        self,
        metric: str | Metric,
        *,
        method: str = "percentile",
        level: float = 0.95,
        replicates: int = 10_000,
        seed: int = 0,
        weights: Any = None,
        clusters: Any = None,
        strata: Any = None,
        threads: int | None = None,
    ) -> Interval:
        """
        The mean of a metric between two bounds.

        Parameters
        ----------
        metric : str or Metric
        method : {'percentile', 'bca', 't'}
            See `compare`, as for the others.
        level, replicates, seed, weights, clusters, strata, threads
            See `compare`.

        Returns
        -------
        Interval
            With bounds of NaN and a reason where fewer than two queries have a value.

        Raises
        ------
        MissingPackageError
            If SciPy, which has Student's distribution, is not installed.

        Examples
        --------
        >>> result = fn.evaluate([[1, 0], [0, 1], [1, 0], [0, 1]], [[2, 1]] * 4, "rr")
        >>> interval = result.confidence_interval("rr")
        >>> interval.mean, interval.low, interval.high
        (0.75, 0.5, 1.0)
        """
        from fastndcg.statistics.settings import Settings
        from fastndcg.statistics.single import interval_of

        settings = Settings(interval=method, level=level, replicates=replicates, seed=seed, threads=threads)
        return interval_of(self, metric, settings, weights=weights, clusters=clusters, strata=strata)

    def by(
        self,
        segments: Any,
        *,
        method: str = "percentile",
        level: float = 0.95,
        replicates: int = 10_000,
        seed: int = 0,
        weights: Any = None,
        clusters: Any = None,
        strata: Any = None,
        threads: int | None = None,
    ) -> Table[Segment]:
        """
        Each segment's means with their intervals.

        Parameters
        ----------
        segments : (n_queries,) array or {query id: segment}
            The kind of each query.
        method, level, replicates, seed, weights, clusters, strata, threads
            See `confidence_interval`.

        Examples
        --------
        >>> result = fn.evaluate([[1, 0], [0, 1], [1, 0], [0, 1]], [[2, 1]] * 4, "rr")
        >>> print(result.by(["long", "long", "short", "short"], replicates=1000))
        segment  metric  queries    mean     95 % interval
        long     RR            2  0.7500  [0.5000, 1.0000]
        short    RR            2  0.7500  [0.5000, 1.0000]
        95 % intervals: percentile bootstrap, 1000 replicates, seed 0
        """
        from fastndcg.statistics.settings import Settings
        from fastndcg.statistics.single import by_segment

        settings = Settings(interval=method, level=level, replicates=replicates, seed=seed, threads=threads)
        return by_segment(self, segments, settings, weights=weights, clusters=clusters, strata=strata)

    def plot(self, metric: str | Metric | None = None, *, axes: Any = None) -> Any:
        """
        Draw how a metric's values are spread, and the mean with its interval, with matplotlib.

        Parameters
        ----------
        metric : str or Metric, optional
            By default the first.
        axes : matplotlib Axes, optional
            Where to draw; by default a figure of its own.

        Returns
        -------
        matplotlib Axes
        """
        from fastndcg.reports.plots import distribution

        return distribution(self, self.metrics[0 if metric is None else self._column(metric)], axes)

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
        return "\n".join([*aligned(self._table(), 1), *self._footer()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table(self._table(), 1, self._footer())

    def _table(self) -> list[tuple[str, str, str, str]]:
        body = [
            (str(metric), f"{mean:.4f}", str(len(self)), str(undefined))
            for metric, mean, undefined in zip(self.metrics, self.means(), self.n_undefined(), strict=True)
        ]
        are_means = all(metric.aggregate is None for metric in self.metrics)
        return [("metric", "mean" if are_means else "overall", "queries", "undefined"), *body]

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
        try:
            return self.metrics.index(wanted)
        except ValueError:
            known = [str(one) for one in self.metrics]
            hint = nearest(str(wanted), known)
            raise InvalidInputError(f"these results have no {wanted}.{hint} They have {', '.join(known)}") from None

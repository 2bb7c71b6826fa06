"""Results: the values of metrics for every query or pair, with means, a table, and conversions to frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fastndcg import __version__
from fastndcg.choices import IntervalMethod
from fastndcg.errors import FastndcgError, InvalidInputError, InvalidTypeError, shorten, suggest_name
from fastndcg.exports import FilePath, Printable, PrintedTable, deliver_text, dump_json
from fastndcg.forms.digests import compute_digest
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array, check_whole_number
from fastndcg.results.aggregates import aggregate, standard_deviation
from fastndcg.results.notes import describe_judged, describe_missing, notes_on
from fastndcg.results.per_query import check_weights
from fastndcg.results.saved import (
    FORMAT,
    Provenance,
    add_checksum,
    check_save_path,
    describe_extras,
)
from fastndcg.runtime import upper_floors
from fastndcg.runtime.escapes import show_name

if TYPE_CHECKING:
    from fastndcg.statistics.intervals import Interval
    from fastndcg.statistics.one_system import Segment
    from fastndcg.statistics.table import Table


Shares = Mapping[str, float] | Callable[[], Mapping[str, float]]  # of judged documents, or what measures them


class MeanTable(Printable):
    """
    Base class of `Results` and `Summary`: the means of metrics in a printed table, and counts of queries.

    It needs `means`, `n_undefined` and the number of queries as its length.
    """

    _rows: ClassVar[str] = "queries"  # the word for rows in tables
    sides: ClassVar[tuple[str, str]] = ("truth", "run")  # what was evaluated, as `compute_digest` calls it
    __slots__ = ("_notes", "convention", "metrics", "n_missing_in_qrels", "n_missing_in_run", "n_tied")
    _notes: tuple[str, ...]
    convention: Convention
    metrics: tuple[Metric, ...]
    n_missing_in_qrels: int
    n_missing_in_run: int
    n_tied: int

    @property
    def judged(self) -> Mapping[str, float] | None:
        """None: the share of judged documents was not measured."""
        return None

    def __len__(self) -> int:
        raise NotImplementedError

    def means(self) -> list[float]:
        """Return each metric's mean, in the order of the metrics."""
        raise NotImplementedError

    def __float__(self) -> float:
        """Return the mean of the only metric."""
        if len(self.metrics) != 1:
            names = ", ".join(map(str, self.metrics))
            raise InvalidInputError(
                f"`result` must have one metric to be a number, got {len(self.metrics)}: {names}. Take result.mean(), "
                "which has the mean of each."
            )
        return self.means()[0]

    def n_undefined(self) -> Array:
        """Count the queries in which each metric is undefined."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the input and on metrics (see the class)."""
        return (*self._notes, *notes_on(self.metrics, self.convention, self.n_tied > 0))

    @property
    def missing_notes(self) -> list[str]:
        """The lines on queries that one side lacks."""
        return describe_missing(self.n_missing_in_run, self.n_missing_in_qrels, self.convention)

    def _table(self) -> list[tuple[str, str, str, str]]:
        body = [
            (str(metric), f"{mean:.4f}", str(len(self)), str(undefined))
            for metric, mean, undefined in zip(self.metrics, self.means(), self.n_undefined(), strict=True)
        ]
        are_means = all(metric.aggregate is None for metric in self.metrics)
        return [("metric", "mean" if are_means else "overall", self._rows, "undefined"), *body]

    def _footer(self) -> list[str]:
        tied = (
            f"ties {self.convention.ties}, in {self.n_tied} of {len(self)} {self._rows}" if self.n_tied else "no ties"
        )
        first = f"convention {self.convention}; {tied} between different labels"
        judged = describe_judged([self.judged], self.metrics, self.convention)
        return [first, *self.missing_notes, *judged, *self.notes]

    def _print_table(self) -> PrintedTable:
        rows = self._table()
        return PrintedTable(rows, [True] + [False] * (len(rows[0]) - 1), self._footer())

    def _head_facts(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": __version__,
            "convention": {"name": self.convention.name, **self.convention.choices()},
            "metrics": [str(metric) for metric in self.metrics],
        }

    def summary_facts(self) -> dict[str, Any]:
        """
        Return means and counts by name, for JSON.

        Returns
        -------
        dict
            Means and numbers of undefined queries by metric, numbers of queries, shares of judged documents, and notes.
        """
        return {
            "mean": dict(zip(map(str, self.metrics), self.means(), strict=True)),
            **self._count_rows(),
            "n_undefined": dict(zip(map(str, self.metrics), self.n_undefined().tolist(), strict=True)),
            "n_tied": self.n_tied,
            "n_missing_in_run": self.n_missing_in_run,
            "n_missing_in_qrels": self.n_missing_in_qrels,
            "judged": self.judged,
            "notes": list(self.notes),
        }

    def _count_rows(self) -> dict[str, int]:
        return {"n_queries": len(self)}

    def _column(self, metric: str | Metric) -> int:
        """Return the column of a metric."""
        parsed = Metric.parse(metric) if isinstance(metric, str) else metric
        if not isinstance(parsed, Metric):
            raise InvalidTypeError(f"a column of results is named by a text or a Metric, not {type(metric).__name__}")
        try:
            return self.metrics.index(parsed)
        except ValueError:
            names = list(map(str, self.metrics))
            hint = suggest_name(str(parsed), names)
            raise InvalidInputError(
                f"these results have no {parsed}.{hint} They have {show_name(', '.join(names))}"
            ) from None


class Results(MeanTable):
    """
    The values of metrics for every query.

    `evaluate` makes them. Parameters are attributes, too. Results are equal only to themselves: compare `values`,
    `metrics` and `query_ids`.

    Parameters
    ----------
    values : (n_queries, n_metrics) float64 array
        NaN where a metric is undefined.
    metrics : tuple of Metric
        One a column.
    query_ids : (n_queries,) array or None
        One a row. By default their numbers from 0.
    convention : Convention
        The meaning of the numbers.
    n_tied : int, default 0
        The number of queries in which equal scores with different labels begin within the deepest cutoff. There the
        tie policy matters.
    value_weights : (n_queries, n_metrics) float64 array, optional
        The weight of each value in its metric's mean, multiplied by the weight of its query. None: all weights are 1.
    n_missing_in_run, n_missing_in_qrels : int, default 0
        The number of queries that only the qrels, or only the run, have.
    notes : tuple of str, optional
        Remarks on changes of the input. The attribute has others on metrics with another value in the convention's
        program.
    chance_values : (n_queries, n_metrics) float64 array, optional
        What a random order gives, for aggregates that are adjusted for chance. None: no metric needs it.
    provenance : Provenance, optional
        Where results from a file come from. None: they were computed here.
    judged : dict of str to float, or function that returns one, optional
        See the attribute.

    Examples
    --------
    >>> result = fn.evaluate([1, 0, 0, 2], [0.1, 0.9, 0.8, 0.3], "ndcg@10,rr", offsets=[0, 2, 4])
    >>> result["rr"]
    array([0.5, 0.5])
    >>> float(fn.evaluate([1, 0, 0, 2], [0.1, 0.9, 0.8, 0.3], "rr", offsets=[0, 2, 4]))  # the mean of one metric
    0.5
    >>> print(result)
    metric     mean  queries  undefined
    nDCG@10  0.6309        2          0
    RR       0.5000        2          0
    convention default; no ties between different labels
    """

    _index: ClassVar[str | None] = "query"
    __slots__ = ("_judged", "_query_ids", "chance_values", "provenance", "value_weights", "values")

    def __init__(
        self,
        values: Array,
        metrics: tuple[Metric, ...],
        query_ids: Array | None,
        convention: Convention,
        *,
        n_tied: int = 0,
        value_weights: Array | None = None,
        n_missing_in_run: int = 0,
        n_missing_in_qrels: int = 0,
        notes: tuple[str, ...] = (),
        chance_values: Array | None = None,
        provenance: Provenance | None = None,
        judged: Shares | None = None,
    ) -> None:
        self.metrics = metrics
        self.convention = convention
        self.n_tied = n_tied
        self.n_missing_in_run = n_missing_in_run
        self.n_missing_in_qrels = n_missing_in_qrels
        self._notes = notes
        self.values = values
        self._query_ids = query_ids
        self.value_weights = value_weights
        self.chance_values = chance_values
        self.provenance = provenance
        self._judged = judged

    @property
    def judged(self) -> Mapping[str, float] | None:
        """
        The mean of Judged at each cutoff of the metrics, such as ``{"Judged@10": 0.9}``.

        It is the share of the first k documents that have a judgment. Empty if all ranked documents have one. None if
        that was not measured, as in streams, and for items that are recommended to users.
        """
        if callable(self._judged):
            self._judged = self._judged()
        return self._judged

    def __getstate__(self) -> Any:
        """Return what copies keep: the share of judged documents, not the rankings that it is measured on."""
        self._judged = self.judged
        return super().__getstate__()

    @property
    def query_ids(self) -> Array:
        """The queries' ids, or their numbers from 0."""
        return np.arange(len(self.values)) if self._query_ids is None else self._query_ids

    @property
    def own_notes(self) -> tuple[str, ...]:
        """Remarks on changes of the input, without those on metrics."""
        return self._notes

    @property
    def has_query_ids(self) -> bool:
        """True if queries have ids, not only numbers."""
        return self._query_ids is not None

    def __getitem__(self, metric: str | Metric) -> Array:
        """Return every query's value of one metric."""
        return self.values[:, self._column(metric)]

    def __len__(self) -> int:
        return len(self.values)

    __iter__ = None  # queries or metrics? `query_ids` and `metrics` are unambiguous

    def mean(self, weights: Any = None) -> dict[str, float]:
        """
        Return each metric's mean over the queries in which it is defined.

        A metric such as ``gm(AP)`` or ``quantile(nDCG@10, q=0.9)`` has its aggregate in place of the mean.

        Parameters
        ----------
        weights : (n_queries,) array or {query id: weight}, optional
            The weight of each query, such as its traffic: finite, 0 or more. By default all weights are 1.

        Returns
        -------
        dict of str to float
            By metric. NaN if the metric is undefined in all queries.

        Raises
        ------
        InvalidInputError
            If a weight is missing, negative or not finite, or if an aggregate has no weighted form.

        Examples
        --------
        >>> fn.evaluate([[0, 1], [1, 0]], [[2, 1], [2, 1]], "rr").mean(weights=[3, 1])
        {'RR': 0.625}
        """
        return dict(zip(map(str, self.metrics), self.means(weights), strict=True))

    def means(self, weights: Any = None) -> list[float]:
        """
        Return each metric's mean, in the order of the metrics.

        Parameters
        ----------
        weights : (n_queries,) array or {query id: weight}, optional
            See `mean`.

        Returns
        -------
        list of float
            One a metric.
        """
        all_weights = self._weigh(weights)
        return [
            aggregate(
                metric,
                self.values[:, column],
                None if all_weights is None else all_weights[:, column],
                None if self.chance_values is None else self.chance_values[:, column],
            )
            for column, metric in enumerate(self.metrics)
        ]

    def std(self, weights: Any = None, *, ddof: int = 1) -> dict[str, float]:
        """
        Return each metric's standard deviation over the queries in which it is defined.

        The variance is n / (n - ddof) times the weighted mean of squared deviations from the weighted mean. The number
        n counts the queries with a value and a weight above 0. An aggregate such as ``gm(AP)`` has the standard
        deviation of its metric's values.

        Parameters
        ----------
        weights : (n_queries,) array or {query id: weight}, optional
            The weight of each query, as in `mean`.
        ddof : int
            The number to subtract from n: 1 for the standard deviation of a sample, 0 for that of a population.

        Returns
        -------
        dict of str to float
            By metric, 0 or more. NaN if no more than `ddof` queries have a value.

        Raises
        ------
        InvalidInputError
            If a weight is missing, negative or not finite, or `ddof` is negative.

        Examples
        --------
        >>> fn.evaluate([[0, 1], [1, 0]], [[2, 1], [2, 1]], "rr").std(ddof=0)  # of 1/2 and 1
        {'RR': 0.25}
        """
        check_whole_number(ddof, "ddof", 0)
        all_weights = self._weigh(weights)
        deviations = [
            standard_deviation(self.values[:, column], None if all_weights is None else all_weights[:, column], ddof)
            for column in range(len(self.metrics))
        ]
        return dict(zip(map(str, self.metrics), deviations, strict=True))

    def _weigh(self, weights: Any) -> Array | None:
        """Return the weight of each value, None if all are equal."""
        if weights is None:
            return self.value_weights
        self._refuse_name(weights)
        query_weights = check_weights(weights, self.query_ids)[:, None]
        return (
            np.broadcast_to(query_weights, self.values.shape)
            if self.value_weights is None
            else (self.value_weights * query_weights)
        )

    def _refuse_name(self, weights: Any) -> None:
        """Raise an error for the name of a metric in the place of weights."""
        if isinstance(weights, str | Metric):
            name = next((str(metric) for metric in self.metrics if str(metric).lower() == str(weights).lower()), None)
            if name is None:
                try:
                    name = str(Metric.parse(str(weights)))
                except FastndcgError:
                    name = "nDCG@10"
            raise InvalidTypeError(
                f"`weights` must be one number a query, not the text {shorten(weights)}. For the mean of one metric "
                f"take mean()[{shorten(name)}]."
            )

    def n_undefined(self) -> Array:
        """
        Count the queries in which each metric is undefined.

        Returns
        -------
        (n_metrics,) int array
            One count a metric.
        """
        return np.asarray(np.count_nonzero(np.isnan(self.values), axis=0))

    def confidence_interval(
        self,
        metric: str | Metric,
        *,
        method: IntervalMethod = "auto",
        level: float = 0.95,
        replicates: int = 10_000,
        seed: int = 0,
        weights: Any = None,
        clusters: Any = None,
        strata: Any = None,
        threads: int | None = None,
    ) -> Interval:
        """
        Compute a confidence interval of a metric's mean.

        Parameters
        ----------
        metric : str or Metric
            One of the metrics.
        method : {'auto', 't', 'percentile', 'betting'}, default 'auto'
            The kind of interval. See `compare`.
        level, replicates, seed, weights, clusters, strata, threads
            See `compare`.

        Returns
        -------
        Interval
            The bounds are NaN, with a reason, if fewer than two queries have a value.

        Raises
        ------
        MissingPackageError
            If SciPy is not installed.

        Examples
        --------
        >>> result = fn.evaluate([[1, 0], [0, 1], [1, 0], [0, 1]], [[2, 1]] * 4, "rr")
        >>> interval = result.confidence_interval("rr")
        >>> interval.mean, round(interval.low, 4), round(interval.high, 4)
        (0.75, 0.1497, 0.997)
        >>> print(fn.evaluate([[1, 0]] * 30, [[2, 1]] * 30, "rr").confidence_interval("rr"))
        1.0000 [0.8843, 1.0000], 95 % Clopper–Pearson, 30 queries
        """
        settings = upper_floors.find("Settings")(
            interval=method, level=level, replicates=replicates, seed=seed, threads=threads
        )
        interval: Interval = upper_floors.find("compute_interval")(
            self, metric, settings, weights=weights, clusters=clusters, strata=strata
        )
        return interval

    def by(
        self,
        segments: Any,
        *,
        method: IntervalMethod = "auto",
        level: float = 0.95,
        replicates: int = 10_000,
        seed: int = 0,
        weights: Any = None,
        clusters: Any = None,
        strata: Any = None,
        threads: int | None = None,
    ) -> Table[Segment]:
        """
        Compute each segment's means with their confidence intervals.

        Parameters
        ----------
        segments : (n_queries,) array or {query id: segment}
            The segment of each query, such as its length or its source.
        method, level, replicates, seed, weights, clusters, strata, threads
            See `confidence_interval`.

        Returns
        -------
        Table of Segment
            One row a segment and metric.

        Examples
        --------
        >>> result = fn.evaluate([[1, 0], [0, 1], [1, 0], [0, 1]], [[2, 1]] * 4, "rr")
        >>> print(result.by(["long", "long", "short", "short"]))
        segment  metric  queries    mean     95 % interval
        long     RR            2  0.7500  [0.0000, 1.0000]
        short    RR            2  0.7500  [0.0000, 1.0000]
        95 % intervals: Korn–Graubard
        """
        settings = upper_floors.find("Settings")(
            interval=method, level=level, replicates=replicates, seed=seed, threads=threads
        )
        table: Table[Segment] = upper_floors.find("summarize_segments")(
            self, segments, settings, weights=weights, clusters=clusters, strata=strata
        )
        return table

    def plot(self, metric: str | Metric | None = None, *, axes: Any = None) -> Any:
        """
        Draw the distribution of a metric's values and the mean with its interval, with matplotlib.

        Parameters
        ----------
        metric : str or Metric, optional
            By default the first one.
        axes : matplotlib Axes, optional
            By default those of a new figure.

        Returns
        -------
        matplotlib Axes
            With the plot.

        Raises
        ------
        MissingPackageError
            If matplotlib is not installed.
        """
        plot = upper_floors.find("make_distribution")(self, self.metrics[0 if metric is None else self._column(metric)])
        return upper_floors.find("draw")(plot, axes)

    def to_dict(self) -> dict[Any, dict[str, float]]:
        """
        Return one dict a query id, with one value a metric.

        Returns
        -------
        dict
            Of Python's ids and floats: ``{query id: {metric: value}}``. Keys of `PairResults` are
            ``(query id, document id)``.

        Raises
        ------
        InvalidInputError
            If two queries have the same id.
        """
        names = [str(metric) for metric in self.metrics]
        rows = zip(self._list_keys(), self.values.tolist(), strict=True)
        by_query = {query: dict(zip(names, row, strict=True)) for query, row in rows}
        if len(by_query) < len(self):
            raise InvalidInputError("`query_ids` must differ to be keys of a dict, but some are equal. Use `values`.")
        return by_query

    def _list_keys(self) -> list[Any]:
        """Return the key of each row in a dict."""
        return self.query_ids.tolist()  # type: ignore[no-any-return]

    def _id_columns(self) -> dict[str, Array]:
        """Return the columns of a table that name each row."""
        return {"query": self.query_ids}

    def _export_columns(self) -> dict[str, Any]:
        values = {str(metric): self.values[:, column] for column, metric in enumerate(self.metrics)}
        return self._id_columns() | values

    def save(self, path: FilePath, *, truth: Any = None, predictions: Any = None) -> None:
        """
        Write a JSON file that `load_result` reads, such as the baseline of `gate`.

        It is that of `to_json`, with digests of what was evaluated.

        Parameters
        ----------
        path : str or path
            The file to write. It is replaced when it is complete.
        truth, predictions : array, path, dict or frame, optional
            What was evaluated. The file has a digest of each, by which `gate` sees that the truth has changed. It is
            that of the content: a file, a dict and a frame of the same judgments have the same one.

        Raises
        ------
        InvalidInputError
            If the path does not name a JSON file.
        OSError
            If the file cannot be written. An old file stays as it is.
        """
        check_save_path(path)
        given = {"truth": truth, "predictions": predictions}
        digests = {
            name: compute_digest(value, side)
            for side, (name, value) in zip(self.sides, given.items(), strict=True)
            if value is not None
        }
        deliver_text([dump_json(add_checksum(self._list_facts(digests=digests)))], path)

    def _json_pieces(self) -> Iterator[str]:
        yield dump_json(add_checksum(self._list_facts()))

    def _list_facts(self, **extra_facts: Any) -> dict[str, Any]:
        names = [str(metric) for metric in self.metrics]
        columns = self._id_columns()
        version = {} if self.provenance is None else {"version": self.provenance.version}
        rows = zip(*(ids.tolist() for ids in columns.values()), *self.values.T.tolist(), strict=True)
        return {
            **self._head_facts(),
            **version,
            **self.summary_facts(),
            "std": dict(zip(names, self.std().values(), strict=True)),
            **describe_extras(self),
            **extra_facts,
            "per_query": [dict(zip([*columns, *names], row, strict=True)) for row in rows],
        }

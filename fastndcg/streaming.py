"""Evaluate batches of whole queries one after the other, and merge what several workers evaluated."""

from __future__ import annotations

import copy
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from fastndcg.choices import ConventionName, IntervalMethod
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.evaluation import Evaluator
from fastndcg.exports import dump_json
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.metrics.resolve import find_chance_metric, is_micro
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rankings.validation import Array
from fastndcg.results.aggregates import PartialSums
from fastndcg.results.results import MeanTable, Results
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.threads import check_threads

if TYPE_CHECKING:
    from fastndcg.statistics.intervals import Interval

COUNTS = ("n_tied", "n_missing_in_run", "n_missing_in_qrels")


class _Totals(NamedTuple):
    """The sums of all batches that count, the number of those whose values are kept, and the notes that all have."""

    partial: PartialSums | None = None  # of no batch yet
    n_batches: int = 0
    notes: tuple[str, ...] | None = None


class StreamingEvaluator:
    """
    Evaluate batches of whole queries, from a generator, a training loop or a database cursor.

    Sums are exact: the mean is bit-identical for any batches, and for any order in which workers' parts are merged.
    The ids of all queries are kept, so that a query in two batches is an error. Values of single queries are kept on
    request.

    Any number of threads may share an evaluator: they evaluate batches at once, and add them one after the other. A
    batch counts whole or not at all, also if an error or Ctrl-C ends `update` or `merge`: then it can be sent again.

    Parameters
    ----------
    metrics, convention, threads
        See `evaluate`.
    per_query : bool, default False
        Keep the values of single queries for the result.

    Raises
    ------
    InvalidInputError
        If the mean of a metric needs more than a sum over queries.

    Examples
    --------
    >>> stream = StreamingEvaluator("rr")
    >>> stream.update([[1, 0]], [[0.1, 0.9]]).update([0, 1], [0.1, 0.9], query_ids=["q7", "q7"])
    StreamingEvaluator of 2 queries
    >>> stream.result().mean()
    {'RR': 0.75}
    >>> print(stream.result().confidence_interval("rr"))
    0.7500 [0.0000, 1.0000], 95 % Korn–Graubard, 2 queries
    """

    def __init__(
        self,
        metrics: Metrics | None = None,
        *,
        convention: ConventionName | str | Convention = "default",
        threads: int | None = None,
        per_query: bool = False,
    ) -> None:
        self.metrics = parse_metrics(metrics)
        self.convention = parse_convention(convention)
        for metric in self.metrics:
            check_streaming(metric, self.convention, per_query=per_query)
        if threads is not None:
            check_threads(threads)
        self._threads = threads
        self._query_ids: set[Any] = set()
        self._batches: list[tuple[Array, Array | None]] | None = [] if per_query else None
        self._totals = _Totals()
        self._begun: tuple[set[Any], _Totals] | None = None  # ids that an update adds, and the totals with it
        self._lock = os.getpid(), threading.Lock()

    def update(
        self,
        truth: Any,
        predictions: Any = None,
        *,
        offsets: Any = None,
        groups: Any = None,
        query_ids: Any = None,
    ) -> StreamingEvaluator:
        """
        Evaluate a batch of whole queries.

        Parameters
        ----------
        truth, predictions, offsets, groups, query_ids
            See `evaluate`. The truth holds the judgments of the batch's queries alone.

        Returns
        -------
        StreamingEvaluator
            This object.

        Raises
        ------
        InvalidInputError
            If a query was in an earlier batch. Then nothing of this batch counts.
        """
        evaluator = Evaluator(
            truth, self.metrics, offsets=offsets, groups=groups, query_ids=query_ids, convention=self.convention,
            threads=self._threads,
        )  # fmt: skip
        batch = evaluator.evaluate(predictions)
        batch_ids = batch.query_ids if batch.has_query_ids else None
        counts = {"n_queries": len(batch), **{name: getattr(batch, name) for name in COUNTS}}
        partial = PartialSums.from_values(self.metrics, self.convention, batch.values, counts)
        with self._own_lock():
            ids = [] if batch_ids is None else batch_ids.tolist()
            self._add(ids, partial, [(batch.values, batch_ids)], batch.own_notes if len(batch) else None)
        return self

    def merge(self, other: StreamingEvaluator) -> StreamingEvaluator:
        """
        Add the batches of another evaluator, from another thread, process or machine.

        Parameters
        ----------
        other : StreamingEvaluator
            Of the same metrics and convention, with the same `per_query`.

        Returns
        -------
        StreamingEvaluator
            This object.

        Raises
        ------
        InvalidInputError
            If metrics, convention or `per_query` differ.
            If both have evaluated the same query.
        """
        if not isinstance(other, StreamingEvaluator):
            raise InvalidTypeError(f"`other` must be a StreamingEvaluator, not {type(other).__name__}")
        for name in ("metrics", "convention"):
            if getattr(self, name) != getattr(other, name):
                raise InvalidInputError(
                    f"`other` must have the same {name}, {getattr(self, name)}, not {getattr(other, name)}. Evaluate "
                    f"all parts with the same {name}."
                )
        if (self._batches is None) != (other._batches is None):
            raise InvalidInputError(
                "`other` must keep values of single queries as this does. Give both the same per_query=."
            )
        taken = copy.copy(other)  # no thread adds to the copy, and never two locks are held
        with self._own_lock():
            self._add(taken._query_ids, taken._totals.partial, taken._batches or [], taken._totals.notes)
        return self

    def result(self) -> Results | Summary:
        """
        Return the results of all batches.

        Returns
        -------
        Summary or Results
            Means and intervals, and with ``per_query=True`` the values of single queries.
        """
        taken = copy.copy(self)
        if taken._batches is None:
            partial = taken.partial_sums()
            if partial is None:
                partial = PartialSums.from_values(self.metrics, self.convention, np.empty((0, len(self.metrics))))
            remedy = "Take StreamingEvaluator(..., per_query=True)."
            return Summary(partial, self.metrics, self.convention, remedy, taken._totals.notes or ())
        values = [np.empty((0, len(self.metrics))), *(batch for batch, _ in taken._batches)]
        counts: dict[str, Any] = {name: taken._count(name) for name in COUNTS}
        notes = taken._totals.notes or ()
        ids = taken._concatenate_ids()
        return Results(np.concatenate(values), self.metrics, ids, self.convention, notes=notes, **counts)

    def partial_sums(self) -> PartialSums | None:
        """
        Return the sums of all batches.

        Returns
        -------
        PartialSums or None
            None before the first batch.
        """
        return self._totals.partial

    def __copy__(self) -> StreamingEvaluator:
        """Return a copy that evaluates further batches independently, as `copy.deepcopy` does."""
        copied = object.__new__(type(self))
        with self._own_lock():
            self._undo()
            vars(copied).update(vars(self))
            copied._lock = os.getpid(), threading.Lock()
            copied._query_ids = set(self._query_ids)
            copied._batches = None if self._batches is None else list(self._batches)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with sums as versioned bytes."""
        taken = copy.copy(self)
        partial = taken.partial_sums()
        state = {name: value for name, value in vars(taken).items() if name not in ("_totals", "_begun", "_lock")}
        state |= {"_partial": None if partial is None else partial.to_bytes(), "_notes": taken._totals.notes}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        content = state.pop("_partial")
        partial = None if content is None else PartialSums.from_bytes(content)
        totals = _Totals(partial, len(state["_batches"] or ()), state.pop("_notes"))
        vars(self).update(state, _totals=totals, _begun=None, _lock=(os.getpid(), threading.Lock()))

    def __repr__(self) -> str:
        return f"StreamingEvaluator of {self._count('n_queries')} queries"

    def _add(
        self, ids: Any, partial: PartialSums | None, batches: list[tuple[Array, Array | None]],
        notes: tuple[str, ...] | None,
    ) -> None:  # fmt: skip
        """
        Add a batch, or raise an error for a query that is already there. The lock is held.

        One assignment makes the batch count. `_undo` takes away what an interrupted call added before it.
        """
        self._undo()
        new_ids = self._check_query_ids(ids)
        total, n_batches, all_notes = self._totals
        if partial is not None:
            total = partial if total is None else total + partial
        totals = _Totals(total, n_batches + len(batches), share_notes([all_notes, notes]))
        self._begun = new_ids, totals
        self._query_ids |= new_ids
        if self._batches is not None:
            self._batches.extend(batches)
        self._totals = totals
        self._begun = None

    def _own_lock(self) -> threading.Lock:
        """Return the lock, a new one in a forked process, where the thread that held it does not exist."""
        if self._lock[0] != os.getpid():
            self._lock = os.getpid(), threading.Lock()
        return self._lock[1]

    def _undo(self) -> None:
        """Take away the ids and values of a batch whose update was interrupted before it counted."""
        if self._begun is None:
            return
        new_ids, totals = self._begun
        if self._totals is not totals:
            self._query_ids -= new_ids
            if self._batches is not None:
                del self._batches[self._totals.n_batches :]
        self._begun = None

    def _count(self, name: str) -> int:
        partial = self._totals.partial
        return 0 if partial is None else partial.counts[name]

    def _concatenate_ids(self) -> Array | None:
        """Return the ids of all queries. A query without an id gets its number where others have ids."""
        if not self._batches or all(ids is None for _, ids in self._batches):
            return None
        parts: list[Array] = []
        n_queries = 0
        for values, ids in self._batches:
            parts.append(np.arange(n_queries, n_queries + len(values)) if ids is None else ids)
            n_queries += len(values)
        has_one_kind = len({part.dtype.kind for part in parts}) == 1
        return np.concatenate(parts if has_one_kind else [part.astype(object) for part in parts])

    def _check_query_ids(self, ids: Any) -> set[Any]:
        """Return the ids of a batch, or raise an error for a query that is already there."""
        new_ids = set(ids)
        repeated = new_ids & self._query_ids
        if len(new_ids) < len(ids):
            repeated |= {name for name, count in Counter(ids).items() if count > 1}
        if repeated:
            query = next(name for name in ids if name in repeated)
            raise InvalidInputError(
                f"a query must be in one batch, whole, but query {show_name(query)} comes again. Bring its documents "
                "together."
            )
        return new_ids


def share_notes(parts: Iterable[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """Return the notes that all parts of the data have. A part without queries has None."""
    known = [notes for notes in parts if notes is not None]
    return tuple(note for note in known[0] if all(note in notes for notes in known)) if known else None


class Summary(MeanTable):
    """
    Means of metrics and their intervals, without the values of single queries.

    It prints and exports one row a metric. The convention and the counts
    `n_tied`, `n_missing_in_run` and `n_missing_in_qrels` are attributes as those of `Results`.

    Parameters
    ----------
    partial : PartialSums
        The exact sums of values and of their squares, with the counts of queries.
    metrics : tuple of Metric
        One a sum.
    convention : Convention
        The meaning of the numbers.
    remedy : str
        What to do for the values of single queries, for messages.
    notes : tuple of str, optional
        Remarks on the input that hold for all its parts.

    Examples
    --------
    >>> summary = fn.StreamingEvaluator("rr").update([[1, 0], [0, 1]], [[2, 1], [2, 1]]).result()
    >>> summary.mean(), len(summary)
    ({'RR': 0.75}, 2)
    """

    __slots__ = ("partial", "remedy")

    def __init__(
        self, partial: PartialSums, metrics: tuple[Metric, ...], convention: Convention, remedy: str,
        notes: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.partial = partial
        self.metrics = metrics
        self.convention = convention
        self.n_tied, self.n_missing_in_run, self.n_missing_in_qrels = (partial.counts.get(name, 0) for name in COUNTS)
        self._notes = notes
        self.remedy = remedy

    def __len__(self) -> int:
        return self.partial.counts.get("n_queries", 0)

    __iter__ = None

    def __getattr__(self, name: str) -> NoReturn:
        """Raise an error that says how to get what only `Results` have."""
        reason = f", as values of single queries were not kept. {self.remedy}" if hasattr(Results, name) else ""
        raise AttributeError(f"a Summary has no `{name}`{reason}", name=name, obj=self)

    def __getitem__(self, metric: object) -> NoReturn:
        raise TypeError(f"a Summary has no columns, as values of single queries were not kept. {self.remedy}")

    def mean(self) -> dict[str, float]:
        """
        Return each metric's mean over the queries in which it is defined.

        Returns
        -------
        dict of str to float
            By metric. NaN if the metric is undefined in all queries.
        """
        return dict(zip(map(str, self.metrics), self.means(), strict=True))

    def means(self) -> list[float]:
        """
        Return each metric's mean, in the order of the metrics.

        Returns
        -------
        list of float
            NaN where no query has a value.
        """
        return self.partial.means()

    def confidence_interval(
        self, metric: str | Metric, *, method: IntervalMethod = "auto", level: float = 0.95
    ) -> Interval:
        """
        Compute a confidence interval of a metric's mean from the sums of values and of their squares.

        Parameters
        ----------
        metric : str or Metric
            One of the metrics.
        method : {'auto', 't'}, default 'auto'
            The kind of interval. See `compare`. The percentile bootstrap needs the values of single queries.
        level : float
            The confidence level, from 0.51 to 0.999999.

        Returns
        -------
        Interval
            The same as that of `Results.confidence_interval` over all queries.

        Raises
        ------
        InvalidInputError
            If the interval needs the values of single queries.
        """
        from fastndcg.statistics.intervals import summarize_moments
        from fastndcg.statistics.moments import add_range, find_bounds, find_range, summarize_exact_sums
        from fastndcg.statistics.settings import PART_INTERVALS, Settings

        Settings(interval=method, level=level)
        if method not in PART_INTERVALS:
            raise InvalidInputError(
                f"`method` must be 'auto' or 't', as values of single queries were not kept. {self.remedy}"
            )
        place = self._column(metric)
        total, squares = self.partial.sums[place], self.partial.squares[place]
        own = find_range(total, squares, find_bounds(self.metrics[place], self.convention))
        moments = add_range(summarize_exact_sums(total, squares), [own], is_difference=False)
        return summarize_moments(moments, level=level, method=method)

    def n_undefined(self) -> Array:
        """
        Count the queries in which each metric is undefined.

        Returns
        -------
        (n_metrics,) int array
            One count a metric.
        """
        return np.array([total.n_nan for total in self.partial.sums])

    def _export_columns(self) -> dict[str, Any]:
        return {
            "metric": list(map(str, self.metrics)),
            "mean": self.means(),
            "n_queries": [len(self)] * len(self.metrics),
            "n_undefined": self.n_undefined(),
        }

    def _json_pieces(self) -> Iterator[str]:
        yield dump_json(self._head_facts() | self.summary_facts())


def check_streaming(metric: Metric, convention: Convention, *, per_query: bool) -> None:
    """Raise an error for a metric whose mean needs more than a sum over queries."""
    if metric.get("weight") in ("positives", "impressions"):
        raise InvalidInputError(
            f"{metric} is a weighted mean, which streaming does not do. Evaluate all at once, or take "
            f"{metric(weight='nothing')}."
        )
    if is_micro(metric, convention):
        raise InvalidInputError(
            f"{metric} is averaged over documents under convention {convention.name}, which streaming does not do. "
            f"Evaluate all at once, or take {metric.bare} and precision_mean='macro'."
        )
    if find_chance_metric(metric) is not None:
        raise InvalidInputError(
            f"{metric} needs the values by chance, which streaming does not keep. Evaluate all at once, or take "
            f"{metric.bare}."
        )
    if metric.aggregate is not None and not per_query:
        raise InvalidInputError(f"{metric} needs the values of single queries. Take per_query=True.")

"""Evaluate batches of whole queries one after the other, and merge what several workers evaluated."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from fastndcg.choices import ConventionName, IntervalMethod
from fastndcg.conventions import Convention, parse_convention
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.evaluate import Evaluator
from fastndcg.exports.exportable import dump_json
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.metrics.resolve import find_chance_metric, is_micro
from fastndcg.rankings.validation import Array
from fastndcg.results.partial import PartialSums
from fastndcg.results.replicate_sums import ReplicateSums, refuse_infinite
from fastndcg.results.results import Results
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.pickling import Picklable
from fastndcg.runtime.threads import check_threads

if TYPE_CHECKING:
    from fastndcg.statistics.intervals import Interval

COUNTS = ("n_tied", "n_missing_in_run", "n_missing_in_qrels")


class _Totals(NamedTuple):
    """The sums of all batches that count, and the number of batches whose values are kept."""

    partial: PartialSums | None = None  # of no batch yet
    n_batches: int = 0
    replicates: _Replicates | None = None


class StreamingEvaluator(Picklable):
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
    replicates : int, optional
        The number of replicates of the Poisson bootstrap to add up, 1 or more. Then the result has confidence intervals
        without the values of single queries. Every batch needs query ids. By default none.
    seed : int, default 0
        The seed of the replicates, 0 or more.

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
    >>> stream = StreamingEvaluator("rr", replicates=1000)
    >>> for query in range(40):
    ...     _ = stream.update([0, 1], [query % 2, 0.5], query_ids=[query, query])
    >>> print(stream.result().confidence_interval("rr", method="poisson"))
    0.7500 [0.6705, 0.8281], 95 % poisson, 1000 replicates, seed 0, 40 queries
    """

    def __init__(
        self,
        metrics: Metrics | None = None,
        *,
        convention: ConventionName | str | Convention = "default",
        threads: int | None = None,
        per_query: bool = False,
        replicates: int | None = None,
        seed: int = 0,
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
        added = None if replicates is None else _Replicates(replicates, seed, threads)
        self._totals = _Totals(replicates=added)
        self._begun: tuple[set[Any], _Totals] | None = None  # ids that an update adds, and the totals with it
        self._lock = os.getpid(), threading.Lock()

    @property
    def _replicates(self) -> _Replicates | None:
        return self._totals.replicates

    def update(
        self,
        truth: Any,
        predictions: Any = None,
        *,
        offsets: Any = None,
        groups: Any = None,
        query_ids: Any = None,
        columns: Mapping[str, str] | None = None,
    ) -> StreamingEvaluator:
        """
        Evaluate a batch of whole queries.

        Parameters
        ----------
        truth, predictions, offsets, groups, query_ids, columns
            See `evaluate`. The truth holds the judgments of the batch's queries alone.

        Returns
        -------
        StreamingEvaluator
            This object.

        Raises
        ------
        InvalidInputError
            If a query was in an earlier batch, or if there are replicates and queries have no ids. Then nothing of
            this batch counts.
        """
        evaluator = Evaluator(
            truth, self.metrics, offsets=offsets, groups=groups, query_ids=query_ids, columns=columns,
            convention=self.convention, threads=self._threads,
        )  # fmt: skip
        batch = evaluator.evaluate(predictions)
        batch_ids = batch.query_ids if batch.has_query_ids else None
        weighted = None if self._replicates is None else self._replicates.weigh(batch.values, batch_ids)
        counts = {"n_queries": len(batch), **{name: getattr(batch, name) for name in COUNTS}}
        partial = PartialSums.from_values(self.metrics, self.convention, batch.values, counts)
        with self._own_lock():
            replicates = copy.copy(self._replicates)
            if replicates is not None and weighted is not None:
                replicates.add(*weighted)
            ids = [] if batch_ids is None else batch_ids.tolist()
            self._add(ids, partial, [(batch.values, batch_ids)], replicates)
        return self

    def merge(self, other: StreamingEvaluator) -> StreamingEvaluator:
        """
        Add the batches of another evaluator, from another thread, process or machine.

        Parameters
        ----------
        other : StreamingEvaluator
            Of the same metrics and convention, with the same `per_query`, `replicates` and `seed`.

        Returns
        -------
        StreamingEvaluator
            This object.

        Raises
        ------
        InvalidInputError
            If metrics, convention, `per_query`, `replicates` or `seed` differ.
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
        theirs = taken._replicates
        if (self._replicates and self._replicates.choice) != (theirs and theirs.choice):
            raise InvalidInputError(
                "`other` must have the same replicates and seed as this. Give both the same replicates= and seed=."
            )
        with self._own_lock():
            replicates = copy.copy(self._replicates)
            if replicates is not None and theirs is not None:
                replicates.merge(theirs)
            self._add(taken._query_ids, taken._totals.partial, taken._batches or [], replicates)
        return self

    def result(self) -> Results:
        """
        Return the results of all batches.

        Returns
        -------
        Results
            With means alone, unless values of single queries are kept.
        """
        taken = copy.copy(self)
        counts: dict[str, Any] = {name: taken._count(name) for name in COUNTS}
        if taken._batches is None:
            partial = taken.partial_sums()
            return StreamedResults(partial, taken._count("n_queries"), self.metrics, self.convention, counts)
        values = [np.empty((0, len(self.metrics))), *(batch for batch, _ in taken._batches)]
        ids = taken._concatenate_ids()
        return Results(np.concatenate(values), self.metrics, ids, self.convention, **counts)

    def partial_sums(self) -> PartialSums | None:
        """
        Return the sums of all batches.

        Returns
        -------
        PartialSums or None
            With the sums of the replicates, if there are some. None before the first batch.
        """
        with self._own_lock():
            partial, _, replicates = self._totals
            if partial is None or replicates is None:
                return partial
            return partial.with_replicates(replicates.total())

    def __copy__(self) -> StreamingEvaluator:
        """Return a copy that evaluates further batches independently, as `copy.deepcopy` does."""
        copied = object.__new__(type(self))
        with self._own_lock():
            self._undo()
            vars(copied).update(vars(self))
            copied._lock = os.getpid(), threading.Lock()
            copied._query_ids = set(self._query_ids)
            copied._batches = None if self._batches is None else list(self._batches)
            copied._totals = self._totals._replace(replicates=copy.copy(self._replicates))
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with sums as versioned bytes."""
        taken = copy.copy(self)
        partial = taken.partial_sums()
        state = {name: value for name, value in vars(taken).items() if name not in ("_totals", "_begun", "_lock")}
        state["_partial"] = None if partial is None else partial.to_bytes()
        state["_replicates"] = None if taken._replicates is None else taken._replicates.choice
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        content = state.pop("_partial")
        choice = state.pop("_replicates")
        partial = None if content is None else PartialSums.from_bytes(content)
        replicates = None
        if choice is not None:
            replicates = _Replicates(choice[0], choice[1], state["_threads"])
            if partial is not None and partial.replicates is not None:
                replicates.add_total(partial.replicates)
                partial = partial.with_replicates(None)
        n_batches = len(state["_batches"] or ())
        vars(self).update(
            state, _totals=_Totals(partial, n_batches, replicates), _begun=None, _lock=(os.getpid(), threading.Lock())
        )

    def __repr__(self) -> str:
        return f"StreamingEvaluator of {self._count('n_queries')} queries"

    def _add(
        self, ids: Any, partial: PartialSums | None, batches: list[tuple[Array, Array | None]],
        replicates: _Replicates | None,
    ) -> None:  # fmt: skip
        """
        Add a batch, or raise an error for a query that is already there. The lock is held.

        One assignment makes the batch count. `_undo` takes away what an interrupted call added before it.
        """
        self._undo()
        new_ids = self._check_query_ids(ids)
        total, n_batches, _ = self._totals
        if partial is not None:
            total = partial if total is None else total + partial
        totals = _Totals(total, n_batches + len(batches), replicates)
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
        if repeated or len(new_ids) < len(ids):
            query = next(name for name in ids if name in repeated) if repeated else _find_repeated(ids)
            raise InvalidInputError(
                f"a query must be in one batch, whole, but query {show_name(query)} comes again. Bring its documents "
                "together."
            )
        return new_ids


class _Replicates:
    """The sums of replicates of the Poisson bootstrap. Values of small batches are kept until they are worth a pass."""

    ENOUGH = 1 << 12  # queries of a pass: fewer take as long, as the sums of all replicates are written

    def __init__(self, replicates: int, seed: int, threads: int | None) -> None:
        from fastndcg.statistics.settings import Settings

        settings = Settings(interval="poisson", replicates=replicates, seed=seed)
        self.choice = settings.replicates, settings.seed
        self._threads = threads
        self._total: ReplicateSums | None = None
        self._pending: list[tuple[Array, Array]] = []

    def weigh(self, values: Array, query_ids: Array | None) -> tuple[Array, Array]:
        """Return the values of a batch with the hashes of its queries, or raise an error if they have no ids."""
        from fastndcg.statistics.query_hashes import hash_queries

        if query_ids is None:
            raise InvalidInputError(
                "queries must have ids with replicates=, as their weights depend on them. Pass query_ids=."
            )
        refuse_infinite(values)
        return values, hash_queries(query_ids)

    def add(self, values: Array, hashes: Array) -> None:
        """Add a batch."""
        self._pending.append((values, hashes))
        if sum(len(batch) for _, batch in self._pending) >= self.ENOUGH:
            self.total()

    def add_total(self, sums: ReplicateSums) -> None:
        """Add sums of other queries."""
        self._total = sums if self._total is None else self._total + sums

    def merge(self, other: _Replicates) -> None:
        """Add the sums of another worker."""
        self._pending.extend(other._pending)
        if other._total is not None:
            self.add_total(other._total)

    def total(self) -> ReplicateSums | None:
        """Return the sums of all batches, None before the first one."""
        from fastndcg.statistics.poisson_bootstrap import sum_replicates

        if self._pending:
            values, hashes = (np.concatenate(parts) for parts in zip(*self._pending, strict=True))
            replicates, seed = self.choice
            self.add_total(sum_replicates(values, hashes, replicates=replicates, seed=seed, threads=self._threads))
            self._pending = []
        return self._total

    def __copy__(self) -> _Replicates:
        copied = _Replicates(self.choice[0], self.choice[1], self._threads)
        copied._total = self._total
        copied._pending = list(self._pending)
        return copied


class StreamedResults(Results):
    """Results with means alone, and with intervals if there are replicates (see `Results`)."""

    __slots__ = ("_n_queries", "_partial")
    _methods: ClassVar[str] = "method='poisson'"
    _remedy: ClassVar[str] = "Take StreamingEvaluator(..., per_query=True)."
    _interval_remedy: ClassVar[str] = (
        "Take StreamingEvaluator(..., replicates=10_000), or per_query=True for the others."
    )

    def __init__(
        self,
        partial: PartialSums | None,
        n_queries: int,
        metrics: tuple[Metric, ...],
        convention: Convention,
        counts: dict[str, Any],
    ) -> None:
        super().__init__(np.empty((0, len(metrics))), metrics, None, convention, **counts)
        self._partial = partial
        self._n_queries = n_queries

    def __getstate__(self) -> tuple[Any, ...]:
        counts = {name: getattr(self, name) for name in COUNTS}
        return self._partial, self._n_queries, self.metrics, self.convention, counts

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def __len__(self) -> int:
        return self._n_queries

    def means(self, weights: Any = None) -> list[float]:
        """
        Return each metric's mean, in the order of the metrics.

        Parameters
        ----------
        weights : None
            Weights are an error: values of single queries are not kept.

        Returns
        -------
        list of float
            NaN where no query has a value.

        Raises
        ------
        InvalidInputError
            If weights are given.
        """
        if weights is not None:
            self._refuse()
        return [float("nan")] * len(self.metrics) if self._partial is None else self._partial.means()

    def confidence_interval(
        self,
        metric: str | Metric,
        *,
        method: IntervalMethod | None = None,
        level: float = 0.95,
        replicates: int | None = None,
        seed: int | None = None,
        weights: Any = None,
        clusters: Any = None,
        strata: Any = None,
        threads: int | None = None,
    ) -> Interval:
        """
        Compute a confidence interval of a metric's mean from the sums of the replicates, or of the squares.

        Parameters
        ----------
        metric : str or Metric
            One of the metrics.
        method : {'poisson', 't'}, optional
            The kind of interval, by default 'poisson' if there are replicates. 't' needs sums of squares, which the
            results of Spark have. Others need the values of single queries.
        level : float
            The confidence level, between 0 and 1.
        replicates, seed : int, optional
            Those of the stream. Others are an error.
        weights, clusters, strata : None
            Others are an error: values of single queries are not kept.
        threads : int, optional
            Ignored. `Results.confidence_interval` has this parameter, too.

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
        from fastndcg.statistics.moments import summarize_exact_sums
        from fastndcg.statistics.poisson_bootstrap import summarize_sums
        from fastndcg.statistics.settings import Settings

        partial = self._partial
        if method is None:
            method = "t" if partial is not None and partial.replicates is None and partial.squares else "poisson"
        Settings(interval=method, level=level, threads=threads)
        designs = {"weights": weights, "clusters": clusters, "strata": strata}
        refused = next((name for name, value in designs.items() if value is not None), None)
        if refused:
            raise InvalidInputError(
                f"`{refused}` must be left out, as values of single queries were not kept. {self._remedy}"
            )
        if partial is not None and method == "t" and partial.squares:
            place = self._column(metric)
            return summarize_moments(summarize_exact_sums(partial.sums[place], partial.squares[place]), level=level)
        sums = None if partial is None else partial.replicates
        if partial is None or sums is None or method != "poisson":
            raise InvalidInputError(
                f"values of single queries were not kept, so there are intervals by {self._methods} alone. "
                f"{self._interval_remedy}"
            )
        choices = {"replicates": (replicates, sums.replicates), "seed": (seed, sums.seed)}
        for name, (choice, own) in choices.items():
            if choice not in (None, own):
                raise InvalidInputError(
                    f"`{name}` must be that of the stream, {own}, got {shorten(choice)}. Leave it out."
                )
        place = self._column(metric)
        total = partial.sums[place]
        row = sums.take([place]).means()[0]
        return summarize_sums(total.mean(), total.n, row, level=level, seed=sums.seed)

    def n_undefined(self) -> Array:
        """
        Count the queries in which each metric is undefined.

        Returns
        -------
        (n_metrics,) int array
            One count a metric.
        """
        if self._partial is None:
            return np.zeros(len(self.metrics), "i8")
        return np.array([total.n_nan for total in self._partial.sums])

    def __getitem__(self, metric: Any) -> NoReturn:
        self._refuse()

    @property
    def values(self) -> NoReturn:
        """Raise an error: values of single queries are not kept."""
        self._refuse()

    @values.setter
    def values(self, values: Array) -> None:
        del values

    @property
    def query_ids(self) -> NoReturn:
        """Raise an error: ids of single queries are not part of the result."""
        self._refuse()

    def to_dict(self) -> NoReturn:
        """Raise an error: values of single queries are not kept."""
        self._refuse()

    def std(self, weights: Any = None, *, ddof: int = 1) -> NoReturn:
        """Raise an error: values of single queries are not kept."""
        del weights, ddof
        self._refuse()

    def _export_columns(self) -> NoReturn:
        self._refuse()

    def _json_pieces(self) -> Iterator[str]:
        yield dump_json(self._head_facts() | self.summary_facts())

    def _refuse(self) -> NoReturn:
        raise InvalidInputError(f"values of single queries were not kept. {self._remedy}")


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


def _find_repeated(ids: Any) -> Any:
    """Return the first id that comes twice."""
    return next(name for place, name in enumerate(ids) if name in ids[:place])

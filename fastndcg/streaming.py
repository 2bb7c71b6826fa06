"""Batches of whole queries, one after the other, and parts of the work that are merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from fastndcg.combinations import is_micro
from fastndcg.conventions import Convention, parse_convention
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.evaluate import Evaluator
from fastndcg.metric import Metrics, parse_metrics
from fastndcg.rankings import Array
from fastndcg.results import Results
from fastndcg.sums import ExactSum
from fastndcg.threads import checked_threads


class StreamingEvaluator:
    """
    Evaluates batches of whole queries, from a generator, a training loop or a database cursor.

    Sums are exact: the mean is the same to the bit whatever the batches, and whatever the order in which workers'
    parts are merged. Values of single queries are kept on request only; of the queries, their ids are, so that one
    which comes twice is an error.

    Parameters
    ----------
    metrics, convention, threads
        See `evaluate`.
    per_query : bool
        Whether the result has the values of single queries, too.

    Examples
    --------
    >>> stream = StreamingEvaluator("rr")
    >>> stream.update([[1, 0]], [[0.1, 0.9]]).update([0, 1], [0.1, 0.9], query_ids=["q7", "q7"])
    StreamingEvaluator of 2 queries
    >>> stream.result().mean()
    {'RR': 0.75}
    """

    def __init__(
        self,
        metrics: Metrics | None = None,
        *,
        convention: str | Convention = "default",
        threads: int | None = None,
        per_query: bool = False,
    ) -> None:
        self.metrics = parse_metrics(metrics)
        self.convention = parse_convention(convention)
        for metric in self.metrics:
            if metric.get("weight") in ("positives", "impressions"):
                raise InvalidInputError(
                    f"{metric} is a weighted mean, which streaming does not do: evaluate all at once, or take "
                    f"{metric(weight='nothing')}"
                )
            if is_micro(metric, self.convention):
                raise InvalidInputError(
                    f"{metric} is averaged over documents under convention {self.convention.name}, which streaming "
                    f"does not do: evaluate all at once, or take {metric.bare} and precision_mean='macro'"
                )
            if metric.aggregate is not None and not per_query:
                raise InvalidInputError(f"{metric} needs the values of single queries: take per_query=True")
        if threads is not None:
            checked_threads(threads)
        self._threads = threads
        self._sums = [ExactSum() for _ in self.metrics]
        self._counts: dict[str, Any] = {"n_tied": 0, "n_missing_in_run": 0, "n_missing_in_qrels": 0}
        self._n_queries = 0
        self._seen: set[Any] = set()
        self._kept: list[tuple[Array, Array | None]] | None = [] if per_query else None

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
        Evaluate a batch, given as `evaluate` takes it: the judgments are those of its own queries.

        Raises
        ------
        InvalidInputError
            If a query was in a batch before; the batch is then left out as a whole.
        """
        evaluator = Evaluator(
            truth, self.metrics, offsets=offsets, groups=groups, query_ids=query_ids, columns=columns,
            convention=self.convention, threads=self._threads,
        )  # fmt: skip
        batch = evaluator.evaluate(predictions)
        names = batch.query_ids if batch.has_query_ids else None
        if names is not None:
            self._remember(names.tolist())
        self._sums = [
            total + ExactSum.of(batch[metric]) for total, metric in zip(self._sums, self.metrics, strict=True)
        ]
        self._counts = {name: count + getattr(batch, name) for name, count in self._counts.items()}
        self._n_queries += len(batch)
        if self._kept is not None:
            self._kept.append((batch.values, names))
        return self

    def merge(self, other: StreamingEvaluator) -> StreamingEvaluator:
        """Take in what another has evaluated, in another thread, process or machine."""
        if not isinstance(other, StreamingEvaluator):
            raise InvalidTypeError(f"`other` must be a StreamingEvaluator, not {type(other).__name__}")
        for what in ("metrics", "convention"):
            mine, others = getattr(self, what), getattr(other, what)
            if mine != others:
                raise InvalidInputError(f"`other` must have the same {what}, but has {others} where this has {mine}")
        if (self._kept is None) != (other._kept is None):
            raise InvalidInputError("`other` must keep values of single queries as this does; give per_query= to both")
        self._remember(other._seen)
        self._sums = [total + more for total, more in zip(self._sums, other._sums, strict=True)]
        self._counts = {name: count + other._counts[name] for name, count in self._counts.items()}
        self._n_queries += other._n_queries
        if self._kept is not None and other._kept is not None:
            self._kept.extend(other._kept)
        return self

    def result(self) -> Results:
        """What all batches together give."""
        if self._kept is None:
            return StreamedResults(self._sums, self._n_queries, self.metrics, self.convention, self._counts)
        values = [np.empty((0, len(self.metrics))), *(part for part, _ in self._kept)]
        return Results(np.concatenate(values), self.metrics, self._names(), self.convention, **self._counts)

    def _names(self) -> Array | None:
        """The ids of all queries; the number of one that has none, where others have."""
        if not self._kept or all(names is None for _, names in self._kept):
            return None
        parts, n = [], 0
        for values, names in self._kept:
            parts.append(np.arange(n, n + len(values)) if names is None else names)
            n += len(values)
        alike = len({part.dtype.kind for part in parts}) == 1
        return np.concatenate(parts if alike else [part.astype(object) for part in parts])

    def __repr__(self) -> str:
        return f"StreamingEvaluator of {self._n_queries} queries"

    def _remember(self, names: Any) -> None:
        new = set(names)
        again = new & self._seen
        if again or len(new) < len(names):
            query = next(name for name in names if name in again) if again else _repeated(names)
            raise InvalidInputError(
                f"a query must be in one batch, whole, but query {query!s} comes again; bring its documents together"
            )
        self._seen |= new


class StreamedResults(Results):
    """Results whose values were added up and not kept."""

    __slots__ = ("_n_queries", "_sums")

    def __init__(
        self, sums: list[ExactSum], n_queries: int, metrics: Any, convention: Convention, counts: dict[str, Any]
    ) -> None:
        super().__init__(np.empty((0, len(metrics))), metrics, None, convention, **counts)
        self._sums = sums
        self._n_queries = n_queries

    def __len__(self) -> int:
        return self._n_queries

    def means(self, weights: Any = None) -> list[float]:
        """Each metric's mean, in the order of the metrics; without weights, which single queries would have."""
        if weights is not None:
            _refuse()
        return [total.mean() for total in self._sums]

    def n_undefined(self) -> Array:
        """For each metric, how many queries have no value."""
        return np.array([total.n_nan for total in self._sums])

    def __getitem__(self, metric: Any) -> NoReturn:
        _refuse()

    @property
    def query_ids(self) -> NoReturn:
        """They were not kept."""
        _refuse()

    def to_dict(self) -> NoReturn:
        """Nothing to make rows of: values were not kept."""
        _refuse()

    def to_pandas(self) -> NoReturn:
        """Nothing to make rows of: values were not kept."""
        _refuse()

    def _columns(self) -> NoReturn:
        _refuse()


def _refuse() -> NoReturn:
    raise InvalidInputError("values of single queries were not kept; take StreamingEvaluator(..., per_query=True)")


def _repeated(names: Any) -> Any:
    """The first name that stands again in a batch."""
    return next(name for place, name in enumerate(names) if name in names[:place])

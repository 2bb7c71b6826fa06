"""Fuse runs to one run: the function `fuse` and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from fastndcg.engine.spans import Span
from fastndcg.errors import InvalidInputError, InvalidTypeError, RegisteredMetricError, shorten
from fastndcg.fusion.arguments import Weights, check_absent_for, check_training, read_weights, refuse_arguments
from fastndcg.fusion.conventions import FusionConvention, parse_fusion_convention
from fastndcg.fusion.inputs import read_runs
from fastndcg.fusion.method import FusionMethod
from fastndcg.fusion.normalization import check_absent, fill_absent
from fastndcg.fusion.order import order_documents
from fastndcg.fusion.points import compute_points, has_weighted_points
from fastndcg.fusion.training import TrainedTables, train_method
from fastndcg.fusion.union import Union, UnionCounts, unite
from fastndcg.inputs.group_by_query import Groups
from fastndcg.inputs.id_table import Rows
from fastndcg.inputs.options import Options
from fastndcg.inputs.qrels_run import Run
from fastndcg.inputs.source import Source
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.read_only import put, read_only
from fastndcg.rankings.validation import Array, check_whole_number
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.threads import check_threads

Method = str | FusionMethod | Callable[[Array, Array], float]

MIXED_EXPONENT = 0.5


def fuse(
    runs: Any,
    method: Method = "rrf",
    *,
    weights: Weights = None,
    depth: int | None = None,
    absent: str | None = None,
    fusion_convention: str | FusionConvention = "default",
    train: Any = None,
    columns: Mapping[str, str | Mapping[str, str]] | None = None,
    threads: int | None = None,
) -> FusedRun:
    """
    Fuse two or more runs to one run.

    Parameters
    ----------
    runs : {name: run}, iterable of (name, run), list of runs or of paths
        Runs of any kind that `evaluate` takes as predictions with ids: `Run`, path, dict, frame, records. Lists of
        recommended items and `Recommendations` have the users' numbers as ids of queries.
    method : str or callable
        The method with its parameters and its normalisation, such as "rrf(k=60)", "wsum(norm=min_max)" or "condorcet".
        `list_fusion_methods` lists them. Or a function ``(scores, ranks) -> float`` of one document, which Numba
        compiles: ``scores`` (n_runs,) float64, NaN where absent, and ``ranks`` (n_runs,) int64 from 1, 0 where absent.
    weights : {name: weight} or sequence of float, optional
        The weight of each run, finite and 0 or more, not all 0. By default 1 each. For weighted methods.
    depth : int, optional
        How many documents of each run and query count, 1 or more. By default all.
    absent : {'zero', 'minimum', 'mean', 'skip'}, optional
        What a run gives to a document that it lacks: 0, its lowest or its mean normalised score or points in the
        query, or no part in the formula. By default the convention's choice, and else the method's definition.
    fusion_convention : str or FusionConvention
        What a method's name means: 'default', 'ranx', 'trectools', 'elasticsearch', 'opensearch', 'weaviate',
        'qdrant', 'azure', 'cormack2009', or one with other choices, such as "default(queries=union)".
    train : (qrels, runs), optional
        Judgments and runs of the same names, from which bayesfuse, probfuse, segfuse, slidefuse, posfuse and mapfuse
        learn.
    columns, threads
        See `evaluate`.

    Returns
    -------
    FusedRun
        A `Run` with the documents of each query by falling fused score. It counts what `depth` cut, and queries that
        some run lacks.

    Raises
    ------
    InvalidInputError
        If there are fewer than two runs, if names repeat, if queries differ, if a score is not finite, or if weights
        are wrong.
    UnknownFusionError
        If no method or normalisation has this name.
    RegisteredMetricError
        If a function given as method fails.

    Examples
    --------
    >>> bm25 = {"q1": {"d1": 12.1, "d2": 9.5, "d3": 1.0}}
    >>> dense = {"q1": {"d2": 0.9, "d4": 0.8}}
    >>> fn.fuse({"bm25": bm25, "dense": dense}, "rrf(k=60)").to_dict()["q1"]["d2"] == 1 / 62 + 1 / 61
    True
    >>> fn.fuse({"bm25": bm25, "dense": dense}, "wsum(norm=min_max)", weights={"bm25": 0.3, "dense": 0.7})
    FusedRun of 1 queries, 4 documents by wsum(norm=min_max)
    """
    convention = parse_fusion_convention(fusion_convention)
    parsed = method if callable(method) and not isinstance(method, FusionMethod) else FusionMethod.parse(method)
    check_absent(absent)
    if depth is not None:
        check_whole_number(depth, "depth", 1)
    n_threads = check_threads(threads)
    options = Options(columns=columns, threads=threads, has_number_ids=True)
    systems = read_runs(runs, options)
    if not isinstance(parsed, FusionMethod):
        refuse_arguments(weights, train)
        union = unite_runs(systems.runs, systems.names, convention, depth, n_threads)
        return fuse_by_function(union, parsed, convention, absent)
    checked_weights = read_weights(weights, systems.names, parsed)
    check_training(parsed, train)
    check_absent_for(parsed, absent)
    trained = train_method(train, parsed, systems.names, convention, options) if train is not None else None
    union = unite_runs(systems.runs, systems.names, convention, depth, n_threads)
    return fuse_union(union, parsed, convention, weights=checked_weights, absent=absent, trained=trained)


class FusedRun(Run):
    """
    A run that `fuse` has made, with its method and its counts.

    Any number of threads may use one at once.

    Parameters
    ----------
    query_ids, document_ids, values, source
        See `Run`.

    Attributes
    ----------
    method : str
        The text of the method, or the name of the function.
    counts : UnionCounts
        ``n_cut`` documents that `depth` cut, ``n_incomplete`` queries that were fused though some run lacks them, and
        ``n_left_out`` queries that were left out.

    Examples
    --------
    >>> fused = fn.fuse([{"q": {"a": 2, "b": 1}}, {"q": {"c": 3, "b": 2}}], "rrf", depth=1)
    >>> fused.counts.n_cut, fused.notes
    (2, ('documents below depth, cut: 2',))
    """

    __slots__ = ("_counts", "_method")

    _counts: UnionCounts
    _method: str

    @property
    def method(self) -> str:
        """The text of the method, empty for a part of a fused run."""
        return getattr(self, "_method", "")

    @property
    def counts(self) -> UnionCounts:
        """The number of documents that `depth` cut, and the numbers of queries that some run lacks."""
        return getattr(self, "_counts", UnionCounts())

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on what was cut and left out."""
        remarks = (
            ("documents below depth, cut", self.counts.n_cut),
            ("queries that some run lacks, fused from the others", self.counts.n_incomplete),
            ("queries that some run lacks, left out", self.counts.n_left_out),
        )
        return tuple(f"{text}: {n}" for text, n in remarks if n)

    def top(self, k: int) -> FusedRun:
        """
        Return the k documents with the highest fused scores of each query, with the method, the notes and the counts.

        Parameters
        ----------
        k : int
            The number of documents, 1 or more.

        Returns
        -------
        FusedRun
            Of equal scores the earlier documents are kept.

        Raises
        ------
        InvalidInputError
            If `k` is less than 1.

        Examples
        --------
        >>> fused = fn.fuse([{"q": {"a": 2, "b": 1}}, {"q": {"c": 3, "b": 2}}], "rrf", depth=1)
        >>> fused.top(1).to_dict(), fused.top(1).notes
        ({'q': {'a': 0.01639344262295082}}, ('documents below depth, cut: 2',))
        """
        first_documents: FusedRun = super().top(k)  # type: ignore[assignment]
        put(first_documents, _counts=self.counts, _method=self.method)
        return first_documents

    def __repr__(self) -> str:
        return f"{super().__repr__()} by {self.method}" if self.method else super().__repr__()


def unite_runs(
    runs: Sequence[Run], names: Sequence[str], convention: FusionConvention, depth: int | None, threads: int
) -> Union:
    """Make the union of runs as a convention says."""
    return unite(runs, names, convention, depth=depth, threads=threads)


def fuse_union(
    union: Union,
    method: FusionMethod,
    convention: FusionConvention,
    *,
    weights: Array | None = None,
    absent: str | None = None,
    trained: TrainedTables | None = None,
) -> FusedRun:
    """Fuse the runs of a union."""
    factors = np.ones(len(union.names)) if weights is None else weights
    if method.record.points == "ranks":
        fused = count_majorities(union, factors, convention)
    else:
        points = compute_points(union, method, convention, absent=absent, weights=weights, trained=trained)
        if has_weighted_points(method, convention):
            factors = np.ones(len(union.names))
        fused = combine_points(union, points, factors, method)
    return make_run(union, fused, convention, str(method))


def combine_points(union: Union, points: Array, weights: Array, method: FusionMethod) -> Array:
    """Return the fused score of each document."""
    file, _, name = method.record.kernel.partition(".")
    kernel = getattr(load_kernels(f"fusion.{file}"), name)
    number = find_number(method)
    fused = np.empty(union.n_documents)
    row_weights = read_only(np.ascontiguousarray(weights, "f8"))

    def combine(span: Span) -> None:
        first, stop = union.offsets[list(span)].tolist()
        kernel(points, row_weights, number, first, stop, fused)

    union.run_on_queries(combine)
    return fused


def make_run(union: Union, fused: Array, convention: FusionConvention, method: str) -> FusedRun:
    """Return the fused run, each query's documents by falling score."""
    remedy = "Take a larger k" if method.startswith("rrf") else "Rescale the scores or the weights"
    _refuse_infinite(union, fused, method, remedy)
    rows, scores = order_documents(union, fused, convention.fused_ties)
    documents = union.row_documents.take(rows)
    groups = Groups(union.offsets, None, union.offsets[:-1])
    run = FusedRun.__new__(FusedRun)
    run._fill(Rows(union.queries, groups, documents, scores), Source("the fused run"))
    put(run, _counts=union.counts, _method=method)
    return run


def fuse_by_function(
    union: Union, function: Callable[[Array, Array], float], convention: FusionConvention, absent: str | None
) -> FusedRun:
    """Fuse by a user's function of one document's scores and ranks."""
    from fastndcg.kernels.jit import compile_custom_metric

    if not hasattr(function, "py_func") and not isinstance(function, FunctionType):
        raise InvalidTypeError(
            "`method` must be the text of a method, or a Python function that Numba can compile, not "
            f"{getattr(function, '__name__', type(function).__name__)}. Write a function (scores, ranks)"
        )
    kernels = load_kernels("fusion.custom")
    name = getattr(function, "__name__", type(function).__name__)
    scores = union.scores
    if absent not in (None, "skip"):
        scores = union.scores.copy()
        fill_absent(union, scores, str(absent))
    ranks, _ = union.rank(convention.ties)
    compiled = compile_custom_metric(function)
    fused = np.empty(union.n_documents)
    row_scores = read_only(scores)

    def combine(span: Span) -> None:
        first, stop = union.offsets[list(span)].tolist()
        place = np.full(1, first)
        try:
            kernels.fuse_by_function(compiled, row_scores, ranks, first, stop, place, fused)
        except Exception as error:
            raise RegisteredMetricError(
                f"the fusion function {shorten(name)} failed at {union.describe(int(place[0]))}: "
                f"{type(error).__name__}: {show_name(error)}"
            ) from error

    union.run_on_queries(combine)
    _refuse_infinite(union, fused, name, "Correct the function. A run without the document has the score NaN")
    return make_run(union, fused, convention, name)


def find_number(method: FusionMethod) -> float:
    """Return the number that the kernel of a method takes."""
    if method.name == "mixed":
        return MIXED_EXPONENT
    for key in ("gamma", "sigma"):
        if method.get(key) is not None:
            return float(method.get(key))
    return 0.0


def count_majorities(union: Union, weights: Array, convention: FusionConvention) -> Array:
    """Return the Condorcet score of each document."""
    kernels = load_kernels("fusion.condorcet")
    ranks, _ = union.rank(convention.ties)
    fused = np.empty(union.n_documents)
    votes = read_only(np.ascontiguousarray(weights, "f8"))

    def count(span: Span) -> None:
        kernels.condorcet(ranks, votes, union.offsets, *span, fused)

    union.run_on_queries(count)
    return fused


def _refuse_infinite(union: Union, fused: Array, method: str, remedy: str) -> None:
    """Raise for a fused score that is NaN or infinite."""
    if np.isfinite(fused).all():
        return
    document = int(np.argmax(~np.isfinite(fused)))
    raise InvalidInputError(
        f"{method} must give finite scores, but that of {union.describe(document)} is {fused[document]!s}. {remedy}"
    )

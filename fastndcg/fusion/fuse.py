"""Fuse runs to one run: the function `fuse`, its result, the order of fused documents, and the parts of a score."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, Option
from fastndcg.forms.named_systems import read_runs
from fastndcg.fusion.conventions import FusionConvention, parse_fusion_convention
from fastndcg.fusion.joined_runs import FusedCounts, JoinedRuns, join_runs
from fastndcg.fusion.methods import AppliedMethod, FusionMethod, Weights, apply_method, check_absent, read_weights
from fastndcg.fusion.training import train_method
from fastndcg.inputs.ids import find_id
from fastndcg.inputs.messages import Options, Source, answer_keywords
from fastndcg.inputs.table import Run, TableRows
from fastndcg.kernels.lookup import load_kernels
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.rankings.validation import Array, check_whole_number, put, read_only
from fastndcg.results.notes import notes_on_systems
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.threads import check_threads
from fastndcg.statistics.table import Column, Table

NOTHING = "–"
FUSED = "fused"


@answer_keywords
def fuse(
    runs: Any,
    method: str | FusionMethod = "rrf",
    *,
    weights: Weights = None,
    depth: int | None = None,
    absent: str | None = None,
    fusion_convention: str | FusionConvention = "default",
    train: Any = None,
    threads: int | None = None,
) -> FusedRun:
    """
    Fuse two or more runs to one run.

    Parameters
    ----------
    runs : {name: run}, iterable of (name, run), list of runs or of paths
        Runs of any kind that `evaluate` takes as predictions with ids: `Run`, path, dict, frame, records. Arrays of
        recommended items and `Recommendations` have the users' numbers as ids of queries.
    method : str
        The method with its parameters and its normalisation, such as "rrf(k=60)", "wsum(norm=min_max)" or "condorcet".
        `list_fusion_methods` lists them.
    weights : {name: weight} or sequence of float, optional
        The weight of each run, finite and 0 or more, not all 0. By default 1 each. For weighted methods.
    depth : int, optional
        How many documents of each run and query count, 1 or more. By default all.
    absent : {'zero', 'minimum', 'mean', 'skip'}, optional
        What a run gives to a document that it lacks: 0, its lowest or its mean normalised score or points in the
        query, or no part in the formula. By default the convention's choice, and else the method's definition.
    fusion_convention : str or FusionConvention
        What a method's name means: 'default', 'ranx', 'trectools', 'elasticsearch', 'opensearch', 'weaviate',
        'qdrant', 'azure', 'cormack2009', or one with other choices, such as "default(queries=raise)".
    train : (qrels, runs), optional
        Judgments and runs of the same names, from which bayesfuse, probfuse, segfuse, slidefuse, posfuse and mapfuse
        learn.
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    FusedRun
        A `Run` with the documents of each query by falling fused score. Its notes count what `depth` cut, and queries
        that some run lacks, which are fused from the others.

    Raises
    ------
    InvalidInputError
        If there are fewer than two runs, if names repeat, if a score is not finite, if weights are wrong, or if queries
        differ under ``queries=raise``.
    UnknownFusionError
        If no method or normalisation has this name.

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
    parsed = FusionMethod.parse(method)
    check_absent(absent, parsed)
    if depth is not None:
        check_whole_number(depth, "depth", 1)
    n_threads = check_threads(threads)
    options = Options(threads=threads)
    systems = read_runs(runs, options)
    factors = read_weights(weights, systems.names, parsed)
    tables = _learn_tables(train, parsed, systems.names, convention, options)
    applied = apply_method(parsed, convention, systems.names, absent=absent, tables=tables)
    joined = join_runs(systems.runs, systems.names, convention, depth=depth, threads=n_threads)
    fused = fuse_joined(joined, applied, factors)
    notes = {name: run.source.notes for name, run in zip(systems.names, systems.runs, strict=True)}
    if any(notes.values()):
        fused.placed_in(fused.source._replace(notes=(*fused.source.notes, *notes_on_systems(notes))))
    put(fused, _inputs=FusionInputs(systems.runs, systems.names, applied, factors, depth))
    return fused


def _learn_tables(
    train: Any, method: FusionMethod, names: tuple[str, ...], convention: FusionConvention, options: Options
) -> Array | None:
    """Return what a method learns. Raise if training data is missing, or given to a method that does not learn."""
    if not method.record.needs_training:
        if train is None:
            return None
        raise InvalidInputError(
            f"`train` can only be used with a method that learns, but {method.name} does not. Leave it out"
        )
    if train is None:
        raise InvalidInputError(
            f"{method.name} must have judgments to learn from, but `train` is missing. Give ",
            Option("train", "(qrels, runs)"),
        )
    return train_method(train, method.name, int(method.get("n_segments") or 0), names, convention, options)


class FusionInputs(NamedTuple):
    """What a fused run was made of: see `fuse`."""

    runs: tuple[Run, ...]
    names: tuple[str, ...]
    applied: AppliedMethod
    weights: Array | None
    depth: int | None


class FusionShare(NamedTuple):
    """
    What a run gives to a document, and in the last row the fused rank and score.

    `rank` and `score` are None if the run lacks the document, or `depth` cut it. `normalised` is the run's part before
    weights: a normalised score, or points by rank. It is None if the run does not count. `weight` is that of the run,
    and None in the last row. `points` add up to the fused score, unless a note says how the method combines them.
    """

    run: str
    rank: float | None
    score: float | None
    normalised: float | None
    weight: float | None
    points: float | None


class FusedRun(Run):
    """
    A run that `fuse` has made, with its method and its counts.

    Parameters
    ----------
    data, documents, scores, columns, format, duplicates, ranks, parents, threads
        See `Run`.

    Attributes
    ----------
    method : str
        The text of the method.
    counts : FusedCounts
        ``n_cut`` documents that `depth` cut, ``n_incomplete`` queries that were fused though some run lacks them, and
        ``n_left_out`` queries that were left out.

    Examples
    --------
    >>> fused = fn.fuse([{"q": {"a": 2, "b": 1}}, {"q": {"c": 3, "b": 2}}], "rrf", depth=1)
    >>> fused.counts.n_cut, fused.notes
    (2, ('documents below depth, cut: 2',))
    """

    __slots__ = ("_counts", "_inputs", "_method")

    _counts: FusedCounts
    _inputs: FusionInputs
    _method: FusionMethod | None

    @property
    def method(self) -> str:
        """The text of the method, empty for a part of a fused run."""
        method = getattr(self, "_method", None)
        return "" if method is None else str(method)

    @property
    def counts(self) -> FusedCounts:
        """The number of documents that `depth` cut, and the numbers of queries that some run lacks."""
        return getattr(self, "_counts", FusedCounts())

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on what was cut and left out, and on how runs were read."""
        remarks = (
            ("documents below depth, cut", self.counts.n_cut),
            ("queries that some run lacks, left out", self.counts.n_left_out),
        )
        return (*(f"{text}: {n}" for text, n in remarks if n), *self.source.notes)

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
        put(first_documents, **{name: getattr(self, name) for name in FusedRun.__slots__ if hasattr(self, name)})
        return first_documents.placed_in(first_documents.source._replace(notes=self.source.notes))

    def explain(self, query: Any, document: Any) -> Table[FusionShare]:
        """
        Explain the fused score of a document: what each run gives to it.

        Parameters
        ----------
        query : str or int
            The id of the query.
        document : str or int
            The id of a document of the query. A run may lack it: its row says what it gives to such documents.

        Returns
        -------
        Table of FusionShare
            A row for each run with its rank, raw score, normalised score (or points by rank), weight and points, then
            the fused rank and score. Documents of a tie group that share ranks have the mean rank.

        Raises
        ------
        InvalidInputError
            If the fused run is a part of one, which has no runs.
        UnknownIdError
            If the fused run has no such query or document.

        Examples
        --------
        >>> bm25 = {"q1": {"d1": 12.0, "d2": 9.0, "d3": 4.0}}
        >>> dense = {"q1": {"d2": 0.9, "d4": 0.8}}
        >>> runs = {"bm25": bm25, "dense": dense}
        >>> fn.fuse(runs, "wsum(norms={bm25:min_max,dense:none})", weights=[0.3, 0.7]).explain("q1", "d2")
        run    rank  score  normalised  weight  points
        bm25      2      9       0.625     0.3  0.1875
        dense     1    0.9         0.9     0.7    0.63
        fused     1      –           –          0.8175
        document d2 of query q1, wsum(norms={bm25:min_max,dense:none})
        the fused score is the sum of the points
        """
        return self._open_query(query).explain(document)

    def _open_query(self, query: Any) -> FusedQuery:
        """Return a query whose documents can be explained."""
        if not hasattr(self, "_inputs"):
            raise InvalidInputError(
                "`explain` needs the runs, which a part of a fused run lacks. Call it on the result of fuse"
            )
        places = self._number_queries()
        place = places[query] if query in places else find_id(list(places), query, "query", "the fused run")
        return FusedQuery(self, place, self._inputs)

    def __repr__(self) -> str:
        method = f" by {self.method}" if self.method else ""
        return "\n".join([f"{self._describe()}{method}", *self.notes])


class FusedQuery:
    """One query of a fused run, joined again from its runs, to explain any of its documents."""

    def __init__(self, fused: FusedRun, place: int, inputs: FusionInputs) -> None:
        own = fused._take_queries(np.array([place]))
        self._inputs = inputs
        self._name = own.queries.name(0)
        self._documents = own.documents.names().tolist()
        self._fused_scores = own.values
        self._runs = [run._take_queries(_find_query(run, self._name)) for run in inputs.runs]
        convention = inputs.applied.convention.replace(queries="union")
        self._joined = join_runs(self._runs, inputs.names, convention, depth=inputs.depth)
        self._ranked = self._joined.rank(convention.ties)
        self._names = self._joined.row_documents.take(self._joined.document_rows).names().tolist()

    def explain(self, document: Any) -> Table[FusionShare]:
        """Return what each run gives to a document: see `FusedRun.explain`."""
        inputs, joined = self._inputs, self._joined
        place = find_id(self._documents, document, "document", f"query {show_name(self._name)}")
        name = self._documents[place]
        d = self._names.index(name)
        ranks = self._ranked.ranks[:, d].tolist()
        ties = self._ranked.ties[:, d].tolist()
        weights = np.ones(len(inputs.names)) if inputs.weights is None else inputs.weights
        values, points = _find_points(joined, inputs.applied, weights, inputs.weights, d)
        rows = [
            FusionShare(name, rank + (size - 1) / 2 if rank else None, score if rank else None, value, weight, own)
            for name, rank, size, score, weight, value, own in zip(
                inputs.names, ranks, ties, joined.scores[:, d].tolist(), weights.tolist(), values, points, strict=True
            )
        ]
        rows.append(FusionShare(FUSED, place + 1, None, None, None, self._fused_scores[place].item()))
        record = inputs.applied.record
        notes = [f"document {show_name(name)} of query {show_name(self._name)}, {inputs.applied.method}"]
        notes.append("the fused score is " + ("the sum of the points" if record.kernel in ADDS else record.formula))
        n_cut = sum(
            rank == 0 and name in run.documents.names().tolist() for rank, run in zip(ranks, self._runs, strict=True)
        )
        if n_cut:
            notes.append(f"runs whose document is below the depth of {inputs.depth}: {n_cut}")
        return Table(rows, COLUMNS, notes)


def _find_query(run: Run, query: Any) -> Array:
    """Return the place of a query in a run, as an array that is empty if the run lacks it."""
    place = run._number_queries().get(query)
    return np.array([] if place is None else [place], "i8")


def fuse_joined(joined: JoinedRuns, applied: AppliedMethod, weights: Array | None = None) -> FusedRun:
    """Fuse joined runs."""
    fused = applied.fuse(joined, weights)
    if not np.isfinite(fused).all():
        document = int(np.argmax(~np.isfinite(fused)))
        remedy = "Take a larger k" if applied.method.name == "rrf" else "Rescale the scores or the weights"
        raise InvalidInputError(
            f"{applied.method} must give finite scores, but that of {joined.describe(document)} is "
            f"{fused[document]!s}. {remedy}"
        )
    return make_run(joined, fused, applied.convention.fused_ties, applied.method)[0]


def make_run(joined: JoinedRuns, fused: Array, ties: str, method: FusionMethod | None = None) -> tuple[FusedRun, Array]:
    """
    Return the fused run, each query's documents by falling score, and the row of each document's id.

    `fused` are (n_documents,) finite scores, and `ties` the convention's order of equal ones (`fused_ties`).
    """
    kernels = load_kernels("fusion.joined")
    rows = np.empty(len(fused), "i8")
    ordered = np.empty(len(fused))
    scores = read_only(fused)
    ids = joined.row_documents
    sort = kernels.order_by_numbers
    keys: Any = np.empty(0, "i8")
    falls = ties == "last_score" or TIES[ties].falls
    if ties == "last_score":
        keys = _number_last_scores(joined)
    elif TIES[ties].choose(input=False, id=True):
        sort = kernels.order_by_ids if ids.are_texts else sort
        keys = ids.ids if ids.are_texts else ids.order_numbers()
    keys = keys if sort is kernels.order_by_ids else read_only(keys)
    joined.run_on_queries(
        lambda first, stop: sort(scores, keys, joined.document_rows, falls, joined.offsets, first, stop, rows, ordered)
    )
    run = object.__new__(FusedRun)
    notes = _note_incomplete(joined) if joined.counts.n_incomplete else ()
    ranked = TableRows.in_order(joined.queries, joined.offsets, ids.take(rows), read_only(ordered))
    run._fill(ranked, Source("the fused run", notes=notes))
    put(run, _counts=joined.counts, _method=method)
    return run, rows


def _note_incomplete(joined: JoinedRuns) -> tuple[str]:
    """Return the note on queries that some run lacks, which evaluations of the fused run show, too."""
    n = joined.counts.n_incomplete
    hint = ", all of them: check that the ids are written alike" if n == len(joined.queries) else ""
    return (f"queries that some run lacks, fused from the others: {n}{hint}",)


def _number_last_scores(joined: JoinedRuns) -> Array:
    """Return numbers in the order of the score of each row's document in the last run that has it."""
    keys = np.full(joined.n_documents, np.nan)
    for row in joined.scores:
        keys = np.where(np.isnan(row), keys, row)
    numbers = np.zeros(len(joined.row_documents), "i8")
    numbers[joined.document_rows] = np.unique(keys, return_inverse=True)[1]
    return numbers


def _find_points(
    joined: JoinedRuns, applied: AppliedMethod, weights: Array, given_weights: Array | None, d: int
) -> tuple[list[float | None], list[float | None]]:
    """Return what each run gives to a document before and after weights, None where it does not count."""
    if applied.compares_ranks:
        return [None] * len(weights), [None] * len(weights)
    column = applied.score(joined, given_weights)[:, d]
    counts = ~np.isnan(column)
    values = [value if own else None for value, own in zip(column.tolist(), counts.tolist(), strict=True)]
    factors = _find_factors(applied, weights, counts)
    if factors is None:
        return values, values
    return values, [
        None if value is None else value * factor for value, factor in zip(values, factors.tolist(), strict=True)
    ]


def _find_factors(applied: AppliedMethod, weights: Array, counts: Array) -> Array | None:
    """Return the factor of each run's value in a sum, None for a method that does not add up."""
    if applied.record.kernel not in ADDS:
        return None
    n = int(np.count_nonzero(counts))
    own = np.ones(len(weights)) if applied.has_weighted_points or not applied.record.is_weighted else weights
    total = float(own[counts].sum())
    factors: dict[str, Array] = {
        "weighted_sum": own,
        "arithmetic_mean": own / total if total else own,
        "comb_gmnz": own * n**applied.number,
        "log_mnz": own * math.log(n + applied.number) if n + applied.number > 0 else own,
        "wmnz": np.full(len(own), total),
    }
    return factors[applied.record.kernel]


ADDS = ("weighted_sum", "arithmetic_mean", "comb_gmnz", "log_mnz", "wmnz")


def _format(number: float | None) -> str:
    return NOTHING if number is None else f"{number:.6g}"


COLUMNS = (
    Column("run", lambda row: show_name(row.run), left=True),
    Column("rank", lambda row: _format(row.rank)),
    Column("score", lambda row: _format(row.score)),
    Column("normalised", lambda row: _format(row.normalised)),
    Column("weight", lambda row: "" if row.run == FUSED and row.weight is None else _format(row.weight)),
    Column("points", lambda row: _format(row.points)),
)

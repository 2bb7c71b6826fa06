"""explain_change: why the mean of a metric changed, by queries, judgments, convention and ranking, and by document."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from fastndcg.choices import ConventionName, Correction
from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, reworded, shorten
from fastndcg.evaluation import evaluate_prepared, make_options, parse_request
from fastndcg.explaining.contributions import (
    JoinedSystem,
    allow_undefined,
    compute_contributions,
    format_number,
    join_system,
    select_case,
)
from fastndcg.explaining.moves import ABSENT, KINDS, Moves, RankedRows, compare_rows, measure_rows, rank_rows
from fastndcg.exports import Printable, PrintedTable, dump_json, html_table, text_table
from fastndcg.forms.dispatch import TruthInput, number_liked, prepare_truth, rank_items, read_predictions
from fastndcg.inputs.ids import IdColumn, find_id
from fastndcg.inputs.join import find_ids, tell_apart
from fastndcg.inputs.messages import Options, answer_keywords
from fastndcg.inputs.records import read_once
from fastndcg.metrics.metric import Metric, parse_single_metric
from fastndcg.metrics.resolve import add_default_cutoff
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.rankings.validation import Array
from fastndcg.recommenders.interactions import Interactions, Recommendations
from fastndcg.recommenders.models import Model
from fastndcg.results.aggregates import mean
from fastndcg.results.notes import notes_on_results, notes_on_systems
from fastndcg.results.per_query import keep_known, read_per_query_array
from fastndcg.results.results import Results
from fastndcg.runtime import upper_floors
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.progress import without_progress
from fastndcg.statistics.alignment import check_aggregates_are_means
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.significance import correct_p_values
from fastndcg.statistics.table import Column, Table, format_p_value

PARTS = ("queries", "judgments", "convention", "ranking")
SIDES = ("before", "after")
MEANS = ("mean after", "mean before")
MAX_QUERIES = 10  # that are printed
MAX_ITEMS = 20_000_000  # scores of a model, whose documents would take some 500 MB
MAX_LEVELS = 10  # different numbers of a feature that are slices of their own; more are cut into quarters
MISSING = ("missing_in_run", "missing_in_qrels")
Mix = tuple[int, int, int]  # whether judgments, convention and ranking are those after
ENDS: tuple[Mix, Mix] = ((0, 0, 0), (1, 1, 1))


class QueryChange(NamedTuple):
    """
    A query's values before and after, NaN where a mean leaves it out.

    `cause` is the part that changes this query's value most: "judgments", "convention" or "ranking", and "queries" for
    a query that one mean leaves out. It is empty where nothing changed.
    """

    query: Any
    before: float
    after: float
    difference: float
    cause: str


class DocumentChange(NamedTuple):
    """
    A document in the rankings of a query before and after.

    Labels are NaN without a judgment. Ranks are the mean of those that the document may have, NaN where it is below the
    cutoff or not retrieved. `before` and `after` are what it adds to the query's value, 0 there. `kind` is one of the
    kinds of `Change.moves`.
    """

    document: str
    kind: str
    label_before: float
    label_after: float
    rank_before: float
    rank_after: float
    before: float
    after: float
    difference: float


class Move(NamedTuple):
    """How many documents moved in one way, and what that adds to the mean over the queries in both means."""

    kind: str
    n: int
    adds: float


class Slice(NamedTuple):
    """
    The queries with one value of a feature.

    `difference` is their mean difference, after − before, and `rest` that of the `n_rest` others. `p` is the share of
    random slices of that size that differ from the rest at least as much, and `p_corrected` is corrected for all slices
    that were searched.
    """

    feature: str
    value: Any
    n: int
    n_rest: int
    difference: float
    rest: float
    p: float
    p_corrected: float
    is_significant: bool


class Inputs(NamedTuple):
    """Hold what is compared: of each pair, the first is before and the second after."""

    truths: tuple[TruthInput, TruthInput]
    runs: tuple[Any, Any]
    conventions: tuple[Convention, Convention]
    options: Options
    metric: Metric

    @property
    def differs(self) -> tuple[bool, bool]:
        """Return True for judgments that differ, and True for a convention that differs."""
        return self.truths[0] is not self.truths[1], self.conventions[0] != self.conventions[1]

    def simplify(self, judgments: int, convention: int, ranking: int) -> Mix:
        """Return a mix with 0 for what does not differ."""
        has_two_truths, has_two_conventions = self.differs
        return judgments * has_two_truths, convention * has_two_conventions, ranking

    def say(self, mix: Mix) -> Any:
        """Return a context in which messages begin with the settings."""
        if self.simplify(*mix) in (ENDS[0], self.simplify(*ENDS[1])):
            return reworded(before=f"{SIDES[mix[2]]}: ")
        sides = (f"{what} {SIDES[side]}" for what, side in zip(PARTS[1:], mix, strict=True))
        return reworded(before=f"with {', '.join(sides)}: ")

    def evaluate(self, mix: Mix, *, is_end: bool) -> Results:
        """Evaluate a mix. Where it is not one end, queries that one side lacks, or without a value, raise no errors."""
        convention = self.conventions[mix[1]] if is_end else self.make_lenient(mix)
        options = self.options if is_end else Options(threads=self.options.threads, is_part=True)
        with self.say(mix), without_progress():
            request = parse_request((self.metric,), convention)
            return evaluate_prepared(self.truths[mix[0]], self.runs[mix[2]], request, options)

    def join(self, mix: Mix) -> JoinedSystem:
        """Return the rankings of a mix, with the ids of documents."""
        truth, run, convention = self.truths[mix[0]], self.runs[mix[2]], self.make_lenient(mix)
        options = Options(threads=self.options.threads, is_part=True)
        with self.say(mix):
            if not (isinstance(truth, Interactions) and isinstance(run, Recommendations)):
                return join_system(truth, run, options, convention)
            joined = join_system(number_liked(truth), rank_items(run, SIDES[mix[2]]), options, convention)
            return joined._replace(applied=convention.for_input(qrels=False))

    def describe_size(self) -> str:
        """Return why documents are not compared, or an empty text."""
        n = max(run.n_users * run.n_items if isinstance(run, Model) else 0 for run in self.runs)
        return f"documents of {n} scores are not compared. Give the best ones: model.top(k).to_run()" * (n > MAX_ITEMS)

    def make_lenient(self, mix: Mix) -> Convention:
        """Return the convention of a mix without errors for queries that one side lacks, or without a value."""
        convention = allow_undefined(self.conventions[mix[1]])
        raising = [field for field in MISSING if getattr(convention, field) == "raise"]
        return convention.replace(**dict.fromkeys(raising, "skip"))


@answer_keywords
def explain_change(
    truth: Any,
    before: Any,
    after: Any,
    metric: str | Metric,
    *,
    truth_after: Any = None,
    offsets: Any = None,
    groups: Any = None,
    query_ids: Any = None,
    convention: ConventionName | str | Convention = "default",
    convention_after: str | Convention | None = None,
    threads: int | None = None,
) -> Change:
    r"""
    Account for the difference of two means: what queries, judgments, convention and ranking add to it.

    The parts are Shapley values of v(S), the mean with the settings S taken from after and the others from before:
    the mean of v(S with the part) − v(S) over all orders in which the four settings can change. They add up to the
    difference without rounding. Of v(S):

    - queries: the mean is over the queries that the mean before counts, or the mean after: those with a value in
      ``evaluate(truth, before)``, or in ``evaluate(truth_after, after)``, as the convention there treats queries that
      one side lacks, and queries without a value;
    - judgments, convention and ranking: the labels, the convention and the run that the values are computed with.

    A query that only one mean counts has its value there whatever the other settings are: all that it adds is the part
    of queries, Σ (value − mean of the others) / n. A query that both count and that a mix of settings leaves undefined
    has the middle of its two values there, which a note says. Labels that change the ideal ranking are judgments, also
    where a document moves.

    Parameters
    ----------
    truth : array, path, dict, frame, Qrels, Interactions or sparse matrix
        See `evaluate`. It has no scores.
    before, after : array, path, dict, frame, Run, Embeddings or Scorer
        The predictions, see `evaluate`.
    metric : str or Metric
        One metric, such as "ndcg@10", whose value over all queries is their mean.
    truth_after : array, path, dict, frame, Qrels, Interactions or sparse matrix, optional
        The judgments of `after`. By default `truth`.
    offsets, groups, query_ids : array, optional
        See `evaluate`. They cut both truths into queries.
    convention : str or Convention
        See `evaluate`.
    convention_after : str or Convention, optional
        The convention of `after`. By default `convention`.
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    Change
        It prints as tables. `parts` are the four numbers, and queries, documents, moves and slices say more.

    Raises
    ------
    InvalidInputError
        If `evaluate` raises it, there is more than one metric, the metric is no mean over queries, or a mean has no
        query.

    References
    ----------
    L. S. Shapley, A value for n-person games, Contributions to the Theory of Games II, 1953,
    doi:10.1515/9781400881970-018.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    >>> old = {"q1": ["a", "x"], "q2": ["b", "y"]}
    >>> new = {"q1": ["x", "a"], "q2": ["y", "z", "b"]}
    >>> change = fn.explain_change(qrels, old, new, "rr", truth_after={**qrels, "q2": {"b": 1, "y": 1}})
    >>> {part: float(adds) for part, adds in change.parts.items()}
    {'queries': 0.0, 'judgments': 0.16666666666666669, 'convention': 0.0, 'ranking': -0.4166666666666667}
    >>> change.after - change.before, [(move.kind, move.n) for move in change.moves]
    (-0.25, [('label changed', 1), ('unjudged entered', 1), ('up', 1), ('down', 2)])
    """
    parsed = parse_single_metric(metric, "Explain one at a time.")
    if parsed.aggregate is not None:
        raise InvalidInputError(f"`metric` must be a mean over queries, but {parsed} is none. Take {parsed.bare}.")
    for name, run in zip(SIDES, (before, after), strict=True):
        if run is None or isinstance(run, Results):
            what = "is missing" if run is None else "must be predictions, not Results, which have no documents"
            raise InvalidInputError(f"`{name}` {what}. Give a run, scores, or the path of a file.")
    before, after = read_once(before), read_once(after)
    options = make_options(offsets, groups, query_ids, threads, other=before, is_alone=False)
    truths = [prepare_truth(truth, options)] * 2
    if truth_after is not None:
        with reworded(before="`truth_after`: "):
            truths[1] = prepare_truth(truth_after, options)
    conventions = [parse_convention(convention)] * 2
    if convention_after is not None:
        conventions[1] = parse_convention(convention_after, "convention_after")
    without_cuts = options.without_cuts()
    inputs = Inputs((truths[0], truths[1]), (before, after), (conventions[0], conventions[1]), without_cuts, parsed)
    runs = []
    for side, run in enumerate((before, after)):
        with reworded(before=f"{SIDES[side]}: "):
            runs.append(read_predictions(truths[side], run, inputs.options))
    return Change(inputs._replace(runs=(runs[0], runs[1])))


class Change(Printable):
    """
    The account of a change of a mean. `explain_change` makes it.

    Frames, CSV, Markdown and LaTeX have the parts, JSON has moves and queries, too.

    Parameters
    ----------
    inputs : Inputs
        What is compared.

    Attributes
    ----------
    metric : Metric
    before, after, difference : float
        The two means, and after − before.
    parts : dict of str to Fraction
        What "queries", "judgments", "convention" and "ranking" add to the difference: fractions without rounding, whose
        sum it is.
    n_queries : dict of str to int
        The number of queries that "both" means count, and those of only "before" and only "after".

    Examples
    --------
    >>> print(fn.explain_change([[1, 0], [0, 1]], [[2, 1], [2, 1]], [[2, 1], [1, 2]], "dcg"))
    mean of DCG: 0.8155 before, 1 after (+0.1845)
    part           adds  what differs
    queries           0  2 in both means, 0 only before, 0 only after
    judgments         0  nothing
    convention        0  nothing
    ranking     +0.1845  2 of 4 documents moved
    documents within the cutoff, in the queries that both means count:
    kind     n     adds
    up       1  +0.1845
    down     1        0
    unmoved  2        0
    1 of 2 queries changed, the largest difference first:
    query  before  after  difference  cause
    1      0.6309      1     +0.3691  ranking
    convention default
    """

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self.metric = inputs.metric
        ends = [inputs.evaluate(mix, is_end=True) for mix in ENDS]
        for side, results in zip(SIDES, ends, strict=True):
            check_aggregates_are_means(results, [self.metric], "an account of a change is")
            if np.isnan(results.values).all():
                raise InvalidInputError(
                    f"`{side}` must have a value of {self.metric} for some query, but has none of {len(results)}. "
                    "Check that its ids are those of the truth."
                )
        self._ends = dict(zip(SIDES, ends, strict=True))
        self._query_ids, values = _align(ends)
        self._is_counted = ~np.isnan(values)
        self._both: Array = np.logical_and(*self._is_counted)
        self._values = self._evaluate_mixes(values)
        means = {
            (queries, mix): Fraction(mean(own[self._is_counted[queries]]))
            for queries in (0, 1)
            for mix, own in self._values.items()
        }
        shares = compute_shapley_values(lambda queries, *mix: means[queries, inputs.simplify(*mix)], len(PARTS))
        self.parts: dict[str, Fraction] = dict(zip(PARTS, shares, strict=True))
        self.before, self.after = (float(means[side, inputs.simplify(*mix)]) for side, mix in enumerate(ENDS))
        self.difference = self.after - self.before
        counts = map(np.count_nonzero, (self._both, *(self._is_counted & ~self._both)))
        self.n_queries = dict(zip(("both", *SIDES), map(int, counts), strict=True))
        self._joined: dict[Mix, JoinedSystem] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies keep: all but joined rankings, which are joined again."""
        return {name: value for name, value in self.__dict__.items() if name != "_moved"} | {"_joined": {}}

    def _evaluate_mixes(self, ends: Array) -> dict[Mix, Array]:
        """Return the values of all queries in each mix. A query without one has the middle of its two, or its own."""
        known = np.where(np.isnan(ends), ends[::-1], ends)
        if np.isinf(ends).any():
            side, place = np.argwhere(np.isinf(ends))[0]
            raise InvalidInputError(
                f"{SIDES[side]}: values of {self.metric} must be finite, but that of query "
                f"{show_name(self._query_ids[place])} is {ends[side, place]}. Rescale the labels."
            )
        values = {self._inputs.simplify(*mix): own for mix, own in zip(ENDS, known, strict=True)}
        self._n_filled = 0
        for mix in {self._inputs.simplify(*mix) for mix in product((0, 1), repeat=3)} - values.keys():
            values[mix] = known.mean(axis=0)
            if self._both.any():
                results = self._inputs.evaluate(mix, is_end=False)
                places = _find_rows(results.query_ids, self._query_ids)
                found = np.full(len(self._both), np.nan)
                found[places[places >= 0]] = results.values[places >= 0, 0]
                has_value = self._both & ~np.isnan(found)
                values[mix][has_value] = found[has_value]
                self._n_filled = max(self._n_filled, int(np.count_nonzero(self._both & ~has_value)))
        return values

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the inputs, and on ids that were renamed, which look like documents that left and entered."""
        filled = f"queries without a value in a mix of settings, with the middle of their two: {self._n_filled}"
        names = [f"convention {convention}" for convention in self._inputs.conventions]
        return (
            *notes_on_systems({side: [name] for side, name in zip(SIDES, names, strict=True)}),
            *([filled] if self._n_filled else []),
            *notes_on_results(self._ends, [self.metric]),
            *self.notes_on_moves,
        )

    @property
    def notes_on_moves(self) -> tuple[str, ...]:
        """Notes on what is not known of moves, and on ids that were renamed."""
        return self._moved[1]

    def queries(self) -> Table[QueryChange]:
        """
        Return the values of each query before and after, and what changed it most.

        Returns
        -------
        Table of QueryChange
            The largest difference first. A query that one mean leaves out is as far as from that mean.
        """
        return Table(self._list_queries()[0], QUERY_COLUMNS)

    def _list_queries(self, most: int | None = None) -> tuple[list[QueryChange], int]:
        """Return the queries that changed most, and the number of those that changed."""
        values = [self._values[self._inputs.simplify(*mix)] for mix in ENDS]
        before, after = np.where(self._is_counted, values, np.nan)
        own = np.where(self._is_counted, values, [[self.before], [self.after]])
        shares = compute_shapley_values(lambda *mix: self._values[self._inputs.simplify(*mix)], 3)
        sizes = np.abs(np.stack(shares))
        causes = np.where(sizes.max(axis=0) > 0, 1 + np.argmax(sizes, axis=0), len(PARTS))
        causes[~self._both] = 0
        (known,) = np.nonzero(self._is_counted.any(axis=0))
        order = known[np.argsort(-np.abs(own[1] - own[0])[known], kind="stable")][:most]
        names = np.array([*PARTS, ""])[causes[order]].tolist()
        columns = (self._query_ids[order], before[order], after[order], (after - before)[order])
        rows = [QueryChange(*row) for row in zip(*(column.tolist() for column in columns), names, strict=True)]
        return rows, int(np.count_nonzero(before[known] != after[known]))

    @functools.cached_property
    def _moved(self) -> tuple[Table[Move], tuple[str, ...]]:
        """The moves, and notes on ids."""
        too_large = self._inputs.describe_size()
        if too_large:
            return Table((), MOVE_COLUMNS), (too_large,)
        if not self._both.any():
            means = (self._query_ids[own].tolist() for own in self._is_counted)
            return Table((), MOVE_COLUMNS), (_describe_disjoint("query is in both means", *means),)
        moves = self._compare(self._both)
        differences = moves.adds[1] - moves.adds[0]
        rows = [
            Move(kind, int(own.sum()), math.fsum(differences[own].tolist()) / self.n_queries["both"])
            for place, kind in enumerate(KINDS)
            if (own := moves.kinds == place).any()
        ]
        notes = () if (moves.rows >= 0).all(axis=0).any() else self._note_renamed()
        if not self.metric.record.is_additive:
            notes = (*notes, f"{self.metric} is no sum over documents, so that it is not known what moves add")
        else:
            notes = (*notes, *self._note_undefined(moves))
        return Table(rows, MOVE_COLUMNS), notes

    def _note_undefined(self, moves: Moves) -> Iterator[str]:
        """Yield a note if a query without a value has one by the convention on one side, so that sums lack it."""
        given = []
        for side, mix in zip(moves.sides, ENDS, strict=True):
            has_sum = np.bincount(side.queries, side.adds != 0, len(self._query_ids)) > 0
            given.append(np.where(self._both & ~has_sum, self._values[self._inputs.simplify(*mix)], 0.0))
        lacking = given[1] - given[0]
        if lacking.any():
            size = format_change(math.fsum(lacking.tolist()) / self.n_queries["both"])
            what = "queries with the convention's value, which no document adds"
            yield f"{what}: {np.count_nonzero(lacking)}, {size} of the difference"

    @property
    def moves(self) -> Table[Move]:
        """
        Count the documents within the cutoff by what became of them, in the queries that both means count.

        Each document has the first of these kinds: "label changed", "entered" or, without a judgment, "unjudged
        entered", "left", "tie made" and "tie broken" where equal scores share ranks after or before alone, "up",
        "down" by the mean of its ranks, and "unmoved". What the kinds add, adds up to the difference of the mean over
        these queries, less what a convention gives to queries without a value, which a note says. It is NaN for
        metrics that are no sums over documents. That a document moved is no cause: others that entered may have
        pushed it down.
        """
        return self._moved[0]

    def _compare(self, included: Array, *, is_single: bool = False) -> Moves:
        """Return what became of the documents of some queries, or of a single one."""
        before, after = (self._measure(included, mix, is_single=is_single) for mix in ENDS)
        if not self._inputs.differs[0]:
            return compare_rows((before, after), None)
        return compare_rows((before, after), (self._relabel(included, (1, 0, 0)), self._relabel(included, (0, 1, 1))))

    def _relabel(self, included: Array, mix: Mix) -> RankedRows:
        """Return the documents of a mix of other judgments, whole where labels have a say in ranks."""
        system, numbers = self._number(included, mix)
        applied = system.applied
        by_label = TIES[applied.ties].orders == "label" or "removed" in (applied.unjudged, applied.negative_labels)
        (metric,) = add_default_cutoff((self.metric.bare,), applied)
        return rank_rows(system, numbers, None if by_label else metric.k)

    def _number(self, included: Array, mix: Mix) -> tuple[JoinedSystem, Array]:
        """Return the rankings of a mix, and the number of each of their queries, `ABSENT` for those left out."""
        system = self._join(mix)
        places = _find_rows(_list_ids(system), self._query_ids)
        return system, np.where((places >= 0) & included[places], places, ABSENT)

    def _measure(self, included: Array, mix: Mix, *, is_single: bool) -> RankedRows:
        """Return the documents of a mix within the cutoff, with what they add to a sum, or else to a single query."""
        system, numbers = self._number(included, mix)
        (metric,) = add_default_cutoff((self.metric.bare,), system.applied)
        rows = rank_rows(system, numbers, metric.k)
        if metric.record.is_additive:
            measure_rows(rows, system, metric)
        elif is_single and len(rows.places):
            (own,) = np.flatnonzero(numbers >= 0).tolist()
            added = compute_contributions(select_case(system, metric, own))
            starts = (rows.places - system.rankings.offsets[own]).tolist()
            rows.adds = np.full(len(starts), np.nan) if added is None else np.array([added[row] for row in starts])
        return rows

    def _join(self, mix: Mix) -> JoinedSystem:
        """Return the rankings of a mix, which are kept for the next call."""
        mix = self._inputs.simplify(*mix)
        if mix not in self._joined:
            self._joined[mix] = self._inputs.join(mix)
        return self._joined[mix]

    def _note_renamed(self) -> tuple[str, ...]:
        """Return a note if no document is in both rankings."""
        names = []
        for mix in ENDS:
            rankings = self._join(mix).rankings
            names.append(rankings.take_document_ids("labels", np.arange(rankings.n_documents)).tolist())
        if not all(names) or not set(names[0]).isdisjoint(names[1]):
            return ()
        return (_describe_disjoint("document is in both runs", *names),)

    def documents(self, query: Any) -> Table[DocumentChange]:
        """
        Return what each document of a query added before and after.

        Of a metric that is a sum over documents, what they add gives the value, as the mean over all orders of equal
        scores. Of others, such as AP, it is what the value loses if the document has label 0, as `explain` has it.

        Parameters
        ----------
        query : str or int
            The id of the query, or its number from 0 if queries have no ids.

        Returns
        -------
        Table of DocumentChange
            All documents that either side ranks within the cutoff, the largest difference first.

        Raises
        ------
        UnknownIdError
            If neither mean counts the query.
        InvalidInputError
            If the metric has labels by subtopic.
        """
        known = self._query_ids[self._is_counted.any(axis=0)]
        place = find_id(known.tolist(), query, "query", "one of the two means")
        (number,) = np.flatnonzero(self._query_ids == known[place])[:1].tolist()
        too_large = self._inputs.describe_size()
        if too_large:
            raise InvalidInputError(f"`before` and `after` must be smaller: {too_large}.")
        moves = self._compare(np.arange(len(self._query_ids)) == number, is_single=True)
        return Table(list(_list_documents(moves)), DOCUMENT_COLUMNS)

    def slices(
        self, features: Any, *, correction: Correction = "holm", level: float = 0.95, replicates: int = 10_000,
        seed: int = 0,
    ) -> Table[Slice]:  # fmt: skip
        """
        Return the slices of queries that changed more, or less, than the rest.

        A slice has the queries with one value of a feature. A feature with more than ten different numbers is cut into
        quarters of the queries. The p-value is that of a permutation test: of random slices of the same size. It is
        corrected for all slices that were searched.

        Parameters
        ----------
        features : frame, or {feature: (n_queries,) array or {query id: value}}
            The features of the queries that both means count. A frame has the query ids in its column "query", or in
            pandas as its index. Arrays are in the order of `evaluate`, without the queries that only one mean counts.
        correction : {'holm', 'bonferroni', 'bh', 'none'}
            See `compare`.
        level : float
            A slice is significant if its corrected p-value is below 1 − level.
        replicates, seed : int
            The number of random slices, and their seed.

        Returns
        -------
        Table of Slice
            The smallest p-value first, and the number of searched slices in a note.

        Raises
        ------
        InvalidInputError
            If a query has no value of a feature, or no feature has two values.
        """
        settings = Settings(correction=correction, level=level, replicates=replicates, seed=seed)
        last = self._inputs.simplify(*ENDS[1])
        differences = self._values[last][self._both] - self._values[ENDS[0]][self._both]
        slices, notes = _list_slices(features, self._query_ids[self._both])
        if not slices:
            raise InvalidInputError(
                "`features` must have a feature with two values or more, got none. Pass such as {'length': lengths}."
            )
        p_values = find_p_values(differences, [own for _, _, own in slices], settings)
        corrected = correct_p_values(p_values, settings.correction)
        rows = []
        for (feature, value, own), p, p_corrected in zip(slices, p_values.tolist(), corrected.tolist(), strict=True):
            n, inside = int(own.sum()), mean(differences[own])
            about = inside, mean(differences[~own]), p, p_corrected, settings.is_significant(p_corrected)
            rows.append(Slice(feature, value, n, len(own) - n, *about))
        rows.sort(key=lambda row: (row.p, -abs(row.difference - row.rest)))
        note = f"{len(rows)} slices searched; permutation test, {replicates} replicates, seed {seed}; p corrected: "
        return Table(rows, SLICE_COLUMNS, [note + correction, *notes])

    def plot(self, *, axes: Any = None) -> Any:
        """
        Draw the parts of the difference, one bar a part, with matplotlib.

        Parameters
        ----------
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
        return upper_floors.find("draw")(upper_floors.find("make_change")(self), axes)

    def to_dict(self) -> dict[str, Any]:
        """
        Return the account as a dict of plain values.

        Returns
        -------
        dict
            The metric, the means, the parts, numbers of queries, and lists of dicts for moves and queries.
        """
        names = ("before", "after", "difference")
        return {
            "metric": str(self.metric),
            **{name: getattr(self, name) for name in names},
            "parts": {part: float(adds) for part, adds in self.parts.items()},
            "n_queries": self.n_queries,
            "moves": [move._asdict() for move in self.moves],
            "queries": [row._asdict() for row in self.queries()],
            "notes": list(self.notes),
        }

    def _json_pieces(self) -> Iterator[str]:
        yield dump_json(self.to_dict())

    def _export_columns(self) -> dict[str, list[Any]]:
        return {"part": list(self.parts), "adds": [float(adds) for adds in self.parts.values()]}

    def describe(self) -> str:
        """Return the two means and their difference in one line."""
        means = f"{format_number(self.before)} before, {format_number(self.after)} after"
        return f"mean of {self.metric}: {means} ({format_change(self.difference)})"

    def _print_table(self) -> PrintedTable:
        differs = self._list_differences()
        rows = [[part, format_change(adds), differs[part]] for part, adds in self.parts.items()]
        head = ["part", "adds", "what differs"]
        return PrintedTable([head, *rows], [True, False, True], self.notes, [self.describe()])

    def _list_differences(self) -> dict[str, str]:
        counts = (f"{n} {'in both means' if side == 'both' else f'only {side}'}" for side, n in self.n_queries.items())
        fields = self._inputs.conventions[0].difference(self._inputs.conventions[1])
        n_moved = sum(move.n for move in self.moves if move.kind not in ("unmoved", "label changed"))
        return {
            "queries": ", ".join(counts),
            "judgments": "another truth" if self._inputs.differs[0] else "nothing",
            "convention": ", ".join(fields) or "nothing",
            "ranking": f"{n_moved} of {sum(move.n for move in self.moves)} documents moved",
        }

    def list_causes(self) -> Iterator[PrintedTable]:
        """Yield the table of the parts, without a lead, and that of the moves, without notes."""
        yield self._print_table()._replace(notes=(), lead=())
        if self.moves:
            lead = "documents within the cutoff, in the queries that both means count:"
            yield self.moves._print_table()._replace(lead=[lead])

    def list_tables(self) -> Iterator[PrintedTable]:
        """Yield the printed tables: the parts, the moves, and the queries that changed most. The last has the notes."""
        parts, *tables = self.list_causes()
        rows, n_changed = self._list_queries(MAX_QUERIES)
        if n_changed:
            lead = f"{n_changed} of {sum(self.n_queries.values())} queries changed, the largest difference first:"
            changed = [row for row in rows if row.difference != 0]
            tables.append(Table(changed, QUERY_COLUMNS)._print_table()._replace(lead=[lead]))
        *others, last = parts._replace(lead=[self.describe()]), *tables
        yield from (*others, last._replace(notes=self.notes))

    def __str__(self) -> str:
        return "\n".join(text_table(*table[:4]) for table in self.list_tables())

    def _repr_html_(self) -> str:
        return "".join(html_table(*table[:4]) for table in self.list_tables())


def compute_shapley_values(value: Callable[..., Any], n: int) -> list[Any]:
    """
    Return the Shapley value of each of `n` players: the mean of what it adds, over all orders in which they come.

    `value` takes 0 or 1 for each player: whether it is there. Of fractions the result has no rounding, and its sum is
    the value of all players less that of none.

    >>> compute_shapley_values(lambda a, b, c: Fraction(3 * a * b + c), 3)
    [Fraction(3, 2), Fraction(3, 2), Fraction(1, 1)]
    """
    shares: list[Any] = [0] * n
    for there in product((0, 1), repeat=n):
        for player in range(n):
            if not there[player]:
                weight = Fraction(1, n * math.comb(n - 1, sum(there)))
                added = value(*there[:player], 1, *there[player + 1 :]) - value(*there)
                shares[player] = shares[player] + added * (weight if isinstance(added, Fraction) else float(weight))
    return shares


def _align(ends: Sequence[Results]) -> tuple[Array, Array]:
    """Return the ids of all queries, and their values before and after, (2, n_queries), NaN for a query without one."""
    ids = [results.query_ids for results in ends]
    places = _find_rows(ids[1], ids[0])
    is_new = places < 0
    union = np.concatenate([ids[0], ids[1][is_new]]) if is_new.any() else ids[0]
    places[is_new] = len(ids[0]) + np.arange(int(is_new.sum()))
    values = np.full((2, len(union)), np.nan)
    values[0, : len(ids[0])] = ends[0].values[:, 0]
    values[1, places] = ends[1].values[:, 0]
    return union, values


def _find_rows(ids: Array, others: Array) -> Array:
    """Return the place of each id among others, `ABSENT` for those that are not there."""
    if np.array_equal(ids, others):
        return np.arange(len(ids))
    return find_ids(IdColumn.of(ids, "ids of queries"), IdColumn.of(others, "ids of queries"), "queries", MEANS)


def _describe_disjoint(what: str, before: list[Any], after: list[Any]) -> str:
    names = tell_apart(before, after)
    return f"no {what}: before there is {names[0]}, after there is {names[1]}. {names[2]}"


def _list_ids(system: JoinedSystem) -> Array:
    ids = system.rankings.query_ids
    return np.arange(system.rankings.n_queries) if ids is None else ids


def _list_documents(moves: Moves) -> Iterator[DocumentChange]:
    """Yield the documents of a query, the largest difference first."""
    differences = moves.adds[1] - moves.adds[0]
    best = np.fmin(*moves.ranks)
    for place in np.lexsort((best, -np.abs(np.nan_to_num(differences)))).tolist():
        columns = (*moves.labels[:, place], *moves.ranks[:, place], *moves.adds[:, place], differences[place])
        yield DocumentChange(moves.name(place), KINDS[moves.kinds[place]], *map(float, columns))


def _list_slices(features: Any, query_ids: Array) -> tuple[list[tuple[str, Any, Array]], list[str]]:
    """Return the feature, the value and the queries of each slice that has a rest, and notes on other queries."""
    slices: list[tuple[str, Any, Array]] = []
    notes: list[str] = []
    for feature, values in _read_features(features).items():
        name = f"features[{shorten(feature)}]"
        own, extra = keep_known(values, name, query_ids)
        notes += extra
        column = read_per_query_array(own, name, query_ids)
        names, codes = np.unique(column, return_inverse=True)
        labels = names.tolist()
        if column.dtype.kind in "iuf" and len(labels) > MAX_LEVELS:
            edges = np.unique(np.quantile(column, [0.25, 0.5, 0.75]))
            codes = np.searchsorted(edges, column)
            ends = [-math.inf, *edges.tolist(), math.inf]
            labels = [
                f"{f'above {low:g} ' * (low > -math.inf)}{f'up to {high:g}' * (high < math.inf)}".strip()
                for low, high in pairwise(ends)
            ]
        for place, label in enumerate(labels):
            is_inside = codes == place
            if is_inside.any() and not is_inside.all():
                slices.append((str(feature), label, is_inside))
    return slices, notes


def _read_features(features: Any) -> dict[Any, Any]:
    """Return the values of each feature."""
    if isinstance(features, Mapping):
        return dict(features)
    if not hasattr(features, "columns"):
        raise InvalidTypeError(
            f"`features` must be a frame or {{feature: values}}, not {shorten(features)}. Pass such as "
            "{'length': {query: length}}."
        )
    names = list(getattr(features, "column_names", features.columns))
    columns = {name: features[name] for name in names}
    if "query" not in columns:
        if hasattr(features, "index"):
            return columns
        raise InvalidInputError(f'`features` must have a column "query", but has {join_names(names)}. Add it.')
    lists = {name: own.to_pylist() if hasattr(own, "to_pylist") else own.to_list() for name, own in columns.items()}
    queries = lists.pop("query")
    repeated = next((query for query, n in Counter(queries).items() if n > 1), None)
    if repeated is not None:
        raise InvalidInputError(f"`features` must have one row a query, but {shorten(repeated)} has several. Keep one.")
    return {name: dict(zip(queries, values, strict=True)) for name, values in lists.items()}


def find_p_values(differences: Array, slices: Sequence[Array], settings: Settings) -> Array:
    """
    Return the p-value of each slice: the share of random slices of its size that are as far from their rest.

    In a random order of the queries, the first ones are a random slice of each size, so that one order serves all.
    """
    n = len(differences)
    centred = differences - mean(differences)
    sizes = np.array([int(own.sum()) for own in slices])
    observed = np.abs([math.fsum(centred[own].tolist()) for own in slices])
    short = np.minimum(sizes, n - sizes)  # the sum of the others is the opposite
    rounding = 1e-12 * float(np.abs(centred).sum())
    counts = np.zeros(len(sizes), "i8")
    generator = np.random.default_rng(settings.seed)
    for _ in range(settings.replicates):
        sums = np.cumsum(generator.permutation(centred)[: short.max()])
        counts += np.abs(sums[short - 1]) >= observed - rounding
    p_values: Array = (1 + counts) / (1 + settings.replicates)
    return p_values


def format_change(change: Fraction | float) -> str:
    """Return a difference with its sign, 0 without one, and a dash for NaN."""
    size = format_number(_skip_nan(abs(float(change))))
    return f"{'-' if change < 0 else '+' if change > 0 else ''}{size}"


def _skip_nan(number: float) -> float | None:
    return None if math.isnan(number) else number


def _make_columns(fields: Sequence[str], left: Collection[str], **formats: Callable[[Any], str]) -> list[Column]:
    """Return columns of the fields of rows, in which texts are flush left, and numbers have four digits."""

    def make_cell(field: str) -> Callable[[Any], str]:
        usual: Callable[[Any], str] = show_name if field in left else lambda value: format_number(_skip_nan(value))
        is_change = field in ("difference", "rest", "adds")
        own: Callable[[Any], str] = formats.get(field, format_change if is_change else usual)
        return lambda row: own(getattr(row, field))

    return [Column(field.replace("_", " "), make_cell(field), field in left) for field in fields]


QUERY_COLUMNS = _make_columns(QueryChange._fields, ("query", "cause"))
DOCUMENT_COLUMNS = _make_columns(DocumentChange._fields, ("document", "kind"))
MOVE_COLUMNS = _make_columns(Move._fields, ("kind",))
SLICE_COLUMNS = _make_columns(
    [field for field in Slice._fields if field != "n_rest"], ("feature", "value"), p=format_p_value,
    p_corrected=format_p_value, is_significant=lambda value: "yes" if value else "no",
)  # fmt: skip

"""
What users say, and what they are told: the options of an evaluation, where rows come from, hints and notes.

Hints say what to pass in place of unknown forms. Notes are on arguments that look swapped.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping, Set, Sized
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar

import numpy as np

from fastndcg.errors import (
    MOST_ITEMS,
    InvalidInputError,
    InvalidTypeError,
    Place,
    Row,
    Words,
    join_names,
    shorten,
    suggest_name,
)
from fastndcg.inputs.arrays import find_list, refuse_cuts
from fastndcg.inputs.frames import ColumnNames, find_usual_roles
from fastndcg.metrics.metric import Metric, parse_metrics
from fastndcg.named_conventions import CHOICES
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array

P = ParamSpec("P")
T = TypeVar("T")
COMPARE = "Evaluate them one by one, or give them to fn.compare(truth, systems, metrics)"
CHROMA = {"ids", "distances", "documents", "metadatas", "embeddings", "uris", "data", "included"}  # of its results
MOST_COLUMNS = 300  # a dict of more items is no dict of columns
SAMPLE = 1000  # queries that are looked at
LEAST_ID = 5  # a row of different grades that are all smaller may be one of labels
LISTS_OF_IDS = (
    "labels and scores are whole numbers like ids, and scores are among the labels of their row: were lists of ids "
    "meant? Give {query: set of ids} and {query: list of ids}"
)
SWAPPED = "no label is a whole number, and all scores are: were truth and predictions swapped?"
_PAIRS = {
    "qrels": (
        "{document: label}, such as dict.fromkeys(ids, 1), or fn.Interactions where items are whole numbers",
        "judgments",
    ),
    "run": (
        "{document: score}, such as {document: -rank for rank, document in enumerate(ids)}, or fn.Recommendations "
        "where items are whole numbers",
        "ranked ids",
    ),
}


def refuse_row(what: str, rows: Mapping[Any, Any], query: Any) -> NoReturn:
    """Raise for a query that does not map to {document: number}, with what the dict seems to be."""
    row = rows[query]
    inside = _find_inside(what, rows)
    remedy: tuple[Any, ...] = ()
    problem = f"{shorten(query)} maps to {shorten(row)}"
    if are_columns(rows):
        problem = "is a dict of columns. Give a frame: pandas.DataFrame(columns)"
    elif "took" in rows:
        problem = "is a response of Elasticsearch, whose queries have no ids. Give dict(zip(query_ids, responses))"
    elif are_means(rows):
        problem = f"has the means of {join_names(rows)}. As what a gate compares with, save the values of queries ("
        floors = Words("floors=", "--fail-under METRIC=X")
        remedy = (Words("Results.save", "--save-baseline"), "), or give means as ", floors)
    elif inside and len(rows) > 1:
        problem = f"is a dict of several ({join_names(rows)}). {COMPARE if what == 'run' else 'Give one of them'}"
    elif inside:
        problem = f"has such a dict inside. Give {inside}"
    elif isinstance(row, str | os.PathLike):
        problem += f". For one id per query give lists: {{query: [id]}}. For paths of several systems: {COMPARE}"
    elif isinstance(row, Mapping):
        problem += ", which gives no numbers. Give {document: number}, such as dict(zip(ids, numbers))"
    elif isinstance(row, Sized):
        form, kind = _PAIRS.get(what, _PAIRS["qrels"])
        problem += f". Give each query's {kind} as {form}"
    elif hasattr(row, "__iter__"):
        problem += ". Give a list: list(…)"
    raise InvalidTypeError(f"`{what}` must map queries to dicts, but {problem}", *remedy)


def refuse_chroma(what: str, rows: Mapping[Any, Any]) -> None:
    """Raise for a result of Chroma, which has a list of lists for each kind of content."""
    if CHROMA.issuperset(rows) and isinstance(rows.get("ids"), list) and list in map(type, rows["ids"]):
        raise InvalidTypeError(
            f"`{what}` must map queries to dicts or to ids, but is a result of Chroma, whose queries have no ids. Give "
            "dict(zip(query_ids, result['ids'])), which ranks documents as Chroma does"
        )


def are_means(rows: Mapping[Any, Any]) -> bool:
    """Return True for numbers by metric."""
    try:
        return bool(rows) and all(isinstance(rows[name], int | float) and parse_metrics(name) for name in rows)
    except InvalidInputError:
        return False


def _find_inside(name: str, rows: Any) -> str:
    """Return the place of the first table in a dict, or in the first dict of a dict, or an empty text for none."""
    inside = ""
    while isinstance(rows, Mapping) and rows:
        key, rows = next(iter(rows.items()))
        if isinstance(rows, str) or not (_is_table(rows) or _has_queries(rows)):
            break
        name = inside = f"{name}[{shorten(key)}]"
    return inside


def _has_queries(value: Any) -> bool:
    """Return True for a dict of dicts or of lists of ids, if no key is a usual name of a column, but for queries."""
    rows = [value, *islice(value.values(), MOST_ITEMS)] if isinstance(value, Mapping) else []
    names = [name for row in rows if isinstance(row, Mapping) for name in row if isinstance(name, str)]
    return len(rows) > 1 and all(map(_holds_ids, rows)) and {"query"}.issuperset(find_usual_roles(names).values())


def refuse_several(values: Any, name: str) -> None:
    """Raise for a list or dict of several runs, files, frames or tables of items in place of one."""
    if not isinstance(values, Mapping | list | tuple) or not values:
        return
    items = list(values.values()) if isinstance(values, Mapping) else values
    if name == "truth" and not isinstance(values, Mapping) and all(isinstance(item, str) for item in items):
        raise InvalidTypeError(
            f"`truth` must be one input, but is a {type(values).__name__} of texts: {shorten(values)}. Give relevant "
            "ids as {query: ids}, one path as a text, and several systems to fn.compare"
        )
    if all(_is_table(item) or _is_nested(item) for item in items[:MOST_ITEMS]):
        first = next(iter(values)) if isinstance(values, Mapping) else 0
        count = join_names(values) if isinstance(values, Mapping) else f"{len(values)} in all"
        problem = f"several ({count}). {'Give one of them' if name == 'truth' else COMPARE}"
        problem = problem if len(values) > 1 else f"one. Give {name}[{shorten(first)}]"
        if len(values) == 2 and all("int" in str(getattr(item, "dtype", "")) for item in items):
            problem += ". Of ids with Hamming distances give the ids alone"
        raise InvalidTypeError(f"`{name}` must be one input, but is a {type(values).__name__} of {problem}")


def _is_table(value: Any) -> bool:
    """Return True for a path, a `Run`, a frame, or another table with ids."""
    return isinstance(value, str | os.PathLike) or hasattr(value, "source") or hasattr(value, "columns")


def _is_nested(value: Any) -> bool:
    """Return True for a dict of dicts or of lists, and for an array of two dimensions."""
    if isinstance(value, Mapping):
        if are_columns(value):
            return False
        return isinstance(next(iter(dict(value).values()), None), Mapping | list | tuple | Set)
    return getattr(value, "ndim", 0) > 1


def are_columns(rows: Mapping[Any, Any]) -> bool:
    """Return True if keys are usual names of two columns or more."""
    names = [name for name in list(rows) if isinstance(name, str)] if len(rows) <= MOST_COLUMNS else []
    return len(names) > 1 and len(set(find_usual_roles(names).values())) > 1


def refuse_records(values: Any, name: str, number: str) -> None:
    """Raise for an iterator, and for a list of rows: (query, document, number), or dicts with these."""
    remedy = (
        f"Give {{query: {{document: {number}}}}}, or a frame: "
        f"pandas.DataFrame(rows, columns=['query', 'document', '{number}'])"
    )
    if hasattr(values, "__next__"):
        kind = type(values).__name__
        raise InvalidTypeError(f"`{name}` must not be an iterator, but is a {kind}. {remedy}, with rows = list(…)")
    if not isinstance(values, list | tuple) or not values:
        return
    first = values[0]
    if isinstance(first, list | tuple) and first and isinstance(first[0], Mapping):
        raise InvalidTypeError(
            f"`{name}` must be one input, but is a list of lists of dicts, such as {shorten(first[0])}. For hits of "
            "each query, such as those of semantic_search, give {query: {hit[ID]: hit[SCORE] for hit in hits} for "
            f"query, hits in zip(query_ids, {name})}}"
        )
    fields = first.values() if isinstance(first, Mapping) else first
    if isinstance(first, list | tuple | Mapping) and any(isinstance(field, str) for field in fields):
        raise InvalidTypeError(f"`{name}` must not be a list of rows, but {name}[0] is {shorten(first)}. {remedy}")


def refuse_convertible(value: Any, name: str) -> None:
    """Raise for an object that gives a dict, such as a `Run` of ranx, or a pandas Series of ids by query."""
    if not hasattr(value, "to_dict"):
        return
    is_array = hasattr(value, "dtype") or hasattr(value, "__array__")
    if not is_array or (hasattr(value, "iloc") and len(value) and _holds_ids(value.iloc[0])):
        kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
        raise InvalidTypeError(f"`{name}` must have a known form, but is a {kind}. Give its dict: {name}.to_dict()")


def _holds_ids(row: Any) -> bool:
    """Return True for a set, a dict, or a list that begins with a text."""
    return isinstance(row, Set | Mapping) or (isinstance(row, list) and bool(row) and isinstance(row[0], str))


def note_confused(rankings: Rankings) -> tuple[str, ...]:
    """Return a note on labels and scores that look swapped, or like lists of ids."""
    if rankings.known_hits is not None:  # it has ranks, no scores
        return ()
    scores = rankings.scores
    if not len(scores) or scores.item(0) % 1 != 0 or scores.item(0) < 0:  # as in most inputs, and of ranks, at no cost
        return ()
    has_judgments = rankings.judged is not None or rankings.pool is not None or rankings.patterns is not None
    if not has_judgments:
        return _note_swapped(rankings) + _note_lists_of_ids(rankings)
    labels = rankings.labels if rankings.pool is None else rankings.pool[0]
    return _note_swapped(rankings) if labels.dtype.kind == "f" else ()


def note_alternatives(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """Return a note on metrics for which all of a group of documents are needed, of which one is enough."""
    names = [str(metric) for metric in metrics if metric.record.needs_all_relevant]
    need = f"{', '.join(names)} {'needs' if len(names) == 1 else 'need'} every document of a group"
    return (f"{need}, of which one is enough: evidence_recall counts groups",) if names else ()


def find_highest_label(rankings: Any) -> float:
    """
    Return the highest label of rankings or truth, infinity for labels that are whole numbers by their dtype.

    Where one of the first labels is 1 or higher, as in most inputs, others are not read.
    """
    owner = getattr(rankings, "rows", rankings)  # of a matrix of scores
    labels: Any = owner.labels if hasattr(owner, "labels") else owner.values
    if getattr(rankings, "patterns", None) is not None:
        labels = rankings.patterns.labels
    elif getattr(rankings, "pool", None) is not None:
        labels = rankings.pool[0]
    if labels.dtype.kind != "f":
        return math.inf
    highest = float(labels[:SAMPLE].max(initial=0.0))
    return highest if highest >= 1 else float(labels.max(initial=0.0))


def _note_lists_of_ids(rankings: Rankings) -> tuple[str, ...]:
    """Return a note if the labels of rows differ like ids, and rows have ids among labels and scores."""
    scores = rankings.scores
    offsets = rankings.offsets[: SAMPLE + 1]
    n = int(offsets[-1])
    if n < 2 or rankings.labels[:n].max() < LEAST_ID:
        return ()
    labels = rankings.labels[:n].astype("f8")
    scores = scores[:n].astype("f8")
    with np.errstate(invalid="ignore"):
        if (labels % 1 != 0).any() or (scores % 1 != 0).any():
            return ()
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    listed = set(zip(rows.tolist(), labels.tolist(), strict=True))
    shared = {row for row, score in zip(rows.tolist(), scores.tolist(), strict=True) if (row, score) in listed}
    n_rows = np.count_nonzero(np.diff(offsets))
    are_distinct = len(listed) >= 0.9 * n and n > n_rows
    are_alike = np.array_equal(labels, scores)  # labels as scores: the ideal ranking
    return (LISTS_OF_IDS,) if are_distinct and not are_alike and len(shared) * 2 > n_rows else ()


def _note_swapped(rankings: Rankings) -> tuple[str, ...]:
    """Return a note if all labels have fractions and all scores are whole, as if the two were swapped."""
    labels = rankings.labels if rankings.pool is None else rankings.pool[0]
    if labels.dtype.kind != "f":
        return ()
    scores = rankings.scores
    if rankings.pool is None and rankings.judged is not None:
        labels = labels[rankings.judged]
    if not len(labels) or labels.item(0) % 1 == 0:  # as in most inputs, at no cost
        return ()
    with np.errstate(invalid="ignore"):
        is_swapped = (labels % 1 != 0).all() and (scores % 1 == 0).all()
    return (SWAPPED,) if is_swapped and np.isfinite(labels).all() else ()


class Source(NamedTuple):
    """
    The source of rows: a file with lines, a frame with rows, or only a name.

    Attributes
    ----------
    name : str
    unit : {'', 'line', 'row'}
        What `number` counts: lines from 1, rows from 0. Empty if errors name the source only.
    numbers : (n_rows,) int array, optional
        The number of each row.
    n_before : int
        How many lines or rows come before the first row.
    remedy : tuple
        What to do about a document that occurs twice: parts of a message. By default that of the table.
    lists : (n_lists + 1,) int array, optional
        Offsets, if each row of a frame is a list of documents.
    columns : tuple of str
        The columns of a frame.
    notes : tuple of str
        How rows were read where they could be read otherwise.
    """

    name: str
    unit: str = ""
    numbers: Array | None = None
    n_before: int = 0
    remedy: tuple[Any, ...] = ()
    lists: Array | None = None
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def place(self, row: int) -> Place:
        """Return the place of a row, as an error message names it."""
        return Place(self.name, self.unit, self.number(row))

    def number(self, row: int) -> int:
        """Return the number of a row or of its line."""
        return int(self.numbers[row]) if self.numbers is not None else row + self.n_before + (self.unit == "line")

    def select(self, rows: Array) -> Source:
        """Return the source of some rows."""
        numbers = rows + self.n_before + (self.unit == "line") if self.numbers is None else self.numbers[rows]
        return self._replace(numbers=numbers, lists=None)

    def pair(self, *documents: int) -> tuple[str, Row | str]:
        """Return the parts of a message that name two documents: by rows, or by places in their list."""
        if self.lists is None:
            first, second = sorted(map(self.number, documents))
            return "", Row(first, second, self.unit or "row")
        row = find_list(documents[0], self.lists)
        first, second = sorted(place - int(self.lists[row]) for place in documents)
        return f"places {first} and {second} of ", Row(self.number(row)) if self.unit else "its list"


_CUTOFF = "The cutoff belongs to a metric: 'ndcg@10'"
_SIDES = "are the first arguments: {call}"
_KNOWN = "Items that users know are `interactions` in beyond_accuracy, and exclude= in Embeddings, Scorer and Scores"
_METHOD = "belongs to the method: "
_READING = {  # of classes that read a table
    **dict.fromkeys(("name", "names", "tag"), "Names belong to where runs are compared: {name: run}"),
    **dict.fromkeys(
        (
            "path", "file", "filename", "filepath", "file_path", "url", "df", "frame", "table", "rows", "records",
            "qrels", "run", "runs", "qrels_dict", "run_dict", "dict", "results", "truth", "predictions",
        ),
        "It is the first argument: {call}",
    ),
    **dict.fromkeys(
        (
            "q_id_col", "doc_id_col", "score_col", "query_col", "doc_col", "label_col", "query_column", "doc_column",
            "document_column", "score_column", "label_column", "qid", "query", "query_id", "doc", "document", "doc_id",
            "docid", "docno", "score", "label", "relevance",
        ),
        'Columns are named by columns={"query": NAME, "document": NAME, …}',
    ),
    **dict.fromkeys(("kind", "type", "filetype", "file_type", "file_format"), "The format of a file is format='trec'"),
}  # fmt: skip
KEYWORD_HINTS = {  # for keywords that other programs have, by function: those of "" are for each that lacks an own one
    "": {
        **dict.fromkeys(("k", "top_k", "top_n", "cutoff"), _CUTOFF),
        "group": "`groups` are the sizes of the queries, `query_ids` has an id for each document",
        **dict.fromkeys(("qid", "qids"), "`query_ids` has an id for each document, `groups` the sizes of the queries"),
        **dict.fromkeys(("weights", "sample_weight"), "Weights of queries belong to the mean: result.mean(weights=…)"),
        **dict.fromkeys(
            ("y_true", "y_score", "y_pred", "labels", "scores", "target", "preds"), f"Labels and scores {_SIDES}"
        ),
        **dict.fromkeys(("qrels", "run", "runs", "truth", "predictions"), f"Judgments and runs {_SIDES}"),
        "metric": "Metrics are metrics=",
        "n_jobs": "Threads are counted by threads=",
        "rows": "Link prediction is evaluate_pairs(…, rows=…)",
        "competitors": "Link prediction is evaluate_pairs(…, competitors=…)",
        **dict.fromkeys(("train", "train_data", "history"), _KNOWN),
        **dict.fromkeys(("duplicates", "ranks", "parents"), "It is said where the run is read: fn.Run(run, {name}=…)"),
        **dict.fromkeys(
            ("exclude", "candidates", "missing_truth"),
            "It belongs to the model: fn.Embeddings(…, {name}=…), fn.Scorer(…), or fn.Scores(matrix, …) for a matrix",
        ),
        "memory": "It is said where data are read, fn.Rows(data, memory=…), and by models: fn.Embeddings(…, memory=…)",
        "columns": "It is said where a table is read: fn.Qrels(table, columns=…), fn.Run(…) or fn.Rows(…)",
    },
    "compare": {
        "": 'Systems are one argument: {"old": run, "new": other_run}',
        "runs": 'Systems are the second argument: {call}, with {"old": run, "new": other_run} as systems',
        **dict.fromkeys(("curves", "segments"), "The report has it: compare(…).to_html(path, segments=, curves=)"),
        "margin": "It belongs to a method: compare(…).equivalence(margin)",
        "power": "It belongs to a method: compare(…).smallest_difference(power)",
    },
    **dict.fromkeys(("Qrels", "Run", "DiversityQrels", "Rows"), _READING),
    "gate": {
        **dict.fromkeys(("old", "new", "run", "runs", "systems"), "Both runs are arguments by place: {call}"),
        **dict.fromkeys(
            ("offsets", "groups", "query_ids"),
            "Give rankings: gate(None, fn.Rankings(labels, old_scores, offsets), fn.Rankings(labels, …), …)",
        ),
    },
    "evaluate_spans": {"columns": "It is said where text is read: fn.Spans(table, columns=…)"},
    "beyond_accuracy": {
        "columns": "It is said where tables are read: fn.Qrels(interactions, columns=…), fn.Run(recommended, columns=…)"
    },
    "explain": {
        **dict.fromkeys(("q", "qid", "query_id"), "The query to explain is query="),
        "metrics": "The metric is the third argument, or metric=",
    },
    "tune_fusion": {
        "k": f"The constant {_METHOD}'rrf(k=60)'",
        "method": "Methods are the fourth argument, or methods=",
    },
    "fuse": {
        "k": f"The constant {_METHOD}'rrf(k=60)'",
        **dict.fromkeys(("norm", "normalization"), f"The normalisation {_METHOD}'wsum(norm=min_max)'"),
        "params": f"Parameters {_METHOD}'rrf(k=60)', and weights are weights=",
        "alpha": "The weights of two runs are weights=[alpha, 1 - alpha]",
        **dict.fromkeys(("top_k", "top_n", "limit"), "Fewer documents are fuse(…).top(k), and of each run depth="),
        "names": "Names belong to the runs: {name: run}",
        "queries": "The union is the default; others are choices: fusion_convention='default(queries=common)'",
        "ties": "It belongs to the convention: fusion_convention='default(ties=average)'",
        **dict.fromkeys(("qrels", "metric"), "Runs are fused without judgments; tune_fusion takes them"),
    },
}


def answer_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function answer a keyword that it does not have with what to write, whatever else a call lacks."""

    @functools.wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> T:
        try:
            return function(*arguments, **keywords)
        except TypeError:
            _refuse_keywords(function, keywords)
            _refuse_places(function, len(arguments), keywords)
            raise

    return call


def _refuse_keywords(function: Callable[..., Any], keywords: Mapping[str, Any]) -> None:
    """Raise an error for the first keyword that a function does not have, with what to write in its place."""
    name = _name(function)
    parameters = inspect.signature(function).parameters
    answers = KEYWORD_HINTS[""] | KEYWORD_HINTS.get(name, {})
    unknown = next((key for key in keywords if key not in parameters), None)
    if unknown is None:
        return
    if unknown in CHOICES and "convention" in parameters:
        answer = f"It belongs to the convention: convention='default({unknown}={keywords[unknown]})'"
    else:
        answer = answers.get(unknown) or suggest_name(unknown, parameters).strip() or "Leave it out"
    answer = answer.replace("{call}", _spell_call(function)).replace("{name}", unknown)
    raise InvalidTypeError(f"`{unknown}` is no argument of {name}. {answer}") from None


def _refuse_places(function: Callable[..., Any], n_given: int, keywords: Mapping[str, Any]) -> None:
    """Raise an error for more arguments by place than a function has, and for one that it needs and lacks."""
    parameters = inspect.signature(function).parameters
    sides = _list_sides(function)
    n_given -= "self" in parameters or "cls" in parameters
    if n_given > len(sides):
        answer = KEYWORD_HINTS.get(_name(function), {}).get("", "Name the others")
        raise InvalidTypeError(f"{_name(function)} takes {', '.join(sides)} by place. {answer}") from None
    for side in sides[n_given:]:
        if side not in keywords and parameters[side].default is inspect.Parameter.empty:
            raise InvalidTypeError(f"`{side}` is missing: call {_spell_call(function)}") from None


def _name(function: Callable[..., Any]) -> str:
    """Return the name of a function, or of the class that it is of."""
    return function.__qualname__.removesuffix(".__init__").removesuffix(".__new__")


def _spell_call(function: Callable[..., Any]) -> str:
    """Return a call with the arguments by place."""
    return f"{_name(function)}({', '.join(_list_sides(function))}, …)"


def _list_sides(function: Callable[..., Any]) -> list[str]:
    """Return the names of the arguments that a function takes by place."""
    parameters = inspect.signature(function).parameters.items()
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [key for key, parameter in parameters if parameter.kind is kind and key not in ("self", "cls")]


@dataclass(slots=True)
class Options:
    """
    Options for reading the truth and the predictions. See `evaluate` for most options.

    `duplicates` is a `Duplicates`: what documents that a query of a run has twice become. With None they are errors.
    `other` are the predictions, where they are known when the truth is read: a matrix makes classes of labels. With
    `is_alone`, there are no predictions, and with None, that is not known yet.
    `is_part` is True for judgments and a run that are parts of larger ones, and may have no query in common.
    `kind` is the class of the table that is wanted, where judgments or a run are read alone.
    """

    offsets: Any = None
    groups: Any = None
    query_ids: Any = None
    columns: Any = None
    memory: Any = None
    threads: int | None = None
    progress: Callable[[int, int], None] | None = None
    duplicates: Any = None
    is_part: bool = False
    other: Any = None
    is_alone: bool | None = None
    kind: Any = None

    def name(self, side: str) -> str:
        """Return what error messages call the input of a side: that of a table alone is its class."""
        return side if self.kind is None else self.kind.what

    def takes_scores(self, side: str) -> bool:
        """Return True for a truth that may have labels and scores."""
        return side == "truth" and self.kind is None

    def name_columns(self, side: str) -> ColumnNames:
        """Return what is known of the columns of the truth, or of the predictions."""
        if self.kind is not None:
            return self._without_parents(ColumnNames.of(self.columns, side))
        is_alone = self.is_alone if side == "truth" else None
        return self._without_parents(ColumnNames.of(self.columns, side, is_alone=is_alone))

    def _without_parents(self, names: ColumnNames) -> ColumnNames:
        """Return what is known of columns: that of the documents of chunks has no other role."""
        parents = None if self.duplicates is None else self.duplicates.parents
        return names if parents is None else replace(names, parents=parents.column)

    def without_cuts(self) -> Options:
        """Return the options that predictions need: all but those that cut the truth into queries."""
        return replace(self, offsets=None, groups=None, query_ids=None)

    def check_no_cuts(self) -> None:
        """Raise if an argument splits arrays into queries, for a truth with queries of its own."""
        if self.offsets is not None or self.groups is not None or self.query_ids is not None:
            refuse_cuts(self.offsets, self.groups, self.query_ids)

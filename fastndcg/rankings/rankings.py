"""
Rankings: the form that every input becomes, and selections of their documents.

A document is judged if its label is 0 or more. A negative label means that it was pooled but not judged, as in
trec_eval, unless the convention keeps negative labels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from fastndcg.errors import Argument, Choice, InvalidInputError, InvalidTypeError
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import (
    Array,
    ReadOnly,
    as_array,
    as_labels,
    as_offsets,
    as_scores,
    as_whole_numbers,
    is_wide,
    mask_offsets,
    put,
    read_only,
)
from fastndcg.runtime.escapes import show_name

if TYPE_CHECKING:
    import numpy.typing as npt


def check_pool(rankings: Rankings) -> None:
    """Raise if a pool lacks a label of the ranked documents: recall would exceed 1, or DCG the ideal DCG."""
    if rankings.pool is None:
        return
    ranked_queries, ranked_labels = _list_positive(rankings.labels, rankings.offsets)
    pool_queries, pool_labels = _list_positive(*rankings.pool)
    queries = np.concatenate([ranked_queries, pool_queries])
    labels = np.concatenate([ranked_labels, pool_labels])
    order = np.lexsort((labels, queries))
    queries = queries[order]
    labels = labels[order]
    is_ranked = order < len(ranked_labels)
    firsts = np.flatnonzero((np.diff(queries, prepend=-1) != 0) | (np.diff(labels, prepend=0) != 0))
    if not len(firsts):
        return
    n_ranked = np.add.reduceat(is_ranked, firsts)
    n_pooled = np.add.reduceat(~is_ranked, firsts)
    if (n_ranked > n_pooled).any():
        first = int(np.argmax(n_ranked > n_pooled))
        query = rankings.query_name(int(queries[firsts[first]]))
        label = f"{labels[firsts[first]]:g}"
        raise InvalidInputError(
            f"`pool` must hold the labels of all that was ranked, but {query} ranks {n_ranked[first]} with label "
            f"{label} and its pool has {n_pooled[first]}. Add them"
        )


def _list_positive(labels: Array, offsets: Array) -> tuple[Array, Array]:
    """Return the query and the value of each positive label."""
    places = np.flatnonzero(labels > 0)
    queries = np.searchsorted(offsets, places, side="right") - 1
    return queries, labels[places].astype("f8")


class Patterns:
    """
    The distinct sets of judgments by subtopic.

    In rankings with patterns, a positive label is the number of a pattern. Pattern p has judged subtopics
    ``subtopics[offsets[p]:offsets[p + 1]]``, numbered from 0 in each query, with labels above 0 at the same places of
    `labels`. Pattern 0 is empty. A negative label is a plain label: the highest of a document without a positive one.

    Attributes
    ----------
    offsets : (n_patterns + 1,) int64 array
    subtopics : (n_judgments,) int32 array
    labels : (n_judgments,) float64 array
    highest : (n_patterns,) float64 array
        The highest label of each pattern, for metrics that take one label per document.
    n_subtopics : int
        The largest number of subtopics of a query.
    negative : str
        The place and the value of the first negative label, empty without one.
    importance : ((n_all_subtopics,) float64 array, (n_queries + 1,) int64 array), optional
        The importance of all subtopics of each query, with a relevant document or without, and their offsets. None:
        each subtopic with a label above 0 has the importance 1.
    """

    __slots__ = ("_relevant", "highest", "importance", "labels", "n_subtopics", "negative", "offsets", "subtopics")

    def __init__(
        self,
        offsets: Array,
        subtopics: Array,
        labels: Array,
        negative: str = "",
        importance: tuple[Array, Array] | None = None,
    ) -> None:
        self.negative = negative
        self.importance = importance
        self.offsets = offsets
        self.subtopics = subtopics
        self.labels = labels
        self.n_subtopics = int(subtopics.max(initial=-1)) + 1
        self.highest = np.zeros(len(offsets) - 1)
        np.maximum.at(self.highest, np.repeat(np.arange(len(self)), np.diff(offsets)), labels)
        self._relevant: dict[float, tuple[Array, Array]] = {}

    def weighed(self, importance: tuple[Array, Array]) -> Patterns:
        """Return the patterns with the importance of each query's subtopics."""
        return Patterns(self.offsets, self.subtopics, self.labels, self.negative, importance)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Patterns: {len(self)} of {self.n_subtopics} subtopics at the most"

    def relevant(self, rel: float) -> tuple[Array, Array]:
        """Return the offsets and subtopics of the labels of at least `rel`."""
        entry = self._relevant.get(rel)
        if entry is None:
            is_relevant = self.labels >= rel
            offsets = mask_offsets(is_relevant, self.offsets)
            entry = self._relevant[rel] = offsets, self.subtopics[is_relevant]
            for array in entry:
                array.flags.writeable = False
        return entry

    def plain(self, labels: Array) -> Array:
        """Return the highest label of each document, given the numbers of patterns."""
        return np.where(labels < 0, labels, self.highest[np.maximum(labels, 0).astype("i8")])

    def judgments(self, label: float) -> tuple[tuple[int, float], ...]:
        """Return the subtopics and labels of the pattern that a label numbers."""
        pattern = int(max(label, 0))
        rows = slice(self.offsets[pattern], self.offsets[pattern + 1])
        return tuple(zip(self.subtopics[rows].tolist(), self.labels[rows].tolist(), strict=True))


def check_patterns(patterns: Patterns, convention: Convention) -> None:
    """Raise for negative labels if the convention forbids them. Patterns themselves hold no negative labels."""
    if patterns.negative and convention.negative_labels == "raise":
        raise InvalidInputError(
            f"labels must not be negative, but {patterns.negative}. Set it to 0, or take ",
            Choice("negative_labels", ["zero"]),
        )


NO_ARGUMENTS = ("_find_name", "are_ordinals", "has_repeats", "n_documents", "n_labels", "n_queries")


class Rankings(ReadOnly):
    """
    Labels and scores of the documents of many queries, one query after the other.

    Invariants: ``offsets[0] == 0``, offsets never decrease, ``offsets[-1] == len(labels) == len(scores)``. Query q
    owns documents ``offsets[q]`` up to ``offsets[q + 1]``. Labels, scores and tie keys are
    read-only views of the user's arrays if dtype and layout allow it. Offsets and masks are copies.

    Parameters
    ----------
    labels : (n_documents,) array of bool, int or float
        Graded judgments, 0 for not relevant.
    scores : (n_documents,) array of bool, int or float
        What the system predicts, higher is better.
    offsets : (n_queries + 1,) int array
        Query q owns documents ``offsets[q]`` up to ``offsets[q + 1]``.
    judged : (n_documents,) bool array, optional
        True for documents with a judgment. The others have label 0. By default all have one.
    pool : ((n_judged,) array of labels, (n_queries + 1,) int array of offsets), optional
        All judged labels of each query, retrieved or not. By default `labels`.
    tie_keys : (n_documents,) int array, optional
        Numbers in the order of the documents' ids, for tie policies that order by id.
    query_ids : (n_queries,) array, optional
        Names of the queries. By default their numbers from 0.
    patterns : Patterns, optional
        The judgments by subtopic that the labels number. By default labels are plain labels.

    Attributes
    ----------
    n_queries, n_documents, n_labels : int
        The number of queries, of all their documents, and of all labels, including those of the pool.
    are_ordinals : bool
        True if the scores are ordinals of whole numbers beyond 2**53.
    has_repeats : bool
        True if a document may be ranked several times in a query, so that values may exceed those of its pool.

    Raises
    ------
    InvalidInputError
        If shapes disagree, offsets decrease or do not fit, or kernels have no dtype for the exact values.

    Examples
    --------
    >>> Rankings([3, 0, 1], [0.1, 0.9, 0.5], [0, 1, 3])
    Rankings of 2 queries, 3 documents
    """

    __slots__ = (
        "_find_name", "are_ordinals", "has_repeats", "judged", "labels", "n_documents", "n_labels", "n_queries",
        "offsets", "patterns", "pool", "query_ids", "scores", "tie_keys",
    )  # fmt: skip
    labels: Array
    scores: Array
    offsets: Array
    judged: Array | None
    pool: tuple[Array, Array] | None
    tie_keys: Array | None
    query_ids: Array | None
    patterns: Patterns | None
    are_ordinals: bool
    has_repeats: bool
    n_documents: int
    n_labels: int
    n_queries: int
    _find_name: Callable[[str, int], str] | None
    known_hits: Any = None  # the hits of rankings whose ranks are known: see compact.py

    def __init__(
        self,
        labels: npt.ArrayLike,
        scores: npt.ArrayLike,
        offsets: npt.ArrayLike,
        *,
        judged: npt.ArrayLike | None = None,
        pool: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        tie_keys: npt.ArrayLike | None = None,
        query_ids: npt.ArrayLike | None = None,
        patterns: Patterns | None = None,
    ) -> None:
        given_labels = as_labels(labels, "labels")
        given_scores = as_scores(scores, "scores")
        n_documents = len(given_labels)
        _same_length(given_scores, "scores", n_documents, "labels")
        put(
            self, patterns=patterns, _find_name=None, labels=given_labels, scores=given_scores, n_documents=n_documents,
            are_ordinals=is_wide(as_array(scores, "scores")), has_repeats=False,
            offsets=as_offsets(offsets, "offsets", n_documents),
            tie_keys=None if tie_keys is None else as_whole_numbers(tie_keys, "tie_keys"),
        )  # fmt: skip
        put(self, n_queries=len(self.offsets) - 1)
        if self.tie_keys is not None:
            _same_length(self.tie_keys, "tie_keys", n_documents, "labels")
        put(
            self, pool=None if pool is None else _as_pool(pool, self.n_queries),
            query_ids=None if query_ids is None else read_only(as_array(query_ids, "query_ids")),
            judged=None if judged is None else _as_mask(judged, n_documents),
        )  # fmt: skip
        put(self, n_labels=n_documents + (0 if self.pool is None else len(self.pool[0])))
        if self.query_ids is not None:
            _same_length(self.query_ids, "query_ids", self.n_queries, "offsets,")
        if self.judged is not None and ((self.labels != 0) & ~self.judged).any():
            rule = "be 0 where `judged` is False: An unjudged document has no label"
            self.refuse("labels", (self.labels != 0) & ~self.judged, rule)

    def _check_restored(self) -> None:
        as_offsets(self.offsets, "offsets", len(self.labels))
        for name in ("scores", "judged", "tie_keys"):
            if getattr(self, name) is not None:
                _same_length(getattr(self, name), name, len(self.labels), "labels")
        if self.pool is not None:
            _as_pool(self.pool, len(self.offsets) - 1)

    @staticmethod
    def from_checked(
        labels: Array, scores: Array, offsets: Array, query_ids: Array | None, judged: Any = None,
        pool: Any = None, find_name: Callable[[str, int], str] | None = None, tie_keys: Array | None = None,
        patterns: Patterns | None = None,
    ) -> Rankings:  # fmt: skip
        """Return rankings that hold arrays which functions such as `as_scores` have checked."""
        rankings = object.__new__(CheckedRankings)
        rankings.labels = labels
        rankings.offsets = offsets
        rankings.query_ids = query_ids
        rankings.judged = judged
        rankings.pool = pool
        rankings._find_name = find_name
        rankings.n_documents = rankings.n_labels = len(labels)
        rankings.n_queries = len(offsets) - 1
        if pool is not None:
            rankings.n_labels += len(pool[0])
        rankings.tie_keys = None if tie_keys is None else read_only(tie_keys)
        rankings.patterns = patterns
        rankings.scores = read_only(scores)
        rankings.are_ordinals = rankings.has_repeats = False
        return rankings

    def longest(self) -> int:
        """Return the number of documents of the longest query, retrieved or in the pool, 0 without queries."""
        all_offsets = (self.offsets,) if self.pool is None else (self.offsets, self.pool[1])
        return max(int((offsets[1:] - offsets[:-1]).max(initial=0)) for offsets in all_offsets)

    def replace(self, **arrays: Any) -> Rankings:
        """
        Return these rankings with some arrays replaced.

        Parameters
        ----------
        **arrays
            New values of parameters of `Rankings`, by name.

        Returns
        -------
        Rankings
            The new rankings. The arrays that are not replaced are shared.

        Raises
        ------
        InvalidInputError
            If the arrays do not fit each other.
        """
        arguments = {name: getattr(self, name) for name in Rankings.__slots__ if name not in NO_ARGUMENTS}
        rankings = Rankings(**(arguments | arrays))
        if "scores" not in arrays:
            put(rankings, are_ordinals=self.are_ordinals)
        put(rankings, has_repeats=self.has_repeats)
        if rankings.n_documents == self.n_documents:
            put(rankings, _find_name=self._find_name)
        return rankings

    def without_scores(self) -> Rankings:
        """Return what is known of the truth, which an `Evaluator` keeps while scores come and go."""
        rankings = object.__new__(CheckedRankings)
        for name in Rankings.__slots__:
            setattr(rankings, name, getattr(self, name))
        rankings.scores = np.empty(0)
        return rankings

    def without_patterns(self) -> Rankings:
        """Return rankings with each document's highest label in place of its judgments by subtopic."""
        if self.patterns is None:
            return self
        plain = self.patterns.plain
        pool = self.pool
        plain_pool = None if pool is None else (plain(pool[0]), pool[1])
        return self.replace(labels=plain(self.labels), pool=plain_pool, patterns=None)

    def set_locator(self, find_name: Callable[[str, int], str]) -> Rankings:
        """Set the function from an array's name and an index to a document's name, and return these rankings."""
        put(self, _find_name=find_name)
        return self

    def query_name(self, query: int) -> str:
        """Return the name of a query for messages: "query" and its id or number."""
        return f"query {query}" if self.query_ids is None else f"query {show_name(self.query_ids[query])}"

    def document_name(self, name: str, place: int) -> str:
        """Return the name of a document for messages: its id, or its index in 'labels', 'scores' or 'pool'."""
        return str(place) if self._find_name is None else self._find_name(name, place)

    def take_document_ids(self, name: str, places: Array) -> Array:
        """Return the ids of documents at some indices of 'labels' or 'pool', or their places in their query."""
        # -1 for a document without an id that was not retrieved
        take = getattr(self._find_name, "take", None)  # of locators that know ids
        if take is not None:
            return take(name, places)  # type: ignore[no-any-return]
        if name == "pool":
            return np.full(len(places), -1)
        queries = np.searchsorted(self.offsets, places, side="right") - 1
        return np.asarray(places - self.offsets[queries])

    def list_document_names(self, query: int) -> list[str]:
        """Return the names of the documents of one query: ids, or indices in the user's arrays."""
        start, stop = (int(offset) for offset in self.offsets[query : query + 2])
        list_names = getattr(self._find_name, "list_names", None)  # of locators that read all names at once
        if list_names is not None:
            return list(list_names(start, stop))
        return [self.document_name("labels", place) for place in range(start, stop)]

    def __repr__(self) -> str:
        return f"Rankings of {self.n_queries} queries, {self.n_documents} documents"

    def refuse(self, name: str, offenders: Array, rule: str, *choice: Choice) -> NoReturn:
        """Raise an error for the first offender in an array: "`scores` must …, but scores[17] (query 3) is …"."""
        # `rule`: what the array must do, a colon, and the remedy as a sentence without a point, which `choice` may end
        values, offsets = self.pool if name == "pool" and self.pool else (getattr(self, name), self._find_offsets(name))
        places = np.flatnonzero(offenders)
        if not len(places):  # a kernel found one, but another thread has overwritten it
            refuse_changed(name)
        place = int(places[0])
        query = int(np.searchsorted(offsets, place, side="right")) - 1
        needs, _, remedy = rule.partition(": ")
        document = show_name(self.document_name(name, place))
        where = f"[{document}] ({self.query_name(query)}) is {values[place]!s}. "
        raise InvalidInputError("`", Argument(name), f"` must {needs}, but ", Argument(name), where, remedy, *choice)

    def _find_offsets(self, name: str) -> Array:
        """Return the offsets of the array `name`, "labels" or "scores"."""
        del name
        return self.offsets


class CheckedRankings(Rankings):
    """Rankings that users never see. Plain attributes save 1 µs per call."""

    __slots__ = ()
    __setattr__ = object.__setattr__  # type: ignore[assignment]


def refuse_changed(name: str) -> NoReturn:
    """Raise the error for an array that another thread overwrites."""
    raise InvalidInputError(
        f"`{name}` must not change during an evaluation, but another thread overwrote them: give a copy, or write "
        "after the evaluation ends"
    )


def _same_length(array: Array, name: str, length: int, other: str) -> None:
    if array.shape != (length,):
        raise InvalidInputError(
            f"`{name}` must be as long as `{other.rstrip(',')}`{' less one' if ',' in other else ''}"
            f", {length}, but its shape is {array.shape}"
        )


def _as_mask(judged: npt.ArrayLike, n_documents: int) -> Array:
    # a copy: if another thread changes a mask during indexing, NumPy writes beyond its buffer
    mask = np.array(as_array(judged, "judged"), order="C")
    mask = mask if mask.size else mask.astype(bool)
    if mask.dtype != np.bool_:
        raise InvalidTypeError(f"`judged` must hold bools, but its dtype is {mask.dtype}")
    _same_length(mask, "judged", n_documents, "labels")
    return read_only(mask)


def _as_pool(pool: tuple[npt.ArrayLike, npt.ArrayLike], n_queries: int) -> tuple[Array, Array]:
    if not isinstance(pool, tuple) or len(pool) != 2:
        raise InvalidTypeError("`pool` must be a tuple of all judged labels and their offsets: (labels, offsets)")
    labels = as_labels(pool[0], "pool")
    offsets = as_offsets(pool[1], "pool offsets", len(labels))
    if len(offsets) != n_queries + 1:
        rule = f"`pool` must have as many queries as `offsets`, {n_queries}"
        raise InvalidInputError(f"{rule}, but its offsets have {len(offsets) - 1}")
    return labels, offsets


def without_negative_labels(rankings: Rankings) -> Rankings:
    """Return rankings without documents with negative labels, also in the pool."""
    if rankings.pool is not None and has_labels_below_0(rankings.pool[0]):
        labels, offsets = rankings.pool
        mask = ~(labels < 0)
        rankings = rankings.replace(pool=(labels[mask], mask_offsets(mask, offsets)))
    return of_documents(rankings, ~(rankings.labels < 0)) if has_labels_below_0(rankings.labels) else rankings


def of_documents(rankings: Rankings, mask: Array) -> Rankings:
    """Return the rankings of the documents in a mask."""
    some = rankings.replace(
        labels=rankings.labels[mask],
        scores=rankings.scores[mask],
        offsets=mask_offsets(mask, rankings.offsets),
        judged=None if rankings.judged is None else rankings.judged[mask],
        tie_keys=None if rankings.tie_keys is None else rankings.tie_keys[mask],
    )
    put(some, are_ordinals=rankings.are_ordinals)
    return some


def select_pooled(rankings: Rankings, convention: Convention) -> Rankings:
    """Return the rankings of the pooled documents."""
    del convention
    if rankings.judged is None or rankings.judged.all():
        return rankings
    return of_documents(rankings, rankings.judged)


def select_judged(rankings: Rankings, convention: Convention) -> Rankings:
    """Return the rankings of the judged documents, with a judged pool."""
    those = select_pooled(rankings, convention)
    return those if convention.negative_labels == "keep" else without_negative_labels(those)


def mark_judged(rankings: Rankings, convention: Convention) -> Rankings:
    """Return all documents with label 1 if judged and 0 if not. Those with negative labels were pooled, and no more."""
    is_judged = np.ones(rankings.n_documents, bool) if rankings.judged is None else rankings.judged
    if convention.negative_labels != "keep" and has_labels_below_0(rankings.labels):
        is_judged = is_judged & ~(rankings.labels < 0)
    return rankings.replace(labels=is_judged, judged=None, pool=None)


def mark_unjudged(rankings: Rankings, convention: Convention) -> Rankings:
    """Return all documents with label 1 if unjudged and 0 if judged, or no documents if all are judged."""
    marked = mark_judged(rankings, convention)
    if not marked.labels.all():
        return marked.replace(labels=marked.labels == 0)
    nothing = rankings.labels[:0]
    none = Rankings(nothing, rankings.scores[:0], np.zeros_like(rankings.offsets), tie_keys=nothing.astype("i8"))
    return none.replace(query_ids=rankings.query_ids)


def has_labels_below_0(labels: Array) -> bool:
    """Return True if a label is negative."""
    return labels.dtype.kind != "u" and bool((labels < 0).any())


VIEWS: dict[str, Callable[[Rankings, Convention], Rankings]] = {
    "judged": select_judged,
    "marked": mark_judged,
    "pooled": select_pooled,
    "unjudged": mark_unjudged,
}

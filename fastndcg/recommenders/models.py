"""Models: predictions that score every user against every item, and are read part by part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import Choice, InvalidInputError, shorten
from fastndcg.inputs.arrays import read_ragged
from fastndcg.inputs.frames import is_frame
from fastndcg.inputs.ids import ABSENT, IdColumn, split_spans
from fastndcg.inputs.join import find_ids, refuse_disjoint, refuse_missing
from fastndcg.inputs.messages import Options
from fastndcg.inputs.records import is_records
from fastndcg.inputs.table import Qrels
from fastndcg.kernels.shared import MAX_RANK, RankCounts
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.rankings.compact import NO_COUNTS, CountedHits, CountedRankings, ScoreRowRankings, ScoreRows
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import (
    IN_ORDER,
    READY_SCORES,
    SCORE_DTYPES,
    Array,
    as_array,
    count_before,
    mask_offsets,
    read_only,
)
from fastndcg.recommenders.interactions import (
    FEW_PARTS,
    LEAST_PART,
    Interactions,
    RankingPartitions,
    Recommendations,
    convert_to_interactions,
)
from fastndcg.recommenders.item_selection import (
    ItemLists,
    ItemSelection,
    MatchedItems,
    SelectedLists,
    check_truth_shape,
    fit_lists,
    match_items,
    sort_items,
    take_lists,
)

SIDES = ("truth", "predictions")


class Model(ABC):
    """
    Predictions that score every user, or query, against every item, or document.

    Attributes
    ----------
    n_users, n_items : int
        The numbers of users and of items. A model that takes the number of users from the truth has 0 users.
    query_ids, document_ids : IdColumn, optional
        The ids of users and of items. By default they are numbered from 0.
    leaves_query_out : bool
        True if queries are documents, and a query is no candidate for itself.
    selection : ItemSelection
        The items that count for each user.
    memory : int, optional
        The number of bytes for scores. By default what they need.
    """

    __slots__ = ("document_ids", "leaves_query_out", "memory", "n_items", "n_users", "query_ids", "selection")

    n_users: int
    n_items: int
    query_ids: IdColumn | None
    document_ids: IdColumn | None
    leaves_query_out: bool
    selection: ItemSelection
    memory: int | None
    item_places: Array | None = None  # the number of each item here, if it is not that of the user's columns

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the scores, which the results of an evaluation have."""
        return ()

    @property
    @abstractmethod
    def score_dtype(self) -> np.dtype[Any]:
        """The dtype of scores, float32 or float64."""

    @abstractmethod
    def score_rows(self, users: Array) -> Array:
        """Return the scores of some users for all items, a row a user."""

    @abstractmethod
    def count_ranks(self, task: RankTask, options: Options) -> RankCounts:
        """Count for each labelled candidate the candidates above and at its place."""

    def finish_scores(self, users: Array, scores: Array) -> Array:
        """Return scores as users see them, for scores that rank items. There is one row a user."""
        del users
        return scores

    def fit_users(self, n_users: int) -> Model:
        """Return the model for a number of users, if it has none."""
        del n_users
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of users and of items."""
        return self.n_users, self.n_items

    @property
    def has_ids(self) -> bool:
        """True if users or items have ids."""
        return self.query_ids is not None or self.document_ids is not None

    def find_own_items(self) -> Array:
        """Return the item that each user is, where queries are documents, or ABSENT."""
        if self.query_ids is None or self.document_ids is None:
            users = np.arange(self.n_users)
            return np.where(users < self.n_items, users, ABSENT)
        items = find_ids(self.query_ids, self.document_ids, "queries", ("query_ids", "document_ids"))
        if (items < 0).all():
            raise InvalidInputError(
                f"`document_ids` must have ids of queries where these are left out, but have none, such as "
                f"{shorten(self.query_ids.name(0))}. Write ids alike, or take leave_query_out=False"
            )
        return items


class ModelByIds(Model):
    """A model whose items are numbered in the order of their ids, for tie policies by id."""

    __slots__ = ("_model", "_order", "item_places")

    def __init__(self, model: Model, ids: IdColumn) -> None:
        self._model = model
        self._order = order_ids(ids)
        self.item_places: Array = np.empty(model.n_items, "i8")
        self.item_places[self._order] = np.arange(model.n_items)
        self.n_users = model.n_users
        self.n_items = model.n_items
        self.query_ids = model.query_ids
        self.document_ids = ids.take(self._order)
        self.leaves_query_out = model.leaves_query_out
        self.selection = model.selection
        self.memory = model.memory

    @property
    def score_dtype(self) -> np.dtype[Any]:
        """The dtype of scores, float32 or float64."""
        return self._model.score_dtype

    def score_rows(self, users: Array) -> Array:
        """Return the scores of some users for all items, a row a user."""
        return np.ascontiguousarray(self._model.score_rows(users)[:, self._order])

    def finish_scores(self, users: Array, scores: Array) -> Array:
        """Return scores as users see them, for scores that rank items. There is one row a user."""
        return self._model.finish_scores(users, scores)

    def count_ranks(self, task: RankTask, options: Options) -> RankCounts:
        """Raise an error: ranks are counted with the numbers of the model itself."""
        raise NotImplementedError

    def find_own_items(self) -> Array:
        """Return the item that each user is, where queries are documents, or ABSENT."""
        items = self._model.find_own_items()
        return np.where(items >= 0, self.item_places[items], ABSENT)


class RankTask(NamedTuple):
    """
    The rows to rank: row r of `matched` has the scores of user ``users[r]``.

    `rows` are the rows to count, None for all with labelled candidates. `item_order` has the items in the order that
    equal scores are counted in, None for that of their numbers.
    """

    users: Array
    matched: MatchedItems
    rows: Array | None = None
    item_order: Array | None = None


class MatchedModel(NamedTuple):
    """
    The truth as rows of users that a model knows, and the queries that it lacks.

    Row r belongs to query ``queries[r]`` of `query_ids`, and has the scores of user ``users[r]``. `pool` has the labels
    of all queries if some of the truth was not retrieved.
    """

    users: Array
    queries: Array
    query_ids: Array
    matched: MatchedItems
    pool: tuple[Array, Array] | None
    take_ids: Callable[[str, Array], Array]
    n_missing_in_run: int
    n_missing_in_qrels: int


def fit_model(truth: Interactions | Qrels, model: Model) -> Model:
    """Return a model with a number of users: that of the truth, if the model has none."""
    if isinstance(truth, Interactions):
        return model.fit_users(truth.n_users)
    if model.n_users:
        return model
    if truth.queries.are_texts:
        raise InvalidInputError(
            f"`query_ids` must be given where queries of `truth` have ids, such as {shorten(truth.queries.name(0))}. "
            "Give the id of each user of `function`"
        )
    return model.fit_users(max(truth.queries.names().tolist()) + 1)


def match_model(truth: Interactions | Qrels, model: Model, convention: Convention, options: Options) -> MatchedModel:
    """Find the users and items of the truth in a model."""
    selection = model.selection
    if isinstance(truth, Qrels) and truth.patterns is not None:
        raise InvalidInputError("`truth` must have one label per document for embeddings, not one per subtopic")
    if isinstance(truth, Qrels) and model.has_ids:
        return _match_ids(truth, model, convention, options.threads)
    liked = truth if isinstance(truth, Interactions) else convert_to_interactions(truth, model.n_users)
    liked = sort_items(liked, options.threads)
    check_truth_shape(liked, liked.items.copy(), model.shape, selection.missing_truth, is_model=True)
    note = _check_users(liked, selection.missing_truth, convention)
    users = np.arange(model.n_users)
    lists = _select_lists(model, users, options.threads, has_ids=False)
    matched = match_items(liked, model.shape, lists, selection.missing_truth, options.threads)
    matched = matched._replace(notes=matched.notes + note)
    pool = (liked.labels, liked.offsets) if matched.keeps_pool else None
    return MatchedModel(users, users, users, matched, pool, _make_id_reader(matched, None, None), 0, 0)


def _check_users(liked: Interactions, missing_truth: str, convention: Convention) -> tuple[str, ...]:
    """Return a note on users without truth. Raise if neither `missing_truth` nor the convention allows them."""
    is_missing = np.diff(liked.offsets) == 0
    n_missing = int(np.count_nonzero(is_missing))
    if n_missing and missing_truth == "raise" and convention.no_relevant == "defined":
        raise InvalidInputError(
            f"`truth` must have an item for each user of the model, but user {int(np.argmax(is_missing))} has none (in "
            f"all {n_missing}). Leave these users out, take ",
            Choice("no_relevant", ["skipped"]),
            " to skip them, or missing_truth='unretrieved' to keep them with the values of the convention",
        )
    return (f"users without truth, with the values of the convention: {n_missing}",) if n_missing else ()


def _match_ids(truth: Qrels, model: Model, convention: Convention, threads: int | None) -> MatchedModel:
    """Find queries and documents of the truth by their ids."""
    ids = _list_ids(model.query_ids, model.n_users)
    rows = find_ids(truth.queries, ids, "queries", SIDES)
    missing = np.flatnonzero(rows < 0)
    if len(rows) and len(missing) == len(rows):
        refuse_disjoint(truth.queries, ids, SIDES)
    queries = np.flatnonzero(rows >= 0)
    unjudged = np.setdiff1d(np.arange(model.n_users), rows[queries])
    refuse_missing(truth.queries, ids, missing, unjudged, convention, SIDES)
    users = rows[queries]
    items = find_ids(truth.documents, _list_ids(model.document_ids, model.n_items), "documents", SIDES)
    liked, number_rows = _number_documents(truth, items, queries, model.n_items, threads)

    def describe(entry: int) -> str:
        row = int(number_rows[entry])
        query = int(np.searchsorted(truth.offsets, row, side="right")) - 1
        return f"document {shorten(truth.documents.name(row))} of query {shorten(truth.queries.name(query))}"

    lists = _select_lists(model, users, threads, has_ids=True)._replace(describe=describe)
    shape = len(queries), model.n_items
    matched = match_items(liked, shape, lists, model.selection.missing_truth, threads)
    keeps_missing = convention.missing_in_run != "skip"
    all_queries = np.arange(len(rows)) if keeps_missing else queries
    pool = None
    pool_rows = np.arange(len(truth))
    if matched.keeps_pool or (keeps_missing and len(missing)):
        is_judged = np.repeat(rows < 0, np.diff(truth.offsets)) & keeps_missing
        is_judged[number_rows] |= matched.is_candidate | matched.keeps_pool
        offsets = mask_offsets(is_judged, truth.offsets)
        sizes = np.diff(offsets)[all_queries]
        pool_rows = np.flatnonzero(is_judged)
        pool = read_only(truth.values[is_judged]), read_only(count_before(sizes))
    places = np.searchsorted(all_queries, queries)
    take_ids = _make_id_reader(
        matched, model.document_ids, lambda places: truth.documents.take(pool_rows[places]).names()
    )
    names = truth.queries.take(all_queries).names()
    return MatchedModel(users, places, names, matched, pool, take_ids, len(missing), len(unjudged))


def number_known_ids(items: ItemLists | Qrels | IdColumn, name: str, model: Model) -> tuple[ItemLists, int]:
    """Return the numbers of items with ids, and how many of these the model lacks. They are left out."""
    sides = (name, SIDES[1])
    users: Array | None = None  # of each id, None for items of all users
    if isinstance(items, Qrels):
        rows = find_ids(items.queries, _list_ids(model.query_ids, model.n_users), "queries", sides)
        users = np.repeat(rows, np.diff(items.offsets))
        ids = items.documents
    elif isinstance(items, IdColumn):
        ids = items
    elif model.document_ids is None:
        return fit_lists(items, name, model.shape, None), 0
    else:
        ids = IdColumn.of(items.items, f"`{name}`")
        n_lists = len(items.offsets) - 1
        if not items.is_shared and n_lists != model.n_users:
            raise InvalidInputError(
                f"`{name}` must have one row per query of the model, {model.n_users}, but has {n_lists}. Give a row "
                "for each, or a dict of ids by query"
            )
        users = None if items.is_shared else np.repeat(np.arange(n_lists), np.diff(items.offsets))
    if users is None:
        ids = ids.take(ids.factorize()[1])  # each once
    places = find_ids(ids, _list_ids(model.document_ids, model.n_items), "documents", sides)
    if users is None:
        known = read_only(np.sort(places[places >= 0]).astype("i4"))
        lists = ItemLists(known, read_only(np.array([0, len(known)])), None, True)
        return lists, int(np.count_nonzero(places < 0))
    is_known = (users >= 0) & (places >= 0)
    n_unknown = int(np.count_nonzero((users >= 0) & (places < 0)))
    users, places = users[is_known], places[is_known]
    in_order = places[np.lexsort((places, users))].astype("i4")
    offsets = count_before(np.bincount(users, minlength=model.n_users))
    return ItemLists(read_only(in_order), read_only(offsets), model.n_items, False), n_unknown


def _number_documents(
    truth: Qrels, items: Array, queries: Array, n_items: int, threads: int | None
) -> tuple[Interactions, Array]:
    """Return the truth of some queries as interactions, and its row for each. Unknown documents get new numbers."""
    is_unknown = items < 0
    items = np.where(is_unknown, n_items + np.cumsum(is_unknown) - 1, items)
    place = np.full(len(truth.queries), -1)
    place[queries] = np.arange(len(queries))
    of_rows = np.repeat(place, np.diff(truth.offsets))
    order = np.lexsort((items, of_rows))[np.count_nonzero(of_rows < 0) :]
    offsets = count_before(np.diff(truth.offsets)[queries])
    return Interactions(items[order], truth.values[order], offsets, threads=threads), order


def _select_lists(model: Model, users: Array, threads: int | None, *, has_ids: bool) -> SelectedLists:
    """Return the lists of a model's selection for the rows of some users. `has_ids`: ids in them are the model's."""
    notes = list(model.notes)

    def number_ids(items: ItemLists | Qrels | IdColumn, name: str) -> ItemLists:
        lists, n_unknown = number_known_ids(items, name, model)
        if n_unknown and not len(lists.items):
            ids = items.documents if isinstance(items, Qrels) else items
            first = ids.items.item(0) if isinstance(ids, ItemLists) else ids.name(0)
            raise InvalidInputError(
                f"`{name}` must have a document of `predictions`, but has none, such as {shorten(first)}. Give ids as "
                "in `document_ids`"
            )
        if n_unknown:
            notes.append(f"documents of `{name}` that the model lacks, left out: {n_unknown}")
        return lists

    exclude, candidates = (
        None if lists is None else take_lists(lists, users)
        for lists in model.selection.read_lists(
            model.shape, threads, number_ids if has_ids else None, model.item_places
        )
    )
    own = None
    if model.leaves_query_out:
        items = model.find_own_items()[users]
        is_item = items >= 0
        own = ItemLists(read_only(items[is_item].astype("i4")), read_only(count_before(is_item)), model.n_items, False)
    return SelectedLists(exclude, candidates, own, notes=tuple(notes))


def _list_ids(ids: IdColumn | None, n: int) -> IdColumn:
    return IdColumn.of(np.arange(n), "ids") if ids is None else ids


def _make_id_reader(
    matched: MatchedItems, ids: IdColumn | None, pool_ids: Callable[[Array], Array] | None
) -> Callable[[str, Array], Array]:
    """Return a function for the ids of labelled candidates, or of documents of the pool, by their places."""
    items = matched.liked.items[matched.is_candidate]

    def take_ids(name: str, places: Array) -> Array:
        if name == "pool" and pool_ids is not None:
            return pool_ids(places)
        numbers = (matched.liked.items if name == "pool" else items)[places]
        return np.asarray(numbers if ids is None else ids.take(numbers).names())

    return take_ids


def make_counted_rankings(matched_model: MatchedModel) -> CountedRankings:
    """Make rankings whose counts are to be set. Queries that the model lacks have no candidates."""
    n = len(matched_model.query_ids)
    matched = matched_model.matched
    label_sizes = np.zeros(n, "i8")
    sizes = np.zeros(n, "i8")
    label_sizes[matched_model.queries] = np.diff(matched.offsets)
    sizes[matched_model.queries] = np.diff(matched.document_offsets)
    hits = CountedHits(NO_COUNTS, matched.labels, read_only(count_before(label_sizes)))
    return CountedRankings(
        hits, read_only(count_before(sizes)), matched_model.pool, matched_model.query_ids, matched_model.take_ids
    )


def match_candidates(model: Model, items: Interactions | None, threads: int | None) -> MatchedItems:
    """Return the candidates of all users, without a truth, and which of some items, rising in each row, are ones."""
    users = np.arange(model.n_users)
    if items is None:
        items = Interactions(np.empty(0, "i4"), None, np.zeros(model.n_users + 1, "i8"))
    lists = _select_lists(model, users, threads, has_ids=True)
    return match_items(items, model.shape, lists, "skip", threads)._replace(notes=lists.notes)


class ModelRows:
    """The scores of some users of a model, computed when rows are read."""

    def __init__(self, model: Model, users: Array, ids: IdColumn | None) -> None:
        """Take a model, the user of each row, and the ids by which messages name items, None for their numbers."""
        self._model = model
        self._ids = ids
        self._users = users
        self.dtype = model.score_dtype
        self.shape = len(users), model.n_items
        self.name_items = None if ids is None else self._name_items

    def __getitem__(self, rows: slice) -> Array:
        return self._model.score_rows(self._users[rows])

    def _name_items(self, items: Array) -> Array:
        return items if self._ids is None else self._ids.take(items).names()


def partition_model(
    truth: Interactions | Qrels, model: Model, convention: Convention, options: Options
) -> RankingPartitions:
    """
    Make rankings of all candidates of each user, in parts, for what counts do not suffice for.

    Some metrics and conventions read candidates without a label, and `explain` shows them.
    """
    model = fit_model(truth, model)
    if model.document_ids is not None and isinstance(truth, Qrels) and TIES[convention.ties].orders == "id":
        model = ModelByIds(model, model.document_ids)
    matched_model = match_model(truth, model, convention, options)
    if matched_model.n_missing_in_run and convention.missing_in_run == "zero":
        raise InvalidInputError(
            f"`predictions` must have an embedding for each query of the truth for these metrics and this convention, "
            f"but {matched_model.n_missing_in_run} have none. Add them, or take ",
            Choice("missing_in_run", ["skip"]),
        )
    has_ids = isinstance(truth, Qrels) and model.has_ids
    users = matched_model.users
    rows = ModelRows(model, users, model.document_ids if has_ids else None)

    def finish_scores(row: int, scores: Array) -> Array:
        return model.finish_scores(users[row : row + 1], scores[None])[0]  # type: ignore[no-any-return]

    partitions = partition_rows(rows, matched_model.matched, is_ready=True)._replace(
        finish_scores=finish_scores, n_missing=(matched_model.n_missing_in_run, matched_model.n_missing_in_qrels)
    )
    return partitions._replace(query_ids=matched_model.query_ids) if has_ids else partitions


def count_ranks(model: Model, matched_model: MatchedModel, options: Options, *, by_id: bool) -> RankCounts:
    """
    Count the candidates above and at the place of each labelled candidate.

    If `by_id` is True, tied candidates with a lower id are counted in place of those with a lower number.
    """
    matched = matched_model.matched
    above, ties, before = model.count_ranks(RankTask(matched_model.users, matched), options)
    rows_of_entries = np.repeat(np.arange(len(matched_model.users)), np.diff(matched.offsets))
    has_ties = ties > 1
    if by_id and model.document_ids is not None and has_ties.any():
        rows = np.unique(rows_of_entries[has_ties])
        task = RankTask(matched_model.users, matched, rows, order_ids(model.document_ids))
        before = before.copy()
        before[np.isin(rows_of_entries, rows)] = model.count_ranks(task, replace(options, progress=None)).before
    # Counts become indices of kernels. While another thread overwrites vectors, a document may miss its own score.
    sizes = np.diff(matched.document_offsets)[rows_of_entries].astype("i4")
    ties = np.clip(ties, 1, sizes)
    return RankCounts(*map(read_only, (np.minimum(above, sizes - ties), ties, np.minimum(before, ties - 1))))


def order_ids(ids: IdColumn) -> Array:
    """Return the places of ids in rising order."""
    return np.argsort(ids.names(), kind="stable")


MOST_SCORES = 1 << 21  # of a part: smaller parts spend more of the time on calls


def read_score_matrix(predictions: Any) -> Array | None:
    """Return a two-dimensional array of floats, without a copy if it is an array, and None for other predictions."""
    if isinstance(predictions, list | tuple):
        if is_records(predictions):
            return None
        try:
            array = np.asarray(predictions)
        except ValueError:  # rows that differ in length
            return None
        if array.ndim != 2 or array.dtype.kind != "f" or not array.size:  # lists without numbers recommend nothing
            return None
        _refuse_numbered_records(predictions)
        return array
    if isinstance(predictions, Recommendations) or len(getattr(predictions, "shape", ())) != 2:
        return None
    if is_frame(predictions) or not _has_floats(predictions) or read_ragged(predictions, "predictions") is not None:
        return None
    array = as_array(predictions, "predictions")
    return array.view(np.ndarray) if array.dtype.kind == "f" else None


def _refuse_numbered_records(rows: Any) -> None:
    """Raise if each row could be a record of a user, an item and a score, as well as three scores."""
    if len(rows[0]) == 3 and all(list(map(type, row)) == [int, int, float] for row in rows):
        raise InvalidInputError(
            f"`predictions` must be scores of users by items, or records with names, but its rows, such as "
            f"{shorten(rows[0])}, could be either. Give np.array(rows) for scores, or for records a frame: "
            "pandas.DataFrame(rows, columns=['user', 'item', 'score'])"
        )


def _has_floats(array: Any) -> bool:
    """Return True for an array of floats, of NumPy or of another library."""
    dtype = getattr(array, "dtype", None)
    return dtype.kind == "f" if isinstance(dtype, np.dtype) else "float" in str(dtype)


class ScoreMatrix:
    """Scores of users for items, a row a user and a column an item, and the items that count for each user."""

    __slots__ = ("matrix", "selection")

    def __init__(self, matrix: Array, selection: ItemSelection) -> None:
        self.matrix = matrix
        self.selection = selection


def match_scores(liked: Interactions, predictions: ScoreMatrix, threads: int | None) -> RankingPartitions:
    """Make rankings of the candidates of each user, in parts."""
    scores = predictions.matrix
    n_users, n_items = scores.shape
    if n_items > MAX_RANK:
        raise InvalidInputError(f"`predictions` must have at most {MAX_RANK} columns, but has {n_items}")
    matched = predictions.selection.match(liked, (n_users, n_items), threads)
    is_ready = scores.dtype in READY_SCORES and scores.flags.num & IN_ORDER == IN_ORDER
    return partition_rows(scores, matched, is_ready=is_ready)


def partition_rows(scores: Any, matched: MatchedItems, *, is_ready: bool) -> RankingPartitions:
    """Make rankings of the candidates in rows of scores, in parts. `is_ready` is True if kernels can read the rows."""
    n_users, n_items = scores.shape
    work = np.arange(n_users + 1, dtype="i8") * n_items  # rows are read, or converted, whole
    size = min(max(int(work[-1]) // FEW_PARTS, LEAST_PART), MOST_SCORES)

    def new_builder() -> Callable[[int, int], Rankings]:
        return _RowBuilder(scores, matched, is_ready=is_ready).build

    return RankingPartitions(split_spans(work, size), n_users, new_builder, None, lambda: list(matched.notes))


class _RowBuilder:
    """Builds rankings of consecutive users, part after part. Scores that kernels cannot read are converted."""

    def __init__(self, scores: Any, matched: MatchedItems, *, is_ready: bool) -> None:
        self._scores = scores
        self._matched = matched
        self._is_ready = is_ready
        self._converted = np.empty(0, SCORE_DTYPES.get(scores.dtype.str[1:], "f8"))

    def build(self, first: int, stop: int) -> Rankings:
        """Return the rankings of some users."""
        matched = self._matched
        users = slice(first, stop + 1)
        bounds = matched.offsets[users]
        lists = matched.candidates
        list_columns = lists.items
        list_offsets = lists.offsets
        if lists.step and len(list_offsets) > 1:
            list_columns = lists.items[list_offsets[first] : list_offsets[stop]]
            list_offsets = rebase(list_offsets[users])
        rows = ScoreRows(
            scores=self._read_rows(first, stop),
            labels=matched.labels[bounds[0] : bounds[-1]],
            offsets=rebase(bounds),
            places=matched.places[bounds[0] : bounds[-1]],
            n_columns=self._scores.shape[1],
            list_columns=list_columns,
            list_offsets=list_offsets,
            gaps=matched.gaps.items,
            gap_offsets=matched.gaps.offsets[users],
        )
        pool = None
        pool_items = None
        if matched.keeps_pool:
            liked = matched.liked
            own = liked.offsets[users]
            pool = liked.labels[own[0] : own[-1]], rebase(own)
            pool_items = liked.items[own[0] : own[-1]]
        rankings = ScoreRowRankings(rows, rebase(matched.document_offsets[users]), pool, np.arange(first, stop))
        rankings.pool_items = pool_items
        rankings.name_items = getattr(self._scores, "name_items", None)
        return rankings

    def _read_rows(self, first: int, stop: int) -> Array:
        """Return the scores of some users in one dimension, converted if kernels cannot read them."""
        rows = self._scores[first:stop]
        if self._is_ready:
            return read_only(rows.reshape(-1))
        if len(self._converted) < rows.size:
            self._converted = np.empty(rows.size, self._converted.dtype)
        flat = self._converted[: rows.size]
        converted = flat.reshape(rows.shape)
        with np.errstate(over="ignore"):
            np.copyto(converted, rows, casting="unsafe")
        if rows.dtype.itemsize > converted.dtype.itemsize:  # float128
            differs = (converted != rows) & (rows == rows)
            if differs.any():
                user, item = (int(places[0]) for places in np.nonzero(differs))
                raise InvalidInputError(
                    f"`predictions` must fit {converted.dtype} exactly, but predictions[{first + user}, {item}] is "
                    f"{rows[user, item]!s}. Round or rescale it"
                )
        return read_only(flat)


def rebase(offsets: Array) -> Array:
    """Return offsets that begin at 0."""
    return read_only(offsets - offsets[0])

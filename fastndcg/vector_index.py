"""The recall of a vector index against exact search over all vectors: the function `index_recall`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, reworded, shorten
from fastndcg.evaluation import evaluate
from fastndcg.forms.dispatch import read_ranked
from fastndcg.inputs.dicts import holds_id_lists, is_id_rows
from fastndcg.inputs.duplicates import make_duplicates
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.join import find_ids
from fastndcg.inputs.messages import Options, answer_keywords
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.named_conventions import conventions
from fastndcg.parsing import as_float
from fastndcg.rankings.validation import Array, as_array, count_before, is_masked_array, read_only
from fastndcg.recommenders.interactions import PADDING, Interactions, Recommendations, read_unpadded_items
from fastndcg.recommenders.models import match_candidates
from fastndcg.results.kinds import IndexRecall
from fastndcg.results.results import Results
from fastndcg.runtime.threads import check_threads
from fastndcg.scoring.consumers import LabelledRows, TopAndPairs, select_columns
from fastndcg.scoring.embeddings import ScoringModel, TopItems

SIDES = ("index", "model")
NAMES = re.compile("`(run|predictions|items)`")  # what readers call `found` in messages


@answer_keywords
def index_recall(
    model: Any,
    found: Any,
    metrics: Metrics = "recall@10",
    *,
    truth: Any = None,
    tolerance: float = 0.0,
    threads: int | None = None,
) -> IndexRecall:
    """
    Compute how much of what exact search finds an approximate index finds.

    Recall@k of a query is the share of the k best candidates that are among the first k found. A document counts if
    fewer than k candidates score higher: of equal scores at the edge any counts, and at most k of them. Scores are
    those of the model, whatever the index says. Where a query has fewer than k candidates, k is their number.

    Parameters
    ----------
    model : Embeddings or Scorer
        The vectors that the index holds, or stands for: a quantised index is compared with full vectors if the model
        has these. Filtered search has its filter as `candidates` or `exclude` of the model.
    found : (n_queries, k) int array, pair of arrays, TopItems, dict, path, frame or Run
        What the index found, the best first, in the forms of predictions of `evaluate`. Row r is of query r, also of
        lists of texts. Its numbers are the `document_ids` of the model where these are numbers, and else count its
        documents from 0. Rows are padded with -1. What a query lacks is lost, and a document that is found again
        counts once.
    metrics : str, Metric, or iterable of them
        Recall at cutoffs, such as "recall@10, recall@100", of which an aggregate can be taken in place of the mean.
    truth : dict, path, frame, Qrels or other judgments, optional
        See `evaluate`. Then the result also has nDCG of what was found and of exact search, at the cutoffs of the
        metrics: what the index costs.
    tolerance : float, default 0
        A document also counts if its score is at most this much below that of the k-th candidate. 0 or more, in the
        unit of scores.
    threads
        See `evaluate`.

    Returns
    -------
    IndexRecall
        `Results` with one row a query of the model, and the first rank lost, the relative error of scores, and the
        cost. `compare` takes several of them.

    Raises
    ------
    InvalidInputError
        If a metric is none of recall with a cutoff, rows or ids of `found` are not those of the model, or `tolerance`
        is negative.
    InvalidTypeError
        If `model` does not score all documents.

    Examples
    --------
    >>> model = fn.Embeddings([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.8, 0.3], [0.1, 0.9]], similarity="cosine")
    >>> recall = fn.index_recall(model, [[0, 1], [2, 0]], "recall@1, recall@2")
    >>> recall.mean(), recall.first_lost
    ({'R@1': 1.0, 'R@2': 0.75}, array([0, 2]))
    >>> settings = {"ef=16": [[0, 2], [2, 0]], "ef=64": [[0, 1], [2, 1]]}
    >>> [row.mean for row in fn.compare(model, settings, "recall@2").rows]
    [0.5, 1.0]
    """
    options = Options(threads=check_threads(threads))
    parsed = parse_metrics(metrics)
    (recall,) = measure_recall(model, {"found": found}, parsed, options, tolerance, truth).values()
    return recall


class FoundItems(NamedTuple):
    """What an index found: the items of each user in rising order, each once, with their ranks from 1 as labels."""

    items: Interactions
    n_repeated: int
    is_missing: Array  # True for a query that is not there. An empty list is there, and found nothing
    n_missing_in_model: int

    @classmethod
    def read(cls, value: Any, name: str, model: ScoringModel, options: Options) -> FoundItems:
        """Read what was found, and number queries and documents as the model does."""
        if hasattr(value, "__dlpack__") and not is_masked_array(value):  # arrays and tensors
            value = as_array(value, name)
            if value.ndim != 2 and value.dtype.kind != "O":
                raise InvalidInputError(
                    f"`{name}` must have a row for each query, (n_queries, k), but its shape is {value.shape}. Of one "
                    f"query give {name}[None]"
                )
            value = value.tolist() if value.dtype.kind in "OUT" else value
        if holds_id_lists(value, name):  # also rows of FAISS
            value = {query: _drop_padding(row) for query, row in value.items()}
        ranked = read_ranked(value, name, replace(options, duplicates=make_duplicates("first", None)))
        if ranked.duplicates is not None and not ranked.duplicates.keeps_first:
            raise InvalidInputError(
                f"`{name}` must have documents as the index gave them, but has {ranked.duplicates}. Leave out "
                "`duplicates` and `parents`: a document that is found again counts once"
            )
        if isinstance(ranked, Recommendations):
            documents, offsets = read_unpadded_items(ranked.items, name)
            users = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
            _check_rows(len(offsets) - 1, name, model)
            ranks = np.arange(len(documents)) - offsets[users] + 1
            ids: IdColumn | None = IdColumn.from_numbers(documents.astype("i8"))
            if model.document_ids is not None and model.document_ids.are_texts:
                ids = None
            return cls._number(users, documents, ids, ranks, np.zeros(model.n_users, bool), 0, name, model)
        ranked.refuse(np.isnan(ranked.values), "not be NaN", "Leave the document out")
        known = _list_ids(model.query_ids, model.n_users)
        if is_id_rows(value):
            _check_rows(len(value), name, model)
            known = _list_ids(None, model.n_users)
        queries = find_ids(ranked.queries, known, "queries", SIDES)
        users = np.repeat(queries, np.diff(ranked.offsets))
        rows = np.flatnonzero((users >= 0) & (True if ranked.is_empty is None else ~ranked.is_empty))
        if len(queries) and (queries < 0).all():
            raise InvalidInputError(
                f"`{name}` must have queries of the model, but has none, such as {shorten(ranked.queries.name(0))}. "
                "Give the model `query_ids`, and write ids alike"
            )
        rows = rows[np.lexsort((-ranked.values[rows], users[rows]))]
        users = users[rows]
        ranks = np.arange(len(rows)) - np.searchsorted(users, users) + 1
        is_missing = np.ones(model.n_users, bool)
        is_missing[queries[queries >= 0]] = False
        n_unknown = int(np.count_nonzero(queries < 0))
        return cls._number(users, rows, ranked.documents.take(rows), ranks, is_missing, n_unknown, name, model)

    @classmethod
    def _number(
        cls, users: Array, items: Array, ids: IdColumn | None, ranks: Array, is_missing: Array, n_unknown: int,
        name: str, model: ScoringModel,
    ) -> FoundItems:  # fmt: skip
        """Return what was found with the numbers of documents that have ids. Without ids, `items` are numbers."""
        if ids is not None:
            items = find_ids(ids, _list_ids(model.document_ids, model.n_items), "documents", SIDES)
        is_unknown = (items < 0) | (items >= model.n_items)
        if is_unknown.any():
            place = int(np.argmax(is_unknown))
            document = items[place].item() if ids is None else ids.name(place)
            raise InvalidInputError(
                f"`{name}` must have documents of the model, but {shorten(document)} at rank {ranks[place]} of query "
                f"{shorten(_name_user(model, int(users[place])))} is none (in all {int(is_unknown.sum())}, of "
                f"{model.n_items} documents). Give the model the vectors that the index has, with `document_ids`"
            )
        order = np.lexsort((ranks, items, users))
        is_first = np.ones(len(order), bool)
        is_first[1:] = (np.diff(users[order]) != 0) | (np.diff(items[order]) != 0)
        order = order[is_first]
        offsets = count_before(np.bincount(users[order], minlength=model.n_users))
        found = Interactions(items[order].astype("i4"), ranks[order].astype("f8"), offsets)
        return cls(found, len(users) - len(order), is_missing, n_unknown)


def _drop_padding(row: Any) -> Any:
    return row[row != PADDING] if isinstance(row, np.ndarray) and row.dtype.kind == "i" and row.ndim == 1 else row


def _check_rows(n_rows: int, name: str, model: ScoringModel) -> None:
    if n_rows != model.n_users:
        raise InvalidInputError(
            f"`{name}` must have a row for each of the {model.n_users} queries of the model, but has {n_rows}. Search "
            "for all of them, or give {query: ids}"
        )


def _list_ids(ids: IdColumn | None, n: int) -> IdColumn:
    return IdColumn.from_numbers(np.arange(n)) if ids is None else ids


def _name_user(model: ScoringModel, user: int) -> Any:
    return user if model.query_ids is None else model.query_ids.name(user)


def check_model(model: Any) -> ScoringModel:
    """Return a model that scores all documents."""
    if not isinstance(model, ScoringModel):
        raise InvalidTypeError(
            f"`model` must be Embeddings or a Scorer, whose scores are exact, not {type(model).__name__}. Give "
            "fn.Embeddings(queries, documents, similarity=…)"
        )
    return model


def check_metrics(metrics: tuple[Metric, ...]) -> int:
    """Return the largest cutoff of metrics. Raise for one that is no recall with a cutoff."""
    for metric in metrics:
        if metric.record.name != "R" or metric.k is None or dict(metric.bare.parameters):
            raise InvalidInputError(
                f"`metrics` must be recall with a cutoff for an index, such as 'recall@10', but one is {metric}. Of "
                "judgments, take fn.evaluate"
            )
    return max(metric.k or 0 for metric in metrics)


def measure_recall(
    model: Any, found: Mapping[str, Any], metrics: tuple[Metric, ...], options: Options, tolerance: float = 0.0,
    truth: Any = None,
) -> dict[str, IndexRecall]:  # fmt: skip
    """Return the recall of each of several settings of an index, by their names, from one search for all of them."""
    model = check_model(model)
    depth = check_metrics(metrics)
    least = as_float(tolerance)
    if least is None or not 0 <= least < np.inf:
        raise InvalidInputError(f"`tolerance` must be a number from 0 on, not {shorten(tolerance)}")
    if not model.n_users:
        raise InvalidInputError("`model` must have queries, but has none. Give a Scorer `n_users`")
    lists: dict[str, FoundItems] = {}
    for name, value in found.items():
        with reworded(_name_found, "" if len(found) == 1 else f"system {shorten(name)}: "):
            lists[name] = FoundItems.read(value, "found", model, options)
    search = ExactSearch(model, lists, min(depth, model.n_items), options)
    return {name: search.measure(name, metrics, least, truth) for name in found}


def _name_found(part: Any) -> Any:
    return NAMES.sub("`found`", part) if isinstance(part, str) else part


class ScoredItems(NamedTuple):
    """
    What one setting found among the candidates: users, which rise, items, ranks from 1, and scores.

    `raw` scores rank items, and `shown` are those of the similarity. `n_others` counts items that are no candidates.
    """

    users: Array
    items: Array
    ranks: Array
    raw: Array
    shown: Array
    n_others: int


class ExactSearch:
    """The best candidates of each query, from one pass over all scores, which also scores what was found."""

    def __init__(self, model: ScoringModel, lists: Mapping[str, FoundItems], depth: int, options: Options) -> None:
        self._model = model
        self._depth = depth
        self._options = options
        self._lists = lists
        all_matched = {name: match_candidates(model, own.items, options.threads) for name, own in lists.items()}
        matched = next(iter(all_matched.values()))
        self._notes = matched.notes
        self._sizes = np.diff(matched.document_offsets)
        queries = np.arange(model.n_users)
        columns = select_columns(matched, queries, model.n_items)
        own_users = [np.repeat(queries, np.diff(own.offsets)) for own in all_matched.values()]
        own_items = [own.liked.items[own.is_candidate] for own in all_matched.values()]
        users, items = np.concatenate(own_users), np.concatenate(own_items).astype("i4")
        order = np.argsort(users, kind="stable")
        items_in_order = read_only(items[order])
        places = items_in_order
        if columns.items is not None:
            places = read_only(np.searchsorted(columns.items, items_in_order).astype("i4"))
        offsets = read_only(count_before(np.bincount(users, minlength=len(queries))))
        source = model.make_source()
        finder = source.top_finder(len(queries), columns, depth, source.score_dtype)
        rows = LabelledRows(queries, items_in_order, offsets, columns, places, None)
        pairs = TopAndPairs(finder, rows, source.score_pairs(users[order], items_in_order))
        source.give(pairs, queries, columns, Options(memory=model.memory, threads=options.threads))
        self._items, self._raw = finder.finish()
        self._shown = source.finish_scores(queries, self._raw).astype("f8")
        raw = np.empty(len(order), pairs.levels.dtype)
        raw[order] = pairs.levels
        shown = source.finish_scores(users, raw[:, None])[:, 0].astype("f8")
        ends = np.cumsum([len(own) for own in own_users])
        spans = [slice(end - len(own), end) for own, end in zip(own_users, ends.tolist(), strict=True)]
        self._found = {
            name: ScoredItems(
                users[span], items[span], own.labels, raw[span], shown[span], int((~own.is_candidate).sum())
            )
            for span, (name, own) in zip(spans, all_matched.items(), strict=True)
        }

    def measure(self, name: str, metrics: tuple[Metric, ...], tolerance: float, truth: Any) -> IndexRecall:
        """Return the recall of one setting."""
        found, ids = self._found[name], self._model.query_ids
        best, scores = (self._shown, found.shown) if tolerance else (self._raw, found.raw)
        values = np.full((len(best), len(metrics)), np.nan)
        for column, metric in enumerate(metrics):
            k = min(cast(int, metric.k), MAX_RANK)
            n_best = np.minimum(self._sizes, k)
            level = best[np.arange(len(best)), np.maximum(n_best, 1) - 1]
            is_good = (found.ranks <= k) & (scores >= level[found.users] - tolerance)
            np.divide(
                np.bincount(found.users[is_good], minlength=len(best)), n_best, out=values[:, column], where=n_best > 0
            )
        order = np.lexsort((-scores, found.users))
        order = order[found.ranks[order] <= self._depth]
        users, scores, shown = found.users[order], scores[order], found.shown[order]
        n_found, n_best = np.bincount(users, minlength=len(best)), np.minimum(self._sizes, self._depth)
        places = np.arange(len(users)) - count_before(n_found)[users]
        first_lost = np.where(n_found < n_best, n_found + 1, 0)
        lost = np.flatnonzero(scores < best[users, places] - tolerance)[::-1]
        first_lost[users[lost]] = places[lost] + 1  # the first of each query is written last
        exact = self._shown[users, places]
        is_finite = np.isfinite(exact) & np.isfinite(shown)  # -inf is the score of items that do not count
        exact, shown = np.where(is_finite, exact, 0), np.where(is_finite, shown, 0)
        totals, losses = (np.bincount(users, own, minlength=len(best)) for own in (np.abs(exact), exact - shown))
        relative_error = np.where((n_found > 0) & (losses == 0), 0.0, np.nan)
        np.divide(losses, totals, out=relative_error, where=totals > 0)
        return IndexRecall(
            values, metrics, None if ids is None else ids.names(), conventions["default"], first_lost=first_lost,
            relative_error=relative_error, quality=None if truth is None else self._evaluate(found, metrics, truth),
            n_missing_in_run=int(np.count_nonzero(self._lists[name].is_missing & (n_best > 0))),
            n_missing_in_qrels=self._lists[name].n_missing_in_model, notes=self._note(name, n_found, n_best, tolerance),
        )  # fmt: skip

    def _note(self, name: str, n_found: Array, n_best: Array, tolerance: float) -> tuple[str, ...]:
        found_nothing = ~self._lists[name].is_missing & (n_found == 0) & (n_best > 0)
        counts = {
            "queries of which nothing was found": int(np.count_nonzero(found_nothing)),
            f"queries with fewer than {self._depth} documents found, the others are lost":
                int(np.count_nonzero((n_found > 0) & (n_found < n_best))),
            "documents found again, counted once": self._lists[name].n_repeated,
            "documents found that are no candidates, not counted": self._found[name].n_others,
        }  # fmt: skip
        search = f"exact search: {self._model!r}" + (f", tolerance {tolerance:g}" if tolerance else "")
        return (search, *self._notes, *(f"{text}: {n}" for text, n in counts.items() if n))

    def _evaluate(self, found: ScoredItems, metrics: tuple[Metric, ...], truth: Any) -> dict[str, Results]:
        """Return nDCG of exact search and of what was found, at the cutoffs of the metrics."""
        ids = [None if own is None else own.names() for own in (self._model.query_ids, self._model.document_ids)]
        cutoffs = [Metric("nDCG") @ cast(int, metric.k) for metric in metrics]
        in_order = np.lexsort((found.ranks, found.users))
        in_order = in_order[found.ranks[in_order] <= self._depth]
        users = found.users[in_order]
        own = np.full((len(self._items), self._depth), PADDING, "i4")
        own[users, np.arange(len(users)) - np.searchsorted(users, users)] = found.items[in_order]
        quality = {}
        for name, items in (("exact", self._items), ("index", own)):
            scores = np.broadcast_to(-np.arange(items.shape[1], dtype="f8"), items.shape)
            quality[name] = evaluate(truth, TopItems(items, scores, *ids), cutoffs, threads=self._options.threads)
        return quality

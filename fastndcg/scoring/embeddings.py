"""Models that score all items, with their method `top`, and embeddings: vectors whose similarity is the score."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fastndcg.choices import MissingTruth, Similarity
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.forms.dispatch import read_selection
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.messages import Options
from fastndcg.inputs.streams import parse_memory
from fastndcg.inputs.table import Run
from fastndcg.kernels.shared import RankCounts
from fastndcg.rankings.validation import Array, check_whole_number
from fastndcg.recommenders.interactions import PADDING, Recommendations
from fastndcg.recommenders.models import Model, RankTask, match_candidates
from fastndcg.runtime.threads import check_threads
from fastndcg.scoring.consumers import Source, make_all_columns, read_labelled_rows, select_columns
from fastndcg.scoring.sources import Factors, VectorSource
from fastndcg.scoring.torch_source import TorchSource
from fastndcg.scoring.vectors import check_factors, check_tensors, is_tensor, read_biases, read_vectors

if TYPE_CHECKING:
    import numpy.typing as npt

OF_CHUNKS = ", or give chunks ids of their own, and rank fn.Run(model.top(1000), parents=…)"
SIMILARITIES = ("dot", "cosine", "euclidean", "hamming")


class TopItems(Recommendations):
    """
    The best items of each user in rank order, with their scores. `Embeddings.top` returns them.

    They are predictions for `evaluate` and recommendations for `beyond_accuracy`. `to_run` makes a run of them.

    Parameters
    ----------
    items : (n_users, k) int32 array
        The numbers of items. Rows with fewer candidates are padded with -1.
    scores : (n_users, k) array of float32 or float64
        The scores of the items, NaN for padding.
    query_ids, document_ids : array, optional
        The ids of users and of items, None if they are numbered from 0.

    Attributes
    ----------
    items, scores, query_ids, document_ids : array
        See above.

    Examples
    --------
    >>> best = fn.Embeddings([[1.0]], [[2.0], [3.0]]).top(1)
    >>> best.items.tolist(), best.scores.tolist()
    ([[1]], [[3.0]])
    """

    __slots__ = ("document_ids", "query_ids", "scores")

    items: Array

    def __init__(
        self, items: Array, scores: Array, query_ids: Any = None, document_ids: Any = None
    ) -> None:  # fmt: skip
        items = np.asarray(items)
        self.scores = np.asarray(scores)
        if items.shape != self.scores.shape or items.ndim != 2:
            raise InvalidInputError(
                f"`items` and `scores` must have one shape, (n_users, k), but theirs are {items.shape} and "
                f"{self.scores.shape}. Give a score for each item"
            )
        super().__init__(items)
        self.query_ids = query_ids
        self.document_ids = document_ids

    def __repr__(self) -> str:
        return f"Top items of {len(self.items)} users, {self.items.shape[1]} each"

    @property
    def has_ids(self) -> bool:
        """True if users or items have ids."""
        return self.query_ids is not None or self.document_ids is not None

    def to_run(self) -> Run:
        """
        Return the items as a run with ids and scores, for fusion, for a run file, or for judgments with ids.

        Returns
        -------
        Run
            A row for each user and item. Ids are numbers where the model has none.

        Examples
        --------
        >>> model = fn.Embeddings([[1.0]], [[2.0], [3.0]], query_ids=["q1"], document_ids=["d1", "d2"])
        >>> model.top(1).to_run().to_dict()
        {'q1': {'d2': 3.0}}
        """
        is_item = self.items != PADDING
        users = np.repeat(np.arange(len(self.items)), np.count_nonzero(is_item, axis=1))
        items = self.items[is_item]
        queries = users if self.query_ids is None else self.query_ids[users]
        documents = items if self.document_ids is None else self.document_ids[items]
        return Run(queries, documents, self.scores[is_item])


class ScoringModel(Model):
    """A model with the method `top`."""

    __slots__ = ()

    def _select(
        self, exclude: Any, candidates: Any, missing_truth: MissingTruth, memory: int | str | None = None
    ) -> None:
        """Read the options that models have in common."""
        self.selection = read_selection(exclude, candidates, missing_truth)
        self.memory = None if memory is None else parse_memory(memory)

    @abstractmethod
    def make_source(self) -> Source:
        """Return what gives the scores."""

    @property
    def score_dtype(self) -> np.dtype[Any]:
        """The dtype of scores of whole rows."""
        return self.make_source().score_dtype

    def count_ranks(self, task: RankTask, options: Options) -> RankCounts:
        """Count for each labelled candidate the candidates above and at its place."""
        source = self.make_source()
        rows = read_labelled_rows(task, self.n_items)
        levels = source.score_pairs(np.repeat(rows.users, np.diff(rows.offsets)), rows.items)
        counter = source.counter(rows, levels)
        source.give(counter, rows.users, rows.columns, replace(options, memory=self.memory))
        return counter.finish()  # type: ignore[no-any-return]

    def score_rows(self, users: Array) -> Array:
        """Return numbers that rank all items for some users, a row a user. `finish_scores` turns them into scores."""
        source = self.make_source()
        order = np.argsort(users, kind="stable")
        writer = source.row_writer(len(users), self.n_items, source.score_dtype)
        source.give(writer, users[order], make_all_columns(self.n_items), Options(threads=1))
        rows: Array = writer.out
        return rows if (order[1:] > order[:-1]).all() else rows[np.argsort(order)]

    def finish_scores(self, users: Array, scores: Array) -> Array:
        """Return scores as users see them, for those of `score_rows`."""
        return self.make_source().finish_scores(users, scores)

    def top(
        self, k: int, *, threads: int | None = None, progress: Callable[[int, int], None] | None = None
    ) -> TopItems:
        """
        Return the items with the highest scores of each user.

        Parameters
        ----------
        k : int
            The number of items, 1 or more. At most all candidates are returned.
        threads : int, optional
            See `evaluate`.
        progress : callable, optional
            Called with the numbers of users that are done and of all users.

        Returns
        -------
        TopItems
            Items in rank order. Of equal scores, the item with the lower number is first.

        Raises
        ------
        InvalidInputError
            If `k` is less than 1, or the other arguments do not fit.

        Examples
        --------
        >>> model = fn.Embeddings([[1.0], [-1.0]], [[2.0], [3.0], [1.0]], exclude=[{1}, {2}])
        >>> best = model.top(2)
        >>> best.items.tolist(), best.scores.tolist()
        ([[0, 2], [0, 1]], [[2.0, 1.0], [-2.0, -3.0]])
        """
        check_whole_number(k, "k", 1)
        check_threads(threads)
        if progress is not None and not callable(progress):
            raise InvalidTypeError(f"`progress` must be a function of two numbers, not {shorten(progress)}")
        options = Options(memory=self.memory, threads=threads, progress=progress)
        if not self.n_users:
            raise InvalidInputError("`n_users` must be given for `top`. Give it to the Scorer")
        users = np.arange(self.n_users)
        columns = select_columns(match_candidates(self, None, threads), users, self.n_items)
        source = self.make_source()
        finder = source.top_finder(self.n_users, columns, int(k), source.score_dtype)
        source.give(finder, users, columns, options)
        items, scores = finder.finish()
        names = [None if ids is None else ids.names() for ids in (self.query_ids, self.document_ids)]
        return TopItems(items, source.finish_scores(users, scores), *names)


def read_ids(ids: Any, name: str, n: int) -> IdColumn | None:
    """Return ids as a column. Raise if they are not `n` different ones."""
    if ids is None:
        return None
    column = ids if isinstance(ids, IdColumn) else IdColumn.of(ids, f"`{name}`")
    if len(column) != n:
        raise InvalidInputError(f"`{name}` must have length {n} (one per vector), got {len(column)}")
    _, first_rows = column.factorize()
    if len(first_rows) < n:
        is_first = np.zeros(n, bool)
        is_first[first_rows] = True
        row = int(np.argmin(is_first))
        raise InvalidInputError(
            f"`{name}` must have each id once, but {shorten(column.name(row))} stands again in place {row}. Keep one"
            f"{OF_CHUNKS * (name == 'document_ids')}"
        )
    return column


class Embeddings(ScoringModel):
    """
    Vectors of users and items, or of queries and documents, whose similarity is the score.

    They are predictions for `evaluate`, `Evaluator`, `compare` and `explain`. All items are ranked, by counting.

    Parameters
    ----------
    users : (n_users, d) array or tensor
        A vector for each user or query, of float16, bfloat16, float32, float64, int8 or uint8. It may be memory-mapped.
    items : (n_items, d) array or tensor
        A vector for each item or document, of these dtypes. It may be memory-mapped, and larger than memory. Tensors of
        torch are evaluated on their device.
    similarity : {'dot', 'cosine', 'euclidean', 'hamming'}
        The score: the dot product, the dot product of vectors of length 1, or the negative distance. For 'hamming',
        vectors are packed bits of uint8, and the score is the negative number of bits that differ.
    query_ids, document_ids : sequence of str or int, optional
        An id for each user and for each item, as in the truth. By default they are numbered from 0.
    user_biases, item_biases : (n_users,) and (n_items,) arrays, optional
        Numbers that are added to scores. Those of users change no rank, and appear in `top` alone. Distances take
        none of items.
    leave_query_out : bool, default False
        Where queries are documents: leave the document with the query's id out of its ranking. Without ids, document u
        is query u.
    exclude, candidates, missing_truth
        See `Scores`. If the model has ids, and the truth too, items are ids, except in matrices and masks.
    memory : int or str, optional
        The number of bytes for scores and copies of vectors, such as "1GB". By default 64 MiB. Results come on top.

    Raises
    ------
    InvalidInputError
        If shapes do not fit, a number is not finite, or scores could be infinite. If a vector has no direction for
        'cosine', or an id is repeated.
    InvalidTypeError
        If the dtype is another one.

    Examples
    --------
    >>> users, items = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[2.0, 1.0], [1.0, 2.0], [3.0, 0.5]])
    >>> model = fn.Embeddings(users, items)
    >>> fn.evaluate(fn.Interactions([0, 2], offsets=[0, 1, 2]), model, "rr, auc").to_dict()
    {0: {'RR': 0.5, 'AUC': 0.5}, 1: {'RR': 0.3333333333333333, 'AUC': 0.0}}
    >>> model.top(2).items
    array([[2, 0],
           [1, 0]], dtype=int32)
    """

    __slots__ = ("_notes", "_source", "factors")

    def __init__(
        self,
        users: npt.ArrayLike,
        items: npt.ArrayLike,
        *,
        similarity: Similarity = "dot",
        query_ids: Any = None,
        document_ids: Any = None,
        user_biases: Any = None,
        item_biases: Any = None,
        leave_query_out: bool = False,
        exclude: Any = None,
        candidates: Any = None,
        missing_truth: MissingTruth = "raise",
        memory: int | str | None = None,
    ) -> None:
        if not isinstance(similarity, str) or similarity not in SIMILARITIES:
            raise InvalidInputError(
                f"`similarity` must be {', '.join(map(repr, SIMILARITIES))}, not {shorten(similarity)}"
            )
        check_tensors(users, items)
        user_vectors = read_vectors(users, "users")
        item_vectors = read_vectors(items, "items")
        if user_vectors.shape[1] != item_vectors.shape[1]:
            raise InvalidInputError(
                f"`users` and `items` must have vectors of one length, but theirs are {user_vectors.shape[1]} and "
                f"{item_vectors.shape[1]}. Take the vectors of one model"
            )
        self.factors = Factors(
            user_vectors, item_vectors, similarity,
            read_biases(user_biases, "user_biases", len(user_vectors)),
            read_biases(item_biases, "item_biases", len(item_vectors)),
        )  # fmt: skip
        self._source: Source = (TorchSource if is_tensor(user_vectors) else VectorSource)(self.factors)
        self._notes = check_factors(self.factors, ("users", "items"), self.score_dtype)
        self.n_users = len(user_vectors)
        self.n_items = len(item_vectors)
        self.query_ids = read_ids(query_ids, "query_ids", self.n_users)
        self.document_ids = read_ids(document_ids, "document_ids", self.n_items)
        self.leaves_query_out = bool(leave_query_out)
        self._select(exclude, candidates, missing_truth, memory)

    def __repr__(self) -> str:
        return (
            f"Embeddings of {self.n_users} users, {self.n_items} items, {self.factors.users.shape[1]} columns, "
            f"{self.factors.similarity}"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on vectors all of whose scores underflow."""
        return self._notes

    def make_source(self) -> Source:
        """Return what gives the scores."""
        return self._source

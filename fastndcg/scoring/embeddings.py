"""Embeddings: vectors of users and items, whose similarity is the score."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastndcg.choices import Similarity
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.options import Options
from fastndcg.inputs.recommendations.models import RankTask
from fastndcg.rankings.counted import RankCounts
from fastndcg.rankings.validation import Array
from fastndcg.scoring.products import Factors, make_product
from fastndcg.scoring.ranks import count_ranks
from fastndcg.scoring.tiles import Columns, score_rows
from fastndcg.scoring.top_items import ScoringModel, read_ids
from fastndcg.scoring.top_k import TopScores, find_top
from fastndcg.scoring.vectors import check_factors, read_biases, read_vectors

SIMILARITIES = ("dot", "cosine", "euclidean")


class Embeddings(ScoringModel):
    """
    Vectors of users and items, or of queries and documents, whose similarity is the score.

    They are predictions for `evaluate`, `Evaluator`, `compare` and `explain`. All items are ranked, by counting.

    Parameters
    ----------
    users : (n_users, d) array of float16, float32 or float64
        A vector for each user or query. It may be memory-mapped.
    items : (n_items, d) array of float16, float32 or float64
        A vector for each item or document. It may be memory-mapped, and larger than memory.
    similarity : {'dot', 'cosine', 'euclidean'}
        The score: the dot product, the dot product of vectors of length 1, or the negative distance.
    query_ids, document_ids : sequence of str or int, optional
        An id for each user and for each item, as in the truth. By default they are numbered from 0.
    user_biases, item_biases : (n_users,) and (n_items,) arrays, optional
        Numbers that are added to scores. Those of users change no rank, and appear in `top` alone.
    leave_query_out : bool, default False
        Where queries are documents: leave document u out of the ranking of query u.

    Raises
    ------
    InvalidInputError
        If shapes do not fit, a number is not finite, scores could be infinite, a vector has no direction for 'cosine',
        or an id is repeated.
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

    __slots__ = ("factors",)

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
    ) -> None:
        if not isinstance(similarity, str) or similarity not in SIMILARITIES:
            raise InvalidInputError(
                f"`similarity` must be {', '.join(map(repr, SIMILARITIES))}, not {shorten(similarity)}"
            )
        own, others = read_vectors(users, "users"), read_vectors(items, "items")
        if own.shape[1] != others.shape[1]:
            raise InvalidInputError(
                f"`users` and `items` must have vectors of one length, but theirs are {own.shape[1]} and "
                f"{others.shape[1]}. Take the vectors of one model"
            )
        self.factors = Factors(
            own, others, similarity,
            read_biases(user_biases, "user_biases", len(own)), read_biases(item_biases, "item_biases", len(others)),
        )  # fmt: skip
        check_factors(self.factors, ("users", "items"))
        self.n_users = len(own)
        self.n_items = len(others)
        self.query_ids = read_ids(query_ids, "query_ids", self.n_users)
        self.document_ids = read_ids(document_ids, "document_ids", self.n_items)
        self.leaves_query_out = bool(leave_query_out)

    def __repr__(self) -> str:
        return (
            f"Embeddings of {self.n_users} users, {self.n_items} items, {self.factors.users.shape[1]} columns, "
            f"{self.factors.similarity}"
        )

    @property
    def score_dtype(self) -> np.dtype[Any]:
        """The dtype of scores."""
        return make_product(self.factors).score_dtype

    def score_rows(self, users: Array) -> Array:
        """Return the scores of some users for all items, a row a user."""
        return score_rows(make_product(self.factors), users, self.n_items)

    def count_ranks(self, task: RankTask, options: Options) -> RankCounts:
        """Count for each labelled candidate the candidates above and at its place."""
        return count_ranks(make_product(self.factors), self.n_items, task, options)

    def find_top(self, users: Array, columns: Columns, k: int, options: Options) -> TopScores:
        """Return the k best candidates of each user, with scores of the similarity."""
        product = make_product(self.factors)
        best = find_top(product, users, columns, k, options)
        product.finish_scores(users, best.scores)
        return best

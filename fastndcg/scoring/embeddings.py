"""Embeddings: vectors of users and items, whose similarity is the score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fastndcg.choices import Similarity
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.scoring.consumers import Source
from fastndcg.scoring.operands import Factors
from fastndcg.scoring.sources import VectorSource
from fastndcg.scoring.top_items import ScoringModel, read_ids
from fastndcg.scoring.torch_source import TorchSource
from fastndcg.scoring.vectors import check_factors, check_tensors, is_tensor, read_biases, read_vectors

if TYPE_CHECKING:
    import numpy.typing as npt

SIMILARITIES = ("dot", "cosine", "euclidean", "hamming")


class Embeddings(ScoringModel):
    """
    Vectors of users and items, or of queries and documents, whose similarity is the score.

    Any number of threads may use one at once.

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

    def __repr__(self) -> str:
        return (
            f"Embeddings of {self.n_users} users, {self.n_items} items, {self.factors.users.shape[1]} columns, "
            f"{self.factors.similarity}"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on vectors all of whose scores underflow."""
        return self._notes

    @property
    def score_dtype(self) -> np.dtype[Any]:
        """The dtype of scores."""
        return self._source.score_dtype

    def _make_source(self) -> Source:
        return self._source

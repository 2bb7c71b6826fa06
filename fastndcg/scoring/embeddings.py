"""Embeddings: vectors of users and items, whose similarity is the score."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.id_column import IdColumn
from fastndcg.inputs.options import Options
from fastndcg.inputs.recommendations.models import Model, RankTask
from fastndcg.rankings.counted import RankCounts
from fastndcg.rankings.validation import Array
from fastndcg.scoring.products import Factors, make_product
from fastndcg.scoring.ranks import count_ranks
from fastndcg.scoring.tiles import score_rows

SIMILARITIES = ("dot", "cosine", "euclidean")


class Embeddings(Model):
    """Vectors of users and items, or of queries and documents, whose similarity is the score."""

    __slots__ = ("_factors",)

    def __init__(
        self, users: Any, items: Any, *, similarity: str = "dot", item_biases: Any = None, query_ids: Any = None,
        document_ids: Any = None, leave_query_out: bool = False,
    ) -> None:  # fmt: skip
        self._factors = Factors(np.asarray(users), np.asarray(items), similarity, None, item_biases)
        self.n_users = len(users)
        self.n_items = len(items)
        self.query_ids = None if query_ids is None else IdColumn.of(query_ids, "`query_ids`")
        self.document_ids = None if document_ids is None else IdColumn.of(document_ids, "`document_ids`")
        self.leaves_query_out = leave_query_out

    @property
    def score_dtype(self) -> np.dtype[Any]:
        """The dtype of scores."""
        return make_product(self._factors).score_dtype

    def score_rows(self, users: Array) -> Array:
        """Return the scores of some users for all items, a row a user."""
        return score_rows(make_product(self._factors), users, self.n_items)

    def count_ranks(self, task: RankTask, options: Options) -> RankCounts:
        """Count for each labelled candidate the candidates above and at its place."""
        return count_ranks(make_product(self._factors), self.n_items, task, options)

"""trec_eval's relevance string: one character for the label of each of a query's first documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.named_conventions import Convention

if TYPE_CHECKING:
    from fastndcg.inputs.qrels_run import Qrels, Run
    from fastndcg.rankings.rankings import Rankings
    from fastndcg.rankings.validation import Array


def relevance_strings(qrels: Qrels, run: Run, convention: Convention, length: int) -> list[str]:
    """
    Return the relevance string of each query, of at most `length` characters.

    A label from 0 to 9 is its digit, and a larger label is '>'. An unjudged document is '-'. A document that was pooled
    but not judged is '.'.
    """
    from fastndcg.engine.transforms import apply_convention
    from fastndcg.inputs.join import join

    rankings = apply_convention(join(qrels, run, convention).rankings, convention)
    characters = _label_characters(rankings)[_rank_order(rankings, convention)]
    starts = rankings.offsets[:-1]
    stops = np.minimum(starts + length, rankings.offsets[1:])
    return ["".join(characters[start:stop]) for start, stop in zip(starts, stops, strict=True)]


def _rank_order(rankings: Rankings, convention: Convention) -> Array:
    """Return the indices of the documents in rank order, query by query."""
    queries = np.repeat(np.arange(rankings.n_queries), np.diff(rankings.offsets))
    if convention.ties != "id_descending" or rankings.tie_keys is None:
        raise InvalidInputError(
            f"relstring needs trec_eval's order of ties, id_descending, but {convention} has {convention.ties}. "
            "Add --convention trec_eval."
        )
    return np.lexsort((~rankings.tie_keys, -rankings.scores, queries))


def _label_characters(rankings: Rankings) -> Array:
    """Return one character for each document."""
    characters: Array = np.array([*"0123456789>"])[np.clip(rankings.labels, 0, 10).astype(int)]
    characters[rankings.labels < 0] = "."
    if rankings.judged is not None:
        characters[~rankings.judged] = "-"
    return characters

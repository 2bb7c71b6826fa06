"""trec_eval's relevance string: the labels of a query's first documents, a character each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError

if TYPE_CHECKING:
    from fastndcg.inputs.tables import Qrels, Run
    from fastndcg.rankings import Array, Rankings


def strings(qrels: Qrels, run: Run, convention: Convention, length: int) -> list[str]:
    """Each query's string: a label up to 9, '>' above, '-' without a judgment, '.' pooled and not judged."""
    from fastndcg.engine import apply_convention
    from fastndcg.inputs.join import join

    rankings = apply_convention(join(qrels, run, convention).rankings, convention)
    characters = characters_of(rankings)[first_last(rankings, convention)]
    starts = rankings.offsets[:-1]
    stops = np.minimum(starts + length, rankings.offsets[1:])
    return ["".join(characters[start:stop]) for start, stop in zip(starts, stops, strict=True)]


def first_last(rankings: Rankings, convention: Convention) -> Array:
    """The documents in rank order, query after query."""
    queries = np.repeat(np.arange(rankings.n_queries), np.diff(rankings.offsets))
    if convention.ties != "id_descending" or rankings.tie_keys is None:
        raise InvalidInputError(
            f"relstring shows trec_eval's order: choose --convention trec_eval, not {convention}, "
            f"whose ties are {convention.ties}"
        )
    return np.lexsort((~rankings.tie_keys, -rankings.scores, queries))


def characters_of(rankings: Rankings) -> Array:
    """Each document's character."""
    characters: Array = np.array([*"0123456789>"])[np.clip(rankings.labels, 0, 10).astype(int)]
    characters[rankings.labels < 0] = "."
    if rankings.judged is not None:
        characters[~rankings.judged] = "-"
    return characters

"""Conventions: what a metric's number means, and named conventions that give the numbers of other programs."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownConventionError, shorten, suggest_name
from fastndcg.named_conventions import learning_to_rank, recommenders, search
from fastndcg.named_conventions.convention import Bug, Convention
from fastndcg.named_conventions.fields import CHOICES, FIELDS
from fastndcg.parsing import parse_call

__all__ = ["CHOICES", "FIELDS", "KINDS", "Bug", "Convention", "Conventions", "conventions", "parse_convention"]


ALIASES = {
    "trec_eval_10": "trec_eval",
    "pytrec_eval": "trec_eval_9",
    "anserini": "trec_eval_9",
    "pyserini": "trec_eval_9",
    "beir": "trec_eval_9",
    "mteb": "trec_eval_9",
    "ir_measures": "trec_eval_9_c",
    "pyterrier": "trec_eval_9_c",
    "scikit_learn": "sklearn",
    "lgbm": "lightgbm",
    "xgb": "xgboost",
}  # programs that compute with another one, and versions


_TAKE = "Take the convention of the program that you compare with, such as 'trec_eval', or 'default'"
_RANKERS = f"ranks documents: its rankings are runs. {_TAKE}"
_ENGINES = f"is a search engine, whose rankings are runs. {_TAKE}. `fuse` has conventions of its own, for fusion"
_JUDGES = "mostly asks a language model, and its metrics of judged documents follow no fixed rules. Take 'default'"
_SEVERAL = "stands for several programs. Take 'torchmetrics', 'sentence_transformers' or 'recbole'"
EXPLAINED = {
    **dict.fromkeys(("rank_bm25", "bm25s", "bm25", "faiss", "colbert", "splade"), _RANKERS),
    **dict.fromkeys(("lucene", "elasticsearch", "opensearch", "weaviate", "qdrant", "vespa", "solr"),
                    _ENGINES),
    **dict.fromkeys(("ragas", "deepeval", "trulens", "llama_index", "llamaindex", "langchain", "mlflow"), _JUDGES),
    **dict.fromkeys(("torch", "pytorch", "lightning"), _SEVERAL),
}  # programs whose names are no conventions  # fmt: skip


def _read_name(name: str) -> str:
    """Return the name of a convention for its name or alias in any case of letters, with - or _."""
    text = re.sub(r"[-\s]+", "_", name.strip().lower())
    return ALIASES.get(text, text)


class Conventions(Mapping[str, Convention]):
    """
    The named conventions, also by the names of programs that compute with them, in any case of letters.

    An unknown name raises an error with a suggestion.

    Examples
    --------
    >>> fn.conventions["pytrec_eval"].name, fn.conventions["PyTerrier"].name
    ('trec_eval_9', 'trec_eval_9_c')
    """

    def __init__(self, *records: Convention) -> None:
        self._by_name = {convention.name: convention for convention in records}

    def __getitem__(self, name: str) -> Convention:
        if not isinstance(name, str) or _read_name(name) not in self._by_name:
            reason = EXPLAINED.get(_read_name(name)) if isinstance(name, str) else None
            if reason:
                raise UnknownConventionError(f"no convention is called {shorten(name)}, which {reason}.")
            hint = suggest_name(name, [*self._by_name, *ALIASES]) or f" There are {', '.join(self._by_name)}."
            raise UnknownConventionError(f"no convention is called {shorten(name)}.{hint}")
        return self._by_name[_read_name(name)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _read_name(name) in self._by_name

    def get(self, name: str, default: Any = None) -> Any:
        """Return the convention of this name, or `default`."""
        return self._by_name.get(_read_name(name), default) if isinstance(name, str) else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"conventions: {', '.join(self._by_name)}"


def parse_convention(convention: str | Convention) -> Convention:
    """
    Read a convention's text: a name, or a name with other choices.

    >>> parse_convention("trec_eval(missing_in_run=zero)").missing_in_run
    'zero'
    """
    if isinstance(convention, Convention):
        return convention
    if not isinstance(convention, str):
        raise InvalidTypeError(
            f"`convention` must be a name or a Convention, not {type(convention).__name__}: {shorten(convention)}"
        )
    return _parse_text(convention)


@functools.lru_cache(maxsize=256)
def _parse_text(text: str) -> Convention:
    name, choices, cutoff = parse_call(text)
    if cutoff is not None:
        raise InvalidInputError(
            f"`convention` must have no cutoff, not {shorten(text)}. Write cutoffs behind metrics: 'nDCG@10'"
        )
    return conventions[name].replace(**choices) if choices else conventions[name]


KINDS = {
    **{convention.name: "search" for convention in search.RECORDS},
    **{convention.name: "learning_to_rank" for convention in learning_to_rank.RECORDS},
    **{convention.name: "recommenders" for convention in recommenders.RECORDS},
    "default": "default",
}  # by the names of conventions
conventions = Conventions(
    Convention("default", source="the definitions in the literature that the catalogue names"),
    *search.RECORDS,
    *learning_to_rank.RECORDS,
    *recommenders.RECORDS,
)

"""Conventions: what a metric's number means, and named conventions that give the numbers of other programs."""

from __future__ import annotations

from fastndcg.named_conventions import learning_to_rank, recommenders, search
from fastndcg.named_conventions.convention import CHOICES, FIELDS, Bug, Convention
from fastndcg.named_conventions.named_choices import Registry, parse_named

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
    "haystack_ai": "haystack",
    "llamaindex": "llama_index",
    "azure": "azure_ai",
    "azure_ai_evaluation": "azure_ai",
    "rank_eval": "elasticsearch",
    "search_relevance": "opensearch",
}  # programs that compute with another one, and versions


_TAKE = "Take the convention of the program that you compare with, such as 'trec_eval', or 'default'"
_RANKERS = f"ranks documents: its rankings are runs. {_TAKE}"
_ENGINES = f"is a search engine, whose rankings are runs. {_TAKE}. `fuse` has conventions of its own, for fusion"
_JUDGES = "mostly asks a language model, and its metrics of judged documents follow no fixed rules. Take 'default'"
_SEVERAL = "stands for several programs. Take 'torchmetrics', 'sentence_transformers' or 'recbole'"
EXPLAINED = {
    **dict.fromkeys(("rank_bm25", "bm25s", "bm25", "faiss", "colbert", "splade"), _RANKERS),
    **dict.fromkeys(("lucene", "weaviate", "qdrant", "vespa", "solr"), _ENGINES),
    **dict.fromkeys(("deepeval", "langchain"), _JUDGES),
    **dict.fromkeys(("torch", "pytorch", "lightning"), _SEVERAL),
}  # programs whose names are no conventions  # fmt: skip


class Conventions(Registry[Convention]):
    """
    The named conventions, also by the names of programs that compute with them, in any case of letters.

    An unknown name raises an error with a suggestion.

    Examples
    --------
    >>> fn.conventions["pytrec_eval"].name, fn.conventions["PyTerrier"].name
    ('trec_eval_9', 'trec_eval_9_c')
    """

    ALIASES = ALIASES
    EXPLAINED = EXPLAINED


def parse_convention(convention: str | Convention, argument: str = "convention") -> Convention:
    """
    Read a convention's text: a name, or a name with other choices. Errors name the argument.

    >>> parse_convention("trec_eval(missing_in_run=zero)").missing_in_run
    'zero'
    """
    return parse_named(convention, Convention, argument, "Write cutoffs behind metrics: 'nDCG@10'")


KINDS = {
    **{convention.name: "search" for convention in search.RECORDS},
    **{convention.name: "learning_to_rank" for convention in learning_to_rank.RECORDS},
    **{convention.name: "recommenders" for convention in recommenders.RECORDS},
    **{convention.name: "retrieval" for convention in search.RETRIEVAL},
    "default": "default",
}  # by the names of conventions
conventions = Conventions(
    Convention("default", source="the definitions in the literature that the catalogue names"),
    *search.RECORDS,
    *learning_to_rank.RECORDS,
    *recommenders.RECORDS,
    *search.RETRIEVAL,
)
Convention.registry = conventions

"""Names that people write for metrics and that name none here, each with the reason and what to take in its place."""

from __future__ import annotations

import re

AMBIGUOUS = {
    "accuracy": "'accuracy' has two meanings. Name ClassificationAccuracy, the share of documents on the right side of "
    "the cutoff, or Success, the hit rate, which sentence-transformers, BEIR and DPR call accuracy",
    "hits": "'hits' has two meanings. Name hit_rate, 0 or 1, which link prediction calls hits@k, or n_hits, the number "
    "of relevant documents among the first k, which ranx calls hits",
}  # by lower case, as below

_OF_ANSWERS = "is of an answer that a model has written, not of a ranking. Retrieval has recall@k and ndcg@k"
_OF_RATINGS = "is an error of predicted ratings, not of a ranking. scikit-learn has it"
EXPLAINED = {
    "context_recall": "asks a language model whether the context supports the answer. With judged documents or chunks, "
    "it is recall@k; with evidence of which one of a group is enough, evidence_recall@k; with gold text, span_recall@k "
    "of evaluate_spans",
    "context_precision": "is the mean of P@r over the ranks of relevant chunks among the first k. With judged chunks, "
    "it is map@k under the convention 'default(ap_denominator=n_hits)'",
    **dict.fromkeys(
        ("faithfulness", "groundedness", "hallucination", "answer_relevancy", "answer_relevance", "answer_correctness",
         "response_relevancy", "bleu"), _OF_ANSWERS,
    ),
    **dict.fromkeys(("mae", "mse", "rmse"), _OF_RATINGS),
}  # fmt: skip
KAGGLE = (
    "Kaggle's MAP@k divides by min(k, R) for R relevant documents. It is map@k, such as 'map@3', under the convention "
    "'default(ap_denominator=min(k, n_relevant))'"
)
_KAGGLE = re.compile(r"(?=.*\bkaggle\b).*\b(map|apk?|mapk)\b.*", re.IGNORECASE)


def explain_name(name: str) -> str:
    """
    Return why no metric has a name, and what to take, or an empty text for a name that is not known to be used.

    >>> explain_name("faithfulness")[:40]
    "'faithfulness' is of an answer that a mo"
    >>> explain_name("xyz")
    ''
    """
    lower = name.strip().lower().replace("-", "_").replace(" ", "_")
    if lower in AMBIGUOUS:
        return AMBIGUOUS[lower]
    if lower in EXPLAINED:
        return f"'{lower}' {EXPLAINED[lower]}"
    return KAGGLE if lower in ("mapk", "map_at_k") or _KAGGLE.fullmatch(name) else ""

"""The names that people write for metrics, and hints for those that name none here, such as of other programs."""

from __future__ import annotations

import re

from fastndcg.choices import AggregateName
from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownMetricError, Words, shorten, suggest_name
from fastndcg.metrics.families import CATALOG, Record
from fastndcg.metrics.trec_eval import BY_LOWER_NAME

# Names that people write for metrics and that name none here, each with the reason and what to take in its place
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


NAMES = {
    text.lower(): record.name
    for record in CATALOG.values()
    for text in (record.name, *record.aliases, record.trec_name, *record.names_elsewhere)
    if text and text.lower() not in AMBIGUOUS
}
AGGREGATED_NAMES: dict[str, tuple[AggregateName, str]] = {
    "harmonic_mean_rank": ("hm", "Rank"),
    "geometric_mean_rank": ("gm", "Rank"),
    "median_rank": ("median", "Rank"),
    "amr": ("over_chance", "Rank"),
    "adjusted_mean_rank": ("over_chance", "Rank"),
    "amri": ("adjusted", "Rank"),
    "adjusted_mean_rank_index": ("adjusted", "Rank"),
    "adjusted_mrr": ("adjusted", "RR"),
    "adjusted_hits": ("adjusted", "Success"),
    "adjusted_hits_at": ("adjusted", "Success"),
}  # of link prediction, by lower case: an aggregate and its metric
_WITH_NUMBER = re.compile(r"(.+?)(?:_at_?|_|)(\d+|k)", re.IGNORECASE)
_TOP = re.compile(r"top_?(\d+|k|n)_(?:\w+_)??(accuracy|acc|[a-z]+(?:_rate)?)(?:_score)?")  # top_k_categorical_accuracy
_MEASURED = "eval valid val dev test train mean avg average max cosine cos_sim dot_score dot euclidean manhattan"
_PREFIXED = re.compile(rf"(?:(?:{_MEASURED.replace(' ', '|')})_)+(.+)")  # cosine_ndcg, of logs of a training
_BRACKETED = re.compile(r"@\s*[\[({]([\d\s,;]+)[\])}]")  # Recall@[1,5]


def refuse_divided(text: str) -> None:
    """Raise an error for metrics that something else than commas divides, for cutoffs in brackets, and for words."""
    bracketed = _BRACKETED.search(text)
    if bracketed is not None:
        cutoffs = ",".join(re.findall(r"\d+", bracketed[1]))
        own = f"{text[: bracketed.start()].strip()}@{cutoffs}{text[bracketed.end() :].strip()}"
        raise InvalidInputError(f"{shorten(text)} must have its cutoffs without brackets. Write {shorten(own)}")
    words = re.split(r"[\s;|/+&]+", text.strip(" \t\r\n;|/+&"))
    if len(words) == 1 or "(" in text:
        return
    if all(re.split(r"\W", word)[0].lower() in NAMES for word in words):
        raise InvalidInputError(f"{shorten(text)} names several metrics. Write commas: {shorten(','.join(words))}")
    name, at, cutoff = text.strip().partition("@")
    name = "_".join(name.split())
    reason = explain_name(text) or explain_name(name)
    if reason:
        raise UnknownMetricError(reason)
    if name.lower() in NAMES and " " not in cutoff:
        raise UnknownMetricError(f"no metric is called {shorten(text)}. Did you mean {shorten(name + at + cutoff)}?")


def find_record(name: str) -> Record:
    """Return the record of a metric by any of its names."""
    if not isinstance(name, str):
        raise InvalidTypeError(f"a metric's name must be a string, not {type(name).__name__}: {shorten(name)}")
    canonical = NAMES.get(name.lower())
    if canonical is None:
        short = name[:80]
        lower = short.lower().replace("-", "_")
        inner = match[1] if (match := _PREFIXED.fullmatch(lower)) else ""
        reason = explain_name(short) or explain_name(inner)
        if reason:
            raise UnknownMetricError(reason)
        known = {*CATALOG, *NAMES, *AGGREGATED_NAMES, *BY_LOWER_NAME} - {short}  # lines of trec_eval may be no metrics
        hint = _suggest_cutoff(lower) or _suggest_cutoff(inner) or f" Did you mean {inner!r}?" * (inner in NAMES)
        hint = hint or suggest_name(short, sorted(known))
        raise UnknownMetricError(
            f"no metric is called {shorten(short)}.{hint} ",
            Words("`fn.list_metrics()`", "`fastndcg metrics`"),
            " lists all",
        )
    return CATALOG[canonical]


def _suggest_cutoff(name: str) -> str:
    """Return a hint for a name with its cutoff, as ndcg10 or top_10_accuracy, or an empty text for others."""
    ending, leading = _WITH_NUMBER.fullmatch(name), _TOP.fullmatch(name)
    word, k = (leading[2], leading[1]) if leading else (ending[1], ending[2]) if ending else ("", "")
    canonical = "Success" if leading and word.startswith("acc") else NAMES.get(word.lower())
    if canonical is None or not CATALOG[canonical].has_cutoff:
        return ""
    return f" Did you mean '{canonical}@{k if k.isdigit() else 10}'?"

"""Descriptions of metrics in words: formula, parameters, range, source, names and an example; names of no metric."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fastndcg.metrics.families.record import TIES_AND_MEAN_RANK, Record
from fastndcg.parsing import format_value

CUTOFF = "the number of ranks that count, 1 or more, written @k; all ranks if left out"
CALLS = {
    "evaluate": 'fn.evaluate(qrels, run, "{}").mean()',
    "agreement": 'fn.agreement(first, second, "{}").mean()',
    "beyond_accuracy": 'fn.beyond_accuracy(recommended, "{}"{}).mean()',
    "evaluate_spans": 'fn.evaluate_spans(gold, chunks, "{}").mean()',
}


def describe_ties(record: Record) -> str:
    """Return the tie policies that a metric supports, in a few words."""
    if record.ties in (TIES_AND_MEAN_RANK, ()):
        return "all" if record.ties else "–"
    unsupported = [policy for policy in TIES_AND_MEAN_RANK if policy not in record.ties]
    if len(unsupported) < len(record.ties):
        return f"all but {', '.join(unsupported)}"
    return ", ".join(record.ties)


def list_trec_names(record: Record) -> list[str]:
    """Return trec_eval's names of a metric: the one without a cutoff, and the one with a cutoff."""
    names = []
    if record.trec_name:
        names.append(record.trec_name)
    if record.trec_cut:
        names.append(f"{record.trec_cut}_k")
    return names


def describe_parameters(record: Record) -> list[tuple[str, str]]:
    """Return the name and the meaning of each parameter, the cutoff first."""
    cutoff = [("k", CUTOFF)] if record.has_cutoff else []
    return [*cutoff, *((p.name, p.text + _format_default(p.default)) for p in record.parameters)]


def list_facts(record: Record) -> list[tuple[str, str]]:
    """Return the facts about a metric with their headings. An empty heading continues the fact before."""
    parameters = describe_parameters(record)
    width = max((len(name) for name, _ in parameters), default=0)
    facts = [("formula", record.formula)]
    facts += [("" if i else "parameters", f"{name:<{width}}  {text}") for i, (name, text) in enumerate(parameters)]
    if not parameters:
        facts.append(("parameters", "none"))
    facts.append(("range", record.range + ("" if record.higher_is_better else ", lower is better")))
    facts.append(("undefined", record.undefined if record.undefined == "never" else f"where {record.undefined}"))
    facts.append(("ties", describe_ties(record)))
    if record.function_name != "evaluate":
        facts.append(("taken by", f"fastndcg.{record.function_name}"))
    facts.append(("source", record.source))
    if record.doi:
        facts.append(("", f"https://doi.org/{record.doi}"))
    facts.append(("aliases", ", ".join(record.aliases) or "none"))
    facts.append(("trec_eval", ", ".join(list_trec_names(record)) or "has no such metric"))
    return facts + [(peer, name) for peer, name in record.peers]


def describe_metric(text: str, record: Record) -> str:
    """Return the docstring of a metric whose text is given."""
    return "\n".join(_list_lines(text, record))


def make_example(text: str, record: Record) -> str:
    """Return a call that computes a metric."""
    needs = "".join(f", {argument}={argument}" for argument in record.needs)
    return CALLS[record.function_name].format(text, needs)


def _list_lines(text: str, record: Record) -> Iterator[str]:
    yield f"{text}: {record.title}."
    yield ""
    yield from (f"{heading:<12}  {fact}".rstrip() for heading, fact in list_facts(record))
    yield f"{'example':<12}  {make_example(text, record)}"
    yield ""
    if record.has_cutoff:
        yield f"Write a cutoff as fn.{record.name} @ 10 or '{record.name}@10'."
    if record.parameters:
        name = record.parameters[0].name
        yield f"Write a parameter as fn.{record.name}({name}=...) or '{record.name}({name}=...)'."


def _format_default(value: float | str | tuple[float, ...] | None) -> str:
    return "" if value is None else f" (default {format_value(value)})"


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

"""Worked examples of the metrics' pages. They are computed with the library when the pages are written."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import fastndcg as fn
from fastndcg.metrics.families import Record

LABELS = (0, 2, 1, 0, 3)  # in rank order; 4 orders if ranks 1 and 2 tie, and ranks 3 and 4
INTRODUCTIONS = {
    "labels": "Five documents in rank order have the labels 0, 2, 1, 0 and 3. In `tied`, the documents at ranks 1 and "
    "2 have the same score, and so do those at ranks 3 and 4.",
    "judgments": "Documents `a` and `d` are relevant, `b` and `e` are not. Document `x` is not judged, and `e` is not "
    "retrieved. In `tied`, documents `a` and `b` have the same score.",
    "subtopics": "Document `d1` is relevant to two subtopics, `d2` to one of them, and `d4` to a third one. In `tied`, "
    "documents `d1` and `d3` have the same score.",
    "agreement": "Two rankings of five documents, by their scores. In `tied`, two documents of the second ranking have "
    "the same score.",
    "beyond_accuracy": "Three users have three recommended items each, of a catalogue of six.",
    "evaluate_spans": "The gold text is 100 characters of one document and 50 of another. Chunks overlap.",
    "aggregates": "Four queries, whose relevant document is at rank 1, 2, 4 and nowhere.",
}
SETUPS = {
    "labels": [
        "import fastndcg as fn",
        "labels, scores = [[0, 2, 1, 0, 3]], [[5, 4, 3, 2, 1]]",
        "tied = [[5, 5, 3, 3, 1]]",
    ],
    "judgments": [
        "import fastndcg as fn",
        'qrels = {"q": {"a": 1, "b": 0, "d": 1, "e": 0}}',
        'run = {"q": {"b": 4, "a": 3, "x": 2, "d": 1}}',
        'tied = {"q": {"b": 4, "a": 4, "x": 2, "d": 1}}',
    ],
    "subtopics": [
        "import fastndcg as fn",
        'qrels = {"jaguar": {"d1": {"cars": 1, "cats": 1}, "d2": {"cars": 1}, "d4": {"films": 1}}}',
        'run = {"jaguar": {"d2": 4, "d1": 3, "d3": 2, "d4": 1}}',
        'tied = {"jaguar": {"d2": 4, "d1": 3, "d3": 3, "d4": 1}}',
    ],
    "agreement": [
        "import fastndcg as fn",
        "first, second = [[5, 4, 3, 2, 1]], [[4, 5, 3, 1, 2]]",
        "tied = [[4, 4, 3, 1, 2]]",
    ],
    "beyond_accuracy": [
        "import fastndcg as fn",
        "recommended = [[0, 1, 2], [0, 2, 3], [0, 1, 4]]",
        "popularity = [40, 20, 10, 5, 2, 1]  # users who interacted with each item",
        "vectors = [[1, 0], [1, 1], [0, 1], [0, 2], [2, 1], [1, 2]]",
        "from scipy.sparse import csr_array",
        "liked = csr_array([[0, 1, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 1]])",
    ],
    "evaluate_spans": [
        "import fastndcg as fn",
        'gold = {"q": [("a.txt", 100, 200), ("b.txt", 0, 50)]}',
        'chunks = {"q": [("a.txt", 50, 150), ("a.txt", 100, 250), ("c.txt", 0, 90), ("b.txt", 0, 100)]}',
    ],
    "aggregates": [
        "import fastndcg as fn",
        "labels = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]",
        "scores = [[4, 3, 2, 1]] * 4",
    ],
}
CALLS = {
    "labels": 'fn.evaluate(labels, {scores}, "{metric}").mean()',
    "judgments": 'fn.evaluate(qrels, {scores}, "{metric}").mean()',
    "subtopics": 'fn.evaluate(qrels, {scores}, "{metric}").mean()',
    "agreement": 'fn.agreement(first, {scores}, "{metric}").mean()',
    "beyond_accuracy": 'fn.beyond_accuracy(recommended, "{metric}"{needs}).mean()',
    "evaluate_spans": 'fn.evaluate_spans(gold, chunks, "{metric}").mean()',
}
SCORES = {
    "labels": "scores",
    "judgments": "run",
    "subtopics": "run",
    "agreement": "second",
    "beyond_accuracy": "",
    "evaluate_spans": "",
}
NEEDS = {"popularity": "popularity=popularity", "liked": "liked=liked", "catalogue": "catalogue=6"}
MORE_NEEDS = {"novelty": ", n_users=100", "ILD": ", vectors=vectors"}
TEXTS = {  # of metrics that show more with these parameters and cutoffs
    "AP": "AP", "RR": "RR", "Success": "Success@1", "RBP": "RBP(p=0.8)", "Rprec": "Rprec", "IDCG": "IDCG@3",
    "num_ret": "num_ret", "num_rel": "num_rel", "INST": "INST", "BPM": "BPM", "Q": "Q", "TBG": "TBG", "nERR": "nERR",
    "Utility": "Utility", "RBP_resid": "RBP_resid(p=0.8)", "Judged": "Judged@3", "pAUC": "pAUC(max_fpr=0.5)",
    "RBO": "RBO(p=0.9)", "popularity": "popularity", "novelty": "novelty", "tail": "tail", "ILD": "ILD",
    "serendipity": "serendipity", "coverage": "coverage", "gini": "gini", "entropy": "entropy",
    "personalisation": "personalisation", "Compat": "Compat", "PFound": "PFound", "IPrec": "IPrec(recall=0.5)",
    "AP_IA": "AP_IA", "nERR_IA": "nERR_IA", "ERR_IA": "ERR_IA", "ERR": "ERR@3",
}  # fmt: skip
OWN = {  # examples of other data: a text, and code
    "GAUC": (
        "A query with two relevant documents counts twice, so that the mean is not that of AUC.",
        [
            "two_labels, two_scores = [[1, 1, 0], [0, 1, 0]], [[3, 2, 1], [3, 2, 1]]",
            'fn.evaluate(two_labels, two_scores, "AUC, GAUC(weight=positives)").mean()',
        ],
    ),
}
POLICIES = ("average", "input", "input_reversed", "best", "worst")


class Steps(NamedTuple):
    """The calculation of a metric by hand: lines of LaTeX, and the value."""

    lines: list[str]
    value: float


def find_kind(record: Record) -> str:
    """Return the kind of data that a metric's example needs."""
    return record.view if record.function_name == "evaluate" else record.function_name


def make_text(record: Record) -> str:
    """Return the text of a metric in its example, such as nDCG@3."""
    return TEXTS.get(record.name, f"{record.name}@3" if record.has_cutoff else record.name)


def make_call(record: Record, *, is_tied: bool = False) -> str:
    """Return the call that computes a metric on the data of its page."""
    kind = find_kind(record)
    needs = "".join(f", {NEEDS[argument]}" for argument in record.needs) + MORE_NEEDS.get(record.name, "")
    return CALLS[kind].format(scores="tied" if is_tied else SCORES[kind], metric=make_text(record), needs=needs)


def run_code(lines: list[str], namespace: dict[str, Any]) -> Iterator[str]:
    """Run lines of Python as at a prompt, and yield them with their output."""
    for line in lines:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(line, "<example>", "single"), namespace)
        yield f">>> {line}\n{printed.getvalue()}"


def compute_ties(record: Record, namespace: dict[str, Any]) -> list[str]:
    """Return the values of a metric under each tie policy, with a dash where the metric has none."""
    call = make_call(record, is_tied=True).removesuffix(").mean()")
    cells = []
    for policy in POLICIES:
        if policy not in record.ties:
            cells.append("–")
            continue
        convention = fn.conventions["default"].replace(ties=policy)
        (value,) = eval(f"{call}, convention=convention).mean()", namespace | {"convention": convention}).values()
        cells.append(f"{value:.4f}")
    return cells


def work_by_hand(record: Record, namespace: dict[str, Any]) -> list[str]:
    """Return the lines of the calculation by hand, if there is one, after a comparison with the library's value."""
    if record.name not in BY_HAND:
        return []
    steps = BY_HAND[record.name]()
    (value,) = eval(make_call(record), namespace).values()
    if not math.isclose(value, steps.value, rel_tol=1e-12):
        raise ValueError(f"by hand {record.name} must be {value}, not {steps.value}. Correct docs/_ext")
    return steps.lines


def _format(number: float) -> str:
    return f"{number:.4f}".rstrip("0").rstrip(".")


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _sum_gains(labels: tuple[int, ...]) -> tuple[str, str, float]:
    """Return the sum of discounted gains in LaTeX with logarithms, with numbers, and its value."""
    ranks = range(1, len(labels) + 1)
    logarithms = " + ".join(rf"\frac{{{label}}}{{\log_2 {r + 1}}}" for r, label in zip(ranks, labels, strict=True))
    terms = [label * _discount(r) for r, label in zip(ranks, labels, strict=True)]
    return logarithms, " + ".join(map(_format, terms)), sum(terms)


def _dcg() -> Steps:
    logarithms, numbers, value = _sum_gains(LABELS[:3])
    return Steps([rf"\mathrm{{DCG@}}3 &= {logarithms}", f"&= {numbers} = {_format(value)}"], value)


def _ndcg() -> Steps:
    dcg = _dcg()
    logarithms, numbers, ideal = _sum_gains(tuple(sorted(LABELS, reverse=True)[:3]))
    value = dcg.value / ideal
    return Steps(
        [
            *dcg.lines,
            rf"\mathrm{{IDCG@}}3 &= {logarithms}",
            f"&= {numbers} = {_format(ideal)}",
            rf"\mathrm{{nDCG@}}3 &= \frac{{{_format(dcg.value)}}}{{{_format(ideal)}}} = {_format(value)}",
        ],
        value,
    )


def _relevant_ranks() -> list[int]:
    return [r for r, label in enumerate(LABELS, 1) if label >= 1]


def _average_precision() -> Steps:
    ranks = _relevant_ranks()
    precisions = list(enumerate(ranks, 1))
    value = sum(n_found / r for n_found, r in precisions) / len(ranks)
    terms = " + ".join(rf"\frac{{{n_found}}}{{{r}}}" for n_found, r in precisions)
    return Steps([rf"\mathrm{{AP}} &= \frac{{1}}{{{len(ranks)}}} \left({terms}\right) = {_format(value)}"], value)


def _reciprocal_rank() -> Steps:
    rank = _relevant_ranks()[0]
    return Steps([rf"\mathrm{{RR}} &= \frac{{1}}{{{rank}}} = {_format(1 / rank)}"], 1 / rank)


def _precision() -> Steps:
    n_found = sum(r <= 3 for r in _relevant_ranks())
    return Steps([rf"\mathrm{{P@}}3 &= \frac{{{n_found}}}{{3}} = {_format(n_found / 3)}"], n_found / 3)


def _recall() -> Steps:
    n_found = sum(r <= 3 for r in _relevant_ranks())
    n = len(_relevant_ranks())
    return Steps([rf"\mathrm{{R@}}3 &= \frac{{{n_found}}}{{{n}}} = {_format(n_found / n)}"], n_found / n)


def _success() -> Steps:
    n_found = sum(r <= 1 for r in _relevant_ranks())
    return Steps([rf"\mathrm{{Success@}}1 &= \min(1, {n_found}) = {min(1, n_found)}"], min(1, n_found))


def _rank_biased_precision() -> Steps:
    p = 0.8
    ranks = _relevant_ranks()
    powers = " + ".join(rf"{p}^{{{r - 1}}}" for r in ranks)
    value = (1 - p) * sum(p ** (r - 1) for r in ranks)
    return Steps([rf"\mathrm{{RBP}} &= (1 - {p}) \cdot ({powers}) = {_format(value)}"], value)


def _expected_reciprocal_rank() -> Steps:
    stops = [(2**label - 1, 16) for label in LABELS[:3]]
    lines = [rf"s_{r} &= \frac{{2^{label} - 1}}{{2^4}} = \frac{{{top}}}{{{bottom}}}"
             for r, (label, (top, bottom)) in enumerate(zip(LABELS, stops, strict=False), 1)]  # fmt: skip
    terms = []
    value = 0.0
    going_on = 1.0
    for r, (top, bottom) in enumerate(stops, 1):
        products = "".join(rf" \cdot \frac{{{bottom - above}}}{{{bottom}}}" for above, _ in stops[: r - 1])
        terms.append(rf"\frac{{1}}{{{r}}} \cdot \frac{{{top}}}{{{bottom}}}{products}")
        value += going_on * top / bottom / r
        going_on *= 1 - top / bottom
    lines += [rf"\mathrm{{ERR@}}3 &= {terms[0]}"]
    lines += [f"&+ {term}" for term in terms[1:]]
    return Steps([*lines, f"&= {_format(value)}"], value)


def _binary_preference() -> Steps:
    lines = [
        r"R &= 2, \quad O = 2",
        r"\mathrm{bpref} &= \frac{1}{2} \left(1 - \frac{\min(1, 2)}{\min(2, 2)} + 1 - \frac{\min(1, 2)}{\min(2, 2)}"
        r"\right) = 0.5",
    ]
    return Steps(lines, 0.5)


BY_HAND: dict[str, Callable[[], Steps]] = {
    "nDCG": _ndcg,
    "DCG": _dcg,
    "AP": _average_precision,
    "RR": _reciprocal_rank,
    "P": _precision,
    "R": _recall,
    "Success": _success,
    "RBP": _rank_biased_precision,
    "ERR": _expected_reciprocal_rank,
    "bpref": _binary_preference,
}

"""Recorded values of random lists, with repeats and empty lists, are reproduced, or are on the ledger below."""

import gzip
import json
from collections.abc import Callable
from typing import NamedTuple

import pytest
from golden_records import is_near
from recorded_data import DATA

import fastndcg as fn

RECORDED = json.loads(gzip.decompress((DATA / "peers" / "retrieval_lists.json.gz").read_bytes()))
LISTS = RECORDED["lists"]
COUNTED, FIRST, CLOSED = {"duplicates": "counted"}, {"duplicates": "first"}, {"duplicates": "first", "ranks": "closed"}
SETTINGS = {  # what gives a tool's numbers if a document comes again, by the start of the call
    "mlflow": {"ndcg": COUNTED, "precision": COUNTED, "recall": FIRST},
    "llama_index": {"NDCG": COUNTED, "Average": COUNTED, "MRR": FIRST, "HitRate(use_granular": COUNTED,
        "HitRate()": FIRST, "Precision": CLOSED, "Recall": FIRST},
    "trulens": {"ndcg": FIRST, "precision": COUNTED, "recall": FIRST, "mrr": FIRST, "ir_hit": FIRST},
}  # fmt: skip
CONVENTIONS = {"ndcg_at_k()": "trulens(ideal=min(k, n_retrieved))",
    "ndcg_at_k(relevance_scores)": "trulens(ideal=min(k, n_retrieved))"}  # fmt: skip
NO_METRIC = ["MRR(use_granular_mrr=True)"]  # docs/coming_from/retrieval_tools.md says what it is


class Entry(NamedTuple):
    """Lists for which calls of a tool give other numbers, what the printed convention says of it, and how many."""

    tool: str
    calls: tuple[str, ...]
    covers: Callable  # of a list, the cutoff, and True if scores rank the list
    why: str
    n_values: int


def comes_again(one, k, _):
    top = one["retrieved"][:k]
    return any(one["labels"].get(document) and top.count(document) > 1 for document in top)


def is_tied_at(one, k, is_scored):
    scores = sorted(one["scores"], reverse=True)
    return is_scored and k is not None and k < len(scores) and scores[k - 1] == scores[k]


LEDGER = (
    Entry("mlflow", ("ndcg",), comes_again,
        "not copied: a relevant document that is retrieved again is another relevant document", 41),
    Entry("mlflow", ("ndcg", "recall"), lambda one, *_: not one["retrieved"] and not any(one["labels"].values()),
        "not copied: a query without relevant and without retrieved documents scores 1", 48),
    Entry("trulens", ("precision",), lambda one, *_: not one["retrieved"],
        "not copied: precision of a query that retrieved nothing is not a number", 272),
    Entry("trulens", ("precision", "recall", "mrr", "ir_hit"), lambda one, *_: 0 in one["labels"].values(),
        "not copied: a document with the expect_score 0 in the ground truth is relevant", 1044),
    Entry("trulens", ("precision", "recall"), is_tied_at, "where scores tie it takes all chunks that score as", 116),
)  # fmt: skip


def read_call(tool, row):
    """Return the metric of a recorded row, the options that give its numbers, and True if scores rank its lists."""
    (setting,) = [one for start, one in SETTINGS[tool].items() if row["call"].startswith(start)]
    options = {"convention": CONVENTIONS.get(row["call"], tool)} | setting
    return fn.Metric.parse(row["ours"]), options, "relevance_scores" in row["call"]


def evaluate_lists(evaluate, lists, metric, options, is_scored=False):
    """Return our values of {number: list}."""
    truth = {number: one["labels"] or {"none": 0} for number, one in lists.items()}
    run = {number: one["retrieved"] for number, one in lists.items()}
    if is_scored:
        run = [
            (number, *pair)
            for number, one in lists.items()
            for pair in zip(one["retrieved"], one["scores"], strict=True)
        ]
    again = {name: value for name, value in options.items() if name != "convention"}
    result = evaluate(truth, fn.Run(run, **again), metric, convention=options["convention"])
    return dict(zip(result.query_ids, result.values[:, 0].tolist(), strict=True))


ROWS = [(tool, row) for tool in SETTINGS for row in RECORDED[tool]["rows"] if row["call"] not in NO_METRIC]


@pytest.fixture(
    scope="module", ids=["kernels", "reference"],
    params=[fn.evaluate, pytest.param(fn.reference.evaluate, marks=pytest.mark.stress)],
)  # fmt: skip
def differences(request):
    """Return the values that differ, each with its call and the entries of the ledger that cover it."""
    found = []
    for tool, row in ROWS:
        metric, options, is_scored = read_call(tool, row)
        theirs = {number: float(value) for number, value in enumerate(row["values"]) if value != "ValueError"}
        lists = {number: LISTS[number] for number in theirs}
        ours = evaluate_lists(request.param, lists, metric, options, is_scored)
        entries = [entry for entry in LEDGER if entry.tool == tool and row["call"].startswith(entry.calls)]
        for number, one in lists.items():
            if not is_near(theirs[number], ours[number], 1e-9):
                covering = [entry for entry in entries if entry.covers(one, metric.k, is_scored)]
                found.append(((tool, row["call"], one, theirs[number], ours[number]), covering))
    return found


def test_lists_are_reproduced_or_listed(differences):
    assert [difference for difference, covering in differences if not covering] == []


@pytest.mark.parametrize("entry", LEDGER, ids=lambda entry: f"{entry.tool}-{entry.why[:40]}")
def test_ledger_of_lists(differences, entry):
    assert entry.why in str(fn.conventions[entry.tool])
    assert sum(entry in covering for _, covering in differences) == entry.n_values


@pytest.mark.parametrize("evaluate", [fn.evaluate, fn.reference.evaluate], ids=["kernels", "reference"])
def test_lists_that_both_refuse(evaluate):
    """LlamaIndex refuses a query without relevant ids, for every metric, and one without retrieved ids, which is 0."""
    n_refused, n_empty, one = 0, 0, {"labels": {"a": 1}, "retrieved": ["a"]}
    for tool, row in ROWS:
        metric, options, _ = read_call(tool, row)
        for number, value in enumerate(row["values"]):
            lists = {-1: one, number: LISTS[number]}
            if value == "ValueError" and any(LISTS[number]["labels"].values()):
                n_empty += 1
                assert evaluate_lists(evaluate, lists, metric, options)[number] == 0
            elif value == "ValueError":
                n_refused += 1
                with pytest.raises((fn.UndefinedMetricError, fn.InvalidInputError), match=f"query {number} "):
                    evaluate_lists(evaluate, lists, metric, options)
    assert n_refused + n_empty == 8 * 84
    assert "a query that retrieved nothing is an error" in str(fn.conventions["llama_index"])


def test_mlflow_takes_a_document_again_for_another_one():
    """With an id of its own for a document that is retrieved again, also in the truth, nDCG is MLflow's."""
    (both_empty,) = [entry for entry in LEDGER if "scores 1" in entry.why]
    for row in RECORDED["mlflow"]["rows"][:4]:
        metric = fn.Metric.parse(row["ours"])
        lists = {number: name_again(one, metric.k) for number, one in enumerate(LISTS)}
        ours = evaluate_lists(fn.evaluate, lists, metric, {"convention": "mlflow"})
        for number, theirs in enumerate(row["values"]):
            assert both_empty.covers(LISTS[number]) or ours[number] == pytest.approx(theirs, rel=1e-9)


def name_again(one, k):
    """Return the first k documents of a list, with a name for each further retrieval that has its document's label."""
    names, labels = [], dict(one["labels"])
    for rank, document in enumerate(one["retrieved"][:k]):
        again = one["retrieved"][:rank].count(document)
        names.append(f"{document} {again}" if again else document)
        labels[names[-1]] = one["labels"].get(document, 0)
    return {"labels": labels, "retrieved": names}

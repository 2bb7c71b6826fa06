"""The catalogue: what holds for each parameter of each metric."""

import functools

import numpy as np
import pytest
from strategies import DISCOUNTS, GAINS

import fastndcg as fn
from fastndcg.metrics.families import CATALOG, records_of

DRAWS = np.random.default_rng(49)
N, DEPTH = 9, 12
DOCUMENTS = [f"d{document:02}" for document in range(DEPTH)]
LABELS = DRAWS.integers(0, 4, (N, DEPTH)) * (DRAWS.random((N, DEPTH)) < 0.7)
LABELS[:, :2] = 1, 3
SCORES = DRAWS.permuted(np.tile(np.arange(DEPTH, dtype=float), (N, 1)), axis=1)
TOPICS = DRAWS.integers(0, 4, (N, DEPTH, 3)) * (DRAWS.random((N, DEPTH, 3)) < 0.4)
TOPICS[:, 0] = 1, 3, 0
IMPORTANCE = {f"q{q}": {"x": 1.0, "y": 0.5, "z": 2.0} for q in range(N)}
LISTS = np.argsort(SCORES, axis=1)[:, :5]
GOLD = {q: [("a", 0, 20 + q), ("b", 10, 30)] for q in range(N)}
CHUNKS = {q: [("a", 5, 30), ("a", 10, 40), ("b", 0, 5 * q + 5), ("c", 0, 9)] for q in range(N)}
RUN = {f"q{q}": dict(zip(DOCUMENTS[q % 3 :], row[q % 3 :].tolist(), strict=True)) for q, row in enumerate(SCORES)}


def judge(labels=LABELS):
    """Return judgments of all documents but a few, some of which the run lacks."""
    return {f"q{q}": {d: int(label) for d, label in zip(DOCUMENTS[:-2], row, strict=False)}
            for q, row in enumerate(labels)}  # fmt: skip


@functools.cache
def judge_by_subtopic():
    rows = {f"q{q}": {d: dict(zip("xyz", map(int, own), strict=True)) for d, own in zip(DOCUMENTS, row, strict=True)}
            for q, row in enumerate(TOPICS)}  # fmt: skip
    return fn.DiversityQrels(rows, importance=IMPORTANCE)


def evaluate(metrics, labels=LABELS):
    """Return the result of some metrics of one function and view."""
    record = metrics[0].record
    if record.function_name == "agreement":
        return fn.agreement(SCORES, LABELS + SCORES / 100, metrics)
    if record.function_name == "beyond_accuracy":
        vectors, categories = np.arange(1.0, 37).reshape(12, 3) ** 2 % 7 + 1, TOPICS[0] > 0
        return fn.beyond_accuracy(
            LISTS, metrics, popularity=np.arange(1, 13) ** 2, n_users=200, vectors=vectors, categories=categories,
            liked=fn.Interactions(LISTS[:, 1], LABELS[:, 2] + 1, offsets=np.arange(N + 1)), catalogue=12,
        )  # fmt: skip
    if record.function_name == "evaluate_spans":
        return fn.evaluate_spans(GOLD, CHUNKS, metrics)
    qrels = judge_by_subtopic() if record.by_subtopic else judge(labels)
    return fn.evaluate(qrels, RUN, metrics)


def list_values(record, parameter):
    """Return values of a parameter that should matter."""
    if parameter.type == "choice":
        return parameter.choices
    if parameter.type == "table":
        return (0.0, 0.3), (0.75,)
    if parameter.type == "gain":
        return ("binary", (0.0, 0.25, 0.5, 1.0)) if record.name == "INST" else GAINS
    if parameter.type == "discount":
        return DISCOUNTS
    if parameter.type == "int":
        return 3, 4, 9
    return [x for x in (-2.0, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0, 3.0) if parameter.allows(x)]


NEEDED = {"Utility": {"d": 0.5, "documents": 20}, "nugget_recall": {"rel": 2}}  # where other parameters matter


def list_metrics(record):
    """Return for the cutoff and each parameter of a metric the metric with each value."""
    k, others = 4 if record.has_cutoff else None, NEEDED.get(record.name, {})
    by_cutoff = {"k": [fn.Metric(record.name, depth, **others) for depth in (1, 4, 9)]} if record.has_cutoff else {}
    return by_cutoff | {
        parameter.name: [fn.Metric(record.name, k, **others | {parameter.name: value})
                         for value in list_values(record, parameter)]
        for parameter in record.parameters
    }  # fmt: skip


def list_numbers(metrics, labels=LABELS):
    """Return the bits of the values and of the mean of each metric."""
    result = evaluate(metrics, labels)
    values = getattr(result, "values", np.empty((0, 0)))
    columns = np.ascontiguousarray(values.T) if values.shape[1] else [np.empty(0)] * len(metrics)
    return [(column.tobytes(), mean.hex()) for column, mean in zip(columns, result.means(), strict=True)]


GROUPS = sorted({(record.function_name, record.by_subtopic) for record in CATALOG.values()})


@pytest.mark.parametrize(("function", "by_subtopic"), GROUPS)
def test_values_of_a_parameter_in_one_call_are_those_alone(function, by_subtopic):
    """To the bit, in both orders and among all metrics; and each parameter of each metric changes a value."""
    every = {}
    for record in records_of(function):
        for parameter, metrics in list_metrics(record).items() if record.by_subtopic == by_subtopic else ():
            labels = LABELS.clip(0, 1) if parameter == "stop" else LABELS  # those that stop=labels takes
            alone = {metric: list_numbers([metric], labels)[0] for metric in metrics}
            assert len(set(alone.values())) > 1, (record.name, parameter)
            for order in (metrics, metrics[::-1]):
                assert list_numbers(order, labels) == [alone[metric] for metric in order]
            every |= alone if parameter != "stop" else {}
    if every:
        together = list_numbers(list(every))
        assert [metric for metric, numbers in zip(every, together, strict=True) if numbers != every[metric]] == []


def test_labels_below_a_threshold_are_as_if_they_were_0():
    """Values and means of each metric with `rel`, and of its aggregates, are those of labels that were cut before."""
    cut = np.where(LABELS >= 2, LABELS, 0)
    for record in records_of("evaluate"):
        if record.by_subtopic or "rel" not in (names := [parameter.name for parameter in record.parameters]):
            continue
        k = 4 if record.has_cutoff else None
        weights = CATALOG["GAUC"].parameters[0].choices if record.name == "GAUC" else (None,)
        metrics = [fn.Metric(record.name, k, **({"weight": weight} if weight else {})) for weight in weights]
        metrics += [metrics[0].aggregated("micro")] if record.has_micro_mean else []
        metrics += [metrics[0].aggregated(name) for name in ("adjusted", "over_chance") if record.chance]
        for metric in metrics:
            own = evaluate([metric(rel=2)])
            other = evaluate([metric], cut if "gain" in names else cut // 2)
            np.testing.assert_array_equal(own.values, other.values, err_msg=str(metric))
            assert own.means() == other.means(), metric

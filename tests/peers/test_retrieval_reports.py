"""
Public reports of wrong numbers, rebuilt: what each tool printed before and after its fix, and which setting gives it.

`retrieval_reports.json` holds what the tools printed. Fixes without a release have the number that the report needs.
"""

import json
from math import log2

import pytest
from recorded_data import DATA

import fastndcg as fn
from fastndcg.named_conventions import KINDS

PRINTED = json.loads((DATA / "peers" / "retrieval_reports.json").read_text(encoding="utf-8"))


def evaluate(relevant, retrieved, metric, convention):
    """Return the value of one query, which kernels and reference share."""
    labels = relevant if isinstance(relevant, dict) else set(relevant)
    given = ({"q": labels}, {"q": retrieved}, metric)
    (value,) = fn.evaluate(*given, convention=convention).values[0]
    assert fn.reference.evaluate(*given, convention=convention).values[0, 0] == pytest.approx(value)
    return value


def printed(report, version):
    """Return the numbers that a version printed for a report, by metric."""
    return [one for one in PRINTED if one["report"] == report and one["version"] == version]


def test_explain_against_each_tool():
    """Each convention of a tool explains the difference from the default, down to its value."""
    tools = [name for name, kind in KINDS.items() if kind == "retrieval"]
    assert len(tools) == 9
    for name in tools:
        shown = fn.explain({"q": {"a": 1, "b": 2}}, {"q": ["x", "b"]}, "ndcg@3", against=name)
        assert shown.against.convention.name == name
        assert shown.against.value == evaluate({"a": 1, "b": 2}, ["x", "b"], "ndcg@3", name)
        assert shown.steps[-1].value == shown.against.value or shown.steps == ()


def test_mlflow_24541():
    """One of five relevant documents, and nothing else, is 1.0 to MLflow. The report needs 0.339."""
    (one,) = printed("mlflow#24541", "3.18.0")
    assert one["printed"] == 1.0
    asked = evaluate(one["relevant"], one["retrieved"], "ndcg@5", "mlflow(ideal=judged)")
    assert asked == pytest.approx(1 / sum(1 / log2(r + 1) for r in range(1, 6)), rel=1e-15)
    assert round(asked, 3) == 0.339
    assert asked == evaluate(one["relevant"], one["retrieved"], "ndcg@5", "default")
    assert fn.explain({"q": set(one["relevant"])}, {"q": ["d1"]}, "ndcg@5", against="mlflow").why() == ("ideal",)


def test_mlflow_25965():
    """The second retrieval of a was the document a_bc574ae_2 before 3.17.0, and is none that is relevant since."""
    (before,), (after,) = (printed("mlflow#25965", version) for version in ("3.16.1", "3.18.0"))
    value = evaluate(before["relevant"], ["a", "a_bc574ae_2", "z"], before["metric"], "mlflow")
    assert before["printed"] == pytest.approx(value, rel=1e-6) == pytest.approx(1 / log2(3), rel=1e-6)
    assert evaluate(after["relevant"], ["a", "a again", "z"], after["metric"], "mlflow") == after["printed"] == 0.0


def test_elasticsearch_154362():
    """Five documents rated 3: one of them alone is 1.0, all at ranks 6 to 10 are 0.54; by the fix 0.34 and 0.54."""
    rated = dict.fromkeys(("a", "b", "c", "d", "e"), 3)
    others = [f"other {i}" for i in range(5)]
    for retrieved, before, after in ((["a"], 1.0, 0.34), (others + list(rated), 0.54, 0.54)):
        for convention, number in (("elasticsearch", before), ("elasticsearch(ideal=judged)", after)):
            assert round(evaluate(rated, retrieved, "ndcg@10", convention), 2) == number

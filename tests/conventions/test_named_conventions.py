"""The named conventions: what they print, their options, and the bugs that they name and do not copy."""

import math

import golden_records
import pytest

import fastndcg as fn
from fastndcg.errors import UnknownMetricError
from fastndcg.named_conventions import FIELDS, parse_convention

BUGS = [
    pytest.param(convention, bug, id=f"{name}-{bug.what[:40]}")
    for name, convention in fn.conventions.items()
    for bug in convention.bugs
]


def test_convention_print_shows_every_field():
    shown = str(fn.conventions["lightgbm"])
    lines = {line.split()[0]: line.split()[1:] for line in shown.splitlines()[2 : 2 + len(FIELDS)]}
    assert list(lines) == list(FIELDS)
    assert lines["ties"] == ["input", "(default:", "average)"]
    assert lines["gain"] == ["[0,1,3,…,1073741823]", "of", "31", "(default:", "linear)"]
    assert lines["discount"] == ["log2"]
    assert shown.startswith("lightgbm: LightGBM 4.7.0\n  src/metric/dcg_calculator.cpp:122")
    assert "  option label_gain=0,1,2,3: lightgbm(gain=[0,1,2,3])" in shown
    assert "  not copied: a query without relevant documents adds its 1 without its weight" in shown


def test_convention_default_has_first_choices():
    default = fn.conventions["default"]
    assert default.choices() == {name: field.choices[0] for name, field in FIELDS.items()}
    assert "(default:" not in str(default)
    assert f"{default}" == default.name == "default"


def test_convention_differences():
    """The difference of two conventions names the changed fields with the choices of the first convention."""
    plain, minus = fn.conventions["xgboost"], fn.conventions["xgboost_minus"]
    assert plain.difference(minus) == {"undefined": 1}
    assert minus.difference(plain) == {"undefined": 0}
    assert plain.difference(plain) == {}


@pytest.mark.parametrize("name", fn.conventions)
def test_options_are_conventions_or_metrics(name):
    for theirs, ours in fn.conventions[name].options:
        try:
            assert fn.Metric.parse(ours)
        except UnknownMetricError:
            assert parse_convention(ours) != fn.conventions[name], theirs


@pytest.mark.parametrize(("convention", "bug"), BUGS)
def test_bugs_are_not_copied(convention, bug):
    assert bug.what
    assert bug.source
    assert bool(bug.labels) != bool(bug.case)
    if not bug.labels:
        return
    convention = convention.replace(negative_labels="zero") if "negative" in bug.what else convention
    offsets = [0]
    for labels in bug.labels:
        offsets.append(offsets[-1] + len(labels))
    labels, scores = ([value for query in queries for value in query] for queries in (bug.labels, bug.scores))
    ids = list(range(len(labels)))[::-1]
    rankings = fn.Rankings(labels, scores, offsets, tie_keys=ids)
    (mean,) = fn.reference.evaluate(rankings, metrics=bug.metric, convention=convention).means(bug.weights)
    assert mean == pytest.approx(float(bug.ours), rel=1e-9, nan_ok=True)
    assert bug.theirs != bug.ours


@pytest.mark.parametrize(("convention", "bug"), [param for param in BUGS if param.values[1].golden])
def test_bugs_were_seen(convention, bug):
    """Each listed bug names a recorded case that contains the wrong number of the other program."""
    peers = {
        peer
        for peer, name in golden_records.CONVENTIONS.items()
        if name.startswith(convention.name) or convention.name.startswith(name)
    }
    found = [one for one in golden_records.every_record() if one["name"] == bug.golden and one["peer"] in peers]
    assert found
    if isinstance(bug.theirs, float):
        numbers = [value for one in found for value in [one["value"], *(one["per_query"] or {}).values()]]
        assert any(math.isclose(float(value), bug.theirs, rel_tol=1e-6) for value in numbers if is_number(value))


def is_number(value):
    return isinstance(value, int | float)

"""Fused runs equal the slow reference, for every method, normalisation and choice of a convention."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import examples
from twins import fusion as reference

import fastndcg as fn
from fastndcg.fusion.catalog import FUSION_METHODS, NORMALIZATIONS
from fastndcg.fusion.conventions import CHOICES, parse_fusion_convention
from fastndcg.fusion.fuse import fuse_joined
from fastndcg.fusion.joined_runs import join_runs
from fastndcg.fusion.methods import FusionMethod, apply_method
from fastndcg.fusion.normalization import normalize, parse_norm
from fastndcg.parsing import format_call

DOCUMENTS = [f"d{number}" for number in range(9)]
SCORES = st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0, 7.5])
ROWS = st.dictionaries(st.sampled_from(DOCUMENTS), SCORES, max_size=8)


@st.composite
def norms(draw):
    name = draw(st.sampled_from(list(NORMALIZATIONS)))
    lower, upper = sorted(draw(st.lists(st.sampled_from([-3.0, -0.5, 0.1, 1.0, 5.0]), min_size=2, max_size=2)))
    bounds = {}
    if name == "min_max" and lower < upper:
        for side, bound in (("lower", lower), ("upper", upper)):
            if draw(st.booleans()):
                bounds |= {side: bound, f"{side}_mode": draw(st.sampled_from(["apply", "clip", "ignore"]))}
    return format_call(name, bounds)


NORMS = norms()


@st.composite
def fusions(draw):
    n_runs = draw(st.integers(2, 4))
    queries = draw(st.lists(st.sampled_from(["q1", "q2", "q3"]), min_size=1, max_size=3, unique=True))
    runs = [{query: draw(ROWS) for query in queries} for _ in range(n_runs)]
    record = draw(st.sampled_from(list(FUSION_METHODS.values())))
    arguments = {}
    if "norm" in [parameter.name for parameter in record.parameters]:
        arguments["norm"] = draw(NORMS)
        if draw(st.booleans()):
            arguments["norms"] = draw(st.lists(NORMS, min_size=n_runs, max_size=n_runs))
    method = FusionMethod.make(record.name, **arguments)
    choices = {field: draw(st.sampled_from(values)) for field, values in CHOICES.items() if field != "queries"}
    weights = None
    if record.is_weighted:
        weights = draw(st.lists(st.sampled_from([0.0, 0.3, 1.0, 2.5]), min_size=n_runs, max_size=n_runs).filter(any))
    absent = draw(st.sampled_from([None, "zero", "minimum", "mean", "skip"])) if record.points != "ranks" else None
    size = draw(st.integers(1, 12)) if record.name != "segfuse" else 10
    table = st.lists(st.sampled_from([0.1, 0.25, 0.5]), min_size=size, max_size=size)
    tables = [draw(table) for _ in range(n_runs)] if record.needs_training else []
    return runs, method, fn.fusion_conventions["default"].replace(**choices), weights, absent, tables


NOTHING = (
    [{"q1": {}}, {"q1": {}}], FusionMethod.make("min", norm="borda"), fn.fusion_conventions["default"], None, None, [],
)  # fmt: skip
SKIPPED_MEAN = (
    [{"q1": {}}, {"q1": {"d0": -2.0}}], FusionMethod.make("arithmetic_mean"), fn.fusion_conventions["default"],
    [0.3, 0.3], "skip", [],
)  # fmt: skip
MEAN_OF_Z_SCORES = (
    [{"q2": {"d0": -2.0, "d4": -0.5}}, {"q2": {"d0": -2.0, "d1": -2.0, "d2": -2.0, "d3": 0.0, "d5": -2.0}}],
    FusionMethod.make("geometric_mean", norm="z_score"), fn.fusion_conventions["default"], [0.3, 0.3], "mean", [],
)  # fmt: skip
TABLE = [0.1] * 10
SEGMENTS_WITHOUT_DOCUMENTS = (
    [{"q1": {}}, {"q1": {"d0": -2.0}}], FusionMethod.make("segfuse", norm="borda"), fn.fusion_conventions["default"],
    None, None, [TABLE, TABLE],
)  # fmt: skip


@examples(400)
@example(NOTHING)
@example(SKIPPED_MEAN)
@example(MEAN_OF_Z_SCORES)
@example(SEGMENTS_WITHOUT_DOCUMENTS)
@given(fusions())
def test_fused_scores_equal_the_reference(case):
    runs, method, convention, weights, absent, tables = case
    names = [str(number) for number in range(len(runs))]
    own_norms = apply_method(method, convention, names).norms or None
    learned = [row[:1] if method.name == "mapfuse" else row for row in tables]  # which has one number
    expected = reference.fuse(runs, method, convention, weights, absent, learned, own_norms)
    rel = 1e-11 if convention.precision == "float64" else 1e-5
    fused = fuse_dicts(runs, method, convention, weights, absent, tables)
    for query, row in expected.items():
        own = fused.get(query, {})
        assert own == pytest.approx(row, rel=rel, abs=0.1 * rel)
        assert [own[document] for document in own] == sorted(own.values(), reverse=True)
        if list(own.values()) == list(row.values()):
            assert list(own) == list(row)


@pytest.mark.parametrize("name", fn.fusion_conventions)
def test_absent_documents_equal_the_reference_under_each_convention(name):
    """With each normalisation and treatment."""
    runs = [{"q": {"a": 3.0, "b": 2.0, "c": -1.0}}, {"q": {"b": 3.5, "c": 2.0, "d": -2.5, "e": 1.0}}]
    convention = fn.fusion_conventions[name]
    for norm in NORMALIZATIONS:
        for absent in ("zero", "minimum", "mean", "skip"):
            method = FusionMethod.make("wsum", norm=norm)
            (expected,) = reference.fuse(runs, method, convention, [0.3, 0.7], absent).values()
            (own,) = fuse_dicts(runs, method, convention, [0.3, 0.7], absent, []).values()
            assert own == pytest.approx(expected, rel=1e-5), (norm, absent)


@examples(100)
@given(
    ROWS.filter(bool),
    st.sampled_from(["min_max", "min_max_inverted", "sum", "z_score", "l2", "dbsf"]),
    st.sampled_from([1e307, 1e200, 1e120, 1e-140, 1e-200, 1e-310]),
    st.sampled_from(["default", "ranx", "default(equal_within=1e-6)", "default(lowest_score=0.001,deviation=sample)"]),
)
def test_normalised_scores_of_any_size_equal_the_reference(row, norm, unit, name):
    convention = parse_fusion_convention(name)
    scores = {document: score * unit for document, score in row.items()}
    joined = join_runs([fn.Run({"q": scores})] * 2, ["a", "b"], convention)
    own = normalize(joined, [parse_norm(norm)] * 2, convention, ["zero"] * 2)[0]
    expected = reference.normalize(scores, parse_norm(norm), convention)
    assert own.tolist() == pytest.approx(list(expected.values()), rel=1e-11, abs=1e-12)


def fuse_dicts(runs, method, convention, weights, absent, tables):
    import numpy as np

    names = [str(number) for number in range(len(runs))]
    joined = join_runs(list(map(fn.Run, runs)), names, convention.replace(queries="union"), threads=2)
    learned = np.array(tables) if tables else None
    numbers = None if weights is None else np.array(weights)
    applied = apply_method(method, convention, names, absent=absent, tables=learned)
    return fuse_joined(joined, applied, numbers).to_dict()

"""Fusion conventions give the numbers that engines publish in their unit tests and documentation."""

import pytest

import fastndcg as fn
from fastndcg.fusion.conventions import CHOICES, FIELDS, parse_fusion_convention

FLOAT32 = 1e-6


def make_runs(*columns):
    return [{"q": dict(enumerate(map(float, scores)))} if scores else {"q0": {0: 1.0}} for scores in columns]


@pytest.mark.parametrize(("weights", "columns", "expected", "order"), [
    ([0.5, 0.5], [[1, 2, 3], [0, 1, 2]], [1, 0.5, 0], [2, 1, 0]),
    ([0.5, 0.5], [[0, 2, 0.1], [0, 0.2, 2]], [0.55, 0.525, 0], [1, 2, 0]),
    ([0.75, 0.25], [[0.5, 0.5, 0], [0, 0.01, 0.001]], [1, 0.75 + 0, 0.025], [1, 0, 2]),
    ([0.75, 0.25], [[1], []], [0.75], [0]), ([0.75, 0.25], [[], [1]], [0.25], [0]),
    ([0.75, 0.25], [[1, 2], []], [0.75, 0], [1, 0]), ([0.75, 0.25], [[1, 1], [1, 2]], [1, 0.75], [1, 0]),
    ([0.75, 0.25], [[1, 2, 3, 4], [1, 2, 3]], [0.75, 0.75, 0.375, 0], [3, 2, 1, 0]),
    ([0.75, 0.25, 0.1], [[1, 2, 3, 4], [1, 2, 3], [4, 5]], [0.75, 0.75, 0.475, 0], [3, 2, 1, 0]),
])  # fmt: skip
def test_weaviate_relative_score_fusion(weights, columns, expected, order):
    """hybrid_fusion_test.go, TestFusionRelativeScore: equal scores get the weight, ties go by the last score."""
    fused = fn.fuse(make_runs(*columns), "wsum(norm=min_max)", weights=weights, fusion_convention="weaviate")
    row = fused.to_dict()["q"]
    assert list(row.values()) == pytest.approx(expected, abs=1e-4)
    assert list(row) == order


def test_weaviate_ranked_fusion_counts_from_0():
    """hybrid_fusion.go: w / (60 + i), i from 0."""
    row = fn.fuse(make_runs([3, 2], [1, 2]), "rrf", weights=[0.5, 0.5], fusion_convention="weaviate").to_dict()["q"]
    assert row == {0: 0.5 / 60 + 0.5 / 61, 1: 0.5 / 61 + 0.5 / 60}


def test_qdrant_reciprocal_rank_fusion():
    """reciprocal_rank_fusion.rs, test_rrf_scoring: 1 / (2 + position), position from 0."""
    runs = [{"q": {2: 0.9, 1: 0.8}}, {"q": {1: 0.7, 2: 0.6, 3: 0.5}}, {"q": {5: 0.9, 3: 0.5, 1: 0.4}}]
    row = fn.fuse(runs, "rrf", fusion_convention="qdrant").to_dict()["q"]
    assert row == pytest.approx({1: 1.0833334, 2: 0.8333334, 3: 0.5833334, 5: 0.5}, rel=FLOAT32)
    assert list(row) == [1, 2, 3, 5]


def test_qdrant_weights_divide_ranks():
    """position_score: 1 / ((position + 1) / weight + k - 1). A weight of 3 makes ranks 3 times as good."""
    row = fn.fuse([{"q": {1: 2.0, 2: 1.0}}, {"q": {2: 1.0}}], "rrf", weights=[3, 1], fusion_convention="qdrant")
    assert row.to_dict()["q"] == {1: 1 / (1 / 3 + 1), 2: 1 / (2 / 3 + 1) + 1 / 2}


def test_qdrant_distribution_based_fusion():
    """score_fusion.rs: single and equal scores get 0.5, others their place between mean - 3 s and mean + 3 s."""
    row = fn.fuse([{"q": {1: 1.0, 2: 3.0}}, {"q": {2: 9.0}}], "sum(norm=dbsf)", fusion_convention="qdrant").to_dict()[
        "q"
    ]
    deviation = 2**0.5  # of 1 and 3 as a sample
    assert row == pytest.approx(
        {1: (3 * deviation - 1) / (6 * deviation), 2: (3 * deviation + 1) / (6 * deviation) + 0.5}
    )


def test_points_of_the_first_rank():
    """Azure's sample response of hybrid search has 0.03333333507180214 for the first of two lists."""
    from_1 = dict.fromkeys(("elasticsearch", "opensearch", "cormack2009", "trectools"), 2 / 61)
    for name, points in (from_1 | {"azure": 0.03333333507180214}).items():
        row = fn.fuse(make_runs([3, 2], [3, 2]), "rrf", fusion_convention=name).to_dict()["q"]
        assert row[0] == pytest.approx(points, rel=FLOAT32)


@pytest.mark.parametrize("name", fn.fusion_conventions)
def test_named_convention_has_a_source_and_methods_that_parse(name):
    from fastndcg.fusion.methods import FusionMethod

    convention = fn.fusion_conventions[name]
    assert convention.source
    assert bool(convention.versions) == (name not in ("default", "cormack2009"))  # definitions, not programs
    assert (name == "default") == (not convention.methods)
    assert all(FusionMethod.parse(ours) for _, ours in convention.methods)
    assert parse_fusion_convention(str(convention)) is convention


@pytest.mark.parametrize("field", FIELDS)
def test_every_choice_of_a_field_can_be_replaced_and_parses_back(field):
    for choice in CHOICES[field]:
        convention = fn.fusion_conventions["ranx"].replace(**{field: choice})
        assert getattr(convention, field) == choice
        assert parse_fusion_convention(str(convention)) == convention


@pytest.mark.parametrize(("text", "message"), [
    ("weavate", "Did you mean 'weaviate'"), ("default(tie=input)", "Did you mean 'ties'"),
    ("default(ties=last)", "`ties` of a fusion convention must be one of"),
    ("default(rrf_k=-1)", "or a finite number of 0 or more"), ("default@10", "must have no cutoff"),
])  # fmt: skip
def test_wrong_conventions_are_refused(text, message):
    with pytest.raises(fn.InvalidInputError, match=message):
        parse_fusion_convention(text)
    with pytest.raises(fn.InvalidTypeError, match="must be a name"):
        parse_fusion_convention(7)

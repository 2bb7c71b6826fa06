"""Fusion conventions give the numbers that engines publish in their unit tests and documentation."""

import pytest
from refusals import refuses

import fastndcg as fn
from fastndcg.fusion.conventions import CHOICES, FIELDS, parse_fusion_convention

HALVES, QUARTERS, DEVIATION = [0.5, 0.5], [0.75, 0.25], 2**0.5  # of 1 and 3 as a sample
FROM_1 = {0: 2 / 61, 1: 2 / 62}  # ranks from 1
# convention, method, weights, the scores of each run, fused scores in their order
PUBLISHED = [
    # hybrid_fusion_test.go, TestFusionRelativeScore: equal scores get the weight, ties go by the last score
    ("weaviate", "wsum(norm=min_max)", HALVES, [[1, 2, 3], [0, 1, 2]], {2: 1, 1: 0.5, 0: 0}),
    ("weaviate", "wsum(norm=min_max)", HALVES, [[0, 2, 0.1], [0, 0.2, 2]], {1: 0.55, 2: 0.525, 0: 0}),
    ("weaviate", "wsum(norm=min_max)", QUARTERS, [[0.5, 0.5, 0], [0, 0.01, 0.001]], {1: 1, 0: 0.75 + 0, 2: 0.025}),
    ("weaviate", "wsum(norm=min_max)", QUARTERS, [[1], []], {0: 0.75}),
    ("weaviate", "wsum(norm=min_max)", QUARTERS, [[], [1]], {0: 0.25}),
    ("weaviate", "wsum(norm=min_max)", QUARTERS, [[1, 2], []], {1: 0.75, 0: 0}),
    ("weaviate", "wsum(norm=min_max)", QUARTERS, [[1, 1], [1, 2]], {1: 1, 0: 0.75}),
    ("weaviate", "wsum(norm=min_max)", QUARTERS, [[1, 2, 3, 4], [1, 2, 3]], {3: 0.75, 2: 0.75, 1: 0.375, 0: 0}),
    ("weaviate", "wsum(norm=min_max)", [0.75, 0.25, 0.1], [[1, 2, 3, 4], [1, 2, 3], [4, 5]],
     {3: 0.75, 2: 0.75, 1: 0.475, 0: 0}),
    # hybrid_fusion.go: w / (60 + i), i from 0
    ("weaviate", "rrf", QUARTERS, [[3, 2], [1, 2]], {0: 0.75 / 60 + 0.25 / 61, 1: 0.75 / 61 + 0.25 / 60}),
    # reciprocal_rank_fusion.rs, test_rrf_scoring: 1 / (2 + position), position from 0
    ("qdrant", "rrf", None, [{2: 0.9, 1: 0.8}, {1: 0.7, 2: 0.6, 3: 0.5}, {5: 0.9, 3: 0.5, 1: 0.4}],
     {1: 1.0833334, 2: 0.8333334, 3: 0.5833334, 5: 0.5}),
    # position_score: 1 / ((position + 1) / weight + k - 1): a weight of 3 makes ranks 3 times as good
    ("qdrant", "rrf", [3, 1], [{1: 2, 2: 1}, {2: 1}], {2: 1 / (2 / 3 + 1) + 1 / 2, 1: 1 / (1 / 3 + 1)}),
    # score_fusion.rs: single and equal scores get 0.5, others their place between mean - 3 s and mean + 3 s
    ("qdrant", "sum(norm=dbsf)", None, [{1: 1, 2: 3}, {2: 9}],
     {2: (3 * DEVIATION + 1) / (6 * DEVIATION) + 0.5, 1: (3 * DEVIATION - 1) / (6 * DEVIATION)}),
    # the sample response of hybrid search in Azure's documentation
    ("azure", "rrf", None, [[3, 2], [3, 2]], {0: 0.03333333507180214, 1: 2 / 61}),
    *((name, "rrf", None, [[3, 2], [3, 2]], FROM_1)
      for name in ("elasticsearch", "opensearch", "cormack2009", "trectools")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "method", "weights", "runs", "expected"), PUBLISHED)
def test_fused_scores_are_the_published_ones(name, method, weights, runs, expected):
    rows = [dict(enumerate(row)) if isinstance(row, list) else row for row in runs]
    given = [{"q": row} if row else {"p": {0: 1}} for row in rows]
    fused = fn.fuse(given, method, weights=weights, fusion_convention=name).to_dict()["q"]
    assert fused == pytest.approx(expected, rel=1e-14 if name in ("weaviate", "cormack2009", "trectools") else 1e-6)
    assert list(fused) == list(expected)


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


test_wrong_conventions_are_refused = refuses(parse_fusion_convention, [
    ("weavate", "Did you mean 'weaviate'"), ("default(tie=input)", "Did you mean 'ties'"),
    ("default(ties=last)", "`ties` of a fusion convention must be one of"),
    ("default(rrf_k=-1)", "or a finite number of 0 or more"), ("default@10", "must have no cutoff"),
    (7, "must be a name", fn.InvalidTypeError),
])  # fmt: skip

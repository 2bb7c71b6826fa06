"""`FusedRun.explain`: what each run gives to a document, and that it adds up to the fused score."""

import math
import pickle

import pytest
from fusion_cases import draw_runs

import fastndcg as fn
from fastndcg.errors import InvalidInputError
from fastndcg.fusion.catalog import FUSION_METHODS

ADDS_NOT = ("min", "max", "med", "geometric_mean", "harmonic_mean", "condorcet", "wcondorcet")


@pytest.mark.parametrize("convention", ["default(queries=union)", "opensearch", "qdrant"])
@pytest.mark.parametrize("name", [name for name, record in FUSION_METHODS.items() if not record.needs_training])
def test_points_add_up_to_the_fused_score(name, convention):
    _, runs = draw_runs(7, n_queries=3, n_documents=8, n_runs=3)
    del runs["run2"]["q1"]
    record = FUSION_METHODS[name]
    method = f"{name}(norm=min_max)" if record.points == "scores" else name
    weights = [0.3, 1.2, 2.0] if record.is_weighted else None
    fused = fn.fuse(runs, method, weights=weights, fusion_convention=convention)
    for query, row in fused.to_dict().items():
        for rank, (document, score) in enumerate(row.items(), start=1):
            table = fused.explain(query, document)
            *shares, total = table
            assert (total.run, total.rank, total.points) == ("fused", rank, score)
            assert [share.run for share in shares] == list(runs)
            for share, run in zip(shares, runs.values(), strict=True):
                given = run.get(query, {}).get(document)
                assert share.score is given is None or math.isclose(share.score, given, rel_tol=1e-7)
                assert (share.rank is None) == (share.score is None)
            if name not in ADDS_NOT:
                assert math.fsum(share.points or 0 for share in shares) == pytest.approx(score, rel=1e-6, abs=1e-9)
                assert "the fused score is the sum of the points" in table.notes
            else:
                assert f"the fused score is {record.formula}" in table.notes


def test_the_parts_of_a_weighted_sum_by_hand():
    """BM25 is normalised, (9 - 4) / (12 - 4) · 0.3, the other run is not, 0.9 · 0.7. An absent document gets 0."""
    runs = {"bm25": {"q": {"a": 12.0, "b": 9.0, "c": 4.0}}, "dense": {"q": {"b": 0.9, "d": 0.8}}}
    fused = fn.fuse(runs, "wsum(norms={bm25:min_max,dense:none})", weights=[0.3, 0.7])
    assert [tuple(row) for row in fused.explain("q", "b")] == [
        ("bm25", 2, 9.0, 5 / 8, 0.3, 5 / 8 * 0.3), ("dense", 1, 0.9, 0.9, 0.7, 0.9 * 0.7),
        ("fused", 1, None, None, None, 5 / 8 * 0.3 + 0.9 * 0.7),
    ]  # fmt: skip
    assert fused.explain("q", "a")[1] == ("dense", None, None, 0.0, 0.7, 0.0)
    frame = fused.explain("q", "a").to_pandas()
    assert frame["points"].tolist() == [0.3, 0.0, 0.3]


def test_tied_documents_have_their_mean_rank_and_cut_ones_a_note():
    """Two documents share the ranks 1 and 2. Below `depth` a document counts as absent, and a note says so."""
    runs = [{"q": {"a": 1.0, "b": 1.0}}, {"q": {"b": 2.0, "c": 1.0}}]
    assert fn.fuse(runs).explain("q", "a")[0].rank == 1.5
    table = fn.fuse(runs, depth=1).explain("q", "b")
    assert table[0].rank is None
    assert "runs whose document is below the depth of 1: 1" in table.notes


def test_a_copy_explains_and_a_part_does_not():
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "c": 1.0}}]
    fused = fn.fuse(runs, "rrf(k=0)")
    for copy in (pickle.loads(pickle.dumps(fused)), fused.top(1)):
        assert str(copy.explain("q", "b")) == str(fused.explain("q", "b"))
    with pytest.raises(InvalidInputError, match="a part of a fused run lacks"):
        fused.filter(["q"]).explain("q", "b")
    with pytest.raises(InvalidInputError, match="`query` must be in the fused run, but 'qq' is not"):
        fused.explain("qq", "b")
    with pytest.raises(InvalidInputError, match="`document` must be in query q, but 'z' is not"):
        fused.explain("q", "z")
    with pytest.raises(fn.InvalidTypeError, match="which are texts, not 1"):
        fused.explain(1, "b")

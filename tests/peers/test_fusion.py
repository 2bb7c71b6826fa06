"""Fused runs equal what ranx and trectools have fused from the same runs: tests/data/peers/fusion.json."""

import json

import pytest
from recorded_data import DATA

import fastndcg as fn
from fastndcg.fusion.catalog import FUSION_METHODS
from fastndcg.fusion.methods import FusionMethod

RECORD = json.loads((DATA / "peers" / "fusion.json").read_text())
WEIGHTS = {"a": 0.2, "b": 0.5, "c": 0.3}
WEIGHTED = ("wsum", "mixed", "wmnz", "wborda", "wcondorcet")


def name_runs(runs):
    return dict(zip(WEIGHTS, runs, strict=False))


@pytest.mark.parametrize("text", RECORD["ranx"]["fused"])
def test_fused_scores_equal_those_of_ranx(text):
    """Every method and normalisation of ranx, without ties, to 1e-9."""
    method = FusionMethod.parse(text)
    runs = name_runs(RECORD["complete_runs" if method.record.points == "ranks" else "runs"])
    train = (RECORD["qrels"], runs) if method.record.needs_training else None
    weights = WEIGHTS if method.name in WEIGHTED else None
    fused = fn.fuse(runs, text, weights=weights, train=train, fusion_convention="ranx")
    check_equal(fused, RECORD["ranx"]["fused"][text])


@pytest.mark.parametrize("text", RECORD["trectools"]["fused"])
def test_fused_scores_of_two_runs_equal_those_of_trectools(text):
    runs = name_runs(RECORD["runs"][:2])
    fused = fn.fuse(runs, text, fusion_convention="trectools")
    check_equal(fused, RECORD["trectools"]["fused"][text])


def test_record_holds_every_method_that_the_catalogue_says_ranx_has():
    with_twin = {name for name, record in FUSION_METHODS.items() if any(peer == "ranx" for peer, _ in record.peers)}
    assert {FusionMethod.parse(text).name for text in RECORD["ranx"]["fused"]} == with_twin


def check_equal(fused, expected):
    """Compare fused scores, whose documents may tie."""
    rows = fused.to_dict()
    assert rows.keys() == expected.keys()
    for query, row in expected.items():
        assert rows[query] == pytest.approx(row, rel=1e-9, abs=1e-9)

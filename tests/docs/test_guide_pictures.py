"""The pictures of the guides show the library's values."""

import json
import re
from typing import get_args

import pytest

from fastndcg.choices import TiePolicy
from scripts.site import guide_pictures


def test_tie_picture_has_the_value_of_each_policy():
    """Each policy of `Convention` has a row with its nDCG@3, in light and in dark."""
    for theme in guide_pictures.TEXT:
        texts = re.findall(r">([^<>]+)</text>", "".join(guide_pictures.draw_ties(theme)))
        for policy in ("average", *guide_pictures.POLICIES):
            assert policy in texts
            assert f"{guide_pictures.compute_ndcg(policy):.4f}" in texts
    assert {"average", "mean_rank", *guide_pictures.POLICIES} == set(get_args(TiePolicy))  # nDCG has no mean_rank


def test_a_wrong_order_in_the_tie_picture_is_refused(monkeypatch):
    """An order that does not give the value of its policy raises an error."""
    monkeypatch.setitem(guide_pictures.POLICIES, "best", lambda document: guide_pictures.LABELS[document])
    with pytest.raises(ValueError, match="the picture's order of best"):
        guide_pictures.sort_documents("best")


def test_cutoff_picture_has_three_metrics():
    """The lines are nDCG, R and P at each cutoff, and R never falls."""
    lines = {line.name: line.y for line in guide_pictures.list_cutoff_lines()}
    assert set(lines) == {"nDCG", "R", "P"}
    assert lines["R"] == sorted(lines["R"])


def test_picture_of_times_has_each_ratio():
    """Each way and length of vectors has a bar with its multiple of the product, in light and in dark."""
    times = json.loads(guide_pictures.TIMES.read_text(encoding="utf-8"))["nanoseconds"]
    for theme in guide_pictures.TEXT:
        texts = re.findall(r">([^<>]+)</text>", "".join(guide_pictures.draw_times(theme)))
        for n_columns, own in times.items():
            assert f"d = {n_columns}" in texts
            for way, name in guide_pictures.WAYS.items():
                assert f"{own[way] / own['product']:.2f} ×" in texts
                assert name in texts

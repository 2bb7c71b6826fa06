"""The table of tie policies: an order that code does not know raises everywhere, and never gives other values."""

import numpy as np
import pytest
from scipy import sparse

import fastndcg as fn
from fastndcg.fusion.joined_runs import rank_run
from fastndcg.fusion.tuning import line_search
from fastndcg.inputs.table import Run
from fastndcg.integrations.spark.columns import check_ties
from fastndcg.named_conventions import fields
from fastndcg.named_conventions.ties import TIES, TiePolicy

LIKED = sparse.csr_array([[1, 0, 0], [0, 1, 1]])
TIED = np.ones((2, 3))


@pytest.fixture
def dice(monkeypatch):
    monkeypatch.setitem(TIES, "dice", TiePolicy("dice"))
    monkeypatch.setitem(fields.FIELDS, "ties", fields.FIELDS["ties"]._replace(choices=tuple(TIES)))
    record = fn.RR.record
    usual = record.ties
    object.__setattr__(record, "ties", (*usual, "dice"))
    yield fn.conventions["default"].with_fields(ties="dice", name="diced")
    object.__setattr__(record, "ties", usual)


WAYS = {
    "arrays": lambda ties: fn.evaluate([[1, 0, 0]], TIED[:1], "rr", convention=ties),
    "score matrix": lambda ties: fn.evaluate(LIKED, TIED, "rr", convention=ties),
    "counts": lambda ties: fn.evaluate(LIKED, fn.Embeddings(np.ones((2, 1)), np.ones((3, 1))), "rr", convention=ties),
    "pairs": lambda ties: fn.evaluate_pairs(LIKED, TIED, "rr", convention=ties),
    "reference": lambda ties: fn.reference.evaluate([[1, 0, 0]], TIED[:1], "rr", convention=ties),
    "explain": lambda ties: fn.explain([[1, 0, 0]], TIED[:1], "rr", query=0, convention=ties),
    "ranks of a run": lambda ties: rank_run(Run(["q", "q"], ["a", "b"], [1.0, 1.0]), ties.ties, 1),
    "Spark": lambda ties: check_ties(ties, None),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_unknown_order_raises(way, dice):
    """A policy that is in the table alone is an error wherever equal scores are ordered."""
    with pytest.raises(NotImplementedError, match="not by 'dice'"):
        WAYS[way](dice)


def test_lines_of_a_tuned_fusion_have_keys_of_known_orders_alone(dice):
    class Judged:
        convention = dice
        rankings = fn.Rankings([1, 0], [1.0, 1.0], [0, 2])

    with pytest.raises(NotImplementedError, match="not by 'dice'"):
        line_search._make_keys(Judged)


def test_choices_follow_the_table():
    from typing import get_args

    from fastndcg import choices
    from fastndcg.metrics.families.record import TIE_POLICIES, TIES_AND_MEAN_RANK

    assert tuple(TIES) == fields.CHOICES["ties"] == get_args(choices.TiePolicy) == TIES_AND_MEAN_RANK
    assert set(TIES) - set(TIE_POLICIES) == {"mean_rank"}
    assert {policy.orders for policy in TIES.values()} == {"group", "label", "input", "id"}

"""Assertions for your own tests: ``from fastndcg.testing import assert_not_worse``."""

from __future__ import annotations

from typing import Any

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.statistics.gate import Gate, gate


def assert_not_worse(
    truth: Any, baseline: Any, candidate: Any, metrics: Any = None, *, undecided: str = "pass", **options: Any
) -> Gate:
    """
    Raise an AssertionError if a candidate is worse than a baseline: see `fastndcg.gate`.

    Parameters
    ----------
    truth, baseline, candidate, metrics
        See `fastndcg.gate`. The baseline may be the path of a file that `Results.save` wrote.
    undecided : {'pass', 'fail'}
        What too few queries to tell count as. 'fail' takes proof that the candidate is not worse.
    **options
        Options of `fastndcg.gate`, such as ``margin="2%"`` or ``floors={"ndcg@10": 0.45}``.

    Returns
    -------
    Gate
        With the verdict 'pass' or 'undecided'.

    Raises
    ------
    AssertionError
        If the verdict is 'fail' or 'not comparable', or 'undecided' where that counts as 'fail'. The message is the
        gate's table.

    Examples
    --------
    >>> from fastndcg.testing import assert_not_worse
    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    >>> run = {"q1": {"a": 2, "c": 1}, "q2": {"b": 2, "c": 1}}
    >>> assert_not_worse(qrels, run, run, "ndcg@10", margin=0.01).verdict
    'pass'
    """
    if undecided not in ("pass", "fail"):
        raise InvalidInputError(f"`undecided` must be 'pass' or 'fail', got {shorten(undecided)}. Take one of them.")
    found = gate(truth, baseline, candidate, metrics, **options)
    accepted = ("pass", "undecided") if undecided == "pass" else ("pass",)
    if found.verdict not in accepted:
        raise AssertionError(str(found))
    return found

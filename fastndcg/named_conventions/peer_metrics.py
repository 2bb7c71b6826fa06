"""Metrics of a peer: their names there, and how their numbers relate to the metrics of this package."""

from __future__ import annotations

from typing import NamedTuple


class PeerMetric(NamedTuple):
    """
    A metric of this package that a peer has.

    `ours` is its text here, with the parameters and the cutoff that give the peer's number. `theirs` is its name there.
    `by` is the convention that gives the number, if it is not the convention of the record. `differs` says why no
    choice gives the number. `tied` says why no choice gives it for queries with ties between different labels.
    """

    ours: str
    theirs: str
    by: str = ""
    differs: str = ""
    tie_difference: str = ""

    @property
    def name(self) -> str:
        """The metric's name without parameters and cutoff."""
        return self.ours.partition("(")[0].partition("@")[0]


def same(*pairs: str, tie_difference: str = "") -> tuple[PeerMetric, ...]:
    """
    Return metrics with equal numbers, from texts of our name and the peer's name.

    >>> same("nDCG ndcg")
    (PeerMetric(ours='nDCG', theirs='ndcg', by='', differs='', tie_difference=''),)
    """
    names = (pair.partition(" ") for pair in pairs)
    return tuple(PeerMetric(ours, theirs, tie_difference=tie_difference) for ours, _, theirs in names)

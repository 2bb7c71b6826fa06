"""Patterns of judgments by subtopic, which the labels of rankings number."""

from __future__ import annotations

import numpy as np

from fastndcg.errors import Choice, InvalidInputError
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array
from fastndcg.runtime.pickling import Picklable


class Patterns(Picklable):
    """
    The distinct sets of judgments by subtopic.

    In rankings with patterns, a positive label is the number of a pattern. Pattern p has judged subtopics
    ``subtopics[offsets[p]:offsets[p + 1]]``, numbered from 0 in each query, with labels above 0 at the same places of
    `labels`. Pattern 0 is empty. A negative label is a plain label: the highest of a document without a positive one.

    Attributes
    ----------
    offsets : (n_patterns + 1,) int64 array
    subtopics : (n_judgments,) int32 array
    labels : (n_judgments,) float64 array
    highest : (n_patterns,) float64 array
        The highest label of each pattern, for metrics that take one label per document.
    n_subtopics : int
        The largest number of subtopics of a query.
    negative : str
        The place and the value of the first negative label, empty without one.
    """

    __slots__ = ("_relevant", "highest", "labels", "n_subtopics", "negative", "offsets", "subtopics")

    def __init__(self, offsets: Array, subtopics: Array, labels: Array, negative: str = "") -> None:
        self.negative = negative
        self.offsets = offsets
        self.subtopics = subtopics
        self.labels = labels
        self.n_subtopics = int(subtopics.max(initial=-1)) + 1
        self.highest = np.zeros(len(offsets) - 1)
        np.maximum.at(self.highest, np.repeat(np.arange(len(self)), np.diff(offsets)), labels)
        self._relevant: dict[float, tuple[Array, Array]] = {}

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Patterns: {len(self)} of {self.n_subtopics} subtopics at the most"

    def relevant(self, rel: float) -> tuple[Array, Array]:
        """Return the offsets and subtopics of the labels of at least `rel`."""
        entry = self._relevant.get(rel)
        if entry is None:
            is_relevant = self.labels >= rel
            offsets = np.concatenate([[0], np.cumsum(is_relevant)])[self.offsets]
            entry = self._relevant[rel] = offsets, self.subtopics[is_relevant]
            for array in entry:
                array.flags.writeable = False
        return entry

    def plain(self, labels: Array) -> Array:
        """Return the highest label of each document, given the numbers of patterns."""
        return np.where(labels < 0, labels, self.highest[np.maximum(labels, 0).astype("i8")])

    def judgments(self, label: float) -> tuple[tuple[int, float], ...]:
        """Return the subtopics and labels of the pattern that a label numbers."""
        pattern = int(max(label, 0))
        rows = slice(self.offsets[pattern], self.offsets[pattern + 1])
        return tuple(zip(self.subtopics[rows].tolist(), self.labels[rows].tolist(), strict=True))


def check_patterns(patterns: Patterns, convention: Convention) -> None:
    """Raise for negative labels if the convention forbids them. Patterns themselves hold no negative labels."""
    if patterns.negative and convention.negative_labels == "raise":
        raise InvalidInputError(
            f"labels must not be negative, but {patterns.negative}. Set it to 0, or take ",
            Choice("negative_labels", ["zero"]),
        )

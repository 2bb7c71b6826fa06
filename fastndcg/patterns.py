"""Judgments by subtopic: what the labels of rankings stand for where a document has more than one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Patterns:
    """
    The different judgments by subtopic that documents have.

    Where rankings have patterns, a label above 0 is the number of one. Pattern p has judged subtopics
    ``subtopics[offsets[p]:offsets[p + 1]]``, numbered from 0 in each query, with labels above 0 at the same places of
    `labels`; pattern 0 has none. A label below 0 is the highest of a document that has none above, and stands for
    itself.

    Attributes
    ----------
    offsets : (n_patterns + 1,) int64 array
    subtopics : (n_judgments,) int32 array
    labels : (n_judgments,) float64 array
    highest : (n_patterns,) float64 array
        The highest label of each pattern, which stands for the document where a metric takes one label.
    n_subtopics : int
        How many subtopics a query has at the most.
    negative : str
        Where the first label below 0 was given, and what it is; empty where there is none.
    """

    __slots__ = ("_relevant", "highest", "labels", "n_subtopics", "negative", "offsets", "subtopics")

    def __init__(self, offsets: Array, subtopics: Array, labels: Array, negative: str = "") -> None:
        self.negative = negative
        self.offsets, self.subtopics, self.labels = offsets, subtopics, labels
        self.n_subtopics = int(subtopics.max(initial=-1)) + 1
        self.highest = np.zeros(len(offsets) - 1)
        np.maximum.at(self.highest, np.repeat(np.arange(len(self)), np.diff(offsets)), labels)
        self._relevant: dict[float, tuple[Array, Array]] = {}

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Patterns: {len(self)} of {self.n_subtopics} subtopics at the most"

    def relevant(self, rel: float) -> tuple[Array, Array]:
        """Offsets and subtopics of the labels of at least `rel` alone."""
        found = self._relevant.get(rel)
        if found is None:
            kept = self.labels >= rel
            offsets = np.concatenate([[0], np.cumsum(kept)])[self.offsets]
            found = self._relevant[rel] = offsets, self.subtopics[kept]
            for array in found:
                array.flags.writeable = False
        return found

    def plain(self, labels: Array) -> Array:
        """The highest label of each document, by the numbers of their patterns."""
        return np.where(labels < 0, labels, self.highest[np.maximum(labels, 0).astype("i8")])

    def judgments(self, label: float) -> tuple[tuple[int, float], ...]:
        """Subtopics and labels of the pattern that a label is the number of."""
        pattern = int(max(label, 0))
        rows = slice(self.offsets[pattern], self.offsets[pattern + 1])
        return tuple(zip(self.subtopics[rows].tolist(), self.labels[rows].tolist(), strict=True))

"""An explanation as a value: one query's ranking with what each document adds, and the sum that gives the number."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from fastndcg.conventions import Convention
from fastndcg.conventions.value import short
from fastndcg.display import Rows, aligned, html_table
from fastndcg.metric import Metric
from fastndcg.texts import Value

MOST_ROWS = 50
NOTHING = "–"
SUMS_OF_GAINS = ("CG", "DCG", "IDCG", "nDCG", "RBP")  # of gain · discount, or one such sum over another


class Ranked(NamedTuple):
    """
    A document that a query ranks.

    `first` to `last` are the ranks that it may have: one, or those of its tie group where orders are averaged.
    `tie_group` counts the groups of equal score from 1 and is None for a document alone. `gain` and `discount`, its
    mean over the ranks within the cutoff, are None for metrics that do not add up their products. `contribution` is
    what the document adds to the value, given those ranked above; None where tied orders are too many to go through.
    """

    first: int
    last: int
    document: str
    score: float
    tie_group: int | None
    label: float | None
    gain: float | None
    discount: float | None
    contribution: float | None

    @property
    def rank(self) -> str:
        """The rank, or the first and the last that it may have."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


class Ideal(NamedTuple):
    """A document of the best possible order, and what it would add there; None if the order is too long."""

    document: str
    label: float
    gain: float | None
    contribution: float | None


class Step(NamedTuple):
    """
    A field in which two conventions differ, with both choices, and the value once it is replaced too.

    `value` is None where the metric cannot be evaluated half way; `matters` says whether the value changed.
    """

    field: str
    here: Value
    there: Value
    value: float | None
    matters: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """
    How a metric's value for one query comes about.

    Attributes
    ----------
    metric : Metric
    convention : Convention
    query : str
        What messages call it.
    value : float
        As `evaluate` gives it; NaN where the metric has none.
    base : float
        What the contributions of `ranking` are added to: the value if every document ranked had label 0.
    ranking : tuple of Ranked
        Every document ranked, best first.
    ideal : tuple of Ideal
        The best possible order of the judged documents.
    arithmetic : tuple of str
        The sums that give the value.
    against : Explanation or None
        The same under the convention to compare with.
    steps : tuple of Step
        From the one convention to the other, one field after the other.

    Examples
    --------
    >>> explained = fn.explain([0, 2, 1], [0.3, 0.2, 0.1], "dcg@2", offsets=[0, 3], against="default(gain=exp2)")
    >>> round(explained.value, 5), round(explained.against.value, 5)  # 2/log2(3), (2² − 1)/log2(3)
    (1.26186, 1.89279)
    >>> explained.why()
    ('gain',)
    """

    metric: Metric
    convention: Convention
    query: str
    value: float
    base: float
    ranking: tuple[Ranked, ...]
    ideal: tuple[Ideal, ...]
    arithmetic: tuple[str, ...]
    against: Explanation | None = None
    steps: tuple[Step, ...] = ()

    def why(self) -> tuple[str, ...]:
        """The fields that make the difference to the other convention."""
        return tuple(step.field for step in self.steps if step.matters)

    def __str__(self) -> str:
        lines = ([head, *aligned(rows, n_left), *notes] for head, rows, n_left, notes in self._parts())
        return "\n".join(line for part in lines for line in part)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "".join(
            f"<p>{html.escape(head)}</p>{html_table(rows, n_left, notes)}"
            for head, rows, n_left, notes in self._parts()
        )

    def _parts(self) -> Iterator[tuple[str, Rows, int, list[str]]]:
        """What is shown: a head, a table whose first columns are flush left, and notes below it."""
        title = f"{self.metric} of {self.query}: {number(self.value)}"
        if self.against is None:
            notes = [*self.arithmetic, *self._formula(), *self._left_out()]
            yield f"{title}; convention {self.convention.name}, ties {self.convention.ties}", self._rows(), 2, notes
            return
        title = f"{title} with {self.convention.name}, {number(self.against.value)} with {self.against.convention.name}"
        sums = [f"{side.convention.name}: {line}" for side in (self, self.against) for line in side.arithmetic]
        yield title, self._rows_of_both(), 1, [*sums, *self._formula(), *self._left_out()]
        verdict = f"what makes the difference: {', '.join(self.why()) or 'nothing; the value is the same'}"
        yield "from the one to the other, field by field:", self._step_rows(), 1, [verdict]

    def _rows(self) -> Rows:
        has_gain = self._has_gain()
        gain, discount = (["gain"], ["gain", "discount"]) if has_gain else ([], [])
        head = ["rank", "document", "score", "tie", "label", *discount, "adds", "|"]
        rows = [[*head, "ideal", "label", *gain, "adds"]]
        blank_left, blank_right = [""] * (len(head) - 1), [""] * (3 + len(gain))
        for one, best in zip_longest(self._shown(), self._ideal_shown()):
            left = blank_left if one is None else [*_cells(one), *_gain_cells(one, has_gain), number(one.contribution)]
            right = blank_right
            if best is not None:
                gains = [number(best.gain)] if has_gain else []
                right = [best.document, number(best.label), *gains, number(best.contribution)]
            rows.append([*left, "|", *right])
        return rows

    def _rows_of_both(self) -> Rows:
        """A row a document, with its rank, gain, discount and contribution under both conventions."""
        other = self.against or self
        here, there = ({one.document: one for one in side.ranking} for side in (self, other))
        has_gain = self._has_gain()
        part = ["rank", *(["gain", "discount"] if has_gain else []), "adds"]
        rows = [["document", "score", "label", "|", *part, "|", *part]]
        for document in dict.fromkeys(one.document for side in (self, other) for one in side._shown()):
            sides = [here.get(document), there.get(document)]
            known = next(one for one in sides if one is not None)
            row = [document, number(known.score), number(known.label)]
            for one in sides:
                cells = [NOTHING] * len(part)
                if one is not None:
                    cells = [one.rank, *_gain_cells(one, has_gain), number(one.contribution)]
                row.extend(["|", *cells])
            rows.append(row)
        return rows

    def _step_rows(self) -> Rows:
        rows = [["field", self.convention.name, self.against.convention.name if self.against else "", str(self.metric)]]
        rows.append(["", "", "", number(self.value)])
        for step in self.steps:
            value = number(step.value) if step.matters or step.value is None else "the same"
            rows.append([step.field, short(step.here), short(step.there), value])
        return rows

    def _shown(self) -> tuple[Ranked, ...]:
        """The ranks that count, as far as a person reads."""
        deepest = len(self.ranking) if self.metric.k is None else self.metric.k
        return tuple(one for one in self.ranking if one.first <= deepest)[:MOST_ROWS]

    def _ideal_shown(self) -> tuple[Ideal, ...]:
        n_shown = max(len(self._shown()), 1)
        return tuple(one for one in self.ideal[: self.metric.k] if one.contribution or one.label)[:n_shown]

    def _has_gain(self) -> bool:
        gains = (*(one.gain for one in self.ranking), *(one.gain for one in self.ideal))
        return any(gain is not None for gain in gains)

    def _formula(self) -> list[str]:
        """The definition, where the arithmetic does not show it."""
        is_shown = self.metric.name in SUMS_OF_GAINS
        return [] if is_shown else [f"{self.metric}: {self.metric.record.formula}"]

    def _left_out(self) -> list[str]:
        rest = self.ranking[len(self._shown()) :]
        if not rest:
            return []
        n_labelled = sum(bool(one.label) for one in rest)
        return [f"documents not shown: {len(rest)}, with a label other than 0: {n_labelled}"]


def number(value: float | None) -> str:
    """A number as people read it: whole ones as they are, others with four digits."""
    if value is None:
        return NOTHING
    if math.isnan(value):
        return "nan"
    if math.isfinite(value) and value == int(value):
        return f"{value:.0f}" if abs(value) < 1e15 else f"{value:.4g}"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e6 else f"{value:.4g}"


def _cells(one: Ranked) -> list[str]:
    tie = "" if one.tie_group is None else str(one.tie_group)
    return [one.rank, one.document, number(one.score), tie, number(one.label)]


def _gain_cells(one: Ranked, has_gain: bool) -> list[str]:
    return [number(one.gain), number(one.discount)] if has_gain else []

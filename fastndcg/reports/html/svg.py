"""Small helpers for figures that are written as SVG: scales, ticks and paths."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fastndcg.runtime.escapes import html

NICE_STEPS = (1, 2, 2.5, 5, 10)


class Scale(NamedTuple):
    """A linear scale from numbers to places on the page. `low` and `high` differ."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Return the place of a number."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def choose_ticks(low: float, high: float, n_ticks: int = 5) -> list[float]:
    """
    Return round numbers between two numbers, about `n_ticks` of them.

    >>> choose_ticks(0.13, 0.62)
    [0.2, 0.3, 0.4, 0.5, 0.6]
    """
    rough = (high - low) / n_ticks
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in NICE_STEPS if nice * power >= rough * 0.8)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(place * step, 10) for place in range(first, last + 1)]


def write_path(points: Iterable[tuple[float, float]], is_closed: bool = False) -> str:
    """
    Return the path through points, with one decimal.

    >>> write_path([(0, 1.25), (2, 3)])
    'M0 1.2L2 3'
    """
    return "M" + "L".join(f"{_shorten(x)} {_shorten(y)}" for x, y in points) + ("Z" if is_closed else "")


def _shorten(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def write_text(x: float, y: float, text: str, anchor: str = "middle", style: str = "") -> str:
    """Return a text element. The text is escaped."""
    class_name = f' class="{style}"' if style else ""
    return f'<text x="{_shorten(x)}" y="{_shorten(y)}" text-anchor="{anchor}"{class_name}>{html(text)}</text>'


def write_svg(size: tuple[float, float], label: str, parts: Sequence[str], style: str = "") -> str:
    """Return an SVG element that is an image with a description for screen readers."""
    class_name = f' class="{style}"' if style else ""
    return (
        f'<svg viewBox="0 0 {size[0]:g} {size[1]:g}" role="img" aria-label="{html(label)}"{class_name}>'
        f"{''.join(parts)}</svg>"
    )

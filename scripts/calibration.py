"""
Compute the coverage of 95 % intervals: the tables of docs/how_it_works/statistics_calibration.md.

Usage: python scripts/calibration.py [REPEATS]

0/1 values and their differences are enumerated. Other values are drawn, 20,000 times a cell by default, which gives a
standard error of 0.15 %. A cell has the coverage of Student's t, that of the interval 'auto', and the mean width of
'auto' in multiples of that of t.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from fastndcg.statistics.intervals import (
    compute_clopper_pearson,
    compute_korn_graubard,
    compute_t_with_ends,
    compute_tango,
    find_exact_p_value,
)

LEVEL = 0.95
SIZES = (5, 10, 20, 30, 50, 100, 200)
PROBABILITIES = (0.5, 0.8, 0.9, 0.95, 0.98)
DIFFERENT = 0.2  # the share of queries in which two systems differ
COVERS = 0.935
GATE_SIZES = (5, 10, 20, 30, 50, 100)
MARGINS = (0.0, 0.02, 0.05, 0.1)
Array = np.ndarray[Any, Any]


class Cell(NamedTuple):
    """The coverage of t and of 'auto', their mean widths, and how often t is a point."""

    t: float
    auto: float
    t_width: float
    width: float
    t_is_point: float

    @property
    def ratio(self) -> float:
        """The mean width in multiples of that of t."""
        return self.width / self.t_width


def find_moments(values: Array, weights: Array | None = None) -> tuple[Array, Array, float]:
    """Return the mean of each row with its standard error (HC2), and the effective number of values."""
    n = values.shape[1]
    shares = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    means = values @ shares
    errors = np.sqrt((values - means[:, None]) ** 2 @ (shares**2 / (1 - shares)))
    return means, errors, float(1 / (shares**2).sum())


def measure(
    bounds: tuple[Array, Array], means: Array, errors: Array, n: float, truth: float, chances: Array | None = None
) -> Cell:
    """Return the cell of samples with these means and intervals, which have these chances (equal ones by default)."""
    half = stats.t.ppf((1 + LEVEL) / 2, n - 1) * errors
    chances = np.full(len(means), 1 / len(means)) if chances is None else chances
    covers = [(low <= truth + 1e-12) & (truth <= high + 1e-12) for low, high in ((means - half, means + half), bounds)]
    return Cell(
        float(chances @ covers[0]),
        float(chances @ covers[1]),
        float(chances @ (2 * half)),
        float(chances @ (bounds[1] - bounds[0])),
        float(chances @ (errors < 1e-12)),
    )


def enumerate_binary(n: int, p: float) -> Cell:
    """Return the cell of n values that are 1 with probability p."""
    hits = np.arange(n + 1.0)
    means = hits / n
    errors = np.sqrt(means * (1 - means) / (n - 1))
    return measure(
        compute_clopper_pearson(hits, n, LEVEL), means, errors, n, p, np.asarray(stats.binom.pmf(hits, n, p))
    )


def enumerate_differences(n: int, p: float, different: float = DIFFERENT) -> Cell:
    """Return the cell of n differences of 0/1 values. A query that differs is won with probability p."""
    wins, losses = (counts.ravel() for counts in np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0)))
    is_possible = wins + losses <= n
    wins, losses = wins[is_possible], losses[is_possible]
    means = (wins - losses) / n
    errors = np.sqrt(np.maximum((wins + losses) / n - means**2, 0) / (n - 1))
    counts = np.stack([wins, losses, n - wins - losses], axis=1)
    chances = stats.multinomial.pmf(counts, n, [different * p, different * (1 - p), 1 - different])
    truth = different * (2 * p - 1)
    return measure(compute_tango(wins, losses, n, LEVEL), means, errors, n, truth, np.asarray(chances))


def measure_gate(n: int, margin: float, alpha: float = 0.05) -> tuple[float, float]:
    """
    Return how often a gate is wrong about a candidate at the margin, with Tango's score and with the exact bound.

    All numbers of wins and losses are counted, at the worst of 200 shares of wins and of both wrong verdicts: to fail
    at −margin is to be surely better than margin with the systems exchanged.
    """
    wins, losses = (counts.ravel() for counts in np.indices((n + 1, n + 1)))
    wins, losses = wins[wins + losses <= n], losses[wins + losses <= n]
    counts = np.stack([wins, losses, n - wins - losses], 1)
    low = compute_tango(wins, losses, n, 1 - 2 * alpha)[0]
    errors = [0.0, 0.0]
    for truth in {-margin, margin}:
        is_exact = np.zeros(len(wins), bool)
        for count in range(n + 1):  # where some wins are enough, more are, too
            places = np.flatnonzero(losses == count)
            is_exact[places[find_first(places, count, wins, n, truth, alpha) :]] = True
        for turn in (1 - np.cos(np.linspace(0, np.pi, 202)[1:-1])) / 2:
            share = max(0.0, truth) + turn * (1 - abs(truth)) / 2
            chances = stats.multinomial.pmf(counts, n, [share, share - truth, 1 + truth - 2 * share])
            errors = [max(errors[0], chances[low > truth].sum()), max(errors[1], chances[is_exact].sum())]
    return errors[0], errors[1]


def find_first(places: Array, count: int, wins: Array, n: int, truth: float, alpha: float) -> int:
    """Return the first of the places whose wins are surely better than `truth`."""
    return bisect_left(places, True, key=lambda at: find_exact_p_value(count, int(wins[at]), n, -truth, alpha) <= alpha)


def draw_fifths(generator: np.random.Generator, n: int, p: float, repeats: int) -> tuple[Array, float]:
    """Draw shares of five, such as P@5."""
    return generator.binomial(5, p, (repeats, n)) / 5, p


def draw_mixture(generator: np.random.Generator, n: int, p: float, repeats: int) -> tuple[Array, float]:
    """Draw values like nDCG: some are 1, a few are 0, others are between."""
    ones = max(0.0, 2 * p - 1) * 0.8 + 0.05
    zeros = 0.05 if p < 0.9 else 0.01
    kinds = generator.random((repeats, n))
    between = generator.beta(4 * p, 4 * (1 - p), (repeats, n))
    values = np.where(kinds < ones, 1, np.where(kinds < ones + zeros, 0, between))
    return values, ones + (1 - ones - zeros) * p


def draw_differences(
    generator: np.random.Generator, n: int, p: float, repeats: int, different: float = DIFFERENT, kind: str = "beta"
) -> tuple[Array, float]:
    """Draw differences of graded values. Most are 0, and the others have the sign + with probability p."""
    shape = (repeats, n)
    if kind == "beta":
        sizes, mean_size = generator.beta(1, 3, shape), 0.25
    else:  # of reciprocal ranks
        levels, chances = np.array([1 / 2, 1 / 6, 1 / 12, 1 / 20]), np.array([0.3, 0.2, 0.2, 0.3])
        sizes, mean_size = generator.choice(levels, p=chances, size=shape), float(levels @ chances)
    signs = np.where(generator.random(shape) < p, 1, -1) * (generator.random(shape) < different)
    return signs * sizes, different * (2 * p - 1) * mean_size


def simulate(draw: Any, compute: Any, n: int, p: float, repeats: int, weights: Array | None = None) -> Cell:
    """Return the cell of values that are drawn."""
    values, truth = draw(np.random.default_rng((n, round(100 * p))), n, p, repeats)
    means, errors, size = find_moments(values, weights)
    return measure(compute(means, errors, size, size - 1, LEVEL), means, errors, size, truth)


def draw_reciprocal_ranks(generator: np.random.Generator, n: int, p: float, repeats: int) -> tuple[Array, float]:
    """Draw differences of reciprocal ranks."""
    return draw_differences(generator, n, p, repeats, kind="reciprocal")


def compute_grid(repeats: int) -> dict[str, dict[tuple[int, float], Cell]]:
    """Return the cells of each kind of values by size and probability."""
    simulated = {
        "fifths": (draw_fifths, compute_korn_graubard),
        "like nDCG, with atoms at 0 and 1": (draw_mixture, compute_korn_graubard),
        "differences, 80 % ties, graded": (draw_differences, compute_t_with_ends),
        "differences, 80 % ties, of reciprocal ranks": (draw_reciprocal_ranks, compute_t_with_ends),
    }
    places = [(n, p) for n in SIZES for p in PROBABILITIES]
    return {
        "0/1": {place: enumerate_binary(*place) for place in places},
        "differences, 80 % ties, of 0/1 values": {place: enumerate_differences(*place) for place in places},
        **{kind: {place: simulate(*how, *place, repeats) for place in places} for kind, how in simulated.items()},
    }


def draw_binary(generator: np.random.Generator, n: int, p: float, repeats: int) -> tuple[Array, float]:
    """Draw 0/1 values."""
    return (generator.random((repeats, n)) < p).astype("f8"), p


def draw_binary_differences(generator: np.random.Generator, n: int, p: float, repeats: int) -> tuple[Array, float]:
    """Draw differences of 0/1 values."""
    values, _ = draw_differences(generator, n, p, repeats)
    return np.sign(values), DIFFERENT * (2 * p - 1)


def compute_weighted(repeats: int, n: int = 200, exponent: float = 1.2) -> dict[str, list[Cell]]:
    """Return the cells of values whose weights follow Zipf's law, by probability."""
    weights = np.arange(1, n + 1.0) ** -exponent
    kinds = {
        "0/1": (draw_binary, compute_korn_graubard),
        "fifths": (draw_fifths, compute_korn_graubard),
        "like nDCG, with atoms at 0 and 1": (draw_mixture, compute_korn_graubard),
        "differences, 80 % ties, of 0/1 values": (draw_binary_differences, compute_t_with_ends),
        "differences, 80 % ties, graded": (draw_differences, compute_t_with_ends),
    }
    return {kind: [simulate(*how, n, p, repeats, weights) for p in PROBABILITIES] for kind, how in kinds.items()}


def has_reliable_t(cell: Cell) -> bool:
    """Return True if t covers, and not by points at a true mean of 0."""
    return cell.t >= COVERS and cell.t_is_point < 0.01


def format_cell(cell: Cell) -> str:
    """Return the text of a cell."""
    ratio = f"{cell.ratio:.2f}" if cell.t_is_point < 0.5 else "–"
    return f"{100 * cell.t:.1f} → **{100 * cell.auto:.1f}** ({ratio})"


def format_tables(repeats: int) -> str:
    """Return the tables of the page: a summary, the grid by kind of values, and weights."""
    head = " | ".join(f"p = {p}" for p in PROBABILITIES)
    rule = "| --- " * (len(PROBABILITIES) + 1) + "|"
    grid = compute_grid(repeats)
    summary = [
        "| values | least coverage of t | of `auto` | mean width, in widths of t, where t covers | "
        "also where t is often a point |",
        "| --- | --- | --- | --- | --- |",
    ]
    every = [cell for cells in grid.values() for cell in cells.values()]
    for kind, cells in [*((kind, list(cells.values())) for kind, cells in grid.items()), ("all", every)]:
        ratios = [cell.ratio for cell in cells if has_reliable_t(cell)]
        with_points = [cell.ratio for cell in cells if cell.t >= COVERS]
        least_t, least_auto = (
            100 * min(rates) for rates in ([cell.t for cell in cells], [cell.auto for cell in cells])
        )
        summary.append(
            f"| {kind} | {least_t:.1f} % | {least_auto:.1f} % | {np.mean(ratios):.2f} ({len(ratios)} cells) | "
            f"{np.mean(with_points):.2f} ({len(with_points)} cells) |"
        )
    texts = ["\n".join(summary)]
    for kind, by_place in grid.items():
        rows = [f"| {n} | {' | '.join(format_cell(by_place[n, p]) for p in PROBABILITIES)} |" for n in SIZES]
        texts.append("\n".join([f"### {kind}", "", f"| queries | {head} |", rule, *rows]))
    rows = [f"| {kind} | {' | '.join(map(format_cell, row))} |" for kind, row in compute_weighted(repeats).items()]
    texts.append("\n".join(["### 200 queries with Zipf's weights", "", f"| values | {head} |", rule, *rows]))
    texts.append(format_gate())
    return "\n\n".join(texts) + "\n"


def format_gate(sizes: Sequence[int] = GATE_SIZES) -> str:
    """Return the table of wrong verdicts of a gate on 0/1 values."""
    rows = [
        f"| {n} | {' | '.join('{:.1f} → **{:.1f}**'.format(*(100 * e for e in measure_gate(n, m))) for m in MARGINS)} |"
        for n in sizes
    ]
    head = " | ".join(f"margin {margin}" for margin in MARGINS)
    return "\n".join([f"| queries | {head} |", "| --- " * (len(MARGINS) + 1) + "|", *rows])


def main() -> None:
    """Compute and print."""
    sys.stdout.write(format_tables(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000))


if __name__ == "__main__":
    main()

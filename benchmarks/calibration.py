"""
Compute the coverage of 95 % intervals: the tables of docs/how_it_works/statistics_calibration.md.

Usage: python -m benchmarks.calibration [REPEATS]

0/1 values and their differences are enumerated. Other values are drawn, 20,000 times a cell by default, which gives a
standard error of 0.15 %, a tenth as often for betting, and half as often for judges. A cell of the tables of coverage
has that of Student's t, that of the interval 'auto', and the mean width of 'auto' in multiples of that of t. Then come
the tables of gates. The last ones are of estimates with a judge: the coverage of human labels alone, that with the
judge, and the mean width.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from fastndcg.statistics.intervals import (
    NORMAL,
    _find_most_wins,
    compute_clopper_pearson,
    compute_korn_graubard,
    compute_t_with_ends,
    compute_tango,
    find_betting_bounds,
    find_exact_p_value,
    find_t_quantile,
)
from fastndcg.statistics.prediction_powered import compute_powered_mean, shrink_bounds, widen_error

LEVEL = 0.95
SIZES = (5, 10, 20, 30, 50, 100, 200)
PROBABILITIES = (0.5, 0.8, 0.9, 0.95, 0.98)
DIFFERENT = 0.2  # the share of queries in which two systems differ
COVERS = 0.935
ALPHA = 0.05  # of each one-sided bound of a gate
GATE_SIZES = (5, 10, 20, 30, 50, 100, 600, 2000, 20_000)
MARGINS = (0.0, 0.005, 0.02, 0.05)
GATE_INTERVALS = ("auto", "t", "betting")
VERDICT_SIZES = (30, 100, 300)
DEVIATIONS = (0.03, 0.1, 0.3)
WIDTH_SIZES = (20, 50, 100, 200, 1000)
HUMAN_SIZES = (30, 50, 100, 200)
OTHERS = (1, 5)  # queries of the judge alone, in multiples of the human ones
MOST_DRAWN = 2_000  # samples at once, which take 35 MB a variable
JUDGES = ("good", "poor", "useless", "biased", "blind", "anti-correlated")
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


class GateErrors(NamedTuple):
    """How often a gate is wrong about a candidate at the margin, at the worst shares of wins and of losses."""

    score: float  # of either bound, if it were that of Tango's score
    exact: float  # of either bound of the gate
    fails: float
    passes: float


def list_most_wins(n: int, truth: float, most: int) -> Array:
    """Return the most wins of each number of differing queries whose exact upper bound is below the truth."""
    found = [-1]
    for differing in range(1, most + 1):
        wins = found[-1]  # one differing query more never lowers them
        while wins < differing and find_exact_p_value(wins + 1, differing - wins - 1, n, truth, ALPHA) <= ALPHA:
            wins += 1
        found.append(wins)
    return np.array(found)


@lru_cache
def measure_gate(n: int, margin: float) -> GateErrors:
    """
    Return how often a gate is wrong about 0/1 values at the margin, by enumeration of all wins and losses.

    To pass at −margin is to fail at +margin with the systems exchanged, or to have no query that differs. Above 100
    queries, shares of differing queries count of which numbers up to half more than those of the margin are likely.
    """
    most = n if n <= 100 else min(n, int(1.5 * n * margin) + 100)
    differing = np.arange(most + 1)
    score, exact = [0.0], [0.0]
    verdicts: list[float] = []
    for truth in (-margin, margin):
        shares = margin + (1 - margin) * np.geomspace(0.01 / n, 1, 300)[:, None]
        chances = stats.binom.pmf(differing, n, shares)
        is_likely = chances.sum(1) > 1 - 1e-6
        lowest = _find_most_wins(differing.astype("f8"), n, truth, NORMAL.inv_cdf(1 - ALPHA))
        errors = []
        for most_wins in (lowest, list_most_wins(n, truth, most)):
            tails = stats.binom.cdf(most_wins, differing, np.clip((shares + truth) / (2 * shares), 0, 1))
            errors.append((chances * tails).sum(1)[is_likely])
        score.append(errors[0].max())
        exact.append(errors[1].max())
        unchanged = chances[is_likely, 0] * (len(verdicts) == 1 and most_wins[0] < 0)
        verdicts.append(float((errors[1] + unchanged).max()))
    return GateErrors(max(score), max(exact), *verdicts)


def judge(differences: Array, margin: float, interval: str) -> tuple[Array, Array]:
    """Return for each row of differences whether a gate passes and whether it fails, as `fn.gate` does."""
    means, errors, n = find_moments(differences)
    if interval == "betting":
        bounds = np.array([find_betting_bounds(row, (-1.0, 1.0), ALPHA) for row in differences]).T
    elif interval == "auto":
        bounds = np.stack(compute_t_with_ends(means, errors, n, n - 1, 1 - 2 * ALPHA))
    else:
        half = np.where(errors > 1e-12, stats.t.ppf(1 - ALPHA, n - 1) * errors, np.nan)
        bounds = np.stack([means - half, means + half])
    return (bounds[0] > -margin) | (differences == 0).all(1), bounds[1] < -margin


def draw_normal(generator: np.random.Generator, n: int, mean: float, repeats: int) -> Array:
    """Draw differences of about 0.1, such as those of nDCG."""
    return generator.normal(mean, 0.1, (repeats, n))


def draw_with_ties(generator: np.random.Generator, n: int, mean: float, repeats: int) -> Array:
    """Draw graded differences of which 80 % are 0."""
    return draw_differences(generator, n, (1 + mean / (0.25 * DIFFERENT)) / 2, repeats)[0]


def draw_rare_wins(generator: np.random.Generator, n: int, mean: float, repeats: int) -> Array:
    """Draw differences of candidates that lose 0.05 in all queries but 1 in 17, which they win."""
    wins = generator.random((repeats, n)) < 0.05 / 0.85
    return np.where(wins, generator.uniform(0.7, 0.9, (repeats, n)), -0.05) + mean


def draw_rare_losses(generator: np.random.Generator, n: int, mean: float, repeats: int) -> Array:
    """Draw differences of candidates that lose nearly all in few queries, and nothing elsewhere."""
    return np.where(generator.random((repeats, n)) < -mean / 0.905, -0.905, 0.0)


AT_MARGIN = {  # by the text of a row: differences and the margin, which is the true drop
    "standard deviation 0.1, margin 0.02": (draw_normal, 0.02),
    "80 % ties, graded, margin 0.02": (draw_with_ties, 0.02),
    "all lose 0.05 but 1 in 17, margin 0": (draw_rare_wins, 0.0),
    "nothing changes but 2.2 %, margin 0.02": (draw_rare_losses, 0.02),
}
CLEAR = {  # differences, the true mean, the margin and the right verdict
    "standard deviation 0.1, no difference, margin 0.05": (draw_normal, 0.0, 0.05, 0),
    "80 % ties, graded, no difference, margin 0.05": (draw_with_ties, 0.0, 0.05, 0),
    "standard deviation 0.1, drop of 0.1, margin 0.05": (draw_normal, -0.1, 0.05, 1),
    "80 % ties, graded, drop of 0.04, margin 0": (draw_with_ties, -0.04, 0.0, 1),
}


def measure_verdicts(draw: Any, n: int, mean: float, margin: float, interval: str, repeats: int) -> tuple[float, float]:
    """Return how often a gate passes and how often it fails. Betting has a tenth of the samples."""
    generator = np.random.default_rng((n, round(1000 * margin)))
    drawn = draw(generator, n, mean, repeats // (10 if interval == "betting" else 1))
    return tuple(float(np.mean(verdict)) for verdict in judge(drawn, margin, interval))  # type: ignore[return-value]


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
    """Return the tables of the page: a summary, the grid by kind of values, weights, gates and judges."""
    grid = compute_grid(repeats)
    by_kind = {kind: list(cells.values()) for kind, cells in grid.items()}
    head = [
        "values", "least coverage of t", "of `auto`", "mean width, in widths of t, where t covers",
        "also where t is often a point",
    ]  # fmt: skip
    every = [cell for cells in by_kind.values() for cell in cells]
    texts = [format_table(head, (summarise(kind, cells) for kind, cells in {**by_kind, "all": every}.items()))]
    tables = {
        kind: ("queries", {str(n): [by_place[n, p] for p in PROBABILITIES] for n in SIZES})
        for kind, by_place in grid.items()
    }
    tables["200 queries with Zipf's weights"] = ("values", compute_weighted(repeats))
    for title, (first, cells) in tables.items():
        rows = ([name, *map(format_cell, row)] for name, row in cells.items())
        texts.append(f"### {title}\n\n{format_table([first, *(f'p = {p}' for p in PROBABILITIES)], rows)}")
    gates = [format_gate(), format_gate(verdicts=True), format_verdicts(repeats), format_clear(repeats)]
    return "\n\n".join([*texts, *gates, format_widths(), format_judges(repeats // 2)]) + "\n"


def summarise(kind: str, cells: list[Cell]) -> list[str]:
    """Return the row of a kind of values in the summary."""
    least = (f"{100 * min(rates):.1f} %" for rates in ([cell.t for cell in cells], [cell.auto for cell in cells]))
    chosen = [cell for cell in cells if has_reliable_t(cell)], [cell for cell in cells if cell.t >= COVERS]
    widths = (f"{np.mean([cell.ratio for cell in own]):.2f} ({len(own)} cells)" for own in chosen)
    return [kind, *least, *widths]


def draw_without_ties(generator: np.random.Generator, n: int, p: float, repeats: int) -> tuple[Array, float]:
    """Draw differences that vary around their mean as those of nDCG@10, without ties."""
    return generator.normal(0.1 * (p - 0.5), 0.15, (repeats, n)), 0.1 * (p - 0.5)


def draw_skewed(generator: np.random.Generator, n: int, p: float, repeats: int) -> tuple[Array, float]:
    """Draw values without a range, such as DCG."""
    return generator.gamma(4, 0.25, (repeats, n)), 1.0


def compute_t(means: Array, errors: Array, n: float, degrees: Any, level: float) -> tuple[Any, Any]:
    """Return Student's interval from means and standard errors."""
    half = find_t_quantile(degrees, level) * errors
    return means - half, means + half


def compute_tango_of_moments(means: Array, errors: Array, n: float, degrees: float, level: float) -> tuple[Any, Any]:
    """Return Tango's interval of differences of 0/1 values from their means and standard errors."""
    differing = (errors**2 * (n - 1) + means**2) * n
    return compute_tango((differing + means * n) / 2, (differing - means * n) / 2, n, level)


def compute_binary_of_moments(means: Array, errors: Array, n: float, degrees: float, level: float) -> tuple[Any, Any]:
    """Return Clopper and Pearson's interval of 0/1 values from their means."""
    return compute_clopper_pearson(np.rint(means * n), n, level)


JUDGED = {  # values, the interval of human labels alone, and the range
    "0/1": (draw_binary, compute_binary_of_moments, (0.0, 1.0)),
    "like nDCG, with atoms at 0 and 1": (draw_mixture, compute_korn_graubard, (0.0, 1.0)),
    "differences, 80 % ties, of 0/1 values": (draw_binary_differences, compute_tango_of_moments, (-1.0, 1.0)),
    "differences, 80 % ties, graded": (draw_differences, compute_t_with_ends, (-1.0, 1.0)),
    "differences without ties": (draw_without_ties, compute_t_with_ends, (-1.0, 1.0)),
    "skewed, without a range": (draw_skewed, compute_t, (0.0, np.inf)),
}


def draw_judge(generator: np.random.Generator, kind: str, values: Array, bounds: tuple[float, float]) -> Array:
    """Draw a judge's values of the same queries."""
    low, high = bounds
    width = high - low if high < np.inf else 1.0
    if kind == "good":
        return np.clip(values + generator.normal(0, 0.1, values.shape), low, high)
    if kind == "biased":  # low values are raised most
        return width * ((np.clip(values, low, high) - low) / width) ** 0.5 + low
    if kind == "blind":  # to low values, to wins of 0/1 values, or to large differences and values
        if high == np.inf:
            return np.where(values > 2, 1.0, values)
        if low == 0:
            return np.where(values < 0.4, 0.9, values)
        is_seen = values < 0.4 if np.isin(values[:5], (-1, 0, 1)).all() else np.abs(values) < 0.4
        return np.where(is_seen, values, 0.0)
    shared = {"poor": 0.3, "useless": 0.0, "anti-correlated": 0.5}[kind]
    mixed = np.where(generator.random(values.shape) < shared, values, generator.permuted(values, axis=-1))
    return 2 * low + width - mixed if kind == "anti-correlated" else mixed


def compute_helped(
    name: str, human: Array, judge: Array, others: Array
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return the bounds of human labels alone, and those with a judge, as `fn.estimate_with_judge` does."""
    _, compute_alone, bounds = JUDGED[name]
    means, errors, n = find_moments(human)
    alone = compute_alone(means, errors, n, n - 1, LEVEL)
    powered = compute_powered_mean(human, judge, others)
    estimates = np.clip(powered.mean, *bounds)
    error, freedom = powered.standard_error, powered.degrees_of_freedom
    if compute_alone is compute_tango_of_moments:
        wide = [widen_error(own, means, n, bounds) * find_t_quantile(degrees, LEVEL)
                for own, degrees in ((error, freedom), (errors, n - 1))]  # fmt: skip
        ratios = wide[0] / wide[1]
        helped = tuple(np.clip(own, *bounds) for own in shrink_bounds(alone, means, estimates, ratios))
    elif compute_alone is compute_t:
        helped = compute_t(estimates, error, n, freedom, LEVEL)
    elif bounds[0] == 0:
        helped = compute_korn_graubard(estimates, widen_error(error, estimates, n, bounds), n, freedom, LEVEL)
    else:
        helped = compute_t_with_ends(estimates, error, n, freedom, LEVEL)
    is_helped = (powered.weight > 0) & (helped[1] - helped[0] < alone[1] - alone[0])
    return alone, tuple(np.where(is_helped, own, other) for own, other in zip(helped, alone, strict=True))  # type: ignore[return-value]


@lru_cache
def measure_judge(name: str, kind: str, n: int, times: int, repeats: int, p: float = 0.8) -> Cell:
    """Return the coverage and the width of human labels alone, in place of those of t, and with a judge."""
    draw, *_, bounds = JUDGED[name]
    generator = np.random.default_rng((n, times, list(JUDGED).index(name), JUDGES.index(kind)))
    cells = []
    for first in range(0, repeats, MOST_DRAWN):
        values, truth = draw(generator, n * (1 + times), p, min(MOST_DRAWN, repeats - first))
        judged = draw_judge(generator, kind, values, bounds)
        found = compute_helped(name, values[:, :n], judged[:, :n], judged[:, n:])
        covers = [np.mean((low <= truth + 1e-12) & (truth <= high + 1e-12)) for low, high in found]
        widths = [np.mean(high - low) for low, high in found]
        cells.append((len(values), *covers, *widths))
    sizes, *columns = np.array(cells).T
    return Cell(*(float(np.average(column, weights=sizes)) for column in columns), t_is_point=0.0)


def format_judges(repeats: int, sizes: Sequence[int] = HUMAN_SIZES) -> str:
    """Return the tables of estimates with a judge: a summary, and each cell by the number of other queries."""
    head = ["values", "judge", *(f"{n} queries" for n in sizes)]
    tables = []
    for times in OTHERS:
        rows = [
            [name, kind, *(format_cell(measure_judge(name, kind, n, times, repeats)) for n in sizes)]
            for name in JUDGED
            for kind in JUDGES
        ]
        queries = "query" if times == 1 else "queries"
        tables.append(f"### {times} other {queries} for each human one\n\n{format_table(head, rows)}")
    summary = []
    for kind in JUDGES:
        own = [[measure_judge(name, kind, n, times, repeats) for name, (*_, bounds) in JUDGED.items() for n in sizes
                if bounds[1] < np.inf] for times in OTHERS]  # fmt: skip
        every = [cell for cells in own for cell in cells]
        least = [100 * min(rates) for rates in ([cell.t for cell in every], [cell.auto for cell in every])]
        ratios = [f"{np.mean([cell.ratio for cell in cells]):.2f}" for cells in own]
        summary.append([kind, *(f"{rate:.1f} %" for rate in least), *ratios])
    head = ["judge", "least coverage of human labels alone", "with the judge",
            *(f"mean width, 1 : {times}" for times in OTHERS)]  # fmt: skip
    return "\n\n".join([format_table(head, summary), *tables])


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def format_gate(sizes: Sequence[int] = GATE_SIZES, *, verdicts: bool = False) -> str:
    """Return the table of wrong bounds of a gate on 0/1 values, or that of its wrong verdicts."""
    rows = []
    for n in sizes:
        errors = [measure_gate(n, margin) for margin in MARGINS]
        cells = [f"{100 * own.score:.1f} → **{100 * own.exact:.1f}**" for own in errors]
        if verdicts:
            cells = [f"{100 * own.fails:.1f} / {100 * own.passes:.1f}" for own in errors]
            cells[0] = cells[0].partition(" ")[0]  # equal systems may pass
        rows.append([f"{n:,}", *cells])
    return format_table(["queries", *(f"margin {margin}" for margin in MARGINS)], rows)


def format_verdicts(repeats: int, sizes: Sequence[int] = VERDICT_SIZES) -> str:
    """Return the table of wrong verdicts on graded values at the margin, by interval."""
    rows = []
    for (name, (draw, margin)), n in product(AT_MARGIN.items(), sizes):
        shares = [measure_verdicts(draw, n, -margin, margin, one, repeats) for one in GATE_INTERVALS]
        rows.append([name, str(n), *(f"{100 * fails:.1f} / {100 * passes:.1f}" for passes, fails in shares)])
    return format_table(["differences", "queries", *(f"`{interval}`" for interval in GATE_INTERVALS)], rows)


def format_clear(repeats: int, sizes: Sequence[int] = VERDICT_SIZES) -> str:
    """Return the table of right verdicts on graded values, by interval."""
    rows = []
    for (name, (draw, mean, margin, place)), n in product(CLEAR.items(), sizes):
        shares = [measure_verdicts(draw, n, mean, margin, one, repeats)[place] for one in GATE_INTERVALS]
        rows.append([name, ("passes", "fails")[place], str(n), *(f"{100 * share:.0f}" for share in shares)])
    return format_table(["differences", "verdict", "queries", *(f"`{one}`" for one in GATE_INTERVALS)], rows)


def format_widths() -> str:
    """Return the table of widths of Student's t with ends, in widths of t, of differences whose mean is about 0."""
    rows = []
    for deviation in DEVIATIONS:
        errors = [deviation / np.sqrt(n) for n in WIDTH_SIZES]
        highs = [
            compute_t_with_ends(0.0, error, n, n - 1, LEVEL)[1] for n, error in zip(WIDTH_SIZES, errors, strict=True)
        ]
        halves = [stats.t.ppf((1 + LEVEL) / 2, n - 1) * error for n, error in zip(WIDTH_SIZES, errors, strict=True)]
        rows.append([str(deviation), *(f"{high / half:.1f}" for high, half in zip(highs, halves, strict=True))])
    return format_table(["standard deviation", *(f"{n} queries" for n in WIDTH_SIZES)], rows)


def main() -> None:
    """Compute and print."""
    sys.stdout.write(format_tables(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000))


if __name__ == "__main__":
    main()

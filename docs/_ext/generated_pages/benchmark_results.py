"""The parts of the page about benchmarks: the rows of every suite and their history, from the saved results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.figures import (
    TEXT,
    describe_conditions,
    draw_libraries,
    finish_figure,
    format_ratio,
    make_figure,
    write_libraries,
)
from benchmarks.record import load_history, load_results

COLOURS = ("#e8590c", "#4c8fbd", "#2f9e44", "#9c36b5", "#c2a200", "#868e96")


def make_pages() -> dict[str, str | bytes]:
    """Return the parts of the page about benchmarks, and its pictures."""
    results = load_results()
    lines = load_history()
    pages: dict[str, str | bytes] = {"_generated/parts/benchmarks.md": "".join(write_page(results, lines))}
    if "peers" in results:
        pages["_generated/pictures/peers.png"] = draw_libraries(results["peers"])
    for suite in results:
        if any(suite in line["ratios"] for line in lines):
            pages[f"_generated/pictures/history_{suite}.png"] = draw_history(suite, lines)
    return pages


def write_page(results: dict[str, Any], lines: list[Any]) -> Iterator[str]:
    """Yield the parts of the page about benchmarks: every row of every suite, and the history of each suite."""
    if "peers" in results:
        yield "## Libraries\n\n```{image} _generated/pictures/peers.png\n:alt: fastndcg against libraries\n```\n\n"
        yield f"{write_libraries(results['peers'], None)}\n"
    for suite, result in results.items():
        rows = list(write_rows(result))
        if rows:
            yield f"\n## {suite.capitalize()}\n\n| benchmark | time | against |\n| :-- | --: | :-- |\n"
            yield "\n".join(rows) + f"\n\n{describe_conditions(result)}\n"
        if any(suite in line["ratios"] for line in lines):
            yield f"\n```{{image}} _generated/pictures/history_{suite}.png\n:alt: history of {suite}\n```\n"


def write_rows(result: Any) -> Iterator[str]:
    """Yield the rows of a suite's table, without those of the libraries."""
    for benchmark in result["benchmarks"]:
        facts = benchmark["extra_info"]
        if benchmark["name"].startswith("test_library["):
            continue
        parts = [describe_ratio(name, ratio) for name, ratio in facts.get("against", {}).items()]
        parts += [f"{name.replace('_mib', '').replace('_', ' ')} {value:,.0f} MiB"
                  for name, value in facts.items() if "_mib" in name and value]  # fmt: skip
        name = benchmark["name"].removeprefix("test_").replace("_", " ").replace("[", ": ", 1).removesuffix("]")
        yield f"| {name} | {format_seconds(benchmark['stats'].get('median', 0.0))} | {'; '.join(parts)} |"


def describe_ratio(name: str, ratio: Any) -> str:
    """Return a comparison in words."""
    bounds = f" ({format_ratio(ratio['low'])} to {format_ratio(ratio['high'])})" if "low" in ratio else ""
    value = f"{format_ratio(ratio['median'])}{bounds}"
    return f"{value} × {name}" if ratio["kind"] == "floor" else f"{value} × as fast as {name}"


def format_seconds(value: float) -> str:
    """Return a time with its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e9:.3g} ns" if value else ""


def draw_history(suite: str, lines: list[Any]) -> bytes:
    """Return the ratios of a suite over all records as PNG, 1 at the first record of a row."""
    figure, axes = make_figure(2.4)
    lines = [line for line in lines if suite in line["ratios"]]
    names = sorted({name for line in lines for name in line["ratios"][suite]})
    for number, name in enumerate(names):
        points = [(place, line["ratios"][suite].get(name)) for place, line in enumerate(lines)]
        points = [(place, value) for place, value in points if value]
        places, values = zip(*points, strict=True)
        axes.plot(places, [value / values[0] for value in values], "o-", color=COLOURS[number % len(COLOURS)],
                  linewidth=0.8, markersize=3)  # fmt: skip
    axes.set_yscale("log")
    labels = [f"{line['commit'][:8]}\n{line['date']}" for line in lines]
    axes.set_xticks(range(len(lines)), labels, fontsize=7)
    axes.set_title(f"{suite}: {len(names)} ratios over the records, relative to the first", color=TEXT, loc="left")
    return finish_figure(figure, axes)

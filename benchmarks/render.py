"""Saved figures as Markdown: the table of goals, the table of libraries, the sentence of the README."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Found = dict[str, Any]
NAMES = {"sklearn": "scikit-learn, ties ignored", "ours": "fastndcg", "one": "fastndcg, 1 thread"}


def workloads_table(found: Found) -> str:
    """Every workload with its goal; empty if none was measured."""
    head = (
        "workload", "queries", "documents", "ours, ms", "floor, ms", "reading, ms", "× floor", "× reading", "goal",
        "measured", "met",
    )  # fmt: skip
    rows = [
        (
            row["workload"], f"{row['queries']:,}", f"{row['documents']:,}",
            *(f"{row[name]:g}" for name in ("ms", "floor ms", "reading ms", "times floor", "times reading")),
            f"≤ {row['goal']:g} × {row['against']}", f"{row['ratio']:g}", said(row["met"]),
        )
        for row in found.get("workloads", ())
    ]  # fmt: skip
    return table(head, rows, left=1)


def figures_table(found: Found) -> str:
    """The other figures that have a goal; empty if none was measured."""
    rows = []
    for row in found.get("figures", ()):
        if "left out" in row:
            rows.append((row["what"], f"left out: {row['left out']}", "", "", ""))
            continue
        value = f"{row['value']:g} {row['unit']}"
        rows.append((row["what"], value, row.get("goal", ""), said(row.get("met")), row.get("detail", "")))
    return table(("figure", "measured", "goal", "met", ""), rows, left=1)


def goals(found: Found) -> str:
    """All figures that have a goal, and what they were measured on."""
    scaled = "" if found["scale"] == 1 else f"**Scaled down to {found['scale']:g} of the workloads' size.** "
    least = f"Each time is the shortest of at least {found['repeat']}, taken in turns. "
    tables = (
        workloads_table(found),
        figures_table(found),
        scaled + least + measured_on(found, tuple(found["versions"])),
    )
    return "\n\n".join(part for part in tables if part)


def peers_table(found: Found) -> str:
    """Every library: queries a second, conversion, how many times our time, and whether the numbers agree."""
    measured = [row for row in found["peers"] if "seconds" in row]
    rows = []
    for row in sorted(measured, key=lambda row: row["seconds"]):
        name, version = row["name"] + marks(row), found["versions"].get(row["package"], "")
        speed, time = f"{found['queries'] / row['seconds']:,.0f}", f"{row['seconds'] * 1e3:.3g}"
        agrees, on_ties = agreed(row["agreement"]), agreed(row["agreement on ties"])
        conversion = f"{row['conversion seconds'] * 1e3:.3g}"
        rows.append((name, version, speed, time, conversion, f"{row['ratio']:.3g}", agrees, on_ties))
    for row in (row for row in found["peers"] if "seconds" not in row):
        problem = next(f"{kind}: {row[kind]}" for kind in ("absent", "failed") if kind in row)
        rows.append((row["name"], found["versions"].get(row["package"], ""), problem, "", "", "", "", ""))
    head = (
        "library", "version", "queries/s", "evaluation, ms", "conversion, ms", "× our time", "agrees", "agrees on ties",
    )  # fmt: skip
    return "\n\n".join([table(head, rows, left=2), notes(found)])


def notes(found: Found) -> str:
    """What the table of libraries shows."""
    return (
        f"nDCG@10 of {found['queries']:,} queries with {found['documents']} documents each; shortest of several times, "
        "taken in turns with fastndcg; conversion into the library's input form apart. *agrees*: with fastndcg under "
        "the convention nearest to the library, and that with the reference; else the largest difference. ¹ binary "
        f"labels. ² takes ranked lists: sorting is in the conversion. {measured_on(found)}"
    )


def headline(found: Found) -> str:
    """How many times as fast as scikit-learn, in a sentence."""
    rows = {row["name"]: row for row in found["headline"]["peers"] if "seconds" in row}
    theirs, one = (rows[NAMES[name]] for name in ("sklearn", "one"))
    if not theirs["agreement"]["agrees"]:
        raise SystemExit("scikit-learn and we disagree: there is no figure")
    one_ratio = theirs["seconds"] / one["seconds"]
    return (
        f"nDCG@10 of {found['headline']['queries']:,} queries with {found['headline']['documents']} documents each: "
        f"**{theirs['ratio']:.3g} times as fast** as `sklearn.metrics.ndcg_score(..., ignore_ties=True)` on the same "
        f"arrays ({theirs['our seconds']:.2g} s against {theirs['seconds']:.2g} s; {one_ratio:.3g} times on one "
        f"thread), after proving that the numbers are equal. {measured_on(found)}"
    )


def measured_on(found: Found, names: Sequence[str] = ("fastndcg", "numba", "numpy", "scikit-learn")) -> str:
    """Machine, versions, date."""
    known = [f"{name} {found['versions'][name]}" for name in names if name in found["versions"]]
    versions = ", ".join([f"Python {found['python']}", *known])
    commit = f", commit {found['commit']}" if found["commit"] else ""
    return f"Measured on {found['date']} on {found['cpus']} CPUs ({found['machine']}), {versions}{commit}."


def agreed(found: Found) -> str:
    """A verdict in a word or two."""
    return "yes" if found["agrees"] else f"differs by {found['difference']:.2g}"


def marks(row: Found) -> str:
    """Footnotes of a library."""
    return " ¹" * row["binary"] + " ²" * row["ranked before"]


def said(met: bool | None) -> str:
    """Whether a goal is met; nothing where there is none."""
    return "" if met is None else "yes" if met else "**no**"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int) -> str:
    """A Markdown table whose first `left` columns are flush left; empty without rows."""
    cells = [head, *rows]
    if len(cells) == 1:
        return ""
    rule = [":--" if column < left else "--:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [cells[0], rule, *cells[1:]])

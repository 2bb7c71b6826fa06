"""
Saved figures as Markdown: the table of goals, the table of libraries, the figures of the README.

A results file is one dict. It begins with date, commit, machine, cpus, python and versions.
The rows of the core suite are "workloads", those of the peers suite "peers", and those of other suites "figures".
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

Report = dict[str, Any]
SKLEARN = "scikit-learn, ties ignored"
ONE_THREAD = "fastndcg, 1 thread"
PROBLEMS = ("absent", "failed")
README_PEERS = ("fastndcg", ONE_THREAD, "LightGBM", "scikit-learn", "pytrec_eval-terrier", "torchmetrics")
TIED_PEER = "ranx"  # its sort of equal scores is unstable
LINE_LENGTH = 118


def render_report(report: Report) -> str:
    """Return all tables of a results file, and the conditions that it was measured under."""
    if "peers" in report:
        return render_peers(report)
    is_scaled = report["scale"] != 1
    scaled = f"**Scaled down to {report['scale']:g} of the workloads' size.** " if is_scaled else ""
    repeats = f"Each time is the shortest of at least {report['repeat']}, taken in alternation. "
    sections = (
        render_workloads(report),
        render_figures(report),
        scaled + repeats + describe_conditions(report, tuple(report["versions"])),
    )
    return "\n\n".join(section for section in sections if section)


def render_workloads(report: Report) -> str:
    """Return the table of workloads with their goals, or an empty text."""
    header = (
        "workload", "queries", "documents", "fastndcg, ms", "baseline, ms", "bandwidth, ms", "× baseline",
        "× bandwidth", "goal", "measured", "met",
    )  # fmt: skip
    times = ("ms", "baseline ms", "bandwidth ms", "times baseline", "times bandwidth")
    rows = [
        (
            row["workload"], f"{row['queries']:,}", f"{row['documents']:,}", *(f"{row[name]:g}" for name in times),
            f"≤ {row['goal']:g} × {row['against']}", f"{row['ratio']:g}", render_verdict(row["met"]),
        )
        for row in report.get("workloads", ())
    ]  # fmt: skip
    return render_table(header, rows, n_left=1)


def render_figures(report: Report) -> str:
    """Return the table of the other figures, or an empty text."""
    rows = []
    for row in report.get("figures", ()):
        if "left out" in row:
            rows.append((row["what"], f"left out: {row['left out']}", "", "", ""))
            continue
        value = f"{row['value']:g} {row['unit']}"
        rows.append((row["what"], value, row.get("goal", ""), render_verdict(row.get("met")), row.get("detail", "")))
    return render_table(("figure", "measured", "goal", "met", ""), rows, n_left=1)


def render_peers(report: Report) -> str:
    """Return the table of libraries: queries per second, times, ratio, and whether the values agree."""
    versions = report["versions"]
    rows = []
    for row in sorted((row for row in report["peers"] if "seconds" in row), key=lambda row: row["seconds"]):
        rows.append((
            row["name"] + render_marks(row),
            versions.get(row["package"], ""),
            f"{report['queries'] / row['seconds']:,.0f}",
            f"{row['seconds'] * 1e3:.3g}",
            f"{row['conversion seconds'] * 1e3:.3g}",
            f"{row['ratio']:.3g}",
            render_agreement(row["agreement"]),
            render_agreement(row["agreement on ties"]),
        ))  # fmt: skip
    for row in (row for row in report["peers"] if "seconds" not in row):
        problem = next(f"{kind}: {row[kind]}" for kind in PROBLEMS if kind in row)
        rows.append((row["name"], versions.get(row["package"], ""), problem, "", "", "", "", ""))
    header = (
        "library", "version", "queries/s", "evaluation, ms", "conversion, ms", "× our time", "agrees", "agrees on ties",
    )  # fmt: skip
    return "\n\n".join([render_table(header, rows, n_left=2), _explain_peers(report)])


def _explain_peers(report: Report) -> str:
    """Return the explanation below the table of libraries."""
    return (
        f"nDCG@10 of {report['queries']:,} queries with {report['documents']} documents each. Times are the shortest "
        "of several, taken in alternation with fastndcg; conversion into the library's input form is separate. "
        "*agrees*: with fastndcg under the convention nearest to the library, which itself agrees with the reference; "
        f"else the largest difference. ¹ binary labels. ² takes ranked lists: sorting is in the conversion. "
        f"{describe_conditions(report)}"
    )


def render_readme_peers(report: Report) -> str:
    """Return the README's table of six libraries, and the conditions that they were measured under."""
    rows = {row["name"]: row for row in report["peers"] if "seconds" in row}
    cells = [
        (
            name,
            report["versions"].get(row["package"], ""),
            f"{report['queries'] / row['seconds']:,.0f}",
            f"{row['ratio']:.3g}",
            render_agreement(row["agreement"]),
        )
        for name, row in ((name, rows[name]) for name in README_PEERS if name in rows)
    ]
    table = render_table(("library", "version", "queries/s", "× our time", "agrees"), cells, n_left=2)
    text = (
        f"nDCG@10 of {report['queries']:,} queries with {report['documents']} documents each. Conversion into the "
        f"library's input form is not included. *× our time* is measured in alternation with fastndcg. *agrees*: with "
        f"fastndcg under the convention nearest to the library. "
        f"{describe_conditions(report)}"
    )
    return f"{table}\n\n{wrap(text)}"


def render_headline(report: Report) -> str:
    """Return the sentence that compares fastndcg with scikit-learn."""
    rows = {row["name"]: row for row in report["headline"]["peers"] if "seconds" in row}
    theirs = rows[SKLEARN]
    if not theirs["agreement"]["agrees"]:
        raise SystemExit("scikit-learn and fastndcg must agree before their times are compared, but they differ")
    ratio_on_one_thread = theirs["seconds"] / rows[ONE_THREAD]["seconds"]
    return wrap(
        f"nDCG@10 of {report['headline']['queries']:,} queries with {report['headline']['documents']} documents each "
        f"takes {theirs['our seconds']:.2g} s on {report['cpus']} CPUs: **{theirs['ratio']:.3g} times as fast** as "
        f"scikit-learn without ties, {ratio_on_one_thread:.3g} times on one thread, with equal numbers."
    )


def render_tied_difference(report: Report) -> str:
    """Return the sentence on what an unstable sort of equal scores changes."""
    (row,) = (row for row in report["peers"] if row["name"] == TIED_PEER)
    return wrap(
        f"Where scores tie, a sort in no defined order moves nDCG@10 of a query by up to "
        f"**{row['agreement on ties']['difference']:.2g}** (measured with {TIED_PEER} {report['versions'][TIED_PEER]})."
    )


def wrap(text: str) -> str:
    """Return a paragraph in lines of the README's length."""
    return textwrap.fill(text, LINE_LENGTH, break_long_words=False, break_on_hyphens=False)


def describe_conditions(report: Report, names: Sequence[str] = ("fastndcg", "numba", "numpy", "scikit-learn")) -> str:
    """Return the sentence that names machine, versions, date and commit."""
    packages = [f"{name} {report['versions'][name]}" for name in names if name in report["versions"]]
    versions = ", ".join([f"Python {report['python']}", *packages])
    commit = f", commit {report['commit']}" if report["commit"] else ""
    return f"Measured on {report['date']} on {report['cpus']} CPUs ({report['machine']}), {versions}{commit}."


def render_agreement(agreement: Report) -> str:
    """Return "yes", or the difference."""
    return "yes" if agreement["agrees"] else f"differs by {agreement['difference']:.2g}"


def render_marks(row: Report) -> str:
    """Return the footnote marks of a library."""
    return " ¹" * row["binary"] + " ²" * row["ranked before"]


def render_verdict(is_met: bool | None) -> str:
    """Return "yes" or "**no**" for a goal, or an empty text without a goal."""
    if is_met is None:
        return ""
    return "yes" if is_met else "**no**"


def render_table(header: Sequence[str], rows: Iterable[Sequence[str]], n_left: int) -> str:
    """Return a Markdown table with `n_left` left-aligned columns, or an empty text without rows."""
    body = [f"| {' | '.join(row)} |" for row in rows]
    if not body:
        return ""
    rule = [":--" if column < n_left else "--:" for column in range(len(header))]
    return "\n".join([f"| {' | '.join(header)} |", f"| {' | '.join(rule)} |", *body])

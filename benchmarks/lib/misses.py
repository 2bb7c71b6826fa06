"""Goals that are missed: what was measured, what limits it, and why, as one table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.lib.render import Report, render_table


class Reason(NamedTuple):
    """
    Why a goal is missed.

    `limit` names the figure that bounds the measured one: a suite and a figure of it, or a text.
    """

    limit: tuple[str, str] | str
    why: str


NDCG_OF_ALL_RANKS = ("limits", "nDCG of all ranks against nDCG@10")
VARIES = "The figure varies by about 2 points between runs; in 81 rounds it was {} %."
REASONS = {
    ("core", "everything"): Reason(
        NDCG_OF_ALL_RANKS,
        "The goal is a multiple of nDCG@10, which skips documents below rank 10. Metrics of all ranks cannot.",
    ),
    ("core", "all_trec"): Reason(
        ("limits", "writing an output as large as all_trec's, against nDCG@10"),
        "Writing 96 values per query to new memory takes as long as nDCG@10. Ranks and labels take 1.1 times as long, "
        "sums over hits 1.7 times.",
    ),
    ("scaling", "highest over lowest of these 4 sizes"): Reason(
        "the baseline varies as much",
        "At 10⁶ documents about 150 µs do not depend on the size: checking offsets takes 45, starting the second "
        "thread 45, its first instructions 40, waiting for its end 45 to 75.",
    ),
    ("scaling", "one query of 100 documents, fn.ndcg"): Reason(
        ("scaling", "one query of 100 documents, the kernels of fn.ndcg alone"),
        "The ratios in brackets are goals. Half of the kernels' time is Numba's dispatch; the rest is checking "
        "arguments in Python.",
    ),
    ("scaling", "one query of 100 documents, Evaluator"): Reason(
        ("scaling", "one query of 100 documents, the kernels of fn.ndcg alone"),
        "The ratios in brackets are goals, as in the row above.",
    ),
    ("startup", "a process whose first call compiles nDCG@10, in total, with all that is installed here"): Reason(
        ("startup", "a process whose first call compiles nDCG@10, in total, with NumPy and Numba alone installed"),
        "Half of the time compiles `rank`, a third `collect`, mostly in Numba's own passes. Where SciPy and awkward "
        "are installed, Numba imports both first.",
    ),
    ("metrics", "`IPrec`"): Reason("15 % in some of four runs", VARIES.format("13.4")),
    ("metrics", "`IAP`"): Reason("15 % in some of four runs", VARIES.format("14.2")),
    ("metrics", "`Rndcg`"): Reason("15 % in some of four runs", VARIES.format("15.6")),
    ("metrics", "`nDCG_rel`"): Reason("15 % in some of four runs", VARIES.format("14.9")),
    ("metrics", "`pAUC`"): Reason("15 % in some of four runs", VARIES.format("12.8")),
    **{
        ("fusion", f"{method}, the objects of each, against ranx"): Reason(
            "10 to 15 sorts of the keys, which ranx takes",
            "ranx takes 10 to 15 times as long as sorting the keys of the union by NumPy. A hundredth of that would be "
            "a tenth to a seventh of one sort.",
        )
        for method in ("rrf(k=60)", "wsum(norm=min_max)")
    },
    ("fusion_tuning", "all weights, against ranx's grid of 11"): Reason(
        ("fusion_tuning", "all weights, 5 folds, 10,000 queries of 200 documents"),
        "ranx's grid takes some 150 times as long as our fuse and evaluate. A hundredth would leave 1.5 of them for "
        "all weights and five folds.",
    ),
    ("metrics", "`all_trec`, 96 metrics in one pass"): Reason(NDCG_OF_ALL_RANKS, "See all_trec of the core suite."),
}


def list_misses(reports: dict[str, Report]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield figure, goal, measured value, limit and reason of each goal that the saved figures miss."""
    for suite, report in reports.items():
        for row in report.get("workloads", ()):
            if not row["met"]:
                goal = f"≤ {row['goal']:g} × {row['against']}"
                yield _describe(suite, row["workload"], goal, f"{row['ratio']:g} ×", reports)
        for row in report.get("figures", ()):
            measured = f"{row['value']:g} {row['unit']}" if "value" in row else ""
            if row.get("met") is False:
                yield _describe(suite, row["what"], row["goal"], measured, reports)
            elif (suite, row["what"]) in REASONS and suite != "metrics":
                yield _describe(suite, row["what"], row["goal"], f"{measured}: {row['detail']}", reports)


def render_misses(reports: dict[str, Report]) -> str:
    """Return the table of missed goals in Markdown."""
    return render_table(("figure", "goal", "measured", "limit", "why"), list_misses(reports), n_left=5)


def _describe(suite: str, what: str, goal: str, measured: str, reports: dict[str, Report]) -> tuple[str, ...]:
    """Return one row of the table. A goal that is missed without a recorded reason raises an error."""
    reason = REASONS.get((suite, what))
    if reason is None:
        raise SystemExit(
            f"the goal of {what} in the suite {suite} is missed. Add its reason to benchmarks/lib/misses.py"
        )
    limit = reason.limit
    if not isinstance(limit, str):
        (row,) = (row for row in reports[limit[0]]["figures"] if row["what"] == limit[1])
        limit = f"{row['value']:g} {row['unit']}: {row['what']}"
    return f"{suite}: {what}", goal, measured, limit, reason.why

"""The HTML report of a comparison: one page that needs no network and no other file."""

from __future__ import annotations

import base64
import json
import math
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fastndcg import __version__
from fastndcg.metrics.resolve import list_shares
from fastndcg.reports import plots, text
from fastndcg.reports.html.assets import make_policy, read_asset, render_page
from fastndcg.reports.html.documents import N_ROWS, NO_DOCUMENTS, Documents, collect_documents, pack_documents
from fastndcg.reports.html.pair_matrix import describe_matrices, make_matrices
from fastndcg.reports.html.query_values import N_LISTED, MetricValues, list_queries, pack_queries
from fastndcg.reports.html.svg import N_READABLE, list_entries, write_figure
from fastndcg.runtime.escapes import MOST_NOTED, show_name
from fastndcg.statistics.comparison import CORRECTION_NAMES, FAMILY_NAMES, RANDOM_TESTS, TEST_NAMES, Comparison
from fastndcg.statistics.leaderboard import rank_comparison
from fastndcg.statistics.result_rows import Row
from fastndcg.statistics.table import format_number

PACKAGES = ("numpy", "numba", "scipy")
CURVES = (1080.0, 410.0)
HISTOGRAM = (200.0, 84.0)


def page(
    comparison: Comparison,
    title: str = "",
    queries: dict[Any, str] | None = None,
    tuned: Any = None,
    *,
    documents: bool = False,
) -> str:
    """
    Return the page as HTML.

    Parameters
    ----------
    comparison : Comparison
        The comparison to show.
    title : str
        The title. By default it has the number of systems and the name of the baseline.
    queries : {query id: text}, optional
        The texts of queries.
    tuned : TunedFusion, optional
        The tuned fusion that is the baseline, for a section on its tuning.
    documents : bool
        Whether to list the documents behind the queries won and lost most.
    """
    content = _collect_content(comparison, title)
    content["tuning"] = None if tuned is None else _collect_tuning(tuned)
    content["boards"] = _draw_boards(comparison)
    content |= _collect_queries(comparison, queries or {}, documents)
    style, script = read_asset("style.css"), read_asset("script.js")
    content |= {"style": style, "script": script, "policy": make_policy(style, script)}
    return render_page(content, ("data", "style", "script", "policy", "table_csv"))


def _collect_content(comparison: Comparison, title: str) -> dict[str, Any]:
    """Return the variables of the template, without those of queries."""
    settings = comparison.settings
    named = [name for name in comparison.systems if name != comparison.baseline]
    others = show_name(named[0]) if len(named) == 1 else f"{len(named)} systems"
    return {
        "title": title or f"{others} compared with {show_name(comparison.baseline)}",
        "comparison": comparison,
        "settings": settings,
        "blocks": [_summarize_metric(comparison, place) for place in range(len(comparison.metrics))],
        "corrected": settings.is_corrected,
        "level": f"{100 * settings.level:g} %",
        "forests": _draw_forests(comparison),
        "curves": _draw_curves(comparison),
        "curve_numbers": plots.TOOLTIP_CUTOFFS,
        "histograms": [_draw_histograms(comparison, metric) for metric in comparison.metrics],
        "matrices": make_matrices(comparison),
        "matrix_note": describe_matrices(comparison),
        "segments": None if comparison.segments is None else comparison.by(),
        "judged": _collect_shares(comparison),
        "facts": _collect_facts(comparison),
        "interval": comparison._describe_intervals().partition(": ")[2],
        "uses_replicates": settings.test in RANDOM_TESTS,
        "test": TEST_NAMES[settings.test],
        "correction": CORRECTION_NAMES.get(settings.correction, "none"),
        "family": FAMILY_NAMES[settings.family],
        "bounds": comparison.smallest_p_values(),
        "table_csv": base64.b64encode(text.as_csv(comparison, MOST_NOTED).encode()).decode(),
    }


def _collect_tuning(tuned: Any) -> dict[str, Any]:
    """Return the template's variables for the section on a tuned fusion."""
    figures = []
    for curve in tuned.curves:
        label = f"{tuned.metric} against the weight of {show_name(curve.run)}"
        figures.append((show_name(curve.run), write_figure(plots.make_fusion_curve(tuned, curve), label)))
    tables = (
        ("Methods, each tuned alone", tuned.methods),
        ("Each choice of parameters", tuned.grid),
        ("What the queries outside each fold chose", tuned.folds),
    )
    grid = ""
    if len(tuned.grid) > 1 and len(tuned.names) == 2:
        label = f"{tuned.metric} of each choice of parameters against the weight"
        grid = write_figure(plots.make_grid(tuned), label)
    return {
        "best": tuned.describe_best(),
        "metric": str(tuned.metric),
        "has_gain": tuned.has_gain,
        "has_loss": tuned.has_loss,
        "rival": show_name(tuned.rival.system),
        "figures": figures,
        "grid": grid,
        "tables": [(name, table.cells()) for name, table in tables],
        "notes": tuned.notes,
    }


def _collect_queries(comparison: Comparison, texts: dict[Any, str], has_documents: bool) -> dict[str, Any]:
    """Return the variables of the template for the queries won and lost most, and the data of the script."""
    metrics = [MetricValues(comparison, place) for place in range(len(comparison.metrics))]
    documents = collect_documents(comparison, metrics) if has_documents else Documents({}, [NO_DOCUMENTS])
    rows = {row.system: row for row in comparison.rows if row.metric == str(comparison.metrics[0])}
    lists = []
    for row in sorted(rows.values(), key=lambda row: math.inf if math.isnan(row.mean) else -row.mean):
        if row.system != comparison.baseline:
            place = comparison.systems.index(row.system)
            won, lost = list_queries(comparison, metrics[0], place, texts)
            lists.append({"system": row.system, "place": place, "row": row, "sides": (("won", won), ("lost", lost))})
    data = pack_queries(comparison, metrics, texts)
    data["documents"] = pack_documents(documents, data["places"])
    n_query_rows = len(data.pop("places"))
    return {
        "lists": lists,
        "n_listed": N_LISTED,
        "n_documents": N_ROWS,
        "documents": documents.tables,
        "document_notes": documents.notes,
        "has_texts": bool(texts),
        "n_query_rows": n_query_rows,
        "data": json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"),
    }


def _summarize_metric(comparison: Comparison, place: int) -> dict[str, Any]:
    """Return the template's variables for one metric, with systems in descending order of the mean."""
    rows = sorted(_select_rows(comparison, place), key=lambda row: math.inf if math.isnan(row.mean) else -row.mean)
    return {
        "metric": str(comparison.metrics[place]),
        "rows": rows,
        "sentence": _describe_result(comparison, rows),
        "scale": _find_scale(rows),
    }


def _select_rows(comparison: Comparison, place: int) -> list[Row]:
    return [row for row in comparison.rows if row.metric == str(comparison.metrics[place])]


def _describe_result(comparison: Comparison, rows: list[Row]) -> str:
    """Return the result for one metric in words. `rows` are in descending order of the mean."""
    tested = [row for row in rows if row.system != comparison.baseline]
    better = sum(row.significant and row.difference > 0 for row in tested)
    worse = sum(row.significant and row.difference < 0 for row in tested)
    best = rows[0]
    baseline = show_name(comparison.baseline)
    return (
        f"Best system: {show_name(best.system)}, {format_number(best.mean)}. "
        f"{better} of {len(tested)} significantly better than {baseline}, {worse} significantly worse."
    )


def _find_scale(rows: list[Row]) -> tuple[float, float]:
    """Return the start and the length of the axis of the small interval plots in the table."""
    ends = [end for row in rows for end in (row.low, row.high, row.mean) if not math.isnan(end)]
    lowest = min(ends)
    highest = max(ends)
    margin = (highest - lowest or 1.0) * 0.04
    return lowest - margin, highest - lowest + 2 * margin


def _draw_boards(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the leaderboard of each metric, and its picture as SVG."""
    boards = [rank_comparison(comparison, metric) for metric in comparison.metrics]
    label = "Means of {} with intervals and rank sets, as in the table"
    return [
        {"board": board, "svg": write_figure(plots.make_leaderboard(board), label.format(board.metric))}
        for board in boards
    ]


def _draw_forests(comparison: Comparison) -> list[str]:
    """Return the forest plot of each metric as SVG."""
    baseline = show_name(comparison.baseline)
    return [
        write_figure(
            plots.make_forest(comparison, metric),
            f"Differences of {metric} from {baseline} with intervals, as in the summary table",
        )
        for metric in comparison.metrics
    ]


def _draw_curves(comparison: Comparison) -> list[dict[str, Any]]:
    """Return each curve as SVG, with the legend, the panels, and the means of each system at some cutoffs."""
    curves = []
    baseline = comparison.systems.index(comparison.baseline)
    for place, curve in enumerate(dict.fromkeys(point.curve for point in comparison.curves)):
        figure = plots.make_curve(comparison, curve)
        means = {(point.system, point.k): point.mean for point in comparison.curves if point.curve == curve}
        rows = [
            (show_name(system), [means.get((system, k), math.nan) for k in plots.TOOLTIP_CUTOFFS])
            for system in comparison.systems
        ]
        label = f"{show_name(curve)} against its cutoff for each system"
        curves.append({
            "name": show_name(curve), "rows": rows, "svg": write_figure(figure, label, CURVES, "curves"),
            "entries": list_entries(figure, baseline, place), "has_panels": len(rows) > N_READABLE,
        })  # fmt: skip
    return curves


def _draw_histograms(comparison: Comparison, metric: Any) -> list[tuple[str, str]]:
    """Return each system's name with its histogram as SVG, the largest difference first."""
    rows = {row.system: row for row in comparison.rows if row.metric == str(metric)}
    histograms = []
    for system, figure in plots.make_histograms(comparison, metric).items():
        row = rows[system]
        label = (
            f"{show_name(system)}: won {row.wins}, tied {row.ties}, lost {row.losses}, "
            f"mean difference {format_number(row.difference, signed=True)}"
        )
        histograms.append((show_name(system), write_figure(figure, label, HISTOGRAM, "histogram")))
    return histograms


def _collect_shares(comparison: Comparison) -> dict[str, Any] | None:
    """Return the shares of judged documents of each system at the cutoffs of the metrics, None if all are 1."""
    shares = list_shares(comparison.metrics, comparison.results[comparison.baseline].convention)
    names = [str(share) for share in shares]
    rows = [
        (system, [result.judged.get(name, 1.0) for name in names])
        for system, result in comparison.results.items()
        if result.judged is not None
    ]
    return {"names": names, "rows": rows} if any(share < 1 for _, own in rows for share in own) else None


def _collect_facts(comparison: Comparison) -> dict[str, Any]:
    """Return the convention, the versions of packages, and the number of undefined queries per system."""
    convention = comparison.results[comparison.baseline].convention
    installed = {"fastndcg": __version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    undefined = {row.system: 0 for row in comparison.rows}
    for row in comparison.rows:
        undefined[row.system] = max(undefined[row.system], row.n_undefined)
    return {"convention": convention, "choices": convention.choices(), "versions": installed, "undefined": undefined}

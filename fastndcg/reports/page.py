"""The HTML report of a comparison: one page that needs no network and no other file."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import platform
from collections.abc import Sequence
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fastndcg import __version__
from fastndcg.errors import FastndcgError, InvalidInputError
from fastndcg.explaining.change import explain_change
from fastndcg.judging.bounds import bounds
from fastndcg.judging.judges import compare_judges, estimate_with_judge
from fastndcg.judging.metric_bounds import BOUNDS, has_bounds
from fastndcg.metrics.metric import Metric, Metrics
from fastndcg.metrics.resolve import list_shares
from fastndcg.rankings.validation import Array
from fastndcg.reports import plots, text
from fastndcg.reports.documents import N_ROWS, NO_DOCUMENTS, collect_documents, pack_documents
from fastndcg.reports.queries import N_LISTED, MetricValues, list_queries, pack_queries
from fastndcg.reports.svg import N_READABLE, list_entries, write_figure
from fastndcg.results.kinds import IndexRecall
from fastndcg.results.per_query import read_query_texts
from fastndcg.runtime.escapes import MOST_NOTED, show_name
from fastndcg.runtime.imports import optional_import
from fastndcg.statistics.all_pairs import Pair, make_pair_settings
from fastndcg.statistics.comparison import (
    CORRECTION_NAMES,
    FAMILY_NAMES,
    RANDOM_TESTS,
    TEST_NAMES,
    Comparison,
    describe_test,
)
from fastndcg.statistics.curves import CurvePoint
from fastndcg.statistics.leaderboard import rank_comparison
from fastndcg.statistics.result_rows import POWER, STARS, Row, describe_gain
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.table import format_interval, format_number, format_p_value

PACKAGES = ("numpy", "numba", "scipy")
MAX_SYSTEMS = 30  # of a matrix of pairs: a wider one cannot be read


def page(
    comparison: Comparison,
    title: str = "",
    *,
    segments: Any = None,
    queries: Any = None,
    curves: Metrics | None = None,
    margin: float | None = None,
    documents: bool = False,
    judge: Any = None,
    labels: Any = None,
    tuned: Any = None,
) -> str:
    """
    Return the page as HTML.

    Parameters
    ----------
    comparison : Comparison
        The comparison to show.
    title : str
        The title. By default it has the number of systems and the name of the baseline.
    segments, queries, curves, margin, documents, judge, labels
        See `Comparison.to_html`.
    tuned : TunedFusion, optional
        The tuned fusion that is the baseline, for a section on its tuning.
    """
    content = _collect_content(comparison, title)
    equivalence = None if margin is None else comparison.equivalence(margin)
    content |= {
        "curves": _draw_curves(comparison, comparison.curves(curves)),
        "equivalence": {(row.system, row.metric): row.p for row in equivalence or ()},
        "equivalence_note": equivalence.notes[0] if equivalence else "",
        "segments": None if segments is None else comparison.by(segments),
        "table_csv": base64.b64encode(text.as_csv(comparison, MOST_NOTED, equivalence).encode()).decode(),
        "sections": [
            ("moves", "Documents that moved", _collect_moves(comparison) if documents else []),
            ("unjudged", "What unjudged documents could do", [] if labels is None else _bound(comparison, labels)),
            ("judge", "A judge beside human labels", [] if judge is None else _collect_judge(comparison, judge)),
        ],
        "tuning": None if tuned is None else _collect_tuning(tuned),
    }
    own = None if segments is None else comparison._read_segments(segments)[0]
    content |= _collect_queries(comparison, read_query_texts(queries, comparison.query_ids), own, documents)
    style, script = read_asset("style.css"), read_asset("script.js")
    content |= {"style": style, "script": script, "policy": make_policy(style, script)}
    return render_page(content, ("data", "style", "script", "policy", "table_csv"))


def _collect_content(comparison: Comparison, title: str) -> dict[str, Any]:
    """Return the variables of the template that every page has, without those of queries."""
    settings = comparison.settings
    named = [name for name in comparison.systems if name != comparison.baseline]
    is_pair = len(comparison.systems) == 2  # whose tables of ranks and pairs would repeat the summary
    ranked = [metric for metric in comparison.metrics if metric.sign and not is_pair]
    others = show_name(named[0]) if len(named) == 1 else f"{len(named)} systems"
    return {
        "title": title or f"{others} compared with {show_name(comparison.baseline)}",
        "comparison": comparison,
        "settings": settings,
        "sentences": [text.join_intervals(sentence, "\N{NO-BREAK SPACE}") for sentence in comparison.sentences],
        "blocks": [_summarize_metric(comparison, place) for place in range(len(comparison.metrics))],
        "corrected": settings.is_corrected,
        "level": f"{100 * settings.level:g} %",
        "power": f"{100 * POWER:g} %",
        "boards": [_make_board(comparison, metric) for metric in ranked],
        "forests": [_draw_forest(comparison, metric) for metric in comparison.metrics],
        "curve_numbers": plots.TOOLTIP_CUTOFFS,
        "histograms": [_draw_histograms(comparison, metric) for metric in comparison.metrics],
        "matrices": [] if is_pair else _make_matrices(comparison),
        "matrix_note": describe_test(make_pair_settings(settings), "pairs"),
        "judged": _collect_shares(comparison),
        "losses": _collect_losses(comparison),
        "facts": _collect_facts(comparison),
        "interval": comparison._describe_intervals().partition(": ")[2],
        "uses_replicates": settings.test in RANDOM_TESTS,
        "test": TEST_NAMES[settings.test],
        "correction": CORRECTION_NAMES.get(settings.correction, "none"),
        "family": FAMILY_NAMES[settings.family],
        "bounds": comparison.smallest_p_values(),
    }


def _collect_tuning(tuned: Any) -> dict[str, Any]:
    """Return the template's variables for the section on a tuned fusion."""
    figures = []
    for curve in tuned.curves:
        label = f"{tuned.metric} against the weight of {show_name(curve.run)}"
        figure = write_figure(plots.make_fusion_curve(tuned, curve), label, "curves")
        figures.append((show_name(curve.run), figure))
    tables = (
        ("Methods, each tuned alone", tuned.methods),
        ("Each choice of parameters", tuned.grid),
        ("What the queries outside each fold chose", tuned.folds),
    )
    grid = ""
    if len(tuned.grid) > 1 and len(tuned.names) == 2:
        label = f"{tuned.metric} of each choice of parameters against the weight"
        grid = write_figure(plots.make_grid(tuned), label, "curves")
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


NamedTables = list[tuple[str, Sequence[Sequence[str]], Sequence[str]]]


def _collect_moves(comparison: Comparison) -> NamedTables:
    """Return the table of the documents that moved, and what that adds to a mean, if that is a sum over documents."""
    inputs = comparison.inputs
    metric = next((metric for metric in comparison.metrics if metric.sign and metric.record.is_additive), None)
    if inputs is None or inputs.truth is None or metric is None or not comparison.design.is_plain:
        return []
    cuts = {name: getattr(inputs.options, name) for name in ("offsets", "groups", "query_ids")}
    settings = {"convention": inputs.convention, "threads": comparison.settings.threads, **cuts}
    cells = [["system", "documents", "n", "adds"]]
    notes: list[str] = []
    for name in comparison.systems:
        if name != comparison.baseline:
            pair = comparison.baseline, name
            try:
                before, after = (inputs.predictions[side] for side in pair)
                change = explain_change(inputs.truth, before, after, metric, **settings)
            except (FastndcgError, OSError) as error:
                notes.append(f"{show_name(name)}: {error}")
                continue
            if [change.before, change.after] != [comparison.results[side].mean()[str(metric)] for side in pair]:
                notes.append(f"{show_name(name)}: left out, since the inputs have changed")
                continue
            cells += [[show_name(name), *row] for row in change.moves.cells()[1:]]
            notes += [f"{show_name(name)}: {note}" for note in change.notes_on_moves]
    return [(f"From {show_name(comparison.baseline)} to each system, in {metric}", cells, notes)]


def _bound(comparison: Comparison, labels: Any) -> NamedTables:
    """Return the table of the bounds over all labels of unjudged documents, with its notes."""
    inputs = comparison.inputs
    metrics = [metric for metric in comparison.metrics if has_bounds(metric)]
    if inputs is None or inputs.truth is None or not metrics:
        raise InvalidInputError(
            f"`labels` needs a comparison of runs by judgments, in a metric with bounds ({', '.join(BOUNDS)}). Give "
            "compare the judgments and the runs, or leave `labels` out"
        )
    names = [comparison.baseline, *(name for name in comparison.systems if name != comparison.baseline)]
    systems = {name: inputs.predictions[name] for name in names}
    threads = comparison.settings.threads
    found = bounds(inputs.truth, systems, metrics, labels=labels, convention=inputs.convention, threads=threads)
    return [("Lowest and highest values over all labels of the unjudged documents", found.cells(), found.notes)]


def _collect_judge(comparison: Comparison, judge: Any) -> NamedTables:
    """Return the tables on a judge, each with its name and its notes."""
    inputs = comparison.inputs
    if inputs is None or inputs.truth is None or not comparison.design.is_plain:
        raise InvalidInputError(
            "`judge` needs a comparison of runs by human labels, without weights, clusters or strata. Give compare the "
            "labels and the runs, or leave `judge` out"
        )
    given = (inputs.truth, judge, inputs.predictions, comparison.metrics)
    settings = {name: getattr(comparison.settings, name) for name in ("level", "threads")}
    estimates = estimate_with_judge(*given, baseline=comparison.baseline, convention=inputs.convention, **settings)
    agreed = compare_judges(*given, convention=inputs.convention, **settings)
    confusion = agreed.confusion._print_table()
    return [
        ("Means and differences with the help of the judge", estimates.cells(), estimates.notes),
        ("Order of systems by the judge", agreed.cells(), agreed.notes),
        ("Labels of documents", confusion.cells, confusion.notes),
    ]


def _collect_queries(
    comparison: Comparison, texts: dict[Any, str], segments: Array | None, has_documents: bool
) -> dict[str, Any]:
    """Return the variables of the template for the queries won and lost most, and the data of the script."""
    metrics = [MetricValues(comparison, place) for place in range(len(comparison.metrics))]
    listed = next((place for place, metric in enumerate(comparison.metrics) if metric.sign), 0)
    tables, notes = collect_documents(comparison, metrics) if has_documents else ({}, [NO_DOCUMENTS])
    lists = []
    for row in _select_rows(comparison, listed):
        if row.system != comparison.baseline:
            place = comparison.systems.index(row.system)
            won, lost = list_queries(comparison, metrics[listed], place, texts)
            lists.append({"system": row.system, "place": place, "row": row, "sides": (("won", won), ("lost", lost))})
    data = pack_queries(comparison, metrics, texts, segments)
    data["documents"] = pack_documents(tables, data["places"])
    n_query_rows = len(data.pop("places"))
    return {
        "lists": lists,
        "listed": listed,
        "n_listed": N_LISTED,
        "n_documents": N_ROWS,
        "documents": tables,
        "document_notes": notes,
        "has_texts": bool(texts),
        "n_query_rows": n_query_rows,
        "data": json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"),
    }


def _summarize_metric(comparison: Comparison, place: int) -> dict[str, Any]:
    """Return the template's variables for one metric, with the best system first."""
    rows = _select_rows(comparison, place)
    return {
        "metric": _describe_metric(comparison.metrics[place]),
        "rows": rows,
        "scale": _find_scale(rows),
    }


def _select_rows(comparison: Comparison, place: int) -> list[Row]:
    """Return the rows of a metric, the best first, or in the order of systems for a metric without direction."""
    metric = comparison.metrics[place]
    rows = [row for row in comparison.rows if row.metric == str(metric)]
    return sorted(rows, key=lambda row: math.inf if math.isnan(row.mean) else -metric.sign * row.mean)


def _find_scale(rows: list[Row]) -> tuple[float, float]:
    """Return the start and the length of the axis of the small interval plots in the table."""
    ends = [end for row in rows for end in (row.low, row.high, row.mean) if not math.isnan(end)]
    lowest = min(ends)
    highest = max(ends)
    margin = (highest - lowest or 1.0) * 0.04
    return lowest - margin, highest - lowest + 2 * margin


def _describe_metric(metric: Metric) -> str:
    return f"{metric}{', lower is better' * (metric.sign < 0)}"


def _make_board(comparison: Comparison, metric: Metric) -> dict[str, Any]:
    """Return the template's variables for the leaderboard of a metric."""
    board = rank_comparison(comparison, metric)
    label = f"Means of {metric} with intervals and rank sets, as in the table"
    return {
        "metric": _describe_metric(metric),
        "board": board,
        "svg": write_figure(plots.make_leaderboard(board), label),
    }


def _draw_forest(comparison: Comparison, metric: Metric) -> str:
    baseline = show_name(comparison.baseline)
    label = f"Differences of {metric} from {baseline} with intervals, as in the summary table"
    return write_figure(plots.make_forest(comparison, metric), label)


def _draw_curves(comparison: Comparison, points: Sequence[CurvePoint]) -> list[dict[str, Any]]:
    """Return each curve as SVG, with the legend, the panels, and the means of each system at some cutoffs."""
    curves = []
    baseline = comparison.systems.index(comparison.baseline)
    for place, curve in enumerate(dict.fromkeys(point.curve for point in points)):
        own = [point for point in points if point.curve == curve]
        figure = plots.make_curve(comparison, own)
        means = {(point.system, point.k): point.mean for point in own}
        rows = [
            (show_name(system), [means.get((system, k), math.nan) for k in plots.TOOLTIP_CUTOFFS])
            for system in comparison.systems
        ]
        label = f"{show_name(curve)} against its cutoff for each system"
        curves.append({
            "name": show_name(curve), "rows": rows, "svg": write_figure(figure, label, "curves"),
            "entries": list_entries(figure, baseline, place), "has_panels": len(rows) > N_READABLE,
        })  # fmt: skip
    return curves


def _draw_histograms(comparison: Comparison, metric: Any) -> list[tuple[str, str]]:
    """Return each system's name with its histogram as SVG, the best first."""
    rows = {row.system: row for row in comparison.rows if row.metric == str(metric)}
    histograms = []
    for system, figure in plots.make_histograms(comparison, metric).items():
        row = rows[system]
        facts = [*plots.describe_counts(row), f"mean difference {format_number(row.difference, signed=True)}"]
        label = f"{show_name(system)}: {', '.join(facts)}"
        histograms.append((show_name(system), write_figure(figure, label, "histogram")))
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


def _collect_losses(comparison: Comparison) -> list[list[str]]:
    """Return the table of what each setting of an index lost, empty without one."""
    losses = {name: own.describe_loss() for name, own in comparison.results.items() if isinstance(own, IndexRecall)}
    names = list(dict.fromkeys(name for own in losses.values() for name in own))
    rows = [[show_name(system), *(own.get(name, "") for name in names)] for system, own in losses.items()]
    return [["system", *names], *rows] if rows else []


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


def _make_matrices(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the matrix of each metric."""
    pairs_by_metric = comparison._list_pairs(comparison.settings.test)
    return [_make_matrix(comparison, place, pairs) for place, pairs in enumerate(pairs_by_metric)]


def _make_matrix(comparison: Comparison, place: int, pairs: list[Pair]) -> dict[str, Any]:
    """Return the template's variables for the matrix of a metric: the lines, the words and the colour of each cell."""
    systems = [row.system for row in _select_rows(comparison, place)]
    names = systems[:MAX_SYSTEMS]
    if comparison.baseline not in names:
        names[-1] = comparison.baseline
    sign = comparison.metrics[place].sign
    by_systems: dict[tuple[str, str], Pair] = {(pair.system, pair.against): pair for pair in pairs}
    cells = []
    for row, system in enumerate(names):
        line = []
        for column, other in enumerate(names):
            pair = by_systems.get((system, other)) or by_systems.get((other, system))
            if pair is None:
                line.append({"lines": (), "title": "", "style": "diagonal"})
            elif row < column:
                difference = pair.difference if pair.system == system else -pair.difference
                line.append(_make_difference_cell(difference, sign, pair, f"{system} minus {other}"))
            else:
                line.append(_make_p_cell(pair, f"{system} and {other}", comparison.settings))
        cells.append(line)
    metric = _describe_metric(comparison.metrics[place])
    return {"metric": metric, "systems": names, "cells": cells, "n_hidden": len(systems) - len(names)}


def _make_difference_cell(difference: float, sign: int, pair: Pair, title: str) -> dict[str, Any]:
    stars = next((stars for limit, stars in STARS if pair.p_corrected < limit), "") if pair.significant else ""
    style = describe_gain(sign * difference) if stars else ""
    number = format_number(difference, signed=True)
    return {"lines": (number, stars), "title": f"{title}: {number}", "style": style}


def _make_p_cell(pair: Pair, title: str, settings: Settings) -> dict[str, Any]:
    lines = [format_p_value(pair.p)]
    if settings.is_corrected:
        lines.append(format_p_value(pair.p_corrected))
    title = f"{title}: p {', corrected '.join(lines)}"
    return {"lines": lines, "title": title, "style": "significant" if pair.significant else ""}


def make_policy(style: str, script: str) -> str:
    """
    Return a Content-Security-Policy that allows this style and this script alone, and no address.

    Attributes of style place the bars of tables. `style-src` is for browsers without `style-src-elem`.
    """
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; script-src 'sha256-{hashes[1]}'; style-src 'unsafe-inline'; "
        f"style-src-elem 'sha256-{hashes[0]}'; style-src-attr 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def render_page(content: dict[str, Any], markup_names: tuple[str, ...]) -> str:
    """Return the page. Text is escaped, except for the names in `markup_names`, which hold our own markup."""
    jinja2 = optional_import("jinja2", "a report", "report")
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_escape,
        loader=jinja2.FunctionLoader(read_asset),
    )
    environment.globals |= {
        "format_number": format_number,
        "format_interval": format_interval,
        "format_p_value": format_p_value,
        "isnan": math.isnan,
        "markup": jinja2.utils.markupsafe.Markup,
    }
    markup = jinja2.utils.markupsafe.Markup
    marked = {name: markup(content[name]) for name in markup_names}
    text: str = environment.get_template("page.html").render(**content | marked)
    return text


def _escape(value: Any) -> Any:
    """Return text short and printable. Return our own markup and other values as they are."""
    return value if hasattr(value, "__html__") or not isinstance(value, str) else show_name(value)


def read_asset(name: str) -> str:
    """Return a template, the style or the script as text."""
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")

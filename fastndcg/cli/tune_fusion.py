"""``fastndcg tune-fusion``: the best fusion of runs, found on judged queries and checked on others."""

from __future__ import annotations

import argparse
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from fastndcg.choices import AbsentTreatment
from fastndcg.cli import completion, options, output
from fastndcg.cli.compare import read_names, read_segments
from fastndcg.cli.progress import show_progress
from fastndcg.errors import InvalidInputError
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import parse_convention
from fastndcg.runtime.optional_packages import check_packages, optional_import

if TYPE_CHECKING:
    from fastndcg.fusion.tuning.tuned_fusion import TunedFusion

DEFAULT_METRIC = "ndcg@10"
FORMATS = ("table", "markdown", "latex", "json", "csv")
DESCRIPTION = """\
Tune the fusion of two or more runs: the method, its parameters and the weights of the runs. The reported mean is that
of queries that were not used for tuning, compared with each run, equal weights and rrf(k=60).
"""
EXAMPLES = """\
  fastndcg tune-fusion qrels.txt bm25.run dense.run -m ndcg@10 --folds 5
  fastndcg tune-fusion qrels.txt bm25.run dense.run --method 'wsum(norm=min_max)' --run tuned.run
  fastndcg tune-fusion qrels.txt a.run b.run c.run -m map --repeats 3 --html report.html
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(
        commands, "tune-fusion", "find the best weights of a fusion of runs, checked on held-out queries", DESCRIPTION,
        EXAMPLES,
    )  # fmt: skip
    parser.add_argument("qrels", metavar="QRELS", help=options.QRELS)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"two or more; {options.RUN}")
    parser.add_argument("-m", "--metric", default=DEFAULT_METRIC, metavar="METRIC", help="the metric to improve "
                        f"(default: {DEFAULT_METRIC})")  # fmt: skip
    method = parser.add_argument(
        "--method",
        action="append",
        metavar="METHOD",
        help="a method to tune, such as 'rrf' or 'wsum(norm=z_score)'; may be repeated (default: rrf, "
        "wsum(norm=min_max) and wsum(norm=z_score))",
    )
    completion.set_completer(method, completion.list_fusion_methods)
    parser.add_argument("--folds", type=int, default=5, metavar="N", help="the number of folds (default: 5)")
    parser.add_argument(
        "--repeats", type=int, default=1, metavar="N", help="how many times the queries are divided (default: 1)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of the folds (default: 0)")
    parser.add_argument(
        "--plateau",
        choices=("best", "widest"),
        default="best",
        help="the interval of weights to take: the best one, or the widest one within a standard error (default: best)",
    )
    parser.add_argument(
        "--clusters",
        metavar="FILE",
        help="queries that stay in one fold; FILE has a query id and a cluster on each line",
    )
    parser.add_argument("--names", action="append", metavar="NAMES", help="names of the runs, separated by commas")
    parser.add_argument("--depth", type=int, metavar="N", help="how many documents of each RUN and query "
                        "count (default: all)")  # fmt: skip
    parser.add_argument(
        "--absent",
        choices=get_args(AbsentTreatment),
        help="what a RUN gives to documents that it lacks (default: what the method's definition says)",
    )
    options.add_fusion_convention(parser)
    options.add_convention(parser)
    options.add_qrels_format(parser)
    options.add_format(parser, FORMATS)
    parser.add_argument("--html", metavar="FILE", help="also write a report as one HTML page that works offline")
    parser.add_argument("--plot", metavar="FILE", help="also draw the metric against the weight, such as curve.png")
    parser.add_argument("--run", dest="fused", metavar="FILE", help="also write the runs, fused by the best fusion")
    options.add_threads(parser)
    options.add_output(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Check the options, tune the fusion, and write the table, the report, the picture and the fused run."""
    inputs = [arguments.qrels, *arguments.runs, *filter(None, (arguments.clusters,))]
    targets = {
        "-o": arguments.output, "--html": arguments.html, "--plot": arguments.plot, "--run": arguments.fused,
    }  # fmt: skip
    for option, target in targets.items():
        if target is not None:
            output.check(target, inputs, option)
    paths = [os.path.realpath(target) for target in targets.values() if target is not None]
    if len(set(paths)) < len(paths):
        raise InvalidInputError(f"{', '.join(targets)} must name different files. Change one of them.")
    if arguments.html:
        check_packages("a report", "report")
    figure = _make_figure(arguments.plot) if arguments.plot else None
    parse_metrics(arguments.metric)
    tuned, runs = _tune(arguments)
    if arguments.html:
        from fastndcg.reports.html.page import page

        title = f"Fusion tuned for {tuned.metric}"
        output.write([page(tuned.comparison, title, {}, tuned)], arguments.html, "--html")
    if arguments.fused:
        tuned.apply(runs).write(arguments.fused)
    output.write(_format(tuned, arguments.format), arguments.output)
    if figure is not None:  # last: a method that is not linear has no curve, and the tuning has taken its time
        _draw(tuned, figure, arguments.plot)


def _tune(arguments: argparse.Namespace) -> tuple[TunedFusion, Any]:
    """Read the runs, and return the tuned fusion with them."""
    convention = parse_convention(arguments.convention)
    names = read_names(arguments)
    with show_progress(2 + len(arguments.runs)) as begin_step:
        begin_step(f"reading {Path(arguments.qrels).name}")
        from fastndcg.fusion.tuning.tune import METHODS, tune_fusion  # imports numpy
        from fastndcg.inputs.run_names import name_runs
        from fastndcg.inputs.text.formats import read_qrels, read_run

        clusters = read_segments(arguments.clusters) if arguments.clusters else None
        names = names or name_runs(arguments.runs)
        qrels = read_qrels(arguments.qrels, format=arguments.qrels_format, threads=arguments.threads)
        runs = []
        for name, path in zip(names, arguments.runs, strict=True):
            begin_step(f"reading {Path(path).name}")
            runs.append((name, read_run(path, threads=arguments.threads)))
        begin_step("tuning")
        tuned = tune_fusion(
            qrels,
            runs,
            arguments.metric,
            arguments.method or METHODS,
            folds=arguments.folds,
            seed=arguments.seed,
            clusters=clusters,
            repeats=arguments.repeats,
            plateau=arguments.plateau,
            depth=arguments.depth,
            absent=arguments.absent,
            fusion_convention=arguments.fusion_convention,
            convention=convention,
            threads=arguments.threads,
        )
    return tuned, runs


def _make_figure(path: str) -> Any:
    """Return a figure of matplotlib, or raise an error for a file that it cannot write."""
    figure = optional_import("matplotlib.figure", "plotting", "plots").Figure(figsize=(7.0, 4.0), layout="constrained")
    if _find_ending(path) not in figure.canvas.get_supported_filetypes():
        raise InvalidInputError(f"--plot must end in a format such as .png or .svg, but is {path}. Change the ending.")
    return figure


def _draw(tuned: TunedFusion, figure: Any, path: str) -> None:
    """Save the picture of the curve, or raise an error for a method without one."""
    if not tuned.curves:
        raise InvalidInputError(
            f"--plot needs a best method that is linear in its weights, such as wsum or rrf, but {tuned.best.method} "
            "is not. Everything else was written."
        )
    tuned.plot(axes=figure.subplots())
    picture = io.BytesIO()
    figure.savefig(picture, dpi=150, format=_find_ending(path))
    output.write_file([picture.getvalue()], path, "--plot")


def _find_ending(path: str) -> str:
    return Path(path).suffix.removeprefix(".").lower()


def _format(tuned: TunedFusion, form: str) -> Sequence[str]:
    """Return the table with the methods and folds, or another format."""
    if form == "table":
        return [f"{tuned}\n", "\n", f"{tuned.methods}\n", "\n", f"{tuned.folds}\n"]
    return [getattr(tuned, f"to_{form}")()]

"""``fastndcg plot``: a picture of a comparison of runs."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from fastndcg.cli import embeddings, options, output
from fastndcg.cli.compare import CURVE_METRICS, add_inputs, compare_runs
from fastndcg.errors import InvalidInputError
from fastndcg.runtime.optional_packages import optional_import

KINDS = ("forest", "curve", "histogram")
DESCRIPTION = """\
Draw a comparison of runs with matplotlib.
  forest     the difference of each run from the baseline, with its confidence interval
  curve      a metric at each cutoff
  histogram  the differences of one run from the baseline, query by query
The first metric of -m is drawn; a curve always shows nDCG.
"""
EXAMPLES = """\
  fastndcg plot QRELS BASELINE RUN -m ndcg@10 -o differences.png
  fastndcg plot QRELS BASELINE RUN --kind curve -o curve.svg
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(
        commands, "plot", "draw a comparison of runs as a forest plot, a curve or a histogram", DESCRIPTION, EXAMPLES
    )
    add_inputs(parser)
    parser.add_argument("--kind", choices=KINDS, default="forest", help="the kind of plot (default: forest)")
    parser.add_argument(
        "--system", metavar="NAME", help="the run that a histogram shows (default: the first run but the baseline)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="the picture's file; its ending, such as .png, .svg "
        "or .pdf, chooses the format",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Compare the runs, draw the comparison and save the picture."""
    embeddings.check_options(arguments, arguments.runs)
    output.check(arguments.output, [arguments.qrels, *embeddings.list_files(arguments.runs)])
    figures = optional_import("matplotlib.figure", "plotting", "plots")
    figure = figures.Figure(layout="constrained")
    endings = figure.canvas.get_supported_filetypes()
    ending = Path(arguments.output).suffix.removeprefix(".").lower()
    if ending not in endings:
        allowed = ", ".join(f".{name}" for name in sorted(endings))
        raise InvalidInputError(f"-o must end in one of {allowed}, but is {arguments.output}. Change the ending.")
    is_curve = arguments.kind == "curve"
    comparison = compare_runs(arguments, CURVE_METRICS if is_curve else None)
    height = 1.1 + 0.3 * len(comparison.systems) if arguments.kind == "forest" else 4.2
    figure.set_size_inches(9.4 if is_curve else 7.0, height)
    metric = None if is_curve else comparison.metrics[0]
    comparison.plot(arguments.kind, metric=metric, system=arguments.system, axes=figure.subplots())
    picture = io.BytesIO()
    figure.savefig(picture, dpi=150, format=ending)
    output.write_file([picture.getvalue()], arguments.output)

"""``fastndcg plot``: a comparison as a picture."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from fastndcg.cli import output
from fastndcg.cli.comparing import CURVES, add_inputs, compared
from fastndcg.errors import InvalidInputError, optional_import

KINDS = ("forest", "curve", "histogram")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = commands.add_parser(
        "plot",
        help="draw runs: differences with intervals, a metric against its cutoff, or query by query",
        description="Draw a comparison of runs with matplotlib; the first of the metrics is drawn.",
    )
    add_inputs(parser)
    parser.add_argument("--kind", choices=KINDS, default="forest", help="default: forest")
    parser.add_argument("--system", metavar="NAME", help="of a histogram (default: the first that is not the baseline)")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="a picture: .png, .svg, .pdf, …")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Compare, draw, save."""
    output.check(arguments.output, [arguments.qrels, *arguments.runs])
    figures = optional_import("matplotlib.figure", "plotting", "plots")
    figure = figures.Figure(layout="constrained")
    known = figure.canvas.get_supported_filetypes()
    ending = Path(arguments.output).suffix.removeprefix(".").lower()
    if ending not in known:
        raise InvalidInputError(f"-o must end in one of {', '.join('.' + one for one in sorted(known))}")
    found = compared(arguments, CURVES if arguments.kind == "curve" else None)
    height = 1.1 + 0.3 * len(found.systems) if arguments.kind == "forest" else 4.2
    figure.set_size_inches(9.4 if arguments.kind == "curve" else 7.0, height)
    metric = None if arguments.kind == "curve" else found.metrics[0]
    found.plot(arguments.kind, metric=metric, system=arguments.system, axes=figure.subplots())
    picture = io.BytesIO()
    figure.savefig(picture, dpi=150, format=ending)
    output.write_file([picture.getvalue()], arguments.output)

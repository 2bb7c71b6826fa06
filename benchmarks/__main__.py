"""Command line of the benchmarks: `python -m benchmarks COMMAND`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.lib.suite import RESULTS, SUITES, Options, load_suite, run_suite


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure the speed of fastndcg.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run a suite, print its figures and save those of a whole run")
    run.add_argument("suite", choices=SUITES, metavar="SUITE", help=", ".join(SUITES))
    run.add_argument("--scale", type=float, help="share of the workloads' size (default: the suite's own, mostly 1)")
    run.add_argument("--repeat", type=int, help="least number of times that each call is timed")
    run.add_argument("--only", nargs="+", metavar="PART", help="run these parts of the suite; a wrong name lists all")
    run.add_argument("--json", type=Path, metavar="FILE", help="save the figures here")
    compare = commands.add_parser("compare", help="compare the working tree with a commit; fails over 1.10, twice")
    compare.add_argument("base", nargs="?", default="HEAD", metavar="COMMIT")
    compare.add_argument("--scale", type=float, default=0.2)
    compare.add_argument("--repeat", type=int, default=7)
    compare.add_argument("--only", nargs="+", metavar="WORKLOAD")
    commands.add_parser("check", help="verify all metrics and compare the speed with the history, in about a minute")
    render = commands.add_parser("render", help="write the saved figures into the READMEs and draw the chart")
    render.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a table is out of date")
    commands.add_parser("record", help="append the saved figures of the core suite to results/history.jsonl")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.command == "run":
        suite = load_suite(options.suite)
        parts = _check_parts(parser, options.only, suite.parts)
        scale = suite.scale if options.scale is None else options.scale
        return run_suite(options.suite, Options(scale, options.repeat or suite.repeat, parts), options.json)
    if options.command == "compare":
        from benchmarks.lib.compare import NAMES, compare_versions

        parts = _check_parts(parser, options.only, NAMES)
        return compare_versions(options.base, parts, options.scale, options.repeat)
    if options.command == "check":
        from benchmarks.lib.check import check_speed

        return check_speed()
    if options.command == "render":
        from benchmarks.lib.documents import render_documents

        return render_documents(is_check=options.check)
    from benchmarks.lib.history import append_line

    print(json.dumps(append_line(json.loads((RESULTS / "core.json").read_text(encoding="utf-8")))))
    return 0


def _check_parts(parser: argparse.ArgumentParser, only: list[str] | None, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts to run, all by default, or end the program with a list of all for an unknown name."""
    for name in only or ():
        if name not in parts:
            parser.error(f"argument --only: {name!r} is not a part. There are: {', '.join(parts)}")
    return parts if only is None else tuple(only)


if __name__ == "__main__":
    sys.exit(main())

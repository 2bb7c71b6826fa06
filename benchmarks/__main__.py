"""Command line of the benchmarks: `scripts/bench`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.record import RESULTS, SUITES

COMPARED = "not library"  # libraries are timed against one call of ours
ROWS = 48


def main() -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Track the speed of fastndcg.")
    commands = parser.add_mutually_exclusive_group(required=True)
    commands.add_argument("--against", metavar="COMMIT", help="compare the working tree with a commit")
    commands.add_argument("--record", nargs="*", choices=SUITES, metavar="SUITE", help="save the results of suites")
    commands.add_argument("--smoke", action="store_true", help="for CI: proofs, a row a suite against the merge base")
    commands.add_argument("--figures", action="store_true", help="write the saved figures into README and docs")
    parser.add_argument("--check", action="store_true", help="with --figures: fail if one is out of date")
    parser.add_argument("--no-anchor", action="store_true", help="leave out the anchor, which takes minutes to compile")
    parser.add_argument("-k", default=COMPARED, metavar="EXPRESSION", help="rows to compare, as pytest's -k")
    parser.add_argument("--rows", type=int, default=ROWS, metavar="N", help="most rows to compare, over all suites")
    parser.add_argument("--scale", type=float, help="share of the full size: 0.05 of a comparison, 1 of a record")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="where a record is saved")
    options = parser.parse_args()
    if options.smoke:  # scripts/bench does it itself
        parser.error("`--smoke` must be the first argument of scripts/bench")
    if options.figures:
        from benchmarks.figures import write_figures

        return write_figures(is_check=options.check)
    if options.against is not None:
        from benchmarks.against import compare_with

        scale = options.scale or 0.05
        return compare_with(options.against, options.k, options.rows, scale, has_anchor=not options.no_anchor)
    from benchmarks.record import record_suites

    return record_suites(options.record or SUITES, options.scale or 1.0, options.results)


if __name__ == "__main__":
    sys.exit(main())

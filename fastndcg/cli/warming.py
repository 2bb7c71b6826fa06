"""``fastndcg warmup``: compile ahead, for container builds and servers."""

from __future__ import annotations

import argparse

from fastndcg.cli import output
from fastndcg.cli.progress import progress


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("warmup", help="compile into the cache what evaluations need")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Compile, and say where to and how long it took."""
    del arguments
    with progress(1) as step:
        step("compiling")
        from fastndcg.warm import warmup

        done = warmup()
    place = done.cache or "nowhere, since no folder can be written; it lasts as long as this process"
    output.write([f"machine code: {place}\n", f"took: {done.seconds:.1f} s\n"], None)

"""``fastndcg warmup``: compile all kernels ahead of time, or clear the cache of compiled kernels."""

from __future__ import annotations

import argparse

from fastndcg.cli import options, output
from fastndcg.cli.progress import show_progress
from fastndcg.runtime import compilation
from fastndcg.runtime.kernel_cache import clear

DESCRIPTION = """\
Compile the kernels that evaluations need and store them in the cache. Run it when you build a container image, or
before a server starts.

The cache belongs to the user: ~/.cache/fastndcg on Linux, ~/Library/Caches/fastndcg on macOS,
%LOCALAPPDATA%\\fastndcg on Windows. Two environment variables change this command:
  FASTNDCG_CACHE_DIR  another folder for the cache
  FASTNDCG_QUIET=1    print no progress lines on standard error
"""
EXAMPLES = """\
  fastndcg warmup
  FASTNDCG_CACHE_DIR=/opt/fastndcg fastndcg warmup
  fastndcg warmup --clear
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = options.add_command(commands, "warmup", "compile all kernels, or clear the cache", DESCRIPTION, EXAMPLES)
    parser.add_argument("--clear", action="store_true", help="delete the compiled kernels from the cache and stop")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Compile the kernels and print the folder and the time, or clear the cache."""
    if arguments.clear:
        folder, n_bytes = clear()
        output.write([f"removed: {n_bytes / 1e6:.1f} MB of machine code in {folder or 'no folder'}\n"], None)
        return
    from fastndcg.kernels.jit import FOLDER
    from fastndcg.warmup import STEPS, warmup

    def log_step(line: str) -> None:
        """Print a step where no progress bar is shown, such as in the log of a container build."""
        if not compilation.is_quiet():
            compilation.say(f"warmup {line}")

    with show_progress(len(STEPS), log_step) as begin_step:

        def begin_numbered_step(name: str, n_done: int, n_steps: int) -> None:
            begin_step(f"{n_done + 1}/{n_steps}: {name}, {compilation.n_compiled()} kernels")

        result = warmup(progress=begin_numbered_step)
    place = result.cache or f"not stored, because {FOLDER.problem}"
    output.write([f"machine code: {place}\n", f"took: {result.seconds:.1f} s\n"], None)

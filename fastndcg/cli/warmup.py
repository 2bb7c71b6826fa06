"""``fastndcg warmup``: build the machine code of all kernels ahead of time, list it, or clear the cache."""

from __future__ import annotations

import argparse

from fastndcg.cli import options, output
from fastndcg.runtime.kernel_cache import clear

DESCRIPTION = """\
Build the machine code of all kernels and store it in the cache. A built wheel has it, and needs no warm-up. Elsewhere,
run this when you build a container image, or before a server starts. It takes minutes, and a C compiler: `cc`, or
`pip install ziglang`. Without one, Numba caches each kernel by itself.

The cache belongs to the user: ~/.cache/fastndcg on Linux, ~/Library/Caches/fastndcg on macOS,
%LOCALAPPDATA%\\fastndcg on Windows. Two environment variables change this command:
  FASTNDCG_CACHE_DIR  another folder for the cache
  FASTNDCG_QUIET=1    print no progress lines on standard error
"""
EXAMPLES = """\
  fastndcg warmup
  FASTNDCG_CACHE_DIR=/opt/fastndcg fastndcg warmup
  fastndcg warmup --list
  fastndcg warmup --clear
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = options.add_command(commands, "warmup", "build all kernels, or clear the cache", DESCRIPTION, EXAMPLES)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--list", action="store_true", help="list each kernel and where its machine code comes from")
    choice.add_argument("--clear", action="store_true", help="delete the machine code in the cache and stop")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Build the kernels and print the folder and the time, list them, or clear the cache."""
    if arguments.clear:
        folder, n_bytes = clear()
        output.write([f"removed: {n_bytes / 1e6:.1f} MB of machine code in {folder or 'no folder'}\n"], None)
    elif arguments.list:
        from fastndcg.kernels.listing import list_kernels

        output.write((f"{line}\n" for line in list_kernels()), None)
    else:
        from fastndcg.build_ahead import warmup

        result = warmup()
        place = result.cache or "not stored, because no cache folder can be used"
        output.write([f"machine code: {place}\n", f"took: {result.seconds:.1f} s\n"], None)

"""
Bring the README up to date: the demo's output and the benchmark's figure, between their markers.

Usage: python scripts/readme.py [--check]

--check changes nothing and exits with 1 if something is out of date. The figure comes from
benchmarks/sklearn_ratio.json, which benchmarks/sklearn_ratio.py writes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import sys
from pathlib import Path

from fastndcg.cli import main as command

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
FIGURE = ROOT / "benchmarks" / "sklearn_ratio.json"


def main() -> int:
    """Fill in, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    old = README.read_text(encoding="utf-8")
    new = updated(old)
    if parser.parse_args().check:
        return int(new != old)
    README.write_text(new, encoding="utf-8")
    return 0


def updated(readme: str) -> str:
    """The README with what the demo prints now, and the figure where there is one."""
    readme = fill(readme, "demo", f"```text\n{demo_output()}```")
    return fill(readme, "figure", figure()) if FIGURE.exists() else readme


def fill(readme: str, name: str, text: str) -> str:
    """The README with a text between the markers of this name."""
    pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(readme):
        raise SystemExit(f"README.md must have the markers <!-- {name} --> and <!-- /{name} -->")
    return pattern.sub(lambda match: f"{match[1]}{text}\n{match[2]}", readme)


def demo_output() -> str:
    """What `fastndcg evaluate` prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = command(["evaluate"])
    if code:
        raise SystemExit("`fastndcg evaluate` has failed")
    return printed.getvalue()


def figure() -> str:
    """The benchmark's figure in a sentence, with what it was measured on."""
    found = json.loads(FIGURE.read_text(encoding="utf-8"))
    seconds, versions = found["seconds"], found["versions"]
    return (
        f"nDCG@10 of {found['queries']:,} queries with {found['documents']} documents each: **{found['ratio']:g} times "
        "as fast** as `sklearn.metrics.ndcg_score(..., ignore_ties=True)` on the same arrays "
        f"({seconds['fastndcg']:.2g} s against {seconds['scikit-learn']:.2g} s; {found['ratio of 1 thread']:g} times "
        f"on one thread), after proving that the values are equal. Measured on {found['date']} on {found['cpus']} CPUs "
        f"({found['processor']}), Python {found['python']}, numba {versions['numba']}, numpy {versions['numpy']}, "
        f"scikit-learn {versions['scikit-learn']}, by `benchmarks/sklearn_ratio.py`."
    )


if __name__ == "__main__":
    sys.exit(main())

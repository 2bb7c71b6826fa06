"""
Bring the READMEs up to date: the demo's output, the pages about metrics and conventions and the benchmarks' figures.

Usage: python scripts/readme.py [--check]

--check changes nothing and exits with 1 if something is out of date. The figures come from what peers.py, table.py,
inputs.py and catalogue.py of the benchmarks saved; the chart beside them is drawn by scripts/chart.py.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import render

from fastndcg.cli import main as command
from fastndcg.cli import metrics_page, page

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BENCHMARKS = ROOT / "benchmarks" / "README.md"
PEERS = ROOT / "benchmarks" / "peers.json"
TABLE = ROOT / "benchmarks" / "table.json"
CATALOGUE = ROOT / "benchmarks" / "catalogue.json"
INPUTS = ROOT / "benchmarks" / "inputs.json"


def main() -> int:
    """Fill in, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    old = {path: path.read_text(encoding="utf-8") for path in (README, BENCHMARKS)}
    new = {README: updated(old[README]), BENCHMARKS: updated_benchmarks(old[BENCHMARKS])}
    if parser.parse_args().check:
        return int(new != old)
    for path, text in new.items():
        path.write_text(text, encoding="utf-8")
    return 0


def updated(readme: str) -> str:
    """The README with what the demo prints now, and the figures where there are some."""
    readme = fill(readme, "demo", f"```text\n{demo_output()}```")
    readme = fill(readme, "metrics", folded("".join(metrics_page.lines())))
    readme = fill(readme, "conventions", folded("".join(page.lines())))
    if not PEERS.exists():
        return readme
    found = json.loads(PEERS.read_text(encoding="utf-8"))
    readme = fill(
        readme, "peers", f"![Queries per second by library](benchmarks/peers.png)\n\n{render.peers_table(found)}"
    )
    return fill(readme, "figure", render.headline(found)) if "headline" in found else readme


def updated_benchmarks(readme: str) -> str:
    """The README of the benchmarks with the saved tables of goals, where there are some."""
    for name, path in (("table", TABLE), ("inputs", INPUTS), ("catalogue", CATALOGUE)):
        if path.exists():
            readme = fill(readme, name, render.goals(json.loads(path.read_text(encoding="utf-8"))))
    return readme


def fill(readme: str, name: str, text: str) -> str:
    """The README with a text between the markers of this name."""
    pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(readme):
        raise SystemExit(f"a README must have the markers <!-- {name} --> and <!-- /{name} -->")
    return pattern.sub(lambda match: f"{match[1]}{text}\n{match[2]}", readme)


def folded(text: str) -> str:
    """A page under its title, opened by a click."""
    title = text.partition("\n")[0].strip("# ")
    return f"<details><summary>{title}</summary>\n\n{text}\n</details>"


def demo_output() -> str:
    """What `fastndcg evaluate` prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = command(["evaluate"])
    if code:
        raise SystemExit("`fastndcg evaluate` has failed")
    return printed.getvalue()


if __name__ == "__main__":
    sys.exit(main())

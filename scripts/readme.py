"""
Update the output of the demo in the README, and the numbers of metrics and conventions in its first lines.

Usage: python scripts/readme.py [--check]

--check changes nothing and exits with 1 if something is out of date. `scripts/bench --figures` writes the figures.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
from pathlib import Path

from fastndcg.cli import main as run_command
from fastndcg.metrics.families import CATALOG
from fastndcg.named_conventions import conventions

ROOT = Path(__file__).resolve().parents[1]
COUNTS = {
    "nDCG, MAP, MRR and ": len(CATALOG) - 3,
    "LightGBM's nDCG, and ": len(conventions) - 2,  # without lightgbm and default
}


def main() -> int:
    """Update the README and the first page of the documentation, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    readme, index = ROOT / "README.md", ROOT / "docs" / "index.md"
    old = {page: page.read_text(encoding="utf-8") for page in (readme, index)}
    demo = fill(old[readme], "demo", f"```text\n{demo_output()}```")
    new = {readme: count(demo, *COUNTS), index: count(old[index], "nDCG, MAP, MRR and ")}
    if not check:
        for page, text in new.items():
            page.write_text(text, encoding="utf-8")
    return int(check and new != old)


def count(page: str, *phrases: str) -> str:
    """Return a page with the number of `COUNTS` behind each of these phrases."""
    for phrase in phrases:
        page, n_found = re.subn(f"(?<={phrase})[0-9]+(?= more)", str(COUNTS[phrase]), page)
        if not n_found:
            raise SystemExit(f"no page counts behind {phrase!r}. Write the number of more ones there")
    return page


def fill(page: str, name: str, text: str) -> str:
    """Return a page with a text between the markers of this name."""
    pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"the markers <!-- {name} --> and <!-- /{name} --> are missing in the page. Add them")
    return pattern.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page)


def demo_output() -> str:
    """Return the output of `fastndcg evaluate`."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run_command(["evaluate"])
    if code:
        raise SystemExit("`fastndcg evaluate` failed: run it for its message")
    return printed.getvalue()


if __name__ == "__main__":
    sys.exit(main())

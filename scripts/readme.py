"""
Update the output of the demo in the README.

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

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"


def main() -> int:
    """Update the README, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    old = README.read_text(encoding="utf-8")
    new = update_readme(old)
    if parser.parse_args().check:
        return int(new != old)
    README.write_text(new, encoding="utf-8")
    return 0


def update_readme(readme: str) -> str:
    """Return the README with the demo's output."""
    return fill(readme, "demo", f"```text\n{demo_output()}```")


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

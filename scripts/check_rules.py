"""
Check the rules that no linter knows, on the syntax trees, the catalogue and the public docstrings.

Usage: python scripts/check_rules.py [RULE...]

Prints one line for each place that breaks a rule, and exits with 1 if there is any. A rule is a function in
scripts/rules that yields these lines. `scripts/check` runs all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from rules import kernels, texts

Rule = Callable[[Path], Iterator[str]]
RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        kernels.kernels_look_alike,
        kernels.instructions_have_twins,
        kernels.catalogue_is_complete,
        kernels.import_is_light,
        texts.docstrings_are_complete,
        texts.messages_are_short,
        texts.words_are_plain,
    )
}


def find_problems(name: str, root: Path) -> list[str]:
    """Return a line for each place below `root` that breaks a rule."""
    return list(RULES[name](root))


def main() -> int:
    """Check every rule, or those that are named."""
    root = Path(__file__).resolve().parents[1]
    names = sys.argv[1:] or list(RULES)
    unknown = [name for name in names if name not in RULES]
    if unknown:
        sys.exit(f"{unknown[0]} is no rule. The rules are {', '.join(RULES)}.")
    problems = [line for name in names for line in find_problems(name, root)]
    print(*problems, f"{len(names)} rules, {len(problems)} broken", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""
Check the rules of the code base that no linter has, on the syntax trees and the catalogue.

Usage: python scripts/check_rules.py [ROOT]
       python scripts/check_rules.py --find RULE

Prints one line for each place that breaks a rule, and exits with 1 if there is any. A rule is a function in
scripts/rules that yields these lines. With --find, check one rule, by its name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from rules.code import (
    assignments_stand_alone,
    messages_are_short,
    names_say_what_they_hold,
    nothing_is_long,
    nothing_is_unfinished,
    parameters_are_few,
)
from rules.english import english_is_plain
from rules.kernels import (
    catalogue_is_complete,
    instructions_have_twins,
    kernel_inputs_are_known,
    kernels_have_one_door,
    kernels_look_alike,
    loaded_kernels_exist,
    metrics_read_back,
    public_names_are_generated,
)
from rules.layout import (
    files_have_no_circles,
    import_is_light,
    imports_go_one_way,
    numba_is_for_kernels,
    optional_packages_wait,
)

RULES: tuple[Callable[[Path], Iterator[str]], ...] = (
    imports_go_one_way,
    files_have_no_circles,
    numba_is_for_kernels,
    optional_packages_wait,
    import_is_light,
    kernels_look_alike,
    instructions_have_twins,
    kernels_have_one_door,
    loaded_kernels_exist,
    kernel_inputs_are_known,
    catalogue_is_complete,
    metrics_read_back,
    public_names_are_generated,
    messages_are_short,
    nothing_is_long,
    nothing_is_unfinished,
    parameters_are_few,
    assignments_stand_alone,
    names_say_what_they_hold,
    english_is_plain,
)


def main() -> int:
    """Check every rule, or one."""
    arguments = sys.argv[1:]
    root = Path(__file__).resolve().parents[1]
    rules = RULES
    if arguments and arguments[0] == "--find":
        rules = tuple(rule for rule in RULES if rule.__name__ in arguments[1:])
        if not rules:
            sys.exit(f"--find needs the name of a rule: {', '.join(rule.__name__ for rule in RULES)}")
    elif arguments:
        root = Path(arguments[0]).resolve()
    problems = [line for rule in rules for line in rule(root)]
    for line in problems:
        print(line)
    print(f"{len(rules)} {'rule' if len(rules) == 1 else 'rules'}, {len(problems)} broken")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

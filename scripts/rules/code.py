"""Rules on code: sizes, parameters, assignments, names, and texts of errors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from rules.kernels import find_called_kernels
from rules.project import Function, list_project_files, read_files

FOLDERS = ("fastndcg", "scripts", "benchmarks")
MOST_FILE_LINES = 600
MOST_FUNCTION_LINES = 60
MOST_PARAMETERS = 8
UNFINISHED = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")
# participles and pronouns that say nothing of what a name holds
EMPTY_NAMES = {
    "alike", "asked", "both", "bound", "called", "chosen", "counted", "done", "drawn", "evaluated", "filled",
    "found", "given", "gone", "held", "it", "kept", "known", "left_out", "made", "meant", "met", "named", "needed",
    "noted", "one", "ones", "others", "passed", "picked", "placed", "reached", "remembered", "said", "seen",
    "settled", "shown", "taken", "them", "things", "tied", "told", "used", "wanted", "written",
}  # fmt: skip
NUMERALS = {"ONE"}  # constants in capitals: the number 1 in a type, such as uint64, not a pronoun
OF_SUFFIX = re.compile(r"\w_of(_|$)")


def messages_are_short(root: Path) -> Iterator[str]:
    """Check that errors show a user's values by `shorten`, which cuts them. Attributes are names, which are short."""
    for file in read_files(root, "fastndcg"):
        for error in ast.walk(file.tree):
            if not isinstance(error, ast.Raise) or "AttributeError" in ast.unparse(error):
                continue
            for value in ast.walk(error):
                if isinstance(value, ast.FormattedValue) and value.conversion == ord("r"):
                    text = ast.unparse(value.value)
                    yield f"{file.name}:{value.lineno}: a message must show shorten({text}), not {{{text}!r}}"


def nothing_is_long(root: Path) -> Iterator[str]:
    """Check that files have at most 600 lines and functions at most 60, docstrings left out."""
    for file in read_files(root, *FOLDERS):
        n_lines = len(file.path.read_text(encoding="utf-8").splitlines())
        if n_lines > MOST_FILE_LINES:
            yield f"{file.name}: {n_lines} lines, more than {MOST_FILE_LINES}"
        for node in ast.walk(file.tree):
            n_lines = _count_lines(node) if isinstance(node, Function) else 0
            if isinstance(node, Function) and n_lines > MOST_FUNCTION_LINES:
                yield f"{file.name}:{node.lineno}: {node.name} has {n_lines} lines, more than {MOST_FUNCTION_LINES}"


def nothing_is_unfinished(root: Path) -> Iterator[str]:
    """Check that no line marks work that is still to be done."""
    for path in list_project_files(root):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, start=1):
            if UNFINISHED.search(line):
                yield f"{path.relative_to(root).as_posix()}:{number}: finish it, or write an issue: {line.strip()[:80]}"


def parameters_are_few(root: Path) -> Iterator[str]:
    """
    Check that functions take at most 8 parameters, without keyword-only parameters of public functions.

    Two kinds of functions may take more. Kernels that Python calls take their arrays flat and by name: the engine binds
    each parameter to the kernel input of its name, and a tuple would lengthen each call. Public functions of
    fastndcg/compat have the parameters of the library that they replace.
    """
    called_kernels = find_called_kernels(root)
    for file in read_files(root, *FOLDERS):
        for node in ast.walk(file.tree):
            if not isinstance(node, Function):
                continue
            if file.room == "kernels" and f"{file.path.stem}.{node.name}" in called_kernels:
                continue
            if file.room == "compat" and (not node.name.startswith("_") or node.name == "__init__"):
                continue
            arguments = node.args
            n = len(arguments.posonlyargs) + len(arguments.args) + bool(arguments.vararg) + bool(arguments.kwarg)
            n += len(arguments.kwonlyargs) if node.name.startswith("_") and node.name != "__init__" else 0
            n -= bool(arguments.args and arguments.args[0].arg in ("self", "cls"))
            if n > MOST_PARAMETERS:
                yield f"{file.name}:{node.lineno}: {node.name} takes {n} parameters, more than {MOST_PARAMETERS}"


def assignments_stand_alone(root: Path) -> Iterator[str]:
    """
    Check that a statement assigns one value: `a, b = 1, 2` takes two lines.

    Results of calls are fine, and so are assignments that read what they replace, such as `a, b = b, a % b`.
    """
    for file in read_files(root, *FOLDERS):
        for node in ast.walk(file.tree):
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
                continue
            target = node.targets[0]
            if not isinstance(target, ast.Tuple):
                continue
            if not _reads_what_it_replaces(target, node.value):
                yield f"{file.name}:{node.lineno}: write {len(target.elts)} assignments, one a line"


def _reads_what_it_replaces(targets: ast.Tuple, values: ast.Tuple) -> bool:
    """Return True if a value reads the target of a value before it."""
    replaced = [ast.unparse(target) for target in targets.elts]
    for place, value in enumerate(values.elts):
        names = {ast.unparse(item) for item in ast.walk(value) if isinstance(item, ast.expr)}
        if names & set(replaced[:place]):
            return True
    return False


def names_say_what_they_hold(root: Path) -> Iterator[str]:
    """Check that no name is a bare participle or pronoun, such as `kept`, and no name has the form x_of."""
    for file in read_files(root, *FOLDERS):
        reported = set()
        for line, name, is_function in _read_names(file.tree):
            plain = name.strip("_").lower()
            has_of_inside = plain.endswith("_of") or (is_function and OF_SUFFIX.search(plain))
            is_empty = plain in EMPTY_NAMES and name not in NUMERALS
            if (is_empty or has_of_inside) and name not in reported:
                reported.add(name)
                yield f"{file.name}:{line}: {name} must be a noun, a verb with its object, or begin with is_ or has_"


def _read_names(tree: ast.Module) -> Iterator[tuple[int, str, bool]]:
    """Yield the line of every name that a file defines, the name, and whether it is a function or class."""
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            yield node.lineno, node.name, True
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg, False
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id, False
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr, False
        elif isinstance(node, ast.alias) and node.asname:
            yield node.lineno, node.asname, False


def _count_lines(function: Function) -> int:
    """Return the number of lines of a function's body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0

"""Rules on texts: public docstrings, errors, and words that plain English does not need."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rules.project import read_files, walk_statements

# codes of numpydoc that are off, and why
OFF = {
    "GL01": "ruff checks the place of the opening quotes",
    "GL02": "ruff checks the place of the closing quotes",
    "ES01": "a summary often says everything",
    "SA01": "names in back-ticks link to related objects",
    "PR06": "'integer' and 'string' occur in the types of arrays",
    "PR08": "descriptions may be phrases that begin with a symbol",
    "RT02": "results may have names",
    "RT04": "descriptions may be phrases that begin with a symbol",
}
NO_EXAMPLE = {"EX01"}  # of methods, which the example of their class shows, of errors and of drop-ins
NO_SECTIONS = {"PR01", "RT01", "YD01"}  # of methods whose docstring is a summary
FOLDERS = ("fastndcg", "docs/_ext", "scripts", "benchmarks", "tests", "examples")
WORDS = {  # words and phrases, and what to write instead
    r"sooner": "faster, earlier",
    r"in turns": "alternately, interleaved",
    r"none of (those|it)": "name the rule that is broken",
    r"nobody|somebody": "say who: the caller, another thread",
    r"lets? go|let go": "skip, drop, release",
    r"(of no|no) use|of no meaning": "unused, ignored",
    r"asks? for|asked for|asking for": "need, request",
    r"to be sure": "leave it out",
    r"(kernels?|loops?|python|numba|processors?) (asks?|tells?|knows?|expects?|wants?|looks?|waits?|sees?)":
        "say what happens: takes, raises, reads",
}  # fmt: skip
WITH_WORDS = ("scripts/rules/texts.py", "tests/docs/test_rules.py")
FORBIDDEN = re.compile(r"\b(?:" + "|".join(WORDS).replace(" ", r"[\s#]+") + r")\b", re.IGNORECASE)
CODE = re.compile(r"``[^`]*``|`[^`]*`|^\s*(>>>|\.\.\.) .*$", re.MULTILINE)


def docstrings_are_complete(root: Path) -> Iterator[str]:
    """Check public docstrings by numpydoc. Methods need no sections, but the sections that they have are complete."""
    from numpydoc.docscrape import get_doc_object
    from numpydoc.validate import Validator, validate

    for name, value, is_method in find_public(root):
        document = get_doc_object(value)
        off = set(OFF)
        if (
            is_method
            or name.startswith("fastndcg.compat.")
            or (inspect.isclass(value) and issubclass(value, Exception))
        ):
            off |= NO_EXAMPLE
        if is_method and "\n" not in (inspect.getdoc(value) or "").strip():
            off |= NO_SECTIONS
        texts = {key: " ".join(text) for key, (_, text) in Validator(document).doc_all_parameters.items()}
        shared = [
            f'"{key}"' for key, text in texts.items() if text.startswith("See `")
        ]  # another function has the type
        for code, message in validate(document)["errors"]:
            if code not in off and not (code == "PR04" and any(key in message for key in shared)):
                yield f"{name}: {code}: {message}"


def find_public(root: Path) -> Iterator[tuple[str, Any, bool]]:
    """Yield public functions, classes and methods of these: name, object, whether it is a method."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    package = importlib.import_module("fastndcg")
    names = {f"fastndcg.{name}" for name in package.__all__} | read_listed_names(root)
    needs = read_needs()
    for name in sorted(names):
        module, _, attribute = name.rpartition(".")
        if module in needs and not importlib.util.find_spec(needs[module]):
            continue
        value = getattr(importlib.import_module(module), attribute)
        if inspect.isclass(value):
            yield name, value, False
            for key, member in vars(value).items():
                method = getattr(member, "__func__", member)
                if not key.startswith("_") and (inspect.isfunction(method) or isinstance(method, property)):
                    yield f"{name}.{key}", method, True
        elif callable(value) and hasattr(value, "__name__"):
            yield name, getattr(value, "py_func", value), False


def read_needs() -> dict[str, str]:
    """Return the package that a module of ours needs, of drop-ins and adapters that need one."""
    integrations = importlib.import_module("fastndcg.integrations")
    needs = {f"fastndcg.integrations.{module}": package for module, package in integrations.NEEDS.items()}
    drop_ins = importlib.import_module("fastndcg.compat").DROP_INS
    return needs | {f"fastndcg.compat.{drop_in.module}": drop_in.needs for drop_in in drop_ins if drop_in.needs}


def read_listed_names(root: Path) -> set[str]:
    """Return the names in the tables of the reference's pages, each with its module."""
    names = set()
    for page in (root / "docs" / "reference").glob("*.md"):
        for part in page.read_text(encoding="utf-8").split(".. currentmodule:: ")[1:]:
            names |= {f"{part.split()[0]}.{name}" for name in re.findall(r"^   (\w+)$", part, re.MULTILINE)}
    return names


def messages_are_short(root: Path) -> Iterator[str]:
    """Check that errors show a user's values by `shorten`, which cuts them. Attributes are names, which are short."""
    for file in read_files(root, "fastndcg"):
        for error in walk_statements(file.tree):
            if not isinstance(error, ast.Raise) or "AttributeError" in ast.unparse(error):
                continue
            for value in ast.walk(error):
                if isinstance(value, ast.FormattedValue) and value.conversion == ord("r"):
                    text = ast.unparse(value.value)
                    yield f"{file.name}:{value.lineno}: a message must show shorten({text}), not {{{text}!r}}"


def words_are_plain(root: Path) -> Iterator[str]:
    """Check that sources have none of the words in `WORDS`, outside of back-ticks and examples."""
    for file in read_files(root, *FOLDERS):
        source = CODE.sub(lambda code: re.sub(r"[^\n]", "_", code[0]), file.path.read_text(encoding="utf-8"))
        for match in FORBIDDEN.finditer(source):  # also over the end of a line, and no names in capitals
            if match[0].isupper() or file.name in WITH_WORDS:
                continue
            found = " ".join(match[0].replace("#", " ").split())
            better = next(better for word, better in WORDS.items() if re.fullmatch(word, found, re.IGNORECASE))
            line = source.count("\n", 0, match.start()) + 1
            yield f"{file.name}:{line}: must not say {found!r}: {better}"

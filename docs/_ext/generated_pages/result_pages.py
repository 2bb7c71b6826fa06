"""The page about the classes that results and signatures name, but that users do not make themselves."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import fastndcg

# packages whose classes are met in results; those of `inputs` and `scoring` are read from users' objects
PACKAGES = (
    "discovery", "explaining", "fusion", "installation", "metrics", "named_conventions", "rankings", "results",
    "statistics",
)  # fmt: skip
TITLE = "What results hold"
HEAD = f"""\
# {TITLE}

Rows, intervals and other values inside results, and the settings that signatures name. You read them; the functions of
[the API](api.md) make them.

```{{eval-rst}}
.. currentmodule:: fastndcg

.. autosummary::
   :toctree: api

"""


def make_pages() -> dict[str, str | bytes]:
    """Return the page with a line for each class."""
    return {"reference/results.md": HEAD + "".join(f"   {name}\n" for name in list_classes()) + "```\n"}


def list_classes() -> list[str]:
    """Return the paths, below `fastndcg`, of the classes that signatures and docstrings of public objects name."""
    found = set()
    for name in fastndcg.__all__:
        value = getattr(fastndcg, name)
        if not inspect.ismodule(value):
            found.update(_name_classes(value))
    public = {id(getattr(fastndcg, name)) for name in fastndcg.__all__}
    paths = {}
    for module, name in found:
        kind = getattr(importlib.import_module(module), name, None)
        if inspect.isclass(kind) and id(kind) not in public and not name.startswith("_"):
            paths[f"{kind.__module__}.{name}"] = None
    return sorted(path.removeprefix("fastndcg.") for path in paths if path.split(".")[1] in PACKAGES)


def _name_classes(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of each class that the signature or the docstring of an object names."""
    members = [value]
    if inspect.isclass(value):
        members += [member for name, member in inspect.getmembers(value) if not name.startswith("_")]
    for member in members:
        plain = member.fget if isinstance(member, property) else member
        module = getattr(plain, "__module__", None)
        if not isinstance(module, str) or not module.startswith("fastndcg"):
            continue
        try:
            text = str(inspect.signature(plain))
        except (TypeError, ValueError):
            text = ""
        words = set(re.findall(r"\b[A-Z]\w+", f"{text} {inspect.getdoc(plain) or ''}"))
        names = _read_names(module)
        yield from ((names[word], word) for word in words if word in names)


@cache
def _read_names(module: str) -> dict[str, str]:
    """Return the modules of the package's classes that a module defines or imports, for types alone, too."""
    source = inspect.getsource(importlib.import_module(module))
    names = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fastndcg."):
            names |= {(alias.asname or alias.name): str(node.module) for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            names[node.name] = module
    return names

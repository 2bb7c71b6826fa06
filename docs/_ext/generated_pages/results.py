"""The page about the classes that results and signatures name, but that users do not make themselves."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import fastndcg
from generated_pages import fill

# packages whose classes are met in results; those of `inputs` and `scoring` are read from users' objects
PACKAGES = (
    "discovery", "explaining", "fusion", "installation", "metrics", "named_conventions", "rankings", "results",
    "statistics",
)  # fmt: skip
OTHERS = ("Sums", "TiePolicy")  # in texts, these are no classes


def make_pages() -> dict[str, str | bytes]:
    """Return the page with a line for each class."""
    return {"reference/results.md": fill("results", classes=list_classes())}


def list_classes() -> list[str]:
    """Return the paths, below `fastndcg`, of the classes that signatures and docstrings of public objects name."""
    public = [getattr(fastndcg, name) for name in fastndcg.__all__]
    words = {word for value in public for text in _list_texts(value) for word in re.findall(r"\b[A-Z]\w+", text)}
    modules = [module.name for module in pkgutil.walk_packages(fastndcg.__path__, "fastndcg.")]
    paths = []
    for name in modules:
        if name.split(".")[1] in PACKAGES:
            kinds = [kind for _, kind in inspect.getmembers(importlib.import_module(name), inspect.isclass)]
            own = [kind.__name__ for kind in kinds if kind.__module__ == name and kind not in public]
            paths += [f"{name}.{word}".removeprefix("fastndcg.") for word in own if word in words - {*OTHERS}]
    return sorted(paths)


def _list_texts(value: Any) -> Iterator[str]:
    """Yield the signatures and the docstrings of an object and of its public members."""
    members = inspect.getmembers(value) if inspect.isclass(value) else []
    for member in [value, *(member for name, member in members if not name.startswith("_"))]:
        plain = member.fget if isinstance(member, property) else member
        if str(getattr(plain, "__module__", "")).startswith("fastndcg"):
            yield inspect.getdoc(plain) or ""
            with contextlib.suppress(TypeError, ValueError):  # of values and errors
                yield str(inspect.signature(plain))

"""What a number means: the choices that there are, and the named bundles of them that other programs made."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from fastndcg.conventions import learning, recommending, searching
from fastndcg.conventions.fields import CHOICES, FIELDS
from fastndcg.conventions.value import Bug, Convention
from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownConventionError, nearest
from fastndcg.texts import parse_call

__all__ = ["CHOICES", "FIELDS", "Bug", "Convention", "Conventions", "conventions", "parse_convention"]


class Conventions(Mapping[str, Convention]):
    """The named conventions; an unknown name is an error that suggests the nearest."""

    def __init__(self, *known: Convention) -> None:
        self._known = {convention.name: convention for convention in known}

    def __getitem__(self, name: str) -> Convention:
        if name not in self._known:
            hint = nearest(str(name), self._known) or f" There are {', '.join(self._known)}."
            raise UnknownConventionError(f"no convention is called {name!r}.{hint}")
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def get(self, name: str, default: Any = None) -> Any:
        """The convention of this name, or `default`."""
        return self._known.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"conventions: {', '.join(self._known)}"


def parse_convention(convention: str | Convention) -> Convention:
    """
    Read a convention's text: a name, or a name with other choices.

    >>> parse_convention("trec_eval(missing_in_run=zero)").missing_in_run
    'zero'
    """
    if isinstance(convention, Convention):
        return convention
    if not isinstance(convention, str):
        raise InvalidTypeError(
            f"`convention` must be a name or a Convention, not {type(convention).__name__}: {convention!r}"
        )
    return _parsed(convention)


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> Convention:
    name, choices, cutoff = parse_call(text)
    if cutoff is not None:
        raise InvalidInputError(f"`convention` has no cutoff, but got {text!r}; metrics have: 'nDCG@10'")
    return conventions[name].replace(**choices) if choices else conventions[name]


conventions = Conventions(
    Convention("default", source="the definitions in the literature that the catalogue names"),
    *searching.RECORDS,
    *learning.RECORDS,
    *recommending.RECORDS,
)

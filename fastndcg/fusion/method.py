"""Fusion methods as values, and their texts, such as ``rrf(k=60)`` and ``wsum(norm=min_max)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownFusionError, shorten, suggest_name
from fastndcg.fusion.catalog import FUSION_METHODS, NORMALIZATIONS, FusionRecord
from fastndcg.metrics.parameters import check_parameter
from fastndcg.parsing import Value, format_call, parse_call

NAMES = {
    text.lower(): record.name
    for record in FUSION_METHODS.values()
    for text in (*record.names_elsewhere, *record.aliases, record.name)
}
NORM_NAMES = {
    text.lower(): record.name
    for record in NORMALIZATIONS.values()
    for text in (*record.names_elsewhere, *record.aliases, record.name)
}


@dataclass(frozen=True, slots=True)
class FusionMethod:
    """
    A fusion method with its parameters. Methods are hashable, equal by value, and their texts parse back.

    Attributes
    ----------
    name : str
        The name in the catalogue.
    parameters : tuple of (str, value)
        The parameters that differ from their defaults.

    Examples
    --------
    >>> FusionMethod.parse("comb_mnz(norm=min-max)")
    mnz(norm=min_max)
    >>> FusionMethod.parse("rrf(k=60)").get("k")
    60
    """

    name: str
    parameters: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def parse(cls, text: str | FusionMethod) -> FusionMethod:
        """Read the text of a method."""
        if isinstance(text, FusionMethod):
            return text
        if not isinstance(text, str):
            raise InvalidTypeError(
                f"`method` must be a text such as 'rrf(k=60)', or a function of one document's scores and ranks, not "
                f"{type(text).__name__}: {shorten(text)}"
            )
        name, arguments, cutoff = parse_call(text)
        if cutoff is not None:
            raise InvalidInputError(
                f"`method` must have no cutoff, not {shorten(text)}. Give `depth` to cut the runs, and Run.top to cut "
                "the fused run"
            )
        return cls.make(name, **arguments)

    @classmethod
    def make(cls, name: str, **arguments: Any) -> FusionMethod:
        """Return a method by its name and parameters."""
        if name.lower() not in NAMES:
            hint = suggest_name(name, NAMES) or f" There are {', '.join(FUSION_METHODS)}."
            raise UnknownFusionError(f"no fusion method is called {shorten(name)}.{hint}")
        record = FUSION_METHODS[NAMES[name.lower()]]
        values = {key: _check_argument(record, key, value) for key, value in arguments.items()}
        changes = tuple(
            (p.name, values[p.name]) for p in record.parameters if values.get(p.name, p.default) != p.default
        )
        return cls(record.name, changes)

    @property
    def record(self) -> FusionRecord:
        """The record of the catalogue."""
        return FUSION_METHODS[self.name]

    @property
    def norm(self) -> str:
        """The normalisation of scores, 'none' for a method that reads ranks only."""
        return str(self.get("norm") or "none")

    def get(self, key: str) -> Any:
        """Return the value of a parameter, or its default. Return None for one that the method lacks."""
        defaults: dict[str, Any] = {parameter.name: parameter.default for parameter in self.record.parameters}
        return dict(self.parameters).get(key, defaults.get(key))

    def replace(self, **arguments: Any) -> FusionMethod:
        """Return the method with other parameters."""
        return FusionMethod.make(self.name, **(dict(self.parameters) | arguments))

    def __str__(self) -> str:
        return format_call(self.name, dict(self.parameters))

    def __repr__(self) -> str:
        return str(self)


def find_normalization(name: str) -> str:
    """
    Return the canonical name of a normalisation.

    >>> find_normalization("zmuv")
    'z_score'
    """
    if not isinstance(name, str) or name.lower() not in NORM_NAMES:
        hint = suggest_name(name, NORM_NAMES) or f" There are {', '.join(NORMALIZATIONS)}."
        raise UnknownFusionError(f"no normalisation is called {shorten(name)}.{hint}")
    return NORM_NAMES[name.lower()]


def _check_argument(record: FusionRecord, key: str, value: Any) -> Value:
    """Return the value of a method's parameter in its canonical form, or raise an error."""
    names = [parameter.name for parameter in record.parameters]
    if key not in names:
        hint = suggest_name(key, names) or (f" It has {', '.join(names)}." if names else " It has none.")
        raise UnknownFusionError(f"{record.name} has no parameter {shorten(key)}.{hint}")
    return check_parameter(cast(Any, record), key, find_normalization(value) if key == "norm" else value)

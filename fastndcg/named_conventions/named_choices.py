"""Named sets of choices, and the table of tie policies: what the conventions of metrics and those of fusion share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field as dataclass_field
from dataclasses import fields as dataclass_fields
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownConventionError, shorten, suggest_name
from fastndcg.parsing import Value, format_call, format_value, parse_call


class Field(NamedTuple):
    """
    A field of a convention: its choices, the default first, and a description.

    `read` converts values that are not among the choices. It returns None for an invalid value. `rule` describes the
    valid values in messages.
    """

    choices: tuple[str | int | float, ...]
    text: str
    read: Callable[[Any], Value | None] | None = None
    rule: str = ""


def chosen_from(
    choices: tuple[str | int, ...], text: str, read: Callable[[Any], Value | None] | None = None, rule: str = ""
) -> Any:
    """Declare a field of a class of choices: see `Field`. The first choice is its default."""
    return dataclass_field(default=choices[0], metadata={"field": Field(choices, text, read, rule)})


class TiePolicy(NamedTuple):
    """
    What orders the documents of a tie group.

    `orders` is "group" where nothing orders them and they share the ranks of the group, "label", "input" for their
    places, or "id". `falls` is True if they come by falling label, place or id.
    """

    orders: str
    falls: bool = False

    def choose(self, **values: Any) -> Any:
        """
        Return the value for what this policy orders by.

        Code that orders ties names every order that it knows, so that a new one cannot get the values of another.

        Raises
        ------
        NotImplementedError
            If no value is for this order.
        """
        if self.orders not in values:
            raise NotImplementedError(
                f"this code orders ties by {', '.join(values)}, not by {shorten(self.orders)}. Add the order here, and "
                "to the reference."
            )
        return values[self.orders]


TIES = {
    "average": TiePolicy("group"),
    "input": TiePolicy("input"),
    "id_descending": TiePolicy("id", falls=True),
    "id_ascending": TiePolicy("id"),
    "best": TiePolicy("label", falls=True),
    "worst": TiePolicy("label"),
    "input_reversed": TiePolicy("input", falls=True),
    "mean_rank": TiePolicy("group"),
}


class NamedChoices:
    """
    Base of conventions: a name, and a choice for each field. Subclasses are frozen dataclasses.

    Attributes
    ----------
    FIELDS : {name: Field}
        The fields with their choices.
    WHAT : str
        What messages call it.
    registry : Mapping or None
        The named ones, set when all are made.
    """

    __slots__ = ()
    FIELDS: ClassVar[Mapping[str, Field]]
    WHAT: ClassVar[str]
    registry: ClassVar[Mapping[str, Any] | None] = None
    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InvalidTypeError(f"`name` of a {self.WHAT} must be a text, not {type(self.name).__name__}")
        parse_call(self.name)
        for field in self.FIELDS:
            object.__setattr__(self, field, self._check_choice(field, getattr(self, field)))

    def replace(self, **choices: Any) -> Self:
        """
        Return the convention with other choices, which its name shows.

        Parameters
        ----------
        **choices : str, int, float or sequence of float
            Fields with their new choices.

        Returns
        -------
        Convention or FusionConvention
            A convention whose name parses back.

        Raises
        ------
        UnknownConventionError
            If conventions have no such field.
        InvalidInputError
            If a field has no such choice.
        """
        for field in choices:
            if field not in self.FIELDS:
                hint = suggest_name(field, self.FIELDS) or f" There are {', '.join(self.FIELDS)}."
                raise UnknownConventionError(f"a {self.WHAT} has no field {shorten(field)}.{hint}")
        base = self.name.partition("(")[0]
        convention = self.with_fields(**choices)
        if self.registry is not None and base in self.registry:
            changes = convention.difference(self.registry[base])
        else:
            shown = choices | parse_call(self.name)[1]
            changes = {field: getattr(convention, field) for field in self.FIELDS if field in shown}
        object.__setattr__(convention, "name", format_call(base, changes))
        return convention

    def with_fields(self, **values: Any) -> Self:
        """
        Return the convention with other values of any fields, including its name and source.

        Parameters
        ----------
        **values : object
            Fields with their new values.

        Returns
        -------
        Convention or FusionConvention
            A convention with the same name, unless `name` is a field of `values`.
        """
        own = {field.name: getattr(self, field.name) for field in dataclass_fields(self)}  # type: ignore[arg-type]
        return type(self)(**(own | values))

    def choices(self) -> dict[str, Value]:
        """
        Return every field with its choice.

        Returns
        -------
        dict
            Choices by the names of fields.
        """
        return {field: getattr(self, field) for field in self.FIELDS}

    def difference(self, other: Self | str) -> dict[str, Value]:
        """
        Return the fields in which another convention differs.

        Parameters
        ----------
        other : Convention, FusionConvention or str
            Another convention of the same kind, or its name.

        Returns
        -------
        dict
            Choices of this convention by the names of fields.
        """
        other_choices = parse_named(other, type(self), "other", "Leave it out").choices()
        return {field: choice for field, choice in self.choices().items() if choice != other_choices[field]}

    def __repr__(self) -> str:
        return self.name

    def _check_choice(self, field: str, choice: Any) -> Value:
        """Return a choice as the field has it, or raise an error. Texts are equal without their blanks."""
        choices, _, read, rule = self.FIELDS[field]
        if isinstance(choice, str | float) or (isinstance(choice, int) and abs(choice) < 2**63):
            for option in choices:
                if format_value(choice).replace(" ", "") == str(option).replace(" ", ""):
                    return option
        value = read(choice) if read else None
        if value is not None:
            return value
        names = ", ".join(map(repr, choices))
        raise InvalidInputError(f"`{field}` of a {self.WHAT} must be one of {names}{rule}, not {shorten(choice)}")


Kind = TypeVar("Kind", bound=NamedChoices)


class Registry(Mapping[str, Kind]):
    """
    Conventions by their names, in any case of letters, with - or _.

    An unknown name raises an error with a suggestion.
    """

    WHAT: ClassVar[str] = "convention"
    ALIASES: ClassVar[Mapping[str, str]] = {}
    EXPLAINED: ClassVar[Mapping[str, str]] = {}  # names that are no conventions, with the reason

    def __init__(self, *records: Kind) -> None:
        self._by_name = {convention.name: convention for convention in records}

    def __getitem__(self, name: str) -> Kind:
        if name not in self:
            reason = self.EXPLAINED.get(read_name(name)) if isinstance(name, str) else None
            if reason:
                raise UnknownConventionError(f"no {self.WHAT} is called {shorten(name)}, which {reason}.")
            hint = suggest_name(name, [*self._by_name, *self.ALIASES]) or f" There are {', '.join(self._by_name)}."
            raise UnknownConventionError(f"no {self.WHAT} is called {shorten(name)}.{hint}")
        text = read_name(name)
        return self._by_name[self.ALIASES.get(text, text)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.ALIASES.get(read_name(name), read_name(name)) in self._by_name

    def get(self, name: str, default: Any = None) -> Any:
        """Return the convention of this name, or `default`."""
        if name in self:
            return self[name]
        return default

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"{self.WHAT}s: {', '.join(self._by_name)}"


def read_name(name: str) -> str:
    """Return the name of a convention in any case of letters, with blanks, - or _, as records have it."""
    return "_".join(name.strip().lower().replace("-", " ").split())


def parse_named(value: Any, kind: type[Kind], argument: str, remedy: str) -> Kind:
    """Return a convention for its text: a name, or a name with other choices. `remedy` is for one with a cutoff."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, str):
        raise InvalidTypeError(
            f"`{argument}` must be a name or a {kind.__name__}, not {type(value).__name__}: {shorten(value)}"
        )
    found: Kind = _parse_text(value, kind, argument, remedy)  # type: ignore[arg-type]  # types are hashable
    return found


@functools.lru_cache(maxsize=256)
def _parse_text(text: str, kind: Any, argument: str, remedy: str) -> Any:
    name, choices, cutoff = parse_call(text)
    if cutoff is not None:
        raise InvalidInputError(f"`{argument}` must have no cutoff, not {shorten(text)}. {remedy}")
    named = kind.registry[name]
    return named.replace(**choices) if choices else named

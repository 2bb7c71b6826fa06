"""
The package's exceptions, each a subclass of a built-in exception, and the texts in their messages.

A message may have parts that another caller says in other words, such as an argument of Python that is an option of the
command line. They are `Argument`, `Column`, `Choice`, `Option`, `Place` and `Row`.

>>> error = InvalidInputError("`k` must be given. Take ", Choice("default_k", (10, "all")), ".")
>>> print(error)
`k` must be given. Take convention.replace(default_k=10 or 'all').
>>> print(error.reword(lambda part: f"--{part.field}" if isinstance(part, Choice) else part))
`k` must be given. Take --default_k.
"""

from __future__ import annotations

import contextlib
import math
import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any, NamedTuple, Self

MOST_SHOWN = 300  # maximum length of a value in a message, and of a name in a table or page
MOST_ITEMS = 20  # items of a list, dict or array in a message
MOST_LEVELS = 3  # levels of nested lists in a message
MOST_BITS = 1000  # larger integers are described: Python refuses to print over 4300 digits
LONGEST_WORD = 100  # longer words get no suggestion: the comparison takes quadratic time

_BUILT_IN = (list, tuple, set, frozenset, dict)
_TEXTS: tuple[type[Any], ...] = (str, bytes, bytearray)
# control characters, direction marks, line and paragraph separators, lone surrogates, and U+FFFE and U+FFFF
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


class FastndcgError(Exception):
    """Base class of all exceptions of the package. The message is all arguments, one after another."""

    def __str__(self) -> str:
        return "".join(map(str, self.args))

    def reword(self, say: Callable[[Any], Any] = lambda part: part, before: str = "", after: str = "") -> Self:
        """
        Return the error with other words for the parts of its message, and with texts before and after it.

        Parameters
        ----------
        say : function, optional
            Returns a part, or other words for it. It is called with texts, too.
        before, after : str, optional
            Texts that the new message begins and ends with.

        Returns
        -------
        FastndcgError
            An error of the same class.
        """
        return type(self)(*filter(None, (before, *map(say, self.args), after)))


@contextlib.contextmanager
def reworded(say: Callable[[Any], Any] = lambda part: part, before: str = "", after: str = "") -> Iterator[None]:
    """Let errors in a block of code have other words: see `FastndcgError.reword`."""
    try:
        yield
    except FastndcgError as error:
        raise error.reword(say, before, after) from None


class InvalidInputError(FastndcgError, ValueError):
    """Raised if an argument breaks a rule. The message names the argument, rule, first offender and remedy."""


class InvalidTypeError(InvalidInputError, TypeError):
    """Raised if an argument has an unsupported type."""


class UnknownMetricError(InvalidInputError):
    """Raised if no metric has this name, or if the metric has no such parameter."""


class UnknownConventionError(InvalidInputError, LookupError):
    """Raised if no convention has this name, or if conventions have no such field."""


class UnknownFusionError(InvalidInputError, LookupError):
    """Raised if no fusion method or normalisation has this name, or if the method has no such parameter."""


class UnknownIdError(InvalidInputError, KeyError):
    """Raised if judgments or a run do not have this query, or a query this document."""


class UndefinedMetricError(FastndcgError, ValueError):
    """Raised if a metric is undefined for a query and the convention has ``undefined="raise"``."""


class RegisteredMetricError(FastndcgError, RuntimeError):
    """Raised if the function of a custom metric fails. The message names the metric and the query."""


class MissingPackageError(FastndcgError, ImportError):
    """Raised if an optional package is absent, or is installed but cannot be imported."""


class Argument(NamedTuple):
    """The name of an argument of `fn.evaluate` in a message."""

    name: str

    def __str__(self) -> str:
        return self.name


class Column(NamedTuple):
    """The remedy of naming the column of a role, where a table is read by `noun`, such as "fn.Qrels"."""

    role: str
    noun: str = ""

    def __str__(self) -> str:
        names = f"columns={{{self.role!r}: NAME}}"
        return f"{self.noun}(…, {names})" if self.noun else names


class Choice(NamedTuple):
    """The remedy of a convention with another value of a field: one of `values`."""

    field: str
    values: Sequence[Any]

    def __str__(self) -> str:
        return f"convention.replace({self.field}={' or '.join(map(repr, self.values))})"


class Option(NamedTuple):
    """The remedy of giving an argument of a function. `value` is written as Python has it."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


class Words(NamedTuple):
    """A remedy that the command line has other words for than Python."""

    python: str
    shell: str

    def __str__(self) -> str:
        return self.python


class Place(NamedTuple):
    """A source of rows and, unless `unit` is empty, the number of a row or line there."""

    name: str
    unit: str
    number: int

    def __str__(self) -> str:
        return f"{self.name}, {self.unit} {self.number}" if self.unit else self.name


class Row(NamedTuple):
    """The number of a row in its table, or of two rows."""

    number: int
    other: int | None = None
    unit: str = "row"

    def __str__(self) -> str:
        return f"{self.unit} {self.number}" if self.other is None else f"{self.unit}s {self.number} and {self.other}"


def cut(text: str, most: int = MOST_SHOWN) -> str:
    """
    Return at most `most` characters of a text: the beginning and the end of a longer text.

    >>> cut("abcdefghij", 7), cut("abc", 7)
    ('abcd…ij', 'abc')
    """
    if len(text) <= most:
        return text
    n_last = (most - 1) // 3
    return f"{text[: most - 1 - n_last]}…{text[len(text) - n_last :]}"


def printable(text: str) -> str:
    r"""
    Replace each invisible character of a text by its escape sequence in Python.

    >>> print(printable("a\x1b[2J\nb\u202e"))
    a\x1b[2J\nb\u202e
    """
    return _INVISIBLE.sub(escape_match, text)


def escape_match(match: re.Match[str]) -> str:
    """Return the escape sequence in Python of a matched character."""
    return match[0].encode("unicode_escape").decode()


def shorten(value: Any) -> str:
    """
    Return the `repr` of a user's value for a message, with the middle of a long `repr` left out.

    Lists, dicts, arrays and texts are cut before their `repr` is made, so that large values cost no time.

    >>> shorten("ndcg"), shorten(["a", 1]), shorten(list(range(1000)))
    ("'ndcg'", "['a', 1]", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, … (1000 in all)]')
    """
    return cut(printable(_shortener.repr(value)))


def join_names(names: Collection[Any]) -> str:
    """
    Return the first names for a message, and the number of all names if some are left out.

    >>> join_names(["a", "b"]), join_names([]), join_names([f"x{place}" for place in range(30)])[-20:]
    ("'a', 'b'", 'none', "'x19', … (30 in all)")
    """
    if len(names) <= MOST_ITEMS:
        joined = ", ".join(map(shorten, names)) or "none"
        if len(joined) <= MOST_SHOWN:
            return joined
    first = cut(", ".join(shorten(name) for name in islice(names, MOST_ITEMS)))
    return f"{first}, … ({len(names)} in all)" if len(names) > MOST_ITEMS else first


def suggest_name(word: Any, words: Iterable[str]) -> str:
    """
    Return ' Did you mean …?' with the most similar known word, or an empty text if none is similar.

    >>> suggest_name("ndgc", ["ndcg", "map"])
    " Did you mean 'ndcg'?"
    >>> suggest_name("mpa", ["opa", "map"])
    " Did you mean 'map'?"
    >>> suggest_name("xyz", ["ndcg", "map"])
    ''
    """
    word = word if isinstance(word, str) else shorten(word)
    if len(word) > LONGEST_WORD:
        return ""
    spellings = {text.lower(): text for text in words if len(text) <= LONGEST_WORD}
    import difflib  # late: 2 ms of each start, for errors alone

    letters = sorted(word.lower())  # two that changed places are the likeliest slip: mpa is map, not opa
    similar = [text for text in spellings if sorted(text) == letters]
    similar = similar or difflib.get_close_matches(word.lower(), spellings, n=1, cutoff=0.6)
    return f" Did you mean {spellings[similar[0]]!r}?" if similar else ""


class _Shortener(reprlib.Repr):
    """Writes the first levels, items and characters of a value, and the type and size of what is too large for that."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = MOST_LEVELS
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = MOST_ITEMS
        self.maxstring = self.maxlong = self.maxother = 2 * MOST_SHOWN
        self.fillvalue = "…"

    def repr1(self, x: Any, level: int) -> str:
        try:
            kind = type(x)
            if kind not in _BUILT_IN or len(x) <= MOST_ITEMS or not level:
                return cut(_describe_if_large(x) or super().repr1(x, level))
            text = super().repr1(kind(islice(x.items() if kind is dict else x, MOST_ITEMS)), level)
            end = len(text) - (2 if kind is frozenset else 1)
            return f"{cut(text[:end])}, … ({len(x)} in all){text[end:]}"
        except Exception as error:  # it must not hide the error that is being raised
            return f"<{type(x).__name__} whose repr raises {type(error).__name__}>"

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        """Write the items in their own order. The base class sorts them."""
        if level <= 0 and x:
            return f"{{{self.fillvalue}}}"
        return f"{{{', '.join(f'{self.repr1(k, level - 1)}: {self.repr1(v, level - 1)}' for k, v in x.items())}}}"

    def repr_instance(self, x: Any, level: int) -> str:
        return repr(x)  # so that `repr1` names an error


_shortener = _Shortener()


def _describe_if_large(value: Any) -> str:
    """Return a long text without its middle, the size of another large value, or an empty text."""
    if isinstance(value, _TEXTS):
        is_long = len(value) > 2 * MOST_SHOWN
        return repr(value[:MOST_SHOWN] + value[-MOST_SHOWN:]) if is_long else ""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"a whole number of {value.bit_length()} bits"
    if type(value) in _BUILT_IN:
        return ""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        size = math.prod(value.shape)
        description = f"shape {tuple(value.shape)}, dtype {value.dtype}"
    elif hasattr(value, "__len__"):
        size = len(value)
        description = f"length {size}"
    else:
        return ""
    is_large = size > MOST_ITEMS or isinstance(value, Mapping | Set)
    return f"<{type(value).__name__} of {description}>" if is_large else ""

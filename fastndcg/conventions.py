"""What a number means, as a value: gains, ties, undefined queries, missing judgments, and the named bundles."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownConventionError, nearest
from fastndcg.texts import Value, as_discounts, as_gains, format_call, format_value, parse_call

CHOICES: dict[str, tuple[str | int, ...]] = {
    "gain": ("linear", "exp2"),
    "discount": ("log2",),
    "ties": ("average", "input", "id_descending", "id_ascending", "best", "worst"),
    "undefined": ("nan", 0, 1, "raise"),
    "unjudged": ("nonrelevant", "removed"),
    "negative_labels": ("raise_in_arrays", "zero", "raise", "keep"),
    "missing_in_run": ("zero", "skip", "raise"),
    "missing_in_qrels": ("skip", "undefined", "raise"),
    "nan_scores": ("raise", "last"),
    "score_dtype": ("as given", "float32"),
    "ap_denominator": ("n_relevant", "min(k, n_relevant)", "n_hits"),
    "precision_denominator": ("k", "min(k, n_retrieved)"),
}
TABLES = {
    "gain": (as_gains, " or a table of finite numbers that starts with 0 and never falls"),
    "discount": (as_discounts, " or a table of finite numbers of 0 or more that never rises"),
}


@dataclass(frozen=True, slots=True)
class Convention:
    """
    Every choice that gives a metric's number its meaning.

    Parameters
    ----------
    name : str
        What results call it.
    gain : 'linear', 'exp2' or tuple of float
        Gain of a label; a table gives the gains of labels 0, 1, 2, …: from 0, never falling.
    discount : 'log2' or tuple of float
        1/log2(rank + 1); a table gives the discounts of ranks 1, 2, …, never rising, and 0 beyond its end.
    ties : {'average', 'input', 'id_descending', 'id_ascending', 'best', 'worst'}
        How equal scores are ranked. 'average' is the exact expectation over all their orders; 'best' and
        'worst' put the higher or the lower labels first.
    undefined : {'nan', 0, 1, 'raise'}
        The value of a query for which the metric has none. NaN queries are left out of means.
    unjudged : {'nonrelevant', 'removed'}
        Whether documents without a judgment keep their ranks or are taken out first.
    negative_labels : {'raise_in_arrays', 'zero', 'raise', 'keep'}
        'zero': gain nothing, not relevant; 'keep': their gain is negative; 'raise_in_arrays': an error in
        arrays and 'zero' in qrels, where they mark documents that were pooled and not judged.
    missing_in_run : {'zero', 'skip', 'raise'}
        A judged query that the run left out: it ranks nothing, is left out, or is an error.
    missing_in_qrels : {'skip', 'undefined', 'raise'}
        A query of the run without judgments: it is left out, undefined, or an error.
    nan_scores : {'raise', 'last'}
        NaN scores: an error, or ranked below every other, tied with one another.
    score_dtype : {'as given', 'float32'}
        Whether scores are rounded to float32 before they are compared; whole numbers beyond 2**53 are not.
    ap_denominator : {'n_relevant', 'min(k, n_relevant)', 'n_hits'}
        What AP@k divides by.
    precision_denominator : {'k', 'min(k, n_retrieved)'}
        What P@k divides by.
    source : str
        Where the choices come from.

    Examples
    --------
    >>> conventions["default"].replace(ties="input")
    default(ties=input)
    """

    name: str
    gain: Value = "linear"
    discount: Value = "log2"
    ties: str = "average"
    undefined: str | int = "nan"
    unjudged: str = "nonrelevant"
    negative_labels: str = "raise_in_arrays"
    missing_in_run: str = "zero"
    missing_in_qrels: str = "skip"
    nan_scores: str = "raise"
    score_dtype: str = "as given"
    ap_denominator: str = "n_relevant"
    precision_denominator: str = "k"
    source: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InvalidTypeError(f"`name` of a convention must be a text, not {type(self.name).__name__}")
        parse_call(self.name)
        for field in CHOICES:
            object.__setattr__(self, field, _checked(field, getattr(self, field)))

    def replace(self, **choices: Any) -> Convention:
        """
        Make the same convention with other choices; its name says which.

        Raises
        ------
        UnknownConventionError
            If there is no such field.
        InvalidInputError
            If a field has no such choice.
        """
        for field in choices:
            if field not in CHOICES:
                hint = nearest(field, CHOICES) or f" There are {', '.join(CHOICES)}."
                raise UnknownConventionError(f"a convention has no field {field!r}.{hint}")
        base = self.name.partition("(")[0]
        changed = Convention(**(asdict(self) | choices))
        if base in conventions:
            given = {f: choice for f, choice in changed.choices().items() if choice != conventions[base].choices()[f]}
        else:
            given = {f: getattr(changed, f) for f in CHOICES if f in choices or f in parse_call(self.name)[1]}
        object.__setattr__(changed, "name", format_call(base, given))
        return changed

    @functools.lru_cache(maxsize=256)  # noqa: B019 - conventions are few, and values
    def for_labels_of(self, *, qrels: bool) -> Convention:
        """Make the convention that says what negative labels mean in qrels, or in arrays."""
        if self.negative_labels != "raise_in_arrays":
            return self
        return self.replace(negative_labels="zero" if qrels else "raise")

    def choices(self) -> dict[str, Value]:
        """Every field with its choice."""
        return {field: getattr(self, field) for field in CHOICES}

    def __hash__(self) -> int:
        return hash(self.name)  # quick: conventions are looked up in every call

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


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


def _checked(field: str, choice: Any) -> Value:
    if isinstance(choice, str | int | float) and not isinstance(choice, bool):
        for known in CHOICES[field]:
            if format_value(choice).replace(" ", "") == str(known).replace(" ", ""):
                return known
    table = TABLES[field][0](choice) if field in TABLES else None
    if table:
        return table
    choices = ", ".join(repr(known) for known in CHOICES[field])
    rule = TABLES[field][1] if field in TABLES else ""
    raise InvalidInputError(f"`{field}` of a convention must be one of {choices}{rule}, not {choice!r}")


_TREC_EVAL = Convention(
    "trec_eval",
    ties="id_descending",
    undefined=0,
    negative_labels="zero",
    missing_in_run="raise",
    source="trec_eval 10.0, form_res_rels.c, m_*.c: scores as doubles; stops at a judged query missing from the run",
)

conventions = Conventions(
    Convention("default", source="the definitions in the literature that the catalogue names"),
    _TREC_EVAL,
    Convention(
        **asdict(_TREC_EVAL)
        | {
            "name": "trec_eval_9",
            "missing_in_run": "skip",
            "score_dtype": "float32",
            "source": "trec_eval 9.0.8, form_res_rels.c: scores as floats; leaves out queries that the run lacks",
        }
    ),
)

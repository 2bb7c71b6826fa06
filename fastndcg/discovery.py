"""List metrics, conventions and fusion methods in Python: `list_metrics`, `list_conventions`, `list_fusion_methods`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from fastndcg.choices import ConventionKind, FusionKind, MetricFamily, MetricFunction
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten, suggest_name
from fastndcg.fusion import catalog as fusion_catalog
from fastndcg.metrics.families import CATALOG, FAMILIES, Record
from fastndcg.metrics.families.record import describe_parameters, list_trec_names
from fastndcg.named_conventions import KINDS, conventions
from fastndcg.statistics.table import Column, Table

CUSTOM = "custom"  # the family of registered metrics
FUNCTIONS = ("evaluate", "agreement", "beyond_accuracy", "evaluate_spans")
NORMALIZATION = "normalization"  # the kind of normalisations of scores
FUSION_KINDS = (*fusion_catalog.FAMILIES, NORMALIZATION)


class MetricRow(NamedTuple):
    """
    A metric of the catalogue.

    `parameters` are names, `aliases` are all other names that parse, and `function` is the function that takes the
    metric.
    """

    name: str
    title: str
    family: str
    function: str
    formula: str
    parameters: tuple[str, ...]
    range: str
    higher_is_better: bool | None
    aliases: tuple[str, ...]
    source: str


class ConventionRow(NamedTuple):
    """A convention, with the program whose numbers it gives."""

    name: str
    kind: str
    peer: str
    versions: str
    source: str


class FusionRow(NamedTuple):
    """
    A fusion method, or a normalisation of scores.

    `parameters` are names with their defaults, `is_weighted` is True if the method takes weights, and `aliases` are
    all other names that parse.
    """

    name: str
    title: str
    kind: str
    formula: str
    parameters: tuple[str, ...]
    is_weighted: bool
    aliases: tuple[str, ...]
    source: str


def list_metrics(
    search: str | None = None, *, family: MetricFamily | None = None, function: MetricFunction | None = None
) -> Table[MetricRow]:
    """
    List the metrics of the catalogue and the registered ones.

    Parameters
    ----------
    search : str, optional
        Words that the name, title, formula, aliases, source or names in other libraries contain, in any case.
    family : str, optional
        A family, such as 'gains', 'counts', 'subtopics', or 'custom' for registered metrics.
    function : {'evaluate', 'agreement', 'beyond_accuracy', 'evaluate_spans'}, optional
        The function that takes the metrics.

    Returns
    -------
    Table of MetricRow
        It prints as a table, also in notebooks. Rows have the formula, parameters, range and source, too.

    Raises
    ------
    InvalidInputError
        If there is no such family or function, or `search` is no text.

    Examples
    --------
    >>> [row.name for row in fn.list_metrics("cumulative gain", family="gains")]
    ['nDCG', 'DCG', 'CG', 'IDCG']
    """
    _check_choice("family", family, [*FAMILIES, CUSTOM])
    _check_choice("function", function, FUNCTIONS)
    words = _split_words(search)
    rows = [
        _make_row(record)
        for record in CATALOG.values()
        if family in (None, record.family)
        and function in (None, record.function_name)
        and _has_words(
            words, record.name, record.title, record.use, record.formula, record.source, *_other_names(record)
        )
    ]
    columns = [
        Column("name", lambda row: row.name, left=True),
        Column("title", lambda row: row.title, left=True),
        Column("family", lambda row: row.family, left=True),
        Column("also called", lambda row: ", ".join(row.aliases), left=True),
    ]
    return Table(rows, columns, _note_count(len(rows), "metric", "help(fn.nDCG) explains nDCG"))


def list_conventions(search: str | None = None, *, kind: ConventionKind | None = None) -> Table[ConventionRow]:
    """
    List the named conventions.

    Parameters
    ----------
    search : str, optional
        Words that the name, the program or the source contain, in any case.
    kind : {'default', 'search', 'learning_to_rank', 'recommenders'}, optional
        The kind of program.

    Returns
    -------
    Table of ConventionRow
        It prints as a table, also in notebooks.

    Raises
    ------
    InvalidInputError
        If there is no such kind, or `search` is no text.

    Examples
    --------
    >>> [row.name for row in fn.list_conventions("lightgbm")]
    ['lightgbm']
    """
    _check_choice("kind", kind, dict.fromkeys(KINDS.values()))
    words = _split_words(search)
    rows = [
        ConventionRow(name, KINDS[name], convention.peer, convention.versions, convention.source)
        for name, convention in conventions.items()
        if kind in (None, KINDS[name]) and _has_words(words, name, convention.peer, convention.source)
    ]
    columns = [
        Column("name", lambda row: row.name, left=True),
        Column("kind", lambda row: row.kind, left=True),
        Column("follows", lambda row: f"{row.peer} {row.versions}".strip() or row.source, left=True),
    ]
    return Table(rows, columns, _note_count(len(rows), "convention", "print(fn.conventions['sklearn']) shows one"))


def list_fusion_methods(search: str | None = None, *, kind: FusionKind | None = None) -> Table[FusionRow]:
    """
    List the methods that `fuse` and `tune_fusion` take, and the normalisations of scores.

    Parameters
    ----------
    search : str, optional
        Words that the name, title, formula, aliases, source or names in other programs contain, in any case.
    kind : {'scores', 'ranks', 'training', 'normalization'}, optional
        Methods that combine scores or ranks, methods that learn from judgments, or normalisations.

    Returns
    -------
    Table of FusionRow
        It prints as a table, also in notebooks. Rows have the formula, parameters and source, too.

    Raises
    ------
    InvalidInputError
        If there is no such kind, or `search` is no text.

    Examples
    --------
    >>> [row.name for row in fn.list_fusion_methods("elasticsearch")]
    ['wsum', 'rrf', 'none', 'min_max', 'l2']
    >>> fn.list_fusion_methods("reciprocal", kind="ranks")[0].parameters
    ('k',)
    """
    _check_choice("kind", kind, FUSION_KINDS)
    words = _split_words(search)
    rows = [
        row
        for row, peers in _describe_fusion()
        if kind in (None, row.kind)
        and _has_words(words, row.name, row.title, row.formula, row.source, *row.aliases, *peers)
    ]
    columns = [
        Column("name", lambda row: row.name, left=True),
        Column("title", lambda row: row.title, left=True),
        Column("kind", lambda row: row.kind, left=True),
        Column("parameters", lambda row: ", ".join(row.parameters), left=True),
    ]
    hint = "fn.fuse(runs, 'wsum(norm=min_max)') takes a method with its parameters"
    return Table(rows, columns, _note_count(len(rows), "record", hint))


def _describe_fusion() -> Iterator[tuple[FusionRow, list[str]]]:
    """Yield a row for each method and normalisation, with the names of other programs and theirs of it."""
    for kind, records in fusion_catalog.FAMILIES.items():
        for record in records:
            names = tuple(dict.fromkeys([*record.aliases, *record.names_elsewhere]))
            row = FusionRow(
                record.name, record.title, kind, record.formula, record.parameter_texts, record.is_weighted, names,
                record.source,
            )  # fmt: skip
            yield row, [name for peer in record.peers for name in peer]
    for norm in fusion_catalog.NORMALIZATIONS.values():
        names = tuple(dict.fromkeys([*norm.aliases, *norm.names_elsewhere]))
        row = FusionRow(norm.name, norm.title, NORMALIZATION, norm.formula, (), False, names, norm.source)
        yield row, [name for peer in norm.peers for name in peer]


def _make_row(record: Record) -> MetricRow:
    return MetricRow(
        name=record.name,
        title=record.title,
        family=record.family,
        function=record.function_name,
        formula=record.formula,
        parameters=tuple(name for name, _ in describe_parameters(record)),
        range=record.range,
        higher_is_better=record.higher_is_better,
        aliases=tuple(dict.fromkeys([*record.aliases, *list_trec_names(record)])),
        source=record.source,
    )


def _other_names(record: Record) -> list[str]:
    return [*record.aliases, *list_trec_names(record), *(name for peer in record.peers for name in peer)]


def _check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    if value is None:
        return
    if not isinstance(value, str) or value not in choices:
        hint = suggest_name(value, choices) or f" There are {', '.join(choices)}."
        raise InvalidInputError(f"`{name}` has no choice {shorten(value)}.{hint}")


def _split_words(search: Any) -> list[str]:
    if search is not None and not isinstance(search, str):
        raise InvalidTypeError(f"`search` must be a text, not {shorten(search)}. Leave it out to list all.")
    return (search or "").lower().split()


def _has_words(words: list[str], *texts: str) -> bool:
    joined = "\n".join(texts).lower()
    return all(word in joined for word in words)


def _note_count(n_rows: int, what: str, hint: str) -> list[str]:
    plural = "" if n_rows == 1 else "s"
    return [f"{n_rows} {what}{plural}; {hint}"]

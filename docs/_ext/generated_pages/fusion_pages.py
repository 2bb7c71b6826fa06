"""The page about fusion: tables of methods, normalisations and conventions, from their records."""

from __future__ import annotations

from collections.abc import Iterator

import fastndcg as fn
from fastndcg.fusion.catalog import FAMILIES, NORMALIZATIONS, MethodRecord
from fastndcg.fusion.conventions import CHOICES, FIELDS
from fastndcg.parsing import format_value
from fastndcg.runtime.escapes import markdown_line
from generated_pages.fusion_formulas import FORMULAS
from generated_pages.markdown import table

TITLES = {"scores": "Methods of scores", "ranks": "Methods of ranks", "training": "Methods that learn"}


def make_pages() -> dict[str, str | bytes]:
    """Return the page of fusion."""
    return {"reference/fusion.md": "".join(_make_page())}


def _make_page() -> Iterator[str]:
    yield "# Fusion methods and conventions\n\n"
    yield "Each table has what a record of the catalogue says. The [guide](../guides/fuse_runs.md) shows how to fuse.\n"
    for family, records in FAMILIES.items():
        yield f"\n## {TITLES[family]}\n\n"
        yield from table(
            ["method", "fused score", "parameters", "weights", "elsewhere"], (_describe(r) for r in records)
        )
        yield "\n"
        for record in records:
            yield f"`{record.name}`: {markdown_line(record.title)}.\n\n```{{math}}\n{FORMULAS[record.name]}\n```\n\n"
            doi = f" [doi:{record.doi}](https://doi.org/{record.doi})" if record.doi else ""
            yield f"Source: {markdown_line(record.source)}.{doi}\n\n"
    yield "\n## Normalisations\n\nA normalisation sees the scores of one run for one query.\n\n"
    rows = (
        [f"`{r.name}`", markdown_line(r.formula), markdown_line(_join_peers(r.peers)), markdown_line(r.source)]
        for r in NORMALIZATIONS.values()
    )
    yield from table(["norm", "score", "elsewhere", "source"], rows)
    yield from _list_conventions()


def _describe(record: MethodRecord) -> list[str]:
    """Return the row of a method."""
    parameters = ", ".join(f"`{p.name}`" + ("" if p.default is None else f" = {p.default}") for p in record.parameters)
    weights = "yes" if record.is_weighted else "no"
    return [
        f"`{record.name}`",
        markdown_line(record.formula),
        parameters,
        weights,
        markdown_line(_join_peers(record.peers)),
    ]


def _join_peers(peers: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{peer}: {name}" for peer, name in peers)


def _list_conventions() -> Iterator[str]:
    """Yield the table of who does what, and the sources."""
    names = list(fn.fusion_conventions)
    yield "\n## Who does what\n\nA choice that differs from `default` is in bold.\n\n"
    usual = fn.fusion_conventions["default"].choices()
    rows = []
    for field in FIELDS:
        cells = [f"`{field}`"]
        for name in names:
            choice = fn.fusion_conventions[name].choices()[field]
            text = format_value(choice)
            cells.append(text if choice == usual[field] else f"**{text}**")
        rows.append(cells)
    yield from table(["field", *names], rows)
    yield "\n## Fields\n\n"
    yield from table(
        ["field", "choices", "meaning"],
        ([f"`{n}`", ", ".join(f"`{c}`" for c in CHOICES[n]), markdown_line(f.text)] for n, f in FIELDS.items()),
    )
    yield "\n## Programs\n"
    for name, convention in fn.fusion_conventions.items():
        about = " ".join(filter(None, (convention.peer, convention.versions)))
        yield f"\n### {name}\n\n"
        if about:
            yield f"{markdown_line(about)}.\n\n"
        yield f"{markdown_line(convention.source)}.\n"
        if convention.methods:
            yield "\n"
            yield from table(["there", "here"], ([f"`{theirs}`", f"`{ours}`"] for theirs, ours in convention.methods))
        for bug in convention.bugs:
            yield f"\nNot copied: {markdown_line(bug.what)} ({markdown_line(bug.source)}).\n"

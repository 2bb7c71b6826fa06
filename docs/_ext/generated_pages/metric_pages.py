"""The pages of the metrics: one page a family, the overview, aggregates, and names in other programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from fastndcg.metrics.families import AGGREGATES, CATALOG, FAMILIES, Parameter, Record
from fastndcg.metrics.families.record import (
    TIE_POLICIES,
    TIES_AND_MEAN_RANK,
    AggregateRecord,
    describe_ties,
    list_trec_names,
)
from fastndcg.parsing import format_value
from generated_pages import metric_examples as examples
from generated_pages.markdown import table
from generated_pages.metric_formulas import FORMULAS
from generated_pages.metric_plots import COLOURS, PLACES, PLOTS, draw_all
from generated_pages.metric_symbols import find_symbols

FOLDER = "reference/metrics"
PICTURES = "_generated/pictures"
TITLES = {
    "gains": "nDCG and other sums of gains",
    "counts": "Precision, recall and other counts",
    "first_relevant": "Reciprocal rank, success and mean rank",
    "cascades": "ERR and other user models",
    "pairs": "AUC, multi-label ranking and interpolated precision",
    "judgments": "Incomplete judgments",
    "subtopics": "Novelty and diversity",
    "agreement": "Agreement of two rankings",
    "beyond_accuracy": "Beyond accuracy",
    "spans": "Text spans",
}
CUTOFF = "the number of ranks that count, 1 or more; all ranks if left out"
PEER_NAME = re.compile(r"[^,:(]*(?:\([^()]*\))?")
ADDRESS = re.compile(r"https?://[^\s,;]+")
SPECIAL = re.compile(r"[\\*_\[\]<>$~^#]")
BETTER = {True: "higher", False: "lower", None: "neither higher nor lower"}


def make_pages() -> dict[str, str | bytes]:
    """Return the pages and their plots by their paths."""
    families = list(FAMILIES)
    pages: dict[str, str | bytes] = {f"{FOLDER}/{family}.md": "".join(write_family(family)) for family in families}
    pages[f"{FOLDER}/aggregates.md"] = "".join(write_aggregates())
    pages[f"{FOLDER}/names_elsewhere.md"] = "".join(write_names())
    pages["_generated/parts/metrics.md"] = "".join(write_overview(families))
    return pages | draw_all(PICTURES)


def write_overview(families: list[str]) -> Iterator[str]:
    """Yield the lists of metrics for the overview, which is in docs/reference/metrics/index.md."""
    yield f"These are {len(CATALOG)} metrics in {len(families)} families.\n\n"
    for family in families:
        yield f"## {_title(family)}\n\n{_describe_family(family)}\n\n"
        rows = ([_link(record), _escape(record.title), _code(record.aliases)] for record in _records(family))
        yield from table(["metric", "is", "also read as"], rows)
        yield "\n"
    yield "## One number for all queries\n\nAn aggregate stands around a metric, such as `gm(AP)`.\n\n"
    rows = ([f"[`{name}`](#aggregate-{name})", _escape(record.title)] for name, record in AGGREGATES.items())
    yield from table(["aggregate", "is"], rows)
    entries = "\n".join(f"/{FOLDER}/{name}" for name in [*families, "aggregates", "names_elsewhere"])
    yield f"\n```{{toctree}}\n:titlesonly:\n:hidden:\n\n{entries}\n```\n"


def write_family(family: str) -> Iterator[str]:
    """Yield the lines of a family's page."""
    records = _records(family)
    yield f"# {_title(family)}\n\n{_describe_family(family)}\n\n"
    yield from table(["metric", "is"], ([_link(record), _escape(record.title)] for record in records))
    yield "\n"
    yield from write_symbols([equation for record in records for equation in FORMULAS[record.name]])
    namespaces: dict[str, dict[str, Any]] = {}
    for kind in dict.fromkeys(map(examples.find_kind, records)):
        namespaces[kind] = {}
        code = "".join(examples.run_code(examples.SETUPS[kind], namespaces[kind]))
        yield f"## The example of this page\n\n{examples.INTRODUCTIONS[kind]}\n\n```pycon\n{code}```\n\n"
    for record in records:
        yield from write_metric(record, namespaces[examples.find_kind(record)])
    with_policies = [record for record in records if record.function_name == "evaluate"]
    if with_policies:
        yield from write_ties(with_policies, namespaces)
    yield "## See also\n\n- [All metrics](index.md)\n"
    yield "- [Names in other programs](names_elsewhere.md)\n"


def write_symbols(equations: list[str]) -> Iterator[str]:
    """Yield the table of the symbols that appear in equations."""
    yield "## Symbols\n\nA symbol means the same on all pages.\n\n"
    yield from table(["symbol", "meaning"], ([f"${s.latex}$", s.meaning] for s in find_symbols(equations)))
    yield "\n"


def write_metric(record: Record, namespace: dict[str, Any]) -> Iterator[str]:
    """Yield the section of a metric."""
    yield f"(metric-{_anchor(record)})=\n## {_escape(record.name)}\n\n{_sentence(record.title)}\n\n"
    yield f"{_escape(record.use)}\n\n"
    for equation in FORMULAS[record.name]:
        yield f"```{{math}}\n{equation}\n```\n\n"
    yield f"In words: {_escape(record.formula)}.\n\n"
    yield from _write_facts(record)
    yield from _write_parameters(record)
    yield from _write_names(record)
    yield from _write_plots(record.name)
    yield from _write_example(record, namespace)


def write_ties(records: list[Record], namespaces: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the table of the metrics of a page under each tie policy."""
    yield "## Tie policies on this example\n\nEach row is a metric on the tied scores, each column a tie policy: "
    yield '`fn.conventions["default"].replace(ties="best")`. A dash: the metric does not have this policy, and tied '
    yield "scores raise an error.\n\n"
    head = ["metric", *(f"`{policy}`" for policy in examples.POLICIES)]
    rows = ([f"`{examples.make_text(r)}`", *examples.compute_ties(r, namespaces[r.view])] for r in records)
    yield from table(head, rows)
    yield "\n"


def write_aggregates() -> Iterator[str]:
    """Yield the lines of the page about aggregates."""
    yield "# Aggregates\n\nAn aggregate makes one number of a metric's values. It stands around the metric: `gm(AP)`, "
    yield "`quantile(AP, q=0.1)`. Without one, the number is the mean over the queries for which the metric is "
    yield "defined.\n\n"
    records = list(AGGREGATES.values())
    yield from write_symbols([equation for record in records for equation in FORMULAS[record.name]])
    namespace: dict[str, Any] = {}
    code = "".join(examples.run_code(examples.SETUPS["aggregates"], namespace))
    code += "".join(examples.run_code(['fn.evaluate(labels, scores, "RR")["RR"].tolist()'], namespace))
    yield f"## The example of this page\n\n{examples.INTRODUCTIONS['aggregates']}\n\n```pycon\n{code}```\n\n"
    for record in records:
        yield from _write_aggregate(record, namespace)
    yield "## See also\n\n- [All metrics](index.md)\n"


def write_names() -> Iterator[str]:
    """Yield the lines of the page about names in other programs, with a table for each program."""
    programs: dict[str, list[tuple[Record, str]]] = {"trec_eval": []}
    for record in CATALOG.values():
        for name in list_trec_names(record):
            programs["trec_eval"].append((record, name))
        for program, name in record.peers:
            programs.setdefault(program, []).append((record, name))
    programs = dict(sorted(programs.items(), key=lambda item: (-len(item[1]), item[0].lower())))
    yield "# Names in other programs\n\nFind the metric that another program calls by another name. The programs with "
    yield "most names come first. `_k` stands for a cutoff. Two programs with the same name may "
    yield "still compute other numbers: see [Why is my number different?](../../numbers/index.md)\n\n"
    for program, names in programs.items():
        yield f"## {_escape(program)}\n\n"
        yield from table(["its name", "here"], (_describe_name(record, name) for record, name in names))
        yield "\n"


def _describe_name(record: Record, name: str) -> list[str]:
    """Return the row of a name: as code, and a remark behind a comma or colon as text."""
    end = PEER_NAME.match(name).end()  # type: ignore[union-attr]
    return [f"`{name[:end]}`{_escape(name[end:])}", _link(record)]


def _write_facts(record: Record) -> Iterator[str]:
    yield f":Range: {_escape(record.range)}\n:Better: {BETTER[record.higher_is_better]}\n"
    undefined = "never" if record.undefined == "never" else f"{record.undefined}; the value is NaN then"
    yield f":Undefined when: {_escape(undefined)}\n"
    yield f":Cutoff: {f'`{record.name}@10`' if record.has_cutoff else 'none, all ranks count'}\n"
    yield f":Ties: {_describe_ties(record)}\n"
    yield f":Computed by: {{py:func}}`fastndcg.{record.function_name}`\n"
    if record.view != "labels":
        needs = {"judgments": "which documents are judged", "subtopics": "judgments by subtopic"}[record.view]
        yield f":Needs: {needs}\n"
    doi = f" [doi:{record.doi}](https://doi.org/{record.doi})" if record.doi else ""
    yield f":Source: {_link_addresses(_escape(record.source))}.{doi}\n\n"


def _describe_ties(record: Record) -> str:
    """Return the tie policies of a metric in a sentence."""
    if not record.ties:
        return (
            "equal scores are part of the formula"
            if record.function_name == "agreement"
            else "none, lists have no scores"
        )
    if record.ties == TIES_AND_MEAN_RANK:
        return "the mean over all orders, exactly; every other tie policy"
    if record.ties == TIE_POLICIES:
        return "the mean over all orders, exactly; every other tie policy but mean_rank"
    if "average" not in record.ties:
        return "no mean over all orders; every other tie policy but mean_rank"
    policies = "" if record.ties == ("average",) else f"; policies: {_escape(describe_ties(record))}"
    return f"the mean over all orders, exactly{policies}"


def _write_parameters(record: Record | AggregateRecord) -> Iterator[str]:
    rows = [_describe_parameter(parameter) for parameter in record.parameters]
    if isinstance(record, Record) and record.has_cutoff:
        rows.insert(0, ["`k`", "all ranks", f"{CUTOFF}; written `@k`"])
    if rows:
        yield "**Parameters**\n\n"
        yield from table(["name", "default", "meaning"], rows)
        yield "\n"


def _describe_parameter(parameter: Parameter) -> list[str]:
    default = "–" if parameter.default is None else f"`{format_value(parameter.default)}`"
    return [f"`{parameter.name}`", default, _escape(parameter.text)]


def _write_names(record: Record) -> Iterator[str]:
    names = [("fastndcg", _code(record.aliases))] if record.aliases else []
    names += [("trec_eval", _code(list_trec_names(record)))] if list_trec_names(record) else []
    names += [(_escape(program), _describe_name(record, name)[0]) for program, name in record.peers]
    if names:
        yield "**Names elsewhere**\n\n"
        yield from table(["program", "name"], names)
        yield "\n"


def _write_plots(name: str) -> Iterator[str]:
    for plot in PLACES.get(name, ()):
        for theme in COLOURS:
            yield f"```{{image}} /{PICTURES}/{plot}_{theme}.svg\n:alt: {PLOTS[plot].description}\n"
            yield f":class: only-{theme}\n```\n\n"
        yield f"*{PLOTS[plot].caption}*\n\n"


def _write_example(record: Record, namespace: dict[str, Any]) -> Iterator[str]:
    yield "**Example**\n\n"
    if record.name in examples.OWN:
        text, lines = examples.OWN[record.name]
        yield f"{text}\n\n```pycon\n{''.join(examples.run_code(lines, namespace))}```\n\n"
        return
    yield f"```pycon\n{''.join(examples.run_code([examples.make_call(record)], namespace))}```\n\n"
    steps = examples.work_by_hand(record, namespace)
    if steps:
        lines = r" \\" + "\n"
        yield f"By hand:\n\n```{{math}}\n\\begin{{aligned}}\n{lines.join(steps)}\n\\end{{aligned}}\n```\n\n"
    if "average" in record.ties:
        yield "With equal scores, the value is the mean over all orders of the tied documents:\n\n"
        yield f"```pycon\n{''.join(examples.run_code([examples.make_call(record, is_tied=True)], namespace))}```\n\n"


def _write_aggregate(record: AggregateRecord, namespace: dict[str, Any]) -> Iterator[str]:
    yield f"(aggregate-{record.name})=\n## {record.name}\n\n{_sentence(record.title)}\n\n"
    for equation in FORMULAS[record.name]:
        yield f"```{{math}}\n{equation}\n```\n\n"
    source, _, doi = record.source.partition(", doi:")
    link = f" [doi:{doi}](https://doi.org/{doi})" if doi else ""
    yield f"In words: {_escape(record.formula)}.\n\n:Source: {_escape(source)}.{link}\n\n"
    yield from _write_parameters(record)
    metric = "P@2" if record.name == "micro" else "RR"
    code = "".join(examples.run_code([f'fn.evaluate(labels, scores, "{record.name}({metric})").mean()'], namespace))
    yield f"**Example**\n\n```pycon\n{code}```\n\n"


def _records(family: str) -> list[Record]:
    return [record for record in CATALOG.values() if record.family == family]


def _title(family: str) -> str:
    return TITLES.get(family, family.replace("_", " ").capitalize())


def _describe_family(family: str) -> str:
    """Return the first line of the docstring of a family's module."""
    module = import_module(f"fastndcg.metrics.families.{family}")
    return _escape((module.__doc__ or "").strip().partition("\n")[0])


def _anchor(record: Record) -> str:
    return record.name.lower().replace("_", "-")


def _link(record: Record) -> str:
    return f"[`{record.name}`](#metric-{_anchor(record)})"


def _code(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _sentence(title: str) -> str:
    return f"{_escape(title[:1].upper() + title[1:])}."


def _link_addresses(text: str) -> str:
    """Return text of Markdown in which addresses are links, without the marks of `_escape`."""

    def link(match: re.Match[str]) -> str:
        address = match[0].replace("\\", "")
        return f"[{match[0].partition('://')[2]}]({address})"

    return ADDRESS.sub(link, text)


def _escape(text: str) -> str:
    """Return text for Markdown, whose only marks are back-ticks."""
    return SPECIAL.sub(lambda match: f"\\{match[0]}", text)

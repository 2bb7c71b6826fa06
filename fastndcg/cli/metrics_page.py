"""The page about all metrics, in Markdown, from their records alone."""

from __future__ import annotations

from collections.abc import Iterator

from fastndcg.catalog import AGGREGATES, CATALOG, OTHERS, Parameter, Record
from fastndcg.catalog.record import TIE_POLICIES
from fastndcg.cli.markdown import table
from fastndcg.texts import format_value

PEERS = ("trec_eval", "ranx", "ir_measures", "scikit-learn", "RecTools", "RePlay", "TorchMetrics")
INTRODUCTION = """\
`@k` behind a name counts the first k ranks alone, such as `nDCG@10`; parameters stand in brackets: `P(rel=2)@5`.
Where scores tie, a value is the mean over all orders of equal scores, exactly, unless the convention has another tie
policy. `fastndcg metrics NAME` explains one, `fn.register` adds one of your own.
"""


def lines() -> Iterator[str]:
    """The page."""
    yield f"## All metrics\n\n{INTRODUCTION}\n"
    head = ["metric", "is", "formula", "parameters", "range", "better", "undefined where", "tie policies", "source"]
    yield from table(head, map(_row, CATALOG.values()))
    yield "\n### Of two rankings, and of recommended items alone\n\n"
    yield "`fn.agreement` and `fn.beyond_accuracy` take these.\n\n"
    yield from table(head, map(_row, OTHERS.values()))
    yield "\n### What others call them\n\n"
    yield from table(["metric", *PEERS, "here also"], map(_names, (*CATALOG.values(), *OTHERS.values())))
    yield "\n### One number for all queries\n\n"
    yield "The mean over the queries for which the metric is defined, or what is written around it: `gm(AP)`.\n\n"
    rows = ([f"`{one.name}`", one.title, one.formula, _parameters(one.parameters), one.source]
            for one in AGGREGATES.values())  # fmt: skip
    yield from table(["aggregate", "is", "formula", "parameters", "source"], rows)


def _row(record: Record) -> list[str]:
    name = f"`{record.name}`" + ("" if record.takes_k else " (no @k)")
    better = "higher" if record.higher_is_better else "lower"
    source = record.source + (f" [doi](https://doi.org/{record.doi})" if record.doi else "")
    undefined = "–" if record.undefined == "never" else record.undefined
    parameters = _parameters(record.parameters)
    return [name, record.title, record.formula, parameters, record.range, better, undefined, ties(record), source]


def ties(record: Record) -> str:
    """The tie policies of a metric, in short."""
    if record.ties in (TIE_POLICIES, ()):
        return "all" if record.ties else "–"
    lacking = [policy for policy in TIE_POLICIES if policy not in record.ties]
    return f"all but {', '.join(lacking)}" if len(lacking) < len(record.ties) else ", ".join(record.ties)


def trec_names(record: Record) -> list[str]:
    """What trec_eval calls a metric, without a cutoff and with one."""
    return [*([record.trec_name] if record.trec_name else []), *([f"{record.trec_cut}_k"] if record.trec_cut else [])]


def _parameters(parameters: tuple[Parameter, ...]) -> str:
    return "<br>".join(
        f"`{p.name}`{'' if p.default is None else f' = {format_value(p.default)}'}: {p.text}" for p in parameters
    )


def _names(record: Record) -> list[str]:
    theirs = {"trec_eval": ", ".join(trec_names(record))} | dict(record.peers)
    return [f"`{record.name}`", *(theirs.get(peer) or "–" for peer in PEERS), ", ".join(record.aliases)]

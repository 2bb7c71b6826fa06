"""Notes on results: where a named convention does not give the number of its program."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import list_shares
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.convention import PeerMetric
from fastndcg.parsing import format_value, parse_call
from fastndcg.runtime.escapes import show_name

MOST_SHARES = 4  # of judged documents in one line


def notes_on_systems(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """
    Return the notes on several systems: a note on all of them once, others behind the name of their system.

    >>> notes_on_systems({"old": ["AUC differs"], "new": ["AUC differs", "swapped?"]})
    ['AUC differs', 'new: swapped?']
    """
    shared = [note for note in dict.fromkeys(note for own in notes.values() for note in own)
              if all(note in own for own in notes.values())]  # fmt: skip
    return [
        *shared,
        *(f"{show_name(name)}: {note}" for name, own in notes.items() for note in own if note not in shared),
    ]


def notes_on_results(results: Mapping[str, Any], metrics: Sequence[Metric]) -> list[str]:
    """Return what `evaluate` says below its tables, for the results of several systems."""
    first = next(iter(results.values()))
    return [
        *notes_on_systems({name: own.missing_notes for name, own in results.items()}),
        *describe_judged([own.judged for own in results.values()], metrics, first.convention),
        *notes_on_systems({name: own.notes for name, own in results.items()}),
    ]


def describe_missing(n_missing_in_run: int, n_missing_in_qrels: int, convention: Convention) -> list[str]:
    """
    Return the lines on queries that only the qrels, or only the run, have, and what becomes of them.

    >>> from fastndcg.named_conventions import parse_convention
    >>> describe_missing(2, 0, parse_convention("trec_eval"))
    ['judged queries missing in the run: 2 (raise)']
    """
    counts = {
        f"judged queries missing in the run: {n_missing_in_run} ({convention.missing_in_run})": n_missing_in_run,
        f"queries of the run missing in the qrels: {n_missing_in_qrels} ({convention.missing_in_qrels})":
            n_missing_in_qrels,
    }  # fmt: skip
    return [line for line, n in counts.items() if n]


def describe_judged(
    judged: Iterable[Mapping[str, float] | None], metrics: Sequence[Metric], convention: Convention
) -> list[str]:
    """
    Return the line on the shares of judged documents of some systems, at the cutoffs of the metrics, if one is below 1.

    A system with an empty dict has judged documents alone, and None says nothing. Of many cutoffs the line names the
    lowest and the highest. It leaves out shares that are metrics themselves.

    >>> from fastndcg.named_conventions import parse_convention
    >>> describe_judged([{"RR": 1.0}], [], parse_convention("default"))
    []
    """
    is_removed = convention.unjudged == "removed"  # then all that is left is judged
    known = [own for own in judged if own is not None]
    shares: list[str] = []
    for share in list_shares(tuple(metrics), convention) if known else ():
        if share in metrics and not is_removed:
            continue
        values = [own.get(str(share), 1.0) for own in known]
        low, high = min(values), max(values)
        if low < 1:
            range_of_systems = "" if low == high else f" to {_format_share(high)}"
            shares.append(f"{share} {_format_share(low)}{range_of_systems}")
    if not shares:
        return []
    if len(shares) > MOST_SHARES:
        shares = [shares[0], "…", shares[-1]]
    effect = "were removed" if is_removed else "count as not relevant"
    return [f"{', '.join(shares)}: documents without a judgment {effect}"]


def _format_share(share: float) -> str:
    """Return a share with four decimals, which are not 1.0000 for one below 1."""
    return f"{share if share == 1 else min(share, 0.9999):.4f}"


@functools.lru_cache(maxsize=256)
def notes_on(metrics: tuple[Metric, ...], convention: Convention, has_ties: bool) -> tuple[str, ...]:
    """
    Return a note on each metric that the convention's program has, and that gives another number there.

    `has_ties` says that scores tie between different labels.
    """
    notes = (note_on(metric, convention, has_ties) for metric in metrics)
    return tuple(note for note in dict.fromkeys(notes) if note)


def note_on(metric: Metric, convention: Convention, has_ties: bool) -> str:
    """Return the note on one metric, or an empty text."""
    peers = [peer for peer in convention.metrics if peer.name == metric.name]
    if not peers:
        return ""
    fitting = [peer for peer in peers if _fits(metric, peer, convention)]
    first = (fitting or peers)[0]
    theirs = first.theirs if "'" in first.theirs else f"{convention.peer}'s {first.theirs}"
    if first.differs:
        return f"{metric} is not {theirs}, which {first.differs}"
    if not fitting:
        name = first.by or find_base_name(convention)
        return f"{metric} is not {theirs}: that is {first.ours} under the convention {name}"
    return (
        f"{metric} is not {theirs} where scores tie: it {first.tie_difference}"
        if first.tie_difference and has_ties
        else ""
    )


def _fits(metric: Metric, peer: PeerMetric, convention: Convention) -> bool:
    """Return True if metric and convention are those of the program's number."""
    same_metric = Metric.parse(peer.ours)
    if same_metric.k not in (None, metric.k):
        return False
    if any(metric.get(name) != value for name, value in same_metric.parameters):
        return False
    if not peer.by:
        return True
    name, choices, _ = parse_call(peer.by)
    ours = {field: format_value(getattr(convention, field)) for field in choices}
    theirs = {field: format_value(value) for field, value in choices.items()}
    return name == find_base_name(convention) and ours == theirs


def find_base_name(convention: Convention) -> str:
    """Return the name of the named convention that a convention was made from."""
    return convention.name.partition("(")[0]

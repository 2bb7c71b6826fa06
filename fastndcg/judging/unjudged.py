"""The unjudged documents that systems rank, numbered once for all systems, and their ranks in each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fastndcg.engine.apply import apply_convention
from fastndcg.errors import Choice, InvalidInputError, Words, reworded, shorten
from fastndcg.forms.named_systems import read_judgments, read_runs
from fastndcg.inputs.ids import IdColumn, concatenate_comparable, run_on_spans
from fastndcg.inputs.join import QRELS_AND_RUN, find_ids, join
from fastndcg.inputs.messages import Options
from fastndcg.inputs.table import Qrels, Run
from fastndcg.kernels.lookup import load_kernels
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.parsing import as_table
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, count_before, read_only
from fastndcg.results.notes import describe_missing, notes_on_systems
from fastndcg.runtime.threads import check_threads

# what bounds need of a convention, so that labels change no ranks and no document becomes another
NEEDED = {
    "ties": tuple(name for name, policy in TIES.items() if policy.orders in ("input", "id") or name == "average"),
    "unjudged": ("nonrelevant",),
    "pool": ("judged",),
    "negative_labels": ("raise_in_arrays", "zero", "raise"),
    "missing_in_run": ("zero", "skip", "raise"),
    "missing_in_qrels": ("skip", "raise"),
}


def check_choices(needed: Mapping[str, tuple[Any, ...]], convention: Convention, what: str) -> None:
    """Raise an error for a choice of the convention that `what` does not have a bound for."""
    for field, choices in needed.items():
        if getattr(convention, field) not in choices:
            raise InvalidInputError(
                f"`convention` must have {field} {' or '.join(map(repr, choices))} for {what}, not "
                f"{shorten(getattr(convention, field))}. Take ",
                Choice(field, choices[:1]),
            )


class Places(NamedTuple):
    """The first rank and the size of the tie group of some documents, 0 and 1 of those that are not ranked."""

    starts: Array
    sizes: Array

    def take(self, places: Array) -> Places:
        """Return those of some of the documents."""
        return Places(self.starts[places], self.sizes[places])


class SystemRanks(NamedTuple):
    """
    Where a system ranks the unjudged documents of all systems, and its judged documents.

    `queries` and `labels` are those of its judged documents, `is_ranked` is True for the queries that it answers under
    the convention.
    """

    items: Places
    judged: Places
    queries: Array
    labels: Array
    n_retrieved: Array
    is_ranked: Array
    rankings: Rankings


class Unjudged:
    """
    The unjudged documents that any of the systems ranks, called items, query by query.

    Query q has the items ``offsets[q]`` up to ``offsets[q + 1]``. `pool` has the judged labels of all queries, whose
    queries are `pool_queries`.
    """

    def __init__(
        self, truth: Any, systems: Any, labels: Any, convention: Convention, threads: int | None, fewest: int = 1
    ) -> None:
        check_choices(NEEDED, convention, "bounds")
        options = Options(threads=check_threads(threads), is_alone=False)
        qrels = read_judgments(truth, options, "truth")
        names, runs = read_runs(systems, options, "systems", fewest, is_closed=False)
        self.convention = convention
        self.threads = threads
        self.labels = _check_labels(labels, qrels)
        self.queries = qrels.queries
        self.n_queries = len(qrels.queries)
        is_judged = qrels.values >= 0
        self.pool = qrels.values[is_judged].astype("f8")
        self.pool_queries = np.repeat(np.arange(self.n_queries), np.diff(qrels.offsets))[is_judged]
        joined = []
        for name, run in zip(names, runs, strict=True):
            with reworded(before=f"system {shorten(name)}: "):
                joined.append(_JoinedSystem(qrels, run, convention, options))
        self._number_items(joined)
        ends = np.cumsum([len(system.documents) for system in joined]).tolist()
        placed = [
            system.place_items(self._codes[end - len(system.documents) : end], self.n_items)
            for system, end in zip(joined, ends, strict=True)
        ]
        self.systems = dict(zip(names, placed, strict=True))
        notes = {name: system.notes for name, system in zip(names, joined, strict=True)}
        self.notes = [*self._describe(), *notes_on_systems(notes)]

    @property
    def n_items(self) -> int:
        """The number of unjudged documents of all queries."""
        return len(self.item_queries)

    def _number_items(self, joined: list[_JoinedSystem]) -> None:
        """Number the unjudged documents of each query once."""
        queries = np.concatenate([system.queries[system.is_unjudged] for system in joined])
        ids = concatenate_comparable([system.documents for system in joined])
        codes, _ = ids.factorize()
        keys = queries * (int(codes.max(initial=0)) + 1) + codes
        _, firsts, self._codes = np.unique(keys, return_index=True, return_inverse=True)
        self.item_queries = queries[firsts]
        self.documents = ids.take(firsts)
        self.offsets = read_only(count_before(np.bincount(self.item_queries, minlength=self.n_queries)))

    def _describe(self) -> list[str]:
        n_with = int(np.count_nonzero(np.diff(self.offsets)))
        labels = ", ".join(f"{label:g}" for label in self.labels)
        return [
            f"unjudged documents: {self.n_items} in {n_with} of {self.n_queries} queries; any may have a label of "
            f"{labels}"
        ]


class _JoinedSystem:
    """A run joined with the judgments: which of its documents are unjudged, their ids, and all ranks."""

    def __init__(self, qrels: Qrels, run: Run, convention: Convention, options: Options) -> None:
        if run.duplicates is not None:
            own, run = run.duplicates.apply_to_both(qrels, run, convention)
            if len(own) != len(qrels) or not np.array_equal(own.values, qrels.values):
                raise InvalidInputError(
                    f"judgments must be of documents, not of chunks as in {run.source.name}. Give ids of documents"
                )
        if run.is_counted:
            raise InvalidInputError(
                f"{run.source.name} must have each document once, as a label is of a document, so that "
                "duplicates='counted' cannot count rows. Take 'first', 'best' or 'sum'"
            )
        joined = join(qrels, run, convention, options.threads)
        in_run = find_ids(qrels.queries, run.queries, "queries", QRELS_AND_RUN)
        self.is_ranked = in_run >= 0 if convention.missing_in_run == "skip" else np.ones(len(in_run), bool)
        own_queries = np.flatnonzero(self.is_ranked)
        self.rankings = rankings = joined.rankings
        assert rankings.judged is not None  # of a join
        sizes = np.diff(rankings.offsets)
        self.queries = np.repeat(own_queries, sizes)
        self.n_retrieved = np.zeros(len(in_run), "i8")
        self.n_retrieved[own_queries] = sizes
        starts = run.offsets[np.maximum(in_run, 0)] if len(run.queries) else np.zeros(len(in_run), "i8")
        rows = starts[self.queries] + np.arange(len(self.queries)) - rankings.offsets[:-1].repeat(sizes)
        self.is_unjudged = ~rankings.judged | (rankings.labels < 0)
        if run.is_empty is not None:
            self.is_unjudged &= ~run.is_empty[rows]
        self.documents: IdColumn = run.documents.take(rows[self.is_unjudged])
        self.places = rank_documents(rankings, convention, options.threads)
        missing = describe_missing(joined.n_missing_in_run, joined.n_missing_in_qrels, convention)
        self.notes = (*missing, *joined.notes)

    def place_items(self, codes: Array, n_items: int) -> SystemRanks:
        """Return the ranks of all items and of the judged documents."""
        starts, sizes = np.zeros(n_items, "i4"), np.ones(n_items, "i4")
        own = self.places.take(np.flatnonzero(self.is_unjudged))
        starts[codes], sizes[codes] = own.starts, own.sizes
        judged = np.flatnonzero(~self.is_unjudged)
        return SystemRanks(
            Places(read_only(starts), read_only(sizes)),
            self.places.take(judged),
            self.queries[judged],
            self.rankings.labels[judged].astype("f8"),
            self.n_retrieved,
            self.is_ranked,
            self.rankings,
        )


def rank_documents(rankings: Rankings, convention: Convention, threads: int | None) -> Places:
    """Return the ranks of all documents, of a tie group the first rank and the size if ties are averaged."""
    applied = apply_convention(rankings, convention)
    policy = TIES[convention.ties]
    keys = np.empty(0, "i8")
    if policy.choose(group=False, input=policy.falls, id=True):
        assert applied.tie_keys is not None
        keys = ~applied.tie_keys if policy.falls else applied.tie_keys
    scores = applied.scores if applied.scores.dtype in ("f4", "f8") else applied.scores.astype("f8")
    offsets = read_only(np.ascontiguousarray(applied.offsets))
    sizes = np.diff(offsets)
    numbers = read_only((np.arange(len(scores)) - np.repeat(offsets[:-1], sizes)).astype("i4"))
    places = Places(np.zeros((1, len(scores)), "i4"), np.ones((1, len(scores)), "i4"))
    kernels = load_kernels("fusion.joined")
    first_rows, row_counts = read_only(offsets[None, :-1].copy()), read_only(sizes[None])
    run_on_spans(
        offsets,
        lambda first, stop: kernels.rank_rows(
            read_only(scores), read_only(keys.astype("i8")), len(keys) > 0, numbers, first_rows, row_counts, offsets,
            convention.ties == "average", first, stop, places.starts, places.sizes,
        ),
        threads,
    )  # fmt: skip
    return Places(places.starts[0], places.sizes[0])


def _check_labels(labels: Any, qrels: Qrels) -> Array:
    """Return the labels that unjudged documents may have, rising. Judged labels must be among them."""
    table = as_table(labels)
    if table is None or min(table) < 0:
        raise InvalidInputError(
            f"`labels` must be finite numbers of 0 or more, such as (0, 1, 2, 3), not {shorten(labels)}. They are what "
            "a judge may say of an unjudged document"
        )
    chosen = np.unique(np.array(table))
    is_other = (qrels.values >= 0) & ~np.isin(qrels.values.astype("f8"), chosen)
    if is_other.any():
        known = sorted({*chosen.tolist(), *np.unique(qrels.values[qrels.values >= 0]).tolist()})
        shown = ", ".join(f"{label:g}" for label in known)
        remedy = Words(f"labels=({shown})", f"--labels {shown.replace(' ', '')}")
        qrels.refuse(
            is_other, f"be among `labels`, which are {', '.join(f'{label:g}' for label in chosen)}",
            "Give all labels that a judge may choose: ", remedy,
        )  # fmt: skip
    return chosen

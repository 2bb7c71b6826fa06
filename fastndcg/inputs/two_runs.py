"""Two rankings of each query: arrays of scores of the same documents, or runs that are joined on ids."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.arrays import layout_and_values, refuse_cuts
from fastndcg.inputs.columns import refuse_unknown
from fastndcg.inputs.forms import find_form, read_run_form
from fastndcg.inputs.join import join_runs
from fastndcg.inputs.options import Options
from fastndcg.rankings.validation import Array, as_scores

NAMES = ("first", "second")


class PairedRankings(NamedTuple):
    """
    Scores of two rankings, without NaN. Query q has those from ``offsets[q]`` to ``offsets[q + 1]`` of each.

    `partners` gives the place of each document of the second ranking in the first, or -1. It equals None if both
    rankings have the same documents in the same places.
    """

    first: Array
    first_offsets: Array
    second: Array
    second_offsets: Array
    partners: Array | None
    query_ids: Array | None
    notes: tuple[str, ...] = ()


def read_pairs(first: Any, second: Any, options: Options) -> PairedRankings:
    """Read two rankings, query by query."""
    with_ids = [find_form(ranking, "run") is not None for ranking in (first, second)]
    if with_ids[0] != with_ids[1]:
        kinds = ["a run with ids" if has_ids else "an array" for has_ids in with_ids]
        raise InvalidTypeError(f"`first` and `second` must be alike, but are {kinds[0]} and {kinds[1]}")
    if with_ids[0]:
        return _read_runs(first, second, options)
    if options.columns is not None:
        raise InvalidInputError("`columns` can only be used when `first` is a data frame. Leave it out")
    return _read_arrays(first, second, options)


def _read_arrays(first: Any, second: Any, options: Options) -> PairedRankings:
    layout, values = layout_and_values(first, "first", options.offsets, options.groups, options.query_ids)
    scores = [as_scores(values, "first"), as_scores(layout.arrange(second, "second"), "second")]
    for name, array in zip(NAMES, scores, strict=True):
        missing = np.isnan(array)
        if missing.any():
            place = layout.place(name, int(np.argmax(missing)))
            raise InvalidInputError(f"`{name}` must not be NaN, but {name}[{place}] is. Leave out the document in both")
    return PairedRankings(scores[0], layout.offsets, scores[1], layout.offsets, None, layout.query_ids)


def _read_runs(first: Any, second: Any, options: Options) -> PairedRankings:
    refuse_cuts(options.offsets, options.groups, options.query_ids)
    runs = [read_run_form(ranking, name, options) for name, ranking in zip(NAMES, (first, second), strict=True)]
    refuse_unknown(options.columns, {name: run.source.columns for name, run in zip(NAMES, runs, strict=True)})
    for run in runs:
        run.refuse(np.isnan(run.values), "not be NaN", "Leave the document out")
    joined = join_runs(runs[0], runs[1], options.threads)
    n_skipped = [len(run.queries) - len(joined.query_ids) for run in runs]
    notes = [
        f"queries that only the {name} ranking has, left out: {n}"
        for name, n in zip(NAMES, n_skipped, strict=True)
        if n
    ]
    return PairedRankings(*joined, tuple(notes))

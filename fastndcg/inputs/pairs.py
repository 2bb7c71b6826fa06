"""Two rankings of each query: arrays of scores of the same documents, or runs that are joined by ids."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.arrays import layout_and_values, refuse_cuts
from fastndcg.inputs.frames import is_frame, refuse_unknown
from fastndcg.inputs.join import join_runs
from fastndcg.inputs.prepare import Options, as_run
from fastndcg.inputs.tables import Run
from fastndcg.rankings import Array, as_scores

NAMES = ("first", "second")


class Pairs(NamedTuple):
    """
    Scores of two rankings, without NaN; query q has those from ``offsets[q]`` to ``offsets[q + 1]`` of each.

    `partners` say where the document of the second ranking stands in its query of the first, -1 where it does not; None
    if both have the same documents in the same places.
    """

    first: Array
    first_offsets: Array
    second: Array
    second_offsets: Array
    partners: Array | None
    query_ids: Array | None
    notes: tuple[str, ...] = ()


def pairs_of(first: Any, second: Any, options: Options) -> Pairs:
    """Both rankings, query by query."""
    with_ids = [_has_ids(one) for one in (first, second)]
    if with_ids[0] != with_ids[1]:
        kinds = ["a run with ids" if has_ids else "an array" for has_ids in with_ids]
        raise InvalidTypeError(f"`first` and `second` must be alike, but are {kinds[0]} and {kinds[1]}")
    if with_ids[0]:
        return _of_runs(first, second, options)
    if options.columns is not None:
        raise InvalidInputError("`columns` names columns of frames, but `first` is no frame; leave it out")
    return _of_arrays(first, second, options)


def _has_ids(ranking: Any) -> bool:
    return isinstance(ranking, str | os.PathLike | Mapping | Run) or is_frame(ranking)


def _of_arrays(first: Any, second: Any, options: Options) -> Pairs:
    layout, values = layout_and_values(first, "first", options.offsets, options.groups, options.query_ids)
    scores = [as_scores(values, "first"), as_scores(layout.arrange(second, "second"), "second")]
    for name, array in zip(NAMES, scores, strict=True):
        missing = np.isnan(array)
        if missing.any():
            place = layout.place(name, int(np.argmax(missing)))
            raise InvalidInputError(f"`{name}` must not be NaN, but {name}[{place}] is; leave out the document in both")
    return Pairs(scores[0], layout.offsets, scores[1], layout.offsets, None, layout.query_ids)


def _of_runs(first: Any, second: Any, options: Options) -> Pairs:
    refuse_cuts(options.offsets, options.groups, options.query_ids)
    runs = [as_run(one, options) for one in (first, second)]
    refuse_unknown(options.columns, {name: run.source.columns for name, run in zip(NAMES, runs, strict=True)})
    for run in runs:
        run.refuse(np.isnan(run.values), "not be NaN", "leave the document out")
    joined = join_runs(runs[0], runs[1], options.threads)
    alone = [len(run.queries) - len(joined.query_ids) for run in runs]
    notes = [
        f"queries that only the {name} ranking has, left out: {n}" for name, n in zip(NAMES, alone, strict=True) if n
    ]
    return Pairs(*joined, tuple(notes))

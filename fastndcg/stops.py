"""Arguments of kernels that look at chances to stop, and at all judged labels: where each comes from."""

from __future__ import annotations

import numpy as np

from fastndcg.checks import check_stops, highest_stop
from fastndcg.chunk import Chunk
from fastndcg.kernels import gain, stopping
from fastndcg.memory import F8
from fastndcg.rankings import Array
from fastndcg.steps import Source, Step, once


def hit_stops(chunk: Chunk, step: Step) -> Array:
    """The chances to stop at the hits."""
    key = ("stops", step.metric.get("stop"), highest_stop(step.metric))
    made = chunk.made.get(key)
    if made is None:
        made = chunk.take(key, len(chunk.hits.labels), F8)
        if np.isnan(chunk.truth.only_label):
            fill_stops(chunk, step, chunk.hits.labels, made)
        else:
            made.fill(stop_of_only_label(chunk, step))
        chunk.made[key] = made
    return made


def fill_stops(chunk: Chunk, step: Step, labels: Array, out: Array) -> None:
    """The chances to stop at documents with some labels, none of which is above the highest."""
    check_stops(chunk.truth.judged.labels, chunk.truth.candidates.labels, step.metric, chunk.job.rankings)
    if step.metric.get("stop") == "labels":
        gain.linear_gains(labels, 0.0, out)
    else:
        cuts = chunk.job.convention.label_fractions == "cut off"
        gain.exp2_gains(np.trunc(labels) if cuts else labels, 0.0, out)
        np.ldexp(out, -int(highest_stop(step.metric)), out=out)


def stop_of_only_label(chunk: Chunk, step: Step) -> float:
    """The chance to stop at each candidate where all have the same label."""
    made = np.empty(1)
    fill_stops(chunk, step, np.array([chunk.truth.only_label]), made)
    return float(made[0])


@once("truth", "metric")
def best_reciprocal_rank(chunk: Chunk, step: Step, out: Array) -> None:
    """ERR@k of the best order."""
    truth = chunk.truth
    if np.isnan(truth.only_label):
        ideal = truth.ideal(chunk.job)
        stops = chunk.take("ideal stops", len(ideal.labels), F8)
        fill_stops(chunk, step, ideal.labels, stops)
        stopping.best_reciprocal_rank(stops, ideal.offsets, step.k, out)
    else:
        stopping.best_of_one_label(stop_of_only_label(chunk, step), truth.judged.offsets, step.k, out)


def falling_labels(chunk: Chunk, step: Step) -> Array:
    """The judged labels that are not 0, the highest of each query first; for metrics that look at all ranks."""
    truth = chunk.truth
    return truth.ideal(chunk.job).labels if np.isnan(truth.only_label) else truth.judged.labels


def best_labels(chunk: Chunk, step: Step) -> Array:
    """The labels of the best order as far as any metric looks, or further."""
    truth = chunk.truth
    return truth.judged.labels if truth.only_label > 0.0 else truth.ideal(chunk.job).labels


def best_offsets(chunk: Chunk, step: Step) -> Array:
    """Whose labels these are."""
    truth = chunk.truth
    return truth.judged.offsets if truth.only_label > 0.0 else truth.ideal(chunk.job).offsets


def judged_sizes(chunk: Chunk, step: Step) -> Array:
    """How many documents of each query are judged."""
    pool, truth = chunk.job.rankings.pool, chunk.truth
    return truth.sizes if pool is None else np.diff(pool[1][truth.first : truth.stop + 1])


ARGUMENTS: dict[str, Source] = {
    "hit_stops": hit_stops,
    "best_reciprocal_rank": best_reciprocal_rank,
    "falling_labels": falling_labels,
    "best_labels": best_labels,
    "best_offsets": best_offsets,
    "judged_offsets": lambda chunk, _: chunk.truth.judged.offsets,
    "judged_sizes": judged_sizes,
    "only_label": lambda chunk, _: chunk.truth.only_label,
}

"""What a kernel may ask for by the names of its parameters: the one list, and where each comes from."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Hashable
from importlib import import_module
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fastndcg import of_user, stops, views
from fastndcg.catalog import REGISTERED
from fastndcg.checks import check_sums, check_unit_gains, gain_of, gains_asked, rel_of
from fastndcg.chunk import Chunk, Truth
from fastndcg.combinations import check_combinations, kernel_of, n_ideal_ranks, refuse_ties, with_default_cutoff
from fastndcg.conventions import Convention
from fastndcg.kernels import gain
from fastndcg.kernels import together as several
from fastndcg.memory import BOOL, F8, I8
from fastndcg.metric import UNLIMITED, Metric
from fastndcg.novelty import SOURCES as BY_SUBTOPIC
from fastndcg.rankings import Array
from fastndcg.relevant import (
    ap_denominators,
    interpolated,
    n_found,
    n_found_at_multiple,
    n_relevant,
    n_relevant_ranked,
    precision_denominators,
    precision_sums,
    recall_denominators,
    relative_denominators,
)
from fastndcg.steps import (
    Source,
    Step,
    bound,
    cutoff,
    cutoffs,
    discounts_for,
    discounts_like,
    once,
    points_of,
    together,
)
from fastndcg.texts import Value


class Plan(NamedTuple):
    """Metrics under a convention: how deep they look, and a step for each."""

    metrics: tuple[Metric, ...]
    convention: Convention
    depth: int
    n_ideal_ranks: int  # that have discounts whatever there is to rank
    gains: frozenset[Value]
    steps: tuple[Step, ...]
    untied: Metric | None  # one that has no value where tied scores are averaged
    views: frozenset[str]  # that any metric looks at beside the labels
    points: dict[Hashable, tuple[float, ...]]  # that metrics share their work for
    by_subtopic: Metric | None  # one that needs judgments by subtopic


def plan_of(metrics: tuple[Metric, ...], convention: Convention) -> Plan:
    """What a chunk has to do."""
    return _plan_of(metrics, convention, len(REGISTERED))


@functools.lru_cache(maxsize=256)
def _plan_of(metrics: tuple[Metric, ...], convention: Convention, n_registered: int) -> Plan:
    """Work it out, anew when a metric was registered."""
    del n_registered
    check_combinations(metrics, convention)
    metrics = with_default_cutoff(metrics, convention)
    steps = tuple(step_of(metric, convention) for metric in metrics)
    depth, n_ranks = max(step.k for step in steps), n_ideal_ranks(metrics, convention)
    untied = next((one for one in metrics if convention.ties not in one.record.ties), None)
    shown = frozenset(view for step in steps for view in step.views)
    by_subtopic = next((one for one in metrics if one.record.by_subtopic), None)
    gains, points = gains_asked(metrics, convention), points_of(steps)
    return Plan(
        metrics, convention, depth, n_ranks, gains, tuple(map(bound, steps)), untied, shown, points, by_subtopic
    )


def step_of(metric: Metric, convention: Convention) -> Step:
    """The kernel of a metric under a convention, and what gives its arguments, `out` aside."""
    file, _, name = kernel_of(metric, convention).partition(".")
    kernel = getattr(import_module(f"fastndcg.kernels.{file}"), name)
    *names, _ = inspect.signature(getattr(kernel, "py_func", kernel)).parameters
    names = names if metric.record.function is None else names[1:]
    gain_asked, least = gain_of(metric, convention), rel_of(metric, convention)
    adds_gains = any(parameter.name == "gain" for parameter in metric.record.parameters)
    counts_all = adds_gains and metric.get("rel") is None and gain_asked != "binary"
    return Step(
        kernel,
        tuple(source_of(name, metric) for name in names),
        metric,
        UNLIMITED if metric.k is None else min(metric.k, UNLIMITED),
        -np.inf if counts_all else least,
        gain_asked,
        metric.get("p") or metric.get("discount"),
        least if is_left_out(metric, convention) else None,
        choice_of(metric, convention),
        frozenset(views.ARGUMENTS[name][0] for name in names if name in views.ARGUMENTS),
    )


def source_of(name: str, metric: Metric) -> Source:
    """What gives the argument `name` of a kernel: a source for all metrics, or a number that the metric has."""
    source = ARGUMENTS.get(name)
    if source is not None:
        return source
    value = float(metric.get(name))
    return lambda chunk, step: value


def is_left_out(metric: Metric, convention: Convention) -> bool:
    """Whether the convention, not the metric's own definition, leaves out a query where nothing is relevant."""
    if metric.record.by_subtopic:
        return False
    if convention.no_relevant == "undefined":
        return metric.record.looks_for_relevant
    return convention.no_relevant == "skipped"


def evaluate_chunk(chunk: Chunk, plan: Plan) -> None:
    """Fill in a chunk's part of its job's values."""
    if plan.untied is not None and chunk.n_tied:
        refuse_ties(plan.untied)
    values, first, stop = chunk.job.values, chunk.truth.first, chunk.truth.stop
    for place, step in enumerate(plan.steps):
        out = values[place, first:stop]
        arguments = [argument(chunk, step) for argument in step.arguments]
        if step.metric.record.function is None:
            step.kernel(*arguments, out)
        else:
            of_user.fill(chunk, step.metric, arguments, out)
        if step.least is not None:
            counts = n_relevant(chunk, step._replace(rel=step.least))
            np.copyto(out, np.nan, where=np.equal(counts, 0, out=chunk.take("left out", len(out), BOOL)))
        if not isinstance(step.undefined, str):  # here, while the processor's cache holds the values
            gain.replace_undefined(float(step.undefined), out)


def choice_of(metric: Metric, convention: Convention) -> str | int:
    """What the convention says of a query for which a metric has no value."""
    is_own = metric.name == "AP" and convention.undefined_ap != "as undefined"
    return convention.undefined_ap if is_own else convention.undefined


def hit_gains(chunk: Chunk, step: Step) -> Array:
    """The gains of the hits."""
    return gains_of(chunk, step, chunk, chunk.hits.labels, chunk.hits.offsets)


def hit_unit_gains(chunk: Chunk, step: Step) -> Array:
    """The same for metrics that take none below 0 or above 1."""
    labels = chunk.truth.candidates.labels
    if step.gain != "binary" and len(labels):
        extremes = np.array([labels.min(), labels.max()])
        gains = np.empty(2)
        cuts = chunk.job.convention.label_fractions == "cut off"
        fill_gains(step.gain, np.trunc(extremes) if cuts else extremes, -np.inf if cuts else step.rel, gains)
        check_unit_gains(extremes, gains, step.metric, chunk.job.rankings)
    return hit_gains(chunk, step)


def ideal_gains(chunk: Chunk, step: Step) -> Array:
    """The gains of the best order."""
    ideal = chunk.truth.ideal(chunk.job)
    return gains_of(chunk, step, chunk.truth, ideal.labels, ideal.offsets)


def gains_of(chunk: Chunk, step: Step, keeper: Chunk | Truth, labels: Array, offsets: Array) -> Array:
    """The gains of labels, worked out once for all metrics that take the same."""
    discounts = chunk.job.discounts if isinstance(step.discount, float) else discounts_for(chunk, step)
    discount = discounts.highest
    cuts = chunk.job.convention.label_fractions == "cut off"
    if discount <= 1 and step.gain == "linear" and step.rel == -np.inf and not cuts:
        return labels
    if chunk.job.convention.ideal == "k best" and step.k < len(discounts.sums):
        discount = float(discounts.sums[step.k])
    key = ("gains", step.gain, step.rel, discount)
    made = keeper.made.get(key)
    if made is None:
        room = len(labels) if keeper is chunk.truth else len(chunk.truth.candidates.labels)  # that any scores may take
        made = keeper.take(key, room, F8)[: len(labels)]
        if step.gain == "binary":
            gain.binary_gains(labels, step.rel, made)
        elif cuts:
            fill_gains(step.gain, np.trunc(labels, out=made), -np.inf, made)
            below = keeper.take(("below", key), room, BOOL)[: len(labels)]
            np.copyto(made, 0.0, where=np.less(labels, step.rel, out=below))
        else:
            fill_gains(step.gain, labels, step.rel, made)
        check_sums(made, offsets, discount, step.metric, chunk.job.rankings, chunk.truth.first)
        keeper.made[key] = made
    return made


def fill_gains(chosen: Value, labels: Array, rel: float, out: Array) -> None:
    """The gains of labels, 0 of those below `rel`."""
    if chosen == "linear":
        gain.linear_gains(labels, rel, out)
    elif chosen == "exp2":
        gain.exp2_gains(labels, rel, out)
    else:
        gain.table_gains(labels, np.array(chosen), rel, out)


@together(cutoff, "gain", "rel", "discount", ranks=True)
def reached(chunk: Chunk, step: Step, points: tuple[int, ...], out: Array) -> None:
    """DCG@k."""
    hits, (discounts, sums, rests, _) = chunk.hits, discounts_for(chunk, step)
    gains = hit_gains(chunk, step)
    if merges_labels(chunk, step):
        for k, row in zip(points, out, strict=True):
            gain.dcg_of_merged_labels(hits.queries, hits.above, hits.ties, gains, discounts, sums, rests, k, row)
    elif len(points) > 1:
        cuts = np.array(points)
        several.add_discounted(hits.above, hits.ties, gains, hits.offsets, discounts, sums, rests, cuts, out)
    else:
        gain.dcg(hits.queries, hits.above, hits.ties, gains, discounts, sums, rests, points[0], out[0])


def merges_labels(chunk: Chunk, step: Step) -> bool:
    """Whether different labels may have the same gain, 0 aside."""
    if isinstance(step.gain, tuple):
        return any(low == high for low, high in pairwise(step.gain))
    return step.gain == "binary" or chunk.job.convention.label_fractions == "cut off"


@once("truth", "gain", "rel")
def highest_gains(chunk: Chunk, step: Step, out: Array) -> None:
    """The highest gain of each query's judged documents, 0 where none gains."""
    gains, offsets = ideal_gains(chunk, step), chunk.truth.ideal(chunk.job).offsets
    has_any = offsets[1:] > offsets[:-1]
    out.fill(0.0)
    out[has_any] = gains[offsets[:-1][has_any]]


@once("truth", "k", "gain", "rel", "discount")
def best(chunk: Chunk, step: Step, out: Array) -> None:
    """IDCG@k."""
    discounts = discounts_for(chunk, step)
    if chunk.job.convention.ideal == "k best":
        gain.idcg_of_k_best(ideal_gains(chunk, step), chunk.truth.ideal(chunk.job).offsets, discounts.sums, step.k, out)
    elif gain_of_only_label(chunk, step) == 1.0:
        gain.idcg_of_ones(chunk.truth.judged.offsets, discounts.sums, step.k, out)
    else:
        ideal = chunk.truth.ideal(chunk.job)
        gain.idcg(ideal.above, ideal_gains(chunk, step), ideal.offsets, discounts.values, step.k, out)


def gain_of_only_label(chunk: Chunk, step: Step) -> float:
    """What each candidate gains if all have the same label, else NaN."""
    label = chunk.truth.only_label
    if not label >= step.rel:
        return np.nan
    if step.gain == "binary":
        return 1.0
    if chunk.job.convention.label_fractions == "cut off":
        label = float(np.trunc(label))
    if isinstance(step.gain, tuple):
        return step.gain[int(label)]
    return label if step.gain == "linear" else 2.0**label - 1.0


def varied_gains(chunk: Chunk, step: Step) -> Array:
    """The gains of the best order, which is not looked for where all candidates gain 1."""
    return np.empty(0) if gain_of_only_label(chunk, step) == 1.0 else ideal_gains(chunk, step)


def varied_offsets(chunk: Chunk, step: Step) -> Array:
    """Whose gains these are."""
    return np.empty(0, I8) if gain_of_only_label(chunk, step) == 1.0 else chunk.truth.ideal(chunk.job).offsets


ARGUMENTS: dict[str, Source] = {
    **{name: source for name, (_, source) in views.ARGUMENTS.items()},
    **stops.ARGUMENTS,
    **BY_SUBTOPIC,
    "hit_above": lambda chunk, _: chunk.hits.above,
    "hit_ties": lambda chunk, _: chunk.hits.ties,
    "hit_labels": lambda chunk, _: chunk.hits.labels,
    "hit_queries": lambda chunk, _: chunk.hits.queries,
    "hit_offsets": lambda chunk, _: chunk.hits.offsets,
    "hit_gains": hit_gains,
    "hit_unit_gains": hit_unit_gains,
    "ideal_above": lambda chunk, _: chunk.truth.ideal(chunk.job).above,
    "ideal_labels": lambda chunk, _: chunk.truth.ideal(chunk.job).labels,
    "ideal_gains": ideal_gains,
    "ideal_offsets": lambda chunk, _: chunk.truth.ideal(chunk.job).offsets,
    "only_gain": gain_of_only_label,
    "varied_gains": varied_gains,
    "varied_offsets": varied_offsets,
    "discounts": lambda chunk, step: discounts_for(chunk, step).values,
    "discount_sums": lambda chunk, step: discounts_for(chunk, step).sums,
    "discount_rests": lambda chunk, step: discounts_for(chunk, step).rests,
    "log2_discounts": lambda chunk, _: discounts_like(chunk, "log2").values,
    "log2_sums": lambda chunk, _: discounts_like(chunk, "log2").sums,
    "log2_rests": lambda chunk, _: discounts_like(chunk, "log2").rests,
    "reached": reached,
    "best": best,
    "highest_gains": highest_gains,
    "highest_ndcg": lambda chunk, _: np.inf if chunk.job.convention.negative_labels == "keep" else 1.0,
    "sizes": lambda chunk, _: chunk.truth.sizes,
    "n_relevant": n_relevant,
    "n_relevant_ranked": n_relevant_ranked,
    "n_found": n_found,
    "n_found_at_multiple": n_found_at_multiple,
    "cutoffs": cutoffs,
    "ap_denominators": ap_denominators,
    "precision_denominators": precision_denominators,
    "recall_denominators": recall_denominators,
    "relative_denominators": relative_denominators,
    "interpolated": interpolated,
    "of_recalls": lambda chunk, step: np.atleast_2d(interpolated(chunk, step)),
    "precision_sums": precision_sums,
    "rel": lambda _, step: step.rel,
    "k": lambda _, step: step.k,
    "parameters": lambda _, step: tuple(float(step.metric.get(p.name)) for p in step.metric.record.parameters),
    "out_at": lambda _chunk, _step: np.zeros(1, "i8"),
}

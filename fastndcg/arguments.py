"""What a kernel may ask for by the names of its parameters: the one list, and where each comes from."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fastndcg import of_user
from fastndcg.catalog import REGISTERED
from fastndcg.checks import check_sums, gain_of, gains_asked, rel_of
from fastndcg.chunk import Chunk, Truth
from fastndcg.combinations import check_combinations, kernel_of, n_ideal_ranks, refuse_ties, with_default_cutoff
from fastndcg.conventions import Convention
from fastndcg.kernels import candidates, gain, precision
from fastndcg.memory import BOOL, F8
from fastndcg.metric import UNLIMITED, Metric
from fastndcg.rankings import Array
from fastndcg.texts import Value

Kernel = Callable[..., None]
Source = Callable[[Chunk, "Step"], Any]
Fill = Callable[[Chunk, "Step", Array], None]


class Step(NamedTuple):
    """What a chunk does for one metric: a kernel, what gives its arguments, and what these depend on."""

    kernel: Kernel
    arguments: tuple[Source, ...]
    metric: Metric
    k: int
    rel: float  # a label below it is not relevant, or gains nothing
    gain: Value
    least: float | None  # a query without a label of this or more is left out; None: none is


class Plan(NamedTuple):
    """Metrics under a convention: how deep they look, and a step for each."""

    metrics: tuple[Metric, ...]
    convention: Convention
    depth: int
    n_ideal_ranks: int  # that have discounts whatever there is to rank
    gains: frozenset[Value]
    steps: tuple[Step, ...]
    untied: Metric | None  # one that has no value where tied scores are averaged


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
    return Plan(metrics, convention, depth, n_ranks, gains_asked(metrics, convention), steps, untied)


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
        least if is_left_out(metric, convention) else None,
    )


def source_of(name: str, metric: Metric) -> Source:
    """What gives the argument `name` of a kernel: a source for all metrics, or a number that the metric has."""
    source = ARGUMENTS.get(name)
    if source is not None:
        return source
    value = float(metric.get(name))
    return lambda chunk, step: value


def is_left_out(metric: Metric, convention: Convention) -> bool:
    """Whether the convention says that a metric has no value where nothing is relevant."""
    if convention.no_relevant == "undefined":
        return metric.record.looks_for_relevant
    return convention.no_relevant == "skipped"


def evaluate_chunk(chunk: Chunk, plan: Plan) -> None:
    """Fill in a chunk's part of its job's values."""
    if plan.untied is not None and chunk.n_tied:
        refuse_ties(plan.untied)
    values = chunk.job.values[:, chunk.truth.first : chunk.truth.stop]
    for place, step in enumerate(plan.steps):
        out = values[place]
        arguments = [argument(chunk, step) for argument in step.arguments]
        if step.metric.record.function is None:
            step.kernel(*arguments, out)
        else:
            of_user.fill(chunk, step.metric, arguments, out)
        if step.least is not None:
            counts = n_relevant(chunk, step._replace(rel=step.least))
            np.copyto(out, np.nan, where=np.equal(counts, 0, out=chunk.take("left out", len(out), BOOL)))


def once(keeper: str, *fields: str) -> Callable[[Fill], Callable[[Chunk, Step], Array]]:
    """
    Make what fills one value a query a source of it, which does so once for all metrics that agree in `fields`.

    What the scores matter to is kept by the chunk, all else by its truth.
    """

    def decorate(fill: Fill) -> Callable[[Chunk, Step], Array]:
        depends = operator.itemgetter(*(Step._fields.index(field) for field in fields))

        @functools.wraps(fill)
        def source(chunk: Chunk, step: Step) -> Array:
            kept = chunk if keeper == "chunk" else chunk.truth
            key = (fill, depends(step))
            made = kept.made.get(key)
            if made is None:
                made = kept.take(key, len(chunk.truth.sizes), F8)
                fill(chunk, step, made)
                kept.made[key] = made  # now, when it is full: another thread may look
            return made

        return source

    return decorate


def hit_gains(chunk: Chunk, step: Step) -> Array:
    """The gains of the hits."""
    return gains_of(chunk, step, chunk, chunk.hits.labels, chunk.hits.offsets)


def ideal_gains(chunk: Chunk, step: Step) -> Array:
    """The gains of the best order."""
    ideal = chunk.truth.ideal(chunk.job)
    return gains_of(chunk, step, chunk.truth, ideal.labels, ideal.offsets)


def gains_of(chunk: Chunk, step: Step, keeper: Chunk | Truth, labels: Array, offsets: Array) -> Array:
    """The gains of labels, worked out once for all metrics that take the same."""
    discount = chunk.job.discounts.highest
    cuts = chunk.job.convention.label_fractions == "cut off"
    if step.gain == "linear" and step.rel == -np.inf and discount <= 1 and not cuts:
        return labels
    if chunk.job.convention.ideal == "k best" and step.k < len(chunk.job.discounts.sums):
        discount = float(chunk.job.discounts.sums[step.k])
    key = ("gains", step.gain, step.rel)
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


@once("chunk", "k", "gain", "rel")
def reached(chunk: Chunk, step: Step, out: Array) -> None:
    """DCG@k."""
    hits, (discounts, sums, rests, _) = chunk.hits, chunk.job.discounts
    gains = hit_gains(chunk, step)
    add: Kernel = gain.dcg_of_merged_labels if merges_labels(chunk, step) else gain.dcg
    add(hits.queries, hits.above, hits.ties, gains, discounts, sums, rests, step.k, out)


def merges_labels(chunk: Chunk, step: Step) -> bool:
    """Whether different labels may have the same gain, 0 aside."""
    if isinstance(step.gain, tuple):
        return any(low == high for low, high in pairwise(step.gain))
    return step.gain == "binary" or chunk.job.convention.label_fractions == "cut off"


@once("truth", "k", "gain", "rel")
def best(chunk: Chunk, step: Step, out: Array) -> None:
    """IDCG@k."""
    discounts = chunk.job.discounts
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


@once("truth", "rel")
def n_relevant(chunk: Chunk, step: Step, out: Array) -> None:
    """How many documents of each query are relevant, retrieved or not."""
    truth = chunk.truth
    labels, offsets = truth.judged.labels, truth.judged.offsets
    if truth.only_label >= step.rel:
        np.subtract(offsets[1:], offsets[:-1], out=out)
    else:
        candidates.count_relevant(labels, offsets, step.rel, out)


@once("truth", "metric")
def cutoffs(chunk: Chunk, step: Step, out: Array) -> None:
    """How many ranks of each query count."""
    out.fill(step.metric.k or UNLIMITED)


@once("truth", "k", "rel")
def r_cutoffs(chunk: Chunk, step: Step, out: Array) -> None:
    """How many documents of each query are relevant, k at the most."""
    np.minimum(n_relevant(chunk, step), step.k, out=out)


@once("chunk", "k", "rel")
def n_found(chunk: Chunk, step: Step, out: Array) -> None:
    """The expected number of relevant documents in the first k ranks of each query."""
    hits = chunk.hits
    precision.count_found(hits.queries, hits.above, hits.ties, hits.labels, step.rel, cutoffs(chunk, step), out)


@once("chunk", "k", "rel")
def n_found_at_r(chunk: Chunk, step: Step, out: Array) -> None:
    """The same in as many ranks as there are relevant documents, or k if that is less."""
    hits = chunk.hits
    precision.count_found(hits.queries, hits.above, hits.ties, hits.labels, step.rel, r_cutoffs(chunk, step), out)


def ap_denominators(chunk: Chunk, step: Step) -> Array:
    """What AP divides by, 0 where nothing is relevant; a number of hits found is known to a kernel of its own."""
    choice = chunk.job.convention.ap_denominator
    if choice == "n_relevant":
        return n_relevant(chunk, step)
    return r_cutoffs(chunk, step) if choice in ("min(k, n_relevant)", "n_hits") else further_denominators(chunk, step)


@once("truth", "k", "rel")
def further_denominators(chunk: Chunk, step: Step, out: Array) -> None:
    """k, and 0 where nothing is relevant; or how many documents are relevant, k or those retrieved at the most."""
    if chunk.job.convention.ap_denominator == "k":
        np.multiply(n_relevant(chunk, step) > 0, float(step.k), out=out)
    else:
        np.minimum(r_cutoffs(chunk, step), chunk.truth.sizes, out=out)


@once("truth", "k")
def retrieved_cutoffs(chunk: Chunk, step: Step, out: Array) -> None:
    """How many documents of each query were retrieved, k at the most."""
    np.minimum(chunk.truth.sizes, float(step.k), out=out)


def precision_denominators(chunk: Chunk, step: Step) -> Array:
    """What P divides by; without k, the number retrieved."""
    choice = chunk.job.convention.precision_denominator
    if choice == "min(k, n_relevant)":
        return r_cutoffs(chunk, step)
    if choice == "k" and step.metric.k is not None:
        return cutoffs(chunk, step)
    return retrieved_cutoffs(chunk, step)


def recall_denominators(chunk: Chunk, step: Step) -> Array:
    """What R divides by, 0 where nothing is relevant."""
    is_all = chunk.job.convention.recall_denominator == "n_relevant"
    return n_relevant(chunk, step) if is_all else r_cutoffs(chunk, step)


ARGUMENTS: dict[str, Source] = {
    "hit_above": lambda chunk, _: chunk.hits.above,
    "hit_ties": lambda chunk, _: chunk.hits.ties,
    "hit_labels": lambda chunk, _: chunk.hits.labels,
    "hit_queries": lambda chunk, _: chunk.hits.queries,
    "hit_offsets": lambda chunk, _: chunk.hits.offsets,
    "hit_gains": hit_gains,
    "ideal_above": lambda chunk, _: chunk.truth.ideal(chunk.job).above,
    "ideal_gains": ideal_gains,
    "ideal_offsets": lambda chunk, _: chunk.truth.ideal(chunk.job).offsets,
    "discounts": lambda chunk, _: chunk.job.discounts.values,
    "discount_sums": lambda chunk, _: chunk.job.discounts.sums,
    "discount_rests": lambda chunk, _: chunk.job.discounts.rests,
    "reached": reached,
    "best": best,
    "highest_ndcg": lambda chunk, _: np.inf if chunk.job.convention.negative_labels == "keep" else 1.0,
    "ideal_labels": lambda chunk, _: chunk.truth.ideal(chunk.job).labels,
    "sizes": lambda chunk, _: chunk.truth.sizes,
    "n_relevant": n_relevant,
    "n_found": n_found,
    "n_found_at_r": n_found_at_r,
    "cutoffs": cutoffs,
    "r_cutoffs": r_cutoffs,
    "ap_denominators": ap_denominators,
    "precision_denominators": precision_denominators,
    "recall_denominators": recall_denominators,
    "rel": lambda _, step: step.rel,
    "k": lambda _, step: step.k,
    "parameters": lambda _, step: tuple(float(step.metric.get(p.name)) for p in step.metric.record.parameters),
    "out_at": lambda _chunk, _step: np.zeros(1, "i8"),
}

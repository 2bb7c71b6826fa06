"""What a kernel may ask for by the names of its parameters: the one list, and where each comes from."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Hashable
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np

from fastndcg import gains, giants, of_user, stops, views
from fastndcg.catalog import REGISTERED
from fastndcg.checks import gain_of, gains_asked, rel_of
from fastndcg.chunk import Chunk
from fastndcg.combinations import check_combinations, kernel_of, n_ideal_ranks, refuse_ties, with_default_cutoff
from fastndcg.conventions import Convention
from fastndcg.discounts import Discounts, discounts_of
from fastndcg.kernels import gain
from fastndcg.memory import BOOL, F8
from fastndcg.metric import UNLIMITED, Metric
from fastndcg.novelty import SOURCES as BY_SUBTOPIC
from fastndcg.relevant import (
    ap_denominators,
    interpolated,
    n_asking,
    n_found_at_multiple,
    n_relevant,
    n_relevant_ranked,
    precision_denominators,
    recall_denominators,
    recall_rounding,
    recalls_of,
    relative_denominators,
    relevant_hits,
    tied,
)
from fastndcg.steps import (
    Source,
    Step,
    bound,
    cutoffs,
    discounts_for,
    discounts_like,
    points_of,
)
from fastndcg.texts import Value
from fastndcg.threads import check_stopped
from fastndcg.walks import n_found, precision_sums, reached, walks_of

FEW_RANKS = 1023  # of which, and of the one below, discounts are made always
MOST_DOUBLED = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """Metrics under a convention: how deep they look, and a step for each."""

    metrics: tuple[Metric, ...]
    convention: Convention
    depth: int
    n_ideal_ranks: int  # that have discounts whatever there is to rank
    gains: frozenset[Value]
    steps: tuple[Step, ...]
    alike: tuple[int, ...]  # the place of the first metric that differs from each in its aggregate alone
    untied: Metric | None  # one that has no value where tied scores are averaged
    views: frozenset[str]  # that any metric looks at beside the labels
    points: dict[Hashable, tuple[float, ...]]  # that metrics share their work for
    by_subtopic: Metric | None  # one that needs judgments by subtopic
    discounts: Discounts  # the convention's, of as many ranks as there always are
    n_doubled: int  # how many times chunks are made twice as large: each metric has its calls
    settles_undefined: bool  # the convention has more to say of a value that there is not than NaN


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
    bare = [metric.bare for metric in metrics]
    alike = tuple(bare.index(one) for one in bare)
    depth, n_ranks = max(step.k for step in steps), n_ideal_ranks(metrics, convention)
    untied = next((one for one in metrics if convention.ties not in one.record.ties), None)
    shown = frozenset(view for step in steps for view in step.views)
    by_subtopic = next((one for one in metrics if one.record.by_subtopic), None)
    gains, points = gains_asked(metrics, convention), points_of(steps)
    shared = {**points, **walks_of(steps)}
    steps = tuple(bound(step, shared) for step in steps)
    discounts = discounts_of(convention.discount, max(min(depth, FEW_RANKS) + 1, n_ranks))
    settles = convention.undefined != "nan" or convention.undefined_ap != "as undefined"
    n_doubled = min(len(metrics).bit_length() - 1, MOST_DOUBLED)
    return Plan(
        metrics, convention, depth, n_ranks, gains, steps, alike, untied, shown, points, by_subtopic, discounts,
        n_doubled, settles,
    )  # fmt: skip


def step_of(metric: Metric, convention: Convention) -> Step:
    """The kernel of a metric under a convention, and what gives its arguments, `out` aside."""
    file, _, name = kernel_of(metric, convention).partition(".")
    kernel = getattr(import_module(f"fastndcg.kernels.{file}"), name)
    *names, _ = inspect.signature(getattr(kernel, "py_func", kernel)).parameters
    names = names if metric.record.function is None else names[1:]
    gain_asked, least = gain_of(metric, convention), rel_of(metric, convention)
    adds_gains = any(parameter.name == "gain" for parameter in metric.record.parameters)
    discount = metric.get("p") or metric.get("discount")
    of_labels = convention.discount if discount is None or isinstance(discount, float) else discount
    counts_all = adds_gains and metric.get("rel") is None and gain_asked != "binary"
    return Step(
        kernel,
        tuple(source_of(name, metric) for name in names),
        metric,
        UNLIMITED if metric.k is None else min(metric.k, UNLIMITED),
        -np.inf if counts_all else least,
        gain_asked,
        discount,
        least if is_left_out(metric, convention) else None,
        replacement(metric, convention),
        frozenset(views.ARGUMENTS[name][0] for name in names if name in views.ARGUMENTS),
        counts_all and gain_asked == "linear" and discounts_of(of_labels, 1).highest <= 1.0,
        metric.record.function is not None,
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
    if stop - first < chunk.job.rankings.n_queries:
        values = values[:, first:stop]
    is_long = len(chunk.hits.labels) > giants.GIANT
    for place, step in enumerate(plan.steps):
        if is_long:
            check_stopped()
        out = values[place]
        if plan.alike[place] != place:
            out[:] = values[plan.alike[place]]
            continue
        arguments = [argument(chunk, step) for argument in step.arguments]
        if step.is_of_user:
            of_user.fill(chunk, step.metric, arguments, out)
        else:
            step.kernel(*arguments, out)
        if step.least is not None:
            counts = n_relevant(chunk, replace(step, rel=step.least))
            np.copyto(out, np.nan, where=np.equal(counts, 0, out=chunk.take("left out", len(out), BOOL)))
        if step.undefined is not None:  # here, while the processor's cache holds the values
            gain.replace_undefined(step.undefined, out)


def replacement(metric: Metric, convention: Convention) -> float | None:
    """The value of a query for which a metric has none; None if it keeps none, or there always is one."""
    choice = choice_of(metric, convention)
    always = metric.record.undefined == "never" and not is_left_out(metric, convention)
    return None if always or isinstance(choice, str) else float(choice)


def choice_of(metric: Metric, convention: Convention) -> str | int:
    """What the convention says of a query for which a metric has no value."""
    is_own = metric.name == "AP" and convention.undefined_ap != "as undefined"
    return convention.undefined_ap if is_own else convention.undefined


ARGUMENTS: dict[str, Source] = {
    **{name: source for name, (_, source) in views.ARGUMENTS.items()},
    **gains.ARGUMENTS,
    **stops.ARGUMENTS,
    **BY_SUBTOPIC,
    "hit_above": lambda chunk, _: chunk.hits.above,
    "hit_ties": lambda chunk, _: chunk.hits.ties,
    "hit_labels": lambda chunk, _: chunk.hits.labels,
    "hit_queries": lambda chunk, _: chunk.hits.queries,
    "hit_offsets": lambda chunk, _: chunk.hits.offsets,
    "ideal_above": lambda chunk, _: chunk.truth.ideal(chunk.job).above,
    "ideal_labels": lambda chunk, _: chunk.truth.ideal(chunk.job).labels,
    "ideal_offsets": lambda chunk, _: chunk.truth.ideal(chunk.job).offsets,
    "discounts": lambda chunk, step: discounts_for(chunk, step).values,
    "discount_sums": lambda chunk, step: discounts_for(chunk, step).sums,
    "discount_rests": lambda chunk, step: discounts_for(chunk, step).rests,
    "log2_discounts": lambda chunk, _: discounts_like(chunk, "log2").values,
    "log2_sums": lambda chunk, _: discounts_like(chunk, "log2").sums,
    "log2_rests": lambda chunk, _: discounts_like(chunk, "log2").rests,
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
    "relevant_queries": lambda chunk, step: relevant_hits(chunk, step)[0],
    "relevant_above": lambda chunk, step: relevant_hits(chunk, step)[1],
    "relevant_offsets": lambda chunk, step: relevant_hits(chunk, step)[2],
    "recalls": lambda _, step: np.array(recalls_of(step), float),
    "recall_rounding": recall_rounding,
    "n_asking": n_asking,
    "tied": tied,
    "precision_sums": precision_sums,
    "reached": reached,
    "rel": lambda _, step: step.rel,
    "k": lambda _, step: step.k,
    "parameters": lambda _, step: tuple(float(step.metric.get(p.name)) for p in step.metric.record.parameters),
    "out_counted": lambda chunk, _: chunk.take("counted", chunk.truth.n_queries, F8),
    "out_whole": lambda chunk, _: chunk.take("whole", chunk.truth.n_queries, F8),
    "out_rest": lambda chunk, _: chunk.take("rest", chunk.truth.n_queries, F8),
    "out_at": lambda _chunk, _step: np.zeros(1, "i8"),
}

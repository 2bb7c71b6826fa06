"""Labels that the kernels found and that a convention or a metric cannot take."""

from __future__ import annotations

import functools

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError
from fastndcg.metric import Metric
from fastndcg.rankings import EXACT_LIMIT, Array, Rankings
from fastndcg.texts import Value

HIGHEST_EXP2_LABEL = 1023.0  # 2^1024 leaves float64
MOST_GAINS = 2.0**31  # more documents than this no query has


def check_labels(
    rankings: Rankings, name: str, extremes: Array, found: Array, metrics: tuple[Metric, ...], convention: Convention
) -> None:
    """Refuse labels of the array `name`, of which a chunk's `extremes` and those not 0, `found`, are known."""
    labels = rankings.pool[0] if name == "pool" and rankings.pool else rankings.labels
    lowest, highest, n_nan = extremes.tolist()
    refuse = functools.partial(rankings.refuse, name)
    negative = convention.negative_labels
    if n_nan:
        refuse(np.isnan(labels), "not be NaN: leave the document out, or give it the label 0")
    if lowest < 0 and negative == "raise":
        refuse(labels < 0, "not be negative: set it to 0, or take convention.replace(negative_labels='zero')")
    if highest > EXACT_LIMIT or lowest < -EXACT_LIMIT:
        refuse(~(np.abs(labels.astype("f8")) <= EXACT_LIMIT), "be finite and at most 2**53 in size: rescale the labels")
    for gain in {gain_of(metric, convention) for metric in metrics if has_gain(metric)}:
        if gain == "exp2" and highest > HIGHEST_EXP2_LABEL:
            refuse(labels > HIGHEST_EXP2_LABEL, "be at most 1023 for gain exp2, beyond float64: take gain linear")
        if isinstance(gain, tuple):
            below = lowest < 0 and negative == "keep"
            if highest >= len(gain) or below:
                outside = (labels >= len(gain)) | ((labels < 0) & below)
                refuse(outside, f"have a gain in the table of labels 0 to {len(gain) - 1}: make the table longer")
            if (found % 1 != 0).any():
                refuse(labels % 1 != 0, "be whole for a table of gains: round the labels, or take gain linear")


def check_sums(gains: Array, metric: Metric, first: int, stop: int) -> None:
    """Refuse gains of queries `first` up to `stop` whose sum may leave float64."""
    if gains.max(initial=0.0) > np.finfo("f8").max / MOST_GAINS:
        with np.errstate(over="ignore"):
            total = gains.sum()
        if not np.isfinite(total):
            raise InvalidInputError(
                f"gains of {metric} must add up within float64, but those of queries {first} to {stop - 1} do not; "
                "take gain linear, or rescale the labels"
            )


def gain_of(metric: Metric, convention: Convention) -> Value:
    """The gain that a metric adds up: its own, or else the convention's."""
    own: Value | None = metric.get("gain")
    return convention.gain if own is None else own


def has_gain(metric: Metric) -> bool:
    """Whether a metric adds up gains."""
    return any(parameter.name == "gain" for parameter in metric.record.parameters)

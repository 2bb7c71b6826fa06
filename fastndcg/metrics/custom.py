"""Custom metrics: functions of users that are evaluated like metrics of the catalogue, and their reference twin."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.metrics.families import AGGREGATES, CATALOG, REGISTERED, Parameter, Record
from fastndcg.metrics.families.counts import n_relevant
from fastndcg.metrics.families.record import TIE_POLICIES, Definition
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.names import AGGREGATED_NAMES, AMBIGUOUS, NAMES
from fastndcg.metrics.trec_eval import BY_LOWER_NAME

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
TYPES = ("float", "int")  # of parameters
FIXED_TIES = tuple(policy for policy in TIE_POLICIES if policy != "average")


def register(
    function: Callable[..., float],
    *,
    name: str,
    title: str,
    formula: str,
    source: str,
    range: str,
    undefined: str = "never",
    parameters: Iterable[Parameter] = (),
    aliases: Iterable[str] = (),
    ties: Iterable[str] = FIXED_TIES,
    has_cutoff: bool = True,
    higher_is_better: bool | None = True,
) -> Metric:
    """
    Add a custom metric, which is then evaluated, parsed and listed like the metrics of the catalogue.

    A custom metric of the same name is replaced. Spawned processes must register it again. The command line registers
    metrics with ``--import my_metrics.py``.

    Parameters
    ----------
    function : callable
        ``function(labels, above, ties, ideal, n_relevant, n_documents, k, *parameters) -> float`` for one query. It
        returns NaN if the metric is undefined. Compiled by ``numba.njit``, or a plain Python function, which is then
        compiled with checks of indices. Its arguments are

        - ``labels`` (n_hits,) float64: labels other than 0 within the first k ranks, in rank order
        - ``above`` (n_hits,) int32: number of documents above each of them, which is its rank − 1
        - ``ties`` (n_hits,) int32: size of its tie group, whose hits have the same ``above``. Always 1 unless `ties`
          contains 'average'
        - ``ideal`` (n_ideal,) float64: labels other than 0 within the first k ranks of the ideal ranking
        - ``n_relevant`` float64: number of relevant documents, retrieved or not
        - ``n_documents`` int64: number of ranked documents
        - ``k`` int64: the cutoff, 2147483647 without one
        - the parameters as float64, in their order
    name : str
        Name in texts and results, of letters, digits, ``_`` and ``-``.
    title, formula, source, range, undefined : str
        Texts for `fastndcg metrics`: the name in words, the formula, the publication, the range such as "0 to 1", and
        the queries for which the metric is NaN.
    parameters : iterable of Parameter
        Parameters of type 'float' or 'int', with a default. The parameter ``rel`` is the lowest relevant label.
    aliases : iterable of str
        Other names.
    ties : iterable of str
        Tie policies that the function supports. 'average' only if it uses ``ties``. Tied scores under another policy
        raise an error.
    has_cutoff : bool
        Whether the metric may have a cutoff.
    higher_is_better : bool or None
        Whether larger values are better, wherever systems are compared. None if neither larger nor smaller ones are.

    Returns
    -------
    Metric
        The metric, for `evaluate` and other functions.

    Raises
    ------
    InvalidInputError
        If a name belongs to the catalogue, or a parameter or tie policy is not supported.

    Examples
    --------
    >>> import math
    >>> def depth_of_last(labels, above, ties, ideal, n_relevant, n_documents, k):
    ...     return (above[-1] + 1) / n_documents if len(above) else math.nan
    >>> last = fn.register(
    ...     depth_of_last, name="LastHit", title="relative rank of the last relevant document",
    ...     formula="rank of the last relevant document / number of documents", range="0 to 1",
    ...     undefined="nothing is relevant", source="our search team", higher_is_better=False,
    ... )
    >>> fn.evaluate([[1, 0, 1, 0]], [[4, 3, 2, 1]], [last, "lasthit@2"]).mean()
    {'LastHit': 0.75, 'LastHit@2': 0.25}
    """
    if not callable(function):
        raise InvalidTypeError(f"`function` must be a function of one query's hits, not {type(function).__name__}")
    record = Record(
        name=name,
        title=title,
        place="custom.evaluate_custom_metric",
        formula=formula,
        range=range,
        undefined=undefined,
        source=source,
        parameters=tuple(parameters),
        aliases=tuple(aliases),
        ties=tuple(ties),
        has_cutoff=has_cutoff,
        higher_is_better=higher_is_better,
        function=function,
    )
    _check(record)
    _forget(name)
    REGISTERED.append(record)
    CATALOG[name] = record
    NAMES.update((text.lower(), name) for text in (name, *record.aliases))
    return Metric(name)


def _check(record: Record) -> None:
    for text in (record.name, *record.aliases):
        if not isinstance(text, str) or not NAME.fullmatch(text):
            raise InvalidInputError(f"`name` and `aliases` must be of letters, digits, _ and -, not {shorten(text)}")
        owner = NAMES.get(text.lower())
        if owner is not None and not (owner == record.name and CATALOG[owner].function):
            raise InvalidInputError(
                f"`name` and `aliases` must be new, but {shorten(text)} means {owner}. Choose another name"
            )
        if text.lower() in (*AGGREGATES, *AGGREGATED_NAMES, *AMBIGUOUS, *BY_LOWER_NAME):
            raise InvalidInputError(
                f"`name` and `aliases` must be new, but {shorten(text)} has a meaning. Choose another name"
            )
    if record.higher_is_better not in (True, False, None):
        raise InvalidInputError(
            f"`higher_is_better` must be True, False or None, not {shorten(record.higher_is_better)}. Choose one"
        )
    for parameter in record.parameters:
        if not isinstance(parameter, Parameter) or parameter.type not in TYPES or parameter.default is None:
            raise InvalidInputError(
                f"`parameters` must be Parameter(name, type, default, text) with a default and a type of "
                f"{' or '.join(TYPES)}, not {shorten(parameter)}"
            )
    unknown = next((policy for policy in record.ties if policy not in TIE_POLICIES), None)
    if unknown is not None or not record.ties:
        raise InvalidInputError(f"`ties` must be some of {', '.join(TIE_POLICIES)}, not {unknown or 'none'}")


def _forget(name: str) -> None:
    """Remove the names of a metric before it is registered again."""
    old: Any = CATALOG.pop(name, None)
    for text in (old.name, *old.aliases) if old else ():
        NAMES.pop(text.lower(), None)


def evaluate_custom_metric(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the value of the user's function for an order without ties."""
    record = definition.metric.record
    function: Any = getattr(record.function, "py_func", record.function)
    hits = [(label, above) for above, label in enumerate(labels[: definition.k]) if label != 0]
    ideal = [label for label in sorted(judged, reverse=True)[: definition.k] if label != 0]
    return float(
        function(
            np.array([label for label, _ in hits], "f8"),
            np.array([above for _, above in hits], "i4"),
            np.ones(len(hits), "i4"),
            np.array(ideal, "f8"),
            float(n_relevant(labels, judged, definition._replace(k=None))),
            len(labels),
            MAX_RANK if definition.k is None else min(definition.k, MAX_RANK),
            *(definition.get(parameter.name) for parameter in record.parameters),
        )
    )

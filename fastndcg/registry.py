"""Metrics of users' own, beside those of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from fastndcg.catalog import AGGREGATES, CATALOG, REGISTERED, Parameter, Record
from fastndcg.catalog.record import TIE_POLICIES
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.metric import NAMES, TREC_CUTS, Metric
from fastndcg.parameters import NUMBERS

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
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
    takes_k: bool = True,
    higher_is_better: bool = True,
) -> Metric:
    """
    Add a metric of your own, which then is evaluated, named in texts and listed as those of the catalogue.

    A metric that was registered before under the same name is replaced. Processes that are spawned have to register it,
    too; the command line does so with ``--import my_metrics.py``.

    Parameters
    ----------
    function : callable
        ``function(labels, above, ties, ideal, n_relevant, n_documents, k, *parameters) -> float``, of one query, NaN
        where it has no value. Compiled by ``numba.njit``, or a plain Python function, which then is, with checks of
        its indices. It gets

        - ``labels`` (n_hits,) float64: the labels other than 0 within the first k ranks, in rank order,
        - ``above`` (n_hits,) int32: how many documents are ranked above each of these, its rank less one,
        - ``ties`` (n_hits,) int32: how many documents share its score, itself among them; ``above`` is the same for
          all of these. 1 everywhere unless `ties` has 'average',
        - ``ideal`` (n_ideal,) float64: the labels other than 0 of the first k ranks of the best order,
        - ``n_relevant`` float64: the number of relevant documents, retrieved or not,
        - ``n_documents`` int64: how many documents are ranked,
        - ``k`` int64: the cutoff, 2147483647 where there is none,
        - the parameters as float64, in their order.
    name : str
        Letters, digits, ``_`` and ``-``.
    title, formula, source, range, undefined : str
        What `fastndcg metrics` says of it: in words, how it is computed, where it is from, its range (such as
        "0 to 1"), and where it is NaN.
    parameters : iterable of Parameter
        ``Parameter(name, kind, default, text)``, kind one of 'threshold', 'positive', 'number', 'probability',
        'share', 'count'. One called ``rel`` is the least relevant label.
    aliases : iterable of str
        Other names.
    ties : iterable of str
        The tie policies that the function is right for; with 'average' only if it takes ``ties`` into account. Where
        scores tie under another policy, evaluating is an error.
    takes_k : bool
        Whether it may have a cutoff.
    higher_is_better : bool
        Its orientation.

    Returns
    -------
    Metric
        The metric as a value.

    Raises
    ------
    InvalidInputError
        If a name is taken by the catalogue, or a parameter or tie policy is none.

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
        kernel="registered.of_user",
        formula=formula,
        range=range,
        undefined=undefined,
        source=source,
        parameters=tuple(parameters),
        aliases=tuple(aliases),
        ties=tuple(ties),
        takes_k=takes_k,
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
            raise InvalidInputError(f"`name` and `aliases` must be of letters, digits, _ and -, not {text!r}")
        owner = NAMES.get(text.lower())
        if owner is not None and not (owner == record.name and CATALOG[owner].function):
            raise InvalidInputError(f"`name` and `aliases` must be new, but {text!r} means {owner}: take another")
        if text.lower() in AGGREGATES or text.lower() in TREC_CUTS:
            raise InvalidInputError(f"`name` and `aliases` must be new, but {text!r} has a meaning: take another")
    for parameter in record.parameters:
        if not isinstance(parameter, Parameter) or parameter.kind not in NUMBERS or parameter.default is None:
            raise InvalidInputError(
                f"`parameters` must be Parameter(name, kind, default, text) with a default and a kind of "
                f"{', '.join(NUMBERS)}, not {parameter!r}"
            )
    unknown = next((policy for policy in record.ties if policy not in TIE_POLICIES), None)
    if unknown is not None or not record.ties:
        raise InvalidInputError(f"`ties` must be some of {', '.join(TIE_POLICIES)}, not {unknown or 'none'}")


def _forget(name: str) -> None:
    """Take back the names of a metric that is registered anew."""
    old: Any = CATALOG.pop(name, None)
    for text in (old.name, *old.aliases) if old else ():
        NAMES.pop(text.lower(), None)

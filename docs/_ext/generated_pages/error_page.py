"""The page about errors: each class, messages of errors that are really raised, and the remedies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import fastndcg as fn
from fastndcg import errors
from fastndcg.metrics.families import CATALOG
from fastndcg.metrics.names import NAMES
from fastndcg.runtime.imports import optional_import

ARRAYS: dict[str, Any] = {"offsets": [0, 2]}


class Case(NamedTuple):
    """A call that raises an error: its code on the page, the call, and the remedy."""

    code: str
    call: Callable[[], Any]
    remedy: str


def _refuse_short_rankings(
    labels: Any, above: Any, ties: Any, ideal: Any, n_relevant: Any, n_documents: Any, k: Any
) -> float:
    if n_documents < 10:
        raise ValueError("too few documents")
    return 0.0


def _evaluate_failing_metric() -> None:
    """Evaluate a custom metric that raises an error, and remove it from the catalogue."""
    catalogue = CATALOG.copy()
    names = NAMES.copy()
    texts = dict.fromkeys(("title", "formula", "range", "source"), "an example")
    try:
        fn.register(_refuse_short_rankings, name="Mine", **texts)
        fn.evaluate([1, 0], [2, 1], "mine", **ARRAYS)
    finally:
        CATALOG.clear()
        CATALOG.update(catalogue)
        NAMES.clear()
        NAMES.update(names)


CASES: dict[type[fn.FastndcgError], list[Case]] = {
    fn.InvalidInputError: [
        Case(
            'fn.evaluate([1, 0], [2, 1, 3], "ndcg", offsets=[0, 2])',
            lambda: fn.evaluate([1, 0], [2, 1, 3], "ndcg", **ARRAYS),
            "Pass one score for each label.",
        ),
        Case(
            'fn.evaluate([1, 0], [2, 1], "ndcg")',
            lambda: fn.evaluate([1, 0], [2, 1], "ndcg"),
            "Say which documents belong to which query, with `offsets`, `groups`, `query_ids` or a 2-D array.",
        ),
        Case(
            'fn.evaluate([1, 0], [2, float("nan")], "ndcg", offsets=[0, 2])',
            lambda: fn.evaluate([1, 0], [2, float("nan")], "ndcg", **ARRAYS),
            "Find out why the model returns NaN. To rank such documents last, use a convention with `nan_scores=last`.",
        ),
        Case(
            'fn.evaluate([1, -1], [2, 1], "ndcg", offsets=[0, 2])',
            lambda: fn.evaluate([1, -1], [2, 1], "ndcg", **ARRAYS),
            "Set negative labels to 0, or choose what they mean with the field `negative_labels`.",
        ),
        Case(
            'fn.evaluate({"q1": {"a": 1}}, {"q2": {"a": 1}}, "ndcg")',
            lambda: fn.evaluate({"q1": {"a": 1}}, {"q2": {"a": 1}}, "ndcg"),
            "Compare the ids of qrels and run: a prefix, a leading zero, or text instead of numbers.",
        ),
        Case(
            'fn.evaluate({"q1": {"a": 1}}, {"q1": {"a": 1}}, "alpha_ndcg")',
            lambda: fn.evaluate({"q1": {"a": 1}}, {"q1": {"a": 1}}, "alpha_ndcg"),
            "Give judgments by subtopic, or take a metric that has one label per document.",
        ),
    ],
    fn.InvalidTypeError: [
        Case(
            'fn.evaluate([1, 0], np.array(["b", "a"]), "ndcg", offsets=[0, 2])',
            lambda: fn.evaluate([1, 0], np.array(["b", "a"]), "ndcg", **ARRAYS),
            "Convert the array to numbers. Texts in a CSV file are a usual cause.",
        ),
        Case(
            'fn.evaluate([1, 0], [2, 1], "ndcg", offsets=[0, 2], threads="2")',
            lambda: fn.evaluate([1, 0], [2, 1], "ndcg", threads="2", **ARRAYS),  # type: ignore[arg-type]
            "Pass a whole number.",
        ),
    ],
    fn.UnknownMetricError: [
        Case(
            'fn.evaluate([1, 0], [2, 1], "ndgc@10", offsets=[0, 2])',
            lambda: fn.evaluate([1, 0], [2, 1], "ndgc@10", **ARRAYS),
            "Correct the name. `fastndcg metrics` lists all names.",
        ),
        Case(
            'fn.evaluate([1, 0], [2, 1], "P(relevance=2)", offsets=[0, 2])',
            lambda: fn.evaluate([1, 0], [2, 1], "P(relevance=2)", **ARRAYS),
            "Use a parameter that the metric has. `fastndcg metrics P` lists them.",
        ),
    ],
    fn.UnknownFusionError: [
        Case(
            'fn.fuse([{"q": {"a": 1}}, {"q": {"b": 1}}], "wsum(norm=minmx)")',
            lambda: fn.fuse([{"q": {"a": 1}}, {"q": {"b": 1}}], "wsum(norm=minmx)"),
            "Correct the name. `fastndcg fuse --list` lists all names.",
        ),
    ],
    fn.UnknownConventionError: [
        Case(
            'fn.evaluate([1, 0], [2, 1], "ndcg", offsets=[0, 2], convention="treceval")',
            lambda: fn.evaluate([1, 0], [2, 1], "ndcg", convention="treceval", **ARRAYS),
            "Correct the name. `fastndcg conventions` lists all names.",
        ),
        Case(
            'fn.conventions["default"].replace(tie="input")',
            lambda: fn.conventions["default"].replace(tie="input"),
            "Use a field that conventions have. [The fields](../numbers/fields.md) lists them.",
        ),
    ],
    fn.UnknownIdError: [
        Case(
            'fn.Run({"query 1": {"a": 1.0}})["query1"]',
            lambda: fn.Run({"query 1": {"a": 1.0}})["query1"],
            "Write the id as the data do, a text or a whole number. `list(run)` has all.",
        )
    ],
    fn.UndefinedMetricError: [
        Case(
            'fn.evaluate([0, 0], [2, 1], "ndcg", offsets=[0, 2], convention="default(undefined=raise)")',
            lambda: fn.evaluate([0, 0], [2, 1], "ndcg", convention="default(undefined=raise)", **ARRAYS),
            "Drop queries without relevant documents, or choose `undefined=nan`, `0` or `1`.",
        )
    ],
    fn.RegisteredMetricError: [
        Case(
            '# "Mine" is registered, and its function raises ValueError("too few documents")\n'
            'fn.evaluate([1, 0], [2, 1], "mine", offsets=[0, 2])',
            _evaluate_failing_metric,
            "Correct the function of your metric. `__cause__` of the error is its exception.",
        )
    ],
    fn.MissingPackageError: [
        Case(
            'fn.evaluate("ratings.parquet", metrics="ndcg")  # where pyarrow is absent',
            lambda: optional_import("no_pyarrow", "reading Parquet", ""),
            "Install the package, or the extra of fastndcg that the message names.",
        )
    ],
}  # fmt: skip
INTRODUCTION = """\
# Errors

Every error names the argument, the rule, the first offender with its place, and the remedy.
Each class is also a subclass of a built-in exception, so that `except ValueError` works.

A file that does not exist raises Python's `FileNotFoundError`.
"""


def make_pages() -> dict[str, str | bytes]:
    """Return the page about errors."""
    return {"reference/errors.md": "".join(write_errors())}


def write_errors() -> Iterator[str]:
    """Yield the lines of the page."""
    classes = [
        value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, fn.FastndcgError)
    ]
    yield INTRODUCTION
    for kind in classes:
        bases = " and ".join(f"`{base.__name__}`" for base in kind.__bases__)
        yield f"\n## {kind.__name__}\n\n{(kind.__doc__ or '').strip().replace('``', '`')} Subclass of {bases}.\n"
        yield f"Reference: {{py:exc}}`fastndcg.{kind.__name__}`.\n"
        for case in CASES.get(kind, ()):
            yield f"\n```python\n{case.code}\n```\n\n"
            yield f"```{{code-block}} text\n:class: wrapped\n{_raise(kind, case)}\n```\n\n**Remedy**: {case.remedy}\n"


def _raise(kind: type[fn.FastndcgError], case: Case) -> str:
    """Return class and message of the error that a call raises."""
    try:
        case.call()
    except fn.FastndcgError as error:
        if type(error) is not kind:
            raise TypeError(f"{case.code} must raise {kind.__name__}, but raises {type(error).__name__}") from error
        return f"{kind.__name__}: {error}".replace("no_pyarrow", "pyarrow")
    raise AssertionError(f"{case.code} must raise {kind.__name__}, but raises no error")

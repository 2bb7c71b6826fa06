"""
Results as files: JSON that keeps every value, to be read again, also by later versions.

`Results.to_json` and `Results.save` write them, `load_result` reads them. A file has all values with all digits, the
metrics, the convention with all of its choices, the version, the digests of what was evaluated as far as they were
given, and a checksum. Fields that a version does not know are ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastndcg.errors import FastndcgError, InvalidInputError, InvalidTypeError, shorten
from fastndcg.exports import without_nan
from fastndcg.inputs.files import File
from fastndcg.metrics.metric import Metric, parse_metrics
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name

FORMAT = "fastndcg results 1"
FORMAT_KEY = re.compile(rb'"format"\s*:\s*"fastndcg results ')
CHECKSUM = "checksum"


class Provenance(NamedTuple):
    """
    Where results from a file come from.

    Attributes
    ----------
    version : str
        The version of fastndcg that computed them.
    truth, predictions : str
        The digests of what was evaluated, empty if they were not given.
    """

    version: str
    truth: str = ""
    predictions: str = ""


def read_saved(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arguments of `Results`, or of another kind, that a file has: see `load_result`."""
    with File(path) as file:
        name = file.name
        try:
            return _read_arguments(_read_fields(file.read(), name), name)
        except RecursionError:
            _refuse(name, "its values are nested too deep")
        except FastndcgError:
            raise
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
            _refuse(name, f"a field is not as it was: {error!r}")


def _read_arguments(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the arguments of results. Python's errors for a field of another kind are for `read_saved`."""
    metrics = _read_metrics(fields, name)
    rows = _expect(fields["per_query"], list)
    names = [str(metric) for metric in metrics]
    values = np.array([[_read_number(row[metric]) for metric in names] for row in rows], "f8")
    digests = _expect(fields.get("digests", {}), dict)
    origin = (fields["version"], digests.get("truth", ""), digests.get("predictions", ""))
    judged = fields.get("judged")
    others: dict[str, Any] = {}
    if "n_pairs" in fields:
        others["document_ids"] = _make_ids(row["document"] for row in rows)
    if "first_lost" in fields:
        others["first_lost"] = np.array([_expect(rank, int) for rank in fields["first_lost"]], "i8")
        others["relative_error"] = np.array([_read_number(error) for error in fields["relative_error"]], "f8")
    if metrics[0].record.function_name == "beyond_accuracy":
        means = {metric: fields["mean"][str(metric)] for metric in metrics if metric.record.has_one_value}
        others["overall_values"] = {metric: _read_number(mean) for metric, mean in means.items()}
    return {
        **others,
        **{count: _expect(fields.get(count, 0), int) for count in ("n_tied", "n_missing_in_run", "n_missing_in_qrels")},
        "values": values.reshape(len(rows), len(names)),
        "metrics": metrics,
        "query_ids": _make_ids(row["query"] for row in rows) if fields.get("has_query_ids", True) else None,
        "convention": _read_convention(fields, name),
        "value_weights": _read_matrix(fields, "value_weights", len(rows), len(names)),
        "notes": tuple(_expect(note, str) for note in fields.get("own_notes", ())),
        "judged": judged if judged is None else {_expect(k, str): _read_number(share) for k, share in judged.items()},
        "chance_values": _read_matrix(fields, "chance_values", len(rows), len(names)),
        "provenance": Provenance(*(_expect(text, str) for text in origin)),
    }


def _expect(value: Any, kind: type) -> Any:
    """Return a value of a type of JSON, or raise TypeError."""
    if type(value) is not kind:
        raise TypeError(f"{shorten(value)} in place of {kind.__name__}")
    return value


def is_saved_result(path: Any) -> bool:
    """Return True for the path of a JSON file that names the format of `Results.to_json`, in any order of its keys."""
    if not isinstance(path, str | os.PathLike):
        return False
    with contextlib.suppress(OSError, FastndcgError), File(path) as file:
        return file.first_line.startswith(b"{") and FORMAT_KEY.search(file.peek()) is not None
    return False


def describe_extras(results: Any) -> dict[str, Any]:
    """Return the fields that reading results again takes, beyond means and values, without those that say nothing."""
    extras: dict[str, Any] = {"has_query_ids": results.has_query_ids, "own_notes": list(results.own_notes)}
    for name in ("value_weights", "chance_values"):
        array = getattr(results, name)
        if array is not None:
            extras[name] = np.broadcast_to(array, results.values.shape).tolist()
    return extras


def add_checksum(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a file with their checksum, which does not depend on white space or the order of fields."""
    return {**facts, CHECKSUM: _compute_checksum(facts)}


def _compute_checksum(facts: Mapping[str, Any]) -> str:
    text = json.dumps(without_nan(facts), sort_keys=True, separators=(",", ":"), allow_nan=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _read_fields(content: bytes, name: str) -> dict[str, Any]:
    """Return the fields of a file whose checksum is right."""
    try:
        fields = json.loads(content)
    except ValueError:
        _refuse(name, "it is no JSON")
    form = fields.get("format") if isinstance(fields, dict) else None
    if not isinstance(form, str) or form.rpartition(" ")[0] != FORMAT.rpartition(" ")[0]:
        _refuse(name, f"its format is {shorten(form)}, not {shorten(FORMAT)}")
    if form != FORMAT:
        raise InvalidInputError(
            f"{name} must have the format {shorten(FORMAT)}, but has {shorten(form)}. Read it with the version of "
            "fastndcg that wrote it, or a later one."
        )
    if _compute_checksum({key: value for key, value in fields.items() if key != CHECKSUM}) != fields.get(CHECKSUM):
        _refuse(name, "its checksum is wrong")
    return dict(fields)


def _read_metrics(fields: Mapping[str, Any], name: str) -> tuple[Metric, ...]:
    try:
        return parse_metrics(fields["metrics"], None)
    except FastndcgError as error:
        raise InvalidInputError(f"{name} must have metrics of this version: {error}") from None


def _read_convention(fields: Mapping[str, Any], name: str) -> Convention:
    """Return the convention, or raise an error if a choice differs from that of the convention with the same name."""
    saved = dict(fields["convention"])
    try:
        convention = parse_convention(saved.pop("name"))
    except FastndcgError as error:
        raise InvalidInputError(f"{name} must have a convention of this version: {error}") from None
    now = without_nan(convention.choices())
    for field, choice in saved.items():
        if field in now and now[field] != choice:
            raise InvalidInputError(
                f"{name} must have a convention of this version, but {convention.name} had {field}={shorten(choice)} "
                f"and has {shorten(now[field])} now. Evaluate again."
            )
    return convention


def _read_number(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool):
        raise TypeError
    return float(value)  # infinity is a text


def _read_matrix(fields: Mapping[str, Any], name: str, n_rows: int, n_columns: int) -> Array | None:
    if name not in fields:
        return None
    matrix = np.array([[_read_number(value) for value in row] for row in fields[name]], "f8")
    return matrix.reshape(n_rows, n_columns)


def _make_ids(ids: Iterable[Any]) -> Array:
    """Return ids as an array: all are whole numbers, or all are texts."""
    ids = list(ids)
    array = np.array(ids, None if ids else "U")
    if {*map(type, ids)} not in (set(), {int}, {str}) or array.dtype.kind not in "iuU":
        raise TypeError(f"{shorten(ids)} in place of ids")
    return array


def _refuse(name: str, problem: str) -> NoReturn:
    raise InvalidInputError(f"{name} must be results as fastndcg writes them, but {problem}. Save them again.")


def check_save_path(path: Any) -> None:
    """Raise an error for a value that is no path of a file that `load_result` reads."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidTypeError(f"`path` must be the path of a file, not {shorten(path)}. Pass a text or a path.")
    if Path(path).suffix.lower() in (".gz", ".bz2", ".zst", ".csv"):
        raise InvalidInputError(f"`path` must name a JSON file, but is {show_name(os.fspath(path))}. End it in .json.")

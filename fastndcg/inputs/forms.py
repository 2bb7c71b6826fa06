"""
The registry of input forms.

A form is a record: its name, a function that recognises its values, and one that reads them. `find_form` asks the
forms of a kind in the order of `FORMS`. To add a form, write its reader in a new file, add its record here, and add
a row to tests/properties/test_all_input_forms.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Set
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names
from fastndcg.inputs.arrays import ArrayTruth
from fastndcg.inputs.columns import find_usual_roles
from fastndcg.inputs.dicts import holds_groups, holds_id_lists, is_id_rows, snapshot
from fastndcg.inputs.formats import read_path
from fastndcg.inputs.frames import Frame, is_frame, is_pandas
from fastndcg.inputs.ids import Groups, IdColumn
from fastndcg.inputs.messages import (
    MOST_COLUMNS,
    Source,
    are_columns,
    refuse_convertible,
    refuse_records,
    refuse_several,
)
from fastndcg.inputs.options import Options
from fastndcg.inputs.recommendations.interactions import Interactions, read_classes
from fastndcg.inputs.records import is_records, read_records
from fastndcg.inputs.retrieved import holds_retrieved, is_golden_set, read_golden_set, read_retrieved
from fastndcg.inputs.scored_frames import FileRequest, ScoredRows, TablePair, read_dict, read_truth_table
from fastndcg.inputs.streams import StreamedTables
from fastndcg.inputs.table import Qrels, Rows, Run, refuse_repeated
from fastndcg.inputs.table_sources import TableSource, open_tables
from fastndcg.rankings.filters import count_before
from fastndcg.rankings.rankings import Rankings, check_pool

Kind = Literal["truth", "run"]


class InputForm(NamedTuple):
    """A form of the truth, or of a run with ids."""

    kind: Kind
    name: str  # as error messages list it
    matches: Callable[[Any], bool]
    read: Callable[[Any, Options], Any]
    types: tuple[type, ...] = ()  # the built-in types that may have the form: others of them skip its function


def is_path(value: Any) -> bool:
    """Return True if a value may be the path of a file."""
    return isinstance(value, str | os.PathLike)


def is_pivot(value: Any) -> bool:
    """Return True for a matrix with ids: a frame of pandas with numbers only, an index of ids, and no usual names."""
    if not is_pandas(value) or len(getattr(value, "shape", ())) != 2 or value.shape[1] < 2:
        return False
    if getattr(value.index, "nlevels", 1) > 1 or getattr(value.columns, "nlevels", 1) > 1:
        return False
    are_texts = set(map(type, value.columns)) <= {str}
    has_plain_index = type(value.index).__name__ == "RangeIndex"
    if (are_texts and has_plain_index) or find_usual_roles(name for name in value.columns if isinstance(name, str)):
        return False
    return all(getattr(kind, "kind", "O") in "biuf" for kind in value.dtypes)


def _read_pivot(kind: type[Qrels | Run], frame: Any, options: Options) -> Any:
    """Read the cells of a matrix with ids. NaN is no value."""
    if kind is Qrels:
        options.check_no_columns()
    values = frame.to_numpy()
    rows, places = np.nonzero(~np.isnan(values)) if values.dtype.kind == "f" else np.nonzero(np.ones(values.shape))
    documents = IdColumn.of(frame.columns.tolist(), "names of columns").take(places)
    queries = IdColumn.of(frame.index.tolist(), "the index")
    sizes = np.bincount(rows, minlength=len(frame))
    filled = np.flatnonzero(sizes)
    offsets = count_before(sizes[filled])
    groups = Groups(offsets, None, offsets[:-1])
    source = Source(f"the {kind.what}")
    refuse_repeated(queries, source)
    return kind.of(Rows(queries.take(filled), groups, documents, values[rows, places]), source)


def _refuse_run(*_: Any) -> Any:
    raise InvalidTypeError("`truth` must not be a Run. Pass the judgments first, then the run")


def _read_golden_set(truth: Any, options: Options) -> Qrels:
    options.check_no_columns()
    return Qrels.from_dict(read_golden_set(truth))


def _read_run_frame(run: Any, options: Options) -> Run:
    return options.run_kind.from_frame(run, options.name_columns("predictions"), threads=options.threads)


def _is_column_dict(value: Any) -> bool:
    """Return True for a dict of columns with usual names."""
    if not isinstance(value, Mapping) or not 0 < len(value) <= MOST_COLUMNS:
        return False
    columns = snapshot(value, "the dict of columns")
    for column in columns.values():
        if isinstance(column, Mapping | Set | str) or hasattr(column, "columns") or not hasattr(column, "__len__"):
            return False
    return are_columns(columns)


def _is_array_like(value: Any) -> bool:
    attributes = ("__array__", "__array_interface__", "__dlpack__", "__len__", "__next__", "dtype", "type", "shape")
    return isinstance(value, list | tuple) or any(hasattr(value, name) for name in attributes)


def _read_labels(truth: Any, options: Options) -> ArrayTruth | Interactions:
    options.check_streaming(is_streamed=False)
    if not options.is_alone and options.offsets is None and options.groups is None and options.query_ids is None:
        classes = read_classes(truth, options.other)
        if classes is not None:
            return classes
    options.check_no_columns()
    return ArrayTruth(truth, options.offsets, options.groups, options.query_ids)


def is_number_list(value: Any) -> bool:
    """Return True for a list that begins with a number. One query feels the time of the other questions."""
    return type(value) is list and len(value) > 0 and type(value[0]) in (int, float)


def _read_array_like(truth: Any, options: Options) -> ArrayTruth | Interactions:
    """Read labels, and refuse what is none."""
    refuse_several(truth, "truth")
    refuse_records(truth, "truth", "label")
    refuse_convertible(truth, "truth")
    return _read_labels(truth, options)


def _read_prepared(truth: Any, _: Options) -> Any:
    if isinstance(truth, Rankings):
        check_pool(truth)
    return truth


def _read_truth_frame(truth: Any, options: Options) -> ScoredRows | StreamedTables | TablePair | Qrels:
    opened = open_tables(truth, "truth")
    columns = options.name_columns("truth")
    if isinstance(opened, TableSource) and opened.is_streamed:
        empty = Frame(opened.make_empty_table(opened.names), columns, "truth")
        if empty.is_streamable:
            return StreamedTables(opened, columns, options.memory, options.progress)
    return read_truth_table(Frame(opened, columns, "truth"), options)


def _read_truth_records(truth: Any, options: Options) -> ScoredRows | TablePair | Qrels:
    refuse_several(truth, "truth")
    records = read_records(truth, options.name_columns("truth"), "truth", "label")
    return read_truth_table(records, options, records.source)


def is_item_collection(value: Any) -> bool:
    """Return True for LensKit's `ItemListCollection`."""
    return hasattr(value, "key_fields") and hasattr(value, "to_df")


def _make_item_frame(value: Any, name: str, others: tuple[str, ...]) -> Any:
    """Return the frame of LensKit's lists without the columns of the other side."""
    if len(value.key_fields) != 1:
        raise InvalidInputError(
            f"`{name}` must have keys of one field, the user or query, but has {join_names(value.key_fields)}. "
            "Evaluate each part alone, or join the fields to one"
        )
    return value.to_df().drop(columns=list(others), errors="ignore")


def _read_run_records(run: Any, options: Options) -> Run:
    refuse_several(run, "predictions")
    records = read_records(run, options.name_columns("predictions"), "predictions", "score")
    records.list_names(*Run.roles)
    return options.run_kind.of_frame(records, options.threads, records.source)


def _read_recommended_items(run: Any, options: Options) -> Run:
    """Read lists of items: those that are ordered by their ranks, as in LensKit, and others by their scores."""
    frame = _make_item_frame(run, "predictions", ())
    is_ranked = "rank" in frame and frame["rank"].notna().all()
    return _read_run_frame(frame.drop(columns="score" if is_ranked else "rank", errors="ignore"), options)


# The order counts. Arrays, and what is prepared, come first, as they are the most frequent. A pivot is a frame without
# usual names. Dicts of columns and of ids are dicts, lists of ids and records are lists: what is special comes first.
FORMS = (
    InputForm("truth", "", is_number_list, _read_labels, (list,)),
    InputForm("truth", "an array of labels", lambda value: isinstance(value, np.ndarray) and value.dtype.names is None,
              _read_labels),
    InputForm("truth", "Rankings, Qrels or Interactions",
              lambda value: isinstance(value, Rankings | Qrels | Interactions), _read_prepared),
    InputForm("truth", "a scipy.sparse matrix", lambda value: hasattr(value, "tocsr"),
              lambda truth, options: Interactions.of_matrix(truth, options.threads)),
    InputForm("truth", "the path of a file", is_path, lambda path, options: read_path(
        path, FileRequest(Qrels, options.name_columns("truth"), options, is_truth=True)), (str,)),
    InputForm("truth", "", is_pivot, lambda truth, options: _read_pivot(Qrels, truth, options)),
    InputForm("truth", "a data frame", is_frame, _read_truth_frame),
    InputForm("truth", "a dict of columns", _is_column_dict, _read_truth_frame, (dict,)),
    InputForm("truth", "a dict of groups of ids", lambda value: holds_groups(value, "qrels"),
              lambda truth, _: read_dict(Qrels, truth), (dict,)),
    InputForm("truth", "a dict of relevant ids", lambda value: holds_id_lists(value, "qrels"),
              lambda truth, _: Qrels.from_dict(truth), (dict,)),
    InputForm("truth", "a dict of dicts", lambda value: isinstance(value, Mapping),
              lambda truth, _: read_dict(Qrels, truth), (dict,)),
    InputForm("truth", "LensKit's lists of items", is_item_collection,
              lambda truth, options: _read_truth_frame(_make_item_frame(truth, "truth", ("score", "rank")), options)),
    InputForm("truth", "a list of lists of ids", is_id_rows,
              lambda truth, _: Qrels.of_id_lists(dict(enumerate(truth))), (list, tuple)),
    InputForm("truth", "a golden set of TruLens", is_golden_set, _read_golden_set, (list,)),
    InputForm("truth", "a list or iterator of records", is_records, _read_truth_records, (list, tuple)),
    InputForm("truth", "", lambda value: isinstance(value, Run), _refuse_run),
    InputForm("truth", "a list of labels or a ragged column", _is_array_like, _read_array_like, (list, tuple)),
    InputForm("run", "a Run", lambda value: isinstance(value, Run), lambda run, _: run),
    InputForm("run", "the path of a file", is_path, lambda path, options: read_path(
        path, FileRequest(options.run_kind, options.name_columns("predictions"), options)), (str,)),
    InputForm("run", "", is_pivot, lambda run, options: _read_pivot(options.run_kind, run, options)),
    InputForm("run", "a data frame", is_frame, _read_run_frame),
    InputForm("run", "a dict of columns", _is_column_dict, _read_run_frame, (dict,)),
    InputForm("run", "a dict of retrieved documents", holds_retrieved,
              lambda run, options: options.run_kind.of_id_lists(read_retrieved(run)), (dict,)),
    InputForm("run", "a dict of ranked ids", lambda value: holds_id_lists(value, "run"),
              lambda run, options: options.run_kind.of_id_lists(run), (dict,)),
    InputForm("run", "a dict of dicts", lambda value: isinstance(value, Mapping),
              lambda run, options: options.run_kind.from_dict(run), (dict,)),
    InputForm("run", "LensKit's lists of items", is_item_collection, _read_recommended_items),
    InputForm("run", "a list of lists of ids", is_id_rows,
              lambda run, options: options.run_kind.of_id_lists(dict(enumerate(run))), (list, tuple)),
    InputForm("run", "a list or iterator of records", is_records, _read_run_records, (list, tuple)),
)  # fmt: skip
FORMS_BY_KIND = {kind: tuple(form for form in FORMS if form.kind == kind) for kind in ("truth", "run")}
BUILT_IN = {list, tuple, dict, str}


def find_form(value: Any, kind: Kind) -> InputForm | None:
    """Return the first form of a kind that recognises a value, or None."""
    own_type = type(value)
    is_built_in = own_type in BUILT_IN
    for form in FORMS_BY_KIND[kind]:
        if (not is_built_in or own_type in form.types) and form.matches(value):
            return form
    return None


def refuse_unknown_form(value: Any, name: str, kind: Kind) -> NoReturn:
    """Raise InvalidTypeError for a value of no form, with a list of the known forms."""
    *names, last = (form.name for form in FORMS_BY_KIND[kind] if form.name)
    raise InvalidTypeError(
        f"`{name}` must be {', '.join(names)} or {last}, but is of type {type(value).__name__}. Convert it to one of "
        "these"
    )


def read_run_form(predictions: Any, name: str, options: Options) -> Run:
    """Read a run in any of its forms. Error messages call it `name`."""
    form = find_form(predictions, "run")
    if form is None:
        refuse_several(predictions, name)
        refuse_records(predictions, name, "score")
        refuse_convertible(predictions, name)
        refuse_unknown_form(predictions, name, "run")
    run: Run = form.read(predictions, options)
    return run

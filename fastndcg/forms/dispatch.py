"""
The registry of input forms, and the ways in which truth and predictions of these forms go together.

A form is a record: its name, a function that recognises its values, and one that reads them. `find_form` asks the
forms of a kind in the order of `FORMS`. `COMBINATIONS` makes rankings of what was read. To add a form, write its
reader, add its record here, and add a row to tests/properties/test_all_input_forms.py.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Set
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias, cast

import numpy as np

from fastndcg.choices import MissingTruth
from fastndcg.errors import FastndcgError, InvalidInputError, InvalidTypeError
from fastndcg.inputs.arrays import AS_IDS, ArrayTruth, layout_and_values, read_ragged
from fastndcg.inputs.dicts import (
    WHOLE_NUMBERS,
    holds_hits,
    holds_retrieved,
    is_id_list,
    is_id_rows,
    read_retrieved,
    snapshot,
)
from fastndcg.inputs.diversity import read_dict
from fastndcg.inputs.duplicates import make_duplicates, settle_closed
from fastndcg.inputs.formats import LabelsInFile, read_file, read_path
from fastndcg.inputs.frames import Frame, is_frame
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.join import Joined, PairedRankings, join, join_runs
from fastndcg.inputs.messages import (
    MOST_COLUMNS,
    Options,
    Source,
    are_columns,
    refuse_convertible,
    refuse_records,
    refuse_several,
)
from fastndcg.inputs.records import is_records, read_records
from fastndcg.inputs.streams import Rows, ScoredRows, StreamedTables, describe, open_tables, parse_memory, read_frame
from fastndcg.inputs.table import AnyTable, Qrels, RepeatedRun, Run, Table, TableRows, choose_run
from fastndcg.named_conventions import Convention
from fastndcg.rankings.rankings import Rankings, check_pool
from fastndcg.rankings.validation import Array, as_offsets, as_scores, is_series
from fastndcg.recommenders.interactions import (
    PADDING,
    Interactions,
    Neighbours,
    RankingPartitions,
    Recommendations,
    checked_matrix,
    convert_to_interactions,
    drop_scores,
    match_recommendations,
    read_classes,
    read_unpadded_items,
)
from fastndcg.recommenders.item_selection import (
    ItemLists,
    ItemSelection,
    as_lists,
    read_item_arrays,
)
from fastndcg.recommenders.models import Model, ScoreMatrix, match_scores, partition_model, read_score_matrix

Kind = Literal["truth", "run"]
Reader: TypeAlias = Callable[[Any, Options], Any]


class InputForm(NamedTuple):
    """A form of the truth, of a run with ids, or of both, which differ in their readers."""

    name: str  # as error messages list it
    matches: Callable[[Any], bool]
    truth: Reader | None = None
    run: Reader | None = None
    types: tuple[type, ...] = ()  # the built-in types that may have the form: others of them skip its function
    is_of_tool: bool = False  # JSON may hold it


def is_path(value: Any) -> bool:
    """Return True if a value may be the path of a file."""
    return isinstance(value, str | os.PathLike)


def is_mapping(value: Any) -> bool:
    """Return True for a dict of queries."""
    return isinstance(value, Mapping)


def is_golden_set(value: Any) -> bool:
    """Return True for a list of records of a query and expected chunks, as TruLens has them."""
    is_list = isinstance(value, list) and len(value) > 0 and isinstance(value[0], Mapping)
    return is_list and "query" in value[0] and "expected_chunks" in value[0]


def is_hit_list(value: Any, side: str) -> bool:
    """Return True for a list of dicts of a query and its ratings or hits, and for a request that has such a list."""
    if isinstance(value, dict):
        value = value.get("requests", value.get("judgmentRatings"))
    first = value[0] if isinstance(value, list) and value else None
    lists = [field for field in first.values() if isinstance(field, list)] if isinstance(first, dict) else ()
    return (
        any(not field or isinstance(field[0], dict) for field in lists) and _rare().find_hits(value, side) is not None
    )


def is_question_set(value: Any) -> bool:
    """Return True for LlamaIndex's `EmbeddingQAFinetuneDataset`, and for its fields in a dict."""
    get = value.get if isinstance(value, dict) else functools.partial(getattr, value)
    return isinstance(get("relevant_docs", None), dict) and isinstance(get("queries", None), dict)


def is_example_list(value: Any) -> bool:
    """Return True for a list of LangSmith's examples, or of LlamaIndex's results of an evaluation of a retriever."""
    first = value[0] if isinstance(value, list) and value else None
    if first is None or isinstance(first, list | tuple | str | int | float):
        return False
    if isinstance(first, dict):
        return isinstance(first.get("inputs"), dict) and isinstance(first.get("outputs"), dict)
    pairs = ("expected_ids", "retrieved_ids"), ("inputs", "outputs")
    return any(all(hasattr(first, name) for name in pair) for pair in pairs)


def is_indexed_series(value: Any) -> bool:
    """Return True for a Series of pandas with an index of queries and documents."""
    return is_series(value) and getattr(value.index, "nlevels", 1) == 2


def _read_series(kind: type[Qrels | Run], series: Any, options: Options) -> Any:
    if kind is Qrels and any(cut is not None for cut in (options.offsets, options.groups, options.query_ids)):
        return _read_labels(series, options)
    queries, documents = map(series.index.get_level_values, (0, 1))
    return kind.of_columns(queries, documents, series.to_numpy())


def _rare() -> Any:
    """Return the module of readers that most values do without."""
    from fastndcg.forms import rare_forms

    return rare_forms


def _read_pivot(kind: type[AnyTable], frame: Frame, value: Any) -> AnyTable | None:
    """Read a matrix with ids, which is a frame of which no column has a usual name, and return None for others."""
    has_names = frame.candidates["query"] and frame.candidates["document"]  # one of which the index may have
    if frame.given.by_role or frame.has_scores or has_names:
        return None
    return cast(AnyTable, _rare().read_pivot(kind, value)) if _rare().is_pivot(value) else None


def _read_run_frame(run: Any, options: Options) -> Run:
    kind = choose_run(options)
    frame = Frame(run, options.name_columns("predictions"), kind.what)
    matrix = _read_pivot(kind, frame, run)
    if matrix is not None:
        return matrix
    frame.list_names(*kind.roles)  # raises for each column that is named and absent
    return kind.of_frame(frame, options.threads)


def _is_column_dict(value: Any) -> bool:
    """Return True for a dict of columns with usual names."""
    if not isinstance(value, Mapping) or not 0 < len(value) <= MOST_COLUMNS:
        return False
    columns = value if type(value) is dict else snapshot(value, "the dict of columns")
    for column in list(columns.values()):  # which no other thread interrupts
        if isinstance(column, Mapping | Set | str) or hasattr(column, "columns") or not hasattr(column, "__len__"):
            return False
    return are_columns(columns)


def _is_array_like(value: Any) -> bool:
    attributes = ("__array__", "__array_interface__", "__dlpack__", "__len__", "__next__", "dtype", "type", "shape")
    return isinstance(value, list | tuple) or any(hasattr(value, name) for name in attributes)


def _read_labels(truth: Any, options: Options) -> ArrayTruth | Interactions:
    if not options.is_alone and options.offsets is None and options.groups is None and options.query_ids is None:
        classes = read_classes(truth, options.other)
        if classes is not None:
            return classes
    try:
        return ArrayTruth(truth, options.offsets, options.groups, options.query_ids)
    except InvalidInputError:
        _refuse_missing_labels(truth, options)
        raise


def _refuse_missing_labels(labels: Any, options: Options) -> None:
    """Raise if the scores have as many documents as their queries, and the labels do not."""
    counts = {"offsets": lambda offsets: offsets[-1], "groups": sum, "query_ids": len}
    name = next((name for name in counts if getattr(options, name) is not None), "")
    try:
        n_documents = counts[name](getattr(options, name))
        is_number = not hasattr(n_documents, "__len__")  # a row of a matrix is none
        is_wrong = is_number and len(options.other) == n_documents != len(labels) and not hasattr(labels[0], "__len__")
    except (TypeError, ValueError, LookupError):  # no plain lists of numbers
        return
    if is_wrong:
        raise InvalidInputError(
            f"`labels` must have length {n_documents}, like `{name}` and the scores, but has {len(labels)}. Pass one "
            "label for each document"
        ) from None


def is_dict_of_numbers(value: Any) -> bool:
    """Return True for a dict that begins with a dict of numbers. It saves 9 of 159 calls for two dicts."""
    try:
        row = next(iter(value.values()), None) if type(value) is dict else None
        if type(row) is not dict or "hits" in row:  # which a response of Elasticsearch has after the time it took
            return False
        return type(next(iter(row.values()), None)) in (int, float)
    except RuntimeError:  # another thread changes it
        return False


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


def _read_matrix_of_items(truth: Any, options: Options) -> Interactions:
    return Interactions(truth, threads=options.threads)


def _read_truth_frame(truth: Any, options: Options) -> Any:
    name = options.name("truth")
    frame = Frame(truth, options.name_columns("truth"), name)
    if frame.tables is not None:
        return open_tables(frame.tables, Qrels, options, name, f"`{name}`")
    matrix = _read_pivot(Qrels, frame, truth)
    return read_frame(frame, Qrels, options) if matrix is None else matrix


def _read_rows(rows: Rows, options: Options) -> Any:
    """Read a table with labels and scores by its own options."""
    own = rows.options(options)
    parse_memory(own.memory)
    if is_path(rows.data):
        table = read_path(rows.data, Qrels, own, rows.format)
    else:
        form = find_form(rows.data, "truth")
        if rows.format is not None or form is None or form.truth in WITHOUT_IDS:
            raise InvalidInputError(
                f"`data` of Rows must be a table, and a file where `format` is given, not {describe(rows.data)}. Give "
                "a path, a frame or records"
            )
        table = form.truth(rows.data, own)  # type: ignore[misc]
    is_pair = isinstance(table, Qrels) and table.own_run is not None
    if not (is_pair or isinstance(table, ScoredRows | StreamedTables)):
        raise InvalidInputError(
            f"`data` of Rows must have labels and scores, but {describe(rows.data)} has not. Name their columns, or "
            "give judgments and a run"
        )
    if own.duplicates is not None and not is_pair:
        raise InvalidInputError("`duplicates` of Rows needs a column of documents. Name it, or leave it out")
    return table


def _read_truth_records(truth: Any, options: Options) -> ScoredRows | Qrels:
    name = options.name("truth")
    refuse_several(truth, name)
    records = read_records(truth, options.name_columns("truth"), name, "label")
    return read_frame(records, Qrels, options, records.source)  # type: ignore[no-any-return]


def is_item_collection(value: Any) -> bool:
    """Return True for LensKit's `ItemListCollection`."""
    return hasattr(value, "key_fields") and hasattr(value, "to_df")


def _read_relevant_items(truth: Any, options: Options) -> Any:
    """Read lists of items without the columns of a run."""
    return _read_truth_frame(
        _rare().make_item_frame(truth, "truth").drop(columns=["score", "rank"], errors="ignore"), options
    )


def _read_run_records(run: Any, options: Options) -> Run:
    name = options.name("predictions")
    refuse_several(run, name)
    records = read_records(run, options.name_columns("predictions"), name, "score")
    records.list_names(*Run.roles)
    return choose_run(options).of_frame(records, options.threads, records.source)


def _read_recommended_items(run: Any, options: Options) -> Run:
    """Read lists of items: those that are ordered by their ranks, as in LensKit, and others by their scores."""
    frame = _rare().make_item_frame(run, "predictions")
    is_ranked = "rank" in frame and frame["rank"].notna().all()
    return _read_run_frame(frame.drop(columns="score" if is_ranked else "rank", errors="ignore"), options)


def _is_found_by_index(value: Any) -> bool:
    return Neighbours.find(value) is not None


def _read_neighbours(value: Any, options: Options) -> Run:
    """Read what a vector index found as a run, queries and documents by their numbers."""
    items, scores, are_distances = cast(Neighbours, Neighbours.read(value, options.name("predictions")))
    documents, offsets = read_unpadded_items(items, options.name("predictions"))
    scores = scores[items != PADDING]
    source = Source("the run", lists=offsets, notes=(DISTANCES_RISE,) * are_distances)
    rows = _number_rows(documents, offsets, -scores if are_distances else scores)
    return choose_run(options).from_rows(rows, source, options.threads)


DISTANCES_RISE = "numbers rise along each row and were read as distances: scores are their negative values"
# The order counts. Arrays, frames and what is prepared come first, as they are the most frequent. Dicts of columns and
# of ids are dicts, lists of ids and records are lists: what is special comes first.
FORMS = (
    InputForm("", is_number_list, _read_labels, types=(list,)),
    InputForm("an array of labels", lambda value: isinstance(value, np.ndarray) and value.dtype.names is None,
              _read_labels),
    InputForm("a data frame", is_frame, _read_truth_frame, _read_run_frame),
    InputForm("Rankings, Qrels or Interactions", lambda value: isinstance(value, Rankings | Qrels | Interactions),
              _read_prepared),
    InputForm("Rows", lambda value: isinstance(value, Rows), _read_rows),
    InputForm("a Run", lambda value: isinstance(value, Run), run=lambda run, _: run),
    InputForm("a scipy.sparse matrix", lambda value: hasattr(value, "tocsr"), _read_matrix_of_items),
    InputForm("the path of a file", is_path,
              lambda path, options: read_path(path, Qrels, options),
              lambda path, options: read_path(path, choose_run(options), options), (str,)),
    InputForm("", is_indexed_series,
              lambda truth, options: _read_series(Qrels, truth, options),
              lambda run, options: _read_series(choose_run(options), run, options)),
    InputForm("", is_dict_of_numbers, lambda truth, _: Qrels.of_dict(truth),
              lambda run, options: choose_run(options).of_dict(run), (dict,)),
    InputForm("a dict of columns", _is_column_dict, _read_truth_frame, _read_run_frame, (dict,)),
    InputForm("a list of queries with ratings", lambda value: is_hit_list(value, Qrels.side),
              lambda truth, options: _rare().read_hit_list(Qrels, truth, options.name_columns("truth")),
              types=(dict, list), is_of_tool=True),
    InputForm("a list of queries with hits", lambda value: is_hit_list(value, Run.side),
              run=lambda run, options: _rare().read_hit_list(
                  choose_run(options), run, options.name_columns("predictions")), types=(list,), is_of_tool=True),
    InputForm("a dict of retrieved documents", holds_retrieved,
              lambda truth, _: Qrels.of_id_lists(read_retrieved(truth, "qrels")),
              lambda run, options: choose_run(options).of_id_lists(read_retrieved(run, "run")), (dict, list, tuple)),
    InputForm("a dict of hits", holds_hits,
              lambda truth, options: _rare().read_hits(Qrels, truth, options.name_columns("truth")),
              lambda run, options: _rare().read_hits(
                  choose_run(options), run, options.name_columns("predictions")), (dict,), is_of_tool=True),
    InputForm("a data set of LlamaIndex", is_question_set,
              lambda truth, _: read_dict(Qrels, _rare().find_relevant(truth)), types=(dict,), is_of_tool=True),
    InputForm("a dict of dicts or of ids", is_mapping, lambda truth, _: read_dict(Qrels, truth),
              lambda run, options: choose_run(options).of_dict(run), (dict,)),
    InputForm("LensKit's lists of items", is_item_collection, _read_relevant_items, _read_recommended_items),
    InputForm("a list of lists of ids", is_id_rows, lambda truth, _: Qrels.of_id_lists(dict(enumerate(truth))),
              lambda run, options: choose_run(options).of_id_lists(dict(enumerate(run))), (list, tuple)),
    InputForm("a golden set of TruLens", is_golden_set,
              lambda truth, _: Qrels.of_dict(_rare().read_golden_set(truth)), types=(list,), is_of_tool=True),
    InputForm("examples of LangSmith", is_example_list,
              lambda truth, options: _read_truth_records(_rare().list_examples(truth, "truth"), options),
              lambda run, options: _read_run_records(_rare().list_examples(run, "predictions"), options),
              types=(list,), is_of_tool=True),
    InputForm("a list or iterator of records", is_records, _read_truth_records, _read_run_records, (list, tuple)),
    InputForm("a pair of arrays, ids and scores", _is_found_by_index, _read_matrix_of_items, _read_neighbours,
              types=(list, tuple)),
    InputForm("a list of labels or a ragged column", _is_array_like, _read_array_like, types=(list, tuple)),
)  # fmt: skip
BUILT_IN = {list, tuple, dict, str}
LABEL_READERS = (_read_labels, _read_array_like)  # of arrays, which have no ids
WITHOUT_IDS = (*LABEL_READERS, _read_prepared, _read_matrix_of_items, _read_rows)


def find_form(value: Any, kind: Kind) -> InputForm | None:
    """Return the first form that recognises a value and has a reader of a kind, or None."""
    own_type = type(value)
    is_built_in = own_type in BUILT_IN
    for form in FORMS:
        if (form.truth if kind == "truth" else form.run) is None or (is_built_in and own_type not in form.types):
            continue
        if form.matches(value):
            return form
    return None


def read_of_tool(values: list[Any], kind: type[Table], options: Options) -> Any:
    """Read values of JSON as objects if a tool has such, and return None for others."""
    side: Kind = "run" if kind.side == Run.side else "truth"
    for value in (*values[: len(values) == 1], values) if not kind.by_subtopic else ():
        for form in FORMS:
            read = getattr(form, side)
            if form.is_of_tool and read is not None and type(value) in form.types and form.matches(value):
                return read(value, options)
    return None


def read_form(value: Any, kind: Kind, options: Options) -> Any:
    """Read a value of any form of a kind, and return None for a value of no form."""
    form = find_form(value, kind)
    return None if form is None else getattr(form, kind)(value, options)


def refuse_unknown_form(value: Any, name: str, kind: Kind, *, with_ids: bool = False) -> NoReturn:
    """Raise InvalidTypeError for a value of no form, with a list of the known forms, or of those with ids."""
    known = (form for form in FORMS if form.name and getattr(form, kind) is not None)
    *names, last = (form.name for form in known if not with_ids or form.truth not in WITHOUT_IDS)
    remedy = f"Give its frame: {name}.to_pandas()" if hasattr(value, "to_pandas") else "Convert it to one of these"
    raise InvalidTypeError(
        f"`{name}` must be {', '.join(names)} or {last}, but is of type {type(value).__name__}. {remedy}"
    )


def read_run_form(predictions: Any, name: str, options: Options) -> Run:
    """Read a run in any of its forms. Error messages call it `name`."""
    are_lists = isinstance(predictions, list | tuple) and len(predictions) > 0
    if are_lists and all(is_id_list(row) and not len(row) for row in predictions):
        predictions = dict(enumerate(predictions))  # no id shows the form
    form = find_form(predictions, "run")
    run = None if form is None or form.run is None else form.run(predictions, options)
    if run is None:
        if isinstance(predictions, Rows):
            raise InvalidInputError(f"`{name}` must be a run, not Rows, which are the truth, without predictions")
        refuse_several(predictions, name)
        refuse_records(predictions, name, "score")
        refuse_convertible(predictions, name)
        refuse_unknown_form(predictions, name, "run")
    return cast(Run, run)


def read_table(
    kind: type[AnyTable], data: Any, others: tuple[Any, ...], *, columns: Any, format: str | None, threads: int | None,
    again: tuple[Any, Any, Any] = (None, None, None),
) -> AnyTable:  # fmt: skip
    """Read judgments or a run: data in any of their forms, or the ids of queries and the columns beside them."""
    duplicates = make_duplicates(*again)
    if issubclass(kind, Run) and isinstance(data, Recommendations) and hasattr(data, "to_run"):
        data = cast(Any, data).to_run()
    if duplicates is None:
        return _read_alone(kind, data, others, Options(columns=columns, threads=threads, kind=kind), format)
    options = Options(columns=columns, threads=threads, kind=RepeatedRun, duplicates=duplicates)
    if isinstance(data, Run):
        run = data.copy_as(RepeatedRun)
    else:
        run = _read_alone(RepeatedRun, data, others, options, format)
    return cast(AnyTable, run.settled_by(duplicates.read_parents(data, columns, run)))


def _read_alone(
    kind: type[AnyTable], data: Any, others: tuple[Any, ...], options: Options, format: str | None
) -> AnyTable:
    if any(column is not None for column in others):
        if options.columns or format or any(column is None for column in others):
            names = " and ".join(f"`{name}`" for name in kind.column_names)
            raise InvalidInputError(
                f"`{kind.what}` must have {names} where columns are given, without `columns` and `format`. Give all of "
                "them, or a frame"
            )
        return kind.of_columns(data, *others)
    if is_path(data):
        return read_file(kind, data, format, options)
    if format is not None:
        raise InvalidInputError(f"`format` can only be used for a file, but `{kind.what}` is none. Leave it out")
    side: Kind = "run" if issubclass(kind, Run) else "truth"
    form = find_form(data, side)
    table = None if form is None or form.truth in LABEL_READERS else getattr(form, side)(data, options)
    if form is None or not isinstance(table, kind):
        refuse_several(data, kind.what)
        refuse_records(data, kind.what, kind.value_name)
        refuse_convertible(data, kind.what)
        refuse_item_lists(data, kind.what)
        if isinstance(table, Table):  # judgments without subtopics
            raise InvalidInputError(f"`{kind.what}` must have subtopics, but has none. Take Qrels, or name a column")
        refuse_unknown_form(data, kind.what, side, with_ids=True)
    if options.columns and not table.source.columns:
        raise InvalidInputError(
            f"`columns` can only be used for frames, records and files with columns, but `{kind.what}` is "
            f"{form.name or describe(data)}. Leave it out"
        )
    return table


TruthInput: TypeAlias = Rankings | Qrels | ArrayTruth | ScoredRows | Interactions | StreamedTables
SPARSE = Source("the sparse scores")
PartitionedInput: TypeAlias = RankingPartitions | StreamedTables


def prepare_truth(truth: Any, options: Options) -> TruthInput:
    """Read and check the truth once, for any number of predictions."""
    if isinstance(truth, Model):
        raise InvalidTypeError(
            f"`truth` must be what users like, or judgments, but is {type(truth).__name__}, which are predictions. "
            "Give the truth first, and predictions second. For the recall of an index take fn.index_recall"
        )
    if isinstance(truth, Recommendations):
        raise InvalidTypeError(
            f"`truth` must be what users like, or judgments, but is {type(truth).__name__}, which are predictions. For "
            "neighbours that an exact search finds give fn.Interactions(truth.items)"
        )
    if isinstance(truth, Run):
        raise InvalidTypeError("`truth` must not be a Run. Pass the judgments first, then the run")
    form = find_form(truth, "truth")
    if form is None or form.truth is None:
        refuse_unknown_form(truth, "truth", "truth")
    prepared: TruthInput = form.truth(truth, options)
    if not isinstance(prepared, ArrayTruth) or isinstance(prepared, LabelsInFile):  # which have queries
        options.check_no_cuts()
    return prepared


def join_predictions(
    truth: TruthInput, predictions: Any, convention: Convention, options: Options
) -> Rankings | Joined | PartitionedInput:
    """Combine predictions with the truth: return rankings, or an object that makes them part by part."""
    row, read = _find_combination(truth, predictions, options)
    return row.combine(truth, read, convention, options)


def read_predictions(truth: TruthInput, predictions: Any, options: Options) -> Any:
    """Return predictions as an object that is joined with the truth as they are, and is read once."""
    return _find_combination(truth, predictions, options)[1]


def _find_combination(truth: TruthInput, predictions: Any, options: Options) -> tuple[Combination, Any]:
    """Return the way in which predictions go together with the truth, and what it reads of them."""
    is_plain = isinstance(predictions, str | dict)  # no model and no matrix, for which six libraries would be searched
    for row in COMBINATIONS:
        if isinstance(truth, row.truth) and not (is_plain and row.has_all_items):
            read = row.read(truth, predictions, options)
            if read is not None:
                return row, read
    raise AssertionError(row.name)  # the last reader of each truth returns a value or raises


def _join(qrels: Qrels, run: Run, convention: Convention, options: Options) -> Joined:
    """Join judgments and a run in which chunks, and documents that a query has twice, count as the run says."""
    if run.duplicates is not None:
        qrels, run = run.duplicates.apply_to_both(qrels, run, convention)
    return join(qrels, run, convention, options.threads, is_part=options.is_part)


class Combination(NamedTuple):
    """
    Truth and predictions that go together.

    `read` reads the predictions, and returns None for those of another row. `combine` makes rankings of both.
    `has_all_items` is True for predictions with a score for every item, which are no texts and no dicts.
    """

    name: str
    truth: type | tuple[type, ...]
    read: Callable[[Any, Any, Options], Any]
    combine: Callable[[Any, Any, Convention, Options], Rankings | Joined | PartitionedInput]
    has_all_items: bool = False


def _read_scores(truth: ArrayTruth, scores: Any, options: Options) -> Any:
    """Return scores of labels in arrays: an array, or the rankings of those in a file."""
    if hasattr(scores, "dtype") or is_number_list(scores):
        return scores
    if isinstance(scores, Model | ScoreMatrix):
        raise InvalidTypeError(
            f"`truth` must be items that users like, or judgments with ids, for {type(scores).__name__}, but is an "
            "array of labels. Give scipy.sparse.csr_array(labels), Interactions, or a dict"
        )
    _check_given(scores)
    if isinstance(truth, LabelsInFile) and is_path(scores):
        return truth.read_rankings(scores, options.threads)
    are_items = isinstance(scores, Recommendations) or _is_found_by_index(scores)
    if not are_items:
        refuse_several(scores, "predictions")
    if are_items or find_form(scores, "run") is not None:
        kind = type(scores).__name__
        remedy = ". For scores of several systems take fn.compare" * isinstance(scores, Mapping)
        if are_items or (truth.could_be_ids and not remedy):
            remedy = f". If both are {AS_IDS}"
        raise InvalidTypeError(f"`predictions` must be an array of scores, as `truth` is of labels, not {kind}{remedy}")
    return scores


def _rank_arrays(truth: ArrayTruth, scores: Any, convention: Convention, options: Options) -> Rankings:
    del convention, options
    return scores if isinstance(scores, Rankings) else truth.rankings(scores)


def _read_nothing(truth: TruthInput, predictions: Any, options: Options) -> bool:
    """Check that there are no predictions, as the truth has scores."""
    del options
    if predictions is not None:
        kind = "Rankings, which holds scores" if isinstance(truth, Rankings) else "a frame that holds scores"
        raise InvalidInputError(f"`predictions` must be left out when `truth` is {kind}")
    return True


def _read_own_run(truth: Qrels, predictions: Any, options: Options) -> Run | None:
    return truth.own_run if truth.own_run is not None and _read_nothing(truth, predictions, options) else None


def _read_model(truth: Qrels | Interactions, predictions: Any, options: Options) -> Model | None:
    del truth, options
    return predictions if isinstance(predictions, Model) else None


def _read_sparse(truth: Qrels | Interactions, predictions: Any, options: Options) -> Any:
    del truth, options
    return checked_matrix(predictions) if hasattr(predictions, "tocsr") else None


def _read_matrix(truth: Qrels | Interactions, predictions: Any, options: Options) -> ScoreMatrix | None:
    del truth, options
    if isinstance(predictions, ScoreMatrix):
        return predictions
    scores = None if predictions is None else read_score_matrix(predictions)
    return None if scores is None else ScoreMatrix(scores, ItemSelection())


def _read_run(truth: Qrels, predictions: Any, options: Options) -> Run | None:
    if isinstance(predictions, Recommendations) and predictions.has_ids:
        predictions = cast(Any, predictions).to_run()
    is_run = isinstance(predictions, str | dict) or (predictions is not None and not _is_item_lists(predictions))
    if not is_run:
        return None
    return read_run_form(predictions, "predictions", options)


def _read_items(truth: Qrels | Interactions, predictions: Any, options: Options) -> Recommendations:
    del truth, options
    _check_given(predictions)
    predictions = drop_scores(predictions, "predictions")
    refuse_several(predictions, "predictions")
    return predictions if isinstance(predictions, Recommendations) else Recommendations(predictions)


def _match_matrix(
    truth: Qrels | Interactions, scores: ScoreMatrix, convention: Convention, options: Options
) -> RankingPartitions:
    del convention
    return match_scores(_convert_truth(truth, len(scores.matrix)), scores, options.threads)


def _match_items(
    truth: Qrels | Interactions, recommended: Recommendations, convention: Convention, options: Options
) -> RankingPartitions | Joined:
    """Rank recommended items in parts, or as a run, users and items by their numbers, if some of them move or count."""
    if isinstance(truth, Qrels) and not truth.queries.are_texts:  # which are an error
        recommended = recommended.for_users(int(truth.queries.numbers().max(initial=-1)) + 1)
    liked = _convert_truth(truth, recommended.n_users)
    recommended = recommended.for_users(liked.n_users)
    duplicates = recommended.duplicates
    if duplicates is None or duplicates.keeps_first:
        return match_recommendations(liked, recommended.items, once=duplicates is not None)
    run = rank_items(recommended, "predictions")
    if len(run.queries) != liked.n_users:
        raise InvalidInputError(
            f"`predictions` must have one row per user, {liked.n_users}, but has {len(run.queries)}"
        )
    return _join(number_liked(liked), run, convention, options)


def rank_items(recommended: Recommendations, name: str, threads: int | None = None) -> Run:
    """Return recommended items as a run, users and items by their numbers. Error messages call it `name`."""
    items, offsets = read_unpadded_items(recommended.items, name)
    rows = _number_rows(items, offsets, Run._make_values(offsets))
    source = Source(f"`{name}`", lists=offsets)
    if recommended.duplicates is None:
        return Run.from_rows(rows, source, threads)
    return RepeatedRun.from_rows(rows, source).settled_by(recommended.duplicates)


def number_liked(liked: Interactions) -> Qrels:
    """Return the items that users like as judgments, users and items by their numbers."""
    return Qrels.from_rows(_number_rows(liked.items, liked.offsets, liked.labels), Source("the truth"))


def _convert_truth(truth: Qrels | Interactions, n_users: int) -> Interactions:
    return truth if isinstance(truth, Interactions) else convert_to_interactions(truth, n_users)


def _join_sparse(truth: Qrels | Interactions, scores: Any, convention: Convention, options: Options) -> Joined:
    """Rank the items that a scipy.sparse matrix has scores of."""
    rows = scores.tocsr()
    rows.sum_duplicates()
    run = Run.from_rows(
        _number_rows(rows.indices, as_offsets(rows.indptr, "indptr", len(rows.indices)), rows.data), SPARSE
    )
    if isinstance(truth, Interactions):
        if rows.shape[0] != truth.n_users or truth.n_items not in (None, rows.shape[1]):
            n_items = "n_items" if truth.n_items is None else truth.n_items
            raise InvalidInputError(
                f"`predictions` must have a row per user and a column per item of the truth, ({truth.n_users}, "
                f"{n_items}), but its shape is {rows.shape}. Take the same users and items"
            )
        truth = number_liked(truth)
    return join(truth, run, convention, options.threads)


def _number_rows(items: Array, offsets: Array, values: Array) -> TableRows:
    """Return the items of all users, numbered like the users from 0, as rows of a table."""
    users = IdColumn.from_numbers(np.arange(len(offsets) - 1))
    return TableRows.in_order(users, offsets, IdColumn.from_numbers(items), values)


WITH_ITEMS = (Qrels, Interactions)
# Rows are tried in this order: a model and a matrix have scores of all items, which a run and lists of items lack.
COMBINATIONS = (
    Combination("arrays", ArrayTruth, _read_scores, _rank_arrays),
    Combination("rankings", Rankings, _read_nothing, lambda truth, *_: truth),
    Combination("labels and scores", ScoredRows, _read_nothing,
                lambda truth, _, convention, options: Joined(
                    truth.rankings(convention, options.threads), notes=truth.notes)),
    Combination("stream", StreamedTables, _read_nothing,
                lambda truth, _, convention, options: truth.under(convention, options.progress)),
    Combination("join of one table", Qrels, _read_own_run, _join),
    Combination("match model", WITH_ITEMS, _read_model, partition_model, has_all_items=True),
    Combination("join of a matrix", WITH_ITEMS, _read_sparse, _join_sparse, has_all_items=True),
    Combination("match scores", WITH_ITEMS, _read_matrix, _match_matrix, has_all_items=True),
    Combination("join", Qrels, _read_run, _join),
    Combination("match items", WITH_ITEMS, _read_items, _match_items),
)  # fmt: skip


def join_all(truth: TruthInput, predictions: Any, convention: Convention, options: Options) -> Joined:
    """Combine predictions with the truth as one set of rankings, whatever memory that takes."""
    return make_whole(join_predictions(truth, predictions, convention, options))


def make_whole(combined: Rankings | Joined | PartitionedInput) -> Joined:
    """Make all rankings at once, with all their arrays."""
    if isinstance(combined, Joined):
        return combined
    return Joined(combined if isinstance(combined, Rankings) else combined.whole())


def _check_given(predictions: Any) -> None:
    if predictions is None:
        raise InvalidInputError(
            "`predictions` is missing: give scores, a run, or its path. Labels in rank order have the scores -rank, "
            "such as -numpy.arange(n)"
        )


def _is_item_lists(predictions: Any) -> bool:
    """Return True if predictions are lists of recommended items, one row per user."""
    is_array = isinstance(predictions, np.ndarray) and predictions.ndim == 2
    if _is_found_by_index(predictions):
        return True
    if isinstance(predictions, list | tuple):
        row = predictions[0] if predictions else ()
        row = row.tolist() if isinstance(row, np.ndarray) else row
        is_array = isinstance(row, list) and len(row) > 0 and isinstance(row[0], int | np.integer)
    return is_array or isinstance(predictions, Recommendations) or read_ragged(predictions, "predictions") is not None


def read_ranked(value: Any, name: str, options: Options) -> Recommendations | Run:
    """Read ranked items, numbers by position or a run with ids."""
    if isinstance(value, Recommendations) and value.has_ids:
        value = cast(Any, value).to_run()
    if not _is_item_lists(value):
        return read_run_form(value, name, options)
    return value if isinstance(value, Recommendations) else Recommendations(value)


def refuse_item_lists(data: Any, name: str) -> None:
    """Raise for lists of whole numbers by position: these could be ids, labels or scores."""
    if isinstance(data, list | tuple) and data and isinstance(data[0], tuple):
        data = [list(data[0])]
    if _is_item_lists(data):
        raise InvalidTypeError(
            f"`{name}` must have ids of queries, but has numbers by position, which could be ids, labels or scores. "
            f"Give {{query: ids}}, or {WHOLE_NUMBERS}, or fn.evaluate(labels, scores, metrics, offsets=…)"
        )


def read_selection(exclude: Any, candidates: Any, missing_truth: MissingTruth) -> ItemSelection:
    """Read the options of a model that select items."""
    excluded = None if exclude is None else _read_selected(exclude, "exclude")
    ranked = None if candidates is None else _read_selected(candidates, "candidates")
    return ItemSelection(excluded, ranked, missing_truth)


def _read_selected(value: Any, name: str) -> ItemLists | Qrels | IdColumn:
    """Read items: one set for all users, one a user, a mask, or interactions. Ids are looked up later."""
    try:
        items: Any = read_item_arrays(value, name, None)
        if items is None:
            items = read_form(value, "truth", Options())
        if isinstance(items, Interactions):
            items = as_lists(items, None)
    except FastndcgError as error:
        raise error.reword(before=f"`{name}`: ") from None
    if isinstance(items, ItemLists | Qrels | IdColumn):
        return items
    raise InvalidTypeError(
        f"`{name}` must be interactions (a scipy.sparse matrix, Interactions or a frame of users and items), items of "
        f"all users (a set or an array), or one list a user, but is of type {type(value).__name__}. Convert it"
    )


NAMES = ("first", "second")


def read_pairs(first: Any, second: Any, options: Options) -> PairedRankings:
    """Read two rankings, query by query."""
    with_ids = [find_form(ranking, "run") is not None for ranking in (first, second)]
    if with_ids[0] != with_ids[1]:
        kinds = ["a run with ids" if has_ids else "an array" for has_ids in with_ids]
        raise InvalidTypeError(f"`first` and `second` must be alike, but are {kinds[0]} and {kinds[1]}")
    if with_ids[0]:
        return _read_runs(first, second, options)
    return _read_arrays(first, second, options)


def _read_arrays(first: Any, second: Any, options: Options) -> PairedRankings:
    layout, values = layout_and_values(first, "first", options.offsets, options.groups, options.query_ids)
    scores = [as_scores(values, "first"), as_scores(layout.arrange(second, "second"), "second")]
    for name, array in zip(NAMES, scores, strict=True):
        missing = np.isnan(array)
        if missing.any():
            place = layout.place(name, int(np.argmax(missing)))
            raise InvalidInputError(f"`{name}` must not be NaN, but {name}[{place}] is. Leave out the document in both")
    return PairedRankings(scores[0], layout.offsets, scores[1], layout.offsets, None, layout.query_ids)


def _read_runs(first: Any, second: Any, options: Options) -> PairedRankings:
    options.check_no_cuts()
    both = zip(NAMES, (first, second), strict=True)
    runs = [settle_closed(read_run_form(ranking, name, options)) for name, ranking in both]
    joined = join_runs(runs[0], runs[1], options.threads)
    own = (f"{name} ranking: {note}" for name, run in zip(NAMES, runs, strict=True) for note in run.source.notes)
    return joined._replace(notes=(*joined.notes, *own))

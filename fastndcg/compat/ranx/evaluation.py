"""ranx's `evaluate`, exported by `fastndcg.compat.ranx`, its names of metrics, and its form for arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fastndcg.compat.common import WITHOUT_KEYS, JudgedRun, evaluate_judged
from fastndcg.compat.ranx.data import MismatchError, Qrels, Run, StructureError, Table
from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownMetricError, shorten, suggest_name
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.join import make_rankings
from fastndcg.inputs.messages import Source
from fastndcg.inputs.table import Qrels as QrelsTable
from fastndcg.inputs.table import Rows
from fastndcg.inputs.table import Run as RunTable
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import conventions
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import EXACT_LIMIT, Array, count_before, read_only
from fastndcg.runtime.escapes import show_name

CONVENTION = conventions["ranx"]
METRICS = {
    "hits": Metric("num_rel_ret"),
    "hit_rate": Metric("Success"),
    "precision": Metric("P"),
    "recall": Metric("R"),
    "f1": Metric("F"),
    "r-precision": Metric("Rprec"),
    "bpref": Metric("bpref"),
    "mrr": Metric("RR"),
    "map": Metric("AP"),
    "dcg": Metric("DCG"),
    "dcg_burges": Metric("DCG", gain="exp2"),
    "ndcg": Metric("nDCG"),
    "ndcg_burges": Metric("nDCG", gain="exp2"),
}
WITHOUT_CUTOFF = ("bpref", "r-precision")  # ranx ignores their cutoff
RBP = re.compile(r"rbp[.@]([0-9]+)")  # the digits are those of the persistence: rbp.95 has 0.95
ARRAY_CONVENTION = CONVENTION.replace(label_fractions="kept")  # ranx cuts off fractions when it reads dicts only
NUMBERS = "iufb"  # kinds of dtypes
ONE_ROW = "Remove one of its rows."
FORM = "Pass one (n_documents, 2) array of document ids and numbers for each query."


def evaluate(
    qrels: Any,
    run: Any,
    metrics: list[str] | str,
    return_mean: bool = True,
    return_std: bool = False,
    threads: int = 0,
    save_results_in_run: bool = True,
    make_comparable: bool = False,
) -> Any:
    """
    Evaluate metrics on a run. See `ranx.evaluate`.

    Parameters
    ----------
    qrels : Qrels, dict of dict of int, or arrays
        The judgments. Arrays are an (n_queries, n_documents, 2) array, or a list with an (n_documents, 2) array for
        each query. Their rows are the id of a document, as a number, and its label. A typed list of Numba is a list.
    run : Run, dict of dict of float, or arrays
        The ranking of the same queries. The rows of arrays are in rank order, and their scores are not read. Arrays
        are paired with the other side by the place of the query.
    metrics : str or list of str
        Such as "ndcg@10", "bpref", "rbp.95" or "map-l2", where -l2 makes 2 the smallest relevant label.
    return_mean : bool
        True to return means, False to return the value of each query in the order of the ids.
    return_std : bool
        True to return standard deviations beside means, as {"mean": …, "std": …}.
    threads : int
        The number of threads, 0 for one per available CPU.
    save_results_in_run : bool
        True to set `run.scores` and `run.mean_scores`.
    make_comparable : bool
        True to skip queries without judgments and to score queries that the run lacks as 0. False to raise an error for
        them. The run itself is not changed.

    Returns
    -------
    float, array, or dict of them by metric
        A dict for several metrics.

    Raises
    ------
    MismatchError
        If judgments and run have different queries. It is also a ValueError and an AssertionError.
    UnknownMetricError
        If ranx has no such metric. It is also a ValueError.
    InvalidInputError
        If a label or a score is not valid.

    Examples
    --------
    >>> evaluate({"q1": {"d1": 1}}, {"q1": {"d2": 0.9, "d1": 0.5}}, "mrr", return_mean=False)
    array([0.5])
    """
    if not isinstance(metrics, Iterable):
        raise InvalidTypeError(
            f"`metrics` must be a text or a list of texts, not {type(metrics).__name__}. Pass a name such as 'ndcg@10'."
        )
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    parsed_metrics = [parse_metric(name) for name in names]
    if is_table(qrels) and is_table(run):
        queries, values = _evaluate_tables(qrels, run, parsed_metrics, threads, make_comparable)
    else:
        values = evaluate_arrays(qrels, run, parsed_metrics, threads)
        queries = run.get_query_ids() if isinstance(run, Run) else []
    columns = dict(zip(names, values.T, strict=True))
    means = {name: _aggregate(column, return_std and return_mean) for name, column in columns.items()}
    if isinstance(run, Run) and save_results_in_run:
        _save(run, queries, columns, means)
    results: dict[str, Any] = means if return_mean else columns
    return results[names[0]] if len(names) == 1 else results


def parse_metric(name: Any) -> Metric:
    """
    Return a metric of ranx, ``name@k-llevel`` or ``rbp.p-llevel``, as a metric of the catalogue.

    >>> parse_metric("map@100-l2"), parse_metric("rbp.95")
    (AP(rel=2)@100, RBP(p=0.95,rel=1))
    """
    if not isinstance(name, str):
        raise MismatchError(f"`metrics` must be texts, but one is {shorten(name)}. Pass names such as 'ndcg@10'.")
    text, has_level, level = name.partition("-l")
    base, has_cutoff, cutoff = text.partition("@")
    rel = _parse_number(level, name) if has_level else 1
    persistence = RBP.fullmatch(text)
    if persistence is not None:
        return make_rbp(float(f"0.{persistence[1]}"), rel, name)
    if base.partition(".")[0] == "rbp":
        raise UnknownMetricError(
            f"Metric {show_name(text)} not supported, because rbp needs a persistence. Write 'rbp.95' for 0.95."
        )
    if base not in METRICS:
        raise UnknownMetricError(
            f"Metric {show_name(base)} not supported."
            f"{suggest_name(base, METRICS)} Supported metrics are {', '.join(METRICS)}, and rbp.95."
        )
    k = _parse_number(cutoff, name) if has_cutoff else 0
    return make_metric(base, k, rel, name)


def make_metric(base: str, k: int = 0, rel: int = 1, name: str | None = None) -> Metric:
    """Return the metric of a name in `METRICS`. A cutoff of 0 means all ranks. Errors show `name`."""
    check_range(k, rel, name or base)
    metric = METRICS[base] @ k if k > 0 and base not in WITHOUT_CUTOFF else METRICS[base]
    return metric if rel == 1 else metric(rel=rel)


def make_rbp(p: float, rel: int = 1, name: str = "rbp") -> Metric:
    """Return rank-biased precision with the persistence p. Errors show `name`."""
    check_range(0, rel, name)
    return METRICS["precision"](rel=rel) @ 1 if p == 0 else Metric("RBP", p=p, rel=rel)  # p = 0 reads rank 1 alone


def check_range(k: int, rel: int, name: str) -> None:
    """Raise MismatchError if a cutoff or a level is too small."""
    if k < 0 or rel < 1:
        raise MismatchError(
            f"the cutoff must be 0 or more and the level 1 or more, but the metric is {shorten(name)} "
            f"with cutoff {k} and level {rel}. Write it as 'ndcg@10-l2'."
        )


def _parse_number(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(
            f"cutoff and level must be whole numbers, but the metric is {shorten(name)}. Write it as 'ndcg@10-l2'."
        ) from None


def is_table(value: Any) -> bool:
    """Return True for judgments or runs whose queries have ids."""
    return isinstance(value, Qrels | Run | dict)


def _evaluate_tables(
    qrels: Any, run: Any, metrics: list[Metric], threads: int, make_comparable: bool
) -> tuple[list[str], Array]:
    """Return the query ids and (n_queries, n_metrics) values. A query without judgments has 0."""
    qrels_table = qrels if isinstance(qrels, Qrels) else Qrels.viewing(qrels)
    run_table = run if isinstance(run, Run) else Run.viewing(run)
    if make_comparable and run_table.keys() != qrels_table.keys():
        run_table = run_table.view().make_comparable(qrels_table)
    if qrels_table.keys() != run_table.keys():
        unpaired = sorted(qrels_table.keys() ^ run_table.keys())
        raise MismatchError(
            f"Qrels and Run query ids do not match: {shorten(unpaired[0])} is on one side only, one of {len(unpaired)}."
            " Pass `make_comparable=True` to add empty results for queries missing from the run and remove those not "
            "appearing in qrels."
        )
    judged = run_table.judged(qrels_table)
    judged_values = evaluate_judged(judged, metrics, CONVENTION, threads or None)
    queries = qrels_table.get_query_ids()
    if len(judged.queries) == len(queries):
        return queries, judged_values
    values = np.zeros((len(queries), len(metrics)))
    values[np.isin(queries, judged.queries)] = judged_values
    return queries, values


def _aggregate(column: Array, with_std: bool) -> Any:
    return {"mean": np.mean(column), "std": np.std(column)} if with_std else np.mean(column)


def _save(run: Run, queries: list[str], columns: dict[str, Array], means: dict[str, Any]) -> None:
    """Save values, means and standard deviations in the run."""
    for name, column in columns.items():
        has_std = isinstance(means[name], dict)
        run.mean_scores[name] = means[name]["mean"] if has_std else means[name]
        if has_std:
            run.std_scores[name] = means[name]["std"]
        run.scores[name] = dict(zip(queries, column.tolist(), strict=True))


class Pairs(NamedTuple):
    """Document ids and numbers of all queries, one query after the other."""

    ids: Array
    numbers: Array
    offsets: Array

    @classmethod
    def make(cls, flat: Array, offsets: Array) -> Pairs:
        """Return the pairs of an (n_rows, 2) array."""
        return cls(np.ascontiguousarray(flat[:, 0]), np.ascontiguousarray(flat[:, 1]), read_only(offsets))

    @property
    def queries(self) -> Array:
        """The place of each row's query."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def evaluate_arrays(qrels: Any, run: Any, metrics: list[Metric], threads: int = 0) -> Array:
    """
    Evaluate metrics on arrays, in the forms of `evaluate`: (n_queries, n_metrics). Queries are paired by their places.

    >>> evaluate_arrays([np.array([[7, 1], [8, 2]])], [np.array([[9, 0.8], [8, 0.5]])], [Metric("RR")])
    array([[0.5]])
    """
    truth = read_pairs(qrels, "qrels")
    ranked = read_pairs(run, "run")
    n_queries = len(truth.offsets) - 1
    if len(ranked.offsets) - 1 != n_queries:
        raise MismatchError(
            f"`run` must have {n_queries} queries as `qrels` has, but has {len(ranked.offsets) - 1}. "
            "Pass an array for each query."
        )
    rankings = rank(truth, ranked)
    judged = JudgedRun([str(query) for query in range(n_queries)], rankings)
    return evaluate_judged(judged, metrics, ARRAY_CONVENTION, threads or None)


def read_pairs(value: Any, name: str) -> Pairs:
    """Return one argument's ids and numbers. Errors call it `name`."""
    if isinstance(value, Table):
        value = value.to_typed_list()
    elif isinstance(value, dict):  # its queries keep their order, in which they pair with arrays
        kind = Qrels if name == "qrels" else Run
        value = kind.list_pairs(kind.check_rows(value))
    if isinstance(value, np.ndarray) and value.ndim == 3 and value.shape[2] == 2 and value.dtype.kind in NUMBERS:
        n_queries, n_documents, _ = value.shape
        return Pairs.make(value.reshape(-1, 2), np.arange(n_queries + 1) * n_documents)
    try:
        tables = list(map(np.asarray, value))
    except (TypeError, ValueError) as error:
        raise StructureError(f"`{name}` must be arrays, Qrels, Run or dicts: {shorten(str(error))}. {FORM}") from None
    for place, table in enumerate(tables):
        if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in NUMBERS:
            raise StructureError(
                f"`{name}` must have an array of numbers of shape (n_documents, 2) for each query, but [{place}] has "
                f"shape {table.shape} and dtype {table.dtype}. {FORM}"
            )
    flat = np.concatenate(tables) if tables else np.zeros((0, 2))
    return Pairs.make(flat, count_before(np.array(list(map(len, tables)), "i8")))


def rank(truth: Pairs, ranked: Pairs) -> Rankings:
    """
    Look up the label of each ranked document.

    A document with two different labels, or a relevant one that is ranked twice in a query, is a MismatchError.
    """
    is_wrong = ~(np.abs(truth.numbers) <= EXACT_LIMIT)  # NaN, too
    rule = "labels in `qrels` must be finite and at most 2**53 in size"
    _refuse(is_wrong, np.arange(len(is_wrong)), truth, rule, "Correct the label.")
    labels = np.where((truth.numbers > 0) & (truth.numbers < 1), 0, truth.numbers)  # ranx: relevant from 1 on
    queries = np.arange(len(truth.offsets) - 1)
    scores = -np.arange(len(ranked.ids), dtype="f8")
    judged_rows, ranked_rows = (
        Rows.in_order(IdColumn.from_limbs(queries), pairs.offsets, IdColumn.from_limbs(ids), values)
        for pairs, ids, values in zip((truth, ranked), _number_documents(truth, ranked), (labels, scores), strict=True)
    )
    qrels = QrelsTable.of_distinct(judged_rows, Source("the qrels"))
    if qrels.has_repeats():
        first, second = _find_repeats(qrels, truth)
        is_contrary = labels[first] != labels[second]
        _refuse(is_contrary, second, truth, "`qrels` must have one label for each document of a query", ONE_ROW)
    run = RunTable.of_distinct(ranked_rows, Source("the run"))
    rankings, _ = make_rankings(qrels, run, np.stack([queries, queries], axis=1), WITHOUT_KEYS, None)
    if run.has_repeats():
        first, second = _find_repeats(run, ranked)
        is_relevant = np.maximum(rankings.labels[first], rankings.labels[second]) > 0
        _refuse(is_relevant, second, ranked, "`run` must have each relevant document once in a query", ONE_ROW)
    return rankings


def _find_repeats(table: QrelsTable | RunTable, pairs: Pairs) -> tuple[Array, Array]:
    """Return the rows of equal documents of a query that stand one after the other."""
    ids, _ = table.documents.factorize()
    queries = pairs.queries
    order = np.lexsort((ids, queries))
    is_repeated = (ids[order][1:] == ids[order][:-1]) & (queries[order][1:] == queries[order][:-1])
    return order[:-1][is_repeated], order[1:][is_repeated]


def _number_documents(truth: Pairs, ranked: Pairs) -> tuple[Array, Array]:
    """Return the ids of both sides as int64, equal for equal documents."""
    if truth.ids.dtype.kind != "f" and ranked.ids.dtype.kind != "f":
        return truth.ids.astype("i8"), ranked.ids.astype("i8")
    for pairs, name in ((truth, "qrels"), (ranked, "run")):
        is_wrong = np.isnan(pairs.ids) if pairs.ids.dtype.kind == "f" else np.abs(pairs.ids) > int(EXACT_LIMIT)
        rule = f"ids of documents in `{name}` must be numbers that float64 holds, as the other side has them"
        _refuse(is_wrong, np.arange(len(is_wrong)), pairs, rule, "Pass smaller ids, or whole numbers on both sides.")
    floats = [pairs.ids.astype("f8") + 0.0 for pairs in (truth, ranked)]  # + 0.0 makes -0.0 equal to 0.0
    return floats[0].view("i8"), floats[1].view("i8")


def _refuse(is_wrong: Array, rows: Array, pairs: Pairs, rule: str, remedy: str) -> None:
    """Raise MismatchError with the query and the document of the first wrong row."""
    if is_wrong.any():
        row = int(rows[is_wrong].min())
        raise MismatchError(f"{rule}, but not document {pairs.ids[row].item()} of query {pairs.queries[row]}. {remedy}")

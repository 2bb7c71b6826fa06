"""
Drop-ins suite: every drop-in against the library that it replaces, in the form that the library takes.

Each pair runs in a separate process, in alternation. Values are compared before they are timed. Where a library takes
Python objects, a Python loop over these objects is timed too. "bound" is the library's time divided by the loop's.
"share" is the loop's time divided by ours. The loop is the fastest in Python, without a body. Code in Python cannot
exceed a share of 100 %. Our machine code can, as it reads the objects through Python's C API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.lib.cases import make_case, make_case_with_ties
from benchmarks.lib.contenders import Case, K
from benchmarks.lib.process import call_in_process
from benchmarks.lib.suite import Options, Report, Row, Suite, announce, make_missing_row, make_row
from benchmarks.lib.timing import time_call

QUERIES = 20_000
DOCUMENTS = 100
TIED_QUERIES = 200
MIN_SECONDS = 0.1  # of each call in a round
TOLERANCE = 1e-12
FLOAT32_TOLERANCE = 2e-6


class Pair(NamedTuple):
    """The library's call and ours, the tolerance of their values, and a loop that only touches Python objects."""

    theirs: Callable[[], Any]
    ours: Callable[[], Any]
    tolerance: float = TOLERANCE
    touch: Callable[[], Any] | None = None


def prepare_sklearn(name: str, **options: Any) -> Callable[[Case], Pair]:
    """Return the set-up of a function of scikit-learn that takes labels and scores of two dimensions."""

    def setup(case: Case) -> Pair:
        from sklearn import metrics as theirs

        from fastndcg.compat import sklearn as ours

        labels = case.binary_labels if name.startswith("label_ranking") else case.labels
        return Pair(
            lambda: getattr(theirs, name)(labels, case.scores, **options),
            lambda: getattr(ours, name)(labels, case.scores, **options),
        )

    return setup


def prepare_sklearn_top_k(case: Case) -> Pair:
    """Prepare `top_k_accuracy_score` with one correct class per row."""
    from sklearn import metrics as theirs

    from fastndcg.compat import sklearn as ours

    n_rows, n_classes = case.scores.shape
    options = {"k": K, "labels": np.arange(n_classes)}
    classes = np.arange(n_rows) % n_classes
    return Pair(
        lambda: theirs.top_k_accuracy_score(classes, case.scores, **options),
        lambda: ours.top_k_accuracy_score(classes, case.scores, **options),
    )


def prepare_pytrec_eval(measures: set[str]) -> Callable[[Case], Pair]:
    """Return the set-up of an evaluator with prepared judgments, on a run in dicts."""

    def setup(case: Case) -> Pair:
        import pytrec_eval as theirs

        from fastndcg.compat import pytrec_eval as ours

        qrels, run = case.make_dicts()
        evaluators = [module.RelevanceEvaluator(qrels, measures) for module in (theirs, ours)]
        return Pair(*(lambda evaluator=evaluator: evaluator.evaluate(run) for evaluator in evaluators),
                    touch=lambda: touch_rows(run))  # fmt: skip

    return setup


def prepare_ranx_objects(case: Case) -> Pair:
    """Prepare `ranx.evaluate` on Qrels and a Run that are made once."""
    import ranx as theirs

    from fastndcg.compat import ranx as ours

    qrels, run = case.make_dicts()

    def prepare(module: Any) -> Callable[[], Any]:
        inputs = (module.Qrels(qrels), module.Run(run))
        return lambda: module.evaluate(*inputs, f"ndcg@{K}", return_mean=False)

    return Pair(prepare(theirs), prepare(ours))


def prepare_ranx_dicts(case: Case) -> Pair:
    """Prepare `ranx.evaluate` on dicts, so that each call converts them."""
    import ranx as theirs

    from fastndcg.compat import ranx as ours

    qrels, run = case.make_dicts()
    return Pair(
        lambda: theirs.evaluate(qrels, run, f"ndcg@{K}"),
        lambda: ours.evaluate(qrels, run, f"ndcg@{K}"),
        touch=lambda: (touch_rows(qrels), touch_rows(run)),
    )


def prepare_ir_measures(
    make_form: Callable[[Any, type[tuple[Any, ...]], tuple[str, ...]], Any],
) -> Callable[[Case], Pair]:
    """Return the set-up of aggregates, with judgments and run in one of the forms that ir_measures takes."""

    def setup(case: Case) -> Pair:
        import ir_measures

        from fastndcg.compat.ir_measures import Provider

        kinds = (ir_measures.Qrel, ir_measures.ScoredDoc)
        qrels, run = (
            make_form(rows, kind, kind._fields[:3]) for rows, kind in zip(case.make_dicts(), kinds, strict=True)
        )
        measures = [ir_measures.nDCG @ K]
        theirs = ir_measures.pytrec_eval.evaluator(measures, qrels)
        ours = Provider().evaluator(measures, qrels)
        touch = None if make_form is make_frame else lambda: touch_rows(run)
        return Pair(lambda: theirs.calc_aggregate(run), lambda: ours.calc_aggregate(run), touch=touch)

    return setup


def make_tuples(rows: Any, kind: Any, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """Return a list of named tuples."""
    del columns
    return [kind(query, document, number) for query, row in rows.items() for document, number in row.items()]


def make_frame(rows: Any, kind: Any, columns: tuple[str, ...]) -> Any:
    """Return a pandas DataFrame."""
    import pandas

    return pandas.DataFrame([row[:3] for row in make_tuples(rows, kind, columns)], columns=list(columns))


def prepare_torchmetrics_indexes(case: Case) -> Pair:
    """Prepare flat tensors with query indexes: torchmetrics' class against our function."""
    import torch
    from torchmetrics.retrieval import RetrievalNormalizedDCG

    from fastndcg.compat.torchmetrics import retrieval_normalized_dcg

    scores = torch.from_numpy(case.scores.ravel())
    labels = torch.from_numpy(case.labels.ravel().astype("i8"))
    queries = torch.from_numpy(case.positions[0])
    return Pair(
        lambda: float(RetrievalNormalizedDCG(top_k=K)(scores, labels, indexes=queries)),
        lambda: float(retrieval_normalized_dcg(scores, labels, K, indexes=queries).double().mean()),
        FLOAT32_TOLERANCE,
    )


def prepare_torchmetrics_queries(case: Case) -> Pair:
    """Prepare one call per query, and a loop that reads two addresses and makes a tensor per query."""
    import torch
    from torchmetrics.functional.retrieval import retrieval_normalized_dcg as theirs

    from fastndcg.compat.torchmetrics import retrieval_normalized_dcg as ours

    tensors = list(zip(torch.from_numpy(case.scores), torch.from_numpy(case.labels.astype("i8")), strict=True))

    def touch(scores: Any, labels: Any, k: int) -> Any:
        scores.data_ptr()
        labels.data_ptr()
        return torch.scalar_tensor(k, dtype=torch.float32)

    def loop(function: Callable[[Any, Any, int], Any]) -> Callable[[], Any]:
        return lambda: [float(function(scores, labels, K)) for scores, labels in tensors]

    return Pair(loop(theirs), loop(ours), FLOAT32_TOLERANCE, touch=loop(touch))


MEASURES = {"map", "ndcg", "ndcg_cut.5,10", "recip_rank", "P_10", "recall_100"}
PAIRS: dict[str, tuple[float, Callable[[Case], Pair]]] = {
    "scikit-learn ndcg_score": (150, prepare_sklearn("ndcg_score", k=K)),
    "scikit-learn ndcg_score, ties ignored": (20, prepare_sklearn("ndcg_score", k=K, ignore_ties=True)),
    "scikit-learn dcg_score": (150, prepare_sklearn("dcg_score", k=K)),
    "scikit-learn label_ranking_average_precision_score": (
        20, prepare_sklearn("label_ranking_average_precision_score"),
    ),
    "scikit-learn top_k_accuracy_score": (20, prepare_sklearn_top_k),
    "pytrec_eval, one measure": (3, prepare_pytrec_eval({f"ndcg_cut_{K}"})),
    "pytrec_eval, seven measures": (3, prepare_pytrec_eval(MEASURES)),
    "ranx, Qrels and Run": (20, prepare_ranx_objects),
    "ranx, dicts": (20, prepare_ranx_dicts),
    "ir_measures, dicts": (20, prepare_ir_measures(lambda rows, *_: rows)),
    "ir_measures, named tuples": (20, prepare_ir_measures(make_tuples)),
    "ir_measures, frames": (20, prepare_ir_measures(make_frame)),
    "torchmetrics, indexes": (20, prepare_torchmetrics_indexes),
    "torchmetrics, one call per query": (20, prepare_torchmetrics_queries),
}  # fmt: skip
WITH_TIES = {"scikit-learn ndcg_score", "scikit-learn dcg_score", "pytrec_eval, one measure", "torchmetrics, indexes"}


def measure(options: Options) -> Report:
    """Measure the chosen pairs."""
    n_queries = max(20, round(QUERIES * options.scale))
    rows: list[Row] = []
    for name in options.parts:
        announce(name)
        rows.append(measure_apart(name, n_queries, DOCUMENTS, options.repeat))
    return {"figures": rows}


def measure_apart(name: str, n_queries: int, n_documents: int, repeat: int) -> Row:
    """Return the row of a pair that is measured in a separate process."""
    sizes = {"n_queries": n_queries, "n_documents": n_documents}
    seconds = call_in_process(__name__, "measure_pair", name=name, repeat=repeat, **sizes)
    if "failed" in seconds:
        return make_missing_row(name, seconds["failed"])
    detail = f"theirs {1e3 * seconds['theirs']:.4g} ms, ours {1e3 * seconds['ours']:.4g} ms"
    if "touch" in seconds:
        detail += f", touching {1e3 * seconds['touch']:.4g} ms, bound {seconds['theirs'] / seconds['touch']:.3g} ×"
        detail += f", share {seconds['touch'] / seconds['ours']:.0%}"
    ratio = seconds["theirs"] / seconds["ours"]
    return make_row(name, ratio, "× as fast", at_least=PAIRS[name][0], goal_unit="×", detail=detail)


def measure_pair(name: str, n_queries: int, n_documents: int, repeat: int) -> dict[str, float]:
    """Compare the values of a pair, on the documents that are timed and on a case with ties, and return seconds."""
    _, setup = PAIRS[name]
    if name in WITH_TIES:
        verify_pair(setup(make_case_with_ties(min(n_queries, TIED_QUERIES), n_documents)))
    pair = setup(make_case(n_queries, n_documents))
    verify_pair(pair)
    calls = {"theirs": pair.theirs, "ours": pair.ours} | ({} if pair.touch is None else {"touch": pair.touch})
    return time_in_bursts(calls, repeat)


def time_in_bursts(calls: Mapping[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    """Return the shortest time of each call, repeated for 0.1 s in each round, as idle CPUs start slowly."""
    shortest = dict.fromkeys(calls, np.inf)
    for _ in range(repeat):
        for name, call in calls.items():
            remaining = MIN_SECONDS
            while remaining > 0:
                seconds = time_call(call)[0]
                shortest[name] = min(shortest[name], seconds)
                remaining -= seconds
    return shortest


def verify_pair(pair: Pair) -> None:
    """Raise SystemExit if the values of a pair differ."""
    theirs = flatten_values(pair.theirs())
    ours = flatten_values(pair.ours())
    difference = float(np.max(np.abs(theirs - ours), initial=0.0)) if theirs.shape == ours.shape else np.inf
    if not difference <= pair.tolerance:
        raise SystemExit(
            f"both libraries must give the same values before they are timed, but differ by {difference:.3g}"
        )


def flatten_values(values: Any) -> Any:
    """Return all numbers of a result as one array, in the order of the keys of its dicts."""
    while isinstance(values, Mapping):
        values = [flatten_values(values[key]) for key in sorted(values, key=str)]
    return np.ravel(values).astype("f8")


def touch_rows(rows: Any) -> None:
    """Loop over every document and its number, in a dict of dicts or a list of tuples."""
    if isinstance(rows, list):
        for _, _, _ in rows:
            pass
    else:
        for row in rows.values():
            for _ in row.items():
                pass


SUITE = Suite(
    measure, tuple(PAIRS), packages=("scikit-learn", "pytrec_eval-terrier", "ranx", "ir_measures", "torchmetrics")
)

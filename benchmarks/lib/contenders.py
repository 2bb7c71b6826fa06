"""
Registry of the libraries that compute nDCG@10, fastndcg among them.

An entry is a set-up. It converts a `Case` to the library's input form and returns a call without arguments that
evaluates it. Conversion and call are timed separately. An entry names the convention of fastndcg that is nearest to the
library. `compare_values` compares the two before a time counts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.machine import count_cpus
from benchmarks.lib.workloads import Array

K = 10
METRIC = f"nDCG@{K}"


@dataclass(frozen=True, slots=True)
class Case:
    """Graded labels and scores of shape (n_queries, n_documents), which every library can take."""

    labels: Array
    scores: Array

    @property
    def binary_labels(self) -> Array:
        """Return 1 for each label above 0, for libraries without grades."""
        return (self.labels > 0).astype("u1")

    @property
    def positions(self) -> tuple[Array, Array]:
        """Return the query of each document, and its position in the query."""
        n_queries, n_documents = self.labels.shape
        return np.repeat(np.arange(n_queries), n_documents), np.tile(np.arange(n_documents), n_queries)

    def make_dicts(self) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
        """Return qrels and run as dicts of dicts of Python numbers, with ids that sort by position."""
        names = [f"d{document:06}" for document in range(self.labels.shape[1])]
        queries = [f"q{query:09}" for query in range(len(self.labels))]
        rows = (self.labels.tolist(), self.scores.astype("f8").tolist())
        return tuple(
            {query: dict(zip(names, row, strict=True)) for query, row in zip(queries, values, strict=True)}
            for values in rows
        )  # type: ignore[return-value]


Setup = Callable[[Case], Callable[[], Any]]


@dataclass(frozen=True, slots=True)
class Contender:
    """
    A library, or one way to use it.

    `read` extracts the values of the queries, or their mean, from the result of the call. `is_binary` marks a library
    without grades. `takes_ranked_lists` marks one whose input is in rank order, so that sorting is in the conversion.
    """

    name: str
    package: str
    module: str
    setup: Setup
    convention: fn.Convention
    read: Callable[[Any, Case], Any]
    is_binary: bool = False
    tolerance: float = 1e-12
    takes_ranked_lists: bool = False

    def find_problem(self) -> str:
        """Return the error that importing the library raises, or an empty text."""
        try:
            importlib.import_module(self.module)
        except Exception as error:  # a broken installation raises anything
            return f"{type(error).__name__}: {error}"
        return ""

    def compute_expected(self, case: Case) -> Array:
        """Return fastndcg's values under the nearest convention."""
        return fn.evaluate(self.make_rankings(case), metrics=METRIC, convention=self.convention).values[:, 0]

    def make_rankings(self, case: Case) -> fn.Rankings:
        """Return the case with the labels that the library sees, graded or binary."""
        labels = case.binary_labels if self.is_binary else case.labels
        n_queries, n_documents = labels.shape
        offsets = np.arange(n_queries + 1) * n_documents
        return fn.Rankings(labels.ravel(), case.scores.ravel(), offsets, tie_keys=case.positions[1])


CONTENDERS: dict[str, Contender] = {}


def register(
    name: str, *, package: str, module: str | None = None, read: Callable[[Any, Case], Any] | None = None,
    is_binary: bool = False, tolerance: float = 1e-12, takes_ranked_lists: bool = False, **choices: Any,
) -> Callable[[Setup], Setup]:  # fmt: skip
    """Register a set-up and the fields of its nearest convention that differ from the default."""

    def add(setup: Setup) -> Setup:
        CONTENDERS[name] = Contender(
            name, package, module or package, setup, fn.conventions["default"].replace(**choices),
            read or (lambda result, _: result), is_binary, tolerance, takes_ranked_lists,
        )  # fmt: skip
        return setup

    return add


def compare_values(entry: Contender, case: Case, result: Any) -> dict[str, Any]:
    """Compare a contender's result with fastndcg's values: of each query, or the mean if it returns only that."""
    theirs = entry.read(result, case)
    ours = entry.compute_expected(case)
    if np.ndim(theirs):
        difference = float(np.max(np.abs(np.nan_to_num(theirs, nan=-1.0) - np.nan_to_num(ours, nan=-1.0))))
    else:
        difference = abs(float(theirs) - float(np.nanmean(ours)))
    return {
        "of": "each query" if np.ndim(theirs) else "the mean",
        "convention": entry.convention.name,
        "difference": difference,
        "agrees": bool(difference <= entry.tolerance),
    }


def align_queries(values: Mapping[Any, float], case: Case) -> Array:
    """Return one value for each query, NaN for the queries that a library leaves out."""
    aligned = np.full(len(case.labels), np.nan)
    for query, value in values.items():
        aligned[query] = value
    return aligned


@register("fastndcg", package="fastndcg")
def _prepare_fastndcg(case: Case) -> Callable[[], Any]:
    return lambda: fn.ndcg(case.labels, case.scores, k=K)


@register("fastndcg, 1 thread", package="fastndcg")
def _prepare_fastndcg_on_one_thread(case: Case) -> Callable[[], Any]:
    return lambda: fn.ndcg(case.labels, case.scores, k=K, threads=1)


@register("fastndcg, Evaluator", package="fastndcg")
def _prepare_evaluator(case: Case) -> Callable[[], Any]:
    evaluator = fn.Evaluator(case.labels, METRIC)
    return lambda: evaluator.evaluate(case.scores)[METRIC]


@register("scikit-learn", package="scikit-learn", module="sklearn", undefined=0)
def _prepare_sklearn(case: Case) -> Callable[[], Any]:
    from sklearn.metrics import ndcg_score

    return lambda: ndcg_score(case.labels, case.scores, k=K)


@register(
    "scikit-learn, ties ignored", package="scikit-learn", module="sklearn", undefined=0, ties="id_descending"
)  # it reverses a stable sort, so that the last of equal scores comes first
def _prepare_sklearn_without_ties(case: Case) -> Callable[[], Any]:
    from sklearn.metrics import ndcg_score

    return lambda: ndcg_score(case.labels, case.scores, k=K, ignore_ties=True)


@register("ranx", package="ranx", undefined=0, ties="input")
def _prepare_ranx(case: Case) -> Callable[[], Any]:
    import ranx

    qrels, run = case.make_dicts()
    inputs = (ranx.Qrels(qrels), ranx.Run(run))
    return lambda: ranx.evaluate(*inputs, METRIC.lower(), return_mean=False)


@register(
    "pytrec_eval-terrier", package="pytrec_eval-terrier", module="pytrec_eval", undefined=0, ties="id_descending",
    score_dtype="float32",
    read=lambda result, _: np.array([result[query][f"ndcg_cut_{K}"] for query in sorted(result)]),
)  # fmt: skip
def _prepare_pytrec_eval(case: Case) -> Callable[[], Any]:
    import pytrec_eval

    qrels, run = case.make_dicts()
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{K}"})
    return lambda: evaluator.evaluate(run)


@register(
    "ir_measures", package="ir_measures", undefined=0, ties="id_descending", score_dtype="float32",
    read=lambda result, case: align_queries({int(row.query_id[1:]): row.value for row in result}, case),
)  # fmt: skip
def _prepare_ir_measures(case: Case) -> Callable[[], Any]:
    import ir_measures

    qrels, run = case.make_dicts()
    evaluator = ir_measures.evaluator([ir_measures.nDCG @ K], qrels)
    return lambda: list(evaluator.iter_calc(run))


@register("torchmetrics", package="torchmetrics", undefined=0, tolerance=1e-6, score_dtype="float32")
def _prepare_torchmetrics(case: Case) -> Callable[[], Any]:
    import torch
    from torchmetrics.retrieval import RetrievalNormalizedDCG

    labels, scores = (torch.from_numpy(values.ravel()) for values in (case.labels.astype("i8"), case.scores.copy()))
    indexes = torch.from_numpy(case.positions[0])

    def evaluate() -> float:
        metric = RetrievalNormalizedDCG(top_k=K)
        metric.update(scores, labels, indexes=indexes)
        return float(metric.compute())

    return evaluate


@register("LightGBM", package="lightgbm", undefined=1, ties="input")
def _prepare_lightgbm(case: Case) -> Callable[[], Any]:
    import lightgbm

    n_queries, n_documents = case.labels.shape
    data = lightgbm.Dataset(
        np.zeros((case.labels.size, 1)), case.labels.ravel(), group=np.full(n_queries, n_documents),
        init_score=case.scores.ravel().astype("f8"), params={"verbose": -1},
    )  # fmt: skip
    gains = list(range(int(case.labels.max()) + 2))
    options = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [K], "label_gain": gains}
    booster = lightgbm.Booster(options | {"num_threads": count_cpus(), "verbose": -1}, data)
    return lambda: booster.eval_train()[0][2]


@register("XGBoost", package="xgboost-cpu", module="xgboost", undefined=1, ties="input", score_dtype="float32")
def _prepare_xgboost(case: Case) -> Callable[[], Any]:
    import xgboost

    n_queries, n_documents = case.labels.shape
    data = xgboost.DMatrix(
        np.zeros((case.labels.size, 1)), case.labels.ravel(), group=np.full(n_queries, n_documents),
        base_margin=case.scores.ravel(),
    )  # fmt: skip
    options = {"objective": "rank:ndcg", "eval_metric": f"ndcg@{K}", "ndcg_exp_gain": False, "nthread": count_cpus()}
    booster = xgboost.Booster(options, [data])
    return lambda: float(booster.eval(data).rpartition(":")[2])


@register("CatBoost", package="catboost", undefined=1, ties="worst")
def _prepare_catboost(case: Case) -> Callable[[], Any]:
    from catboost.utils import eval_metric

    labels = case.labels.ravel().astype("f8")
    scores = case.scores.ravel().astype("f8")
    groups = case.positions[0]
    metric = f"NDCG:top={K};type=Base"
    return lambda: eval_metric(labels, scores, metric, group_id=groups, thread_count=count_cpus())[0]


@register("implicit", package="implicit", is_binary=True, takes_ranked_lists=True, ties="input")
def _prepare_implicit(case: Case) -> Callable[[], Any]:
    from implicit.evaluation import ranking_metrics_at_k
    from scipy.sparse import csr_matrix

    class Recommender:
        """Model that recommends the documents with the highest scores."""

        best = np.argsort(-case.scores, axis=1, kind="stable")[:, :K].astype("i4")

        def recommend(self, users: Array, *_: Any, **__: Any) -> tuple[Array, None]:
            return self.best[users], None

    truth = csr_matrix(case.binary_labels.astype("f4"))
    training = csr_matrix(case.labels.shape, dtype="f4")
    options = {"K": K, "show_progress": False, "num_threads": count_cpus()}
    return lambda: ranking_metrics_at_k(Recommender(), training, truth, **options)["ndcg"]


@register(
    "RecTools", package="rectools", is_binary=True, takes_ranked_lists=True, ties="input",
    read=lambda result, case: align_queries(result.to_dict(), case),
)  # fmt: skip
def _prepare_rectools(case: Case) -> Callable[[], Any]:
    import pandas as pd
    from rectools.metrics import NDCG

    order = np.argsort(-case.scores, axis=1, kind="stable")
    queries, places = case.positions
    ranked = pd.DataFrame({"user_id": queries, "item_id": order.ravel(), "rank": places + 1})
    truth = pd.DataFrame(dict(zip(("user_id", "item_id"), np.nonzero(case.labels), strict=True)))
    metric = NDCG(k=K, divide_by_achievable=True)
    return lambda: metric.calc_per_user(ranked, truth)


@register(
    "RePlay", package="replay-rec", module="replay.metrics", is_binary=True, ties="id_descending",
    read=lambda result, case: align_queries(next(iter(result.values())), case),
)  # fmt: skip
def _prepare_replay(case: Case) -> Callable[[], Any]:
    import polars as pl
    from replay.metrics import NDCG, PerUser

    queries, places = case.positions
    ranked = pl.DataFrame({"query_id": queries, "item_id": places, "rating": case.scores.ravel()})
    truth = pl.DataFrame(dict(zip(("query_id", "item_id"), np.nonzero(case.labels), strict=True)))
    metric = NDCG(K, mode=PerUser())
    return lambda: metric(ranked, truth)


@register("NumPy, one expression", package="numpy", ties="input")
def _prepare_numpy(case: Case) -> Callable[[], Any]:
    discounts = 1 / np.log2(np.arange(2, min(K, case.labels.shape[1]) + 2))

    def evaluate() -> Array:
        order = np.argsort(-case.scores, axis=1, kind="stable")[:, :K]
        with np.errstate(invalid="ignore"):
            best = -np.sort(-case.labels, axis=1)[:, :K] @ discounts
            return np.take_along_axis(case.labels, order, axis=1) @ discounts / best

    return evaluate


@register("Polars, one expression", package="polars", ties="input", read=lambda result, _: result["ndcg"].to_numpy())
def _prepare_polars(case: Case) -> Callable[[], Any]:
    import polars as pl

    frame = pl.DataFrame(
        {"query": case.positions[0], "label": case.labels.ravel().astype("f8"), "score": case.scores.ravel()}
    )
    discounted = [
        (label.head(K) / (pl.int_range(pl.len().clip(upper_bound=K)) + 2).log(2)).sum()
        for label in (
            pl.col("label").sort_by("score", descending=True, maintain_order=True),
            pl.col("label").sort(descending=True),
        )
    ]
    ndcg = (discounted[0] / discounted[1]).alias("ndcg")
    return lambda: frame.group_by("query", maintain_order=True).agg(ndcg)

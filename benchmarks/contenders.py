"""
Libraries that compute nDCG@10, ours among them: one registry, for the proofs and for the figures.

An entry is a set-up: from a `Case` it makes the library's own input form, and returns a call without arguments that
evaluates it. The two are timed apart. An entry also says which convention of ours comes nearest to the library, so
that `agreement` can compare the numbers before a figure counts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from workloads import Array

import fastndcg as fn
from fastndcg.cpus import available_cpus

K = 10
METRIC = f"nDCG@{K}"


@dataclass(frozen=True, slots=True)
class Case:
    """Graded labels and scores, (n_queries, n_documents): the shape that every library can take."""

    labels: Array
    scores: Array

    @property
    def relevant(self) -> Array:
        """The labels as libraries without grades see them."""
        return (self.labels > 0).astype("u1")

    @property
    def positions(self) -> tuple[Array, Array]:
        """The query and the place in it of each document."""
        n_queries, n_documents = self.labels.shape
        return np.repeat(np.arange(n_queries), n_documents), np.tile(np.arange(n_documents), n_queries)

    def dicts(self) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
        """Qrels and run as dicts of dicts of Python numbers; the names sort like the numbers."""
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
    A library, or a way to use it.

    `read` takes values, one a query or their mean, out of what the call gives. A library `is_binary` if it knows no
    grades, and `is_ranked_before` if it takes lists in rank order, so that sorting falls into the conversion.
    """

    name: str
    package: str
    module: str
    setup: Setup
    convention: fn.Convention
    read: Callable[[Any, Case], Any]
    is_binary: bool = False
    tolerance: float = 1e-12
    is_ranked_before: bool = False

    def absent(self) -> str:
        """Why it cannot be used here; empty if it can."""
        try:
            importlib.import_module(self.module)
        except Exception as error:  # a broken installation raises anything
            return f"{type(error).__name__}: {error}"
        return ""

    def expected(self, case: Case) -> Array:
        """Our values, under the convention that comes nearest."""
        return fn.evaluate(self.rankings(case), metrics=METRIC, convention=self.convention).values[:, 0]

    def rankings(self, case: Case) -> fn.Rankings:
        """The case as this library sees it: all graded labels, or only whether they are relevant."""
        labels = case.relevant if self.is_binary else case.labels
        n_queries, n_documents = labels.shape
        offsets = np.arange(n_queries + 1) * n_documents
        return fn.Rankings(labels.ravel(), case.scores.ravel(), offsets, tie_keys=case.positions[1])


CONTENDERS: dict[str, Contender] = {}


def contender(
    name: str, *, package: str, module: str | None = None, read: Callable[[Any, Case], Any] | None = None,
    is_binary: bool = False, tolerance: float = 1e-12, is_ranked_before: bool = False, **choices: Any,
) -> Callable[[Setup], Setup]:  # fmt: skip
    """Enter a set-up; `choices` are those of the nearest convention that are not our defaults."""

    def enter(setup: Setup) -> Setup:
        CONTENDERS[name] = Contender(
            name, package, module or package, setup, fn.conventions["default"].replace(**choices),
            read or (lambda given, _: given), is_binary, tolerance, is_ranked_before,
        )  # fmt: skip
        return setup

    return enter


def agreement(entry: Contender, case: Case, given: Any) -> dict[str, Any]:
    """Whether what a contender gave is what we say: for each query, or for the mean where it gives no more."""
    theirs, ours = entry.read(given, case), entry.expected(case)
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


def by_query(values: Mapping[Any, float], case: Case) -> Array:
    """One value a query from a library that leaves some queries out."""
    found = np.full(len(case.labels), np.nan)
    for query, value in values.items():
        found[query] = value
    return found


@contender("fastndcg", package="fastndcg")
def _ours(case: Case) -> Callable[[], Any]:
    return lambda: fn.ndcg(case.labels, case.scores, k=K)


@contender("fastndcg, 1 thread", package="fastndcg")
def _ours_on_one_thread(case: Case) -> Callable[[], Any]:
    return lambda: fn.ndcg(case.labels, case.scores, k=K, threads=1)


@contender("fastndcg, Evaluator", package="fastndcg")
def _ours_prepared(case: Case) -> Callable[[], Any]:
    evaluator = fn.Evaluator(case.labels, METRIC)
    return lambda: evaluator.evaluate(case.scores)[METRIC]


@contender("scikit-learn", package="scikit-learn", module="sklearn", undefined=0)
def _sklearn(case: Case) -> Callable[[], Any]:
    from sklearn.metrics import ndcg_score

    return lambda: ndcg_score(case.labels, case.scores, k=K)


@contender(
    "scikit-learn, ties ignored", package="scikit-learn", module="sklearn", undefined=0, ties="id_descending"
)  # it reverses a sort: equal scores come last first, in short lists at least
def _sklearn_ignoring_ties(case: Case) -> Callable[[], Any]:
    from sklearn.metrics import ndcg_score

    return lambda: ndcg_score(case.labels, case.scores, k=K, ignore_ties=True)


@contender("ranx", package="ranx", undefined=0, ties="input")
def _ranx(case: Case) -> Callable[[], Any]:
    import ranx

    qrels, run = case.dicts()
    judged, ranked = ranx.Qrels(qrels), ranx.Run(run)
    return lambda: ranx.evaluate(judged, ranked, METRIC.lower(), return_mean=False)


@contender(
    "pytrec_eval-terrier", package="pytrec_eval-terrier", module="pytrec_eval", undefined=0, ties="id_descending",
    score_dtype="float32", read=lambda given, _: np.array([given[query][f"ndcg_cut_{K}"] for query in sorted(given)]),
)  # fmt: skip
def _pytrec_eval(case: Case) -> Callable[[], Any]:
    import pytrec_eval

    qrels, run = case.dicts()
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{K}"})
    return lambda: evaluator.evaluate(run)


@contender(
    "ir_measures", package="ir_measures", undefined=0, ties="id_descending", score_dtype="float32",
    read=lambda given, case: by_query({int(one.query_id[1:]): one.value for one in given}, case),
)  # fmt: skip
def _ir_measures(case: Case) -> Callable[[], Any]:
    import ir_measures

    qrels, run = case.dicts()
    evaluator = ir_measures.evaluator([ir_measures.nDCG @ K], qrels)
    return lambda: list(evaluator.iter_calc(run))


@contender("torchmetrics", package="torchmetrics", undefined=0, tolerance=1e-6, score_dtype="float32")
def _torchmetrics(case: Case) -> Callable[[], Any]:
    import torch
    from torchmetrics.retrieval import RetrievalNormalizedDCG

    labels, scores = (torch.from_numpy(values.ravel()) for values in (case.labels.astype("i8"), case.scores.copy()))
    indexes = torch.from_numpy(case.positions[0])

    def evaluate() -> float:
        metric = RetrievalNormalizedDCG(top_k=K)
        metric.update(scores, labels, indexes=indexes)
        return float(metric.compute())

    return evaluate


@contender("LightGBM", package="lightgbm", undefined=1, ties="input")
def _lightgbm(case: Case) -> Callable[[], Any]:
    import lightgbm

    n_queries, n_documents = case.labels.shape
    data = lightgbm.Dataset(
        np.zeros((case.labels.size, 1)), case.labels.ravel(), group=np.full(n_queries, n_documents),
        init_score=case.scores.ravel().astype("f8"), params={"verbose": -1},
    )  # fmt: skip
    gains = list(range(int(case.labels.max()) + 2))
    asked = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [K], "label_gain": gains}
    booster = lightgbm.Booster(asked | {"num_threads": available_cpus(), "verbose": -1}, data)
    return lambda: booster.eval_train()[0][2]


@contender("XGBoost", package="xgboost-cpu", module="xgboost", undefined=1, ties="input", score_dtype="float32")
def _xgboost(case: Case) -> Callable[[], Any]:
    import xgboost

    n_queries, n_documents = case.labels.shape
    data = xgboost.DMatrix(
        np.zeros((case.labels.size, 1)), case.labels.ravel(), group=np.full(n_queries, n_documents),
        base_margin=case.scores.ravel(),
    )  # fmt: skip
    asked = {"objective": "rank:ndcg", "eval_metric": f"ndcg@{K}", "ndcg_exp_gain": False, "nthread": available_cpus()}
    booster = xgboost.Booster(asked, [data])
    return lambda: float(booster.eval(data).rpartition(":")[2])


@contender("CatBoost", package="catboost", undefined=1, ties="worst")
def _catboost(case: Case) -> Callable[[], Any]:
    from catboost.utils import eval_metric

    labels, scores = case.labels.ravel().astype("f8"), case.scores.ravel().astype("f8")
    groups, metric = case.positions[0], f"NDCG:top={K};type=Base"
    return lambda: eval_metric(labels, scores, metric, group_id=groups, thread_count=available_cpus())[0]


@contender("implicit", package="implicit", is_binary=True, is_ranked_before=True, ties="input")
def _implicit(case: Case) -> Callable[[], Any]:
    from implicit.evaluation import ranking_metrics_at_k
    from scipy.sparse import csr_matrix

    class Recommender:
        """What stands for a trained model: it recommends the documents of highest score."""

        best = np.argsort(-case.scores, axis=1, kind="stable")[:, :K].astype("i4")

        def recommend(self, users: Array, *_: Any, **__: Any) -> tuple[Array, None]:
            return self.best[users], None

    truth, known = csr_matrix(case.relevant.astype("f4")), csr_matrix(case.labels.shape, dtype="f4")
    options = {"K": K, "show_progress": False, "num_threads": available_cpus()}
    return lambda: ranking_metrics_at_k(Recommender(), known, truth, **options)["ndcg"]


@contender(
    "RecTools", package="rectools", is_binary=True, is_ranked_before=True, ties="input",
    read=lambda given, case: by_query(given.to_dict(), case),
)  # fmt: skip
def _rectools(case: Case) -> Callable[[], Any]:
    import pandas as pd
    from rectools.metrics import NDCG

    order = np.argsort(-case.scores, axis=1, kind="stable")
    queries, places = case.positions
    ranked = pd.DataFrame({"user_id": queries, "item_id": order.ravel(), "rank": places + 1})
    truth = pd.DataFrame(dict(zip(("user_id", "item_id"), np.nonzero(case.labels), strict=True)))
    metric = NDCG(k=K, divide_by_achievable=True)
    return lambda: metric.calc_per_user(ranked, truth)


@contender(
    "RePlay", package="replay-rec", module="replay.metrics", is_binary=True, ties="id_descending",
    read=lambda given, case: by_query(next(iter(given.values())), case),
)  # fmt: skip
def _replay(case: Case) -> Callable[[], Any]:
    import polars as pl
    from replay.metrics import NDCG, PerUser

    queries, places = case.positions
    ranked = pl.DataFrame({"query_id": queries, "item_id": places, "rating": case.scores.ravel()})
    truth = pl.DataFrame(dict(zip(("query_id", "item_id"), np.nonzero(case.labels), strict=True)))
    metric = NDCG(K, mode=PerUser())
    return lambda: metric(ranked, truth)


@contender("NumPy, one expression", package="numpy", ties="input")
def _numpy(case: Case) -> Callable[[], Any]:
    discounts = 1 / np.log2(np.arange(2, min(K, case.labels.shape[1]) + 2))

    def evaluate() -> Array:
        order = np.argsort(-case.scores, axis=1, kind="stable")[:, :K]
        with np.errstate(invalid="ignore"):
            best = -np.sort(-case.labels, axis=1)[:, :K] @ discounts
            return np.take_along_axis(case.labels, order, axis=1) @ discounts / best

    return evaluate


@contender("Polars, one expression", package="polars", ties="input", read=lambda given, _: given["ndcg"].to_numpy())
def _polars(case: Case) -> Callable[[], Any]:
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

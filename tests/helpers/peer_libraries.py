"""
Registry of other libraries: each entry prepares a call without arguments, and `read` extracts its values.

The tests of equality (tests/peers) and the benchmarks (benchmarks/bench_peers.py) both read `PEERS`. A preparation gets
a case, the library's own name of a metric and a cutoff. It converts the case to the library's input, which is no part
of the call. A case has labels, scores and weights by query, and the properties of `Case` in test_live_libraries.py.
"""

import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

K = 3


class Peer(NamedTuple):
    """
    A library, or one way to use it.

    `ndcg` is its name of nDCG@k with its own gains, by `convention` of fastndcg; None where it has none that is timed.
    `read` extracts the values of the queries, or their mean, from the result of a call.
    """

    prepare: Callable[..., Callable[[], Any]]
    package: str
    modules: tuple[str, ...]
    ndcg: Any = None
    convention: str = "default"
    read: Callable[[Any, Any], Any] = lambda result, _: result
    is_binary: bool = False
    takes_ranked_lists: bool = False
    tolerance: float = 1e-12


PEERS: dict[str, Peer] = {}


def peer(name, package, *modules, **options):
    def add(prepare):
        PEERS[name] = Peer(prepare, package, modules or (package,), **options)
        return prepare

    return add


def mean(name, case, metric, k=K, **options):
    entry = PEERS[name]
    for module in entry.modules:
        pytest.importorskip(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Numba about casts in ranx, and of queries of one class
        return np.mean(entry.read(entry.prepare(case, metric, k, **options)(), case))


def align_queries(values, case):
    """Return one value for each query by its number, NaN for the queries that a library leaves out."""
    aligned = np.full(len(case.labels), np.nan)
    for query, value in values.items():
        aligned[int(str(query).removeprefix("q"))] = value
    return aligned


@peer("scikit-learn", "scikit-learn", "sklearn.metrics", ndcg=("ndcg_score", False), convention="sklearn")
@peer(
    "scikit-learn, ties ignored", "scikit-learn", "sklearn.metrics", ndcg=("ndcg_score", True),
    convention="sklearn_ignore_ties",
)  # fmt: skip
def _prepare_sklearn(case, metric, k):
    """Prepare dcg_score or ndcg_score: one call for queries of one length, else one call a query."""
    name, ignore_ties = metric
    score = getattr(pytest.importorskip("sklearn.metrics"), name)
    if isinstance(case.labels, np.ndarray):
        return lambda: score(case.labels, case.scores, k=k, ignore_ties=ignore_ties)
    rows = list(zip(case.labels, case.scores, strict=True))
    return lambda: np.average(
        [score([labels], [scores], k=k, ignore_ties=ignore_ties) for labels, scores in rows], weights=case.weights
    )


def sklearn_rows(case, metric):
    metrics = pytest.importorskip("sklearn.metrics")
    name, arguments = metric
    rows = name != "roc_auc_score"
    values = []
    for labels, scores in zip(case.labels, case.scores, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of queries of one class, where the value is NaN
            given = ([labels], [scores]) if rows else (labels, scores)
            values.append(float(getattr(metrics, name)(*given, **arguments)))
    return np.mean([value for value in values if not np.isnan(value)] or [np.nan])


def sklearn_precision_at_recall(case, recall):
    """Return the mean precision at the first threshold that reaches a recall, over queries with relevant documents."""
    curve = pytest.importorskip("sklearn.metrics").precision_recall_curve
    values = []
    for labels, scores in zip(case.labels, case.scores, strict=True):
        if any(labels):
            precisions, recalls, _ = curve(labels, scores)
            values.append(precisions[np.flatnonzero(recalls >= recall - 1e-9)[-1]])
    return np.mean(values or [np.nan])


def ntcireval(case, metric):
    """Return the mean of a graded metric over the queries with relevant documents."""
    module = pytest.importorskip("pyNTCIREVAL.metrics")
    labeler = pytest.importorskip("pyNTCIREVAL").Labeler
    name, grades, arguments = metric
    values = []
    for labels, scores in zip(case.labels, case.scores, strict=True):
        if any(labels):
            judged = {str(d): label for d, label in enumerate(labels)}
            xrelnum = labeler(judged).compute_per_level_doc_num(5)
            order = sorted(judged, key=lambda d, scores=scores: -scores[int(d)])
            labelled = labeler(judged).label(order)
            values.append(getattr(module, name)(xrelnum, grades, **arguments).compute(labelled))
    return np.mean(values or [np.nan])


@peer(
    "pytrec_eval-terrier", "pytrec_eval-terrier", "pytrec_eval", ndcg="ndcg_cut.{k}", convention="trec_eval_9",
    read=lambda result, _: np.array([next(iter(result[query].values())) for query in sorted(result)]),
)  # fmt: skip
def _prepare_pytrec_eval(case, measure, k, **options):
    run = case.run
    evaluator = pytest.importorskip("pytrec_eval").RelevanceEvaluator(case.qrels, {measure.format(k=k)}, **options)
    return lambda: evaluator.evaluate(run)


@peer("ranx", "ranx", ndcg="ndcg@{k}", convention="ranx")
def _prepare_ranx(case, metric, k):
    module = pytest.importorskip("ranx")
    inputs = (module.Qrels(case.qrels), module.Run(case.run))
    options = {"make_comparable": True, "return_mean": False}
    return lambda: module.evaluate(*inputs, metric.format(k=k), **options)


@peer(
    "ir_measures", "ir_measures", ndcg="nDCG@{k}", convention="trec_eval_9_c",
    read=lambda result, case: align_queries({row.query_id: row.value for row in result}, case),
)  # fmt: skip
def _prepare_ir_measures(case, measure, k):
    module = pytest.importorskip("ir_measures")
    evaluator = module.evaluator([module.parse_measure(measure.format(k=k))], case.qrels)
    run = case.run
    return lambda: list(evaluator.iter_calc(run))


def ir_measures(case, measure):
    module = pytest.importorskip("ir_measures")
    parsed = module.parse_measure(measure)
    return module.calc_aggregate([parsed], case.qrels, case.run)[parsed]


@peer("torchmetrics", "torchmetrics", "torch", "torchmetrics", ndcg=("RetrievalNormalizedDCG", {}),
      convention="torchmetrics", tolerance=1e-6)  # fmt: skip
def _prepare_torchmetrics(case, metric, k):
    torch = pytest.importorskip("torch")
    name, arguments = metric
    if name.startswith("Retrieval"):
        make = getattr(pytest.importorskip("torchmetrics.retrieval"), name)
        labels, scores = torch.tensor(case.flat_labels, dtype=torch.long), torch.tensor(case.flat_scores)
        indexes = torch.repeat_interleave(torch.tensor(case.sizes))
        return lambda: float(make(top_k=k)(scores.float(), labels, indexes=indexes))
    function = getattr(pytest.importorskip("torchmetrics.functional.retrieval"), name)
    pairs = [
        (torch.tensor(scores, dtype=torch.float32), torch.tensor(labels, dtype=torch.long))
        for labels, scores in zip(case.labels, case.scores, strict=True)
    ]
    return lambda: [float(function(scores, labels, **arguments)) for scores, labels in pairs]


def torchmetrics_rows(case, name):
    """Return the mean of a metric of many labels over the queries, each a row alone."""
    torch = pytest.importorskip("torch")
    function = getattr(pytest.importorskip("torchmetrics.functional.classification"), name)
    values = [
        function(torch.tensor([scores]), torch.tensor([labels]), num_labels=len(labels))
        for labels, scores in zip(case.labels, case.scores, strict=True)
    ]
    return float(np.mean([float(value) for value in values]))


@peer("rax", "rax", "jax.numpy", "rax")
def _prepare_rax(case, metric, k):
    del k
    name, arguments = metric
    numpy = pytest.importorskip("jax.numpy")
    function = getattr(pytest.importorskip("rax"), name)
    rows = list(zip(case.labels, case.scores, strict=True))
    return lambda: [
        float(function(numpy.array(scores), numpy.array(labels, "f4"), **arguments)) for labels, scores in rows
    ]


@peer("LightGBM", "lightgbm", ndcg=("ndcg", {}), convention="lightgbm")
def _prepare_lightgbm(case, metric, k, threads=1):
    """Prepare a booster without trees that starts from the scores, with queries' weights on documents."""
    module = pytest.importorskip("lightgbm")
    name, parameters = metric
    data = module.Dataset(
        case.features, case.flat_labels, group=case.sizes, init_score=case.flat_scores,
        weight=np.repeat(case.weights, case.sizes), params={"min_data_in_bin": 1, "verbosity": -1},
    )  # fmt: skip
    options = {"objective": "lambdarank", "metric": name, "eval_at": [k], "verbosity": -1, "num_threads": threads}
    booster = module.Booster(options | parameters, data)
    return lambda: booster.eval_train()[0][2]


@peer(
    "XGBoost", "xgboost-cpu", "xgboost", ndcg=("ndcg@{k}", {}), convention="xgboost", tolerance=1e-6,
    read=lambda result, _: float(re.fullmatch(r"\[0\]\teval-\S+:(\S+)", result)[1]),
)  # fmt: skip
def _prepare_xgboost(case, metric, k, threads=1):
    module = pytest.importorskip("xgboost")
    name, parameters = metric
    data = module.DMatrix(
        case.features, case.flat_labels, group=case.sizes, weight=case.weights, base_margin=case.flat_scores
    )
    options = {"objective": "rank:ndcg", "eval_metric": name.format(k=k), "verbosity": 0, "nthread": threads}
    booster = module.train(options | parameters, data, num_boost_round=0)
    return lambda: booster.eval(data)


@peer("CatBoost", "catboost", "catboost.utils", ndcg="NDCG:top={k}", convention="catboost")
def _prepare_catboost(case, metric, k, threads=1):
    queries = np.repeat(np.arange(len(case.sizes)), case.sizes)
    weights = np.repeat(case.weights, case.sizes)
    evaluate = pytest.importorskip("catboost.utils").eval_metric
    labels, scores = case.flat_labels, case.flat_scores
    return lambda: evaluate(
        labels, scores, metric.format(k=k), group_id=queries, group_weight=weights, thread_count=threads
    )[0]


@peer("implicit", "implicit", ndcg="ndcg", convention="default(ties=input)", is_binary=True, takes_ranked_lists=True)
def _prepare_implicit(case, metric, k, threads=1):
    from scipy.sparse import csr_matrix

    evaluate = pytest.importorskip("implicit.evaluation").ranking_metrics_at_k
    best = rank_documents(case)[:, :k].astype("i4")

    class Recommender:
        def recommend(self, users, *_, **__):
            return best[users], None

    truth = csr_matrix((case.labels > 0).astype("f4"))
    training = csr_matrix(case.labels.shape, dtype="f4")
    return lambda: evaluate(Recommender(), training, truth, K=k, show_progress=False, num_threads=threads)[metric]


@peer(
    "RecTools", "rectools", "rectools.metrics", ndcg="NDCG", convention="default(ties=input)", is_binary=True,
    takes_ranked_lists=True, read=lambda result, case: align_queries(result.to_dict(), case),
)  # fmt: skip
def _prepare_rectools(case, metric, k):
    import pandas as pd

    order = rank_documents(case)
    queries, places = np.indices(order.shape).reshape(2, -1)
    ranked = pd.DataFrame({"user_id": queries, "item_id": order.ravel(), "rank": places + 1})
    truth = pd.DataFrame(dict(zip(("user_id", "item_id"), np.nonzero(case.labels), strict=True)))
    computed = getattr(pytest.importorskip("rectools.metrics"), metric)(k=k, divide_by_achievable=True)
    return lambda: computed.calc_per_user(ranked, truth)


@peer(
    "RePlay", "replay-rec", "replay.metrics", ndcg="NDCG", convention="default(ties=id_descending)", is_binary=True,
    read=lambda result, case: align_queries(next(iter(result.values())), case),
)  # fmt: skip
def _prepare_replay(case, metric, k):
    import polars as pl

    module = pytest.importorskip("replay.metrics")
    queries, places = np.indices(case.labels.shape).reshape(2, -1)
    ranked = pl.DataFrame({"query_id": queries, "item_id": places, "rating": case.flat_scores})
    truth = pl.DataFrame(dict(zip(("query_id", "item_id"), np.nonzero(case.labels), strict=True)))
    computed = getattr(module, metric)(k, mode=module.PerUser())
    return lambda: computed(ranked, truth)


@peer("NumPy, one expression", "numpy", ndcg="ndcg", convention="default(ties=input)")
def _prepare_numpy(case, metric, k):
    del metric
    discounts = 1 / np.log2(np.arange(2, min(k, case.labels.shape[1]) + 2))

    def evaluate():
        with np.errstate(invalid="ignore"):
            best = -np.sort(-case.labels, axis=1)[:, :k] @ discounts
            return np.take_along_axis(case.labels, rank_documents(case)[:, :k], axis=1) @ discounts / best

    return evaluate


@peer(
    "Polars, one expression", "polars", ndcg="ndcg", convention="default(ties=input)",
    read=lambda result, _: result["ndcg"].to_numpy(),
)  # fmt: skip
def _prepare_polars(case, metric, k):
    del metric
    pl = pytest.importorskip("polars")
    queries = np.repeat(np.arange(len(case.sizes)), case.sizes)
    frame = pl.DataFrame({"query": queries, "label": case.flat_labels, "score": case.flat_scores})
    by_score = pl.col("label").sort_by("score", descending=True, maintain_order=True)
    dcg, best = (
        (label.head(k) / (pl.int_range(pl.len().clip(upper_bound=k)) + 2).log(2)).sum()
        for label in (by_score, pl.col("label").sort(descending=True))
    )
    return lambda: frame.group_by("query", maintain_order=True).agg((dcg / best).alias("ndcg"))


def rank_documents(case):
    return np.argsort(-case.scores, axis=1, kind="stable")

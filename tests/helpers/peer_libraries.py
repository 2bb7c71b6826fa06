"""Metrics of other libraries on lists of labels and scores, mostly as means over queries."""

import re
import warnings

import numpy as np
import pytest

K = 3


def library(name, extra="peers"):
    """Return a module, and skip the test if the module is not installed."""
    return pytest.importorskip(name, reason=f"{name} is not installed: pip install 'fastndcg[{extra}]'")


def sklearn(case, metric):
    """Return the weighted mean of dcg_score or ndcg_score, with one call a query because rows need one length."""
    metrics = library("sklearn.metrics")
    name, ignore_ties = metric
    score = getattr(metrics, name)
    values = [
        score([labels], [scores], k=K, ignore_ties=ignore_ties)
        for labels, scores in zip(case.labels, case.scores, strict=True)
    ]
    return np.average(values, weights=case.weights)


def sklearn_rows(case, metric):
    """Return the mean of a metric of scores and binary labels over the queries with a value."""
    metrics = library("sklearn.metrics")
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
    curve = library("sklearn.metrics").precision_recall_curve
    values = []
    for labels, scores in zip(case.labels, case.scores, strict=True):
        if any(labels):
            precisions, recalls, _ = curve(labels, scores)
            values.append(precisions[np.flatnonzero(recalls >= recall - 1e-9)[-1]])
    return np.mean(values or [np.nan])


def ntcireval(case, metric):
    """Return the mean of a graded metric over the queries with relevant documents."""
    module = library("pyNTCIREVAL.metrics")
    labeler = library("pyNTCIREVAL").Labeler
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


def pytrec_eval(case, measure, **options):
    """Return the mean of trec_eval 9.0.8's values over the queries of the run."""
    evaluator = library("pytrec_eval").RelevanceEvaluator(case.qrels, {measure}, **options)
    values = evaluator.evaluate(case.run)
    return np.mean([next(iter(value.values())) for value in values.values()])


def ranx(case, metric):
    """Return ranx's mean over the queries, from containers of ranx."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numba, about casts in ranx
        module = library("ranx")
        qrels, run = module.Qrels(case.qrels), module.Run(case.run)
        return module.evaluate(qrels, run, metric, make_comparable=True)


def ir_measures(case, measure):
    """Return the aggregate of a measure."""
    module = library("ir_measures")
    parsed = module.parse_measure(measure)
    return module.calc_aggregate([parsed], case.qrels, case.run)[parsed]


def torchmetrics(case, metric):
    """Return the mean of a functional metric over the queries."""
    torch = library("torch")
    name, arguments = metric
    function = getattr(library("torchmetrics.functional.retrieval"), name)
    values = [
        function(torch.tensor(scores, dtype=torch.float32), torch.tensor(labels, dtype=torch.long), **arguments)
        for labels, scores in zip(case.labels, case.scores, strict=True)
    ]
    return float(np.mean([float(value) for value in values]))


def torchmetrics_rows(case, name):
    """Return the mean of a metric of many labels over the queries, each a row alone."""
    torch = library("torch")
    function = getattr(library("torchmetrics.functional.classification"), name)
    values = [
        function(torch.tensor([scores]), torch.tensor([labels]), num_labels=len(labels))
        for labels, scores in zip(case.labels, case.scores, strict=True)
    ]
    return float(np.mean([float(value) for value in values]))


def rax(case, metric):
    """Return the mean of a metric over the queries."""
    name, arguments = metric
    numpy = library("jax.numpy")
    metrics = library("rax")
    values = [
        getattr(metrics, name)(numpy.array(scores), numpy.array(labels, "f4"), **arguments)
        for labels, scores in zip(case.labels, case.scores, strict=True)
    ]
    return float(np.mean([float(value) for value in values]))


def lightgbm(case, metric):
    """Return the metric of a booster without trees that starts from the scores, with queries' weights on documents."""
    module = library("lightgbm")
    name, parameters = metric
    data = module.Dataset(
        case.features, case.flat_labels, group=case.sizes, init_score=case.flat_scores,
        weight=np.repeat(case.weights, case.sizes), params={"min_data_in_bin": 1, "verbosity": -1},
    )  # fmt: skip
    asked = {"objective": "lambdarank", "metric": name, "eval_at": [K], "verbosity": -1, "num_threads": 1}
    ((_, _, value, *_),) = module.Booster(asked | parameters, data).eval_train()
    return value


def xgboost(case, metric):
    """Return the metric that a booster without trees prints if the scores are its margin."""
    module = library("xgboost")
    name, parameters = metric
    data = module.DMatrix(
        case.features, case.flat_labels, group=case.sizes, weight=case.weights, base_margin=case.flat_scores
    )
    asked = {"objective": "rank:ndcg", "eval_metric": name, "verbosity": 0, "nthread": 1} | parameters
    printed = module.train(asked, data, num_boost_round=0).eval(data)
    return float(re.fullmatch(r"\[0\]\teval-\S+:(\S+)", printed)[1])


def catboost(case, metric):
    """Return the value of catboost's eval_metric with the weights of queries."""
    queries = np.repeat(np.arange(len(case.sizes)), case.sizes)
    weights = np.repeat(case.weights, case.sizes)
    evaluate = library("catboost.utils").eval_metric
    (value,) = evaluate(
        case.flat_labels, case.flat_scores, metric, group_id=queries, group_weight=weights, thread_count=1
    )
    return value

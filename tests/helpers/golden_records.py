"""Records of what other programs printed, each with the convention and the metric that should give the same number."""

import functools
import gzip
import json
import math
import re
from typing import NamedTuple

import numpy as np
from recorded_data import DATA

import fastndcg as fn
from fastndcg.metrics.families import CATALOG
from fastndcg.named_conventions import parse_convention

CONVENTIONS = {
    "trec_eval-10.0": "trec_eval", "trec_eval-9.0.8": "trec_eval_9", "pytrec_eval-terrier": "trec_eval_9",
    "ir_measures": "trec_eval_9_c", "ranx": "ranx", "scikit-learn": "sklearn", "lightgbm": "lightgbm",
    "xgboost": "xgboost", "catboost": "catboost", "RankLib": "ranklib", "torchmetrics": "torchmetrics", "rax": "rax",
    "allRank": "allrank", "RecTools": "rectools", "RePlay": "replay", "recommenders": "recommenders",
    "lenskit": "lenskit", "implicit": "implicit", "mlflow": "mlflow", "haystack": "haystack",
    "haystack-3.0.0": "haystack", "llama_index": "llama_index", "llama_index-0.12.2": "llama_index",
    "llama_index-0.12.3": "llama_index", "trulens": "trulens", "trulens-2.13.0": "trulens", "ragas": "ragas",
    "azure_ai": "azure_ai", "elasticsearch": "elasticsearch", "opensearch": "opensearch", "rcp_ndcg": "rcp_ndcg",
}  # fmt: skip
WITHOUT_IDS = {"scikit-learn", "lightgbm", "xgboost", "catboost", "RankLib", "torchmetrics", "rax", "allRank"}
EMPTY_IS_MISSING = {"trec_eval-10.0", "trec_eval-9.0.8", "recommenders", "llama_index"}
TOLERANCES = {
    **dict.fromkeys(("xgboost", "torchmetrics", "rax", "allRank"), 1e-6),
    "opensearch": 0.005,
}  # float32; two digits
METRICS = {
    "ndcg": "nDCG", "ndcg@k": "nDCG", "ndcg_exp@k": "nDCG", "dcg@k": "DCG", "dcg_exp@k": "DCG", "ndcg_at_k": "nDCG",
    "ap": "AP", "ap@k": "AP", "map": "AP", "map_at_k": "AP", "rr": "RR", "rr@k": "RR", "p@k": "P", "pre": "P",
    "precision_at_k": "P", "r@k": "R", "recall_at_k": "R", "f1@k": "F", "hit@k": "Success", "rprec": "Rprec",
    "r_precision_at_k": "Rprec", "ndcg_custom_gain": "nDCG", "bpref": "bpref", "infap": "infAP", "11pt": "IAP",
    "rbp": "RBP", "unj@k": "Unjudged", "judged@k": "Judged", "err@k": "ERR", "auc": "AUC", "lrap": "LRAP",
}  # fmt: skip
RBP_GAINS = {"ir_measures": "binary", "ranx": "linear"}
GAINS = {"custom_gain_integer": (0, 5, 9), "custom_gain_fractional": (0, 0.5, 0.9)}
CHOICES = {  # words of the recorded call, and the choices that they make
    "trec_eval": {" -c ": {"missing_in_run": "zero"}, " -J ": {"unjudged": "removed"}},
    "ranx": {"(dict": {"ties": "input_reversed"},
        "make_comparable": {"missing_in_run": "zero", "missing_in_qrels": "skip"}},
    "scikit-learn": {"roc_auc": {"undefined": "nan"}, "label_ranking": {"undefined": 1},
        "ignore_ties": {"ties": "input_reversed"}, " dcg_score": {"negative_labels": "keep"}},
    "xgboost": {"-'": {"undefined": 0}},
    "catboost": {"QueryAUC": {"undefined": 0}, "denominator=Position": {"discount": "1/r"}},
    "torchmetrics": {"action='pos'": {"undefined": 1}, "action='skip'": {"undefined": "nan"},
        "action='error'": {"undefined": "raise"}},
    "RecTools": {"divide_by_achievable=True": {"ideal": "judged"}, "divide_by_k=True": {"ap_denominator": "k"},
        "r_precision=True": {"precision_denominator": "min(k, n_relevant)"}},
    "RePlay": {"(dict": {"ties": "input"}},
    "recommenders": {"'raw'": {"gain": "linear"}, "'exp'": {"gain": "exp2"}, ".map(": {"ap_denominator": "n_relevant"}},
    "lenskit": {"gain='rating'": {"gain": "linear"}},
    "haystack-3.0.0": {"": {"ap_denominator": "n_hits"}},
    "llama_index-0.12.2": {"": {"ideal": "k best"}},
    "llama_index-0.12.3": {"": {"ideal": "min(k, n_retrieved)"}},
}  # fmt: skip


class Answer(NamedTuple):
    values: dict
    mean: float
    error: str = ""


@functools.cache
def every_record():
    files = (DATA / "peers" / "peers.json.gz", DATA / "peers" / "retrieval_tools.json.gz")
    return [one for file in files for one in json.loads(gzip.decompress(file.read_bytes()))]


def records():
    return [one for one in every_record() if one["peer"] in CONVENTIONS]


def name_of(record):
    return f"{record['peer']} {record['name']} {record['metric']} k={record['k']} {record['call'][:60]}"


def has_metric(record):
    return "ours" in record or record["metric"] == "rr/p/ndcg" or METRICS.get(record["metric"]) in CATALOG


def has_input(record):
    return bool(record["scores"]) and record["name"] != "judged_empty_list"


def convention_of(record):
    peer, call = record["peer"], record["call"]
    convention = fn.conventions[CONVENTIONS[peer]]
    if peer == "ir_measures" and "[RR@" in call:
        convention = parse_convention("ms_marco(ties=id_ascending)")
    if record["name"] == "empty_ranking" and peer not in EMPTY_IS_MISSING:
        convention = convention.replace(missing_in_run="zero")  # the rows below hold no query without documents
    for word, choices in CHOICES.get(peer.partition("-")[0] if peer.startswith("trec") else peer, {}).items():
        if word in f" {call}":
            convention = convention.replace(**choices)
    return convention


def metric_of(record):
    """
    Return the record's metric.

    A plain nDCG has linear gains, except for a peer with binary gains.
    """
    if "ours" in record:
        return fn.Metric.parse(record["ours"])
    if record["metric"] == "rr/p/ndcg":
        return fn.Metric.parse(re.search(r"\[(.*)\]", record["call"])[1])
    name, k = METRICS[record["metric"]], record["k"]
    if record["peer"] == "recommenders" and name == "AP":
        k = int(re.search(r"k=(\d+)", record["call"])[1])
    own_gain = fn.conventions[CONVENTIONS[record["peer"]]].gain
    parameters = {"p": 0.8} if name == "RBP" else {}
    if name == "RBP" and record["peer"] in RBP_GAINS:
        parameters["gain"] = RBP_GAINS[record["peer"]]
    if name in ("nDCG", "DCG") and own_gain != "binary":
        if record["name"] in GAINS:
            parameters["gain"] = GAINS[record["name"]]
        elif "exp" not in record["metric"]:
            parameters["gain"] = "linear"
        elif own_gain == "linear":
            parameters["gain"] = "exp2"
    if name == "ERR" and record["peer"] == "catboost":
        parameters["stop"] = "labels"
    return fn.Metric(name, k, **parameters)


def rankings_of(record):
    """Return the record's lists as rankings, with the label 0 for documents that are not judged."""
    lists = [(query, labels, record["scores"][query]) for query, labels in record["labels"].items()]
    if any(labels and isinstance(labels[0], list) for _, labels, _ in lists):  # several lists of one query
        lists = [(f"{query}-{i}", one, scores) for query, many, scores in lists for i, one in enumerate(many)]
    labels = [label or 0 for _, labels, _ in lists for label in labels]
    scores = [float(score) for _, _, scores in lists for score in scores]
    offsets = np.cumsum([0, *(len(scores) for _, _, scores in lists)])
    queries = np.array([query for query, _, _ in lists])
    return fn.Rankings(np.array(labels, "f8"), np.array(scores, "f8"), offsets, query_ids=queries)


def qrels_of(record):
    """Return the record's judgments by document, without documents whose label is null."""
    if "userID" in record["labels"]:
        return fn.Qrels(*(record["labels"][column] for column in ("userID", "itemID", "rating")))
    rows = []
    for query, labels in record["labels"].items():
        if isinstance(labels, dict):
            rows += [(query, document, label) for document, label in labels.items()]
        elif labels and isinstance(labels[0], list):
            rows += [(query, document, label) for document, label in labels]
        else:
            pairs = zip(record["docids"][query], labels, strict=True)
            rows += [(query, str(document), label) for document, label in pairs if label is not None]
    for query, labels in record.get("judged_not_retrieved", {}).items():
        rows += [(query, document, label) for document, label in labels.items()]
    return fn.Qrels(*map(list, zip(*rows, strict=True)))


def run_of(record):
    """Return the record's run, with scores read from texts if JSON lacks the number."""
    if "userID" in record["scores"]:
        return fn.Run(*(record["scores"][column] for column in ("userID", "itemID", "prediction")))
    rows = []
    for query, scores in record["scores"].items():
        pairs = scores.items() if isinstance(scores, dict) else zip(record["docids"][query], scores, strict=True)
        rows += [(query, str(document), float(score)) for document, score in pairs]
    return fn.Run(*map(list, zip(*rows, strict=True)))


def ours(record, evaluate, **choices):
    convention = convention_of(record).replace(**choices)
    try:
        metric = metric_of(record)
        if record["peer"] in WITHOUT_IDS:
            result = evaluate(rankings_of(record), metrics=metric, convention=convention)
        else:
            result = evaluate(qrels_of(record), run_of(record), metric, convention=convention)
    except fn.FastndcgError as error:
        return Answer({}, math.nan, str(error))
    values = dict(zip(map(str, result.query_ids), result[metric].tolist(), strict=True))
    return Answer(values, result.means(record.get("query_weights"))[0])


def first(mapping):
    return next(iter(mapping.values()))


def is_reproduced(record, answer):
    """Return True if both raise an error, or both give the same values and the same mean."""
    if record["error"] is not None or answer.error:
        return record["error"] is not None and bool(answer.error)
    tolerance = TOLERANCES.get(record["peer"], 1e-9)
    theirs = record["per_query"] or {}
    if isinstance(record["value"], list):
        return all(is_near(*pair, tolerance) for pair in zip(record["value"], answer.values.values(), strict=True))
    if len(theirs) == 1 and len(answer.values) == 1:
        pairs = [(first(theirs), first(answer.values))]
    else:
        pairs = [(value, answer.values.get(query, math.nan)) for query, value in theirs.items()]
    if record["value"] is not None and record["peer"] != "lenskit":  # recorded as numpy's mean of the values
        pairs.append((record["value"], answer.mean))
    return all(is_near(float(value), number, tolerance) for value, number in pairs)


def is_near(theirs, ours, tolerance):
    return (math.isnan(theirs) and math.isnan(ours)) or abs(theirs - ours) <= tolerance * max(1, abs(theirs))

"""The recorded data of `tests/data/`, and what trec_eval printed."""

import functools
import gzip
from pathlib import Path

import fastndcg as fn
from fastndcg.errors import UnknownMetricError

DATA = Path(__file__).resolve().parents[1] / "data"
DRAWN_RUNS = DATA / "drawn_runs"
TREC_EVAL = DATA / "trec_eval"
RATINGS = DATA / "ratings" / "ratings.csv.gz"
RUN_NAMES = ("bm25", "dense", "impacts", "likelihood", "reranked")


def drawn_run(name):
    return DRAWN_RUNS / "runs" / f"{name}.gz"


@functools.lru_cache(maxsize=8)
def trec_output(path):
    content = path.read_bytes()
    text = gzip.decompress(content).decode() if path.suffix == ".gz" else content.decode()
    printed = {}
    for line in text.splitlines():
        name, query, value = line.split("\t")
        printed.setdefault(query, {})[name.strip()] = value
    return printed


def our_metrics(trec_names, rel=1):
    found = {name: _our_metric(name, rel) for name in trec_names}
    return {name: metric for name, metric in found.items() if metric is not None}


def _our_metric(trec_name, rel):
    try:
        metric = fn.Metric.parse(trec_name)
    except UnknownMetricError:
        return None
    is_binary = metric.get("rel") is not None  # nDCG ignores the relevance level, in trec_eval as here
    return metric(rel=rel) if is_binary else metric


def trec_mean(result, metric):
    return result[metric].sum() if metric.record.sums_in_trec_eval else result.means()[result.metrics.index(metric)]

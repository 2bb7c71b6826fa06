"""Real data and recorded outputs of other tools, in a folder `shared` beside the repository."""

import functools
import gzip
import os
from pathlib import Path

import pytest

import fastndcg as fn
from fastndcg.errors import UnknownMetricError

FOLDER = Path(os.environ.get("FASTNDCG_SHARED", Path(__file__).resolve().parents[3] / "shared"))


def shared(*parts):
    """Return the path of a shared file or folder, and skip the test if the path is missing."""
    path = FOLDER.joinpath(*parts)
    if not path.exists():
        absent = path if FOLDER.exists() else FOLDER
        pytest.skip(f"{absent} is absent: put the folder `shared` beside the repository, or set FASTNDCG_SHARED")
    return path


@functools.lru_cache(maxsize=8)
def trec_output(path):
    """Return the output of trec_eval as {query or 'all': {name of the metric in trec_eval: text of the value}}."""
    content = path.read_bytes()
    text = gzip.decompress(content).decode() if path.suffix == ".gz" else content.decode()
    printed = {}
    for line in text.splitlines():
        name, query, value = line.split("\t")
        printed.setdefault(query, {})[name.strip()] = value
    return printed


def our_metrics(trec_names, rel=1):
    """Return the metrics of fastndcg by trec_eval's names, without the names that fastndcg lacks."""
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
    """Return the value that trec_eval prints for all queries, which is a sum for counts and a mean otherwise."""
    return result[metric].sum() if metric.record.sums_in_trec_eval else result.means()[result.metrics.index(metric)]

"""Values of real runs equal those of trec_eval 10.0 and 9.0.8 for every query, to the last printed digits."""

from functools import cache

import numpy as np
import pytest
from shared_data import our_metrics, shared, trec_mean, trec_output

import fastndcg as fn

DL19_RUNS = [
    "ANCE.2019.res", "BM25.2019.res", "BM25RM3.2019.res", "BM25_deepct.2019.res", "BM25_deepct_ColBERT.2019.res",
    "BM25_docT5q.2019.res", "BM25_docT5q_ColBERT.2019.res", "bm25.mt5.dl19.100", "bm25RM3_VBERT.2019.res",
    "bm25_VBERT.2019.res", "bm25deepCT_VBERT.2019.res", "bm25doct5q_VBERT.2019.res", "prf_rank_beta05.2019.res",
    "prf_rank_beta1.2019.res", "prf_rerank_beta05.2019.res", "prf_rerank_beta1.2019.res", "splade.dl19.100",
]  # fmt: skip
NO_METRICS = {"runid", "num_q", "relstring"}
ROBUST_VERSIONS = {"trec_eval": "expected_v10", "trec_eval_9": "expected_v9"}


def assert_same(ours, theirs, what):
    """Assert that two arrays agree within 1e-12."""
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12, err_msg=what)


@pytest.fixture(scope="module")
def dl19_qrels():
    """Return the judgments of TREC 2019 Deep Learning, passages."""
    return fn.read_qrels(shared("data", "trec-dl19", "qrels.txt"))


@cache
def dl19_run(name):
    """Read a run of TREC 2019 Deep Learning once."""
    return fn.read_run(shared("data", "trec-dl19", "runs", f"{name}.gz"))


@pytest.mark.parametrize(
    ("version", "convention", "rel"),
    [("v10.0", "trec_eval", 1), ("v10.0.l2", "trec_eval", 2), ("v9.0.8", "trec_eval_9", 1)],
)
@pytest.mark.parametrize("name", DL19_RUNS)
def test_trec_eval_values_of_dl19(dl19_qrels, name, version, convention, rel):
    """Every line of all_trec has trec_eval's value for each query and for all queries, in each version and level."""
    printed = trec_output(shared("data", "trec-dl19", "expected", f"{name}.{version}.txt.gz"))
    metrics = our_metrics(printed["all"], rel)
    result = fn.evaluate(dl19_qrels, dl19_run(name), metrics.values(), convention=convention)
    assert metrics.keys() == printed["all"].keys() - NO_METRICS
    assert len(metrics) == (92 if version == "v9.0.8" else 97)
    assert sorted(result.query_ids) == sorted(printed.keys() - {"all"})
    assert int(printed["all"]["num_q"]) == len(result) == 43
    for trec_name, metric in metrics.items():
        if trec_name.startswith("gm_"):
            theirs = None  # trec_eval prints no value for a query
        elif trec_name == "rbp_resid":
            theirs = residuals(printed, result, fn.evaluate(dl19_qrels, dl19_run(name), "Judged,num_ret"))
            assert_same(result[metric], theirs, f"{trec_name} of {name}")
            continue
        else:
            theirs = [float(printed[query][trec_name]) for query in result.query_ids]
            assert_same(result[metric], theirs, f"{trec_name} of {name}")
        assert_same(trec_mean(result, metric), float(printed["all"][trec_name]), f"{trec_name} of {name}, all")


def residuals(printed, result, coverage):
    """Return trec_eval's residuals, with p^n for a query whose n documents are all judged. The printed 0 is a bug."""
    theirs = np.array([float(printed[query]["rbp_resid"]) for query in result.query_ids])
    is_complete = coverage["Judged"] == 1
    assert (theirs[is_complete] == 0).all()
    assert float(printed["all"]["rbp_resid"]) == pytest.approx(theirs.mean(), rel=1e-12)
    return np.where(is_complete, 0.9 ** coverage["num_ret"], theirs)


@pytest.fixture(scope="module")
def robust():
    """Return 1,700 lists of TREC 2003 Robust as rankings with the pools of their topics, and trec_eval's values."""
    with np.load(shared("data", "robust03", "robust03.npz")) as archive:
        data = dict(archive)
    starts, topics = data["pool_offsets"], data["list_topic"]
    pool_labels = np.concatenate([data["pool_labels"][starts[t] : starts[t + 1]] for t in topics])
    pool_offsets = np.concatenate([[0], np.cumsum(np.diff(starts)[topics])])
    rankings = fn.Rankings(
        data["label"],
        data["score"],
        data["offsets"],
        judged=data["judged"],
        pool=(pool_labels, pool_offsets),
        tie_keys=data["tiebreak"],
    )
    return rankings, data


@pytest.mark.parametrize("convention", ROBUST_VERSIONS)
def test_trec_eval_values_of_robust03(robust, convention):
    """Every list has trec_eval's values of all 23 metrics."""
    rankings, data = robust
    metrics = our_metrics(data["measures"].tolist())
    result = fn.evaluate(rankings, metrics=metrics.values(), convention=convention)
    assert len(metrics) == 23
    for column, trec_name in enumerate(data["measures"].tolist()):
        assert_same(result[metrics[trec_name]], data[ROBUST_VERSIONS[convention]][:, column], trec_name)


def test_robust03_lists_that_float32_changes(robust):
    """The conventions of both versions differ on the same 13 lists as trec_eval, which compares doubles or floats."""
    rankings, data = robust
    metrics = our_metrics(data["measures"].tolist())
    ours = [fn.evaluate(rankings, metrics=metrics.values(), convention=name).values for name in ROBUST_VERSIONS]
    theirs = [data[field] for field in ROBUST_VERSIONS.values()]
    differing = [np.flatnonzero((np.abs(new - old) > 1e-12).any(axis=1)) for new, old in (ours, theirs)]
    assert len(differing[1]) == 13
    np.testing.assert_array_equal(*differing)


def test_robust03_in_any_order(robust):
    """Another order of the documents in a list changes no bit under trec_eval's tie rule."""
    rankings, _ = robust
    query = np.repeat(np.arange(rankings.n_queries), np.diff(rankings.offsets))
    order = np.lexsort((np.random.default_rng(3).random(len(query)), query))
    shuffled = rankings.replace(
        **{name: getattr(rankings, name)[order] for name in ("labels", "scores", "judged", "tie_keys")}
    )
    metrics = "ndcg,ndcg@10,map,map@10,rr,p@5,recall@100,rprec,success@5,f1"
    first, second = (fn.evaluate(one, metrics=metrics, convention="trec_eval") for one in (rankings, shuffled))
    np.testing.assert_array_equal(first.values, second.values)

"""Recorded outputs of trec_eval's test set are reproduced line by line and digit by digit."""

import numpy as np
import pytest
from recorded_data import TREC_EVAL, our_metrics, trec_mean, trec_output

import fastndcg as fn

VERSIONS = {"v10.0": "trec_eval", "v9.0.8": "trec_eval_9"}
# output: (qrels, run); a=all measures, q=each query, c=all judged queries, M=the first 100 documents, l=documents are
# relevant from 2 on
OUTPUTS = {
    "out.test": ("qrels.test", "results.test"),
    "out.test.a": ("qrels.test", "results.test"),
    "out.test.aq": ("qrels.test", "results.test"),
    "out.test.aqc": ("qrels.test", "results.trunc"),
    "out.test.aqcM": ("qrels.test", "results.trunc"),
    "out.test.aql": ("qrels.rel_level", "results.test"),
    "out.test.meas_params": ("qrels.test", "results.test"),
}
WITH_PARAMETERS = {
    "ndcg_1=3,2=9,4=4.5": fn.nDCG(gain=(0, 3, 9)),  # no label of this qrels file is above 2
    "utility_2,-1,0,0": fn.Utility(a=2, b=-1),
    "11pt_avg_.25,.5,.75": fn.IAP(recalls=(0.25, 0.5, 0.75)),
}
NO_METRICS = ("runid", "relstring", "relstring_20")


def first_documents(run, n):
    """Return the run's first n documents of each query in trec_eval's order, by falling score and falling id."""
    rows = {}
    queries = np.repeat(run.queries.names(), np.diff(run.offsets))
    for query, document, score in zip(queries, run.documents.names(), run.values.tolist(), strict=True):
        rows.setdefault(query, []).append((score, document))
    return fn.Run.from_dict(
        {query: {document: score for score, document in sorted(row, reverse=True)[:n]} for query, row in rows.items()}
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_line_by_line(version, output):
    qrels_name, run_name = OUTPUTS[output]
    printed = trec_output(TREC_EVAL / version / output)
    metrics = our_metrics(printed["all"], rel=2 if output.endswith("l") else 1)
    metrics |= {name: metric for name, metric in WITH_PARAMETERS.items() if name in printed["all"]}
    # where all documents of a query were judged, trec_eval has no residual: a bug that is not copied
    unlike = {("302", "rbp_resid"), ("all", "rbp_resid")} if "c" in output.removeprefix("out.test") else set()
    convention = fn.conventions[VERSIONS[version]]
    if "c" in output.removeprefix("out.test"):
        convention = convention.replace(missing_in_run="zero")
    run = fn.read_run(TREC_EVAL / run_name)
    if output.endswith("M"):
        run = first_documents(run, 100)
    result = fn.evaluate(TREC_EVAL / qrels_name, run, metrics.values(), convention=convention)
    rows = result.to_dict()
    for query, lines in printed.items():
        for name, text in lines.items():
            if name == "num_q":
                assert len(result) == int(text)
            elif name not in NO_METRICS and (query, name) not in unlike:
                metric = metrics[name]
                value = trec_mean(result, metric) if query == "all" else rows[query][str(metric)]
                ours = f"{value:.0f}" if metric.record.sums_in_trec_eval else f"{value:.4f}"
                assert ours == text, f"{name} of query {query}"


def test_judged_query_that_the_run_lacks():
    """A judged query that the run lacks is an error under trec_eval 10.0 without -c. Version 9.0.8 skips the query."""
    files = [TREC_EVAL / name for name in ("qrels.test", "results.trunc")]
    with pytest.raises(fn.InvalidInputError, match="judged query 302 is missing in the run"):
        fn.evaluate(*files, "map", convention="trec_eval")
    result = fn.evaluate(*files, "map", convention="trec_eval_9")
    assert result.query_ids.tolist() == ["301", "303"]
    assert result.n_missing_in_run == 1


def test_qrels_of_several_judges_are_refused():
    with pytest.raises(fn.InvalidInputError, match="CR93E-10279 of query 301 is in lines 1 and 3682"):
        fn.read_qrels(TREC_EVAL / "qrels.123")

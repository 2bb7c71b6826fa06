"""trec_eval's own test set: every line of its recorded outputs that our metrics cover, digit by digit."""

import numpy as np
import pytest
from shared import our_metrics, shared, trec_mean, trec_output

import fastndcg as fn

VERSIONS = {"v10.0": "trec_eval", "v9.0.8": "trec_eval_9"}
# output: (qrels, run, lines that we cover in v10.0 and in v9.0.8); a=all measures, q=each query, c=all judged
# queries, M=the first 100 documents, l=documents are relevant from 2 on
OUTPUTS = {
    "out.test": ("qrels.test", "results.test", 17, 17),
    "out.test.a": ("qrels.test", "results.test", 51, 51),
    "out.test.aq": ("qrels.test", "results.test", 198, 198),
    "out.test.aqc": ("qrels.test", "results.trunc", 198, 149),
    "out.test.aqcM": ("qrels.test", "results.trunc", 198, 149),
    "out.test.aql": ("qrels.rel_level", "results.test", 198, 198),
    "out.test.meas_params": ("qrels.test", "results.test", 48, 48),
}
CUSTOM_GAINS = {"ndcg_1=3,2=9,4=4.5": fn.nDCG(gain=(0, 3, 9))}  # no label of this qrels file is above 2


def first_documents(run, n):
    """The run's first n documents of each query in trec_eval's order: score, then id, both falling."""
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
    """Each line that we cover is printed alike, those for all queries too; the other lines are other metrics."""
    qrels_name, run_name, *n_lines = OUTPUTS[output]
    printed = trec_output(shared("data", "trec_eval-test", version, output))
    metrics = our_metrics(printed["all"], rel=2 if output.endswith("l") else 1)
    metrics |= {name: metric for name, metric in CUSTOM_GAINS.items() if name in printed["all"]}
    convention = fn.conventions[VERSIONS[version]]
    if "c" in output.removeprefix("out.test"):
        convention = convention.replace(missing_in_run="zero")
    run = fn.read_run(shared("data", "trec_eval-test", version, run_name))
    if output.endswith("M"):
        run = first_documents(run, 100)

    result = fn.evaluate(
        shared("data", "trec_eval-test", version, qrels_name), run, metrics.values(), convention=convention
    )

    rows = result.to_dict()
    n_compared = 0
    for query, lines in printed.items():
        for name, text in lines.items():
            if name == "num_q":
                assert len(result) == int(text)
            elif name in metrics:
                metric = metrics[name]
                value = trec_mean(result, metric) if query == "all" else rows[query][str(metric)]
                ours = f"{value:.0f}" if metric.record.is_count else f"{value:.4f}"
                assert ours == text, f"{name} of query {query}"
            else:
                continue
            n_compared += 1
    assert n_compared == n_lines[list(VERSIONS).index(version)]


def test_judged_query_that_the_run_lacks():
    """Without -c, version 10.0 stops at query 302 and 9.0.8 leaves it out."""
    files = [shared("data", "trec_eval-test", "v10.0", name) for name in ("qrels.test", "results.trunc")]
    with pytest.raises(fn.InvalidInputError, match="judged query 302 is missing in the run"):
        fn.evaluate(*files, "map", convention="trec_eval")
    result = fn.evaluate(*files, "map", convention="trec_eval_9")
    assert result.query_ids.tolist() == ["301", "303"]
    assert result.n_missing_in_run == 1


def test_qrels_of_several_judges_are_refused():
    """The file in which three judges judge the same documents is no qrels file: the error names the first two lines."""
    path = shared("data", "trec_eval-test", "v10.0", "qrels.123")
    with pytest.raises(fn.InvalidInputError, match="CR93E-10279 of query 301 stands in lines 1 and 3682"):
        fn.read_qrels(path)

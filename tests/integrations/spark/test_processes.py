"""Spark with tasks in other processes: a cluster whose tasks and executors die, and a Spark Connect server."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from spark_scenarios import METRICS, describe
from spark_sessions import skip_without_spark

import fastndcg as fn

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.peers
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def rows(tmp_path):
    """Write rows to a file, and return them."""
    random = np.random.default_rng(5)
    n = 20_000
    queries = random.integers(0, 400, n)
    columns = {"query": queries, "document": np.arange(n), "label": random.integers(0, 9, n) // 7}
    table = pa.table(columns | {"score": random.random(n).round(2)})
    parquet.write_table(table, tmp_path / "rows.parquet")
    return table


def run_scenario(name, folder):
    """Run a scenario in a new process, and return its last line."""
    folders = [ROOT / "tests" / "helpers", *[ROOT] * ("FASTNDCG_TEST_INSTALLED" not in os.environ)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    script = ROOT / "tests" / "helpers" / "spark_scenarios.py"
    done = subprocess.run(
        [sys.executable, str(script), name, str(folder)], env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def evaluate_here(table):
    """Return what the scenarios must give."""
    expected = fn.evaluate(table, metrics=METRICS)

    class Same:
        metrics = expected.metrics
        means = expected.means
        n_tied = expected.n_tied
        n_undefined = expected.n_undefined

        def __len__(self):
            return len(expected)

        def confidence_interval(self, metric, method):
            return expected.confidence_interval(metric, method=method, replicates=50)

    return expected, json.loads(json.dumps(describe(Same())))


@pytest.mark.parametrize("scenario", ["cluster", "speculation"])
def test_cluster_with_lost_tasks(rows, tmp_path, scenario):
    """Two executors give the bits of one machine, after a failed task, a lost executor, and a task that is copied."""
    skip_without_spark()
    _, expected = evaluate_here(rows)

    results = run_scenario(scenario, tmp_path)

    assert {kind: outcome["result"] for kind, outcome in results.items()} == dict.fromkeys(results, expected)
    assert all(outcome["died"] for outcome in results.values())
    if scenario == "speculation":
        assert results[scenario]["seconds"] < 50  # the first attempt sleeps for 60


def test_connect(rows, tmp_path):
    """A Spark Connect server gives the bits of one machine, values of queries, comparisons and errors."""
    skip_without_spark()
    pytest.importorskip("grpc", reason="the client of Spark Connect is absent: pip install 'pyspark[connect]'")
    pyspark = pytest.importorskip("pyspark")
    if int(pyspark.__version__.partition(".")[0]) < 4:
        pytest.skip("Spark Connect needs Spark 4 or later")
    whole, expected = evaluate_here(rows)

    results = run_scenario("connect", tmp_path)

    assert "connect" in results["module"]
    assert results["result"] == expected
    order = np.argsort(whole.query_ids)
    values = [[None if np.isnan(value) else value for value in row] for row in whole.values[order].tolist()]
    assert results["per_query"] == [
        [query, *row] for query, row in zip(whole.query_ids[order].tolist(), values, strict=True)
    ]
    assert repr(results["differences"]) == "[nan, 0.0]"
    assert "`scores` must not be NaN" in results["error"]

"""Spark with tasks in other processes: a cluster whose tasks and executors die, and a Spark Connect server."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from needed_packages import skip_without
from spark_scenarios import BY_ORDER, METRICS, describe

import fastndcg as fn

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.peers
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def rows(tmp_path):
    random = np.random.default_rng(5)
    n = 20_000
    queries = random.integers(0, 400, n)
    columns = {"query": queries, "document": np.arange(n), "label": random.integers(0, 9, n) // 7}
    table = pa.table(columns | {"score": random.random(n).round(2)})
    parquet.write_table(table, tmp_path / "rows.parquet")
    return table


def run_scenario(name, folder):
    """Run a scenario in a group of processes, and return its last line. No process of it is left."""
    folders = [ROOT / "tests" / "helpers", *[ROOT] * ("FASTNDCG_TEST_INSTALLED" not in os.environ)]
    folders += filter(None, [os.environ.get("PYTHONPATH")])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    environment["JAVA_TOOL_OPTIONS"] = f"-Djava.io.tmpdir={folder}"  # a JVM that is killed leaves its libraries there
    command = [sys.executable, str(ROOT / "tests" / "helpers" / "spark_scenarios.py"), name, str(folder)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, start_new_session=True, **pipes) as process:
        try:
            output, errors = process.communicate(timeout=240)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, errors[-3000:]
    return json.loads(output.splitlines()[-1])


def evaluate_here(table, convention="default"):
    """Return what the scenarios must give."""
    expected = fn.evaluate(table, metrics=METRICS, convention=convention)

    class Same:
        metrics = expected.metrics
        means = expected.means
        n_tied = expected.n_tied
        n_undefined = expected.n_undefined

        def __len__(self):
            return len(expected)

        def confidence_interval(self, metric, method):
            return expected.confidence_interval(metric, method=method)

    return expected, json.loads(json.dumps(describe(Same())))


@pytest.mark.parametrize("scenario", ["cluster", "speculation"])
def test_cluster_with_lost_tasks(rows, tmp_path, scenario):
    skip_without("pyspark")
    _, expected = evaluate_here(rows)
    results = run_scenario(scenario, tmp_path)
    wanted = dict.fromkeys(results, expected) | ({"compare": expected["means"]} if "compare" in results else {})
    assert {kind: outcome["result"] for kind, outcome in results.items()} == wanted
    assert all(outcome["died"] for outcome in results.values())
    if scenario == "speculation":
        assert results[scenario]["seconds"] < 50  # the first attempt sleeps for 60


def test_connect(rows, tmp_path):
    skip_without("pyspark")
    pytest.importorskip("grpc")
    pyspark = pytest.importorskip("pyspark")
    if int(pyspark.__version__.partition(".")[0]) < 4:
        pytest.skip("Spark Connect needs Spark 4 or later")
    whole, expected = evaluate_here(rows)
    results = run_scenario("connect", tmp_path)
    assert "connect" in results["module"]
    assert results["result"] == expected
    by_order = evaluate_here(rows, BY_ORDER)[1]
    assert results["forms"] == dict.fromkeys(results["forms"], expected) | {"order": by_order}
    order = np.argsort(whole.query_ids)
    values = [[None if np.isnan(value) else value for value in row] for row in whole.values[order].tolist()]
    assert results["per_query"] == [
        [query, *row] for query, row in zip(whole.query_ids[order].tolist(), values, strict=True)
    ]
    assert repr(results["differences"]) == "[nan, 0.0]"
    assert "`scores` must not be NaN" in results["error"]


def test_another_release_of_spark():
    skip_without("pyspark")
    folder = os.environ.get("FASTNDCG_TEST_PYSPARK")
    if folder is None:
        pytest.skip("set FASTNDCG_TEST_PYSPARK to a folder of: pip install --target FOLDER 'pyspark==3.5.*'")
    folders = [folder, *[str(ROOT)] * ("FASTNDCG_TEST_INSTALLED" not in os.environ)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    del environment["FASTNDCG_TEST_PYSPARK"]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "peers", str(Path(__file__).parent)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]

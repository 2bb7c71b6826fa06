"""The examples run from start to end in separate processes, and the service answers requests."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numba
import pytest
from needed_packages import skip_without

import fastndcg as fn

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NEEDS = {"lightning_epochs": "pytorch_lightning"}
SAYS = {"own_loops": "of nDCG@10; the first relevant document is at rank", "lightning_epochs": "'val_ndcg': 0.9"}
SERVICE = "service"

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="the examples are about compiled code")


def run(*command):
    paths = [str(Path(fn.__file__).parents[1]), str(EXAMPLES), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SAYS, SERVICE}


@pytest.mark.parametrize("name", SAYS)
@pytest.mark.peers
def test_runs(name):
    if name in NEEDS:
        skip_without(NEEDS[name])
    assert SAYS[name] in run(EXAMPLES / f"{name}.py")


MANY_REQUESTS = """
    import json, threading, urllib.error, urllib.request
    from concurrent.futures import ThreadPoolExecutor
    import service

    labels = {f"q{i}": [i % 3, 1, 0, 2] for i in range(5)}
    server = service.serve(labels)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def ask(request):
        address = f"http://127.0.0.1:{server.server_port}"
        try:
            with urllib.request.urlopen(address, json.dumps(request).encode(), timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    requests = [{"query": f"q{i % 5}", "scores": [0.1 * (i % 7), 0.2, 0.3, 0.25]} for i in range(200)]
    requests += [{"query": "none", "scores": []}, {"query": "q1", "scores": [1]}, {"query": "q1", "scores": [None] * 4}]
    with ThreadPoolExecutor(8) as pool:
        print(json.dumps([requests, list(pool.map(ask, requests)), labels]))
    server.shutdown()
"""


def test_requests_from_many_threads():
    requests, answers, labels = json.loads(run("-c", textwrap.dedent(MANY_REQUESTS)))
    for request, (status, values) in zip(requests[:200], answers, strict=False):
        wanted = fn.evaluate([labels[request["query"]]], [request["scores"]], "ndcg@10, rr")
        assert status == 200
        assert values == pytest.approx(wanted.mean(), rel=1e-12)
    (unknown, why), (short, how_short), (broken, how_broken) = answers[200:]
    assert (unknown, short, broken) == (404, 400, 400)
    assert why == {"error": "unknown query or missing field: 'none'"}
    assert "`scores` must have the shape of `labels`, (1, 4), but has (1, 1)" in how_short["error"]
    assert "must not be NaN" in how_broken["error"]

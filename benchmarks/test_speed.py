"""
The workloads and the libraries under pytest-benchmark: `pytest benchmarks/ [--scale S]`.

Every test proves values before it times, and takes the time of its yardstick before each of its own rounds: the floor
for a workload, fastndcg for a library. What is saved are ratios to the yardstick: see conftest.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from contenders import CONTENDERS, agreement
from floor import floor
from peers import OURS, make
from peers import prove as prove_peer
from proof import prove
from timing import LEAST_REPEATS, timed
from workloads import RECIPES, ours
from workloads import make as make_workload

N_QUERIES, N_DOCUMENTS = 10_000, 100  # of the libraries' case


def time_in_turns(benchmark: Any, call: Callable[[], Any], yardstick: Callable[[], Any], name: str) -> None:
    """Time a call and its yardstick in turns."""
    taken: list[float] = []
    yardstick()
    benchmark.pedantic(call, setup=lambda: taken.append(timed(yardstick)[0]), rounds=LEAST_REPEATS, warmup_rounds=1)
    ratio = benchmark.stats.stats.min / min(taken)
    benchmark.extra_info.update({"yardstick": name, "yardstick seconds": min(taken), "ratio": ratio})


@pytest.mark.parametrize("name", RECIPES)
def test_workload(benchmark, scale, name):
    """A workload against the floor."""
    workload = make_workload(name, scale)
    evaluate = ours(workload)
    assert prove(workload, evaluate()) > 0
    time_in_turns(benchmark, evaluate, floor(workload), "floor")


@pytest.mark.parametrize("name", CONTENDERS)
def test_library(benchmark, scale, name):
    """A library against fastndcg."""
    entry = CONTENDERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reason = entry.absent()
        if reason:
            pytest.skip(f"{entry.package} is absent: {reason}")
        case = make(max(20, round(N_QUERIES * scale)), N_DOCUMENTS)
        assert prove_peer(entry, case) > 0
        call = entry.setup(case)
        found = agreement(entry, case, call())
        benchmark.extra_info["agreement"] = found
        assert found["agrees"], f"{name} differs by {found['difference']}"
        time_in_turns(benchmark, call, CONTENDERS[OURS].setup(case), OURS)

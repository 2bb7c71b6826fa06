"""Options of `pytest benchmarks/`, and what it saves: ratios within one run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_addoption(parser: Any) -> None:
    """Let the workloads be shrunk."""
    parser.addoption("--scale", type=float, default=1.0, help="share of the workloads' size, and of 10,000 queries")


@pytest.fixture
def scale(request: Any) -> float:
    """How far the workloads are shrunk."""
    return request.config.getoption("--scale")


def pytest_benchmark_update_json(config: Any, benchmarks: Any, output_json: Any) -> None:
    """Save ratios to the yardstick of the same run in the place of seconds."""
    del config, benchmarks
    for saved in output_json["benchmarks"]:
        yardstick = saved["extra_info"].get("yardstick seconds")
        if not yardstick:
            continue
        stats = saved["stats"]
        for name in ("min", "max", "mean", "stddev", "median", "iqr", "q1", "q3", "ld15iqr", "hd15iqr", "total"):
            stats[name] /= yardstick
        stats["ops"] *= yardstick
        stats["data"] = [seconds / yardstick for seconds in stats.get("data", ())]

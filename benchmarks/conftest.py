"""What `pytest benchmarks` has beside pytest-benchmark: the fixture `race`, a scale, and the machine in results."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # at the end: an installed fastndcg comes first

from benchmarks.data import count_cpus  # noqa: E402
from benchmarks.race import Race, Server  # noqa: E402
from benchmarks.record import describe_machine  # noqa: E402

SERVER = pytest.StashKey[Server]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the benchmarks, unless pytest-benchmark is missing, whose own options pytest then refuses."""
    if find_spec("pytest_benchmark") is None:
        raise pytest.UsageError("benchmarks need pytest-benchmark: .venv/bin/pip install -e . --group bench")
    group = parser.getgroup("benchmarks of fastndcg")
    group.addoption("--scale", type=float, default=1.0, help="share of the data's full size, such as 0.02 for a look")
    group.addoption("--serve", metavar="FDS", help="for scripts/bench --against")


def pytest_configure(config: pytest.Config) -> None:
    """Ignore warnings of the libraries that are compared with, and connect to `scripts/bench --against`."""
    config.addinivalue_line("filterwarnings", "ignore")
    if config.getoption("serve"):
        config.stash[SERVER] = Server(config.getoption("serve"))


def pytest_report_header(config: pytest.Config) -> str:
    """Name the package that is measured."""
    import fastndcg

    place = Path(fastndcg.__file__).parent
    return f"measures fastndcg of {place}, on {count_cpus()} CPUs, at scale {config.getoption('scale'):g}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the benchmarks in the order that `scripts/bench --against` requests."""
    if SERVER not in session.config.stash:
        return None
    session.config.stash[SERVER].run_items(session)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Pass the reason on why a benchmark does not run."""
    report = yield
    if SERVER in item.config.stash and not report.passed:
        item.config.stash[SERVER].note_problem(report)
    return report


def pytest_itemcollected(item: Any) -> None:
    """Group the benchmarks of a function, whose parameters a table then compares."""
    item.add_marker(pytest.mark.benchmark(group=f"{item.path.stem.removeprefix('bench_')}: {item.originalname}"))


def pytest_benchmark_update_machine_info(machine_info: dict[str, Any]) -> None:
    """Replace the machine's name and flags by its processor, and by the versions of what is compared."""
    description = describe_machine(machine_info)
    machine_info.clear()
    machine_info.update(description)


def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    """Store the scale beside the times."""
    output_json["scale"] = config.getoption("scale")


@pytest.fixture
def race(benchmark: Any, request: pytest.FixtureRequest) -> Race:
    """Return what proves and times a call."""
    server = request.config.stash.get(SERVER, None)
    return Race(benchmark, request.config.option, None if server is None else server.serve)

"""CPUs that a process may use, by affinity and quotas of control groups, and Numba's variables of the environment."""

import os
import threading

import numpy as np
import pytest
from fresh_processes import answer, start
from refusals import refused

import fastndcg as fn
from fastndcg.runtime import threads
from fastndcg.runtime.imports import check_numba_environment
from fastndcg.runtime.threads import NO_LIMIT, available_cpus, cgroup_limit

ALONE, POD = "0::/\n", "0::/pod/job\n"
HYBRID = "4:memory:/job\n1:name=systemd:/job\n0::/job\n"


@pytest.fixture
def limit(tmp_path):
    """Return a function that writes the groups of a process and the files of a mount, and reads the limit there."""

    def read(groups, files):
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        (tmp_path / "proc").mkdir(exist_ok=True)
        (tmp_path / "proc" / "cgroup").write_text(groups)
        return cgroup_limit(tmp_path / "proc", tmp_path)

    return read


@pytest.mark.parametrize(("groups", "files", "expected"), [
    (ALONE, {}, NO_LIMIT), (ALONE, {"cpu.max": "max 100000\n"}, NO_LIMIT), (ALONE, {"cpu.max": "200000 100000\n"}, 2),
    (ALONE, {"cpu.max": "150000 100000\n"}, 2), (ALONE, {"cpu.max": "1000 100000\n"}, 1),
    *((ALONE, {"cpu.max": text}, NO_LIMIT) for text in ("nonsense", "", "100000 0", "-1 100000")),
    (HYBRID, {"job/cpu.max": "200000 100000"}, 2),  # version 1 has a line for each controller
    # groups around
    (POD, {"pod/job/cpu.max": "200000 100000"}, 2), (POD, {"pod/cpu.max": "300000 100000"}, 3),
    (POD, {"pod/cpu.max": "300000 100000", "pod/job/cpu.max": "max 100000"}, 3),
    (POD, {"pod/cpu.max": "300000 100000", "pod/job/cpu.max": "400000 100000"}, 3),
    (POD, {"cpu.max": "100000 100000", "pod/cpu.max": "300000 100000"}, 1),
    (POD, {"pod/job/inner/cpu.max": "100000 100000", "other/cpu.max": "100000 100000"}, NO_LIMIT),
    # a container mounts its own group as the root, by whatever name the process knows it
    *((f"0::{group}\n", {"cpu.max": "200000 100000"}, 2) for group in ("/docker/7f", "/../../other", "/a:b c", "/")),
    *((text, {}, NO_LIMIT) for text in ("", "nonsense\n", "1:cpu\n")),
])  # fmt: skip
def test_cpu_quotas_of_control_groups(limit, groups, files, expected):
    assert limit(groups, files) == expected


def test_process_that_is_moved(limit):
    files = {"one/cpu.max": "100000 100000", "two/cpu.max": "200000 100000"}
    assert limit("0::/one\n", files) == 1
    assert limit("0::/one\n", {"one/cpu.max": "300000 100000"}) == 3
    assert limit("0::/two\n", {}) == 2


def test_system_without_control_groups(tmp_path):
    assert cgroup_limit(tmp_path / "proc") == NO_LIMIT


def test_available_cpus(monkeypatch):
    monkeypatch.setattr(threads, "cgroup_limit", lambda: 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert available_cpus() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5}, raising=False)
    assert available_cpus() == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cpus() == 1


def test_quotas_are_read_once_a_second(monkeypatch):
    now, limits = [100.2], iter([3, 2])
    monkeypatch.setattr(threads.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(threads, "cgroup_limit", lambda: next(limits))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert [available_cpus(), available_cpus()] == [3, 3]
    now[0] = 101.1
    assert [available_cpus(), available_cpus()] == [2, 2]


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_quota_limits_threads(monkeypatch, limit):
    """An evaluation starts one thread fewer than the quota has CPUs, because the calling thread works too."""
    monkeypatch.setattr(threads, "cgroup_limit", lambda: limit)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    started, start = [], threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (started.append(thread.name), start(thread)))
    random = np.random.default_rng(3)
    fn.evaluate(random.integers(0, 2, (100_000, 10), dtype="i1"), random.random((100_000, 10)), "rr")
    assert started == ["fastndcg"] * (limit - 1)


CODE = """
    import json
    import fastndcg as fn

    try:
        print(json.dumps(fn.ndcg([[1, 0]], [[2, 1]]).tolist()))
    except fn.InvalidInputError as error:
        print(json.dumps(str(error)))
"""


@pytest.mark.parametrize(("name", "value", "rule"), [
    ("NUMBA_NUM_THREADS", "0", "a whole number of 1 or more"),
    ("NUMBA_CPU_FEATURES", "nonsense", "features with + or - before each, such as +avx2,-avx512f"),
])  # fmt: skip
def test_a_wrong_value_is_an_error_where_numba_would_compile(name, value, rule):
    """Numba raises a traceback for no threads, and LLVM ends the process for such features."""
    message = f"the environment variable {name} must be {rule}, not '{value}'. Correct it, or unset it."
    assert answer(start(CODE, **{name: value, "FASTNDCG_MACHINE_CODE": "0"})) == message


@pytest.mark.parametrize(("name", "value", "rule"), [
    *(("NUMBA_NUM_THREADS", text, "a whole number of 1 or more") for text in ("", "-3", "1.5", "many")),
    *(("NUMBA_CPU_FEATURES", text, r"features with \+ or -") for text in ("avx2", "+avx2, -sse", "+avx2,", "+")),
    ("NUMBA_NUM_THREADS", "4", None), ("NUMBA_CPU_FEATURES", "", None), ("NUMBA_CPU_FEATURES", "+sse4.2,-avx", None),
])  # fmt: skip
def test_values_of_numbas_variables(monkeypatch, name, value, rule):
    monkeypatch.setenv(name, value)
    if rule is None:
        check_numba_environment()
    else:
        refused(f"{name} must be {rule}", check_numba_environment)

"""CPUs that a process may use: affinity, and quotas of control groups as hosts and containers mount them."""

import os
import threading

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.runtime import cpus
from fastndcg.runtime.cpus import NO_LIMIT, available_cpus, cgroup_limit

ALONE = "0::/\n"
HYBRID = "4:memory:/job\n3:cpu,cpuacct:/\n1:name=systemd:/job\n0::/job\n"


@pytest.fixture
def process(tmp_path):
    """
    Return a function that writes the folder of a process in /proc, and returns its path.

    `groups` and `mounts` are the texts of /proc/self/cgroup and mountinfo. In `mounts`, TMP is replaced by the folder
    that holds all `files`.
    """

    def make(groups, mounts, files):
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        folder = tmp_path / "proc"
        folder.mkdir()
        (folder / "cgroup").write_text(groups)
        (folder / "mountinfo").write_text(mounts.replace("TMP", str(tmp_path)))
        return folder

    return make


def version_2(seen="/", folder="TMP"):
    """Return a line of mountinfo for version 2, with the groups from `seen` on in `folder`."""
    return f"31 23 0:28 {seen} {folder} rw,nosuid - cgroup2 cgroup rw,nsdelegate\n"


def version_1(seen="/", folder="TMP/cpu,cpuacct", controllers="cpu,cpuacct"):
    """Return a line of mountinfo for version 1, with the hierarchy of some controllers in `folder`."""
    return f"33 31 0:30 {seen} {folder} rw shared:9 master:2 - cgroup cgroup rw,{controllers}\n"


def quota(share, folder="cpu,cpuacct"):
    """Return the quota files of version 1."""
    return {f"{folder}/cpu.cfs_quota_us": f"{share}\n", f"{folder}/cpu.cfs_period_us": "100000\n"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, NO_LIMIT),
        ({"cpu.max": "max 100000\n"}, NO_LIMIT),
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "1000 100000\n"}, 1),
        ({"cpu.max": "nonsense"}, NO_LIMIT),
        ({"cpu.max": ""}, NO_LIMIT),
        ({"cpu.max": "100000 0"}, NO_LIMIT),
        ({"cpu.max": "-1 100000"}, NO_LIMIT),
    ],
)
def test_cpu_quotas_of_control_groups(process, files, expected):
    """A quota is rounded up to whole CPUs, and a file without a valid quota gives no limit."""
    assert cgroup_limit(process(ALONE, version_2(), files)) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (quota(300_000), 3),
        (quota(-1), NO_LIMIT),
        ({"cpu,cpuacct/cpu.cfs_quota_us": "300000\n"}, NO_LIMIT),
        (quota(-1) | {"cpu.max": "100000 100000\n"}, NO_LIMIT),
    ],
)
def test_quotas_of_version_1(process, files, expected):
    """The quota of version 1 is read from two files of the cpu controller, and other hierarchies have no effect."""
    mounts = version_1(folder="TMP/memory", controllers="memory") + version_1() + version_2(folder="TMP/unified")
    other = quota(100_000, "memory") | quota(100_000, "unified") | quota(100_000, "cpu,cpuacct/job")
    assert cgroup_limit(process(HYBRID, mounts, files | other)) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pod/job/cpu.max": "200000 100000"}, 2),
        ({"pod/cpu.max": "300000 100000", "pod/job/cpu.max": "max 100000"}, 3),
        ({"pod/cpu.max": "300000 100000", "pod/job/cpu.max": "400000 100000"}, 3),
        ({"pod/cpu.max": "300000 100000"}, 3),
        ({"cpu.max": "100000 100000", "pod/cpu.max": "300000 100000"}, 1),
        ({"pod/job/inner/cpu.max": "100000 100000", "other/cpu.max": "100000 100000"}, NO_LIMIT),
    ],
)
def test_groups_around(process, files, expected):
    """The limit is the least quota of a group and of the groups that contain it. Other groups have no effect."""
    assert cgroup_limit(process("0::/pod/job\n", version_2(), files)) == expected


SEEN_IN_A_CONTAINER = pytest.mark.parametrize(
    ("seen", "folder"), [("/docker/7f", "."), ("/docker", "7f"), ("/", "docker/7f")]
)


@SEEN_IN_A_CONTAINER
def test_container_that_knows_its_host(process, seen, folder):
    """A process with the path of its host finds its quota if the mount shows all or some of the host's groups."""
    files = {f"{folder}/cpu.max": "200000 100000"}
    assert cgroup_limit(process("0::/docker/7f\n", version_2(seen), files)) == 2


@SEEN_IN_A_CONTAINER
def test_container_of_version_1(process, seen, folder):
    """A process finds its quota of version 1 if the mount shows all or some of the host's groups."""
    mounts = version_1(seen, "TMP/cpu", "cpuacct,cpu")
    assert cgroup_limit(process("3:cpuacct,cpu:/docker/7f\n", mounts, quota(500_000, f"cpu/{folder}"))) == 5


@pytest.mark.parametrize(("group", "seen"), [("/../../other", "/"), ("/somewhere/else", "/docker/7f")])
def test_group_outside_of_the_container(process, group, seen):
    """A process whose group is outside of the mount gets the quota of the mounted group."""
    assert cgroup_limit(process(f"0::{group}\n", version_2(seen), {"cpu.max": "200000 100000"})) == 2


def test_odd_names(process):
    """Colons and spaces in the name of a group, and escaped spaces in mountinfo, are read."""
    mounts = version_2(folder="TMP/a\\040folder")
    assert cgroup_limit(process("0::/a:b c\n", mounts, {"a folder/a:b c/cpu.max": "200000 100000"})) == 2


def test_process_that_is_moved(process):
    """A change of the quota or of the group takes effect at the next call."""
    files = {"one/cpu.max": "100000 100000", "two/cpu.max": "200000 100000"}
    folder = process("0::/one\n", version_2(), files)
    assert cgroup_limit(folder) == 1
    (folder.parent / "one" / "cpu.max").write_text("300000 100000")
    assert cgroup_limit(folder) == 3
    (folder / "cgroup").write_text("0::/two\n")
    assert cgroup_limit(folder) == 2


@pytest.mark.parametrize(
    ("groups", "mounts"),
    [("", ""), ("nonsense\n", version_2()), (ALONE, "nonsense\n"), (ALONE, ""), (ALONE, "1 2 3 / TMP rw - cgroup2\n")],
)
def test_files_that_say_nothing(process, groups, mounts):
    """Empty or malformed files of /proc give no limit and no error."""
    assert cgroup_limit(process(groups, mounts, {})) == NO_LIMIT


def test_system_without_control_groups(tmp_path):
    """A system without /proc has no limit."""
    assert cgroup_limit(tmp_path / "proc") == NO_LIMIT


def test_available_cpus(monkeypatch):
    """The number of CPUs is the lesser of affinity and quota, and 1 if affinity and CPU count are unknown."""
    monkeypatch.setattr(cpus, "cgroup_limit", lambda: 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert available_cpus() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5}, raising=False)
    assert available_cpus() == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cpus() == 1


def test_quotas_are_read_once_a_second(monkeypatch):
    """Calls within one second share one reading of the quotas, and the next second reads the quotas again."""
    now, limits = [100.2], iter([3, 2])
    monkeypatch.setattr(cpus.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(cpus, "cgroup_limit", lambda: next(limits))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert [available_cpus(), available_cpus()] == [3, 3]
    now[0] = 101.1
    assert [available_cpus(), available_cpus()] == [2, 2]


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_quota_limits_threads(monkeypatch, limit):
    """An evaluation starts one thread fewer than the quota has CPUs, because the calling thread works too."""
    monkeypatch.setattr(cpus, "cgroup_limit", lambda: limit)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    started, start = [], threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (started.append(thread.name), start(thread)))
    random = np.random.default_rng(3)
    fn.evaluate(random.integers(0, 2, (100_000, 10), dtype="i1"), random.random((100_000, 10)), "rr")
    assert started == ["fastndcg"] * (limit - 1)

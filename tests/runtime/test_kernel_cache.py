"""The cache of machine code: its location, the folders that it trusts, and its removal."""

import os
import stat
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest
from fresh_processes import COMPILE, EXPECTED, NO_FOLDER, NOBODY, answer, compile_toys, no_cache_of_the_users, start

from fastndcg.runtime import kernel_cache

STATE = "0123456789abcdef"
NEEDS_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows protects the user's folders itself")
NEEDS_ROOT = pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="needs root: files of other users")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FASTNDCG_CACHE_DIR", str(tmp_path / "cache"))
    found = kernel_cache.StateFolder(STATE)
    found.write("rank.nbc", b"machine code")
    assert found.read("rank.nbc") == b"machine code"
    return found.path


@pytest.fixture
def open_folder():
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize(("platform", "variables", "expected"), [
    ("linux", {}, "home/.cache/fastndcg"), ("linux", {"XDG_CACHE_HOME": "{0}/xdg"}, "xdg/fastndcg"),
    ("linux", {"XDG_CACHE_HOME": "relative"}, "home/.cache/fastndcg"), ("darwin", {}, "home/Library/Caches/fastndcg"),
    ("win32", {"LOCALAPPDATA": "{0}/local"}, "local/fastndcg"),
    ("linux", {"NUMBA_CACHE_DIR": "{0}/numba"}, "numba/fastndcg"),
    ("linux", {"NUMBA_CACHE_DIR": "{0}/numba", "FASTNDCG_CACHE_DIR": "{0}/own"}, "own"),
    ("linux", {"FASTNDCG_CACHE_DIR": "~/own"}, "home/own"),
])  # fmt: skip
def test_cache_folder_follows_the_system_and_the_environment(tmp_path, monkeypatch, platform, variables, expected):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR", "FASTNDCG_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"HOME": "{0}/home", "USERPROFILE": "{0}/home"} | variables).items():
        monkeypatch.setenv(name, value.format(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    assert kernel_cache.cache_root() == tmp_path / expected


def test_package_folder_stays_as_it_was(package_copy):
    before = sorted((package_copy / "fastndcg").rglob("*"))
    environment = {"FASTNDCG_CACHE_DIR": package_copy / "cache", "PYTHONDONTWRITEBYTECODE": 1}
    assert compile_toys(package_copy, **environment)[:2] == (0, 2)
    assert sorted((package_copy / "fastndcg").rglob("*")) == before
    assert list((package_copy / "cache").rglob("*.nbc"))


def test_files_of_another_kernel_are_not_used(tmp_path):
    *_, place = compile_toys(FASTNDCG_CACHE_DIR=tmp_path)
    files = sorted(Path(place).iterdir())
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents[1:] + contents[:1], strict=True):
        file.write_bytes(content)
    assert compile_toys(FASTNDCG_CACHE_DIR=tmp_path)[:2] == (0, 2)


@NEEDS_POSIX
@pytest.mark.parametrize(("place", "mode"), [("file", 0o666), ("folder", 0o777), ("folder", 0o1777), ("above", 0o777)])
def test_kernel_cache_ignores_folders_that_others_can_write(folder, place, mode):
    {"file": folder / "rank.nbc", "folder": folder, "above": folder.parent}[place].chmod(mode)
    assert kernel_cache.StateFolder(STATE).read("rank.nbc") is None
    again = kernel_cache.StateFolder(STATE)
    again.write("other.nbc", b"machine code")
    assert (folder / "other.nbc").exists() == (place == "file")
    assert (again.problem is None) == (place == "file")


@NEEDS_POSIX
def test_sticky_folders_and_folders_above_the_home_folder_are_trusted_and_links_are_not_read(folder, monkeypatch):
    folder.parent.chmod(0o1777)
    assert kernel_cache.StateFolder(STATE).read("rank.nbc") == b"machine code"
    monkeypatch.setenv("HOME", str(folder.parent))
    folder.parent.parent.chmod(0o777)
    assert kernel_cache.StateFolder(STATE).read("rank.nbc") == b"machine code"
    (folder.parent.parent / "elsewhere").write_bytes(b"machine code")
    (folder / "link.nbc").symlink_to(folder.parent.parent / "elsewhere")
    assert kernel_cache.StateFolder(STATE).read("link.nbc") is None


@NEEDS_POSIX
def test_what_is_no_file_is_not_read(folder):
    """A pipe without a writer would never open, a folder cannot be read."""
    os.mkfifo(folder / "pipe.nbc")
    (folder / "folder.nbc").mkdir()
    for name in ("pipe.nbc", "folder.nbc"):
        assert kernel_cache.StateFolder(STATE).read(name) is None


@NEEDS_ROOT
@pytest.mark.parametrize("place", ["file", "folder", "above"])
def test_kernel_cache_ignores_folders_of_other_users(folder, place):
    os.chown({"file": folder / "rank.nbc", "folder": folder, "above": folder.parent}[place], NOBODY, NOBODY)
    assert kernel_cache.StateFolder(STATE).read("rank.nbc") is None


@NEEDS_POSIX
def test_folder_is_the_users_alone_whatever_the_umask(tmp_path, monkeypatch):
    monkeypatch.setenv("FASTNDCG_CACHE_DIR", str(tmp_path / "new" / "cache"))
    before = os.umask(0)
    try:
        found = kernel_cache.StateFolder(STATE)
        found.write("rank.nbc", b"machine code")
    finally:
        os.umask(before)
    for path in (found.path / "rank.nbc", found.path, found.path.parent, found.path.parent.parent):
        assert not path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@NEEDS_ROOT
@pytest.mark.stress
def test_container_with_an_unknown_user(open_folder):
    environment = NO_FOLDER | {"FASTNDCG_CACHE_DIR": open_folder / "cache"}
    assert compile_toys(**environment)[:2] == (0, 2)
    become_nobody = """
        import os
        import numba, toy_kernels  # before: the interpreter's folders may be out of reach afterwards
        from fastndcg.kernels import compiler

        os.setgroups([])
        os.setgid(0)
        os.setuid(54321)
    """
    code = textwrap.dedent(become_nobody) + textwrap.dedent(COMPILE)
    values, hits, misses, cache, _ = answer(start(code, HOME="/", **environment))
    assert (values, hits, misses, cache is not None) == (EXPECTED, 2, 0, True)


def test_kernels_compile_in_memory_without_a_trusted_folder(open_folder, tmp_path):
    open_folder.chmod(0o777)
    assert compile_toys(FASTNDCG_CACHE_DIR=open_folder) == (0, 2, None)
    assert not list(open_folder.iterdir())
    assert compile_toys(**no_cache_of_the_users(tmp_path)) == (0, 2, None)


def test_old_states_are_pruned(folder):
    day = 86_400
    ages = {f"kernels-{n:016x}": n * 5 * day for n in range(10)}
    for name, age in ages.items():
        (folder.parent / name).mkdir()
        os.utime(folder.parent / name, (time.time() - age,) * 2)
    (folder.parent / "kernels").mkdir()
    os.utime(folder.parent / "kernels", (0, 0))
    kernel_cache.StateFolder("f" * 16).write("rank.nbc", b"")
    young = [name for name, age in ages.items() if age < kernel_cache.UNUSED_DAYS * day]
    assert sorted(os.listdir(folder.parent)) == sorted([*young, folder.name, "kernels", "kernels-" + "f" * 16])


def test_states_are_few(folder):
    for n in range(2 * kernel_cache.MAX_STATES):
        (folder.parent / f"kernels-{n:016x}").mkdir()
        os.utime(folder.parent / f"kernels-{n:016x}", (time.time() - 100 + n,) * 2)
    kernel_cache.StateFolder("f" * 16).write("rank.nbc", b"")
    left = sorted(os.listdir(folder.parent))
    assert len(left) == kernel_cache.MAX_STATES
    assert f"kernels-{2 * kernel_cache.MAX_STATES - 1:016x}" in left
    assert folder.name in left


def test_use_is_noted_and_a_removed_folder_is_made_again(folder):
    os.utime(folder, (0, 0))
    assert kernel_cache.StateFolder(STATE).read("rank.nbc") is not None
    assert folder.stat().st_mtime > time.time() - 3600
    found = kernel_cache.StateFolder(STATE)
    assert found.read("rank.nbc") is not None
    kernel_cache.clear()
    assert found.read("rank.nbc") is None
    found.write("rank.nbc", b"machine code")
    assert found.read("rank.nbc") == b"machine code"


def test_warmup_clear_removes_machine_code_alone(folder, shown):
    (folder.parent / "notes.txt").write_text("mine")
    (folder / "rank.nbc").write_bytes(b"0" * 2_000_000)
    assert shown("warmup", "--clear") == f"removed: 2.0 MB of machine code in {folder.parent}\n"
    assert [path.name for path in folder.parent.iterdir()] == ["notes.txt"]
    shown("warmup", "--clear")

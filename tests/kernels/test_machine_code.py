"""Machine code of kernels: its list, its build, where it comes from, and that faults fall back to Numba."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from fresh_processes import NOBODY, PACKAGE, answer, make_environment, start
from refusals import refused

from fastndcg.kernels import machine_code
from fastndcg.kernels.native import build, signatures
from fastndcg.kernels.native.signatures import NATIVE

SIGNATURES = "statistics.add_up u8[:] i8[:] i8[:] -> none\nstatistics.carry i8[:] -> none\n"
CARRY = """
    import json, sys
    if {is_blocked}:
        sys.modules["numba"] = sys.modules["llvmlite"] = None
    import numpy as np
    from fastndcg.kernels.native import signatures
    from fastndcg.kernels.statistics import carry
    limbs = np.array([2**33, 1])
    carry(limbs)
    sources = [signatures.find_source(signature) for signature in signatures.read_signatures()]
    print(json.dumps([limbs.tolist(), sources, signatures.describe_libraries()]))
"""
FROM_PACKAGE = r"package \((generic|x86-64-v[234])\)"
NEEDS_COMPILER = pytest.mark.skipif(
    not (os.environ.get("CC") or shutil.which("cc")), reason="no C compiler: machine code is built with one"
)
NOT_FOR_THE_LIST = {"metrics.custom.evaluate_custom_metric"}  # takes a function


def test_list_of_signatures_is_complete_sorted_and_has_different_codes():
    listed = {signature.place for signature in signatures.read_signatures()}
    known = {place for place in signatures.find_kernels() if not place.startswith("single_query.")}
    assert listed == known - NOT_FOR_THE_LIST
    lines = (NATIVE / "signatures.txt").read_text().splitlines()[1:]
    assert lines == sorted(set(lines))
    keys = [(signature.place, signature.code) for signature in signatures.read_signatures()]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("line", ["metrics.gains.dcg f8[:]", "metrics.gains.dcg f8[:] -> text", "no place"])
def test_wrong_lines_are_refused(line, monkeypatch, tmp_path):
    (tmp_path / "signatures.txt").write_text(f"{line}\n")
    monkeypatch.setattr(signatures, "NATIVE", tmp_path)
    refused(re.escape(repr(line)), signatures.read_signatures, error=signatures.BuildError)


def test_dependencies_are_the_imports_of_a_file():
    modules = ("ranking.rank", "inputs.ids", "metrics.cascades")
    found = build.find_dependencies([line for line in signatures.read_signatures() if line.module in modules])
    assert found["ranking.rank"] >= {"ranking/rank.py", "ranking/candidates.py", "simd.py", "intrinsics.py"}
    assert "shared.py" in found["inputs.ids"]
    assert "ranking/rank.py" not in found["metrics.cascades"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    folder.chmod(0o755)
    ignored = shutil.ignore_patterns("__pycache__", "built")
    shutil.copytree(PACKAGE, folder / "fastndcg", ignore=ignored)
    (folder / "fastndcg" / "kernels" / "native" / "signatures.txt").write_text(SIGNATURES)
    run_build(folder, "--output", folder / "fastndcg" / "kernels" / "built")
    return folder


def run_build(folder, *arguments, **environment):
    command = [sys.executable, "-P", "-m", "fastndcg.kernels.native.build", *map(str, arguments)]
    given = make_environment(folder, FASTNDCG_CACHE_DIR=folder / "cache", **environment)
    return subprocess.run(command, env=given, check=True, capture_output=True, text=True).stderr


@pytest.fixture
def copy(built, tmp_path):
    shutil.copytree(built / "fastndcg", tmp_path / "fastndcg")
    return tmp_path, tmp_path / "fastndcg" / "kernels" / "built"


def carry(folder, *, is_blocked=False, expected=(0, 3), **environment):
    """Run a kernel of a copy of the package, check its value, and return the sources and the state of the libraries."""
    code = CARRY.format(is_blocked=is_blocked)
    values, sources, state = answer(start(code, folder, FASTNDCG_CACHE_DIR=folder / "cache", **environment))
    assert values == [*expected]
    return sources, "\n".join(state)


def change_table(folder, change):
    table = json.loads((folder / "table.json").read_text())
    del table["sha256"]
    change(table)
    (folder / "table.json").write_bytes(machine_code.sign(json.dumps(table)[1:].encode()))


@NEEDS_COMPILER
def test_machine_code_runs_without_numba(built):
    sources, state = carry(built, is_blocked=True)
    assert all(re.fullmatch(FROM_PACKAGE, source) for source in sources), sources
    assert "machine code in the package: " in state


@NEEDS_COMPILER
def test_a_build_compiles_what_changed(built):
    assert run_build(built, "--output", built / "again").startswith("0 signatures compiled")
    table = json.loads((built / "again" / "table.json").read_text())
    assert set(table["kernels"]) == {"statistics.add_up", "statistics.carry"}
    source = built / "fastndcg" / "kernels" / "statistics.py"
    content = source.read_text()
    source.write_text(f"{content}# edited\n")
    try:
        assert run_build(built, "--output", built / "again").count("2 signatures compiled") == 1
    finally:
        source.write_text(content)


@NEEDS_COMPILER
@pytest.mark.stress
def test_two_builds_give_the_same_bytes(built):
    folders = [built / "fastndcg" / "kernels" / "built", built / "second"]
    shutil.rmtree(built / "cache" / "objects", ignore_errors=True)
    assert "2 signatures compiled" in run_build(built, "--output", folders[1])
    contents = [{file.name: file.read_bytes() for file in folder.iterdir()} for folder in folders]
    assert contents[0] == contents[1]


@NEEDS_COMPILER
@pytest.mark.stress
def test_two_processes_build_at_once(built):
    target = built / "shared"
    command = [sys.executable, "-P", "-m", "fastndcg.kernels.native.build", "--output", str(target)]
    given = make_environment(built, FASTNDCG_CACHE_DIR=built / "other_cache")
    processes = [subprocess.Popen(command, env=given, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(timeout=300) for process in processes] == [0, 0]
    library = machine_code.Library(target, lambda name: (target / name).read_bytes())
    assert library.problem is None
    assert library.find("statistics.carry", pytest.fail)(np.array([2**33, 1])) is None


@pytest.fixture(scope="module")
def cached(built, tmp_path_factory):
    """Return a folder with a package without machine code, and the folder of its machine code in the user's cache."""
    folder = tmp_path_factory.mktemp("cached")
    folder.chmod(0o755)
    shutil.copytree(built / "fastndcg", folder / "fastndcg", ignore=shutil.ignore_patterns("built"))
    code = "import fastndcg as fn, json; print(json.dumps(fn.warmup().cache))"
    cache = Path(answer(start(code, folder, FASTNDCG_CACHE_DIR=folder / "cache")))
    assert cache.is_relative_to(folder / "cache")
    return folder, cache


@NEEDS_COMPILER
def test_machine_code_in_the_cache_serves_a_package_without(cached):
    folder, cache = cached
    sources, _ = carry(folder, is_blocked=True)
    assert all(source.startswith("cache (") for source in sources), sources
    cache.chmod(0o777)
    sources, state = carry(folder)
    cache.chmod(0o755)
    assert sources == ["Numba", "Numba"]
    assert "other users can write it" in state


@NEEDS_COMPILER
@pytest.mark.stress
def test_warmup_without_a_c_compiler_fills_the_cache_of_numba(copy):
    folder, package = copy
    shutil.rmtree(package)
    code = """
        import sys, json
        sys.modules["ziglang"] = None
        import fastndcg as fn
        lines = []
        print(json.dumps([fn.warmup(progress=lines.append).cache, lines]))
    """
    cache, lines = answer(start(code, folder, FASTNDCG_CACHE_DIR=folder / "cache", PATH="", CC=""))
    assert "no C compiler was found" in lines[0]
    assert len(list(Path(cache).glob("*.nbc"))) == 2


FAULTS = {
    "a damaged library": ("is damaged", lambda folder: damage(next(folder.glob("kernels-*")))),
    "a library that is cut off": ("is damaged", lambda folder: next(folder.glob("kernels-*")).write_bytes(b"")),
    "a damaged trampoline": ("is damaged", lambda folder: damage(next(folder.glob("_trampoline-*")))),
    "no library": ("is missing", lambda folder: next(folder.glob("kernels-*")).unlink()),
    "a table that is cut off": ("table.json is damaged", lambda folder: (folder / "table.json").write_text("{")),
    "a table without a digest": ("table.json is damaged", lambda folder: (folder / "table.json").write_text("{}")),
    "a table with another name": ("table.json is damaged", lambda folder: edit(folder / "table.json")),
    "a table of another kind": ("KeyError", lambda folder: change_table(folder, lambda table: table.pop("platform"))),
    "another format": ("has format 99", lambda folder: change_table(folder, lambda table: table.update(format=99))),
    "another platform": ("it was built for", lambda folder: change_table(folder, lambda t: t.update(platform="vax"))),
    "a processor level that is too high": ("this processor is below level 9",
        lambda folder: change_table(folder, lambda table: table["libraries"][0].update(level=9))),
    "a missing symbol": ("has no symbol fn_absent",
        lambda folder: change_table(folder, lambda t: [row.__setitem__(1, "fn_absent") for row in all_rows(t)])),
}  # fmt: skip


def all_rows(table):
    return [row for rows in table["kernels"].values() for row in rows]


def edit(table):
    """Change one letter of a file of kernels among the dependencies."""
    before = table.read_bytes()
    table.write_bytes(before.replace(b'"statistics": [', b'"statistict": [', 1))
    assert table.read_bytes() != before


def damage(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@NEEDS_COMPILER
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_said_and_no_machine_code_is_used(built, tmp_path, fault):
    message, plant = FAULTS[fault]
    folder = shutil.copytree(built / "fastndcg" / "kernels" / "built", tmp_path / "built")
    plant(folder)
    library = machine_code.Library(
        folder, lambda name: (folder / name).read_bytes() if (folder / name).exists() else None
    )
    assert library.find("statistics.carry", pytest.fail) is None
    assert message in library.problem


@NEEDS_COMPILER
def test_a_fault_falls_back_to_numba(copy):
    folder, package = copy
    damage(next(package.glob("kernels-*")))
    sources, state = carry(folder)
    assert sources == ["Numba", "Numba"]
    assert "is damaged" in state


@NEEDS_COMPILER
@pytest.mark.stress
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="needs root: files of other users")
def test_libraries_of_other_users_in_the_cache_are_not_loaded(cached):
    folder, cache = cached
    library = next(cache.glob("kernels-*"))
    os.chown(library, NOBODY, NOBODY)
    sources, state = carry(folder)
    os.chown(library, os.geteuid(), os.getegid())
    assert sources == ["Numba", "Numba"]
    assert "may have been written by another user" in state


@NEEDS_COMPILER
def test_a_kernel_that_was_edited_runs_as_edited(copy):
    folder, _ = copy
    source = folder / "fastndcg" / "kernels" / "statistics.py"
    source.write_text(source.read_text().replace("out_limbs[i + 1] += over", "out_limbs[i + 1] += over + 5"))
    sources, _ = carry(folder, expected=(0, 8))
    assert sources == ["Numba, since statistics.py was edited after the build of the package"] * 2


@NEEDS_COMPILER
def test_machine_code_can_be_switched_off(built):
    sources, state = carry(built, FASTNDCG_MACHINE_CODE=0)
    assert sources == ["Numba", "Numba"]
    assert "none is used" in state


@NEEDS_COMPILER
@pytest.mark.parametrize("level", [2, pytest.param(3, marks=pytest.mark.stress)])
def test_the_environment_can_leave_out_higher_levels(copy, level):
    folder, package = copy
    if json.loads((package / "table.json").read_text())["libraries"][0]["level"] < level:
        pytest.skip("the libraries of this processor have no such level")
    change_table(package, lambda table: table["libraries"].append(table["libraries"][0] | {"level": level}))
    sources, _ = carry(folder, FASTNDCG_MACHINE_CODE=level)
    assert sources == [f"package (x86-64-v{level})"] * 2


@NEEDS_COMPILER
@pytest.mark.stress
def test_other_types_go_to_numba(built):
    code = """
        import json, sys
        import numpy as np
        from fastndcg.kernels.statistics import carry
        limbs = [np.array([2**33, 1]), np.array([9, 2**33, 1, 9])[1:3], np.array([2**33, 0, 1, 0])[::2]]
        for one in limbs:
            carry(one)
        is_loaded = "numba" in sys.modules
        big = np.array([2**33, 1]).astype(">i8")
        message = ""
        try:
            sys.modules["numba"] = None if not is_loaded else sys.modules["numba"]
            carry(np.array([1, 1], "u1"))
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
        print(json.dumps([[one.tolist() for one in limbs], message]))
    """
    values, message = answer(start(code, built, FASTNDCG_CACHE_DIR=built / "cache"))
    assert values == [[0, 3]] * 3
    assert message == ""
    without_steps = textwrap.dedent(code).replace(", np.array([2**33, 0, 1, 0])[::2]", "")
    blocked = f"import sys; sys.modules['numba'] = None\n{without_steps}"
    values, message = answer(start(blocked, built, FASTNDCG_CACHE_DIR=built / "cache"))
    assert values == [[0, 3]] * 2
    assert message.startswith("MissingPackageError: compiling a kernel or a function of yours needs numba")
    assert message.endswith("pip install numba")


@NEEDS_COMPILER
def test_arguments_keep_their_types_apart(built):
    trampoline, handle = load(built)
    signature = [["if", next_symbol(built), "n", False]]
    seen = []
    kernel = trampoline.make_kernel("toy", handle, signature, lambda *arguments: seen.append(arguments))
    for arguments in [
        (1, 1), (True, 1.0), (1.0, 1), (np.uint64(1), 1.0), (None, 1.0), ((1,), 1.0), (1,), (), (1, 1.0, 1),
        (2**63, 1.0), (np.zeros(1), 1.0), ("1", 1.0), (np.float32(1), 1.0),
    ]:  # fmt: skip
        kernel(*arguments)
        assert len(seen) == 1
        assert seen.pop() == arguments or isinstance(arguments[0], np.ndarray)


def load(folder):
    package = folder / "fastndcg" / "kernels" / "built"
    table = json.loads((package / "table.json").read_text())
    trampoline = machine_code.import_trampoline(package / table["trampoline"]["file"])
    return trampoline, trampoline.open_library(str(package / table["libraries"][0]["file"]))


def next_symbol(folder):
    table = json.loads((folder / "fastndcg" / "kernels" / "built" / "table.json").read_text())
    return all_rows(table)[0][1]


@NEEDS_COMPILER
def test_errors_of_the_fallback_reach_the_caller(built):
    trampoline, handle = load(built)

    def fail(*arguments):
        raise ValueError(arguments)

    kernel = trampoline.make_kernel("toy", handle, [["i", next_symbol(built), "n", False]], fail)
    refused("text", kernel, "text", error=ValueError)
    with pytest.raises(LookupError, match="no symbol fn_absent"):
        trampoline.make_kernel("toy", handle, [["i", "fn_absent", "n", False]], fail)

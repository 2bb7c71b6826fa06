"""Compilation in fresh processes: light imports, caches that are absent, broken or shared, and the line on stderr."""

import hashlib
import json
import pickle
import shutil
import textwrap
from itertools import cycle
from pathlib import Path

import pytest
from fresh_processes import COMPILE, EXPECTED, answer, compile_toys, start

HINT = "; a built wheel or `fastndcg warmup` has them\n"
INTEGRATED = ("lightgbm", "xgboost", "catboost", "sklearn", "duckdb", "polars")
LINE = f"fastndcg: compiling kernels as they are needed, about 0.6 s each{HINT}"


@pytest.mark.parametrize(("use", "absent"), [
    ("fn.Metric.parse('P(rel=2)@5'), fn.nDCG @ 10, fn.conventions, fn.CATALOG, dir(fn)",
        ["numba", "llvmlite", "numpy", "pandas", "polars", "pyarrow", "tqdm", "scipy"]),
    ("fn.Rankings([1], [1], [0, 1])", ["numba", "pandas", "pyarrow"]),
    ("fn.Qrels({'q': {'d': 1}}), fn.evaluate([[1]], [[1]], 'ndcg')", ["pandas", "polars", "pyarrow", "tqdm"]),
    (f"import {', '.join(f'fastndcg.integrations.{name}' for name in INTEGRATED)}", ["numba", "pandas", *INTEGRATED]),
])  # fmt: skip
def test_import_loads_no_numba_or_optional_package(use, absent):
    compile_one = "numba" not in absent  # numba's first compilation imports what extends it, such as awkward
    code = f"""
        import json, sys
        if {compile_one}:
            import numba
            numba.njit(lambda: 0)()
        before = set(sys.modules)
        import fastndcg as fn
        {use}
        print(json.dumps([name for name in {absent!r} if name in sys.modules and name not in before]))
    """
    assert answer(start(code)) == []


def test_import_from_both_ends():
    code = """
        import json, sys, threading, time
        import fastndcg as fn

        class Slow:
            def find_spec(self, name, path, target=None):
                if name.startswith("fastndcg.explaining"):
                    time.sleep(0.2)

        def use(name):
            try:
                found[name] = getattr(fn, name).__name__
            except BaseException as error:
                found[name] = repr(error)

        sys.meta_path.insert(0, Slow())
        found = {}
        threads = [threading.Thread(target=use, args=[name]) for name in ("explain", "Explanation")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(json.dumps(found))
    """
    assert answer(start(code)) == {"explain": "explain", "Explanation": "Explanation"}


def test_numbas_configuration_is_left_alone():
    code = """
        import json, os
        import numba
        names = ("NUMBA_NUM_THREADS", "THREADING_LAYER", "CACHE_DIR", "DISABLE_JIT", "BOUNDSCHECK")
        state = lambda: [numba.get_num_threads(), dict(os.environ), *(str(getattr(numba.config, n)) for n in names)]
        before = state()
        import fastndcg as fn
        fn.evaluate([[1]], [[1]], "ndcg,map,rr")
        print(json.dumps(before == state()))
    """
    assert answer(start(code)) is True


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Return a folder with the cache of a process that announced what it compiled, and the cache's own folder in it."""
    root = tmp_path_factory.mktemp("filled")
    process = start(COMPILE, FASTNDCG_CACHE_DIR=root, FASTNDCG_QUIET=0)
    out, errors = process.communicate(timeout=600)
    values, hits, misses, cache, _ = json.loads(out)
    assert (values, hits, misses, errors) == (EXPECTED, 0, 2, LINE)
    assert Path(cache).is_relative_to(root)
    return root, Path(cache)


@pytest.fixture
def cache_copy(filled, tmp_path):
    """Return a copy of the filled cache: its root and the cache's own folder in it."""
    root, cache = filled
    shutil.copytree(root, tmp_path / "copy")
    return tmp_path / "copy", tmp_path / "copy" / cache.relative_to(root)


def test_cache_is_found_again_and_compilation_is_announced_once(filled):
    root, cache = filled
    process = start(COMPILE, FASTNDCG_CACHE_DIR=root, FASTNDCG_QUIET=0)
    assert answer(process)[:4] == [EXPECTED, 2, 0, str(cache)]  # and nothing on stderr


def test_edited_kernels_are_compiled_again(package_copy):
    assert compile_toys(package_copy, FASTNDCG_CACHE_DIR=package_copy / "cache")[:2] == (0, 2)
    with (package_copy / "fastndcg" / "kernels" / "simd.py").open("a") as file:
        file.write("\n# edited\n")
    assert compile_toys(package_copy, FASTNDCG_CACHE_DIR=package_copy / "cache")[:2] == (0, 2)


def broken(content):
    """Return a cycle of broken contents of a cache file, where None means a folder in place of the file."""
    wrong = pickle.dumps("not machine code")
    return cycle([
        b"", b"garbage" * 1000, content[: len(content) // 2], content[:-1],
        hashlib.sha256(b"garbage").digest() + b"garbage", hashlib.sha256(wrong).digest() + wrong, None,
    ])  # fmt: skip


@pytest.mark.parametrize("n_rounds", [1, pytest.param(4, marks=pytest.mark.stress)])  # in four, every way comes up
def test_cache_full_of_garbage(cache_copy, n_rounds):
    root, cache = cache_copy
    files = sorted(cache.iterdir())
    assert len(files) == 2
    ways = broken(files[0].read_bytes())
    for _ in range(n_rounds):
        for file, content in zip(files, ways, strict=False):
            file.rmdir() if file.is_dir() else file.unlink()
            if content is None:
                file.mkdir()
            else:
                file.write_bytes(content)
        assert compile_toys(FASTNDCG_CACHE_DIR=root)[0] == 0
        assert compile_toys(FASTNDCG_CACHE_DIR=root)[0] >= 1
        assert sorted(cache.iterdir()) == files


@pytest.mark.stress
def test_four_processes_compile_at_once(tmp_path):
    processes = [start(COMPILE, FASTNDCG_CACHE_DIR=tmp_path) for _ in range(4)]
    answers = [answer(process) for process in processes]
    assert [values for values, *_ in answers] == [EXPECTED] * 4
    hits, misses, cache = compile_toys(FASTNDCG_CACHE_DIR=tmp_path)
    assert (hits, misses) == (2, 0)
    assert {path.suffix for path in Path(cache).iterdir()} == {".nbc"}


def test_cache_keeps_sizes_of_vectors_apart(tmp_path):
    assert compile_toys(FASTNDCG_CACHE_DIR=tmp_path, FASTNDCG_BUILD_LEVEL=2)[:2] == (0, 2)
    assert compile_toys(FASTNDCG_CACHE_DIR=tmp_path, FASTNDCG_BUILD_LEVEL=3)[:2] == (0, 2)


@pytest.mark.parametrize("quiet", [1, pytest.param(0, marks=pytest.mark.stress)])
def test_nothing_is_announced_if_switched_off_or_without_stderr(tmp_path, quiet):
    code = f"import sys; sys.stderr = sys.stderr if {quiet} else None\n" + textwrap.dedent(COMPILE)
    assert answer(start(code, FASTNDCG_CACHE_DIR=tmp_path, FASTNDCG_QUIET=quiet))[:3] == [EXPECTED, 0, 2]

"""Compilation in fresh processes, with light imports and with absent, unwritable, broken or shared caches."""

import hashlib
import os
import pickle
import re
import subprocess
import sys
import textwrap
from itertools import cycle
from pathlib import Path

import pytest
from fresh_processes import EVALUATE, EXPECTED, NOBODY, answer, evaluated, no_cache_of_the_users, start


@pytest.mark.parametrize(
    ("use", "absent"),
    [
        ("", ["numba", "llvmlite", "numpy", "pandas", "polars", "pyarrow", "tqdm", "scipy"]),
        ("fn.Metric.parse('P(rel=2)@5'), fn.nDCG @ 10, fn.conventions, fn.CATALOG, dir(fn)", ["numba", "numpy"]),
        ("fn.Rankings([1], [1], [0, 1])", ["numba", "pandas", "pyarrow"]),
        ("fn.Qrels.from_dict({'q': {'d': 1}})", ["pandas", "polars", "pyarrow", "tqdm"]),
        ("fn.evaluate([[1]], [[1]], 'ndcg')", ["pandas", "polars", "pyarrow", "tqdm"]),
    ],
)
def test_import_loads_no_numba_or_optional_package(use, absent):
    """Neither numba nor numpy nor an optional package is imported before it is needed."""
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
    assert answer(start(code, None)) == []


def test_import_from_both_ends():
    """Two threads that import names of one package at the same time both get their objects."""
    code = """
        import json, sys, threading, time
        import fastndcg as fn

        class Slow:
            def find_spec(self, name, path, target=None):
                if name.startswith("fastndcg.explain"):
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
    assert answer(start(code, None)) == {"explain": "explain", "Explanation": "Explanation"}


def test_numbas_configuration_is_left_alone():
    """An evaluation changes neither the configuration and threads of numba nor the environment of the host process."""
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
    assert answer(start(code, None)) is True


def test_cache_is_found_again(tmp_path):
    """A process loads the kernels that an earlier process compiled."""
    hits, misses, cache = evaluated(FASTNDCG_CACHE_DIR=tmp_path)
    assert (hits, misses) == (0, 2)
    assert Path(cache).is_relative_to(tmp_path)
    assert evaluated(FASTNDCG_CACHE_DIR=tmp_path) == (2, 0, cache)


def test_machine_code_needs_no_compiler(tmp_path):
    """Kernels from the cache load neither modules of numba's compiler nor packages that extend numba."""
    code = """
        import json, sys
        import fastndcg as fn
        values = fn.evaluate([[1, 0, 2], [0, 0, 1]], [[1.0, 2.0, 3.0]] * 2, "ndcg@2,map,rr").values.tolist()
        compilers = [name for name in ("numba.np.arraymath", "scipy.linalg", "awkward") if name in sys.modules]
        print(json.dumps([values, compilers]))
    """
    compiled, _ = answer(start(code, None, FASTNDCG_CACHE_DIR=tmp_path))
    assert answer(start(code, None, FASTNDCG_CACHE_DIR=tmp_path)) == [compiled, []]


def test_rare_kernels_compile_on_first_use():
    """Small grades compile no kernel that ranks the ideal, but large grades and fractions do."""
    code = """
        import json
        import fastndcg as fn
        from fastndcg.kernels.ranking import ideal, many_candidates as open

        def compiled(labels):
            fn.ndcg(labels, [4.0, 3.0, 2.0], [0, 3], k=10)
            return [len(kernel.signatures) for kernel in (ideal.rank_ideal, ideal.rank_ideal_rest, open.rank_remaining)]

        print(json.dumps([compiled([1, 0, 1]), compiled([1, 31, 2]), compiled([0.5, 1.5, 0.25])]))
    """
    assert answer(start(code, None)) == [[0, 0, 0], [1, 0, 0], [1, 1, 0]]


@pytest.mark.stress
def test_edited_kernels_are_compiled_again(package_copy):
    """A kernel compiles again after an edit of a file whose functions the kernel calls."""
    assert evaluated(package_copy, FASTNDCG_CACHE_DIR=package_copy / "cache")[:2] == (0, 2)
    assert evaluated(package_copy, FASTNDCG_CACHE_DIR=package_copy / "cache")[:2] == (2, 0)
    with (package_copy / "fastndcg" / "kernels" / "ranking" / "sorting.py").open("a") as file:
        file.write("\n# edited\n")
    assert evaluated(package_copy, FASTNDCG_CACHE_DIR=package_copy / "cache")[:2] == (0, 2)


def test_cache_that_cannot_be_written(package_copy):
    """All kernels compile in memory if no cache folder can be made."""
    hits, _, cache = evaluated(package_copy, PYTHONDONTWRITEBYTECODE=1, **no_cache_of_the_users(package_copy))
    assert hits == 0
    assert cache is None


def broken(content):
    """Return a cycle of broken contents of a cache file, where None means a folder in place of the file."""
    wrong = pickle.dumps("not machine code")
    return cycle(
        [
            b"",
            b"garbage" * 1000,
            content[: len(content) // 2],
            content[:-1],
            hashlib.sha256(b"garbage").digest() + b"garbage",
            hashlib.sha256(wrong).digest() + wrong,
            None,
        ]
    )


@pytest.mark.stress
def test_cache_full_of_garbage(tmp_path):
    """Empty, truncated and foreign cache files, and folders in their place, are replaced and then found again."""
    _, _, cache = evaluated(FASTNDCG_CACHE_DIR=tmp_path)
    files = sorted(Path(cache).iterdir())
    assert len(files) >= 3
    ways = broken(files[0].read_bytes())
    for _ in range(3):  # so that every way comes up
        for file, content in zip(files, ways, strict=False):
            file.rmdir() if file.is_dir() else file.unlink()
            if content is None:
                file.mkdir()
            else:
                file.write_bytes(content)
        assert evaluated(FASTNDCG_CACHE_DIR=tmp_path)[0] == 0
        assert evaluated(FASTNDCG_CACHE_DIR=tmp_path)[0] >= 1
        assert sorted(Path(cache).iterdir()) == files


@pytest.mark.stress
def test_four_processes_compile_at_once(tmp_path):
    """Four processes that compile into one empty folder give the right values and leave a complete cache."""
    processes = [start(EVALUATE, None, FASTNDCG_CACHE_DIR=tmp_path) for _ in range(4)]
    answers = [answer(process) for process in processes]
    assert [values for values, *_ in answers] == [EXPECTED] * 4
    hits, misses, cache = evaluated(FASTNDCG_CACHE_DIR=tmp_path)
    assert (hits, misses) == (2, 0)
    assert {path.suffix for path in Path(cache).iterdir()} == {".nbc"}


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="this system has no other user to become")
@pytest.mark.parametrize("home", ["writable", "none"])
@pytest.mark.stress
def test_read_only_install(package_copy, home):
    """A user without write access to the package gets a cache in the home folder, or no cache without one."""
    environment = no_cache_of_the_users(package_copy)
    if home == "writable":
        own = package_copy / "home"
        own.mkdir()
        environment |= {"HOME": own, "XDG_CACHE_HOME": own / "cache"}
        if os.getuid() == 0:
            os.chown(own, NOBODY, NOBODY)
    for path in [*(package_copy / "fastndcg").rglob("*"), package_copy / "fastndcg"]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    package_copy.chmod(0o555)
    # all that is imported late is imported first: without root's rights the interpreter itself may be out of reach
    become_nobody = f"""
    import os, sys
    import fastndcg as fn
    import numba
    fn.evaluate([[1]], [[1]], "rr")
    numba.njit(lambda: 0)()
    for name in [name for name in sys.modules if name.partition(".")[0] == "fastndcg"]:
        del sys.modules[name]
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid({NOBODY})
        os.setuid({NOBODY})
    sys.path.insert(0, {str(package_copy)!r})
    """
    process = start(textwrap.dedent(become_nobody) + textwrap.dedent(EVALUATE), None, **environment)
    values, _, _, cache, file = answer(process)
    assert values == EXPECTED
    assert Path(file).is_relative_to(package_copy)
    if home == "writable":
        assert Path(cache).is_relative_to(package_copy / "home")
        assert any(path.suffix == ".nbc" for path in Path(cache).iterdir())
    else:
        assert cache is None
    assert not list((package_copy / "fastndcg").rglob("__pycache__"))


@pytest.mark.stress
def test_warmup_leaves_nothing_to_compile(tmp_path):
    """`fastndcg warmup` prints its steps and the cache folder. Evaluations and comparisons then compile no kernel."""
    line = [sys.executable, "-P", "-W", "error", "-m", "fastndcg", "warmup"]
    environment = os.environ | {"FASTNDCG_CACHE_DIR": str(tmp_path)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0
    steps = done.stderr.splitlines()
    pattern = r"fastndcg: warmup (\d+)/(\d+): .+, (\d+) kernels"
    numbers = [tuple(map(int, re.fullmatch(pattern, step).groups())) for step in steps]
    assert [(place, total) for place, total, _ in numbers] == [(n + 1, len(steps)) for n in range(len(steps))]
    assert numbers[0][2] == 0 < numbers[1][2] < numbers[-1][2]
    place, seconds = done.stdout.splitlines()
    folder = Path(place.removeprefix("machine code: "))
    assert folder.is_relative_to(tmp_path)
    assert any(folder.iterdir())
    assert re.fullmatch(r"took: \d+\.\d s", seconds)
    code = """
        import json
        import numpy as np
        from numba.core import event
        import fastndcg as fn

        class Watch(event.Listener):
            def on_start(self, compiling):
                compiled.append(compiling.data["dispatcher"].py_func.__name__)

            def on_end(self, compiling):
                pass

        fn.warmup()
        compiled = []
        event.register("numba:compile", Watch())
        plain = (fn.Metric(name) for name, record in fn.CATALOG.items() if not record.by_subtopic)
        every = [*plain, "dcg(gain=exp2)", "dcg(gain=[0,1,3,7])", "dcg(rel=2)"]
        every += ["P@1", "P@5", "AP@1", "AP@5", "nDCG@1", "nDCG@5", "IPrec(recall=0.1)", "Rprec(mult=2)"]
        for n in (10, 300):
            labels = np.arange(n) * 7 % 4
            scores = np.arange(n) * 5 % 7
            for label_dtype in ("?", "u1", "i1", "i2", "i4", "i8", "f4", "f8"):
                for score_dtype in ("f4", "f8"):
                    arrays = labels.astype(label_dtype), scores.astype(score_dtype)
                    for ties in ("average", "input", "best", "worst"):
                        valued = [metric for metric in every if ties in fn.Metric.parse(str(metric)).record.ties]
                        for metrics in (valued, "ndcg@10"):
                            fn.evaluate(*arrays, metrics, offsets=[0, n], convention=f"default(ties={ties})")
            fn.evaluate(labels * 0.3, scores, "ndcg@10", offsets=[0, n])
        for score_dtype in ("f4", "f8"):
            fn.evaluate(np.arange(3000) % 4, (np.arange(3000) % 1999).astype(score_dtype), "ndcg", offsets=[0, 3000])
        scores = np.arange(120).reshape(40, 3) * 5 % 7
        for n, test in ((40, "randomization"), (10, "randomization"), (40, "tukey")):
            systems = {"a": scores[:n], "b": -scores[:n]}
            fn.compare(np.arange(120).reshape(40, 3)[:n] * 7 % 4, systems, "rr", test=test, interval="bca")
        fn.StreamingEvaluator("rr").update([[1]], [[1]])
        print(json.dumps(compiled))
    """
    assert answer(start(code, None, FASTNDCG_CACHE_DIR=tmp_path)) == []

"""Compiling in fresh processes: imports that cost nothing, and caches that are absent, unwritable, broken or shared."""

import hashlib
import json
import os
import pickle
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
from itertools import cycle
from pathlib import Path

import pytest

import fastndcg as fn

PACKAGE = Path(fn.__file__).parent
EVALUATE = """
    import json
    import fastndcg as fn
    values = fn.evaluate([[1, 0, 2, 0], [0, 0, 1, 0]], [[1.0, 2.0, 3.0, 3.0]] * 2, "rr").values.tolist()

    from fastndcg.kernels import cascade, jit, rank
    statistics = [kernel.stats for kernel in (rank.rank, cascade.reciprocal_rank)]
    hits = sum(sum(one.cache_hits.values()) for one in statistics)
    misses = sum(sum(one.cache_misses.values()) for one in statistics)
    print(json.dumps([values, hits, misses, jit.cache_folder(rank.rank), fn.__file__]))
"""
EXPECTED = fn.evaluate([[1, 0, 2, 0], [0, 0, 1, 0]], [[1.0, 2.0, 3.0, 3.0]] * 2, "rr").values.tolist()
NOBODY = 65534


def start(code, folder, **environment):
    """Start a fresh interpreter, in whose path `folder` comes first, if there is one."""
    environment = {name: str(value) for name, value in (os.environ | environment).items()}
    environment.pop("NUMBA_DISABLE_JIT", None)
    environment["PYTHONPATH"] = os.pathsep.join(
        map(str, [*([folder] if folder else []), *filter(None, [os.environ.get("PYTHONPATH")]), PACKAGE.parent])
    )
    command = [sys.executable, "-P", "-W", "error", "-c", textwrap.dedent(code)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(process):
    """What a process prints as JSON, when it has ended well."""
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert errors == ""
    return json.loads(out)


def evaluated(folder=None, **environment):
    """Evaluate in a fresh process; hits and misses of the cache, and where it is."""
    values, hits, misses, cache, _ = answer(start(EVALUATE, folder, **environment))
    assert values == EXPECTED
    return hits, misses, cache


@pytest.fixture
def copy():
    """A copy of the package that has never run, in a folder that every user can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    shutil.copytree(PACKAGE, folder / "fastndcg", ignore=shutil.ignore_patterns("__pycache__"))
    yield folder
    for path in [folder, *folder.rglob("*")]:
        path.chmod(stat.S_IRWXU)
    shutil.rmtree(folder)


def no_cache_of_the_users(folder):
    """An environment in which the user's own cache folder cannot be made: it would be below a file."""
    file = folder / "a file"
    file.write_text("")
    return {"HOME": file / "home", "XDG_CACHE_HOME": file / "cache", "NUMBA_CACHE_DIR": ""}


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
def test_imports(use, absent):
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


def test_numbas_configuration_is_left_alone():
    """Neither the threads nor the environment of the host process change."""
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
    """What one process compiled the next one loads; an edit of any kernel's file makes it compile again."""
    hits, misses, cache = evaluated(NUMBA_CACHE_DIR=tmp_path)
    assert (hits, misses) == (0, 2)
    assert Path(cache).is_relative_to(tmp_path)
    assert evaluated(NUMBA_CACHE_DIR=tmp_path) == (2, 0, cache)


def test_machine_code_needs_no_compiler(tmp_path):
    """From a cache, kernels start without what numba compiles with, and without packages that extend it."""
    code = """
        import json, sys
        import fastndcg as fn
        values = fn.evaluate([[1, 0, 2], [0, 0, 1]], [[1.0, 2.0, 3.0]] * 2, "ndcg@2,map,rr").values.tolist()
        compilers = [name for name in ("numba.np.arraymath", "scipy.linalg", "awkward") if name in sys.modules]
        print(json.dumps([values, compilers]))
    """
    compiled, _ = answer(start(code, None, NUMBA_CACHE_DIR=tmp_path))
    assert answer(start(code, None, NUMBA_CACHE_DIR=tmp_path)) == [compiled, []]


def test_what_is_rarely_needed_is_compiled_when_it_is():
    """Grades are put in order without a kernel that sorts; fractions take it."""
    code = """
        import json
        import fastndcg as fn
        from fastndcg.kernels import ideal, open

        def compiled(labels):
            fn.ndcg(labels, [4.0, 3.0, 2.0], [0, 3], k=10)
            return [len(kernel.signatures) for kernel in (ideal.best_order, ideal.sort_rest, open.rank_open)]

        print(json.dumps([compiled([1, 0, 1]), compiled([1, 31, 2]), compiled([0.5, 1.5, 0.25])]))
    """
    assert answer(start(code, None)) == [[0, 0, 0], [1, 0, 0], [1, 1, 0]]


@pytest.mark.parametrize("is_on", [True, False])
def test_no_garbage_is_looked_for_while_compiling(is_on, tmp_path):
    """What a kernel's compilation compiles in turn finds the search switched off; afterwards all is as it was."""
    code = f"""
        import gc, json
        from numba.core import event
        import fastndcg as fn

        class Watch(event.Listener):
            def __init__(self):
                self.depth, self.found = 0, set()

            def on_start(self, compiling):
                self.depth += 1
                if self.depth > 1:
                    self.found.add(gc.isenabled())

            def on_end(self, compiling):
                self.depth -= 1

        gc.enable() if {is_on} else gc.disable()
        watch = Watch()
        event.register("numba:compile", watch)
        fn.evaluate([[1, 0, 2]], [[1, 2, 3]], "ndcg@10")
        print(json.dumps([list(watch.found), gc.isenabled()]))
    """
    assert answer(start(code, None, NUMBA_CACHE_DIR=tmp_path)) == [[False], is_on]


def test_edited_kernels_are_compiled_again(copy):
    """A change in a file that a kernel only calls is seen too."""
    assert evaluated(copy, NUMBA_CACHE_DIR="")[:2] == (0, 2)
    assert evaluated(copy, NUMBA_CACHE_DIR="")[:2] == (2, 0)
    with (copy / "fastndcg" / "kernels" / "sorting.py").open("a") as file:
        file.write("\n# edited\n")
    assert evaluated(copy, NUMBA_CACHE_DIR="")[:2] == (0, 2)


def test_cache_that_cannot_be_written(copy):
    """Everything compiles in memory where no folder can be made: files stand in the way, which stop root as well."""
    (copy / "fastndcg" / "kernels" / "__pycache__").write_text("")
    hits, _, cache = evaluated(copy, PYTHONDONTWRITEBYTECODE=1, **no_cache_of_the_users(copy))
    assert hits == 0
    assert cache is None


def broken(content):
    """Ways to break a cache file, one after the other."""
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


def test_cache_full_of_garbage(tmp_path):
    """Empty, truncated and foreign files, and folders in their place, are compiled over and then found again."""
    _, _, cache = evaluated(NUMBA_CACHE_DIR=tmp_path)
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
        assert evaluated(NUMBA_CACHE_DIR=tmp_path)[0] == 0
        assert evaluated(NUMBA_CACHE_DIR=tmp_path)[0] >= 1
        assert sorted(Path(cache).iterdir()) == files


def test_four_processes_compile_at_once(tmp_path):
    """Into one empty folder; each has the right values, none leaves half a file, and a fifth loads everything."""
    processes = [start(EVALUATE, None, NUMBA_CACHE_DIR=tmp_path) for _ in range(4)]
    answers = [answer(process) for process in processes]
    assert [values for values, *_ in answers] == [EXPECTED] * 4
    hits, misses, cache = evaluated(NUMBA_CACHE_DIR=tmp_path)
    assert (hits, misses) == (2, 0)
    assert {path.suffix for path in Path(cache).iterdir()} == {".nbc"}


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="this system has no other user to become")
@pytest.mark.parametrize("home", ["writable", "none"])
def test_read_only_install(copy, home):
    """Another user's install, used without its rights: the cache is the user's own, or there is none."""
    environment = no_cache_of_the_users(copy)
    if home == "writable":
        own = copy / "home"
        own.mkdir()
        environment |= {"HOME": own, "XDG_CACHE_HOME": own / "cache"}
        if os.getuid() == 0:
            os.chown(own, NOBODY, NOBODY)
    for path in [*(copy / "fastndcg").rglob("*"), copy / "fastndcg"]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    copy.chmod(0o555)
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
    sys.path.insert(0, {str(copy)!r})
    """
    process = start(textwrap.dedent(become_nobody) + textwrap.dedent(EVALUATE), None, **environment)
    values, _, _, cache, file = answer(process)
    assert values == EXPECTED
    assert Path(file).is_relative_to(copy)
    if home == "writable":
        assert Path(cache).is_relative_to(copy / "home")
        assert any(path.suffix == ".nbc" for path in Path(cache).iterdir())
    else:
        assert cache is None
    assert not list((copy / "fastndcg").rglob("__pycache__"))


def test_warmup_leaves_nothing_to_compile(tmp_path):
    """The command says how long it took, and where: no dtype, gain, tie policy or comparison compiles anything then."""
    line = [sys.executable, "-P", "-W", "error", "-m", "fastndcg", "warmup"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
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
        from fastndcg import giants

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
        giants.GIANT = 999
        for score_dtype in ("f4", "f8"):
            fn.evaluate(np.arange(3000) % 4, (np.arange(3000) % 1999).astype(score_dtype), "ndcg", offsets=[0, 3000])
        scores = np.arange(120).reshape(40, 3) * 5 % 7
        for n, test in ((40, "randomization"), (10, "randomization"), (40, "tukey")):
            systems = {"a": scores[:n], "b": -scores[:n]}
            fn.compare(np.arange(120).reshape(40, 3)[:n] * 7 % 4, systems, "rr", test=test, interval="bca")
        fn.StreamingEvaluator("rr").update([[1]], [[1]])
        print(json.dumps(compiled))
    """
    assert answer(start(code, None, NUMBA_CACHE_DIR=tmp_path)) == []

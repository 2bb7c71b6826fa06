"""What all tests share: a clean environment, what a run prints about itself, profiles of Hypothesis, and fixtures."""

import collections
import filecmp
import functools
import importlib.util
import os
import platform
import re
import shutil
import signal
import stat
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import needed_packages
import pytest
from compiled_kernels import pytest_sessionfinish, pytest_terminal_summary, pytest_testnodedown  # noqa: F401
from hypothesis import Phase, settings

# A user's settings change what is printed and where machine code is kept. Those for tests are FASTNDCG_TEST_...
SETTINGS = [name for name in sorted(os.environ) if name.startswith("FASTNDCG_")]
for _name in SETTINGS:
    if not _name.startswith("FASTNDCG_TEST_"):
        del os.environ[_name]
if "FASTNDCG_TEST_MACHINE_CODE" in os.environ:
    os.environ["FASTNDCG_MACHINE_CODE"] = os.environ["FASTNDCG_TEST_MACHINE_CODE"]
os.environ["COLUMNS"] = "80"  # what fits a terminal must not depend on the user's
os.environ["FASTNDCG_QUIET"] = "1"  # what a test finds on stderr must not depend on whether it is the first to compile
if os.environ.get("FASTNDCG_TEST_WITHOUT_NUMBA"):  # as where a wheel is installed beside NumPy alone
    sys.modules["numba"] = sys.modules["llvmlite"] = None

import fastndcg as fn  # noqa: E402
from fastndcg import cli  # noqa: E402
from fastndcg.metrics import names  # noqa: E402
from fastndcg.metrics.families import CATALOG  # noqa: E402

# at the end, so that tests import the benchmarks of this folder but an installed fastndcg comes first
sys.path.append(str(Path(__file__).resolve().parents[1]))

# The same examples in every run, so that a change that is right is not refused by luck. `plain` has fewer of them than
# `all`, which `scripts/test --all` takes. New ones are for developers: pytest --hypothesis-profile=random
# No example has a deadline, which a slow machine would miss.
settings.register_profile("plain", derandomize=True, max_examples=16, deadline=None)
settings.register_profile("all", derandomize=True, max_examples=100, deadline=None)
settings.register_profile("random", derandomize=False, max_examples=100, deadline=None)
# `unshrunk` is for faults and mutants: making a failing example smaller takes longer than all tests of a fault.
settings.register_profile("unshrunk", settings.get_profile("plain"), phases=(Phase.explicit, Phase.generate))
settings.load_profile("plain")

# A shell ignores Ctrl-C in what it starts in the background. Tests send it to themselves and to their processes.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

MARKS = ("newest", "peers", "stress")
QRELS = "q2 0 a 1\nq2 0 b 0\nq1 0 a 2\nq1 0 c 1\nq3 0 a 1\n"
GOOD = "q1 Q0 a 1 0.9 good\nq1 Q0 c 2 0.8 good\nq2 Q0 a 1 0.7 good\nq2 Q0 b 2 0.6 good\nq3 Q0 a 1 1 good\n"
TIED = "q1 Q0 b 1 0.5 tied\nq1 Q0 a 2 0.5 tied\nq2 Q0 b 1 0.7 tied\nq2 Q0 a 2 0.6 tied\nq9 Q0 a 1 1 tied\n"


def pytest_configure(config):
    """Keep what libraries write to the user's home in a folder of this run, which its workers inherit."""
    if not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp()
        config.add_cleanup(functools.partial(shutil.rmtree, folder, ignore_errors=True))
        for name in ("HF_HOME", "IR_DATASETS_HOME", "MPLCONFIGDIR"):
            os.environ[name] = os.path.join(folder, name)
    if config.option.markexpr == "peers" and importlib.util.find_spec("ranx"):
        import_ranx()


def import_ranx():
    """Import ranx without threads in its loops over queries: these take half as long again to compile."""
    import numba

    njit = numba.njit
    numba.njit = lambda *functions, **options: njit(*functions, **options | {"parallel": False})
    try:
        import ranx  # noqa: F401
    finally:
        numba.njit = njit


def pytest_sessionstart(session):
    """Print which fastndcg is tested, in quiet runs, too."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # a worker of pytest-xdist
        return
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "hypothesis"))
    reporter.write_line(f"fastndcg {fn.__version__} of {Path(fn.__file__).parent}")
    reporter.write_line(f"Python {platform.python_version()}, {versions}")
    for name in SETTINGS:
        is_kept = name.startswith("FASTNDCG_TEST_")
        reporter.write_line(f"{name}={os.environ[name]}" if is_kept else f"{name} does not reach the tests")
    sources, tested = Path(__file__).parents[1] / "fastndcg", Path(fn.__file__).parent
    names = [path.relative_to(sources) for path in sources.rglob("*.py")]
    _, different, absent = filecmp.cmpfiles(sources, tested, names, shallow=False)
    if "FASTNDCG_TEST_INSTALLED" not in os.environ and (different or absent):
        remedy = f"run scripts/test, or {sys.executable} -m pip install -e ."
        pytest.exit(f"fastndcg/ differs from what is installed: {remedy}", 2)


def pytest_ignore_collect(collection_path, config):
    """Leave out files of which no test can be wanted: rewriting and importing all of them takes half a minute."""
    wanted = config.option.markexpr
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    needs_peers = re.search(r"^pytestmark = \[?pytest\.mark\.peers", text, re.MULTILINE)
    return ("not peers" in wanted and needs_peers is not None) or (wanted in MARKS and wanted not in text) or None


def pytest_collection_modifyitems(items):
    """
    Keep the tests of a slow peer in one worker: ranx compiles for two minutes, and Spark starts a JVM.

    The test that compiles all kernels begins, a part on each of two workers: the others find them in Numba's cache.
    """
    first = [item for item in items if "test_both_ways" in item.nodeid]
    rest = [item for item in items if item not in first]
    half = len(rest) // 2  # where the second worker begins
    items[:] = first[:1] + rest[:half] + first[1:] + rest[half:]
    for item in items:
        peer = re.search("ranx|spark", item.nodeid)
        if peer:
            item.add_marker(pytest.mark.xdist_group(peer[0]))


@pytest.hookimpl(specname="pytest_terminal_summary")
def pytest_count_skipped_tests(terminalreporter):
    """Count skipped tests by the reason, or by the group that installs what they need."""
    reasons, absent = collections.Counter(), collections.defaultdict(set)
    for report in terminalreporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            package, group = needed_packages.find_need(reason)
            reasons[group or reason] += 1
            absent[group].add(package)
    if reasons:
        terminalreporter.section("skipped")
    for reason, count in reasons.most_common():
        if reason in needed_packages.REMEDIES:
            reason = f"{', '.join(sorted(absent[reason]))} absent: {needed_packages.REMEDIES[reason]}"
        terminalreporter.write_line(f"{count:5} {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test that skips for lack of a peer but lacks the mark `peers`, which `scripts/test --all` selects."""
    report = yield
    if os.environ.get("FASTNDCG_TEST_WITHOUT_NUMBA") and report.failed and "needs numba" in report.longreprtext:
        report.outcome = "skipped"
        report.longrepr = str(item.path), None, "Skipped: needs numba"
    if report.skipped and isinstance(report.longrepr, tuple) and item.get_closest_marker("peers") is None:
        package, group = needed_packages.find_need(report.longrepr[2])
        if group not in (None, *needed_packages.OF_DEVELOPERS):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} needs {package}: mark it with pytest.mark.peers"
    return report


@pytest.fixture(autouse=True)
def _unregistered():
    """Forget the metrics that a test, or a doctest, has registered."""
    catalogue, known_names = CATALOG.copy(), names.NAMES.copy()
    yield
    for known, before in ((CATALOG, catalogue), (names.NAMES, known_names)):
        if known != before:
            known.clear()
            known.update(before)


@pytest.fixture(scope="session", autouse=True)
def _numba_cache(tmp_path_factory):
    """Keep machine code of other packages in a folder of this process: numba mixes up files of parallel processes."""
    if sys.modules.get("numba", ...) is None:  # blocked
        return
    numba = pytest.importorskip("numba")
    numba.config.CACHE_DIR = str(tmp_path_factory.mktemp("numba"))


@pytest.fixture(scope="module")
def ranx_library():
    numba = pytest.importorskip("numba")
    before = numba.config.THREADING_LAYER, numba.get_num_threads()
    library = pytest.importorskip("ranx")
    yield library
    numba.config.THREADING_LAYER = before[0]
    numba.set_num_threads(before[1])


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write judgments and two runs to a temporary folder, and make the folder the working folder."""
    for name, text in {"qrels.txt": QRELS, "good.run": GOOD, "tied.run": TIED}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def put(tmp_path):
    """Return a function that writes text or bytes to a temporary file and returns its path."""

    def put(content, name="file"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


@pytest.fixture
def noted(monkeypatch):
    """Return a function that makes another one note its calls, and returns the notes."""

    def noted(owner, name, note):
        notes, function = [], getattr(owner, name)
        patched = lambda *given, **options: notes.append(note(*given)) or function(*given, **options)  # noqa: E731
        monkeypatch.setattr(owner, name, patched)
        return notes

    return noted


@pytest.fixture
def run(capsys):
    """Return a function that runs the command in this process and returns the exit code, output and errors."""

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def pyplot():
    """Return the module, which draws into memory. Its figures are closed after the test."""
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture
def shown(run):
    """Return a function that runs the command, which succeeds without a message, and returns the output."""

    def shown(*arguments):
        code, out, err = run(*arguments)
        assert (code, err) == (0, ""), arguments
        return out

    return shown


@pytest.fixture
def wrong(run):
    """Return a function that runs the command, which ends with 2 and one line with some text, and prints nothing."""

    def wrong(message, *arguments):
        code, out, err = run(*arguments)
        assert (code, out, err.find("\n")) == (2, "", len(err) - 1), err
        assert err.startswith("fastndcg: error: ")
        assert message in err

    return wrong


@pytest.fixture
def package_copy():
    """Return a copy of the package that has never run, in a folder that every user can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    shutil.copytree(Path(fn.__file__).parent, folder / "fastndcg", ignore=shutil.ignore_patterns("__pycache__"))
    yield folder
    for path in [folder, *folder.rglob("*")]:
        path.chmod(stat.S_IRWXU)
    shutil.rmtree(folder)

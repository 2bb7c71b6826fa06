"""Fixtures of the command line's tests and of ranx's; and of all: what one registers is unknown to the next."""

import pytest

from fastndcg import cli, metric
from fastndcg.catalog import CATALOG

QRELS = "q2 0 a 1\nq2 0 b 0\nq1 0 a 2\nq1 0 c 1\nq3 0 a 1\n"
GOOD = "q1 Q0 a 1 0.9 good\nq1 Q0 c 2 0.8 good\nq2 Q0 a 1 0.7 good\nq2 Q0 b 2 0.6 good\nq3 Q0 a 1 1 good\n"
TIED = "q1 Q0 b 1 0.5 tied\nq1 Q0 a 2 0.5 tied\nq2 Q0 b 1 0.7 tied\nq2 Q0 a 2 0.6 tied\nq9 Q0 a 1 1 tied\n"


@pytest.fixture(autouse=True)
def _unregistered():
    """Forget the metrics that a test, or a doctest, has registered."""
    catalogue, names = CATALOG.copy(), metric.NAMES.copy()
    yield
    for known, before in ((CATALOG, catalogue), (metric.NAMES, names)):
        if known != before:
            known.clear()
            known.update(before)


@pytest.fixture(scope="module")
def ranx_library():
    """The library ranx, with numba's threads as they were before it."""
    numba = pytest.importorskip("numba")
    before = numba.config.THREADING_LAYER, numba.get_num_threads()
    library = pytest.importorskip("ranx", reason="ranx is absent: pip install ranx")
    yield library
    numba.config.THREADING_LAYER = before[0]
    numba.set_num_threads(before[1])


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder to work in, with judgments and two runs."""
    for name, text in {"qrels.txt": QRELS, "good.run": GOOD, "tied.run": TIED}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run the command in this process: give its exit code, output and errors."""

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run

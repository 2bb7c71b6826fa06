"""The rules of the code base hold, and each of them sees what breaks it."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "check_rules.py"


def load():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("check_rules", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


check_rules = load()


@pytest.fixture
def copy(tmp_path):
    """A copy of what the rules look at."""
    for folder in ("fastndcg", "scripts", "benchmarks"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests").mkdir()
    for definitions in (ROOT / "tests").glob("test_definitions*.py"):
        shutil.copy(definitions, tmp_path / "tests")
    return tmp_path


def broken(rule, root, name, old, new):
    """What a rule says that is new after an edit."""
    before = set(getattr(check_rules, rule)(root))
    path = root / name
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    assert old in text, f"{name} no longer has {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return [line for line in getattr(check_rules, rule)(root) if line not in before]


@pytest.mark.parametrize("rule", [rule.__name__ for rule in check_rules.RULES])
def test_holds(rule):
    """The project breaks no rule."""
    assert list(getattr(check_rules, rule)(ROOT)) == []


RECORD = 'name="nDCG",\n        title="normalised discounted cumulative gain",\n        kernel="gain.ndcg",'
BREAKS = {
    "a lower room imports a higher one": (
        "imports_go_one_way", "fastndcg/metric.py", "\nimport re\n", "\nimport re\nimport fastndcg.engine\n",
        "metric must not import engine",
    ),
    "also inside a function": (
        "imports_go_one_way", "fastndcg/errors.py", "    try:\n", "    from fastndcg import results\n    try:\n",
        "errors must not import results",
    ),
    "a method hands over at the top of its file": (
        "imports_go_one_way", "fastndcg/results.py", "\nimport numpy as np\n",
        "\nimport numpy as np\nfrom fastndcg.statistics import single\n", "results must not import statistics",
    ),
    "a method hands over to a room that is not meant": (
        "imports_go_one_way", "fastndcg/results.py", "        from fastndcg.statistics.single import by_segment\n",
        "        from fastndcg.evaluate import evaluate\n", "results must not import evaluate",
    ),
    "the reference uses the engine": (
        "imports_go_one_way", "fastndcg/reference/__init__.py", "\nimport math\n",
        "\nimport math\nfrom fastndcg.engine import run\n", "the reference must not share engine",
    ),
    "the package imports a room": (
        "imports_go_one_way", "fastndcg/__init__.py", "\nimport sys\n", "\nimport sys\nfrom fastndcg import errors\n",
        "the package must not import errors",
    ),
    "a room without a place": (
        "imports_go_one_way", "fastndcg/attic.py", "", '"""Old things."""\n', "attic is no room",
    ),
    "numba outside kernels": (
        "numba_is_for_kernels", "fastndcg/engine.py", "\nimport numpy as np\n", "\nimport numba\nimport numpy as np\n",
        "only kernels import numba",
    ),
    "an optional package at the top": (
        "optional_packages_wait", "fastndcg/display.py", "\nimport html\n", "\nimport html\nimport pandas\n",
        "pandas may be absent",
    ),
    "another decorator": (
        "kernels_look_alike", "fastndcg/kernels/counts.py", "@kernel\ndef n_retrieved", "@njit\ndef n_retrieved",
        "kernel n_retrieved must wear @kernel",
    ),
    "no docstring": (
        "kernels_look_alike", "fastndcg/kernels/counts.py", '    """Documents in the first k ranks."""\n', "",
        "kernel n_retrieved must have a docstring",
    ),
    "out is not last": (
        "kernels_look_alike", "fastndcg/kernels/counts.py", "n_retrieved(sizes, k, out)", "n_retrieved(sizes, out, k)",
        "kernel n_retrieved must have its `out` parameters last",
    ),
    "an instruction without a twin": (
        "instructions_have_twins", "fastndcg/kernels/vectors.py", "def _plain_missing", "def _plain_lost",
        "_missing needs a twin",
    ),
    "a record without a kernel": (
        "catalogue_is_complete", "fastndcg/catalog/gain.py", RECORD, RECORD.replace("gain.ndcg", "gain.lost"),
        "nDCG names the kernel gain.lost",
    ),
    "a record without a twin": (
        "catalogue_is_complete", "fastndcg/reference/gain.py", "def ndcg(", "def lost(",
        "there is no gain.ndcg, the twin of nDCG's kernel",
    ),
    "a record without a source": (
        "catalogue_is_complete", "fastndcg/catalog/gain.py", "source=JARVELIN_2002", 'source=""',
        "nDCG must have a source",
    ),
    "a record without a definition test": (
        "catalogue_is_complete", "fastndcg/catalog/gain.py", RECORD,
        'name="Lost", title="", kernel="gain.ndcg", formula="", range="", undefined="", source="x"), Record(' + RECORD,
        "Lost has no definition test",
    ),
    "an alias that means another metric": (
        "metrics_read_back", "fastndcg/catalog/gain.py", 'aliases=("dcg",)', 'aliases=("dcg", "mrr")',
        "'mrr' does not read as DCG",
    ),
    "a heavy import": (
        "import_is_light", "fastndcg/__init__.py", "\nimport sys\n", "\nimport sys\nimport numpy\n",
        "importing fastndcg imports numpy",
    ),
    "a long file": (
        "nothing_is_long", "fastndcg/texts.py", "import re\n", "import re\n" + "\n" * 350, "lines, more than 350",
    ),
    "a long function": (
        "nothing_is_long", "scripts/train_demo.py", '    """Train, rank, write."""\n',
        '    """Train, rank, write."""\n    pass\n' + "\n" * 40, "main has",
    ),
    "an unfinished place": (
        "nothing_is_unfinished", "fastndcg/texts.py", "import re\n", "import re  # TO" + "DO later\n", "finish it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BREAKS)
def test_sees_what_breaks_it(case, copy):
    """Each rule names what a broken copy of the project breaks."""
    rule, name, old, new, expected = BREAKS[case]
    assert any(expected in line for line in broken(rule, copy, name, old, new))


def test_script_fails_where_a_rule_is_broken(copy):
    """The script prints the broken rule and exits with 1."""
    broken("kernels_look_alike", copy, "fastndcg/kernels/counts.py", "@kernel\ndef n_retrieved", "def n_retrieved")
    done = subprocess.run([sys.executable, SCRIPT, copy], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "kernel n_retrieved must wear @kernel" in done.stdout

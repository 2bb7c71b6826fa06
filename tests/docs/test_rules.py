"""The rules of the code base hold, and each of them sees what breaks it."""

import functools
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_rules.py"


def load():
    """Import and return the script as a module."""
    spec = importlib.util.spec_from_file_location("check_rules", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


check_rules = load()


@pytest.fixture
def copy(tmp_path):
    """Return a copy of the files that the rules read."""
    for folder in ("fastndcg", "scripts", "benchmarks"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests" / "definitions").mkdir(parents=True)
    for definitions in (ROOT / "tests" / "definitions").glob("test_*.py"):
        shutil.copy(definitions, tmp_path / "tests" / "definitions")
    return tmp_path


@functools.cache
def said_of_the_project(rule):
    """Return the findings of a rule in the project, with paths relative to the root."""
    return {line.replace(str(ROOT), "") for line in getattr(check_rules, rule)(ROOT)}


def broken(rule, root, name, old, new):
    """Return the new findings of a rule after an edit."""
    path = root / name
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    assert old in text, f"{name} no longer has {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    said = (line.replace(str(root), "") for line in getattr(check_rules, rule)(root))
    return [line for line in said if line not in said_of_the_project(rule)]


@pytest.mark.parametrize("rule", [rule.__name__ for rule in check_rules.RULES])
def test_rule_holds(rule):
    """The project breaks no rule."""
    assert list(getattr(check_rules, rule)(ROOT)) == []


COUNTS = "fastndcg/kernels/metrics/set_based.py"
RESULTS = "fastndcg/results/results.py"
DCG = "fastndcg/metrics/catalog/dcg.py"
RECORD = 'name="nDCG",\n        title="normalised discounted cumulative gain",\n        kernel="dcg.ndcg",'
BREAKS = {
    "a lower room imports a higher one": (
        "imports_go_one_way", "fastndcg/metrics/metric.py", "\nimport re\n", "\nimport re\nimport fastndcg.engine\n",
        "metrics must not import engine",
    ),
    "also inside a function": (
        "imports_go_one_way", "fastndcg/errors.py", "    try:\n", "    from fastndcg import results\n    try:\n",
        "errors must not import results",
    ),
    "a method hands over at the top of its file": (
        "imports_go_one_way", RESULTS, "\nimport numpy as np\n",
        "\nimport numpy as np\nfrom fastndcg.statistics import single\n", "results must not import statistics",
    ),
    "a method hands over to a room that is not meant": (
        "imports_go_one_way", RESULTS, "        from fastndcg.statistics.one_system import summarize_segments\n",
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
    "two files import each other": (
        "files_have_no_circles", "fastndcg/runtime/cpus.py", "\nimport os\n",
        "\nimport os\nfrom fastndcg.runtime import threads\n", "fastndcg.runtime.cpus -> fastndcg.runtime.threads",
    ),
    "two files import each other in a function": (
        "files_have_no_circles", "fastndcg/runtime/escapes.py", "    text = name if",
        "    from fastndcg.conventions import conventions\n    text = name if", "files must not import each other",
    ),
    "a kernel module outside kernels": (
        "kernels_have_one_door", "fastndcg/results/results.py", "\nimport numpy as np\n",
        "\nimport numpy as np\nfrom fastndcg.kernels.metrics import dcg\n",
        "fastndcg.kernels.metrics.dcg must be found",
    ),
    "an unknown kernel input": (
        "kernel_inputs_are_known", COUNTS, "n_retrieved(sizes, k, out)", "n_retrieved(lengths, k, out)",
        "lengths of kernel n_retrieved must be a parameter of num_ret or a known input: ap_denominators,",
    ),
    "a metric without a public name": (
        "public_names_are_generated", "fastndcg/__init__.py", '"nDCG", ', "", "fastndcg/__init__.py: out of date",
    ),
    "a public name that the stub lacks": (
        "public_names_are_generated", "fastndcg/__init__.pyi", "nDCG: Metric\n", "",
        "fastndcg/__init__.pyi: out of date",
    ),
    "many parameters": (
        "parameters_are_few", "fastndcg/parsing.py", "\ndef ",
        "\ndef _many(a, b, c, d, e, f, *, g, h, i):\n    pass\n\n\ndef ",
        "_many takes 9 parameters",
    ),
    "many parameters of a part of a kernel": (
        "parameters_are_few", "fastndcg/kernels/metrics/set_based.py", "\n@kernel\n",
        "\n@inline\ndef add_many(a, b, c, d, e, f, g, h, i):\n    return a\n\n\n@kernel\n",
        "add_many takes 9 parameters",
    ),
    "packed assignments": (
        "assignments_stand_alone", "fastndcg/parsing.py", "\ndef ", "\nfirst, second = 1, 2\n\n\ndef ",
        "write 2 assignments",
    ),
    "a participle as a name": (
        "names_say_what_they_hold", "fastndcg/parsing.py", "\ndef ", "\nkept = 1\n\n\ndef ", "kept must be a noun",
    ),
    "a function called x_of": (
        "names_say_what_they_hold", "fastndcg/parsing.py", "\ndef ", "\ndef rank_of_label():\n    pass\n\n\ndef ",
        "rank_of_label must be a noun",
    ),
    "a docstring without a verb": (
        "english_is_plain", "fastndcg/parsing.py", "\ndef ", '\ndef new():\n    """The new text."""\n\n\ndef ',
        "must begin with a verb, not 'The'",
    ),
    "a docstring that hangs on another": (
        "english_is_plain", "fastndcg/parsing.py", "\ndef ", '\ndef new():\n    """What is new."""\n\n\ndef ',
        "must begin with a verb or a noun, not 'What'",
    ),
    "a forbidden word in a comment": (
        "english_is_plain", "fastndcg/parsing.py", "\ndef ", "\n# this ends sooner\n\n\ndef ",
        "comment: must not say 'sooner': faster, earlier",
    ),
    "a long sentence in an error": (
        "english_is_plain", "fastndcg/parsing.py", "\ndef ", f"\nValueError('It {'very ' * 30}long.')\n\n\ndef ",
        "error: must not have 32 words in a sentence",
    ),
    "sentences in a chain": (
        "english_is_plain", "fastndcg/parsing.py", "\ndef ", '\ndef new():\n    """Read it; write it."""\n\n\ndef ',
        "must not chain sentences by a semicolon",
    ),
    "numba outside kernels": (
        "numba_is_for_kernels", "fastndcg/engine/run.py", "\nimport numpy as np\n",
        "\nimport numba\nimport numpy as np\n", "only kernels import numba",
    ),
    "an optional package at the top": (
        "optional_packages_wait", "fastndcg/runtime/escapes.py", "\nimport csv\n", "\nimport csv\nimport pandas\n",
        "pandas may be absent",
    ),
    "a kernel that is not there": (
        "loaded_kernels_exist", "fastndcg/engine/kernel_inputs/shared_sums.py", "kernels.sum_at_cutoffs(",
        "kernels.lost(", "kernels/metrics/multi_cutoff.py has no lost",
    ),
    "another decorator": (
        "kernels_look_alike", COUNTS, "@kernel\ndef n_retrieved", "@njit\ndef n_retrieved",
        "kernel n_retrieved must have one decorator",
    ),
    "no docstring": (
        "kernels_look_alike", COUNTS, '    """Count the documents in the first k ranks."""\n', "",
        "kernel n_retrieved must have a docstring",
    ),
    "out is not last": (
        "kernels_look_alike", COUNTS, "n_retrieved(sizes, k, out)", "n_retrieved(sizes, out, k)",
        "kernel n_retrieved must have its `out` parameters last",
    ),
    "an instruction without a twin": (
        "instructions_have_twins", "fastndcg/kernels/simd.py", "def _plain_mask_nan", "def _plain_lost",
        "mask_nan needs a twin",
    ),
    "a record without a kernel": (
        "catalogue_is_complete", DCG, RECORD, RECORD.replace("dcg.ndcg", "dcg.lost"),
        "nDCG names the kernel dcg.lost",
    ),
    "a record without a twin": (
        "catalogue_is_complete", "fastndcg/reference/dcg.py", "def ndcg(", "def lost(",
        "there is no dcg.ndcg, the twin of nDCG's kernel",
    ),
    "a record without a source": (
        "catalogue_is_complete", DCG, "source=JARVELIN_2002", 'source=""',
        "nDCG must have a source",
    ),
    "a record without a formula in LaTeX": (
        "catalogue_is_complete", DCG, "        latex=(r\"\\mathrm{CG@}k = \\sum_{r=1}^{k} g_r\",),\n", "",
        "CG must have its formula as `latex`",
    ),
    "a record without a definition test": (
        "catalogue_is_complete", DCG, RECORD,
        'name="Lost", title="", kernel="dcg.ndcg", formula="", range="", undefined="", source="x"), Record(' + RECORD,
        "Lost has no definition test",
    ),
    "an alias that means another metric": (
        "metrics_read_back", DCG, 'aliases=("dcg",)', 'aliases=("dcg", "mrr")',
        "'mrr' does not read as DCG",
    ),
    "a heavy import": (
        "import_is_light", "fastndcg/__init__.py", "\nimport sys\n", "\nimport sys\nimport numpy\n",
        "importing fastndcg imports numpy",
    ),
    "a message that may be long": (
        "messages_are_short", "fastndcg/runtime/threads.py", "{shorten(threads)}", "{threads!r}",
        "a message must show shorten(threads), not {threads!r}",
    ),
    "a long file": (
        "nothing_is_long", "fastndcg/parsing.py", "import re\n", "import re\n" + "\n" * 600, "lines, more than 600",
    ),
    "a long function": (
        "nothing_is_long", "scripts/train_demo.py", '    """Train, rank, write."""\n',
        '    """Train, rank, write."""\n    pass\n' + "\n" * 60, "main has",
    ),
    "an unfinished place": (
        "nothing_is_unfinished", "fastndcg/parsing.py", "import re\n", "import re  # TO" + "DO later\n", "finish it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BREAKS)
def test_sees_what_breaks_it(case, copy):
    """Each rule names what a broken copy of the project breaks."""
    rule, name, old, new, expected = BREAKS[case]
    assert any(expected in line for line in broken(rule, copy, name, old, new))


ENGLISH = {
    "code": 'def new():\n    """\n    Return.\n\n    >>> a = 1; b = 2\n    """',
    "a table": 'def new():\n    """\n    Return.\n\n    a   one; two\n    b   three\n    """',
    "a type": 'def new():\n    """\n    Return.\n\n    Parameters\n    ----------\n    a : {1; 2}\n    """',
    "a name in code": 'def new():\n    """Return ``sooner; later`` and `nobody`."""',
    "a list": 'def new():\n    """\n    Return one of:\n\n    - an array;\n    - a dict.\n    """',
    "a value": 'def new():\n    """Return True if `k` is None."""',
    "a property": 'class A:\n    """Box."""\n\n    @property\n    def size(self):\n        """The size."""',
}


@pytest.mark.parametrize("case", ENGLISH)
def test_english_that_is_plain(case, tmp_path):
    """The rules of plain English have nothing to say of code, tables, types and properties."""
    (tmp_path / "fastndcg").mkdir()
    (tmp_path / "fastndcg" / "new.py").write_text(f'"""New."""\n\n\n{ENGLISH[case]}\n', encoding="utf-8")
    assert list(check_rules.english_is_plain(tmp_path)) == []


def test_script_fails_where_a_rule_is_broken(copy):
    """The script prints the broken rule and exits with 1."""
    broken("kernels_look_alike", copy, COUNTS, "@kernel\ndef n_retrieved", "def n_retrieved")
    done = subprocess.run(
        [sys.executable, SCRIPT, copy, "--find", "kernels_look_alike"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "kernel n_retrieved must have one decorator" in done.stdout


def test_script_checks_one_rule():
    """With --find, the script checks the rule of a name, and lists the rules if no rule has the name."""
    command = [sys.executable, SCRIPT, "--find"]
    done = subprocess.run([*command, "nothing_is_long"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1 rule, 0 broken\n")
    done = subprocess.run([*command, "lost"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "--find needs the name of a rule: imports_go_one_way, " in done.stderr

"""Each rule of scripts/check_rules.py sees what breaks it. `scripts/check` runs the rules on the project."""

import importlib
import multiprocessing
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
check_rules = importlib.import_module("check_rules")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the files that the rules read."""
    root = tmp_path_factory.mktemp("copy")
    for folder in ("fastndcg", "tests/definitions"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture(scope="module")
def process():
    """Yield a process for the rules: it ends with their syntax trees, 200 MB."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        yield executor


COUNTS = "fastndcg/kernels/metrics/counts.py"
DCG = "fastndcg/metrics/families/gains.py"
RECORD = 'name="nDCG",\n        title="normalised discounted cumulative gain",\n        use="The'
BREAKS = {
    "another decorator": ("kernels_look_alike", COUNTS, "@kernel\ndef n_retrieved", "@njit\ndef n_retrieved",
        "kernel n_retrieved must have one decorator"),
    "an instruction without a twin": ("instructions_have_twins", "fastndcg/kernels/simd.py", "def mask_nan",
        "def mask_lost", "mask_lost needs machine instructions"),
    "a record without a function": ("catalogue_is_complete", "fastndcg/engine/compute/gains.py", "def ndcg(",
        "def lost(", "nDCG names the function gains.ndcg, which is not there"),
    "a record without a twin": ("catalogue_is_complete", "fastndcg/metrics/families/gains.py", "def ndcg(",
        "def lost(", "there is no gains.ndcg, the twin of nDCG"),
    "a record without a definition test": ("catalogue_is_complete", DCG, RECORD,
        'name="Lost", title="", place="gains.ndcg", formula="", range="", undefined="", source="x"), Record(' + RECORD,
        "Lost has no definition test"),
    "a record without a use": ("catalogue_is_complete", DCG, RECORD, RECORD.replace("use", "range"),
        "nDCG must have a use"),
    "an optional package at the top of a file": ("import_is_light", "fastndcg/runtime/escapes.py", "\nimport re\n",
        "\nimport re\nimport hypothesis\n", "its import must not import"),
    "a message that may be long": ("messages_are_short", "fastndcg/runtime/threads.py", "{shorten(threads)}",
        "{threads!r}", "a message must show shorten(threads), not {threads!r}"),
    "a forbidden word in an error": ("words_are_plain", "fastndcg/parsing.py", "\ndef ",
        '\n\ndef fail():\n    raise ValueError("of no use")\n\n\ndef ', "must not say 'of no use': unused, ignored"),
}  # fmt: skip


@pytest.mark.parametrize("case", BREAKS)
def test_rule_sees_what_breaks_it(case, copy, process):
    rule, name, old, new, expected = BREAKS[case]
    path = copy / name
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{name} no longer has {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        found = process.submit(check_rules.find_problems, rule, copy).result()
    finally:
        path.write_text(text, encoding="utf-8")
    assert any(expected in line for line in found)


def method_without_sections(self, k):
    """Compute something."""


def function_without_types(k):
    """
    Compute something.

    Parameters
    ----------
    k
        Number of ranks that count.
    """


@pytest.mark.parametrize(
    ("value", "is_method", "codes"),
    [
        (method_without_sections, True, set()),
        (method_without_sections, False, {"PR01", "EX01"}),
        (function_without_types, False, {"PR04", "EX01"}),
    ],
)
def test_docstrings_of_functions_have_sections(monkeypatch, value, is_method, codes):
    pytest.importorskip("numpydoc")
    monkeypatch.setattr(check_rules.texts, "find_public", lambda root: [("fastndcg.new", value, is_method)])
    found = {line.split(": ")[1] for line in check_rules.texts.docstrings_are_complete(ROOT)}
    assert found == codes


def test_every_rule_has_a_case():
    assert set(check_rules.RULES) == {rule for rule, *_ in BREAKS.values()} | {"docstrings_are_complete"}

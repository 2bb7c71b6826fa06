"""
Write the generated texts: names of metrics, choices of arguments, names of drop-ins, the README's demo and counts.

They are in fastndcg/__init__.pyi, as `Literal` types in fastndcg/choices.py, in docs/reference/drop_ins.md, README.md
and docs/index.md.

Usage: scripts/generate [--check]

With --check, write nothing and exit with 1 if a file is out of date. `scripts/bench --figures` writes the figures.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import pkgutil
import re
import sys
import textwrap
from pathlib import Path

from fastndcg.cli import main as run_command
from fastndcg.discovery import CUSTOM
from fastndcg.metrics.families import CATALOG, FAMILIES, records_of
from fastndcg.named_conventions import KINDS, conventions

ROOT = Path(__file__).resolve().parents[1]
DROP_IN_PAGE = """# Drop-ins

A drop-in has the functions of another library, with its signatures, values and errors. Change the import, and keep
the code. Where the original has a bug that [the page of the program](../numbers/index.md) lists, the value is right.

The drop-ins pass scikit-learn's own tests of these functions, and the cases of pytrec_eval's. `pytest benchmarks
-k drop_in` measures each against its original, in the form that the original takes.
"""
CHOICES = {  # by the name of the type: the registry that the package checks arguments against
    "AbsentTreatment": "fusion.conventions:ABSENT_CHOICES",
    "AggregateName": "metrics.families:AGGREGATES",
    "Alternative": "statistics.settings:ALTERNATIVES",
    "BoardMean": "statistics.settings:BOARD_MEANS",
    "BoardUnit": "statistics.settings:BOARD_UNITS",
    "Competitors": "results.kinds:COMPETITORS",
    "ConventionName": "named_conventions:conventions",
    "Correction": "statistics.settings:CORRECTIONS",
    "DuplicateChoice": "inputs.duplicates:CHOICES",
    "DuplicateRanks": "inputs.duplicates:RANKS",
    "Family": "statistics.settings:FAMILIES",
    "FloorBy": "statistics.settings:FLOORS_BY",
    "Format": "inputs.formats:FORMATS_BY_NAME",
    "FusionKind": "discovery:FUSION_KINDS",
    "GateInterval": "statistics.settings:GATE_INTERVALS",
    "IntervalMethod": "statistics.settings:INTERVALS",
    "JudgingMethod": "judging.next_judgments:METHODS",
    "MetricFunction": "discovery:FUNCTIONS",
    "MissingTruth": "recommenders.item_selection:MISSING_TRUTH",
    "PartInterval": "statistics.settings:PART_INTERVALS",
    "PlotKind": "reports.plots:KINDS",
    "RanxKind": "compat.ranx.data:KINDS",
    "RanxTest": "compat.ranx.comparison:TESTS",
    "ResponseMethod": "integrations.sklearn:RESPONSE_METHODS",
    "ResultRows": "results.kinds:ROWS",
    "Similarity": "scoring.embeddings:SIMILARITIES",
    "SpanOverlap": "metrics.families.spans:OVERLAP.choices",
    "TestName": "statistics.settings:TESTS",
    "TiePolicy": "named_conventions.named_choices:TIES",
    "Verdict": "statistics.settings:VERDICTS",
    "WrittenFormat": "inputs.writers:WRITERS",
}


def main() -> int:
    """Write or check the files."""
    metrics = "".join(f"{name}: Metric\n" for name in sorted(record.name for record in records_of("evaluate")))
    demo = f"```text\n{make_demo()}```\n"
    n_metrics = ("(?<=nDCG, MAP, MRR and )[0-9]+(?= more)", str(len(CATALOG) - 3))
    n_conventions = ("(?<=LightGBM's nDCG, and )[0-9]+(?= more)", str(len(conventions) - 2))  # and without default
    texts = {
        "fastndcg/__init__.pyi": replace("fastndcg/__init__.pyi", ("(?<=scripts/generate\n).*", metrics)),
        "fastndcg/choices.py": make_choices(),
        "docs/reference/drop_ins.md": make_drop_in_page(),
        "docs/index.md": replace("docs/index.md", n_metrics),
        "README.md": replace("README.md", n_metrics, n_conventions, ("(?<=<!-- demo -->\n).*(?=<!-- /demo -->)", demo)),
    }
    changed = [name for name, text in texts.items() if (ROOT / name).read_text(encoding="utf-8") != text]
    if sys.argv[1:] == ["--check"]:
        print(*(f"{name}: out of date. Run scripts/generate\n" for name in changed), sep="", end="")
        return int(bool(changed))
    for name in changed:
        (ROOT / name).write_text(texts[name], encoding="utf-8")
    return 0


def replace(name: str, *replacements: tuple[str, str]) -> str:
    """Return the text of a file with other texts in place of what patterns match."""
    text = (ROOT / name).read_text(encoding="utf-8")
    for pattern, new in replacements:
        text, n_found = re.subn(pattern, lambda _, new=new: new, text, flags=re.DOTALL)
        if not n_found:
            raise SystemExit(f"{name} has no place for a generated text. Write one that matches {pattern}")
    return text


def make_demo() -> str:
    """Return the output of `fastndcg evaluate`."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run_command(["evaluate"])
    if code:
        raise SystemExit("`fastndcg evaluate` failed: run it for its message")
    return printed.getvalue()


def make_drop_in_page() -> str:
    """Return the page of the reference about drop-ins, from their table and `__all__` of each module."""
    from fastndcg.compat import DROP_INS

    sections = [DROP_IN_PAGE]
    for drop_in in DROP_INS:
        name = f"fastndcg.compat.{drop_in.module}"
        names = "".join(f"   {public}\n" for public in sorted(importlib.import_module(name).__all__))
        sections.append(
            f"## {drop_in.title}\n\n```{{eval-rst}}\n.. automodule:: {name}\n\n.. currentmodule:: {name}\n\n"
            f".. autosummary::\n   :toctree: api\n\n{names}```\n"
        )
    return "\n".join(sections)


def make_choices() -> str:
    """Return the text of fastndcg/choices.py."""
    choices = {name: pkgutil.resolve_name(f"fastndcg.{place}") for name, place in CHOICES.items()}
    choices["ConventionKind"] = dict.fromkeys(["default", *KINDS.values()])
    choices["MetricFamily"] = [*FAMILIES, CUSTOM]
    lines = ['"""Choices of arguments as types. Generated: scripts/generate."""', ""]
    lines += ["from typing import Literal, TypeAlias", ""]
    for name, values in sorted(choices.items()):
        text = ", ".join(f'"{value}"' for value in values)
        wrapped = textwrap.wrap(text, width=115, break_long_words=False, break_on_hyphens=False)
        is_short = len(f"{name}: TypeAlias = Literal[{text}]") <= 120
        body = text if is_short else "\n" + "".join(f"    {line}\n" for line in wrapped)
        lines.append(f"{name}: TypeAlias = Literal[{body}]{'' if is_short else '  # fmt: skip'}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

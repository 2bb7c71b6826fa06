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
import re
import sys
import textwrap
from pathlib import Path

from fastndcg.cli import main as run_command
from fastndcg.metrics.families import CATALOG, records_of
from fastndcg.named_conventions import conventions

ROOT = Path(__file__).resolve().parents[1]
DROP_IN_PAGE = """# Drop-ins

A drop-in has the functions of another library, with its signatures, values and errors. Change the import, and keep
the code. Where the original has a bug that [the page of the program](../numbers/index.md) lists, the value is right.

The drop-ins pass scikit-learn's own tests of these functions, and the cases of pytrec_eval's. `pytest benchmarks
-k drop_in` measures each against its original, in the form that the original takes.
"""


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
    """Return the text of fastndcg/choices.py, from the registries that the package checks arguments against."""
    from fastndcg.compat.ranx import data as ranx_data
    from fastndcg.compat.ranx.comparison import TESTS as TESTS_OF_RANX
    from fastndcg.discovery import CUSTOM, FUNCTIONS, FUSION_KINDS
    from fastndcg.fusion.conventions import ABSENT_CHOICES
    from fastndcg.inputs import duplicates
    from fastndcg.inputs.formats import FORMATS_BY_NAME
    from fastndcg.inputs.writers import WRITERS
    from fastndcg.integrations.sklearn import RESPONSE_METHODS
    from fastndcg.judging.next_judgments import METHODS as JUDGING_METHODS
    from fastndcg.metrics.families import AGGREGATES, FAMILIES
    from fastndcg.metrics.families.spans import OVERLAP
    from fastndcg.named_conventions import CHOICES, KINDS, conventions
    from fastndcg.recommenders.item_selection import MISSING_TRUTH
    from fastndcg.reports.plots import KINDS as KINDS_OF_PLOTS
    from fastndcg.results.kinds import COMPETITORS, ROWS
    from fastndcg.scoring.embeddings import SIMILARITIES
    from fastndcg.statistics import settings

    choices = {
        "AbsentTreatment": ABSENT_CHOICES,
        "AggregateName": AGGREGATES,
        "Alternative": settings.ALTERNATIVES,
        "BoardMean": settings.BOARD_MEANS,
        "BoardUnit": settings.BOARD_UNITS,
        "Competitors": COMPETITORS,
        "ConventionKind": dict.fromkeys(["default", *KINDS.values()]),
        "ConventionName": conventions,
        "Correction": settings.CORRECTIONS,
        "DuplicateChoice": duplicates.CHOICES,
        "DuplicateRanks": duplicates.RANKS,
        "Family": settings.FAMILIES,
        "Format": FORMATS_BY_NAME,
        "FloorBy": settings.FLOORS_BY,
        "FusionKind": FUSION_KINDS,
        "IntervalMethod": settings.INTERVALS,
        "PartInterval": settings.PART_INTERVALS,
        "GateInterval": settings.GATE_INTERVALS,
        "JudgingMethod": JUDGING_METHODS,
        "MetricFamily": [*FAMILIES, CUSTOM],
        "MetricFunction": FUNCTIONS,
        "MissingTruth": MISSING_TRUTH,
        "PlotKind": KINDS_OF_PLOTS,
        "RanxKind": ranx_data.KINDS,
        "RanxTest": TESTS_OF_RANX,
        "Similarity": SIMILARITIES,
        "SpanOverlap": OVERLAP.choices,
        "ResponseMethod": RESPONSE_METHODS,
        "ResultRows": ROWS,
        "TestName": settings.TESTS,
        "TiePolicy": CHOICES["ties"],
        "Verdict": settings.VERDICTS,
        "WrittenFormat": WRITERS,
    }
    lines = ['"""Choices of arguments as types. Generated: scripts/generate."""', ""]
    lines += ["from typing import Literal, TypeAlias", ""]
    for name, values in choices.items():
        text = ", ".join(f'"{value}"' for value in values)
        wrapped = textwrap.wrap(text, width=115, break_long_words=False, break_on_hyphens=False)
        is_short = len(f"{name}: TypeAlias = Literal[{text}]") <= 120
        body = text if is_short else "\n" + "".join(f"    {line}\n" for line in wrapped)
        lines.append(f"{name}: TypeAlias = Literal[{body}]{'' if is_short else '  # fmt: skip'}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

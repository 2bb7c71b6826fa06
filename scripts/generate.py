"""
Write the names of metrics, the choices of arguments, and the public names of drop-ins.

They are in fastndcg/__init__.pyi, as `Literal` types in fastndcg/choices.py, and in docs/reference/drop_ins.md.

Usage: python scripts/make_stub.py [--check]

The metrics come from the catalogue. With --check, write nothing and exit with 1 if a file is out of date.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

DROP_IN_PAGE = """# Drop-ins

A drop-in has the functions of another library, with its signatures, values and errors. Change the import, and keep
the code. Where the original has a bug that [the page of the program](../numbers/index.md) lists, the value is right.

The drop-ins pass scikit-learn's own tests of these functions, and the cases of pytrec_eval's. `pytest benchmarks
-k drop_in` measures each against its original, in the form that the original takes.
"""
METRICS = re.compile(r"(?<=scripts/make_stub.py\n).*", re.DOTALL)  # to the end of the stub


def main() -> int:
    """Write or check the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    from fastndcg.metrics.families import records_of

    stub = ROOT / "fastndcg" / "__init__.pyi"
    metrics = "".join(f"{name}: Metric\n" for name in sorted(record.name for record in records_of("evaluate")))
    texts = {stub: METRICS.sub(metrics, stub.read_text(encoding="utf-8"))}
    texts[stub.with_name("choices.py")] = make_choices()
    texts[ROOT / "docs" / "reference" / "drop_ins.md"] = make_drop_in_page()
    is_current = True
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            is_current = False
            if is_check:
                print(f"{path.relative_to(ROOT)}: out of date. Run python scripts/make_stub.py")
            else:
                path.write_text(text, encoding="utf-8")
    return int(is_check and not is_current)


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
    lines = ['"""Choices of arguments as types. Generated: python scripts/make_stub.py."""', ""]
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

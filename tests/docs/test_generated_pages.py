"""The generated pages of the documentation have everything that the records have."""

import importlib
import re
from pathlib import Path
from typing import get_args

import pytest

import fastndcg as fn
from fastndcg import errors
from fastndcg.choices import TiePolicy
from fastndcg.fusion.catalog import FUSION_METHODS, NORMALIZATIONS
from fastndcg.fusion.conventions import FIELDS as FUSION_FIELDS
from fastndcg.metrics.families import CATALOG
from fastndcg.named_conventions import FIELDS
from scripts.site import error_page, fusion_pages, guide_pictures, numbers_pages, result_pages
from scripts.site.fusion_formulas import FORMULAS

ROOT = Path(__file__).resolve().parents[2]


def test_api_pages_list_every_public_name():
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    listed = re.findall(r"^   (\w+)$", pages, re.MULTILINE)
    assert {name for name in fn.__all__ if name not in CATALOG and name != "reference"} <= set(listed)
    assert [name for name in listed if name.startswith("_")] == []


def test_classes_of_results_have_pages():
    classes = result_pages.list_classes()
    named = {name.rpartition(".")[2] for name in classes}
    assert {"Row", "Design", "CurvePoint", "Segment", "GateRow", "GridRow", "Step", "MetricRow", "Interval"} <= named
    assert not named & {"Results", "Comparison", "Metric"}
    for path in classes:
        module, _, name = f"fastndcg.{path}".rpartition(".")
        assert getattr(importlib.import_module(module), name).__doc__


@pytest.fixture(scope="module")
def pages():
    return numbers_pages.make_pages()


def test_every_program_has_a_page_with_its_bugs(pages):
    for name, convention in fn.conventions.items():
        if convention.peer:
            (page,) = [
                text for path, text in pages.items() if f"What `{name}` does differently" in text and "numbers/" in path
            ]
            assert all(f"`{bug.source}`" in page for bug in convention.bugs)
            assert all(f"`{option}`" in page for option, _ in convention.options)


def test_values_of_minimal_cases_are_those_of_the_records(pages):
    values = {bug.ours for convention in fn.conventions.values() for bug in convention.bugs}
    numbers = [value for value in values if not isinstance(value, str)]
    printed = [
        value
        for text in pages.values()
        for value in re.findall(r"\.means\(\)\n *\[(.*)\]\n", str(text))
        if value != "nan"
    ]
    assert len(printed) > 10
    assert [value for value in printed if not any(float(value) == pytest.approx(n, abs=1e-4) for n in numbers)] == []


def test_every_choice_has_words():
    choices = {(name, str(choice)) for name, field in FIELDS.items() for choice in field.choices}
    assert choices == set(numbers_pages.WORDS)


def test_every_error_has_a_message_and_a_remedy():
    page = "".join(error_page.write_errors())
    classes = [fn.FastndcgError, *fn.FastndcgError.__subclasses__(), *fn.InvalidInputError.__subclasses__()]
    names = [kind.__name__ for kind in classes if kind.__module__ == errors.__name__]
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == sorted(names, key=page.index)
    assert all(f"\n{name}: " in page for name in names if name != "FastndcgError")
    assert page.count("**Remedy**") == page.count("{code-block} text")


def test_page_of_fusion_has_every_record_and_choice():
    page = fusion_pages.make_pages()["reference/fusion.md"]
    for record in FUSION_METHODS.values():
        assert f"| `{record.name}` |" in page
        assert FORMULAS[record.name] in page
    for name in (*NORMALIZATIONS, *FUSION_FIELDS):
        assert f"| `{name}` |" in page
    for name, convention in fn.fusion_conventions.items():
        assert f"\n### {name}\n" in page
        assert all(bug.what.split(",")[0] in page.replace("\\", "") for bug in convention.bugs)


def test_tie_picture_has_the_value_of_each_policy():
    for theme in guide_pictures.TEXT:
        texts = re.findall(r">([^<>]+)</text>", "".join(guide_pictures.draw_ties(theme)))
        for policy in ("average", *guide_pictures.POLICIES):
            assert policy in texts
            assert f"{guide_pictures.compute_ndcg(policy):.4f}" in texts
    assert {"average", "mean_rank", *guide_pictures.POLICIES} == set(get_args(TiePolicy))  # nDCG has no mean_rank

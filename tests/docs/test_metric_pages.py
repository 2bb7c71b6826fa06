"""The generated pages have everything that the records have: formulas, symbols, examples, plots, and choices."""

import doctest
import importlib
import re
from math import log2
from pathlib import Path
from typing import get_args

import pytest
from generated_pages import fusion, metric_examples, metrics, numbers, pictures, results

import fastndcg as fn
from fastndcg import errors
from fastndcg.choices import TiePolicy
from fastndcg.fusion.catalog import FUSION_METHODS, NORMALIZATIONS
from fastndcg.fusion.conventions import FIELDS as FUSION_FIELDS
from fastndcg.metrics.families import AGGREGATES, CATALOG, FAMILIES
from fastndcg.named_conventions import FIELDS

RECORDS = {**CATALOG, **AGGREGATES}
MOST_USED = {"nDCG", "DCG", "AP", "RR", "P", "R", "Success", "RBP", "ERR", "bpref"}
PAGES = {page: metrics.MATHEMATICS[page] for page in (*FAMILIES, "aggregates")}
FORMULAS = {name: equations for page in PAGES.values() for name, equations in page["formulas"].items()}
SYMBOLS = [*metrics.MATHEMATICS["symbols"], *(symbol for page in PAGES.values() for symbol in page.get("symbols", ()))]
WORDS = "|".join(re.findall(r"(?<=\\mathrm\{)[a-z]+", " ".join(SYMBOLS)))
GREEK = "alpha|beta|gamma|delta|varepsilon|theta|kappa|lambda|mu|nu|pi|varrho|rho|sigma|tau|varphi|phi|ell"
COMMAND = re.compile(rf"\\mathrm\{{(?!(?:{WORDS})\}})[^{{}}]*\}}|\\(?!mathrm|(?:{GREEK})\b)[A-Za-z]+")
SYMBOL = re.compile(rf"(\\mathrm\{{\w+\}}|\\(?:{GREEK})\b|[A-Za-z])((?:\^\*)?)(?:'?_(\{{[^{{}}]*\}}|\w))?")
LOCAL = {(letter, "", "") for letter in "ijme"}  # numbers that a formula defines itself


def read_symbols(latex):
    """Return the symbols of LaTeX: the letter or word, its star, and of its index all but ranks and other numbers."""
    found = SYMBOL.findall(re.sub(r"_\{ *\}", "", COMMAND.sub(" ", latex)))
    return {
        (base, star, "_" * bool(index.strip("{ }")) + re.sub(r"[^A-Za-z]|[rijkmndq]", "", index))
        for base, star, index in found
    }


@pytest.mark.parametrize("page", PAGES)
def test_symbols_of_a_page_are_explained(page):
    own = [equation for equations in PAGES[page]["formulas"].values() for equation in equations]
    used, explained = (set().union(*map(read_symbols, texts)) for texts in (own, dict(metrics.list_symbols(page))))
    assert used - explained - LOCAL == set()
    assert explained - used == set()


def test_symbols_are_found():
    found = read_symbols(r"\mathrm{P@}k = \frac{h_{k,z}}{H} + \theta \gamma^*_r \mathrm{rel}_r")
    plain = {("k", "", ""), ("H", "", ""), (r"\theta", "", "")}
    assert found == plain | {("h", "", "_z"), (r"\gamma", "^*", "_"), (r"\mathrm{rel}", "", "_")}
    assert set(FORMULAS) == set(RECORDS)


@pytest.mark.parametrize("name", RECORDS)
def test_formula_is_drawn(name):
    parser = pytest.importorskip("matplotlib.mathtext").MathTextParser("path")
    for equation in FORMULAS[name]:
        assert parser.parse(f"${equation}$").width > 0
        assert equation.count(r"\left") == equation.count(r"\right")
        assert "=" in equation
        assert "$" not in equation


@pytest.mark.parametrize("family", FAMILIES)
def test_examples_of_a_page_print_what_it_shows(family):
    page = metrics.write_family(family)
    for name in (name for name, record in CATALOG.items() if record.family == family):
        assert f"(metric-{name.lower().replace('_', '-')})=\n" in page
        assert all(equation in page for equation in FORMULAS[name])
        if name in MOST_USED:
            assert f"\\begin{{aligned}}\n{metrics.MATHEMATICS['by_hand'][name][0].split(' =')[0]}" in page
    check_examples(page)


def test_examples_of_aggregates_print_what_their_page_shows():
    page = metrics.write_aggregates()
    assert all(f"(aggregate-{name})=" in page for name in AGGREGATES)
    check_examples(page)


def show_setup(name):
    session = metric_examples.Session(metric_examples.find_kind(CATALOG[name]))
    session.show(*session.setup)
    return session


def test_arithmetic_by_hand_is_that_of_the_library():
    """The metrics that are used most are worked out by hand. A wrong calculation stops the page."""
    assert set(metrics.MATHEMATICS["by_hand"]) == MOST_USED
    with pytest.raises(ValueError, match=r"by hand P must not be 0\.5"):
        metric_examples.work_by_hand(CATALOG["P"], show_setup("P"), [r"\mathrm{P@}3 = \frac{1}{2}"])


def test_overview_names_and_addresses():
    text = metrics.write_overview()
    for name in CATALOG:
        assert f"(#metric-{name.lower().replace('_', '-')})" in text
    assert all(f"(#aggregate-{name})" in text for name in AGGREGATES)
    text = metrics.write_names().replace("\\", "")
    for record in CATALOG.values():
        for program, name in record.peers:
            assert f"## {program}\n" in text
            assert re.split("[,:(]", name)[0] in text
    assert "<https://github.com/usnistgov/trec_eval>" in metrics.write_family("counts")


@pytest.mark.peers
def test_plots_are_alike_from_build_to_build():
    pytest.importorskip("matplotlib")
    assert set(pictures.PLACES.values()) <= set(pictures.PLOTS)
    assert set(pictures.PLACES) <= set(CATALOG)
    plot = pictures.PLOTS["discounts"]
    lines = plot.make_lines()
    assert [line.y[0] for line in lines] == [1, 1, 1]
    assert [line.y[3] for line in lines] == pytest.approx([1 / log2(5), 1 / log2(4), 1 / 4])
    light, again, dark = (
        pictures.draw(pictures.paint_lines(plot, lines), theme) for theme in ("light", "light", "dark")
    )
    assert light == again
    assert without_colours(light) == without_colours(dark)
    assert all(len(plot.description) > 40 for plot in pictures.PLOTS.values())


def without_colours(picture):
    return re.sub(rb"#[0-9a-f]{6}|(?<=id=\")\w+|(?<=#)m\w+", b"", picture)


def check_examples(page):
    blocks = "\n".join(re.findall(r"```pycon\n(.*?)```", page, re.DOTALL))
    assert doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(blocks, {}, "page", "page", 0)).failed == 0


def test_sources_can_be_found():
    texts = {record.name: f"{record.source} doi:{record.doi}" for record in CATALOG.values()}
    texts |= {name: record.source for name, record in AGGREGATES.items()}
    is_place = re.compile(r"doi:10\.\d{4,}/\S+|ISBN (?:\d-?){9}[\dX]|https?://\S+")
    assert [name for name, text in texts.items() if not is_place.search(text)] == []
    for number in re.findall(r"ISBN ([\d-]+X?)", " ".join(texts.values())):
        digits = [10 if digit == "X" else int(digit) for digit in number.replace("-", "")]
        assert sum(digit * weight for digit, weight in zip(digits, range(10, 0, -1), strict=True)) % 11 == 0, number


ROOT = Path(__file__).resolve().parents[2]


def test_api_pages_list_every_public_name():
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    listed = re.findall(r"^   (\w+)$", pages, re.MULTILINE)
    assert {name for name in fn.__all__ if name not in CATALOG and name != "reference"} <= set(listed)
    assert [name for name in listed if name.startswith("_")] == []


def test_classes_of_results_have_pages():
    classes = results.list_classes()
    named = {name.rpartition(".")[2] for name in classes}
    assert {"Row", "Design", "CurvePoint", "Segment", "GateRow", "GridRow", "Step", "MetricRow", "Interval"} <= named
    assert not named & {"Results", "Comparison", "Metric"}
    for path in classes:
        module, _, name = f"fastndcg.{path}".rpartition(".")
        assert getattr(importlib.import_module(module), name).__doc__


@pytest.fixture(scope="module")
def pages():
    return numbers.make_pages()


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
    assert choices == set(numbers.WORDS)


def test_every_error_has_a_message_and_a_remedy():
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    classes = [fn.FastndcgError, *fn.FastndcgError.__subclasses__(), *fn.InvalidInputError.__subclasses__()]
    names = [kind.__name__ for kind in classes if kind.__module__ == errors.__name__]
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == sorted(names, key=page.index)
    assert all(f"{name}: " in page for name in names if name != "FastndcgError")
    assert page.count("**Remedy**") == page.count("Traceback") + page.count("```text")


def test_page_of_fusion_has_every_record_and_choice():
    page = fusion.make_pages()["reference/fusion.md"]
    for record in FUSION_METHODS.values():
        assert f"| `{record.name}` |" in page
        assert metrics.MATHEMATICS["fusion"]["formulas"][record.name][0] in page
    for name in (*NORMALIZATIONS, *FUSION_FIELDS):
        assert f"| `{name}` |" in page
    for name, convention in fn.fusion_conventions.items():
        assert f"\n### {name}\n" in page
        assert all(bug.what.split(",")[0] in page.replace("\\", "") for bug in convention.bugs)


@pytest.mark.peers
def test_tie_picture_has_the_value_of_each_policy():
    pytest.importorskip("matplotlib")
    texts = re.findall("<!-- (.*) -->", pictures.draw(pictures.paint_ties, "light").decode())
    for policy in pictures.SHOWN:
        assert policy in texts
        assert f"{pictures.compute_ndcg(policy):.4f}" in texts
    assert {*pictures.SHOWN, "mean_rank"} == set(get_args(TiePolicy))  # nDCG has no mean_rank

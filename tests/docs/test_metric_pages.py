"""The pages of the metrics: formulas in LaTeX, symbols, examples, calculations by hand and plots."""

import doctest
import re

import pytest

from fastndcg.metrics.families import AGGREGATES, EVERY, FAMILIES
from scripts.site import metric_examples, metric_pages, metric_symbols
from scripts.site.metric_formulas import FORMULAS

RECORDS = {**EVERY, **AGGREGATES}
MOST_USED = {"nDCG", "DCG", "AP", "RR", "P", "R", "Success", "RBP", "ERR", "bpref"}


@pytest.mark.parametrize("name", RECORDS)
def test_formula_is_latex_with_balanced_braces(name):
    """Each record has equations. Their braces and their growing brackets are balanced."""
    for equation in FORMULAS[name]:
        depth = 0
        for mark in re.findall(r"(?<!\\)[{}]", equation):
            depth += 1 if mark == "{" else -1
            assert depth >= 0, equation
        assert depth == 0, equation
        assert equation.count(r"\left") == equation.count(r"\right")
        assert "=" in equation
        assert "$" not in equation


@pytest.mark.parametrize("name", RECORDS)
def test_symbols_are_explained(name):
    """Every letter of an equation belongs to a symbol that the page explains."""
    for equation in FORMULAS[name]:
        assert metric_symbols.find_unexplained(equation) == set(), equation


def test_a_symbol_without_meaning_is_found():
    """A letter that is no symbol is reported, and so is a Greek letter."""
    assert metric_symbols.find_unexplained(r"\mathrm{P@}k = \frac{h_k}{H} + \theta") == {"H", r"\theta"}


def test_symbols_are_all_used():
    """Every symbol appears in a formula."""
    assert set(FORMULAS) == set(RECORDS)
    equations = [equation for own in FORMULAS.values() for equation in own]
    assert set(metric_symbols.find_symbols(equations)) == set(metric_symbols.SYMBOLS)


@pytest.mark.parametrize("name", RECORDS)
def test_formula_is_drawn(name):
    """Matplotlib draws each equation, which has no command that is misspelt."""
    parser = pytest.importorskip("matplotlib.mathtext").MathTextParser("path")
    for equation in FORMULAS[name]:
        assert parser.parse(f"${equation}$").width > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_examples_of_a_page_print_what_it_shows(family):
    """A family's page has a section for each metric with its formula, and its examples are doctests that pass."""
    page = "".join(metric_pages.write_family(family))
    for name in (name for name, record in EVERY.items() if record.family == family):
        assert f"(metric-{name.lower().replace('_', '-')})=\n" in page
        assert all(equation in page for equation in FORMULAS[name])
    check_examples(page)


def test_examples_of_aggregates_print_what_their_page_shows():
    """The examples of the page about aggregates are doctests that pass."""
    page = "".join(metric_pages.write_aggregates())
    assert all(f"(aggregate-{name})=" in page for name in AGGREGATES)
    check_examples(page)


def test_metrics_used_most_are_worked_out_by_hand():
    """Ten metrics have a calculation by hand, whose value is that of the library."""
    assert set(metric_examples.BY_HAND) == MOST_USED
    for name in MOST_USED:
        namespace = {}
        list(metric_examples.run_code(metric_examples.SETUPS[metric_examples.find_kind(EVERY[name])], namespace))
        assert metric_examples.work_by_hand(EVERY[name], namespace)


def test_a_wrong_calculation_by_hand_is_found(monkeypatch):
    """A calculation whose value is not that of the library raises an error."""
    monkeypatch.setitem(metric_examples.BY_HAND, "RR", lambda: metric_examples.Steps(["1"], 1.0))
    namespace = {}
    list(metric_examples.run_code(metric_examples.SETUPS["labels"], namespace))
    with pytest.raises(ValueError, match=r"by hand RR must be 0\.5, not 1\.0"):
        metric_examples.work_by_hand(EVERY["RR"], namespace)


def test_overview_links_every_metric_and_aggregate():
    """The overview has a link to each metric and to each aggregate."""
    families = list(FAMILIES)
    text = "".join(metric_pages.write_overview(families))
    for name in EVERY:
        assert f"(#metric-{name.lower().replace('_', '-')})" in text
    assert all(f"(#aggregate-{name})" in text for name in AGGREGATES)


def test_names_of_every_program_are_listed():
    """The page of names has every name of every program."""
    text = "".join(metric_pages.write_names()).replace("\\", "")
    for record in EVERY.values():
        for program, name in record.peers:
            assert f"## {program}\n" in text
            assert re.split("[,:(]", name)[0] in text


def test_families_have_titles():
    """Each family of the catalogue has a title."""
    assert set(metric_pages.TITLES) == set(FAMILIES)


@pytest.mark.peers
def test_plots_are_alike_from_build_to_build():
    """A plot is the same twice, differs between themes by its colours only, and has a description."""
    pytest.importorskip("matplotlib")
    from scripts.site.metric_plots import COLOURS, PLACES, PLOTS, draw

    assert {plot for plots in PLACES.values() for plot in plots} == set(PLOTS)
    assert set(PLACES) <= set(EVERY)
    plot = PLOTS["gains"]
    lines = plot.make_lines()
    assert [line.y for line in lines] == [[0, 1, 2, 3, 4], [0, 1, 3, 7, 15], [0, 1, 1, 1, 1]]
    light, dark = (draw(plot, lines, theme) for theme in COLOURS)
    assert light == draw(plot, lines, "light")
    assert without_colours(light) == without_colours(dark)
    assert all(len(plot.description) > 40 for plot in PLOTS.values())


def without_colours(picture):
    """Return a picture without its colours and without names that depend on them."""
    return re.sub(rb"#[0-9a-f]{6}|(?<=id=\")\w+|(?<=#)m\w+", b"", picture)


def check_examples(page):
    """Run the examples of a page one after the other."""
    blocks = "\n".join(re.findall(r"```pycon\n(.*?)```", page, re.DOTALL))
    assert doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(blocks, {}, "page", "page", 0)).failed == 0


def test_sources_can_be_found():
    """Each metric and each aggregate has the DOI of its publication, the ISBN of a book, or an address."""
    texts = {record.name: f"{record.source} doi:{record.doi}" for record in EVERY.values()}
    texts |= {name: record.source for name, record in AGGREGATES.items()}
    is_place = re.compile(r"doi:10\.\d{4,}/\S+|ISBN (?:\d-?){9}[\dX]|https?://\S+")

    assert [name for name, text in texts.items() if not is_place.search(text)] == []
    for number in re.findall(r"ISBN ([\d-]+X?)", " ".join(texts.values())):
        digits = [10 if digit == "X" else int(digit) for digit in number.replace("-", "")]
        assert sum(digit * weight for digit, weight in zip(digits, range(10, 0, -1), strict=True)) % 11 == 0, number


def test_addresses_of_sources_are_links():
    """An address in a source is a link, with its underscores."""
    link = "[github.com/usnistgov/trec\\_eval](https://github.com/usnistgov/trec_eval)"

    assert link in "".join(metric_pages.write_family("counts"))

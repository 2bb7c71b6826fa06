"""The pages of the metrics: formulas in LaTeX, symbols, examples, calculations by hand and plots."""

import doctest
import re

import pytest

from fastndcg.metrics.families import AGGREGATES, CATALOG, FAMILIES
from scripts.site import metric_examples, metric_pages, metric_symbols
from scripts.site.metric_formulas import FORMULAS

RECORDS = {**CATALOG, **AGGREGATES}
MOST_USED = {"nDCG", "DCG", "AP", "RR", "P", "R", "Success", "RBP", "ERR", "bpref"}


@pytest.mark.parametrize("name", RECORDS)
def test_symbols_are_explained(name):
    for equation in FORMULAS[name]:
        assert metric_symbols.find_unexplained(equation) == set(), equation


def test_symbols_are_all_used_and_others_are_found():
    assert metric_symbols.find_unexplained(r"\mathrm{P@}k = \frac{h_k}{H} + \theta") == {"H", r"\theta"}
    assert set(FORMULAS) == set(RECORDS)
    equations = [equation for own in FORMULAS.values() for equation in own]
    assert set(metric_symbols.find_symbols(equations)) == set(metric_symbols.SYMBOLS)


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
    page = "".join(metric_pages.write_family(family))
    for name in (name for name, record in CATALOG.items() if record.family == family):
        assert f"(metric-{name.lower().replace('_', '-')})=\n" in page
        assert all(equation in page for equation in FORMULAS[name])
    check_examples(page)


def test_examples_of_aggregates_print_what_their_page_shows():
    page = "".join(metric_pages.write_aggregates())
    assert all(f"(aggregate-{name})=" in page for name in AGGREGATES)
    check_examples(page)


def test_metrics_used_most_are_worked_out_by_hand():
    assert set(metric_examples.BY_HAND) == MOST_USED
    for name in MOST_USED:
        namespace = {}
        list(metric_examples.run_code(metric_examples.SETUPS[metric_examples.find_kind(CATALOG[name])], namespace))
        assert metric_examples.work_by_hand(CATALOG[name], namespace)


def test_overview_names_and_addresses():
    families = list(FAMILIES)
    text = "".join(metric_pages.write_overview(families))
    for name in CATALOG:
        assert f"(#metric-{name.lower().replace('_', '-')})" in text
    assert all(f"(#aggregate-{name})" in text for name in AGGREGATES)
    text = "".join(metric_pages.write_names()).replace("\\", "")
    for record in CATALOG.values():
        for program, name in record.peers:
            assert f"## {program}\n" in text
            assert re.split("[,:(]", name)[0] in text
    link = "[github.com/usnistgov/trec\\_eval](https://github.com/usnistgov/trec_eval)"
    assert link in "".join(metric_pages.write_family("counts"))


@pytest.mark.peers
def test_plots_are_alike_from_build_to_build():
    pytest.importorskip("matplotlib")
    from scripts.site.metric_plots import COLOURS, PLACES, PLOTS, draw

    assert {plot for plots in PLACES.values() for plot in plots} == set(PLOTS)
    assert set(PLACES) <= set(CATALOG)
    plot = PLOTS["gains"]
    lines = plot.make_lines()
    assert [line.y for line in lines] == [[0, 1, 2, 3, 4], [0, 1, 3, 7, 15], [0, 1, 1, 1, 1]]
    light, dark = (draw(plot, lines, theme) for theme in COLOURS)
    assert light == draw(plot, lines, "light")
    assert without_colours(light) == without_colours(dark)
    assert all(len(plot.description) > 40 for plot in PLOTS.values())


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

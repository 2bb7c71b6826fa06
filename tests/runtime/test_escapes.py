"""Hostile names in every output: no call fails, every format still parses, and terminals get printable text only."""

import contextlib
import csv
import io
import json
import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from html_tags import Tags
from system_values import METRICS, drawn, results_of

import fastndcg as fn
from fastndcg.cli import output
from fastndcg.cli.trec_eval import Report
from fastndcg.errors import MOST_SHOWN
from fastndcg.results.results import Results
from fastndcg.runtime import escapes

LONG = 200_000
NAMES = {
    "plain": "bm25", "backslash": r"C:\new\g<9>\d", "group": r"\g<1>\1", "line feed": "a\nb\r\nc\u2028d\x85e",
    "escape": "\x1b[2J\x1b]0;owned\x07\x9b31m", "nul": "a\x00b", "surrogate": "caf\udce9",
    "script": '</script><script>alert(1)</script><b a="x\'">&amp;', "pipe": "a|b||c", "percent": "50%\n\\input{secret}",
    "formula": "=cmd|' /C calc'!A0", "plus": "+1+cmd|x", "at": "@SUM(1+1)", "minus": "-2+3",
    "direction": "\u202egnp.exe\u202c \u2066x\u2069 \u200fy", "dollar": r"$\frac{1}{2}$ a\$b $x",
    "latex": r"[1cm]{x}_^~#&\\*", "markdown": "# *a* _b_ `c` [d](javascript:e) ![f](g) ~~h~~ <i>",
    "forbidden in XML": "a\ufffeb\uffff", "long": "x" * LONG, "long and hostile": "\x00|$\\\n" * (LONG // 5),
}  # fmt: skip
HOSTILE = pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
FIGURE_NAMES = ("backslash", "dollar", "script", "surrogate", "long")  # pages and figures take seconds, tables none
IN_FIGURES = pytest.mark.parametrize("name", [NAMES[name] for name in FIGURE_NAMES], ids=FIGURE_NAMES)
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
MOST_BYTES = 100_000  # of an output for people about a few rows, with any names
N = 8


def compared(name):
    """Return a comparison in which systems, the baseline and queries carry a name."""
    columns = drawn(1, N, n_systems=3, lift=0.1)
    ids = [f"{name}{place}" for place in range(N)]
    names = [name, f"{name}b", "other"]
    systems = {one: results_of(values, ids) for one, values in zip(names, columns, strict=True)}
    return fn.compare(systems, interval="t", test="t", baseline=names[1])


def by_segment(name):
    return compared(name).by([name] * 4 + ["rest"] * 4)


def result_of(name):
    """Return results whose queries carry a name, under a convention of that name if a convention can have it."""
    convention = fn.conventions["default"]
    with contextlib.suppress(fn.InvalidInputError):
        convention = fn.Convention(name)
    ids = np.array([f"{name}{place}" for place in range(N)], object)
    return Results(drawn(2, N)[0], METRICS, ids, convention, notes=(f"note of {name}",))


def explained(name):
    truth, run = {name: {f"{name}d": 1, "e": 0}}, {name: {f"{name}d": 0.5, "e": 0.7}}
    return fn.explain(truth, run, "ndcg@10", query=name)


def is_printable(text):
    return not UNSEEN.search(text)


def for_people(text):
    assert is_printable(text)
    assert len(text.encode()) < MOST_BYTES
    return text


def print_runs(names):
    return "".join(output.format_reports([Report(name, result_of(name)) for name in names], "table", True))


TEXTS = {
    "results": lambda name: str(result_of(name)), "repr of results": lambda name: repr(result_of(name)),
    "comparison": lambda name: str(compared(name)), "segments": lambda name: str(by_segment(name)),
    "pairs": lambda name: str(compared(name).all_pairs()),
    "segments of results": lambda name: str(result_of(name).by([name] * N, method="t")),
    "explanation": lambda name: str(explained(name)), "terminal": lambda name: "".join(fn_terminal(compared(name))),
    "table of a run": lambda name: print_runs([name]),
    "table of runs": lambda name: print_runs([name, name]),
}  # fmt: skip


def fn_terminal(comparison):
    pytest.importorskip("scipy")
    from fastndcg.reports import text

    return text.terminal(comparison)


@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS)
def test_tables_for_terminals_are_printable_and_short(make):
    pytest.importorskip("scipy")
    plain = make("bm25")
    for name in NAMES.values():
        assert for_people(make(name)).count("\n") == plain.count("\n")


NOTEBOOKS = {"results": result_of, "comparison": compared, "explanation": explained}


@pytest.mark.parametrize("make", NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_notebooks_show_names_as_text(make):
    pytest.importorskip("scipy")
    plain = Tags(make("bm25")._repr_html_()).tags
    for name in NAMES.values():
        found = Tags(for_people(make(name)._repr_html_()))
        assert (found.open, found.wrong, found.tags) == ([], [], plain)


@pytest.fixture(scope="module")
def plain_page(tmp_path_factory):
    for needed in ("scipy", "jinja2"):
        pytest.importorskip(needed)
    path = tmp_path_factory.mktemp("plain") / "report.html"
    compared("bm25").to_html(path)
    return path.read_text(encoding="utf-8")


def test_report_title_is_escaped(plain_page, tmp_path):
    compared("bm25").to_html(tmp_path / "report.html", title="</title>\x1b\ud800" * LONG)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert Tags(page).tags == Tags(plain_page).tags
    assert len(page) < len(plain_page) + 10_000


@IN_FIGURES
def test_report_names_are_escaped(name, plain_page, tmp_path, recwarn):
    compared(name).to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert len(page) < 400_000
    found, expected = Tags(page), Tags(plain_page)
    assert (found.open, found.wrong) == ([], [])
    assert [tag for tag, _ in found.tags if tag in ("script", "img", "b", "i", "title", "iframe")] == [
        tag for tag, _ in expected.tags if tag in ("script", "img", "b", "i", "title", "iframe")
    ]
    assert {tag for tag in found.tags if tag[0] == "svg"} == {tag for tag in expected.tags if tag[0] == "svg"}
    figures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(figures) == len(METRICS) * 4  # a leaderboard, a forest, and the histograms of two systems
    for figure in figures:
        labels = ElementTree.fromstring(figure)
        assert labels.attrib["role"] == "img"
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert len(data["queries"]) == N
    assert is_printable(re.sub(r"[\n]", "", page))
    assert not [one for one in recwarn if "onstrained_layout" in str(one.message)]


@IN_FIGURES
@pytest.mark.parametrize("kind", ["forest", "curve"])
def test_figures_draw_names_as_they_are(kind, name, tmp_path, pyplot):
    pytest.importorskip("scipy")
    found = compared(name)
    if kind == "curve":
        columns, cuts = drawn(3, N, n_systems=2), (fn.P @ 1, fn.P @ 2, fn.P @ 5)
        systems = {one: results_of(v, metrics=cuts) for one, v in zip((name, "other"), columns, strict=True)}
        found = fn.compare(systems, interval="t", test="t")
    found.plot(kind).figure.savefig(tmp_path / "figure.svg")
    tree = ElementTree.parse(tmp_path / "figure.svg")
    assert tree.getroot().tag.endswith("svg")
    assert (tmp_path / "figure.svg").stat().st_size < MOST_BYTES


def test_figures_set_by_tex_get_escaped_names(monkeypatch, pyplot):
    pytest.importorskip("scipy")
    monkeypatch.setitem(pyplot.rcParams, "text.usetex", True)
    labels = compared(r"\input{x}").plot().get_yticklabels()
    assert r"\textbackslash{}input\{x\}" in {label.get_text() for label in labels}


def cells_of(line):
    return re.findall(r"(?:\\.|[^|\\])+(?=\|)", line)


@HOSTILE
def test_markdown_keeps_its_columns(name):
    pytest.importorskip("scipy")
    text = for_people(compared(name).to_markdown())
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("| system"))
    table = lines[start : lines.index("", start)]
    assert len(table) == 2 + 9
    assert {len(cells_of(line)) for line in table} == {len(cells_of(table[0]))}
    assert not re.search(r"(?<!\\)[<>`]|\]\(", text)
    assert not any(re.match(r"[#>=-]", line) for line in lines)


LATEX_COMMANDS = {"textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar"}
LATEX_COMMANDS |= {"begin", "end", "toprule", "midrule", "bottomrule"}


@HOSTILE
def test_latex_has_no_special_character_of_a_name(name):
    pytest.importorskip("scipy")
    lines = for_people(compared(name).to_latex()).splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(r"\begin{tabular}"))
    assert all(line.startswith("% ") for line in lines[:start])
    for line in lines[start + 1 : -1]:
        assert set(re.findall(r"\\([A-Za-z]+)", line)) <= LATEX_COMMANDS
        bare = re.sub(r"\\[A-Za-z]+(\{\})?|\\[&%$#_{}]|\\\\$|^\{\}", "", line)
        assert not re.search(r"[%$#_{}~^\\<>|]", bare)
        if line.endswith(r"\\"):
            assert bare.count(" & ") == 9
            assert not re.match(r"\s*[\[*]", line)


@HOSTILE
def test_json_gives_names_back(name):
    pytest.importorskip("scipy")
    whole = json.loads(compared(name).to_json())
    assert [one["system"] for one in whole["systems"]] == [name, f"{name}b", "other"]
    report = Report(name, result_of(name))
    (run,) = json.loads("".join(output.format_reports([report], "json", True)))["runs"]
    assert run["run"] == name
    assert list(run["per_query"]) == [f"{name}{place}" for place in range(N)]


def spreadsheet_safe(cell):
    with contextlib.suppress(ValueError):
        float(cell)
        return True
    return not cell.lstrip().startswith(("=", "+", "-", "@"))


@HOSTILE
def test_csv_keeps_its_columns_and_holds_no_formula(name):
    from fastndcg.reports import text

    pytest.importorskip("scipy")
    name = name[: LONG // 10]
    report = Report(name, result_of(name))
    csv.field_size_limit(10 * LONG)
    for made, n_rows in (
        (text.as_csv(compared(name)), 10),
        ("".join(output.format_reports([report], "csv", True)), N + 1),
        ("".join(output.format_reports([report], "csv", False)), 2),
    ):
        assert is_printable(made)
        assert made.count("\n") == n_rows
        rows = list(csv.reader(io.StringIO(made)))
        assert {len(row) for row in rows} == {len(rows[0])}
        assert all(spreadsheet_safe(cell) for row in rows for cell in row)


def test_csv_leaves_numbers_alone():
    assert (
        escapes.csv_row([-0.5, "-7", "+1.5e3", math.nan, "-7-", "=1", "\t@x"]) == "-0.5,-7,+1.5e3,nan,'-7-,'=1,'\\t@x\n"
    )


@HOSTILE
def test_trec_lines_have_three_fields(name):
    name = name[: LONG // 10]
    report = Report(name, result_of(name), tag=name)
    lines = "".join(output.format_reports([report, report], "trec", True)).split("\n")
    assert lines.pop() == ""
    assert {line.count("\t") for line in lines} == {2}
    assert all(is_printable(line.replace("\t", "")) for line in lines)


@HOSTILE
def test_frames_hold_names(name):
    for needed in ("pandas", "polars", "pyarrow", "scipy"):
        pytest.importorskip(needed)
    result, escaped = result_of(name), name.replace("\udce9", "\\udce9")
    ids = (
        result.to_pandas().index.tolist(),
        result.to_polars()["query"].to_list(),
        result.to_arrow()["query"].to_pylist(),
    )
    for found in ids:
        assert found == [f"{escaped}{place}" for place in range(N)]
    assert compared(name).to_pandas()["system"][0] == escaped


@pytest.mark.parametrize("format_", ["table", "csv", "json", "trec"])
def test_command_prints_names_of_files(format_, files, run, shown):
    names = [f"./{one}.run" for one in NAMES.values() if len(one) < 100 and not set(one) & set("\0/")]
    try:
        for name in names:
            (files / name).write_text("q1 Q0 a 1 0.9 x\n", encoding="utf-8")
    except OSError:
        pytest.skip("this system has no such names of files")
    for name in names:
        arguments = ["evaluate", "qrels.txt", name, "good.run", "--per-query", "--format", format_]
        out = shown(*arguments)
        assert is_printable(out.replace("\t", ""))
        assert run(*arguments, "-o", "out.txt") == (0, "", "out.txt written\n")
        assert (files / "out.txt").read_text(encoding="utf-8") == out


@pytest.mark.parametrize("name", [one for one in NAMES.values() if len(one) < 100 and "\0" not in one])
def test_command_prints_errors_about_names(name, files, run):
    for arguments in (["evaluate", "qrels.txt", f"absent{name}"], ["evaluate", "-m", name], [name], ["metrics", name]):
        if name.startswith("-") or name == "bm25":
            continue
        code, _, err = run(*arguments)
        assert code == 2
        assert err.count("\n") == 1
        assert is_printable(err)


def test_cut_keeps_the_beginning_and_the_end():
    long = "x" * 1000
    assert escapes.show_name(f"{long}a") != escapes.show_name(f"{long}b")
    assert len(escapes.show_name(f"{long}a")) == MOST_SHOWN
    assert len(escapes.show_name("\0" * 1000)) == MOST_SHOWN

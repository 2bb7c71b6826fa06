"""Comparisons as text, plots and a page: what they say is what the rows say."""

import csv
import errno
import html.parser
import io
import json
import re

import numpy as np
import pytest
from systems import METRICS, drawn, results_by_name, results_of

import fastndcg as fn

pytest.importorskip("scipy", reason="comparing systems needs SciPy")
from fastndcg.reports import text

ODD = ["<b>x</b> & co.", "a_b$c$ 50%", 'say "hi" </script><script>alert(1)</script>']


def compared(names=("a", "b", "c"), n=40, missing=0.0, **options):
    """A comparison of systems with these names."""
    columns = drawn(1, n, n_systems=len(names), lift=0.1, missing=missing)
    return fn.compare({name: results_of(values) for name, values in zip(names, columns, strict=True)}, **options)


class TestText:
    """Markdown, LaTeX, JSON, CSV, terminals."""

    def test_markdown(self):
        """A line for each row, as many cells in each, notes below; a bar in a name does not end the cell."""
        found = compared(("a|b", "c", "d"))
        lines = found.to_markdown().splitlines()
        assert lines[0].startswith("| system | metric | mean |")
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines[:11]} == {11}
        assert lines[2].startswith(r"| a\|b | nDCG@10 |")
        assert [line.strip() for line in lines[-3:]] == found.notes()

    def test_latex(self):
        """A tabular of booktabs in which names print as they are."""
        lines = compared(("a_b", "50%", "x^2")).to_latex().splitlines()
        assert lines[3] == r"\begin{tabular}{llrrrrrrlr}"
        assert any(line.startswith(r"a\_b & nDCG@10 &") for line in lines)
        assert any(line.startswith(r"50\% & AP &") for line in lines)
        assert any(line.startswith(r"x\textasciicircum{}2 & RR &") for line in lines)
        assert all(line.count(" & ") == 9 for line in lines if line.endswith(r"\\"))

    def test_json(self):
        """Everything, with all digits; null where a number is missing; segments where there are some."""
        found = compared(seed=5, segments=["x", "y"] * 20)
        whole = json.loads(found.to_json())
        assert (whole["seed"], whole["replicates"], whole["baseline"]) == (5, 10_000, "a")
        assert whole["convention"]["name"] == "default"
        assert whole["rows"][0]["difference"] is None
        assert whole["rows"][1]["p"] == found.rows[1].p
        assert len(whole["segments"]) == 2 * 9
        assert "segments" not in json.loads(compared().to_json())

    def test_csv(self):
        """A row each, all fields, and what they hang on: baseline, methods, level, replicates and seed."""
        found = compared(seed=3, test="t")
        rows = list(csv.DictReader(io.StringIO(text.as_csv(found))))
        assert {(row["baseline"], row["test"], row["level"], row["seed"]) for row in rows} == {("a", "t", "0.95", "3")}
        assert len(rows) == 9
        assert float(rows[4]["difference_low"]) == found.rows[4].difference_low
        assert rows[0]["p"] == "nan"

    def test_terminal(self):
        """A block a metric; plain unless the terminal has colours, ASCII unless it has more."""
        found = compared()
        plain = "".join(text.terminal(found))
        assert plain.count("won/tied/lost") == 3
        assert "\x1b" not in plain
        assert "baseline" in plain.splitlines()[2]
        row = found.rows[2]
        won = round(text.BAR * row.wins / row.n_pairs)
        assert plain.splitlines()[4].count("█") == won
        narrow = "".join(text.terminal(found, unicode=False))
        assert narrow.replace("–", "-").isascii()
        coloured = "".join(text.terminal(found, colour=True))
        assert re.sub(r"\x1b\[\d+m", "", coloured) == re.sub(r" +\n", "\n", plain)
        assert text.COLOURS["better"] in coloured

    def test_reasons_take_the_place_of_intervals(self):
        """One query has none."""
        found = compared(n=1)
        assert "only one query has a value" in "".join(text.terminal(found))
        assert json.loads(found.to_json())["rows"][1]["p"] is None


@pytest.fixture
def pyplot():
    """Matplotlib's pyplot without a screen; figures are closed after the test."""
    matplotlib = pytest.importorskip("matplotlib", reason="plots are matplotlib's")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


class TestPlots:
    """Axes in, axes out."""

    @pytest.mark.parametrize("kind", ["forest", "curve", "histogram"])
    def test_draws_into_axes_that_are_given(self, pyplot, kind):
        """And makes its own where there are none."""
        found = fn.compare(results_by_name(drawn(2, 30), metrics=(fn.P @ 1, fn.P @ 2, fn.P @ 5)))
        _, axes = pyplot.subplots()
        assert found.plot(kind, axes=axes) is axes
        assert found.plot(kind).figure is not axes.figure

    def test_forest(self, pyplot):
        """Systems by rising difference, points where the means are, filled where significant, lines as intervals."""
        found = compared(("base", "b", "c", "d"))
        axes = found.plot(metric="map")
        rows = sorted((row for row in found.rows[4:8] if row.system != "base"), key=lambda row: row.difference)
        assert [label.get_text() for label in axes.get_yticklabels()] == [row.system for row in rows]
        points = [line for line in axes.lines if line.get_marker() == "o"]
        assert [float(point.get_xdata()[0]) for point in points] == [row.difference for row in rows]
        filled = [point.get_markerfacecolor() == point.get_color() for point in points]
        assert filled == [row.significant for row in rows]
        intervals = [list(line.get_xdata()) for line in axes.lines if line.get_marker() != "o"][1:]
        assert intervals == [[row.difference_low, row.difference_high] for row in rows]

    def test_curve(self, pyplot):
        """A line a system through its means."""
        found = fn.compare(results_by_name(drawn(3, 30), metrics=(fn.P @ 5, fn.P @ 1, fn.P @ 2)))
        axes = found.plot("curve")
        assert axes.lines[1].get_xdata().tolist() == [1, 2, 5]
        assert axes.lines[1].get_ydata().tolist() == [point.mean for point in found.curves if point.system == "b"]
        with pytest.raises(fn.InvalidInputError, match="has no curve of AP; it has P"):
            found.plot("curve", metric="map")
        with pytest.raises(fn.InvalidInputError, match="this comparison has no curves: give compare curves='ndcg'"):
            compared().plot("curve")

    def test_histogram(self, pyplot):
        """Bars add up to the queries that both have."""
        found = compared(missing=0.2)
        axes = found.plot("histogram", system="c", metric="rr")
        assert sum(bar.get_height() for bar in axes.patches) == found.rows[8].n_pairs

    def test_results(self, pyplot):
        """One system's values and their mean."""
        result = results_of(drawn(4, 30)[0])
        axes = result.plot("map")
        assert axes.get_xlabel() == "AP"
        assert sum(bar.get_height() for bar in axes.patches[:-1]) == 30
        assert result.plot().get_xlabel() == "nDCG@10"

    def test_names_are_no_formulas(self, pyplot):
        """Dollars and underscores print as they are."""
        axes = compared(("base", "a$b$c", "_hidden")).plot()
        axes.figure.canvas.draw()
        assert {label.get_text().strip("\u200b") for label in axes.get_yticklabels()} == {r"a\$b\$c", "_hidden"}

    def test_bad_input(self, pyplot):
        """A kind, a metric or a system that there is not."""
        found = compared()
        with pytest.raises(fn.InvalidInputError, match="`kind` must be one of 'forest', 'curve', 'histogram'"):
            found.plot("pie")
        with pytest.raises(fn.InvalidInputError, match="this comparison has no R@5"):
            found.plot(metric="r@5")
        with pytest.raises(fn.InvalidInputError, match="this comparison has no system 'x'"):
            found.plot("histogram", system="x")


class Tags(html.parser.HTMLParser):
    """Whatever a page would load, its ids, and whether its tags match."""

    VOID = ("meta", "br", "input", "link", "img", "hr")

    def __init__(self, page):
        super().__init__()
        self.open, self.wrong, self.loads, self.ids, self.words = [], [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        """Note ids, and what is loaded."""
        known = dict(attributes)
        self.ids += [known["id"]] if "id" in known else []
        loads = [known.get(name) for name in ("src", "href", "xlink:href", "action", "data") if known.get(name)]
        self.loads += [one for one in loads if not one.startswith("#")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Note an end that does not match."""
        if tag in self.VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        """Note what people read."""
        self.words.append(data)


@pytest.fixture(scope="module")
def page():
    """What makes a comparison a page."""
    for needed in ("jinja2", "matplotlib"):
        pytest.importorskip(needed, reason="the report needs it")
    from fastndcg.reports.page import page

    return page


def refuse(*given):
    """Do what a full disk does."""
    raise OSError(errno.ENOSPC, "No space left on device")


class TestPage:
    """`Comparison.to_html`."""

    def test_stands_on_its_own(self, page, tmp_path):
        """It loads nothing, its tags match, and its ids differ."""
        found = compared(segments=["x", "y"] * 20)
        found.to_html(tmp_path / "report.html", title="Our <systems>")
        text_ = (tmp_path / "report.html").read_text(encoding="utf-8")
        tags = Tags(text_)
        assert (tags.loads, tags.wrong, tags.open) == ([], [], [])
        assert len(set(tags.ids)) == len(tags.ids)
        assert "<title>Our &lt;systems&gt;</title>" in text_
        assert not re.search(r"https?://(?!www\.w3\.org/)", text_)
        assert "@import" not in text_
        assert "url(http" not in text_

    def test_is_written_whole_or_not_at_all(self, page, tmp_path, monkeypatch):
        """Where it cannot be made or put in its place, the report of before stays, and nothing else."""
        path = tmp_path / "report.html"
        path.write_text("of before")
        for place in ("fastndcg.reports.page.page", "os.replace"):
            with monkeypatch.context() as context:
                context.setattr(place, refuse)
                with pytest.raises(OSError, match="No space left"):
                    compared().to_html(path)
            assert path.read_text() == "of before"
            assert list(tmp_path.iterdir()) == [path]
        with pytest.raises(FileNotFoundError):
            compared().to_html(tmp_path / "absent" / "report.html")

    def test_names_the_convention_once(self, page):
        """Its choices are listed below it, not in its name."""
        assert "<summary>every choice</summary>" in page(compared())

    def test_says_how_to_have_curves(self, page):
        """Where none were asked for."""
        assert 'compare(…, curves="ndcg")' in "".join(Tags(page(compared())).words)

    def test_says_why_there_is_no_p_value(self, page):
        """The interval stays where the test has nothing to go by, and a note has the reason."""
        same = fn.compare(results_by_name([[[0.1], [0.2]], [[0.3], [0.4]]]), test="t", interval="t")
        words = "\n".join(Tags(page(same)).words)
        assert "[+0.2000, +0.2000]" in words
        assert "b, nDCG@10: no p-value, since all differences are alike" in words

    def test_says_what_the_rows_say(self, page):
        """Without its script: every mean, difference, interval and p-value of the summary, and what they hang on."""
        found = compared(seed=77, correction="bh")
        words = "\n".join(Tags(page(found)).words)
        for row in found.rows:
            assert f"{row.mean:.4f}" in words
            if row.system != "a":
                assert f"{row.difference:+.4f}" in words
                assert f"[{row.difference_low:+.4f}, {row.difference_high:+.4f}]" in words
                assert f"{row.wins}/{row.ties}/{row.losses}" in words
        for said in (
            "77",
            "Benjamini–Hochberg",
            "percentile bootstrap",
            fn.__version__,
            "sign-flip randomisation test",
        ):
            assert said in words

    def test_queries_won_and_lost_most_stand_in_the_page(self, page):
        """Ten each, of the best system."""
        found = compared()
        best = max(found.rows[:3], key=lambda row: row.mean).system
        differences = found.differences(best, "ndcg@10")
        shown = page(found)
        body = shown[shown.index('id="query-table"') : shown.index("</table>", shown.index('id="query-table"'))]
        listed = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', body)
        order = np.argsort(-differences, kind="stable")
        won = [place for place in order[:10] if differences[place] > 0]
        lost = [place for place in order[-10:] if differences[place] < 0]
        assert sorted(name for name, _ in listed) == sorted(f"q{place}" for place in (*won, *lost))
        assert listed[0] == (f"q{order[0]}", f"{differences[order[0]]:+.4f}")

    def test_names_cannot_break_out(self, page):
        """Systems, segments and queries are text, whatever they hold."""
        columns = drawn(5, 12, n_systems=3)
        ids = [f"</script><img src=x onerror=alert({place})>" for place in range(12)]
        results = {name: results_of(values, ids) for name, values in zip(ODD, columns, strict=True)}
        tags = Tags(page(fn.compare(results, segments=["<i>"] * 6 + ["&amp;"] * 6), "</title><b>"))
        assert (tags.loads, tags.wrong, tags.open) == ([], [], [])
        assert "alert(1)" in "".join(tags.words)

    def test_values_are_packed_without_loss(self, page):
        """Four decimals of every value come back from the page's data."""
        import base64

        found = compared(missing=0.1)
        shown = page(found)
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', shown, re.DOTALL)[1])
        assert data["queries"] == found.query_ids.tolist()
        for place, metric in enumerate(data["metrics"]):
            whole = np.frombuffer(base64.b64decode(metric["values"]), "<u2").reshape(3, -1)
            values = np.where(whole == 65535, np.nan, (whole + float(metric["base"])) * metric["unit"])
            expected = np.stack([column[:, place] for column in found.columns])
            assert metric["decimals"] == 4
            assert values == pytest.approx(np.round(expected, 4), abs=1e-9, nan_ok=True)

    def test_large_values_keep_what_16_bits_hold(self, page):
        """DCG in the thousands keeps a decimal."""
        columns = [column * 5000 - 20 for column in drawn(6, 20)]
        shown = page(fn.compare(results_by_name(columns)))
        data = json.loads(re.search(r'id="data">(.*?)</script>', shown, re.DOTALL)[1])
        assert [metric["decimals"] for metric in data["metrics"]] == [1, 1, 1]

    @pytest.mark.parametrize("n_systems", [10, 18])
    def test_ten_thousand_queries_stay_below_3_mb(self, page, n_systems):
        """With five metrics and long ids; where not all queries fit, those that differ most do."""
        columns = drawn(7, 10_000, n_metrics=5, n_systems=n_systems)
        ids = np.array([f"query-of-some-user-{place:012d}" for place in range(10_000)], object)
        metrics = (*METRICS, fn.P @ 5, fn.R @ 100)
        results = {f"system-{place}": results_of(values, ids, metrics=metrics) for place, values in enumerate(columns)}
        shown = page(fn.compare(results, interval="t", test="t", segments=np.arange(10_000) % 5))
        assert len(shown.encode()) < 3_000_000
        assert ("queries with the largest differences of any system" in shown) == (n_systems == 18)

    def test_needs_its_packages(self, monkeypatch, tmp_path):
        """An absent package is named with what installs it."""
        import sys

        found = compared()
        monkeypatch.setitem(sys.modules, "jinja2", None)
        with pytest.raises(fn.MissingPackageError, match=r"a report needs jinja2: pip install 'fastndcg\[report\]'"):
            found.to_html(tmp_path / "report.html")
        assert not (tmp_path / "report.html").exists()

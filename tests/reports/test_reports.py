"""Comparisons and tuned fusions as text, plots and a page: what they say is what the rows say."""

import csv
import errno
import html
import io
import json
import math
import re
import sys

import numpy as np
import pytest
from fusion_cases import draw_runs
from html_tags import Tags
from refusals import refused
from system_values import METRICS, drawn, results_by_name, results_of

import fastndcg as fn
from fastndcg.errors import InvalidInputError
from fastndcg.reports import text
from fastndcg.statistics.curves import CUTOFFS
from fastndcg.statistics.table import format_interval, format_number, format_p_value

pytest.importorskip("scipy")


def compared(names=("a", "b", "c"), n=40, missing=0.0, **options):
    columns = drawn(1, n, n_systems=len(names), lift=0.1, missing=missing)
    return fn.compare({name: results_of(values) for name, values in zip(names, columns, strict=True)}, **options)


class TestText:
    def test_json(self):
        """JSON has all fields with all digits, null for missing numbers, and other tables if they were given."""
        found = compared(seed=5)
        tables = {"segments": found.by(["x", "y"] * 20), "equivalence": found.equivalence(0.1)}
        whole = json.loads(text.as_json(found, tables))
        assert (whole["seed"], whole["replicates"], whole["baseline"]) == (5, 10_000, "a")
        assert whole["convention"]["name"] == "default"
        assert whole["rows"][0]["difference"] is None
        assert whole["rows"][1]["p"] == found.rows[1].p
        assert len(whole["segments"]) == 2 * 9
        assert [test["p"] for test in whole["equivalence"]] == [test.p for test in found.equivalence(0.1)]
        assert "segments" not in json.loads(compared().to_json())

    def test_csv(self):
        found = compared(seed=3, test="t")
        rows = list(csv.DictReader(io.StringIO(text.as_csv(found))))
        assert {(row["baseline"], row["test"], row["level"], row["seed"]) for row in rows} == {("a", "t", "0.95", "3")}
        assert len(rows) == 9
        assert float(rows[4]["difference_low"]) == found.rows[4].difference_low
        assert rows[0]["p"] == "nan"
        tests = found.equivalence(0.05)
        rows = list(csv.DictReader(io.StringIO(text.as_csv(found, equivalence=tests))))
        assert {row["margin"] for row in rows} == {"0.05"}
        assert [row["p_equivalent"] for row in rows[:3]] == ["nan", str(tests[0].p), str(tests[1].p)]

    def test_terminal(self):
        """The terminal shows one block per metric, with colours and Unicode only if the terminal has them."""
        found = compared()
        plain = "".join(text.terminal(found))
        assert plain.count("won/tied/lost") == 3
        assert "\x1b" not in plain
        assert plain.splitlines()[:3] == list(found.sentences)
        assert "baseline" in plain.splitlines()[6]
        row = found.rows[2]
        won = round(text.BAR_LENGTH * row.wins / row.n_pairs)
        assert plain.splitlines()[8].count("█") == won
        narrow = "".join(text.terminal(found, unicode=False))
        assert narrow.replace("–", "-").isascii()
        coloured = "".join(text.terminal(found, colour=True))
        assert re.sub(r"\x1b\[\d+m", "", coloured) == re.sub(r" +\n", "\n", plain)
        assert text.COLOURS["better"] in coloured

    @pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
    def test_terminal_fits(self, width):
        """Each system is in one line of 80 columns, without the bar. Long names are folded beside each part."""
        found = compared()
        lines = "".join(text.terminal(found, [found.by(["x", "y"] * 20)], width=width)).splitlines()
        assert max(map(len, lines)) <= width
        assert ("█" in "".join(lines)) == (width >= 100)
        if width >= 80:
            assert sum(line.startswith("b  ") and "/" in line for line in lines) == 3
        long = compared(names=("a" * 200, "b" * 200, "c"))
        lines = "".join(text.terminal(long, width=width)).splitlines()
        assert max(len(line) for line in lines if "a" * 200 not in line and "b" * 200 not in line) <= width
        shown = " ".join(lines)
        for row in long.rows:
            assert format_number(row.mean) in shown
            assert math.isnan(row.p) or format_interval(row.difference_low, row.difference_high, signed=True) in shown

    def test_terminal_has_the_p_value_of_equivalence(self):
        tests = compared().equivalence(0.05)
        *_, head, row = "".join(text.terminal(compared(), [tests])).splitlines()[:-6]
        assert "p, equivalent" in head
        assert format_p_value(tests[0].p) in row

    def test_reasons_take_the_place_of_intervals(self):
        found = compared(n=1)
        assert "only one query has a value" in "".join(text.terminal(found))
        assert json.loads(found.to_json())["rows"][1]["p"] is None


def results(*columns, metric="ndcg@10"):
    """Results of systems with these values in each query, by the letters a, b and c."""
    return {name: results_of([[value] for value in values], metrics=(fn.Metric.parse(metric),))
            for name, values in zip("abc", columns, strict=False)}  # fmt: skip


LOW, HIGH = [0.1, 0.2] * 15, [0.6, 0.7] * 15
MIXED = [0.1, 0.3] * 15
SENTENCES = {
    "better": (results(LOW, HIGH), r"^nDCG@10: b is better than a: \+0\.5000 \[\+0\.\d+, \+0\.\d+\], p \d"),
    "worse": (results(HIGH, LOW), r"^nDCG@10: b is worse than a: -0\.5000 \[-0"),
    "lower values are better": (results(HIGH, LOW, metric="fallout@10"), "^FallOut@10: b is better than a: -0.5000"),
    "undecided": (results([0.1, 0.2, 0.3], [0.2, 0.1, 0.4]), r"^nDCG@10: undecided whether b is better than a: \+0.0333"
        r" \[-.*, \+.*\], p 1\.0000; 3 queries detect 0\.\d+ or more$"),
    "the same": (results(LOW, LOW), "^nDCG@10: b and a do not differ in any query$"),
    "no direction": (results(LOW, HIGH, metric="num_ret"), "^num_ret: neither higher nor lower values are better, so"),
    "the best of three": (results(LOW, MIXED, HIGH), "^nDCG@10: c has the best mean of 3 systems; c is better than a: "
        r"\+0\.5000 .*; 2 of 2 significantly better than a, 0 worse$"),
    "the baseline is the best": (results(HIGH, LOW, LOW), "^nDCG@10: a has the best mean of 3 systems; 0 of 2 "
        "significantly better than a, 2 worse$"),
    "the best of lower values": (results(HIGH, LOW, HIGH, metric="fallout@10"), "^FallOut@10: b has the best mean of"),
    "one query": (results([0.1], [0.2]), "undecided whether b is better than a: .0.1000 .only one query has a value"),
}  # fmt: skip


@pytest.mark.parametrize("case", SENTENCES)
def test_a_sentence_says_which_system_is_better_by_how_much_and_how_sure(case):
    systems, sentence = SENTENCES[case]
    found = fn.compare(systems)
    assert len(found.sentences) == 1
    assert re.search(sentence, found.sentences[0]), found.sentences[0]
    for shown in (str(found), found.to_markdown(), found._repr_html_(), found.to_latex().removeprefix("% ")):
        assert shown.removeprefix("<p>").replace("\\", "").startswith(found.sentences[0][:20])


class TestPlots:
    @pytest.mark.parametrize("kind", ["forest", "curve", "histogram"])
    def test_draws_into_axes_that_are_given(self, pyplot, kind):
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
        found = fn.compare(results_by_name(drawn(3, 30), metrics=(fn.P @ 5, fn.P @ 1, fn.P @ 2)))
        axes = found.plot("curve")
        assert axes.lines[1].get_xdata().tolist() == [1, 2, 5]
        assert axes.lines[1].get_ydata().tolist() == [point.mean for point in found.curves() if point.system == "b"]
        refused(r"has no curve of AP\. It has P", found.plot, "curve", metric="map")
        refused("this comparison has no curves", lambda: compared().plot("curve"))
        refused("`curves` are of a curve, and a forest has none", lambda: compared().plot("forest", curves="ndcg"))
        systems = {name: RUNS[name] for name in list(RUNS)[:2]}
        axes = fn.compare(QRELS, systems, "rr").plot("curve", curves="ndcg")
        assert axes.lines[0].get_xdata().tolist() == list(CUTOFFS)

    def test_histograms(self, pyplot):
        found = compared(missing=0.2)
        axes = found.plot("histogram", system="c", metric="rr")
        assert sum(bar.get_height() for bar in axes.patches) == found.rows[8].n_pairs
        result = results_of(drawn(4, 30)[0])
        axes = result.plot("map")
        assert axes.get_xlabel() == "AP"
        assert sum(bar.get_height() for bar in axes.patches[:-1]) == 30
        assert result.plot().get_xlabel() == "nDCG@10"

    def test_bad_input(self, pyplot):
        found = compared()
        refused("`kind` must be one of 'forest', 'curve', 'histogram'", found.plot, "pie")
        refused("this comparison has no R@5", found.plot, metric="r@5")
        refused("this comparison has no system 'x'", found.plot, "histogram", system="x")


@pytest.fixture(scope="module")
def page():
    pytest.importorskip("jinja2")
    from fastndcg.reports.page import page

    return page


def refuse(*given, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


QRELS = {f"q{place}": {f"d{i}": (place + i) % 3 for i in range(8)} for place in range(30)}
RUNS = {
    name: {q: {f"d{i}": (place * 7 + i * shift) % 11 + 0.1 * i for i in range(10)} for place, q in enumerate(QRELS)}
    for name, shift in (("base", 3), ("new", 5))
}


class TestDocuments:
    def read_tables(self, page, comparison, **options):
        markup = page(comparison, documents=True, **options)
        pattern = r'<th scope="row">(q\d+).*?<details class="documents">.*?<tbody>\s*(.*?)</tbody>'
        return {
            query: [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", rows)]
            for query, rows in re.findall(pattern, markup, re.DOTALL)
        }

    def test_documents_that_moved_are_those_of_explain_change(self, page):
        """RR is no sum over documents, so the table is of nDCG. Without documents, or with weights, it is absent."""
        markup = page(fn.compare(QRELS, RUNS, "rr, ndcg@5"), documents=True)
        rows = re.findall(r"<tr>(.*?)</tr>", markup.partition('id="moves"')[2].partition("</section>")[0])
        cells = [re.findall(r"<td>(.*?)</td>", row) for row in rows[1:]]
        moves = fn.explain_change(QRELS, RUNS["base"], RUNS["new"], "ndcg@5").moves
        assert cells == [["new", *row] for row in moves.cells()[1:]]
        assert "From base to each system, in nDCG@5" in markup
        assert 'id="moves"' not in page(fn.compare(QRELS, RUNS, "rr"), documents=True)
        assert 'id="moves"' not in page(fn.compare(QRELS, RUNS, "ndcg"))
        assert 'id="moves"' not in page(fn.compare(QRELS, RUNS, "ndcg", weights=range(1, 31)), documents=True)

    def test_ranks_labels_and_contributions_are_those_of_explain(self, page):
        comparison = fn.compare(QRELS, RUNS, "ndcg@5,map")
        tables = self.read_tables(page, comparison)
        assert len(tables) == 20
        for query, rows in tables.items():
            sides = [fn.explain(QRELS, RUNS[name], "ndcg@5", query=query).ranking for name in ("new", "base")]
            own, base = ({document.document: document for document in ranking} for ranking in sides)
            for name, label, own_rank, base_rank, own_adds, base_adds in rows:
                assert (own_rank, base_rank) == (own[name].rank, base[name].rank)
                assert label == ("–" if own[name].label is None else f"{own[name].label:g}")
                for adds, document in ((own_adds, own[name]), (base_adds, base[name])):
                    assert adds == (f"{document.contribution:.4f}" if document.contribution else "0")
            adding = {document.document for ranking in sides for document in ranking if document.contribution}
            assert len(rows) == 8 or adding <= {row[0] for row in rows}

    def test_tied_documents_at_their_mean_rank_show_the_ranks_of_their_group(self, page):
        qrels = {f"q{n}": {"a": 1, "b": 0} for n in range(2)}
        runs = {
            "new": {query: {"a": 1.0, "b": 1.0} for query in qrels},
            "base": {query: {"a": 1.0, "b": 2.0} for query in qrels},
        }
        comparison = fn.compare(qrels, runs, "mrr", convention="default(ties=mean_rank)")
        tables = self.read_tables(page, comparison)
        assert len(tables) == 2
        for rows in tables.values():
            assert sorted((row[0], *row[2:4]) for row in rows) == [("a", "2", "1–2"), ("b", "1", "1–2")]

    def test_documents_of_a_fused_run_have_the_points_of_its_runs(self, page, monkeypatch):
        """Beside each document stands what the fused runs give to it, as `explain` says, also where one lacks it."""
        parts = {"<a>": RUNS["new"], "b": {query: dict(list(row.items())[1:]) for query, row in RUNS["base"].items()}}
        fused = fn.fuse(parts, "wsum(norm=min_max)", weights=[0.3, 0.7])
        comparison = fn.compare(QRELS, {"base": RUNS["base"], "fused": fused}, "ndcg@5", baseline="base")
        opened = []
        real = type(fused)._open_query
        monkeypatch.setattr(type(fused), "_open_query", lambda run, query: opened.append(query) or real(run, query))
        tables = self.read_tables(page, comparison)
        assert len(tables) >= 15
        assert len(opened) == len(set(opened)) == len(tables)  # not once for each document
        for query, rows in tables.items():
            for name, *_, shares in rows:
                texts = []
                for share in fused.explain(query, name)[:2]:
                    place = "absent" if share.rank is None else f"rank {share.rank:g}, {share.score:.4g}"
                    texts.append(f"{share.run} {share.points:.4g} ({place})")
                assert shares == html.escape("; ".join(texts))
        assert any("(absent)" in row[-1] for rows in tables.values() for row in rows)
        assert "points of runs" in page(comparison, documents=True)

    def test_documents_are_left_out_by_default_and_of_results(self, page):
        words = "".join(Tags(page(compared(), documents=True)).words)
        assert "Documents of queries are listed if compare gets a truth and predictions with ids." in words
        markup = page(fn.compare(QRELS, RUNS, "ndcg@5"))
        assert "to_html(documents=True)" in markup
        assert '<details class="documents">' not in markup

    def test_inputs_that_changed_are_left_out(self, page):
        runs = {name: dict(run) for name, run in RUNS.items()}
        comparison = fn.compare(QRELS, runs, "ndcg@5")
        runs["new"].update({query: {"d1": 1.0, "d2": 0.5} for query in QRELS})
        assert len(self.read_tables(page, comparison)) < 20
        markup = page(comparison, documents=True)
        assert "of the listed queries have no documents here" in markup
        assert "new: left out, since the inputs have changed." in markup

    def test_query_texts_are_listed(self, page, tmp_path):
        texts = {query: f"what is <{query}>" for query in list(QRELS)[:29]}
        fn.compare(QRELS, RUNS, "ndcg@5").to_html(tmp_path / "own.html", queries=texts)
        assert '<span class="query-text">what is &lt;q' in (tmp_path / "own.html").read_text(encoding="utf-8")

    @pytest.mark.parametrize(("queries", "message"), [
        ({"x": "y"}, "must have the ids of the queries"), ({"q1": 3}, "must have texts"), (["a"], "must be {query id"),
    ])  # fmt: skip
    def test_wrong_query_texts_are_refused(self, page, queries, message):
        refused(message, lambda: page(fn.compare(QRELS, RUNS, "ndcg@5"), queries=queries))


class TestPage:
    def test_stands_on_its_own(self, page, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)  # its figures need none
        found = compared()
        found.to_html(tmp_path / "report.html", title="Our <systems>", segments=["x", "y"] * 20, margin=0.1)
        text_ = (tmp_path / "report.html").read_text(encoding="utf-8")
        tags = Tags(text_)
        assert (tags.loaded, tags.wrong, tags.open) == ([], [], [])
        assert all(link.startswith(("#", "data:text/csv")) for link in tags.links)
        assert len(set(tags.ids)) == len(tags.ids)
        assert "<title>Our &lt;systems&gt;</title>" in text_
        assert not re.search(r"https?://(?!www\.w3\.org/)", text_)
        assert "@import" not in text_
        assert "url(http" not in text_

    def test_is_written_whole_or_not_at_all(self, page, tmp_path, monkeypatch):
        path = tmp_path / "report.html"
        path.write_text("of before")
        for place in ("fastndcg.reports.page.page", "os.replace"):
            with monkeypatch.context() as context:
                context.setattr(place, refuse)
                refused("No space left", compared().to_html, path, error=OSError)
            assert path.read_text() == "of before"
            assert list(tmp_path.iterdir()) == [path]
        with pytest.raises(FileNotFoundError):
            compared().to_html(tmp_path / "absent" / "report.html")

    def test_remarks_of_the_page(self, page):
        assert "<summary>all choices</summary>" in page(compared())
        assert 'to_html(…, curves="ndcg")' in "".join(Tags(page(compared())).words)
        same = fn.compare(results_by_name([[[0.1], [0.2]], [[0.3], [0.4]]]), test="t")
        words = "\n".join(Tags(page(same)).words)
        assert "+0.2000" in words
        assert "b, nDCG@10: no p-value, since all differences are equal" in words
        words = "".join(Tags(page(compared(replicates=100))).words)
        assert "With 100 replicates, no p-value is below 0.0099, and no corrected one below 0.0594" in words

    def test_says_what_the_rows_say(self, page):
        found = compared(seed=77, correction="bh")
        words = "\n".join(Tags(page(found)).words)
        for row in found.rows:
            assert f"{row.mean:.4f}" in words
            if row.system != "a":
                assert f"{row.difference:+.4f}" in words
                assert f"[{row.difference_low:+.4f}, {row.difference_high:+.4f}]" in words
                assert f"{row.wins}/{row.ties}/{row.losses}" in words
        names = "Benjamini–Hochberg", "Korn–Graubard, Student's t with ends", "sign-flip randomisation test"
        for said in (*found.remarks, *names, "77", fn.__version__):
            assert said in words

    def test_queries_won_and_lost_most_are_listed_for_each_system(self, page):
        comparison = compared()
        lists = re.findall(r'<table class="listed" data-side="(.*?)">(.*?)</table>', page(comparison), re.DOTALL)
        assert [side for side, _ in lists] == ["won", "lost"] * 2
        order = sorted(comparison.rows[1:3], key=lambda row: -row.mean)
        for place, (side, table) in enumerate(lists):
            differences = comparison.differences(order[place // 2].system, "ndcg@10")
            sign = 1 if side == "won" else -1
            queries = [query for query in np.argsort(-sign * differences)[:10] if sign * differences[query] > 0]
            listed = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', table)
            assert listed == [(f"q{query}", f"{differences[query]:+.4f}") for query in queries]

    def read_data(self, shown):
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', shown, re.DOTALL)[1])

    def test_values_of_the_script_have_four_decimals(self, page):
        found = compared(missing=0.1)
        data = self.read_data(page(found))
        assert data["queries"] == found.query_ids.tolist()
        for place, metric in enumerate(data["metrics"]):
            expected = np.stack([column[:, place] for column in found.columns])
            assert np.array(metric["values"], float) == pytest.approx(np.round(expected, 4), abs=1e-12, nan_ok=True)
            assert None in metric["values"][0]

    def test_differences_are_the_rounded_ones(self, page):
        """The difference of 0.03124 and 0.00006 is 0.0312, though the rounded values differ by 0.0311."""
        values = [[[0.00006], [0.5], [0.25]], [[0.03124], [0.5], [0.25 - 2**-20]]]
        (metric, *_) = self.read_data(page(fn.compare(results_by_name(values))))["metrics"]
        assert metric["values"] == [[0.0001, 0.5, 0.25], [0.0312, 0.5, 0.25]]
        assert metric["differences"] == [[0, 0, 0], [0.0312, 0, -(2**-20)]]  # won, tied, and equal digits but lost

    def test_the_sentences_are_first(self, page):
        """Two systems have no leaderboard and no matrix of pairs, which would say what the summary says."""
        for names in ("ab", "abc"):
            found = compared(names)
            shown = page(found)
            words = "".join(Tags(shown).words).replace("\N{NO-BREAK SPACE}", " ")
            start = words.index("<nav") if "<nav" in words else words.index("Summary")
            places = [words.index(f"{sentence}.") for sentence in found.sentences]
            assert places == sorted(places)
            assert places[-1] < start
            for part in ("leaderboard", "pairs"):
                assert (f'id="{part}"' in shown) == (f'href="#{part}"' in shown) == (names == "abc")

    def test_headings_say_where_lower_is_better(self, page):
        shown = page(fn.compare(results(LOW, MIXED, HIGH, metric="fallout@10")))
        assert len(re.findall("<(?:h3|figcaption)>FallOut@10, lower is better</", shown)) == 5
        assert "lower is better" not in page(fn.compare(results(LOW, MIXED, HIGH)))

    def test_all_pairs_are_a_matrix(self, page):
        comparison = compared(("a", "b", "c"))
        words = "\n".join(Tags(page(comparison)).words)
        for pair in comparison.all_pairs("map", test=None):
            assert f"{abs(pair.difference):.4f}" in words
            assert format_p_value(pair.p) in words
            assert format_p_value(pair.p_corrected) in words
        assert "Holm over all pairs of a metric" in words

    def test_table_is_downloaded_as_csv_without_a_script(self, page):
        import base64

        comparison = compared()
        packed = re.search(
            r'download="comparison.csv" href="data:text/csv;charset=utf-8;base64,(.*?)"', page(comparison)
        )
        assert base64.b64decode(packed[1]).decode() == text.as_csv(comparison)

    @pytest.mark.parametrize("n_systems", [10, 18])
    @pytest.mark.stress
    def test_ten_thousand_queries_stay_below_10_mb(self, page, n_systems):
        """A page of 10,000 queries stays below 10 MB. If not all queries fit, it shows the largest differences."""
        columns = drawn(7, 10_000, n_metrics=5, n_systems=n_systems)
        ids = np.array([f"query-of-some-user-{place:012d}" for place in range(10_000)], object)
        metrics = (*METRICS, fn.P @ 5, fn.R @ 100)
        results = {f"system-{place}": results_of(values, ids, metrics=metrics) for place, values in enumerate(columns)}
        shown = page(fn.compare(results, interval="t", test="t"), segments=np.arange(10_000) % 5)
        assert len(shown.encode()) < 10_000_000
        assert ("queries with the largest differences of any system" in shown) == (n_systems == 18)


def tune(methods, n_runs=2):
    pytest.importorskip("matplotlib")
    qrels, runs = draw_runs(1, n_runs=n_runs)
    return fn.tune_fusion(qrels, runs, "ndcg@5", methods, folds=4)


def test_plot_has_the_curve_the_folds_and_the_band():
    tuned = tune(["wsum(norm=min_max)"])
    axes = tuned.plot()
    stairs = axes.patches[0]
    assert stairs.get_data().values.tolist() == tuned.curve.step_means.tolist()
    assert len([line for line in axes.lines if len(line.get_xdata()) == len(tuned.curve.points)]) == 4
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[:3] == ["folds", "one standard error", "all queries"]
    assert any(label.startswith("held out 0.") for label in labels)
    assert axes.get_xlabel() == "weight of run0 in wsum(norm=min_max)"


def test_plot_has_steps_and_no_legend_above_its_lines():
    axes = tune(["wsum(norm=min_max)"]).plot()
    assert [line.get_drawstyle() for line in axes.lines[:4]] == ["steps-mid"] * 4
    heights = axes.collections[0].get_paths()[0].vertices[1:-1, 1]
    assert len(heights) > 2 * 2 * 201
    axes.figure.canvas.draw()
    assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1


def test_each_run_of_three_has_a_curve():
    tuned = tune(["wsum(norm=min_max)"], n_runs=3)
    assert tuned.plot(run="run2").get_xlabel().startswith("weight of run2")
    refused("Did you mean 'run1'", tuned.plot, run="run11", error=InvalidInputError)
    refused("linear in its weights, not mnz", tune(["mnz(norm=min_max)"]).plot, error=InvalidInputError)


def test_report_has_the_section(tmp_path):
    pytest.importorskip("jinja2")
    qrels, runs = draw_runs(2, signal=0.0)
    named = {"<b>": runs["run0"], "dense": runs["run1"]}
    tuned = fn.tune_fusion(qrels, named, "ndcg@5", ["rrf(k=60)", "mnz(norm=min_max)"], folds=4)
    path = tmp_path / "report.html"
    tuned.to_html(path)
    page = path.read_text(encoding="utf-8")
    assert "Methods, each tuned alone" in page
    assert "Each choice of parameters" in page
    assert "of each choice of parameters against the weight of the first run" in page
    assert "Its gain is within the noise" in page
    assert "weights <b>" not in page
    assert "difference: the system minus tuned" in page


def test_report_names_a_better_system(tmp_path):
    pytest.importorskip("jinja2")
    qrels, runs = draw_runs(2)
    for place, query in enumerate(qrels):
        run = runs["run0" if place < 15 else "run1"]
        run[query] = {doc: -score for doc, score in run[query].items()}
    folds = {query: int(place < 15) for place, query in enumerate(qrels)}
    path = tmp_path / "report.html"
    tuned = fn.tune_fusion(qrels, runs, "ap", ["wsum"], folds=folds)
    tuned.to_html(path)
    page = path.read_text(encoding="utf-8")
    assert f"It is significantly worse than {tuned.rival.system}: take that." in page
    assert "within the noise" not in page

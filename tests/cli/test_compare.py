"""Outputs, files and errors of the commands compare and plot."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest

import fastndcg as fn
from fastndcg.cli import files as input_files
from fastndcg.inputs.ids import IdColumn

pytest.importorskip("scipy")


@pytest.fixture
def runs(files):
    queries = [f"q{place}" for place in range(12)]
    qrels = "".join(f"{q} 0 d{i} {(place + i) % 3}\n" for place, q in enumerate(queries) for i in range(5))
    (files / "qrels.txt").write_text(qrels)
    for shift, name in ((2, "base"), (3, "other"), (4, "third")):
        lines = (
            f"{q} Q0 d{i} 1 {(place * 3 + i * shift) % 7} {name}\n" for place, q in enumerate(queries) for i in range(5)
        )
        (files / f"{name}.run").write_text("".join(lines))
    (files / "segments.txt").write_text("".join(f"{q}\t{'short ones' if q < 'q5' else 'long'}\n" for q in queries))
    return ("qrels.txt", "base.run", "other.run")


BAD = {
    "one run": (["qrels.txt", "base.run"], "compare needs two RUNs or more, got 1. Name another, or"),
    "the same run twice": (["qrels.txt", "base.run", "base.run"], "'base.run' is the name of 2. Give --names"),
    "no such baseline": (["qrels.txt", "base.run", "other.run", "--baseline", "bse"], "got 'bse'. Did you mean 'base'"),
    "no such test": (["qrels.txt", "base.run", "other.run", "--test", "z"], "`test` has no choice 'z'"),
    "no such file": (["qrels.txt", "base.run", "nothing.run"], "nothing.run"),
    "a report in a folder that is not there": (["qrels.txt", "base.run", "other.run", "--html", "no/report.html"],
        "does not exist"),
    "the report over an input": (["qrels.txt", "base.run", "other.run", "--html", "base.run"],
        "must not name an input file"),
    "both into one": (["qrels.txt", "base.run", "other.run", "--html", "x", "-o", "x"],
        "-o and --html must name different files"),
    "segments of half a line": (["qrels.txt", "base.run", "other.run", "--segments", "half.txt"],
        "half.txt: line 2 must have a query id"),
    "segments that disagree": (["qrels.txt", "base.run", "other.run", "--segments", "two.txt"],
        "query q1 must have one segment"),
    "too few names": (["qrels.txt", "base.run", "other.run", "--names", "a"],
        "a name for each of the 2 runs, got 1: 'a'"),
    "texts without a report": (["qrels.txt", "base.run", "other.run", "--queries", "half.txt"],
        "--queries is for the report"),
    "segments that are missing": (["qrels.txt", "base.run", "other.run", "--segments", "few.txt"],
        "`segments` must have a value for every"),
}  # fmt: skip


def compared(runs, *more, **options):
    systems = {name.removesuffix(".run"): name for name in (*runs[1:], *more)}
    return fn.compare(runs[0], systems, "ndcg@10,map", **options)


class TestCompare:
    def test_prints_the_result_and_a_block_for_each_metric(self, runs, shown, monkeypatch):
        monkeypatch.setenv("COLUMNS", "160")
        out, row = shown("compare", *runs, "-m", "ndcg@10,map"), compared(runs).rows[1]
        lines = out.splitlines()
        assert tuple(lines[:2]) == compared(runs).sentences
        assert (lines[3], lines[8]) == ("nDCG@10", "AP")
        assert lines[5].split() == ["base", f"{compared(runs).rows[0].mean:.4f}", "baseline"]
        assert f"{row.difference:+.4f}" in lines[6]
        assert f"{row.wins}/{row.ties}/{row.losses}" in lines[6]
        assert tuple(lines[-len(compared(runs).notes) :]) == compared(runs).notes
        assert "\x1b" not in out

    def test_segments(self, runs, run, files):
        _, out, _ = run("compare", *runs, "-m", "map", "--segments", "segments.txt")
        assert out.count("short ones  ") == 3  # in two parts, the first with one line of the baseline alone
        _, out, _ = run("compare", *runs, "-m", "map", "--segments", "segments.txt", "--format", "json")
        assert {row["segment"] for row in json.loads(out)["segments"]} == {"short ones", "long"}
        (files / "s.txt").write_text("q1  a b \nq1 a b\n")
        assert input_files.read_pairs("s.txt", "segment", IdColumn.of(["q1"], "ids")) == {"q1": "a b"}

    def test_margin(self, runs, run):
        arguments = ["compare", *runs, "-m", "ndcg@10,map", "--margin", "0.2"]
        tests = compared(runs).equivalence(0.2)
        shown, as_json, as_csv, markdown = (
            run(*arguments, *more)[1] for more in ([], ["--json"], ["--format", "csv"], ["--format", "markdown"])
        )
        assert "two one-sided t tests within ±0.2, not corrected" in shown
        assert json.loads(as_json)["equivalence"] == [test._asdict() for test in tests]
        rows = list(csv.DictReader(io.StringIO(as_csv)))
        assert [row["p_equivalent"] for row in rows if row["system"] == "other"] == [str(test.p) for test in tests]
        assert markdown == f"{compared(runs).to_markdown()}\n{tests.to_markdown()}"

    def test_report(self, runs, run, files):
        pytest.importorskip("jinja2")
        (files / "topics.tsv").write_text("".join(f"q{place}\tabout {place}\n" for place in range(12)))
        code, out, err = run("compare", *runs, "-m", "map", "--html", "report.html", "--title", "Ours",
            "--queries", "topics.tsv")  # fmt: skip
        assert err == "report.html written\n"
        page = (files / "report.html").read_text(encoding="utf-8")
        assert code == 0
        assert out.startswith("AP: undecided whether other is ")
        assert "<title>Ours</title>" in page
        assert '<span class="query-text">about 1</span>' in page
        assert 'id="cutoffs"' in page

    @pytest.mark.parametrize("columns", ["60", "80", "200"])
    def test_output_fits_the_terminal(self, runs, run, monkeypatch, columns):
        monkeypatch.setenv("COLUMNS", columns)
        _, out, _ = run("compare", *runs, "-m", "ndcg@10,map", "--segments", "segments.txt")
        assert max(map(len, out.splitlines())) <= int(columns)
        run("compare", *runs, "-m", "ndcg@10,map", "-o", "out.txt")
        assert max(map(len, Path("out.txt").read_text(encoding="utf-8").splitlines())) > 80

    def test_suffix_of_the_output_is_its_format(self, runs, run, files):
        pytest.importorskip("jinja2")
        found = compared(runs)
        for suffix, form in ((".md", "markdown"), (".tex", "latex"), (".json", "json"), (".csv", "csv")):
            written = getattr(found, f"to_{form}")()
            assert run("compare", *runs, "-m", "ndcg@10,map", "-o", f"out{suffix}")[:2] == (0, "")
            assert (files / f"out{suffix}").read_text(encoding="utf-8") == written
            assert run("compare", *runs, "-m", "ndcg@10,map", "--format", form)[1] == written
        assert run("compare", *runs, "-m", "map", "--html", "a.html")[0] == 0
        for arguments in (["-o", "b.html"], ["--html", "a.html", "-o", "b.html"], ["--format", "html", "-o", "b.html"]):
            code, out, err = run("compare", *runs, "-m", "map", *arguments)
            assert (code, out) == (0, "")
            assert err.endswith("b.html written\n")
            assert (files / "b.html").read_bytes() == (files / "a.html").read_bytes()
            (files / "b.html").unlink()
        assert run("compare", *runs, "-m", "map", "--format", "html")[1].startswith("<!doctype html>")

    def test_names(self, runs, run):
        for baseline in ("B", "other.run", "other"):
            arguments = ("--names", "A,B", "--baseline", baseline, "--family", "metric", "--format", "csv")
            _, out, _ = run("compare", *runs, "-m", "map", *arguments)
            rows = list(csv.DictReader(io.StringIO(out)))
            assert [row["system"] for row in rows] == ["A", "B"]
            assert {(row["baseline"], row["family"]) for row in rows} == {("B", "metric")}

    def test_the_baseline_is_no_system_that_is_compared_with_it(self, runs, run, files):
        pytest.importorskip("jinja2")
        for more, title in (([], "base compared with other"), (["third.run"], "2 systems compared with other")):
            run("compare", *runs, *more, "-m", "map", "--baseline", "other", "--html", "report.html")
            assert f"<title>{title}</title>" in (files / "report.html").read_text(encoding="utf-8")

    @pytest.mark.parametrize(("term", "no_color", "is_terminal", "has_colours"), [
        ("xterm", "", True, True), ("xterm", "1", True, False), ("dumb", "", True, False), ("xterm", "", False, False),
    ])  # fmt: skip
    def test_colours_on_a_terminal(self, runs, shown, monkeypatch, term, no_color, is_terminal, has_colours):
        """Colours appear on a terminal that has some unless NO_COLOR is set."""
        for name, value in (("TERM", term), ("NO_COLOR", no_color)):
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
        out = shown("compare", *runs, "-m", "map")
        assert ("\x1b[1mAP" in out) == has_colours
        assert "won/tied/lost" in out

    def test_terminals_without_unicode(self, runs, run, monkeypatch):
        monkeypatch.setenv("COLUMNS", "120")
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
        run("compare", *runs, "-m", "map")
        shown = written.getvalue().decode("ascii")
        row = compared(runs).rows[3]
        assert "+" * max(1, round(16 * row.wins / row.n_pairs)) in shown
        assert "█" not in shown

    @pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
    def test_bad_input(self, runs, wrong, files, arguments, message):
        for name, text in (("half.txt", "q1 a\nq2\n"), ("two.txt", "q1 a\n\nq1 b\n"), ("few.txt", "q1 a\n")):
            (files / name).write_text(text)
        wrong(message, "compare", *arguments)


class TestPlot:
    @pytest.mark.parametrize("kind", ["forest", "curve", "histogram"])
    def test_draws(self, runs, run, files, kind):
        pytest.importorskip("matplotlib")
        assert run("plot", *runs, "third.run", "-m", "map", "--kind", kind, "-o", f"{kind}.png") == (
            0, "", f"{kind}.png written\n",
        )  # fmt: skip
        assert (files / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
        assert run("plot", *runs, "-m", "map", "--kind", kind, "-o", f"{kind}.svg")[0] == 0
        assert b"<svg" in (files / f"{kind}.svg").read_bytes()

    def test_numbers_in_place_of_the_picture(self, runs, run, files, monkeypatch):
        """`--json` and a suffix .json write what a picture shows, also without matplotlib."""
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        found = compared(runs)
        forest, curve, histogram = (
            json.loads(run("plot", *runs, "-m", "ndcg@10,map", "--kind", kind, "--json")[1])
            for kind in ("forest", "curve", "histogram")
        )
        assert (forest["metric"], forest["baseline"]) == ("nDCG@10", "base")
        assert [row["difference"] for row in forest["numbers"]] == [None, found.rows[1].difference]
        assert [point["mean"] for point in curve["numbers"]] == [point.mean for point in found.curves("ndcg")]
        differences = dict(zip(found.query_ids, found.differences("other", "ndcg@10"), strict=True))
        assert histogram["numbers"] == {"system": "other", "differences": differences}
        assert run("plot", *runs, "-m", "ndcg@10,map", "-o", "forest.json")[0] == 0
        assert json.loads((files / "forest.json").read_text()) == forest
        assert "Add -o plot.png, or --json for its numbers" in run("plot", *runs)[2]

    def test_bad_input(self, runs, run, wrong):
        pytest.importorskip("matplotlib")
        wrong("-o must end in one of .", "plot", *runs, "-o", "x.docx")
        histogram = ("--kind", "histogram", "--system", "othr")
        wrong("no system 'othr'. Did you mean 'other'", "plot", *runs, "-o", "x.png", *histogram)
        assert run("plot", *runs)[0] == 2


def test_missing_packages_are_said_before_any_file_is_read(files, run, monkeypatch):
    """Commands that need SciPy, matplotlib or pyarrow say so at once, though their files are not there."""
    for package, needs in (("jinja2", "a report"), ("scipy", "SciPy"), ("pyarrow", "a Parquet file")):
        monkeypatch.setitem(sys.modules, package, None)
        lines = {
            "a report": (["compare", "--html", "r.html"],),
            "a Parquet file": (["evaluate", "-o", "x.parquet"],),
            "SciPy": (["compare"], ["plot", "-o", "x.png"], ["tune-fusion"], ["evaluate", "--interval"]),
        }
        for command, *options in lines[needs]:
            code, out, err = run(command, "absent.txt", "a.run", "b.run", *options)
            assert (code, out) == (2, "")
            assert f"needs {package}" in err or f"{package}" in err.partition("Install")[2], err
            assert "absent.txt" not in err

"""``fastndcg convert``: every format to every other, what a file holds, and the rows that count."""

import itertools
import json

import pytest

import fastndcg as fn

pytest.importorskip("pyarrow")

QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
RUN = {"q1": {"d2": 0.5, "d1": 0.25}, "q2": {"d3": 1.5}}
TOPICS = {"q1": {"d1": {"1": 1, "2": 1}, "d2": {"1": 2}}}
FORMATS = ("txt", "json", "jsonl", "csv", "parquet", "txt.gz", "json.bz2")


@pytest.mark.parametrize(("first", "second"), list(itertools.product(FORMATS, FORMATS)))
def test_every_format_becomes_every_other(first, second, tmp_path, run):
    for kind, name, data in ((fn.Qrels, "qrels", QRELS), (fn.Run, "run", RUN)):
        source, target = tmp_path / f"in.{first}", tmp_path / f"out.{second}"
        kind(data).write(source)
        assert run("convert", source, target, "--as", name)[0] == 0
        assert kind(target).to_dict() == data


@pytest.mark.parametrize("suffix", ["txt", "csv", "parquet", "json"])
def test_a_file_shows_what_it_holds(suffix, tmp_path, run, wrong):
    """Whole numbers by query in JSON could be both. Standard error says what was read."""
    source, target = tmp_path / f"in.{suffix}", tmp_path / "out.txt"
    fn.Run(RUN).write(source)
    code, _, err = run("convert", source, target, "--tag", "bm25")
    assert (code, f"Run of 2 queries, 3 documents, from {source}" in err) == (0, True)
    assert target.read_text().splitlines()[0] == "q1 Q0 d2 1 0.5 bm25"
    fn.Qrels(QRELS).write(source)
    if suffix == "json":
        wrong("could be judgments or a run. Add --as qrels or --as run", "convert", source, target)
    else:
        assert run("convert", source, target)[0] == 0
        assert fn.Qrels(target).to_dict() == QRELS


def test_judgments_by_subtopic_keep_their_subtopics(tmp_path, run):
    lines, *tables = (tmp_path / name for name in ("qrels.txt", "qrels.parquet", "q.csv"))
    fn.DiversityQrels(TOPICS).write(lines)
    assert run("convert", lines, tables[0], "--qrels-format", "trec_diversity")[0] == 0
    assert run("convert", *tables)[0] == 0
    assert [fn.DiversityQrels(table).to_dict() for table in tables] == [TOPICS] * 2


def test_documents_that_count_are_written(tmp_path, run):
    source, target = tmp_path / "in.run", tmp_path / "out.json"
    source.write_text("q Q0 a#1 1 0.5 x\nq Q0 a#2 2 0.375 x\nq Q0 b#1 3 0.25 x\n")
    code, _, err = run("convert", source, target, "--parents", "before #")
    assert (code, json.loads(target.read_text())) == (0, {"q": {"a": 0.5, "b": 0.25}})
    assert "@k counts documents: 2, of 3 chunks" in err


def test_columns_are_named(tmp_path, run):
    source, target = tmp_path / "in.csv", tmp_path / "out.txt"
    source.write_text("query,passage,grade\nq,d,2\n")
    assert run("convert", source, "-o", target, "--columns", "document=passage,label=grade")[0] == 0
    assert target.read_text() == "q 0 d 2\n"


def test_standard_input_and_output(tmp_path, run, wrong):
    source = tmp_path / "run.txt"
    fn.Run(RUN).write(source)
    code, out, _ = run("convert", source, "-", "--format", "csv")
    assert (code, out.splitlines()[:2]) == (0, ["query,document,score", "q1,d2,0.5"])
    assert run("convert", source)[:2] == (0, fn.Run(RUN).to_trec())
    wrong("- can be read once only. Say what it holds: --as qrels or --as run", "convert", "-")


@pytest.mark.parametrize(("words", "message"), [
    ("none.txt out.txt", "none.txt: No such file or directory"),
    ("junk.txt out.txt", "is neither judgments nor a run: as qrels, "),
    ("junk.txt out.txt --as run", "must have 6 fields"),
    ("run.txt out.pkl", "ends in .pkl. Change it, or name the format: --format trec"),
    ("run.txt --format parquet", "can only be written to a file"),
    ("run.txt run.txt", "-o must not name an input file"),
    ("run.txt none/out.txt", "-o must name a file in a folder that exists"),
    ("run.txt out.txt --as judgments", "invalid choice: 'judgments'. Choose one of 'qrels', 'run'"),
])  # fmt: skip
def test_wrong_use(words, message, tmp_path, wrong, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fn.Run(RUN).write("run.txt")
    (tmp_path / "junk.txt").write_text("junk\n")
    wrong(message, "convert", *words.split())
    assert not (tmp_path / "out.txt").exists()

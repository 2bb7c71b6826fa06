"""Measures, options and output of `fastndcg evaluate --format trec` equal those of trec_eval byte for byte."""

import math

import pytest
from recorded_data import TREC_EVAL

import fastndcg as fn
from fastndcg.metrics.metric import list_trec_lines
from fastndcg.metrics.trec_eval import BY_NAME, NICKNAMES, read

CONVENTIONS = {"v10.0": "trec_eval", "v9.0.8": "trec_eval_9"}
TREC = ("--convention", "trec_eval", "--format", "trec")
PARAMETERS = [
    "iprec_at_recall_.10,.20,.25,.75,.50", "P.5,7,3", "recall.20,2000", "Rprec_mult..2,.35,5", "utility.2,-1,0,0",
    "11pt_avg..25,.5,.75", "ndcg.1=3,2=9,4=4.5", "ndcg_cut.10,20,23", "success.2,5,20",
]  # fmt: skip
# output: judgments, run, options
OUTPUTS = {
    "out.test": ("qrels.test", "results.test", ["-m", "official"]),
    "out.test.a": ("qrels.test", "results.test", ["-m", "all_trec"]),
    "out.test.aq": ("qrels.test", "results.test", ["-m", "all_trec", "-q"]),
    "out.test.aqc": ("qrels.test", "results.trunc", ["-m", "all_trec", "-q", "-c"]),
    "out.test.aqcM": ("qrels.test", "results.trunc", ["-m", "all_trec", "-q", "-c", "-M", "100"]),
    "out.test.aql": ("qrels.rel_level", "results.test", ["-m", "all_trec", "-m", "relstring.20", "-q", "-l", "2"]),
    "out.test.meas_params": ("qrels.test", "results.test", ["-q", *(x for text in PARAMETERS for x in ("-m", text))]),
}


@pytest.fixture
def lines(tmp_path, monkeypatch, shown):
    """Return a function that evaluates a run of b, and maybe of a, and returns the lines that are printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\n")
    for name, rows in (("b", ["q Q0 b 1 1.0 me\n"]), ("ba", ["q Q0 b 1 1.0 me\n", "q Q0 a 1 0.5 me\n"])):
        (tmp_path / name).write_text("".join(rows))
    return lambda run, *options: shown("evaluate", "qrels", run, *options).splitlines(keepends=True)


@pytest.mark.parametrize("version", CONVENTIONS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_trec_format_equals_trec_eval_output(version, output, shown):
    """The output equals trec_eval's recorded output byte for byte, except for the lines of two known bugs."""
    qrels, run, options = OUTPUTS[output]
    arguments = [TREC_EVAL / qrels, TREC_EVAL / run, "--convention", CONVENTIONS[version], "--format", "trec", *options]
    ours = shown("evaluate", *arguments).splitlines(keepends=True)
    theirs = (TREC_EVAL / version / output).read_text(encoding="utf-8").splitlines(keepends=True)
    if "-c" in options and version == "v9.0.8":  # counts the missing query 302, and prints no line for it
        ours = [line for line in ours if "\t302\t" not in line]
    elif "-c" in options:  # trec_eval's residual of a query is 0 if all documents of the query are judged
        ours, theirs = ([line for line in lines if "rbp_resid" not in line] for lines in (ours, theirs))
    assert ours == theirs


def test_judged_documents_only(shown):
    files = TREC_EVAL / "qrels.test", TREC_EVAL / "results.test"
    found = shown("evaluate", *files, *TREC, "-J", "-m", "unj.5", "-m", "num_ret", "-q").splitlines()
    values = {tuple(line.split("\t")[:2]): float(line.split("\t")[2]) for line in found}
    assert {value for (name, _), value in values.items() if name.startswith("unj_5")} == {0.0}
    assert 0 < values["num_ret".ljust(22), "all"] < 1500


def test_documents_of_the_collection(lines, tmp_path):
    (tmp_path / "b").write_text("q Q0 b 1 1.0 me and more\n")
    assert lines("b", *TREC, "-m", "utility.0,0,0,1", "-m", "runid", "-N", "10") == [
        "runid                 \tall\tme\n",
        "utility_0,0,0,1       \tall\t8.0000\n",
    ]


@pytest.mark.parametrize(("options", "message"), [
    ("-l 0", "-l must be 1 or more, not 0"), ("-M 0 --convention trec_eval", "-M must be 1 or more, not 0"),
    ("-M 5", "-M needs trec_eval's order of ties"), ("-N -1", "-N must be 0 or more, not -1"),
    ("-m num_q", "-m must name a metric"), ("-m map -n", "-n needs lines for each query"),
    ("-m map -n -q --format json", "-n needs lines for each query"),
    ("-q -m map,relstring", "relstring needs trec_eval's order of ties"),
    ("-m utility.1,2", "no metric is called 'utility.1'"),
    ("-m rbp --convention trec_eval_9 -m unj.x", "no metric is called 'unj.x'"),
])  # fmt: skip
@pytest.mark.usefixtures("lines")
def test_trec_format_errors_are_one_line(options, message, wrong):
    wrong(message, "evaluate", "qrels", "b", *options.split())


@pytest.mark.parametrize(("options", "expected"), [
    ("-m num_q", ["num_q all 1"]), ("-m runid", ["runid all me"]), ("-m relstring.5 -q", ["relstring_5 q '01'"]),
    ("-m relstring", []), ("-m num_q -m runid -n -q", []), ("-m map -q -n", ["map q 0.5000"]), ("-m map -n", []),
    # label 1 gains 5 at rank 2, label 3 gains 3 and is not found
    ("-m ndcg.1=5,2=6", [f"ndcg_1=5,2=6 all {(5 / math.log2(3)) / (5 + 3 / math.log2(3)):.4f}"]),
])  # fmt: skip
def test_takes_what_trec_eval_takes(options, expected, lines, tmp_path):
    """Lines without a metric may be printed alone, -n removes the summary, and gains may fall with the label."""
    if "ndcg" in options:
        (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\nq 0 c 3\n")
    assert [" ".join(line.split()) for line in lines("ba", *TREC, *options.split())] == expected


def test_trec_format_table_without_summary(lines):
    assert [line.split() for line in lines("ba", "-q", "-n", "-m", "map")] == [["query", "AP"], ["q", "0.5000"]]


def test_residual_of_missing_queries_is_0(tmp_path, lines):
    """RBP_resid of a judged query that the run lacks is 0 under -c, as in trec_eval. The default convention gives 1."""
    (tmp_path / "qrels").write_text("q 0 a 1\nr 0 a 1\n")
    (tmp_path / "b").write_text("q Q0 x 1 0.5 me\n")
    found = lines("b", *TREC, "-c", "-q", "-n", "-m", "rbp_resid")
    assert [line.split()[1:] for line in found] == [["q", "1.0000"], ["r", "0.0000"]]
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        given = ({"q": {"a": 1}, "r": {"a": 1}}, {"q": {"x": 0.5}}, "RBP_resid")
        assert evaluate(*given, convention="trec_eval_c").values[:, 0].tolist() == pytest.approx([1, 0])
        assert evaluate(*given).values[:, 0].tolist() == pytest.approx([1, 1])


def test_trec_measures_in_other_formats(lines):
    options = ["-m", "num_q,Rprec,Rprec_mult,gm_map", "--convention", "trec_eval", "--format", "csv"]
    head, row = lines("ba", *options)
    assert head.startswith("run,Rprec,Rprec(mult=0.2),")
    assert ",gm(AP)," in head
    assert row.startswith("me,0.0,0.0,")


def test_trec_measure_names_read_as_metrics():
    """Each trec_eval name, with a dot or an underline before its cutoffs, is read as the metric of that name."""
    for name in BY_NAME:
        for line in list_trec_lines(read(name)):
            assert line.metric is None or fn.Metric.parse(line.name) == line.metric
    assert (
        list_trec_lines(read("P_5,10"))
        == list_trec_lines(read("P.10,5"))
        == list_trec_lines(read("P_5") + read("P.10"))
    )
    assert [line.name for line in list_trec_lines(read("all_trec", version=9))][-1] == "num_nonrel_judged_ret"
    assert set(NICKNAMES) == {"official", "set", "all_trec"}

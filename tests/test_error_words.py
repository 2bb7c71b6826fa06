"""Remedies of errors in the words of each front end."""

import pickle

import pytest

import fastndcg as fn
from fastndcg import cli
from fastndcg.errors import Choice, Column, Option, Words

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 1\n"
RUN = "q1 Q0 a 1 0.9 x\nq1 Q0 b 2 0.8 x\n"


def test_the_command_line_rewords_the_parts_of_an_error():
    """The text of an error has Python's arguments, and the command line's has options. Pickles keep the parts."""
    cases = (
        ((Choice("ties", ["worst", "best"]),), "convention.replace(ties='worst' or 'best')",
         "--convention 'NAME(ties=worst)' or 'NAME(ties=best)'"),
        ((Column("rank"),), "columns={'rank': NAME}", "--columns rank=NAME"),
        ((Option("missing_truth", "'skip'"), "."), "missing_truth='skip'.", "--missing-truth skip."),
        ((Option("fusion_convention", "'a(b=c)'"),), "fusion_convention='a(b=c)'", "--fusion-convention 'a(b=c)'"),
        ((Option("train", "(qrels, runs)"),), "train=(qrels, runs)", "--train QRELS RUN RUN"),
        ((Words("{a}", "b"),), "{a}", "b"),
    )  # fmt: skip
    for parts, python, shell in cases:
        error = fn.InvalidInputError("Take ", *parts)
        for same in (error, pickle.loads(pickle.dumps(error))):
            assert (str(same), cli._error_message(same)) == (f"Take {python}", f"Take {shell}")


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        (["-m", "ndcg", "--convention", "default(undefined=raise)"], {"metrics": "ndcg"}),
        (["-m", "ndgc"], {"metrics": "ndgc"}),
        (["-m", "alpha_ndcg@5"], {"metrics": "alpha_ndcg@5"}),
        (["-m", "rr", "--convention", "default(missing_in_run=raise)"], {"metrics": "rr"}),
    ],
)
def test_no_front_end_shows_the_other_s_words(tmp_path, run, arguments, call):
    """An error of the command line names options, the same error in Python arguments."""
    (tmp_path / "qrels").write_text(QRELS + "q3 0 a 0\n")
    (tmp_path / "run").write_text(RUN + "q3 Q0 a 1 1 x\n")
    _, _, shell = run("evaluate", tmp_path / "qrels", tmp_path / "run", *arguments)
    with pytest.raises(fn.FastndcgError) as caught:
        fn.evaluate(
            tmp_path / "qrels", tmp_path / "run", **call, **dict(zip(["convention"], arguments[3:], strict=False))
        )
    assert ".replace(" not in shell
    assert "fn." not in shell
    assert "read_qrels" not in shell
    assert "--" not in str(caught.value)
    assert "`fastndcg" not in str(caught.value)
    assert shell.rstrip() != f"fastndcg: error: {caught.value}"

"""``fastndcg fuse``: its output, its options, and its errors."""

import json

import pytest
from refusals import refused

import fastndcg as fn
from fastndcg.cli.options import read_values


def test_cli_fuse_prints_lines_of_trec(files, run):
    fused = fn.fuse(["good.run", "tied.run"], "rrf(k=60)")
    code, out, err = run("fuse", "good.run", "tied.run", "--method", "rrf(k=60)")
    assert (code, out) == (0, fused.to_trec(tag="fastndcg"))
    assert err == "queries that some run lacks, fused from the others: 2\n"


def test_cli_fuse_writes_a_file_with_weights_depth_and_tag(files, run):
    options = [
        "--fusion-convention", "default(queries=common)", "--weights", "good=2,tied=1", "--depth", "1", "--top", "1",
    ]  # fmt: skip
    assert run("fuse", "good.run", "tied.run", *options, "--tag", "both", "-o", "fused.run")[:2] == (0, "")
    assert (files / "fused.run").read_text(encoding="utf-8").splitlines()[0].split() == [
        "q1", "Q0", "a", "1", str(2 / 61), "both",
    ]  # fmt: skip


def test_cli_fuse_explains_the_documents_of_a_query(files, run, wrong):
    words = ("fuse", "good.run", "tied.run", "--method", "wsum(norms={good:min_max,tied:none})", "--explain")
    fused = fn.fuse(["good.run", "tied.run"], words[4])
    code, out, _ = run(*words, "q1", "--top", "2")
    explained = "".join(f"{fused.explain('q1', document)}\n\n" for document in list(fused.to_dict()["q1"])[:2])
    assert (code, out) == (0, explained)
    wrong("--explain must name a query of the runs, not 'q1x'. Did you mean 'q1'", *words, "q1x")


def test_cli_fuse_prints_json(files, run, shown):
    same = ("fuse", "good.run", "good.run", "--names", "a,b")
    fused = fn.fuse({"a": "good.run", "b": "good.run"}, "rrf")
    assert json.loads(shown(*same, "--json")) == fused.to_dict()
    assert run(*same, "-o", "f.json")[0] == 0
    assert json.loads((files / "f.json").read_text()) == fused.to_dict()
    weighted = fn.fuse({"a": "good.run", "b": "good.run"}, "wsum", weights=[3, 1])
    assert shown(*same, "--method", "wsum", "--weights", "a=3,b=1") == weighted.to_trec(tag="fastndcg")


def test_cli_fuse_learns_from_judgments(files, shown, wrong):
    words = ("good.run", "good2.run", "--method", "mapfuse", "--train", "qrels.txt", "good.run", "good2.run")
    wrong("good2.run", "fuse", *words)
    (files / "good2.run").write_text((files / "good.run").read_text().replace(" good", " other"))
    assert shown("fuse", *words).split()[4] == str(2 * fn.evaluate("qrels.txt", "good.run", "map").mean()["AP"])


def test_cli_fuse_lists_the_catalogue(shown):
    from fastndcg.fusion.catalog import FUSION_METHODS, NORMALIZATIONS
    from fastndcg.fusion.conventions import FIELDS

    first_words = {line.split()[0] for line in shown("fuse", "--list").splitlines() if line.strip()}
    assert {*FUSION_METHODS, *NORMALIZATIONS, *fn.fusion_conventions, *FIELDS} <= first_words


@pytest.mark.parametrize(("arguments", "message"), [
    (["good.run"], "two or more RUNs"), (["good.run", "good.run"], "'good.run' is the name of 2. Give --names A,B."),
    (["good.run", "good.run", "--names", "a,a"], "'a' is the name of 2"),
    (["good.run", "good.run", "--names", "a"], "--names must have a name for each of the 2 runs, got 1"),
    (["good.run", "tied.run", "--top", "0"], "--top must be 1 or more, not 0. Leave it out"),
    (["good.run", "tied.run", "--depth", "-1"], "--depth must be 1 or more, not -1. Leave it out"),
    (["good.run", "users.npy,items.npy"], "'users.npy,items.npy' holds vectors. Write their best documents"),
    (["good.run", "tied.run", "--fusion-convention", "ranx"], "Take --fusion-convention 'ranx(queries=union)'"),
    (["good.run", "tied.run", "--fusion-convention=default(queries=raise)"], "'good' lacks query q9"),
    (["good.run", "tied.run", "--fusion-convention=default(queries=raise)"], "Take --fusion-convention default to"),
    (["good.run", "tied.run", "--method", "mapfuse"], "Give --train QRELS RUN RUN"),
    (["good.run", "tied.run", "--method", "rrf(k=-1)"], "`k` of rrf must be 0 or more, not -1"),
    (["good.run", "tied.run", "--method", "wsum", "--weights", "1"], "Give --weights NAME=W,NAME=W"),
    (["good.run", "tied.run", "--method", "rff"], "Did you mean 'rrf'"),
    (["good.run", "tied.run", "--weights", "a,b"], "--weights must be numbers"),
    (["good.run", "tied.run", "--weights", "good=1,2"], "NAME=W with each run once"),
    (["good.run", "tied.run", "--train", "qrels.txt", "good.run"], "--train must name"),
    (["good.run", "tied.run", "--format", "csv"], "--format csv can only be used with -o"),
    (["good.run", "tied.run", "-o", "tied.run"], "must not name an input file"),
    (["-", "-"], "standard input can be read once"), (["good.run", "tied.run", "--absent", "nul"], "invalid choice"),
])  # fmt: skip
def test_cli_fuse_errors(arguments, message, files, wrong):
    wrong(message, "fuse", *arguments)


def test_values_are_read_by_place_or_by_name():
    """A name may hold an equals sign."""
    assert read_values("--weights", ["a=b=2", " c=1"], "") == {"a=b": 2.0, "c": 1.0}
    for texts in (["1", "c=1"], ["c=1", "c=2"], ["c=x"]):
        refused("--weights must be numbers, not", read_values, "--weights", texts, "numbers")

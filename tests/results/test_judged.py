"""The share of judged documents beside every table of metrics, where it is below 1."""

import json
import pickle
import random

import numpy as np
import pytest

import fastndcg as fn

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2}}
RUN = {"q1": {"a": 3, "x": 2, "b": 1}, "q2": {"z": 2, "a": 1}}
ALL_JUDGED = {"q1": {"b": 2, "a": 1}, "q2": {"a": 1}}
EFFECT = ": documents without a judgment count as not relevant"


def draw_case(seed):
    """Return judgments and a run with ties, unjudged documents, and queries on one side."""
    draw = random.Random(seed)
    qrels = {f"q{q}": {d: draw.choice([0, 0, 1, 2]) for d in draw.sample("abcdefg", 4)} for q in range(4)}
    run = {
        f"q{q}": {d: draw.choice([1, 2, 3]) for d in draw.sample("abcdefgxyz", draw.randint(1, 6))} for q in range(5)
    }
    return qrels, run


def test_shares_are_those_of_judged_at_each_cutoff():
    """Of the first two documents of q1 and q2 one is judged, of all of them 2 of 3 and 1 of 2."""
    result = fn.evaluate(QRELS, RUN, "ndcg@2, p@2, rr")
    assert result.judged == {"Judged@2": (1 / 2 + 1 / 2) / 2, "Judged": (2 / 3 + 1 / 2) / 2}
    assert result.judged == fn.evaluate(QRELS, RUN, "Judged@2, Judged").mean()
    assert [str(metric) for metric in result.metrics] == ["nDCG@2", "P@2", "RR"]
    assert str(result).splitlines()[-1] == f"Judged@2 0.5000, Judged 0.5833{EFFECT}"
    for n, shown in ((4, "Judged@2 0.5000, Judged@3 0.5833"), (5, "…")):
        cutoffs = [f"ndcg@{k}" for k in range(1, n + 1)]
        last = str(fn.evaluate(QRELS, RUN, cutoffs)).splitlines()[-1]
        assert last == f"Judged@1 0.5000, {shown}, Judged@{n} 0.5833{EFFECT}"


@pytest.mark.parametrize(
    "convention",
    ["default", "trec_eval", "default(ties=best)", "default(unjudged=removed)", "default(missing_in_qrels=undefined)",
     "sklearn", "lightgbm(default_k=all)", "default(no_relevant=skipped)"],
)  # fmt: skip
def test_shares_equal_the_reference(convention):
    for seed in range(20):
        qrels, run = draw_case(seed)
        fast, slow = (
            module.evaluate(qrels, run, "ndcg@2, rr@5, map", convention=convention) for module in (fn, fn.reference)
        )
        assert fast.judged == pytest.approx(slow.judged, rel=1e-15, abs=0, nan_ok=True)
        assert bool(fast.judged) == any(set(run[q]) - set(qrels[q]) for q in qrels) or "undefined" in convention


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize(
    "convention", ["negative_labels=zero", "negative_labels=keep", "negative_labels=zero, ties=input"]
)
def test_few_or_many_judged_documents(share, convention):
    """The ones are counted where they are fewer, and else the others are taken off: both are the reference's value."""
    random = np.random.default_rng(5)
    sizes = random.integers(1, 13, 60)
    is_judged = random.random(sizes.sum()) < share
    labels = np.where(is_judged, random.integers(-1, 3, len(is_judged)), 0)
    rankings = fn.Rankings(labels, random.integers(0, 5, len(labels)), np.cumsum([0, *sizes]), judged=is_judged)
    fast, slow = (
        module.evaluate(
            rankings, metrics="Judged@1,Judged@4,Judged@12,Judged", convention=f"default({convention})"
        ).values
        for module in (fn, fn.reference)
    )
    np.testing.assert_allclose(fast, slow, rtol=1e-15)


def test_shares_of_each_tool_are_of_documents_before_they_are_removed():
    result = fn.evaluate(QRELS, RUN, "ndcg@2, Judged@2", convention="default(unjudged=removed)")
    assert result.mean()["Judged@2"] == 1
    assert str(result).splitlines()[-1] == "Judged@2 0.5000: documents without a judgment were removed"


AGAIN = fn.Run({"q": ["a", "a", "b"]}, duplicates="first")


@pytest.mark.parametrize(("truth", "predictions", "metrics", "judged"), [
    (QRELS, ALL_JUDGED, "ndcg@2", {}), ([[1, 0]], [[2, 1]], "ndcg@2", {}),
    (fn.Rankings([1, 0], [2, 1], [0, 2], judged=[True, True]), None, "ndcg@2", {}),
    (fn.Interactions([0, 1], offsets=[0, 1, 2]), [[1, 0], [1, 2]], "ndcg@2", None),  # items not touched are no holes
    (QRELS, RUN, "bpref", {}), ({"q": {"a": 1, "b": 0}}, AGAIN, "p@3", {}),  # the place of a repeat is no document
    ({"q": {"a": 1}}, AGAIN, "p@3", fn.evaluate({"q": {"a": 1}}, AGAIN, "Judged@3").mean()),
    (fn.Rankings([1, 0, 0], [3, 2, 1], [0, 3], judged=[True, False, True]), None, "ndcg@2, rr",
        {"Judged@2": 1 / 2, "Judged": 2 / 3}),
])  # fmt: skip
def test_line_stands_only_where_documents_are_not_judged(truth, predictions, metrics, judged):
    result = fn.evaluate(truth, predictions, metrics)
    assert result.judged == judged
    assert ("Judged" in str(result)) == bool(judged)


def test_line_of_many_cutoffs_names_the_lowest_and_the_highest():
    result = fn.evaluate(QRELS, RUN, [f"ndcg@{k}" for k in (30, 2, 1, 5, 10)])
    assert list(result.judged) == ["Judged@1", "Judged@2", "Judged@5", "Judged@10", "Judged@30"]
    assert f"\nJudged@1 0.5000, …, Judged@30 0.5833{EFFECT}" in str(result)
    assert "without a judgment" not in str(fn.evaluate(QRELS, RUN, "ndcg@2, Judged@2"))


def test_share_below_1_is_not_printed_as_1():
    run = {f"q{q}": {"a": 1} for q in range(20_000)} | {"q": {"x": 1}}
    result = fn.evaluate({query: {"a": 1} for query in run}, run, "rr@1")
    assert result.judged == {"Judged@1": 20_000 / 20_001}
    assert f"\nJudged@1 0.9999{EFFECT}" in str(result)


def test_files_and_texts_keep_shares(tmp_path):
    result = fn.evaluate(QRELS, RUN, "ndcg@2")
    result.save(tmp_path / "saved.json")
    other = fn.load_result(tmp_path / "saved.json")
    assert (other.judged, str(other)) == ({"Judged@2": 0.5}, str(result))
    assert json.loads(result.to_json())["judged"] == {"Judged@2": 0.5}
    for text in (result.to_markdown(), result._repr_html_()):
        assert f"Judged@2 0.5000{EFFECT}" in text


def test_pairs_have_shares_too():
    assert fn.evaluate_pairs(QRELS, RUN, "rr@2").judged == {"Judged@2": 0.5}


def test_several_systems_have_the_range_of_shares():
    """One system has judged documents alone."""
    queries = {f"q{q}": {"a": 1, "b": 0} for q in range(6)}
    runs = {
        "old": {query: {"a": 2, "x": 1} for query in queries},
        "new": {query: {"b": 2, "a": 1} for query in queries},
    }
    line = f"Judged@2 0.5000 to 1.0000{EFFECT}"
    assert line in fn.compare(queries, runs, "ndcg@2").remarks
    assert line in fn.leaderboard({"x": queries}, {name: {"x": run} for name, run in runs.items()}, "ndcg@2").notes
    assert line in str(fn.gate(queries, runs["old"], runs["new"], "ndcg@2"))
    found = fn.compare(queries, runs, "rr@5")
    found.curves("ndcg")
    assert [note for note in found.remarks if "Judged" in note] == [line.replace("@2", "@5")]


def test_commands_print_the_line(tmp_path, monkeypatch, shown):
    monkeypatch.chdir(tmp_path)
    for name, table in (("run.json", RUN), ("all.json", ALL_JUDGED), ("qrels.json", QRELS)):
        (tmp_path / name).write_text(json.dumps(table))
    assert f"Judged@2 0.5000{EFFECT}" in shown("evaluate", "qrels.json", "run.json", "-m", "ndcg@2")
    both = ("evaluate", "qrels.json", "run.json", "all.json", "-m", "ndcg@2")
    assert f"Judged@2 0.5000 to 1.0000{EFFECT}" in shown(*both)
    assert [run["judged"] for run in json.loads(shown(*both, "--json"))["runs"]] == [{"Judged@2": 0.5}, {}]


@pytest.mark.parametrize("has_holes", [True, False])
def test_report_has_a_section_on_shares_and_notes_on_chunks(has_holes, tmp_path):
    """The run of chunks retrieves a document twice, so that one place is dropped."""
    queries = {f"q{q}": {"a": 1, "b": 0} for q in range(6)}
    last = "x" if has_holes else "b"
    runs = {
        "chunks": {query: {"a#1": 3, "a#2": 2, f"{last}#1": 1} for query in queries},
        "other": {query: {"b#1": 3, "a#1": 2} for query in queries},
    }
    systems = {name: fn.Run(run, parents="before #", ranks="closed") for name, run in runs.items()}
    comparison = fn.compare(queries, systems, "ndcg@2")
    comparison.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ('<section id="judged">' in page) == has_holes
    assert ('<a href="#judged">' in page) == has_holes
    assert ('<td data-value="0.5">0.5000</td><td data-value="0.5">50.0 %</td>' in page) == has_holes
    assert "documents that their query has again, dropped, with later ranks closed up: 6" in page
    assert "chunks: @k counts documents: 12, of 18 chunks" in page


def test_pickles_hold_the_share_and_no_rankings():
    run = {f"q{q}": {f"d{d}": -d for d in range(500)} for q in range(20)}
    fresh, read = (fn.evaluate({query: {"d1": 1} for query in run}, run, "ndcg@2") for _ in range(2))
    assert read.judged == {"Judged@2": 0.5}
    assert pickle.dumps(fresh) == pickle.dumps(read)
    assert pickle.loads(pickle.dumps(fresh)).judged == read.judged

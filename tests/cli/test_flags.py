"""Each flag of the commands that decide gives what its argument in Python gives, which is not what is given without."""

import json

import numpy as np
import pytest

import fastndcg as fn

pytest.importorskip("scipy")
DRAWS = np.random.default_rng(3)
QUERIES = [f"q{query:02}" for query in range(40)]
LABELS = {query: {f"d{d}": int(label) for d, label in enumerate(row)}
          for query, row in zip(QUERIES, DRAWS.integers(0, 4, (40, 7)), strict=True)}  # fmt: skip
RUNS = {
    name: {query: {f"d{d}": float(score) + place * label / 9 for (d, score), label in
                   zip(enumerate(row), LABELS[query].values(), strict=True)}
           for query, row in zip(QUERIES, DRAWS.integers(0, 5, (40, 7)), strict=True)}
    for place, name in enumerate(("old", "new", "third"))
}  # fmt: skip
GROUPS = {query: f"g{place // 2}" for place, query in enumerate(QUERIES)}
HALVES = {query: f"h{place % 2}" for place, query in enumerate(QUERIES)}
WEIGHTS = {query: 1.0 + place % 3 for place, query in enumerate(QUERIES)}
STATISTICS = {
    "--test": ("t", {"test": "t"}), "--correction": ("bh", {"correction": "bh"}),
    "--family": ("metric", {"family": "metric"}), "--alternative": ("greater", {"alternative": "greater"}),
    "--interval": ("betting", {"interval": "betting"}), "--level": ("0.8", {"level": 0.8}),
    "--replicates": ("99", {"replicates": 99}), "--seed": ("5", {"seed": 5}),
    "--convention": ("trec_eval", {"convention": "trec_eval"}), "--baseline": ("new", {"baseline": "new"}),
    "--metrics": ("ndcg(gain=exp2)@2,ap", {"metrics": "ndcg(gain=exp2)@2,ap"}),
}  # fmt: skip
FLAGS = {  # of each command: its flags with a value, and what they are in Python
    "compare": STATISTICS,
    "gate": {
        "--metrics": ("ndcg@2,ap", {"metrics": "ndcg@2,ap"}), "--margin": ("0.2", {"margin": 0.2}),
        "--fail-under": ("rr=0.9", {"floors": {"rr": 0.9}}),
        "--fail-under=rr=0.75 --fail-by": ("limit", {"floors": {"rr": "0.75 by limit"}}),
        "--interval": ("betting", {"interval": "betting"}), "--level": ("0.8", {"level": 0.8}),
        "--sequential": ("", {"sequential": True}), "--convention": ("trec_eval", {"convention": "trec_eval"}),
        "--clusters": ("GROUPS.txt", {"clusters": GROUPS}), "--strata": ("HALVES.txt", {"strata": HALVES}),
        "--weights": ("WEIGHTS.txt", {"weights": WEIGHTS}),
    },
    "leaderboard": {
        "--metric": ("ndcg(gain=exp2)@2", {"metric": "ndcg(gain=exp2)@2"}),
        **{flag: STATISTICS[flag] for flag in ("--level", "--replicates", "--seed", "--convention")},
    },
}  # fmt: skip


@pytest.fixture
def given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fn.Qrels(LABELS).write("qrels.txt")
    for name, run in RUNS.items():
        fn.Run(run).write(f"{name}.run")
    for name in ("GROUPS", "HALVES", "WEIGHTS"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{query}\t{own}\n" for query, own in globals()[name].items()))


def call(command, **options):
    if command == "compare":
        return fn.compare(LABELS, RUNS, **{"metrics": "ndcg@3,rr", "replicates": 200} | options).to_json()
    if command == "gate":
        return fn.gate(LABELS, RUNS["old"], RUNS["new"], **{"metrics": "ndcg@3,rr"} | options).to_json()
    systems = {name: {"queries": run} for name, run in RUNS.items()}
    return fn.leaderboard({"queries": LABELS}, systems, **{"metric": "rr", "replicates": 200} | options).to_json()


@pytest.mark.parametrize("command", FLAGS)
def test_each_flag_is_its_argument(command, given, run):
    usual = {"compare": {"--metrics": "ndcg@3,rr", "--replicates": "200"}, "gate": {"--metrics": "ndcg@3,rr"},
             "leaderboard": {"--metric": "rr", "--replicates": "200"}}[command]  # fmt: skip
    names = ("old.run", "new.run", "third.run")[: 2 if command == "gate" else 3]
    plain = json.loads(call(command))
    for flag, (value, options) in ({"": ("", {})} | FLAGS[command]).items():
        words = [word for known, own in usual.items() if known != flag for word in (known, own)]
        words += [*flag.split(), *value.split()]
        out, expected = run(command, "qrels.txt", *names, *words, "--json")[1], call(command, **options)
        assert json.loads(out) == json.loads(expected), flag
        assert (json.loads(expected) == plain) == (flag == ""), flag


@pytest.mark.parametrize("kind", ["forest", "curve", "histogram"])
@pytest.mark.parametrize("metric", ["ndcg(gain=exp2)@2", "P(rel=2)@3", "nDCG(gain=[0,1,5,5],discount=1/r)@4"])
def test_plots_are_of_the_metric_with_its_parameters(kind, metric, given, run):
    found = fn.compare(LABELS, RUNS, metric)
    written = json.loads(run("plot", "qrels.txt", "old.run", "new.run", "third.run", "-m", metric, "--kind", kind,
                             "--baseline", "old", "--json")[1])["numbers"]  # fmt: skip
    if kind == "forest":
        assert [row["mean"] for row in written] == [row.mean for row in found.rows]
    elif kind == "curve":
        points = found.curves(metric.rpartition("@")[0])
        assert [(point["k"], point["mean"]) for point in written] == [(point.k, point.mean) for point in points]
    else:
        assert list(written["differences"].values()) == found.differences("new", metric).tolist()


@pytest.mark.parametrize(("convention", "rr"), [("trec_eval", 0.0), ("trec_eval_9", 1.0)])
def test_first_documents_are_those_of_the_conventions_scores(convention, rr, files, run):
    """Two scores that are equal in float32 alone: the larger id is first, or the higher score."""
    (files / "qrels.txt").write_text("q 0 b 1\n")
    (files / "close.run").write_text("q Q0 a 1 0.5 me\nq Q0 b 2 0.49999999999 me\n")
    words = ("evaluate", "qrels.txt", "close.run", "-m", "rr", "-M", "1", "--convention", convention, "--json")
    assert json.loads(run(*words)[1])["runs"][0]["mean"]["RR"] == rr

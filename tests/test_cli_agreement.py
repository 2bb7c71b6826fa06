"""``fastndcg agreement``: what it prints in each form, and what it refuses."""

import json

import fastndcg as fn


def test_table(files, run):
    """The table is that of the result, each query's values above it if wanted."""
    result = fn.agreement("good.run", "tied.run", "tau_b, rbo(p=0.5)@2")
    assert run("agreement", "good.run", "tied.run", "-m", "tau_b,rbo(p=0.5)@2") == (0, f"{result}\n", "")
    code, out, _ = run("agreement", "good.run", "tied.run", "-m", "rbo(p=0.5)@2", "--per-query")
    assert code == 0
    assert [line.split() for line in out.splitlines()[:3]] == [
        ["query", "RBO(p=0.5)@2"],
        ["q1", f"{result.values[0, 1]:.4f}"],
        ["q2", f"{result.values[1, 1]:.4f}"],
    ]


def test_json_and_csv(files, run):
    """Both hold all digits, null or nan where a metric is undefined, and what was left out."""
    result = fn.agreement("good.run", "tied.run", "tau_b, rbo")
    found = json.loads(
        run("agreement", "good.run", "tied.run", "-m", "tau_b,rbo", "--format", "json", "--per-query")[1]
    )
    assert found["mean"] == result.mean()
    assert found["n_queries"] == 2
    assert found["n_undefined"] == {"tau_b": 1, "RBO": 0}
    assert found["per_query"]["q1"] == {"tau_b": None, "RBO": result.values[0, 1]}
    assert found["notes"] == list(result.notes)
    lines = run("agreement", "good.run", "tied.run", "-m", "tau_b,rbo", "--format", "csv", "--per-query")[
        1
    ].splitlines()
    assert lines[:2] == ["query,tau_b,RBO", f"q1,nan,{float(result.values[0, 1])!r}"]
    whole = run("agreement", "good.run", "tied.run", "--format", "csv", "-o", "out.csv")
    assert whole == (0, "", "")
    assert (files / "out.csv").read_text(encoding="utf-8").startswith("tau_b,tau_ap,RBO,queries,tied\n")


def test_what_is_refused(files, run):
    """Metrics of labels, a missing run, one file twice from standard input: code 2 and one line."""
    for arguments, message in (
        (["good.run", "tied.run", "-m", "ndcg"], "call fastndcg.evaluate"),
        (["good.run"], "arguments are required"),
        (["-", "-"], "standard input can be read once"),
        (["good.run", "none.run"], "none.run"),
        (["good.run", "tied.run", "-o", "tied.run"], "must not name a file that is read"),
    ):
        code, out, err = run("agreement", *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1
    code, _, err = run("evaluate", "qrels.txt", "good.run", "-m", "rbo")
    assert code == 2
    assert "call fastndcg.agreement" in err

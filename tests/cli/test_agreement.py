"""Output formats and errors of ``fastndcg agreement``."""

import json

import fastndcg as fn


def test_cli_agreement_prints_table(files, run):
    result = fn.agreement("good.run", "tied.run", "tau_b, rbo(p=0.5)@2")
    assert run("agreement", "good.run", "tied.run", "-m", "tau_b,rbo(p=0.5)@2") == (0, f"{result}\n", "")
    code, out, _ = run("agreement", "good.run", "tied.run", "-m", "rbo(p=0.5)@2", "--per-query")
    assert code == 0
    assert [line.split() for line in out.splitlines()[:3]] == [
        ["query", "RBO(p=0.5)@2"], ["q1", f"{result.values[0, 1]:.4f}"], ["q2", f"{result.values[1, 1]:.4f}"],
    ]  # fmt: skip


def test_json_and_csv(files, run):
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
    assert whole == (0, "", "out.csv written\n")
    assert (files / "out.csv").read_text(encoding="utf-8").startswith("tau_b,tau_ap,RBO,queries,tied\n")


def test_cli_agreement_errors(files, run):
    for arguments, message in (
        (["good.run", "tied.run", "-m", "ndcg"], "Use fastndcg evaluate"),
        (["good.run"], "arguments are required"),
        (["good.run", "model.safetensors"], "'model.safetensors' holds vectors. Write their best documents"),
        (["-", "-"], "standard input can be read once"),
        (["good.run", "none.run"], "none.run"),
        (["good.run", "tied.run", "-o", "tied.run"], "must not name an input file"),
    ):
        code, out, err = run("agreement", *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1
    code, _, err = run("evaluate", "qrels.txt", "good.run", "-m", "rbo")
    assert code == 2
    assert "Use fastndcg agreement" in err


def test_documents_that_a_run_has_again(files, run):
    (files / "twice.run").write_text("q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq1 Q0 d1 3 1 t\n", encoding="utf-8")
    (files / "once.run").write_text("q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\n", encoding="utf-8")
    code, _, err = run("agreement", "twice.run", "once.run")
    assert (code, "--duplicates first" in err) == (2, True), err
    code, out, _ = run("agreement", "twice.run", "once.run", "-m", "rbo", "--duplicates", "first", "--json")
    assert (code, json.loads(out)["mean"]) == (0, {"RBO": 1.0})

"""
Measure every drop-in against the library that it takes the place of, in the form that the library takes.

Usage: python benchmarks/dropins.py [--queries N] [--documents N] [--repeat N] [--only NAME ...]

Each pair runs in a process of its own, the two in turns. Their values are compared before times are taken. Where a
library takes Python's objects, a loop in Python only touches every one of them, on both sides if both are read: `bound`
is how many times faster than the library that loop is, and `share` how much of it we reach. It is the fastest loop
that Python has, without a body (for torchmetrics, a call a query: without reading what the tensors hold). Whoever reads
the objects in Python stays below 100 %; our machine code, which goes through them by Python's C interface and counts
no references, need not, so that the bound says what Python code can reach, not what is possible.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from contenders import Case, K
from peers import make, with_ties
from timing import LEAST_REPEATS, digits, python_environment, timed

QUERIES, DOCUMENTS = 20_000, 100
LEAST_SECONDS = 0.1  # of a call in a turn
TOLERANCE = 1e-12
FLOAT32_TOLERANCE = 2e-6


class Pair(NamedTuple):
    """The library's call and ours, whose values must agree; for Python's objects, a loop that only touches them."""

    theirs: Callable[[], Any]
    ours: Callable[[], Any]
    tolerance: float = TOLERANCE
    touch: Callable[[], Any] | None = None


def sklearn_function(name: str, **options: Any) -> Callable[[Case], Pair]:
    """A function of scikit-learn that takes labels and scores of two dimensions."""

    def setup(case: Case) -> Pair:
        from sklearn import metrics as theirs

        from fastndcg.compat import sklearn as ours

        labels = case.relevant if name.startswith("label_ranking") else case.labels
        return Pair(*(lambda place=place: getattr(place, name)(labels, case.scores, **options)
                      for place in (theirs, ours)))  # fmt: skip

    return setup


def sklearn_top_k(case: Case) -> Pair:
    """One right class a row."""
    from sklearn import metrics as theirs

    from fastndcg.compat import sklearn as ours

    n_rows, n_classes = case.scores.shape
    options = {"k": K, "labels": np.arange(n_classes)}
    right = np.arange(n_rows) % n_classes
    return Pair(*(lambda place=place: place.top_k_accuracy_score(right, case.scores, **options)
                  for place in (theirs, ours)))  # fmt: skip


def pytrec_eval_dicts(case: Case) -> Pair:
    """An evaluator of prepared judgments on a run in dicts."""
    import pytrec_eval as theirs

    from fastndcg.compat import pytrec_eval as ours

    qrels, run = case.dicts()
    evaluators = [place.RelevanceEvaluator(qrels, {f"ndcg_cut_{K}"}) for place in (theirs, ours)]
    return Pair(*(lambda one=one: one.evaluate(run) for one in evaluators), touch=lambda: touch(run))


def pytrec_eval_several(case: Case) -> Pair:
    """The same with seven measures."""
    import pytrec_eval as theirs

    from fastndcg.compat import pytrec_eval as ours

    qrels, run = case.dicts()
    measures = {"map", "ndcg", "ndcg_cut.5,10", "recip_rank", "P_10", "recall_100"}
    evaluators = [place.RelevanceEvaluator(qrels, measures) for place in (theirs, ours)]
    return Pair(*(lambda one=one: one.evaluate(run) for one in evaluators), touch=lambda: touch(run))


def ranx_objects(case: Case) -> Pair:
    """Qrels and a Run, each made once."""
    import ranx as theirs

    from fastndcg.compat import ranx as ours

    qrels, run = case.dicts()
    given = [(place, place.Qrels(qrels), place.Run(run)) for place in (theirs, ours)]
    return Pair(*(lambda one=one: one[0].evaluate(one[1], one[2], f"ndcg@{K}", return_mean=False) for one in given))


def ranx_first(case: Case) -> Pair:
    """The same with dicts, so that nothing is kept from one call to the next."""
    import ranx as theirs

    from fastndcg.compat import ranx as ours

    qrels, run = case.dicts()
    return Pair(*(lambda place=place: place.evaluate(qrels, run, f"ndcg@{K}")
                  for place in (theirs, ours)), touch=lambda: (touch(qrels), touch(run)))  # fmt: skip


def ir_measures_of(form: Callable[[Any, type[tuple[Any, ...]], tuple[str, ...]], Any]) -> Callable[[Case], Pair]:
    """Aggregates of a run in one of the forms that ir_measures takes, by an evaluator of judgments in this form."""

    def setup(case: Case) -> Pair:
        import ir_measures

        from fastndcg.compat.ir_measures import Provider

        qrels, run = (form(rows, kind, kind._fields[:3]) for rows, kind in
                      zip(case.dicts(), (ir_measures.Qrel, ir_measures.ScoredDoc), strict=True))  # fmt: skip
        measures = [ir_measures.nDCG @ K]
        evaluators = [ir_measures.pytrec_eval.evaluator(measures, qrels), Provider().evaluator(measures, qrels)]
        bound = None if form is as_frame else lambda: touch(run)
        return Pair(*(lambda one=one: one.calc_aggregate(run) for one in evaluators), touch=bound)

    return setup


def as_tuples(rows: Any, kind: Any, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """A list of named tuples."""
    del columns
    return [kind(query, document, number) for query, row in rows.items() for document, number in row.items()]


def as_frame(rows: Any, kind: Any, columns: tuple[str, ...]) -> Any:
    """A pandas DataFrame."""
    import pandas

    return pandas.DataFrame([one[:3] for one in as_tuples(rows, kind, columns)], columns=list(columns))


def torchmetrics_indexes(case: Case) -> Pair:
    """Flat tensors with an index of queries: the class of theirs, our function."""
    import torch
    from torchmetrics.retrieval import RetrievalNormalizedDCG

    from fastndcg.compat.torchmetrics import retrieval_normalized_dcg

    scores, labels = torch.from_numpy(case.scores.ravel()), torch.from_numpy(case.labels.ravel().astype("i8"))
    queries = torch.from_numpy(case.positions[0])
    return Pair(
        lambda: float(RetrievalNormalizedDCG(top_k=K)(scores, labels, indexes=queries)),
        lambda: float(retrieval_normalized_dcg(scores, labels, K, indexes=queries).double().mean()),
        FLOAT32_TOLERANCE,
    )


def torchmetrics_single(case: Case) -> Pair:
    """A call for each query, as their functions ask for; the least is to ask where two tensors are, and a new one."""
    import torch
    from torchmetrics.functional.retrieval import retrieval_normalized_dcg as theirs

    from fastndcg.compat.torchmetrics import retrieval_normalized_dcg as ours

    pairs = list(zip(torch.from_numpy(case.scores), torch.from_numpy(case.labels.astype("i8")), strict=True))

    def nothing(scores: Any, labels: Any, k: int) -> Any:
        return scores.data_ptr(), labels.data_ptr(), torch.scalar_tensor(k, dtype=torch.float32)

    calls = [lambda function=function: [float(function(scores, labels, K)) for scores, labels in pairs]
             for function in (theirs, ours, lambda *given: nothing(*given)[2])]  # fmt: skip
    return Pair(calls[0], calls[1], FLOAT32_TOLERANCE, touch=calls[2])


GOALS = {
    "scikit-learn ndcg_score": (150, sklearn_function("ndcg_score", k=K)),
    "scikit-learn ndcg_score, ties ignored": (20, sklearn_function("ndcg_score", k=K, ignore_ties=True)),
    "scikit-learn dcg_score": (150, sklearn_function("dcg_score", k=K)),
    "scikit-learn label_ranking_average_precision_score": (
        20, sklearn_function("label_ranking_average_precision_score"),
    ),
    "scikit-learn top_k_accuracy_score": (20, sklearn_top_k),
    "pytrec_eval, one measure": (3, pytrec_eval_dicts),
    "pytrec_eval, seven measures": (3, pytrec_eval_several),
    "ranx, Qrels and Run": (20, ranx_objects),
    "ranx, dicts": (20, ranx_first),
    "ir_measures, dicts": (20, ir_measures_of(lambda rows, *_: rows)),
    "ir_measures, named tuples": (20, ir_measures_of(as_tuples)),
    "ir_measures, frames": (20, ir_measures_of(as_frame)),
    "torchmetrics, indexes": (20, torchmetrics_indexes),
    "torchmetrics, a call a query": (20, torchmetrics_single),
}  # fmt: skip
WITH_TIES = {"scikit-learn ndcg_score", "scikit-learn dcg_score", "pytrec_eval, one measure", "torchmetrics, indexes"}


def main() -> int:
    """Measure and print; fails where values differ or a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--repeat", type=int, default=LEAST_REPEATS)
    parser.add_argument("--only", nargs="+", default=list(GOALS), choices=GOALS, metavar="NAME")
    parser.add_argument("--one", choices=GOALS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(asked.one, asked.queries, asked.documents, asked.repeat)))
        return 0
    print(f"{asked.queries} queries x {asked.documents} documents, shortest of {asked.repeat}, in ms")
    print(f"{'':52}{'theirs':>9}{'ours':>9}{'ratio':>8}{'goal':>6}{'touch':>8}{'bound':>8}{'share':>8}")
    missed = 0
    for name in asked.only:
        found = apart(name, asked.queries, asked.documents, asked.repeat)
        missed += not found.get("met", False)
        print(described(name, found), flush=True)
    return 1 if missed else 0


def apart(name: str, n_queries: int, n_documents: int, repeat: int) -> dict[str, Any]:
    """Measure a pair in another process."""
    command = [sys.executable, __file__, "--one", name, "--queries", str(n_queries)]
    command += ["--documents", str(n_documents), "--repeat", str(repeat)]
    done = subprocess.run(command, env=python_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def measure(name: str, n_queries: int, n_documents: int, repeat: int) -> dict[str, Any]:
    """Compare values, on the documents that are timed and on some full of ties, and take times."""
    goal, setup = GOALS[name]
    if name in WITH_TIES:
        prove(setup(with_ties(min(n_queries, 200), n_documents)))
    pair = setup(make(n_queries, n_documents))
    prove(pair)
    calls = {"theirs": pair.theirs, "ours": pair.ours} | ({} if pair.touch is None else {"touch": pair.touch})
    seconds = in_turns(calls, repeat)
    ratio = seconds["theirs"] / seconds["ours"]
    return {
        "ms": {call: digits(taken * 1e3) for call, taken in seconds.items()}, "ratio": digits(ratio, 3), "goal": goal,
        "met": goal is None or ratio >= goal,
    }  # fmt: skip


def in_turns(calls: Mapping[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    """The shortest time of each in seconds; short calls are made several times a turn: CPUs that idled wake slowly."""
    shortest = dict.fromkeys(calls, np.inf)
    for _ in range(repeat):
        for name, call in calls.items():
            left = LEAST_SECONDS
            while left > 0:
                taken = timed(call)[0]
                shortest[name] = min(shortest[name], taken)
                left -= taken
    return shortest


def prove(pair: Pair) -> None:
    """Give up where the values differ."""
    theirs, ours = (flat(call()) for call in (pair.theirs, pair.ours))
    difference = float(np.max(np.abs(theirs - ours), initial=0.0)) if theirs.shape == ours.shape else np.inf
    if not difference <= pair.tolerance:
        raise SystemExit(f"values differ by {difference:.3g}")


def flat(values: Any) -> Any:
    """All numbers, in the order of the keys where there are some."""
    while isinstance(values, Mapping):
        values = [flat(values[key]) for key in sorted(values, key=str)]
    return np.ravel(values).astype("f8")


def touch(rows: Any) -> None:
    """A loop over every document and its number: in a dict of dicts, or in a list of tuples."""
    if isinstance(rows, list):
        for _, _, _ in rows:
            pass
    else:
        for row in rows.values():
            for _ in row.items():
                pass


def described(name: str, found: dict[str, Any]) -> str:
    """One line of what was found."""
    if "failed" in found:
        return f"{name:52} failed: {found['failed']}"
    ms = found["ms"]
    goal = "" if found["goal"] is None else f">= {found['goal']}"
    line = f"{name:52}{ms['theirs']:9.1f}{ms['ours']:9.2f}{found['ratio']:8.1f}{goal:>6}"
    if "touch" in ms:
        line += f"{ms['touch']:8.1f}{ms['theirs'] / ms['touch']:8.1f}{ms['touch'] / ms['ours']:8.0%}"
    return line + ("" if found["met"] else "  missed")


if __name__ == "__main__":
    sys.exit(main())

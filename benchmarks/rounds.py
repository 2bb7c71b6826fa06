"""
Measure a boosting round's evaluation: our metric in the library's own loop against the library's own metric.

Usage: python benchmarks/rounds.py [--queries N] [--documents N] [--rounds N] [--only NAME ...]

Two boosters train alike on some of the queries, one with nDCG@10 of the library, one with ours by its callback, each on
two threads. After each round both evaluate all queries, in turns; what is timed is the library's call that does so, in
which ours gets its scores by way of Python. Before times count, ours must equal the reference on a small case, and
under the library's convention the library's own values, round by round. The first rounds stand apart: few trees make
few scores, and nearly all documents tie.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from timing import digits, python_environment, timed

import fastndcg as fn

QUERIES, DOCUMENTS, ROUNDS = 20_000, 100, 30
FIRST_ROUNDS = 5
THREADS = 2
SMALL = (40, 12)  # queries and documents of the case that is proven
K = 10
TRAINING_QUERIES = 500
FEATURES = 8
MOST = 1.0  # times the library's own time


class Loop(NamedTuple):
    """A round of training, the evaluation after it by the library's metric and by ours, and the scores behind them."""

    update: Callable[[], Any]
    theirs: Callable[[], float]
    ours: Callable[[], float]
    scores: Callable[[], np.ndarray]
    tolerance: float


class Case(NamedTuple):
    """Features, labels and the size of all queries; the first ones are learned from."""

    features: np.ndarray
    labels: np.ndarray
    n_documents: int

    def groups(self, n_queries: int | None = None) -> np.ndarray:
        """Sizes of the first queries, or of all."""
        return np.full(len(self.labels) // self.n_documents if n_queries is None else n_queries, self.n_documents)


def make(n_queries: int, n_documents: int) -> Case:
    """Labels from 0 to 4, more than half of them 0, that features tell something about."""
    random = np.random.default_rng(0)
    features = random.random((n_queries * n_documents, FEATURES), dtype="f4")
    labels = features[:, :3].sum(axis=1) * 2 - 3 + random.normal(size=len(features))
    return Case(features, np.clip(labels.round(), 0, 4).astype("f4"), n_documents)


def lightgbm(case: Case, convention: str) -> Loop:
    """`Booster.eval_valid`, as `lgb.train` calls it."""
    import lightgbm as lgb

    from fastndcg.integrations.lightgbm import metric

    feval = metric(f"ndcg@{K}", convention=convention, threads=THREADS)
    some = min(TRAINING_QUERIES, len(case.groups()))
    documents = slice(some * case.n_documents)
    train = lgb.Dataset(case.features[documents], case.labels[documents], group=case.groups(some))
    asked = {"objective": "lambdarank", "num_threads": THREADS, "verbosity": -1, "eval_at": [K]}
    boosters = []
    for name in ("ndcg", "None"):
        booster = lgb.Booster(asked | {"metric": name}, train)
        valid = lgb.Dataset(case.features, case.labels, group=case.groups(), reference=train)
        boosters.append(booster.add_valid(valid, "valid"))
    return Loop(
        lambda: [booster.update() for booster in boosters],
        lambda: boosters[0].eval_valid()[0][2],
        lambda: boosters[1].eval_valid(feval)[0][2],
        lambda: boosters[1].predict(case.features),
        1e-12,
    )


def xgboost(case: Case, convention: str) -> Loop:
    """`Booster.eval_set`, as `xgboost.train` calls it."""
    import xgboost as xgb

    from fastndcg.integrations.xgboost import metric

    custom = metric(f"ndcg@{K}", convention=convention, threads=THREADS)
    some = min(TRAINING_QUERIES, len(case.groups()))
    documents = slice(some * case.n_documents)
    train = xgb.DMatrix(case.features[documents], case.labels[documents], group=case.groups(some))
    asked = {"objective": "rank:ndcg", "nthread": THREADS, "verbosity": 0}
    pairs = []
    for choice in ({"eval_metric": f"ndcg@{K}"}, {"disable_default_eval_metric": 1}):
        valid = xgb.DMatrix(case.features, case.labels, group=case.groups())
        pairs.append((xgb.Booster(asked | choice, [train, valid]), [(valid, "valid")]))
    (first, its), (second, ours) = pairs
    rounds = iter(range(1 << 20))

    def update() -> None:
        number = next(rounds)
        for booster, _ in pairs:
            booster.update(train, number)

    return Loop(
        update,
        lambda: printed(first.eval_set(its)),
        lambda: printed(second.eval_set(ours, feval=custom, output_margin=False)),
        lambda: second.predict(ours[0][0]),
        1e-6,  # XGBoost prints six digits of a custom metric
    )


def printed(line: str) -> float:
    """The one value in a line of XGBoost's."""
    return float(re.fullmatch(r"\[0\]\tvalid-\S+:(\S+)", line)[1])  # type: ignore[index]


LOOPS = {
    "LightGBM": (lightgbm, "lightgbm", True),
    "LightGBM, convention default": (lightgbm, "default", False),
    "XGBoost": (xgboost, "xgboost", True),
    "XGBoost, convention default": (xgboost, "default", False),
}  # the loop, the convention, and whether its values are the library's


def main() -> int:
    """Measure and print; fails where values differ or ours takes longer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", nargs="+", default=list(LOOPS), choices=LOOPS, metavar="NAME")
    parser.add_argument("--one", choices=LOOPS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.one, asked.queries, asked.documents, asked.rounds)))
        return 0
    print(f"{asked.queries} queries x {asked.documents} documents, {asked.rounds} rounds, {THREADS} threads, in ms")
    print(f"{'':32}{'theirs':>9}{'ours':>9}{'ratio':>8}   first {FIRST_ROUNDS} rounds: theirs, ours, ratio")
    missed = 0
    for name in asked.only:
        found = apart(name, asked.queries, asked.documents, asked.rounds)
        missed += not found.get("met", False)
        print(described(name, found), flush=True)
    return 1 if missed else 0


def apart(name: str, n_queries: int, n_documents: int, n_rounds: int) -> dict[str, Any]:
    """Measure a loop in another process, whose threads are its own."""
    command = [sys.executable, __file__, "--one", name, "--queries", str(n_queries)]
    command += ["--documents", str(n_documents), "--rounds", str(n_rounds)]
    done = subprocess.run(command, env=python_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"error": lines[-1] if lines else f"exit code {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def measure(name: str, n_queries: int, n_documents: int, n_rounds: int) -> dict[str, Any]:
    """The shortest times after the first rounds, and in them; the very first, which prepares, does not count."""
    make_loop, convention, agrees = LOOPS[name]
    prove(name)
    loop = make_loop(make(n_queries, n_documents), convention)
    times: dict[str, list[float]] = {"theirs": [], "ours": []}
    for number in range(n_rounds + 1):
        loop.update()
        order = list(times) if number % 2 else list(times)[::-1]
        values = {}
        for side in order:
            taken, values[side] = timed(getattr(loop, side))
            times[side].append(taken * 1e3)
        if agrees and not abs(values["ours"] - values["theirs"]) <= loop.tolerance:
            raise ValueError(f"ours gives {values['ours']!r} and {name} {values['theirs']!r} in round {number}")
    first = {side: digits(min(taken[1 : FIRST_ROUNDS + 1])) for side, taken in times.items()}
    ms = {side: digits(min(taken[FIRST_ROUNDS + 1 :] or taken[1:])) for side, taken in times.items()}
    ratio = ms["ours"] / ms["theirs"]
    return {"ms": ms, "first": first, "ratio": digits(ratio, 3), "met": ratio <= MOST}


def prove(name: str) -> None:
    """Give up where a small case differs from the reference in one of three rounds."""
    make_loop, convention, _ = LOOPS[name]
    case = make(*SMALL)
    loop = make_loop(case, convention)
    for _ in range(3):
        loop.update()
        expected = fn.reference.evaluate(
            case.labels, loop.scores(), f"nDCG@{K}", groups=case.groups(), convention=convention
        )
        if not abs(loop.ours() - expected.means()[0]) <= loop.tolerance:
            raise ValueError(f"ours gives {loop.ours()!r} and the reference {expected.means()[0]!r}")


def described(name: str, found: dict[str, Any]) -> str:
    """A line of the table."""
    if "error" in found:
        return f"{name:32}{found['error']}"
    ms, first = found["ms"], found["first"]
    line = f"{name:32}{ms['theirs']:9.1f}{ms['ours']:9.1f}{found['ratio']:8.2f}"
    line += f"   {first['theirs']:.1f}, {first['ours']:.1f}, {first['ours'] / first['theirs']:.2f}"
    return line + ("" if found["met"] else "  missed")


if __name__ == "__main__":
    sys.exit(main())

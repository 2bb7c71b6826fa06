"""
Measure every library of the registry on the same documents, and save what the README's table and chart show.

Usage: python benchmarks/peers.py [--queries N] [--documents N] [--repeat N] [--only NAME ...] [--json FILE]
                                  [--headline N]

Each library runs in a process of its own, in turns with us, so that neither its threads nor its settings reach the
others. Its numbers are compared first: on the documents that are timed, where no scores tie, and on a small case full
of ties. What does not agree is saved with its difference; a library that is absent or fails, with the reason.
`--headline` also measures scikit-learn and us alone on so many queries (0: not at all).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from contenders import CONTENDERS, METRIC, Case, Contender, agreement
from proof import ORDERS, cut, n_orders
from timing import LEAST_REPEATS, about, digits, interleaved, python_environment, timed

import fastndcg as fn

HERE = Path(__file__).parent
SHARES = (0.9, 0.04, 0.03, 0.02, 0.01)  # of labels 0 to 4
WITHOUT_RELEVANT = 0.01  # share of queries
N_TIED, LEVELS = 200, 20  # the case full of ties: queries, different scores
N_PROVEN = 50
OURS = "fastndcg"
HEADLINE = ("scikit-learn, ties ignored", "fastndcg, 1 thread")


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=LEAST_REPEATS)
    parser.add_argument("--only", nargs="+", default=list(CONTENDERS), choices=CONTENDERS, metavar="NAME")
    parser.add_argument("--headline", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--json", type=Path, default=HERE / "peers.json")
    parser.add_argument("--one", choices=CONTENDERS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(CONTENDERS[asked.one], make(asked.queries, asked.documents), asked.repeat)))
        return
    found = about({entry.package for entry in CONTENDERS.values()}) | {
        "metric": METRIC, "queries": asked.queries, "documents": asked.documents,
        "peers": [report(apart(name, asked.queries, asked.documents, asked.repeat)) for name in asked.only],
    }  # fmt: skip
    if asked.headline:
        rows = [report(apart(name, asked.headline, asked.documents, asked.repeat)) for name in HEADLINE]
        found["headline"] = {"queries": asked.headline, "documents": asked.documents, "peers": rows}
    asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def make(n_queries: int, n_documents: int) -> Case:
    """Labels and scores; no two scores of a query are equal, and some queries have nothing relevant."""
    rng = np.random.default_rng(2002)
    labels = np.empty((n_queries, n_documents), "i1")
    scores = np.empty((n_queries, n_documents), "f4")
    for first in range(0, n_queries, 10_000):
        part = slice(first, first + 10_000)
        shape = scores[part].shape
        labels[part] = rng.choice(len(SHARES), size=shape, p=SHARES)
        labels[part][rng.random(shape[0]) < WITHOUT_RELEVANT] = 0
        scores[part] = rng.permuted(np.broadcast_to(np.arange(n_documents, dtype="f4"), shape), axis=1)
        scores[part] += rng.uniform(0, 0.9, size=shape).astype("f4")
    return Case(labels, scores / n_documents)


def with_ties(n_queries: int, n_documents: int) -> Case:
    """The same, with few different scores."""
    case = make(n_queries, n_documents)
    return Case(case.labels, np.floor(case.scores * LEVELS).astype("f4"))


def apart(name: str, n_queries: int, n_documents: int, repeat: int) -> dict[str, Any]:
    """Measure a contender in another process; what goes wrong there is what is found."""
    entry = CONTENDERS[name]
    found = {
        "name": name, "package": entry.package, "convention": entry.convention.name,
        "binary": entry.is_binary, "ranked before": entry.is_ranked_before,
    }  # fmt: skip
    reason = entry.absent() if entry.package == OURS else ""
    command = [sys.executable, __file__, "--one", name]
    command += ["--queries", str(n_queries), "--documents", str(n_documents), "--repeat", str(repeat)]
    done = subprocess.run(command, env=python_environment(), capture_output=True, text=True, check=False)
    if done.returncode or reason:
        lines = done.stderr.strip().splitlines()
        return found | {"failed": reason or (lines[-1] if lines else f"exit status {done.returncode}")}
    return found | json.loads(done.stdout.splitlines()[-1])


def measure(entry: Contender, case: Case, repeat: int) -> dict[str, Any]:
    """Compare a contender's numbers with ours, then take its times in turns with us."""
    reason = entry.absent()
    if reason:
        return {"absent": reason}
    tied = with_ties(min(N_TIED, len(case.labels)), case.labels.shape[1])
    prove(entry, case)
    prove(entry, tied)
    on_ties = agreement(entry, tied, entry.setup(tied)())  # compiles what compiles
    conversion, call = timed(lambda: entry.setup(case))
    found = agreement(entry, case, call())
    seconds = interleaved({"theirs": call, "ours": CONTENDERS[OURS].setup(case)}, repeat)
    return {
        "conversion seconds": digits(conversion),
        "seconds": digits(seconds["theirs"]),
        "our seconds": digits(seconds["ours"]),
        "ratio": digits(seconds["theirs"] / seconds["ours"], 3),
        "agreement": found,
        "agreement on ties": on_ties,
    }


def prove(entry: Contender, case: Case) -> int:
    """Compare our values under a contender's convention with the reference's; says for how many queries."""
    rankings, values = entry.rankings(case), entry.expected(case)
    n_documents = case.labels.shape[1]
    compared = 0
    for query in np.linspace(0, len(values) - 1, min(N_PROVEN, len(values))).astype(int):
        documents = slice(query * n_documents, (query + 1) * n_documents)
        keys = rankings.tie_keys[documents]
        one = fn.Rankings(rankings.labels[documents], rankings.scores[documents], [0, n_documents], tie_keys=keys)
        if entry.convention.ties == "average":
            one = cut(one, fn.Metric.parse(METRIC).k or n_documents)
            if n_orders(one) > ORDERS:
                continue
        expected = fn.reference.evaluate(one, metrics=METRIC, convention=entry.convention).values[0, 0]
        if not np.isclose(values[query], expected, rtol=0, atol=1e-12, equal_nan=True):
            raise SystemExit(f"query {query} is {values[query]!r}, but the reference says {expected!r}")
        compared += 1
    if not compared:
        raise SystemExit("no query is within the reference's reach")
    return compared


def report(found: dict[str, Any]) -> dict[str, Any]:
    """Print what was found of a contender, and give it."""
    print(f"{found['name']:28}", described(found), flush=True)
    return found


def described(found: dict[str, Any]) -> str:
    """One line of what was found."""
    for problem in ("absent", "failed"):
        if problem in found:
            return f"{problem}: {found[problem]}"
    parts = [f"{found['seconds']:9.4g} s, {found['ratio']:7.3g} x ours, conversion {found['conversion seconds']:.3g} s"]
    for case, kind in (("", "agreement"), (" on ties", "agreement on ties")):
        one = found[kind]
        verdict = "agrees" if one["agrees"] else f"differs by {one['difference']:.3g}"
        parts.append(f"{verdict}{case} ({one['of']})")
    return "; ".join(parts)


if __name__ == "__main__":
    main()

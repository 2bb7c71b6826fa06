"""
Peers suite: every library of the registry on the same documents, for the README's table and chart.

Each library runs in a separate process, in alternation with fastndcg, so that its threads and settings reach no
other. Values are compared first: on the documents that are timed, without ties, and on a small case with many ties. A
library whose values differ is saved with the difference, and one that is absent or fails with the reason. The part
"headline" measures scikit-learn and fastndcg on a million queries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.lib.cases import make_case, make_case_with_ties
from benchmarks.lib.contenders import CONTENDERS, METRIC, Case, Contender, compare_values
from benchmarks.lib.process import call_in_process
from benchmarks.lib.render import ONE_THREAD, SKLEARN
from benchmarks.lib.suite import Options, Report, Row, Suite
from benchmarks.lib.timing import round_figure, time_alternately, time_call
from benchmarks.lib.verify import MAX_ORDERS, count_orders, cut_query

QUERIES = 10_000
HEADLINE_QUERIES = 1_000_000
DOCUMENTS = 100
TIED_QUERIES = 200
N_VERIFIED = 50
OURS = "fastndcg"
HEADLINE = "headline"


def measure(options: Options) -> Report:
    """Measure the chosen libraries."""
    n_queries = max(20, round(QUERIES * options.scale))
    names = [name for name in CONTENDERS if name in options.parts]
    report: Report = {"metric": METRIC, "queries": n_queries, "documents": DOCUMENTS}
    report["peers"] = [measure_peer(name, n_queries, DOCUMENTS, options.repeat) for name in names]
    if HEADLINE in options.parts:
        n_queries = max(20, round(HEADLINE_QUERIES * options.scale))
        rows = [measure_peer(name, n_queries, DOCUMENTS, options.repeat) for name in (SKLEARN, ONE_THREAD)]
        report[HEADLINE] = {"queries": n_queries, "documents": DOCUMENTS, "peers": rows}
    return report


def measure_peer(name: str, n_queries: int, n_documents: int, repeat: int) -> Row:
    """Measure a library in a separate process, and print its row."""
    entry = CONTENDERS[name]
    row: Row = {
        "name": name, "package": entry.package, "convention": entry.convention.name,
        "binary": entry.is_binary, "ranked before": entry.takes_ranked_lists,
    }  # fmt: skip
    sizes = {"n_queries": n_queries, "n_documents": n_documents}
    row |= call_in_process(__name__, "measure_by_name", name=name, repeat=repeat, **sizes)
    print(f"{name:28}", describe_row(row), flush=True)
    return row


def measure_by_name(name: str, n_queries: int, n_documents: int, repeat: int) -> Row:
    """Measure a library in this process."""
    return measure_contender(CONTENDERS[name], make_case(n_queries, n_documents), repeat)


def measure_contender(entry: Contender, case: Case, repeat: int) -> Row:
    """Compare a contender's values with fastndcg's, then time both in alternation."""
    problem = entry.find_problem()
    if problem:
        return {"failed" if entry.package == OURS else "absent": problem}
    tied_case = make_case_with_ties(min(TIED_QUERIES, len(case.labels)), case.labels.shape[1])
    verify_contender(entry, case)
    verify_contender(entry, tied_case)
    agreement_on_ties = compare_values(
        entry, tied_case, entry.setup(tied_case)()
    )  # also compiles what the library compiles
    conversion_seconds, call = time_call(lambda: entry.setup(case))
    agreement = compare_values(entry, case, call())
    seconds = time_alternately({"theirs": call, "ours": CONTENDERS[OURS].setup(case)}, repeat)
    return {
        "conversion seconds": round_figure(conversion_seconds),
        "seconds": round_figure(seconds["theirs"]),
        "our seconds": round_figure(seconds["ours"]),
        "ratio": round_figure(seconds["theirs"] / seconds["ours"], 3),
        "agreement": agreement,
        "agreement on ties": agreement_on_ties,
    }


def verify_contender(entry: Contender, case: Case) -> int:
    """Compare fastndcg under a contender's convention with the reference, and return the number of queries."""
    rankings = entry.make_rankings(case)
    values = entry.compute_expected(case)
    n_documents = case.labels.shape[1]
    n_compared = 0
    for query in np.linspace(0, len(values) - 1, min(N_VERIFIED, len(values))).astype(int):
        documents = slice(query * n_documents, (query + 1) * n_documents)
        keys = rankings.tie_keys[documents]
        labels = rankings.labels[documents]
        single = fn.Rankings(labels, rankings.scores[documents], [0, n_documents], tie_keys=keys)
        if entry.convention.ties == "average":
            single = cut_query(single, fn.Metric.parse(METRIC).k or n_documents)
            if count_orders(single) > MAX_ORDERS:
                continue
        expected = fn.reference.evaluate(single, metrics=METRIC, convention=entry.convention).values[0, 0]
        if not np.isclose(values[query], expected, rtol=0, atol=1e-12, equal_nan=True):
            raise SystemExit(f"query {query} is {values[query]!r}, but the reference gives {expected!r}")
        n_compared += 1
    if not n_compared:
        raise SystemExit("the reference can check no query: each has too many orders of tied scores")
    return n_compared


def describe_row(row: Row) -> str:
    """Return a library's figures as one line."""
    for problem in ("absent", "failed"):
        if problem in row:
            return f"{problem}: {row[problem]}"
    conversion: Any = row["conversion seconds"]
    parts = [f"{row['seconds']:9.4g} s, {row['ratio']:7.3g} x fastndcg, conversion {conversion:.3g} s"]
    for suffix, kind in (("", "agreement"), (" on ties", "agreement on ties")):
        agreement = row[kind]
        verdict = "agrees" if agreement["agrees"] else f"differs by {agreement['difference']:.3g}"
        parts.append(f"{verdict}{suffix} ({agreement['of']})")
    return "; ".join(parts)


SUITE = Suite(
    measure, (*CONTENDERS, HEADLINE), packages=tuple(sorted({entry.package for entry in CONTENDERS.values()})),
    is_published=True,
)  # fmt: skip

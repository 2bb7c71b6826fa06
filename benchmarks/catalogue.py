"""
Print what each metric of the catalogue costs beside nDCG@10, and all of trec_eval's metrics at once, and save it.

Usage: python benchmarks/catalogue.py [--scale S] [--repeat N] [--workload NAME] [--only METRIC ...] [--json FILE]

Every value is first compared with the reference's on some queries. A metric that takes a cutoff is asked for at 10,
beside nDCG@10; one that looks at all ranks is asked for beside nDCG@10 and AP, which looks at them too: the ranks below
10 are found once, whatever is asked for there. Both are told in per cent of nDCG@10 alone; so is what these ranks cost.
A cost is the median of differences, each of two calls that follow one another, in processor time of all threads: it is
less than times vary by. All of trec_eval's metrics in one pass are told in times of nDCG@10, and pytrec_eval, whose
dicts are ready, in times of that pass on the same queries.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from proof import prove
from render import goals
from timing import about, digits, interleaved
from workloads import ALL_TREC, NDCG, RECIPES, TREC, Workload, make, ours

import fastndcg as fn
from fastndcg.catalog import CATALOG
from fastndcg.trec import lines, read

ADDED = 15.0  # per cent of nDCG@10
TIMES_NDCG, TIMES_FASTER = 4.0, 20.0
DEEP = ("AP",)
UNTIED = "default(ties=input)"
TURNS, PROVEN = 21, 40
PEER_QUERIES = 10_000
TOLERANCE = 1e-12
NAMES = [record.name for record in CATALOG.values() if record.taken_by == "evaluate" and not record.by_subtopic]

Row = dict[str, Any]


def main() -> int:
    """Prove, measure, print, save; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=TURNS)
    parser.add_argument("--workload", default="sparse8", choices=RECIPES)
    parser.add_argument("--only", nargs="+", default=NAMES, metavar="METRIC")
    parser.add_argument("--json", type=Path, default=Path(__file__).with_suffix(".json"))
    asked = parser.parse_args()
    workload = make(asked.workload, asked.scale)
    rows = added(workload, [fn.Metric.parse(text) for text in asked.only], asked.repeat)
    if asked.only == NAMES:
        rows += [times_ndcg(workload, asked.repeat), times_faster(asked.repeat)]
    found = about(("pytrec_eval-terrier",)) | {"scale": asked.scale, "repeat": asked.repeat, "figures": rows}
    print(goals(found))
    asked.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(not all(row.get("met", True) for row in rows))


def added(workload: Workload, metrics: list[fn.Metric], repeat: int) -> list[Row]:
    """What each metric adds to the time of nDCG@10, in per cent of it; first what all ranks add."""
    cost = added_time(workload, NDCG, DEEP, repeat)
    rows = [{"what": "the ranks below 10, with AP", "value": digits(cost, 3), "unit": "% of nDCG@10"}]
    for one in metrics:
        takes_k = one.record.takes_k
        metric = one @ 10 if takes_k and one.k is None else one
        asked = replace(workload, convention=workload.convention if "average" in one.record.ties else UNTIED)
        cost = added_time(asked, NDCG if takes_k else (*NDCG, *DEEP), (str(metric),), repeat)
        row = {"what": f"`{metric}`", "value": digits(cost, 3), "unit": "% of nDCG@10", "goal": f"≤ {ADDED:g} %"}
        rows.append(row | {"met": cost <= ADDED, "detail": "" if takes_k else "beside AP"})
    return rows


def added_time(workload: Workload, beside: tuple[str, ...], more: tuple[str, ...], repeat: int) -> float:
    """How much longer a call takes with more metrics, in per cent of nDCG@10 alone."""
    longer = replace(workload, metrics=tuple(dict.fromkeys((*beside, *more))))
    calls = [proven(replace(workload, metrics=NDCG)), ours(replace(workload, metrics=beside)), proven(longer)]
    turns = [[processor_seconds(call) for call in calls] for _ in range(repeat)]
    return 100 * statistics.median((more_time - less) / alone for alone, less, more_time in turns)


def processor_seconds(call: Callable[[], Any]) -> float:
    """What a call takes of all processors."""
    started = time.process_time()
    call()
    return time.process_time() - started


def proven(workload: Workload) -> Callable[[], Any]:
    """The call that evaluates a workload, after its values have been compared with the reference's."""
    call = ours(workload)
    prove(workload, call(), PROVEN)
    return call


def times_ndcg(workload: Workload, repeat: int) -> Row:
    """All of trec_eval's metrics in one pass against nDCG@10 alone."""
    calls = {
        "all": proven(replace(workload, metrics=ALL_TREC, convention=TREC)),
        "one": proven(replace(workload, metrics=NDCG)),
    }
    seconds = interleaved(calls, repeat)
    value = seconds["all"] / seconds["one"]
    return {
        "what": f"`all_trec`, {len(ALL_TREC)} metrics in one pass", "value": digits(value, 3), "unit": "× nDCG@10",
        "goal": f"≤ {TIMES_NDCG:g} ×", "met": value <= TIMES_NDCG,
        "detail": f"{digits(1e3 * seconds['all'])} ms and {digits(1e3 * seconds['one'])} ms",
    }  # fmt: skip


def times_faster(repeat: int, n_queries: int = PEER_QUERIES) -> Row:
    """trec_eval's library on the same queries, with dicts made before; and counting alone."""
    what = f"`all_trec` of {n_queries:,} queries against pytrec_eval"
    try:
        import pytrec_eval
    except ImportError:
        return {"what": what, "left out": "pytrec_eval is absent: pip install pytrec_eval-terrier"}
    workload = make("all_trec", n_queries / RECIPES["all_trec"].queries)
    named = {line.name: line.metric for line in lines(read("all_trec", version=9) or []) if line.metric is not None}
    metrics = tuple(dict.fromkeys(map(str, named.values())))
    asked = replace(workload, metrics=metrics, convention="trec_eval_9(ties=input)")
    qrels, run = dicts(workload)
    counting, theirs = (pytrec_eval.RelevanceEvaluator(qrels, {one}) for one in ("num_ret", "all_trec"))
    call, found = ours(asked), theirs.evaluate(run)
    values = call()
    for name, metric in named.items():
        if metric.aggregate is None:
            other = [found[str(query)][name] for query in range(n_queries)]
            if not np.allclose(values[:, metrics.index(str(metric))], other, rtol=TOLERANCE, atol=TOLERANCE):
                raise SystemExit(f"pytrec_eval gives other values of {name}")
    calls = {"theirs": lambda: theirs.evaluate(run), "reading": lambda: counting.evaluate(run), "ours": call}
    seconds = interleaved(calls, min(repeat, 5))
    value = seconds["theirs"] / seconds["ours"]
    detail = ", ".join(f"{digits(1e3 * seconds[name])} ms" for name in calls)
    return {
        "what": what, "value": digits(value, 3), "unit": "× as fast", "goal": f"≥ {TIMES_FASTER:g} ×",
        "met": value >= TIMES_FASTER, "detail": f"theirs, its counting alone, ours: {detail}",
    }  # fmt: skip


def dicts(workload: Workload) -> tuple[Row, Row]:
    """Judgments and a run as pytrec_eval takes them; of equal scores its order is that of falling ids."""
    qrels, run = {}, {}
    for query, (start, stop) in enumerate(zip(workload.offsets[:-1], workload.offsets[1:], strict=True)):
        names = [f"d{stop - place:04}" for place in range(start, stop)]
        qrels[str(query)] = dict(zip(names, workload.labels[start:stop].tolist(), strict=True))
        run[str(query)] = dict(zip(names, workload.scores[start:stop].tolist(), strict=True))
    return qrels, run


if __name__ == "__main__":
    sys.exit(main())

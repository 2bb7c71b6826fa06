"""
Worker process of `python -m benchmarks compare`: it answers requests on stdin, one line of JSON each.

It imports only `timing.py` and `workloads.py`, which use only the public functions of fastndcg.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import timeit
from collections.abc import Callable
from typing import Any

from benchmarks.lib.timing import time_call
from benchmarks.lib.workloads import Array, make_workload, prepare_evaluation

ONE_QUERY = ("one-query-ndcg", "one-query-evaluator")  # 100 documents, nDCG@10
CALLS = 2000  # of one query in one measurement


def prepare_one_query(name: str) -> Callable[[], Array]:
    """Return a call that evaluates one query of 100 documents, by `fn.ndcg` or by an `Evaluator`."""
    import numpy as np

    import fastndcg as fn

    rng = np.random.default_rng(100)
    labels = (rng.random(100) < 0.05).astype("u1")
    scores = rng.random(100, dtype="f4")
    offsets = np.array([0, 100])
    if name == "one-query-ndcg":
        return lambda: fn.ndcg(labels, scores, offsets, k=10)
    evaluator = fn.Evaluator(labels, "nDCG@10", offsets=offsets)
    return lambda: evaluator.evaluate(scores).values


def prepare_timing(name: str, scale: float) -> tuple[Callable[[], Array], Callable[[], float]]:
    """Return the call of a workload, and a function that returns how many seconds it takes."""
    if name in ONE_QUERY:
        evaluate = prepare_one_query(name)
        return evaluate, functools.partial(timeit.timeit, evaluate, number=CALLS)
    evaluate = prepare_evaluation(make_workload(name, scale))
    return evaluate, lambda: time_call(evaluate)[0]


def serve() -> None:
    """Answer requests: the file of the package, the digest of a workload's values, or the time of an evaluation."""
    import fastndcg

    measure = None
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any]
        if "locate" in request:
            answer = {"file": fastndcg.__file__}
        elif "load" in request:
            measure = None  # frees the memory of the last workload
            try:
                evaluate, measure = prepare_timing(request["load"], request["scale"])
                answer = {"digest": hashlib.sha256(evaluate().tobytes()).hexdigest()}
            except Exception as error:  # an older package may raise anything on what it does not support
                answer = {"error": f"{type(error).__name__}: {error}"}
        else:
            answer = {"seconds": measure()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()

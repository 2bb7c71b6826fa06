"""
Profile suite: the time of each kernel, and of Python and NumPy, in multiples of nDCG@10 on one thread.

The times of kernels are those of the fastest of several observed evaluations. The whole is timed without observation.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from benchmarks.lib.kernel_calls import time_kernels
from benchmarks.lib.suite import Options, Report, Row, Suite, announce, make_row
from benchmarks.lib.timing import time_alternately, time_call
from benchmarks.lib.verify import verify_values
from benchmarks.lib.workloads import NAMES_WITH_GOAL, make_workload, prepare_evaluation

BASE = "sparse8"
REST = "Python and NumPy"


class Profile(NamedTuple):
    """The time of a workload, the time of each kernel and of the rest, and the number of calls of each kernel."""

    whole: float
    shares: Counter[str]
    n_calls: Counter[str]


def measure(options: Options) -> Report:
    """Measure the chosen workloads."""
    rows: list[Row] = []
    for name in options.parts:
        announce(name)
        profile = measure_profile(name, options.scale, options.repeat)
        rows.append(make_row(f"`{name}`", profile.whole, "× nDCG@10"))
        for kernel, share in profile.shares.most_common():
            n_calls = profile.n_calls[kernel]
            detail = f"{n_calls} calls" if n_calls else ""
            rows.append(make_row(f"`{name}`: {kernel}", share, "× nDCG@10", detail=detail, n_digits=2))
    return {"figures": rows}


def measure_profile(name: str, scale: float, repeat: int) -> Profile:
    """Return the profile of a workload, in multiples of the time of nDCG@10."""
    workload = make_workload(name, scale)
    evaluate = prepare_evaluation(workload, threads=1)
    verify_values(workload, evaluate())
    base = prepare_evaluation(make_workload(BASE, scale), threads=1)
    seconds = time_alternately({"base": base, "whole": evaluate}, repeat)
    profiles = []
    with time_kernels() as (kernel_seconds, n_calls):
        for _ in range(repeat):
            kernel_seconds.clear()
            n_calls.clear()
            whole, _ = time_call(evaluate)
            parts = Counter(kernel_seconds) + Counter({REST: whole - kernel_seconds.total()})
            profiles.append(Profile(whole, parts, Counter(n_calls)))
    fastest = min(profiles, key=lambda profile: profile.whole)
    shares = Counter({part: value / seconds["base"] for part, value in fastest.shares.items()})
    return Profile(seconds["whole"] / seconds["base"], shares, fastest.n_calls)


SUITE = Suite(measure, NAMES_WITH_GOAL, repeat=9, scale=0.1)

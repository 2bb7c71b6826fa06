"""
Check of values and speed in about a minute, for CI.

Every metric of the catalogue is compared with the reference. Scaled-down workloads must not take over 1.5 times the
ratio to the baseline that results/history.jsonl records. Each workload has three tries, as CI shares its machine.

A machine whose memory is slow raises the ratio of workloads that write much: all_trec took 29 times the baseline where
its code takes 7 elsewhere. So a workload that is too slow three times is compared with the recorded commit's code. It
fails if it takes over 1.5 times as long as that, in alternation.
"""

from __future__ import annotations

from benchmarks.lib import compare, history
from benchmarks.lib.machine import find_machine
from benchmarks.lib.workloads import make_workload
from benchmarks.suites import metrics

FACTOR = 1.5  # of the recorded ratio
TRIES = 3
METRICS_SCALE = 0.002  # at which every metric is compared with the reference


def check_speed() -> int:
    """Verify every metric, compare with the history, and return 1 if a workload is too slow three times, else 0."""
    metrics.measure_added_costs(make_workload("sparse8", METRICS_SCALE), metrics.parse_metrics(metrics.NAMES), repeat=1)
    line = history.read_last_line(machine=find_machine())
    if line is None:
        print(f"history.jsonl has no line to compare with. Ratios to the baseline: {history.measure_smoke_ratios()}")
        return 0
    slow = list(history.SMOKE_SCALES)
    for _ in range(TRIES):
        ratios = {name: history.measure_ratio(name, history.SMOKE_SCALES[name]) for name in slow}
        slow = history.find_slow(ratios, line["smoke"], FACTOR)
        for name, ratio in ratios.items():
            recorded = line["smoke"].get(name, "nowhere")
            print(f"{name}: {ratio} x baseline; recorded {recorded} ({line['commit']})")
        if not slow:
            return 0
    print(f"over {FACTOR} x the recorded ratio, {TRIES} times: {', '.join(slow)}. Compared with {line['commit']}:")
    slow = find_slower(slow, line["commit"])
    if slow:
        print(f"over {FACTOR} x the time of {line['commit']}: {', '.join(slow)}")
    return int(bool(slow))


def find_slower(names: list[str], commit: str) -> list[str]:
    """Return the workloads that take over 1.5 times as long as with a commit's code, or that it cannot evaluate."""
    slower = []
    with compare.open_versions(commit) as (old, new):
        for name in names:
            try:
                ratio = compare.measure_ratio(old, new, name, history.SMOKE_SCALES[name], compare.REPEAT)
            except compare.CannotEvaluateError as error:
                print(f"{name}: {error}")
                slower.append(name)
                continue
            print(f"{name}: {ratio} x the time of {commit}")
            if ratio > FACTOR:
                slower.append(name)
    return slower

"""Threads, sizes from a million documents to half a milliard, the memory of a whole process."""

import pytest

from benchmarks.data import count_cpus, make_sized_workload, make_workload, prepare_evaluation, prepare_reading
from benchmarks.proof import verify_values
from benchmarks.race import measure_peak

MEMORY = """
from benchmarks.data import make_sized_workload, prepare_evaluation
prepare_evaluation(make_sized_workload("sparse8", 10**6))()
workload = make_sized_workload("sparse8", {documents})
"""


@pytest.mark.parametrize("name", ["sparse8", "dense", "giant"])
def test_two_threads(race, name):
    """Time two threads in multiples of one thread's time: 0.5 is the best."""
    if count_cpus() < 2:
        pytest.skip("this process may use one CPU")
    workload = make_workload(name, 0.5 * race.scale)
    race(
        prepare_evaluation(workload, 2),
        lambda values: verify_values(workload, values),
        floors={"one thread": prepare_evaluation(workload, 1)},
    )


@pytest.mark.parametrize("documents", [10**6, 10**7, 10**8, 5 * 10**8])
def test_size(race, documents):
    """Time nDCG@10 by size, in multiples of reading the arrays."""
    if documents * race.scale * 8 > find_free_memory():
        pytest.skip("there is not enough free memory")
    workload = make_sized_workload("sparse8", race.size(documents))
    race.info["documents"] = workload.n_documents
    if documents == 10**8:
        code = MEMORY.format(documents=workload.n_documents)
        race.info["peak_mib"] = measure_peak(code + "values = prepare_evaluation(workload)()")
        race.info["peak_mib_of_arrays"] = measure_peak(code)
    race(
        prepare_evaluation(workload),
        lambda values: verify_values(workload, values),
        floors={"reading the arrays": prepare_reading(workload)},
    )


def find_free_memory():
    """Return the bytes of memory that are free without swapping, or 2^62 where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="utf-8") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 1 << 62

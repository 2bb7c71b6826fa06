"""
Machine code against Numba: every kernel and signature, to the bit, on the arguments that real work passes.

Each call of a kernel runs twice, by machine code and by Numba with bounds checks, on copies of the same arrays. All
arrays and the results must have the same bits. The work is random and adversarial: ties, empty queries, NaN where
allowed, infinities, denormal numbers, labels below 0 and above 2**53, all dtypes, tie policies and metrics.
"""

import os
import threading
from importlib import import_module

import both_ways_scenarios
import numpy as np
import pytest

from fastndcg import evaluation
from fastndcg.engine import plan
from fastndcg.engine import run as engine
from fastndcg.kernels import jit, lookup, machine_code
from fastndcg.kernels.native import native_object, signatures
from fastndcg.metrics.families import records_of
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import CHOICES, conventions
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import LABEL_DTYPES

pytestmark = pytest.mark.skipif(  # the stage that has Numba compile kernels anyway
    os.environ.get("NUMBA_BOUNDSCHECK", "0") == "0", reason="Numba compiles every kernel: set NUMBA_BOUNDSCHECK=1"
)
DEFAULT = conventions["default"]


class Comparison:
    """Runs each call by machine code and by Numba, and remembers which signatures ran."""

    def __init__(self, libraries):
        self.libraries = libraries
        self.seen = set()
        self.differences = []
        self._lock = threading.Lock()

    def find(self, place):
        def fail(*arguments):
            pytest.fail(f"{place} misses a signature")

        return next(filter(None, (library.find(place, fail) for library in self.libraries)))

    def wrap(self, kernel, lines):
        machine = self.find(kernel.place)
        compiled = kernel.numba_function
        codes = {}

        def run(*arguments):
            with self._lock:
                copies = copy(tuple(arguments))
                value = machine(*arguments)
                expected = compiled(*copies)
                where = {signature.code for signature in lines}
                code = codes.setdefault(
                    tuple(map(describe, arguments)), signatures.encode(" ".join(map(describe, arguments)))
                )
                if code in where:
                    self.seen.add((kernel.place, code))
                if bits((arguments, value)) != bits((copies, expected)):
                    self.differences.append((kernel.place, code))
                return value

        return run


def copy(argument, memory=None):
    """Return an argument with copies of its arrays, of the same layout. Views of one memory stay views of one."""
    memory = {} if memory is None else memory
    if isinstance(argument, tuple):
        copies = [copy(entry, memory) for entry in argument]
        return type(argument)(*copies) if hasattr(argument, "_fields") else tuple(copies)
    if not isinstance(argument, np.ndarray):
        return argument
    if argument.flags.c_contiguous:
        key = argument.__array_interface__["data"][0], argument.nbytes
        made = memory.setdefault(key, argument.reshape(-1).view("u1").copy() if argument.size else np.empty(0, "u1"))
        made = made.view(argument.dtype).reshape(argument.shape)
    else:
        whole = np.zeros([2 * size for size in argument.shape], argument.dtype)
        made = whole[tuple(slice(None, None, 2) for _ in argument.shape)]
        made[...] = argument
    made.flags.writeable = argument.flags.writeable
    return made


def bits(argument):
    if isinstance(argument, np.ndarray):
        return argument.dtype.str, argument.shape, argument.tobytes()
    if isinstance(argument, tuple):
        return tuple(map(bits, argument))
    if isinstance(argument, float):
        return np.float64(argument).tobytes()
    return argument


def describe(argument):
    import numba

    return native_object.describe_types((numba.typeof(argument),))


def forget_calls():
    """Drop the calls of kernels that plans and files of kernels keep."""
    for module in {signature.place.rpartition(".")[0] for signature in signatures.read_signatures()}:
        held = vars(lookup.load_kernels(module))
        for name in held.keys() - {"_name_of_module"}:
            del held[name]
    plan._make_plan.cache_clear()
    evaluation._plan_metric.cache_clear()


@pytest.mark.parametrize("part", ["ranking and scoring", "others"])  # Numba compiles them on two workers
def test_bits_are_the_same(monkeypatch, part):
    """Each signature ran, except for kernels that read Python's objects, and those of single queries."""
    monkeypatch.setattr(machine_code, "is_switched_off", lambda: False)
    comparison = Comparison(machine_code.libraries.__wrapped__())
    by_place = {}
    for signature in signatures.read_signatures():
        by_place.setdefault(signature.place, []).append(signature)
    kernels, compared = {}, set()
    forget_calls()
    for place, lines in by_place.items():
        module, _, name = place.rpartition(".")
        kernel = getattr(import_module(f"fastndcg.kernels.{module}"), name)
        if kernel.options.get("holds_gil") or place.startswith("single_query."):
            continue  # they take addresses, and some append to lists: compared by their callers' results below
        kernels[place] = kernel
        if (place.partition(".")[0] in ("ranking", "scoring")) == (part != "others"):
            compared |= {(place, line.code) for line in lines}
            kernel.run = comparison.wrap(kernel, lines)
        else:
            kernel.run = comparison.find(place)
        kernel.is_ready = True
    try:
        run_everything()
    finally:
        for kernel in kernels.values():
            kernel.run, kernel.is_ready = kernel._first_run, False
        forget_calls()
    assert comparison.differences == []
    assert sorted(compared - comparison.seen) == []


def run_everything():
    jit.load_compiler()
    rng = np.random.default_rng(7)
    for score_dtype in ("f4", "f8"):
        for label_dtype in sorted(set(map(str, LABEL_DTYPES.values()))):
            evaluate_all(rng, score_dtype, label_dtype)
    both_ways_scenarios.run_all(rng)


def evaluate_all(rng, score_dtype, label_dtype):
    metrics = tuple(Metric(record.name) for record in records_of("evaluate") if not record.by_subtopic)
    sizes = np.array([0, 1, 2, 5, 40, 130, 300])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n = offsets[-1]
    scores = rng.integers(0, 40, n).astype(score_dtype)
    scores[::17] = [np.inf, -np.inf, np.finfo(score_dtype).smallest_subnormal][n % 3]
    labels = (rng.integers(0, 5, n) * (rng.random(n) < 0.4)).astype(label_dtype)
    for policy in CHOICES["ties"]:
        chosen = tuple(metric for metric in metrics if policy in metric.record.ties)
        cut = tuple(Metric(m.record.name, k) for m in chosen if m.record.has_cutoff for k in (1, 5, 10))
        rankings = Rankings(labels, scores, offsets, tie_keys=rng.permutation(n))
        for some in (chosen, cut):
            engine.run(rankings, some, DEFAULT.replace(ties=policy))
        for strategy in (1, 2, 3):
            engine.run(rankings, chosen[:1], DEFAULT.replace(ties=policy), strategy=strategy)
    for ideal in CHOICES["ideal"]:
        engine.run(Rankings(labels, scores, offsets), (Metric("nDCG", 5),), DEFAULT.replace(ideal=ideal))
    wide = Rankings((labels * (rng.random(n) < 0.1)).astype(label_dtype), scores, offsets)
    engine.run(wide, metrics, DEFAULT.replace(ties="input"))
    engine.run(Rankings(labels, np.arange(n, dtype=score_dtype), offsets), metrics, DEFAULT)

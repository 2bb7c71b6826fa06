"""
Evaluate while two other threads overwrite the arrays: `python stress_arrays.py --seconds S --hang H PARTS PART`.

tests/host/test_processes.py runs this program, and again with bounds checks. For each group of metrics the program
prints one line of JSON. The line counts the calls, the calls that gave values, the errors of fastndcg by class, and
the errors that report a change. The line also holds the tracebacks of all other exceptions. A crash ends the process.
A call that takes longer than H seconds ends the process with all tracebacks.
"""

import argparse
import collections
import contextlib
import faulthandler
import itertools
import json
import random
import sys
import threading
import time
import traceback
import warnings

import numpy as np
import scipy.sparse

import fastndcg as fn
from fastndcg.metrics.families import records_of

SIZES = (0, 1, 2, 3, 7, 20, 60, 64, 100, 130, 300, 900, 2000)
N_QUERIES = 600
N_ITEMS, N_USERS, ROW = 500, 3000, 50
A_GROUP = 6  # metrics of one call: an error of one of them ends it for all
CONVENTIONS = (
    "default(negative_labels=zero)", "default(negative_labels=zero,ties=input)",
    "default(negative_labels=keep,ties=best)", "default(negative_labels=keep)", "trec_eval(ties=id_descending)",
    "default(negative_labels=removed,unjudged=removed)", "default(negative_labels=zero,ties=worst)",
)  # fmt: skip


class Arrays:
    def __init__(self, generator):
        self.sizes = generator.choice(SIZES, N_QUERIES)
        self.bounds = np.concatenate([[0], np.cumsum(self.sizes)])
        n = int(self.bounds[-1])
        self.scores = {"f4": generator.integers(0, 9, n).astype("f4"), "f8": generator.normal(size=n)}
        self.labels = {"i1": generator.integers(0, 4, n, "i1"), "f8": None}
        self.labels["f8"] = self.labels["i1"].astype("f8")
        self.offsets = self.bounds.copy()
        self.query_ids = np.repeat(np.arange(N_QUERIES), self.sizes)
        self.judged = np.ones(n, bool)
        self.tie_keys = generator.permutation(n)
        self.pool_labels, self.pool_offsets = self.labels["i1"].copy(), self.bounds.copy()
        self.subtopics = generator.integers(0, 2, (n, 3), "i1")
        self.recommended = generator.random((N_USERS, N_ITEMS)).argsort(axis=1)[:, :ROW].astype("i4")
        self.liked = scipy.sparse.random(N_USERS, N_ITEMS, 0.05, "csr", random_state=1)
        self.vectors = generator.normal(size=(N_ITEMS, 4))
        self.categories = generator.integers(0, 2, (N_ITEMS, 5))

    def targets(self):
        """Return each array that is overwritten, with the kind of its content and its first values."""
        kinds = {
            "scores": [*self.scores.values()], "labels": [*self.labels.values(), self.pool_labels, self.subtopics],
            "offsets": [self.offsets, self.pool_offsets], "ids": [self.query_ids, self.tie_keys],
            "masks": [self.judged], "items": [self.recommended.reshape(-1), self.liked.indices, self.liked.data],
            "bounds": [self.liked.indptr],
        }  # fmt: skip
        return [(kind, array, array.copy()) for kind, arrays in kinds.items() for array in arrays]


def content(kind, array, first, generator):
    """Return new content for an array, which is valid, invalid, or the array's first values."""
    n, is_float = array.size, array.dtype.kind == "f"
    choice = generator.integers(0, 8)
    if choice < 2:
        return first
    if kind == "scores":
        made = generator.integers(0, generator.choice([1, 2, 5, 1000, 10**6]), n).astype(array.dtype)
        if choice == 2:
            made[generator.integers(0, n, n // 3)] = np.inf
        if choice == 3:
            made[generator.integers(0, n, 3)] = np.nan
        return made if choice < 6 else np.zeros(n, array.dtype)
    if kind == "labels":
        made = generator.integers(0, generator.choice([1, 2, 4]), n).astype(array.dtype).reshape(array.shape)
        if choice == 2:
            made.reshape(-1)[generator.integers(0, n, 9)] = -3
        if choice == 3 and is_float:
            made[generator.integers(0, n, 9)] = np.nan
        if choice == 4:
            made.reshape(-1)[generator.integers(0, n, 9)] = 1e300 if is_float else 99
        return made
    if kind == "masks":
        return generator.random(n) < generator.random()
    if kind in ("offsets", "bounds") and choice < 5:
        return np.sort(generator.integers(0, first[-1] + 1, n)).astype(array.dtype)
    if kind == "items" and choice < 5:
        return np.roll(first, ROW * generator.integers(0, N_USERS))
    return generator.integers(-5, 2 * max(n, N_ITEMS), n).astype(array.dtype)


def overwrite(targets, seed, has_ended, foreign):
    """Overwrite arrays in the order that a seed gives, scores most often, until the calls have ended."""
    generator = np.random.default_rng(seed)
    try:
        made = [[content(*target, generator) for _ in range(6)] for target in targets]
        weights = np.array([12.0 if target[0] == "scores" else 1.0 for target in targets])
        while not has_ended.is_set():
            for place in generator.choice(len(targets), 64, p=weights / weights.sum()):
                targets[place][1][...] = made[place][generator.integers(0, 6)]
    except Exception:
        foreign.append(traceback.format_exc())


def forms(arrays, metrics):
    """Return calls that evaluate metrics of labels under a convention, one for each form of input."""
    scores, labels = itertools.cycle(arrays.scores.values()), itertools.cycle(arrays.labels.values())
    kept = {}

    def make_call(**cuts):
        return lambda convention: fn.evaluate(
            next(labels), next(scores), metrics, threads=2, convention=without_ids(convention), **cuts
        )

    def rankings(convention):
        given = {"judged": arrays.judged, "pool": (arrays.pool_labels, arrays.pool_offsets)}
        given = {name: value for name, value in given.items() if random.random() < 0.6}
        made = fn.Rankings(next(labels), next(scores), arrays.bounds, tie_keys=arrays.tie_keys, **given)
        fn.evaluate(made, metrics=metrics, convention=convention, threads=2)

    def prepared(convention):
        convention = without_ids(convention)
        if convention not in kept or random.random() < 0.1:
            given = (next(labels), metrics)
            kept[convention] = fn.Evaluator(*given, offsets=arrays.bounds, convention=convention, threads=2)
        kept[convention].evaluate(next(scores))

    def items(convention):
        fn.evaluate(arrays.liked, arrays.recommended, metrics, convention=without_ids(convention), threads=2)

    by_bounds = make_call(offsets=arrays.bounds)
    moving, by_ids = make_call(offsets=arrays.offsets), make_call(query_ids=arrays.query_ids)
    return [by_bounds, by_bounds, moving, by_ids, rankings, prepared, items]


def without_ids(convention):
    return convention.replace("id_descending", "input")


def spans(arrays):
    """Return a table of spans of text, whose starts change."""
    starts = arrays.query_ids[:200]
    return {"query": [1] * len(starts), "document": list(range(len(starts))), "start": starts, "end": starts + 5}


def groups_of(arrays):
    """Return groups of all metrics of the catalogue, each with its names and the calls that evaluate it."""
    texts = {"IPrec": "IPrec(recall=0.3)", "PatR": "PatR(recall=0.5)", "nDCG": "nDCG@10", "P": "P@5"}
    plain = {record: texts.get(record.name, record.name) for record in records_of("evaluate") if not record.by_subtopic}
    averaged = [text for record, text in plain.items() if "average" in record.ties]
    some = [averaged[first : first + A_GROUP] for first in range(0, len(averaged), A_GROUP)]
    some.append([text for record, text in plain.items() if "average" not in record.ties])
    by_subtopic = [record.name for record in records_of("evaluate") if record.by_subtopic]
    of_pairs, of_items, of_spans = (
        [record.name for record in records_of(name)] for name in ("agreement", "beyond_accuracy", "evaluate_spans")
    )
    scores = itertools.cycle(arrays.scores.values())
    known = {"interactions": arrays.liked, "vectors": arrays.vectors, "categories": arrays.categories}
    known |= {"liked": arrays.liked, "threads": 2}
    more = {"offsets": arrays.bounds, "threads": 2}
    return [
        *((names, forms(arrays, names)) for names in some),
        (by_subtopic, [lambda convention: fn.evaluate(
            arrays.subtopics, next(scores), by_subtopic, convention=without_ids(convention), **more)]),
        (of_pairs, [lambda _: fn.agreement(*arrays.scores.values(), of_pairs, **more)]),
        (of_spans, [lambda _: fn.evaluate_spans(spans(arrays), spans(arrays), of_spans)]),
        (of_items, [lambda _: fn.beyond_accuracy(arrays.recommended, [*of_items, "ILD(distance=jaccard)"], **known)]),
    ]  # fmt: skip


def call_for(seconds, hang, calls, counts, foreign):
    """
    Make one call after the other for some seconds, and count the outcomes.

    Calls go on until one has given values, at most twenty times as long. Exceptions that are not errors of fastndcg are
    noted in `foreign`.
    """
    conventions = itertools.cycle(CONVENTIONS)
    start = time.monotonic()
    while (elapsed := time.monotonic() - start) < seconds or (counts["values"] == 0 and elapsed < 20 * seconds):
        faulthandler.dump_traceback_later(hang, exit=True)
        try:
            random.choice(calls)(next(conventions))
        except fn.FastndcgError as error:
            counts[type(error).__name__] += 1
            counts["found out"] += "must not change" in str(error)
        except Exception:
            foreign.append(traceback.format_exc(limit=-4))
        else:
            counts["values"] += 1
        counts["calls"] += 1
    faulthandler.cancel_dump_traceback_later()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", type=int)
    parser.add_argument("part", type=int)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--hang", type=float, default=60.0)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    faulthandler.enable()
    sys.setswitchinterval(1e-4)
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    random.seed(asked.part)
    arrays = Arrays(np.random.default_rng(asked.part))
    targets = arrays.targets()
    groups = [group for group in groups_of(arrays) if asked.only in group[0] or not asked.only]
    for names, calls in groups[asked.part :: asked.parts]:
        counts, foreign = collections.Counter(), []
        for call, convention, _ in itertools.product(calls, CONVENTIONS, range(2)):  # kernels compile before
            with contextlib.suppress(fn.FastndcgError):
                call(convention)
        has_ended = threading.Event()
        given = [(targets, seed, has_ended, foreign) for seed in (1, 2)]
        writers = [threading.Thread(target=overwrite, args=arguments, daemon=True) for arguments in given]
        for writer in writers:
            writer.start()
        try:
            call_for(asked.seconds, asked.hang, calls, counts, foreign)
        finally:
            has_ended.set()
            for writer in writers:
                writer.join()
        for _, array, first in targets:
            array[...] = first
        print(json.dumps({"metrics": names, "counts": counts, "foreign": foreign}), flush=True)


if __name__ == "__main__":
    main()

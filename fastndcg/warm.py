"""Compile ahead: fill the cache on disk, or this process, before the first request."""

from __future__ import annotations

import contextlib
import time
from itertools import combinations
from typing import NamedTuple


class Warmup(NamedTuple):
    """Where the machine code went (None: nowhere, only into this process), and how long it took."""

    cache: str | None
    seconds: float


def warmup() -> Warmup:
    """
    Compile what evaluations need, for every dtype of scores and labels that kernels read.

    Returns
    -------
    Warmup
        The folder of the cache, None where none can be written, and the seconds taken.

    Examples
    --------
    >>> fn.warmup().seconds > 0
    True
    """
    from fastndcg.kernels import jit, rank

    started = time.perf_counter()
    _compile_metrics()
    _compile_variants()
    _read_inputs()
    _compile_single()
    _compile_statistics()
    _compile_others()
    return Warmup(jit.cache_folder(rank.rank), time.perf_counter() - started)


def _compile_metrics() -> None:
    """Evaluate every metric of labels, for every dtype of scores and labels, and tie policy."""
    import numpy as np

    from fastndcg import engine
    from fastndcg.catalog import RECORDS
    from fastndcg.conventions import CHOICES, conventions
    from fastndcg.giants import numbers_of
    from fastndcg.kernels import rank
    from fastndcg.metric import Metric
    from fastndcg.rankings import LABEL_DTYPES, Rankings, read_only

    default = conventions["default"]
    metrics = tuple(Metric(record.name) for record in RECORDS if not record.by_subtopic)
    gains = (*(Metric("DCG", gain=gain) for gain in ("exp2", "binary", (0, 1, 2))), Metric("DCG", rel=2))
    several = tuple(map(Metric.parse, ("DCG@1", "nDCG@1", "IPrec(recall=1)", "Rprec(mult=2)")))  # points of one source
    for score_dtype in ("f4", "f8"):
        scores = np.array([1, 1], score_dtype)  # tied, so that the tie policies have something to do
        for label_dtype in sorted(set(LABEL_DTYPES.values())):
            rankings = Rankings(np.array([2, 1], label_dtype), scores, [0, 2], tie_keys=[0, 1])
            engine.run(rankings, metrics[:1], default)
        engine.run(rankings, (*metrics, *several, *gains), default.replace(ties="input"))
        engine.run(rankings, metrics[:1], default, strategy=rank.SORT)
        numbers_of(read_only(np.arange(2, dtype=score_dtype)), 0, 2, 0, np.arange(2, dtype="i4"), slice(0, 2))
        ones = Rankings(np.ones(2, "u1"), scores, [0, 2])
        engine.run(ones, metrics, default.replace(ties="input"))
        for policy in CHOICES["ties"]:
            engine.run(rankings, metrics[:1], default.replace(ties=policy))
    for some in (names for n in (1, 2, 3) for names in combinations(("nDCG", "AP", "P"), n)):
        for cutoffs in ((1,), (1, 2)):  # alone, where there is one name, and in one walk
            engine.run(rankings, tuple(Metric(name, k) for name in some for k in cutoffs), default)
    to_be_sorted = Rankings([0.5, 1.5], [2.0, 1.0], [0, 2])
    engine.run(to_be_sorted, (Metric("nDCG"),), default)


def _compile_variants() -> None:
    """Evaluate what takes a metric's place under some choices or at ties, metrics by subtopic, and an exact sum."""
    import numpy as np

    from fastndcg.catalog import RECORDS
    from fastndcg.conventions import CHOICES, conventions
    from fastndcg.evaluate import evaluate
    from fastndcg.metric import Metric
    from fastndcg.sums import numbers_of

    default = conventions["default"]
    for record in RECORDS:
        for field, choice, _ in record.variants:
            metric = Metric(record.name, 1 if record.takes_k else None)
            if field in CHOICES:
                evaluate([[2, 1]], [[1.0, 1.0]], metric, convention=default.replace(**{field: choice}))
            else:
                evaluate([[2, 1]], [[1.0, 1.0]], metric(**{field: choice}))
    by_subtopic = [Metric(record.name) for record in RECORDS if record.by_subtopic]
    evaluate([[[1, 0], [1, 1]]], [[1, 1]], by_subtopic)
    evaluate([[2, 1]], [[1.0, 1.0]], "IAP")
    numbers_of(np.zeros(1))


def _compile_single() -> None:
    """One query in a call of its own, as drop-ins make it."""
    from fastndcg.kernels import retrieval

    retrieval.value_at(0, 0, 0, 0, retrieval.NDCG, 1)


def _compile_statistics() -> None:
    """Draw a replicate of everything that comparisons draw."""
    import numpy as np

    from fastndcg.statistics import resampling
    from fastndcg.statistics.design import make_design
    from fastndcg.statistics.settings import Settings
    from fastndcg.statistics.significance import randomization
    from fastndcg.statistics.sums import Quantity, Sums

    settings, design = Settings(replicates=1, threads=1), make_design(np.arange(2))
    sums = Sums([np.zeros((2, 1)), np.ones((2, 1))], [Quantity(1, 0, 0)], design)
    randomization(sums, [0], settings)
    resampling.bootstrap_sums(sums.rows, design, settings)
    resampling.sign_sums(sums.rows, settings)
    resampling.permuted_ranges(np.zeros((1, 2, 2)), settings)


def _compile_others() -> None:
    """Compare two rankings, and look beyond the accuracy of recommended items, by every metric there is."""
    import numpy as np

    from fastndcg.agreement import agreement
    from fastndcg.beyond import beyond_accuracy
    from fastndcg.catalog import OTHERS
    from fastndcg.inputs.items import Interactions

    names = {function: [name for name, record in OTHERS.items() if record.taken_by == function]
             for function in ("agreement", "beyond_accuracy")}  # fmt: skip
    scores = {dtype: np.array([2, 1], dtype) for dtype in ("f4", "f8")}
    for first in scores.values():
        for second in scores.values():
            agreement(first, second, names["agreement"], offsets=[0, 2])
    agreement({"a": {"1": 2, "2": 1}}, {"a": {"1": 1, "3": 2}}, names["agreement"])
    diversities = ["ILD(distance=jaccard)", "ILD(distance=hamming)"]
    for dtype in ("i4", "i8"):
        for labels in (None, [0.5]):
            beyond_accuracy(
                np.array([[0, 1]], dtype), [*names["beyond_accuracy"], *diversities], popularity=[2, 1], n_users=2,
                vectors=np.eye(2), categories=np.eye(2), liked=Interactions(np.array([1], dtype), labels, [0, 1]),
            )  # fmt: skip


def _read_inputs() -> None:
    """Compile what text, ids in any order and recommended items need, for labels of either type that joins read."""
    from importlib import resources

    import numpy as np

    from fastndcg.evaluate import evaluate
    from fastndcg.inputs.dicts import DictQrels
    from fastndcg.inputs.diversity import DiversityQrels
    from fastndcg.inputs.items import SHORT_ROW, Interactions
    from fastndcg.inputs.tables import Qrels, Run

    with contextlib.ExitStack() as stack:
        folder = resources.files("fastndcg").joinpath("demo")
        paths = [stack.enter_context(resources.as_file(folder.joinpath(n))) for n in ("qrels.txt", "lambdarank.run")]
        evaluate(paths[0], paths[1], "ndcg", convention="trec_eval")
    for labels in ([1, 0, 1], [0.5, 0.0, 1.0]):
        run = Run(["b", "a", "b"], ["1", "2", "3"], [1, 2, 3])
        evaluate(Qrels(["a", "b", "a"], ["1", "2", "3"], labels), run, "ndcg")
        evaluate(DiversityQrels(["a", "b", "a"], ["s", "s", "t"], ["1", "2", "3"], labels), run, "P_IA")
        judgments = DictQrels({"a": dict(zip("12", labels, strict=False))})
        judgments.judged({"a": {"1": 1.0}}).with_tie_keys()
        judgments.judged_tuples([("a", "1", 1.0)], tuple)
        for dtype in ("i4", "i8"):
            liked = Interactions(np.array([3, 1, 2], dtype), labels, [0, 3])
            for size in (2, SHORT_ROW + 1):
                evaluate(liked, np.arange(size, dtype=dtype)[None], "ndcg")

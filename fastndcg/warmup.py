"""Compile ahead: fill the cache on disk, or this process, before the first request."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import NamedTuple

from fastndcg.kernels.lookup import load_kernels
from fastndcg.runtime import compilation


class Warmup(NamedTuple):
    """The folder of the machine code (None: this process alone has it), and the seconds taken."""

    cache: str | None
    seconds: float


def warmup(*, progress: Callable[[str, int, int], None] | None = None) -> Warmup:
    """
    Compile what evaluations need, for every dtype of scores and labels that kernels read.

    Parameters
    ----------
    progress : callable, optional
        Called as each step begins with its name, the number of steps done, and the number of all steps. By default a
        line goes to stderr for each, if that is a terminal or a notebook and FASTNDCG_QUIET is not set.

    Returns
    -------
    Warmup
        The folder of the cache, None where none can be used, and the seconds taken.

    Examples
    --------
    >>> fn.warmup().seconds > 0
    True
    """
    from fastndcg.kernels import jit

    started = time.perf_counter()
    show = progress or (_say_step if compilation.is_watched() else lambda *_: None)
    with compilation.listening(lambda _: None):  # the steps say that kernels compile
        for n_done, (name, compile_some) in enumerate(STEPS.items()):
            show(name, n_done, len(STEPS))
            compile_some()
    return Warmup(jit.cache_folder(), time.perf_counter() - started)


def _say_step(name: str, n_done: int, n_steps: int) -> None:
    compilation.say(f"warmup {n_done + 1}/{n_steps}: {name}, {compilation.n_compiled()} kernels compiled so far")


def _compile_metrics(score_dtype: str) -> None:
    """Evaluate every metric of labels, for every dtype of labels, and tie policy."""
    import numpy as np

    from fastndcg.conventions import CHOICES, conventions
    from fastndcg.engine import run as engine
    from fastndcg.kernels.ranking import rank
    from fastndcg.metrics.catalog import RECORDS
    from fastndcg.metrics.metric import Metric
    from fastndcg.rankings.rankings import Rankings
    from fastndcg.rankings.validation import LABEL_DTYPES

    default = conventions["default"]
    metrics = tuple(Metric(record.name) for record in RECORDS if not record.by_subtopic)
    gains = (*(Metric("DCG", gain=gain) for gain in ("exp2", "binary", (0, 1, 2))), Metric("DCG", rel=2))
    several = tuple(map(Metric.parse, ("DCG@1", "nDCG@1", "IPrec(recall=1)", "Rprec(mult=2)")))  # points of one source
    scores = np.array([1, 1], score_dtype)  # tied, so that the tie policies have something to do
    for label_dtype in sorted(set(LABEL_DTYPES.values())):
        rankings = Rankings(np.array([2, 1], label_dtype), scores, [0, 2], tie_keys=[0, 1])
        engine.run(rankings, metrics[:1], default)
    engine.run(rankings, (*metrics, *several, *gains), default.replace(ties="input"))
    engine.run(rankings, metrics[:1], default, strategy=rank.SORT)
    equal_labels = Rankings(np.ones(2, "u1"), scores, [0, 2])
    engine.run(equal_labels, metrics, default.replace(ties="input"))
    for policy in CHOICES["ties"]:
        with_policy = tuple(metric for metric in metrics if policy in metric.record.ties)
        some = with_policy if policy == "mean_rank" else with_policy[:1]
        engine.run(rankings, some, default.replace(ties=policy))


def _compile_walks() -> None:
    """Evaluate the metrics that share a walk over the hits, and labels that must be sorted."""
    import numpy as np

    from fastndcg.conventions import conventions
    from fastndcg.engine import run as engine
    from fastndcg.metrics.metric import Metric
    from fastndcg.rankings.rankings import Rankings
    from fastndcg.rankings.validation import LABEL_DTYPES

    default = conventions["default"]
    rankings = Rankings(np.array([2, 1], max(LABEL_DTYPES.values())), np.ones(2), [0, 2], tie_keys=[0, 1])
    for some in (names for n in (1, 2, 3) for names in combinations(("nDCG", "AP", "P"), n)):
        for cutoffs in ((1,), (1, 2)):  # alone, where there is one name, and in one walk
            engine.run(rankings, tuple(Metric(name, k) for name in some for k in cutoffs), default)
    to_be_sorted = Rankings([0.5, 1.5], [2.0, 1.0], [0, 2])
    engine.run(to_be_sorted, (Metric("nDCG"),), default)


def _compile_variants() -> None:
    """Evaluate what takes a metric's place under some choices or at ties, metrics by subtopic, and an exact sum."""
    import numpy as np

    from fastndcg.conventions import CHOICES, conventions
    from fastndcg.evaluate import evaluate
    from fastndcg.metrics.catalog import RECORDS
    from fastndcg.metrics.metric import Metric
    from fastndcg.results.exact_sum import to_limbs

    default = conventions["default"]
    for record in RECORDS:
        for field, choice, _ in record.variants:
            metric = Metric(record.name, 1 if record.has_cutoff else None)
            if field in CHOICES:
                evaluate([[2, 1]], [[1.0, 1.0]], metric, convention=default.replace(**{field: choice}))
            else:
                evaluate([[2, 1]], [[1.0, 1.0]], metric(**{field: choice}))
    by_subtopic = [Metric(record.name) for record in RECORDS if record.by_subtopic]
    evaluate([[[1, 0], [1, 1]]], [[1, 1]], by_subtopic)
    evaluate([[2, 1]], [[1.0, 1.0]], "IAP")
    to_limbs(np.zeros(1))


def _compile_single() -> None:
    """Evaluate one query at its address, as the drop-in for torchmetrics does."""
    retrieval = load_kernels("single_query.retrieval")
    retrieval.evaluate_at(0, 0, 0, 0, retrieval.NDCG, 1)


def _compile_statistics() -> None:
    """Draw a replicate of everything that comparisons draw."""
    import numpy as np

    from fastndcg.statistics import poisson_bootstrap, resampling
    from fastndcg.statistics.integer_sums import Quantity, Sums
    from fastndcg.statistics.sampling_design import make_design
    from fastndcg.statistics.settings import Settings
    from fastndcg.statistics.significance import run_randomization_test

    settings = Settings(replicates=1, threads=1)
    design = make_design(np.arange(2))
    sums = Sums([np.zeros((2, 1)), np.ones((2, 1))], [Quantity(1, 0, 0)], design)
    run_randomization_test(sums, [0], settings)
    resampling.bootstrap_sums(sums.rows, design, settings)
    poisson_bootstrap.estimate_means(np.ones((2, 1)), design, settings)
    resampling.sign_sums(sums.rows, settings)
    resampling.permuted_ranges(np.zeros((1, 2, 2)), settings)


def _compile_agreement() -> None:
    """Compare two rankings by every metric there is."""
    import numpy as np

    from fastndcg.agreement import agreement

    names = _list_names("agreement")
    scores = {dtype: np.array([2, 1], dtype) for dtype in ("f4", "f8")}
    for first in scores.values():
        for second in scores.values():
            agreement(first, second, names, offsets=[0, 2])
    agreement({"a": {"1": 2, "2": 1}}, {"a": {"1": 1, "3": 2}}, names)


def _compile_tuning() -> None:
    """Tune the weights of two runs, for both dtypes of labels that judgments have."""
    from fastndcg.fusion.tuning.tune import tune_fusion

    runs = {name: {query: {"1": 2.0, "2": 1.0} for query in "abc"} for name in ("first", "second")}
    for label in (1, 0.5):
        qrels = {query: {"1": label, "2": 0} for query in "abc"}
        tune_fusion(qrels, runs, "ndcg@1", ["wsum", "rrf(k=60)"], folds=3, progress=False)


def _compile_beyond() -> None:
    """Look beyond the accuracy of recommended items by every metric there is."""
    import numpy as np

    from fastndcg.beyond_accuracy import beyond_accuracy
    from fastndcg.inputs.recommendations.interactions import Interactions

    metrics = [*_list_names("beyond_accuracy"), "ILD(distance=jaccard)", "ILD(distance=hamming)"]
    for dtype in ("i4", "i8"):
        for labels in (None, [0.5]):
            beyond_accuracy(
                np.array([[0, 1]], dtype), metrics, popularity=[2, 1], n_users=2, vectors=np.eye(2),
                categories=np.eye(2), liked=Interactions(np.array([1], dtype), labels, [0, 1]),
            )  # fmt: skip


def _list_names(function: str) -> list[str]:
    """Return the names of the metrics that a function takes."""
    from fastndcg.metrics.catalog import OTHER_CATALOG

    return [name for name, record in OTHER_CATALOG.items() if record.function_name == function]


def _read_inputs() -> None:
    """Compile what text, ids in any order and recommended items need, for labels of either type that joins read."""
    from importlib import resources

    import numpy as np

    from fastndcg.evaluate import evaluate
    from fastndcg.inputs.dict_qrels import DictQrels
    from fastndcg.inputs.diversity_qrels import DiversityQrels
    from fastndcg.inputs.qrels_run import Qrels, Run
    from fastndcg.inputs.recommendations.interactions import Interactions

    with contextlib.ExitStack() as stack:
        folder = resources.files("fastndcg").joinpath("demo")
        paths = [stack.enter_context(resources.as_file(folder.joinpath(n))) for n in ("qrels.txt", "lambdarank.run")]
        evaluate(paths[0], paths[1], "ndcg", convention="trec_eval")
    Run.from_dict({"a": ["1", "2"]}).to_trec()
    Run.from_dict({"a": {"1": 0.5}}).to_trec()
    evaluate([{"query": "a", "document": "1", "label": 1}], {"a": {"1": 1}}, "ndcg")
    for labels in ([1, 0, 1], [0.5, 0.0, 1.0]):
        run = Run(["b", "a", "b"], ["1", "2", "3"], [1, 2, 3])
        evaluate(Qrels(["a", "b", "a"], ["1", "2", "3"], labels), run, "ndcg")
        evaluate(DiversityQrels(["a", "b", "a"], ["s", "s", "t"], ["1", "2", "3"], labels), run, "P_IA")
        judgments = DictQrels({"a": dict(zip("12", labels, strict=False))})
        judgments.judged({"a": {"1": 1.0}}).with_tie_keys()
        judgments.judged_tuples([("a", "1", 1.0)], tuple)
        for dtype in ("i4", "i8"):
            liked = Interactions(np.array([3, 1, 2], dtype), labels, [0, 3])
            evaluate(liked, np.arange(2, dtype=dtype)[None], "ndcg")
        for dtype in ("f4", "f8"):
            evaluate(liked, np.ones((1, 4), dtype), "ndcg", exclude=[[0]])


def _compile_fusion() -> None:
    """Fuse two runs by every method and normalisation, for ids of either kind, and by every order of ties."""
    import numpy as np

    from fastndcg.fusion.catalog import FUSION_METHODS, NORMALIZATIONS
    from fastndcg.fusion.conventions import CHOICES
    from fastndcg.fusion.fuse import fuse
    from fastndcg.inputs.qrels_run import Run

    texts = {"q": {"a": 2.0, "b": 1.0}}
    numbers = Run(np.array([1, 1]), np.array([1, 2]), np.array([2, 1], "f4"))
    qrels = {"q": {"a": 1}}
    for name, record in FUSION_METHODS.items():
        runs = [texts, texts]
        train = (qrels, runs) if record.needs_training else None
        fuse(runs, name, train=train, absent=None if record.points == "ranks" else "mean")
    for name in NORMALIZATIONS:
        fuse([numbers, numbers], f"sum(norm={name})", depth=1)
    for policy in CHOICES["fused_ties"]:
        for run in (texts, numbers):
            fuse([run, run], fusion_convention=f"default(fused_ties={policy})")


STEPS: dict[str, Callable[[], None]] = {
    "metrics of float32 scores": partial(_compile_metrics, "f4"),
    "metrics of float64 scores": partial(_compile_metrics, "f8"),
    "several metrics at once": _compile_walks,
    "choices of conventions": _compile_variants,
    "files, dicts and items": _read_inputs,
    "single queries": _compile_single,
    "comparisons": _compile_statistics,
    "agreement of rankings": _compile_agreement,
    "beyond accuracy": _compile_beyond,
    "fusion of runs": _compile_fusion,
    "tuned fusions": _compile_tuning,
}

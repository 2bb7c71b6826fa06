"""ranx's `compare`, exported by `fastndcg.compat.ranx`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations, permutations
from typing import Any

import numpy as np

from fastndcg.choices import RanxTest
from fastndcg.compat.ranx.errors import MismatchError
from fastndcg.compat.ranx.evaluation import evaluate
from fastndcg.compat.ranx.metric_names import CONVENTION, parse_metric
from fastndcg.compat.ranx.qrels import Qrels
from fastndcg.compat.ranx.report import Pairs, Report, check_stat_test
from fastndcg.compat.ranx.run import Run
from fastndcg.errors import shorten
from fastndcg.rankings.validation import Array
from fastndcg.results.results import Results
from fastndcg.runtime.optional_packages import optional_import
from fastndcg.statistics.compare import compare as compare_systems

PAIRED_TESTS = {"student": "t", "fisher": "randomization"}  # ranx's name: the name in fastndcg.compare

Values = dict[str, dict[str, Array]]


def compare(
    qrels: Qrels, runs: list[Run], metrics: list[str] | str, stat_test: RanxTest = "student",
    n_permutations: int = 1000, max_p: float = 0.01, random_seed: int = 42, threads: int = 0, rounding_digits: int = 3,
    show_percentages: bool = False, make_comparable: bool = False,
) -> Report:  # fmt: skip
    """
    Evaluate runs, and test the difference of each pair of them. See `ranx.compare`.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    runs : list of Run
        One or more runs of different names. A run without a name is called run_1, run_2, … by its position. Tables
        have one letter for each run, up to 26.
    metrics : str or list of str
        See `evaluate`.
    stat_test : {'student', 'fisher', 'tukey'}
        The paired t test, the sign-flip randomisation test (exact if at most 20 queries differ), or Tukey's HSD test.
        The last does not pair the queries. `fastndcg.compare` has more tests, and corrects for multiple tests.
    n_permutations : int
        The number of replicates of the randomisation test.
    max_p : float
        The largest p-value of a significant difference.
    random_seed : int
        The seed of the randomisation test.
    threads : int
        The number of threads, 0 for one per available CPU.
    rounding_digits : int
        The number of digits in tables.
    show_percentages : bool
        True to show values in per cent.
    make_comparable : bool
        See `evaluate`.

    Returns
    -------
    Report
        p-values are those of ranx, with two exceptions. Runs without any difference have 1. By the t test, runs with
        the same difference in every query have NaN, because the test is undefined for them.

    Raises
    ------
    StatTestError
        If there is no such test. It is also a ValueError and a NotImplementedError.
    MismatchError
        If judgments and runs have different queries, or names repeat. It is also a ValueError and an AssertionError.
    """
    check_stat_test(stat_test)
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    models = _name_runs(runs)
    options: dict[str, Any] = {"return_mean": False, "threads": threads, "make_comparable": make_comparable}
    values: Values = {}
    for model, run in zip(models, runs, strict=True):
        columns = evaluate(qrels, run, names, **options)
        values[model] = {names[0]: columns} if len(names) == 1 else columns
    p_values = _test_tukey(values, names) if stat_test == "tukey" and len(models) > 1 else {}
    if stat_test in PAIRED_TESTS:
        settings: dict[str, Any] = {"replicates": n_permutations, "seed": random_seed, "threads": threads or None}
        settings["test"] = PAIRED_TESTS[stat_test]
        for i in range(len(models) - 1):
            p_values |= _test_against_first(values, names, models[i:], settings)
    comparisons = Pairs()
    for pair, pair_p_values in p_values.items():
        comparisons[pair] = {name: {"p_value": p, "significant": p <= max_p} for name, p in pair_p_values.items()}
    counts = {
        (model, other): {name: _count_wins(values[model][name], values[other][name]) for name in names}
        for model, other in permutations(models, 2)
    }
    means = {model: {name: float(np.mean(column)) for name, column in values[model].items()} for model in models}
    return Report(models, means, comparisons, names, max_p, counts, rounding_digits, show_percentages, stat_test)


def _name_runs(runs: Iterable[Run]) -> list[str]:
    """Return the names of the runs."""
    names = [run.name if run.name is not None else f"run_{number}" for number, run in enumerate(runs, 1)]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise MismatchError(f"`runs` must have different names, but {shorten(repeated)} names two runs. Rename one.")
    if not names:
        raise MismatchError("`runs` must have 1 run or more, but is empty. Pass a list of runs.")
    return names


def _test_against_first(
    values: Values, names: list[str], models: list[str], settings: Mapping[str, Any]
) -> dict[Any, Any]:
    """Return the p-values of the first model against each of the others, by `fastndcg.compare`."""
    metrics = {name: parse_metric(name) for name in names}
    unique = tuple(dict.fromkeys(metrics.values()))
    first_names = {metric: name for name, metric in reversed(metrics.items())}
    systems = {}
    for model in models:
        columns = np.column_stack([values[model][first_names[metric]] for metric in unique])
        systems[model] = Results(columns, unique, np.arange(len(columns)), CONVENTION)
    rows = compare_systems(systems, interval="t", correction="none", **settings).rows
    p_values = {(row.system, row.metric): row.p for row in rows}
    return {
        frozenset((models[0], other)): {name: p_values[other, str(metric)] for name, metric in metrics.items()}
        for other in models[1:]
    }


def _test_tukey(values: Values, names: list[str]) -> dict[Any, Any]:
    """Return the p-values of all pairs of models by Tukey's HSD test, which treats the samples as independent."""
    stats = optional_import("scipy.stats", "Tukey's HSD test", "statistics")
    tables = {name: stats.tukey_hsd(*(values[model][name] for model in values)).pvalue for name in names}
    return {
        frozenset((model, other)): {name: float(table[i, j]) for name, table in tables.items()}
        for (i, model), (j, other) in combinations(enumerate(values), 2)
    }


def _count_wins(values: Array, other_values: Array) -> dict[str, int]:
    """Return the numbers of queries won, tied and lost."""
    return {
        "W": int((values > other_values).sum()),
        "T": int((values == other_values).sum()),
        "L": int((values < other_values).sum()),
    }

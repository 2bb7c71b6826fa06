"""ranx's `compare` and its `Report`, exported by `fastndcg.compat.ranx`."""

from __future__ import annotations

import json
import os
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np

from fastndcg.choices import RanxTest
from fastndcg.compat.ranx.data import MismatchError, Qrels, Run
from fastndcg.compat.ranx.evaluation import CONVENTION, evaluate, parse_metric
from fastndcg.errors import InvalidInputError, shorten, suggest_name
from fastndcg.exports import align_columns, write_whole
from fastndcg.rankings.validation import Array
from fastndcg.results.results import Results
from fastndcg.runtime.escapes import latex, show_name
from fastndcg.runtime.imports import optional_import
from fastndcg.statistics.compare import compare as compare_systems

PAIRED_TESTS = {"student": "t", "fisher": "randomization"}  # ranx's name: the name in fastndcg.compare

Values = dict[str, dict[str, Array]]
LETTERS = string.ascii_lowercase
SUPERSCRIPTS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ۹ʳˢᵗᵘᵛʷˣʸᶻ"
TESTS = {
    "student": "paired Student's t-test",
    "fisher": "Fisher's randomization test",
    "tukey": "Tukey's HSD test",
}
LABELS = {
    "hits": "Hits", "hit_rate": "Hit Rate", "precision": "P", "recall": "Recall", "f1": "F1", "r-precision": "R-Prec",
    "bpref": "BPref", "mrr": "MRR", "map": "MAP", "dcg": "DCG", "dcg_burges": "DCG Burges", "ndcg": "NDCG",
    "ndcg_burges": "NDCG Burges",
}  # fmt: skip
PREAMBLE = r"""========================
% Add in preamble
\usepackage{graphicx}
\usepackage{booktabs}
========================


% To change the table size, act on the resizebox argument `0.8`.
\begin{table*}[ht]
\centering
\caption{
Overall effectiveness of the models.
The best results are highlighted in boldface.
"""
FOOT = r"""
\bottomrule
\end{tabular}
}
\label{tab:results}
\end{table*}"""


class StatTestError(InvalidInputError, NotImplementedError):
    """There is no test of this name."""


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
    p_values: dict[tuple[str, str], dict[str, float]] = {}
    if len(models) > 1 and stat_test == "tukey":
        p_values = _test_tukey(values, names)
    elif len(models) > 1:
        settings = {"replicates": n_permutations, "seed": random_seed, "threads": threads or None}
        p_values = _test_pairs(values, names, PAIRED_TESTS[stat_test], settings)
    comparisons: dict[tuple[str, str], Any] = {}
    for pair, pair_p_values in p_values.items():
        comparisons[pair] = comparisons[pair[::-1]] = {
            name: {"p_value": p, "significant": p <= max_p} for name, p in pair_p_values.items()
        }
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


def _test_pairs(
    values: Values, names: list[str], test: Any, settings: Mapping[str, Any]
) -> dict[tuple[str, str], dict[str, float]]:
    """Return the p-values of all pairs of models by a paired test of `fastndcg.compare`."""
    parsed = [parse_metric(name) for name in names]
    unique = tuple(dict.fromkeys(parsed))
    systems = {}
    for model, columns in values.items():
        table = np.column_stack([columns[names[parsed.index(metric)]] for metric in unique])
        systems[model] = Results(table, unique, np.arange(len(table)), CONVENTION)
    comparison = compare_systems(systems, interval="t", correction="none", test=test, **settings)
    p_values: dict[tuple[str, str], dict[str, float]] = {}
    for name, metric in zip(names, parsed, strict=True):
        for pair in comparison.all_pairs(metric, test=None):
            p_values.setdefault((pair.system, pair.against), {})[name] = pair.p
    return p_values


def _test_tukey(values: Values, names: list[str]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the p-values of all pairs of models by Tukey's HSD test, which treats the samples as independent."""
    stats = optional_import("scipy.stats", "Tukey's HSD test", "statistics")
    tables = {name: stats.tukey_hsd(*(values[model][name] for model in values)).pvalue for name in names}
    return {
        (model, other): {name: float(table[i, j]) for name, table in tables.items()}
        for (i, model), (j, other) in combinations(enumerate(values), 2)
    }


def _count_wins(values: Array, other_values: Array) -> dict[str, int]:
    """Return the numbers of queries won, tied and lost."""
    return {
        "W": int((values > other_values).sum()),
        "T": int((values == other_values).sum()),
        "L": int((values < other_values).sum()),
    }


@dataclass(repr=False, eq=False)
class Report:
    """
    The result of `compare`, with ranx's tables.

    Parameters
    ----------
    model_names : list of str
        The names of the runs.
    results : dict
        The numbers as {model: {metric: mean}}.
    comparisons : dict
        {(model, other): {metric: {"p_value": float, "significant": bool}}}, for the models in either order.
    metrics : list of str
        The metrics.
    max_p : float
        The largest p-value of a significant difference.
    win_tie_loss : dict
        The numbers as {(model, other): {metric: {"W": int, "T": int, "L": int}}}.
    rounding_digits : int
        The number of digits in tables.
    show_percentages : bool
        True to show values in per cent.
    stat_test : str
        The test.
    """

    model_names: list[str]
    results: dict[str, dict[str, float]]
    comparisons: dict[tuple[str, str], Any]
    metrics: list[str]
    max_p: float
    win_tie_loss: dict[tuple[str, str], dict[str, dict[str, int]]]
    rounding_digits: int = 3
    show_percentages: bool = False
    stat_test: RanxTest = "student"

    def to_table(self) -> str:
        """Return a text table with one line for each model."""
        self._check_letters()
        rows = [["#", "Model", *map(self.get_metric_label, self.metrics)]]
        for letter, model in zip(LETTERS, self.model_names, strict=False):
            superscripts = (
                "".join(SUPERSCRIPTS[j] for j in self._worse_models(model, metric)) for metric in self.metrics
            )
            scores = map(self.format_score, self.results[model].values())
            cells = (score + superscript for score, superscript in zip(scores, superscripts, strict=True))
            rows.append([letter, show_name(model), *cells])
        rows.insert(1, ["-" * max(map(len, column)) for column in zip(*rows, strict=True)])
        return "\n".join(align_columns(rows, len(rows[0])))

    def to_latex(self) -> str:
        """Return the table of `to_table` in LaTeX, with the packages that its preamble needs."""
        self._check_letters()
        best = {metric: self._best_model(metric) for metric in self.metrics}
        heads = "".join(f"\n& \\textbf{{{self.get_metric_label(metric)}}}" for metric in self.metrics)
        test = self.get_stat_test_label(self.stat_test)
        lines = [
            f"Superscripts denote significant differences in {test} with $p \\le {self.max_p}$.",
            "}",
            "\\resizebox{0.8\\textwidth}{!}{",
            f"\\begin{{tabular}}{{c|l{'|c' * len(self.metrics)}}}",
            "\\toprule",
            "\\textbf{\\#}",
            f"& \\textbf{{Model}}{heads} \\\\ ",
            "\\midrule",
        ]
        for letter, model in zip(LETTERS, self.model_names, strict=False):
            cells = [self._latex_cell(model, metric, best[metric] == model) for metric in self.metrics]
            lines.append(" &\n".join([letter, latex(show_name(model)), *cells]) + " \\\\")
        return PREAMBLE + "\n".join(lines) + FOOT

    def to_dict(self) -> dict[str, Any]:
        """Return means, p-values, wins, ties and losses by model."""
        facts: dict[str, Any] = {
            "stat_test": self.stat_test, "metrics": self.metrics, "model_names": self.model_names,
        }  # fmt: skip
        for model in self.model_names:
            other_models = [other for other in self.model_names if other != model]
            facts[model] = {
                "scores": self.results[model],
                "comparisons": {
                    other: {metric: self.comparisons[model, other][metric]["p_value"] for metric in self.metrics}
                    for other in other_models
                },
                "win_tie_loss": {other: self.win_tie_loss[model, other] for other in other_models},
            }
        return facts

    def to_dataframe(self) -> Any:
        """Return the means as a pandas DataFrame."""
        pandas = optional_import("pandas", "a data frame", "pandas")
        rows = [{"model_names": model, **self.results[model]} for model in self.model_names]
        return pandas.DataFrame(rows, columns=["model_names", *self.metrics])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_dict` to a JSON file. If an error occurs, an older file is kept as it is."""
        write_whole(path, [json.dumps(self.to_dict(), indent=4).encode()])

    def print_results(self) -> None:
        """Print the means as JSON."""
        print(json.dumps(self.results, indent=4))  # noqa: T201

    def get_stat_test_label(self, stat_test: RanxTest) -> str:
        """Return the full name of a test."""
        return TESTS[check_stat_test(stat_test)]

    def get_metric_label(self, m: str) -> str:
        """Return the heading of a metric in tables."""
        text, dash, level = m.partition("-l")
        base, at, cutoff = text.partition("@")
        return f"{LABELS.get(base, base.upper())}{at}{cutoff}{dash}{level}"

    def format_score(self, score: float) -> str:
        """Return a mean as tables show it."""
        if self.show_percentages:
            return f"{score * 100:.{max(self.rounding_digits - 2, 0)}f}"
        return f"{score:.{self.rounding_digits}f}"

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        if len(self.model_names) > len(LETTERS):
            return f"Report of {len(self.model_names)} models. See to_dataframe()"
        return self.to_table()

    def _check_letters(self) -> None:
        """Raise MismatchError if there are more models than letters."""
        if len(self.model_names) > len(LETTERS):
            raise MismatchError(
                f"a table has {len(LETTERS)} models or fewer, one for each letter, but the report has "
                f"{len(self.model_names)}. Call to_dataframe or to_dict."
            )

    def _worse_models(self, model: str, metric: str) -> list[int]:
        """Return the indices of the models with a significantly smaller mean."""
        means = {name: model_means[metric] for name, model_means in self.results.items()}
        return [
            i
            for i, other in enumerate(self.model_names)
            if other != model and self.comparisons[model, other][metric]["significant"] and means[model] > means[other]
        ]

    def _best_model(self, metric: str) -> str | None:
        """Return the first model with the largest rounded mean, None if all rounded means are 0."""
        means = {model: round(values[metric], self.rounding_digits) for model, values in self.results.items()}
        return max(means, key=means.__getitem__) if any(means.values()) else None

    def _latex_cell(self, model: str, metric: str, is_best: bool) -> str:
        """Return a mean with the letters of the worse models, and blank space for the other letters."""
        worse = self._worse_models(model, metric)
        superscript = "".join(LETTERS[i] for i in worse)
        rest = "".join(LETTERS[i] for i, other in enumerate(self.model_names) if other != model and i not in worse)
        score = self.format_score(self.results[model][metric])
        score = f"\\textbf{{{score}}}" if is_best else score
        return (
            f"{score}{f'$^{{{superscript}}}$' if superscript else ''}\\hphantom{{{f'$^{{{rest}}}$' if rest else ''}}}"
        )


def check_stat_test(stat_test: Any) -> str:
    """Return the name of a test. Raise StatTestError if there is no such test."""
    if stat_test not in TESTS:
        hint = suggest_name(stat_test, TESTS) or f" Choose one of {', '.join(TESTS)}."
        raise StatTestError(f"Statistical test `{show_name(stat_test)}` not supported.{hint}")
    return str(stat_test)

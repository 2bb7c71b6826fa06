"""ranx's `compare` and its `Report`, exported by `fastndcg.compat.ranx`."""

from __future__ import annotations

import json
import os
import re
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
TESTS = {"student": "paired Student's t-test", "fisher": "Fisher's randomization test", "tukey": "Tukey's HSD test"}
LABELS = {  # where they are not the name in capitals
    "hits": "Hits", "hit_rate": "Hit Rate", "precision": "P", "recall": "Recall", "r-precision": "R-Prec",
    "bpref": "BPref", "dcg_burges": "DCG Burges", "ndcg_burges": "NDCG Burges",
}  # fmt: skip
LATEX = r"""========================
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
Superscripts denote significant differences in TEST with $p \le MAX_P$.
}
\resizebox{0.8\textwidth}{!}{
\begin{tabular}{c|lCOLUMNS}
\toprule
\textbf{\#}
& \textbf{Model}HEADS
\midrule
ROWS
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
    qrels, runs, metrics
        See `ranx.compare`. A run without a name is called run_1, run_2, … by its position.
    stat_test : {'student', 'fisher', 'tukey'}
        The paired t test, the sign-flip randomisation test (exact if at most 20 queries differ), or Tukey's HSD test.
        The last does not pair the queries. `fastndcg.compare` has more tests, and corrects for multiple tests.
    n_permutations, max_p, random_seed, threads, rounding_digits, show_percentages, make_comparable
        See `ranx.compare`.

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
    settings = {"replicates": n_permutations, "seed": random_seed, "threads": threads or None}
    p_values = {} if len(models) < 2 else _test_pairs(values, names, stat_test, settings)
    comparisons: dict[tuple[str, str], Any] = {}
    for pair, pair_p_values in p_values.items():
        comparisons[pair] = comparisons[pair[::-1]] = {
            name: {"p_value": p, "significant": p <= max_p} for name, p in pair_p_values.items()
        }
    counts: dict[tuple[str, str], Any] = {}
    for model, other in permutations(models, 2):
        signs = {name: np.sign(values[model][name] - values[other][name]) for name in names}
        counts[model, other] = {
            name: {key: int((sign == number).sum()) for key, number in (("W", 1), ("T", 0), ("L", -1))}
            for name, sign in signs.items()
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
    values: Values, names: list[str], stat_test: str, settings: Mapping[str, Any]
) -> dict[tuple[str, str], dict[str, float]]:
    """Return the p-values of all pairs of models by a paired test of `fastndcg.compare`, or by `_test_tukey`."""
    if stat_test == "tukey":
        return _test_tukey(values, names)
    test: Any = PAIRED_TESTS[stat_test]
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


@dataclass(repr=False, eq=False)
class Report:
    """
    The result of `compare`, with ranx's tables.

    Parameters
    ----------
    model_names, results, comparisons, metrics, max_p, win_tie_loss, rounding_digits, show_percentages, stat_test
        See `compare`. Means are {model: {metric: mean}}. For each two models, in either order, `comparisons` has
        {metric: {"p_value": float, "significant": bool}}, and `win_tie_loss` has the counts {metric: {"W": int, …}}.
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
        rows = [["#", "Model", *map(self.get_metric_label, self.metrics)]]
        for letter, model in self._list_letters():
            cells = [
                self.format_score(score) + "".join(SUPERSCRIPTS[i] for i in self._worse_models(model, metric))
                for metric, score in self.results[model].items()
            ]
            rows.append([letter, show_name(model), *cells])
        rows.insert(1, ["-" * max(map(len, column)) for column in zip(*rows, strict=True)])
        return "\n".join(align_columns(rows, len(rows[0])))

    def to_latex(self) -> str:
        """Return the table of `to_table` in LaTeX, with the packages that its preamble needs."""
        rows = []
        for letter, model in self._list_letters():
            cells = [self._latex_cell(model, metric) for metric in self.metrics]
            rows.append(" &\n".join([letter, latex(show_name(model)), *cells]) + " \\\\")
        parts = {
            "TEST": self.get_stat_test_label(self.stat_test),
            "MAX_P": str(self.max_p),
            "COLUMNS": "|c" * len(self.metrics),
            "HEADS": "".join(f"\n& \\textbf{{{self.get_metric_label(metric)}}}" for metric in self.metrics) + " \\\\ ",
            "ROWS": "\n".join(rows),
        }
        return re.sub("|".join(parts), lambda part: parts[part[0]], LATEX)

    def to_dict(self) -> dict[str, Any]:
        """Return means, p-values, wins, ties and losses by model."""
        facts: dict[str, Any] = {name: getattr(self, name) for name in ("stat_test", "metrics", "model_names")}
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

    def __repr__(self) -> str:
        if len(self.model_names) > len(LETTERS):
            return f"Report of {len(self.model_names)} models. See to_dataframe()"
        return self.to_table()

    def _list_letters(self) -> list[tuple[str, str]]:
        """Return the letter of each model. Raise MismatchError if there are more models than letters."""
        if len(self.model_names) > len(LETTERS):
            raise MismatchError(
                f"a table has {len(LETTERS)} models or fewer, one for each letter, but the report has "
                f"{len(self.model_names)}. Call to_dataframe or to_dict."
            )
        return list(zip(LETTERS, self.model_names, strict=False))

    def _worse_models(self, model: str, metric: str) -> list[int]:
        """Return the indices of the models with a significantly smaller mean."""
        means = {name: model_means[metric] for name, model_means in self.results.items()}
        return [
            i
            for i, other in enumerate(self.model_names)
            if other != model and self.comparisons[model, other][metric]["significant"] and means[model] > means[other]
        ]

    def _latex_cell(self, model: str, metric: str) -> str:
        """Return a mean with the letters of the worse models, and blank space for the other letters."""
        worse = self._worse_models(model, metric)
        rest = [i for i, other in enumerate(self.model_names) if other != model and i not in worse]
        better, other = (f"$^{{{''.join(LETTERS[i] for i in places)}}}$" if places else "" for places in (worse, rest))
        means = {name: round(values[metric], self.rounding_digits) for name, values in self.results.items()}
        score = self.format_score(self.results[model][metric])
        if any(means.values()) and max(means, key=means.__getitem__) == model:
            score = f"\\textbf{{{score}}}"
        return f"{score}{better}\\hphantom{{{other}}}"


def check_stat_test(stat_test: Any) -> str:
    """Return the name of a test. Raise StatTestError if there is no such test."""
    if stat_test not in TESTS:
        hint = suggest_name(stat_test, TESTS) or f" Choose one of {', '.join(TESTS)}."
        raise StatTestError(f"Statistical test `{show_name(stat_test)}` not supported.{hint}")
    return str(stat_test)

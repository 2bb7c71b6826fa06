"""ranx's `compare` and the `Report` that it gives; `fastndcg.compat.ranx` has both."""

from __future__ import annotations

import json
import os
import string
from collections.abc import Iterable, Mapping
from itertools import combinations, permutations
from typing import Any

import numpy as np

from fastndcg.compat.ranx import CONVENTION, MismatchError, Qrels, Run, evaluate, metric_of
from fastndcg.display import aligned
from fastndcg.errors import InvalidInputError, nearest, optional_import
from fastndcg.rankings import Array
from fastndcg.results import Results
from fastndcg.statistics.compare import compare as compare_systems
from fastndcg.whole_files import write_whole

LETTERS = string.ascii_lowercase
RAISED = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ۹ʳˢᵗᵘᵛʷˣʸᶻ"
TESTS = {
    "student": "paired Student's t-test",
    "fisher": "Fisher's randomization test",
    "tukey": "Tukey's HSD test",
}
OURS = {"student": "t", "fisher": "randomization"}
LABELS = {
    "hits": "Hits", "hit_rate": "Hit Rate", "precision": "P", "recall": "Recall", "f1": "F1", "r-precision": "R-Prec",
    "mrr": "MRR", "map": "MAP", "dcg": "DCG", "dcg_burges": "DCG Burges", "ndcg": "NDCG", "ndcg_burges": "NDCG Burges",
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

Values = dict[str, dict[str, Array]]


class Pairs(dict[Any, Any]):
    """What is known of two models, whichever is named first."""

    def __getitem__(self, models: Iterable[str]) -> Any:
        return super().__getitem__(frozenset(models))


def compare(
    qrels: Qrels, runs: list[Run], metrics: list[str] | str, stat_test: str = "student", n_permutations: int = 1000,
    max_p: float = 0.01, random_seed: int = 42, threads: int = 0, rounding_digits: int = 3,
    show_percentages: bool = False, make_comparable: bool = False,
) -> Report:  # fmt: skip
    """
    Evaluate runs, and test all pairs of them; see `ranx.compare`.

    Parameters
    ----------
    qrels, metrics, threads, make_comparable
        See `evaluate`.
    runs : list of Run
        At most 26, of different names; a run without one is called run_1, run_2, … by its place.
    stat_test : {'student', 'fisher', 'tukey'}
        The paired t test, sign-flip randomisation (exact where at most 20 queries differ), or Tukey's HSD test, which
        takes no account of queries. `fastndcg.compare` has more tests, and corrects for how many there are.
    n_permutations, random_seed : int
        Of the randomisation.
    max_p : float
        The highest p-value of a significant difference.
    rounding_digits : int
        How many digits a table shows.
    show_percentages : bool
        Whether a table shows per cent.

    Returns
    -------
    Report
        p-values are those of ranx but for runs that do not differ at all, whose p is 1, and by the t test those of
        runs that differ by the same for every query, who have none.
    """
    if stat_test not in TESTS:
        hint = nearest(str(stat_test), TESTS) or f" There are {', '.join(TESTS)}."
        raise InvalidInputError(f"Statistical test `{stat_test}` not supported.{hint}")
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    models = _names(runs)
    options: dict[str, Any] = {"return_mean": False, "threads": threads, "make_comparable": make_comparable}
    values: Values = {}
    for model, run in zip(models, runs, strict=True):
        found = evaluate(qrels, run, names, **options)
        values[model] = {names[0]: found} if len(names) == 1 else found
    p_values = _tukey(values, names) if stat_test == "tukey" else {}
    settings = {"replicates": n_permutations, "seed": random_seed, "threads": threads or None}
    for place in range(len(models) - 1 if stat_test in OURS else 0):
        p_values |= _tested(values, names, models[place:], settings | {"test": OURS[stat_test]})
    comparisons = Pairs()
    for pair, tested in p_values.items():
        comparisons[pair] = {name: {"p_value": p, "significant": p <= max_p} for name, p in tested.items()}
    counts = {
        (one, other): {name: _counts(values[one][name], values[other][name]) for name in names}
        for one, other in permutations(models, 2)
    }
    means = {model: {name: float(np.mean(column)) for name, column in values[model].items()} for model in models}
    return Report(models, means, comparisons, names, max_p, counts, rounding_digits, show_percentages, stat_test)


class Report:
    """
    What `compare` found, with ranx's tables.

    Attributes
    ----------
    model_names, metrics : list of str
    results : {model: {metric: mean}}
    comparisons : {two models: {metric: {'p_value', 'significant'}}}
        Whichever of the two is named first.
    win_tie_loss : {(model, other): {metric: {'W', 'T', 'L'}}}
    max_p, rounding_digits, show_percentages, stat_test
        As `compare` was given them.
    """

    def __init__(
        self, model_names: list[str], results: dict[str, dict[str, float]], comparisons: Pairs, metrics: list[str],
        max_p: float, win_tie_loss: dict[tuple[str, str], dict[str, dict[str, int]]], rounding_digits: int = 3,
        show_percentages: bool = False, stat_test: str = "student",
    ) -> None:  # fmt: skip
        self.model_names = model_names
        self.results = results
        self.comparisons = comparisons
        self.metrics = metrics
        self.max_p = max_p
        self.win_tie_loss = win_tie_loss
        self.rounding_digits = rounding_digits
        self.show_percentages = show_percentages
        self.stat_test = stat_test

    def to_table(self) -> str:
        """A line for each model; the letters of those that it is significantly better than stand behind a mean."""
        rows = [["#", "Model", *map(_label, self.metrics)]]
        for letter, model in zip(LETTERS, self.model_names, strict=False):
            beaten = ("".join(RAISED[j] for j in self._beaten(model, metric)) for metric in self.metrics)
            scores = map(self._score, self.results[model].values())
            rows.append([letter, model, *(score + raised for score, raised in zip(scores, beaten, strict=True))])
        rows.insert(1, ["-" * max(map(len, column)) for column in zip(*rows, strict=True)])
        return "\n".join(aligned(rows, len(rows[0])))

    def to_latex(self) -> str:
        """The same as a table of LaTeX, with what its preamble needs."""
        best = {metric: self._best(metric) for metric in self.metrics}
        lines = [
            f"Superscripts denote significant differences in {TESTS[self.stat_test]} with $p \\le {self.max_p}$.",
            "}",
            "\\resizebox{0.8\\textwidth}{!}{",
            f"\\begin{{tabular}}{{c|l{'|c' * len(self.metrics)}}}",
            "\\toprule",
            "\\textbf{\\#}",
            "& \\textbf{Model}" + "".join(f"\n& \\textbf{{{_label(metric)}}}" for metric in self.metrics) + " \\\\ ",
            "\\midrule",
        ]
        for letter, model in zip(LETTERS, self.model_names, strict=False):
            cells = [self._latex_cell(model, metric, best[metric] == model) for metric in self.metrics]
            lines.append(" &\n".join([letter, model.replace("_", "\\_"), *cells]) + " \\\\")
        return PREAMBLE + "\n".join(lines) + FOOT

    def to_dict(self) -> dict[str, Any]:
        """Means, p-values, wins, ties and losses by model."""
        found: dict[str, Any] = {
            "stat_test": self.stat_test, "metrics": self.metrics, "model_names": self.model_names,
        }  # fmt: skip
        for model in self.model_names:
            others = [other for other in self.model_names if other != model]
            tested = {other: self.comparisons[model, other] for other in others}
            found[model] = {
                "scores": self.results[model],
                "comparisons": {
                    other: {metric: of_pair[metric]["p_value"] for metric in self.metrics}
                    for other, of_pair in tested.items()
                },
                "win_tie_loss": {other: self.win_tie_loss[model, other] for other in others},
            }
        return found

    def to_dataframe(self) -> Any:
        """The means as a pandas DataFrame, a row a model."""
        pandas = optional_import("pandas", "a data frame", "pandas")
        rows = [{"model_names": model, **self.results[model]} for model in self.model_names]
        return pandas.DataFrame(rows, columns=["model_names", *self.metrics])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_dict` as JSON, whole or not at all."""
        write_whole(path, [json.dumps(self.to_dict(), indent=4).encode()])

    def print_results(self) -> None:
        """Print the means as JSON."""
        print(json.dumps(self.results, indent=4))  # noqa: T201

    def __str__(self) -> str:
        return self.to_table()

    def __repr__(self) -> str:
        return self.to_table()

    def _score(self, score: float) -> str:
        if self.show_percentages:
            return f"{score * 100:.{max(self.rounding_digits - 2, 0)}f}"
        return f"{score:.{self.rounding_digits}f}"

    def _beaten(self, model: str, metric: str) -> list[int]:
        """The places of the models that a model is significantly better than."""
        means = {name: of_model[metric] for name, of_model in self.results.items()}
        return [
            place
            for place, other in enumerate(self.model_names)
            if other != model and self.comparisons[model, other][metric]["significant"] and means[model] > means[other]
        ]

    def _best(self, metric: str) -> str | None:
        """The first model of the highest mean as it is shown; none if all are shown as 0."""
        shown = {model: round(means[metric], self.rounding_digits) for model, means in self.results.items()}
        return max(shown, key=shown.__getitem__) if any(shown.values()) else None

    def _latex_cell(self, model: str, metric: str, is_best: bool) -> str:
        """A mean with the letters of the models beaten, and room for those of the others."""
        beaten = self._beaten(model, metric)
        raised = "".join(LETTERS[j] for j in beaten)
        rest = "".join(
            LETTERS[j] for j, other in enumerate(self.model_names) if other != model and j not in beaten
        )  # fmt: skip
        score = self._score(self.results[model][metric])
        score = f"\\textbf{{{score}}}" if is_best else score
        return f"{score}{f'$^{{{raised}}}$' if raised else ''}\\hphantom{{{f'$^{{{rest}}}$' if rest else ''}}}"


def _names(runs: Iterable[Run]) -> list[str]:
    """What the runs are called."""
    names = [run.name if run.name is not None else f"run_{place}" for place, run in enumerate(runs, 1)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise MismatchError(f"`runs` must have names of their own, but {twice!r} stands for two")
    if not 2 <= len(names) <= len(LETTERS):
        raise MismatchError(f"`runs` must be from 2 to {len(LETTERS)}, one letter each, but there are {len(names)}")
    return names


def _tested(values: Values, names: list[str], models: list[str], settings: Mapping[str, Any]) -> dict[Any, Any]:
    """The p-values of the first of some models against each of the others, by our comparison."""
    metrics = {name: metric_of(name) for name in names}
    asked = tuple(dict.fromkeys(metrics.values()))
    first = {metric: name for name, metric in reversed(metrics.items())}
    systems = {}
    for model in models:
        columns = np.column_stack([values[model][first[metric]] for metric in asked])
        systems[model] = Results(columns, asked, np.arange(len(columns)), CONVENTION)
    rows = compare_systems(systems, interval="t", correction="none", **settings).rows
    p_values = {(row.system, row.metric): row.p for row in rows}
    return {
        frozenset((models[0], other)): {name: p_values[other, str(metric)] for name, metric in metrics.items()}
        for other in models[1:]
    }


def _tukey(values: Values, names: list[str]) -> dict[Any, Any]:
    """The p-values of all pairs of models, of means that are taken for those of independent samples."""
    stats = optional_import("scipy.stats", "Tukey's HSD test", "statistics")
    tables = {name: stats.tukey_hsd(*(values[model][name] for model in values)).pvalue for name in names}
    return {
        frozenset((one, other)): {name: float(table[i, j]) for name, table in tables.items()}
        for (i, one), (j, other) in combinations(enumerate(values), 2)
    }


def _counts(one: Array, other: Array) -> dict[str, int]:
    """Wins, ties and losses."""
    return {"W": int((one > other).sum()), "T": int((one == other).sum()), "L": int((one < other).sum())}


def _label(metric: str) -> str:
    """A metric as tables head it: ``ndcg@10`` as NDCG@10."""
    text, dash, level = metric.partition("-l")
    base, at, cutoff = text.partition("@")
    return f"{LABELS[base]}{at}{cutoff}{dash}{level}"

"""ranx's `Report`, exported by `fastndcg.compat.ranx`."""

from __future__ import annotations

import json
import os
import string
from collections.abc import Iterable
from typing import Any

from fastndcg.choices import RanxTest
from fastndcg.compat.ranx.errors import MismatchError, StatTestError
from fastndcg.errors import suggest_name
from fastndcg.results.text_table import align_columns
from fastndcg.runtime.atomic_write import write_whole
from fastndcg.runtime.escapes import latex, show_name
from fastndcg.runtime.optional_packages import optional_import

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


class Pairs(dict[Any, Any]):
    """Results of pairs of models, found by both names in either order."""

    def __getitem__(self, models: Iterable[str]) -> Any:
        return super().__getitem__(frozenset(models))

    def __contains__(self, models: Any) -> bool:
        return super().__contains__(frozenset(models))

    def get(self, models: Any, default: Any = None) -> Any:
        """Return the results of a pair, and `default` without them."""
        return super().get(frozenset(models), default)


class Report:
    """
    The result of `compare`, with ranx's tables.

    Parameters
    ----------
    model_names : list of str
        The names of the runs.
    results : dict
        The numbers as {model: {metric: mean}}.
    comparisons : Pairs
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

    def __init__(
        self, model_names: list[str], results: dict[str, dict[str, float]], comparisons: Pairs, metrics: list[str],
        max_p: float, win_tie_loss: dict[tuple[str, str], dict[str, dict[str, int]]], rounding_digits: int = 3,
        show_percentages: bool = False, stat_test: RanxTest = "student",
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
        """
        Return a text table with one line for each model.

        The letters after a mean are those of the models with a significantly smaller mean.

        Returns
        -------
        str
            The table.

        Raises
        ------
        MismatchError
            If there are more models than letters. `to_dataframe` has no such limit.
        """
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
        """
        Return the table of `to_table` in LaTeX, with the packages that its preamble needs.

        Returns
        -------
        str
            The source text.

        Raises
        ------
        MismatchError
            If there are more models than letters.
        """
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
        """
        Return means, p-values, wins, ties and losses by model.

        Returns
        -------
        dict
            Its keys are "stat_test", "metrics", "model_names", and the name of each model.
        """
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
        """
        Return the means as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row for each model, one column for each metric.
        """
        pandas = optional_import("pandas", "a data frame", "pandas")
        rows = [{"model_names": model, **self.results[model]} for model in self.model_names]
        return pandas.DataFrame(rows, columns=["model_names", *self.metrics])

    def save(self, path: str | os.PathLike[str]) -> None:
        """
        Write `to_dict` to a JSON file. If an error occurs, an older file is kept as it is.

        Parameters
        ----------
        path : str or path
            The file.
        """
        write_whole(path, [json.dumps(self.to_dict(), indent=4).encode()])

    def print_results(self) -> None:
        """Print the means as JSON."""
        print(json.dumps(self.results, indent=4))  # noqa: T201

    def get_stat_test_label(self, stat_test: RanxTest) -> str:
        """
        Return the full name of a test.

        Parameters
        ----------
        stat_test : {'student', 'fisher', 'tukey'}
            The test.

        Returns
        -------
        str
            Such as "paired Student's t-test".

        Raises
        ------
        StatTestError
            If there is no such test.
        """
        return TESTS[check_stat_test(stat_test)]

    def get_metric_label(self, m: str) -> str:
        """
        Return the heading of a metric in tables.

        Parameters
        ----------
        m : str
            The metric, such as "ndcg@10".

        Returns
        -------
        str
            Such as "NDCG@10".
        """
        text, dash, level = m.partition("-l")
        base, at, cutoff = text.partition("@")
        return f"{LABELS.get(base, base.upper())}{at}{cutoff}{dash}{level}"

    def format_score(self, score: float) -> str:
        """
        Return a mean as tables show it.

        Parameters
        ----------
        score : float
            The mean.

        Returns
        -------
        str
            With `rounding_digits` digits, or in per cent with two digits less.
        """
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

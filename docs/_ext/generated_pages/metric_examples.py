"""Worked examples of the metrics' pages. They are computed with the library when the pages are written."""

from __future__ import annotations

import contextlib
import io
import math
import re
from collections.abc import Sequence
from typing import Any

from fastndcg.metrics.families import Record
from fastndcg.metrics.families.record import make_example

DATA = {  # of the example of a page, by what its metrics take: a text, and the code
    "labels": (
        "Five documents in rank order have the labels 0, 2, 1, 0 and 3. In `tied`, the documents at ranks 1 and 2 have "
        "the same score, and so do those at ranks 3 and 4.",
        'qrels = {"q": {"a": 0, "b": 2, "c": 1, "d": 0, "e": 3}}',
        'run = {"q": {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}}',
        'tied = {"q": {"a": 5, "b": 5, "c": 3, "d": 3, "e": 1}}',
    ),
    "judgments": (
        "Documents `a` and `d` are relevant, `b` and `e` are not. Document `x` is not judged, and `e` is not "
        "retrieved. In `tied`, documents `a` and `b` have the same score.",
        'qrels = {"q": {"a": 1, "b": 0, "d": 1, "e": 0}}',
        'run = {"q": {"b": 4, "a": 3, "x": 2, "d": 1}}',
        'tied = {"q": {"b": 4, "a": 4, "x": 2, "d": 1}}',
    ),
    "subtopics": (
        "Document `d1` is relevant to two subtopics, `d2` to one of them, and `d4` to a third one. In `tied`, "
        "documents `d1` and `d3` have the same score.",
        'qrels = {"jaguar": {"d1": {"cars": 1, "cats": 1}, "d2": {"cars": 1}, "d4": {"films": 1}}}',
        'run = {"jaguar": {"d2": 4, "d1": 3, "d3": 2, "d4": 1}}',
        'tied = {"jaguar": {"d2": 4, "d1": 3, "d3": 3, "d4": 1}}',
    ),
    "agreement": (
        "Two rankings of five documents, by their scores. In `tied`, two documents of the second ranking have the same "
        "score.",
        "first, second = [[5, 4, 3, 2, 1]], [[4, 5, 3, 1, 2]]",
        "tied = [[4, 4, 3, 1, 2]]",
    ),
    "beyond_accuracy": (
        "Three users have three recommended items each, of a catalogue of six.",
        "from scipy.sparse import csr_array",
        "recommended, catalogue, n_users = [[0, 1, 2], [0, 2, 3], [0, 1, 4]], 6, 100",
        "popularity = [40, 20, 10, 5, 2, 1]  # users who interacted with each item",
        "vectors = [[1, 0], [1, 1], [0, 1], [0, 2], [2, 1], [1, 2]]",
        "liked = csr_array([[0, 1, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 1]])",
    ),
    "evaluate_spans": (
        "The gold text is 100 characters of one document and 50 of another. Chunks overlap.",
        'gold = {"q": [("a.txt", 100, 200), ("b.txt", 0, 50)]}',
        'chunks = {"q": [("a.txt", 50, 150), ("a.txt", 100, 250), ("c.txt", 0, 90), ("b.txt", 0, 100)]}',
    ),
    "aggregates": (
        "Four queries, whose relevant document is at rank 1, 2, 4 and nowhere.",
        "labels = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]",
        "scores = [[4, 3, 2, 1]] * 4",
        'fn.evaluate(labels, scores, "RR")["RR"].tolist()',
    ),
}
PARAMETERS = {
    "RBP": "(p=0.8)", "RBP_resid": "(p=0.8)", "RBO": "(p=0.9)", "pAUC": "(max_fpr=0.5)", "IPrec": "(recall=0.5)",
    "Success": "@1",
}  # fmt: skip
WITHOUT_CUTOFF = (  # of metrics that show more so
    "AP RR Rprec num_ret num_rel INST BPM Q TBG nERR Utility popularity novelty tail ILD serendipity coverage gini "
    "entropy personalisation Compat PFound AP_IA nERR_IA ERR_IA"
)
MORE = {"novelty": ", n_users=n_users", "ILD": ", vectors=vectors"}  # arguments that a metric takes
POLICIES = ["average", "input", "input_reversed", "best", "worst"]


class Session:
    """A Python session with the data of an example."""

    def __init__(self, kind: str) -> None:
        self.text, *self.setup = DATA[kind]
        self.setup.insert(0, "import fastndcg as fn")
        self.names: dict[str, Any] = {}

    def show(self, *lines: str) -> str:
        """Run lines as at a prompt, and return them with their output as a block of Markdown."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for line in lines:
                printed.write(f">>> {line}\n")
                exec(compile(line, "<example>", "single"), self.names)
        return f"```pycon\n{printed.getvalue()}```"

    def compute(self, call: str) -> float:
        """Return the only value of the dict that a call returns."""
        (value,) = eval(call, self.names).values()
        return float(value)


def find_kind(record: Record) -> str:
    """Return the kind of data that a metric's example needs."""
    return record.view if record.function_name == "evaluate" else record.function_name


def make_text(record: Record) -> str:
    """Return the text of a metric in its example, such as nDCG@3."""
    is_cut = record.has_cutoff and record.name not in WITHOUT_CUTOFF.split()
    return record.name + PARAMETERS.get(record.name, "@3" if is_cut else "")


def make_call(record: Record, *, is_tied: bool = False) -> str:
    """Return the call that computes a metric on the data of its page."""
    call = make_example(make_text(record), record).replace(").mean()", f"{MORE.get(record.name, '')}).mean()")
    return re.sub("run, |second, ", "tied, ", call) if is_tied else call


def compute_ties(records: Sequence[Record], sessions: dict[str, Session]) -> list[list[str]]:
    """Return a row for each metric: its values under each tie policy, with a dash where the metric has none."""
    rows = []
    for record in records:
        call = make_call(record, is_tied=True)
        calls = [call.replace(").m", f', convention="default(ties={policy})").m') for policy in POLICIES]
        values = [
            f"{sessions[find_kind(record)].compute(one):.4f}" if policy in record.ties else "–"
            for policy, one in zip(POLICIES, calls, strict=True)
        ]
        rows.append([f"`{make_text(record)}`", *values])
    return rows


def work_by_hand(record: Record, session: Session, equations: Sequence[str]) -> str:
    """Return equations with their values, of which the last must be that of the library."""
    values: dict[str, float] = {}
    lines = []
    for equation in equations:
        name, arithmetic = equation.split(" = ")
        values[name] = compute_latex(arithmetic, values)
        lines.append(f"{name} &= {arithmetic} = {values[name]:.4g}")
    if not math.isclose(session.compute(make_call(record)), values[name], rel_tol=1e-12):
        raise ValueError(f"by hand {record.name} must not be {values[name]}. Correct mathematics.toml")
    return " \\\\\n".join(lines)


def compute_latex(text: str, values: dict[str, float]) -> float:
    r"""
    Return the value of arithmetic in LaTeX, in which names have values.

    >>> compute_latex(r"\frac{x^{2} - 1}{\log_2 8} \cdot \left(1 + \min(1, 3)\right)", {"x": 4.0})
    10.0
    """
    for name, value in values.items():
        text = text.replace(name, f"({value!r})")
    for latex, python in (
        (r"\\left|\\right", ""), (r"\\cdot", "*"), (r"\\min", "min"), (r"\\log_2 (\d+)", r"log2(\1)"),
        (r"\^\{(\d+)\}", r"**\1"), (r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1) / (\2))"),
    ):  # fmt: skip
        text = re.sub(latex, python, text)
    return float(eval(text, {"log2": math.log2}))

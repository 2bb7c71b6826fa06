"""The plots of the metrics' pages: SVG in light and dark, drawn with matplotlib from the library's values."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib import resources
from typing import Any, NamedTuple

import fastndcg as fn

COLOURS = {  # text, then one of each line
    "light": ("#1f2328", "#0b62a8", "#b3480a", "#1d7a3a", "#8a2f9b"),
    "dark": ("#e6edf3", "#6cb2e2", "#fb923c", "#6ccf87", "#d99be6"),
}
MARKERS = ("o", "s", "^", "D")
SIZE = (5.6, 3.2)  # inches
RANKS = range(1, 21)
CUTOFFS = (1, 2, 3, 5, 7, 10, 15, 20)


class Line(NamedTuple):
    """A line of a plot: its name, places and values."""

    name: str
    x: list[float]
    y: list[float]


class Plot(NamedTuple):
    """A plot: a caption, a description for people who do not see it, texts at the axes, and the lines."""

    caption: str
    description: str
    x_label: str
    y_label: str
    make_lines: Callable[[], list[Line]]


def draw(plot: Plot, lines: list[Line], theme: str) -> bytes:
    """Return a plot as SVG without dates, so that it does not change from build to build."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    text, *colours = COLOURS[theme]
    names = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), text)
    style = {"svg.hashsalt": plot.caption, "font.size": 10, "legend.frameon": False} | names
    with mpl.rc_context(style):
        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.add_subplot()
        for line, colour, marker in zip(lines, colours, MARKERS, strict=False):
            axes.plot(line.x, line.y, label=line.name, color=colour, marker=marker, markersize=4)
        axes.set_xlabel(plot.x_label)
        axes.set_ylabel(plot.y_label)
        axes.set_ylim(bottom=0)
        axes.xaxis.get_major_locator().set_params(integer=plot.x_label != "recall")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(visible=True, alpha=0.25, color=text)
        axes.legend()
        file = io.BytesIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return file.getvalue()


def _values(metrics: list[str], labels: Any, scores: Any) -> list[float]:
    """Return the values of metrics for one query."""
    means = fn.evaluate(labels, scores, metrics).mean()
    return [float(value) for value in means.values()]


def _at_rank(rank: int) -> list[list[int]]:
    """Return the labels of a query whose only relevant document is at a rank."""
    return [[int(r == rank) for r in RANKS]]


def _weights(metric: str) -> list[float]:
    """Return a metric of one relevant document, by its rank."""
    scores = [[-r for r in RANKS]]
    return [_values([metric], _at_rank(rank), scores)[0] for rank in RANKS]


def _discounts() -> list[Line]:
    metrics = {
        "log2: 1 / log2(r + 1)": "DCG",
        "log2(max(r, 2)): 1 / log2(max(r, 2))": "DCG(discount=log2(max(r, 2)))",
        "1/r": "DCG(discount=1/r)",
    }
    return [Line(name, list(RANKS), _weights(text)) for name, text in metrics.items()]


def _gains() -> list[Line]:
    names = {"linear": "label", "exp2": "2^label − 1", "binary": "1 if relevant"}
    labels = list(range(5))
    return [
        Line(f"{gain}: {name}", list(labels), [_values([f"CG(gain={gain})"], [[label]], [[1]])[0] for label in labels])
        for gain, name in names.items()
    ]


def _persistence() -> list[Line]:
    return [Line(f"p = {p}", list(RANKS), _weights(f"RBP(p={p})")) for p in (0.5, 0.8, 0.9, 0.95)]


def _one_document() -> list[Line]:
    return [Line(metric, list(RANKS), _weights(metric)) for metric in ("RR", "nDCG", "Success@10")]


def _grades() -> list[Line]:
    labels = list(range(5))
    return [
        Line(f"max_grade = {grade}", [float(x) for x in labels if x <= grade],
             [_values([f"ERR(max_grade={grade})"], [[x]], [[1]])[0] for x in labels if x <= grade])
        for grade in (2, 3, 4)
    ]  # fmt: skip


def _cutoffs(names: tuple[str, ...]) -> list[Line]:
    folder = resources.files("fastndcg").joinpath("demo")
    with resources.as_file(folder) as demo:
        metrics = [f"{name}@{k}" for name in names for k in CUTOFFS]
        means = fn.evaluate(str(demo / "qrels.txt"), str(demo / "lambdarank.run"), metrics).mean()
    return [Line(name, list(CUTOFFS), [means[f"{name}@{k}"] for k in CUTOFFS]) for name in names]


def _interpolated() -> list[Line]:
    labels = [[0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1]]
    scores = [[-r for r in range(len(labels[0]))]]
    recalls = [i / 20 for i in range(21)]
    metrics = [f"IPrec(recall={recall:g})" for recall in recalls]
    ranks = [r for r, label in enumerate(labels[0], 1) if label]
    points = _values([f"{name}@{r}" for r in ranks for name in ("R", "P")], labels, scores)
    return [
        Line("interpolated precision", recalls, _values(metrics, labels, scores)),
        Line("precision at each relevant document", points[::2], points[1::2]),
    ]


DEMO = "The values are means over the demo data of the package, the run `lambdarank`."
PLOTS = {  # by the name of the file; the metric below which a plot stands is the key of `PLACES`
    "discounts": Plot(
        "Discounts by rank.",
        "Line chart of three discounts at ranks 1 to 20. log2 falls from 1 to 0.23, 1/r to 0.05. log2(max(r, 2)) is 1 "
        "at ranks 1 and 2.",
        "rank", "discount", _discounts,
    ),
    "gains": Plot(
        "Gains by label.",
        "Line chart of three gains for labels 0 to 4. linear rises to 4, exp2 to 15, binary is 1 from label 1 on.",
        "label", "gain", _gains,
    ),
    "persistence": Plot(
        "RBP of one relevant document, by its rank.",
        "Line chart of rank-biased precision for four values of p. With p = 0.5 rank 1 has weight 0.5, and ranks "
        "below 8 have almost none. With p = 0.95 weights fall from 0.05 to 0.02 at rank 20.",
        "rank of the relevant document", "RBP", _persistence,
    ),
    "one_document": Plot(
        "Metrics of one relevant document, by its rank.",
        "Line chart for a query with one relevant document. RR falls from 1 to 0.05 at rank 20, nDCG to 0.23. "
        "Success@10 is 1 down to rank 10 and 0 below.",
        "rank of the relevant document", "value", _one_document,
    ),
    "grades": Plot(
        "Probability to stop at a document, by its label.",
        "Line chart of the probability to stop for max_grade 2, 3 and 4. At the highest label it is 0.75, 0.875 and "
        "0.9375.",
        "label", "probability to stop", _grades,
    ),
    "cutoffs": Plot(
        f"Metrics against the cutoff. {DEMO}",
        "Line chart of P, R, F and AP at cutoffs 1 to 20 on the demo data. Precision falls from 0.82 to 0.55. Recall "
        "rises from 0.09 to 0.99. F is highest at cutoff 15.",
        "cutoff k", "mean over queries", lambda: _cutoffs(("P", "R", "F", "AP")),
    ),
    "ndcg_cutoffs": Plot(
        f"nDCG and other metrics against the cutoff. {DEMO}",
        "Line chart of nDCG, RR and Success at cutoffs 1 to 20 on the demo data. Success reaches 1 at cutoff 7. RR "
        "stays at 0.89 from cutoff 7 on. nDCG rises from 0.68 at cutoff 2 to 0.85.",
        "cutoff k", "mean over queries", lambda: _cutoffs(("nDCG", "RR", "Success")),
    ),
    "interpolated": Plot(
        "Precision of one query at its relevant documents, and interpolated.",
        "Line chart of precision against recall for five relevant documents. The interpolated line has steps and never "
        "rises with recall.",
        "recall", "precision", _interpolated,
    ),
}  # fmt: skip
PLACES = {
    "nDCG": ("ndcg_cutoffs",),
    "DCG": ("discounts",),
    "CG": ("gains",),
    "RBP": ("persistence",),
    "P": ("cutoffs",),
    "RR": ("one_document",),
    "ERR": ("grades",),
    "IPrec": ("interpolated",),
}


def draw_all(folder: str) -> dict[str, bytes]:
    """Return all plots in both themes by their paths."""
    pictures = {}
    for name, plot in PLOTS.items():
        lines = plot.make_lines()
        for theme in COLOURS:
            pictures[f"{folder}/{name}_{theme}.svg"] = draw(plot, lines, theme)
    return pictures

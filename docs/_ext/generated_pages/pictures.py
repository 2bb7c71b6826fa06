"""The pictures of the pages: SVG in light and dark, drawn with matplotlib from the library's values."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import fastndcg as fn

COLOURS = {  # text, fills of documents by label, then one of each line
    "light": ("#1f2328", ("#ffffff", "#b6d4ee", "#79aede"), ("#0b62a8", "#b3480a", "#1d7a3a", "#8a2f9b")),
    "dark": ("#e6edf3", ("#14181e", "#1f4b73", "#2f6fa8"), ("#6cb2e2", "#fb923c", "#6ccf87", "#d99be6")),
}
MARKERS = ("o", "s", "^", "D")
RANKS = range(1, 21)
GRADES = range(5)
DEMO = Path(str(resources.files("fastndcg") / "demo"))
TIMES = Path(__file__).parents[3] / "benchmarks" / "embedding_times.json"  # of record_embedding_times.py
AT_ONCE = 40  # judgments that are revealed at once

LABELS = (0, 1, 0, 2, 1, 0)
SCORES = (3, 2, 2, 2, 1, 1)
IDS = (5, 0, 3, 1, 4, 2)
TIED = ((1, 3), (4, 5))  # first and last place of each group of equal scores
POLICIES = {  # the key by which tied documents are sorted
    "best": lambda document: -LABELS[document],
    "worst": lambda document: LABELS[document],
    "input": lambda document: document,
    "input_reversed": lambda document: -document,
    "id_ascending": lambda document: IDS[document],
    "id_descending": lambda document: -IDS[document],
}
SHOWN = ("average", *POLICIES)


class Line(NamedTuple):
    """A line of a plot: its name, places and values."""

    name: str
    x: Iterable[float]
    y: list[float]


class Plot(NamedTuple):
    """A plot: a caption, a description for people who do not see it, texts at the axes, and the lines."""

    caption: str
    description: str
    x_label: str
    y_label: str
    make_lines: Callable[[], list[Line]]


def make_pages() -> dict[str, str | bytes]:
    """Return all pictures in both themes by their paths."""
    painters = {name: paint_lines(plot, plot.make_lines()) for name, plot in PLOTS.items()}
    painters |= {"ties": paint_ties, "embeddings": paint_times, "change": paint_change}
    return {
        f"_generated/pictures/{name}_{theme}.svg": draw(paint, theme)
        for name, paint in painters.items()
        for theme in COLOURS
    }


def draw(paint: Callable[[Any, str], None], theme: str) -> bytes:
    """Return what a function paints on axes as SVG without dates, so that it does not change from build to build."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    text, _, colours = COLOURS[theme]
    names = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), text)
    cycle = {"axes.prop_cycle": mpl.cycler(color=colours)}
    style = {"svg.hashsalt": "", "font.size": 10, "legend.frameon": False} | names | cycle
    with mpl.rc_context(style):
        figure = Figure(figsize=(5.6, 3.2), layout="constrained")
        axes = figure.add_subplot()
        axes.spines[["top", "right"]].set_visible(False)
        paint(axes, theme)
        file = io.BytesIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return file.getvalue()


def paint_lines(plot: Plot, lines: list[Line]) -> Callable[[Any, str], None]:
    """Return a function that paints lines on axes."""

    def paint(axes: Any, theme: str) -> None:
        for line, marker in zip(lines, MARKERS, strict=False):
            axes.plot(line.x, line.y, label=line.name, marker=marker, markersize=4)
        axes.set(xlabel=plot.x_label, ylabel=plot.y_label, ylim=(0, None))
        axes.xaxis.get_major_locator().set_params(integer=plot.x_label != "recall")
        axes.grid(visible=True, alpha=0.25, color=COLOURS[theme][0])
        axes.legend()

    return paint


def paint_ties(axes: Any, theme: str) -> None:
    """Paint a row of documents for each tie policy, with its nDCG@3."""
    from matplotlib.patches import FancyBboxPatch

    text, fills, _ = COLOURS[theme]
    for place, score in enumerate(SCORES):
        axes.text(place, -1.3, str(score), ha="center")
    for first, last in TIED:
        axes.plot([first - 0.3, first - 0.3, last + 0.3, last + 0.3], [-0.9, -1.1, -1.1, -0.9], color=text)
    rows = [("score", "policy", "nDCG@3")] + [("", policy, f"{compute_ndcg(policy):.4f}") for policy in SHOWN]
    for row, (heading, policy, value) in enumerate(rows, -1):
        axes.text(-3, row - 0.3 * bool(heading), heading or policy, va="center")
        axes.text(len(SCORES), row - 0.3 * bool(heading), value, va="center")
        for first, last, labels in list_boxes(policy) if not heading else ():
            style = {"facecolor": fills[labels[0]]} if first == last else {"fill": False, "linestyle": "--"}
            place, width = (first - 0.3, row - 0.3), last - first + 0.6
            axes.add_patch(FancyBboxPatch(place, width, 0.6, "round,pad=0,rounding_size=0.1", edgecolor=text, **style))
            axes.text((first + last) / 2, row, ", ".join(map(str, labels)), ha="center", va="center")
    axes.set(xlim=(-3, len(SCORES) + 1), ylim=(len(rows) - 1.4, -1.8))
    axes.axis("off")


def list_boxes(policy: str) -> list[tuple[int, int, list[int]]]:
    """Return the boxes of a policy: first and last place, and the labels. All orders of a tie group are one box."""
    if policy == "average":
        groups = ((0, 0), *TIED)
        return [(first, last, sorted(LABELS[first : last + 1], reverse=True)) for first, last in groups]
    return [(place, place, [LABELS[document]]) for place, document in enumerate(sort_documents(policy))]


def sort_documents(policy: str) -> list[int]:
    """Return the documents in the order of a tie policy, which must give the library's value."""
    order = sorted(range(len(LABELS)), key=lambda document: (-SCORES[document], POLICIES[policy](document)))
    in_order = fn.ndcg([[LABELS[document] for document in order]], [[-r for r in range(len(order))]], k=3)
    if abs(in_order[0] - compute_ndcg(policy)) > 1e-12:
        raise ValueError(f"the picture's order of {policy} has nDCG@3 {in_order[0]}, not {compute_ndcg(policy)}")
    return order


def compute_ndcg(policy: str) -> float:
    """Return nDCG@3 under a tie policy."""
    rankings = fn.Rankings(LABELS, SCORES, [0, len(LABELS)], tie_keys=IDS)
    return fn.evaluate(rankings, metrics="ndcg@3", convention=f"default(ties={policy})").means()[0]


def paint_times(axes: Any, theme: str) -> None:
    """Paint the time of evaluations of embeddings as multiples of the matrix product: a bar for each way and length."""
    times = json.loads(TIMES.read_text(encoding="utf-8"))["nanoseconds"]
    ways = {"top 10": "argpartition, top 10", "ranks": "ranks, 12 metrics"}
    rows = [(f"d = {d}: {text}", own[way] / own["product"])
            for d, own in reversed(times.items()) for way, text in ways.items()]  # fmt: skip
    names, ratios = zip(*rows, strict=True)
    colours = COLOURS[theme]
    axes.barh(names, [1] * len(names), color=colours[1][1], label="matrix product")
    bars = axes.barh(names, [max(ratio - 1, 0) for ratio in ratios], left=1, color=colours[2][0], label="on top of it")
    axes.bar_label(bars, [f"{ratio:.2f} ×" for ratio in ratios], padding=4)
    axes.margins(x=0.15)
    axes.get_figure().legend(loc="outside upper center", ncols=2)


def paint_change(axes: Any, theme: str) -> None:
    """Paint the parts of a change, that of the guide."""
    qrels = fn.Qrels(DEMO / "qrels.txt")
    doubtful = {query: {document: min(label, 2) for document, label in qrels[query].items()} for query in qrels}
    runs = [fn.Run(DEMO / f"{name}.run") for name in ("lambdarank", "pointwise")]
    change = fn.explain_change(qrels, *runs, "ndcg@10", truth_after=doubtful, convention_after="default(gain=exp2)")
    change.plot(axes=axes)
    axes.tick_params(colors=COLOURS[theme][0])
    axes.xaxis.label.set_color(COLOURS[theme][0])


def by_rank(metrics: dict[str, str]) -> list[Line]:
    """Return metrics of one relevant document, by its rank."""
    labels = [[int(place == rank) for place in RANKS] for rank in RANKS]
    scores = [[-place for place in RANKS]] * len(RANKS)
    values = {name: fn.evaluate(labels, scores, text).values.ravel() for name, text in metrics.items()}
    return [Line(name, RANKS, own.tolist()) for name, own in values.items()]


def list_cutoffs() -> list[Line]:
    """Return the means of metrics of the demo data at each cutoff."""
    names = ("nDCG", "P", "R", "AP")
    every = [f"{name}@{k}" for name in names for k in RANKS]
    means = fn.evaluate(DEMO / "qrels.txt", DEMO / "lambdarank.run", every).mean()
    return [Line(name, RANKS, [means[f"{name}@{k}"] for k in RANKS]) for name in names]


def list_precisions() -> list[Line]:
    """Return the precision of a query at its relevant documents, and interpolated."""
    labels = [[0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1]]
    scores = [[-place for place in range(len(labels[0]))]]
    recalls = [step / 20 for step in range(21)]
    ranks = [rank for rank, label in enumerate(labels[0], 1) if label]
    metrics = [f"IPrec(recall={recall:g})" for recall in recalls], [f"R@{r}" for r in ranks], [f"P@{r}" for r in ranks]
    precisions, x, y = (fn.evaluate(labels, scores, own).means() for own in metrics)
    return [
        Line("interpolated precision", recalls, precisions),
        Line("precision at each relevant document", x, y),
    ]


def narrow_bounds() -> list[Line]:
    """Return the width of the bounds of the demo runs' difference while labels are revealed, until it is certain."""
    hidden = fn.Qrels(DEMO / "qrels.txt")
    runs = {name: fn.Run(DEMO / f"{name}.run") for name in ("pointwise", "lambdarank")}
    lines = []
    for method in ("difference", "depth", "move_to_front"):
        truth: dict[str, dict[str, float]] = {query: {} for query in hidden}
        widths: dict[float, float] = {}
        is_certain = False
        while not is_certain:
            difference = fn.bounds(truth, runs, "ndcg@10", labels=GRADES).difference("lambdarank", "pointwise")
            widths[sum(map(len, truth.values()))] = difference.width
            is_certain = difference.certain
            for row in fn.judge_next(truth, runs, "ndcg@10", AT_ONCE, method, labels=GRADES):
                truth[row.query][row.document] = hidden[row.query][row.document]
        lines.append(Line(method, list(widths), list(widths.values())))
    return lines


PLOTS = {  # by the name of the file; the metric below which a plot stands is the key of `PLACES`
    "discounts": Plot(
        "Discounts by rank.",
        "Line chart of three discounts at ranks 1 to 20. log2 falls from 1 to 0.23, 1/r to 0.05. log2(max(r, 2)) is 1 "
        "at ranks 1 and 2.",
        "rank", "discount",
        lambda: by_rank({
            "log2: 1 / log2(r + 1)": "DCG",
            "log2(max(r, 2)): 1 / log2(max(r, 2))": "DCG(discount=log2(max(r, 2)))",
            "1/r": "DCG(discount=1/r)",
        }),
    ),
    "persistence": Plot(
        "RBP of one relevant document, by its rank.",
        "Line chart of rank-biased precision for four values of p. With p = 0.5 rank 1 has weight 0.5, and ranks "
        "below 8 have almost none. With p = 0.95 weights fall from 0.05 to 0.02 at rank 20.",
        "rank of the relevant document", "RBP",
        lambda: by_rank({f"p = {p}": f"RBP(p={p})" for p in (0.5, 0.8, 0.9, 0.95)}),
    ),
    "one_document": Plot(
        "Metrics of one relevant document, by its rank.",
        "Line chart for a query with one relevant document. RR falls from 1 to 0.05 at rank 20, nDCG to 0.23. "
        "Success@10 is 1 down to rank 10 and 0 below.",
        "rank of the relevant document", "value",
        lambda: by_rank({name: name for name in ("RR", "nDCG", "Success@10")}),
    ),
    "cutoffs": Plot(
        "Metrics against the cutoff. The values are means over the demo data of the package, the run `lambdarank`.",
        "Line chart of nDCG, P, R and AP at cutoffs 1 to 20 on the demo data. P falls from 0.82 to 0.55. R rises from "
        "0.09 to 0.99. nDCG rises from 0.68 at cutoff 2 to 0.85.",
        "cutoff k", "mean over queries", list_cutoffs,
    ),
    "interpolated": Plot(
        "Precision of one query at its relevant documents, and interpolated.",
        "Line chart of precision against recall for five relevant documents. The interpolated line has steps and never "
        "rises with recall.",
        "recall", "precision", list_precisions,
    ),
    "judgments": Plot(
        "Judgments to certainty.",
        "Line chart of the width of the bounds of a difference against the number of judgments, by method.",
        "documents judged", "width of the bounds", narrow_bounds,
    ),
}  # fmt: skip
PLACES = {
    "nDCG": "cutoffs", "DCG": "discounts", "RBP": "persistence", "P": "cutoffs", "RR": "one_document",
    "IPrec": "interpolated",
}  # fmt: skip

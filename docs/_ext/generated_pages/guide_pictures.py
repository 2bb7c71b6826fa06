"""
The pictures of the guides.

They show metrics against the cutoff, one ranking under each tie policy, the time of an evaluation of embeddings, the
parts of a change, and how judgments narrow the bounds of a difference.
"""

from __future__ import annotations

import json
from html import escape
from importlib import resources
from pathlib import Path

import fastndcg as fn
from fastndcg.reports.plots import make_change
from fastndcg.reports.svg import write_figure
from generated_pages.metric_plots import Line, Plot, draw

CUTOFFS = range(1, 21)
CUTOFF_PLOT = Plot(
    "metrics against the cutoff", "nDCG, P and R of the demo data at cutoffs from 1 to 20", "cutoff k", "mean", list
)

JUDGMENTS_PLOT = Plot(
    "judgments to certainty", "the width of the bounds of a difference against the number of judgments, by method",
    "documents judged", "width of the bounds", list,
)  # fmt: skip
AT_ONCE = 40  # judgments that are revealed at once

LABELS = (0, 1, 0, 2, 1, 0)
SCORES = (3, 2, 2, 2, 1, 1)
IDS = (5, 0, 3, 1, 4, 2)
POLICIES = {  # the key by which tied documents are sorted
    "best": lambda document: -LABELS[document],
    "worst": lambda document: LABELS[document],
    "input": lambda document: document,
    "input_reversed": lambda document: -document,
    "id_ascending": lambda document: IDS[document],
    "id_descending": lambda document: -IDS[document],
}
TEXT = {"light": "#1f2328", "dark": "#e6edf3"}
BOXES = {  # fill and text of a document, by its label
    "light": (("#ffffff", "#1f2328"), ("#b6d4ee", "#1f2328"), ("#0b62a8", "#ffffff")),
    "dark": (("#14181e", "#e6edf3"), ("#1f4b73", "#e6edf3"), ("#6cb2e2", "#14181e")),
}
LEFT = 136  # pixels, like those below
TOP = 62
STEP = 46
ROW = 44
BOX = 34
WIDTH = 520
HEIGHT = TOP + 7 * ROW + 6
TIMES = Path(__file__).parents[2] / "benchmarks" / "embedding_times.json"  # of record_embedding_times.py
WAYS = {"ranks": "ranks, 12 metrics", "top 10": "argpartition, top 10"}
PARTS = {  # fill of the product, and of what comes on top
    "light": ("#b6d4ee", "#0b62a8"),
    "dark": ("#1f4b73", "#6cb2e2"),
}
BAR_LEFT = 250
BAR_WIDTH = 330
BAR_ROW = 26
TIME_WIDTH = 660


def make_pages() -> dict[str, str | bytes]:
    """Return the pictures, in the colours of both themes."""
    lines = list_cutoff_lines()
    judging_lines = [narrow_bounds(method) for method in ("difference", "depth", "move_to_front")]
    pages: dict[str, str | bytes] = {}
    for theme in TEXT:
        pages[f"_generated/pictures/cutoffs_{theme}.svg"] = draw(CUTOFF_PLOT, lines, theme)
        pages[f"_generated/pictures/judgments_{theme}.svg"] = draw(JUDGMENTS_PLOT, judging_lines, theme)
        pages[f"_generated/pictures/ties_{theme}.svg"] = "\n".join(draw_ties(theme)) + "\n"
        pages[f"_generated/pictures/embeddings_{theme}.svg"] = "\n".join(draw_times(theme)) + "\n"
        pages[f"_generated/pictures/change_{theme}.svg"] = draw_change(theme) + "\n"
    return pages


def draw_change(theme: str) -> str:
    """Return the picture of the parts of a change, that of the guide, as the package draws it."""
    demo = resources.files("fastndcg") / "demo"
    runs = [fn.Run(str(demo / f"{name}.run")) for name in ("lambdarank", "pointwise")]
    qrels = fn.Qrels(str(demo / "qrels.txt"))
    doubtful = {query: {document: min(label, 2) for document, label in qrels[query].items()} for query in qrels}
    change = fn.explain_change(qrels, *runs, "ndcg@10", truth_after=doubtful, convention_after="default(gain=exp2)")
    svg = write_figure(make_change(change), "What queries, judgments, convention and ranking add to nDCG@10")
    colours = {"ink": TEXT[theme], "faint": "#8a8a8a", "c0": PARTS[theme][1], "c1": "#d55e00"}
    style = ";".join(f"--{name}:{colour}" for name, colour in colours.items())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" style="{style}" fill="{TEXT[theme]}"'
    rules = "<style>.grid{stroke:var(--faint);opacity:.3}text{font:14px system-ui,sans-serif}</style>"
    return svg.replace("<svg", head, 1).replace(">", f">{rules}", 1)


def list_cutoff_lines() -> list[Line]:
    """Return the means of three metrics of the demo data at each cutoff."""
    demo = resources.files("fastndcg") / "demo"
    metrics = {name: [f"{name}@{k}" for k in CUTOFFS] for name in ("nDCG", "R", "P")}
    every = [metric for row in metrics.values() for metric in row]
    means = fn.evaluate(demo / "qrels.txt", demo / "lambdarank.run", every).mean()
    return [Line(name, list(CUTOFFS), [means[metric] for metric in row]) for name, row in metrics.items()]


def narrow_bounds(method: str) -> Line:
    """Return the width of the bounds of the demo runs' difference while labels are revealed, until it is certain."""
    demo = resources.files("fastndcg") / "demo"
    hidden = fn.Qrels(demo / "qrels.txt")
    runs = {name: fn.Run(demo / f"{name}.run") for name in ("pointwise", "lambdarank")}
    truth: dict[str, dict[str, float]] = {query: {} for query in hidden}
    line = Line(method, [], [])
    while True:
        difference = fn.bounds(truth, runs, "ndcg@10", labels=range(5)).difference("lambdarank", "pointwise")
        line.x.append(sum(map(len, truth.values())))
        line.y.append(difference.width)
        if difference.certain:
            return line
        for row in fn.judge_next(truth, runs, "ndcg@10", AT_ONCE, method, labels=range(5)):
            truth[row.query][row.document] = hidden[row.query][row.document]


def draw_ties(theme: str) -> list[str]:
    """Return the lines of the picture of tie policies: a row of boxes for each policy, and its nDCG@3."""
    colour = TEXT[theme]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="system-ui, sans-serif" font-size="14" role="img">',
        "<title>Six documents under each tie policy</title>",
        _text(8, 22, "score", colour),
        _text(8, 46, "policy", colour),
        _text(LEFT + 6 * STEP + 14, 46, "nDCG@3", colour),
    ]
    for rank, score in enumerate(SCORES):
        lines.append(_text(_middle(rank), 22, str(score), colour, anchor="middle"))
    for first, last in _tie_groups():
        lines.append(
            f'<path d="M{_middle(first) - 15} 36v-7h{(last - first) * STEP + 30}v7" fill="none" stroke="{colour}"/>'
        )
    for row, policy in enumerate(("average", *POLICIES)):
        top = TOP + row * ROW
        lines.append(_text(8, top + 22, policy, colour))
        lines += _draw_average(top, theme) if policy == "average" else _draw_order(sort_documents(policy), top, theme)
        lines.append(_text(LEFT + 6 * STEP + 14, top + 22, f"{compute_ndcg(policy):.4f}", colour))
    return [*lines, "</svg>"]


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


def draw_times(theme: str) -> list[str]:
    """Return the lines of the picture of times: a bar for each way and length of vectors."""
    times = json.loads(TIMES.read_text(encoding="utf-8"))["nanoseconds"]
    colour = TEXT[theme]
    height = 40 + BAR_ROW * (len(WAYS) + 0.5) * len(times)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {TIME_WIDTH} {height:g}" width="{TIME_WIDTH}"'
        f' height="{height:g}" font-family="system-ui, sans-serif" font-size="14" role="img">',
        "<title>Time of an evaluation as a multiple of the matrix product</title>",
        *_draw_key(theme),
    ]
    longest = max(own[way] / own["product"] for own in times.values() for way in WAYS)
    top = 40.0
    for n_columns, own in times.items():
        lines.append(_text(8, int(top) + 17, f"d = {n_columns}", colour))
        for way, name in WAYS.items():
            ratio = own[way] / own["product"]
            unit = BAR_WIDTH / longest
            lines.append(_text(BAR_LEFT - 8, int(top) + 17, name, colour, anchor="end"))
            for start, width, fill in zip((0, 1), (1, max(ratio - 1, 0)), PARTS[theme], strict=True):
                lines.append(
                    f'<rect x="{BAR_LEFT + start * unit:.1f}" y="{top + 3:g}" width="{width * unit:.1f}"'
                    f' height="{BAR_ROW - 7}" fill="{fill}"/>'
                )
            lines.append(_text(int(BAR_LEFT + max(ratio, 1) * unit) + 8, int(top) + 17, f"{ratio:.2f} ×", colour))
            top += BAR_ROW
        top += BAR_ROW / 2
    return [*lines, "</svg>"]


def _draw_key(theme: str) -> list[str]:
    """Return the key of the parts of a bar."""
    lines = []
    for x, fill, name in zip((BAR_LEFT, BAR_LEFT + 150), PARTS[theme], ("matrix product", "on top of it"), strict=True):
        lines.append(f'<rect x="{x}" y="8" width="14" height="14" fill="{fill}"/>')
        lines.append(_text(x + 20, 20, name, TEXT[theme]))
    return lines


def _draw_average(top: int, theme: str) -> list[str]:
    lines = _draw_box(0, top, LABELS[0], theme)
    for first, last in _tie_groups():
        x = _middle(first) - BOX // 2
        width = (last - first) * STEP + BOX
        labels = ", ".join(str(label) for label in sorted(LABELS[first : last + 1], reverse=True))
        lines.append(
            f'<rect x="{x}" y="{top}" width="{width}" height="{BOX}" rx="5" fill="none" stroke="{TEXT[theme]}"'
            ' stroke-dasharray="5 4"/>'
        )
        lines.append(_text(x + width // 2, top + 22, labels, TEXT[theme], anchor="middle"))
    return lines


def _draw_order(order: list[int], top: int, theme: str) -> list[str]:
    return [line for rank, document in enumerate(order) for line in _draw_box(rank, top, LABELS[document], theme)]


def _draw_box(rank: int, top: int, label: int, theme: str) -> list[str]:
    fill, colour = BOXES[theme][label]
    x = _middle(rank)
    return [
        f'<rect x="{x - BOX // 2}" y="{top}" width="{BOX}" height="{BOX}" rx="5" fill="{fill}"'
        f' stroke="{TEXT[theme]}"/>',
        _text(x, top + 22, str(label), colour, anchor="middle"),
    ]


def _tie_groups() -> list[tuple[int, int]]:
    """Return the first and the last place of each group of equal scores with two documents or more."""
    groups = [(SCORES.index(score), len(SCORES) - 1 - SCORES[::-1].index(score)) for score in sorted(set(SCORES))]
    return [(first, last) for first, last in groups if last > first]


def _middle(rank: int) -> int:
    return LEFT + rank * STEP + BOX // 2


def _text(x: int, y: int, text: str, colour: str, *, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'

"""ranx's `plot`, exported by `fastndcg.compat.ranx`."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.choices import RanxGraph
from fastndcg.compat.ranx.metrics import RECALLS, interpolated_precision_at_recall
from fastndcg.compat.ranx.qrels import Qrels
from fastndcg.compat.ranx.run import Run
from fastndcg.errors import InvalidInputError, shorten, suggest_name
from fastndcg.runtime.optional_packages import optional_import

GRAPHS = ("iprec_at_recall",)
TICKS = np.arange(11) / 10


def plot(
    qrels: Qrels, runs: Run | list[Run], graph: RanxGraph = "iprec_at_recall", return_graph: bool = True,
    figsize: tuple[float, float] | None = None, seaborn_kwargs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """
    Draw the interpolated precision of runs against recall. See `ranx.plot`.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    runs : Run or list of Run
        One or more runs. A run without a name is called run, or run_1, run_2, … by its position in a list.
    graph : {'iprec_at_recall'}
        The kind of graph.
    return_graph : bool
        True to draw with seaborn and show the figure, False to return the values.
    figsize : tuple of float, optional
        Width and height in inches, by default 8 and 5.
    seaborn_kwargs : dict, optional
        Arguments of `seaborn.lineplot`, by default ``{"linewidth": 2.5}``.

    Returns
    -------
    matplotlib.axes.Axes or pandas.DataFrame
        The axes, or a data frame with the columns Model, recall and precision, and 11 rows for each run.

    Raises
    ------
    InvalidInputError
        If `graph` is unknown, or there is no run.
    MissingPackageError
        If pandas is not installed, or seaborn is not and the graph is drawn.
    """
    if graph not in GRAPHS:
        hint = suggest_name(graph, GRAPHS) or f" Choose {GRAPHS[0]!r}."
        raise InvalidInputError(f"`graph` {shorten(graph)} is not known.{hint}")
    pandas = optional_import("pandas", "ranx's plot", "ranx")
    listed_runs = [runs] if isinstance(runs, Run) else list(runs)
    if not listed_runs:
        raise InvalidInputError("`runs` must have 1 run or more, but is empty. Pass a Run, or a list of them.")
    default_names = ["run"] if isinstance(runs, Run) else [f"run_{place + 1}" for place in range(len(listed_runs))]
    names = [default if run.name is None else run.name for run, default in zip(listed_runs, default_names, strict=True)]
    means = [interpolated_precision_at_recall(qrels, run).mean(axis=0) for run in listed_runs]
    frame = pandas.DataFrame(
        {
            "Model": np.repeat(np.array(names, dtype=object), len(RECALLS)),
            "recall": np.tile(RECALLS, len(names)),
            "precision": np.concatenate(means),
        }
    )
    return _draw(frame, figsize or (8, 5), seaborn_kwargs or {"linewidth": 2.5}) if return_graph else frame


def _draw(frame: Any, figsize: tuple[float, float], options: dict[str, Any]) -> Any:
    """Draw a line for each model, show the figure, and return its axes."""
    seaborn = optional_import("seaborn", "ranx's plot", "ranx")
    pyplot = optional_import("matplotlib.pyplot", "ranx's plot", "ranx")
    pyplot.figure(figsize=figsize)
    axes = seaborn.lineplot(data=frame, x="recall", y="precision", hue="Model", **options)
    axes.set(title="Precision-Recall Curve", xlabel="Recall", ylabel="Precision", xticks=TICKS, yticks=TICKS)
    pyplot.show()
    return axes

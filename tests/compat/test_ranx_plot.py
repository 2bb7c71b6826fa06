"""The drop-in for ranx's plot: values of the library, and the figure."""

import sys

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.compat import ranx as ours

QRELS = {"q1": {"a": 1, "b": 2, "c": 0}, "q2": {"a": 0}, "q3": {f"d{number}": 1 for number in range(7)}}
RUN = {"q1": {"c": 3, "b": 2, "a": 1}, "q2": {"a": 1}, "q3": {f"d{number}": number for number in range(1, 12, 2)}}


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
def test_ranx_plot_values_equal_library(ranx_library):
    """The data frame of the curve equals ranx's, with its names, for one run and for several."""
    pytest.importorskip("pandas")
    for names in (("bm25",), (None,), (None, "bm25"), ("a", None)):
        runs, their_runs = ([kind(RUN, name) for name in names] for kind in (ours.Run, ranx_library.Run))
        options = {"return_graph": False}
        frame = ours.plot(ours.Qrels(QRELS), runs, **options)
        expected = ranx_library.plot(ranx_library.Qrels(QRELS), their_runs, **options)
        assert list(frame.columns) == list(expected.columns)
        assert frame["Model"].tolist() == expected["Model"].tolist()
        np.testing.assert_allclose(frame[["recall", "precision"]], expected[["recall", "precision"]], rtol=1e-12)
    frame = ours.plot(ours.Qrels(QRELS), ours.Run(RUN), return_graph=False)
    expected = ranx_library.plot(ranx_library.Qrels(QRELS), ranx_library.Run(RUN), return_graph=False)
    assert frame["Model"].unique().tolist() == expected["Model"].unique().tolist() == ["run"]


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
def test_ranx_plot_draws_a_line_for_each_run(monkeypatch):
    """The figure has a line for each run, ranx's labels, the size and the options of seaborn."""
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("seaborn")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.gcf()))
    runs = [ours.Run(RUN, "one"), ours.Run(RUN, "two")]
    axes = ours.plot(ours.Qrels(QRELS), runs, figsize=(4, 3), seaborn_kwargs={"linewidth": 5})
    assert shown == [axes.figure]
    assert axes.figure.get_size_inches().tolist() == [4, 3]
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("Precision-Recall Curve", "Recall", "Precision")
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 11]
    assert len(lines) == 2
    assert lines[0].get_linewidth() == 5
    frame = ours.plot(ours.Qrels(QRELS), runs, return_graph=False)
    np.testing.assert_array_equal(lines[0].get_ydata(), frame["precision"][:11])
    pyplot.close("all")


def test_ranx_plot_raises_on_wrong_input(monkeypatch):
    """An unknown graph, no run, and an absent seaborn raise errors that name the remedy."""
    pytest.importorskip("pandas")
    qrels, run = ours.Qrels(QRELS), ours.Run(RUN)
    with pytest.raises(fn.InvalidInputError, match=r"`graph` 'iprec' is not known. Choose 'iprec_at_recall'"):
        ours.plot(qrels, run, graph="iprec")
    with pytest.raises(fn.InvalidInputError, match="`runs` must have 1 run or more"):
        ours.plot(qrels, [])
    monkeypatch.setitem(sys.modules, "seaborn", None)
    with pytest.raises(fn.MissingPackageError, match="ranx's plot needs seaborn"):
        ours.plot(qrels, run)

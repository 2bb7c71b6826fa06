"""Direction: wherever systems are compared, to turn values and their direction round changes signs alone."""

import re
import sys
from dataclasses import replace
from functools import partial
from importlib import import_module
from types import ModuleType

import numba
import numpy as np
import pytest
from fusion_cases import draw_runs
from refusals import refused

import fastndcg as fn
from fastndcg.fusion.tuning.search import list_grid
from fastndcg.integrations import boosting
from fastndcg.integrations.spark import partitions
from fastndcg.integrations.spark.compare import _Summary
from fastndcg.metrics.families import CATALOG
from fastndcg.results.results import Results
from fastndcg.statistics import moments
from fastndcg.statistics.settings import Settings
from fastndcg.testing import assert_not_worse

pytest.importorskip("scipy")
N = 48
MIRRORED = {"above": "below", "at least": "at most", "floor": "ceiling", "lower": "upper"}
MIRRORED |= {right: left for left, right in MIRRORED.items()}
WORDS = re.compile("|".join(MIRRORED))
NUMBER = re.compile(r"[−+-]?\d[\d.e+-]*")


def register(name, higher_is_better):
    """Register a metric that is never evaluated."""
    return fn.register(
        lambda *_: 0.0, name=name, title="own", formula="0", range="any", source="us", higher_is_better=higher_is_better
    )


def list_metrics():
    """Return all metrics of queries that have a direction, and a custom one of each."""
    register("Gain", True)
    register("Cost", False)
    return tuple(metric for metric in map(fn.Metric, CATALOG) if metric.sign and not metric.record.has_one_value)


def is_of_labels(metric):
    return metric.record.function_name == "evaluate" and metric.record.view == "labels"


def list_directed():
    return [metric for metric in map(fn.Metric, CATALOG) if metric.sign and is_of_labels(metric)]


def turn(values, metrics):
    """Return values with the other sign, or mirrored within their range. They are multiples of 2⁻⁶."""
    return np.stack([turn_value(column, metric) for column, metric in zip(values.T, metrics, strict=True)], 1)


def turn_value(value, metric):
    return sum(moments.RANGES.get(metric.record.range, (0.0, 0.0))) - value


def make_systems(metrics):
    """Return the values of three systems: hits, shares or counts, which differ more or less from metric to metric."""
    generator = np.random.default_rng(7)
    systems = {}
    for place, name in enumerate("abc"):
        columns = []
        for number, metric in enumerate(metrics):
            lift = place * (number % 5 - 2) * metric.sign
            low, high = moments.RANGES.get(metric.record.range, (0.0, 9.0))
            shares = np.clip(generator.integers(0, 65, N) + 12 * lift, 0, 64) / 64
            columns.append(low + (high - low) * (np.rint(shares) if number % 20 == 0 else shares))
        systems[name] = np.stack(columns, 1)
    return systems


@pytest.fixture
def both():
    """Yield a function that returns what another one makes of results, and of their mirror image."""
    metrics = list_metrics()
    ids = np.array([f"q{chr(97 + query // 7)}{chr(97 + query % 7)}" for query in range(N)], object)  # without numbers
    values = make_systems(metrics)

    def results(turned):
        columns = {name: turn(own, metrics) if turned else own for name, own in values.items()}
        return {name: Results(own, metrics, ids, fn.conventions["default"]) for name, own in columns.items()}

    def compute(function):
        first = function(results(False), lambda value, metric: value)
        for name, record in CATALOG.items():
            if record.higher_is_better is not None:
                CATALOG[name] = replace(record, higher_is_better=not record.higher_is_better)
        return first, function(results(True), turn_value)

    return compute


def test_every_metric_has_a_sign_and_some_have_none():
    undirected = [fn.Metric(name) for name in CATALOG if not fn.Metric(name).sign]
    assert list(map(str, undirected)) == ["IDCG", "num_ret", "num_rel", "chance_Rank", "chance_RR", "chance_Success"]
    texts = {"rr": 1, "rank": -1, "gm(rank)": -1, "amr": -1, "amri": 1, "adjusted(success@3)": 1, "worst(fallout)": -1}
    assert {text: fn.Metric.parse(text).sign for text in texts} == texts
    refused("worst must have metrics of which higher or lower values are bette", fn.Metric.parse, "worst(num_ret)")


@pytest.mark.parametrize("options", [
    {}, {"sequential": True}, {"floors": " by limit"}, {"interval": "t"}, {"margin": "2%"},
], ids=str)  # fmt: skip
def test_gate_is_mirrored(both, options, monkeypatch):
    """With the margin a share of a mean, values are not mirrored within a range, which would change the mean."""
    if "margin" in options:
        monkeypatch.setattr(moments, "RANGES", {})

    def judge(results, turn_own):
        metrics = [metric for metric in results["a"].metrics if metric.record.function_name == "evaluate"]
        by_limit = options.get("floors", "")
        floors = {str(metric): turn_own(0.25, metric) for metric in metrics[::4]}
        floors = {name: f"{floor}{by_limit}" if by_limit else floor for name, floor in floors.items()}
        return fn.gate(None, results["a"], results["b"], **({"margin": 1 / 32} | options | {"floors": floors}))

    gate, mirrored = both(judge)
    assert {row.verdict for row in gate} == {"pass", "fail", "undecided"}
    for row, other in zip(gate, mirrored, strict=True):
        metric = fn.Metric(row.metric)
        same = ("metric", "verdict", "n", "wins", "losses", "n_needed", "method")
        assert [getattr(row, name) for name in same] == [getattr(other, name) for name in same]
        differences = (row.difference, row.low, row.high, row.margin)
        assert differences == pytest.approx((-other.difference, -other.high, -other.low, other.margin), nan_ok=True)
        values = [turn_value(value, metric) for value in (other.baseline, other.candidate, other.floor)]
        assert (row.baseline, row.candidate, row.floor) == pytest.approx(tuple(values), nan_ok=True)
        words = WORDS.sub(lambda match: MIRRORED[match[0]], row.reason)
        assert NUMBER.sub("#", words) == NUMBER.sub("#", other.reason)
    assert all(np.sign(row.difference) == -fn.Metric(row.metric).sign for row in mirrored.regressed)  # as turned round
    assert [(row.query, row.metric) for row in gate.regressed] == [
        (row.query, row.metric) for row in mirrored.regressed
    ]


def test_assert_not_worse_takes_a_lower_rank_for_better():
    labels = np.tile([1, 0, 0], (N, 1))
    first, last = np.tile([3.0, 2.0, 1.0], (N, 1)), np.tile([1.0, 2.0, 3.0], (N, 1))
    last[0, 0] = 2.5
    assert assert_not_worse(labels, last, first, "rank, rr").verdict == "pass"
    for metric, words in (("rank", "is above 0.5: at least"), ("rr", "is below −0.5: at most")):
        refused(words, assert_not_worse, labels, first, last, metric, margin=0.5, error=AssertionError)


COMPARISONS = (
    {"interval": "percentile", "test": "bootstrap"}, {"alternative": "greater"}, {"alternative": "less", "test": "t"},
    {"alternative": "greater", "test": "wilcoxon"}, {"alternative": "less", "test": "sign", "correction": "bh"},
    {"alternative": "greater", "test": "bootstrap", "interval": "t"}, {"test": "tukey"},
)  # fmt: skip


@pytest.mark.parametrize("options", COMPARISONS, ids=str)
def test_comparison_is_mirrored(both, options):
    """Won and lost, one-sided tests and their notes are those of the mirror image. Numbers have the other sign."""

    def compare(results, _):
        found = fn.compare(results, replicates=200, family="metric", **options)
        by = found.by(np.arange(N) % 2)
        p = [row.p for row in found.equivalence(0.25)]
        return found, [row.outcome for row in found.rows], [NUMBER.sub("#", note) for note in found.notes], p, by

    (found, *words, p, by), (turned, *turned_words, turned_p, turned_by) = both(compare)
    assert words == turned_words
    assert p == pytest.approx(turned_p, abs=1e-12)
    assert {"better", "worse"} <= set(words[0])
    check_rows(found.rows, turned.rows)
    check_differences(by, turned_by)


def check_rows(rows, others):
    """Check the rows of a comparison and of its mirror image: who wins, how surely, and numbers with the other sign."""
    same = (
        "system", "n", "n_pairs", "wins", "ties", "losses", "significant", "exact", "reason", "mark", "counts",
    )  # fmt: skip
    alike = ("p", "p_corrected", "smallest_p", "smallest_difference", "standard_error")
    for row, other in zip(rows, others, strict=True):
        assert [str(getattr(row, name)) for name in same] == [str(getattr(other, name)) for name in same]
        numbers = [getattr(row, name) for name in alike]
        assert numbers == pytest.approx([getattr(other, name) for name in alike], abs=1e-12, nan_ok=True)
        turned = (-other.statistic, -other.effect)
        assert (row.statistic, row.effect) == pytest.approx(turned, nan_ok=True)
    check_differences(rows, others)


def check_differences(rows, others):
    for row, other in zip(rows, others, strict=True):
        turned = -other.difference, -other.difference_high, -other.difference_low
        assert (row.difference, row.difference_low, row.difference_high) == pytest.approx(turned, nan_ok=True)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_spark_comparison_is_mirrored(both, alternative):
    """Of the sums of two tasks, without Spark. Queries are won and lost where values are 0 and 1."""

    def compare(results, _):
        request = partitions.Request(results["a"].metrics, fn.conventions["default"], 1)
        task = partitions.PairsTask(request, (), tuple(results), 0)
        halves = [
            {name: Results(own.values[half::2], own.metrics, own.query_ids[half::2], own.convention)
             for name, own in results.items()}
            for half in (0, 1)
        ]  # fmt: skip
        sums = partitions.add_up_parts([task._compare(half, N // 2, 0)._asdict() for half in halves])
        summary = _Summary(request, task.systems, 0, Settings(test="t", alternative=alternative))
        found = summary.tabulate(*sums)
        whole = fn.compare(results, test="t", interval="t", alternative=alternative)
        for name, own, other in (
            ("p", found.equivalence(0.25), whole.equivalence(0.25)),
            ("smallest_difference", found.smallest_difference(0.9), whole.smallest_difference(0.9)),
        ):
            numbers = [[getattr(row, name) for row in table] for table in (own, other)]
            assert numbers[0] == pytest.approx(numbers[1], nan_ok=True)
        return found, [row.outcome for row in found], [NUMBER.sub("#", note) for note in found.notes]

    (found, *words), (turned, *turned_words) = both(compare)
    assert words == turned_words
    assert len({row.counts for row in found}) > 2
    check_rows(found, turned)


def strip(markup):
    """Return a page without numbers, figures and scripts, which have them in other places."""
    for part in (r"<svg.*?</svg>", r"<script.*?</script>", r"<style.*?</style>", r'href="data:[^"]*"', 'style="[^"]*"'):
        markup = re.sub(part, "", markup, flags=re.DOTALL)
    return NUMBER.sub("#", markup.replace(", lower is better", ""))


def test_texts_and_pages_are_mirrored(both):
    """The order of systems, colours, arrows, counts, sentences, and the queries won and lost most."""
    pytest.importorskip("jinja2")
    from fastndcg.reports import text
    from fastndcg.reports.page import page
    from fastndcg.reports.queries import MetricValues

    def write(results, _):
        found = fn.compare(results, replicates=100, test="t")
        segments = np.arange(N) % 2
        values = [MetricValues(found, place) for place in range(len(found.metrics))]
        lists = [(own.find_most_won(system), own.find_most_lost(system)) for own in values for system in (1, 2)]
        outcomes = np.stack([own.outcomes for own in values])
        sent = [own.sign for own in values]
        lines = "".join(text.terminal(found, [found.by(segments)], colour=True))
        for name, code in text.COLOURS.items():
            lines = lines.replace(code, f"<{name}>")
        return strip(page(found, segments=segments)), re.sub(" +", " ", NUMBER.sub("#", lines)), lists, outcomes, sent

    (*texts, outcomes, signs), (*turned_texts, turned_outcomes, turned_signs) = both(write)
    for outcome, arrow in (("better", "▲"), ("worse", "▼")):
        assert f'class="mark {outcome}">{arrow} *' in texts[0]
        assert f"<{outcome}>" in texts[1]
    assert texts == turned_texts
    assert (outcomes == turned_outcomes).all()
    assert signs == [-sign for sign in turned_signs]


def find_colours(figure, sign):
    """Return the colour of each bar of a histogram, or of its mirror image, by its middle."""
    return {round(sign * sum(mark.x), 9): mark.colour for mark in figure.marks if mark.kind == "bar"}


def test_plots_are_mirrored(both):
    """The best on top, in the colour of what is better. Of many systems the best has a band."""
    from fastndcg.reports import plots

    def draw(results, _):
        found = fn.compare(results, replicates=100, test="t")
        boards = [fn.leaderboard(found, metric=metric, replicates=100) for metric in found.metrics[:9]]
        return (
            [plots.make_forest(found, metric) for metric in found.metrics],
            [plots.make_histograms(found, metric) for metric in found.metrics],
            [[mark.colour for mark in plots.make_leaderboard(board).marks] for board in boards],
        )

    (forests, histograms, colours), (turned_forests, turned_histograms, turned_colours) = both(draw)
    assert colours == turned_colours
    for figure, turned in zip(forests, turned_forests, strict=True):
        assert figure.names == turned.names
        for mark, other in zip(figure.marks, turned.marks, strict=True):
            assert (mark.kind, mark.colour, mark.y, mark.is_filled) == (
                other.kind, other.colour, other.y, other.is_filled,
            )  # fmt: skip
            expected = np.sort(-np.ravel(other.x))
            assert np.sort(np.ravel(mark.x)) == pytest.approx(expected, abs=1e-9, nan_ok=True)
    for figures, turned in zip(histograms, turned_histograms, strict=True):
        assert list(figures) == list(turned)
        for figure, other in zip(figures.values(), turned.values(), strict=True):
            bars, turned_bars = find_colours(figure, 1), find_colours(other, -1)
            common = bars.keys() & turned_bars.keys()  # a difference at the edge of two bars is in the right one
            assert len(common) > len(bars) / 2
            assert {middle: bars[middle] for middle in common} == {middle: turned_bars[middle] for middle in common}


@pytest.mark.parametrize(("metric", "best"), [(fn.P, 7), (fn.FallOut, 0), (fn.num_ret, 0)])
def test_band_of_the_best_curve(metric, best):
    """With more than six systems, that of the baseline and of the best are visible."""
    from fastndcg.reports.plots import make_curve

    metrics = tuple(metric @ k for k in (1, 2, 5))
    values = np.linspace(0.2, 0.8, 8)
    systems = {str(place): Results(np.full((4, 3), values[place]), metrics, np.arange(4), fn.conventions["default"])
               for place in range(8)}  # fmt: skip
    found = fn.compare(systems, test="t", baseline="4")
    bands = [mark for mark in make_curve(found, found.curves()).marks if mark.kind == "band"]
    assert [place for place, mark in enumerate(bands) if not mark.is_hidden] == sorted({4, best})


def list_board(board):
    """Return what a leaderboard says beside numbers, and its numbers."""
    names = ("system", "rank", "rank_low", "rank_high", "tier", "wins", "losses")
    ranks = [tuple(getattr(row, name) for name in names) for row in board]
    return [ranks, board.tiers, [(pair.system, pair.against, pair.sure) for pair in board.pairs()]]


def test_leaderboard_is_mirrored(both):
    """Check leaderboards of a comparison, of data sets, of other data sets, and of published means."""

    def rank(results, _):
        comparison = fn.compare(results, interval="t", test="t")
        boards = [fn.leaderboard(comparison, metric=metric, replicates=100) for metric in comparison.metrics]
        halves = {
            name: {half: Results(own.values[half::2], own.metrics, own.query_ids[half::2], own.convention)
                   for half in (0, 1)}
            for name, own in results.items()
        }  # fmt: skip
        for metric in comparison.metrics[20:24]:
            for unit in ("queries", "datasets"):
                boards.append(fn.leaderboard({0: None, 1: None}, halves, metric, resample=unit, replicates=100))
            published = {
                name: {half: own.means()[own.metrics.index(metric)] for half, own in both.items()}
                for name, both in halves.items()
            }
            boards.append(fn.leaderboard(published, metric=metric, replicates=100))
        return boards

    boards, mirrored = both(rank)
    assert len({str(list_board(board)) for board in boards}) > 10
    for board, other in zip(boards, mirrored, strict=True):
        assert list_board(board) == list_board(other)
        metric = fn.Metric(board.metric)
        for row, turned in zip(board, other, strict=True):
            values = tuple(turn_value(value, metric) for value in (turned.mean, turned.high, turned.low))
            assert (row.mean, row.low, row.high) == pytest.approx(values, nan_ok=True)
        for pair, turned in zip(board.pairs(), other.pairs(), strict=True):
            differences = -turned.difference, -turned.high, -turned.low
            assert (pair.difference, pair.low, pair.high) == pytest.approx(differences)


def test_published_means_of_an_unknown_metric_are_better_if_higher():
    published = {"a": {"x": 1.5, "y": 1.0}, "b": {"x": 3.0, "y": 4.0}}
    boards = {name: fn.leaderboard(published, metric=name) for name in ("mean_rank", "clicks")}
    assert [board[0].system for board in boards.values()] == ["a", "b"]
    notes = [
        [note for note in board.notes if "higher values are taken for better" in note] for board in boards.values()
    ]
    assert notes == [[], ["clicks is not known: higher values are taken for better"]]


def test_tuning_takes_the_best_mean_of_every_metric():
    """The lowest of the curve of all weights where lower is better; of a grid, the best of all its points."""
    qrels, runs = draw_runs(3, n_queries=5, n_documents=7)
    metrics = [metric for metric in list_directed() if metric != fn.GAUC]  # whose mean is weighted
    convention = "default(ties=id_ascending)"
    fused = (fn.fuse(runs, "harmonic_mean(norm=min_max)", weights=weights) for weights in list_grid(2))
    means = [fn.evaluate(qrels, run, metrics, convention=convention).means() for run in fused]
    for place, metric in enumerate(metrics):
        for method in ("wsum(norm=min_max)", "harmonic_mean(norm=min_max)"):
            tuned = fn.tune_fusion(qrels, runs, metric, [method], folds=2, convention=convention)
            points = tuned.curve.step_means if method[0] == "w" else np.array([row[place] for row in means])
            best = float((metric.sign * points).max())
            assert metric.sign * tuned.best.mean == pytest.approx(best, abs=1e-12), (metric, method)


def test_systems_are_compared_by_the_direction_of_every_metric():
    """Runs against their mirror images, in a comparison, a gate and a leaderboard."""
    generator = np.random.default_rng(5)
    labels = generator.integers(0, 4, (N, 8))
    labels[:, :3] = 1, 3, 0
    good = labels + generator.normal(0, 1, labels.shape)
    known = [fn.GAUC(weight="nothing") if metric == fn.GAUC else metric for metric in list_directed()]
    metrics = tuple(metric @ 3 if metric.record.has_cutoff else metric for metric in known)
    values = [fn.evaluate(labels, scores, metrics) for scores in (good, -good)]
    found = fn.compare({"good": values[0], "poor": values[1]}, test="t", replicates=100)
    rows = {row.metric: row for row in found.rows if row.system == "poor"}
    for metric, first, second in zip(metrics, *(own.means() for own in values), strict=True):
        if metric in (fn.SetAP, fn.Utility):  # of the set of documents
            assert first == second
            continue
        row = rows[str(metric)]
        assert metric.sign * first > metric.sign * second, metric
        assert (row.outcome, row.losses > row.wins) == ("worse", True), metric
        assert fn.gate(None, *values, metric).verdict == "fail", metric
        assert fn.leaderboard(found, metric=metric, replicates=100)[0].system == "good", metric


@numba.njit  # compiled once, for all methods
def gain(labels, above, ties, ideal, n_relevant, n_documents, k):
    return 1.0 - min(above[0], 16) / 16 if len(above) else 0.0


@numba.njit
def cost(labels, above, ties, ideal, n_relevant, n_documents, k):
    return min(above[0], 16) / 16 if len(above) else 1.0


@pytest.mark.parametrize(
    ("n_runs", "methods"), [(2, ["rrf", "wsum(norm=min_max)"]), (2, ["wmnz"]), (3, ["rrf(k=60)"])], ids=str
)
def test_tuning_is_mirrored(n_runs, methods):
    """Compare the choices of folds and of all queries, the rival and the gain, for custom metrics of each direction."""
    words = {"title": "own", "formula": "own", "source": "us", "range": "0 to 1", "ties": ("input", "id_ascending")}
    metrics = [
        fn.register(gain, name="OwnGain", **words), fn.register(cost, name="OwnCost", higher_is_better=False, **words)
    ]  # fmt: skip
    for seed in (1, 2):
        qrels, runs = draw_runs(seed, n_queries=12, n_documents=12, n_runs=n_runs, signal=0.5)
        first, second = (fn.tune_fusion(qrels, runs, metric, methods, folds=3, convention="default(ties=id_ascending)")
                         for metric in metrics)  # fmt: skip
        choices, turned_choices = (
            [[row[:2] for row in tuned.grid], [row.weights for row in tuned.folds], tuned.best[:2], tuned.rival.system,
             tuned.has_gain, tuned.has_loss, [row.best for row in tuned.methods],
             NUMBER.sub("#", "".join(tuned.notes).replace("OwnCost", "OwnGain"))]
            for tuned in (first, second)
        )  # fmt: skip
        assert choices == turned_choices
        assert first.held_out.values == pytest.approx(1 - second.held_out.values)
        check_rows(first.rows, second.rows)


def test_without_direction_nothing_is_won():
    """Differences are compared, and a difference may be significant, but no system is best."""
    pytest.importorskip("jinja2")
    from fastndcg.reports import text
    from fastndcg.reports.page import page

    values = {"few": np.ones((N, 2)), "more": np.full((N, 2), 2.0)}
    values["more"][0] = 3.0
    metrics = fn.num_ret, fn.num_rel_ret
    results = {name: Results(own, metrics, np.arange(N), fn.conventions["default"]) for name, own in values.items()}
    found = fn.compare(results, test="t")
    row, directed = found.rows[1], found.rows[3]
    assert (row.significant, row.mark, row.outcome, row.counts) == (True, "***", "", "")
    assert (directed.outcome, directed.counts, directed.difference) == ("better", "48/0/0", row.difference)
    assert np.isnan([row.wins, row.ties, row.losses]).all()
    lines = list(text.terminal(found, colour=True))
    assert not any(code in line for line in lines[:4] for code in (text.COLOURS["better"], text.COLOURS["worse"], "█"))
    markup = page(found)
    assert "num_ret: neither higher nor lower values are better, so that no system is best." in markup
    assert markup.count("▲ ***") == 1
    assert f"{fn.num_rel_ret}: the 10 queries that each system wins by most" in markup
    three = results | {"as few": results["few"]}
    assert page(fn.compare(three, test="t")).count('aria-label="Leaderboard in') == 1
    alone = page(fn.compare(three, metrics="num_ret", test="t"))
    assert 'id="leaderboard"' not in alone
    assert "has the best mean" not in alone
    assert not re.search(r"won nan|nan/", alone)
    refused(r"a one-sided test must have metrics of .* of num_ret", fn.compare, results, alternative="greater")


def test_without_direction_is_refused():
    """Number of documents: more is neither better nor worse. A custom metric may say so of itself."""
    own = register("Neither", None)
    results = Results(np.ones((3, 2)), (fn.num_ret, own), np.arange(3), fn.conventions["default"])
    published = {"a": {"x": 1.5, "y": 1.0}, "b": {"x": 3.0, "y": 4.0}}
    compared = fn.compare({"a": results, "b": results})
    for metric in results.metrics:
        for owner, call in (
            ("a gate", lambda metric=metric: fn.gate(None, results, results, metric)),
            ("a leaderboard", lambda metric=metric: fn.leaderboard(published, metric=metric)),
            ("a leaderboard", lambda metric=metric: fn.leaderboard(compared, metric=metric)),
            ("a leaderboard", lambda metric=metric: fn.leaderboard({"x": 0}, {"a": {}, "b": {}}, metric)),
            ("tuning", lambda metric=metric: fn.tune_fusion(*draw_runs(1, n_queries=4), metric, ["wsum"])),
        ):
            refused(f"^{owner} must have metrics of which .* of {metric} \\(", call)


TOLD = {  # of each module of integrations: what it says of a metric's direction
    "lightgbm": lambda tool, metric: tool.metric(metric)([1, 0, 2], [0.3, 0.2, 0.1], None, [3])[0][2],
    "xgboost": lambda tool, metric: tool.CustomMetric(
        boosting.RoundEvaluator(metric, "default", None, tool.check_weights)
    ).find(None)[1],
    "catboost": lambda tool, metric: tool.metric(metric, []).is_max_optimal(),
    "sklearn": lambda tool, metric: "greater_is_better=False" not in repr(tool.scorer(metric)),
    "torch": lambda tool, metric: tool.RankingMetrics(metric).higher_is_better,
    "mlflow": lambda tool, metric: tool.make_metric(metric),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.peers] * (name == "torch")) for name in TOLD])
def test_training_tools_are_told_the_direction(name, monkeypatch):
    """Metrics without direction are refused by tools that need one. TorchMetrics has None for them."""
    metrics = ModuleType("mlflow.metrics")
    metrics.make_metric = lambda *, greater_is_better, **_: greater_is_better
    monkeypatch.setitem(sys.modules, "mlflow.metrics", metrics)
    monkeypatch.setitem(sys.modules, "mlflow", ModuleType("mlflow"))
    monkeypatch.setattr(sys.modules["mlflow"], "metrics", metrics, raising=False)
    if name in ("sklearn", "torch"):
        pytest.importorskip({"torch": "torchmetrics"}.get(name, name))
    ask = partial(TOLD[name], import_module(f"fastndcg.integrations.{name}"))
    for metric in filter(is_of_labels, map(fn.Metric, CATALOG)):
        if metric.sign:
            assert ask(metric) is (metric.sign > 0), metric
        elif name == "torch":
            assert ask(metric) is None
        else:
            refused(f"must have metrics of which .* neither are of {metric} ", ask, metric)
    if name == "torch":
        assert [ask(text) for text in ("rr, ndcg@5", "rank, rr", "rank, num_ret")] == [True, None, None]
    elif name != "xgboost":
        assert ask(fn.Metric.parse("amri")) is True

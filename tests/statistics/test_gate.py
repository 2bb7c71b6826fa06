"""gate, plan and audit: verdicts by enumeration, by hand and by others' arithmetic."""

import functools
import json
import math
import operator
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from refusals import refused, refuses
from system_values import find_tango_score, results_of

import fastndcg as fn
from fastndcg.statistics import intervals
from fastndcg.statistics.resampling import draw_numbers
from fastndcg.statistics.significance import count_needed_queries

stats = pytest.importorskip("scipy.stats")
SUCCESS = (fn.Success @ 1,)


def hits(values):
    return results_of(np.asarray(values, "f8")[:, None], metrics=SUCCESS)


def paired(n, wins, losses):
    """Return a baseline and a candidate of n queries, of which some are won and some lost."""
    base = np.zeros(n)
    new = np.zeros(n)
    new[:wins] = 1
    base[wins : wins + losses] = 1
    return hits(base), hits(new)


def verdict_of(n, wins, losses, **options):
    return fn.gate(None, *paired(n, wins, losses), **options).verdict


@functools.cache
def list_most_wins(n, difference):
    """Return the most wins, of each number of differing queries, that surely lie below `difference`, -1 if none do."""
    found, p_value = [-1], intervals.find_exact_p_value
    for differing in range(1, min(n, int(1.5 * n * abs(difference)) + 60) + 1):
        wins = found[-1]  # one differing query more never lowers them
        while wins < differing and p_value(wins + 1, differing - wins - 1, n, difference, 0.05) <= 0.05:
            wins += 1
        found.append(wins)
    return np.array(found)


@pytest.mark.parametrize(
    ("n", "margins"), [(20, (0.0, 0.1)), (600, (0.0, 0.005)), (2000, (0.00152,)), (20_000, (0.0002,))]
)
def test_exact_bounds_are_rarely_wrong(n, margins):
    """
    By enumeration of all wins and losses, at any share of differing queries: at most 5 % of bounds exclude the truth.

    To pass at a drop of the margin is to fail at a gain of the margin with the systems exchanged.
    """
    for truth in {sign * margin for margin in margins for sign in (-1, 1)}:
        most_wins = list_most_wins(n, truth)
        differing = np.arange(len(most_wins))
        shares = abs(truth) + (1 - abs(truth)) * np.geomspace(0.01 / n, 1, 300)[:, None]
        chances = stats.binom.pmf(differing, n, shares)
        errors = chances * stats.binom.cdf(most_wins, differing, (shares + truth) / (2 * shares))
        errors = errors.sum(1)[chances.sum(1) > 1 - 1e-6]
        assert 0.03 < errors.max() < 0.051  # of Tango's score as it is up to 9.3 %


def test_gate_has_exact_bounds_and_bounds_have_exact_p_values():
    """The bounds are where p-values cross 5 %, at any number of queries, and a gate takes them for 0/1 values."""
    for wins, losses, n in ((0, 5, 30), (3, 2, 700), (1, 8, 2000), (40, 60, 20_000)):
        row = fn.gate(None, *paired(n, wins, losses)).rows[0]
        for bound, counts in ((row.high, (wins, losses)), (-row.low, (losses, wins))):
            distance = 1e-4 * (bound - (counts[0] - counts[1]) / n)
            p_values = [intervals.find_exact_p_value(*counts, n, bound + side * distance, 0.05) for side in (-1, 1)]
            assert p_values[1] <= 0.05 < p_values[0] < 0.051
            assert bound == pytest.approx(intervals.compute_tango(*counts, n, 0.9)[1], abs=3 / n)


def test_exact_bounds_have_their_p_value():
    """By enumeration: with a difference at the bound, at most 5 % of the samples score as high, and nearly as many."""
    for wins, losses, n in ((0, 5, 30), (1, 1, 5), (2, 9, 25), (0, 0, 8)):
        bound = intervals.compute_exact_upper_bound(wins, losses, n, 0.05)
        more, fewer = (counts.ravel() for counts in np.indices((n + 1, n + 1)))
        more, fewer = more[more + fewer <= n], fewer[more + fewer <= n]
        as_low = np.array([find_tango_score(*counts, n, bound) for counts in zip(more, fewer, strict=True)])
        as_low = as_low >= find_tango_score(wins, losses, n, bound) - 1e-7
        p = max(
            stats.multinomial.pmf(
                np.stack([more, fewer, n - more - fewer], 1), n, [share + bound, share, 1 - bound - 2 * share]
            )[as_low].sum()
            for share in np.linspace(max(0, -bound) + 1e-9, (1 - bound) / 2 - 1e-9, 100)
        )
        assert 0.045 < p < 0.0502


def test_thirty_questions():
    """The page's example: 5 of 30 worse fail, 2 cannot be told, and nothing changed passes."""
    assert verdict_of(30, 0, 5) == verdict_of(30, 0, 5, margin=0.05) == "fail"
    assert verdict_of(30, 0, 2, margin=0.05) == "undecided"
    assert verdict_of(30, 0, 0) == "pass"
    assert verdict_of(30, 0, 0, margin=0.05, floors={"success@1": 0.4}) == "fail"
    gate = fn.gate(None, *paired(30, 0, 5), margin=0.1)
    assert list(gate.regressed) == [(f"q{place}", str(gate.rows[0].metric), 1.0, 0.0) for place in range(5)]
    row = gate.rows[0]
    assert (row.n, row.wins, row.losses, row.difference) == (30, 0, 5, pytest.approx(-1 / 6))
    assert row.n_needed > 30
    assert "5 queries are worse" in str(gate)


def test_few_changes_have_no_small_p_value():
    """With three queries that changed, the one-sided p is at least 1/8, whatever they show: the gate says so."""
    assert "Only 3 queries changed, so that no p is below 0.125" in str(fn.gate(None, *paired(30, 0, 3), margin=0.02))
    assert "queries changed" not in fn.gate(None, *paired(30, 3, 6), margin=0.02).rows[0].reason


def test_undecided_number_of_queries_decides():
    row = fn.gate(None, *paired(40, 1, 2), margin=0.1).rows[0]
    assert row.verdict == "undecided"
    share = math.ceil(row.n_needed / 40)
    assert verdict_of(40 * share, share, 2 * share, margin=0.1) == "pass"


def test_bets_need_queries_even_if_all_are_alike():
    """Each query multiplies wealth by 1 + 2 · 0.9 · (0.05 + 0.01) / 2 at most, which must reach 20."""
    values = np.full((12, 1), 0.5)
    both = results_of(values), results_of(values + 0.05 + 1e-6 * np.arange(12)[:, None])
    row = fn.gate(None, *both, margin=0.01, sequential=True).rows[0]
    assert row.n_needed == math.ceil(math.log(20) / math.log(1 + 2 * 0.9 * (row.difference + 0.01) / 2))


def test_failing_side_is_corrected_and_passing_side_is_not():
    """Ten metrics without any difference beside one that fails at 5 %: Holm's level is 5 % / 11."""
    base, new = paired(40, 2, 10)
    assert fn.gate(None, base, new).verdict == "fail"
    others = np.tile(np.array([[0.5, 0.5]]), (40, 5))
    metrics = tuple(fn.Success @ k for k in range(1, 12))
    both = [results_of(np.concatenate([result.values, others], 1), metrics=metrics) for result in (base, new)]
    rows = fn.gate(None, *both).rows
    assert rows[0].verdict == "undecided"
    alone = fn.gate(None, base, new).rows[0]
    assert rows[0].low == alone.low
    assert rows[0].high > alone.high
    assert {row.verdict for row in rows[1:]} == {"pass"}


def test_bounds_are_those_of_compare():
    """One-sided 95 % bounds are the ends of compare's two-sided 90 % interval, also with clusters and weights."""
    generator = np.random.default_rng(4)
    base, new = (results_of(generator.beta(2, 1, (60, 2))) for _ in range(2))
    for options in ({}, {"clusters": np.arange(60) // 3}, {"weights": generator.integers(0, 4, 60)}):
        row = fn.gate(None, base, new, **options).rows[1]
        peer = next(
            row for row in fn.compare({"old": base, "new": new}, level=0.9, **options).rows
            if (row.system, row.metric) == ("new", str(base.metrics[1]))
        )  # fmt: skip
        assert (row.low, row.difference) == pytest.approx((peer.difference_low, peer.difference), rel=1e-12)


def test_margins():
    base, new = results_of([[0.5, 0.8]] * 50), results_of([[0.49, 0.7]] * 50)
    rows = fn.gate(None, base, new, margin={"ndcg@10": "4%", "map": 0.05}, interval="t").rows
    assert [row.margin for row in rows] == pytest.approx([0.02, 0.05])
    for margin in (-0.1, "x%", "nan", math.inf, True, [0.1], "", None, "100%"):
        refused("`margin` must be a number from 0", fn.gate, None, base, new, margin=margin)
    refused("`margin` must be of compared metrics, but has RR", fn.gate, None, base, new, margin={"rr": 0.1})
    refused("`margin` must name a metric", fn.gate, None, base, new, margin={})
    loss = [results_of([[value]] * 50, metrics=(fn.Metric.parse("coverage_error"),)) for value in (1.0, 2.5)]
    assert fn.gate(None, *loss, margin="200%", interval="t").rows[0].margin == 2  # a mean may rise by so much


def test_metrics_without_a_margin_are_not_gated():
    """A dict of margins and the floors name what is gated. A note names the rest, whatever happened to it."""
    base, new = results_of([[0.5, 0.8, 0.9]] * 50), results_of([[0.5, 0.1, 0.2]] * 50)
    gate = fn.gate(None, base, new, margin={"ndcg@10": "2%"})
    assert (gate.verdict, [row.metric for row in gate.rows], len(gate.regressed)) == ("pass", ["nDCG@10"], 0)
    assert "AP, RR are not gated, as the margin names other metrics" in str(gate)
    for floor, verdict in ((0.2, "pass"), (0.21, "fail")):
        gate = fn.gate(None, base, new, margin={"ndcg@10": "2%"}, floors={"rr": floor})
        assert [row.verdict for row in gate.rows] == ["pass", verdict]
        assert math.isnan(gate.rows[1].margin)
    assert "RR: no margin is given, so that the floor alone decides" in str(
        fn.gate(None, base, new, margin={}, floors={"rr": 0.1})
    )
    assert "not gated" not in str(fn.gate(None, base, new, margin=0.1))


def test_reasons():
    """An unchanged sample excludes shares from 1 − 0.05 ** (1 / n), also of clusters. Better may be undecided."""
    assert "fewer than 9.5 % of all queries would change" in fn.gate(None, *paired(30, 0, 0)).rows[0].reason
    clustered = fn.gate(None, *paired(30, 0, 0), clusters=np.arange(30) // 3, level=0.9)
    assert "with 90 % confidence fewer than 20.6 %" in clustered.rows[0].reason
    for counts, is_better in (((2, 1), True), ((1, 2), False)):
        reason = fn.gate(None, *paired(30, *counts), margin=0.02).rows[0].reason
        assert reason.startswith("better in these queries, but too few" if is_better else "too few")


@pytest.mark.parametrize(("metric", "width"), [("ndcg@10", 1), ("tau_b", 2), ("dcg@10", None)])
@pytest.mark.parametrize("margin", ["1", "1.999", "2"])
def test_margin_as_wide_as_the_range_is_refused(metric, width, margin):
    """No difference is that large, so that nothing could fail. Where the range is unknown nothing can be said."""
    both = [results_of([[value]] * 9, metrics=(fn.Metric.parse(metric),)) for value in (0.5, 0.4)]
    systems = dict(zip(("old", "new"), both, strict=True))
    calls = {
        f", or '{margin}%' of the baseline's mean": lambda: fn.gate(None, *both, margin=margin),
        "": lambda: fn.compare(systems).equivalence(float(margin)),
    }
    for share, call in calls.items():
        if width is None or float(margin) < width:
            call()
            continue
        with pytest.raises(fn.InvalidInputError) as error:
            call()
        assert f"`margin` must be below {width}, the range of {both[0].metrics[0]}, got {margin}" in str(error.value)
        assert str(error.value).endswith(f"Pass {float(margin) / 100:g}{share}.")


def test_rankings_are_evaluated():
    labels, scores = np.array([[1, 0]] * 30), np.array([[2.0, 1.0]] * 30)
    offsets = np.arange(0, 61, 2)
    both = [fn.Rankings(labels.ravel(), (sign * scores).ravel(), offsets) for sign in (1, -1)]
    found = fn.gate(None, *both, "rr", margin=0.1)
    expected = fn.gate(labels, scores, -scores, "rr", margin=0.1)
    assert str(found).splitlines() == str(expected).splitlines()[: len(str(found).splitlines())]
    assert found.verdict == "fail"


def test_floors():
    """By the mean, or by its lower bound: 30 of 30 reach 1, and surely 0.9."""
    both = hits(np.ones(30)), hits(np.ones(30))
    assert fn.gate(None, *both, floors={"success@1": 1.0}).verdict == "pass"
    assert fn.gate(None, *both, floors={"success@1": "0.9 by limit"}).verdict == "pass"  # 0.05 ** (1 / 30)
    assert fn.gate(None, *both, floors={"success@1": "0.91 by limit"}).verdict == "fail"


@pytest.mark.parametrize(("base", "new", "metrics", "reason"), [
    (results_of([[1.0]] * 3), results_of([[1.0]] * 2), None,
        "the candidate lacks 1 of the queries, such as q2. Rank the same queries with both systems."),
    (results_of([[1.0]] * 2), results_of([[1.0]] * 3), None,
        "the baseline lacks 1 of the queries, such as q2. Rank the same queries with both systems."),
    (results_of([[1.0]] * 2), results_of([[1.0]] * 2, convention="sklearn"), None,
        "the candidate under sklearn. Take one convention for both. Give the run in place of saved results"),
    (results_of([[1.0], [0.5]]), results_of([[1.0], [np.nan]]), None,
        "query q1 has a value of nDCG@10 in one of the two only. Drop the query, or take the convention"),
    (results_of([[1.0]] * 2), results_of([[1.0, 1.0]] * 2), "ndcg@10, ap",
        "nDCG@10, AP: the baseline has no AP. Give the run in place of saved results, or save them again: "
        "fastndcg evaluate QRELS RUN -m nDCG@10,AP --convention default --save-baseline FILE."),
])  # fmt: skip
def test_not_comparable(base, new, metrics, reason):
    """Other queries, another convention, a value that is missing: it fails closed, and says why and what to do."""
    gate = fn.gate(None, base, new, metrics)
    assert gate.verdict == "not comparable"
    assert reason in str(gate)
    assert math.isnan(gate.rows[0].low)


def test_missing_query_of_a_run_is_not_zero():
    """A candidate that lacks a judged query cannot be compared, although `evaluate` counts the query as 0."""
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    full = {query: {"a": 1.0} for query in qrels}
    gate = fn.gate(qrels, full, {"q1": {"a": 1.0}}, "rr")
    assert gate.verdict == "not comparable"
    assert "1 of the candidate, 0 of the baseline" in str(gate)


def test_saved_baseline(tmp_path):
    qrels = {f"q{place}": {"a": 1, "b": 0} for place in range(20)}
    old = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    new = {query: {"a": 0.0 if query == "q3" else 2.0, "b": 1.0} for query in qrels}
    path = tmp_path / "base.json"
    fn.evaluate(qrels, old, "rr, ndcg@10").save(path, truth=qrels)
    live = fn.gate(qrels, old, new, "rr, ndcg@10", margin=0.2)
    saved = fn.gate(qrels, path, new, margin=0.2)
    assert saved.rows == live.rows
    assert saved.verdict == "pass"
    changed = qrels | {"q3": {"a": 1, "b": 1}}
    assert "the truth has changed" in str(fn.gate(changed, path, new, margin=0.2))
    result = fn.load_result(path)
    result.provenance = result.provenance._replace(version="0.0.1")
    assert fn.gate(None, result, fn.evaluate(qrels, new, "rr, ndcg@10")).verdict == "not comparable"


def test_texts():
    gate = fn.gate(None, *paired(30, 0, 5), margin=0.1)
    assert json.loads(gate.to_json())["verdict"] == "undecided"
    suite = ET.fromstring(gate.to_junit())
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "1")
    assert gate.to_markdown().startswith("### ❔ undecided")
    assert gate.to_github().startswith("::warning title=Success@1%3A undecided::")
    refused("neither true nor false", bool, gate, error=fn.InvalidTypeError)


def test_sequential_bounds_hold_at_every_number():
    """Of 200 sequences, the share in which a bound was ever wrong up to 300 values is below alpha."""
    generator = np.random.default_rng(9)
    n_wrong = 0
    for _ in range(200):
        values = (generator.random(300) < 0.7).astype("f8")
        n_wrong += any(
            intervals.compute_sequential_bounds(values[:n], 0.1)[0] > 0.7 for n in (5, 10, 20, 40, 80, 160, 300)
        )
    assert n_wrong / 200 < 0.1


def test_sequential_bound_by_hand():
    """One value: the capital is 1 + bet · (x − m), with the bet of the prior variance 1/4, capped at 1/(2m)."""
    (bet,) = intervals.find_bets(np.array([1.0]), 0.5)
    assert bet == pytest.approx(math.sqrt(2 * math.log(2) / (0.25 * math.log(2))))
    low, high = intervals.compute_sequential_bounds(np.array([1.0]), 0.5)
    assert 1 + min(bet, 0.5 / low) * (1 - low) == pytest.approx(2)
    assert high == 1


def test_sequential_bounds_are_those_of_confseq():
    """As confseq 0.0.11's betting_cs(values, theta=1, breaks=10000) printed them, for the values and for 1 − values."""
    values = [
        0.404, 0.997, 0.677, 0.655, 0.138, 0.971, 0.227, 0.885, 1.0, 0.179, 0.119, 0.507,
        0.843, 0.686, 0.791, 0.855, 0.932, 0.652, 0.543, 0.203,
    ]  # fmt: skip
    assert intervals.compute_sequential_bounds(np.array(values), 0.05) == pytest.approx((0.4262, 0.7797), abs=1.01e-4)


@pytest.mark.parametrize("n", [5, 12])
def test_betting_bound_is_where_the_mean_stake_of_all_orders_is_enough(n):
    """By plain loops: a bet is of the values before it, and the last stakes of eight orders have the mean 1/alpha."""
    values, alpha = np.random.default_rng(n).beta(2, 1, n), 0.3
    numbers = draw_numbers(0, 3, 8 * n).tolist()
    for sign, bound in zip((1, -1), intervals.compute_betting_bounds(values, alpha), strict=True):
        stakes = []
        for order in range(8):
            own = numbers[order * n : (order + 1) * n]
            stake, seen, squares = 1.0, [0.5], [0.25]
            for _, value in sorted(zip(own, values.tolist(), strict=True)):
                bet = math.sqrt(2 * math.log(1 / alpha) / (n * sum(squares) / len(squares)))
                bet = min(bet, 0.9 / (bound if sign > 0 else 1 - bound))
                stake *= 1 + sign * bet * (value - bound)
                seen.append(value)
                squares.append((value - sum(seen) / len(seen)) ** 2)
            stakes.append(stake)
        assert sum(stakes) / 8 == pytest.approx(1 / alpha, rel=1e-6)


DIFFERENCES = {  # of the skew that other bounds cannot see: values, and their chances
    "a rare win": ([-0.05, 0.8], [16 / 17, 1 / 17]),
    "a rare loss": ([0.0, -0.9], [0.978, 0.022]),
    "losses and wins": ([-1.0, 1.0], [0.7, 0.3]),
    "hits": ([-1.0, 0.0, 1.0], [0.15, 0.8, 0.05]),
    "many small, one large": ([-0.02, 0.01, 1.0], [0.6, 0.39, 0.01]),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_betting_bounds_hold_for_skewed_differences(name):
    """Of 100 samples of 12 and of 60, at most 5 % have a bound that excludes the mean: in fact 1 %."""
    values, chances = map(np.array, DIFFERENCES[name])
    generator = np.random.default_rng(3)
    for n in (12, 60):
        drawn_values = generator.choice(values, (100, n), p=chances)
        bounds = np.array([intervals.find_betting_bounds(own, (-1.0, 1.0), 0.05) for own in drawn_values])
        assert (bounds[:, 0] > values @ chances).mean() <= 0.05
        assert (bounds[:, 1] < values @ chances).mean() <= 0.05


def test_betting_gate():
    """It fails a clear drop, passes a clear gain, and is not sure about what only looks clear."""
    base = np.linspace(0.4, 0.8, 100)
    gate = functools.partial(fn.gate, None, results_of(base[:, None]), interval="betting")
    for gain, verdict in ((-0.3, "fail"), (-0.01, "undecided"), (0.2, "pass")):
        row = gate(results_of(base[:, None] + gain), margin=0.02).rows[0]
        assert (row.verdict, row.method) == (verdict, "betting")
        assert row.low < gain < row.high
    only_seems_worse = np.where(np.arange(30) == 7, 0.95, 0.05)[:, None]
    both = results_of(np.full((30, 1), 0.1)), results_of(only_seems_worse)
    assert fn.gate(None, *both, interval="betting").verdict == "undecided"
    assert "of the paired difference by betting" in str(gate(results_of(base[:, None])))


def test_betting_depends_little_on_the_order_and_takes_floors():
    values = np.random.default_rng(1).beta(2, 1, (2, 200, 1))
    ids = [f"q{place:03}" for place in range(200)]
    bounds = []
    for order in (np.arange(200), np.argsort(values[1, :, 0])):
        both = [results_of(own[order], ids=np.array(ids)[order]) for own in values]
        row = fn.gate(None, *both, interval="betting").rows[0]
        bounds.append((row.low, row.high))
        interval = both[1].confidence_interval("ndcg@10", method="betting", level=0.9)
        for floor, verdict in ((interval.low - 1e-4, "undecided"), (interval.low + 1e-4, "fail")):
            floors = {"ndcg@10": f"{floor} by limit"}
            found = fn.gate(None, *both, margin=0.01, floors=floors, interval="betting")
            assert found.verdict == verdict
        compared = fn.compare({"old": both[0], "new": both[1]}, interval="betting", level=0.9)
        assert compared.rows[1].difference_low == row.low
    assert np.ptp(bounds, 0) == pytest.approx(0, abs=0.05 * (bounds[0][1] - bounds[0][0]))
    assert bounds[0] == pytest.approx(bounds[1], abs=0.01)


@pytest.mark.parametrize(("n", "wins", "losses"), [(40, 3, 4), (300, 3, 60)])
def test_betting_needs_about_so_many_queries(n, wins, losses):
    row = fn.gate(None, *paired(n, wins, losses), margin=0.1, interval="betting").rows[0]
    if row.verdict == "undecided":
        share = math.ceil(1.3 * row.n_needed / n)
        assert verdict_of(n * share, wins * share, losses * share, margin=0.1, interval="betting") in ("pass", "fail")


def test_betting_is_refused_where_it_does_not_hold():
    both = paired(30, 2, 4)
    for name in ("weights", "clusters", "strata"):
        for call in (fn.gate, lambda _, old, new, **options: fn.compare({"a": old, "b": new}, **options)):
            options = {"interval": "betting", name: np.arange(30) // 5 + 1}
            refused("`interval` must not be 'betting' with weights, clusters", call, None, *both, **options)
    unbounded = [results_of([[value]] * 5, metrics=(fn.DCG,)) for value in (3.0, 2.0)]
    for options in ({"interval": "betting"}, {"sequential": True}):
        row = fn.gate(None, *unbounded, **options).rows[0]
        assert (row.verdict, "without a known range" in row.reason) == ("undecided", True)
    assert "without a known range" in unbounded[0].confidence_interval("dcg", method="betting").reason


def test_sequential_gate_is_wider():
    both = paired(200, 10, 20)
    fixed, sequential = (fn.gate(None, *both, sequential=flag).rows[0] for flag in (False, True))
    assert sequential.low < fixed.low < fixed.high < sequential.high
    message = "`weights` must be left out with sequential=True"
    refused(message, fn.gate, None, *both, sequential=True, weights=np.ones(200))


@pytest.mark.parametrize(("effect", "alpha", "n_tails"), [(0.1, 0.05, 2), (0.5, 0.01, 2), (0.25, 0.05, 1)])
def test_plan_is_that_of_statsmodels(effect, alpha, n_tails):
    power = pytest.importorskip("statsmodels.stats.power")
    alternative = "two-sided" if n_tails == 2 else "larger"
    theirs = power.TTestPower().solve_power(effect_size=effect, alpha=alpha, power=0.8, alternative=alternative)
    assert count_needed_queries(1.0, effect, alpha, 0.8, n_tails=n_tails) == math.ceil(theirs)


def test_plan_round_trip():
    for clusters in (None, (5, 0.3)):
        shown = fn.plan(n=100, from_=0.3, clusters=clusters)
        assert fn.plan(shown.difference, from_=0.3, clusters=clusters).n in (100, 101)
        one_sided = fn.plan(n=100, from_=0.3, clusters=clusters, alternative="less", level=0.975)  # 5 % two-sided
        assert one_sided.difference == pytest.approx(shown.difference, rel=1e-4)
    assert fn.plan(0.02, from_=0.3, clusters=(5, 0.3)).n == pytest.approx(2.2 * fn.plan(0.02, from_=0.3).n, rel=0.01)


@pytest.mark.parametrize("n", [12, 100])
def test_plan_of_clusters_has_the_power_of_so_many_independent_queries(n):
    """Clusters of 5 with a correlation of 0.3 leave n / 2.2 queries, and degrees of freedom of one less."""
    independent = n / 2.2
    shift = fn.plan(n=n, from_=0.3, clusters=(5, 0.3)).difference / (0.3 / math.sqrt(independent))
    critical = stats.t.ppf(0.975, independent - 1)
    power = stats.nct.sf(critical, independent - 1, shift) + stats.nct.cdf(-critical, independent - 1, shift)
    assert power == pytest.approx(0.8, abs=1e-6)


def test_plan_from_results():
    """The standard deviation is that of a comparison's differences, or √2 times that of one system."""
    generator = np.random.default_rng(2)
    base, new = (results_of(generator.beta(2, 1, (60, 2))) for _ in range(2))
    comparison, gate = fn.compare({"old": base, "new": new}), fn.gate(None, base, new)
    for place, metric in enumerate([None, base.metrics[1]]):
        std = np.std(new.values[:, place] - base.values[:, place], ddof=1)
        assert fn.plan(0.02, from_=comparison, metric=metric).std == fn.plan(0.02, from_=gate, metric=metric).std == std
        own = math.sqrt(2) * np.std(base.values[:, place], ddof=1)
        assert fn.plan(0.02, from_=base, metric=metric).std == pytest.approx(own)


test_bad_plans = refuses(operator.call, [
    (lambda: fn.plan(from_=0.2), "`difference` or `n` must be given"),
    (lambda: fn.plan(0.1, n=5, from_=0.2), "and not both"),
    (lambda: fn.plan(0.0, from_=0.2), "`difference` must be a number above 0"),
    (lambda: fn.plan(0.1, from_=-1), "`from_` must be a number above 0"),
    (lambda: fn.plan(0.1), "`from_` must be a standard deviation"),
    (lambda: fn.plan(n=1, from_=0.2), "`n` must be a whole number from 2 to 1000000000000"),
    (lambda: fn.plan(0.1, from_=10**400), "`from_` must be a number above 0 and at most 1e"),
    (lambda: fn.plan(0.1, from_=0.2, clusters=5), "`clusters` must be the mean size of a cluster and the corr"),
    (lambda: fn.plan(0.1, from_=0.2, clusters=(0, 2)), "`clusters` must be a number from 1 to 1e"),
    (lambda: fn.plan(0.1, from_=0.2, clusters=(5, 2)), "`clusters` must be a number from 0 to 1, got 2"),
    (lambda: fn.plan(0.1, from_=0.2, power=1.0), "`power` must be a number from 0.01 to 0.999999, got 1.0"),
    (lambda: fn.plan(0.1, from_=hits(np.ones(9))), "must have differences that vary"),
    (lambda: fn.audit(0.33, 10), "0.33 · 10 is 3.3, and no whole number"),
    (lambda: fn.audit(1.1, 10), "`mean` must be a number from 0 to 1"),
    (lambda: fn.audit(1.0, 0), "`n` must be a whole number from 1 to 1000000000000"),
], error=fn.FastndcgError)  # fmt: skip


def test_audit_by_hand():
    """Ten of ten: 0.025 ** (1/10). Ten against seven of ten: three differ, so that p is at least 2 / 2**3."""
    found = fn.audit(1.0, 10, other=0.7)
    assert (found.low, found.high) == (pytest.approx(0.025**0.1), 1)
    assert found.p == 0.25
    exact = stats.binomtest(7, 10).proportion_ci(method="exact")
    assert (found.other_low, found.other_high) == (pytest.approx(exact.low), pytest.approx(exact.high))
    assert fn.audit(0.333, 30).low == fn.audit(1 / 3, 30).low

"""compare: what it brings together, what it says, what it refuses."""

import operator
import pickle

import numpy as np
import pytest
from refusals import refused, refuses
from system_values import METRICS, drawn, results_by_name, results_of

import fastndcg as fn
from fastndcg.results.aggregates import ExactSum, sum_squares
from fastndcg.statistics.curves import CUTOFFS
from fastndcg.statistics.moments import count_binary_wins, find_range, summarize_exact_sums

pytest.importorskip("scipy")
QRELS = {q: {"d1": 1, "d2": 2} for q in ("q1", "q2", "q3", "q4")}
GOOD = {q: {"d2": 3.0, "d1": 2.0, "d3": 1.0} for q in QRELS}
BAD = {q: {"d3": 3.0, "d1": 2.0, "d2": 1.0} for q in QRELS}


def rows_of(*given, **options):
    """The rows as text, in which NaN is like NaN."""
    return str(fn.compare(*given, **options).rows)


def test_takes_what_evaluate_takes(tmp_path):
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("".join(f"{q} 0 {d} {v}\n" for q, row in QRELS.items() for d, v in row.items()))
    run.write_text("".join(f"{q} Q0 {d} 1 {v} x\n" for q, row in BAD.items() for d, v in row.items()))
    expected = rows_of(QRELS, {"bad": BAD, "good": GOOD}, "ndcg@10,rr")
    assert rows_of(str(qrels), {"bad": run, "good": fn.Run(GOOD)}, "ndcg@10,rr") == expected
    finished = {name: fn.evaluate(QRELS, run, "ndcg@10,rr") for name, run in (("bad", BAD), ("good", GOOD))}
    assert rows_of(finished) == rows_of(None, finished) == rows_of(None, finished, "ndcg@10,rr") == expected
    assert (
        rows_of(qrels, [("bad", BAD), ("good", fn.evaluate(QRELS, GOOD, "rr,map,ndcg@10"))], "ndcg@10,rr") == expected
    )


def test_takes_arrays():
    labels, offsets = [1, 0, 0, 1, 2, 0], [0, 2, 4, 6]
    scores = {"up": [2.0, 1, 2, 1, 2, 1], "down": [1.0, 2, 1, 2, 1, 2]}
    expected = rows_of(labels, scores, "rr", offsets=offsets)
    assert rows_of(labels, scores, "rr", groups=[2, 2, 2]) == expected
    rankings = {name: fn.Rankings(labels, given, offsets) for name, given in scores.items()}
    assert rows_of(None, rankings, "rr") == expected


class TestAlignment:
    def test_the_order_of_queries_does_not_matter(self):
        one, other = drawn(1, 40)
        ids = np.array([f"q{place}" for place in range(40)], object)
        order = np.random.default_rng(2).permutation(40)
        straight = fn.compare({"a": results_of(one, ids), "b": results_of(other, ids)})
        shuffled = fn.compare({"a": results_of(one, ids), "b": results_of(other[order], ids[order])})
        assert str(shuffled.rows) == str(straight.rows)
        assert shuffled.query_ids.tolist() == ids.tolist()
        assert shuffled.differences("b", "map").tolist() == straight.differences("b", "map").tolist()

    def test_a_missing_query_is_refused(self):
        """Under a convention that counts every query, systems have the same."""
        one, other = drawn(3, 6)
        message = r"'b' lacks query q5 of 'a' \(1 in all\).*missing_in_run='skip'"
        refused(message, fn.compare, {"a": results_of(one), "b": results_of(other[:5])})

    def test_the_convention_may_skip_what_is_missing(self):
        one, other = drawn(4, 12, lift=0.2)
        convention = fn.conventions["default"].replace(missing_in_run="skip")
        results = {"a": results_of(one), "b": results_of(other[2:], [f"q{place}" for place in range(2, 12)])}
        for result in results.values():
            result.convention = convention
        found = fn.compare(results)
        assert found.n_missing == {"a": 0, "b": 2}
        assert "b: 2 of the queries are missing, and left out of its differences" in str(found)
        row = found.rows[1]
        assert (row.n, row.n_undefined, row.n_pairs) == (10, 2, 10)
        assert row.difference == pytest.approx((other - one)[2:, 0].mean(), rel=1e-12)
        assert found.rows[0].mean == pytest.approx(one[:, 0].mean(), rel=1e-12)
        expected = fn.compare(results_by_name([one[2:], other[2:]])).rows[1]
        assert (row.p, row.wins, row.losses) == (expected.p, expected.wins, expected.losses)

    def test_a_run_that_lacks_a_query_follows_the_convention(self):
        """A query missing from a run counts 0 by default. A convention can skip it in both systems."""
        part = {q: row for q, row in GOOD.items() if q != "q1"}
        assert fn.compare(QRELS, {"bad": BAD, "part": part}, "rr").rows[1].mean == 0.75
        skipping = fn.compare(QRELS, {"bad": BAD, "part": part}, "rr", convention="default(missing_in_run=skip)")
        assert (skipping.rows[1].mean, skipping.rows[1].n_pairs) == (1.0, 3)

    def test_queries_that_only_one_run_has(self):
        more = GOOD | {"q9": {"d1": 1.0}}
        found = fn.compare(QRELS, {"bad": BAD, "more": more}, "rr", convention="default(missing_in_qrels=undefined)")
        assert found.query_ids.tolist()[-1] == "q9"
        assert [row.n_undefined for row in found.rows] == [1, 1]

    def test_ids_of_two_kinds_or_that_repeat(self):
        one, other = (values[:3] for values in drawn(5, 6))
        numbers, again = {"ids": np.arange(3)}, {"ids": ["x", "x", "y"]}
        for kinds, message in (
            (({}, numbers), "one type, but 'a' has 'q0' and 'b' has 0"),
            ((again, again), "query ids of system 'a' must be unique, but 'x' occurs 2 times"),
        ):
            systems = {"a": results_of(one, **kinds[0]), "b": results_of(other, **kinds[1])}
            refused(message, fn.compare, systems)


class TestRows:
    def test_means_are_those_of_results(self):
        columns = drawn(7, 50, n_systems=3, missing=0.1)
        found = fn.compare(results_by_name(columns), interval="t")
        for row in found.rows:
            values = columns["abc".index(row.system)][:, [str(metric) for metric in METRICS].index(row.metric)]
            assert row.mean == pytest.approx(np.nanmean(values), rel=1e-14)
            assert row.n + row.n_undefined == 50
        assert [row.system for row in found.rows[:3]] == ["a", "b", "c"]
        assert np.isnan([found.rows[0].difference, found.rows[0].p]).all()

    def test_differences_are_of_queries_that_both_have(self):
        columns = drawn(8, 50, missing=0.2)
        row = fn.compare(results_by_name(columns)).rows[1]
        differences = (columns[1] - columns[0])[:, 0]
        known = differences[~np.isnan(differences)]
        assert row.difference == pytest.approx(known.mean(), rel=1e-13)
        assert row.n_pairs == len(known) == row.wins + row.ties + row.losses
        assert (row.wins, row.losses) == ((known > 0).sum(), (known < 0).sum())
        assert row.effect == pytest.approx(known.mean() / known.std(ddof=1), rel=1e-12)

    def test_wins_of_binary_differences(self):
        """Count 3 wins, 2 losses and 2 ties from exact sums, as Spark does."""
        gains = np.array([1.0, 1, 1, -1, -1, 0, 0])
        sums = ExactSum.of(gains), sum_squares(gains)
        found = count_binary_wins(summarize_exact_sums(*sums), *sums)
        assert (found.wins, found.ties, found.losses) == (3, 2, 2)

    def test_range_of_values_is_found_from_their_sums(self):
        for bounds, values, wanted in (
            ((0.0, 1.0), [1, 0, 1], ((0.0, 1.0), True)), ((0.0, 1.0), [1, 0.5], ((0.0, 1.0), False)),
            ((0.0, 1.0), [1, 1.5], (None, False)), ((0.0, 2.0), [2, 2, 2], ((0.0, 2.0), False)),
            ((0.0, 2.0), [2.1, 2, 2], (None, False)), ((-2.0, 1.0), [-2, -2], ((-2.0, 1.0), False)),
            (None, [1], (None, False)), ((0.0, 1.0), [np.inf, 1], (None, False)), ((0.0, 2.0), [1e200], (None, False)),
        ):  # fmt: skip
            column = np.array(values, "f8")
            assert find_range(ExactSum.of(column), sum_squares(column), bounds) == wanted

    def test_baseline(self):
        results = results_by_name(drawn(9, 30))
        forth, back = fn.compare(results, interval="t"), fn.compare(results, baseline="b", interval="t")
        there, again = forth.rows[1], back.rows[0]
        assert (there.difference, there.p) == (-again.difference, again.p)
        assert (there.difference_low, there.difference_high) == (-again.difference_high, -again.difference_low)
        assert (there.wins, there.losses) == (again.losses, again.wins)

    @pytest.mark.parametrize(("family", "n_tests", "said"), [("table", 9, "the table"), ("metric", 3, "a metric")])
    def test_all_tests_of_a_family_are_corrected_together(self, family, n_tests, said):
        """Bonferroni multiplies by the number of differences. A mark means a corrected p below 5 %."""
        results = results_by_name(drawn(10, 40, n_systems=4))
        found = fn.compare(results, correction="bonferroni", family=family, interval="t")
        tested = [row for row in found.rows if row.system != "a"]
        assert len(tested) == 9
        for row in tested:
            assert row.p_corrected == min(1, n_tests * row.p)
            assert row.significant == bool(row.mark) == (row.p_corrected < 0.05)
        assert found.notes[2].endswith(f"Bonferroni over all tests of {said}")

    def test_pairs_with_the_baseline_have_the_p_values_of_the_rows(self):
        found = fn.compare(results_by_name(drawn(10, 40, n_systems=4)), correction="bonferroni", interval="t")
        pairs = {(pair.system, pair.against): pair for pair in found.all_pairs("map", test=None)}
        assert len(pairs) == 6
        for row in found.rows[5:8]:
            pair = pairs["a", row.system]
            assert (pair.p, pair.difference) == (row.p, pytest.approx(-row.difference, rel=1e-12))
            assert pair.p_corrected == min(1, 6 * pair.p)

    def test_too_few_replicates_are_noted(self):
        """With 100 replicates and 9 tests, no corrected p-value is below 9/101, so that three stars are impossible."""
        results = results_by_name(drawn(10, 40, n_systems=4))
        found = fn.compare(results, replicates=100, interval="t")
        assert found.smallest_p_values() == (1 / 101, pytest.approx(9 / 101), 9100)
        assert any(note.startswith("100 replicates: p is at least 0.0099") for note in found.notes)
        assert fn.compare(results, replicates=100, interval="t", test="t").smallest_p_values() is None

    def test_paths_are_named_by_tag_or_file(self, tmp_path):
        for name, tag in (("x.2019.res", "BM25"), ("y.run", "same"), ("z.run", "same")):
            lines = (f"{q} Q0 {d} 1 {v} {tag}\n" for q, row in BAD.items() for d, v in row.items())
            (tmp_path / name).write_text("".join(lines))
        paths = [tmp_path / name for name in ("x.2019.res", "y.run", "z.run")]
        assert fn.compare(QRELS, paths, "rr").systems == ("BM25", "y", "z")
        assert fn.compare(QRELS, paths[1:], "rr", baseline="z").baseline == "z"

    def test_pickle_leaves_the_inputs_out(self):
        found = fn.compare(QRELS, {"bad": BAD, "good": GOOD}, "rr")
        assert found.inputs.truth is QRELS
        assert pickle.loads(pickle.dumps(found)).inputs is None

    def test_tukey_is_corrected_already(self):
        found = fn.compare(results_by_name(drawn(11, 40, n_systems=4)), test="tukey", replicates=500)
        assert all(row.p_corrected == row.p for row in found.rows if row.system != "a")
        pair = next(pair for pair in found.all_pairs("ndcg@10") if {pair.system, pair.against} == {"a", "d"})
        assert pair.p == pytest.approx(found.rows[3].p, abs=0.1)
        assert len(found.all_pairs()) == 6
        assert str(found.all_pairs()).splitlines()[-2:] == [
            "nDCG@10, 40 queries that all systems have",
            "p: Tukey HSD by randomisation, all pairs of a metric, 500 replicates, seed 0",
        ]

    def test_weights_clusters_and_strata(self):
        columns, generator = drawn(12, 60), np.random.default_rng(1)
        weights, clusters = generator.uniform(0, 3, 60), np.arange(60) // 3
        row = fn.compare(results_by_name(columns), weights=weights, clusters=clusters, interval="t").rows[1]
        assert row.mean == pytest.approx(np.average(columns[1][:, 0], weights=weights), rel=1e-13)
        alone = results_of(columns[1] - columns[0]).confidence_interval(
            "ndcg@10", weights=weights, clusters=clusters, method="t"
        )
        assert (row.difference_low, row.difference_high) == pytest.approx((alone.low, alone.high), rel=1e-9)
        stratified = fn.compare(results_by_name(columns), strata=np.arange(60) % 3).rows[1]
        assert stratified.difference_low != row.difference_low

    def test_one_query_has_no_interval(self):
        row = fn.compare(results_by_name(drawn(13, 1))).rows[1]
        assert np.isnan([row.low, row.difference_low, row.p, row.p_corrected, row.smallest_difference]).all()
        assert not row.significant
        assert row.reason == "only one query has a value"

    @pytest.mark.parametrize("test", ["t", "bootstrap"])
    def test_equal_differences_have_no_p_value(self, test):
        found = fn.compare(results_by_name([[[0.1], [0.2]], [[0.3], [0.4]]]), test=test)
        row = found.rows[1]
        assert np.isnan([row.p, row.p_corrected, row.effect, row.smallest_difference]).all()
        assert not row.significant
        assert row.difference_low < 0.2 < row.difference_high
        assert found.notes[-1] == f"b, nDCG@10: no p-value, since {row.reason}"
        assert "all differences are equal" in row.reason
        assert "]  n/a" in str(found)

    def test_pairs_without_a_common_query(self):
        one, other = drawn(14, 4)
        one[:2], other[2:] = np.nan, np.nan
        row = fn.compare(results_by_name([one, other])).rows[1]
        assert (row.n, row.n_pairs, row.reason) == (2, 0, "no query has a value")
        assert np.isnan(row.p)

    @pytest.mark.parametrize("test", ["randomization", "t", "wilcoxon", "sign", "bootstrap", "tukey"])
    def test_threads_change_nothing(self, test):
        results = results_by_name(drawn(15, 400, n_systems=3))
        options = {"test": test, "replicates": 300, "interval": "percentile"}
        one = rows_of(results, **options, threads=1)
        assert rows_of(results, **options, threads=3) == one
        assert rows_of(results, **options, threads=1, seed=1) != one


class TestTable:
    def test_comparison_notes(self):
        found = fn.compare(
            results_by_name(drawn(16, 40)), seed=7, replicates=1500, level=0.9, correction="bh", interval="percentile"
        )
        lines = str(found.table()).splitlines()
        assert lines[0].split() == ["system", "metric", "mean", *["90", "%", "interval", "difference", "90", "%"],
                                    "interval", "p", "p,", "bh", "won/tied/lost"]  # fmt: skip
        assert lines[1].split()[:2] == ["a", "nDCG@10"]
        assert lines[7:10] == [
            "40 queries; baseline a; convention default",
            "90 % intervals: percentile bootstrap, 1500 replicates, seed 7",
            "p: sign-flip randomisation test, two-sided, 1500 replicates, seed 7; Benjamini–Hochberg over all tests of "
            "the table",
        ]
        assert repr(found) == str(found) == "\n".join([*found.sentences, str(found.table())])
        assert "<th style='text-align:left'>system</th>" in found._repr_html_()

    def test_becomes_a_frame(self):
        pytest.importorskip("pandas")
        frame = fn.compare(results_by_name(drawn(17, 20))).to_pandas()
        assert frame.shape == (6, 26)
        assert frame["system"].tolist() == ["a", "b"] * 3

    def test_segments(self):
        columns = drawn(18, 40)
        segments = np.where(np.arange(40) < 15, "head", "tail")
        found = fn.compare(results_by_name(columns))
        alone = fn.compare(results_by_name([column[:15] for column in columns])).rows[1]
        row = found.by(segments)[1]
        assert (row.segment, row.n_pairs) == ("head", 15)
        assert (row.mean, row.difference_low) == (alone.mean, alone.difference_low)

    def test_curves(self):
        found = fn.compare(QRELS, {"bad": BAD, "good": GOOD}, "rr")
        curves = found.curves("ndcg@5")
        assert len(found.rows) == 2
        assert {point.curve for point in curves} == {"nDCG"}
        of_bad = {point.k: point.mean for point in curves if point.system == "bad"}
        assert list(of_bad)[:3] == [1, 2, 3]
        assert max(of_bad) == 100
        assert of_bad[2] == pytest.approx(fn.evaluate(QRELS, BAD, "ndcg@2").mean()["nDCG@2"], rel=1e-14)
        several = fn.compare(QRELS, {"bad": BAD, "good": GOOD}, "p@1,p@2,p@5,rr@3")
        assert [(point.curve, point.k) for point in several.curves()[::2]] == [("P", 1), ("P", 2), ("P", 5)]

    @pytest.mark.parametrize("level", [0.51, 0.95])
    def test_bands_of_curves(self, level):
        systems = {"bad": BAD | {"q1": {"d2": 1.0}}, "good": GOOD | {"q2": {"d1": 1.0}}}
        found = fn.compare(QRELS, systems, "rr", level=level)
        for point in found.curves("ndcg"):
            alone = fn.evaluate(QRELS, systems[point.system], fn.nDCG @ point.k)
            interval = alone.confidence_interval(fn.nDCG @ point.k, level=level)
            assert (point.low, point.high) == pytest.approx((interval.low, interval.high), rel=1e-12)
            assert point.low < point.mean < point.high

    def test_curves_of_results(self):
        """Results with every cutoff have curves, others need their predictions again."""
        given = fn.evaluate(QRELS, BAD, [*(fn.nDCG @ k for k in CUTOFFS), "rr"])
        found = fn.compare(QRELS, {"bad": given, "good": GOOD}, "ndcg@3,rr")
        whole = fn.compare(QRELS, {"bad": BAD, "good": GOOD}, "ndcg@3,rr")
        assert str(found.curves("ndcg")) == str(whole.curves("ndcg"))
        assert found.results["bad"] is given
        assert str(found) == str(whole)
        message = "the results of 'bad' have no R@1, and there are no predictions"
        for comparison in (found, pickle.loads(pickle.dumps(whole))):
            refused(message, comparison.curves, "recall")

    def test_curves_of_inputs_that_have_changed(self):
        qrels = dict(QRELS)
        found = fn.compare(qrels, {"bad": BAD, "good": GOOD}, "rr")
        qrels.popitem()
        refused("the inputs have changed since they were compared", found.curves, "ndcg")

    @pytest.mark.parametrize("alternative", ["two-sided", "less"])
    def test_smallest_differences(self, alternative):
        """The differences at a power of 80 % are those of the rows, and a higher power needs larger ones."""
        found = fn.compare(results_by_name(drawn(8, 30, n_systems=3)), alternative=alternative)
        sizes = [row.smallest_difference for row in found.smallest_difference()]
        assert sizes == [row.smallest_difference for row in found.rows if row.system != "a"]
        higher = [row.smallest_difference for row in found.smallest_difference(0.9)]
        assert all(low < high for low, high in zip(sizes, higher, strict=True))
        assert {row.level for row in found.smallest_difference()} == {0.05 / 6}
        assert "with a power of 90 %" in str(found.smallest_difference(0.9))
        refused("`power` must be a number from", found.smallest_difference, 0)


RESULTS = results_by_name(drawn(19, 6))
BAD_INPUT = {
    "one run": (lambda: fn.compare(QRELS, GOOD, "rr"), "`systems` must be {name: run}, but looks like one run"),
    "one system": (lambda: fn.compare(QRELS, {"a": GOOD}, "rr"), "two systems or more, got 1. For one system, take"),
    "no system": (lambda: fn.compare(QRELS, None, "rr"), "`systems` must be {name: predictions}"),
    "a path": (lambda: fn.compare(QRELS, "run.txt", "rr"), "`systems` must be {name: predictions}"),
    "runs without names": (lambda: fn.compare(QRELS, [GOOD, BAD], "rr"), "or pairs of a name and predictions"),
    "two of one name": (lambda: fn.compare(QRELS, [("a", GOOD), ("a", BAD)], "rr"), "names, but 'a' occurs twice"),
    "a name that is no text": (lambda: fn.compare(QRELS, {1: GOOD, 2: BAD}, "rr"), "texts as names, got 1"),
    "no such baseline": (
        lambda: fn.compare(QRELS, {"good": GOOD, "bad": BAD}, "rr", baseline="god"),
        "`baseline` must be the name of a system, got 'god'. Did you mean 'good'",
    ),
    "segments of another length": (
        lambda: fn.compare(RESULTS).by(["x"]), "`segments` must have one value for each of the 6 queries",
    ),
    "negative weights": (lambda: fn.compare(RESULTS, weights=[-1] * 6), "`weights` must be finite and not negative"),
    "weights of 0": (lambda: fn.compare(RESULTS, weights=[0] * 6), "`weights` must not all be 0"),
    **{f"a second run in the place of metrics: {type(run).__name__}": (
        lambda run=run: fn.compare(QRELS, GOOD, run),
        r"`metrics` must be texts .* Give each system a name: compare\(truth, \{.old.: run, .new.: other_run\}")
        for run in (BAD, fn.Run(BAD), [[1, 2], [2, 1]], np.eye(2))},
    "runs by place": (
        lambda: fn.compare(QRELS, GOOD, BAD, "rr"),
        'compare takes truth, systems, metrics by place. Systems are one argument: {"old": run',
    ),
    "metrics that results lack": (lambda: fn.compare(RESULTS, metrics="p@5"), "these results have no P@5"),
    "truth that is not needed": (lambda: fn.compare(QRELS, RESULTS), "`truth` must be None if all systems are"),
    "no truth": (lambda: fn.compare(None, {"a": GOOD, "b": BAD}, "rr"), "`truth` is missing, but system 'a' has"),
    "a run that cannot be read": (
        lambda: fn.compare(QRELS, {"good": GOOD, "odd": {"q1": {"d1": "x"}}}, "rr"), "system 'odd': ",
    ),
    "runs of two queries without names": (
        lambda: fn.compare(QRELS, [dict(list(run.items())[:2]) for run in (GOOD, BAD)], "rr"),
        "must be {name: predictions}, or pairs of a name and predictions",
    ),
    "no such test": (lambda: fn.compare(RESULTS, test="permutation"), "`test` has no choice 'permutation'"),
    "no such family": (lambda: fn.compare(RESULTS, family="tables"), "`family` has no choice 'tables'"),
    "no such correction": (lambda: fn.compare(RESULTS, correction="homl"), "Did you mean 'holm'"),
    "a one-sided range": (lambda: fn.compare(RESULTS, test="tukey", alternative="less"), "must be 'two-sided'"),
    "a system without values": (
        lambda: fn.compare(results_by_name([drawn(1, 6)[0], np.full((6, 3), np.nan)])),
        "must have a value for some query, but 'b' has none of nDCG@10",
    ),
    "no such metric": (lambda: fn.compare(RESULTS).differences("b", "ap@3"), "this comparison has no AP@3"),
    "no such system": (lambda: fn.compare(RESULTS).differences("c", "ap"), "this comparison has no system 'c'"),
}  # fmt: skip


test_bad_input = refuses(operator.call, BAD_INPUT)


def test_metrics_left_out_are_those_of_results_or_the_usual_five():
    systems = {"good": GOOD, "bad": BAD}
    usual = fn.Metric.parse("ndcg@10"), fn.AP, fn.RR, fn.P @ 5, fn.R @ 10
    assert fn.compare(QRELS, systems).metrics == usual
    assert tuple(row.metric for row in fn.gate(QRELS, GOOD, BAD)) == tuple(map(str, usual))
    finished = fn.evaluate(QRELS, GOOD, "rr")
    assert fn.compare(QRELS, systems | {"good": finished}).metrics == (fn.RR,)
    assert [row.metric for row in fn.gate(QRELS, GOOD, finished)] == ["RR"]


def test_conventions_that_differ():
    one, other = drawn(20, 6)
    results = {"a": results_of(one), "b": results_of(other, convention="trec_eval")}
    mixed = fn.compare(results)
    assert mixed.rows[1].n == 6
    assert "differences are between conventions, too: default (a), trec_eval (b)" in str(mixed)

"""tune_fusion: what it chooses, what it reports, what it refuses."""

import itertools

import numpy as np
import pytest
from fusion_cases import draw_runs, judge
from recorded_data import DRAWN_RUNS, RUN_NAMES, drawn_run
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownFusionError
from fastndcg.fusion.tuning.search import list_grid
from fastndcg.results.aggregates import mean

pytest.importorskip("scipy")
WSUM = ["wsum(norm=min_max)"]


def tune(case=0, methods=WSUM, metric="ndcg@5", n_runs=2, **options):
    qrels, runs = draw_runs(case, n_runs=n_runs)
    return qrels, runs, fn.tune_fusion(qrels, runs, metric, methods, **options)


@pytest.mark.parametrize("metric", ["ndcg@5", "ap", "rr", "p@3", "r@4"])
@pytest.mark.parametrize("method", ["wsum(norm=min_max)", "rrf", "mixed(norm=z_score)", "wborda", "wmnz", "mnz"])
def test_evaluating_the_applied_fusion_gives_its_mean_to_the_bit(method, metric):
    qrels, runs, tuned = tune(3, [method], metric)
    assert fn.evaluate(qrels, tuned.apply(runs), metric).means()[0] == tuned.best.mean
    if tuned.curves and tuned.best.interval.low < tuned.best.interval.high:
        weight = tuned.best.weights["run0"]
        assert tuned.curve.find_mean(weight) == tuned.best.mean


def test_a_mean_that_skips_absent_documents_has_no_curve():
    """Its divisor differs from document to document, so its weights come from a grid of steps of 0.05."""
    qrels, runs = draw_runs(3)
    for name, part in (("run0", slice(5, None)), ("run1", slice(-5))):
        runs[name] = {query: dict(list(row.items())[part]) for query, row in runs[name].items()}
    method = "arithmetic_mean(norm=min_max)"
    tuned = fn.tune_fusion(qrels, runs, "ndcg@5", [method], absent="skip")
    assert tuned.curves == ()
    fused = [fn.fuse(runs, method, weights=weights, absent="skip") for weights in list_grid(2)]
    assert tuned.best.mean == max(fn.evaluate(qrels, run, "ndcg@5").means()[0] for run in fused)
    assert fn.evaluate(qrels, tuned.apply(runs), "ndcg@5").means()[0] == tuned.best.mean
    assert fn.tune_fusion(qrels, runs, "ndcg@5", [method]).curves


def make_near_ties(difference):
    """Return one query six times whose relevant document almost ties with another one in a long range of weights."""
    qrels = {f"q{q}": {"r": 1} for q in range(6)}
    first = {query: {"r": 1e9, "n": 1e9, "m": 0.0} for query in qrels}
    second = {query: {"n": difference, "y": 1e9} for query in qrels}
    return qrels, {"a": first, "b": second}


def round_scores(qrels, runs):
    """Return runs whose scores are small whole numbers, so that many documents tie and many lines cross at once."""
    return qrels, {
        name: {query: {doc: float(round(score)) for doc, score in row.items()} for query, row in run.items()}
        for name, run in runs.items()
    }


def draw_whole_scores():
    return round_scores(*draw_runs(21, n_queries=6, n_documents=8))


def make_lines(qrels, runs, method, metric, **options):
    fused = fn.fuse(runs, method, **options)
    alone = [fn.fuse(runs, method, weights=weights, **options).to_dict() for weights in ([1, 0], [0, 1])]
    table = qrels if isinstance(qrels, fn.Qrels) else fn.Qrels(qrels)
    judged = judge(table, fused, metric)
    x, y = (np.array([own[q][d] for q, row in fused.to_dict().items() for d in row])[judged.rows] for own in alone)
    return judged, x, y


def evaluate_grid(judged, x, y, grid):
    return np.array([mean(judged.evaluate(weight * x + (1.0 - weight) * y, 1)) for weight in grid.tolist()])


def measure_distances(judged, x, y, grid):
    """Return how far each weight is from the next one at which two documents tie."""
    crossings = [0.0, 1.0]
    for first, stop in itertools.pairwise(judged.rankings.offsets.tolist()):
        dx = np.subtract.outer(x[first:stop], x[first:stop])
        dy = np.subtract.outer(y[first:stop], y[first:stop])
        is_crossing = dx * dy < 0
        crossings += (dy[is_crossing] / (dy[is_crossing] - dx[is_crossing])).tolist()
    crossings = np.unique(crossings)
    places = np.searchsorted(crossings, grid).clip(1, len(crossings) - 1)
    return np.minimum(grid - crossings[places - 1], crossings[places] - grid)


@pytest.mark.parametrize(("case", "method", "metric"), [
    (draw_whole_scores(), "wsum", "ap"), (draw_whole_scores(), "wsum(norm=min_max)", "ndcg@3"),
    (draw_whole_scores(), "wsum(norm=z_score)", "rr"),
    (draw_runs(22, n_queries=4, n_documents=10), "wsum(norm=min_max)", "ap"),
    (draw_runs(22, n_queries=4, n_documents=10), "rrf(k=5)", "ndcg@3"),
], ids=range(5))  # fmt: skip
def test_the_curve_is_the_engine_at_2_001_weights(case, method, metric):
    qrels, runs = case
    tuned = fn.tune_fusion(qrels, runs, metric, [method], folds=2)
    grid = np.linspace(0.0, 1.0, 2001)
    lines = make_lines(qrels, runs, method, metric)
    values = evaluate_grid(*lines, grid)
    is_between = measure_distances(*lines, grid) > 1e-6
    curve = np.array([tuned.curve.find_mean(weight) for weight in grid.tolist()])
    np.testing.assert_array_equal(curve[is_between], values[is_between])
    assert tuned.best.mean >= values[is_between].max()
    assert fn.evaluate(qrels, tuned.apply(runs), metric).means()[0] == tuned.best.mean


@pytest.mark.parametrize("convention", ["default", "trec_eval"])
def test_a_crossing_is_no_choice_though_its_mean_may_be_higher(convention):
    """At 1/4 three documents tie, and the mean is above that of both sides."""
    qrels = {f"q{q}": {"r": 1} for q in range(6)}
    runs = {"a": {q: {"r": 1.0, "n2": 4.0} for q in qrels}, "b": {q: {"r": 1.0, "n1": 4 / 3} for q in qrels}}
    tuned = fn.tune_fusion(qrels, runs, "ap", ["wsum"], folds=3, convention=convention)
    at_crossing = fn.fuse(runs, "wsum", weights=[0.25, 0.75])
    assert fn.evaluate(qrels, at_crossing, "ap", convention=convention).means()[0] > tuned.best.mean == 0.5
    assert tuned.curve.find_mean(0.2) == tuned.curve.find_mean(0.3) == 0.5


def test_training_means_are_those_of_the_engine():
    """The mean of a fold's training queries is the one that `evaluate` gives, also where rounding decides the order."""
    for qrels, runs in (make_near_ties(-1e-7), draw_whole_scores(), draw_runs(23)):
        folds = {query: place % 3 for place, query in enumerate(qrels)}
        for row in fn.tune_fusion(qrels, runs, "ap", ["wsum"], folds=folds).folds:
            values = fn.evaluate(qrels, fn.fuse(runs, "wsum", weights=row.weights), "ap")
            training = [
                value for query, value in zip(values.query_ids, values["ap"], strict=True) if folds[query] != row.fold
            ]
            assert mean(np.array(training)) == row.training


def test_three_runs_are_tuned_line_by_line():
    qrels, runs, tuned = tune(2, WSUM, n_runs=3, folds=3)
    assert sum(tuned.best.weights.values()) == pytest.approx(1.0)
    assert fn.evaluate(qrels, tuned.apply(runs), "ndcg@5").means()[0] == tuned.best.mean
    assert [curve.run for curve in tuned.curves] == ["run0", "run1", "run2"]
    for weights in list_grid(3):
        fused = fn.fuse(runs, WSUM[0], weights=weights.tolist())
        assert fn.evaluate(qrels, fused, "ndcg@5").means()[0] <= tuned.best.mean


def test_curves_of_three_runs_have_the_mean_of_the_best_weights():
    for case in (51, 58, 59):
        qrels, runs = round_scores(*draw_runs(case, n_runs=4, n_queries=4, n_documents=8))
        tuned = fn.tune_fusion(qrels, runs, "ap", ["wsum"], folds=2)
        assert fn.evaluate(qrels, tuned.apply(runs), "ap").means()[0] == tuned.best.mean
        for curve in tuned.curves:
            low, high, at_best = curve.plateau
            assert low <= tuned.best.weights[curve.run] <= high
            assert at_best == tuned.best.mean
            assert low == high or curve.find_mean(tuned.best.weights[curve.run]) == tuned.best.mean


def test_k_of_rrf_is_tuned_unless_the_text_has_it():
    """`rrf` takes k from a grid, `rrf(k=60)` does not."""
    qrels, runs, tuned = tune(4, ["rrf"])
    _, _, fixed = tune(4, ["rrf(k=60)"])
    assert fixed.best.method == "rrf(k=60)"
    assert tuned.best.mean >= fixed.best.mean
    for k in (1, 10, 60):
        alone = fn.tune_fusion(qrels, runs, "ndcg@5", [f"rrf(k={k})"])
        assert alone.best.mean <= tuned.best.mean


@pytest.mark.parametrize("convention", ["weaviate", "azure", "qdrant"])
def test_ranks_from_0_leave_k_of_0_out_of_the_grid(convention):
    """1 / (0 + 0) is infinite: the grid has no such k, and `rrf(k=0)` gets the error of `fuse`."""
    qrels, runs, tuned = tune(4, ["rrf", *WSUM], fusion_convention=convention)
    assert fn.evaluate(qrels, tuned.apply(runs), "ndcg@5").means()[0] == tuned.best.mean
    with pytest.raises(InvalidInputError) as expected:
        fn.fuse(runs, "rrf(k=0)", fusion_convention=convention)
    with pytest.raises(InvalidInputError) as raised:
        fn.tune_fusion(qrels, runs, "ndcg@5", [*WSUM, "rrf(k=0)"], fusion_convention=convention)
    assert str(expected.value).startswith("rrf must have k + rank above 0, but k is 0")
    if convention == "qdrant":  # where weights divide ranks, some weights alone give infinite scores
        assert str(raised.value).startswith("rrf(k=0) must give finite scores")
        assert str(raised.value).endswith("Take a larger k")
    else:
        assert str(raised.value) == str(expected.value)


def test_held_out_values_come_from_the_other_folds():
    """Judgments of a fold change nothing of what is chosen for that fold."""
    qrels, runs, _ = tune(5)
    folds = {query: place % 3 for place, query in enumerate(qrels)}
    tuned = fn.tune_fusion(qrels, runs, "ndcg@5", ["rrf", *WSUM], folds=folds)
    changed = {
        query: {doc: int(label == 0) for doc, label in labels.items()} if folds[query] == 1 else labels
        for query, labels in qrels.items()
    }
    other = fn.tune_fusion(changed, runs, "ndcg@5", ["rrf", *WSUM], folds=folds)
    assert tuned.folds[1]._replace(held_out=0) == other.folds[1]._replace(held_out=0)
    assert tuned.folds[1].held_out != other.folds[1].held_out
    row = tuned.folds[1]
    fused = fn.fuse(runs, row.method, weights=row.weights)
    values = dict(zip(qrels, fn.evaluate(qrels, fused, "ndcg@5")["ndcg@5"], strict=True))
    held_out = dict(zip(tuned.held_out.query_ids.tolist(), tuned.held_out["ndcg@5"], strict=True))
    assert all(held_out[query] == values[query] for query in qrels if folds[query] == 1)


def test_methods_are_compared_within_the_training_folds():
    qrels, runs, _ = tune(6)
    folds = {query: place % 4 for place, query in enumerate(qrels)}
    methods = ["rrf(k=60)", "wsum(norm=z_score)"]
    tuned = fn.tune_fusion(qrels, runs, "ndcg@5", methods, folds=folds)
    for fold in range(4):
        inner = {query: labels for query, labels in qrels.items() if folds[query] != fold}
        inner_runs = {name: {query: run[query] for query in inner} for name, run in runs.items()}
        inner_folds = {query: folds[query] for query in inner}
        means = [
            fn.tune_fusion(inner, inner_runs, "ndcg@5", [method], folds=inner_folds).held_out.means()[0]
            for method in methods
        ]
        assert tuned.folds[fold].method == methods[int(np.argmax(means))]


def test_repeats_average_held_out_values():
    _, _, tuned = tune(7, repeats=3, folds=4)
    assert [(row.repeat, row.fold) for row in tuned.folds] == list(itertools.product(range(3), range(4)))
    means = [np.average([row.held_out for row in tuned.folds[4 * r : 4 * r + 4]],
                        weights=[row.n for row in tuned.folds[4 * r : 4 * r + 4]]) for r in range(3)]  # fmt: skip
    assert tuned.held_out.means()[0] == pytest.approx(np.mean(means))
    assert any("held-out values, 4 folds, 3 repeats, seed" in note for note in tuned.notes)


def tune_clusters():
    qrels, runs = draw_runs(8)
    clusters = {query: f"user{place // 3}" for place, query in enumerate(qrels)}
    return qrels, runs, fn.tune_fusion(qrels, runs, "ndcg@5", WSUM, folds=5, clusters=clusters), clusters


def test_clusters_are_units_of_the_comparison():
    qrels, runs, tuned, clusters = tune_clusters()
    assert [row.n for row in tuned.folds] == [6] * 5  # a user is trained on or held out
    with pytest.raises(InvalidInputError, match="number of clusters with a value, 2, got 5"):
        fn.tune_fusion(qrels, runs, "ndcg@5", WSUM, clusters={q: q[-1] > "4" for q in qrels})
    values = {"tuned": tuned.held_out} | tuned.baselines
    expected = fn.compare(values, baseline="tuned", clusters=clusters).rows[1:]
    others = fn.compare(values, baseline="tuned").rows[1:]
    for row, own, other in zip(tuned.rows[1:], expected, others, strict=True):
        assert row == own != other
        assert row.p != other.p


def test_clusters_are_units_of_the_standard_error():
    qrels, runs, tuned, clusters = tune_clusters()
    place = len(tuned.curve.points) // 3
    weight = tuned.curve.points[place]
    values = fn.evaluate(qrels, fn.fuse(runs, WSUM[0], weights=[weight, 1 - weight]), "ndcg@5")
    by_query = dict(zip(values.query_ids.tolist(), values["ndcg@5"] - values.means()[0], strict=True))
    sums = [sum(by_query[query] for query in clusters if clusters[query] == user) for user in set(clusters.values())]
    n = len(sums)
    expected = np.sqrt(np.square(sums).sum() * n / (n - 1)) / len(by_query)
    assert tuned.curve.errors[place] == pytest.approx(expected, rel=1e-12)


def test_curves_of_folds_are_those_of_evaluate():
    qrels, runs = draw_runs(25)
    folds = {query: place % 3 for place, query in enumerate(qrels)}
    curve = fn.tune_fusion(qrels, runs, "ndcg@5", WSUM, folds=folds).curve
    for place in (3, len(curve.points) // 2):
        weights = [curve.points[place], 1 - curve.points[place]]
        values = fn.evaluate(qrels, fn.fuse(runs, WSUM[0], weights=weights), "ndcg@5")
        for fold in range(3):
            own = [folds[query] == fold for query in values.query_ids.tolist()]
            assert curve.fold_means[fold, place] == pytest.approx(values["ndcg@5"][own].mean(), rel=1e-12)


def tune_three(case, **options):
    qrels, runs = draw_runs(case, n_runs=3, n_queries=12, n_documents=10)
    folds = {query: place % 2 for place, query in enumerate(qrels)}
    return qrels, runs, fn.tune_fusion(qrels, runs, "ndcg@3", WSUM, folds=folds, threads=1, **options)


def test_random_starts_depend_on_the_seed():
    """With the same folds, another seed begins the search elsewhere, and finds other weights of an equal mean."""
    _, _, first = tune_three(12)
    _, _, same = tune_three(12, seed=0)
    _, _, other = tune_three(12, seed=1)
    assert first.best.weights == same.best.weights != other.best.weights
    assert first.best.mean == pytest.approx(other.best.mean, rel=0.01)


@pytest.mark.parametrize(("case", "least"), [(13, 0.84), (58, 0.97)])
def test_an_ascent_begins_at_the_best_run(case, least):
    """Means of 0.843 and 0.972, where the other starts end at 0.834 and 0.961."""
    qrels, runs, tuned = tune_three(case)
    assert fn.evaluate(qrels, tuned.apply(runs), "ndcg@3").means()[0] == tuned.best.mean > least


def test_a_crossing_is_a_plateau_of_one_weight():
    """The best weights are a run alone, where its documents tie: a smaller weight breaks the tie the wrong way."""
    qrels = {f"q{q}": {"r": 1} for q in range(6)}
    runs = {
        "tied": {query: {"r": 1.0, "n": 1.0} for query in qrels},
        **{name: {query: {"n": 1.0, "m": 0.5, "r": 0.0} for query in qrels} for name in ("b", "c")},
    }
    tuned = fn.tune_fusion(qrels, runs, "rr", ["wsum"], folds=2)
    assert tuned.best.weights == {"tied": 1, "b": 0, "c": 0}
    assert [curve.plateau for curve in tuned.curves] == [(weight, weight, 0.75) for weight in (1, 0, 0)]
    assert tuned.curves[0].find_mean(1 - 1e-9) == 0.5


def test_the_table_compares_with_runs_equal_weights_and_rrf():
    qrels, runs, tuned = tune(9)
    assert [row.system for row in tuned.rows] == ["tuned", "run0", "run1", "equal weights", "rrf(k=60)"]
    single = fn.evaluate(qrels, runs["run0"], "ndcg@5")
    expected = fn.compare({"tuned": tuned.held_out, "run0": single}, baseline="run0").rows[0]
    assert tuned.rows[1].difference == -expected.difference
    assert tuned.rows[1].losses == expected.wins
    for name, fused in (("equal weights", fn.fuse(runs, WSUM[0])), ("rrf(k=60)", fn.fuse(runs, "rrf(k=60)"))):
        expected = fn.evaluate(qrels, fused, "ndcg@5")
        np.testing.assert_array_equal(tuned.baselines[name].values, expected.values)
    assert "won/tied/lost" in str(tuned)


def test_noise_is_called_noise():
    qrels, runs = draw_runs(10, signal=0.0)
    tuned = fn.tune_fusion(qrels, runs, "ndcg@5", WSUM)
    assert not tuned.has_gain
    assert "the gain is within the noise" in str(tuned)


def draw_halves(scales, n_queries=60):
    rng = np.random.default_rng(0)
    qrels = {f"q{q}": {f"d{d}": int(d < 8) for d in range(20)} for q in range(n_queries)}
    runs = {
        name: {q: {f"d{d}": float(rng.normal() + scale * (d < 8)) for d in range(20)} for q in qrels}
        for name, scale in zip(("first", "second"), scales, strict=True)
    }
    return qrels, runs


def test_a_gain_is_called_a_gain():
    """The weights 0.9 and 0.1 are better than equal weights and each run, and no note speaks of noise."""
    qrels, runs = draw_halves((0.6, 2.0), n_queries=300)
    tuned = fn.tune_fusion(qrels, runs, "ap", ["wsum"])
    assert tuned.has_gain
    assert not tuned.has_loss
    assert tuned.rival.difference_high < 0
    assert "within the noise" not in str(tuned)
    assert "worse" not in str(tuned)


def test_a_loss_is_called_a_loss():
    qrels, runs = draw_halves((1.0, 1.0))
    strong = [query for place, query in enumerate(qrels) if place < 30]
    for place, query in enumerate(qrels):
        wrong = "second" if place < 30 else "first"
        runs[wrong][query] = {doc: -score for doc, score in runs[wrong][query].items()}
    folds = {query: int(query in strong) for query in qrels}
    tuned = fn.tune_fusion(qrels, runs, "ap", ["wsum"], folds=folds)
    assert tuned.has_loss
    assert not tuned.has_gain
    rival = tuned.rival.system
    assert f"tuned is significantly worse than {rival}: difference of {rival} +0." in str(tuned)
    assert f"take {rival}" in str(tuned)
    assert "within the noise" not in str(tuned)


def test_equal_weights_have_the_method_that_other_folds_choose():
    """The row is held out: each fold has the method and k that the others choose."""
    qrels, runs = draw_runs(5)
    folds = {query: place % 3 for place, query in enumerate(qrels)}
    tuned = fn.tune_fusion(qrels, runs, "ap", ["rrf", "rbc"], folds=folds)
    assert len({row.method for row in tuned.folds}) == 3
    results = tuned.baselines["equal weights"]
    for row in tuned.folds:
        expected = dict(zip(qrels, fn.evaluate(qrels, fn.fuse(runs, row.method), "ap")["ap"], strict=True))
        for query, value in zip(results.query_ids.tolist(), results["ap"], strict=True):
            assert folds[query] != row.fold or value == expected[query]


def test_methods_without_weights_have_no_row_of_equal_weights():
    _, _, tuned = tune(9, ["isr", "mnz(norm=min_max)", "sum(norm=z_score)"])
    assert [row.system for row in tuned.rows] == ["tuned", "run0", "run1", "rrf(k=60)"]


def test_names_of_runs_do_not_collide_with_rows():
    qrels, runs, _ = tune(9)
    names = ["equal weights", "fusion equal weights", "rrf(k=60)", "tuned", "fusion tuned"]
    many = dict(zip(names, [*runs.values(), *runs.values(), runs["run0"]], strict=True))
    tuned = fn.tune_fusion(qrels, many, "ndcg@5", WSUM, folds=2)
    rows = ["fusion fusion equal weights", "fusion rrf(k=60)"]
    assert [row.system for row in tuned.rows] == ["fusion fusion tuned", *names, *rows]


def test_notes_say_what_the_interval_means():
    _, _, best = tune(11)
    assert "the mean of all queries is the same from" in str(best)
    assert f"plateau from {best.best.interval.low:.4g} to" in repr(best.curve)
    qrels = {f"q{q}": {"r": 1} for q in range(6)}
    runs = {"a": {q: {"r": 1.0, "n2": 2.0} for q in qrels}, "b": {q: {"r": 1.0, "n1": 2.0} for q in qrels}}
    alone = fn.tune_fusion(qrels, runs, "ap", ["wsum"], folds=2)
    assert "weight of a: 0.5 alone, where documents tie or one run has no weight" in str(alone)
    tied = {"tied": {q: {"r": 1.0, "n": 1.0} for q in qrels}, "b": {q: {"n": 1.0, "m": 0.5, "r": 0.0} for q in qrels}}
    alone = fn.tune_fusion(qrels, tied, "rr", ["wsum"], folds=2)  # a smaller weight than 1 breaks the tie the wrong way
    assert alone.best == ("wsum", {"tied": 1.0, "b": 0.0}, (1.0, 1.0, 0.75), 0.75)


def test_a_parameter_at_the_end_of_its_grid_is_noted():
    """A smaller phi may be better than the smallest of the grid. No k is smaller than 0."""
    note = "best phi of rbc: 0.5, an end of the grid from 0.5 to 0.98; a value beyond it may be better"
    _, _, at_end = tune(1, ["rbc"], "rr")
    assert (at_end.best.method, note in str(at_end)) == ("rbc(phi=0.5)", True)
    for case, methods, metric, best in ((2, ["rbc"], "rr", "rbc(phi=0.7)"), (5, ["rrf"], "ap", "rrf(k=0)")):
        _, _, tuned = tune(case, methods, metric)
        assert (tuned.best.method, "an end of the grid" in str(tuned)) == (best, False)


def test_lower_is_better_for_some_metrics():
    qrels, runs, tuned = tune(12, metric="FallOut@5")
    for weight in np.linspace(0, 1, 51):
        fused = fn.fuse(runs, WSUM[0], weights=[weight, 1 - weight])
        assert fn.evaluate(qrels, fused, "FallOut@5").means()[0] >= tuned.best.mean - 1e-15


def test_seed_and_threads():
    _, _, one = tune(13, methods=["rrf", *WSUM], threads=1)
    _, _, two = tune(13, methods=["rrf", *WSUM], threads=3)
    _, _, other = tune(13, methods=["rrf", *WSUM], seed=5)
    assert str(one) == str(two)
    assert list(one.folds) == list(two.folds)
    assert [row.held_out for row in one.folds] != [row.held_out for row in other.folds]


def test_result_exports():
    _, _, tuned = tune(14)
    assert tuned.to_json() == tuned.table().to_json()
    assert tuned.to_csv().splitlines()[0].startswith("system,metric,n,")
    assert tuned._repr_html_().startswith("<")
    assert tuned.methods[0].held_out == tuned.held_out.means()[0]


def test_counts_are_in_the_notes():
    qrels, runs, _ = tune(15)
    del runs["run1"]["q3"]
    tuned = fn.tune_fusion(qrels, runs, "ndcg@5", WSUM, depth=5)
    assert "documents below depth, cut: " in str(tuned)
    assert "queries that some run lacks, fused from the others: 1" in str(tuned)
    assert fn.evaluate(qrels, tuned.apply(runs), "ndcg@5").means()[0] == tuned.best.mean


def test_every_row_has_the_common_queries():
    qrels, runs, _ = tune(15)
    short = {"run0": runs["run0"], "run1": {query: runs["run1"][query] for query in list(qrels)[:20]}}
    short["run1"]["q40"] = {"d0": 1.0}
    judged = {**qrels, "q40": {"d0": 1}, "q41": {"d0": 1}}  # no run has q41: it counts as 0 in each row
    tuned = fn.tune_fusion(judged, short, "ndcg@5", WSUM, fusion_convention="default(queries=common)")
    common = {query: qrels[query] for query in short["run1"] if query in qrels} | {"q41": {"d0": 1}}
    assert [row.n for row in tuned.rows] == [21] * 5
    assert "queries that some run lacks, left out: 11" in str(tuned)
    for name, run in runs.items():
        assert tuned.baselines[name].means()[0] == fn.evaluate(common, run, "ndcg@5").means()[0]
    values = fn.evaluate(common, tuned.apply(short), "ndcg@5")
    assert values.means()[0] == tuned.best.mean


test_wrong_options_are_refused = refuses(lambda options: tune(16, **options), [
    ({"folds": 31}, r"`folds` must be at most the number of queries with a value, 30, got 31"),
    ({"folds": 1}, "`folds` must be"), ({"folds": {f"q{q}": q % 2 for q in range(29)}}, "query 'q29' has none"),
    ({"folds": [0] * 30}, "must name 2 folds or more, got 1"),
    ({"folds": [0, 1] * 15, "repeats": 2}, "`repeats` must be 1 where `folds` names the fold"),
    ({"folds": [0, 1] * 15, "clusters": [0] * 30}, "that of query q1 is in two folds"),
    ({"folds": 2, "methods": ["rrf", "mnz"]}, "`folds` must be 3 or more to compare methods"),
    ({"repeats": 0}, "`repeats` must be"), ({"methods": []}, "`methods` must have one method or more"),
    ({"methods": ["rrf", "rrf"]}, "rrf occurs twice"), ({"methods": ["bayesfuse"]}, "bayesfuse learns from judgments"),
    ({"methods": 3}, "`methods` must be a list of methods"),
    ({"methods": [max]}, "`methods` must be a list of methods"),
    ({"methods": ["rrf", "condorcet"], "absent": "zero"}, "condorcet compares ranks"),
    ({"metric": "ndcg@5,ap"}, "`metric` must be one metric, got 2"),
    ({"metric": "alpha_nDCG@5"}, "`metric` must read one label a document"),
])  # fmt: skip


def test_unknown_methods_and_wrong_runs_are_refused():
    qrels, runs, tuned = tune(17)
    for message, *call, error in (
        ("Did you mean 'wsum'", fn.tune_fusion, qrels, runs, "ndcg@5", ["wsun"], UnknownFusionError),
        ("two runs or more", fn.tune_fusion, qrels, {"a": runs["run0"]}, "ndcg@5", InvalidInputError),
        ("`qrels` must be judgments with ids", fn.tune_fusion, [[1, 0]], runs, "ndcg@5", InvalidInputError),
        ("`qrels` must be judgments with ids, .* not NoneType", fn.tune_fusion, None, runs, "ndcg@5", InvalidTypeError),
        ("`run` must be the name of a tuned run, not 'zz'", tuned._find_curve, "zz", InvalidInputError),
        ("one run for each of the 2 tuned runs, 'run0', 'run1', but has 1", tuned.apply, {"run0": runs["run0"]},
            InvalidInputError),
        ("Did you mean 'run1'", tuned.apply, {"run0": runs["run0"], "run11": runs["run1"]}, InvalidInputError),
        *(("`weight` must be a number from 0 to 1", tuned.curve.find_mean, weight, InvalidInputError)
          for weight in (-0.1, 2, float("nan"), "x")),
    ):  # fmt: skip
        refused(message, *call, error=error)


def test_apply_takes_runs_by_their_names_in_any_order(tmp_path):
    _, runs, tuned = tune(19)
    expected = tuned.apply(runs).to_dict()
    assert tuned.best.weights["run0"] != 0.5
    assert tuned.apply(list(reversed(runs.items()))).to_dict() == expected
    assert tuned.apply(reversed(runs.items())).to_dict() == expected
    assert tuned.apply(list(runs.values())).to_dict() == expected
    paths = []
    for name, run in reversed(runs.items()):
        paths.append(tmp_path / f"{name}.run")
        fn.Run(run).write(paths[-1])
    assert tuned.apply(paths).to_dict() == expected
    others = [path.rename(path.with_name(f"new {path.name}")) for path in reversed(paths)]
    assert tuned.apply(others).to_dict() == expected
    refused("one run for each of the 2 tuned runs", tuned.apply, [*runs.values(), runs["run0"]])
    refused("'run0' occurs twice", tuned.apply, [("run0", runs["run0"]), ("run0", runs["run1"])])


def test_judgments_without_a_relevant_document_are_refused():
    qrels, runs = draw_runs(20)
    nothing = {query: dict.fromkeys(labels, 0) for query, labels in qrels.items()}
    refused("a query in which the metric has a value, but have none", fn.tune_fusion, nothing, runs, "ndcg@5", WSUM)


def test_a_fold_without_judged_queries_is_refused():
    qrels, runs = draw_runs(18)
    for query in ("q28", "q29"):
        qrels[query] = dict.fromkeys(qrels[query], 0)
    folds = {query: int(query in ("q28", "q29")) for query in qrels}
    with pytest.raises(InvalidInputError, match="`folds` must have a judged query in each fold, but fold 1 has none"):
        fn.tune_fusion(qrels, runs, "ndcg@5", WSUM, folds=folds)


EVERY_PAIR = [
    pytest.param(pair, method, 100, marks=pytest.mark.stress)
    for pair in itertools.combinations(RUN_NAMES, 2) for method in ("wsum(norm=min_max)", "rrf(k=60)")
]  # fmt: skip


@pytest.mark.parametrize(
    ("pair", "method", "depth"), [(("impacts", "reranked"), "wsum(norm=min_max)", None), *EVERY_PAIR]
)
def test_exact_weights_are_not_below_a_grid_on_recorded_runs(pair, method, depth):
    """The tuned mean of two recorded runs is that of the public functions, and that of no weight of 101 is higher."""
    qrels = fn.Qrels(DRAWN_RUNS / "qrels.txt.gz")
    runs = {name: fn.Run(drawn_run(name)) for name in pair}
    tuned = fn.tune_fusion(qrels, runs, "ndcg@10", [method], depth=depth)
    assert fn.evaluate(qrels, tuned.apply(runs), "ndcg@10").means()[0] == tuned.best.mean
    lines = make_lines(qrels, runs, method, "ndcg@10", depth=depth)
    assert evaluate_grid(*lines, np.linspace(0, 1, 101)).max() <= tuned.best.mean


@pytest.mark.stress
def test_shuffled_judgments_report_a_gain_in_5_percent():
    """In 2,000 simulations with shuffled judgments, 4 to 6 % report a significant gain over equal weights at 5 %."""
    n_simulations = 2000
    rng = np.random.default_rng(7)
    n_gains = 0
    for case in range(n_simulations):
        qrels, runs = draw_runs(case + 1000)
        shuffled = {}
        for query, labels in qrels.items():
            values = list(labels.values())
            rng.shuffle(values)
            shuffled[query] = dict(zip(labels, values, strict=True))
        row = fn.tune_fusion(shuffled, runs, "ndcg@5", WSUM, seed=case, threads=1).rows[3]
        assert row.system == "equal weights"
        n_gains += row.p < 0.05 and row.difference < 0
    assert 0.04 <= n_gains / n_simulations <= 0.06


def test_the_grid_has_every_method_and_parameter():
    qrels, runs = draw_runs(5)
    folds = {query: place % 3 for place, query in enumerate(qrels)}
    methods = ["rrf", "wsum(norms={run0:[min_max,z_score],run1:[none,max]})", "wmnz(norm=min_max)", "isr"]
    tuned = fn.tune_fusion(qrels, runs, "ap", methods, folds=folds)
    frame = tuned.to_frame()
    assert len(frame) == len(tuned.grid) == 11 + 4 + 1 + 1
    assert frame["method"].tolist()[11:15] == [
        f"wsum(norms={{run0:{first},run1:{second}}})" for first in ("min_max", "z_score") for second in ("none", "max")
    ]
    for row in tuned.grid:
        values = fn.evaluate(qrels, fn.fuse(runs, row.method, weights=row.weights), "ap")["ap"]
        assert row.mean == pytest.approx(values.mean(), rel=1e-12)
        assert row.error == pytest.approx(values.std(ddof=1) / np.sqrt(len(values)), rel=1e-9)
        alone = fn.tune_fusion(qrels, runs, "ap", [row.method], folds=folds)
        assert row.held_out == pytest.approx(alone.held_out.means()[0], rel=1e-12)
    best = next(row for row in tuned.grid if row.method == tuned.best.method)
    assert best.difference == 0
    assert (frame["difference"] == frame["held_out"] - best.held_out).all()
    assert np.isnan(frame["weight run0"].tolist()[-1])
    assert "difference of held-out means to" in str(tuned.grid)


def test_the_picture_of_the_grid_has_the_means_of_evaluate():
    qrels, runs, tuned = tune(5, ["rrf", *WSUM], "ap")
    place = 40
    weight = tuned.picture.weights[place]
    for row, means in zip(tuned.grid, tuned.picture.means, strict=True):
        if row.method in WSUM:  # ranks tie at many round weights
            fused = fn.fuse(runs, row.method, weights=[weight, 1 - weight])
            assert means[place] == pytest.approx(fn.evaluate(qrels, fused, "ap").means()[0], rel=1e-12)
        assert np.nanmax(means[1:-1]) <= row.mean + 1e-12

"""Intervals and tests of compared systems, and accounts of changes, against their arithmetic, SciPy and pandas."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

import fastndcg as fn
from benchmarks.race import measure_peak

METRICS = (fn.nDCG @ 10, fn.AP, fn.RR, fn.P @ 5, fn.R @ 100)
QUERIES = 10_000
SYSTEMS = 10
BATCH = 100  # of SciPy's resamples, with which it is several times faster than by default
MEMORY = """
from benchmarks.bench_statistics import make_results
results = make_results({queries}, 10)
"""


def make_results(n_queries, n_systems, n_metrics=5):
    """Make results with values from 0 to 1, with the skew of nDCG."""
    rng = np.random.default_rng(1)
    ease = rng.beta(0.7, 0.7, (n_queries, n_metrics))
    columns = [np.clip(ease + rng.normal(0.01 * s, 0.2, ease.shape), 0, 1) for s in range(n_systems)]
    convention = fn.conventions["default"]
    return {
        f"system {s}": fn.Results(values, METRICS[:n_metrics], None, convention) for s, values in enumerate(columns)
    }


def prepare_arithmetic(results, n_replicates):
    """Return a call of NumPy's product of prepared weights and all values, in blocks of replicates."""
    values = np.concatenate([result.values for result in results.values()], axis=1)
    n_weights = min(500, n_replicates)
    weights = np.random.default_rng(2).poisson(1.0, (n_weights, len(values))).astype("f8")
    return lambda: [weights @ values for _ in range(n_replicates // n_weights)]


@pytest.mark.parametrize("queries", [50, QUERIES], ids=["50 queries", "10000 queries"])
@pytest.mark.parametrize("interval", ["auto", "percentile"])
def test_compare(race, interval, queries):
    """Time `compare` of ten systems and five metrics, in multiples of the arithmetic of its replicates."""
    n_replicates = race.size(10_000, 500)
    if interval == "percentile" and queries == QUERIES:
        code = MEMORY.format(queries=race.size(500_000, 1_000))
        race.info["peak_mib"] = measure_peak(code + "import fastndcg\nfastndcg.compare(results, replicates=50)")
        race.info["peak_mib_of_values"] = measure_peak(code)
    results = make_results(queries if queries < 100 else race.size(queries, 100), SYSTEMS)

    def check(comparison):
        from scipy import stats

        first, second = (results[name].values[:, 0] for name in ("system 0", "system 1"))
        row = comparison.to_dict()["system 1"]["nDCG@10"]
        error = (second - first).std() / np.sqrt(len(first))
        assert row["difference"] == pytest.approx((second - first).mean(), rel=1e-12)
        width = 2 * stats.norm.ppf(0.975) * error
        assert row["difference_high"] - row["difference_low"] == pytest.approx(width, rel=0.25)

    race(
        lambda: fn.compare(results, interval=interval, replicates=n_replicates, progress=False),
        check,
        floors={"the arithmetic by NumPy": prepare_arithmetic(results, n_replicates)},
    )


@pytest.mark.parametrize("threads", [1, None], ids=["one thread", "all threads"])
def test_interval(race, threads):
    """Time the interval of one mean against SciPy's vectorised bootstrap."""
    stats = pytest.importorskip("scipy.stats")
    n_replicates = race.size(10_000, 1_000)
    (result,) = make_results(race.size(QUERIES, 100), 1, 1).values()
    data = (result.values[:, 0],)
    generator = np.random.default_rng(3)

    def bootstrap():
        return stats.bootstrap(
            data, lambda values, axis: values.mean(axis=axis), method="percentile", n_resamples=n_replicates,
            vectorized=True, batch=BATCH, rng=generator,
        ).confidence_interval  # fmt: skip

    error = data[0].std() / np.sqrt(len(data[0]))
    tolerance = 7 * error * np.sqrt(2 * 0.025 * 0.975 / n_replicates) / stats.norm.pdf(1.96)
    race(
        lambda: result.confidence_interval("ndcg@10", method="percentile", replicates=n_replicates, threads=threads),
        lambda interval: np.testing.assert_allclose([interval.low, interval.high], bootstrap(), atol=tolerance),
        peers={"SciPy": bootstrap},
    )


@pytest.mark.parametrize("threads", [1, None], ids=["one thread", "all threads"])
def test_randomization(race, threads):
    """Time `compare` of two systems by a randomisation test, against SciPy's permutation test alone."""
    stats = pytest.importorskip("scipy.stats")
    n_replicates = race.size(10_000, 1_000)
    results = make_results(race.size(QUERIES, 100), 2, 1)
    first, second = (result.values[:, 0] for result in results.values())
    generator = np.random.default_rng(3)

    def permute():
        return stats.permutation_test(
            (second - first,), lambda values, axis: values.mean(axis=axis), permutation_type="samples",
            n_resamples=n_replicates, vectorized=True, batch=BATCH, rng=generator,
        ).pvalue  # fmt: skip

    race(
        lambda: fn.compare(results, replicates=n_replicates, threads=threads, progress=False),
        lambda comparison: np.testing.assert_allclose(
            comparison.to_dict()["system 1"]["nDCG@10"]["p"], permute(), atol=7 * np.sqrt(0.5 / n_replicates)
        ),
        peers={"SciPy": permute},
    )


def test_estimate_with_judge(race):
    """Time estimates of two systems with a judge of 20,000 queries, against evaluating both by both judgments."""
    pytest.importorskip("scipy.special")
    n_queries, n_documents = race.size(20_000, 500), 20
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 4, (n_queries, n_documents))
    judged = np.clip(labels + rng.integers(-1, 2, labels.shape), 0, 3)
    queries, documents = np.arange(n_queries).repeat(n_documents), np.tile(np.arange(n_documents), n_queries)
    human = fn.Qrels(queries[:2000], documents[:2000], labels.ravel()[:2000])
    judge = fn.Qrels(queries, documents, judged.ravel())
    runs = {
        name: fn.Run(queries, documents, (labels + rng.normal(0, noise, labels.shape)).ravel())
        for name, noise in {"old": 2.0, "new": 1.6}.items()
    }

    def check(table):
        parts = [fn.evaluate(own, runs["old"], "ndcg@10").values[:, 0].tolist() for own in (human, judge)]
        n = len(parts[0])
        expected = fn.reference.estimate_with_judge(parts[0], parts[1][:n], parts[1][n:])
        assert (table[0].estimate, table[0].weight) == pytest.approx((expected[0], expected[2]), rel=1e-9)

    race(
        lambda: fn.estimate_with_judge(human, judge, runs, "ndcg@10"), check,
        floors={"values": lambda: [fn.evaluate(own, run, "ndcg@10") for own in (human, judge) for run in runs.values()]}
    )  # fmt: skip


@pytest.mark.parametrize("systems", [60, 120])
def test_leaderboard(race, systems):
    """Time a leaderboard of published means, against drawing its replicates and their largest difference by NumPy."""
    stats = pytest.importorskip("scipy.stats")
    systems, n_sets, n_replicates = race.size(systems, 6), 200, race.size(10_000, 1_000)
    rng = np.random.default_rng(4)
    table = np.clip(0.5 + np.linspace(0, 0.1, systems) + rng.normal(0, 0.1, (n_sets, systems)), 0, 1)
    published = {f"s{s}": {f"d{d}": value for d, value in enumerate(row)} for s, row in enumerate(table.T.tolist())}
    first, second = np.triu_indices(systems, 1)

    def draw():
        largest = []
        for _ in range(n_replicates // BATCH):
            drawn = rng.standard_normal((BATCH, systems))
            largest.append(np.abs(drawn.take(first, axis=1) - drawn.take(second, axis=1)).max(axis=1))
        return np.concatenate(largest)

    def check(board):
        """Check that bounds of all pairs are as wide as the studentised range to Bonferroni, and what they exclude."""
        pairs = board.pairs()
        rows = np.array([[table[:, int(name[1:])] for name in pair[:2]] for pair in pairs])
        differences = rows[:, 0] - rows[:, 1]
        widths = np.array([pair.high - pair.low for pair in pairs])
        critical = widths / 2 / (differences.std(axis=1, ddof=1) / np.sqrt(n_sets))
        least = stats.studentized_range.ppf(0.95, systems, 10_000) / np.sqrt(2)
        most = stats.t.ppf(1 - 0.025 / len(first), n_sets - 1)
        assert 0.95 * least < critical.min() <= critical.max() < 1.05 * most
        assert all(pair.sure for pair in pairs if pair.low > 0)

    race(
        lambda: fn.leaderboard(published, replicates=n_replicates, progress=False), check,
        floors={"largest differences by NumPy": draw},
    )  # fmt: skip


@pytest.mark.parametrize("what", ["parts", "moves"])
def test_explain_change(race, what):
    """Time the account of a change of nDCG@10, in multiples of two evaluations, and moves against joins of pandas."""
    pandas = pytest.importorskip("pandas")
    n_queries, n_documents = race.size(10_000, 50), 100
    rng = np.random.default_rng(9)
    queries = np.repeat(np.arange(n_queries), n_documents)
    documents = np.argsort(rng.random((n_queries, 2 * n_documents)))[:, :n_documents].ravel()
    labels = np.where(rng.random(len(queries)) < 0.1, rng.integers(1, 4, len(queries)), 0)
    scores = [labels + rng.normal(0, 3, len(queries)) for _ in range(2)]
    qrels = fn.Qrels(queries, documents, labels)
    runs = [fn.Run(queries, documents, own) for own in scores]

    def account():
        change = fn.explain_change(qrels, *runs, "ndcg@10")
        return {move.kind: move.n for move in change.moves} if what == "moves" else change.parts

    def join():
        tops = []
        for own in scores:
            frame = pandas.DataFrame({"query": queries, "document": documents, "score": own})
            frame["rank"] = frame.groupby("query")["score"].rank(ascending=False)
            tops.append(frame[frame["rank"] <= 10])
        both = tops[0].merge(tops[1], on=["query", "document"], how="outer")
        change = both["rank_y"] - both["rank_x"]
        counts = {"entered": both["rank_x"].isna(), "left": both["rank_y"].isna(), "up": change < 0, "down": change > 0}
        return {kind: int(own.sum()) for kind, own in (counts | {"unmoved": change == 0}).items()}

    def check(found):
        if what == "moves":
            assert found == join()
            return
        means = [float(fn.evaluate(qrels, run, "ndcg@10")) for run in runs]
        assert float(sum(found.values())) == means[1] - means[0]

    floors = {"two evaluations": lambda: [fn.evaluate(qrels, run, "ndcg@10") for run in runs]}
    race(account, check, floors=floors, peers={"joins of pandas": join} if what == "moves" else {})


def make_holes(n_queries):
    """Return judgments of half of what two runs of 20 documents rank, and the runs."""
    rng = np.random.default_rng(4)
    documents = [f"d{i:02}" for i in range(30)]
    qrels, first, second = {}, {}, {}
    for q in range(n_queries):
        query = f"q{q}"
        qrels[query] = {documents[d]: int(rng.integers(4)) for d in rng.permutation(30)[:15]}
        for run in (first, second):
            run[query] = {documents[d]: float(20 - rank) for rank, d in enumerate(rng.permutation(30)[:20])}
    return fn.Qrels(qrels), {"first": fn.Run(first), "second": fn.Run(second)}


def bound_by_multisets(qrels, runs):
    """Bound the difference of nDCG@10 of one query by NumPy, from all multisets of labels."""
    query = next(iter(qrels))
    judged = {document: int(label) for document, label in qrels[query].items()}
    ranks = [{document: rank for rank, document in enumerate(run[query])} for run in runs.values()]
    holes = sorted({document for own in ranks for document in own} - judged.keys())
    discounts = np.where(np.arange(60) < 10, 1 / np.log2(np.arange(60) + 2), 0)
    weights = [np.array([discounts[own.get(document, 59)] for document in holes]) for own in ranks]
    base = [sum(judged.get(document, 0) * discounts[rank] for document, rank in own.items()) for own in ranks]
    labels = np.array(list(combinations_with_replacement(range(4), len(holes))))  # each row rises
    pool = np.broadcast_to(list(judged.values()), (len(labels), len(judged)))
    ideal = -np.sort(-np.concatenate([labels, pool], axis=1), axis=1)
    ideal = ideal @ discounts[: ideal.shape[1]]
    difference = np.sort(weights[1] - weights[0])
    lowest, highest = labels[:, ::-1] @ difference, labels @ difference
    has_ideal = ideal > 0
    values = [(part + base[1] - base[0])[has_ideal] / ideal[has_ideal] for part in (lowest, highest)]
    return values[0].min(), values[1].max()


def test_bounds(race):
    """Time the bounds of nDCG@10 of two runs, in multiples of NumPy over all multisets of labels of one query each."""
    n_queries = race.size(1_000, 20)
    qrels, runs = make_holes(n_queries)
    single = [
        (fn.Qrels({query: qrels[query]}), {name: fn.Run({query: run[query]}) for name, run in runs.items()})
        for query in list(qrels)[:20]
    ]

    def check(found):
        rows = {row.query: row for row in found.queries("second", "first")}
        for own, own_runs in single:
            row = rows[next(iter(own))]
            assert (row.low, row.high) == pytest.approx(bound_by_multisets(own, own_runs), rel=1e-9)

    def loop():
        for _ in range(n_queries // len(single)):
            for own, own_runs in single:
                bound_by_multisets(own, own_runs)

    race(lambda: fn.bounds(qrels, runs, "ndcg@10", labels=range(4)), check, peers={"NumPy, all multisets": loop})

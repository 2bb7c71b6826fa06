"""Queries with many candidates, whose hits are counted or sorted apart from all others, and ideal rankings."""

from itertools import pairwise
from math import log2

import numpy as np
import pytest
import strategies
from scipy.sparse import csr_matrix

import fastndcg as fn
from fastndcg.engine import run as engine
from fastndcg.engine.scratch import HitBuffers
from fastndcg.kernels.ranking.rank import COUNT, SORT
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import parse_convention
from fastndcg.named_conventions.named_choices import TIES

HARD = {
    "both signs": lambda generator, n: generator.standard_normal(n),
    "ties of both signs": lambda generator, n: generator.integers(-2, 3, n) * generator.choice([-0.5, 0.5], n),
    "zeros of both signs": lambda generator, n: generator.choice([-0.0, 0.0, 1e-45, -1e-45], n),
    "without bounds": lambda generator, n: generator.choice([np.inf, -np.inf, 3e38, -3e38, 1.0], n),
    "few bytes": lambda generator, n: 1.0 + generator.integers(0, 200, n) * 2.0**-23,
    "the last byte": lambda generator, n: 1.0 + generator.integers(0, 200, n) * 2.0**-52,
    "alike": lambda generator, n: np.full(n, -2.5),
}


@pytest.mark.parametrize("strategy", [COUNT, SORT], ids=["count", "sort"])
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rank_matches_brute_force_with_many_candidates(dtype, kind, strategy):
    generator = np.random.default_rng(5)
    sizes = np.array([65, 70, 128])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    scores = HARD[kind](generator, offsets[-1]).astype(dtype)
    scores[offsets[1:] - 1] = scores[offsets[:-1]]  # neither end says which bytes differ
    labels = generator.integers(1, 3, offsets[-1], "u1")
    labels[offsets[2] : offsets[2] + 60] = 0
    labels[: offsets[1]] *= np.arange(offsets[1]) % 9 == 4  # so few that others are located among them
    asked = parse_metrics("ndcg,P@40,AP,RR")
    for ties in ("input", "worst"):
        convention = parse_convention("default").replace(ties=ties)
        found = engine.run(fn.Rankings(labels, scores, offsets), asked, convention, strategy=strategy).values
        expected = fn.reference.evaluate(labels, scores, asked, offsets=offsets, convention=convention).values
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_chunk_is_ranked_again_where_queries_outgrow_the_workspace(monkeypatch):
    """The first call takes a larger workspace several times, later ones none."""
    monkeypatch.setattr("fastndcg.engine.scratch.MIN_WORDS", 1)
    enlarge = HitBuffers.enlarge_workspace
    sizes: list[int] = []
    monkeypatch.setattr(HitBuffers, "enlarge_workspace", lambda self, n: (sizes.append(n), enlarge(self, n)))
    lengths = np.array([3, 80, 100, 120, 300, 90, 900])  # 120 documents fit, as the size doubles
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    generator = np.random.default_rng(6)
    labels, scores = generator.integers(0, 3, offsets[-1]) + 0.5, generator.permutation(offsets[-1])
    evaluator = fn.Evaluator(labels, offsets=offsets, metrics="ndcg,map")
    for _ in range(2):
        found = evaluator.evaluate(scores).values
        expected = fn.reference.evaluate(labels, scores, "ndcg,map", offsets=offsets).values
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert len(sizes) == 4
    rows = labels[:1472].reshape(4, -1), scores[:1472].reshape(4, -1)
    truth = csr_matrix(rows[0] > 1)
    found = fn.evaluate(truth, fn.Scores(rows[1].astype("f8")), "ndcg,map").values
    np.testing.assert_allclose(found, fn.reference.evaluate(rows[0] > 1, rows[1], "ndcg,map").values, rtol=1e-12)
    assert len(sizes) == 5


@pytest.mark.parametrize("ties", [ties for ties in TIES if ties != "mean_rank"])
@pytest.mark.parametrize("asked", ["rr", "rr,ndcg@10", "rank,p@3", "rr(rel=2)", "rr(rel=2),rr(rel=2)@70,success@5"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_ties_are_ordered_down_to_the_first_relevant_document(dtype, asked, ties):
    """AP reads all hits, so that values beside it are found without this shortcut."""
    generator = np.random.default_rng(29)
    for size, n_values in ((30, 4), (100, 12), (300, 1000), (150, 3)):
        for share in (0.02, 0.3, 0.9):
            scores = generator.integers(0, n_values, (12, size)).astype(dtype)
            labels = np.where(generator.random((12, size)) < share, generator.choice([-1, 1, 1, 2], (12, size)), 0)
            labels[:, 1:] *= labels[:, 1:] < generator.integers(2, 4, (12, 1))  # some queries have few labels of 2
            rankings = fn.Rankings(
                labels.ravel(), scores.ravel(), np.arange(13) * size, tie_keys=generator.permutation(12 * size)
            )
            convention = parse_convention(f"default(ties={ties})")
            found = engine.run(rankings, parse_metrics(asked), convention).values
            expected = engine.run(rankings, parse_metrics(f"{asked},map"), convention).values[:, :-1]
            np.testing.assert_array_equal(found, expected)


RANDOM = np.random.default_rng(13)
N_DOCUMENTS = 20_000 if strategies.JIT else 300
LABELS = {
    "of many grades": RANDOM.integers(0, 40, N_DOCUMENTS),
    "of one": RANDOM.integers(0, 2, N_DOCUMENTS),
    "of few documents": (RANDOM.random(N_DOCUMENTS) < 0.05) * RANDOM.integers(1, 4, N_DOCUMENTS),  # others are located
}


def ndcg(labels, scores, *, as_given):
    """Compute nDCG by definition. Tied scores share the discounts of their ranks, unless they are ranked as given."""
    gains = labels[np.argsort(-scores, kind="stable")].astype("f8")
    discounts = 1 / np.log2(np.arange(2, len(labels) + 2))
    ideal = np.sort(gains)[::-1] @ discounts
    if not as_given:
        _, group, sizes = np.unique(-np.sort(-scores), return_inverse=True, return_counts=True)
        discounts = (np.bincount(group, discounts) / sizes)[group]
    return gains @ discounts / ideal


@pytest.mark.parametrize("ties", ["average", "input"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kind", HARD)
def test_large_and_small_queries(kind, labels, dtype, ties):
    with np.errstate(over="ignore"):
        values = np.concatenate(
            [[0.5, 0.5, 0.1], HARD[kind](np.random.default_rng(13), N_DOCUMENTS), [0.3, 0.9]]
        ).astype(dtype)
    grades = np.concatenate([[1, 0, 2], LABELS[labels], [0, 1]])
    offsets = [0, 3, 3 + N_DOCUMENTS, 5 + N_DOCUMENTS]
    convention = fn.conventions["default"].replace(ties=ties)
    found = engine.run(fn.Rankings(grades, values, offsets), (fn.nDCG,), convention, strategy=SORT).values[:, 0]
    queries = [slice(*bounds) for bounds in pairwise(offsets)]
    expected = [ndcg(grades[query], values[query], as_given=ties == "input") for query in queries]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("highest", [2, 7, 8, 31, 32, 2.5, -1])
@pytest.mark.parametrize("n_documents", [1, 9, 255, 256, 300])
def test_idcg_is_a_sum_of_sorted_labels(n_documents, highest):
    rng = np.random.default_rng(7)
    labels = rng.integers(0, int(abs(highest)) + 1, (6, n_documents)).astype("f8")
    labels[0] = max(highest, 1)  # the most that a byte counts, and one more
    labels[1, :: max(n_documents // 3, 1)] = highest
    labels[2] = 0
    convention = fn.conventions["default"].replace(negative_labels="keep")
    found = fn.evaluate(labels, rng.random(labels.shape), "idcg,idcg@10", convention=convention).values
    for row, values in zip(labels.tolist(), found.tolist(), strict=True):
        for k, value in zip((n_documents, 10), values, strict=True):
            best = [label for label in sorted(row, reverse=True)[:k] if label > 0]
            worst = [(rank, label) for rank, label in enumerate(sorted(row, reverse=True)[:k], 1) if label < 0]
            total = 0.0
            for rank, label in [*enumerate(best, 1), *worst]:
                total += label * (1 / log2(rank + 1))
            assert value == pytest.approx(total, rel=1e-15)


GAINS = ("", "@2", "(gain=exp2)", "(gain=binary)", "(rel=2)", "(gain=[0,1,5])", "(gain=[0,2,2])")


@pytest.mark.parametrize("gain", GAINS)
def test_labels_of_1_alone_beside_others(gain):
    queries = [[1] * 9, [1, 2, 1], [], [1, 1], [0, 1, 0, 2], [2, 2], [1], [0, 0]]
    queries += [[1, 1.5]] if "[" not in gain else []
    scores = [np.arange(len(query), 0.0, -1) for query in queries]
    metric, companion = f"idcg{gain}", f"q{gain}"
    alone = [fn.evaluate(np.array(query), own, metric, offsets=[0, len(query)]).values[0, 0]
             for query, own in zip(queries, scores, strict=True)]  # fmt: skip
    given, offsets = (np.concatenate(queries), np.concatenate(scores)), np.cumsum([0, *map(len, queries)])
    for metrics, place in ((metric, 0), (f"{metric},{companion}", 0), (f"{companion},{metric}", 1)):
        values = fn.evaluate(*given, metrics, offsets=offsets).values
        np.testing.assert_array_equal(values[:, place], alone)
        expected = fn.reference.evaluate(*given, metrics, offsets=offsets).values
        np.testing.assert_allclose(values, expected, rtol=1e-14)
    if not gain:
        assert alone[3] == 1 / log2(2) + 1 / log2(3)

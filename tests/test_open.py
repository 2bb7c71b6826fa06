"""Queries with many candidates, whose hits are counted or sorted apart from all others."""

import threading
import time

import cases
import numpy as np
import pytest

import fastndcg as fn
from fastndcg import engine, giants
from fastndcg.conventions import parse_convention
from fastndcg.kernels import giant
from fastndcg.kernels.rank import COUNT, SORT
from fastndcg.metric import parse_metrics
from fastndcg.threads import Stopped, check_stopped, run_all

HARD = {
    "both signs": lambda generator, n: generator.standard_normal(n),
    "zeros of both signs": lambda generator, n: generator.choice([-0.0, 0.0, 1e-45, -1e-45], n),
    "without bounds": lambda generator, n: generator.choice([np.inf, -np.inf, 3e38, -3e38, 1.0], n),
    "few bytes": lambda generator, n: 1.0 + generator.integers(0, 200, n) * 2.0**-23,
    "the last byte": lambda generator, n: 1.0 + generator.integers(0, 200, n) * 2.0**-52,
    "alike": lambda generator, n: np.full(n, -2.5),
}


@pytest.mark.parametrize("strategy", [COUNT, SORT], ids=["count", "sort"])
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_many_candidates_and_hard_scores(dtype, kind, strategy):
    """What is left open, counted or sorted, stands where comparing all pairs says."""
    generator = np.random.default_rng(5)
    sizes = np.array([65, 70, 128])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    scores = HARD[kind](generator, offsets[-1]).astype(dtype)
    scores[offsets[1:] - 1] = scores[offsets[:-1]]  # neither end says which bytes differ
    labels = generator.integers(1, 3, offsets[-1], "u1")
    labels[offsets[2] : offsets[2] + 60] = 0
    asked = parse_metrics("ndcg,P@40,AP,RR")

    for ties in ("input", "worst"):
        convention = parse_convention("default").replace(ties=ties)
        found, _ = engine.run(fn.Rankings(labels, scores, offsets), asked, convention, strategy=strategy)

        expected = fn.reference.evaluate(labels, scores, asked, offsets=offsets, convention=convention).values
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_giants_are_ordered_in_steps(dtype, kind, n_threads, monkeypatch):
    """The same bits as in one call, where giants come first, last, next to one another and between small queries."""
    generator = np.random.default_rng(6)
    sizes = np.array([400, 3, 300, 500, 0, 90, 450])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    scores = HARD[kind](generator, offsets[-1]).astype(dtype)
    rankings = fn.Rankings(generator.integers(0, 3, offsets[-1], "u1"), scores, offsets)
    asked, convention = parse_metrics("ndcg,P@40,AP,RR"), parse_convention("default")
    options = {"strategy": SORT, "threads": n_threads, "chunk_documents": 200}
    expected = engine.run(rankings, asked, convention, **options)
    numbered = []
    number_giants = giants.number_giants
    monkeypatch.setattr(giants, "number_giants", lambda *given: numbered.append(number_giants(*given)))
    monkeypatch.setattr(giants, "GIANT", 299)

    found = engine.run(rankings, asked, convention, **options)

    assert cases.bits(found) == cases.bits(expected)
    assert numbered


def test_giants_that_are_counted_are_left_alone(monkeypatch):
    """Beside one that is ordered in steps, those with few candidates, or none, keep their hits."""
    generator = np.random.default_rng(8)
    labels = np.concatenate([np.zeros(3000), generator.integers(0, 9, 3000), np.arange(3000) % 75 == 7])
    rankings = fn.Rankings(labels.astype("u1"), generator.random(9000), [0, 3000, 6000, 9000])
    asked, convention = parse_metrics("ndcg@200,P@200"), parse_convention("default")
    expected = engine.run(rankings, asked, convention)
    monkeypatch.setattr(giants, "GIANT", 299)

    found = engine.run(rankings, asked, convention)

    assert cases.bits(found) == cases.bits(expected)


def test_a_giant_ends_where_another_worker_has_failed(monkeypatch):
    """No further step is made, and the error of the other is raised."""
    monkeypatch.setattr(giants, "GIANT", 299)
    rankings = fn.Rankings(np.ones(600, "u1"), np.linspace(0, 1, 600), [0, 600])
    begun, steps, pass_on = threading.Event(), [], giant.pass_on

    def step(*given):
        steps.append(pass_on(*given))
        begun.set()
        for _ in range(30_000):
            try:
                check_stopped()
            except Stopped:
                return
            time.sleep(0.001)

    def make_worker():
        def work(item):
            if item == "giant":
                engine.run(rankings, parse_metrics("AP"), parse_convention("default"), strategy=SORT, threads=1)
            assert begun.wait(30)
            raise LookupError(item)

        return work

    monkeypatch.setattr(giant, "pass_on", step)
    with pytest.raises(LookupError, match="other"):
        run_all(["giant", "other"], make_worker, 2)
    assert len(steps) == 1

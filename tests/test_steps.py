"""What metrics share of their work, and steps that no plan has."""

from dataclasses import replace

import numpy as np

import fastndcg as fn
from fastndcg import arguments, engine, memory, walks
from fastndcg.chunk import Chunk, Truth

DEFAULT = fn.conventions["default"]
RANKINGS = fn.Rankings([1, 0, 2, 3, 1, 0, 2], [0.1, 0.9, 0.8, 0.3, 0.2, 0.7, 0.6], [0, 4, 7])


def chunk_of(*texts):
    """A chunk, and the steps of its plan."""
    metrics = tuple(map(fn.Metric.parse, texts))
    prepared = engine.prepare(RANKINGS, metrics, DEFAULT, 1, 100)
    scratch = memory.Scratch()
    job = engine.job_of(RANKINGS, prepared, 0, np.empty((len(metrics), RANKINGS.n_queries)), scratch)
    return Chunk(job, Truth(job, memory.FRESH, 0, RANKINGS.n_queries), scratch), prepared.plan.steps


def dcg(k):
    """DCG@k of both queries."""
    return fn.evaluate(RANKINGS, metrics=f"dcg@{k}").values[:, 0].tolist()


def test_a_step_that_no_plan_has_keeps_its_rows_apart():
    """It may ask before those of the plan do, and after; each gets its own."""
    chunk, steps = chunk_of("dcg@1", "dcg@3")
    foreign = arguments.step_of(fn.DCG @ 2, DEFAULT)

    assert walks.reached(chunk, foreign).tolist() == dcg(2)
    assert [walks.reached(chunk, step).tolist() for step in steps] == [dcg(1), dcg(3)]
    assert walks.reached(chunk, foreign).tolist() == dcg(2)


def test_what_steps_share_is_made_once():
    """Steps that agree in what matters get the same array, whether bound to a plan or not; others do not."""
    chunk, (first, other) = chunk_of("P@2", "P(rel=2)@2")

    assert arguments.n_relevant(chunk, first) is arguments.n_relevant(chunk, replace(first, k=1))
    assert arguments.n_relevant(chunk, first) is not arguments.n_relevant(chunk, other)
    assert arguments.n_relevant(chunk, first).tolist() == [3, 2]
    assert arguments.n_relevant(chunk, other).tolist() == [2, 1]
    assert arguments.n_relevant.bind(first, {})(chunk, first) is arguments.n_relevant(chunk, first)

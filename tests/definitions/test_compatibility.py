"""Compatibility: ir_measures, ranks without end, and large groups of ties."""

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.kernels.metrics import cascades


def drawn(n_queries, seed):
    """Judgments of some documents with few labels, and scores of others, all different."""
    generator = np.random.default_rng(seed)
    qrels, run = {}, {}
    for q in range(n_queries):
        judged, ranked = (generator.permutation(60)[: generator.integers(1, 40)].tolist() for _ in range(2))
        qrels[f"q{q}"] = {f"d{d}": int(generator.integers(-1, 4)) for d in judged}
        run[f"q{q}"] = {f"d{d}": float(score) for d, score in zip(ranked, generator.permutation(100), strict=False)}
    return qrels, run


def test_equals_ir_measures():
    """ir_measures' ranks end where the longer of ranking and ideal does, which a cutoff says here."""
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is absent: pip install ir_measures")
    qrels, run = drawn(40, 1)
    for p in (0.5, 0.8, 0.95):
        theirs = {one.query_id: one.value for one in ir_measures.iter_calc([ir_measures.Compat(p=p)], qrels, run)}
        for query in qrels:
            n_ideal = sum(label > 0 for label in qrels[query].values())
            metric = f"Compat(p={p})@{max(n_ideal, len(run[query]))}"
            value = fn.evaluate({query: qrels[query]}, {query: run[query]}, metric).values.item()
            if n_ideal:
                assert value == pytest.approx(theirs[query], rel=1e-12, abs=1e-15)
            else:
                assert np.isnan(value)


@pytest.mark.parametrize("p", [0.01, 0.9, 0.999, 0.9999999])
def test_ranks_without_end(p):
    """Without a cutoff the ranks go on for ever: the weights add up to −ln(1 − p) / p, however slowly they fall."""
    labels = [0] * 4 + [1]
    value = fn.evaluate([labels], [[5, 4, 3, 2, 1]], f"Compat(p={p})").values.item()
    weights = -np.log1p(-p) / p
    before = sum(p ** (d - 1) / d for d in range(1, 5))
    assert value == pytest.approx(1 - before / weights, rel=1e-9, abs=1e-12)


def test_large_groups_of_ties():
    """Of many tied documents each order is as likely: the expectation is that of drawing them, in little time."""
    n = 20_000
    labels, scores = np.zeros((1, n)), np.zeros((1, n))
    labels[0, 0] = 1
    value = fn.evaluate(labels, scores, "Compat(p=0.9)@3").values.item()
    rests = [1 + 0.9 / 2 + 0.81 / 3, 0.9 / 2 + 0.81 / 3, 0.81 / 3]
    assert value == pytest.approx(sum(rests) / n / rests[0], rel=1e-12)
    labels[0, : n // 2] = 1
    assert fn.evaluate(labels, scores, "Compat(p=0.9)@1000").values.item() == pytest.approx(0.5, abs=0.01)


def test_compat_skips_tied_hits_that_change_no_digit(monkeypatch):
    """The sum over a tie group ends early, with the bits of the sum over all of its hits."""
    n_documents, n_relevant = 2000, 1000
    tails = np.empty(2049)
    getattr(cascades.fill_tail_weights, "py_func", cascades.fill_tail_weights)(0.5, 2**31 - 1, tails)
    weigh = getattr(cascades.expected_tail_weight, "py_func", cascades.expected_tail_weight)
    expected = 0.0
    for j in range(1, n_relevant + 1):
        expected += weigh(tails, j, 0, n_documents, n_relevant, j)
    calls = []
    monkeypatch.setattr(cascades, "expected_tail_weight", lambda *given: calls.append(1) or weigh(*given))
    match = getattr(cascades.match_labels, "py_func", cascades.match_labels)
    ties = np.full(n_relevant, n_documents, "i4")
    ones, offsets = np.ones(n_relevant), np.array([0, n_relevant])
    hits = cascades.RankedLabels(np.zeros(n_relevant, "i4"), ties, ones, offsets)
    value = np.zeros(1)
    match(hits, ones, offsets, tails, np.zeros(n_relevant + 1, "i4"), value)
    assert value[0] == expected
    assert len(calls) < 200

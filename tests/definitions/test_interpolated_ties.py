"""Interpolated precision where scores tie: the mean over all orders, counted for each value that it may have."""

import signal
import threading
from itertools import accumulate
from math import ceil, comb, fsum

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.kernels.metrics import interpolated_ties

LARGE = {"many values": (200, 75), "dense": (140, 110), "sparse": (500, 9)}  # of more values than a block holds


def mean_of_highest(groups, n_needed):
    """
    The mean over all orders of the highest precision from the relevant document number `n_needed` on.

    Tie groups are (documents, relevant ones). For each value v that a precision may have, the chance that all stay
    below it is found by going down the ranks: with k of r found by rank s of g, the next is with (r − k) / (g − s).
    """
    starts = list(accumulate((documents for documents, _ in groups), initial=0))
    befores = list(accumulate((relevant for _, relevant in groups), initial=0))
    spans = list(zip(starts, befores, groups, strict=False))
    values = {
        (before + i) / (above + place)
        for above, before, (g, r) in spans
        for i in range(1, r + 1)
        for place in range(i, g - r + i + 1)
        if before + i >= n_needed
    }
    values = np.array(sorted(values))
    below = np.ones(len(values))
    for above, before, (g, r) in spans:
        chances = np.zeros((len(values), r + 1))
        chances[:, 0] = 1.0
        numbers = before + np.arange(1, r + 1)
        for s in range(g):
            found = chances[:, :-1] * ((r - np.arange(r)) / (g - s))
            chances *= 1.0 - (r - np.arange(r + 1)) / (g - s)
            keeps = (numbers < n_needed) | (numbers / (above + s + 1) < values[:, None])
            chances[:, 1:] += np.where(keeps, found, 0.0)
        below *= chances[:, r]
    return fsum(np.diff(values, prepend=0.0) * (1.0 - below))


def rankings_of(groups):
    """Labels, scores and the place of the end of a query of tie groups."""
    labels = [label for g, r in groups for label in [1] * r + [0] * (g - r)]
    scores = [-place for place, (g, _) in enumerate(groups) for _ in range(g)]
    return labels, scores, [0, len(labels)]


tie_group = st.integers(1, 14).flatmap(lambda g: st.tuples(st.just(g), st.integers(0, g)))


@strategies.examples(60)
@given(groups=st.lists(tie_group, min_size=1, max_size=5).filter(lambda groups: any(r for _, r in groups)))
def test_equals_the_chances_of_every_value(groups):
    """Interpolated precision of tie groups equals its expected value at each recall."""
    labels, scores, offsets = rankings_of(groups)
    n_relevant = sum(labels)
    recalls = [fn.IPrec(recall=n / n_relevant) for n in range(1, n_relevant + 1)]
    expected = [mean_of_highest(groups, n) for n in range(1, n_relevant + 1)]

    values = fn.evaluate(labels, scores, recalls, offsets=offsets).values

    np.testing.assert_allclose(values[0], expected, rtol=1e-12, atol=0)


@pytest.mark.skipif(not strategies.JIT, reason="takes long where kernels are not compiled")
@pytest.mark.parametrize("group", LARGE.values(), ids=LARGE)
@pytest.mark.parametrize("above", [(), ((3, 3), (40, 7))], ids=["alone", "below others"])
def test_large_groups_lose_no_digit(group, above):
    """Hundreds of equal scores, with more values of the precision than are kept at once."""
    groups = [*above, group]
    labels, scores, offsets = rankings_of(groups)
    recalls = (0.0, 0.3, 0.9)
    needed = [max(np.ceil(recall * sum(labels) - 1e-9), 1) for recall in recalls]

    values = fn.evaluate(labels, scores, [fn.IPrec(recall=recall) for recall in recalls], offsets=offsets).values

    np.testing.assert_allclose(values[0], [mean_of_highest(groups, n) for n in needed], rtol=1e-12, atol=0)


@pytest.mark.skipif(not strategies.JIT, reason="takes long where kernels are not compiled")
@pytest.mark.parametrize(("n", "n_relevant"), [(600, 250), (3000, 2), (20_000, 3), (2000, 1990)])
def test_iprec_at_recall_one_with_ties(n, n_relevant):
    """The last relevant document is at rank p in C(p − 1, R − 1) of C(n, R) orders, with precision R / p."""
    orders = comb(n, n_relevant)
    terms = [n_relevant / p * (comb(p - 1, n_relevant - 1) / orders) for p in range(n_relevant, n + 1)]

    value = fn.evaluate(np.arange(n) < n_relevant, np.zeros(n), "IPrec(recall=1)", offsets=[0, n])["IPrec(recall=1)"]

    assert value == pytest.approx([fsum(terms)], rel=1e-12)


def test_relevant_documents_that_tie_with_each_other_alone_are_certain():
    """Of different labels, too: both are found by rank 2, whoever is first."""
    result = fn.evaluate([[1, 2, 0]], [[1, 1, 0]], "IPrec(recall=0.5),IPrec(recall=1),IAP")

    assert result.values.tolist() == [[1.0, 1.0, 1.0]]


def test_iprec_raises_when_tie_group_is_too_large():
    """A thousand relevant of ten thousand equal scores: an error that names the query and the way out."""
    labels, scores = np.arange(10_001) % 10 == 0, np.zeros(10_001)
    assert interpolated_ties.MAX_STEPS < 1000**2 * 9000

    with pytest.raises(fn.InvalidInputError, match=r"`scores` must not tie so many documents of query 1 for IAP"):
        fn.evaluate(labels, scores, "IAP", offsets=[0, 1, 10_001])
    assert fn.evaluate(labels, scores, "IAP", offsets=[0, 1, 10_001], convention="default(ties=input)").n_tied == 1


def test_interpolated_precision_is_refused_by_the_steps_of_all_tie_groups_of_a_query():
    """Tie groups that are accepted in several queries are refused in one query, on any number of threads."""
    half = rankings_of([(300, 100), (300, 100)])
    n_steps = 100 * (100 + interpolated_ties.STEPS_PER_VALUE) * 200
    n_queries = int(interpolated_ties.MAX_STEPS // n_steps) + 2
    labels, scores, _ = rankings_of([(300, 100)] * n_queries)
    alone = np.arange(n_queries + 1) * 300

    for threads in (1, 2):
        values = fn.evaluate(labels, scores, "IPrec(recall=1)", offsets=alone, threads=threads).values
        assert len(np.unique(values)) == 1
        with pytest.raises(fn.InvalidInputError, match=r"`scores` must not tie so many documents of query 1 for IPrec"):
            fn.evaluate(
                [*half[0], *labels], [*half[1], *scores], "IPrec(recall=0)", offsets=[0, 600, 600 + len(labels)],
                threads=threads,
            )  # fmt: skip


@pytest.mark.skipif(not strategies.JIT, reason="takes long where kernels are not compiled")
@pytest.mark.parametrize("n_chunks", [1, 2])
def test_interpolated_precision_ends_by_control_c_after_one_call_a_thread(monkeypatch, n_chunks):
    """After Ctrl-C, each thread begins at most one more call."""
    calls, n_after = interpolated_ties.interpolate_tied, []

    def count(*arguments):
        n_after.append(threading.current_thread())
        if len(n_after) == 2:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return calls(*arguments)

    labels, scores, _ = rankings_of([(1000, 250)] * 400)
    monkeypatch.setattr(interpolated_ties, "interpolate_tied", count)

    with pytest.raises(KeyboardInterrupt):
        fn.evaluate(labels, scores, "IAP", offsets=np.arange(401) * 1000, threads=n_chunks)

    assert len(n_after) <= 2 + n_chunks


@pytest.mark.parametrize("levels", [None, 40], ids=["untied", "tied"])
@pytest.mark.parametrize("rel", [1, 2])
def test_iap_with_ties_is_mean_of_iprec(levels, rel):
    """Of few relevant documents and of many, with labels that are not relevant between them, beside tied queries."""
    rng = np.random.default_rng(11)
    sizes = rng.integers(1, 120, 80)
    shares = rng.random(80).repeat(sizes)
    labels = np.where(rng.random(len(shares)) < shares, rng.integers(1, 3, len(shares)), 0)
    scores = rng.permutation(len(shares)).astype(float)
    if levels:
        tied = (np.arange(80) % 3 == 0).repeat(sizes)
        scores[tied] = np.floor(scores[tied] * levels / len(scores))
    recalls = [fn.IPrec(recall=tenth / 10, rel=rel) for tenth in range(11)]
    some = fn.IAP(recalls=(0.9, 0.2, 0.7, 0.2), rel=rel)
    offsets = np.concatenate([[0], np.cumsum(sizes)])

    values = fn.evaluate(labels, scores, [fn.IAP(rel=rel), some, *recalls], offsets=offsets).values

    alone = fn.evaluate(labels, scores, [fn.IPrec(rel=rel)], offsets=offsets).values
    each = values[:, 2:]
    np.testing.assert_allclose(values[:, 0], each.mean(axis=1), rtol=1e-14)
    np.testing.assert_allclose(values[:, 1], each[:, [9, 2, 7, 2]].mean(axis=1), rtol=1e-14)
    np.testing.assert_array_equal(each[:, 5], alone[:, 0])


@pytest.mark.parametrize("n_relevant", [31, 32, 33, 70])
@pytest.mark.parametrize("rel", [1, 2])
def test_recalls_of_few_and_of_many_relevant_documents(n_relevant, rel):
    """IAP equals its definition for few relevant documents and for many."""
    rng = np.random.default_rng(n_relevant)
    labels = np.concatenate([np.full(n_relevant, 2), np.ones(20), np.zeros(90)])
    ranked = [rng.permutation(labels) for _ in range(3)]
    labels, scores = np.concatenate(ranked), np.tile(-np.arange(len(labels), dtype="f8"), 3)
    offsets, recalls = np.arange(4) * (n_relevant + 110), np.arange(11) / 10

    found = fn.evaluate(labels, scores, f"IAP(rel={rel})", offsets=offsets).values[:, 0]

    for value, own in zip(found, ranked, strict=True):
        relevant = own >= rel
        precisions = np.cumsum(relevant) / np.arange(1, len(own) + 1)
        asked = [max(ceil(recall * relevant.sum() - 1e-9), 1) for recall in recalls]
        highest = [precisions[np.cumsum(relevant) >= n].max() for n in asked]
        assert value == pytest.approx(np.mean(highest), rel=1e-13)

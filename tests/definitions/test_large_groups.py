"""Values of thousands of documents, tied or not: sums and quotients of whole numbers that lose no digit."""

from collections import Counter
from math import comb, fsum

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.kernels.metrics import cascades
from fastndcg.rankings.rankings import Rankings

# of so many equal scores so many are relevant, and so many ranks count
LARGE_GROUPS = [
    (1200, 600, 400), (1200, 600, 1200), (3000, 10, 7), (3000, 2990, 20), (100_000, 1, 1), (100_000, 2, 5),
]  # fmt: skip


@pytest.mark.parametrize(("n", "n_relevant", "k"), LARGE_GROUPS)
def test_chances_in_large_tie_groups_are_exact(n, n_relevant, k):
    """Quotients of whole binomial coefficients: the kernels lose no digit of them among thousands of equal scores."""
    n_most, draws, places = min(k, n_relevant), comb(n, k), comb(n, n_relevant)  # draws and places exceed float64
    chance_of = [comb(n_relevant, x) * comb(n - n_relevant, k - x) / draws for x in range(n_most + 1)]
    chance_first = [comb(n - r, n_relevant - 1) / places for r in range(1, min(k, n - n_relevant + 1) + 1)]

    def precisions(among, x):
        """Expected sum of P@r over the ranks r = 1 … k of those of x relevant documents among so many."""
        return x / among * fsum((1 + (r - 1) * (x - 1) / max(among - 1, 1)) / r for r in range(1, k + 1))

    of_hits = fsum(chance_of[x] * precisions(k, x) / x for x in range(1, n_most + 1))
    expected = {
        f"Success@{k}": (draws - comb(n - n_relevant, k)) / draws,
        f"RR@{k}": fsum(chance / r for r, chance in enumerate(chance_first, 1)),
        f"P@{k}": fsum(x * chance for x, chance in enumerate(chance_of)) / k,
        f"AP@{k}": precisions(n, n_relevant) / n_relevant,
    }
    query = ([1] * n_relevant + [0] * (n - n_relevant), [0.5] * n)
    result = fn.evaluate(*query, list(expected), groups=[n])
    hits_only = fn.evaluate(*query, f"AP@{k}", groups=[n], convention="default(ap_denominator=n_hits)")
    assert result.mean() == pytest.approx(expected, rel=1e-12, abs=0)
    assert hits_only.means() == pytest.approx([of_hits], rel=1e-12, abs=0)


@pytest.mark.parametrize(("n", "n_relevant"), [(1200, 600), (1000, 10), (3000, 2990), (30_000, 2), (100_000, 1)])
@pytest.mark.parametrize("recall", [0.01, 0.5, 1])
def test_precision_at_recall_of_large_tie_groups_is_exact(n, n_relevant, recall):
    wanted = next(i for i in range(1, n_relevant + 1) if i / n_relevant >= recall)
    ranks = range(wanted, n - n_relevant + wanted + 1)
    cases = (comb(r - 1, wanted - 1) * comb(n - r, n_relevant - wanted) for r in ranks)
    places = comb(n, n_relevant)
    expected = fsum(wanted / r * (case / places) for r, case in zip(ranks, cases, strict=True))
    metric = fn.Metric("PatR", recall=recall)
    result = fn.evaluate([1] * n_relevant + [0] * (n - n_relevant), [0.5] * n, metric, groups=[n])
    assert result[metric] == pytest.approx([expected], rel=1e-12, abs=0)


@pytest.mark.parametrize(("n", "n_relevant"), [(3000, 1500), (3000, 3), (50_000, 40)])
@pytest.mark.parametrize("grade", [1, 4])
def test_err_of_large_tie_groups_is_exact(n, n_relevant, grade):
    stop = (2**grade - 1) / 2**4
    hits = np.arange(n_relevant + 1)  # among the documents drawn so far
    chances = (hits == 0) * 1.0
    terms = []
    for r in range(1, n + 1):
        hit = (n_relevant - hits) / (n - r + 1)
        terms.append(float(chances @ (hit * (1 - stop) ** hits)) * stop / r)
        chances = chances * (1 - hit) + np.concatenate([[0], (chances * hit)[:-1]])
        if chances @ (1 - stop) ** hits < 1e-18 or r > 5000:
            break
    metric = fn.ERR @ len(terms)
    result = fn.evaluate([grade] * n_relevant + [0] * (n - n_relevant), [0.5] * n, metric, groups=[n])
    assert result[metric] == pytest.approx([fsum(terms)], rel=1e-12, abs=0)


def test_pairs_of_many_documents_are_counted_exactly():
    """Half of 200,000 documents relevant, of four labels, in three groups of equal scores: no digit is lost."""
    n = 200_000
    labels = np.arange(n) % 4
    scores = np.arange(n) % 3
    count = Counter(zip(labels.tolist(), scores.tolist(), strict=True))
    right = sum(
        count[high, at] * count[low, below] * (1 if at > below else 1 / 2)
        for high in range(4) for low in range(high) for at in range(3) for below in range(at + 1)
    )  # fmt: skip
    pairs = comb(4, 2) * (n // 4) ** 2
    assert fn.evaluate(labels, scores, "OPA", groups=[n])["OPA"] == [right / pairs]


@pytest.mark.parametrize("goal", [0.25, 1, 1.3, 7, 300])
@pytest.mark.parametrize("k", [100, 5000, 100_000])
def test_inst_of_long_rankings_is_exact(goal, k):
    n = min(k, 20_000)
    for share in (0.001, 0.4, 1):
        gains = (np.random.default_rng(5).random(n) < share) * 1.0
        ranks, left = np.arange(1, k + 1), goal - np.cumsum(np.concatenate([gains, np.zeros(k - n)]))
        further = np.cumprod(((ranks + goal + left - 1) / (ranks + goal + left)) ** 2)
        weights = np.concatenate([[1.0], further[:-1]])
        result = fn.evaluate(gains, -np.arange(n), fn.Metric("INST", k, goal=goal), groups=[n])
        expected = fsum(weights[:n] * gains) / fsum(weights)
        assert result.values == pytest.approx(np.array([[expected]]), rel=1e-11)


@pytest.mark.parametrize("p", [0.01, 0.9, 0.999, 0.9999999])
def test_compat_of_ranks_without_end(p):
    """Without a cutoff the ranks go on for ever: the weights add up to −ln(1 − p) / p, however slowly they fall."""
    labels = [0] * 4 + [1]
    value = fn.evaluate([labels], [[5, 4, 3, 2, 1]], f"Compat(p={p})").values.item()
    weights = -np.log1p(-p) / p
    before = sum(p ** (d - 1) / d for d in range(1, 5))
    assert value == pytest.approx(1 - before / weights, rel=1e-9, abs=1e-12)


def test_compat_of_large_groups():
    n = 20_000
    labels, scores = np.zeros((1, n)), np.zeros((1, n))
    labels[0, 0] = 1
    value = fn.evaluate(labels, scores, "Compat(p=0.9)@3").values.item()
    rests = [1 + 0.9 / 2 + 0.81 / 3, 0.9 / 2 + 0.81 / 3, 0.81 / 3]
    assert value == pytest.approx(sum(rests) / n / rests[0], rel=1e-12)
    labels[0, : n // 2] = 1
    assert fn.evaluate(labels, scores, "Compat(p=0.9)@1000").values.item() == pytest.approx(0.5, abs=0.01)


def test_compat_skips_tied_hits_that_change_no_digit(monkeypatch):
    for name in ("tail_weight", "fill_tail_weights", "expected_tail_weight", "count_positive", "find_first_place",
                 "count_same_label", "match_labels"):  # fmt: skip
        function = getattr(cascades, name)
        monkeypatch.setattr(cascades, name, getattr(function, "py_func", function))  # compiling takes longer
    n_documents, n_relevant = 1000, 500
    tails, weigh = np.empty(2049), cascades.expected_tail_weight
    cascades.fill_tail_weights(0.5, 2**31 - 1, tails)
    expected = 0.0
    for j in range(1, n_relevant + 1):
        expected += weigh(tails, j, 0, n_documents, n_relevant, j)
    calls = []
    monkeypatch.setattr(cascades, "expected_tail_weight", lambda *given: calls.append(1) or weigh(*given))
    ties = np.full(n_relevant, n_documents, "i4")
    ones, offsets = np.ones(n_relevant), np.array([0, n_relevant])
    value = np.zeros(1)
    above, n_matched = np.zeros(n_relevant, "i4"), np.zeros(n_relevant + 1, "i4")
    cascades.match_labels(above, ties, ones, offsets, ones, offsets, tails, n_matched, value)
    assert value[0] == expected
    assert len(calls) < 200


@pytest.mark.parametrize(("n", "n_judged"), [(300, 300), (300, 200), (300, 7), (1200, 2), (1200, 1)])
def test_infap_of_large_tie_groups_is_exact(n, n_judged):
    n_relevant, others, judged = (n_judged + 2) // 3, n - 1, n_judged - 1
    terms = []
    for above in range(n):
        terms.append(1 / (above + 1))
        for seen in range(max(above - (others - judged), 0), min(above, judged) + 1):
            chance = comb(judged, seen) * comb(others - judged, above - seen) / comb(others, above)
            relevant = seen * (n_relevant - 1) / max(judged, 1)
            terms.append(chance * seen * (relevant + 0.00001) / (seen + 2 * 0.00001) / (above + 1))
    labels = np.arange(n) < n_relevant
    rankings = Rankings(labels, np.zeros(n), [0, n], judged=np.arange(n) < n_judged)
    assert fn.evaluate(rankings, metrics="infAP").values == pytest.approx(np.array([[fsum(terms) / n]]), rel=1e-12)

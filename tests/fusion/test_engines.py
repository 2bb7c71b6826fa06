"""Engines, ranx and trectools: values of their tests and records, and the engines' arithmetic in float32."""

import json
import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from recorded_data import DATA
from refusals import refuses

import fastndcg as fn
from fastndcg.errors import InvalidInputError
from fastndcg.fusion.catalog import FUSION_METHODS
from fastndcg.fusion.methods import FusionMethod

RECORD = json.loads((DATA / "peers" / "hybrid_search.json").read_text())
F = np.float32
ZERO = F(0)


def test_values_of_the_engines_own_tests():
    """Each case of the record: scores within the tolerance of the engine's test, and its order."""
    assert len(RECORD["cases"]) >= 25
    for case in RECORD["cases"]:
        runs = {f"r{number}": {"q": row} for number, row in enumerate(case["runs"])}
        if len(runs) == 1:
            runs["other"] = {"q": {"elsewhere": 1.0}}
        weights = case["weights"]
        fused = fn.fuse(runs, case["method"], weights=weights, fusion_convention=case["program"]).to_dict()["q"]
        for document, value in case["expected"].items():
            assert fused[document] == pytest.approx(value, rel=0, abs=case["tolerance"] + 1e-9), case["test"]
        if case["order"]:
            assert list(fused) == case["order"], case["test"]


def draw_rows(seed, n_runs=2):
    """Return for each run documents with float32 scores of one query, as engines rank them."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_runs):
        documents = rng.permutation(40)[: int(rng.integers(1, 30))].tolist()
        scores = np.sort((rng.gamma(2.0, 5.0, len(documents))).astype("f4"))[::-1].tolist()
        rows.append(dict(zip(documents, scores, strict=True)))
    return rows


def elasticsearch_normalize(row, normalizer):
    """MinMaxScoreNormalizer, L2ScoreNormalizer and IdentityScoreNormalizer, statement by statement."""
    scores = [F(score) for score in row.values()]
    if normalizer == "minmax":
        low, high = min(scores), max(scores)
        if abs(low - high) < F(1e-6):
            return dict.fromkeys(row, F(1))
        return {doc: F(F(F(x) - low) / F(high - low)) for doc, x in row.items()}
    if normalizer == "l2_norm":
        total = 0.0
        for score in scores:
            total += float(F(score * score))
        norm = math.sqrt(total)
        return row if norm < F(1e-6) else {doc: F(float(F(x)) / norm) for doc, x in row.items()}
    return {doc: F(x) for doc, x in row.items()}


def elasticsearch_linear(rows, normalizers, weights):
    """LinearRetrieverBuilder.combineInnerRetrieverResults."""
    fused = {}
    for row, normalizer, weight in zip(rows, normalizers, weights, strict=True):
        for document, score in elasticsearch_normalize(row, normalizer).items():
            fused[document] = F(fused.get(document, ZERO) + F(F(weight) * F(score)))
    return fused


def elasticsearch_rrf(rows, weights, k=60):
    """RRFRetrieverBuilder.combineInnerRetrieverResults."""
    fused = {}
    for row, weight in zip(rows, weights, strict=True):
        for rank, document in enumerate(row, start=1):
            fused[document] = F(fused.get(document, ZERO) + F(F(weight) * F(F(1) / F(k + rank))))
    return fused


def opensearch_normalize(row, technique, lower=None, upper=None):
    scores = [F(score) for score in row.values()]
    if technique == "l2":
        total = ZERO
        for score in scores:
            total = F(total + F(score * score))
        norm = F(math.sqrt(total))
        return {doc: ZERO if norm == 0 else F(F(x) / norm) for doc, x in row.items()}
    low, high = min(scores), max(scores)
    normalised = {}
    for document, number in row.items():
        x = F(number)
        if high == low == x:
            normalised[document] = F(1)
            continue
        bottom, top = low, high
        if lower:
            mode, bound = lower[0], F(lower[1])
            if mode == "apply":
                bottom = bound if high > bound and x > bound else low
            elif mode == "clip":
                bottom = low if high < bound else bound
        if upper:
            mode, bound = upper[0], F(upper[1])
            if mode == "apply":
                top = bound if low < bound and x < bound else high
            elif mode == "clip":
                top = high if low > bound else bound
        if lower and lower[0] == "clip" and x < bottom:
            normalised[document] = F(0.001)
        elif (upper and upper[0] == "clip" and x > top) or top == bottom:
            normalised[document] = F(1)
        else:
            share = F(F(x - bottom) / F(top - bottom))
            normalised[document] = F(0.001) if share == 0 else share
    return normalised


def opensearch_combine(columns, technique, weights):
    """The combination techniques: arithmetic, geometric and harmonic mean, and rrf."""
    fused = {}
    for document in dict.fromkeys(doc for column in columns for doc in column):
        total = weight_sum = ZERO
        for column, number in zip(columns, weights, strict=True):
            score, weight = column.get(document, ZERO), F(number)
            if technique in ("arithmetic_mean", "rrf"):
                total = F(total + F(score * weight))
            elif score <= 0:
                continue
            elif technique == "geometric_mean":
                total = F(float(total) + float(weight) * math.log(float(score)))
            else:
                total = F(total + F(weight / score))
            weight_sum = F(weight_sum + weight)
        if technique == "rrf":
            fused[document] = total
        elif technique == "arithmetic_mean":
            fused[document] = F(total / weight_sum)
        elif technique == "geometric_mean":
            fused[document] = F(math.exp(float(F(total / weight_sum))))
        else:
            fused[document] = F(weight_sum / total)
    return fused


def opensearch_rrf(rows, weights, k=60):
    """RRFNormalizationTechnique: 1 / (k + rank) with 10 decimals, half up, as float32."""
    from decimal import ROUND_HALF_UP, Decimal

    columns = [
        {doc: F(float((Decimal(1) / (k + rank)).quantize(Decimal("1e-10"), ROUND_HALF_UP)))
         for rank, doc in enumerate(row, start=1)}
        for row in rows
    ]  # fmt: skip
    return opensearch_combine(columns, "rrf", weights)


def check_equal(rows, method, program, weights, expected):
    """Compare fused scores with those of an engine bit by bit, and with its order."""
    runs = [{"q": row} for row in rows]
    fused = fn.fuse(runs, method, weights=weights, fusion_convention=program).to_dict()["q"]
    assert fused == {document: float(score) for document, score in expected.items()}
    assert list(fused) == sorted(expected, key=lambda document: -expected[document])


def test_elasticsearch_linear_and_rrf_to_the_bit():
    """A normalizer for each retriever, weights, and float32 in each step."""
    norms = {"minmax": "min_max", "l2_norm": "l2", "none": "none"}
    for seed in range(30):
        rows = draw_rows(seed)
        weights = [0.3, 1.7] if seed % 2 else [1.0, 1.0]
        for normalizers in (("minmax", "none"), ("none", "minmax"), ("l2_norm", "l2_norm"), ("none", "none")):
            method = f"wsum(norms={{{','.join(norms[name] for name in normalizers)}}})"
            check_equal(rows, method, "elasticsearch", weights, elasticsearch_linear(rows, normalizers, weights))
        check_equal(rows, "rrf", "elasticsearch", weights, elasticsearch_rrf(rows, weights))


def test_opensearch_hybrid_query_to_the_bit():
    """Its default, min_max with the arithmetic mean; bounds of each mode; l2; the other means; rrf."""
    for seed in range(30):
        rows = draw_rows(seed)
        weights = [0.3, 0.7] if seed % 2 else [1.0, 1.0]
        for technique in ("arithmetic_mean", "geometric_mean", "harmonic_mean"):
            columns = [opensearch_normalize(row, "min_max") for row in rows]
            expected = opensearch_combine(columns, technique, weights)
            check_equal(rows, f"{technique}(norm=min_max)", "opensearch", weights, expected)
        for mode in ("apply", "clip", "ignore"):
            norm = f"min_max(lower=3,lower_mode={mode},upper=20,upper_mode={mode})"
            columns = [opensearch_normalize(rows[0], "min_max", (mode, 3), (mode, 20))]
            columns.append(opensearch_normalize(rows[1], "l2"))
            expected = opensearch_combine(columns, "arithmetic_mean", weights)
            check_equal(rows, f"arithmetic_mean(norms={{{norm},l2}})", "opensearch", weights, expected)
        check_equal(rows, "rrf", "opensearch", weights, opensearch_rrf(rows, weights))


def test_float32_decides_the_order_of_some_documents():
    """Two pairs of ranks whose points have sums in another order, or a tie, in float32."""
    ranks = list(combinations(range(1, 60), 2))
    exact = {pair: 1 / (60 + pair[0]) + 1 / (60 + pair[1]) for pair in ranks}
    single = {pair: F(F(1) / F(60 + pair[0])) + F(F(1) / F(60 + pair[1])) for pair in ranks}
    ordered = sorted(ranks, key=exact.get)
    pairs = [(a, b) for a, b in pairwise(ordered) if exact[a] < exact[b] and single[a] >= single[b]]
    pairs = [(a, b) for a, b in pairs if not set(a) & set(b)]
    assert pairs
    (low, high) = pairs[0]
    runs = []
    for place in (0, 1):
        names = {low[place]: "low", high[place]: "high"}
        runs.append({"q": {names.get(rank, f"{place}x{rank}"): float(100 - rank) for rank in range(1, 61)}})
    for convention, is_higher in (("elasticsearch(precision=float64)", True), ("elasticsearch", False)):
        fused = fn.fuse(runs, "rrf", fusion_convention=convention).to_dict()["q"]
        assert (fused["high"] > fused["low"]) == is_higher


def test_a_norm_of_each_run_has_the_same_result_in_all_forms():
    from fastndcg.fusion.methods import FusionMethod

    runs = {"bm25": {"q": {"a": 9.0, "b": 3.0}}, "my dense:v2": {"q": {"a": 0.5, "c": 0.25}}}
    given = {"bm25": "minmax", "my dense:v2": "none"}
    expected = {"a": 1.5, "b": 0.0, "c": 0.25}
    texts = [
        FusionMethod.make("wsum", norms=given), FusionMethod.make("wsum", norms=["min_max", "none"]),
        'wsum(norms={"bm25": min_max, "my dense:v2": "none"})',
        "wsum(norms={'bm25': 'min_max', 'my dense:v2': 'none'})", "wsum(norms={min_max,none})",
        "wsum(norm=none,norms={bm25:min_max})",
    ]  # fmt: skip
    for method in texts:
        assert fn.fuse(runs, method).to_dict()["q"] == expected
        assert FusionMethod.parse(str(FusionMethod.parse(method))) == FusionMethod.parse(method)
    odd = FusionMethod.make("wsum", norms={"a(b],c@1": "none", 'say "x"': "min_max(lower=0)"})
    assert FusionMethod.parse(str(odd)) == odd


ALIKE = {name: {"q": {"a": 9.0}} for name in ("bm25", "dense")}
test_wrong_norms_are_refused = refuses(lambda method: fn.fuse(ALIKE, method), [
    ("wsum(norms={bm24:min_max})", "no run 'bm24'. Did you mean 'bm25'"),
    ("wsum(norms={min_max})", "one norm for each of 2 runs, but has 1"),
    ("wsum(norms={bm25:[min_max,none]})", "A grid is for tune_fusion"),
    ("wsum(norms={bm25:minmx})", "Did you mean 'minmax'"),
    ("wsum(norms={bm25:none,bm25:none})", "must name each run once"),
    ("wsum(norms=min_max)", r"must be \{name:norm,…\}"), ("wsum(norms={})", "a norm for each run"),
    ("wsum(norm=min_max(lower=2,upper=1))", "`lower` of min_max must be below `upper`"),
    ("wsum(norm=min_max(lower=x))", "`lower` of min_max must be a finite number"),
    ("wsum(norm=min_max(lower_mode=cut))", "must be one of apply, clip, ignore"),
    ("wsum(norm=z_score(lower=1))", "z_score has no parameter 'lower'. Only min_max has bounds"),
])  # fmt: skip


def test_scores_beyond_float32_are_refused():
    with pytest.raises(InvalidInputError, match="must have scores that are finite in float32, but that of document b"):
        fn.fuse([{"q": {"a": 1.0, "b": 1e39}}, {"q": {"a": 1.0}}], "wsum", fusion_convention="elasticsearch")


FUSED = json.loads((DATA / "peers" / "fusion.json").read_text())
WEIGHTS = {"a": 0.2, "b": 0.5, "c": 0.3}
WEIGHTED = ("wsum", "mixed", "wmnz", "wborda", "wcondorcet")


def name_runs(runs):
    return dict(zip(WEIGHTS, runs, strict=False))


@pytest.mark.parametrize("text", FUSED["ranx"]["fused"])
def test_fused_scores_equal_those_of_ranx(text):
    """Every method and normalisation of ranx, without ties, to 1e-9."""
    method = FusionMethod.parse(text)
    runs = name_runs(FUSED["complete_runs" if method.record.points == "ranks" else "runs"])
    train = (FUSED["qrels"], runs) if method.record.needs_training else None
    weights = WEIGHTS if method.name in WEIGHTED else None
    fused = fn.fuse(runs, text, weights=weights, train=train, fusion_convention="ranx")
    check_fused(fused, FUSED["ranx"]["fused"][text])


@pytest.mark.parametrize("text", FUSED["trectools"]["fused"])
def test_fused_scores_of_two_runs_equal_those_of_trectools(text):
    runs = name_runs(FUSED["runs"][:2])
    fused = fn.fuse(runs, text, fusion_convention="trectools")
    check_fused(fused, FUSED["trectools"]["fused"][text])


def test_record_holds_every_method_that_the_catalogue_says_ranx_has():
    with_twin = {name for name, record in FUSION_METHODS.items() if any(peer == "ranx" for peer, _ in record.peers)}
    assert {FusionMethod.parse(text).name for text in FUSED["ranx"]["fused"]} == with_twin


def check_fused(fused, expected):
    rows = fused.to_dict()
    assert rows.keys() == expected.keys()
    for query, row in expected.items():
        assert rows[query] == pytest.approx(row, rel=1e-9, abs=1e-9)

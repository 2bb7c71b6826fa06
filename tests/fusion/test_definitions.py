"""Every fusion method and normalisation by hand: expected values are written as arithmetic."""

from math import exp, log, sqrt

import numpy as np
import pytest
from refusals import refused
from twins.fusion import fuse

import fastndcg as fn
from fastndcg.fusion.catalog import FUSION_METHODS, NORMALIZATIONS
from fastndcg.fusion.methods import FusionMethod

A = {"x": 4.0, "y": 3.0, "z": 1.0}  # places 1, 2, 3
RUNS = {"a": {"q": A}, "b": {"q": {"y": 10.0, "w": 2.0}}}
WEIGHTS = {"a": 0.25, "b": 2.0}

METHODS = {
    "min": {"x": 4, "y": 3, "z": 1, "w": 2},
    "max": {"x": 4, "y": 10, "z": 1, "w": 2},
    "med": {"x": 4, "y": (3 + 10) / 2, "z": 1, "w": 2},
    "sum": {"x": 4, "y": 13, "z": 1, "w": 2},
    "anz": {"x": 4, "y": 13 / 2, "z": 1, "w": 2},
    "mnz": {"x": 4, "y": 13 * 2, "z": 1, "w": 2},
    "gmnz(gamma=3)": {"x": 4, "y": 13 * 2**3, "z": 1, "w": 2},
    "wsum": {"x": 4 / 4, "y": 3 / 4 + 20, "z": 1 / 4, "w": 4},
    "mixed": {"x": 4 / 4, "y": sqrt(2) * (3 / 4 + 20), "z": 1 / 4, "w": 4},
    "wmnz": {"x": 4 / 4, "y": 13 * 2.25, "z": 1 / 4, "w": 4},
    "arithmetic_mean": {"x": 1 / 2.25, "y": (3 / 4 + 20) / 2.25, "z": 0.25 / 2.25, "w": 4 / 2.25},
    "geometric_mean": {"x": 4, "y": exp((0.25 * log(3) + 2 * log(10)) / 2.25), "z": 1, "w": 2},
    "harmonic_mean": {"x": 4, "y": 2.25 / (0.25 / 3 + 2 / 10), "z": 1, "w": 2},
    "rrf(k=10)": {"x": 0.25 / 11, "y": 0.25 / 12 + 2 / 11, "z": 0.25 / 13, "w": 2 / 12},
    "isr": {"x": 1, "y": 2 * (1 / 4 + 1), "z": 1 / 9, "w": 1 / 4},
    "log_isr": {"x": 0, "y": log(2) * (1 / 4 + 1), "z": 0, "w": 0},
    "logn_isr(sigma=1)": {"x": log(2), "y": log(3) * (1 / 4 + 1), "z": log(2) / 9, "w": log(2) / 4},
    "rbc(phi=0.5)": {"x": 0.25 / 2, "y": 0.25 / 4 + 2 / 2, "z": 0.25 / 8, "w": 2 / 4},
    "borda": {"x": 4 + 3 / 2, "y": 3 + 4, "z": 2 + 3 / 2, "w": (4 - 3 + 1) / 2 + 3},
    "wborda": {"x": 0.25 * 4 + 2 * 1.5, "y": 0.25 * 3 + 2 * 4, "z": 0.25 * 2 + 2 * 1.5, "w": 0.25 * 1 + 2 * 3},
    # x : y is 1 : 1, x : z 1 : 0, x : w 1 : 1, y : z 2 : 0, y : w 2 : 0, z : w 1 : 1
    "condorcet": {"x": 1 + 1 / 2 + 1 + 1 / 2, "y": 1 + 1 / 2 + 1 + 1, "z": 1 + 0 + 0 + 1 / 2, "w": 1 + 1 / 2 + 1 / 2},
    "wcondorcet": {"x": 1 + 0 + 1 + 0, "y": 1 + 3, "z": 1 + 0 + 0 + 0, "w": 1 + 1 + 0 + 1},
    # precision of a in the first segment 2 / 5, of b 1 / 5
    "bayesfuse": {
        "x": log(2 / 3) + log(0.001 / 0.999), "y": log(2 / 3) + log(1 / 4), "z": log(2 / 3) + log(0.001 / 0.999),
        "w": log(0.001 / 0.999) + log(1 / 4),
    },
    # two segments: of a (x, y) 1 / 2 and (z) 1, of b (y) 1 and (w) 0
    "probfuse(n_segments=2)": {"x": 1 / 2, "y": 1 / 2 + 1, "z": 1 / 2, "w": 0},
    "segfuse": {"x": 2 / 5 * 2, "y": 2 / 5 * (2 / 3 + 1) + 1 / 5 * 2, "z": 2 / 5, "w": 1 / 5},
    # shares by rank: of a 0, 1, 1, of b 1, 0
    "slidefuse(w=1)": {"x": 1 / 2, "y": 2 / 3 + 1 / 2, "z": 2 / 2, "w": 1 / 2},
    "posfuse": {"x": 0, "y": 1 + 1, "z": 1, "w": 0},
    # AP of a (1 / 2 + 2 / 3) / 2, of b (1 / 1) / 2
    "mapfuse": {"x": 7 / 12, "y": 7 / 24 + 1 / 2, "z": 7 / 36, "w": 1 / 4},
}  # fmt: skip
NORMS = {
    "none": {"x": 4, "y": 3, "z": 1}, "min_max": {"x": 1, "y": 2 / 3, "z": 0},
    "min_max_inverted": {"x": 0, "y": 1 / 3, "z": 1}, "max": {"x": 1, "y": 3 / 4, "z": 1 / 4},
    "sum": {"x": 3 / 5, "y": 2 / 5, "z": 0},
    "z_score": {x: (s - 8 / 3) / sqrt((16 + 1 + 25) / 27) for x, s in A.items()},
    "rank": {"x": 1, "y": 2 / 3, "z": 1 / 3}, "borda": {"x": 1, "y": 2 / 3, "z": 1 / 3},
    "l2": {x: s / sqrt(16 + 9 + 1) for x, s in A.items()},
    "dbsf": {x: (s - 8 / 3 + 3 * sqrt(42 / 18)) / (6 * sqrt(42 / 18)) for x, s in A.items()},
}  # fmt: skip


@pytest.mark.parametrize("text", METHODS)
def test_method_gives_the_score_of_its_definition(text):
    record = FusionMethod.parse(text).record
    train = ({"q": {"y": 1, "z": 1}}, RUNS) if record.needs_training else None
    fused = fn.fuse(RUNS, text, weights=WEIGHTS if record.is_weighted else None, train=train)
    assert fused.to_dict()["q"] == pytest.approx(METHODS[text], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("norm", NORMS)
def test_normalisation_gives_the_score_of_its_definition(norm):
    fused = fn.fuse([{"q": A}, {"q": A}], f"max(norm={norm})")
    assert fused.to_dict()["q"] == pytest.approx(NORMS[norm], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    "unit", [2.0**1021, 2.0**600, 2.0**-450, 2.0**-1070], ids=["2e307", "4e180", "3e-136", "8e-323"]
)
@pytest.mark.parametrize("norm", [norm for norm in NORMS if norm != "none"])
def test_normalised_scores_of_very_large_and_very_small_scores_are_the_same_bits(norm, unit):
    """Scores that are multiplied by a power of two keep their normalised scores: no sum overflows or is lost."""
    row = {document: score * unit for document, score in A.items()}
    row["z"] = -row["x"]  # so that the range of the scores overflows, too
    ordinary, extreme = (
        fn.fuse([{"q": scores}] * 2, f"max(norm={norm})").to_dict()["q"] for scores in (A | {"z": -4.0}, row)
    )
    assert extreme == ordinary


def test_sums_and_quotients_that_overflow():
    """An absent document gets the mean of a run whose sum overflows. -1e308 / 1e-310 is not taken for absent."""
    runs = [{"q": {"x": 1e308, "y": 1.5e308}}, {"q": {"z": 1.0}}]
    assert fn.fuse(runs, "max", absent="mean").to_dict()["q"]["z"] == pytest.approx(1.25e308, rel=1e-15)
    runs = [{"q": {"x": 1e-310, "z": -1e308}}, {"q": {"x": 1.0}}]
    refused(r"max must .* document z of query q in run 'run 1' is -inf", fn.fuse, runs, "max(norm=max)")


def test_segments_of_bayesfuse_end_at_the_ranks_of_its_source():
    """One document of each segment is relevant, its last one: a segment of n has the odds 1 / (n - 1)."""
    ends = np.array([5, 10, 15, 20, 30, 100, 200, 500, 1000])
    sizes = np.diff(ends, prepend=0)
    run = fn.Run(["q"] * 1100, [f"d{rank}" for rank in range(1, 1101)], -np.arange(1100.0))
    fused = fn.fuse([run, run], "bayesfuse", train=({"q": {f"d{end}": 1 for end in ends}}, [run, run])).to_dict()["q"]
    expected = [*np.repeat(-np.log(sizes - 1), sizes), *[log(0.001 / 0.999)] * 100]
    assert [fused[f"d{rank}"] for rank in range(1, 1101)] == pytest.approx(2 * np.array(expected), rel=1e-12)


def test_every_record_of_the_catalogue_has_a_definition_test():
    assert {FusionMethod.parse(text).name for text in METHODS} == set(FUSION_METHODS)
    assert set(NORMS) == set(NORMALIZATIONS)


@pytest.mark.parametrize("record", FUSION_METHODS.values(), ids=lambda record: record.name)
def test_record_is_complete_and_its_names_parse(record):
    from fastndcg.kernels.lookup import load_kernels

    assert hasattr(load_kernels("fusion.points"), record.kernel)
    assert record.formula
    assert record.source
    for text in (record.name, *record.aliases, *record.names_elsewhere):
        method = FusionMethod.parse(text)
        assert method.name == record.name
        assert FusionMethod.parse(str(method)) == method


ABSENT = [  # method, weights, what an absent document gets, fused scores
    # x has one score, y two: their sums have different divisors
    ("arithmetic_mean", WEIGHTS, "skip", {"x": 4, "y": (0.25 * 3 + 2 * 10) / 2.25, "z": 1, "w": 2}),
    # x is not in the second run, whose lowest score is 2 and whose mean is 6
    ("sum", None, "zero", {"x": 4 + 0}), ("sum", None, "minimum", {"x": 4 + 2}), ("sum", None, "mean", {"x": 4 + 6}),
    ("sum", None, "skip", {"x": 4}),
    # with zero every run counts: the minimum is 0, and the median a half
    ("min", None, "zero", {"y": 3, "w": 0, "x": 0, "z": 0}), ("med", None, "zero", {"x": 4 / 2}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "weights", "absent", "expected"), ABSENT)
def test_absent_documents_get_what_the_argument_says(method, weights, absent, expected):
    fused = fn.fuse(RUNS, method, weights=weights, absent=absent).to_dict()["q"]
    assert {document: fused[document] for document in expected} == pytest.approx(expected, rel=1e-15)


def test_tied_documents_share_the_mean_of_their_points():
    tied = [{"q": {"b": 1.0, "a": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}]
    average = fn.fuse(tied, "rrf(k=0)").to_dict()["q"]
    by_id = fn.fuse(tied, "rrf(k=0)", fusion_convention="default(ties=id_ascending)").to_dict()["q"]
    by_input = fn.fuse(tied, "rrf(k=0)", fusion_convention="default(ties=input)").to_dict()["q"]
    assert average == {"b": (1 + 1 / 2) / 2 + 1, "a": (1 + 1 / 2) / 2 + 1 / 2}
    assert by_id == {"a": 1 + 1 / 2, "b": 1 / 2 + 1}
    assert by_input == {"b": 1 + 1, "a": 1 / 2 + 1 / 2}


@pytest.mark.parametrize(
    ("policy", "order"),
    [("id_ascending", "a b c"), ("id_descending", "c b a"), ("input", "c a b"), ("last_score", "a b c")],
)
@pytest.mark.parametrize("as_id", [str, {"a": 1, "b": 2, "c": 3}.get])
def test_equal_fused_scores_are_in_the_order_of_the_policy(policy, order, as_id):
    """All documents have the fused score 3, with ids of either kind."""
    first = {as_id("c"): 3.0, as_id("a"): 1.0}
    second = {as_id("a"): 2.0, as_id("b"): 3.0}
    if policy == "last_score":
        second = {as_id("a"): 2.0, as_id("b"): 3.0, as_id("c"): 0.0}
    fused = fn.fuse([{"q": first}, {"q": second}], "sum", fusion_convention=f"default(fused_ties={policy})")
    expected = "b a c" if policy == "last_score" else order
    assert list(fused.to_dict()["q"]) == [as_id(name) for name in expected.split()]


def test_z_score_of_the_mean_is_exactly_0():
    """The mean of 0.1, 0.2 and 0.3 is rounded, but 0.2 ties with a document that the other run lacks."""
    run = {"q": {"x": 0.1, "n": 0.2, "y": 0.3}}
    assert fn.fuse([run, run], "max(norm=z_score)").to_dict()["q"]["n"] == 0
    assert fuse([run, run], FusionMethod.parse("max(norm=z_score)"), fn.fusion_conventions["default"])["q"]["n"] == 0
    close = {"q": {"x": 1e9, "n": 2e9 + 1e-3, "y": 3e9}}
    assert fn.fuse([close, close], "max(norm=z_score)").to_dict()["q"]["n"] > 0

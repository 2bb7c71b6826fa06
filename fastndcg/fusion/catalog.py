"""The catalogue of fusion: the methods that combine scores and ranks, and all methods and normalisations by name."""

from dataclasses import replace
from typing import Any

from fastndcg.fusion.records import (
    ASLAM_2001,
    FOX_1993,
    LEE_1997,
    MONTAGUE_2002,
    NORM,
    WU_2002,
    MethodRecord,
)
from fastndcg.fusion.records import NORMALIZATIONS as NORMALIZATIONS
from fastndcg.fusion.trained_records import TRAINED_METHODS
from fastndcg.metrics.families import Parameter

GAMMA = Parameter("gamma", "float", 0.5, "the exponent of the number of runs", min=0)


def _make_comb(name: str, title: str, formula: str, **changes: Any) -> MethodRecord:
    """Return a method of Fox and Shaw, or of others that `changes` name."""
    fields = {
        "kernel": f"comb_{name}",
        "source": FOX_1993,
        "parameters": NORM,
        "aliases": (f"comb_{name}", f"comb{name}"),
        "peers": (("ranx", name), ("trectools", f"combos(strategy='{name}')")),
    }
    title = f"Comb{name.upper()}, {title}"
    return MethodRecord(name=name, title=title, points="scores", formula=formula, **(fields | changes))


def _make_mean(name: str, title: str, formula: str, **changes: Any) -> MethodRecord:
    """Return a weighted mean of OpenSearch."""
    return MethodRecord(
        name=name, title=title, kernel=name, points="scores", formula=formula, parameters=NORM, is_weighted=True,
        source="OpenSearch, score combination of hybrid queries", peers=(("OpenSearch", name),), **changes,
    )  # fmt: skip


SCORE_METHODS = (
    _make_comb("min", "the lowest score", "the lowest score of the runs that have the document"),
    _make_comb("max", "the highest score", "the highest score of the runs that have the document"),
    _make_comb("med", "the median score", "the median of the scores of the runs that have the document"),
    _make_comb("sum", "the sum of scores", "Σ x", kernel="weighted_sum", absent="zero", is_linear=True),
    _make_comb(
        "anz",
        "the mean score of the runs that have the document",
        "Σ x / m, of the m runs that have the document",
    ),
    _make_comb("mnz", "the sum of scores times the number of runs", "m · Σ x, of the m runs that have the document"),
    _make_comb(
        "gmnz",
        "the sum of scores times a power of the number of runs",
        "m^gamma · Σ x, of the m runs that have the document",
        source=LEE_1997,
        doi="10.1145/258525.258587",
        parameters=(GAMMA, *NORM),
        peers=(("ranx", "gmnz"),),
    ),
    MethodRecord(
        name="wsum",
        title="weighted sum of scores",
        kernel="weighted_sum",
        points="scores",
        formula="Σ w · x",
        source="the linear combination of scores, C. C. Vogt and G. W. Cottrell, Fusion via a linear combination of "
        "scores, Information Retrieval 1999",
        doi="10.1023/A:1009980820262",
        parameters=NORM,
        aliases=("weighted_sum", "linear"),
        peers=(("ranx", "wsum"), ("Elasticsearch", "linear"), ("Weaviate", "relativeScoreFusion, with norm=min_max")),
        absent="zero",
        is_weighted=True,
        is_linear=True,
    ),
    MethodRecord(
        name="mixed",
        title="weighted sum of scores times the root of the number of runs",
        kernel="comb_gmnz",
        points="scores",
        formula="√m · Σ w · x, of the m runs that have the document",
        source=WU_2002,
        doi="10.1145/584792.584908",
        parameters=NORM,
        peers=(("ranx", "mixed"),),
        is_weighted=True,
    ),
    MethodRecord(
        name="wmnz",
        title="weighted MNZ, the sum of scores times the sum of the runs' weights",
        kernel="wmnz",
        points="scores",
        formula="Σ w · Σ x, of the runs that have the document",
        source=WU_2002,
        doi="10.1145/584792.584908",
        parameters=NORM,
        aliases=("weighted_mnz",),
        peers=(("ranx", "wmnz"),),
        is_weighted=True,
    ),
    _make_mean(
        "arithmetic_mean",
        "weighted mean of scores",
        "Σ w · x / Σ w; absent documents count 0",
        absent="zero",
        is_linear=True,
    ),
    _make_mean(
        "geometric_mean",
        "weighted geometric mean of scores above 0",
        "exp(Σ w · ln x / Σ w), of the scores above 0; 0 without any",
    ),
    _make_mean(
        "harmonic_mean",
        "weighted harmonic mean of scores above 0",
        "Σ w / Σ (w / x), of the scores above 0; 0 without any",
    ),
)
ISR = MethodRecord(
    name="isr",
    title="inverse square rank",
    kernel="comb_mnz",
    points="isr",
    formula="m · Σ 1 / rank², of the m runs that have the document",
    source="A. Mourão, F. Martins and J. Magalhães, Multimodal medical information retrieval with unsupervised rank "
    "fusion, Computerized Medical Imaging and Graphics 2015",
    doi="10.1016/j.compmedimag.2014.05.006",
    peers=(("ranx", "isr"),),
)
BORDA = MethodRecord(
    name="borda",
    title="Borda count",
    kernel="weighted_sum",
    points="borda",
    formula="Σ (N − rank + 1), of N documents of the union; absent ones share the points that are left: "
    "(N − n + 1) / 2",
    source=ASLAM_2001,
    doi="10.1145/383952.384007",
    aliases=("borda_count",),
    peers=(("ranx", "bordafuse"),),
    absent="own",
    is_linear=True,
)
CONDORCET = MethodRecord(
    name="condorcet",
    title="Condorcet fusion by the number of majorities",
    kernel="condorcet",
    points="ranks",
    formula="1 + the number of documents that fewer runs rank above this one than below it + half the number of "
    "draws; a run ranks its documents above those that it lacks",
    source=MONTAGUE_2002,
    doi="10.1145/584792.584881",
    aliases=("condorcet_fuse",),
    peers=(("ranx", "condorcet"),),
    absent="own",
)
RANK_METHODS = (
    MethodRecord(
        name="rrf",
        title="reciprocal rank fusion",
        kernel="weighted_sum",
        points="rrf",
        formula="Σ w / (k + rank); the convention says whether ranks begin at 1 or 0, and `k` where it is left out",
        source="G. V. Cormack, C. L. A. Clarke and S. Büttcher, Reciprocal rank fusion outperforms Condorcet and "
        "individual rank learning methods, SIGIR 2009",
        doi="10.1145/1571941.1572114",
        parameters=(Parameter("k", "float", None, "the rank constant; by default the convention's, mostly 60", min=0),),
        aliases=("reciprocal_rank_fusion",),
        peers=(
            ("ranx", "rrf"),
            ("trectools", "reciprocal_rank_fusion"),
            ("Elasticsearch", "rrf"),
            ("OpenSearch", "rrf"),
            ("Weaviate", "rankedFusion"),
            ("Qdrant", "rrf"),
            ("Azure AI Search", "RRF"),
        ),
        absent="zero",
        is_weighted=True,
        is_linear=True,
    ),
    ISR,
    replace(
        ISR,
        name="log_isr",
        title="inverse square rank with the logarithm of the number of runs",
        kernel="log_mnz",
        formula="ln(m) · Σ 1 / rank², of the m runs that have the document; 0 for a single run",
        peers=(("ranx", "log_isr"),),
    ),
    replace(
        ISR,
        name="logn_isr",
        title="inverse square rank with the logarithm of the number of runs plus a constant",
        kernel="log_mnz",
        formula="ln(m + sigma) · Σ 1 / rank², of the m runs that have the document",
        parameters=(Parameter("sigma", "float", 0.01, "the constant inside the logarithm", min=0, max=1),),
        peers=(("ranx", "logn_isr"),),
    ),
    MethodRecord(
        name="rbc",
        title="rank-biased centroid",
        kernel="weighted_sum",
        points="rbc",
        formula="Σ w · (1 − phi) · phi^(rank − 1)",
        source="P. Bailey, A. Moffat, F. Scholer and P. Thomas, Retrieval consistency in the presence of query "
        "variations, SIGIR 2017",
        doi="10.1145/3077136.3080839",
        parameters=(Parameter("phi", "float", 0.8, "the persistence of a reader", above=0, max=1),),
        aliases=("rank_biased_centroid",),
        peers=(("ranx", "rbc"), ("trectools", "rank_biased_precision_fusion")),
        absent="zero",
        is_weighted=True,
        is_linear=True,
    ),
    BORDA,
    replace(
        BORDA,
        name="wborda",
        title="weighted Borda count",
        formula=BORDA.formula.replace("Σ ", "Σ w · ", 1),
        aliases=("weighted_borda", "weighted_bordafuse"),
        peers=(("ranx", "w_bordafuse"),),
        is_weighted=True,
    ),
    CONDORCET,
    replace(
        CONDORCET,
        name="wcondorcet",
        title="weighted Condorcet fusion by the number of majorities",
        formula="as condorcet, with the weight of a run as its number of votes",
        aliases=("weighted_condorcet",),
        peers=(("ranx", "w_condorcet"),),
        is_weighted=True,
    ),
)
FAMILIES = {"scores": SCORE_METHODS, "ranks": RANK_METHODS, "training": TRAINED_METHODS}
FUSION_METHODS = {record.name: record for records in FAMILIES.values() for record in records}

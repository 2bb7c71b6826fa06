"""The catalogue of fusion: all methods and normalisations by name, with what describes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from fastndcg.metrics.families import Parameter

FOX_1993 = "E. A. Fox and J. A. Shaw, Combination of multiple searches, TREC-2 1993"
LEE_1997 = "J. H. Lee, Analyses of multiple evidence combination, SIGIR 1997"
ASLAM_2001 = "J. A. Aslam and M. Montague, Models for metasearch, SIGIR 2001"
LILLIS_2010 = (
    "D. Lillis, L. Zhang, F. Toolan, R. W. Collier, D. Leonard and J. Dunnion, Estimating probabilities for effective "
    "data fusion, SIGIR 2010"
)
MONTAGUE_2001 = "M. Montague and J. A. Aslam, Relevance score normalization for metasearch, CIKM 2001"
RENDA_2003 = "M. E. Renda and U. Straccia, Web metasearch: rank vs. score based rank aggregation methods, SAC 2003"
EQUAL = "where all are equal, the convention's `equal_scores`"


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionRecord:
    """The description of a method or a normalisation."""

    name: str  # in texts
    title: str
    kernel: str  # that combines points, or the constant of the normalisation, in kernels/fusion/points.py
    formula: str
    source: str
    aliases: tuple[str, ...] = ()  # other names that parse as this one
    peers: tuple[tuple[str, str], ...] = ()  # other programs with their name of it

    @property
    def names_elsewhere(self) -> tuple[str, ...]:
        """The names in `peers` that users may write, too."""
        return tuple(name for _, name in self.peers if re.fullmatch(r"[\w-]+", name))


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizationRecord(FusionRecord):
    """The description of one normalisation of the scores of a run and query."""

    reads_ranks: bool = False  # ranks take the place of scores


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRecord(FusionRecord):
    """The description of one fusion method."""

    points: str  # that a run gives to a document: 'scores', normalised, or by rank: see `fastndcg.fusion.methods`
    doi: str = ""
    parameters: tuple[Parameter, ...] = ()
    absent: str = "skip"  # of a run that lacks a document: 'zero', 'skip' (no part) or 'own' (points by the rule)
    is_weighted: bool = False
    is_linear: bool = False  # a fused score is the weighted sum of the points, or their weighted mean
    needs_training: bool = False

    @property
    def parameter_texts(self) -> tuple[str, ...]:
        """The parameters with their defaults, such as 'gamma=0.5', or the name alone of one without a default."""
        return tuple(p.name if p.default is None else f"{p.name}={p.default}" for p in self.parameters)


def index_names(records: Iterable[FusionRecord]) -> dict[str, str]:
    """Return the name of the record for each name in lower case that users may write."""
    return {
        text.lower(): record.name
        for record in records
        for text in (*record.names_elsewhere, *record.aliases, record.name)
    }


_NORMALIZATIONS = (
    NormalizationRecord(
        name="none",
        title="scores as they are",
        kernel="NONE",
        formula="x",
        source="runs whose scores are comparable",
        peers=(("Elasticsearch", "none"),),
    ),
    NormalizationRecord(
        name="min_max",
        title="lowest score to 0, highest to 1",
        kernel="MIN_MAX",
        formula=f"(x − min) / (max − min); {EQUAL}",
        source=LEE_1997,
        aliases=("minmax",),
        peers=(("ranx", "min-max"), ("Elasticsearch", "minmax"), ("OpenSearch", "min_max")),
    ),
    NormalizationRecord(
        name="min_max_inverted",
        title="lowest score to 1, highest to 0, for distances",
        kernel="MIN_MAX_INVERTED",
        formula=f"(max − x) / (max − min); {EQUAL}",
        source="ranx, for runs whose scores are distances",
        peers=(("ranx", "min-max-inverted"),),
    ),
    NormalizationRecord(
        name="max",
        title="scores divided by the highest",
        kernel="MAX",
        formula="x / |max|; 0 where the highest is 0",
        source=LEE_1997,
        aliases=("max_norm",),
        peers=(("ranx", "max"),),
    ),
    NormalizationRecord(
        name="sum",
        title="lowest score to 0, the sum to 1",
        kernel="SUM",
        formula="(x − min) / Σ (x − min); 0 where all are equal",
        source=MONTAGUE_2001,
        aliases=("sum_norm",),
        peers=(("ranx", "sum"),),
    ),
    NormalizationRecord(
        name="z_score",
        title="zero mean, unit variance",
        kernel="Z_SCORE",
        formula="(x − mean) / standard deviation; 0 where all are equal",
        source=MONTAGUE_2001,
        aliases=("zscore", "z-score"),
        peers=(("ranx", "zmuv"), ("OpenSearch", "z_score")),
    ),
    NormalizationRecord(
        name="rank",
        title="ranks in place of scores",
        kernel="RANK",
        reads_ranks=True,
        formula="1 − (rank − 1) / n, of n documents of the run",
        source=RENDA_2003,
        peers=(("ranx", "rank"),),
    ),
    NormalizationRecord(
        name="borda",
        title="Borda's points as a share",
        kernel="BORDA_SHARE",
        reads_ranks=True,
        formula="1 − (rank − 1) / N, of N documents of the union; an absent one 1/2 − (n − 1) / (2 N)",
        source=RENDA_2003,
        peers=(("ranx", "borda"),),
    ),
    NormalizationRecord(
        name="l2",
        title="scores divided by their Euclidean norm",
        kernel="L2",
        formula="x / √Σ x²; 0 where all are 0",
        source="Elasticsearch and OpenSearch, score normalisation of hybrid queries",
        aliases=("l2_norm",),
        peers=(("Elasticsearch", "l2_norm"), ("OpenSearch", "l2")),
    ),
    NormalizationRecord(
        name="dbsf",
        title="distribution-based: three deviations below the mean to 0, three above to 1",
        kernel="DBSF",
        formula="(x − (mean − 3 s)) / (6 s), s the standard deviation of a sample; 1/2 where all are equal",
        source="M. Mazzeschi, Distribution-based score fusion, 2023; Qdrant",
        peers=(("Qdrant", "dbsf"),),
    ),
)
NORMALIZATIONS = {record.name: record for record in _NORMALIZATIONS}
NORM = (
    Parameter("norm", "choice", "none", "the normalisation of each run's scores", choices=tuple(NORMALIZATIONS)),
    Parameter("norms", "norms", None, "a normalisation for each run, such as {bm25:min_max,dense:none}, or in order"),
)  # parameters of methods that read scores
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


MIXED = MethodRecord(
    name="mixed",
    title="weighted sum of scores times the root of the number of runs",
    kernel="comb_gmnz",
    points="scores",
    formula="√m · Σ w · x, of the m runs that have the document",
    source="S. Wu and F. Crestani, Data fusion with estimated weights, CIKM 2002",
    doi="10.1145/584792.584908",
    parameters=NORM,
    peers=(("ranx", "mixed"),),
    is_weighted=True,
)
SCORE_METHODS = (
    _make_comb("min", "the lowest score", "the lowest score of the runs that have the document"),
    _make_comb("max", "the highest score", "the highest score of the runs that have the document"),
    _make_comb("med", "the median score", "the median of the scores of the runs that have the document"),
    _make_comb("sum", "the sum of scores", "Σ x", kernel="weighted_sum", absent="zero", is_linear=True),
    _make_comb(
        "anz",
        "the mean score of the runs that have the document",
        "Σ x / m, of the m runs that have the document",
        kernel="arithmetic_mean",
    ),
    _make_comb(
        "mnz",
        "the sum of scores times the number of runs",
        "m · Σ x, of the m runs that have the document",
        kernel="wmnz",
    ),
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
    MIXED,
    replace(
        MIXED,
        name="wmnz",
        title="weighted MNZ, the sum of scores times the sum of the runs' weights",
        kernel="wmnz",
        formula="Σ w · Σ x, of the runs that have the document",
        aliases=("weighted_mnz",),
        peers=(("ranx", "wmnz"),),
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
    kernel="wmnz",
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
    source="M. Montague and J. A. Aslam, Condorcet fusion for improved retrieval, CIKM 2002",
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


def _make_trained(name: str, *, absent: str = "zero", **fields: Any) -> MethodRecord:
    """Return a method of ranx that adds up points, which it learns."""
    return MethodRecord(
        name=name, kernel="weighted_sum", points=name, peers=(("ranx", name),), absent=absent, is_linear=True,
        needs_training=True, **fields,
    )  # fmt: skip


TRAINED_METHODS = (
    _make_trained(
        "bayesfuse",
        title="BayesFuse, the sum of log odds",
        formula="Σ ln(p / (1 − p)), p the precision in the rank's segment, with ends at 5, 10, 15, 20, 30, 100, 200, "
        "500 and 1000, 0.001 in place of 0; absent documents and ranks beyond 1000 count as p = 0.001",
        source=ASLAM_2001,
        doi="10.1145/383952.384007",
        absent="own",
    ),
    _make_trained(
        "probfuse",
        title="ProbFuse, probabilities of relevance in segments of equal size",
        formula="Σ p / segment, p the mean precision in the rank's segment, segments numbered from 1",
        source="D. Lillis, F. Toolan, R. W. Collier and J. Dunnion, ProbFuse: a probabilistic approach to data fusion, "
        "SIGIR 2006",
        doi="10.1145/1148170.1148197",
        parameters=(Parameter("n_segments", "int", 25, "the number of segments", min=1),),
    ),
    _make_trained(
        "segfuse",
        title="SegFuse, scores in segments of growing size",
        formula="Σ p · (x + 1), p the precision in the rank's segment; segment j ends at rank 10 · 2^(j − 1) − 5",
        source="M. Shokouhi, Segmentation of search engine results for effective data-fusion, ECIR 2007",
        doi="10.1007/978-3-540-71496-5_19",
        parameters=(replace(NORM[0], default="min_max"), NORM[1]),
    ),
    _make_trained(
        "slidefuse",
        title="SlideFuse, probabilities of relevance in a sliding window",
        formula="Σ of the mean precision at the ranks from rank − w to rank + w, inside the run",
        source="D. Lillis, F. Toolan, R. W. Collier and J. Dunnion, Extending probabilistic data fusion using sliding "
        "windows, ECIR 2008",
        doi="10.1007/978-3-540-78646-7_33",
        parameters=(Parameter("w", "int", 5, "how many ranks before and after count", min=0),),
    ),
    _make_trained(
        "posfuse",
        title="PosFuse, the probability of relevance at each rank",
        formula="Σ p, p the share of queries with a relevant document at this rank",
        source=LILLIS_2010,
        doi="10.1145/1835449.1835508",
    ),
    _make_trained(
        "mapfuse",
        title="MAPFuse, mean average precision by rank",
        formula="Σ MAP / rank, MAP the run's mean average precision",
        source=LILLIS_2010,
        doi="10.1145/1835449.1835508",
    ),
)
FAMILIES = {"scores": SCORE_METHODS, "ranks": RANK_METHODS, "training": TRAINED_METHODS}
FUSION_METHODS = {record.name: record for records in FAMILIES.values() for record in records}

"""The records of fusion: their types, and the normalisations, which make the scores of runs comparable."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fastndcg.metrics.families import Parameter

FOX_1993 = "E. A. Fox and J. A. Shaw, Combination of multiple searches, TREC-2 1993"
WU_2002 = "S. Wu and F. Crestani, Data fusion with estimated weights, CIKM 2002"
LEE_1997 = "J. H. Lee, Analyses of multiple evidence combination, SIGIR 1997"
ASLAM_2001 = "J. A. Aslam and M. Montague, Models for metasearch, SIGIR 2001"
MONTAGUE_2002 = "M. Montague and J. A. Aslam, Condorcet fusion for improved retrieval, CIKM 2002"
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
    kernel: str  # that combines points: see kernels/fusion/combine.py, or the normalisation in kernels/fusion/points.py
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

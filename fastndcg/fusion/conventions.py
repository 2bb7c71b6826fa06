"""Fusion conventions: what programs mean by the same fusion method, as named sets of choices."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from fastndcg.named_conventions.named_choices import Field, NamedChoices, Registry, parse_named
from fastndcg.parsing import as_count, as_float

ABSENT_CHOICES = ("zero", "minimum", "mean", "skip")


def _as_number(value: Any) -> float | None:
    """Return a finite number of 0 or more as a float, or None for other values."""
    number = as_float(value)
    return number if number is not None and math.isfinite(number) and number >= 0 else None


NUMBER = " or a finite number of 0 or more"
FIELDS: dict[str, Field] = {
    "absent": Field(
        ("method", *ABSENT_CHOICES),
        "what a document gets from a run that lacks it: what the method's definition says, 0, the run's lowest or mean "
        "value in the query, or no part in the formula",
    ),
    "queries": Field(
        ("union", "raise", "common"), "queries that some run lacks: fused from the other runs, refused, or left out"
    ),
    "ties": Field(
        ("average", "input", "id_ascending", "id_descending"),
        "how equal scores of a run are ranked: they share the mean of their points, or by input order, or by id",
    ),
    "fused_ties": Field(
        ("id_ascending", "id_descending", "input", "last_score"),
        "how equal fused scores are ordered: by id, by first appearance run after run, or by the score in the last run "
        "that has the document",
    ),
    "first_rank": Field((1, 0), "the rank of the first document in rrf"),
    "rrf_k": Field((60, 2), "the k of rrf where the method's text has none", _as_number, NUMBER),
    "rrf_weights": Field(
        ("factor", "divisor"), "what weights do in rrf: multiply a run's part, or divide the ranks, counted from 1"
    ),
    "equal_scores": Field((1, 0.5, 0), "what min_max gives if all scores of a run are equal", _as_number, NUMBER),
    "single_document": Field(
        ("equal_scores", 0, 0.5, 1), "what min_max gives to the only document of a run", _as_number, NUMBER
    ),
    "lowest_score": Field(
        (0, 0.001), "what min_max gives the lowest score, and z_score all scores up to the mean, 0: no change",
        _as_number, NUMBER,
    ),
    "equal_within": Field(
        (0, 1e-6), "the range of scores up to which they count as equal, and norms as 0", _as_number, NUMBER
    ),
    "smallest_divisor": Field(
        (0, 1e-9), "the least number that a normalisation divides by, but for l2 and dbsf", _as_number, NUMBER
    ),
    "deviation": Field(("population", "sample"), "the standard deviation of z_score: divided by n, or by n − 1"),
    "precision": Field(
        ("float64", "float32", "float32_sums"),
        "how scores, normalised scores, points and fused scores are rounded; 'float32' adds up squares of l2 in "
        "float64, 'float32_sums' does not",
    ),
    "rrf_decimals": Field(
        ("all",), "the decimals of 1 / (k + rank) in rrf before it is rounded to the precision", as_count,
        " or a whole number of 1 or more",
    ),
}  # fmt: skip
CHOICES = {name: field.choices for name, field in FIELDS.items()}


class Difference(NamedTuple):
    """A mistake of a program that a convention does not copy, and its place in the source."""

    what: str
    source: str


@dataclass(frozen=True, repr=False)
class FusionConvention(NamedChoices):
    """
    A named set of choices that give a fused score its meaning. ``fastndcg fuse --list`` describes the fields.

    Parameters
    ----------
    name : str
        The name, with the choices that differ from the convention of this name.
    absent, queries, ties, fused_ties : str
        ``fastndcg fuse --list`` and the reference page "Fusion methods and conventions" have each field's choices.
    first_rank : int
        The rank of the first document in rrf: 1 or 0.
    rrf_k : float
        The k of rrf where the method's text has none.
    rrf_weights : {'factor', 'divisor'}
        What weights do in rrf.
    equal_scores : float
        What min_max gives if all scores of a run are equal.
    single_document : str or float
        What min_max gives to the only document of a run.
    lowest_score, equal_within, smallest_divisor : float
        The least normalised score, the range of equal scores, and the least divisor.
    deviation : {'population', 'sample'}
        The standard deviation of z_score.
    precision : {'float64', 'float32', 'float32_sums'}
        How scores and their sums are rounded.
    rrf_decimals : 'all' or int
        The decimals of 1 / (k + rank) in rrf.
    peer, versions, source : str
        The program, the versions for which the convention holds, and the place of each choice.
    methods : tuple of (str, str)
        The program's names of methods, each with the method of this package.
    bugs : tuple of Difference
        What the program gets wrong and this convention does not copy.

    Examples
    --------
    >>> fn.fusion_conventions["weaviate"].first_rank
    0
    >>> fn.fusion_conventions["default"].replace(ties="input")
    default(ties=input)
    """

    FIELDS: ClassVar[Mapping[str, Field]] = FIELDS
    WHAT: ClassVar[str] = "fusion convention"

    name: str
    absent: str = "method"
    queries: str = "union"
    ties: str = "average"
    fused_ties: str = "id_ascending"
    first_rank: int = 1
    rrf_k: float = 60
    rrf_weights: str = "factor"
    equal_scores: float = 1
    single_document: str | float = "equal_scores"
    lowest_score: float = 0
    equal_within: float = 0
    smallest_divisor: float = 0
    deviation: str = "population"
    precision: str = "float64"
    rrf_decimals: str | int = "all"
    peer: str = ""
    versions: str = ""
    source: str = ""
    methods: tuple[tuple[str, str], ...] = ()
    bugs: tuple[Difference, ...] = ()


class FusionConventions(Registry[FusionConvention]):
    """The named fusion conventions, in any case of letters. An unknown name raises an error with a suggestion."""

    WHAT = "fusion convention"


# reads a fusion convention's text: a name, or a name with other choices
parse_fusion_convention = functools.partial(
    parse_named, kind=FusionConvention, argument="fusion_convention", remedy="Give `depth`"
)
_ENGINE: dict[str, Any] = {"ties": "input", "fused_ties": "input"}
fusion_conventions = FusionConventions(
    FusionConvention("default", source="the definitions in the literature that the catalogue names"),
    FusionConvention(
        "ranx",
        queries="raise",
        ties="input",
        fused_ties="input",
        equal_scores=0,
        smallest_divisor=1e-9,
        peer="ranx",
        versions="0.3.20, 0.3.21",
        source="ranx/fusion, ranx/normalization and ranx/meta/fuse.py: runs must have the same queries, ranks are the "
        "order of the sorted dict, and divisors are at least 1e-9",
        methods=(
            ("fuse(norm='min-max', method='wsum')", "wsum(norm=min_max)"),
            ("fuse(norm=None, method='rrf')", "rrf"),
        ),
        bugs=(
            Difference(
                "condorcet sorts by a comparison that is not transitive, so its order depends on that of a set",
                "ranx/fusion/condorcet.py",
            ),
            Difference(
                "optimize_fusion keeps weights whose sum in floating point is exactly 1, and loses 4 of 66 for three "
                "runs and 30 of 286 for four",
                "ranx/fusion_optimization/optimize_weights.py",
            ),
            Difference(
                "with norm='borda', methods that read ranks get those of a set of texts, which differ between "
                "processes. compat.ranx takes the ranks of the runs",
                "ranx/normalization/borda_norm.py",
            ),
            Difference(
                "comb_max gives -1e9 to absent documents, which scores below lose against", "ranx/fusion/comb_max.py"
            ),
            Difference(
                "ids of runs whose lists have one document are cut to the length of the shortest: 'document2' is 'd'",
                "ranx/fusion",
            ),
            Difference("bayesfuse reads beyond its table for ranks above 1000", "ranx/fusion/bayesfuse.py"),
        ),
    ),
    FusionConvention(
        "trectools",
        ties="input",
        peer="trectools",
        versions="0.0.50",
        source="trectools/fusion.py: scores are not normalised, absent ones are left out (numpy.nansum), equal fused "
        "scores of rrf and rbc are ordered by id",
        methods=(
            ("combos(strategy='sum')", "sum"),
            ("reciprocal_rank_fusion(k=60)", "rrf(k=60)"),
            ("rank_biased_precision_fusion(p=0.8)", "rbc(phi=0.8)"),
        ),
        bugs=(
            Difference(
                "combos of three runs keeps two columns of scores, so that one run is lost",
                "trectools/fusion.py, combos",
            ),
        ),
    ),
    FusionConvention(
        "elasticsearch",
        **_ENGINE,
        equal_within=1e-6,
        precision="float32",
        peer="Elasticsearch",
        versions="9.0 and 9.1, weights of rrf from 9.2",
        source="x-pack/plugin/rank-rrf, RRFRetrieverBuilder, LinearRetrieverBuilder, MinMaxScoreNormalizer and "
        "L2ScoreNormalizer: rank_constant is 60, ranks begin at 1, the normalizer of each retriever of linear is none "
        "and its weight 1 unless it says another; equal scores get 1, in later versions (lower_bound + upper_bound) / "
        "2 = 0.5; scores, points and sums are float32, the sum of squares of l2_norm is float64; rank_window_size, 10 "
        "by default, is `depth`",
        methods=(
            ("rrf", "rrf(k=60)"),
            ("linear", "wsum"),
            ("linear with minmax", "wsum(norm=min_max)"),
            ("linear with l2_norm", "wsum(norm=l2)"),
            ("linear with minmax for BM25 alone", "wsum(norms={bm25:min_max,dense:none})"),
        ),
        bugs=(
            Difference(
                "minmax of scores that are all negative takes 1.4e-45 for the highest one",
                "MinMaxScoreNormalizer.java, Float.MIN_VALUE",
            ),
        ),
    ),
    FusionConvention(
        "opensearch",
        **_ENGINE,
        lowest_score=0.001,
        deviation="sample",
        precision="float32_sums",
        rrf_decimals=10,
        peer="OpenSearch",
        versions="neural-search 2.11 to 3.8: rrf from 2.19, lower bounds from 3.0, weights of rrf from 3.1, upper "
        "bounds from 3.2",
        source="MinMaxScoreNormalizationTechnique: the lowest score becomes 0.001, a single one 1, the mode of bounds "
        "is apply unless they say another; L2ScoreNormalizationTechnique; RRFNormalizationTechnique: rank_constant 60, "
        "ranks from 1, 1 / (k + rank) with 10 decimals; combinations but rrf divide by the sum of weights; scores, "
        "points and sums are float32",
        methods=(
            ("hybrid query without a pipeline's parameters", "arithmetic_mean(norm=min_max)"),
            ("min_max with lower_bounds", "arithmetic_mean(norms={bm25:min_max(lower=0.5,lower_mode=clip)})"),
            ("l2 with harmonic_mean", "harmonic_mean(norm=l2)"),
            ("rrf", "rrf(k=60)"),
        ),
        bugs=(
            Difference(
                "min_max of scores that are all negative takes 1.4e-45 for the highest one",
                "MinMaxScoreNormalizationTechnique.java, getMaxScores",
            ),
            Difference(
                "z_score gives a document whose score equals the mean the highest score of the run, not normalised",
                "ZScoreNormalizationTechnique.java, normalizeSingleScore",
            ),
        ),
    ),
    FusionConvention(
        "weaviate",
        **(_ENGINE | {"fused_ties": "last_score"}),
        first_rank=0,
        peer="Weaviate",
        versions="1.24 to 1.34",
        source="usecases/traverser/hybrid/hybrid_fusion.go: w / (60 + i), i from 0; equal scores get the weight; equal "
        "fused scores are ordered by the score of the last result set",
        methods=(("rankedFusion", "rrf"), ("relativeScoreFusion", "wsum(norm=min_max)")),
        bugs=(
            Difference(
                "fused scores that differ by less than 1e-7 count as equal, which is not transitive",
                "hybrid_fusion.go, FusionRelativeScore",
            ),
        ),
    ),
    FusionConvention(
        "qdrant",
        **_ENGINE,
        first_rank=0,
        rrf_k=2,
        rrf_weights="divisor",
        peer="Qdrant",
        versions="1.11 to 1.17, weights from 1.17",
        source="lib/segment/src/common/reciprocal_rank_fusion.rs: 1 / ((position + 1) / w + k − 1), k = 2, position "
        "from 0; score_fusion.rs: dbsf with the standard deviation of a sample, 0.5 for a single or equal scores",
        methods=(("rrf", "rrf"), ("dbsf", "sum(norm=dbsf)")),
    ),
    FusionConvention(
        "azure",
        **_ENGINE,
        first_rank=0,
        peer="Azure AI Search",
        versions="API 2023-11-01 and later",
        source="the documentation of hybrid search: 1 / (rank + k), k about 60. Its sample responses have 0.0333333 "
        "= 2 / 60 for the first of two lists, so ranks begin at 0",
        methods=(("RRF", "rrf"),),
    ),
    FusionConvention(
        "cormack2009",
        ties="input",
        peer="Cormack, Clarke and Büttcher 2009",
        source="section 2: the sum of 1 / (60 + rank), ranks from 1",
        methods=(("RRF", "rrf(k=60)"),),
    ),
)
FusionConvention.registry = fusion_conventions

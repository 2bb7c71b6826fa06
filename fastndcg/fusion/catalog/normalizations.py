"""Normalisations: what makes the scores of runs comparable."""

from fastndcg.fusion.catalog.record import LEE_1997, NormalizationRecord

MONTAGUE_2001 = "M. Montague and J. A. Aslam, Relevance score normalization for metasearch, CIKM 2001"
RENDA_2003 = "M. E. Renda and U. Straccia, Web metasearch: rank vs. score based rank aggregation methods, SAC 2003"
EQUAL = "where all are equal, the convention's `equal_scores`"

RECORDS = (
    NormalizationRecord(
        name="none",
        title="scores as they are",
        kernel="normalize.NONE",
        formula="x",
        latex=r"x' = x",
        source="runs whose scores are comparable",
        peers=(("Elasticsearch", "none"),),
    ),
    NormalizationRecord(
        name="min_max",
        title="lowest score to 0, highest to 1",
        kernel="normalize.MIN_MAX",
        formula=f"(x − min) / (max − min); {EQUAL}",
        latex=r"x' = \frac{x - \min}{\max - \min}",
        source=LEE_1997,
        aliases=("minmax",),
        peers=(("ranx", "min-max"), ("Elasticsearch", "minmax"), ("OpenSearch", "min_max")),
    ),
    NormalizationRecord(
        name="min_max_inverted",
        title="lowest score to 1, highest to 0, for distances",
        kernel="normalize.MIN_MAX_INVERTED",
        formula=f"(max − x) / (max − min); {EQUAL}",
        latex=r"x' = \frac{\max - x}{\max - \min}",
        source="ranx, for runs whose scores are distances",
        peers=(("ranx", "min-max-inverted"),),
    ),
    NormalizationRecord(
        name="max",
        title="scores divided by the highest",
        kernel="normalize.MAX",
        formula="x / |max|; 0 where the highest is 0",
        latex=r"x' = \frac{x}{|\max|}",
        source=LEE_1997,
        aliases=("max_norm",),
        peers=(("ranx", "max"),),
    ),
    NormalizationRecord(
        name="sum",
        title="lowest score to 0, the sum to 1",
        kernel="normalize.SUM",
        formula="(x − min) / Σ (x − min); 0 where all are equal",
        latex=r"x' = \frac{x - \min}{\sum_j (x_j - \min)}",
        source=MONTAGUE_2001,
        aliases=("sum_norm",),
        peers=(("ranx", "sum"),),
    ),
    NormalizationRecord(
        name="z_score",
        title="zero mean, unit variance",
        kernel="normalize.Z_SCORE",
        formula="(x − mean) / standard deviation; 0 where all are equal",
        latex=r"x' = \frac{x - \mu}{\sigma}",
        source=MONTAGUE_2001,
        aliases=("zscore", "z-score"),
        peers=(("ranx", "zmuv"), ("OpenSearch", "z_score")),
    ),
    NormalizationRecord(
        name="rank",
        title="ranks in place of scores",
        kernel="points.RANK",
        formula="1 − (rank − 1) / n, of n documents of the run",
        latex=r"x' = 1 - \frac{r - 1}{n}",
        source=RENDA_2003,
        peers=(("ranx", "rank"),),
    ),
    NormalizationRecord(
        name="borda",
        title="Borda's points as a share",
        kernel="points.BORDA_SHARE",
        formula="1 − (rank − 1) / N, of N documents of the union; an absent one 1/2 − (n − 1) / (2 N)",
        latex=r"x' = 1 - \frac{r - 1}{N}",
        source=RENDA_2003,
        peers=(("ranx", "borda"),),
    ),
    NormalizationRecord(
        name="l2",
        title="scores divided by their Euclidean norm",
        kernel="normalize.L2",
        formula="x / √Σ x²; 0 where all are 0",
        latex=r"x' = \frac{x}{\sqrt{\sum_j x_j^2}}",
        source="Elasticsearch and OpenSearch, score normalisation of hybrid queries",
        aliases=("l2_norm",),
        peers=(("Elasticsearch", "l2_norm"), ("OpenSearch", "l2")),
    ),
    NormalizationRecord(
        name="dbsf",
        title="distribution-based: three deviations below the mean to 0, three above to 1",
        kernel="normalize.DBSF",
        formula="(x − (mean − 3 s)) / (6 s), s the standard deviation of a sample; 1/2 where all are equal",
        latex=r"x' = \frac{x - (\mu - 3 s)}{6 s}",
        source="M. Mazzeschi, Distribution-based score fusion, 2023; Qdrant",
        peers=(("Qdrant", "dbsf"),),
    ),
)
NAMES = tuple(record.name for record in RECORDS)

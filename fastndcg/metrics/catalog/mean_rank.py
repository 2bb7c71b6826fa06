"""Metrics of the rank of the first relevant document, and what a random order gives."""

from fastndcg.metrics.catalog.record import REL, TIES_AND_MEAN_RANK, Record

BERRENDORF_2020 = (
    "M. Berrendorf, E. Faerman, L. Vermue and V. Tresp, On the ambiguity of rank-based evaluation of entity alignment "
    "or link prediction methods, 2020"
)
HOYT_2022 = (
    "C. T. Hoyt et al., A unified framework for rank-based evaluation metrics for link prediction in knowledge graphs, "
    "2022"
)

RECORDS = (
    Record(
        name="Rank",
        title="rank of the first relevant document",
        kernel="mean_rank.first_rank",
        formula="rank of the first relevant document; in a tie group of m documents from rank a + 1 on with n relevant "
        "ones a + (m + 1) / (n + 1)",
        latex=(r"\mathrm{Rank} = \min \{ r : \mathrm{rel}_r = 1 \}",),
        range="1 and up",
        undefined="nothing that is ranked is relevant",
        source=BERRENDORF_2020,
        doi="10.48550/arXiv.2002.06914",
        parameters=(REL,),
        aliases=("mean_rank", "arithmetic_mean_rank"),
        variants=(("ties", "mean_rank", "mean_rank.first_mean_rank"),),
        ties=TIES_AND_MEAN_RANK,
        has_cutoff=False,
        higher_is_better=False,
        peers=(("PyKEEN", "arithmetic_mean_rank"),),
    ),
    Record(
        name="chance_Rank",
        title="expected rank in random order",
        kernel="mean_rank.chance_rank",
        formula="(n + 1) / (R + 1), the mean of Rank over all orders of n documents with R relevant ones among them",
        latex=(r"\mathrm{chance\_Rank} = \frac{n + 1}{R + 1}",),
        range="1 and up",
        undefined="nothing that is ranked is relevant",
        source=HOYT_2022,
        doi="10.48550/arXiv.2203.07544",
        parameters=(REL,),
        ties=TIES_AND_MEAN_RANK,
        has_cutoff=False,
        higher_is_better=False,
    ),
    Record(
        name="chance_RR",
        title="expected reciprocal rank in random order",
        kernel="mean_rank.chance_reciprocal_rank",
        formula="the mean of RR over all orders of n documents with R relevant ones among them; for one relevant "
        "document (1 + 1/2 + … + 1/min(k, n)) / n",
        latex=(
            r"\mathrm{chance\_RR@}k = \sum_{r=1}^{\min(k, n)} \frac{1}{r} \cdot "
            r"\frac{\binom{n - r}{R - 1}}{\binom{n}{R}}",
        ),
        range="0 to 1",
        undefined="never",
        source=HOYT_2022,
        doi="10.48550/arXiv.2203.07544",
        parameters=(REL,),
        ties=TIES_AND_MEAN_RANK,
    ),
    Record(
        name="chance_Success",
        title="expected success in random order",
        kernel="mean_rank.chance_success",
        formula="the share of all orders of n documents in which one of the R relevant ones is among the first k; for "
        "one relevant document min(k, n) / n",
        latex=(r"\mathrm{chance\_Success@}k = 1 - \frac{\binom{n - k}{R}}{\binom{n}{R}}",),
        range="0 to 1",
        undefined="never",
        source=HOYT_2022,
        doi="10.48550/arXiv.2203.07544",
        parameters=(REL,),
        ties=TIES_AND_MEAN_RANK,
    ),
)
SECTIONS = {350: RECORDS}

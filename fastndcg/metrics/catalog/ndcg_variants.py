"""Gains relative to what could have been gained down to the same rank, averaged over ranks that matter."""

from fastndcg.metrics.catalog.record import GAIN, GAIN_REL, REL, TREC_EVAL, WITHOUT_AVERAGE, Record

RECORDS = (
    Record(
        name="nDCG_rel",
        title="nDCG averaged over relevant documents",
        kernel="ndcg_variants.ndcg_at_relevant",
        formula="mean over all documents with a gain of nDCG at the rank of each, of all ranks for those not found",
        latex=(r"\mathrm{nDCG\_rel} = \frac{1}{n_g} \sum_{j=1}^{n_g} \mathrm{nDCG@}r_j",),
        range="0 to 1",
        undefined="nothing has a gain",
        source=TREC_EVAL,
        parameters=(GAIN, GAIN_REL),
        aliases=("ndcg_rel",),
        trec_name="ndcg_rel",
        has_cutoff=False,
    ),
    Record(
        name="Rndcg",
        title="nDCG averaged over levels of gain",
        kernel="ndcg_variants.ndcg_at_levels",
        formula="mean of nDCG at each rank that ends a level of gain in the best order, and of nDCG of all ranks where "
        "more than R + 1 documents are ranked, R the number with a gain",
        latex=(r"\mathrm{Rndcg} = \frac{1}{|\mathcal{E}|} \sum_{r \in \mathcal{E}} \mathrm{nDCG@}r",),
        range="0 to 1",
        undefined="nothing has a gain",
        source=TREC_EVAL,
        parameters=(GAIN, GAIN_REL),
        aliases=("R-nDCG",),
        trec_name="Rndcg",
        has_cutoff=False,
    ),
    Record(
        name="G",
        title="normalised gain",
        kernel="ndcg_variants.normalised_gain",
        formula="sum over documents ranked of gain / log2(2 + cost − gained), over the sum of all gains; gained: the "
        "gains from rank 1 to the document's; cost: those of the best order, 1 for each rank that gains less; "
        "the mean over the orders of a tie would need how many sets of documents gain each sum, for which no way is "
        "known that takes a power of their number",
        latex=(
            r"\mathrm{G} = \frac{1}{\sum_{r} g^*_r} \sum_{r=1}^{n} \frac{g_r}{\log_2 \left(2 + \sum_{i=1}^{r} "
            r"(\max(g^*_i, 1) - g_i)\right)}",
        ),
        range="0 to 1",
        undefined="nothing has a gain",
        source=TREC_EVAL,
        parameters=(GAIN, GAIN_REL),
        aliases=("normalised_gain",),
        trec_name="G",
        ties=WITHOUT_AVERAGE,
        has_cutoff=False,
    ),
    Record(
        name="binG",
        title="binary normalised gain",
        kernel="ndcg_variants.binary_gain",
        formula="sum over relevant documents found of 1 / log2(2 + documents above that are not relevant), over R",
        latex=(r"\mathrm{binG} = \frac{1}{R} \sum_{r=1}^{n} \frac{\mathrm{rel}_r}{\log_2(2 + r - h_r)}",),
        range="0 to 1",
        undefined="nothing is relevant",
        source=TREC_EVAL,
        parameters=(REL,),
        aliases=("binary_gain",),
        trec_name="binG",
        has_cutoff=False,
    ),
)
SECTIONS = {600: RECORDS}

"""Gains relative to what could have been gained down to the same rank, averaged over ranks that matter."""

from fastndcg.catalog.record import GAIN, GAIN_REL, REL, TREC_EVAL, WITHOUT_AVERAGE, Record

RECORDS = (
    Record(
        name="nDCG_rel",
        title="nDCG averaged over relevant documents",
        kernel="relative.ndcg_at_relevant",
        formula="mean over all documents with a gain of nDCG at the rank of each, of all ranks for those not found",
        range="0 to 1",
        undefined="nothing has a gain",
        source=TREC_EVAL,
        parameters=(GAIN, GAIN_REL),
        aliases=("ndcg_rel",),
        trec_name="ndcg_rel",
        takes_k=False,
    ),
    Record(
        name="Rndcg",
        title="nDCG averaged over levels of gain",
        kernel="relative.ndcg_at_levels",
        formula="mean of nDCG at each rank that ends a level of gain in the best order, and of nDCG of all ranks where "
        "more than R + 1 documents are ranked, R the number with a gain",
        range="0 to 1",
        undefined="nothing has a gain",
        source=TREC_EVAL,
        parameters=(GAIN, GAIN_REL),
        aliases=("R-nDCG",),
        trec_name="Rndcg",
        takes_k=False,
    ),
    Record(
        name="G",
        title="normalised gain",
        kernel="relative.normalised_gain",
        formula="sum over documents ranked of gain / log2(2 + cost − gained), over the sum of all gains; gained: the "
        "gains from rank 1 to the document's; cost: those of the best order, 1 for each rank that gains less; "
        "the mean over the orders of a tie would need how many sets of documents gain each sum, for which no way is "
        "known that takes a power of their number",
        range="0 to 1",
        undefined="nothing has a gain",
        source=TREC_EVAL,
        parameters=(GAIN, GAIN_REL),
        aliases=("normalised_gain",),
        trec_name="G",
        ties=WITHOUT_AVERAGE,
        takes_k=False,
    ),
    Record(
        name="binG",
        title="binary normalised gain",
        kernel="relative.binary_gain",
        formula="sum over relevant documents found of 1 / log2(2 + documents above that are not relevant), over R",
        range="0 to 1",
        undefined="nothing is relevant",
        source=TREC_EVAL,
        parameters=(REL,),
        aliases=("binary_gain",),
        trec_name="binG",
        takes_k=False,
    ),
)

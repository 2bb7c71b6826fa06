"""Numbers of documents."""

from fastndcg.catalog.record import REL, TREC_EVAL, Record

RECORDS = (
    Record(
        name="num_ret",
        title="number of documents retrieved",
        kernel="counts.n_retrieved",
        formula="number of documents ranked; with k at most k",
        range="0 and up",
        undefined="never",
        source=TREC_EVAL,
        trec_name="num_ret",
        is_count=True,
        peers=(("ir_measures", "NumRet"),),
    ),
    Record(
        name="num_rel",
        title="number of relevant documents",
        kernel="counts.n_relevant",
        formula="number of relevant documents, retrieved or not; with k at most k",
        range="0 and up",
        undefined="never",
        source=TREC_EVAL,
        parameters=(REL,),
        trec_name="num_rel",
        is_count=True,
        peers=(("ir_measures", "NumRel"),),
    ),
    Record(
        name="num_rel_ret",
        title="number of relevant documents retrieved",
        kernel="counts.n_relevant_retrieved",
        formula="number of relevant documents among the first k",
        range="0 to min(k, num_rel)",
        undefined="never",
        source=TREC_EVAL,
        parameters=(REL,),
        trec_name="num_rel_ret",
        is_count=True,
        peers=(
            ("ranx", "hits"),
            ("ir_measures", "NumRet(rel=1)"),
        ),
    ),
)

"""Metrics of a user who stops at a relevant document."""

from fastndcg.catalog.record import REL, Record

RECORDS = (
    Record(
        name="RR",
        title="reciprocal rank",
        kernel="cascade.reciprocal_rank",
        formula="1 / rank of the first relevant document, 0 if none is in the first k",
        range="0 to 1",
        undefined="never",
        source="P. B. Kantor and E. M. Voorhees, The TREC-5 confusion track, Information Retrieval 2000",
        doi="10.1023/A:1009902609570",
        parameters=(REL,),
        aliases=("mrr", "recip_rank", "reciprocal_rank"),
        trec_name="recip_rank",
        looks_for_relevant=True,
        peers=(
            ("ranx", "mrr"),
            ("ir_measures", "RR"),
            ("RecTools", "MRR"),
            ("RePlay", "MRR"),
            ("TorchMetrics", "retrieval_reciprocal_rank"),
        ),
    ),
    Record(
        name="Success",
        title="success, hit rate",
        kernel="cascade.success",
        formula="1 if a relevant document is among the first k, else 0",
        range="0 to 1",
        undefined="never",
        source="N. Craswell and D. Hawking, Overview of the TREC-2004 web track, TREC 2004",
        parameters=(REL,),
        aliases=("success", "hit_rate", "hit"),
        trec_cut="success",
        looks_for_relevant=True,
        peers=(
            ("ranx", "hit_rate"),
            ("ir_measures", "Success"),
            ("RecTools", "HitRate"),
            ("RePlay", "HitRate"),
            ("TorchMetrics", "retrieval_hit_rate"),
        ),
    ),
)

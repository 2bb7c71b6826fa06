"""Metrics of a user who stops at a relevant document."""

from fastndcg.metrics.catalog.record import REL, TIES_AND_MEAN_RANK, Record

RECORDS = (
    Record(
        name="RR",
        title="reciprocal rank",
        kernel="first_relevant.reciprocal_rank",
        formula="1 / rank of the first relevant document, 0 if none is in the first k",
        latex=(r"\mathrm{RR@}k = \max_{1 \leq r \leq k} \frac{\mathrm{rel}_r}{r}",),
        range="0 to 1",
        undefined="never",
        source="P. B. Kantor and E. M. Voorhees, The TREC-5 confusion track, Information Retrieval 2000",
        doi="10.1023/A:1009902609570",
        parameters=(REL,),
        aliases=("mrr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
        variants=(("ties", "mean_rank", "mean_rank.reciprocal_mean_rank"),),
        ties=TIES_AND_MEAN_RANK,
        trec_name="recip_rank",
        is_zero_without_relevant=True,
        peers=(
            ("ranx", "mrr"),
            ("ir_measures", "RR"),
            ("RecTools", "MRR"),
            ("RePlay", "MRR"),
            ("TorchMetrics", "retrieval_reciprocal_rank"),
            ("PyKEEN", "inverse_harmonic_mean_rank"),
        ),
    ),
    Record(
        name="Success",
        title="success, hit rate",
        kernel="first_relevant.success",
        formula="1 if a relevant document is among the first k, else 0",
        latex=(r"\mathrm{Success@}k = \min(1, h_k)",),
        range="0 to 1",
        undefined="never",
        source="N. Craswell and D. Hawking, Overview of the TREC-2004 web track, TREC 2004, "
        "https://trec.nist.gov/pubs/trec13/t13_proceedings.html",
        parameters=(REL,),
        aliases=("success", "hit_rate", "hit", "hr", "hitrate", "hits_at", "hits_at_k"),
        variants=(("ties", "mean_rank", "mean_rank.success_at_mean_rank"),),
        ties=TIES_AND_MEAN_RANK,
        trec_cut="success",
        is_zero_without_relevant=True,
        peers=(
            ("ranx", "hit_rate"),
            ("ir_measures", "Success"),
            ("RecTools", "HitRate"),
            ("RePlay", "HitRate"),
            ("TorchMetrics", "retrieval_hit_rate"),
            ("PyKEEN", "hits_at_k"),
        ),
    ),
)
SECTIONS = {300: RECORDS}

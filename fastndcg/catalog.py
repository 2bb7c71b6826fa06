"""Every metric as one record: what it is called, computes, needs, and where it comes from. Pure data."""

from __future__ import annotations

from dataclasses import dataclass

JARVELIN_2002 = "K. Järvelin and J. Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002"
VAN_RIJSBERGEN_1979 = "C. J. van Rijsbergen, Information Retrieval, 2nd edition, 1979, chapter 7"
TREC_EVAL = "trec_eval, the evaluation program of the Text REtrieval Conference"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a metric; a `default` of None is the convention's choice or 'not used'."""

    name: str
    kind: str
    default: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Record:
    """
    One metric.

    `kernel` is ``file.function`` in `fastndcg.kernels` and the name of its twin in `fastndcg.reference`;
    `variants` name the kernel that takes its place where a convention field has a certain choice;
    `trec_name` is what trec_eval calls it without a cutoff, `trec_cut` with one; `is_count` metrics are
    summed, not averaged, on trec_eval's line for all queries; those that `looks_for_relevant` documents are 0 where
    none are there, or undefined if the convention says so.
    """

    name: str
    title: str
    kernel: str
    formula: str
    range: str
    undefined: str
    source: str
    doi: str = ""
    parameters: tuple[Parameter, ...] = ()
    aliases: tuple[str, ...] = ()
    trec_name: str = ""
    trec_cut: str = ""
    variants: tuple[tuple[str, str, str], ...] = ()
    is_count: bool = False
    looks_for_relevant: bool = False


REL = Parameter("rel", "threshold", 1, "a document is relevant if its label is at least this; above 0")
GAIN_REL = Parameter("rel", "threshold", None, "labels below this gain nothing; by default every label counts")
GAIN = Parameter(
    "gain", "gain", None, "linear, exp2 (2^label − 1), binary or a table of gains; the convention's if left out"
)
BETA = Parameter("beta", "positive", 1, "how many times as much recall matters as precision")

RECORDS = (
    Record(
        name="nDCG",
        title="normalised discounted cumulative gain",
        kernel="gain.ndcg",
        formula="DCG@k / IDCG@k",
        range="0 to 1",
        undefined="nothing has a gain",
        source=JARVELIN_2002,
        doi="10.1145/582415.582418",
        parameters=(GAIN, GAIN_REL),
        aliases=("ndcg",),
        trec_name="ndcg",
        trec_cut="ndcg_cut",
    ),
    Record(
        name="DCG",
        title="discounted cumulative gain",
        kernel="gain.dcg",
        formula="sum over ranks r = 1 … k of gain(label at rank r) · discount(r); discount(r) = 1/log2(r + 1)",
        range="0 to IDCG@k",
        undefined="never",
        source=JARVELIN_2002,
        doi="10.1145/582415.582418",
        parameters=(GAIN, GAIN_REL),
        aliases=("dcg",),
        trec_name="dcg",
    ),
    Record(
        name="CG",
        title="cumulative gain",
        kernel="gain.cg",
        formula="sum over ranks r = 1 … k of gain(label at rank r)",
        range="0 and up",
        undefined="never",
        source=JARVELIN_2002,
        doi="10.1145/582415.582418",
        parameters=(GAIN, GAIN_REL),
        aliases=("cg",),
    ),
    Record(
        name="IDCG",
        title="ideal discounted cumulative gain",
        kernel="gain.idcg",
        formula="DCG@k of the best possible order of all judged documents",
        range="0 and up",
        undefined="never",
        source=JARVELIN_2002,
        doi="10.1145/582415.582418",
        parameters=(GAIN, GAIN_REL),
        aliases=("idcg", "ideal_dcg"),
        trec_name="ideal_dcg",
        variants=(("ideal", "k best", "gain.idcg_of_k_best"),),
    ),
    Record(
        name="AP",
        title="average precision",
        kernel="precision.average_precision",
        formula="sum over ranks r = 1 … k with a relevant document of P@r, divided by the number of relevant documents",
        range="0 to 1",
        undefined="nothing is relevant",
        source="C. Buckley and E. M. Voorhees, Evaluating evaluation measure stability, SIGIR 2000",
        doi="10.1145/345508.345543",
        parameters=(REL,),
        aliases=("map", "average_precision", "mean_average_precision"),
        trec_name="map",
        trec_cut="map_cut",
        variants=(("ap_denominator", "n_hits", "precision.average_precision_of_hits"),),
    ),
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
    ),
    Record(
        name="P",
        title="precision",
        kernel="precision.precision",
        formula="relevant documents among the first k, divided by k; without k, by the number retrieved",
        range="0 to 1",
        undefined="never",
        source=VAN_RIJSBERGEN_1979,
        parameters=(REL,),
        aliases=("precision", "set_P"),
        trec_name="set_P",
        trec_cut="P",
    ),
    Record(
        name="R",
        title="recall",
        kernel="precision.recall",
        formula="relevant documents among the first k, divided by the number of relevant documents",
        range="0 to 1",
        undefined="nothing is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(REL,),
        aliases=("recall", "set_recall"),
        trec_name="set_recall",
        trec_cut="recall",
    ),
    Record(
        name="F",
        title="F-score",
        kernel="precision.f_score",
        formula="(1 + beta²) · P@k · R@k / (beta² · P@k + R@k)",
        range="0 to 1",
        undefined="nothing is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(BETA, REL),
        aliases=("f1", "f_score", "f_measure", "set_F"),
        trec_name="set_F",
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
    ),
    Record(
        name="Rprec",
        title="R-precision",
        kernel="precision.r_precision",
        formula="P at rank min(k, R), where R is the number of relevant documents",
        range="0 to 1",
        undefined="nothing is relevant",
        source="C. Buckley and E. M. Voorhees, Retrieval system evaluation, in: TREC, MIT Press 2005, chapter 3",
        parameters=(REL,),
        aliases=("r_precision", "r-precision", "rprecision"),
        trec_name="Rprec",
    ),
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
    ),
)

CATALOG = {record.name: record for record in RECORDS}

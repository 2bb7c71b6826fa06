"""Metrics of sets of documents: counts, those of the retrieved set, and those of a classifier."""

from fastndcg.metrics.catalog.record import REL, TIES_AND_MEAN_RANK, TREC_EVAL, VAN_RIJSBERGEN_1979, Parameter, Record

COUNTS = (
    Record(
        name="num_ret",
        title="number of documents retrieved",
        kernel="set_based.n_retrieved",
        formula="number of documents ranked; with k at most k",
        latex=(r"\mathrm{num\_ret@}k = \min(k, n)",),
        range="0 and up",
        undefined="never",
        source=TREC_EVAL,
        ties=TIES_AND_MEAN_RANK,
        trec_name="num_ret",
        sums_in_trec_eval=True,
        peers=(("ir_measures", "NumRet"),),
    ),
    Record(
        name="num_rel",
        title="number of relevant documents",
        kernel="set_based.n_relevant",
        formula="number of relevant documents, retrieved or not; with k at most k",
        latex=(r"\mathrm{num\_rel@}k = \min(k, R)",),
        range="0 and up",
        undefined="never",
        source=TREC_EVAL,
        parameters=(REL,),
        ties=TIES_AND_MEAN_RANK,
        trec_name="num_rel",
        sums_in_trec_eval=True,
        peers=(("ir_measures", "NumRel"),),
    ),
    Record(
        name="num_rel_ret",
        title="number of relevant documents retrieved",
        kernel="set_based.n_relevant_retrieved",
        formula="number of relevant documents among the first k",
        latex=(r"\mathrm{num\_rel\_ret@}k = h_k",),
        range="0 to min(k, num_rel)",
        undefined="never",
        source=TREC_EVAL,
        parameters=(REL,),
        variants=(("ties", "mean_rank", "mean_rank.n_retrieved_at_mean_rank"),),
        ties=TIES_AND_MEAN_RANK,
        trec_name="num_rel_ret",
        sums_in_trec_eval=True,
        peers=(
            ("ranx", "hits"),
            ("ir_measures", "NumRelRet"),
        ),
    ),
)
RETRIEVED_SET = (
    Record(
        name="SetAP",
        title="precision times recall of the retrieved set",
        kernel="set_based.precision_times_recall",
        formula="P · R of all documents retrieved: AP if the order within the set is not known",
        latex=(r"\mathrm{SetAP} = \frac{h_n}{n} \cdot \frac{h_n}{R}",),
        range="0 to 1",
        undefined="nothing is relevant",
        source=TREC_EVAL,
        parameters=(REL,),
        aliases=("set_map", "set_average_precision"),
        trec_name="set_map",
        has_cutoff=False,
    ),
    Record(
        name="Utility",
        title="set utility",
        kernel="set_based.utility",
        formula="a · relevant and retrieved + b · not relevant and retrieved + c · relevant and not retrieved "
        "+ d · the rest of the collection's documents",
        latex=(
            r"\mathrm{Utility} = w_a \, h_n + w_b \, (n - h_n) + w_c \, (R - h_n) + w_d \, (\mathrm{documents} - n - "
            r"R + h_n)",
        ),
        range="any",
        undefined="never",
        source=TREC_EVAL,
        parameters=(
            Parameter("a", "float", 1, "worth of a relevant document that is retrieved"),
            Parameter("b", "float", -1, "worth of a document that is retrieved and not relevant"),
            Parameter("c", "float", 0, "worth of a relevant document that is not retrieved"),
            Parameter("d", "float", 0, "worth of a document that is neither"),
            Parameter("documents", "float", 0, "number of documents of the collection, which d needs"),
            REL,
        ),
        aliases=("set_utility",),
        trec_name="utility",
        has_cutoff=False,
    ),
)
CLASSIFIER = (
    Record(
        name="ClassificationAccuracy",
        title="accuracy of classification",
        kernel="set_based.classification_accuracy",
        formula="relevant documents among the first k and others below them, divided by the number of documents that "
        "are ranked or relevant",
        latex=(r"\mathrm{ClassificationAccuracy@}k = \frac{h_k + \sum_{r=k+1}^{n} (1 - \mathrm{rel}_r)}{n + R - h_n}",),
        range="0 to 1",
        undefined="there are no documents",
        source=VAN_RIJSBERGEN_1979,
        parameters=(REL,),
        aliases=("classification_accuracy",),
        peers=(("RecTools", "Accuracy"),),
    ),
    Record(
        name="FallOut",
        title="fall-out",
        kernel="set_based.fall_out",
        formula="documents among the first k that are not relevant, divided by the number of those that are ranked",
        latex=(
            r"\mathrm{FallOut@}k = \frac{1}{N} \sum_{r=1}^{k} (1 - \mathrm{rel}_r)",
            r"N = n - h_n",
        ),
        range="0 to 1",
        undefined="everything is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(REL,),
        aliases=("fall_out", "fallout"),
        peers=(("TorchMetrics", "retrieval_fall_out"),),
        higher_is_better=False,
    ),
)
SECTIONS = {400: COUNTS, 700: RETRIEVED_SET, 1500: CLASSIFIER}

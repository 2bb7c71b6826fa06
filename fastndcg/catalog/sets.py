"""Metrics of the set of retrieved documents, whatever its order."""

from fastndcg.catalog.record import REL, TREC_EVAL, Parameter, Record

RECORDS = (
    Record(
        name="SetAP",
        title="precision times recall of the retrieved set",
        kernel="sets.precision_times_recall",
        formula="P · R of all documents retrieved: AP if the order within the set is not known",
        range="0 to 1",
        undefined="nothing is relevant",
        source=TREC_EVAL,
        parameters=(REL,),
        aliases=("set_map", "set_average_precision"),
        trec_name="set_map",
        takes_k=False,
    ),
    Record(
        name="Utility",
        title="set utility",
        kernel="sets.utility",
        formula="a · relevant and retrieved + b · not relevant and retrieved + c · relevant and not retrieved "
        "+ d · the rest of the collection's documents",
        range="any",
        undefined="never",
        source=TREC_EVAL,
        parameters=(
            Parameter("a", "number", 1, "worth of a relevant document that is retrieved"),
            Parameter("b", "number", -1, "worth of a document that is retrieved and not relevant"),
            Parameter("c", "number", 0, "worth of a relevant document that is not retrieved"),
            Parameter("d", "number", 0, "worth of a document that is neither"),
            Parameter("documents", "number", 0, "number of documents of the collection, which d needs"),
            REL,
        ),
        aliases=("set_utility",),
        trec_name="utility",
        takes_k=False,
    ),
)

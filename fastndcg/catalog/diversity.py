"""Metrics of judgments by subtopic: novelty and diversity."""

from functools import partial

from fastndcg.catalog.record import REL, Parameter, Record

ALPHA = Parameter("alpha", "share", 0.5, "how much of its gain a subtopic loses with each relevant document")
PATIENCE = Parameter("beta", "probability", 0.5, "the chance that a user goes on to the next document")
AGRAWAL_2009 = "R. Agrawal, S. Gollapudi, A. Halverson and S. Ieong, Diversifying search results, WSDM 2009"
CLARKE_2008 = "C. L. A. Clarke et al., Novelty and diversity in information retrieval evaluation, SIGIR 2008"
CLARKE_2009 = "C. L. A. Clarke, M. Kolla and O. Vechtomova, An effectiveness measure for ambiguous queries, ICTIR 2009"
CLARKE_2011 = "C. L. A. Clarke et al., A comparative analysis of cascade measures for diversity, WSDM 2011"
ZHAI_2003 = "C. Zhai, W. W. Cohen and J. Lafferty, Beyond independent relevance, SIGIR 2003"

GAIN = (
    "gain(r) = sum over subtopics of the document at rank r of (1 − alpha)^(relevant documents of the subtopic above)"
)
BEST = "the best order is the greedy one: to find the true one is NP-hard"
LIMIT = "n · (1 − alpha)^(r − 1), where n subtopics have a relevant document"

_by_subtopic = partial(
    Record,
    undefined="no subtopic has a relevant document",
    ties=("average", "input", "input_reversed", "id_descending", "id_ascending"),
    view="subtopics",
)

RECORDS = (
    _by_subtopic(
        name="alpha_nDCG",
        title="novelty-biased nDCG",
        kernel="diversity.alpha_ndcg",
        formula=f"sum over r = 1 … k of gain(r) · discount(r), over that of the best order; {GAIN}; {BEST}",
        range="0 to 1, and more where an order passes the greedy one",
        source=CLARKE_2008,
        doi="10.1145/1390334.1390446",
        parameters=(ALPHA, REL),
        aliases=("alpha-nDCG",),
        peers=(("ir_measures", "alpha_nDCG"), ("pyndeval", "alpha-nDCG")),
    ),
    _by_subtopic(
        name="alpha_DCG",
        title="novelty-biased DCG",
        kernel="diversity.alpha_dcg",
        formula=f"sum over r = 1 … k of gain(r) · discount(r), over that where each gain is {LIMIT}; {GAIN}; "
        "without k the number retrieved takes its place",
        range="0 to 1",
        source=f"{CLARKE_2008}; normalised as in ndeval",
        doi="10.1145/1390334.1390446",
        parameters=(ALPHA, REL),
        aliases=("alpha-DCG",),
        peers=(("ir_measures", "alpha_DCG"), ("pyndeval", "alpha-DCG")),
    ),
    _by_subtopic(
        name="nERR_IA",
        title="normalised intent-aware expected reciprocal rank",
        kernel="diversity.nerr_ia",
        formula=f"sum over r = 1 … k of gain(r) / r, over that of the best order; {GAIN}; {BEST}",
        range="0 to 1, and more where an order passes the greedy one",
        source=CLARKE_2011,
        doi="10.1145/1935826.1935847",
        parameters=(ALPHA, REL),
        aliases=("nERR-IA",),
        peers=(("ir_measures", "nERR_IA"), ("pyndeval", "nERR-IA")),
    ),
    _by_subtopic(
        name="ERR_IA",
        title="intent-aware expected reciprocal rank",
        kernel="diversity.err_ia",
        formula=f"sum over r = 1 … k of gain(r) / r, over that where each gain is {LIMIT}; {GAIN}; "
        "without k the number retrieved takes its place",
        range="0 to 1",
        source=f"{CLARKE_2011}; with the chance alpha to stop at a relevant document, normalised as in ndeval",
        doi="10.1145/1935826.1935847",
        parameters=(ALPHA, REL),
        aliases=("ERR-IA",),
        peers=(("ir_measures", "ERR_IA"), ("pyndeval", "ERR-IA")),
    ),
    _by_subtopic(
        name="nNRBP",
        title="normalised novelty- and rank-biased precision",
        kernel="diversity.nnrbp",
        formula=f"sum over ranks r of gain(r) · beta^(r − 1), over that of the best order; {GAIN}; {BEST}",
        range="0 to 1, and more where an order passes the greedy one",
        source=CLARKE_2009,
        doi="10.1007/978-3-642-04417-5_17",
        parameters=(ALPHA, PATIENCE, REL),
        peers=(("ir_measures", "nNRBP"), ("pyndeval", "nNRBP")),
        takes_k=False,
    ),
    _by_subtopic(
        name="NRBP",
        title="novelty- and rank-biased precision",
        kernel="diversity.nrbp",
        formula=f"(1 − (1 − alpha) · beta) / n · sum over ranks r of gain(r) · beta^(r − 1), where n subtopics have a "
        f"relevant document; {GAIN}",
        range="0 to 1",
        source=CLARKE_2009,
        doi="10.1007/978-3-642-04417-5_17",
        parameters=(ALPHA, PATIENCE, REL),
        peers=(("ir_measures", "NRBP"), ("pyndeval", "NRBP")),
        takes_k=False,
    ),
    _by_subtopic(
        name="P_IA",
        title="intent-aware precision",
        kernel="diversity.precision_ia",
        formula="mean of P@k over the subtopics that have a relevant document, divided by k; without k, by the number "
        "retrieved",
        range="0 to 1",
        source=AGRAWAL_2009,
        doi="10.1145/1498759.1498766",
        parameters=(REL,),
        aliases=("P-IA",),
        peers=(("ir_measures", "P_IA"), ("pyndeval", "P-IA")),
    ),
    _by_subtopic(
        name="AP_IA",
        title="intent-aware average precision",
        kernel="diversity.average_precision_ia",
        formula="mean of AP@k over the subtopics that have a relevant document, divided by their number of them",
        range="0 to 1",
        source=AGRAWAL_2009,
        doi="10.1145/1498759.1498766",
        parameters=(REL,),
        aliases=("AP-IA", "MAP-IA", "MAP_IA"),
        peers=(("ir_measures", "AP_IA"), ("pyndeval", "MAP-IA")),
    ),
    _by_subtopic(
        name="S_recall",
        title="subtopic recall",
        kernel="diversity.subtopic_recall",
        formula="subtopics that a document of the first k is relevant to, over those that have a relevant document",
        range="0 to 1",
        source=ZHAI_2003,
        doi="10.1145/860435.860440",
        parameters=(REL,),
        aliases=("S-recall", "strec", "StRecall", "subtopic_recall"),
        peers=(("ir_measures", "StRecall"), ("pyndeval", "strec")),
    ),
)

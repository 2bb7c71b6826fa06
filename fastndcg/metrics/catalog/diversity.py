"""Metrics of judgments by subtopic: novelty and diversity."""

from functools import partial

from fastndcg.metrics.catalog.record import REL, Parameter, Record

ALPHA = Parameter(
    "alpha", "float", 0.5, "how much of its gain a subtopic loses with each relevant document", min=0, max=1
)
PATIENCE = Parameter("beta", "float", 0.5, "the chance that a user goes on to the next document", above=0, below=1)
AGRAWAL_2009 = "R. Agrawal, S. Gollapudi, A. Halverson and S. Ieong, Diversifying search results, WSDM 2009"
CLARKE_2008 = "C. L. A. Clarke et al., Novelty and diversity in information retrieval evaluation, SIGIR 2008"
CLARKE_2009 = "C. L. A. Clarke, M. Kolla and O. Vechtomova, An effectiveness measure for ambiguous queries, ICTIR 2009"
CLARKE_2011 = "C. L. A. Clarke et al., A comparative analysis of cascade measures for diversity, WSDM 2011"
ZHAI_2003 = "C. Zhai, W. W. Cohen and J. Lafferty, Beyond independent relevance, SIGIR 2003"

GAIN = (
    "gain(r) = sum over subtopics of the document at rank r of (1 − alpha)^(relevant documents of the subtopic above)"
)
BEST = (
    "the best order is the greedy one: to find the true one is NP-hard; of documents that gain alike it takes "
    "the first by id, or as given in arrays, on which the value depends"
)
LIMIT = "Z · (1 − alpha)^(r − 1), where Z subtopics have a relevant document"

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
        latex=(
            r"\alpha\mathrm{-nDCG@}k = \frac{\sum_{r=1}^{k} \gamma_r \cdot d(r)}{\sum_{r=1}^{k} \gamma^*_r \cdot "
            r"d(r)}",
            r"\gamma_r = \sum_{z} \mathrm{rel}_{r,z} \cdot (1 - \alpha)^{h_{r-1,z}}",
        ),
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
        latex=(
            r"\alpha\mathrm{-DCG@}k = \frac{\sum_{r=1}^{k} \gamma_r \cdot d(r)}{\sum_{r=1}^{k} Z \cdot (1 - "
            r"\alpha)^{r-1} \cdot d(r)}",
        ),
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
        latex=(r"\mathrm{nERR-IA@}k = \frac{\sum_{r=1}^{k} \gamma_r \, / \, r}{\sum_{r=1}^{k} \gamma^*_r \, / \, r}",),
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
        latex=(
            r"\mathrm{ERR-IA@}k = \frac{\sum_{r=1}^{k} \gamma_r \, / \, r}{\sum_{r=1}^{k} Z \cdot (1 - \alpha)^{r-1} "
            r"\, / \, r}",
        ),
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
        latex=(
            r"\mathrm{nNRBP} = \frac{\sum_{r=1}^{n} \gamma_r \cdot \beta^{r-1}}{\sum_{r} \gamma^*_r \cdot "
            r"\beta^{r-1}}",
        ),
        range="0 to 1, and more where an order passes the greedy one",
        source=CLARKE_2009,
        doi="10.1007/978-3-642-04417-5_17",
        parameters=(ALPHA, PATIENCE, REL),
        peers=(("ir_measures", "nNRBP"), ("pyndeval", "nNRBP")),
        has_cutoff=False,
    ),
    _by_subtopic(
        name="NRBP",
        title="novelty- and rank-biased precision",
        kernel="diversity.nrbp",
        formula=f"(1 − (1 − alpha) · beta) / Z · sum over ranks r of gain(r) · beta^(r − 1), where Z subtopics have a "
        f"relevant document; {GAIN}",
        latex=(r"\mathrm{NRBP} = \frac{1 - (1 - \alpha) \cdot \beta}{Z} \sum_{r=1}^{n} \gamma_r \cdot \beta^{r-1}",),
        range="0 to 1",
        source=CLARKE_2009,
        doi="10.1007/978-3-642-04417-5_17",
        parameters=(ALPHA, PATIENCE, REL),
        peers=(("ir_measures", "NRBP"), ("pyndeval", "NRBP")),
        has_cutoff=False,
    ),
    _by_subtopic(
        name="P_IA",
        title="intent-aware precision",
        kernel="diversity.precision_ia",
        formula="mean of P@k over the subtopics that have a relevant document, divided by k; without k, by the number "
        "retrieved; a convention may divide by min(k, number retrieved), as for P",
        latex=(r"\mathrm{P-IA@}k = \frac{1}{Z} \sum_{z} \frac{h_{k,z}}{k}",),
        range="0 to 1",
        source=AGRAWAL_2009,
        doi="10.1145/1498759.1498766",
        parameters=(REL,),
        aliases=("P-IA",),
        peers=(("ir_measures", "P_IA"), ("pyndeval", "P-IA"), ("TF-Ranking", "PrecisionIAMetric")),
    ),
    _by_subtopic(
        name="AP_IA",
        title="intent-aware average precision",
        kernel="diversity.average_precision_ia",
        formula="mean of AP@k over the subtopics that have a relevant document, divided by their number of them",
        latex=(
            r"\mathrm{AP-IA@}k = \frac{1}{Z} \sum_{z} \frac{1}{R_z} \sum_{r=1}^{k} \mathrm{rel}_{r,z} \cdot "
            r"\frac{h_{r,z}}{r}",
        ),
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
        latex=(r"\mathrm{S-recall@}k = \frac{1}{Z} \sum_{z} \min(1, h_{k,z})",),
        range="0 to 1",
        source=ZHAI_2003,
        doi="10.1145/860435.860440",
        parameters=(REL,),
        aliases=("S-recall", "strec", "StRecall", "subtopic_recall"),
        peers=(("ir_measures", "StRecall"), ("pyndeval", "strec")),
    ),
)
SECTIONS = {1600: RECORDS}

"""Metrics that look at which documents were judged: by these alone, or by how many there are."""

from fastndcg.metrics.catalog.record import PERSISTENCE, REL, TREC_EVAL, WITHOUT_AVERAGE, Record

WHATEVER_THE_LABELS = tuple(policy for policy in ("average", *WITHOUT_AVERAGE) if policy not in ("best", "worst"))

RECORDS = (
    Record(
        name="bpref",
        title="binary preference",
        kernel="incomplete_judgments.binary_preference",
        formula="mean over relevant documents, 0 for those not found, of 1 − min(o, R) / min(O, R); o: judged "
        "documents above that are not relevant, O: all of these, R: the number of relevant documents; 1 where o is 0",
        latex=(
            r"\mathrm{bpref} = \frac{1}{R} \sum_{r=1}^{n} \mathrm{rel}_r \cdot \left(1 - \frac{\min(o_r, R)}{\min(O, "
            r"R)}\right)",
        ),
        range="0 to 1",
        undefined="nothing is relevant",
        source="C. Buckley and E. M. Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004",
        doi="10.1145/1008992.1009000",
        parameters=(REL,),
        aliases=("binary_preference",),
        trec_name="bpref",
        has_cutoff=False,
        view="judgments",
    ),
    Record(
        name="infAP",
        title="inferred average precision",
        kernel="incomplete_judgments.inferred_average_precision",
        formula="mean over relevant documents, 0 for those not found, of (1 + pool · (h + ε) / (h + o + 2ε)) / rank; "
        "pool documents above it were pooled, and of those judged h are relevant and o not; ε = 0.00001; labels below "
        "0 are of documents pooled and not judged; in a tie group a draw from the "
        "others is above a relevant document: how many of it are judged is hypergeometric, and given that, the mean "
        "numbers of relevant and of pooled ones are shares of it",
        latex=(
            r"\mathrm{infAP} = \frac{1}{R} \sum_{r=1}^{n} \frac{\mathrm{rel}_r}{r} \cdot \left(1 + \mathrm{pool}_r "
            r"\cdot \frac{h_{r-1} + \varepsilon}{h_{r-1} + o_r + 2 \varepsilon}\right)",
            r"\varepsilon = 0.00001",
        ),
        range="0 to 1",
        undefined="nothing is relevant",
        source="E. Yilmaz and J. A. Aslam, Estimating average precision with incomplete and imperfect judgments, "
        "CIKM 2006",
        doi="10.1145/1183614.1183633",
        parameters=(REL,),
        aliases=("inferred_average_precision",),
        trec_name="infAP",
        has_cutoff=False,
        view="judgments",
    ),
    Record(
        name="num_nonrel_judged_ret",
        title="number of documents retrieved that were judged and are not relevant",
        kernel="incomplete_judgments.n_nonrelevant_judged",
        formula="documents ranked that have a judgment and are not relevant",
        latex=(r"\mathrm{num\_nonrel\_judged\_ret} = \sum_{r=1}^{n} \mathrm{jud}_r \cdot (1 - \mathrm{rel}_r)",),
        range="0 and up",
        undefined="never",
        source=TREC_EVAL,
        parameters=(REL,),
        trec_name="num_nonrel_judged_ret",
        sums_in_trec_eval=True,
        has_cutoff=False,
        view="judgments",
        higher_is_better=False,
    ),
    Record(
        name="Judged",
        title="share of judged documents",
        kernel="incomplete_judgments.share_judged",
        formula="documents among the first k that have a judgment, over min(k, number retrieved)",
        latex=(r"\mathrm{Judged@}k = \frac{1}{\min(k, n)} \sum_{r=1}^{\min(k, n)} \mathrm{jud}_r",),
        range="0 to 1",
        undefined="nothing is retrieved",
        source="C. Buckley, D. Dimmick, I. Soboroff and E. M. Voorhees, Bias and the limits of pooling for large "
        "collections, Information Retrieval 2007",
        doi="10.1007/s10791-007-9032-x",
        aliases=("judged_share",),
        ties=WHATEVER_THE_LABELS,
        view="judgments",
    ),
    Record(
        name="Unjudged",
        title="share of documents without a judgment",
        kernel="incomplete_judgments.share_unjudged",
        formula="documents among the first k that have no judgment, over k; without k, over the number retrieved",
        latex=(r"\mathrm{Unjudged@}k = \frac{1}{k} \sum_{r=1}^{\min(k, n)} (1 - \mathrm{jud}_r)",),
        range="0 to 1",
        undefined="never",
        source=TREC_EVAL,
        aliases=("unjudged_share",),
        trec_cut="unj",
        ties=WHATEVER_THE_LABELS,
        view="judgments",
        higher_is_better=False,
    ),
    Record(
        name="RBP_resid",
        title="residual of rank-biased precision",
        kernel="incomplete_judgments.rbp_residual",
        formula="how much RBP could be higher: (1 − p) · sum of p^(r − 1) over ranks r = 1 … k without a judgment, "
        "plus p^n for what stands below the n ranks looked at; a convention may say 0 of a query without documents",
        latex=(
            r"\mathrm{RBP\_resid@}k = (1 - p) \sum_{r=1}^{\min(k, n)} (1 - \mathrm{jud}_r) \cdot p^{r-1} + "
            r"p^{\min(k, n)}",
        ),
        range="0 to 1",
        undefined="never",
        source="A. Moffat and J. Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008",
        doi="10.1145/1416950.1416952",
        parameters=(PERSISTENCE,),
        aliases=("rbp_residual",),
        trec_name="rbp_resid",
        variants=(("residual_of_nothing", 0, "incomplete_judgments.rbp_residual_if_ranked"),),
        ties=WHATEVER_THE_LABELS,
        view="judgments",
        higher_is_better=False,
    ),
)
SECTIONS = {800: RECORDS}

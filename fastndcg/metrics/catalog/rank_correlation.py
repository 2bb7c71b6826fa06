"""Metrics of two rankings of the same documents, the first of which is the truth where that matters."""

from fastndcg.metrics.catalog.record import Parameter, Record

FUNCTION = "agreement"
FEW = "fewer than two documents are in both rankings"
ALL_TIED = f"{FEW}, or one ranks them all alike"
EXPECTED = "the mean over all orders of equal scores, in either ranking"
URBANO_2017 = "J. Urbano and M. Marrero, The treatment of ties in AP correlation, ICTIR 2017"

RECORDS = (
    Record(
        name="tau_b",
        title="Kendall's tau-b",
        kernel="correlation.tau_b",
        formula="(C − D) / √((n0 − n1) · (n0 − n2)): of n0 pairs of documents in both rankings C are in the same "
        "order, D in the opposite one, n1 and n2 tied in the first and in the second",
        latex=(r"\tau_{\mathrm{b}} = \frac{C - D}{\sqrt{(n_0 - n_1) \cdot (n_0 - n_2)}}",),
        range="−1 to 1",
        undefined=ALL_TIED,
        source="M. G. Kendall, The treatment of ties in ranking problems, Biometrika 1945",
        doi="10.1093/biomet/33.3.239",
        aliases=("kendall", "kendall_tau", "kendalltau"),
        peers=(("SciPy", "kendalltau"), ("pandas", "corr(method='kendall')"), ("ircor", "tau_b")),
        has_cutoff=False,
        ties=(),
        function_name=FUNCTION,
    ),
    Record(
        name="spearman",
        title="Spearman's rank correlation",
        kernel="correlation.spearman",
        formula="the correlation of the ranks of documents in both rankings; tied ones share their mean rank",
        latex=(
            r"\mathrm{spearman} = \frac{\sum_j (r_j - \bar{r}) \cdot (r'_j - \bar{r})}{\sqrt{\sum_j (r_j - "
            r"\bar{r})^2 \cdot \sum_j (r'_j - \bar{r})^2}}",
        ),
        range="−1 to 1",
        undefined=ALL_TIED,
        source="C. Spearman, The proof and measurement of association between two things, 1904",
        doi="10.2307/1412159",
        aliases=("rho", "spearmanr"),
        peers=(("SciPy", "spearmanr"), ("pandas", "corr(method='spearman')")),
        has_cutoff=False,
        ties=(),
        function_name=FUNCTION,
    ),
    Record(
        name="tau_ap",
        title="AP correlation",
        kernel="correlation.tau_ap",
        formula="2 / (n − 1) · (sum over ranks i = 2 … n of the second ranking of C(i) / (i − 1)) − 1: C(i) documents "
        f"above rank i are above that at rank i in the first ranking, too; {EXPECTED} (tau_AP,a)",
        latex=(r"\tau_{\mathrm{AP}} = \frac{2}{n - 1} \sum_{r=2}^{n} \frac{C_r}{r - 1} - 1",),
        range="−1 to 1",
        undefined=FEW,
        source="E. Yilmaz, J. A. Aslam and S. Robertson, A new rank correlation coefficient for information retrieval, "
        f"SIGIR 2008; ties: {URBANO_2017}",
        doi="10.1145/1390334.1390435",
        aliases=("tauap", "tau_ap_a", "ap_correlation"),
        peers=(("ircor", "tauAP, tauAP_a"),),
        has_cutoff=False,
        ties=("average",),
        function_name=FUNCTION,
    ),
    Record(
        name="tau_ap_b",
        title="AP correlation of two rankings with ties, neither of which is the truth",
        kernel="correlation.tau_ap_b",
        formula="the mean over both directions of 2 / m · (sum over the m documents below the first tie group of "
        "C(i) / p(i)) − 1: p(i) are above document i's tie group, C(i) of them above it in the other ranking, too",
        latex=(
            r"\tau_{\mathrm{AP,b}} = \frac{\tau(1, 2) + \tau(2, 1)}{2}",
            r"\tau(1, 2) = \frac{2}{m} \sum_{j=1}^{m} \frac{C_j}{a_j} - 1",
        ),
        range="−1 to 1",
        undefined=ALL_TIED,
        source=URBANO_2017,
        doi="10.1145/3121050.3121106",
        aliases=("tauap_b",),
        peers=(("ircor", "tauAP_b"),),
        has_cutoff=False,
        ties=(),
        function_name=FUNCTION,
    ),
    Record(
        name="RBO",
        title="rank-biased overlap",
        kernel="rbo.rbo",
        formula="(1 − p) · sum over depths d of p^(d − 1) · |first:d ∩ second:d| / d, extrapolated beyond the ends of "
        f"the lists (RBO_EXT) or not (RBO_MIN); {EXPECTED} (RBO^a); with k, of the first k documents of each",
        latex=(
            r"\mathrm{RBO} = (1 - p) \sum_{d=1}^{\infty} p^{d-1} \cdot \frac{X_d}{d}",
            r"\mathrm{RBO}_{\mathrm{EXT}} = \frac{1 - p}{p} \left(\sum_{d=1}^{n_{\max}} \frac{X_d}{d} p^d + "
            r"\sum_{d=n_{\min}+1}^{n_{\max}} \frac{X_{n_{\min}} (d - n_{\min})}{n_{\min} \, d} p^d\right) + "
            r"\left(\frac{X_{n_{\max}} - X_{n_{\min}}}{n_{\max}} + \frac{X_{n_{\min}}}{n_{\min}}\right) p^{n_{\max}}",
            r"\mathrm{RBO}_{\mathrm{MIN}} = \frac{1 - p}{p} \left(\sum_{d=1}^{n_{\max}} (X_d - X_{n_{\max}}) "
            r"\frac{p^d}{d} - X_{n_{\max}} \ln(1 - p)\right)",
        ),
        range="0 to 1",
        undefined="a ranking is empty",
        source="W. Webber, A. Moffat and J. Zobel, A similarity measure for indefinite rankings, TOIS 2010, equations "
        "32 and 11; ties: M. Corsi and J. Urbano, The treatment of ties in rank-biased overlap, SIGIR 2024",
        doi="10.1145/1852102.1852106",
        parameters=(
            Parameter("p", "float", 0.9, "how likely the reader is to go on to the next rank", above=0, below=1),
            Parameter(
                "form",
                "choice",
                "ext",
                "what is taken for granted beyond the ends: the agreement seen, or none",
                choices=("ext", "min"),
            ),
        ),
        aliases=("rbo", "rank_biased_overlap"),
        peers=(("rbo", "RankingSimilarity.rbo_ext"),),
        ties=("average",),
        function_name=FUNCTION,
    ),
)
SECTIONS = {1700: RECORDS}

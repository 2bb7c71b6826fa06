"""Metrics of recommended items beyond accuracy. Without a cutoff, k is the length of the lists."""

from fastndcg.metrics.catalog.record import Parameter, Record

FUNCTION = "beyond_accuracy"
EMPTY = "nothing is recommended"
GE_2010 = (
    "M. Ge, C. Delgado-Battenfeld and D. Jannach, Beyond accuracy: evaluating recommender systems by coverage and "
    "serendipity, RecSys 2010"
)
ZHOU_2010 = "T. Zhou et al., Solving the apparent diversity-accuracy dilemma of recommender systems, PNAS 2010"

RECORDS = (
    Record(
        name="popularity",
        title="average popularity of the recommended items",
        kernel="per_user.mean_over_items",
        formula="mean over the first k items of how many users interacted with the item",
        latex=(r"\mathrm{popularity@}k = \frac{1}{k} \sum_{r=1}^{k} u_r",),
        range="0 and up",
        undefined=EMPTY,
        source="H. Yin et al., Challenging the long tail recommendation, VLDB 2012",
        doi="10.14778/2311906.2311916",
        aliases=("arp", "average_popularity", "avg_rec_popularity"),
        peers=(("RecTools", "AvgRecPopularity"), ("RecBole", "AveragePopularity")),
        higher_is_better=False,
        ties=(),
        function_name=FUNCTION,
        needs=("popularity",),
    ),
    Record(
        name="novelty",
        title="novelty, self-information",
        kernel="per_user.mean_over_items",
        formula="mean over the first k items of −log2 of the share of users who interacted with the item",
        latex=(r"\mathrm{novelty@}k = -\frac{1}{k} \sum_{r=1}^{k} \log_2 \frac{u_r}{U}",),
        range="0 and up",
        undefined=EMPTY,
        source=ZHOU_2010,
        doi="10.1073/pnas.1000488107",
        parameters=(
            Parameter(
                "share_of",
                "choice",
                "users",
                "what the number of an item's interactions is divided by",
                choices=("users", "interactions"),
            ),
        ),
        aliases=("self_information", "miuf", "mean_inverse_user_frequency"),
        peers=(
            ("RecTools", "MeanInvUserFreq, which takes items without interactions for items with one"),
            ("recommenders", "novelty: share_of=interactions"),
            ("RePlay", "Surprisal: over log2 of the number of users, so that it is at most 1"),
        ),
        ties=(),
        function_name=FUNCTION,
        needs=("popularity",),
    ),
    Record(
        name="tail",
        title="tail percentage",
        kernel="per_user.mean_over_items",
        formula="share of the first k items that are in the long tail: all but the most popular ones, which have the "
        "share `head` of all interactions; or the share `items` of all items, the least popular ones",
        latex=(r"\mathrm{tail@}k = \frac{1}{k} \sum_{r=1}^{k} \mathrm{tail}_r",),
        range="0 to 1",
        undefined=EMPTY,
        source="H. Abdollahpouri, R. Burke and B. Mobasher, Managing popularity bias in recommender systems with "
        "personalized re-ranking, FLAIRS 2019",
        doi="10.48550/arXiv.1901.07555",
        parameters=(
            Parameter(
                "head", "float", 0.8, "which share of all interactions the most popular items have", min=0, max=1
            ),
            Parameter(
                "items", "float", None, "which share of all items is in the tail, in place of `head`", min=0, max=1
            ),
        ),
        aliases=("tail_percentage", "aplt"),
        peers=(("RecBole", "TailPercentage: items=0.1; items of equal popularity by id"),),
        ties=(),
        function_name=FUNCTION,
        needs=("popularity",),
    ),
    Record(
        name="ILD",
        title="intra-list diversity",
        kernel="per_user.cosine_diversity",
        variants=(
            ("distance", "jaccard", "per_user.jaccard_diversity"),
            ("distance", "hamming", "per_user.hamming_diversity"),
        ),
        formula="mean distance of the pairs among the first k items: 1 − cosine of their vectors; 1 − the share of "
        "categories that both have among those that one has (jaccard); how many categories one of them has (hamming)",
        latex=(
            r"\mathrm{ILD@}k = \frac{2}{k (k - 1)} \sum_{i=1}^{k} \sum_{r=i+1}^{k} \mathrm{dist}(i, r)",
            r"\mathrm{dist}_{\mathrm{cosine}}(i, r) = 1 - \frac{v_i \cdot v_r}{\Vert v_i \Vert \cdot \Vert v_r \Vert}",
            r"\mathrm{dist}_{\mathrm{jaccard}}(i, r) = 1 - \frac{|Y_i \cap Y_r|}{|Y_i \cup Y_r|}",
            r"\mathrm{dist}_{\mathrm{hamming}}(i, r) = |Y_i \cup Y_r| - |Y_i \cap Y_r|",
        ),
        range="0 to 2 (cosine), 0 to 1 (jaccard), 0 to the number of categories (hamming)",
        undefined="fewer than two items are recommended",
        source="B. Smyth and P. McClave, Similarity vs. diversity, ICCBR 2001",
        doi="10.1007/3-540-44593-5_25",
        parameters=(
            Parameter(
                "distance",
                "choice",
                "cosine",
                "of vectors, or of sets of categories",
                choices=("cosine", "jaccard", "hamming"),
            ),
        ),
        aliases=("intra_list_diversity",),
        peers=(
            ("RecTools", "IntraListDiversity: distance=hamming, 0 where there is one item"),
            ("recommenders", "diversity: 1 − mean cosine"),
            ("LensKit", "ILS: mean cosine"),
        ),
        ties=(),
        function_name=FUNCTION,
    ),
    Record(
        name="serendipity",
        title="serendipity",
        kernel="per_user.serendipity",
        formula="share of the first k items that the user likes and that are not among the k most popular items",
        latex=(r"\mathrm{serendipity@}k = \frac{1}{k} \sum_{r=1}^{k} \mathrm{liked}_r \cdot (1 - \mathrm{popular}_r)",),
        range="0 to 1",
        undefined=EMPTY,
        source=GE_2010,
        doi="10.1145/1864708.1864761",
        parameters=(
            Parameter("rel", "float", 1, "a user likes an item if its label is at least this; above 0", above=0),
        ),
        peers=(
            ("RecTools", "Serendipity: by how much the rank of a liked item is above that by popularity"),
            ("recommenders", "user_serendipity: liked items by their distance from the user's history"),
        ),
        ties=(),
        function_name=FUNCTION,
        needs=("liked", "popularity"),
    ),
    Record(
        name="coverage",
        title="catalogue coverage",
        kernel="all_users.coverage",
        formula="share of the catalogue's items that are among the first k of a user",
        latex=(r"\mathrm{coverage@}k = \frac{|\bigcup_q B_q|}{J}",),
        range="0 to 1",
        undefined="the catalogue is empty",
        source=GE_2010,
        doi="10.1145/1864708.1864761",
        aliases=("catalogue_coverage", "catalog_coverage", "item_coverage"),
        peers=(("RecTools", "CatalogCoverage"), ("RecBole", "ItemCoverage"), ("RePlay", "Coverage")),
        ties=(),
        function_name=FUNCTION,
        needs=("catalogue",),
        has_one_value=True,
    ),
    Record(
        name="gini",
        title="Gini index of how often items are recommended",
        kernel="all_users.gini",
        formula="sum over the n items of the catalogue, the least recommended first, of (2i − n − 1) · c(i), over "
        "n · sum of c(i); c(i) users have item i among their first k",
        latex=(
            r"\mathrm{gini@}k = \frac{\sum_{j=1}^{J} (2 j - J - 1) \cdot \mathrm{count}_j}{J \cdot \sum_{j=1}^{J} "
            r"\mathrm{count}_j}",
        ),
        range="0 (all alike) to 1 − 1/n",
        undefined=EMPTY,
        source="D. Fleder and K. Hosanagar, Blockbuster culture's next rise or fall, Management Science 2009",
        doi="10.1287/mnsc.1080.0974",
        aliases=("gini_index",),
        peers=(("RecBole", "GiniIndex"), ("LensKit", "ListGini")),
        higher_is_better=False,
        ties=(),
        function_name=FUNCTION,
        needs=("catalogue",),
        has_one_value=True,
    ),
    Record(
        name="entropy",
        title="Shannon entropy of recommended items",
        kernel="all_users.entropy",
        formula="−sum over items of s · log2(s); s is the item's share of all recommendations in the first k ranks",
        latex=(
            r"\mathrm{entropy@}k = -\sum_{j} \mathrm{share}_j \cdot \log_2 \mathrm{share}_j",
            r"\mathrm{share}_j = \frac{\mathrm{count}_j}{\sum_{i=1}^{J} \mathrm{count}_i}",
        ),
        range="0 to log2 of the number of items",
        undefined=EMPTY,
        source="C. E. Shannon, A mathematical theory of communication, Bell System Technical Journal 1948",
        doi="10.1002/j.1538-7305.1948.tb01338.x",
        aliases=("shannon_entropy", "distributional_coverage"),
        peers=(
            ("recommenders", "distributional_coverage"),
            ("RecBole", "ShannonEntropy: in nats, over the number of different items"),
        ),
        ties=(),
        function_name=FUNCTION,
        has_one_value=True,
    ),
    Record(
        name="personalisation",
        title="personalisation, inter-user diversity",
        kernel="all_users.personalisation",
        formula="mean over pairs of users of 1 − the number of items that both have among their first k, over the "
        "length of the longer of both lists; users without items are left out",
        latex=(
            r"\mathrm{personalisation@}k = \frac{2}{Q (Q - 1)} \sum_{i=1}^{Q} \sum_{j=i+1}^{Q} \left(1 - \frac{|B_i "
            r"\cap B_j|}{\max(|B_i|, |B_j|)}\right)",
        ),
        range="0 to 1",
        undefined="fewer than two users have items",
        source=ZHOU_2010,
        doi="10.1073/pnas.1000488107",
        aliases=("personalization", "inter_user_diversity", "inter_list_diversity"),
        ties=(),
        function_name=FUNCTION,
        has_one_value=True,
    ),
)
SECTIONS = {1800: RECORDS}

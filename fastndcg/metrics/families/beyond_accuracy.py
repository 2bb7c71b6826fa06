"""
Metrics of recommended items beyond accuracy. Without a cutoff, k is the length of the lists.

items   the user's first k items
facts   data of all items and of this user
metric  the metric with its parameters

lists    each user's first k items
n_items  number of items in the catalogue
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from fastndcg.metrics.families.record import Parameter, Record

GE_2010 = (
    "M. Ge, C. Delgado-Battenfeld and D. Jannach, Beyond accuracy: evaluating recommender systems by coverage and "
    "serendipity, RecSys 2010"
)
ZHOU_2010 = "T. Zhou et al., Solving the apparent diversity-accuracy dilemma of recommender systems, PNAS 2010"
_of_items = partial(Record, undefined="nothing is recommended", ties=(), function_name="beyond_accuracy")

RECORDS = (
    _of_items(
        name="popularity",
        title="average popularity of the recommended items",
        use="How popular the recommended items are; lower values reach more of the catalogue.",
        place="beyond_accuracy.popularity",
        formula="mean over the first k items of how many users interacted with the item",
        range="0 and up",
        source="H. Yin et al., Challenging the long tail recommendation, VLDB 2012",
        doi="10.14778/2311906.2311916",
        aliases=("arp", "average_popularity", "avg_rec_popularity"),
        peers=(("RecTools", "AvgRecPopularity"), ("RecBole", "AveragePopularity")),
        higher_is_better=False,
        needs=("popularity",),
    ),
    _of_items(
        name="novelty",
        title="novelty, self-information",
        use="How surprising the recommended items are, in bits; to see whether users get what everybody gets.",
        place="beyond_accuracy.novelty",
        formula="mean over the first k items of −log2 of the share of users who interacted with the item",
        range="0 and up",
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
        needs=("popularity",),
        needs_by_choice=(("share_of", "users", "n_users"),),
    ),
    _of_items(
        name="tail",
        title="tail percentage",
        use="The share of recommendations from the long tail; to see whether rare items have a chance.",
        place="beyond_accuracy.tail",
        formula="share of the first k items that are in the long tail: all but the most popular ones, which have the "
        "share `head` of all interactions; or the share `items` of all items, the least popular ones",
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
        needs=("popularity",),
    ),
    _of_items(
        name="ILD",
        title="intra-list diversity",
        use="How different the items of one list are; to see whether a list is monotonous.",
        place="beyond_accuracy.cosine_diversity",
        needs_by_choice=(
            ("distance", "cosine", "vectors"),
            ("distance", "jaccard", "sets"),
            ("distance", "hamming", "sets"),
        ),
        variants=(
            ("distance", "jaccard", "beyond_accuracy.jaccard_diversity"),
            ("distance", "hamming", "beyond_accuracy.hamming_diversity"),
        ),
        formula="mean distance of the pairs among the first k items: 1 − cosine of their vectors; 1 − the share of "
        "categories that both have among those that one has (jaccard); how many categories one of them has (hamming)",
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
    ),
    _of_items(
        name="serendipity",
        title="serendipity",
        use="The share of liked recommendations that a list of best-sellers would not have had; for discovery beside "
        "accuracy.",
        place="beyond_accuracy.serendipity",
        formula="share of the first k items that the user likes and that are not among the k most popular items",
        source=GE_2010,
        doi="10.1145/1864708.1864761",
        parameters=(
            Parameter("rel", "float", 1, "a user likes an item if its label is at least this; above 0", above=0),
        ),
        peers=(
            ("RecTools", "Serendipity: by how much the rank of a liked item is above that by popularity"),
            ("recommenders", "user_serendipity: liked items by their distance from the user's history"),
        ),
        needs=("liked", "popularity"),
    ),
    _of_items(
        name="coverage",
        title="catalogue coverage",
        use="The share of the catalogue that anybody is recommended; to see how much of it stays unseen.",
        place="beyond_accuracy.coverage",
        formula="share of the catalogue's items that are among the first k of a user",
        undefined="the catalogue is empty",
        source=GE_2010,
        doi="10.1145/1864708.1864761",
        aliases=("catalogue_coverage", "catalog_coverage", "item_coverage"),
        peers=(("RecTools", "CatalogCoverage"), ("RecBole", "ItemCoverage"), ("RePlay", "Coverage")),
        needs=("catalogue",),
        has_one_value=True,
    ),
    _of_items(
        name="gini",
        title="Gini index of how often items are recommended",
        use="How unequally recommendations fall on the items; for fairness towards what is offered.",
        place="beyond_accuracy.gini",
        formula="sum over the n items of the catalogue, the least recommended first, of (2i − n − 1) · c(i), over "
        "n · sum of c(i); c(i) users have item i among their first k",
        range="0 (all alike) to 1 − 1/n",
        source="D. Fleder and K. Hosanagar, Blockbuster culture's next rise or fall, Management Science 2009",
        doi="10.1287/mnsc.1080.0974",
        aliases=("gini_index",),
        peers=(("RecBole", "GiniIndex"), ("LensKit", "ListGini")),
        higher_is_better=False,
        needs=("catalogue",),
        has_one_value=True,
    ),
    _of_items(
        name="entropy",
        title="Shannon entropy of recommended items",
        use="How evenly recommendations spread over the items, in bits; like the Gini index, but moved by many items "
        "more than by a few.",
        place="beyond_accuracy.entropy",
        formula="−sum over items of s · log2(s); s is the item's share of all recommendations in the first k ranks",
        range="0 to log2 of the number of items",
        source="C. E. Shannon, A mathematical theory of communication, Bell System Technical Journal 1948",
        doi="10.1002/j.1538-7305.1948.tb01338.x",
        aliases=("shannon_entropy", "distributional_coverage"),
        peers=(
            ("recommenders", "distributional_coverage"),
            ("RecBole", "ShannonEntropy: in nats, over the number of different items"),
        ),
        has_one_value=True,
    ),
    _of_items(
        name="personalisation",
        title="personalisation, inter-user diversity",
        use="How different the lists of two users are; to see whether everybody gets the same.",
        place="beyond_accuracy.personalisation",
        formula="mean over pairs of users of 1 − the number of items that both have among their first k, over the "
        "length of the longer of both lists; users without items are left out",
        undefined="fewer than two users have items",
        source=ZHOU_2010,
        doi="10.1073/pnas.1000488107",
        aliases=("personalization", "inter_user_diversity", "inter_list_diversity"),
        has_one_value=True,
    ),
)


class Facts(NamedTuple):
    """Data of all items, by their ids, and of one user."""

    popularity: list[float]
    n_users: int
    vectors: list[list[float]]
    categories: list[set[int]]
    liked: dict[int, float]


def mean(values: list[float]) -> float:
    """Return the mean, or NaN without values."""
    return math.fsum(values) / len(values) if values else math.nan


def popularity(items: list[int], facts: Facts, metric: Any) -> float:
    """Return the mean number of users who interacted with an item."""
    return mean([facts.popularity[item] for item in items])


def novelty(items: list[int], facts: Facts, metric: Any) -> float:
    """Return the mean self-information of an interaction with an item, in bits."""
    total = facts.n_users if metric.get("share_of") == "users" else math.fsum(facts.popularity)
    return mean([-math.log2(facts.popularity[item] / total) for item in items])


def tail(items: list[int], facts: Facts, metric: Any) -> float:
    """Return the mean probability that an item is in the long tail, over the orders of equally popular items."""
    falling = sorted(facts.popularity, reverse=True)
    if metric.get("items") is not None:
        n_head = len(falling) - math.floor(Fraction(str(metric.get("items"))) * len(falling))
    else:
        limit = Fraction(str(metric.get("head"))) * sum(map(Fraction, falling))
        sums = itertools.accumulate(map(Fraction, falling), initial=Fraction(0))
        n_head = next(n for n, total in enumerate(sums) if total >= limit)
    return mean([1 - chance_in_front(item, n_head, facts) for item in items])


def chance_in_front(item: int, n: int, facts: Facts) -> float:
    """Return the share of an item's possible ranks by popularity that are among the first n."""
    above = sum(other > facts.popularity[item] for other in facts.popularity)
    ranks = range(above, above + facts.popularity.count(facts.popularity[item]))
    return sum(rank < n for rank in ranks) / len(ranks)


def serendipity(items: list[int], facts: Facts, metric: Any) -> float:
    """Return the share of items that the user likes and that are not among the most popular items."""
    liked = [item for item in items if facts.liked.get(item, 0) >= metric.get("rel")]
    total = math.fsum(1 - chance_in_front(item, len(items), facts) for item in liked)
    return total / len(items) if items else math.nan


def cosine_diversity(items: list[int], facts: Facts, metric: Any) -> float:
    """Return the mean of 1 − cosine over all pairs of items."""
    return mean([1 - cosine(facts.vectors[x], facts.vectors[y]) for x, y in itertools.combinations(items, 2)])


def cosine(x: list[float], y: list[float]) -> float:
    """Return the cosine of two vectors."""
    return math.fsum(a * b for a, b in zip(x, y, strict=True)) / math.hypot(*x) / math.hypot(*y)


def jaccard_diversity(items: list[int], facts: Facts, metric: Any) -> float:
    """Return the mean over all pairs of items of 1 − the share of common categories."""
    pairs = [(facts.categories[x], facts.categories[y]) for x, y in itertools.combinations(items, 2)]
    return mean([len(x ^ y) / len(x | y) if x | y else 0.0 for x, y in pairs])


def hamming_diversity(items: list[int], facts: Facts, metric: Any) -> float:
    """Return the mean over all pairs of items of the number of categories that only one of them has."""
    pairs = itertools.combinations(items, 2)
    return mean([len(facts.categories[x] ^ facts.categories[y]) for x, y in pairs])


def counts(lists: list[list[int]], n_items: int) -> list[int]:
    """Return the number of users of each item."""
    return [sum(item in items for items in lists) for item in range(n_items)]


def coverage(lists: list[list[int]], n_items: int) -> float:
    """Return the share of the items that at least one user has."""
    return sum(count > 0 for count in counts(lists, n_items)) / n_items


def gini(lists: list[list[int]], n_items: int) -> float:
    """Return half the mean difference of two items' counts, divided by the mean count."""
    n_users = counts(lists, n_items)
    differences = sum(abs(x - y) for x in n_users for y in n_users)
    return differences / (2 * n_items * sum(n_users)) if any(n_users) else math.nan


def entropy(lists: list[list[int]], n_items: int) -> float:
    """Return the entropy of the items' shares, in bits."""
    n_users = [count for count in counts(lists, n_items) if count]
    shares = [count / sum(n_users) for count in n_users]
    return math.fsum(-share * math.log2(share) for share in shares) if n_users else math.nan


def personalisation(lists: list[list[int]], n_items: int) -> float:
    """Return the mean distance of all pairs of lists."""
    pairs = list(itertools.combinations([set(items) for items in lists if items], 2))
    return math.fsum(1 - len(x & y) / max(len(x), len(y)) for x, y in pairs) / len(pairs) if pairs else math.nan

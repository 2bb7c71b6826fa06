"""What recommended items are like beyond accuracy: popular, novel, diverse, serendipitous, spread."""

from __future__ import annotations

from typing import Any

from fastndcg.beyond.results import BeyondAccuracy
from fastndcg.inputs.recommended import known_of, names_of_users
from fastndcg.metric import Metrics, parse_metrics
from fastndcg.threads import checked_threads


def beyond_accuracy(
    recommended: Any,
    metrics: Metrics | None = None,
    *,
    catalogue: int | None = None,
    interactions: Any = None,
    popularity: Any = None,
    n_users: int | None = None,
    vectors: Any = None,
    categories: Any = None,
    liked: Any = None,
    user_ids: Any = None,
    threads: int | None = None,
) -> BeyondAccuracy:
    """
    Evaluate recommended items by what else matters than whether users like them.

    Parameters
    ----------
    recommended : (n_users, k) int array, ragged column or Recommendations
        Item ids from 0, in rank order, one row a user; rows of an array may be padded with -1, or masked.
    metrics : str, Metric, or iterable of them
        Such as "coverage@10, novelty@10"; `fastndcg metrics` lists them.
    catalogue : int, optional
        How many items there are. By default as many as `popularity`, `interactions`, `vectors` and `categories` have.
    interactions : scipy.sparse matrix or Interactions, optional
        Users by items, such as those that a model was trained on: how popular items are, and how many users there are.
    popularity : (n_items,) array, optional
        With how many users an item has interacted, in place of `interactions`.
    n_users : int, optional
        How many users there are, beside `popularity`: novelty needs it.
    vectors : (n_items, n_dimensions) array, optional
        For the diversity of lists by cosine.
    categories : (n_items, n_categories) array or sparse matrix of 0 and 1, or ragged column, optional
        Which categories items have, or lists of their numbers: for ``ILD(distance=jaccard)`` and ``hamming``.
    liked : scipy.sparse matrix or Interactions, optional
        What users like, with labels, one row a user: for serendipity.
    user_ids : (n_users,) array, optional
        Names of the users. By default their numbers from 0.
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    BeyondAccuracy
        `Results` with one value a user and metric, or one value for all users (coverage, gini, entropy,
        personalisation).

    Raises
    ------
    InvalidInputError
        If something that a metric needs is missing, an item is not known, or stands twice in a list.

    Examples
    --------
    >>> recommended = [[0, 1], [0, 2], [2, 1]]
    >>> fn.beyond_accuracy(recommended, "coverage, personalisation, novelty@1", popularity=[4, 2, 1, 1], n_users=4)
    metric             mean  users  undefined
    coverage         0.7500    all
    personalisation  0.5000    all
    novelty@1        0.6667      3          0
    all: one value for all users together
    """
    asked = parse_metrics(metrics, "beyond_accuracy")
    n_threads = checked_threads(threads)
    known = known_of(
        recommended, asked, n_threads, catalogue=catalogue, interactions=interactions, popularity=popularity,
        n_users=n_users, vectors=vectors, categories=categories, liked=liked,
    )  # fmt: skip
    names = names_of_users(user_ids, len(known.starts))
    from fastndcg.beyond.spans import evaluate  # brings numba, which `import fastndcg` does not

    values, of_all = evaluate(known, asked, n_threads)
    return BeyondAccuracy(values, asked, names, of_all)

"""One function for each popular metric. Each takes arrays and returns one value per query."""

from __future__ import annotations

from typing import Any

from fastndcg.choices import ConventionName
from fastndcg.evaluation import evaluate_arrays
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array


def ndcg(
    labels: Any, scores: Any = None, offsets: Any = None, *, groups: Any = None, query_ids: Any = None,
    k: int | None = None, gain: Any = None,
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Compute the normalised discounted cumulative gain of every query.

    nDCG@k = DCG@k / IDCG@k. DCG@k is the sum over ranks r = 1 … k of gain(label at rank r) · discount(r).
    IDCG@k is the DCG@k of the ideal ranking.

    Parameters
    ----------
    labels, scores, offsets, groups, query_ids
        See `evaluate`.
    k : int, optional
        Cutoff: the number of ranks that count, 1 or more. By default all ranks.
    gain : {'linear', 'exp2', 'binary'} or sequence of float, optional
        Gain of a label: the label, 2^label − 1, 1 for a relevant document, or a table with the gains of the labels
        0, 1, …. By default the gain of the convention.
    convention, threads
        See `evaluate`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1. NaN for a query without gains, unless the convention sets another value.

    Raises
    ------
    InvalidInputError
        If shapes disagree, offsets decrease, a score is NaN, or a parameter is out of its range.

    References
    ----------
    K. Järvelin and J. Kekäläinen, 2002, doi:10.1145/582415.582418 (section 2.2).

    Examples
    --------
    >>> fn.ndcg([1, 0, 2], [0.9, 0.1, 0.5], [0, 3], k=10).round(5)
    array([0.85972])
    """
    return evaluate_arrays("nDCG", k, convention, threads, labels, scores, (offsets, groups, query_ids), gain=gain)


def dcg(
    labels: Any, scores: Any = None, offsets: Any = None, *, groups: Any = None, query_ids: Any = None,
    k: int | None = None, gain: Any = None,
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Compute the discounted cumulative gain of every query.

    DCG@k is the sum over ranks r = 1 … k of gain(label at rank r) / log2(r + 1).

    Parameters
    ----------
    labels, scores, offsets, groups, query_ids
        See `evaluate`.
    k : int, optional
        Cutoff: the number of ranks that count, 1 or more. By default all ranks.
    gain : {'linear', 'exp2', 'binary'} or sequence of float, optional
        Gain of a label: the label, 2^label − 1, 1 for a relevant document, or a table with the gains of the labels
        0, 1, …. By default the gain of the convention.
    convention, threads
        See `evaluate`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 up. 0 for a query without gains.

    Raises
    ------
    InvalidInputError
        If shapes disagree, offsets decrease, a score is NaN, or a parameter is out of its range.

    References
    ----------
    K. Järvelin and J. Kekäläinen, 2002, doi:10.1145/582415.582418 (section 2.1).

    Examples
    --------
    >>> fn.dcg([1, 0, 2], [0.9, 0.1, 0.5], [0, 3]).round(5)  # 1/log2(2) + 2/log2(3)
    array([2.26186])
    """
    return evaluate_arrays("DCG", k, convention, threads, labels, scores, (offsets, groups, query_ids), gain=gain)


def average_precision(
    labels: Any, scores: Any = None, offsets: Any = None, *, groups: Any = None, query_ids: Any = None,
    k: int | None = None, rel: float = 1,
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Compute the average precision of every query.

    AP@k is the sum of P@r over the ranks r = 1 … k with a relevant document, divided by the number of relevant
    documents. Its mean over queries is MAP.

    Parameters
    ----------
    labels, scores, offsets, groups, query_ids
        See `evaluate`.
    k : int, optional
        Cutoff: the number of ranks that count, 1 or more. By default all ranks.
    rel : float, optional
        Lowest label of a relevant document, above 0. By default 1.
    convention, threads
        See `evaluate`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1. NaN for a query without relevant documents, unless the convention sets another value.

    Raises
    ------
    InvalidInputError
        If shapes disagree, offsets decrease, a score is NaN, or a parameter is out of its range.

    References
    ----------
    C. Buckley and E. M. Voorhees, 2000, doi:10.1145/345508.345543.

    Examples
    --------
    >>> fn.average_precision([1, 0, 1], [0.9, 0.5, 0.1], [0, 3])  # (1/1 + 2/3) / 2
    array([0.83333333])
    """
    return evaluate_arrays("AP", k, convention, threads, labels, scores, (offsets, groups, query_ids), rel=rel)


def reciprocal_rank(
    labels: Any, scores: Any = None, offsets: Any = None, *, groups: Any = None, query_ids: Any = None,
    k: int | None = None, rel: float = 1,
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Compute the reciprocal rank of the first relevant document of every query.

    RR@k is 1 / rank of the first relevant document, or 0 if none of the first k documents is relevant. Its mean over
    queries is MRR.

    Parameters
    ----------
    labels, scores, offsets, groups, query_ids
        See `evaluate`.
    k : int, optional
        Cutoff: the number of ranks that count, 1 or more. By default all ranks.
    rel : float, optional
        Lowest label of a relevant document, above 0. By default 1.
    convention, threads
        See `evaluate`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1.

    Raises
    ------
    InvalidInputError
        If shapes disagree, offsets decrease, a score is NaN, or a parameter is out of its range.

    References
    ----------
    P. B. Kantor and E. M. Voorhees, 2000, doi:10.1023/A:1009902609570.

    Examples
    --------
    >>> fn.reciprocal_rank([0, 1, 1], [0.9, 0.5, 0.1], [0, 3])
    array([0.5])
    """
    return evaluate_arrays("RR", k, convention, threads, labels, scores, (offsets, groups, query_ids), rel=rel)


def precision(
    labels: Any, scores: Any = None, offsets: Any = None, *, groups: Any = None, query_ids: Any = None,
    k: int | None = None, rel: float = 1,
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Compute the precision of every query.

    P@k is the number of relevant documents among the first k, divided by k. Without k, it is divided by the number of
    retrieved documents.

    Parameters
    ----------
    labels, scores, offsets, groups, query_ids
        See `evaluate`.
    k : int, optional
        Cutoff: the number of ranks that count, 1 or more. By default all ranks.
    rel : float, optional
        Lowest label of a relevant document, above 0. By default 1.
    convention, threads
        See `evaluate`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1. Without k, 0 for a query without documents.

    Raises
    ------
    InvalidInputError
        If shapes disagree, offsets decrease, a score is NaN, or a parameter is out of its range.

    References
    ----------
    C. J. van Rijsbergen, Information Retrieval, 2nd edition, 1979, chapter 7.

    Examples
    --------
    >>> fn.precision([1, 0, 1], [0.9, 0.5, 0.1], [0, 3], k=2)
    array([0.5])
    """
    return evaluate_arrays("P", k, convention, threads, labels, scores, (offsets, groups, query_ids), rel=rel)


def recall(
    labels: Any, scores: Any = None, offsets: Any = None, *, groups: Any = None, query_ids: Any = None,
    k: int | None = None, rel: float = 1,
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Compute the recall of every query.

    R@k is the number of relevant documents among the first k, divided by the number of relevant documents.

    Parameters
    ----------
    labels, scores, offsets, groups, query_ids
        See `evaluate`.
    k : int, optional
        Cutoff: the number of ranks that count, 1 or more. By default all ranks.
    rel : float, optional
        Lowest label of a relevant document, above 0. By default 1.
    convention, threads
        See `evaluate`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1. NaN for a query without relevant documents, unless the convention sets another value.

    Raises
    ------
    InvalidInputError
        If shapes disagree, offsets decrease, a score is NaN, or a parameter is out of its range.

    References
    ----------
    C. J. van Rijsbergen, Information Retrieval, 2nd edition, 1979, chapter 7.

    Examples
    --------
    >>> fn.recall([1, 0, 1], [0.9, 0.5, 0.1], [0, 3], k=2)
    array([0.5])
    """
    return evaluate_arrays("R", k, convention, threads, labels, scores, (offsets, groups, query_ids), rel=rel)


def f_score(
    labels: Any, scores: Any = None, offsets: Any = None, *, groups: Any = None, query_ids: Any = None,
    k: int | None = None, beta: float = 1, rel: float = 1,
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Compute the F-score of every query.

    F@k = (1 + beta²) · P@k · R@k / (beta² · P@k + R@k), the weighted harmonic mean of precision and recall.

    Parameters
    ----------
    labels, scores, offsets, groups, query_ids
        See `evaluate`.
    k : int, optional
        Cutoff: the number of ranks that count, 1 or more. By default all ranks.
    beta : float, optional
        Weight of recall relative to precision, above 0. By default 1.
    rel : float, optional
        Lowest label of a relevant document, above 0. By default 1.
    convention, threads
        See `evaluate`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1. NaN for a query without relevant documents, unless the convention sets another value.

    Raises
    ------
    InvalidInputError
        If shapes disagree, offsets decrease, a score is NaN, or a parameter is out of its range.

    References
    ----------
    C. J. van Rijsbergen, Information Retrieval, 2nd edition, 1979, chapter 7.

    Examples
    --------
    >>> fn.f_score([1, 0, 1, 1], [0.9, 0.5, 0.1, 0.7], [0, 4], k=2)  # P = 1, R = 2/3
    array([0.8])
    """
    return evaluate_arrays(
        "F", k, convention, threads, labels, scores, (offsets, groups, query_ids), beta=beta, rel=rel
    )


def success(
    labels: Any, scores: Any = None, offsets: Any = None, *, groups: Any = None, query_ids: Any = None,
    k: int | None = None, rel: float = 1,
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Compute the success, or hit rate, of every query.

    Success@k is 1 if a relevant document is among the first k, else 0.

    Parameters
    ----------
    labels, scores, offsets, groups, query_ids
        See `evaluate`.
    k : int, optional
        Cutoff: the number of ranks that count, 1 or more. By default all ranks.
    rel : float, optional
        Lowest label of a relevant document, above 0. By default 1.
    convention, threads
        See `evaluate`.

    Returns
    -------
    (n_queries,) float64 array
        0 or 1. If the first relevant document is tied across rank k, the probability of 1.

    Raises
    ------
    InvalidInputError
        If shapes disagree, offsets decrease, a score is NaN, or a parameter is out of its range.

    References
    ----------
    N. Craswell and D. Hawking, Overview of the TREC-2004 web track, 2004.

    Examples
    --------
    >>> fn.success([0, 1, 1], [0.9, 0.5, 0.1], [0, 3], k=1)
    array([0.])
    """
    return evaluate_arrays("Success", k, convention, threads, labels, scores, (offsets, groups, query_ids), rel=rel)


def r_precision(
    labels: Any, scores: Any = None, offsets: Any = None, *, groups: Any = None, query_ids: Any = None,
    k: int | None = None, rel: float = 1,
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> Array:  # fmt: skip
    """
    Compute the R-precision of every query.

    Rprec is the precision at rank R, where R is the number of relevant documents. With k, it is the precision at rank
    min(k, R).

    Parameters
    ----------
    labels, scores, offsets, groups, query_ids
        See `evaluate`.
    k : int, optional
        Cutoff: the number of ranks that count, 1 or more. By default all ranks.
    rel : float, optional
        Lowest label of a relevant document, above 0. By default 1.
    convention, threads
        See `evaluate`.

    Returns
    -------
    (n_queries,) float64 array
        From 0 to 1. NaN for a query without relevant documents, unless the convention sets another value.

    Raises
    ------
    InvalidInputError
        If shapes disagree, offsets decrease, a score is NaN, or a parameter is out of its range.

    References
    ----------
    C. Buckley and E. M. Voorhees, Retrieval system evaluation, in: TREC, MIT Press 2005, chapter 3.

    Examples
    --------
    >>> fn.r_precision([1, 0, 1], [0.9, 0.5, 0.1], [0, 3])
    array([0.5])
    """
    return evaluate_arrays("Rprec", k, convention, threads, labels, scores, (offsets, groups, query_ids), rel=rel)

"""
The slow reference implementation of every metric and tie policy, in plain Python.

It shares no code with the kernels, so that tests can compare both. The tie policy 'average' takes the mean over every
order of equal scores. A metric is a function of one order of a query's documents, which stands below
its record in `fastndcg.metrics.families`:

labels      labels in rank order, rank 1 first
judged      all judged labels of the query, retrieved or not
definition  gains, discounts and other choices of the metric under the convention
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fastndcg.choices import Competitors, ConventionName, ResultRows
from fastndcg.errors import Choice, InvalidInputError, UndefinedMetricError
from fastndcg.forms.dispatch import join_all, prepare_truth
from fastndcg.inputs.join import Joined
from fastndcg.inputs.messages import Options
from fastndcg.inputs.table import Qrels, Run
from fastndcg.metrics.families.counts import n_relevant, precision_denominator, recall_denominator
from fastndcg.metrics.families.record import WHATEVER_THE_LABELS, JudgedBySubtopic
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.metrics.resolve import (
    check_combinations,
    find_chance_metric,
    find_place,
    is_micro,
    list_shares,
    refuse_plain,
    refuse_ties,
)
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.parsing import Value
from fastndcg.rankings.rankings import Rankings, check_patterns
from fastndcg.rankings.validation import EXACT_LIMIT, Array
from fastndcg.recommenders.interactions import Interactions, convert_to_interactions
from fastndcg.recommenders.item_selection import ItemLists, ItemSelection
from fastndcg.recommenders.models import Model, ScoreMatrix, read_score_matrix
from fastndcg.reference.definition import (
    Document,
    Query,
    choose_gain,
    has_place,
    is_ranked,
    is_tied,
    list_orders,
    load_twin,
    make_relevance,
    read_definition,
    read_label,
    read_query,
)
from fastndcg.reference.other_functions import agreement as agreement
from fastndcg.reference.other_functions import beyond_accuracy as beyond_accuracy
from fastndcg.reference.other_functions import compare_judges as compare_judges
from fastndcg.reference.other_functions import estimate_with_judge as estimate_with_judge
from fastndcg.reference.other_functions import evaluate_spans as evaluate_spans
from fastndcg.reference.other_functions import index_recall as index_recall
from fastndcg.reference.unjudged import bounds as bounds
from fastndcg.reference.unjudged import judge_next as judge_next
from fastndcg.results.kinds import PairResults, check_pairs
from fastndcg.results.results import Results
from fastndcg.scoring.embeddings import Embeddings


def evaluate(
    truth: Any, predictions: Any = None, metrics: Metrics | None = None, *, offsets: Any = None, groups: Any = None,
    query_ids: Any = None,
    convention: ConventionName | str | Convention = "default", threads: int | None = None,
) -> Results:  # fmt: skip
    """
    Evaluate ranking metrics slowly, in plain Python, to check `fastndcg.evaluate`.

    Parameters
    ----------
    truth, predictions, metrics, offsets, groups, query_ids
        See `evaluate`.
    convention
        See `evaluate`.
    threads : int, optional
        Ignored. `evaluate` has this parameter, too.

    Returns
    -------
    Results
        The same values as those of `evaluate`, up to rounding.

    Raises
    ------
    InvalidInputError, UndefinedMetricError
        In the same cases as `evaluate`. Also if the tied scores of a query have more than 100,000 orders under the tie
        policy 'average', because this function evaluates every order.

    Examples
    --------
    >>> fn.reference.evaluate([2, 1, 0], [0.5, 0.5, 0.1], "DCG, RR(rel=2)", offsets=[0, 3]).mean()
    {'DCG': 2.4463946303571866, 'RR(rel=2)': 0.75}
    """
    metric_list = parse_metrics(metrics)
    base = parse_convention(convention)
    check_combinations(metric_list, base)
    options = Options(offsets, groups, query_ids, other=predictions, is_alone=predictions is None)
    joined, effective = join_system(truth, predictions, base, options)
    rankings, unjudged, n_missing_in_run, n_missing_in_qrels, *_ = joined
    if rankings.patterns is not None:
        check_patterns(rankings.patterns, effective)
    values = np.empty((rankings.n_queries, len(metric_list)))
    weights = np.ones_like(values)
    n_tied = 0
    for by_subtopic, view in ((False, rankings.without_patterns()), (True, rankings)):
        places = [place for place, metric in enumerate(metric_list) if metric.record.by_subtopic == by_subtopic]
        if places:
            selection = tuple(metric_list[place] for place in places)
            values[:, places], weights[:, places], n = compute_columns(view, selection, effective)
            n_tied = max(n_tied, n)
    if unjudged is not None:
        values[unjudged] = math.nan
    apply_undefined_policy(values, metric_list, rankings, effective)
    chances = compute_chances(rankings.without_patterns(), metric_list, effective)
    counts: Any = {"n_tied": n_tied, "n_missing_in_run": n_missing_in_run, "n_missing_in_qrels": n_missing_in_qrels}
    judged = measure_judged(joined, metric_list, effective) if joined.has_unjudged else {}
    return Results(
        values, metric_list, rankings.query_ids, base, value_weights=weights, chance_values=chances, judged=judged,
        **counts,
    )  # fmt: skip


def measure_judged(joined: Joined, metrics: tuple[Metric, ...], convention: Convention) -> dict[str, float]:
    """Return the mean of Judged at each cutoff of the metrics, by name, as `evaluate` has it beside them."""
    shares = list_shares(metrics, convention)
    ties = convention.ties if convention.ties in WHATEVER_THE_LABELS else "average"
    base = convention.replace(unjudged="nonrelevant", ties=ties, no_relevant="defined", undefined="nan")
    if convention.negative_labels != "keep":
        base = base.replace(negative_labels="zero")
    rankings = joined.rankings.without_patterns()
    if not shares or not rankings.n_documents:
        return {}
    values, _, _ = compute_columns(rankings, shares, base)
    if joined.unjudged_queries is not None:
        values[joined.unjudged_queries] = math.nan
    defined = [[value for value in column if not math.isnan(value)] for column in values.T.tolist()]
    return {
        str(share): math.fsum(column) / len(column) for share, column in zip(shares, defined, strict=True) if column
    }


def compute_columns(
    rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention
) -> tuple[Array, Array, int]:  # fmt: skip
    """Return values and weights of metrics of one kind, by label or by subtopic, and the number of tied queries."""
    if metrics[0].record.by_subtopic and rankings.patterns is None:
        refuse_plain(metrics[0])
    check(rankings, metrics, convention)
    queries = [read_query(rankings, q, convention) for q in range(rankings.n_queries)]
    values = np.empty((len(queries), len(metrics)))
    weights = np.ones_like(values)
    for view in {metric.record.view for metric in metrics}:
        places = [place for place, metric in enumerate(metrics) if metric.record.view == view]
        for q in range(rankings.n_queries):
            query = read_query(rankings, q, convention, view)
            orders, judged = select_view(view, rankings, q, list_orders(query, convention.ties), query.judged)
            values[q, places] = [expectation(metrics[i], orders, judged, convention) for i in places]
            weights[q, places] = [weight_in_mean(metrics[i], orders[0], judged, convention) for i in places]
    cutoffs = [read_definition(metric, convention).k for metric in metrics]
    deepest = max(math.inf if k is None else k for k in cutoffs)
    n_tied = sum(is_tied(query.tie_groups, deepest) for query in queries)
    unable = next((metric for metric in metrics if convention.ties not in metric.record.ties), None)
    if n_tied and unable is not None:
        refuse_ties(unable)
    return values, weights, n_tied


def compute_chances(rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention) -> Array | None:
    """Return the values by chance of metrics that are adjusted for it, None without such metrics."""
    chances = [find_chance_metric(metric) for metric in metrics]
    if not any(chances):
        return None
    queries = [read_query(rankings, q, convention) for q in range(rankings.n_queries)]
    return list_chances(queries, chances, convention)


def list_chances(queries: list[Query], chances: list[Metric | None], convention: Convention) -> Array:
    """Return the value of each metric for each query, 1 in place of no metric."""
    values = np.ones((len(queries), len(chances)))
    for q, query in enumerate(queries):
        orders = list_orders(query, "input")
        for column, chance in enumerate(chances):
            if chance is not None:
                values[q, column] = expectation(chance, orders, query.judged, convention)
    return values


def evaluate_pairs(
    truth: Any, predictions: Any = None, metrics: Metrics | None = None, *, rows: ResultRows = "pair",
    competitors: Competitors = "nonrelevant", offsets: Any = None, groups: Any = None, query_ids: Any = None,
    convention: ConventionName | str | Convention = "default",
) -> Results:  # fmt: skip
    """
    Evaluate each relevant document on its own, slowly, in plain Python, to check `fastndcg.evaluate_pairs`.

    Parameters
    ----------
    truth, predictions, metrics, rows, competitors
        See `evaluate_pairs`.
    offsets, groups, query_ids, convention
        See `evaluate`.

    Returns
    -------
    PairResults
        The same values as those of `fastndcg.evaluate_pairs`, up to rounding. `Results` with ``rows="query"``.

    Raises
    ------
    InvalidInputError, UndefinedMetricError
        In the same cases as `fastndcg.evaluate_pairs`.

    Examples
    --------
    >>> fn.reference.evaluate_pairs([1, 0, 1], [0.5, 0.4, 0.3], "rank", offsets=[0, 3])["rank"]
    array([1., 2.])
    """
    metric_list = parse_metrics(metrics)
    base = parse_convention(convention)
    check_combinations(metric_list, base)
    check_pairs(rows, competitors, metric_list, base)
    options = Options(offsets, groups, query_ids, other=predictions, is_alone=predictions is None)
    joined, effective = join_system(truth, predictions, base, options)
    return compute_pairs(joined.rankings.without_patterns(), metric_list, base, effective, rows, competitors)


def explain_change(
    truth: Any, before: Any, after: Any, metric: str | Metric, *, truth_after: Any = None, offsets: Any = None,
    groups: Any = None, query_ids: Any = None, convention: ConventionName | str | Convention = "default",
    convention_after: str | Convention | None = None,
) -> dict[str, Fraction]:  # fmt: skip
    """
    Compute the parts of a change slowly, in plain Python, by all orders in which the four settings can change.

    Parameters
    ----------
    truth, before, after, metric, truth_after, offsets, groups, query_ids, convention, convention_after
        See `fastndcg.explain_change`.

    Returns
    -------
    dict of str to Fraction
        What queries, judgments, convention and ranking add to the difference of the means.

    Examples
    --------
    >>> parts = fn.reference.explain_change([[1, 0], [0, 1]], [[2, 1], [2, 1]], [[2, 1], [1, 2]], "rr")
    >>> {part: float(adds) for part, adds in parts.items()}
    {'queries': 0.0, 'judgments': 0.0, 'convention': 0.0, 'ranking': 0.25}
    """
    truths = truth, truth if truth_after is None else truth_after
    conventions = parse_convention(convention), parse_convention(convention_after or convention)
    lenient = {"undefined": "nan", "undefined_ap": "nan", "missing_in_run": "skip", "missing_in_qrels": "skip"}

    def evaluate_mix(judgments: int, choices: int, ranking: int) -> dict[Any, float]:
        base = conventions[choices]
        if len({judgments, choices, ranking}) > 1:
            raising = {field: choice for field, choice in lenient.items() if getattr(base, field) == "raise"}
            base = base.replace(**raising)
        cuts: Any = {"offsets": offsets, "groups": groups, "query_ids": query_ids}
        results = evaluate(truths[judgments], (before, after)[ranking], metric, convention=base, **cuts)
        values = zip(results.query_ids.tolist(), results.values[:, 0].tolist(), strict=True)
        return {query: value for query, value in values if not math.isnan(value)}

    mixes = {mix: evaluate_mix(*mix) for mix in itertools.product((0, 1), repeat=3)}
    ends = mixes[0, 0, 0], mixes[1, 1, 1]

    def value(queries: int, *mix: int) -> Fraction:
        own = mixes[mix]
        column = []
        for query in ends[queries]:
            sides = [end[query] for end in ends if query in end]
            middle = sum(sides) / len(sides)
            column.append(own.get(query, middle) if len(sides) == 2 else middle)
        return Fraction(math.fsum(column) / len(column))

    parts = dict.fromkeys(("queries", "judgments", "convention", "ranking"), Fraction(0))
    orders = list(itertools.permutations(range(len(parts))))
    for order in orders:
        settings = [0] * len(parts)
        for place in order:
            without = value(*settings)
            settings[place] = 1
            parts[list(parts)[place]] += (value(*settings) - without) / len(orders)
    return parts


def join_system(truth: Any, predictions: Any, base: Convention, options: Options) -> tuple[Joined, Convention]:
    """Return a system's rankings, and the convention with its choices for this kind of truth."""
    prepared = prepare_truth(truth, options)
    effective = base.for_input(qrels=isinstance(prepared, Qrels))
    selection = predictions.selection if isinstance(predictions, Model | ScoreMatrix) else ItemSelection()
    if isinstance(predictions, Model):
        has_ids = predictions.has_ids and isinstance(prepared, Qrels)
        if has_ids and not selection.is_default:
            raise InvalidInputError("`predictions` must rank all items where it has ids. Number users and items")
        predictions = list_run(predictions) if has_ids else list_scores(predictions)
    is_matrix = isinstance(predictions, ScoreMatrix)
    scores = predictions.matrix if is_matrix else read_score_matrix(predictions)
    if scores is None or not isinstance(prepared, Interactions | Qrels):
        return join_all(prepared, predictions, base, options), effective
    liked = convert_to_interactions(prepared, len(scores)) if isinstance(prepared, Qrels) else prepared
    return Joined(list_candidates(liked, scores, selection)), effective


def compute_pairs(
    rankings: Rankings, metrics: tuple[Metric, ...], base: Convention, convention: Convention, rows: str,
    competitors: str,
) -> Results:  # fmt: skip
    """Return the values of each relevant document on its own."""
    check(rankings, metrics, convention)
    pairs = list_pairs(rankings, metrics, convention, competitors)
    numbers = [pair.number for pair in pairs]
    values = np.empty((len(pairs), len(metrics)))
    weights = np.ones_like(values)
    for row, pair in enumerate(pairs):
        orders = list_orders(pair.query, convention.ties)
        values[row] = [expectation(metric, orders, pair.query.judged, convention) for metric in metrics]
        weights[row] = [weight_in_mean(metric, orders[0], pair.query.judged, convention) for metric in metrics]
    chances = list_chances([pair.query for pair in pairs], list(map(find_chance_metric, metrics)), convention)
    deepest = max(read_definition(metric, convention).k or math.inf for metric in metrics)
    tied_numbers = [pair.number for pair in pairs if is_tied(pair.query.tie_groups, deepest)]
    unable = next((metric for metric in metrics if convention.ties not in metric.record.ties), None)
    if tied_numbers and unable is not None:
        refuse_ties(unable)
    query_ids = np.arange(rankings.n_queries) if rankings.query_ids is None else rankings.query_ids
    if rows == "query":
        values, chances = (average_by_query(own, numbers, rankings.n_queries) for own in (values, chances))
        weights = np.ones_like(values)
    apply_undefined_policy(values, metrics, rankings, convention)
    common: Any = {"value_weights": weights, "chance_values": chances}
    if rows == "query":
        return Results(values, metrics, query_ids, base, n_tied=len(set(tied_numbers)), **common)
    ids = list_document_ids(rankings, pairs)
    return PairResults(values, metrics, query_ids[numbers], base, document_ids=ids, n_tied=len(tied_numbers), **common)


def select_view(
    view: str, rankings: Rankings, q: int, orders: list[list[float]], judged: list[float]
) -> tuple[list[list[Any]], list[Any]]:  # fmt: skip
    """Return the ranked and the judged documents: their labels, or their judgments by subtopic."""
    if view != "subtopics" or rankings.patterns is None:
        return orders, judged
    meaning = rankings.patterns.judgments
    pool = JudgedBySubtopic(meaning(label) for label in judged)
    if rankings.patterns.importance is not None:
        weights, offsets = rankings.patterns.importance
        pool.importance = dict(enumerate(weights[offsets[q] : offsets[q + 1]].tolist()))
    return [[meaning(label) for label in order] for order in orders], pool


def expectation(metric: Metric, orders: list[list[Any]], judged: list[Any], convention: Convention) -> float:
    """Return the mean of a metric's values over all orders."""
    function = load_twin(find_place(metric, convention))
    definition = read_definition(metric, convention)
    if is_skipped(metric, convention) and not n_relevant([], judged, definition):
        return math.nan
    return math.fsum(function(order, judged, definition) / len(orders) for order in orders)


def is_skipped(metric: Metric, convention: Convention) -> bool:
    """Return True if the convention skips queries without relevant documents, against the metric's definition."""
    if metric.record.by_subtopic:
        return False
    if convention.no_relevant == "undefined":
        return metric.record.is_zero_without_relevant
    return convention.no_relevant == "skipped"


def weight_in_mean(metric: Metric, labels: list[float], judged: list[float], convention: Convention) -> float:
    """Return the weight of a query in the mean: 1, the metric's `weight`, or the denominator of a micro mean."""
    definition = read_definition(metric, convention)
    if metric.get("weight") in ("positives", "impressions"):
        return n_relevant([], judged, definition) if metric.get("weight") == "positives" else len(labels)
    if not is_micro(metric, convention):
        return 1
    denominators = {"precision_denominator": precision_denominator, "recall_denominator": recall_denominator}
    return denominators.get(metric.record.denominator, n_relevant)(labels, judged, definition)


def check(rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention) -> None:
    """Raise an error for labels and scores without a meaning under the convention."""
    if TIES[convention.ties].orders == "id" and rankings.tie_keys is None and rankings.n_documents:
        raise InvalidInputError(f"`tie_keys` are needed for ties='{convention.ties}'. Pass Rankings(tie_keys=…)")
    ranked = np.array([is_ranked(rankings, d, convention) for d in range(rankings.n_documents)], bool)
    nan = np.isnan(rankings.scores) & ranked
    if convention.nan_scores == "raise" and nan.any():
        rankings.refuse("scores", nan, "not be NaN: Take ", Choice("nan_scores", ["last"]))
    with_gains = [m for m in metrics if any(parameter.name == "gain" for parameter in m.record.parameters)]
    gains = {choose_gain(metric, convention) for metric in with_gains}
    has_pool = rankings.pool is not None and convention.pool == "judged"
    pool = [("pool", rankings.pool[0], np.True_)] if rankings.pool is not None and has_pool else []
    stops = [metric for metric in metrics if metric.get("stop") is not None]
    highest = min((1 if m.get("stop") == "labels" else m.get("max_grade") for m in stops), default=math.inf)
    for name, labels, is_counted in [("labels", rankings.labels, ranked), *pool]:
        is_valid = [label <= highest and has_meaning(float(label), gains, convention) for label in labels]
        is_unknown = ~np.array(is_valid, bool) & is_counted
        if is_unknown.any():
            rankings.refuse(name, is_unknown, "have a meaning under the convention: See fastndcg.evaluate")


def has_meaning(label: float, gains: set[Value], convention: Convention) -> bool:
    """Return True if every gain is defined for a label."""
    if not has_place(label, convention):
        return True
    if not abs(label) <= EXACT_LIMIT or (label < 0 and convention.negative_labels == "raise"):
        return False
    label = read_label(label, convention)
    if convention.label_fractions == "cut off":
        label = math.trunc(label)
    in_tables = all(label in range(len(table)) for table in gains if isinstance(table, tuple))
    return in_tables and ("exp2" not in gains or label <= 1023)


def apply_undefined_policy(
    values: Array, metrics: tuple[Metric, ...], rankings: Rankings, convention: Convention
) -> None:
    """Replace undefined values by the value of the convention, or raise an error if it says so."""
    for metric, column in zip(metrics, values.T, strict=True):
        choice = getattr(convention, metric.record.undefined_choice)
        choice = convention.undefined if choice == "as undefined" else choice
        undefined = np.isnan(column)
        if choice == "raise" and undefined.any():
            raise UndefinedMetricError(
                f"{metric} must have a value, but {rankings.query_name(undefined.argmax())} has none"
            )
        if isinstance(choice, int):
            column[undefined] = choice


class Pair(NamedTuple):
    """A query that has one relevant document, and its place in the rankings, None if it was not retrieved."""

    number: int
    query: Query
    place: int | None


def list_pairs(
    rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention, competitors: str
) -> list[Pair]:  # fmt: skip
    """Return the pairs of all queries: retrieved documents in the order of the input, then the others."""
    leveled = next((metric for metric in metrics if metric.get("rel") is not None), Metric("RR"))
    is_relevant = make_relevance(leveled, convention)
    pairs = []
    for number in range(rankings.n_queries):
        query = read_query(rankings, number, convention)
        documents = [document for group in query.tie_groups for document in group]
        rest = [label for label in query.judged if is_relevant(label)]
        retrieved = sorted((d for d in documents if is_relevant(d.label)), key=lambda document: document.place)
        for document in retrieved:
            rest.remove(document.label)
            groups = select_competitors(query, document, is_relevant, competitors)
            pairs.append(Pair(number, Query(query.name, groups, [document.label]), document.place))
        for label in rest:
            groups = select_competitors(query, None, is_relevant, competitors)
            pairs.append(Pair(number, Query(query.name, groups, [label]), None))
    return pairs


def select_competitors(
    query: Query, relevant: Document | None, is_relevant: Callable[[float], bool], competitors: str
) -> list[list[Document]]:  # fmt: skip
    """Return tie groups with one relevant document. Others are left out, or have the label 0."""
    groups = []
    for group in query.tie_groups:
        selected = []
        for document in group:
            if relevant is not None and document.place == relevant.place:
                selected.append(document)
            elif competitors == "all" or not is_relevant(document.label):
                selected.append(document._replace(label=0.0))
        if selected:
            groups.append(selected)
    return groups


def average_by_query(values: Array, numbers: list[int], n_queries: int) -> Array:
    """Return the means of queries over their pairs that have a value."""
    means = np.full((n_queries, values.shape[1]), math.nan)
    for query in range(n_queries):
        for column in range(values.shape[1]):
            own = [values[row, column] for row, number in enumerate(numbers) if number == query]
            some = [value for value in own if not math.isnan(value)]
            if some:
                means[query, column] = math.fsum(some) / len(some)
    return means


def list_document_ids(rankings: Rankings, pairs: list[Pair]) -> Array:
    """Return the names of the documents, -1 for a document that was not retrieved."""
    places = np.array([-1 if pair.place is None else pair.place for pair in pairs], int)
    retrieved = rankings.take_document_ids("labels", places[places >= 0])
    ids = np.full(len(pairs), -1, retrieved.dtype)
    ids[places >= 0] = retrieved
    return ids


def list_candidates(liked: Interactions, scores: Array, selection: ItemSelection) -> Rankings:
    """Return rankings of the candidates of each user, in the order of their numbers."""
    n_users, n_items = scores.shape
    exclude, candidates = selection.read_lists((n_users, n_items), None)
    columns: dict[str, list[Any]] = {name: [] for name in ("labels", "scores", "judged", "tie_keys", "pool")}
    offsets = [0]
    pool_offsets = [0]
    for user in range(n_users):
        start, stop = liked.offsets[user : user + 2].tolist()
        own_items = liked.items[start:stop].tolist()
        own_labels = dict(zip(own_items, liked.labels[start:stop].tolist(), strict=True))
        excluded_items = set() if exclude is None else set(list_items(exclude, user))
        items = range(n_items) if candidates is None else list_items(candidates, user)
        items = [item for item in items if item not in excluded_items]
        missing = own_labels.keys() - set(items)
        if missing and selection.missing_truth == "raise":
            raise InvalidInputError(
                f"items of `truth` must be candidates, but {min(missing)} of user {user} is not one"
            )
        for item in items:
            columns["labels"].append(own_labels.get(item, 0))
            columns["scores"].append(scores[user, item])
            columns["judged"].append(item in own_labels)
            columns["tie_keys"].append(item)
        is_counted = selection.missing_truth == "unretrieved"
        columns["pool"] += [label for item, label in own_labels.items() if is_counted or item not in missing]
        offsets.append(len(columns["labels"]))
        pool_offsets.append(len(columns["pool"]))
    arrays = {name: np.array(values) for name, values in columns.items()}
    return Rankings(
        arrays["labels"].astype("f8"), arrays["scores"].astype("f8"), offsets, judged=arrays["judged"].astype(bool),
        tie_keys=arrays["tie_keys"].astype("i8"), pool=(arrays["pool"].astype("f8"), pool_offsets),
    )  # fmt: skip


def list_items(lists: ItemLists, user: int) -> list[int]:
    """Return the items of a user."""
    place = user * lists.step
    return lists.items[lists.offsets[place] : lists.offsets[place + 1]].tolist()  # type: ignore[no-any-return]


def list_scores(model: Model) -> Array:
    """Return the scores of all users for all items, exact before they are rounded. A query left out is not marked."""
    if not isinstance(model, Embeddings):
        return np.concatenate([model.score_rows(np.array([user])) for user in range(model.n_users)])
    factors = model.factors
    users, items = (list_numbers(vectors, factors.similarity) for vectors in (factors.users, factors.items))
    biases = [0.0] * len(items) if factors.item_biases is None else factors.item_biases.tolist()
    scores = [
        [compute_score(user, item, factors.similarity) + bias for item, bias in zip(items, biases, strict=True)]
        for user in users
    ]
    return np.array(scores, "f8").reshape(len(users), len(items)).astype(model.score_dtype)


def list_numbers(vectors: Any, similarity: str) -> list[list[float]]:
    """Return vectors as numbers. Packed bits are 0 and 1."""
    array = vectors.detach().cpu() if hasattr(vectors, "detach") else vectors
    if similarity == "hamming":
        array = np.unpackbits(np.asarray(array), axis=1)
    values = array.double().numpy() if hasattr(array, "double") else array.astype("f8")
    return list(values.tolist())


def compute_score(user: list[float], item: list[float], similarity: str) -> float:
    """Return the similarity of two vectors."""
    if similarity == "euclidean":
        return -math.dist(user, item)
    if similarity == "hamming":
        return -float(sum(a != b for a, b in zip(user, item, strict=True)))
    product = math.fsum(a * b for a, b in zip(user, item, strict=True))
    return product if similarity == "dot" else product / (math.hypot(*user) * math.hypot(*item))


def list_run(model: Model) -> Run:
    """Return the scores of all users and items as a run with ids."""
    scores = list_scores(model)
    queries, documents = (
        np.arange(n) if ids is None else ids.names()
        for ids, n in ((model.query_ids, model.n_users), (model.document_ids, model.n_items))
    )
    return Run(np.repeat(queries, model.n_items), np.tile(documents, model.n_users), scores.reshape(-1))

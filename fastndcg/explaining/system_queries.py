"""The documents of many queries of a system, with ranks, labels and contributions, read from one join."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from fastndcg.explaining.contributions import compute_base_value, compute_contributions, count_documents_read
from fastndcg.explaining.query_case import JoinedSystem, QueryCase, select_case
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import add_default_cutoff
from fastndcg.named_conventions.ties import TIES
from fastndcg.reference.tie_orders import order_by_policy

TOLERANCE = 1e-6  # relative; sums of contributions have rounding errors of about 1e-12


class PlacedDocument(NamedTuple):
    """
    A document in a query's ranking, with its first and last possible rank.

    An unjudged document has no label (None). A contribution that takes too long to compute is missing (None).
    """

    name: str
    first: int
    last: int
    label: float | None
    contribution: float | None

    @property
    def rank(self) -> str:
        """The rank as text, or the first and the last possible rank."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


class QueryRanking:
    """
    A query's documents in rank order, with their contributions to one metric.

    Attributes
    ----------
    case : QueryCase
        The query under the convention.
    contributions : dict of float or None
        The contribution of each place. None if it takes too long to compute.
    """

    def __init__(self, case: QueryCase, names: _Names, contributions: dict[int, float] | None) -> None:
        self.case = case
        self.contributions = contributions
        self._names = names

    def __len__(self) -> int:
        return len(self._names.order)

    def has_document(self, name: str) -> bool:
        """Return True if the system retrieved a document."""
        return name in self._names.places

    def place_document(self, name: str) -> PlacedDocument | None:
        """Return a document with its rank, label and contribution. None if the system did not retrieve it."""
        place = self._names.places.get(name)
        if place is None or place not in self._names.ranks:
            return None
        rankings = self.case.rankings
        is_judged = rankings.judged is None or bool(rankings.judged[place])
        return PlacedDocument(
            name,
            *self._names.ranks[place],
            label=float(rankings.labels[place]) if is_judged else None,
            contribution=None if self.contributions is None else self.contributions[place],
        )

    def list_first(self, n_ranks: int) -> list[str]:
        """Return the names of the first documents."""
        return [self._names.names[place] for place in self._names.order[:n_ranks]]

    def list_adding(self) -> list[str]:
        """Return the names of documents that add to the value, or of all relevant ones if that is unknown."""
        if self.contributions is None:
            labels = self.case.rankings.labels
            return [self._names.names[place] for place in self._names.order if labels[place] > 0]
        return [self._names.names[place] for place, contribution in self.contributions.items() if contribution]


class _Names(NamedTuple):
    """The names of a query's documents by place, the places by name, the places in rank order, and their ranks."""

    names: list[str]
    places: dict[str, int]
    order: list[int]
    ranks: dict[int, tuple[int, int]]


class SystemQueries:
    """The queries of one system. The last query is kept, so that its metrics read it once."""

    def __init__(self, system: JoinedSystem) -> None:
        self._system = system
        rankings = system.rankings
        ids = range(rankings.n_queries) if rankings.query_ids is None else rankings.query_ids.tolist()
        self._places = {query: place for place, query in enumerate(ids)}
        self._last_query: Any = None
        self._cases: dict[str, tuple[QueryCase, _Names]] = {}

    def has_query(self, query: Any) -> bool:
        """Return True if the system or the truth has this query."""
        return query in self._places

    def rank_query(self, query: Any, metric: Metric, max_work: int) -> tuple[QueryRanking, int]:
        """
        Return the ranking of a query, and the number of documents that its contributions read.

        Contributions that would read more than `max_work` documents are left out.
        """
        if query != self._last_query:
            self._cases.clear()
            self._last_query = query
        view = metric.record.view
        if view not in self._cases:
            case = select_case(self._system, metric, self._places[query])
            self._cases[view] = case, _read_names(case, self._system.rankings.list_document_names(self._places[query]))
        case, names = self._cases[view]
        (with_cutoff,) = add_default_cutoff((metric.bare,), case.applied)
        case = case._replace(metric=with_cutoff)
        n_read = count_documents_read(case)
        if not names.order:
            return QueryRanking(case, names, {}), 0
        if n_read > max_work:
            return QueryRanking(case, names, None), 0
        return QueryRanking(case, names, compute_contributions(case)), n_read


def _read_names(case: QueryCase, names: list[str]) -> _Names:
    """Return the documents of a query in rank order, with the first and the last rank of each."""
    order: list[int] = []
    ranks: dict[int, tuple[int, int]] = {}
    policy = case.applied.ties
    for group in case.query.tie_groups:
        n_above = len(order)
        for rank, document in enumerate(order_by_policy(group, policy), n_above + 1):
            order.append(document.place)
            ranks[document.place] = (
                (n_above + 1, n_above + len(group)) if TIES[policy].orders == "group" else (rank, rank)
            )
    return _Names(names, {name: place for place, name in enumerate(names)}, order, ranks)


class DocumentPair(NamedTuple):
    """A document with its place in the rankings of two systems, None where a system did not retrieve it."""

    name: str
    label: float | None
    own: PlacedDocument | None
    base: PlacedDocument | None

    @property
    def contributions(self) -> tuple[float, float]:
        """The contributions of both systems, 0 if unknown."""
        own, base = ((side.contribution or 0.0) if side else 0.0 for side in (self.own, self.base))
        return own, base

    @property
    def first_rank(self) -> int:
        """The better one of both ranks."""
        return min(side.first for side in (self.own, self.base) if side)


class PairedDocuments(NamedTuple):
    """The documents of a query that matter in two rankings, and the number of the others."""

    pairs: list[DocumentPair]
    n_hidden: int


def pair_documents(own: QueryRanking, base: QueryRanking, n_ranks: int, n_rows: int) -> PairedDocuments:
    """
    Return the documents of two rankings that matter, at most `n_rows`, in the order of the better rank.

    A document matters if it adds to a value or is within the first `n_ranks` ranks. If there are too many, those come
    first whose contributions differ most.
    """
    sides = own, base
    names = dict.fromkeys(name for side in sides for name in (*side.list_first(n_ranks), *side.list_adding()))
    pairs = []
    for name in names:
        places = own.place_document(name), base.place_document(name)
        label = next(place.label for place in places if place)
        pairs.append(DocumentPair(name, label, *places))
    pairs.sort(key=lambda pair: (-abs(pair.contributions[0] - pair.contributions[1]), pair.first_rank))
    n_both = sum(base.has_document(name) for name in own.list_first(len(own)))
    n_documents = len(own) + len(base) - n_both
    rows = sorted(pairs[:n_rows], key=lambda pair: pair.first_rank)
    return PairedDocuments(rows, n_documents - len(rows))


def has_value(ranking: QueryRanking, value: float) -> bool:
    """Return True if the contributions add up to a value, or if it is undefined and cannot be checked."""
    if math.isnan(value) or ranking.contributions is None:
        return True
    contributions = ranking.contributions.values()
    base = compute_base_value(ranking.case) if len(ranking) else 0.0
    if not base and not any(contributions):
        return value in (0.0, 1.0)  # 1: a convention's value of undefined metrics
    return math.isclose(math.fsum([base, *contributions]), value, rel_tol=TOLERANCE, abs_tol=TOLERANCE)

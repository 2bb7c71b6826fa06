"""The documents behind the listed queries: ranks, labels and contributions of a system and of the baseline."""

from __future__ import annotations

import contextlib
import math
from typing import Any, NamedTuple

from fastndcg.errors import FastndcgError
from fastndcg.explaining.contributions import (
    JoinedSystem,
    QueryCase,
    compute_contributions,
    count_documents_read,
    join_system,
    select_case,
)
from fastndcg.forms.dispatch import TruthInput, prepare_truth
from fastndcg.inputs.table import Run
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import add_default_cutoff
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.rankings.rankings import Rankings
from fastndcg.recommenders.models import Model
from fastndcg.reference.definition import order_by_policy
from fastndcg.reports.queries import MetricValues
from fastndcg.results.results import Results
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics.comparison import ComparedInputs, Comparison

N_RANKS = 3  # the first ranks of both systems, which are listed even if they add nothing
N_ROWS = 8  # documents of a query
MAX_TABLES = 2000  # of queries with documents: some 800 kB
MAX_DOCUMENTS_READ = 200_000_000  # by the contributions of a page: some 10 seconds
MAX_SCORES = 20_000_000  # of all queries of a model: reading its rankings again takes some 500 MB
MAX_OF_QUERY = 10_000_000  # documents read by the contributions of one query
NO_RANK = "–"
NO_DOCUMENTS = "The documents of queries are listed by to_html(documents=True), and by fastndcg compare --documents"


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


Pair = tuple[str, PlacedDocument | None, PlacedDocument | None]  # with the places of both systems, if they have it


class QueryRanking(NamedTuple):
    """
    A query's documents in rank order, with their contributions to one metric.

    Attributes
    ----------
    case : QueryCase
        The query under the convention.
    names : list of str
        The name of the document at each place.
    ranks : {int: (int, int)}
        The first and the last rank of each place, in rank order.
    places : {str: int}
        The place of each name.
    contributions : dict of float or None
        The contribution of each place. None if it takes too long to compute.
    """

    case: QueryCase
    names: list[str]
    ranks: dict[int, tuple[int, int]]
    places: dict[str, int]
    contributions: dict[int, float] | None = None

    def place_document(self, name: str) -> PlacedDocument | None:
        """Return a document with its rank, label and contribution. None if the system did not retrieve it."""
        place = self.places.get(name)
        if place is None or place not in self.ranks:
            return None
        rankings = self.case.rankings
        is_judged = rankings.judged is None or bool(rankings.judged[place])
        return PlacedDocument(
            name,
            *self.ranks[place],
            label=float(rankings.labels[place]) if is_judged else None,
            contribution=None if self.contributions is None else self.contributions[place],
        )

    def list_names(self) -> list[str]:
        """Return the names in rank order."""
        return [self.names[place] for place in self.ranks]

    def list_adding(self) -> list[str]:
        """Return the names of documents that add to the value, or of all relevant ones if that is unknown."""
        if self.contributions is None:
            labels = self.case.rankings.labels
            return [self.names[place] for place in self.ranks if labels[place] > 0]
        return [self.names[place] for place, contribution in self.contributions.items() if contribution]


class SystemQueries:
    """The queries of one system. The last query is kept, so that its metrics read it once."""

    def __init__(self, system: JoinedSystem) -> None:
        self._system = system
        rankings = system.rankings
        ids = range(rankings.n_queries) if rankings.query_ids is None else rankings.query_ids.tolist()
        self._places = {query: place for place, query in enumerate(ids)}
        self._last_query: Any = None
        self._rankings: dict[str, QueryRanking] = {}

    def has_query(self, query: Any) -> bool:
        """Return True if the system or the truth has this query."""
        return query in self._places

    def rank_query(self, query: Any, metric: Metric, max_work: int) -> tuple[QueryRanking, int]:
        """
        Return the ranking of a query, and the number of documents that its contributions read.

        Contributions that would read more than `max_work` documents are left out.
        """
        if query != self._last_query:
            self._rankings.clear()
            self._last_query = query
        view = metric.record.view
        if view not in self._rankings:
            case = select_case(self._system, metric, self._places[query])
            names = self._system.rankings.list_document_names(self._places[query])
            self._rankings[view] = _make_ranking(case, names)
        ranking = self._rankings[view]
        (with_cutoff,) = add_default_cutoff((metric.bare,), ranking.case.applied)
        ranking = ranking._replace(case=ranking.case._replace(metric=with_cutoff))
        n_read = count_documents_read(ranking.case) if ranking.ranks else 0
        if n_read > max_work:
            return ranking, 0
        contributions = compute_contributions(ranking.case) if ranking.ranks else {}
        return ranking._replace(contributions=contributions), n_read


def _make_ranking(case: QueryCase, names: list[str]) -> QueryRanking:
    """Return the documents of a query in rank order, with the first and the last rank of each."""
    ranks: dict[int, tuple[int, int]] = {}
    policy = case.applied.ties
    for group in case.query.tie_groups:
        first, last = len(ranks) + 1, len(ranks) + len(group)
        for rank, document in enumerate(order_by_policy(group, policy), first):
            ranks[document.place] = (first, last) if TIES[policy].orders == "group" else (rank, rank)
    return QueryRanking(case, names, ranks, {name: place for place, name in enumerate(names)})


def pair_documents(own: QueryRanking, base: QueryRanking) -> tuple[list[Pair], int]:
    """
    Return the documents of two rankings that matter, in the order of the better rank, and the number of the others.

    A document matters if it adds to a value or is within the first ranks. If there are too many, those come first whose
    contributions differ most.
    """
    sides = own, base
    names = dict.fromkeys(name for side in sides for name in (*side.list_names()[:N_RANKS], *side.list_adding()))
    pairs = [(name, own.place_document(name), base.place_document(name)) for name in names]

    def find_rank(pair: Pair) -> int:
        return min(side.first for side in pair[1:] if side)

    def measure(pair: Pair) -> tuple[float, int]:
        adds = [(side.contribution or 0.0) if side else 0.0 for side in pair[1:]]
        return -abs(adds[0] - adds[1]), find_rank(pair)

    n_both = sum(name in base.places for name in own.list_names())
    rows = sorted(sorted(pairs, key=measure)[:N_ROWS], key=find_rank)
    return rows, len(own.ranks) + len(base.ranks) - n_both - len(rows)


class DocumentRow(NamedTuple):
    """A document as texts."""

    name: str
    label: str
    own_rank: str
    base_rank: str
    own_adds: str
    base_adds: str
    shares: str = ""  # what each run gives to the document, of a system that `fuse` made


class DocumentTable(NamedTuple):
    """The documents of a query that matter, and the number of other documents in the two rankings."""

    rows: list[DocumentRow]
    n_hidden: int


Tables = dict[tuple[int, int, int], DocumentTable]  # by metric, system and query


def collect_documents(comparison: Comparison, metrics: list[MetricValues]) -> tuple[Tables, list[str]]:
    """Return the documents behind the listed queries of every metric and system, and notes on what is left out."""
    inputs = comparison.inputs
    if inputs is None or inputs.truth is None:
        return {}, ["Documents of queries are listed if compare gets a truth and predictions with ids"]
    try:
        prepared = prepare_truth(inputs.truth, inputs.options)
    except (FastndcgError, OSError) as error:
        return {}, [f"Documents of queries are left out, since the truth cannot be read again: {error}"]
    return _Collector(comparison, metrics, inputs, prepared).collect()


class _Collector:
    """Reads the rankings of each system once, and explains the listed queries until the limits of a page."""

    def __init__(
        self, comparison: Comparison, metrics: list[MetricValues], inputs: ComparedInputs, prepared: TruthInput
    ) -> None:
        self._comparison = comparison
        self._metrics = metrics
        self._inputs = inputs
        self._prepared = prepared
        self._baseline = comparison.systems.index(comparison.baseline)
        self._notes: list[str] = []
        self._n_documents_read = 0
        self._n_unknown = 0
        self._baseline_rankings: dict[tuple[int, int], QueryRanking | None] = {}  # of the last query, by metric

    def collect(self) -> tuple[Tables, list[str]]:
        """Return the tables. The first metric comes first, so that limits cut the others."""
        systems = {
            place: queries
            for place, name in enumerate(self._comparison.systems)
            if (queries := self._read_system(name)) is not None
        }
        tables: Tables = {}
        n_cut = 0
        if self._baseline in systems:
            for key in self._list_keys(systems):
                table = self._make_table(key, systems) if len(tables) < MAX_TABLES else None
                if table is None:
                    n_cut += 1
                else:
                    tables[key] = table
        if n_cut:
            self._notes.append(f"{n_cut} of the listed queries have no documents here: fastndcg explain shows them")
        if self._n_unknown:
            self._notes.append(
                f"{self._n_unknown} rankings have ranks and labels only, with {NO_RANK} for what a document adds: ties "
                "or long rankings take too long for a page. Run fastndcg explain for one of them"
            )
        return tables, self._notes

    def _list_keys(self, systems: dict[int, SystemQueries]) -> list[tuple[int, int, int]]:
        """Return the metric, system and query of every listed query: those of the first metric, then by query."""
        keys: list[tuple[int, int, int]] = []
        for metric, values in enumerate(self._metrics):
            if self._comparison.metrics[metric].record.by_subtopic:
                self._notes.append(
                    f"{self._comparison.metrics[metric]} has labels by subtopic: no documents are listed"
                )
                continue
            for system in systems:
                queries = (*values.find_most_won(system), *values.find_most_lost(system))
                keys += [(metric, system, query) for query in queries]
        return sorted(keys, key=lambda key: (key[0] > 0, key[2], key[1], key[0]))

    def _read_system(self, name: str) -> SystemQueries | None:
        """Join the predictions of a system with the truth. Return None if its documents cannot be read again."""
        predictions = self._inputs.predictions[name]
        if isinstance(predictions, Results | Rankings):
            self._notes.append(
                f"{show_name(name)} has no documents here, since compare got its {type(predictions).__name__}"
            )
            return None
        if isinstance(predictions, Model) and predictions.n_users * predictions.n_items > MAX_SCORES:
            self._notes.append(
                f"{show_name(name)} has no documents here, since it scores {predictions.n_items} for each query. "
                "fastndcg explain shows one query"
            )
            return None
        try:
            return SystemQueries(
                join_system(self._prepared, predictions, self._inputs.options, self._inputs.convention)
            )
        except (FastndcgError, OSError) as error:
            self._notes.append(f"{show_name(name)} has no documents here, since it cannot be read again: {error}")
            return None

    def _make_table(self, key: tuple[int, int, int], systems: dict[int, SystemQueries]) -> DocumentTable | None:
        metric, system, query = key
        own = self._rank_query(metric, system, query, systems[system])
        if (metric, query) not in self._baseline_rankings:
            ranking = self._rank_query(metric, self._baseline, query, systems[self._baseline])
            self._baseline_rankings = {
                (place, last): ranks for (place, last), ranks in self._baseline_rankings.items() if last == query
            }
            self._baseline_rankings[metric, query] = ranking
        base = self._baseline_rankings[metric, query]
        if own is None or base is None:
            return None
        pairs, n_hidden = pair_documents(own, base)
        rows = [_make_row(*pair) for pair in pairs]
        fused = self._find_fused(system)
        if fused is not None:
            (query_id,) = self._comparison.query_ids[query : query + 1].tolist()
            opened = _open_query(fused, query_id)
            rows = [row._replace(shares=_describe_shares(opened, pair[0]))
                    for row, pair in zip(rows, pairs, strict=True)]  # fmt: skip
        return DocumentTable(rows, n_hidden)

    def _find_fused(self, system: int) -> Any:
        """Return the fused run of a system, or else of the baseline, or None if `fuse` made neither."""
        for place in (system, self._baseline):
            predictions = self._inputs.predictions[self._comparison.systems[place]]
            if isinstance(predictions, Run) and hasattr(predictions, "explain"):
                return predictions
        return None

    def _rank_query(self, metric: int, system: int, query: int, queries: SystemQueries) -> QueryRanking | None:
        """Return the ranking of a query. None if it does not give its value, so that the inputs have changed."""
        (query_id,) = self._comparison.query_ids[query : query + 1].tolist()
        if not queries.has_query(query_id):
            return None
        max_work = min(MAX_OF_QUERY, MAX_DOCUMENTS_READ - self._n_documents_read)
        ranking, n_read = queries.rank_query(query_id, self._comparison.metrics[metric], max_work)
        self._n_documents_read += n_read
        self._n_unknown += ranking.contributions is None
        value = float(self._comparison.columns[system][query, metric])
        is_same = math.isnan(value) or math.isclose(ranking.case.value(), value, abs_tol=1e-12)
        return ranking if is_same else None


def _make_row(name: str, own: PlacedDocument | None, base: PlacedDocument | None) -> DocumentRow:
    label = next(side.label for side in (own, base) if side)
    ranks = [side.rank if side else NO_RANK for side in (own, base)]
    adds = map(_format_contribution, (own, base))
    return DocumentRow(show_name(name), NO_RANK if label is None else f"{label:g}", *ranks, *adds)


def _open_query(fused: Any, query: Any) -> Any:
    """Return a query of a fused run, None for a query that it lacks, and for a part of a fused run."""
    with contextlib.suppress(FastndcgError):
        return fused._open_query(query)
    return None


def _describe_shares(query: Any, document: Any) -> str:
    """Return the points that each run gives to a document, with its rank and score there, as a text."""
    if query is None:
        return NO_RANK
    try:
        shares = query.explain(document)[:-1]
    except FastndcgError:  # a document of the other system alone
        return NO_RANK
    texts = []
    for share in shares:
        place = "absent" if share.rank is None else f"rank {share.rank:g}, {share.score:.4g}"
        points = "" if share.points is None else f" {share.points:.4g}"
        texts.append(f"{show_name(share.run)}{points} ({place})")
    return "; ".join(texts)


def _format_contribution(document: PlacedDocument | None) -> str:
    """Return a contribution with four decimals, 0 for none, and a dash if it is unknown."""
    if document is None or document.contribution == 0:
        return "0"
    return NO_RANK if document.contribution is None else f"{document.contribution:.4f}"


def pack_documents(tables: Tables, places: list[int]) -> dict[str, Any]:
    """
    Return the tables of documents for the script of the page.

    `places` has the indices of the queries of the page. The names of a query's documents are written once. A table
    stands under "metric,system,query", where the query is its index on the page.
    """
    page_queries = {query: place for place, query in enumerate(places)}
    names: dict[int, dict[str, int]] = {}
    packed: dict[str, list[Any]] = {}
    for (metric, system, query), table in tables.items():
        if query not in page_queries:
            continue
        page_query = page_queries[query]
        own_names = names.setdefault(page_query, {})
        rows = [[own_names.setdefault(row.name, len(own_names)), *filter(None, row[1:])] for row in table.rows]
        packed[f"{metric},{system},{page_query}"] = [table.n_hidden, *rows]
    return {"names": {query: list(own_names) for query, own_names in names.items()}, "tables": packed}

"""What a judge is worth, such as a language model that labels documents: `estimate_with_judge`, `compare_judges`."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastndcg.choices import ConventionName, Correction
from fastndcg.choices import TestName as Test  # pytest collects names that begin with Test
from fastndcg.errors import InvalidInputError, InvalidTypeError, reworded, shorten
from fastndcg.exports import PrintedTable, dump_json
from fastndcg.forms.named_systems import read_judgments
from fastndcg.inputs.diversity import DiversityQrels
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.join import find_ids, match_documents, refuse_disjoint
from fastndcg.inputs.messages import Options, answer_keywords
from fastndcg.inputs.table import Qrels
from fastndcg.metrics.metric import DEFAULT_METRICS, Metric, Metrics, check_direction
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rank_agreement import agreement
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, count_before, read_only
from fastndcg.results.aggregates import ExactSum
from fastndcg.results.notes import describe_judged, notes_on_systems
from fastndcg.results.results import Results
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.threads import check_threads
from fastndcg.statistics.alignment import align
from fastndcg.statistics.all_pairs import Pair, make_pair_settings, run_pair_tests
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.compare import (
    check_has_values,
    evaluate_systems,
    find_baseline,
    read_systems,
    select_metrics,
)
from fastndcg.statistics.comparison import describe_test
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.moments import find_bounds
from fastndcg.statistics.one_system import describe_intervals
from fastndcg.statistics.prediction_powered import FEW_QUERIES, FEWEST_OTHERS, FEWEST_QUERIES, find_powered_interval
from fastndcg.statistics.sampling_design import make_design
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.table import Column, Table, format_interval, format_number

SIDES = ("human", "judge")
MOST_LABELS = 20  # of a confusion matrix: a wider one cannot be read


class JudgeEstimate(NamedTuple):
    """
    A mean, or the difference of `system` from `against`, from human and from a judge's labels.

    `human` is the value by human labels alone, of `n_human` queries that have one, and `judge` that by the judge's
    labels of all queries, of which `n_judge` others have one. `weight` is how much the judge counts, from 0 to 1, and
    `narrower` the share of the width of the human interval that it saves. `against` is empty for a mean. `reason` says
    why there is no interval.
    """

    metric: str
    system: str
    against: str
    estimate: float
    low: float
    high: float
    human: float
    human_low: float
    human_high: float
    judge: float
    weight: float
    narrower: float
    n_human: int
    n_judge: int
    reason: str


class SystemAgreement(NamedTuple):
    """
    How a judge ranks systems by a metric, beside human labels of the same queries.

    `n_significant` pairs of systems differ significantly by human labels. `n_kept` of them have the same sign by the
    judge, which finds `n_confirmed` significant, too. `kept` is n_kept / n_significant. `dropped` is the system that
    loses most ranks by the judge, `largest_drop` of them.
    """

    metric: str
    n_queries: int
    n_systems: int
    tau_b: float
    tau_ap: float
    tau_ap_b: float
    n_significant: int
    n_kept: int
    n_confirmed: int
    kept: float
    largest_drop: int
    dropped: str


class RankedSystem(NamedTuple):
    """The mean and the rank of a system by human and by the judge's labels. A rank is 1 + the number of better ones."""

    metric: str
    system: str
    human: float
    judge: float
    human_rank: int
    judge_rank: int


class LabelCount(NamedTuple):
    """The number of documents that have this label from the human and that one from the judge."""

    human: float
    judge: float
    n: int


class Confusion(Table[LabelCount]):
    """The documents by both labels. It prints as a matrix, or the most frequent pairs of many labels."""

    def _print_table(self) -> PrintedTable:
        labels = [sorted({getattr(row, side) for row in self.rows}) for side in SIDES]
        if max(map(len, labels)) > MOST_LABELS:
            often = sorted(self.rows, key=lambda row: -row.n)[:MOST_LABELS]
            found = [[f"{row.human:g}", f"{row.judge:g}", str(row.n)] for row in often]
            note = f"the {len(often)} most frequent of {len(self.rows)} pairs of labels: to_pandas() has all"
            return PrintedTable([list(LabelCount._fields), *found], [False] * 3, [note])
        counts = {(row.human, row.judge): row.n for row in self.rows}
        rows = [[f"{own:g}", *(str(counts.get((own, other), 0)) for other in labels[1])] for own in labels[0]]
        heading = ["human", *(f"judge {label:g}" for label in labels[1])]
        return PrintedTable([heading, *rows], [False] * len(heading), self.notes)


class JudgeComparison(Table[SystemAgreement]):
    """
    Agreement of a judge with human labels, by label, by document and by system. `compare_judges` returns it.

    Its rows are `SystemAgreement`, one for each metric.

    Parameters
    ----------
    rows : sequence of SystemAgreement
        The agreement by each metric.
    ranks : sequence of RankedSystem
        The systems in each metric.
    labels : ((n,) array, (n,) array)
        The labels of the documents that both label, by human and judge.
    notes : sequence of str
        The notes below the table.

    Attributes
    ----------
    kappa : float
        Cohen's kappa of the documents that both label, with the squared difference of labels as weight. At most 1; 0 is
        agreement by chance. NaN if all labels are equal.
    alpha : float
        Krippendorff's alpha of ordinal labels. At most 1; 0 is agreement by chance. NaN if all labels are equal.
    n_documents : int
        The number of documents that both label.

    Examples
    --------
    >>> human, judge = {"q": {"a": 2, "b": 0, "c": 1}}, {"q": {"a": 2, "b": 0, "c": 0}}
    >>> found = fn.compare_judges(human, judge, {"x": {"q": ["a", "c", "b"]}, "y": {"q": ["b", "c", "a"]}}, "rr")
    >>> [(row.system, row.human_rank, row.judge_rank) for row in found.ranks]
    [('x', 1, 1), ('y', 2, 2)]
    """

    def __init__(
        self, rows: Sequence[SystemAgreement], ranks: Sequence[RankedSystem], labels: tuple[Array, Array],
        notes: Sequence[str],
    ) -> None:  # fmt: skip
        human, judge = (own.astype("f8") for own in labels)
        self.n_documents = len(human)
        self.kappa = compute_kappa(human, judge)
        self.alpha = compute_alpha(human, judge)
        counts = Counter(zip(*(own.tolist() for own in labels), strict=True))
        self._counts = [LabelCount(own, other, n) for (own, other), n in sorted(counts.items())]
        self._ranks = tuple(ranks)
        found = (
            f"{self.n_documents} documents that both label: kappa {format_number(self.kappa)} (quadratic weights), "
            f"alpha {format_number(self.alpha)} (ordinal)"
        )
        super().__init__(rows, (), [found, *notes])

    @property
    def confusion(self) -> Confusion:
        """The documents that both label, by both labels."""
        return Confusion(self._counts, [_column("human"), _column("judge"), _column("n")])

    @property
    def ranks(self) -> Table[RankedSystem]:
        """The mean and the rank of each system in each metric."""
        return Table(self._ranks, [_column(name, left=name in TEXTS) for name in RankedSystem._fields])

    def _print_columns(self) -> Sequence[Column]:
        return AGREEMENT_COLUMNS

    def _json_pieces(self) -> Iterator[str]:
        facts: dict[str, Any] = {"kappa": self.kappa, "alpha": self.alpha, "n_documents": self.n_documents}
        facts |= {
            name: [row._asdict() for row in rows]
            for name, rows in (("metrics", self.rows), ("systems", self.ranks), ("confusion", self.confusion))
        }
        yield dump_json(facts)


TEXTS = ("metric", "system")


def _column(name: str, heading: str | None = None, *, left: bool = False) -> Column:
    """Return a column that has a field as it is, or with four decimals."""

    def format_cell(row: Any) -> str:
        value = getattr(row, name)
        return format_number(value) if isinstance(value, float) else str(value)

    return Column(heading or name.replace("_", " "), format_cell, left)


AGREEMENT_COLUMNS = (
    _column("metric", left=True),
    *(_column(name, name) for name in ("tau_b", "tau_ap", "tau_ap_b")),
    _column("n_significant", "significant pairs"),
    _column("n_kept", "of them with the same sign"),
    _column("n_confirmed", "and significant"),
    Column("largest drop", lambda row: f"{row.largest_drop} ({show_name(row.dropped)})" if row.largest_drop else "0"),
)


class JudgedQueries(NamedTuple):
    """
    Judgments of a human and of a judge.

    `common` are the queries that both have, (n_common, 2): their places in both. `labels` are those of the documents
    that both label there.
    """

    human: Qrels
    judge: Qrels
    common: Array
    labels: tuple[Array, Array]
    notes: tuple[str, ...]

    @classmethod
    def read(cls, human: Any, judge: Any, threads: int | None) -> JudgedQueries:
        """Read both judgments, and refuse a judge that labels other documents than the human."""
        options = Options(threads=threads)
        first, second = (_read_side(own, side, options) for side, own in zip(SIDES, (human, judge), strict=True))
        places = find_ids(first.queries, second.queries, "queries", SIDES)
        common = np.stack([np.flatnonzero(places >= 0), places[places >= 0]], axis=1)
        if not len(common):
            refuse_disjoint(first.queries, second.queries, SIDES)
        judged = second._take_queries(common[:, 1])
        pairs = np.stack([common[:, 0], np.arange(len(common))], axis=1)
        numbers = read_only(np.arange(len(first)))
        rows, is_shared = match_documents((first, numbers), judged, pairs, judged.offsets, SIDES, threads)
        _refuse_mixed(judged, is_shared)
        own = first.values[rows]
        sizes = np.diff(first.offsets)
        n_alone = int(sizes[common[:, 0]].sum()) - len(own)
        counts = {
            "human queries without labels of the judge, left out: {}": len(places) - len(common),
            "documents of common queries that the human alone labels, unjudged for the judge: {}": n_alone,
        }
        notes = [text.format(n) for text, n in counts.items() if n]
        if len(own) and (own == judged.values).all() and own.any():
            notes.append(
                f"all {len(own)} labels that both give are equal: if human labels were copied into those of the judge, "
                "its weight is wrong"
            )
        return cls(first, second, common, (own, judged.values), tuple(notes))


def _read_side(value: Any, side: str, options: Options) -> Qrels:
    """Read the judgments of one side, with its name in errors."""
    with reworded(lambda part: re.sub(r"(`|the )(truth|qrels)\b", rf"\1{side}", str(part))):
        table = read_judgments(value, options, side)
    if isinstance(table, DiversityQrels):
        raise InvalidTypeError(f"`{side}` must have one label for each document, not labels by subtopic. Pass Qrels")
    return table


def _refuse_mixed(judged: Qrels, is_shared: Array) -> None:
    """Raise for a document that the judge labels in a query of the human, who does not."""
    if is_shared.all():
        return
    row = int(np.argmin(is_shared))
    query = judged.queries.name(int(np.searchsorted(judged.offsets, row, side="right")) - 1)
    raise InvalidInputError(
        f"`judge` must label no other documents than `human` in queries that both have, but labels "
        f"{shorten(judged.documents.name(row))} of query {shorten(query)} (in all {int((~is_shared).sum())} documents)"
        ". A query with labels of mixed origin, or a deeper pool, has another ideal ranking: let both label the same "
        "documents"
    )


class _Request(NamedTuple):
    """The systems, and the metrics by which two judgments evaluate them."""

    systems: dict[str, Any]
    metrics: tuple[Metric, ...]
    convention: Convention
    options: Options

    @classmethod
    def read(
        cls, systems: Any, metrics: Metrics | None, convention: Any, threads: int | None, owner: str, least: int
    ) -> _Request:
        named = read_systems(systems, least, "Add a system")
        for name, predictions in named.items():
            if isinstance(predictions, Results | Rankings):
                raise InvalidTypeError(
                    f"`systems` must be predictions, which the labels of human and judge evaluate, but "
                    f"{shorten(name)} is {type(predictions).__name__}. Pass the run"
                )
        selected = select_metrics(metrics, named, DEFAULT_METRICS)
        check_direction(selected, owner)
        return cls(named, selected, parse_convention(convention), Options(threads=check_threads(threads)))

    def evaluate(self, judgments: Qrels, side: str) -> tuple[list[Array], dict[str, Results]]:
        """Return per system (n_queries, n_metrics) values by one's judgments, in the order of the queries; results."""
        with reworded(before=f"`{side}`: "):
            results = evaluate_systems(judgments, self.systems, self.options, self.convention, False, self.metrics)
            aligned = align(results, self.metrics)
            check_has_values(results, aligned)
        ids = IdColumn.of(aligned.query_ids, "ids of queries")
        rows = find_ids(judgments.queries, ids, "queries", (side, "results"))
        return [np.where(rows[:, None] >= 0, own[rows], np.nan) for own in aligned.columns], results

    def list_notes(self, human: Mapping[str, Results], judge: Mapping[str, Results]) -> list[str]:
        """Return the notes of results, but for those on queries that the human did not judge."""
        by_side = {
            side: [
                *describe_judged([own.judged for own in results.values()], self.metrics, self.convention),
                *notes_on_systems({name: own.notes for name, own in results.items()}),
            ]
            for side, results in zip(SIDES, (human, judge), strict=True)
        }
        missing = {
            name: [note for note in own.missing_notes if note.startswith("judged")] for name, own in judge.items()
        }
        return [*notes_on_systems(missing), *notes_on_systems(by_side)]


@answer_keywords
def estimate_with_judge(
    human: Any,
    judge: Any,
    systems: Any,
    metrics: Metrics | None = None,
    *,
    baseline: str | None = None,
    convention: ConventionName | str | Convention = "default",
    level: float = 0.95,
    threads: int | None = None,
) -> Table[JudgeEstimate]:
    """
    Estimate means and differences from human labels of few queries and a judge's labels of many.

    The judge, such as a language model, also labels the human queries, which shows how far its values are from theirs.
    What the estimate takes from the other queries is corrected by that, and has a weight that is fitted: a poor judge
    has a weight near 0. So the interval holds for poor and biased judges, too, if human queries are a random sample.

    Parameters
    ----------
    human : path, dict, frame, Qrels or other judgments
        The labels of the human queries, a random sample of all queries. See `Qrels`.
    judge : path, dict, frame, Qrels or other judgments
        The judge's labels of all queries. In human queries, they are of the documents that the human labels.
    systems : {name: predictions}, iterable of (name, predictions), or list of paths
        One system or more: see `compare`. They rank all queries.
    metrics : str, Metric, or iterable of them, optional
        See `evaluate`. By default "ndcg@10, map, mrr, p@5, recall@10".
    baseline : str, optional
        The name of the system that the others are compared with. By default the first.
    convention : str or Convention
        See `evaluate`.
    level : float
        The confidence level, from 0.51 to 0.999999.
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    Table of JudgeEstimate
        For each metric a row for the mean of each system, and for the difference of each from the baseline. No
        estimate leaves the range of its metric, and no interval is wider than that of the human labels alone.

    Raises
    ------
    InvalidInputError
        If no query is common, the judge labels a document of a human query that the human does not label, a metric has
        no direction, or there is no system.

    References
    ----------
    .. [1] A. N. Angelopoulos, J. C. Duchi and T. Zrnic 2023, "PPI++: Efficient prediction-powered inference",
       arXiv:2311.01453.

    Examples
    --------
    >>> labels = np.random.default_rng(1).integers(0, 3, (400, 3)).tolist()
    >>> truth = {query: dict(zip("abc", row, strict=True)) for query, row in enumerate(labels)}
    >>> judge = {query: row | {"a": min(row["a"] + 1, 2)} for query, row in truth.items()}  # kind to one document
    >>> human = {query: truth[query] for query in range(0, 400, 10)}
    >>> (row,) = fn.estimate_with_judge(human, judge, {"new": {query: ["a", "b", "c"] for query in truth}}, "ndcg@10")
    >>> row.n_human, row.n_judge, round(row.human, 3), round(row.judge, 3), round(row.estimate, 3)
    (39, 360, 0.812, 0.954, 0.81)
    >>> round(row.weight, 2), round(row.narrower, 2)
    (1.0, 0.04)
    """
    settings = Settings(level=level, threads=threads)
    request = _Request.read(systems, metrics, convention, threads, "estimate_with_judge", 1)
    names = list(request.systems)
    base = names.index(find_baseline(baseline, request.systems))
    both = JudgedQueries.read(human, judge, threads)
    own, by_human = request.evaluate(both.human._take_queries(both.common[:, 0]), "human")
    theirs, by_judge = request.evaluate(both.judge, "judge")
    quantities = [
        Quantity(system, metric, against)
        for metric in range(len(request.metrics))
        for system, against in [
            *((place, None) for place in range(len(names))),
            *((place, base) for place in range(len(names)) if place != base),
        ]
    ]
    bounds = [find_bounds(metric, request.convention) for metric in request.metrics]
    analysis = Analysis(own, quantities, make_design(np.arange(len(both.common))), settings, bounds)
    is_other = np.ones(len(both.judge.queries), bool)
    is_other[both.common[:, 1]] = False
    rows: list[JudgeEstimate] = []
    methods: set[str] = set()
    for quantity, moments, alone in zip(quantities, analysis.moments, analysis.intervals, strict=True):
        judged = quantity.values(theirs)
        interval, weight = find_powered_interval(
            moments, alone, quantity.values(own), judged[both.common[:, 1]], judged[is_other]
        )
        methods.add(interval.method)
        width = alone.high - alone.low
        rows.append(JudgeEstimate(
            str(request.metrics[quantity.metric]), names[quantity.system],
            "" if quantity.against is None else names[quantity.against], interval.mean, interval.low, interval.high,
            alone.mean, alone.low, alone.high, ExactSum.of(judged).mean(), weight,
            1 - (interval.high - interval.low) / width if width > 0 else math.nan, moments.n_queries,
            int(np.count_nonzero(~np.isnan(judged[is_other]))), interval.reason,
        ))  # fmt: skip
    notes = [*_describe_estimates(rows, len(both.common), int(is_other.sum()), settings, methods), *both.notes]
    notes[0] += f"; convention {request.convention}"
    endless = [str(metric) for metric, own in zip(request.metrics, bounds, strict=True) if own is None]
    if endless:
        notes[1] += f"; of {', '.join(endless)}, without a known range, it misses no rare large values"
    return Table(rows, make_estimate_columns(settings), [*notes, *request.list_notes(by_human, by_judge)])


def _describe_estimates(
    rows: Sequence[JudgeEstimate], n_human: int, n_judge: int, settings: Settings, methods: set[str]
) -> list[str]:
    """Return what is assumed, and how much narrower intervals are."""
    gains = [row.narrower for row in rows if row.weight > 0]
    narrower = "no interval is narrower than that of human labels alone"
    if gains:
        narrower = f"{len(gains)} of {len(rows)} intervals are narrower than those of human labels alone, by "
        narrower += " to ".join(dict.fromkeys(f"{100 * gain:.0f} %" for gain in (min(gains), max(gains))))
    if n_human < FEWEST_QUERIES or n_judge < FEWEST_OTHERS:
        narrower += f", which takes {FEWEST_QUERIES} human queries and {FEWEST_OTHERS} others"
    fitted = ", weights are cross-fitted" if n_human < FEW_QUERIES else ""
    return [
        f"{n_human} queries with human labels, {n_judge} more with those of the judge alone",
        f"assumed: the human queries are a random sample of all {n_human + n_judge}, and the judge labels all of them "
        "in the same way",
        narrower,
        f"{describe_intervals(settings, methods)}; prediction-powered inference{fitted}",
    ]


def make_estimate_columns(settings: Settings) -> list[Column]:
    """Return the printed columns of estimates. A difference has both systems as its name."""

    def format_bounds(low: str, high: str) -> Column:
        return Column(
            f"{100 * settings.level:g} % interval",
            lambda row: format_interval(getattr(row, low), getattr(row, high), bool(row.against), row.reason),
        )

    def format_value(name: str, heading: str) -> Column:
        return Column(heading, lambda row: format_number(getattr(row, name), signed=bool(row.against)))

    return [
        _column("metric", left=True),
        Column("system", lambda row: f"{row.system} − {row.against}" if row.against else row.system, left=True),
        format_value("estimate", "estimate"),
        format_bounds("low", "high"),
        format_value("human", "humans alone"),
        format_bounds("human_low", "human_high"),
        format_value("judge", "judge alone"),
        Column("weight", lambda row: f"{row.weight:.2f}"),
        Column("narrower by", lambda row: "n/a" if math.isnan(row.narrower) else f"{100 * row.narrower:.0f} %"),
    ]


@answer_keywords
def compare_judges(
    human: Any,
    judge: Any,
    systems: Any,
    metrics: Metrics | None = None,
    *,
    convention: ConventionName | str | Convention = "default",
    test: Test = "randomization",
    correction: Correction = "holm",
    level: float = 0.95,
    replicates: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
) -> JudgeComparison:
    """
    Compare a judge with human labels: labels of documents, ranks of systems, and signs of their differences.

    Only queries that both have count. Each mean is over the queries with a value by the same labels.

    Parameters
    ----------
    human, judge : path, dict, frame, Qrels or other judgments
        The labels of the human, and those of the judge, of the same documents in each query that both have.
    systems : {name: predictions}, iterable of (name, predictions), or list of paths
        Two systems or more: see `compare`.
    metrics : str, Metric, or iterable of them, optional
        See `evaluate`. By default "ndcg@10, map, mrr, p@5, recall@10".
    convention : str or Convention
        See `evaluate`.
    test, correction, level, replicates, seed
        See `compare`. All pairs of systems are tested two-sided, and corrected within a metric.
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    JudgeComparison
        A table with a row for each metric: rank correlations of the systems (see `agreement`), how many significant
        differences keep their sign, and the system that drops most. Its attributes have kappa, alpha, the confusion of
        labels, and the ranks.

    Raises
    ------
    InvalidInputError
        If no query is common, the judge labels a document that the human does not label, a metric has no direction, or
        there are fewer than two systems.

    References
    ----------
    .. [1] J. Cohen 1968, "Weighted kappa", Psychological Bulletin 70, doi:10.1037/h0026256.
    .. [2] K. Krippendorff 2011, "Computing Krippendorff's alpha-reliability".

    Examples
    --------
    >>> human = {q: {"a": 2, "b": 1, "c": 0} for q in range(10)}
    >>> judge = {q: {"a": 2, "b": 2 - (q < 5), "c": 0} for q in range(10)}
    >>> runs = {name: {q: list(ids) for q in human} for name, ids in {"x": "abc", "y": "bac", "z": "cba"}.items()}
    >>> found = fn.compare_judges(human, judge, runs, "ndcg@10")
    >>> round(found.kappa, 3), round(found.alpha, 3), found.rows[0].tau_b, found.rows[0].kept
    (0.889, 0.875, 1.0, 1.0)
    >>> print(found.confusion)
    human  judge 0  judge 1  judge 2
        0       10        0        0
        1        0        5        5
        2        0        0       10
    """
    settings = make_pair_settings(Settings(
        test=test, correction=correction, level=level, replicates=replicates, seed=seed, threads=threads
    ))  # fmt: skip
    request = _Request.read(systems, metrics, convention, threads, "compare_judges", 2)
    both = JudgedQueries.read(human, judge, threads)
    own, by_human = request.evaluate(both.human._take_queries(both.common[:, 0]), "human")
    theirs, by_judge = request.evaluate(both.judge._take_queries(both.common[:, 1]), "judge")
    names, n_queries = list(request.systems), len(both.common)
    design = make_design(np.arange(n_queries))
    tested = [run_pair_tests(names, columns, design, settings) for columns in (own, theirs)]
    rows: list[SystemAgreement] = []
    ranks: list[RankedSystem] = []
    for place, (metric, pairs) in enumerate(zip(request.metrics, zip(*tested, strict=True), strict=True)):
        means = [[ExactSum.of(column[:, place]).mean() for column in columns] for columns in (own, theirs)]
        ranks += (ranked := _rank_systems(metric, names, means))
        gains = [{0: dict(zip(names, metric.sign * np.array(side), strict=True))} for side in means]
        tau = agreement(gains[0], gains[1], "tau_b, tau_ap, tau_ap_b").means()
        rows.append(_describe_agreement(ranked, list(zip(*pairs, strict=True)), tau, n_queries))
    about = [f"{n_queries} queries that both have, {len(names)} systems; convention {request.convention}",
             f"pairs of systems: {describe_test(settings, 'pairs')}"]  # fmt: skip
    return JudgeComparison(rows, ranks, both.labels, [*about, *both.notes, *request.list_notes(by_human, by_judge)])


def _rank_systems(metric: Metric, names: Sequence[str], means: Sequence[Sequence[float]]) -> list[RankedSystem]:
    """Return the ranks of systems by human and judge. Systems with one mean share the best of their ranks."""
    sides = [metric.sign * np.array(side) for side in means]
    ranks = [(1 + (gains[None, :] > gains[:, None]).sum(1)).tolist() for gains in sides]
    return [RankedSystem(str(metric), *own) for own in zip(names, *means, *ranks, strict=True)]


def _describe_agreement(
    ranked: Sequence[RankedSystem], pairs: Sequence[tuple[Pair, Pair]], tau: Sequence[float], n_queries: int
) -> SystemAgreement:
    """Return how a judge ranks systems by a metric. Each pair of them is tested by human and by judge."""
    significant = [(own, other) for own, other in pairs if own.significant]
    kept = [other for own, other in significant if np.sign(own.difference) == np.sign(other.difference)]
    dropped = max(ranked, key=lambda row: row.judge_rank - row.human_rank)
    largest_drop = dropped.judge_rank - dropped.human_rank
    return SystemAgreement(
        dropped.metric, n_queries, len(ranked), tau[0], tau[1], tau[2], len(significant), len(kept),
        sum(other.significant for other in kept), len(kept) / len(significant) if significant else math.nan,
        largest_drop, dropped.system if largest_drop else "",
    )  # fmt: skip


def compute_kappa(human: Array, judge: Array) -> float:
    """
    Return Cohen's kappa with the squared difference of labels as weight, NaN if all labels are equal.

    The expected squared difference is that of two documents that are drawn apart: both variances and the bias.

    >>> round(compute_kappa(np.array([0.0, 1, 2, 2]), np.array([0.0, 1, 1, 2])), 3)
    0.8
    """
    if not len(human):
        return math.nan
    expected = human.var() + judge.var() + (human.mean() - judge.mean()) ** 2
    return float(1 - ((human - judge) ** 2).mean() / expected) if expected > 0 else math.nan


def compute_alpha(human: Array, judge: Array) -> float:
    """
    Return Krippendorff's alpha of ordinal labels of two who label all documents, NaN if all labels are equal.

    The ordinal distance of two labels is that of their mean ranks among all labels, so that alpha is that of ranks.

    >>> round(compute_alpha(np.array([0.0, 1, 2, 2]), np.array([0.0, 1, 1, 2])), 3)
    0.79
    """
    if not len(human):
        return math.nan
    _, codes, counts = np.unique(np.concatenate([human, judge]), return_inverse=True, return_counts=True)
    middles = (count_before(counts)[:-1] + counts / 2)[codes]
    n = len(codes)
    expected = middles.var() * n * n
    differences = middles[: n // 2] - middles[n // 2 :]
    return float(1 - (n - 1) * (differences**2).sum() / expected) if expected > 0 else math.nan

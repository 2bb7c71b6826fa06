"""
ranx: `Qrels`, `Run`, `evaluate`, and `compare` with its `Report`.

Signatures and metric names are those of ranx, and so are the values but for its bugs: queries are paired by id, and
equal scores rank as given, in a dict as in a `Run`. Errors are ours too, each a subclass of the one that ranx raises.
ranx itself is not needed, and numba's number of threads stays as it is. A `Run` keeps what it found out about the last
`Qrels` that it was evaluated with, so that further metrics cost little.

>>> from fastndcg.compat.ranx import Qrels, Run, evaluate
>>> qrels = Qrels({"q1": {"d1": 1, "d2": 3}})
>>> run = Run({"q1": {"d1": 0.9, "d2": 0.8, "d3": 0.7}}, name="bm25")
>>> {metric: round(float(mean), 4) for metric, mean in evaluate(qrels, run, ["ndcg@10", "map-l2"]).items()}
{'ndcg@10': 0.7967, 'map-l2': 0.5}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np

from fastndcg.compat import tables
from fastndcg.compat.lookups import values_of
from fastndcg.conventions import conventions
from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownMetricError, nearest
from fastndcg.inputs.dicts import DictQrels, Judged
from fastndcg.metric import Metric
from fastndcg.rankings import Array

CONVENTION = conventions["ranx"]
METRICS = {
    "hits": Metric("num_rel_ret"),
    "hit_rate": Metric("Success"),
    "precision": Metric("P"),
    "recall": Metric("R"),
    "f1": Metric("F"),
    "r-precision": Metric("Rprec"),
    "mrr": Metric("RR"),
    "map": Metric("AP"),
    "dcg": Metric("DCG"),
    "dcg_burges": Metric("DCG", gain="exp2"),
    "ndcg": Metric("nDCG"),
    "ndcg_burges": Metric("nDCG", gain="exp2"),
}


class MismatchError(InvalidInputError, AssertionError):
    """Judgments and run, or metrics, are not what they must be."""


class _Table:
    """{query: {document: number}} under a name, queries in the order of their ids."""

    kind: ClassVar[type[int] | type[float]]
    kinds: ClassVar[tuple[str, ...]]

    def __init__(self, rows: dict[str, dict[str, Any]] | None = None, name: str | None = None) -> None:
        self.name = name
        self._rows: dict[str, dict[str, Any]] = {}
        if rows is not None:
            self._rows = {query: dict(row) for query, row in self._ordered(rows).items()}
        self._changed()

    @classmethod
    def viewing(cls, rows: dict[str, dict[str, Any]]) -> Self:
        """For one evaluation: the dicts as they are, not copied."""
        made = cls()
        made._rows = cls._ordered(rows)
        return made

    @classmethod
    def _ordered(cls, rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Rows in the order of the queries' ids."""
        if not isinstance(rows, dict):
            raise InvalidTypeError(f"{cls.__name__} takes a dict of dicts, not {type(rows).__name__}")
        return {query: rows[query] for query in sorted(rows)}

    @classmethod
    def from_dict(cls, d: dict[str, dict[str, Any]], name: str | None = None) -> Self:
        """From {query: {document: number}}."""
        return cls(d, name)

    @classmethod
    def from_df(
        cls, df: Any, q_id_col: str = "q_id", doc_id_col: str = "doc_id", score_col: str = "score",
        name: str | None = None,
    ) -> Self:  # fmt: skip
        """From a pandas DataFrame with a row for each document of each query."""
        return cls(tables.from_frame(df, (q_id_col, doc_id_col, score_col), cls.kind), name)

    @classmethod
    def from_parquet(
        cls, path: Any, q_id_col: str = "q_id", doc_id_col: str = "doc_id", score_col: str = "score",
        pd_kwargs: dict[str, Any] | None = None, name: str | None = None,
    ) -> Self:  # fmt: skip
        """From a Parquet file with a row for each document of each query."""
        frame = tables.read_parquet(path, pd_kwargs or {})
        return cls.from_df(frame, q_id_col, doc_id_col, score_col, name)

    @classmethod
    def from_file(cls, path: Any, kind: str | None = None, name: str | None = None) -> Self:
        """From a file of JSON, TREC's format (.trec, .txt, .gz) or, for runs, LZ4; by its ending, or as `kind` says."""
        rows, found = tables.read_file(path, kind, cls.kinds, cls.kind)
        return cls(rows, name or found)

    def keys(self) -> Any:
        """The queries' ids."""
        return self._rows.keys()

    def get_query_ids(self) -> list[str]:
        """The queries' ids."""
        return list(self._rows)

    def get_doc_ids_and_scores(self) -> list[dict[str, Any]]:
        """Each query's documents with their numbers, highest first."""
        return [self[query] for query in self._rows]

    def add_score(self, q_id: str, doc_id: str, score: Any) -> None:
        """Give a document of a query a number."""
        self._rows.setdefault(q_id, {})[doc_id] = self.kind(score)
        self._changed()

    def add(self, q_id: str, doc_ids: Iterable[str], scores: Iterable[Any]) -> None:
        """Give a query its documents with their numbers."""
        self.add_multi([q_id], [doc_ids], [scores])

    def add_multi(
        self, q_ids: Iterable[str], doc_ids: Iterable[Iterable[str]], scores: Iterable[Iterable[Any]]
    ) -> None:  # fmt: skip
        """Give several queries their documents with their numbers."""
        for query, documents, numbers in zip(q_ids, doc_ids, scores, strict=True):
            self._rows[query] = dict(zip(documents, map(self.kind, numbers), strict=True))
        self._changed()

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """As {query: {document: number}}."""
        return {query: self[query] for query in self._rows}

    def to_dataframe(self) -> Any:
        """As a pandas DataFrame with the columns q_id, doc_id and score."""
        return tables.to_frame(self.to_dict())

    @property
    def size(self) -> int:
        """How many queries there are."""
        return len(self._rows)

    def __getitem__(self, q_id: str) -> dict[str, Any]:
        return dict(sorted(self._rows[q_id].items(), key=lambda item: -item[1]))

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return repr(self.to_dict())

    def _changed(self) -> None:
        """Bring the queries into order, and forget what was worked out from the rows."""
        if any(high < low for low, high in zip(self._rows, list(self._rows)[1:], strict=False)):
            self._rows = {query: self._rows[query] for query in sorted(self._rows)}


class Qrels(_Table):
    """
    Judgments: {query: {document: label}}.

    Parameters
    ----------
    qrels : dict of dict of int, optional
        None without any; `add` adds some.
    name : str, optional
    """

    kind = int
    kinds = ("json", "trec", "gz", "parquet")
    _prepared: DictQrels | None

    def __init__(self, qrels: dict[str, dict[str, int]] | None = None, name: str | None = None) -> None:
        super().__init__(qrels, name)

    def set_relevance_level(self, rel_lvl: int = 1) -> None:
        """Lower all labels so that this one becomes 1."""
        self._rows = {
            query: {document: label - (rel_lvl - 1) for document, label in row.items()}
            for query, row in self._rows.items()
        }
        self._changed()

    def prepared(self) -> DictQrels:
        """The judgments, checked once."""
        if self._prepared is None:
            self._prepared = DictQrels(self._rows, is_own=True)
        return self._prepared

    def _changed(self) -> None:
        super()._changed()
        self._prepared = None


class Run(_Table):
    """
    What a system ranked: {query: {document: score}}.

    Parameters
    ----------
    run : dict of dict of float, optional
        None without any; `add` adds some.
    name : str, optional

    Attributes
    ----------
    scores, mean_scores, std_scores : dict
        What `evaluate` saved: {metric: {query: value}}, {metric: mean}, {metric: standard deviation}.
    """

    kind = float
    kinds = ("json", "trec", "lz4", "gz", "parquet")
    _judged: tuple[DictQrels, Judged] | None

    def __init__(self, run: dict[str, dict[str, float]] | None = None, name: str | None = None) -> None:
        super().__init__(run, name)
        self.metadata: dict[str, Any] = {}
        self.scores: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        self.mean_scores: dict[str, Any] = {}
        self.std_scores: dict[str, Any] = {}

    def make_comparable(self, qrels: Qrels) -> Run:
        """Take out queries without judgments, and put in those that are missing, with nothing ranked."""
        self._rows = {query: self._rows.get(query, {}) for query in qrels.keys()}  # noqa: SIM118
        self._changed()
        return self

    def judged(self, qrels: Qrels) -> Judged:
        """The documents with their labels; kept for the next metrics."""
        prepared = qrels.prepared()
        if self._judged is None or self._judged[0] is not prepared:
            self._judged = prepared, prepared.judged(self._rows, tells_unjudged=False)  # which no metric asks for
        return self._judged[1]

    def _changed(self) -> None:
        super()._changed()
        self._judged = None


def evaluate(
    qrels: Qrels | dict[str, dict[str, int]], run: Run | dict[str, dict[str, float]], metrics: list[str] | str,
    return_mean: bool = True, return_std: bool = False, threads: int = 0, save_results_in_run: bool = True,
    make_comparable: bool = False,
) -> Any:  # fmt: skip
    """
    Compute metrics; see `ranx.evaluate`.

    Parameters
    ----------
    qrels, run
        Judgments and a run of the same queries.
    metrics : str or list of str
        Such as "ndcg@10" or "map-l2", where -l2 says that labels from 2 on are relevant.
    return_mean, return_std : bool
        Whether to give means, and standard deviations beside them, or each query's value in the order of the ids.
    threads : int
        How many threads to use; 0 for as many as there are CPUs.
    save_results_in_run : bool
        Whether `run.scores` and `run.mean_scores` are filled in.
    make_comparable : bool
        Whether queries on one side only are left out or take the value 0, instead of an error; the run stays as it is.

    Returns
    -------
    float, array, or dict of them by metric
    """
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    asked = [metric_of(name) for name in names]
    truth = qrels if isinstance(qrels, Qrels) else Qrels.viewing(qrels)
    ranked = run if isinstance(run, Run) else Run.viewing(run)
    if make_comparable and ranked.keys() != truth.keys():
        ranked = Run.viewing(ranked._rows).make_comparable(truth)
    if truth.keys() != ranked.keys():
        odd = sorted(truth.keys() ^ ranked.keys())
        raise MismatchError(
            f"Qrels and Run query ids do not match: {odd[0]!r} is on one side only, one of {len(odd)}. Pass "
            "`make_comparable=True` to add empty results for queries missing from the run and remove those not "
            "appearing in qrels."
        )
    columns = dict(zip(names, _values(truth, ranked, asked, threads).T, strict=True))
    means = {name: _aggregate(column, return_std and return_mean) for name, column in columns.items()}
    if isinstance(run, Run) and save_results_in_run:
        _save(run, truth.get_query_ids(), columns, means)
    found: dict[str, Any] = means if return_mean else columns
    return found[names[0]] if len(names) == 1 else found


def metric_of(name: Any) -> Metric:
    """A metric of ranx's as one of ours: ``name@k-llevel``."""
    if not isinstance(name, str):
        raise MismatchError(f"`metrics` must be texts, but one is {name!r}")
    text, _, level = name.partition("-l")
    base, _, cutoff = text.partition("@")
    if base not in METRICS:
        raise UnknownMetricError(
            f"Metric {base} not supported.{nearest(base, METRICS)} Supported metrics are {', '.join(METRICS)}"
        )
    k, rel = (_whole(part, name) for part in (cutoff or "0", level or "1"))
    if k < 0 or rel < 1:
        raise MismatchError(f"the cutoff must be 0 or more and the level 1 or more, but the metric is {name!r}")
    has_cutoff = k > 0 and base != "r-precision"  # for which ranx looks at none
    known = METRICS[base] @ k if has_cutoff else METRICS[base]
    return known if rel == 1 else known(rel=rel)


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(f"cutoff and level must be whole numbers, but the metric is {name!r}") from None


def _values(qrels: Qrels, run: Run, metrics: list[Metric], threads: int) -> Array:
    """One value a query and metric, in the order of the queries' ids; 0 where nothing was judged."""
    judged = run.judged(qrels)
    found = values_of(judged, metrics, CONVENTION, threads or None)
    if len(judged.queries) == len(qrels):
        return found
    values = np.zeros((len(qrels), len(metrics)))
    values[np.isin(qrels.get_query_ids(), judged.queries)] = found
    return values


def _aggregate(column: Array, with_std: bool) -> Any:
    return {"mean": np.mean(column), "std": np.std(column)} if with_std else np.mean(column)


def _save(run: Run, queries: list[str], columns: dict[str, Array], means: dict[str, Any]) -> None:
    for name, column in columns.items():
        has_std = isinstance(means[name], dict)
        run.mean_scores[name] = means[name]["mean"] if has_std else means[name]
        if has_std:
            run.std_scores[name] = means[name]["std"]
        run.scores[name] = dict(zip(queries, column.tolist(), strict=True))


def __getattr__(name: str) -> Any:
    if name in ("Report", "compare"):  # which need what is above
        return getattr(import_module("fastndcg.compat.ranx_report"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

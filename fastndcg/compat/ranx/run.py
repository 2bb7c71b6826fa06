"""ranx's `Run`, exported by `fastndcg.compat.ranx`."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any, Self

from fastndcg.choices import RanxRunKind
from fastndcg.compat.ranx.files import RUN_KINDS, get_file_kind, list_run_lines, save_rows
from fastndcg.compat.ranx.qrels import Qrels
from fastndcg.compat.ranx.ranxhub import read_run
from fastndcg.compat.ranx.table import Table
from fastndcg.inputs.dict_qrels import DictQrels, Judged


class Run(Table):
    """
    A system's ranking {query: {document: score}}.

    Parameters
    ----------
    run : dict of dict of float, optional
        The scores, which are copied. By default empty. `add` adds some.
    name : str, optional
        The name of the system.

    Attributes
    ----------
    sorted : bool
        True if queries stand by id, and the documents of each query by falling score. False after `add_score`.
    scores : dict
        {metric: {query: value}}, saved by `evaluate`.
    mean_scores : dict
        {metric: mean}, saved by `evaluate`.
    std_scores : dict
        {metric: standard deviation}, saved by `evaluate` with ``return_std=True``.
    metadata : dict
        Free for the user, empty at first.

    Examples
    --------
    >>> Run({"q1": {"d1": 0.5, "d2": 0.9}}, name="bm25")
    {'q1': {'d2': 0.9, 'd1': 0.5}}
    """

    kind = float
    kinds = RUN_KINDS
    _judged: tuple[DictQrels, bool, Judged] | None  # the judgments, True if unjudged documents are marked, the result

    def __init__(self, run: dict[str, dict[str, float]] | None = None, name: str | None = None) -> None:
        super().__init__(run, name)
        self.metadata: dict[str, Any] = {}
        self.scores: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        self.mean_scores: dict[str, Any] = {}
        self.std_scores: dict[str, Any] = {}

    @property
    def run(self) -> dict[str, dict[str, float]]:
        """
        The scores themselves. A change of them is seen by the next evaluation, which then caches nothing.

        Assigning a dict of dicts replaces all scores.
        """
        return self._share()

    @run.setter
    def run(self, rows: dict[str, dict[str, float]]) -> None:
        self._replace(self.check_rows(rows))
        self._is_shared = True

    @classmethod
    def from_ranxhub(cls, id: str) -> Self:
        """
        Load a run of ranxhub.

        A run that ranx downloaded before is read from ranx's folder, ``~/.ranx``. Other runs are downloaded by ranx
        itself, which must be installed.

        Parameters
        ----------
        id : str
            The run, such as "msmarco-passage/trec-dl-2020/ranxhub/ance".

        Returns
        -------
        Run
            The run with its name, and the run card as `metadata`.

        Raises
        ------
        MissingPackageError
            If ranx has to download the run and is not installed, or lz4 or cbor2 is not.
        """
        scores, card = read_run(id)
        run = cls(scores, card["run"]["name"])
        run.metadata = card
        return run

    def make_comparable(self, qrels: Qrels) -> Run:
        """
        Remove queries without judgments, and add an empty ranking for each query that is missing.

        Parameters
        ----------
        qrels : Qrels
            The judgments.

        Returns
        -------
        Run
            The run itself.
        """
        self._replace({query: self._rows.get(query, {}) for query in qrels.get_query_ids()})
        self.sorted = True
        return self

    def save(self, path: Any = "run.json", kind: RanxRunKind | None = None) -> None:
        """
        Write the run to a file, and sort it. If an error occurs, an older file is kept as it is.

        Parameters
        ----------
        path : str or path
            The file.
        kind : {'json', 'trec', 'gz', 'lz4', 'parquet'}, optional
            The format. 'gz' is TREC's format, compressed. 'lz4' is that of ranxhub. By default the ending of the path
            says it: .txt is 'trec', and .parq is 'parquet'.

        Raises
        ------
        InvalidInputError
            If the format is unknown, or cannot hold an id, a score or the name.
        MissingPackageError
            If the format needs a package that is not installed: pandas, or lz4 and cbor2.
        """
        file_kind = get_file_kind(path, kind, self.kinds)
        self.sort()
        save_rows(self._list_numbers(), path, file_kind, partial(list_run_lines, name=self.name))

    def judged(self, qrels: Qrels, marks_unjudged: bool = False) -> Judged:
        """
        Return the documents with their labels. The result is cached for the last judgments.

        Parameters
        ----------
        qrels : Qrels
            The judgments.
        marks_unjudged : bool
            True if a metric distinguishes unjudged documents from those with label 0, as bpref does.

        Returns
        -------
        Judged
            The queries that have judgments, and their rankings.
        """
        prepared = qrels.prepared()
        rows = self._ready_rows()
        if self._judged is None or self._judged[0] is not prepared or self._judged[1] < marks_unjudged:
            judged = prepared.judged(rows, marks_unjudged=marks_unjudged, allows_numpy=True)
            self._judged = (prepared, marks_unjudged, judged)
        return self._judged[2]

    def _clear_caches(self) -> None:
        self._judged = None

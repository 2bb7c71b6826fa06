"""ranx's `Qrels`, exported by `fastndcg.compat.ranx`."""

from __future__ import annotations

from typing import Any, Self

from fastndcg.choices import RanxQrelsKind
from fastndcg.compat.ranx.errors import LabelsError
from fastndcg.compat.ranx.files import QRELS_KINDS, get_file_kind, list_qrels_lines, save_rows
from fastndcg.compat.ranx.table import Table
from fastndcg.errors import InvalidInputError
from fastndcg.inputs.dict_qrels import DictQrels
from fastndcg.runtime.optional_packages import optional_import


class Qrels(Table):
    """
    Judgments {query: {document: label}}.

    Parameters
    ----------
    qrels : dict of dict of int, optional
        The labels, which are copied. By default empty. `add` adds some. Fractions are cut off, as in ranx.
    name : str, optional
        The name of the judgments.

    Attributes
    ----------
    sorted : bool
        True if queries stand by id, and the documents of each query by falling label. False after `add_score`.

    Examples
    --------
    >>> Qrels({"q1": {"d1": 1, "d2": 3}})
    {'q1': {'d2': 3, 'd1': 1}}
    """

    kind = int
    kinds = QRELS_KINDS
    _prepared: DictQrels | None

    def __init__(self, qrels: dict[str, dict[str, int]] | None = None, name: str | None = None) -> None:
        super().__init__(qrels, name)

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """
        The labels themselves. A change of them is seen by the next evaluation, which then caches nothing.

        Assigning a dict of dicts replaces all labels.
        """
        return self._share()

    @qrels.setter
    def qrels(self, rows: dict[str, dict[str, int]]) -> None:
        self._replace(self.check_rows(rows))
        self._is_shared = True

    @classmethod
    def from_ir_datasets(cls, dataset_id: str) -> Self:
        """
        Load the judgments of a dataset of ir_datasets, which downloads them if need be.

        Parameters
        ----------
        dataset_id : str
            The dataset, such as "msmarco-passage/trec-dl-2020/judged". It becomes the name.

        Returns
        -------
        Qrels
            The judgments.

        Raises
        ------
        MissingPackageError
            If ir_datasets is not installed.
        """
        datasets = optional_import("ir_datasets", "from_ir_datasets", "ranx")
        return cls(datasets.load(dataset_id).qrels_dict(), dataset_id)

    def set_relevance_level(self, rel_lvl: int = 1) -> None:
        """
        Lower all labels so that the label `rel_lvl` becomes 1.

        Parameters
        ----------
        rel_lvl : int
            The smallest relevant label.
        """
        for row in self._rows.values():
            for document in row:
                row[document] -= rel_lvl - 1
        self._clear_caches()

    def save(self, path: Any = "qrels.json", kind: RanxQrelsKind | None = None) -> None:
        """
        Write the judgments to a file. If an error occurs, an older file is kept as it is.

        Parameters
        ----------
        path : str or path
            The file.
        kind : {'json', 'trec', 'gz', 'parquet'}, optional
            The format. 'gz' is TREC's format, compressed. By default the ending of the path says it: .txt is 'trec',
            and .parq is 'parquet'.

        Raises
        ------
        InvalidInputError
            If the format is unknown, or cannot hold an id.
        MissingPackageError
            If 'parquet' needs pandas, which is not installed.
        """
        file_kind = get_file_kind(path, kind, self.kinds)
        save_rows(self._list_numbers(), path, file_kind, list_qrels_lines)

    def prepared(self) -> DictQrels:
        """
        Return the judgments in the form that evaluations use. The result is cached.

        Returns
        -------
        DictQrels
            The judgments.

        Raises
        ------
        LabelsError
            If a label is no integer, or is too large.
        """
        rows = self._ready_rows()
        if self._prepared is None:
            try:
                self._prepared = DictQrels(rows, is_own=not self._is_shared)
            except InvalidInputError as error:
                raise LabelsError(str(error)) from None
        return self._prepared

    def _clear_caches(self) -> None:
        self._prepared = None

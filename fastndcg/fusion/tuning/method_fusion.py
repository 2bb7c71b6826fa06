"""Fusion methods for the documents of a judged union, with the grids of their parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, Words, shorten
from fastndcg.fusion.arguments import check_absent_for
from fastndcg.fusion.conventions import FusionConvention
from fastndcg.fusion.fuse import count_majorities, find_number, fuse_union
from fastndcg.fusion.method import FusionMethod
from fastndcg.fusion.points import compute_points, has_weighted_points, is_linear
from fastndcg.fusion.union import Union
from fastndcg.kernels.lookup import load_kernels
from fastndcg.parsing import parse_call
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array

MOST_STORED = 3  # methods whose points stay in memory: 16 bytes a document of the union for two runs
# values of parameters that a method's text leaves out
GRIDS: dict[tuple[str, str], tuple[float, ...]] = {
    ("rrf", "k"): (0, 1, 2, 5, 10, 20, 40, 60, 80, 100, 200),
    ("rbc", "phi"): (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98),
    ("gmnz", "gamma"): (0, 0.25, 0.5, 1, 1.5, 2, 3),
    ("logn_isr", "sigma"): (0.001, 0.01, 0.1, 0.5, 1),
}


class PointStore:
    """The points of methods for the documents of a union. Only those of the last methods stay in memory."""

    def __init__(self, union: Union, convention: FusionConvention, absent: str | None) -> None:
        self.union = union
        self.convention = convention
        self.absent = absent
        self._points: OrderedDict[FusionMethod, Array] = OrderedDict()
        self._selected: tuple[FusionMethod, Array, Array] | None = None

    def get(self, method: FusionMethod) -> Array:
        """Return the points of a method: (n_runs, n_documents) float64, NaN where a run does not count."""
        if method not in self._points:
            self._points[method] = read_only(compute_points(self.union, method, self.convention, absent=self.absent))
        self._points.move_to_end(method)
        while len(self._points) > MOST_STORED:
            self._points.popitem(last=False)
        return self._points[method]

    def select(self, method: FusionMethod, rows: Array) -> Array:
        """Return the points of some documents. The last ones stay in memory, for fusions at several weights."""
        last = self._selected
        if last is None or last[0] != method or last[1] is not rows:
            points = np.ascontiguousarray(self.get(method)[:, rows])
            last = self._selected = (method, rows, read_only(points))
        return last[2]

    def refuse(self, method: FusionMethod, weights: Array | None) -> None:
        """Raise the error of `fuse` for scores that are not finite."""
        fuse_union(self.union, method, self.convention, weights=weights, absent=self.absent)


class MethodFusion:
    """
    A fusion method with its parameters, for some documents of a union. See `Fusion`.

    Attributes
    ----------
    method : FusionMethod
        The method with its parameters.
    n_runs : int
        The number of runs.
    is_weighted : bool
        Whether the method takes weights.
    """

    def __init__(self, method: FusionMethod, store: PointStore, rows: Array) -> None:
        self.method = method
        self.n_runs = len(store.union.names)
        self.is_weighted = method.record.is_weighted
        self._store = store
        self._rows = rows

    @property
    def lines(self) -> Array | None:
        """Points that each run adds per unit of its weight, None for a method that is not linear."""
        convention = self._store.convention
        if not self.is_weighted or has_weighted_points(self.method, convention):
            return None
        if not (is_linear(self.method, convention, self._store.absent) or self.method.name == "mixed"):
            return None
        points = self._store.select(self.method, self._rows)
        if np.isinf(points).any():
            self._store.refuse(self.method, None)
        if self.method.name == "mixed":
            n_present = np.count_nonzero(~np.isnan(points), axis=0)
            points = points * np.sqrt(n_present)
        return np.nan_to_num(points)

    def fuse(self, weights: Array | None) -> Array:
        """
        Return the fused score of each document, the same as `fuse` gives.

        Parameters
        ----------
        weights : (n_runs,) array or None
            The weight of each run. None: 1 each.
        """
        union = self._store.union
        convention = self._store.convention
        factors = np.ones(self.n_runs) if weights is None else np.ascontiguousarray(weights, "f8")
        if self.method.record.points == "ranks":
            return count_majorities(union, factors, convention)[self._rows]
        if has_weighted_points(self.method, convention):
            all_points = compute_points(union, self.method, convention, absent=self._store.absent, weights=factors)
            points = read_only(np.ascontiguousarray(all_points[:, self._rows]))
            factors = np.ones(self.n_runs)
        else:
            points = self._store.select(self.method, self._rows)
        file, _, name = self.method.record.kernel.partition(".")
        fused = np.empty(len(self._rows))
        kernel = getattr(load_kernels(f"fusion.{file}"), name)
        kernel(points, read_only(factors), find_number(self.method), 0, len(fused), fused)
        if not np.isfinite(fused).all():
            self._store.refuse(self.method, weights)
        return fused

    def select(self, places: Array) -> MethodFusion:
        """Return the fusion of some of these documents."""
        return MethodFusion(self.method, self._store, self._rows[places])


def read_methods(
    methods: Sequence[str] | str, convention: FusionConvention, absent: str | None = None
) -> list[tuple[str, list[FusionMethod]]]:
    """Return the text of each method, and one method for each point of the grid of the parameters it leaves out."""
    many = methods if isinstance(methods, Iterable) and not isinstance(methods, str) else [methods]
    texts = list(many)
    if any(not isinstance(text, str | FusionMethod) for text in texts):
        raise InvalidTypeError(
            f"`methods` must be a list of methods such as ['rrf', 'wsum(norm=min_max)'], not {shorten(methods)}"
        )
    parsed = [(text, FusionMethod.parse(text)) for text in texts]
    if not parsed:
        raise InvalidInputError("`methods` must have one method or more, but is empty. Pass ['rrf']")
    families: list[tuple[str, list[FusionMethod]]] = []
    for text, method in parsed:
        if method.record.needs_training:
            raise InvalidInputError(
                f"`methods` must be methods without training, but {method.name} learns from judgments. Take ",
                Words("fuse(train=...)", "`fastndcg fuse --train`"),
                " for it",
            )
        check_absent_for(method, absent)
        if str(method) in dict(families):
            raise InvalidInputError(f"`methods` must differ, but {method} occurs twice. Leave one out")
        families.append((str(method), _list_grid(text, method, convention)))
    return families


def _list_grid(text: str | FusionMethod, method: FusionMethod, convention: FusionConvention) -> list[FusionMethod]:
    """Return the method with each value of a parameter that its text leaves out, or the method alone."""
    settings = dict(method.parameters) if isinstance(text, FusionMethod) else parse_call(text)[1]
    for (name, parameter), values in GRIDS.items():
        if name == method.name and parameter not in settings:
            is_rrf = name == "rrf"  # 1 / (k + first rank) must be finite
            return [
                method.replace(**{parameter: value})
                for value in values
                if not is_rrf or value + convention.first_rank > 0
            ]
    return [method]


def note_on_grid(methods: Sequence[FusionMethod], place: int) -> list[str]:
    """Return a remark if the best parameter is at an end of its grid. 0 is no end: parameters are not negative."""
    method = methods[place]
    for name, parameter in GRIDS:
        if name == method.name and len(methods) > 1 and place in (0, len(methods) - 1) and method.get(parameter):
            values = [other.get(parameter) for other in methods]
            return [
                f"best {parameter} of {name}: {method.get(parameter):g}, an end of the grid from {min(values):g} to "
                f"{max(values):g}; a value beyond it may be better"
            ]
    return []

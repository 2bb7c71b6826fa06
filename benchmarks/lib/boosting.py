"""
Training loops of LightGBM and XGBoost, with the library's own metric and with ours.

Three boosters train alike on some of the queries, on two threads: one with nDCG@10 of the library, one with ours by
its callback, and one with a custom metric that returns a constant. Each evaluates all queries once after each round, as
`lgb.train` does: a second evaluation by the same booster finds its scores ready. The constant shows how long the
library takes to pass its scores to Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import fastndcg as fn
from benchmarks.lib.timing import round_figure, time_call

FIRST_ROUNDS = 5  # reported separately: few trees give few different scores, and most documents tie
THREADS = 2
VERIFIED_SHAPE = (40, 12)  # queries and documents of the case that is compared with the reference
K = 10
TRAINING_QUERIES = 500
FEATURES = 8
SIDES = ("theirs", "ours", "constant")


class Loop(NamedTuple):
    """A round of training, the evaluations that follow it, and the scores that they evaluate."""

    update: Callable[[], Any]
    theirs: Callable[[], float]
    ours: Callable[[], float]
    constant: Callable[[], Any]
    scores: Callable[[], np.ndarray]
    tolerance: float


class BoostingCase(NamedTuple):
    """Features and labels of all documents, and the documents per query. Boosters learn from the first queries."""

    features: np.ndarray
    labels: np.ndarray
    n_documents: int

    def make_groups(self, n_queries: int | None = None) -> np.ndarray:
        """Return the sizes of the first queries, or of all."""
        return np.full(len(self.labels) // self.n_documents if n_queries is None else n_queries, self.n_documents)


def make_boosting_case(n_queries: int, n_documents: int) -> BoostingCase:
    """Make labels from 0 to 4, over half of them 0, and features that predict them in part."""
    random = np.random.default_rng(0)
    features = random.random((n_queries * n_documents, FEATURES), dtype="f4")
    labels = features[:, :3].sum(axis=1) * 2 - 3 + random.normal(size=len(features))
    return BoostingCase(features, np.clip(labels.round(), 0, 4).astype("f4"), n_documents)


def prepare_lightgbm(case: BoostingCase, convention: str) -> Loop:
    """Prepare `Booster.eval_valid`, as `lgb.train` calls it."""
    import lightgbm as lgb

    from fastndcg.integrations.lightgbm import metric

    feval = metric(f"ndcg@{K}", convention=convention, threads=THREADS)
    n_training = min(TRAINING_QUERIES, len(case.make_groups()))
    documents = slice(n_training * case.n_documents)
    train = lgb.Dataset(case.features[documents], case.labels[documents], group=case.make_groups(n_training))
    options = {"objective": "lambdarank", "num_threads": THREADS, "verbosity": -1, "eval_at": [K]}
    boosters = []
    for name in ("ndcg", "None", "None"):
        booster = lgb.Booster(options | {"metric": name}, train)
        valid = lgb.Dataset(case.features, case.labels, group=case.make_groups(), reference=train)
        boosters.append(booster.add_valid(valid, "valid"))
    return Loop(
        lambda: [booster.update() for booster in boosters],
        lambda: boosters[0].eval_valid()[0][2],
        lambda: boosters[1].eval_valid(feval)[0][2],
        lambda: boosters[2].eval_valid(lambda scores, data: ("constant", 0.0, True)),
        lambda: boosters[1].predict(case.features),
        1e-12,
    )


def prepare_xgboost(case: BoostingCase, convention: str) -> Loop:
    """Prepare `Booster.eval_set`, as `xgboost.train` calls it."""
    import xgboost as xgb

    from fastndcg.integrations.xgboost import metric

    custom = metric(f"ndcg@{K}", convention=convention, threads=THREADS)
    n_training = min(TRAINING_QUERIES, len(case.make_groups()))
    documents = slice(n_training * case.n_documents)
    train = xgb.DMatrix(case.features[documents], case.labels[documents], group=case.make_groups(n_training))
    options = {"objective": "rank:ndcg", "nthread": THREADS, "verbosity": 0}
    pairs = []
    without_metric = {"disable_default_eval_metric": 1}
    for choice in ({"eval_metric": f"ndcg@{K}"}, without_metric, without_metric):
        valid = xgb.DMatrix(case.features, case.labels, group=case.make_groups())
        pairs.append((xgb.Booster(options | choice, [train, valid]), [(valid, "valid")]))
    library_booster, library_sets = pairs[0]
    own_booster, own_sets = pairs[1]
    constant_booster, constant_sets = pairs[2]
    rounds = iter(range(1 << 20))

    def update() -> None:
        number = next(rounds)
        for booster, _ in pairs:
            booster.update(train, number)

    return Loop(
        update,
        lambda: read_value(library_booster.eval_set(library_sets)),
        lambda: read_value(own_booster.eval_set(own_sets, feval=custom, output_margin=False)),
        lambda: constant_booster.eval_set(
            constant_sets, feval=lambda scores, data: ("constant", 0.0), output_margin=False
        ),
        lambda: own_booster.predict(own_sets[0][0]),
        1e-6,  # XGBoost prints six digits of a custom metric
    )


def read_value(line: str) -> float:
    """Return the value in a line that XGBoost prints."""
    return float(re.fullmatch(r"\[0\]\tvalid-\S+:(\S+)", line)[1])  # type: ignore[index]


class LoopKind(NamedTuple):
    """A set-up, the convention of our metric, and whether its values equal the library's."""

    prepare: Callable[[BoostingCase, str], Loop]
    convention: str
    is_equal: bool


LOOPS = {
    "LightGBM": LoopKind(prepare_lightgbm, "lightgbm", True),
    "LightGBM, convention default": LoopKind(prepare_lightgbm, "default", False),
    "XGBoost": LoopKind(prepare_xgboost, "xgboost", True),
    "XGBoost, convention default": LoopKind(prepare_xgboost, "default", False),
}


def measure_loop(name: str, n_queries: int, n_documents: int, n_rounds: int) -> dict[str, dict[str, float]]:
    """
    Return the shortest milliseconds of each side, in the first rounds and in the later ones.

    The very first round, which prepares data, does not count. Raises ValueError if our value differs from the
    library's in any round, or from the reference on a small case.
    """
    kind = LOOPS[name]
    verify_loop(name)
    loop = kind.prepare(make_boosting_case(n_queries, n_documents), kind.convention)
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    for number in range(n_rounds + 1):
        loop.update()
        values = {}
        for side in SIDES if number % 2 else SIDES[::-1]:
            seconds, values[side] = time_call(getattr(loop, side))
            times[side].append(seconds * 1e3)
        if kind.is_equal and not abs(values["ours"] - values["theirs"]) <= loop.tolerance:
            raise ValueError(
                f"our value must equal that of {name}, but ours is {values['ours']!r} and theirs {values['theirs']!r}"
                f" in round {number}"
            )
    return {
        "first": {side: round_figure(min(values[1 : FIRST_ROUNDS + 1])) for side, values in times.items()},
        "later": {side: round_figure(min(values[FIRST_ROUNDS + 1 :] or values[1:])) for side, values in times.items()},
    }


def verify_loop(name: str) -> None:
    """Raise ValueError if a value of three rounds on a small case differs from the reference."""
    kind = LOOPS[name]
    case = make_boosting_case(*VERIFIED_SHAPE)
    loop = kind.prepare(case, kind.convention)
    for _ in range(3):
        loop.update()
        expected = fn.reference.evaluate(
            case.labels, loop.scores(), f"nDCG@{K}", groups=case.make_groups(), convention=kind.convention
        ).means()[0]
        if not abs(loop.ours() - expected) <= loop.tolerance:
            raise ValueError(f"our value must equal the reference's, but ours is {loop.ours()!r}, not {expected!r}")

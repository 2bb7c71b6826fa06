"""Values of systems for the tests of statistics: seeded, skewed, some undefined."""

import math

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.results.results import Results
from fastndcg.statistics.sampling_design import make_design
from fastndcg.statistics.settings import Settings

METRICS = (fn.nDCG @ 10, fn.AP, fn.RR)


def drawn(seed, n, n_metrics=3, n_systems=2, lift=0.05, missing=0.0):
    """Return the (n, n_metrics) values of each system, from 0 to 1, with slightly better values for later systems."""
    generator = np.random.default_rng(seed)
    ease = generator.beta(0.7, 0.7, (n, n_metrics))
    columns = []
    for system in range(n_systems):
        noise = generator.normal(system * lift, 0.2, (n, n_metrics))
        values = np.clip(ease + noise, 0, 1)
        values[generator.random((n, n_metrics)) < missing] = np.nan
        columns.append(values)
    return columns


def results_of(values, ids=None, convention="default", metrics=METRICS):
    ids = np.array([f"q{place}" for place in range(len(values))], object) if ids is None else np.array(ids)
    return Results(np.asarray(values, "f8"), metrics[: np.shape(values)[1]], ids, fn.conventions[convention])


def results_by_name(columns, **given):
    return {name: results_of(values, **given) for name, values in zip("abcdefghij", columns, strict=False)}


def simple_design(n, **given):
    return make_design(np.arange(n), **given)


def settings(**given):
    return Settings(**({"replicates": 1000} | given))


def find_tango_score(wins, losses, n, difference):
    """Return Tango's score of paired 0/1 values: a search maximises the likelihood over the share of losses."""
    optimize = pytest.importorskip("scipy.optimize")
    lowest, highest = max(0.0, -difference), (1 - difference) / 2

    def lose(share):
        chances = np.maximum([share + difference, share, 1 - difference - 2 * share], 1e-300)
        return -float(np.dot([wins, losses, n - wins - losses], np.log(chances)))

    share = optimize.minimize_scalar(lose, bounds=(lowest, highest), method="bounded", options={"xatol": 1e-13}).x
    return (n * difference - (wins - losses)) / math.sqrt(n * (2 * share + difference * (1 - difference)))

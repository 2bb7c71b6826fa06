"""
Record what ppi-python, krippendorff, scikit-learn, SciPy and autojudge-evaluate compute, in recorded.json beside this.

Usage: pip install ppi-python krippendorff scikit-learn autojudge-evaluate; python tests/data/judges/record.py
"""

import importlib.util
import json
import random
from importlib.metadata import files, version
from pathlib import Path

import krippendorff
import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score

PROGRAMS = ("ppi-python", "krippendorff", "scikit-learn", "scipy", "autojudge-evaluate")
SIZES = ((60, 300), (60, 40), (400, 1200))  # of human queries, and of others
NOISE = (0.1, 0.5, 2.0)


def main() -> None:
    """Record all programs."""
    generator = random.Random(51)
    content = {
        "versions": {name: version(name) for name in PROGRAMS},
        "means": [record_mean(generator, n, n_others, noise) for n, n_others in SIZES for noise in NOISE],
        "labels": [record_labels(generator, n_labels, n) for n_labels, n in ((2, 30), (4, 50), (4, 8), (7, 300))],
        "orders": [record_order(generator, has_ties) for has_ties in (False, False, True, True, True)],
    }
    Path(__file__).with_name("recorded.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")


def record_mean(generator: random.Random, n: int, n_others: int, noise: float) -> dict:
    """Record the mean of ppi-python without the judge, with weight 1, and with the weight that it fits."""
    truth = [generator.betavariate(2, 1) for _ in range(n + n_others)]
    judged = [round(value + 0.2 + generator.gauss(0, noise * 0.2), 4) for value in truth]
    human = [round(value, 4) for value in truth[:n]]
    arrays = [np.array(values)[:, None] for values in (human, judged[:n], judged[n:])]
    fitted = [float(bound[0]) for bound in ppi_mean_ci(*arrays, alpha=0.05, lam=None)]
    return {
        "human": human, "judge": judged[:n], "others": judged[n:],
        "without": float(ppi_mean_pointestimate(*arrays, lam=0)[0]),
        "with": float(ppi_mean_pointestimate(*arrays, lam=1)[0]),
        "fitted": float(ppi_mean_pointestimate(*arrays, lam=None)[0]), "interval": fitted,
    }  # fmt: skip


def record_labels(generator: random.Random, n_labels: int, n: int) -> dict:
    """Record kappa and alpha of labels of which most agree."""
    human = [generator.randrange(n_labels) for _ in range(n)]
    judge = [label if generator.random() < 0.6 else generator.randrange(n_labels) for label in human]
    kappa = cohen_kappa_score(human, judge, weights="quadratic", labels=list(range(n_labels)))
    alpha = krippendorff.alpha(reliability_data=[human, judge], level_of_measurement="ordinal")
    return {"human": human, "judge": judge, "kappa": float(kappa), "alpha": float(alpha)}


def record_order(generator: random.Random, has_ties: bool) -> dict:
    """Record tau_b, and tau_ap_b of autojudge-evaluate, of the means of systems."""
    n_levels = 5 if has_ties else 10**6
    human = [generator.randrange(n_levels) / n_levels for _ in range(9)]
    judge = [(value * n_levels + generator.randrange(n_levels // 2)) / n_levels for value in human]
    (path,) = (file.locate() for file in files("autojudge-evaluate") if file.name == "pyircore.py")
    spec = importlib.util.spec_from_file_location("pyircore", path)  # the package loads data of NLTK
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {"human": human, "judge": judge, "tau_b": float(kendalltau(human, judge).statistic),
            "tau_ap_b": float(module.tauap_b(human, judge))}  # fmt: skip


if __name__ == "__main__":
    main()

"""
Record what ranx and trectools fuse from random runs, in tests/data/peers/fusion.json.

Usage: python tests/data/peers/record_fusion.py ranx|trectools

Each program is recorded with the versions that are installed. The values of the other program stay as they are.
"""

from __future__ import annotations

import json
import random
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

PATH = Path(__file__).resolve().parent / "fusion.json"
NORMS = {
    "none": None, "min_max": "min-max", "min_max_inverted": "min-max-inverted", "max": "max", "sum": "sum",
    "z_score": "zmuv", "rank": "rank", "borda": "borda",
}  # fmt: skip
SCORE_METHODS = ("min", "max", "med", "sum", "anz", "mnz", "gmnz", "wsum", "mixed", "wmnz")
RANK_METHODS = {
    "rrf": "rrf(k=20)", "isr": "isr", "log_isr": "log_isr", "logn_isr": "logn_isr(sigma=0.3)", "rbc": "rbc(phi=0.7)",
    "bordafuse": "borda", "w_bordafuse": "wborda", "condorcet": "condorcet", "w_condorcet": "wcondorcet",
}  # fmt: skip
PARAMETERS = {
    "gmnz": {"gamma": 0.5}, "rrf": {"k": 20}, "logn_isr": {"sigma": 0.3}, "rbc": {"phi": 0.7}, "slidefuse": {"w": 3},
}  # fmt: skip
WEIGHTED = ("wsum", "mixed", "wmnz", "w_bordafuse", "w_condorcet")
WEIGHTS = [0.2, 0.5, 0.3]
TRAINED = {
    "bayesfuse": "log_odds", "probfuse": "probs", "segfuse": "probs", "slidefuse": "probs", "posfuse": "probs",
    "mapfuse": "map_scores",
}  # fmt: skip
N_SEGMENTS = 4
STRATEGIES = ("sum", "max", "min", "anz", "mnz", "med")

Run = dict[str, dict[str, float]]


def main() -> None:
    """Record one program."""
    record = {"ranx": record_ranx, "trectools": record_trectools}[sys.argv[1]]
    content = json.loads(PATH.read_text()) if PATH.exists() else {}
    content |= make_inputs()
    content[sys.argv[1]] = {
        "version": version(sys.argv[1]),
        "command": f"python tests/data/peers/record_fusion.py {sys.argv[1]}",
        "fused": record(content),
    }
    PATH.write_text(json.dumps(content, indent=None, sort_keys=True, separators=(",", ":")) + "\n")


def make_inputs() -> dict[str, Any]:
    """Return runs without ties, judgments, and runs of the same documents whose majorities have no circle."""
    generator = random.Random(24)
    documents = [f"d{number}" for number in range(14)]
    queries = [f"q{number}" for number in range(4)]
    runs = [
        {query: _score(generator, generator.sample(documents, generator.randint(2, 12))) for query in queries}
        for _ in range(3)
    ]
    qrels = {
        query: {document: generator.randint(0, 2) for document in generator.sample(documents, 8)} for query in queries
    }
    for labels in qrels.values():
        labels[documents[0]] = 1
    return {"runs": runs, "qrels": qrels, "complete_runs": _make_complete_runs(generator, queries)}


def _make_complete_runs(generator: random.Random, queries: list[str]) -> list[Run]:
    documents = [f"d{number}" for number in range(6)]
    runs: list[Run] = [{}, {}, {}]
    for query in queries:
        while True:
            orders = [generator.sample(documents, len(documents)) for _ in runs]
            if _is_transitive(orders, [1, 1, 1]) and _is_transitive(orders, WEIGHTS):
                break
        for run, order in zip(runs, orders, strict=True):
            run[query] = {document: float(len(order) - place) for place, document in enumerate(order)}
    return runs


def _is_transitive(orders: list[list[str]], votes: list[float]) -> bool:
    """Return True if the numbers of majorities are all different, so that there is no circle and no draw."""
    wins = []
    for document in orders[0]:
        margins = [
            sum(
                vote if order.index(document) < order.index(other) else -vote
                for vote, order in zip(votes, orders, strict=True)
            )
            for other in orders[0]
            if other != document
        ]
        if 0 in margins:
            return False
        wins.append(sum(margin > 0 for margin in margins))
    return len(set(wins)) == len(wins)


def _score(generator: random.Random, documents: list[str]) -> dict[str, float]:
    """Return a score for each document, all different."""
    scores = generator.sample(range(1, 400), len(documents))
    return {document: score / 16 for document, score in zip(documents, scores, strict=True)}


def record_ranx(content: dict[str, Any]) -> dict[str, Any]:
    """Return the runs that ranx fuses, by the text of our method."""
    import ranx
    import ranx.fusion

    qrels = ranx.Qrels(
        {query: {d: label for d, label in labels.items() if label} for query, labels in content["qrels"].items()}
    )
    fused = {}

    def fuse(method: str, text: str, norm: str | None = None, **parameters: Any) -> None:
        runs = content["complete_runs"] if "condorcet" in method else content["runs"]
        if method in WEIGHTED:
            parameters["weights"] = WEIGHTS
        values = ranx.fuse([ranx.Run(run) for run in runs], norm, method, PARAMETERS.get(method, {}) | parameters)
        fused[text] = {query: dict(row) for query, row in values.run.items()}

    for method in SCORE_METHODS:
        for ours, theirs in NORMS.items():
            gamma = "gamma=0.5," if method == "gmnz" else ""
            fuse(method, f"{method}({gamma}norm={ours})", theirs)
    for method, text in RANK_METHODS.items():
        fuse(method, text)
    for method, parameter in TRAINED.items():
        train = getattr(ranx.fusion, f"{method}_train")
        numbers = (N_SEGMENTS,) if method == "probfuse" else ()
        learned = train(qrels, [ranx.Run(run) for run in content["runs"]], *numbers)
        text = {"probfuse": "probfuse(n_segments=4)", "slidefuse": "slidefuse(w=3)"}.get(method, method)
        fuse(method, text, "min-max" if method == "segfuse" else None, **{parameter: learned})
    return fused


def record_trectools(content: dict[str, Any]) -> dict[str, Any]:
    """Return the runs that trectools fuses from the first two runs, by the text of our method."""
    import pandas
    from trectools import TrecRun, fusion

    runs = []
    for rows in content["runs"][:2]:
        run = TrecRun(None)
        ordered = [
            (query, "Q0", document, place, score, "system")
            for query, row in rows.items()
            for place, (document, score) in enumerate(sorted(row.items(), key=lambda pair: -pair[1]), start=1)
        ]
        run.load_run_from_dataframe(
            pandas.DataFrame(ordered, columns=["query", "q0", "docid", "rank", "score", "system"])
        )
        runs.append(run)
    fused = {strategy: fusion.combos(runs, strategy=strategy) for strategy in STRATEGIES}
    fused["rrf(k=20)"] = fusion.reciprocal_rank_fusion(runs, k=20)
    fused["rbc(phi=0.7)"] = fusion.rank_biased_precision_fusion(runs, p=0.7)
    return {text: _read_frame(run.run_data) for text, run in fused.items()}


def _read_frame(frame: Any) -> dict[str, dict[str, float]]:
    rows: dict[str, dict[str, float]] = {}
    for query, document, score in frame[["query", "docid", "score"]].itertuples(index=False):
        rows.setdefault(query, {})[document] = float(score)
    return rows


if __name__ == "__main__":
    main()

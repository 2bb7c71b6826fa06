"""
Time whole processes from their start to the first value, and write the table into the guide on speed.

Usage: python -m benchmarks.record_start WHEEL_PYTHON PEERS_PYTHON [--trec-eval PROGRAM]

WHEEL_PYTHON is a Python with the built wheel and NumPy, PEERS_PYTHON one with the other libraries. Each process
evaluates nDCG@10 of four documents, and its value is checked. A figure is the least processor time of seven processes,
with compiled .pyc files and files that the system has in memory, over that of `import numpy`. OpenBLAS has one thread:
its other threads spin for some 0.03 s after NumPy is imported, which no work causes.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

from benchmarks.figures import fill_section
from benchmarks.record import ROOT

GUIDE = ROOT / "docs" / "guides" / "speed_and_threads.md"
ROUNDS = 7
EXPECTED = f"{(1 + 2 / 2) / (2 + 1 / 1.584962500721156):.4f}"  # labels 1, 0, 2 in rank order
ARRAYS = "import numpy as np\nlabels = np.array([[1, 0, 2, 0]])\nscores = np.array([[4.0, 3.0, 2.0, 1.0]])\n"
DICTS = "qrels = {'q': {'a': 1, 'b': 0, 'c': 2, 'd': 0}}\nrun = {'q': {'a': 4.0, 'b': 3.0, 'c': 2.0, 'd': 1.0}}\n"
FASTNDCG = f"{ARRAYS}import fastndcg as fn\nprint(round(fn.evaluate(labels, scores, 'ndcg@10').mean()['nDCG@10'], 4))"
PEERS = {
    "scikit-learn": (
        f"{ARRAYS}from sklearn.metrics import ndcg_score\nprint(round(float(ndcg_score(labels, scores, k=10)), 4))"
    ),
    "pytrec_eval": (
        f"{DICTS}import pytrec_eval\nfound = pytrec_eval.RelevanceEvaluator(qrels, {{'ndcg_cut.10'}}).evaluate(run)\n"
        "print(round(found['q']['ndcg_cut_10'], 4))"
    ),
    "torchmetrics": (
        "import torch\nfrom torchmetrics.functional.retrieval import retrieval_normalized_dcg\n"
        "print(round(float(retrieval_normalized_dcg(torch.tensor([4.0, 3, 2, 1]), torch.tensor([1, 0, 2, 0]), 10)), 4))"
    ),
    "ranx": (
        f"{DICTS}from ranx import Qrels, Run, evaluate\n"
        "print(round(float(evaluate(Qrels(qrels), Run(run), 'ndcg@10')), 4))"
    ),
}
VERSIONS = "from importlib.metadata import version; print(version({name!r}))"
PACKAGES = {"pytrec_eval": "pytrec_eval-terrier"}


def main() -> int:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel_python")
    parser.add_argument("peers_python")
    parser.add_argument("--trec-eval")
    arguments = parser.parse_args()
    floor = measure([arguments.wheel_python, "-c", "import numpy"], "")
    rows = [(f"fastndcg {read_version(arguments.wheel_python, 'fastndcg')}, the built wheel",
             measure([arguments.wheel_python, "-c", FASTNDCG], EXPECTED))]  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        command = [arguments.wheel_python, "-m", "fastndcg", "evaluate", str(folder / "qrels"), str(folder / "run")]
        rows.append(("the same, command line", measure([*command, "-m", "ndcg@10"], EXPECTED)))
        if arguments.trec_eval:
            command = [arguments.trec_eval, "-m", "ndcg_cut.10", str(folder / "qrels"), str(folder / "run")]
            rows.append(("trec_eval, a program in C", measure(command, EXPECTED)))
    for library, code in PEERS.items():
        label = f"{library} {read_version(arguments.peers_python, PACKAGES.get(library, library))}"
        rows.append((label, measure([arguments.peers_python, "-c", code], EXPECTED)))
    write_table(rows, floor, arguments.wheel_python)
    return 0


def measure(command: list[str], expected: str) -> float:
    """Return the least processor time of a command in seconds, after a check of what it prints."""
    left_out = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    environment["OPENBLAS_NUM_THREADS"] = "1"
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    if expected not in printed:
        raise SystemExit(f"{command} must print {expected}, but prints {printed!r}")
    times = []
    for _ in range(ROUNDS):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
            usage = os.wait4(process.pid, 0)[2]
            process.returncode = 0
        times.append(usage.ru_utime + usage.ru_stime)
    return min(times)


def read_version(python: str, package: str) -> str:
    """Return the version of a package that a Python has."""
    code = VERSIONS.format(name=package)
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def write_files(folder: Path) -> None:
    """Write the four documents as TREC files."""
    (folder / "qrels").write_text("".join(f"q 0 {d} {label}\n" for d, label in zip("abcd", (1, 0, 2, 0), strict=True)))
    (folder / "run").write_text("".join(f"q Q0 {d} {r} {5 - r} tag\n" for r, d in enumerate("abcd", start=1)))


def write_table(rows: list[tuple[str, float]], floor: float, python: str) -> None:
    """Write the table between its markers in the guide."""
    lines = [
        "| from the start of a process to its first value | processor time | in `import numpy` |",
        "| :-- | --: | --: |",
    ]
    lines += [
        f"| {name} | {seconds:.2f} s | {seconds / floor:.1f} |" for name, seconds in sorted(rows, key=lambda r: r[1])
    ]
    versions = f"Python {platform.python_version()}, NumPy {read_version(python, 'numpy')}"
    lines.append(
        f"\nnDCG@10 of four documents, least of {ROUNDS} processes, OpenBLAS with one thread. "
        f"`import numpy` takes {floor:.2f} s.\n"
        f"Measured on {date.today()} on {os.cpu_count()} CPUs ({platform.machine()}), {versions}."
    )
    GUIDE.write_text(fill_section(GUIDE.read_text(encoding="utf-8"), "start", "\n".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

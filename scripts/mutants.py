"""
Mutate a part of the package by cosmic-ray, and run for each mutant the tests that run its line.

Usage: scripts/test --mutants PART... [--sample N] [--jobs N]

PART is a folder or a file of fastndcg/. Everything runs in copies. The first run stores which test runs which line,
until a file of fastndcg/ or tests/ changes. A mutant is killed if a test fails, crashes or hangs. Others are printed as
`EQUIVALENT` takes those that no test can tell from the package. The shares are written into `PAGE`. The exit code is
the number of shares below `SHARE`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import datetime
import difflib
import functools
import hashlib
import importlib
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest
from cosmic_ray import mutating, plugins
from cosmic_ray.commands import init
from cosmic_ray.work_db import use_db
from coverage import CoverageData
from scipy.stats import binomtest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "contributing" / "testing.md"
EQUIVALENT = ROOT / "scripts" / "equivalent_mutants.txt"
OTHERS = ("benchmarks", "docs/test_[!p]*", "host", "kernels", "runtime")  # processes, and no values
TESTS = ("-m", "not peers and not stress and not newest", "-pno:cacheprovider", "--hypothesis-profile=unshrunk", *(
    f"--ignore-glob=tests/{name}" for name in OTHERS))  # fmt: skip
# Operators that raise for most operands, such as bits of floats or an order of None, would flatter the share. `is` and
# `==` of None are alike.
EXCLUDED = re.compile(
    r"core/ReplaceBinaryOperator_((?!Bit)\w+_(Bit\w+|[LR]Shift|Mod|Pow)|Bit\w+_(?!Bit|Sub)\w+)$"
    r"|core/ReplaceComparisonOperator_Is(Not)?_(?!Is)"
)
BUDGET = 30  # seconds of processor time of tests in a process
LIMIT = 300  # seconds, after which a mutant hangs
BATCHES = slice(0, 3), slice(3, 15)  # files of tests in a process, of those that run the line most
SHARE = 0.9
HEADING = "| part | mutants | run | killed | equivalent | share killed, 95 % interval | date |"
WARM = "numpy", "pandas", "pyarrow.parquet", "scipy.stats", "hypothesis.extra.numpy", "numba"
IGNORED = shutil.ignore_patterns(".*", "_build", "_generated")


class Plugin:
    """Select tests by their ids, and end when the budget is spent."""

    def __init__(self, tests: set[str]) -> None:
        self.tests = tests
        self.end = 0.0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the selected tests."""
        items[:] = [item for item in items if item.nodeid in self.tests]
        self.end = time.process_time() + BUDGET

    def pytest_runtest_logstart(self) -> None:
        """End when the budget is spent."""
        if time.process_time() > self.end:
            pytest.exit("the budget is spent", 0)


def run_tests(folder: Path, tests: set[str]) -> None:
    """Run tests in a copy, and exit with pytest's code."""
    os.setsid()
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    sys.path.insert(0, str(folder))
    os.environ.update(PYTHONPATH=str(folder), PYTHONSAFEPATH="1", FASTNDCG_TEST_INSTALLED="1")
    files = dict.fromkeys(test.split("::")[0] for test in tests)
    os._exit(pytest.main(["-q", "-x", "-n0", "--tb=no", *TESTS, *files], plugins=[Plugin(tests)]))


def make_copy(folder: Path) -> dict[str, str]:
    """Copy the repository, build the copy's kernels, and return the environment of its tests."""
    shutil.copytree(ROOT, folder, ignore=IGNORED)
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "FASTNDCG_TEST_INSTALLED": "1"}
    built = folder / "fastndcg" / "kernels" / "built"  # the user's cache keeps the libraries of ten folders
    build = [sys.executable, "-m", "fastndcg.kernels.native.build", "--output", str(built)]
    subprocess.run(build, env=environment, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    return environment


def is_killed(scratch: Path, mutation: Any, batches: list[set[str]], is_mutated: bool = True) -> bool:
    """Return True if a test fails, crashes or hangs with this mutant, in the copy of this process."""
    folder = scratch / str(os.getpid())
    if not folder.exists():
        make_copy(folder)
    os.chdir(folder)
    operator = plugins.get_operator(mutation.operator_name)(**mutation.operator_args)
    mutated = mutating.use_mutation(mutation.module_path, operator, mutation.occurrence)
    with mutated if is_mutated else contextlib.nullcontext():
        for tests in batches:
            process = multiprocessing.get_context("fork").Process(target=run_tests, args=(folder, tests))
            process.start()
            process.join(LIMIT)
            if process.is_alive():
                os.killpg(process.pid or 0, signal.SIGKILL)
                process.join()
            Path(cache_from_source(str(mutation.module_path))).unlink(missing_ok=True)
            if process.exitcode not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
                return True
    return False


def measure_lines(jobs: int) -> CoverageData:
    """Return which test runs which line."""
    digest = hashlib.sha256()
    for path in sorted([*ROOT.glob("fastndcg/**/*.py"), *ROOT.glob("tests/**/*.py")]):
        digest.update(path.read_bytes())
    found = ROOT / ".venv" / "mutants" / digest.hexdigest()[:16]
    if not found.exists():
        found.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "copy")
            environment = make_copy(folder)
            settings_file = folder / "coverage.ini"
            settings_file.write_text("[run]\nsource_pkgs = fastndcg\nomit = */kernels/*\n")
            options = ["--cov", f"--cov-config={settings_file}", "--cov-context=test", "--cov-report=", *TESTS]
            subprocess.run([sys.executable, "-m", "pytest", "-q", f"-n{jobs}", *options],
                           cwd=folder, env=environment, check=True)  # fmt: skip
            shutil.move(folder / ".coverage", found)
    data = CoverageData(str(found))
    data.read()
    return data


class Module:
    """
    The tests of the lines of a file, and where annotations stand, which no test can tell from others.

    `reach` has the number of lines that each file of tests runs.
    """

    def __init__(self, path: Path, data: CoverageData) -> None:
        self.lines = path.read_text(encoding="utf-8").splitlines()
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
        notes = [getattr(node, name, None) for node in nodes for name in ("annotation", "returns")]
        self.notes = [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in notes if n]
        self.starts = sorted({node.lineno for node in nodes if isinstance(node, ast.stmt)})
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        self.bodies = [range(node.body[0].lineno, (node.end_lineno or 0) + 1) for node in functions]
        measured = next((name for name in data.measured_files() if Path(name).as_posix().endswith(path.as_posix())), "")
        self.tests = {
            line: {context.partition("|")[0] for context in contexts if context}
            for line, contexts in data.contexts_by_lineno(measured).items()
        }
        self.reach = Counter(file for tests in self.tests.values() for file in {test.split("::")[0] for test in tests})

    def is_run(self) -> bool:
        """Return False if no test runs a function of the file: only tests of peers do."""
        return not self.bodies or any(self.tests.get(line) for body in self.bodies for line in body)

    def is_code(self, place: tuple[int, int]) -> bool:
        """Return False for what no value shows: annotations, stars of f(*arguments), zip(strict=True), cache sizes."""
        before, after = "".join(self.lines[: place[0] - 1]), self.lines[place[0] - 1]
        is_star = after[place[1]] == "*" and re.search(r"([(,[{=:]|lambda|return)\s*$", before + after[: place[1]])
        is_guard = re.search(r"\b(strict|maxsize)=$", after[: place[1]])
        is_import = after.startswith("if TYPE_CHECKING")
        return (
            not is_star and not is_guard and not is_import and not any(low <= place < high for low, high in self.notes)
        )

    def find_tests(self, line: int, everything: set[str]) -> set[str]:
        """Return the tests that run the statement of a line: everything for a line of no function."""
        if not any(line in body for body in self.bodies):
            return everything
        start = max(start for start in self.starts if start <= line)
        return set().union(*(self.tests.get(each, ()) for each in range(start, line + 1)))


def find_mutants(part: str, data: CoverageData) -> list[tuple[Any, list[set[str]]]]:
    """Return the mutants of a part with batches of their tests, in an order by chance that is always the same."""
    path = Path("fastndcg", part)
    modules = {file: Module(file, data) for file in [*path.rglob("*.py")] or [path]}
    with use_db(":memory:") as database:
        init([file for file, module in modules.items() if module.is_run()], database, {})
        mutations = [
            item.mutations[0] for item in database.work_items if not EXCLUDED.match(item.mutations[0].operator_name)
        ]
    everything = {context.partition("|")[0] for context in data.measured_contexts() if context}
    reach = sum((module.reach for module in modules.values()), Counter())
    mutants = []
    for mutation in mutations:
        module = modules[mutation.module_path]
        if module.is_code(mutation.start_pos):
            tests = module.find_tests(mutation.start_pos[0], everything)
            mutants.append((mutation, order_tests(tests, module.reach, reach)))

    def draw(mutant: tuple[Any, list[set[str]]]) -> bytes:
        return hashlib.sha256(
            f"{mutant[0].module_path} {mutant[0].operator_name} {mutant[0].occurrence}".encode()
        ).digest()

    return sorted(mutants, key=draw)


def order_tests(tests: set[str], *reaches: Counter[str]) -> list[set[str]]:
    """Return batches of tests, first the files that run most lines of the mutated file, then of the part."""
    names = {test.split("::")[0] for test in tests}
    files = sorted(names, key=lambda file: [*(-reach[file] for reach in reaches), file])
    batches = [{test for test in tests if test.split("::")[0] in files[batch]} for batch in BATCHES]
    return [batch for batch in batches if batch]


def describe_mutant(mutation: Any) -> str:
    """Return the file of a mutant, and what it removes and adds."""
    operator = plugins.get_operator(mutation.operator_name)(**mutation.operator_args)
    code = mutation.module_path.read_text(encoding="utf-8")
    lines = difflib.ndiff(code.splitlines(), mutating.mutate_code(code, operator, mutation.occurrence).splitlines())
    changed = [f"{line[0]} {line[2:].strip()}\n" for line in lines if line[0] in "-+"]
    return f"{mutation.module_path.relative_to('fastndcg').as_posix()}\n{''.join(changed)}"


def write_row(part: str, n_mutants: int, n_run: int, n_killed: int, n_equivalent: int) -> float:
    """Write the row of a part into the page, and return the share of mutants that are killed."""
    counted = binomtest(n_killed, n_run - n_equivalent)
    bounds = counted.proportion_ci(method="wilson")
    interval = f" ({bounds.low:.0%} to {bounds.high:.0%})" if n_run < n_mutants else ""
    start, rows, end = re.split("(?<=<!-- mutants -->\n)(.*)(?=<!-- /mutants -->)", PAGE.read_text("utf-8"), flags=re.S)
    found = dict(re.findall(r"^\| (`.*?`) (\|.*)$", rows, re.MULTILINE))
    facts = f"{n_mutants:,} | {n_run:,} | {n_killed:,} | {n_equivalent} | {counted.statistic:.1%}{interval}"
    found[f"`{part}`"] = f"| {facts} | {datetime.date.today()} |"
    lines = [
        HEADING,
        "| :-- | --: | --: | --: | --: | --: | --: |",
        *(f"| {name} {found[name]}" for name in sorted(found)),
    ]
    PAGE.write_text(start + "".join(f"{line}\n" for line in lines) + end, encoding="utf-8")
    return counted.statistic


def measure(part: str, data: CoverageData, sample_size: int, jobs: int) -> bool:
    """Run mutants of a part, print what survives, and return True if enough are killed."""
    mutants = find_mutants(part, data)
    sample = mutants[: sample_size or None]
    equivalents, n_killed, n_equivalent = EQUIVALENT.read_text(encoding="utf-8"), 0, 0
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as scratch, ProcessPoolExecutor(jobs, context) as pool:
        if pool.submit(is_killed, Path(scratch), *sample[0], is_mutated=False).result():
            raise RuntimeError(f"tests of {part} fail without a mutant, too")
        for (mutation, _), killed in zip(
            sample, pool.map(functools.partial(is_killed, Path(scratch)), *zip(*sample, strict=True)), strict=True
        ):
            text = describe_mutant(mutation)
            is_listed = text in equivalents
            n_equivalent += is_listed
            n_killed += killed and not is_listed
            if killed == is_listed:
                print("killed, but listed as equivalent: " * killed + text, flush=True)
    share = write_row(part, len(mutants), len(sample), n_killed, n_equivalent)
    print(f"{part}: {share:.1%} of {len(sample) - n_equivalent} mutants are killed", flush=True)
    return share >= SHARE


def main() -> int:
    """Measure each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", metavar="PART", nargs="+")
    parser.add_argument("--sample", type=int, default=150, help="mutants of a part, drawn by a fixed seed. 0: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    os.chdir(ROOT)
    for part in arguments.parts:
        if not Path("fastndcg", part).exists():
            parser.error(f"there is no fastndcg/{part}")
    data = measure_lines(arguments.jobs)
    for name in WARM:
        importlib.import_module(name)  # once, and not for each mutant
    return sum(not measure(part, data, arguments.sample, arguments.jobs) for part in arguments.parts)


if __name__ == "__main__":
    sys.exit(main())

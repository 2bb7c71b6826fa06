"""
Build the machine code of kernels: compile the signatures of signatures.txt, and link them into one library a level.

Each signature becomes one object file with one C function, ``int32 NAME(const int64 *slots, void *result)``. Slots
hold what machine code needs of the arguments: the address and the shape of an array (and its strides, unless its layout
is C), the bits of a number, the slots of a tuple's entries, nothing for None.

An object file is named by the digest of what it depends on, so that a change compiles what it touches. Worker processes
compile, one for each processor. No kernel is called: a level may be above that of the processor that builds.

Usage: python -m fastndcg.kernels.native.build [--levels 2,3,4] [--jobs N] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastndcg.kernels import machine_code
from fastndcg.kernels.machine_code import FORMAT, KERNELS, LEVEL_NAMES, TABLE
from fastndcg.kernels.native.signatures import (
    NATIVE,
    SHORT,
    TOKEN,
    BuildError,
    Signature,
    find_class,
    load_kernel,
    read_signatures,
)
from fastndcg.runtime import progress
from fastndcg.runtime.kernel_cache import DAY, UNUSED_DAYS, StateFolder, remove_older

Cost = tuple[float, Signature]  # seconds of processor time


def build(
    output: Path, levels: tuple[int, ...], *, jobs: int | None = None, say: Callable[[str], None] = lambda _: None
) -> list[Cost]:
    """
    Write the libraries, the trampoline and the table into a folder. Return what was compiled, and the time of each.

    Raises
    ------
    BuildError
        If there is no compiler of C, no header of Python, or if a kernel cannot be compiled.
    """
    signatures = read_signatures()
    dependencies = find_dependencies(signatures)
    objects = _objects_folder()
    compiler = find_c_compiler()
    output.mkdir(parents=True, exist_ok=True)
    costs: list[Cost] = []
    libraries = []
    with tempfile.TemporaryDirectory(dir=output) as folder:
        for level in levels:
            files = [objects / _object_name(signature, level, dependencies) for signature in signatures]
            missing = [(s, file) for s, file in zip(signatures, files, strict=True) if not file.is_file()]
            if missing:
                say(f"compiling {len(missing)} of {len(signatures)} kernels for {LEVEL_NAMES[level]}")
                costs += _compile_all(missing, level, jobs or os.cpu_count() or 1)
            for file in files:
                os.utime(file)
            library = Path(folder, "library")
            _link(compiler, files, library)
            libraries.append({"level": level} | _store(library, output, f"kernels-{LEVEL_NAMES[level]}", "so"))
        trampoline = Path(folder, "trampoline")
        _compile_c(compiler, trampoline)
        table = {
            "format": FORMAT,
            "platform": machine_code.platform_tag(),
            "compiler": f"Numba {version('numba')}, llvmlite {version('llvmlite')}",
            "trampoline": _store(trampoline, output, "_trampoline", "abi3.so"),
            "libraries": libraries,
            "sources": {name: machine_code.digest_source(name) for name in sorted(set().union(*dependencies.values()))},
            "dependencies": {module: sorted(names) for module, names in sorted(dependencies.items())},
            "kernels": _list_kernels(signatures),
        }
        temporary = Path(folder, TABLE)
        text = json.dumps(table, indent=1, sort_keys=True) + "\n"
        temporary.write_bytes(machine_code.sign(text[1:].encode()))
        os.replace(temporary, output / TABLE)
    _remove_others(output, table)
    _remove_unused(objects)
    return costs


def find_dependencies(signatures: list[Signature]) -> dict[str, set[str]]:
    """Return the sources that the machine code of each file of kernels depends on, by their paths in the package."""
    found: dict[str, set[str]] = {}
    for signature in signatures:
        sources = found.setdefault(signature.module, set(_imported_by(signature.module)))
        for token in TOKEN.findall(signature.arguments):
            if token.endswith("(") and token != "(":
                module = find_class(token[:-1], load_kernel(signature)).__module__
                sources |= _imported_by(module.removeprefix("fastndcg.kernels."))
    return found


@functools.cache
def _imported_by(module: str) -> frozenset[str]:
    """Return the sources that a file of kernels is made from: itself and what it imports of the kernels."""
    name = f"{module.replace('.', '/')}.py"
    found = {name}
    tree = ast.parse((KERNELS / name).read_text())
    if any(getattr(node, "id", "") == "instruction" for node in ast.walk(tree)):
        found.add("intrinsics.py")
    for node in ast.walk(tree):
        name = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        if isinstance(node, ast.ImportFrom) and name.startswith("fastndcg.kernels."):
            place = name.removeprefix("fastndcg.kernels.")
            is_package = KERNELS.joinpath(*place.split(".")).is_dir()
            for imported in [f"{place}.{alias.name}" for alias in node.names] if is_package else [place]:
                if imported not in ("jit", "machine_code"):
                    found |= _imported_by(imported)
    return frozenset(found)


def _object_name(signature: Signature, level: int, dependencies: dict[str, set[str]]) -> str:
    names = sorted({*dependencies[signature.module], "native/native_object.py"})
    sources = [machine_code.digest_source(name) for name in names]
    compiler = (version("numba"), version("llvmlite"), sys.version_info[:2], machine_code.platform_tag())
    state = (signature, sorted(load_kernel(signature).options.items()), level, sources, compiler)
    return f"{hashlib.sha256(repr(state).encode()).hexdigest()[:32]}.o"


def _list_kernels(signatures: list[Signature]) -> dict[str, list[Any]]:
    """Return the rows of the table: code, symbol, result, and whether the kernel holds the interpreter's lock."""
    kernels: dict[str, list[Any]] = {}
    for signature in signatures:
        kernel = load_kernel(signature)
        result = signature.result[-1] if "*" in signature.result else SHORT[signature.result]
        row = [signature.code, signature.symbol, result, bool(kernel.options.get("holds_gil"))]
        kernels.setdefault(signature.place, []).append(row)
    return kernels


def _objects_folder() -> Path:
    """Return the folder of object files in the user's cache, or a temporary one."""
    folder = StateFolder("", "objects")  # checked, since its files become machine code
    folder.make()
    return Path(tempfile.mkdtemp()) if folder.problem is not None else folder.path


def _remove_unused(objects: Path) -> None:
    """Remove object files that no build used for 30 days."""
    remove_older(objects.iterdir(), UNUSED_DAYS * DAY)


def _store(file: Path, output: Path, name: str, suffix: str) -> dict[str, str]:
    """Move a file to the output folder, under a name with its digest. Return the file's entry in the table."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    target = f"{name}-{digest[:12]}.{suffix}"
    file.chmod(0o755)
    os.replace(file, output / target)
    return {"file": target, "sha256": digest}


def _remove_others(output: Path, table: dict[str, Any]) -> None:
    """Remove the libraries of earlier builds, but not those of builds that may be running."""
    current = {table["trampoline"]["file"], *(library["file"] for library in table["libraries"])}
    libraries = [file for file in output.glob("*.so") if re.match("kernels-|_trampoline-", file.name)]
    remove_older((file for file in libraries if file.name not in current), DAY)


def compile_in_cache() -> str | None:
    """Compile all signatures with Numba, which caches each by itself. Return the folder, None if there is none."""
    from fastndcg.kernels import compiler
    from fastndcg.kernels.native import native_object

    progress.skip_announcement()
    for signature in read_signatures():
        kernel = load_kernel(signature)
        kernel.numba_function.compile(native_object.parse_types(signature.arguments, kernel))
    return None if compiler.FOLDER.problem else str(compiler.FOLDER.path)


# ---------------------------------------------------------------------------------------------------- C and the linker


def find_c_compiler() -> list[str]:
    """Return the command of a C compiler: that of the environment variable CC, `cc`, or the package ziglang."""
    if os.environ.get("CC"):
        return os.environ["CC"].split()
    if shutil.which("cc"):
        return ["cc"]
    try:
        import_module("ziglang")
    except ModuleNotFoundError as error:
        raise BuildError("no C compiler was found: install one that is called cc, or pip install ziglang") from error
    return [sys.executable, "-m", "ziglang", "cc"]


def _link(compiler: list[str], files: list[Path], target: Path) -> None:
    """Link object files into a shared library without symbols but those of the kernels."""
    names = target.with_suffix(".rsp")
    names.write_text("\n".join(f'"{file}"' for file in files))
    arguments = [f"@{names}", str(NATIVE / "runtime.c"), "-lm"]
    _run_c([*compiler, *_flags(compiler), "-fvisibility=hidden", "-o", str(target), *arguments])


def _compile_c(compiler: list[str], target: Path) -> None:
    import numpy as np

    include = sysconfig.get_path("include")
    if not Path(include, "Python.h").exists():
        raise BuildError(f"{include} has no Python.h: install the headers of Python, such as the package python3-dev")
    folders = [f"-I{include}", f"-I{np.get_include()}"]
    _run_c([*compiler, *_flags(compiler), *folders, "-o", str(target), str(NATIVE / "trampoline.c")])


def _flags(compiler: list[str]) -> list[str]:
    flags = ["-O2", "-fPIC", "-shared", "-g0"]
    if sys.platform == "linux":
        flags += ["-Wl,--strip-all", "-Wl,--build-id=none"]
    elif sys.platform == "darwin":
        flags += ["-undefined", "dynamic_lookup"]
    if "ziglang" in compiler:
        flags += ["-Wl,-z,undefs"] if sys.platform == "linux" else []
    return flags


def _run_c(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-2000:]}")


# ------------------------------------------------------------------------------------------------------------- workers


def _compile_all(missing: list[tuple[Signature, Path]], level: int, n_jobs: int) -> list[Cost]:
    """Compile signatures in worker processes, one file of kernels after the other. Return the time of each."""
    costs: list[Cost] = []
    modules: dict[str, list[tuple[Signature, Path]]] = {}
    for signature, file in missing:
        modules.setdefault(signature.module, []).append((signature, file))
    size = {module: sum(len(s.arguments) for s, _ in rows) for module, rows in modules.items()}
    jobs: queue.SimpleQueue[list[tuple[Signature, Path]]] = queue.SimpleQueue()
    for module in sorted(modules, key=lambda name: (not name.startswith("ranking."), -size[name])):
        jobs.put(modules[module])
    errors: list[str] = []
    threads = [
        threading.Thread(target=_feed, args=(jobs, level, errors, costs)) for _ in range(min(n_jobs, len(modules)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise BuildError(errors[0])
    return costs


def _feed(
    jobs: queue.SimpleQueue[list[tuple[Signature, Path]]], level: int, errors: list[str], costs: list[Cost]
) -> None:
    """Give a worker process one file of kernels after the other."""
    environment = os.environ | {
        "NUMBA_CPU_NAME": _processor_name(level),
        "NUMBA_CPU_FEATURES": "",  # else Numba adds those of this machine
        "FASTNDCG_BUILD_LEVEL": str(level),
        "FASTNDCG_MACHINE_CODE": "0",
        "FASTNDCG_QUIET": "1",
        "PYTHONHASHSEED": "0",  # two builds give the same bytes
        "NUMBA_DISABLE_JIT": "0",
        "NUMBA_BOUNDSCHECK": "0",
    }
    command = [sys.executable, "-m", "fastndcg.kernels.native.build", "--worker"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        while not errors:
            try:
                rows = jobs.get_nowait()
            except queue.Empty:
                break
            for signature, file in rows:
                print(json.dumps([*signature, str(file)]), file=worker.stdin, flush=True)
                answer = worker.stdout.readline().strip()
                if answer.startswith("done "):
                    costs.append((float(answer.removeprefix("done ")), signature))
                else:
                    errors.append(f"{signature.place} was not compiled: {answer or 'the worker process ended'}")
                    break
        worker.stdin.close()


def _processor_name(level: int) -> str:
    if level:
        return LEVEL_NAMES[level]
    return "x86-64" if "x86" in machine_code.platform_tag() or "amd64" in machine_code.platform_tag() else "generic"


def _work() -> None:
    """Compile the signatures of standard input, a JSON line each. Answer each by a line."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        *signature, file = json.loads(line)
        started = time.process_time()
        try:
            content = compile_object(Signature(*signature))
            unfinished = Path(f"{file}.{os.getpid()}")
            unfinished.write_bytes(content)
            os.replace(unfinished, file)
            answer = f"done {time.process_time() - started:.3f}"
        except Exception as error:
            answer = f"{type(error).__name__}: {error}".replace("\n", " ")
        print(answer, file=answers, flush=True)


def compile_object(signature: Signature) -> bytes:
    """Return the object file of a signature, for the processor that the environment names."""
    from fastndcg.kernels.native import native_object

    return native_object.emit(load_kernel(signature), signature)


def main() -> None:
    """Build the libraries into the user's cache, or into a folder."""
    parser = argparse.ArgumentParser(prog="scripts/build-kernels", description=__doc__.split("\n\n")[0].strip())
    parser.add_argument("--levels", help="levels of x86-64, such as 2,3,4 (default: the highest of this processor)")
    parser.add_argument("--jobs", type=int, help="number of processes (default: one for each processor)")
    parser.add_argument("--output", type=Path, help="folder (default: that of this package in the user's cache)")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="print the N slowest signatures")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        _work()
        return
    levels = tuple(int(level) for level in options.levels.split(",")) if options.levels else (native_level(),)
    started = time.perf_counter()
    try:
        output = options.output or user_folder()
        costs = build(output, levels, jobs=options.jobs, say=lambda line: print(line, file=sys.stderr, flush=True))
    except BuildError as error:
        sys.exit(f"error: {error}")
    for seconds, signature in sorted(costs, reverse=True)[: options.slowest]:
        print(f"{seconds:6.2f} s  {signature.place} {signature.arguments}", file=sys.stderr)
    total = sum(seconds for seconds, _ in costs)
    print(
        f"{len(costs)} signatures compiled, {total:.0f} s of processor time, {time.perf_counter() - started:.0f} s: "
        f"{output}",
        file=sys.stderr,
    )


def user_folder() -> Path:
    """Return the folder of this package's machine code in the user's cache, made and checked."""
    folder = machine_code.cache_folder()
    folder.make()
    if folder.problem is not None:
        raise BuildError(f"the cache cannot be used: {folder.problem}")
    return folder.path


def native_level() -> int:
    """Return the highest level that this processor runs and the environment allows."""
    if "x86_64" not in machine_code.platform_tag():
        return 0
    with tempfile.TemporaryDirectory() as folder:
        trampoline = Path(folder, "_trampoline.abi3.so")
        _compile_c(find_c_compiler(), trampoline)
        level = int(machine_code.import_trampoline(trampoline).processor_level())
    if level < 2:
        raise BuildError(f"this processor is below {LEVEL_NAMES[2]}")
    return min(level, machine_code.highest_level())


if __name__ == "__main__":
    main()

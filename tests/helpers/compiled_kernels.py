"""Hooks of pytest: the summary counts the kernels that Numba had to compile, and lists what signatures.txt lacks."""

import sys

import pytest

COMPILED = pytest.StashKey[set]()
FOR_LOOPS_OF_USERS = "single_query."  # compiled into functions of users', for their types


def list_compiled():
    """Return the lines of signatures.txt that would have spared compilations of this process."""
    compiler = sys.modules.get("fastndcg.kernels.compiler")
    if compiler is None:
        return []
    from fastndcg.kernels import jit
    from fastndcg.kernels.native import native_object, signatures

    lines = set()
    for dispatcher in compiler.list_dispatchers():
        kernel = getattr(sys.modules.get(dispatcher.py_func.__module__), dispatcher.py_func.__name__, None)
        if not isinstance(kernel, jit.Compiled) or not kernel.py_func.__module__.startswith("fastndcg.kernels."):
            continue
        if kernel.place.startswith(FOR_LOOPS_OF_USERS) or kernel.options.get("takes_functions"):
            continue
        for arguments, compiled in dispatcher.overloads.items():
            types = native_object.describe_types(arguments)
            result = native_object.describe_types((compiled.signature.return_type,))
            signature = signatures.Signature(kernel.place, types, result)
            is_listed = "Literal" in types or signatures.find_source(signature)[0] != "N"
            if not is_listed:  # else a kernel that users' loops compile calls it
                lines.add(f"{kernel.place} {types} -> {result}")
    return sorted(lines)


def pytest_sessionfinish(session):
    """Send the lines of a worker process to the main process."""
    output = getattr(session.config, "workeroutput", None)
    if output is None:
        session.config.stash.setdefault(COMPILED, set()).update(list_compiled())
    else:
        output["compiled"] = list_compiled()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    lines = getattr(node, "workeroutput", {}).get("compiled", ())
    node.config.stash.setdefault(COMPILED, set()).update(lines)


def pytest_terminal_summary(terminalreporter, config):
    from fastndcg.kernels import machine_code
    from fastndcg.kernels.native import signatures

    lines = config.stash.get(COMPILED, set())
    if not lines or machine_code.is_switched_off():
        return
    command = f"{sys.executable} -m fastndcg.kernels.native.build"
    terminalreporter.section(f"Numba compiled {len(lines)} kernels that had no machine code: run {command}")
    new = lines - {f"{place} {arguments} -> {result}" for place, arguments, result in signatures.read_signatures()}
    for line in sorted(new):
        terminalreporter.write_line(f"signatures.txt lacks {line}")

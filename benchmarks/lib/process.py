"""
Calls in separate processes, so that neither threads, settings nor memory of one measurement reach another.

`python -m benchmarks.lib.process MODULE FUNCTION ARGUMENTS` calls the function with arguments from JSON, and prints
its result as the last line of JSON.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import warnings
from typing import Any

from benchmarks.lib.machine import ROOT, make_environment


def call_in_process(module: str, function: str, **arguments: Any) -> dict[str, Any]:
    """Return the dict that a function returns in a new process, or {"failed": reason} if the process fails."""
    command = [sys.executable, "-m", "benchmarks.lib.process", module, function, json.dumps(arguments)]
    completed = subprocess.run(
        command, cwd=ROOT, env=make_environment(), capture_output=True, text=True, check=False
    )  # fmt: skip
    if completed.returncode:
        lines = completed.stderr.strip().splitlines()
        return {"failed": lines[-1] if lines else f"exit status {completed.returncode}"}
    return json.loads(completed.stdout.splitlines()[-1])


def main(module: str, function: str, arguments: str) -> None:
    """Call the function of a module and print its result."""
    warnings.simplefilter("ignore")  # of the libraries that are compared with
    result = getattr(importlib.import_module(module), function)(**json.loads(arguments))
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""
Build and test for AArch64 on another processor. Python imports this file when it starts: see scripts/release-check.

Where Python itself is emulated, processes that it starts are emulated, too. Elsewhere Numba compiles for AArch64, and
nothing that it compiles is run.
"""

import os
import sys

TRIPLE = "aarch64-unknown-linux-gnu"


def compile_for_aarch64():
    """Make Numba emit code for AArch64, and name this machine by it."""
    import llvmlite.binding as llvm
    from numba.core import codegen

    here = os.uname()
    os.uname = lambda: os.uname_result((*here[:4], "aarch64"))
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.get_process_triple = lambda: TRIPLE
    llvm.Target.from_default_triple = lambda: llvm.Target.from_triple(TRIPLE)
    codegen.JitEngine.finalize_object = lambda self: None
    codegen.JITCPUCodegen.set_env = lambda self, name, environment: None


if os.uname().machine == "aarch64":
    sys.executable = os.environ["EMULATED_PYTHON"]
else:
    compile_for_aarch64()

"""
Emit one signature of a kernel as an object file with a plain C function. See build.py for its parameters.

The object needs the functions of runtime.c, libc, libm and, if the kernel reads Python objects, Python's stable ABI.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import types
from numba.np.numpy_support import as_dtype, from_dtype

from fastndcg.kernels import jit
from fastndcg.kernels.native.signatures import TOKEN, BuildError, Signature, find_class

NUMBERS = {
    "int": types.int64,
    "float": types.float64,
    "bool": types.boolean,
    "uint64": types.uint64,
    "none": types.none,
}
RUNTIME = {"NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor", "numba_nextafter", "numba_nextafterf"}  # in runtime.c
RESULTS = {"none": types.none, "int": types.int64, "bool": types.boolean, "float": types.float64}


def emit(kernel: Any, signature: Signature) -> bytes:
    """Compile a kernel for a signature and return its object file."""
    jit.load_compiler()  # Numba learns the functions that kernels call
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    arguments = parse_types(signature.arguments, kernel)
    options = kernel.numba_options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    dispatcher = numba.njit(**options)(kernel.py_func)
    dispatcher.compile(arguments)
    compiled = dispatcher.overloads[arguments]
    _check_result(compiled.signature.return_type, signature)
    return _emit_object(compiled, arguments, signature.symbol)


def parse_types(text: str, kernel: Any) -> tuple[Any, ...]:
    """Return the Numba types of a signature's arguments. A name before a bracket is that of a NamedTuple."""
    stack: list[tuple[str, list[Any]]] = [("", [])]
    for token in TOKEN.findall(text):
        array = re.fullmatch(r"(\w\d)\[([:,]*)\]([FA]?)", token)
        if token.endswith("("):
            stack.append((token[:-1], []))
        elif token == ")":
            name, items = stack.pop()
            stack[-1][1].append(_make_tuple(name, items, kernel))
        elif array:
            dtype = from_dtype(_dtype(array[1]))
            stack[-1][1].append(types.Array(dtype, array[2].count(":"), array[3] or "C"))
        else:
            stack[-1][1].append(NUMBERS[token])
    return tuple(stack[0][1])


def _dtype(text: str) -> Any:
    import numpy as np

    return np.dtype(text)


def _make_tuple(name: str, items: list[Any], kernel: Any) -> Any:
    if name:
        return types.NamedTuple(items, find_class(name, kernel))
    return types.Tuple(items) if len({*items}) != 1 else types.UniTuple(items[0], len(items))


def _check_result(result: Any, signature: Signature) -> None:
    size = int(signature.result[-1]) if "*" in signature.result else None
    expected = types.UniTuple(types.int64, size) if size else RESULTS[signature.result]
    is_integer = isinstance(result, types.Integer) and expected is types.int64 and result.bitwidth == 64
    if result != expected and not is_integer:
        raise BuildError(f"{signature.place} must return {signature.result}, as its line says, not {result}")


def _emit_object(compiled: Any, arguments: tuple[Any, ...], symbol: str) -> bytes:
    module = llvm.parse_assembly(_clean(compiled.library.get_llvm_str()))
    inner = compiled.fndesc.llvm_func_name
    parameters = [str(parameter.type) for parameter in module.get_function(inner).arguments]
    quoted = inner if re.fullmatch(r"[\w.$]+", inner) else f'"{inner}"'
    text = f'target datalayout = "{module.data_layout}"\ntarget triple = "{module.triple}"\n'
    text += f"declare i32 @{quoted}({', '.join(parameters)})\n{_write_function(symbol, quoted, parameters, arguments)}"
    module.link_in(llvm.parse_assembly(text))
    for item in itertools.chain(module.functions, module.global_variables):
        if not item.is_declaration and item.name != symbol:
            item.linkage = "internal"
    target = llvm.Target.from_triple(module.triple)
    machine = target.create_target_machine(
        cpu=os.environ["NUMBA_CPU_NAME"], features="", opt=3, reloc="pic", codemodel="default"
    )
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2)))
    module.verify()
    _check_symbols(module)
    return machine.emit_object(module)  # type: ignore[no-any-return]


def _check_symbols(module: Any) -> None:
    """Raise if the kernel calls a function of Numba's run time that runtime.c lacks."""
    for function in module.functions:
        if function.is_declaration and function.name.startswith(("NRT_", "numba_")) and function.name not in RUNTIME:
            raise BuildError(f"runtime.c must have {function.name}, which the kernel calls")


def _clean(text: str) -> str:
    """Make symbols internal, and empty the pickled errors, which name files of this machine. No caller reads them."""
    text = text.replace("= common local_unnamed_addr global", "= internal global").replace("= common ", "= internal ")
    return re.sub(r'(@\S*pickle\S* = .*? constant \[\d+ x i8\]) c"[^"]*"', r"\1 zeroinitializer", text)


def _write_function(symbol: str, inner: str, parameters: list[str], arguments: tuple[Any, ...]) -> str:
    """Return the LLVM text of the C function: it loads the slots and calls the kernel, whose parameters are given."""
    writer = _Writer(iter(parameters[2:]))  # behind the result and the error
    for argument in arguments:
        writer.add(argument)
    call = ", ".join(["ptr %result", "ptr %error", *writer.call])
    body = "\n  ".join(writer.lines)
    return f"""
define i32 @{symbol}(ptr %slots, ptr %result) {{
  %error = alloca ptr, align 8
  store ptr null, ptr %error
  {body}
  %status = call i32 @{inner}({call})
  ret i32 %status
}}
"""


class _Writer:
    """The text that loads slots, and the arguments of the kernel's call."""

    def __init__(self, parameters: Iterator[str]) -> None:
        self.lines: list[str] = []
        self.call: list[str] = []
        self._parameters = parameters
        self._names = (f"%v{number}" for number in itertools.count())
        self._slot = 0

    def add(self, argument: Any) -> None:
        """Load an argument."""
        if isinstance(argument, types.BaseTuple):
            for entry in argument:
                self.add(entry)
        elif isinstance(argument, types.Array):
            self._add_array(argument)
        elif isinstance(argument, types.NoneType):
            next(self._parameters)
            self.call.append("ptr null")
        else:
            kind = next(self._parameters)
            self.call.append(f"{kind} {self._load_number(kind)}")

    def _add_array(self, array: Any) -> None:
        for _ in range(5 + 2 * array.ndim):
            next(self._parameters)
        item = as_dtype(array.dtype).itemsize
        data = self._load("ptr")
        shape = [self._load("i64") for _ in range(array.ndim)]
        if array.layout == "C":
            strides = [str(item)]
            for size in reversed(shape[1:]):
                strides.insert(0, self._name(f"mul i64 {strides[0]}, {size}"))
        else:
            strides = [self._load("i64") for _ in range(array.ndim)]
        n = shape[0]
        for size in shape[1:]:
            n = self._name(f"mul i64 {n}, {size}")
        self.call += ["ptr null", "ptr null", f"i64 {n}", f"i64 {item}", f"ptr {data}"]
        self.call += [f"i64 {number}" for number in (*shape, *strides)]

    def _load_number(self, kind: str) -> str:
        if kind in ("i64", "double"):
            return self._load(kind)
        return self._name(f"trunc i64 {self._load('i64')} to {kind}")

    def _load(self, kind: str) -> str:
        pointer = self._name(f"getelementptr i64, ptr %slots, i64 {self._slot}")
        self._slot += 1
        return self._name(f"load {kind}, ptr {pointer}, align 8")

    def _name(self, instruction: str) -> str:
        name = next(self._names)
        self.lines.append(f"{name} = {instruction}")
        return name


def describe_types(arguments: tuple[Any, ...]) -> str:
    """Return the text of a signature's arguments, as `parse_types` reads it."""
    return " ".join(map(_describe_type, arguments))


def _describe_type(argument: Any) -> str:
    if isinstance(argument, types.Array):
        layout = "" if argument.layout == "C" else argument.layout
        return f"{as_dtype(argument.dtype).str[1:]}[{':' + ',:' * (argument.ndim - 1)}]{layout}"
    if isinstance(argument, types.BaseTuple):
        name = argument.instance_class.__name__ if isinstance(argument, types.NamedTuple) else ""
        return f"{name}({describe_types(tuple(argument))})"
    if isinstance(argument, types.Omitted):
        return f"omitted={argument.value}"
    return {"int64": "int", "float64": "float"}.get(str(argument), str(argument))

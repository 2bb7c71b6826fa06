"""Environment variables that Numba cannot work with: an error that names the variable, in place of a crash."""

import pytest
from fresh_processes import answer, start

import fastndcg as fn
from fastndcg.runtime.imports import check_numba_environment

CODE = """
    import json
    import fastndcg as fn

    try:
        print(json.dumps(fn.ndcg([[1, 0]], [[2, 1]]).tolist()))
    except fn.InvalidInputError as error:
        print(json.dumps(str(error)))
"""


@pytest.mark.parametrize(("name", "value", "rule"), [
    ("NUMBA_NUM_THREADS", "0", "a whole number of 1 or more"),
    ("NUMBA_CPU_FEATURES", "nonsense", "features with + or - before each, such as +avx2,-avx512f"),
])  # fmt: skip
def test_a_wrong_value_is_an_error_where_numba_would_compile(name, value, rule):
    """Numba raises a traceback for no threads, and LLVM ends the process for such features."""
    message = f"the environment variable {name} must be {rule}, not '{value}'. Correct it, or unset it."
    assert answer(start(CODE, **{name: value, "FASTNDCG_MACHINE_CODE": "0"})) == message


@pytest.mark.parametrize("value", ["", "-3", "1.5", "many"])
def test_numbers_of_threads(monkeypatch, value):
    monkeypatch.setenv("NUMBA_NUM_THREADS", value)
    with pytest.raises(fn.InvalidInputError, match="NUMBA_NUM_THREADS must be a whole number of 1 or more"):
        check_numba_environment()


@pytest.mark.parametrize("value", ["avx2", "+avx2, -sse", "+avx2,", "+"])
def test_features(monkeypatch, value):
    monkeypatch.setenv("NUMBA_CPU_FEATURES", value)
    with pytest.raises(fn.InvalidInputError, match=r"NUMBA_CPU_FEATURES must be features with \+ or -"):
        check_numba_environment()


@pytest.mark.parametrize(
    ("name", "value"), [("NUMBA_NUM_THREADS", "4"), ("NUMBA_CPU_FEATURES", ""), ("NUMBA_CPU_FEATURES", "+sse4.2,-avx")]
)
def test_right_values(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    check_numba_environment()

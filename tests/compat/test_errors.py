"""Drop-ins raise errors that are also of the original's types, one rule each, and accept the original's input."""

import builtins
import importlib

import drop_ins
import pytest

import fastndcg as fn

ERRORS, TAKEN = (
    {module: cases for module in drop_ins.PEERS if (cases := drop_ins.read(module, name))}
    for name in ("ERRORS", "TAKEN")
)

OF_PEERS = {"ranx", "torchmetrics"}  # which the group `test` does not install


def mark(modules):
    return [pytest.param(module, marks=[pytest.mark.peers] * (module in OF_PEERS)) for module in modules]


def import_both(module, request):
    if module == "ranx":
        request.getfixturevalue("ranx_library")
    return pytest.importorskip(drop_ins.PEERS[module]), importlib.import_module(f"fastndcg.compat.{module}")


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:unsafe cast"
)
@pytest.mark.parametrize("module", mark(ERRORS))
def test_errors_are_ours_and_theirs(module, tmp_path, monkeypatch, request):
    theirs, ours = import_both(module, request)
    monkeypatch.chdir(tmp_path)
    for name, (call, exceptions) in ERRORS[module].items():
        for place, kind in ((theirs, Exception), (ours, fn.FastndcgError)):
            with pytest.raises(kind) as caught:
                call(place)
            for exception in exceptions.split():
                assert isinstance(caught.value, getattr(builtins, exception)), name
        assert len(str(caught.value)) < 1000, name


@pytest.mark.filterwarnings("ignore:.*unsafe cast from uint64 to int64")  # numba warns of casts in ranx
@pytest.mark.parametrize("module", mark(TAKEN))
def test_dropins_give_value_of_originals(module, request):
    theirs, ours = import_both(module, request)
    for call in TAKEN[module]:
        assert flat(call(ours)) == pytest.approx(flat(call(theirs)), rel=1e-6)


def flat(value):
    while isinstance(value, dict) and any(isinstance(one, dict) for one in value.values()):
        value = {(outer, inner): one for outer, row in value.items() for inner, one in row.items()}
    return value

"""`install` gives the drop-in to modules that import pytrec_eval afterwards, and `uninstall` gives it back."""

import importlib.util
import sys
from types import ModuleType

import pytest

from fastndcg.compat import pytrec_eval as ours

theirs = pytest.importorskip("pytrec_eval", reason="pytrec_eval is absent: pip install pytrec_eval-terrier")
MODULE = sys.modules["pytrec_eval"]


@pytest.fixture(autouse=True)
def restored():
    """Uninstall the drop-in after a test."""
    yield
    sys.modules["pytrec_eval"] = MODULE


def make_user(monkeypatch, source):
    user = ModuleType("user_of_pytrec_eval")
    monkeypatch.setitem(sys.modules, user.__name__, user)
    exec(source, vars(user))
    return user


def test_install_reaches_modules_that_import_later(monkeypatch):
    ours.install()
    user = make_user(monkeypatch, "import pytrec_eval")
    assert user.pytrec_eval.RelevanceEvaluator is ours.RelevanceEvaluator
    assert user.pytrec_eval.__version__ == ours.__version__
    assert importlib.util.find_spec("pytrec_eval") is not None
    ours.uninstall()
    assert make_user(monkeypatch, "import pytrec_eval").pytrec_eval is not ours


def test_install_needs_no_pytrec_eval(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.delitem(sys.modules, "pytrec_eval")
    with ours.install():
        import pytrec_eval

        assert pytrec_eval.RelevanceEvaluator is ours.RelevanceEvaluator
    assert "pytrec_eval" not in sys.modules


def test_blocks_of_install_restore_what_was_there():
    with ours.install():
        with ours.install():
            pass
        assert sys.modules["pytrec_eval"] is ours
    assert sys.modules["pytrec_eval"] is MODULE
    with pytest.raises(ZeroDivisionError), ours.install():
        1 / 0  # noqa: B018
    assert sys.modules["pytrec_eval"] is MODULE

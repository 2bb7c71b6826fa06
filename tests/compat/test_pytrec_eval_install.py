"""`install` gives the drop-in to every module that uses pytrec_eval, and `uninstall` gives pytrec_eval back."""

import importlib.util
import sys
from types import ModuleType

import pytest

from fastndcg.compat import pytrec_eval as ours

theirs = pytest.importorskip("pytrec_eval", reason="pytrec_eval is absent: pip install pytrec_eval-terrier")
ORIGINAL = theirs.RelevanceEvaluator
MODULE = sys.modules["pytrec_eval"]


@pytest.fixture(autouse=True)
def restored():
    """Uninstall the drop-in after a test."""
    yield
    ours.uninstall()


def make_user(monkeypatch, source):
    """Return a module that runs `source` when it is imported."""
    user = ModuleType("user_of_pytrec_eval")
    monkeypatch.setitem(sys.modules, user.__name__, user)
    exec(source, vars(user))
    return user


@pytest.mark.parametrize("source", ["import pytrec_eval", "import pytrec_eval as trec"])
def test_install_reaches_modules_that_imported_before(monkeypatch, source):
    """A module that imported pytrec_eval under any name computes by fastndcg until `uninstall`."""
    user = make_user(monkeypatch, source)
    before = {name: value for name, value in vars(user).items() if isinstance(value, ModuleType)}
    ours.install()
    assert len(before) == 1
    for name in before:
        assert getattr(user, name).RelevanceEvaluator is ours.RelevanceEvaluator
    ours.uninstall()
    assert {name: getattr(user, name) for name in before} == before


def test_install_reaches_names_that_were_imported_before(monkeypatch):
    """Classes and functions that a module imported by name are replaced and restored."""
    user = make_user(monkeypatch, "from pytrec_eval import RelevanceEvaluator, parse_run as read")
    read = user.read
    ours.install()
    assert (user.RelevanceEvaluator, user.read) == (ours.RelevanceEvaluator, ours.parse_run)
    ours.uninstall()
    assert (user.RelevanceEvaluator, user.read) == (ORIGINAL, read)


def test_install_reaches_modules_that_import_later(monkeypatch):
    """A module that imports pytrec_eval after `install` computes by fastndcg, and by pytrec_eval after `uninstall`."""
    ours.install()
    user = make_user(monkeypatch, "import pytrec_eval")
    assert user.pytrec_eval.RelevanceEvaluator is ours.RelevanceEvaluator
    assert user.pytrec_eval.__version__ == ours.__version__
    assert importlib.util.find_spec("pytrec_eval") is not None
    ours.uninstall()
    assert user.pytrec_eval is MODULE
    assert sys.modules["pytrec_eval"] is MODULE


def test_install_keeps_own_imports_of_the_dropin(monkeypatch):
    """A module that imported the drop-in itself keeps it after `uninstall`."""
    user = make_user(monkeypatch, "from fastndcg.compat import pytrec_eval")
    ours.install()
    ours.uninstall()
    assert user.pytrec_eval is ours


def test_install_needs_no_pytrec_eval(monkeypatch):
    """Without pytrec_eval, `install` makes its import possible, and `uninstall` removes the module."""
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.delitem(sys.modules, "pytrec_eval")
    with ours.install():
        import pytrec_eval

        assert pytrec_eval.RelevanceEvaluator is ours.RelevanceEvaluator
    assert "pytrec_eval" not in sys.modules


def test_install_twice_is_one_installation(monkeypatch):
    """A second `install` changes nothing, and the end of its block does not end the first."""
    user = make_user(monkeypatch, "import pytrec_eval")
    with ours.install():
        with ours.install():
            pass
        assert user.pytrec_eval.RelevanceEvaluator is ours.RelevanceEvaluator
    assert user.pytrec_eval is MODULE
    ours.uninstall()


def test_install_ends_with_an_error(monkeypatch):
    """An error in the ``with`` block restores pytrec_eval and is raised on."""
    user = make_user(monkeypatch, "import pytrec_eval")
    with pytest.raises(ZeroDivisionError), ours.install():
        1 / 0  # noqa: B018
    assert user.pytrec_eval is MODULE
    assert theirs.RelevanceEvaluator is ORIGINAL

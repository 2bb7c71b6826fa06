"""A call that must raise, in one line."""

import re

import pytest

import fastndcg as fn


def refused(message, function, *arguments, error=fn.InvalidInputError, **options):
    """Check that a call raises an error in whose text a regular expression is found."""
    with pytest.raises(error, match=message):
        function(*arguments, **options)


def refused_in_full(error, message, call):
    """Check that a call raises an error whose whole text this is."""
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call()

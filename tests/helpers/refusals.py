"""Calls that must raise, in one line each."""

import re

import pytest

import fastndcg as fn

MOST_CHARACTERS = 900  # of a message, however long the input


def refused(message, function, *arguments, error=fn.InvalidInputError, **options):
    """Check that a call raises an error in whose text a regular expression is found."""
    with pytest.raises(error, match=message):
        function(*arguments, **options)


def refused_in_full(message, function, *arguments, **options):
    """Check that a call raises an error whose whole text this is."""
    refused(f"^{re.escape(message)}$", function, *arguments, **options)


def refuses(function, table, *, error=fn.InvalidInputError, text=None):
    """
    Return a test: a function refuses the arguments of each row of a table, behind which stands the message.

    The message is a regular expression, or `text`, such as "^{}$", has the place of its characters in one. A row may
    end with a kind of error of its own.
    """
    rows, names = (table.values(), table) if isinstance(table, dict) else (table, map(str, range(len(table))))

    @pytest.mark.parametrize("row", rows, ids=names)
    def test(row):
        *arguments, message, kind = row if isinstance(row[-1], type) else (*row, error)
        with pytest.raises(kind, match=text.format(re.escape(message)) if text else message) as raised:
            function(*arguments)
        assert len(str(raised.value)) < MOST_CHARACTERS

    return test

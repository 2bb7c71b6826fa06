"""The truth and the predictions of a comparison, for reports that list the documents of queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastndcg.inputs.dispatch import Options
from fastndcg.named_conventions import Convention


class ComparedInputs(NamedTuple):
    """
    References to the inputs of `compare`.

    Attributes
    ----------
    truth : object
        The truth, as the user passed it. None if all systems are finished results or rankings.
    predictions : {name: object}
        The predictions of each system.
    options : Options
        The offsets, groups or query ids of the truth.
    convention : Convention
    """

    truth: Any
    predictions: Mapping[str, Any]
    options: Options
    convention: Convention

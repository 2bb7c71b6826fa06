"""Runs of ranxhub, in ranx's folder or downloaded by ranx."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastndcg.compat.ranx.files import read_lz4
from fastndcg.compat.trec_text import Rows, StructureError
from fastndcg.errors import shorten
from fastndcg.runtime.optional_packages import optional_import


def read_run(id: str) -> tuple[Rows, dict[str, Any]]:
    """
    Return the scores and the run card of a run of ranxhub.

    ranx keeps its downloads in ``~/.ranx``. A run that is not there is downloaded by ranx, because ranx has the address
    of the hub and resumes interrupted downloads.

    Raises
    ------
    StructureError
        If the file has no scores, or no run card with a name.
    MissingPackageError
        If the run has to be downloaded and ranx is not installed.
    """
    path = Path.home() / ".ranx" / f"{id}.rh"
    if path.exists():
        content = read_lz4(path)
    else:
        content = optional_import("ranx.io", f"a download of {shorten(id)} from ranxhub", "ranx").download(id)
    try:
        scores = content["run"]
        card = content["metadata"]
        _ = card["run"]["name"]
    except (KeyError, TypeError, IndexError):
        raise StructureError(
            f"{shorten(id)} must be a run of ranxhub, with `run` and `metadata`, but is not. Remove {path}."
        ) from None
    return scores, card

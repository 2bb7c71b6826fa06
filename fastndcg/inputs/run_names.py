"""Names of runs that are files: the tag in TREC's sixth column, or the file name without suffixes."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeGuard

from fastndcg.inputs.hints import check_path
from fastndcg.inputs.text.blocks import FilePath
from fastndcg.inputs.text.formats import read_run_tag

_FORMAT_SUFFIX = re.compile(r"(\.run)?(\.(gz|bz2|zst))?$")


def is_path_list(systems: Any) -> TypeGuard[Sequence[FilePath]]:
    """Return True for a list or tuple of paths."""
    return isinstance(systems, list | tuple) and all(isinstance(path, str | os.PathLike) for path in systems)


def name_runs(paths: Sequence[FilePath]) -> list[str]:
    """
    Return a name for each run.

    A run has the name of its tag if no other run has this tag. Otherwise it has its file name without suffixes. If
    such names repeat, all runs have names without tags, then with suffixes, then with folders.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    for path in paths:
        check_path(path)
    tags = [None if os.path.isdir(path) else read_run_tag(path) for path in paths]  # the reader refuses folders
    counts = Counter(tags)
    stems = [name_file(path) for path in paths]
    with_tags = [tag if tag and counts[tag] == 1 else stem for tag, stem in zip(tags, stems, strict=True)]
    full_paths = [os.fspath(path) for path in paths]
    file_names = [_FORMAT_SUFFIX.sub("", os.path.basename(path)) for path in full_paths]
    candidates = (with_tags, stems, file_names)
    return next((names for names in candidates if len(set(names)) == len(names)), full_paths)


def name_file(path: FilePath) -> str:
    """Return the name of a file up to its first dot, without the dot that begins a hidden file's name."""
    name = os.path.basename(os.fspath(path))
    return name.lstrip(".").partition(".")[0] or name

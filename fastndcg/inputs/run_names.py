"""Names of runs that are files: the tag in TREC's sixth column, or the file name without suffixes."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeGuard

from fastndcg.inputs.files import FilePath, check_path
from fastndcg.inputs.formats import read_run_tag

VECTOR_SUFFIXES = (".npy", ".safetensors")  # of files that have no tag
_FORMAT_SUFFIX = re.compile(r"(\.run)?(\.(gz|bz2|zst))?$")
_KNOWN_SUFFIXES = re.compile(
    r"(\.(run|res|results?|trec|txt|tsv|csv|jsonl?|ndjson|parquet|arrows?|ipc|feather|npy|safetensors|qrels?))*"
    r"(\.(gz|bz2|zst|xz))?$",
    re.IGNORECASE,
)


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
    vectors = [_read_vector_paths(path) for path in paths]
    for path in [path for own in vectors for path in own]:
        check_path(path)
    tags = [
        None if os.path.isdir(path) or os.fspath(path).endswith(VECTOR_SUFFIXES) else read_run_tag(path)
        for path in paths  # the reader refuses folders
    ]
    counts = Counter(tags)
    stems = [name_file(own[0]) if len(own) == 1 else _name_pair(own) for own in vectors]
    with_tags = [tag if tag and counts[tag] == 1 else stem for tag, stem in zip(tags, stems, strict=True)]
    full_paths = [os.fspath(path) for path in paths]
    file_names = [_FORMAT_SUFFIX.sub("", os.path.basename(path)) for path in full_paths]
    candidates = (with_tags, stems, file_names)
    return next((names for names in candidates if len(set(names)) == len(names)), full_paths)


def _read_vector_paths(path: FilePath) -> list[FilePath]:
    """Return the two files that hold the vectors of users and of items, or one file."""
    users, separator, items = os.fspath(path).partition(".npy,")
    return [f"{users}.npy", items] if separator else [path]


def _name_pair(paths: Sequence[FilePath]) -> str:
    """Return what the names of two files have in common, else the name of their folder, or of the first file."""
    stems = [name_file(path) for path in paths]
    folder = os.path.basename(os.path.dirname(os.fspath(paths[0])))
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*stems, strict=False))
    return "".join(letter for letter, _ in same).rstrip("_-. ") or folder or stems[0]


def name_file(path: FilePath) -> str:
    """
    Return the name of a file without the suffixes of known formats and the dot that begins a hidden file's name.

    >>> name_file("runs/bm25.v1.2.run.gz"), name_file("a.b.txt"), name_file(".run")
    ('bm25.v1.2', 'a.b', 'run')
    """
    name = os.path.basename(os.fspath(path)).lstrip(".")
    return _KNOWN_SUFFIXES.sub("", name) or name

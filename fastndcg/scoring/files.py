"""Read embeddings from files: two of NumPy, whose rows are read block by block, or one of safetensors."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.files import check_path
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.side_files import read_ids as read_id_file
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import optional_import
from fastndcg.scoring.embeddings import Embeddings
from fastndcg.scoring.vectors import FileRows

NPY = ".npy"
SAFETENSORS = ".safetensors"
USERS = ("users", "queries")  # names of tensors
ITEMS = ("items", "documents")
BIASES = ("user_biases", "item_biases")


class IdFiles(NamedTuple):
    """Files with the ids of queries and of documents, and True where ids of the truth are texts."""

    queries: str | None
    documents: str | None
    are_texts: tuple[bool, bool] = (True, True)


def split_paths(path: str) -> list[str]:
    """Return the files that a path of embeddings names."""
    if path.endswith(SAFETENSORS):
        return [path]
    users, separator, items = path.partition(f"{NPY},")
    if not separator:
        raise InvalidInputError(
            f"embeddings must be two files with a comma between them, such as users.npy,items.npy, but are "
            f"{show_name(path)}. Give the vectors of users, and those of items"
        )
    return [users + NPY, items]


def read_embeddings(path: str, ids: IdFiles | None = None, **options: Any) -> Embeddings:
    """
    Read the vectors of users and of items. Options are those of `Embeddings`.

    Without a file of ids, the ids are the numbers of rows from 0.
    """
    paths = split_paths(path)
    for name in paths:
        check_path(name)
    if path.endswith(SAFETENSORS):
        tensors = read_safetensors(path)
    else:
        tensors = {side: open_npy(name) for side, name in zip(("users", "items"), paths, strict=True)}
    ids = ids or IdFiles(None, None)
    own_ids = [
        read_ids(file, role, len(tensors[side]), are_texts=are_texts)
        for file, role, side, are_texts in zip(ids[:2], ("query", "document"), ("users", "items"), ids[2], strict=True)
    ]
    try:
        return Embeddings(**tensors, query_ids=own_ids[0], document_ids=own_ids[1], **options)
    except (InvalidInputError, TypeError) as error:
        raise type(error)(f"{show_name(path)}: {error}") from None


def open_npy(path: str) -> Any:
    """Open a file of NumPy. A map tells the place of its rows. A file in Fortran's order is read into memory."""
    mapped = read_npy(path, mmap_mode="r")
    if mapped.ndim != 2 or not mapped.flags.c_contiguous or not hasattr(os, "preadv"):
        return read_npy(path) if hasattr(os, "preadv") else mapped
    return FileRows(path, mapped.offset, mapped.shape, mapped.dtype)


def read_npy(path: str, **options: Any) -> Any:
    """Read a file of NumPy."""
    try:
        return np.load(path, allow_pickle=False, **options)
    except (ValueError, EOFError) as error:
        raise InvalidInputError(
            f"{show_name(path)} must be a file of NumPy with an array, but cannot be read: {error}. Write it by "
            "numpy.save"
        ) from None


def read_safetensors(path: str) -> dict[str, Any]:
    """Read the tensors of users and items, and their biases if there are any."""
    library = optional_import("safetensors", "reading safetensors", "safetensors")
    try:
        with library.safe_open(path, framework="numpy") as file:
            names = set(file.keys())
            tensors = {"users": find_tensor(USERS, names, path), "items": find_tensor(ITEMS, names, path)}
            tensors |= {name: name for name in BIASES if name in names}
            unknown = sorted(names - set(tensors.values()))
            if unknown:
                raise InvalidInputError(
                    f"{show_name(path)} must have tensors called {', '.join((*USERS, *ITEMS, *BIASES))} alone, but has "
                    f"{shorten(unknown[0])}. Rename it, or leave it out"
                )
            if any(file.get_slice(name).get_dtype() == "BF16" for name in tensors.values()):
                optional_import("ml_dtypes", "reading bfloat16", "safetensors")  # NumPy then has the dtype
            return {argument: file.get_tensor(name) for argument, name in tensors.items()}
    except (library.SafetensorError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"{show_name(path)} must be a file of safetensors with vectors, but cannot be read: {error}. Write it by "
            "safetensors.numpy.save_file"
        ) from None


def find_tensor(names: tuple[str, ...], tensors: set[str], path: str) -> str:
    """Return the one of some names that a tensor has."""
    own_names = [name for name in names if name in tensors]
    if len(own_names) != 1:
        raise InvalidInputError(
            f"{show_name(path)} must have one tensor called {' or '.join(names)}, but has "
            f"{shorten(', '.join(sorted(tensors)))}. Rename it"
        )
    return own_names[0]


def read_ids(path: str | None, role: str, n: int, *, are_texts: bool) -> Array | IdColumn:
    """Read the ids of a file. Without a file, return numbers."""
    if path is None:
        numbers = np.arange(n)
        return numbers.astype("U") if are_texts else numbers
    ids = read_id_file(path, role, are_texts=are_texts)
    return IdColumn.of(ids, show_name(path)) if isinstance(ids, list) else ids

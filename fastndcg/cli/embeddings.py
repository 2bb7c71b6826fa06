"""Runs of the command line that are files of vectors, and the options that belong to them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastndcg.errors import InvalidInputError, shorten

if TYPE_CHECKING:
    from fastndcg.inputs.qrels_run import Qrels, Run
    from fastndcg.scoring.embeddings import Embeddings

SUFFIXES = (".npy", ".safetensors")
OPTIONS = ("query_ids", "document_ids", "exclude", "candidates")  # that only embeddings take


def has_embeddings(runs: Sequence[str]) -> bool:
    """Return True if a run is a file of vectors."""
    return any(run.endswith(SUFFIXES) for run in runs)


def refuse_embeddings(command: str, runs: Sequence[str]) -> None:
    """Raise for files of vectors, given to a command that reads ranked documents."""
    for run in runs:
        if has_embeddings([run]):
            raise InvalidInputError(
                f"{command} takes runs of ranked documents, but {shorten(run)} holds vectors. Write their best "
                "documents in Python: fn.Embeddings(users, items).top(k).to_run().write(FILE)."
            )


def check_options(arguments: argparse.Namespace, runs: Sequence[str]) -> None:
    """Raise if options for embeddings are given for runs of another kind, or files of vectors cannot be read."""
    names = [name for name in OPTIONS if getattr(arguments, name) is not None]
    names += [name for name, usual in (("similarity", "dot"), ("missing_truth", "raise"))
              if getattr(arguments, name) != usual]  # fmt: skip
    if names and not has_embeddings(runs):
        raise InvalidInputError(
            f"--{names[0].replace('_', '-')} is for embeddings, but no RUN is USERS.npy,ITEMS.npy or "
            "MODEL.safetensors. Leave it out."
        )


def list_files(runs: Sequence[str]) -> list[str]:
    """Return the paths of runs, two of them where a run is two files."""
    if not has_embeddings(runs):
        return list(runs)
    from fastndcg.scoring.files import is_embeddings_path, split_paths  # imports numpy

    return [path for run in runs for path in (split_paths(run) if is_embeddings_path(run) else [run])]


def read_predictions(path: str, judgments: Qrels | None, arguments: argparse.Namespace) -> Run | Embeddings:
    """Read a run, or vectors whose ids are of the kind of the judgments' ids."""
    if judgments is None or not has_embeddings([path]):
        from fastndcg.inputs.qrels_run import Run
        from fastndcg.inputs.text.formats import read_file

        return read_file(Run, path, getattr(arguments, "columns", None), getattr(arguments, "threads", None))
    from fastndcg.scoring.files import IdFiles, read_embeddings

    are_texts = judgments.queries.are_texts, judgments.documents.are_texts
    return read_embeddings(path, arguments.similarity, IdFiles(arguments.query_ids, arguments.document_ids, are_texts))


def read_selection(arguments: argparse.Namespace, runs: Sequence[str]) -> dict[str, Any]:
    """Return the keywords of `evaluate` that select documents of embeddings, none without embeddings."""
    if not has_embeddings(runs):
        return {}
    from fastndcg.inputs.text.formats import read_qrels

    selection: dict[str, Any] = {"missing_truth": arguments.missing_truth}
    if arguments.exclude is not None:
        selection["exclude"] = read_qrels(arguments.exclude)
    if arguments.candidates is not None:
        selection["candidates"] = _read_candidates(arguments.candidates)
    return selection


def _read_candidates(path: str) -> Any:
    """Return the ids of a file with one on each line, or its documents for each query."""
    from fastndcg.inputs.hints import check_path
    from fastndcg.inputs.text.formats import read_qrels
    from fastndcg.scoring.files import read_lines

    check_path(path)
    with open(path, "rb") as file:
        first = file.readline(4096)
    is_list = len(first.split()) == 1 and not first.startswith((b"{", b"[", b"PAR1")) and b"," not in first
    return read_lines(path) if is_list else read_qrels(path)

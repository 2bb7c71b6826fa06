"""
Roles of columns: which column has the queries, the documents, the labels and the scores.

Roles are chosen from the names alone, before any column is read. Of several columns with usual names for queries or
documents the first of these counts that only one column is: a column that the other table has, too; ``qid`` and
``docno``; other names of ids, before ``query`` and the like, which may be texts; the exact spelling of the table below.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, shorten

# usual names, which also count in other letter cases and with other blanks, "_", "-" or "."
NAMES = {
    "query": (
        "query queries query_id query_ids qid q topic topic_id user user_id user_idx uid customer customer_id visitor "
        "visitor_id session session_id group group_id question question_id search_id srch_id"
    ),
    "document": (
        "document documents document_id document_ids doc docs doc_id doc_ids docno did passage passage_id pid "
        "corpus_id item items item_id item_ids item_idx iid product product_id article article_id movie movie_id news "
        "news_id book book_id track track_id video video_id chunk_id node_id asin parent_asin"
    ),
    "label": "label labels relevance rel rating ratings grade judgment judgement target y_true r_ui",
    "score": "score scores prediction predictions pred preds similarity sim y_score y_pred est",
    "subtopic": "subtopic subtopic_id nugget nugget_id",
    "importance": "importance nugget_importance",
    "rank": "rank ranks position pos",
    # lists of ids, one row a query
    "relevant": (
        "relevant relevant_ids relevant_docs relevant_doc_ids relevant_documents relevant_items expected expected_ids "
        "expected_doc_ids ground_truth ground_truth_ids ground_truth_doc_ids ground_truth_context gold gold_ids "
        "gold_docs gold_doc_ids actual positive_ids reference_ids reference_context_ids target_ids true_ids y_true_list"
    ),
    "retrieved": (
        "retrieved retrieved_ids retrieved_docs retrieved_doc_ids retrieved_documents retrieved_items "
        "retrieved_context retrieved_context_ids retrieved_node_ids predicted predicted_ids predicted_items "
        "recommended recommended_ids recommended_items recommendations recommendation recs results result_ids hits "
        "ranking ranked_ids ranked_list y_reco_list"
    ),
}
SPAN_NAMES = {  # of text, which other tables do not have
    "start": "start start_index start_char char_start start_offset start_pos start_idx begin",
    "end": "end end_index end_char char_end end_offset end_pos end_idx stop",
    "weight": "weight weights",
}
ROLES = ("query", "document", "label", "score", "subtopic", "importance", "rank")  # that `columns` may name
SIDES = ("truth", "predictions")
# the table that has the role, of two
HOLDERS = {
    "label": "truth", "subtopic": "truth", "importance": "truth", "score": "predictions", "rank": "predictions",
}  # fmt: skip
# usual where no other column has a usual name: RecTools' labels and clicks, and on each side the words of the other one
LAST_LABELS = "weight click clicks clicked"
LABELS_OF_TRUTH = "score scores"
SCORES_OF_RUNS = "rating ratings weight"
FIRST_IDS = ("qid", "docno")
# what lacks a role, but has another one, may be swapped with the other side
SWAPPED = {
    "score": ("label", "It looks like judgments, which come first. Give a run in its place"),
    "label": ("rank", "It looks like a run, which comes after the judgments. Give judgments in its place"),
}


@functools.cache
def _spell(words: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return names as they are spelled, and their letters and digits alone."""
    names = words.split()
    return frozenset(names), frozenset(map(_simplify, names))


@functools.lru_cache(1 << 12)
def _simplify(name: str) -> str:
    return re.sub(r"[\s_.\-]", "", name.lower())


@dataclass(frozen=True, slots=True)
class ColumnNames(Mapping[str, str]):
    """
    What is known of the columns of one side before its table is seen.

    Attributes
    ----------
    by_role : dict
        The names that the user gave for this side.
    side : {'', 'truth', 'predictions'}
        Empty for a table of unknown side.
    must_exist : bool
        True if the names are for this table alone, so that it has them all.
    beside : frozenset of str
        The names of the columns of the other side.
    is_alone : bool, optional
        True for a truth without predictions, which may hold scores. None if that is not known.
    retrieved : str, optional
        The name that the user gave for the documents of the predictions.
    parents : str, optional
        The column of the documents of chunks, which has no other role.
    """

    by_role: Mapping[str, str] = field(hash=False)
    side: str = ""
    must_exist: bool = False
    beside: frozenset[str] = frozenset()
    is_alone: bool | None = None
    retrieved: str | None = None
    parents: str | None = None

    def __getitem__(self, role: str) -> str:
        return self.by_role[role]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_role)

    def __len__(self) -> int:
        return len(self.by_role)

    @classmethod
    def of(cls, columns: Any, side: str = "") -> ColumnNames:
        """Read `columns` as the user gave it, or return a value of this class, with a side if it has none."""
        if isinstance(columns, cls):
            return columns if columns.side else replace(columns, side=side)
        return name_columns(columns, side, is_alone=False if side else None, must_exist=side != "")

    def find(self, role: str, names: Collection[str]) -> list[str]:
        """Return the columns that may have a role: one if it is clear, none, or several."""
        named = self.by_role.get(role)
        if named is not None and (self.must_exist or named in names):
            return [named]
        free = self.list_free(role, names)
        usual = find_usual_names(role, free, self.beside)
        if role == "label":
            usual = usual or _choose(_spell(LAST_LABELS), free)
            if self.side == "truth" and not self.is_alone:
                usual = usual or _choose(_spell(LABELS_OF_TRUTH), free)
        if role == "score" and self.side == "predictions":
            usual = usual or _choose(_spell(SCORES_OF_RUNS), free)
        return usual or ([named] if named is not None else [])

    def list_free(self, role: str, names: Collection[str]) -> Collection[str]:
        """Return the columns that the user did not name for another role."""
        if not self.by_role:
            return names
        taken = {name for other, name in self.by_role.items() if other != role}
        return [name for name in names if name not in taken] if taken else names


@functools.lru_cache(1 << 8)
def find_roles(known: ColumnNames, names: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Return the columns that may have each role, cached: calls of one program have tables of few kinds."""
    names = tuple(name for name in names if name != known.parents)
    found = {role: tuple(known.find(role, names)) for role in (*ROLES, "retrieved", *SPAN_NAMES)}
    if not found["document"] and known.side:
        found["document"] = tuple(known.find("relevant" if known.side == "truth" else "retrieved", names))
    if known.retrieved is not None:
        found["retrieved"] = (known.retrieved,)
    return MappingProxyType(found)


def name_columns(
    columns: Any, side: str, *, beside: Iterable[str] = (), is_alone: bool | None = None, must_exist: bool = False
) -> ColumnNames:
    """
    Return the names that `columns` gives to one side.

    One dict serves both sides: each role falls to the side whose table has the column. A dict for each side names
    columns that must be there.
    """
    if columns is None:
        return ColumnNames({}, side, must_exist or bool(is_alone), frozenset(beside), is_alone)
    by_role, is_nested = read_columns(columns, side)
    retrieved = None
    if is_nested:
        retrieved = dict(columns.get("predictions") or {}).get("document")
        must_exist = True
    elif is_alone is False or side != "truth":  # a truth that may be alone has scores, too
        by_role = {role: name for role, name in by_role.items() if HOLDERS.get(role, side) == side or not side}
    return ColumnNames(by_role, side, must_exist or bool(is_alone), frozenset(beside), is_alone, retrieved)


def read_columns(columns: Any, side: str = "") -> tuple[dict[str, str], bool]:
    """Check `columns`, and return the names by role of one side, and True if each side has a dict of its own."""
    if columns is None:
        return {}, False
    if not isinstance(columns, Mapping):
        raise InvalidTypeError(f"`columns` must map {', '.join(ROLES)} to names of columns, not {shorten(columns)}")
    is_nested = bool(columns) and any(isinstance(names, Mapping) for names in columns.values())
    if is_nested:
        for key, names in columns.items():
            if key not in SIDES or not isinstance(names, Mapping):
                raise InvalidInputError(
                    "`columns` must have the keys 'truth' and 'predictions' where each side has names of its own, not "
                    f"{shorten({key: names})}. Give columns={{'truth': {{ROLE: NAME}}, 'predictions': {{ROLE: NAME}}}}"
                )
            _check_names(names)
        return dict(columns.get(side) or {}), True
    _check_names(columns)
    return dict(columns), False


def _check_names(columns: Mapping[Any, Any]) -> None:
    if not all(isinstance(name, str) for name in columns.values()):
        raise InvalidTypeError(f"`columns` must map {', '.join(ROLES)} to names of columns, not {shorten(columns)}")
    for role in columns:
        if role not in ROLES and role not in SPAN_NAMES:
            raise InvalidInputError(f"`columns` must have keys among {', '.join(ROLES)}, not {shorten(role)}")


def refuse_unknown(columns: Any, columns_by_argument: Mapping[str, tuple[str, ...]]) -> None:
    """
    Raise for a named column that no argument has.

    `columns_by_argument` gives the columns of each argument, none for an argument that is no frame. A name for such an
    argument is ignored if another argument is a frame: the next call may pass a frame.
    """
    if columns is None:
        return
    for side in SIDES:
        names, is_nested = read_columns(columns, side)
        holders = [side] if is_nested and side in columns_by_argument else list(columns_by_argument)
        for role, name in names.items():
            holder = HOLDERS.get(role, "")
            is_other = holder in columns_by_argument and not columns_by_argument[holder]
            if not is_nested and is_other and any(columns_by_argument.values()):
                continue
            if not any(name in columns_by_argument[holder] for holder in holders):
                has = ", ".join(f"`{holder}` has {join_names(columns_by_argument[holder])}" for holder in holders)
                raise InvalidInputError(
                    f"`columns` must name columns that are there, but none is {shorten(name)}, named for {role}: "
                    f"{has}. Correct the name, or leave it out"
                )
        if not is_nested:
            return


def find_usual_names(role: str, names: Iterable[str], beside: Collection[str] = ()) -> list[str]:
    """Return the columns with usual names for a role: one if it is clear, none, or several."""
    if role not in ("query", "document"):
        return _choose(_spell(NAMES[role] if role in NAMES else SPAN_NAMES[role]), names)
    spelled, all_letters = _spell(NAMES[role])
    usual = _choose_all(all_letters, names)
    if len(usual) < 2:
        return usual

    def order(name: str) -> tuple[bool, int, bool]:
        letters = _simplify(name)
        kind = 0 if letters in FIRST_IDS else 1 if letters.endswith(("id", "ids", "idx")) else 2
        return name not in beside, kind, name not in spelled

    first = min(map(order, usual))
    return [name for name in usual if order(name) == first]


def find_usual_roles(names: Iterable[str]) -> dict[str, str]:
    """Return the role of each name that is usual for one."""
    names = list(names)
    return {name: role for role in NAMES for name in _choose_all(_spell(NAMES[role])[1], names)}


def _choose(usual: tuple[frozenset[str], frozenset[str]], names: Iterable[str]) -> list[str]:
    """Return the names of a set: those spelled exactly so if there are some, else those with the same letters."""
    spelled, letters = usual
    alike = _choose_all(letters, names)
    if len(alike) < 2:
        return alike
    return [name for name in alike if name in spelled] or alike


def _choose_all(letters: frozenset[str], names: Iterable[str]) -> list[str]:
    return [name for name in names if _simplify(name) in letters]

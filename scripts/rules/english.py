"""Plain English in docstrings, comments and error texts, as far as a program can check it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rules.project import File, Function, read_files

FOLDERS = ("fastndcg", "scripts", "benchmarks", "tests", "examples")
MOST_WORDS = 25

# a docstring that begins with one of these hangs on another sentence
OPENINGS = re.compile(
    r"(What|Where|Who|Whose|Whom|Those|These|How|Whether|Which|When|The same|As|So|Do so|And|But|Or|That|This|It|They)"
    r"\b"
)
# a function's docstring begins with a verb; properties and tests are described by a noun phrase or a sentence
NOT_VERBS = re.compile(
    r"(The|A|An|Each|Every|All|Any|Some|No|None|Not|One|Both|Only|In|On|At|Of|For|From|With|Without|If|By|To|"
    r"Is|Are|Has|Have|Does|Another|Other|Its|Their|Our|Those|There|Here)\b"
)
# forbidden word or phrase, and the words to write instead
WORDS = {
    r"sooner": "faster, earlier",
    r"in turns": "alternately, interleaved",
    r"(is|are|were|be) (?-i:none)": "is None, is empty, is missing, or name the rule that is broken",
    r"none of (those|it)": "name the rule that is broken",
    r"of (its|their|our|your) own": "say whose it is, or leave it out",
    r"nobody|somebody": "say who: the caller, another thread",
    r"lets? go|let go": "skip, drop, release",
    r"as many": "the same number of",
    r"(of no|no) use|of no meaning": "unused, ignored",
    r"giants?": "large query",
    r"asks? for|asked for|asking for": "need, request",
    r"(is|are|was|were) told": "receives, gets",
    r"stands? (in|at|for|where|next|below|above|beside)": "be, mean, represent",
    r"(what|which|who) is asked": "request",
    r"to be sure": "leave it out",
    r"(kernels?|loops?|python|numba|processors?) (asks?|tells?|knows?|expects?|wants?|looks?|waits?|sees?)":
        "say what happens: takes, raises, reads",
    r"(a|one|two|three|four|five|six|seven|eight|nine) "
    r"(thirds?|fourths?|quarters?|fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?|twelfths?)":
        "write the figure in digits",
    r"some \w+(ths|thirds)": "write the figure in digits",
    r"nothing but|all but|but for": "only, except",
}  # fmt: skip
FORBIDDEN = re.compile(r"\b(?:" + "|".join(f"({pattern})" for pattern in WORDS) + r")\b", re.IGNORECASE)
INSTEAD = {re.compile(pattern, re.IGNORECASE): better for pattern, better in WORDS.items()}

SKIPPED_SECTIONS = {"Examples", "References"}  # code, and titles of papers
SENTENCE_END = re.compile(r"(?<=[.!?])['\"`)]*\s+(?=[A-Z`'\"\[(\d])|:\s|;\s|\s[–—]\s")
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|al|p|pp|no)\.", re.IGNORECASE)
CODE = re.compile(r"``[^`]*``|`[^`]*`")
BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")


class Text(NamedTuple):
    """A text for readers in a source file."""

    line: int
    kind: str  # module, class, function, property, test, comment or error
    text: str


def english_is_plain(root: Path) -> Iterator[str]:
    """Check that docstrings, comments and errors keep to the rules of plain English in CONTRIBUTING.md."""
    for file in read_files(root, *FOLDERS):
        for text in read_texts(file):
            for problem in find_problems(text):
                yield f"{file.name}:{text.line}: {text.kind}: {problem}"


def find_problems(text: Text) -> Iterator[str]:
    """Yield what breaks the rules of plain English in a text."""
    opening = text.text.strip().partition("\n")[0]
    is_docstring = text.kind not in ("comment", "error")
    if is_docstring and OPENINGS.match(opening):
        yield f"must begin with a verb or a noun, not {opening.split()[0]!r}"
    elif text.kind == "function" and NOT_VERBS.match(opening):
        yield f"must begin with a verb, not {opening.split()[0]!r}"
    for paragraph in split_paragraphs(text.text):
        for match in FORBIDDEN.finditer(paragraph):
            better = next(better for pattern, better in INSTEAD.items() if pattern.fullmatch(match[0]))
            yield f"must not say {match[0]!r}: {better}"
        outer = BRACKETS.sub("", paragraph).rstrip().removesuffix(";")  # the end of an item of a list
        if ";" in outer and text.kind != "comment":
            yield "must not chain sentences by a semicolon"
        for sentence in SENTENCE_END.split(ABBREVIATIONS.sub(r"\1", paragraph)):
            words = re.findall(r"[^\W\d_][\w'’-]*", BRACKETS.sub("", sentence))
            if len(words) > MOST_WORDS:
                yield f"must not have {len(words)} words in a sentence: {sentence[:60]} ..."


def split_paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of prose of a text on one line each, with `X` for code, without headings and tables."""
    section = ""
    for block in re.split(r"\n\s*\n", text):
        lines = block.splitlines()
        if len(lines) > 1 and re.fullmatch(r"\s*-{3,}\s*", lines[1]):
            section = lines[0].strip()
            lines = lines[2:]
        is_code = any(re.match(r"\s*(>>>|\.\.\.( |$))", line) or line.rstrip().endswith("::") for line in lines)
        if section in SKIPPED_SECTIONS or is_code:
            continue
        for paragraph in _split_items(lines):
            yield CODE.sub("X", " ".join(paragraph.split()))


def _split_items(lines: list[str]) -> Iterator[str]:
    """Yield the items of a list, the descriptions of parameters, and the other text, without tables and formulas."""
    item: list[str] = []
    for line in lines:
        is_type = re.match(r"\s*[\w*`, ]+ : ", line)  # of a parameter
        is_table = "|" in line or re.search(r"\S {2,}\S", line) or re.match(r"\s*[-=]{3,}", line)
        if is_type or is_table or re.match(r"\s*([-*·]|\d+\.) ", line):
            yield " ".join(item)
            item = []
        if not is_type and not is_table:
            item.append(line)
    yield " ".join(item)


def read_texts(file: File) -> Iterator[Text]:
    """Yield the docstrings, blocks of comments and error texts of a file."""
    yield from _read_docstrings(file)
    yield from _read_errors(file.tree)
    yield from _read_comments(file.path.read_text(encoding="utf-8"))


def _read_docstrings(file: File) -> Iterator[Text]:
    is_test_file = file.path.name.startswith("test_") or file.package == "tests"
    for node in ast.walk(file.tree):
        if not isinstance(node, ast.Module | ast.ClassDef | Function):
            continue
        docstring = ast.get_docstring(node)
        if not docstring:
            continue
        if isinstance(node, ast.Module):
            kind = "module"
        elif isinstance(node, ast.ClassDef):
            kind = "class"
        elif any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
            kind = "property"
        else:
            kind = "test" if is_test_file else "function"
        yield Text(node.body[0].lineno, kind, docstring)


def _read_errors(tree: ast.Module) -> Iterator[Text]:
    """Yield the texts of calls of exception classes, with X for every value that is filled in."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not re.search(r"(Error|Exception|Warning)$", ast.unparse(node.func)):
            continue
        for argument in node.args[:1]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield Text(node.lineno, "error", argument.value)
            elif isinstance(argument, ast.JoinedStr):
                parts = [str(part.value) if isinstance(part, ast.Constant) else "X" for part in argument.values]
                yield Text(node.lineno, "error", "".join(parts))


def _read_comments(source: str) -> Iterator[Text]:
    """Yield the blocks of comments. Comments on consecutive lines are one block."""
    block: list[str] = []
    first_line = 0
    last_line = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or re.match(r"#\s*(fmt|type|noqa|mypy|pragma|!)", token.string):
            continue
        line = token.start[0]
        is_alone = not token.line[: token.start[1]].strip()
        if block and not (line == last_line + 1 and is_alone):
            yield Text(first_line, "comment", " ".join(block))
            block = []
        if not block:
            first_line = line
        block.append(token.string.lstrip("# "))
        last_line = line
    if block:
        yield Text(first_line, "comment", " ".join(block))

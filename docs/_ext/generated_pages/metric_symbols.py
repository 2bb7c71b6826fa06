"""The symbols of the metrics' formulas. A symbol has the same meaning on all pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Symbol(NamedTuple):
    """A symbol in LaTeX, its meaning in Markdown, and a regular expression that finds it in formulas."""

    latex: str
    meaning: str
    pattern: str


WORDS = (
    "rel", "jud", "pool", "liked", "popular", "tail", "count", "share", "words", "documents", "floor", "num", "den",
    "dist",
)  # fmt: skip
NAME = re.compile(r"\\mathrm\{(?!(?:" + "|".join(WORDS) + r")\})[^{}]*\}")
LOCAL = {"i", "j", "m", "e"}  # numbers that a formula defines itself


def _word(name: str) -> str:
    return rf"\\mathrm\{{{name}\}}"


def _letter(letter: str) -> str:
    return rf"(?<![A-Za-z\\]){letter}(?![A-Za-z])"


# A symbol stands before others that are a part of it.
SYMBOLS = (
    Symbol(r"\mathrm{rel}_{r,z}", "1 if the document at rank $r$ is relevant to subtopic $z$, otherwise 0",
           _word("rel") + r"_\{r,z\}"),
    Symbol(r"h_{r,z}", "number of documents at ranks 1 to $r$ that are relevant to subtopic $z$",
           r"h_\{(?:r|k|r-1),z\}"),
    Symbol(r"R_z", "number of documents that are relevant to subtopic $z$", r"R_z"),
    Symbol(r"\mathrm{rel}_r", "1 if the document at rank $r$ is relevant, otherwise 0; the label of a relevant "
           "document is at least `rel`", _word("rel") + "_[ri]"),
    Symbol(r"h_r", "number of relevant documents at ranks 1 to $r$",
           r"(?<![A-Za-z\\])h_(?:\w(?![A-Za-z])|\{r-1\})"),
    Symbol(r"h_{r_j}", "number of relevant documents above the $j$th document that is not relevant", r"h_\{r_j\}"),
    Symbol(r"\mathrm{jud}_r", "1 if the document at rank $r$ is judged, otherwise 0", _word("jud") + "_r"),
    Symbol(r"o_r", "number of documents above rank $r$ that are judged and not relevant", r"o_r"),
    Symbol(r"\mathrm{pool}_r", "number of documents above rank $r$ that are in the pool", _word("pool") + "_r"),
    Symbol(r"g^*_r", "gain at rank $r$ of the ideal ranking, the best order of all judged documents", r"g\^\*_[ri]"),
    Symbol(r"g_r", "gain of the document at rank $r$, a function of its label", r"(?<![A-Za-z\\])g_[ri]"),
    Symbol(r"d(r)", "discount of rank $r$", r"d\(r\)"),
    Symbol(r"s_r", "probability that the user stops at the document at rank $r$", r"(?<![A-Za-z\\])s_[ri]"),
    Symbol(r"\ell_{\max}", "the parameter `max_grade`", r"\\ell_\{\\max\}"),
    Symbol(r"\ell_r", "label of the document at rank $r$", r"\\ell_r"),
    Symbol(r"\ell_i", "label of document $i$", r"\\ell_[ij]"),
    Symbol(r"\mathrm{ERR}^*", "ERR of the ideal ranking", r"\^\*\\mathrm\{@\}"),
    Symbol(r"r'_j", "rank of document $j$ in the second ranking; tied documents share their mean rank", r"r'_j"),
    Symbol(r"r_j", "rank of document $j$", r"(?<![A-Za-z\\])r_[ij]"),
    Symbol(r"\bar{r}", "mean rank", r"\\bar\{r\}"),
    Symbol(r"\delta", "the parameter `decay`", r"\\delta"),
    Symbol(r"t_{1/2}", "the parameter `half_life`", r"t_\{1/2\}"),
    Symbol(r"t_r", "seconds before the user reaches rank $r$", r"(?<![A-Za-z\\])t_r"),
    Symbol(r"\mathrm{words}", "the parameter `words`", _word("words")),
    Symbol(r"V_r", "weight of rank $r$", r"V_(?:\w|\{r\+1\})"),
    Symbol(r"T_r", "part of the goal that remains below rank $r$", r"T_r"),
    Symbol(r"T", "the parameter `goal`", _letter("T")),
    Symbol(r"n_g", "number of judged documents with a gain", r"n_g"),
    Symbol(r"n_{\min}, n_{\max}", "lengths of the shorter and of the longer ranking", r"n_\{\\(?:min|max)\}"),
    Symbol(r"n_0", "number of pairs of documents", r"n_0"),
    Symbol(r"n_1, n_2", "number of pairs that tie in the first and in the second ranking", r"n_[12]"),
    Symbol(r"\mathcal{E}", "ranks at which a level of gain ends in the ideal ranking; also rank $n$ if it is more than "
           "one rank below them", r"\\mathcal\{E\}"),
    Symbol(r"\mathcal{L}", "the parameter `recalls`", r"\\mathcal\{L\}"),
    Symbol(r"\varrho", "a recall, the parameter `recall`", r"\\varrho"),
    Symbol(r"\mu", "the parameter `mult`", r"\\mu"),
    Symbol(r"\gamma^*_r", "novelty gain at rank $r$ of the greedy ideal ranking", r"\\gamma\^\*_r"),
    Symbol(r"\gamma_r", "novelty gain at rank $r$", r"\\gamma_r"),
    Symbol(r"\alpha", "the parameter `alpha`", r"\\alpha"),
    Symbol(r"\beta", "the parameter `beta`", r"\\beta"),
    Symbol(r"Z", "number of subtopics with a relevant document", _letter("Z")),
    Symbol(r"w_z", "importance of nugget $z$, with the parameter `importance`; here $z$ are all nuggets", r"w_z"),
    Symbol(r"\sigma_{k,z}", "support of nugget $z$ by documents at ranks 1 to $k$: 1, the parameter `partial`, or 0",
           r"\\sigma_\{k,z\}"),
    Symbol(r"K_k", "characters of the chunks at ranks 1 to $k$", r"K_k"),
    Symbol(r"W", "characters of the gold text", _letter("W")),
    Symbol(r"\nu^*_r", "weight of the gold text that the ideal ranking adds at rank $r$", r"\\nu\^\*_r"),
    Symbol(r"\nu_r", "weight of the gold text that the chunk at rank $r$ adds", r"\\nu_r"),
    Symbol(r"z", "a subtopic with a relevant document", _letter("z")),
    Symbol(r"w_a, w_b, w_c, w_d", "the parameters `a`, `b`, `c` and `d`", r"w_[abcd]"),
    Symbol(r"w_q", "weight of query $q$, which the parameter `weight` names", r"w_q"),
    Symbol(r"\mathrm{AUC}_q", "AUC of query $q$", r"(?<=\} )_q|(?<= )_q(?=\}| )"),
    Symbol(r"\mathrm{documents}", "the parameter `documents`", _word("documents")),
    Symbol(r"f", "the parameter `max_fpr`", _letter("f")),
    Symbol(r"X_d", "number of documents among the first $d$ of both rankings", r"X_(?:\w|\{[^{}]*\}| *N)"),
    Symbol(r"A_d", "the first $d$ documents of the ranking", r"A_d"),
    Symbol(r"I_d", "the first $d$ documents of the ideal ranking", r"I_d"),
    Symbol(r"C_r", "number of documents above rank $r$ of the second ranking that are also above this document in the "
           "first ranking", r"C_r"),
    Symbol(r"C_j", "number of documents above the tie group of document $j$ in both rankings", r"C_j"),
    Symbol(r"a_j", "number of documents above the tie group of document $j$", r"(?<![A-Za-z\\])a_j"),
    Symbol(r"\tau(1, 2)", "correlation of the second ranking with the first, over the $m$ documents below its first "
           "tie group", r"\\tau\([12], [12]\)"),
    Symbol(r"C, D", "number of pairs in the same order and in opposite order", _letter("[CD]")),
    Symbol(r"u_r", "number of users who interacted with the item at rank $r$", r"u_r"),
    Symbol(r"U", "number of users", _letter("U")),
    Symbol(r"\mathrm{tail}_r", "1 if the item at rank $r$ is in the long tail, otherwise 0", _word("tail") + "_r"),
    Symbol(r"\mathrm{liked}_r", "1 if the user likes the item at rank $r$, otherwise 0", _word("liked") + "_r"),
    Symbol(r"\mathrm{popular}_r", "1 if the item at rank $r$ is among the $k$ most popular items, otherwise 0",
           _word("popular") + "_r"),
    Symbol(r"\mathrm{dist}(i, r)", "distance of the items at ranks $i$ and $r$", _word("dist")),
    Symbol(r"v_r", "vector of the item at rank $r$", r"(?<![A-Za-z\\])v_[ir]"),
    Symbol(r"Y_r", "categories of the item at rank $r$", r"Y_[ir]"),
    Symbol(r"B_q", "the first $k$ items of user $q$", r"B_[qij]"),
    Symbol(r"\mathrm{count}_j", "number of users with item $j$ among their first $k$; the lowest number is that of "
           "item 1", _word("count") + "_[ij]"),
    Symbol(r"\mathrm{share}_j", "share of item $j$ in all recommendations", _word("share") + "_j"),
    Symbol(r"J", "number of items in the catalogue", _letter("J")),
    Symbol(r"x_{(j)}", "the $j$th lowest value", r"x_\{\([^()]*\)\}"),
    Symbol(r"x_q", "value of query $q$", r"x_q"),
    Symbol(r"\bar{x}", "mean of the values", r"\\bar\{x\}"),
    Symbol(r"\bar{e}", "mean of the values that a random order gives", r"\\bar\{e\}"),
    Symbol(r"\mathrm{num}_q, \mathrm{den}_q", "numerator and denominator of the metric for query $q$",
           _word("(?:num|den)") + "_q"),
    Symbol(r"Q", "number of queries or users with a value", _letter("Q")),
    Symbol(r"q", "a query or user", _letter("q")),
    Symbol(r"\mathrm{floor}", "the parameter `floor`", _word("floor")),
    Symbol(r"\varphi", "the parameter `q`", r"\\varphi"),
    Symbol(r"\pi", "place among the sorted values", r"\\pi(?![a-z])"),
    Symbol(r"\sigma", "the parameter `share`", r"\\sigma"),
    Symbol(r"\varepsilon", "a small number", r"\\varepsilon"),
    Symbol(r"p", "the parameter `p`", _letter("p")),
    Symbol(r"R", "number of relevant documents, retrieved or not", _letter("R")),
    Symbol(r"N", "number of ranked documents that are not relevant", _letter("N")),
    Symbol(r"O", "number of documents that are judged and not relevant", _letter("O")),
    Symbol(r"n", "number of ranked documents", _letter("n")),
    Symbol(r"k", "cutoff; all ranks count if the metric has none", _letter("k")),
    Symbol(r"d", "depth, a number of ranks", _letter("d")),
    Symbol(r"r", "rank, 1 for the first document", _letter("r")),
)  # fmt: skip
FIRST = ("r", "k", "n", "R")  # in lists
COMMAND = re.compile(r"\\[A-Za-z]+|\\.")


def find_symbols(equations: Iterable[str]) -> list[Symbol]:
    """Return the symbols that appear in equations, the most frequent ones first."""
    present = {symbol for equation in equations for symbol in _split(equation)[0]}
    first = [symbol for letter in FIRST for symbol in present if symbol.latex == letter]
    return first + [symbol for symbol in SYMBOLS if symbol in present and symbol not in first]


def find_unexplained(equation: str) -> set[str]:
    r"""
    Return the letters of an equation that belong to no symbol.

    >>> find_unexplained(r"\frac{h_k}{k} + x"), find_unexplained(r"\mathrm{P@}k = \frac{h_k}{k}")
    ({'x'}, set())
    """
    rest = COMMAND.sub(" ", _split(equation)[1])
    greek = set(re.findall(r"\\(?:tau|[a-z]*rho|[a-z]*phi|theta|lambda|kappa)(?![a-z])", _split(equation)[1]))
    return (set(re.findall("[A-Za-z]+", rest)) | greek) - LOCAL - {r"\tau"}


def _split(equation: str) -> tuple[list[Symbol], str]:
    """Return the symbols of an equation, and the text that is left without them and without names of metrics."""
    text = NAME.sub(" ", equation) if "ERR}^*" not in equation else equation.replace(r"\mathrm{ERR}", " ")
    symbols = []
    for symbol in SYMBOLS:
        text, n = re.subn(symbol.pattern, " ", text)
        if n:
            symbols.append(symbol)
    return symbols, NAME.sub(" ", text)

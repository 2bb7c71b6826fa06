"""What -m asks for: metrics in our words or trec_eval's, each with the line that trec_eval prints for it."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError
from fastndcg.metric import Metric
from fastndcg.texts import split_list
from fastndcg.trec import MEASURES, Asked, Line, at_level, lines, read, relstring_length


class Options(NamedTuple):
    """Options of trec_eval's: the lowest relevant label, and how many documents the collection has."""

    level: int | None = None
    documents: int = 0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add trec_eval's options to a command."""
    group = parser.add_argument_group("options of trec_eval, by its names")
    group.add_argument("-q", dest="per_query", action="store_true", help="the same as --per-query")
    group.add_argument("-c", dest="complete", action="store_true", help="judged queries missing in a run score 0")
    group.add_argument("-J", dest="judged_only", action="store_true", help="take unjudged documents out first")
    group.add_argument("-l", dest="level", type=int, metavar="LABEL", help="documents are relevant from this label on")
    group.add_argument("-M", dest="most", type=int, metavar="N", help="look at the first N documents of each query")
    group.add_argument("-N", dest="documents", type=int, default=0, metavar="N", help="documents of the collection")


def with_options(convention: Convention, arguments: argparse.Namespace) -> Convention:
    """The convention with the choices that trec_eval's options make; refuse wrong ones."""
    for name, value, least in (("-l", arguments.level, 1), ("-M", arguments.most, 1), ("-N", arguments.documents, 0)):
        if value is not None and value < least:
            raise InvalidInputError(f"{name} must be {least} or more, not {value}")
    if arguments.most is not None and convention.ties != "id_descending":
        raise InvalidInputError(
            f"-M takes documents in trec_eval's order: choose --convention trec_eval, not {convention}, "
            f"whose ties are {convention.ties}"
        )
    choices = {"missing_in_run": "zero"} if arguments.complete else {}
    if arguments.judged_only:
        choices |= {"unjudged": "removed", "negative_labels": "removed"}
    return convention.replace(**choices) if choices else convention


def version_of(convention: Convention) -> int:
    """Which trec_eval a convention stands for: 9 has fewer measures."""
    return 9 if convention.name.startswith("trec_eval_9") else 10


class Wanted(NamedTuple):
    """Texts of -m, taken apart: trec_eval's measures, and metrics of ours."""

    parts: tuple[Asked | Metric, ...]

    @classmethod
    def of(cls, texts: Sequence[str], convention: Convention) -> Wanted:
        """
        Read texts: each of them one of trec_eval's, or several in commas.

        A measure with parameters takes the place of the same one with the usual ones, as of those that a nickname
        stands for.
        """
        parts: list[Asked | Metric] = []
        version = version_of(convention)
        for text in texts:
            whole = read(text.strip(), version=version)
            for part in [text] if whole is not None else split_list(text):
                found = whole if whole is not None else read(part, version=version)
                parts += [Metric.parse(part)] if found is None else found
        with_parameters = {part.measure for part in parts if isinstance(part, Asked) and part.parameters}
        replaced = {Asked(measure, "") for measure in with_parameters}
        return cls(tuple(part for part in dict.fromkeys(parts) if part not in replaced))

    @property
    def relstring(self) -> int | None:
        """How many labels the relevance string has, None where it is not asked for."""
        return relstring_length(part for part in self.parts if isinstance(part, Asked))

    @property
    def has_gains(self) -> bool:
        """Whether gains of labels are given, which need to know how many labels there are."""
        return any(isinstance(part, Asked) and part.measure.kind == "gains" and part.parameters for part in self.parts)

    def lines(self, options: Options, highest: int = 0) -> tuple[Line, ...]:
        """The lines that trec_eval prints, in the order asked for."""
        made: list[Line] = []
        for part in self.parts:
            if isinstance(part, Asked):
                made += lines([part], level=options.level, documents=options.documents, highest=highest)
            else:
                metric = at_level(part, options.level)
                made.append(Line(len(MEASURES), metric.trec_name, metric))
        times = Counter(line.name for line in dict.fromkeys(made))
        ours = [line.order == len(MEASURES) and times[line.name] > 1 for line in made]
        return tuple(
            dict.fromkeys(
                line._replace(name=str(line.metric)) if is_repeated else line
                for line, is_repeated in zip(made, ours, strict=True)
            )
        )


def metrics_of(wanted: Sequence[Line]) -> tuple[Metric, ...]:
    """The metrics behind lines, each once."""
    metrics = tuple(dict.fromkeys(line.metric for line in wanted if line.metric is not None))
    if not metrics:
        raise InvalidInputError("`metrics` is empty: -m must name one, such as 'ndcg@10' or trec_eval's 'all_trec'")
    return metrics

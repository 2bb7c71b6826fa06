"""The types of the records: a fusion method, and a normalisation of scores."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fastndcg.metrics.catalog import Parameter

FOX_1993 = "E. A. Fox and J. A. Shaw, Combination of multiple searches, TREC-2 1993"
WU_2002 = "S. Wu and F. Crestani, Data fusion with estimated weights, CIKM 2002"
LEE_1997 = "J. H. Lee, Analyses of multiple evidence combination, SIGIR 1997"
MOURAO_2015 = (
    "A. Mourão, F. Martins and J. Magalhães, Multimodal medical information retrieval with unsupervised rank fusion, "
    "Computerized Medical Imaging and Graphics 2015"
)
ASLAM_2001 = "J. A. Aslam and M. Montague, Models for metasearch, SIGIR 2001"
MONTAGUE_2002 = "M. Montague and J. A. Aslam, Condorcet fusion for improved retrieval, CIKM 2002"
LILLIS_2010 = (
    "D. Lillis, L. Zhang, F. Toolan, R. W. Collier, D. Leonard and J. Dunnion, Estimating probabilities for effective "
    "data fusion, SIGIR 2010"
)


@dataclass(frozen=True, slots=True)
class FusionRecord:
    """
    The description of one fusion method.

    Attributes
    ----------
    name, title : str
        Name in texts, and its meaning in words.
    kernel : str
        File and function of the kernel that combines the points of runs. `fastndcg.reference.fusion` has its twin.
    points : str
        What a run gives to a document: 'scores', normalised, or points by rank: see `fastndcg.fusion.points`.
    formula, source, doi : str
        How the fused score is computed, and its publication.
    latex : str
        The formula in LaTeX. The documentation has the list of symbols.
    parameters : tuple of Parameter
        What users may set in the method's text.
    aliases : tuple of str
        Other names that parse as this method.
    peers : tuple of (str, str)
        Other programs with their name of the method.
    absent : {'zero', 'skip', 'own'}
        What the definition says of documents that a run lacks: 0 points, no part in the formula, or points by the
        method's rule.
    is_weighted : bool
        Whether the method takes weights.
    is_linear : bool
        Whether a fused score is the weighted sum of the points, or their weighted mean.
    needs_training : bool
        Whether the method needs judgments.
    """

    name: str
    title: str
    kernel: str
    points: str
    formula: str
    source: str
    latex: str
    doi: str = ""
    parameters: tuple[Parameter, ...] = ()
    aliases: tuple[str, ...] = ()
    peers: tuple[tuple[str, str], ...] = ()
    absent: str = "skip"
    is_weighted: bool = False
    is_linear: bool = False
    needs_training: bool = False

    @property
    def names_elsewhere(self) -> tuple[str, ...]:
        """The names in `peers` that users may write for this method."""
        return tuple(name for _, name in self.peers if re.fullmatch(r"[\w-]+", name))

    @property
    def parameter_texts(self) -> tuple[str, ...]:
        """The parameters with their defaults, such as 'gamma=0.5', or the name alone of one without a default."""
        return tuple(p.name if p.default is None else f"{p.name}={p.default}" for p in self.parameters)


@dataclass(frozen=True, slots=True)
class NormalizationRecord:
    """
    The description of one normalisation of the scores of a run and query.

    Attributes
    ----------
    name, title, formula, source, latex : str
        See `FusionRecord`.
    kernel : str
        File of the kernel, and the constant that selects the rule. The twin has the record's name.
    aliases : tuple of str
        Other names in texts.
    peers : tuple of (str, str)
        Other programs with their name.
    """

    name: str
    title: str
    kernel: str
    formula: str
    latex: str
    source: str
    aliases: tuple[str, ...] = ()
    peers: tuple[tuple[str, str], ...] = ()

    @property
    def names_elsewhere(self) -> tuple[str, ...]:
        """The names in `peers` that users may write for this normalisation."""
        return tuple(name for _, name in self.peers if re.fullmatch(r"[\w-]+", name))

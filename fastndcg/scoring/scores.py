"""Scores: a matrix of scores of users for items, with the items that count."""

from __future__ import annotations

from typing import Any

from fastndcg.choices import MissingTruth
from fastndcg.errors import InvalidTypeError
from fastndcg.forms.dispatch import read_selection
from fastndcg.rankings.validation import Array
from fastndcg.recommenders.models import ScoreMatrix, read_score_matrix


class Scores(ScoreMatrix):
    """
    Scores of users for all items, and which of these are ranked. A matrix alone is the same with all items.

    Parameters
    ----------
    matrix : (n_users, n_items) array of floats
        Row u has the scores of user u, higher is better. It is not copied.
    exclude : sparse matrix, Interactions, frame, dict, path or items, optional
        Items that are no candidates, such as those seen in training: interactions of users in each form of the truth
        of `evaluate`, whatever their labels (a sparse matrix must store no 0); one list a user, also padded with -1 or
        as an array of bool; or items of all users. Their scores are not read, and may be NaN.
    candidates : sparse matrix, Interactions, frame, dict, path or items, optional
        Items that are ranked, in the forms of `exclude`. By default all items. An excluded item is no candidate.
    missing_truth : {'raise', 'skip', 'unretrieved'}
        What to do with items of the truth that are excluded, no candidates or unknown: raise an error, leave them out
        of the truth, or count them as relevant items that were not retrieved. A note of the result counts them. With
        'raise', a user without truth is an error for `Embeddings` and `Scorer`, unless the convention has
        no_relevant='skipped'.

    Raises
    ------
    InvalidInputError
        If an option has no such value. What does not fit the truth is an error of the evaluation.
    InvalidTypeError
        If `matrix` is no array of floats with two dimensions, or items are of another form.

    Examples
    --------
    >>> liked = fn.Interactions([2, 0], offsets=[0, 1, 2])
    >>> scores = fn.Scores([[0.9, 0.1, 0.5], [0.2, 0.7, 0.4]], exclude=[{0}, {1}])
    >>> fn.evaluate(liked, scores, "rr").mean()
    {'RR': 0.75}
    """

    __slots__ = ()

    def __init__(
        self, matrix: Any, *, exclude: Any = None, candidates: Any = None, missing_truth: MissingTruth = "raise"
    ) -> None:
        super().__init__(_read_matrix(matrix), read_selection(exclude, candidates, missing_truth))

    def replace(self, matrix: Any) -> Scores:
        """
        Return other scores of the same users for the same items, whose options are not read again.

        Parameters
        ----------
        matrix : (n_users, n_items) array of floats
            Such as the scores of the next epoch.

        Returns
        -------
        Scores
            Scores with the options of these.

        Examples
        --------
        >>> evaluator = fn.Evaluator(fn.Interactions([1], offsets=[0, 1]), "rr")
        >>> scores = fn.Scores([[0.3, 0.1, 0.2]], exclude={0})
        >>> evaluator(scores).mean(), evaluator(scores.replace([[0.1, 0.3, 0.2]])).mean()
        ({'RR': 0.5}, {'RR': 1.0})
        """
        other = object.__new__(Scores)
        ScoreMatrix.__init__(other, _read_matrix(matrix), self.selection)
        return other

    def __repr__(self) -> str:
        return f"Scores of {self.matrix.shape[0]} users, {self.matrix.shape[1]} items"


def _read_matrix(matrix: Any) -> Array:
    scores = read_score_matrix(matrix)
    if scores is None:
        kind = type(matrix).__name__
        remedy = "Leave the scores of such items out, and give it alone" if hasattr(matrix, "tocsr") else "Convert it"
        raise InvalidTypeError(f"`matrix` must be an array of floats of users by items, not {kind}. {remedy}")
    return scores

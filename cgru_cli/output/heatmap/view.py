"""The content of a heat map: words of both sides, attention and probabilities."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np

from ...errors import CgruError
from ...text.vocabulary import EOS

MEAN = "mean"  # name of an ensemble's view, beside the views of its models


class Attended(Protocol):
    """The fields of a `Hypothesis` that a view reads."""

    @property
    def tokens(self) -> Sequence[str]: ...

    @property
    def finished(self) -> bool: ...

    @property
    def word_scores(self) -> np.ndarray: ...

    @property
    def alignment(self) -> np.ndarray | None: ...

    def reversed(self) -> Self: ...


class View(NamedTuple):
    """The attention of a model, or the mean of an ensemble, for one line; T and S include EOS."""

    name: str
    source: Sequence[str]  # [S]
    target: Sequence[str]  # [T] in reading order; without EOS if the length limit cut it
    weights: np.ndarray  # (T,S) float32: attention of each target word, summing to 1
    probabilities: np.ndarray | None  # (T,) float32: p(y_j | y_<j, x)

    @classmethod
    def of(
        cls,
        name: str,
        source: Sequence[str],
        hypothesis: Attended,
        *,
        right_left: bool = False,
        model_weights: Sequence[float] = (1.0,),
        labels: bool = False,
    ) -> Self:
        """The view of a hypothesis (in decoding order) and the words of its source, without EOS.

        model_weights: the weights of the models' scores in `hypothesis.word_scores`. Divided by the
        sum of the weights, a word's score is the logarithm of the geometric mean of the models'
        probabilities, which is undefined for negative weights. labels: whether the words are
        labels, without EOS. Raises CgruError without attention.
        """
        if hypothesis.alignment is None:
            raise CgruError(f"{name}: has no attention to draw")
        if right_left:
            hypothesis = hypothesis.reversed()
        probabilities = None
        if min(model_weights) >= 0:
            scores = np.asarray(hypothesis.word_scores, np.float64)
            probabilities = np.exp(scores / sum(model_weights)).astype(np.float32)
        target = [*hypothesis.tokens, *([EOS] if hypothesis.finished and not labels else [])]
        weights = np.asarray(hypothesis.alignment, np.float32)[: len(target)]
        if probabilities is not None:
            probabilities = probabilities[: len(target)]
        return cls(name, [*source, EOS], target, weights, probabilities)

    @property
    def strongest(self) -> np.ndarray:
        """The source word (T,) that each target word attends to most, the first in a tie."""
        return self.weights.argmax(axis=1)


class Sentence(NamedTuple):
    """A line and its views: of its model, or of the mean and then each model."""

    number: int  # counted from 1
    views: Sequence[View]
    source: str = ""  # the line and its translation as text; "" to show the words
    target: str = ""


def model_names(paths: Sequence[str]) -> list[str]:
    """Names of views: file names, with as many folders as needed to distinguish them."""
    parts = [Path(path).parts for path in paths]
    for kept in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-kept:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return list(paths)


def is_right_to_left(words: Sequence[str]) -> bool:
    """Whether most words with a direction are written from right to left."""
    directions = []
    for word in words:
        kinds = [unicodedata.bidirectional(character) for character in word]
        directions += [kind != "L" for kind in kinds if kind in ("R", "AL", "L")][:1]
    return 2 * sum(directions) > len(directions)

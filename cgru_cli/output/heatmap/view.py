"""The content of a heat map: words of both sides, attention and probabilities."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from ...errors import CgruError
from ..hypothesis import Hypothesis

END = "</s>"  # as Nematus writes it, whatever the vocabulary calls it
MEAN = "mean"  # an ensemble's own view, beside those of its models


class View(NamedTuple):
    """A line as one model sees it, or the mean of an ensemble; T and S count EOS."""

    name: str
    source: Sequence[str]  # [S]
    target: Sequence[str]  # [T] in reading order; without EOS where it was never written
    weights: np.ndarray  # (T,S) float32: attention of each target word, summing to 1
    probabilities: np.ndarray | None  # (T,) float32: p(y_j | y_<j, x)

    @classmethod
    def of(
        cls,
        name: str,
        source: Sequence[str],
        hypothesis: Hypothesis,
        *,
        right_left: bool = False,
        model_weights: Sequence[float] = (1.0,),
    ) -> Self:
        """A hypothesis (in the order of writing) and the words of its source, without EOS.

        model_weights: of the sum that the scores are. Their exponential over the weights' total is
        the geometric mean of the models' probabilities; with weights below zero there is none.
        Raises CgruError where there is no attention.
        """
        if hypothesis.alignment is None:
            raise CgruError(f"{name}: has no attention to draw")
        if right_left:
            hypothesis = hypothesis.reversed()
        probabilities = None
        if min(model_weights) >= 0:
            scores = np.asarray(hypothesis.word_scores, np.float64)
            probabilities = np.exp(scores / sum(model_weights)).astype(np.float32)
        target = [*hypothesis.tokens, *([END] if hypothesis.finished else [])]
        weights = np.asarray(hypothesis.alignment, np.float32)
        return cls(name, [*source, END], target, weights, probabilities)

    @property
    def strongest(self) -> np.ndarray:
        """(T,) the source word that each target word attends to most; of equal ones the first."""
        return self.weights.argmax(axis=1)


class Sentence(NamedTuple):
    """A line and its views: its model's, or the mean's and then each model's."""

    number: int  # counted from 1
    views: Sequence[View]
    source: str = ""  # the line and its translation as people read them; "": words as they are
    target: str = ""


def model_names(paths: Sequence[str]) -> list[str]:
    """Names of views: file names, with as many folders as tell the models apart."""
    parts = [Path(path).parts for path in paths]
    for kept in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-kept:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return list(paths)


def is_right_to_left(words: Sequence[str]) -> bool:
    """Whether most of the words that have a direction are written from right to left."""
    directions = [d for word in words if (d := _direction(word))]
    return 2 * directions.count("R") > len(directions)


def _direction(word: str) -> str:
    for character in word:
        kind = unicodedata.bidirectional(character)
        if kind in ("R", "AL"):
            return "R"
        if kind == "L":
            return "L"
    return ""

"""The content of a heat map: words of both sides, attention and probabilities."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

MEAN = "mean"  # name of an ensemble's view, beside the views of its models


class View(NamedTuple):
    """The attention of a model, or the mean of an ensemble, for one line; T and S include EOS."""

    name: str
    source: Sequence[str]  # [S]
    target: Sequence[str]  # [T] in reading order; without EOS if the length limit cut it
    weights: np.ndarray  # (T,S) float32: attention of each target word, summing to 1
    probabilities: np.ndarray | None  # (T,) float32: p(y_j | y_<j, x)

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

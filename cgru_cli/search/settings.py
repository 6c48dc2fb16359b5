"""The settings of a search and of sampling. This file imports no TensorFlow, so that plans can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SearchSettings:
    """How hypotheses are extended and ranked.

    normalize: alpha of the division by length ** alpha; word_penalty: subtracted per word;
    unk: the word never to produce, None where it is allowed; best_only: stop as soon as the best
    hypothesis is certain; with_alignment: keep the attention.
    """

    beam_size: int = 5
    normalize: float = 0.0
    word_penalty: float = 0.0
    unk: int | None = None
    best_only: bool = False
    with_alignment: bool = False

    def total(self, score: Any, length: Any) -> Any:
        """The score by which hypotheses are ranked, as numbers or arrays of them.

        (score - penalty * length) / length ** alpha
        """
        return (score - self.word_penalty * length) / length**self.normalize


@dataclass(frozen=True)
class Sampling:
    """How words are drawn: from all, or the `top` most probable, at a softmax temperature."""

    temperature: float = 1.0
    top: int | None = None
    seed: int = 0

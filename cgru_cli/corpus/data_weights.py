"""Weights of sentence pairs or of their target words, factors of the training costs."""

import numpy as np

from ..errors import CgruError
from ..system.lines import tokens
from ..system.plain_numbers import plain_number

_LARGEST = float(np.finfo(np.float32).max)


def parse_sentence(line: str) -> list[float]:
    """Parse the single weight of a line. Raises CgruError for anything else."""
    numbers = tokens(line)
    if len(numbers) != 1:
        raise CgruError(f"{len(numbers)} numbers; one is expected, the weight of the sentence pair")
    return [_weight(numbers[0])]


def parse_words(line: str, words: int) -> list[float]:
    """Parse the weights of the target words and of EOS, which is 1 by default.

    Raises CgruError for a wrong number of weights, and for invalid weights.
    """
    weights = [_weight(token) for token in tokens(line)]
    if len(weights) not in (words, words + 1):
        raise CgruError(
            f"{len(weights)} weights for a target of {words} words; as many are expected, or one "
            "more, for EOS"
        )
    return weights if len(weights) > words else [*weights, 1.0]


def _weight(text: str) -> float:
    try:
        weight = plain_number(float, text)
    except ValueError:
        raise CgruError(f"{text!r} is not a number") from None
    if not 0 <= weight <= _LARGEST:  # also for NaN
        raise CgruError(f"{text} is not a weight; it must be finite and not negative")
    return weight

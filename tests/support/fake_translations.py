"""Translations of marked lines by translators that reverse, repeat, drop or keep words."""

from collections.abc import Callable, Sequence

import numpy as np

from cgru_cli.documents.mark_places import place_marks
from cgru_cli.documents.markup import Markup
from cgru_cli.text.offsets import offsets

TRANSLATORS: dict[str, Callable[[list[int]], Sequence[int]]] = {  # source words, in their order
    "same": list,
    "reversed": lambda words: words[::-1],
    "twice": lambda words: words * 2,
    "each twice": lambda words: [word for word in words for _ in range(2)],
    "nothing": lambda words: [],
    "every other": lambda words: words[::2],
}


def translated(
    line: str, form: str, translator: str, *, placeholders: bool, noise: float = 0.0, seed: int = 0
) -> str:
    """A line with its words in capitals, in the order of a translator; noise: of the attention."""
    markup = Markup(line, form, placeholders=placeholders)
    words = markup.plain.split()
    chosen = TRANSLATORS[translator](list(range(len(words))))
    target = [words[place].upper() for place in chosen]
    weights = np.full((len(target), max(len(words), 1)), 1e-3)
    weights[np.arange(len(target)), chosen or []] = 1
    if noise:
        draw = np.random.default_rng(seed)
        weights = (1 - noise) * weights + noise * draw.random(weights.shape)
    return placed(markup, " ".join(target), weights, target, words)


def placed(
    markup: Markup, text: str, weights: np.ndarray, target: Sequence[str], words: Sequence[str]
) -> str:
    """The marks of a line in a translation of its words into words of the target."""
    return place_marks(markup, text, weights, offsets(target, text), offsets(words, markup.plain))

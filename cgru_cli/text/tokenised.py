"""Warn about raw text for a model of tokenised text, and the reverse."""

import re
from collections.abc import Callable, Iterable

from ..errors import warn

LEAST = 3  # minimum number of wrong-looking lines for the warning
WATCHED = 200  # number of lines to watch at the beginning of a text
_ATTACHED = re.compile(r"(\w+)([.,?!])")


class Tokenisation:
    """Watches whether lines are tokenised like a model's training text.

    Punctuation after a word suggests raw text if the model knows `house` and `.`, but not `house.`.
    Punctuation between spaces suggests tokenised text if the model has no piece for it, because its
    training text then had none. Half of the lines must suggest the same.
    """

    MARKS = ".,"  # other marks stand alone in raw text of some languages

    def __init__(self, alone: Iterable[str], knows: Callable[[str], bool] | None):
        """alone: the `MARKS` for which the model has no piece; knows: whether a model of words
        knows a word, None for other models.
        """
        self._knows, self._seen, self._odd = knows, 0, 0
        self._alone = set() if knows else set(alone)
        self._watches = bool(knows or self._alone)

    def see(self, line: str) -> None:
        """Count a line, and warn at most once."""
        if not self._watches:
            return
        words = line.split(" ")
        attached = [match for word in words if (match := _ATTACHED.fullmatch(word))]
        self._seen += 1
        if self._knows:
            odd = [one for one in attached if not self._knows(one[0])]
            odd = [one for one in odd if self._knows(one[1]) and self._knows(one[2])]
            is_odd = bool(odd) and not set(".,?!") & set(words)
        else:
            is_odd = bool(self._alone & set(words)) and not attached
        self._odd += is_odd
        if is_odd and self._odd >= LEAST and 2 * self._odd >= self._seen:
            self._watches = False
            if self._knows:
                word, stem, mark = odd[0][0], *odd[0].groups()
                warn(
                    f"the text looks raw, but the model reads tokenised text: it knows {stem!r} "
                    f"and {mark!r}, not {word!r}; tokenise it like the model's training text"
                )
            else:
                warn(
                    "the text looks tokenised, with spaces before full stops and commas, but the "
                    "model reads raw text; use text that is not tokenised"
                )
        self._watches &= self._seen < WATCHED

"""N-gram language models: ARPA files and KenLM's binary files, read by kenlm."""

import math
import os
import re
from collections.abc import Sequence

import numpy as np

from ..errors import CgruError, at, reading
from ..system.structured_files import first_bytes
from ..system.versions import installed
from ..text.vocabulary import Vocabulary

_BINARY = b"mmap lm http://kheafield.com/code"
_PLACE = re.compile(r".* threw \w+( because .*?')?\.? ")  # kenlm's source location in its messages
_LOOKED_AT = 1 << 16  # bytes to search, because comments may precede the first section


def is_arpa(path: str) -> bool:
    """Whether a file, gzipped or not, holds n-grams. Raises CgruError for an unreadable file."""
    if not os.path.exists(path):  # may be the prefix of a checkpoint's files
        return False
    with reading(path):
        start = first_bytes(path, _LOOKED_AT)
    return start.startswith(_BINARY) or b"\\data\\" in start.splitlines()


class NGrams:
    """An n-gram language model."""

    def __init__(self, path: str):
        """Raises CgruError for a damaged file, and if kenlm is not installed."""
        with at(f"{path}: an n-gram model"):
            kenlm = installed("kenlm", "arpa")
        settings = kenlm.Config()
        settings.show_progress = False
        settings.arpa_complain = kenlm.ARPALoadComplain.NONE
        try:
            self._model = kenlm.Model(path, settings)
        except OSError as error:
            problem = _PLACE.sub("", str(error).partition("(")[2].removesuffix(")"))
            raise CgruError(f"{path}: damaged: {' '.join(problem.split())}") from None
        self._states = kenlm.State(), kenlm.State()

    def known(self, vocabulary: Vocabulary) -> int:
        """The number of a vocabulary's words that the model knows."""
        return sum(word in self._model for word in vocabulary.words.values())

    def log_probs(self, texts: Sequence[Sequence[str]]) -> np.ndarray:
        """log p(text) of each text, given as words, including its end: nats, float64."""
        return np.array([self._log_prob(text) for text in texts], np.float64)

    def _log_prob(self, words: Sequence[str]) -> float:
        before, after = self._states
        self._model.BeginSentenceWrite(before)
        total = 0.0
        for word in (*words, "</s>"):
            total += self._model.BaseScore(before, word, after)
            before, after = after, before
        return total * math.log(10)

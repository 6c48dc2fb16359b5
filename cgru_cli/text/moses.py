"""Moses' tokenizer, punctuation normaliser and truecaser, as sacremoses has them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import CgruError


def sacremoses() -> Any:
    """The package; raises CgruError where it is not installed."""
    try:
        import sacremoses
    except ImportError as error:
        raise CgruError("sacremoses is not installed: pip install 'cgru[prep]'") from error
    return sacremoses


class Tokenizer:
    """Words out of text of one language, and text out of words.

    `join` is a guess where the tokenizer leaves no trace: of spaces around quotes, dashes,
    slashes and brackets, of `a @-@ b` in the text itself, and of entities under escape.
    """

    def __init__(self, language: str, escape: bool, split_hyphens: bool):
        package = sacremoses()
        self._tokenizer = package.MosesTokenizer(lang=language)
        self._detokenizer = package.MosesDetokenizer(lang=language)
        self._escape, self._split_hyphens = escape, split_hyphens

    def split(self, text: str) -> str:
        """Words, a space between them."""
        words = self._tokenizer.tokenize(
            text, aggressive_dash_splits=self._split_hyphens, escape=self._escape
        )
        return " ".join(words)

    def join(self, words: str) -> str:
        """The text of words with a space between them."""
        return self._detokenizer.detokenize(words.split(" "), unescape=self._escape)


class PunctuationNormalizer:
    """Quotes, dashes and spaces of one language brought to their plain form."""

    def __init__(self, language: str):
        self._normalizer = sacremoses().MosesPunctNormalizer(lang=language)

    def __call__(self, text: str) -> str:
        return " ".join(self._normalizer.normalize(text).split())


@dataclass(frozen=True)
class CaseModel:
    """The true case of words: for each, its most frequent form inside sentences, and the others."""

    best: tuple[str, ...]
    known: tuple[str, ...]

    @classmethod
    def learn(cls, lines: Iterable[str]) -> CaseModel:
        """Learn from tokenised lines; of equally frequent forms the one that came first is best."""
        learner = sacremoses().MosesTruecaser()
        casing: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for line in lines:
            for lower, form, weight in learner.learn_truecase_weights(line.split(" ")):
                casing[lower][form] += weight
        forms = [[form for form, _ in counts.most_common()] for counts in casing.values()]
        best = sorted(spellings[0] for spellings in forms)
        return cls(
            tuple(best), tuple(sorted(form for spellings in forms for form in spellings[1:]))
        )


class Truecaser:
    """Words of tokenised lines as their model writes them; `undo` capitalises sentences."""

    def __init__(self, model: CaseModel):
        package = sacremoses()
        self._truecaser = package.MosesTruecaser()
        best = {form.lower(): form for form in model.best}
        self._truecaser.model = {"best": best, "known": frozenset(model.known)}
        self._detruecaser = package.MosesDetruecaser()

    def __call__(self, words: str) -> str:
        return " ".join(self._truecaser.truecase(words, use_known=True))

    def undo(self, words: str) -> str:
        """Capitals at the beginnings of sentences."""
        return " ".join(self._detruecaser.detruecase(words))

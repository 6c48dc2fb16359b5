"""Moses' tokenizer, punctuation normaliser and truecaser, from sacremoses."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from ..system.versions import installed


def sacremoses() -> Any:
    """The package; raises CgruError if it is not installed."""
    return installed("sacremoses", "prep")


class Tokenizer:
    """Splits text of one language into words, and joins words into text.

    `join` has to guess what tokenising loses: spaces around quotes, dashes, slashes and brackets,
    `a @-@ b` in the text itself, and entities under escape.
    """

    def __init__(self, language: str, escape: bool, split_hyphens: bool):
        package = sacremoses()
        self._tokenizer = package.MosesTokenizer(lang=language)
        self._detokenizer = package.MosesDetokenizer(lang=language)
        self._escape, self._split_hyphens = escape, split_hyphens

    def split(self, text: str) -> str:
        """The words, with a space between them."""
        hyphens = self._split_hyphens
        words = self._tokenizer.tokenize(text, aggressive_dash_splits=hyphens, escape=self._escape)
        return " ".join(words)

    def join(self, words: str) -> str:
        """The text of words with a space between them."""
        return self._detokenizer.detokenize(words.split(" "), unescape=self._escape)


class PunctuationNormalizer:
    """Replaces a language's quotes, dashes and spaces with plain ones."""

    def __init__(self, language: str):
        self._normalizer = sacremoses().MosesPunctNormalizer(lang=language)

    def __call__(self, text: str) -> str:
        return " ".join(self._normalizer.normalize(text).split())


@dataclass(frozen=True)
class CaseModel:
    """The true case of words: each word's most frequent form inside sentences, and other forms."""

    best: tuple[str, ...]
    known: tuple[str, ...]

    @classmethod
    def learn(cls, lines: Iterable[str]) -> Self:
        """Learn from tokenised lines; among equally frequent forms, the first form is chosen."""
        learner = sacremoses().MosesTruecaser()
        casing: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for line in lines:
            for lower, form, weight in learner.learn_truecase_weights(line.split(" ")):
                casing[lower][form] += weight
        best: list[str] = []
        others: list[str] = []
        for counts in casing.values():
            first, *rest = (form for form, _ in counts.most_common())
            best.append(first)
            others += rest
        return cls(tuple(sorted(best)), tuple(sorted(others)))


class Truecaser:
    """Truecases the words of tokenised lines with a model; `undo` capitalises sentences."""

    def __init__(self, model: CaseModel):
        package = sacremoses()
        self._truecaser = package.MosesTruecaser()
        best = {form.lower(): form for form in model.best}
        self._truecaser.model = {"best": best, "known": frozenset(model.known)}
        self._detruecaser = package.MosesDetruecaser()

    def __call__(self, words: str) -> str:
        return " ".join(self._truecaser.truecase(words, use_known=True))

    def undo(self, words: str) -> str:
        return " ".join(self._detruecaser.detruecase(words))

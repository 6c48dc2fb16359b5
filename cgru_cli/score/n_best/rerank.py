"""The best hypotheses of an n-best list, by a weighted sum of its features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ...errors import CgruError
from ...options.feature_weights import FeatureWeights
from .entry import Entry, parse

GAP = 10_000  # sentences in a row that may have no hypothesis


class Writer(Protocol):
    """Takes text, whole lines each time."""

    def write(self, text: str) -> None: ...


class Lengths:
    """The lengths of hypotheses in words of the model, for length normalisation.

    The length is that of a model that scores the list; else the number of word scores in the line;
    else that of the text, if this is in the model's own words.
    """

    def __init__(self, of_model: dict[int, int] | None = None, *, in_words: bool = False):
        """of_model: length by a model of each line (from 0), added before the line is read, and
        removed when it is. in_words: whether the text is in the model's own words.
        """
        self._of_model, self._in_words = of_model, in_words

    def of(self, number: int, entry: Entry) -> int:
        """The length of the entry in line `number` (from 0). Raises CgruError if it is unknown."""
        if self._of_model is not None:
            return self._of_model.pop(number)
        if entry.length is not None:
            return entry.length
        if self._in_words:
            return entry.words
        raise CgruError(
            "--normalize needs how many words the model wrote; name the model with --model, write "
            "the list with --word-scores, or say by --in-words or --join-bpe that its text is in "
            "the model's own words"
        )


class Sentences:
    """The lines of an n-best list, grouped by sentence as they come.

    Numbers of sentences count from 0 and never decrease. Raises CgruError, naming the line, where
    one does, for a line that is no entry, and for features other than those of the first line.
    """

    def __init__(self, name: str, limit: int | None = None, lengths: Lengths | None = None):
        """limit: the number of sentences, if it is known; lengths: None where none are needed."""
        self.name, self._number, self._limit = name, 0, limit
        self._lengths = lengths
        self._sentence = 0
        self._entries: list[Entry] = []
        self.features: tuple[str, ...] = ()

    def add(self, text: str) -> Iterator[list[Entry]]:
        """Add lines; yields the entries of each sentence that is now complete, [] for none."""
        for line in text.split("\n")[:-1]:
            self._number += 1
            try:
                entry = self._checked(parse(line))
                if self._lengths is not None:
                    entry = entry._replace(length=self._lengths.of(self._number - 1, entry))
            except CgruError as error:
                raise type(error)(f"{self.name}: line {self._number}: {error}") from None
            yield from self._up_to(entry.sentence)
            self._entries.append(entry)

    def rest(self, sentences: int | None) -> Iterator[list[Entry]]:
        """End the list; yields the remaining sentences, up to the known number."""
        least = self._sentence + bool(self._entries)
        yield from self._up_to(least if sentences is None else max(sentences, least))

    def _up_to(self, sentence: int) -> Iterator[list[Entry]]:
        while self._sentence < sentence:
            ended, self._entries = self._entries, []
            self._sentence += 1
            yield ended

    def _checked(self, entry: Entry) -> Entry:
        at = self._sentence
        if entry.sentence < at:
            raise CgruError(f"hypothesis of sentence {entry.sentence} after one of {at}")
        if self._limit is not None and entry.sentence >= self._limit:
            raise CgruError(
                f"hypothesis of sentence {entry.sentence}, but the references have {self._limit} "
                "lines"
            )
        if entry.sentence - at > GAP:
            raise CgruError(
                f"hypothesis of sentence {entry.sentence} after one of {at}: more than {GAP:,} "
                "sentences without any; the list is cut or its number is damaged"
            )
        if not entry.features:
            raise CgruError("no features to rank by; name a model that adds one, with -m")
        self.features = self.features or tuple(entry.features)
        if tuple(entry.features) != self.features:
            for name in self.features:
                if name not in entry.features:
                    raise CgruError(f"feature {name} of line 1 is missing")
            if extra := set(entry.features) - set(self.features):
                raise CgruError(f"feature {min(extra)} is not in line 1")
        return entry


class Reranker:
    """A writer of n-best lists that passes on only the best hypothesis of every sentence.

    A sentence without hypotheses gives an empty line. The first of equals is the best.
    """

    def __init__(
        self,
        writer: Writer,
        sentences: Sentences,
        weights: FeatureWeights,
        alpha: float = 0.0,
        *,
        whole: bool = False,
        join: Callable[[str], str] = str,
    ):
        """sentences: groups the lines of the list. alpha: the sum of features is divided by
        length ** alpha. whole: write the whole list, best first. join: makes hypotheses text.
        """
        self._writer, self._sentences, self._weights = writer, sentences, weights
        self._alpha, self._whole, self._join = alpha, whole, join

    def write(self, text: str) -> None:
        """Add lines of the list, each ended. Raises CgruError as `Sentences` does, and for weights
        that do not fit the features.
        """
        for entries in self._sentences.add(text):
            self._writer.write(self.ranked(entries))

    def close(self, sentences: int | None) -> None:
        """End the list; sentences: their number, if it is known."""
        for entries in self._sentences.rest(sentences):
            self._writer.write(self.ranked(entries))

    def ranked(self, entries: Sequence[Entry]) -> str:
        """The output for the hypotheses of a sentence."""
        if not entries:
            return "" if self._whole else "\n"
        names = self._sentences.features
        weights = dict(zip(names, self._weights.for_features(names), strict=True))
        totals = [
            entry.divided(sum(w * entry.features[n] for n, w in weights.items()), self._alpha)
            for entry in entries
        ]
        order = sorted(range(len(entries)), key=lambda i: -totals[i])
        if self._whole:
            return "".join(entries[i].with_total(totals[i]) for i in order)
        return self._join(entries[order[0]].text) + "\n"

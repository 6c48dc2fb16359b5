"""Find the best hypotheses of an n-best list by a weighted sum of its features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ... import errors
from ...errors import CgruError
from ...options.feature_weights import FeatureWeights
from ...system.terminal import tell
from .entry import Entry, parse

GAP = 10_000  # maximum number of sentences in a row without a hypothesis


class Sentences:
    """The lines of an n-best list, grouped by sentence as they arrive.

    Numbers of sentences count from 0 and never decrease. Raises CgruError, naming the line, for a
    number that decreases, a line that is not an entry, and features that the first line lacks.
    """

    def __init__(
        self,
        name: str,
        alpha: float = 0.0,
        lengths: dict[int, int] | None = None,
        *,
        in_words: bool = False,
    ):
        """alpha: scores are divided by length ** alpha, where length is the number of words of the
        hypothesis. lengths: this number by line (from 0) if a model scores the list, added before
        the line is read; otherwise the word scores in the line give the number. in_words: whether
        the text consists of the model's own words, so that they can be counted if the line has no
        word scores.
        """
        self.name = name
        self.features: tuple[str, ...] = ()
        self.limit: int | None = None  # the number of sentences, if known
        self.needs_features = True
        self.checks_gaps = True  # unless a source text bounds the numbers of sentences
        self._alpha, self._lengths, self._in_words = alpha, lengths, in_words
        self._lines = self._sentence = 0
        self._entries: list[Entry] = []

    def add(self, text: str) -> Iterator[list[Entry]]:
        """Add lines; yields the entries of each completed sentence, [] for one without entries."""
        for line in text.split("\n")[:-1]:
            with errors.at(f"{self.name}: line {self._lines + 1}"):
                entry = parse(line)
                self._check(entry)
                if self._alpha:
                    entry = entry._replace(divisor=self._length(entry) ** self._alpha)
            self._lines += 1
            yield from self._up_to(entry.sentence)
            self._entries.append(entry)

    def rest(self, sentences: int | None) -> Iterator[list[Entry]]:
        """End the list; yields the remaining sentences, up to the known number."""
        return self._up_to(max(sentences or 0, self._sentence + bool(self._entries)))

    def _up_to(self, sentence: int) -> Iterator[list[Entry]]:
        while self._sentence < sentence:
            ended, self._entries = self._entries, []
            self._sentence += 1
            yield ended

    def _length(self, entry: Entry) -> int:
        if self._lengths is not None:
            return self._lengths.pop(self._lines)
        if entry.length is None and not self._in_words:
            raise CgruError(
                "--normalize needs the number of words that the model wrote; name the model with "
                "--model, write the list with --word-scores, or add --in-words or --join-bpe if "
                "its text is in the model's own words"
            )
        return entry.length or entry.words

    def _check(self, entry: Entry) -> None:
        found = f"hypothesis of sentence {entry.sentence}"
        if entry.sentence < self._sentence:
            raise CgruError(f"{found} after sentence {self._sentence}")
        if self.limit is not None and entry.sentence >= self.limit:
            raise CgruError(f"{found}, but the references have {self.limit} lines")
        if self.checks_gaps and self.limit is None and entry.sentence - self._sentence > GAP:
            raise CgruError(
                f"{found} after sentence {self._sentence}: more than {GAP:,} sentences without "
                "hypotheses; the list is truncated or the number is damaged"
            )
        if not self.needs_features:
            return
        if not entry.features:
            raise CgruError("no features to rank by; name a model with -m to add one")
        self.features = self.features or tuple(entry.features)
        for name in self.features:
            if name not in entry.features:
                raise CgruError(f"feature {name} of line 1 is missing")
        if extra := set(entry.features) - set(self.features):
            raise CgruError(f"feature {min(extra)} is not in line 1")


class Reranker:
    """Yields the text of the best hypothesis of each sentence of an n-best list.

    A sentence without hypotheses gives an empty line. In a tie, the first hypothesis ranks highest.
    """

    def __init__(
        self,
        sentences: Sentences,
        weights: FeatureWeights,
        *,
        whole: bool = False,
        join: Callable[[str], str] = str,
    ):
        """whole: write the whole list, best first. join: converts hypotheses to text."""
        self.sentences, self.weights, self.join = sentences, weights, join
        self._whole = whole
        self._ranked = self._hypotheses = 0

    def report(self, quiet: bool) -> None:
        """Say how many hypotheses of how many sentences were ranked."""
        tell(f"score: {self._hypotheses:,} hypotheses of {self._ranked:,} sentences ranked", quiet)

    def add(self, text: str) -> Iterator[str]:
        """Add lines of the list with their newlines; yields the output of each complete sentence.

        Raises CgruError like `Sentences`, and for weights that do not fit the features.
        """
        return map(self.ranked, self.sentences.add(text))

    def close(self, sentences: int | None) -> Iterator[str]:
        """End the list; sentences: the number of sentences, if known."""
        return map(self.ranked, self.sentences.rest(sentences))

    def ranked(self, entries: Sequence[Entry]) -> str:
        """The output for the hypotheses of a sentence."""
        self._ranked, self._hypotheses = self._ranked + 1, self._hypotheses + len(entries)
        if not entries:
            return "" if self._whole else "\n"
        totals = self.totals(entries)
        order = sorted(range(len(entries)), key=lambda i: -totals[i])
        if self._whole:
            return "".join(entries[i].with_total(totals[i], self.join) for i in order)
        return self.join(entries[order[0]].text) + "\n"

    def totals(self, entries: Sequence[Entry]) -> list[float]:
        """The totals by which a sentence's hypotheses are ranked."""
        names = self.sentences.features
        weights = dict(zip(names, self.weights.for_features(names), strict=True))
        return [
            sum(w * entry.features[n] for n, w in weights.items()) / entry.divisor
            for entry in entries
        ]

"""Convert lines of text to the words and ids that a model reads, and to batches of ids.

`Tokenisation` warns about raw text for a model of tokenised text, and the reverse.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .. import errors
from ..errors import CgruError, warn
from ..parameters.structure import EOS_ID
from ..system.lines import tokens
from .pipeline import Preprocessing
from .vocabulary import Vocabulary

BEGINS = "\u2581"  # SentencePiece's mark before a word
LEAST = 3  # minimum number of wrong-looking lines for the warning
WATCHED = 200  # number of lines to watch at the beginning of a text
_ATTACHED = re.compile(r"(\w+)([.,?!])")


def source_ids(words: Sequence[str], vocabularies: Sequence[Vocabulary]) -> list[tuple[int, ...]]:
    """Ids of words, a tuple with one id for each factor, without EOS.

    Raises CgruError if a word does not have a factor for each vocabulary.
    """
    if len(vocabularies) == 1:
        return [(i,) for i in vocabularies[0].encode(words)]
    rows = [word.split("|") for word in words]
    for row, word in zip(rows, words, strict=True):
        if len(row) != len(vocabularies):
            raise CgruError(
                f"{word!r} has {len(row)} factors, expected {len(vocabularies)} (word|factor|..)"
            )
    ids = [v.encode([row[i] for row in rows]) for i, v in enumerate(vocabularies)]
    return list(zip(*ids, strict=True))


def pieces_of_words(line: str, vocabulary: Vocabulary) -> list[str]:
    """The pieces of a line; only the first piece of each word begins with `BEGINS`.

    Raises CgruError if the SentencePiece model does not mark the beginnings of words.
    """
    processor = vocabulary.processor
    if processor is None or not vocabulary.splits:
        return tokens(line)
    pieces: list[str] = []
    for word in tokens(line):
        first, *others = processor.encode(word, out_type=str) or [BEGINS]
        if not first.startswith(BEGINS):
            raise CgruError(
                f"{vocabulary.path}: does not mark where words begin, as tagging requires"
            )
        pieces += [first, *filter(None, (piece.lstrip(BEGINS) for piece in others))]
    return pieces


def word_starts(words: Sequence[str], vocabularies: Sequence[Vocabulary]) -> list[int]:
    """1 for each piece that begins a word, 0 for pieces after `@@` or without SentencePiece's ▁.

    vocabularies: of the source, one for each factor.
    """
    if vocabularies[0].processor is not None:
        return [int(word.startswith(BEGINS)) for word in words]
    first = [word.split("|")[0] for word in words] if len(vocabularies) > 1 else words
    return [int(not before.endswith("@@")) for before in ("", *first[:-1])] if first else []


def source_columns(
    line: str, vocabularies: Sequence[Vocabulary], *, starts: bool
) -> list[tuple[int, ...]]:
    """The ids of a prepared line: from `with_starts` if starts, for taggers, else `source_ids`."""
    if not starts:
        return source_ids(vocabularies[0].tokenize(line), vocabularies)
    return with_starts(pieces_of_words(line, vocabularies[0]), vocabularies)


def with_starts(words: Sequence[str], vocabularies: Sequence[Vocabulary]) -> list[tuple[int, ...]]:
    """Ids like `source_ids`, each followed by 1 if the piece begins a word, else 0."""
    ids, starts = source_ids(words, vocabularies), word_starts(words, vocabularies)
    return [(*factors, start) for factors, start in zip(ids, starts, strict=True)]


def characters(line: str) -> list[str]:
    """Each character of a line, including spaces, as a word (Nematus' and DL4MT's `-c`)."""
    return list(line.strip())


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


@dataclass
class SourceLines:
    """Converts lines of text to the words that a model reads, and cuts long lines.

    tokenize: splits a prepared line; longest: maximum number of words of a line; counted: for
    models that need every word of a line, counts the words in a list of pieces; tokenisation:
    watches the unprepared text.
    """

    tokenize: Callable[[str], list[str]]
    preprocessing: Preprocessing | None
    longest: int
    counted: Callable[[Sequence[str]], int] | None = None
    tokenisation: Tokenisation | None = None
    _cut: int = 0  # number of lines cut so far

    def words(self, line: str, number: int) -> list[str]:
        """The words of a line (counted from 0).

        Raises CgruError if the line cannot be prepared or, for models that need every word, if it
        is too long or its number of words changes in preparation.
        """
        if self.tokenisation is not None:
            self.tokenisation.see(line)
        words = self.tokenize(prepared(self.preprocessing, line, "source", number))
        if self.counted is not None:
            if len(words) > self.longest:
                raise CgruError(
                    f"line {number + 1}: {len(words)} words or pieces, which are too many to tag; "
                    f"--max-length {len(words)} allows them, if memory suffices"
                )
            before, after = len(tokens(line)), self.counted(words)
            if self.preprocessing is not None and before != after:
                raise CgruError(
                    f"line {number + 1}: {before} words, but {after} after preparation; every word "
                    "has a tag, so prepare the text yourself and add --no-preprocess"
                )
        if len(words) > self.longest:
            if not self._cut:
                warn(
                    f"line {number + 1} has {len(words)} words; cut to --max-length {self.longest}"
                )
            self._cut += 1
            words = words[: self.longest]
        return words

    def report(self) -> None:
        """Warn about the number of lines that were cut; call it at the end."""
        if self._cut > 1:
            warn(f"{self._cut} lines were cut to --max-length {self.longest}")


def prepared(
    preprocessing: Preprocessing | None, line: str, side: Literal["source", "target"], number: int
) -> str:
    """Preprocess a line (counted from 0) of raw text. Raises CgruError, naming the line."""
    if preprocessing is None:
        return line
    with errors.at(f"line {number + 1}"):
        return preprocessing.apply(line, side)


def pad_ids(
    lines: Sequence[Sequence[tuple[int, ...]]], factors: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Ids (B,S,F), ended and padded by EOS, and their mask (B,S)."""
    longest = max(len(words) for words in lines) + 1
    ids = np.full((len(lines), longest, factors), EOS_ID, np.int32)
    mask = np.zeros((len(lines), longest), np.float32)
    for row, words in enumerate(lines):
        if words:
            ids[row, : len(words)] = np.reshape(words, (-1, factors))
        mask[row, : len(words) + 1] = 1
    return ids, mask

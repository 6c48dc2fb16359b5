"""A vocabulary: the words of one side of a model, and their ids."""

import copy
import functools
import json
import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

import sentencepiece

from ..errors import CgruError, warn
from ..parameters.structure import EOS_ID
from ..system.lines import tokens

EOS = "</s>"  # as outputs show it, whatever its name in the vocabulary
EOS_NAMES = ("</s>", "<EOS>", "eos", "<eos>", "<s>")  # the first is Marian's own
UNK_NAMES = ("<unk>", "<UNK>", "UNK")

Format = Literal["json", "pickle", "yaml", "text", "sentencepiece"]

MOST_WORDS = 5_000_000  # in a vocabulary; ten million unsegmented sentences have fewer
_LARGEST_SPECIAL_ID = 3


class Vocabulary:
    """Words and ids of one side of a model, limited to `limit` rows of its embedding matrix.

    Special words. Id 0 is the end of the sentence (EOS), whatever its name in the file and even
    without an entry; only a SentencePiece model defines its own. The unknown word (UNK) is the one
    of `<UNK>`, `<unk>`, `UNK` with the smallest id up to 3, otherwise id 1. If the corpus contained
    the literal word `eos` or `UNK`, the file may give it a large id: then it is an ordinary word,
    and ids 0 and 1 keep their meaning. As in Marian, whose vocabularies are text or YAML, UNK is
    `<unk>` in these, whatever its id; in YAML only if id 1 is used, by another word than `UNK`.

    No input word becomes EOS: a literal `eos` or `</s>` that the file maps to EOS is encoded as
    UNK. (In this case, Nematus feeds EOS in the middle of the sentence.)

    Attributes: `path`, for messages; `size`, the largest id + 1, at most `limit`; `eos_id`;
    `unk_id`; `unk`, the text of the unknown word, or "UNK" if it has none; `words`, a read-only
    mapping from id to word, without unused ids; `ids`, all ids of the file, by word; `format` of
    the file; `processor`, SentencePiece's, or None; `splits`, whether the processor splits lines;
    otherwise lines hold pieces.
    """

    def __init__(
        self,
        ids: Mapping[str, int],
        path: str | os.PathLike[str] = "vocabulary",
        limit: int | None = None,
        *,
        format: Format = "json",
        processor: sentencepiece.SentencePieceProcessor | None = None,
    ):
        """ids: word -> id. Raises CgruError if they are not a vocabulary."""
        self.path = os.fspath(path)
        self.format: Format = format
        self.ids = ids
        self.processor, self.splits = processor, True
        by_id = _words_by_id(ids, self.path)
        if processor is None:
            _check_lines(ids, self.path)
            self.eos_id, self.unk_id = EOS_ID, _unknown(ids, by_id, format)
            _check_eos(ids, by_id, self.path, format)
        else:  # a newline in a piece would end a line of the output
            by_id = {i: word.replace("\n", " ") for i, word in by_id.items()}
            self.eos_id, self.unk_id = processor.eos_id(), processor.unk_id()
            if self.eos_id < 0:
                raise CgruError(f"{self.path}: this SentencePiece model has no end of sentence")
        self.size = max(max(by_id), self.eos_id, self.unk_id) + 1
        if limit is not None and limit < self.size:
            if limit <= max(self.eos_id, self.unk_id):
                raise CgruError(
                    f"{self.path}: {limit} words do not include the unknown word (id {self.unk_id})"
                )
            self.size = limit
            by_id = {i: word for i, word in by_id.items() if i < limit}
        self.words: Mapping[int, str] = MappingProxyType(by_id)
        self.unk = by_id.get(self.unk_id, "UNK")
        # If names share an id (`<s>` and `</s>`), `words` has only one of them.
        self._encoder = {w: i for w, i in ids.items() if i < self.size and i != self.eos_id}

    def __repr__(self) -> str:
        return f"Vocabulary({self.path!r}, size={self.size})"

    def __len__(self) -> int:
        return self.size

    def __contains__(self, word: str) -> bool:
        return word in self._encoder

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The ids of tokens, without EOS; `unk_id` for tokens without an id below `size`."""
        lookup, unk_id = self._encoder.get, self.unk_id
        return [lookup(token, unk_id) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of ids up to the first EOS; `unk` for ids without a word."""
        lookup, eos_id, unk = self.words.get, self.eos_id, self.unk
        tokens = []
        for i in ids:
            i = int(i)
            if i == eos_id:
                break
            tokens.append(lookup(i, unk))
        return tokens

    def tokenize(self, line: str) -> list[str]:
        """The tokens of a line: words between ASCII spaces, or SentencePiece's pieces."""
        if self.processor is not None and self.splits:
            return self.processor.encode(line, out_type=str)
        return tokens(line)

    def detokenize(self, tokens: Iterable[str]) -> str:
        """Join tokens to a line: with spaces, or as SentencePiece's pieces.

        Newlines, which byte pieces may spell, become spaces.
        """
        if self.processor is not None:
            return self.processor.decode_pieces(list(tokens)).replace("\n", " ")
        return " ".join(tokens)

    def lacking(self, other: "Vocabulary") -> list[str]:
        """Words of another vocabulary that this one lacks, except EOS and UNK."""
        special = (other.eos_id, other.unk_id)
        words = [word for i, word in other.words.items() if i not in special]
        ids = zip(words, self.encode(words), strict=True)
        return [word for word, i in ids if i == self.unk_id]

    def limited(self, limit: int) -> "Vocabulary":
        """This vocabulary with at most `limit` ids."""
        size, processor = min(limit, self.size), self.processor
        return Vocabulary(self.ids, self.path, size, format=self.format, processor=processor)

    def with_unk(self, unk: str) -> "Vocabulary":
        """This vocabulary with another text of the unknown word in decoded text."""
        other = copy.copy(self)
        other.unk, other.words = unk, MappingProxyType({**self.words, self.unk_id: unk})
        return other

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of words and ids, regardless of the names of EOS and UNK."""
        import hashlib  # slow to import

        words = {**self.words, self.eos_id: EOS_NAMES[0], self.unk_id: UNK_NAMES[0]}
        content = json.dumps([self.eos_id, self.unk_id, self.size, sorted(words.items())])
        return hashlib.sha256(content.encode("ascii")).hexdigest()


def _words_by_id(ids: Mapping[str, int], path: str) -> dict[int, str]:
    """The inverse of `ids`. Raises CgruError if words share an id, except special words."""
    if not ids:
        raise CgruError(f"{path}: the vocabulary is empty")
    by_id: dict[int, str] = {}
    for word, i in ids.items():
        if type(word) is not str:
            raise CgruError(f"{path}: not a vocabulary ({word!r} is not a word)")
        if type(i) is not int:
            raise CgruError(
                f"{path}: not a vocabulary (the id of {shown(word)} is not a whole number)"
            )
        if not 0 <= i < MOST_WORDS:
            kind = "negative" if i < 0 else "too large"
            raise CgruError(f"{path}: the id of {shown(word)} is {kind} ({i})")
        other = by_id.setdefault(i, word)
        if other is not word:
            # In DL4MT, `<s>` and `</s>` are id 0; it reads zeros, not a word, at the start.
            for names in (EOS_NAMES, UNK_NAMES):
                if i <= _LARGEST_SPECIAL_ID and word in names and other in names:
                    by_id[i] = min(word, other, key=names.index)
                    break
            else:
                raise CgruError(f"{path}: id {i} is given to both {shown(other)} and {shown(word)}")
    try:
        "".join(ids).encode("utf-8")
    except UnicodeEncodeError:
        raise CgruError(f"{path}: not a vocabulary (a word is not valid Unicode)") from None
    return by_id


def _check_lines(ids: Mapping[str, int], path: str) -> None:
    """Raise CgruError for a word with a newline, which would break a line of the output."""
    if "\n" in "".join(ids):
        word = next(word for word in ids if "\n" in word)
        raise CgruError(
            f"{path}: the word {shown(word)} (id {ids[word]}) has a line break; rename it"
        )


def _unknown(ids: Mapping[str, int], by_id: Mapping[int, str], format: Format) -> int:
    """The id of the unknown word (Marian's rule: marian-dev, src/data/default_vocab.cpp)."""
    by_name = format == "text" or (format == "yaml" and by_id.get(1, "UNK") != "UNK")
    if by_name and ids.get(UNK_NAMES[0], EOS_ID) != EOS_ID:
        return ids[UNK_NAMES[0]]
    # Id 0 is EOS; if the file gives it to UNK, UNK becomes 1.
    unknown = (ids.get(name, EOS_ID) for name in UNK_NAMES)
    return min((i for i in unknown if EOS_ID < i <= _LARGEST_SPECIAL_ID), default=1)


def _check_eos(ids: Mapping[str, int], by_id: Mapping[int, str], path: str, format: Format) -> None:
    """Raises CgruError if EOS is `</s>` with another id than 0; Marian's rule as in `_unknown`."""
    first, elsewhere = by_id.get(EOS_ID, "eos"), ids.get(EOS_NAMES[0], EOS_ID)
    is_name = first in EOS_NAMES
    small = format == "json" and elsewhere <= _LARGEST_SPECIAL_ID
    decides = not is_name or (first != "eos" and (format == "yaml" or small))
    if elsewhere != EOS_ID and (decides or format == "text"):
        raise CgruError(f"{path}: '</s>' has id {elsewhere}; the end of sentence must have id 0")
    if not is_name:
        warn(f"{path}: id 0 is {shown(first)}; it is taken as the end of the sentence")


def shown(word: str) -> str:
    """A word, formatted for messages; long words are cut."""
    return repr(word if len(word) <= 40 else word[:40] + "...")

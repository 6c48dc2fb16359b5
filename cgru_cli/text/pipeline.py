"""The pipeline from raw text to what a model reads, line by line, and back.

Text -> normalised (Unicode normal form, no control characters, single spaces) -> punctuation ->
words -> case -> sub-words. `preprocess.json` holds all of it, learned models included.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..errors import CgruError, reading
from ..system.structured_files import LARGEST, read_json
from ..system.typed_json import dataclass_from_json
from .moses import CaseModel, PunctuationNormalizer, Tokenizer, Truecaser
from .subwords import Codes, Pieces, Subwords

_FORMAT: Literal["cgru-preprocess"] = "cgru-preprocess"
_FORMS: dict[str, Literal["NFC", "NFKC"]] = {"nfc": "NFC", "nfkc": "NFKC"}
VERSION = 1
FILE = "preprocess.json"
SIDES = ("source", "target")
UNICODE = ("nfc", "nfkc", "none")  # normal forms
CASES = ("none", "lower", "true")
SUBWORDS = ("bpe", "unigram", "subword-nmt", "none")
# Not the tab and its like, which are spaces. U+FEFF is a byte order mark wherever it stands.
_REMOVED = dict.fromkeys(
    (*range(0x09), *range(0x0E, 0x1C), *range(0x7F, 0x85), *range(0x86, 0xA0), 0xFEFF)
)


@dataclass(frozen=True)
class PipelineSettings:
    """The settings of the pipeline; languages in the order of `SIDES`.

    pieces: whether the text holds sub-words; it does not where the model's `.spm` splits.
    factors: of a source word, itself counted; above 1 the source is tokenised already.
    """

    languages: tuple[str, str] = ("", "")
    unicode: str = "nfc"
    normalize_punctuation: bool = False
    tokenize: bool = False
    escape: bool = False
    split_hyphens: bool = False
    case: str = "none"
    factors: int = 1
    subwords: str = "none"
    pieces: bool = False

    def __post_init__(self) -> None:
        for name, choices in (("unicode", UNICODE), ("case", CASES), ("subwords", SUBWORDS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}: one of {', '.join(choices)} is expected")
        if self.factors < 1:
            raise ValueError("factors: at least 1 is expected")

    @property
    def uses_sentencepiece(self) -> bool:
        """Whether SentencePiece splits words, in this pipeline or in the model."""
        return self.subwords in ("bpe", "unigram")


@dataclass(frozen=True)
class _Stored:
    """What `preprocess.json` holds, in this order."""

    format: Literal["cgru-preprocess"]
    version: int
    settings: PipelineSettings
    case_models: tuple[CaseModel, ...]
    subword_models: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.case_models) != (2 if self.settings.case == "true" else 0):
            raise ValueError(f"{len(self.case_models)} case_models")
        splits = self.settings.pieces and self.settings.subwords != "none"
        if len(self.subword_models) not in ((1, 2) if splits else (0,)):
            raise ValueError(f"{len(self.subword_models)} subword_models")


class Preprocessing:
    """The pipeline of one data folder.

    case_models: one a side where the case is "true"; subword_models: one, or one a side, where
    `settings.pieces` (in base64 of SentencePiece, else the text of the codes). Raises CgruError
    where a model is damaged or a package missing.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        case_models: tuple[CaseModel, ...] = (),
        subword_models: tuple[str, ...] = (),
        source: str = FILE,
    ):
        self.settings = settings
        self.case_models, self.subword_models = case_models, subword_models
        self._punctuation: list[PunctuationNormalizer | None] = [None, None]
        self._tokenizers: list[Tokenizer | None] = [None, None]
        for i, language in enumerate(settings.languages):
            if i == 0 and settings.factors > 1:
                continue
            if settings.normalize_punctuation:
                self._punctuation[i] = PunctuationNormalizer(language)
            if settings.tokenize:
                self._tokenizers[i] = Tokenizer(language, settings.escape, settings.split_hyphens)
        self._truecasers: list[Truecaser | None] = [Truecaser(model) for model in case_models]
        self._truecasers = self._truecasers or [None, None]
        kind = Pieces if settings.uses_sentencepiece else Codes
        splitters: list[Subwords | None] = [kind(text, source) for text in subword_models] or [None]
        self._splitters = [splitters[0], splitters[-1]]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Preprocessing:
        """Read `preprocess.json`, or that of a folder; CgruError where it is not one."""
        path = os.fspath(path)
        if os.path.isdir(path):
            path = os.path.join(path, FILE)
        return cls.from_json(read_json(path, LARGEST), path)

    @classmethod
    def of_codes(cls, path: str, *, undone: bool) -> Preprocessing:
        """Words split by a file of subword-nmt's codes, and nothing else.

        undone: whether the output's sub-words are joined. Raises CgruError for a file that cannot
        be read or holds no codes.
        """
        with reading(path), open(path, encoding="utf-8", newline="\n") as file:
            codes = file.read()
        settings = PipelineSettings(unicode="none", subwords="subword-nmt", pieces=True)
        preprocessing = cls(settings, (), (codes,), path)
        if not undone:
            preprocessing._splitters[1] = None
        return preprocessing

    @classmethod
    def from_json(cls, values: Any, source: str = FILE) -> Preprocessing:
        """The inverse of `as_json`; raises CgruError naming the source and what is wrong."""
        if not isinstance(values, Mapping) or values.get("format") != _FORMAT:
            raise CgruError(f"{source}: not a preprocess.json of cgru prep")
        if values.get("version") != VERSION:
            raise CgruError(
                f"{source}: version {values.get('version')!r}, this program reads {VERSION}; "
                "make it again with cgru prep"
            )
        stored = dataclass_from_json(_Stored, values, source, "make it again with cgru prep")
        return cls(stored.settings, stored.case_models, stored.subword_models, source)

    def as_json(self) -> dict[str, Any]:
        """Everything, as `preprocess.json` holds it."""
        stored = _Stored(_FORMAT, VERSION, self.settings, self.case_models, self.subword_models)
        return asdict(stored)

    def apply(self, line: str, side: str = "source", words: bool = False) -> str:
        """The line as train.src (source) or train.trg (target) holds it; words: before sub-words.

        Raises CgruError where a source word has another number of factors.
        """
        ready = self.recase(self.tokenize(self.normalize(line), side), side)
        return ready if words else self.split(ready, side)

    def undo(self, line: str, side: str = "target") -> str:
        """Text out of such a line: sub-words joined, case and spaces restored, factors dropped."""
        i = SIDES.index(side)
        pieces = [piece for piece in line.split(" ") if piece]
        if self._has_factors(side):
            pieces = [piece.split("|")[0] for piece in pieces]
        splitter = self._splitters[i]
        words = splitter.join(pieces) if splitter else " ".join(pieces)
        truecaser, tokenizer = self._truecasers[i], self._tokenizers[i]
        if words and truecaser:
            words = truecaser.undo(words)
        return tokenizer.join(words) if words and tokenizer else words

    def normalize(self, line: str) -> str:
        """The text in its normal form, control characters dropped, single spaces in all places.

        Where SentencePiece splits, its own mark U+2581 in the text becomes `_`.
        """
        text = line.translate(_REMOVED)
        if self.settings.unicode != "none":
            text = unicodedata.normalize(_FORMS[self.settings.unicode], text)
        if self.settings.uses_sentencepiece:
            text = text.replace("\u2581", "_")
        return " ".join(text.split())

    def tokenize(self, text: str, side: str) -> str:
        """Words of normalised text, lower-cased if so set; spaces between them."""
        if self._has_factors(side):
            return self._on_surface(text, str.lower) if self.settings.case == "lower" else text
        i = SIDES.index(side)
        punctuation, tokenizer = self._punctuation[i], self._tokenizers[i]
        if punctuation:
            text = punctuation(text)
        if tokenizer and text:
            text = tokenizer.split(text)
        return text.lower() if self.settings.case == "lower" else text

    def recase(self, words: str, side: str) -> str:
        """Tokenised words in their true case."""
        truecaser = self._truecasers[SIDES.index(side)]
        if not truecaser or not words:
            return words
        return self._on_surface(words, truecaser) if self._has_factors(side) else truecaser(words)

    def split(self, words: str, side: str) -> str:
        """Sub-words; those of a word repeat its factors."""
        splitter = self._splitters[SIDES.index(side)]
        if self._has_factors(side):
            columns = self.columns(words)
            if splitter is None:
                return words
            split = (
                "|".join((piece, *factors))
                for surface, *factors in columns
                for piece in splitter.split(surface)
            )
            return " ".join(split)
        return " ".join(splitter.split(words)) if splitter else words

    def columns(self, words: str) -> list[list[str]]:
        """Surface and factors of each source word; raises CgruError for another number of them."""
        columns = [word.split("|") for word in words.split(" ") if word]
        for column in columns:
            if len(column) != self.settings.factors or not all(column):
                raise CgruError(
                    f"{'|'.join(column)[:60]!r} has {len(column)} factors, expected "
                    f"{self.settings.factors} (word|factor|..), none empty"
                )
        return columns

    def _has_factors(self, side: str) -> bool:
        return side == "source" and self.settings.factors > 1

    def _on_surface(self, words: str, change: Any) -> str:
        columns = self.columns(words)
        if not columns:
            return ""
        surfaces = change(" ".join(column[0] for column in columns)).split(" ")
        return " ".join(
            "|".join((surface, *column[1:]))
            for surface, column in zip(surfaces, columns, strict=True)
        )

"""The pipeline from raw text to a model's input, line by line, and back.

Text -> normalised (Unicode normal form, no control characters, single spaces) -> punctuation ->
words -> case -> sub-words. `preprocess.json` holds the settings and the learned models.
"""

import os
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, Self

import msgspec

from ..errors import CgruError
from ..system.lines import tokens
from ..system.structured_files import LARGEST, read_json
from ..system.typed_json import LATER, dataclass_from_json
from .copying import Copying
from .moses import CaseModel, PunctuationNormalizer, Tokenizer, Truecaser
from .subwords import Codes, Pieces, read_codes

_FORMAT: Literal["cgru-preprocess"] = "cgru-preprocess"
_FORMS: dict[str, Literal["NFC", "NFKC"]] = {"nfc": "NFC", "nfkc": "NFKC"}
VERSION = 1
FILE = "preprocess.json"
SIDES = ("source", "target")
Unicode = Literal["nfc", "nfkc", "none"]  # normal forms
SubwordKind = Literal["bpe", "unigram", "subword-nmt", "none"]
# Control characters that are not white space, and byte order marks.
_REMOVED = dict.fromkeys(
    (*range(0x09), *range(0x0E, 0x1C), *range(0x7F, 0x85), *range(0x86, 0xA0), 0xFEFF)
)


@dataclass(frozen=True)
class PipelineSettings:
    """The settings of the pipeline; languages in the order of `SIDES`.

    pieces: whether the text holds sub-words, or words that the model's `.spm` splits. factors:
    their number for a source word, including the word itself; with more than 1, the source is
    already tokenised. copy: the patterns of the spans that placeholders replace in the text (see
    `copying`).
    """

    languages: tuple[str, str] = ("", "")
    unicode: Unicode = "nfc"
    normalize_punctuation: bool = False
    tokenize: bool = False
    escape: bool = False
    split_hyphens: bool = False
    case: Literal["none", "lower", "true"] = "none"
    factors: Annotated[int, msgspec.Meta(ge=1)] = 1
    subwords: SubwordKind = "none"
    pieces: bool = False
    copy: tuple[str, ...] = field(default=(), metadata=LATER)

    @property
    def uses_sentencepiece(self) -> bool:
        """Whether SentencePiece splits words, in this pipeline or in the model."""
        return self.subwords in ("bpe", "unigram")


@dataclass(frozen=True)
class _Stored:
    """The fields of `preprocess.json`, in this order."""

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

    case_models: one for each side if the case is "true"; subword_models: if `settings.pieces`, one
    for both sides or one for each (a SentencePiece model in base64, or the text of codes). Raises
    CgruError if a model is damaged or a package is missing.
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
        truecasers = [Truecaser(model) for model in case_models]
        self._truecasers: list[Truecaser | None] = [*truecasers] or [None, None]
        kind = Pieces if settings.uses_sentencepiece else Codes
        models = [kind(text, source) for text in subword_models]
        splitters: list[Pieces | Codes | None] = [*models] or [None]
        self._splitters = [splitters[0], splitters[-1]]
        self.copying = Copying(settings.copy) if settings.copy else None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a `preprocess.json`, or that of a folder. Raises CgruError for other files."""
        path = os.fspath(path)
        if os.path.isdir(path):
            path = os.path.join(path, FILE)
        return cls.from_json(read_json(path, LARGEST), path)

    @classmethod
    def of_codes(cls, path: str, *, undone: bool) -> Self:
        """A pipeline that only splits words, with a file of subword-nmt codes.

        undone: whether to join the output's sub-words. Raises CgruError for a file that is
        unreadable or has no codes.
        """
        settings = PipelineSettings(unicode="none", subwords="subword-nmt", pieces=True)
        preprocessing = cls(settings, (), (read_codes(path),), path)
        if not undone:
            preprocessing._splitters[1] = None
        return preprocessing

    @classmethod
    def from_json(cls, values: Any, source: str = FILE) -> Self:
        """The inverse of `as_json`. Raises CgruError, naming source and error."""
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
        """The content of `preprocess.json`."""
        models = self.case_models, self.subword_models
        return asdict(_Stored(_FORMAT, VERSION, self.settings, *models))

    def apply(self, line: str, side: str = "source", words: bool = False) -> str:
        """Prepare a line of raw text as in train.src (source) or train.trg.

        words: whether to leave words unsplit. Raises CgruError if a source word has a wrong number
        of factors.
        """
        ready = self.recase(self.tokenize(self.normalize(line), side), side)
        return ready if words else self.split(ready, side)

    def undo(self, line: str, side: str = "target") -> str:
        """The text of a prepared line: joins sub-words, restores case and spaces, drops factors."""
        i = SIDES.index(side)
        pieces = tokens(line)
        if self._has_factors(side):
            pieces = [piece.split("|")[0] for piece in pieces]
        splitter = self._splitters[i]
        words = splitter.join(pieces) if splitter else " ".join(pieces)
        truecaser, tokenizer = self._truecasers[i], self._tokenizers[i]
        if words and truecaser:
            words = truecaser.undo(words)
        return tokenizer.join(words) if words and tokenizer else words

    def normalize(self, line: str) -> str:
        """The text in Unicode's normal form, without control characters, with single spaces.

        SentencePiece's mark U+2581 becomes `_` if SentencePiece splits the text.
        """
        text = line.translate(_REMOVED)
        if self.settings.unicode != "none":
            text = unicodedata.normalize(_FORMS[self.settings.unicode], text)
        if self.settings.uses_sentencepiece:
            text = text.replace("\u2581", "_")
        return " ".join(text.split())

    def tokenize(self, text: str, side: str) -> str:
        """Words of normalised text between spaces, in lower case if the settings say so."""
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
        """Sub-words; the pieces of a word repeat its factors."""
        splitter = self._splitters[SIDES.index(side)]
        columns = self.columns(words) if self._has_factors(side) else []
        if splitter is None:
            return words
        if not self._has_factors(side):
            return " ".join(splitter.split(words))
        pieces = []
        for surface, *factors in columns:
            pieces += ["|".join((piece, *factors)) for piece in splitter.split(surface)]
        return " ".join(pieces)

    def columns(self, words: str) -> list[list[str]]:
        """Surface and factors of each source word. Raises CgruError if their number is wrong."""
        columns = [word.split("|") for word in tokens(words)]
        for column in columns:
            if len(column) != self.settings.factors or not all(column):
                raise CgruError(
                    f"{'|'.join(column)[:60]!r} has {len(column)} factors, expected "
                    f"{self.settings.factors} (word|factor|..), none empty"
                )
        return columns

    def _has_factors(self, side: str) -> bool:
        return side == "source" and self.settings.factors > 1

    def _on_surface(self, words: str, change: Callable[[str], str]) -> str:
        """Change the words, but keep their factors."""
        columns = self.columns(words)
        if not columns:
            return ""
        surfaces = change(" ".join(column[0] for column in columns)).split(" ")
        changed = zip(surfaces, columns, strict=True)
        return " ".join("|".join((surface, *column[1:])) for surface, column in changed)

"""How a model reads source lines: its vocabularies, raw text prepared, words, ids, batches."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import CgruError, UsageError, warn
from ..system.lines import tokens
from ..text.vocabulary import EOS_ID, Vocabulary
from . import model_vocabularies, read_model
from .read_model import PREPROCESSING, Model

if TYPE_CHECKING:
    from ..text.pipeline import Preprocessing


@dataclass
class SourceReader:
    """A model and how it reads source lines."""

    model: Model
    sources: list[Vocabulary]
    target: Vocabulary

    @classmethod
    def of(cls, path: str, vocabularies: Sequence[str]) -> SourceReader:
        """The model in this file, with these vocabularies or, if there are none, its own."""
        model = read_model.read(path)
        *sources, target = model_vocabularies.find(model, vocabularies)
        for vocabulary in (*sources, target):
            if vocabulary.eos_id != EOS_ID:
                raise CgruError(
                    f"{vocabulary.path}: ends sentences by id {vocabulary.eos_id}, the model by "
                    f"id {EOS_ID}; it is not the vocabulary the model was trained with"
                )
        return cls(model, sources, target)

    def tokens(self, line: str, encode: bool) -> list[str]:
        """Words of a line, or the pieces of raw text; none where the model reads no source."""
        if not self.sources:
            return []
        return self.sources[0].tokenize(line) if encode else tokens(line)

    def ids(self, words: Sequence[str], number: int) -> list[tuple[int, ...]]:
        """As `source_ids`; the error names line and model."""
        try:
            return source_ids(words, self.sources)
        except CgruError as error:
            raise CgruError(f"line {number + 1}: {error}, for {self.model.path}") from None


def source_ids(words: Sequence[str], vocabularies: Sequence[Vocabulary]) -> list[tuple[int, ...]]:
    """Word ids, one of each factor, without EOS.

    Raises CgruError where a word has another number of factors than there are vocabularies.
    """
    if len(vocabularies) == 1:
        return [(i,) for i in vocabularies[0].encode(words)]
    columns = []
    for word in words:
        factors = word.split("|")
        if len(factors) != len(vocabularies):
            raise CgruError(
                f"{word!r} has {len(factors)} factors, expected {len(vocabularies)} "
                "(word|factor|..)"
            )
        columns.append(factors)
    if not columns:
        return []
    by_factor = zip(*columns, strict=True)
    ids = [v.encode(column) for v, column in zip(vocabularies, by_factor, strict=True)]
    return list(zip(*ids, strict=True))


def check_ensemble(models: list[SourceReader]) -> None:
    first, *others = models
    for other in others:
        if other.target.fingerprint != first.target.fingerprint or (
            other.model.structure.target_vocabulary != first.model.structure.target_vocabulary
        ):
            raise CgruError(
                f"{other.model.path}: another target vocabulary than {first.model.path}; "
                "an ensemble needs one and the same"
            )


def preprocessing_of(
    models: Sequence[SourceReader], asked: Mapping[str, bool]
) -> Preprocessing | None:
    """What is done to raw text for these models: MODEL.preprocess.json of the first that has one.

    asked: whether options are given that do a part of it. Raises CgruError where one is damaged or
    two differ, UsageError where such an option is given.
    """
    paths = [f"{reader.model.path}{PREPROCESSING}" for reader in models]
    paths = [path for path in paths if os.path.exists(path)]
    if not paths:
        return None
    from ..text.pipeline import Preprocessing

    first, *others = (Preprocessing.read(path) for path in paths)
    for path, other in zip(paths[1:], others, strict=True):
        if other.as_json() != first.as_json():
            raise CgruError(
                f"{path}: prepares text otherwise than {paths[0]}; prepare it yourself and give "
                "--no-preprocess"
            )
    for flag, given in asked.items():
        if given:
            raise UsageError(
                f"{flag}: {paths[0]} takes and gives raw text; add --no-preprocess to do without it"
            )
    return first


def check_attention(models: Sequence[SourceReader], wanted: bool) -> None:
    """Raises CgruError where attention is wanted of models of which none has it."""
    kinds = [reader.model.structure.type for reader in models]
    if wanted and not any(kind.attends for kind in kinds):
        raise CgruError(
            f"{models[0].model.path}: a model of type {kinds[0].value} has no attention: there are "
            "no alignments, and no heat maps"
        )


class SourceLines:
    """Lines of text as the words that a model reads, of long ones the first."""

    def __init__(
        self,
        reader: SourceReader,
        preprocessing: Preprocessing | None,
        *,
        encode: bool,
        longest: int,
    ):
        """encode: whether SentencePiece cuts the text; longest: words that are read of a line."""
        self._reader, self._preprocessing = reader, preprocessing
        self._encode, self._longest, self._cut = encode, longest, 0

    def words(self, line: str, number: int) -> list[str]:
        """The words of a line (counted from 0). Raises CgruError where it cannot be prepared."""
        words = self._reader.tokens(
            prepared(self._preprocessing, line, "source", number), self._encode
        )
        if len(words) > self._longest:
            if not self._cut:
                warn(
                    f"line {number + 1} has {len(words)} words; cut to --max-length {self._longest}"
                )
            self._cut += 1
            words = words[: self._longest]
        return words

    def report(self) -> None:
        """Say how much was cut, once, at the end."""
        if self._cut > 1:
            warn(f"{self._cut} lines were cut to --max-length {self._longest}")


def prepared(
    preprocessing: Preprocessing | None, line: str, side: Literal["source", "target"], number: int
) -> str:
    """A line (counted from 0) of raw text, prepared. Raises CgruError, naming the line."""
    if preprocessing is None:
        return line
    try:
        return preprocessing.apply(line, side)
    except CgruError as error:
        raise CgruError(f"line {number + 1}: {error}") from error


def padded(
    lines: Sequence[Sequence[tuple[int, ...]]], factors: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Ids (B,S,F) ended and padded by EOS, and the mask (B,S)."""
    longest = max(len(words) for words in lines) + 1
    ids = np.full((len(lines), longest, factors), EOS_ID, np.int32)
    mask = np.zeros((len(lines), longest), np.float32)
    for row, words in enumerate(lines):
        if words:
            ids[row, : len(words)] = np.reshape(words, (-1, factors))
        mask[row, : len(words) + 1] = 1
    return ids, mask

"""How a model reads source lines: its vocabularies, raw text prepared, words, ids, batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import CgruError, UsageError
from ..parameters.structure import EOS_ID
from ..system.lines import tokens
from ..text.source_words import source_ids
from ..text.vocabulary import Vocabulary
from . import model_vocabularies, read_model
from .model import PREPROCESSING, Model

if TYPE_CHECKING:
    from ..text.pipeline import Preprocessing


@dataclass
class LoadedModel:
    """A model and how it reads source lines."""

    model: Model
    sources: list[Vocabulary]
    target: Vocabulary

    @classmethod
    def of(cls, path: str, vocabularies: Sequence[str]) -> LoadedModel:
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

    def tokenizer(
        self, encode: bool, split: Callable[[str], list[str]] = tokens
    ) -> Callable[[str], list[str]]:
        """From a line to its words, as `split` gives them, or to the pieces of raw text (encode).

        No words where the model reads no source.
        """
        if not self.sources:
            return lambda _line: []
        source = self.sources[0]
        return source.tokenize if encode and source.processor is not None else split

    def ids(self, words: Sequence[str], number: int) -> list[tuple[int, ...]]:
        """As `source_ids`; the error names line and model."""
        try:
            return source_ids(words, self.sources)
        except CgruError as error:
            raise CgruError(f"line {number + 1}: {error}, for {self.model.path}") from None


def check_ensemble(models: list[LoadedModel]) -> None:
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
    models: Sequence[LoadedModel], asked: Mapping[str, bool]
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


def check_attention(models: Sequence[LoadedModel], wanted: bool) -> None:
    """Raises CgruError where attention is wanted of models of which none has it."""
    kinds = [reader.model.structure.type for reader in models]
    if wanted and not any(kind.attends for kind in kinds):
        raise CgruError(
            f"{models[0].model.path}: a model of type {kinds[0].value} has no attention: there are "
            "no alignments, and no heat maps"
        )

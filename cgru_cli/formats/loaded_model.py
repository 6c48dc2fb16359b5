"""A model with its vocabularies: how it reads and writes lines of text."""

import contextlib
import dataclasses
import functools
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from .. import errors
from ..errors import CgruError, UsageError
from ..parameters.structure import EOS_ID, Condition, Type
from ..system.lines import tokens
from ..system.structured_files import StoredFile
from ..text.labels import check_labels, condition_columns, label_ids
from ..text.pipeline import Preprocessing
from ..text.source_words import (
    SourceLines,
    Tokenisation,
    pad_ids,
    pieces_of_words,
    prepared,
    source_ids,
    with_starts,
    word_starts,
)
from ..text.vocabulary import Vocabulary
from . import model_vocabularies, read_model
from .model import Model


class Reading(NamedTuple):
    """How to turn lines of text into words.

    preprocessing: the first step for raw text; to_pieces: whether SentencePiece splits the text,
    otherwise spaces separate words; longest: the maximum number of words read from a source line;
    split: splits a source line into words unless `to_pieces`; crops_targets: whether to cut given
    translations to `longest` words too.
    """

    preprocessing: Preprocessing | None = None
    to_pieces: bool = True
    longest: int = 1000
    split: Callable[[str], list[str]] = tokens
    crops_targets: bool = False


@dataclass(repr=False)
class LoadedModel:
    """A model with its vocabularies: one for each factor of its source, and the target's."""

    model: Model
    sources: list[Vocabulary] = field(repr=False)
    target: Vocabulary = field(repr=False)
    # by (to_pieces, whether text is not preprocessed); each warns once about text in the wrong form
    _watched: dict[tuple[bool, bool], Tokenisation] = field(default_factory=dict, init=False)

    def with_arrays(self, arrays: Mapping[str, np.ndarray]) -> Self:
        """The same model with other weights, by their DL4MT/Nematus names."""
        return dataclasses.replace(self, model=dataclasses.replace(self.model, arrays=dict(arrays)))

    @functools.cached_property
    def languages(self) -> tuple[str, str] | None:
        """The codes of source and target language, if the model's `preprocess.json` states them.

        Raises CgruError if that file is damaged.
        """
        source, target = self.preprocessing.settings.languages if self.preprocessing else ("", "")
        return (source, target) if source and target else None

    @functools.cached_property
    def preprocessing(self) -> Preprocessing | None:
        """The preparation of raw text for this model; None if it reads prepared text.

        Raises CgruError if its `preprocess.json` is damaged.
        """
        return preprocessing_of([self], {})

    @property
    def described(self) -> str:
        """The model in a few words: its file, type, languages and sizes."""
        s, languages = self.model.structure, None
        with contextlib.suppress(CgruError):
            languages = self.languages
        between = f"{'-'.join(languages)}, " if languages else ""
        words = " -> ".join(f"{n:,}" for n in (*s.source_vocabularies, s.target_vocabulary))
        return f"'{self.model.path}', {s.type.value}, {between}{words} words, state {s.state}"

    def __repr__(self) -> str:
        return f"LoadedModel({self.described})"

    @property
    def reads_source(self) -> bool:
        """Whether the model has a source; a language model has none, except for a condition."""
        return self.model.structure.has_source

    @property
    def reads_words(self) -> bool:
        """Whether the source is text, not a label or a vector."""
        return self.model.structure.type.reads_source

    @property
    def writes_text(self) -> bool:
        """Whether the model has a decoder; classifiers and taggers predict labels."""
        return self.model.structure.type.writes_text

    @property
    def tags_words(self) -> bool:
        """Whether each word of the source gets a label."""
        return self.model.structure.type is Type.TAGGER

    @property
    def right_left(self) -> bool:
        """Whether the model writes sentences right to left."""
        return self.model.settings.right_left

    @property
    def source_reversed(self) -> bool:
        """Whether the model reads the source from its end, as Marian's right-to-left models do."""
        return self.reads_words and self.model.settings.source_reversed

    def tokenizer(self, reading: Reading) -> Callable[[str], list[str]]:
        """The function from a source line to its words, or to the pieces of raw text.

        A condition is one word; without a source there are no words.
        """
        if not self.reads_words:
            return lambda line: [line] if self.reads_source else []
        source = self.sources[0]
        if not reading.to_pieces or source.processor is None:
            return reading.split
        if self.tags_words:
            return lambda line: pieces_of_words(line, source)
        return source.tokenize

    def source_lines(self, reading: Reading) -> SourceLines:
        """The object that splits source lines into words."""
        preprocessing = reading.preprocessing if self.reads_words else None
        factors = preprocessing.settings.factors if preprocessing else 1
        lines = SourceLines(self.tokenizer(reading), preprocessing, longest=reading.longest)
        if self.tags_words:
            lines.counted = lambda words: sum(word_starts(words, self.sources))
        elif self.reads_words and {len(self.sources), factors} == {1}:
            splits = reading.to_pieces and self.sources[0].processor is not None
            knows = None if splits or preprocessing else self.sources[0].__contains__
            marks = {
                mark: prepared(preprocessing, mark, "source", 0) for mark in Tokenisation.MARKS
            }
            alone = [mark for mark, text in marks.items() if len(lines.tokenize(text)) > 1]
            way = (reading.to_pieces, preprocessing is None)
            lines.tokenisation = self._watched.setdefault(way, Tokenisation(alone, knows))
        return lines

    def target_words(self, line: str, number: int, reading: Reading) -> list[str]:
        """The words of a target line (counted from 0), in reading order.

        Raises CgruError, naming the line, if the line cannot be prepared or has labels that the
        model does not know.
        """
        if not self.writes_text:
            labels = tokens(line)
            with errors.at(f"line {number + 1}"):
                label_ids(labels, self.target, one=not self.tags_words)
            return labels
        tokenize = self.target.tokenize if reading.to_pieces else tokens
        return tokenize(prepared(reading.preprocessing, line, "target", number))

    def without_factors(self, words: Sequence[str]) -> Sequence[str]:
        """The first factor of each source word, for display."""
        return [word.split("|")[0] for word in words] if len(self.sources) > 1 else words

    def ids(self, words: Sequence[str], number: int) -> list[tuple[int, ...]]:
        """The columns of each source word, from `source_ids`, `with_starts` for a tagger, or
        `condition_columns` for a condition. Raises CgruError, naming line (from 0) and model.
        """
        if not self.reads_source:  # even if other models of an ensemble read a source
            return []
        try:
            if not self.reads_words:
                size = self.model.structure.condition_size
                columns = (condition_columns(line, self.sources, size) for line in words)
                return list(itertools.chain.from_iterable(columns))
            return (with_starts if self.tags_words else source_ids)(words, self.sources)
        except CgruError as error:
            raise CgruError(f"line {number + 1}: {error}, for {self.model.path}") from None

    def source_batch(
        self, sources: Sequence[Sequence[str]], numbers: Sequence[int] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Source lines, given as words, for the model: ids (B,S,F) int32, mask (B,S) float32.

        S includes EOS, which ends and pads lines; F is the number of factors, 0 for a language
        model. For a model that reads from the end, the last word comes first and EOS last. numbers:
        the line numbers (from 0), for messages.
        """
        numbers = range(len(sources)) if numbers is None else numbers
        rows = [self.ids(words, number) for words, number in zip(sources, numbers, strict=True)]
        if self.source_reversed:
            rows = [row[::-1] for row in rows]
        return pad_ids(rows, self.model.structure.source_columns)

    def in_source_order(self, attention: np.ndarray, words: int) -> np.ndarray:
        """Reorder attention (T,S) from the positions of `source_batch` to positions in the line.

        words: the number of words in the line, without EOS. EOS and padding stay after the words.
        """
        if not self.source_reversed:
            return attention
        return np.concatenate([attention[:, :words][:, ::-1], attention[:, words:]], axis=1)

    def target_batch(self, targets: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
        """A batch of translations for the model: ids (B,T) int32 and mask (B,T) float32.

        targets: words in the order in which the model writes them. T includes EOS.
        """
        ids, mask = pad_ids([[(i,) for i in self.target.encode(words)] for words in targets])
        return ids[..., 0], mask


def load_model(path: str | os.PathLike[str], vocabularies: Sequence[str] = ()) -> LoadedModel:
    """Load a model of any program with its vocabularies.

    path: as for `cgru translate -m` (.npz, .h5, .onnx, a checkpoint's name). vocabularies: files,
    source (one per factor) then target; by default those that the model names. Raises CgruError,
    naming the file, for an unreadable model or vocabulary.
    """
    model = read_model.read(path, integers=True)
    *sources, target = model_vocabularies.find(model, vocabularies)
    if not model.structure.type.writes_text:
        check_labels(target)
    if model.structure.condition is Condition.LABEL:
        check_labels(sources[0])
    for vocabulary in (*sources, target):
        if vocabulary.eos_id != EOS_ID:
            raise CgruError(
                f"{vocabulary.path}: ends sentences with id {vocabulary.eos_id}; cgru reads only "
                f"models whose end of sentence has id {EOS_ID}, so this file belongs to another "
                "model, or is not supported"
            )
    return LoadedModel(model, sources, target)


ModelSource = str | os.PathLike[str] | LoadedModel


def loaded_models(
    models: ModelSource | Sequence[ModelSource], vocabularies: Sequence[str]
) -> list[LoadedModel]:
    """Load each path, and copy each loaded model, so that the results' arrays may be released."""
    kinds = str | os.PathLike | LoadedModel
    sources: Any = [models] if isinstance(models, kinds) else models
    if not isinstance(sources, list | tuple) or not all(isinstance(x, kinds) for x in sources):
        raise UsageError("models: a path, a model of load_model, or a list of these is expected")
    if not sources:
        raise UsageError("models: an empty list; name at least one model")
    if isinstance(vocabularies, str):
        raise UsageError("vocabularies: a list of files is expected, source then target")
    return [
        dataclasses.replace(one, model=dataclasses.replace(one.model))
        if isinstance(one, LoadedModel)
        else load_model(one, vocabularies)
        for one in sources
    ]


def check_ensemble(models: Sequence[LoadedModel]) -> None:
    """Raise CgruError if target vocabularies, or directions of reading and writing, differ."""
    rerank = (
        "so they cannot form an ensemble; one can rerank the other's n-best list "
        "(cgru score --n-best)"
    )
    first, *others = models
    path = first.model.path
    for other in others:
        if other.writes_text != first.writes_text:
            raise CgruError(
                f"{other.model.path}: a {other.model.structure.type}, and {path} a "
                f"{first.model.structure.type}; labels and text cannot form an ensemble"
            )
        if other.target.fingerprint != first.target.fingerprint or (
            other.model.structure.target_vocabulary != first.model.structure.target_vocabulary
        ):
            raise CgruError(
                f"{other.model.path}: has a different target vocabulary from {path}; "
                "an ensemble needs the same one"
            )
        if other.right_left != first.right_left:
            raise CgruError(
                f"{other.model.path}: writes sentences in the opposite direction to "
                f"{path}, {rerank}"
            )
    first, *others = [one for one in models if one.reads_source] or models
    for other in others:
        if other.source_reversed != first.source_reversed:
            orders = ["right to left", "left to right"]
            if first.source_reversed:
                orders.reverse()
            raise CgruError(
                f"{other.model.path}: reads the source {orders[0]}, "
                f"{first.model.path} {orders[1]}, {rerank}"
            )


def preprocessing_of(
    models: Sequence[LoadedModel], replacing: Mapping[str, bool]
) -> Preprocessing | None:
    """The preprocessing of raw text for these models, from the first MODEL.preprocess.json.

    replacing: options that replace a part of the preprocessing, and whether each is set. Raises
    CgruError if a file is damaged or two files differ, UsageError if such an option is set.
    """
    paths = [loaded.model.preprocessing for loaded in models]
    paths = [path for path in paths if isinstance(path, StoredFile) or os.path.exists(path)]
    if not paths:
        return None
    first, *others = (Preprocessing.read(path) for path in paths)
    for path, other in zip(paths[1:], others, strict=True):
        if other.as_json() != first.as_json():
            raise CgruError(
                f"{path}: prepares text differently from {paths[0]}; prepare it yourself and add "
                "--no-preprocess"
            )
    for flag, is_set in replacing.items():
        if is_set:
            raise UsageError(
                f"{flag}: {paths[0]} reads and writes raw text; add --no-preprocess to leave it out"
            )
    return first


def check_attention(models: Sequence[LoadedModel], needed: bool) -> None:
    """Raise CgruError if attention is needed but none of the models has it."""
    structures = [loaded.model.structure for loaded in models]
    if needed and not any(structure.attends for structure in structures):
        kind = structures[0].type.value
        if structures[0].type is Type.CLASSIFIER:
            kind += f" with --pooling {structures[0].pooling}"
        raise CgruError(
            f"{models[0].model.path}: a model of type {kind} has no attention: there are no "
            "alignments, and no heat maps"
        )

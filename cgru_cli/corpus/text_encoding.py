"""Lines as the ids that a model reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

import numpy as np

from ..formats.model import Model
from ..parameters.program import reads_as
from ..parameters.structure import Type
from ..system.lines import tokens
from ..text.labels import check_tags, condition_columns, label_ids
from ..text.pipeline import Preprocessing
from ..text.source_words import source_columns
from ..text.subwords import join_bpe
from ..text.vocabulary import Vocabulary

Word = TypeVar("Word")


@dataclass(frozen=True)
class TextEncoding:
    """Converts prepared lines to the ids that a model reads and writes, and ids to plain text.

    vocabularies: sources (one per factor), then target. condition: the number of labels or numbers
    in the source, if it is not text. right_left: whether the model writes sentences right to left;
    source_reversed: whether it reads them right to left. preprocessing: how the lines were
    prepared, None for words or for sub-words with `@@`. compat: the program whose rule separates
    words; by default, only spaces do.
    """

    vocabularies: Sequence[Vocabulary]
    _: KW_ONLY
    kind: Type = Type.CGRU
    condition: int = 0
    right_left: bool = False
    source_reversed: bool = False
    preprocessing: Preprocessing | None = None
    compat: str | None = None

    @classmethod
    def of(
        cls,
        model: Model,
        vocabularies: Sequence[Vocabulary],
        preprocessing: Preprocessing | None = None,
        compat: str | None = None,
    ) -> TextEncoding:
        """The encoding for a model."""
        return cls(
            vocabularies,
            kind=model.structure.type,
            condition=model.structure.condition_size,
            right_left=model.settings.right_left,
            source_reversed=model.settings.source_reversed,
            preprocessing=preprocessing,
            compat=compat,
        )

    @property
    def target(self) -> Vocabulary:
        return self.vocabularies[-1]

    @property
    def factors(self) -> int:
        """The number of ids of a source word; 0 without a source side."""
        return (len(self.vocabularies) - 1 or self.condition) + (self.kind is Type.TAGGER)

    @property
    def types(self) -> tuple[type[np.integer], type[np.integer]]:
        """Unsigned types that hold all ids of source and target."""
        *sources, target = (
            np.uint16 if vocabulary.size <= 1 << 16 else np.uint32
            for vocabulary in self.vocabularies
        )
        # a condition without labels is a vector of float32
        source = np.uint32 if np.uint32 in sources or not sources else np.uint16
        return source, target

    @property
    def fingerprint(self) -> str:
        """Stands for everything that determines ids."""
        kind = "" if self.kind.writes_text else self.kind
        pieces = any(not vocabulary.splits for vocabulary in self.vocabularies)
        prints = [vocabulary.fingerprint for vocabulary in self.vocabularies]
        return f"{prints} {kind} {self.condition} {self.compat} {pieces}"

    def source_ids(self, line: str) -> list[Any]:
        """The ids of a source line from its beginning, a tuple for each word."""
        sources, line = self.vocabularies[:-1], self._read(line)
        if self.condition:
            return condition_columns(line, sources, self.condition)
        return source_columns(line, sources, starts=self.kind is Type.TAGGER)

    def target_ids(self, line: str) -> list[int]:
        """The ids of a line in the order of the model, without EOS.

        Raises CgruError for unknown labels.
        """
        line = self._read(line)
        if not self.kind.writes_text:
            return label_ids(tokens(line), self.target, one=self.kind is Type.CLASSIFIER)
        return self.target.encode(self._turned(self.target.tokenize(line)))

    def check_pair(self, source: list[tuple[int, ...]], target: list[int]) -> None:
        """Raises CgruError for other than one tag for each word."""
        if self.kind is Type.TAGGER:
            check_tags(source, target)

    def text(self, ids: Iterable[int]) -> str:
        """The plain text of a model's output."""
        return self.plain(self.target.detokenize(self._turned(self.target.decode(ids))))

    def plain(self, line: str) -> str:
        """The plain text of a prepared target line."""
        if not self.kind.writes_text:
            return line
        return self.preprocessing.undo(line, "target") if self.preprocessing else join_bpe(line)

    def reference(self, words: list[str]) -> str:
        """The plain text of the words of a target line."""
        whole = self.target.splits  # otherwise these are SentencePiece's pieces
        return self.plain(" ".join(words) if whole else self.target.detokenize(words))

    def _read(self, line: str) -> str:
        return reads_as(self.compat)(line)

    def _turned(self, words: list[Word]) -> list[Word]:
        """Words converted from reading order to the order of the model, or back."""
        return words[::-1] if self.right_left else words

"""Text as the ids that a model reads and writes: of the corpus and of the dev set."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..corpus.corpus import Corpus, encode_corpus
from ..errors import CgruError
from ..parameters.structure import Type
from ..system.lines import tokens
from ..text.conditions import condition_columns
from ..text.labels import check_tags, label_ids
from ..text.pipeline import Preprocessing
from ..text.source_words import source_columns
from ..text.subwords import join_bpe
from ..text.vocabulary import Vocabulary
from .texts import Texts

Word = TypeVar("Word")


def source_ids(
    line: str, vocabularies: Sequence[Vocabulary], *, kind: Type, condition: int = 0
) -> list[Any]:
    """The ids of a source line, a tuple for each word; condition: as in `encode`."""
    if condition:
        return condition_columns(line, vocabularies, condition)
    return source_columns(line, vocabularies, starts=kind is Type.TAGGER)


@dataclass(frozen=True)
class TargetText:
    """Target text in its three forms: prepared lines, a model's ids, and plain text.

    preprocessing: how the lines were prepared, None for sub-words with `@@` or none at all;
    right_left: whether the model writes sentences from their end.
    """

    vocabulary: Vocabulary
    preprocessing: Preprocessing | None = None
    right_left: bool = False

    def ids(self, line: str) -> list[int]:
        """A prepared line as the model writes it, without EOS."""
        return self.vocabulary.encode(self._turned(self.vocabulary.tokenize(line)))

    def text(self, ids: Iterable[int]) -> str:
        """The plain text of a model's output."""
        return self.plain(self.vocabulary.detokenize(self._turned(self.vocabulary.decode(ids))))

    def plain(self, line: str) -> str:
        """The plain text of a prepared line."""
        return self.preprocessing.undo(line, "target") if self.preprocessing else join_bpe(line)

    def _turned(self, words: list[Word]) -> list[Word]:
        """Words in the other order: that of the text, or that in which the model writes."""
        return words[::-1] if self.right_left else words


@dataclass(frozen=True)
class LabelText(TargetText):
    """Labels, which are the same in all three forms; of_words: one for each source word."""

    of_words: bool = False

    def ids(self, line: str) -> list[int]:
        """The ids of a line's labels. Raises CgruError for unknown labels."""
        return label_ids(tokens(line), self.vocabulary, one=not self.of_words)

    def plain(self, line: str) -> str:
        """The line unchanged."""
        return line


def encode(
    texts: Texts,
    vocabularies: Sequence[Vocabulary],
    cache: Path,
    spare: Path | None = None,
    *,
    kind: Type = Type.CGRU,
    condition: int = 0,
    source_reversed: bool = False,
    max_length: int,
    crop: bool,
) -> Corpus:
    """The training text as ids, kept in a folder; see `encode_corpus`.

    condition: how many labels or numbers the source may hold, if it is no text. source_reversed:
    whether the model reads from the end. max_length: words of a sentence; longer pairs are left
    out, or cut (crop).
    """
    *sources, target = vocabularies
    beside = texts.beside
    if source_reversed:
        beside = dataclasses.replace(beside, from_end=False, both_from_end=True)
    target_text = TargetText(target, right_left=beside.from_end)
    if not kind.writes_text:
        target_text = LabelText(target, of_words=kind is Type.TAGGER)
    key = " ".join(vocabulary.fingerprint for vocabulary in vocabularies)
    key += " right-left" * beside.from_end + f" {kind}" * (not kind.writes_text)
    key += f" condition {condition}" * bool(condition)
    try:
        return encode_corpus(
            texts.sources,
            texts.targets,
            functools.partial(source_ids, vocabularies=sources, kind=kind, condition=condition),
            target_text.ids,
            cache,
            max_length=max_length,
            crop=crop,
            key=key,
            beside=beside,
            spare=spare,
            check_pair=check_tags if kind is Type.TAGGER else None,
        )
    except CgruError:
        with contextlib.suppress(OSError):  # the folder may hold another text
            (spare or cache).rmdir()
        raise

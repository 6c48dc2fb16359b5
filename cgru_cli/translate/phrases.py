"""A line as text and ready for a search, and phrases that its translation must (not) contain."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import CgruError, PhraseError, at, note
from ..formats.loaded_model import LoadedModel, Reading
from ..system.structured_files import read_bytes
from ..text.source_words import BEGINS

if TYPE_CHECKING:
    from ..search.constraints import Avoided, Constraints
    from ..search.hypotheses import SearchResult

_MARK = re.compile(
    r'<(?P<name>\w+)(?P<attributes>(?:\s+\w+="[^"]*")+)\s*(?:/>|>(?P<text>(?:(?!<(?P=name)\s).)*?)</(?P=name)>)'
)
_OR = re.compile(r"(?<!\\)\|\|")  # between alternatives; a backslash before | keeps it
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_BROKEN_MARK = re.compile(r"<\w+(?:\s[^<>]*)?\s(?:translation|avoid)=[^<>]*>?")
LARGEST = 1 << 26  # bytes of a file of phrases


Requirement = str | Sequence[str]  # a phrase, or alternatives, any of which satisfies it


class Fields(NamedTuple):
    """A line as text: its source, and the beginning and the phrases of its translation."""

    source: str
    beginning: str | Sequence[str] = ""  # of the translation: text, or words of the model
    required: Sequence[Requirement] = ()
    avoided: Sequence[str] = ()


class PreparedLine(NamedTuple):
    """A line of input, or a part of one, as the models read it."""

    number: int  # of the line, counted from 0
    source: list[str]  # the words of the line
    prefix: list[int]  # ids of the beginning of the translation
    constraints: Constraints | None = None  # phrases that the translation must or must not contain
    text: str = ""  # the source as text
    empty: bool = False  # whether the line has no words
    undo: Callable[[str], str] = str  # puts copied spans in the place of placeholders
    part: int = 0  # of the line, counted from 0
    more: int | None = None  # the number of words after the prefix at which to end, if limited

    @property
    def needed(self) -> int:
        """The number of words, with EOS, of the shortest translation with the required phrases."""
        return self.constraints.required.fewest_words if self.constraints else 0

    def accepted(self, results: Sequence[SearchResult]) -> Sequence[SearchResult] | None:
        """The results with all required phrases; None if the best one lacks a phrase.

        Most translations have the copied spans in the right places anyway, so phrases are forced
        only in the second search of a line.
        """
        if self.constraints is None or self.constraints.forced:
            return results
        kept = [one for one in results if self.constraints.satisfied_by(one.words.tolist())]
        return kept if kept and kept[0] is results[0] else None

    def forced(self) -> PreparedLine:
        """The line for the second search."""
        assert self.constraints  # noqa: S101 - for types: they were not satisfied
        return self._replace(constraints=dataclasses.replace(self.constraints, forced=True))


def alternatives(requirement: Requirement) -> Sequence[str]:
    """The phrases of a requirement, any of which satisfies it."""
    return [requirement] if isinstance(requirement, str) else requirement


def split_line(line: str, number: int, form: str | None, force_decode: bool) -> Fields:
    """Split a line (counted from 0): `source [TAB beginning]`, and phrases in one of two forms.

    tabs: more fields with required phrases and, after an empty field, avoided phrases. inline:
    markup in the source, `<n translation="PHRASE">words</n>` as in Moses and `<n avoid="PHRASE"/>`.
    In both, `||` separates alternatives, as in Moses, and `\\|` is a `|` in a phrase.
    Raises CgruError, naming the line, for an invalid mark, and for one without its end.
    """
    source, *fields = line.split("\t") if form == "tabs" else line.split("\t", int(force_decode))
    beginning = fields.pop(0) if force_decode and fields else ""
    if form == "inline":
        return _unmarked(source, number)._replace(beginning=beginning)
    empty = fields.index("") if "" in fields else len(fields)
    avoided = [phrase for field in fields[empty:] for phrase in _phrases(field)]
    return Fields(source, beginning, [*map(_phrases, fields[:empty])], avoided)


def _phrases(text: str) -> list[str]:
    """The alternatives in a field or mark."""
    return [one.replace("\\|", "|") for one in _OR.split(text) if one.strip()]


def _unmarked(source: str, number: int) -> Fields:
    required: list[Requirement] = []
    avoided: list[str] = []

    def words(mark: re.Match[str]) -> str:
        attributes = _ATTRIBUTE.findall(mark["attributes"])
        if not any(name in ("translation", "avoid") for name, _ in attributes):
            return mark[0]  # part of the text
        for name, phrase in attributes:
            if name == "translation":
                required.append(_phrases(phrase))
            elif name == "avoid":
                avoided.extend(_phrases(phrase))
            else:
                raise CgruError(
                    f'line {number + 1}: {name}="{phrase}" in <{mark["name"]}>: a mark needs '
                    'translation="PHRASE" or avoid="PHRASE"'
                )
        return mark["text"] or ""

    text = _MARK.sub(words, source)
    if broken := _BROKEN_MARK.search(text):
        raise CgruError(
            f"line {number + 1}: {broken[0]} is not complete: a mark needs double quotes, ends "
            "in /> or </NAME>, and has no marks inside"
        )
    return Fields(text, "", required, avoided)


class Phrases:
    """Turns phrases into ids of the model's words."""

    def __init__(self, model: LoadedModel, reading: Reading):
        self._model, self._reading = model, reading

    def ids(self, phrase: str, number: int, *, within: bool = False) -> tuple[int, ...] | None:
        """The ids of a phrase on a line (counted from 0), in the order of writing.

        within: whether the phrase continues a word, for SentencePiece, which marks the beginnings
        of words. Returns None if the vocabulary lacks a word. Raises CgruError if the phrase cannot
        be prepared.
        """
        target = self._model.target
        words = self._model.target_words(phrase, number, self._reading)
        if within and words and target.processor is not None:
            first = words[0].removeprefix(BEGINS)
            words = [first, *words[1:]] if first else words[1:]
        ids = tuple(target.encode(words[::-1] if self._model.right_left else words))
        return None if target.unk_id in ids else ids

    def required(
        self, requirements: Sequence[Requirement], number: int
    ) -> list[list[tuple[int, ...]]]:
        """The ids of each requirement's alternatives, except those that the model cannot write.

        Raises CgruError, naming the line, if the model cannot write any alternative.
        """
        required = []
        for one in requirements:
            phrases = alternatives(one)
            ids = [self.ids(phrase, number) for phrase in phrases]
            if ids and not any(one is not None for one in ids):
                shown = " or ".join(map(repr, phrases))
                raise PhraseError(
                    f"line {number + 1}: required phrase {shown}: {self._model.target.path} "
                    "lacks a word of it; is it split into sub-words (--bpe)?"
                )
            if () not in ids:  # every translation contains an empty phrase
                required.append([one for one in ids if one])
        return [some for some in required if some]

    def avoided(self, phrases: Sequence[str], number: int) -> list[tuple[int, ...]]:
        """The ids of avoided phrases, except those that the model cannot write anyway."""
        return [ids for phrase in phrases if (ids := self.ids(phrase, number))]

    def avoided_of_file(self, lines: Sequence[str], path: str) -> list[tuple[int, ...]]:
        """The same for the lines of a file; notes how many of them the model cannot write.

        Raises CgruError, naming file and line, if a phrase cannot be prepared.
        """
        phrases = [(number, line) for number, line in enumerate(lines) if line.strip()]
        with at(path):
            avoided = [ids for number, line in phrases if (ids := self.ids(line, number))]
        if len(avoided) < len(phrases):
            note(
                f"{path}: {len(phrases) - len(avoided)} of {len(phrases)} phrases have words that "
                "the model cannot write, so they never occur"
            )
        return avoided


def read_phrases(path: str) -> list[str]:
    """The lines of a file (or .gz) of phrases. Raises CgruError, naming it."""
    try:
        return read_bytes(path, "file of phrases", LARGEST).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise CgruError(f"{path}: invalid UTF-8; save it as UTF-8") from None


def consistent(
    required: Sequence[Sequence[tuple[int, ...]]], avoided: Avoided, number: int
) -> list[list[tuple[int, ...]]]:
    """The alternatives of each requirement that contain no avoided phrase.

    Raises CgruError, naming line `number`, if a requirement has no such alternative.
    """
    kept = [[one for one in some if not avoided.phrases.within(one)] for some in required]
    if not all(kept):
        raise PhraseError(
            f"line {number + 1}: a required phrase contains an avoided one; no translation "
            "can have both"
        )
    return kept

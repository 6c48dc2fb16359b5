"""Parse lines of n-best lists of Marian, Moses, Nematus and DL4MT.

    number ||| hypothesis ||| [other fields |||] features [||| total ||| ..]

Features are `F0= -1.5 F1= -2`, where `TM= -1 -2` stands for TM_0 and TM_1; in lists of old versions
of Moses, `lm: -1.5 tm: -1 -2`; or, in Nematus' lists, columns of numbers without names: column0,
column1, ... DL4MT puts no spaces around `|||`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ...errors import CgruError
from ...system.lines import tokens
from ...system.plain_numbers import is_number

SEPARATOR = " ||| "
_DIGITS = 18  # maximum number of digits in the number of a sentence
_WORDS = "WordScores="  # Marian's field before the features: a number for each word


class Entry(NamedTuple):
    """A hypothesis of sentence `sentence` (from 0), and all fields of its line.

    length: words that the model wrote, including EOS; None if unknown, as for raw text, which has
    fewer words than the model's pieces. divisor: the length by which scores are divided.
    """

    sentence: int
    text: str
    features: dict[str, float]
    fields: list[str]
    place: int  # index of the features among the fields; without features, the number of fields
    length: int | None = None
    divisor: float = 1.0

    @property
    def words(self) -> int:
        """Words of the text, including EOS."""
        return len(tokens(self.text)) + 1

    def with_total(self, total: float, join: Callable[[str], str] = str) -> str:
        """The line and its newline, with this total after its features; join: converts the text."""
        rest = self.fields[self.place + 1 :]
        if rest and is_number(rest[0].strip(" ")):  # the former total
            rest = rest[1:]
        own = self.fields[0], join(self.text), *self.fields[2 : self.place + 1]
        fields = [*own, f"{total:g}", *rest]
        return SEPARATOR.join(field.strip(" ") for field in fields) + "\n"


def split(line: str) -> tuple[int, list[str]]:
    """The sentence (from 0) and the fields of a line. Raises CgruError for any other line."""
    # an empty field may have only one space instead of two
    spaced = SEPARATOR in line or line.endswith(SEPARATOR[:-1])
    fields = line.replace("||| |||", "|||  |||").split(SEPARATOR if spaced else "|||")
    number = fields[0].strip(" ")
    if len(fields) < 2 or not (number.isascii() and number.isdecimal()) or len(number) > _DIGITS:
        raise CgruError("not an entry of an n-best list (`number ||| hypothesis ||| ...`)")
    return int(number), fields


def parse(line: str) -> Entry:
    """Parse a line of a list. Raises CgruError for other lines, and features without numbers."""
    sentence, fields = split(line)
    words = [tokens(field) for field in fields]
    place = place_of(words)
    features = _features(words[place]) if place < len(fields) else {}
    scored = next((one[1:] for one in words[2:] if one and one[0] == _WORDS), [])
    return Entry(sentence, fields[1].strip(" "), features, fields, place, len(scored) or None)


def place_of(fields: list[list[str]]) -> int:
    """The index of the features: the first field with names, else the first with only numbers.

    fields: the words of each field.
    """
    numbers = len(fields)
    for place, words in list(enumerate(fields))[2:]:
        if end_of_names(words) and words[0] != _WORDS:
            return place
        if numbers == len(fields) and words and all(map(is_number, words)):
            numbers = place
    return numbers


def end_of_names(words: list[str]) -> str:
    """The end of a feature's name in a field: `=`, or `:` for old Moses; "" without names."""
    if any(word.endswith("=") for word in words):
        return "="
    return ":" if len(words) > 1 and words[0].endswith(":") and is_number(words[1]) else ""


def _features(words: list[str]) -> dict[str, float]:
    groups: dict[str, list[float]] = {"": []}
    name = ""
    for word in words:
        if word.endswith(("=", ":")):
            name = word[:-1]
            if not name:
                raise CgruError("a feature has no name")
            if name in groups:
                raise CgruError(
                    f"feature {name} occurs twice; name the models' scores with --n-best-feature"
                )
            groups[name] = []
        else:
            groups[name].append(_number(word, name))
    features = {f"column{i}": value for i, value in enumerate(groups.pop(""))}
    for name, values in groups.items():
        if not values:
            raise CgruError(f"feature {name} has no value")
        many = len(values) > 1
        features |= {f"{name}_{i}" if many else name: value for i, value in enumerate(values)}
    return features


def _number(word: str, name: str) -> float:
    if not is_number(word) or not math.isfinite(value := float(word)):
        raise CgruError(f"feature {name or 'without a name'} is {word}, not a finite number")
    return value

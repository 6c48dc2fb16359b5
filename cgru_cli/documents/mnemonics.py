"""Mnemonics, the underlined letters of menus: `&Open` of Qt and Windows, `_Open` of GTK."""

import re
from typing import NamedTuple

from .inline import Mark, masked

_AT_END = re.compile(r"\s?[(\uff08]([&_])([^\W_])[)\uff09]")  # in languages without an alphabet
_UNUSABLE = r"\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff66-\uffdc"
_LETTER = rf"[^\W\d_{_UNUSABLE}]"
_CODE = re.compile(r"\w*(?:;|\(\)|=|::|\.\w)|_")  # after a marker: an entity, a call, a file
_BEFORE = {"&": r"[^\w=?&\\]|[\u2e80-\ua4cf]", "_": r"[\s(\[\"'\u2018\u201c«„¿¡|\0]"}
_FEW = 6  # words of a label in which the marker of GTK is beyond doubt


class Mnemonic(NamedTuple):
    """The marker of a text, where it stands, and its letter ("" for `&&` without a mnemonic).

    sure: whether the text alone proves that it is a mnemonic. doubled: whether it has `&&`.
    """

    marker: str
    letter: str = ""
    start: int = 0
    end: int = 0
    sure: bool = True
    doubled: bool = False

    def unmarked(self, symbols: list[str | Mark]) -> list[str | Mark]:
        """The symbols of the text without the marker, and with `&` instead of `&&`."""
        dropped = {*range(self.start, self.end)}
        if self.doubled:
            dropped |= {match.start() for match in re.finditer("&&", masked(symbols))}
        return [one for i, one in enumerate(symbols) if i not in dropped]

    def marked(self, texts: list[str]) -> list[str]:
        """The texts of a translation with one mnemonic: the same letter, or the first one.

        Without a letter for it, the mnemonic of the source follows the text in parentheses.
        """
        literal = self.marker if self.doubled or self.marker == "_" else r"&(?=[&\w])"
        text = re.sub(literal, self.marker * 2, "\0".join(texts))
        if self.letter:
            letter = re.escape(self.letter)
            wanted = (rf"\b{letter}", rf"(?i:\b{letter})", f"(?i:{letter})", _LETTER)
            found = next(filter(None, (re.search(one, text) for one in wanted)), None)
            if found:
                text = f"{text[: found.start()]}{self.marker}{text[found.start() :]}"
            else:
                at_end = f"({self.marker}{self.letter})"
                text = re.sub(r"[\s\0.:…\uff1a。]*\Z", rf"{at_end}\g<0>", text, count=1)
        return text.split("\0")


def mnemonic(text: str) -> Mnemonic | None:
    """The mnemonic of a text in which "\\0" stands for a mark; None unless there is exactly one."""
    hidden = text.replace("&&", "\1\1")
    doubled = hidden != text
    found = _with("&", hidden) or _with("_", hidden) or (Mnemonic("&") if doubled else None)
    return found and found._replace(doubled=doubled and found.marker == "&")


def _with(marker: str, text: str) -> Mnemonic | None:
    places = [one.start() for one in re.finditer(rf"{marker}(?=[^\W_])", text)]
    if len(places) != 1 or (marker == "_" and text.count("_") > 1):
        return None
    place = places[0]
    letter, end = text[place + 1], place + 1
    found = Mnemonic(marker, letter, place, end)
    at_end = next((one for one in _AT_END.finditer(text) if one.start(1) == place), None)
    if at_end:
        return found._replace(start=at_end.start(), end=at_end.end())
    before = text[:place].split(" ")[-1]
    if _CODE.match(text, end) or re.search(r"[=?\\@]|://", before):
        return None
    is_label = place == 0 or len(text.split()) <= _FEW
    if not before or re.fullmatch(_BEFORE[marker], before[-1]):
        return found._replace(sure=marker == "&" or (is_label and letter.isupper()))
    head = re.findall(r"[^\W\d_]*\Z", before)[0]
    in_word = head.istitle() and letter.islower()  # `E&xit`, but neither `AT&T` nor `1&1`
    if in_word or (marker == "&" and head and letter.islower()):
        return found._replace(sure=in_word and is_label)
    return None

"""Write YAML exactly like yaml-cpp 0.6, Marian's YAML library.

A scalar is plain if it can be read back, and otherwise in double quotes. Two bugs of the library
are reproduced: U+007F, U+07FF and U+FFFF take one more byte than in UTF-8, and bytes that are not
UTF-8 become U+FFFD in quotes but remain unchanged without quotes.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_READ_AS_NULL = frozenset({b"", b"~", b"null", b"Null", b"NULL"})
_NEEDS_QUOTES = re.compile(
    rb"""\A[][,{}#&*!|>'"%@`]  # begins like something other than text
    | \A[-?:](?:[ ]|\Z)        # an item, or half of a pair
    | :(?:[ ]|\Z) | [ ]\#      # ends the text
    | [ ]\Z
    | [\x00-\x0c\x0e-\x1f\x7f] | \xc2[\x80-\x84\x86-\x9f] | \xef\xbb\xbf | \r\n  # not printable
    """,
    re.VERBOSE,
)
_ESCAPED = (b'\\"', b"\\\\", b"\\n", b"\\t", b"\\r", b"\\b")
_ESCAPES = dict(zip(b'"\\\n\t\r\b', _ESCAPED, strict=True))
_REPLACEMENT = 0xFFFD


def scalar(text: bytes) -> bytes:
    """A string as a key or value of a block mapping."""
    if text not in _READ_AS_NULL and not _NEEDS_QUOTES.search(text):
        return text
    return b'"' + b"".join(_in_quotes(code) for code in _code_points(text)) + b'"'


def block(values: Mapping[str, Any]) -> str:
    """A mapping of plain values and of lists of plain values."""
    lines: list[str] = []
    for key, value in values.items():
        if isinstance(value, list | tuple):
            items = [f"  - {_plain(one)}" for one in value]
            lines += [f"{key}:", *(items or ["  []"])]
        else:
            lines.append(f"{key}: {_plain(value)}")
    return "".join(f"{line}\n" for line in lines)


def _plain(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return scalar(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _in_quotes(code: int) -> bytes:
    if code in _ESCAPES:
        return _ESCAPES[code]
    if code < 0x20 or 0x80 <= code <= 0xA0:
        return b"\\x%02x" % code
    if code == 0xFEFF:
        return b"\\ufeff"
    if code < 0x7F:
        return bytes([code])
    count = 1 if code < 0x7FF else 2 if code < 0xFFFF else 3  # bytes after the first byte
    first = (0xFF00 >> (count + 1)) & 0xFF | code >> 6 * count
    return bytes([first, *(0x80 | code >> 6 * i & 0x3F for i in reversed(range(count)))])


def _code_points(text: bytes) -> Iterator[int]:
    """Code points of UTF-8; U+FFFD for each invalid sequence."""
    place = 0
    while place < len(text):
        first = text[place]
        place += 1
        if first < 0x80:
            yield first
            continue
        if first < 0xC0:
            yield _REPLACEMENT
            continue
        count = 1 if first < 0xE0 else 2 if first < 0xF0 else 3
        code = first & (0x3F >> count)
        for _ in range(count):
            if place == len(text) or text[place] & 0xC0 != 0x80:
                code = _REPLACEMENT
                break
            code = code << 6 | text[place] & 0x3F
            place += 1
        surrogate, not_a_character = 0xD800 <= code < 0xE000, 0xFDD0 <= code < 0xFDF0
        if code > 0x10FFFF or surrogate or not_a_character or code & 0xFFFE == 0xFFFE:
            code = _REPLACEMENT
        yield code

"""Parse numbers in text from people and programs."""

from collections.abc import Callable
from typing import TypeVar

Number = TypeVar("Number")


def plain_number(kind: Callable[[str], Number], text: str | bytes) -> Number:
    """`int(text)` or `float(text)`.

    Raises ValueError for other text, and for forms that only Python accepts: surrounding spaces,
    `_` between digits, and digits that are not ASCII.
    """
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    if not plain.isascii() or "_" in plain or plain != plain.strip():
        raise ValueError(f"{plain!r} is not a number")
    return kind(plain)


def is_number(word: str) -> bool:
    """Whether a word is a number."""
    try:
        plain_number(float, word)
    except ValueError:
        return False
    return True

"""Spans of text that a translation copies: numbers, names, URLs and the like.

Instead of such a span, the model reads a placeholder, a reserved word of its vocabulary: `⟦1⟧` for
the first span of a line, `⟦2⟧` for the second. Training replaces spans that occur on both sides of
a pair. Translation replaces all spans, the search writes every placeholder once, and the spans then
replace the placeholders. (Luong et al. 2015, "Addressing the Rare Word Problem in Neural Machine
Translation", number unknown words of both sides in the same way.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ..documents.protected import STANDING
from ..errors import UsageError

if TYPE_CHECKING:
    from .vocabulary import Vocabulary

MOST = 10  # maximum number of placeholders in a line
PLACEHOLDERS = tuple(f"⟦{number}⟧" for number in range(1, MOST + 1))
_PLACEHOLDER = re.compile("( ?)⟦([1-9][0-9]?)⟧")
_BRACKETS = str.maketrans("⟦⟧", "[]")  # for brackets in the text itself

# Each runs in linear time, because it searches a run of characters only from its beginning.
BUILT_IN = {
    "code": r"`[^`]+`",
    "url": r"(?:https?|ftp)://[^\s<>\"'`|\[\]]*[^\s<>\"'`|\[\].,;:!?()*]",
    "email": r"(?<![\w.+-])[\w.+-]+@\w[\w-]*(?:\.[\w-]+)+",
    "placeholder": r"\$?\{[^{}\s]+\}",
    "name": r"(?<![\w.])(?:[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+|[A-Za-z]*?[a-z][A-Z]\w*)(?!\w)",
    "number": r"(?<![\w.,])[0-9]+(?:\.[0-9]+)*(?![\w]|[.,][0-9])",
}


class Span(NamedTuple):
    """A span of a line to copy, with positions in characters."""

    start: int
    end: int
    text: str


class Masked(NamedTuple):
    """A text with placeholders for its first spans.

    copied: these spans, in the order of the placeholders; others: the other spans, with positions
    in `text`.
    """

    text: str
    copied: Sequence[str] = ()
    others: Sequence[Span] = ()

    def undo(self, text: str) -> str:
        """A text with the spans instead of their placeholders.

        Other placeholders disappear, with a space before.
        """

        def span(match: re.Match[str]) -> str:
            number = int(match[2])
            return match[1] + self.copied[number - 1] if number <= len(self.copied) else ""

        return _PLACEHOLDER.sub(span, text)


class Copying:
    """Finds the spans of patterns: names of built-in patterns, and regular expressions.

    If matches overlap, regular expressions take precedence over built-in patterns, and earlier
    patterns over later ones.
    """

    def __init__(self, patterns: Iterable[str]):
        """Raises UsageError for a regular expression that is invalid or matches empty text."""
        self.patterns = tuple(patterns)
        names = set(self.patterns)
        own = [pattern for pattern in self.patterns if pattern not in BUILT_IN]
        built_in = [BUILT_IN[name] for name in BUILT_IN if name in names]
        self._expressions = [STANDING, *map(_compiled, own), *map(re.compile, built_in)]

    def spans(self, text: str) -> list[Span]:
        """The spans of a text, in its order."""
        spans: list[Span] = []
        taken = bytearray(len(text))
        for expression in self._expressions:
            for match in expression.finditer(text):
                start, end = match.span()
                if start < end and not any(taken[start:end]):
                    taken[start:end] = b"\1" * (end - start)
                    spans.append(Span(start, end, match[0]))
        return sorted(spans)

    def masked(self, text: str, known: int = MOST) -> Masked:
        """The text with placeholders for its first spans.

        known: the number of the model's placeholders; protected texts (see `documents.protected`)
        have them first, or are left out.
        """
        text = text.translate(_BRACKETS)
        kept = [match.end() for match in islice(STANDING.finditer(text), known)]
        place = kept[-1] if len(kept) == known > 0 else 0 if not known else len(text)
        text = text[:place] + STANDING.sub("", text[place:])
        spans = self.spans(text)
        first = [one for one in spans if STANDING.fullmatch(one.text)]
        spans = [*first, *(one for one in spans if one not in first)]
        copied = sorted(spans[:known])
        masked = _masked(text, zip(copied, PLACEHOLDERS, strict=False))
        moved = len(masked) - len(text)  # the shift of the other spans
        others = [Span(one.start + moved, one.end + moved, one.text) for one in spans[known:]]
        return Masked(masked, [one.text for one in copied], others)

    def named(self, text: str, copied: Sequence[str]) -> str:
        """The text with placeholders for its spans that are among the copied spans."""
        text = text.translate(_BRACKETS)
        free: dict[str, list[str]] = {}
        for span, name in zip(copied, PLACEHOLDERS, strict=False):
            free.setdefault(span, []).append(name)
        spans = (span for span in self.spans(text) if free.get(span.text))
        return _masked(text, ((span, free[span.text].pop(0)) for span in spans))

    def pair(self, source: str, target: str) -> tuple[str, str]:
        """Both sides of a pair, with a placeholder for each span that occurs on both sides.

        A repeated span is replaced as often as it occurs on both sides.
        """
        source, target = source.translate(_BRACKETS), target.translate(_BRACKETS)
        waiting: dict[str, list[Span]] = {}
        for span in self.spans(target):
            waiting.setdefault(span.text, []).append(span)
        pairs: list[tuple[Span, Span]] = []
        for span in self.spans(source):
            if waiting.get(span.text) and len(pairs) < MOST:
                pairs.append((span, waiting[span.text].pop(0)))
        named = list(zip(pairs, PLACEHOLDERS, strict=False))
        targets = sorted((other, name) for (_, other), name in named)
        return _masked(source, ((one, name) for (one, _), name in named)), _masked(target, targets)


def has_placeholders(text: str) -> bool:
    """Whether the spans of a text are replaced already."""
    return _PLACEHOLDER.search(text) is not None


def known_placeholders(*vocabularies: Vocabulary) -> int:
    """The number of placeholders, counted from the first, that all vocabularies have."""
    missing = (
        number
        for number, name in enumerate(PLACEHOLDERS)
        if not all(name in vocabulary for vocabulary in vocabularies)
    )
    return next(missing, MOST)


def pattern(text: str, or_none: bool = False) -> str:
    """Check a value of --copy; or_none: `none` is allowed. Raises ValueError for another value."""
    if text == "none" and not or_none:
        raise ValueError("there are no patterns by default; leave the option out")
    if text not in BUILT_IN and text != "none":
        try:
            _compiled(text)
        except UsageError as error:
            raise ValueError(str(error)) from None
    return text


def _compiled(text: str) -> re.Pattern[str]:
    try:
        expression = re.compile(text)
    except re.error as error:
        names = ", ".join(BUILT_IN)
        raise UsageError(
            f"{text!r} is neither {names} nor a regular expression ({error})"
        ) from None
    widest = re._parser.parse(text).getwidth()[1]  # type: ignore[attr-defined]
    if expression.fullmatch("") or not widest:  # an anchor such as \\b
        raise UsageError(f"{text!r} matches the empty text")
    return expression


def _masked(text: str, replaced: Iterable[tuple[Span, str]]) -> str:
    """Replace spans, given in the order of the text, with words."""
    parts, place = [], 0
    for span, name in replaced:
        parts += [text[place : span.start], name]
        place = span.end
    return "".join(parts) + text[place:]

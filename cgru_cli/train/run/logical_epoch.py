"""Epochs of another length than one pass through the text, as Marian's --logical-epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import UsageError
from .progress import Frequency, Progress

_DIGITS = 3  # of its number in the log, where a length is given without them (Marian's)


@dataclass(frozen=True)
class LogicalEpoch:
    """The length of an epoch; digits: decimals of its number in the log."""

    length: Frequency
    digits: int = 0

    @classmethod
    def parse(cls, values: Sequence[str]) -> LogicalEpoch:
        """`2e`, `100ku 2` or nothing, for once through the text. Raises UsageError."""
        if not values:
            return cls(Frequency(1, "e"))
        length, *digits = values
        every = Frequency.parse(length)
        if every.unit == "m" or not every.every:
            raise UsageError(f"{length}: epochs (e), updates (u) or target words (t) are expected")
        if len(digits) > 1 or not all(digit.isdecimal() and int(digit) <= 9 for digit in digits):
            raise UsageError(f"{' '.join(digits)}: one number of digits is expected, from 0 to 9")
        return cls(every, int(digits[0]) if digits else _DIGITS)

    def limit(self, limit: Frequency) -> Frequency:
        """A limit in epochs, converted to the unit that they are made of; others unchanged."""
        if limit.unit != "e":
            return limit
        return Frequency(limit.every * self.length.every, self.length.unit)

    def number(self, progress: Progress) -> str:
        """The running epoch's number for the log; whole epochs count from 1, as in Marian."""
        length = self.length
        done = progress.epoch if length.unit == "e" else length.of(progress)
        return f"{done / length.every:.{self.digits}f}"


WHOLE_TEXT = LogicalEpoch(Frequency(1, "e"))

"""The kinds of option values: numbers within bounds, and short texts in a fixed format.

Each function parses a text, and raises ValueError, naming the expected form, if it is invalid.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ..system.plain_numbers import plain_number

ProgressUnit = Literal["u", "e", "m", "t"]

UPDATE = "{U}"  # stands for the update in the name of a file
EPOCH_DIGITS = 3  # default decimals of a logical epoch in the log (Marian's)
FREQUENCY_MOST = 10**15
_FREQUENCY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKMG]?)([uemt]?)")
_UNITS: dict[str, ProgressUnit] = {"": "u", "u": "u", "e": "e", "m": "m", "t": "t"}
_MULTIPLIERS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
_FREQUENCIES = (
    "500 or 500u (updates), 2e (epochs), 30m (minutes), 10Mt (target words; k, M and G are "
    "thousands, millions, billions), or 0 for never"
)


@dataclass(frozen=True)
class Bounds:
    """The range of a number, and an additional allowed number.

    least, most: inclusive bounds; above, below: exclusive bounds; off: turns the option off.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    off: float | None = None

    def __contains__(self, number: float) -> bool:
        if isinstance(number, float) and not math.isfinite(number):
            return False
        return number == self.off or (
            (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )

    def __str__(self) -> str:
        """A text such as `from 1 to 1,000`, `from 0 to below 1`, `above 0, at most 10`."""
        text = ""
        if self.above is not None:
            text = f"above {_written(self.above)}"
        elif self.least is not None:
            text = f"from {_written(self.least)}"
        if self.most is not None:
            text += f"{' to' if self.least is not None else ', at most'} {_written(self.most)}"
        if self.below is not None:
            text += f"{' to' if self.least is not None else ','} below {_written(self.below)}"
        return text if self.off is None else f"{_written(self.off)}, or {text}"


def _written(number: float) -> str:
    whole = int(number)
    if whole == number and whole > 2**32 and (whole + 1).bit_count() == 1:
        return f"2^{whole.bit_length()} - 1"
    return f"{whole:,}" if whole == number else str(number)


def frequency(text: str) -> tuple[int | float, ProgressUnit]:
    """Number and unit of `500`, `500u`, `2e`, `30m`, `10Mt` or `0`.

    After multiplication by k, M or G, only minutes may have a fraction.
    """
    from decimal import Decimal  # too slow to import for --help

    match = _FREQUENCY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not understood; write {_FREQUENCIES}")
    number, multiplier, unit = match[1], match[2], _UNITS[match[3]]
    every = Decimal(number) * _MULTIPLIERS[multiplier]
    if every > FREQUENCY_MOST:
        raise ValueError(f"more than {FREQUENCY_MOST:,}")
    if every == int(every):
        return int(every), unit
    if unit == "m":
        return float(every), unit
    raise ValueError(f"not a whole number; write {_FREQUENCIES}")


def frequencies(text: str) -> tuple[tuple[int | float, ProgressUnit], ...]:
    """Frequencies separated by commas, such as Marian's `--after 10e,300ku`."""
    return tuple(frequency(part) for part in text.split(","))


def _steady(text: str) -> tuple[int | float, ProgressUnit]:
    """A frequency that does not depend on the clock."""
    every, unit = frequency(text)
    if unit == "m":
        raise ValueError(
            "changes with minutes are not reproducible; give updates (u), epochs (e) or target "
            "words (t)"
        )
    return every, unit


def logical_epoch(values: Sequence[str]) -> tuple[tuple[int | float, ProgressUnit], int]:
    """The length of an epoch, and the decimals in the log, of `2e` or `100ku 2`."""
    length, *digits = values
    every, unit = frequency(length)
    if unit == "m" or not every:
        raise ValueError(f"{length}: epochs (e), updates (u) or target words (t) are expected")
    if len(digits) > 1 or not all(digit.isdecimal() and int(digit) <= 9 for digit in digits):
        raise ValueError(f"{' '.join(digits)}: one number of digits is expected, from 0 to 9")
    return (every, unit), int(digits[0]) if digits else EPOCH_DIGITS


def divergence(limits: Sequence[float]) -> None:
    """Check the values of `N [M [X]]`."""
    if len(limits) > 3 or any(limit < 1 for limit in limits[:2]):
        raise ValueError(
            f"{' '.join(f'{limit:g}' for limit in limits)[:60]}: at most three numbers are "
            "expected, two numbers of updates and one of standard deviations"
        )


def two_files(paths: Sequence[str]) -> None:
    """Check the values of `SRC TRG`."""
    if len(paths) != 2:
        raise ValueError(f"{' '.join(paths)[:60]}: two files are expected")


def pairs_of_files(paths: Sequence[str]) -> None:
    """Check the values of `SRC TRG SRC TRG ...`."""
    if len(paths) % 2:
        raise ValueError(f"{' '.join(paths)[:60]}: pairs of files are expected, SRC TRG")


LENGTH_POWER = Bounds(least=0, most=10)  # the power of length normalisation
TEMPERATURE = Bounds(above=0, most=1000)
TOP = Bounds(least=1, most=10_000_000)
NUCLEUS = Bounds(above=0, most=1)
EPSILON = Bounds(least=0, most=1)
WEIGHT = Bounds(least=-1e9, most=1e9)


def device(text: str) -> str:
    """A device to compute on."""
    kind, colon, number = text.partition(":")
    if text in ("cpu", "gpu") or (kind == "gpu" and colon and re.fullmatch("[0-9]+", number)):
        return text
    raise ValueError("cpu, gpu or gpu:N is expected")


COPIED = (
    "patterns of the spans to copy: number, name (dotted or CamelCase), url, email, placeholder "
    "({name}), code (between backticks), and regular expressions"
)


_SAMPLING: dict[str, list[tuple[str, Callable[[str], float], Bounds]]] = {
    "full": [],
    "topk": [("top", int, TOP)],
    "nucleus": [("nucleus", float, NUCLEUS)],
    "epsilon": [("epsilon", float, EPSILON)],
}  # the number that follows each kind of sampling


def sampling(text: str) -> dict[str, Any]:
    """The given fields of `search.settings.Sampling`; `topk 10 0.8` gives two."""
    kind, *rest = text.split() or [""]
    fields = [*_SAMPLING.get(kind, []), ("temperature", float, TEMPERATURE)]
    try:
        read = {
            name: plain_number(number, given)
            for (name, number, _), given in zip(fields, rest, strict=False)
        }
        known = kind in _SAMPLING and len(fields) - 1 <= len(rest) <= len(fields)
    except ValueError:
        known = False
    if not known or any(name in read and read[name] not in bounds for name, _, bounds in fields):
        raise ValueError(
            "`full [T]`, `topk K [T]`, `nucleus P [T]` or `epsilon E [T]` is expected, with "
            f"K {TOP}, P {NUCLEUS}, E {EPSILON} and T {TEMPERATURE}"
        )
    return read


class ShortlistNumbers(NamedTuple):
    """Numbers of first words and of best translations, and the minimum probability."""

    first: int = 100
    best: int = 100
    prune: float = 0.0


def shortlist(values: Sequence[str]) -> tuple[str, ShortlistNumbers]:
    """The file and the numbers of `FILE [FIRST [BEST [PRUNE]]]`."""
    path, *given = map(str, values)
    try:
        words = [plain_number(int, text) for text in given[:2]]
        numbers = ShortlistNumbers(*words, *(plain_number(float, text) for text in given[2:]))
    except (ValueError, TypeError):
        numbers = None
    if numbers is None or min(numbers) < 0 or not math.isfinite(numbers.prune):
        raise ValueError(
            f"{' '.join(given)[:60]}: after the file at most three numbers are expected: FIRST "
            "and BEST, of words, and PRUNE, a probability"
        )
    return path, numbers


def alignment(text: str) -> Literal["hard", "soft"] | float:
    """`hard`, `soft`, or the smallest weight to show, above 0 and at most 1."""
    if text in ("hard", "soft"):
        return text  # type: ignore[return-value]
    try:
        threshold = plain_number(float, text)
    except ValueError:
        threshold = math.nan
    if not 0 < threshold <= 1:
        raise ValueError("hard, soft or a threshold above 0, at most 1 is expected")
    return threshold


def weight(text: str) -> float | str:
    """A weight, or the name of a file."""
    try:
        number = plain_number(float, text)
    except ValueError:
        return text
    if number not in WEIGHT:
        raise ValueError(f"a weight {WEIGHT}, or a file, is expected")
    return number


def weights(text: str) -> list[float | str]:
    """Weights between spaces, or the name of a file."""
    return [weight(word) for word in text.split(" ")]


def saved_model(path: str) -> str:
    """The path of a model to train, with `.npz` added unless it ends in `.h5`."""
    if path and os.path.basename(path) in ("", ".", ".."):
        raise ValueError(f"a file is expected, such as {os.path.join(path, 'model.npz')}")
    return path if not path or path.endswith((".npz", ".h5")) else f"{path}.npz"


def kept_model(path: str) -> str:
    """The path of models to keep, with a placeholder for the update."""
    if UPDATE not in os.path.basename(path):
        raise ValueError(f"the file name lacks {UPDATE}, for the update")
    return path


def command(text: str) -> list[str]:
    """The words of a command."""
    import shlex

    if not (words := shlex.split(text)):
        raise ValueError("a command is expected")
    return words


def is_never(text: str) -> bool:
    """Whether all frequencies in a text such as `0e,0u` are 0."""
    try:
        return not any(every for every, _ in frequencies(text))
    except ValueError:
        return False


def unchanged(read: Callable[[str], Any]) -> Callable[[str], str]:
    """The kind of an option whose text `read` only checks."""

    def kind(text: str) -> str:
        read(text)
        return text

    return kind


one_frequency = unchanged(frequency)
some_frequencies = unchanged(frequencies)
steady_frequency = unchanged(_steady)
one_command = unchanged(command)
FREQUENCIES = (one_frequency, some_frequencies, steady_frequency)

"""`--heatmap`: collect the attention of some lines during a run, and draw it in one file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Self

from ...errors import CgruError, OutputClosed, UsageError, warn
from ...system.atomic_files import atomic_write
from ...system.lines import Source, check_distinct
from ...system.terminal import counted, tell
from ..picture_style import check_installed
from . import page, picture
from .view import Sentence, View, model_names

# By suffix: the default and the maximum number of lines to draw.
LIMITS = {".html": (20, 200), ".png": (4, 20), ".svg": (4, 20)}


class Heatmaps:
    """A file of heat maps, written when the block ends; path: None for no file.

    The file is written even if the output's reader is gone (`| head`), but not after an error.
    """

    def __init__(
        self,
        path: str | None,
        lines: str | None = None,
        models: Sequence[str] = (),
        inputs: Iterable[Source] = (),
        outputs: Iterable[str | None] = (),
        *,
        reports: str = "",
    ):
        """lines: such as `1,3-5`; None: the first lines. models: paths, for the title.

        reports: the command that says on standard error what it wrote.

        Raises UsageError for an unknown suffix, for invalid lines, and if the file is one of the
        inputs or outputs; CgruError if it cannot be written.
        """
        self.path, self._reports = path, reports
        self._sentences: dict[int, Sentence] = {}
        self._seen = 0
        self._chosen: set[int] | None = None
        if path is None:
            return
        check_distinct(inputs, path)
        if os.path.realpath(path) in [os.path.realpath(other) for other in outputs if other]:
            raise UsageError(f"{path}: --heatmap and another output name the same file")
        self._title = f"Attention of {', '.join(model_names(models))}"
        suffix = os.path.splitext(path)[1].lower()
        if suffix not in LIMITS:
            raise UsageError(f"--heatmap {path}: .html, .png or .svg is expected")
        self._kind = suffix[1:]
        self._first, most = LIMITS[suffix]
        if lines is not None:
            self._chosen = chosen_lines(lines, most)
        folder = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(folder):
            raise CgruError(f"{path}: cannot be written: no folder {folder}")
        if suffix != ".html":
            check_installed("--heatmap", ", or name an .html file")

    @property
    def wanted(self) -> bool:
        """Whether there is a file to write."""
        return self.path is not None

    def wants(self, number: int) -> bool:
        """Whether to draw this line (counted from 0); must be called for every line."""
        self._seen = max(self._seen, number + 1)
        if not self.wanted:
            return False
        return number < self._first if self._chosen is None else number + 1 in self._chosen

    def add(self, number: int, views: Sequence[View], source: str, target: str) -> None:
        """Store the views of a line (counted from 0); () if the line has no words.

        source, target: the sentences as text.
        """
        self._sentences[number] = Sentence(number + 1, views, source, target)

    def write(self) -> None:
        """Write the file, and warn about missing lines. Raises CgruError if all are missing."""
        kept = [self._sentences[number] for number in sorted(self._sentences)]
        sentences = [sentence for sentence in kept if sentence.views]
        empty = [sentence.number for sentence in kept if not sentence.views]
        missing = sorted(number for number in self._chosen or () if number > self._seen)
        if not sentences:
            reason = f"none of {self._seen:,} lines has words"
            if missing and not empty:
                reason = f"there is no line {_listed(missing)}; the input has {self._seen:,}"
            raise CgruError(f"{self.path}: not written: {reason}")
        if missing:
            warn(f"{self.path}: without line {_listed(missing)}; the input has {self._seen:,}")
        if empty:
            warn(f"{self.path}: without line {_listed(empty)}, which has no words")
        if self._chosen is None and self._seen > self._first:
            warn(
                f"{self.path}: shows the first {self._first} of {self._seen:,} lines; "
                "--heatmap-lines selects others"
            )
        with atomic_write(str(self.path)) as file:
            if self._kind == "html":
                text = page.page(self._title, sentences)
                file.write(text.encode("utf-8", errors="replace"))
            else:
                picture.draw(file, self._kind, self._title, sentences)
        if self._reports:
            lines = counted(len(sentences), "line")
            tell(f"{self._reports}: wrote the attention of {lines} to {self.path}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exception: object) -> None:
        if self.wanted and (kind is None or (kind is OutputClosed and self._sentences)):
            self.write()


def chosen_lines(text: str, most: int) -> set[int]:
    """Parse numbers such as `1,3-5`. Raises UsageError for other text, and for too many numbers."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", part.strip(" "))
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last:
            raise UsageError(f"--heatmap-lines {text}: numbers from 1 are expected, such as 1,3-5")
        numbers.update(range(first, min(last, first + most) + 1))
    if len(numbers) > most:
        raise UsageError(f"--heatmap-lines {text}: a file of this kind has at most {most} lines")
    return numbers


def _listed(numbers: Sequence[int]) -> str:
    more = ", ..." if len(numbers) > 5 else ""
    return ", ".join(map(str, numbers[:5])) + more

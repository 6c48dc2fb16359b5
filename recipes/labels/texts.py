"""Read and write the files of this recipe: a text and its labels, line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cgru_cli.system.atomic_files import all_or_nothing, atomic_write


def write(folder: Path, sets: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Write SET.text and SET.labels of every set: all files or none."""
    folder.mkdir(parents=True, exist_ok=True)
    with all_or_nothing(folder / "train"):
        for name, pairs in sorted(sets.items()):  # train is the last, by which the scripts know
            for column, ending in enumerate(("text", "labels")):
                with atomic_write(folder / f"{name}.{ending}") as file:
                    file.write("".join(f"{pair[column]}\n" for pair in pairs).encode())


def lines(path: Path) -> list[str]:
    """The lines of a text, split only at line feeds."""
    return path.read_text("utf-8").removesuffix("\n").split("\n")

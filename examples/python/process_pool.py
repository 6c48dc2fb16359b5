"""Translate a large file with several processes, in the order of its lines.

python examples/python/process_pool.py source.en target.de

A `Translator` already uses all processors, so processes help only where Python itself is the limit
or where each has a machine of its own. They must start with `spawn`: ONNX Runtime does not survive
a fork.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from cgru_cli import Translator

MODEL = Path(__file__).parents[1] / "en-de.npz"
LINES = 256  # of a chunk
translator: Translator


def start(threads: int) -> None:
    """Load the model, once in each process."""
    global translator
    translator = Translator(MODEL, attention=False, cpu_threads=threads)


def translated(lines: list[str]) -> list[str]:
    """The translations of a chunk."""
    return [best.text for best in translator.translate(lines)]


def main(source: str, target: str, processes: int = 2, threads: int = 1) -> None:
    """Translate the file `source` to the file `target`."""
    context = multiprocessing.get_context("spawn")
    with (
        context.Pool(processes, start, (threads,)) as pool,
        open(source, encoding="utf-8") as lines,
        open(target, "w", encoding="utf-8") as file,
    ):
        for texts in pool.imap(translated, chunks(lines)):
            file.writelines(f"{text}\n" for text in texts)


def chunks(lines: Iterator[str]) -> Iterator[list[str]]:
    """Lists of up to LINES lines."""
    while chunk := list(islice(lines, LINES)):
        yield chunk


if __name__ == "__main__":
    main(*sys.argv[1:])

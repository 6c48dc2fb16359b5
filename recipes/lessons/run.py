#!/usr/bin/env python3
"""Run the lessons and store each with what it prints and draws.

python recipes/lessons/run.py [recipes/lessons/1-ngrams.ipynb ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
LESSONS = sorted(HERE.glob("[1-9]-*.ipynb"))


def run(lesson: Path) -> nbformat.NotebookNode:
    """A lesson with its outputs, in their folder. Raises CellExecutionError where a cell fails."""
    notebook = nbformat.read(lesson, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        record_timing=False,
        resources={"metadata": {"path": str(lesson.parent)}},
    )
    client.execute()
    # What differs from machine to machine.
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lessons", nargs="*", type=Path, default=LESSONS, help="default: all")
    for lesson in parser.parse_args(arguments).lessons:
        notebook = run(lesson)
        nbformat.write(notebook, lesson)
        print(lesson.name)


if __name__ == "__main__":
    main()

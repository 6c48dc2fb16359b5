#!/usr/bin/env python3
"""Run the lessons and store each with its output.

python recipes/lessons/run.py [recipes/lessons/01-ngrams.ipynb ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
LESSONS = [*sorted(HERE.glob("[0-9][0-9]-*.ipynb")), HERE / "python.ipynb"]
FIRST = """from cgru_cli.system.tensorflow_start import import_tensorflow, quick_import

with quick_import():  # in half the time
    import_tensorflow()"""


def run(lessons: Sequence[Path]) -> list[nbformat.NotebookNode]:
    """The lessons with their outputs. Raises CellExecutionError where a cell fails.

    They run in one kernel, as TensorFlow takes longer to start than a lesson to run; each starts
    without the names of the previous one.
    """
    notebooks = [nbformat.read(lesson, as_version=4) for lesson in lessons]
    together = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(FIRST)])
    for notebook in notebooks:
        together.cells += [nbformat.v4.new_code_cell("%reset -f"), *notebook.cells]
    folder = {"metadata": {"path": str(HERE)}}
    NotebookClient(
        together, timeout=600, startup_timeout=600, record_timing=False, resources=folder
    ).execute()
    for notebook in notebooks:
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        for number, cell in enumerate(cells, 1):
            cell.execution_count = number
    return notebooks


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lessons", nargs="*", type=Path, default=LESSONS, help="default: all")
    lessons = parser.parse_args(arguments).lessons
    for lesson, notebook in zip(lessons, run(lessons), strict=True):
        nbformat.write(notebook, lesson)
        print(lesson.name)


if __name__ == "__main__":
    main()

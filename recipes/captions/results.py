#!/usr/bin/env python3
"""How many captions are right, as a table: of each method, and the mean of a model's seeds.

results.py DATA FOLDER...: a folder has what one seed said of test and new, as test.txt and new.txt.
"""

from __future__ import annotations

import sys
from pathlib import Path

SETS = ("test", "new")


def right(given: Path, reference: Path) -> float:
    """The share of lines that are the same, in percent."""
    pairs = list(zip(lines(given), lines(reference), strict=True))
    return 100 * sum(ours == theirs for ours, theirs in pairs) / len(pairs)


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def main() -> None:
    data, *runs = map(Path, sys.argv[1:])
    print("| captions that are right, in percent | numbers of the training | new numbers |")
    print("|---|---|---|")
    for method, text in (
        ("nearest", "caption of the nearest picture of the training"),
        ("digits", "each digit by logistic regression, which is told where it stands"),
    ):
        scores = [right(data / f"{method}.{name}.txt", data / f"{name}.txt") for name in SETS]
        print(f"| {text} | {' | '.join(f'{score:.1f}' for score in scores)} |")
    cells = []
    for name in SETS:
        scores = [right(run / f"{name}.txt", data / f"{name}.txt") for run in runs]
        mean = sum(scores) / len(scores)
        cells.append(f"{mean:.1f} ({min(scores):.1f} to {max(scores):.1f})")
    print(f"| `cgru`, mean of {len(runs)} seeds (range) | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Print a table of correct captions by method, with the mean over a model's seeds.

results.py DATA FOLDER...: each folder has the captions of one seed, test.txt and new.txt.
"""

from __future__ import annotations

import sys
from pathlib import Path

SETS = ("test", "new")


def right(given: Path, reference: Path) -> float:
    """The percentage of identical lines."""
    pairs = list(zip(lines(given), lines(reference), strict=True))
    return 100 * sum(ours == theirs for ours, theirs in pairs) / len(pairs)


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def main() -> None:
    data, *runs = map(Path, sys.argv[1:])
    print("| correct captions, in percent | numbers in the training data | new numbers |")
    print("|---|---|---|")
    for method, text in (
        ("nearest", "caption of the nearest training image"),
        ("digits", "logistic regression for each digit, given its position"),
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

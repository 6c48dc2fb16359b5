#!/usr/bin/env python3
"""Print a table of accuracies; for models with several seeds, mean and standard deviation.

    python results.py DATA words.labels seed1/test.labels seed2/test.labels --apart short

Files in folders seedN belong to one model. --apart also prints the accuracy for lines of at most
three words (short), or for words that are not in the training text (unseen).
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from texts import lines

SHORT = 3  # words
APART = {"short": f"of {SHORT} words or fewer", "unseen": "of words never seen"}


def shares(given: Sequence[str], reference: Sequence[str], apart: Sequence[bool]) -> list[float]:
    """Accuracy in percent: of all labels, and of those counted apart; nan if there are none."""
    right = [a == b for a, b in zip(given, reference, strict=True)]
    some = [hit for hit, chosen in zip(right, apart, strict=True) if chosen]
    return [100 * statistics.mean(part) if part else math.nan for part in (right, some)]


def figure(values: Sequence[float]) -> str:
    """Mean, with standard deviation if there are several values; "" for nan."""
    if math.isnan(values[0]):
        return ""
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, help="folder with test.text and test.labels")
    parser.add_argument("labels", nargs="+", type=Path, help="predicted labels of the test text")
    parser.add_argument("--apart", choices=APART, required=True, help="what is counted apart")
    options = parser.parse_args(arguments)

    def read(path: Path) -> list[str]:
        """All labels of a file."""
        return [label for line in lines(path) for label in line.split()]

    if options.apart == "unseen":
        seen = set(read(options.data / "train.text"))
        apart = [word not in seen for word in read(options.data / "test.text")]
    else:
        apart = [len(line.split()) <= SHORT for line in lines(options.data / "test.text")]
    reference = read(options.data / "test.labels")
    systems: dict[str, list[list[float]]] = {}
    for path in options.labels:
        name = "network" if re.fullmatch(r"seed\d+", path.parent.name) else path.stem
        try:
            systems.setdefault(name, []).append(shares(read(path), reference, apart))
        except ValueError:
            sys.exit(
                f"results.py: error: {path}: number of labels differs from {options.data}/test"
            )
    print(f"| labels by | accuracy, % | {APART[options.apart]} |")
    print("| --- | --- | --- |")
    for name, runs in systems.items():
        print(f"| {name} | {' | '.join(map(figure, zip(*runs, strict=True)))} |")


if __name__ == "__main__":
    main()

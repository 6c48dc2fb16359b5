#!/usr/bin/env python3
"""Draw compare.tsv: curve.py compare.tsv compare.svg. Needs pip install '.[plot]'."""

import csv
import sys
from collections import defaultdict

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

Lines = dict[str, dict[float, list[tuple[float, float]]]]  # minutes and chrF by system and point


def main() -> int:
    """A line for each system: the mean of its seeds, with their range as a band."""
    table, picture = sys.argv[1:]
    lines: Lines = defaultdict(lambda: defaultdict(list))
    with open(table, encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            lines[row["system"]][float(row["point"])].append(
                (float(row["cpu_minutes"]), float(row["chrf"]))
            )
    pyplot.rcParams["svg.hashsalt"] = "cgru"  # the same bytes for the same table
    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for system, points in lines.items():
        of_seeds = [zip(*points[point], strict=True) for point in sorted(points)]
        minutes, scores = zip(*of_seeds, strict=True)
        minutes = [sum(some) / len(some) for some in minutes]
        means = [sum(some) / len(some) for some in scores]
        (line,) = axes.plot(minutes, means, marker="o", label=system)
        ranges = [*map(min, scores)], [*map(max, scores)]
        axes.fill_between(minutes, *ranges, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set_xlabel("CPU minutes of training")
    axes.set_ylabel("chrF of 500 validation sentences")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=2)
    figure.savefig(picture, metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())

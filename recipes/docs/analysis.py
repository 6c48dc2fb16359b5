#!/usr/bin/env python3
"""Compare translations by kinds of lines: analysis.py TEST TRAINING NAME=TRANSLATION... [options]

TEST and TRAINING are files without the endings of their languages. Two tables are printed. The
first has BLEU and chrF, as cgru score --metric computes them, of the lines of each length, and of
those with and without rare words; the second the share of the source's numbers and product names
that stand in the translation.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

from cgru_cli import evaluate

sys.path.append(str(Path(__file__).parent / "copying"))
from kept import counted

RARE = 5  # times in the training text, at most
LENGTHS = ((1, 9), (10, 19), (20, 29), (30, 1000))  # words of the source


def words(line: str) -> list[str]:
    """The words of a line without the marks around them, in lower case."""
    stripped = (word.strip(".,;:!?()\"'").lower() for word in line.split())
    return [word for word in stripped if word]


def read(path: str) -> list[str]:
    """The lines of a file."""
    return Path(path).read_text("utf-8").split("\n")[:-1]


def kinds(sources: list[str], training: list[str]) -> dict[str, list[int]]:
    """The numbers of the lines of each kind."""
    counts = Counter(word for line in training for word in words(line))
    lengths = [len(line.split()) for line in sources]
    rarest = [min((counts[word] for word in words(line)), default=0) for line in sources]
    found = {
        f"{first} to {last} words" if last < 1000 else f"{first} words and more": [
            i for i, length in enumerate(lengths) if first <= length <= last
        ]
        for first, last in LENGTHS
    }
    found["a word that is not in the training text"] = [i for i, n in enumerate(rarest) if n == 0]
    found[f"otherwise a word that occurs at most {RARE} times"] = [
        i for i, n in enumerate(rarest) if 0 < n <= RARE
    ]
    found["only more frequent words"] = [i for i, n in enumerate(rarest) if n > RARE]
    return found


def main() -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("test")
    add("training")
    add("systems", nargs="+", metavar="NAME=TRANSLATION")
    add("-s", "--source", default="en", help="source language")
    add("-t", "--target", default="de", help="target language")
    options = parser.parse_args()
    sources, references = (
        read(f"{options.test}.{language}") for language in (options.source, options.target)
    )
    systems = {name: read(path) for name, path in (s.split("=", 1) for s in options.systems)}
    print(f"| lines with | number | {' | '.join(f'{name}: BLEU | chrF' for name in systems)} |")
    print("|---|---|" + "---|---|" * len(systems))
    for kind, numbers in kinds(sources, read(f"{options.training}.{options.source}")).items():
        cells = []
        for lines in systems.values():
            chosen = ([side[i] for i in numbers] for side in (lines, references))
            scores = evaluate(*chosen, ["bleu", "chrf"]) if numbers else {}
            cells += [f"{score:.1f}" for score in scores.values()] or ["", ""]
        print(f"| {kind} | {len(numbers)} | {' | '.join(cells)} |")
    print(f"\n| kept | number | {' | '.join(systems)} |\n|---|---|{'---|' * len(systems)}")
    for pattern in ("number", "name"):
        shares = []
        for lines in systems.values():
            spans, kept = counted(pattern, sources, lines)
            shares.append(f"{100 * kept / max(spans, 1):.1f} %")
        print(f"| {pattern}s | {spans} | {' | '.join(shares)} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

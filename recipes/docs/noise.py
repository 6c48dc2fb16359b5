#!/usr/bin/env python3
"""Test sets with the noise of users' texts: noise.py FOLDER TEST SOURCE TARGET [--seed N]

From TEST.SOURCE and TEST.TARGET in FOLDER, it makes TEST-NOISE.SOURCE and .TARGET, where NOISE is

caps     both sides in upper case
typos    mistyped letters in some longer words of the source
no-stop  both sides without the full stop at their end; only pairs that had one
joined   three pairs in a line

Training draws other typos, of other lines.
"""

import argparse
import random
from pathlib import Path

from pairs import write_lines

from cgru_cli.text.line_variants import upper_case, with_typos, without_full_stop

Pairs = list[tuple[str, str]]


def noises(pairs: Pairs, seed: int) -> dict[str, Pairs]:
    """The pairs with each noise."""
    draw = random.Random(f"test {seed}")
    stopped = [(without_full_stop(source), without_full_stop(target)) for source, target in pairs]
    threes = zip(pairs[::3], pairs[1::3], pairs[2::3], strict=False)
    return {
        "caps": [(upper_case(source), upper_case(target)) for source, target in pairs],
        "typos": [(with_typos(source, draw), target) for source, target in pairs],
        "no-stop": [
            b for a, b in zip(pairs, stopped, strict=True) if a[0] != b[0] and a[1] != b[1]
        ],
        "joined": [tuple(map(" ".join, zip(*three, strict=True))) for three in threes],
    }


def main() -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("folder", "test", "source", "target"):
        parser.add_argument(name)
    parser.add_argument("--seed", type=int, default=1, help="random seed of the typos")
    options = parser.parse_args()
    stem, languages = Path(options.folder) / options.test, (options.source, options.target)
    sides = [
        Path(f"{stem}.{language}").read_text("utf-8").split("\n")[:-1] for language in languages
    ]
    for noise, pairs in noises(list(zip(*sides, strict=True)), options.seed).items():
        for i, language in enumerate(languages):
            write_lines(Path(f"{stem}-{noise}.{language}"), (pair[i] for pair in pairs))
        print(f"{options.test}-{noise}: {len(pairs):,} lines")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

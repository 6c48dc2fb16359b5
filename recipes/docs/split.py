#!/usr/bin/env python3
"""Split the pairs of localised documentation by document, and add general text.

PAIRS is the file that extract.py makes. GENERAL is a folder with train, dev and test, each .SOURCE
and .TARGET, plain or .gz. The output folder has train.domain and train.general, dev, valid (500
lines of dev), test.domain, test.general, and mono: the target side of documents that nothing else
uses. No source line of dev or a test set is a source line of the training text, and no line of mono
is a target line of dev or a test set.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from pairs import Pair, read, write_lines

from cgru_cli.errors import CgruError
from cgru_cli.prep.raw_text import read_lines

DEV, TEST, MONO = (0,), (1,), range(2, 7)  # the documents' numbers


def general(folder: Path, name: str, languages: Sequence[str]) -> list[Pair]:
    """The pairs of a set of the general text. Raises CgruError if a file is missing."""
    sides = []
    for language in languages:
        found = [p for e in ("", ".gz") if (p := folder / f"{name}.{language}{e}").exists()]
        if not found:
            raise CgruError(f"{folder / name}.{language}: no such file, nor with .gz")
        sides.append([line.decode("utf-8") for line in read_lines(found[0])])
    if len(sides[0]) != len(sides[1]):
        raise CgruError(
            f"{folder / name}: {len(sides[0])} lines of {languages[0]}, "
            f"{len(sides[1])} of {languages[1]}"
        )
    return [Pair(-1, *pair) for pair in zip(*sides, strict=True)]


def same(text: str) -> str:
    """The key by which two lines count as the same."""
    return " ".join(text.casefold().split())


def drawn(pairs: list[Pair], size: int, seed: int) -> list[Pair]:
    """At most `size` random pairs, in their order; all of them if size is 0."""
    if not size or len(pairs) <= size:
        return pairs
    chosen = random.Random(seed).sample(range(len(pairs)), size)
    return [pairs[i] for i in sorted(chosen)]


def make(options: argparse.Namespace) -> None:
    """Write all sets, and print their sizes and the numbers of dropped pairs."""
    languages, seed = (options.source, options.target), options.seed
    documents = list(read(options.pairs))
    sets = {
        "train.domain": [p for p in documents if p.document not in (*DEV, *TEST, *MONO)],
        "train.general": general(options.general, "train", languages),
    }
    trained = {same(p.source) for pairs in sets.values() for p in pairs}
    held = {
        "dev": [p for p in documents if p.document in DEV],
        "test.domain": [p for p in documents if p.document in TEST],
        "test.general": general(options.general, "test", languages),
    }
    sizes = {"dev": options.dev, "test.domain": options.test, "test.general": options.test_general}
    for name, pairs in held.items():
        unseen = [p for p in pairs if same(p.source) not in trained]
        print(f"{name}: {len(pairs) - len(unseen):,} of {len(pairs):,} sources are in the training")
        if not unseen:
            raise CgruError(f"{options.pairs}: no pair is left for {name}")
        sets[name] = drawn(unseen, sizes[name], seed)
    sets["valid"] = drawn(sets["dev"], 500, seed)
    references = {same(p.target) for name in held for p in sets[name]}
    mono = [p for p in documents if p.document in MONO and same(p.target) not in references]
    sets["mono"] = mono
    sets["train.domain"] = drawn(sets["train.domain"], options.pairs_domain, seed)
    sets["train.general"] = drawn(sets["train.general"], options.pairs_general, seed)
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in sets.items():
        if name != "mono":
            lines = (p.source for p in pairs)
            write_lines(options.folder / f"{name}.{options.source}", lines)
        write_lines(options.folder / f"{name}.{options.target}", (p.target for p in pairs))
        print(f"{name}: {len(pairs):,} lines")
    source, written = options.source, {}
    for name in (*held, "train.domain", "train.general"):
        lines = read_lines(options.folder / f"{name}.{source}")
        written[name] = {same(line.decode()) for line in lines}
    for name in held:
        both = written[name] & (written["train.domain"] | written["train.general"])
        print(f"{name}: {len(both)} of its sources are in the training text")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("pairs", type=Path, help="pairs of documentation (.tsv.gz)")
    add("general", type=Path, help="folder of the general text")
    add("folder", type=Path, help="output folder")
    add("-s", "--source", default="en", help="source language")
    add("-t", "--target", default="de", help="target language")
    add("--pairs-domain", type=int, default=0, help="pairs of documentation for training; 0: all")
    add("--pairs-general", type=int, default=0, help="general pairs for training; 0: all")
    add("--dev", type=int, default=2000, help="pairs in dev")
    add("--test", type=int, default=2000, help="pairs in test.domain")
    add("--test-general", type=int, default=1000, help="pairs in test.general")
    add("--seed", type=int, default=1, help="random seed of everything that is drawn")
    try:
        make(parser.parse_args(arguments))
    except CgruError as error:
        print(f"split.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

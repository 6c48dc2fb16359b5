#!/usr/bin/env python3
"""Compare marks in translations with the reference: python marked.py SOURCE REFERENCE OUTPUT

Of the lines of marked-up Markdown, it prints the share whose translation is well-formed with the
source's marks, the share whose marks are the reference's, and the share whose words inside each
mark are the reference's too.
"""

import re
import sys
from collections import Counter
from pathlib import Path

from cgru_cli.documents.markup import Markup


def marks(line: str) -> tuple[Counter, Counter]:
    """The marks of a line, without links' addresses, and the marks with the words inside them."""
    markup = Markup(line, "markdown")
    names: Counter = Counter()
    insides: Counter = Counter()
    waiting = list(markup.root.inner)
    while waiting:
        one = waiting.pop()
        waiting += one.inner
        name = re.sub(
            r"\(.*|\s.*", "", markup.restored(one.verbatim or f"{one.opening}{one.closing}")
        )
        names[name] += 1
        words = re.sub(r"\W+", " ", markup.plain[one.start : one.end]).strip()
        insides[name, words.casefold()] += 1
    return names, insides


def main(*paths: str) -> None:
    texts = [Path(path).read_text(encoding="utf-8").split("\n")[:-1] for path in paths]
    lines = kept = same = words = 0
    for source, reference, output in zip(*texts, strict=True):
        lines += 1
        found, wanted = marks(output), marks(reference)
        kept += found[0] == marks(source)[0]
        same += found[0] == wanted[0]
        words += found == wanted
    for count, what in (
        (kept, "have the marks of the source"),
        (same, "have the marks of the reference"),
        (words, "have the words of the reference inside them too"),
    ):
        print(f"{count} of {lines} lines ({100 * count / lines:.1f} %) {what}")


if __name__ == "__main__":
    main(*sys.argv[1:])

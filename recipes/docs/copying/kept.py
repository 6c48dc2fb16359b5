#!/usr/bin/env python3
"""The share of spans that translations keep: python kept.py TEXTS OUTPUTS [anywhere]

TEXTS is the folder of texts.py; OUTPUTS has a folder for each system, with a translation NAME.de of
each test set. It prints a table: the share of the source's spans that occur unchanged in the
translation, as often as in the source: by themselves, or with `anywhere` also inside words.
"""

import re
import sys
from collections import Counter
from pathlib import Path

from cgru_cli.text.copying import Copying

SETS = "number name code placeholder-found placeholder-made url email".split()


def kept(span: str, text: str, anywhere: bool = False) -> int:
    """How often a span occurs in a text, without `anywhere` only other than as part of a word."""
    if anywhere:
        return text.count(span)
    before = r"(?<!\w)" if span[0].isalnum() else ""
    after = r"(?!\w)" if span[-1].isalnum() else ""
    return len(re.findall(before + re.escape(span) + after, text))


def counted(
    pattern: str, sources: list[str], translations: list[str], anywhere: bool = False
) -> tuple[int, int]:
    """The spans of the sources, and how many of them the translations keep."""
    copying, spans, found = Copying([pattern]), 0, 0
    for source, translation in zip(sources, translations, strict=True):
        for span, count in Counter(one.text for one in copying.spans(source)).items():
            spans += count
            found += min(count, kept(span, translation, anywhere))
    return spans, found


def main(texts: str, outputs: str, *how: str) -> None:
    systems = sorted(path for path in Path(outputs).iterdir() if path.is_dir())
    print("| test set | lines | spans |", *(f"{path.name} |" for path in systems))
    print("|---|---|---|" + "---|" * len(systems))
    for name in SETS:
        sources = Path(texts, f"{name}.en").read_text(encoding="utf-8").split("\n")[:-1]
        shares = []
        for path in systems:
            lines = (path / f"{name}.de").read_text(encoding="utf-8").split("\n")[:-1]
            pattern = name.partition("-")[0]
            spans, found = counted(pattern, sources, lines, "anywhere" in how)
            shares.append(f"{100 * found / spans:.1f} % |")
        print(f"| {name} | {len(sources)} | {spans} |", *shares)


if __name__ == "__main__":
    main(*sys.argv[1:])

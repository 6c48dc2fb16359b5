"""Make a table of lexical probabilities, `lex.s2t`, by counting aligned words.

    python recipes/shortlist/lexical_table.py SOURCE TARGET ALIGNMENTS > lex.s2t

A line of ALIGNMENTS has the links of a sentence pair as `0-0 1-2` (source-target, from 0), the
format of fast_align and eflomal. Text before ` ||| ` is skipped, so the output of `cgru score
--alignment` works too. A line of the table is `target source p`, where p is the share of the source
word's links that go to the target word. Words without links are not counted.
"""

import gzip
import sys
from collections import Counter


def lines(path):
    """The lines of a text file, gzipped or not."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        yield from file


def count(sources, targets, alignments):
    """Count the links by (source word, target word)."""
    counts = Counter()
    texts = zip(sources, targets, alignments, strict=True)
    for number, (source, target, links) in enumerate(texts, 1):
        source_words = [word for word in source.rstrip("\n").split(" ") if word]
        target_words = [word for word in target.rstrip("\n").split(" ") if word]
        for link in links.rpartition("|||")[2].split():
            try:
                s, t = map(int, link.split("-"))
            except ValueError:
                raise SystemExit(f"line {number}: {link!r} is not a link such as 0-0") from None
            if s == len(source_words) or t == len(target_words):
                continue  # the end of the sentence
            if not (0 <= s < len(source_words) and 0 <= t < len(target_words)):
                raise SystemExit(
                    f"line {number}: link {link} in a pair of {len(source_words)} and "
                    f"{len(target_words)} words; align the words that the model reads"
                )
            counts[source_words[s], target_words[t]] += 1
    return counts


def main(source, target, alignments):
    """Print the table, with source words in order of first occurrence."""
    try:
        counts = count(lines(source), lines(target), lines(alignments))
    except (OSError, ValueError) as error:
        raise SystemExit(f"{source}, {target}, {alignments}: {error}") from None
    totals = Counter()
    for (source_word, _), times in counts.items():
        totals[source_word] += times
    with open(sys.stdout.fileno(), "w", encoding="utf-8", newline="\n") as table:
        for (source_word, target_word), times in counts.items():
            table.write(f"{target_word} {source_word} {times / totals[source_word]:.7f}\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])

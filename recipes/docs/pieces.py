#!/usr/bin/env python3
"""Print the pieces of each line of a text: pieces.py VOCABULARY.spm TEXT"""

import sys

import sentencepiece


def main(vocabulary: str, text: str) -> None:
    """Print the pieces of a line between spaces."""
    sys.stdout.reconfigure(encoding="utf-8")
    processor = sentencepiece.SentencePieceProcessor(model_file=vocabulary)
    with open(text, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            print(*processor.encode(line.rstrip("\n"), out_type=str))


if __name__ == "__main__":
    main(*sys.argv[1:])

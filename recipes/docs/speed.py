#!/usr/bin/env python3
"""Translate a text with one thread, and print the speed: speed.py NAME MODEL TEXT OUTPUT [options]

It prints a line of these fields, separated by tabs: NAME, the size of the model's file in MB,
source words per second of CPU time, CPU milliseconds per line, and the median milliseconds of a
line that is translated alone. The first batch, which compiles the search, is not counted.
"""

import argparse
import statistics
import time
from pathlib import Path

from pairs import write_lines

from cgru_cli import Translator

ALONE = 100  # lines translated one at a time


def main() -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    for name in ("name", "model", "text", "output"):
        add(name)
    add("--precision", default="float32", help="data type of matrix products")
    add("--shortlist", help="lex.s2t")
    add("--beam-size", type=int, default=4, help="beam size")
    options = parser.parse_args()
    lines = Path(options.text).read_text("utf-8").split("\n")[:-1]
    given = {"shortlist": (options.shortlist,)} if options.shortlist else {}
    translator = Translator(
        options.model,
        precision=options.precision,
        beam_size=options.beam_size,
        normalize=1.0,
        max_length_factor=2.0,
        cpu_threads=1,
        **given,
    )
    translator.translate(lines[:64])
    translator.translate(lines[0])
    before = time.process_time()
    results = translator.translate(lines)
    used = time.process_time() - before
    alone = []
    for line in lines[:ALONE]:
        start = time.perf_counter()
        translator.translate(line)
        alone.append(1000 * (time.perf_counter() - start))
    write_lines(Path(options.output), (result.text for result in results))
    megabytes = Path(options.model).stat().st_size / 1e6
    words = sum(len(line.split()) for line in lines)
    figures = (megabytes, 2), (words / used, 0), (1000 * used / len(lines), 2)
    cells = [f"{number:.{width}f}" for number, width in (*figures, (statistics.median(alone), 1))]
    print(options.name, *cells, sep="\t")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""`cgru prep --apply` and `--undo`: the pipeline of a data folder as a filter."""

from __future__ import annotations

from ..errors import CgruError
from ..options.prep import PrepOptions
from ..system.line_writer import LineWriter
from ..system.lines import LineReader
from ..text.pipeline import Preprocessing

_LINES, _TOKENS = 500, 50_000  # of a window


def run(options: PrepOptions) -> None:
    """Standard input to standard output, a line for each line.

    Raises CgruError for a bad folder or input, OutputClosed if the reader has gone.
    """
    pipeline = Preprocessing.read(options.apply or options.undo or "")
    number = 0
    with LineReader() as reader, LineWriter() as writer:
        while window := reader.window(_LINES, _TOKENS):
            done = []
            try:
                for line in window:
                    number += 1
                    if options.apply:
                        text = pipeline.apply(line, options.side or "source", options.words)
                    else:
                        text = pipeline.undo(line, options.side or "target")
                    done.append(f"{text}\n")
            except CgruError as error:
                raise CgruError(f"line {number}: {error}") from error
            finally:
                writer.write("".join(done))

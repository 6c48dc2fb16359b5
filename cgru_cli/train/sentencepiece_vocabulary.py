"""Learn missing SentencePiece vocabularies from the training text, as Marian does.

SentencePiece's trainer gets Marian's options (src/data/sentencepiece_vocab.cpp) and the user's.
"""

from __future__ import annotations

import io
import re
import shlex
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import CgruError, UsageError, writing
from ..system.process_pool import alone
from ..text.subwords import not_learned

DEFAULT_SIZE = 32000  # pieces, without --dim-vocabs
_LONGEST = "2048"  # bytes; the trainer skips longer lines
_FIXED = {"bos_id": "-1", "eos_id": "0", "unk_id": "1"}  # as the models need
_OPTION = re.compile(r"--?([a-z][a-z0-9_]*)=(.*)", re.DOTALL)


def trainer_options(text: str) -> dict[str, str]:
    """Parse the text of --sentencepiece-options, `--name=value ...`.

    Raises UsageError for other forms, and for options that `cgru train` sets itself.
    """
    options = {}
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--sentencepiece-options {text}: {error}") from error
    for word in words:
        match = _OPTION.fullmatch(word)
        if match is None:
            raise UsageError(f"--sentencepiece-options {word}: --NAME=VALUE is expected")
        if match[1] in (*_FIXED, "input", "model_prefix", "vocab_size"):
            raise UsageError(f"--sentencepiece-options {word}: cgru train sets {match[1]} itself")
        options[match[1]] = match[2]
    return options


def learn(
    lines: Iterable[bytes], size: int, options: Mapping[str, str], *, max_lines: int, seed: int
) -> bytes:
    """Learn a `.spm` with `size` pieces (0: DEFAULT_SIZE).

    max_lines: the maximum number of lines, drawn at random. Raises CgruError if the text has too
    few pieces, UsageError for options that SentencePiece does not know.
    """
    with writing(tempfile.gettempdir()), tempfile.NamedTemporaryFile(prefix="spm.") as file:
        drawn = _drawn(lines, max_lines, np.random.default_rng(seed))
        file.writelines(line.removesuffix(b"\n") + b"\n" for line in drawn)
        file.flush()
        settings = _FIXED | {"input": file.name, "vocab_size": str(size or DEFAULT_SIZE)}
        settings |= {"max_sentence_length": _LONGEST, "minloglevel": "2"} | dict(options)
        # in another process, because SentencePiece does not react to signals while it learns
        return alone(_trained, settings)


def _drawn(lines: Iterable[bytes], most: int, generator: np.random.Generator) -> list[bytes]:
    """At most `most` lines, drawn uniformly (reservoir sampling)."""
    kept: list[bytes] = []
    for number, line in enumerate(lines):
        if number < most:
            kept.append(line)
        elif (place := generator.integers(number + 1)) < most:
            kept[place] = line
    return kept


def _trained(settings: Mapping[str, Any]) -> bytes:
    import sentencepiece

    written = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(model_writer=written, **settings)
    except (RuntimeError, ValueError) as error:
        _, code, message = str(error).rpartition("NOT_FOUND: ")
        if code or isinstance(error, ValueError):
            raise UsageError(f"--sentencepiece-options: {message}") from None
        raise CgruError(
            f"SentencePiece did not learn {settings['vocab_size']} pieces: {not_learned(error)} "
            "(--dim-vocabs)"
        ) from None
    return written.getvalue()

"""Split words into sub-words and join them again, with SentencePiece or subword-nmt.

With both, `join(split(words)) == words` if single spaces separate the words.
"""

import base64
import binascii
import contextlib
import io
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import sentencepiece

from ..errors import CgruError, warn
from ..parameters.structure import EOS_ID
from ..system.lines import tokens
from ..system.signals import StopRequest
from ..system.structured_files import read_bytes
from ..system.versions import installed
from .copying import PLACEHOLDERS

LARGEST_CODES = 1 << 26  # bytes of a file of codes
_SPACE = "\u2581"  # SentencePiece's mark for a space
_MARK = "@@"
_CACHE = 200_000  # number of words whose pieces subword-nmt caches
_LITTLE = 1 << 20  # characters: some seconds of training
_THREADS = 4  # fixed, because the sums of EM depend on it


class Pieces:
    """A SentencePiece model with id 0 for the end of a sentence and id 1 for unknown pieces.

    It does not normalise; the text must not contain its mark for a space, U+2581.
    """

    def __init__(self, text: str, source: str):
        """text: the model in base64. Raises CgruError, naming the source, if it is damaged."""
        try:
            model = base64.b64decode(text, validate=True)
            processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except (binascii.Error, ValueError, RuntimeError) as error:
            raise CgruError(f"{source}: its SentencePiece model is damaged") from error
        if processor.eos_id() != EOS_ID:
            raise CgruError(f"{source}: its SentencePiece model does not end sentences with id 0")
        self._processor = processor

    def split(self, words: str) -> list[str]:
        """The pieces; the first piece of a word begins with U+2581."""
        return self._processor.encode(words, out_type=str)

    def join(self, pieces: Sequence[str]) -> str:
        """The text of pieces, including pieces that the model lacks.

        Byte pieces become characters, and newlines spaces.
        """
        text = self._processor.decode_pieces(list(pieces)).replace("\n", " ")
        return text.replace(_SPACE, " ").removeprefix(" ")


def learn_pieces(
    lines: Iterable[str],
    kind: str,
    size: int,
    coverage: float,
    folder: Path | None = None,
    *,
    byte_fallback: bool = False,
    placeholders: bool = False,
) -> str:
    """Train a SentencePiece model ("bpe" or "unigram"); returns it in base64.

    The same lines give the same model. Warns if the text gives fewer pieces than `size`.
    byte_fallback: make 256 bytes pieces, to spell unknown characters; placeholders: make the
    placeholders of `copying` pieces. Unless the text is short, SentencePiece trains in a separate
    process, on a file in the folder, because Python handles no signals meanwhile. Raises CgruError
    if the size is too small for the text's characters, and Stopped.
    """
    settings = {
        "model_type": kind,
        "vocab_size": size,
        "character_coverage": coverage,
        "byte_fallback": byte_fallback,
        "user_defined_symbols": list(PLACEHOLDERS if placeholders else ()),
    }
    lines = iter(lines)
    beginning, characters = [], 0
    for line in lines:
        beginning.append(line)
        characters += len(line)
        if characters > _LITTLE:
            break
    if characters <= _LITTLE:
        with StopRequest() as stop:
            model = _trained(beginning, settings)
        if stop.asked:
            stop.end()
    else:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            text = os.path.join(place, "text")
            with open(text, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{line}\n" for line in chain(beginning, lines))
            from ..system.process_pool import alone  # slow to import

            model = alone(_trained_on_file, text, settings)
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model).get_piece_size()
    if pieces < size:
        warn(f"the text gives {pieces} pieces, fewer than --subword-vocabulary {size}")
    return base64.b64encode(model).decode("ascii")


def _trained_on_file(path: str, settings: Mapping[str, Any]) -> bytes:
    with open(path, encoding="utf-8", newline="\n") as file:
        return _trained((line.removesuffix("\n") for line in file), settings)


def _trained(lines: Iterable[str], settings: Mapping[str, Any]) -> bytes:
    written = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=written,
            hard_vocab_limit=False,
            normalization_rule_name="identity",
            eos_id=EOS_ID,
            unk_id=EOS_ID + 1,
            bos_id=-1,
            pad_id=-1,
            max_sentence_length=1 << 20,
            num_threads=_THREADS,
            minloglevel=2,
            **settings,
        )
    except RuntimeError as error:
        raise CgruError(
            f"--subword-vocabulary {settings['vocab_size']}: SentencePiece learned nothing "
            f"({not_learned(error)})"
        ) from error
    return written.getvalue()


def not_learned(error: Exception) -> str:
    """The reason why SentencePiece did not learn, without the place in SentencePiece's source."""
    reason = re.sub(r"^.*\.cc\([0-9]+\) \[.*\]", "", str(error), flags=re.DOTALL).strip()
    too_small = "the size is too small" if "unk_piece" in str(error) else "the text has no words"
    return reason or too_small


class Codes:
    """Merges of subword-nmt, versions 0.1 and 0.2; every piece but a word's last ends in `@@`.

    If a word itself ends in `@@`, its last `@` is a separate piece.
    """

    def __init__(self, text: str, source: str):
        """text: the content of the file of codes. Raises CgruError like `check_codes`."""
        check_codes(text, source)
        self._bpe = installed("subword_nmt.apply_bpe", "prep").BPE(io.StringIO(text))

    def split(self, words: str) -> list[str]:
        """The pieces; all pieces of a word but the last end in `@@`."""
        if len(self._bpe.cache) > _CACHE:
            self._bpe.cache = {}  # another thread may be reading the old one
        pieces = []
        for word in tokens(words):
            parts = self._bpe.segment_tokens([word])
            if word.endswith(_MARK) and parts[-1].endswith(_MARK):
                parts[-1:] = [parts[-1][:-1] + _MARK, "@"]
            pieces += parts
        return pieces

    def join(self, pieces: Sequence[str]) -> str:
        joined = [p.removesuffix(_MARK) if p.endswith(_MARK) else p + " " for p in pieces]
        return "".join(joined).removesuffix(" ")


def read_codes(path: str) -> str:
    """Read a file of codes, or a `.gz`. Raises CgruError for other files."""
    content = read_bytes(path, "file of codes", LARGEST_CODES, once=True)
    content = content.removesuffix(b"\n") + b"\n"
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CgruError(f"{path}: not UTF-8, so not a subword-nmt codes file") from error
    check_codes(text, path)
    return text


def check_codes(text: str, source: str) -> None:
    """Raise CgruError, naming source and line, if the text is not that of a file of codes."""
    lines = text.rstrip("\n").split("\n")
    first = 1
    if lines[0].startswith("#version:"):
        first = 2
        if lines.pop(0).split()[1:] not in (["0.1"], ["0.2"]):
            version = text.partition("\n")[0][:40]
            raise CgruError(f"{source}:1: codes of an unknown version ({version!r})")
    if not lines:
        raise CgruError(f"{source}: no merges of sub-words; is the file cut short?")
    for number, line in enumerate(lines, first):
        if len(line.strip("\r ").split(" ")) != 2:
            raise CgruError(
                f"{source}:{number}: expected two sub-words with a space between, found "
                f"{line[:40]!r}; is it a file of subword-nmt codes?"
            )


def learn_codes(counts: Counter[str], merges: int) -> str:
    """Learn merges from words and their counts; returns the file of codes.

    Raises CgruError if there are too few words to learn anything.
    """
    learner = installed("subword_nmt.learn_bpe", "prep")
    words = io.StringIO("".join(f"{word} {counts[word]}\n" for word in sorted(counts)))
    written = io.StringIO()
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # hides the progress
            learner.learn_bpe(words, written, merges, is_dict=True)
    except ValueError:  # max() of no pairs
        written = io.StringIO()
    text = written.getvalue()
    learned = text.count("\n") - 1
    if learned < 1:
        raise CgruError(f"no sub-words can be learned from {len(counts)} different words")
    if learned < merges:
        warn(f"the text gives {learned} merges, fewer than --subword-vocabulary {merges}")
    return text


def join_bpe(text: str) -> str:
    """Join the sub-words of subword-nmt, like `sed 's/@@ //g;s/@@$//'`."""
    return text.replace("@@ ", "").removesuffix("@@")

"""Make vocabularies byte for byte like the tools of Marian, Nematus and DL4MT.

`marian-vocab` reads standard input and writes YAML to standard output. `build_dictionary.py` of
Nematus writes `FILE.json` beside each file, that of DL4MT `FILE.pkl`. DL4MT and Nematus on Theano
ran under Python 2, Nematus on TensorFlow under Python 3. Lines, words, special words, the order of
words of equal frequency, white space and escapes are those of the programs, including quirks:
`build_dictionary.py` counts an empty word for each empty line, and a word `eos` in the text
replaces the special word.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ..corpus.numpy_order import argsort
from ..errors import CgruError, UsageError, reading
from ..formats.yaml_cpp import scalar
from ..options.prep import PrepOptions
from ..options.scope import Scope
from ..system.atomic_files import atomic_write
from ..system.line_writer import LineWriter
from ..system.lines import lines_of, standard_input
from ..system.terminal import tell

_PYTHON2_SPACES = b" \t\n\r\x0b\x0c"  # the characters that Python 2's str.strip() removes


def run(files: tuple[str, ...], options: PrepOptions) -> None:
    """Make the vocabularies of --vocabulary-only. Raises CgruError, UsageError, OutputClosed."""
    for _, flag in options.changed():
        if Scope.VOCABULARY not in flag.applies_to:
            raise UsageError(f"{flag.name} has no effect with --vocabulary-only")
    program = options.compat
    if program is None:
        raise UsageError("--vocabulary-only: name the program with --compat, as in --compat marian")
    if program == "marian":
        if files:
            raise UsageError(
                f"--compat marian: {files[0]}: the text is read from standard input: "
                f"cgru prep --vocabulary-only --compat marian < {files[0]} > vocab.yml"
            )
        vocabulary = marian(_standard_input(), options.vocabulary_size)
        with LineWriter() as writer:
            writer.write_bytes(vocabulary)
        return
    if not files:
        raise UsageError(f"--compat {program}: name the text: cgru prep --vocabulary-only FILE...")
    if options.vocabulary_size:
        raise UsageError(f"--vocabulary-size: the dictionary of {program} has every word")
    write, ending = _WRITERS[program]
    for path in files:
        lines = _python3_lines(path) if program == "nematus-tf" else _python2_lines(path)
        words = dictionary(lines, _SPECIALS[program])
        with atomic_write(path + ending) as file:
            file.write(write(words))
        tell(f"prep: {path}{ending}: {len(words):,} words", options.quiet)


def marian(lines: Iterable[bytes], limit: int = 0) -> bytes:
    """A vocabulary in YAML: words by falling frequency, then by their bytes.

    limit: maximum number of entries, including the two special words; 0: all.
    """
    counts: Counter[bytes] = Counter()
    for line in lines:
        counts.update(filter(None, line.removesuffix(b"\n").split(b" ")))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    if limit:
        words = words[: limit - 2]
    entries = [b"</s>: 0", b"<unk>: 1"]
    entries += (b"%s: %d" % (scalar(word), i) for i, word in enumerate(words, 2))
    return b"\n".join(entries)


def dictionary(lines: Iterable[list[bytes]], specials: tuple[bytes, ...]) -> dict[bytes, int]:
    """Ids of words by falling frequency, with ties in the reverse order of NumPy's old sort."""
    counts: Counter[bytes] = Counter()
    for line in lines:
        counts.update(line)
    words = list(counts)
    ids = {word: i for i, word in enumerate(specials)}
    for i, place in enumerate(reversed(argsort(list(counts.values()))), len(specials)):
        ids[words[place]] = i
    return ids


def _standard_input() -> Iterator[bytes]:
    with reading("standard input"):
        yield from lines_of(standard_input(), "standard input")


def _lines(path: str) -> Iterator[bytes]:
    with reading(path), open(path, "rb") as file:
        yield from lines_of(file, path)


def _python2_lines(path: str) -> Iterator[list[bytes]]:
    """Split each line into words as Python 2 splits bytes."""
    for line in _lines(path):
        yield line.strip(_PYTHON2_SPACES).split(b" ")


def _python3_lines(path: str) -> Iterator[list[bytes]]:
    """Split each line into words as Python 3 splits text; \\r also ends a line."""
    for number, line in enumerate(_lines(path), 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CgruError(f"{path}: line {number} is not UTF-8") from error
        for part in re.split(r"\r\n?|\n", text.removesuffix("\n").removesuffix("\r")):
            yield [word.encode("utf-8") for word in part.strip().split(" ")]


def _json(words: Mapping[bytes, int], separator: str) -> bytes:
    """JSON as `json.dump(words, indent=2, ensure_ascii=False)` writes it."""
    ids = {word.decode("utf-8", "surrogateescape"): i for word, i in words.items()}
    text = json.dumps(ids, indent=2, ensure_ascii=False, separators=(separator, ": "))
    return text.encode("utf-8", "surrogateescape")


def _pickle(words: Mapping[bytes, int]) -> bytes:
    """An OrderedDict as Python 2's cPickle writes it in protocol 0.

    cPickle numbers every object except strings of less than two bytes.
    """
    parts = [b"ccollections\nOrderedDict\np1\n((lp2\n"]
    number = 2
    for word, i in words.items():
        number += 1
        parts.append(b"(lp%d\nS%s\n" % (number, repr(word)[1:].encode("ascii")))
        if len(word) > 1:
            number += 1
            parts.append(b"p%d\n" % number)
        parts.append(b"aI%d\naa" % i)
    parts.append(b"tRp%d\n." % (number + 1))
    return b"".join(parts)


_SPECIALS = {
    "nematus": (b"eos", b"UNK"),
    "nematus-tf": (b"<EOS>", b"<GO>", b"<UNK>"),
    "dl4mt": (b"eos", b"UNK"),
}
# Python 2 writes a space after the comma at the end of a line.
_WRITERS = {
    "nematus": (lambda words: _json(words, ", "), ".json"),
    "nematus-tf": (lambda words: _json(words, ","), ".json"),
    "dl4mt": (_pickle, ".pkl"),
}

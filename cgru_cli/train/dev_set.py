"""The validation text, read and encoded once, before the first update."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass

from .. import errors
from ..corpus.parallel_files import PathLike, check_line_counts, text_lines
from ..corpus.text_encoding import TextEncoding, Word
from ..errors import CgruError, warn
from ..parameters.structure import Type
from ..system.lines import tokens


@dataclass(frozen=True)
class DevSet:
    """Sentence pairs to validate on."""

    sources: list[list[tuple[int, ...]]]  # words of each line, each with the ids of its factors
    targets: list[list[int]]
    references: list[str]  # plain text, for BLEU and chrF
    encoding: TextEncoding
    fingerprint: str = ""  # SHA-256 of the lines of all files

    @classmethod
    def read(
        cls,
        source: PathLike | None,
        target: PathLike,
        encoding: TextEncoding,
        *,
        reference: PathLike | None = None,
        max_length: int = 1000,
        lines: int = 0,
    ) -> DevSet:
        """Read the files; source is None for a language model without a condition.

        source, target: prepared like the training text: words between spaces, or raw text for
        `.spm`. reference: plain text, by default that of the target. max_length: cut longer
        sentences to this number of words, with a warning. lines: the number of lines to keep,
        spread evenly over the text; 0: all. Raises CgruError for files that cannot be read, are
        empty, or differ in their number of lines.
        """
        files = [path for path in (source, target, reference) if path is not None]
        read = {path: list(text_lines(path)) for path in files}
        for path in files:
            check_line_counts((files[0], len(read[files[0]])), (path, len(read[path])))
        if not read[target]:
            raise CgruError(f"{files[0]}: is empty; validation needs sentences")
        tags = encoding.kind is Type.TAGGER
        if tags:
            max_length = sys.maxsize  # each word needs its tag
        sources: list[list[tuple[int, ...]]] = [[] for _ in read[target]]
        if source is not None:
            sources = _encoded(source, read[source], encoding.source_ids, max_length)
        targets = _encoded(target, read[target], encoding.target_ids, max_length)
        if tags:
            for number, pair in enumerate(zip(sources, targets, strict=True), 1):
                with errors.at(f"{target}: line {number}"):
                    encoding.check_pair(*pair)
        if encoding.source_reversed:
            sources = [words[::-1] for words in sources]
        if reference is not None:
            references = read[reference]
        else:
            references = [encoding.reference(tokens(line)) for line in read[target]]
        total = len(targets)
        count = min(lines or total, total)
        kept = [i * total // count for i in range(count)]
        joined = "\0".join("\n".join(read[path][i] for i in kept) for path in files)
        fingerprint = hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
        return cls(
            [sources[i] for i in kept],
            [targets[i] for i in kept],
            [references[i] for i in kept],
            encoding,
            fingerprint,
        )


def _encoded(
    path: PathLike, lines: list[str], encode: Callable[[str], list[Word]], max_length: int
) -> list[list[Word]]:
    """The ids of each line, cut to max_length words."""
    cut = 0
    sentences = []
    for number, line in enumerate(lines, 1):
        with errors.at(f"{path}: line {number}"):
            words = encode(line)
        cut += len(words) > max_length
        sentences.append(words[:max_length])
    if cut:
        warn(f"{path}: {cut} lines were cut to {max_length} words")
    return sentences

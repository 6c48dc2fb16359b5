"""Make missing vocabularies from the training text.

`cgru train` makes vocabularies of labels, and with --compat marian, like Marian, also of text.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..corpus.parallel_files import PathLike, TsvField, text_lines
from ..errors import CgruError, note, writing
from ..formats.vocabulary_files import write_vocabulary
from ..options.model import LABELLING
from ..options.train import TrainOptions
from ..parameters.structure import FIRST_LABEL
from ..prep.program_vocabularies import marian as marian_vocabulary
from ..system.atomic_files import atomic_write
from ..system.lines import byte_lines, tokens
from ..system.terminal import tell
from ..text.labels import number_of_labels
from ..text.vocabulary import Vocabulary
from . import sentencepiece_vocabulary
from .texts import Texts, limits_of


def make_missing(texts: Texts, options: TrainOptions) -> None:
    """Make the missing vocabularies: of labels, with SentencePiece, or as Marian does.

    SentencePiece learns a `.spm` for --compat marian or with --sentencepiece-options. A vocabulary
    for both sides is made from both texts. Raises UsageError for unknown options of SentencePiece,
    and unless --dim-vocabs has one number per vocabulary; CgruError for files that cannot be read
    or written.
    """
    paths = texts.vocabularies
    if options.type in LABELLING and paths:
        _make_labels(paths[-1], texts.targets, options, one=options.type == "classifier")
    if options.condition and len(paths) == 2:
        _make_labels(paths[0], texts.sources, options, one=True)
    learning = sentencepiece_vocabulary.trainer_options(options.sentencepiece_options or "")
    missing = [path for path in paths if not path.exists()]
    if options.sentencepiece_options and all(path.suffix != ".spm" for path in missing):
        note("--sentencepiece-options: no effect because no .spm vocabulary is missing")
    marian = options.compat == "marian"
    if not (marian or learning) or len(paths) > 2:
        return
    sides = [texts.sources, texts.targets][-len(paths) :]
    for path, limit in zip(paths, limits_of(texts, options.dim_vocabs), strict=True):
        if path.exists() or not (marian or path.suffix == ".spm"):
            continue
        of_sides = zip(paths, sides, strict=True)
        files = [file for own, side in of_sides if own == path for file in side]
        lines = itertools.chain.from_iterable(map(_lines, files))
        if path.suffix == ".spm":
            most, seed = options.sentencepiece_max_lines, options.seed
            content = sentencepiece_vocabulary.learn(
                lines, limit, learning, max_lines=most, seed=seed
            )
        else:
            content = marian_vocabulary(lines, limit)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(str(path)) as file:
                file.write(content)
        tell(f"train: {path}: made from {' '.join(map(str, files))}", options.quiet)


def _make_labels(
    path: Path, texts: Sequence[PathLike], options: TrainOptions, *, one: bool
) -> None:
    """Write the vocabulary of labels, most frequent first, unless it exists.

    one: whether each line must have exactly one label.
    """
    if path.exists():
        return
    counts: Counter[str] = Counter()
    for text in texts:
        for number, line in enumerate(_lines(text), 1):
            labels = tokens(line.removesuffix(b"\n").decode("utf-8", errors="replace"))
            if one and len(labels) != 1:
                raise CgruError(f"{text}: line {number}: {number_of_labels(labels)}")
            counts.update(labels)
    known = sorted(counts, key=lambda label: (-counts[label], label))
    ids = {word: i for i, word in enumerate(("</s>", "<unk>", *known))}
    if len(ids) != len(known) + FIRST_LABEL:
        raise CgruError(f"{texts[0]}: </s> and <unk> cannot be labels; rename them")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_vocabulary(Vocabulary(ids, path), path)
    tell(f"train: {path}: {len(known)} labels from {' '.join(map(str, texts))}", options.quiet)


def _lines(path: PathLike) -> Iterator[bytes]:
    if isinstance(path, TsvField):
        for line in text_lines(path):
            yield line.encode("utf-8", errors="replace")
    else:
        yield from byte_lines(path)

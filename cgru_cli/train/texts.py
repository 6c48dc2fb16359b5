"""The texts and vocabularies that a training run reads."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..corpus.parallel_files import Files, PathLike
from ..errors import CgruError, UsageError, reading
from ..formats.model import PREPROCESSING
from ..formats.vocabulary_files import read_vocabulary
from ..options.model import LABELLING
from ..options.train import TrainOptions
from ..parameters.structure import EOS_ID
from ..prep import folder as manifest
from ..system.atomic_files import check_whole
from ..system.structured_files import StoredFile
from ..text import pipeline
from ..text.vocabulary import Vocabulary
from .tab_separated import fields_in, fields_of, fields_of_dev_set, is_copy

_ONE_TEXT = "a language model has one vocabulary, and one text to validate on"


@dataclass(frozen=True)
class Texts:
    """The files of a training run."""

    files: tuple[Files, ...]  # pairs of files, with their alignments and weights
    vocabularies: tuple[Path, ...]  # sources (one per factor), then target; () for the model's own
    dev: tuple[PathLike | None, PathLike] | None = None
    reference: Path | None = None
    preprocessing: Path | StoredFile | None = None

    @property
    def sources(self) -> list[PathLike]:
        """The source of each pair of files; empty for a language model."""
        return [files.source for files in self.files if files.source is not None]

    @property
    def targets(self) -> list[PathLike]:
        return [files.target for files in self.files]

    def _target_side(self) -> Texts:
        files = tuple(files._replace(source=None) for files in self.files)
        dev = (None, self.dev[1]) if self.dev else None
        return Texts(files, self.vocabularies[-1:], dev, preprocessing=self.preprocessing)

    @classmethod
    def of(cls, options: TrainOptions, folder: str | None) -> Texts:
        """The files that the options name, completed by the files of a prepared folder.

        Raises UsageError if a file is missing in both, CgruError for files that cannot be read.
        """
        prepared = _prepared(Path(folder)) if folder else cls((), ())
        if not options.has_source:
            if options.valid_reference:
                raise UsageError("--valid-reference: a language model does not translate")
            prepared = prepared._target_side()
        sides = _training_text(options)
        files = tuple(itertools.starmap(Files, zip(*sides, strict=True))) or prepared.files
        if not files:
            lm = "--type lm --train-sets TEXT"
            example = "--train-sets SRC TRG" if options.has_source else lm
            raise UsageError(f"name the text: cgru train DATA, or cgru train {example}")
        valid = _text_to_validate_on(options)
        dev, reference = valid or prepared.dev, prepared.reference
        if options.valid_reference:
            reference = Path(options.valid_reference)
        elif valid or options.type in LABELLING:  # labels are compared with those of the dev set
            reference = None
        if reference and dev is None:
            raise UsageError("--valid-reference: name the text to validate on with --valid-sets")
        preprocessing = prepared.preprocessing
        if options.begins_from and options.has_source and preprocessing is None:
            path = Path(f"{options.begins_from}{PREPROCESSING}")
            preprocessing = path if path.is_file() else None
        vocabularies = _vocabularies(options, prepared, files[0])
        files = _weighted(files, options)
        train = [path for pair in files for path in pair[:4]]
        for path in filter(None, (*train, *(dev or ()), reference)):
            with reading(path), open(path, "rb") as file:
                if stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
                    raise CgruError(f"{path}: is a device, which may never end; name a file")
        return cls(files, vocabularies, dev, reference, preprocessing)


def _vocabularies(options: TrainOptions, prepared: Texts, text: Files) -> tuple[Path, ...]:
    """The vocabularies from the options, or from the folder, or beside the text as in Marian."""
    named = tuple(map(Path, options.vocabularies)) or prepared.vocabularies
    if not named and not options.begins_from:
        if options.compat == "marian":
            named = _beside_text(options, list(filter(None, text[:2])))
        elif options.has_source:
            raise UsageError("name the vocabularies: -v SRC TRG (`cgru prep` makes them)")
        else:
            raise UsageError("name the vocabulary: -v VOCAB (`cgru prep` makes one)")
    if not options.has_source:
        if len(named) > 1:
            raise UsageError(_ONE_TEXT)
    elif options.type in LABELLING:
        if len(named) == 1:
            raise UsageError("name the labels' vocabulary too: -v VOCAB LABELS")
    elif options.condition:
        if len(named) > 2:
            raise UsageError(
                "--condition: name the vocabularies of labels and text (-v LABELS VOCAB), or "
                "for vectors of numbers only that of the text (-v VOCAB)"
            )
    elif len(named) == 1:
        named *= 2
    return named


def _beside_text(options: TrainOptions, texts: Sequence[PathLike]) -> tuple[Path, ...]:
    """Marian's default vocabularies: FILE.yml beside the first text of each side.

    Fields between tabs of one file share a vocabulary. Raises UsageError for standard input.
    """
    if is_copy(options):
        raise UsageError("standard input has no vocabularies beside it; name them: -v SRC TRG")
    vocabularies = []
    for text in texts:
        named = [Path(f"{text}{suffix}") for suffix in (".yml", ".yaml", ".json")]
        vocabularies.append(next((path for path in named if path.exists()), named[0]))
    return tuple(vocabularies)


def _training_text(options: TrainOptions) -> tuple[Sequence[PathLike | None], Sequence[PathLike]]:
    """The sources (None for a language model) and targets that the options name."""
    train = tuple(map(Path, options.train_sets))
    none = [None] * len(train)
    if options.tsv:
        fields = fields_of(options)
        return fields_in(train, fields, "source") or none, fields_in(train, fields, "target")
    if not options.has_source:
        return none, train
    if len(train) % 2:
        raise UsageError(
            f"--train-sets: {len(train)} files; equal numbers of sources and targets expected"
        )
    return train[: len(train) // 2], train[len(train) // 2 :]


def _text_to_validate_on(options: TrainOptions) -> tuple[PathLike | None, PathLike] | None:
    valid = tuple(map(Path, options.valid_sets))
    if len(valid) > 1 and not options.has_source:
        raise UsageError(_ONE_TEXT)
    if not valid:
        return None
    if options.tsv:
        if len(valid) > 1:
            raise UsageError(f"--valid-sets: {len(valid)} files; with --tsv, one has both sides")
        fields = fields_of_dev_set(valid[0], fields_of(options))
        source, target = fields_in(valid, fields, "source"), fields_in(valid, fields, "target")
        return source[0] if source else None, target[0]
    if not options.has_source:
        return None, valid[0]
    if len(valid) != 2:
        raise UsageError("--valid-sets: a source and a target file are expected")
    return valid[0], valid[1]


def _weighted(files: Sequence[Files], options: TrainOptions) -> tuple[Files, ...]:
    """Add alignments and weights to the files, and drop files with domain weight 0."""
    count, domains = len(files), options.domain_weights
    alignments: tuple[PathLike, ...] = tuple(map(Path, options.alignments))
    weights: tuple[PathLike, ...] = tuple(map(Path, options.data_weighting))
    if options.tsv:
        fields, paths = fields_of(options), options.train_sets
        alignments = fields_in(paths, fields, "alignment")
        weights = fields_in(paths, fields, "weight")
    for name, values in (
        ("--guided-alignment", alignments),
        ("--data-weighting", weights),
        ("--domain-weights", domains),
    ):
        if values and len(values) != count:
            raise UsageError(
                f"{name}: {len(values)} given; one is expected for each of the {count} training "
                "texts"
            )
    if options.teacher and count > 1:
        raise UsageError("--teacher needs a single training text; join the files, then score it")
    if not any(domains or (1,)):
        raise UsageError("--domain-weights: not all may be 0")
    none = [None] * count
    parts = zip(files, alignments or none, weights or none, domains or none, strict=True)
    return tuple(
        pair._replace(alignment=alignment, weight=weight, factor=factor)
        for pair, alignment, weight, factor in parts
        if factor != 0
    )


def _prepared(folder: Path) -> Texts:
    def there(*names: str) -> Path | None:
        return next((folder / name for name in names if (folder / name).is_file()), None)

    def needed(*names: str) -> Path:
        path = there(*names)
        if path is None:
            raise CgruError(
                f"{folder}: no {' or '.join(names)}, which `cgru prep` made; run it again"
            )
        return path

    if not folder.is_dir():
        raise CgruError(f"{folder}: no such folder; `cgru prep {folder} ...` makes one")
    check_whole(folder / manifest.FILE)
    if there(manifest.FILE) is None:
        raise CgruError(
            f"{folder}: no {manifest.FILE}, which `cgru prep` writes last; if it was "
            "interrupted, run the same command again"
        )
    source, target = needed("train.src"), needed("train.trg")
    first, last = (
        needed(f"vocab.{side}.json", f"vocab.{side}.spm", "vocab.json", "vocab.spm")
        for side in ("src", "trg")
    )
    factors = sorted(folder.glob("vocab.factor*.json"), key=lambda path: (len(path.name), path))
    dev_source, dev_target = there("dev.src", "dev1.src"), there("dev.trg", "dev1.trg")
    return Texts(
        (Files(source, target),),
        (first, *factors, last),
        (dev_source, dev_target) if dev_source and dev_target else None,
        there("dev.ref", "dev1.ref"),
        there(pipeline.FILE),
    )


def read_vocabularies(texts: Texts, limits: Sequence[int]) -> list[Vocabulary]:
    """Source vocabularies (one per factor), then the target's.

    limits: words to read from each, 0 for all. Raises CgruError for a file that is not a vocabulary
    or whose id of EOS is not 0; UsageError like `limits_of`.
    """
    read = {path: read_vocabulary(path) for path in dict.fromkeys(texts.vocabularies)}
    vocabularies = []
    for path, limit in zip(texts.vocabularies, limits_of(texts, limits), strict=True):
        check_eos(read[path])
        vocabularies.append(read[path].limited(limit) if limit else read[path])
    return vocabularies


def limits_of(texts: Texts, limits: Sequence[int]) -> Sequence[int]:
    """Words to read from each vocabulary, 0 for all. Raises UsageError for a wrong count."""
    count = len(texts.vocabularies)
    if limits and len(limits) != count:
        raise UsageError(f"--dim-vocabs: {len(limits)} numbers for {count} vocabularies")
    return limits or [0] * count


def check_eos(vocabulary: Vocabulary) -> None:
    """Raises CgruError for a vocabulary in which the id of EOS is not 0."""
    if vocabulary.eos_id != EOS_ID:
        raise CgruError(
            f"{vocabulary.path}: the id of EOS is {vocabulary.eos_id}; it must be 0 "
            "(spm_train --eos_id=0 --unk_id=1 --bos_id=-1)"
        )

"""The texts and vocabularies that a training reads."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..corpus.parallel_files import Beside, TsvColumn
from ..errors import CgruError, UsageError, reading
from ..formats.model import PREPROCESSING
from ..formats.vocabulary_files import read_vocabulary
from ..options.flags import flag
from ..options.model import LABELLING
from ..options.train import TrainOptions
from ..parameters.structure import EOS_ID
from ..prep import folder as manifest
from ..system.atomic_files import check_whole
from ..text.vocabulary import Vocabulary
from .tab_separated import columns, fields_of, fields_of_dev_set, is_copy

PREPARED = "preprocess.json"  # in a folder that `cgru prep` made
Text = Path | TsvColumn  # lines of one side: a file, or fields of its lines


@dataclass(frozen=True)
class Texts:
    """The files of a training."""

    sources: tuple[Text, ...]  # () of a language model
    targets: tuple[Text, ...]
    vocabularies: tuple[Path, ...]  # sources (one a factor), then target; () for the model's own
    dev: tuple[Text | None, Text] | None = None
    reference: Path | None = None
    preprocessing: Path | None = None
    beside: Beside = field(default_factory=Beside)

    @classmethod
    def of(cls, options: TrainOptions, folder: str | None) -> Texts:
        """The files that the options name, and those of a prepared folder that they do not name.

        Raises UsageError if the options leave a file out, CgruError for files that cannot be read.
        """
        prepared = _prepared(Path(folder)) if folder else cls((), (), ())
        if not options.has_source:
            prepared = _target_alone(prepared)
            if options.valid_reference:
                raise UsageError("--valid-reference: a language model translates nothing")
        sources, targets = _training_text(options)
        if not targets:
            sources, targets = prepared.sources, prepared.targets
        if not targets:
            example = (
                "--train-sets SRC TRG" if options.has_source else "--type lm --train-sets TEXT"
            )
            raise UsageError(f"name the text: cgru train DATA, or cgru train {example}")
        dev, reference = prepared.dev, prepared.reference
        if options.type in LABELLING:
            reference = None  # labels are compared with those of the dev set
        if valid := _text_to_validate_on(options):
            dev, reference = valid, None
        if options.valid_reference:
            reference = Path(options.valid_reference)
        if reference and dev is None:
            raise UsageError("--valid-reference: name the text to validate on with --valid-sets")
        preprocessing = prepared.preprocessing
        if options.begins_from and options.has_source and preprocessing is None:
            beside = Path(f"{options.begins_from}{PREPROCESSING}")
            preprocessing = beside if beside.is_file() else None
        vocabularies = _vocabularies(options, prepared, sources, targets)
        texts = cls(sources, targets, vocabularies, dev, reference, preprocessing)
        return _with_beside(texts, options).readable()

    def readable(self) -> Texts:
        """Return this object. Raises CgruError for a text that cannot be read."""
        train = (*self.sources, *self.targets, *self.beside.alignments, *self.beside.weights)
        for path in filter(None, (*train, *(self.dev or ()), self.reference)):
            with reading(path), open(path, "rb"):
                pass
        return self


def _target_alone(prepared: Texts) -> Texts:
    """The part of a prepared folder that a language model reads."""
    dev = (None, prepared.dev[1]) if prepared.dev else None
    vocabulary = prepared.vocabularies[-1:]
    return Texts((), prepared.targets, vocabulary, dev, None, prepared.preprocessing)


def _vocabularies(
    options: TrainOptions, prepared: Texts, sources: tuple[Text, ...], targets: tuple[Text, ...]
) -> tuple[Path, ...]:
    """The vocabularies that the options name, or those of the folder, or beside Marian's text."""
    named = tuple(map(Path, options.vocabularies)) or prepared.vocabularies
    named = named or _beside_text(options, *filter(None, (sources[:1], targets[:1])))
    if not named and not options.begins_from:
        if options.has_source:
            raise UsageError("name the vocabularies: -v SRC TRG (`cgru prep` makes them)")
        raise UsageError("name the vocabulary: -v VOCAB (`cgru prep` makes one)")
    if not options.has_source:
        if len(named) > 1:
            raise UsageError("a language model has one vocabulary, and one text to validate on")
    elif options.type in LABELLING:
        if options.valid_reference:
            raise UsageError("--valid-reference: labels are compared with those of --valid-sets")
        if len(named) == 1:
            raise UsageError("name the labels' vocabulary too: -v VOCAB LABELS")
    elif options.condition:
        if len(named) > 2:
            raise UsageError(
                "--condition: name the vocabularies of labels and text (-v LABELS VOCAB); for "
                "vectors of numbers that of the text alone"
            )
    elif len(named) == 1:
        named *= 2
    return named


def _beside_text(options: TrainOptions, *sides: tuple[Text, ...]) -> tuple[Path, ...]:
    """Marian's vocabularies if none are named: FILE.yml of the first text of each side.

    Fields between tabs of one file have one vocabulary. Raises UsageError for standard input.
    """
    if options.compat != "marian" or options.begins_from:
        return ()
    if is_copy(options):
        raise UsageError("standard input: no vocabulary can be beside it; name them: -v SRC TRG")
    beside = []
    for (text,) in sides:
        named = [Path(f"{text}{suffix}") for suffix in (".yml", ".yaml", ".json")]
        beside.append(next((path for path in named if path.exists()), named[0]))
    return tuple(beside)


def _training_text(options: TrainOptions) -> tuple[tuple[Text, ...], tuple[Text, ...]]:
    """The sources and the targets that the options name. Raises UsageError."""
    train = tuple(map(Path, options.train_sets))
    if options.tsv:
        fields = fields_of(options)
        return columns(train, fields, "source"), columns(train, fields, "target")
    if not options.has_source:
        return (), train
    if len(train) % 2:
        raise UsageError(f"--train-sets: {len(train)} files; as many sources as targets expected")
    return train[: len(train) // 2], train[len(train) // 2 :]


def _text_to_validate_on(options: TrainOptions) -> tuple[Text | None, Text] | None:
    """Source and target that the options name. Raises UsageError."""
    valid = tuple(map(Path, options.valid_sets))
    if not valid:
        return None
    if len(valid) > 1 and not options.has_source:
        raise UsageError("a language model has one vocabulary, and one text to validate on")
    if options.tsv:
        if len(valid) > 1:
            raise UsageError(f"--valid-sets: {len(valid)} files; with --tsv one holds both sides")
        fields = fields_of_dev_set(valid[0], fields_of(options))
        source, target = columns(valid, fields, "source"), columns(valid, fields, "target")
        return source[0] if source else None, target[0]
    if not options.has_source:
        return None, valid[0]
    if len(valid) != 2:
        raise UsageError("--valid-sets: a source and a target file are expected")
    return valid[0], valid[1]


def _with_beside(texts: Texts, options: TrainOptions) -> Texts:
    """Add alignments and weights to the files, and drop files with domain weight 0."""
    count = len(texts.targets)
    alignments: tuple[Text, ...] = tuple(map(Path, options.alignments))
    weights: tuple[Text, ...] = tuple(map(Path, options.data_weighting))
    if options.tsv:
        fields, paths = fields_of(options), options.train_sets
        alignments, weights = columns(paths, fields, "alignment"), columns(paths, fields, "weight")
    beside = {
        "guided_alignment": alignments,
        "data_weighting": weights,
        "domain_weights": options.domain_weights,
    }
    for name, values in beside.items():
        if values and len(values) != count:
            raise UsageError(
                f"{flag(TrainOptions, name)}: {len(values)} given; one is expected for each of the "
                f"{count} training texts"
            )
    if not any(options.domain_weights or (1,)):
        raise UsageError("--domain-weights: not all may be 0")
    kept = [weight != 0 for weight in options.domain_weights or [1] * count]

    def without_dropped(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(itertools.compress(values, kept))

    return dataclasses.replace(
        texts,
        sources=without_dropped(texts.sources),
        targets=without_dropped(texts.targets),
        beside=Beside(
            without_dropped(alignments),
            without_dropped(weights),
            options.data_weighting_type == "word",
            without_dropped(options.domain_weights),
            options.right_left,
        ),
    )


def _prepared(folder: Path) -> Texts:
    """The files of a folder that `cgru prep` made."""

    def there(*names: str) -> Path | None:
        return next((folder / name for name in names if (folder / name).is_file()), None)

    if not folder.is_dir():
        raise CgruError(f"{folder}: no such folder; `cgru prep {folder} ...` makes one")
    check_whole(folder / manifest.FILE)
    if there(manifest.FILE) is None:
        raise CgruError(
            f"{folder}: no {manifest.FILE}, which `cgru prep` writes last; if it was "
            "interrupted, run the same command again"
        )

    def needed(*names: str) -> Path:
        path = there(*names)
        if path is None:
            raise CgruError(f"{folder}: no {names[0]}, which `cgru prep` made; run it again")
        return path

    source, target = needed("train.src"), needed("train.trg")
    source_vocabulary, target_vocabulary = (
        needed(f"vocab.{side}.json", f"vocab.{side}.spm", "vocab.json", "vocab.spm")
        for side in ("src", "trg")
    )
    factors = sorted(folder.glob("vocab.factor*.json"))
    dev_source, dev_target = there("dev.src", "dev1.src"), there("dev.trg", "dev1.trg")
    return Texts(
        (source,),
        (target,),
        (source_vocabulary, *factors, target_vocabulary),
        (dev_source, dev_target) if dev_source and dev_target else None,
        there("dev.ref", "dev1.ref"),
        there(PREPARED),
    )


def read_vocabularies(texts: Texts, limits: Sequence[int]) -> list[Vocabulary]:
    """Source vocabularies (one a factor), then the target's.

    limits: words taken of each, 0 for all. Raises CgruError for a file that is not a vocabulary or
    has another id than 0 for EOS; UsageError as `limits_of`.
    """
    read = {path: read_vocabulary(path) for path in dict.fromkeys(texts.vocabularies)}
    vocabularies = []
    for path, limit in zip(texts.vocabularies, limits_of(texts, limits), strict=True):
        check_eos(read[path])
        vocabularies.append(read[path].limited(limit) if limit else read[path])
    return vocabularies


def limits_of(texts: Texts, given: Sequence[int]) -> Sequence[int]:
    """Words taken of each vocabulary, 0 for all. Raises UsageError for more or fewer numbers."""
    count = len(texts.vocabularies)
    if given and len(given) != count:
        raise UsageError(f"--dim-vocabs: {len(given)} numbers for {count} vocabularies")
    return given or [0] * count


def check_eos(vocabulary: Vocabulary) -> None:
    """Raises CgruError for a vocabulary that has another id than 0 for EOS."""
    if vocabulary.eos_id != EOS_ID:
        raise CgruError(
            f"{vocabulary.path}: the id of EOS is {vocabulary.eos_id}; it must be 0 "
            "(spm_train --eos_id=0 --unk_id=1 --bos_id=-1)"
        )

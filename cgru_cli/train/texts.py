"""The texts and vocabularies that a training reads."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..corpus.parallel_files import Beside, PathLike, TsvColumn
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
from . import tab_separated

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
        """The files that the options name, completed from a prepared folder.

        Raises UsageError where files are missing from the command, CgruError from the folder.
        """
        prepared = _prepared(Path(folder)) if folder else None
        read = cls._of_both_sides if options.has_source else _of_target_alone
        return _with_beside(read(options, prepared), options).readable()

    @classmethod
    def _of_both_sides(cls, options: TrainOptions, prepared: Texts | None) -> Texts:
        sources, targets = _training_text(options)
        if not targets:
            if prepared is None:
                raise UsageError("name the text: cgru train DATA, or --train-sets SRC TRG")
            sources, targets = prepared.sources, prepared.targets
        vocabularies = tuple(map(Path, options.vocabularies))
        if prepared is not None:
            vocabularies = vocabularies or prepared.vocabularies
        vocabularies = vocabularies or _beside_text(options, sources[:1], targets[:1])
        if not vocabularies and not options.begins_from:
            raise UsageError("name the vocabularies: -v SRC TRG (`cgru prep` makes them)")
        if options.type in LABELLING:
            if options.valid_reference:
                raise UsageError(
                    "--valid-reference: labels are compared with those of --valid-sets"
                )
            if len(vocabularies) == 1:
                raise UsageError("name the labels' vocabulary too: -v VOCAB LABELS")
        elif options.condition:
            if len(vocabularies) > 2:
                raise UsageError(
                    "--condition: name the vocabularies of labels and text (-v LABELS VOCAB); for "
                    "vectors of numbers that of the text alone"
                )
        elif len(vocabularies) == 1:
            vocabularies *= 2
        dev, reference = (prepared.dev, prepared.reference) if prepared else (None, None)
        if options.type in LABELLING:
            reference = None
        if valid := _text_to_validate_on(options):
            dev, reference = valid, None
        if options.valid_reference:
            reference = Path(options.valid_reference)
        if reference and dev is None:
            raise UsageError("--valid-reference: name the text to validate on with --valid-sets")
        preprocessing = prepared.preprocessing if prepared else None
        if options.begins_from and preprocessing is None:
            beside = Path(f"{options.begins_from}{PREPROCESSING}")
            preprocessing = beside if beside.is_file() else None
        return cls(sources, targets, vocabularies, dev, reference, preprocessing)

    def readable(self) -> Texts:
        """Return this object. Raises CgruError for a text that cannot be read."""
        train = (*self.sources, *self.targets, *self.beside.alignments, *self.beside.weights)
        for path in filter(None, (*train, *(self.dev or ()), self.reference)):
            _check_readable(path)
        return self


def _beside_text(options: TrainOptions, *sides: tuple[Text, ...]) -> tuple[Path, ...]:
    """Marian's vocabularies where none are named: FILE.yml of the first text of each side.

    Fields between tabs of one file have one vocabulary. Raises UsageError for standard input.
    """
    if options.compat != "marian" or options.begins_from:
        return ()
    if tab_separated.is_copy(options):
        raise UsageError("standard input: no vocabulary can be beside it; name them: -v SRC TRG")
    beside = []
    for (text,) in sides:
        named = [Path(f"{text}{suffix}") for suffix in (".yml", ".yaml", ".json")]
        beside.append(next((path for path in named if path.exists()), named[0]))
    return tuple(beside)


def _training_text(options: TrainOptions) -> tuple[tuple[Text, ...], tuple[Text, ...]]:
    """The sources and the targets that the options name. Raises UsageError."""
    train = _named(
        "--train-sets", options.train_sets, options.source_dataset, options.target_dataset
    )
    if options.tsv:
        sides = [tab_separated.Fields.of(options).sides(str(path)) for path in train]
        return (
            tuple(side.source for side in sides if side.source is not None),
            tuple(side.target for side in sides),
        )
    if len(train) % 2:
        raise UsageError(f"--train-sets: {len(train)} files; as many sources as targets expected")
    return train[: len(train) // 2], train[len(train) // 2 :]


def _text_to_validate_on(options: TrainOptions) -> tuple[Text | None, Text] | None:
    """Source and target that the options name. Raises UsageError."""
    valid = _named(
        "--valid-sets",
        options.valid_sets,
        options.valid_source_dataset,
        options.valid_target_dataset,
    )
    if not valid:
        return None
    if options.tsv:
        if len(valid) > 1:
            raise UsageError(f"--valid-sets: {len(valid)} files; with --tsv one holds both sides")
        return tab_separated.Fields.of(options).of_dev_set(str(valid[0]))
    if len(valid) != 2:
        raise UsageError("--valid-sets: a source and a target file are expected")
    return valid[0], valid[1]


def _of_target_alone(options: TrainOptions, prepared: Texts | None) -> Texts:
    """The files of a language model's training: of a prepared folder, the target's."""
    for name in ("source_dataset", "valid_source_dataset", "valid_reference"):
        if getattr(options, name):
            raise UsageError(
                f"{flag(TrainOptions, name)}: a language model reads no source and translates none"
            )
    if prepared is None:
        prepared = Texts((), (), ())
    targets: tuple[Text, ...] = tuple(
        map(Path, options.train_sets or filter(None, (options.target_dataset,)))
    )
    vocabularies = tuple(map(Path, options.vocabularies)) or prepared.vocabularies[-1:]
    valid = options.valid_sets or tuple(filter(None, (options.valid_target_dataset,)))
    if len(vocabularies) > 1 or len(valid) > 1:
        raise UsageError("a language model has one vocabulary, and one text to validate on")
    targets = targets or prepared.targets
    if not targets:
        raise UsageError("name the text: cgru train DATA --type lm, or --train-sets TEXT")
    vocabularies = vocabularies or _beside_text(options, targets[:1])
    if not vocabularies and not options.begins_from:
        raise UsageError("name the vocabulary: -v VOCAB (`cgru prep` makes one)")
    dev: tuple[Text | None, Text] | None = prepared.dev and (None, prepared.dev[1])
    if valid:
        dev = (None, Path(valid[0]))
    if options.tsv:
        fields = tab_separated.Fields.of(options)
        targets = tuple(fields.sides(str(path)).target for path in targets)
        dev = fields.of_dev_set(valid[0]) if valid else dev
    return Texts((), targets, vocabularies, dev, None, prepared.preprocessing)


def _with_beside(texts: Texts, options: TrainOptions) -> Texts:
    """The files with alignments and weights, without files of domain weight 0."""
    count = len(texts.targets)
    alignments: tuple[Text, ...] = tuple(map(Path, options.alignments))
    weights: tuple[Text, ...] = tuple(map(Path, options.data_weighting))
    if options.tsv:
        fields = tab_separated.Fields.of(options)
        files = list(map(str, texts.targets if options.train_sets else ()))
        if fields.alignment is not None:
            alignments = tuple(fields.column(path, fields.alignment) for path in files)
        if fields.weight is not None:
            weights = tuple(fields.column(path, fields.weight) for path in files)
    beside = {
        "guided_alignment": alignments,
        "data_weighting": weights,
        "domain_weights": options.domain_weights,
    }
    for name, values in beside.items():
        if values and len(values) != count:
            raise UsageError(
                f"{flag(TrainOptions, name)}: {len(values)} given; one is expected for each "
                f"training text, of which there are {count}"
            )
    if not any(options.domain_weights or (1,)):
        raise UsageError("--domain-weights: not all may be 0")
    kept = [weight != 0 for weight in options.domain_weights or [1] * count]

    def of_kept(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(itertools.compress(values, kept))

    return dataclasses.replace(
        texts,
        sources=of_kept(texts.sources),
        targets=of_kept(texts.targets),
        beside=Beside(
            of_kept(alignments),
            of_kept(weights),
            options.data_weighting_type == "word",
            of_kept(options.domain_weights),
            options.right_left,
        ),
    )


def _named(
    option: str, together: Sequence[str], source: str | None, target: str | None
) -> tuple[Path, ...]:
    """Files that one option names, or two more, one for each side."""
    if source is None and target is None:
        return tuple(map(Path, together))
    if together or source is None or target is None:
        each = "--" if option == "--train-sets" else "--valid-"
        raise UsageError(
            f"{each}source-dataset and {each}target-dataset go together, and without {option}"
        )
    return Path(source), Path(target)


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


def _check_readable(path: PathLike) -> None:
    """Raises CgruError for a text that cannot be read, before any other is used."""
    with reading(path), open(path, "rb"):
        pass


def read_vocabularies(texts: Texts, limits: Sequence[int]) -> list[Vocabulary]:
    """Source vocabularies (one a factor), then the target's.

    limits: words taken of each, 0 for all. Raises CgruError for what is no vocabulary, or ends
    sentences by another id than 0, which all models of this family do; UsageError as `limits_of`.
    """
    read = {path: read_vocabulary(path) for path in dict.fromkeys(texts.vocabularies)}
    vocabularies = []
    for path, limit in zip(texts.vocabularies, limits_of(texts, limits), strict=True):
        check_eos(read[path])
        vocabularies.append(read[path].limited(limit) if limit else read[path])
    return vocabularies


def limits_of(texts: Texts, given: Sequence[int]) -> Sequence[int]:
    """Words taken of each vocabulary, 0: all. Raises UsageError for more or fewer numbers."""
    count = len(texts.vocabularies)
    if given and len(given) != count:
        raise UsageError(f"--dim-vocabs: {len(given)} numbers for {count} vocabularies")
    return given or [0] * count


def check_eos(vocabulary: Vocabulary) -> None:
    """Raises CgruError for a vocabulary that ends sentences by another id than 0."""
    if vocabulary.eos_id != EOS_ID:
        raise CgruError(
            f"{vocabulary.path}: ends sentences by id {vocabulary.eos_id}; id 0 is needed "
            "(spm_train --eos_id=0 --unk_id=1 --bos_id=-1)"
        )

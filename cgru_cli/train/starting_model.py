"""The model before training: a new or an existing model."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path

from ..corpus.corpus import Corpus
from ..corpus.parallel_files import PathLike, text_lines
from ..errors import CgruError, UsageError, warn
from ..formats import model_vocabularies, read_model
from ..formats.model import Model, ModelSettings
from ..formats.vocabulary_files import read_vocabulary
from ..options.flags import flag
from ..options.model import LABELLING
from ..options.train import TrainOptions
from ..parameters.initialization import initial_arrays, output_bias
from ..parameters.names import name_at
from ..parameters.structure import Condition, Type
from ..system.lines import tokens
from ..system.signals import interruptible
from ..text.labels import check_labels, condition_columns
from ..text.vocabulary import Vocabulary
from . import word_vectors
from .memory import check_model
from .plan import Request
from .structure_from_options import (
    check_effects,
    new_structure,
    options_of,
    own_name,
    with_sizes,
)
from .texts import Texts, check_eos, read_vocabularies


def make_starting_model(
    options: TrainOptions, texts: Texts
) -> tuple[Model, list[Vocabulary], list[str]]:
    """A new or a trained model, its vocabularies, and lines for the log.

    The vocabularies are those of the sources (one per factor), then the target's. Raises CgruError
    for files that cannot be read or do not fit the model; UsageError for options that exclude each
    other.
    """
    model, vocabularies = undrawn_model(Request(options), texts)
    return model, vocabularies, draw(model, vocabularies, options)


def undrawn_model(request: Request, texts: Texts) -> tuple[Model, list[Vocabulary]]:
    """The model, without arrays if it is new, because sizes may depend on the encoded text."""
    options = request.options
    path = Path(options.model or "")
    if options.begins_from is None:
        vocabularies = read_vocabularies(texts, options.dim_vocabs)
        if options.type in LABELLING:
            check_labels(vocabularies[-1])
        numbers = 0
        if options.condition and len(vocabularies) == 2:
            check_labels(vocabularies[0])
        elif options.condition:
            numbers = _numbers_of_vectors(texts.sources[0])
        structure = new_structure(options, vocabularies, numbers)
        model = Model(path, structure, {}, "nematus", "npz")
        model.settings.source_reversed = options.right_left and options.compat == "marian"
    else:
        # with fixed defaults, files may name options that the model determines
        explicit = (request.explicit or ()) if request.data_decides else ()
        trained = read_model.read(options.begins_from)
        model, vocabularies = _pretrained(trained, path, options, texts, explicit)
    model.settings.right_left = options.right_left
    kind = model.structure.type
    if options.alignments and not kind.attends:
        raise UsageError(f"--guided-alignment: {kind} has no attention to guide")
    if kind.writes_text:
        model.settings.beam_size, model.settings.normalize = options.beam_size, options.length_power
    return model, vocabularies


def draw(
    model: Model,
    vocabularies: Sequence[Vocabulary],
    options: TrainOptions,
    corpus: Corpus | None = None,
) -> list[str]:
    """Draw the arrays of a new model, and insert word vectors; returns lines for the log.

    The options determine the sizes. corpus: its words determine the output's bias with --init
    scaled. Raises CgruError for models and vectors that do not fit.
    """
    if options.begins_from is None:
        structure = model.structure = with_sizes(model.structure, options)
        check_model(structure, options)
        model.arrays |= interruptible(  # gigabytes of random numbers take a while
            lambda: initial_arrays(structure, options.init, options.seed, options.lstm_forget_bias)
        )
        if corpus and options.init == "scaled":
            name = name_at("decoder/output/b", structure)
            counts = corpus.target_counts(structure.target_vocabulary)
            model.arrays[name] = output_bias(counts[-len(model.arrays[name]) :])
    if not options.embedding_vectors:
        return []
    return word_vectors.place(model, vocabularies, options.embedding_vectors)


def _pretrained(
    trained: Model, path: Path, options: TrainOptions, texts: Texts, explicit: Collection[str]
) -> tuple[Model, list[Vocabulary]]:
    """A trained model to start from; path: the file that training will write."""
    kind = trained.structure.type
    if trained.settings.right_left != options.right_left:
        ways = {True: "right to left", False: "left to right"}
        raise UsageError(
            f"{trained.path} writes sentences {ways[trained.settings.right_left]}; "
            f"{'leave out' if options.right_left else 'add'} --right-left"
        )
    if kind is Type.LM and options.type != "lm":
        raise UsageError(f"{trained.path} is a language model; --type lm trains it on one text")
    if not kind.writes_text and options.type != kind:
        raise UsageError(f"{trained.path} is a {kind}; --type {kind} trains it on text and labels")
    condition = trained.structure.condition
    if condition is not Condition.NONE and not options.condition:
        raise UsageError(
            f"{trained.path} generates text from a {condition}; --condition trains it on "
            f"{condition}s and text"
        )
    _check_structure(options, trained, explicit)
    vocabularies = model_vocabularies.find(trained, options.vocabularies)
    for vocabulary in vocabularies:
        check_eos(vocabulary)
    if texts.vocabularies and not options.vocabularies:
        _check_prepared(vocabularies, texts, trained)
    settings = ModelSettings(
        program=trained.settings.program, source_reversed=trained.settings.source_reversed
    )
    model = dataclasses.replace(
        trained, path=path, container="npz", inert={}, origin={}, settings=settings
    )
    return model, vocabularies


def _numbers_of_vectors(text: PathLike) -> int:
    """Count the numbers in the first line. Raises CgruError if the line is not a vector."""
    first = next(text_lines(text), "")
    count = len(tokens(first))
    try:
        condition_columns(first, (), max(count, 1))
    except CgruError as error:
        raise CgruError(
            f"{text}: line 1: {error}; labels need their own vocabulary (-v LABELS VOCAB)"
        ) from None
    return count


def _check_prepared(vocabularies: Sequence[Vocabulary], texts: Texts, trained: Model) -> None:
    prepared = {read_vocabulary(path).fingerprint for path in texts.vocabularies}
    for vocabulary in vocabularies:
        if vocabulary.fingerprint not in prepared:
            warn(
                f"{trained.path}: its vocabulary {vocabulary.path} is not one of "
                f"{texts.vocabularies[0].parent}; words missing from it are unknown"
            )


def _check_structure(options: TrainOptions, trained: Model, explicit: Collection[str]) -> None:
    values = options_of(trained.structure)
    if options.dec_cell:  # --cell is then the encoder's
        values["cell"] = values.get("enc_cell", values["cell"])
    for name, value in values.items():
        option = own_name(name, getattr(options, name))
        if option != value and (option != getattr(TrainOptions, name) or name in explicit):
            raise UsageError(
                f"{flag(TrainOptions, name)} {option}: {trained.path} has {value}, which "
                "--pretrained-model keeps"
            )
    check_effects(options, trained.structure)
    sizes = trained.structure.vocabularies
    for limit, size in zip(options.dim_vocabs, sizes, strict=False):
        if 0 < limit < size:  # a larger limit keeps all words
            raise UsageError(
                f"--dim-vocabs {' '.join(map(str, options.dim_vocabs))}: {trained.path} has "
                f"{' '.join(map(str, sizes))}, which --pretrained-model keeps"
            )

"""The model that a training begins with: a new one as the options describe it, or a given one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from . import model_file, model_vocabularies, word_vectors
from .errors import CgruError, UsageError, warn
from .initialization import initial_arrays
from .model_file import Model
from .settings import Settings
from .structure import Activation, Normalization, Structure
from .train_options import TrainOptions
from .training_data import Texts, check_eos, read_vocabularies
from .training_plan import flag
from .vocabulary import Vocabulary, read_vocabulary


class Beginning(NamedTuple):
    """A model before its first update, its vocabularies, and what there is to say of it."""

    model: Model
    vocabularies: list[Vocabulary]  # sources (one a factor), then target
    notes: list[str]


def begin(options: TrainOptions, texts: Texts) -> Beginning:
    """The model that training begins with.

    Raises CgruError for files that cannot be read or are none of this model; UsageError for
    options that exclude each other.
    """
    if options.pretrained_model is None:
        vocabularies = read_vocabularies(texts, options.dim_vocabs)
        structure = new_structure(options, vocabularies)
        arrays = initial_arrays(structure, options.init, options.seed)
        model = Model(Path(options.model), structure, arrays, "nematus", "npz")
    else:
        model, vocabularies = _pretrained(options, texts)
    model.settings.beam_size, model.settings.normalize = options.beam_size, options.normalize
    notes = []
    if options.embedding_vectors:
        notes = word_vectors.place(model, vocabularies, options.embedding_vectors)
    return Beginning(model, vocabularies, notes)


def _pretrained(options: TrainOptions, texts: Texts) -> tuple[Model, list[Vocabulary]]:
    """A model that was trained before, as the first of this training."""
    given = model_file.read(options.pretrained_model)
    if given.settings.right_left:
        raise CgruError(
            f"{given.path}: writes from right to left; models are trained left to right here"
        )
    _check_structure(options, given)
    vocabularies = model_vocabularies.find(given, options.vocabularies)
    for vocabulary in vocabularies:
        check_eos(vocabulary)
    if texts.vocabularies and not options.vocabularies:
        _check_prepared(vocabularies, texts, given)
    model = dataclasses.replace(
        given,
        path=Path(options.model),
        container="npz",
        inert={},
        origin={},
        settings=Settings(program=given.settings.program),
    )
    return model, vocabularies


def _check_prepared(vocabularies: Sequence[Vocabulary], texts: Texts, given: Model) -> None:
    """Warn where text was prepared for other vocabularies than the model's, which are taken."""
    prepared = {read_vocabulary(path).fingerprint for path in texts.vocabularies}
    for vocabulary in vocabularies:
        if vocabulary.fingerprint not in prepared:
            warn(
                f"{given.path}: its vocabulary {vocabulary.path} is not one of "
                f"{texts.vocabularies[0].parent}; words of the text that it lacks are unknown"
            )


def _check_structure(options: TrainOptions, given: Model) -> None:
    """Refuse options that describe another model than the one that is begun from."""
    default = TrainOptions()
    for name in ("init", "dim_vocabs"):
        if getattr(options, name) != getattr(default, name):
            raise UsageError(f"{flag(name)} is for new models, not for --pretrained-model")
    for name, value in structure_options(given.structure).items():
        asked = getattr(options, name)
        if asked not in (getattr(default, name), value):
            raise UsageError(
                f"{flag(name)} {asked}: {given.path} has {value}, which --pretrained-model keeps"
            )


def new_structure(options: TrainOptions, vocabularies: Sequence[Vocabulary]) -> Structure:
    """The structure that the options describe. Raises UsageError for one that cannot be."""
    *sources, target = (vocabulary.size for vocabulary in vocabularies)
    widths = options.dim_factors or ((options.dim_emb,) if len(sources) == 1 else ())
    if len(widths) != len(sources) or sum(widths) != options.dim_emb:
        raise UsageError(
            f"--dim-factors: {len(sources)} widths that add up to --dim-emb {options.dim_emb} "
            "are needed"
        )
    if options.dec_cell_base_depth < 2:
        raise UsageError("--dec-cell-base-depth: the conditional GRU has at least 2 cells")
    for name in (
        "dim_emb", "dim_rnn", "enc_depth", "enc_cell_depth", "dec_depth", "dec_cell_high_depth",
        "mixture",
    ):  # fmt: skip
        if getattr(options, name) < 1:
            raise UsageError(f"{flag(name)} must be at least 1")
    shared = options.tied_embeddings_all or options.tied_embeddings_src
    if shared and (len(sources) > 1 or vocabularies[0].fingerprint != vocabularies[-1].fingerprint):
        raise UsageError("one embedding for both sides needs one vocabulary for both")
    return Structure(
        source_vocabularies=tuple(sources),
        source_embeddings=tuple(widths),
        target_vocabulary=target,
        target_embedding=options.dim_emb,
        state=options.dim_rnn,
        encoder_depth=options.enc_depth,
        encoder_transition=options.enc_cell_depth,
        decoder_depth=options.dec_depth,
        decoder_base_transition=options.dec_cell_base_depth,
        decoder_high_transition=options.dec_cell_high_depth,
        deep_context=options.deep_context,
        residual=not options.no_skip,
        normalization=(
            Normalization.NEMATUS if options.layer_normalization else Normalization.NONE
        ),
        weight_normalization=options.weight_normalization,
        tied_output=options.tied_embeddings or options.tied_embeddings_all,
        shared_embeddings=shared,
        readout_activation=Activation(options.readout_activation),
        mixture=options.mixture,
        lexical=options.lexical,
    )


def structure_options(structure: Structure) -> dict[str, Any]:
    """The options that describe a structure, by field name: the reverse of `new_structure`."""
    s = structure
    return {
        "dim_emb": s.target_embedding,
        "dim_rnn": s.state,
        "dim_factors": s.source_embeddings,
        "enc_depth": s.encoder_depth,
        "enc_cell_depth": s.encoder_transition,
        "dec_depth": s.decoder_depth,
        "dec_cell_base_depth": s.decoder_base_transition,
        "dec_cell_high_depth": s.decoder_high_transition,
        "deep_context": s.deep_context,
        "no_skip": not s.residual,
        "layer_normalization": s.normalization is Normalization.NEMATUS,
        "weight_normalization": s.weight_normalization,
        "tied_embeddings": s.tied_output,
        "tied_embeddings_src": s.shared_embeddings,
        "tied_embeddings_all": s.tied_output and s.shared_embeddings,
        "readout_activation": s.readout_activation.value,
        "mixture": s.mixture,
        "lexical": s.lexical,
    }

"""The plan of a translation, from the options, the model's program and its configuration."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..documents.sentences import Sentences
from ..errors import CgruError, UsageError, at
from ..formats.loaded_model import (
    LoadedModel,
    Reading,
    check_attention,
    check_ensemble,
    preprocessing_of,
)
from ..formats.model import ModelSettings
from ..formats.shortlist import Shortlist
from ..options import kinds
from ..options.feature_weights import ensemble_weights, model_weights
from ..options.flags import statements
from ..options.scope import Scope
from ..options.translate import TranslateOptions
from ..output.layout import Layout
from ..output.layouts import layout_of
from ..parameters.program import (
    PROGRAMS,
    Program,
    ProgramDefaults,
    label_limit,
    marian_limit,
    nematus_limit,
    reads_as,
)
from ..system.lines import tokens
from ..text.copying import Copying, known_placeholders
from ..text.pipeline import Preprocessing
from ..text.source_words import characters
from ..text.unknown_words import read_lexicon
from .noisy_channel import NoisyChannel
from .shortlists import shortlists

if TYPE_CHECKING:
    from ..search.settings import Sampling, SearchSettings

MBR_SAMPLING = "epsilon 0.02"  # Freitag et al. 2023, "Epsilon Sampling Rocks"
TEXT_LIMIT = 200  # maximum words that a language model writes, as for Nematus' translations


class SearchPlan:
    """The options of `cgru translate`, and the settings derived from them for these models."""

    def __init__(
        self,
        options: TranslateOptions,
        models: Sequence[LoadedModel],
        base: SearchPlan | None = None,
    ):
        """base: another plan for these models, to reuse its files.

        Raises CgruError if the models cannot form an ensemble or do not support an option,
        UsageError for options that exclude each other.
        """
        from ..search.settings import SearchSettings

        check_ensemble(models)
        first = models[0]
        program = PROGRAMS[options.compat or first.model.written_by]
        self.options = options
        # Nematus-TF's search requires --compat nematus-tf
        self.search = program.search if options.compat else "shrinking"
        sampling = _sampling(options, models)
        _check_options(options, models, self.search, sampling)
        beam_size, normalize, penalty = ranking(options, models, program)
        self.reading: Reading = base.reading if base else _reading(options, models)
        # spans that translations copy, and the models' number of placeholders per line
        self.copying, self.placeholders = _copying(options, models, self.reading, self.search)
        sums = options.compat is not None and program.sums
        self.weights, channel_weights = _weights(options, sums=sums)
        self.layout = _layout(options, models, beam_size, normalize)
        self.unk = program.unk if options.compat else None
        no_unk = options.suppress_unk or not (program.allow_unk or options.allow_unk)
        attends = self.layout.alignment is not None or options.unk_replace or options.heatmap
        attends = attends or options.markup
        self.settings = SearchSettings(
            beam_size,
            normalize,
            penalty,
            unk=first.target.unk_id if no_unk else None,
            with_alignment=bool(attends),
            # a heat map of an ensemble is the mean's
            first_aligns=bool(options.compat) and program.first_aligns and not options.heatmap,
            sampling=sampling,
            utility=options.mbr_utility if options.mbr else None,
            prefix_bias=options.prefix_bias,
        )
        self.channel: NoisyChannel | None = None
        if base and base.channel:
            self.channel = base.channel.following(self.settings)
        elif channel_weights:
            self.channel = NoisyChannel(
                options, models, self.reading, channel_weights, self.settings
            )
        # maximum length of a translation, given the length of its source (both with EOS)
        self.limit = _limit(options, models, program)
        # allowed words: one shortlist for each model that reads text, or no shortlists
        self.shortlists: tuple[Shortlist, ...] = (
            base.shortlists if base else shortlists(options, models)
        )
        # whether the lines of a mini-batch share their allowed words, as in Marian
        self.shared_shortlist = bool(options.shortlist) and options.mini_batch is not None
        # translations of the source words that replace unknown words
        self.lexicon: dict[str, str] | None = base.lexicon if base else None
        if options.lexicon and base is None:
            self.lexicon = read_lexicon(options.lexicon)
        # whether hypotheses keep offsets, which places of marks need
        self.offsets = bool(options.markup)
        # splits lines into sentences, with --split-sentences
        self.sentences = _sentences(options.split_sentences, models)
        self.mini_batch = options.mini_batch or program.mini_batch
        self.maxi_batch = options.maxi_batch or (1 if self.shared_shortlist else program.maxi_batch)

    @property
    def batches_decide(self) -> bool:
        """Whether to form mini-batches as the program does: their lines affect each other."""
        return self.search == "nematus-tf" or self.shared_shortlist

    def ending_early(self, settings: SearchSettings) -> SearchSettings:
        """The settings to search only for the best translation, which may end sooner."""
        certain = min(self.weights) >= 0 and settings.utility is None
        return dataclasses.replace(settings, best_only=certain)


def _check_options(
    options: TranslateOptions, models: Sequence[LoadedModel], search: str, sampling: Sampling | None
) -> None:
    """Raises UsageError for options that do not apply to these models, or to this search."""
    first = models[0]
    if not first.writes_text:
        options.refuse(
            Scope.DECODER,
            f"{first.model.path} is a {first.model.structure.type}, which predicts labels and "
            "writes no text",
        )
    if sampling and any(loaded.model.structure.crf for loaded in models):
        raise UsageError("--output-sampling: tags of a CRF cannot be sampled")
    if sampling and set(options.copy) - {"none"}:
        raise UsageError(
            "--copy: sampling cannot force the spans into translations; add --mbr-n-best "
            "to --mbr, or leave out --output-sampling"
        )
    check_attention(models, any(options.changed(Scope.ATTENTION)))
    if options.max_length_factor and not any(loaded.reads_words for loaded in models):
        raise UsageError(
            "--max-length-factor: a language model has no source text; use --translation-maxlen"
        )
    if options.force_decode and first.right_left:
        raise UsageError("--force-decode: this model writes sentences right to left")
    if search == "nematus-tf":
        options.refuse(Scope.OWN_SEARCH, "the search of Nematus-TF does not support it")
    if options.markup and not (first.writes_text and first.reads_words and len(first.sources) == 1):
        raise UsageError(f"--markup: {first.model.path} does not translate plain text")
    for loaded in models if options.char_level else ():
        pieces = loaded.sources and loaded.sources[0].processor is not None
        if (pieces and not options.no_spm_encode) or not loaded.reads_words:
            what = "SentencePiece splits its source" if pieces else "it reads no source text"
            raise UsageError(f"--char-level: {loaded.model.path}: {what}")


def ranking(
    options: TranslateOptions,
    models: Sequence[LoadedModel],
    program: ProgramDefaults,
) -> tuple[int, float, float]:
    """Beam size, alpha of the length normalisation, and word penalty.

    Options override the model's configuration, which overrides the program's defaults. Raises
    CgruError for a value in a configuration that is out of the option's range.
    """
    model = models[0].model
    configured = ModelSettings() if options.compat else model.settings
    # a beam finds no better labels, except in an ensemble with CRFs
    crfs = len(models) > 1 and any(loaded.model.structure.crf for loaded in models)
    greedy = not (models[0].writes_text or crfs or options.n_best)
    # Nematus-TF draws as many samples as hypotheses, and prints the best one
    one_sample = options.output_sampling and options.compat != Program.NEMATUS_TF
    default_beam = 1 if one_sample or greedy else configured.beam_size
    default_alpha = 1.0 if options.channel_model else configured.normalize  # as in Yee et al.
    beam_size = _first(options.mbr, options.beam_size, default_beam, program.beam_size)
    normalize = _first(options.normalize, default_alpha, program.normalize)
    for name, value in (("beam_size", beam_size), ("normalize", normalize)):
        try:
            statements(TranslateOptions)[name][0].check(value)
        except ValueError as error:
            raise CgruError(f"{model.path}: its configuration: {name} {error}") from None
    return beam_size, normalize, _first(options.word_penalty, configured.word_penalty, 0.0)


def _first(*values: Any) -> Any:
    """The first value that is not None."""
    return next(value for value in values if value is not None)


def _reading(options: TranslateOptions, models: Sequence[LoadedModel]) -> Reading:
    """How lines become words. Raises UsageError for options that preprocessing makes redundant."""
    replacing = {
        "--bpe": options.bpe is not None,
        "--join-bpe": options.join_bpe,
        "--no-spm-encode": options.no_spm_encode,
        "--no-spm-decode": options.no_spm_decode,
    }
    preprocessing = None if options.no_preprocess else preprocessing_of(models, replacing)
    if options.bpe is not None:
        for loaded in models:
            if loaded.target.processor is not None:
                raise UsageError(f"--bpe: SentencePiece splits the words of {loaded.model.path}")
        preprocessing = Preprocessing.of_codes(options.bpe, undone=options.join_bpe)
    reads = reads_as(options.compat)
    split = characters if options.char_level else lambda line: tokens(reads(line))
    return Reading(preprocessing, not options.no_spm_encode, options.max_length, split)


def _copying(
    options: TranslateOptions, models: Sequence[LoadedModel], reading: Reading, search: str
) -> tuple[Copying | None, int]:
    """The spans to copy, None for no copying, and the number of placeholders of the models.

    Raises UsageError for models that do not translate plain text.
    """
    patterns = [name for name in options.copy if name != "none"]
    if patterns and "none" in options.copy:
        raise UsageError("--copy: none stands alone")
    if not options.copy and reading.preprocessing:
        patterns = [*reading.preprocessing.settings.copy]
    sources = [loaded.sources for loaded in models if loaded.reads_words]
    if not patterns and not options.copy:
        return None, 0
    if not sources or not models[0].writes_text or max(map(len, sources)) > 1:
        if patterns and options.copy:
            raise UsageError(f"--copy: {models[0].model.path} does not translate plain text")
        return None, 0
    known = known_placeholders(models[0].target, *(source for source, *_ in sources))
    if not (patterns or known):
        return None, 0
    if options.copy and not known and search == "nematus-tf":
        raise UsageError(
            "--copy: this model has no placeholders, and Nematus-TF's search no constraints"
        )
    return Copying(patterns), known  # without patterns, no placeholder may be written


def _weights(
    options: TranslateOptions, *, sums: bool
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The weights of the models, and of the channel and language model of a noisy channel.

    Raises UsageError for a wrong number of weights, and if all models have weight zero.
    """
    count = len(options.model)
    if not options.channel_model:
        return ensemble_weights(options.weights, options.model, sums=sums), ()
    if not options.weights:
        return ensemble_weights((), options.model, sums=sums), (1.0, 1.0)
    lm = [options.lm] if options.lm else []
    every = model_weights(options.weights, (*options.model, options.channel_model, *lm))
    if not any(every[:count]):
        raise UsageError("--weights: all translation models have weight zero")
    return every[:count], (*every[count:], 1.0)[:2]


def _sentences(language: str | None, models: Sequence[LoadedModel]) -> Sentences | None:
    """Raises UsageError for models that read no plain text, CgruError without sentencex."""
    if language is None:
        return None
    for loaded in models:
        if not loaded.reads_words or len(loaded.sources) > 1:
            raise UsageError(f"--split-sentences: {loaded.model.path} reads no plain source text")
    source, target = models[0].languages or ("", "")
    with at("--split-sentences"):
        return Sentences(source if language == "auto" else language, target)


def _limit(
    options: TranslateOptions, models: Sequence[LoadedModel], program: ProgramDefaults
) -> Callable[[int], int]:
    """The maximum length of a translation, as a function of its source's length."""
    longest = options.translation_maxlen
    if not models[0].writes_text:
        return label_limit
    if options.max_length_factor:  # Nematus writes 0 for its own limit
        by_factor = nematus_limit if options.compat == Program.NEMATUS else marian_limit
        limit = functools.partial(by_factor, factor=options.max_length_factor)
        return limit if longest is None else lambda length: min(limit(length), longest)
    if longest is not None:
        return lambda _length: longest
    if any(loaded.reads_words for loaded in models):
        return program.limit
    return lambda _length: TEXT_LIMIT


def _layout(
    options: TranslateOptions, models: Sequence[LoadedModel], beam_size: int, normalize: float
) -> Layout:
    alignment = options.alignment and kinds.alignment(options.alignment)
    kind = options.alignment_format
    if alignment is None and (kind or options.output_alignment):
        alignment = "soft"
    if options.output_alignment and kind is None:
        kind = "nematus"
    return layout_of(
        options.compat or Program.CGRU,
        n_best=options.n_best,
        word_scores=options.word_scores,
        alignment=alignment,
        alignment_format=kind,
        right_left=models[0].right_left,
        source_reversed=any(loaded.source_reversed for loaded in models),
        beam_size=beam_size,
        normalize=normalize != 0,
        shown=options.n_best_size,
        probabilities=not models[0].writes_text,
    )


def _sampling(options: TranslateOptions, models: Sequence[LoadedModel]) -> Sampling | None:
    """The settings of sampling; None for a search."""
    from ..search.settings import Sampling

    kind = options.output_sampling
    if kind is None and (not options.mbr or options.mbr_n_best):
        return None
    values = kinds.sampling(kind or MBR_SAMPLING)
    if values.get("top", 0) >= models[0].model.structure.target_vocabulary:
        del values["top"]  # the same as sampling from all words, but faster
    return Sampling(**values, seed=options.seed)

"""How to search, decided from the options, the model's program and its configuration."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

from ..errors import CgruError, UsageError
from ..formats.loaded_model import (
    LoadedModel,
    Reading,
    check_attention,
    check_ensemble,
    preprocessing_of,
)
from ..formats.model import Model, ModelSettings
from ..formats.shortlist import Shortlist
from ..options import kinds
from ..options.feature_weights import ensemble_weights, model_weights
from ..options.flags import flag, statements
from ..options.kinds import ShortlistNumbers, sampling, shortlist
from ..options.translate import TranslateOptions
from ..output.layout import Layout
from ..output.layouts import layout_of
from ..parameters.program import PROGRAMS, Program, ProgramDefaults, label_limit, marian_limit
from ..system.lines import tokens
from ..text.pipeline import Preprocessing
from ..text.source_words import characters
from ..text.unknown_words import read_lexicon
from .noisy_channel import NoisyChannel
from .phrases import Form

TEXT_LIMIT = 200  # words of a text that a language model writes, as Nematus' of a translation


class SamplingPlan(NamedTuple):
    """The settings of sampling, as fields of `search.sampling.Sampling`."""

    temperature: float
    top: int | None  # draw from so many most probable words, None from all
    seed: int


@dataclass(frozen=True)
class SearchPlan:
    """Everything about the search, decided; nothing below this reads options.

    limit: the most words of a translation, from the words of its source (both with EOS).
    shortlists: of the words to choose from, one for each model that reads a source, or none;
    shared_shortlist: whether the lines of a mini-batch have the words of all of them, as in
    Marian, else each line has its own.
    force_decode: lines are `source TAB beginning of the translation`; constraints: the form in
    which they name phrases; avoid: a file of phrases that no translation may have; fields: so many
    at most, None where tabs are text. reading: how lines become words. decode_pieces, join_bpe: how
    words become text again. layout: how the results are
    printed. with_alignment: whether the attention is kept; of_members: whether that of each model
    of an ensemble can be asked for. channel: what ranks translations besides the models.
    workspace: MiB that a batch may take beside the model.
    """

    search: Literal["shrinking", "nematus-tf"]
    beam_size: int
    normalize: float
    word_penalty: float
    suppress_unk: bool
    weights: tuple[float, ...]
    limit: Callable[[int], int]
    shortlists: tuple[Shortlist, ...]
    shared_shortlist: bool
    sampling: SamplingPlan | None
    force_decode: bool
    constraints: Form | None
    avoid: str | None
    fields: int | None
    reading: Reading
    decode_pieces: bool
    join_bpe: bool
    unk_replace: bool
    lexicon: Mapping[str, str] | None
    layout: Layout
    with_alignment: bool
    of_members: bool
    channel: NoisyChannel | None
    mini_batch: int
    maxi_batch: int
    sort_lines: bool
    workspace: int
    precision: str

    @classmethod
    def of(cls, options: TranslateOptions, models: Sequence[LoadedModel]) -> SearchPlan:
        """Decide all.

        Raises CgruError where the models make no ensemble or lack what is asked for, UsageError
        for options that exclude each other.
        """
        check_ensemble(models)
        gives_labels = not models[0].writes_text
        if gives_labels:
            _check_of_labels(options, models[0])
        compat = options.compat
        defaults = PROGRAMS[compat] if compat else PROGRAMS[models[0].model.written_by]
        beside = ModelSettings() if compat else models[0].model.settings
        sampled = options.output_sampling or options.translation_strategy == "sampling"
        crf = any(loaded.model.structure.crf for loaded in models)
        if sampled and crf:
            raise UsageError("--output-sampling: the tags of a CRF are searched for, not drawn")

        def first(*values, default):
            return next((value for value in values if value is not None), default)

        check_attention(models, _needs_attention(options))
        preprocessing = None if options.no_preprocess else preprocessing_of(models, _asked(options))
        if options.bpe is not None:
            preprocessing = Preprocessing.of_codes(options.bpe, undone=options.join_bpe)
        alone = len(models) == 1 or not crf
        if gives_labels and alone and not (options.n_best or sampled):
            beside = dataclasses.replace(beside, beam_size=1)  # no beam finds better ones
        beam_size = first(
            options.beam_size, 1 if sampled else beside.beam_size, default=defaults.beam_size
        )
        normalize = first(options.normalize, beside.normalize, default=defaults.normalize)
        if options.channel_model and options.normalize is None:
            normalize = 1.0  # as Yee et al. have it
        penalty = first(options.word_penalty, beside.word_penalty, default=0.0)
        mini_batch = first(options.mini_batch, default=defaults.mini_batch)
        shared_shortlist = bool(options.shortlist) and options.mini_batch is not None
        maxi_batch = first(
            options.maxi_batch, default=1 if shared_shortlist else defaults.maxi_batch
        )
        for name, value in (("beam_size", beam_size), ("normalize", normalize)):
            _check(name, value, models[0].model)
        reads_words = any(loaded.reads_words for loaded in models)
        # Nematus-TF's search is done only where its output is asked for.
        search = defaults.search if compat else "shrinking"
        if options.max_length_factor and not reads_words:
            raise UsageError("--max-length-factor: a language model has no source text; use "
                             "--translation-maxlen")  # fmt: skip
        if options.force_decode and models[0].right_left:
            raise UsageError("--force-decode: this model writes from the end of a sentence")
        if options.force_decode and search == "nematus-tf":
            raise UsageError("--force-decode: the search of Nematus-TF does not have this")
        if (options.constraints or options.avoid) and search == "nematus-tf":
            raise UsageError("--constraints, --avoid: the search of Nematus-TF does not have this")
        by_tabs = options.constraints == "tabs"
        split = str.split if search == "nematus-tf" else tokens
        if options.char_level:
            _check_characters(options, models)
            split = characters
        reading = Reading(preprocessing, not options.no_spm_encode, options.max_length, split)
        sums = bool(compat) and defaults.sums
        weights, channel_weights = _weights(options, sums=sums)
        channel = None
        if channel_weights:
            channel = NoisyChannel.of(options, models, reading, channel_weights)
            if options.channel_candidates and search == "nematus-tf":
                raise UsageError(
                    "--channel-candidates: the search of Nematus-TF does not have this"
                )
        layout = _layout(options, models, beam_size, normalize)
        return cls(
            search=search,
            beam_size=beam_size,
            normalize=normalize,
            word_penalty=penalty,
            suppress_unk=options.suppress_unk or not (defaults.allow_unk or options.allow_unk),
            weights=weights,
            limit=label_limit if gives_labels else _limit(options, defaults, reads_words),
            shortlists=_shortlists(options, models),
            shared_shortlist=shared_shortlist,
            sampling=sampling_of(options),
            force_decode=options.force_decode,
            constraints=cast("Form | None", options.constraints),
            avoid=options.avoid,
            fields=1 + options.force_decode if options.tsv and not by_tabs else None,
            reading=reading,
            decode_pieces=not options.no_spm_decode,
            join_bpe=options.join_bpe,
            unk_replace=options.unk_replace,
            lexicon=read_lexicon(options.lexicon) if options.lexicon else None,
            layout=layout,
            with_alignment=bool(
                layout.alignment is not None or options.unk_replace or options.heatmap
            ),
            of_members=options.heatmap is not None and len(models) > 1,
            channel=channel,
            mini_batch=mini_batch,
            maxi_batch=maxi_batch,
            sort_lines=options.maxi_batch_sort != "none",
            workspace=options.workspace,
            precision=options.precision,
        )

    @property
    def batches_decide(self) -> bool:
        """Whether mini-batches are cut as in the program: their lines affect each other."""
        return self.search == "nematus-tf" or self.shared_shortlist


def _weights(
    options: TranslateOptions, *, sums: bool
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The weights of the models, and those of a noisy channel's two others, where there is one.

    Raises UsageError for another number of them, and where nothing is left to search by.
    """
    count = len(options.model)
    if not options.channel_model:
        return ensemble_weights(options.weights, options.model, sums=sums), ()
    if not options.weights:
        return ensemble_weights((), options.model, sums=sums), (1.0, 1.0)
    every = model_weights(options.weights, (*options.model, options.channel_model, str(options.lm)))
    if not any(every[:count]):
        raise UsageError("--weights: those of the models that translate are zero")
    return every[:count], every[count:]


def _shortlists(options: TranslateOptions, models: Sequence[LoadedModel]) -> tuple[Shortlist, ...]:
    """The shortlist as each model reads it; read once where models share their vocabularies.

    Raises CgruError for a file that is none, or of other vocabularies.
    """
    asked = shortlist_of(options)
    if asked is None:
        return ()
    path, numbers = asked
    reading = [loaded for loaded in models if loaded.reads_words]
    if not reading:
        raise UsageError("--shortlist: a language model has no source words to choose by")
    read: dict[str, Shortlist] = {}
    for loaded in reading:
        vocabulary = loaded.sources[0]
        if vocabulary.fingerprint not in read:
            read[vocabulary.fingerprint] = Shortlist.read(path, vocabulary, loaded.target, *numbers)
    return tuple(read[loaded.sources[0].fingerprint] for loaded in reading)


def _limit(
    options: TranslateOptions, defaults: ProgramDefaults, reads_words: bool
) -> Callable[[int], int]:
    longest = options.translation_maxlen
    if longest is None and not options.max_length_factor and reads_words:
        return defaults.limit
    if longest is None and options.max_length_factor:  # 0 is Nematus' word for its own limit
        return functools.partial(marian_limit, factor=options.max_length_factor)
    return lambda _length: TEXT_LIMIT if longest is None else longest


# Options of the search for a text, and of its words.
_OF_TEXT = (
    "normalize", "word_penalty", "max_length_factor", "translation_maxlen", "force_decode",
    "allow_unk", "suppress_unk", "unk_replace", "join_bpe", "no_spm_decode", "shortlist",
    "constraints", "avoid", "channel_model",
)  # fmt: skip


def _check_of_labels(options: TranslateOptions, loaded: LoadedModel) -> None:
    """Raises UsageError for options that do not apply to labels."""
    default = TranslateOptions()
    for name in _OF_TEXT:
        if getattr(options, name) != getattr(default, name):
            raise UsageError(
                f"{flag(TranslateOptions, name)}: {loaded.model.path} is a "
                f"{loaded.model.structure.type}, which gives labels and writes no text"
            )


def _check_characters(options: TranslateOptions, models: Sequence[LoadedModel]) -> None:
    """Raises UsageError for --char-level with other words than characters."""
    for loaded in models:
        pieces = loaded.sources and loaded.sources[0].processor is not None
        if (pieces and not options.no_spm_encode) or not loaded.reads_words:
            what = "SentencePiece cuts its source" if pieces else "it reads no source text"
            raise UsageError(f"--char-level: {loaded.model.path}: {what}")


def _needs_attention(options: TranslateOptions) -> bool:
    """Whether an option needs attention."""
    return any(
        (
            options.alignment, options.alignment_format, options.json_alignment,
            options.output_alignment, options.unk_replace, options.heatmap,
        )
    )  # fmt: skip


def _asked(options: TranslateOptions) -> dict[str, bool]:
    """Whether options join or split words, as a model's preprocessing does."""
    return {
        "--bpe": options.bpe is not None,
        "--join-bpe": options.join_bpe,
        "--no-spm-encode": options.no_spm_encode,
        "--no-spm-decode": options.no_spm_decode,
    }


def _layout(
    options: TranslateOptions, models: Sequence[LoadedModel], beam: int, normalize: float
) -> Layout:
    alignment = options.alignment and kinds.alignment(options.alignment)
    kind = "json" if options.json_alignment else options.alignment_format
    if alignment is None and (kind or options.output_alignment):
        alignment = "soft"
    if options.output_alignment and kind is None:
        kind = "nematus"
    if options.output_alignment and kind not in ("nematus", "json"):
        raise UsageError("--output-alignment writes the formats nematus and json only")
    return layout_of(
        options.compat or Program.CGRU,
        n_best=options.n_best,
        word_scores=options.word_scores,
        alignment=alignment,
        alignment_format=kind,
        right_left=models[0].right_left,
        source_reversed=any(loaded.source_reversed for loaded in models),
        beam_size=beam,
        normalize=normalize != 0,
        shown=options.n_best_size,
        probabilities=not models[0].writes_text,
    )


def _check(name: str, value: float, model: Model) -> None:
    """Raises CgruError for a value of a configuration that the option could not have."""
    try:
        statements(TranslateOptions)[name][0].check(value)
    except ValueError as error:
        raise CgruError(f"{model.path}: its configuration: {name} {error}") from None


def shortlist_of(options: TranslateOptions) -> tuple[str, ShortlistNumbers] | None:
    """The file of a shortlist and which of its words are taken; None without one.

    Raises UsageError for values that are no such numbers.
    """
    given = options.shortlist
    try:
        return shortlist((given,) if isinstance(given, str) else given) if given else None
    except ValueError as error:
        raise UsageError(f"--shortlist {error}") from None


def sampling_of(options: TranslateOptions) -> SamplingPlan | None:
    """The settings of sampling; None for a search."""
    if options.output_sampling is not None:
        top, temperature = sampling(options.output_sampling)
    elif options.translation_strategy == "sampling":
        top, temperature = None, options.sampling_temperature or 1.0
    else:
        return None
    return SamplingPlan(temperature, top, options.seed)

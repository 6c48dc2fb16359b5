"""Prepare a channel model and a language model for `search.noisy_channel`.

A model that knows all words of the direct model reads these words, even if its ids differ; any
other model splits the text itself.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CgruError, UsageError
from ..formats.arpa import NGrams, is_arpa
from ..formats.loaded_model import (
    LoadedModel,
    Reading,
    check_ensemble,
    load_model,
    preprocessing_of,
)
from ..options.translate import TranslateOptions
from ..output.hypothesis import Hypothesis
from ..parameters.structure import EOS_ID
from ..system.windows import batches
from ..text.subwords import join_bpe
from ..text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from ..search.noisy_channel import ChannelRanking
    from ..search.settings import SearchSettings
    from .phrases import PreparedLine


class NoisyChannel:
    """A channel model, and optionally a language model, that score the direct models' translations.

    Their scores rank extensions in each step of the beam, or finished hypotheses. In a beam, the
    language model must be recurrent and share the direct models' target vocabulary.
    """

    def __init__(
        self,
        options: TranslateOptions,
        models: Sequence[LoadedModel],
        reading: Reading,
        weights: Sequence[float],
        settings: SearchSettings,
    ):
        """Read the models that the options name.

        models: the direct models, with their reading; weights: of the channel model and the
        language model. Raises CgruError for models of the wrong kind, or if words cannot be mapped.
        """
        from ..search.settings import ChannelSum

        direct = next((loaded for loaded in models if loaded.reads_words), models[0])
        if not (direct.reads_words and direct.writes_text):
            raise CgruError(f"--channel-model: {_named(direct)}, which does not translate")
        self._direct, self._members = direct, len(models)
        self._sum = ChannelSum(weights[0], weights[1], settings)
        self._candidates = options.channel_candidates
        self._channel = channel = _channel_model(options, direct)
        known = [(channel.sources[0], direct.target), (channel.target, direct.sources[0])]
        own = functools.partial(_reading, options, direct, reading)
        # how the model splits text into words, None if it reads the direct model's words
        self._channel_reading = own("--channel-model", channel, known)
        self._lines = channel.source_lines(self._channel_reading or Reading())
        self._channel_scores = _ForcedDecoding(channel, options)
        self._forced = [self._channel_scores]
        self.models = [channel]  # all computed models
        self.stepped: list[LoadedModel] = []  # a language model in every step of the beam
        self._lm_words: Callable[[str, int], list[str]] | None = None
        self._has_lm = options.lm is not None
        self._lm_scores: Callable[[Sequence[Sequence[str]]], np.ndarray] = lambda texts: np.zeros(
            len(texts)
        )
        if not self._has_lm:
            return
        lm = _language_model(options, direct)
        if isinstance(lm, NGrams):
            self._lm_scores = lm.log_probs
            return
        self.models.append(lm)
        if its := own("--lm", lm, [(lm.target, direct.target)]):
            self._lm_words = functools.partial(lm.target_words, reading=its)
        if self.within_beam:
            self.stepped = [_stepped(lm, direct, models)]
        else:
            forced = _ForcedDecoding(lm, options)
            self._forced.append(forced)
            self._lm_scores = lambda texts: forced([[]] * len(texts), texts)

    def following(self, settings: SearchSettings) -> NoisyChannel:
        """The same models with other search settings."""
        other = copy.copy(self)
        other._sum = self._sum._replace(settings=settings)
        return other

    @property
    def within_beam(self) -> bool:
        """Whether to rank hypotheses in each step, rather than once they are finished."""
        return self._candidates is not None

    def share_processors(self) -> None:
        """See `Session.share_processors`."""
        for forced in self._forced:
            forced.share_processors()

    def ranking(self, begun: Sequence[PreparedLine]) -> ChannelRanking:
        """The ranking of hypotheses in a beam; begun: its lines, to which new batches are added."""
        from ..search.noisy_channel import ChannelRanking

        sources: dict[int, list[str]] = {}

        def score(sentences: Sequence[int], translations: Sequence[Sequence[int]]) -> np.ndarray:
            for sentence in set(sentences) - set(sources):
                sources[sentence] = self._source(begun[sentence])
            words = [self._reading_order(self._direct.target.decode(ids)) for ids in translations]
            return self._channel_scores(words, [sources[sentence] for sentence in sentences])

        return ChannelRanking(self._sum, self._candidates or 0, score)

    def scored(
        self, lines: Sequence[PreparedLine], lists: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Add the scores of both models to the hypotheses of each line, in the same order."""
        sources, of_channel, of_lm = [], [], []
        for line, hypotheses in zip(lines, lists, strict=True):
            number, source = line.number, self._source(line)
            for one in hypotheses:
                words, text = self._reading_order(one.tokens), join_bpe(one.text)
                sources.append(source)
                split = self._lines.words(text, number) if self._channel_reading else words
                of_channel.append(split)
                of_lm.append(self._lm_words(text, number) if self._lm_words else words)
        channel = iter(self._channel_scores(of_channel, sources).tolist())
        lm = iter(self._lm_scores(of_lm).tolist())
        return [
            [
                self.featured(one, len(line.source) + 1, next(channel), next(lm))
                for one in hypotheses
            ]
            for line, hypotheses in zip(lines, lists, strict=True)
        ]

    def _reading_order(self, words: Sequence[str]) -> list[str]:
        return list(words[::-1] if self._direct.right_left else words)

    def _source(self, line: PreparedLine) -> list[str]:
        """The words of a line as the channel model writes them, in reading order."""
        if self._channel_reading is None:
            return list(self._direct.without_factors(line.source))
        text = join_bpe(line.text)
        return self._channel.target_words(text, line.number, self._channel_reading)

    def featured(
        self, hypothesis: Hypothesis, source_length: int, channel: float, lm: float
    ) -> Hypothesis:
        """The hypothesis with both models' scores as features and the weighted sum as its total.

        source_length: words of the source, including EOS; channel, lm: log-probabilities.
        """
        length = len(hypothesis.tokens) + hypothesis.finished
        alpha = self._sum.settings.normalize
        direct = hypothesis.model_scores[: self._members]
        features = [(f"F{i}", score / length**alpha) for i, score in enumerate(direct)]
        features += [("Channel", channel / source_length**alpha)]
        features += [("LM", lm / source_length**alpha)] if self._has_lm else []
        total = self._sum.total(hypothesis.score, channel, lm, length, source_length)
        return hypothesis._replace(total=total, model_scores=direct, features=features)


def _channel_model(options: TranslateOptions, direct: LoadedModel) -> LoadedModel:
    """The model of `--channel-model`. Raises CgruError if it translates the wrong direction."""
    if len(options.vocabularies) > 2:
        raise UsageError(
            "--channel-model: --vocabs cannot name the vocabularies of a model with factors "
            "for both directions; put them beside the models"
        )
    channel = load_model(str(options.channel_model), options.vocabularies[::-1])
    path = channel.model.path
    if not (channel.reads_words and channel.writes_text):
        raise CgruError(f"--channel-model: {_named(channel)}; a translation model is needed")
    sides, channel_sides = (
        [one.sources[0].fingerprint, one.target.fingerprint] for one in (direct, channel)
    )
    if channel_sides == sides != sides[::-1]:
        raise CgruError(
            f"--channel-model: {path} has the source and target words of {direct.model.path}: it "
            "translates in the same direction, not in the reverse one"
        )
    if len(channel.sources) > 1:
        raise CgruError(f"--channel-model: {path} reads factors, which translations do not have")
    return channel


def _language_model(options: TranslateOptions, direct: LoadedModel) -> LoadedModel | NGrams:
    """The model of `--lm`. Raises CgruError for another kind of model, or for other words."""
    path = str(options.lm)
    if not is_arpa(path):
        lm = load_model(path, options.vocabularies[-1:])
        if lm.reads_source or not lm.writes_text:
            raise CgruError(
                f"--lm: {_named(lm)}; a language model (--type lm without a condition, or an ARPA "
                "file) is needed"
            )
        return lm
    if options.channel_candidates is not None:
        raise CgruError(
            f"--channel-candidates: {path} is an n-gram model, which ranks finished hypotheses "
            "only; leave the option out"
        )
    n_grams = NGrams(path)
    count, words = n_grams.known(direct.target), len(direct.target.words)
    if 2 * count < words:
        raise CgruError(
            f"--lm: {path} knows {count:,} of the {words:,} words of {direct.target.path}; n-grams "
            "of the same words, or sub-words, are needed"
        )
    return n_grams


def _stepped(lm: LoadedModel, direct: LoadedModel, models: Sequence[LoadedModel]) -> LoadedModel:
    """A language model for the beam, which knows all words of the direct target vocabulary.

    Raises CgruError if the direct model lacks one of its words, or if the ensemble rejects it.
    """
    if missing := direct.target.lacking(lm.target):
        raise CgruError(_lacks_in_beam(direct, lm.target, missing))
    rows = [one.model.structure.target_vocabulary for one in (lm, direct)]
    if rows[0] != rows[1]:
        raise CgruError(
            f"--channel-candidates: {lm.model.path} has {rows[0]:,} target words, "
            f"{direct.model.path} {rows[1]:,}; the same number is needed"
        )
    lm = in_order_of(direct.target, lm)
    check_ensemble([*models, lm])
    return lm


def in_order_of(vocabulary: Vocabulary, loaded: LoadedModel) -> LoadedModel:
    """A language model whose target words get the ids of another vocabulary of the same words.

    Each word keeps its probability. Ids without a word, in files with gaps, are matched in order.
    """
    model, own = loaded.model, loaded.target
    own_ids = {EOS_ID: EOS_ID, vocabulary.unk_id: own.unk_id}  # by the vocabulary's ids
    words = {i: word for i, word in vocabulary.words.items() if i not in own_ids}
    own_ids |= zip(words, own.encode(words.values()), strict=True)
    every = range(model.structure.target_vocabulary)
    unused = iter(sorted({*every} - {*own_ids.values()}))
    order = np.array([own_ids[i] if i in own_ids else next(unused) for i in every])
    arrays = dict(model.arrays)
    for row in model.parameters():
        for axis, letter in enumerate(row.shape):
            if letter == "V":
                arrays[row.name] = np.take(arrays[row.name], order, axis=axis)
    return dataclasses.replace(loaded.with_arrays(arrays), target=vocabulary)


def _reading(
    options: TranslateOptions,
    direct: LoadedModel,
    reading: Reading,
    flag: str,
    other: LoadedModel,
    known: Sequence[tuple[Vocabulary, Vocabulary]],
) -> Reading | None:
    """How the other model splits the direct model's text; None if it knows all its words.

    reading: of the direct model. known: the other model's vocabularies, each with the direct
    model's vocabulary for that language. Raises CgruError if words are missing in a beam, and if
    one model uses raw text and the other words between spaces.
    """
    lacking = [(words, missing) for own, words in known if (missing := own.lacking(words))]
    if not lacking:
        return None
    if options.channel_candidates is not None:
        raise CgruError(_lacks_in_beam(other, *lacking[0]))
    preprocessing = None if options.no_preprocess else preprocessing_of([other], {})
    its = reading._replace(preprocessing=preprocessing)
    writes_raw = not options.no_spm_decode and _takes_raw_text(reading, direct)
    reads_raw = _takes_raw_text(its, other)
    if writes_raw != reads_raw:
        takes = ("words between spaces", "raw text")
        problem = f"it takes {takes[reads_raw]}, {direct.model.path} {takes[writes_raw]}"
    elif not writes_raw and any(word.endswith("@@") for word in known[0][0].words.values()):
        problem = "it has other sub-words, split by unknown codes"
    else:
        return its
    raise CgruError(f"{flag}: {_lacks(other, *lacking[0])}, and {problem}")


def _takes_raw_text(reading: Reading, loaded: LoadedModel) -> bool:
    pieces = reading.to_pieces and loaded.target.processor is not None
    return reading.preprocessing is not None or pieces


def _named(loaded: LoadedModel) -> str:
    return f"{loaded.model.path} is a model of type {loaded.model.structure.type.value}"


def _lacks(loaded: LoadedModel, words: Vocabulary, missing: Sequence[str]) -> str:
    return (
        f"{loaded.model.path} lacks {len(missing):,} words of {words.path}, such as {missing[0]!r}"
    )


def _lacks_in_beam(loaded: LoadedModel, words: Vocabulary, missing: Sequence[str]) -> str:
    return (
        f"--channel-candidates: {_lacks(loaded, words, missing)}; without the option the finished "
        "hypotheses are ranked, by their text"
    )


class _ForcedDecoding:
    """A model that scores given words."""

    def __init__(self, loaded: LoadedModel, options: TranslateOptions):
        """loaded: the model, whose arrays move into the scorer."""
        from ..search.runtime import Settings, prepared
        from ..search.scoring import Scorer

        self._loaded, self._options = loaded, options
        settings = Settings(options.device, options.cpu_threads)
        model = prepared(loaded.model, options.precision, settings)
        self._scorer = Scorer(model, with_alignment=False)

    def share_processors(self) -> None:
        """See `Session.share_processors`."""
        self._scorer.share_processors()

    def __call__(
        self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
    ) -> np.ndarray:
        """log p(target | source), including EOS, for words in reading order: float64."""
        from ..search.scoring import max_tokens_of

        scores = np.zeros(len(sources))
        sizes = [max(map(len, pair)) + 1 for pair in zip(sources, targets, strict=True)]
        step = -1 if self._loaded.right_left else 1
        max_tokens = max_tokens_of(self._options.workspace, self._loaded.model.structure)
        for batch in batches(sizes, len(sizes), max_tokens):
            source = self._loaded.source_batch([sources[i] for i in batch])
            target = self._loaded.target_batch([targets[i][::step] for i in batch])
            scores[batch] = self._scorer(*source, *target).log_probs.sum(axis=1, dtype=np.float64)
        return scores

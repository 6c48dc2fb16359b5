"""Translations ranked by a channel model and a language model too: see `search.noisy_channel`.

How the other two models read what the direct model reads and writes: where they know its words,
they take these, whatever their numbers; else text, which they have to cut themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import CgruError, UsageError
from ..formats.arpa import NGrams, is_arpa
from ..formats.loaded_model import LoadedModel, Reading, check_ensemble, preprocessing_of
from ..formats.reordered import in_order_of
from ..options.translate import TranslateOptions
from ..output.hypothesis import Hypothesis
from ..system.windows import batches
from ..text.subwords import join_bpe
from ..text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from ..search.noisy_channel import ChannelRanking
    from ..search.settings import SearchSettings


@dataclass(frozen=True)
class NoisyChannel:
    """The settings of a noisy channel, with its two models.

    weights: of the two in the sum; candidates: of each hypothesis in a step of the beam, None where
    what the beam ends with is ranked. channel_reading, lm_reading: how they cut text into words;
    None where they take the direct model's words. In a beam the language model's target vocabulary
    is the direct model's; one of n-grams ranks at the end only.
    """

    channel: LoadedModel
    lm: LoadedModel | NGrams
    weights: tuple[float, float]
    candidates: int | None
    channel_reading: Reading | None
    lm_reading: Reading | None

    @property
    def stepped(self) -> list[LoadedModel]:
        """The language model, if it takes part in every step of the beam."""
        in_beam = self.candidates is not None
        return [self.lm] if in_beam and isinstance(self.lm, LoadedModel) else []

    @classmethod
    def of(
        cls,
        options: TranslateOptions,
        models: Sequence[LoadedModel],
        reading: Reading,
        weights: Sequence[float],
    ) -> NoisyChannel:
        """Read the two models that the options name, beside the direct ones.

        Raises CgruError for models that are not of such a kind, or of other words.
        """
        direct = next((loaded for loaded in models if loaded.reads_words), models[0])
        if not (direct.reads_words and direct.writes_text):
            raise CgruError(f"--channel-model: {_named(direct)}, which does not translate")
        if len(options.vocabularies) > 2:
            raise UsageError(
                "--channel-model: --vocabs cannot name the vocabularies of a model with factors "
                "for both directions; put them beside the models"
            )
        channel = LoadedModel.of(str(options.channel_model), options.vocabularies[::-1])
        if not (channel.reads_words and channel.writes_text):
            raise CgruError(
                f"--channel-model: {_named(channel)}; a translation model of the reverse direction "
                "is needed"
            )
        given, reverse = (
            [one.sources[0].fingerprint, one.target.fingerprint] for one in (direct, channel)
        )
        if reverse == given != given[::-1]:
            raise CgruError(
                f"--channel-model: {channel.model.path} has the source and target words of "
                f"{direct.model.path}: it translates in the same direction, not in the reverse one"
            )
        if len(channel.sources) > 1:
            raise CgruError(
                f"--channel-model: {channel.model.path} reads factors, which translations have not"
            )
        both_sides = (channel.sources[0], direct.target), (channel.target, direct.sources[0])
        lm = _language_model(options, models, direct)
        lm_reading = None
        if isinstance(lm, LoadedModel):
            lm_reading = _reading(
                "--lm", lm, [(lm.target, direct.target)], direct, reading, options
            )
        if options.channel_candidates is not None:
            for own, words in both_sides:
                if missing := own.lacking(words):
                    raise _no_candidates(channel, words, missing)
        return cls(
            channel,
            lm,
            (weights[0], weights[1]),
            options.channel_candidates,
            _reading("--channel-model", channel, both_sides, direct, reading, options),
            lm_reading,
        )


def _language_model(
    options: TranslateOptions, models: Sequence[LoadedModel], direct: LoadedModel
) -> LoadedModel | NGrams:
    """What `--lm` names; where it is stepped in the beam, in the order of the target vocabulary.

    Raises CgruError for what is no language model, or of other words than it has to be.
    """
    path, in_beam = str(options.lm), options.channel_candidates is not None
    if is_arpa(path):
        if in_beam:
            raise CgruError(
                f"--channel-candidates: {path} is a model of n-grams, which ranks what the beam "
                "ends with; leave the option out"
            )
        n_grams = NGrams(path)
        count = n_grams.known(direct.target)
        if 2 * count < len(direct.target.words):
            raise CgruError(
                f"--lm: {path} knows {count:,} of the {len(direct.target.words):,} words of "
                f"{direct.target.path}; n-grams of the same words, or sub-words, are needed"
            )
        return n_grams
    lm = LoadedModel.of(path, options.vocabularies[-1:])
    if lm.reads_source or not lm.writes_text:
        raise CgruError(
            f"--lm: {_named(lm)}; a language model (--type lm without a condition, or an ARPA "
            "file) is needed"
        )
    if not in_beam:
        return lm
    for other, known, words in ((lm, lm.target, direct.target), (direct, direct.target, lm.target)):
        if missing := known.lacking(words):
            raise _no_candidates(other, words, missing)
    rows = [one.model.structure.target_vocabulary for one in (lm, direct)]
    if rows[0] != rows[1]:
        raise CgruError(
            f"--channel-candidates: {path} has {rows[0]:,} target words, {direct.model.path} "
            f"{rows[1]:,}; the same ones are needed"
        )
    lm = in_order_of(direct.target, lm)
    check_ensemble([*models, lm])
    return lm


def _no_candidates(loaded: LoadedModel, words: Vocabulary, missing: Sequence[str]) -> CgruError:
    return CgruError(
        f"--channel-candidates: {_without(loaded, words, missing)}; without the option the beam's "
        "hypotheses are ranked, by their text"
    )


def _reading(
    flag: str,
    other: LoadedModel,
    known: Sequence[tuple[Vocabulary, Vocabulary]],
    direct: LoadedModel,
    reading: Reading,
    options: TranslateOptions,
) -> Reading | None:
    """A model's way to split the direct model's text; None if it knows all of its words.

    known: its vocabularies, each with the direct model's of that language. reading: the direct
    model's. Raises CgruError where text that the one has is not text that the other takes.
    """
    pairs = ((words, missing) for own, words in known if (missing := own.lacking(words)))
    words, missing = next(pairs, (None, []))
    if words is None:
        return None
    preprocessing = None if options.no_preprocess else preprocessing_of([other], {})
    its = reading._replace(preprocessing=preprocessing)
    raw, its_raw = (
        of.preprocessing is not None or (of.to_pieces and one.target.processor is not None)
        for of, one in ((reading, direct), (its, other))
    )
    raw = raw and not options.no_spm_decode
    problem = ""
    if raw != its_raw:
        takes = ("words between spaces", "raw text")
        problem = f"it takes {takes[its_raw]}, {direct.model.path} {takes[raw]}"
    elif not raw and any(word.endswith("@@") for word in known[0][0].words.values()):
        problem = "what sub-words it has instead is not known"
    if problem:
        raise CgruError(f"{flag}: {_without(other, words, missing)}, and {problem}")
    return its


def _named(loaded: LoadedModel) -> str:
    return f"{loaded.model.path} is a model of type {loaded.model.structure.type.value}"


def _without(loaded: LoadedModel, words: Vocabulary, missing: Sequence[str]) -> str:
    return f"{loaded.model.path} lacks {len(missing):,} words of {words.path}, as {missing[0]!r}"


class Line(NamedTuple):
    """A source line, counted from 0: its words as the direct model reads them, and its text."""

    number: int
    words: Sequence[str]
    text: str


class ChannelScorer:
    """The channel model and the language model, which score translations of lines."""

    def __init__(
        self,
        noisy: NoisyChannel,
        direct: LoadedModel,
        settings: SearchSettings,
        weights: Sequence[float],
        *,
        workspace: int,
        precision: str,
    ):
        """direct: the model, or the first of those, that translations are by; settings: of the
        search; weights: of the direct models. Arrays of the channel model go into its network, and
        those of the language model unless it is to be stepped in the beam.
        """
        from ..search.noisy_channel import ChannelSum

        self._noisy, self._direct, self._weights = noisy, direct, tuple(weights)
        self._sum = ChannelSum(*noisy.weights, settings)
        self._channel = _ForcedDecoding(noisy.channel, workspace, precision)
        self._cut = noisy.channel.source_lines(noisy.channel_reading or Reading())
        self._lm: Callable[[Sequence[Sequence[str]]], np.ndarray] | None = None
        if isinstance(noisy.lm, NGrams):
            self._lm = noisy.lm.log_probs
        elif noisy.candidates is None:
            forced = _ForcedDecoding(noisy.lm, workspace, precision)
            self._lm = lambda texts: forced([[]] * len(texts), texts)

    @property
    def within_beam(self) -> bool:
        """Whether hypotheses are ranked in each step, rather than at the end."""
        return self._lm is None

    def ranking(self, line: Callable[[int], Line]) -> ChannelRanking:
        """What ranks hypotheses in a beam; line: that of each sentence of the search, by number."""
        from ..search.noisy_channel import ChannelRanking

        sources: dict[int, list[str]] = {}

        def score(sentences: Sequence[int], translations: Sequence[Sequence[int]]) -> np.ndarray:
            for sentence in set(sentences) - set(sources):
                sources[sentence] = self._source(line(sentence))
            words = [self._direct.target.decode(ids) for ids in translations]
            if self._direct.right_left:
                words = [one[::-1] for one in words]
            return self._channel(words, [sources[sentence] for sentence in sentences])

        return ChannelRanking(self._sum, self._noisy.candidates or 0, score)

    def scored(self, lines: Sequence[tuple[Line, Sequence[Hypothesis]]]) -> list[list[Hypothesis]]:
        """The hypotheses of each line with the scores of both models added, in the same order."""
        entries = [(line, one) for line, hypotheses in lines for one in hypotheses]
        scores = self._scores(entries)
        return [
            [self.featured(one, len(line.words) + 1, *next(scores)) for one in hypotheses]
            for line, hypotheses in lines
        ]

    def _scores(self, entries: Sequence[tuple[Line, Hypothesis]]) -> Iterator[tuple[float, float]]:
        """log p(x|y) and log p(y) of each."""
        noisy = self._noisy
        of_channel, of_lm = [], []
        for line, hypothesis in entries:
            words = list(hypothesis.tokens[:: -1 if self._direct.right_left else 1])
            text = join_bpe(hypothesis.text)
            channel_words = self._cut.words(text, line.number) if noisy.channel_reading else words
            of_channel.append(channel_words)
            if noisy.lm_reading and isinstance(noisy.lm, LoadedModel):
                words = noisy.lm.target_words(text, line.number, noisy.lm_reading)
            of_lm.append(words)
        assert self._lm  # noqa: S101 - for types
        channel = self._channel(of_channel, [self._source(line) for line, _ in entries])
        lm = self._lm(of_lm)
        yield from zip(channel.tolist(), lm.tolist(), strict=True)

    def _source(self, line: Line) -> list[str]:
        """The words of a line as the channel model writes them, in reading order."""
        reading = self._noisy.channel_reading
        if reading is None:
            return list(self._direct.without_factors(line.words))
        return self._noisy.channel.target_words(join_bpe(line.text), line.number, reading)

    def featured(
        self, hypothesis: Hypothesis, source_length: int, channel: float, lm: float
    ) -> Hypothesis:
        """The hypothesis with the scores of both models as features, and their sum as its total.

        source_length: words of the source, EOS counted; channel, lm: log-probabilities.
        """
        length = len(hypothesis.tokens) + hypothesis.finished
        alpha = self._sum.settings.normalize
        direct = hypothesis.model_scores[: len(self._weights)]
        features = [(f"F{i}", score / length**alpha) for i, score in enumerate(direct)]
        features += [("Channel", channel / source_length**alpha), ("LM", lm / source_length**alpha)]
        total = self._sum.total(hypothesis.score, channel, lm, length, source_length)
        return hypothesis._replace(total=total, model_scores=direct, features=features)


class _ForcedDecoding:
    """A model that scores given words."""

    def __init__(self, loaded: LoadedModel, workspace: int, precision: str):
        from ..network.network import take_over
        from ..network.scorer import Scorer, max_tokens_of

        self._loaded = loaded
        self._max_tokens = max_tokens_of(workspace, loaded.model.structure)
        self._scorer = Scorer(take_over(loaded.model, precision), with_alignment=False)

    def __call__(
        self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
    ) -> np.ndarray:
        """log p(target | source), EOS counted, of words in reading order: float64."""
        scores = np.zeros(len(sources))
        sizes = [max(map(len, pair)) + 1 for pair in zip(sources, targets, strict=True)]
        step = -1 if self._loaded.right_left else 1
        for batch in batches(sizes, len(sizes), self._max_tokens):
            source = self._loaded.source_batch([sources[i] for i in batch])
            target = self._loaded.target_batch([targets[i][::step] for i in batch])
            scores[batch] = self._scorer(*source, *target).log_probs.sum(axis=1, dtype=np.float64)
        return scores

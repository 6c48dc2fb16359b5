"""The beam search of Nematus-Theano, DL4MT, amun and Marian.

The beam holds k hypotheses, a finished one leaves it and the beam shrinks; lengths are normalised
at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..parameters.structure import EOS_ID, Structure
from .constraints import Tracker
from .hypotheses import (
    History,
    Rows,
    SearchBatch,
    SearchResult,
    best_extensions,
    expand,
    forced_words,
)
from .noisy_channel import ChannelRanking
from .settings import SearchSettings

# A batch joins when this share of the one before is left to search.
REFILL_BELOW = 0.5


class _Sentences(NamedTuple):
    """The sentences of a search, B of them so far, in the order of the input."""

    length: np.ndarray  # (B,) int: words of the source, with EOS
    limit: np.ndarray  # (B,) int: the most words that a translation may have
    capacity: np.ndarray  # (B,) int: the beam size less the finished hypotheses
    first: np.ndarray  # (B,) int: step of the history that the sentence began at

    @classmethod
    def begin(cls, batch: SearchBatch, beam_size: int, step: int) -> _Sentences:
        """The sentences of a batch that joins the search at a step."""
        count = len(batch.lengths)
        return cls(
            np.array(batch.lengths, int),
            np.array(batch.limits, int),
            np.full(count, beam_size),
            np.full(count, step),
        )

    def followed_by(self, others: _Sentences) -> _Sentences:
        """These sentences and behind them the others."""
        return _Sentences(*map(np.append, self, others))


def shrinking_beam(
    batches: Iterable[SearchBatch | None],
    settings: SearchSettings,
    *,
    at_any_step: bool = False,
    given_up: Callable[[], Collection[int]] = tuple,
    ranking: ChannelRanking | None = None,
) -> Iterator[tuple[int, list[SearchResult]]]:
    """Best-first lists of at most k translations for each sentence, as they get ready.

    Yields a sentence's number, counted through all batches, and its list. The next batch joins
    while the last sentences of the one before are still extended: a step of few rows takes nearly
    the time of one of many. What is alive at the limit is returned unfinished.

    batches: None among them says that no sentence waits for now; it is asked again later, until
    the search has nothing left to do. at_any_step: a batch joins as soon as there is one, and the
    iterator decides how many sentences are searched together. given_up: the numbers of sentences
    whose translations nobody waits for any more; those that were finished are all they get.
    ranking: a noisy channel, which ranks hypotheses in place of their log-probability.
    """
    count = ranking.count if ranking else settings.beam_size + (settings.unk is not None)
    history = History(settings)
    waiting = iter(batches)
    batch = next(waiting, None)
    if batch is None:
        return
    lattice, rows = batch.lattice, Rows.begin(len(batch.lengths))
    sentences = _Sentences.begin(batch, settings.beam_size, history.count)
    prefixes: list[Sequence[int]] = _prefixes(batch)  # of each sentence
    tracker = Tracker()
    tracker.begin(batch.constraints or [None] * len(batch.lengths))
    if ranking:
        ranking.begin(batch.lengths)
    results: list[list[SearchResult]] = [[] for _ in batch.lengths]
    refill = _refill_below(batch, settings)
    while True:
        # not the rows: a sentence begins with one
        while (at_any_step or sentences.capacity[np.unique(rows.sentence)].sum() <= refill) and (
            batch := next(waiting, None)
        ):
            rows = rows.followed_by(Rows.begin(len(batch.lengths), len(results), lattice.rows))
            lattice = lattice.join(batch.lattice)
            begun = _Sentences.begin(batch, settings.beam_size, history.count)
            sentences = sentences.followed_by(begun)
            prefixes += _prefixes(batch)
            tracker.begin(batch.constraints or [None] * len(batch.lengths))
            if ranking:
                ranking.begin(batch.lengths)
            results += [[] for _ in batch.lengths]
            refill = _refill_below(batch, settings)
        if not len(rows.sentence):
            return
        forced = forced_words(
            prefixes, rows.sentence, history.count - sentences.first[rows.sentence]
        )
        asked = tracker.asked(rows.sentence, forced)
        expansion, banned = expand(lattice, rows, count, settings, forced, asked)
        live = np.unique(rows.sentence)
        totals = rows.totals(expansion, banned)
        if ranking:
            totals = ranking.totals(rows.sentence, totals, expansion)
        parents, places = best_extensions(rows, totals, sentences.capacity)
        if not tracker.idle:
            left = sentences.limit - (history.count + 1 - sentences.first)
            parents, places = tracker.choose(
                rows.sentence, totals, expansion.words, sentences.capacity, left, (parents, places)
            )
        words, log_probs = history.add(rows.continued, expansion, parents, places)
        rows = Rows(
            sentence=rows.sentence[parents],
            parent=parents.astype(np.int32),
            continued=np.arange(len(parents)),
            previous=words,
            score=rows.score[parents] + log_probs,
        )
        tracker.advance(rows.sentence, parents, words)
        if ranking:
            ranking.advance(parents, places, words)
        steps = history.count - sentences.first[rows.sentence]
        done = (words == EOS_ID) | (steps >= sentences.limit[rows.sentence])
        for row in np.flatnonzero(done):
            number = rows.sentence[row]
            length, first = int(sentences.length[number]), int(sentences.first[number])
            result = history.result(int(row), length, first=first)
            results[number].append(ranking.result(int(row), result) if ranking else result)
        np.subtract.at(sentences.capacity, rows.sentence[done], 1)
        alive = ~done
        if settings.best_only:
            alive &= ~_decided(rows, results, sentences.limit, settings)
        if gone := given_up():
            alive &= ~np.isin(rows.sentence, list(gone))
        rows = rows.take(alive)
        tracker.take(alive)
        if ranking:
            ranking.take(alive)
        for number in np.setdiff1d(live, rows.sentence):
            yield int(number), sorted(results[number], key=lambda result: -result.total)
            results[number] = []
        if len(rows.sentence):
            history.forget(int(sentences.first[rows.sentence].min()))


def _prefixes(batch: SearchBatch) -> list[Sequence[int]]:
    """The words that each translation of a batch has to begin with."""
    return list(batch.prefixes) or [()] * len(batch.lengths)


def _refill_below(batch: SearchBatch, settings: SearchSettings) -> int:
    """The hypotheses left to search, of a batch, at which the next one joins."""
    return int(REFILL_BELOW * settings.beam_size * len(batch.lengths))


def _decided(
    rows: Rows,
    results: Sequence[Sequence[SearchResult]],
    limits: np.ndarray,
    settings: SearchSettings,
) -> np.ndarray:
    """Rows of sentences whose best translation no live hypothesis can beat any more: (R,) bool.

    Log-probabilities only lower a score, and the division by length helps a negative one most at
    the limit. Dropping whole sentences, never single rows, leaves the search as it is.
    """
    decided = np.zeros(len(rows.sentence), bool)
    if settings.word_penalty < 0 or settings.normalize < 0:
        return decided
    bound = rows.score / limits[rows.sentence].astype(np.float64) ** settings.normalize
    for sentence in np.unique(rows.sentence):
        if results[sentence]:
            best = max(result.total for result in results[sentence])
            mine = rows.sentence == sentence
            if best >= bound[mine].max():
                decided |= mine
    return decided


def max_tokens_of(workspace: int, beam_size: int, structures: Iterable[Structure]) -> int:
    """Padded source words that a batch may have to stay within the workspace (MiB), or one."""
    return max(1, int(workspace / mebibytes_of_word(beam_size, structures)))


def mebibytes_of_word(beam_size: int, structures: Iterable[Structure]) -> float:
    """What a source word takes in a search, in MiB.

    Its annotation's products, and the attention's hidden layer once a hypothesis; a hypothesis
    takes the vocabulary's logits (twice, for the softmax) and its states. Sentences are counted as
    if they were at least ten words long. A part of a batch may be left when the next one joins it.
    """
    per_token = 0.0
    for s in structures:
        attention = 4 * (s.context * (1 + 2 * beam_size) + 3 * s.state + s.target_embedding)
        row = 4 * (3 * s.target_vocabulary + 12 * s.state + 4 * s.context)
        per_token += attention + beam_size * row / 10
    return (1 + REFILL_BELOW) * per_token / 2**20

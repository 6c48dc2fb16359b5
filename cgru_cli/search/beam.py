"""The beam search of Nematus-Theano, DL4MT, amun and Marian.

The beam holds k hypotheses and loses a place whenever a hypothesis is finished. At the end, totals
are divided by a power of the length.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from ..parameters.structure import EOS_ID, Structure
from .decoder_states import DecoderStates, Rows
from .hypotheses import History, SearchBatch, SearchResult
from .ranking import LogProbability
from .sampling import Draws
from .settings import SearchSettings
from .tracker import Tracker


class BeamSearch:
    """A beam search that sentences may join and leave at any step.

    Sentences are numbered in the order in which they join. The settings may ask for samples instead
    of the best hypotheses. A channel ranking replaces the ranking by log-probability.
    """

    def __init__(self, settings: SearchSettings, ranking: LogProbability | None = None):
        self.settings = settings
        if settings.sampling:
            ranking = Draws(settings, settings.sampling)
        self.ranking = ranking or LogProbability(settings)
        self.history = History(settings)
        self.tracker = Tracker(soft=settings.prefix_bias is not None)
        self.states: DecoderStates | None = None
        self.rows = Rows.begin(0)
        # (B,) int, of each sentence so far: words of the source, with EOS; maximum length of
        # the translation; the beam size minus finished hypotheses; the step at which it began
        self._lengths, self._limits, self._capacity, self._begun = [np.zeros(0, int)] * 4
        self.results: list[list[SearchResult]] = []  # by sentence

    def admit(self, batch: SearchBatch) -> None:
        """Add the sentences of a batch."""
        count, known = len(batch.lengths), len(self.results)
        if self.states is None:
            self.states, first_row = batch.states, 0
        else:
            first_row = self.states.rows
            self.states = self.states.join(batch.states)
        self.rows = self.rows.followed_by(Rows.begin(count, known, first_row))
        self._lengths = np.append(self._lengths, batch.lengths)
        self._limits = np.append(self._limits, batch.limits)
        self._capacity = np.append(self._capacity, [self.settings.beam_size] * count)
        self._begun = np.append(self._begun, [self.history.count] * count)
        self.tracker.begin(count, batch.prefixes, batch.constraints)
        self.ranking.begin(batch.lengths, batch.lines)
        self.results += [[] for _ in range(count)]

    def step(self) -> list[tuple[int, list[SearchResult]]]:
        """Extend the hypotheses by one word.

        Returns the number and the results, best first, of each sentence that this step finishes.
        """
        before = set(self.rows.sentence.tolist())
        self._extend()
        finished = []
        for number in sorted(before.difference(self.rows.sentence.tolist())):
            results = sorted(self.results[number], key=lambda result: -result.total)
            finished.append((number, results))
            self.results[number] = []
        if len(self.rows.sentence):  # no live hypothesis needs earlier steps
            self.history.forget(int(self._begun[self.rows.sentence].min()))
        return finished

    def give_up(self, numbers: Collection[int]) -> None:
        """Drop the hypotheses and results of these sentences."""
        self._take(~np.isin(self.rows.sentence, list(numbers)))
        for number in numbers:
            self.results[number] = []

    def _extend(self) -> None:
        """Extend the hypotheses by one word; finished ones go to the results."""
        rows = self.rows
        assert self.states  # noqa: S101 - for types: there are rows

        # 1. Expand each row by its most probable words, and by words that constraints require.
        steps = self.history.count - self._begun[rows.sentence]
        next_words = self.tracker.next_words(rows.sentence, steps)
        expansion = self.states.expand(rows, self.ranking.count, self.settings, next_words)

        # 2. Rank all extensions, and choose the best ones for the places left in each beam.
        totals = self.ranking.totals(rows.sentence, rows.totals(expansion), expansion)
        chosen = self.ranking.choose(rows, totals, self._capacity)
        left = self._limits - (self.history.count + 1 - self._begun)
        parents, places = self.tracker.choose(
            rows.sentence, totals, expansion.words, self._capacity, left, chosen
        )

        # 3. The extensions chosen are the new rows.
        rows = self.rows = self.history.extend(rows, expansion, parents, places)
        self.tracker.advance(parents, rows.previous)
        self.ranking.advance(parents, places, rows.previous)

        # 4. A hypothesis with EOS, or at the length limit, becomes a result and frees its place.
        steps = self.history.count - self._begun[rows.sentence]
        done = (rows.previous == EOS_ID) | (steps >= self._limits[rows.sentence])
        for row in np.flatnonzero(done).tolist():
            number = rows.sentence[row]
            length, first = int(self._lengths[number]), int(self._begun[number])
            result = self.history.result(row, length, first=first)
            self.results[number].append(self.ranking.result(row, result))
        np.subtract.at(self._capacity, rows.sentence[done], 1)

        # 5. Other hypotheses stay unless the best translation of their sentence is decided.
        if self.settings.best_only:
            done |= self._decided()
        self._take(~done)

    def _take(self, alive: np.ndarray) -> None:
        """Keep the rows selected by a mask: (R,) bool."""
        self.rows = self.rows.take(alive)
        self.tracker.take(alive)
        self.ranking.take(alive)

    def _decided(self) -> np.ndarray:
        """Rows of sentences whose best result no live hypothesis can beat: (R,) bool.

        More words only lower a score, and the division by length raises a negative score most at
        the length limit. Dropping whole sentences, never single rows, does not change the search.
        """
        rows, settings = self.rows, self.settings
        decided = np.zeros(len(rows.sentence), bool)
        if settings.word_penalty < 0 or settings.normalize < 0:
            return decided
        limits = self._limits[rows.sentence].astype(np.float64)
        bound = rows.score / limits**settings.normalize
        for sentence in sorted(set(rows.sentence.tolist())):
            if self.results[sentence]:
                best = max(result.total for result in self.results[sentence])
                mine = rows.sentence == sentence
                if best >= bound[mine].max():
                    decided |= mine
        return decided


def shrinking_beam(
    batches: Iterable[SearchBatch],
    settings: SearchSettings,
    *,
    ranking: LogProbability | None = None,
) -> Iterator[tuple[int, list[SearchResult]]]:
    """Translate batches, and yield at most k translations of each sentence as soon as it is done.

    Yields a sentence's number, counted over all batches, and its translations, best first.
    Hypotheses that reach the length limit are returned unfinished. ranking: replaces the ranking by
    log-probability, for a single batch.
    """
    done = 0
    for batch in batches:
        search = BeamSearch(settings, ranking)
        search.admit(batch)
        while len(search.rows.sentence):
            for number, results in search.step():
                yield done + number, results
        done += len(batch.lengths)


def max_tokens_of(workspace: int, beam_size: int, structures: Iterable[Structure]) -> int:
    """The number of padded source words, at least 1, that the workspace (MiB) has memory for."""
    return max(1, int(workspace / mebibytes_of_word(beam_size, structures)))


def mebibytes_of_word(beam_size: int, structures: Iterable[Structure]) -> float:
    """The memory that a search needs for each source word, in MiB.

    A word needs its annotation's products and, once per hypothesis, the attention's hidden layer; a
    hypothesis needs the vocabulary's logits (twice, for the softmax) and its states. Sentences
    count as ten words or more.
    """
    per_token = 0.0
    for s in structures:
        attention = 4 * (s.context * (1 + 2 * beam_size) + 3 * s.state + s.target_embedding)
        row = 4 * (3 * s.target_vocabulary + 12 * s.state + 4 * s.context)
        per_token += attention + beam_size * row / 10
    return per_token / 2**20

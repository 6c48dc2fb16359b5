"""From a distribution over the next word to translations: two beam searches, and sampling.

`shrinking_beam` is the search of Nematus-Theano, DL4MT, amun and Marian: the beam holds k
hypotheses, a finished one leaves it and the beam shrinks, lengths are normalised at the end.
`nematus_tf_beam` is Nematus-TF's: k alive plus up to k finished, both pruned on unnormalised
scores. `sample` draws translations.

All scores are natural logarithms; EOS (id 0) counts as a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .decoder import Expansion, Lattice

EOS = 0
START = -1  # before the first word: its embedding is zeros
# A batch joins when this share of the one before is left to search: `plan.max_tokens_of` knows.
REFILL_BELOW = 0.5


@dataclass(frozen=True)
class SearchSettings:
    """What is searched for.

    normalize: alpha of the division by length ** alpha; word_penalty: subtracted per word;
    unk: the word never to produce, None where it is allowed; best_only: stop as soon as the best
    hypothesis is certain; with_alignment: keep the attention.
    """

    beam_size: int = 5
    normalize: float = 0.0
    word_penalty: float = 0.0
    unk: int | None = None
    best_only: bool = False
    with_alignment: bool = False

    def total(self, score: float, length: int) -> float:
        """The score that hypotheses are ranked by: (score - penalty * length) / length ** alpha."""
        return (score - self.word_penalty * length) / length**self.normalize


class Batch(NamedTuple):
    """Sentences whose search begins together.

    lengths: of the sources, EOS counted; limits: the most words a translation may have, EOS
    counted; prefixes: words that translations have to begin with, a list a sentence, or none.
    """

    lattice: Lattice
    lengths: Sequence[int]
    limits: Sequence[int]
    prefixes: Sequence[Sequence[int]] = ()


def _forced(
    prefixes: Sequence[Sequence[int]], sentences: np.ndarray, steps: np.ndarray
) -> np.ndarray | None:
    """The word that each row has to have at its step, -1 where it is free; None if all are."""
    if not any(prefixes):
        return None
    words = [
        prefixes[sentence][step] if step < len(prefixes[sentence]) else -1
        for sentence, step in zip(sentences, steps, strict=True)
    ]
    return np.array(words, np.int32) if any(word >= 0 for word in words) else None


def _expand(
    lattice: Lattice,
    forced: np.ndarray | None,
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    count: int | None,
    settings: SearchSettings,
) -> tuple[Expansion, np.ndarray]:
    """The words that may follow, and which must not, (R,N) bool.

    forced: as of `_forced`; rows: as of `Lattice.expand`.
    """
    if forced is None:
        expansion = lattice.expand(*rows, count, settings.with_alignment)
    else:  # a forced word need not be among the best
        every = lattice.expand(*rows, None, settings.with_alignment)
        order = np.argsort(-every.log_probs, axis=1, kind="stable")[:, :count]
        order[:, 0] = np.where(forced >= 0, forced, order[:, 0])
        expansion = every._replace(
            words=order.astype(np.int32),
            log_probs=np.take_along_axis(every.log_probs, order, axis=1),
            model_log_probs=np.take_along_axis(every.model_log_probs, order[..., None], axis=1),
        )
    banned = np.zeros(expansion.words.shape, bool)
    if settings.unk is not None:
        banned = expansion.words == settings.unk
    if forced is not None:
        only = np.arange(banned.shape[1]) > 0
        banned = np.where((forced >= 0)[:, None], only, banned)
    return expansion, banned


class Found(NamedTuple):
    """One translation; T words, EOS among them if it is finished."""

    words: np.ndarray  # (T,) int32
    finished: bool
    score: float  # weighted sum of log-probabilities
    total: float  # what it is ranked by
    word_scores: np.ndarray  # (T,) float32: weighted log-probability of each word
    model_scores: np.ndarray  # (M,) float32: each model's own sum
    alignment: np.ndarray | None  # (T,S) float32


class _Step(NamedTuple):
    """One time step of the search: R rows chosen among the extensions of R' expanded ones."""

    parents: np.ndarray  # (R,) row of the step before that each continues
    words: np.ndarray  # (R,)
    log_probs: np.ndarray  # (R,)
    model_log_probs: np.ndarray  # (R,M)
    alignment: np.ndarray | None  # (R,S)


@dataclass
class _History:
    """The steps of a search, to read a hypothesis back from its last row."""

    settings: SearchSettings
    steps: dict[int, _Step] = field(default_factory=dict)
    count: int = 0

    def add(
        self, continued: np.ndarray, expansion: Expansion, rows: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Note which extensions were chosen; their words and log-probabilities.

        continued: (R',) row of the step before of each expanded row; rows, places: (R,) expanded
        row and place in its list of words.
        """
        words, log_probs = expansion.words[rows, places], expansion.log_probs[rows, places]
        own = expansion.model_log_probs[rows, places]
        alignment = None if expansion.alignment is None else expansion.alignment[rows]
        self.steps[self.count] = _Step(continued[rows], words, log_probs, own, alignment)
        self.count += 1
        return words, log_probs

    def forget(self, first: int) -> None:
        """Let go of what lies before a step."""
        for step in [step for step in self.steps if step < first]:
            del self.steps[step]

    def found(self, row: int, length: int, step: int | None = None, first: int = 0) -> Found:
        """The hypothesis that ends in a row of a step, the last one if none is given.

        length: of its source, to cut alignments; first: the step that it began at.
        """
        words, log_probs, own, alignment = [], [], [], []
        step = self.count - 1 if step is None else step
        last = self.steps[step].words[row]
        for t in range(step, first - 1, -1):
            s = self.steps[t]
            words.append(s.words[row])
            log_probs.append(s.log_probs[row])
            own.append(s.model_log_probs[row])
            if s.alignment is not None:
                alignment.append(s.alignment[row, :length])
            row = s.parents[row]
        # summed in the order in which the search added them up
        score = float(np.add.accumulate(np.array(log_probs[::-1], np.float32))[-1])
        return Found(
            np.array(words[::-1], np.int32),
            last == EOS,
            score,
            self.settings.total(score, len(words)),
            np.array(log_probs[::-1], np.float32),
            np.sum(np.array(own[::-1]), axis=0),
            np.stack(alignment[::-1]) if alignment else None,
        )


def shrinking_beam(
    batches: Iterable[Batch], settings: SearchSettings
) -> Iterator[tuple[int, list[Found]]]:
    """Best-first lists of at most k translations for each sentence, as they get ready.

    Yields a sentence's number, counted through all batches, and its list. The next batch joins
    while the last sentences of the one before are still extended: a step of few rows takes nearly
    the time of one of many. What is alive at the limit is returned unfinished.
    """
    beam = settings.beam_size
    count = beam + (settings.unk is not None)
    history = _History(settings)
    waiting = iter(batches)
    lattice: Lattice | None = None
    # by sentence
    results: list[list[Found]] = []
    prefixes: list[Sequence[int]] = []
    lengths = limits = capacity = first = np.zeros(0, int)  # capacity: k less the finished ones
    # by row
    sentences = parents = continued = previous = np.zeros(0, np.int32)
    scores = np.zeros(0, np.float32)
    refill = 0
    while True:
        # not the rows: a sentence begins with one
        while capacity[np.unique(sentences)].sum() <= refill and (batch := next(waiting, None)):
            begun = np.arange(len(batch.lengths), dtype=np.int32)
            parents = np.append(parents, begun + (lattice.rows if lattice else 0))
            lattice = lattice.join(batch.lattice) if lattice else batch.lattice
            sentences = np.append(sentences, begun + len(results))
            continued = np.append(continued, begun)  # nothing: they begin here
            previous = np.append(previous, np.full_like(begun, START))
            scores = np.append(scores, np.zeros(len(begun), np.float32))
            lengths, limits = np.append(lengths, batch.lengths), np.append(limits, batch.limits)
            capacity = np.append(capacity, np.full(len(begun), beam))
            first = np.append(first, np.full(len(begun), history.count))
            prefixes += batch.prefixes or [()] * len(begun)
            results += [[] for _ in begun]
            refill = int(REFILL_BELOW * beam * len(begun))
        if not len(sentences):
            return
        forced = _forced(prefixes, sentences, history.count - first[sentences])
        expansion, banned = _expand(
            lattice, forced, (sentences, parents, previous), count, settings
        )
        begun = np.unique(sentences)
        rows, places = _best_extensions(sentences, scores, expansion, capacity, banned)
        words, log_probs = history.add(continued, expansion, rows, places)
        new_scores = scores[rows] + log_probs
        sentences = sentences[rows]
        done = (words == EOS) | (history.count - first[sentences] >= limits[sentences])
        for row in np.flatnonzero(done):
            number = sentences[row]
            found = history.found(int(row), int(lengths[number]), first=int(first[number]))
            results[number].append(found)
        np.subtract.at(capacity, sentences[done], 1)
        alive = ~done
        if settings.best_only:
            alive &= ~_decided(sentences, new_scores, results, limits, settings)
        continued, parents = np.flatnonzero(alive), rows[alive].astype(np.int32)
        sentences, previous = sentences[alive], words[alive]
        scores = new_scores[alive]
        for number in np.setdiff1d(begun, sentences):
            yield int(number), sorted(results[number], key=lambda f: -f.total)
            results[number] = []
        if len(sentences):
            history.forget(int(first[sentences].min()))


def _best_extensions(
    sentences: np.ndarray,
    scores: np.ndarray,
    expansion: Expansion,
    capacity: np.ndarray,
    banned: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The best `capacity` extensions of each live sentence: rows (ascending sentence), places.

    The best k of a sentence are among the best k of its rows, so only those are looked at. Equal
    scores go to the earlier row, then to the more probable word.
    """
    totals = np.where(banned, -np.inf, scores[:, None] + expansion.log_probs)
    count = totals.shape[1]
    live = np.unique(sentences)
    starts = np.searchsorted(sentences, live)
    sizes = np.diff(np.append(starts, len(sentences)))
    width = int(sizes.max())
    index = starts[:, None] + np.arange(width)
    inside = np.arange(width) < sizes[:, None]
    padded = np.where(inside[..., None], totals[np.where(inside, index, 0)], -np.inf)
    flat = padded.reshape(len(live), -1)
    room = capacity[live]
    order = np.argsort(-flat, axis=1, kind="stable")[:, : int(room.max())]
    taken = np.arange(order.shape[1]) < room[:, None]
    taken &= np.isfinite(np.take_along_axis(flat, order, axis=1))
    which, _ = np.nonzero(taken)
    places = order[taken]
    return starts[which] + places // count, places % count


def _decided(
    sentences: np.ndarray,
    scores: np.ndarray,
    results: list[list[Found]],
    limits: np.ndarray,
    settings: SearchSettings,
) -> np.ndarray:
    """Rows of sentences whose best translation no live hypothesis can beat any more.

    Log-probabilities only lower a score, and the division by length helps a negative one most at
    the limit. Dropping whole sentences, never single rows, leaves the search as it is.
    """
    decided = np.zeros(len(sentences), bool)
    if settings.word_penalty < 0 or settings.normalize < 0:
        return decided
    bound = scores / limits[sentences].astype(np.float64) ** settings.normalize
    for sentence in np.unique(sentences):
        if results[sentence]:
            best = max(found.total for found in results[sentence])
            rows = sentences == sentence
            if best >= bound[rows].max():
                decided |= rows
    return decided


def nematus_tf_beam(batch: Batch, settings: SearchSettings) -> list[list[Found]]:
    """Nematus-TF's search (beam_search_sampler.py): best-first lists, one a sentence.

    At each step the k best extensions of the k alive hypotheses compete: the finished among them
    for the k places of the finished, the others stay alive. A batch goes on until, in each of its
    sentences, the worst finished hypothesis beats the best alive one. That is the program's own
    rule, and makes the tail of its n-best lists depend on the batch.
    """
    beam, size = settings.beam_size, len(batch.lengths)
    history = _History(settings)
    limit = max(1, max(batch.limits) - 1)  # the program counts its start symbol
    alive: list[list[int]] = [[row] for row in range(size)]  # rows of the step before
    finished: list[list[tuple[float, int, int]]] = [[] for _ in range(size)]  # score, step, row
    scores = np.zeros(size, np.float32)
    capacity = np.full(size, beam)
    parents = continued = sentences = np.arange(size, dtype=np.int32)
    previous = np.full(size, START, np.int32)
    count = beam + (settings.unk is not None)
    for step in range(limit):
        rows = (sentences, parents, previous)
        expansion, banned = _expand(batch.lattice, None, rows, count, settings)
        rows, places = _best_extensions(sentences, scores, expansion, capacity, banned)
        words, log_probs = history.add(continued, expansion, rows, places)
        totals = scores[rows] + log_probs
        sentences = sentences[rows]
        going = False
        keep = []
        for sentence in range(size):
            mine = np.flatnonzero(sentences == sentence)
            if not len(mine):
                continue
            ended = [int(row) for row in mine if words[row] == EOS]
            alive[sentence] = [int(row) for row in mine if words[row] != EOS]
            finished[sentence] += [(float(totals[row]), step, row) for row in ended]
            finished[sentence] = sorted(finished[sentence], key=lambda f: -f[0])[:beam]
            keep += alive[sentence]
            # where all have finished at once, the program takes them for alive one step longer
            best_alive = max(totals[row] for row in alive[sentence] or ended)
            worst = finished[sentence][-1][0] if finished[sentence] else -np.inf
            going |= not worst > best_alive
        continued = np.array(keep, np.int32)
        if not going or not keep:
            break
        parents, sentences = rows[continued].astype(np.int32), sentences[continued]
        previous, scores = words[continued], totals[continued]
    last = history.count - 1
    results = []
    for sentence in range(size):
        ends = finished[sentence] or [(0.0, last, row) for row in alive[sentence]]
        found = [history.found(row, batch.lengths[sentence], step) for _, step, row in ends]
        if not finished[sentence]:  # the program counts an EOS that is not there
            found = [f._replace(total=settings.total(f.score, len(f.words) + 1)) for f in found]
        results.append(sorted(found, key=lambda f: -f.total))
    return results


@dataclass(frozen=True)
class Sampling:
    """How words are drawn: from all, or the `top` most probable, at a softmax temperature."""

    temperature: float = 1.0
    top: int | None = None
    seed: int = 0


def sample(
    batch: Batch, settings: SearchSettings, sampling: Sampling, lines: Sequence[int]
) -> list[list[Found]]:
    """k independent translations of each sentence, drawn from the model; the best first.

    lines: each sentence's number in the input. With the seed it determines what is drawn, so that
    a sample does not depend on the batch. Scores are the model's, without temperature.
    """
    beam = settings.beam_size
    count = None if sampling.top is None else sampling.top + (settings.unk is not None)
    history = _History(settings)
    results: list[list[Found]] = [[] for _ in batch.lengths]
    draws = [
        [
            np.random.Generator(np.random.Philox(key=[sampling.seed, line], counter=[0, 0, 0, k]))
            for k in range(beam)
        ]
        for line in lines
    ]
    limits = np.asarray(batch.limits)
    prefixes = batch.prefixes or [()] * len(limits)
    sentences = np.repeat(np.arange(len(limits), dtype=np.int32), beam)
    numbers = np.tile(np.arange(beam), len(limits))
    parents = continued = sentences  # k samples start from a sentence's one row
    previous = np.full(len(sentences), START, np.int32)
    while len(sentences):
        forced = _forced(prefixes, sentences, np.full(len(sentences), history.count))
        expansion, banned = _expand(
            batch.lattice, forced, (sentences, parents, previous), count, settings
        )
        weights = expansion.log_probs.astype(np.float64) / sampling.temperature
        weights = np.where(banned, -np.inf, weights)
        if sampling.top is not None and weights.shape[1] > sampling.top:
            ranks = np.argsort(np.argsort(-weights, axis=1, kind="stable"), axis=1)
            weights = np.where(ranks < sampling.top, weights, -np.inf)
        cumulative = np.cumsum(np.exp(weights - weights.max(axis=1, keepdims=True)), axis=1)
        uniform = np.array([draws[i][k].random() for i, k in zip(sentences, numbers, strict=True)])
        places = (cumulative <= uniform[:, None] * cumulative[:, -1:]).sum(axis=1)
        words, _ = history.add(continued, expansion, np.arange(len(sentences)), places)
        done = (words == EOS) | (history.count >= limits[sentences])
        for row in np.flatnonzero(done):
            number = sentences[row]
            results[number].append(history.found(int(row), batch.lengths[number]))
        parents = continued = np.flatnonzero(~done).astype(np.int32)
        sentences, numbers, previous = sentences[parents], numbers[parents], words[parents]
    return [sorted(found, key=lambda f: -f.total) for found in results]

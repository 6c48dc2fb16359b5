"""From a distribution over the next word to translations: two beam searches, and sampling.

`shrinking_beam` is the search of Nematus-Theano, DL4MT, amun and Marian: the beam holds k
hypotheses, a finished one leaves it and the beam shrinks, lengths are normalised at the end.
`nematus_tf_beam` is Nematus-TF's: k alive plus up to k finished, both pruned on unnormalised
scores. `sample` draws translations.

All scores are natural logarithms; EOS (id 0) counts as a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .decoder import Expansion, Lattice

EOS = 0
START = -1  # before the first word: its embedding is zeros


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


@dataclass(frozen=True)
class Prefixes:
    """Words that translations have to begin with, a list a sentence."""

    words: Sequence[Sequence[int]]

    def at(self, step: int, sentences: np.ndarray) -> np.ndarray | None:
        """The word each row has to have at a step, -1 where it is free; None if all are."""
        if all(len(words) <= step for words in self.words):
            return None
        return np.array(
            [self.words[i][step] if step < len(self.words[i]) else -1 for i in sentences], np.int32
        )


NO_PREFIXES = Prefixes(())


def _expand(
    lattice: Lattice,
    step: int,
    prefixes: Prefixes,
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    count: int | None,
    settings: SearchSettings,
) -> tuple[Expansion, np.ndarray]:
    """The words that may follow, and which must not, (R,N) bool; rows: as of `Lattice.expand`."""
    forced = prefixes.at(step, rows[0])
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
    """All steps of a search, to read a hypothesis back from its last row."""

    settings: SearchSettings
    lengths: Sequence[int]  # source lengths, to cut alignments
    steps: list[_Step] = field(default_factory=list)

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
        self.steps.append(_Step(continued[rows], words, log_probs, own, alignment))
        return words, log_probs

    def found(self, sentence: int, step: int, row: int) -> Found:
        """The hypothesis that ends in a row of a step."""
        words, log_probs, own, alignment = [], [], [], []
        last = self.steps[step].words[row]
        for t in range(step, -1, -1):
            s = self.steps[t]
            words.append(s.words[row])
            log_probs.append(s.log_probs[row])
            own.append(s.model_log_probs[row])
            if s.alignment is not None:
                alignment.append(s.alignment[row, : self.lengths[sentence]])
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
    lattice: Lattice,
    lengths: Sequence[int],
    limits: Sequence[int],
    settings: SearchSettings,
    prefixes: Prefixes = NO_PREFIXES,
) -> list[list[Found]]:
    """Best-first lists of at most k translations for each sentence.

    lengths: source lengths with EOS; limits: the most words a translation may have, EOS counted.
    What is alive at the limit is returned unfinished.
    """
    beam = settings.beam_size
    count = beam + (settings.unk is not None)
    history = _History(settings, lengths)
    results: list[list[Found]] = [[] for _ in lengths]
    capacity = np.full(len(lengths), beam)  # k less the finished ones
    limits = np.asarray(limits)

    sentences = np.arange(len(lengths), dtype=np.int32)
    parents = continued = sentences
    previous = np.full(len(lengths), START, np.int32)
    scores = np.zeros(len(lengths), np.float32)
    step = 0
    while len(sentences):
        expansion, banned = _expand(
            lattice, step, prefixes, (sentences, parents, previous), count, settings
        )
        rows, places = _best_extensions(sentences, scores, expansion, capacity, banned)
        words, log_probs = history.add(continued, expansion, rows, places)
        new_scores = scores[rows] + log_probs
        sentences = sentences[rows]
        done = (words == EOS) | (step + 1 >= limits[sentences])
        for row in np.flatnonzero(done):
            results[sentences[row]].append(history.found(int(sentences[row]), step, int(row)))
        np.subtract.at(capacity, sentences[done], 1)
        alive = ~done
        if settings.best_only:
            alive &= ~_decided(sentences, new_scores, results, limits, settings)
        continued, parents = np.flatnonzero(alive), rows[alive].astype(np.int32)
        sentences, previous = sentences[alive], words[alive]
        scores = new_scores[alive]
        step += 1
    return [sorted(found, key=lambda f: -f.total) for found in results]


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


def nematus_tf_beam(
    lattice: Lattice, lengths: Sequence[int], limits: Sequence[int], settings: SearchSettings
) -> list[list[Found]]:
    """Nematus-TF's search (beam_search_sampler.py); arguments and result as `shrinking_beam`.

    At each step the k best extensions of the k alive hypotheses compete: the finished among them
    for the k places of the finished, the others stay alive. A batch goes on until, in each of its
    sentences, the worst finished hypothesis beats the best alive one. That is the program's own
    rule, and makes the tail of its n-best lists depend on the batch.
    """
    beam = settings.beam_size
    history = _History(settings, lengths)
    batch = len(lengths)
    limit = max(1, max(limits) - 1)  # the program counts its start symbol
    alive: list[list[int]] = [[row] for row in range(batch)]  # rows of the step before
    finished: list[list[tuple[float, int, int]]] = [[] for _ in range(batch)]  # score, step, row
    scores = np.zeros(batch, np.float32)
    capacity = np.full(batch, beam)
    parents = continued = sentences = np.arange(batch, dtype=np.int32)
    previous = np.full(batch, START, np.int32)
    count = beam + (settings.unk is not None)
    for step in range(limit):
        rows = (sentences, parents, previous)
        expansion, banned = _expand(lattice, step, NO_PREFIXES, rows, count, settings)
        rows, places = _best_extensions(sentences, scores, expansion, capacity, banned)
        words, log_probs = history.add(continued, expansion, rows, places)
        totals = scores[rows] + log_probs
        sentences = sentences[rows]
        going = False
        keep = []
        for sentence in range(batch):
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
    last = len(history.steps) - 1
    results = []
    for sentence in range(batch):
        ends = finished[sentence] or [(0.0, last, row) for row in alive[sentence]]
        found = [history.found(sentence, step, row) for _, step, row in ends]
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
    lattice: Lattice,
    lengths: Sequence[int],
    limits: Sequence[int],
    settings: SearchSettings,
    sampling: Sampling,
    lines: Sequence[int],
    prefixes: Prefixes = NO_PREFIXES,
) -> list[list[Found]]:
    """k independent translations of each sentence, drawn from the model; the best first.

    lines: each sentence's number in the input. With the seed it determines what is drawn, so that
    a sample does not depend on the batch. Scores are the model's, without temperature.
    """
    beam = settings.beam_size
    count = None if sampling.top is None else sampling.top + (settings.unk is not None)
    history = _History(settings, lengths)
    results: list[list[Found]] = [[] for _ in lengths]
    draws = [
        [
            np.random.Generator(np.random.Philox(key=[sampling.seed, line], counter=[0, 0, 0, k]))
            for k in range(beam)
        ]
        for line in lines
    ]
    limits = np.asarray(limits)
    sentences = np.repeat(np.arange(len(lengths), dtype=np.int32), beam)
    numbers = np.tile(np.arange(beam), len(lengths))
    parents = continued = sentences  # k samples start from a sentence's one row
    previous = np.full(len(sentences), START, np.int32)
    step = 0
    while len(sentences):
        expansion, banned = _expand(
            lattice, step, prefixes, (sentences, parents, previous), count, settings
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
        done = (words == EOS) | (step + 1 >= limits[sentences])
        for row in np.flatnonzero(done):
            results[sentences[row]].append(history.found(int(sentences[row]), step, int(row)))
        parents = continued = np.flatnonzero(~done).astype(np.int32)
        sentences, numbers, previous = sentences[parents], numbers[parents], words[parents]
        step += 1
    return [sorted(found, key=lambda f: -f.total) for found in results]

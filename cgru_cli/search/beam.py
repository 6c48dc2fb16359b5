"""The beam search of Nematus-Theano, DL4MT, amun and Marian.

The beam holds k hypotheses, a finished one leaves it and the beam shrinks; lengths are normalised
at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..parameters.structure import EOS_ID, Structure
from .ensemble import Lattice
from .hypotheses import (
    START,
    Found,
    History,
    SearchBatch,
    SearchSettings,
    best_extensions,
    expand,
    forced_words,
)

# A batch joins when this share of the one before is left to search.
REFILL_BELOW = 0.5


def shrinking_beam(
    batches: Iterable[SearchBatch], settings: SearchSettings
) -> Iterator[tuple[int, list[Found]]]:
    """Best-first lists of at most k translations for each sentence, as they get ready.

    Yields a sentence's number, counted through all batches, and its list. The next batch joins
    while the last sentences of the one before are still extended: a step of few rows takes nearly
    the time of one of many. What is alive at the limit is returned unfinished.
    """
    beam = settings.beam_size
    count = beam + (settings.unk is not None)
    history = History(settings)
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
        forced = forced_words(prefixes, sentences, history.count - first[sentences])
        expansion, banned = expand(lattice, forced, (sentences, parents, previous), count, settings)
        live = np.unique(sentences)
        rows, places = best_extensions(sentences, scores, expansion, capacity, banned)
        words, log_probs = history.add(continued, expansion, rows, places)
        new_scores = scores[rows] + log_probs
        sentences = sentences[rows]
        done = (words == EOS_ID) | (history.count - first[sentences] >= limits[sentences])
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
        for number in np.setdiff1d(live, sentences):
            yield int(number), sorted(results[number], key=lambda f: -f.total)
            results[number] = []
        if len(sentences):
            history.forget(int(first[sentences].min()))


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


def max_tokens_of(workspace: int, beam_size: int, structures: Iterable[Structure]) -> int:
    """Padded source words that a batch may have to stay within the workspace (MiB).

    A source word takes its annotation's products, and the attention's hidden layer once a
    hypothesis; a hypothesis takes the vocabulary's logits (twice, for the softmax) and its states.
    Sentences are counted as if they were at least ten words long. A part of a batch may be left
    when the next one joins it.
    """
    from .beam import REFILL_BELOW

    per_token = 0.0
    for s in structures:
        attention = 4 * (s.context * (1 + 2 * beam_size) + 3 * s.state + s.target_embedding)
        row = 4 * (3 * s.target_vocabulary + 12 * s.state + 4 * s.context)
        per_token += attention + beam_size * row / 10
    return max(1, int(workspace * 2**20 / ((1 + REFILL_BELOW) * per_token)))

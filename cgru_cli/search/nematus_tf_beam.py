"""The beam search of Nematus-TF: k alive, up to k finished, both pruned on unnormalised scores."""

from __future__ import annotations

import numpy as np

from ..parameters.structure import EOS_ID
from .hypotheses import START, Found, History, SearchBatch, SearchSettings, best_extensions, expand


def nematus_tf_beam(batch: SearchBatch, settings: SearchSettings) -> list[list[Found]]:
    """Nematus-TF's search (beam_search_sampler.py): best-first lists, one a sentence.

    At each step the k best extensions of the k alive hypotheses compete: the finished among them
    for the k places of the finished, the others stay alive. A batch goes on until, in each of its
    sentences, the worst finished hypothesis beats the best alive one. That is the program's own
    rule, and makes the tail of its n-best lists depend on the batch.
    """
    beam, size = settings.beam_size, len(batch.lengths)
    history = History(settings)
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
        expansion, banned = expand(batch.lattice, None, rows, count, settings)
        rows, places = best_extensions(sentences, scores, expansion, capacity, banned)
        words, log_probs = history.add(continued, expansion, rows, places)
        totals = scores[rows] + log_probs
        sentences = sentences[rows]
        going = False
        keep = []
        for sentence in range(size):
            mine = np.flatnonzero(sentences == sentence)
            if not len(mine):
                continue
            ended = [int(row) for row in mine if words[row] == EOS_ID]
            alive[sentence] = [int(row) for row in mine if words[row] != EOS_ID]
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

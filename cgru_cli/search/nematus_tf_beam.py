"""The beam search of Nematus-TF: k alive, up to k finished, both pruned on unnormalised scores."""

from __future__ import annotations

import numpy as np

from ..parameters.structure import EOS_ID
from .decoder_states import Rows
from .hypotheses import History, SearchBatch, SearchResult, best_extensions
from .settings import SearchSettings


def nematus_tf_beam(batch: SearchBatch, settings: SearchSettings) -> list[list[SearchResult]]:
    """Nematus-TF's search (beam_search_sampler.py): best-first lists, one per sentence.

    At each step, the k best extensions of the k alive hypotheses are selected; finished ones
    compete for k places of finished hypotheses, and the others stay alive. A batch ends once the
    worst finished hypothesis beats the best alive one in each sentence. Because of this rule, the
    tail of an n-best list depends on the batch.
    """
    beam, size = settings.beam_size, len(batch.lengths)
    history = History(settings)
    limit = max(1, max(batch.limits) - 1)  # Nematus-TF counts its start symbol
    alive: list[list[int]] = [[row] for row in range(size)]  # rows of the previous step
    finished: list[list[tuple[float, int, int]]] = [[] for _ in range(size)]  # score, step, row
    capacity = np.full(size, beam)
    rows = Rows.begin(size)
    count = beam + (settings.unk is not None)
    for step in range(limit):
        expansion = batch.states.expand(rows, count, settings)
        parents, places = best_extensions(rows, rows.totals(expansion), capacity)
        rows = history.extend(rows, expansion, parents, places)
        going = False
        keep: list[int] = []
        for sentence in range(size):
            mine = np.flatnonzero(rows.sentence == sentence).tolist()
            if not mine:
                continue
            ended = [row for row in mine if rows.previous[row] == EOS_ID]
            alive[sentence] = [row for row in mine if rows.previous[row] != EOS_ID]
            finished[sentence] += [(float(rows.score[row]), step, row) for row in ended]
            finished[sentence] = sorted(finished[sentence], key=lambda end: -end[0])[:beam]
            keep += alive[sentence]
            # if all finish in the same step, Nematus-TF counts them as alive in this step
            best_alive = max(rows.score[row] for row in alive[sentence] or ended)
            worst = finished[sentence][-1][0] if finished[sentence] else -np.inf
            going |= not worst > best_alive
        if not going or not keep:
            break
        rows = rows.take(np.array(keep))
    last = history.count - 1
    results = []
    for sentence in range(size):
        ends = finished[sentence] or [(0.0, last, row) for row in alive[sentence]]
        best = [history.result(row, batch.lengths[sentence], step) for _, step, row in ends]
        if not finished[sentence]:  # Nematus-TF counts a missing EOS
            best = [r._replace(total=settings.total(r.score, len(r.words) + 1)) for r in best]
        results.append(sorted(best, key=lambda result: -result.total))
    return results

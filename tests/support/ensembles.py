"""Ensembles of models in memory, and searches that batches join."""

import numpy as np

from cgru_cli.search.beam import BeamSearch
from cgru_cli.search.decoder_states import Rows
from cgru_cli.search.ensemble import Ensemble
from cgru_cli.search.runtime import PreparedModel, Settings


class OneSource(Ensemble):
    """An ensemble of models (structure, arrays) that read the same source.

    By default they have equal weights.
    """

    def __init__(self, *models, weights=None):
        settings, self.count = Settings("cpu", 1), len(models)
        prepared = [PreparedModel(*model, settings) for model in models]
        super().__init__(prepared, weights or [1 / self.count] * self.count)

    def begin(self, source, words=()):
        """Encode ids and mask (B,S) for every model."""
        return super().begin([source] * self.count, words)


def joined(batches, settings, ranking=None):
    """The results of each sentence by number, if batches join a search as in `cgru serve`."""
    search, found = BeamSearch(settings, ranking), {}
    for batch in batches:
        search.admit(batch)
        for _ in range(2):  # so that sentences may finish before the next batch joins
            if len(search.rows.sentence):
                found |= dict(search.step())
    while len(search.rows.sentence):
        found |= dict(search.step())
    return found


def live(sentence, parent, previous):
    """The live hypotheses with these sentences, rows of the last step, and last words."""
    columns = (np.array(column, np.int32) for column in (sentence, parent, previous))
    sentences, parents, words = columns
    return Rows(sentences, parents, parents, words, np.zeros(len(words), np.float32))

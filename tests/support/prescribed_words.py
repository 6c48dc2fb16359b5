"""A search over prescribed probabilities, in NumPy."""

import numpy as np

from cgru_cli.search.beam import shrinking_beam
from cgru_cli.search.hypotheses import SearchBatch
from cgru_cli.search.lattice import Stepped, Stepper


class PrescribedWords(Stepper):
    """A model in which the previous word determines the probabilities of the next one."""

    def __init__(self, probabilities):
        """probabilities: of all words by their ids, for each previous word; -1 at the start."""
        self._log_probs = {w: np.log(np.float32(p)) for w, p in probabilities.items()}
        self.vocabulary, self.steps = len(probabilities[-1]), 0

    def encode(self, sources):
        return [], []

    def step(self, states, memories, chosen, wanted):
        self.steps += 1
        log_probs = np.array([self._log_probs[word] for word in chosen.previous.tolist()])
        words = None
        if wanted.best is not None:
            words = np.argsort(-log_probs, axis=1, kind="stable")[:, : wanted.best].astype(np.int32)
            log_probs = np.take_along_axis(log_probs, words, axis=1)
        return Stepped(words, log_probs, log_probs[..., None], states, [])

    def columns(self, words, members):
        raise NotImplementedError

    def keep(self, memories, rows, lengths):
        return memories

    def append(self, first, second):
        raise NotImplementedError


def search_prescribed(model, settings, limit):
    """The translations of one sentence, best first."""
    lattice = model.begin([(np.ones((1, 1, 1), np.int32), np.ones((1, 1), np.float32))])
    ((_, found),) = shrinking_beam([SearchBatch(lattice, [1], [limit], lines=[0])], settings)
    return found

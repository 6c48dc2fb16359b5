"""A search over prescribed probabilities, in NumPy."""

import numpy as np

from cgru_cli.search.beam import shrinking_beam
from cgru_cli.search.decoder_states import Stepper, StepResult
from cgru_cli.search.hypotheses import SearchBatch


class PrescribedWords(Stepper):
    """A model in which the previous word determines the probabilities of the next one."""

    def __init__(self, probabilities):
        """probabilities: of all words by their ids, for each previous word; -1 at the start."""
        self._log_probs = {w: np.log(np.float32(p)) for w, p in probabilities.items()}
        self.vocabulary, self.steps = len(probabilities[-1]), 0

    def encode(self, sources):
        return [], []

    def step(self, states, memories, rows, words):
        self.steps += 1
        log_probs = np.array([self._log_probs[word] for word in rows.previous.tolist()])
        best = None
        if words.best is not None:
            best = np.argsort(-log_probs, axis=1, kind="stable")[:, : words.best].astype(np.int32)
            log_probs = np.take_along_axis(log_probs, best, axis=1)
        return StepResult(best, log_probs, log_probs[..., None], states, [])

    def columns(self, words, members):
        raise NotImplementedError

    def keep(self, memories, rows, lengths):
        return memories

    def append(self, first, second):
        raise NotImplementedError


def search_prescribed(model, settings, limit):
    """The translations of one sentence, best first."""
    states = model.begin([(np.ones((1, 1, 1), np.int32), np.ones((1, 1), np.float32))])
    ((_, found),) = shrinking_beam([SearchBatch(states, [1], [limit], lines=[0])], settings)
    return found

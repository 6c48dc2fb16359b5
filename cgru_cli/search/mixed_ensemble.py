"""An ensemble whose models are computed by different libraries, or separately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .lattice import Chosen, Encoded, Sources, Stepped, Stepper, Wanted


class MixedEnsemble(Stepper):
    """Steppers of one model each; NumPy adds their weighted log-probabilities."""

    def __init__(self, parts: Sequence[Stepper], weights: Sequence[float]):
        self.parts, self.weights = list(parts), [float(weight) for weight in weights]
        self.vocabulary = parts[0].vocabulary

    def encode(self, sources: Sources) -> Encoded:
        begun = [part.encode([one]) for part, one in zip(self.parts, sources, strict=True)]
        return [states[0] for states, _ in begun], [memories[0] for _, memories in begun]

    def step(
        self, states: list[Any], memories: list[Any], chosen: Chosen, wanted: Wanted
    ) -> Stepped:
        count, asked, narrow = wanted
        steps = []
        for number, (part, state, memory) in enumerate(
            zip(self.parts, states, memories, strict=True)
        ):
            its = narrow and narrow._replace(columns=narrow.columns[number])
            steps.append(part.step([state], [memory], chosen, Wanted(narrow=its)))
        each = np.concatenate([step.model_log_probs for step in steps], axis=-1)
        total = np.zeros_like(each[..., 0])
        for number, weight in enumerate(self.weights):
            if weight:  # 0 * -inf is not a number
                total += weight * each[..., number]
        after = [step.states[0] for step in steps]
        alignments = [alignment for step in steps for alignment in step.alignments]
        if count is None:
            return Stepped(None, total, each, after, alignments)
        more = np.zeros((len(total), 0), np.int32)
        if asked is not None:
            more, banned = asked
            total[banned[:, 0], banned[:, 1]] = -np.inf
        words = np.concatenate([_top_k(total, count), more], axis=1).astype(np.int32)
        log_probs = np.take_along_axis(total, words, axis=1)
        own = np.take_along_axis(each, words[..., None], axis=1)
        return Stepped(words, log_probs, own, after, alignments)

    def columns(self, words: np.ndarray, members: np.ndarray) -> list[Any]:
        return [part.columns(words, members) for part in self.parts]

    def keep(self, memories: list[Any], rows: np.ndarray, lengths: np.ndarray) -> list[Any]:
        members = zip(self.parts, memories, lengths, strict=True)
        return [part.keep([memory], rows, length[None])[0] for part, memory, length in members]

    def append(self, first: Any, second: Any) -> Any:
        joined = [
            part.append(([x], [m]), ([y], [n]))
            for part, x, m, y, n in zip(self.parts, *first, *second, strict=True)
        ]
        return [states[0] for states, _ in joined], [memories[0] for _, memories in joined]


def _top_k(x: np.ndarray, count: int) -> np.ndarray:
    """The indices (R,count) of the largest numbers of each row (R,V), the largest first."""
    places = np.argpartition(-x, count - 1, axis=1)[:, :count]
    values = np.take_along_axis(x, places, axis=1)
    order = np.lexsort((places, -values), axis=1)
    return np.take_along_axis(places, order, axis=1)

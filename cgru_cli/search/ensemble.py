"""One or several models, searched as one distribution over the next word.

An ensemble adds its members' weighted log-probabilities. `Ensemble.begin` encodes a batch and
returns the `DecoderStates` that a search extends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..formats.onnx_file import NARROW_STEP, STEP
from .decoder_states import Encoded, Sources, Stepper, StepResult, StepRows, WordsToScore, joined
from .runtime import PreparedModel, Session

Arrays = list[np.ndarray]


class Ensemble(Stepper):
    """Models that share a target vocabulary, and their weights in the sum.

    The states and memories of each model are lists of arrays.
    """

    def __init__(self, models: Sequence[PreparedModel], weights: Sequence[float] = (1.0,)):
        from ..network import graphs

        self.vocabulary = models[0].structure.target_vocabulary
        first, begun = map(
            list, zip(*[graphs.beginning(one.network) for one in models], strict=True)
        )
        step = graphs.stepping([model.network for model in models], weights, begun)
        for model in models:
            model.release()
        # one graph after another, because each holds arrays that its session replaces
        self._begin = [model.session(first.pop(0)) for model in models]
        self._step = models[0].session(step)
        self._empty = self._step.empty_inputs()
        self._each = _starting("model_log_probs", self._step)
        self._alignments = _starting("alignment", self._step)
        self._new_cells = _starting("new_cells", self._step)
        # the names of each model's states and memory after `encode`
        self._cells = [_starting("new_cells", session) for session in self._begin]
        self._memory = [_starting("new_memory", session) for session in self._begin]

    def share_processors(self) -> None:
        """See `Session.share_processors`."""
        for session in (*self._begin, self._step):
            session.share_processors()

    def encode(self, sources: Sources) -> Encoded:
        states, memories = [], []
        members = zip(self._begin, self._cells, self._memory, sources, strict=True)
        for session, cells, memory, (source, mask) in members:
            found = session.run([*cells, *memory], {"source": source, "source_mask": mask})
            states.append(found[: len(cells)])
            memories.append(found[len(cells) :])
        return states, memories

    def step(
        self, states: list[Arrays], memories: list[Arrays], rows: StepRows, words: WordsToScore
    ) -> StepResult:
        count, narrow = words.best, words.narrow
        inputs = self._empty | rows._asdict()
        inputs["count"] = np.array(count or 1, np.int32)
        inputs["task"] = np.array(STEP if narrow is None else NARROW_STEP, np.int32)
        inputs["asked"] = np.zeros((len(rows.parents), 0), np.int32)
        if words.required is not None:
            inputs["asked"] = words.required
        if words.banned is not None:
            inputs["banned"] = words.banned
        if narrow is not None:
            inputs |= narrow.columns | {"sets": narrow.sets}
        inputs |= _numbered("cells", states) | _numbered("memory", memories)
        scores = ["all_log_probs"] if count is None else ["log_probs", "best"]
        names = [*scores, *self._each, *self._alignments, *self._new_cells]
        found = iter(self._step.run(names, inputs))
        log_probs = next(found)
        best = None if count is None else next(found)
        each = [next(found) for _ in self._each]
        if best is not None:
            each = [np.take_along_axis(one, best, axis=1) for one in each]
        alignments = [next(found) for _ in self._alignments]
        after = [[next(found) for _ in state] for state in states]
        own = np.stack(each, axis=-1) if each else log_probs[..., None]
        return StepResult(best, log_probs, own, after, alignments)

    def columns(self, words: np.ndarray, members: np.ndarray) -> dict[str, np.ndarray]:
        """The output layer of these words, as inputs of the graph."""
        return {"words": words, "members": members}

    def keep(self, memories: list[Arrays], rows: np.ndarray, lengths: np.ndarray) -> list[Arrays]:
        return [
            [
                x[rows, :length] if _has_source(session, name) else x[rows]
                for x, name in zip(memory, names, strict=True)
            ]
            for session, memory, names, length in zip(
                self._begin, memories, self._memory, lengths, strict=True
            )
        ]

    def append(self, first: Any, second: Any) -> Any:
        return tuple(
            [
                [
                    joined(x, y, _has_source(session, name))
                    for x, y, name in zip(*both, names, strict=True)
                ]
                for session, *both, names in zip(self._begin, *kind, strict=True)
            ]
            for kind in zip(first, second, (self._cells, self._memory), strict=True)
        )


def _starting(start: str, session: Session) -> list[str]:
    return [name for name in session.outputs if name.startswith(start)]


def _has_source(session: Session, name: str) -> bool:
    """Whether a state or memory has a source axis of any size, (B,S,..)."""
    shape = session.shape(name)
    return len(shape) > 1 and not isinstance(shape[1], int)


def _numbered(name: str, lists: Sequence[Arrays]) -> dict[str, np.ndarray]:
    arrays = (x for one in lists for x in one)
    return {f"{name}.{i}": x for i, x in enumerate(arrays)}

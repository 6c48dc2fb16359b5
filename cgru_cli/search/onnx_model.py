"""A model in an ONNX file, computed by ONNX Runtime without TensorFlow.

`network/onnx_export.py` describes the graph: its inputs, its outputs and its branches.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CgruError, reason
from ..formats.onnx_file import ATTRIBUTE, BEGIN, NARROW_STEP, SCORING_STEP, STEP
from ..network.scores import Scores
from ..system.versions import installed
from .lattice import Chosen, Encoded, Sources, Stepped, Stepper, Wanted

_TYPES = {"tensor(int32)": np.int32, "tensor(float)": np.float32, "tensor(bool)": np.bool_}
_ERRORS_ONLY = 4  # errors become exceptions anyway


class OnnxModel(Stepper):
    """One model; its states and memories are lists of arrays."""

    def __init__(self, model: str | os.PathLike[str] | bytes, threads: int | None = None):
        """model: a file, or its content. threads: their number; None uses all processors.

        Raises CgruError if ONNX Runtime is missing or cannot load the model.
        """
        onnxruntime = installed("onnxruntime", "onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
        # spinning between the products of a step would take half of the CPU time
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = _ERRORS_ONLY
        try:
            self._session = onnxruntime.InferenceSession(
                model if isinstance(model, bytes) else os.fspath(model),
                options,
                providers=["CPUExecutionProvider"],
            )
            metadata = self._session.get_modelmeta().custom_metadata_map
            self.vocabulary = int(json.loads(metadata[ATTRIBUTE])["vocabulary"])
        except Exception as error:
            name = "the model" if isinstance(model, bytes) else Path(model)
            raise CgruError(f"{name}: ONNX Runtime cannot load it: {reason(error)}") from None
        self._unread: dict[str, np.ndarray] = {
            one.name: np.zeros(
                [n if isinstance(n, int) else 0 for n in one.shape], _TYPES[one.type]
            )
            for one in self._session.get_inputs()
        }
        outputs = {one.name: one.shape for one in self._session.get_outputs()}
        self._attends = "alignment" in outputs
        self._new = {
            kind: [name for name in outputs if name.startswith(f"new_{kind}.")]
            for kind in ("cells", "memory")
        }
        # whether an array (B,S,..) has a source axis
        self._has_source = {
            kind: [
                len(outputs[name]) > 1 and not isinstance(outputs[name][1], int) for name in names
            ]
            for kind, names in self._new.items()
        }

    def _run(self, task: int, outputs: Sequence[str], **inputs: np.ndarray) -> list[np.ndarray]:
        given = self._unread | {name: np.asarray(x, order="C") for name, x in inputs.items()}
        given["task"] = np.array(task, np.int32)
        return self._session.run(outputs, given)

    def encode(self, sources: Sources) -> Encoded:
        ((source, mask),) = sources
        source = source.view(self._unread["source"].dtype)  # float32 for vectors
        cells, memory = self._new["cells"], self._new["memory"]
        found = self._run(BEGIN, [*cells, *memory], source=source, source_mask=mask)
        return [found[: len(cells)]], [found[len(cells) :]]

    def step(
        self,
        states: list[Any],
        memories: list[Any],
        chosen: Chosen,
        wanted: Wanted,
        *,
        task: int = STEP,
    ) -> Stepped:
        (cells,), (memory,) = states, memories
        count, asked, narrow = wanted
        rows = len(chosen.parents)
        places, banned = asked or (np.zeros((rows, 0), np.int32), np.zeros((0, 2), np.int32))
        inputs = chosen._asdict() | {"asked": places, "banned": banned}
        inputs["count"] = np.array(count or 1, np.int32)
        inputs |= {f"cells.{i}": x for i, x in enumerate(cells)}
        inputs |= {f"memory.{i}": x for i, x in enumerate(memory)}
        if narrow is not None:
            task = NARROW_STEP
            inputs |= narrow.columns | {"sets": narrow.sets}
        scores = ["all_log_probs"] if count is None else ["log_probs", "best"]
        attention = ["alignment"] * self._attends
        found = self._run(task, [*scores, *attention, *self._new["cells"]], **inputs)
        log_probs, found = found[0], found[1:]
        words = None if count is None else found.pop(0)
        alignments = [found.pop(0)] if attention else []
        return Stepped(words, log_probs, log_probs[..., None], [found], alignments)

    def columns(self, words: np.ndarray, members: np.ndarray) -> dict[str, np.ndarray]:
        """The output layer of these words, as inputs of the graph."""
        return {"words": words, "members": members}

    def keep(self, memories: list[Any], rows: np.ndarray, lengths: np.ndarray) -> list[Any]:
        (memory,) = memories
        with_source = zip(memory, self._has_source["memory"], strict=True)
        return [[x[rows, : lengths[0]] if has_source else x[rows] for x, has_source in with_source]]

    def append(self, first: Any, second: Any) -> Any:
        return tuple(
            [[_joined(*two) for two in zip(x[0], y[0], self._has_source[kind], strict=True)]]
            for x, y, kind in zip(first, second, ("cells", "memory"), strict=True)
        )


class OnnxScorer:
    """Score given translations by one model, with a step for each word."""

    def __init__(self, model: OnnxModel, *, with_alignment: bool):
        self._model, self._with_alignment = model, with_alignment

    def __call__(
        self,
        source: np.ndarray,
        source_mask: np.ndarray,
        target: np.ndarray,
        target_mask: np.ndarray,
    ) -> Scores:
        """source (B,S,F) and target (B,T) int32, ended by EOS; masks (B,S) and (B,T) float32."""
        states, memories = self._model.encode([(source, source_mask)])
        rows = np.arange(len(target), dtype=np.int32)
        none = np.zeros((0, 2), np.int32)
        previous = np.full(len(target), -1, np.int32)
        log_probs, alignments = [], []
        for words in target.T:
            chosen = Chosen(rows, previous, rows, np.zeros_like(rows))
            wanted = Wanted(1, (words[:, None], none))
            step = self._model.step(states, memories, chosen, wanted, task=SCORING_STEP)
            states, previous = step.states, words
            log_probs.append(step.log_probs[:, -1])
            alignments += step.alignments
        alignment = None
        if alignments and self._with_alignment:
            alignment = np.stack(alignments, axis=1)
        return Scores(np.stack(log_probs, axis=1) * target_mask, alignment)


def _joined(x: np.ndarray, y: np.ndarray, has_source: bool) -> np.ndarray:
    if has_source:
        longest = max(x.shape[1], y.shape[1])
        x, y = (
            np.pad(z, [(0, 0), (0, longest - z.shape[1])] + [(0, 0)] * (z.ndim - 2)) for z in (x, y)
        )
    return np.concatenate([x, y])

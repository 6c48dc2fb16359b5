"""A model's computation as an ONNX graph, converted from the functions of `Network`.

The input `task` of the graph selects the computation:

- 0: `source` and `source_mask` -> the states and the memory of a search, from `encode` and `start`.
- 1: a step of the search, from `step`: the `count` best words of each row.
- 2: like 1, with only some words of the output layer.
- 3: like 1, to score given words; only a CRF computes them differently.

A call passes all inputs, of size 0 if the task ignores them, and gets all outputs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ..errors import CgruError
from ..formats.onnx_file import ATTRIBUTE, LARGEST_WEIGHT, NARROW_STEP, SCORING_STEP, VERSION
from ..parameters.structure import Condition, Structure
from ..system.versions import installed
from .inference import forward_only
from .network import Network, SearchState
from .top_k import top_k

OPSET = 18
LARGEST = 1_900_000_000  # bytes of arrays; a Protocol Buffers message has at most 2 GiB


def exported(
    structure: Structure,
    arrays: Mapping[str, np.ndarray],
    description: Mapping[str, Any],
    precision: str = "float32",
) -> bytes:
    """The content of an ONNX file of the model.

    arrays: float32 or float16, by their DL4MT/Nematus names. description: see `onnx_file`.
    precision: data type of the matrix products, float32 or int8. Raises CgruError if the packages
    of the extra `onnx` are missing, and for a model of more than 2 GiB.
    """
    if sum(array.nbytes for array in arrays.values()) > LARGEST:
        raise CgruError("an ONNX file holds at most 2 GiB; --store float16 halves the model")
    from_function = installed("tf2onnx.convert", "onnx").from_function
    from .onnx_graph import content, joined

    if precision == "int8":  # not rounded to 16 bits before it is rounded to 8
        arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    graphs = []
    with forward_only():
        for function, signature in _branches(structure, arrays):
            traced = tf.function(function, signature, autograph=False)
            graphs.append(from_function(traced, signature, OPSET)[0].graph)
    own = {**description, "version": VERSION, "precision": precision}
    own["vocabulary"] = structure.target_vocabulary
    if precision == "int8":
        own["largest_weight"] = LARGEST_WEIGHT
    return content(joined(graphs, arrays, OPSET), {ATTRIBUTE: json.dumps(own)}, precision)


def _branches(
    structure: Structure, arrays: Mapping[str, np.ndarray]
) -> list[tuple[Callable[..., dict[str, tf.Tensor]], list[tf.TensorSpec]]]:
    """The function of each branch, and its arguments: its inputs, then the model's arrays."""
    weights = [tf.TensorSpec(array.shape, array.dtype, name) for name, array in arrays.items()]
    nests: list[Any] = []

    def network(given: Sequence[tf.Tensor]) -> Network:
        matrices = (tf.cast(matrix, tf.float32) for matrix in given)
        return Network(structure, dict(zip(arrays, matrices, strict=True)), tiled=True)

    def begin(source: tf.Tensor, mask: tf.Tensor, *given: tf.Tensor) -> dict[str, tf.Tensor]:
        model = network(given)
        memory = model.encode(source, mask, search=True)
        cells = model.start(memory).cells
        nests[:] = [cells, memory]
        return _numbered("new_cells", cells) | _numbered("new_memory", memory)

    # floats directly, because tf2onnx cannot convert `tf.bitcast`
    kind = tf.float32 if structure.condition is Condition.VECTOR else tf.int32
    source = [
        tf.TensorSpec([None, None, structure.source_columns], kind, "source"),
        tf.TensorSpec([None, None], tf.float32, "source_mask"),
    ]
    branches: list[Any] = [(begin, [*source, *weights])]
    begun = tf.function(begin, branches[0][1], autograph=False).get_concrete_function()
    state = [
        tf.TensorSpec([None, *x.shape[1:]], x.dtype, name.removeprefix("new_"))
        for name, x in begun.structured_outputs.items()
    ]
    rows = [
        tf.TensorSpec([None], tf.int32, name)
        for name in ("parents", "previous", "sentence", "slot")
    ]
    asked = [
        tf.TensorSpec([], tf.int32, "count"),
        tf.TensorSpec([None, None], tf.int32, "asked"),
        tf.TensorSpec([None, 2], tf.int32, "banned"),
    ]
    columns = [
        tf.TensorSpec([None], tf.int32, "words"),
        tf.TensorSpec([None, None], tf.bool, "members"),
        tf.TensorSpec([None], tf.int32, "sets"),
    ]
    columns = [*columns * structure.type.writes_text, tf.TensorSpec([], tf.int32, "task")]

    def step(*inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        given = list(inputs)
        parents, previous, sentence, slot, count, asked, banned = given[:7]
        del given[:7]
        *narrow, task = [given.pop(0) for _ in columns]
        cells, memory = tf.nest.pack_sequence_as(nests, given[: len(state)])
        model = network(given[len(state) :])
        output = None
        if narrow:
            words, members, sets = narrow
            output = model.read_out.columns(words)._replace(
                members=members, sets=sets, chosen=tf.equal(task, NARROW_STEP)
            )
        if structure.crf:
            scores = tf.equal(task, SCORING_STEP)
            memory = memory._replace(vectors=tf.where(scores, memory.summed, memory.vectors))
        cells = tf.nest.map_structure(lambda x: tf.gather(x, parents), cells)
        rows = SearchState(cells, sentence, slot)
        logits, after, alignment = model.step(rows, previous, memory, output)
        if structure.crf:  # not `where`: its ONNX conversion turns -inf into NaN
            total = tf.reduce_logsumexp(logits, axis=-1, keepdims=True)
            every = logits - tf.cast(scores, tf.float32) * total
        else:
            every = tf.nn.log_softmax(logits)

        def best_allowed() -> tuple[tf.Tensor, tf.Tensor]:
            never = tf.fill([tf.shape(banned)[0]], tf.constant(-math.inf, every.dtype))
            allowed = tf.tensor_scatter_nd_update(every, banned, never)
            return top_k(allowed, count, structure.target_vocabulary)

        log_probs, best = tf.cond(
            tf.shape(banned)[0] > 0,
            best_allowed,
            lambda: top_k(every, count, structure.target_vocabulary),
        )
        more = tf.gather(every, asked, batch_dims=1)
        results = {
            "best": tf.concat([best, asked], axis=1),
            "log_probs": tf.concat([log_probs, more], axis=1),
            "all_log_probs": every,
        }
        if tf.is_tensor(alignment):
            results["alignment"] = alignment
        return results | _numbered("new_cells", after.cells)

    branches.append((step, [*rows, *asked, *columns, *state, *weights]))
    return branches


def _numbered(name: str, nest: Any) -> dict[str, tf.Tensor]:
    """The tensors of a nested structure by name, in order: name.0, name.1, ..."""
    return {f"{name}.{i}": tf.identity(x) for i, x in enumerate(tf.nest.flatten(nest))}

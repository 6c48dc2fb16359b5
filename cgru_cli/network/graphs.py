"""A model's computation as ONNX graphs: the beginning of a search, its steps, and scores.

The graphs come from the equations: a `Network` computes with the engine `engines.onnx`. In memory,
each computation is a graph of its own, and arrays stay outside it. A file has one graph with the
model's arrays under their names; its input `task` selects the computation:

- 0: `source` and `source_mask` -> the states and the memory of a search, from `encode` and `start`.
- 1: a step of the search, from `step`: the `count` best words of each row.
- 2: like 1, with only some words of the output layer.
- 3: like 1, to score given words; only a CRF computes them differently.

A call of a file passes all inputs, of size 0 if the task ignores them, and gets all outputs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import CgruError
from ..formats.onnx_file import (
    ATTRIBUTE,
    BEGIN,
    INTEGERS,
    NARROW_STEP,
    SCALE,
    SCORING_STEP,
    VERSION,
    inputs_of,
)
from ..parameters.integers import Integers
from ..parameters.structure import Structure
from . import nest, ops
from .engines import onnx
from .forced_decoding import unroll
from .network import Network, SearchState
from .ops import Tensor
from .top_k import top_k

OUTSIDE = 1024  # bytes of the smallest array that stays outside a graph in memory
SOURCE = "source", "source_mask"  # the inputs of task 0
LARGEST = 1_900_000_000  # bytes of arrays; a Protocol Buffers message has at most 2 GiB
LOGITS = 2**22  # numbers of the output layer that scoring computes at once


class Computation(NamedTuple):
    """A graph in memory: a serialized model, and the arrays that it reads by name."""

    content: bytes
    arrays: dict[str, np.ndarray]


def network_of(structure: Structure, arrays: Mapping[str, np.ndarray | Integers]) -> Network:
    """A network for graphs; what depends only on its arrays is computed here, by NumPy."""
    with ops.using(onnx):
        return Network(structure, arrays, tiled=True)


def beginning(network: Network) -> tuple[Computation, Any]:
    """The graph of task 0, and its results as (cells, memory), for their types."""
    with ops.using(onnx), onnx.graph() as graph:
        begun = _begun(network, *_source(network.structure))
        return _finished(graph, _new_states(*begun)), begun


def stepping(
    networks: Sequence[Network], weights: Sequence[float], begun: Sequence[Any]
) -> Computation:
    """The graph of a step of an ensemble. begun: the nests of `beginning`, one per network."""
    with ops.using(onnx), onnx.graph() as graph:
        inputs = _rows(networks[0].structure)
        states = _states(graph, begun)
        return _finished(graph, _stepped(networks, weights, states, inputs))


def scoring(network: Network) -> Computation:
    """The graph of scores of known translations.

    Inputs: `source`, `source_mask`, `target` (B,T) int32 and `words` (N,) int32, places in (T,B) of
    words that are not padding. Outputs: `log_probs` (N,) and, with attention, `alignment` (B,T,S).
    """
    with ops.using(onnx), onnx.graph() as graph:
        source = _source(network.structure)
        target = onnx.new_input("target", "int32", [None, None])
        words = onnx.new_input("words", "int32", [None])
        unrolled = unroll(network, *source, target)
        flat = ops.reshape(ops.transpose(target), [-1])

        def scored(some: Tensor) -> Tensor:
            every = ops.log_softmax(_logits(network, unrolled, some))
            return ops.take_each(every, ops.take(flat, some)[:, None])[:, 0]

        results = {"log_probs": _by_parts(scored, words, network.structure.target_vocabulary)}
        if ops.is_tensor(unrolled.recurrence.alignment):
            results["alignment"] = unrolled.alignment()
        return _finished(graph, results)


def ranking(networks: Sequence[Network], weights: Sequence[float]) -> Computation:
    """The graph of the most probable words at each position of known translations.

    Inputs: `source.M` and `source_mask.M` of model number M, `target` (B,T), `words` (N,) as for
    `scoring`, and `count`. Outputs: `best` (N,count) int32 and `log_probs` (N,count).
    """
    with ops.using(onnx), onnx.graph() as graph:
        sources = [
            _source(network.structure, f".{number}") for number, network in enumerate(networks)
        ]
        target = onnx.new_input("target", "int32", [None, None])
        words = onnx.new_input("words", "int32", [None])
        count = onnx.new_input("count", "int32", [])
        unrolled = [
            unroll(network, *source, target)
            for network, source in zip(networks, sources, strict=True)
        ]
        vocabulary = networks[0].structure.target_vocabulary

        def ranked(some: Tensor) -> Tensor:
            members = zip(networks, unrolled, strict=True)
            each = [ops.log_softmax(_logits(network, one, some)) for network, one in members]
            total = each[0] if len(each) == 1 else ops.log_softmax(_weighted(weights, each))
            values, places = top_k(total, count, vocabulary)
            return ops.stack([values, ops.cast(places, "float32")], axis=1)

        found = _by_parts(ranked, words, vocabulary)
        results = {"log_probs": found[:, 0], "best": ops.cast(found[:, 1], "int32")}
        return _finished(graph, results)


def file_of(
    structure: Structure,
    arrays: Mapping[str, np.ndarray | Integers],
    description: Mapping[str, Any],
) -> bytes:
    """The content of an ONNX file of the model.

    arrays: float32 or float16, by their DL4MT/Nematus names, or `Integers`. description: the
    metadata of the file. Raises CgruError for a model of more than 2 GiB.
    """
    if sum(array.nbytes for array in arrays.values()) > LARGEST:
        raise CgruError("an ONNX file holds at most 2 GiB; --store float16 halves the model")
    precision = "float32"
    with ops.using(onnx), onnx.graph() as graph:
        values: dict[str, Any] = {}
        for name, array in arrays.items():
            if isinstance(array, Integers):
                precision = "int8"
                integers = onnx.parameter(f"{name}{INTEGERS}", array.integers)
                scale = np.expand_dims(array.scale, 1 - array.axis)
                flat = ops.squeeze(onnx.parameter(f"{name}{SCALE}", scale), 1 - array.axis)
                values[name] = Integers(integers, flat, array.axis)
            else:
                values[name] = ops.cast(onnx.parameter(name, array), "float32")
        network = Network(structure, values, tiled=True)
        source = _source(structure)
        inputs = _rows(structure)
        with onnx.graph(graph):  # only for the types of its results
            begun = _begun(network, *source)
        states = _states(graph, [begun])

        def begin() -> dict[str, Tensor]:
            return _new_states(*_begun(network, *source))

        def step() -> dict[str, Tensor]:
            return _stepped([network], [1.0], states, inputs)

        with onnx.graph(graph):  # likewise
            kinds = step() | _new_states(*begun)

        def every(results: dict[str, Tensor]) -> list[Tensor]:
            return [results[name] if name in results else _none(x) for name, x in kinds.items()]

        found = ops.cond(inputs["task"] == BEGIN, lambda: every(begin()), lambda: every(step()))
        results = {
            name: onnx.Tensor(x.dtype, kind.shape, x.name)
            for (name, kind), x in zip(kinds.items(), found, strict=True)
        }
        about = {**description, "version": VERSION, "precision": precision}
        about["vocabulary"] = structure.target_vocabulary
        return onnx.model_of(graph, results, metadata={ATTRIBUTE: json.dumps(about)})[0]


def _finished(graph: onnx.Graph, results: dict[str, Tensor]) -> Computation:
    return Computation(*onnx.model_of(graph, results, outside=OUTSIDE))


def _source(structure: Structure, suffix: str = "") -> tuple[Tensor, Tensor]:
    """The inputs of a source: (B,S,F) and its mask (B,S)."""
    kinds = inputs_of(structure)
    source, mask = (onnx.new_input(f"{name}{suffix}", *kinds[name]) for name in SOURCE)
    return source, mask


def _rows(structure: Structure) -> dict[str, Tensor]:
    """The inputs of a step besides states and memory."""
    kinds = inputs_of(structure)
    return {name: onnx.new_input(name, *kinds[name]) for name in kinds if name not in SOURCE}


def _states(graph: onnx.Graph, begun: Sequence[Any]) -> list[Any]:
    """The inputs of states and memory, in the form of each network's results of `_begun`."""
    states = [nest.mapped(_any_rows, one) for one in begun]
    cells, memory = zip(*states, strict=True)
    for name, x in (_numbered("cells", cells) | _numbered("memory", memory)).items():
        x.name = name
        graph.inputs.append(x)
    return states


def _new_states(cells: Any, memory: Any) -> dict[str, Tensor]:
    """The outputs of states and memory."""
    return _numbered("new_cells", cells) | _numbered("new_memory", memory)


def _begun(network: Network, source: Tensor, mask: Tensor) -> tuple[Any, Any]:
    memory = network.encode(source, mask, search=True)
    return network.start(memory).cells, memory


def _stepped(
    networks: Sequence[Network],
    weights: Sequence[float],
    states: Sequence[Any],
    inputs: Mapping[str, Tensor],
) -> dict[str, Tensor]:
    """The results of a step by name. states: [cells, memory] of each network."""
    every, alignments, after = [], [], []
    for network, (cells, memory) in zip(networks, states, strict=True):
        cells = nest.mapped(lambda x: ops.take(x, inputs["parents"]), cells)
        rows = SearchState(cells, inputs["sentence"], inputs["slot"])
        log_probs, state, alignment = _words_after(network, rows, memory, inputs)
        every.append(log_probs)
        after.append(state.cells)
        alignments += [alignment] if ops.is_tensor(alignment) else []
    total = every[0] if len(every) == 1 and weights[0] == 1 else _weighted(weights, every)
    asked, banned = inputs["asked"], inputs["banned"]
    vocabulary = networks[0].structure.target_vocabulary

    def allowed() -> tuple[Tensor, Tensor]:
        never = ops.full([ops.shape(banned)[0]], -math.inf)
        return top_k(ops.scatter_update(total, banned, never), inputs["count"], vocabulary)

    log_probs, best = ops.cond(
        ops.shape(banned)[0] > 0, allowed, lambda: top_k(total, inputs["count"], vocabulary)
    )
    more = ops.take_each(total, asked)
    results = {
        "best": ops.concat([ops.cast(best, "int32"), asked], axis=1),
        "log_probs": ops.concat([log_probs, more], axis=1),
        "all_log_probs": total,
    }
    for number, alignment in enumerate(alignments):
        results["alignment" if not number else f"alignment.{number}"] = alignment
    if len(every) > 1 or weights[0] != 1:
        results |= {f"model_log_probs.{number}": one for number, one in enumerate(every)}
    return results | _numbered("new_cells", after)


def _words_after(
    network: Network, rows: SearchState, memory: Any, inputs: Mapping[str, Tensor]
) -> tuple[Tensor, SearchState, Tensor | tuple]:
    """Log-probabilities (R,V) of the next words, the new state and the alignment."""
    structure, columns = network.structure, None
    scores = inputs["task"] == SCORING_STEP
    if "words" in inputs:
        columns = network.read_out.columns(inputs["words"])._replace(
            members=inputs["members"], sets=inputs["sets"], chosen=inputs["task"] == NARROW_STEP
        )
    if structure.crf:
        memory = memory._replace(vectors=ops.where(scores, memory.summed, memory.vectors))
    logits, after, alignment = network.step(rows, inputs["previous"], memory, columns)
    if structure.crf:  # not `where`, because impossible labels have -inf
        total = ops.logsumexp(logits, axis=-1, keepdims=True)
        return logits - ops.cast(scores, "float32") * total, after, alignment
    return ops.log_softmax(logits), after, alignment


def _weighted(weights: Sequence[float], log_probs: Sequence[Tensor]) -> Tensor:
    pairs = zip(weights, log_probs, strict=True)
    parts = [weight * part for weight, part in pairs if weight]  # 0 * -inf is not a number
    return ops.add_n(parts) if parts else ops.zeros_like(log_probs[0])


def _logits(network: Network, unrolled: Any, words: Tensor) -> Tensor:
    """Logits (N,V) at places (N,) in (T,B)."""

    def at_words(x: Tensor) -> Tensor:
        steps, rows, *rest = ops.shape(x)
        return ops.take(ops.reshape(x, [steps * rows, *rest]), words)

    return network.read_out(*nest.mapped(at_words, unrolled))


def _by_parts(function: Any, words: Tensor, vocabulary: int) -> Tensor:
    """function(words), computed for a few words at a time, to limit memory: (N,..)."""
    count, height = ops.shape(words)[0], max(1, LOGITS // vocabulary)
    number = (count + height - 1) // height
    height = ops.minimum(ops.convert(height, "int64"), count)

    def part(i: Tensor) -> Tensor:
        own = ops.minimum(i * height + ops.arange(height), count - 1)
        return function(ops.take(words, own))

    found = ops.stack_of(part, number)
    return ops.reshape(found, [-1, *ops.shape(found)[2:]])[:count]


def _any_rows(x: Tensor) -> Tensor:
    """A tensor of any number of rows, for a new input."""
    return onnx.Tensor(x.dtype, [None, *x.shape[1:]], "")


def _none(x: Tensor) -> Tensor:
    """An empty array of the type and rank of x."""
    return ops.zeros([0 if size is None else size for size in x.shape], x.dtype)


def _numbered(name: str, tensors: Any) -> dict[str, Tensor]:
    """The tensors of a nest by name, in order: name.0, name.1, ..."""
    return {f"{name}.{i}": x for i, x in enumerate(nest.flatten(tensors))}

"""Export a training update and a decoding step, compiled by XLA, as portable StableHLO."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from exported import Argument, Case, Result, type_of, write, write_list
from gpu_run import TensorFlow
from products import shallow, sides

from cgru_cli.corpus.batches import Batch
from cgru_cli.network import ops
from cgru_cli.network.keras_model import RecurrentModel
from cgru_cli.network.network import Network, SearchState
from cgru_cli.network.top_k import top_k
from cgru_cli.optimization.objective import CrossEntropy, Guide
from cgru_cli.optimization.optimizers import optimizer
from cgru_cli.optimization.step import Regularization, TrainingStep
from cgru_cli.parameters.initialization import initial_arrays
from cgru_cli.parameters.names import parameters
from cgru_cli.parameters.structure import FIRST_LABEL, Structure, Type

OBJECTIVES = {
    "cross-entropy": CrossEntropy(),
    "label-smoothing": CrossEntropy(label_smoothing=0.1),
    "alignment-ce": CrossEntropy(guide=Guide("ce", 0.5)),
    "alignment-mse": CrossEntropy(guide=Guide("mse", 0.5)),
    "alignment-mult": CrossEntropy(guide=Guide("mult", 0.5)),
}
CLIP_NORM, RATE = 1.0, 0.0001
_TYPES = {
    "f32": "float32",
    "bf16": "bfloat16",
    "f16": "float16",
    "f64": "float64",
    "i32": "int32",
    "i64": "int64",
    "i1": "bool",
}


@dataclasses.dataclass(frozen=True)
class Model:
    """A type of model at a size, and the precision of its products."""

    kind: str
    cell: str
    sizes: tuple[int, int, int]  # embedding, state, vocabulary
    precision: str

    def structure(self) -> Structure:
        """The structure of the model. Raises UsageError if it is invalid."""
        reader = "reversed" if self.kind == "seq2seq" else None
        return shallow(self.sizes, self.kind, self.cell, reader)

    def __str__(self) -> str:
        return f"{self.kind} {self.cell} {'/'.join(map(str, self.sizes))}"


def export(folder: Path, programs: Iterator[Program], check: int) -> None:
    """Write all programs; those of up to `check` target words with their results on this CPU."""
    folder.mkdir(parents=True, exist_ok=True)
    tf.get_logger().setLevel("ERROR")  # retracing is intended: each program differs
    device, cases = TensorFlow(), []
    for program in programs:
        case, text, given = program.lowered()
        results: Sequence[np.ndarray] = ()
        if case.words <= check:
            arrays = [
                given[place] if argument.given else argument.draw()
                for place, argument in enumerate(case.arguments)
            ]
            computed = device.execute(device.compile(case, text), [*map(device.put, arrays)])
            results = [result.numpy() for result in computed]
        write(folder, case, text, given, results)
        cases.append(case)
        write_list(folder, cases)
        print(f"{case.name}: {len(text) / 1e6:.1f} MB of StableHLO", flush=True)


class Program:
    """An exported function, its arguments, and facts about both."""

    kind: str
    objective = ""

    def __init__(self, model: Model, sentences: int, lengths: tuple[int, int]):
        self.model, self.sentences, self.lengths = model, sentences, lengths
        self.structure = model.structure()

    def lowered(self) -> tuple[Case, str, dict[int, np.ndarray]]:
        """The case, its StableHLO, and its arguments that are not random numbers."""
        function, called_with = self.made = self.function()
        text, replaced, captured = lower(function, called_with)
        self.captured = captured
        taken, gives = signature(text)
        # XLA drops empty arguments, such as a language model's source
        batch = self.batched = [x for x in tf.nest.flatten(called_with) if tf.size(x) > 0]
        names = self.names()
        arguments = [
            Argument("memory", *kind, -1.0, 1.0, seed=1000 + place)
            if self.is_drawn(tensor)
            else Argument("batch", *kind, given=True)
            for place, (tensor, kind) in enumerate(zip(batch, taken, strict=False))
        ]
        arguments += [
            self.argument(names.get(id(tensor), ""), *kind, seed=place)
            for place, (tensor, kind) in enumerate(zip(captured, taken[len(batch) :], strict=True))
        ]
        target = self.words()
        case = Case(
            name=self.name(),
            kind=self.kind,
            model=str(self.model),
            precision=self.model.precision,
            objective=self.objective,
            sentences=self.sentences,
            lengths=self.lengths,
            words=target,
            operations=self.operations(),
            traffic=self.traffic(),
            arguments=tuple(arguments),
            results=tuple(
                Result(*kind, argument=replaced.get(place, -1)) for place, kind in enumerate(gives)
            ),
        )
        given = {n: tensor.numpy() for n, tensor in enumerate(batch) if arguments[n].given}
        return case, text, given

    def function(self) -> tuple[Any, tuple]:
        """The compiled function, and its arguments."""
        raise NotImplementedError

    def names(self) -> dict[int, str]:
        """The names of captured tensors by id."""
        return {}

    def is_drawn(self, tensor: tf.Tensor) -> bool:
        """Whether an argument can be replaced by random numbers, because it is not part of a
        batch."""
        return False

    def argument(self, name: str, shape: tuple[int, ...], dtype: str, seed: int) -> Argument:
        """The range of a random weight, which keeps the scale of its inputs."""
        if name == "zero":
            return Argument(name, shape, dtype)
        if name == "ones":
            return Argument(name, shape, dtype, 0.6, 1.4, seed)
        width = 0.1  # biases
        if len(shape) > 1:
            width = 1.0 if name == "embedding" else math.sqrt(3 / shape[0])
        return Argument(name, shape, dtype, -width, width, seed)

    def name(self) -> str:
        """The name of the case and of its files."""
        m = self.model
        batch = f"{self.sentences}x{'x'.join(map(str, self.lengths))}"
        parts = [self.kind.split()[0], m.kind, m.cell, m.precision, self.objective, batch]
        return "-".join(part for part in parts if part)

    def words(self) -> int:
        """The number of target words of one execution."""
        raise NotImplementedError

    def operations(self) -> float:
        """The arithmetic operations of the products; 0 if not counted."""
        raise NotImplementedError

    def traffic(self) -> float:
        """Bytes read and written for the parameters and the matrices of loops."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The bytes of a number in a product."""
        return type_of(self.model.precision).itemsize


class Update(Program):
    """A complete update of `TrainingStep`: gradients, clipping, Adam."""

    kind = "update"

    def __init__(self, model: Model, sentences: int, lengths: tuple[int, int], objective: str = ""):
        super().__init__(model, sentences, lengths)
        self.objective = objective or "cross-entropy"
        self.batch = batch(self.structure, sentences, lengths, self.objective)

    def function(self) -> tuple[Any, tuple]:
        precision = self.model.precision
        policy = precision if precision == "float32" else f"mixed_{precision}"
        model = RecurrentModel(
            self.structure, initial_arrays(self.structure, "scaled", 1), dtype=policy
        )
        step = self.step = TrainingStep(
            model,
            optimizer("adam", (), RATE),
            Regularization(clip_norm=CLIP_NORM),
            OBJECTIVES[self.objective],
            jit=True,
        )

        def update(examples: Batch, scale: tf.Tensor, factor: tf.Tensor) -> tuple:
            cost, gradients = step._share_gradients(examples, {}, scale)
            norm, gradients = step._regularized(gradients, factor)
            step._applied([gradients], tf.constant(1.0), tf.constant(0.0))  # no smoothing
            return cost, norm

        scale = step.loss_scale.scale
        factor = 1 / (scale * self.sentences)
        examples = tf.nest.map_structure(tf.constant, self.batch)
        return update, (examples, tf.constant(scale), tf.constant(factor))

    def names(self) -> dict[int, str]:
        kinds = {
            row.name: "embedding" if "embedding" in row.path else row.initializer
            for row in parameters(self.structure)
        }
        model = self.step.model.parameters.items()
        names = {id(variable.value.handle): kinds[name] for name, variable in model}
        optimizer = self.step.optimizer
        names |= {id(variable.value.handle): "zero" for variable in optimizer.variables}
        names[id(optimizer._learning_rate.value.handle)] = "rate"
        return names | {id(self.step.updates.handle): "zero"}

    def argument(self, name: str, shape: tuple[int, ...], dtype: str, seed: int) -> Argument:
        if name == "rate":
            return Argument(name, shape, dtype, RATE, RATE)
        return super().argument(name, shape, dtype, seed)

    def words(self) -> int:
        return int(self.batch.target_mask.sum())

    def operations(self) -> float:
        if not self.structure.type.writes_text:
            return 0.0
        source, target = sides(self.structure)
        both = (source, int(self.batch.source_mask.sum())), (target, self.words())
        return 6.0 * sum(
            words * sum(m * n for some in side for m, n in some) for side, words in both
        )

    def traffic(self) -> float:
        """Includes Adam, which reads gradient, two moments and weight, and writes the last
        three."""
        count = sum(math.prod(row.size(self.structure)) for row in parameters(self.structure))
        if not self.structure.type.writes_text:
            return 28.0 * count
        steps = sum(
            length * sum(m * n for m, n in side.by_step)
            for side, length in zip(sides(self.structure), self.lengths, strict=True)
        )
        return 28.0 * count + 2.0 * self.size * steps


class DecodingStep(Program):
    """A step of beam search: each row's best words, and the states after them."""

    kind = "decoding step"

    def __init__(self, model: Model, sentences: int, source: int, beam: int):
        super().__init__(model, sentences, (source, 1))
        self.beam = beam

    def function(self) -> tuple[Any, tuple]:
        s, rows = self.structure, self.sentences * self.beam
        network = Network(s, initial_arrays(s, "scaled", 1), self.model.precision)
        read = batch(s, self.sentences, (self.lengths[0], 2), "")
        memory = network.encode(
            tf.constant(read.source), tf.constant(read.source_mask), search=True
        )
        sentence = np.repeat(np.arange(self.sentences, dtype=np.int32), self.beam)
        slot = np.tile(np.arange(self.beam, dtype=np.int32), self.sentences)
        state = network.start(memory)
        cells = tf.nest.map_structure(lambda x: tf.gather(x, sentence), state.cells)

        def advance(cells: Any, memory: Any, parents: tf.Tensor, previous: tf.Tensor) -> tuple:
            # the position of each row is known at compile time, so all shapes are static
            now = SearchState(
                tf.nest.map_structure(lambda x: tf.gather(x, parents), cells),
                tf.constant(sentence),
                tf.constant(slot),
            )
            logits, after, _ = network.step(now, previous, memory)
            log_probs, words = top_k(ops.log_softmax(logits), tf.constant(self.beam))
            return words, log_probs, after.cells

        generator = np.random.RandomState(1)
        parents = tf.constant(generator.permutation(rows).astype(np.int32))
        previous = tf.constant(generator.randint(0, s.target_vocabulary, rows).astype(np.int32))
        return advance, (cells, memory, parents, previous)

    def is_drawn(self, tensor: tf.Tensor) -> bool:
        return tensor.shape.rank == 3  # the tensors of the memory with a source position

    def words(self) -> int:
        return self.sentences * self.beam

    def _matrices(self) -> int:
        """The size of the matrices of a step, without those that multiply annotations in
        advance."""
        context = self.structure.context if self.structure.type.attends else 0
        _, target = sides(self.structure)
        return sum(m * n for some in target for m, n in some if m != context)

    def operations(self) -> float:
        return 2.0 * self.words() * self._matrices()

    def traffic(self) -> float:
        return float(self.size * self._matrices())


def programs(
    models: Sequence[Model],
    *,
    sentences: Sequence[int],
    lengths: Sequence[int],
    objectives: Sequence[str],
    beam: int,
) -> Iterator[Program]:
    """All valid combinations of these options."""
    for model, length in itertools.product(models, lengths):
        kind = Type(model.kind)
        for count, objective in itertools.product(sentences, objectives):
            if kind.attends or not objective.startswith("alignment"):
                yield Update(model, count, (length, length), objective)
        if beam and kind.writes_text:
            yield DecodingStep(model, max(1, sentences[0] // beam), length, beam)


def batch(s: Structure, rows: int, lengths: tuple[int, int], objective: str) -> Batch:
    """Random words; a third of the sentences fill all positions, the others have one or two
    fewer."""
    generator = np.random.RandomState(0)
    source_length, target_length = lengths
    if s.type is Type.CLASSIFIER:
        target_length = 2
    elif s.type is Type.TAGGER:
        target_length = source_length
    first = 0 if s.type.writes_text else FIRST_LABEL

    def side(length: int, vocabulary: int, first: int) -> tuple[np.ndarray, np.ndarray]:
        ends = np.maximum(length - np.arange(rows) % 3, 1)[:, None]
        places = np.arange(length)
        ids = generator.randint(first, vocabulary, (rows, length)).astype(np.int32)
        return np.where(places < ends - 1, ids, 0), (places < ends).astype(np.float32)

    if s.type.reads_source:
        source, source_mask = side(source_length, s.source_vocabularies[0], 0)
        source = source[..., None]
    else:
        source = np.zeros((rows, 1, 0), np.int32)
        source_mask = np.ones((rows, 1), np.float32)
    target, target_mask = side(target_length, s.target_vocabulary, first)
    alignment: Any = ()
    if objective.startswith("alignment"):
        alignment = np.zeros((rows, target_length, source_length), np.float32)
        for j in range(target_length):
            alignment[:, j, j % source_length] = 1.0
    return Batch(source, source_mask, target, target_mask, (), alignment)


def lower(function: Callable, given: Sequence) -> tuple[str, dict[int, int], list]:
    """The StableHLO of a function, its aliases as from `plain`, and the tensors it captures."""
    compiled = tf.function(function, jit_compile=True, autograph=False)
    text = compiled.experimental_get_compiler_ir(*given)(stage="stablehlo")
    return *plain(text), compiled.get_concrete_function(*given).captured_inputs


def plain(text: str) -> tuple[str, dict[int, int]]:
    """StableHLO without XLA's own attributes, which other readers do not know.

    Also returns which results alias which arguments.
    """
    (header,) = re.findall(r"^module @.*$", text, re.M)
    pairs = re.findall(
        r"parameter_number = (\d+) : i64\}, output_index = array<i64: (\d+)>", header
    )
    text = re.sub(r"^#loc.*\n", "", text, flags=re.M)
    quoted = r'[^()"]|"[^"]*"'
    text = re.sub(rf" loc\((?:{quoted}|\((?:{quoted})*\))*\)", "", text)
    text = text.replace(re.sub(rf" loc\((?:{quoted})*\)", "", header), "module @step {", 1)
    text = re.sub(r"mhlo\.copy (%\S+) : (tensor<\S+>)", r"stablehlo.reshape \1 : (\2) -> \2", text)
    text = re.sub(r" \{mhlo\.frontend_attributes = \{[^{}]*\}\}", "", text)
    return text, {int(result): int(argument) for argument, result in pairs}


def signature(text: str) -> tuple[list, list]:
    """The shapes and types of all arguments and results."""
    (line,) = re.findall(r"^  func\.func (?:public )?@main\((.*)$", text, re.M)
    return tuple(
        [_kind(kind) for kind in re.findall(r"tensor<([^>]*)>", part)]
        for part in line.split(" -> ")
    )


def _kind(text: str) -> tuple[tuple[int, ...], str]:
    *sizes, name = text.split("x")
    return tuple(map(int, sizes)), _TYPES[name]

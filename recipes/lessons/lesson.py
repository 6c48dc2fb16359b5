"""The code that the lessons share: numbers in words, a new model of them, and its training.

Numbers in words are a small language that everybody can check: "three hundred and forty two" is
"drei hundert zwei und vierzig", where German says the two before the forty.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from cgru_cli import LoadedModel, Model, RecurrentModel, Structure
from cgru_cli.parameters.initialization import initial_arrays
from cgru_cli.parameters.structure import Encoder, Type, Unit
from cgru_cli.text.vocabulary import Vocabulary

ENGLISH = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen"""
ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
GERMAN = """null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn
fünfzehn sechzehn siebzehn achtzehn neunzehn"""
GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"


def english(n: int) -> list[str]:
    """The words of 0 to 999,999: 342 is `three hundred and forty two`."""
    thousands, rest = divmod(n, 1000)
    if thousands:
        words = [*english(thousands), "thousand"]
        return words + (["and"] if 0 < rest < 100 else []) + (english(rest) if rest else [])
    hundreds, rest = divmod(n, 100)
    if hundreds:
        return [ENGLISH.split()[hundreds], "hundred"] + (["and", *english(rest)] if rest else [])
    if n < 20:
        return [ENGLISH.split()[n]]
    tens, ones = divmod(n, 10)
    return [ENGLISH_TENS.split()[tens - 2]] + ([ENGLISH.split()[ones]] if ones else [])


def german(n: int, last: bool = True) -> list[str]:
    """The parts of 0 to 999,999: 342 is `drei hundert zwei und vierzig`.

    last: whether nothing follows, so that one is `eins` instead of `ein`.
    """
    thousands, rest = divmod(n, 1000)
    if thousands:
        return [*german(thousands, False), "tausend"] + (german(rest, last) if rest else [])
    hundreds, rest = divmod(n, 100)
    if hundreds:
        return [*german(hundreds, False), "hundert"] + (german(rest, last) if rest else [])
    if n < 20:
        return ["ein" if n == 1 and not last else GERMAN.split()[n]]
    tens, ones = divmod(n, 10)
    return ([*german(ones, False), "und"] if ones else []) + [GERMAN_TENS.split()[tens - 2]]


def vocabulary(lines: Iterable[Sequence[str]]) -> Vocabulary:
    """The words of some lines, after EOS (0), which ends a line, and UNK (1)."""
    words = sorted({word for line in lines for word in line})
    return Vocabulary({word: i for i, word in enumerate(["eos", "UNK", *words])})


def new_model(
    kind: Type | str,
    target: Vocabulary,
    source: Vocabulary | None = None,
    *,
    unit: Unit | str = Unit.GRU,
    embedding: int = 32,
    state: int = 64,
    seed: int = 1,
) -> LoadedModel:
    """A model of a type of the ladder before training, with its vocabularies."""
    kind, sources = Type(kind), [] if source is None else [source]
    structure = Structure(
        source_vocabularies=tuple(words.size for words in sources),
        source_embeddings=tuple(embedding for _ in sources),
        target_vocabulary=target.size,
        target_embedding=embedding,
        state=state,
        decoder_base_transition=2 if kind is Type.CGRU else 1,
        type=kind,
        encoder=Encoder.ALTERNATING if kind.attends else Encoder.UNIDIRECTIONAL,
        encoder_unit=Unit(unit),
        decoder_unit=Unit(unit),
    )
    arrays = initial_arrays(structure, "scaled", seed, forget_bias=1.0)
    return LoadedModel(Model(Path("lesson"), structure, arrays, "nematus"), sources, target)


def train(
    loaded: LoadedModel,
    targets: Sequence[Sequence[str]],
    sources: Sequence[Sequence[str]] | None = None,
    *,
    updates: int,
    rate: float = 0.005,
    batch: int = 64,
    seed: int = 1,
    counted: np.ndarray | None = None,
) -> tuple[LoadedModel, list[float]]:
    """Train a model; returns it, and each batch's cost before its update, in nats per word.

    Each batch is drawn at random; Adam, gradients clipped to norm 1. counted: the weight of each
    target word's cost, (lines, words of the longest line and EOS); equal weights by default.
    """
    model, begin, update = _training(loaded.model.structure, rate)
    begin(loaded.model.arrays)
    target, target_mask = loaded.target_batch(targets)
    if counted is not None:
        target_mask = np.asarray(counted, np.float32)
    source, mask = loaded.source_batch(targets if sources is None else sources)
    draw = np.random.default_rng(seed)
    costs = []
    for _ in range(updates):
        rows = draw.integers(len(target), size=batch)
        costs.append(float(update(source[rows], mask[rows], target[rows], target_mask[rows])))
    return loaded.with_arrays(model.arrays()), costs


@functools.cache
def _training(structure: Structure, rate: float) -> tuple[RecurrentModel, Callable, Callable]:
    """A model, a function that restarts its training from arrays, and an update.

    TensorFlow traces the update once for all models of the same kind.
    """
    import keras
    import tensorflow as tf

    model = RecurrentModel(structure)
    optimizer = keras.optimizers.Adam(rate, global_clipnorm=1.0)
    optimizer.build(model.trainable_variables)
    of_optimizer = [variable.numpy() for variable in optimizer.variables]

    def begin(arrays: Mapping[str, np.ndarray]) -> None:
        model.assign(arrays)
        for variable, value in zip(optimizer.variables, of_optimizer, strict=True):
            variable.assign(value)

    @tf.function
    def update(source, mask, target, target_mask):
        with tf.GradientTape() as tape:
            logits = model((source, mask, target))
            costs = tf.nn.sparse_softmax_cross_entropy_with_logits(target, logits)
            cost = tf.reduce_sum(costs * target_mask) / tf.reduce_sum(target_mask)
        gradients = tape.gradient(cost, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return cost

    return model, begin, update

"""The code that the lessons share: two small languages, new models, their training and pictures.

Everybody can check the languages. Numbers: "three hundred and forty two" is "drei hundert zwei und
vierzig", where German says the two before the forty. Phrases: "the black cat" is "le chat noir",
where French has the colour after the noun, and article and colour agree with it.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from equations import softmax

from cgru_cli import LoadedModel, Model, RecurrentModel, Structure
from cgru_cli.parameters.initialization import initial_arrays
from cgru_cli.parameters.structure import Encoder, Type, Unit
from cgru_cli.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import matplotlib.axes

SMALL = os.environ.get("LESSONS") == "small"  # for tests: two updates instead of each training

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


# Nouns with the gender of the French one; adjectives with the French feminine.
NOUNS = """cat chat m, dog chien m, book livre m, tree arbre m, garden jardin m, boat bateau m,
hat chapeau m, train train m, house maison f, car voiture f, flower fleur f, table table f,
door porte f, shirt chemise f, lamp lampe f, street rue f"""
ADJECTIVES = """black noir noire, white blanc blanche, green vert verte, blue bleu bleue,
grey gris grise, round rond ronde, heavy lourd lourde, cold froid froide, strong fort forte,
new neuf neuve"""
LINKS = "and et, with avec, under sous, behind derrière, before devant"


def phrases(count: int, seed: int = 1) -> list[tuple[list[str], list[str]]]:
    """Pairs of lines of one to three English noun phrases, and the same in French."""
    draw = np.random.default_rng(seed)
    nouns, adjectives, links = (
        [entry.split() for entry in text.split(",")] for text in (NOUNS, ADJECTIVES, LINKS)
    )

    def one() -> tuple[list[str], list[str]]:
        english, french, gender = nouns[draw.integers(len(nouns))]
        said = [adjectives[i] for i in draw.permutation(len(adjectives))[: draw.integers(3)]]
        endings = [masculine if gender == "m" else feminine for _, masculine, feminine in said]
        article = "le" if gender == "m" else "la"
        return (
            ["the", *(word for word, *_ in said), english],
            [article, french, *reversed(endings)],
        )

    pairs = []
    for _ in range(count):
        english, french = one()
        for _ in range(draw.integers(3)):
            link, (more, encore) = links[draw.integers(len(links))], one()
            english, french = [*english, link[0], *more], [*french, link[1], *encore]
        pairs.append((english, french))
    return pairs


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
    **others: object,
) -> LoadedModel:
    """A model of a type of the ladder before training, with its vocabularies.

    others: further fields of `Structure`, such as `encoder_depth=2`.
    """
    kind, sources = Type(kind), [] if source is None else [source]
    defaults = {
        "decoder_base_transition": 2 if kind is Type.CGRU else 1,
        "encoder": Encoder.ALTERNATING if kind.attends else Encoder.UNIDIRECTIONAL,
    }
    structure = Structure(
        source_vocabularies=tuple(words.size for words in sources),
        source_embeddings=tuple(embedding for _ in sources),
        target_vocabulary=target.size,
        target_embedding=embedding,
        state=state,
        type=kind,
        encoder_unit=Unit(unit),
        decoder_unit=Unit(unit),
        **(defaults | others),
    )
    structure = Structure.from_dict(structure.as_dict(), "new_model")  # names become members
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
    With LESSONS=small in the environment, two updates.
    """
    model, begin, update = _training(loaded.model.structure, rate)
    begin(loaded.model.arrays)
    target, target_mask = loaded.target_batch(targets)
    if counted is not None:
        target_mask = np.asarray(counted, np.float32)
    source, mask = loaded.source_batch(targets if sources is None else sources)
    draw = np.random.default_rng(seed)
    costs = []
    for _ in range(2 if SMALL else updates):
        rows = draw.integers(len(target), size=batch)
        costs.append(float(update(source[rows], mask[rows], target[rows], target_mask[rows])))
    return loaded.with_arrays(model.arrays()), costs


def probabilities(
    loaded: LoadedModel,
    targets: Sequence[Sequence[str]],
    sources: Sequence[Sequence[str]] | None = None,
) -> np.ndarray:
    """p of every word at every position of the targets, (lines, T, V), by the model in TensorFlow.

    T counts the words of the longest line and EOS.
    """
    model = RecurrentModel(loaded.model.structure, loaded.model.arrays)
    target, _ = loaded.target_batch(targets)
    source, mask = loaded.source_batch(targets if sources is None else sources)
    return softmax(model((source, mask, target)).numpy())


@functools.cache
def translator_of_phrases(kind: str, state: int = 48, updates: int = 350) -> LoadedModel:
    """A model of a type of the ladder, trained to translate `phrases`; trained once a process."""
    pairs = phrases(3000)
    source, target = [english for english, _ in pairs], [french for _, french in pairs]
    begun = new_model(kind, vocabulary(target), vocabulary(source), embedding=24, state=state)
    return train(begun, target, source, updates=updates)[0]


def draw_alignment(
    axes: matplotlib.axes.Axes,
    weights: np.ndarray,
    source: Sequence[str],
    target: Sequence[str],
    title: str,
) -> None:
    """Draw weights (T,S) between 0 and 1: target words are rows, source words are columns."""
    axes.imshow(weights, vmin=0, vmax=1, cmap="Blues", aspect="auto")
    axes.set_xticks(range(len(source)), source, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(target)), target)
    axes.grid(visible=False)
    axes.set_title(title)


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

    def update(source, mask, target, target_mask):
        with tf.GradientTape() as tape:
            logits = model((source, mask, target))
            costs = tf.nn.sparse_softmax_cross_entropy_with_logits(target, logits)
            cost = tf.reduce_sum(costs * target_mask) / tf.reduce_sum(target_mask)
        gradients = tape.gradient(cost, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return cost

    return model, begin, update if SMALL else tf.function(update)  # tracing takes seconds

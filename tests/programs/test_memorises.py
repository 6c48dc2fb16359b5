"""Every type and every unit memorises 20 sentence pairs, which greedy search reproduces.

This tests initialisation, gradients, the optimizer and the search together. Every type is tested
with one unit, and every unit with some type; all pairs with the marker `exhaustive`.
"""

import math

import numpy as np
import pytest
from ensembles import OneSource
from models import WITH_STATE_PRODUCT, pad_source, pad_target, typed

from cgru_cli.corpus.batches import Batch
from cgru_cli.network.keras_model import RecurrentModel
from cgru_cli.optimization.optimizers import optimizer
from cgru_cli.optimization.step import Regularization, TrainingStep
from cgru_cli.parameters.initialization import initial_arrays
from cgru_cli.parameters.structure import (
    WITHOUT_FEEDBACK,
    Condition,
    Encoder,
    Pooling,
    Type,
    Unit,
)
from cgru_cli.search.beam import shrinking_beam
from cgru_cli.search.hypotheses import SearchBatch
from cgru_cli.search.settings import SearchSettings

pytestmark = pytest.mark.long


PAIRS, WORDS, LENGTH, UPDATES = 20, 24, 3, 1200
CHOSEN = {
    Type.LM: Unit.SIGMOID,
    Type.ENCDEC: Unit.LSTM,
    Type.SEQ2SEQ: Unit.GRU_BEFORE,
    Type.RNNSEARCH: Unit.TANH,
    Type.CGRU: Unit.GRU,
    Type.CLASSIFIER: Unit.RELU,
    Type.TAGGER: Unit.LSTM,
}
CASES = [
    pytest.param(kind, unit, marks=() if CHOSEN[kind] is unit else pytest.mark.exhaustive)
    for kind in Type
    for unit in Unit
    # an SRU reads nothing wider than its state
    if unit is not Unit.SRU or kind not in (Type.ENCDEC, Type.RNNSEARCH)
]


def pairs(kind):
    """Sources and targets without EOS, all with different beginnings."""
    rng = np.random.default_rng(4)
    sources = rng.integers(1, WORDS, (PAIRS, LENGTH))
    targets = rng.integers(1, WORDS, (PAIRS, LENGTH))
    sources[:, 0] = targets[:, 0] = rng.permutation(WORDS - 1)[:PAIRS] + 1
    if not kind.reads_source:
        return [[]] * PAIRS, targets.tolist()
    if not kind.writes_text:  # labels
        targets = (targets if kind is Type.TAGGER else targets[:, :1]) + 1
    begins = (1,) if kind is Type.TAGGER else ()  # every word is a piece
    return [[(int(word), *begins) for word in words] for words in sources], targets.tolist()


@pytest.mark.parametrize(("kind", "unit"), CASES)
def test_memorises_pairs(kind, unit):
    learn(kind, unit)


@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        pytest.param(
            kind,
            unit,
            marks=() if (kind, unit) == (Type.ENCDEC, Unit.GRU) else pytest.mark.exhaustive,
        )
        for kind in WITHOUT_FEEDBACK
        for unit in WITH_STATE_PRODUCT
        # it learns 19 of the 20 for any number of updates and any size
        if (kind, unit) != (Type.SEQ2SEQ, Unit.RELU)
    ],
)
def test_memorises_without_feedback(kind, unit):
    # only the state records the output so far, which plain cells learn more slowly
    learn(kind, unit, updates=UPDATES, feedback=False)


@pytest.mark.parametrize(
    ("condition", "unit"),
    [
        pytest.param(
            condition, unit,
            marks=() if (condition, unit) == ("label", "gru") else pytest.mark.exhaustive,
        )
        for condition in (Condition.LABEL, Condition.VECTOR)
        for unit in Unit
    ],
)  # fmt: skip
def test_memorises_the_texts_of_conditions(condition, unit):
    learn(Type.LM, unit, condition=condition, condition_size=PAIRS)


@pytest.mark.parametrize(
    "pooling",
    ["attention", *(pytest.param(p, marks=pytest.mark.exhaustive) for p in ("last", "max"))],
)
def test_memorises_labels(pooling):
    learn(Type.CLASSIFIER, Unit.GRU, pooling=Pooling(pooling))


def test_memorises_tags_of_a_crf():
    learn(Type.TAGGER, Unit.GRU, crf=True)


def learn(kind, unit, updates=UPDATES, **changes):
    one_way = kind in (Type.ENCDEC, Type.SEQ2SEQ)
    sizes = {"target_vocabulary": WORDS + 1, "target_embedding": 12, "state": 24}
    if kind.reads_source:
        sizes |= {"source_vocabularies": (WORDS,), "source_embeddings": (12,)}
    if unit is Unit.SRU:
        sizes |= {"target_embedding": 24, "source_embeddings": (24,) * kind.reads_source}
        sizes |= {"decoder_base_transition": 1}
    structure = typed(
        kind, encoder_unit=unit, decoder_unit=unit, **sizes, **changes,
        encoder=Encoder.UNIDIRECTIONAL if one_way else Encoder.BIDIRECTIONAL,
    )  # fmt: skip
    sources, targets = pairs(kind)
    if structure.condition is Condition.LABEL:
        sources = [[(2 + i,)] for i in range(PAIRS)]
    elif structure.condition is Condition.VECTOR:
        numbers = np.random.default_rng(5).normal(size=(PAIRS, PAIRS)).astype(np.float32)
        sources = [[tuple(row)] for row in numbers.view(np.int32)]
    source, source_mask = (x.numpy() for x in pad_source(sources))
    source = source[..., : structure.source_columns]
    batch = Batch(source, source_mask, *pad_target(targets))
    model = RecurrentModel(structure, initial_arrays(structure, "scaled", 1, forget_bias=1.0))
    step = TrainingStep(model, optimizer("adam", (), 0.1), Regularization(clip_norm=1.0), jit=False)
    # a language model cannot know which of the texts it is
    least = 0.0 if structure.has_source else PAIRS * math.log(PAIRS)
    for _ in range(updates):  # until every word must have more than half of the probability
        if step.update([[(batch, {})]], PAIRS, 0.015).cost < least + math.log(2):
            break

    ensemble = OneSource((structure, step.weights()))
    prefixes = [] if structure.has_source else [words[:1] for words in targets]
    begun = SearchBatch(
        ensemble.begin((source, source_mask)), [len(words) + 1 for words in sources],
        [LENGTH + 2] * PAIRS, prefixes,
    )  # fmt: skip
    found = dict(shrinking_beam([begun], SearchSettings(beam_size=1)))
    assert [found[i][0].words.tolist() for i in range(PAIRS)] == [[*t, 0] for t in targets]

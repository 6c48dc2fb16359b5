"""The network computes the equations of `recipes/lessons/equations.py`."""

import equations
import numpy as np
import pytest
import tensorflow as tf
from cases import random_arrays, small_structure
from forced import force_decode
from models import pad_source, pad_target
from tolerances import LOG_PROBABILITY, WEIGHTS

from cgru_cli.network.network import Network
from cgru_cli.parameters.structure import Encoder, Pooling, Type, Unit

SOURCE, TARGET = [3, 7, 2, 5], [4, 9, 4, 1, 6]
ONE_READER = {"encoder": Encoder.UNIDIRECTIONAL}
UNITS = {
    Unit.TANH: equations.plain,
    Unit.GRU: equations.gru,
    Unit.GRU_BEFORE: equations.gru_before,
    Unit.LSTM: equations.lstm,
}


def a_model(kind, **changes):
    """A small model of a type: its structure and arrays."""
    changes = {"type": kind, "decoder_base_transition": 2 if kind is Type.CGRU else 1} | changes
    if kind is Type.LM:
        changes |= {"source_vocabularies": (), "source_embeddings": ()}
    structure = small_structure(**changes)
    return structure, random_arrays(structure, 5)


def forced(structure, arrays, source, target):
    """The network's log-probabilities at each target word and EOS, beside a longer sentence."""
    sources = [[(word,) for word in words] for words in (source, [*source, 1, 1])]
    ids, _ = pad_target([target, [*target, 1, 1]])
    network = Network(structure, arrays, packed=True)
    decoded = force_decode(network, *pad_source(sources), ids)
    log_p = tf.nn.log_softmax(decoded.logits).numpy()[0, : len(target) + 1]
    return log_p, decoded.alignment


@pytest.mark.parametrize("kind", equations.TYPES)
def test_a_type(kind):
    changes = ONE_READER if kind in ("encdec", "seq2seq") else {}
    structure, arrays = a_model(Type(kind), **changes)
    found, alignment = forced(structure, arrays, SOURCE, TARGET)
    expected, alphas = equations.follow(kind, arrays, [*SOURCE, 0], [*TARGET, 0])
    np.testing.assert_allclose(found, np.log(expected), atol=LOG_PROBABILITY)
    assert (alphas[0] is not None) == structure.type.attends
    if structure.type.attends:
        rows = alignment.numpy()[0, : len(alphas), : len(SOURCE) + 1]
        np.testing.assert_allclose(rows, alphas, atol=WEIGHTS)


def test_tied_embeddings():
    structure, arrays = a_model(Type.CGRU, tied_output=True)
    expected, _ = equations.follow("cgru", arrays, [*SOURCE, 0], [*TARGET, 0])
    np.testing.assert_allclose(
        forced(structure, arrays, SOURCE, TARGET)[0], np.log(expected), atol=LOG_PROBABILITY
    )


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit(unit):
    """In a language model, whose cell reads only the previous word."""
    structure, arrays = a_model(Type.LM, encoder_unit=unit, decoder_unit=unit)
    h = c = np.zeros(structure.state)
    y, rows = np.zeros(structure.target_embedding), []
    for word in [*TARGET, 0]:
        if unit is Unit.LSTM:
            h, c = equations.lstm(arrays, "encoder", h, y, c)
        else:
            h = UNITS[unit](arrays, "encoder", h, y)
        rows.append(equations.output(arrays, equations.readout(arrays, h, y)))
        y = arrays["Wemb"][word]
    found, _ = forced(structure, arrays, SOURCE, TARGET)
    np.testing.assert_allclose(found, np.log(rows), atol=LOG_PROBABILITY)


@pytest.mark.parametrize("pooling", Pooling)
def test_a_classifier(pooling):
    structure, arrays = a_model(Type.CLASSIFIER, pooling=pooling)
    found, _ = forced(structure, arrays, SOURCE, [3])
    expected = equations.classifier(arrays, [*SOURCE, 0], pooling.value)
    np.testing.assert_allclose(found[0, 2:], np.log(expected), atol=LOG_PROBABILITY)


def test_a_tagger():
    structure, arrays = a_model(Type.TAGGER)
    found, _ = forced(structure, arrays, SOURCE, [3, 2, 4, 5])
    expected = equations.tagger(arrays, [*SOURCE, 0])
    np.testing.assert_allclose(found[:-1, 2:], np.log(expected), atol=LOG_PROBABILITY)


def test_a_crf():
    """The product of the network's conditional probabilities is that of the whole tagging."""
    structure, arrays = a_model(Type.TAGGER, crf=True, target_vocabulary=5)
    source, tags = SOURCE[:3], [2, 0, 1]
    labels = [tag + 2 for tag in tags]
    found, _ = forced(structure, arrays, source, labels)
    h = equations.annotations(arrays, [*source, 0])[:-1]
    expected = equations.crf(arrays, equations.label_logits(arrays, h), tags)
    total = sum(found[t, label] for t, label in enumerate(labels))
    np.testing.assert_allclose(total, np.log(expected), atol=LOG_PROBABILITY)

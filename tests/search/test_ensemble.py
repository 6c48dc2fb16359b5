"""The decoder states of a search."""

import numpy as np
import tensorflow as tf
from cases import random_arrays, tiny
from ensembles import OneSource, live
from models import pad_source
from tolerances import LOG_PROBABILITY, WEIGHTS

from cgru_cli.network.network import Network
from cgru_cli.search import decoder_states
from cgru_cli.search.decoder_states import Rows
from cgru_cli.search.settings import SearchSettings

ALIGNED = SearchSettings(with_alignment=True)


def states_of(*models, weights=None):
    sources = [[(1,), (2,), (3,)], [(4,)], [(5,), (6,)], []]
    return OneSource(*models, weights=weights).begin(pad_source(sources)), sources


def a_model(seed=1, **changes):
    structure = tiny(**changes)
    return structure, random_arrays(structure, seed)


def test_short_sentences_are_encoded_apart_if_that_saves_padding(monkeypatch):
    ensemble = OneSource(a_model())
    encode, shapes = ensemble.encode, []

    def encoding(sources):
        shapes.append(sources[0][1].shape)
        return encode(sources)

    monkeypatch.setattr(ensemble, "encode", encoding)
    source = pad_source([[], [(4,)], [(5,), (6,)], [(1,)] * 9])
    together = ensemble.begin(source).expand(Rows.begin(4), 6, ALIGNED)
    assert shapes == [(4, 10)]
    monkeypatch.setattr(decoder_states, "LEAST_SAVED", 21)
    apart = ensemble.begin(source).expand(Rows.begin(4), 6, ALIGNED)
    assert shapes[1:] == [(3, 3), (1, 10)]  # 21 words of padding less
    for one, other in zip(apart, together, strict=True):
        np.testing.assert_allclose(one, other, atol=LOG_PROBABILITY)


def test_sentences_may_finish_in_any_order():
    """Finished sentences leave the memory, which becomes as wide as the longest one left; the
    others still read their own.
    """
    network = Network(*a_model())
    states, sources = states_of(a_model())
    states.expand(Rows.begin(4), 3, ALIGNED)
    states.expand(live(sentence=[0, 2, 2], parent=[0, 2, 2], previous=[1, 1, 2]), 3, ALIGNED)
    rows = live(sentence=[2, 2, 2], parent=[2, 1, 2], previous=[3, 4, 5])
    last = states.expand(rows, 6, ALIGNED)
    memory = network.encode(*pad_source([sources[2]]))
    for row, history in enumerate(((2, 3), (1, 4), (2, 5))):
        state, previous = network.start(memory), -1
        for word in (*history, None):
            logits, state, alignment = network.step(state, tf.constant([previous]), memory)
            previous = word
        expected = tf.nn.log_softmax(logits)[0].numpy()
        np.testing.assert_allclose(
            last.log_probs[row], np.sort(expected)[::-1], atol=LOG_PROBABILITY
        )
        np.testing.assert_allclose(
            last.log_probs[row], expected[last.words[row]], atol=LOG_PROBABILITY
        )
        np.testing.assert_allclose(last.alignment[row], alignment[0], atol=WEIGHTS)


def test_all_words_come_in_the_vocabularys_order():
    rows = live(sentence=[0, 3], parent=[0, 3], previous=[-1, -1])
    few, every = (
        states_of(a_model())[0].expand(rows, count, SearchSettings()) for count in (99, None)
    )
    assert every.words.tolist() == [list(range(6))] * 2
    assert few.words.shape == (2, 6) and few.alignment is None
    for row in range(2):
        np.testing.assert_allclose(
            every.log_probs[row, few.words[row]], few.log_probs[row], atol=LOG_PROBABILITY
        )
    np.testing.assert_allclose(np.exp(every.log_probs).sum(axis=1), 1, atol=LOG_PROBABILITY)


def test_an_ensemble_weighs_log_probabilities():
    models = [a_model(0), a_model(1, state=6, target_embedding=3, encoder_depth=2)]
    one, two, both = (
        states_of(*members, weights=weights)[0].expand(Rows.begin(2), None, ALIGNED)
        for members, weights in (
            (models[:1], None),
            (models[1:], None),
            (models, [0.25, 0.75]),
        )
    )
    np.testing.assert_allclose(
        both.log_probs, 0.25 * one.log_probs + 0.75 * two.log_probs, atol=LOG_PROBABILITY
    )
    np.testing.assert_allclose(both.model_log_probs[..., 1], two.log_probs, atol=LOG_PROBABILITY)
    np.testing.assert_allclose(both.alignment, (one.alignment + two.alignment) / 2, atol=WEIGHTS)

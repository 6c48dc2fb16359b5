"""Searches restricted to some words use the model's distribution over these words."""

import numpy as np
import pytest
from cases import random_arrays, tiny
from ensembles import OneSource, joined, live
from models import pad_source
from tolerances import LOG_PROBABILITY

from cgru_cli.network.network import Network
from cgru_cli.search.beam import shrinking_beam
from cgru_cli.search.decoder_states import Rows
from cgru_cli.search.hypotheses import SearchBatch
from cgru_cli.search.settings import SearchSettings

V = 11
SOURCES = [[(1,), (2,), (3,)], [(4,)], [(5,), (6,)]]
SETS = [np.array(words, np.int32) for words in ([0, 2, 3], [0, 1, 4, 9, 10], [0, 2, 3])]
KINDS = {
    "plain": {},
    "lexical": {"lexical": True},
    "mixture": {"mixture": 2},
}


def a_model(seed=1, **changes):
    structure = tiny(target_vocabulary=V, **changes)
    return structure, random_arrays(structure, seed, scale=2.0)


def rows(*values):
    return np.array(values, np.int32)


def log_softmax(x):
    x = np.asarray(x, np.float64)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def logits(a_network, source, words):
    """Logits of the word after these words."""
    memory = a_network.encode(*pad_source([source]))
    state = a_network.start(memory)
    for word in (-1, *words):
        given, state, _ = a_network.step(state, rows(word), memory)
    return given[0].numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_each_sentence_has_the_distribution_over_its_own_words(kind):
    """In a mixture of softmaxes, each softmax is restricted to these words."""
    model = a_model(**KINDS[kind])
    a_network, decoder = Network(*model), OneSource(model, weights=[0.5])
    expansions = []
    for count in (2, 9, None):
        states = decoder.begin(pad_source(SOURCES), SETS)
        states.expand(Rows.begin(3), 3, SearchSettings())
        following = live(sentence=[0, 1, 1], parent=[0, 1, 1], previous=[2, 9, 10])
        expansions.append((count, states.expand(following, count, SearchSettings())))
    for row, (sentence, word) in enumerate(((0, 2), (1, 9), (1, 10))):
        allowed = SETS[sentence]
        if kind == "mixture":  # log sum_k pi_k softmax_k over the words
            narrow = a_network.read_out.columns(allowed)
            memory = a_network.encode(*pad_source([SOURCES[sentence]]))
            state = a_network.start(memory)
            for previous in (-1, word):
                expected, state, _ = a_network.step(state, rows(previous), memory, narrow)
            np.testing.assert_allclose(np.exp(expected[0]).sum(), 1, atol=LOG_PROBABILITY)
            expected = log_softmax(expected[0])
        else:
            expected = log_softmax(logits(a_network, SOURCES[sentence], [word])[allowed])
        best = sorted(zip(allowed.tolist(), expected, strict=True), key=lambda pair: -pair[1])
        for count, found in expansions:
            pairs = zip(found.words[row].tolist(), found.log_probs[row].tolist(), strict=True)
            of_word = dict(pairs)
            for word_id, log_prob in best[:count]:
                assert of_word[word_id] == pytest.approx(0.5 * log_prob, abs=LOG_PROBABILITY)
            others = set(of_word) - set(allowed.tolist())
            assert all(of_word[other] == -np.inf for other in others)


def searched(decoder, batches, **settings):
    """Lists of (words, total) by sentence, for batches of (sources, sets)."""

    def begun():
        for sources, sets in batches:
            lengths = [len(words) + 1 for words in sources]
            states = decoder.begin(pad_source(sources), sets)
            yield SearchBatch(states, lengths, [6] * len(sources))

    lists = joined(begun(), SearchSettings(**({"beam_size": 4} | settings)))
    return [
        [(tuple(r.words.tolist()), r.score, r.word_scores.tolist()) for r in lists[number]]
        for number in range(len(lists))
    ]


def test_a_set_of_all_words_changes_no_bit():
    for models in ([a_model(1)], [a_model(1), a_model(2, tied_output=True)]):
        decoder = OneSource(*models)
        batches = [(SOURCES, ()), (SOURCES[:2], ())]
        every = [(sources, [np.arange(V, dtype=np.int32)]) for sources, _ in batches]
        assert searched(decoder, every) == searched(decoder, batches)


def test_a_sentence_keeps_its_words_whoever_joins():
    """Three batches of one search; each removes the finished sentences of the last."""
    decoder = OneSource(a_model(1), a_model(2), weights=[1.0, 0.0])  # 0 * -inf is not a number
    batches = [([SOURCES[i]], [SETS[i]]) for i in (0, 1, 2)]
    together = searched(decoder, [*batches, (SOURCES, SETS)])
    apart = [searched(decoder, [batch])[0] for batch in batches]
    for own, alone in zip(together, [*apart, *apart], strict=True):
        assert [words for words, *_ in own] == [words for words, *_ in alone]
        np.testing.assert_allclose(
            [s for _, s, _ in own], [s for _, s, _ in alone], atol=LOG_PROBABILITY
        )
    for own, allowed in zip(together, [*SETS, *SETS], strict=True):
        assert own and all(set(words) <= set(allowed.tolist()) for words, *_ in own)


def test_forced_words_come_first_with_the_models_scores():
    decoder = OneSource(a_model(1))
    states = decoder.begin(pad_source(SOURCES[:2]), SETS[:2])
    batch = SearchBatch(states, [4, 2], [6, 6], [[3], [9, 4]])
    lists = dict(shrinking_beam([batch], SearchSettings(beam_size=3)))
    network = Network(*a_model(1))
    for number, begun in ((0, (3,)), (1, (9, 4))):
        for result in lists[number]:
            words = tuple(result.words.tolist())
            assert words[: len(begun)] == begun
            allowed = SETS[number].tolist()
            first = log_softmax(logits(network, SOURCES[number], [])[allowed])
            assert result.word_scores[0] == pytest.approx(
                first[allowed.index(words[0])], abs=LOG_PROBABILITY
            )

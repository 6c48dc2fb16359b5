"""Scores and rankings of given translations, compared with the float64 oracle.

`both_engines.py` compares the scores of models of every structure.
"""

import numpy as np
import pytest
from both_engines import ONE_THREAD, Texts
from cases import random_arrays, tiny
from models import random_pairs, reference
from tolerances import LOG_PROBABILITY, WEIGHTS

from cgru_cli.network import graphs
from cgru_cli.search.runtime import PreparedModel
from cgru_cli.search.scoring import Members, Scorer, TopWords

LENGTHS = [(3, 2), (0, 1), (1, 4), (4, 0)]
STRUCTURES = tiny(), tiny(source_vocabularies=(5,), state=5, mixture=2)


def model(structure, seed=0):
    return PreparedModel(structure, random_arrays(structure, seed), ONE_THREAD)


def texts(structure, seed, lengths=LENGTHS):
    return Texts(*random_pairs(structure, seed, lengths))


@pytest.mark.parametrize("words", [1, 5])
def test_each_pair_has_its_score_alone(words):
    structure = tiny()
    scorer = Scorer(model(structure), with_alignment=False)
    pairs = texts(structure, 2, [(2, words), (words, 3), (7, 7)])
    together = scorer(*pairs.batch(structure))
    assert together.alignment is None and together.log_probs.dtype == np.float32
    for row, (source, target) in zip(together.log_probs, zip(*pairs, strict=True), strict=True):
        alone = scorer(*Texts([source], [target]).batch(structure)).log_probs[0]
        length = len(target) + 1
        np.testing.assert_allclose(row[:length], alone[:length], atol=LOG_PROBABILITY)
        assert not row[length:].any() and not alone[length:].any()


def test_the_output_layer_is_computed_for_a_few_words_at_a_time(monkeypatch):
    """Whether or not their number divides that of all words, 11."""
    structure, found = tiny(), []
    for rows in (1, 4, 10, 11, 12, 99):
        monkeypatch.setattr(graphs, "LOGITS", rows * structure.target_vocabulary)
        scorer = Scorer(model(structure), with_alignment=False)
        found.append(scorer(*texts(structure, 1).batch(structure)).log_probs)
        assert np.count_nonzero(found[-1]) == 11
        np.testing.assert_allclose(found[-1], found[0], atol=LOG_PROBABILITY)


@pytest.mark.parametrize("k", [1, 4, 6])
def test_the_best_words_of_an_ensemble_are_those_of_the_oracles(k):
    """Log-probabilities are added with the weights, and normalised."""
    weights, pairs = (0.3, 1.2), [texts(s, 3) for s in STRUCTURES]
    pairs[1] = pairs[1]._replace(targets=pairs[0].targets)
    batches = [each.batch(s) for each, s in zip(pairs, STRUCTURES, strict=True)]
    models = [model(s, seed) for seed, s in enumerate(STRUCTURES)]
    *_, target, target_mask = batches[0]
    sources = [batch[:2] for batch in batches]
    ids, log_probs = TopWords(models, weights, k)(sources, target, target_mask)
    oracles = [reference(s, random_arrays(s, seed)) for seed, s in enumerate(STRUCTURES)]
    expected = []  # sentence by sentence
    for words, *given in zip(pairs[0].targets, *(each.sources for each in pairs), strict=True):
        forced = [one.force_decode(x, words) for one, x in zip(oracles, given, strict=True)]
        total = sum(w * one.distributions for w, one in zip(weights, forced, strict=True))
        expected += [row - np.log(np.exp(row).sum()) for row in total]
    assert len(ids) == len(expected)
    for found, values, row in zip(ids, log_probs, expected, strict=True):
        np.testing.assert_allclose(values, -np.sort(-row)[:k], atol=LOG_PROBABILITY)
        np.testing.assert_allclose(values, row[found], atol=LOG_PROBABILITY)
        assert len(set(found.tolist())) == k


def test_members_of_an_ensemble_have_their_own_scores():
    (source,), (words,) = texts(STRUCTURES[0], 5, [(3, 4)])
    models = [model(tiny(), seed) for seed in (1, 2)]
    batch = Texts([source], [words]).batch(tiny())
    found = Members(models)([batch[:2]] * 2, [*words, 0])
    for seed, scores in zip((1, 2), found, strict=True):
        expected = reference(tiny(), random_arrays(tiny(), seed)).force_decode(source, words)
        np.testing.assert_allclose(scores.log_probs, expected.log_probs, atol=LOG_PROBABILITY)
        length = len(source) + 1
        np.testing.assert_allclose(scores.alignment[:, :length], expected.alignment, atol=WEIGHTS)

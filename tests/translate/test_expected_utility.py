"""Minimum Bayes risk, compared with all pairs scored by sacreBLEU."""

import random

import numpy as np
import pytest
import sacrebleu

from cgru_cli.output.hypothesis import Hypothesis
from cgru_cli.translate.expected_utility import bleu, chrf, ranked

SCORES = {"chrf": sacrebleu.sentence_chrf, "bleu": sacrebleu.sentence_bleu}
WORDS = "the house is not, lovely! a bb ccc (x) 3.5 - '' Haus".split()


def texts(count, seed):
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randrange(12))) for _ in range(count)]


def hypotheses(some, scores=None):
    scores = scores or [0.0] * len(some)
    return [Hypothesis(one.split(), True, s, s) for one, s in zip(some, scores, strict=True)]


@pytest.mark.parametrize("utility", SCORES)
def test_all_pairs_have_the_scores_of_sacrebleu(utility):
    for seed in range(12):
        some = [*texts(7, seed), "", "aaaa aaaa aaaa", "a"]
        found = {"chrf": chrf, "bleu": bleu}[utility](some)
        expected = [[SCORES[utility](one, [other]).score for other in some] for one in some]
        np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("utility", SCORES)
def test_samples_are_ranked_by_their_mean_similarity(utility):
    drawn = [*texts(9, 50), *texts(4, 50), texts(9, 50)[2]]  # some are drawn more than once
    found = ranked(hypotheses(drawn), drawn, utility, sampled=True)
    expected = {
        one: np.mean([SCORES[utility](one, [other]).score for other in drawn]) for one in drawn
    }
    assert {drawn[place]: total for place, total in found} == pytest.approx(expected, abs=1e-4)
    totals = [total for _, total in found]
    assert totals == sorted(totals, reverse=True)
    assert all(drawn.index(drawn[place]) == place for place, _ in found)


def test_a_beam_is_weighted_by_its_probabilities():
    some, scores = ["a b c d", "a b x", "y z"], [-400.0, -400.7, -399.5]
    chances = np.exp(np.array(scores) + 400)
    chances /= chances.sum()
    found = dict(ranked(hypotheses(some, scores), some, "chrf", sampled=False))
    for place, one in enumerate(some):
        own = [sacrebleu.sentence_chrf(one, [other]).score for other in some]
        assert found[place] == pytest.approx(chances @ own, abs=1e-4)


def test_one_sample_and_equal_samples_are_certain():
    for utility in SCORES:
        for count in (1, 5):
            equal = ["a good day"] * count
            found = ranked(hypotheses(equal), equal, utility, sampled=True)
            assert found == [(0, pytest.approx(100))]
        assert ranked(hypotheses(["", ""]), ["", ""], utility, sampled=True) == [
            (0, 0.0)
        ]  # as sacreBLEU

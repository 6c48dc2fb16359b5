"""Scores of given translations in batches, compared with the float64 oracle."""

import numpy as np
import pytest
from cases import random_arrays, tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from models import pad_source, pad_target, random_pairs, reference, structures
from selection import choice
from tolerances import LOG_PROBABILITY, WEIGHTS

from cgru_cli.network import scorer as scorer_module
from cgru_cli.network.network import Network
from cgru_cli.network.scorer import Scorer

LENGTHS = [(3, 2), (0, 1), (1, 4), (4, 0)]


def scored(scorer, sources, targets, **padding):
    source, source_mask = (x.numpy() for x in pad_source(sources, **padding))
    target, mask = (x.numpy() for x in pad_target(targets, **padding))
    return scorer(source, source_mask, target, mask)


def check(scores, structure, arrays, sources, targets):
    oracle = reference(structure, arrays)
    for b, (source, target) in enumerate(zip(sources, targets, strict=True)):
        words = [word if len(word) > 1 else word[0] for word in source]
        expected = oracle.force_decode(words, target)
        T, S = expected.alignment.shape
        np.testing.assert_allclose(
            scores.log_probs[b, :T], expected.log_probs, rtol=0, atol=LOG_PROBABILITY
        )
        assert not scores.log_probs[b, T:].any()  # padding has no score
        np.testing.assert_allclose(scores.alignment[b, :T, :S], expected.alignment, atol=WEIGHTS)


@pytest.mark.parametrize("count", choice([3, 24], 3))
def test_scores_are_the_oracles(count):
    """`test_network.py` compares more structures, operation by operation."""

    @settings(max_examples=count)
    @given(structures(), st.integers(0, 1000))
    def are_the_oracles(structure, seed):
        arrays = random_arrays(structure, seed)
        pairs = random_pairs(structure, seed, LENGTHS)
        scorer = Scorer(Network(structure, arrays), with_alignment=True)
        check(scored(scorer, *pairs, filler=1, longer=2), structure, arrays, *pairs)

    are_the_oracles()


def test_one_trace_serves_all_shapes(monkeypatch):
    traced = []
    score = scorer_module.score
    monkeypatch.setattr(scorer_module, "score", lambda *a: traced.append(a) or score(*a))
    structure = tiny()
    scorer = Scorer(Network(structure, random_arrays(structure)), with_alignment=True)
    for lengths in (LENGTHS, LENGTHS[:1], [(9, 7)] * 3):
        scored(scorer, *random_pairs(structure, 1, lengths))
    assert len(traced) == 1


@pytest.mark.parametrize("words", [1, 5])
def test_each_pair_has_its_score_alone(words):
    structure = tiny()
    scorer = Scorer(Network(structure, random_arrays(structure)), with_alignment=False)
    sources, targets = random_pairs(structure, 2, [(2, words), (words, 3), (7, 7)])
    together = scored(scorer, sources, targets)
    assert together.alignment is None
    for b, (source, target) in enumerate(zip(sources, targets, strict=True)):
        alone = scored(scorer, [source], [target]).log_probs[0]
        np.testing.assert_allclose(together.log_probs[b, : len(alone)], alone, atol=LOG_PROBABILITY)
    assert together.log_probs.dtype == np.float32

"""Pairs scored by one model or an ensemble: alone, in batches, backward."""

import numpy as np
import pytest
from commands import write_model

from cgru_cli.errors import CgruError
from cgru_cli.formats.loaded_model import Reading, load_model
from cgru_cli.score.pairs.ensemble_scorer import EnsembleScorer, in_batches
from cgru_cli.score.pairs.model_scorer import ModelScorer
from cgru_cli.search.runtime import prepared

PAIRS = [("a b c", "A B"), ("f", "C F F A"), ("", "B"), ("d d a b f", "")]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    return load_model(write_model(tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return load_model(write_model(tmp_path_factory.mktemp("other"), seed=9))


def model_scorer(loaded, reading=None, **more):
    copy = loaded.with_arrays(loaded.model.arrays)
    given = prepared(copy.model)
    return ModelScorer(copy, reading or Reading(), given, with_alignment=True, **more)


def scores(scorer, pairs):
    numbered = {number: pair[0] for number, (pair,) in in_batches([scorer], pairs, 0, 64)}
    return [numbered[number] for number in range(len(pairs))]


def test_batched_scores_equal_single_scores(loaded):
    scorer = EnsembleScorer([model_scorer(loaded)])
    together = scores(scorer, PAIRS)
    for pair, one in zip(PAIRS, together, strict=True):
        (alone,) = scores(scorer, [pair])
        np.testing.assert_allclose(one.word_scores, alone.word_scores, atol=1e-5)
        np.testing.assert_allclose(one.alignment, alone.alignment, atol=1e-6)
        assert one.alignment.shape == (len(pair[1].split()) + 1, len(pair[0].split()) + 1)
        assert one.score == pytest.approx(one.word_scores.sum(), abs=1e-5)
        assert one.total == one.score


def test_totals_have_the_penalty_and_are_divided_by_the_length(loaded):
    scorer = EnsembleScorer([model_scorer(loaded)], normalize=0.5, word_penalty=0.25)
    for one in scores(scorer, PAIRS):
        length = len(one.tokens) + 1
        assert one.total == pytest.approx((one.score - 0.25 * length) / length**0.5)


def test_an_ensemble_is_the_weighted_sum_and_the_mean_of_attention(loaded, other):
    models = [model_scorer(loaded), model_scorer(other)]
    each = [scores(EnsembleScorer([model]), PAIRS) for model in models]
    ensemble = EnsembleScorer(models, (0.25, 2.0), with_alignment=True, members=True)
    for number, ([together, *of_models],) in in_batches([ensemble], PAIRS, 0, 2):
        one, two = (column[number] for column in each)
        mean = (one.alignment + two.alignment) / 2
        np.testing.assert_allclose(together.alignment, mean, atol=1e-6)
        weighted = one.word_scores * 0.25 + two.word_scores * 2
        np.testing.assert_allclose(together.word_scores, weighted, atol=1e-5)
        for member, hypothesis in zip((one, two), of_models, strict=True):
            np.testing.assert_allclose(hypothesis.word_scores, member.word_scores, atol=1e-6)
        names = [view.name for view in ensemble.views([together, *of_models], ["one", "two"])]
        assert names == ["mean", "one", "two"]
        without = [together, of_models[0]._replace(alignment=None), of_models[1]]
        names = [view.name for view in ensemble.views(without, ["one", "two"])]
        assert names == ["mean", "two"]


def test_a_backward_scorer_reads_pairs_from_the_target(loaded):
    pairs = [("A B", "a b"), ("F", "f")]
    forward = scores(EnsembleScorer([model_scorer(loaded)]), [(t, s) for s, t in pairs])
    backward = scores(EnsembleScorer([model_scorer(loaded)], backward=True), pairs)
    assert [one.tokens for one in backward] == [one.tokens for one in forward]
    assert [one.score for one in backward] == [one.score for one in forward]


def test_pairs_keep_their_numbers_in_any_batches(loaded):
    scorer = EnsembleScorer([model_scorer(loaded)])
    numbered = dict(in_batches([scorer], PAIRS, 10, 1))
    assert set(numbered) == {10, 11, 12, 13}
    for number, ((pair,),) in numbered.items():
        assert list(pair.source) == PAIRS[number - 10][0].split()
        assert list(pair.tokens) == PAIRS[number - 10][1].split()


def test_long_sources_are_cut_and_long_translations_refused(loaded, capsys):
    scorer = EnsembleScorer([model_scorer(loaded, Reading(longest=2))])
    cut, whole = scores(scorer, [("a b c d", "A"), ("a b", "A")])
    assert cut.score == pytest.approx(whole.score, abs=1e-6)
    assert "line 1 has 4 words; cut to --max-length 2" in capsys.readouterr().err
    with pytest.raises(CgruError, match="line 2: the translation has 3 words"):
        scores(scorer, [("a", "A"), ("a", "A B C")])


def test_the_workspace_bounds_batches(loaded):
    small, large = (model_scorer(loaded, workspace=mib).max_tokens for mib in (1, 10))
    assert 1 <= small < large
    assert large == pytest.approx(10 * small, rel=0.01)

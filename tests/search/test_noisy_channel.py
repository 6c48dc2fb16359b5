"""The noisy channel in the beam, against a beam in plain Python with models in NumPy."""

import functools
import itertools

import numpy as np
import pytest
from cases import random_arrays, tiny
from deep_equations import DeepModel
from ensembles import joined
from models import pad_source, reference

from cgru_cli.parameters.structure import Type
from cgru_cli.search.beam import shrinking_beam
from cgru_cli.search.constraints import Avoided, Constraints
from cgru_cli.search.ensemble import Ensemble
from cgru_cli.search.hypotheses import SearchBatch
from cgru_cli.search.noisy_channel import ChannelRanking
from cgru_cli.search.runtime import PreparedModel
from cgru_cli.search.settings import ChannelSum, SearchSettings

EOS, V, LONGEST = 0, 4, 4
CHANNEL, LM = 0.7, 0.4  # weights
SOURCES = [(1, 2, 3), (4,), (2, 2)]
TYPES = {
    "direct": tiny(target_vocabulary=V, source_vocabularies=(5,)),
    "channel": tiny(target_vocabulary=5, source_vocabularies=(V,)),
    "lm": tiny(type=Type.LM, source_vocabularies=(), source_embeddings=(), target_vocabulary=V,
               decoder_base_transition=1),
}  # fmt: skip
ARRAYS = {name: random_arrays(s, seed, 2.0) for seed, (name, s) in enumerate(TYPES.items(), 3)}
DIRECT, BACKWARD = (reference(TYPES[name], ARRAYS[name]) for name in ("direct", "channel"))
LANGUAGE = DeepModel(ARRAYS["lm"], type="lm")
STEPPED = [PreparedModel(TYPES[name], ARRAYS[name]) for name in ("direct", "lm")]
ENSEMBLE = Ensemble(STEPPED, [1.0, 0.0])


@functools.cache
def log_prob(model, source, words):
    """log p(words, ended | source), by NumPy in float64."""
    oracle = {"direct": DIRECT, "channel": BACKWARD}[model]
    return oracle.force_decode(list(source), list(words)).log_probs


def beginnings(log_probs, words, ended):
    return float(log_probs[: len(words) + ended].sum())


@functools.cache
def expected(source, words, ended, alpha=1.0):
    """The sum of Yee et al. for a translation, or for its beginning."""
    direct = beginnings(log_prob("direct", source, words), words, ended)
    lm = beginnings(LANGUAGE.force_decode(None, list(words)).log_probs, words, ended)
    channel = log_prob("channel", words, source).sum()
    t, s = len(words) + ended, len(source) + 1
    return direct / t**alpha + (CHANNEL * channel + LM * lm) / s**alpha


def numpy_score(sentences, translations):
    return np.array(
        [log_prob("channel", tuple(words), SOURCES[sentence]).sum()
         for sentence, words in zip(sentences, translations, strict=True)]
    )  # fmt: skip


def searched(beam, candidates, *, alpha=1.0, unk=None, constraints=(), batches=1):
    settings = SearchSettings(beam_size=beam, normalize=alpha, unk=unk)
    ranking = ChannelRanking(ChannelSum(CHANNEL, LM, settings), candidates, numpy_score)
    begun = []
    for some in np.array_split(np.arange(len(SOURCES)), batches):
        sources = [[(word,) for word in SOURCES[i]] for i in some]
        nothing = np.zeros((len(some), 1, 0), np.int32), np.ones((len(some), 1), np.float32)
        states = ENSEMBLE.begin([pad_source(sources), nothing])
        lengths = [len(source) + 1 for source in sources]
        begun.append(SearchBatch(states, lengths, [LONGEST] * len(some), (), constraints))
    if batches > 1:
        lists = joined(begun, settings, ranking)
    else:
        lists = dict(shrinking_beam(begun, settings, ranking=ranking))
    return [lists[number] for number in range(len(SOURCES))]


def plain_beam(source, beam, candidates, alpha=1.0, unk=None):
    """The same search with dictionaries: translations and their scores, best first."""
    live, done = [()], {}
    for step in range(1, LONGEST + 1):
        extended = []
        for words in live:
            following = {
                word: beginnings(log_prob("direct", source, (*words, word)), (*words, word), 0)
                for word in range(1, V) if word != unk
            }  # fmt: skip
            following[EOS] = beginnings(log_prob("direct", source, words), words, 1)
            best = sorted(following, key=following.get, reverse=True)[:candidates]
            for word in best:
                whole = words if word == EOS else (*words, word)
                extended.append((expected(source, whole, word == EOS, alpha), whole, word == EOS))
        extended.sort(reverse=True)
        chosen = extended[: beam - len(done)]
        ended = [one for one in chosen if one[2] or step == LONGEST]
        done |= {words: total for total, words, _ in ended}
        live = [words for total, words, end in chosen if not end]
    return sorted(done.items(), key=lambda item: -item[1])


@pytest.mark.long
@pytest.mark.parametrize("alpha", [1.0, 0.0])
def test_unlimited_beam_ranks_every_translation(alpha):
    for source, results in zip(SOURCES, searched(V**LONGEST, V, alpha=alpha), strict=True):
        own = {tuple(r.words[:-1].tolist()): r for r in results if r.finished}
        every = [w for n in range(LONGEST) for w in itertools.product(range(1, V), repeat=n)]
        assert own.keys() == set(every)
        for words, result in own.items():
            assert result.total == pytest.approx(expected(source, words, 1, alpha), abs=1e-4)
            assert result.channel == pytest.approx(log_prob("channel", words, source).sum())
            lm = LANGUAGE.force_decode(None, list(words)).log_probs.sum()
            assert result.lm == pytest.approx(lm, abs=1e-4)
            direct = log_prob("direct", source, words).sum()
            assert result.score == pytest.approx(direct, abs=1e-4)
        totals = [result.total for result in results]
        assert totals == sorted(totals, reverse=True)


@pytest.mark.parametrize(
    ("beam", "candidates", "unk"), [(1, 2, None), (2, 2, None), (3, 2, 1), (2, 3, 1), (3, 1, None)]
)
def test_narrow_beam_equals_plain_python(beam, candidates, unk):
    together = searched(beam, candidates, unk=unk)
    one_by_one = searched(beam, candidates, unk=unk, batches=3)
    for source, results, same in zip(SOURCES, together, one_by_one, strict=True):
        own = [tuple(int(word) for word in r.words if word != EOS) for r in results]
        plain = plain_beam(source, beam, candidates, unk=unk)
        assert own == [words for words, _ in plain]
        assert [r.total for r in results] == pytest.approx([t for _, t in plain], abs=1e-4)
        assert [r.words.tolist() for r in same] == [r.words.tolist() for r in results]


def test_required_words_are_always_candidates():
    constraints = [Constraints.of([[(3, 3)]], Avoided([]))] * len(SOURCES)
    for results in searched(4, 1, constraints=constraints):
        assert results
        for result in results:
            assert "3, 3" in str(result.words.tolist())

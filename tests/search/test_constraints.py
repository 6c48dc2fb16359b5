"""Required and avoided phrases, compared with a search of all translations for the phrases."""

import functools
import itertools

import numpy as np
import pytest
from cases import random_arrays, tiny
from ensembles import OneSource
from hypothesis import given, settings
from hypothesis import strategies as st
from models import pad_source, reference
from selection import LONG, choice

from cgru_cli.search.beam import shrinking_beam
from cgru_cli.search.constraints import Avoided, Constraints, Required
from cgru_cli.search.hypotheses import SearchBatch
from cgru_cli.search.settings import SearchSettings
from cgru_cli.search.tracker import allocation

EOS, V, LONGEST = 0, 5, 5
STRUCTURE = tiny(target_vocabulary=V, source_vocabularies=(6,))
ARRAYS = random_arrays(STRUCTURE, 3, scale=2.0)
SOURCES = [[(1,), (2,), (3,)], [(4,)]]
DECODER = OneSource((STRUCTURE, ARRAYS))
WORD = st.integers(1, V - 1)
PHRASES = st.lists(st.lists(WORD, min_size=1, max_size=3).map(tuple), max_size=3)
ANY = st.lists(st.lists(WORD, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3)
REQUIREMENTS = st.lists(ANY, max_size=3)


def has(words, phrase):
    """Whether the words contain the phrase."""
    return any(tuple(words[i : i + len(phrase)]) == phrase for i in range(len(words)))


def satisfied(words, requirements):
    """Whether the words have a phrase of each requirement."""
    return all(any(has(words, phrase) for phrase in some) for some in requirements)


@given(REQUIREMENTS, st.lists(WORD, max_size=12))
def test_states_count_the_words_of_a_phrase_found_so_far(requirements, words):
    required = Required(requirements)
    state = required.start
    for count in range(len(words) + 1):
        met = [place == len(phrase) for place, phrase in zip(state, required.phrases, strict=True)]
        assert all(met) == satisfied(words[:count], requirements)
        assert all(met) == (required.met(state) == required.most) == (required.missing(state) == 0)
        assert all(
            done for done, phrase in zip(met, required.phrases, strict=True)
            if has(words[:count], phrase)
        )  # fmt: skip
        for phrase, place in zip(required.phrases, state, strict=True):
            if place < len(phrase):
                assert list(phrase[:place]) == words[count - place : count]
        if count < len(words):
            state = required.after(state, words[count])


@given(REQUIREMENTS, st.lists(WORD, max_size=6))
def test_the_next_words_complete_a_translation_in_time(requirements, begun):
    required = Required(requirements)
    state = required.start
    for word in begun:
        state = required.after(state, word)
    missing = required.missing(state)
    while missing:
        after = [required.after(state, word) for word in required.next_words(state)]
        state = min(after, key=required.missing)
        assert required.missing(state) < missing
        missing = required.missing(state)
    assert not required.next_words(state)


@given(PHRASES, st.lists(WORD, max_size=12))
def test_a_word_is_avoided_where_it_would_end_a_phrase(phrases, words):
    avoided = Avoided(phrases)
    for count in range(len(words)):
        before = tuple(words[:count])
        last = before[max(0, count - max(0, avoided.longest - 1)) :]
        banned = {word for word in range(1, V) for p in phrases if (*before, word)[-len(p) :] == p}
        assert set(avoided.words(last)) == banned


@given(st.integers(1, 12), st.integers(0, 6), st.data())
def test_the_whole_beam_is_allocated(capacity, most, data):
    sizes = data.draw(st.dictionaries(st.integers(0, most), st.integers(1, 9)))
    shares = allocation(capacity, most, sizes)
    assert all(0 <= shares[number] <= sizes[number] for number in sizes)
    assert sum(shares.values()) == min(capacity, sum(sizes.values()))
    for number in sizes:  # even one without a share of its own
        assert shares[number] >= min(sizes[number], capacity // (most + 1))


# -- the search ------------------------------------------------------------------------------------


@functools.cache
def every_translation(source):
    """The log-probability, float64, of every translation of at most LONGEST words with EOS."""
    oracle = reference(STRUCTURE, ARRAYS)
    return {
        words: oracle.force_decode(list(source), list(words)).log_probs.sum()
        for length in range(LONGEST)
        for words in itertools.product(range(1, V), repeat=length)
    }


def searched(constraints, beam, limit=LONGEST, prefixes=(), words=(), **more):
    lengths = [len(source) + 1 for source in SOURCES]
    states = DECODER.begin(pad_source(SOURCES), words)
    batch = SearchBatch(states, lengths, [limit] * len(SOURCES), prefixes, constraints)
    lists = dict(shrinking_beam([batch], SearchSettings(beam_size=beam, normalize=1.0, **more)))
    return [lists[number] for number in range(len(SOURCES))]


CASES = {
    "one word": ([(3,)], []),
    "a phrase": ([(2, 2, 1)], []),
    "two that overlap": ([(1, 3), (3, 2)], []),
    "two words": ([(4,), (1,)], []),
    "one within another": ([(4, 1), (1,)], []),
    "an alternative": ([[(3,), (2, 2, 1)]], []),
    "alternatives that overlap": ([[(1, 3), (2, 4)], [(3,), (4, 4)], [(4,), (3, 1)]], []),
    "alternatives that overlap others": ([[(4, 1), (1,), (2, 2)], [(1, 3), (2, 2)], (1,)], []),
    "alternatives and avoided": ([[(3,), (2, 1)], [(4, 4), (2,)]], [(3, 3), (1, 2)]),
    "avoided": ([], [(2,), (1, 3), (3, 3, 4)]),
    "both": ([(2, 1)], [(4,), (1, 1)]),
}


@pytest.mark.parametrize("name", choice(CASES, *list(CASES)[::3], "both", others=LONG))
def test_an_endless_beam_finds_every_translation_that_is_allowed(name):
    required, avoided = CASES[name]
    required = [some if isinstance(some, list) else [some] for some in required]
    constraints = [Constraints.of(required, Avoided(avoided)), None]
    found, free = searched(constraints, V**LONGEST)
    for results, (has_all, has_none) in ((found, (required, avoided)), (free, ([], []))):
        source = SOURCES[0] if results is found else SOURCES[1]
        expected = {
            words: score
            for words, score in every_translation(tuple(source)).items()
            if satisfied(words, has_all) and not any(has(words, p) for p in has_none)
        }
        own = {tuple(r.words[:-1].tolist()): r for r in results if r.finished}
        if "overlap" in name:  # not those that are short enough only by overlapping
            assert own.keys() <= expected.keys() and len(own) >= 7
            expected = {words: expected[words] for words in own}
        else:
            assert own.keys() == expected.keys()
        for words, result in own.items():
            assert result.score == pytest.approx(expected[words], abs=1e-4)
            assert result.total == pytest.approx(expected[words] / (len(words) + 1), abs=1e-4)
        best = max(score / (len(words) + 1) for words, score in expected.items())
        assert max(r.total for r in results if r.finished) == pytest.approx(best, abs=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.lists(ANY, min_size=1, max_size=3), st.integers(1, 6), st.data())
def test_in_any_beam_all_phrases_are_there_and_scores_are_the_models(requirements, beam, data):
    """Even if the limit allows only the phrases one after the other, and EOS."""
    required = Required(requirements)
    begun = data.draw(st.lists(st.integers(1, V - 1), max_size=2))
    limit = len(begun) + required.missing(required.start) + 1 + data.draw(st.integers(0, 2))
    constraints = [Constraints.of(requirements, Avoided([])), None]
    found, free = searched(constraints, beam, limit, prefixes=[begun, []])
    assert found and len(found) <= beam
    oracle = reference(STRUCTURE, ARRAYS)
    for result in found:
        words = result.words.tolist()
        finished = words[:-1] if result.finished else words
        assert satisfied(words, requirements) and words[: len(begun)] == begun
        scores = oracle.force_decode(SOURCES[0], finished).log_probs[: len(words)]
        assert result.word_scores == pytest.approx(scores, abs=1e-4)
        assert result.total == pytest.approx(scores.sum() / len(words), abs=1e-4)
    assert [r.words.tolist() for r in free] == [
        r.words.tolist() for r in searched([None, None], beam, limit)[1]
    ]


def test_a_soft_prefix_yields_to_phrases():
    """It makes its words more probable, and never an avoided phrase."""
    for required, avoided, prefix in (
        ([[(3, 2)]], [(1, 1)], (1, 1, 4)), ([[(2,), (4,)]], [(1,)], (1, 3)), ([], [(2, 2)], (2, 2)),
    ):  # fmt: skip
        constraints = [Constraints.of(required, Avoided(avoided)), None]
        lists = searched(constraints, 4, 6, [prefix, ()], prefix_bias=0.9)
        for result in lists[0]:
            words = result.words.tolist()
            assert satisfied(words, required) and not any(has(words, p) for p in avoided)
        begun = [prefix[0]] if (prefix[0],) not in avoided else []
        assert lists[0][0].words.tolist()[: len(begun)] == begun


def test_phrases_work_with_a_shortlist():
    words = np.array([0, 2, 4], np.int32)
    constraints = [Constraints.of([[(4, 4)]], Avoided([(2, 2), (1,)])), None]
    for result in searched(constraints, 3, 6, words=[words])[0]:
        written = result.words.tolist()
        assert has(written, (4, 4)) and not has(written, (2, 2))
        assert set(written) <= {0, 2, 4}

"""Searches compared with the programs' own lists, and with all possible translations."""

import functools
import itertools
import math

import numpy as np
import pytest
import tensorflow as tf
from cases import random_arrays, tiny
from ensembles import OneSource, joined
from forced import force_decode
from hypothesis import given, settings
from hypothesis import strategies as st
from models import case, forced_scores, pad_source, structures, text_lines
from prescribed_words import PrescribedWords, search_prescribed
from selection import LONG, choice, in_turns

from cgru_cli.corpus.numpy_order import argsort
from cgru_cli.network.network import Network
from cgru_cli.parameters.program import PROGRAMS, marian_limit
from cgru_cli.search.beam import shrinking_beam
from cgru_cli.search.hypotheses import SearchBatch
from cgru_cli.search.nematus_tf_beam import nematus_tf_beam
from cgru_cli.search.settings import Sampling, SearchSettings

V, LONGEST = 5, 4
SMALL = {"target_vocabulary": V, "source_vocabularies": (6,)}


def small_model(seed=0):
    structure = tiny(**SMALL)
    return structure, random_arrays(structure, seed, scale=2.0)


@functools.lru_cache(maxsize=16)
def small_network(seed=0):
    return Network(*small_model(seed))


@functools.lru_cache(maxsize=16)
def small_decoder(*seeds, weights=None):
    return OneSource(*map(small_model, seeds), weights=weights)


def run(search, decoder, sources, limit, settings, *, prefixes=(), lines=()):
    """Search all sources as one batch; limit: a number or a function of the length with EOS."""
    ids, mask = pad_source(sources)
    lengths = [len(words) + 1 for words in sources]
    if isinstance(limit, Marian):
        limits = limit(lengths)
    else:
        limits = [limit(length) if callable(limit) else limit for length in lengths]
    states = decoder.begin((ids, mask))
    batch = SearchBatch(states, lengths, limits, prefixes, (), lines)
    if search is shrinking_beam:
        found = dict(search([batch], settings))
        return [found[number] for number in range(len(sources))]
    return search(batch, settings)


def words(lists):
    return [[tuple(found.words.tolist()) for found in results] for results in lists]


# -- the programs' lists ---------------------------------------------------------------------------


def read_list(file, count):
    """(tokens, score) of each hypothesis by sentence; costs become negative, padding is removed."""
    lists = [[] for _ in range(count)]
    costs = file.parent.name in ("theano", "dl4mt", "dl4mt-session1")
    for line in text_lines(file):
        number, text, *fields = line.split(" ||| ")
        score = float(fields[0] if costs else fields[-1])
        if score > -1e6:
            tokens = tuple(word for word in text.split(" ") if word)
            lists[int(number)].append((tokens, -score if costs else score))
    return lists


@functools.lru_cache(maxsize=8)
def case_decoder(a_case):
    return OneSource((a_case.model.structure, a_case.model.arrays))


@functools.lru_cache(maxsize=4)
def searched(a_case, source_file, algorithm, beam, normalize, limit, batch=10):
    sources = a_case.source_ids(source_file)
    settings = SearchSettings(beam_size=beam, normalize=normalize)
    if algorithm is shrinking_beam:
        return run(algorithm, case_decoder(a_case), sources, limit, settings)
    order = argsort([len(source) + 1 for source in sources])
    lists = {}
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        found = run(algorithm, case_decoder(a_case), [sources[i] for i in rows], limit, settings)
        lists |= dict(zip(rows, found, strict=True))
    return [lists[i] for i in range(len(sources))]


def check_lists(a_case, found, file, again=None):
    """The same hypotheses in the same order, scores to 1e-3.

    again(i): repeats the search of a sentence in which two partial translations at the edge of the
    beam are so close (1e-5 nats) that float32's rounding, which varies with the batch, decides.
    """
    expected = read_list(file, len(found))
    for i, (own, theirs) in enumerate(zip(found, expected, strict=True)):
        if again and texts(a_case, own) != [tokens for tokens, _ in theirs]:
            own = again(i)
        assert texts(a_case, own) == [tokens for tokens, _ in theirs]
        np.testing.assert_allclose([f.total for f in own], [s for _, s in theirs], atol=1e-3)


def texts(a_case, found):
    return [tuple(a_case.target.decode(f.words[:-1] if f.finished else f.words)) for f in found]


def settings_of(file):
    """Beam size and normalisation, from the name of the file."""
    name = file.rpartition("/")[2]
    beam = int(next(part for part in name.split(".") if part[1:].isdigit())[1:])
    return beam, 1.0 if ".norm1" in name else 0.0


FOUR = ["nbest.k5.txt", "nbest.k5.norm1.txt", "nbest.k12.txt", "nbest.k12.norm1.txt"]
NEMATUS_TF = {
    "a-shallow/model.npz": [*FOUR, "native/nbest.k5.norm1.txt"],
    "b-layernorm/model.npz": [*FOUR, "native/nbest.k5.norm1.txt"],
    "c-tied-dec/model.npz": [*FOUR, "native/nbest.k5.norm1.txt"],
    "d-tied-all/model.npz": [*FOUR, "native/nbest.k5.norm1.txt"],
    "e-deep-tf/native/model-1500": ["native/nbest.k5.norm1.txt"],
    "e2-deep-theano/model.npz": FOUR,
    "f-factors/model.npz": [*FOUR, "native/nbest.k5.norm1.txt"],
}
# In a-shallow, a bug of Nematus-TF reads unknown words as id 2, "the".
NEMATUS_TF_UNKNOWN = ["b-layernorm", "c-tied-dec", "d-tied-all", "e2-deep-theano", "f-factors"]
SHRINKING = {
    "marian-nematus/model.npz": ["nbest.k5.norm1.txt", "nbest.k5.txt", "nbest.k12.norm1.txt"],
    "marian-amun/model.npz": ["nbest.k5.norm1.txt", "nbest.k5.txt", "nbest.k12.norm1.txt"],
    "marian-s2s/model.npz": ["nbest.k5.norm1.txt", "nbest.k5.txt", "nbest.k12.norm1.txt"],
    "marian-nematus-ln/model.npz": ["nbest.k5.norm1.txt"],
    "marian-amun-ln/model.npz": ["nbest.k5.norm1.txt"],
    **{
        f"marian-s2s-{kind}/model.npz": ["nbest.k5.norm1.txt", "nbest.k5.txt"]
        for kind in ("lstm", "tanh", "deep", "bi-unidirectional", "bi-uni-cell2-skip")
    },
    "dl4mt-session1/model.npz": ["nbest.k5.txt"],
    # the cases with lists of nematus_tf_beam too, which share the traces
    "a-shallow/model.npz": [
        *(f"marian-amun/{name}" for name in FOUR),
        *(f"marian-nematus/{name}" for name in FOUR),
        "marian-amun/nbest.align.wordscores.k5.norm1.txt",
        "theano/nbest.k5.norm1.txt",
        "theano/nbest.k12.norm1.txt",
        "dl4mt/session2.nbest.k5.txt",
    ],
    "b-layernorm/model.npz": [f"marian-nematus/{name}" for name in FOUR],
    "c-tied-dec/model.npz": [f"marian-nematus/{name}" for name in FOUR],
    "d-tied-all/model.npz": [f"marian-amun/{name}" for name in FOUR],
}


def opened(shared, name):
    folder = shared(f"fixtures/{name.split('/')[0]}")
    return case(folder / name.partition("/")[2]), folder


class Marian:
    """Marian's limits, factor times the longest source of a batch; batches are cut by length."""

    def __init__(self, factor, mini_batch):
        self.factor, self.mini_batch = factor, mini_batch

    def __call__(self, lengths):
        limits = [0] * len(lengths)
        order = sorted(range(len(lengths)), key=lambda i: -lengths[i])  # longest first
        for start in range(0, len(order), self.mini_batch):
            for i in order[start : start + self.mini_batch]:
                limits[i] = marian_limit(lengths[order[start]], self.factor)
        return limits


# the folders of one model of each program, type and cell
CHOSEN = ("a-shallow", "marian-amun-ln", "marian-nematus", "marian-s2s-deep", "marian-s2s-lstm")
CHOSEN += ("dl4mt-session1",)
ALONE, TEN, SHORT = Marian(3.0, 1), Marian(3.0, 10), Marian(2.0, 1)


def limits_of(name, file):
    """The options in COMMANDS.txt of each folder."""
    if name.startswith("marian"):
        return SHORT if "s2s-" in name or file == "nbest.k5.norm1.txt" else ALONE
    if file.startswith("marian"):
        return ALONE if "align" in file else TEN
    return PROGRAMS["nematus"].limit


@pytest.mark.parametrize(
    "name",
    choice(
        SHRINKING,
        "marian-amun-ln/model.npz",
        "marian-s2s-lstm/model.npz",
        "dl4mt-session1/model.npz",
        long=[name for name in SHRINKING if name.split("/")[0] in CHOSEN],
    ),
)
def test_lists_are_theanos_dl4mts_and_marians(shared, name):
    a_case, folder = opened(shared, name)
    for file in SHRINKING[name]:
        limit = limits_of(name, file)
        beam, normalize = settings_of(file)
        found = searched(a_case, folder / "src.txt", shrinking_beam, beam, normalize, limit)
        sources = a_case.source_ids(folder / "src.txt")

        def again(i, limit=limit, beam=beam, normalize=normalize, sources=sources):
            settings = SearchSettings(beam, normalize)
            return run(shrinking_beam, case_decoder(a_case), [sources[i]], limit, settings)[0]

        check_lists(a_case, found, folder / file, None if limit is TEN else again)


@pytest.mark.parametrize(
    "name",
    choice(
        NEMATUS_TF,
        "e-deep-tf/native/model-1500",
        long=["a-shallow/model.npz", "f-factors/model.npz"],
    ),
)
def test_lists_are_nematus_tfs(shared, name):
    a_case, folder = opened(shared, name)
    limit = PROGRAMS["nematus-tf"].limit
    for file in NEMATUS_TF[name]:
        found = searched(a_case, folder / "src.txt", nematus_tf_beam, *settings_of(file), limit)
        check_lists(a_case, found, folder / file)
        if file == "nbest.k5.norm1.txt":
            best = [a_case.target.decode(results[0].words[:-1]) for results in found]
            lines = [line.split() for line in text_lines(folder / "best.k5.norm1.txt")]
            assert best == lines


@pytest.mark.parametrize("name", choice(NEMATUS_TF_UNKNOWN, NEMATUS_TF_UNKNOWN[0], others=LONG))
def test_unknown_words_are_read_as_nematus_tf_does(shared, name):
    a_case, folder = opened(shared, f"{name}/model.npz")
    limit = PROGRAMS["nematus-tf"].limit
    found = searched(a_case, folder / "src.oov.txt", nematus_tf_beam, 5, 1.0, limit, batch=1)
    check_lists(a_case, found, folder / "nbest.oov.k5.norm1.txt")


@pytest.mark.parametrize(
    "name", choice(["marian-nematus", "marian-amun", "marian-s2s"], "marian-s2s", others=LONG)
)
def test_suppressed_unknown_words_are_marians(shared, name):
    a_case, folder = opened(shared, f"{name}/model.npz")
    settings = SearchSettings(beam_size=5, normalize=1.0, unk=a_case.target.unk_id, best_only=True)
    sources = a_case.source_ids(folder / "src.txt")
    found = run(shrinking_beam, case_decoder(a_case), sources, ALONE, settings)
    best = [" ".join(a_case.target.decode(results[0].words[:-1])) for results in found]
    assert best == text_lines(folder / "best.k5.norm1.txt")


def test_alignments_and_word_scores_are_marians(shared):
    a_case, folder = opened(shared, "a-shallow/model.npz")
    settings = SearchSettings(beam_size=5, normalize=1.0, with_alignment=True)
    sources = a_case.source_ids(folder / "src.txt")
    lists = run(shrinking_beam, case_decoder(a_case), sources, ALONE, settings)
    lines = text_lines(folder / "marian-amun/nbest.align.wordscores.k5.norm1.txt")
    for found, line in zip(itertools.chain(*lists), lines, strict=True):
        _, _, alignment, scores, _, _ = line.split(" ||| ")
        rows = [[float(weight) for weight in row.split(",")] for row in alignment.split(" ")]
        np.testing.assert_allclose(found.alignment, rows, atol=1e-4)
        expected = [float(score) for score in scores.split(" ")[1:]]
        np.testing.assert_allclose(found.word_scores, expected, atol=1e-4)


# -- every translation tried -----------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def every_translation(networks, weights, source, longest=LONGEST):
    """{words: (word scores, each model's sum)} of all translations of up to `longest` words."""
    sequences = list(itertools.product(range(1, V), repeat=longest))
    target = tf.constant(sequences, tf.int32)
    ids, mask = pad_source([list(source)] * len(sequences))
    logits = [force_decode(network, ids, mask, target).logits for network in networks]
    own = np.stack([tf.nn.log_softmax(part).numpy() for part in logits])  # (M,N,T,V)
    joint = np.tensordot(np.array(weights), own, 1)
    scored = {}
    for row, sequence in enumerate(sequences):
        for length in range(longest + 1):
            finished = length < longest
            chosen = (*sequence[:length], 0) if finished else sequence
            if chosen not in scored:
                t = np.arange(len(chosen))
                sums = own[:, row, t, chosen].sum(axis=1)
                scored[chosen] = joint[row, t, chosen], sums
    return scored


def check_exhaustive(found, scored, settings):
    """A beam that holds all translations lists them all in order, with their own scores."""
    assert len(found) == len(scored)
    totals = []
    for one in found:
        word_scores, model_scores = scored[tuple(one.words.tolist())]
        assert one.finished == (one.words[-1] == 0)
        np.testing.assert_allclose(one.word_scores, word_scores, atol=1e-5)
        np.testing.assert_allclose(one.model_word_scores.sum(axis=0), model_scores, atol=1e-4)
        assert one.score == pytest.approx(float(np.sum(one.word_scores)), abs=1e-5)
        length = len(one.words)
        total = (word_scores.sum() - settings.word_penalty * length) / length**settings.normalize
        assert one.total == pytest.approx(total, abs=1e-4)
        totals.append(one.total)
    assert totals == sorted(totals, reverse=True)


SOURCES = (((1,), (2,), (3,)), ((4,),), ())


@pytest.mark.parametrize(
    ("penalties", "seeds"),
    in_turns([(0.0, 0.0), (1.0, 0.0), (0.6, 0.3), (0.0, -2)], [(0,), (0, 1)], others=LONG),
)
def test_an_endless_beam_finds_every_translation(seeds, penalties):
    normalize, penalty = penalties
    networks = tuple(small_network(seed) for seed in seeds)
    weights = (1.0,) if len(seeds) == 1 else (0.3, 0.7)
    every = SearchSettings(V**LONGEST, normalize, penalty)
    ensemble = small_decoder(*seeds, weights=weights)
    for source, found in zip(
        SOURCES,
        run(shrinking_beam, ensemble, [list(s) for s in SOURCES], LONGEST, every),
        strict=True,
    ):
        scored = every_translation(networks, weights, source)
        check_exhaustive(found, scored, every)
        best = max(
            (s.sum() - penalty * len(w)) / len(w) ** normalize for w, (s, _) in scored.items()
        )
        assert found[0].total == pytest.approx(best, abs=1e-4)


BEGINNINGS = ((2, 3), (), (1,))


def test_an_endless_beam_finds_all_translations_with_a_prefix():
    every = SearchSettings(V**LONGEST, 1.0, unk=4)  # an unknown word may be forced
    sources = [list(s) for s in SOURCES]
    lists = run(shrinking_beam, small_decoder(0), sources, LONGEST, every, prefixes=BEGINNINGS)
    for source, begun, found in zip(SOURCES, BEGINNINGS, lists, strict=True):
        scored = {
            words: scores
            for words, scores in every_translation((small_network(0),), (1.0,), source).items()
            if words[: len(begun)] == begun and 4 not in words[len(begun) :]
        }
        check_exhaustive(found, scored, every)


def biased(source, begun, bias, unk=None):
    """`every_translation` with a soft prefix, by hand: {words: (word scores, the model's sum)}."""
    result = {}
    for words, (scores, sums) in every_translation((small_network(0),), (1.0,), source).items():
        mixed, follows = [], True
        for t, (word, score) in enumerate(zip(words, scores, strict=True)):
            p = 0.0 if word == unk else math.exp(score)
            if follows and t < len(begun):
                follows = word == begun[t]
                p = (1 - bias) * p + bias * follows
            mixed.append(p)
        if min(mixed) > 0:
            result[words] = np.log(mixed), sums
    return result


@pytest.mark.parametrize("bias", [0.01, 0.3, 0.95])
@pytest.mark.parametrize("beginnings", [BEGINNINGS, ((4, 4, 1), (3,), ())])
def test_a_soft_prefix_shares_the_distribution_until_it_is_left(bias, beginnings):
    sources = [list(s) for s in SOURCES]

    def found_by(beam):
        settings = SearchSettings(beam, 1.0, unk=4, prefix_bias=bias)
        return settings, run(
            shrinking_beam, small_decoder(0), sources, LONGEST, settings, prefixes=beginnings
        )

    every, lists = found_by(V**LONGEST)
    _, greedy = found_by(1)
    for source, begun, found, (one,) in zip(SOURCES, beginnings, lists, greedy, strict=True):
        scored = biased(source, begun, bias, unk=4)
        check_exhaustive(found, scored, every)
        best = ()
        while (not best or best[-1]) and len(best) < LONGEST:  # the most probable word each time
            some = [(s[: len(best) + 1].sum(), w[: len(best) + 1]) for w, (s, _) in scored.items()
                    if w[: len(best)] == best and len(w) > len(best)]  # fmt: skip
            best = max(some)[1]
        assert tuple(one.words.tolist()) == best


@pytest.mark.parametrize("asked", [{}, {"top": 2}])
def test_samples_follow_a_soft_prefix_by_its_share(asked):
    source, begun = SOURCES[0], (2, 3)
    (found,) = draw(
        small_decoder(0), [list(source)], Sampling(seed=2, **asked), beam=4000, prefixes=[begun],
        prefix_bias=0.4,
    )  # fmt: skip
    expected = {words: math.exp(s.sum()) for words, (s, _) in biased(source, begun, 0.4).items()}
    assert sum(expected.values()) == pytest.approx(1, abs=1e-5)
    if not asked:
        check_frequencies(found, expected)
    else:
        assert sum(tuple(one.words[:2].tolist()) == begun for one in found) > 0.2 * len(found)


def test_a_forced_word_may_be_unknown():
    settings = SearchSettings(beam_size=2, unk=4)
    ((first, *_),) = run(
        shrinking_beam, small_decoder(0), [list(SOURCES[0])], 6, settings, prefixes=[(4, 4)]
    )
    assert first.words[:2].tolist() == [4, 4] and 4 not in first.words[2:]


@pytest.mark.parametrize("top", [None, 2])
def test_samples_begin_with_their_prefixes(top):
    """The prefix of a line changes no sample of another line."""
    sources = [list(s) for s in SOURCES]
    sampling = Sampling(top=top, seed=3)
    lists = draw(small_decoder(0), sources, sampling, beam=5, limit=7, prefixes=BEGINNINGS)
    free = draw(small_decoder(0), sources, sampling, beam=5, limit=7)
    for begun, found in zip(BEGINNINGS, lists, strict=True):
        assert all(tuple(one.words[: len(begun)]) == begun for one in found)
    assert words([lists[1]]) == words([free[1]])


def test_greedy_takes_the_most_probable_word_each_time():
    network = small_network(3)
    for source in SOURCES:
        ((found,),) = run(
            shrinking_beam, small_decoder(3), [list(source)], 9, SearchSettings(beam_size=1)
        )
        memory = network.encode(*pad_source([list(source)]))
        state, previous, chain = network.start(memory), -1, []
        while len(chain) < 9 and previous != 0:
            logits, state, _ = network.step(state, tf.constant([previous]), memory)
            previous = int(np.argmax(logits))
            chain.append(previous)
        assert found.words.tolist() == chain


random_sources = st.lists(
    st.lists(st.tuples(st.integers(1, 5)), max_size=5), min_size=1, max_size=5
)
beams = st.sampled_from([1, 2, 3, 5, 8])
alphas = st.sampled_from([0.0, 0.6, 1.0, -0.5])
penalties = st.sampled_from([0.0, 0.4, -0.5])


@settings(max_examples=20)
@given(random_sources, beams, alphas, penalties, st.integers(1, 12), st.integers(0, 2))
def test_lists_do_not_depend_on_the_batch(sources, beam, normalize, penalty, limit, seed):
    """In one batch or alone; the single best translation is the first of the list."""
    a_decoder = small_decoder(seed)
    every = SearchSettings(beam, normalize, penalty, with_alignment=True)
    together = run(shrinking_beam, a_decoder, sources, limit, every)
    only = SearchSettings(beam, normalize, penalty, best_only=True)
    for source, expected, best in zip(
        sources, together, run(shrinking_beam, a_decoder, sources, limit, only), strict=True
    ):
        (alone,) = run(shrinking_beam, a_decoder, [source], limit, every)
        assert words([alone]) == words([expected])
        for one, other in zip(alone, expected, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)
            np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-5)
            np.testing.assert_allclose(one.alignment.sum(axis=1), 1, atol=1e-5)
        assert len(expected) <= beam
        assert best[0].words.tolist() == expected[0].words.tolist()
        assert best[0].total == pytest.approx(expected[0].total, abs=1e-4)


@settings(max_examples=5)
@given(structures(), st.integers(0, 100))
def test_scores_are_forced_scores(structure, seed):
    """They agree for any structure, although the search joins products and beams."""
    arrays = random_arrays(structure, seed)
    ensemble, network = OneSource((structure, arrays)), Network(structure, arrays)
    generator = np.random.default_rng(seed)
    sources = [
        [tuple(int(generator.integers(v)) for v in structure.source_vocabularies) for _ in range(n)]
        for n in (3, 1)
    ]
    lists = run(shrinking_beam, ensemble, sources, 5, SearchSettings(beam_size=3))
    for source, results in zip(sources, lists, strict=True):
        ended = [found for found in results if found.finished]
        if ended:
            forced = forced_scores(
                network, [source] * len(ended), [f.words[:-1].tolist() for f in ended]
            )
            np.testing.assert_allclose(forced, [f.score for f in ended], rtol=1e-5, atol=2e-5)


def test_the_best_translation_ends_a_search_only_if_no_other_can_beat_it():
    """A better translation may follow while another hypothesis is already worse than the best."""
    model = PrescribedWords({-1: [0.3, 0.6, 0.1], 1: [0.9, 0.05, 0.05], 2: [0.01, 0.01, 0.98]})
    for best_only, steps in ((True, 2), (False, 50)):
        model.steps = 0
        found = search_prescribed(model, SearchSettings(3, best_only=best_only), limit=50)
        assert found[0].words.tolist() == [1, 0]
        assert found[0].total == pytest.approx(math.log(0.6 * 0.9), abs=1e-6)
        assert model.steps == steps


# -- ensembles -------------------------------------------------------------------------------------


def test_a_model_with_itself_is_itself():
    sources = [list(source) for source in SOURCES]
    beam = SearchSettings(beam_size=4)
    alone = run(shrinking_beam, small_decoder(0), sources, 8, beam)
    twice = run(shrinking_beam, small_decoder(0, 0), sources, 8, beam)
    assert words(alone) == words(twice)
    for one, other in zip(itertools.chain(*alone), itertools.chain(*twice), strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-5)
        np.testing.assert_allclose(other.model_word_scores.sum(axis=0), [one.score] * 2, atol=1e-5)


def test_a_weight_of_zero_removes_a_model():
    sources = [list(source) for source in SOURCES]
    beam = SearchSettings(beam_size=4)
    alone = run(shrinking_beam, small_decoder(0), sources, 8, beam)
    other = run(shrinking_beam, small_decoder(0, 1, weights=(1.0, 0.0)), sources, 8, beam)
    assert words(alone) == words(other)


# -- unknown words ---------------------------------------------------------------------------------


@pytest.mark.parametrize("search", [shrinking_beam, nematus_tf_beam])
def test_a_suppressed_word_is_never_produced(search):
    """All other words keep their probabilities: nothing is renormalised."""
    sources = [list(source) for source in SOURCES]
    every = SearchSettings(beam_size=V**LONGEST, unk=2)
    for source, found in zip(
        SOURCES, run(search, small_decoder(0), sources, LONGEST, every), strict=True
    ):
        scored = every_translation((small_network(0),), (1.0,), source)
        allowed = {w: s for w, s in scored.items() if 2 not in w}
        if search is shrinking_beam:
            check_exhaustive(found, allowed, every)
        for one in found:
            np.testing.assert_allclose(
                one.word_scores, allowed[tuple(one.words.tolist())][0], atol=1e-5
            )
    for beam in (1, 2, 3):
        few = run(search, small_decoder(1), sources, 9, SearchSettings(beam_size=beam, unk=2))
        assert all(2 not in found.words for results in few for found in results)
        assert all(len(results) == beam for results in few) or search is nematus_tf_beam


# -- Nematus-TF's ----------------------------------------------------------------------------------


def test_nematus_tf_prunes_without_normalising():
    """With an endless beam, its best hypothesis is the finished one with the best total."""
    sources = [list(source) for source in SOURCES]
    every = SearchSettings(V**LONGEST, normalize=1.0)
    limit = LONGEST + 1  # the program counts its start symbol
    for source, found in zip(
        SOURCES, run(nematus_tf_beam, small_decoder(1), sources, limit, every), strict=True
    ):
        assert all(one.finished for one in found)
        scored = every_translation((small_network(1),), (1.0,), source)
        best = max(s.sum() / len(w) for w, (s, _) in scored.items() if w[-1] == 0)
        assert found[0].total == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_nematus_tf_at_short_limits(limit):
    lists = run(nematus_tf_beam, small_decoder(1), [[(1,)], []], limit, SearchSettings(3))
    assert all(len(found.words) <= limit for results in lists for found in results)
    assert all(results for results in lists)


# -- sampling --------------------------------------------------------------------------------------


def draw(a_decoder, sources, sampling, lines=None, beam=1, limit=LONGEST, prefixes=(), **more):
    lines = range(len(sources)) if lines is None else lines
    settings = SearchSettings(beam_size=beam, sampling=sampling, **more)
    return run(shrinking_beam, a_decoder, sources, limit, settings, prefixes=prefixes, lines=lines)


def test_samples_depend_on_seed_and_line_only():
    sources = [[(1,), (2,)], [(3,)], [(4,), (5,), (1,)], [(3,)]]
    a_decoder = small_decoder(0)
    together = draw(a_decoder, sources, Sampling(seed=5), beam=3, limit=9)
    again = draw(a_decoder, sources, Sampling(seed=5), beam=3, limit=9)
    assert words(together) == words(again)
    for line, source in enumerate(sources):
        alone = draw(a_decoder, [source], Sampling(seed=5), [line], beam=3, limit=9)
        assert words(alone) == words([together[line]])
    backward = draw(a_decoder, sources[::-1], Sampling(seed=5), [3, 2, 1, 0], beam=3, limit=9)
    assert words(backward[::-1]) == words(together)
    assert words(draw(a_decoder, sources, Sampling(seed=6), beam=3, limit=9)) != words(together)
    assert words([together[1]]) != words([together[3]])  # the same source on another line


def check_frequencies(found, expected):
    """A chi-square test: frequencies agree with probabilities."""
    counts = dict.fromkeys(expected, 0)
    for one in found:
        counts[tuple(one.words.tolist())] += 1
    common = {w: p * len(found) for w, p in expected.items() if p * len(found) >= 5}
    rest = len(found) - sum(common.values())
    chi = sum((counts[w] - e) ** 2 / e for w, e in common.items())
    if rest >= 5:
        chi += (len(found) - sum(counts[w] for w in common) - rest) ** 2 / rest
    degrees = len(common)
    assert chi < degrees + 4 * math.sqrt(2 * degrees)


def probabilities(source, sampling):
    """Probabilities of all translations, drawn word by word, in NumPy."""
    network = small_network(0)
    sequences = list(itertools.product(range(1, V), repeat=LONGEST))
    ids, mask = pad_source([source] * len(sequences))
    logits = force_decode(network, ids, mask, tf.constant(sequences, tf.int32)).logits.numpy()
    scaled = np.exp(logits.astype(float) / sampling.temperature)
    for place in np.ndindex(logits.shape[:-1]):
        model = np.exp(logits[place].astype(float))
        model /= model.sum()
        order = sorted(range(V), key=lambda word, p=model: -p[word])
        for rank, word in enumerate(order[1:], 1):
            more_probable = sum(model[order[:rank]])
            if (
                rank >= (sampling.top or V)
                or more_probable > sampling.nucleus
                or model[word] < sampling.epsilon
            ):
                scaled[place][word] = 0
    scaled /= scaled.sum(axis=-1, keepdims=True)
    result = {}
    for row, sequence in enumerate(sequences):
        for length in range(LONGEST + 1):
            chosen = (*sequence[:length], 0) if length < LONGEST else sequence
            result[chosen] = float(np.prod(scaled[row, np.arange(len(chosen)), chosen]))
    assert sum(result.values()) == pytest.approx(1)
    return result


@pytest.mark.parametrize(
    "asked",
    choice(
        [
            {"temperature": 1.0}, {"temperature": 0.5}, {"temperature": 2.0, "top": 3}, {"top": 2},
            {"nucleus": 0.8}, {"nucleus": 0.95, "temperature": 2.0}, {"epsilon": 0.1},
            {"epsilon": 0.05, "temperature": 0.6},
        ],
        {"temperature": 2.0, "top": 3}, {"nucleus": 0.95, "temperature": 2.0},
        {"epsilon": 0.05, "temperature": 0.6}, others=LONG,
    ),
)  # fmt: skip
def test_frequencies_are_the_models(asked):
    source = [(1,), (2,)]
    sampling = Sampling(**asked, seed=1)
    (found,) = draw(small_decoder(0), [source], sampling, beam=4000)
    assert len(found) == 4000
    expected = probabilities(source, sampling)
    check_frequencies(found, expected)
    assert all(expected[tuple(one.words.tolist())] > 0 for one in found)
    full = probabilities(source, Sampling(sampling.temperature))
    if {"top", "nucleus", "epsilon"} & asked.keys():  # they leave words out
        assert sum(full[w] for w, p in expected.items() if p == 0) > 0.02
    else:
        assert full == expected
    scored = every_translation((small_network(0),), (1.0,), tuple(source))
    for one in found[:50]:  # scores are those of the model, without temperature
        assert one.score == pytest.approx(scored[tuple(one.words.tolist())][0].sum(), abs=1e-4)


def test_samples_of_one_sentence_are_independent():
    """No word of a sample predicts a word of the next, at any distance."""
    (found,) = draw(small_decoder(2), [[(1,)]], Sampling(50.0, seed=3), beam=600, limit=24)
    by_words = {tuple(one.words.tolist()) for one in found}
    # shared streams would repeat runs of words from sample to sample
    runs = [w[i : i + 8] for w in by_words for i in range(len(w) - 8)]
    assert len(runs) > 300
    assert len(set(runs)) > 0.98 * len(runs)


def test_a_suppressed_word_is_never_drawn():
    for top in (None, 1, 2):
        (found,) = draw(small_decoder(0), [[(1,)]], Sampling(3.0, top), beam=300, unk=2)
        assert all(2 not in one.words for one in found)
        firsts = {int(one.words[0]) for one in found}
        assert len(firsts) == (top or V - 1)


@pytest.mark.long
@given(
    sources=st.lists(st.lists(st.integers(2, 5), min_size=1, max_size=7), min_size=1, max_size=12),
    cut=st.integers(1, 5),
    best_only=st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_sentences_that_join_a_search_are_translated_as_alone(sources, cut, best_only):
    a_decoder = small_decoder(0)
    how = SearchSettings(beam_size=3, normalize=1.0, best_only=best_only, with_alignment=True)

    def batches():
        for start in range(0, len(sources), cut):
            batch = sources[start : start + cut]
            lengths = [len(words) + 1 for words in batch]
            states = a_decoder.begin(pad_source([[(i,) for i in s] for s in batch]))
            yield SearchBatch(states, lengths, [2 * length for length in lengths])

    together = joined(batches(), how)
    assert sorted(together) == list(range(len(sources)))
    for number, found in together.items():
        source = [(i,) for i in sources[number]]
        (alone,) = run(shrinking_beam, a_decoder, [source], 2 * len(source) + 2, how)
        for one, other in itertools.zip_longest(
            found[:1] if best_only else found, alone[:1] if best_only else alone
        ):
            assert one.words.tolist() == other.words.tolist()
            np.testing.assert_allclose(one.word_scores, other.word_scores, atol=1e-5)
            np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-6)

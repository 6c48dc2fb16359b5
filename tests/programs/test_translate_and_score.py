"""`cgru score` gives a translation the same score as `cgru translate`.

This holds for every reference model, every search and ensembles; for a translation that was cut at
the length limit, the score of its words without EOS is the same.
"""

import math

import pytest
from models import text_lines
from references import SCORES
from selection import choice

from cgru_cli import PairScorer, Translator

pytestmark = pytest.mark.usefixtures("traced_once")
# The vocabularies for models whose files do not name any.
NAMES = {"a-shallow/marian-nematus/model.npz": ("vocab.en.json", "vocab.de.json")}
LINES = 3


def given(shared, name):
    """The model's file, its vocabularies, and the shortest source lines."""
    folder = shared(f"fixtures/{name.split('/')[0]}")
    vocabularies = [str(folder / file) for file in NAMES.get(name, ())]
    lines = sorted(text_lines(folder / "src.txt"), key=len)[:LINES]
    return str(folder / name.partition("/")[2]), vocabularies, lines


def check(translator, scorer, lines, limit, n_best):
    """Compare the scores; return the number of finished and of cut translations."""
    lists = translator.translate(lines, n_best=n_best, translation_maxlen=limit)
    pairs = [
        (line, hypothesis)
        for line, hypotheses in zip(lines, lists, strict=True)
        for hypothesis in hypotheses
    ]
    scored = scorer.score([(line, " ".join(one.tokens)) for line, one in pairs])
    for (_, ours), theirs in zip(pairs, scored, strict=True):
        T = len(ours.word_scores)
        assert len(ours.tokens) + ours.finished == T
        score = theirs.score if ours.finished else float(theirs.word_scores[:T].sum())
        # as translate prints it, six significant digits, but no finer than scores of words agree:
        # a search and forced decoding add in other orders
        last = max(10.0 ** (math.floor(math.log10(abs(ours.score))) - 5), 2e-5)
        assert abs(score - ours.score) <= last, (ours, theirs)
        assert theirs.word_scores[:T] == pytest.approx(ours.word_scores, abs=2e-5)
    finished = sum(one.finished for _, one in pairs)
    return finished, len(pairs) - finished


# of different programs, with factors and depth
CHOSEN = ("a-shallow/model.npz", "e-deep-tf/native/model-1500", "f-factors/model.npz")
CHOSEN += ("marian-s2s-deep/model.npz",)


@pytest.mark.parametrize("name", choice(SCORES, *CHOSEN[2:], long=CHOSEN))
def test_of_every_reference_model(shared, name):
    path, vocabularies, lines = given(shared, name)
    translator = Translator(path, vocabularies, beam_size=3, allow_unk=True)
    scorer = PairScorer(path, vocabularies)
    finished, _ = check(translator, scorer, lines, 60, 3)
    assert finished
    assert check(translator, scorer, lines, 2, 3)[1]


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {"beam_size": 1},
        {"beam_size": 12, "normalize": 0.7, "word_penalty": 0.3},
        {"compat": "nematus-tf", "beam_size": 4},
        {"output_sampling": "full 1.0", "beam_size": 4, "seed": 3},
    ],
    ids=str,
)
def test_by_every_search(shared, scorer, options):
    path, vocabularies, lines = given(shared, "a-shallow/model.npz")
    translator = Translator(path, vocabularies, **options)
    assert check(translator, scorer, lines, 60, options["beam_size"])[0]
    check(translator, scorer, lines, 3, options["beam_size"])


@pytest.fixture(scope="module")
def scorer():
    from shared_files import fixture_path

    return PairScorer(str(fixture_path("a-shallow/model.npz")))


@pytest.mark.long
@pytest.mark.parametrize("weights", choice([[], [0.3, 0.9]], [0.3, 0.9]))
def test_by_ensembles(shared, weights):
    path, _, lines = given(shared, "a-shallow/model.npz")
    models = [path, str(shared("fixtures/marian-nematus/model.npz"))]
    translator = Translator(models, weights=weights, beam_size=3)
    scorer = PairScorer(models, weights=weights)
    assert check(translator, scorer, lines, 60, 3)[0]
    assert check(translator, scorer, lines, 3, 3)[1]

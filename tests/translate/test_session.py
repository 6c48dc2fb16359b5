"""Sessions: lines join and leave a search while it runs, and are translated as by `translate`."""

import pickle
from types import SimpleNamespace

import pytest

from cgru_cli import CgruError, PairScorer, PreparedLine, Translator, UsageError

pytestmark = pytest.mark.usefixtures("prepared_once")
LINES = ["a b c", "f f a d", "b unseen", "c"]


def finished(session):
    """The outcomes of all steps, by the number of the line in the search."""
    outcomes = {}
    while session.rows:
        for number, outcome in session.step():
            assert number not in outcomes
            if isinstance(outcome, PreparedLine):
                session.admit([outcome])
            outcomes[number] = outcome
    return outcomes


def test_lines_join_at_any_step(path, translator):
    session = translator.session()
    assert session.admit([session.read(LINES[0])]) == [0]
    session.step()
    assert session.admit([session.read(line) for line in LINES[1:]]) == [1, 2, 3]
    found = finished(session)
    texts = [one.text for one in translator.translate(LINES)]
    assert [found[number].hypotheses[0].text for number in range(4)] == texts
    assert found[1].source == LINES[1].split()
    with pytest.raises(CgruError, match="n_best 3: more than the beam_size, 2"):
        translator.session(n_best=3, beam_size=2)


def test_lines_leave_the_search(translator):
    session = translator.session()
    session.admit([session.read(line) for line in LINES])
    session.give_up([0, 2])
    assert finished(session).keys() == {1, 3}
    line = session.read("  ")
    assert line.empty and session.empty(line).hypotheses[0].text == ""


def test_prefixes_and_phrases(translator):
    session = translator.session(n_best=3)
    line = session.read("a b", prefix=["A", "lacking"], more=1)
    assert session.unknown(line, ["A", "lacking"]) == ["lacking"]
    session.admit([line])
    assert all(len(one.tokens) <= 3 for one in finished(session)[0].hypotheses)
    session.admit([session.read("a b", constraints=["C C"])])
    assert session.read("a b", constraints=["C C"]).needed == 3
    assert "C C" in list(finished(session).values())[-1].hypotheses[0].text


def test_filters_are_undone(translator):
    lines, undo = translator.filtered("a <b>b</b>\nc", lines="\n", markup="html")
    assert lines == ["a b", "c"]
    session = translator.session(marks=True)
    session.admit([session.read(line) for line in lines])
    found = finished(session)
    whole = undo([found[0], found[1]]).hypotheses[0].text
    assert whole.count("<b>") == whole.count("\n") == 1
    spaced = SimpleNamespace(split=lambda text: [text.strip()], join="".join)
    (line,), undo = translator.filtered("<p>a b</p>", markup="html", sentences=spaced)
    session.admit([session.read(line)])
    assert line == "a b" and undo([*finished(session).values()]).hypotheses[0].text.endswith("</p>")
    (line,), undo = translator.filtered("  a b", sentences=spaced)
    assert undo([found[0]]).hypotheses[0].source_offsets == [2, 4]
    (same,), undo = translator.filtered("a <b>")
    assert same == "a <b>" and undo([found[0]]) is found[0]


def test_a_scorer_shares_the_models(path):
    translator = Translator(path, serving=True)
    scorer, pairs = PairScorer(translator), [("a b c", "A B"), ("f", "")]
    prepared = [scorer.read(*pair) for pair in pairs]
    assert [one.length for one in prepared] == [4, 2] and scorer.max_words > 4
    scores = [one.score for one in PairScorer(path).score(pairs)]
    assert [one.score for one in scorer.together(prepared)] == pytest.approx(scores, abs=1e-4)
    assert translator.translate("a").text == Translator(path).translate("a").text
    for more in ({"word_penalty": 1.0}, {"attention": False}, {"mini_batch": 2}):
        with pytest.raises(UsageError, match="takes no other argument"):
            PairScorer(translator, **more)
    with pytest.raises(UsageError, match="in memory cannot be pickled"):
        pickle.dumps(scorer)


def test_only_a_session_for_marks_keeps_offsets(path):
    translator, kept = Translator(path), {}
    for name in ("alignment", "marks"):
        session = translator.session(**{name: True})
        session.admit([session.read("a b c")])
        best = finished(session)[0].hypotheses[0]
        assert best.alignment.shape[1] == 4
        kept[name] = [list(best.source_offsets), len(best.offsets) == len(best.tokens)]
    assert kept == {"alignment": [[], False], "marks": [[0, 2, 4], True]}

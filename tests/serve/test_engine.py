"""The threads that compute: their outcomes, shared batches, and failures of single lines."""

import threading

import pytest
from commands import write_model
from patience import PATIENCE
from serving import Silent, computed, loaded

from cgru_cli import PairScorer, Session, Translator
from cgru_cli.errors import CgruError
from cgru_cli.search.ensemble import Ensemble
from cgru_cli.serve.engine import Engine
from cgru_cli.serve.problems import Refusal
from cgru_cli.serve.served_model import SearchOptions
from cgru_cli.serve.shared_search import SharedSearch
from cgru_cli.serve.work import Kind, Line, Pair

pytestmark = pytest.mark.usefixtures("prepared_once")
TEXTS = ["a b c", "", "f f a d", "b unseen", "c", "d c b a", "a a", "f"] * 3


@pytest.fixture(scope="module")
def model(models):
    (model,) = models.values()
    return model


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def engine(request):
    engine = Engine(Silent(), queue=1000, batch_wait=0.001, threads=request.param)
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture(scope="module")
def expected(model_path):
    translator = Translator(model_path, beam_size=3, translation_maxlen=8)
    return translator.translate(TEXTS, n_best=3)


def searching(model, forced=False, **search):
    return Kind(model, model.settings(SearchOptions(**search)), forced)


def test_outcomes_are_those_of_the_translator_for_all_clients(engine, model, expected):
    searches = [{}, {"n_best": 3}, {"alignment": True}, {"n_best": 2, "normalize": 0.0}]
    answers = {}

    def ask(number):
        kind = searching(model, **searches[number % len(searches)])
        answers[number] = computed(engine, kind, [Line(t) for t in TEXTS], f"client {number}")

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    for number, outcomes in answers.items():
        shown = searches[number % len(searches)].get("n_best", 1)
        for one, listed in zip(outcomes, expected, strict=True):
            assert [h.text for h in one.hypotheses[:shown]] == [h.text for h in listed[:shown]]
            assert one.hypotheses[0].score == pytest.approx(listed[0].score, abs=1e-4)
    assert max(engine.metrics.batches) > len(set(TEXTS))  # of several clients


def test_scores_are_those_of_the_scorer(engine, model, model_path):
    pairs = [("a b c", "A B"), ("", "C"), ("f f", ""), ("a", "D@@ E F")]
    scored = computed(engine, Kind(model, None), [Pair(*pair) for pair in pairs])
    for one, by_command in zip(scored, PairScorer(model_path).score(pairs), strict=True):
        assert one.score == pytest.approx(by_command.score, abs=1e-5)


def test_a_prefix_begins_the_translation_and_next_only_ends_it(engine, model):
    lines = [Line("a b", "D@@ E"), Line("c", ["F"]), Line("a", ["A", "B"], next_only=True)]
    one, other, next_word = computed(engine, searching(model, forced=True, n_best=3), lines)
    assert list(one.hypotheses[0].tokens[:2]) == ["D@@", "E"]
    assert other.hypotheses[0].tokens[0] == "F"
    assert all(len(h.word_scores) == 3 for h in next_word.hypotheses)
    assert [h.total for h in next_word.hypotheses] == sorted(
        (h.total for h in next_word.hypotheses), reverse=True
    )


def test_a_full_queue_refuses_whole_requests(model):
    engine = Engine(Silent(), queue=5)  # not started
    kind = searching(model)
    ticket = engine.submit("a", kind, [Line("a")] * 4, lambda *_: None)
    with pytest.raises(Refusal, match="4 lines are waiting") as refusal:
        engine.submit("b", kind, [Line("a")] * 2, lambda *_: None)
    assert refusal.value.status == 503 and engine.queued == 4
    engine.cancel(ticket)
    assert engine.queued == 0


def test_a_cancelled_request_is_not_computed(engine, model):
    delivered, kind = [], searching(model)
    held = threading.Event()
    original = SharedSearch.advance

    def slow(self):
        held.wait(PATIENCE)
        return original(self)

    SharedSearch.advance = slow
    try:
        ticket = engine.submit("a", kind, [Line("a b c")] * 50, lambda *o: delivered.append(o))
        engine.cancel(ticket)
        held.set()
        assert len(computed(engine, kind, [Line("c")])) == 1
    finally:
        SharedSearch.advance = original
    assert delivered == [] and engine.queued == 0


def test_a_line_of_a_cancelled_request_leaves_its_search(model):
    engine = Engine(Silent())  # not started: this test advances the search
    kind, delivered = searching(model), []
    tickets = [
        engine.submit(who, kind, [Line("a b c d")], lambda *o: delivered.append(o)) for who in "ab"
    ]
    search = SharedSearch(kind, engine, engine.metrics)
    begin = search._session.admit

    def begun(lines):
        engine.cancel(tickets[0])  # just as the search begins
        return begin(lines)

    search._session.admit = begun
    try:
        while search.advance():
            pass
    finally:
        del search._session.admit
    assert len(delivered) == 1 and not search.live and not engine.queued


def test_only_the_line_that_is_too_large_fails(engine, model, monkeypatch):
    begin = Ensemble.begin

    def limited(self, sources, words):
        if sources[0][0].shape[1] > 5:
            raise MemoryError
        return begin(self, sources, words)

    monkeypatch.setattr(Ensemble, "begin", limited)
    lines = [Line("a b"), Line("a b c d e f a"), Line("c"), Line("f a")]
    outcomes = computed(engine, searching(model), lines)
    assert isinstance(outcomes[1], Refusal) and outcomes[1].status == 507
    assert all(outcomes[i].hypotheses for i in (0, 2, 3))
    assert computed(engine, searching(model), [Line("b")])[0].hypotheses


def test_the_engine_survives_an_internal_error(engine, model, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(Ensemble, "begin", lambda *_: 1 / 0)
        (outcome,) = computed(engine, searching(model), [Line("a")])
    assert isinstance(outcome, Refusal) and outcome.status == 500
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert computed(engine, searching(model), [Line("a")])[0].hypotheses


def test_a_line_that_cannot_be_read_fails_alone(engine, model, monkeypatch):
    read = Session.read

    def picky(self, text, number, **more):
        if text == "bad":
            raise CgruError(f"line {number + 1}: no")
        return read(self, text, number, **more)

    monkeypatch.setattr(Session, "read", picky)
    bad, good = computed(engine, searching(model), [Line("bad"), Line("a b")])
    assert str(bad) == "line 1: no" and good.hypotheses


@pytest.mark.parametrize("name", ["read", "_translation"])
def test_an_internal_error_in_a_line_fails_only_this_line(engine, model, monkeypatch, name):
    method = getattr(Session, name)

    def failing(*arguments, **more):
        if "bad" in str(arguments):
            raise ZeroDivisionError
        return method(*arguments, **more)

    monkeypatch.setattr(Session, name, failing)
    good, bad, other = computed(engine, searching(model), [Line("a b"), Line("bad"), Line("c d")])
    assert isinstance(bad, Refusal) and bad.status == 500
    assert good.hypotheses and other.hypotheses


def test_a_search_ends_after_some_lines_and_the_next_takes_over(engine, model, monkeypatch):
    monkeypatch.setattr("cgru_cli.serve.shared_search.LASTS", 5)
    monkeypatch.setattr("cgru_cli.serve.shared_search.LASTS_IN_A_CROWD", 2)
    outcomes = computed(engine, searching(model), [Line("a b")] * 30)
    assert {one.hypotheses[0].text for one in outcomes} == {outcomes[0].hypotheses[0].text}


def test_a_shortlist_does_not_depend_on_the_other_lines_of_a_batch(engine, model_path, tmp_path):
    path = tmp_path / "lex.s2t"
    path.write_text("A a 0.9\nB b 0.8\nC c 0.7\nF f 0.6\nE d 0.5\n")
    options = {"shortlist": (str(path), "2", "1"), "mini_batch": 4}
    (short,) = loaded(model_path, beam_size=3, **options).values()
    options = {"beam_size": 3, "translation_maxlen": 8, "shortlist": options["shortlist"]}
    best = Translator(model_path, **options).translate(TEXTS)
    outcomes = computed(engine, searching(short), [Line(text) for text in TEXTS])
    assert [one.hypotheses[0].text for one in outcomes] == [one.text for one in best]


def test_an_ensemble_translates_and_scores(engine, model_path, tmp_path):
    other = write_model(tmp_path, seed=8)
    (both,) = loaded(model_path, other).values()
    (one,) = computed(engine, searching(both), [Line("a b c")])
    (best,) = Translator([model_path, other], translation_maxlen=8).translate(["a b c"])
    assert one.hypotheses[0].text == best.text
    given = [("a b c", " ".join(best.tokens))]
    (pair,) = computed(engine, Kind(both, None), [Pair(*given[0])])
    (scored,) = PairScorer([model_path, other]).score(given)
    assert pair.score == pytest.approx(scored.score, abs=1e-5)

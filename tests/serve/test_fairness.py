"""The amount that the server computes for other clients between a small request and its answer."""

import threading
import time

import pytest
import selection
from patience import PATIENCE
from selection import in_turns
from serving import Silent, loaded

from cgru_cli.errors import CgruError
from cgru_cli.score.pairs.ensemble_scorer import EnsembleScorer
from cgru_cli.search.decoder_states import DecoderStates
from cgru_cli.search.ensemble import Ensemble
from cgru_cli.serve.engine import Engine
from cgru_cli.serve.served_model import SearchOptions
from cgru_cli.serve.work import Kind, Line, Pair

MOST = 10_000  # row-steps: docs/server.md, "How lines share batches"
LONG = " ".join(["a b"] * 500)
SHORT = [Line("a b c")] * 1000
CONSTRAINTS = {
    words: Line("a", required=[" ".join(["A B"] * (words // 2))]) for words in (2_900, 4_900)
}
GREEDY = {
    "long lines": ([Line(LONG)] * 10, 12),
    "wide beams": (SHORT, 24),
    "short lines": (SHORT, 3),
    "a long constraint": ([CONSTRAINTS[2_900]], 12),
    "a constraint that is too long": ([CONSTRAINTS[4_900]], 12),
    "a long prefix": ([Line("a", prefix=["A", "B"] * 1_450)], 12),
    "pairs": ([Pair(LONG, LONG.upper())] * 50, None),
}


@pytest.fixture(scope="module")
def model(model_path):
    more = {"translation_maxlen": None, "max_length_factor": 3.0}
    (model,) = loaded(model_path, beam_size=3, **more).values()
    return model


@pytest.fixture
def counted(monkeypatch):
    """The numbers of rows extended by a word, and of padded words read, so far."""
    count = [0]

    def counting(kind, name, size):
        original = getattr(kind, name)

        def counts(self, *arguments, **more):
            count[0] += size(*arguments)
            return original(self, *arguments, **more)

        monkeypatch.setattr(kind, name, counts)

    def padded(lines):
        return sum(len(lines) * max(map(len, side)) for side in zip(*lines, strict=True))

    counting(DecoderStates, "expand", lambda sentences, *_: len(sentences))
    counting(Ensemble, "begin", lambda sources, *_: sources[0][0].shape[0] * sources[0][0].shape[1])
    counting(EnsembleScorer, "batch", lambda _, lines: padded([line[0] for line in lines]))
    return count


def outcomes(engine, kind, lines, client):
    """The outcomes of a request so far, and whether it is finished."""
    received, done = {}, threading.Event()

    def deliver(number, outcome):
        received[number] = outcome
        if len(received) == len(lines):
            done.set()

    ticket = engine.submit(client, kind, lines, deliver)
    return received, done, ticket


def greedy_requests(engine, model, name):
    """Six requests of a greedy client, with two searches."""
    lines, beam_size = GREEDY[name]
    forced = name.startswith("a ")
    for number in range(6):
        kind = Kind(model, None)
        if beam_size:
            settings = model.settings(SearchOptions(beam_size, normalize=0.1 * (number % 2)))
            kind = Kind(model, settings, forced)
        yield outcomes(engine, kind, lines, "greedy")


@pytest.mark.parametrize(
    ("name", "same_search", "threads"),
    in_turns(GREEDY, [True, False], [1, 1, 2, 2], others=selection.LONG),
)
def test_a_small_request_waits_for_few_row_steps_of_others(
    model, counted, name, same_search, threads
):
    engine = Engine(Silent(), batch_wait=0.001, threads=threads)
    requests = list(greedy_requests(engine, model, name))
    beam_size = GREEDY[name][1] if same_search else 2
    kind = Kind(model, model.settings(SearchOptions(beam_size, normalize=0.0)))
    engine.start()
    try:
        while not counted[0] and not all(done.is_set() for _, done, _ in requests):
            time.sleep(0.001)
        before = counted[0]
        received, done, _ = outcomes(engine, kind, [Line("a b c d")], "small")
        assert done.wait(PATIENCE)
        assert counted[0] - before <= MOST
        assert received[0].hypotheses
        if name == "a constraint that is too long":
            assert all(isinstance(found[0], CgruError) for found, _, _ in requests)
    finally:
        for _, _, ticket in requests:
            engine.cancel(ticket)
        engine.stop()


@pytest.mark.parametrize("name", GREEDY)
def test_a_cancelled_request_frees_the_thread_after_its_turn(model, counted, name):
    engine = Engine(Silent(), batch_wait=0.0)
    requests = list(greedy_requests(engine, model, name))
    engine.start()
    try:
        while not counted[0] and not all(done.is_set() for _, done, _ in requests):
            time.sleep(0.001)
        before = counted[0]
        for _, _, ticket in requests:
            engine.cancel(ticket)
        kind = Kind(model, model.settings(SearchOptions(2)))
        _, done, _ = outcomes(engine, kind, [Line("a b c d")], "small")
        assert done.wait(PATIENCE)
        assert counted[0] - before <= MOST / 2
        assert engine.queued == 0
    finally:
        engine.stop()


def test_a_small_request_waits_for_no_pair_but_the_one_in_progress(model, monkeypatch):
    engine, small, answered = Engine(Silent(), batch_wait=0.0), [], []
    kind = Kind(model, model.settings(SearchOptions(2)))
    batch = EnsembleScorer.batch

    def scoring(self, numbers, lines):
        answered.extend(done.is_set() for _, done, _ in small)  # before this batch
        if not small:
            small.append(outcomes(engine, kind, [Line("a b c d")], "small"))
        return batch(self, numbers, lines)

    monkeypatch.setattr(EnsembleScorer, "batch", scoring)
    pairs, _ = GREEDY["pairs"]
    _, _, ticket = outcomes(engine, Kind(model, None), pairs, "greedy")
    engine.start()
    try:
        while not answered:
            time.sleep(0.001)
    finally:
        engine.cancel(ticket)
        engine.stop()
    assert answered[0]

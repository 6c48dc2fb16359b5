"""Batches of pairs to score, and when a scoring ends."""

import pytest
from serving import Silent

from cgru_cli.serve.engine import Engine
from cgru_cli.serve.shared_scoring import SharedScoring
from cgru_cli.serve.work import Kind, Pair


@pytest.fixture
def scoring(models):
    """A scoring of 200 pairs, which the test advances in its own thread, and their outcomes."""
    (model,) = models.values()
    engine, kind, outcomes = Engine(Silent()), Kind(model, None), []
    engine.submit("", kind, [Pair("a b", "A")] * 200, lambda _number, one: outcomes.append(one))
    return SharedScoring(kind, engine, engine.metrics), engine, outcomes


def test_a_scoring_goes_on_as_long_as_pairs_wait(scoring):
    one, engine, outcomes = scoring
    work = []
    while one.advance():
        work.append(one.work)
    assert engine.metrics.batches == [64, 64, 64, 8] and len(outcomes) == 200
    assert min(work) > 0 and one.work == 0


def test_a_scoring_ends_if_another_kind_needs_its_place(scoring, monkeypatch):
    one, engine, outcomes = scoring
    monkeypatch.setattr(engine, "crowded", lambda _kind: True)
    assert not one.advance()
    assert engine.metrics.batches == [64] and len(outcomes) == 64 and engine.queued == 136

"""The engine's threads: which of them computes what, with computations that the tests control."""

import functools
import queue
import random
import threading
import time
from collections import Counter
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from patience import PATIENCE
from serving import Silent

from cgru_cli.serve import engine as engine_module
from cgru_cli.serve.engine import FEW, RUNNING, TURN, Engine
from cgru_cli.serve.problems import Refusal
from cgru_cli.serve.work import SMALL_REQUEST, Kind, Line

LARGE = [Line("a" * SMALL_REQUEST)]


class Model(NamedTuple):
    """A model of which only the name matters."""

    name: str

    @property
    def defaults(self):
        return SimpleNamespace(mini_batch=80)


class Settings(NamedTuple):
    """Settings of a search, without a search."""

    rows: int = 1


def kind_of(name):
    return Kind(Model(name), Settings())


class Steps:
    """Computations whose steps begin and end when the test says so."""

    def __init__(self):
        self.made, self._begun = [], queue.SimpleQueue()

    def __call__(self, kind, engine, metrics):
        one = Computation(kind, engine, self._begun)
        self.made.append(one)
        return one

    def next(self):
        """The computation whose step begins next, in one of the engine's threads."""
        return self._begun.get(timeout=PATIENCE)


class Computation:
    """A search, as the engine sees it."""

    def __init__(self, kind, engine, begun):
        self.kind, self.work, self.jobs = kind, 0.0, []
        self._engine, self._begun, self._end = engine, begun, queue.SimpleQueue()

    @property
    def size(self):
        return len(self.jobs)

    def advance(self):
        self._begun.put(self)
        return self._end.get(timeout=PATIENCE)()

    def step(self, *, take=0, work=100.0, ends=False):
        """End the step that has begun: take lines, and deliver all if the computation ends."""
        self._end.put(functools.partial(self._step, take, work, ends))

    def fail(self, error):
        """End the step with an error."""
        self._end.put(functools.partial(self._fail, error))

    def _step(self, take, work, ends):
        self.work = work
        jobs = (self._engine.take(self.kind) for _ in range(take))
        self.jobs += [job for job in jobs if job]
        if ends:
            while self.jobs:
                self.jobs.pop().done("done")
        return not ends

    def _fail(self, error):
        raise error


@pytest.fixture
def steps(monkeypatch):
    steps = Steps()
    monkeypatch.setattr(engine_module, "SharedSearch", steps)
    return steps


class Started:
    """An engine, and the outcomes of the lines that were submitted to it."""

    def __init__(self, threads, *, batch_wait=0.0):
        self.engine = Engine(Silent(), threads=threads, batch_wait=batch_wait)
        self.outcomes = []  # kind and outcome of each line
        self.engine.start()

    def submit(self, name, lines=1, client="somebody"):
        """Submit lines of a kind; lines: their number, or the lines."""
        lines = [Line("a")] * lines if isinstance(lines, int) else lines

        def deliver(number, outcome):
            self.outcomes.append((name, str(outcome)))

        return self.engine.submit(client, kind_of(name), lines, deliver)

    def wait(self, lines):
        """Wait for the outcomes of so many lines."""
        given_up = time.monotonic() + PATIENCE
        while len(self.outcomes) < lines:
            assert time.monotonic() < given_up
            time.sleep(0.001)

    def finish(self, steps):
        """End all steps and all threads."""
        stopping = threading.Thread(target=self.engine.stop)
        stopping.start()
        while stopping.is_alive():
            for one in steps.made:
                one.step(ends=True)
            stopping.join(0.01)


@pytest.fixture
def started(steps):
    every = []

    def start(threads, **more):
        every.append(Started(threads, **more))
        return every[-1]

    yield start
    for one in every:
        one.finish(steps)


def names(*computations):
    return sorted(one.kind.model.name for one in computations)


def test_every_thread_searches_lines_of_one_kind(steps, started):
    served = started(3)
    served.submit("a", 10 * FEW)
    every = [steps.next() for _ in range(3)]
    assert len(set(map(id, every))) == 3 and names(*every) == ["a"] * 3
    for one in every:
        one.step(take=100, ends=True)
    served.wait(10 * FEW)


def test_few_lines_are_searched_together(steps, started):
    served = started(2)
    served.submit("a", FEW)
    one = steps.next()
    one.step(take=FEW, ends=True)
    served.submit("b")
    other = steps.next()
    assert names(*steps.made) == ["a", "b"] and other.kind.model.name == "b"


def test_a_thread_without_work_searches_the_lines_that_wait(steps, started):
    served = started(2)
    served.submit("a", 2)
    first = steps.next()
    first.step(take=2)
    assert steps.next() is first  # which goes on
    served.submit("a")
    second = steps.next()
    assert second is not first and names(second) == ["a"]


def test_threads_share_the_lines_of_a_kind(steps, started):
    served = started(2)
    served.submit("a", 10 * FEW)
    one, other = steps.next(), steps.next()
    share = functools.partial(served.engine.share, one.kind)
    assert share() == 5 * FEW
    one.step(take=5 * FEW)
    assert steps.next() is one and share() == 5 * FEW
    other.step(take=5 * FEW, ends=True)
    one.step(ends=True)


def test_a_small_request_needs_only_one_thread_to_end_its_step(steps, started):
    served = started(2)
    served.submit("large", LARGE * 3 * FEW)
    one, other = steps.next(), steps.next()
    assert names(one, other) == ["large"] * 2
    served.submit("small")
    one.step(take=1, work=1000)
    small = steps.next()
    assert names(small) == ["small"]
    small.step(take=1, work=1)
    for _ in range(9):  # while the other thread is busy
        assert steps.next() is small
        small.step(work=1)
    other.step(take=1, work=1000)
    both = {steps.next(), steps.next()}
    assert small in both and len(both) == 2  # one thread each
    assert names(*both) == ["large", "small"]


def test_a_small_request_waits_its_turn_on_a_single_thread(steps, started):
    served = started(1)
    served.submit("large", LARGE * 3)
    large = steps.next()
    served.submit("small", 2)
    large.step(take=1, work=1000)
    small = steps.next()
    for _ in range(5):
        assert names(small) == ["small"]
        small.step(take=1, work=TURN / 5)
        small = steps.next()
    assert small is large  # after it has cost as much, and a turn


def test_kinds_have_equal_shares_whatever_their_number_of_searches(steps, started):
    served = started(2)
    served.submit("a", 100)
    running = [steps.next(), steps.next()]
    for one in running:
        one.step(take=10)
    running = [steps.next(), steps.next()]
    served.submit("b", 5)
    counts = Counter()
    for _ in range(400):  # the step that began first ends first
        one = running.pop(0)
        counts[one.kind.model.name] += 1
        one.step(take=0 if one.size else 5, work=TURN)
        running.append(steps.next())
    assert names(*steps.made) == ["a", "a", "b"]
    assert abs(counts["a"] - counts["b"]) < 20
    searched = Counter(map(id, running))
    assert len(searched) == 2


def test_searches_of_one_kind_take_turns(steps, started):
    served = started(2)
    served.submit("a", 100)
    a, also_a = steps.next(), steps.next()
    served.submit("b", 2)
    a.step(take=50, work=1000)
    b = steps.next()
    assert names(b) == ["b"]
    b.step(take=2, work=0)
    counts = Counter()
    also_a.step(take=50, work=1000)
    running = [steps.next(), steps.next()]
    for _ in range(100):
        assert b in running  # costs nothing
        one = next(one for one in running if one is not b)
        counts[id(one)] += 1
        one.step(work=TURN)
        running = [b, steps.next()]
    assert sorted(counts) == sorted(map(id, (a, also_a))) and min(counts.values()) > 40


def test_a_kind_that_waits_starts_before_another_search_of_a_running_kind(steps, started):
    served = started(3)
    running = {}
    for name, lines in (("a", LARGE * 4), ("b", LARGE), ("small", 1)):
        served.submit(name, lines)
        running[name] = steps.next()
    running["a"].step(take=1)
    assert steps.next() is running["a"]
    served.submit("c", LARGE)  # waits, because two large kinds are running
    running["small"].step(take=1, ends=True)  # so that a thread has nothing to do
    served.wait(1)
    for _ in range(9):
        running["b"].step(take=1)
        assert steps.next() is running["b"]
    assert names(*steps.made) == ["a", "b", "small"]
    running["a"].step(take=1, ends=True)
    assert names(steps.next()) == ["c"]


def test_lines_that_failed_together_are_retried_one_by_one(steps, started, capsys):
    served = started(3)
    served.submit("bad", 3)
    bad = steps.next()
    bad.step(take=3)
    assert steps.next() is bad
    served.submit("good", 3)
    good = steps.next()
    good.step(take=3)
    assert steps.next() is good
    bad.fail(ZeroDivisionError())
    for number in range(3):
        alone = steps.next()
        assert alone.kind.alone and names(alone) == ["bad"]
        alone.step(take=1)
        for _ in range(9):  # although lines wait, and a thread has nothing to do
            assert steps.next() is alone
            alone.step()
        assert steps.next() is alone
        if number:
            alone.step(ends=True)
        else:
            alone.fail(ZeroDivisionError())
    good.step(ends=True)
    served.wait(6)
    failed = str(Refusal("internal_error", "internal error, ZeroDivisionError"))
    expected = {("good", "done"): 3, ("bad", "done"): 2, ("bad", failed): 1}
    assert Counter(served.outcomes) == expected
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_an_engine_stops_after_the_current_steps(steps, started):
    served = started(2)
    served.submit("a", 10 * FEW)
    one, other = steps.next(), steps.next()
    stopping = threading.Thread(target=served.engine.stop)
    stopping.start()
    one.step()
    assert stopping.is_alive()
    other.step()
    stopping.join(PATIENCE)
    assert not stopping.is_alive() and served.engine.queued == 10 * FEW


@pytest.mark.parametrize("threads", [1, 2, 4, 16])
def test_all_computations_share_the_memory_of_four(threads):
    engine = Engine(Silent(), threads=threads)
    most = max(RUNNING, threads) + threads - 1  # the next test
    assert engine.workspace_share * most == pytest.approx(RUNNING)
    assert threads > 1 or engine.workspace_share == 1


class Quick:
    """A search that takes some lines, and delivers them some steps later."""

    most = 0  # computations at a time
    lock = threading.Lock()

    def __init__(self, kind, engine, metrics):
        self._kind, self._engine, self._busy = kind, engine, threading.Lock()
        self._random = random.Random(id(self))
        self.jobs, self.work = [], 0.0

    @property
    def size(self):
        return len(self.jobs)

    def advance(self):
        assert self._busy.acquire(blocking=False)  # one thread at a time
        with Quick.lock:
            running = self._engine._running
            Quick.most = max(Quick.most, len(running))
        while self.size < self._engine.share(self._kind) and (job := self._engine.take(self._kind)):
            self.jobs.append(job)
        self.work = self._random.random() * 1000
        time.sleep(self._random.random() / 5000)
        if self._random.random() < 0.02:
            self._busy.release()
            raise MemoryError
        for _ in range(self._random.randint(0, 3)):
            if self.jobs:
                self.jobs.pop().done("done")
        self._busy.release()
        return bool(self.jobs)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_line_of_every_request_has_one_outcome(monkeypatch, threads):
    monkeypatch.setattr(engine_module, "SharedSearch", Quick)
    Quick.most = 0
    served = Started(threads, batch_wait=0.0005)
    draw, expected, cancelled = random.Random(1), Counter(), Counter()
    for _ in range(150):
        name, count = draw.choice("abcdefgh"), draw.choice((1, 1, 1, 5, 30))
        lines = (LARGE if draw.random() < 0.1 else [Line("a")]) * count
        ticket = served.submit(name, lines, client=draw.choice("xyz"))
        if draw.random() < 0.05:
            served.engine.cancel(ticket)
            cancelled[name] += count
        else:
            expected[name] += count
        time.sleep(draw.random() / 2000)
    given_up = time.monotonic() + PATIENCE
    while served.engine._running or served.engine.queued:
        assert time.monotonic() < given_up
        time.sleep(0.01)
    served.engine.stop()
    found = Counter(name for name, _ in served.outcomes)
    for name in "abcdefgh":
        assert expected[name] <= found[name] <= expected[name] + cancelled[name]
    assert Quick.most <= max(RUNNING, threads) + threads - 1

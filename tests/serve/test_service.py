"""Outcomes pass from the computing thread to the event loop."""

import asyncio
import threading
from types import SimpleNamespace

import pytest
from serving import options

from cgru_cli.serve import service
from cgru_cli.serve.clients import Client
from cgru_cli.serve.service import Service
from cgru_cli.serve.work import Kind, Line


class FakeEngine:
    """Delivers a number for each line, from a thread of its own."""

    def __init__(self):
        self.cancelled = []

    def submit(self, client, kind, lines, deliver, *, in_order):
        self.deliver = deliver
        self.thread = threading.Thread(target=self._deliver_all, args=(len(lines), deliver))
        self.thread.start()
        return "ticket"

    def cancel(self, ticket):
        self.cancelled.append(ticket)

    @staticmethod
    def _deliver_all(count, deliver):
        for number in range(count):
            deliver(number, -number)


def service_with_fake_engine():
    service = Service({}, options(max_lines=20_000, queue=20_000))
    service.engine = FakeEngine()
    return service


def test_no_outcome_is_lost_on_the_way_to_the_loop():
    service = service_with_fake_engine()

    async def ask():
        kind, lines = Kind(None, None), [Line("")] * 20_000
        received = []
        async for number, outcome in service.outcomes(Client(), kind, lines):
            assert threading.current_thread() is threading.main_thread()
            received.append((number, outcome))
        return received

    received = asyncio.run(asyncio.wait_for(ask(), 60))
    service.engine.thread.join()
    assert received == [(number, -number) for number in range(20_000)]
    assert service.engine.cancelled == ["ticket"]


def test_an_outcome_for_a_closed_loop_goes_nowhere():
    service = service_with_fake_engine()
    asyncio.run(service.all(Client(), Kind(None, None), [Line("")]))
    service.engine.deliver(0, "late")


def test_a_service_is_ready_once_every_model_has_translated_a_line(monkeypatch):
    monkeypatch.setattr(Service, "searching", lambda *_: None)
    defaults = SimpleNamespace(on_gpu=False)
    model = SimpleNamespace(reads_source=True, defaults=defaults, languages=None)
    models = dict.fromkeys("ab", model)
    waiting = Service(models, options())
    ready, delivers = [], []
    waiting.engine = SimpleNamespace(start=lambda: None, submit=lambda *a: delivers.append(a[-1]))
    waiting.start()
    for deliver in delivers:  # from different threads
        ready.append(waiting.ready)
        deliver(0, None)
    assert ready == [False, False] and waiting.ready


@pytest.mark.parametrize(
    ("given", "gpu", "threads"),
    [({}, False, 5), ({"cpu_threads": 3}, False, 3), ({}, True, 1), ({"cpu_threads": 2}, True, 2)],
)
def test_every_processor_or_one_gpu_computes(monkeypatch, given, gpu, threads):
    monkeypatch.setattr(service, "processors", lambda: 5)
    models = {"a": SimpleNamespace(defaults=SimpleNamespace(on_gpu=gpu))}
    assert Service(models, options(**given)).engine.threads == threads

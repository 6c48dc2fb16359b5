"""Outcomes pass from the computing thread to the event loop."""

import asyncio
import threading

from serving import options

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

"""Outcomes on their way from the thread that computes."""

import asyncio
import threading

from cgru_cli.serve.hand_over import HandOver


class Counted:
    """A loop, and how often it was woken."""

    def __init__(self, loop):
        self._loop, self.woken = loop, 0

    def is_closed(self):
        return self._loop.is_closed()

    def call_soon_threadsafe(self, callback):
        self.woken += 1
        self._loop.call_soon_threadsafe(callback)


def test_what_is_ready_at_a_time_wakes_the_loop_once():
    async def wait():
        loop = Counted(asyncio.get_running_loop())
        told, all_told = [], asyncio.Event()

        def deliver(number, outcome):
            told.append((number, outcome, threading.current_thread()))
            if len(told) == 100:
                all_told.set()

        tell = HandOver(loop).to(deliver)

        def compute():
            for number in range(100):
                tell(number, f"line {number}")

        thread = threading.Thread(target=compute)
        thread.start()
        thread.join()  # the loop is busy meanwhile
        await all_told.wait()
        assert told == [(n, f"line {n}", threading.current_thread()) for n in range(100)]
        assert loop.woken == 1
        all_told.clear()
        tell(100, "later")
        while len(told) < 101:
            await asyncio.sleep(0)
        assert loop.woken == 2

    asyncio.run(wait())


def test_nothing_is_lost_while_the_loop_takes_what_came():
    async def wait():
        told, all_told = [], asyncio.Event()

        def deliver(number, _outcome):
            told.append(number)
            if len(told) == 20_000:
                all_told.set()

        tell = HandOver(asyncio.get_running_loop()).to(deliver)
        thread = threading.Thread(target=lambda: [tell(n, None) for n in range(20_000)])
        thread.start()
        await asyncio.wait_for(all_told.wait(), 30)
        thread.join()
        assert told == list(range(20_000))

    asyncio.run(wait())


def test_an_outcome_for_a_loop_that_has_ended_goes_nowhere():
    async def begun():
        return HandOver(asyncio.get_running_loop()).to(lambda *_: 1 / 0)

    asyncio.run(begun())(0, None)

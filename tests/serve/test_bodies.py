"""The server limits the requests that it reads, and abandons answers that nobody reads."""

import asyncio
import types

import pytest
from patience import PATIENCE
from serving import options, run
from starlette.requests import Request

from cgru_cli.serve.bodies import answered, body
from cgru_cli.serve.problems import Refusal

GONE = {"type": "http.disconnect"}


def part(content, more=True):
    return {"type": "http.request", "body": content, "more_body": more}


def request(*messages, headers=()):
    """A request whose client sends only these messages."""
    waiting = list(messages)

    async def receive():
        return waiting.pop(0) if waiting else await asyncio.Event().wait()

    return Request({"type": "http", "headers": list(headers)}, receive)


def status(coroutine):
    """The status of the refusal that a coroutine raises."""
    with pytest.raises(Refusal) as refusal:
        run(coroutine)
    return refusal.value.status


def test_a_body_is_read_within_limits():
    limits = options(max_body=1, timeout=PATIENCE)
    assert run(body(request(part(b"ab"), part(b"c", False)), limits)) == b"abc"
    assert run(body(request(part(b"a" * 1024, False)), limits)) == b"a" * 1024
    assert status(body(request(part(b"a" * 1000), part(b"a" * 25)), limits)) == 413
    declared = [(b"content-length", b"1025")]
    assert status(body(request(headers=declared), limits)) == 413
    assert status(body(request(part(b"ab")), options(max_body=1, timeout=0.05))) == 408
    assert status(body(request(part(b"ab"), GONE), limits)) == 400


def asked(*messages, seconds, timeout):
    """The answer to a request that takes some seconds, and whether its computation ended."""
    ended = []

    async def compute(*_, **__):
        try:
            await asyncio.sleep(seconds)
            ended.append(True)
            return "done"
        finally:
            ended.append(False)

    async def asking():
        service = types.SimpleNamespace(options=options(timeout=timeout), all=compute)
        return await answered(request(*messages), service, None, [])

    return asking(), ended


def test_an_answer_is_given_up_if_nobody_waits_for_it():
    coroutine, ended = asked(seconds=0, timeout=PATIENCE)
    assert run(coroutine) == "done" and ended == [True, False]
    coroutine, ended = asked(GONE, seconds=600, timeout=PATIENCE)
    assert status(coroutine) == 499 and ended == [False]
    coroutine, ended = asked(part(b"more"), seconds=600, timeout=0.02)
    assert status(coroutine) == 504 and ended == [False]

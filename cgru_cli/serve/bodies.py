"""Bodies of requests read within bounds, and answers that nobody waits for any more given up."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, HTTPConnection, Request

from ..options.serve import ServeOptions
from .service import Refusal, Service

Answer = TypeVar("Answer")


def client_of(connection: HTTPConnection) -> str:
    """Whose turn a request takes in the queue: the address that it comes from."""
    return connection.client.host if connection.client else ""


async def body(request: Request, options: ServeOptions) -> bytes:
    """The body of a request. Raises Refusal for one that is too large, too slow, or not whole."""
    largest = options.max_body * 1024
    content = bytearray()
    too_large = Refusal(413, f"more than {options.max_body} KiB", {"Connection": "close"})
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > largest:
        raise too_large
    try:
        async with asyncio.timeout(options.timeout):
            async for part in request.stream():
                content += part
                if len(content) > largest:
                    raise too_large
    except TimeoutError:
        raise Refusal(408, "the request came too slowly", {"Connection": "close"}) from None
    except ClientDisconnect:
        raise Refusal(400, "the request is not whole") from None
    return bytes(content)


async def answer(request: Request, service: Service, asking: Coroutine[Any, Any, Answer]) -> Answer:
    """What is asked of the engine, given up when the client has gone or its time is over.

    Raises Refusal, also for these two.
    """
    gone = False

    async def watch() -> None:
        nonlocal gone
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone = True
        if not limit.expired():
            limit.reschedule(0)

    try:
        async with asyncio.timeout(service.options.timeout) as limit:
            watching = asyncio.create_task(watch())
            try:
                return await asking
            finally:
                watching.cancel()
    except TimeoutError:
        if gone:
            raise Refusal(499, "the client has gone") from None
        seconds = f"{service.options.timeout:g} seconds"
        raise Refusal(504, f"the request took longer than {seconds}") from None

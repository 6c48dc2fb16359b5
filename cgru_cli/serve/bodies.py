"""Read bodies of requests within limits, and cancel requests whose clients disconnect."""

import asyncio
from collections.abc import Sequence
from typing import Any

from starlette.requests import ClientDisconnect, Request

from ..options.serve import ServeOptions
from .clients import client_of
from .problems import Refusal
from .service import Service
from .work import Kind, Line, Pair


async def body(request: Request, options: ServeOptions, largest: int | None = None) -> bytes:
    """The body of a request. Raises Refusal if it is too large, too slow or incomplete.

    largest: in bytes, by default --max-body.
    """
    close, encoding = {"Connection": "close"}, request.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        message = f"Content-Encoding {encoding!r}: send the body without it"
        raise Refusal("encoded", message, {"Accept-Encoding": "identity"} | close)
    largest = options.max_body * 1024 if largest is None else largest
    content = bytearray()
    too_large = Refusal("too_large", f"the body has more than {largest // 1024} KiB", close)
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
        raise Refusal("too_slow", headers=close) from None
    except ClientDisconnect:
        raise Refusal("invalid_request", "the request is incomplete") from None
    return bytes(content)


async def answered(
    request: Request, service: Service, kind: Kind, lines: Sequence[Line | Pair]
) -> list[Any]:
    """The outcomes of all lines.

    Cancels the computation if the client disconnects or time runs out. Raises Refusal in these two
    cases and like `Service.all`.
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
                return await service.all(client_of(request), kind, lines)
            finally:
                watching.cancel()
    except TimeoutError:
        if gone:
            raise Refusal("client_gone") from None
        seconds = f"{service.options.timeout:g} seconds"
        raise Refusal("timeout", f"the request took longer than {seconds}") from None

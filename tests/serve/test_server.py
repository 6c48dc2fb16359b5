"""The size of request headers, and addresses to listen at."""

import asyncio
import contextlib

import pytest
from patience import PATIENCE
from uvicorn.server import ServerState

from cgru_cli.errors import CgruError
from cgru_cli.options.serve import ServeOptions
from cgru_cli.serve.server import LARGEST_HEADERS, _configured, _listening

HEADERS = b"GET / HTTP/1.1\r\nHost: x\r\n"


async def ok(scope, receive, send):
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


def exchanged(*parts):
    """The answer of a server to bytes that are sent part by part."""

    async def exchange():
        config = _configured(ok, ServeOptions())

        def protocol():
            return config.http_protocol_class(
                config=config, server_state=ServerState(), app_state={}
            )

        server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answered = b""
        with contextlib.suppress(ConnectionError):  # the server may close while this is sending
            for part in parts:
                writer.write(part)
                await asyncio.sleep(0)
            async with asyncio.timeout(PATIENCE):
                answered = await reader.read()
        writer.close()
        server.close()
        return answered

    return asyncio.run(exchange())


def test_too_large_headers_are_refused():
    assert exchanged(HEADERS + b"X: ", b"a" * LARGEST_HEADERS).startswith(b"HTTP/1.1 400")
    large = HEADERS + b"X: " + b"a" * (LARGEST_HEADERS // 2) + b"\r\nConnection: close\r\n\r\n"
    assert exchanged(large).endswith(b"ok")


def test_pipelined_requests_are_answered_in_order():
    last = HEADERS + b"Connection: close\r\n\r\n"
    answers = exchanged((HEADERS + b"\r\n") * 50 + last).split(b"HTTP/1.1 200 OK\r\n")
    assert len(answers) == 52 and all(answer.endswith(b"ok") for answer in answers[1:])


def test_an_address_that_is_no_host_name_is_refused():
    with pytest.raises(CgruError, match=r"cannot listen at a\.\.b, port 0"):
        _listening("a..b", 0)

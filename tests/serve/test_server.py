"""Connections: how long they may take for a request's head, and how large it may be."""

import asyncio
import contextlib

import uvicorn
import websockets
from uvicorn.server import ServerState

from cgru_cli.serve.server import LARGEST_HEADERS, impatient

PATIENCE = 0.2  # seconds
HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


async def answer(scope, receive, send):
    """An application that says ok, and repeats what it is sent over a WebSocket."""
    if scope["type"] == "http":
        if scope["path"] == "/slow":
            await asyncio.sleep(2 * PATIENCE)
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", b"2")]})  # fmt: skip
        await send({"type": "http.response.body", "body": b"ok"})
        return
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


@contextlib.asynccontextmanager
async def listening():
    """The port of a server."""
    config = uvicorn.Config(answer, http=impatient(PATIENCE), ws="websockets-sansio",
                            lifespan="off", log_config=None)  # fmt: skip
    config.load()
    state = ServerState()

    def protocol():
        return config.http_protocol_class(config=config, server_state=state, app_state={})

    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


def exchanged(*parts, pause=0.0):
    """What a server says to bytes, sent part by part, until it closes the connection."""

    async def exchange():
        async with listening() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            told = b""
            with contextlib.suppress(ConnectionError):  # who was left may still be sending
                for part in parts:
                    writer.write(part)
                    await asyncio.sleep(pause)
                async with asyncio.timeout(30):
                    told = await reader.read()
            writer.close()
            return told

    return asyncio.run(exchange())


def test_who_brings_no_whole_head_is_left():
    assert exchanged() == b""
    assert exchanged(HEAD) == b""
    assert exchanged(HEAD, *[b"X: 1\r\n"] * 9, pause=PATIENCE / 5) == b""  # slow bytes


def test_so_is_who_brings_half_of_a_second_one():
    told = exchanged(HEAD + b"\r\n", b"GET /hea", pause=PATIENCE / 10)
    assert told.startswith(b"HTTP/1.1 200") and told.endswith(b"ok") and told.count(b"HTTP") == 1


def test_an_answer_may_take_longer():
    head = HEAD.replace(b"/ ", b"/slow ") + b"Connection: close\r\n\r\n"
    assert exchanged(head).endswith(b"ok")


def test_a_head_without_end_is_refused():
    assert exchanged(HEAD + b"X: ", b"a" * LARGEST_HEADERS).startswith(b"HTTP/1.1 400")
    large = HEAD + b"X: " + b"a" * (LARGEST_HEADERS // 2) + b"\r\nConnection: close\r\n\r\n"
    assert exchanged(large).endswith(b"ok")


def test_a_websocket_may_be_silent():
    async def exchange():
        async with (
            listening() as port,
            websockets.connect(f"ws://127.0.0.1:{port}/") as socket,
        ):
            await asyncio.sleep(2 * PATIENCE)
            await socket.send("still here")
            return await socket.recv()

    assert asyncio.run(exchange()) == "still here"

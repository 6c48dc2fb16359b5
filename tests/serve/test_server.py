"""Limits of the time and size of request headers."""

import asyncio
import contextlib

import pytest
import uvicorn
import websockets
from patience import PATIENCE
from uvicorn.server import ServerState

from cgru_cli.errors import CgruError
from cgru_cli.serve.server import LARGEST_HEADERS, _listening, impatient

LIMIT = 0.2  # seconds
LARGE = 32 << 10  # bytes of an answer
HEADERS = b"GET / HTTP/1.1\r\nHost: x\r\n"


async def answer(scope, receive, send):
    """An application that answers ok, and returns messages of a WebSocket."""
    if scope["type"] == "http":
        if scope["path"] == "/slow":
            await asyncio.sleep(2 * LIMIT)
        body = b"a" * LARGE if scope["path"] == "/large" else b"ok"
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        return
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


@contextlib.asynccontextmanager
async def listening(connections=None):
    """Run a server, and yield its port; connections: a list that gets their protocols."""
    http, ws = impatient(LIMIT), "websockets-sansio"
    config = uvicorn.Config(
        answer, http=http, ws=ws, lifespan="off", log_config=None, timeout_keep_alive=1
    )
    config.load()
    state = ServerState()

    def protocol():
        one = config.http_protocol_class(config=config, server_state=state, app_state={})
        if connections is not None:
            connections.append(one)
        return one

    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


def exchanged(*parts, pause=0.0):
    """The answer of a server to bytes that are sent part by part."""

    async def exchange():
        async with listening() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            answered = b""
            with contextlib.suppress(ConnectionError):  # the server may close while this is sending
                for part in parts:
                    writer.write(part)
                    await asyncio.sleep(pause)
                async with asyncio.timeout(PATIENCE):
                    answered = await reader.read()
            writer.close()
            return answered

    return asyncio.run(exchange())


def test_slow_headers_close_the_connection():
    assert exchanged() == b""
    assert exchanged(HEADERS) == b""
    assert (
        exchanged(HEADERS, *[b"X: 1\r\n"] * 9, pause=LIMIT / 5) == b""
    )  # each line in time, but not all


def test_slow_headers_of_a_second_request_close_the_connection():
    answered = exchanged(HEADERS + b"\r\n", b"GET /hea", pause=LIMIT / 10)
    assert answered.startswith(b"HTTP/1.1 200") and answered.endswith(b"ok")
    assert answered.count(b"HTTP") == 1


@pytest.mark.long
def test_bytes_that_begin_no_request_do_not_keep_a_connection_open():
    answered = exchanged(HEADERS + b"\r\n", b"\r\n", pause=LIMIT)
    assert answered.endswith(b"ok")
    rest = HEADERS + b"Content-Length: 9\r\n\r\n"
    assert exchanged(rest, b"a", pause=LIMIT).endswith(b"ok")


def test_an_address_that_is_no_host_name_is_refused():
    with pytest.raises(CgruError, match=r"cannot listen at a\.\.b, port 0"):
        _listening("a..b", 0)


def test_an_answer_may_take_longer():
    head = HEADERS.replace(b"/ ", b"/slow ") + b"Connection: close\r\n\r\n"
    assert exchanged(head).endswith(b"ok")


def test_too_large_headers_are_refused():
    assert exchanged(HEADERS + b"X: ", b"a" * LARGEST_HEADERS).startswith(b"HTTP/1.1 400")
    large = HEADERS + b"X: " + b"a" * (LARGEST_HEADERS // 2) + b"\r\nConnection: close\r\n\r\n"
    assert exchanged(large).endswith(b"ok")


def test_a_websocket_may_be_silent():
    async def exchange():
        async with (
            listening() as port,
            websockets.connect(f"ws://127.0.0.1:{port}/") as socket,
        ):
            await asyncio.sleep(2 * LIMIT)
            await socket.send("still here")
            return await socket.recv()

    assert asyncio.run(exchange()) == "still here"


def test_pipelined_requests_wait_unparsed_for_the_answers_before_them():
    """A client that reads nothing costs little memory, and its connection is closed."""
    request = HEADERS.replace(b"/ ", b"/large ") + b"\r\n"

    async def exchange():
        connections, waiting = [], []
        async with listening(connections) as port:
            _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
            writer.write(request * 1_600)
            async with asyncio.timeout(PATIENCE):
                while not waiting or not waiting[-1]:
                    waiting += [len(one.pipeline) for one in connections]
                    await asyncio.sleep(0.001)
                writer.write(request * 50_000)
                while not connections or connections[0] in connections[0].connections:
                    waiting += [len(one.pipeline) for one in connections]
                    await asyncio.sleep(0.005)
            (one,) = connections
            assert one.transport.is_closing()
            writer.transport.abort()
        return max(waiting)

    assert asyncio.run(exchange()) <= 4096 / len(request) + 1


def test_pipelined_requests_are_answered_in_order():
    async def exchange():
        async with listening() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            requests = [HEADERS.replace(b"/ ", path) + b"\r\n" for path in (b"/large ", b"/ ")]
            last = HEADERS + b"Connection: close\r\n\r\n"
            writer.write(b"".join(requests) * 500 + last)
            async with asyncio.timeout(PATIENCE):
                answered = await reader.read()
            writer.close()
            return answered

    answers = asyncio.run(exchange()).split(b"HTTP/1.1 200 OK\r\n")[1:]
    sizes = [len(answer.partition(b"\r\n\r\n")[2]) for answer in answers]
    assert sizes == [LARGE, 2] * 500 + [2]

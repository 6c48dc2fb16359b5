"""Listening: uvicorn, whose signals let open requests be answered first."""

from __future__ import annotations

import asyncio
import socket
import ssl
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..errors import CgruError, reason
from ..options.serve import ServeOptions
from ..system.terminal import tell
from .gate import Gate

LARGEST_HEAD = 64 << 10  # bytes of a request's first line and headers


class Server(uvicorn.Server):
    """Stops at SIGTERM or SIGINT: new requests get 503, and what was let in is answered first.

    A second signal ends it at once.
    """

    def __init__(self, config: uvicorn.Config, gate: Gate):
        super().__init__(config)
        self._gate = gate

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """As uvicorn has it for signals."""
        if self._gate.draining:
            self.force_exit = self.should_exit = True
            return
        self._gate.draining = True
        tell(f"stopping: {self._gate.active} open requests are answered first")

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: whether to stop."""
        if self._gate.draining and not self._gate.active:
            self.should_exit = True
        return await super().on_tick(counter)


def impatient(seconds: float) -> type[HttpToolsProtocol]:
    """HTTP whose connections are closed that bring no whole head of a request in this time.

    The time of the first begins with the connection, that of each next one with its first byte. A
    head that is larger than any of use is answered by 400.
    """

    class Impatient(HttpToolsProtocol):
        _patience: asyncio.TimerHandle | None = None  # until the head is whole
        _head = 0  # bytes of it so far

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._await_head()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self._patience is None:
                self._await_head()

        def on_headers_complete(self) -> None:
            self._head_is_whole()
            super().on_headers_complete()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._patience is not None:
                self._head += len(data)
                if self._head > LARGEST_HEAD and not self.transport.is_closing():
                    self.send_400_response("The request's head is too large.")

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_is_whole()
            super().connection_lost(exc)

        def _await_head(self) -> None:
            self._head = 0
            self._patience = self.loop.call_later(seconds, self._give_up)

        def _head_is_whole(self) -> None:
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

        def _give_up(self) -> None:
            if self.cycle is None or self.cycle.response_complete:  # else an answer is on its way
                self.transport.close()

    return Impatient


def serve(gate: Gate, options: ServeOptions) -> None:
    """Listen and answer until a signal. Raises CgruError where that is not possible."""
    config = uvicorn.Config(
        gate,
        http=impatient(min(options.timeout, 30)),
        ws="websockets-sansio",
        ws_max_size=options.max_body * 1024,
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        ssl_certfile=options.tls_certificate,
        ssl_keyfile=options.tls_key,
        timeout_graceful_shutdown=5,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise CgruError(f"{options.tls_certificate}, {options.tls_key}: {reason(error)}") from None
    with _listening(options.host, options.port) as listener:
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        scheme = "https" if options.tls_key else "http"
        tell(f"listening at {scheme}://{shown}:{port}/")
        Server(config, gate).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise CgruError(f"cannot listen at {host}, port {port}: {reason(error)}") from None

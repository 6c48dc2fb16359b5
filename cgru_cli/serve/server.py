"""The listening server: uvicorn, stopping only after it has answered open requests."""

import asyncio
import socket
import ssl
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..errors import CgruError, reason
from ..system.terminal import tell
from .service import Service

LARGEST_HEADERS = 64 << 10  # bytes of a request's first line and headers
PARSED = 4096  # bytes parsed at a time, because their requests may have to wait


class Server(uvicorn.Server):
    """Stops at SIGTERM or SIGINT, after the open requests; answers new requests with 503.

    A second signal stops it at once.
    """

    def __init__(self, config: uvicorn.Config, service: Service):
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self._service.draining:
            self.force_exit = self.should_exit = True
            return
        self._service.draining = True
        tell(f"stopping after the open requests: {self._service.active}")

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second; returns whether to stop."""
        if self._service.draining and not self._service.active:
            self.should_exit = True
        return await super().on_tick(counter)


def impatient(seconds: float) -> type[HttpToolsProtocol]:
    """An HTTP protocol that closes connections whose request headers take longer than this.

    uvicorn has no such limit. The time counts from the start of the connection for its first
    request, and from the first byte for later requests. Headers that are too large get the answer
    400. A connection is also closed if its client reads no byte of the waiting answers for this
    long. A request is not parsed until the previous requests on its connection are answered.
    """

    class Impatient(HttpToolsProtocol):
        _timer: asyncio.TimerHandle | None = None  # runs until the headers are complete
        _size = 0  # bytes of the headers so far
        _unread: asyncio.TimerHandle | None = None  # runs while answers wait to be read

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._unparsed = bytearray()
            self._await_headers()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self._timer is None:
                self._await_headers()

        def on_headers_complete(self) -> None:
            self._headers_complete()
            super().on_headers_complete()

        def data_received(self, data: bytes) -> None:
            self._unparsed += data
            self._parse()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._parse()

        def _parse(self) -> None:
            """Parse the received bytes until a request has to wait for the previous request."""
            # after an upgrade to a WebSocket, `connections` no longer has this connection
            while self._unparsed and not self.pipeline and self in self.connections:
                part = bytes(self._unparsed[:PARSED])
                del self._unparsed[:PARSED]
                super().data_received(part)
                if self.transport.is_closing():
                    return
                if self._timer is not None:
                    self._size += len(part)
                    if self._size > LARGEST_HEADERS:
                        self.send_400_response("The request headers are too large.")
                        return
            if self.pipeline:
                self.flow.pause_reading()
            idle = self.cycle is not None and self.cycle.response_complete and self._timer is None
            if idle and self.timeout_keep_alive_task is None and self in self.connections:
                # bytes that begin no request, such as a line break, have ended uvicorn's time limit
                self.timeout_keep_alive_task = self.loop.call_later(
                    self.timeout_keep_alive, self.timeout_keep_alive_handler
                )

        def pause_writing(self) -> None:
            super().pause_writing()
            self._await_reader()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop_awaiting_reader()

        def connection_lost(self, exc: Exception | None) -> None:
            self._headers_complete()
            self._stop_awaiting_reader()
            self._unparsed.clear()
            super().connection_lost(exc)

        def _await_reader(self) -> None:
            size = self.transport.get_write_buffer_size()
            self._unread = self.loop.call_later(seconds, self._close_unread, size)

        def _stop_awaiting_reader(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

        def _close_unread(self, before: int) -> None:
            """Close the connection unless the client has read some of `before` unsent bytes."""
            if self.transport.get_write_buffer_size() < before:
                self._await_reader()
            else:
                self.transport.abort()

        def _await_headers(self) -> None:
            self._size = 0
            self._timer = self.loop.call_later(seconds, self._give_up)

        def _headers_complete(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            if self.cycle is None or self.cycle.response_complete:  # no answer in progress
                self.transport.close()

    return Impatient


def serve(app: ASGIApp, service: Service) -> None:
    """Listen and answer until a signal. Raises CgruError for an unusable address or TLS file."""
    options = service.options
    config = uvicorn.Config(
        app,
        http=impatient(min(options.timeout, 30)),
        ws="websockets-sansio",
        ws_max_size=options.max_body * 1024,
        ws_ping_timeout=None,  # uvicorn reads no pongs while messages wait
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
        problem = reason(error)
        if isinstance(error, ssl.SSLError):  # OpenSSL names neither the file nor the problem
            problem = "not a certificate and its private key without a password, as .pem files"
        raise CgruError(f"{options.tls_certificate}, {options.tls_key}: {problem}") from None
    with _listening(options.host, options.port) as listener:
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        scheme = "https" if options.tls_key else "http"
        names = "any host name" if "*" in options.host_names else ", ".join(options.host_names)
        tell(f"listening at {scheme}://{shown}:{port}/ for requests to {names} (--host-name)")
        Server(config, service).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, UnicodeError) as error:  # UnicodeError: not a host name
        raise CgruError(f"cannot listen at {host}, port {port}: {reason(error)}") from None

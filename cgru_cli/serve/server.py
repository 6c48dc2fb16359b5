"""The listening server: uvicorn, stopping only after it has answered open requests."""

import socket
import ssl
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from ..errors import CgruError, reason
from ..options.serve import ServeOptions
from ..system.terminal import tell
from .service import Service

LARGEST_HEADERS = 64 << 10  # bytes of a request's first line and headers


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


def serve(app: ASGIApp, service: Service) -> None:
    """Listen and answer until a signal. Raises CgruError for an unusable address or TLS file."""
    options = service.options
    config = _configured(app, options)
    with _listening(options.host, options.port) as listener:
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        scheme = "https" if options.tls_key else "http"
        names = "any host name" if "*" in options.host_names else ", ".join(options.host_names)
        tell(f"listening at {scheme}://{shown}:{port}/ for requests to {names} (--host-name)")
        Server(config, service).run(sockets=[listener])


def _configured(app: ASGIApp, options: ServeOptions) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        http="h11",  # httptools would not limit the size of headers
        h11_max_incomplete_event_size=LARGEST_HEADERS,
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
    return config


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, UnicodeError) as error:  # UnicodeError: not a host name
        raise CgruError(f"cannot listen at {host}, port {port}: {reason(error)}") from None

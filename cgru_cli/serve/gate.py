"""What every request passes: whether it may come in, what its answer's headers say, and the log."""

from __future__ import annotations

import contextlib
import hmac
import time
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import reason
from ..options.serve import ServeOptions
from ..system.terminal import tell
from . import page
from .metrics import Metrics

OPEN = {"/health/live", "/health/ready", *page.FILES}  # without the password
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
RawHeaders = list[tuple[bytes, bytes]]
_RAW_HEADERS: RawHeaders = Headers(HEADERS).raw
_METHODS, _CORS_HEADERS = "GET, POST", "Authorization, Content-Type, Accept"
DRAINING = "the server is about to stop"


class Gate:
    """Middleware of the whole application.

    While it is `draining`, new requests are answered by 503; `active` is how many that were let in
    are not answered yet. A page of another site may send nothing, unless `--cors` names it: what
    browsers send for it tells its origin.
    """

    def __init__(self, options: ServeOptions, metrics: Metrics, password: str | None):
        self._options, self._metrics = options, metrics
        self._password = None if password is None else password.encode()
        self.draining, self.active = False, 0
        self.application: ASGIApp  # set by whoever makes it
        self.paths: frozenset[str] = frozenset()  # those that exist, for the metrics

    @contextlib.contextmanager
    def active_request(self) -> Iterator[None]:
        """Around what has to be answered before the server may stop."""
        self.active += 1
        try:
            yield
        finally:
            self.active -= 1

    def note(self, client: str, path: str, method: str, status: int, seconds: float) -> None:
        """Count and log a request, without its texts."""
        known = path if path in self.paths else "other"
        self._metrics.answered(known, method if known != "other" else "", status, seconds)
        if not self._options.quiet:
            shown = path if known != "other" else "(no such path)"
            tell(f"{client or '-'} {method} {shown} {status} {seconds:.3f} s")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal is None:
            await self.application(scope, receive, send)
            return
        if "websocket.http.response" in scope.get("extensions", {}):
            await refusal(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
        self.note(_client(scope), scope["path"], "WS", refusal.status_code, 0.0)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        start, status = time.monotonic(), 499
        headers = Headers(scope=scope)
        more = self._more_headers(headers)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *more]
            await send(message)

        answer: ASGIApp = self._refusal(scope, headers) or self.application
        with self.active_request():
            try:
                await answer(scope, receive, sending)
            except Exception as error:  # answered by the application, and raised again to be told
                tell(f"internal error, {type(error).__name__}: {reason(error)}")
            finally:
                client = _client(scope)
                self.note(client, scope["path"], scope["method"], status, time.monotonic() - start)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that is not let in; None for one that is."""
        health = scope["path"].startswith("/health/")
        if self.draining and not health:
            return failed(503, DRAINING, {"Retry-After": "5", "Connection": "close"})
        origin = headers.get("origin")
        if origin is not None and not self._is_allowed(origin, headers):
            return failed(403, "requests from pages of other sites need --cors")
        if scope["type"] == "http" and scope["method"] == "OPTIONS" and origin is not None:
            return Response(status_code=204)
        if self._password is None or scope["path"] in OPEN:
            return None
        kind, _, given = headers.get("authorization", "").partition(" ")
        # compared in a time that does not tell how much of it is right
        right = hmac.compare_digest(given.strip().encode(), self._password)
        if kind.lower() == "bearer" and right:
            return None
        return failed(401, "a password is needed", {"WWW-Authenticate": "Bearer"})

    def _is_allowed(self, origin: str, headers: Headers) -> bool:
        same = urlsplit(origin).netloc.lower() == headers.get("host", "").lower() != ""
        return same or self._is_named(origin)

    def _is_named(self, origin: str) -> bool:
        return "*" in self._options.cors or origin in self._options.cors

    def _more_headers(self, headers: Headers) -> RawHeaders:
        origin = headers.get("origin")
        if origin is None or not self._is_named(origin):
            return _RAW_HEADERS
        return Headers(
            HEADERS
            | {
                "Access-Control-Allow-Origin": origin,
                "Access-Control-Allow-Methods": _METHODS,
                "Access-Control-Allow-Headers": _CORS_HEADERS,
                "Cross-Origin-Resource-Policy": "cross-origin",
                "Vary": "Origin",
            }
        ).raw


def failed(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to what is not done, in JSON."""
    return JSONResponse({"status": "error", "error": message}, status, headers)


def _client(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""

"""Accept or refuse requests, add security headers to all answers, and log the requests."""

import time
from collections.abc import Collection, Sequence

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import reason
from ..options.serve import host_of
from ..system.terminal import tell
from . import page
from .clients import admit, client_of
from .problems import Refusal, failed
from .service import Service

WITHOUT_PASSWORD = {"/health/live", "/health/ready", "/languages", *page.PATHS}
# the password may be in the body: the field `api_key` of LibreTranslate
KEYED = ("/translate", "/detect")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = Headers(
    {
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",  # CORS requests are exempt
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
).raw


class Admission:
    """ASGI middleware around the whole application.

    It refuses new requests while the server stops, requests without a password, and requests from
    web pages of sites that `--cors` does not name (browsers send the origin of a page). It also
    refuses requests for other host names, against DNS rebinding: a page whose site name has been
    redirected to this machine has the right origin, but not the server's host name.
    """

    def __init__(
        self, app: ASGIApp, service: Service, passwords: Sequence[bytes], paths: Collection[str]
    ):
        """passwords: if not empty, requests need one of them; paths: the paths that appear in the
        log and metrics.
        """
        self.service, self.paths = service, paths
        self._passwords, self._sites = passwords, service.options.cors
        self._hosts = set(map(host_of, service.options.host_names)) - {None}
        self._app = app
        self._with_cors = CORSMiddleware(
            self._admit,
            allow_origins=self._sites,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization"],
            expose_headers=["Retry-After"],
            allow_private_network=True,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] not in ("http", "websocket"):
            return
        connection = HTTPConnection(scope)
        if scope["type"] == "websocket" and self._refusal(connection) is None:
            await self._app(scope, receive, send)  # the application logs every message
            return
        start, status = time.monotonic(), 499

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"].endswith("http.response.start"):
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        with self.service.active_request():
            try:
                await self._with_cors(scope, receive, sending)
            except Exception as error:  # already answered with 500, and raised again for the log
                tell(f"internal error, {type(error).__name__}: {reason(error)}")
            finally:
                path = scope["path"]
                for name, value in scope.get("path_params", {}).items():
                    path = path.replace(value, f"{{{name}}}")  # such as a document's secret number
                path = path if path in self.paths else None
                method = scope.get("method", "WS")
                seconds = time.monotonic() - start
                self.service.log(client_of(connection).address, path, method, status, seconds)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(HTTPConnection(scope))
        app = failed(scope["path"], refusal) if refusal else self._app
        await app(scope, receive, send)

    def _refusal(self, connection: HTTPConnection) -> Refusal | None:
        """The refusal of a request, None if it is admitted."""
        headers, path = connection.headers, connection.scope["path"]
        if not path.startswith("/health/"):
            close = {"Connection": "close"}
            if self.service.draining:
                return Refusal("stopping", headers={"Retry-After": "5"} | close)
            if len(headers.getlist("host")) != 1:
                return Refusal("invalid_request", "a request needs one Host header", close)
            if not {"*", host_of(headers["host"])} & self._hosts:
                return Refusal("wrong_host", "this host name is not one of --host-name")
        if origin := headers.get("origin"):
            is_own = origin.partition("://")[2].lower() == headers.get("host", "").lower() != ""
            if not is_own and not {"*", origin}.intersection(self._sites):
                return Refusal("other_site", "the site of the page is not one of --cors")
        if not self._passwords or path in WITHOUT_PASSWORD:
            return None
        given = headers.get("authorization")
        if given is None and path in KEYED and connection.scope["type"] == "http":
            return None  # the body may contain the password
        scheme, _, password = (given or "").partition(" ")
        right = admit(connection.scope, password.strip(), self._passwords)
        if scheme.lower() == "bearer" and right:
            return None
        return unauthorized(wrong=given is not None)


def unauthorized(*, wrong: bool) -> Refusal:
    """The refusal of a request with a wrong or missing password."""
    problem = "the password is wrong" if wrong else "a password is needed"
    headers = {"WWW-Authenticate": "Bearer"}
    return Refusal("unauthorized", f"{problem}: Authorization: Bearer PASSWORD", headers)

"""The application: the paths and their handlers."""

from collections.abc import Sequence
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from . import openapi, page
from .admission import Admission, unauthorized
from .bodies import body
from .clients import admit
from .documents import Documents
from .libre_translate import LibreTranslate, fields_in
from .marian_websocket import MarianWebSocket
from .messages import NematusRequest
from .nematus_rest import NematusRest
from .problems import CODES, Refusal, failed
from .rest import Rest
from .service import Service

_COMPRESSED = 2000  # bytes; smaller answers are not compressed
_LEVEL = 4  # of 9: JSON of attention shrinks to a third, at 60 MB/s


def application(service: Service, passwords: Sequence[str] = ()) -> Admission:
    """The ASGI application with all paths; passwords: if not empty, requests need one of them."""
    known = [password.encode() for password in passwords]
    rest, nematus, libre = Rest(service), NematusRest(service), LibreTranslate(service)
    documents = Documents(service)
    ok = JSONResponse({"status": "ok"})

    async def ready(_request: Request) -> Response:
        if service.draining:
            raise Refusal("stopping")
        if not service.ready:
            raise Refusal("loading")
        return ok

    async def fields_of(request: Request) -> dict[str, Any]:
        """The fields of a request whose body may contain the password. Raises Refusal."""
        fields = fields_in(request, await body(request, service.options))
        if known and "account" not in request.scope:
            key = fields.get("api_key") or ""
            if not admit(request.scope, str(key), known):
                raise unauthorized(wrong=bool(key))
        return fields

    async def detect(request: Request) -> Response:
        return await libre.detect(await fields_of(request))

    async def translate(request: Request) -> Response:
        fields = await fields_of(request)
        of_nematus = "q" not in fields and set(NematusRequest.__struct_fields__) & fields.keys()
        protocol = nematus if "segments" in fields or of_nematus else libre
        return await protocol.translate(request, fields)

    description = openapi.description(protected=bool(known))

    async def described(_request: Request) -> Response:
        return JSONResponse(description)  # compression changes its headers

    async def metrics(_request: Request) -> Response:
        return Response(service.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    routes: list[BaseRoute] = [
        Route("/v1/models", rest.models),
        Route("/v1/translate", rest.translate, methods=["POST"]),
        Route("/v1/alternatives", rest.alternatives, methods=["POST"]),
        Route("/v1/score", rest.score, methods=["POST"]),
        Route("/v1/documents", documents.create, methods=["POST"]),
        Route("/v1/documents/{number}", documents.one, methods=["GET", "DELETE"]),
        Route("/openapi.json", described, methods=["GET"]),
        Route("/translate", translate, methods=["POST"]),
        Route("/detect", detect, methods=["POST"]),
        Route("/languages", libre.languages),
        Route("/status", nematus.status),
        Route("/health/live", ok, methods=["GET"]),
        Route("/health/ready", ready),
        Route("/metrics", metrics),
    ]
    if not service.options.no_page:
        routes += page.routes()
    paths = {route.path for route in routes if isinstance(route, Route)}
    marian = MarianWebSocket(service)
    for path in ("/translate", "/translate/"):
        routes.append(WebSocketRoute(path, marian.connected))
    handlers = dict.fromkeys((Refusal, HTTPException, Exception), _error)
    # Starlette does not compress server-sent events, so each is sent when it is ready.
    compression = Middleware(GZipMiddleware, minimum_size=_COMPRESSED, compresslevel=_LEVEL)
    app = Starlette(routes=routes, middleware=[compression], exception_handlers=handlers)
    return Admission(app, service, known, paths)


async def _error(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        code = next(code for code, (status, _) in CODES.items() if status == error.status_code)
        error = Refusal(code, error.detail, error.headers)
    elif not isinstance(error, Refusal):
        error = Refusal("internal_error")
    return failed(request.scope["path"], error)

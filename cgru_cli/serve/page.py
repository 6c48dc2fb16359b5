"""The web page: files of the package, which load nothing from other sites."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

SCRIPTS = ("page", "server", "attention", "text")
# The name and type of the file at each path.
FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript") for name in SCRIPTS},
}


def routes() -> list[Route]:
    """The routes of the files, which are read once."""
    return [Route(path, _serving(*file), methods=["GET"]) for path, file in FILES.items()]


def _serving(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = files(__package__).joinpath("page_files", name).read_bytes()

    async def serve(_request: Request) -> Response:
        headers = {"Cache-Control": "no-cache"}
        return Response(content, media_type=kind, headers=headers)

    return serve

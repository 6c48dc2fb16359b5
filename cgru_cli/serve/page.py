"""The routes of the web page's files."""

from collections.abc import Callable, Iterator
from pathlib import PurePath

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..web.page import page_files

TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".js": "text/javascript",
}
PATHS = {"/" if name == "index.html" else f"/{name}": name for name in page_files()}


def routes() -> Iterator[Route]:
    """The routes of the files, which are read only when the server starts."""
    contents = page_files()
    for path, name in PATHS.items():
        yield Route(path, _answering(contents[name], TYPES[PurePath(name).suffix]), methods=["GET"])


def _answering(content: bytes, kind: str) -> Callable[[Request], Response]:
    """A handler that makes a new answer each time, because compression changes its headers."""
    headers = {"Cache-Control": "no-cache"}
    return lambda _request: Response(content, media_type=kind, headers=headers)

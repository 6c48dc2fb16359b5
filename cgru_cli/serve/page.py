"""The web page: files of the package, which load nothing from other sites."""

from collections.abc import Iterator
from importlib.resources import files

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


def routes() -> Iterator[Route]:
    """The routes of the files, which are read once."""
    folder, headers = files(__package__) / "page_files", {"Cache-Control": "no-cache"}
    for path, (name, kind) in FILES.items():
        answer = Response((folder / name).read_bytes(), media_type=kind, headers=headers)
        yield Route(path, answer, methods=["GET"])

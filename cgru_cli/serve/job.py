"""`cgru serve`: load the models, start the engine, and answer requests until a signal."""

import gc

from ..errors import CgruError, reading
from ..options.serve import ServeOptions
from ..system.log_file import log_to
from ..system.versions import installed

_LARGEST = 1 << 20  # characters of a file of passwords


def run(options: ServeOptions) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises CgruError for bad models, an unreadable file, an address in use, or if a package of the
    extra `serve` is missing.
    """
    for package in ("prometheus_client", "starlette", "uvicorn", "websockets"):
        installed(package, "serve")
    with log_to(options.log, "cgru serve"):
        _run(options)


def _run(options: ServeOptions) -> None:
    from .app import application
    from .documents import remove_abandoned
    from .served_model import served_models
    from .server import serve
    from .service import Service

    passwords = _passwords(options.token_file) if options.token_file else ()
    models = served_models(options)
    service = Service(models, options)
    remove_abandoned()
    gc.collect()
    gc.freeze()  # later collections need not search the modules and the models
    service.start()
    try:
        serve(application(service, passwords), service)
    finally:
        service.engine.stop()


def _passwords(path: str) -> list[str]:
    """The lines of a file. Raises CgruError for a line that is short or not printable ASCII."""
    with reading(path), open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read(_LARGEST).splitlines()
    passwords = [password for line in lines if (password := line.strip())]
    for number, password in enumerate(passwords or [""], 1):
        if len(password) < 8 or not password.isascii() or not password.isprintable():
            raise CgruError(
                f"{path}: password {number} must have at least 8 printable ASCII characters"
            )
    return passwords

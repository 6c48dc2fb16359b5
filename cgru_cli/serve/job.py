"""`cgru serve`: load the models, start the engine, and answer requests until a signal."""

from ..errors import CgruError, reading
from ..options.serve import ServeOptions
from ..system import tensorflow_start
from ..system.garbage import collected_by_hand
from ..system.log_file import log_to
from ..system.versions import installed


def run(options: ServeOptions) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises CgruError for bad models, an unreadable file, an address in use, or if a package of the
    extra `serve` is missing.
    """
    for package in ("httptools", "prometheus_client", "starlette", "uvicorn", "websockets"):
        installed(package, "serve")
    with log_to(options.log, "cgru serve"):
        _run(options)


def _run(options: ServeOptions) -> None:
    from .app import application
    from .served_model import served_models
    from .server import serve
    from .service import Service

    password = _password(options.token_file) if options.token_file else None
    models = served_models(options)
    if any(one.needs_tensorflow for one in models.values()):
        tensorflow_start.start(options.device, options.cpu_threads, long_running=True)
    service = Service(models, options)
    # A garbage collection in this thread, while TensorFlow was tracing in the engine's
    # thread, once crashed the process.
    with collected_by_hand():
        service.start()
        try:
            serve(application(service, password), service)
        finally:
            service.engine.stop()


def _password(path: str) -> str:
    """The first line of a file. Raises CgruError if it is too short or not printable ASCII."""
    with reading(path), open(path, encoding="utf-8", errors="replace") as file:
        password = file.readline(4096).strip()
    if len(password) < 8 or not password.isascii() or not password.isprintable():
        raise CgruError(f"{path}: its first line must be a password of at least 8 ASCII characters")
    return password

"""The server's metrics, in the text format of Prometheus."""

from collections.abc import Callable
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from .. import Translation, __version__

_REQUEST_LABELS = ("path", "method", "status")
_LINES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counts requests, lines and words, and measures times, batches and the queue."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)  # Python's version
        build = Info("cgru_build", "The running version of cgru.", registry=self._registry)
        build.info({"version": __version__})
        counter = partial(Counter, registry=self._registry)
        gauge = partial(Gauge, registry=self._registry)
        histogram = partial(Histogram, registry=self._registry)
        self._requests = counter("cgru_requests", "Requests answered.", _REQUEST_LABELS)
        seconds = "Seconds from a request to its answer."
        self._seconds = histogram("cgru_request_seconds", seconds, ["path"], buckets=_SECONDS)
        self._lines = counter("cgru_lines", "Lines translated, or pairs scored.", ["model", "task"])
        words = "The model's words or pieces in translated and scored lines."
        self._words = counter("cgru_words", words, ["model", "task", "side"])
        lines = "Lines computed together, recorded whenever lines join."
        self._batch = histogram("cgru_batch_lines", lines, ["model"], buckets=_LINES)
        self._queue = gauge("cgru_queue_lines", "Lines waiting in the queue.")
        self._active = gauge("cgru_requests_in_progress", "Requests not answered yet.")

    def watch(self, queued: Callable[[], int], active: Callable[[], int]) -> None:
        """Set the functions that return the numbers of waiting lines and of open requests."""
        self._queue.set_function(queued)
        self._active.set_function(active)

    def answered(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(path, method, status).inc()
        self._seconds.labels(path).observe(seconds)

    def translated(self, model: str, words: int, translation: Translation) -> None:
        """Count a translated line; words: the number of its source words."""
        self._lines.labels(model, "translate").inc()
        self._words.labels(model, "translate", "source").inc(words)
        best = translation.hypotheses[0].tokens if translation.hypotheses else ()
        self._words.labels(model, "translate", "target").inc(len(best))

    def scored(self, model: str, words: int) -> None:
        """Count a scored pair; words: the number of its target words."""
        self._lines.labels(model, "score").inc()
        self._words.labels(model, "score", "target").inc(words)

    def batch(self, model: str, lines: int) -> None:
        """Record that lines joined a model's computation, which now has this number of lines."""
        self._batch.labels(model).observe(lines)

    def text(self) -> bytes:
        """All metrics."""
        return generate_latest(self._registry)

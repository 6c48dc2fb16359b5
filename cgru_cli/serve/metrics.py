"""What the server counts, in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from ..translate.results import Translation

CONTENT_TYPE = CONTENT_TYPE_LATEST
_LINES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Requests, their time, lines and words, batches and the queue."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "cgru_requests", "Requests answered.", ("path", "method", "status"), registry=registry
        )
        self._seconds = Histogram(
            "cgru_request_seconds", "Seconds from a request to its answer.", ("path",),
            registry=registry, buckets=_SECONDS,
        )  # fmt: skip
        self._lines = Counter(
            "cgru_lines", "Lines translated, or pairs scored.", ("task",), registry=registry
        )
        self._words = Counter(
            "cgru_words", "Words as the model has them, of lines done.", ("task", "side"),
            registry=registry,
        )  # fmt: skip
        self._batch = Histogram(
            "cgru_batch_lines", "Lines computed together, each time that some joined.",
            registry=registry, buckets=_LINES,
        )  # fmt: skip
        self._queue = Gauge("cgru_queue_lines", "Lines that wait for their turn.",
                            registry=registry)  # fmt: skip
        self._active = Gauge("cgru_requests_in_progress", "Requests not answered yet.",
                             registry=registry)  # fmt: skip

    def watch(self, queued: Callable[[], int], active: Callable[[], int]) -> None:
        """Where the present numbers of waiting lines, and of open requests, are asked for."""
        self._queue.set_function(queued)
        self._active.set_function(active)

    def answered(self, path: str, method: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(path, method, status).inc()
        self._seconds.labels(path).observe(seconds)

    def translated(self, words: int, translation: Translation) -> None:
        """A line was translated; words: of its source."""
        self._lines.labels("translate").inc()
        self._words.labels("translate", "source").inc(words)
        best = translation.hypotheses[0].tokens if translation.hypotheses else ()
        self._words.labels("translate", "target").inc(len(best))

    def scored(self, words: int) -> None:
        """A pair was scored; words: of its translation."""
        self._lines.labels("score").inc()
        self._words.labels("score", "target").inc(words)

    def batch(self, lines: int) -> None:
        """So many lines are computed together now."""
        self._batch.observe(lines)

    def text(self) -> bytes:
        """All numbers, as Prometheus reads them."""
        return generate_latest(self._registry)

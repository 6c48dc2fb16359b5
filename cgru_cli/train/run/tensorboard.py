"""Summaries of a training for TensorBoard."""

from __future__ import annotations

from pathlib import Path

from ...errors import CgruError
from .progress import CostType, Interval, Progress


class Summaries:
    """Writes scalars over updates to a folder of TensorBoard's event files, unbuffered.

    Raises CgruError if the folder cannot be written.
    """

    def __init__(self, folder: Path):
        import tensorflow as tf

        self._folder, self._scalar = folder, tf.summary.scalar
        self._error = tf.errors.OpError
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._writer = tf.summary.create_file_writer(str(folder))
        except (OSError, tf.errors.OpError) as error:
            raise CgruError(f"{folder}: cannot be written: {error}") from None

    def training(
        self, progress: Progress, interval: Interval, kind: CostType, learning_rate: float
    ) -> None:
        """Write the numbers of a log line."""
        self._write(
            progress,
            {
                f"train/{kind}": interval.mean_cost(kind),
                "train/words per second": interval.words_per_second,
                "train/gradient norm": interval.norm,
                "train/learning rate": learning_rate,
            },
        )

    def validation(self, progress: Progress, metric: str, value: float) -> None:
        """Write one metric."""
        self._write(progress, {f"valid/{metric}": value})

    def _write(self, progress: Progress, values: dict[str, float]) -> None:
        try:
            with self._writer.as_default(step=progress.updates):
                for name, value in values.items():
                    self._scalar(name, value)
            self._writer.flush()
        except self._error as error:
            raise CgruError(f"{self._folder}: cannot be written: {error.message}") from None

"""Summaries of a training run for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...errors import CgruError


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

    def write(self, updates: int, values: Mapping[str, float]) -> None:
        """Write numbers, by their name, after this many updates."""
        try:
            with self._writer.as_default(step=updates):
                for name, value in values.items():
                    self._scalar(name, value)
            self._writer.flush()
        except self._error as error:
            raise CgruError(f"{self._folder}: cannot be written: {error.message}") from None

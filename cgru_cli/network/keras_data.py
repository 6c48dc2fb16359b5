"""A prepared folder as a Keras dataset."""

import os
import random
from pathlib import Path
from typing import Any

import keras
import numpy as np

from ..corpus.parallel_files import check_line_counts, text_lines
from ..errors import CgruError
from ..formats.loaded_model import LoadedModel, Reading
from ..system.windows import batches

Batch = tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray, np.ndarray]


class PreparedData(keras.utils.PyDataset):
    """Mini-batches from a folder written by `prepare`, for `RecurrentModel.fit`.

    A batch is ((source (B,S,F), source mask (B,S), target (B,T)), target, target mask): inputs,
    labels and weights. Pairs of similar length share a batch; their order changes in each epoch.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        folder: str | os.PathLike[str],
        *,
        name: str = "train",
        mini_batch: int = 64,
        max_length: int = 100,
        seed: int = 0,
        **kwargs: Any,
    ):
        """loaded: the model, for its vocabularies. name: the text's name, such as train or dev.
        max_length: the maximum number of words of either side; skips longer and empty pairs.
        kwargs: arguments of `PyDataset`. Raises CgruError for unreadable text.
        """
        super().__init__(**kwargs)
        paths = [Path(folder) / f"{name}.{side}" for side in ("src", "trg")]
        sources, targets = ([*text_lines(path)] for path in paths)
        check_line_counts((paths[0], len(sources)), (paths[1], len(targets)))
        self._loaded, self._draw = loaded, random.Random(seed)  # noqa: S311 - not for secrets
        reading, tokenize = Reading(), loaded.tokenizer(Reading())
        pairs = [
            (tokenize(source), loaded.target_words(target, number, reading))
            for number, (source, target) in enumerate(zip(sources, targets, strict=True))
        ]
        self._pairs = [pair for pair in pairs if all(0 < len(side) <= max_length for side in pair)]
        if not self._pairs:
            raise CgruError(f"{paths[0]}: no pair with 1 to {max_length} words on each side")
        lengths = [max(map(len, pair)) + 1 for pair in self._pairs]
        self._batches = batches(lengths, mini_batch, mini_batch * (max_length + 1))
        self.on_epoch_end()

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, index: int) -> Batch:
        pairs = [self._pairs[place] for place in self._batches[index]]
        source, source_mask = self._loaded.source_batch([source for source, _ in pairs])
        order = slice(None, None, -1 if self._loaded.right_left else 1)
        target, mask = self._loaded.target_batch([target[order] for _, target in pairs])
        return (source, source_mask, target), target, mask

    def on_epoch_end(self) -> None:
        """Shuffle the batches."""
        self._draw.shuffle(self._batches)

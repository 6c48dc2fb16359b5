"""Zero-pad a small trained model to a big one, for real sentences at full cost.

New states, embeddings and words are zero and stay zero; the output bias of new words is -30, so
they are never produced. Only for plain cGRU models (layer normalisation would be affected by the
zeros).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cgru_cli.formats import array_files, model_vocabularies, read_model, write_model
from cgru_cli.formats.model import Model
from cgru_cli.formats.vocabulary_files import write_vocabulary
from cgru_cli.parameters.names import parameters
from cgru_cli.parameters.structure import Normalization

SIZES = (512, 1024, 30000)  # embedding, state, vocabulary
NEVER = -30.0
# Letters of axes with blocks that are padded separately: gates [r | z], annotations [f ; b].
BLOCKS = {"2D": 2, "C": 2, "A": 2}


class Padded:
    """A small model padded to the given sizes, written to a folder, for cgru and for Marian."""

    def __init__(
        self,
        path: str,
        vocabularies: Sequence[str],
        folder: Path,
        sizes: Sequence[int] = SIZES,
    ):
        small = read_model.read(path)
        *sources, self.target = model_vocabularies.find(small, vocabularies)
        self.source = sources[0]
        self.model = pad(small, *sizes)
        self.vocabularies = [str(folder / "src.json"), str(folder / "trg.json")]
        write_vocabulary(self.source, folder / "src.json")
        write_vocabulary(self.target, folder / "trg.json")
        self.path = folder / "model.npz"
        array_files.write_npz(self.path, self.model.arrays)
        names = {"dictionaries": ["src.json", "trg.json"], "model_version": 0.1}
        (folder / "model.npz.json").write_text(json.dumps(names))
        self._marian = folder / "marian"

    def marian(self) -> tuple[Path, list[str]]:
        """The model in Marian's dialect, and its vocabularies."""
        vocabularies = [self._marian / Path(path).name for path in self.vocabularies]
        if not self._marian.exists():
            self._marian.mkdir()
            # marian-amun has no tied embeddings, which Marian's shortlists require
            kind = "marian-nematus" if self.model.structure.tied_output else "marian-amun"
            write_model.write(self.model, self._marian / "model.npz", kind)
            for vocabulary, path in zip((self.source, self.target), vocabularies, strict=True):
                write_vocabulary(vocabulary, path, "marian")
        return self._marian / "model.npz", list(map(str, vocabularies))


@dataclasses.dataclass
class OfMarian:
    """A model of Marian's, as it is, for both programs."""

    path: Path
    vocabularies: list[str]

    def marian(self) -> tuple[Path, list[str]]:
        return self.path, self.vocabularies


def pad(model: Model, embedding: int, state: int, vocabulary: int) -> Model:
    """The model with wider arrays; its translations stay the same."""
    s = model.structure
    if s.normalization is not Normalization.NONE or len(s.source_embeddings) > 1:
        raise SystemExit("only plain models without layer norm and factors can be padded")
    big = dataclasses.replace(
        s,
        source_vocabularies=(vocabulary,),
        source_embeddings=(embedding,),
        target_vocabulary=vocabulary,
        target_embedding=embedding,
        state=state,
    )
    arrays = {}
    for small, large in zip(parameters(s), parameters(big), strict=True):
        array = model.arrays[small.name]
        for axis, letter in enumerate(small.shape):
            wanted = large.size(big)[axis]
            blocks = BLOCKS.get(letter, 1)
            parts = np.split(array, blocks, axis=axis)
            missing = wanted // blocks - parts[0].shape[axis]
            widths = [(0, 0)] * array.ndim
            widths[axis] = (0, missing)
            fill = NEVER if small.path == "decoder/output/b" else 0.0
            array = np.concatenate(
                [np.pad(part, widths, constant_values=fill) for part in parts], axis=axis
            )
        arrays[small.name] = np.ascontiguousarray(array)
    return dataclasses.replace(model, structure=big, arrays=arrays)

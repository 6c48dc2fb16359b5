"""Model files of every dialect, read into one form.

`read` recognises the dialect, brings the arrays to the DL4MT/Nematus names, learns the `Structure`
from them, and accounts for every array; `write_model` is the inverse. Which array is called what is
said in `parameters.names` alone.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from ..errors import CgruError, NotAModel, parsing, reading
from ..parameters.names import is_training_array, parameters
from ..parameters.parameter import Dialect
from ..system.atomic_files import check_whole
from ..system.structured_files import (
    LARGEST_YAML,
    check_text,
    parse_json,
    parse_yaml,
    read_json,
    read_yaml,
)
from . import array_files, pickles
from .array_files import StoredArray
from .dialects import MARIAN_YAML
from .model import Model, ModelSettings
from .model_from_arrays import checked, interpret, listed, read_inert
from .own_configuration import MOST_INERT, Own
from .read_configuration import from_marian, from_nematus
from .tensorflow_checkpoint import open_checkpoint

HDF5_ATTRIBUTE = "cgru"


def read(path: str | os.PathLike[str]) -> Model:
    """Read a model of any dialect.

    path may name an `.npz`, an `.h5`, or a TensorFlow checkpoint (`model-1500`, with or without
    `.index`). Raises CgruError, in one line, for what is no model, is damaged, or is a model
    that cannot be computed.
    """
    path = Path(path)
    if not path.name:
        raise CgruError(f"{path}: names no model file")
    with parsing(path, "damaged, or no model that cgru knows"):
        return _read(path)


def _read(path: Path) -> Model:
    with reading(path):
        checkpoint = checkpoint_prefix(path)
    check_whole(checkpoint or path)
    if checkpoint:
        stored = open_checkpoint(checkpoint)
        return interpret(checkpoint, stored, _nematus_settings(checkpoint), "checkpoint")
    array_files.check_readable(path)
    with reading(path), open(path, "rb") as stream:
        start = stream.read(8)
    if start == b"\x89HDF\r\n\x1a\n":
        return _read_hdf5(path)
    if not start.startswith(b"PK"):
        raise NotAModel(f"{path}: not a model file (.npz, .h5 and TensorFlow checkpoints are read)")
    with array_files.open_npz(path, skip=is_training_array) as stored:
        settings = _nematus_settings(path)
        origin: dict = {}
        if MARIAN_YAML in stored:
            embedded, origin = _marian_settings(path, stored.pop(MARIAN_YAML))
            embedded.update(settings)
            settings = embedded
        return interpret(path, stored, settings, "npz", origin)


def _marian_settings(path: Path, stored: StoredArray) -> tuple[ModelSettings, dict]:
    """Marian's configuration inside a model, and the form in which it was stored."""
    source = f"{path}: {MARIAN_YAML}"
    if math.prod(stored.shape) * stored.dtype.itemsize > LARGEST_YAML:
        raise CgruError(f"{source}: more than {LARGEST_YAML} bytes, too large for a configuration")
    whole = stored.read()
    content = whole.tobytes().split(b"\0")[0]
    settings = from_marian(parse_yaml(content, source), MARIAN_YAML)
    settings.values = {MARIAN_YAML: content.decode("utf-8", "replace")}
    return settings, _marian_origin(whole, content)


def _marian_origin(whole: np.ndarray, content: bytes) -> dict:
    """Marian's own configuration and its length, where it has the form that Marian reads."""
    raw = whole.tobytes()
    if whole.dtype != np.int8 or whole.ndim != 1 or raw != content.ljust(len(raw), b"\0"):
        return {}
    try:
        return {"yaml": content.decode("utf-8"), "bytes": len(raw)} if raw != content else {}
    except UnicodeDecodeError:
        return {}


def checkpoint_prefix(path: Path) -> Path | None:
    """`model-N` of a TensorFlow checkpoint triple, if that is what the path names."""
    for suffix in (".index", ".meta", ".data-00000-of-00001"):
        if path.name.endswith(suffix):
            path = path.with_name(path.name.removesuffix(suffix))
            break
    else:
        if path.is_file():
            return None
    return path if path.with_name(path.name + ".index").is_file() else None


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _nematus_settings(path: Path) -> ModelSettings:
    """The configuration in the files beside a model."""
    settings = ModelSettings()
    for suffix in (".json", ".pkl"):
        file = _beside(path, suffix)
        if not file.is_file():
            continue
        if suffix == ".json":
            settings = from_nematus(read_json(file), str(file))
        else:
            values = pickles.load(file, "model options")
            with parsing(file, "not the options of a model"):
                check_text(values)
            settings = from_nematus(values, str(file))
            settings.program = "dl4mt"
        break
    for suffix in (".decoder.yml", ".amun.yml", ".yml"):
        file = _beside(path, suffix)
        if file.is_file():
            content = from_marian(read_yaml(file), str(file))
            if suffix == ".yml":  # the training's: its beam is that of validation
                content.beam_size = content.normalize = content.word_penalty = None
            settings.update(content)
    return settings


def _read_hdf5(path: Path) -> Model:
    with array_files.open_hdf5(path, HDF5_ATTRIBUTE) as (stored, attribute):
        if attribute is None:
            raise CgruError(
                f"{path}: an HDF5 file, but not one of cgru's (no attribute {HDF5_ATTRIBUTE!r})"
            )
        source = f"{path}: attribute {HDF5_ATTRIBUTE}"
        values = parse_json(attribute, source)
        own = Own.of(values, source)
        if own is None or not isinstance(values, dict):
            raise CgruError(f"{source}: no structure of a model")
        settings = from_nematus(values.get("configuration"), source)
        own.complete(settings)
        names = {p.path: p.name for p in parameters(own.structure)}
        arrays: dict[str, StoredArray] = {}
        inert: dict[str, np.ndarray] = {}
        unknown = []
        for name, array in stored.items():
            if name in names:
                arrays[names[name]] = array
            elif name.startswith("inert/") and len(inert) < MOST_INERT:
                inert[name.removeprefix("inert/")] = read_inert(path, array)
            else:
                unknown.append(name)
        if unknown:
            raise CgruError(f"{path}: {listed('array', unknown)} unknown")
        sound = checked(path, arrays, own.structure, Dialect.NEMATUS)
    return Model(path, own.structure, sound, own.program, "h5", inert, settings, origin=own.origin)

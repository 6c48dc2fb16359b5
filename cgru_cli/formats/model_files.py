"""The files of a model: its arrays, still unread, and the configurations beside them."""

import base64
import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..errors import CgruError, NotAModel, parsing, reading
from ..parameters.names import INERT, is_training_array, parameters
from ..parameters.parameter import Dialect
from ..system.atomic_files import check_whole
from ..system.structured_files import (
    LARGEST_YAML,
    StoredFile,
    check_text,
    parse_json,
    parse_yaml,
    read_json,
    read_yaml,
)
from . import array_files, pickles
from .array_files import StoredArray
from .dialects import MARIAN_YAML
from .model import PREPROCESSING, ModelSettings
from .onnx_file import VERSION, check_interface, open_onnx
from .own_configuration import Own
from .read_configuration import from_marian, from_nematus
from .tensorflow_checkpoint import open_checkpoint

HDF5_ATTRIBUTE = "cgru"


@dataclass
class ModelFile:
    """An opened model.

    path: for a checkpoint, the prefix of its files; container: npz, h5, onnx or checkpoint; stored:
    the arrays by their names in the file; own: cgru's own description, if cgru wrote the model;
    origin: the form in which Marian stored its configuration.
    """

    path: Path
    container: str
    stored: dict[str, StoredArray]
    settings: ModelSettings = field(default_factory=ModelSettings)
    own: Own | None = None
    origin: dict = field(default_factory=dict)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[ModelFile]:
    """The model at this path; its arrays are readable inside the `with` block.

    Raises CgruError for anything else, and for a damaged configuration.
    """
    with reading(path):
        checkpoint = _checkpoint_prefix(path)
    check_whole(checkpoint or path)
    if checkpoint:
        settings = _settings_beside(checkpoint)
        own = Own.of(settings.values.get("cgru"), settings.source)
        yield ModelFile(checkpoint, "checkpoint", open_checkpoint(checkpoint), settings, own)
        return
    start = array_files.start_of(path)
    if start.startswith(b"\x89HDF\r\n\x1a\n"):
        with array_files.open_hdf5(path, HDF5_ATTRIBUTE) as (stored, attribute):
            yield _of_hdf5(path, stored, attribute)
        return
    if path.suffix == ".onnx":
        with open_onnx(path) as found:
            own, settings = _description(f"{path}: description", found.description)
            if own.version > VERSION:
                raise CgruError(
                    f"{path}: an ONNX file of version {own.version}; this cgru reads version "
                    f"{VERSION}: install a newer one"
                )
            check_interface(path, found, own.structure)
            inside: dict[str, StoredFile] = {}
            for name, content in own.files.items():
                with parsing(f"{path}/{name}", "damaged"):
                    inside[name] = StoredFile.of(f"{path}/{name}", base64.b64decode(content))
            settings.vocabularies = [inside.get(name, name) for name in settings.vocabularies]
            settings.preprocessing = inside.get(PREPROCESSING)
            yield ModelFile(path, "onnx", found.arrays, settings, own)
        return
    if not start.startswith(b"PK"):
        raise NotAModel(
            f"{path}: not a model file (.npz, .h5, .onnx and TensorFlow checkpoints are read)"
        )
    with array_files.open_npz(path, skip=is_training_array) as stored:
        origin: dict = {}
        settings = _settings_beside(path)
        if MARIAN_YAML in stored:
            embedded, origin = _marian_settings(path, stored.pop(MARIAN_YAML))
            embedded.update(settings)
            settings = embedded
        own = Own.of(settings.values.get("cgru"), settings.source)
        yield ModelFile(path, "npz", stored, settings, own, origin)


def _checkpoint_prefix(path: Path) -> Path | None:
    """The prefix `model-N` of a TensorFlow checkpoint's files, if the path names one of them."""
    for suffix in (".index", ".meta", ".data-00000-of-00001"):
        if path.name.endswith(suffix):
            path = path.with_name(path.name.removesuffix(suffix))
            break
    else:
        if path.is_file():
            return None
    return path if path.with_name(path.name + ".index").is_file() else None


def _of_hdf5(path: Path, stored: dict[str, StoredArray], attribute: str | None) -> ModelFile:
    """cgru's own HDF5 file, whose datasets are named by their place in the model."""
    if attribute is None:
        no = f"no attribute {HDF5_ATTRIBUTE!r}"
        raise CgruError(f"{path}: an HDF5 file, but not one of cgru's ({no})")
    own, settings = _description(f"{path}: attribute {HDF5_ATTRIBUTE}", attribute)
    inert = INERT[Dialect.NEMATUS]
    names = {f"inert/{inert}": inert} | {p.path: p.name for p in parameters(own.structure)}
    if unknown := [name for name in stored if name not in names]:
        raise CgruError(f"{path}: array {', '.join(sorted(unknown)[:4])} is unknown")
    arrays = {names[name]: array for name, array in stored.items()}
    return ModelFile(path, "h5", arrays, settings, own)


def _description(source: str, text: str) -> tuple[Own, ModelSettings]:
    """The description of a model in one of cgru's own files. Raises CgruError if it is damaged."""
    values = parse_json(text, source)
    own = Own.of(values, source)
    if own is None:
        raise CgruError(f"{source}: does not describe a model")
    return own, from_nematus(values.get("configuration"), source)


def _run_of(path: Path) -> Path:
    """The path of the run's main model: Nematus and DL4MT write a configuration only beside it.

    Nematus saves model.iter1000.npz or the checkpoint model.npz-1000 for model.npz, and the best
    model with other endings.
    """
    name = re.sub(r"\.iter\d+(?=\.npz$)|-\d+$", "", path.name)
    return path.with_name(re.sub(r"(?<=\.npz)\.(?:dev\.npz|npz)?(?:\.?best.*)?$", "", name))


def _settings_beside(path: Path) -> ModelSettings:
    """The configuration in the files beside a model, or of the run that saved it."""
    settings = ModelSettings()
    kinds = [(Path(f"{one}.json"), Path(f"{one}.pkl")) for one in (path, _run_of(path))]
    json, pickle = next((pair for pair in kinds if any(map(Path.is_file, pair))), kinds[0])
    if json.is_file():
        settings = from_nematus(read_json(json), str(json))
    elif pickle.is_file():
        values = pickles.load(pickle, "model options")
        with parsing(pickle, "not the options of a model"):
            check_text(values)
        settings = from_nematus(values, str(pickle), pickled=True)
    for suffix in (".decoder.yml", ".amun.yml", ".yml"):
        file = Path(f"{path}{suffix}")
        if file.is_file():
            content = from_marian(read_yaml(file), str(file))
            if suffix == ".yml":  # a training's beam size is that of its validation
                content.beam_size = content.normalize = content.word_penalty = None
            settings.update(content)
    return settings


def _marian_settings(path: Path, stored: StoredArray) -> tuple[ModelSettings, dict]:
    """Marian's configuration inside a model, and the form in which it was stored."""
    source = f"{path}: {MARIAN_YAML}"
    if stored.nbytes > LARGEST_YAML:
        raise CgruError(f"{source}: more than {LARGEST_YAML} bytes, too large for a configuration")
    whole = stored.read()
    raw = whole.tobytes()
    if whole.dtype.kind == "U":
        raw = "".join(whole.ravel().tolist()).encode()
    elif whole.dtype.kind in "iu" and whole.dtype.itemsize > 1:  # a number for each byte
        raw = whole.astype(np.uint8).tobytes()
    content = raw.split(b"\0")[0]
    text = content.decode("utf-8", "replace")
    settings = from_marian(parse_yaml(content, source), MARIAN_YAML)
    settings.values = {MARIAN_YAML: text}
    # Marian reads int8 ending in NUL; other forms are rewritten.
    as_marian = whole.dtype == np.int8 and whole.ndim == 1 and text.encode() == content != raw
    if as_marian and raw == content.ljust(len(raw), b"\0"):
        return settings, {"yaml": text, "bytes": len(raw)}
    return settings, {}

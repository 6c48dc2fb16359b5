"""Write models in the format of every program: the inverse of `read_model.read`.

The name table names all arrays. The arrays are written after vocabularies and configuration, so
that a killed conversion leaves no incomplete model.
"""

import base64
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import CgruError, UsageError, warn
from ..parameters.names import INERT
from ..parameters.parameter import MARIAN, Dialect
from ..system.atomic_files import all_or_nothing, atomic_write, remove
from ..system.structured_files import LARGEST_CONFIGURATION, StoredFile, read_bytes
from ..text.vocabulary import Vocabulary
from . import (
    array_files,
    model_vocabularies,
    own_configuration,
    pickles,
    write_configuration,
    yaml_cpp,
)
from .capabilities import DIALECT, OWN_FORMATS, cannot_hold
from .dialects import MARIAN_YAML, convention
from .model import PREPROCESSING, Model
from .model_files import HDF5_ATTRIBUTE
from .tensorflow_checkpoint import DATA, write_checkpoint

# Suffixes of the files beside a model that are read as its configuration.
_CONFIGURATION = (".json", ".pkl", ".decoder.yml", ".amun.yml", ".yml", ".progress.json")
LARGEST_INSIDE = LARGEST_CONFIGURATION * 2 // 3  # bytes, for --one-file


def write(
    model: Model,
    path: str | Path,
    to: str,
    vocabularies: Sequence[Vocabulary] = (),
    force: bool = False,
    preprocessing: Path | StoredFile | None = None,
    marian_files: Sequence[str] = (),
    decoding: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    keep_same: bool = False,
    graph: Callable[[dict], bytes] | None = None,
    one_file: bool = False,
) -> list[Path]:
    """Write a model, its configuration and its vocabularies in the format `to` of `cgru convert`.

    Returns the files written, those of the model first.

    Vocabularies go beside the model, rewritten if the program needs another format. preprocessing:
    another file to place there; by default the model's own. marian_files: also write these of
    Marian's files (.decoder.yml, .amun.yml); decoding: further values for `.decoder.yml`, including
    relative-paths; settings: the training's options in Marian's names, for `.yml`. keep_same: leave
    files and their times unchanged if the content is the same. graph: makes the content of an ONNX
    file with a description. one_file: store vocabularies and preprocessing inside the ONNX file.

    Raises CgruError if the format cannot hold the model, naming each feature, and if a file exists
    without force; UsageError if the path does not fit the format.
    """
    if model.precision != "float32":
        raise CgruError(
            f"{model.path}: holds weights in {model.precision}, from which the model cannot be "
            "read back; convert the original"
        )
    path = output_path(path, to)
    lost = cannot_hold(model.structure, to)
    if DIALECT.get(to) in MARIAN and not model.one_direction:
        lost.append("a decoder from right to left over a source that is read from left to right")
    if lost:
        raise CgruError(
            f"{model.path} cannot be written as {to}: it has {', '.join(lost)}, "
            f"which {to} does not support"
        )
    for suffix in ("", ".index"):
        one, other = Path(f"{model.path}{suffix}"), Path(f"{path}{suffix}")
        if one.exists() and other.exists() and one.samefile(other):
            raise CgruError(f"{path}: IN and OUT are the same file")
    ways = [(model.settings.right_left, "writes"), (model.settings.source_reversed, "reads")]
    turned = " and ".join(way for from_end, way in ways if from_end)
    if to in ("dl4mt", "nematus", "nematus-tf") and turned:
        warn(  # users of these programs reversed the lines themselves
            f"{path}: {to}'s files cannot record that a model {turned} right to left; "
            "reverse the lines yourself when you translate with it"
        )
    folder = path if one_file else path.parent
    names, placements = model_vocabularies.plan(vocabularies, folder, to, force)
    names = names or [Path(name).name for name in model.settings.vocabularies]
    contents = _configuration_files(model, path, to, names)
    source = preprocessing or model.preprocessing
    if isinstance(source, StoredFile) or Path(source).exists():
        contents[Path(f"{path}{PREPROCESSING}")] = read_bytes(source, "preprocess.json")
    files: dict[str, bytes] = {}
    if one_file:
        files = {file.name: placement.content for file, placement in placements.items()}
        if prepared := contents.pop(Path(f"{path}{PREPROCESSING}"), None):
            files[PREPROCESSING] = prepared
        placements = {}
        if (size := sum(map(len, files.values()))) > LARGEST_INSIDE:
            raise CgruError(
                f"--one-file: vocabularies and preprocessing take {size:,} bytes, and at most "
                f"{LARGEST_INSIDE:,} fit; leave it out"
            )
    inside = {name: base64.b64encode(content).decode() for name, content in files.items()}
    for suffix in marian_files:
        if suffix == ".amun.yml":
            content = write_configuration.amun(model, path.name, names)
        else:
            content = write_configuration.decoder(model, path, names, decoding)
        contents[Path(f"{path}{suffix}")] = content
    if settings:
        described = write_configuration.marian_values(model, to) if to.startswith("marian-") else {}
        known = {key: value for key, value in described.items() if key in settings}
        contents[Path(f"{path}.yml")] = yaml_cpp.block({**settings, **known}).encode()
    stale = _check_overwriting(path, to, contents, force)
    contents = {file: placement.content for file, placement in placements.items()} | contents
    # a crash leaves the old model, or none, never a mixture
    with all_or_nothing(path, keep_same=keep_same):
        for file, content in contents.items():
            with atomic_write(file) as stream:
                stream.write(content)
        for file in stale:
            remove(file)
        if to == "h5":
            _write_hdf5(model, path, names)
        elif to == "onnx":
            assert graph  # noqa: S101 - for mypy: the caller checks
            with atomic_write(path) as stream:
                stream.write(graph(_description(model, names) | {"files": inside}))
        elif to == "nematus-tf":
            write_checkpoint(path, arrays_as(model, to))
        else:
            array_files.write_npz(path, arrays_as(model, to))
    return [*_model_files(path, to), *contents]


def _model_files(path: Path, to: str) -> list[Path]:
    return [Path(f"{path}{end}") for end in ((".index", DATA) if to == "nematus-tf" else ("",))]


def output_path(path: str | os.PathLike[str], to: str) -> Path:
    """The file to write; for a checkpoint, the prefix of its files.

    Raises UsageError if the suffix does not fit the format.
    """
    path = Path(path)
    if to == "nematus-tf":
        if path.name.endswith((".npz", ".h5", ".hdf5")):
            raise UsageError(f"{path}: a Nematus-TF checkpoint is named like model-1500")
        return path.with_name(path.name.removesuffix(".index")) if path.name else path
    endings = {"h5": (".h5", ".hdf5"), "onnx": (".onnx",)}.get(to, (".npz",))
    if not path.name.endswith(endings):
        raise UsageError(f"{path}: a file written as {to} ends in {' or '.join(endings)}")
    return path


def _check_overwriting(path: Path, to: str, contents: dict[Path, bytes], force: bool) -> list[Path]:
    """The configuration files of the replaced model, which must not apply to the new model.

    Raises CgruError if any file would be overwritten without force.
    """
    if path.is_dir():
        raise CgruError(f"{path}: is a directory")
    if not path.parent.is_dir():
        raise CgruError(f"{path}: the folder {path.parent} does not exist")
    suffixes = (PREPROCESSING, *(() if to in ("h5", "onnx") else _CONFIGURATION))
    beside = [Path(f"{path}{suffix}") for suffix in suffixes]
    if to == "nematus-tf":
        beside.append(Path(f"{path}.meta"))
    for file in (*_model_files(path, to), *contents, *beside):
        if file.exists() and not force:
            raise CgruError(f"{file}: exists; --force overwrites it")
    return [file for file in beside if file not in contents and file.exists()]


def _configuration_files(model: Model, path: Path, to: str, names: list[str]) -> dict[Path, bytes]:
    """The contents of the configuration files, by path."""
    if to == "dl4mt":
        return {Path(f"{path}.pkl"): pickles.as_pickle(write_configuration.dl4mt(model, names))}
    if to.startswith("marian-"):
        return {Path(f"{path}.decoder.yml"): write_configuration.decoder(model, path, names)}
    if to in ("h5", "onnx"):
        return {}
    program = model.program if to == "npz" else to
    make = {
        "npz": write_configuration.own_container,
        "nematus": write_configuration.nematus,
        "nematus-tf": write_configuration.nematus_tf,
    }[to]
    values = make(model, names) | {"cgru": own_configuration.own(model, program)}
    files = {Path(f"{path}.json"): write_configuration.as_json(values)}
    if to == "nematus-tf":
        progress = write_configuration.as_json(write_configuration.NEMATUS_TF_PROGRESS)
        files[Path(f"{path}.progress.json")] = progress
    return files


def arrays_as(model: Model, to: str) -> dict[str, np.ndarray]:
    """The arrays by their names in an `.npz` or checkpoint in the format `to`."""
    dialect = DIALECT[to]
    marian = dialect in MARIAN
    arrays: dict[str, np.ndarray] = {}
    for parameter in model.parameters():
        array = convention(parameter, dialect, model.structure, model.arrays[parameter.name])
        if marian and array.ndim == 1:
            array = array[None, :]
        name = parameter.names[dialect]
        if marian and parameter.transposed and parameter.name in model.origin.get("transposed", ()):
            name, array = parameter.transposed, array.T
        dtype = model.store if to in OWN_FORMATS else "<f4"
        arrays[name] = np.ascontiguousarray(array, dtype=dtype)
    if dialect in INERT:
        arrays[INERT[dialect]] = _inert(model, to)
    if marian:
        content = write_configuration.marian_model(model, to)
        arrays[MARIAN_YAML] = np.frombuffer(content, dtype=np.int8)
    return arrays


def _inert(model: Model, to: str) -> np.ndarray:
    """The attention's second bias: the original, if the program can read it."""
    marian = to.startswith("marian-")
    none = np.zeros((1, 0) if marian else 1, dtype=np.float32)
    original = model.inert.get(INERT[Dialect.NEMATUS], none)
    if marian:
        fits = original.dtype == np.float32 and original.ndim in (1, 2)
    else:
        fits = original.shape == (1,) or to == "npz"
    return original if fits else none


def _write_hdf5(model: Model, path: Path, names: list[str]) -> None:
    arrays = {p.path: model.arrays[p.name] for p in model.parameters()}
    arrays |= {f"inert/{name}": array for name, array in model.inert.items()}
    description = _description(dataclasses.replace(model, inert={}), names)
    text = write_configuration.as_json(description).decode()
    array_files.write_hdf5(path, arrays, HDF5_ATTRIBUTE, text)


def _description(model: Model, names: list[str]) -> dict:
    """The description of a model for one of cgru's own files."""
    description = own_configuration.own(model, model.program)
    description["configuration"] = write_configuration.own_container(model, names)
    return description

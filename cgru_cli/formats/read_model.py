"""Model files of every dialect, read into and written from one form.

`read` recognises the dialect (`dialects.py`), brings the arrays to the DL4MT/Nematus names, learns
the `Structure` from them (`inference.py`), and accounts for every array; `model_writer.py` is the
inverse. Which array is called what is said in `names.py` alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..errors import CgruError, warn
from ..parameters.names import INERT, is_training_array, parameters
from ..parameters.parameter import MARIAN, Dialect, Parameter
from ..parameters.structure import Structure
from . import array_files, pickles
from .dialects import DESCRIPTIONS, convention, program, recognise, refuse_uncomputable, smoothed
from .own_configuration import Own
from .read_configuration import Settings, from_marian, from_nematus, parse_yaml, read_json
from .structure_from_arrays import candidates, compare, layout_of, structure_of

MARIAN_YAML = "special:model.yml"
HDF5_ATTRIBUTE = "cgru"
PREPROCESSING = ".preprocess.json"  # after a model's name: how raw text is prepared for it


@dataclass
class Model:
    """A model as this package holds it, whatever it was read from.

    arrays: float32, C order, by DL4MT/Nematus name; inert: arrays that the computation is blind
    to; program: the program whose conventions hold (dl4mt, nematus, nematus-tf, marian-amun,
    marian-nematus, marian-s2s, nmtpy); container: the kind of file it came from; origin: what of
    Marian's own form is needed to write the same file again (plain values: dialect, yaml and its
    length in bytes, names of the arrays that were transposed).
    """

    path: Path
    structure: Structure
    arrays: dict[str, np.ndarray]
    program: str
    container: str = ""
    inert: dict[str, np.ndarray] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    origin: dict = field(default_factory=dict)

    def parameters(self) -> tuple[Parameter, ...]:
        """The table's rows for this model."""
        return parameters(self.structure)

    @property
    def parameter_count(self) -> int:
        """Numbers in all arrays that the computation uses."""
        return sum(math.prod(row.size(self.structure)) for row in parameters(self.structure))


def read(path: str | Path) -> Model:
    """Read a model of any dialect.

    path may name an `.npz`, an `.h5`, or a TensorFlow checkpoint (`model-1500`, with or without
    `.index`). Raises CgruError, in one line, for what is no model, is damaged, or is a model
    that cannot be computed.
    """
    path = Path(path)
    if not path.name:
        raise CgruError(f"{path}: names no model file")
    checkpoint = checkpoint_prefix(path)
    if checkpoint:
        from .tensorflow_checkpoint import read_checkpoint

        stored = read_checkpoint(checkpoint, skip=is_training_array)
        return _interpret(checkpoint, stored, _nematus_settings(checkpoint), "checkpoint")
    array_files.check_readable(path)
    with open(path, "rb") as stream:
        start = stream.read(8)
    if start == b"\x89HDF\r\n\x1a\n":
        return _read_hdf5(path)
    if not start.startswith(b"PK"):
        raise CgruError(f"{path}: not a model file (.npz, .h5 and TensorFlow checkpoints are read)")
    stored = array_files.read_npz(path, skip=is_training_array)
    settings = _nematus_settings(path)
    origin = {}
    if MARIAN_YAML in stored:
        whole = stored.pop(MARIAN_YAML)
        content = whole.tobytes().split(b"\0")[0]
        origin = _marian_origin(whole, content)
        embedded = from_marian(parse_yaml(content, f"{path}: {MARIAN_YAML}"), MARIAN_YAML)
        embedded.values = {MARIAN_YAML: content.decode("utf-8", "replace")}
        embedded.update(settings)
        settings = embedded
    return _interpret(path, stored, settings, "npz", origin)


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


def _nematus_settings(path: Path) -> Settings:
    """What the files beside a model say of it."""
    settings = Settings()
    for suffix in (".json", ".pkl"):
        file = _beside(path, suffix)
        if not file.is_file():
            continue
        if suffix == ".json":
            settings = from_nematus(read_json(file), str(file))
        else:
            settings = from_nematus(pickles.load(file, "model options"), str(file))
            settings.program = "dl4mt"
        break
    for suffix in (".decoder.yml", ".amun.yml", ".yml"):
        file = _beside(path, suffix)
        if file.is_file():
            content = from_marian(parse_yaml(file.read_bytes(), str(file)), str(file))
            if suffix == ".yml":  # the training's: its beam is that of validation
                content.beam_size = content.normalize = content.word_penalty = None
            settings.update(content)
    return settings


def _interpret(
    path: Path,
    stored: dict[str, np.ndarray],
    settings: Settings,
    container: str,
    origin: dict | None = None,
) -> Model:
    """Make a Model of arrays as a legacy file names them."""
    stored = {name: a for name, a in stored.items() if not is_training_array(name)}
    own = Own.of(settings.values.get("cgru"), settings.source)
    refuse_uncomputable(path, stored, settings)
    dialect = recognise(path, stored, settings)
    if own and container == "npz":
        dialect = Dialect.NEMATUS  # cgru's own .npz, which may hold arrays that Nematus has not
    stored = smoothed(stored, settings, dialect)
    inert = {}
    if INERT.get(dialect) in stored:
        inert[INERT[Dialect.NEMATUS]] = stored.pop(INERT[dialect])

    layout = layout_of(stored, settings, dialect)
    rows = parameters(own.structure) if own else candidates(stored, layout)
    by_name = {p.names[dialect]: p for p in rows if dialect in p.names}
    transposed = {p.transposed[dialect]: p for p in rows if dialect in p.transposed}
    arrays: dict[str, np.ndarray] = {}
    found: dict[str, Parameter] = {}
    unknown, turned = [], []
    for name, array in stored.items():
        parameter = by_name.get(name) or transposed.get(name)
        if parameter is None:
            unknown.append(name)
            continue
        if parameter.name in arrays:
            raise CgruError(f"{path}: arrays {parameter.name} and {name} are the same one")
        if name in transposed and name not in by_name:
            array = array.T
        if len(parameter.shape) == 1 and array.ndim == 2 and array.shape[0] == 1:
            array = array[0]  # Marian's rows
        arrays[parameter.name] = array
        found[parameter.name] = parameter
        if name in transposed and name not in by_name:
            turned.append(parameter.name)
    if unknown:
        raise CgruError(
            f"{path}: {_listed('array', unknown)} unknown to {DESCRIPTIONS[dialect]}; "
            "refusing to compute a model without knowing all of it"
        )
    if own:
        structure, inert, origin = own.structure, inert | own.inert, own.origin
        own.complete(settings)
    else:
        structure = structure_of(path, arrays, found, settings, layout, dialect)
        if dialect in MARIAN:
            origin = {"dialect": dialect.value, "transposed": turned} | (origin or {})
    if dialect is Dialect.NMTPY and structure.tied_output:
        _add_missing_bias(arrays, found, structure)
    model = Model(
        path=path,
        structure=structure,
        arrays=_checked(path, arrays, structure, dialect),
        program=own.program if own else program(dialect, settings),
        container=container,
        inert=inert,
        settings=settings,
        origin=origin or {},
    )
    for name, array in model.arrays.items():
        model.arrays[name] = convention(found[name], dialect, structure, array)
    if not own:
        compare(structure, settings)
        stacked = structure.encoder_depth > 1 or structure.decoder_depth > 1
        told_by = "encoder" if structure.type.reads_source else "residual"
        if dialect in MARIAN and stacked and told_by not in settings.structure:
            warn(
                f"{path}: no Marian configuration says how its levels are stacked; taken for "
                "Marian's defaults (enc-type bidirectional, no skip), which the arrays cannot tell"
            )
    return model


def _add_missing_bias(arrays: dict, found: dict, structure: Structure) -> None:
    """nmtpy's tied output layer has no bias: one of zeros computes the same."""
    for parameter in parameters(structure):
        if parameter.name not in arrays and Dialect.NMTPY not in parameter.names:
            arrays[parameter.name] = np.zeros(parameter.size(structure), dtype=np.float32)
            found[parameter.name] = parameter


def _checked(
    path: Path, arrays: Mapping[str, np.ndarray], structure: Structure, dialect: Dialect
) -> dict[str, np.ndarray]:
    """All parameters in the table's order, float32, each of the right shape and finite."""
    rows = parameters(structure)
    missing = [p for p in rows if p.name not in arrays]
    if missing:
        wanted = ", ".join(
            f"{p.names.get(dialect, p.name)} {p.size(structure)}" for p in missing[:4]
        )
        more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
        raise CgruError(f"{path}: missing {_count('array', len(missing))}: expected {wanted}{more}")
    extra = sorted(set(arrays) - {p.name for p in rows})
    if extra:
        raise CgruError(f"{path}: {_listed('array', extra)} not part of the model found here")
    checked = {}
    converted = set()
    for parameter in rows:
        name = parameter.names.get(dialect, parameter.name)
        array = arrays[parameter.name]
        expected = parameter.size(structure)
        if array.shape != expected:
            raise CgruError(f"{path}: {name}: expected {expected}, found {array.shape}")
        if not np.issubdtype(array.dtype, np.floating):
            raise CgruError(f"{path}: {name}: expected float32, found {array.dtype}")
        if array.dtype != np.dtype("<f4"):
            if array.dtype.itemsize != 4:
                converted.add(str(array.dtype))
            with np.errstate(over="ignore"):
                array = array.astype("<f4")
        array = np.ascontiguousarray(array)
        # a sum is finite unless a part is not (or it overflows): a quick test before the full one
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(array.sum())
        if suspicious and not np.isfinite(array).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise CgruError(f"{path}: {name}: not finite at {place} ({array[place]})")
        checked[parameter.name] = array
    if converted:
        warn(f"{path}: {', '.join(sorted(converted))} arrays are rounded to float32")
    return checked


def _count(noun: str, count: int) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _listed(noun: str, names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:4])
    if len(names) == 1:
        return f"{noun} {shown} is"
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f"{noun}s {shown}{more} are"


def _read_hdf5(path: Path) -> Model:
    stored, attributes = array_files.read_hdf5(path)
    source = f"{path}: attribute {HDF5_ATTRIBUTE}"
    try:
        values = json.loads(attributes[HDF5_ATTRIBUTE])
        configuration = values["configuration"]
    except KeyError:
        raise CgruError(
            f"{path}: an HDF5 file, but not one of cgru's (no attribute {HDF5_ATTRIBUTE!r})"
        ) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise CgruError(f"{source}: {error}") from None
    own = Own.of(values, source)
    settings = from_nematus(configuration, source)
    own.complete(settings)
    names = {p.path: p.name for p in parameters(own.structure)}
    arrays, inert, unknown = {}, {}, []
    for name, array in stored.items():
        if name in names:
            arrays[names[name]] = array
        elif name.startswith("inert/"):
            inert[name.removeprefix("inert/")] = array
        else:
            unknown.append(name)
    if unknown:
        raise CgruError(f"{path}: {_listed('array', unknown)} unknown")
    arrays = _checked(path, arrays, own.structure, Dialect.NEMATUS)
    return Model(path, own.structure, arrays, own.program, "h5", inert, settings, origin=own.origin)

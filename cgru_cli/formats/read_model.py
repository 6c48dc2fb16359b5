"""Read model files of every program into one form: the inverse of `write_model`."""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CgruError, parsing, warn
from ..parameters.names import INERT, is_training_array, parameters
from ..parameters.parameter import MARIAN, Dialect, Parameter
from ..parameters.structure import Bias, Structure
from ..system.terminal import counted
from .array_files import StoredArray
from .dialects import DESCRIPTIONS, convention, program, recognise, refuse_uncomputable, smoothed
from .model import Model, ModelSettings
from .model_files import ModelFile, opened
from .own_configuration import LARGEST_INERT
from .sizes_from_arrays import NamedArray
from .structure_from_arrays import candidates, compare, layout_of, structure_of, transition_biases


def read(path: str | os.PathLike[str], *, integers: bool = False) -> Model:
    """Read a model of any program.

    path: an `.npz`, an `.h5`, an `.onnx`, or a TensorFlow checkpoint (`model-1500`, with or without
    `.index`). integers: whether a file in 8 bits may be read, to be computed as it is. Raises
    CgruError, in one line, for anything else, for a damaged model, and for a model that cgru cannot
    run.
    """
    if not isinstance(path, str | os.PathLike):
        raise CgruError(f"a path of a model is expected, not {type(path).__name__}")
    path = Path(path)
    if not path.name:
        raise CgruError(f"{path}: does not name a model file")
    with parsing(path, "damaged, or no model that cgru knows"), opened(path) as file:
        if file.own and file.own.precision != "float32":
            _check_integers(file, integers)
        return interpret(file)


def _check_integers(file: ModelFile, wanted: bool) -> None:
    """Raise CgruError if a file in 8 bits cannot be used."""
    if not wanted:
        raise CgruError(
            f"{file.path}: holds weights in int8, from which the model cannot be read back; "
            "convert the original"
        )
    if not any(array.dtype == np.int8 for array in file.stored.values()):
        raise CgruError(
            f"{file.path}: an int8 file of cgru 0.2 or earlier; convert the original model again"
        )


def interpret(file: ModelFile) -> Model:
    """The model in an opened file; reads the arrays after checking all names and shapes."""
    path, settings, own, origin = file.path, file.settings, file.own, file.origin
    # the arrays, by the names that their program gave them
    stored = {name: array for name, array in file.stored.items() if not is_training_array(name)}
    refuse_uncomputable(path, stored, settings)
    # the dialect, every array's row in the table of names, and the structure
    in_own_names = own is not None and file.container != "checkpoint"
    dialect = Dialect.NEMATUS if in_own_names else recognise(path, stored, settings)
    stored = smoothed(stored, settings, dialect)
    inert = _take_inert(path, stored, dialect)
    if own:
        arrays = _named(path, stored, parameters(own.structure), dialect)
        structure, inert, origin = own.structure, inert | own.inert, dict(own.origin)
        settings.update(ModelSettings(**own.decoding))
    else:
        layout = layout_of(stored, settings, dialect)
        arrays = _named(path, stored, candidates(stored, layout), dialect)
        structure = structure_of(path, arrays, settings, layout, dialect)
        if structure.bias is Bias.NEMATUS_TF:
            for name in transition_biases(arrays):
                del arrays[name]
        if dialect in MARIAN:
            turned = [name for name, (array, _) in arrays.items() if array.turned]
            origin = {"dialect": dialect.value, "transposed": turned} | origin
    if dialect is Dialect.NMTPY and structure.tied_output:
        _add_missing_bias(arrays, structure)
    # the checks, and the numbers themselves
    precision = own.precision if own else "float32"
    _check(path, arrays, structure, dialect, integers=precision == "int8")
    expected = {"float32", precision, own.store if own else "float32"}
    if rounded := {array.dtype.name for array, _ in arrays.values()} - expected:
        warn(f"{path}: {', '.join(sorted(rounded))} arrays are rounded to float32")
    numbers = {}
    for row in parameters(structure):
        stored_array, found = arrays[row.name]
        if stored_array.dtype == np.int8:
            numbers[row.name] = _finite_integers(path, stored_array)
        else:
            numbers[row.name] = convention(found, dialect, structure, _finite(path, stored_array))
    if not own:
        compare(path, structure, settings, dialect)
    # the model
    return Model(
        path=path,
        structure=structure,
        arrays=numbers,
        program=own.program if own else program(dialect, settings),
        container=file.container,
        inert=inert,
        settings=settings,
        origin=origin,
        precision=precision,
    )


def _take_inert(
    path: Path, stored: dict[str, StoredArray], dialect: Dialect
) -> dict[str, np.ndarray]:
    """Remove the array without an effect on the computation. Raises CgruError if it is large."""
    if INERT.get(dialect) not in stored:
        return {}
    array = stored.pop(INERT[dialect])
    if math.prod(array.shape) > LARGEST_INERT or array.dtype.kind not in "fiu":
        found = f"{array.shape} of {array.dtype}"
        raise CgruError(f"{path}: {array.name}: expected (1,), found {found}")
    return {INERT[Dialect.NEMATUS]: array.read()}


def _named(
    path: Path, stored: Mapping[str, StoredArray], rows: Sequence[Parameter], dialect: Dialect
) -> dict[str, NamedArray]:
    """The arrays by their Nematus names. Raises CgruError for unknown names."""
    by_name = {p.names[dialect]: p for p in rows if dialect in p.names}
    transposed = {p.transposed: p for p in rows if p.transposed and dialect in MARIAN}
    arrays: dict[str, NamedArray] = {}
    unknown = []
    for name, array in stored.items():
        parameter = by_name.get(name) or transposed.get(name)
        if parameter is None:
            unknown.append(name)
            continue
        if parameter.name in arrays:
            raise CgruError(f"{path}: {parameter.name} and {name} are names of the same array")
        if name not in by_name:
            array = array.transposed()
        if len(parameter.shape) == 1 and array.ndim == 2 and array.shape[0] == 1:
            array = array.only_row()  # Marian stores vectors as rows
        arrays[parameter.name] = NamedArray(array, parameter)
    if unknown:
        raise CgruError(
            f"{path}: {_listed(unknown)} unknown to {DESCRIPTIONS[dialect]}; "
            "cgru does not run a model with unknown arrays"
        )
    return arrays


def _add_missing_bias(arrays: dict[str, NamedArray], structure: Structure) -> None:
    """Add a bias of zeros to nmtpy's tied output layer, which has no bias."""
    for parameter in parameters(structure):
        if parameter.name not in arrays and Dialect.NMTPY not in parameter.names:
            zeros = np.zeros(parameter.size(structure), dtype=np.float32)
            arrays[parameter.name] = NamedArray(StoredArray.of(parameter.name, zeros), parameter)


def _check(
    path: Path,
    arrays: Mapping[str, NamedArray],
    structure: Structure,
    dialect: Dialect,
    *,
    integers: bool,
) -> None:
    """Raise CgruError if an array is missing, superfluous, or of another shape or type.

    integers: whether matrices may be in 8 bits.
    """
    rows = parameters(structure)
    if missing := [p for p in rows if p.name not in arrays]:
        wanted = [f"{p.names.get(dialect, p.name)} {p.size(structure)}" for p in missing]
        count = counted(len(missing), "array")
        raise CgruError(f"{path}: missing {count}: expected {_first_four(wanted)}")
    if extra := [arrays[name].stored.name for name in set(arrays) - {p.name for p in rows}]:
        raise CgruError(f"{path}: {_listed(extra)} not part of the model found here")
    for parameter in rows:
        array, expected = arrays[parameter.name].stored, parameter.size(structure)
        if array.shape != expected:
            shapes = array.as_stored(expected), array.as_stored(array.shape)
            raise CgruError(f"{path}: {array.name}: expected {shapes[0]}, found {shapes[1]}")
        in_8_bits = integers and array.dtype == np.int8
        if not (in_8_bits or np.issubdtype(array.dtype, np.floating)):
            raise CgruError(f"{path}: {array.name}: expected float32, found {array.dtype}")


def _finite(path: Path, stored: StoredArray) -> np.ndarray:
    """The content in float32 and C order. Raises CgruError if a number is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        array = np.ascontiguousarray(stored.read(), dtype="<f4")
        # a quick test before the full test: a finite sum has only finite parts
        suspicious = not np.isfinite(array.sum())
    if suspicious and not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise CgruError(f"{path}: {stored.name}: not finite at {place} ({array[place]})")
    return array


def _finite_integers(path: Path, stored: StoredArray) -> Any:
    """The `Integers` of a matrix. Raises CgruError if a scale is not finite."""
    matrix: Any = stored.read()
    _finite(path, StoredArray.of(f"{stored.name}/scale", matrix.scale))
    return matrix


def _listed(names: Sequence[str]) -> str:
    return f"array {names[0]} is" if len(names) == 1 else f"arrays {_first_four(sorted(names))} are"


def _first_four(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - 4} more" if len(texts) > 4 else ""
    return ", ".join(texts[:4]) + more

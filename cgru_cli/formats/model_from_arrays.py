"""From the arrays of a file to a model: its dialect, its structure, and every array checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import CgruError, warn
from ..parameters.names import INERT, is_training_array, parameters
from ..parameters.parameter import MARIAN, Dialect, Parameter
from ..parameters.structure import Structure
from .array_files import StoredArray
from .dialects import DESCRIPTIONS, convention, program, recognise, refuse_uncomputable, smoothed
from .model import Model, ModelSettings
from .own_configuration import LARGEST_INERT, Own
from .structure_from_arrays import candidates, compare, layout_of, structure_of


def interpret(
    path: Path,
    stored: Mapping[str, StoredArray],
    settings: ModelSettings,
    container: str,
    origin: dict | None = None,
) -> Model:
    """Make a Model of arrays as a legacy file names them, read once all names and shapes fit."""
    stored = {name: a for name, a in stored.items() if not is_training_array(name)}
    own = Own.of(settings.values.get("cgru"), settings.source)
    refuse_uncomputable(path, stored, settings)
    dialect = recognise(path, stored, settings)
    if own and container == "npz":
        dialect = Dialect.NEMATUS  # cgru's own .npz, which may hold arrays that Nematus has not
    stored = smoothed(stored, settings, dialect)
    inert = {}
    if INERT.get(dialect) in stored:
        inert[INERT[Dialect.NEMATUS]] = read_inert(path, stored.pop(INERT[dialect]))

    layout = layout_of(stored, settings, dialect)
    rows = parameters(own.structure) if own else candidates(stored, layout)
    arrays, known = _named(path, stored, rows, dialect)
    if own:
        structure, inert, origin = own.structure, inert | own.inert, own.origin
        own.complete(settings)
    else:
        structure = structure_of(path, arrays, known, settings, layout, dialect)
        if dialect in MARIAN:
            turned = [name for name, array in arrays.items() if array.turned]
            origin = {"dialect": dialect.value, "transposed": turned} | (origin or {})
    if dialect is Dialect.NMTPY and structure.tied_output:
        _add_missing_bias(arrays, known, structure)
    model = Model(
        path=path,
        structure=structure,
        arrays=checked(path, arrays, structure, dialect),
        program=own.program if own else program(dialect, settings),
        container=container,
        inert=inert,
        settings=settings,
        origin=origin or {},
    )
    for name, array in model.arrays.items():
        model.arrays[name] = convention(known[name], dialect, structure, array)
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


def _named(
    path: Path, stored: Mapping[str, StoredArray], rows: Sequence[Parameter], dialect: Dialect
) -> tuple[dict[str, StoredArray], dict[str, Parameter]]:
    """Arrays and rows of the table by the Nematus name; raises CgruError for unknown names."""
    by_name = {p.names[dialect]: p for p in rows if dialect in p.names}
    transposed = {p.transposed[dialect]: p for p in rows if dialect in p.transposed}
    arrays: dict[str, StoredArray] = {}
    known: dict[str, Parameter] = {}
    unknown = []
    for name, array in stored.items():
        parameter = by_name.get(name) or transposed.get(name)
        if parameter is None:
            unknown.append(name)
            continue
        if parameter.name in arrays:
            raise CgruError(f"{path}: arrays {parameter.name} and {name} are the same one")
        if name not in by_name:
            array = array.transposed()
        if len(parameter.shape) == 1 and array.ndim == 2 and array.shape[0] == 1:
            array = array.only_row()  # Marian's rows
        arrays[parameter.name] = array
        known[parameter.name] = parameter
    if unknown:
        raise CgruError(
            f"{path}: {listed('array', unknown)} unknown to {DESCRIPTIONS[dialect]}; "
            "refusing to compute a model without knowing all of it"
        )
    return arrays, known


def read_inert(path: Path, array: StoredArray) -> np.ndarray:
    """An array that nothing is computed with. Raises CgruError for one that is large."""
    if math.prod(array.shape) > LARGEST_INERT or array.dtype.kind not in "fiu":
        raise CgruError(
            f"{path}: {array.name}: expected (1,), found {array.shape} of {array.dtype}"
        )
    return array.read()


def _add_missing_bias(
    arrays: dict[str, StoredArray], known: dict[str, Parameter], structure: Structure
) -> None:
    """nmtpy's tied output layer has no bias: one of zeros computes the same."""
    for parameter in parameters(structure):
        if parameter.name not in arrays and Dialect.NMTPY not in parameter.names:
            zeros = np.zeros(parameter.size(structure), dtype=np.float32)
            arrays[parameter.name] = StoredArray.of(parameter.name, zeros)
            known[parameter.name] = parameter


def checked(
    path: Path, arrays: Mapping[str, StoredArray], structure: Structure, dialect: Dialect
) -> dict[str, np.ndarray]:
    """All parameters in the table's order, float32, each of the right shape and finite.

    All names and shapes are looked at before any content is. Raises CgruError.
    """
    rows = parameters(structure)
    missing = [p for p in rows if p.name not in arrays]
    if missing:
        wanted = ", ".join(
            f"{p.names.get(dialect, p.name)} {p.size(structure)}" for p in missing[:4]
        )
        more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
        raise CgruError(f"{path}: missing {_count('array', len(missing))}: expected {wanted}{more}")
    extra = sorted(arrays[name].name for name in set(arrays) - {p.name for p in rows})
    if extra:
        raise CgruError(f"{path}: {listed('array', extra)} not part of the model found here")
    for parameter in rows:
        array, expected = arrays[parameter.name], parameter.size(structure)
        if array.shape != expected:
            raise CgruError(
                f"{path}: {array.name}: expected {array.as_stored(expected)}, "
                f"found {array.as_stored(array.shape)}"
            )
        if not np.issubdtype(array.dtype, np.floating):
            raise CgruError(f"{path}: {array.name}: expected float32, found {array.dtype}")
    sound = {}
    rounded = set()
    for parameter in rows:
        stored = arrays[parameter.name]
        if stored.dtype != np.dtype("<f4") and stored.dtype.itemsize != 4:
            rounded.add(str(stored.dtype))
        sound[parameter.name] = _finite(path, stored)
    if rounded:
        warn(f"{path}: {', '.join(sorted(rounded))} arrays are rounded to float32")
    return sound


def _finite(path: Path, stored: StoredArray) -> np.ndarray:
    """The content in float32 and C order. Raises CgruError where a number is not finite."""
    array = stored.read()
    if array.dtype != np.dtype("<f4"):
        with np.errstate(over="ignore"):
            array = array.astype("<f4")
    array = np.ascontiguousarray(array)
    # a sum is finite unless a part is not (or it overflows): a quick test before the full one
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(array.sum())
    if suspicious and not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise CgruError(f"{path}: {stored.name}: not finite at {place} ({array[place]})")
    return array


def _count(noun: str, count: int) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def listed(noun: str, names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:4])
    if len(names) == 1:
        return f"{noun} {shown} is"
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f"{noun}s {shown}{more} are"

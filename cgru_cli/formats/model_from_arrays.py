"""From the arrays of a file to a model: its dialect, its structure, and every array checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..errors import CgruError, warn
from ..parameters.names import INERT, is_training_array, parameters
from ..parameters.parameter import MARIAN, Dialect, Parameter
from ..parameters.structure import Structure
from .dialects import DESCRIPTIONS, convention, program, recognise, refuse_uncomputable, smoothed
from .model import Model, ModelSettings
from .own_configuration import Own
from .structure_from_arrays import candidates, compare, layout_of, structure_of


def interpret(
    path: Path,
    stored: dict[str, np.ndarray],
    settings: ModelSettings,
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
            f"{path}: {listed('array', unknown)} unknown to {DESCRIPTIONS[dialect]}; "
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
        arrays=checked(path, arrays, structure, dialect),
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


def checked(
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
        raise CgruError(f"{path}: {listed('array', extra)} not part of the model found here")
    sound = {}
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
        sound[parameter.name] = array
    if converted:
        warn(f"{path}: {', '.join(sorted(converted))} arrays are rounded to float32")
    return sound


def _count(noun: str, count: int) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def listed(noun: str, names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:4])
    if len(names) == 1:
        return f"{noun} {shown} is"
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f"{noun}s {shown}{more} are"

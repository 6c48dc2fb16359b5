"""`cgru convert`: describe a model, or write it in another program's format."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CgruError, UsageError, warn
from ..formats import model_vocabularies
from ..formats.loaded_model import LoadedModel
from ..formats.model import Model
from ..formats.read_model import read
from ..formats.structure_from_arrays import plain
from ..formats.write_model import output_path, write
from ..options.convert import ConvertOptions
from ..parameters.structure import Structure
from ..system.terminal import tell
from ..text.vocabulary import Vocabulary
from ..web.site import check_folder, write_site
from .description import as_text, describe


def run(models: Sequence[str], output: str | None, options: ConvertOptions) -> None:
    """Describe or convert a model, or several for one web page.

    Raises CgruError for bad input, and UsageError for an invalid command line.
    """
    if options.info:
        if output is not None:
            raise UsageError("--info writes no model: omit OUT")
        description = describe(read(models[0], integers=True), options.vocabularies)
        text = as_text(description, options.arrays)
        if options.json:
            text = json.dumps(description, indent=2, ensure_ascii=False) + "\n"
        sys.stdout.write(text)
        return
    if output is None:
        raise UsageError("name the file to write, OUT, or add --info")
    to = options.to or _by_name(output)
    _check(models, output, to, options)  # before reading a large model
    sources = list(map(read, models))
    if options.average:
        sources = [average([*sources, *map(read, options.average)])]
    if options.store != "float32":
        sources = [rounded(one, options.store) for one in sources]
    source = sources[0]
    if to == "web":
        found = [model_vocabularies.find(one, options.vocabularies) for one in sources]
        pairs = zip(sources, found, strict=True)
        files = write_site(
            [LoadedModel(one, beside[:-1], beside[-1]) for one, beside in pairs],
            [_graph(one, options.precision) for one in sources],
            Path(output),
            options.runtime_files,
            force=options.force,
        )
    else:
        files = _write(
            source,
            output,
            to,
            options.vocabularies,
            options.force,
            options.precision,
            options.one_file,
        )
        if options.verify:
            verify(source, read(output_path(output, to)))
    _report(source, output, to, files, options)


def _report(
    model: Model, output: str, to: str, files: Sequence[Path], options: ConvertOptions
) -> None:
    """Say which files were written, in which format, whether they were compared, what is next."""
    shown = ", ".join(map(str, files))
    path = shlex.quote(output)
    following = f"cgru translate -m {path}"
    if to == "web":
        shown = f"{output}: {', '.join(file.name for file in files)}"
        following = f"python3 -m http.server --directory {path}, then open http://127.0.0.1:8000/"
    elif not model.structure.has_source:
        following = f"cgru score -m {path} -t TEXT"
    form = " ".join(one for one in (to, options.store, options.precision) if one != "float32")
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    checked = ""
    if options.verify:
        checked = ", verified: every array is that of IN"
    elif to != "web" and options.precision == "float32":
        checked = ", not verified (--verify compares every array)"
    tell(f"convert: wrote {shown}", options.quiet)
    tell(f"convert: format {form}, {megabytes:,.1f} MB{checked}", options.quiet)
    tell(f"convert: next: {following}", options.quiet)


def _check(models: Sequence[str], output: str, to: str, options: ConvertOptions) -> None:
    """Raise UsageError for options that the format lacks, CgruError for a folder in the way."""
    if len(models) > 1:
        if to != "web":
            raise UsageError("several models IN require --to web; --average writes their mean")
        for flag, value in (("--average", options.average), ("--vocabs", options.vocabularies)):
            if value:
                raise UsageError(f"{flag} requires a single model IN")
    if to == "web":
        check_folder(Path(output), force=options.force)
    else:
        output_path(output, to)
    if options.one_file and to != "onnx":
        raise UsageError("--one-file requires an .onnx as OUT")
    if options.precision != "float32" and to not in ("onnx", "web"):
        raise UsageError(f"--precision {options.precision} requires an .onnx as OUT, or --to web")


def write_model(
    model: Model | LoadedModel,
    path: str | os.PathLike[str],
    to: str | None = None,
    vocabularies: Sequence[str] = (),
    *,
    force: bool = False,
    precision: str = "float32",
    one_file: bool = False,
) -> Path:
    """Write a model in any program's format, with configuration and vocabularies beside it.

    to: the format, as in `cgru convert --to`; by default from the path's suffix (.npz, .h5, .onnx).
    vocabularies: files, source (one per factor) then target; by default those of the model.
    force: overwrite files. precision: of an ONNX file, float32 or int8. one_file: store the
    vocabularies and the preprocessing inside an ONNX file. Returns the path; for a checkpoint, the
    prefix of its files.

    Raises CgruError if the format cannot hold the model, naming each feature, and if a file exists
    without force; UsageError if the path does not fit the format.
    """
    to = to or _by_name(os.fspath(path))
    _write(model, path, to, vocabularies, force, precision, one_file)
    return output_path(path, to)


def _write(
    model: Model | LoadedModel,
    path: str | os.PathLike[str],
    to: str,
    vocabularies: Sequence[str],
    force: bool,
    precision: str,
    one_file: bool,
) -> list[Path]:
    """Write a model like `write_model`, and return the files."""
    target = output_path(path, to)
    beside: list[Vocabulary] = []
    if isinstance(model, LoadedModel):
        beside, model = [*model.sources, model.target], model.model
    if vocabularies or not beside:
        try:
            beside = model_vocabularies.find(model, vocabularies)
        except CgruError as error:
            if vocabularies or one_file:
                raise
            warn(f"{error}; writing the model without vocabularies")
    graph = _graph(model, precision) if to == "onnx" else None
    return write(model, target, to, beside, force, graph=graph, one_file=one_file)


def _graph(model: Model, precision: str) -> Callable[[dict], bytes]:
    """A function from the model's description to the content of an ONNX file."""
    from ..network.graphs import file_of
    from ..network.integer_products import in_8_bits

    def content(description: dict) -> bytes:
        arrays: Mapping[str, Any] = model.arrays
        if precision == "int8":  # not rounded to 16 bits before it is rounded to 8
            arrays = {name: array.astype(np.float32, copy=False) for name, array in arrays.items()}
            arrays = in_8_bits(model.structure, arrays)
        return file_of(model.structure, arrays, description)

    return content


def _by_name(output: str) -> str:
    endings = {".npz": "npz", ".h5": "h5", ".hdf5": "h5", ".onnx": "onnx"}
    for ending, to in endings.items():
        if output.endswith(ending):
            return to
    raise UsageError(f"{output}: name the format with --to, or end the name in .npz, .h5 or .onnx")


def average(models: Sequence[Model]) -> Model:
    """The mean of several models' arrays, computed in float64 and rounded once to float32.

    Raises CgruError if their structures differ, naming the difference.
    """
    first, *others = models
    for other in others:
        if difference := _different(first.structure, other.structure):
            raise CgruError(f"{other.path} cannot be averaged with {first.path}: {difference}")
    arrays = {}
    for name, array in first.arrays.items():
        total = array.astype(np.float64)
        for other in others:
            total += other.arrays[name]
        with np.errstate(over="ignore"):
            arrays[name] = (total / len(models)).astype(np.float32)
    return dataclasses.replace(first, arrays=arrays)


def rounded(model: Model, store: str) -> Model:
    """The model with weights rounded to a data type, in which cgru's own formats store them.

    Raises CgruError, naming the array, if a weight is too large for the type.
    """
    arrays = {}
    for name, array in model.arrays.items():
        with np.errstate(over="ignore"):
            arrays[name] = array.astype(store)
        if not np.isfinite(arrays[name]).all():
            largest = np.abs(array).max()
            raise CgruError(f"{model.path}: {name}: {largest:g} is too large for {store}")
    return dataclasses.replace(model, arrays=arrays)


def _different(one: Structure, other: Structure) -> str:
    """The first field in which two structures differ, in words."""
    for field in dataclasses.fields(Structure):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if a != b:
            return f"{field.name.replace('_', ' ')} is {plain(b)}, not {plain(a)}"
    return ""


def verify(written: Model, read_back: Model) -> None:
    """Compare a model that was read back from its file, bit by bit, with the original.

    Raises CgruError, naming the first difference.
    """
    if difference := _different(written.structure, read_back.structure):
        raise CgruError(f"{read_back.path}: differs from {written.path}: {difference}")
    for name, array in written.arrays.items():
        other = read_back.arrays[name]
        same = array.astype(other.dtype)  # reading float16 as float32 is exact
        if array.shape != other.shape or same.tobytes() != other.tobytes():
            raise CgruError(f"{read_back.path}: differs from {written.path} in array {name}")

"""The options of `cgru convert`."""

from __future__ import annotations

from dataclasses import dataclass

from .configured import ConfiguredOptions
from .declaration import choice, option, options_of

STORE = ("float32", "float16")
PRECISION = ("float32", "int8")
TO = (
    "dl4mt",
    "nematus",
    "nematus-tf",
    "marian-amun",
    "marian-nematus",
    "marian-s2s",
    "npz",
    "h5",
    "onnx",
    "web",
)


output_option = options_of("Output", excludes="--info")
description_option = options_of("Description")


@dataclass(frozen=True)
class ConvertOptions(ConfiguredOptions):
    """`cgru convert IN OUT`."""

    to: str | None = output_option(
        "--to DIALECT: format of OUT (if not given: npz, h5 or onnx, by the ending of its name); "
        "web writes a folder with a page that translates in the browser",
        choice(*TO),
    )
    store: str = output_option(
        "--store TYPE: data type of the weights in OUT (npz, h5, onnx or web); float16 halves the "
        "file size and rounds the weights to three digits",
        choice(*STORE, default="float32"),
    )
    precision: str = output_option(
        "--precision TYPE: data type of matrix products in OUT (onnx or web); with int8 (8-bit "
        "integers) the file is four times smaller, but cannot be converted back",
        choice(*PRECISION, default="float32"),
        excludes="--info",
    )
    runtime_files: str | None = output_option(
        "--runtime-files FOLDER: with --to web, the folder dist of the npm package onnxruntime-web "
        "(if not given: npm downloads it)"
    )
    verify: bool = output_option(
        "--verify: read OUT again and compare every array with IN, bit for bit"
    )
    average: tuple[str, ...] = output_option(
        "--average MODEL...: write the mean of IN and these models (checkpoint averaging)"
    )
    vocabularies: tuple[str, ...] = option(
        "-v --vocabs SRC TRG (--dictionaries): vocabulary files: source (one for each factor), "
        "then target, where IN names none",
        group="Output",
    )
    force: bool = output_option("-f --force: overwrite OUT")

    info: bool = description_option("--info: describe IN, and write no file")
    json: bool = description_option("--json: print the description as JSON", needs="--info")
    arrays: bool = description_option(
        "--arrays: list every array in the description", needs="--info"
    )

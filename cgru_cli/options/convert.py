"""The options of `cgru convert`."""

from __future__ import annotations

from dataclasses import dataclass

from .configured import ConfiguredOptions
from .declaration import Group

OF_PROGRAMS = "dl4mt nematus nematus-tf marian-amun marian-nematus marian-s2s".split()
TO = [*OF_PROGRAMS, "npz", "h5", "onnx", "web"]

OUTPUT = Group("Output", excludes="--info")
DESCRIPTION = Group("Description")


@dataclass(frozen=True)
class ConvertOptions(ConfiguredOptions):
    """`cgru convert IN OUT`."""

    to: str | None = OUTPUT.choice(*TO)("""
        --to DIALECT: format of OUT (if not given: npz, h5 or onnx, by the ending of its name); web
        writes a folder with a page that translates in the browser, by one or several IN""")
    store: str = OUTPUT.choice(
        "float32",
        "float16",
        default="float32",
        excludes=("--info", *(f"--to {program}" for program in OF_PROGRAMS)),
    )("""
        --store TYPE: data type of the weights in OUT (npz, h5, onnx or web); float16 halves the
        file size and rounds the weights to three digits""")
    precision: str = OUTPUT.choice("float32", "int8", default="float32")("""
        --precision TYPE: data type of matrix products in OUT (onnx or web); with int8 (8-bit
        integers) the file is four times smaller, but cannot be converted back""")
    one_file: bool = OUTPUT(
        "--one-file: store the vocabularies and MODEL.preprocess.json inside OUT (onnx) too"
    )
    runtime_files: str | None = Group("Output").values(needs="--to web")("""
        --runtime-files FOLDER: the folder dist of the npm package onnxruntime-web
        (if not given: npm downloads it)""")
    verify: bool = OUTPUT.values(excludes=("--info", "--to web", "--precision int8"))("""
        --verify: read OUT again and compare every array with IN, bit for bit""")
    average: tuple[str, ...] = OUTPUT("""
        --average MODEL...: write the mean of IN and these models (checkpoint averaging)""")
    vocabularies: tuple[str, ...] = Group("Output")("""
        -v --vocabs SRC TRG (--dictionaries): vocabulary files, if IN names none: source (one for
        each factor), then target""")
    force: bool = OUTPUT("-f --force: overwrite OUT")
    quiet: bool = Group("Output")("-q --quiet: write only warnings and errors to standard error")

    info: bool = DESCRIPTION("--info: describe IN, and write no file")
    json: bool = DESCRIPTION.values(needs="--info")("--json: print the description as JSON")
    arrays: bool = DESCRIPTION.values(needs="--info")("""
        --arrays: list every array in the description""")

"""The limits that docs/security.md states are those of the code."""

from pathlib import Path

from tables import each_row

from cgru_cli import errors
from cgru_cli.formats import array_files, own_configuration, vocabulary_files
from cgru_cli.parameters import structure
from cgru_cli.system import structured_files
from cgru_cli.text.vocabulary import MOST_WORDS

PAGE = Path(__file__).resolve().parents[2] / "docs/security.md"


def mebibytes(size):
    return f"{size >> 20} MiB" if size < 1 << 30 else f"{size >> 30} GiB"


LIMITS = {
    "arrays of a model file together": (
        f"{array_files.MOST_EXPANDED} bytes", mebibytes(array_files.ALWAYS_ALLOWED),
    ),
    "arrays of a model file": (f"{array_files.MOST_ARRAYS:,}",),
    "an array that the computation does not use": (
        f"{own_configuration.LARGEST_INERT:,}", f"{own_configuration.MOST_INERT} of",
    ),
    "JSON beside a model, pickled options": (mebibytes(structured_files.LARGEST_CONFIGURATION),),
    "YAML": (
        mebibytes(structured_files.LARGEST_YAML), f"{structured_files.MOST_YAML_EVENTS:,}",
        f"{structured_files.DEEPEST} levels",
    ),
    "a vocabulary": (mebibytes(vocabulary_files.LARGEST), f"{MOST_WORDS:,}"),
    "`preprocess.json`, the records of `cgru prep`": (mebibytes(structured_files.LARGEST),),
    "whole numbers in JSON and pickles": (f"{structured_files.LONGEST_NUMBER} digits",),
    "sizes of a model": (
        f"{structure.LARGEST_SIZE:,}", f"{structure.DEEPEST} levels",
        f"{structure.MOST_FACTORS} source",
    ),
    "a message": (f"{errors.LONGEST:,}",),
}  # fmt: skip


@each_row("what", LIMITS)
def test_limits(what):
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| {what} |")]
    assert len(rows) == 1
    for number in LIMITS[what]:
        assert number in rows[0]

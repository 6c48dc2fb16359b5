"""The options of training that only scripts of Marian and Nematus need."""

import dataclasses
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_lines import parsed_with_note

from cgru_cli.cli import main
from cgru_cli.compat.row import Option
from cgru_cli.compat.tables import table_of
from cgru_cli.options.as_in_marian import MarianOptions
from cgru_cli.options.flags import AS_IN_MARIAN, statements
from cgru_cli.options.train import TrainOptions

FIELDS = [field.name for field in dataclasses.fields(MarianOptions)]
FLAGS = {name: statements(TrainOptions)[name][0] for name in FIELDS}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "options-as-in-marian.md"


def helped(asked):
    return CliRunner().invoke(main, ["train", asked], prog_name="cgru").output


def test_they_are_a_group_of_their_own():
    every = statements(TrainOptions).items()
    assert {name for name, (flag, _) in every if flag.group == AS_IN_MARIAN} == {*FIELDS}


def test_each_is_named_by_a_program():
    rows = [
        row for one in ("marian", "nematus", "nematus-tf") for row in table_of(one, "train").rows
    ]
    named = {row.meaning.field for row in rows if isinstance(row.meaning, Option)}
    by_values = {"lr_decay_inv_sqrt_start", "shuffle_batches"}  # 2nd value, --shuffle batches
    of_the_file = {"interpolate_env_vars", "relative_paths"}
    assert {*FIELDS} <= named | by_values | of_the_file


def test_the_help_leaves_them_out_and_says_where_they_are():
    usual, everything = helped("--help"), helped("--help-all")
    assert len(re.findall(r"^  -", usual, re.M)) <= 111
    asks = f"cgru train --help-all also shows {len(FIELDS)} options"
    assert asks in usual and asks not in everything
    for flag in FLAGS.values():
        entry = rf"^  (?:-\w, )*{flag.name}\b(?!-)"
        assert not re.search(entry, usual, re.M) and re.search(entry, everything, re.M)


def test_their_page_lists_them():
    page = PAGE.read_text("utf-8")
    assert page.count("\n| `") == len(FIELDS)
    for flag in FLAGS.values():
        assert f"| `{'`, `'.join(flag.flags)}` |" in page


@pytest.mark.parametrize("program", [(), ("--compat", "marian")])
def test_they_are_read_with_a_program_and_without(program, tmp_path):
    """On the command line, in a configuration file and in Python."""
    expected = {"tsv": True, "quantize_bits": 4, "logical_epoch": ("2e", "1"), "num_devices": 2}
    words = "--tsv --quantize-bits 4 --logical-epoch 2e 1 --num-devices 2".split()
    file = tmp_path / "options.yml"
    file.write_text("tsv: true\nquantize-bits: 4\nlogical-epoch: [2e, 1]\nnum-devices: 2\n")
    for line in (words, ["-c", file]):
        options, _ = parsed_with_note("train", *program, "-m", "m.npz", *line)
        assert {name: getattr(options, name) for name in expected} == expected
    assert TrainOptions(**expected).quantize_bits == 4

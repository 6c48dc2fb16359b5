"""What each program does by default."""

import dataclasses
from typing import get_args

import pytest

from cgru_cli.options.programs import COMPAT, PROGRAMS, marian_limit, of_model
from cgru_cli.output.layout import Program as Layout


def test_every_compatible_program_is_described():
    assert set(COMPAT) <= set(PROGRAMS)
    for name, program in PROGRAMS.items():
        assert program.name == name
        assert program.layout in get_args(Layout)
        assert program.search in ("shrinking", "nematus-tf")
        assert dataclasses.is_dataclass(program) and program.beam_size >= 1


@pytest.mark.parametrize(
    ("dialect", "program"),
    [
        ("dl4mt", "dl4mt"),
        ("nematus", "nematus"),
        ("nematus-tf", "nematus-tf"),
        ("nmtpy", "nmtpy"),
        ("marian-amun", "marian"),
        ("marian-nematus", "marian"),
        ("marian-s2s", "marian"),
    ],
)
def test_every_dialect_has_a_program(dialect, program):
    assert of_model(dialect) is PROGRAMS[program]


def test_limits():
    assert marian_limit(10) == 30
    assert marian_limit(3, 1.5) == 5  # the first step at or past 4.5
    assert marian_limit(1, 0.1) == 1
    assert PROGRAMS["nematus"].limit(3) == PROGRAMS["nematus"].limit(500) == 200
    assert (PROGRAMS["nmtpy"].limit(3), PROGRAMS["nmtpy"].limit(100)) == (100, 300)
    assert not PROGRAMS["marian"].allow_unk and PROGRAMS["nematus"].allow_unk

"""The programs and their defaults."""

import dataclasses
from pathlib import Path

import pytest

from cgru_cli.formats.model import Model
from cgru_cli.output.layouts import LAYOUTS
from cgru_cli.parameters.program import COMPAT, PROGRAMS, Program, marian_limit


def test_every_compatible_program_is_described():
    assert set(COMPAT) < set(PROGRAMS)
    assert {*COMPAT, Program.CGRU} == set(LAYOUTS)
    for name, defaults in PROGRAMS.items():
        assert defaults.program == name
        assert defaults.search in ("shrinking", "nematus-tf")
        assert dataclasses.is_dataclass(defaults) and defaults.beam_size >= 1
    assert {*PROGRAMS, Program.CGRU} == set(Program)


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
    assert Model(Path(), None, {}, dialect).written_by is Program(program)


def test_limits():
    assert marian_limit(10) == 30
    assert marian_limit(3, 1.5) == 5  # the first step at or after 4.5
    assert marian_limit(1, 0.1) == 1
    assert PROGRAMS["nematus"].limit(3) == PROGRAMS["nematus"].limit(500) == 200
    assert (PROGRAMS["nmtpy"].limit(3), PROGRAMS["nmtpy"].limit(100)) == (100, 300)
    assert not PROGRAMS["marian"].allow_unk and PROGRAMS["nematus"].allow_unk

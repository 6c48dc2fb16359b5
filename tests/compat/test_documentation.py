"""The tables of the documentation have every option of the other programs and its treatment."""

import re

import click
import pytest
from click.testing import CliRunner
from command_lines import parsed_with_note
from tables import each_row

from cgru_cli.cli import main
from cgru_cli.compat.documented import documented, help_sections
from cgru_cli.compat.row import Option, Takes
from cgru_cli.compat.tables import PROGRAMS, table_of
from cgru_cli.errors import UsageError
from cgru_cli.options.flags import statements
from cgru_cli.options.score import ScoreOptions
from cgru_cli.options.train import TrainOptions
from cgru_cli.options.translate import TranslateOptions

COMMANDS = ("train", "translate", "score")  # old programs have options for them

OPTIONS = {"train": TrainOptions, "translate": TranslateOptions, "score": ScoreOptions}
TABLES = [(p, c) for p in PROGRAMS for c in COMMANDS if table_of(p, c)]
VALUES = {"--input-types": "sequence"}
LINE = {"train": ["-t", "a", "b", "-m", "m.npz"], "translate": ["-m", "m"], "score": ["-m", "m"]}


@each_row(("program", "command"), TABLES)
def test_every_option_has_a_counterpart_or_a_reason(program, command):
    known = {flag for flag, _ in statements(OPTIONS[command]).values() for flag in flag.flags}
    known |= {"--help", "--version"}
    for row in documented(program, command, OPTIONS[command]):
        assert set(filter(None, row.here.split(", "))) <= known, row
        assert row.here or row.remark or row.kind == "compared", row
        assert row.kind in ("", "no effect", "refused", "compared")


@each_row(("program", "command"), TABLES)
def test_what_becomes_of_an_option_without_counterpart(program, command):
    rows = {row.flags: row for row in table_of(program, command).rows}
    for entry in documented(program, command, OPTIONS[command]):
        row = rows[entry.flags]
        own = isinstance(row.meaning, Option)  # the other rows state it themselves
        if not own or not entry.kind:
            continue
        values = [] if row.takes is Takes.SWITCH else [VALUES.get(entry.flags[0], "2")]
        line = ["--compat", program, *LINE[command], row.flags[0], *values]
        if entry.kind == "refused":
            with pytest.raises((UsageError, click.UsageError), match="cannot be honoured"):
                parsed_with_note(command, *line)
        else:
            parsed_with_note(command, *line)


@pytest.mark.parametrize(("program", "command"), TABLES)
def test_the_help_of_a_program_has_each_option_and_its_meaning(program, command):
    result = CliRunner().invoke(main, [command, "--compat", program, "--help"], terminal_width=500)
    assert result.exit_code == 0 and "--dump-config [FORM]" not in result.output
    for one in documented(program, command, OPTIONS[command]):
        flags = re.sub(r"^--(transformer|bert|comet)-.*", r"--\1-*", ", ".join(one.flags))
        entry = rf"^  {re.escape(flags)}(?:=.*?)?(?:  +|\n +)(\S.*)$"
        found = re.findall(entry, result.output, re.M)
        assert any(one.here in meant and one.remark in meant for meant in found)


def test_the_help_of_a_program_by_its_old_name():
    lines = CliRunner().invoke(main, ["translate", "--compat=marian", "-h"]).output.splitlines()
    (line,) = [line for line in lines if line.startswith("  -b, --beam-size")]
    assert line.split("  ")[1] == "-b, --beam-size=12" and line.endswith("  --beam-size: beam size")
    assert help_sections("amun", "translate", TranslateOptions)["Refused"][1] == (
        "--wipo",
        "the layout of WIPO's n-best lists is unknown",
    )

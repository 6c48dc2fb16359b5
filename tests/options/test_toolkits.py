"""Options of other toolkits: an error that names cgru's option of the same meaning."""

import pytest
from click.testing import CliRunner
from tables import each_row

from cgru_cli.cli import main
from cgru_cli.compat.tables import PROGRAMS, table_of
from cgru_cli.options import toolkits
from cgru_cli.options.flags import statements

NAMES = [
    (name, typed) for name, command in main.commands.items()
    for typed in toolkits._by_name(command.options)
    if (name, typed) != ("translate", "max-length")  # of source lines here, but not in each call
]  # fmt: skip


def message(*words):
    result = CliRunner().invoke(main, list(words), prog_name="cgru")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    end = f" (see cgru {words[0]} --help)"
    assert line.startswith("cgru: ") and line.endswith(end)
    return line.removeprefix("cgru: ").removesuffix(end)


@each_row(("command", "name"), NAMES)
def test_the_name_here(command, name):
    stated = [flag for flag, _ in statements(main.commands[command].options).values()]
    flags = {typed: flag for flag in stated for typed in (*flag.flags, *flag.aliases)}
    known = {typed.replace("_", "-") for typed in flags}
    for theirs in filter(None, (table_of(program, command) for program in PROGRAMS)):
        known |= {typed.replace("_", "-") for row in theirs.rows for typed in row.flags}
    here = toolkits.flags_here(name, main.commands[command].options)
    assert f"--{name}" not in known, "it is an option of cgru, or of a program"
    assert here == ["OUT"] or {*here} <= {flag.name for flag in stated}
    for typed in (f"--{name}", f"--{name.replace('-', '_')}"):
        said = message(command, typed, "1")
        assert said.startswith(f"{typed} is ") and all(one in said for one in here)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--vocab-size 8000", "--vocab-size is called --subword-vocabulary here"),
        ("--vocab_size=8000", "--vocab_size is called --subword-vocabulary here"),
        ("--subwords none --vocab-size 9", "--vocab-size is called --vocabulary-size here"),
        ("--vocab_size 9 --subwords=none", "--vocab_size is called --vocabulary-size here"),
        ("--vocab-size 9 --subword-vocabulary 9", "--vocab-size is called --subword-vocabulary h"),
        ("--destdir data", "--destdir is the argument OUT here: cgru prep OUT"),
    ],
)
def test_the_size_of_a_vocabulary(line, said):
    assert message("prep", "out", "-s", "a", "-t", "b", *line.split()).startswith(said)

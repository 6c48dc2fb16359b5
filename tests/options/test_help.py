"""The short help, -h, and the whole one, --help."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from documentation import commands, of_cgru, parse
from tables import each_row

from cgru_cli.cli import main
from cgru_cli.options.flags import effective, grouped, statements

ROOT = Path(__file__).resolve().parents[2]


def shown(*words, width=80):
    result = CliRunner().invoke(main, list(words), prog_name="cgru", terminal_width=width)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.output


@pytest.mark.parametrize("command", main.commands)
def test_the_short_help_has_examples_and_the_usual_options(command):
    text = shown(command, "-h")
    stated = main.commands[command]
    assert len(text.splitlines()) <= 30
    assert len(re.findall("^  -", text, re.M)) == len(stated.usual) <= 10
    summary, examples = re.fullmatch(
        r"Usage: .*\n\n  (.*?)\n\n((?:  .*\n){3})\nOptions:\n(?:  .*\n)+\n.*\n\n.*\n", text, re.S
    ).groups()
    assert re.fullmatch(r"[A-Z][^.]*\.", " ".join(summary.split()))
    for words in commands(examples):
        if arguments := of_cgru(words):
            parse(arguments[0], arguments[1:])
    everything = "--help-all" if command == "train" else "--help"
    assert (
        f"cgru {command} {everything} shows all {len(effective(stated.options))} options." in text
    )


def test_the_short_flag_is_there_whoever_asks_first_for_the_options(monkeypatch):
    """click keeps the names of the first context, which programs for documentation may make."""
    monkeypatch.setattr(main, "_help_option", None)
    main.get_params(click.Context(main))
    assert shown("-h") == shown("--help")


@each_row("command", ["", *main.commands])
def test_helps_end_with_the_page(command):
    for asked in ("-h", "--help"):
        last = shown(*command.split(), asked).splitlines()[-1].strip()
        assert re.fullmatch(r"Documentation: docs/.+\.md; docs/options\.md lists all .*", last)
        for page in re.findall(r"docs/[\w-]+\.md", last):
            assert (ROOT / page).exists()


@pytest.mark.parametrize("command", main.commands)
def test_a_clause_of_each_usual_option(command):
    stated = statements(main.commands[command].options)
    for name in main.commands[command].usual:
        flag, default = stated[name]
        assert flag.help.startswith(flag.summary) and len(flag.summary) >= 9
        assert flag.summary.count("(") == flag.summary.count(")")
        assert flag.summary.count("`") % 2 == 0
        assert flag.typed(default) in shown(command, "-h", width=200)


@pytest.mark.parametrize("command", main.commands)
def test_common_groups_come_first_and_configuration_files_last(command):
    titles = [title for title, _ in grouped(main.commands[command].options)]
    if titles != [""]:
        assert titles[0] in ("Output", "Model and text", "Text", "Training data")
        assert titles[-1] == "Configuration files"


def test_the_help_is_as_wide_as_the_terminal_up_to_100_columns(monkeypatch, capsys):
    widths = {}
    for columns in (60, 80, 100, 150):
        monkeypatch.setenv("COLUMNS", str(columns))
        main(["translate", "--help"], standalone_mode=False)
        _, _, options = capsys.readouterr().out.partition("Model and text:\n")
        widths[columns] = max(map(len, options.splitlines()))
        assert widths[columns] <= columns
    assert widths[80] < widths[100] == widths[150]


@pytest.mark.parametrize("command", main.commands)
def test_the_help_fits_a_terminal_of_80_columns(command):
    for asked in ("-h", "--help"):
        assert [line for line in shown(command, asked).splitlines() if len(line) > 80] == []


def test_the_short_help_wins_over_errors_of_the_line():
    assert "Usage: cgru translate" in shown("translate", "-k", "3", "-h", "-m", "no-such")


@pytest.mark.parametrize("command", ["score", "serve"])
def test_only_translate_speaks_of_the_channel_model(command):
    assert "--weights" in shown(command, "--help")
    assert "channel-model" not in shown(command, "--help")
    assert "then of --channel-model" in shown("translate", "--help", width=300)

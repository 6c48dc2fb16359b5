"""The options of a command line, without running the command."""

from unittest.mock import patch

import click

from cgru_cli.cli import main
from cgru_cli.options.click_command import SETTINGS


def parsed(command, *arguments):
    """The options of a command line, as passed to the command."""
    return parsed_with_note(command, *arguments)[0]


def parsed_with_note(command, *arguments):
    """The options of a command line, and the note on options without effect."""
    cgru = click.Context(main, info_name="cgru", **main.context_settings)
    stated = main.commands[command]
    context = stated.make_context(command, list(map(str, arguments)), parent=cgru)
    with context, patch.object(stated, "callback", lambda options, **_: options):
        return stated.invoke(context), context.meta[SETTINGS].noted

"""The options of a command line, without running the command."""

import click

from cgru_cli.cli import main


def parsed(command, *arguments):
    """The options of a command line, as passed to the command."""
    return parsed_with_note(command, *arguments)[0]


def parsed_with_note(command, *arguments):
    """The options of a command line, and the note on options without effect."""
    cgru = click.Context(main, info_name="cgru", **main.context_settings)
    stated = main.commands[command]
    with stated.make_context(command, list(map(str, arguments)), parent=cgru) as context:
        return stated.made(context), stated.settings(context).noted

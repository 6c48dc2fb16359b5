"""Options as click has them: a command whose options a dataclass states, and their completion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from ..errors import CgruError, NotAModel, UsageError, note
from . import config_file
from .compat.command_line import Understood, program_named, understand
from .flags import Flag, grouped, shown_default, statements

ORIGINS = "cgru.origins"  # in a context: the file and key that a field's value is of


class Value(click.ParamType):
    """The type of an option's value, as its flag states it."""

    name = "value"

    def __init__(self, flag: Flag):
        self.flag = flag

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Raises CgruError for a wrong value of a configuration file, else UsageError of click."""
        try:
            return self.flag.read(value)
        except ValueError as error:
            source = ctx.get_parameter_source(str(param.name)) if ctx and param else None
            if ctx and param and source is ParameterSource.DEFAULT_MAP:
                where = ctx.meta[ORIGINS].get(param.name, self.flag.name)
                raise CgruError(f"{where} {error}") from None
            raise click.UsageError(f"{self.flag.name} {error}", ctx) from None

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The choices, or a word to the shell that files or folders are to be completed."""
        if self.flag.path:
            return [CompletionItem(incomplete, type=self.flag.path)]
        return [CompletionItem(c) for c in self.flag.choices if c.startswith(incomplete)]


class Switch(Value, click.types.BoolParamType):
    """The type of a switch."""


class Option(click.Option):
    """An option as its flag states it; aliases are understood, not listed."""

    def __init__(self, name: str, flag: Flag, default: Any):
        self.flag = flag
        settings: dict[str, Any] = {"default": default, "help": flag.description}
        if flag.is_switch:
            settings |= {"is_flag": True, "type": Switch(flag)}
        else:
            settings |= {"type": Value(flag), "multiple": flag.many and flag.implied is None}
        super().__init__([*flag.flags, *flag.aliases, name], **settings)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Flags and value; help with bounds and default."""
        flag = self.flag
        notes = [str(flag.bounds)] if str(flag.bounds) else []
        if default := shown_default(self.default):
            notes.append(f"default: {default}")
        text = flag.description + (f"  [{'; '.join(notes)}]" if notes else "")
        return " ".join(filter(None, (", ".join(flag.flags), flag.value_name))), text


# of the group and of each command, which keeps the help option of its first context
HELP_OPTION: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


class Command(click.Command):
    """A command whose options are stated by a dataclass, which its callback is given.

    stray: what to do with an argument that stands for nothing.
    """

    def __init__(self, *args: Any, options: type, stray: str = "", **kwargs: Any):
        super().__init__(*args, **({"context_settings": HELP_OPTION} | kwargs))
        self.options, self.stray = options, stray
        self.allow_extra_args = True  # told by name, below
        self.params += [Option(name, *s) for name, s in statements(options).items()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments alone; configuration files are read when the command is run."""
        ctx.meta["arguments"] = tuple(args)
        ctx.meta[ORIGINS] = {}
        if ctx.resilient_parsing:  # completion of a line that is not whole
            return super().parse_args(ctx, args)
        try:
            meant = self._understand(ctx, args, files=False)
            super().parse_args(ctx, meant.rest)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise
        if ctx.args:
            raise click.UsageError(f"{ctx.args[0]}: unexpected argument{self.stray}", ctx)
        self._set(ctx, meant)
        return ctx.args

    def _understand(self, ctx: click.Context, args: Sequence[str], *, files: bool) -> Understood:
        name = self.name or ""
        try:
            return understand(program_named(args), name, args, self.options, files=files)
        except UsageError as error:
            raise click.UsageError(str(error), ctx) from None

    def _set(self, ctx: click.Context, meant: Understood) -> None:
        """Take on the values of fields, checked as if they were typed."""
        ctx.meta[ORIGINS] = meant.origins
        params = {param.name: param for param in self.params}
        for source, values in (
            (ParameterSource.DEFAULT_MAP, meant.defaults),
            (ParameterSource.COMMANDLINE, meant.values),
        ):
            for name, value in values.items():
                ctx.set_parameter_source(name, source)
                ctx.params[name] = params[name].type_cast_value(ctx, value)

    def meant(self, ctx: click.Context) -> tuple[Any, Understood]:
        """The options of a command line and its configuration files, and how it was understood."""
        meant = self._understand(ctx, ctx.meta["arguments"], files=True)
        self._set(ctx, meant)
        names = statements(self.options)
        return self.options(**{name: ctx.params.pop(name) for name in names}), meant

    def invoke(self, ctx: click.Context) -> Any:
        options, meant = self.meant(ctx)
        if meant.dump:
            given = set(meant.values) | set(meant.origins)
            shown = {"minimal": given, "expand": given | set(meant.defaults), "full": None}
            click.echo(config_file.dump(options, shown[meant.dump]), nl=False)
            return None
        if meant.note:
            note(meant.note)
        assert self.callback is not None  # noqa: S101 - for types: every command here has one
        try:
            return ctx.invoke(self.callback, options=options, **ctx.params)
        except NotAModel as error:  # `-m MODEL src.txt`: a text in the place of a second model
            models = getattr(options, "model", None)
            if self.stray and isinstance(models, tuple) and len(models) > 1:
                raise UsageError(f"{error}{self.stray}") from None
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, a group under each heading."""
        shown = {p.flag: p.get_help_record(ctx) for p in self.params if isinstance(p, Option)}
        help_option = self.get_help_option(ctx)
        more = help_option and help_option.get_help_record(ctx)
        for title, members in grouped(self.options):
            records = [shown[flag] for flag, _ in members]
            if more:
                records.append(more)
                more = None
            with formatter.section(title or "Options"):
                formatter.write_dl(records)

    def get_short_help_str(self, limit: int = 45) -> str:
        """The whole first line of the help."""
        return (self.help or "").strip().partition("\n")[0].rstrip(".")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Flags; and further values of an option that takes several."""
        going_on = None if incomplete.startswith("-") else _going_on(ctx)
        if going_on:
            return going_on.shell_complete(ctx, incomplete)
        return super().shell_complete(ctx, incomplete)


def _going_on(ctx: click.Context) -> Option | None:
    """The option whose values the end of a line is, if it takes several."""
    typed: Sequence[str] = ctx.meta.get("arguments", ())
    last = next((word for word in reversed(typed) if word.startswith("-") and word != "-"), "")
    for param in ctx.command.params:
        if isinstance(param, Option) and param.flag.many and last in param.opts:
            return param
    return None


class Path(click.ParamType):
    """The name of a file ("file") or folder ("dir"), of which the shell completes names."""

    def __init__(self, name: str):
        self.name = name

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        going_on = _going_on(ctx)
        if going_on:
            return going_on.shell_complete(ctx, incomplete)
        return [CompletionItem(incomplete, type=self.name)]

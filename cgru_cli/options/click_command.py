"""click commands whose options a dataclass declares, with shell completion."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from ..errors import BadValue, CgruError, NotAModel, UnknownOption, UsageError, note
from ..formats import yaml_cpp
from . import config_file
from .command_line import Settings, by_origin, interpolated, one_value_each
from .config_file import ConfigFile
from .flags import AS_IN_MARIAN, Flag, effective, grouped, statements
from .options import lacking

_HELP = ("-h, --help", "show the options that are used most (-h), or all (--help), and exit")
_HELPS = ("-h, --help, --help-all", "show the options used most (-h), the usual ones, or all")
_ALL = "cgru.all"  # key in a context, whether the help has the rare options too
SETTINGS = "cgru.settings"  # key in a context, of the values from the command line and files


class Value(click.ParamType):
    """The type of an option's values, as its flag defines it."""

    name = "value"

    def __init__(self, flag: Flag):
        self.flag = flag

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Raises CgruError for an invalid value in a file, otherwise click's UsageError."""
        try:
            return self.flag.read(value)
        except ValueError as error:
            settings = ctx.meta[SETTINGS] if ctx else Settings()
            name = str(param.name) if param else ""
            origin = settings.origins.get(name, self.flag.name)
            if name in settings.given - settings.typed:
                raise CgruError(f"{origin} {error}") from None
            raise click.UsageError(f"{origin} {error}", ctx) from BadValue()

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The choices; for a path, an item that makes the shell complete files."""
        if self.flag.is_path:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(c) for c in self.flag.choices if c.startswith(incomplete)]


class Switch(Value, click.types.BoolParamType):
    """The type of a switch."""


class Option(click.Option):
    """An option as its flag defines it; aliases are accepted but not listed."""

    def __init__(self, name: str, flag: Flag, default: Any):
        self.flag = flag
        if flag.kind is float and isinstance(default, int):
            default = float(default)
        settings: dict[str, Any] = {"default": default, "help": flag.description}
        settings["hidden"] = not flag.is_shown  # from shell completion
        if flag.is_switch:
            settings |= {"is_flag": True, "type": Switch(flag)}
        else:
            settings |= {"type": Value(flag), "multiple": flag.many and not flag.joined}
        super().__init__([*flag.flags, *flag.aliases, name], **settings)

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Read a typed value; a default is as declared."""
        is_default = ctx.get_parameter_source(str(self.name)) is ParameterSource.DEFAULT
        return value if is_default else self.read(ctx, value)

    def read(self, ctx: click.Context, value: Any) -> Any:
        """Convert and check a value. Raises as `Value.convert`."""
        return super().type_cast_value(ctx, value)


WIDTH: dict[str, Any] = {"max_content_width": 100}  # of the help, in terminal columns
_SETTINGS = WIDTH | {"help_option_names": ["--help"]}


class Command(click.Command):
    """A command whose options a dataclass declares; its callback receives an instance.

    options: the module and the name of the dataclass, which is imported when the command is used;
    usual: fields of the options that -h shows; page: the command's page in the documentation;
    stray: advice for an unexpected argument. The help has a sentence, examples, and paragraphs,
    which -h omits.
    """

    _complete: bool  # whether `_params` has the options

    def __init__(
        self, *args: Any, options: str, usual: str, page: str, stray: str = "", **kwargs: Any
    ):
        super().__init__(*args, **({"context_settings": _SETTINGS, "epilog": page} | kwargs))
        self._options, self.stray, self.usual = options, stray, usual.split()
        self.allow_extra_args = True  # `parse_words` rejects them

    @functools.cached_property
    def options(self) -> type:
        """The dataclass of the options."""
        module, _, name = self._options.partition(".")
        return getattr(importlib.import_module(f".{module}", __package__), name)

    @property
    def params(self) -> list[click.Parameter]:
        """The arguments and options; the options are added on first use."""
        if not self._complete:
            self._complete = True
            self._params += [Option(name, *s) for name, s in statements(self.options).items()]
            brief: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False}
            self._params.append(click.Option(["-h"], callback=self._show_usual, **brief))
            if self._has_rare:
                self._params.append(click.Option(["--help-all"], callback=self._show_all, **brief))
        return self._params

    @params.setter
    def params(self, arguments: list[click.Parameter]) -> None:
        self._params = arguments
        self._complete = False

    @property
    def _has_rare(self) -> bool:
        """Whether some options are shown only by --help-all."""
        return any(flag.group == AS_IN_MARIAN for flag, _ in effective(self.options).values())

    def _show_all(self, ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
        if asked and not ctx.resilient_parsing:
            ctx.meta[_ALL] = True
            click.echo(ctx.get_help())
            ctx.exit()

    def _show_usual(self, ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
        if not asked or ctx.resilient_parsing:
            return
        formatter, stated = ctx.make_formatter(), effective(self.options)
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            help = inspect.cleandoc(self.help or "")
            formatter.write_text("\n\n".join(help.split("\n\n")[:2]))
        with formatter.section("Options"):
            shown = [stated[name] for name in self.usual]
            formatter.write_dl([(flag.typed(default), flag.summary) for flag, default in shown])
        formatter.write_paragraph()
        flag = "--help-all" if self._has_rare else "--help"
        formatter.write_text(f"{ctx.command_path} {flag} shows all {len(stated)} options.")
        self.format_epilog(ctx, formatter)
        click.echo(formatter.getvalue().rstrip("\n"))
        ctx.exit()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write_text(f"Documentation: {self.epilog}; docs/options.md lists all options.")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments and read the configuration files that they name."""
        ctx.meta["arguments"] = tuple(args)
        ctx.meta[SETTINGS] = Settings()
        if ctx.resilient_parsing:  # for the completion of an unfinished line
            return super().parse_args(ctx, args)
        try:
            self.understand(ctx, args)
        except UsageError as error:
            raise click.UsageError(str(error), ctx) from error
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise
        return ctx.args

    def understand(self, ctx: click.Context, args: Sequence[str]) -> None:
        """Set every option from the command line, or from configuration files, or to its default.

        Raises UsageError, this package's or click's, for errors in the line; CgruError, naming file
        and key, for errors in a file.
        """
        self.parse_words(ctx, one_value_each(args, self.options))
        given = ParameterSource.COMMANDLINE
        names = [n for n in statements(self.options) if ctx.get_parameter_source(n) is given]
        settings = Settings({name: ctx.params[name] for name in names}, {*names}, {*names})
        settings.interpolate = ctx.params.get("interpolate_env_vars", False)
        if paths := ctx.params.get("config"):
            paths = interpolated(paths, "--config") if settings.interpolate else paths
            files = list(map(config_file.load, paths))
            settings = self.read_files(files, settings, relative=ctx.params["relative_paths"])
        self.set(ctx, settings)

    def read_files(
        self, files: Sequence[ConfigFile], typed: Settings, *, relative: bool
    ) -> Settings:
        """The typed values, and values from files; later files override earlier ones."""
        settings = Settings(typed=typed.typed)
        for file in files:
            settings.override(config_file.settings(file, self.options, relative=relative))
        settings.override(typed)
        return settings

    def parse_words(self, ctx: click.Context, words: list[str]) -> None:
        """Let click parse the words. Raises click.UsageError."""
        super().parse_args(ctx, words)
        if ctx.args:
            message = f"{ctx.args[0]}: unexpected argument{self.stray}"
            raise click.UsageError(message, ctx) from UnknownOption()

    def set(self, ctx: click.Context, settings: Settings) -> None:
        """Set fields to these values, read like typed values, which are read already."""
        ctx.meta[SETTINGS] = settings
        known = {param.name: param for param in self.params if isinstance(param, Option)}
        for name, value in settings.values.items():
            if name not in settings.typed or value is not ctx.params[name]:
                ctx.params[name] = known[name].read(ctx, value)
        for name, (flag, default) in statements(self.options).items():
            only_default = name in settings.values.keys() - settings.given
            if only_default and lacking(self.options, flag, ctx.params):
                del settings.values[name]
                ctx.params[name] = default
        for name, (flag, _) in statements(self.options).items():
            if settings.interpolate and flag.is_path:
                origin = settings.origins.get(name, flag.name)
                ctx.params[name] = interpolated(ctx.params[name], origin)
            if flag.no_effect and name in settings.given:
                settings.notes.append((settings.origins.get(name, flag.name), flag.no_effect))

    def invoke(self, ctx: click.Context) -> Any:
        """Call the callback. Raises UsageError if options need or exclude each other."""
        settings, stated = ctx.meta[SETTINGS], statements(self.options)
        arguments = {name: value for name, value in ctx.params.items() if name not in stated}
        models = ctx.params.get("model")
        assert self.callback is not None  # noqa: S101 - for types: every command here has one
        try:
            declared: Any = self.options
            options = declared.of({name: ctx.params[name] for name in stated})
            if getattr(options, "dump_config", None):
                return self._dump(options, settings)
            if noted := settings.noted:
                note(noted)
            return ctx.invoke(self.callback, options=options, **arguments)
        except NotAModel as error:  # `-m MODEL src.txt`: src.txt is read as a second model
            if self.stray and isinstance(models, tuple) and len(models) > 1:
                raise UsageError(f"{error}{self.stray}") from None
            raise
        except UsageError as error:
            raise UsageError(by_origin(str(error), self.options, settings.origins)) from None

    def _dump(self, options: Any, settings: Settings) -> None:
        if settings.in_own_names:
            click.echo(yaml_cpp.block(settings.in_own_names(options.dump_config)), nl=False)
            return
        given = settings.given & settings.values.keys()
        shown = {"minimal": given, "expand": settings.values, "full": None}
        decided = self.decided(options, settings)
        click.echo(config_file.dump(options, shown[options.dump_config], **decided), nl=False)

    def decided(self, options: Any, settings: Settings) -> Mapping[str, Any]:
        """The values of options whose defaults are chosen later, None while unknown."""
        return {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups = dict(grouped(self.options))
        rare = [] if ctx.meta.get(_ALL) else groups.pop(AS_IN_MARIAN, [])
        about_help = _HELPS if self._has_rare else _HELP
        for title, members in groups.items():
            records = [(flag.typed(default), flag.description) for flag, default in members]
            with formatter.section(title or "Options"):
                formatter.write_dl(records + [about_help] * (title == [*groups][-1]))
        if rare:
            formatter.write_paragraph()
            formatter.write_text(
                f"{ctx.command_path} --help-all also shows {len(rare)} options that only scripts "
                "of Marian and Nematus need."
            )

    def get_short_help_str(self, limit: int = 45) -> str:
        """The whole first line of the help."""
        return (self.help or "").strip().partition("\n")[0].rstrip(".")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete flags, and further values of a multi-value option."""
        going_on = None if incomplete.startswith("-") else _going_on(ctx)
        if going_on:
            return going_on.shell_complete(ctx, incomplete)
        return super().shell_complete(ctx, incomplete)


def _show_versions(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from ..system import versions

        click.echo(versions.described())
        ctx.exit()


version_option = click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_versions,
    help="Show the versions and the processor's instructions, and exit.",
)


def _going_on(ctx: click.Context) -> Option | None:
    """The multi-value option that the end of a line continues, if any."""
    typed: Sequence[str] = ctx.meta.get("arguments", ())
    last = next((word for word in reversed(typed) if word.startswith("-") and word != "-"), "")
    for param in ctx.command.params:
        if isinstance(param, Option) and param.flag.many and last in param.opts:
            return param
    return None


class Path(click.ParamType):
    """A path to a file ("file") or folder ("dir"), for shell completion."""

    def __init__(self, name: str):
        self.name = name

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        going_on = _going_on(ctx)
        if going_on:
            return going_on.shell_complete(ctx, incomplete)
        return [CompletionItem(incomplete, type=self.name)]

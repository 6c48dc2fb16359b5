"""The command `cgru`: options in, one clear line out where something is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource
from click.exceptions import NoArgsIsHelpError
from click.shell_completion import CompletionItem

from . import __version__
from .errors import CgruError, NotAModel, OutputClosed, UsageError, note, one_line
from .options import config_file
from .options.compat.command_line import Understood, program_named, understand
from .options.convert import ConvertOptions
from .options.flags import Flag, grouped, shown_default, statements
from .options.old_programs import OldProgramsOptions
from .options.prep import PrepOptions
from .options.score import ScoreOptions
from .options.train import TrainOptions
from .options.translate import TranslateOptions

ORIGINS = "cgru.origins"  # in a context: the file and key that a field's value is of


class Value(click.ParamType):
    """What an option's value may be, as its flag states it."""

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
    """The same of an option without a value."""


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


# of each command too, which keeps the help option that its first context gave it
_HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


class Command(click.Command):
    """A command whose options are stated by a dataclass, which its callback is given.

    stray: what to do with an argument that stands for nothing.
    """

    def __init__(self, *args: Any, options: type, stray: str = "", **kwargs: Any):
        super().__init__(*args, **({"context_settings": _HELP} | kwargs))
        self.options, self.stray = options, stray
        self.allow_extra_args = True  # told by name, below
        self.params += [Option(name, *s) for name, s in statements(options).items()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """What the arguments alone say; configuration files are read when the command is run."""
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
            source = ctx.get_parameter_source
            names = statements(self.options)
            given = [name for name in names if source(name) is not ParameterSource.DEFAULT]
            shown = None if meant.dump == "full" else given
            click.echo(config_file.dump(options, shown), nl=False)
            return None
        if meant.note:
            note(meant.note)
        assert self.callback is not None
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


class Group(click.Group):
    """Errors become messages of a line, and exit codes, here and nowhere else."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run, and exit with the code; without standalone_mode return what is not 0 of it.

        Exit codes: 0 also where nobody reads on, as behind `| head`; 1 for bad input and for
        output that cannot be written; 2 for a wrong command line; 128 + N for signal N.
        """
        from .system.standard_output import checked

        with checked():
            code = self._run(args, prog_name, complete_var, extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def _run(
        self,
        args: Sequence[str] | None,
        prog_name: str | None,
        complete_var: str | None,
        extra: Mapping[str, Any],
    ) -> int | None:
        from .system.signals import stop_cleanly

        try:
            with stop_cleanly():
                return super().main(args, prog_name, complete_var, False, **extra)
        except OutputClosed:
            return None
        except NoArgsIsHelpError as error:
            return _end(error.format_message(), 2, prefix="")
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "cgru"
            message = " ".join(error.format_message().split())
            return _end(f"{message} (see {command} --help)", error.exit_code)
        except CgruError as error:
            return _end(str(error), 2 if isinstance(error, UsageError) else 1)
        except MemoryError:
            return _end("there is not enough memory", 1)
        except Exception as error:
            if os.environ.get("CGRU_DEBUG"):
                raise
            if isinstance(error, OSError) and error.filename is not None:
                return _end(f"{error.filename}: {error.strerror}", 1)
            kind = type(error).__name__
            return _end(f"internal error, {kind}: {error} (CGRU_DEBUG=1 shows where)", 1)


def _end(message: str, code: int, prefix: str = "cgru: ") -> int:
    from .system.terminal import write

    write(f"{prefix}{one_line(message)}\n" if prefix else f"{message}\n")
    return code


@click.group(cls=Group, context_settings=_HELP)
@click.version_option(__version__, prog_name="cgru")
def main() -> None:
    """Recurrent neural machine translation: prepare, train, translate, score, convert."""


@main.command(cls=Command, options=ConvertOptions)
@click.argument("model", metavar="IN", type=Path("file"))
@click.argument("output", metavar="[OUT]", required=False, type=Path("file"))
def convert(model: str, output: str | None, options: ConvertOptions) -> None:
    """Convert a model from one program to another, or describe it.

    IN is a model of any program: .npz of DL4MT, Nematus, Marian or nmtpy, .h5, or a checkpoint of
    Nematus-TF (model-N). Every array is carried over bit for bit.
    """
    from .convert.job import run

    run(model, output, options)


@main.command(cls=Command, options=PrepOptions)
@click.argument("paths", metavar="[OUT]", nargs=-1, type=Path("dir"))
def prep(paths: tuple[str, ...], options: PrepOptions) -> None:
    """Prepare parallel text for training: a folder that train takes as it is.

    \b
    cgru prep OUT -s train.en -t train.de --dev dev.en dev.de --test test.en test.de
    cgru prep --apply OUT < new.en | cgru translate ... | cgru prep --undo OUT
    cgru prep --vocabulary-only --compat marian < train.bpe.en > vocab.en.yml
    cgru prep --vocabulary-only --compat nematus train.bpe.en train.bpe.de

    The same command again does nothing, or goes on where it was interrupted.
    """
    from .prep import job, program_vocabularies

    if options.vocabulary_only:
        program_vocabularies.run(paths, options)
        return
    if len(paths) > 1:
        raise UsageError(f"{paths[1]}: unexpected argument; text is named with -s and -t")
    job.run(paths[0] if paths else None, options)


@main.command(
    cls=Command,
    options=TranslateOptions,
    stray="; to translate a file, name it with -i",
)
def translate(options: TranslateOptions) -> None:
    """Translate lines of text from standard input to standard output.

    \b
    cat src.txt | cgru translate -m model.npz > trg.txt

    The model's program, configuration and vocabularies are found by themselves, and decide the
    defaults. Long options of Nematus and Marian are understood.
    """
    from .translate.job import run

    run(options)


@main.command(
    cls=Command,
    options=ScoreOptions,
    stray="; name the text with -s SRC -t TRG",
)
def score(options: ScoreOptions) -> None:
    """Score given translations by the log-probabilities of a model.

    \b
    cgru score -m model.npz -s src.txt -t trg.txt > scores.txt
    paste src.txt trg.txt | cgru score -m model.npz
    cgru score -m model.npz -s src.txt --n-best list.txt > rescored.txt

    The model's program, configuration and vocabularies are found by themselves. Long options of
    Nematus and Marian are understood.
    """
    from .score.job import run

    run(options)


@main.command(
    cls=Command,
    options=TrainOptions,
    stray="; only one DATA can be given; text files are named with -t SRC TRG",
)
@click.argument("data", metavar="[DATA]", required=False, type=Path("dir"))
def train(data: str | None, options: TrainOptions) -> None:
    """Train a model, or resume: the same command goes on from the last save.

    \b
    cgru prep data -s train.en -t train.de --dev dev.en dev.de
    cgru train data -m run/model.npz

    DATA is a folder that `cgru prep` made; text and vocabularies may be named by options instead.
    """
    from .train.job import run

    run(options, data)


@main.command("old-programs", cls=Command, options=OldProgramsOptions)
@click.argument("folder", metavar="DIR", type=Path("dir"))
def old_programs(folder: str, options: OldProgramsOptions) -> None:
    """Write programs with the names of Marian's, amun's, Nematus' and DL4MT's, for old scripts.

    \b
    cgru old-programs programs
    MARIAN=$PWD/programs nematus=$PWD/programs ./an-old-script.sh

    Each calls cgru with its --compat: marian, marian-decoder, marian-scorer, marian-vocab and amun
    (also below build/), nematus/nmt.py, train.py, translate.py, score.py, rescore.py and
    data/build_dictionary.py. Of Nematus on TensorFlow and of DL4MT there is a folder each:
    nematus-tf/ and dl4mt/.
    """
    from .old_programs.job import run

    run(folder, options)


if __name__ == "__main__":
    sys.exit(main())

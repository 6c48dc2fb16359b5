"""The command `cgru`: options in, one clear line out where something is wrong."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import click
from click.core import ParameterSource
from click.exceptions import Exit, NoArgsIsHelpError

from . import __version__
from .errors import CgruError, UsageError
from .options import config_file
from .options.convert import ConvertOptions
from .options.flags import Flag, spread_values, statements
from .options.old_programs import OldProgramsOptions
from .options.prep import PrepOptions
from .options.score import REFUSED_BY_SCORE, ScoreOptions
from .options.train import REFUSED_BY_TRAIN, TrainOptions
from .options.translate import REFUSED_BY_TRANSLATE, TranslateOptions


class Command(click.Command):
    """A command whose options are stated by a dataclass, which its callback is given.

    configured: whether its option `config` names a file of options; the command line wins.
    """

    def __init__(
        self,
        *args: Any,
        options: type,
        refused: Mapping[str, str] | None = None,
        configured: bool = False,
        **kwargs: Any,
    ):
        super().__init__(*args, **kwargs)
        self.options, self.configured = options, configured
        self.refused = refused or {}
        self.params += [_parameter(name, *s) for name, s in statements(options).items()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for argument in args:
            if (flag := argument.partition("=")[0]) in self.refused:
                raise click.UsageError(f"{flag} cannot be honoured: {self.refused[flag]}", ctx)
        return super().parse_args(ctx, spread_values(args, self.options))

    def invoke(self, ctx: click.Context) -> Any:
        names = statements(self.options)
        values = {name: ctx.params.pop(name) for name in names}
        if self.configured and values["config"]:
            for name, value in config_file.read(
                values["config"], self.options, self.refused
            ).items():
                if ctx.get_parameter_source(name) is ParameterSource.DEFAULT:
                    values[name] = value
        return ctx.invoke(self.callback, options=self.options(**values), **ctx.params)


class Finite(click.types.FloatParamType):
    """A number; nan and inf, which Python reads as numbers, are none to compute with."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def _parameter(name: str, flag: Flag, default: Any) -> click.Option:
    settings: dict[str, Any] = {
        "default": default,
        "help": flag.help + (f" ({flag.unit})" if flag.unit else ""),
        "show_default": default not in (None, (), False, ""),
    }
    if flag.is_switch:
        settings["is_flag"] = True
    else:
        kind = Finite() if flag.kind is float else flag.kind
        settings["type"] = click.Choice(flag.choices) if flag.choices else kind
        settings["metavar"] = flag.metavar or None
        settings["multiple"] = flag.many and flag.implied is None
    shown = click.Option([*flag.flags, *flag.aliases, name], **settings)
    # Aliases are understood, not listed: the help shows each option under this package's names.
    shown.get_help_record = lambda ctx, o=shown: _help_record(o, ctx, flag)  # type: ignore[method-assign]
    return shown


def _help_record(option: click.Option, ctx: click.Context, flag: Flag) -> tuple[str, str] | None:
    record = click.Option.get_help_record(option, ctx)
    if record is None:
        return None
    shown = flag.metavar or "|".join(flag.choices) or "VALUE"
    metavar = "" if flag.is_switch else f" {shown}"
    if flag.implied is not None:
        metavar = f" [{flag.metavar}]"
    return ", ".join(flag.flags) + metavar, record[1]


class Group(click.Group):
    """Errors become messages of a line, and exit codes, here and nowhere else."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            _refuse(error)

    def invoke(self, ctx: click.Context) -> Any:
        from .system.lines import OutputClosed
        from .system.signals import stop_cleanly

        try:
            with stop_cleanly():
                return super().invoke(ctx)
        except OutputClosed:  # nobody reads on, as behind `| head`
            return None
        except click.UsageError as error:
            _refuse(error)
        except CgruError as error:
            _end(str(error), 2 if isinstance(error, UsageError) else 1)


def _refuse(error: click.UsageError) -> NoReturn:
    """In one line what click says in three."""
    message = " ".join(error.format_message().split())
    command = error.ctx.command_path if error.ctx else "cgru"
    _end(f"{message} (see {command} --help)", error.exit_code)


def _end(message: str, code: int) -> NoReturn:
    click.echo(f"cgru: {message}", err=True)
    raise Exit(code)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="cgru")
def main() -> None:
    """Recurrent neural machine translation: prepare, train, translate, score, convert."""


@main.command(cls=Command, options=ConvertOptions)
@click.argument("model", metavar="IN")
@click.argument("output", metavar="OUT", required=False)
def convert(model: str, output: str | None, options: ConvertOptions) -> None:
    """Convert a model between dialects, or describe it (--info).

    IN is a model of any dialect: .npz of DL4MT, Nematus, Marian or nmtpy, .h5, or a Nematus-TF
    checkpoint (model-N). Every array is carried over bit for bit.
    """
    from .convert.job import run

    run(model, output, options)


@main.command(cls=Command, options=PrepOptions)
@click.argument("paths", metavar="[OUT]", nargs=-1)
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
        raise click.UsageError(f"Got unexpected extra argument ({paths[1]})")
    job.run(paths[0] if paths else None, options)


@main.command(cls=Command, options=TranslateOptions, refused=REFUSED_BY_TRANSLATE)
def translate(options: TranslateOptions) -> None:
    """Translate lines of text: a filter from standard input to standard output.

    \b
    cat src.txt | cgru translate -m model.npz > trg.txt

    The model's dialect, configuration and vocabularies are found by themselves, and decide the
    defaults. Long options of Nematus and Marian are understood.
    """
    from .translate.job import run

    run(options)


@main.command(cls=Command, options=ScoreOptions, refused=REFUSED_BY_SCORE)
def score(options: ScoreOptions) -> None:
    """Score given translations: log-probabilities, line by line.

    \b
    cgru score -m model.npz -s src.txt -t trg.txt > scores.txt
    paste src.txt trg.txt | cgru score -m model.npz
    cgru score -m model.npz -s src.txt --n-best list.txt > rescored.txt

    The model's dialect, configuration and vocabularies are found by themselves. Long options of
    Nematus and Marian are understood.
    """
    from .score.job import run

    run(options)


@main.command(cls=Command, options=TrainOptions, refused=REFUSED_BY_TRAIN, configured=True)
@click.argument("data", metavar="DATA", required=False)
def train(data: str | None, options: TrainOptions) -> None:
    """Train a model, or go on with one: the same command again resumes where it was saved.

    \b
    cgru prep data -s train.en -t train.de --dev dev.en dev.de
    cgru train data -m run/model.npz

    DATA is a folder that `cgru prep` made; text and vocabularies may be named by options instead.
    """
    from .train.job import run

    run(options, data)


@main.command("old-programs", cls=Command, options=OldProgramsOptions)
@click.argument("folder", metavar="DIR")
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

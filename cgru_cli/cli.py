"""The command `cgru`: its commands, and errors as one line each."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import NoArgsIsHelpError

from .errors import CgruError, OutputClosed, UnknownOption, UsageError, one_line, write
from .options import click_command, config_file
from .options.click_command import SETTINGS, WIDTH, Path
from .options.command_line import Settings
from .options.config_file import ConfigFile
from .options.flags import statements
from .parameters.program import COMPAT

if TYPE_CHECKING:
    from .options.convert import ConvertOptions
    from .options.old_programs import OldProgramsOptions
    from .options.prep import PrepOptions
    from .options.score import ScoreOptions
    from .options.serve import ServeOptions
    from .options.train import TrainOptions
    from .options.translate import TranslateOptions


class Command(click_command.Command):
    """A command that also understands the command lines and configurations of old programs.

    `compat` is imported only for these, and for advice on an unknown option.
    """

    @property
    def _is_of_programs(self) -> bool:
        """Whether old programs have a command like this one."""
        return self.name in ("train", "translate", "score")

    def understand(self, ctx: click.Context, args: Sequence[str]) -> None:
        """Read a native line, or one of the program that --compat names."""
        program = _program(args) if self._is_of_programs else None
        if program is None:
            try:
                super().understand(ctx, args)
            except (UsageError, click.UsageError) as error:
                raise self._advised(error, args) from None
            return
        from .compat.translation import translate

        settings = translate(program, str(self.name), args, self.options)
        self.parse_words(ctx, settings.rest)
        self.set(ctx, settings)

    def read_files(
        self, files: Sequence[ConfigFile], typed: Settings, *, relative: bool
    ) -> Settings:
        """Read a native line, or apply the tables of Marian and amun if a file has their keys."""
        asked = self._is_of_programs or self.name == "serve"
        if not asked or not any(config_file.is_foreign(file, self.options) for file in files):
            return super().read_files(files, typed, relative=relative)
        from .compat.translation import of_files

        return of_files(files, str(self.name), self.options, typed, relative=relative)

    def decided(self, options: Any, settings: Settings) -> Mapping[str, Any]:
        """For `cgru train`, the data-dependent defaults of the saved run; otherwise none."""
        from .train import data_defaults

        return data_defaults.dumped(options, settings.stated) if self.name == "train" else {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, or with --compat those of the program and what each means here."""
        program = _program(ctx.meta["arguments"]) if self._is_of_programs else None
        if program is None:
            super().format_options(ctx, formatter)
            return
        from .compat.documented import help_sections

        title = f"--compat {program}: options as {program} writes them, and the option of cgru"
        sections = help_sections(program, str(self.name), self.options)
        for name, records in sections.items():
            with formatter.section(title if name == "Options" else name):
                formatter.write_dl(records)

    def _advised(self, error: Exception, args: Sequence[str]) -> Exception:
        """The error, with advice if the line may be another program's."""
        from .compat.hints import advice

        unknown = ""
        message = error.format_message() if isinstance(error, click.UsageError) else str(error)
        if isinstance(error, click.NoSuchOption):
            from .options.similar_names import similar

            unknown = error.option_name
            flags = [flag for one, _ in statements(self.options).values() for flag in one.flags]
            near = " or ".join(similar(unknown, [x for x in flags if x.startswith("--")]))
            message = f"{error.message} Did you mean {near}?" if near else error.message
        advised = advice(message, unknown, str(self.name), args, self.options)
        return error if advised == str(error) else UsageError(advised)


class Group(click.Group):
    """The commands. Errors become one-line messages and exit codes only here."""

    command_class = Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; `cgru help COMMAND` means `cgru COMMAND --help`."""
        return super().parse_args(ctx, [*args[1:2], "--help"] if args[:1] == ["help"] else args)

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **more: Any
    ) -> Any:
        """Run a command and exit; without standalone_mode, return the exit code, None if 0.

        Exit codes: 0, also if the reader of the output has gone, as with `| head`; 1 for bad input
        and for output that cannot be written; 2 for an invalid command line; 128 + N for signal N.
        """
        from .system.standard_output import checked

        with checked():
            code = self._run(args, more)
        if standalone_mode:
            sys.exit(code)
        return code

    def _run(self, args: Sequence[str] | None, more: Mapping[str, Any]) -> int | None:
        from .system.signals import stop_cleanly

        try:
            with stop_cleanly():
                return super().main(args, standalone_mode=False, **more)
        except OutputClosed:
            return None
        except NoArgsIsHelpError as error:
            return _end(error.format_message(), 2, prefix="")
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "cgru"
            message = " ".join(error.format_message().split())
            return _end(f"{message} (see {command} --help)", _code(error, args))
        except CgruError as error:
            return _end(str(error), _code(error, args))
        except MemoryError:
            return _end("there is not enough memory", 1)
        except Exception as error:
            if os.environ.get("CGRU_DEBUG"):
                raise
            if isinstance(error, OSError) and error.filename is not None:
                return _end(f"{error.filename}: {error.strerror}", 1)
            message = f"internal error, {type(error).__name__}: {error}"
            return _end(f"{message} (CGRU_DEBUG=1 shows where)", 1)


def _code(error: CgruError | click.UsageError, args: Sequence[str] | None) -> int:
    """The exit code: 1 for bad input, 2 for an invalid line, or Marian's with --compat marian."""
    if not isinstance(error, (UsageError, click.UsageError)):
        return 1
    if _program(sys.argv[1:] if args is None else args) != "marian":
        return 2
    if isinstance(error, click.NoSuchOption):
        return UnknownOption.of_marian
    cause = error if isinstance(error, UsageError) else error.__cause__
    return cause.of_marian if isinstance(cause, UsageError) else UsageError.of_marian


def _end(message: str, code: int, prefix: str = "cgru: ") -> int:
    write(f"{prefix}{one_line(message)}\n" if prefix else f"{message}\n")
    return code


def _program(words: Sequence[str]) -> str | None:
    """The program that --compat names, anywhere in the line; None if missing or unknown."""
    for i, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == "--compat":
            named = value if equals else "".join(words[i + 1 : i + 2])
            return named if named in COMPAT else None
    return None


@click.group(
    cls=Group,
    context_settings=WIDTH,
    epilog="Documentation: docs/index.md; docs/options.md lists all options.",
)
@click_command.version_option
@click.help_option("-h", "--help")
def main() -> None:
    """Recurrent neural machine translation: prepare, train, translate, score, convert, serve."""


@main.command(
    options="convert.ConvertOptions",
    usual="to store verify average vocabularies force info json arrays",
    page="docs/convert.md",
)
@click.argument("paths", metavar="IN... [OUT]", nargs=-1, type=Path("file"))
def convert(paths: tuple[str, ...], options: ConvertOptions) -> None:
    """Convert a model from one program to another, or describe it.

    \b
    cgru convert model.npz --info
    cgru convert model.npz model.h5
    cgru convert model.npz marian/model.npz --to marian-s2s --verify
    cgru convert en-de.npz de-en.npz site --to web

    IN is a model of any program: .npz of DL4MT, Nematus, Marian or nmtpy, .h5, .onnx, or a
    checkpoint of Nematus-TF (model-N). Arrays are copied bit for bit, except with --store,
    --precision int8 and --average.
    """
    from .convert.job import run

    if not paths:
        advice = "name a model: cgru convert IN OUT, or cgru convert IN --info"
        raise click.UsageError(advice, click.get_current_context())
    models, output = (paths[:-1], paths[-1]) if len(paths) > 1 else (paths, None)
    run(models, output, options)


@main.command(
    options="prep.PrepOptions",
    usual="source target dev test subwords subword_vocabulary tokenize lowercase apply undo",
    page="docs/prepare.md",
)
@click.argument("paths", metavar="[OUT]", nargs=-1, type=Path("dir"))
def prep(paths: tuple[str, ...], options: PrepOptions) -> None:
    """Prepare parallel text for training, as a folder for cgru train.

    \b
    cgru prep OUT -s train.en -t train.de --dev dev.en dev.de
    cgru prep --apply OUT < a.en | cgru translate -m m.npz | cgru prep --undo OUT
    cgru prep --vocabulary-only --compat marian < train.bpe.en > vocab.en.yml

    Running the command again does nothing, or resumes an interrupted run.
    """
    from .prep import job, program_vocabularies

    if options.vocabulary_only:
        program_vocabularies.run(paths, options)
        return
    if len(paths) > 1:
        raise UsageError(f"{paths[1]}: unexpected argument; text is named with -s and -t")
    job.run(paths[0] if paths else None, options)


@main.command(
    options="translate.TranslateOptions",
    usual="model input output vocabularies beam_size normalize n_best alignment compat device",
    page="docs/translate.md",
    stray="; to translate a file, name it with -i",
)
def translate(options: TranslateOptions) -> None:
    """Translate lines of text from standard input to standard output.

    \b
    echo "Where is the station?" | cgru translate -m examples/en-de.npz
    cgru translate -m model.npz -i source.txt -o target.txt
    cgru translate -m a.npz b.npz --beam-size 12 --n-best < source.txt

    cgru recognises the program that wrote the model, which decides the defaults, and finds its
    configuration and vocabularies. --compat PROGRAM reads the command line of an old program.
    """
    from .translate.job import run

    run(options)


@main.command(
    options="score.ScoreOptions",
    usual="model source target output normalize word_scores n_best rerank metric reference",
    page="docs/score.md",
    stray="; name the text with -s SRC -t TRG",
)
def score(options: ScoreOptions) -> None:
    """Score translations with a model, rerank n-best lists, filter corpora, or compute metrics.

    \b
    cgru score -m model.npz -s source.txt -t target.txt > scores.txt
    cgru score -m model.npz -s source.txt --n-best list.txt --rerank > best.txt
    cgru score --metric bleu chrf -t translations.txt -r references.txt

    cgru recognises the program that wrote the model, and finds its configuration and vocabularies.
    --compat PROGRAM reads the command line of an old program.
    """
    from .score.job import run

    run(options)


@main.command(
    options="train.TrainOptions",
    usual="model train_sets vocabularies valid_sets dim_emb dim_rnn mini_batch learn_rate "
    "early_stopping device",
    page="docs/train.md",
    stray="; only one DATA can be given; text files are named with -t SRC TRG",
)
@click.argument("data", metavar="[DATA]", required=False, type=Path("dir"))
def train(data: str | None, options: TrainOptions) -> None:
    """Train a model; running the command again resumes from the last save.

    \b
    cgru prep data -s train.en -t train.de --dev dev.en dev.de
    cgru train data -m run/model.npz
    cgru train -t train.en train.de -v en.json de.json -m run/model.npz

    DATA is a folder that `cgru prep` made; options can name text and vocabularies instead.
    """
    from .train.job import run

    given = click.get_current_context().meta[SETTINGS]
    settings = given.in_own_names("saved") if given.in_own_names else None
    run(options, data, settings=settings, explicit=given.stated)


@main.command(
    options="serve.ServeOptions",
    usual="model host port beam_size device cpu_threads max_lines timeout token_file quiet",
    page="docs/server.md",
    stray="; name models with -m",
)
def serve(options: ServeOptions) -> None:
    """Serve models over HTTP: a page for people, JSON, and protocols of other servers.

    \b
    cgru serve -m examples/en-de.npz
    cgru serve -m model.npz --host 0.0.0.0 --token-file password
    cgru serve -m en-de=a.npz,b.npz en-fr=c.npz --port 8000

    The page is at http://127.0.0.1:8080/, and /openapi.json describes the JSON. Clients of the
    servers of Marian (WebSocket), Nematus and LibreTranslate use /translate. Lines of all clients
    share batches. After SIGTERM, the server answers open requests and stops.
    """
    from .serve.job import run

    run(options)


@main.command(
    "old-programs",
    options="old_programs.OldProgramsOptions",
    usual="force quiet",
    page="docs/old-scripts.md",
)
@click.argument("folder", metavar="DIR", type=Path("dir"))
def old_programs(folder: str, options: OldProgramsOptions) -> None:
    """Write programs named like those of Marian, amun, Nematus and DL4MT, for old scripts.

    \b
    cgru old-programs programs
    programs/marian-decoder -m model.npz < source.txt
    MARIAN=$PWD/programs nematus=$PWD/programs ./an-old-script.sh

    Each calls cgru with its --compat: marian, marian-decoder, marian-scorer, marian-vocab and amun
    (also below build/), nematus/nmt.py, train.py, translate.py, score.py, rescore.py and
    data/build_dictionary.py. Nematus on TensorFlow and DL4MT have folders of their own:
    nematus-tf/ and dl4mt/.
    """
    from .compat.old_programs import run

    run(folder, options)

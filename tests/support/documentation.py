"""The pages of the documentation, and the commands that they and the recipes show."""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from unittest import mock

from cgru_cli.cli import main
from cgru_cli.options import config_file
from cgru_cli.options.flags import statements

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "examples", "recipes", "benchmarks")
PAGES = sorted([*ROOT.glob("*.md"), *(p for f in FOLDERS for p in (ROOT / f).rglob("*.md"))])


def name_of(path: Path) -> str:
    """A file's path in the repository."""
    return path.relative_to(ROOT).as_posix()


def shell_blocks(page: Path) -> str:
    """The shell blocks of a page."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.S | re.M))


def commands(text: str) -> Iterator[list[str]]:
    """The words of each simple command, without redirections; every variable is 1."""
    for line in text.replace("\\\n", " ").split("\n"):
        line = re.sub(r"\$(\w+|\{\w+(\[(@|\d+)\])?\})", "1", line)
        line = re.sub(r"\d>&\d", "", line)
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        redirected = False
        try:
            for word in lexer:
                if set(word) <= set("<>"):
                    redirected = True
                elif set(word) <= set("();|&"):
                    yield words
                    words, redirected = [], False
                elif not redirected:
                    words.append(word)
        except ValueError:  # quotes over several lines never contain a command of cgru
            continue
        yield words


def of_cgru(words: list[str]) -> list[str] | None:
    """The arguments of `cgru` in a command; an array is kept only as the value of an option."""
    for i, word in enumerate(words[:-1]):
        if word == "cgru" and words[i + 1] in main.commands:
            return list(_without_arguments(words[i + 1 :]))
    return None


def _without_arguments(words: list[str]) -> Iterator[str]:
    stated = statements(main.commands[words[0]].options).values()
    needing = {f for flag, _ in stated for f in flag.flags if not flag.is_switch}
    for before, word in pairwise(["", *words]):
        if word != "$@" and not re.match(r"\$\{\w*@?\W", word):  # "$@", "${@:2}", "${name[@]+...}"
            yield word
        elif before in needing:
            yield "1"


def parse(command: str, arguments: list[str]) -> None:
    """Parse a command line without running it; raises if it is invalid."""
    if {"-h", "--help", "--help-all"} & set(arguments):
        return
    # 1, the value of every variable, is not valid for these options
    valid = {
        ("--output-sampling", "1"): "full",
        ("--precision", "1"): "float32",
        ("--lr-decay-to-end", "1"): "linear",
    }
    arguments = [valid.get((before, word), word) for before, word in pairwise(["", *arguments])]
    stated = main.commands[command]
    with (
        mock.patch.object(config_file, "load", lambda path: config_file.ConfigFile(path, {})),
        stated.make_context(command, list(arguments)) as context,
    ):
        stated.options(**{name: context.params[name] for name in statements(stated.options)})

"""The options of `cgru prep`, as they are typed and as they are used."""

import dataclasses
from typing import get_args

import click
import pytest
from click.testing import CliRunner

from cgru_cli.cli import main
from cgru_cli.options.configured import ConfiguredOptions
from cgru_cli.options.flags import statements
from cgru_cli.options.prep import PrepOptions
from cgru_cli.text.pipeline import PipelineSettings, SubwordKind, Unicode


def parsed(*arguments):
    """The folder and the options that a command line means; nothing is run."""
    with main.commands["prep"].make_context("prep", list(arguments)) as context:
        values = dict(context.params)
        return values.pop("paths"), PrepOptions(**values)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {}),
        (["-s", "a", "b", "-t", "c", "d"], {"source": ("a", "b"), "target": ("c", "d")}),
        (["--source", "a", "--target=b"], {"source": ("a",), "target": ("b",)}),
        (["--dev", "a", "b"], {"dev": ("a", "b")}),
        (["--test", "a", "b", "--test", "c", "d"], {"test": ("a", "b", "c", "d")}),
        (["--source-lang", "en", "--target-lang", "de"],
         {"source_lang": "en", "target_lang": "de"}),
        (["--unicode", "nfkc", "--normalize-punctuation"],
         {"unicode": "nfkc", "normalize_punctuation": True}),
        (["--tokenize", "--escape", "--split-hyphens", "--truecase"],
         {"tokenize": True, "escape": True, "split_hyphens": True, "truecase": True}),
        (["--lowercase", "--factors", "3"], {"lowercase": True, "factors": 3}),
        (["--subwords", "subword-nmt", "--subword-vocabulary", "89500", "--joint"],
         {"subwords": "subword-nmt", "subword_vocabulary": 89500, "joint": True}),
        (["--separate", "--codes", "x", "y"], {"separate": True, "codes": ("x", "y")}),
        (["--byte-fallback"], {"byte_fallback": True}),
        (["--copy", "url", "a+"], {"copy": ("url", "a+")}),
        (["--character-coverage", "0.9995"], {"character_coverage": 0.9995}),
        (["--vocabulary-format", "json", "--joint-vocabulary", "--vocabulary-size", "90"],
         {"vocabulary_format": "json", "joint_vocabulary": True, "vocabulary_size": 90}),
        (["--sample", "0", "--seed", "3"], {"sample": 0, "seed": 3}),
        (["--dev-lines", "500"], {"dev_lines": 500}),
        (["--max-length", "80", "--max-characters", "0", "--max-ratio", "2.5"],
         {"max_length": 80, "max_characters": 0, "max_ratio": 2.5}),
        (["--keep-empty", "--keep-invalid", "--keep-control", "--keep-identical",
          "--keep-duplicates"],
         {f"keep_{name}": True
          for name in ("empty", "invalid", "control", "identical", "duplicates")}),
        (["-j", "4", "-f", "--quiet"], {"jobs": 4, "force": True, "quiet": True}),
        (["--apply", "data", "--side", "target", "--words"],
         {"apply": "data", "side": "target", "words": True}),
        (["--undo", "data"], {"undo": "data"}),
        (["--vocabulary-only", "--compat", "marian"],
         {"vocabulary_only": True, "compat": "marian"}),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)  # fmt: skip
def test_arguments_mean(arguments, expected):
    paths, options = parsed("out", *arguments)
    assert paths == ("out",)
    assert options == dataclasses.replace(PrepOptions(), **expected)


def test_every_option_was_typed_above():
    cases = next(mark for mark in test_arguments_mean.pytestmark if mark.name == "parametrize")
    typed = {name for _, expected in cases.args[1] for name in expected}
    elsewhere = set(statements(ConfiguredOptions))  # test_configured
    assert typed == set(statements(PrepOptions)) - elsewhere


@pytest.mark.parametrize(
    "arguments",
    [
        ["--subwords", "wordpiece"], ["--unicode", "nfd"], ["--side", "both"],
        ["--vocabulary-format", "txt"], ["--max-ratio", "nan"], ["--max-length", "many"],
        ["--no-such"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_is_no_option(arguments):
    with pytest.raises(click.UsageError):
        parsed("out", *arguments)


def test_one_folder_is_made():
    result = CliRunner().invoke(main, ["prep", "out", "another", "-s", "a", "-t", "b"])
    assert result.exit_code == 2
    assert result.stderr.startswith("cgru: another: unexpected argument")


def test_choices_are_those_of_the_pipeline():
    options = statements(PrepOptions)
    assert options["unicode"][0].choices == get_args(Unicode)
    assert options["subwords"][0].choices == get_args(SubwordKind)
    assert PrepOptions().unicode == PipelineSettings().unicode
    assert PipelineSettings().subwords in get_args(SubwordKind)

"""Options as Nematus' and Marian's users type them."""

import dataclasses
from dataclasses import dataclass

import pytest
from click.testing import CliRunner
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.cli import main
from cgru_cli.errors import UsageError
from cgru_cli.options.convert import ConvertOptions
from cgru_cli.options.declaration import Group
from cgru_cli.options.flags import Flag, statements
from cgru_cli.options.kinds import Bounds
from cgru_cli.options.scope import Scope
from cgru_cli.options.translate import TranslateOptions


def parsed(*arguments, command="translate"):
    """The options that a command line means, without running it."""
    the_command = main.commands[command]
    with the_command.make_context(command, list(arguments)) as context:
        names = statements(the_command.options)
        return the_command.options(**{name: context.params[name] for name in names})


@each_row(
    ("arguments", "expected"),
    [
        ([], {}),
        (["-m", "A"], {"model": ("A",)}),
        (["-m", "A", "B", "-k", "3"], {"model": ("A", "B"), "beam_size": 3}),
        (["-m", "A", "-m", "B"], {"model": ("A", "B")}),
        (["--models", "A", "B"], {"model": ("A", "B")}),
        (["-v", "src.json", "trg.json"], {"vocabularies": ("src.json", "trg.json")}),
        (["--dictionaries", "a", "b"], {"vocabularies": ("a", "b")}),
        (["--vocabs", "a", "b", "-i", "x"], {"vocabularies": ("a", "b"), "input": ("x",)}),
        (["-i", "x", "-", "-o", "y"], {"input": ("x", "-"), "output": "y"}),
        (["--weights", "0.3", "0.7"], {"weights": (0.3, 0.7)}),
        (["--weights", "-0.5", "1.5"], {"weights": (-0.5, 1.5)}),
        (["--beam_size", "12"], {"beam_size": 12}),
        (["-n"], {"normalize": 1.0}),
        (["-n", "--n-best"], {"normalize": 1.0, "n_best": True}),
        (["-n", "0.6"], {"normalize": 0.6}),
        (["-n", "1", "--n_best"], {"normalize": 1.0, "n_best": True}),
        (["--normalize=0.5"], {"normalize": 0.5}),
        (["--normalize", "-m", "A"], {"normalize": 1.0, "model": ("A",)}),
        (["-m", "A", "-n"], {"model": ("A",), "normalize": 1.0}),
        (["--normalization_alpha", "0.8"], {"normalize": 0.8}),
        (["-wp"], {"word_scores": True}),
        (["--print-word-probabilities"], {"word_scores": True}),
        (["--word-penalty", "-0.2"], {"word_penalty": -0.2}),
        (["-mr", "2"], {"max_length_factor": 2.0}),
        (["--translation_maxlen", "50"], {"translation_maxlen": 50}),
        (["--suppress_unk"], {"suppress_unk": True}),
        (["--output-sampling"], {"output_sampling": "full 1.0"}),
        (["--output-sampling", "topk", "10", "0.8"], {"output_sampling": "topk 10 0.8"}),
        (["--output-sampling", "full", "-k", "2"], {"output_sampling": "full", "beam_size": 2}),
        (["--alignment"], {"alignment": "hard"}),
        (["--alignment", "soft"], {"alignment": "soft"}),
        (["--alignment", "0.2"], {"alignment": "0.2"}),
        (["--alignment", "--quiet"], {"alignment": "hard", "quiet": True}),
        (["-a", "file"], {"output_alignment": "file"}),
        (["--minibatch_size", "10", "--maxibatch_size", "4"], {"mini_batch": 10, "maxi_batch": 4}),
        (["--quiet-translation"], {"quiet": True}),
        (["-w", "512"], {"workspace": 512}),
    ],
)  # fmt: skip
def test_arguments_mean(arguments, expected):
    assert parsed(*arguments) == dataclasses.replace(TranslateOptions(), **expected)


def test_flags_are_stated_once():
    for options in (ConvertOptions, TranslateOptions):
        flags = [
            f for flag, _ in statements(options).values() for f in (*flag.flags, *flag.aliases)
        ]
        assert len(flags) == len(set(flags))
        for flag, default in statements(options).values():
            assert flag.help and flag.flags[-1].startswith("--")
            assert flag.is_switch == isinstance(default, bool)


words = st.text(st.characters(codec="ascii", exclude_categories=["Cc", "Z"]), min_size=1)


def test_a_dataclass_field_is_an_option():
    @dataclass(frozen=True)
    class Small:
        depth: int = Group("Sizes", applies_to=Scope.SOURCE).whole(
            1,
            9,
            default=2,
            needs=("--width or --area", "--log"),
            excludes="--flat",
            applies_to=Scope.DECODER,
        )("""
            -d --depth N (--levels): how deep:
            in levels""")

    flag, default = statements(Small)["depth"]
    assert (flag.flags, flag.aliases) == (("-d", "--depth"), ("--levels",))
    assert (flag.name, flag.value_name, flag.help) == ("--depth", "N", "how deep: in levels")
    assert (flag.group, flag.bounds) == ("Sizes", Bounds(1, 9))
    assert (flag.needs, flag.excludes) == (("--width or --area", "--log"), ("--flat",))
    assert flag.applies_to == Scope.SOURCE | Scope.DECODER
    assert default == 2


def test_usage_errors_are_errors_of_the_command_line():
    assert UsageError("x").args == ("x",)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_numbers_are_finite(value):
    result = CliRunner().invoke(main, ["translate", "-m", "x.npz", "-n", value])
    assert result.exit_code == 2
    assert "a number from 0 to 10 is expected" in result.output


@each_row(
    ("arguments", "named", "help_of"),
    [
        (["--quick"], "--quick", "cgru"),
        (["tranlate"], "tranlate", "cgru"),
        (["translate", "--beem-size", "5"], "--beam-size", "cgru translate"),
        (["translate", "--optimize"], "--optimize cannot be honoured", "cgru translate"),
        (["train", "--mini-batch", "many"], "many", "cgru train"),
        (["train", "--learn-rate", "-1"], "--learn-rate -1:", "cgru train"),
        (["translate", "--beam-size", " 1"], "--beam-size ' 1':", "cgru translate"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(arguments, named, help_of):
    result = CliRunner().invoke(main, arguments, prog_name="cgru")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("cgru: ") and named in line and line.endswith(f"(see {help_of} --help)")


def test_a_command_without_arguments_is_explained():
    result = CliRunner().invoke(main, [])
    assert "Commands:" in result.output and "translate" in result.output


def test_two_names_of_one_option_with_two_values():
    result = CliRunner().invoke(main, ["translate", "-m", "x.npz", "-k", "5", "--beam-size", "80"])
    assert result.exit_code == 2
    assert "-k 5 and --beam-size 80 are the same option" in result.output


def test_the_help_shows_the_choices():
    result = CliRunner().invoke(main, ["translate", "--help"], terminal_width=300)
    assert "output layout: nematus, nematus-tf, dl4mt, marian, amun" in result.output


def test_a_value_is_read_once_and_a_default_never(monkeypatch):
    read, convert = [], Flag._converted
    monkeypatch.setattr(Flag, "_converted", lambda *of: read.append(of[0].name) or convert(*of))
    checks, check = [], Flag.check
    monkeypatch.setattr(Flag, "check", lambda *of: checks.append(of[0].name) or check(*of))
    monkeypatch.setattr(main.commands["train"], "callback", lambda data, options: options)
    line = ["-m", "m.npz", "--dim-emb", "8", "--valid-metrics", "bleu", "chrf", "--dry-run"]
    options = main.main(["train", *line], standalone_mode=False)
    once = ["--model", "--dim-emb", "--valid-metrics", "--valid-metrics", "--dry-run"]
    assert sorted(read) == sorted(checks) == sorted(once)
    assert options.replaced(seed=2) == dataclasses.replace(options, seed=2)
    assert sorted(read) == sorted(once)

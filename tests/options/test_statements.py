"""All statements of options: bounds, needs, groups and words."""

import dataclasses
import math
import re

import pytest
from click.testing import CliRunner
from command_lines import parsed_with_note
from tables import each_row

from cgru_cli.cli import main
from cgru_cli.errors import UsageError
from cgru_cli.options.flags import GROUPS, effective, grouped, statements
from cgru_cli.options.kinds import FREQUENCIES, pairs_of_files, two_files
from cgru_cli.options.prep import PrepOptions
from cgru_cli.options.score import ScoreOptions
from cgru_cli.options.train import TrainOptions
from cgru_cli.options.translate import TranslateOptions

COMMANDS = {name: command.options for name, command in main.commands.items()}
ALL = [
    (command, name, flag, default)
    for command, options in COMMANDS.items()
    for name, (flag, default) in statements(options).items()
]
NUMBERS = [stated for stated in ALL if stated[2].is_number]


def named(stated):
    return f"{stated[0]} {stated[2].name}"


def refused(*arguments):
    """The one line by which a command line is refused."""
    result = CliRunner().invoke(main, list(map(str, arguments)), prog_name="cgru")
    assert (result.exit_code, result.stdout) == (2, ""), result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("cgru: ")
    return line


_TEXTS = {
    "--alignment": "hard",
    "--output-sampling": "full 0.5",
    "--device": "gpu",
    "--keep-as": "m.{U}.npz",
    "--logical-epoch": "2e",
    "--metric": "bleu",
}  # values of options with a form of their own


def some_value(flag, default):
    """A value that turns an option on and is not its default."""
    if flag.is_switch:
        return True
    if flag.choices:
        return next(choice for choice in flag.choices if choice != default)
    if flag.is_number:
        candidates = (1, 2, 0.5, 0.25, 3)
        usual = default if isinstance(default, tuple) else (default,)
        allowed = [flag.kind(n) for n in candidates if flag.kind(n) in flag.bounds]
        one = next(n for n in allowed if n not in usual)
    elif flag.kind in FREQUENCIES:
        one = "7u"
    else:
        one = _TEXTS.get(flag.name, "some")
    if flag.together in (two_files, pairs_of_files):
        return ("some", "other")
    return (one,) if flag.many and flag.implied is None else one


def with_needs(options, name, seen=()):
    """An option turned on, and all that it needs, by field name."""
    flag, default = statements(options)[name]
    values = {name: some_value(flag, default)}
    for needed in flag.needs:
        typed, _, word = needed.split(" or ")[0].partition(" ")
        other = field_of(options, typed)
        if other not in seen:
            values |= with_needs(options, other, (*seen, name))
        if word:
            values[other] = word
    return values


def field_of(options, typed):
    return next(name for name, (flag, _) in statements(options).items() if typed in flag.flags)


# --- bounds -------------------------------------------------------------------------------------


@each_row("stated", NUMBERS, ids=named)
def test_every_number_has_bounds_on_both_sides_and_a_default_within(stated):
    _, _, flag, default = stated
    bounds = flag.bounds
    assert (bounds.least is None) != (bounds.above is None)
    assert (bounds.most is None) != (bounds.below is None)
    for one in default if isinstance(default, tuple) else (default, flag.implied):
        assert one is None or one in flag.bounds


@pytest.mark.long
@each_row("stated", NUMBERS, ids=named)
def test_numbers_out_of_bounds_are_refused_by_name(stated):
    command, _, flag, _ = stated
    bounds = flag.bounds
    wrong = ["nan", "inf", "-inf", "1e308", 10**30, -(10**30), "9" * 400, "9" * 5000, "x", ""]
    step = 1 if flag.kind is int else 1e-3
    wrong += [bounds.above] if bounds.least is None else [bounds.least - step]
    wrong += (
        [bounds.below] if bounds.most is None else [bounds.most + max(step, bounds.most * 1e-9)]
    )
    for value in wrong:
        line = refused(command, f"{flag.name}={value}")
        assert line.startswith(f"cgru: {flag.name} ") and flag.expected in line, line
        assert line.endswith(f"is expected (see cgru {command} --help)") and len(line) < 300


@each_row("stated", NUMBERS, ids=named)
def test_numbers_at_the_bounds_are_read(stated):
    _, _, flag, _ = stated
    bounds = flag.bounds
    for bound in (bounds.least, bounds.most):
        if bound is not None:
            assert flag.read(str(flag.kind(bound))) == bound
    if bounds.off is not None:
        assert flag.read(str(bounds.off)) == bounds.off
    if flag.kind is float:
        assert bounds.above is None or flag.read(str(math.nextafter(bounds.above, math.inf)))
        assert bounds.below is None or flag.read(str(math.nextafter(bounds.below, 0)))


@each_row("stated", NUMBERS, ids=named)
def test_bounds_hold_however_options_are_made(stated):
    command, name, flag, _ = stated
    bounds = flag.bounds
    wrong = (
        bounds.above if bounds.least is None else bounds.least - (1 if flag.kind is int else 0.5)
    )
    value = (wrong,) if flag.many else wrong
    with pytest.raises(UsageError, match=f"^{flag.name} .* is expected$"):
        COMMANDS[command](**{name: value})


FINDS = [
    "translate -n 1e308", "translate --cpu-threads 2147483648",
    "translate --max-length-factor 1e308", "translate -k 100000",
    "translate --translation-maxlen 2147483648",
    "translate --output-sampling full 0",
    "translate --output-sampling topk 2147483648", "translate --weights nan",
    "translate --weights 1e308", "score --metric bleu -r ref --width -1",
    "score --metric bleu -r ref --confidence --samples 2147483648",
    "score --n-best list --rerank 1e308 1", "score --n-best list --rerank nan 1",
    "prep out -s a -t b --subword-vocabulary 2147483648", f"train --dim-emb {10**30}",
    f"train --dim-rnn {10**30}", f"train --enc-depth {10**30}", f"train --after {10**30}",
    f"train --dim-vocabs {10**30}", "train --learn-rate inf",
]  # fmt: skip


@pytest.mark.parametrize("line", FINDS)
def test_values_that_nothing_could_compute_with(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    option = [word for word in line.split() if re.match(r"--?[a-z]", word)][-1]
    assert {"-n": "--normalize", "-k": "--beam-size"}.get(option, option) in refused(*line.split())


# --- options that need or exclude others
# --------------------------------------------------------------

NEEDING = [stated for stated in ALL if stated[2].needs]
EXCLUDING = [stated for stated in ALL if stated[2].excludes]


@each_row("stated", NEEDING, ids=named)
def test_an_option_that_lacks_what_it_needs(stated):
    command, name, flag, default = stated
    options = COMMANDS[command]
    fixed = {"defaults": "fixed"} if command == "train" else {}  # else it may be on by data
    with pytest.raises(UsageError, match=f"^{flag.name} needs {flag.needs[0]}$"):
        options(**{name: some_value(flag, default)}, **fixed)
    with_it = options(**with_needs(options, name))
    assert getattr(with_it, name) == some_value(flag, default)
    assert options(**{name: default}) == options()


@each_row("stated", EXCLUDING, ids=named)
def test_options_that_exclude_each_other(stated):
    command, name, flag, _ = stated
    options = COMMANDS[command]
    alone = with_needs(options, name)
    for excluded in flag.excludes:
        typed, _, word = excluded.partition(" without ")[0].partition(" ")
        other = field_of(options, typed)
        values = with_needs(options, other) | alone
        values[other] = word or values[other]
        with pytest.raises(UsageError, match=f"^{flag.name} and {excluded} exclude each other$"):
            options(**values)
    assert options(**alone)


@each_row("stated", [s for s in ALL if s[2].needs or s[2].excludes or s[2].unless], ids=named)
def test_options_that_are_named_are_there(stated):
    command, _, flag, _ = stated
    known = {
        f: stated for stated, _ in statements(COMMANDS[command]).values() for f in stated.flags
    }
    assert not flag.unless or flag.by_data
    needs = [one for needed in flag.needs for one in needed.split(" or ")]
    excludes = [one for excluded in flag.excludes for one in excluded.split(" without ")]
    for typed in (*excludes, *flag.unless, *needs):
        other, _, word = typed.partition(" ")
        assert other in known
        assert not word or word in known[other].choices


def test_zero_is_a_value_where_nothing_is_the_default():
    with pytest.raises(UsageError, match="--keep-above and --summary exclude"):
        ScoreOptions(keep_above=0.0, summary="ce-sum")
    assert TrainOptions(lr_decay=0.0, lr_warmup="0u") == TrainOptions(lr_warmup="0u")
    with pytest.raises(UsageError, match="--lr-warmup-start-rate needs --lr-warmup"):
        TrainOptions(lr_warmup="0e", lr_warmup_start_rate=0.1)


def test_a_choice_is_read_in_any_case():
    flag, _ = statements(TrainOptions)["objective"]
    assert flag.read("MRT") == "mrt"
    assert TrainOptions(objective="MRT", mrt_samples=3).minimizes_risk


# --- options and choices of earlier versions ---------------------------------------------------

OLD = [stated for stated in ALL if stated[2].no_effect]
NOTE = "without effect here: {} (ONNX Runtime runs every model)"


@each_row("stated", OLD, ids=named)
def test_an_option_without_effect_is_accepted_with_a_note(stated, tmp_path):
    command, name, flag, _ = stated
    more = [] if command == "serve" else ["--compat", "marian"]
    for value in flag.choices:
        for line in ([flag.name, value], [f"{flag.name}={value}"], [*more, flag.name, value]):
            options, noted = parsed_with_note(command, *line, "-m", "m.npz")
            assert noted == NOTE.format(flag.name)
            assert options.model == ("m.npz",)
    assert refused(command, f"{flag.name}=x").startswith(f"cgru: {flag.name} x: one of auto, ")
    file = tmp_path / "options.yml"
    file.write_text(f"{name}: {flag.choices[0]}\nmodel: [m.npz]\n")
    options, noted = parsed_with_note(command, "-c", file)
    assert noted == NOTE.format(f"{file}: {name}")
    assert parsed_with_note(command, "-m", "m.npz")[1] == ""
    # it is neither shown nor written
    for asked in ("--help", "-h"):
        assert flag.name not in CliRunner().invoke(main, [command, asked]).output
    dumped = CliRunner().invoke(main, [command, flag.name, flag.choices[0], "--dump-config"])
    assert dumped.exit_code == 0 and f"\n{name}:" not in dumped.stdout


def test_the_options_without_effect():
    assert [(command, flag.name) for command, _, flag, _ in OLD] == [
        (command, "--runtime") for command in COMMANDS if command in ("translate", "score", "serve")
    ]


@each_row("stated", [stated for stated in ALL if stated[2].former], ids=named)
def test_former_choices_are_refused_with_advice(stated, tmp_path):
    command, name, flag, _ = stated
    assert not flag.former.keys() & set(flag.choices)
    for choice, advice in flag.former.items():
        for value in (choice, choice.upper()):
            line = refused(command, flag.name, value)
            assert line == f"cgru: {flag.name} {value}: {advice} (see cgru {command} --help)"
        file = tmp_path / "options.yml"
        file.write_text(f"{name}: {choice}\n")
        result = CliRunner().invoke(main, [command, "-c", str(file), "-m", "m.npz"])
        assert result.stderr == f"cgru: {file}: {name} {choice}: {advice}\n", result.stderr


# --- groups and words ---------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_in_one_group(command):
    options = COMMANDS[command]
    shown = [flag for _, members in grouped(options) for flag, _ in members]
    assert sorted(map(repr, shown)) == sorted(repr(flag) for flag, _ in effective(options).values())
    titles = [title for title, _ in grouped(options)]
    assert len(titles) == len(set(titles)) and set(titles) <= set(GROUPS)
    assert ("" in titles) == (len(shown) < 10)


def test_no_group_is_empty():
    used = {stated[2].group for stated in ALL}
    assert used == set(GROUPS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_shows_groups_values_and_defaults(command):
    everything = "--help-all" if command == "train" else "--help"
    result = CliRunner().invoke(main, [command, everything], terminal_width=2000)
    text = result.output
    for title, members in grouped(COMMANDS[command]):
        assert f"\n{title or 'Options'}:\n" in text
        for flag, default in members:
            entry = rf"^  (?:-\w, )*{re.escape(flag.name)}\b(?!-)(?:.*\n(?!  -|\n))*.*$"
            (line,) = (" ".join(found.split()) for found in re.findall(entry, text, re.M))
            assert flag.help in line and "[from" not in line
            if flag.is_number and not isinstance(default, tuple) and default is not None:
                shown = flag.value_name if flag.by_data else f"{flag.value_name}={default}"
                assert f" {shown} {flag.help}" in line
    assert text.count("-h, --help") == 1


PRIVATE = re.compile(
    r"\b(found|of_one|how much is|as they come|what they are|cannot be meant|that is random|"
    r"is multiplied is|of the products|due by|the same of|these lines|and for each|honoured)\b"
)
POINTING = re.compile(r"^(of|they|them|it|its|these|those|the same (of|as)|what they|and|when it) ")


@each_row("stated", ALL, ids=named)
def test_a_help_stands_alone(stated):
    _, _, flag, _ = stated
    assert not PRIVATE.search(flag.help), flag.help
    assert not POINTING.match(flag.help), flag.help
    assert not flag.help.endswith((".", " ")) and "  " not in flag.help
    assert re.match(r"[a-z]|[A-Z]{2}|L2|Unicode|MAP", flag.help), flag.help
    assert flag.metavar or flag.choices or flag.is_switch


def test_commands_are_summed_up_whole():
    result = CliRunner().invoke(main, ["--help"], terminal_width=200)
    for name, command in main.commands.items():
        (line,) = re.findall(rf"^  {name} +(.*)$", result.output, re.M)
        assert "..." not in line
        assert (command.help or "").startswith(f"{line}.")


@pytest.mark.parametrize("options", [PrepOptions, ScoreOptions, TrainOptions, TranslateOptions])
def test_what_names_a_file_is_completed_as_one(options):
    for name, (flag, _) in statements(options).items():
        assert flag.is_path == bool(re.search(r"FILE|MODEL|DIR|SRC|COMMAND", flag.metavar)), (
            f"{name}: {flag.metavar}"
        )


def test_options_are_dataclasses_of_values():
    for options in COMMANDS.values():
        made = options()
        assert dataclasses.is_dataclass(made) and dataclasses.replace(made) == made


# --- values that would be ignored -----------------------------------------------------------------


def test_values_that_would_do_nothing():
    for words, message in {
        ("translate", "--copy", r"\b"): "--copy",
        ("translate", "--copy", "^|(?=x)"): "--copy",
        ("prep", "out", "--copy", "none"): "--copy none",
        ("train", "--copy", "none"): "--copy none",
        ("score", "--word-top-k", "0"): "--word-top-k 0",
        ("translate", "--seed", "3"): "--seed needs --output-sampling or --mbr",
        ("translate", "--mbr", "4", "--mbr-n-best", "--seed", "3"): "exclude each other",
        (
            "train",
            "--lr-warmup-cycle",
            "--defaults",
            "fixed",
        ): "--lr-warmup-cycle needs --lr-warmup",
    }.items():
        assert message in refused(*words), words


def test_no_text_value_is_empty():
    """As from a script whose variable is not set: `--log "$LOG"`."""
    for command, name, flag, _ in ALL:
        takes_text = flag.kind is str and not flag.choices
        if takes_text and not (flag.needs or flag.excludes):
            values = ("",) if flag.many else ""
            with pytest.raises(UsageError, match=f"^{flag.name} ''.*empty"):
                COMMANDS[command](**{name: values})
    assert "--log" in refused("translate", "--log", "")


def test_what_the_data_may_turn_on_is_not_missing():
    """A warm-up is on by default, for which data_defaults chooses the length."""
    options = TrainOptions(lr_warmup_cycle=True)
    with pytest.raises(UsageError, match=r"^--lr-warmup-cycle needs --lr-warmup$"):
        dataclasses.replace(options, defaults="fixed")
    dataclasses.replace(options, defaults="fixed", lr_warmup="100u")


def test_an_option_that_is_gone_says_what_to_do_instead(tmp_path):
    told = "--rate-limit 60: the server no longer limits rates; let a proxy in front limit requests"
    for line in (["--rate-limit", 60], ["--rate-limit=60", "-m", "m.npz"]):
        assert told in refused("serve", *line)
    file = tmp_path / "options.yml"
    file.write_text("rate-limit: 60\nmodel: [m.npz]\n")
    result = CliRunner().invoke(main, ["serve", "-c", str(file)])
    assert result.exit_code == 1 and f"{file}: {told.removeprefix('--')}" in result.stderr
    assert "--rate-limit" not in CliRunner().invoke(main, ["serve", "--help"]).output
    assert "rate-limit" not in CliRunner().invoke(main, ["serve", "--dump-config"]).stdout

"""Names like a mistyped one: those that people mean, and none for other words."""

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.cli import main
from cgru_cli.options.flags import statements
from cgru_cli.options.similar_names import similar
from cgru_cli.options.translate import TranslateOptions

FLAGS = [
    name for one, _ in statements(TranslateOptions).values() for name in one.flags
    if name.startswith("--")
]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("--beem", "--beam-size"), ("--beam-sise", "--beam-size"), ("--modle", "--model"),
        ("--quite", "--quiet"), ("--normalise", "--normalize"), ("--output_file", "--output"),
        ("--nbest", "--n-best"), ("--max-len", "--max-length"), ("--xyzzy", None),
    ],
)  # fmt: skip
def test_what_people_mean(typed, first):
    assert next(iter(similar(typed, FLAGS)), None) == first


@given(st.sampled_from(FLAGS), st.data())
def test_a_flag_with_two_letters_exchanged(flag, data):
    place = data.draw(st.integers(2, len(flag) - 2))
    typed = flag[:place] + flag[place + 1] + flag[place] + flag[place + 2 :]
    assert len(flag) < 9 or flag in similar(typed, FLAGS, len(FLAGS))
    assert similar(flag, FLAGS)[0] == flag


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("translate --beem 5", "No such option '--beem'. Did you mean --beam-size?"),
        ("translate --num_beams 5", "--num_beams is called --beam-size here"),
        ("train --epoch 5", "No such option '--epoch'. Did you mean --"),
        ("convert", "name a model: cgru convert IN OUT"),
        ("help nonsense", "No such command 'nonsense'."),
    ],
)
def test_messages(line, message):
    result = CliRunner().invoke(main, line.split())
    assert result.exit_code == 2
    assert result.stderr.startswith(f"cgru: {message}") and result.stderr.count("\n") == 1


def test_help_is_a_command():
    for line in ("help", "help translate"):
        result = CliRunner().invoke(main, line.split())
        flag = CliRunner().invoke(main, [*line.split()[1:], "--help"])
        assert result.exit_code == 0 and result.stdout == flag.stdout

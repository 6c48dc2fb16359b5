"""`cgru translate --resume`: an interrupted output is continued, wherever it was cut."""

import pytest
from commands import in_process, one_line, write_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgru_cli.translate.job import finished_lines

pytestmark = pytest.mark.usefixtures("prepared_once")
TEXT = "a b c\n\nf f a d\nb unseen\nc\nd d d a\n"
SHORT = ("--translation-maxlen", 6)
LAYOUTS = ((), ("--n-best", "-k", 3), ("--output-sampling", "full", "--seed", 4), ("--alignment",))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The command without an interruption: a function from its options to its output."""
    folder = tmp_path_factory.mktemp("whole")
    model = write_model(folder / "model")
    run, outputs = in_process("translate", folder), {}

    def output(*options):
        if options not in outputs:
            code, outputs[options], messages = run("-m", model, *SHORT, *options, text=TEXT)
            assert code == 0, messages
        return outputs[options]

    return model, output


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(LAYOUTS), st.floats(0, 1))
def test_wherever_it_was_cut(whole, tmp_path, options, share):
    model, output = whole
    expected = output(*options).encode()
    resumed(tmp_path, model, options, expected[: round(share * len(expected))])
    assert (tmp_path / "out").read_bytes() == expected


def resumed(folder, model, options, before):
    """Run the command with --resume on a file of these bytes; returns its messages."""
    from click.testing import CliRunner

    from cgru_cli.cli import main

    (folder / "in").write_text(TEXT)
    if before is not None:
        (folder / "out").write_bytes(before)
    files = ["-i", folder / "in", "-o", folder / "out"]
    given = ["-m", model, *SHORT, *options, *files, "--resume"]
    result = CliRunner().invoke(main, ["translate", *map(str, given)])
    assert result.exit_code == 0, result.stderr
    return result.stderr


def test_a_finished_file_and_none(whole, tmp_path):
    model, output = whole
    expected = output().encode()
    assert "6 lines are translated already" in resumed(tmp_path, model, (), expected)
    assert (tmp_path / "out").read_bytes() == expected
    (tmp_path / "out").unlink()
    resumed(tmp_path, model, (), None)
    assert (tmp_path / "out").read_bytes() == expected


def test_what_cannot_be_continued(whole, tmp_path, translate):
    model, _ = whole
    one_line(translate("-m", model, "--resume", "--heatmap", "x.html", text=TEXT), 2, "--resume")
    out = tmp_path / "out.gz"
    code, _, messages = translate("-m", model, "--resume", text=TEXT, output=out)
    assert code == 2 and "compressed" in messages
    for text, options, part in (
        ("x\n" * 7, (), "has the output of 7 lines, and the input has fewer"),
        ("a line\n", ("--n-best",), "line 1 is not an entry of an n-best list"),
        ("0 ||| a ||| F0= 1\n2 ||| a ||| F0= 1\n", ("--n-best",), "line 2 is not an entry"),
    ):
        from click.testing import CliRunner

        from cgru_cli.cli import main

        (tmp_path / "in").write_text(TEXT)
        (tmp_path / "out").write_text(text)
        given = ["-m", model, *options, "-i", tmp_path / "in", "-o", tmp_path / "out", "--resume"]
        result = CliRunner().invoke(main, ["translate", *map(str, given)])
        assert result.exit_code == 1 and part in result.stderr
        assert (tmp_path / "out").read_text() == text


@pytest.mark.parametrize("option", ["--alignment", "--word-scores"])
def test_several_lines_of_a_translation_cannot_be_continued(whole, translate, option):
    model, _ = whole
    one_line(translate("-m", model, "--compat", "nematus", option, "--resume", text=TEXT), 2,
             "--resume", "lines of their own")  # fmt: skip


def test_lines_that_affect_each_other_are_translated_again(tmp_path):
    path = tmp_path / "out"
    for n_best, line in ((False, "a\n"), (True, "{} ||| a ||| F0= 1\n")):
        for lines, done in ((0, 0), (3, 0), (4, 0 if n_best else 4), (5, 4), (9, 8)):
            path.write_text("".join(line.format(number) for number in range(lines)))
            assert finished_lines(path, n_best=n_best, together=4) == done
            assert len(path.read_text().splitlines()) == done

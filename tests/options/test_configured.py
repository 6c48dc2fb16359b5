"""Configuration files of every command: dumps, paths with variables, folders."""

import json
import os

import pytest
import yaml
from click.testing import CliRunner
from command_lines import parsed

from cgru_cli.cli import main

# A command line of each command, and the options that `--dump-config minimal` shows of it.
LINES = {
    "convert": ("IN OUT --to dl4mt", {"to": "dl4mt"}),
    "prep": ("OUT -s a -t b --seed 5", {"source": ["a"], "target": ["b"], "seed": 5}),
    "train": ("-m m.npz -t a b -v c d", {
        "model": "m.npz", "train-sets": ["a", "b"], "vocabs": ["c", "d"]}),
    "translate": ("-m m.npz -k 3", {"model": ["m.npz"], "beam-size": 3}),
    "score": ("-m m.npz -s a -t b", {"model": ["m.npz"], "source": ["a"], "target": ["b"]}),
}  # fmt: skip


def dumped(command, *arguments):
    done = CliRunner().invoke(main, [command, *arguments])
    assert done.exit_code == 0, done.stderr
    return yaml.safe_load(done.stdout)


@pytest.mark.parametrize("command", LINES)
def test_every_command_dumps_what_was_given_and_all_that_is_in_force(command):
    line, given = LINES[command]
    for form in ("minimal", "expand"):  # without --compat no option stands for another
        assert dumped(command, *line.split(), "--dump-config", form) == given
    full = dumped(command, *line.split(), "--dump-config")
    assert full.items() >= given.items() and len(full) > 2 * len(given)


def test_what_a_program_does_by_default_is_no_option_that_was_given():
    line = "--compat nematus --model m.npz --datasets a b --dictionaries c d --dump-config"
    minimal = dumped("train", *line.split(), "minimal")
    assert minimal["train-sets"] == ["a", "b"] and "valid-freq" not in minimal
    assert dumped("train", *line.split(), "expand")["valid-freq"] == "10000"


FILES = {
    "convert": ("IN", {"average": ["${MODELS}/b.npz"]}, "average", ("b.npz",)),
    "prep": ("OUT", {"source": ["${MODELS}/s"], "target": ["t"]}, "source", ("s",)),
    "train": ("", {"model": "${MODELS}/m.npz", "train-sets": ["s", "t"]}, "model", "m.npz"),
    "translate": ("", {"model": ["${MODELS}/m.npz"]}, "model", ("m.npz",)),
    "score": ("", {"model": ["${MODELS}/m.npz"]}, "model", ("m.npz",)),
}


@pytest.mark.parametrize("form", ["yml", "json"])
@pytest.mark.parametrize("command", FILES)
def test_paths_in_files_of_every_command(command, form, tmp_path, monkeypatch):
    """Variables of the environment, and the folder of the file, by an option or in the file."""
    line, content, field, names = FILES[command]
    monkeypatch.setenv("MODELS", "of")
    path = tmp_path / f"options.{form}"
    given = [*line.split(), "-c", str(path)]

    def expected(folder):
        return folder + names if isinstance(names, str) else tuple(folder + n for n in names)

    def write(**more):
        path.write_text(json.dumps(content | more) if form == "json" else yaml.dump(content | more))

    write()
    assert getattr(parsed(command, *given), field) == expected("${MODELS}/")
    both = ("--interpolate-env-vars", "--relative-paths")
    assert getattr(parsed(command, *given, both[0]), field) == expected("of/")
    assert getattr(parsed(command, *given, *both), field) == expected(f"{tmp_path}/of/")
    write(**{"interpolate-env-vars": True, "relative-paths": True})
    assert getattr(parsed(command, *given), field) == expected(f"{tmp_path}/of/")


def test_a_dump_has_the_same_paths_as_the_files_that_it_is_made_of(tmp_path, monkeypatch):
    """Paths of files are resolved in the dump; if all paths are typed, it stays relative."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of").mkdir()

    def path_of(*line):
        dump = CliRunner().invoke(main, ["translate", *line, "--dump-config", "minimal"]).stdout
        (tmp_path / "of/dump.yml").write_text(dump)
        (tmp_path / "dump.yml").write_text(dump)
        read = [parsed("translate", "-c", file).model[0] for file in ("dump.yml", "of/dump.yml")]
        return parsed("translate", *line).model[0], *read

    file = "of/options.yml"
    for text, more in (("", ["--relative-paths"]), ("relative-paths: true\n", [])):
        (tmp_path / file).write_text(f"{text}model: m.npz\n")
        assert path_of("-c", file, *more) == ("of/m.npz",) * 3
    assert path_of("-m", "m.npz", "--relative-paths") == ("m.npz", "m.npz", "of/m.npz")


@pytest.mark.parametrize("program", [(), ("--compat", "marian")])
@pytest.mark.parametrize("key", ["model", "models"])  # cgru's key, and Marian's
def test_a_configuration_may_come_from_a_pipe(key, program):
    """`-c <(...)`: a pipe can be read only once."""
    reading, writing = os.pipe()
    try:
        os.write(writing, f"{key}: [m.npz]\n".encode())
        os.close(writing)
        given = dumped(
            "translate", *program, "-c", f"/dev/fd/{reading}", "--dump-config", "minimal"
        )
    finally:
        os.close(reading)
    assert given == {"models" if program else "model": ["m.npz"]}

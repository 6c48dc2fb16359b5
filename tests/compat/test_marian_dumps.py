"""Marian's own dumps of its options: each is understood whole, and each option alone."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from shared_files import fixture_path

from cgru_cli.cli import main

pytest.importorskip("pymarian")

SMALL = ["--type", "s2s", "--dim-emb", "4", "--dim-rnn", "4", "--after-batches", "2"]
FORMS = ("full", "expand")
COMMANDS = {"train": "train", "decode": "translate", "score": "score"}  # cgru's, by Marian's


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with three lines of text, where Marian dumps its options."""
    folder = tmp_path_factory.mktemp("dumps")
    for side, language in (("src", "en"), ("trg", "de")):
        lines = fixture_path(f"marian-s2s/{side}.txt").read_text().splitlines()[:3]
        (folder / f"text.{language}").write_text("".join(f"{line}\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def dumps(folder):
    """Marian's dumps, by its command and the form of the dump."""
    vocabularies = [str(fixture_path(f"marian-s2s/vocab.{side}.json")) for side in ("en", "de")]
    texts = [str(folder / f"text.{side}") for side in ("en", "de")]
    model = str(fixture_path("marian-s2s/model.npz"))
    lines = {
        "train": ["-m", str(folder / "m.npz"), "-t", *texts, *SMALL],
        "decode": ["-m", model, "-i", texts[0]],
        "score": ["-m", model, "-t", *texts],
    }
    program = Path(sys.executable).with_name("pymarian")
    found = {}
    for command, line in lines.items():
        for form in FORMS:
            words = [program, command, *line, "-v", *vocabularies, "--dump-config", form]
            done = subprocess.run(words, check=True, capture_output=True, text=True)
            found[command, form] = done.stdout
    return found


def run(command, *arguments):
    return CliRunner().invoke(main, [COMMANDS[command], "--compat", "marian", *arguments])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_whole_dump_runs(dumps, folder, command, form):
    path = folder / f"{command}.{form}.yml"
    path.write_text(dumps[command, form])
    output = [] if command == "train" else ["-o", str(folder / f"{command}.{form}.out")]
    result = run(command, "-c", str(path), *output)
    assert result.exit_code == 0, result.stderr
    if command == "train":
        assert (folder / "m.npz").exists()
    else:
        assert len(Path(output[1]).read_text().splitlines()) == 3


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_alone_is_understood_at_its_default(dumps, tmp_path, command):
    """In a file, and typed if it has a value."""
    whole = yaml.safe_load(dumps[command, "full"])
    common = {key: whole[key] for key in ("model", "models", "train-sets", "type") if key in whole}
    assert len(whole) > 100
    for name, value in whole.items():
        path = tmp_path / "one.yml"
        path.write_text(yaml.safe_dump(common | {name: value}))
        lines = [["-c", str(path)]]
        if value not in ("", None, []) and name != "version":
            lines.append([])
            for key, one in (common | {name: value}).items():
                words = one if isinstance(one, list) else [one]
                lines[-1] += [f"--{key}", *(yaml.safe_dump(word).split("\n")[0] for word in words)]
        for line in lines:
            result = run(command, *line, "--dump-config", "minimal")
            assert result.exit_code == 0, result.stderr

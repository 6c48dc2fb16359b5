"""Marian's own dumps of its options: cgru reads every dump as a whole, and every option alone."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from selection import choice
from shared_files import fixture_path

from cgru_cli.cli import main

pytestmark = pytest.mark.long


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


@pytest.mark.parametrize("form", choice(FORMS, "full"))
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


GIVEN = {  # values that Marian writes in another form, options of both kinds, and aliases
    "train": "-m new.npz -t text.en text.de -v en.json de.json --best-deep -l 1e-5 --seed 007 "
    "--skip 0 --lr-warmup 16000 --no-shuffle --fp16 --alibi -w 2048 "
    "--valid-metrics bleu translation --quiet-translation on --max-length 30 "
    "--data-threads 2 --optimizer-params 0.9 0.98 1e-09 --valid-script-args 007 "
    "--valid-script-path a.sh --exponential-smoothing",
    "decode": "-m {m} -v {en} {de} --normalize --max-length 7 --max-length-crop -b 3 -d 1 2",
    "score": "-m {m} -v {en} {de} -t text.en text.de --summary --n-best-feature S --quiet",
}  # fmt: skip


@pytest.mark.parametrize("form", ["minimal", "full", "expand"])
@pytest.mark.parametrize("command", COMMANDS)
def test_our_dumps_are_those_of_marian(folder, command, form, monkeypatch):
    """In its names and with its values; Marian reads ours and dumps the same again."""
    monkeypatch.chdir(folder)
    paths = {"m": "model.npz", "en": "vocab.en.json", "de": "vocab.de.json"}
    found = {name: fixture_path(f"marian-s2s/{file}") for name, file in paths.items()}
    for name in ("en", "de"):
        (folder / f"{name}.json").write_bytes(found[name].read_bytes())
    line = GIVEN[command].format(**found).split()
    program = [Path(sys.executable).with_name("pymarian"), command]

    def theirs(*words):
        done = subprocess.run([*program, *words], check=True, capture_output=True)
        values = yaml.safe_load(done.stdout)
        if form == "expand":  # Marian adds it to --alibi
            values.pop("separator-symbol", None)
        return values

    done = run(command, *line, "--dump-config", form)
    assert done.exit_code == 0, done.stderr
    ours = yaml.safe_load(done.stdout)
    assert ours == theirs(*line, "--dump-config", form)
    (folder / "ours.yml").write_text(done.stdout)
    assert ours == theirs("-c", "ours.yml", "--dump-config", form)
    again = run(command, "-c", "ours.yml", "--dump-config", form)
    assert yaml.safe_load(again.stdout) == ours, again.stderr


def test_options_of_cgru_are_named_that_the_dump_leaves_out():
    done = run("train", "--keep", "3", "-m", "m.npz", "--dump-config", "minimal")
    assert done.stdout == "model: m.npz\n"
    assert done.stderr == "cgru: note: left out of the file: --keep (marian has no such option)\n"


# A line, and the exit code of Marian's programs.
WRONG = (
    ("train", "--no-such", 109), ("decode", "extra -m m.npz", 109), ("train", "-m", 114),
    ("train", "-m m.npz -t a b --dim-emb abc", 104), ("decode", "-m m.npz --quiet maybe", 104),
    ("decode", "-b x", 104), ("decode", "", 134), ("train", "", 134),
    ("score", "-n abc", 104),
)  # fmt: skip


@pytest.mark.parametrize(("command", "line", "code"), WRONG)
def test_exit_codes_are_marians(command, line, code, tmp_path):
    theirs = subprocess.run(
        [Path(sys.executable).with_name("pymarian"), command, *line.split()],
        cwd=tmp_path, capture_output=True,
    )  # fmt: skip
    assert theirs.returncode % 256 in (code, 256 - 6 if code == 134 else code)
    assert run(command, *line.split()).exit_code == code
    native = CliRunner().invoke(main, [COMMANDS[command], *line.split()])
    assert native.exit_code in (1, 2)


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

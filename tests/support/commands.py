"""Small models in files, and the commands run on them in this process."""

import json
import re

import numpy as np
from cases import random_arrays, tiny
from click.testing import CliRunner
from prepared_once import prepared_once

from cgru_cli.cli import main

SOURCE = ["eos", "UNK", "a", "b", "c", "d", "e@@", "f"]
TARGET = ["eos", "UNK", "A", "B", "C", "D@@", "E", "F"]


def vocabulary(path, words):
    path.write_text(json.dumps({word: i for i, word in enumerate(words)}), "utf-8")
    return str(path)


def write_model(folder, seed=5, name="model.npz", source=SOURCE, target=TARGET, **changes):
    """Write a random model with Nematus' names, with configuration and vocabularies."""
    folder.mkdir(exist_ok=True)
    sizes = {
        "source_vocabularies": (len(source),), "target_vocabulary": len(target), "state": 8,
    }  # fmt: skip
    structure = tiny(**(sizes | changes))
    arrays = random_arrays(structure, seed, scale=2.0)
    arrays["ff_logit_b"][:2] -= (1, 2)  # longer translations, with fewer unknown words
    np.savez(folder / name, **arrays)
    names = ["src.json", "trg.json"]
    (folder / f"{name}.json").write_text(json.dumps({"dictionaries": names}))
    vocabulary(folder / names[0], source)
    vocabulary(folder / names[1], target)
    return str(folder / name)


def as_marian(path, yaml):
    """Add Marian's configuration to the npz of a model."""
    with np.load(path) as file:
        arrays = dict(file)
    arrays["special:model.yml"] = np.frombuffer(yaml.encode() + b"\0", np.int8)
    for name, array in arrays.items():
        if array.ndim == 1 and name != "special:model.yml":
            arrays[name] = array[None]  # Marian's biases are rows
    np.savez(path, **arrays)
    return path


def in_process(command, folder):
    """A function that runs the command on files: (exit code, output, other messages)."""

    def run(*arguments, text=None, output=None):
        target = output or folder / "out.txt"
        target.unlink(missing_ok=True)
        given = [str(a) for a in arguments]
        if text is not None:
            source = folder / "in.txt"
            source.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
            given += ["-i", str(source)]
        with _shared(command):
            result = CliRunner().invoke(main, [command, *given, "-o", str(target)])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        text = target.read_bytes().decode("utf-8") if target.exists() else ""
        report = rf"cgru: {command}: wrote [\d,]+ lines to {re.escape(str(target))}\n"
        return result.exit_code, text, re.sub(report, "", result.stderr)

    return run


def _shared(command):
    if command != "train":
        return prepared_once()
    from traced_once import traced_once  # imports TensorFlow

    return traced_once()


def output_lines(run):
    """The same for commands that must succeed: the lines of their output."""

    def lines(*arguments, **more):
        code, text, messages = run(*arguments, **more)
        assert code == 0, messages
        assert not text or text.endswith("\n")
        return text.split("\n")[:-1]

    return lines


def one_line(outcome, code, *parts):
    """Check that a command fails with one line and writes nothing."""
    returned, text, messages = outcome
    assert returned == code, messages
    last = messages.strip().splitlines()[-1]
    assert "Traceback" not in messages
    for part in parts:
        assert part in last
    if code == 1:
        assert messages.count("\n") == 1
    assert text == ""


def old_style(*tokens):
    return {"eos": 0, "UNK": 1} | {w: i + 2 for i, w in enumerate(tokens)}


def new_style(*tokens):
    return {"<EOS>": 0, "<GO>": 1, "<UNK>": 2} | {w: i + 3 for i, w in enumerate(tokens)}

"""Translate and score with the reference models, and compare with the outputs of their programs.

    python tests/without_tensorflow.py FIXTURES FOLDER

FIXTURES has the models; files are written to FOLDER. Each model is converted to `.h5` and `.onnx`,
whose translations must be the same. This needs only the packages of requirements-runtime.txt.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("support")))
from references import MARIAN, NEMATUS, SCORES

from cgru_cli.cli import main

# Files of translations with a beam of 5 and normalised lengths.
BEST = ("native/nbest.k5.norm1.txt", "best.k5.norm1.txt", "best.k5.norm.txt")
MODELS = ("REF", "model.npz", "model-1500")  # as the command lines name them
NAMES = {"a-shallow/marian-nematus/model.npz": ("-v", "vocab.en.json", "vocab.de.json")}


def faults(name: str, fixtures: Path, folder: Path) -> Iterator[str]:
    """The differences from the outputs of the program that wrote a model."""
    given, model = fixtures / name.partition("/")[0], str(fixtures / name)
    os.chdir(given)
    marian = "marian" in name
    program = "marian" if marian else "dl4mt" if name.startswith("dl4mt") else "nematus-tf"
    texts = "-t src.txt trg.txt" if marian else "-s src.txt -t trg.txt"
    out = str(folder / "out")

    line = ["--compat", program, "-m", model, *NAMES.get(name, ()), *texts.split(), "-o", out]
    run("score", line)
    (file, *_) = SCORES[name]
    pairs = zip(map(float, lines(out)), map(float, lines(file)), strict=True)
    differs = max(abs(own - theirs) / max(1, abs(theirs) / 10) for own, theirs in pairs)
    if differs > (MARIAN if marian else NEMATUS):
        yield f"{name}: scores differ from {file} by {differs:.2g}"

    native = "native" in name
    files = [one for one in BEST if os.path.exists(one) and one.startswith("native") == native]
    if not files or name in NAMES:
        return
    (command,) = [line for line in lines("COMMANDS.txt") if f" {files[0]} " in f"{line} "]
    words = command.partition(" decode " if marian else "translate.py ")[2].split()

    def translated(path: str) -> list[str]:
        new = {files[0]: out, **dict.fromkeys(MODELS, path)}
        run("translate", ["--compat", program, *[new.get(word, word) for word in words]])
        return lines(out)

    found = translated(model)
    # of a list, the numbers and texts
    own, theirs = ([line.split(" ||| ")[:2] for line in x] for x in (found, lines(files[0])))
    differ = sum(x != y for x, y in zip(own, theirs, strict=True))
    if differ:
        yield f"{name}: {differ} lines differ from {files[0]}"
    for kind in ("h5", "onnx"):
        run("convert", [model, converted := f"{folder}/model.{kind}", "--force"])
        if translated(converted) != found:
            yield f"{name}: other translations of the .{kind}"


def run(command: str, words: list[str]) -> None:
    if code := main([command, *words], standalone_mode=False):
        sys.exit(f"cgru {command} {' '.join(words)}: exit code {code}")


def lines(path: str) -> list[str]:
    return [line.strip() for line in Path(path).read_text("utf-8").splitlines()]


if __name__ == "__main__":
    paths = [Path(one).resolve() for one in sys.argv[1:]]
    differences = [one for name in SCORES for one in faults(name, *paths)]
    assert "tensorflow" not in sys.modules
    sys.exit("\n".join(differences) or None)

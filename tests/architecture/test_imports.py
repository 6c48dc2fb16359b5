"""What each command and each name of the Python interface imports, in a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
from commands import write_model

from cgru_cli.convert.job import run as convert
from cgru_cli.options.convert import ConvertOptions

MODELS = ("model.npz", "model.h5", "model-1", "model.onnx", "int8.onnx")
LINES = {
    "translate": [["-m", name, "-i", "source", "--translation-maxlen", "9"] for name in MODELS],
    "score": [["-m", name, "-s", "source", "-t", "target"] for name in MODELS],
    "convert": [
        ["model.npz", "--info"],
        ["int8.onnx", "--info"],
        ["model.npz", "new.h5", "--verify"],
        ["model.h5", "new.npz", "--to", "marian-s2s", "--verify"],
        ["model-1", "from-tf.npz"],
        ["model.npz", "new-1", "--to", "nematus-tf", "--verify"],
        ["model.onnx", "back.npz", "--verify"],
        ["model.h5", "new.onnx", "--precision", "int8"],
        ["model.npz", "missing/m.npz"],  # an error
    ],
}
LINES["translate"] += [
    ["-m", "model.npz", "model.onnx", "-i", "source", "--n-best", "--alignment"],
    ["-m", "model.npz", "-i", "source", "--precision", "int8"],
    ["-m", "model.npz", "-i", "source", "--mbr", "2"],
]
LINES["score"] += [
    ["-m", "model.npz", "-s", "source", "-t", "target", "--word-top-k", "2", "-o", "top.npy"],
    ["--metric", "bleu", "-t", "target", "--reference", "target"],
]
# Prints the exit codes and the imported ones of some packages, after running command lines.
RUN = """
import sys
from cgru_cli.cli import main
codes = [main(line, standalone_mode=False) for line in {lines!r}]
print("codes", *[code or 0 for code in codes], file=sys.stderr)
print("imported", *sorted({packages!r} & sys.modules.keys()), file=sys.stderr)
"""
PYTHON = {
    "translate": "print(cgru_cli.Translator('model.h5').translate('a b').score)",
    "ensemble": "print(cgru_cli.Translator(['model.npz', 'int8.onnx']).translate('a').score)",
    "score": "print(cgru_cli.PairScorer('model-1').score([('a b', 'A B')])[0].score)",
    "write": "cgru_cli.write_model(cgru_cli.load_model('model.npz'), 'written.onnx')",
    "read": "print(cgru_cli.read_model('model.onnx').structure)",
    "other names": "cgru_cli.Structure, cgru_cli.Hypothesis, cgru_cli.evaluate, cgru_cli.prepare",
}
NEEDED_ELSEWHERE = {"tensorflow", "keras", "onnx", "google"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model in files of every kind, and a text."""
    folder = tmp_path_factory.mktemp("models")
    write_model(folder, source_embeddings=(5,))
    with np.load(folder / "model.npz") as file:
        arrays = dict(file) | {"decoder_c_tt": np.zeros(1, np.float32)}
    np.savez(folder / "model.npz", **arrays)
    for name in MODELS[1:]:
        precision = "int8" if name == "int8.onnx" else "float32"
        to = "nematus-tf" if name == "model-1" else None
        path = [str(folder / "model.npz")], str(folder / name)
        convert(*path, ConvertOptions(to=to, precision=precision))
    (folder / "source").write_text("a b c\nb\n")
    (folder / "target").write_text("B C\nA\n")
    return folder


def run(folder, script):
    """The imported packages that a script reports, its exit codes, and its output."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    found = dict(re.findall("^(codes|imported)(.*)$", done.stderr, re.M))
    assert "imported" in found, done.stderr
    return found["imported"].split(), found.get("codes", "").split(), done.stdout


def test_commands_other_than_train_import_no_tensorflow(folder):
    lines = [[command, *line] for command in LINES for line in LINES[command]]
    imported, codes, output = run(folder, RUN.format(lines=lines, packages=NEEDED_ELSEWHERE))
    expected = ["1" if "missing/m.npz" in line else "0" for line in lines]
    assert (imported, codes) == ([], expected)
    assert output


def test_serve_imports_no_tensorflow(folder):
    models = [f"m{i}={name}" for i, name in enumerate(MODELS)]
    lines = [["serve", "-m", *models, "--port", "0", "--quiet"]]
    server = subprocess.Popen(
        [sys.executable, "-c", RUN.format(lines=lines, packages=NEEDED_ELSEWHERE)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    address = re.search(r"http://[\d.:]+/", server.stderr.readline())
    try:
        for i in range(len(MODELS)):
            for kind, body in (
                ("translate", {"texts": ["a b"]}),
                ("score", {"pairs": [{"source": "a b", "target": "B"}]}),
            ):
                request = urllib.request.Request(
                    f"{address[0]}v1/{kind}",
                    json.dumps(body | {"model": f"m{i}"}).encode(),
                    {"Content-Type": "application/json"},
                )
                with urllib.request.urlopen(request) as answer:
                    assert answer.status == 200
    finally:
        server.send_signal(signal.SIGTERM)
        messages = server.communicate()[1]
    assert re.search("^imported *$", messages, re.M), messages


def test_the_python_interface_imports_no_tensorflow_except_for_training(folder):
    uses = "\n".join(
        f"{code}\nassert not {NEEDED_ELSEWHERE!r} & sys.modules.keys(), {use!r}"
        for use, code in PYTHON.items()
    )
    script = f"""
import sys
import cgru_cli
assert not {{"numpy", "onnxruntime"}} & sys.modules.keys()
{uses}
print("imported", file=sys.stderr)
"""
    assert run(folder, script)[0] == []


def test_without_sacrebleu(folder):
    script = "import sys; sys.modules['sacrebleu'] = None\n" + RUN.format(
        lines=[
            ["translate", "-m", "model.npz", "-i", "source", "--mbr", "2", *more]
            for more in ([], ["--mbr-utility", "bleu"])
        ],
        packages=set(),
    )
    assert run(folder, script)[1] == ["0", "1"]
    script = """
import sys
sys.modules["sacrebleu"] = None
import cgru_cli
try:
    cgru_cli.evaluate(['a'], ['a'])
except cgru_cli.CgruError as error:
    print(error)
print("imported", file=sys.stderr)
"""
    assert run(folder, script)[2] == "sacrebleu is not installed: pip install sacrebleu\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["convert", "--help"],
        ["prep", "--help"],
        ["translate", "--help"],
        ["serve", "--help"],
    ],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(arguments, tmp_path):
    heavy = {"tensorflow", "keras", "onnxruntime", "onnx", "numpy", "h5py", "sentencepiece", "yaml"}
    heavy |= {"sacrebleu", "starlette"}
    script = RUN.format(lines=[arguments], packages=heavy)
    imported, _, output = run(tmp_path, script)
    assert imported == [] and output

"""Small valid files of every kind that cgru reads, their readers, and ways to damage them."""

from __future__ import annotations

import functools
import gzip
import io
import json
import pickle
import random
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import checkpoint_index
import numpy as np
import sentencepiece
from command_lines import parsed

from cgru_cli.convert import job
from cgru_cli.corpus import data_weights, word_alignments
from cgru_cli.errors import CgruError
from cgru_cli.formats import write_model
from cgru_cli.formats.loaded_model import LoadedModel
from cgru_cli.formats.model import Model
from cgru_cli.formats.model_vocabularies import find
from cgru_cli.formats.read_model import read
from cgru_cli.formats.shortlist import Shortlist
from cgru_cli.formats.vocabulary_files import read_vocabulary, write_vocabulary
from cgru_cli.options import config_file, feature_weights
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.names import parameters
from cgru_cli.parameters.structure import Normalization, Structure
from cgru_cli.prep.folder import Folder
from cgru_cli.score.n_best import entry
from cgru_cli.system.lines import LineReader
from cgru_cli.text.pipeline import PipelineSettings, Preprocessing
from cgru_cli.text.subwords import Codes, learn_pieces
from cgru_cli.text.unknown_words import read_lexicon
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.run.folder import RunFolder

TOKENS = [
    b"", b"\0", b"\xff" * 4, b"\x7f\xff\xff\xff", b"-1", b"1e400", b"NaN", b"Infinity", b"null",
    b"9" * 400, b"9" * 5000, b"true", b"[]", b"{}", b"[[", b"{{", b'"', b"'", b"\\", b"\\ud800",
    b"\n", b"\r\n", b"\xe2\x80\xa8", b"\xc2\x85", b"*a", b"&a ", b"<<: ", b"!!int ''", b"!!binary ",
    b"!!python/object/apply:os.system [true]", b"? ", b"---\n", b"|||", b"=", b":", b"%", b"#",
    b"\x1b[2J", b"c__builtin__\neval\n", b"(lp0\n", b"a" * 300, b"\x80\x04\x95", b"'O'", b"'<f8'",
    b"(1000000000000,)", b"(True,)", b"(-1, 2)", b"'|S9999999'", b"9L", b"\xed\xa0\x80",
]  # fmt: skip


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Flip, cut, repeat or exchange bytes, or replace them by problematic ones."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        start = chance.randint(0, len(data))
        end = min(len(data), start + chance.choice((0, 1, 1, 4, 16, 100)))
        kind = chance.randint(0, 6)
        if kind == 0 and data:
            place = min(start, len(data) - 1)
            flipped = data[place] ^ 1 << chance.randint(0, 7)
            data = data[:place] + bytes([flipped]) + data[place + 1 :]
        elif kind == 1:
            data = data[:start]
        elif kind == 2:
            data = data[:start] + data[end:]
        elif kind == 3:
            data = data[:end] + data[start:end] * chance.choice((1, 2, 50)) + data[end:]
        elif kind == 4:
            other = chance.randint(0, len(data))
            data = data[:start] + data[other : other + end - start] + data[end:]
        else:
            data = data[:start] + chance.choice(TOKENS) + data[end:]
    return data


class Reader(NamedTuple):
    """good: writes files to a folder; read: reads them and raises only CgruError.

    damage: changes the bytes of a file; victims: the endings of the files to damage.
    """

    good: Callable[[Path], None]
    read: Callable[[Path], object]
    damage: Callable[[bytes, random.Random], bytes] = damaged
    victims: str = ""


WORDS = ["eos", "UNK", "a", "b@@", "é", "\u2581c", "d", "中", "|", '"', "x: y"]


def _structure(**changes) -> Structure:
    sizes = {"source_vocabularies": (11,), "target_vocabulary": 11, "state": 3}
    return Structure(**({"source_embeddings": (2,), "target_embedding": 2} | sizes | changes))


def _vocabulary(folder: Path, name: str = "vocab.json") -> Vocabulary:
    vocabulary = Vocabulary({word: i for i, word in enumerate(WORDS)}, folder / name)
    write_vocabulary(vocabulary, vocabulary.path)
    return vocabulary


def _model(to: str, precision: str = "float32", **changes) -> Callable[[Path], None]:
    def good(folder: Path) -> None:
        structure = _structure(**changes)
        chance = np.random.default_rng(1)
        arrays = {
            p.name: chance.normal(size=p.size(structure)).astype("f4")
            for p in parameters(structure)
        }
        vocabulary = _vocabulary(folder)
        model = Model(folder / "x", structure, arrays, "nematus")
        names = {"h5": "model.h5", "nematus-tf": "model-1", "onnx": "model.onnx"}
        job.write_model(
            LoadedModel(model, [vocabulary], vocabulary),
            folder / names.get(to, "model.npz"),
            to,
            precision=precision,
        )

    return good


def _plain(folder: Path) -> None:
    """A model as written by Nematus: deflated, with a configuration without cgru's keys."""
    _model("nematus")(folder)
    with np.load(folder / "model.npz") as file:
        np.savez_compressed(folder / "model.npz", **dict(file))
    values = json.loads((folder / "model.npz.json").read_text())
    del values["cgru"]
    (folder / "model.npz.json").write_text(json.dumps(values))


def _read_model(folder: Path) -> None:
    names = "model.h5", "model.npz", "model-1.index", "model.onnx"
    paths = [folder / name for name in names]
    model = read(next(path for path in paths if path.exists()), integers=True)
    find(model)
    if model.precision != "float32":
        return
    write_model.arrays_as(model, "npz")
    write_model.own_configuration.own(model, model.program)


def _content(name: str, content: bytes | str) -> Callable[[Path], None]:
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data) and None


def _binary_shortlist() -> bytes:
    """Target words 2 and 6 for source word 2; the checksum is not verified."""
    offsets = [0, 0, 0, *[2] * (len(WORDS) - 2)]
    header = struct.pack("<6Q", 0xF11A48D5013417F5, 0, 2, 2, len(offsets), 2)
    return header + struct.pack(f"<{len(offsets)}Q", *offsets) + struct.pack("<2I", 2, 6)


def _read_shortlist(folder: Path) -> None:
    vocabulary = Vocabulary({word: i for i, word in enumerate(WORDS)})
    shortlist = Shortlist.read(str(folder / "file"), vocabulary, vocabulary, first=0)
    assert max(shortlist.of_words(range(len(WORDS)))) < len(WORDS)


@functools.cache
def _pieces() -> bytes:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c d", "d c b a"] * 9), model_writer=written, vocab_size=12,
        eos_id=0, unk_id=1, bos_id=-1, pad_id=-1, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    return written.getvalue()


def _preprocessing(kind: str) -> Callable[[Path], None]:
    def good(folder: Path) -> None:
        text = "#version: 0.2\na b</w>\n"
        if kind == "bpe":
            text = learn_pieces(["a b c d", "d c b a"] * 9, "bpe", 12, 1.0)
        settings = PipelineSettings(subwords=kind, pieces=True)
        values = Preprocessing(settings, (), (text,)).as_json()
        (folder / "preprocess.json").write_text(json.dumps(values))

    return good


def _preprocess(folder: Path) -> None:
    pipeline = Preprocessing.read(folder)
    pipeline.undo(pipeline.apply("ab ba d"))


def _state(folder: Path) -> None:
    values = {"progress": {"updates": 1}}
    RunFolder(folder / "model.npz").save({"W": np.ones((2, 2), "f4")}, values)


def _prepared(folder: Path) -> None:
    with Folder.locked(folder / "data") as place:
        place.begin({"options": {}, "inputs": []}, {"cgru": "1"}, force=False)
        (place.path / "train.src").write_text("a\n")
        place.step("clean", lambda: {"kept": 1}, ["train.src"])
        place.finish({"train.src": 1}, {})


def _prepare_again(folder: Path) -> None:
    with Folder.locked(folder / "data") as place:
        place.begin({"options": {}, "inputs": []}, {"cgru": "1"}, force=False)


def _lines(parse: Callable[[str], object]) -> Callable[[Path], None]:
    def read_lines(folder: Path) -> None:
        with LineReader(folder / "file") as reader:
            for line in reader.rest():
                parse(line)

    return read_lines


N_BEST = (
    "0 ||| a b c ||| F0= -1.5 F1= -2 ||| -3.5\n0 ||| a ||| F0= -1 F1= -2 ||| -3\n"
    "1 ||| b ||| 0-0 1-1 ||| WordScores= -1 -2 ||| F0= -3 ||| -3\n2 ||| c d ||| 4.25\n"
)
YAML = "dim-emb: 2\ndim-rnn: 3\nvocabs:\n  - vocab.json\n  - 'vocab.json'\nbeam-size: 5\n"
DECODER = (
    "relative-paths: true\nbeam-size: 6\nnormalize: true\nscorers:\n  F0:\n    path: m.npz\n"
    "    type: Nematus\nweights:\n  F0: 1.0\n"
)
TRAINING = "mini-batch: 80\nvalid-sets: [a, b]\nlearn-rate: 1e-4\noptimizer: adam\n"
PICKLE = pickle.dumps({word: i for i, word in enumerate(WORDS)}, 0)
READERS: dict[str, Reader] = {
    "npz of cgru": Reader(_model("npz"), _read_model),
    "npz of Nematus": Reader(_plain, _read_model),
    "npz of DL4MT": Reader(_model("dl4mt"), _read_model),
    "npz of Marian's s2s": Reader(_model("marian-s2s", encoder_transition=2), _read_model),
    "npz of Marian's amun": Reader(
        _model("marian-amun", normalization=Normalization.MARIAN), _read_model
    ),
    "h5": Reader(_model("h5"), _read_model),
    "onnx": Reader(_model("onnx"), _read_model, victims=".onnx"),
    "onnx in 8 bits": Reader(_model("onnx", "int8"), _read_model, victims=".onnx"),
    "checkpoint of Nematus-TF": Reader(_model("nematus-tf"), _read_model),
    "checkpoint of Nematus-TF, checksums corrected": Reader(
        _model("nematus-tf"), _read_model, checkpoint_index.changed, ".index"
    ),
    "vocabulary of Nematus": Reader(
        lambda folder: _vocabulary(folder) and None, lambda f: read_vocabulary(f / "vocab.json")
    ),
    "vocabulary of Marian": Reader(
        _content("file", "</s>: 0\n<unk>: 1\na: 2\n'b': 3\n\"c\\td\": 4\n? e\n: 5\n"),
        lambda f: read_vocabulary(f / "file"),
    ),
    "vocabulary of lines": Reader(
        _content("file", "</s>\n<unk>\na\nb\n"), lambda f: read_vocabulary(f / "file")
    ),
    "vocabulary of DL4MT": Reader(
        _content("file.pkl", PICKLE), lambda f: read_vocabulary(f / "file.pkl")
    ),
    "vocabulary, gzipped": Reader(
        _content("file", gzip.compress(b"</s>\n<unk>\na\n", mtime=0)),
        lambda f: read_vocabulary(f / "file"),
    ),
    "vocabulary of SentencePiece": Reader(
        lambda folder: (folder / "file").write_bytes(_pieces()) and None,
        lambda f: read_vocabulary(f / "file"),
    ),
    "preprocess.json, codes": Reader(_preprocessing("subword-nmt"), _preprocess),
    "preprocess.json, SentencePiece": Reader(_preprocessing("bpe"), _preprocess),
    "codes": Reader(
        _content("file", "#version: 0.2\na b</w>\nab c\n"),
        lambda f: Codes((f / "file").read_bytes().decode("utf-8", "replace"), "file").split("abc"),
    ),
    "lexicon": Reader(
        _content("file", "a b 0.5\nc\td e\t-1\nf g\n"), lambda f: read_lexicon(f / "file")
    ),
    "shortlist": Reader(
        lambda folder: _vocabulary(folder) and _content("file", "d a 0.5\na d 0.1\n")(folder),
        _read_shortlist,
    ),
    "binary shortlist": Reader(
        lambda folder: _vocabulary(folder) and _content("file", _binary_shortlist())(folder),
        _read_shortlist,
    ),
    "state of a training run": Reader(_state, lambda f: RunFolder(f / "model.npz").load()),
    "prepared folder": Reader(_prepared, _prepare_again),
    "n-best list": Reader(_content("file", N_BEST), _lines(entry.parse)),
    "alignments": Reader(
        _content("file", "0-0 1-1 2-0\n\n1-2\n"),
        _lines(lambda line: word_alignments.parse(line, 3, 3)),
    ),
    "weights": Reader(_content("file", "1.0\n0.5\n2\n"), _lines(data_weights.parse_sentence)),
    "feature weights": Reader(
        _content("file", '{"F0": 1.0, "F1": 0.5}'), lambda f: feature_weights.read(str(f / "file"))
    ),
    "decoder.yml": Reader(
        _content("decoder.yml", DECODER),
        lambda f: parsed("translate", "-c", f / "decoder.yml"),
    ),
    "options of a training run, YAML": Reader(
        _content("file.yml", TRAINING),
        lambda f: config_file.settings(config_file.load(str(f / "file.yml")), TrainOptions),
    ),
    "options of a training run, JSON": Reader(
        _content("file.json", '{"mini-batch": 80, "valid-sets": ["a", "b"], "learn-rate": 1e-4}'),
        lambda f: config_file.settings(config_file.load(str(f / "file.json")), TrainOptions),
    ),
}


@functools.cache
def good(kind: str) -> dict[str, bytes]:
    """The valid files of a kind, by name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        READERS[kind].good(folder)
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.endswith(".lock")
        }


def read_damaged(kind: str, folder: Path, chance: random.Random) -> str:
    """Read files of a kind after damaging one; return the error message, "" if there is none.

    Raises AssertionError if the error is not a proper message, and passes other exceptions on.
    """
    files = good(kind)
    reader = READERS[kind]
    victim = chance.choice(sorted(name for name in files if name.endswith(reader.victims)))
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(reader.damage(content, chance) if name == victim else content)
    try:
        reader.read(folder)
    except CgruError as error:
        message = str(error)
        assert message and message.isprintable() and len(message) < 9000, message
        return message
    return ""

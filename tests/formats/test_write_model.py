"""Models written in the format of every program, and read back bit for bit."""

import dataclasses
import json
import pickle

import numpy as np
import pytest
from cases import random_arrays, small_structure
from selection import choice
from shared_files import FIXTURES, fixture_path

from cgru_cli.convert.job import verify
from cgru_cli.errors import CgruError, UsageError
from cgru_cli.formats import model_vocabularies, pickles, write_model
from cgru_cli.formats.capabilities import cannot_hold
from cgru_cli.formats.dialects import MARIAN_YAML
from cgru_cli.formats.model import Model
from cgru_cli.formats.pickles import as_pickle
from cgru_cli.formats.read_model import read
from cgru_cli.formats.tensorflow_checkpoint import write_checkpoint
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.options.convert import TO
from cgru_cli.parameters.structure import Activation, Bias, Dropout, Encoder, Normalization
from cgru_cli.text.vocabulary import Vocabulary

# The computable reference cases, and the formats (besides npz and h5) that hold each.
ALL = {"dl4mt", "nematus", "nematus-tf", "marian-amun", "marian-nematus", "marian-s2s"}
# tests/formats/test_onnx_file.py and tests/convert/test_web.py have the others
FORMATS = [to for to in TO if to not in ("onnx", "web")]
HOLDERS = {
    "a-shallow/model.npz": ALL,
    "a-shallow/marian-nematus/model.npz": ALL,
    "a-shallow/native/ref": ALL,
    "b-layernorm/model.npz": {"nematus", "nematus-tf", "marian-nematus"},
    "c-tied-dec/model.npz": ALL - {"dl4mt"},
    "d-tied-all/model.npz": ALL - {"dl4mt", "marian-nematus"},
    "e-deep-tf/native/model-1500": {"nematus-tf"},
    "e2-deep-theano/model.npz": {"nematus", "nematus-tf", "marian-s2s"},
    "f-factors/model.npz": {"nematus", "nematus-tf"},
    "f-factors/model.padded.npz": {"nematus", "nematus-tf"},
    "marian-amun/model.npz": ALL,
    "marian-amun-ln/model.npz": {"marian-amun", "marian-s2s"},
    "marian-nematus/model.npz": ALL,
    "marian-nematus-ln/model.npz": {"nematus", "nematus-tf", "marian-nematus"},
    "marian-s2s/model.npz": ALL,
    "marian-s2s-deep/model.npz": {"marian-s2s"},
    "marian-s2s-lstm/model.npz": {"marian-s2s"},
    "marian-s2s-tanh/model.npz": {"marian-s2s"},
    "marian-s2s-bi-unidirectional/model.npz": {"marian-s2s"},
    "marian-s2s-bi-uni-cell2-skip/model.npz": {"marian-s2s"},
    "dl4mt-session0/model.npz": {"dl4mt", "marian-s2s"},
    "dl4mt-session1/model.npz": {"dl4mt"},
}
FILE = {"h5": "model.h5", "nematus-tf": "model-7"}


def target(folder, to):
    """The path for a format, in its own folder."""
    (folder / to).mkdir(exist_ok=True)
    return folder / to / FILE.get(to, "model.npz")


def vocabularies_of(model):
    """The model's vocabularies, if they can be found."""
    return model_vocabularies.find(model) if model.settings.vocabularies else []


def without_own_words(path):
    """Remove the keys that only cgru reads from a configuration."""
    file = path.with_name(path.name + ".json")
    if file.exists():
        values = json.loads(file.read_text())
        values.pop("cgru", None)
        file.write_text(json.dumps(values))


def make(structure, path="model.npz", program="nematus"):
    """A model of random numbers with this path."""
    return Model(path, structure, random_arrays(structure), program)


CHOSEN = (
    "a-shallow/model.npz", "d-tied-all/model.npz", "e-deep-tf/native/model-1500",
    "f-factors/model.padded.npz", "marian-amun/model.npz", "marian-nematus-ln/model.npz",
    "marian-s2s-deep/model.npz", "dl4mt-session1/model.npz",
)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", choice(HOLDERS, *CHOSEN))
def test_a_model_is_read_back_from_every_format_that_holds_it(name, tmp_path):
    fixture_path(name.split("/")[0])
    model = read(FIXTURES / name)
    vocabularies = vocabularies_of(model)
    write_model.write(model, tmp_path / "model.h5", "h5", vocabularies)
    through_h5 = read(tmp_path / "model.h5")
    verify(model, through_h5)
    assert through_h5.program == model.program
    assert through_h5.inert.keys() == model.inert.keys()
    for to in FORMATS:
        lost = cannot_hold(model.structure, to)
        path = target(tmp_path, to)
        if to not in {*HOLDERS[name], "npz", "h5"}:
            with pytest.raises(CgruError, match="cannot be written as") as refused:
                write_model.write(through_h5, path, to)
            assert all(text in str(refused.value) for text in lost) and lost
            assert not list(path.parent.iterdir())
            continue
        assert not lost
        write_model.write(through_h5, path, to, vocabularies_of(through_h5))
        if to not in ("npz", "h5"):
            without_own_words(path)
        again = read(path)
        verify(model, again)
        if vocabularies:
            found = [v.fingerprint for v in model_vocabularies.find(again)]
            assert found == [v.fingerprint for v in vocabularies]
        write_model.write(again, path.parent / "back.npz", "npz")
        verify(model, read(path.parent / "back.npz"))


@pytest.mark.long
@pytest.mark.parametrize("name", [n for n in HOLDERS if "marian" in n and "native" not in n])
def test_marian_files_are_the_same_after_npz_and_h5(name, tmp_path):
    path = fixture_path(name)
    original = read(path)
    write_model.write(original, tmp_path / "one.npz", "npz")
    write_model.write(read(tmp_path / "one.npz"), tmp_path / "two.h5", "h5")
    to = original.program
    write_model.write(read(tmp_path / "two.h5"), target(tmp_path, to), to)
    with np.load(path) as before, np.load(target(tmp_path, to)) as after:
        names = set(before.files) - {"history_errs", "uidx"}
        assert names == set(after.files)
        for array in names:
            assert before[array].dtype == after[array].dtype
            assert before[array].tobytes() == after[array].tobytes()
            assert after[array].flags.c_contiguous
            if before[array].ndim == 2:
                assert before[array].shape == after[array].shape


@pytest.mark.parametrize("to", ["marian-amun", "marian-nematus", "marian-s2s"])
def test_marian_form(to, tmp_path):
    model = make(small_structure())
    path = target(tmp_path, to)
    write_model.write(model, path, to)
    with np.load(path) as stored:
        yaml = stored[MARIAN_YAML]
        assert yaml.dtype == np.int8 and yaml[-1] == 0 and yaml.size % 256 == 0
        # Marian aborts if a shallow model says skip
        assert model.structure.residual and b"\nskip: false\n" in yaml.tobytes()
        biases = [name for name in stored.files if name.endswith("_b")]
        assert biases and all(stored[name].shape[0] == 1 for name in biases)
        assert ("decoder_c_tt" in stored.files) == (to != "marian-s2s")
        if to != "marian-s2s":
            assert stored["decoder_c_tt"].shape == (1, 0)
    assert (path.parent / "model.npz.decoder.yml").read_text().startswith("relative-paths: true")


DEEP = {
    "encoder_depth": 2,
    "encoder_transition": 2,
    "decoder_depth": 2,
    "decoder_base_transition": 3,
}
SYNTHETIC = {
    "weight-norm": ({"weight_normalization": True}, {"nematus"}),
    "weight-and-layer-norm": (
        {"weight_normalization": True, "normalization": Normalization.NEMATUS},
        {"nematus"},
    ),
    "old-dropout": ({"old_dropout": Dropout(0.1, 0.2, 0.3, 0.4, 0.2)}, {"nematus"}),
    "dl4mt-dropout": ({"old_dropout": Dropout(readout=0.5)}, {"dl4mt"}),
    "mixture": ({"mixture": 3}, {"nematus-tf"}),
    "lexical": ({"lexical": True}, {"nematus-tf"}),
    "prelu": ({"readout_activation": Activation.PRELU}, {"nematus-tf"}),
    "relu": ({"readout_activation": Activation.RELU}, {"nematus-tf"}),
    "linear": ({"readout_activation": Activation.LINEAR}, {"nematus-tf"}),
    "rms": ({"normalization": Normalization.RMS}, {"nematus-tf"}),
    "deep-context": (
        DEEP | {"deep_context": True, "decoder_high_transition": 2},
        {"nematus", "nematus-tf"},
    ),
    "three-levels": (
        {"encoder_depth": 3, "decoder_depth": 3},
        {"nematus", "nematus-tf", "marian-s2s"},
    ),
    "tf-bias": (DEEP | {"bias": Bias.NEMATUS_TF}, {"nematus-tf"}),
    "tf-bias-decoder": ({"decoder_depth": 2, "bias": Bias.NEMATUS_TF}, {"nematus-tf"}),
    "tied-src": (
        {"source_vocabularies": (13,), "shared_embeddings": True},
        {"nematus", "nematus-tf", "marian-amun", "marian-s2s"},
    ),
    "factors": (
        {"source_vocabularies": (11, 3, 4), "source_embeddings": (3, 2, 1)},
        {"nematus", "nematus-tf"},
    ),
    "shared-factors": (
        {
            "source_vocabularies": (13, 3),
            "source_embeddings": (6, 2),
            "shared_embeddings": True,
        },
        {"nematus-tf"},
    ),
    "widths": ({"source_embeddings": (5,)}, set()),
    "one-direction": (
        DEEP | {"encoder": Encoder.BIDIRECTIONAL, "residual": False},
        {"marian-nematus", "marian-s2s"},
    ),
    "marian-norm-deep": (DEEP | {"normalization": Normalization.MARIAN}, {"marian-s2s"}),
    "deep-widths": (DEEP | {"source_embeddings": (5,)}, set()),
}


@pytest.mark.parametrize("name", SYNTHETIC)
def test_structures_without_a_reference_case(name, tmp_path):
    changes, holders = SYNTHETIC[name]
    model = make(small_structure(**changes))
    for to in FORMATS:
        path = target(tmp_path, to)
        if to not in {*holders, "npz", "h5"}:
            assert cannot_hold(model.structure, to), to
            continue
        assert not cannot_hold(model.structure, to), to
        write_model.write(model, path, to)
        if to not in ("npz", "h5"):
            without_own_words(path)
        verify(model, read(path))


def test_npz_has_no_keys_of_nematus_that_would_compute_it_differently(tmp_path):
    model = make(small_structure(decoder_depth=2, bias=Bias.NEMATUS_TF))
    write_model.write(model, tmp_path / "model.npz", "npz")
    assert set(json.loads((tmp_path / "model.npz.json").read_text())) == {"cgru"}


def test_nematus_tf_gets_theano_keys_for_deep_theano_models(tmp_path):
    write_model.write(make(small_structure(**DEEP)), tmp_path / "model-1", "nematus-tf")
    values = json.loads((tmp_path / "model-1.json").read_text())
    assert "embedding_size" not in values and values["model_version"] == 0.2


def test_nematus_tf_of_2018_has_biases_that_it_does_not_use(tmp_path):
    """Its encoder has them in transition cells; the configuration states the convention."""
    theano, native = (make(small_structure(**DEEP, bias=bias)) for bias in Bias)
    path = tmp_path / "model-1"
    write_model.write(native, path, "nematus-tf")
    without_own_words(path)
    zeros = {n: a * 0 for n, a in write_model.arrays_as(theano, "nematus-tf").items()}
    arrays = zeros | write_model.arrays_as(native, "nematus-tf")
    assert len(arrays) == len(native.arrays) + 8
    write_checkpoint(path, arrays)
    verify(native, read(path))


def test_decoding_and_original_bias_of_the_attention_are_kept(tmp_path):
    model = make(small_structure())
    model.settings.beam_size, model.settings.normalize = 7, 0.6
    model.settings.word_penalty = 0.0  # a setting, unlike None
    model.settings.right_left = model.settings.source_reversed = True
    model.inert["decoder_c_tt"] = np.array([3], dtype=np.int64)
    for to in ("npz", "h5"):
        write_model.write(model, target(tmp_path, to), to)
        again = read(target(tmp_path, to))
        settings = again.settings
        assert (settings.beam_size, settings.normalize, settings.right_left) == (7, 0.6, True)
        assert settings.source_reversed
        assert settings.word_penalty == 0
        assert again.inert["decoder_c_tt"].dtype == np.int64
        assert again.inert["decoder_c_tt"].tolist() == [3]


def test_marian_reads_the_source_from_the_end_that_it_writes_from(tmp_path):
    """Models that read and write from different ends cannot be written for Marian."""
    model = make(small_structure())
    model.settings.right_left = True
    with pytest.raises(CgruError, match=r"marian-amun: it has a decoder from right to left over"):
        write_model.write(model, target(tmp_path, "marian-amun"), "marian-amun")
    model.settings.source_reversed = True
    write_model.write(model, target(tmp_path, "marian-amun"), "marian-amun")
    settings = read(target(tmp_path, "marian-amun")).settings
    assert settings.right_left and settings.source_reversed


@pytest.mark.parametrize("to", ["dl4mt", "nematus", "nematus-tf"])
@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        ({}, ""),
        ({"right_left": True}, "a model writes right to left"),
        ({"right_left": True, "source_reversed": True}, "a model writes and reads right to left"),
    ],
)
def test_other_programs_do_not_know_the_direction_of_a_model(
    tmp_path, capsys, settings, warning, to
):
    model = make(small_structure())
    model.settings = dataclasses.replace(model.settings, **settings)
    write_model.write(model, target(tmp_path, to), to)
    warned = capsys.readouterr().err
    assert warned.count("cgru: warning: ") == bool(warning) and warning in warned


def test_dl4mt_options_are_a_python_2_pickle(tmp_path):
    model = make(small_structure())
    words = ["eos", "UNK", "naïve", "it's", 'a"b', "\\n", "中文"]
    vocabulary_path = tmp_path / "words.json"
    vocabulary_path.write_text(json.dumps({w: i for i, w in enumerate(words)}))
    vocabulary = read_vocabulary(vocabulary_path)
    path = target(tmp_path, "dl4mt")
    write_model.write(model, path, "dl4mt", [vocabulary, vocabulary])
    options = pickle.loads((path.parent / "model.npz.pkl").read_bytes(), encoding="ascii")
    assert options["dim_word"] == 6 and options["dictionaries"] == ["words.pkl"] * 2
    pickled = pickle.loads((path.parent / "words.pkl").read_bytes(), encoding="bytes")
    assert pickled == {w.encode(): i for i, w in enumerate(words)}
    assert read_vocabulary(path.parent / "words.pkl").fingerprint == vocabulary.fingerprint


@pytest.mark.parametrize("value", [None, True, 5, -1.5, "ä'\"\n", [1, ["x"]], {"a": {"b": 2}}])
def test_pickles_are_read_back(value):
    assert pickles.load(as_pickle(value), "test") == value


def test_marian_vocabularies_are_rewritten_where_marian_needs_it(tmp_path):
    model = make(small_structure())
    odd = tmp_path / "odd.json"
    odd.write_text(json.dumps({"<EOS>": 0, "<GO>": 1, "<UNK>": 2, "word": 3}))
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps({"eos": 0, "UNK": 1, "word": 2}))
    vocabularies = [read_vocabulary(odd), read_vocabulary(plain)]
    path = target(tmp_path, "marian-amun")
    write_model.write(model, path, "marian-amun", vocabularies)
    assert (path.parent / "plain.json").read_bytes() == plain.read_bytes()
    rewritten = read_vocabulary(path.parent / "odd.yml")
    assert (rewritten.words[0], rewritten.words[2]) == ("</s>", "<unk>")
    assert read(path).settings.vocabularies == ["odd.yml", "plain.json"]


def test_vocabularies_with_the_same_name_do_not_overwrite_each_other(tmp_path):
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "vocab.json").write_text(json.dumps({"eos": 0, "UNK": 1, side: 2}))
    both = [read_vocabulary(tmp_path / side / "vocab.json") for side in ("a", "b")]
    path = target(tmp_path, "npz")
    write_model.write(make(small_structure()), path, "npz", both)
    found = model_vocabularies.find(read(path))
    assert [v.words[2] for v in found] == ["a", "b"]


@pytest.mark.parametrize("to", ["npz", "nematus", "dl4mt", "marian-amun"])
def test_vocabularies_without_a_file_are_written(tmp_path, to):
    both = [
        Vocabulary({"</s>": 0, "<unk>": 1, side: 2}, tmp_path / f"{side}.json") for side in "ab"
    ]
    path = target(tmp_path, to)
    write_model.write(make(small_structure()), path, to, both)
    found = model_vocabularies.find(read(path))
    assert [v.words[2] for v in found] == ["a", "b"]


def test_nothing_is_overwritten_without_force(tmp_path):
    model = make(small_structure())
    other = make(small_structure(normalization=Normalization.NEMATUS))
    path = tmp_path / "model.npz"
    write_model.write(model, path, "nematus")
    before = path.read_bytes()
    for to in ("npz", "nematus", "marian-nematus"):
        with pytest.raises(CgruError, match="exists; --force"):
            write_model.write(other, path, to)
    assert path.read_bytes() == before
    for end in (".data-00000-of-00001", ".meta"):
        left = tmp_path / f"checkpoint{end}"
        left.write_text("precious")
        with pytest.raises(CgruError, match=f"checkpoint{end}: exists; --force"):
            write_model.write(model, tmp_path / "checkpoint", "nematus-tf")
        assert left.read_text() == "precious"
        left.unlink()
    vocabulary = Vocabulary({"eos": 0, "UNK": 1}, tmp_path / "v.json")
    (tmp_path / "v.json").write_text('{"eos": 0, "UNK": 1}')
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "v.json").write_text('{"eos": 0, "UNK": 1, "else": 2}')
    with pytest.raises(CgruError, match="exists and differs from"):
        write_model.write(model, tmp_path / "out" / "m.npz", "npz", [vocabulary, vocabulary])
    assert not (tmp_path / "out" / "m.npz").exists()


def test_the_configuration_of_a_replaced_model_is_removed(tmp_path):
    path = tmp_path / "model.npz"
    write_model.write(make(small_structure(old_dropout=Dropout(readout=0.5))), path, "npz")
    model = make(small_structure())
    write_model.write(model, path, "marian-amun", force=True)
    verify(model, read(path))
    write_model.write(model, path, "nematus", force=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.npz", "model.npz.json"]


@pytest.mark.parametrize("to", FORMATS)
def test_preprocessing_is_copied(to, tmp_path):
    path = target(tmp_path, to)
    beside = path.with_name(f"{path.name}.preprocess.json")
    beside.write_text("of another model")
    model = make(small_structure(), path=tmp_path / "in.npz")
    with pytest.raises(CgruError, match=r"preprocess.json: exists; --force"):
        write_model.write(model, path, to)
    assert [file.name for file in path.parent.iterdir()] == [beside.name]
    write_model.write(model, path, to, force=True)
    assert not beside.exists()
    content = b'{"format": "cgru-preprocess", "text": "\xc3\xa4"}\n'
    (tmp_path / "in.npz.preprocess.json").write_bytes(content)
    write_model.write(model, path, to, force=True)
    assert beside.read_bytes() == content
    verify(model, read(path))
    before = {file: file.read_bytes() for file in path.parent.iterdir()}
    (tmp_path / "in.npz.preprocess.json").unlink()
    (tmp_path / "in.npz.preprocess.json").mkdir()
    with pytest.raises(CgruError, match=r"in.npz.preprocess.json: "):
        write_model.write(model, path, to, force=True)
    assert {file: file.read_bytes() for file in path.parent.iterdir()} == before


def test_paths_that_do_not_fit(tmp_path):
    model = make(small_structure())
    for path, to in (("m.h5", "npz"), ("m", "nematus"), ("m.npz", "h5"), ("m.npz", "nematus-tf")):
        with pytest.raises(UsageError):
            write_model.write(model, tmp_path / path, to)
    for to in ("npz", "h5", "nematus-tf"):
        with pytest.raises(CgruError, match=f"folder {tmp_path}/nowhere does not exist$"):
            write_model.write(model, tmp_path / "nowhere" / FILE.get(to, "model.npz"), to)
    assert not list(tmp_path.iterdir())


def test_a_model_is_not_written_over_itself(tmp_path):
    path = tmp_path / "model.npz"
    write_model.write(make(small_structure()), path, "npz")
    before = path.read_bytes()
    (tmp_path / "link.npz").symlink_to(path)
    for out in (path, tmp_path / "link.npz"):
        with pytest.raises(CgruError, match="same file"):
            write_model.write(read(path), out, "nematus", force=True)
    assert path.read_bytes() == before


def test_equal_models_give_equal_files(tmp_path):
    model = make(small_structure(**DEEP))
    for name in ("a.npz", "b.npz"):
        write_model.write(dataclasses.replace(model), tmp_path / name, "npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_a_model_of_no_program_is_refused():
    with pytest.raises(CgruError, match=r"^model\.npz: program 'cgru': expected one of dl4mt, "):
        make(small_structure(), program="cgru")

"""Damaged models, unusual arrays and files that are not models: a one-line error, or a model."""

import io
import json
import pickle
import re
import struct
import zipfile

import click.testing
import h5py
import numpy as np
import pytest
from cases import random_arrays, small_structure
from models import nmtpy, typed
from shared_files import FIXTURES, SHARED, fixture_path, need
from tables import each_row

from cgru_cli.cli import main
from cgru_cli.convert.job import verify
from cgru_cli.errors import CgruError
from cgru_cli.formats import pickles, write_model
from cgru_cli.formats.model import Model
from cgru_cli.formats.read_configuration import from_marian, from_nematus
from cgru_cli.formats.read_model import read
from cgru_cli.parameters.structure import Bias, Dropout, Encoder, Normalization, Type
from cgru_cli.system.structured_files import parse_yaml, read_json


def npz(path, arrays):
    """An `.npz` of these arrays, written by NumPy itself."""
    np.savez(path, **arrays)
    return path


def refused(tmp_path, path, *words):
    """`cgru convert` prints one line with these words, exits with 1 and writes nothing."""
    out = tmp_path / "refused-out.npz"
    result = click.testing.CliRunner().invoke(main, ["convert", str(path), str(out)])
    assert result.exit_code == 1, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    lines = [line for line in result.stderr.splitlines() if "warning" not in line]
    assert len(lines) == 1 and lines[0].startswith("cgru: "), result.stderr
    for word in words:
        assert word in lines[0]
    assert not [file for file in tmp_path.iterdir() if "refused-out" in file.name]
    return lines[0]


@pytest.fixture
def arrays():
    """A small plain model's arrays."""
    return random_arrays(small_structure())


def test_no_model_at_all(tmp_path):
    refused(tmp_path, tmp_path / "absent.npz", "no such file")
    (tmp_path / "run.npz").touch()
    refused(tmp_path, tmp_path / "run", "run: no such file; ", "run.npz?")
    of_the_repository = "come with the repository of cgru"
    refused(
        tmp_path,
        tmp_path / "examples/none.npz",
        "examples/none.npz: no such file",
        of_the_repository,
    )
    example = refused(tmp_path, tmp_path / "examples/en-de.npz", "examples/en-de.npz?")
    assert of_the_repository not in example
    beside = tmp_path / "examples" / "own"
    beside.parent.mkdir()
    beside.with_suffix(".npz").touch()
    assert of_the_repository not in refused(tmp_path, beside, "own.npz?")
    refused(tmp_path, tmp_path, "is a directory")
    for name, content, word in (
        ("empty.npz", b"", "is empty"),
        ("text.npz", b"some text\n", "not a model file"),
        ("pointer.npz", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "LFS"),
        ("hdf.h5", b"\x89HDF\r\n\x1a\n and nothing more", "not a complete HDF5 file"),
        ("zip.npz", b"PK\x03\x04 and nothing more", "not a complete .npz"),
    ):
        (tmp_path / name).write_bytes(content)
        refused(tmp_path, tmp_path / name, word, name)
    with zipfile.ZipFile(tmp_path / "none.npz", "w"):
        pass
    refused(tmp_path, tmp_path / "none.npz", "holds no model")


@pytest.mark.parametrize("suffix", ["npz", "h5"])
def test_truncated_anywhere(tmp_path, arrays, suffix):
    model = Model(tmp_path / "x", small_structure(), arrays, "nematus")
    write_model.write(model, tmp_path / f"whole.{suffix}", suffix)
    whole = (tmp_path / f"whole.{suffix}").read_bytes()
    for part in (1, 9, 100, len(whole) // 3, len(whole) // 2, len(whole) - 30, len(whole) - 1):
        file = tmp_path / f"part{part}.{suffix}"
        file.write_bytes(whole[:part])
        refused(tmp_path, file, file.name)


def test_damaged_bytes_never_give_a_traceback(tmp_path, arrays):
    model = Model(tmp_path / "x", small_structure(), arrays, "nematus")
    generator = np.random.default_rng(0)
    for suffix in ("npz", "h5"):
        write_model.write(model, tmp_path / f"whole.{suffix}", suffix)
        whole = (tmp_path / f"whole.{suffix}").read_bytes()
        for place in generator.integers(0, len(whole), 60):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << int(generator.integers(8))
            file = tmp_path / f"damaged.{suffix}"
            file.write_bytes(damaged)
            try:
                read(file)
            except CgruError as error:
                assert "\n" not in str(error)


def test_arrays_that_do_not_fit(tmp_path, arrays):
    def changed(**changes):
        kept = {n: a for n, a in (arrays | changes).items() if a is not None}
        return npz(tmp_path / "model.npz", kept)

    refused(tmp_path, changed(decoder_U=np.ones((4, 9), "f4")), "decoder_U", "(4, 8)", "(4, 9)")
    refused(tmp_path, changed(decoder_U=np.ones(8, "f4")), "decoder_U", "(4, 8)", "(8,)")
    refused(tmp_path, changed(decoder_Wcx=None), "missing 1 array", "decoder_Wcx (8, 4)")
    refused(tmp_path, changed(mystery=np.ones(3, "f4")), "mystery", "unknown")
    refused(tmp_path, changed(encoder_3_U=np.ones((4, 8), "f4")), "missing", "encoder_2_U")
    for value in (np.nan, np.inf, -np.inf):
        bad = arrays["ff_logit_b"].copy()
        bad[3] = value
        refused(tmp_path, changed(ff_logit_b=bad), "ff_logit_b", "not finite")
    refused(tmp_path, changed(Wemb=np.ones((11, 6), np.int64)), "Wemb", "int64")
    refused(tmp_path, changed(Wemb=np.ones((11, 6), np.complex64)), "Wemb", "complex64")
    refused(tmp_path, changed(Wemb=np.array("text")), "Wemb")


def test_every_array_cut_by_one_is_named_with_its_shape(tmp_path, arrays):
    """The other arrays outvote it. Only the rows of the source embedding can be any number."""
    path = tmp_path / "model.npz"
    for name, array in arrays.items():
        for axis, length in enumerate(array.shape):
            if length < 2 or (name, axis) == ("Wemb", 0):
                continue
            npz(path, arrays | {name: array.take(range(length - 1), axis=axis)})
            with pytest.raises(CgruError) as error:
                read(path)
            assert name in re.findall(r"\w+", str(error.value))
            assert str(array.shape) in str(error.value)


@pytest.mark.parametrize("kind", ["float64", "float16", "big-endian", "fortran"])
def test_arrays_in_another_form_are_read(tmp_path, arrays, kind, capsys):
    halves = {name: array.astype("f2").astype("f4") for name, array in arrays.items()}
    make = {
        "float64": lambda a: a.astype("f8"),
        "float16": lambda a: a.astype("f2"),
        "big-endian": lambda a: a.astype(">f4"),
        "fortran": np.asfortranarray,
    }[kind]
    model = read(npz(tmp_path / "model.npz", {name: make(a) for name, a in halves.items()}))
    for name, array in halves.items():
        assert model.arrays[name].dtype == np.dtype("<f4")
        assert model.arrays[name].flags.c_contiguous
        assert model.arrays[name].tobytes() == array.tobytes()
    assert ("rounded to float32" in capsys.readouterr().err) == kind.startswith("float")


def with_member(path, arrays, name, content, method=zipfile.ZIP_STORED):
    """An `.npz` of these arrays and one more member with this content."""
    npz(path, arrays)
    with zipfile.ZipFile(path, "a", method) as archive:
        archive.writestr(name, content)
    return path


def npy(header, body=b""):
    """An `.npy` with this header."""
    text = header.encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + body


def test_forged_headers_allocate_nothing(tmp_path, arrays):
    del arrays["Wemb"]
    path = tmp_path / "model.npz"
    rows = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s, 6)}\n"
    for shape in ("1000000000000", "-1", "10**12", "True"):
        with_member(path, arrays, "Wemb.npy", npy(rows % shape))
        refused(tmp_path, path, "Wemb")
    long = npy(rows % ("1" + " " * 2_000_000))
    with_member(path, arrays, "Wemb.npy", long, zipfile.ZIP_DEFLATED)
    refused(tmp_path, path, "Wemb")
    with_member(path, arrays, "Wemb.npy", npy(rows % "1") + b"x" * 23)
    refused(tmp_path, path, "Wemb")
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        npz(path, arrays)
        with zipfile.ZipFile(path, "a", method) as archive:
            content = npy(rows % "10000000000")
            archive.writestr("Wemb.npy", content)
            archive.getinfo("Wemb.npy").file_size = len(content) + 24 * 10**10
        refused(tmp_path, path, "Wemb")


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("name", ["Wemb", "zipped_params", "opts"])
def test_pickled_code_in_an_array_does_not_run(tmp_path, arrays, name):
    trap = np.empty((), dtype=object)
    trap[()] = Trap(tmp_path / "trace")
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, trap, allow_pickle=True)
    arrays.pop(name, None)
    path = with_member(tmp_path / "model.npz", arrays, f"{name}.npy", buffer.getvalue())
    if name == "Wemb":
        refused(tmp_path, path, "Wemb", "pickled")
    else:
        read(path)
    assert not (tmp_path / "trace").exists()
    np.load(path, allow_pickle=True)[name]  # the trap is an example
    assert (tmp_path / "trace").exists()


def test_pickled_code_in_options_does_not_run(tmp_path, arrays):
    path = npz(tmp_path / "model.npz", arrays)
    (tmp_path / "model.npz.pkl").write_bytes(pickle.dumps({"dim": Trap(tmp_path / "trace")}))
    refused(tmp_path, path, "model.npz.pkl", "refused")
    assert not (tmp_path / "trace").exists()


def test_array_stored_twice(tmp_path, arrays):
    buffer = io.BytesIO()
    np.save(buffer, arrays["Wemb"])
    with pytest.warns(UserWarning, match="Duplicate"):
        path = with_member(tmp_path / "model.npz", arrays, "Wemb.npy", buffer.getvalue())
    refused(tmp_path, path, "Wemb", "twice")


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"dim": "four"}', '{"cgru": 5}', '{"cgru": {"structure": {}}}', "\0", "[" * 99999],
)
def test_invalid_configuration(tmp_path, arrays, content):
    path = npz(tmp_path / "model.npz", arrays)
    (tmp_path / "model.npz.json").write_text(content)
    refused(tmp_path, path, "model.npz.json")


def test_own_structure_with_absurd_numbers(tmp_path, arrays):
    model = Model(tmp_path / "x", small_structure(), arrays, "nematus")
    write_model.write(model, tmp_path / "model.npz", "npz")
    file = tmp_path / "model.npz.json"
    values = json.loads(file.read_text())
    for name, value in (("encoder_depth", 10**9), ("state", -4), ("state", "4"), ("mixture", 0)):
        changed = json.loads(json.dumps(values))
        changed["cgru"]["structure"][name] = value
        file.write_text(json.dumps(changed))
        refused(tmp_path, tmp_path / "model.npz")


def test_hdf5_of_another_kind(tmp_path, arrays):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["weights"] = np.ones(3)
    refused(tmp_path, tmp_path / "other.h5", "not one of cgru's")
    model = Model(tmp_path / "x", small_structure(), arrays, "nematus")
    for name, change in (
        ("huge", lambda file: file.create_dataset("inert/huge", (10**12,), "f4", chunks=(1024,))),
        ("extra", lambda file: file.create_dataset("extra", data=np.ones(3))),
        ("decoder/embedding", lambda file: file.pop("decoder/embedding")),
    ):
        path = tmp_path / "model.h5"
        path.unlink(missing_ok=True)
        write_model.write(model, path, "h5")
        with h5py.File(path, "a") as file:
            change(file)
        refused(tmp_path, path, "Wemb_dec" if name.startswith("decoder") else name)


@pytest.mark.parametrize("tied", [False, True])
def test_nmtpy(tmp_path, tied):
    structure = small_structure(tied_output=tied)
    arrays = random_arrays(structure)
    if tied:
        arrays["ff_logit_b"][:] = 0  # that layer of nmtpy has none
    path = npz(tmp_path / "model.npz", nmtpy(structure, arrays))
    model = read(path)
    assert model.program == "nmtpy" and model.structure == structure
    verify(Model(path, structure, arrays, "nmtpy"), model)


def test_recognised_and_refused(tmp_path):
    refused(tmp_path, fixture_path("e-deep-tf/model.npz"), "bias convention")


LEGACY = [
    "nematus-wmt16-deen-lczarne/model/model.npz.json",
    "nematus-wmt16-deen-lczarne/model/model_new.npz.json",
    "nematus-nlmaps-carhaas/base_model/model.npz.json",
    "nematus-lematus-hungarian/model.npz.json",
    "nematus-tf-configs/arturo-garza.model.cef550e.npz.json",
    "nematus-tf-configs/arturo-garza.model.e7540cf.npz.json",
    "nematus-tf-configs/arturo-garza.model_test.1a41d43.npz.json",
    "nematus-tf-configs/drproduck.model.npz.json",
]


def test_legacy_configurations_are_all_known():
    found = need(SHARED / "legacy").glob("**/*.npz.json")
    transformers = {file for file in found if "transformer" in file.name}
    assert len(transformers) == 2
    named = {SHARED / "legacy" / name for name in LEGACY}
    assert named | transformers == set((SHARED / "legacy").glob("**/*.npz.json"))
    for file in transformers:
        settings = from_nematus(read_json(file), str(file))
        assert any("transformer" in text for text in settings.unsupported)


@each_row("name", LEGACY)
def test_legacy_configurations(name):
    file = need(SHARED / "legacy" / name)
    settings = from_nematus(read_json(file), str(file))
    assert not settings.unsupported
    assert settings.structure["state"] > 0 and settings.structure["target_embedding"] > 0
    assert len(settings.vocabularies) == 2
    tf = "lematus" in name or "tf-configs" in name
    assert settings.program == ("nematus-tf" if tf else "nematus")


def test_only_a_pickle_without_keys_of_nematus_is_of_dl4mt():
    """DL4MT wrote no JSON; its dropout is scaled by half (Nematus' compat.py fills in zeros)."""
    old = {"dim_word": 4, "dim": 6, "use_dropout": True}
    for pickled, more, program, scaled in (
        (True, {}, "dl4mt", 0.5),
        (True, {"dropout_embedding": 0.0}, "nematus", 0.0),
        (False, {}, "nematus", 0.0),
    ):
        settings = from_nematus({**old, **more}, "x", pickled=pickled)
        assert settings.program == program
        assert settings.structure["old_dropout"].readout == scaled


@pytest.mark.parametrize(
    ("kind", "dropout"), [(Type.CGRU, Dropout(readout=0.5)), (Type.ENCDEC, None), (Type.LM, None)]
)
def test_only_the_conditional_gru_of_dl4mt_has_dropout(tmp_path, kind, dropout):
    encoder = Encoder.UNIDIRECTIONAL if kind is Type.ENCDEC else Encoder.ALTERNATING
    structure = typed(kind, encoder=encoder)
    path = npz(tmp_path / "model.npz", random_arrays(structure))
    (tmp_path / "model.npz.pkl").write_bytes(pickles.as_pickle({"use_dropout": True}))
    assert read(path).structure.old_dropout == dropout


def test_cells_of_levels_that_a_model_lacks_do_not_matter():
    for depth, unsupported in ((1, []), (2, ["decoder_deep 'gru_cond'"])):
        values = {"dim": 6, "decoder_deep": "gru_cond", "dec_depth": depth}
        assert from_nematus(values, "x").unsupported == unsupported


def test_a_decoder_yml_says_nothing_about_cells():
    assert (
        not {"encoder_unit", "decoder_unit"} & from_marian({"beam-size": 2}, "x").structure.keys()
    )


def test_legacy_options_pickle():
    file = need(SHARED / "legacy/dl4mt-pickles/zhouh.model_hal.npz.pkl")
    settings = from_nematus(pickles.load(file, "model options"), str(file), pickled=True)
    assert settings.program == "dl4mt"
    assert settings.structure["state"] == 1000 and settings.structure["target_embedding"] == 600
    assert not settings.unsupported and "old_dropout" not in settings.structure


def test_legacy_marian_configurations():
    files = sorted(need(SHARED / "legacy/nematus-test-vectors/marian-configs").glob("*.yml"))
    assert len(files) == 5
    for file in files:
        settings = from_marian(parse_yaml(file.read_bytes(), str(file)), str(file))
        assert len(settings.vocabularies) == 2 and not settings.unsupported


def test_git_lfs_pointer(tmp_path):
    refused(
        tmp_path,
        need(SHARED / "legacy/nematus-wmt16-deen-lczarne/model/model.npz.LFS-POINTER.txt"),
        "Git LFS",
    )


def test_arrays_win_over_the_configuration(tmp_path, capsys):
    structure = small_structure(tied_output=True)
    path = npz(tmp_path / "model.npz", random_arrays(structure))
    (tmp_path / "model.npz.json").write_text('{"tie_decoder_embeddings": false, "dim": 99}')
    assert read(path).structure == structure
    assert "following the arrays" in capsys.readouterr().err


def test_structure_without_any_configuration(tmp_path):
    for changes in (
        {"normalization": Normalization.NEMATUS},
        {"encoder_depth": 2, "encoder_transition": 2, "decoder_depth": 3},
        {"weight_normalization": True},
        {"source_vocabularies": (11, 3), "source_embeddings": (4, 2)},
    ):
        structure = small_structure(**changes)
        model = read(npz(tmp_path / "model.npz", random_arrays(structure)))
        assert model.structure == structure
        assert model.structure.bias is Bias.THEANO


@pytest.mark.parametrize(
    ("saved", "of_run"),
    [
        ("model.iter30000.npz", "model.npz"),
        ("model.npz.dev.npz", "model.npz"),
        ("model.npz.best_bleu.npz", "model.npz"),
        ("model.npz", "another.npz"),
    ],
)
def test_a_model_saved_during_training_has_the_configuration_of_its_run(tmp_path, saved, of_run):
    path = npz(tmp_path / saved, random_arrays(small_structure()))
    (tmp_path / f"{of_run}.json").write_text('{"use_dropout": true, "dropout_hidden": 0.25}')
    dropout = read(path).structure.old_dropout
    assert (dropout and dropout.hidden) == (0.25 if of_run == "model.npz" else None)


def test_every_fixture_is_tested():
    need(FIXTURES)
    tested = {"a-shallow", "b-layernorm", "c-tied-dec", "d-tied-all", "e2-deep-theano", "f-factors"}
    tested |= {"marian-amun", "marian-amun-ln", "marian-nematus", "marian-nematus-ln"}
    tested |= {"marian-s2s", "marian-s2s-deep", "e-deep-tf"}
    tested |= {"dl4mt-session0", "dl4mt-session1", "marian-s2s-lstm", "marian-s2s-tanh"}
    tested |= {"marian-s2s-bi-unidirectional", "marian-s2s-bi-uni-cell2-skip"}
    folders = {path.name for path in FIXTURES.iterdir() if path.is_dir()}
    assert folders <= tested

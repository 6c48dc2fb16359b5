"""The model before training."""

import json

import numpy as np
import pytest
import runs
from cases import small_structure
from shared_files import fixture_path
from tables import each_row

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.formats import read_model
from cgru_cli.formats.model import Model
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.names import parameters
from cgru_cli.parameters.structure import Structure, Type
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.plan import Request
from cgru_cli.train.starting_model import make_starting_model, undrawn_model
from cgru_cli.train.structure_from_options import new_structure, options_of
from cgru_cli.train.texts import Texts

MODELS = {
    "nematus-tf": ("a-shallow", "model.npz"),
    "checkpoint": ("e-deep-tf", "native/model-1500"),
    "layer norm": ("b-layernorm", "model.npz"),
    "tied": ("d-tied-all", "model.npz"),
    "deep": ("e2-deep-theano", "model.npz"),
    "factors": ("f-factors", "model.npz"),
    "amun": ("marian-amun", "model.npz"),
    "marian-nematus": ("marian-nematus", "model.npz"),
    "s2s": ("marian-s2s", "model.npz"),
    "s2s deep": ("marian-s2s-deep", "model.npz"),
    "s2s lstm": ("marian-s2s-lstm", "model.npz"),
    "session 1": ("dl4mt-session1", "model.npz"),
}


@pytest.fixture
def data(tmp_path):
    return runs.prepared(tmp_path / "data")


def started(folder, **options):
    made = TrainOptions(**({"model": "run/m.npz"} | options))
    return make_starting_model(made, Texts.of(made, folder and str(folder)))


def test_a_new_model(data):
    model, vocabularies, notes = started(data, dim_emb=6, dim_rnn=8, beam_size=3, normalize=0.5)
    s = model.structure
    assert (s.source_vocabularies, s.target_vocabulary) == ((14,), 14)
    assert (s.source_embeddings, s.target_embedding, s.state) == ((6,), 6, 8)
    assert [v.size for v in vocabularies] == [14, 14]
    assert (model.settings.beam_size, model.settings.normalize) == (3, 0.5)
    assert not notes
    assert {row.name: row.size(s) for row in parameters(s)} == {
        name: array.shape for name, array in model.arrays.items()
    }


def test_a_language_model_does_not_divide_by_length_by_default(data):
    lm = {"type": "lm", "train_sets": (str(data / "train.trg"),)}
    lm["vocabularies"] = (str(data / "vocab.trg.json"),)
    small = {"dim_emb": 6, "dim_rnn": 8}
    assert started(None, **lm, **small)[0].settings.normalize == 0
    assert started(None, **lm, **small, normalize=0.7)[0].settings.normalize == 0.7
    assert started(data, **small)[0].settings.normalize == 1


@each_row("cell", ["gru", "lstm", "tanh"])
@each_row("kind", list(Type))
def test_a_structure_is_described_by_the_options_that_made_it(kind, cell):
    """A type may lack the encoder or the decoder."""
    vocabulary = Vocabulary({word: i for i, word in enumerate(["eos", "UNK", *"abcd"])})
    vocabularies = [vocabulary] * (1 if kind is Type.LM else 2)
    options = TrainOptions(type=kind, cell=cell, dim_emb=4, dim_rnn=4)
    structure = new_structure(options, vocabularies)
    found = options_of(structure)
    assert (found["type"], found["cell"]) == (kind, cell)
    again = structure.as_dict()
    assert ("encoder_unit" in again, "decoder_unit" in again) == (
        kind is not Type.LM,
        kind not in (Type.CLASSIFIER, Type.TAGGER),
    )
    assert Structure.from_dict(again, "again") == structure


def test_seed_and_init_determine_the_weights(data):
    def arrays(**options):
        return started(data, dim_emb=6, dim_rnn=8, **options)[0].arrays

    one = arrays()
    assert all((one[name] == again).all() for name, again in arrays().items())
    for other in (arrays(seed=2), arrays(init="nematus"), arrays(init="glorot")):
        assert (one["encoder_W"] != other["encoder_W"]).any()


def test_embeddings_from_files(data, tmp_path):
    source, target = tmp_path / "src.vec", tmp_path / "trg.vec"
    source.write_text("w3 1 2 3 4\n")
    target.write_text("W0 5 6 7 8\n")
    model, _, notes = started(
        data, dim_emb=4, dim_rnn=5, embedding_vectors=(str(source), str(target))
    )
    np.testing.assert_array_equal(model.arrays["Wemb"][5], [1, 2, 3, 4])
    np.testing.assert_array_equal(model.arrays["Wemb_dec"][2], [5, 6, 7, 8])
    assert notes == [
        f"{source}: vectors for 1 of 14 words",
        f"{target}: vectors for 1 of 14 words",
    ]


# -- from a given model ----------------------------------------------------------------------------


def fixture(name):
    folder, model = MODELS[name]
    return fixture_path(folder) / model


def text(name, **options):
    folder = fixture_path(MODELS[name][0])
    both = (str(folder / "src.txt"), str(folder / "trg.txt"))
    return started(None, train_sets=both, pretrained_model=str(fixture(name)), **options)


def vocabularies_of(name):
    """The vocabularies of a model that are not beside it."""
    folder = fixture_path(MODELS[name][0])
    factors = ["vocab.fac1.json"] if name == "factors" else []
    names = ["vocab.en.json", *factors, "vocab.de.json"]
    if name == "tied":
        names = ["vocab.ende.json"] * 2
    return tuple(str(folder / n) for n in names)


@pytest.mark.parametrize("name", MODELS)
def test_from_any_dialect(name):
    model, vocabularies, _ = text(name, vocabularies=vocabularies_of(name))
    expected = read_model.read(str(fixture(name)))
    assert model.structure == expected.structure
    assert set(model.arrays) == set(expected.arrays)
    for array_name, array in expected.arrays.items():
        np.testing.assert_array_equal(model.arrays[array_name], array)
    assert str(model.path) == "run/m.npz"
    assert len(vocabularies) == len(model.structure.source_vocabularies) + 1


def test_options_may_repeat_those_of_the_given_model():
    name = "deep"
    structure = read_model.read(str(fixture(name))).structure
    sizes = (*structure.source_vocabularies, structure.target_vocabulary + 9)
    options = options_of(structure) | {"dim_vocabs": sizes}
    model, _, _ = text(name, vocabularies=vocabularies_of(name), **options)
    assert model.structure == structure


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim_rnn": 64}, "--dim-rnn 64: .*model.npz has 128, which --pretrained-model keeps"),
        ({"no_skip": True}, "--no-skip True: .*has False"),
        ({"init": "nematus"}, "--init and --pretrained-model exclude"),
        ({"dim_vocabs": (5, 5)}, "--dim-vocabs 5 5: .*model.npz has .*--pretrained-model keeps"),
    ],
)
def test_options_that_describe_another_model(options, message):
    with pytest.raises(UsageError, match=message):
        text("nematus-tf", vocabularies=vocabularies_of("nematus-tf"), **options)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Type.CLASSIFIER, {"objective": "mrt"}, "--objective: a classifier predicts labels"),
        (Type.TAGGER, {"dropout_target": 0.2}, "--dropout-target: a tagger gives a label"),
        (Type.SEQ2SEQ, {"dropout_annotation": 0.3}, "--dropout-annotation: seq2seq passes on"),
    ],
)
def test_options_without_effect_on_the_given_model(kind, options, message, data, monkeypatch):
    given = Model(data / "m.npz", small_structure(type=kind), {}, "nematus", "npz")
    monkeypatch.setattr(read_model, "read", lambda _: given)
    with pytest.raises(UsageError, match=message):
        started(data, type=kind, pretrained_model="m.npz", **options)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"dim_rnn": 1024}, "--dim-rnn 1024: .*m.npz has 4"),
        ({"enc_depth": 1}, "--enc-depth 1: .*m.npz has 2"),
        ({"cell": "gru"}, "--cell gru: .*m.npz has lstm"),
        ({"cell": "gru", "dec_cell": "lstm"}, "no vocabularies are known"),  # found later
    ],
)
def test_declared_defaults_that_are_stated_must_fit_the_given_model(
    stated, message, data, monkeypatch
):
    deep = small_structure(
        source_vocabularies=(14,),
        target_vocabulary=14,
        state=4,
        encoder_depth=2,
        decoder_unit="lstm",
    )
    given = Model(data / "m.npz", deep, {}, "nematus", "npz")
    monkeypatch.setattr(read_model, "read", lambda _: given)
    options = TrainOptions(model="run/m.npz", pretrained_model="m.npz", **stated)
    with pytest.raises(CgruError, match=message):
        undrawn_model(Request(options, stated), Texts.of(options, str(data)))


def written(folder, seed=3, **values):
    """A small Nematus model with its vocabularies."""
    folder.mkdir()
    data = runs.prepared(folder / "data")
    options = TrainOptions(model="m.npz", dim_emb=4, dim_rnn=5, seed=seed)
    arrays = make_starting_model(options, Texts.of(options, str(data)))[0].arrays
    names = [str(data / f"vocab.{side}.json") for side in ("src", "trg")]
    configuration = {"dictionaries": names, "embedding_size": 4, "state_size": 5, **values}
    (folder / "model.npz.json").write_text(json.dumps(configuration))
    np.savez(folder / "model.npz", **arrays, decoder_c_tt=np.zeros(1, np.float32))
    return folder / "model.npz", data, arrays


def test_a_pretrained_model_with_its_vocabularies(tmp_path, capsys):
    path, data, arrays = written(tmp_path / "given")
    model, vocabularies, _ = started(data, pretrained_model=str(path))
    np.testing.assert_array_equal(model.arrays["decoder_W"], arrays["decoder_W"])
    assert [v.size for v in vocabularies] == [14, 14]
    assert capsys.readouterr().err == ""


def test_text_prepared_for_another_model(tmp_path, capsys):
    path, data, _ = written(tmp_path / "given")
    other = runs.prepared(tmp_path / "other")
    runs.vocabulary(other / "vocab.src.json", ["x", "y"])
    _, vocabularies, _ = started(other, pretrained_model=str(path))
    assert vocabularies[0].size == 14
    assert "vocab.src.json is not one of" in capsys.readouterr().err
    with pytest.raises(CgruError, match="expected"):
        started(other, pretrained_model=str(path), vocabularies=(str(data / "vocab.src.json"),))


def test_a_number_that_is_not_finite(tmp_path):
    path, data, arrays = written(tmp_path / "given")
    arrays["decoder_W"][1, 2] = np.nan
    np.savez(path, **arrays, decoder_c_tt=np.zeros(1, np.float32))
    with pytest.raises(CgruError, match=r"model.npz: .*decoder_W.*finite"):
        started(data, pretrained_model=str(path))


def test_a_pretrained_right_to_left_model(tmp_path, monkeypatch):
    path, data, _ = written(tmp_path / "given")
    read = read_model.read(str(path))
    read.settings.right_left = True
    monkeypatch.setattr(read_model, "read", lambda _: read)
    with pytest.raises(UsageError, match="add --right-left"):
        started(data, pretrained_model=str(path))
    for compat in (None, "marian"):  # as the given model does
        for source_reversed in (False, True):
            read.settings.source_reversed = source_reversed
            model, *_ = started(data, pretrained_model=str(path), right_left=True, compat=compat)
            assert model.settings.right_left
            assert model.settings.source_reversed == source_reversed


def test_only_with_marian_a_new_model_reads_from_the_end(data):
    ways = {
        (right_left, compat): started(
            data, right_left=right_left, compat=compat, dim_emb=6, dim_rnn=8
        )[0].settings
        for right_left in (False, True)
        for compat in (None, "marian", "nematus")
    }
    assert [way for way, made in ways.items() if made.source_reversed] == [(True, "marian")]
    assert all(made.right_left == right_left for (right_left, _), made in ways.items())

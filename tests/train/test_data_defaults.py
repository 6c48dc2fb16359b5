"""Defaults of `cgru train` that follow from the training data."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import runs
import yaml
from cases import small_structure

from cgru_cli.formats import read_model
from cgru_cli.options.flags import by_data
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.structure import Type
from cgru_cli.train.data_defaults import Facts, defaults_by_data, described, independent


class Corpus(SimpleNamespace):
    def __len__(self):
        return len(self.lengths)


def chosen(pairs, words=20, *, joint=True, stated=None, **options):
    """The values chosen for sentences of this length; stated: options given explicitly."""
    kind = Type({"tagger": "tagger", "lm": "lm"}.get(options.get("type", ""), "cgru"))
    corpus = Corpus(lengths=np.full((pairs, 2), words, np.int32))
    structure = small_structure(type=kind, state=40)
    vocabularies = [SimpleNamespace(fingerprint=text) for text in ("a", "a" if joint else "b")]
    facts = Facts.of(corpus, structure, vocabularies)
    return defaults_by_data(TrainOptions(**options), stated or options, facts)


@pytest.mark.parametrize(
    ("pairs", "values"),
    [
        (1_000, (128, 256, 0.003, "50u", 1000, 0.3, 0.3, 0.4)),
        (29_000, (256, 512, 0.003, "250u", 1000, 0.2, 0.2, 0.3)),
        (300_000, (256, 512, 0.003, "300u", 1000, 0.1, 0.1, 0.2)),
        (2_000_000, (512, 1024, 0.0003, "300u", 4000, 0.0, 0.0, 0.0)),
    ],
)
def test_sizes_rate_batches_and_dropout_follow_from_the_pairs(pairs, values):
    names = "dim_emb dim_rnn learn_rate lr_warmup mini_batch_words"
    names += " dropout_embedding dropout_annotation dropout_output"
    made = chosen(pairs)
    assert tuple(made[name] for name in names.split()) == values
    assert (made["label_smoothing"], made["exponential_smoothing"]) == (0.1, 0.001)
    assert made["lr_decay_inv_sqrt"] == "4000u"


def test_the_documentation_has_the_table():
    page = (Path(__file__).parents[2] / "docs/train.md").read_text("utf-8")
    for pairs in (15_000, 100_000, 1_000_000, 1_000_001):
        of = chosen(pairs, words=1)
        limit = f"up to {pairs:,}" if pairs <= 1_000_000 else "more"
        rates = [of[name] for name in ("dropout_embedding", "dropout_annotation", "dropout_output")]
        dropout = ", ".join(map(str, rates)) if any(rates) else "none"
        row = f"{limit} | {of['dim_emb']}, {of['dim_rnn']} | {of['learn_rate']} | "
        assert f"| {row}{of['mini_batch_words']:,} | {dropout} |" in page


def test_every_default_by_data_is_chosen():
    assert chosen(100).keys() == by_data(TrainOptions)


def test_embeddings_are_tied_if_the_vocabulary_is_joint():
    assert chosen(100)["tied_embeddings_all"] is True
    for options in ({"joint": False}, {"tied_embeddings": True}, {"no_feedback": True}):
        assert "tied_embeddings_all" not in chosen(100, **options)


def test_options_that_depend_on_each_other():
    """One size determines the other, rate and dropout; a dropout option turns chosen ones off."""
    small = chosen(29_000, dim_rnn=128)
    assert "dim_rnn" not in small
    assert (small["dim_emb"], small["learn_rate"], small["dropout_output"]) == (64, 0.003, 0.15)
    assert chosen(29_000, dim_emb=512)["dim_rnn"] == 1024
    assert chosen(29_000, dim_emb=512)["learn_rate"] == 0.0003
    factored = chosen(29_000, dim_factors=(4, 2))
    assert (factored["dim_emb"], factored["dim_rnn"]) == (6, 12)
    assert chosen(29_000, dim_factors=(4, 2), dim_rnn=9)["dim_emb"] == 6
    assert not [n for n in chosen(29_000, dropout_hidden=0.2) if n.startswith("dropout")]
    for batches in ({"mini_batch": 80}, {"mini_batch_fit": True}):
        assert "mini_batch_words" not in chosen(29_000, **batches)
    rate = {"learn_rate", "lr_warmup", "lr_decay_inv_sqrt"}
    assert not rate & chosen(100, optimizer="adadelta").keys()
    rated = chosen(100, learn_rate=0.0001)  # the declared default, but stated
    assert rate & rated.keys() == {"lr_warmup"} and rated["lr_warmup"] == "50u"
    assert rate & chosen(100, lr_decay=0.5).keys() == {"learn_rate", "lr_warmup"}


@pytest.mark.parametrize(
    ("options", "warmup", "often"),
    [
        ({"mini_batch": 2000}, "50u", "1e"),
        ({"mini_batch": 4}, "300u", "8000u"),
        ({"optimizer_delay": 16}, "150u", "1e"),
        ({"mini_batch": 80, "optimizer_delay": 32}, "50u", "1e"),
        ({"mini_batch_words": 500}, "300u", "2000u"),
        ({"mini_batch_fit": True}, "300u", "1000u"),
    ],
)
def test_warmup_and_validation_count_the_updates_of_an_epoch(options, warmup, often):
    found = chosen(290_000, **options)
    assert (found["lr_warmup"], found["valid_freq"]) == (warmup, often)


def test_a_saved_choice_gives_way_to_options_that_replace_it():
    saved = chosen(29_000)
    for stated, replaced in {
        "mini_batch": {"mini_batch_words"},
        "valid_translation_output": {"valid_lines"},
        "beam_size": {"valid_beam_size"},
        "learn_rate": {"learn_rate", "lr_decay_inv_sqrt"},
        "lr_decay": {"lr_decay_inv_sqrt"},
    }.items():
        assert saved.keys() - independent(saved, {stated}).keys() == replaced


def test_a_trained_model_keeps_its_sizes_and_continues_with_a_lower_rate():
    values = chosen(29_000, pretrained_model="m.npz")
    absent = {"dim_emb", "dim_rnn", "tied_embeddings_all", "lr_warmup", "lr_decay_inv_sqrt"}
    assert not absent & values.keys()
    assert values["learn_rate"] == pytest.approx(0.0009)  # 0.3 times the rate of states of 40
    risk = chosen(29_000, pretrained_model="m.npz", objective="mrt")
    assert risk.keys() == {"disp_freq", "valid_freq", "valid_lines", "valid_beam_size"}


def test_models_of_other_types():
    tagger, lm = chosen(29_000, type="tagger"), chosen(29_000, type="lm")
    assert (tagger["dim_emb"], tagger["dim_rnn"], tagger["learn_rate"]) == (64, 64, 0.003)
    assert tagger["mini_batch_words"] == 0
    assert (lm["dim_emb"], lm["dim_rnn"], lm["dropout_output"]) == (256, 512, 0.3)
    for values in (tagger, lm):
        absent = {"label_smoothing", "tied_embeddings_all", "dropout_annotation"}
        assert not absent & values.keys()


def test_the_choice_is_described():
    (text,) = described(chosen(29_000), "for 29,000 pairs", validates=True)
    assert text.startswith(
        "Chosen for 29,000 pairs: embeddings of 256, states of 512, one embedding matrix, learning "
        "rate 0.003, warm-up of 250 updates, decay from update 4000, mini-batches of 1,000 words, "
        "dropout 0.2 of embeddings"
    )
    assert "validation every epoch, if that takes at most 3 % of the time (change each" in text
    (text,) = described({"valid_freq": "1000u"}, "now", validates=True)
    assert "every 1000 updates" in text
    assert described({"valid_freq": "1e", "dropout_output": 0.0}, "now", validates=False) == []


@pytest.mark.parametrize(
    ("pairs", "frequency"),
    [(50_000, "1e"), (300_000, "1000u"), (3_000_000, "3000u")],
)
def test_validation_comes_every_epoch_or_ten_times_in_a_long_one(pairs, frequency):
    assert chosen(pairs, mini_batch_words=2000)["valid_freq"] == frequency


def test_validation_is_greedy_on_some_lines():
    values = chosen(100)
    assert (values["valid_beam_size"], values["valid_lines"]) == (1, 500)
    assert "valid_beam_size" not in chosen(100, beam_size=3)
    assert "valid_lines" not in chosen(100, valid_lines=0)
    for needed in ("valid_translation_output", "valid_script"):
        assert "valid_lines" not in chosen(100, **{needed: "x"})


@pytest.mark.long
def test_choices_are_recorded_and_hold_when_a_run_resumes(tmp_path):
    """The text is 250 times as long on resuming, so a new training would choose other values."""
    data = runs.prepared(tmp_path / "data")
    model = tmp_path / "m.npz"
    options = (data, "-m", model, *runs.PLAIN[4:], "--keep", 2)
    dump = ("--dump-config", "full")
    before = runs.lines(tmp_path / "all.yml", [runs.trained(*options, *dump).output])
    values = yaml.safe_load(before.read_text())
    assert values["valid-freq"] is None and values["dim-emb"] is None and values["dim-rnn"] == 8
    given = runs.trained("-c", before, "--dump-config", "minimal").output
    assert "dim-emb" not in yaml.safe_load(given)  # null states nothing
    messages = runs.trained(*options, "--after", "9u").messages
    assert "] Validation took " in messages and "(limit 3%)" in messages
    assert "] Chosen for 60 pairs: embeddings of 4, learning rate 0.003, warm-up of " in messages
    state = json.loads(runs.arrays(tmp_path / "m.npz.state.npz")["json"].tobytes())
    values = {"valid_freq": "1e", "valid_beam_size": 1, "valid_lines": 500, "dim_emb": 4}
    values |= {"dropout_output": 0.2, "lr_warmup": "50u"}
    assert state["chosen"].items() >= values.items()
    assert read_model.read(model).settings.beam_size == 5  # greedy search is for validation only
    grown = runs.prepared(tmp_path / "grown", pairs=16_000)
    for side in ("src", "trg"):
        shutil.copy(data / f"dev.{side}", grown)
    again = (grown, *options[1:], "--no-restore-corpus", "--after", "10u", "--disp-freq", "1u")
    runs.trained(*again)
    state = json.loads(runs.arrays(tmp_path / "m.npz.state.npz")["json"].tobytes())
    assert state["chosen"].items() >= values.items()
    after = yaml.safe_load(runs.trained(*options, *dump, "--valid-lines", 9).output)
    assert after["valid-freq"] == "1e" and after["valid-lines"] == 9


def test_a_dumped_configuration_states_nothing_that_a_trained_model_decides(tmp_path):
    given = ("-m", tmp_path / "m.npz", "--pretrained-model", "x.npz", "--dec-depth", 2)
    dumped = yaml.safe_load(runs.trained(*given, "--dump-config", "full").output)
    names = ("dim-rnn", "enc-depth", "cell", "tied-embeddings", "dec-depth")
    assert [dumped[name] for name in names] == [None] * 4 + [2]


@pytest.mark.parametrize("given", [(), ("--dim-emb", 16, "--dropout-output", 0.3)])
def test_a_dumped_configuration_leads_to_the_same_choice(tmp_path, given):
    options = (runs.prepared(tmp_path / "data"), "-m", tmp_path / "m.npz", *given)
    dumped = runs.lines(tmp_path / "all.yml", [runs.trained(*options, "--dump-config").output])
    first, again = (
        runs.trained(*some, "--dry-run").output for some in (options, (options[0], "-c", dumped))
    )
    assert "Chosen for 60 pairs" in first and first == again


@pytest.mark.long
def test_an_option_given_for_a_while_changes_no_later_choice(tmp_path):
    options = (runs.prepared(tmp_path / "data"), "-m", tmp_path / "m.npz", *runs.PLAIN[4:])
    runs.trained(*options, "--after", "2u")
    begun = json.loads(runs.arrays(tmp_path / "m.npz.state.npz")["json"].tobytes())["chosen"]
    for step, given in ((3, ("-l", 0.01)), (4, ("--valid-freq", "1u", "--dropout-output", 0))):
        runs.trained(*options, "--after", f"{step}u", *given)
        after = json.loads(runs.arrays(tmp_path / "m.npz.state.npz")["json"].tobytes())
        assert after["chosen"] == begun
    shown = runs.trained(*options, "--after", "5u", "--dry-run").output
    assert "Chosen when the run began: " in shown and "learning rate 0.003" in shown


@pytest.mark.long
def test_the_validation_text_stays_when_a_file_receives_translations(tmp_path):
    data = runs.prepared(tmp_path / "data")
    options = (data, "-m", tmp_path / "m.npz", *runs.PLAIN[4:])
    runs.trained(*options, "--after", "1u")
    more = ("--valid-translation-output", tmp_path / "out.txt", "--dump-config")
    assert yaml.safe_load(runs.trained(*options, *more).output)["valid-lines"] == 500


@pytest.mark.long
def test_a_run_with_chosen_defaults_resumes_exactly(tmp_path):
    data = runs.prepared(tmp_path / "data")
    options = (*runs.PLAIN[4:], "--dropout-output", 0.3, "--valid-freq", 0, "--lr-warmup", "2e")
    for place, ends in (("whole", ["14u"]), ("parts", ["5u", "14u"])):
        for end in ends:
            runs.trained(data, "-m", tmp_path / place / "m.npz", *options, "--after", end)
    whole, parts = (runs.comparable(tmp_path / place) for place in ("whole", "parts"))
    assert whole[:2] == parts[:2]  # models, and the arrays of the state; records end at 5u too


STATED = {"learn_rate": 0.002, "label_smoothing": 0.3, "dropout_embedding": 0.25}
STATED |= {"lr_decay_inv_sqrt": "700u"}


def test_options_given_when_a_run_began_hold_when_it_resumes(tmp_path):
    options = (runs.prepared(tmp_path / "data"), "-m", tmp_path / "m.npz", *runs.PLAIN[4:])
    typed = [word for n, v in STATED.items() for word in (f"--{n.replace('_', '-')}", v)]
    runs.trained(*options, *typed, "--dim-emb", 6, "--valid-freq", "9u", "--after", "1u")
    for given, changed in (((), {}), (("-l", 0.01), {"learn_rate": 0.01})):
        dumped = runs.trained(*options, *given, "--dump-config", "full").output
        values = {name.replace("-", "_"): v for name, v in yaml.safe_load(dumped).items()}
        assert values.items() >= (STATED | changed | {"dropout_output": None}).items()
    messages = runs.trained(*options, "--after", "2u").messages
    assert "Chosen" not in messages and "(limit 3%)" not in messages
    rates = [one["learning_rate"] for one in runs.records(tmp_path / "m.npz", "train")]
    assert rates == [0.002 / 50, 0.002 * 2 / 50]  # of the warm-up


@pytest.mark.long
def test_a_run_of_an_earlier_version_gets_the_choice_for_values_that_it_lacks(tmp_path):
    options = (runs.prepared(tmp_path / "data"), "-m", tmp_path / "m.npz", *runs.PLAIN[4:])
    runs.trained(*options, "-l", 0.002, "--after", "1u")
    arrays = runs.arrays(tmp_path / "m.npz.state.npz")
    saved = json.loads(arrays["json"].tobytes())
    assert saved.pop("stated") == {"dim_rnn": 8, "learn_rate": 0.002}
    arrays["json"] = np.frombuffer(json.dumps(saved).encode(), np.uint8)
    np.savez(tmp_path / "m.npz.state.npz", **arrays)
    assert "Chosen" not in runs.trained(*options, "-l", 0.002, "--after", "1u").messages
    np.savez(tmp_path / "m.npz.state.npz", **arrays)
    dumped = yaml.safe_load(runs.trained(*options, "--dump-config").output)
    assert dumped["learn-rate"] is None and dumped["label-smoothing"] == 0.1
    messages = runs.trained(*options, "--after", "2u").messages
    expected = "Chosen for 60 pairs (an earlier version of cgru did not save them): learning rate"
    assert f"{expected} 0.003, decay from update 4000 (change each" in messages
    assert "Chosen" not in runs.trained(*options, "--after", "3u").messages
    assert yaml.safe_load(runs.trained(*options, "--dump-config").output)["learn-rate"] == 0.003


@pytest.mark.long
def test_a_run_without_chosen_defaults_keeps_the_declared_ones(tmp_path):
    """So does a run that an earlier version of cgru began."""
    options = (runs.prepared(tmp_path / "data"), "-m", tmp_path / "m.npz", "--valid-freq", 0)
    runs.trained(*options, *runs.PLAIN, "--after", "1u")
    messages = runs.trained(*options, *runs.PLAIN[2:], "--after", "2u").messages
    assert "Resuming after update 1" in messages and "Chosen" not in messages
    assert [one["learning_rate"] for one in runs.records(tmp_path / "m.npz", "train")][-1] == 1e-4


def test_a_damaged_record_is_refused(tmp_path):
    model = tmp_path / "m.npz"
    text = json.dumps({"format": 1, "arrays": [], "chosen": {"valid_lines": "x"}}).encode()
    np.savez(tmp_path / "m.npz.state.npz", json=np.frombuffer(text, np.uint8))
    result = runs.train("-m", model, "--dump-config")
    assert result.code == 1 and "m.npz.state.npz: damaged: chosen: valid_lines: x" in result.error


@pytest.mark.parametrize("options", [("--defaults", "fixed"), ("--compat", "nematus")])
def test_fixed_defaults(options, tmp_path):
    dumped = runs.trained("-m", tmp_path / "m.npz", *options, "--dump-config").output
    values = yaml.safe_load(dumped)
    assert values["valid-lines"] == 0 and values["valid-freq"] in ("1e", "10000")

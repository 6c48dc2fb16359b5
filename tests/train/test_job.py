"""`cgru train`: files, resuming, and errors."""

import contextlib
import functools
import itertools
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import runs
from runs import (
    EVERYTHING,
    PLAIN,
    SIZES,
    arrays,
    comparable,
    process,
    records,
    train,
    trained,
)
from selection import LONG, choice

from cgru_cli.cli import main
from cgru_cli.formats import read_model
from cgru_cli.optimization.step import Outcome, TrainingStep
from cgru_cli.options.train import TrainOptions
from cgru_cli.system import atomic_files
from cgru_cli.train import builders
from cgru_cli.train.loop import Training
from cgru_cli.train.run.folder import RunFolder

NO_VALIDATION = ("--valid-freq", "0")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return runs.prepared(tmp_path_factory.mktemp("data"))


@pytest.fixture
def model(tmp_path):
    return tmp_path / "run" / "m.npz"


# -- options ---------------------------------------------------------------------------------------


@pytest.fixture
def meant(monkeypatch):
    """The options of a command line."""

    def run(*arguments):
        seen = []
        with monkeypatch.context() as patch:
            patch.setattr(
                "cgru_cli.train.job.run", lambda options, folder, **_: seen.append(options)
            )
            main(["train", *arguments], standalone_mode=False)
        return seen[0]

    return run


@pytest.mark.parametrize(
    ("nematus", "marian"),
    [
        ("--dictionaries a b --model m --finish_after 12", "-v a b -m m --after 12"),
        ("--datasets s t --saveto m", "-t s t -m m"),
        ("--valid_datasets s t --valid_freq 7", "--valid-sets s t --valid-freq 7"),
        ("--embedding_size 5 --state_size 6", "--dim-emb 5 --dim-rnn 6"),
        ("--dim_word 5 --lrate 0.1 --clip_c 2", "--dim-emb 5 -l 0.1 --clip-norm 2"),
        ("--dim 6", "--dim-rnn 6"),
        ("--batch_size 9 --token_batch_size 99", "--mini-batch 9 --mini-batch-words 99"),
        ("--maxibatch_size 9 --maxlen 50", "--maxi-batch 9 --max-length 50"),
        ("--learning_rate 0.1 --patience 3", "--learn-rate 0.1 --early-stopping 3"),
        ("--save_freq 8 --disp_freq 7", "--save-freq 8 --disp-freq 7"),
        ("--valid_script s --max_epochs 3", "--valid-script-path s --after-epochs 3"),
        ("--rnn_dropout_hidden 0.2", "--dropout-rnn 0.2"),
        ("--rnn_dropout_source 0.1", "--dropout-src 0.1"),
        ("--rnn_dropout_target 0.1", "--dropout-trg 0.1"),
        ("--rnn_layer_normalization", "--layer-normalization"),
        ("--tie_decoder_embeddings", "--tied-embeddings"),
        ("--rnn_enc_depth 2 --rnn_dec_depth 3", "--enc-depth 2 --dec-depth 3"),
        ("--rnn_enc_transition_depth 2", "--enc-cell-depth 2"),
        ("--prior_model p --map_decay_c 0.1", "--prior-model p --map-decay-c 0.1"),
        ("--exponential_smoothing 0.1", "--exponential-smoothing 0.1"),
        ("--no_shuffle --label_smoothing 0.1", "--no-shuffle --label-smoothing 0.1"),
        ("--beam_size 3 --normalization_alpha 0.5", "-b 3 -n 0.5"),
    ],
)
def test_options_under_names_of_nematus(meant, nematus, marian):
    assert meant(*nematus.split()) == meant(*marian.split()) != TrainOptions()


def test_values_that_options_of_marian_imply(meant):
    assert meant("--exponential-smoothing").exponential_smoothing == 1e-4
    assert meant("--normalize").normalize == 1.0


def test_the_options_in_force(data, model, tmp_path):
    arguments = ["-m", model, *SIZES, "--lr-warmup", "5u", "--dim-vocabs", "9", "8"]
    text = trained(data, *arguments, "--dump-config").output
    (tmp_path / "c.yml").write_text(text)
    again = trained(data, "-c", tmp_path / "c.yml", "--dump-config").output
    assert again == text
    assert f"model: {model}" in text and "dim-vocabs: [9, 8]" in text
    assert not model.parent.exists()


def test_a_dry_run_prints_sizes(data, model):
    result = trained(data, "-m", model, *SIZES, "--dry-run")
    assert "pairs: 60 (0 empty, 0 too long, 0 cut)" in result.output
    words = [len(line.split()) + 1 for line in open(data / "train.src")]  # noqa: SIM115
    assert f"words with EOS: source {sum(words):,}, target {sum(words):,}" in result.output
    assert "first batch: 8 pairs of up to" in result.output
    assert re.search(r"first pair: [\d ]+ 0( 0)* -> [\d ]+", result.output)
    assert not model.parent.exists()


def test_a_dry_run_refuses_what_training_refuses(data, model):
    texts = ["-t", data / "train.src", data / "train.trg"]
    words = ["-v", data / "vocab.src.json", data / "vocab.trg.json"]
    endless = trained(*texts, *words, "-m", model, *SIZES, "--dry-run")
    assert "pairs: 60" in endless.output  # without a limit
    for wrong, message in (
        (["--valid-metrics", "blue"], "--valid-metrics blue: one of cross-entropy"),
        (["--optimizer", "sgd", "--optimizer-params", 0.9, 0.9, 0.9], "optimizer-params"),
    ):
        result = train(data, "-m", model, *SIZES, "--dry-run", *wrong)
        assert result.code == 2 and message in result.error
    assert not model.parent.exists()


# -- invalid input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("DATA", 2, "name the model"),
        ("DATA -m m.h5", 2, "ends in .npz"),
        ("-m M", 2, "name the text"),
        ("none -m M", 1, "none: no such folder"),
        ("EMPTY -m M", 1, r"no manifest.json, which `cgru prep` writes last"),
        ("DATA -m DATA/", 2, "DATA/: a file is expected, such as DATA/model.npz"),
        ("DATA -m M --after x", 2, "--after x: not understood"),
        ("DATA -m M --mini-batch-fit --mini-batch-words 9", 2, "exclude each other"),
        ("DATA -m M --valid-metrics bleu blue", 2, "--valid-metrics blue: one of cross-"),
        ("DATA -m M --valid-translation-output f --valid-metrics perplexity", 2, "needs a metric"),
        ("DATA -m M --optimizer sgd --optimizer-params 0.9 0.9 0.9", 2, "optimizer-params"),
        ("DATA -m M --dim-factors 3 4", 2, "--dim-factors"),
        ("DATA -m M --tied-embeddings-all", 2, "needs one vocabulary for both"),
        ("DATA -m M --pretrained-model none.npz", 1, "none.npz: no such file"),
        ("DATA -m M --embedding-vectors none none", 1, "none: No such file"),
        ("DATA -m M -v none none", 1, "none: vocabulary not found"),
        ("DATA -m M --devices cpu:0 gpu:0", 2, "different GPUs, or CPUs"),
        ("DATA -m M --device cpu --num-devices 2", 2, "--num-devices and --device exclude"),
        ("DATA -m M --devices 0 1 --num-devices 3", 2, "--num-devices 3: --devices names 2"),
        ("DATA -m M --devices 7 8", 1, "--devices 7 8: TensorFlow sees 0 GPUs"),
        ("DATA -m M --map-decay-c 0.1", 2, "--map-decay-c needs --prior-model"),
        ("DATA -m M --valid-script-path /none/script", 1, "/none/script"),
        ("DATA -m M --log /none/log", 1, "/none/log: cannot be written"),
        ("DATA -t BLANK BLANK -m M", 1, "nothing is left of 2 lines"),
        ("DATA -t SHORT DATA/train.trg -m M", 1, "SHORT has 2 lines and .*train.trg 60"),
        ("DATA -t NOTHING NOTHING -m M", 1, "no lines to train on; the text is empty"),
        ("DATA -t none DATA/train.trg -m M", 1, "none: No such file"),
        ("DATA -t DATA DATA/train.trg -m M", 1, "Is a directory"),
        ("DATA --valid-sets SHORT DATA/dev.trg -m M", 1, "SHORT has 2 lines and .*dev.trg 6"),
        ("DATA -m SHORT/m.npz", 1, "SHORT: "),
        ("DATA -m M -c CONFIG", 1, "no such option: dim-em; did you mean dim-emb"),
    ],
)
def test_one_clear_line(data, tmp_path, model, arguments, code, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "config.yml").write_text("dim-em: 5\n")
    runs.lines(tmp_path / "short", ["w1", "w2"])
    runs.lines(tmp_path / "nothing", [])
    names = {
        "DATA": data,
        "M": model,
        "EMPTY": tmp_path / "empty",
        "SHORT": tmp_path / "short",
        "NOTHING": tmp_path / "nothing",
        "CONFIG": tmp_path / "config.yml",
        "BLANK": runs.lines(tmp_path / "blank", ["", ""]),
    }

    def named(text):
        return re.sub(rf"\b({'|'.join(names)})\b", lambda m: str(names[m[0]]), text)

    result = train(*map(named, arguments.split()), *SIZES)
    assert result.code == code, result.messages
    assert re.search(named(message), result.error), result.error
    left = list(model.parent.glob("*")) if model.parent.exists() else []
    assert all(path.name in ("m.npz.lock", "m.npz.corpus") for path in left)
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.long
def test_scripts_validate_the_model_itself(data, model, tmp_path):
    """Nematus' external script and Marian's metric valid-script read MODEL.dev.npz and the
    configuration beside it, as the script of wmt16-scripts does (`-m $prefix.dev.npz`).
    """
    seen = tmp_path / "seen"
    measure = tmp_path / "measure"
    measure.write_text(
        f"#!/bin/sh\necho $# $1 $2 >> {seen}\n"
        f"test -s {model}.dev.npz && test -s {model}.dev.npz.json && echo BLEU = 3.25\n"
    )
    external = tmp_path / "validate.sh"
    external.write_text(
        f"#!/bin/sh\nprefix={model}\necho external $# >> {seen}\n"
        "cp $prefix.dev.npz $prefix.npz.best_bleu\necho new best; saving\necho >&2 sad\nexit 7\n"
    )
    measure.chmod(0o755)
    external.chmod(0o755)
    scripts = ["--valid-script-path", measure, "--external_validation_script", external]
    options = "--after 2u --valid-freq 1u --valid-metrics valid-script bleu-detok -b 1".split()
    result = trained(
        data, "-m", model, *SIZES, *options, *scripts, "--valid-script-args", "a b", "c"
    )
    assert seen.read_text() == "2 a b c\nexternal 0\n" * 2
    assert "valid-script : 3.25 : new best" in result.messages
    assert "valid-script : 3.25 : stalled 1 times" in result.messages
    assert "bleu-detok : 0 : new best" in result.messages
    assert re.search(r"\[script\] .*validate.sh: failed with exit code 7: sad", result.messages)
    assert "Training finished" in result.messages, "a script that fails does not end it"
    for name in ("m.npz.best-bleu-detok.npz", "m.npz.best-valid-script.npz"):
        assert (model.parent / name).exists()
    dev, after_one = arrays(f"{model}.npz.best_bleu"), arrays(f"{model}.best-valid-script.npz")
    assert any(np.any(dev[name] != after_one[name]) for name in dev), "of the second update"
    np.testing.assert_equal(dev, arrays(model))


def test_a_script_that_fails(data, model, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    script.chmod(0o755)
    options = "--valid-metrics translation --valid-freq 1u -b 1".split()
    result = train(data, "-m", model, *PLAIN, "--valid-script-path", script, *options)
    assert result.code == 1
    assert re.search("script.*3", result.error)


@pytest.mark.long
@pytest.mark.parametrize("save", ["2u", "1e"])
def test_a_save_goes_with_a_failing_script(data, tmp_path, save):
    """Whether a save is due or not; with a repaired script the run resumes, validates again, and
    ends as if uninterrupted."""
    script, whole, parts = tmp_path / "script", tmp_path / "whole.npz", tmp_path / "parts.npz"
    words = "--valid-metrics translation -b 1 --valid-freq 2u --save-freq".split()
    options = [*PLAIN, "--valid-script-path", script, *words, save, "--after", "4u"]
    script.write_text("#!/bin/sh\necho 1 2\n")
    script.chmod(0o755)
    assert train(data, "-m", parts, *options).code == 1
    assert arrays(Path(f"{parts}.state.npz"))["updates"] == 2
    script.write_text("#!/bin/sh\necho 5\n")
    assert "translation : 5 : new best" in trained(data, "-m", parts, *options).messages
    trained(data, "-m", whole, *options)
    assert whole.read_bytes() == parts.read_bytes()
    kept, expected = (Path(f"{m}.best-translation.npz").read_bytes() for m in (parts, whole))
    assert kept == expected


# -- a run -----------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_whole_run(data, model, tmp_path):
    options = (
        "--after 2e -l 0.01 --keep 2 --save-freq 3u --valid-freq 8u --disp-freq 5u --disp-first 2 "
        "--valid-metrics perplexity chrf -b 2 -n 0.5"
    ).split()
    logs = ["--log", tmp_path / "log", "--valid-log", tmp_path / "valid.log"]
    output = ["--valid-translation-output", tmp_path / "out.{E}.{U}"]
    result = trained(data, "-m", model, *SIZES, *options, *logs, *output)
    folder = model.parent
    models = ["m.npz", *(f"m.npz.{w}.npz" for w in "best-perplexity best-chrf u12 u15".split())]
    others = "vocab.src.json vocab.trg.json m.npz.state.npz m.npz.corpus m.npz.lock"
    assert {path.name for path in folder.iterdir()} == {
        *models,
        *(f"{model}.json" for model in models),
        *others.split(),
        "m.npz.metrics.jsonl",
    }
    assert not Path(f"{model}.log").exists()
    lines = (tmp_path / "log").read_text()
    assert lines == result.messages
    of_validation = [line for line in lines.splitlines(True) if "[valid]" in line]
    assert (tmp_path / "valid.log").read_text() == "".join(of_validation)
    assert len(of_validation) == 4
    assert "Training 2," in lines and "pairs (0 empty" in lines
    assert "[valid] Ep. 1 : Up. 8 : perplexity : " in lines
    assert "Starting data epoch 2" in lines
    assert "Compiling" not in lines
    assert lines.endswith("Training finished\n")
    assert [entry["update"] for entry in records(model, "train")] == [1, 2, 5, 10, 15, 16]
    assert [(e["update"], e["metric"]) for e in records(model, "valid")] == [
        (update, metric) for update in (8, 16) for metric in ("perplexity", "chrf")
    ]
    assert [entry["epoch"] for entry in records(model, "data")] == [1, 2]
    assert all(0 <= entry["waited"] <= entry["of"] for entry in records(model, "data"))
    assert (tmp_path / "out.1.8").read_text().count("\n") == 6
    read = read_model.read(str(model))
    assert (read.settings.beam_size, read.settings.normalize) == (2, 0.5)
    assert read.settings.vocabularies == ["vocab.src.json", "vocab.trg.json"]

    before = model.read_bytes()
    again = trained(data, "-m", model, *SIZES, "--after", "2e", *NO_VALIDATION, "--quiet")
    assert again.messages == ""
    assert model.read_bytes() == before

    for arguments, named in (
        (["--seed", 2], "--seed was 1, is 2"),
        (["--dim-rnn", 9], "model's state was 8, is 9"),
        (["-t", data / "train.trg", data / "train.src"], "training text was"),
        (["--dim-vocabs", 9, 9], "vocabulary 1 was"),
    ):
        refused = train(data, "-m", model, *SIZES, "--after", "3e", *NO_VALIDATION, *arguments)
        assert refused.code == 1
        assert f"{model}.state.npz: this training began with other " in refused.error
        assert named in refused.error
    other_text = ("--valid-sets", data / "train.src", data / "train.trg", "--after", "2e")
    refused = train(data, "-m", model, *SIZES, *other_text)
    assert refused.code == 1
    assert "data: validation text (see --valid-reset-all) was" in refused.error
    trained(data, "-m", model, *SIZES, *other_text, "--valid-reset-all")
    assert model.read_bytes() == before
    with RunFolder(model).locked():
        refused = train(data, "-m", model, *SIZES, "--after", "3e")
        assert (refused.code, "another process is training it" in refused.error) == (1, True)
    shutil.rmtree(folder / "m.npz.corpus")
    Path(f"{model}.state.npz").unlink()
    refused = train(data, "-m", model, *SIZES, "--after", "3e")
    assert (refused.code, "exists, and training cannot resume" in refused.error) == (1, True)


@pytest.mark.parametrize(("init", "given"), [("scaled", True), ("glorot", False)])
def test_a_new_model_begins_with_the_frequencies_of_words(data, model, init, given):
    """They are the output's bias after an update of nearly 0; every word is counted once more."""
    rate = ("-l", "1e-9", "--init", init)
    trained(data, "-m", model, *PLAIN, *NO_VALIDATION, *rate, "--after", "1u")
    ids = json.loads((data / "vocab.trg.json").read_text())
    counts = np.ones(len(ids))
    for line in (data / "train.trg").read_text().splitlines():
        counts[0] += 1  # EOS
        for word in line.split():
            counts[ids[word]] += 1
    bias = np.load(model)["ff_logit_b"].astype(float)
    expected = counts / counts.sum() if given else np.full(len(ids), 1 / len(ids))
    np.testing.assert_allclose(np.exp(bias) / np.exp(bias).sum(), expected, rtol=1e-4)


def test_training_stops_when_validation_stalls(data, model):
    options = (
        "-l 1e-30 --valid-freq 1u --early-stopping 2 --valid-metrics ce-mean-words --lr-decay 0.5 "
        "--after 20u"
    )
    result = trained(data, "-m", model, *PLAIN, *options.split())
    assert "stalled 2 times" in result.messages
    message = [line for line in result.messages.splitlines() if "Decaying" in line]
    assert [line.partition("] ")[2] for line in message] == [
        "Decaying learning rate to 5e-31 after having stalled 1 time(s)",
        "Decaying learning rate to 2.5e-31 after having stalled 2 time(s)",
    ]
    assert [entry["stalled"] for entry in records(model, "valid")] == [0, 1, 2]
    assert records(model, "train")[-1]["learning_rate"] == 0.25e-30


@pytest.mark.long
def test_validation_does_not_change_the_course(data, tmp_path):
    given = [data, *PLAIN, "--after", "6u", "--dropout-hidden", 0.2]
    trained(*given, "-m", tmp_path / "a" / "m.npz", *NO_VALIDATION)
    validated = "--valid-freq 2u --valid-metrics bleu -b 1 --save-freq 1u".split()
    trained(*given, "-m", tmp_path / "b" / "m.npz", *validated)
    assert (tmp_path / "a" / "m.npz").read_bytes() == (tmp_path / "b" / "m.npz").read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("compat", choice(["nematus", "nematus-tf"], "nematus", others=LONG))
def test_the_model_of_nematus_is_the_best(data, model, compat):
    """The rate is so high that validation becomes worse."""
    options = f"--compat {compat} --batch_size 16 --validFreq 1 --finish_after 3 --overwrite"
    sizes = "--dim_word 4 --dim 4 --optimizer sgd --lrate 30 --clip_c 100"
    dev = ["--valid_datasets", data / "dev.src", data / "dev.trg"]
    trained(data, "--model", model, *options.split(), *sizes.split(), *dev)
    assert not records(model, "valid")[-1]["new_best"]
    saved, best = (arrays(Path(f"{model}{end}")) for end in ("", ".best-cross-entropy.npz"))
    assert all(np.array_equal(saved[name], best[name]) for name in saved)


@pytest.mark.long
def test_compiling_is_shown(data, model):
    small = ["-t", data / "dev.src", data / "dev.trg", "--after", "1u", *NO_VALIDATION]
    result = trained(data, "-m", model, *PLAIN, *small, "--jit", "on")
    assert "Compiling for batches of 8 pairs, 8 source and 8 target words" in result.messages
    assert ", XLA, " in result.messages


@pytest.mark.long
def test_pictures(data, model):
    pytest.importorskip("matplotlib")
    pytest.importorskip("tensorboard")
    frequencies = "--after 2u --valid-freq 1u --disp-freq 1u".split()
    shown = "--valid-metrics cross-entropy --plot --tensorboard".split()
    trained(data, "-m", model, *PLAIN, *frequencies, *shown)
    assert Path(f"{model}.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in Path(f"{model}.svg").read_text()
    assert list(Path(f"{model}.tensorboard").glob("events.out.tfevents.*"))


# -- resuming --------------------------------------------------------------------------------------


class Killed(BaseException):
    """Stops a training run anywhere."""


@contextlib.contextmanager
def killed_at(event):
    """End a training run before or after the update or file replacement with this number."""
    seen = 0

    def counted(call, after):
        def run(*arguments, **more):
            nonlocal seen
            seen += 1
            if seen == event and not after:
                raise Killed
            result = call(*arguments, **more)
            if seen == event:
                raise Killed
            return result

        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atomic_files.os, "replace", counted(os.replace, after=event % 2))
        patch.setattr(TrainingStep, "update", counted(TrainingStep.update, after=True))
        yield


@pytest.mark.parametrize("model", [PLAIN, pytest.param(SIZES, marks=pytest.mark.exhaustive)])
def test_resuming_is_exact(data, tmp_path, model):
    """The conditional GRU resumes in tests of guided attention and of the ladder."""
    whole, parts = tmp_path / "whole" / "m.npz", tmp_path / "parts" / "m.npz"
    options = (*model, *EVERYTHING)
    trained(data, "-m", whole, *options)
    # After an update, before a best model, between state and model, before a kept one, an update.
    for event in (3, 8, 9, 12, 19):
        with killed_at(event), pytest.raises(Killed):
            train(data, "-m", parts, *options)
    trained(data, "-m", parts, *options)
    for one, other in zip(comparable(whole.parent), comparable(parts.parent), strict=True):
        assert one == other
    assert len(comparable(whole.parent)[0]) == 10  # the model, two best ones, two kept ones
    assert "Resuming after update" in Path(f"{parts}.log").read_text()


def test_the_state_is_a_function_of_the_training_and_its_seconds(data, tmp_path, monkeypatch):
    """Two trainings that take the same time, at different times, leave the same bytes."""
    states = []
    for now in (1.5e9, 1.7e9):
        ticks = itertools.count()
        clocked = functools.partial(Training, clock=lambda ticks=ticks: float(next(ticks)))
        monkeypatch.setattr(builders, "Training", clocked)
        monkeypatch.setattr(time, "time", lambda now=now: now)
        model = tmp_path / str(now) / "m.npz"
        options = ("--type", "lm", "--cell", "tanh", "--after", "5u", "--disp-freq", "2u")
        trained(data, "-m", model, *SIZES, *options, *NO_VALIDATION)
        states.append(Path(f"{model}.state.npz").read_bytes())
    assert states[0] == states[1]


def test_a_finished_training_leaves_its_model(data, model):
    """Even its time, by which scripts see changes; a damaged model is written again."""
    options = ("--type", "lm", "--cell", "tanh", "--after", "2u", *NO_VALIDATION)
    trained(data, "-m", model, *SIZES, *options)
    files = [path for path in model.parent.iterdir() if path.name in (model.name, "vocab.trg.json")]
    before = [path.stat().st_mtime_ns for path in files]
    trained(data, "-m", model, *SIZES, *options)
    assert [path.stat().st_mtime_ns for path in files] == before and len(files) == 2
    content = model.read_bytes()
    model.write_bytes(content[:-1] + b"?")
    trained(data, "-m", model, *SIZES, *options)
    assert model.read_bytes() == content


@pytest.mark.long
@pytest.mark.parametrize("kills", choice([[2], [2, 3]], [2]))
def test_killed_processes_lose_nothing(data, tmp_path, kills):
    """SIGKILL between and during saves."""
    whole, parts = tmp_path / "whole" / "m.npz", tmp_path / "parts" / "m.npz"
    options = [*PLAIN, *EVERYTHING, "--save-freq", "1u"]
    undisturbed = process(data, "-m", whole, *options)
    for saves in kills:
        killed = process(data, "-m", parts, *options)
        state, seen, last = Path(f"{parts}.state.npz"), 0, None
        while seen < saves and killed.poll() is None:
            with contextlib.suppress(FileNotFoundError):
                now = state.stat().st_mtime_ns
                seen, last = seen + (now != last), now
            time.sleep(0.001)
        killed.kill()
        killed.communicate()
    finished = process(data, "-m", parts, *options)
    for one in (undisturbed, finished):
        _, messages = one.communicate()
        assert one.returncode == 0, messages
    assert whole.read_bytes() == parts.read_bytes()
    assert not list(parts.parent.glob(".*.tmp"))


LOOKS = """
import os, signal, sys
from cgru_cli.cli import main
from cgru_cli.optimization.step import TrainingStep
from cgru_cli.train import loop

def killed(step, *arguments, **more):
    outcome = update(step, *arguments, **more)
    if int(step.updates) == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return outcome

loop.NO_LOOK, at = 0.0, int(sys.argv.pop(1))
update, TrainingStep.update = TrainingStep.update, killed
main()
"""


@pytest.mark.long
def test_kills_around_a_first_look_change_nothing(data, tmp_path):
    """SIGKILL before the look, which is in the second update, and after it."""
    options = "--valid-freq 12u --valid-metrics perplexity --save-freq 1u --disp-freq 1u"
    options = [*PLAIN, "--after", "13u", *options.split(), "--maxi-batch", 4, "--mini-batch", 5]
    folders = {"whole": [0], "parts": [2, 6, 0]}  # 12 updates an epoch
    for name, kills in folders.items():
        for at in kills:
            arguments = [at, "train", data, "-m", tmp_path / name / "m.npz", *options]
            done = subprocess.run(
                [sys.executable, "-c", LOOKS, *map(str, arguments)], capture_output=True, text=True
            )
            assert done.returncode == (-signal.SIGKILL if at else 0), done.stderr
        looks = records(tmp_path / name / "m.npz", "look")
        assert [look["update"] for look in looks] == [2], name
    whole, parts = (comparable(tmp_path / name) for name in folders)
    assert whole == parts
    log = (tmp_path / "parts/m.npz.log").read_text()
    assert log.count("[look]") == 1 and log.count("Resuming after update") == 2


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_and_stops(data, tmp_path, signum, code, monkeypatch):
    model = tmp_path / "m.npz"
    options = [data, "-m", model, *PLAIN, "--after", "9u", *NO_VALIDATION, "--save-freq", "0"]
    update = TrainingStep.update

    def signalled(step, *arguments, **more):
        outcome = update(step, *arguments, **more)
        if int(step.updates) == 5:
            os.kill(os.getpid(), signum)
        return outcome

    monkeypatch.setattr(TrainingStep, "update", signalled)
    result = train(*options)
    assert result.code == code
    assert "Stopped after update 5; saved" in result.messages
    assert int(arrays(f"{model}.state.npz")["updates"]) == 5
    assert model.exists()


def test_a_full_disk_leaves_what_was_saved(data, model, monkeypatch):
    options = [data, "-m", model, *PLAIN, *NO_VALIDATION, "--save-freq", "2u"]
    trained(*options, "--after", "2u")
    before = {path: path.read_bytes() for path in model.parent.iterdir() if path.is_file()}

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_files.os, "fsync", full)
    result = train(*options, "--after", "4u")
    assert result.code == 1
    assert result.error.startswith("cgru: ")
    assert "No space left on device" in result.error
    for path in (model, Path(f"{model}.state.npz"), Path(f"{model}.json")):
        assert path.read_bytes() == before[path]
    assert not list(model.parent.glob(".*"))


# -- numbers that are not finite -------------------------------------------------------------------


def test_updates_that_are_not_finite(data, model, monkeypatch):
    """Lost weights are not saved, and the last good model stays."""
    options = [data, "-m", model, *PLAIN, *NO_VALIDATION, "--max-nan", 3, "-l", 0.01]
    trained(*options, "--after", "2u")
    before = arrays(model)
    update = TrainingStep.update

    def diverging(step, *arguments, **more):
        outcome = update(step, *arguments, **more)
        bias = step.model.parameters["ff_logit_b"]
        bias.assign(np.full(bias.shape, np.nan))
        return outcome

    with monkeypatch.context() as patch:
        patch.setattr(TrainingStep, "update", diverging)
        result = train(*options, "--after", "30u", "--save-freq", "1u")
    assert result.code == 1
    lines = result.messages.splitlines()
    assert sum("skipped: cost nan" in line for line in lines) == 3
    assert any("Not saved: the cost after update 3 is not finite" in line for line in lines)
    assert "3 updates in a row were not finite (epoch 1, update 6)" in result.error
    assert "kept as it was after update 2" in result.error
    skipped = records(model, "skipped")
    assert [(entry["update"], entry["batch"]) for entry in skipped] == [(4, 4), (5, 5), (6, 6)]
    for name, array in arrays(model).items():
        np.testing.assert_array_equal(array, before[name])
    again = trained(*options, "--after", "3u")
    assert "Resuming after update 2" in again.messages


def test_a_model_that_never_trained_is_not_written(data, model, monkeypatch):
    monkeypatch.setattr(
        TrainingStep, "update", lambda *_, **__: Outcome(math.nan, math.nan, applied=False)
    )
    result = train(data, "-m", model, *PLAIN, *NO_VALIDATION, "--after", "2u")
    assert result.code == 1
    assert "2 updates in a row were not finite" in result.error
    assert "the model is not written" in result.error
    assert not model.exists()


def test_a_single_update_that_is_not_finite_is_skipped(data, model, monkeypatch):
    update, calls = TrainingStep.update, []

    def sometimes(step, *arguments, **more):
        calls.append(1)
        if len(calls) % 2:
            return Outcome(math.inf, math.nan, applied=False)
        return update(step, *arguments, **more)

    monkeypatch.setattr(TrainingStep, "update", sometimes)
    result = trained(data, "-m", model, *PLAIN, *NO_VALIDATION, "--after", "6u", "--max-nan", 2)
    assert sum("skipped: cost inf" in line for line in result.messages.splitlines()) == 3
    assert model.exists()


def test_a_batch_that_does_not_fit(data, model, monkeypatch):
    import tensorflow as tf

    def full(*_, **__):
        raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating")

    monkeypatch.setattr(TrainingStep, "update", full)
    result = train(data, "-m", model, *PLAIN, *NO_VALIDATION, "--after", "2u")
    assert result.code == 1
    assert "do not fit into the memory of the device; lower --mini-batch" in result.error


def test_a_file_that_is_not_a_state(data, model):
    model.parent.mkdir()
    RunFolder(model).save({}, {"age": 1})
    result = train(data, "-m", model, *PLAIN, "--after", "2u")
    assert result.code == 1
    assert (
        f"{model}.state.npz: damaged: missing required field identity; restore the file, or"
        in result.error
    )


# -- runs that resume in part ----------------------------------------------------------------------

PARTLY = (*PLAIN, *NO_VALIDATION, "-l", 0.1, "--exponential-smoothing", 0.5, "--disp-freq", "1u")


def state_of(model):
    saved = arrays(Path(f"{model}.state.npz"))
    return saved, json.loads(saved["json"].tobytes())


def iterations(model):
    """The updates that the optimizer remembers."""
    return next(array for name, array in state_of(model)[0].items() if "iteration" in name)


def test_a_run_begins_its_text_again(data, model, tmp_path):
    trained(data, "-m", model, *PARTLY, "--after", "3u")
    other = runs.prepared(tmp_path / "other", pairs=12)
    batches = "--mini-batch", 5, "--seed", 3, "--max-length", 7, "--no-shuffle", "--maxi-batch", 2
    batches = *batches, "--max-length-crop", "--shuffle-batches", "--maxi-batch-sort", "src"
    given = other, "-m", model, *PARTLY, "--after", "4u", *batches
    assert "other options or data" in train(*given).error
    trained(*given, "--no-restore-corpus")
    assert iterations(model) == 4  # the optimiser is the same
    last = records(model, "train")[-1]
    assert (last["update"], last["sentences"]) == (4, 5)
    assert "state was 8, is 9" in train(*given, "--dim-rnn", 9, "--no-restore-corpus").error


def test_a_run_continues_with_a_new_optimizer(data, model):
    trained(data, "-m", model, *PARTLY, "--after", "3u")
    averages = arrays(model)
    given = data, "-m", model, *PARTLY, "-l", 0, "--after", "4u"
    trained(*given, "--no-optimizer-reload")
    assert iterations(model) == 1
    state, values = state_of(model)
    assert values["progress"]["updates"] == 4
    for name in (name for name in averages if f"weights/{name}" in state):
        array = averages[name]
        np.testing.assert_array_equal(state[f"weights/{name}"], array)


def test_a_new_run_replaces_an_earlier_one(data, model):
    trained(data, "-m", model, *PARTLY, "--after", "3u", "--seed", 1)
    new = data, "-m", model, *PARTLY, "--after", "2u", "--seed", 2
    assert "other options or data" in train(*new).error
    messages = trained(*new, "--no-reload").messages
    assert "Resuming after update 3" not in messages and iterations(model) == 2
    assert "Training begins again; ignore later lines above (" in messages
    assert [record["update"] for record in records(model, "train")] == [1, 2]


def test_a_decay_resets_the_optimizer(data, model):
    decay = "--lr-decay", 0.5, "--lr-decay-strategy", "batches", "--lr-decay-start", 2
    reset = "--lr-decay-reset-optimizer"
    for options, remembered in (((), 3), ((reset,), 1)):
        trained(data, "-m", model, *PARTLY, "--after", "3u", *decay, "--lr-decay-freq", 9, *options)
        assert iterations(model) == remembered
        shutil.rmtree(model.parent)


def test_models_that_a_checkpoint_cannot_hold_are_kept_as_npz(data, model):
    options = *PLAIN, *NO_VALIDATION, "--after", "2u", "--save-freq", "1u"
    name = model.with_name("kept-{U}")
    messages = trained(data, "-m", model, *options, "--keep", 2, "--keep-as", name).messages
    assert re.search(rf"kept as {re.escape(str(name))}.npz; Nematus-TF has no .*seq2seq", messages)
    last = model.with_name("kept-2.npz")
    assert last.read_bytes() == model.read_bytes() != last.with_name("kept-1.npz").read_bytes()

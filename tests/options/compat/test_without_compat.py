"""What the command lines of all programs mean alike is understood without `--compat`, by effect."""

import dataclasses

import pytest
import runs
from click.testing import CliRunner
from command_lines import parsed_and_told

from cgru_cli.cli import main

PLAIN = {"train": "-m run/m -t a b -v c d", "translate": "-m m.npz", "score": "-m m.npz"}
DEEP = {
    "type": "s2s", "enc_type": "alternating", "enc_depth": 4, "enc_cell_depth": 2, "dec_depth": 4,
    "dec_cell_base_depth": 4, "dec_cell_high_depth": 2, "layer_normalization": True,
    "tied_embeddings": True, "mini_batch": 1000, "mini_batch_fit": True, "maxi_batch": 1000,
    "label_smoothing": 0.1, "clip_norm": 0.0, "exponential_smoothing": 0.0001,
    "learn_rate": 0.0003, "lr_decay_inv_sqrt": "16000",
}  # fmt: skip
# command line: (the options that it changes, what is told of those without effect)
ALIKE = {
    "translate -p 5": ({}, "-p (one process uses all processors)"),
    "translate -d 0 1": ({}, "-d (one device computes)"),
    "translate --device-list cpu:0": ({}, "--device-list (--device chooses)"),
    "translate --log l": ({"log": "l"}, ""),
    "translate --quiet-translation": ({"quiet": True}, ""),
    "translate --n-best yes": ({"n_best": True}, ""),
    "translate --n-best false": ({}, ""),
    "translate --beam-size=7": ({"beam_size": 7}, ""),
    "translate -n1": ({"normalize": 1.0}, ""),
    "translate -n0.3": ({"normalize": 0.3}, ""),
    "translate --skip-cost -k 1": ({"beam_size": 1}, "--skip-cost (the best word is the same"),
    "translate --type s2s --dim-emb 8 --dim-vocabs 9 8": (
        {"model_is": ("type=s2s", "dim-emb=8", "dim-vocabs=9 8")}, "",
    ),
    "score -b 7": ({"mini_batch": 7}, ""),
    "score -p 5": ({}, "-p (one process uses all processors)"),
    "score --log l": ({"log": "l"}, ""),
    "score --summary": ({"summary": "cross-entropy"}, ""),
    "score --n-best -t src list": ({"source": ("src",), "n_best": "list"}, ""),
    "score --type s2s --dim-emb 8": ({"model_is": ("type=s2s", "dim-emb=8")}, ""),
    "train -d 0 1": ({"devices": ("0", "1")}, ""),
    "train --log l --valid-log v": ({"log": "l", "valid_log": "v"}, ""),
    "train --after-batches 20": ({"after": "20u"}, ""),
    "train --disp-label-counts": ({}, "--disp-label-counts (the log shows the mean over words)"),
    "train --quiet-translation": ({}, "--quiet-translation (training prints no translations)"),
    "train --n_words 30 --n_words_src 20": ({"dim_vocabs": (20, 30)}, ""),
    "train --validFreq 3 --saveFreq 4 --sampleFreq 5 --dispFreq 6": (
        {"valid_freq": "3", "save_freq": "4", "disp_freq": "6"}, "--sampleFreq (training prints no",
    ),
    "train --reload": ({}, "--reload (the same command goes on where it was saved)"),
    "train --reload x.npz": ({"pretrained_model": "x.npz"}, ""),
    "train --enc_depth 2": ({"enc_depth": 2}, ""),
    "train --enc_recurrence_transition_depth 2": ({"enc_cell_depth": 2}, ""),
    "train --dec_base_recurrence_transition_depth 3": ({"dec_cell_base_depth": 3}, ""),
    "train --dec_high_recurrence_transition_depth 4": ({"dec_cell_high_depth": 4}, ""),
    "train --lr-decay-inv-sqrt 40u 20u": (
        {"lr_decay_inv_sqrt": "40u", "lr_decay_inv_sqrt_start": "20u"}, "",
    ),
    "train -T x": ({}, "-T (batches are drawn from a file in the folder of the model)"),
    "train --sentencepiece-options --model_type=bpe": (
        {"sentencepiece_options": "--model_type=bpe"}, "",
    ),
    "train --best-deep": (DEEP, ""),
    "train --skip": ({}, ""),  # as it is by default
    "train --skip false": ({"no_skip": True}, ""),
    "train --quiet true --no-shuffle off": ({"quiet": True}, ""),
    "train --layer-normalization 1 --tied-embeddings no": ({"layer_normalization": True}, ""),
    "train --valid-reset-all false --no-restore-corpus false": ({}, ""),  # nothing is asked for
}  # fmt: skip


@pytest.mark.parametrize("line", ALIKE)
def test_it_changes_these_options_and_tells_of_the_others(line):
    command, *arguments = line.split()
    options, told = parsed_and_told(command, *PLAIN[command].split(), *arguments)
    plain, _ = parsed_and_told(command, *PLAIN[command].split())
    changed = {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)
        if getattr(options, field.name) != getattr(plain, field.name)
    }
    changes, note = ALIKE[line]
    assert changed == changes
    assert told == "" if not note else told.startswith(f"without effect here: {note}")


def test_every_boolean_takes_a_value_as_marians_parser_does():
    for command, plain in PLAIN.items():
        for typed in ("true", "1", "yes", "on"):
            assert parsed_and_told(command, *plain.split(), "--quiet", typed)[0].quiet
        for typed in ("false", "0", "no", "off"):
            assert not parsed_and_told(command, *plain.split(), f"--quiet={typed}")[0].quiet


def test_a_script_of_them_trains_translates_and_scores(tmp_path, monkeypatch):
    """The model, the logs, the list and the check of what it is, of one small run."""
    monkeypatch.chdir(tmp_path)
    runs.prepared(tmp_path / "data")
    texts = ["-t", "data/train.src", "data/train.trg"]
    runs.trained(
        *texts, "-v", "data/vocab.src.json", "data/vocab.trg.json", *runs.PLAIN, "--model", "run/m",
        "--after-batches", 2, "--validFreq", 2, "--saveFreq", 2, "--dispFreq", 1, "--n_words", 500,
        "--valid-sets", "data/dev.src", "data/dev.trg", "--log", "l", "--valid-log", "v",
        "--quiet", "true", "--disp-label-counts", "--reload",
    )  # fmt: skip
    assert (tmp_path / "run/m.npz").exists()
    assert (tmp_path / "l").read_text().count(" : Up. ") >= 3  # two updates and a validation
    assert (tmp_path / "v").read_text().count("cross-entropy") == 1

    def cgru(*arguments):
        return CliRunner().invoke(main, list(arguments))

    done = cgru("translate", "-m", "run/m.npz", "-i", "data/dev.src", "-n1", "-p", "4", "-k", "2",
                "--n-best", "yes", "--quiet", "1", "-o", "list")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "without effect here: -p" in done.stderr
    done = cgru("score", "-m", "run/m.npz", "--n-best", "-t", "data/dev.src", "list", "-o", "twice")
    assert done.exit_code == 0, done.stderr
    written, scored = ((tmp_path / name).read_text().splitlines() for name in ("list", "twice"))
    assert len(written) == len(scored) > 6
    assert all("Score= " in line and line.split(" ||| ")[1] == text.split(" ||| ")[1]
               for text, line in zip(written, scored, strict=True))  # fmt: skip
    for command in ("translate", "score"):
        wrong = cgru(command, "-m", "run/m.npz", "--dim-emb", "9")
        assert (wrong.exit_code, wrong.stdout) == (1, "")
        assert "dim-emb" in wrong.stderr and wrong.stderr.count("\n") == 1

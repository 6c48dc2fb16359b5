"""Options of other programs: advice without `--compat`, their effect with it."""

import dataclasses
import subprocess
import sys

import click
import pytest
from command_lines import parsed, parsed_with_note
from tables import each_row

PLAIN = {"train": "data -m run/m -t a b -v c d", "translate": "-m m.npz", "score": "-m m.npz"}
DEEP = {
    "type": "s2s", "enc_type": "alternating", "enc_depth": 4, "enc_cell_depth": 2, "dec_depth": 4,
    "dec_cell_base_depth": 4, "dec_cell_high_depth": 2, "layer_normalization": True,
    "tied_embeddings": True, "mini_batch": 1000, "mini_batch_fit": True, "maxi_batch": 1000,
    "label_smoothing": 0.1, "clip_norm": 0.0, "exponential_smoothing": 0.0001, "no_skip": False,
    "learn_rate": 0.0003, "lr_decay_inv_sqrt": "16000", "normalization_form": "marian",
}  # fmt: skip
# command line of cgru: the options that it changes
NATIVE = {
    "translate --log l": {"log": "l"},
    "translate --quiet-translation": {"quiet": True},
    "translate --beam-size=7": {"beam_size": 7},
    "translate -n1": {"normalize": 1.0},
    "translate -n0.3": {"normalize": 0.3},
    "score -b 7": {"mini_batch": 7},
    "score --log l": {"log": "l"},
    "train -d 0 1": {"devices": ("0", "1")},
    "train --log l --valid-log v": {"log": "l", "valid_log": "v"},
    "train --disp-label-counts": {"disp_label_counts": True},
    "train --enc_depth 2": {"enc_depth": 2},
    "train --dropout-src 0.1": {"dropout_source": 0.1},
    "train --sentencepiece-options --model_type=bpe": {"sentencepiece_options": "--model_type=bpe"},
}
# command line: its program, the message without --compat, the options that it changes with
# --compat, and the note on options without effect
OTHERS = {
    "translate -p 5": (
        "nematus", "-p is Nematus': it has no effect here (one process uses all processors)", {},
        "-p (one process uses all processors)",
    ),
    "translate -d 0 1": (
        "marian", "-d is Marian's: it has no effect here (only", {}, "-d (only one device is used)",
    ),
    "translate --device-list cpu:0": (
        "nematus", "--device-list is Nematus': it has no effect", {},
        "--device-list (--device selects the device)",
    ),
    "translate --n-best yes": (
        "marian", "--n-best yes: --n-best takes no value; if the line is Marian's, add --compat",
        {"n_best": True}, "",
    ),
    "translate --n-best false": ("marian", "--n-best false: --n-best takes no value", {}, ""),
    "translate --skip-cost -b 1": (
        "marian", "--skip-cost is Marian's: add --compat marian", {"beam_size": 1},
        "--skip-cost (the cost does not change which word is best",
    ),
    "translate --type s2s --dim-emb 8 --dim-vocabs 9 8": (
        "marian", "--type is Marian's: write --model-is type=s2s, or add --compat marian",
        {"model_is": ("type=s2s", "dim-emb=8", "dim-vocabs=9 8")}, "",
    ),
    "translate -b 80": (
        "nematus-tf", "-b means different things (Nematus': write --mini-batch 80; Marian's: write "
        "--beam-size 80); add --compat PROGRAM", {"mini_batch": 80}, "",
    ),
    "translate -v -k 6": (
        "nematus", "-v lacks its value: -v SRC TRG is expected, and -k is an option; if the line "
        "is Nematus', add --compat nematus", {"beam_size": 6}, "-v (warnings are always shown)",
    ),
    "score -p 5": ("nematus", "-p is Nematus'", {}, "-p (one process uses all processors)"),
    "score --summary": (
        "marian", "--summary lacks its value: --summary KIND", {"summary": "cross-entropy"}, "",
    ),
    "score --n-best -t src list": (
        "marian", "--n-best lacks its value: --n-best FILE is expected, and -t is an option; if "
        "the line is Marian's, add --compat marian", {"source": ("src",), "n_best": "list"}, "",
    ),
    "score --type s2s --dim-emb 8": (
        "marian", "--type is Marian's", {"model_is": ("type=s2s", "dim-emb=8")}, "",
    ),
    "train --after-batches 20": (
        "marian", "--after-batches is Marian's: write --after 20u, or add --compat marian",
        {"after": "20u"}, "",
    ),
    "train --quiet-translation": (
        "marian", "--quiet-translation is Marian's: leave it out, or add --compat marian",
        {"disp_translations": False}, "",
    ),
    "train --transformer-dropout 0.1": (
        "marian", "--transformer-dropout is Marian's: it has no effect here", {},
        "--transformer-dropout (a recurrent model has no transformer layers)",
    ),
    "train --n_words 30 --n_words_src 20": (
        "nematus", "--n_words is Nematus': add --compat", {"dim_vocabs": (20, 30)}, "",
    ),
    "train --validFreq 3 --saveFreq 4 --sampleFreq 5 --dispFreq 6": (
        "nematus", "--validFreq is Nematus': write --valid-freq 3, or add --compat nematus",
        {"valid_freq": "3", "save_freq": "4", "disp_freq": "6"}, "--sampleFreq (training prints no",
    ),
    "train --reload": (
        "nematus", "--reload is Nematus': leave it out, or add --compat nematus",
        {"no_reload": False}, "",
    ),
    "train --reload x.npz": (
        "nematus", "--reload is Nematus': write --pretrained-model x.npz, or add --compat nematus",
        {"pretrained_model": "x.npz"}, "--reload (on the optimiser",
    ),
    "train --enc_recurrence_transition_depth 2": (
        "nematus", "--enc_recurrence_transition_depth is Nematus': write --enc-cell-depth 2, or",
        {"enc_cell_depth": 2}, "",
    ),
    "train --lr-decay-inv-sqrt 40u 20u": (
        "marian", "20u: unexpected argument; only one DATA", {
            "lr_decay_inv_sqrt": "40u", "lr_decay_inv_sqrt_start": "20u"}, "",
    ),
    "train -T x": (
        "marian", "-T is Marian's: it has no effect here", {},
        "-T (batches are read from a file beside the model)",
    ),
    "train --best-deep": ("marian", "--best-deep is Marian's", DEEP, ""),
    "train --skip": ("marian", "--skip is Marian's: leave it out, or add", {"no_skip": False}, ""),
    "train --quiet true --no-shuffle off": (
        "marian", "--quiet true: --quiet takes no value; if the line is Marian's, add --compat",
        {"quiet": True}, "",
    ),
    "train --layer-normalization 1 --tied-embeddings no": (
        "marian", "--tied-embeddings no: --tied-embeddings takes no value",
        {"layer_normalization": True, "normalization_form": "marian"}, "",
    ),
    "train --cost-type perplexity": (
        "marian", "--cost-type perplexity: one of ce-mean, ce-mean-words, ce-sum is expected; if "
        "the line is Marian's, add --compat marian", {}, "--cost-type (the log shows",
    ),
    "train --enc-cell gru-nematus": (
        "marian", "--enc-cell gru-nematus: one of gru,", {}, "",
    ),
}  # fmt: skip


def changes(line, *compat):
    """The options that a line changes, as against the command alone, and the note."""
    command, *arguments = line.split()
    options, noted = parsed_with_note(command, *compat, *PLAIN[command].split(), *arguments)
    plain, _ = parsed_with_note(command, *compat, *PLAIN[command].split())
    changed = {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)
        if getattr(options, field.name) != getattr(plain, field.name)
    }
    return changed, noted


@each_row("line", NATIVE)
def test_secondary_names_need_no_compat(line):
    assert changes(line) == (NATIVE[line], "")


@each_row("line", OTHERS)
def test_with_compat_an_option_has_the_effect_of_its_program(line):
    program, _, expected, note = OTHERS[line]
    changed, noted = changes(line, "--compat", program)
    if line.endswith(
        ("--best-deep", "--reload x.npz")
    ):  # which also change the options that depend on them
        changed = {name: value for name, value in changed.items() if name in expected}
    assert changed == expected
    assert noted == "" if not note else noted.startswith(f"without effect here: {note}")


@each_row("line", OTHERS)
def test_without_compat_one_line_says_what_to_write(line):
    command, *arguments = line.split()
    with pytest.raises(click.UsageError) as error:
        parsed(command, *PLAIN[command].split(), *arguments)
    assert str(error.value).startswith(OTHERS[line][1]) and "\n" not in str(error.value)


def test_positional_arguments_name_their_program():
    with pytest.raises(click.UsageError, match=r"^m\.npz: .*5 arguments .*--compat dl4mt$"):
        parsed("translate", *["-n", "-p", "8", "m.npz", "s.pkl", "t.pkl", "in", "out"])


def test_what_no_program_has_is_no_such_option():
    with pytest.raises(click.UsageError, match=r"'--beem-size'\. Did you mean --beam-size"):
        parsed("translate", "-m", "m", "--beem-size", "5")


def test_what_cannot_be_honoured_is_said_without_compat_too():
    with pytest.raises(click.UsageError, match=r"^--optimize cannot be honoured: use --precision"):
        parsed("translate", "-m", "m", "--optimize")


def test_every_boolean_takes_a_value_as_in_marians_parser():
    for command, plain in PLAIN.items():
        line = ["--compat", "marian", *plain.split()]
        for typed in ("true", "1", "yes", "on"):
            assert parsed(command, *line, "--quiet", typed).quiet
        for typed in ("false", "0", "no", "off"):
            assert not parsed(command, *line, f"--quiet={typed}").quiet


LINES = ["translate -m m.npz -k 5 --n-best", "train d -m m --dim-emb 5 -c native.yml",
         "score -m m.npz -s a -t b", "prep out -s a -t b", "serve -m m.npz"]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("line", LINES)
def test_a_native_line_imports_nothing_of_compat(line, tmp_path):
    """From the command line to the plan: the modules that interpret the options are imported."""
    (tmp_path / "native.yml").write_text("mini-batch: 5\n")
    command = line.split()[0]
    script = (
        "import sys, importlib, pkgutil\n"
        "import cgru_cli.cli\n"
        f"job = importlib.import_module('cgru_cli.{command}.job')\n"
        f"room = importlib.import_module('cgru_cli.{command}').__path__\n"
        "for module in pkgutil.iter_modules(room):\n"
        f"    importlib.import_module('cgru_cli.{command}.' + module.name)\n"
        "seen = []\n"
        "job.run = lambda *given, **more: seen.append(given)\n"
        f"code = cgru_cli.cli.main({line.split()!r}, standalone_mode=False)\n"
        "found = [name for name in sys.modules if name.startswith('cgru_cli.compat')]\n"
        "sys.exit(code or len(seen) != 1 or ' '.join(found) or None)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")

"""Real command lines of other programs, and every short option of each."""

import itertools
import json
import re

import click
import pytest
from command_lines import parsed, parsed_with_note
from shared_files import SHARED, need
from tables import each_row

from cgru_cli.compat.row import Checked, NoEffect, Option, Refused, Takes
from cgru_cli.compat.tables import PROGRAMS, table_of
from cgru_cli.errors import CgruError
from cgru_cli.options.train import TrainOptions

COMMANDS = ("train", "translate", "score")  # old programs have options for them

LEGACY = SHARED / "legacy/commands/commands.jsonl"
# The program and the command of each old name.
MEANT = {
    "marian": ("marian", "train"), "marian-decoder": ("marian", "translate"),
    "marian-scorer": ("marian", "score"), "amun": ("amun", "translate"),
    "nematus/train.py": ("nematus", "train"), "nematus/translate.py": ("nematus-tf", "translate"),
    "dl4mt/translate.py": ("dl4mt", "translate"),
}  # fmt: skip
# Features that these command lines ask for and cgru lacks, by the words of the message.
NOT_HERE = (
    "--tsv: one file is expected", "--factors-combine",
    "--input text.src text.mt",
)  # fmt: skip


def lines():
    if not LEGACY.exists():
        return [None]
    return [json.loads(line) for line in LEGACY.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("line", lines())
def test_a_command_line_is_understood_or_refused_by_name(line, tmp_path, monkeypatch):
    need(LEGACY)
    monkeypatch.chdir(tmp_path)
    program, command = MEANT[line["program"]]
    arguments = [
        word for word in line["arguments"] if word not in ("-h", "--help", "--version")
    ]  # fmt: skip
    for before, word in itertools.pairwise(arguments):
        if before == "-c":  # configurations need not exist
            (tmp_path / word).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / word).write_text("mini-batch: 5\n")
            if "compute" in arguments:  # a shell's variable
                arguments.remove("compute")
    try:
        parsed(command, "--compat", program, *arguments)
    except (CgruError, click.UsageError) as error:
        assert str(error).startswith(NOT_HERE), error


ROWS = [
    (program, command, row)
    for program in PROGRAMS
    for command in COMMANDS
    if table_of(program, command)
    for row in table_of(program, command).rows
]
VALUES = {
    Takes.SWITCH: [], Takes.OPTIONAL: ["1"], Takes.ONE: ["1"], Takes.MANY: ["1", "2"],
}  # fmt: skip
SHORT = [
    (program, command, row, flag)
    for program, command, row in ROWS
    for flag in row.flags
    if not flag.startswith("--")
]


# For each short option with an effect, an example and its meaning in cgru.
_NEMATUS = {
    "-m": ("x y", {"model": ("x", "y")}), "-o": ("x", {"output": "x"}),
    "-n": ("0.3", {"normalize": 0.3}), "-b": ("7", {"mini_batch": 7}),
}  # fmt: skip
_NEMATUS_TRANSLATE = _NEMATUS | {
    "-i": ("x", {"input": ("x",)}), "-k": ("7", {"beam_size": 7}), "-c": ("", {"char_level": True}),
    "-a": ("x", {"output_alignment": "x"}), "-wp": ("", {"word_scores": True}),
    "-mr": ("2.5", {"max_length_factor": 2.5}),
}  # fmt: skip
_NEMATUS_SCORE = _NEMATUS | {
    "-v": ("", {"print_target": True}), "-s": ("x", {"source": ("x",)}),
    "-t": ("x", {"target": ("x",)}), "-i": ("x", {"n_best": "x"}),
}  # fmt: skip
_MARIAN = {
    "-n": ("0.3", {"normalize": 0.3}), "-v": ("x y", {"vocabularies": ("x", "y")}),
    "-o": ("x", {"output": "x"}), "-w": ("777", {"workspace": 777}),
    "-m": ("x y", {"model": ("x", "y")}),
}  # fmt: skip
_GEMM = {"-g": ("float32", {"precision": "float32"})}
EFFECTS = {
    ("nematus", "translate"): _NEMATUS_TRANSLATE, ("nematus-tf", "translate"): _NEMATUS_TRANSLATE,
    ("nematus", "score"): _NEMATUS_SCORE, ("nematus-tf", "score"): _NEMATUS_SCORE,
    ("marian", "train"): {
        **_MARIAN, "-m": ("x.npz", {"model": "x.npz"}), "-t": ("x y", {"train_sets": ("x", "y")}),
        "-w": ("777 --mini-batch-fit", {"workspace": 777}), "-e": ("3", {"after": "3e"}),
        "-a": ("3u", {"after": "3u"}), "-d": ("0 1", {"devices": ("0", "1")}),
        "-o": ("sgd", {"optimizer": "sgd"}), "-l": ("0.5", {"learn_rate": 0.5}),
        "-b": ("7", {"beam_size": 7}),
    },
    ("marian", "translate"): {
        **_MARIAN, **_GEMM, "-i": ("x", {"input": ("x",)}), "-b": ("7", {"beam_size": 7}),
        "-d": ("1", {"device": "gpu:1"}),
    },
    ("marian", "score"): {
        **_MARIAN, **_GEMM, "-n": ("", {"normalize": 1}), "-t": ("x y", {"target": ("x", "y")}),
        "-d": ("1", {"device": "gpu:1"}),
    },
    ("amun", "translate"): {
        "-i": ("x", {"input": ("x",)}), "-m": ("x y", {"model": ("x", "y")}),
        "-s": ("x -t y", {"vocabularies": ("x", "y")}),
        "-t": ("y -s x", {"vocabularies": ("x", "y")}), "-d": ("1", {"device": "gpu:1"}),
        "-b": ("7", {"beam_size": 7}), "-n": ("", {"normalize": 1}),
        "-u": ("", {"allow_unk": True}),
    },
    ("dl4mt", "translate"): {
        "-k": ("7", {"beam_size": 7}), "-n": ("", {"normalize": 1}),
        "-c": ("", {"char_level": True}),
        "-b": ("3", {"n_best": True, "n_best_size": 3}),
    },
    ("dl4mt", "score"): {
        "-b": ("0.5 m m.pkl l t nbest out", {
            "rerank": "-1 -0.5", "model": ("m",), "vocabularies": ("l",), "n_best": "nbest",
            "output": "out",
        }),
        "-x": ("-b 0.25 m m.pkl l t nbest out", {"rerank": "-0.75 -0.25"}),
        "-n": ("m m.pkl l t nbest out", {"normalize": 1}),
    },
}  # fmt: skip


@each_row(
    ("program", "command", "row", "flag"),
    SHORT,
    ids=[f"{program}-{command}-{flag}" for program, command, _, flag in SHORT],
)
def test_every_short_option_means_what_its_program_means(program, command, row, flag):
    if getattr(row.meaning, "field", "") in ("help", "version", "config"):
        return  # in the tests of configurations
    if isinstance(row.meaning, Option):
        typed, expected = EFFECTS[program, command][flag]
        options, note = parsed_with_note(command, "--compat", program, flag, *typed.split())
        assert {name: getattr(options, name) for name in expected} == expected
        assert flag not in note
        return
    arguments = ["--compat", program, flag, *VALUES[row.takes]]
    if isinstance(row.meaning, Refused):
        with pytest.raises(click.UsageError, match=f"{flag}.* cannot be honoured"):
            parsed(command, *arguments)
        return
    options, note = parsed_with_note(command, *arguments)
    if isinstance(row.meaning, NoEffect):
        assert flag in note
    else:
        assert isinstance(row.meaning, Checked)
        assert options.model_is


# As in the programs' parsers; `-h` alone has no row in those of argparse.
OF_THE_PROGRAMS = {
    ("nematus", "translate"): "-m -o -n -v -i -k -b -p -dl -c -a -wp -sg -mr",
    ("nematus", "score"): "-m -o -n -v -p -b -s -t -i -w",
    ("marian", "train"): "-h -c -w -m -t -v -e -a -T -d -o -l -b -n",
    ("marian", "translate"): "-h -c -w -m -i -o -v -b -n -d -g",
    ("marian", "score"): "-h -c -w -m -t -o -v -n -d -g",
    ("amun", "translate"): "-h -v -c -i -m -s -t -d -b -n -f -u",
    ("dl4mt", "translate"): "-k -p -n -c -b",
    ("dl4mt", "score"): "-b -n -c -x",
}  # fmt: skip


def test_all_short_options_of_all_programs_are_known():
    for (program, command), expected in OF_THE_PROGRAMS.items():
        known = {flag for p, c, _, flag in SHORT if (p, c) == (program, command)}
        assert known == set(expected.split()), (program, command)


def test_the_batch_of_nematus_is_no_beam():
    options = parsed(
        "translate", "--compat", "nematus-tf", *["-m", "m", "-i", "s", "-b", "80", "-k", "4", "-n"]
    )
    assert (options.mini_batch, options.beam_size, options.normalize) == (80, 4, 1.0)
    options = parsed(
        "translate", "--compat", "marian", *["-m", "m", "-b", "6", "-n0.6", "--quiet", "true"]
    )
    assert (options.beam_size, options.normalize, options.quiet) == (6, 0.6, True)


def test_positional_arguments_of_dl4mt():
    line = "-n -p 20 -b 3 model.npz s.pkl t.pkl in.tok out.tok"
    options, note = parsed_with_note("translate", "--compat", "dl4mt", *line.split())
    assert (options.model, options.vocabularies) == (("model.npz",), ("s.pkl", "t.pkl"))
    assert (options.input, options.output) == (("in.tok",), "out.tok")
    assert (options.n_best, options.n_best_size, options.normalize) == (True, 3, 1.0)
    assert note == "without effect here: -p (one process uses all processors)"


def test_defaults_of_training():
    marian = parsed("train", "--compat", "marian", *["-t", "a", "b", "-v", "c", "d", "-m", "m.npz"])
    assert (marian.mini_batch, marian.max_length, marian.beam_size) == (64, 49, 12)
    assert (marian.valid_freq, marian.save_freq, marian.init) == ("10000u", "10000u", "glorot")
    assert marian.no_skip and marian.enc_type == "bidirectional" and marian.normalize == 0
    nematus = parsed(
        "train", "--compat", "nematus",
        *["--datasets", "a", "b", "--dictionaries", "c", "d", "--model", "m"],
        *["--loss_function", "MRT"],
    )  # fmt: skip
    assert (nematus.dim_rnn, nematus.mini_batch, nematus.maxi_batch) == (1000, 1, 20)
    assert (nematus.objective, nematus.init, nematus.model) == ("mrt", "nematus", "m.npz")
    assert parsed("train", "--compat", "nematus-tf").init == "nematus-tf"


@pytest.mark.parametrize("program", ["nematus", "nematus-tf"])
def test_one_file_where_several_may_stand(program):
    options = parsed(
        "score", "--compat", program, *["-m", "model", "-s", "/a/src"], "-t", "/a/trg", "-b", 10
    )
    assert (options.model, options.source, options.target) == (("model",), ("/a/src",), ("/a/trg",))
    assert options.mini_batch == 10


@pytest.mark.parametrize("program", ["marian", "nematus", "nematus-tf"])
def test_without_a_dev_set_nothing_is_validated(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = "-t s t" if program == "marian" else "--source_dataset s --target_dataset t"
    vocabularies = "-v a b" if program == "marian" else "--dictionaries a b"
    line = f"--compat {program} --model m.npz {texts} {vocabularies}".split()
    assert parsed("train", *line).valid_metrics == ()


@pytest.mark.parametrize(
    "line",
    [
        "train --compat nematus --datasets a b --dictionaries c d --alpha_c 0.0",
        "train --compat marian -t a b --max-length-factor 3.0 --word-penalty 0.0 --tau 1.0",
        "translate --compat marian -m a --quantize-range 0.0",
    ],
)
def test_a_default_may_be_spelled_as_another_number(line):
    parsed(*line.split())
    with pytest.raises(click.UsageError, match="cannot be honoured"):
        parsed(*re.sub(r"[013]\.0", "5", line).split())


@pytest.mark.parametrize("command", ["translate", "score"])
def test_products_of_marian_in_16_bits_are_float32(command):
    for line in ("--fp16", "--precision float16", "--precision float16 float32", "-g packed16"):
        options, note = parsed_with_note(command, "--compat", "marian", "-m", "a", *line.split())
        assert options.precision == "float32"
        typed = line.partition(" ")[0]
        assert (
            note
            == f"without effect here: {typed} (products are float32; --precision int8 is faster)"
        )
    for line, precision in (("--fp16 false", "float32"), ("--precision int8", "int8")):
        options, note = parsed_with_note(command, "--compat", "marian", "-m", "a", *line.split())
        assert (options.precision, note) == (precision, "")
    with pytest.raises(
        click.UsageError, match="-g packed8avx2 cannot be honoured: use --precision"
    ):
        parsed(command, "--compat", "marian", "-m", "a", "-g", "packed8avx2")


def test_values_that_marian_implies():
    options = parsed(
        "translate", "--compat", "marian", "-m", "a", "--word-penalty", "--cpu-threads"
    )
    assert (options.word_penalty, options.cpu_threads) == (0, 1)


def test_an_alias_gives_way_to_what_is_given_itself():
    """Marian's --best-deep stands for several options; each may also be given explicitly."""
    for line in ("--best-deep --mini-batch 8 --dec-depth 2", "--mini-batch 8 --dec-depth 2 "
                 "--best-deep"):  # fmt: skip
        texts = "-t a b -v c d"
        options = parsed("train", "--compat", "marian", *texts.split(), *line.split())
        assert (options.mini_batch, options.dec_depth) == (8, 2)
        assert (options.maxi_batch, options.enc_depth, options.type) == (1000, 4, "s2s")


def test_the_beginning_of_an_option_of_marian_before_1_3():
    line = "-t a b -v c d --after-epoch 2 --moving-average --moving-decay 0.99"
    options = parsed("train", "--compat", "marian", "-m", "m.npz", *line.split())
    assert (options.after, options.exponential_smoothing) == ("2e", 0.01)


@pytest.mark.parametrize(
    ("command", "line", "field", "value"),
    [
        ("train", "--enc-cell gru-nematus", "enc_cell", "gru"),
        ("score", "--normalize true", "normalize", 1.0),
        ("score", "--normalize false", "normalize", None),
    ],
)
def test_a_value_that_only_another_program_knows(command, line, field, value):
    texts = "-t a b -v c d" if command == "train" else "-s a -t b"
    line = ["--compat", "marian", "-m", "m", *texts.split(), *line.split()]
    assert getattr(parsed(command, *line), field) == value


@pytest.mark.parametrize(
    ("line", "delay", "workspace"),
    [
        ("--optimizer-delay 4", 1, 2048),
        ("--optimizer-delay 0.5", 1, 2048),
        ("--optimizer-delay 4 --mini-batch-warmup 9u", 4, 2048),
        ("--optimizer-delay 2 --mini-batch-fit -w 900", 2, 900),
        ("--optimizer-delay 0.5 --mini-batch-fit -w 900", 1, 450),
        ("--optimizer-delay 1.5 --mini-batch-fit -w 900", 2, 675),
    ],
)
def test_the_delay_of_marian_is_the_size_of_an_update_in_what_fits(line, delay, workspace):
    """Marian 1.12 divides a --mini-batch by it, as its log shows: `Sen. 10` for any delay."""
    options, note = parsed_with_note("train", "--compat", "marian", *line.split())
    assert (options.optimizer_delay, options.workspace) == (delay, workspace)
    assert ("--optimizer-delay" in note) is ("fit" not in line and "warmup" not in line)


@each_row(
    ("program", "line", "reason"),
    [
        ("marian", "--sync-freq 100u", "all devices always have the same weights"),
        ("marian", "--mini-batch-round-up false", "above 80 % of their size are always full"),
        ("marian", "--cost-scaling", "float16's loss scale starts at 1024"),
        ("marian", "--custom-fallbacks x", "options never change during training"),
        ("marian", "--clip-gemm 2", "the inputs of matrix products are not clipped"),
        ("marian", "--no-reload --pretrained-model m", "--no-reload starts from random weights"),
        ("marian", "--all-caps-every 3", "no vocabulary is a .spm"),
        ("marian", "--lr-warmup-cycle", "it needs --lr-decay or --lr-warmup"),
        ("nematus-tf", "--gradient_aggregation_steps 2", "the same gradient, with more memory"),
        ("nematus-tf", "--max_sentences_per_device 9", "the same gradient, with more memory"),
        ("nematus-tf", "--max_tokens_per_device 9", "the same gradient, with more memory"),
        ("nematus-tf", "--loss_function MRT --sample_way beam_search", "samples are drawn"),
        ("nematus", "--objective MRT --mrt_samples_meanloss 3", "the same without a mean loss"),
        ("nematus-tf", "--reload other/model-9", "a new run starts from its weights"),
    ],
)
def test_an_option_that_could_change_results_says_what_differs(program, line, reason):
    _, note = parsed_with_note("train", "--compat", program, *line.split())
    option = next(word for word in reversed(line.split()) if word.startswith("--"))
    assert option in note and reason in note


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("--throw-on-divergence", "throw_on_divergence", (1000, 10, 5)),
        ("--throw-on-divergence 100 10 3.5f", "throw_on_divergence", (100, 10, 3.5)),
        ("--batch-flexible-lr", "lr_words_ref", 1920),
        ("--batch-flexible-lr --batch-normal-words 500", "lr_words_ref", 500),
        ("--batch-normal-words 500", "lr_words_ref", 0),
    ],
)
def test_options_that_marian_alone_writes_so(line, field, value):
    assert getattr(parsed("train", "--compat", "marian", *line.split()), field) == value


def test_nematus_without_normalization():
    options = parsed("train", "--compat", "nematus-tf", "--no_normalize")
    assert options.normalize == 0


def test_marian_trains_by_the_sum_of_costs_unless_it_normalizes_the_gradient():
    assert parsed("train", "--compat", "marian").cost_type == "ce-sum"
    line = "--normalize-gradient --cost-type perplexity"
    assert parsed("train", "--compat", "marian", *line.split()).cost_type == "ce-mean-words"


def test_what_nematus_splits_a_batch_into_is_no_delay():
    line = "--compat nematus-tf --gradient_aggregation_steps 4"
    options, note = parsed_with_note("train", *line.split())
    assert options.optimizer_delay == 1
    assert "--gradient_aggregation_steps" in note


@pytest.mark.parametrize(
    ("line", "start", "reason"),
    [
        ("", (10, 1), ""),
        ("--lr-decay-start 3", (3, 1), ""),
        ("--lr-decay-strategy stalled --lr-decay-start 2 5", (2,), "a second strategy"),
        ("--lr-decay-strategy epoch", (10,), ""),
    ],
)
def test_the_starts_of_marians_decays(line, start, reason):
    arguments = ["--compat", "marian", "--lr-decay", "0.5", *line.split()]
    options, note = parsed_with_note("train", *arguments)
    assert (options.lr_decay_start, options.lr_decay_freq) == (start, 1)
    assert reason in note and bool(note) == bool(reason)


def test_a_workspace_is_of_batches_that_fit_it():
    options, note = parsed_with_note("train", "--compat", "marian", "-w", "900")
    assert options.workspace == TrainOptions().workspace
    assert "--workspace (memory is allocated as needed, without --mini-batch-fit)" in note
    options, note = parsed_with_note("train", "--compat", "marian", "-w", "900", "--mini-batch-fit")
    assert (options.workspace, note) == (900, "")


def test_segmentations_are_varied_of_spm_alone():
    arguments = ["--compat", "marian", "--sentencepiece-alphas", "0.1", "0.1", "-v"]
    _, note = parsed_with_note("train", *arguments, "a.yml", "b.yml")
    assert "--sentencepiece-alphas (no vocabulary is a .spm)" in note
    with pytest.raises(click.UsageError, match=r"--sentencepiece-alphas .* cannot be honoured"):
        parsed("train", *arguments, "a.spm", "b.spm")


def test_a_vocabulary_of_both_sides_has_one_size():
    arguments = ["--compat", "marian", "--dim-vocabs", "8000", "-v"]
    assert parsed("train", *arguments, "a.spm", "a.spm").dim_vocabs == (8000, 8000)
    assert parsed("train", *arguments, "a.spm", "b.spm").dim_vocabs == (8000, 0)


def test_factors_of_nematus_have_vocabularies_of_their_own():
    """On Theano, one limit holds for all of them; on TensorFlow, a missing one is none."""
    line = "--datasets s t --dictionaries a b c d --factors 3 --dim_per_factor 4 4 4 --dim_word 12"
    line += " --n_words_src 20 --n_words 30"
    for program, sizes in (("nematus", (20, 20, 20, 30)), ("nematus-tf", (20, 0, 0, 30))):
        assert parsed("train", "--compat", program, *line.split()).dim_vocabs == sizes


@pytest.mark.parametrize(
    ("program", "weights"), [("nematus", (0.5, 1)), ("nematus-tf", (0.25, 0.5))]
)
def test_nematus_on_tensorflow_penalises_half_the_squares(program, weights):
    line = ["--compat", program, "--decay_c", "0.5", "--map_decay_c", "1", "--prior_model", "p"]
    options = parsed("train", *line)
    assert (options.decay_c, options.map_decay_c) == weights


@pytest.mark.parametrize(
    ("program", "validations"), [("nematus", 10), ("nematus-tf", 11), ("dl4mt", 20)]
)
def test_the_patience_of_each_program(program, validations):
    """DL4MT ignores a validation that is better than all those `patience` earlier."""
    assert parsed("train", "--compat", program).early_stopping == validations
    given = parsed("train", "--compat", program, "--patience", "10", "--early-stopping-on", "any")
    assert (given.early_stopping, given.early_stopping_on) == (validations, "any")
    own = parsed("train", "--compat", program, "--early-stopping", "3")
    assert (own.early_stopping, own.early_stopping_on) == (3, "first")


def test_a_better_score_of_the_script_resets_the_patience_of_nematus_on_tensorflow():
    line = "--compat nematus-tf --valid_script ./score.sh --valid_datasets a b"
    assert parsed("train", *line.split()).early_stopping_on == "all"


def test_nematus_on_theano_minimizes_the_risk_of_one_sentence_per_update():
    line = ["--compat", "nematus", "--objective", "MRT", "--batch_size", "40"]
    options, note = parsed_with_note("train", *line)
    assert options.mini_batch == 1 and options.no_restore_corpus
    assert "--batch_size (minimum risk training updates after every sentence)" in note


@pytest.mark.parametrize("kind", ["lm", "encdec"])
def test_earlier_sessions_of_dl4mt_have_cells_of_one_transition(kind):
    line = "--train-sets a --vocabs v" if kind == "lm" else "--datasets a b --dictionaries v w"
    options = parsed("train", "--compat", "dl4mt", "--type", kind, *line.split(), "--n_words", "9")
    assert options.dec_cell_base_depth is None
    assert options.dim_vocabs == ((9,) if kind == "lm" else (100000, 9))


def test_models_by_the_names_that_nematus_on_tensorflow_gives_them(tmp_path):
    """A trained model is in MODEL.npz and the files beside it."""
    asked = [tmp_path / "model", tmp_path / "model.best-valid-script", tmp_path / "other"]
    for name in ("model.npz", "model.npz.best-translation.npz", "other.index"):
        (tmp_path / name).touch()
    models = parsed("translate", "--compat", "nematus-tf", "-m", *asked).model
    found = [tmp_path / "model.npz", tmp_path / "model.npz.best-translation.npz", asked[2]]
    assert models == tuple(map(str, found))


@pytest.mark.parametrize("program", ["marian", "nematus"])
def test_a_pretrained_model_has_its_structure_whatever_the_program_does_by_default(program):
    line = ["--compat", program, "--model", "m.npz", "--pretrained-model", "p.npz"]
    options, plain = parsed("train", *line), parsed("train")
    for name in ("init", "enc_type", "type", "dim_emb", "dim_rnn", "no_skip", "dec_depth"):
        assert getattr(options, name) == getattr(plain, name), name
    assert options.max_length in (49, 99)  # of each program itself, without EOS


@pytest.mark.parametrize(
    ("program", "arguments", "named"),
    [
        ("marian", ("--cost-type", "ce-mean", "--lr-decay", "x"), "--lr-decay x"),
        ("marian", ("--cost-type", "ce-mean", "--moving-decay", "x"), "--moving-decay x"),
        ("marian", ("--optimizer-delay", "nan"), "--optimizer-delay nan"),
        ("marian", ("--dim-vocabs", "5", "x"), "--dim-vocabs x"),
        ("nematus", ("--factors", "x"), "--factors x"),
    ],
)
def test_what_is_no_number_is_an_error_of_its_own_option(program, arguments, named):
    with pytest.raises(click.UsageError, match=rf"^{named}: a (whole )?number .*is expected"):
        parsed("train", "--compat", program, "-m", "m.npz", *arguments)


def test_a_prior_model_is_begun_from_as_a_pretrained_one_is():
    """Nematus' test_train_mapl2_loss.sh: the defaults describe the same model."""
    given = "--compat nematus -t a b -v c d -m m.npz --map_decay_c 0.0001 --prior_model p.npz"
    options = parsed("train", *given.split())
    own = TrainOptions()
    for name in ("init", "dim_emb", "dim_rnn", "dec_cell_base_depth"):
        assert getattr(options, name) == getattr(own, name), name


def test_nematus_names_the_text_of_each_side():
    line = ["--compat", "nematus-tf", "--source_dataset", "s", "--target_dataset", "t"]
    valid = ["--valid_source_dataset", "vs", "--valid_target_dataset", "vt"]
    options = parsed("train", *line, *valid)
    assert (options.train_sets, options.valid_sets) == (("s", "t"), ("vs", "vt"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--source_dataset a", "--source_dataset and --target_dataset go together"),
        (
            "--source_dataset a --target_dataset b --datasets a b",
            "go together, and exclude --datasets",
        ),
        ("--valid_target_dataset d", "--valid_source_dataset and --valid_target_dataset go"),
        ("--type lm --source_dataset a", "--source_dataset: a language model reads no source"),
    ],
)
def test_sides_of_a_text_go_together(line, message):
    with pytest.raises(click.UsageError, match=message):
        parsed("train", "--compat", "nematus", *line.split())


def test_sampling_has_marians_defaults():
    for line, sampling in (
        ("", "full 1.0"), ("full 0.5", "full 0.5"), ("topk", "topk 10"), ("topk 3 2", "topk 3 2"),
        ("nucleus", "nucleus 0.9"), ("epsilon", "epsilon 0.02"), ("1", "full"), ("0", None),
    ):  # fmt: skip
        options = parsed("translate", "--compat", "marian", "--output-sampling", *line.split())
        assert options.output_sampling == sampling


def test_a_language_model_of_nematus_names_its_text_as_the_target():
    options = parsed("train", *"--compat nematus --type lm --target_dataset t".split())
    assert options.train_sets == ("t",)


@pytest.mark.parametrize(
    ("line", "sampling"),
    [
        ("--translation_strategy sampling", "full 1.0"),
        ("--translation_strategy sampling --sampling_temperature 0.5", "full 0.5"),
        ("--translation_strategy sampling --sampling_temperature", "full 1"),
        ("--translation_strategy beam_search", None),
    ],
)
def test_the_strategies_of_nematus(line, sampling):
    assert parsed("translate", "--compat", "nematus", *line.split()).output_sampling == sampling


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--sampling_temperature 2", "--sampling_temperature needs --translation_strategy sampl"),
        ("--translation_strategy greedy", "--translation_strategy greedy cannot be honoured"),
        ("--translation_strategy sampling --sampling_temperature 0", "--translation_strategy .*T "),
    ],
)
def test_strategies_that_nematus_does_not_have(line, message):
    with pytest.raises(click.UsageError, match=message):
        parsed("translate", "--compat", "nematus", *line.split())


def test_what_is_done_in_any_case_is_said_of_no_option():
    line = "--compat marian -m m.npz --keep-best --sync-sgd"
    plain = parsed("train", *"--compat marian -m m.npz".split())
    assert parsed_with_note("train", *line.split()) == (plain, "")


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("marian", "r/m.iter{U}.npz"),
        ("nematus", "r/m.iter{U}.npz"),
        ("dl4mt", "r/m.iter{U}.npz"),
        ("nematus-tf", "r/m.npz-{U}"),
    ],
)
def test_models_are_kept_as_the_program_names_them_unless_they_are_overwritten(program, name):
    options = parsed("train", "--compat", program, "--model", "r/m.npz")
    assert (options.keep, options.keep_as) == (10**9, name)
    options = parsed("train", "--compat", program, "--model", "r/m.npz", "--keep", "3")
    assert (options.keep, options.keep_as) == (3, name)
    for none in (["--overwrite"], ["--keep", "0"]):
        options = parsed("train", "--compat", program, "--model", "r/m.npz", *none)
        assert (options.keep, options.keep_as) == (0, None)


def test_the_alignment_of_nematus_as_json():
    options = parsed("translate", "--compat", "nematus", "--json_alignment")
    assert options.alignment_format == "json"


@pytest.mark.parametrize("program", ["nematus", "nematus-tf", "dl4mt"])
def test_a_maxi_batch_is_sorted_by_target_length_unless_nothing_is_sorted(program):
    """The data iterators of Nematus and DL4MT sort each maxi-batch by target length."""
    assert parsed("train", "--compat", program).maxi_batch_sort == "trg"
    assert parsed("train", "--compat", program, "--no_sort_by_length").maxi_batch_sort == "none"

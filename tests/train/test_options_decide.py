"""Every option of `cgru train` has an effect: two trainings that differ only in it are different.

Each is prepared up to its first update, and its parts are compared.
"""

import contextlib
import dataclasses
import hashlib
import json
from typing import NamedTuple

import numpy as np
import pytest
import runs
from cases import random_arrays, small_structure

from cgru_cli.corpus.columns import GrowingArray
from cgru_cli.corpus.teacher_words import ENTRY, entries
from cgru_cli.options.train import TrainOptions
from cgru_cli.train import builders, job
from cgru_cli.train.examples import EpochExamples
from cgru_cli.train.loop import Training
from cgru_cli.train.run.patience import Patience
from cgru_cli.train.run.progress import Progress


class Change(NamedTuple):
    """Another value of an option, the part that it changes, and other options that it needs."""

    value: object
    part: str
    needed: dict = {}  # noqa: RUF012


def of(part, **values):
    """Changes of options that need no others."""
    return {name: Change(value, part) for name, value in values.items()}


def given(part, needed, **values):
    return {name: Change(value, part, needed) for name, value in values.items()}


RISK = {"objective": "mrt"}
DISTILL = {"objective": "distill", "teacher": "TEACHER1"}
DECAY = {"lr_decay": 0.5}
LABELS = {
    "type": "classifier",
    "train_sets": ("S", "L"),
    "vocabularies": ("VS", "VL"),
    "valid_freq": "0",
    "after": "1u",
}
TAGS = {"type": "tagger", "vocabularies": ("VS", "VT"), "valid_freq": "0", "after": "1u"}
NUMBERS = {
    "type": "lm",
    "train_sets": ("N", "T"),
    "vocabularies": ("VT",),
    "valid_freq": "0",
    "after": "1u",
}
ONE_VOCABULARY = {"vocabularies": ("VS",)}
FACTORS = {"train_sets": ("FS", "T"), "vocabularies": ("VS", "VS", "VT"), "dim_factors": (4, 2)}
# Short names stand for the paths of files.
CHANGES = (
    of("folder", model="other.npz")
    | of("text", train_sets=("DS", "DT"), guided_alignment=("POINTS",), data_weighting=("WEIGHTS",),
         max_length=3, right_left=True, all_caps_every=2, english_title_case_every=2, join_every=2)
    | given("text", {"vocabularies": ("VC", "VC")}, copy=("[0-9]+",))
    | given("text", {"vocabularies": ("VA", "VA"), "train_sets": ("A", "A")}, typos_every=2,
            no_full_stop_every=2)
    | given("text", {"train_sets": ("TSV", "TSV")}, tsv=True)
    | given("text", {"max_length": 3}, max_length_crop=True)
    | given("text", {"train_sets": ("W", "W"), "data_weighting": ("WEIGHTS1",)},
            data_weighting_type="word")
    | given("text", {"train_sets": ("S", "S", "T", "T")}, domain_weights=(1.0, 2.0))
    | given("text", DISTILL, teacher="TEACHER2")
    | of("vocabularies", vocabularies=("VT", "VS"), dim_vocabs=(9, 8))
    | of("structure", type="rnnsearch", cell="lstm", enc_cell="lstm", dec_cell="lstm",
         gru_reset="before", dec_start="last-backward", enc_type="bidirectional", dim_emb=5,
         dim_rnn=6, enc_depth=2, enc_cell_depth=2, dec_depth=2, dec_cell_base_depth=3,
         dec_cell_high_depth=2, no_skip=True,
         layer_normalization=True, weight_normalization=True, tied_embeddings=True,
         readout_activation="relu", mixture=2, lexical=True)
    | given("structure", {"dec_depth": 2}, deep_context=True)
    | given("structure", {"layer_normalization": True}, normalization_form="marian")
    | given("structure", ONE_VOCABULARY, tied_embeddings_all=True, tied_embeddings_src=True)
    | given("structure", FACTORS | {"valid_freq": "0", "after": "1u"}, dim_factors=(3, 3))
    | given("structure", LABELS, pooling="max")
    | given("structure", TAGS, crf=True)
    | given("structure", {"type": "encdec"}, no_feedback=True)
    | given("kept", {"keep": 2}, keep_as="other-{U}.npz")
    | given("structure", NUMBERS, condition=True)
    | of("arrays", init="nematus", pretrained_model="MODEL", prior_model="MODEL",
         embedding_vectors=("VECTORS", "VECTORS"))
    | given("arrays", {"cell": "lstm"}, lstm_forget_bias=2.0)
    | of("step", freeze=("ff_logit_W",), fix_embeddings=True, objective="mrt", label_smoothing=0.1,
         decay_c=0.1, optimizer="sgd", optimizer_params=(0.8,), clip_norm=2.0,
         exponential_smoothing=0.1, precision="bfloat16", jit="on")
    | of("step", quantize_bits=4)
    | given("step", {"quantize_bits": 4}, quantize_optimization_steps=2, quantize_log_based=True,
            quantize_biases=True)
    | given("step", DISTILL, teacher_weight=0.3)
    | given("step", RISK, mrt_alpha=0.1, mrt_ml_mix=0.5)
    | given("step", {"guided_alignment": ("POINTS",)}, guided_alignment_cost="mse",
            guided_alignment_weight=0.5)
    | given("step", {"prior_model": "MODEL"}, map_decay_c=0.1)
    | given("sampler", RISK, mrt_samples=7, mrt_loss="chrf", mrt_reference=True)
    | of("plan", mini_batch=9, mini_batch_words=99, mini_batch_fit=True, maxi_batch=9,
         maxi_batch_sort="src", no_shuffle=True, seed=2, cost_type="ce-mean-words",
         optimizer_delay=2, learn_rate=0.1, lr_warmup="5u", lr_decay_inv_sqrt="5u", lr_decay=0.5,
         dropout_embedding=0.1, dropout_hidden=0.1, dropout_source=0.1, dropout_target=0.1,
         dropout_annotation=0.1, dropout_output=0.1, max_nan=3, after="9u", after_epochs=3,
         valid_freq="9u", early_stopping=3, early_stopping_on="all",
         early_stopping_epsilon=(0.5,), logical_epoch=("2e",), save_freq="9u", keep=2,
         disp_freq="9u", disp_first=3, mini_batch_warmup="9u", mini_batch_words_ref=99,
         lr_words_ref=99, throw_on_divergence=(9.0,),
         valid_reset_stalled=True, valid_reset_all=True)
    | given("plan", {"mini_batch_fit": True}, workspace=99)
    | given("plan", {"after": "9u"}, lr_decay_to_end="late")
    | given("plan", {"lr_warmup": "5u"}, lr_warmup_start_rate=1e-9, lr_warmup_cycle=True,
            lr_warmup_at_reload=True)
    | given("plan", DECAY | {"lr_warmup": "5u"}, lr_decay_repeat_warmup=True)
    | given("plan", DECAY, lr_decay_reset_optimizer=True)
    | given("plan", {"no_shuffle": True}, shuffle_batches=True)
    | given("plan", {"lr_decay_inv_sqrt": "5u"}, lr_decay_inv_sqrt_start="9u")
    | given("plan", DECAY, lr_decay_strategy="epoch", lr_decay_start=(3,))
    | given("plan", DECAY | {"lr_decay_strategy": "epoch"}, lr_decay_freq=2)
    | of("validation", valid_sets=("S", "T"), valid_reference="DS", valid_metrics=("chrf",),
         valid_mini_batch=3, valid_max_length=2, valid_script="cat",
         valid_translation_output="out", beam_size=2, normalize=0.5, suppress_unk=True,
         valid_beam_size=3, valid_lines=2)
    | given("validation", {"valid_script": "cat"}, valid_script_args=("-n",))
    | of("script", external_validation_script="cat")
    | of("shown", log_gradients=True, log="other.log", valid_log="v.log",
         tensorboard=True, plot=True, quiet=True)
    | of("devices", device="cpu", devices=("cpu:0", "cpu:1"), num_devices=1, cpu_threads=1)
)  # fmt: skip
# Options that only the log shows; then options with tests of their own: those that end without
# training, are only compared with the text, or make vocabularies of it.
OF_NO_EFFECT = {"lr_report", "disp_label_counts", "disp_translations"}
NO_TRAINING = set(
    """
    compat config curves defaults dump_config dry_run interpolate_env_vars relative_paths tsv_fields
    sentencepiece_options sentencepiece_max_lines no_reload no_restore_corpus no_optimizer_reload
    no_spm_encode
    """.split()
)


def test_every_option_is_tested():
    names = {field.name for field in dataclasses.fields(TrainOptions)}
    assert names == CHANGES.keys() | OF_NO_EFFECT | NO_TRAINING


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Paths by their short names."""
    folder = tmp_path_factory.mktemp("files")
    data = runs.prepared(folder / "data", pairs=20, dev=4)
    names = {
        "S": "train.src",
        "T": "train.trg",
        "DS": "dev.src",
        "DT": "dev.trg",
        "VS": "vocab.src.json",
        "VT": "vocab.trg.json",
    }
    paths = {short: data / name for short, name in names.items()}
    for short, name in (("S", "T"), ("T", "S"), ("DS", "DT"), ("DT", "DS")):
        turned = paths[name].read_text().splitlines()[::-1]
        paths[f"{short}2"] = runs.lines(folder / f"{short}2", turned)
    source = [line.split() for line in paths["S"].read_text().splitlines()]
    factored = [" ".join(f"{word}|{word}" for word in words) for words in source]
    paths["FS"] = runs.lines(folder / "FS", factored)
    sides = (paths[side].read_text().splitlines() for side in "ST")
    paths["TSV"] = runs.lines(folder / "TSV", map("\t".join, zip(*sides, strict=True)))
    paths["W"] = runs.lines(folder / "W", ["w1", "w2"] * 10)
    paths["L"] = runs.lines(folder / "L", ["a", "b"] * 10)
    paths["N"] = runs.lines(folder / "N", ["1 2.5", "0 -1"] * 10)
    paths["VL"] = runs.vocabulary(folder / "VL.json", ["a", "b"])
    words = [*json.loads(paths["VS"].read_text()), *json.loads(paths["VT"].read_text()), "⟦1⟧"]
    paths["VC"] = runs.vocabulary(folder / "VC.json", [*dict.fromkeys(words)][2:])
    paths["A"] = runs.lines(folder / "A", ["word ."] * 20)
    paths["VA"] = runs.vocabulary(folder / "VA.json", ["word", "."])
    paths["POINTS"] = runs.lines(folder / "POINTS", ["0-0"] * 20)
    paths["WEIGHTS"] = runs.lines(folder / "WEIGHTS", ["2"] * 20)
    paths["WEIGHTS1"] = runs.lines(folder / "WEIGHTS1", ["2"] * 20)
    words_and_ends = sum(len(line.split()) + 1 for line in paths["T"].read_text().splitlines())
    for word in (1, 2):
        paths[f"TEACHER{word}"] = folder / f"teacher{word}.npy"
        with open(paths[f"TEACHER{word}"], "wb") as file:
            writer = GrowingArray(file, ENTRY, (1,))
            rows = np.full((words_and_ends, 1), word)
            writer.append(entries(rows, np.zeros(rows.shape)))
            writer.close()
    paths["VECTORS"] = runs.lines(folder / "VECTORS", ["w1 1 2 3 4 5 6", "W1 6 5 4 3 2 1"])
    structure = small_structure(
        source_vocabularies=(14,),
        target_vocabulary=14,
        source_embeddings=(6,),
        target_embedding=6,
        state=8,
    )
    paths["MODEL"] = folder / "given.npz"
    np.savez(paths["MODEL"], **random_arrays(structure))
    vocabularies = [str(paths["VS"]), str(paths["VT"])]
    (folder / "given.npz.json").write_text(json.dumps({"dictionaries": vocabularies}))
    return data, paths


@pytest.fixture(scope="module")
def kept():
    """Parts with which several tests compare."""
    return {}


class Enough(Exception):
    """Ends the command when the part is ready."""


@pytest.fixture
def decided(files, tmp_path, monkeypatch):
    """A function that returns a part of a training run with given options."""
    data, paths = files
    seen = {}

    def start(*arguments, **more):
        seen["devices"] = [arguments, more]

    class Validator:
        def __init__(self, options, metrics, dev_set, model):
            names = (
                "valid_script valid_script_args valid_translation_output searched_beam normalize"
            )
            seen["validation"] = (
                [
                    getattr(options, name)
                    for name in f"{names} valid_mini_batch suppress_unk".split()
                ],
                metrics,
                dev_set.sources,
                dev_set.targets,
                dev_set.references,
                model.compute_dtype,
            )

    build_training = job.build_training

    def build(setup, *parts):
        seen["script"] = setup.script
        if seen["part"] in BEFORE_TENSORFLOW:
            seen.update(prepared(setup))
            raise Enough
        return build_training(setup, *parts)

    monkeypatch.setattr(job.tensorflow_start, "start", start)
    monkeypatch.setattr(builders, "Validator", Validator)
    monkeypatch.setattr(job, "build_training", build)
    monkeypatch.setattr(Training, "run", lambda training: seen.update(built(training)))

    def named(value):
        if isinstance(value, tuple):
            return tuple(map(named, value))
        return str(paths[value]) if isinstance(value, str) and value in paths else value

    def decide(part, **options):
        small = {"model": "m.npz", "dim_emb": 6, "dim_rnn": 8, "maxi_batch": 4}
        values = {name: named(value) for name, value in (small | options).items()}
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        seen.clear()
        seen["part"] = part
        with contextlib.suppress(Enough):
            job.run(TrainOptions(**values), str(data))
        return seen[part]

    return decide


IN_THE_LOOP = """
    optimizer_delay max_nan keep disp_first lr_warmup_cycle lr_warmup_at_reload
    lr_decay_repeat_warmup lr_decay_reset_optimizer mini_batch_words_ref
    lr_words_ref throw_on_divergence
""".split()  # and tested with it
BEFORE_TENSORFLOW = ("plan", "folder", "kept", "text", "vocabularies", "structure", "arrays")
IN_THE_PLAN = """
    metrics cost_type logical_epoch after valid save display batch_warmup valid_share chosen
""".split()


def prepared(setup):
    """The parts that do not need TensorFlow."""
    corpus, options = setup.corpus, setup.plan.options
    read_in_the_loop = [getattr(options, name) for name in IN_THE_LOOP]
    of_weights = corpus.columns["weights"].lengths().max() if "weights" in corpus.columns else 0
    examples = EpochExamples(corpus, setup.model.structure, options, grid=False)
    fits, order = examples.fits, vars(examples.batches(corpus.lengths))
    batches = (
        (examples.sentences, fits and [fits(2**n, 9, 9) for n in range(40)]),
        [order[name] for name in ("_window", "_columns", "_seed", "_shuffle", "_shuffle_batches")],
        examples.dropout,
    )
    return {
        "plan": (
            [getattr(setup.plan, name) for name in IN_THE_PLAN],
            rates(setup.plan.schedule),
            vars(Patience(setup.plan.metrics, options)),
            read_in_the_loop,
            batches,
        ),
        "folder": setup.folder.model,
        "kept": setup.folder.kept(7),
        "text": (corpus.fingerprints, corpus.skipped, of_weights),
        "vocabularies": [vocabulary.fingerprint for vocabulary in setup.vocabularies],
        "structure": setup.model.structure,
        "arrays": {
            name: hashlib.sha256(np.ascontiguousarray(array)).hexdigest()
            for name, array in setup.model.arrays.items()
        },
    }


def rates(schedule):
    """The learning rate over a training."""
    points = [Progress(epochs=n // 3, updates=n, words=10 * n) for n in range(60)]
    together = [schedule.decays_with_epoch(point, point.updates % 5) for point in points]
    return together, [schedule.at(point, point.updates // 10) for point in points]


def built(training):
    """The parts of the loop."""
    step, reporter, sampler = training.step, training.reporter, training.sampler
    optimizer = step.optimizer.get_config()
    optimizer.pop("name")  # counts the optimizers of a process
    parts = reporter._board, reporter._probe, training.plan.options.plot
    with reporter.log:
        pass
    return {
        "step": (
            step.jit,
            step.objective,
            step.regularization,
            step.model.compute_dtype,
            list(step.trained),
            [array.shape for array in step.prior],
            bool(step.smoothed),
            step.quantization,
            type(step.optimizer).__name__,
            str(optimizer),
        ),
        "sampler": sampler and (sampler._risk, sampler._seed),
        "shown": (
            *map(bool, parts),
            reporter.log._log.name,
            reporter.log._quiet,
            bool(reporter.log._valid),
        ),
    }


@pytest.mark.long
@pytest.mark.parametrize("name", CHANGES)
def test_an_option_decides(decided, kept, name):
    needs = {"tensorboard": "tensorboard", "plot": "matplotlib"}
    if name in needs:
        pytest.importorskip(needs[name])
    value, part, needed = CHANGES[name]
    key = part, repr(needed)
    if key not in kept:
        kept[key] = decided(part, **needed)
    assert kept[key] != decided(part, **needed | {name: value})


@pytest.mark.long
@pytest.mark.parametrize("part", sorted({change.part for change in CHANGES.values()}))
def test_the_same_options_decide_the_same(decided, part):
    assert decided(part) == decided(part, **dict.fromkeys(OF_NO_EFFECT, True))

"""Marian's options for training and validation (`marian --help`, version 1.12 and older)."""

from __future__ import annotations

import math

from ..errors import UsageError
from ..options.flags import statements
from ..options.kinds import is_never
from ..options.model import ModelOptions
from .fields import Fields
from .marian import GENERAL, OTHER_MODELS, STRUCTURE, cpu_threads, precision
from .row import Alias, NoEffect, Option, Refused, Values
from .rows import always, computed, counts_eos, negated, no_effect, refused, row, rows, switched

COSTS = ("ce-sum", "ce-mean", "cross-entropy", "ce-mean-words", "perplexity")
EVERY = 10**9  # number of earlier models to keep


def _cost(values: tuple[str, ...]) -> Values | NoEffect | Refused:
    if values[-1] not in COSTS:
        return Refused(f"{values[-1]}: cgru has no such cost")
    if values[-1] == "ce-mean-words":
        return {"disp_label_counts": False}
    return NoEffect("the log shows the mean over words; Marian trains by their sum in any case")


def _divergence(values: tuple[str, ...]) -> Values:
    """Two windows and a number of deviations, possibly written as in C++."""
    return {"throw_on_divergence": tuple(value.removesuffix("f") for value in values)}


def _inverse_sqrt(values: tuple[str, ...]) -> Values | Refused:
    """Period and start of the decay; the start is the second value, by default the first."""
    if len(values) > 2:
        return Refused("two values are expected at most")
    return dict(zip(("lr_decay_inv_sqrt", "lr_decay_inv_sqrt_start"), values, strict=False))


def _shuffle(values: tuple[str, ...]) -> Values | Refused:
    """Translate --shuffle: shuffle pairs and batches, only batches, or nothing."""
    if values[-1] not in ("data", "batches", "none"):
        return Refused(f"{values[-1]}: data, batches or none is expected")
    batches = {"shuffle_batches": True} if values[-1] == "batches" else {}
    return {"no_shuffle": values[-1] != "data"} | batches


def _devices(values: tuple[str, ...]) -> Values | NoEffect:
    """GPU numbers; () for Marian's default, only the first GPU, to keep cgru's default."""
    if values == ("all",):
        return NoEffect("all GPUs train together unless --device names one")
    return {"devices": values} if len(values) > 1 or values[0] != "0" else {}


ROWS = (
    *GENERAL,
    *STRUCTURE,
    row("--max-length N = 50", counts_eos("max_length")),
    row("--valid-max-length N = 1000", counts_eos("valid_max_length")),
    *rows("""
        -w --workspace MB = 2048, -m --model FILE = model.npz, --pretrained-model FILE,
        --dropout-rnn P = 0 -> dropout_hidden, --dropout-src P = 0 -> dropout_source,
        --dropout-trg P = 0 -> dropout_target, -t --train-sets FILE...,
        -v --vocabs FILE... -> vocabularies, --sentencepiece-alphas X..., --sentencepiece-options X,
        --sentencepiece-max-lines N = 2000000, -a --after N = 0e, --disp-freq N = 1000u,
        --disp-first N = 0, --save-freq N = 10000u, --logical-epoch N... = 1e 0,
        --max-length-crop, --tsv, --tsv-fields --tsv-size N = 0,
        --num-devices N = 0 (earlier), --mini-batch N = 64, --mini-batch-words N = 0,
        --mini-batch-fit,
        --maxi-batch N = 100, --maxi-batch-sort X = trg, -o --optimizer X = adam,
        --optimizer-params X..., --optimizer-delay N = 1, -l --learn-rate X = 0.0001, --lr-report,
        --lr-decay X = 0, --lr-decay-strategy X = epoch+stalled, --lr-decay-start N... = 10 1,
        --lr-decay-freq N = 50000, --lr-warmup N = 0, --lr-warmup-start-rate X = 0,
        --label-smoothing X = 0, --clip-norm X = 1, --exponential-smoothing [1e-4] = 0,
        --guided-alignment-cost X = ce, --guided-alignment-weight X = 0.1, --data-weighting FILE,
        --data-weighting-type X = sentence, --embedding-vectors FILE..., --quantize-bits N = 0,
        --quantize-optimization-steps N = 0, --quantize-log-based, --quantize-biases,
        --moving-average (earlier), --moving-decay X = 0.999 (earlier), --no-reload,
        --no-optimizer-reload,
        --no-restore-corpus, --lr-decay-reset-optimizer, --lr-decay-repeat-warmup,
        --lr-warmup-cycle, --lr-warmup-at-reload, --mini-batch-warmup N = 0,
        --mini-batch-words-ref N = 0, --no-spm-encode, --all-caps-every N = 0,
        --english-title-case-every N = 0, --disp-label-counts = true"""),
    row("--cost-type X = ce-sum", Option("cost_type", _cost)),
    row("--quiet-translation", negated("disp_translations")),
    row("--normalize-gradient", switched("cost_type", "ce-mean-words")),
    row("--allow-unk", negated("suppress_unk")),
    row("-e --after-epochs N = 0", computed("after", lambda v: None if v == "0" else f"{v}e")),
    row("--after-batches N = 0", computed("after", lambda v: None if v == "0" else f"{v}u")),
    row("--no-shuffle", Alias("--shuffle none")),
    row("--shuffle X = data", Option("no_shuffle", _shuffle)),
    row("-d --devices N... = 0", Option("devices", _devices)),
    row("--cpu-threads [1] = 0", Option("cpu_threads", cpu_threads)),
    row("--lr-decay-inv-sqrt N... = 0", Option("lr_decay_inv_sqrt", _inverse_sqrt)),
    row(
        "--guided-alignment FILE = none",
        computed("guided_alignment", lambda v: () if v in ("none", "") else (v,)),
    ),
    row("--throw-on-divergence [1000 10 5.0f]...", Option("throw_on_divergence", _divergence)),
    row("--batch-flexible-lr (earlier)", switched("lr_words_ref", "1920")),
    row("--batch-normal-words N = 1920 (earlier)"),
    row("--embedding-fix-src", switched("freeze", ("Wemb",))),
    row("--embedding-fix-trg", switched("freeze", ("Wemb_dec",))),
    row("--fp16", Alias("--precision float16 float32, --cost-scaling 8.f 10000 1.f 8.f")),
    row("--precision X... = float32 float32", Option("precision", precision)),
    row("--overwrite"),
    *always("--keep-best, --sync-sgd"),
    # validation
    *rows("""
        --valid-sets FILE..., --valid-freq N = 10000u, --valid-metrics X... = cross-entropy,
        --valid-reset-stalled, --valid-reset-all, --early-stopping N = 10,
        --early-stopping-epsilon X... = 0, --early-stopping-on X = first, -b --beam-size N = 12,
        -n --normalize [1] = 0, --valid-mini-batch N = 32,
        --valid-script-path FILE -> valid_script, --valid-script-args X...,
        --valid-translation-output FILE, --valid-log FILE"""),
    *OTHER_MODELS,
    *no_effect("""
        --transformer-dropout P = 0, --transformer-dropout-attention P = 0,
        --transformer-dropout-ffn P = 0: a recurrent model has no transformer layers
        --overwrite-checkpoint = true: only the last state of the training is kept
        -T --tempdir X = /tmp, --sqlite [temporary]: batches are read from a file beside the model
        --sqlite-drop: there is no database
        --sigterm X = save-and-exit: a signal ends a run cleanly in any case
        --no-nccl: TensorFlow chooses how devices communicate
        --sharding X = global, --sync-freq X = 200u: all devices always have the same weights
        --mini-batch-fit-step N = 10: cgru computes the size that fits
        --gradient-checkpointing: cgru keeps each state once in any case
        --shuffle-in-ram: cgru keeps only the order of pairs in memory
        --data-threads N = 8: one thread prepares batches ahead
        --mini-batch-overstuff N = 1 (earlier), --mini-batch-understuff N = 1 (earlier):
        batches have the requested size
        --mini-batch-round-up = true:
        with --mini-batch-warmup, mini-batches above 80 % of their size are always full
        --cost-scaling [8.f 10000 1.f 8.f]...:
        float16's loss scale starts at 1024 and adapts; other precisions have none
        --custom-fallbacks X..., --fp16-fallback-to-fp32: options never change during training
        --gradient-norm-average-window N = 100: the logged norm is averaged over 100 updates
        --check-gradient-nan: updates whose gradient is not finite are always skipped
        --n-best: validation takes the best translation
        --word-scores: validation prints no scores of words
        --quiet-validation: validation prints no translations
        --dynamic-batching (earlier): see --mini-batch-fit
        --multi-node (earlier), --multi-node-overlap = true (earlier),
        --grad-dropping-rate X = 0 (earlier), --drop-rate X = 0 (earlier),
        --grad-dropping-momentum X = 0 (earlier), --grad-dropping-warmup N = 100 (earlier):
        all devices make one update together
        --clip-gemm X = 0 (earlier): the inputs of matrix products are not clipped
        --no-tensor-cores (earlier): TensorFlow chooses how to multiply matrices"""),
    *refused("""
        --embedding-normalization: cgru does not normalise word vectors
        --max-length-factor X = 3, --word-penalty X = 0: cgru train has no such option
        --multi-loss-type X = sum: there is only one loss
        --unlikelihood-loss: --objective supports only cross-entropy and minimum risk
        --mini-batch-track-lr: Marian 1.12 stops with "Please review this code"
        --factor-weight X = 1: cgru has no target factors
        --exponential-smoothing-replace-freq X = 0:
        the averages never replace the weights that are trained
        --dynamic-gradient-scaling [2.f log]...: gradients are clipped by --clip-norm alone
        --normalize-gradient-by-ratio: the gradient does not depend on the average mini-batch
        --train-embedder-rank [0.3f 0.0f]...: cgru does not train embedders
        --ulr, --ulr-query-vectors X, --ulr-keys-vectors X, --ulr-trainable-transformation,
        --ulr-dim-emb N = 0, --ulr-dropout P = 0, --ulr-softmax-temperature X = 1:
        cgru has no universal language representation
        --task X...: its predefined options are those of transformers
        --special-vocab X... (earlier): special words are those of the vocabulary
        --tau N = 1 (earlier): a larger --mini-batch has the same effect
        --noise-src X = 0 (earlier): cgru adds no noise to embeddings
        --dropout-sampling (earlier): training does not sample words"""),
)
# options that Marian lacks
DEFAULTS = {"init": "glorot", "cost_type": "ce-sum", "disp_translations": True}

# Options with a single permitted value for Marian's type amun.
_AMUN = {
    "enc_depth": "1",
    "enc_cell_depth": "1",
    "dec_depth": "1",
    "dec_cell_base_depth": "2",
    "dec_cell_high_depth": "1",
    "enc_cell": "gru",
    "dec_cell": "gru",
}


def settle(o: Fields) -> None:
    """Replace options that cgru's trainer lacks.

    Raises UsageError if options contradict each other or ask for a feature that cgru lacks.
    """
    average, decay = o.take("moving_average"), o.number("moving_decay") or 0.999
    o.take("moving_decay")
    if average:  # before version 1.2, where the factor multiplies the earlier averages
        o.values["exponential_smoothing"] = f"{1 - decay:.12g}"
    if o.values.get("optimizer") == "adagrad" and o.values.get("optimizer_params") and o.program:
        o.values["optimizer_params"] = ("0", o.values["optimizer_params"][0])  # epsilon alone
    if (words := o.take("batch_normal_words")) and "lr_words_ref" in o.values:
        o.values["lr_words_ref"] = words
    _segmentations(o)
    settle_training(o)
    if o.program is None:  # a file with some of Marian's options, without its defaults
        return
    _batches(o)
    if o.values.get("tsv") and not o.values.get("train_sets"):
        o.values["train_sets"] = ("stdin",)  # --tsv alone reads standard input
        o.given.add("train_sets")
    if o.values.get("train_sets") in (("stdin",), ("-",)):
        o.values["after_epochs"] = "1"
    _vocabularies(o)
    _decay(o)
    kind = o.values.get("type", "amun")
    if o.values.get("layer_normalization") and kind != "nematus":
        o.values["normalization_form"] = "marian"
    if kind == "lm":
        for name in ("enc_type", "enc_cell", "enc_depth", "enc_cell_depth", "dec_cell_base_depth"):
            o.drop_default(name)
    for name, value in _AMUN.items() if kind == "amun" else ():
        if str(o.values.get(name, value)) != value:
            raise UsageError(
                f"--type amun does not support --{name.replace('_', '-')} {o.values[name]}; use "
                "--type s2s"
            )


def settle_training(o: Fields) -> None:
    """Remove defaults that have no effect in cgru, and set which saved models to keep."""
    overwrite = o.take("overwrite")
    if o.program and not overwrite and o.values.get("keep") != "0":
        o.values.setdefault("keep", str(EVERY))
        path, tensorflow = str(o.values["model"]), o.program == "nematus-tf"
        name = f"{path}-{{U}}" if tensorflow else f"{path.removesuffix('.npz')}.iter{{U}}.npz"
        o.values.setdefault("keep_as", name)
    if not o.values.get("valid_sets"):
        o.drop_default("valid_metrics")  # there is no validation text
    if o.values.get("pretrained_model") or o.values.get("prior_model"):
        for name, (flag, _) in statements(ModelOptions).items():
            if flag.group in ("Model", "Initialisation"):
                o.drop_default(name)  # the pretrained model determines it


def _batches(o: Fields) -> None:
    if o.values.get("no_reload") and o.take("pretrained_model"):
        o.note(o.origins["pretrained_model"], "--no-reload starts from random weights")
    if not o.values.get("mini_batch_fit"):
        if "workspace" in o.typed:
            o.note("--workspace", "memory is allocated as needed, without --mini-batch-fit")
        o.take("workspace")
    elif str(o.values.get("workspace")).startswith("-"):
        raise UsageError(f"--workspace {o.values['workspace']}: give the memory of a batch in MB")
    delay, words = o.number("optimizer_delay"), o.number("workspace")
    if not o.values.get("mini_batch_fit") and is_never(str(o.values["mini_batch_warmup"])):
        if "optimizer_delay" in o.given:
            o.note("--optimizer-delay", "--mini-batch is the size of an update, as in Marian 1.12")
        o.take("optimizer_delay")
    elif delay > 0:  # the number of parts of an update, each with its own memory
        parts = math.ceil(delay)
        o.values["optimizer_delay"] = str(parts)
        if parts != delay:
            o.values["workspace"] = str(max(1, round(words * delay / parts)))


def _vocabularies(o: Fields) -> None:
    """Set the vocabulary sizes: 0 for missing sizes, and one size for a file named twice."""
    files, numbers = o.values.get("vocabularies", ()), o.numbers("dim_vocabs")
    if not any(numbers):
        o.drop_default("dim_vocabs")
    elif files and len(numbers) <= len(files):
        limits = dict.fromkeys(files, 0)
        for file, number in zip(files, map(int, numbers), strict=False):
            limits[file] = max(limits[file], number)
        o.values["dim_vocabs"] = tuple(str(limits[file]) for file in files)


def _segmentations(o: Fields) -> None:
    """Drop options for SentencePiece if no vocabulary is a SentencePiece model."""
    files = o.values.get("vocabularies", ())
    varied = any(o.numbers("sentencepiece_alphas"))
    alphas = o.take("sentencepiece_alphas")
    if any(path.endswith(".spm") for path in files):
        if varied:
            raise UsageError(
                f"--sentencepiece-alphas {' '.join(alphas)} cannot be honoured: text is encoded "
                "once, every sentence in its best segmentation"
            )
        return
    for name in ("all_caps_every", "english_title_case_every", "no_spm_encode"):
        if o.take(name) and name in o.given:
            o.note(o.origins[name], "no vocabulary is a .spm")
    if varied:
        o.note("--sentencepiece-alphas", "no vocabulary is a .spm")


def _decay(o: Fields) -> None:
    decays = bool(o.number("lr_decay"))
    warms_up = not is_never(str(o.values.get("lr_warmup", "0")))
    for name, matters in (
        ("lr_warmup_cycle", warms_up),
        ("lr_warmup_at_reload", warms_up),
        ("lr_decay_repeat_warmup", warms_up and decays),
        ("lr_decay_reset_optimizer", decays),
    ):
        if not matters and o.take(name):
            o.note(o.origins[name], "it needs --lr-decay or --lr-warmup")
    if not decays:
        for name in ("lr_decay_strategy", "lr_decay_start", "lr_decay_freq"):
            if o.take(name) is not None and name in o.given:
                o.note(o.origins[name], "it needs --lr-decay")
        return
    strategy, start = str(o.values.get("lr_decay_strategy")), o.values["lr_decay_start"]
    if strategy != "batches":
        if "lr_decay_freq" in o.given:
            o.note("--lr-decay-freq", "it applies to --lr-decay-strategy batches")
        o.take("lr_decay_freq")
    if "+" not in strategy and len(start) > 1:
        if "lr_decay_start" in o.given:
            o.note("--lr-decay-start", "its second number is for a second strategy")
        o.values["lr_decay_start"] = start[:1]
    elif "+" in strategy and len(start) == 1:
        o.values["lr_decay_start"] = (*start, "1")

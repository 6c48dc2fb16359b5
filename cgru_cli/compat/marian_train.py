"""Marian's options of training and validation (`marian --help`, version 1.12 and older)."""

from __future__ import annotations

from .marian_general import (
    GENERAL,
    TRANSFORMER,
    TSV,
    cpu_threads,
    model_rows,
    precision,
)  # fmt: skip
from .rows import (
    NoEffect,
    Refused,
    Row,
    Takes,
    Values,
    always,
    boolean,
    converted,
    is_true,
    many,
    no_effect,
    one,
    one_of,
    optional,
    refused,
)  # fmt: skip

FOLDER = "batches are drawn from a file in the folder of the model"
ULR = "there is no universal language representation here"
COSTS = {
    "ce-sum": "ce-sum", "ce-mean": "ce-mean", "cross-entropy": "ce-mean",
    "ce-mean-words": "ce-mean-words", "perplexity": "perplexity",
}  # fmt: skip
SHUFFLED = {"data": False, "none": True}
NO_MPI = "workers share every update"
ASYNCHRONOUS = "all devices make one update together"
DIVERGENCE = "a run whose cost is not finite stops after --max-nan updates"


def _frozen(pattern: str):
    return converted("freeze", lambda values: {"freeze": (pattern,)} if is_true(values) else {})


def _strategy(values: tuple[str, ...]) -> Values:
    return {"lr_decay_strategy": values[-1]}


def _inverse_sqrt(values: tuple[str, ...]) -> Values | Refused:
    """The second value says from where on the rate falls; it is the first if not given."""
    if len(values) > 2:
        return Refused("two values are expected at most")
    return dict(zip(("lr_decay_inv_sqrt", "lr_decay_inv_sqrt_start"), values, strict=False))


def _devices(values: tuple[str, ...]) -> Values | NoEffect:
    """GPU numbers; the first alone, Marian's default, is where a training computes anyway."""
    if values == ("all",):
        return NoEffect("all GPUs train together unless --device names one")
    return {"devices": values} if len(values) > 1 or values[0] != "0" else {}


def _ended(unit: str):
    """Marian's older ways to say --after."""

    def convert(values: tuple[str, ...]) -> Values:
        return {"after": f"{values[-1]}{unit}"} if values[-1] != "0" else {}

    return convert


def _guided(values: tuple[str, ...]) -> Values:
    return {"guided_alignment": () if values[-1] in ("none", "") else values}


def _metrics(values: tuple[str, ...]) -> Values:
    return {"valid_metrics": values}


TRAINING: tuple[Row, ...] = (
    one("--cost-type", "ce-sum", one_of("disp_cost_type", COSTS, "no such cost is known here")),
    refused("--multi-loss-type", Takes.ONE, "sum", "there is one loss"),
    refused("--unlikelihood-loss", Takes.BOOLEAN, False,
            "--objective knows cross-entropy and minimum risk only"),
    boolean("--overwrite", always("overwrite")),
    no_effect("--overwrite-checkpoint", Takes.BOOLEAN, True,
              "one state of the training is kept, the last"),
    boolean("--no-reload", "no_reload"),
    boolean("--no-optimizer-reload", "no_optimizer_reload"),
    many("-t --train-sets", None, "train_sets", paths=True),
    many("-v --vocabs", None, "vocabularies", paths=True),
    many("--sentencepiece-alphas", None, "sentencepiece_alphas"),
    one("--sentencepiece-options", "", "sentencepiece_options"),
    one("--sentencepiece-max-lines", 2000000, "sentencepiece_max_lines"),
    boolean("--no-spm-encode", "no_spm_encode"),
    one("-e --after-epochs", 0, converted("after_epochs", _ended("e"))),
    one("--after-batches", 0, converted("after", _ended("u"))),
    one("-a --after", "0e", "after"),
    one("--disp-freq", "1000u", "disp_freq"),
    one("--disp-first", 0, "disp_first"),
    boolean("--disp-label-counts", "disp_label_counts", True),
    one("--save-freq", "10000u", "save_freq"),
    many("--logical-epoch", ("1e", "0"), "logical_epoch"),
    one("--max-length", 50, "max_length"),
    boolean("--max-length-crop", "max_length_crop"),
    *TSV,
    one("--shuffle", "data", one_of("no_shuffle", SHUFFLED,
                                  "pairs and batches are shuffled, or neither")),
    boolean("--no-shuffle", "no_shuffle"),
    refused("--no-restore-corpus", Takes.BOOLEAN, False,
            "a resumed run always restores its position in the data"),
    no_effect("-T --tempdir", Takes.ONE, "/tmp", FOLDER),  # noqa: S108 - shown and not used
    no_effect("--sqlite", Takes.OPTIONAL, "", FOLDER, "temporary"),
    no_effect("--sqlite-drop", Takes.BOOLEAN, False, "there is no database"),
    many("-d --devices", (0,), converted("devices", _devices)),
    one("--num-devices", 0, "num_devices"),
    no_effect("--no-nccl", Takes.BOOLEAN, False, "TensorFlow chooses how devices communicate"),
    no_effect("--sharding", Takes.ONE, "global", NO_MPI),
    no_effect("--sync-freq", Takes.ONE, "200u", NO_MPI),
    one("--cpu-threads", 0, converted("cpu_threads", cpu_threads)),
    one("--mini-batch", 64, "mini_batch"),
    one("--mini-batch-words", 0, "mini_batch_words"),
    boolean("--mini-batch-fit", "mini_batch_fit"),
    no_effect("--mini-batch-fit-step", Takes.ONE, 10,
              "the size that fits is computed, not searched for"),
    no_effect("--gradient-checkpointing", Takes.BOOLEAN, False,
              "each state is kept once in any case"),
    one("--maxi-batch", 100, "maxi_batch"),
    one("--maxi-batch-sort", "trg", "maxi_batch_sort"),
    no_effect("--shuffle-in-ram", Takes.BOOLEAN, False, "only the order of pairs is in memory"),
    no_effect("--data-threads", Takes.ONE, 8, "one thread prepares batches ahead"),
    refused("--all-caps-every", Takes.ONE, 0,
            "lines are read as they are; cgru prep prepares text"),
    refused("--english-title-case-every", Takes.ONE, 0,
            "lines are read as they are; cgru prep prepares text"),
    refused("--mini-batch-words-ref", Takes.ONE, 0, "no option is adjusted to a batch's size"),
    refused("--mini-batch-warmup", Takes.ONE, "0", "the size of batches does not change"),
    refused("--mini-batch-track-lr", Takes.BOOLEAN, False,
            "the size of batches does not change"),
    no_effect("--mini-batch-round-up", Takes.BOOLEAN, True, "batches have the size asked for"),
    one("-o --optimizer", "adam", "optimizer"),
    many("--optimizer-params", None, "optimizer_params"),
    one("--optimizer-delay", 1, "optimizer_delay"),
    boolean("--sync-sgd", always("sync_sgd")),
    one("-l --learn-rate", 0.0001, "learn_rate"),
    boolean("--lr-report", "lr_report"),
    one("--lr-decay", 0, "lr_decay"),
    one("--lr-decay-strategy", "epoch+stalled", converted("lr_decay_strategy", _strategy)),
    many("--lr-decay-start", (10, 1), "lr_decay_start"),
    one("--lr-decay-freq", 50000, "lr_decay_freq"),
    boolean("--lr-decay-reset-optimizer", "lr_decay_reset_optimizer"),
    boolean("--lr-decay-repeat-warmup", "lr_decay_repeat_warmup"),
    many("--lr-decay-inv-sqrt", ("0",), converted("lr_decay_inv_sqrt", _inverse_sqrt)),
    one("--lr-warmup", "0", "lr_warmup"),
    one("--lr-warmup-start-rate", 0, "lr_warmup_start_rate"),
    refused("--lr-warmup-cycle", Takes.BOOLEAN, False, "the warm-up comes once"),
    refused("--lr-warmup-at-reload", Takes.BOOLEAN, False,
            "a resumed run continues its schedule"),
    one("--label-smoothing", 0, "label_smoothing"),
    refused("--factor-weight", Takes.ONE, 1, "factors of the target are not known here"),
    one("--clip-norm", 1, "clip_norm"),
    optional("--exponential-smoothing", 0, "1e-4", "exponential_smoothing"),
    refused("--exponential-smoothing-replace-freq", Takes.ONE, "0",
            "the averages never replace the weights that are trained"),
    many("--guided-alignment", "none", converted("guided_alignment", _guided), paths=True),
    one("--guided-alignment-cost", "ce", "guided_alignment_cost"),
    one("--guided-alignment-weight", 0.1, "guided_alignment_weight"),
    many("--data-weighting", "", "data_weighting", paths=True),
    one("--data-weighting-type", "sentence", "data_weighting_type"),
    many("--embedding-vectors", None, "embedding_vectors", paths=True),
    boolean("--embedding-normalization", "embedding_normalization"),
    boolean("--embedding-fix-src", _frozen("Wemb")),
    boolean("--embedding-fix-trg", _frozen("Wemb_dec")),
    boolean("--fp16", converted("precision", lambda values: {"precision": "float16"}
                         if is_true(values) else {})),
    many("--precision", ("float32", "float32"), converted("precision", precision)),
    no_effect("--cost-scaling", Takes.MANY, None, "float16 has a scale of its own",
              "8.f 10000 1.f 8.f"),
    no_effect("--throw-on-divergence", Takes.MANY, None, DIVERGENCE, "1000 10 5.0f"),
    no_effect("--custom-fallbacks", Takes.MANY, None, DIVERGENCE),
    no_effect("--fp16-fallback-to-fp32", Takes.BOOLEAN, False, DIVERGENCE),
    no_effect("--gradient-norm-average-window", Takes.ONE, 100,
              "the norm is logged without averaging"),
    refused("--dynamic-gradient-scaling", Takes.MANY, None,
            "gradients are clipped by --clip-norm alone", "2.f log"),
    no_effect("--check-gradient-nan", Takes.BOOLEAN, False,
              "updates whose gradient is not finite are always left out"),
    refused("--normalize-gradient", Takes.BOOLEAN, False,
            "the gradient is that of the mean cost already"),
    refused("--normalize-gradient-by-ratio", Takes.BOOLEAN, False,
            "the gradient is that of the mean cost already"),
    refused("--train-embedder-rank", Takes.MANY, None, "embedders are not trained here",
            "0.3f 0.0f"),
    one("--quantize-bits", 0, "quantize_bits"),
    one("--quantize-optimization-steps", 0, "quantize_optimization_steps"),
    boolean("--quantize-log-based", "quantize_log_based"),
    boolean("--quantize-biases", "quantize_biases"),
    refused("--ulr", Takes.BOOLEAN, False, ULR),
    refused("--ulr-query-vectors", Takes.ONE, "", ULR),
    refused("--ulr-keys-vectors", Takes.ONE, "", ULR),
    refused("--ulr-trainable-transformation", Takes.BOOLEAN, False, ULR),
    refused("--ulr-dim-emb", Takes.ONE, 0, ULR),
    refused("--ulr-dropout", Takes.ONE, 0, ULR),
    refused("--ulr-softmax-temperature", Takes.ONE, 1, ULR),
    refused("--task", Takes.MANY, (), "its predefined options are those of transformers"),
)  # fmt: skip

VALIDATION: tuple[Row, ...] = (
    many("--valid-sets", None, "valid_sets", paths=True),
    one("--valid-freq", "10000u", "valid_freq"),
    many("--valid-metrics", ("cross-entropy",), converted("valid_metrics", _metrics)),
    boolean("--valid-reset-stalled", "valid_reset_stalled"),
    boolean("--valid-reset-all", "valid_reset_all"),
    one("--early-stopping", 10, "early_stopping"),
    many("--early-stopping-epsilon", (0,), "early_stopping_epsilon"),
    one("--early-stopping-on", "first", "early_stopping_on"),
    one("-b --beam-size", 12, "beam_size"),
    optional("-n --normalize", 0, "1", "normalize"),
    one("--max-length-factor", 3, "max_length_factor"),
    one("--word-penalty", 0, "word_penalty"),
    boolean("--allow-unk", "allow_unk"),
    no_effect("--n-best", Takes.BOOLEAN, False, "validation takes the best translation"),
    no_effect("--word-scores", Takes.BOOLEAN, False, "validation prints no scores of words"),
    one("--valid-mini-batch", 32, "valid_mini_batch"),
    one("--valid-max-length", 1000, "valid_max_length"),
    one("--valid-script-path", "", "valid_script", paths=True),
    many("--valid-script-args", None, "valid_script_args"),
    one("--valid-translation-output", "", "valid_translation_output", paths=True),
    boolean("--keep-best", always("keep_best")),
    one("--valid-log", "", "valid_log", paths=True),
    no_effect("--quiet-validation", Takes.BOOLEAN, False, "validation prints no translations"),
)  # fmt: skip

# Options that the trainer had in earlier versions.
OLDER: tuple[Row, ...] = (
    refused("--special-vocab", Takes.MANY, None, "special words are those of the vocabulary"),
    no_effect("--batch-flexible-lr", Takes.BOOLEAN, False,
              "the learning rate does not depend on the size of a batch"),
    no_effect("--batch-normal-words", Takes.ONE, 1920,
              "the learning rate does not depend on the size of a batch"),
    no_effect("--dynamic-batching", Takes.BOOLEAN, False, "see --mini-batch-fit"),
    no_effect("--mini-batch-overstuff", Takes.ONE, 1, "batches have the size asked for"),
    no_effect("--mini-batch-understuff", Takes.ONE, 1, "batches have the size asked for"),
    no_effect("--multi-node", Takes.BOOLEAN, False, ASYNCHRONOUS),
    no_effect("--multi-node-overlap", Takes.BOOLEAN, True, ASYNCHRONOUS),
    no_effect("--grad-dropping-rate", Takes.ONE, 0, ASYNCHRONOUS),
    no_effect("--grad-dropping-momentum", Takes.ONE, 0, ASYNCHRONOUS),
    no_effect("--grad-dropping-warmup", Takes.ONE, 100, ASYNCHRONOUS),
    no_effect("--clip-gemm", Takes.ONE, 0, "products are not clipped"),
    no_effect("--no-tensor-cores", Takes.BOOLEAN, False,
              "TensorFlow chooses how products are made"),
    boolean("--moving-average", "moving_average"),
    one("--moving-decay", 0.999, "moving_decay"),
    boolean("--dropout-sampling", Refused("words are not sampled in training")),
)  # fmt: skip

WORKSPACE = one("-w --workspace", 2048, "workspace")
QUIET_TRANSLATION = no_effect(
    "--quiet-translation", Takes.BOOLEAN, False, "training prints no translations"
)


def rows() -> list[Row]:
    """All options of `marian`."""
    return [
        *GENERAL, WORKSPACE, QUIET_TRANSLATION,
        one("-m --model", "model.npz", "model", paths=True),
        one("--pretrained-model", "", "pretrained_model", paths=True),
        *model_rows(training=True),
        one("--dropout-rnn", 0, "dropout_hidden"),
        one("--dropout-src", 0, "dropout_source"),
        one("--dropout-trg", 0, "dropout_target"),
        refused("--transformer-dropout", Takes.ONE, 0, TRANSFORMER),
        refused("--transformer-dropout-attention", Takes.ONE, 0, TRANSFORMER),
        refused("--transformer-dropout-ffn", Takes.ONE, 0, TRANSFORMER),
        *TRAINING, *VALIDATION, *OLDER,
    ]  # fmt: skip

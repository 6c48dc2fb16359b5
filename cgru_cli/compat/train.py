"""The options of other programs' trainers, as options of cgru."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from ..options.flags import statements
from ..options.model import ModelOptions
from .option_values import OptionValues

# Nematus' Theano version and DL4MT have an adadelta and an rmsprop that know no learning rate.
_THEANO = ("nematus", "dl4mt")
_RMSPROP = ("0.95", "0.9", "1e-4", "1")  # rho, momentum, epsilon, centred


# Why options of other trainers are refused that a recurrent model could have.
MISSING = {
    "no_reload": "the same command resumes; name another model, or remove the run",
    "no_optimizer_reload": "begin from the weights with --pretrained-model",
    "lr_decay_reset_optimizer": "the optimizer keeps its state",
    "lr_decay_repeat_warmup": "the warm-up comes once",
    "no_spm_encode": "training always splits text by a .spm",
}


def resolve(o: OptionValues) -> None:
    """Replace what this package's trainer does not know by what it does.

    Raises UsageError where options contradict each other or ask for what there is not.
    """
    _batches(o)
    _standard_input(o)
    _files_of_each_side(o, "train_sets", "source_dataset", "target_dataset")
    _files_of_each_side(o, "valid_sets", "valid_source_dataset", "valid_target_dataset")
    _vocabularies(o)
    _dropout(o)
    _optimizer(o)
    _smoothing(o)
    _rate(o)
    _layer_normalization(o)
    if o.program == "marian" and o.values.get("type") == "lm":
        for name in ("enc_type", "enc_cell", "enc_depth", "enc_cell_depth", "dec_cell_base_depth"):
            o.drop_default(name)
    elif o.program == "marian":
        _marians_type(o)
    elif o.values.get("type", "cgru") != "cgru":
        o.drop_default("dec_cell_base_depth")  # it is that of the conditional GRU
    if o.values.get("objective") == "mrt" and o.take("sample_way") == "beam_search":
        o.note("--sample_way beam_search", "samples are drawn, as by randomly_sample")
    o.take("sample_way")
    if o.values.get("objective") != "mrt":
        for name in ("mrt_samples", "mrt_alpha", "mrt_loss", "mrt_ml_mix"):
            o.drop_default(name)
    for name, needed in (
        ("guided_alignment_cost", "guided_alignment"),
        ("guided_alignment_weight", "guided_alignment"),
        ("data_weighting_type", "data_weighting"),
        ("lr_warmup_start_rate", "lr_warmup"),
        ("quantize_optimization_steps", "quantize_bits"),
    ):
        if not o.values.get(needed) or o.values[needed] == "0":
            o.drop_default(name)
    if not o.values.get("valid_sets"):
        o.drop_default("valid_metrics")  # nothing is validated
    if "valid_translation_maxlen" in o.values and o.is_given("valid_translation_maxlen"):
        o.note("--translation_maxlen", "translations of the dev set have 200 words at most")
    o.take("valid_translation_maxlen")
    if o.values.get("pretrained_model") or o.values.get("prior_model"):
        for name, (flag, _) in statements(ModelOptions).items():
            if flag.group in ("Model", "Initialisation"):
                o.drop_default(name)  # it is what that model is
    _of_log(o)


def _of_log(o: OptionValues) -> None:
    """Marian trains by the mean over words and shows the cost as --cost-type says."""
    shown = o.take("disp_cost_type")
    if shown is not None and o.program == "marian":
        o.values["cost_type"] = "ce-mean-words"
    if shown not in (None, "ce-mean-words") and "disp_cost_type" in o.typed:
        o.note(f"--cost-type {shown}", "the log shows the mean over words, by which Marian trains")
    if o.take("disp_label_counts") is not None and "disp_label_counts" in o.typed:
        o.note("--disp-label-counts", "the log shows the mean over words")


def _batches(o: OptionValues) -> None:
    fit = o.values.get("mini_batch_fit")
    workspace = o.values.get("workspace")
    if workspace is not None and not fit and o.program == "marian":
        if "workspace" in o.typed:
            o.note("--workspace", "memory is taken as it is needed, without --mini-batch-fit")
        o.take("workspace")
    elif str(workspace).startswith("-") and o.program == "marian":
        raise UsageError(f"--workspace {workspace}: give the memory of a batch in MB")
    delay = o.number("optimizer_delay")
    if o.program and delay != int(delay):
        raise UsageError(f"--optimizer-delay {delay:g}: a whole number of batches makes an update")
    if o.take("gradient_aggregation_steps") not in (None, "1"):
        o.note("--gradient_aggregation_steps", "a batch is computed at once; see --workspace")


def _standard_input(o: OptionValues) -> None:
    """Marian reads it once, and ends where it ends; it is its default with --tsv."""
    if o.program != "marian":
        return
    if o.values.get("tsv") and not o.values.get("train_sets"):
        o.values["train_sets"] = ("stdin",)
        o.given.add("train_sets")
    if o.values.get("train_sets") in (("stdin",), ("-",)):
        o.values["after_epochs"] = "1"


def _files_of_each_side(o: OptionValues, name: str, source: str, target: str) -> None:
    """Nematus' source and target, which it also takes together."""
    sides = {side: o.values[side] for side in (source, target) if o.values.get(side)}
    if not sides:
        return
    if o.values.get("type") == "lm":
        if source in sides:
            raise UsageError(f"{o.flags[source]}: a language model reads no source")
    elif len(sides) < 2 or o.values.get(name):
        raise UsageError(
            f"--{source} and --{target} go together, and without the other way to name both"
        )
    o.take(source)
    o.replace(name, tuple(sides.values()), by=target)


def _vocabularies(o: OptionValues) -> None:
    """Nematus' numbers of words, which Marian gives together."""
    sources, target = o.numbers("source_vocab_sizes"), o.number("target_vocab_size")
    o.take("source_vocab_sizes")
    o.take("target_vocab_size")
    if o.values.get("type") == "lm":
        sources = ()  # it reads what it writes
        if target:
            o.values["dim_vocabs"] = (str(max(int(target), 0)),)
    elif sources or target:
        count = max(len(o.values.get("vocabularies", ())) - 1, 1)
        numbers = [max(int(number), 0) for number in (*(sources or (0,) * count), target)]
        if any(numbers):
            o.values["dim_vocabs"] = tuple(map(str, numbers))
    if not any(o.numbers("dim_vocabs")):
        o.drop_default("dim_vocabs")
    _of_equal_files(o)
    _segmentations(o)
    factors = int(o.number("factors"))
    widths = o.values.get("dim_factors", ())
    if o.take("factors") is not None and widths and factors != len(widths):
        raise UsageError(f"--factors {factors}: --dim_per_factor has {len(widths)} widths")


def _of_equal_files(o: OptionValues) -> None:
    """Marian's numbers of words: those that lack are 0, and a file named twice has one number."""
    files, numbers = o.values.get("vocabularies", ()), o.numbers("dim_vocabs")
    if o.program != "marian" or not files or not numbers or len(numbers) > len(files):
        return
    limits = dict.fromkeys(files, 0)
    for file, number in zip(files, map(int, numbers), strict=False):
        limits[file] = max(limits[file], number)
    o.values["dim_vocabs"] = tuple(str(limits[file]) for file in files)


def _segmentations(o: OptionValues) -> None:
    """Marian's probabilities of other segmentations, by which training text is varied."""
    varied = any(o.numbers("sentencepiece_alphas"))
    alphas = o.take("sentencepiece_alphas")
    if not varied:
        return
    if any(path.endswith(".spm") for path in o.values.get("vocabularies", ())):
        raise UsageError(
            f"--sentencepiece-alphas {' '.join(alphas)} cannot be honoured: text is encoded once, "
            "every sentence in its best segmentation"
        )
    o.note("--sentencepiece-alphas", "no vocabulary is a .spm")


def _dropout(o: OptionValues) -> None:
    """Nematus' rates are in force with --use_dropout; the last TensorFlow version has no switch."""
    used = o.take("use_dropout")
    rates = ("dropout_embedding", "dropout_hidden", "dropout_source", "dropout_target")
    if used and o.program == "nematus-tf":
        for name in rates[:2]:
            if not o.is_given(name):
                o.values[name] = "0.2"
    elif o.program in _THEANO and not used:
        for name in rates:
            if o.is_given(name):
                o.note(f"--{name}", "there is no dropout without --use_dropout")
            o.take(name)


def _optimizer(o: OptionValues) -> None:
    name = o.values.get("optimizer")
    theano = o.program in _THEANO
    if name == "sgdmomentum":
        o.values |= {"optimizer": "sgd", "optimizer_params": ("0.9",)}
    if theano and name in ("adadelta", "rmsprop"):
        if o.is_given("learn_rate"):
            o.note("--lrate", f"{name} of Nematus and DL4MT has a rate of its own")
        params = _RMSPROP if name == "rmsprop" else ("0.95", "1e-6")
        rate = "1e-4" if name == "rmsprop" else "1"
        o.values |= {"optimizer_params": params, "learn_rate": rate}
    betas = [o.take(f"adam_{one}") for one in ("beta1", "beta2", "epsilon")]
    given = any(o.is_given(f"adam_{one}") for one in ("beta1", "beta2", "epsilon"))
    if given and o.values.get("optimizer", "adam") == "adam":
        defaults = ("0.9", "0.999", "1e-8")
        o.values["optimizer_params"] = tuple(
            beta or default for beta, default in zip(betas, defaults, strict=True)
        )
    if o.program and o.number("clip_norm") < 0:
        o.values["clip_norm"] = "0"


def _smoothing(o: OptionValues) -> None:
    """--moving-average of Marian before 1.2, whose factor is that of the earlier weights."""
    decay = o.number("moving_decay") or 0.999
    o.take("moving_decay")
    if o.take("moving_average"):
        o.values["exponential_smoothing"] = f"{1 - decay:.12g}"


def _rate(o: OptionValues) -> None:
    """Nematus' schedules in Marian's words, and Marian's decay where there is one."""
    schedule = o.take("learning_schedule") or ""
    plateau = int(o.number("plateau_steps"))
    o.take("plateau_steps")
    warmup = o.values.get("lr_warmup")
    if schedule == "constant" or (schedule and warmup is None):
        if o.is_given("lr_warmup") or o.is_given("plateau_steps"):
            raise UsageError("--warmup_steps and --plateau_steps are not of --learning_schedule "
                             "constant")  # fmt: skip
        o.take("lr_warmup")
    elif schedule:
        steps = int(o.number("lr_warmup"))
        if schedule == "transformer":
            if o.is_given("learn_rate") or o.is_given("plateau_steps"):
                raise UsageError("--learning_schedule transformer: --state_size and --warmup_steps "
                                 "make the rate")  # fmt: skip
            width = int(o.number("dim_rnn")) or 1000
            o.values["learn_rate"] = repr((width * steps) ** -0.5)
        o.values["lr_decay_inv_sqrt"] = str(steps + plateau)
    if not o.number("lr_decay"):
        for name in ("lr_decay_strategy", "lr_decay_start", "lr_decay_freq"):
            o.drop_default(name)
    elif o.program == "marian":
        strategy, start = str(o.values.get("lr_decay_strategy")), o.values["lr_decay_start"]
        if strategy != "batches":
            if o.is_given("lr_decay_freq"):
                o.note("--lr-decay-freq", "it belongs to --lr-decay-strategy batches")
            o.take("lr_decay_freq")
        if "+" not in strategy and len(start) > 1:
            if o.is_given("lr_decay_start"):
                o.note("--lr-decay-start", "its second number is for a second strategy")
            o.values["lr_decay_start"] = start[:1]
        elif "+" in strategy and len(start) == 1:
            o.values["lr_decay_start"] = (*start, "1")


def _layer_normalization(o: OptionValues) -> None:
    """Each program's form, where layer normalisation is asked for."""
    kind = o.take("layer_normalization_type")
    if not o.values.get("layer_normalization"):
        return
    if kind == "rmsnorm":
        o.values["normalization_form"] = "rms"
    elif o.program == "marian" and o.values.get("type", "amun") != "nematus":
        o.values["normalization_form"] = "marian"


def _marians_type(o: OptionValues) -> None:
    """Raise UsageError for options that Marian's type amun does not have, as Marian does."""
    kind = o.values.get("type", "amun")
    if kind != "amun":
        return
    plain = {
        "enc_depth": "1", "enc_cell_depth": "1", "dec_depth": "1", "dec_cell_base_depth": "2",
        "dec_cell_high_depth": "1", "enc_cell": "gru", "dec_cell": "gru",
    }  # fmt: skip
    for name, value in plain.items():
        if str(o.values.get(name, value)) != value:
            flag = name.replace("_", "-")
            raise UsageError(f"--type amun does not support --{flag} {o.values[name]}; use "
                             "--type s2s")  # fmt: skip


def extra_defaults(program: str) -> dict[str, Any]:
    """Settings of a program's trainer that it has no option for."""
    if program == "marian":
        return {"init": "glorot"}
    if program in ("nematus", "nematus-tf", "dl4mt"):
        return {
            "init": "nematus", "valid_metrics": ("cross-entropy",), "normalize": "0",
            "cost_type": "ce-mean",
        }  # fmt: skip
    return {}

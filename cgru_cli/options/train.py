"""The options of `cgru train`: what is trained by `ModelOptions`, how it is trained here."""

from __future__ import annotations

from dataclasses import dataclass

from .flags import device_option, option, threads_option
from .model import ModelOptions


@dataclass(frozen=True)
class TrainOptions(ModelOptions):
    """`cgru train [DATA] -m MODEL`."""

    mini_batch: int = option(
        80, "sentence pairs of a batch", "--mini-batch", kind=int, metavar="N", unit="sentences",
        aliases=("--batch_size",),
    )  # fmt: skip
    mini_batch_words: int = option(
        0, "batches by words instead: pairs times the longest side", "--mini-batch-words",
        kind=int, metavar="N", unit="words", aliases=("--token_batch_size",),
    )  # fmt: skip
    mini_batch_fit: bool = option(
        False, "batches by what fits into --workspace instead", "--mini-batch-fit", kind=bool
    )
    workspace: int = option(
        2048, "memory for a batch with --mini-batch-fit, beside model and optimizer",
        "-w", "--workspace", kind=int, metavar="MB", unit="MiB",
    )  # fmt: skip
    maxi_batch: int = option(
        100, "mini-batches' worth of pairs that are sorted by length together", "--maxi-batch",
        kind=int, metavar="N", aliases=("--maxibatch_size",),
    )  # fmt: skip
    maxi_batch_sort: str = option(
        "trg", "what they are sorted by", "--maxi-batch-sort", choices=("trg", "src", "none")
    )
    max_length: int = option(
        100, "longer pairs are left out", "--max-length", kind=int, metavar="N", unit="words",
        aliases=("--maxlen",),
    )  # fmt: skip
    max_length_crop: bool = option(
        False, "longer pairs are cut instead", "--max-length-crop", kind=bool
    )
    no_shuffle: bool = option(
        False, "take the pairs in the order of the corpus", "--no-shuffle", kind=bool,
        aliases=("--no_shuffle",),
    )  # fmt: skip
    seed: int = option(1, "of everything that is random", "--seed", kind=int, metavar="N")

    cost_type: str = option(
        "ce-mean", "cross-entropy averaged over sentences (Nematus) or words", "--cost-type",
        choices=("ce-mean", "ce-mean-words"),
    )  # fmt: skip
    objective: str = option(
        "ce", "what is minimised: cross-entropy, or the expected risk of sampled translations "
        "(minimum risk training)", "--objective", choices=("ce", "mrt", "CE", "MRT"),
        aliases=("--loss",),
    )  # fmt: skip
    mrt_samples: int = option(
        100, "translations that are sampled of each source", "--mrt-samples", kind=int,
        metavar="N", aliases=("--mrt_samples", "--samplesN"),
    )  # fmt: skip
    mrt_alpha: float = option(
        0.005, "sharpness of the distribution over the samples", "--mrt-alpha", kind=float,
        metavar="A", aliases=("--mrt_alpha",),
    )  # fmt: skip
    mrt_loss: str = option(
        "bleu", "the risk of a translation is 1 less this, by sentence", "--mrt-loss",
        choices=("bleu", "chrf", "SENTENCEBLEU n=4"), aliases=("--mrt_loss",),
    )  # fmt: skip
    mrt_reference: bool = option(
        False, "the reference is one of the samples", "--mrt-reference", kind=bool,
        aliases=("--mrt_reference",),
    )  # fmt: skip
    mrt_ml_mix: float = option(
        0.0, "times the reference's cross-entropy a word, added to the risk", "--mrt-ml-mix",
        kind=float, metavar="X", aliases=("--mrt_ml_mix",),
    )  # fmt: skip
    label_smoothing: float = option(
        0.0, "share of the probability that all words get", "--label-smoothing", kind=float,
        metavar="P", aliases=("--label_smoothing",),
    )  # fmt: skip
    guided_alignment: tuple[str, ...] = option(
        (), "word alignments of the training text, `0-0 1-2` (source-target) a line, to guide the "
        "attention; a file for each pair of --train-sets, or none", "--guided-alignment",
        metavar="FILE...", many=True,
    )  # fmt: skip
    guided_alignment_cost: str = option(
        "ce", "what attention costs elsewhere: cross-entropy, squared error, or -log of what is "
        "on the aligned words", "--guided-alignment-cost", choices=("ce", "mse", "mult"),
    )  # fmt: skip
    guided_alignment_weight: float = option(
        0.1, "of that cost, beside the words' own", "--guided-alignment-weight", kind=float,
        metavar="W",
    )  # fmt: skip
    data_weighting: tuple[str, ...] = option(
        (), "weights that multiply the costs of sentences or words, a line for each of the "
        "training text; a file for each pair of --train-sets", "--data-weighting",
        metavar="FILE...", many=True,
    )  # fmt: skip
    data_weighting_type: str = option(
        "sentence", "what they are of: one a sentence, or one for each target word and, if given, "
        "EOS", "--data-weighting-type", choices=("sentence", "word"),
    )  # fmt: skip
    domain_weights: tuple[float, ...] = option(
        (), "weights of whole files, one for each pair of --train-sets; 0 leaves a pair out",
        "--domain-weights", kind=float, metavar="W...", many=True,
    )  # fmt: skip
    decay_c: float = option(
        0.0, "L2 regularisation: times the sum of squares, added to the cost", "--decay-c",
        kind=float, metavar="C", aliases=("--decay_c",),
    )  # fmt: skip
    map_decay_c: float = option(
        0.0, "MAP-L2 regularisation: times the sum of squares of the differences from "
        "--prior-model, added to the cost", "--map-decay-c", kind=float, metavar="C",
        aliases=("--map_decay_c",),
    )  # fmt: skip
    optimizer: str = option(
        "adam", "how the gradient is followed", "-o", "--optimizer",
        choices=("adam", "adamw", "sgd", "adagrad", "adadelta", "rmsprop"),
    )  # fmt: skip
    optimizer_params: tuple[float, ...] = option(
        (), "of adam: beta1 beta2 epsilon (0.9 0.999 1e-8); sgd: momentum; rmsprop: decay",
        "--optimizer-params", kind=float, metavar="X...", many=True,
    )  # fmt: skip
    optimizer_delay: int = option(
        1, "batches whose gradients are added up for one update", "--optimizer-delay", kind=int,
        metavar="N", aliases=("--gradient_aggregation_steps",),
    )  # fmt: skip
    learn_rate: float = option(
        1e-4, "learning rate", "-l", "--learn-rate", kind=float, metavar="R",
        aliases=("--learning_rate", "--lrate"),
    )  # fmt: skip
    lr_warmup: str = option(
        "0", "the rate grows in a straight line for so long", "--lr-warmup", metavar="N[u|e|t]",
        aliases=("--warmup_steps",),
    )  # fmt: skip
    lr_warmup_start_rate: float = option(
        0.0, "from this rate", "--lr-warmup-start-rate", kind=float, metavar="R"
    )
    lr_decay_inv_sqrt: str = option(
        "0", "the rate falls with the inverse square root of progress, from here on",
        "--lr-decay-inv-sqrt", metavar="N[u|e|t]",
    )  # fmt: skip
    lr_decay: float = option(
        0.0, "the rate is multiplied by this; 0 for never", "--lr-decay", kind=float, metavar="F"
    )
    lr_decay_strategy: str = option(
        "stalled", "when it is: at every epoch, after updates, or when validation stalls",
        "--lr-decay-strategy", choices=("epoch", "batches", "stalled"),
    )  # fmt: skip
    lr_decay_start: int = option(
        1, "first epoch, update or number of stalled validations", "--lr-decay-start", kind=int,
        metavar="N",
    )  # fmt: skip
    lr_decay_freq: int = option(
        1, "epochs or updates between decays; 1 of updates is exponential decay",
        "--lr-decay-freq", kind=int, metavar="N",
    )  # fmt: skip
    clip_norm: float = option(
        1.0, "longest gradient, over all parameters; 0: not clipped", "--clip-norm", kind=float,
        metavar="X", aliases=("--clip_c",),
    )  # fmt: skip
    exponential_smoothing: float = option(
        0.0, "weights are averaged over updates, this being the share of the newest",
        "--exponential-smoothing", kind=float, metavar="A", implied=1e-4,
        aliases=("--exponential_smoothing",),
    )  # fmt: skip
    dropout_embedding: float = option(
        0.0, "dropout of what reads an embedding", "--dropout-embedding", kind=float,
        metavar="P", aliases=("--rnn_dropout_embedding", "--dropout_embedding"),
    )  # fmt: skip
    dropout_hidden: float = option(
        0.0, "dropout of what reads a state, an annotation or a context (Marian's dropout-rnn)",
        "--dropout-hidden", kind=float, metavar="P",
        aliases=("--rnn_dropout_hidden", "--dropout_hidden", "--dropout-rnn"),
    )  # fmt: skip
    dropout_source: float = option(
        0.0, "dropout of whole source words", "--dropout-source", kind=float, metavar="P",
        aliases=("--rnn_dropout_source", "--dropout_source", "--dropout-src"),
    )  # fmt: skip
    dropout_target: float = option(
        0.0, "dropout of whole target words", "--dropout-target", kind=float, metavar="P",
        aliases=("--rnn_dropout_target", "--dropout_target", "--dropout-trg"),
    )  # fmt: skip
    dropout_annotation: float = option(
        0.0, "dropout of the annotations, for all that reads them", "--dropout-annotation",
        kind=float, metavar="P",
    )  # fmt: skip
    dropout_output: float | None = option(
        None, "dropout of the readout; that of embeddings if not given, as Nematus",
        "--dropout-output", kind=float, metavar="P",
    )  # fmt: skip
    max_nan: int = option(
        10, "updates in a row whose cost or gradient is not finite, before training stops",
        "--max-nan", kind=int, metavar="N",
    )  # fmt: skip

    after: str = option(
        "0", "end after so many updates, epochs, minutes or words; several by commas", "--after",
        metavar="N[u|e|m|t]", aliases=("--finish_after",),
    )  # fmt: skip
    after_epochs: int = option(
        0, "end after so many epochs", "--after-epochs", "-e", kind=int, metavar="N",
        aliases=("--max_epochs",),
    )  # fmt: skip
    valid_sets: tuple[str, ...] = option(
        (), "source and target text to validate on; dev of DATA if not given", "--valid-sets",
        metavar="SRC TRG", many=True, aliases=("--valid_datasets",),
    )  # fmt: skip
    valid_source_dataset: str | None = option(
        None, "Nematus' way to name the source of --valid-sets", "--valid-source-dataset",
        metavar="FILE", aliases=("--valid_source_dataset",),
    )  # fmt: skip
    valid_target_dataset: str | None = option(
        None, "Nematus' way to name the target of --valid-sets", "--valid-target-dataset",
        metavar="FILE", aliases=("--valid_target_dataset",),
    )  # fmt: skip
    valid_reference: str | None = option(
        None, "raw references for BLEU and chrF; the target of --valid-sets if not given",
        "--valid-reference", metavar="FILE",
    )  # fmt: skip
    valid_metrics: tuple[str, ...] = option(
        (), "cross-entropy, ce-mean-words, perplexity, bleu, chrf, translation (the script); "
        "cross-entropy and bleu if none is given", "--valid-metrics", metavar="METRIC...",
        many=True,
    )  # fmt: skip
    valid_freq: str = option(
        "1e", "validate so often", "--valid-freq", metavar="N[u|e|m|t]", aliases=("--valid_freq",)
    )
    valid_mini_batch: int = option(
        64, "sentences of a batch in validation", "--valid-mini-batch", kind=int, metavar="N",
        aliases=("--valid_batch_size",),
    )  # fmt: skip
    valid_script: str | None = option(
        None, "program that is given a file of translations and prints a score; its words are "
        "split as a shell does, no shell runs", "--valid-script-path", metavar="COMMAND",
        aliases=("--valid_script", "--external_validation_script"),
    )  # fmt: skip
    valid_translation_output: str | None = option(
        None, "keep the translations of the validation set; {E} and {U} are epoch and update",
        "--valid-translation-output", metavar="FILE",
    )  # fmt: skip
    beam_size: int = option(
        5, "beam of validation, and what the model says its beam is", "-b", "--beam-size",
        kind=int, metavar="K", aliases=("--beam_size",),
    )  # fmt: skip
    normalize: float = option(
        1.0, "length normalisation, of validation and of the model", "-n", "--normalize",
        kind=float, metavar="ALPHA", implied=1.0, aliases=("--normalization_alpha",),
    )  # fmt: skip
    early_stopping: int = option(
        10, "validations without a new best before training ends; 0 for never",
        "--early-stopping", kind=int, metavar="N", aliases=("--patience",),
    )  # fmt: skip
    early_stopping_on: str = option(
        "first", "which metrics have to stall", "--early-stopping-on",
        choices=("first", "any", "all"),
    )  # fmt: skip
    save_freq: str = option(
        "1e", "save so often", "--save-freq", metavar="N[u|e|m|t]", aliases=("--save_freq",)
    )
    keep: int = option(
        0, "saved models of earlier updates that are kept", "--keep", kind=int, metavar="N"
    )
    overwrite: bool = option(
        False, "Marian's name for what is done in any case: each save takes the place of the last",
        "--overwrite", kind=bool,
    )  # fmt: skip
    keep_best: bool = option(
        False, "Marian's name for what is done in any case: the best model by each metric is kept",
        "--keep-best", kind=bool,
    )  # fmt: skip
    disp_freq: str = option(
        "1000u", "a line of log so often", "--disp-freq", metavar="N[u|e|m|t]",
        aliases=("--disp_freq", "--dispFreq"),
    )  # fmt: skip
    disp_first: int = option(
        0, "and for each of the first updates", "--disp-first", kind=int, metavar="N"
    )
    log_gradients: bool = option(
        False, "with each of these lines, and at the beginning, record norms of the gradient for "
        "programs: of each parameter, and at each step of the states", "--log-gradients",
        kind=bool,
    )  # fmt: skip
    log: str | None = option(None, "log file; MODEL.log if not given", "--log", metavar="FILE")
    tensorboard: bool = option(
        False, "write TensorBoard's files too, to MODEL.tensorboard (extra cgru[tensorboard])",
        "--tensorboard", kind=bool,
    )  # fmt: skip
    plot: bool = option(
        False, "draw learning curves, MODEL.png and MODEL.svg, at every validation (extra "
        "cgru[plot])", "--plot", kind=bool,
    )  # fmt: skip
    quiet: bool = option(False, "nothing on standard error but errors", "--quiet", kind=bool)

    device: str | None = device_option()
    devices: tuple[str, ...] = option(
        (), "train on several together: numbers of GPUs, or cpu:0 cpu:1 ... to try it out without; "
        "all GPUs if neither this nor --device is given", "-d", "--devices", metavar="N...",
        many=True,
    )  # fmt: skip
    num_devices: int = option(
        0, "train on the first so many GPUs together", "--num-devices", kind=int, metavar="N"
    )
    sync_sgd: bool = option(
        False, "Marian's name for what is done in any case: devices make one update together",
        "--sync-sgd", kind=bool,
    )  # fmt: skip
    cpu_threads: int | None = threads_option()
    precision: str = option(
        "float32", "of the products; weights, states and softmax stay float32", "--precision",
        choices=("float32", "bfloat16", "float16"),
    )  # fmt: skip
    jit: str = option(
        "auto", "compile the step with XLA; auto: never on CPUs, measured on GPUs", "--jit",
        choices=("auto", "on", "off"),
    )  # fmt: skip

    @property
    def together(self) -> tuple[str, ...]:
        """The devices that are named one by one, or counted."""
        return self.devices or tuple(str(number) for number in range(self.num_devices))

    @property
    def minimizes_risk(self) -> bool:
        """Whether training is for minimum risk."""
        return self.objective in ("mrt", "MRT")

    @property
    def alignments(self) -> tuple[str, ...]:
        """The files of --guided-alignment; Marian says `none` where there are none."""
        return () if self.guided_alignment == ("none",) else self.guided_alignment


# Options of Nematus' and Marian's trainers that are known and cannot be honoured.
REFUSED_BY_TRAIN = {
    "--reload": "the same command goes on by itself; --pretrained-model begins from another model",
    "--skip": "levels have residual connections, unless --no-skip",
    "--fp16": "use --precision float16",
    "--tempdir": "batches are drawn from a file in the folder of the model",
    "--sqlite": "batches are drawn from a file in the folder of the model",
    "--no-restore-corpus": "the position in the data is part of the run",
    "--use_dropout": "dropout is on where it has a rate: --dropout-embedding, --dropout-hidden",
    "--rnn_use_dropout": "dropout is on where it has a rate: --dropout-embedding, --dropout-hidden",
    "--no_sort_by_length": "use --maxi-batch-sort none",
    "--learning_schedule": "use --lr-warmup, --lr-decay-inv-sqrt and --lr-decay",
    "--adam_beta1": "use --optimizer-params BETA1 BETA2 EPSILON",
    "--adam_beta2": "use --optimizer-params BETA1 BETA2 EPSILON",
    "--adam_epsilon": "use --optimizer-params BETA1 BETA2 EPSILON",
    "--source_vocab_sizes": "use --dim-vocabs, one number a vocabulary, source before target",
    "--target_vocab_size": "use --dim-vocabs, one number a vocabulary, source before target",
    "--loss_function": "cross-entropy is the objective in this version",
    "--summary_dir": "use --tensorboard, which writes beside the model",
}

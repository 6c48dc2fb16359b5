"""The options of `cgru train` for batches, objective, optimiser, learning rate and dropout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from .flags import Options, options_of
from .kinds import one_frequency

batch_option = options_of("Batches")
objective_option = options_of("Objective")
risk_option = options_of("Minimum risk training")
optimiser_option = options_of("Optimiser")
rate_option = options_of("Learning rate")
dropout_option = options_of("Dropout")

DecayStrategy = Literal["epoch", "batches", "stalled", "epoch+batches", "epoch+stalled"]

_LEVELS = ("--quantize-bits",)
_MRT = ("--objective mrt",)
_PROBABILITY = {"kind": float, "metavar": "P", "least": 0, "below": 1}


@dataclass(frozen=True)
class OptimizationOptions(Options):
    """The second part of `TrainOptions`."""

    mini_batch: int = batch_option(
        80, "sentence pairs in a mini-batch", "--mini-batch", kind=int, metavar="N", least=1,
        most=1_000_000, aliases=("--batch_size",),
    )  # fmt: skip
    mini_batch_words: int = batch_option(
        0, "size of mini-batches in words (number of pairs times the longest side) instead of "
        "sentence pairs; 0: in sentence pairs", "--mini-batch-words", kind=int, metavar="N",
        least=0, most=100_000_000, aliases=("--token_batch_size",),
    )  # fmt: skip
    mini_batch_fit: bool = batch_option(
        False, "make mini-batches as large as fits into --workspace", "--mini-batch-fit",
        kind=bool, excludes=("--mini-batch-words",),
    )  # fmt: skip
    workspace: int = batch_option(
        2048, "memory for a mini-batch with --mini-batch-fit, beside model and optimiser",
        "-w", "--workspace", kind=int, metavar="MB", unit="MiB", least=1, most=16_777_216,
    )  # fmt: skip
    maxi_batch: int = batch_option(
        100, "number of mini-batches to read and sort by length together", "--maxi-batch", kind=int,
        metavar="N", least=1, most=1_000_000, aliases=("--maxibatch_size",),
    )  # fmt: skip
    maxi_batch_sort: Literal["trg", "src", "none"] = batch_option(
        "trg", "side by whose length the sentence pairs of a maxi-batch are sorted",
        "--maxi-batch-sort", choices=("trg", "src", "none"),
    )  # fmt: skip
    max_length: int = batch_option(
        100, "leave out sentence pairs with a longer side", "--max-length", kind=int, metavar="N",
        unit="words", least=1, most=1_000_000, aliases=("--maxlen",),
    )  # fmt: skip
    max_length_crop: bool = batch_option(
        False, "cut sentences longer than --max-length instead of leaving the pair out",
        "--max-length-crop", kind=bool,
    )  # fmt: skip
    no_shuffle: bool = batch_option(
        False, "take sentence pairs in the order of the text", "--no-shuffle", kind=bool,
        aliases=("--no_shuffle",),
    )  # fmt: skip

    objective: str = objective_option(
        "ce", "objective to minimise: cross-entropy (ce), or the expected risk of sampled "
        "translations (mrt, minimum risk training)", "--objective", choices=("ce", "mrt"),
        aliases=("--loss",),
    )  # fmt: skip
    cost_type: str = objective_option(
        "ce-mean", "how costs of a mini-batch are averaged: over sentences (ce-mean, as Nematus) "
        "or over words (ce-mean-words)", "--cost-type", choices=("ce-mean", "ce-mean-words"),
    )  # fmt: skip
    label_smoothing: float = objective_option(
        0.0, "label smoothing of the cross-entropy: probability spread evenly over the vocabulary",
        "--label-smoothing", **_PROBABILITY, aliases=("--label_smoothing",),
    )  # fmt: skip
    guided_alignment: tuple[str, ...] = objective_option(
        (), "guide the attention by word alignments of the training text, written `0-0 1-2` "
        "(source-target) a line; a file for each pair of --train-sets, or none",
        "--guided-alignment", metavar="FILE...", many=True, path="file",
    )  # fmt: skip
    guided_alignment_cost: Literal["ce", "mse", "mult"] = objective_option(
        "ce", "cost of the attention, compared with --guided-alignment: cross-entropy (ce), mean "
        "squared error (mse), or -log of the attention on aligned words (mult)",
        "--guided-alignment-cost", choices=("ce", "mse", "mult"), needs=("--guided-alignment",),
    )  # fmt: skip
    guided_alignment_weight: float = objective_option(
        0.1, "weight of the cost of attention, added to the cost of words",
        "--guided-alignment-weight", kind=float, metavar="W", least=0, most=1_000_000,
        needs=("--guided-alignment",),
    )  # fmt: skip
    data_weighting: tuple[str, ...] = objective_option(
        (), "weights by which the costs of sentences or words are multiplied, a line for each line "
        "of the training text; a file for each pair of --train-sets", "--data-weighting",
        metavar="FILE...", many=True, excludes=_MRT, path="file",
    )  # fmt: skip
    data_weighting_type: str = objective_option(
        "sentence", "whether --data-weighting holds one weight a sentence or one a target word "
        "(and, if given, one for the end of the sentence)", "--data-weighting-type",
        choices=("sentence", "word"), needs=("--data-weighting",),
    )  # fmt: skip
    domain_weights: tuple[float, ...] = objective_option(
        (), "weight of each pair of --train-sets, by which its costs are multiplied; 0 leaves the "
        "pair out", "--domain-weights", kind=float, metavar="W...", many=True, least=0,
        most=1_000_000, excludes=_MRT,
    )  # fmt: skip

    mrt_samples: int = risk_option(
        100, "number of sampled translations of each source sentence", "--mrt-samples", kind=int,
        metavar="N", least=1, most=100_000, needs=_MRT, aliases=("--mrt_samples", "--samplesN"),
    )  # fmt: skip
    mrt_alpha: float = risk_option(
        0.005, "sharpness of the distribution over the samples: the exponent of their "
        "probabilities", "--mrt-alpha", kind=float, metavar="A", least=0, most=1000, needs=_MRT,
        aliases=("--mrt_alpha",),
    )  # fmt: skip
    mrt_loss: str = risk_option(
        "bleu", "sentence metric; the risk of a translation is 1 minus its score",
        "--mrt-loss", choices=("bleu", "chrf", "SENTENCEBLEU n=4"), needs=_MRT,
        aliases=("--mrt_loss",),
    )  # fmt: skip
    mrt_reference: bool = risk_option(
        False, "add the reference translation to the samples", "--mrt-reference", kind=bool,
        needs=_MRT, aliases=("--mrt_reference",),
    )  # fmt: skip
    mrt_ml_mix: float = risk_option(
        0.0, "weight of the reference's cross-entropy a word, which is added to the risk",
        "--mrt-ml-mix", kind=float, metavar="X", least=0, most=1_000_000, needs=_MRT,
        aliases=("--mrt_ml_mix",),
    )  # fmt: skip

    optimizer: str = optimiser_option(
        "adam", "optimisation algorithm", "-o", "--optimizer",
        choices=("adam", "adamw", "sgd", "adagrad", "adadelta", "rmsprop"),
    )  # fmt: skip
    optimizer_params: tuple[float, ...] = optimiser_option(
        (), "parameters of the algorithm: beta1 beta2 epsilon of adam (0.9 0.999 1e-8), and weight "
        "decay of adamw (0.004); momentum of sgd; initial accumulator and epsilon of adagrad; rho "
        "and epsilon of adadelta; rho, momentum, epsilon of rmsprop, "
        "and 1 for the centred one", "--optimizer-params",
        kind=float, metavar="X...", many=True, least=0, most=1000,
    )  # fmt: skip
    optimizer_delay: int = optimiser_option(
        1, "mini-batches whose gradients are added up for one update", "--optimizer-delay",
        kind=int, metavar="N", least=1, most=1_000_000,
    )  # fmt: skip
    clip_norm: float = optimiser_option(
        1.0, "scale gradients down to this norm, over all parameters; 0: no clipping",
        "--clip-norm", kind=float, metavar="X", least=0, most=1e9, aliases=("--clip_c",),
    )  # fmt: skip
    exponential_smoothing: float = optimiser_option(
        0.0, "validate and save an exponential moving average of the weights, in which the newest "
        "ones have the factor A; 0: no average", "--exponential-smoothing", kind=float,
        metavar="A", implied=1e-4, least=0, below=1, aliases=("--exponential_smoothing",),
    )  # fmt: skip
    decay_c: float = optimiser_option(
        0.0, "L2 regularisation: weight of the sum of squares of all parameters, added to the "
        "objective", "--decay-c", kind=float, metavar="C", least=0, most=1_000_000,
        aliases=("--decay_c",),
    )  # fmt: skip
    map_decay_c: float = optimiser_option(
        0.0, "MAP-L2 regularisation: weight of the sum of squared differences from the parameters "
        "of --prior-model, added to the objective", "--map-decay-c", kind=float, metavar="C",
        least=0, most=1_000_000, needs=("--prior-model",), aliases=("--map_decay_c",),
    )  # fmt: skip
    quantize_bits: int = optimiser_option(
        0, "quantise matrices: round their weights to the levels of N bits after every update, and "
        "add the rounding error back before the next rounding (--exponential-smoothing averages "
        "the weights before they are rounded); 0: no quantisation", "--quantize-bits", kind=int,
        metavar="N", least=0, most=24,
    )  # fmt: skip
    quantize_optimization_steps: int = optimiser_option(
        0, "fit the scale of each quantised matrix by least squares in N steps; 0: its largest "
        "weight is the scale", "--quantize-optimization-steps", kind=int, metavar="N",
        least=0, most=1000, needs=_LEVELS,
    )  # fmt: skip
    quantize_log_based: bool = optimiser_option(
        False, "space the levels logarithmically, each half of the next larger one, instead of "
        "evenly", "--quantize-log-based", kind=bool, needs=_LEVELS,
    )  # fmt: skip
    quantize_biases: bool = optimiser_option(
        False, "also quantise biases and gains of normalisation", "--quantize-biases",
        kind=bool, needs=_LEVELS,
    )  # fmt: skip
    max_nan: int = optimiser_option(
        10, "end training after N updates in a row whose cost or gradient is not finite",
        "--max-nan", kind=int, metavar="N", least=1, most=10**9,
    )  # fmt: skip

    learn_rate: float = rate_option(
        1e-4, "learning rate; 0 leaves the weights as they are, to validate a model only",
        "-l", "--learn-rate", kind=float, metavar="R", least=0, most=1000,
        aliases=("--learning_rate", "--lrate"),
    )  # fmt: skip
    lr_warmup: str = rate_option(
        "0", "warm-up: let the learning rate grow linearly for N updates (u), epochs (e) or target "
        "words (t)", "--lr-warmup", kind=one_frequency, metavar="N[u|e|t]",
        aliases=("--warmup_steps",),
    )  # fmt: skip
    lr_warmup_start_rate: float = rate_option(
        0.0, "learning rate at which the warm-up starts", "--lr-warmup-start-rate", kind=float,
        metavar="R", least=0, most=1000, needs=("--lr-warmup",),
    )  # fmt: skip
    lr_decay_inv_sqrt: str = rate_option(
        "0", "decay the learning rate by sqrt(N / progress) once progress exceeds N updates (u), "
        "epochs (e) or target words (t); 0: no decay", "--lr-decay-inv-sqrt", kind=one_frequency,
        metavar="N[u|e|t]",
    )  # fmt: skip
    lr_decay_inv_sqrt_start: str | None = rate_option(
        None, "progress at which --lr-decay-inv-sqrt begins, if not at N (Marian's second value of "
        "that option)", "--lr-decay-inv-sqrt-start", kind=one_frequency, metavar="N[u|e|t]",
        needs=("--lr-decay-inv-sqrt",),
    )  # fmt: skip
    lr_report: bool = rate_option(
        False, "show the learning rate in the log also with --compat marian (else always shown)",
        "--lr-report", kind=bool,
    )  # fmt: skip
    lr_decay: float = rate_option(
        0.0, "factor by which the learning rate is multiplied when it decays; 0: no decay",
        "--lr-decay", kind=float, metavar="F", least=0, most=10,
    )  # fmt: skip
    lr_decay_strategy: DecayStrategy = rate_option(
        "stalled", "when the learning rate decays: by epochs, by updates (batches), or when "
        "validation has not improved (stalled); with epoch+batches and epoch+stalled, at every "
        "epoch once either has come", "--lr-decay-strategy",
        choices=get_args(DecayStrategy), needs=("--lr-decay",),
    )  # fmt: skip
    lr_decay_start: tuple[int, ...] = rate_option(
        (1,), "epoch, update or number of validations without improvement of the first decay; two "
        "numbers for two strategies", "--lr-decay-start", kind=int,
        metavar="N...", many=True, least=1, most=10**9, needs=("--lr-decay",),
    )  # fmt: skip
    lr_decay_freq: int = rate_option(
        1, "epochs or updates between two decays", "--lr-decay-freq", kind=int, metavar="N",
        least=1, most=10**9, needs=("--lr-decay",),
    )  # fmt: skip

    dropout_embedding: float = dropout_option(
        0.0, "dropout probability of embeddings where a layer reads them", "--dropout-embedding",
        **_PROBABILITY, aliases=("--rnn_dropout_embedding", "--dropout_embedding"),
    )  # fmt: skip
    dropout_hidden: float = dropout_option(
        0.0, "dropout probability of states, annotations and contexts where a layer reads them "
        "(Marian's dropout-rnn)", "--dropout-hidden", **_PROBABILITY,
        aliases=("--rnn_dropout_hidden", "--dropout_hidden", "--dropout-rnn"),
    )  # fmt: skip
    dropout_source: float = dropout_option(
        0.0, "dropout probability of whole source words", "--dropout-source", **_PROBABILITY,
        aliases=("--rnn_dropout_source", "--dropout_source", "--dropout-src"),
    )  # fmt: skip
    dropout_target: float = dropout_option(
        0.0, "dropout probability of whole target words", "--dropout-target", **_PROBABILITY,
        aliases=("--rnn_dropout_target", "--dropout_target", "--dropout-trg"),
    )  # fmt: skip
    dropout_annotation: float = dropout_option(
        0.0, "dropout probability of the encoder's annotations, the same for all layers that read "
        "them", "--dropout-annotation", **_PROBABILITY,
    )  # fmt: skip
    dropout_output: float | None = dropout_option(
        None, "dropout probability of the layer before the output layer; --dropout-embedding if "
        "not given, as Nematus", "--dropout-output", **_PROBABILITY,
    )  # fmt: skip

    @property
    def minimizes_risk(self) -> bool:
        """Whether training is for minimum risk."""
        return self.objective.lower() == "mrt"

    @property
    def alignments(self) -> tuple[str, ...]:
        """The files of --guided-alignment; Marian says `none` where there are none."""
        return () if self.guided_alignment == ("none",) else self.guided_alignment

"""The options of `cgru train` for objective, optimiser, learning rate and dropout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from .batches import BatchOptions
from .declaration import choice, frequency, number, options_of, probability, whole

objective_option = options_of("Objective")
risk_option = options_of("Minimum risk training", needs="--objective mrt")
teaching_option = options_of("Objective", needs="--objective distill")
optimiser_option = options_of("Optimiser")
quantizing_option = options_of("Optimiser", needs="--quantize-bits")
rate_option = options_of("Learning rate")
warmup_option = options_of("Learning rate", needs="--lr-warmup")
decay_option = options_of("Learning rate", needs="--lr-decay")
dropout_option = options_of("Dropout")

DecayStrategy = Literal["epoch", "batches", "stalled", "epoch+batches", "epoch+stalled"]

_MRT = "--objective mrt"


@dataclass(frozen=True)
class OptimizationOptions(BatchOptions):
    """The third part of `TrainOptions`."""

    objective: str = objective_option(
        "--objective (--loss): objective to minimise: cross-entropy (ce), the expected risk of "
        "sampled translations (mrt, minimum risk training), or the cross-entropy with the words "
        "of a --teacher (distill, word-level distillation)",
        choice("ce", "mrt", "distill", default="ce"),
    )
    cost_type: str = objective_option(
        "--cost-type: how costs of a mini-batch are averaged: over sentences (ce-mean, as "
        "Nematus), over words (ce-mean-words), or not at all (ce-sum, as Marian without "
        "--normalize-gradient)",
        choice("ce-mean", "ce-mean-words", "ce-sum", default="ce-mean"),
    )
    label_smoothing: float = objective_option(
        "--label-smoothing P: label smoothing of the cross-entropy: probability spread evenly "
        "over the vocabulary",
        probability(0.0, by_data="0.1 for models that translate"),
    )
    guided_alignment: tuple[str, ...] = objective_option(
        "--guided-alignment FILE...: guide the attention by word alignments of the training "
        "text, one line `0-0 1-2` (source-target) per pair; a file for each pair of --train-sets, "
        "or none"
    )
    guided_alignment_cost: Literal["ce", "mse", "mult"] = objective_option(
        "--guided-alignment-cost: cost of the attention given the alignments of "
        "--guided-alignment: "
        "cross-entropy (ce), mean squared error (mse), or -log of the attention on aligned words "
        "(mult)",
        choice("ce", "mse", "mult", default="ce"),
        needs="--guided-alignment",
    )
    guided_alignment_weight: float = objective_option(
        "--guided-alignment-weight W: weight of the cost of attention, added to the cost of words",
        number(0, 1_000_000, default=0.1),
        needs="--guided-alignment",
    )
    data_weighting: tuple[str, ...] = objective_option(
        "--data-weighting FILE...: weights of the costs of sentences or words, "
        "a line for each line of the training text; a file for each pair of "
        "--train-sets",
        excludes=_MRT,
    )
    data_weighting_type: str = objective_option(
        "--data-weighting-type: whether --data-weighting holds one weight per sentence or one per "
        "target word (and, if given, one for the end of the sentence)",
        choice("sentence", "word", default="sentence"),
        needs="--data-weighting",
    )
    domain_weights: tuple[float, ...] = objective_option(
        "--domain-weights W...: weight of the costs of each pair of --train-sets; 0 leaves the "
        "pair out",
        number(0, 1_000_000),
        excludes=_MRT,
    )

    teacher: str | None = teaching_option(
        "--teacher FILE.npy: the most probable words of a larger model at each word of the "
        "training text, from cgru score --word-top-k; the text must be one pair of files",
        excludes="--right-left, --max-length-crop, --all-caps-every, --english-title-case-every, "
        "--typos-every, --no-full-stop-every, --join-every, --copy",
    )
    teacher_weight: float = teaching_option(
        "--teacher-weight W: weight of the teacher's words; the words of the text have the weight "
        "1 - W",
        number(0, 1, default=0.5),
    )

    mrt_samples: int = risk_option(
        "--mrt-samples N (--samplesN): number of sampled translations of each source sentence",
        whole(1, 100_000, default=100),
    )
    mrt_alpha: float = risk_option(
        "--mrt-alpha A: sharpness of the distribution over the samples: the exponent of their "
        "probabilities",
        number(0, 1000, default=0.005),
    )
    mrt_loss: str = risk_option(
        "--mrt-loss: sentence metric; the risk of a translation is 1 minus its score",
        choice("bleu", "chrf", "SENTENCEBLEU n=4", default="bleu"),
    )
    mrt_reference: bool = risk_option(
        "--mrt-reference: add the reference translation to the samples"
    )
    mrt_ml_mix: float = risk_option(
        "--mrt-ml-mix X: weight of the reference's cross-entropy per word, added to the risk",
        number(0, 1_000_000, default=0.0),
    )

    optimizer: str = optimiser_option(
        "-o --optimizer: optimisation algorithm",
        choice("adam", "adamw", "sgd", "adagrad", "adadelta", "rmsprop", default="adam"),
    )
    optimizer_params: tuple[float, ...] = optimiser_option(
        "--optimizer-params X...: parameters of the algorithm: beta1 beta2 epsilon of adam (0.9 "
        "0.999 1e-8), and weight decay of adamw (0.004); momentum of sgd; initial accumulator "
        "and epsilon of adagrad; rho and epsilon of adadelta; rho, momentum, epsilon of rmsprop, "
        "and 1 for the centred one",
        number(0, 1000),
    )
    optimizer_delay: int = optimiser_option(
        "--optimizer-delay N: mini-batches whose gradients are added up for one update",
        whole(1, 1_000_000, default=1),
    )
    clip_norm: float = optimiser_option(
        "--clip-norm X (--clip_c): maximum norm of the gradient of all parameters, to which "
        "larger gradients are scaled down; 0: no clipping",
        number(0, 1e9, default=1.0),
    )
    exponential_smoothing: float = optimiser_option(
        "--exponential-smoothing A: validate and save an exponential moving average of the "
        "weights, in which the newest weights have the factor A; 0: no average",
        number(0, below=1, default=0.0, implied=1e-4, by_data="0.001"),
    )
    decay_c: float = optimiser_option(
        "--decay-c C: L2 regularisation: weight of the sum of squares of all parameters, added "
        "to the objective",
        number(0, 1_000_000, default=0.0),
    )
    map_decay_c: float = optimiser_option(
        "--map-decay-c C: MAP-L2 regularisation: weight of the sum of squared differences from "
        "the parameters of --prior-model, added to the objective",
        number(0, 1_000_000, default=0.0),
        needs="--prior-model",
    )
    quantize_bits: int = optimiser_option(
        "--quantize-bits N: quantise matrices: round their weights to the levels of N bits after "
        "every update, and add the rounding error back before the next one "
        "(--exponential-smoothing averages the unrounded weights); 0: no "
        "quantisation",
        whole(0, 24, default=0),
    )
    quantize_optimization_steps: int = quantizing_option(
        "--quantize-optimization-steps N: fit the scale of each quantised matrix by least "
        "squares in N steps; 0: its largest weight is the scale",
        whole(0, 1000, default=0),
    )
    quantize_log_based: bool = quantizing_option(
        "--quantize-log-based: space the levels logarithmically, each half of the next larger "
        "one, instead of evenly"
    )
    quantize_biases: bool = quantizing_option(
        "--quantize-biases: also quantise biases and gains of normalisation"
    )
    max_nan: int = optimiser_option(
        "--max-nan N: end training after N consecutive updates whose cost or gradient is not "
        "finite",
        whole(1, 10**9, default=10),
    )

    learn_rate: float = rate_option(
        "-l --learn-rate R (--learning_rate --lrate): learning rate; 0 leaves the weights "
        "unchanged, to validate a model",
        number(0, 1000, default=1e-4, by_data="0.0003 to 0.002 for adam, less for large states"),
    )
    lr_words_ref: int = rate_option(
        "--lr-words-ref N: make the learning rate of each update proportional to its target "
        "words; --learn-rate is the rate for N words; 0: the same rate for every update",
        whole(0, 100_000_000, default=0),
    )
    lr_warmup: str = rate_option(
        "--lr-warmup N[u|e|t] (--warmup_steps): warm-up: let the learning rate grow linearly for "
        "N updates (u), epochs (e) or target words (t)",
        frequency("0", by_data="half an epoch, 50 to 500 updates, for adam"),
    )
    lr_warmup_start_rate: float = warmup_option(
        "--lr-warmup-start-rate R: learning rate at which the warm-up starts",
        number(0, 1000, default=0.0),
    )
    lr_warmup_cycle: bool = warmup_option(
        "--lr-warmup-cycle: repeat the warm-up whenever it has ended"
    )
    lr_warmup_at_reload: bool = warmup_option(
        "--lr-warmup-at-reload: repeat the warm-up after the first update of a run that resumes"
    )
    lr_decay_inv_sqrt: str = rate_option(
        "--lr-decay-inv-sqrt N[u|e|t]: decay the learning rate by sqrt(N / progress) once "
        "progress exceeds N updates (u), epochs (e) or target words (t); 0: no decay",
        frequency("0"),
    )
    lr_decay_inv_sqrt_start: str | None = rate_option(
        "--lr-decay-inv-sqrt-start N[u|e|t]: progress at which --lr-decay-inv-sqrt begins; its "
        "own N if not given (the second value of Marian's option)",
        frequency(None),
        needs="--lr-decay-inv-sqrt",
    )
    lr_report: bool = rate_option(
        "--lr-report: show the learning rate in the log with --compat marian, too (otherwise it "
        "is always shown)"
    )
    lr_decay: float = rate_option(
        "--lr-decay F: factor by which the learning rate is multiplied when it decays; 0: no decay",
        number(0, 10, default=0.0),
    )
    lr_decay_strategy: DecayStrategy = decay_option(
        "--lr-decay-strategy WHEN: when the learning rate decays: by epochs, by updates (batches), "
        "or when validation has not improved (stalled); with epoch+batches and epoch+stalled, at "
        "every epoch once either condition is met",
        choice(*get_args(DecayStrategy), default="stalled"),
    )
    lr_decay_start: tuple[int, ...] = decay_option(
        "--lr-decay-start N...: epoch, update or number of validations without improvement at "
        "which the first decay happens; two numbers for two strategies",
        whole(1, 10**9, default=(1,)),
    )
    lr_decay_freq: int = decay_option(
        "--lr-decay-freq N: epochs or updates between decays",
        whole(1, 10**9, default=1),
    )
    lr_decay_repeat_warmup: bool = rate_option(
        "--lr-decay-repeat-warmup: repeat the warm-up when the learning rate decays",
        needs="--lr-decay and --lr-warmup",
    )
    lr_decay_reset_optimizer: bool = decay_option(
        "--lr-decay-reset-optimizer: reset the optimiser's averages when the learning rate decays"
    )

    dropout_embedding: float = dropout_option(
        "--dropout-embedding P (--rnn_dropout_embedding): dropout probability of embeddings "
        "where a layer reads them",
        probability(0.0, by_data="0.3 to 0 unless other dropout is given"),
    )
    dropout_hidden: float = dropout_option(
        "--dropout-hidden P (--rnn_dropout_hidden --dropout-rnn): dropout probability of states, "
        "annotations and contexts where a layer reads them (Marian's dropout-rnn)",
        probability(0.0),
    )
    dropout_source: float = dropout_option(
        "--dropout-source P (--rnn_dropout_source --dropout-src): dropout probability of whole "
        "source words",
        probability(0.0),
    )
    dropout_target: float = dropout_option(
        "--dropout-target P (--rnn_dropout_target --dropout-trg): dropout probability of whole "
        "target words",
        probability(0.0),
    )
    dropout_annotation: float = dropout_option(
        "--dropout-annotation P: dropout probability of the encoder's annotations, with the same "
        "mask for all layers that read them",
        probability(0.0, by_data="0.3 to 0 unless other dropout is given"),
    )
    dropout_output: float | None = dropout_option(
        "--dropout-output P: dropout probability of the layer before the output layer",
        probability(None, by_data="0.4 to 0, or --dropout-embedding if other dropout is given"),
    )

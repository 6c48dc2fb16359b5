"""The options of `cgru train` for batches, objective, optimiser, learning rate and dropout."""

from __future__ import annotations

from dataclasses import dataclass

from ..text.copying import pattern
from .declaration import Group
from .kinds import COPIED, steady_frequency
from .options import Options
from .scope import Scope

VARIANTS = Group("Batches", applies_to=Scope.PLAIN)
ORDER = Group("Batches", applies_to=Scope.RUN)
OBJECTIVE = Group("Objective")
RISK = Group("Minimum risk training", needs="--objective mrt")
TEACHING = Group("Objective", needs="--objective distill")
OPTIMISER = Group("Optimiser")
RATE = Group("Learning rate")
DROPOUT = Group("Dropout")
# one of these alone turns off the default dropout
_DROPOUT = """
    --dropout-embedding --dropout-annotation --dropout-output --dropout-hidden --dropout-source
    --dropout-target""".split()


@dataclass(frozen=True)
class OptimizationOptions(Options):
    """The second part of `TrainOptions`."""

    mini_batch: int = ORDER.whole(1, 1_000_000, default=80)("""
        --mini-batch N (--batch_size): sentence pairs in a mini-batch""")
    mini_batch_words: int = ORDER.whole(
        0,
        100_000_000,
        default=0,
        by_data="1,000 to 4,000 unless --mini-batch is given",
        unless=("--mini-batch", "--mini-batch-fit"),
    )("""
        --mini-batch-words N (--token_batch_size): size of mini-batches in words (number of pairs
        times the longest side; with --compat marian, source words without padding) instead of
        sentence pairs; 0: in sentence pairs""")
    maxi_batch: int = ORDER.whole(1, 1_000_000, default=100)("""
        --maxi-batch N (--maxibatch_size): number of mini-batches to read and sort by length
        together""")
    max_length: int = ORDER.whole(1, 1_000_000, default=100)("""
        --max-length N (--maxlen): leave out sentence pairs with a longer side (words)""")
    all_caps_every: int = VARIANTS.whole(0, 10**9, default=0)("""
        --all-caps-every N: train on every Nth sentence pair in upper case; 0: never""")
    typos_every: int = VARIANTS.whole(0, 10**9, default=0, applies_to=Scope.SOURCE)("""
        --typos-every N: train on every Nth source sentence with mistyped letters; 0: never""")
    no_full_stop_every: int = VARIANTS.whole(0, 10**9, default=0)("""
        --no-full-stop-every N: train on every Nth sentence pair without full stops at the end; 0:
        never""")
    join_every: int = VARIANTS.whole(0, 10**9, default=0)("""
        --join-every N: join every Nth sentence pair with the one to three pairs before it, to form
        lines of several sentences; 0: never""")
    copy: tuple[str, ...] = VARIANTS.values(
        pattern, excludes="--data-weighting-type word", applies_to=Scope.SOURCE
    )(f"""
        --copy PATTERN...: {COPIED}; placeholders replace spans that occur on both sides of a
        training pair; the vocabularies must have them (cgru prep --copy adds them, and replaces the
        spans itself)""")

    objective: str = OBJECTIVE.choice(
        "ce", "mrt", "distill", default="ce", applies_to=Scope.DECODER
    )("""
        --objective (--loss): objective to minimise: cross-entropy (ce), the expected risk of
        sampled translations (mrt, minimum risk training), or the cross-entropy with the words of a
        --teacher (distill, word-level distillation)""")
    label_smoothing: float = OBJECTIVE.probability(0.0, by_data="0.1 for models that translate")("""
        --label-smoothing P: label smoothing of the cross-entropy: probability spread evenly over
        the vocabulary""")
    guided_alignment: tuple[str, ...] = OBJECTIVE.values(
        excludes="--objective mrt", applies_to=Scope.DECODER | Scope.MACHINE
    )("""
        --guided-alignment FILE...: guide the attention by word alignments of the training text, one
        line `0-0 1-2` (source-target) per pair; a file for each pair of --train-sets, or none""")
    data_weighting: tuple[str, ...] = OBJECTIVE.values(
        excludes="--objective mrt", applies_to=Scope.MACHINE
    )("""
        --data-weighting FILE...: weights of the costs of sentences or words, a line for each line
        of the training text; a file for each pair of --train-sets""")
    domain_weights: tuple[float, ...] = OBJECTIVE.number(
        0, 1_000_000, excludes="--objective mrt"
    )("""
        --domain-weights W...: weight of the costs of each pair of --train-sets; 0 leaves the pair
        out""")

    teacher: str | None = TEACHING.values(
        excludes="""
        --max-length-crop --all-caps-every --english-title-case-every --typos-every
        --no-full-stop-every --join-every --copy""".split(),
        applies_to=Scope.MACHINE,
    )("""
        --teacher FILE.npy: file from cgru score --word-top-k with the most probable words of a
        larger model at each word of the training text; the text must be one pair of files""")
    teacher_weight: float = TEACHING.number(0, 1, default=0.5)("""
        --teacher-weight W: weight of the teacher's words; the reference gets 1 - W""")

    mrt_samples: int = RISK.whole(1, 100_000, default=100)("""
        --mrt-samples N (--samplesN): number of sampled translations of each source sentence""")

    optimizer: str = OPTIMISER.choice(
        "adam",
        "adamw",
        "sgd",
        "adagrad",
        "adadelta",
        "rmsprop",
        default="adam",
        applies_to=Scope.RUN,
    )("""
        -o --optimizer: optimisation algorithm""")
    optimizer_params: tuple[float, ...] = OPTIMISER.number(0, 1000, applies_to=Scope.RUN)("""
        --optimizer-params X...: parameters of the algorithm: beta1 beta2 epsilon of adam (0.9 0.999
        1e-8), and weight decay of adamw (0.004); momentum of sgd; initial accumulator and epsilon
        of adagrad; rho and epsilon of adadelta; rho, momentum, epsilon of rmsprop, and 1 for its
        centred form""")
    optimizer_delay: int = OPTIMISER.whole(1, 1_000_000, default=1, applies_to=Scope.RUN)("""
        --optimizer-delay N: number of mini-batches whose gradients are summed for one update""")
    clip_norm: float = OPTIMISER.number(0, 1e9, default=1.0)("""
        --clip-norm X (--clip_c): maximum norm of the gradient of all parameters; larger gradients
        are scaled down to this norm; 0: no clipping""")
    exponential_smoothing: float = OPTIMISER.number(
        0, below=1, default=0.0, implied=1e-4, by_data="0.001"
    )("""
        --exponential-smoothing A: validate and save an exponential moving average of the weights;
        the newest weights have the factor A; 0: no average""")
    decay_c: float = OPTIMISER.number(0, 1_000_000, default=0.0)("""
        --decay-c C: L2 regularisation: weight of the sum of squares of all parameters, added to the
        objective""")
    map_decay_c: float = OPTIMISER.number(0, 1_000_000, default=0.0, needs="--prior-model")("""
        --map-decay-c C: MAP-L2 regularisation: weight of the sum of squared differences from the
        parameters of --prior-model, added to the objective""")
    max_nan: int = OPTIMISER.whole(1, 10**9, default=10)("""
        --max-nan N: end training after N consecutive updates whose cost or gradient is not
        finite""")

    learn_rate: float = RATE.number(
        0, 1000, default=1e-4, by_data="0.003 for adam, 0.0003 for states above 512"
    )("""
        -l --learn-rate R (--learning_rate --lrate): learning rate; 0 leaves the weights unchanged,
        to validate a model""")
    lr_warmup: str = RATE.values(
        steady_frequency, default="0", by_data="half an epoch, 50 to 300 updates, for adam"
    )("""
        --lr-warmup N[u|e|t] (--warmup_steps): warm-up: increase the learning rate linearly for N
        updates (u), epochs (e) or target words (t)""")
    lr_decay_inv_sqrt: str = RATE.values(
        steady_frequency,
        default="0",
        by_data="4000u for adam unless --learn-rate or another decay is given",
        unless=("--learn-rate", "--lr-decay", "--lr-decay-to-end"),
    )("""
        --lr-decay-inv-sqrt N[u|e|t]: decay the learning rate by sqrt(N / progress) once progress
        exceeds N updates (u), epochs (e) or target words (t); 0: no decay""")
    lr_decay_to_end: str = RATE.choice(
        "off", "linear", "cosine", "late", default="off", needs="--after or --after-epochs"
    )("""
        --lr-decay-to-end: decrease the learning rate to 0 at the end set by --after or
        --after-epochs: from the first update, linearly (linear) or along a cosine (cosine), or
        linearly over the last fifth of the training (late)""")
    lr_decay: float = RATE.number(0, 10, default=0.0)("""
        --lr-decay F: factor of each decay of the learning rate; 0: no decay""")

    dropout_embedding: float = DROPOUT.probability(
        0.0, by_data="0.3 to 0 unless other dropout is given", unless=_DROPOUT
    )("""
        --dropout-embedding P (--rnn_dropout_embedding): dropout probability of embeddings where a
        layer reads them""")
    dropout_hidden: float = DROPOUT.probability(0.0)("""
        --dropout-hidden P (--rnn_dropout_hidden --dropout-rnn): dropout probability of states,
        annotations and contexts where a layer reads them; with --compat marian, of all inputs of
        recurrent cells and the attention, also embeddings, and of no others""")
    dropout_source: float = DROPOUT.probability(0.0, applies_to=Scope.SOURCE)("""
        --dropout-source P (--rnn_dropout_source --dropout-src): dropout probability of whole source
        words""")
    dropout_target: float = DROPOUT.probability(0.0, applies_to=Scope.DECODER | Scope.FEEDBACK)("""
        --dropout-target P (--rnn_dropout_target --dropout-trg): dropout probability of whole target
        words""")
    dropout_annotation: float = DROPOUT.probability(
        0.0,
        by_data="0.3 to 0 unless other dropout is given",
        unless=_DROPOUT,
        applies_to=Scope.SOURCE | Scope.ANNOTATIONS,
    )("""
        --dropout-annotation P: dropout probability of the encoder's annotations, with one mask for
        all layers that read them""")
    dropout_output: float | None = DROPOUT.probability(
        None, by_data="0.4 to 0, or --dropout-embedding if other dropout is given", unless=_DROPOUT
    )("""
        --dropout-output P: dropout probability of the layer before the output layer""")

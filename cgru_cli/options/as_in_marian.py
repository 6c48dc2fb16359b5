"""Options of `cgru train` that only scripts of Marian and Nematus need, with or without --compat.

`cgru train --help-all` lists them, and docs/options-as-in-marian.md; --help does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from . import kinds
from .configured import ConfiguredOptions
from .declaration import Group, same
from .flags import AS_IN_MARIAN
from .kinds import divergence, one_command, steady_frequency
from .options import Options
from .scope import Scope

MARIAN = Group(AS_IN_MARIAN)
HERE = Group(AS_IN_MARIAN, applies_to=Scope.MACHINE)
RUN = Group(AS_IN_MARIAN, applies_to=Scope.RUN)
DEV_TEXT = Group(AS_IN_MARIAN, applies_to=Scope.VALIDATION)
DEV_FILES = Group(AS_IN_MARIAN, applies_to=Scope.VALIDATION | Scope.MACHINE)
RISK = Group(AS_IN_MARIAN, needs="--objective mrt")
QUANTISING = Group(AS_IN_MARIAN, needs="--quantize-bits", applies_to=Scope.RUN)
WARMUP = Group(AS_IN_MARIAN, needs="--lr-warmup")
DECAY = Group(AS_IN_MARIAN, needs="--lr-decay")
_REPEATING = "--lr-decay-strategy epoch or --lr-decay-strategy batches"

SortedBy = Literal["trg", "src", "none"]
GuideCost = Literal["ce", "mse", "mult"]
DecayStrategy = Literal["epoch", "batches", "stalled", "epoch+batches", "epoch+stalled"]
Stalled = Literal["first", "any", "all"]


@dataclass(frozen=True)
class MarianOptions(Options):
    """The last part of `TrainOptions`."""

    interpolate_env_vars: bool = same(ConfiguredOptions, "interpolate_env_vars", group=AS_IN_MARIAN)
    relative_paths: bool = same(ConfiguredOptions, "relative_paths", group=AS_IN_MARIAN)
    tsv: bool = MARIAN("""
        --tsv: read source and target, and alignments and weights if --guided-alignment and
        --data-weighting give their fields, from one file with tabs between the fields of a line
        (also of --valid-sets); `-t -` is standard input""")
    tsv_fields: int = MARIAN.whole(0, 16, default=0, needs="--tsv")("""
        --tsv-fields N: number of tab-separated fields of a line with --tsv; 0: as many as the other
        options need""")
    sentencepiece_options: str | None = MARIAN.values(str.strip)("""
        --sentencepiece-options '--NAME=VALUE ...': learn the .spm files of --vocabs that do not
        exist, with these options of SentencePiece's trainer (--compat marian always learns
        them)""")
    sentencepiece_max_lines: int = MARIAN.whole(1, 10**9, default=2_000_000)("""
        --sentencepiece-max-lines N: maximum number of lines to learn a .spm from""")
    no_spm_encode: bool = MARIAN("""
        --no-spm-encode: the texts are already in SentencePiece pieces; do not split them""")
    embedding_vectors: tuple[str, ...] = MARIAN.values(applies_to=Scope.SOURCE | Scope.MACHINE)("""
        --embedding-vectors SRC TRG: initialise source and target embeddings from these word vectors
        (word2vec's text format)""")

    data_weighting_type: str = MARIAN.choice(
        "sentence", "word", default="sentence", needs="--data-weighting"
    )("""
        --data-weighting-type: whether --data-weighting holds one weight per sentence or one per
        target word (and, if given, one for the end of the sentence)""")
    mini_batch_fit: bool = RUN.values(excludes="--mini-batch-words")("""
        --mini-batch-fit: make mini-batches as large as fits into --workspace""")
    workspace: int = MARIAN.whole(1, 16_777_216, default=2048, needs="--mini-batch-fit")("""
        -w --workspace MB: memory for a mini-batch with --mini-batch-fit, beside model and optimiser
        (MiB)""")
    mini_batch_warmup: str = MARIAN.values(steady_frequency, default="0")("""
        --mini-batch-warmup N[u|e|t]: increase mini-batches linearly for N updates (u) or epochs
        (e), or with the square root for N target words (t): each keeps a share of its sentence
        pairs, at least 256 target words, and leaves out the rest""")
    mini_batch_words_ref: int = MARIAN.whole(0, 100_000_000, default=0)("""
        --mini-batch-words-ref N: number of target words per update to which the learning rate of
        adam and --exponential-smoothing refer; both grow for updates with more target words; 0:
        both are the same for every update""")
    maxi_batch_sort: SortedBy = RUN.choice(*get_args(SortedBy), default="trg")("""
        --maxi-batch-sort: side whose length determines the order of the sentence pairs in a
        maxi-batch""")
    no_shuffle: bool = RUN("--no-shuffle: read sentence pairs in the order of the text")
    shuffle_batches: bool = RUN.values(needs="--no-shuffle")("""
        --shuffle-batches: shuffle the mini-batches of each maxi-batch even with --no-shuffle""")
    max_length_crop: bool = MARIAN.values(applies_to=Scope.UNTAGGED | Scope.RUN)("""
        --max-length-crop: cut sentences longer than --max-length instead of leaving the pair
        out""")
    english_title_case_every: int = MARIAN.whole(
        0, 10**9, default=0, applies_to=Scope.SOURCE | Scope.PLAIN
    )("""
        --english-title-case-every N: train on every Nth source sentence in English title case; 0:
        never""")

    cost_type: str = MARIAN.choice(
        "ce-mean", "ce-mean-words", "ce-sum", default="ce-mean", excludes="--objective mrt"
    )("""
        --cost-type: how costs of a mini-batch are averaged: over sentences (ce-mean, as in
        Nematus), over words (ce-mean-words), or not at all (ce-sum, as in Marian without
        --normalize-gradient)""")
    guided_alignment_cost: GuideCost = MARIAN.choice(
        *get_args(GuideCost), default="ce", needs="--guided-alignment"
    )("""
        --guided-alignment-cost: cost of the attention given the alignments of --guided-alignment:
        cross-entropy (ce), mean squared error (mse), or -log of the attention on aligned words
        (mult)""")
    guided_alignment_weight: float = MARIAN.number(
        0, 1_000_000, default=0.1, needs="--guided-alignment"
    )("""
        --guided-alignment-weight W: weight of the cost of attention, added to the cost of words""")
    mrt_alpha: float = RISK.number(0, 1000, default=0.005)("""
        --mrt-alpha A: sharpness of the distribution over the samples: the exponent of their
        probabilities""")
    mrt_loss: str = RISK.choice("bleu", "chrf", "SENTENCEBLEU n=4", default="bleu")("""
        --mrt-loss: sentence metric; the risk of a translation is 1 minus its score""")
    mrt_reference: bool = RISK("--mrt-reference: add the reference translation to the samples")
    mrt_ml_mix: float = RISK.number(0, 1_000_000, default=0.0)("""
        --mrt-ml-mix X: weight of the reference's cross-entropy per word, added to the risk""")

    quantize_bits: int = MARIAN.whole(0, 24, default=0, applies_to=Scope.RUN)("""
        --quantize-bits N: quantise matrices: round their weights to the levels of N bits after
        every update, and add the rounding error back before the next (--exponential-smoothing
        averages the unrounded weights); 0: no quantisation""")
    quantize_optimization_steps: int = QUANTISING.whole(0, 1000, default=0)("""
        --quantize-optimization-steps N: fit the scale of each quantised matrix by least squares in
        N steps; 0: its largest weight is the scale""")
    quantize_log_based: bool = QUANTISING("""
        --quantize-log-based: space the levels logarithmically, each half of the next larger one,
        instead of evenly""")
    quantize_biases: bool = QUANTISING("""
        --quantize-biases: also quantise biases and gains of normalisation""")

    lr_words_ref: int = MARIAN.whole(0, 100_000_000, default=0)("""
        --lr-words-ref N: make the learning rate of each update proportional to its target words;
        --learn-rate is the rate for N words; 0: the same rate for every update""")
    lr_warmup_start_rate: float = WARMUP.number(0, 1000, default=0.0)("""
        --lr-warmup-start-rate R: learning rate at which the warm-up starts""")
    lr_warmup_cycle: bool = WARMUP("--lr-warmup-cycle: repeat the warm-up whenever it has ended")
    lr_warmup_at_reload: bool = WARMUP("""
        --lr-warmup-at-reload: repeat the warm-up after the first update of a run that resumes""")
    lr_decay_inv_sqrt_start: str | None = MARIAN.values(
        steady_frequency, needs="--lr-decay-inv-sqrt"
    )("""
        --lr-decay-inv-sqrt-start N[u|e|t]: progress at which --lr-decay-inv-sqrt begins (in Marian,
        that option's second value); if not given, its N""")
    lr_report: bool = MARIAN.values(applies_to=Scope.MACHINE)("""
        --lr-report: show the learning rate in the log also with --compat marian (other logs always
        show it)""")
    lr_decay_strategy: DecayStrategy = DECAY.choice(*get_args(DecayStrategy), default="stalled")("""
        --lr-decay-strategy WHEN: when the learning rate decays: by epochs, by updates (batches), or
        when validation has not improved (stalled); with epoch+batches and epoch+stalled, at every
        epoch once either condition is met""")
    lr_decay_start: tuple[int, ...] = DECAY.whole(1, 10**9, default=(1,))("""
        --lr-decay-start N...: epoch, update or number of validations without improvement at which
        the first decay happens; two numbers for two strategies""")
    lr_decay_freq: int = DECAY.whole(1, 10**9, default=1, needs=("--lr-decay", _REPEATING))("""
        --lr-decay-freq N: epochs or updates between decays""")
    lr_decay_repeat_warmup: bool = MARIAN.values(needs=("--lr-decay", "--lr-warmup"))("""
        --lr-decay-repeat-warmup: repeat the warm-up when the learning rate decays""")
    lr_decay_reset_optimizer: bool = DECAY("""
        --lr-decay-reset-optimizer: reset the optimiser's averages when the learning rate decays""")

    valid_mini_batch: int = DEV_TEXT.whole(1, 1_000_000, default=64)("""
        --valid-mini-batch N (--valid_batch_size): sentences in a mini-batch of validation""")
    valid_max_length: int = DEV_TEXT.whole(1, 1_000_000, default=1000)("""
        --valid-max-length N: cut longer sentences of the validation text (words)""")
    valid_script: str | None = DEV_FILES.values(one_command)("""
        --valid-script-path COMMAND (--valid_script): program that prints a score (higher is better)
        or the output of sacreBLEU or multi-bleu.perl; the metric translation passes it a file of
        translations, valid-script the model in MODEL.dev.npz; the command is split into words as in
        a shell, but run without a shell""")
    valid_script_args: tuple[str, ...] = MARIAN.values(
        needs="--valid-script-path", applies_to=Scope.MACHINE
    )("""
        --valid-script-args ARGUMENT...: arguments of --valid-script-path, before the file of
        translations""")
    external_validation_script: str | None = DEV_FILES.values(one_command)("""
        --external-validation-script COMMAND: program to run after every validation, as in Nematus:
        without arguments, with the model in MODEL.dev.npz; its output goes to the log, and training
        continues when it ends, whatever its exit code""")
    suppress_unk: bool = MARIAN("""
        --suppress-unk: never produce the unknown word in translations of the validation text""")

    valid_translation_output: str | None = DEV_FILES("""
        --valid-translation-output FILE: file for translations of the validation text; {E} in its
        name stands for the epoch, {U} for the update""")
    after_epochs: int = MARIAN.whole(0, 10**9, default=0)("""
        --after-epochs -e N (--max_epochs): end after N epochs; 0: no limit""")
    logical_epoch: tuple[str, ...] = MARIAN.values(together=kinds.logical_epoch)("""
        --logical-epoch N[u|e|t] [DIGITS]: length of an epoch for --after, --after-epochs and the
        log: N passes through the text (e), updates (u) or target words (t), one pass if not given;
        DIGITS: decimals of the epoch's number in the log""")
    early_stopping_epsilon: tuple[float, ...] = MARIAN.number(0, 1e9, default=(0.0,))("""
        --early-stopping-epsilon X...: minimum gain that counts as an improvement of a metric: one
        number for all --valid-metrics, or one for each""")
    early_stopping_on: Stalled = MARIAN.choice(*get_args(Stalled), default="first")("""
        --early-stopping-on: which of --valid-metrics must stop improving: the first, any or all""")
    throw_on_divergence: tuple[float, ...] = MARIAN.number(0, 10**9, together=divergence)("""
        --throw-on-divergence N [M [X]]: end training when the mean cost of the last M updates
        exceeds that of the last N by X standard deviations; M and X are 10 and 5 if not given""")
    valid_reset_stalled: bool = MARIAN("""
        --valid-reset-stalled: when training resumes, restart the count of validations without
        improvement""")
    valid_reset_all: bool = MARIAN("""
        --valid-reset-all: when training resumes, also forget the best value of each metric""")

    no_restore_corpus: bool = MARIAN("""
        --no-restore-corpus: when training resumes, restart the current epoch instead of restoring
        the position in the text; the text and the options of mini-batches may change""")
    no_optimizer_reload: bool = MARIAN("""
        --no-optimizer-reload: when training resumes, continue with the weights of the saved model
        and a new optimiser""")
    disp_first: int = MARIAN.whole(0, 10**9, default=0)("""
        --disp-first N: also log each of the first N updates""")
    disp_label_counts: bool = MARIAN("""
        --disp-label-counts: log the number of target words or sentences over which the cost is
        averaged, and the target words of the last update and of all updates""")
    disp_translations: bool = MARIAN("""
        --disp-translations: log some translations of each validation that has a metric of
        translations: lines 0 to 4, 5, 10, 20, 40 and so on, counted from 0""")
    valid_log: str | None = HERE("""
        --valid-log FILE: also write the log lines of validation to this file""")
    num_devices: int = HERE.whole(0, 1024, default=0, excludes="--device")("""
        --num-devices N: train on the first N GPUs; 0: on those of --devices""")

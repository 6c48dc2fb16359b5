"""The options that all of Marian's programs share: general options, and options of the model.

Names, values and defaults follow version 1.12 (`marian --help`, `marian-decoder --help`,
`marian-scorer --help`) and earlier versions.
"""

from __future__ import annotations

import dataclasses

from .row import Alias, Checked, NoEffect, Option, Refused, Values
from .rows import negated, no_effect, one_of, refused, row, rows

TRANSFORMER = "a recurrent model has no transformer layers"
STREAMS = "an input has one sequence of words per line"
DEVICES = "--device selects the device; by default a GPU if there is one, else the CPU"
QUIET_LEVELS = ("warn", "err", "error", "critical", "off")


def log_level(values: tuple[str, ...]) -> Values | NoEffect:
    """Treat Marian's levels above `info` like --quiet."""
    if values[-1] in QUIET_LEVELS:
        return {"quiet": True}
    return NoEffect("all messages are always shown")


GENERAL = (
    *rows("-h --help, --version, -c --config FILE..., --log FILE, --quiet, --seed N = 0"),
    row("--log-level X = info", Option("quiet", log_level)),
    *rows("--interpolate-env-vars, --relative-paths, --dump-config [full]"),
    *refused("--authors, --cite, --build-info [basic]: it prints information about Marian itself"),
    *no_effect("""
        --log-time-zone X: logs have the local time of this machine
        --check-nan: costs and gradients are always checked"""),
)

# Marian's model types, then cgru's own.
TYPES = {name: name for name in "amun nematus s2s lm cgru rnnsearch encdec seq2seq".split()}
CELLS = {name: name for name in "gru lstm tanh relu sru ssru".split()} | {"gru-nematus": "gru"}
ENCODERS = {name: name for name in "bidirectional bi-unidirectional alternating".split()}


def _sequences(values: tuple[str, ...]) -> Refused | NoEffect:
    other = [value for value in values if value != "sequence"]
    return Refused(f"{other[0]}: {STREAMS}") if other else NoEffect("every input is a sequence")


# Edinburgh's deep RNN of WMT 2017 and its training.
BEST_DEEP = Alias("""
    --type s2s, --layer-normalization, --tied-embeddings, --enc-type alternating,
    --enc-cell-depth 2, --enc-depth 4, --dec-cell-base-depth 4, --dec-cell-high-depth 2,
    --dec-depth 4, --skip, --learn-rate 0.0003, --lr-decay-inv-sqrt 16000, --label-smoothing 0.1,
    --clip-norm 0, --exponential-smoothing 1e-4, --mini-batch-fit, --mini-batch 1000,
    --maxi-batch 1000, --sync-sgd, --cost-type ce-mean-words""")

# Options that describe the model: they define it in training, and are otherwise compared with it.
STRUCTURE = (
    row("--type X = amun", one_of("type", TYPES, "cgru has no such recurrent model")),
    row(
        "--dim-vocabs N... = 0 0",
        Option("dim_vocabs", lambda v: {"dim_vocabs": () if v == ("[]",) else v}),
    ),
    row("--enc-type X = bidirectional", one_of("enc_type", ENCODERS, "cgru has no such encoder")),
    row("--enc-cell X = gru", one_of("enc_cell", CELLS, "cgru has no such cell")),
    row("--dec-cell X = gru", one_of("dec_cell", CELLS, "cgru has no such cell")),
    *rows("""
        --dim-emb N = 512, --dim-rnn N = 1024, --enc-cell-depth N = 1, --enc-depth N = 1,
        --dec-cell-base-depth N = 2, --dec-cell-high-depth N = 1, --dec-depth N = 1,
        --layer-normalization, --right-left, --tied-embeddings, --tied-embeddings-src,
        --tied-embeddings-all"""),
    row("--skip", negated("no_skip")),
    row("--best-deep", BEST_DEEP),
)
COMPARED = [dataclasses.replace(one, meaning=Checked(one.name)) for one in STRUCTURE]

OTHER_MODELS = (
    row("--input-types X...", Option("input_types", _sequences)),
    row(
        "--alibi",
        Alias(
            "--transformer-attention-mask alibi, --transformer-alibi-shift, "
            "--transformer-disable-position-embeddings, --transformer-alibi-trainable"
        ),
    ),
    *no_effect("""
        --ignore-model-config: a model's arrays determine its structure
        --transformer-heads N = 8, --transformer-dim-ffn N = 2048,
        --transformer-decoder-dim-ffn N = 0, --transformer-ffn-depth N = 2,
        --transformer-decoder-ffn-depth N = 0, --transformer-ffn-activation X = swish,
        --transformer-dim-aan N = 2048, --transformer-aan-depth N = 2,
        --transformer-aan-activation X = swish, --transformer-decoder-autoreg X = self-attention,
        --transformer-guided-alignment-layer X = last, --transformer-preprocess X,
        --transformer-postprocess-emb X = d, --transformer-postprocess X = dan,
        --transformer-postprocess-top X, --transformer-attention-mask X = default,
        --separator-symbol X = [eos], --bert-mask-symbol X = [MASK], --bert-sep-symbol X = [SEP],
        --bert-class-symbol X = [CLS], --bert-masking-fraction X = 0.15,
        --bert-type-vocab-size N = 2, --comet-pool X = avg, --comet-mix-transformation X = softmax,
        --comet-dropout X = 0.1, --comet-mixup X = 0, --comet-augment-bad X = 0,
        --transformer-dim-pos N = 0 (earlier), --transformer-encoder-heads N = 0 (earlier),
        --transformer-decoder-heads N = 0 (earlier), --transformer-no-projection,
        --transformer-rnn-projection, --transformer-pool, --transformer-aan-nogate,
        --transformer-train-position-embeddings, --transformer-depth-scaling,
        --transformer-alibi-shift, --transformer-disable-position-embeddings,
        --transformer-alibi-trainable, --transformer-no-bias, --transformer-no-affine,
        --bert-train-type-embeddings = true, --comet-final-sigmoid, --comet-stop-grad, --comet-mix,
        --comet-mix-norm, --comet-mixup-reg, --comet-prepend-zero, --comet-use-separator,
        --transformer-learned-positions (earlier), --transformer-tied-layers N...,
        --comet-pooler-ffn N... = 2048 1024: a recurrent model has no transformer layers"""),
    *refused("""
        --input-reorder X..., --input-join-fields: an input has one sequence of words per line
        --factors-dim-emb N = 0, --factors-combine X = sum, --lemma-dependency X,
        --lemma-dim-emb N = 0:
        factored vocabularies (.fsv) are not read; factors of Nematus are, as `word|factor`
        --output-omit-bias: the output layer of these models has a bias
        --char-stride N = 5 (earlier), --char-highway N = 4 (earlier),
        --char-conv-filters-num N... = 200 200 250 250 300 300 300 300 (earlier),
        --char-conv-filters-widths N... = 1 2 3 4 5 6 7 8 (earlier):
        cgru has no character-level convolutional models (char-s2s)
        --dec-attention-heads N (earlier), --dec-attention-hops N (earlier),
        --dec-attention-lookup-dim N (earlier),
        --dec-attention-projection-dim N (earlier), --dec-high-context X = none (earlier):
        the decoder has one attention, that of the conditional GRU"""),
)


def device(values: tuple[str, ...]) -> Values | NoEffect:
    """The first of Marian's GPU numbers, because cgru's command uses one device."""
    if len(values) > 1 or values[-1] == "all":
        return NoEffect("only one device is used")
    if values[-1] == "0":
        return NoEffect(DEVICES)  # Marian's default, and the only GPU of most machines
    return {"device": f"gpu:{values[-1]}" if values[-1].isdigit() else values[-1]}


def cpu_threads(values: tuple[str, ...]) -> Values | NoEffect:
    """The number of parallel threads; 0 stands for a GPU."""
    return {"cpu_threads": values[-1]} if values[-1] != "0" else NoEffect(DEVICES)


def precision(values: tuple[str, ...]) -> Values:
    """The data type of matrix products: the first of Marian's values."""
    return {"precision": values[0]}

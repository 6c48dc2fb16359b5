"""Marian's options that all its programs have: general ones, and those of the model.

Spellings, values and defaults are those of version 1.12 (`marian --help`, `marian-decoder --help`,
`marian-scorer --help`); rows at the end of `OLDER` are of versions before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .rows import (
    Checked,
    Conversion,
    Meaning,
    NoEffect,
    Option,
    Refused,
    Row,
    Special,
    Takes,
    Values,
    boolean,
    converted,
    many,
    negated,
    no_effect,
    one,
    one_of,
    optional,
    refused,
)  # fmt: skip

TRANSFORMER = "a recurrent model has no transformer layers"
FACTORED = "factored vocabularies (.fsv) are not read; factors of Nematus are, as `word|factor`"
STREAMS = "an input is one sequence of words a line"
QUIET_LEVELS = ("warn", "err", "error", "critical", "off")


def log_level(values: tuple[str, ...]) -> Values | NoEffect:
    """Marian's levels above `info` leave out what --quiet leaves out."""
    if values[-1] in QUIET_LEVELS:
        return {"quiet": True}
    return NoEffect("all messages are always shown")


GENERAL = (
    boolean("-h --help", Special.HELP),
    boolean("--version", Special.VERSION),
    refused("--authors", Takes.BOOLEAN, False, "it describes Marian itself"),
    refused("--cite", Takes.BOOLEAN, False, "it describes Marian itself"),
    refused("--build-info", Takes.OPTIONAL, "", "it describes Marian itself", "basic"),
    many("-c --config", None, Special.CONFIG, paths=True),
    one("--log", "", "log", paths=True),
    one("--log-level", "info", converted("quiet", log_level)),
    no_effect("--log-time-zone", Takes.ONE, "", "times in logs are those of this machine"),
    boolean("--quiet", "quiet"),
    one("--seed", 0, "seed"),
    no_effect("--check-nan", Takes.BOOLEAN, False, "costs and gradients are always checked"),
    boolean("--interpolate-env-vars", Special.INTERPOLATE),
    boolean("--relative-paths", Special.RELATIVE),
    optional("--dump-config", "", "full", Special.DUMP_CONFIG),
    no_effect("--sigterm", Takes.ONE, "save-and-exit", "a signal ends a run cleanly in any case"),
)

TYPES = {
    "amun": "amun", "nematus": "nematus", "s2s": "s2s", "lm": "lm",
    # names of this package, in the same place
    "cgru": "cgru", "rnnsearch": "rnnsearch", "encdec": "encdec", "seq2seq": "seq2seq",
}  # fmt: skip
CELLS = {
    "gru": "gru", "gru-nematus": "gru", "lstm": "lstm", "tanh": "tanh", "relu": "relu",
}  # fmt: skip
ENCODERS = {name: name for name in ("bidirectional", "bi-unidirectional", "alternating")}


def _sequences(values: tuple[str, ...]) -> Values | Refused | NoEffect:
    other = [value for value in values if value != "sequence"]
    if other:
        return Refused(f"{other[0]}: {STREAMS}")
    return NoEffect("every input is a sequence")


def _numbers(field: str) -> Conversion:
    """Numbers, or `[]` for none."""

    def convert(values: tuple[str, ...]) -> Values:
        return {field: () if values == ("[]",) else values}

    return convert


def model_rows(*, training: bool) -> list[Row]:
    """Options that describe the model: set when training, otherwise compared with the model."""

    def meaning(name: str, trained: Meaning) -> Meaning:
        return trained if training else Checked(name)

    def shape(flag: str, takes: Callable[..., Row], default: Any, trained: Meaning) -> Row:
        return takes(f"--{flag}", default, meaning(flag, trained))

    rows = [
        shape("type", one, "amun", one_of("type", TYPES, "no such recurrent model is known here")),
        shape("dim-vocabs", many, (0, 0), converted("dim_vocabs", _numbers("dim_vocabs"))),
        shape("dim-emb", one, 512, Option("dim_emb")),
        shape("dim-rnn", one, 1024, Option("dim_rnn")),
        shape("enc-type", one, "bidirectional", one_of("enc_type", ENCODERS, "no such encoder")),
        shape("enc-cell", one, "gru", one_of("enc_cell", CELLS, "no such cell is known here")),
        shape("enc-cell-depth", one, 1, Option("enc_cell_depth")),
        shape("enc-depth", one, 1, Option("enc_depth")),
        shape("dec-cell", one, "gru", one_of("dec_cell", CELLS, "no such cell is known here")),
        shape("dec-cell-base-depth", one, 2, Option("dec_cell_base_depth")),
        shape("dec-cell-high-depth", one, 1, Option("dec_cell_high_depth")),
        shape("dec-depth", one, 1, Option("dec_depth")),
        boolean("--skip", meaning("skip", negated("no_skip"))),
        boolean("--layer-normalization", meaning("layer-normalization",
                                                 Option("layer_normalization"))),
        boolean("--right-left", meaning("right-left", Option("right_left"))),
        boolean("--tied-embeddings", meaning("tied-embeddings", Option("tied_embeddings"))),
        boolean("--tied-embeddings-src", meaning("tied-embeddings-src",
                                                 Option("tied_embeddings_src"))),
        boolean("--tied-embeddings-all", meaning("tied-embeddings-all",
                                                 Option("tied_embeddings_all"))),
        boolean("--best-deep", meaning("best-deep", Option("type", _best_deep, alias=True))),
        no_effect("--ignore-model-config", Takes.BOOLEAN, False,
                  "the arrays of a model tell its structure"),
        many("--input-types", (), converted("input_types", _sequences)),
        refused("--input-reorder", Takes.MANY, (), STREAMS),
        refused("--input-join-fields", Takes.BOOLEAN, False, STREAMS),
        refused("--factors-dim-emb", Takes.ONE, 0, FACTORED),
        refused("--factors-combine", Takes.ONE, "sum", FACTORED),
        refused("--lemma-dependency", Takes.ONE, "", FACTORED),
        refused("--lemma-dim-emb", Takes.ONE, 0, FACTORED),
        refused("--output-omit-bias", Takes.BOOLEAN, False,
                "the output layer of these models has a bias"),
        *OF_OTHER_MODELS,
    ]  # fmt: skip
    return rows


def _best_deep(values: tuple[str, ...]) -> Values:
    """Edinburgh's deep RNN of WMT 2017 and its training, as Marian's `--best-deep` has it."""
    if values[-1] != "true":
        return {}
    return {
        "type": "s2s", "layer_normalization": True, "tied_embeddings": True,
        "enc_type": "alternating", "enc_cell_depth": "2", "enc_depth": "4",
        "dec_cell_base_depth": "4", "dec_cell_high_depth": "2", "dec_depth": "4", "no_skip": False,
        "learn_rate": "0.0003", "disp_cost_type": "ce-mean-words", "lr_decay_inv_sqrt": "16000",
        "label_smoothing": "0.1", "clip_norm": "0", "exponential_smoothing": "1e-4",
        "mini_batch_fit": True, "mini_batch": "1000", "maxi_batch": "1000",
    }  # fmt: skip


def _of_transformer() -> list[Row]:
    """Options of the transformer, of BERT and of COMET, by their defaults."""
    ones = {
        "transformer-heads": 8, "transformer-dim-ffn": 2048, "transformer-decoder-dim-ffn": 0,
        "transformer-ffn-depth": 2, "transformer-decoder-ffn-depth": 0,
        "transformer-ffn-activation": "swish", "transformer-dim-aan": 2048,
        "transformer-aan-depth": 2, "transformer-aan-activation": "swish",
        "transformer-decoder-autoreg": "self-attention",
        "transformer-guided-alignment-layer": "last", "transformer-preprocess": "",
        "transformer-postprocess-emb": "d", "transformer-postprocess": "dan",
        "transformer-postprocess-top": "", "transformer-attention-mask": "default",
        "separator-symbol": "[eos]", "bert-mask-symbol": "[MASK]", "bert-sep-symbol": "[SEP]",
        "bert-class-symbol": "[CLS]", "bert-masking-fraction": 0.15, "bert-type-vocab-size": 2,
        "comet-pool": "avg", "comet-mix-transformation": "softmax", "comet-dropout": 0.1,
        "comet-mixup": 0, "comet-augment-bad": 0,
        # of versions before
        "transformer-dim-pos": 0, "transformer-encoder-heads": 0, "transformer-decoder-heads": 0,
    }  # fmt: skip
    switches = {
        "transformer-no-projection": False, "transformer-rnn-projection": False,
        "transformer-pool": False, "transformer-aan-nogate": False,
        "transformer-train-position-embeddings": False, "transformer-depth-scaling": False,
        "transformer-alibi-shift": False, "transformer-disable-position-embeddings": False,
        "transformer-alibi-trainable": False, "alibi": False, "transformer-no-bias": False,
        "transformer-no-affine": False, "bert-train-type-embeddings": True,
        "comet-final-sigmoid": False, "comet-stop-grad": False, "comet-mix": False,
        "comet-mix-norm": False, "comet-mixup-reg": False, "comet-prepend-zero": False,
        "comet-use-separator": False, "transformer-learned-positions": False,
    }  # fmt: skip
    rows = [refused(f"--{name}", Takes.ONE, value, TRANSFORMER) for name, value in ones.items()]
    rows += [
        refused(f"--{name}", Takes.BOOLEAN, value, TRANSFORMER) for name, value in switches.items()
    ]
    rows.append(refused("--transformer-tied-layers", Takes.MANY, (), TRANSFORMER))
    rows.append(refused("--comet-pooler-ffn", Takes.MANY, (2048, 1024), TRANSFORMER))
    return rows


def _of_earlier_versions() -> list[Row]:
    """Model options that Marian had once: convolutions over characters, other attentions."""
    characters = "models of characters by convolution (char-s2s) are not known here"
    attention = "the decoder has one attention, that of the conditional GRU"
    rows = [
        refused(f"--{name}", takes, default, characters)
        for name, takes, default in (
            ("char-stride", Takes.ONE, 5), ("char-highway", Takes.ONE, 4),
            ("char-conv-filters-num", Takes.MANY, (200, 200, 250, 250, 300, 300, 300, 300)),
            ("char-conv-filters-widths", Takes.MANY, (1, 2, 3, 4, 5, 6, 7, 8)),
        )
    ]  # fmt: skip
    for name in ("heads", "hops", "lookup-dim", "projection-dim"):
        rows.append(refused(f"--dec-attention-{name}", Takes.ONE, None, attention))
    rows.append(refused("--dec-high-context", Takes.ONE, "none", attention))
    return rows


OF_OTHER_MODELS = (*_of_transformer(), *_of_earlier_versions())
DEVICES = "--device chooses; a GPU if there is one, else the CPU"


def device(values: tuple[str, ...]) -> Values | NoEffect | Refused:
    """Marian's GPU numbers, of which a command that computes on one device takes the one."""
    if len(values) > 1 or values[-1] == "all":
        return NoEffect("one device computes")
    if values[-1] == "0":
        return NoEffect(DEVICES)  # Marian's default, and all there is on most machines
    return {"device": f"gpu:{values[-1]}" if values[-1].isdigit() else values[-1]}


def cpu_threads(values: tuple[str, ...]) -> Values | NoEffect:
    """Marian's threads work side by side; 0 is its word for a GPU."""
    return {"cpu_threads": values[-1]} if values[-1] != "0" else NoEffect(DEVICES)


def precision(values: tuple[str, ...]) -> Values:
    """The first says what the products are computed in."""
    return {"precision": values[0]}


INPUT_LENGTH = (
    one("--max-length", 1000, "max_length"),
    boolean("--max-length-crop", "max_length_crop"),
)
TSV = (boolean("--tsv", "tsv"), one("--tsv-fields --tsv-size", 0, "tsv_fields"))
ON_ONE_DEVICE = (
    many("-d --devices", (0,), converted("device", device)),
    one("--cpu-threads", 0, converted("cpu_threads", cpu_threads)),
    no_effect("--data-threads", Takes.ONE, 8, "one thread reads ahead"),
    no_effect("--num-devices", Takes.ONE, 0, DEVICES),
)
QUANTISATION = "no quantisation; --precision bfloat16 is the faster arithmetic"

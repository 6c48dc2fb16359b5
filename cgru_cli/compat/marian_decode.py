"""Marian's options of `marian-decoder` and `marian-scorer` (version 1.12 and older)."""

from __future__ import annotations

from .marian_general import (
    GENERAL,
    INPUT_LENGTH,
    ON_ONE_DEVICE,
    TSV,
    model_rows,
    precision,
)  # fmt: skip
from .rows import (
    Refused,
    Row,
    Takes,
    Values,
    boolean,
    converted,
    is_true,
    many,
    no_effect,
    one,
    optional,
    refused,
)  # fmt: skip

EVERY_WORD = "every word of the vocabulary can be produced"

QUANTISED = "use --precision int8, which quantises a float32 model at the start"


def _alignment(values: tuple[str, ...]) -> Values:
    """Marian's word for hard alignments is 1 as well."""
    return {"alignment": "hard" if values[-1] in ("1", "1.0") else values[-1]}


def _half(values: tuple[str, ...]) -> Values | Refused:
    if not is_true(values):
        return {}
    return Refused("products are float32, bfloat16 or int8, as --precision says")


def _precision(values: tuple[str, ...]) -> Values | Refused:
    if values[0] == "float16":
        return Refused("products are float32, bfloat16 or int8, as --precision says")
    return precision(values)


def _input(values: tuple[str, ...]) -> Values:
    return {"input": () if values == ("stdin",) else values}


def _output(values: tuple[str, ...]) -> Values:
    return {} if values[-1] == "stdout" else {"output": values[-1]}


def _cost_of_a_greedy_search(values: tuple[str, ...]) -> Values:
    return {"skip_cost": is_true(values)}


def _is_quantised(values: tuple[str, ...]) -> Values | Refused:
    return {} if values[-1] == "float32" else Refused(QUANTISED)


def _sampling(values: tuple[str, ...]) -> Values:
    """Marian writes `full 1.0` and, for the K most probable words, `topk K T`; or T alone."""
    words = " ".join(values).split()
    return {"output_sampling": " ".join(words)}


_COMMON: tuple[Row, ...] = (
    one("-o --output", "stdout", converted("output", _output), paths=True),
    many("-v --vocabs", None, "vocabularies", paths=True),
    optional("--alignment", "", "1", converted("alignment", _alignment)),
    boolean("--word-scores", "word_scores"),
    *INPUT_LENGTH, *TSV, *ON_ONE_DEVICE,
    no_effect("--mini-batch-words", Takes.ONE, 0, "--workspace keeps batches to the memory"),
    one("--maxi-batch-sort", "none", "maxi_batch_sort"),
    boolean("--fp16", converted("precision", _half)),
    many("--precision", ("float32",), converted("precision", _precision)),
    refused("--optimize", Takes.BOOLEAN, False, QUANTISED),
    one("-g --gemm-type", "float32", converted("precision", _is_quantised)),
    refused("--quantize-range", Takes.ONE, 0, QUANTISED),
    refused("--int8shift", Takes.BOOLEAN, False, QUANTISED),
    refused("--int8shiftAll", Takes.BOOLEAN, False, QUANTISED),
    refused("--int8shiftAlpha", Takes.BOOLEAN, False, QUANTISED),
    refused("--int8shiftAlphaAll", Takes.BOOLEAN, False, QUANTISED),
    no_effect("--clip-gemm", Takes.ONE, 0, "products are not clipped"),
    no_effect("--use-legacy-batching", Takes.BOOLEAN, False,
              "TensorFlow chooses how products are made"),
)  # fmt: skip


def decoder() -> list[Row]:
    """All options of `marian-decoder`."""
    return [
        *GENERAL,
        one("-w --workspace", 512, "workspace"),
        boolean("--quiet-translation", "quiet"),
        many("-m --models --model", None, "model", paths=True),
        no_effect("--model-mmap", Takes.BOOLEAN, False, "a model is read once"),
        *model_rows(training=False),
        many("-i --input", ("stdin",), converted("input", _input), paths=True),
        one("-b --beam-size", 12, "beam_size"),
        optional("-n --normalize", 0, "1", "normalize"),
        one("--max-length-factor", 3, "max_length_factor"),
        one("--word-penalty", 0, "word_penalty"),
        boolean("--allow-unk", "allow_unk"),
        refused("--allow-special", Takes.BOOLEAN, False,
                "only the unknown word is ever suppressed"),
        boolean("--n-best", "n_best"),
        boolean("--force-decode", "force_decode"),
        no_effect("--stat-freq", Takes.ONE, "0", "progress is shown at a terminal"),
        boolean("--no-spm-decode", "no_spm_decode"),
        boolean("--no-spm-encode", "no_spm_encode"),
        one("--mini-batch", 1, "mini_batch"),
        one("--maxi-batch", 1, "maxi_batch"),
        boolean("--skip-cost", converted("skip_cost", _cost_of_a_greedy_search)),
        many("--shortlist", None, "shortlist", paths=True, only_first=True),
        many("--weights", None, "weights"),
        many("--output-sampling", None, converted("output_sampling", _sampling),
             implied="full 1.0"),
        refused("--output-approx-knn", Takes.MANY, None, "the softmax is exact", "100 1024"),
        refused("--encryption-key-path", Takes.ONE, "", "models are not encrypted"),
        refused("--trie-pruning-path", Takes.ONE, "", EVERY_WORD),
        *_COMMON,
    ]  # fmt: skip


def scorer() -> list[Row]:
    """All options of `marian-scorer`."""
    return [
        *GENERAL,
        one("-w --workspace", 2048, "workspace"),
        boolean("--quiet-translation", "quiet"),
        many("-m --model --models", "model.npz", "model", paths=True),
        *model_rows(training=False),
        refused("--no-reload", Takes.BOOLEAN, False, "a model without its weights scores nothing"),
        many("-t --train-sets", None, "target", paths=True),
        boolean("--n-best", "n_best_list"),
        one("--n-best-feature", "Score", "n_best_feature"),
        boolean("-n --normalize", converted("normalize", lambda values: {"normalize": "1"}
                                     if is_true(values) else {})),
        optional("--summary", "", "cross-entropy", "summary"),
        one("--mini-batch", 64, "mini_batch"),
        one("--maxi-batch", 100, "maxi_batch"),
        *_COMMON,
    ]  # fmt: skip

"""Marian's options of `marian-decoder` and `marian-scorer` (version 1.12 and older)."""

from __future__ import annotations

from ..errors import UsageError
from .fields import Fields
from .marian import (
    COMPARED,
    DEVICES,
    GENERAL,
    OTHER_MODELS,
    PRODUCTS,
    cpu_threads,
    device,
    precision,
)
from .rows import (
    Option,
    Refused,
    Values,
    always,
    is_true,
    no_effect,
    refused,
    row,
    rows,
    switched,
)

EVERY_WORD = "every word of the vocabulary can be produced"
QUANTISED = "use --precision int8, which quantises a float32 model at the start"
TYPES = "products are float32, bfloat16 or int8, as --precision says"
UNCUT = str(10**6)  # words: no line is as long


def _alignment(values: tuple[str, ...]) -> Values:
    """Marian's word for hard alignments is 1 as well."""
    return {"alignment": "hard" if values[-1] in ("1", "1.0") else values[-1]}


def _half(values: tuple[str, ...]) -> Values | Refused:
    return Refused(TYPES) if is_true(values) else {}


def _precision(values: tuple[str, ...]) -> Values | Refused:
    return Refused(TYPES) if values[0] == "float16" else precision(values)


def _input(values: tuple[str, ...]) -> Values:
    return {"input": () if values == ("stdin",) else values}


def _output(values: tuple[str, ...]) -> Values:
    return {} if values[-1] == "stdout" else {"output": values[-1]}


def _gemm(values: tuple[str, ...]) -> Values | Refused:
    return {} if values[-1] == "float32" else Refused(QUANTISED)


def _sampling(values: tuple[str, ...]) -> Values:
    """`full 1.0`, or `topk K T` for the K most probable words, or T alone."""
    return {"output_sampling": " ".join(values)}


_COMMON = (
    *GENERAL,
    *COMPARED,
    row("-o --output FILE = stdout", Option("output", _output)),
    row("--alignment [1]", Option("alignment", _alignment)),
    *rows("-v --vocabs FILE... -> vocabularies, --quiet-translation -> quiet, --word-scores"),
    *rows("--tsv, --tsv-fields --tsv-size N = 0, --max-length N = 1000"),
    row("-d --devices N... = 0", Option("device", device)),
    row("--cpu-threads N = 0", Option("cpu_threads", cpu_threads)),
    row("--fp16", Option("precision", _half)),
    row("--precision X... = float32", Option("precision", _precision)),
    row("-g --gemm-type X = float32", Option("precision", _gemm)),
    *OTHER_MODELS,
    *no_effect("one thread reads ahead", "--data-threads N = 8"),
    *no_effect(DEVICES, "--num-devices N = 0"),
    *no_effect("--workspace keeps batches to the memory", "--mini-batch-words N = 0"),
    *no_effect("cgru does not clip products", "--clip-gemm X = 0"),
    *no_effect(PRODUCTS, "--use-legacy-batching"),
    *refused(QUANTISED, "--optimize, --quantize-range X = 0, --int8shift, --int8shiftAll"),
    *refused(QUANTISED, "--int8shiftAlpha, --int8shiftAlphaAll"),
)
DECODER = (
    *_COMMON,
    *rows(
        """
        -w --workspace MB = 512, -m --models --model FILE... -> model, -b --beam-size N = 12,
        -n --normalize [1] = 0, --max-length-factor X = 3, --word-penalty X = 0, --allow-unk,
        --n-best, --force-decode, --no-spm-decode, --no-spm-encode, --mini-batch N = 1,
        --maxi-batch N = 1, --maxi-batch-sort X = none, --max-length-crop, --skip-cost,
        --weights X...
        """
    ),
    row("-i --input FILE... = stdin", Option("input", _input)),
    row("--shortlist FILE...", "shortlist", only_first=True),
    row("--output-sampling [full 1.0]...", Option("output_sampling", _sampling)),
    *no_effect("a model is read once", "--model-mmap"),
    *no_effect("progress is shown at a terminal", "--stat-freq X = 0"),
    *refused("only the unknown word can be suppressed", "--allow-special"),
    *refused("the softmax is exact", "--output-approx-knn [100 1024]..."),
    *refused("models are not encrypted", "--encryption-key-path X"),
    *refused(EVERY_WORD, "--trie-pruning-path X"),
)
SCORER = (
    *_COMMON,
    *rows(
        """
        -w --workspace MB = 2048, -m --model --models FILE... = model.npz,
        -t --train-sets FILE... -> target, --n-best -> n_best_list, --n-best-feature X = Score,
        --summary [cross-entropy], --mini-batch N = 64, --maxi-batch N = 100
        """
    ),
    row("-n --normalize", switched("normalize", "1")),
    *always("--maxi-batch-sort X = none"),
    *no_effect("longer sources are cut, longer translations refused", "--max-length-crop"),
    *refused("a model without its weights scores nothing", "--no-reload"),
)


def settle_decoder(o: Fields) -> None:
    """Replace what `cgru translate` does not have. Raises UsageError for what it cannot do."""
    settle_workspace(o)
    if o.take("skip_cost"):
        if str(o.values.get("beam_size")) != "1":
            raise UsageError(
                "--skip-cost cannot be honoured: hypotheses of a beam are ranked by the model's "
                "scores; with a beam of 1 it changes nothing"
            )
        o.note("--skip-cost", "the best word is the same with its cost")
    settle_length(o)
    fields = o.whole("tsv_fields")
    if fields not in (0, 2 if o.values.get("force_decode") else 1):
        raise UsageError(
            f"--tsv-fields {fields}: a line has the source alone or, with --force-decode, the "
            "beginning of its translation behind a tab"
        )
    inputs = o.values.get("input", ())
    prefixes = o.values.get("force_decode") and len(inputs) == 2 and not o.values.get("tsv")
    if o.program and len(inputs) > 1 and not prefixes:  # which stand in a file of their own
        raise UsageError(
            f"--input {' '.join(inputs)}: cgru has no models that read several sources"
        )


def settle_length(o: Fields) -> None:
    """Marian cuts lines with --max-length-crop alone."""
    if o.take("max_length_crop") or o.program is None:
        if o.program and "max_length" not in o.given:
            o.values["max_length"] = "1000"
    elif "max_length" in o.given:
        o.note("--max-length", "lines are cut with --max-length-crop only")
        o.values["max_length"] = UNCUT


def settle_workspace(o: Fields) -> None:
    """A negative workspace is all memory but that."""
    if o.program and str(o.values.get("workspace", "")).startswith("-"):
        o.take("workspace")
        o.note("--workspace", "memory is taken as it is needed")


def settle_scorer(o: Fields) -> None:
    """Replace what `cgru score` does not have. Raises UsageError."""
    settle_workspace(o)
    targets = tuple("-" if name == "stdin" else name for name in o.values.get("target") or ())
    if targets:
        o.values["target"] = targets
    fields = o.whole("tsv_fields")
    if o.take("tsv"):
        if len(targets) > 1:
            raise UsageError(f"--tsv: one file is expected, or stdin; {len(targets)} are named")
        if fields not in (0, 2):
            raise UsageError(f"--tsv-fields {fields}: a line has two, source and target")
    if o.take("n_best_list"):
        if len(targets) != 2:
            raise UsageError("--n-best: Marian's -t names the source and the list")
        o.values |= {"source": targets[:1], "n_best": targets[1]}
        del o.values["target"]

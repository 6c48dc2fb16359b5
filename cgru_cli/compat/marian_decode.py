"""The options of `marian-decoder` and `marian-scorer` (version 1.12 and older)."""

from __future__ import annotations

from ..errors import UsageError
from .fields import Fields
from .marian import COMPARED, GENERAL, OTHER_MODELS, cpu_threads, device, precision
from .row import NoEffect, Option, Refused, Values, is_true
from .rows import always, computed, counts_eos, no_effect, refused, row, rows, switched

QUANTISED = "use --precision int8, which quantises a float32 model at the start"
IN_32_BITS = NoEffect("products are float32; --precision int8 is faster")
UNCUT = str(10**6)  # words; longer than any line


def _half(values: tuple[str, ...]) -> Values | NoEffect:
    return IN_32_BITS if is_true(values) else {}


def _precision(values: tuple[str, ...]) -> Values | NoEffect:
    return IN_32_BITS if values[0] == "float16" else precision(values)


def _gemm(values: tuple[str, ...]) -> Values | NoEffect | Refused:
    if values[-1] == "packed16":
        return IN_32_BITS
    return {} if values[-1] == "float32" else Refused(QUANTISED)


def _summary(value: str) -> str:
    """Replace ce-rescore, which Marian computes as cross-entropy."""
    return value.replace("ce-rescore", "cross-entropy")


def _sampling(values: tuple[str, ...]) -> Values:
    """Kind, number and temperature of sampling, with Marian's defaults for the number."""
    kind, *numbers = values
    default = {"topk": "10", "nucleus": "0.9", "epsilon": "0.02"}.get(kind)
    if kind in ("0", "1"):  # a switch in earlier versions
        return {"output_sampling": "full"} if kind == "1" else {}
    return {"output_sampling": " ".join([kind, *(numbers or filter(None, [default]))])}


_COMMON = (
    *GENERAL,
    *COMPARED,
    row("-o --output FILE = stdout", computed("output", lambda v: None if v == "stdout" else v)),
    row("--alignment [1]", computed("alignment", lambda v: "hard" if v in ("1", "1.0") else v)),
    *rows("-v --vocabs FILE... -> vocabularies, --quiet-translation -> quiet, --word-scores"),
    *rows("--tsv, --tsv-fields --tsv-size N = 0"),
    row("--max-length N = 1000", counts_eos("max_length")),
    row("-d --devices N... = 0", Option("device", device)),
    row("--cpu-threads [1] = 0", Option("cpu_threads", cpu_threads)),
    row("--fp16", Option("precision", _half)),
    row("--precision X... = float32", Option("precision", _precision)),
    row("-g --gemm-type X = float32", Option("precision", _gemm)),
    *OTHER_MODELS,
    *no_effect("""
        --data-threads N = 8: one thread reads in advance
        --num-devices N = 0 (earlier):
        --device selects the device; by default a GPU if there is one, else the CPU
        --mini-batch-words N = 0: --workspace limits the memory of batches
        --clip-gemm X = 0 (earlier): cgru does not clip products
        --use-legacy-batching (earlier): ONNX Runtime chooses how to multiply matrices"""),
    *refused("""
        --optimize, --quantize-range X = 0, --int8shift (earlier), --int8shiftAll (earlier),
        --int8shiftAlpha (earlier), --int8shiftAlphaAll (earlier):
        use --precision int8, which quantises a float32 model at the start"""),
)
DECODER = (
    *_COMMON,
    *rows("""
        -w --workspace MB = 512, -m --models --model FILE... -> model, -b --beam-size N = 12,
        -n --normalize [1] = 0, --max-length-factor X = 3, --word-penalty [0] = 0, --allow-unk,
        --n-best, --force-decode, --no-spm-decode, --no-spm-encode, --mini-batch N = 1,
        --maxi-batch N = 1, --maxi-batch-sort X = none, --max-length-crop, --skip-cost,
        --weights X..."""),
    row(
        "-i --input FILE... = stdin",
        Option("input", lambda v: {"input": () if v == ("stdin",) else v}),
    ),
    row("--shortlist FILE N..."),
    row("--output-sampling [full 1.0]...", Option("output_sampling", _sampling)),
    *no_effect("""
        --model-mmap: a model is read once
        --stat-freq X = 0: progress is shown at a terminal"""),
    *refused("""
        --allow-special: only the unknown word can be suppressed
        --output-approx-knn [100 1024]...: the softmax is exact
        --encryption-key-path X: models are not encrypted
        --trie-pruning-path X (earlier): every word of the vocabulary can be produced"""),
)
SCORER = (
    *_COMMON,
    *rows("""
        -w --workspace MB = 2048, -m --model --models FILE... = model.npz,
        -t --train-sets FILE... -> target, --n-best -> n_best_list, --n-best-feature X = Score,
        --mini-batch N = 64, --maxi-batch N = 100, --max-length-crop"""),
    row("-n --normalize", switched("normalize", "1")),
    row("--summary [cross-entropy]", computed("summary", _summary)),
    *always("--maxi-batch-sort X = trg"),
    *refused("--no-reload: a model without its weights scores nothing"),
)


def settle_decoder(o: Fields) -> None:
    """Replace options that `cgru translate` lacks. Raises UsageError for unsupported features."""
    settle_workspace(o)
    if o.take("skip_cost"):
        if str(o.values.get("beam_size")) != "1":
            raise UsageError(
                "--skip-cost cannot be honoured: hypotheses of a beam are ranked by the model's "
                "scores; with a beam of 1 it changes nothing"
            )
        o.note("--skip-cost", "the cost does not change which word is best")
    if "output_sampling" not in o.values and o.take("seed") and "seed" in o.given:
        o.note("--seed", "nothing is sampled")
    settle_length(o)
    fields = o.whole("tsv_fields")
    if fields not in (0, 2 if o.values.get("force_decode") else 1):
        raise UsageError(
            f"--tsv-fields {fields}: a line has only the source or, with --force-decode, the "
            "beginning of its translation after a tab"
        )
    inputs = o.values.get("input", ())
    prefixes = o.values.get("force_decode") and len(inputs) == 2 and not o.values.get("tsv")
    if o.program and len(inputs) > 1 and not prefixes:  # the prefixes are in a second file
        raise UsageError(
            f"--input {' '.join(inputs)}: cgru has no models that read several sources"
        )


def settle_length(o: Fields) -> None:
    """Drop --max-length without --max-length-crop, because Marian cuts lines only with both."""
    if o.take("max_length_crop") or o.program is None:
        if o.program and "max_length" not in o.given:
            o.values["max_length"] = "999"
    elif "max_length" in o.given:
        o.note("--max-length", "only --max-length-crop cuts lines")
        o.values["max_length"] = UNCUT


def settle_workspace(o: Fields) -> None:
    """Drop a negative workspace, which stands for all memory except that amount."""
    if o.program and str(o.values.get("workspace", "")).startswith("-"):
        o.take("workspace")
        o.note("--workspace", "memory is allocated as needed")


def settle_scorer(o: Fields) -> None:
    """Replace options that `cgru score` lacks. Raises UsageError for unsupported features."""
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

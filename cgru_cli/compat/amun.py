"""The options of amun, Marian's first decoder (src/amun/common/config.cpp)."""

from __future__ import annotations

import math

from ..errors import CgruError, parsing
from ..system.plain_numbers import plain_number
from ..system.structured_files import LARGEST_CONFIGURATION, read_bytes
from .dl4mt import settle_vocabularies
from .fields import Fields
from .marian import cpu_threads, device
from .row import Option, is_true
from .rows import computed, no_effect, refused, row, rows, switched

TRANSLATE = (
    *rows("""
        -h --help, -v --version, -c --config FILE..., --relative-paths,
        -i --input-file FILE -> input, -m --model FILE...,
        -s --source-vocab FILE... -> source_vocabularies,
        -t --target-vocab FILE -> target_vocabulary, --bpe FILE... -> bpe_codes, --no-debpe,
        --mini-batch N = 1, --maxi-batch N = 1 -> maxi_batch_sentences, --weights X...,
        --load-weights FILE, --max-length-multiple X = 3 -> max_length_factor,
        -b --beam-size N = 12, -u --allow-unk, --n-best"""),
    # in configurations of early versions
    row("--debpe [true] = true", Option("debpe", lambda values: {"debpe": is_true(values)})),
    row("-d --devices N... = 0", Option("device", device)),
    row("--cpu-threads N = 0", Option("cpu_threads", cpu_threads)),
    row("--return-alignment", switched("alignment", "hard")),
    row("--return-soft-alignment", switched("alignment", "soft")),
    row("--return-nematus-alignment", switched("alignment", "soft", alignment_format="nematus")),
    row("--max-length N = 500", computed("max_length", lambda v: v if v != "0" else str(10**6))),
    row("-n --normalize", switched("normalize", "1")),
    row("--dump-config", switched("dump_config", "full")),
    *no_effect("""
        --gpu-threads N = 1, --threads-per-device N = 1, --fpga-threads N = 0,
        --fpga-devices N... = 0, --mode X (earlier):
        --device selects the device; by default a GPU if there is one, else the CPU
        --tensor-cores X = false, --use-fused-softmax X = true:
        ONNX Runtime chooses how to multiply matrices
        --threads N (earlier): --cpu-threads sets the number of threads; by default all processors
        --mini-batch-words N = 0, --batch-size N (earlier), --bunch-size N (earlier):
        --workspace limits the memory of batches
        --log-progress X = info, --log-info X = info: all messages are always shown"""),
    *refused("""
        --show-weights: cgru does not print weights
        --wipo: the layout of WIPO's n-best lists is unknown
        -f --softmax-filter X...:
        use --shortlist of cgru translate, without --compat amun, to restrict the words"""),
)


def settle(o: Fields) -> None:
    """Replace options that `cgru translate` lacks. Raises CgruError for a bad file of weights."""
    settle_vocabularies(o)
    sentences = o.number("maxi_batch_sentences")
    if o.take("maxi_batch_sentences") is not None:
        o.values["maxi_batch"] = str(max(1, math.ceil(sentences / max(o.number("mini_batch"), 1))))
    no_debpe, debpe = o.take("no_debpe"), o.take("debpe")
    if debpe is not None:  # early versions join sub-words without codes too
        o.values["join_bpe"] = debpe
    if codes := o.take("bpe_codes"):  # of the source, then of the output
        o.values["bpe"] = codes[0]
        o.values.setdefault("join_bpe", not no_debpe)
    models, weights = o.values.get("model", ()), o.values.get("weights", ())
    if o.program == "amun" and "model" in o.typed and "weights" not in o.typed and weights:
        missing = ("1",) * (len(models) - len(weights))  # as amun, whose models are F0, F1, ...
        o.values["weights"] = (*weights[: len(models)], *missing)
    if path := o.take("load_weights"):
        o.replace("weights", _weights(path), by="load_weights")


def _weights(path: str) -> tuple[str, ...]:
    """The weights in a file of names and numbers, such as `F0= 0.5`, in the order of the models.

    amun names its models F0, F1 and so on. A configuration may give other names, whose weights have
    to be in its order.
    """
    weights: dict[str, str] = {}
    with parsing(path, "not UTF-8"):
        text = read_bytes(path, "file of weights", LARGEST_CONFIGURATION, once=True).decode()
    for number, line in enumerate(text.split("\n"), 1):
        fields = line.replace("=", " ").split()
        if not fields:
            continue
        try:
            name, value = fields
            weights[name] = str(plain_number(float, value))
        except ValueError:
            raise CgruError(f"{path}: line {number}: a name and a weight are expected") from None
    names = [f"F{i}" for i in range(len(weights))]
    if "F0" in weights and {*names} != {*weights}:
        found = ", ".join(weights)
        raise CgruError(f"{path}: weights of {found}, where {', '.join(names)} are expected")
    return tuple(weights[name] for name in (names if "F0" in weights else weights))

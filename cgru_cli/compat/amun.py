"""The options of amun, Marian's first decoder (src/amun/common/config.cpp)."""

from __future__ import annotations

from .marian_decode import EVERY_WORD
from .marian_general import DEVICES, cpu_threads, device
from .rows import (
    NoEffect,
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
    refused,
    switch,
)  # fmt: skip


def _level(values: tuple[str, ...]) -> Values | NoEffect:
    return NoEffect("all messages are always shown")


def _longest(values: tuple[str, ...]) -> Values:
    """0 is no limit."""
    return {"max_length": values[-1] if values[-1] != "0" else str(10**6)}


TRANSLATE: tuple[Row, ...] = (
    switch("-h --help", Special.HELP),
    switch("-v --version", Special.VERSION),
    one("-c --config", None, Special.CONFIG, paths=True),
    one("-i --input-file", None, "input", paths=True),
    many("-m --model", None, "model", paths=True),
    many("-s --source-vocab", None, "source_vocabularies", paths=True),
    one("-t --target-vocab", None, "target_vocabulary", paths=True),
    many("--bpe", None, "bpe_codes", paths=True),
    switch("--no-debpe", "no_debpe"),
    boolean("--debpe", negated("no_debpe"), True),  # in configurations of early versions
    many("-d --devices", (0,), converted("device", device)),
    no_effect("--gpu-threads", Takes.ONE, 1, DEVICES),
    one("--cpu-threads", 0, converted("cpu_threads", cpu_threads)),
    no_effect("--fpga-threads", Takes.ONE, 0, DEVICES),
    no_effect("--fpga-devices", Takes.MANY, (0,), DEVICES),
    no_effect("--tensor-cores", Takes.ONE, False, "TensorFlow chooses how products are made"),
    one("--mini-batch", 1, "mini_batch"),
    one("--maxi-batch", 1, "maxi_batch_sentences"),
    no_effect("--mini-batch-words", Takes.ONE, 0, "--workspace keeps batches to the memory"),
    no_effect("--use-fused-softmax", Takes.ONE, True, "TensorFlow chooses how products are made"),
    refused("--show-weights", Takes.NOTHING, False, "weights are those that --weights gives"),
    many("--weights", None, "weights"),  # in files
    one("--load-weights", None, "load_weights", paths=True),
    refused("--wipo", Takes.NOTHING, False, "WIPO's layout of n-best lists is not known"),
    switch("--return-alignment", converted("alignment", lambda values: {"alignment": "hard"})),
    switch("--return-soft-alignment", converted("alignment", lambda values: {"alignment": "soft"})),
    switch("--return-nematus-alignment", converted("alignment", lambda values: {
        "alignment": "soft", "alignment_format": "nematus"})),
    one("--max-length", 500, converted("max_length", _longest)),
    one("--max-length-multiple", 3, "max_length_factor"),
    one("--log-progress", "info", converted("log", _level)),
    one("--log-info", "info", converted("log", _level)),
    one("-b --beam-size", 12, "beam_size"),
    switch("-n --normalize", converted("normalize", lambda values: {"normalize": "1"})),
    refused("-f --softmax-filter", Takes.MANY, (), f"no vocabulary selection: {EVERY_WORD}"),
    switch("-u --allow-unk", "allow_unk"),
    switch("--n-best", "n_best"),
    switch("--relative-paths", Special.RELATIVE),
    switch("--dump-config", Special.DUMP_CONFIG),
)  # fmt: skip

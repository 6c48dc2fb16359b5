"""Options of `cgru translate` and `cgru score`, which apply models to lines of text."""

from __future__ import annotations

from dataclasses import dataclass

from .configured import ConfiguredOptions
from .declaration import Group
from .kinds import alignment, device, unchanged, weight
from .scope import Scope

MODEL_AND_TEXT = Group("Model and text")
MODELS = Group("Model and text", applies_to=Scope.PAIRS)
SCORES = Group("Scores")
ATTENTION = Group("Attention")
WEIGHTS = Group("Attention", applies_to=Scope.ATTENTION | Scope.PAIRS)
_PYTHON = Scope.TRANSLATOR | Scope.SCORER
DEVICES = Group("Devices and memory", applies_to=_PYTHON)


@dataclass(frozen=True)
class FilterOptions(ConfiguredOptions):
    """The options that `cgru translate` and `cgru score` share."""

    model: tuple[str, ...] = MODELS("""
        -m --model MODEL... (--models): model file of any program; translate combines several into
        an ensemble, score prints a column of scores for each""")
    vocabularies: tuple[str, ...] = MODELS("""
        -v --vocabs SRC TRG (--dictionaries): vocabulary files, if the model names none: source (one
        for each factor), then target""")
    output: str | None = MODEL_AND_TEXT("""
        -o --output FILE: file to write, .gz too; standard output if not given""")
    model_is: tuple[str, ...] = MODEL_AND_TEXT("""
        --model-is NAME=VALUE...: reject models that differ from this description, in Marian's
        option names, such as dim-emb=512""")
    log: str | None = MODEL_AND_TEXT("""
        --log FILE: also write warnings and the time taken to this file""")
    no_preprocess: bool = MODELS.values(applies_to=_PYTHON)("""
        --no-preprocess: do not preprocess the text or postprocess the output, even if the model has
        a MODEL.preprocess.json""")
    no_spm_encode: bool = MODEL_AND_TEXT.values(applies_to=_PYTHON)("""
        --no-spm-encode: the input is already in SentencePiece pieces; do not split it""")
    quiet: bool = MODEL_AND_TEXT("""
        -q --quiet (--quiet-translation): do not report progress and written files on standard
        error""")

    weights: tuple[float | str, ...] = SCORES.values(
        weight, needs="--model", applies_to=Scope.PAIRS | Scope.SCORER
    )("""
        --weights W...|FILE: weight of each model of an ensemble, or a file that cgru score --tune
        wrote; equal if not given""")
    normalize: float | None = SCORES.number(
        0, 10, implied=1.0, applies_to=Scope.DECODER | Scope.PAIRS | Scope.CALL | Scope.SCORER
    )("""
        -n --normalize ALPHA (--normalization_alpha): length normalisation: divide scores by length
        ** ALPHA, including the end of the sentence""")
    word_scores: bool = SCORES.values(applies_to=Scope.PAIRS)("""
        --word-scores (--print-word-probabilities -wp): print the score of each word""")

    alignment: str | None = WEIGHTS.values(unchanged(alignment), implied="hard")("""
        --alignment hard|soft|X: print the attention between source and target words, as the model
        reads them: the strongest link of each word (hard), all weights (soft), or links above a
        threshold X""")
    alignment_format: str | None = WEIGHTS.choice("marian", "amun", "nematus", "json")("""
        --alignment-format: format of the attention; if not given, that of the --compat program, or
        marian""")
    heatmap: str | None = WEIGHTS("""
        --heatmap FILE.html|png|svg: draw the attention of the best translation of some lines, as an
        HTML page or as pictures (.png, .svg); for an ensemble, the mean and each model""")
    heatmap_lines: str | None = ATTENTION.values(needs="--heatmap", applies_to=Scope.PAIRS)("""
        --heatmap-lines N,N-N: numbers of the lines that --heatmap draws, from 1; if not given, the
        first 20 for a page, the first 4 for a picture""")

    workspace: int = DEVICES.whole(1, 16_777_216, default=2048)("""
        -w --workspace MB: memory for a mini-batch, in addition to the model; larger mini-batches
        are split (MiB)""")
    device: str | None = DEVICES.values(device, applies_to=Scope.MACHINE)("""
        --device cpu|gpu[:N]: device to compute on; if not given, a GPU if there is one and the
        extra gpu is installed, else the CPU""")
    cpu_threads: int | None = DEVICES.whole(1, 4096, applies_to=Scope.MACHINE)("""
        --cpu-threads N: number of threads; if not given, one for each processor""")
    runtime: str | None = DEVICES.choice(
        "auto", "tensorflow", "onnx", no_effect="ONNX Runtime runs every model"
    )("--runtime: library that ran the model in earlier versions")
    precision: str = DEVICES.choice(
        "float32",
        "int8",
        default="float32",
        former={"bfloat16": "only training computes in bfloat16; --precision int8 is faster here"},
    )("""
        --precision: data type of matrix products; states, sums of the attention and softmax remain
        float32; int8 quantises the weights at the start""")

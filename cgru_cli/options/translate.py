"""The options of `cgru translate`."""

from __future__ import annotations

from dataclasses import dataclass

from .flags import option
from .line_filter import FilterOptions
from .programs import COMPAT


@dataclass(frozen=True)
class TranslateOptions(FilterOptions):
    """`cgru translate`; several models are an ensemble.

    What is None is as the model's program does it.
    """

    input: tuple[str, ...] = option(
        (), "text to translate, .gz too; standard input if not given", "-i", "--input",
        metavar="FILE...", many=True,
    )  # fmt: skip
    config: str | None = option(
        None, "a Marian or amun .yml: models, vocabularies, beam, normalisation",
        "-c", "--config", metavar="FILE",
    )  # fmt: skip
    compat: str | None = option(
        None, "defaults, search, signs and output layout of that program", "--compat",
        choices=COMPAT,
    )  # fmt: skip

    beam_size: int | None = option(
        None, "hypotheses in the beam (Marian's -b; Nematus' -b is --mini-batch here); 1 is greedy",
        "-k", "-b", "--beam-size", kind=int, metavar="K", aliases=("--beam_size",),
    )  # fmt: skip
    word_penalty: float | None = option(
        None, "subtract from a score, per word", "--word-penalty", kind=float, metavar="P",
        unit="nats",
    )  # fmt: skip
    max_length: int = option(
        1000, "cut longer source lines, with a warning", "--max-length", kind=int, metavar="N",
        unit="words",
    )  # fmt: skip
    max_length_crop: bool = option(
        False, "Marian's name for what --max-length does here in any case", "--max-length-crop",
        kind=bool,
    )  # fmt: skip
    max_length_factor: float | None = option(
        None, "longest translation, relative to the source with EOS", "--max-length-factor",
        kind=float, metavar="F", aliases=("--max-ratio", "-mr"),
    )  # fmt: skip
    translation_maxlen: int | None = option(
        None, "longest translation, EOS counted", "--translation-maxlen", kind=int, metavar="N",
        unit="words", aliases=("--translation_maxlen",),
    )  # fmt: skip
    force_decode: bool = option(
        False, "translations begin with the words behind a tab on each line; texts of a language "
        "model with those of the line", "--force-decode", kind=bool,
    )  # fmt: skip
    allow_unk: bool = option(False, "let the unknown word be produced", "--allow-unk", kind=bool)
    suppress_unk: bool = option(
        False, "never produce the unknown word", "--suppress-unk", kind=bool,
        aliases=("--suppress_unk",),
    )  # fmt: skip

    output_sampling: str | None = option(
        None, "draw translations: from all words, or the K most probable, at temperature T",
        "--output-sampling", metavar="full [T] | topk K [T]", implied="full 1.0", many=True,
    )  # fmt: skip
    translation_strategy: str = option(
        "beam_search", "Nematus' way to ask for --output-sampling", "--translation-strategy",
        choices=("beam_search", "sampling"), aliases=("--translation_strategy",),
    )  # fmt: skip
    sampling_temperature: float | None = option(
        None, "softmax temperature of --translation-strategy sampling", "--sampling-temperature",
        kind=float, metavar="T", implied=1.0, aliases=("--sampling_temperature",),
    )  # fmt: skip
    seed: int = option(0, "of sampling; with a line's number it decides what is drawn", "--seed",
        kind=int, metavar="N",
    )  # fmt: skip

    n_best: bool = option(
        False, "print all hypotheses of the beam", "--n-best", kind=bool, aliases=("--n_best",)
    )
    output_alignment: str | None = option(
        None, "write the attention to a file of its own (formats nematus and json)",
        "--output-alignment", metavar="FILE", aliases=("--output_alignment", "-a"),
    )  # fmt: skip
    json_alignment: bool = option(
        False, "the same as --alignment-format json", "--json-alignment", kind=bool,
        aliases=("--json_alignment",),
    )  # fmt: skip
    unk_replace: bool = option(
        False, "replace an unknown word by the source word it is aligned to", "--unk-replace",
        kind=bool,
    )  # fmt: skip
    lexicon: str | None = option(
        None, "with --unk-replace: translate that word (lines `source target [probability]`)",
        "--lexicon", metavar="FILE",
    )  # fmt: skip
    join_bpe: bool = option(False, "join sub-words (`@@ `)", "--join-bpe", kind=bool)
    no_spm_decode: bool = option(False, "print SentencePiece pieces", "--no-spm-decode", kind=bool)

    mini_batch: int | None = option(
        None, "lines translated together", "--mini-batch", kind=int, metavar="N", unit="lines",
        aliases=("--minibatch_size", "--batch_size"),
    )  # fmt: skip
    maxi_batch: int | None = option(
        None, "mini-batches read ahead and sorted by length", "--maxi-batch", kind=int,
        metavar="N", aliases=("--maxibatch_size",),
    )  # fmt: skip
    maxi_batch_sort: str = option(
        "src", "how lines read ahead are sorted", "--maxi-batch-sort", choices=("src", "none")
    )


# Options of Nematus' and Marian's translators that are known and cannot be honoured.
REFUSED_BY_TRANSLATE = {
    "--shortlist": "no vocabulary selection: every word can be produced",
    "--skip-cost": "hypotheses are ranked by the model's scores",
    "--output-approx-knn": "the softmax is exact",
    "--fp16": "products are float32 or, with --precision bfloat16, bfloat16",
    "--optimize": "no quantisation; --precision bfloat16 is the faster arithmetic",
    "--gemm-type": "no quantisation; --precision bfloat16 is the faster arithmetic",
    "--quantize-range": "no quantisation; --precision bfloat16 is the faster arithmetic",
    "--tsv": "one source is read, a sentence a line",
    "--tsv-fields": "one source is read, a sentence a line",
    "--allow-special": "only the unknown word is ever suppressed",
    "--devices": "use --device gpu:N",
    "-d": "use --device gpu:N",
    "--num-devices": "use --device gpu:N",
    "--device-list": "use --device gpu:N",
    "-dl": "use --device gpu:N",
    "-p": "use --cpu-threads N: one process uses them all",
    "--num_processes": "use --cpu-threads N: one process uses them all",
    "--search_graph": "the search is not drawn",
    "-sg": "the search is not drawn",
    "--encryption-key-path": "models are not encrypted",
    "--stat-freq": "progress is shown at a terminal",
    "--preprocess_script": "use a pipe: preprocess | cgru translate",
}

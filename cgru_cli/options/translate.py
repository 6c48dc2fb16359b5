"""The options of `cgru translate`."""

from __future__ import annotations

from dataclasses import dataclass

from ..parameters.program import COMPAT
from .flags import options_of
from .kinds import sampling, unchanged
from .line_filter import (
    FilterOptions,
    attention_option,
    computing_option,
    model_option,
    score_option,
)

search_option = options_of("Search")
sampling_option = options_of("Sampling")
channel_option = options_of("Noisy channel")
word_option = options_of("Output text")


@dataclass(frozen=True)
class TranslateOptions(FilterOptions):
    """`cgru translate`; several models are an ensemble.

    None leaves an option to the default of the program that wrote the model.
    """

    input: tuple[str, ...] = model_option(
        (), "text to translate, .gz too; standard input if not given", "-i", "--input",
        metavar="FILE...", many=True, path="file",
    )  # fmt: skip
    tsv: bool = model_option(
        False, "lines have fields between tabs: the source alone or, with --force-decode, the "
        "beginning of its translation too; more fields are an error", "--tsv", kind=bool,
    )  # fmt: skip
    bpe: str | None = model_option(
        None, "split the words of the source by these codes of subword-nmt", "--bpe",
        metavar="FILE", path="file",
    )  # fmt: skip
    char_level: bool = model_option(
        False, "read each character of the source as a word, spaces too, for models of characters",
        "--char-level", kind=bool, excludes=("--bpe",),
    )  # fmt: skip
    compat: str | None = model_option(
        None, "behave as this program does: its defaults, search, sign of scores and output layout",
        "--compat", choices=COMPAT, metavar="PROGRAM",
    )  # fmt: skip
    max_length: int = model_option(
        1000, "cut source lines that are longer, with a warning", "--max-length", kind=int,
        metavar="N", unit="words", least=1, most=1_000_000,
    )  # fmt: skip

    word_penalty: float | None = score_option(
        None, "subtract this from a translation's score for each of its words", "--word-penalty",
        kind=float, metavar="P", unit="nats", least=-1000, most=1000,
    )  # fmt: skip
    n_best: bool = score_option(
        False, "print all hypotheses of the beam, with their scores", "--n-best", kind=bool,
        aliases=("--n_best",),
    )  # fmt: skip
    n_best_size: int | None = score_option(
        None, "print N hypotheses of the beam; all if not given", "--n-best-size", kind=int,
        metavar="N", least=1, most=1000, needs=("--n-best",),
    )  # fmt: skip

    beam_size: int | None = search_option(
        None, "beam size; 1: greedy search", "-k", "--beam-size", kind=int, metavar="K", least=1,
        most=1000, aliases=("--beam_size",),
    )  # fmt: skip
    max_length_factor: float | None = search_option(
        None, "greatest length of a translation as a multiple of the source's, ends of sentences "
        "counted; 0: the limit of the model's program", "--max-length-factor", kind=float,
        metavar="F", least=0, most=1000, aliases=("--max-ratio", "-mr"),
    )  # fmt: skip
    translation_maxlen: int | None = search_option(
        None, "greatest length of a translation, the end of the sentence counted",
        "--translation-maxlen", kind=int, metavar="N", unit="words", least=1, most=1_000_000,
        aliases=("--translation_maxlen",),
    )  # fmt: skip
    force_decode: bool = search_option(
        False, "begin each translation with the words after a tab on its line; a language model "
        "begins with the words of the line", "--force-decode", kind=bool,
    )  # fmt: skip
    allow_unk: bool = search_option(
        False, "allow the unknown word in translations", "--allow-unk", kind=bool,
        excludes=("--suppress-unk",),
    )  # fmt: skip
    suppress_unk: bool = search_option(
        False, "never produce the unknown word", "--suppress-unk", kind=bool,
        aliases=("--suppress_unk",),
    )  # fmt: skip

    constraints: str | None = search_option(
        None, "each line states phrases that its translation must have and, behind an empty field, "
        "phrases that it must not have, in fields between tabs after the source (tabs), or as "
        '<n translation="PHRASE">words</n> and <n avoid="PHRASE"/> in the source (inline)',
        "--constraints", choices=("tabs", "inline"), implied="tabs", metavar="tabs|inline",
        excludes=("--output-sampling",),
    )  # fmt: skip
    avoid: str | None = search_option(
        None, "file of phrases, one a line, that no translation may have", "--avoid",
        metavar="FILE", path="file",
        excludes=("--output-sampling",),
    )  # fmt: skip
    shortlist: tuple[str, ...] = search_option(
        (), "restrict the output to the FIRST words of the vocabulary and, for each source word, "
        "the BEST translations in FILE more probable than PRUNE (100 100 0 if not given); FILE is "
        "a table of lines `target source probability` (lex.s2t), .gz too, or a binary shortlist of "
        "Marian", "--shortlist", metavar="FILE [FIRST [BEST [PRUNE]]]",
        many=True, path="file",
    )  # fmt: skip

    output_sampling: str | None = sampling_option(
        None, "sample translations from all words (full) or from the K most probable (topk), with "
        "softmax temperature T", "--output-sampling", kind=unchanged(sampling),
        metavar="full [T] | topk K [T]", implied="full 1.0", many=True,
    )  # fmt: skip
    seed: int = sampling_option(
        0, "random seed of sampling; each sample depends on the seed and its line number only",
        "--seed", kind=int, metavar="N", least=0, most=2**63 - 1,
    )  # fmt: skip

    channel_model: str | None = channel_option(
        None, "translation model of the reverse direction: rank translations y of x by the sum, "
        "weighted by --weights, of log p(y|x), log p(x|y) by this model and log p(y) by --lm",
        "--channel-model", metavar="MODEL", needs=("--lm",), path="file",
        excludes=("--output-sampling",),
    )  # fmt: skip
    lm: str | None = channel_option(
        None, "language model of the target language: recurrent, or of n-grams (a file in ARPA or "
        "KenLM's format)", "--lm", metavar="MODEL",
        needs=("--channel-model",), aliases=("--lm-model",), path="file",
    )  # fmt: skip
    channel_candidates: int | None = channel_option(
        None, "rank in every step of the beam search, among the N most probable continuations of "
        "each hypothesis; if not given, only the finished hypotheses are ranked",
        "--channel-candidates", kind=int, metavar="N", least=1, most=1000,
        needs=("--channel-model",), aliases=("--k2",),
    )  # fmt: skip

    unk_replace: bool = word_option(
        False, "replace unknown words by the source word that they are aligned to",
        "--unk-replace", kind=bool,
    )  # fmt: skip
    lexicon: str | None = word_option(
        None, "translate the source words that --unk-replace puts in by this dictionary of lines "
        "`source target [probability]` (`target source probability` in a file .s2t)",
        "--lexicon", metavar="FILE", needs=("--unk-replace",), path="file",
    )  # fmt: skip
    join_bpe: bool = word_option(False, "join sub-words that end in `@@`", "--join-bpe", kind=bool)
    no_spm_decode: bool = word_option(
        False, "print SentencePiece pieces instead of joining them", "--no-spm-decode", kind=bool
    )

    output_alignment: str | None = attention_option(
        None, "write the attention to this file instead (formats nematus and json)",
        "--output-alignment", metavar="FILE", aliases=("--output_alignment", "-a"), path="file",
    )  # fmt: skip

    mini_batch: int | None = computing_option(
        None, "lines translated together", "--mini-batch", kind=int, metavar="N", unit="lines",
        least=1, most=1_000_000, aliases=("--minibatch_size", "--batch_size"),
    )  # fmt: skip
    maxi_batch: int | None = computing_option(
        None, "number of mini-batches to read ahead and sort by length together", "--maxi-batch",
        kind=int, metavar="N", least=1, most=1_000_000, aliases=("--maxibatch_size",),
    )  # fmt: skip
    maxi_batch_sort: str = computing_option(
        "src", "sort the lines of a maxi-batch by source length, or not at all",
        "--maxi-batch-sort", choices=("src", "none"),
    )  # fmt: skip

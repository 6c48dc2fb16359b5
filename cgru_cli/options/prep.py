"""The options of `cgru prep`."""

from __future__ import annotations

from dataclasses import dataclass

from .configured import ConfiguredOptions, general_option
from .flags import options_of

VOCABULARY_PROGRAMS = ("marian", "nematus", "nematus-tf", "dl4mt")

text_option = options_of("Text")
token_option = options_of("Normalisation and tokens")
subword_option = options_of("Sub-words and vocabularies")
removal_option = options_of("Cleaning")
filter_option = options_of("Use as a filter")
program_option = options_of("Vocabularies of other programs")

_TOKENIZED = ("--tokenize",)
_FOLDER = ("--source", "--target", "--dev", "--test", "--force")


@dataclass(frozen=True)
class PrepOptions(ConfiguredOptions):
    """`cgru prep OUT`, the filters `cgru prep --apply DIR` and `--undo DIR`, and the vocabularies
    of other programs: `cgru prep --vocabulary-only`.
    """

    jobs: int | None = general_option(
        None, "number of parallel processes, which does not change the result; one for each "
        "processor if not given",
        "-j", "--jobs", kind=int, metavar="N", least=1, most=4096,
    )  # fmt: skip
    force: bool = general_option(
        False, "make OUT anew if it was made from other text or with other options", "-f",
        "--force", kind=bool,
    )  # fmt: skip
    quiet: bool = general_option(
        False, "write only warnings and errors to standard error", "--quiet", kind=bool
    )

    source: tuple[str, ...] = text_option(
        (), "source text to train on, a sentence a line, .gz too", "-s", "--source",
        metavar="FILE...", many=True, path="file",
    )  # fmt: skip
    target: tuple[str, ...] = text_option(
        (), "target text to train on: a file for each source file, line by line its translation",
        "-t", "--target",
        metavar="FILE...", many=True, path="file",
    )  # fmt: skip
    dev: tuple[str, ...] = text_option(
        (), "source and target text to validate on", "--dev", metavar="SRC TRG", many=True,
        path="file",
    )  # fmt: skip
    test: tuple[str, ...] = text_option(
        (), "source and target text to test on; several test sets are numbered, test1, test2 and "
        "so on", "--test", metavar="SRC TRG", many=True, path="file",
    )  # fmt: skip
    source_lang: str | None = text_option(
        None, "language of the source, for --tokenize and --normalize-punctuation",
        "--source-lang", metavar="CODE",
    )  # fmt: skip
    target_lang: str | None = text_option(
        None, "language of the target, for --tokenize and --normalize-punctuation",
        "--target-lang", metavar="CODE",
    )  # fmt: skip
    factors: int = text_option(
        1, "number of source factors, the word itself included; the source is tokenised text of "
        "`word|factor|...`", "--factors", kind=int, metavar="N", least=1, most=100,
    )  # fmt: skip

    unicode: str = token_option(
        "nfc", "Unicode normal form", "--unicode", choices=("nfc", "nfkc", "none")
    )
    normalize_punctuation: bool = token_option(
        False, "normalise punctuation as Moses does", "--normalize-punctuation", kind=bool
    )
    tokenize: bool = token_option(False, "tokenise as Moses does", "--tokenize", kind=bool)
    escape: bool = token_option(
        False, "write &apos; and the like as Moses' tokeniser does", "--escape", kind=bool,
        needs=_TOKENIZED,
    )  # fmt: skip
    split_hyphens: bool = token_option(
        False, "split words at hyphens, a-b to a @-@ b, as Moses' tokeniser does with -a",
        "--split-hyphens", kind=bool, needs=_TOKENIZED,
    )  # fmt: skip
    lowercase: bool = token_option(
        False, "write everything in lower case", "--lowercase", kind=bool,
        excludes=("--truecase",),
    )  # fmt: skip
    truecase: bool = token_option(
        False, "write words in their most frequent case: Moses' truecaser, trained on the text",
        "--truecase", kind=bool, needs=_TOKENIZED,
    )  # fmt: skip

    subwords: str | None = subword_option(
        None, "how words are split: by SentencePiece (bpe, unigram), by subword-nmt, or not at "
        "all; if not given, bpe, or subword-nmt with --codes", "--subwords",
        choices=("bpe", "unigram", "subword-nmt", "none"),
    )  # fmt: skip
    subword_vocabulary: int = subword_option(
        8000, "pieces of a SentencePiece model, or merges of subword-nmt", "--subword-vocabulary",
        kind=int, metavar="N", least=1, most=10_000_000,
    )  # fmt: skip
    joint: bool = subword_option(
        False, "one sub-word model for source and target together (the default)", "--joint",
        kind=bool, excludes=("--separate",),
    )  # fmt: skip
    separate: bool = subword_option(
        False, "one sub-word model for the source, another for the target", "--separate", kind=bool
    )
    codes: tuple[str, ...] = subword_option(
        (), "split words by these codes of subword-nmt instead of learning some: one file for both "
        "sides, or one for each", "--codes", metavar="FILE...", many=True, path="file",
    )  # fmt: skip
    character_coverage: float = subword_option(
        1.0, "share of the text's characters that SentencePiece's vocabulary covers; 0.9995 is "
        "usual for Chinese and Japanese", "--character-coverage", kind=float, metavar="P", above=0,
        most=1,
    )  # fmt: skip
    sample: int = subword_option(
        500_000, "number of randomly drawn sentence pairs to learn sub-words and --truecase from; "
        "0: all", "--sample", kind=int, metavar="N", least=0, most=10**12,
    )  # fmt: skip
    seed: int = subword_option(
        0, "random seed of --sample", "--seed", kind=int, metavar="N", least=0, most=2**63 - 1
    )
    vocabulary_format: str | None = subword_option(
        None, "vocabularies to write: spm keeps the text in words, which the model's .spm splits, "
        "as for Marian; json writes text in sub-words and Nematus' vocabularies; if not given, spm "
        "for SentencePiece without factors, else json", "--vocabulary-format",
        choices=("spm", "json"),
    )  # fmt: skip
    joint_vocabulary: bool = subword_option(
        False, "write one .json vocabulary for source and target", "--joint-vocabulary", kind=bool
    )
    vocabulary_size: int = subword_option(
        0, "largest number of words of a .json vocabulary, or of one for --compat marian, special "
        "words included; 0: all", "--vocabulary-size", kind=int, metavar="N", off=0, least=2,
        most=10_000_000, aliases=("--max-size", "-m"),
    )  # fmt: skip

    max_length: int = removal_option(
        100, "remove sentence pairs with a longer side, before words are split; 0: no limit",
        "--max-length", kind=int, metavar="N", unit="words", least=0, most=10**9,
    )  # fmt: skip
    max_characters: int = removal_option(
        2000, "remove sentence pairs with a longer side; 0: no limit", "--max-characters", kind=int,
        metavar="N", unit="characters", least=0, most=10**9,
    )  # fmt: skip
    max_ratio: float = removal_option(
        9.0, "remove sentence pairs whose longer side has more than R times the words of the "
        "other; 0: no limit", "--max-ratio", kind=float, metavar="R", off=0, least=1, most=1e9,
    )  # fmt: skip
    keep_empty: bool = removal_option(
        False, "keep sentence pairs with an empty side", "--keep-empty", kind=bool
    )
    keep_invalid: bool = removal_option(
        False, "keep sentence pairs with invalid UTF-8, whose invalid bytes become U+FFFD",
        "--keep-invalid", kind=bool,
    )  # fmt: skip
    keep_control: bool = removal_option(
        False, "keep sentence pairs with control characters, but remove these characters",
        "--keep-control", kind=bool,
    )  # fmt: skip
    keep_identical: bool = removal_option(
        False, "keep sentence pairs whose source and target are the same", "--keep-identical",
        kind=bool,
    )  # fmt: skip
    keep_duplicates: bool = removal_option(
        False, "keep repetitions of a sentence pair", "--keep-duplicates", kind=bool
    )

    apply: str | None = filter_option(
        None, "filter: prepare lines from standard input as the text of this folder of cgru prep, "
        "or as a preprocess.json says", "--apply", metavar="DIR", excludes=("--undo", *_FOLDER),
        path="file",
    )  # fmt: skip
    undo: str | None = filter_option(
        None, "filter: turn lines prepared by --apply back into text", "--undo", metavar="DIR",
        excludes=_FOLDER, path="file",
    )  # fmt: skip
    side: str | None = filter_option(
        None, "side whose preparation --apply (source if not given) or --undo (target if not "
        "given) uses", "--side", choices=("source", "target"), needs=("--apply or --undo",),
    )  # fmt: skip
    words: bool = filter_option(
        False, "do not split words into sub-words with --apply", "--words", kind=bool,
        needs=("--apply",),
    )  # fmt: skip

    vocabulary_only: bool = program_option(
        False, "make no folder, only the vocabulary of a text, byte for byte as the --compat "
        "program makes it: Marian's from standard input to standard output, the others' from FILE "
        "to FILE.json (dl4mt: FILE.pkl)", "--vocabulary-only", kind=bool,
    )  # fmt: skip
    compat: str | None = program_option(
        None, "program whose vocabulary --vocabulary-only makes, as marian-vocab or "
        "build_dictionary.py would", "--compat", choices=VOCABULARY_PROGRAMS,
        needs=("--vocabulary-only",),
    )  # fmt: skip

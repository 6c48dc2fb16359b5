"""The options of `cgru prep`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..text.copying import pattern
from .configured import ConfiguredOptions, general_option
from .declaration import choice, number, options_of, read_by, whole
from .kinds import COPIED

VOCABULARY_PROGRAMS = ("marian", "nematus", "nematus-tf", "dl4mt")

text_option = options_of("Text")
token_option = options_of("Normalisation and tokens")
tokenized_option = options_of("Normalisation and tokens", needs="--tokenize")
subword_option = options_of("Sub-words and vocabularies")
removal_option = options_of("Cleaning")
filter_option = options_of("Use as a filter")
program_option = options_of("Vocabularies of other programs")

_FOLDER = "--source, --target, --dev, --test, --force"


@dataclass(frozen=True)
class PrepOptions(ConfiguredOptions):
    """`cgru prep OUT`, the filters `cgru prep --apply DIR` and `--undo DIR`, and the vocabularies
    of other programs: `cgru prep --vocabulary-only`.
    """

    jobs: int | None = general_option(
        "-j --jobs N: number of parallel processes (the result is the same); one for each "
        "processor if not given",
        whole(1, 4096),
    )
    force: bool = general_option(
        "-f --force: make OUT again if it was made from other text or with other options"
    )
    quiet: bool = general_option("--quiet: write only warnings and errors to standard error")

    source: tuple[str, ...] = text_option(
        "-s --source FILE...: source text to train on, one sentence per line, .gz too"
    )
    target: tuple[str, ...] = text_option(
        "-t --target FILE...: target text to train on: a file for each source file, its "
        "translation line by line"
    )
    dev: tuple[str, ...] = text_option("--dev SRC TRG: source and target text to validate on")
    test: tuple[str, ...] = text_option(
        "--test SRC TRG: source and target text to test on; several test sets are numbered, "
        "test1, test2 and so on"
    )
    source_lang: str | None = text_option(
        "--source-lang CODE: source language, for --tokenize and --normalize-punctuation"
    )
    target_lang: str | None = text_option(
        "--target-lang CODE: target language, for --tokenize and --normalize-punctuation"
    )
    factors: int = text_option(
        "--factors N: number of source factors, the word itself included; the source is "
        "tokenised text of `word|factor|...`",
        whole(1, 100, default=1),
    )

    unicode: Literal["nfc", "nfkc", "none"] = token_option(
        "--unicode: Unicode normal form", choice("nfc", "nfkc", "none", default="nfc")
    )
    normalize_punctuation: bool = token_option(
        "--normalize-punctuation: normalise punctuation as Moses does"
    )
    tokenize: bool = token_option("--tokenize: tokenise as Moses does")
    escape: bool = tokenized_option(
        "--escape: write special characters as entities such as &apos;, as Moses' tokeniser does"
    )
    split_hyphens: bool = tokenized_option(
        "--split-hyphens: split words at hyphens (a-b becomes a @-@ b), as Moses' tokeniser does "
        "with -a"
    )
    lowercase: bool = token_option(
        "--lowercase: write everything in lower case", excludes="--truecase"
    )
    truecase: bool = tokenized_option(
        "--truecase: write words in their most frequent case: Moses' truecaser, trained on the text"
    )

    subwords: Literal["bpe", "unigram", "subword-nmt", "none"] | None = subword_option(
        "--subwords: method of splitting words: SentencePiece (bpe, unigram), subword-nmt, or "
        "none; if not given, bpe, or subword-nmt with --codes",
        choice("bpe", "unigram", "subword-nmt", "none"),
    )
    subword_vocabulary: int = subword_option(
        "--subword-vocabulary N: pieces of a SentencePiece model, or merges of subword-nmt",
        whole(1, 10_000_000, default=8000),
    )
    joint: bool = subword_option(
        "--joint: one sub-word model for source and target together (the default)",
        excludes="--separate",
    )
    separate: bool = subword_option(
        "--separate: one sub-word model for the source, another for the target"
    )
    codes: tuple[str, ...] = subword_option(
        "--codes FILE...: split words with these subword-nmt codes instead of learning new ones: "
        "one file for both sides, or one for each"
    )
    character_coverage: float = subword_option(
        "--character-coverage P: share of the text's characters that the SentencePiece vocabulary "
        "covers; 0.9995 is usual for Chinese and Japanese",
        number(most=1, above=0, default=1.0),
    )
    byte_fallback: bool = subword_option(
        "--byte-fallback: let SentencePiece encode characters outside its vocabulary as bytes, "
        "with 256 of its pieces, so that no character is unknown"
    )
    copy: tuple[str, ...] = subword_option(
        "--copy PATTERN...: " + COPIED + "; where a span stands on both sides of a pair, a "
        "placeholder, one piece of the vocabulary, replaces it; cgru translate then copies such "
        "spans without being asked",
        read_by(pattern),
        excludes="--tokenize, --codes",
    )
    sample: int = subword_option(
        "--sample N: number of randomly drawn sentence pairs from which sub-words and --truecase "
        "are learned; 0: all",
        whole(0, 10**12, default=500_000),
    )
    seed: int = subword_option("--seed N: random seed of --sample", whole(0, 2**63 - 1, default=0))
    vocabulary_format: str | None = subword_option(
        "--vocabulary-format: vocabularies to write: spm keeps the text in words, which the "
        "model's .spm splits, as for Marian; json writes text in sub-words and Nematus' "
        "vocabularies; if not given, spm for SentencePiece without factors, else json",
        choice("spm", "json"),
    )
    joint_vocabulary: bool = subword_option(
        "--joint-vocabulary: write one .json vocabulary for source and target"
    )
    vocabulary_size: int = subword_option(
        "--vocabulary-size N (--max-size -m): maximum number of words in a .json vocabulary, or "
        "in one for --compat marian, including special words; 0: all",
        whole(2, 10_000_000, off=0, default=0),
    )

    max_length: int = removal_option(
        "--max-length N: remove sentence pairs with a longer side, before words are split; 0: no "
        "limit (words)",
        whole(0, 10**9, default=100),
    )
    max_characters: int = removal_option(
        "--max-characters N: remove sentence pairs with a longer side; 0: no limit (characters)",
        whole(0, 10**9, default=2000),
    )
    max_ratio: float = removal_option(
        "--max-ratio R: remove sentence pairs whose longer side has more than R times the words "
        "of the other; 0: no limit",
        number(1, 1e9, off=0, default=9.0),
    )
    keep_empty: bool = removal_option("--keep-empty: keep sentence pairs with an empty side")
    keep_invalid: bool = removal_option(
        "--keep-invalid: keep sentence pairs with invalid UTF-8, whose invalid bytes become U+FFFD"
    )
    keep_control: bool = removal_option(
        "--keep-control: keep sentence pairs with control characters, but remove these characters"
    )
    keep_identical: bool = removal_option(
        "--keep-identical: keep sentence pairs whose source and target are the same"
    )
    keep_duplicates: bool = removal_option("--keep-duplicates: keep repetitions of a sentence pair")

    apply: str | None = filter_option(
        "--apply DIR: prepare lines from standard input like the text of this folder (made by "
        "cgru prep), or as a preprocess.json specifies",
        excludes=f"--undo, {_FOLDER}",
    )
    undo: str | None = filter_option(
        "--undo DIR: turn lines that --apply prepared back into plain text", excludes=_FOLDER
    )
    side: str | None = filter_option(
        "--side: side whose preparation is used by --apply (source if not given) or --undo "
        "(target if not given)",
        choice("source", "target"),
        needs="--apply or --undo",
    )
    words: bool = filter_option("--words: leave words unsplit with --apply", needs="--apply")

    vocabulary_only: bool = program_option(
        "--vocabulary-only: make only the vocabulary of a text, byte for byte as the --compat "
        "program makes it: for marian from standard input to standard output, for the others from "
        "FILE to FILE.json (dl4mt: FILE.pkl)"
    )
    compat: str | None = program_option(
        "--compat: program whose vocabulary --vocabulary-only makes, like marian-vocab or "
        "build_dictionary.py",
        choice(*VOCABULARY_PROGRAMS),
        needs="--vocabulary-only",
    )

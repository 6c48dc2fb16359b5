"""The options of `cgru prep`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ..text.copying import pattern
from .configured import GENERAL, ConfiguredOptions
from .declaration import Group
from .kinds import COPIED, pairs_of_files, two_files
from .scope import Scope

UnicodeForm = Literal["nfc", "nfkc", "none"]
Subwords = Literal["bpe", "unigram", "subword-nmt", "none"]

TEXT = Group("Text")
FILES = Group("Text", applies_to=Scope.MACHINE)
TOKENS = Group("Normalisation and tokens")
TOKENIZED = Group("Normalisation and tokens", needs="--tokenize")
SUBWORDS = Group("Sub-words and vocabularies")
_NO_PIECES = ("--codes", "--subwords subword-nmt", "--subwords none")
PIECES = Group("Sub-words and vocabularies", excludes=_NO_PIECES)
CLEANING = Group("Cleaning")
FILTER = Group("Use as a filter", applies_to=Scope.MACHINE)
PROGRAMS = Group("Vocabularies of other programs", applies_to=Scope.MACHINE | Scope.VOCABULARY)

_FOLDER = ("--source", "--target", "--dev", "--dev-lines", "--test", "--force")


@dataclass(frozen=True)
class PrepOptions(ConfiguredOptions):
    """`cgru prep OUT`; the filters `--apply DIR` and `--undo DIR`; and `--vocabulary-only`."""

    jobs: int | None = GENERAL.whole(1, 4096, applies_to=Scope.MACHINE)("""
        -j --jobs N: number of parallel processes, which does not affect the result; if not given,
        one for each processor""")
    force: bool = GENERAL.values(applies_to=Scope.MACHINE)("""
        -f --force: rebuild OUT if it was made from different text or with different options""")
    quiet: bool = GENERAL.values(applies_to=Scope.MACHINE | Scope.VOCABULARY)(
        "-q --quiet: write only warnings and errors to standard error"
    )

    source: tuple[str, ...] = FILES("""
        -s --source FILE...: source text to train on, one sentence per line, .gz too""")
    target: tuple[str, ...] = FILES("""
        -t --target FILE...: target text to train on: a file for each source file, its translation
        line by line""")
    dev: tuple[str, ...] = FILES.values(together=two_files)(
        "--dev SRC TRG: source and target text to validate on"
    )
    dev_lines: int = TEXT.whole(0, 10**9, default=0, excludes=("--dev", "--keep-duplicates"))("""
        --dev-lines N: validate on N sentence pairs of the training text, drawn at random after
        cleaning and left out of the training; 0: none""")
    test: tuple[str, ...] = FILES.values(together=pairs_of_files)("""
        --test SRC TRG: source and target text to test on; several test sets are numbered, test1,
        test2 and so on""")
    source_lang: str | None = TEXT("""
        --source-lang CODE: source language, for --tokenize and --normalize-punctuation""")
    target_lang: str | None = TEXT("""
        --target-lang CODE: target language, for --tokenize and --normalize-punctuation""")
    factors: int = TEXT.whole(1, 100, default=1, excludes=("--copy", "--vocabulary-format spm"))("""
        --factors N: number of source factors, including the word itself; the source is tokenised
        text of `word|factor|...`""")

    unicode: UnicodeForm = TOKENS.choice(*get_args(UnicodeForm), default="nfc")("""
        --unicode: Unicode normalisation form""")
    normalize_punctuation: bool = TOKENS("""
        --normalize-punctuation: normalise punctuation as Moses does""")
    tokenize: bool = TOKENS("--tokenize: tokenise as Moses does")
    escape: bool = TOKENIZED("""
        --escape: write special characters as entities such as &apos;, as Moses' tokeniser does""")
    split_hyphens: bool = TOKENIZED("""
        --split-hyphens: split words at hyphens (a-b becomes a @-@ b), as Moses' tokeniser does with
        -a""")
    lowercase: bool = TOKENS.values(excludes="--truecase")("""
        --lowercase: write everything in lower case""")
    truecase: bool = TOKENIZED("""
        --truecase: write words in their most frequent case: Moses' truecaser, trained on the
        text""")

    subwords: Subwords | None = SUBWORDS.choice(*get_args(Subwords))("""
        --subwords: method of splitting words: SentencePiece (bpe, unigram), subword-nmt, or none;
        if not given, bpe, or subword-nmt with --codes""")
    subword_vocabulary: int = SUBWORDS.whole(1, 10_000_000, default=8000)("""
        --subword-vocabulary N: pieces of a SentencePiece model, or merges of subword-nmt""")
    joint: bool = SUBWORDS.values(excludes=("--separate", "--subwords none"))("""
        --joint: one sub-word model for source and target together (the default)""")
    separate: bool = SUBWORDS.values(excludes="--subwords none")("""
        --separate: one sub-word model for the source, another for the target""")
    codes: tuple[str, ...] = SUBWORDS.values(
        excludes=("--subwords bpe", "--subwords unigram", "--subwords none"),
        applies_to=Scope.MACHINE,
    )("""
        --codes FILE...: split words with these subword-nmt codes instead of learning new ones: one
        file for both sides, or one for each""")
    character_coverage: float = PIECES.number(most=1, above=0, default=1.0)("""
        --character-coverage P: share of the text's characters that the SentencePiece vocabulary
        covers; 0.9995 is usual for Chinese and Japanese""")
    byte_fallback: bool = PIECES("""
        --byte-fallback: let SentencePiece encode characters outside its vocabulary as bytes, with
        256 of its pieces, so that no character is unknown""")
    copy: tuple[str, ...] = SUBWORDS.values(pattern, excludes=("--tokenize", *_NO_PIECES))(f"""
        --copy PATTERN...: {COPIED}; a placeholder, which is one piece of the vocabulary, replaces
        each span that occurs on both sides of a pair; cgru translate then copies such spans by
        default""")
    sample: int = SUBWORDS.whole(0, 10**12, default=500_000)("""
        --sample N: number of randomly drawn sentence pairs from which to learn sub-words and
        --truecase; 0: all""")
    seed: int = SUBWORDS.whole(0, 2**63 - 1, default=0)("""
        --seed N: random seed of --sample and --dev-lines""")
    vocabulary_format: str | None = SUBWORDS.choice("spm", "json")("""
        --vocabulary-format: vocabularies to write: spm leaves the text unsplit for the model's .spm
        to split, as in Marian; json writes text split into sub-words, and Nematus' vocabularies; if
        not given, spm for SentencePiece without factors, else json""")
    joint_vocabulary: bool = SUBWORDS("""
        --joint-vocabulary: write one .json vocabulary for source and target""")
    vocabulary_size: int = SUBWORDS.whole(
        2, 10_000_000, off=0, default=0, applies_to=Scope.VOCABULARY
    )("""
        --vocabulary-size N (--max-size -m): maximum number of words in a .json vocabulary, or in a
        vocabulary for --compat marian, including special words; 0: all""")

    max_length: int = CLEANING.whole(0, 10**9, default=100)("""
        --max-length N: remove sentence pairs with a longer side, before words are split; 0: no
        limit (words)""")
    max_characters: int = CLEANING.whole(0, 10**9, default=2000)("""
        --max-characters N: remove sentence pairs with a longer side; 0: no limit (characters)""")
    max_ratio: float = CLEANING.number(1, 1e9, off=0, default=9.0)("""
        --max-ratio R: remove sentence pairs whose longer side has more than R times the words of
        the other; 0: no limit""")
    keep_empty: bool = CLEANING("--keep-empty: keep sentence pairs with an empty side")
    keep_invalid: bool = CLEANING("""
        --keep-invalid: keep sentence pairs with invalid UTF-8, and replace invalid bytes by
        U+FFFD""")
    keep_control: bool = CLEANING("""
        --keep-control: keep sentence pairs with control characters, and remove these characters""")
    keep_identical: bool = CLEANING("""
        --keep-identical: keep sentence pairs whose source and target are the same""")
    keep_duplicates: bool = CLEANING("--keep-duplicates: keep repetitions of a sentence pair")

    apply: str | None = FILTER.values(excludes=("--undo", *_FOLDER))("""
        --apply DIR: prepare lines from standard input like the text of this folder (made by cgru
        prep), or as a preprocess.json specifies, without placeholders""")
    undo: str | None = FILTER.values(excludes=_FOLDER)("""
        --undo DIR: turn lines that --apply prepared back into plain text""")
    side: str | None = FILTER.choice("source", "target", needs="--apply or --undo")("""
        --side: side whose preparation --apply or --undo uses; if not given, source for --apply,
        target for --undo""")
    words: bool = FILTER.values(needs="--apply")("--words: leave words unsplit with --apply")

    vocabulary_only: bool = PROGRAMS("""
        --vocabulary-only: make only the vocabulary of a text, byte for byte like the --compat
        program: for marian from standard input to standard output, for the others from FILE to
        FILE.json (dl4mt: FILE.pkl)""")
    compat: str | None = PROGRAMS.choice(
        "marian", "nematus", "nematus-tf", "dl4mt", needs="--vocabulary-only"
    )("""
        --compat: program whose vocabulary --vocabulary-only makes, like marian-vocab or
        build_dictionary.py""")

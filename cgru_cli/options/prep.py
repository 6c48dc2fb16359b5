"""Every option of `cgru prep`."""

from __future__ import annotations

from dataclasses import dataclass

from .flags import option

SUBWORDS = ("bpe", "unigram", "subword-nmt", "none")
UNICODE = ("nfc", "nfkc", "none")
VOCABULARY_PROGRAMS = ("marian", "nematus", "nematus-tf", "dl4mt")


@dataclass(frozen=True)
class PrepOptions:
    """`cgru prep OUT`, the filters `cgru prep --apply DIR` and `--undo DIR`, and the vocabularies
    of other programs: `cgru prep --vocabulary-only`.
    """

    source: tuple[str, ...] = option(
        (), "source text to train on, a sentence a line, .gz too", "-s", "--source",
        metavar="FILE...", many=True,
    )  # fmt: skip
    target: tuple[str, ...] = option(
        (), "its translation, file by file as long as the source's", "-t", "--target",
        metavar="FILE...", many=True,
    )  # fmt: skip
    dev: tuple[str, ...] = option(
        (), "text to validate on", "--dev", metavar="SRC TRG", many=True,
    )  # fmt: skip
    test: tuple[str, ...] = option(
        (), "text to test on; several are numbered: test1, test2 and so on", "--test",
        metavar="SRC TRG", many=True,
    )  # fmt: skip
    source_lang: str | None = option(
        None, "language of the source, for --tokenize and --normalize-punctuation",
        "--source-lang", metavar="CODE",
    )  # fmt: skip
    target_lang: str | None = option(
        None, "language of the target", "--target-lang", metavar="CODE"
    )

    unicode: str = option("nfc", "Unicode normal form", "--unicode", choices=UNICODE)
    normalize_punctuation: bool = option(
        False, "Moses' normalize-punctuation", "--normalize-punctuation", kind=bool
    )
    tokenize: bool = option(False, "Moses' tokenizer", "--tokenize", kind=bool)
    escape: bool = option(
        False, "with --tokenize: write &apos; and the like, as Moses does", "--escape", kind=bool
    )
    split_hyphens: bool = option(
        False, "with --tokenize: a-b becomes a @-@ b (Moses' -a)", "--split-hyphens", kind=bool
    )
    lowercase: bool = option(False, "lower-case everything", "--lowercase", kind=bool)
    truecase: bool = option(
        False, "with --tokenize: Moses' truecaser, trained on the text", "--truecase", kind=bool
    )
    factors: int = option(
        1, "factors of a source word, itself counted: word|factor|.., tokenised already",
        "--factors", kind=int, metavar="N",
    )  # fmt: skip

    subwords: str | None = option(
        None, "by SentencePiece (bpe, unigram), by subword-nmt, or whole words; bpe if not given, "
        "subword-nmt with --codes", "--subwords", choices=SUBWORDS,
    )  # fmt: skip
    subword_vocabulary: int = option(
        8000, "pieces of a SentencePiece model, or merges of subword-nmt", "--subword-vocabulary",
        kind=int, metavar="N",
    )  # fmt: skip
    joint: bool = option(
        False, "one sub-word model for both sides, as is the default", "--joint", kind=bool
    )
    separate: bool = option(False, "a sub-word model for each side", "--separate", kind=bool)
    codes: tuple[str, ...] = option(
        (), "apply these codes of subword-nmt, for both sides or one for each; train none",
        "--codes", metavar="FILE...", many=True,
    )  # fmt: skip
    character_coverage: float = option(
        1.0, "share of the characters that SentencePiece knows; 0.9995 for Chinese or Japanese",
        "--character-coverage", kind=float, metavar="P",
    )  # fmt: skip
    vocabulary_format: str | None = option(
        None, "spm: the text stays whole and a .spm splits it, as Marian does; json: pieces in the "
        "text, Nematus' vocabularies; spm where SentencePiece splits, unless there are factors",
        "--vocabulary-format", choices=("spm", "json"),
    )  # fmt: skip
    joint_vocabulary: bool = option(
        False, "with json: one vocabulary for both sides", "--joint-vocabulary", kind=bool
    )
    vocabulary_size: int = option(
        0, "with json, and for --compat marian: words of a vocabulary at most, specials counted; "
        "0: all",
        "--vocabulary-size", aliases=("--max-size", "-m"), kind=int, metavar="N",
    )  # fmt: skip
    sample: int = option(
        500_000, "pairs, drawn by chance, that sub-words and true case are learned from; 0: all",
        "--sample", kind=int, metavar="N",
    )  # fmt: skip
    seed: int = option(0, "of --sample", "--seed", kind=int, metavar="N")

    max_length: int = option(
        100, "remove pairs with a longer side, before sub-words; 0: keep", "--max-length",
        kind=int, metavar="N", unit="words",
    )  # fmt: skip
    max_characters: int = option(
        2000, "remove pairs with a longer side; 0: keep", "--max-characters", kind=int,
        metavar="N", unit="characters",
    )  # fmt: skip
    max_ratio: float = option(
        9.0, "remove pairs whose longer side has more times the words of the other; 0: keep",
        "--max-ratio", kind=float, metavar="R",
    )  # fmt: skip
    keep_empty: bool = option(False, "keep pairs with an empty side", "--keep-empty", kind=bool)
    keep_invalid: bool = option(
        False, "keep lines of invalid UTF-8, U+FFFD in its place", "--keep-invalid", kind=bool
    )
    keep_control: bool = option(
        False, "keep pairs with control characters, without these", "--keep-control", kind=bool
    )
    keep_identical: bool = option(
        False, "keep pairs whose source is the target", "--keep-identical", kind=bool
    )
    keep_duplicates: bool = option(
        False, "keep pairs that came before", "--keep-duplicates", kind=bool
    )

    jobs: int | None = option(
        None, "processes; all processors if not given; the result is the same", "-j", "--jobs",
        kind=int, metavar="N",
    )  # fmt: skip
    force: bool = option(
        False, "begin anew where the folder holds something else", "-f", "--force", kind=bool
    )
    quiet: bool = option(False, "only warnings and errors", "--quiet", kind=bool)

    apply: str | None = option(
        None, "filter: lines as that folder, or preprocess.json, has them", "--apply",
        metavar="DIR",
    )  # fmt: skip
    undo: str | None = option(None, "filter: such lines back to text", "--undo", metavar="DIR")
    side: str | None = option(
        None, "of a filter; source for --apply and target for --undo if not given", "--side",
        choices=("source", "target"),
    )  # fmt: skip
    words: bool = option(False, "with --apply: without sub-words", "--words", kind=bool)

    vocabulary_only: bool = option(
        False, "make no folder, only the vocabulary of a text, equal to the byte to that of the "
        "program that --compat names: of Marian from standard input to standard output, of the "
        "others from FILE to FILE.json (dl4mt: FILE.pkl)", "--vocabulary-only", kind=bool,
    )  # fmt: skip
    compat: str | None = option(
        None, "with --vocabulary-only: the program that would have made it, with marian-vocab or "
        "build_dictionary.py", "--compat", choices=VOCABULARY_PROGRAMS,
    )  # fmt: skip

#!/usr/bin/env python3
"""Moses' and subword-nmt's scripts, implemented with sacremoses, sacreBLEU and subword-nmt.

    moses.py FOLDER     writes FOLDER/moses-scripts, FOLDER/subword-nmt, ...: links to this program

Under the name of a script, the program does what that script does.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

SCRIPTS = {
    "moses-scripts/scripts": (
        "tokenizer/normalize-punctuation.perl tokenizer/tokenizer.perl tokenizer/detokenizer.perl "
        "recaser/train-truecaser.perl recaser/truecase.perl recaser/detruecase.perl "
        "tokenizer/escape-special-chars.perl training/reduce-factors.perl "
        "training/clean-corpus-n.perl generic/multi-bleu.perl generic/multi-bleu-detok.perl"
    ),
    "../preprocess": "normalise-romanian.py remove-diacritics.py",
    "subword-nmt": "learn_bpe.py apply_bpe.py get_vocab.py learn_joint_bpe_and_vocab.py",
}


def option(arguments: list[str], name: str, default: str = "") -> str:
    """The value of an option such as `-l en`."""
    return arguments[arguments.index(name) + 1] if name in arguments else default


def lines_of(path: str) -> list[str]:
    """The lines of a text; only a line feed ends one."""
    return Path(path).read_bytes().decode("utf-8").removesuffix("\n").split("\n")


def each_line(change: Callable[[str], str]) -> None:
    """Write every line of standard input after a change."""
    sys.stdin.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.reconfigure(encoding="utf-8")
    for line in sys.stdin:
        print(change(line.removesuffix("\n")))


def normalize(arguments: list[str]) -> None:
    from sacremoses import MosesPunctNormalizer

    each_line(MosesPunctNormalizer(option(arguments, "-l", "en")).normalize)


def tokenize(arguments: list[str]) -> None:
    from sacremoses import MosesTokenizer

    tokenizer = MosesTokenizer(option(arguments, "-l", "en"))  # also for -penn
    escape, dashes = "-no-escape" not in arguments, "-a" in arguments
    each_line(lambda line: tokenizer.tokenize(line, dashes, return_str=True, escape=escape))


def escape(arguments: list[str]) -> None:
    from sacremoses import MosesTokenizer

    each_line(MosesTokenizer().escape_xml)


def reduce_factors(arguments: list[str]) -> None:
    """Keep one factor of each word, counted from 0."""
    factor = int(option(arguments, "--factor", "0"))
    lines = [
        " ".join(word.split("|")[factor] for word in line.split())
        for line in lines_of(option(arguments, "--corpus"))
    ]
    text = "".join(f"{line}\n" for line in lines)
    Path(option(arguments, "--reduced-corpus")).write_text(text, "utf-8")


def detokenize(arguments: list[str]) -> None:
    from sacremoses import MosesDetokenizer

    detokenizer = MosesDetokenizer(option(arguments, "-l", "en"))
    each_line(lambda line: detokenizer.detokenize(line.split()))


def romanian(arguments: list[str]) -> None:
    """S and T with a comma below instead of a cedilla."""
    each_line(lambda line: line.translate(str.maketrans("ŞşŢţ", "ȘșȚț")))


def without_diacritics(arguments: list[str]) -> None:
    each_line(lambda line: line.translate(str.maketrans("ȘșȚțĂăÂâÎî", "SsTtAaAaIi")))


def train_truecaser(arguments: list[str]) -> None:
    from sacremoses import MosesTruecaser

    corpus = option(arguments, "-corpus", option(arguments, "--corpus"))
    model = option(arguments, "-model", option(arguments, "--model"))
    Path(model).parent.mkdir(exist_ok=True)  # empty in the repository, so missing in a copy
    MosesTruecaser().train([line.split() for line in lines_of(corpus)], save_to=model)


def truecase(arguments: list[str]) -> None:
    from sacremoses import MosesTruecaser

    model = option(arguments, "-model", option(arguments, "--model"))
    truecaser = MosesTruecaser(model)
    each_line(lambda line: truecaser.truecase(line, return_str=True))


def detruecase(arguments: list[str]) -> None:
    from sacremoses import MosesDetruecaser

    detruecaser = MosesDetruecaser()
    each_line(lambda line: detruecaser.detruecase(line, return_str=True))


def clean(arguments: list[str]) -> None:
    """Keep pairs within the limits of length, and with a ratio of at most nine."""
    corpus, *languages, result, least, most = (a for a in arguments if not a.startswith("-"))
    pairs = []
    for pair in zip(*(lines_of(f"{corpus}.{language}") for language in languages), strict=True):
        lengths = [len(line.split()) for line in pair]
        if int(least) <= min(lengths) and max(lengths) <= min(int(most), 9 * min(lengths)):
            pairs.append([" ".join(line.split()) for line in pair])
    for side, language in enumerate(languages):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        Path(f"{result}.{language}").write_text(text, "utf-8")


def multi_bleu(arguments: list[str], tokenizer: str = "none") -> None:
    from sacrebleu.metrics import BLEU

    lowercase = "-lc" in arguments
    reference = next(a for a in arguments if not a.startswith("-"))
    bleu = BLEU(lowercase=lowercase, force=True, tokenize=tokenizer, smooth_method="none")
    found = bleu.corpus_score(lines_of("/dev/stdin"), [lines_of(reference)])
    ratio = found.sys_len / found.ref_len if found.ref_len else 0.0
    print(
        f"BLEU = {found.score:.2f}, {'/'.join(f'{p:.1f}' for p in found.precisions)} "
        f"(BP={found.bp:.3f}, ratio={ratio:.3f}, hyp_len={found.sys_len}, ref_len={found.ref_len})"
    )


PROGRAMS: dict[str, Callable[[list[str]], None]] = {
    "normalize-punctuation.perl": normalize,
    "tokenizer.perl": tokenize,
    "normalise-romanian.py": romanian,
    "remove-diacritics.py": without_diacritics,
    "escape-special-chars.perl": escape,
    "reduce-factors.perl": reduce_factors,
    "detokenizer.perl": detokenize,
    "train-truecaser.perl": train_truecaser,
    "truecase.perl": truecase,
    "detruecase.perl": detruecase,
    "clean-corpus-n.perl": clean,
    "multi-bleu.perl": multi_bleu,
    "multi-bleu-detok.perl": lambda arguments: multi_bleu(arguments, "13a"),
}


def write(folder: Path) -> None:
    """Write links to this program under the names of all scripts, and keep existing scripts."""
    for place, names in SCRIPTS.items():
        for name in names.split():
            path = folder / place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.symlink_to(Path(__file__).resolve())


def main() -> None:
    program = Path(sys.argv[0])
    if program.name in PROGRAMS:
        try:
            PROGRAMS[program.name](sys.argv[1:])
        except OSError as error:
            sys.exit(f"{program.name}: {error}")
    elif program.name == "moses.py":
        write(Path(sys.argv[1]))
    else:
        runpy.run_module(f"subword_nmt.{program.stem}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

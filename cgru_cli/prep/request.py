"""The request of `cgru prep`, derived from its options: pairs, pipeline, vocabularies."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from ..options.prep import PrepOptions
from ..system.structured_files import sha256
from ..text.copying import PLACEHOLDERS
from ..text.pipeline import PipelineSettings
from . import raw_text


@dataclass(frozen=True)
class Request:
    """A request for a folder.

    options: including defaults that depend on other options. sets: name, source and target file of
    each text to validate or test on. inputs: role, number, path and hash of every input file.
    """

    options: PrepOptions
    pipeline: PipelineSettings
    sets: tuple[tuple[str, str, str], ...]
    inputs: list[dict[str, Any]]

    def recorded(self) -> dict[str, Any]:
        """The options and inputs that determine the content, to compare with later runs."""
        options = self.options.shared() | {"copy": [*self.options.copy]}  # a list, as in JSON
        return {"options": options, "inputs": self.inputs}


def request(options: PrepOptions) -> Request:
    """The request that the options state.

    Raises UsageError for options that exclude each other or need other options, CgruError for
    unreadable files.
    """
    _check(options)
    options = _with_defaults(options)
    inputs = []
    for role in ("source", "target", "dev", "test", "codes"):
        for number, path in enumerate(getattr(options, role), 1):
            raw_text.check(path)
            digest = sha256(path)
            inputs.append({"role": role, "number": number, "path": path, "sha256": digest})
    return Request(options, _pipeline(options), _sets(options), inputs)


def _with_defaults(options: PrepOptions) -> PrepOptions:
    subwords = options.subwords
    if subwords is None:
        subwords = "subword-nmt" if options.codes else "bpe"
    by_sentencepiece = subwords in ("bpe", "unigram")
    if len(options.codes) > 2 or (len(options.codes) == 2 and options.joint):
        raise UsageError("--codes takes one file for both sides, or one for each")
    if len(options.codes) == 1 and options.separate:
        raise UsageError(
            "one file of --codes serves both sides: give one for each side, or omit --separate"
        )
    kind = options.vocabulary_format
    if kind is None:
        kind = "spm" if by_sentencepiece and options.factors == 1 else "json"
    if kind == "spm" and not by_sentencepiece:
        raise UsageError(f"--vocabulary-format spm needs --subwords bpe or unigram, not {subwords}")
    if kind == "spm" and (options.joint_vocabulary or options.vocabulary_size):
        raise UsageError(
            "--joint-vocabulary and --vocabulary-size are for --vocabulary-format json; for a .spm "
            "there are --joint and --subword-vocabulary"
        )
    fixed = len(fixed_words(options))
    if 0 < options.vocabulary_size <= fixed:
        raise UsageError(
            "--vocabulary-size counts eos, UNK, bytes and placeholders: at least "
            f"{fixed + 1}, or 0 for all"
        )
    return dataclasses.replace(
        options,
        subwords=subwords,
        vocabulary_format=kind,
        joint=not options.separate and len(options.codes) < 2 and subwords != "none",
    )


def fixed_words(options: PrepOptions) -> list[str]:
    """The words that a .json vocabulary has even if the training text lacks them."""
    of_bytes = [f"<0x{byte:02X}>" for byte in range(256)] if options.byte_fallback else []
    return ["eos", "UNK", *(PLACEHOLDERS if options.copy else ()), *of_bytes]


def _check(options: PrepOptions) -> None:
    if not options.source or not options.target:
        raise UsageError("name the text: cgru prep OUT -s FILE... -t FILE...")
    if len(options.source) != len(options.target):
        raise UsageError(
            f"--source names {len(options.source)} files, --target {len(options.target)}; "
            "they go in pairs"
        )
    if options.tokenize or options.normalize_punctuation:
        sides = ("source", "target") if options.factors == 1 else ("target",)
        for side in sides:
            if not getattr(options, f"{side}_lang"):
                needed = "--tokenize" if options.tokenize else "--normalize-punctuation"
                raise UsageError(f"{needed} needs --{side}-lang, as in --{side}-lang en")


def _sets(options: PrepOptions) -> tuple[tuple[str, str, str], ...]:
    dev = [("dev", options.dev[0], options.dev[1])] if options.dev else []
    sources, targets = options.test[::2], options.test[1::2]
    names = [f"test{i}" for i in range(1, len(sources) + 1)] if len(sources) > 1 else ["test"]
    return (*dev, *zip(names[: len(sources)], sources, targets, strict=True))


def _pipeline(options: PrepOptions) -> PipelineSettings:
    same = "unicode normalize_punctuation tokenize escape split_hyphens factors".split()
    return PipelineSettings(
        **{name: getattr(options, name) for name in same},
        languages=(options.source_lang or "", options.target_lang or ""),
        case="lower" if options.lowercase else "true" if options.truecase else "none",
        subwords=options.subwords or "none",
        pieces=options.subwords != "none" and options.vocabulary_format == "json",
        copy=options.copy,
    )

"""`cgru prep` and `prepare`: prepare a folder for training, or run its pipeline as a filter."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import os
import platform
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__
from ..corpus.parallel_files import check_line_counts
from ..errors import CgruError, UsageError, at, warn
from ..formats.vocabulary_files import write_vocabulary
from ..options.flags import statements
from ..options.keywords import NOT_IN_PYTHON, checked, in_python, lists, takes
from ..options.prep import PrepOptions
from ..system.atomic_files import atomic_write
from ..system.line_writer import LineWriter
from ..system.lines import LineReader, byte_lines
from ..system.process_pool import ProcessPool
from ..system.side_by_side import processors
from ..system.structured_files import write_json
from ..system.terminal import tell
from ..text import pipeline
from ..text.copying import Copying
from ..text.moses import CaseModel
from ..text.pipeline import SIDES, Preprocessing
from ..text.subwords import learn_codes, learn_pieces, read_codes
from ..text.vocabulary import Vocabulary
from . import chunk_work
from .clean import clean
from .folder import Folder, writes
from .raw_text import chunks, numbered, read_lines
from .request import Request, fixed_words, request
from .word_counts import WordCounts

ENDINGS = {"source": "src", "target": "trg"}
_LINES = 100  # lines that a filter reads at once
_FILTERS = {"apply", "undo", "side", "words", "vocabulary_only", "compat"}
_KNOWN = [*statements(PrepOptions).keys() - NOT_IN_PYTHON - _FILTERS]


def run(folder: str | None, options: PrepOptions) -> None:
    """Make the folder, or filter standard input. Raises CgruError, UsageError, OutputClosed."""
    if options.apply or options.undo:
        if folder:
            raise UsageError("--apply and --undo are filters: they write no folder")
        _filter(options)
        return
    if not folder:
        raise UsageError("name the folder to write: cgru prep OUT -s FILE... -t FILE...")
    wanted = request(options)

    def say(message: str) -> None:
        tell(f"prep: {message}", options.quiet)

    for entry in wanted.inputs:
        if writes(folder, entry["path"]):
            raise UsageError(f"{entry['path']}: the output would replace it; name another OUT")
    with Folder.locked(folder) as place:
        begun = place.begin(wanted.recorded(), _versions(), options.force)
        if begun == "complete":
            say(f"{folder}: up to date, nothing to do")
            return
        counts = _line_counts(wanted)
        if begun == "resumed":
            say("resuming an interrupted run")
        with ProcessPool(options.jobs or processors()) as workers:
            _Job(place, wanted, counts, workers, say).run()


@takes(PrepOptions)
@lists(PrepOptions, _KNOWN)
def prepare(folder: str | os.PathLike[str], /, **options: Any) -> Path:
    """Prepare parallel text for training in a folder, like `cgru prep FOLDER`; returns its path.

    options: those of `cgru prep`, with "_" for "-" in their names, such as source="train.en",
    target="train.de", dev=["dev.en", "dev.de"] and subwords="bpe". Does nothing if the folder is up
    to date. Raises CgruError for unreadable files, UsageError for invalid arguments.
    """
    with in_python():
        run(os.fspath(folder), PrepOptions.of(checked(PrepOptions, options, _KNOWN)))
    return Path(folder)


def _filter(options: PrepOptions) -> None:
    """Run --apply or --undo: filter standard input to standard output, line by line.

    Raises CgruError for a bad folder or input, OutputClosed if the output has been closed.
    """
    pipeline = Preprocessing.read(options.apply or options.undo or "")
    number = 0
    with LineReader() as reader, LineWriter() as writer:
        while window := reader.window(_LINES):
            done = []
            try:
                for line in window:
                    number += 1
                    with at(f"line {number}"):
                        if options.apply:
                            text = pipeline.apply(line, options.side or "source", options.words)
                        else:
                            text = pipeline.undo(line, options.side or "target")
                    done.append(f"{text}\n")
            finally:
                writer.write("".join(done))


def _line_counts(wanted: Request) -> dict[str, int]:
    counts = {entry["path"]: sum(1 for _ in byte_lines(entry["path"])) for entry in wanted.inputs}
    sources, targets = wanted.options.source, wanted.options.target
    pairs = [*zip(sources, targets, strict=True), *((s, t) for _, s, t in wanted.sets)]
    for source, target in pairs:
        check_line_counts((source, counts[source]), (target, counts[target]))
    if not any(counts[source] for source in sources):
        raise CgruError(f"{', '.join(sources)}: no lines to train on")
    return counts


def _versions() -> dict[str, str]:
    versions = {"cgru": __version__, "python": platform.python_version()}
    for package in ("sentencepiece", "sacremoses", "subword-nmt"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


@dataclass
class _Job:
    """The steps of one run; the disk keeps the result of each step."""

    place: Folder
    wanted: Request
    counts: dict[str, int]  # number of lines of each input file
    workers: ProcessPool
    say: Callable[[str], None]

    def __post_init__(self) -> None:
        self.options, self.settings = self.wanted.options, self.wanted.pipeline

    def run(self) -> None:
        """Run all steps in order."""
        place, settings = self.place, self.settings
        names = ("words", "sample", "raw")
        files = [f".prep/{name}.{side}" for name in names for side in ENDINGS.values()]
        cleaned = self._step("clean", "cleaning", self._clean, files)
        cases: tuple[CaseModel, ...] = ()
        if settings.case == "true":
            learned = self._step("truecase", "learning the case of words", self._learn_case, [])
            cases = tuple(CaseModel(*map(tuple, model)) for model in learned)
        models: tuple[str, ...] = ()
        if settings.subwords != "none":
            say = f"learning {self.options.subword_vocabulary:,} sub-words"
            say = "reading codes of sub-words" if self.options.codes else say
            learn = partial(self._learn_subwords, cases)
            models = tuple(self._step("subwords", say, learn, self._code_names()))
        whole = Preprocessing(settings, cases, models if settings.pieces else ())
        train = ["train.src", "train.trg"]
        files = [*train, *self._vocabulary_names()]
        make = partial(self._encode, _text(whole), models)
        self._step("train", "writing train.src and train.trg", make, files)
        lines: dict[str, int] = {}
        sets = self.wanted.sets
        if dev_lines := self.options.dev_lines:
            raw = [str(place.work / f"raw.{side}") for side in ENDINGS.values()]
            sets = (("dev", raw[0], raw[1]), *sets)
            self.counts[raw[0]] = dev_lines
        for name, source, target in sets:
            copies = {f"{name}.ref": target} | ({} if name == "dev" else {f"{name}.raw": source})
            files = [f"{name}.src", f"{name}.trg", *copies]
            make = partial(self._write_set, _text(whole), name, (source, target), copies)
            self._step(name, f"writing {name}.src and {name}.trg", make, files)
            lines |= dict.fromkeys(files, self.counts[source])
        make = partial(write_json, place.out / pipeline.FILE, whole.as_json())
        self._step("preprocess", f"writing {pipeline.FILE}", make, [pipeline.FILE])
        lines |= dict.fromkeys(train, cleaned["kept"])
        inputs = [{**entry, "lines": self.counts[entry["path"]]} for entry in self.wanted.inputs]
        place.finish(lines, {"inputs": inputs, "cleaning": cleaned})
        self.say(f"{place.path}: {cleaned['kept']:,} of {cleaned['read']:,} pairs kept")
        if dev_lines:
            self.say(f"{place.path}: {dev_lines:,} more pairs to validate on")
        elif not self.options.dev:
            warn(
                "no text to validate on: training cannot stop by itself or keep its best model; "
                "name one with --dev SRC TRG, or draw it from the training text: --dev-lines 500"
            )
        self.say(f"next: cgru train {shlex.quote(str(place.path))} -m run/model.npz")

    def _step(self, name: str, message: str, make: Callable[[], Any], files: list[str]) -> Any:
        def announced() -> Any:
            self.say(message)
            return make()

        return self.place.step(name, announced, files)

    def _clean(self) -> dict[str, Any]:
        # without true case and sub-words, which are not learned yet
        case = "none" if self.settings.case == "true" else self.settings.case
        words = Preprocessing(dataclasses.replace(self.settings, case=case, pieces=False))
        return clean(self.options, _text(words), self.place.work, self.workers, self.say)

    def _sample(self, side: str) -> Iterator[str]:
        """The lines to learn from; for a source with factors, only the words."""
        for line in read_lines(self.place.work / f"sample.{ENDINGS[side]}"):
            text = line.decode("utf-8")
            if side == "source" and self.settings.factors > 1:
                text = " ".join(word.split("|")[0] for word in text.split(" "))
            yield text

    def _learn_case(self) -> list[Any]:
        models = [CaseModel.learn(self._sample(side)) for side in SIDES]
        return [[model.best, model.known] for model in models]

    def _code_names(self) -> list[str]:
        if self.settings.subwords != "subword-nmt":
            return []
        return ["codes.bpe"] if self.options.joint else ["codes.src.bpe", "codes.trg.bpe"]

    def _learn_subwords(self, cases: tuple[CaseModel, ...]) -> list[str]:
        """Learn a model for both sides or for each; writes codes also as files for subword-nmt."""
        if self.options.codes:
            models = [read_codes(path) for path in self.options.codes]
        else:
            groups = [SIDES] if self.options.joint else [(side,) for side in SIDES]
            models = [self._learn(cases, group) for group in groups]
        for name, model in zip(self._code_names(), models, strict=False):  # none for SentencePiece
            with atomic_write(self.place.out / name) as file:
                file.write(model.encode("utf-8"))
        return models

    def _learn(self, cases: tuple[CaseModel, ...], sides: tuple[str, ...]) -> str:
        options, kind = self.options, self.settings.subwords
        lines = (line for side in sides for line in self._cased(cases, side))
        if kind == "subword-nmt":
            counts: Counter[str] = Counter()
            for line in lines:
                counts.update(word for word in line.split(" ") if word)
            return learn_codes(counts, options.subword_vocabulary)
        return learn_pieces(
            lines,
            kind,
            options.subword_vocabulary,
            options.character_coverage,
            self.place.work,
            byte_fallback=options.byte_fallback,
            placeholders=bool(options.copy),
        )

    def _cased(self, cases: tuple[CaseModel, ...], side: str) -> Iterator[str]:
        if not cases:
            yield from self._sample(side)
            return
        settings = dataclasses.replace(self.settings, factors=1, pieces=False)
        recase = partial(chunk_work.recase, _text(Preprocessing(settings, cases)), side)
        lines = (line.encode("utf-8") for line in self._sample(side))
        for text in self.workers.in_order(recase, chunks(lines)):
            yield from text

    def _vocabulary_names(self) -> list[str]:
        if self.options.vocabulary_format == "spm":
            return ["vocab.spm"] if self.options.joint else ["vocab.src.spm", "vocab.trg.spm"]
        joint = self.options.joint_vocabulary
        words = ["vocab.json"] if joint else ["vocab.src.json", "vocab.trg.json"]
        return words + [f"vocab.factor{i}.json" for i in range(1, self.settings.factors)]

    def _encode(self, whole: str, models: tuple[str, ...]) -> None:
        names = self._vocabulary_names()
        in_json = self.options.vocabulary_format == "json"
        counts = {name: WordCounts(self.place.work, name) for name in names}
        for side, ending in ENDINGS.items():
            columns: list[str] = []
            if in_json and side == "source":
                columns = [names[0], *(name for name in names if "factor" in name)]
            elif in_json:
                columns = [names[0] if self.options.joint_vocabulary else names[1]]
            split = partial(chunk_work.split, whole, side, in_json)
            lines = read_lines(self.place.work / f"words.{ending}")
            with atomic_write(self.place.out / f"train.{ending}") as file:
                for text, counted in self.workers.in_order(split, chunks(lines)):
                    file.write(text)
                    for name, words in zip(columns, counted, strict=True):
                        counts[name].add(words)
        always = fixed_words(self.options)
        size = self.options.vocabulary_size  # 0: all words
        most = size - len(always) if size else 0
        for i, name in enumerate(names):
            if in_json:
                listed = [*always, *counts[name].most_common(most, without=always)]
                ids = {word: number for number, word in enumerate(listed)}
                write_vocabulary(Vocabulary(ids, name), self.place.out / name)
            else:
                with atomic_write(self.place.out / name) as file:
                    file.write(base64.b64decode(models[i]))

    def _write_set(
        self, whole: str, name: str, paths: tuple[str, str], copies: dict[str, str]
    ) -> None:
        """Write a validation or test text, preprocessed and raw.

        With --copy, both sides and dev.ref have placeholders, like the training text.
        """
        if self.settings.copy:
            paths = self._masked(name, paths)
            copies = copies | ({"dev.ref": paths[1]} if name == "dev" else {})
        for side, path in zip(SIDES, paths, strict=True):
            work = partial(chunk_work.apply, whole, side)
            lines = numbered(path, chunks(read_lines(path)))
            with atomic_write(self.place.out / f"{name}.{ENDINGS[side]}") as file:
                file.writelines(self.workers.in_order(work, lines))
        for copy, path in copies.items():
            with atomic_write(self.place.out / copy) as file:
                file.writelines(line + b"\n" for line in read_lines(path))

    def _masked(self, name: str, paths: tuple[str, str]) -> tuple[str, str]:
        """A text with placeholders for the spans that occur on both sides of a pair."""
        copying = Copying(self.settings.copy)
        source, target = (self.place.work / f"{name}.masked.{side}" for side in ENDINGS.values())
        with atomic_write(source) as left, atomic_write(target) as right:
            for lines in zip(*map(read_lines, paths), strict=True):
                pair = copying.pair(*(line.decode("utf-8", "replace") for line in lines))
                for file, text in zip((left, right), pair, strict=True):
                    file.write(f"{text}\n".encode())
        return str(source), str(target)


def _text(preprocessing: Preprocessing) -> str:
    """The pipeline in the form for `chunk_work`."""
    return json.dumps(preprocessing.as_json())

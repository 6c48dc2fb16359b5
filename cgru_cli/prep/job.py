"""`cgru prep`: from raw parallel text to a folder to train on, and its pipeline as a filter."""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from itertools import chain
from typing import Any

from .. import __version__
from ..corpus.parallel_files import check_line_counts
from ..errors import CgruError, UsageError
from ..formats.vocabulary_files import write_vocabulary
from ..options.prep import PrepOptions
from ..system.atomic_files import atomic_write
from ..system.process_pool import ProcessPool, processors
from ..system.structured_files import write_json
from ..system.terminal import tell
from ..text import pipeline
from ..text.moses import CaseModel
from ..text.pipeline import SIDES, Preprocessing
from ..text.subwords import check_codes, learn_codes, learn_pieces
from ..text.vocabulary import Vocabulary
from . import apply, chunk_work, clean, raw_text
from .folder import Folder, writes
from .request import Request, request
from .word_counts import WordCounts

ENDINGS = {"source": "src", "target": "trg"}
_SPECIAL = ("eos", "UNK")


def run(folder: str | None, options: PrepOptions) -> None:
    """Make the folder, or filter standard input; raises CgruError, UsageError, OutputClosed."""
    if options.apply or options.undo:
        if folder:
            raise UsageError("--apply and --undo are filters: they write no folder")
        apply.run(options)
        return
    if not folder:
        raise UsageError("name the folder to write: cgru prep OUT -s FILE... -t FILE...")
    wanted = request(options)

    def say(message: str) -> None:
        tell(f"prep: {message}", options.quiet)

    for entry in wanted.inputs:
        if writes(folder, entry["path"]):
            raise UsageError(f"{entry['path']}: the output would take its place; name another OUT")
    with Folder.locked(folder) as place:
        if not options.force and place.is_complete(wanted.recorded()):
            say(f"{folder}: up to date, nothing to do")
            return
        counts = _line_counts(wanted)
        if place.begin(wanted.recorded(), _versions(), options.force):
            say("an interrupted run goes on")
        with ProcessPool(options.jobs or processors()) as workers:
            _Job(place, wanted, counts, workers, say).run()


def _line_counts(wanted: Request) -> dict[str, int]:
    """Lines of every input; raises CgruError for pairs of different length."""
    counts = {entry["path"]: raw_text.count_lines(entry["path"]) for entry in wanted.inputs}
    for source, target in (*wanted.pairs, *((s, t) for _, s, t in wanted.sets)):
        check_line_counts((source, counts[source]), (target, counts[target]))
    if not any(counts[source] for source, _ in wanted.pairs):
        raise CgruError(f"{', '.join(s for s, _ in wanted.pairs)}: no lines to train on")
    return counts


def _versions() -> dict[str, str]:
    versions = {"cgru": __version__, "python": platform.python_version()}
    for package in ("sentencepiece", "sacremoses", "subword-nmt"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


class _Job:
    """The steps of one run; the result of each is kept on disk."""

    def __init__(
        self,
        place: Folder,
        wanted: Request,
        counts: dict[str, int],
        workers: ProcessPool,
        say: Callable[[str], None],
    ):
        """counts: lines of each file that is read."""
        self.place, self.wanted, self.counts, self.say = place, wanted, counts, say
        self.workers = workers
        self.settings = wanted.pipeline
        # The pipeline before anything is learned.
        case = "none" if self.settings.case == "true" else self.settings.case
        self.words = Preprocessing(dataclasses.replace(self.settings, case=case, pieces=False))
        self.lines: dict[str, int] = {}

    def run(self) -> None:
        work = [f".prep/{name}.{side}" for name in ("words", "sample") for side in ENDINGS.values()]
        cleaned = self._step("clean", self._clean, work)
        cases: tuple[CaseModel, ...] = ()
        if self.settings.case == "true":
            self._step("truecase", self._learn_case, [".prep/truecase.json"])
            cases = tuple(CaseModel(*map(tuple, m)) for m in self._load("truecase"))
        cased = Preprocessing(dataclasses.replace(self.settings, pieces=False), cases)
        models: tuple[str, ...] = ()
        if self.wanted.subwords.kind != "none":
            codes = self._code_names()
            work = [".prep/subwords.json", *codes.values()]
            self._step("subwords", lambda: self._learn_subwords(cased), work)
            models = tuple(self._load("subwords"))
        whole = Preprocessing(self.settings, cases, models if self.settings.pieces else ())
        outputs = ["train.src", "train.trg", *self._vocabulary_names()]
        self._step("train", lambda: self._encode(whole, models), outputs)
        for name, source, target in self.wanted.sets:
            ends = ("src", "trg", "ref", "raw")[: 4 if name != "dev" else 3]
            outputs = [f"{name}.{end}" for end in ends]
            make = functools.partial(self._set, whole, name, source, target)
            self._step(name, make, outputs)
            self.lines |= dict.fromkeys(outputs, self.counts[source])
        self._step("preprocess", lambda: self._save(whole), [pipeline.FILE])
        self.lines |= dict.fromkeys(("train.src", "train.trg"), cleaned["kept"])
        inputs = [{**e, "lines": self.counts[e["path"]]} for e in self.wanted.inputs]
        self.place.finish(self.lines, {"inputs": inputs, "cleaning": cleaned})
        self.say(f"{self.place.path}: {cleaned['kept']:,} of {cleaned['read']:,} pairs kept")

    def _step(self, name: str, make: Callable[[], dict[str, Any]], files: list[str]) -> dict:
        def announced() -> dict[str, Any]:
            self.say(name)
            return make()

        return self.place.step(name, announced, files)

    def _load(self, name: str) -> Any:
        return json.loads((self.place.work / f"{name}.json").read_bytes())

    def _clean(self) -> dict[str, Any]:
        return clean.clean(self.wanted, self.words, self.place.work, self.workers, self.say)

    def _sample(self, side: str) -> Iterator[str]:
        for line in raw_text.read_lines(self.place.work / f"sample.{ENDINGS[side]}"):
            text = line.decode("utf-8")
            if side == "source" and self.settings.factors > 1:
                text = " ".join(word.split("|")[0] for word in text.split(" "))
            yield text

    def _learn_case(self) -> dict[str, Any]:
        models = [CaseModel.learn(self._sample(side)) for side in SIDES]
        write_json(self.place.work / "truecase.json", [[m.best, m.known] for m in models])
        return {}

    def _code_names(self) -> dict[int, str]:
        if self.wanted.subwords.kind != "subword-nmt":
            return {}
        return (
            {0: "codes.bpe"}
            if self.wanted.subwords.joint
            else {0: "codes.src.bpe", 1: "codes.trg.bpe"}
        )

    def _learn_subwords(self, cased: Preprocessing) -> dict[str, Any]:
        """One model for both sides, or one each; codes also as a file that subword-nmt reads."""
        subwords = self.wanted.subwords
        if subwords.codes:
            models = [_codes_of(path) for path in subwords.codes]
        else:
            groups = [SIDES] if subwords.joint else [(side,) for side in SIDES]
            models = [self._learn(cased, group) for group in groups]
        for i, name in self._code_names().items():
            with atomic_write(self.place.out / name) as file:
                file.write(models[i].encode("utf-8"))
        write_json(self.place.work / "subwords.json", models)
        return {}

    def _learn(self, cased: Preprocessing, sides: Iterable[str]) -> str:
        subwords = self.wanted.subwords
        lines = chain.from_iterable(self._cased(cased, side) for side in sides)
        if subwords.kind == "subword-nmt":
            counts: Counter[str] = Counter()
            for line in lines:
                counts.update(word for word in line.split(" ") if word)
            return learn_codes(counts, subwords.size)
        return learn_pieces(
            lines, subwords.kind, subwords.size, subwords.character_coverage, self.place.work
        )

    def _cased(self, cased: Preprocessing, side: str) -> Iterator[str]:
        if self.settings.case != "true":
            yield from self._sample(side)
            return
        plain = dataclasses.replace(cased.settings, factors=1)
        values = Preprocessing(plain, cased.case_models).as_json()
        chunks = raw_text.chunks(line.encode("utf-8") for line in self._sample(side))
        for text in self.workers.in_order(chunk_work.recaser, (values, side), chunks):
            yield from text

    def _vocabulary_names(self) -> list[str]:
        if self.wanted.vocabularies.format == "spm":
            return (
                ["vocab.spm"] if self.wanted.subwords.joint else ["vocab.src.spm", "vocab.trg.spm"]
            )
        names = [f"vocab.factor{i}.json" for i in range(1, self.settings.factors)]
        surface = ["vocab.json"] if self.wanted.vocabularies.joint else [
            "vocab.src.json", "vocab.trg.json",
        ]  # fmt: skip
        return [*surface, *names]

    def _encode(self, whole: Preprocessing, models: tuple[str, ...]) -> dict[str, Any]:
        """Write the training text and the vocabularies."""
        names = self._vocabulary_names()
        counts = {name: WordCounts(self.place.work, name) for name in names}
        in_json = self.wanted.vocabularies.format == "json"
        for side, ending in ENDINGS.items():
            columns = []
            if in_json:
                surface = f"vocab.{ending}.json"
                factors = self.settings.factors if side == "source" else 1
                columns = [surface if surface in counts else "vocab.json"]
                columns += [f"vocab.factor{i}.json" for i in range(1, factors)]
            lines = raw_text.read_lines(self.place.work / f"words.{ending}")
            arguments = (whole.as_json(), side, bool(columns))
            with atomic_write(self.place.out / f"train.{ending}") as file:
                chunks = raw_text.chunks(lines)
                for text, counted in self.workers.in_order(chunk_work.splitter, arguments, chunks):
                    file.write(text)
                    for name, words in zip(columns, counted, strict=True):
                        counts[name].add(words)
        for i, name in enumerate(names):
            if in_json:
                self._write_vocabulary(name, counts[name])
            else:
                with atomic_write(self.place.out / name) as file:
                    file.write(base64.b64decode(models[i]))
        return {}

    def _write_vocabulary(self, name: str, counts: WordCounts) -> None:
        limit = self.wanted.vocabularies.size
        words = counts.most_common(max(0, limit - len(_SPECIAL)), without=_SPECIAL)
        ids = {word: i for i, word in enumerate((*_SPECIAL, *words))}
        write_vocabulary(Vocabulary(ids, name), self.place.out / name)

    def _set(self, whole: Preprocessing, name: str, source: str, target: str) -> dict[str, Any]:
        """Write a validation or test text, preprocessed and raw."""
        values = whole.as_json()
        for side, path in zip(SIDES, (source, target), strict=True):
            chunks = chunk_work.numbered(path)
            with atomic_write(self.place.out / f"{name}.{ENDINGS[side]}") as file:
                file.writelines(self.workers.in_order(chunk_work.applier, (values, side), chunks))
        copies = {"ref": target} if name == "dev" else {"ref": target, "raw": source}
        for ending, path in copies.items():
            with atomic_write(self.place.out / f"{name}.{ending}") as file:
                file.writelines(line + b"\n" for line in raw_text.read_lines(path))
        return {}

    def _save(self, whole: Preprocessing) -> dict[str, Any]:
        write_json(self.place.out / pipeline.FILE, whole.as_json())
        return {}


def _codes_of(path: str) -> str:
    try:
        text = "".join(line.decode("utf-8") + "\n" for line in raw_text.read_lines(path))
    except UnicodeDecodeError as error:
        raise CgruError(f"{path}: not UTF-8, so no file of subword-nmt codes") from error
    check_codes(text, path)
    return text

"""The steps before the first update, in order, without TensorFlow."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..corpus.corpus import Corpus, is_outdated
from ..corpus.text_encoding import TextEncoding
from ..errors import CgruError, UsageError, reading
from ..formats import write_model
from ..formats.capabilities import cannot_hold
from ..formats.model import PREPROCESSING, Model
from ..options.train import TrainOptions
from ..output.picture_style import check_installed
from ..parameters.structure import Structure
from ..system.structured_files import StoredFile, write_json
from ..text.copying import known_placeholders
from ..text.pipeline import PipelineSettings, Preprocessing
from ..text.vocabulary import Vocabulary
from .data_defaults import Facts
from .dev_set import DevSet
from .encoding import encode
from .memory import check_batch, check_model
from .missing_vocabularies import make_missing
from .plan import Request, TrainingPlan, resolve
from .run.folder import RunFolder
from .run.forecast import Text
from .run.resume import EarlierRun
from .starting_model import draw, undrawn_model
from .texts import Texts
from .validation_script import command_of


@dataclass
class Setup:
    """Everything that is prepared before the first update."""

    request: Request
    plan: TrainingPlan
    texts: Texts
    folder: RunFolder
    model: Model  # before its first update
    vocabularies: list[Vocabulary]  # sources (one per factor), then target
    corpus: Corpus
    notes: list[str]  # lines for the log of a new run
    added: list[str]  # lines for the log of any run: defaults that are chosen now, the cache
    earlier: EarlierRun  # what training resumes
    # on worker 0 of a training, not in a dry run
    dev_set: DevSet | None = None  # if there are metrics
    script: Sequence[str] = ()  # a command to run after every validation
    shared_options: dict[str, Any] = field(default_factory=dict)  # of several workers

    @property
    def text(self) -> Text:
        """The size of the training text."""
        corpus = self.corpus.of_epoch(0)
        return Text(len(corpus), int(corpus.lengths[:, 1].sum()))


def read_inputs(request: Request, stack: contextlib.ExitStack, *, first: bool = True) -> Setup:
    """Read text, vocabularies, model and the saved run; decide the options; draw a new model.

    first: whether this process writes the files of the run; if so, the folder is locked until the
    stack is closed. A dry run leaves no files behind. Raises UsageError for options that contradict
    each other, CgruError for files that cannot be read or written, packages that are not installed,
    and batches that do not fit into memory.
    """
    texts = _texts(request)
    model, vocabularies = _model(request, texts)
    options, trains = request.options, not request.options.dry_run
    folder, notes = _folder(options, model.structure)
    writes, spare = first and trains, None
    if options.copy or not writes:
        spare = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cgru-")))
    if writes:
        stack.enter_context(folder.locked())
        folder.remove_interrupted(vocabularies)
        folder.check_new(vocabularies)
    if options.copy and spare:
        texts = _with_copying(options.copy, texts, vocabularies, spare, folder)
    if texts.preprocessing:
        texts = dataclasses.replace(texts, preprocessing=_as_it_is(texts.preprocessing))
    added, cache = list[str](), folder.beside(".corpus")
    if is_outdated(cache):
        added = [f"The text was encoded again: an earlier version of cgru wrote {cache}"]
    encoding = TextEncoding.of(model, vocabularies, compat=options.compat)
    corpus = encode(texts, encoding, options, cache, None if writes else spare)
    first_epoch, earlier = corpus.of_epoch(0), EarlierRun.read(folder, first=first)
    facts = Facts.of(first_epoch, model.structure, vocabularies)
    recorded = folder.recorded(earlier.values)
    plan = resolve(request, recorded, facts, can_validate=texts.dev is not None)
    added = [*plan.added, *added]
    notes += [*plan.notes, *added, *draw(model, vocabularies, plan.options, first_epoch)]
    setup = Setup(request, plan, texts, folder, model, vocabularies, corpus, notes, added, earlier)
    if trains:
        check_batch(model.structure, plan.options, corpus)
        earlier.read_marian(folder, model.structure, plan.options)
    if writes:
        setup.dev_set = read_dev_set(setup)
        if external := options.external_validation_script:
            setup.script = command_of(external, "--external-validation-script")
    return setup


def _texts(request: Request) -> Texts:
    """The files to read, once the options and the installed packages allow to train on them."""
    options = request.options
    if options.model is None:
        raise UsageError("name the model: cgru train DATA -m MODEL.npz")
    write_model.output_path(options.model, "npz")
    texts = Texts.of(options, request.data)
    TrainingPlan(options, can_validate=texts.dev is not None).check(request.explicit)
    check_extras(options)
    make_missing(texts, options)
    return texts


def _model(request: Request, texts: Texts) -> tuple[Model, list[Vocabulary]]:
    """The model, which fits into memory if its sizes are known, and its vocabularies."""
    model, vocabularies = undrawn_model(request, texts)
    if {"dim_emb", "dim_rnn"} <= {*request.decided}:
        check_model(model.structure, request.options)  # before the text is encoded
    for vocabulary in vocabularies:
        vocabulary.splits = not request.options.no_spm_encode
        vocabulary.path = _as_it_is(vocabulary.path)
    return model, vocabularies


def check_extras(options: TrainOptions) -> None:
    """Raises CgruError if an option needs a package that is not installed."""
    if options.plot:
        check_installed("--plot")
    if options.tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise CgruError("--tensorboard needs tensorboard: pip install 'cgru[tensorboard]'")


def read_dev_set(setup: Setup) -> DevSet | None:
    """The validation text; None without metrics. Raises CgruError for bad validation text."""
    plan, texts, model = setup.plan, setup.texts, setup.model
    if not plan.metrics or texts.dev is None:
        return None
    preprocessing = None
    if texts.preprocessing and model.structure.type.writes_text:
        preprocessing = Preprocessing.read(texts.preprocessing)
    return DevSet.read(
        *texts.dev,
        TextEncoding.of(model, setup.vocabularies, preprocessing, plan.options.compat),
        reference=texts.reference,
        max_length=plan.options.valid_max_length,
        lines=plan.options.valid_lines,
    )


def _folder(options: TrainOptions, structure: Structure) -> tuple[RunFolder, list[str]]:
    """The files of the run, and a note if models cannot be kept as checkpoints of Nematus-TF."""
    keep_as, notes = options.keep_as, list[str]()
    if keep_as and not keep_as.endswith(".npz") and (lost := cannot_hold(structure, "nematus-tf")):
        keep_as += ".npz"
        notes = [f"Models are kept as {keep_as}; Nematus-TF has no {', '.join(lost)}"]
    path, marian = Path(options.model or ""), options.compat == "marian"
    return RunFolder(path, keep_as, resumes=not options.no_reload, marian=marian), notes


def _as_it_is(path: str | os.PathLike[str]) -> StoredFile:
    """A file with its present content, which every save copies, even if the file changes later."""
    if isinstance(path, StoredFile):
        return path
    with reading(path):
        return StoredFile.of(os.fspath(path), Path(path).read_bytes())


def _with_copying(
    patterns: tuple[str, ...],
    texts: Texts,
    vocabularies: list[Vocabulary],
    spare: Path,
    folder: RunFolder,
) -> Texts:
    """Write a `preprocess.json` that records --copy to a spare folder; returns the texts with it.

    Raises UsageError for vocabularies without placeholders, and for text that cannot get them.
    """
    if not known_placeholders(*vocabularies):
        raise UsageError("--copy: the vocabularies have no placeholders; use cgru prep --copy")
    before = texts.preprocessing and Preprocessing.read(texts.preprocessing)
    settings = before.settings if before else PipelineSettings(unicode="none")
    own = folder.beside(PREPROCESSING)  # an earlier part of the run may have saved it
    if before and texts.preprocessing != own and (settings.copy or settings.pieces):
        what = "has placeholders" if settings.copy else "is split into sub-words"
        raise UsageError(f"--copy: the text already {what} (see {texts.preprocessing})")
    models = (before.case_models, before.subword_models) if before else ((), ())
    made = Preprocessing(dataclasses.replace(settings, copy=patterns), *models)
    path = spare / PREPROCESSING
    write_json(path, made.as_json())
    return dataclasses.replace(texts, preprocessing=path)

"""The steps before the first update, in order, without TensorFlow."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
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
from ..parameters.initialization import output_bias
from ..parameters.names import name_at
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
from .run.resume import EarlierRun
from .run.state import shared_options
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
    shared_options: dict[str, Any]  # that all workers must share, see `state.shared_options`
    # on worker 0 of a training, not in a dry run
    dev_set: DevSet | None = None  # if there are metrics
    script: Sequence[str] = ()  # a command to run after every validation


def read_inputs(request: Request, stack: contextlib.ExitStack, *, first: bool = True) -> Setup:
    """Read text, vocabularies, model and the saved run; decide the options; draw a new model.

    first: whether this process writes the files of the run; if so, the folder is locked until the
    stack is closed. A dry run leaves no files behind. Raises UsageError for options that contradict
    each other, CgruError for files that cannot be read or written, packages that are not installed,
    and batches that do not fit into memory.
    """
    options, trains = request.options, not request.options.dry_run
    if options.model is None:
        raise UsageError("name the model: cgru train DATA -m MODEL.npz")
    path = write_model.output_path(options.model, "npz")
    texts = Texts.of(options, request.data)
    can_validate = texts.dev is not None
    explicit = () if options.compat else request.explicit or ()
    TrainingPlan(options, can_validate).check(explicit, final=not request.data_decides)
    check_extras(options)
    make_missing(texts, options)
    model, vocabularies = undrawn_model(request, texts)
    if {"dim_emb", "dim_rnn"} <= {*request.decided}:
        check_model(model.structure, options)  # before the text is encoded
    for vocabulary in vocabularies:
        vocabulary.splits = not options.no_spm_encode
        vocabulary.path = _as_it_is(vocabulary.path)
    folder, notes = _folder(Path(path), options, model.structure)
    spare = None
    if first and trains:
        stack.enter_context(folder.locked())
        folder.remove_interrupted(vocabularies)
        folder.check_new(vocabularies)
    else:
        spare = _temporary(stack)
    if options.copy:
        made = (spare or _temporary(stack)) / PREPROCESSING
        own = folder.beside(PREPROCESSING)
        texts = _with_copying(options.copy, texts, vocabularies, made, own)
    if texts.preprocessing:
        texts = dataclasses.replace(texts, preprocessing=_as_it_is(texts.preprocessing))
    cache, added = folder.beside(".corpus"), list[str]()
    if is_outdated(cache):
        added = [f"The text was encoded again: an earlier version of cgru wrote {cache}"]
    encoding = TextEncoding.of(model, vocabularies, compat=options.compat)
    corpus = encode(texts, encoding, options, cache, spare)
    first_epoch, earlier = corpus.of_epoch(0), EarlierRun.read(folder, first=first)
    facts = Facts.of(first_epoch, model.structure, vocabularies)
    recorded = folder.recorded(earlier.values)
    plan = resolve(request, recorded, facts, can_validate=can_validate)
    added = [*plan.added, *added]
    notes += [*plan.notes, *added, *draw(model, vocabularies, plan.options)]
    if trains:
        check_batch(model.structure, plan.options, corpus)
    if options.begins_from is None and options.init == "scaled":
        name = name_at("decoder/output/b", model.structure)
        counts = first_epoch.target_counts(model.structure.target_vocabulary)
        model.arrays[name] = output_bias(counts[-len(model.arrays[name]) :])
    shared = shared_options(plan.options) if trains else {}
    setup = Setup(
        request, plan, texts, folder, model, vocabularies, corpus, notes, added, earlier, shared
    )
    if trains:
        earlier.read_marian(folder, model.structure, plan.options)
        if first:
            setup.dev_set = read_dev_set(setup)
            if external := options.external_validation_script:
                setup.script = command_of(external, "--external-validation-script")
    return setup


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


def _folder(path: Path, options: TrainOptions, structure: Structure) -> tuple[RunFolder, list[str]]:
    """The files of the run, and a note if models cannot be kept as checkpoints of Nematus-TF."""
    keep_as, notes = options.keep_as, list[str]()
    if keep_as and not keep_as.endswith(".npz") and (lost := cannot_hold(structure, "nematus-tf")):
        keep_as += ".npz"
        notes = [f"Models are kept as {keep_as}; Nematus-TF has no {', '.join(lost)}"]
    marian = options.compat == "marian"
    return RunFolder(path, keep_as, resumes=not options.no_reload, marian=marian), notes


def _temporary(stack: contextlib.ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cgru-")))


def _as_it_is(path: str | os.PathLike[str]) -> StoredFile:
    """A file with its present content, which every save copies, even if the file changes later."""
    if isinstance(path, StoredFile):
        return path
    with reading(path):
        return StoredFile.of(os.fspath(path), Path(path).read_bytes())


def _with_copying(
    patterns: tuple[str, ...], texts: Texts, vocabularies: list[Vocabulary], path: Path, own: Path
) -> Texts:
    """Write a `preprocess.json` that records --copy; returns the texts with it.

    path: where to write it; own: the file that an earlier part of the run may have saved. Raises
    UsageError for vocabularies without placeholders, and for text that cannot get them.
    """
    if not known_placeholders(*vocabularies):
        raise UsageError("--copy: the vocabularies have no placeholders; use cgru prep --copy")
    before = texts.preprocessing and Preprocessing.read(texts.preprocessing)
    settings = before.settings if before else PipelineSettings(unicode="none")
    if before and texts.preprocessing != own and (settings.copy or settings.pieces):
        what = "has placeholders" if settings.copy else "is split into sub-words"
        raise UsageError(f"--copy: the text already {what} (see {texts.preprocessing})")
    models = (before.case_models, before.subword_models) if before else ((), ())
    made = Preprocessing(dataclasses.replace(settings, copy=patterns), *models)
    write_json(path, made.as_json())
    return dataclasses.replace(texts, preprocessing=path)

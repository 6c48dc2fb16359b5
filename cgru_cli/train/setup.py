"""The steps before the first update, in order, without TensorFlow."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..corpus.corpus import Corpus, is_outdated
from ..corpus.text_encoding import TextEncoding
from ..errors import CgruError, UsageError, reading
from ..formats import write_model
from ..formats.capabilities import cannot_hold
from ..formats.model import PREPROCESSING, Model
from ..options.flags import by_data
from ..options.train import TrainOptions
from ..output.picture_style import check_installed
from ..parameters.initialization import output_bias
from ..parameters.names import name_at
from ..system.structured_files import StoredFile, write_json
from ..text.copying import known_placeholders
from ..text.pipeline import PipelineSettings, Preprocessing
from ..text.vocabulary import Vocabulary
from .data_defaults import completed, described, held
from .encoding import encode
from .memory import check_batch, check_model
from .missing_vocabularies import make_missing
from .plan import TrainingPlan
from .run.folder import Recorded, RunFolder
from .starting_model import draw, undrawn_model
from .texts import Texts


@dataclass
class Setup:
    """Everything that is prepared before the first update."""

    plan: TrainingPlan
    texts: Texts
    folder: RunFolder
    model: Model  # before its first update
    vocabularies: list[Vocabulary]  # sources (one per factor), then target
    corpus: Corpus
    notes: list[str]  # lines for the log of a new run
    added: list[str]  # lines for the log of any run: defaults that are chosen now, the cache
    recorded: Recorded  # values at the start of the run, including those of options given now
    settings: Mapping[str, Any] = field(default_factory=dict)  # the options in Marian's names


def decide(
    options: TrainOptions, data: str | None, stated: Collection[str] | None = None
) -> tuple[TrainingPlan, Texts]:
    """Make the plan, and make missing vocabularies.

    stated: the options that were given, None for those of another program. Raises UsageError for
    options that contradict each other, CgruError for files that cannot be read or written and for
    packages that are not installed.
    """
    if options.model is None:
        raise UsageError("name the model: cgru train DATA -m MODEL.npz")
    if options.devices and options.num_devices not in (0, len(options.devices)):
        raise UsageError(
            f"--num-devices {options.num_devices}: --devices names {len(options.devices)}"
        )
    if options.copy and options.data_weighting and options.data_weighting_type == "word":
        raise UsageError(
            "--copy: placeholders replace several words, so words cannot have weights; use "
            "--data-weighting-type sentence"
        )
    write_model.output_path(options.model, "npz")
    texts = Texts.of(options, data)
    make_missing(texts, options)
    plan = TrainingPlan.of(options, stated, can_validate=texts.dev is not None)
    check_extras(options)
    return plan, texts


def check_extras(options: TrainOptions) -> None:
    """Raises CgruError if an option needs a package that is not installed."""
    if options.plot:
        check_installed("--plot")
    if options.tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise CgruError("--tensorboard needs tensorboard: pip install 'cgru[tensorboard]'")


def prepare(
    plan: TrainingPlan, texts: Texts, stack: contextlib.ExitStack, *, first: bool = True
) -> Setup:
    """Read or make the model, lock the folder, encode the text, and check that batches fit.

    first: whether this process writes the files of the run; if so, the folder is locked until the
    stack is closed. Completes the plan with defaults derived from the data; a resumed run keeps the
    defaults that it began with. A dry run leaves no files behind. Raises the errors of the steps.
    """
    options, stated = plan.options, plan.stated
    if stated is not None and options.dim_factors and "dim_emb" not in stated:
        options = options.replaced(dim_emb=sum(options.dim_factors))
    model, vocabularies = undrawn_model(options, texts, stated or ())
    if stated is None or {"dim_emb", "dim_rnn"} <= {*stated}:
        check_model(model.structure, options)  # before the text is encoded
    for vocabulary in vocabularies:
        vocabulary.splits = not options.no_spm_encode
        vocabulary.path = _as_it_is(vocabulary.path)
    structure, keep_as, notes = model.structure, options.keep_as, list[str]()
    if keep_as and not keep_as.endswith(".npz") and (lost := cannot_hold(structure, "nematus-tf")):
        keep_as += ".npz"
        notes = [f"Models are kept as {keep_as}; Nematus-TF has no {', '.join(lost)}"]
    marian = options.compat == "marian"
    path = Path(options.model or "")
    folder = RunFolder(path, keep_as, resumes=not options.no_reload, marian=marian)
    spare = None
    if first and not options.dry_run:
        stack.enter_context(folder.locked())
        folder.remove_interrupted(vocabularies)
        folder.check_new(vocabularies)
    else:
        spare = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cgru-")))
    if options.copy:
        made = spare or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cgru-")))
        own = folder.beside(PREPROCESSING)
        texts = _recorded_copying(options.copy, texts, vocabularies, made / PREPROCESSING, own)
    if texts.preprocessing:
        texts = dataclasses.replace(texts, preprocessing=_as_it_is(texts.preprocessing))
    encoding = TextEncoding.of(model, vocabularies, compat=options.compat)
    cache = folder.beside(".corpus")
    outdated = is_outdated(cache)
    corpus = encode(texts, encoding, options, cache, spare)
    first_epoch, saved = corpus.of_epoch(0), folder.recorded()
    stated = by_data(TrainOptions) if stated is None else stated  # fixed defaults count as stated
    recorded, new = completed(saved, options, stated, first_epoch, structure, vocabularies)
    chosen, given = held(recorded, stated)
    options = options.replaced(**given)
    plan = TrainingPlan.of(options, can_validate=texts.dev is not None, **chosen)
    options, validates = plan.options, bool(plan.metrics)
    before = {name: value for name, value in chosen.items() if name not in new}
    why = " (an earlier version of cgru did not save them)" if saved else ""
    added = described(new, f"for {len(first_epoch):,} pairs{why}", validates=validates)
    if outdated:
        added.append(f"The text was encoded again: an earlier version of cgru wrote {cache}")
    notes += described(before, "when the run began", validates=validates) + added
    notes += draw(model, vocabularies, options)
    structure = model.structure
    if not options.dry_run:
        check_batch(structure, options, corpus)
    if options.begins_from is None and options.init == "scaled":
        name = name_at("decoder/output/b", structure)
        counts = first_epoch.target_counts(structure.target_vocabulary)
        model.arrays[name] = output_bias(counts[-len(model.arrays[name]) :])
    return Setup(plan, texts, folder, model, vocabularies, corpus, notes, added, recorded)


def _as_it_is(path: str | os.PathLike[str]) -> StoredFile:
    """A file with its present content, which every save copies, even if the file changes later."""
    if isinstance(path, StoredFile):
        return path
    with reading(path):
        return StoredFile.of(os.fspath(path), Path(path).read_bytes())


def _recorded_copying(
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

"""`cgru train`: from options to a model; a run that was killed resumes from its folder."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..corpus.corpus import Corpus
from ..errors import UsageError
from ..formats import write_model
from ..options.train import TrainOptions
from ..parameters.initialization import output_bias
from ..parameters.names import name_at
from ..system import cluster, tensorflow_start, terminal
from ..system.signals import Stopped, StopRequest
from .builders import build_optimizer, build_training, check_extras
from .dry_run import describe
from .examples import encode
from .memory import check_batch
from .missing_vocabularies import make_missing
from .plan import TrainingPlan
from .run.folder import RunFolder
from .starting_model import StartingModel, make_starting_model
from .tab_separated import with_standard_input
from .texts import Texts

if TYPE_CHECKING:
    from ..optimization.replicas import Replicas


def run(options: TrainOptions, data: str | None) -> None:
    """Train as the options say, from the start or from where the run was saved last.

    data: a folder that `cgru prep` made. Raises CgruError for bad text, vocabularies, models and
    folders; Stopped, after saving, where a signal ends it.
    """
    with with_standard_input(options) as options:
        if options.dry_run:
            _describe(options, data)
        else:
            _train(options, data)


def _train(options: TrainOptions, data: str | None) -> None:
    several = cluster.named(os.environ)  # they meet first, to tell each other what fails
    request = None if several else _Request.of(options, data)
    starting = tensorflow_start.Start(compilation_cache=options.jit != "off")
    with contextlib.ExitStack() as stack:
        with _told_if_stopped():
            if request is None:
                replicas = _join(starting, options)
                ready = _prepare_together(options, data, stack, replicas)
            else:
                ready = _Ready.of(options, request, stack)
                replicas = _join(starting, options)
        with StopRequest() as stop, replicas.failures_named():
            build_training(options, *ready, stop, replicas).run()


@contextlib.contextmanager
def _told_if_stopped() -> Iterator[None]:
    """Tell of a stop before the loop begins, which tells of later ones in its log."""
    try:
        yield
    except Stopped:
        terminal.write("cgru: stopped before training began\n")
        raise


def _join(starting: tensorflow_start.Start, options: TrainOptions) -> Replicas:
    """Finish TensorFlow's start on its devices, and join the other workers, if there are any."""
    starting.finish(options.device, options.cpu_threads, options.together, training=True)
    from ..optimization.replicas import Replicas

    return Replicas.join(cluster.Cluster.of(os.environ))


class _Request(NamedTuple):
    """The decisions that need no text or model."""

    plan: TrainingPlan
    texts: Texts
    folder: RunFolder

    @classmethod
    def of(cls, options: TrainOptions, data: str | None) -> _Request:
        """Raises UsageError for options that contradict each other, CgruError for bad files."""
        if options.model is None:
            raise UsageError("name the model: cgru train DATA -m MODEL.npz")
        if options.devices and options.num_devices not in (0, len(options.devices)):
            raise UsageError(
                f"--num-devices {options.num_devices}: --devices names {len(options.devices)}"
            )
        write_model.output_path(options.model, "npz")
        texts = Texts.of(options, data)
        make_missing(texts, options)
        plan = TrainingPlan.of(options, can_validate=texts.dev is not None)
        check_extras(options)
        return cls(plan, texts, RunFolder(Path(options.model)))


class _Ready(NamedTuple):
    """All that a training needs to begin, except TensorFlow."""

    plan: TrainingPlan
    texts: Texts
    folder: RunFolder
    start: StartingModel
    corpus: Corpus

    @classmethod
    def of(
        cls,
        options: TrainOptions,
        request: _Request,
        stack: contextlib.ExitStack,
        *,
        first: bool = True,
    ) -> _Ready:
        """Read vocabularies and models, and encode the text.

        first: whether this process writes what there is to be written; the folder is locked for it
        as long as the stack is open.
        """
        texts, folder = request.texts, request.folder
        start = make_starting_model(options, texts)
        spare = None
        if first:
            stack.enter_context(folder.locked())
            folder.remove_interrupted(start.vocabularies)
            folder.check_new(start.vocabularies)
        else:
            spare = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cgru-")))
        corpus = _encode(options, texts, start, folder.beside(".corpus"), spare)
        check_batch(start.model.structure, request.plan.batching, corpus)
        if options.begins_from is None and options.init == "scaled":
            structure = start.model.structure
            name = name_at("decoder/output/b", structure)
            counts = corpus.target_counts(structure.target_vocabulary)
            start.model.arrays[name] = output_bias(counts[-len(start.model.arrays[name]) :])
        return cls(*request, start, corpus)


def _prepare_together(
    options: TrainOptions, data: str | None, stack: contextlib.ExitStack, replicas: Replicas
) -> _Ready:
    """Prepare each process; worker 0 first, because the others may use the files it writes."""

    def prepare() -> _Ready:
        return _Ready.of(options, _Request.of(options, data), stack, first=replicas.is_first)

    of_first = replicas.run_in_all(lambda: prepare() if replicas.is_first else None)
    return replicas.run_in_all(lambda: of_first or prepare())


def _encode(
    options: TrainOptions,
    texts: Texts,
    start: StartingModel,
    cache: Path,
    spare: Path | None = None,
) -> Corpus:
    return encode(
        texts,
        start.vocabularies,
        cache,
        spare,
        kind=start.model.structure.type,
        condition=start.model.structure.condition_size,
        source_reversed=start.model.settings.source_reversed,
        max_length=options.max_length,
        crop=options.max_length_crop,
    )


def _describe(options: TrainOptions, data: str | None) -> None:
    """--dry-run."""
    plan, texts, _ = _Request.of(options, data)
    if options.optimizer_params:
        build_optimizer(options)  # which tells of parameters that it does not have
    start = make_starting_model(options, texts)
    with tempfile.TemporaryDirectory(prefix="cgru-") as cache:
        corpus = _encode(options, texts, start, Path(cache))
        describe(
            start,
            corpus,
            plan.batching,
            options.optimizer,
            smoothed=options.exponential_smoothing > 0,
        )

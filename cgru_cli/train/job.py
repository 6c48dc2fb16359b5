"""`cgru train`: from options to a model, in a folder that a killed run goes on from."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..corpus.corpus import Corpus
from ..errors import UsageError
from ..formats import write_model
from ..options import config_file
from ..options.train import TrainOptions
from ..parameters.initialization import output_bias
from ..system import cluster, tensorflow_start
from ..system.signals import StopRequest
from .builders import check_extras
from .dry_run import describe
from .examples import encode
from .loop import Training
from .plan import TrainingPlan
from .run.folder import RunFolder
from .starting_model import Beginning, begin
from .texts import Texts

if TYPE_CHECKING:
    from ..optimization.replicas import Replicas


def run(options: TrainOptions, folder: str | None) -> None:
    """Train as the options say, from the start or from where the run was saved last.

    Raises CgruError for bad text, vocabularies, models and folders; Stopped, after saving, where
    a signal ends it.
    """
    if options.dump_config:
        print(config_file.dump(options), end="")
        return
    if options.dry_run:
        _describe(options, folder)
        return
    several = cluster.named(os.environ)  # they meet first, to tell each other what fails
    checked = None if several else _checked(options, folder)
    starting = tensorflow_start.Start(compilation_cache=options.jit != "off")
    with contextlib.ExitStack() as stack:
        if several:
            replicas = _join(starting, options)
            ready = _ready_together(options, folder, stack, replicas)
        else:
            ready = _Ready.of(options, *checked, stack)
            replicas = _join(starting, options)
        with StopRequest() as stop, replicas.failures_named():
            Training(options, *ready, stop, replicas).run()


def _join(starting: tensorflow_start.Start, options: TrainOptions) -> Replicas:
    """TensorFlow on its devices, and with the other workers, where there are any."""
    starting.finish(options.device, options.cpu_threads, options.together, training=True)
    from ..optimization.replicas import Replicas

    return Replicas.join(cluster.Cluster.of(os.environ))


class _Ready(NamedTuple):
    """All that a training begins with, but TensorFlow."""

    plan: TrainingPlan
    texts: Texts
    runs: RunFolder
    begun: Beginning
    corpus: Corpus

    @classmethod
    def of(
        cls,
        options: TrainOptions,
        plan: TrainingPlan,
        texts: Texts,
        stack: contextlib.ExitStack,
        *,
        first: bool = True,
    ) -> _Ready:
        """Read vocabularies and models, and encode the text.

        first: whether this process writes what there is to be written; the folder is locked for it
        as long as the stack is open.
        """
        begun = begin(options, texts)
        runs = RunFolder(Path(options.model))
        spare = None
        if first:
            stack.enter_context(runs.locked())
            runs.remove_interrupted(begun.vocabularies)
            runs.check_new(begun.vocabularies)
        else:
            spare = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cgru-")))
        corpus = encode(texts, begun.vocabularies, options, runs.beside(".corpus"), spare)
        if options.begins_from is None and options.init == "scaled":
            counts = corpus.target_counts(begun.model.structure.target_vocabulary)
            begun.model.arrays["ff_logit_b"] = output_bias(counts)
        return cls(plan, texts, runs, begun, corpus)


def _ready_together(
    options: TrainOptions, folder: str | None, stack: contextlib.ExitStack, replicas: Replicas
) -> _Ready:
    """What each process begins with: worker 0 first, as others may use what it has written."""

    def here() -> _Ready:
        return _Ready.of(options, *_checked(options, folder), stack, first=replicas.is_first)

    of_first = replicas.together(lambda: here() if replicas.is_first else None)
    return replicas.together(lambda: of_first or here())


def _checked(options: TrainOptions, folder: str | None) -> tuple[TrainingPlan, Texts]:
    """What options say of when and how, and the texts. Raises UsageError and CgruError."""
    if options.model is None:
        raise UsageError("name the model: cgru train DATA -m MODEL.npz")
    if options.device and options.together:
        raise UsageError("--device names one device, --devices and --num-devices several")
    if options.devices and options.num_devices not in (0, len(options.devices)):
        raise UsageError(
            f"--num-devices {options.num_devices}: --devices names {len(options.devices)}"
        )
    write_model.output_path(options.model, "npz")
    texts = Texts.of(options, folder)
    plan = TrainingPlan.of(options, can_validate=texts.dev is not None)
    check_extras(options)
    return plan, texts


def _describe(options: TrainOptions, folder: str | None) -> None:
    """--dry-run."""
    _, texts = _checked(options, folder)
    begun = begin(options, texts)
    with tempfile.TemporaryDirectory(prefix="cgru-") as cache:
        corpus = encode(texts, begun.vocabularies, options, Path(cache))
        describe(options, begun, corpus)

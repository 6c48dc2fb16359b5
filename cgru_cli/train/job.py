"""`cgru train`: from options to a model; a killed run resumes from its folder."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from ..options.train import TrainOptions
from ..system import tensorflow_start, terminal
from ..system.signals import Stopped, StopRequest
from .builders import build_optimizer, build_training
from .dry_run import describe
from .loop import OnValidation
from .plan import TrainingPlan
from .run.curves import draw_runs
from .setup import Setup, decide, prepare
from .tab_separated import with_standard_input
from .texts import Texts

if TYPE_CHECKING:
    from ..optimization.replicas import Replicas

Decided = Callable[[], tuple[TrainingPlan, Texts]]


def run(
    options: TrainOptions,
    data: str | None,
    on_validation: OnValidation | None = None,
    settings: Mapping[str, Any] | None = None,
    stated: Collection[str] | None = None,
) -> None:
    """Train with these options, from the start or from the last save.

    data: a folder written by `cgru prep`. on_validation: called after each validation with the
    number of updates and the metrics. settings: the options under the names of the program whose
    files training writes. stated: the options that were given; the defaults of other options depend
    on the data, or are the declared ones if `stated` is None. Raises CgruError for bad text,
    vocabularies, models and folders; Stopped, after saving, if a signal ends the run.
    """
    if options.curves:
        picture = draw_runs(options.curves)
        terminal.tell(f"train: wrote {picture}.png, {picture}.svg", options.quiet)
        return
    with with_standard_input(options) as options:
        decided = functools.partial(decide, options, data, stated)
        if not options.dry_run:
            _train(options, decided, on_validation, settings or {})
            return
        plan, texts = decided()
        if options.optimizer_params:
            build_optimizer(options)  # raises UsageError for unknown parameters
        with contextlib.ExitStack() as stack:
            describe(prepare(plan, texts, stack))


def _train(
    options: TrainOptions,
    decided: Decided,
    on_validation: OnValidation | None,
    settings: Mapping[str, Any],
) -> None:
    from ..optimization import cluster

    with contextlib.ExitStack() as stack:
        try:
            if cluster.is_named(os.environ):  # before the rest, so that workers can report errors
                replicas = _join(options)
                setup = _prepare_together(decided, stack, replicas)
            else:
                setup = prepare(*decided(), stack)
                replicas = _join(options)
        except Stopped:  # once training has begun, the loop logs it
            terminal.write("cgru: stopped before training began\n")
            raise
        setup.settings = settings
        with StopRequest() as stop, replicas.failures_named():
            training = build_training(setup, stop, replicas)
            if on_validation:
                training.on_validation = on_validation
            training.run()


def _join(options: TrainOptions) -> Replicas:
    """Start TensorFlow on its devices, and join the other workers if there are any."""
    tensorflow_start.start(
        options.device,
        options.cpu_threads,
        options.together,
        compilation_cache=options.jit != "off",
    )
    from ..optimization.cluster import Cluster
    from ..optimization.replicas import Replicas

    return Replicas.join(Cluster.of(os.environ))


def _prepare_together(decided: Decided, stack: contextlib.ExitStack, replicas: Replicas) -> Setup:
    """Prepare in each process; worker 0 goes first, because the others read its files."""

    def prepared() -> Setup:
        return prepare(*decided(), stack, first=replicas.is_first)

    of_first = replicas.run_in_all(lambda: prepared() if replicas.is_first else None)
    return replicas.run_in_all(lambda: of_first or prepared())

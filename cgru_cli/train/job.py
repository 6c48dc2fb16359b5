"""`cgru train`: from options to a model; a killed run resumes from its folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ..options.train import TrainOptions
from ..system import tensorflow_start, terminal
from ..system.signals import Stopped, StopRequest
from .builders import build_optimizer, build_training, timed_updates
from .dry_run import describe
from .plan import Request
from .run.curves import draw_runs
from .run.forecast import LEAST, forecast
from .run.state import shared_options
from .run.validation import OnValidation
from .setup import Setup, read_inputs
from .tab_separated import with_standard_input

if TYPE_CHECKING:
    from ..optimization.replicas import Replicas

SMALLEST = 1000  # pairs of a text whose epoch takes long enough to time its updates


def run(
    options: TrainOptions,
    data: str | None,
    on_validation: OnValidation | None = None,
    settings: Mapping[str, Any] | None = None,
    explicit: Collection[str] | None = None,
) -> None:
    """Train with these options, from the start or from the last save.

    data: a folder written by `cgru prep`. on_validation: called after each validation with the
    number of updates and the metrics. settings, explicit: as in `Request`. Raises CgruError for bad
    text, vocabularies, models and folders; Stopped, after saving, if a signal ends the run.
    """
    if options.curves:
        picture = draw_runs(options.curves)
        terminal.tell(f"train: wrote {picture}.png, {picture}.svg", options.quiet)
        return
    with with_standard_input(options) as options, contextlib.ExitStack() as stack:
        request = Request(options, explicit, data, settings or {}).with_widths
        if not options.dry_run:
            _train(request, stack, on_validation)
            return
        setup = read_inputs(request, stack)
        if options.optimizer_params:
            build_optimizer(options)  # raises UsageError for unknown parameters
        describe(setup)
        if setup.text.pairs >= SMALLEST and setup.plan.conventions.guides:
            _start(setup.plan.options)
            if (pace := timed_updates(setup)).updates >= LEAST:
                print(forecast(pace, setup.plan))


def _train(
    request: Request, stack: contextlib.ExitStack, on_validation: OnValidation | None
) -> None:
    from ..optimization import cluster

    try:
        if cluster.is_named(os.environ):  # before the rest, so that workers can report errors
            replicas = _join(request.options)
            setup = _read_in_turn(request, stack, replicas)
        else:
            setup = read_inputs(request, stack)
            replicas = _join(request.options)
    except Stopped:  # once training has begun, the loop logs it
        terminal.write("cgru: stopped before training began\n")
        raise
    with StopRequest() as stop, replicas.failures_named():
        build_training(setup, stop, replicas, on_validation).run()


def _start(options: TrainOptions) -> None:
    """Start TensorFlow on its devices."""
    tensorflow_start.start(
        options.device,
        options.cpu_threads,
        options.together,
        compilation_cache=options.jit != "off",
    )


def _join(options: TrainOptions) -> Replicas:
    """Start TensorFlow, and join the other workers if there are any."""
    _start(options)
    from ..optimization.cluster import Cluster
    from ..optimization.replicas import Replicas

    return Replicas.join(Cluster.of(os.environ))


def _read_in_turn(request: Request, stack: contextlib.ExitStack, replicas: Replicas) -> Setup:
    """Read the inputs in each process; worker 0 goes first, because the others read its files."""
    first = replicas.is_first

    def read() -> Setup:
        setup = read_inputs(request, stack, first=first)
        setup.shared_options = shared_options(setup.plan.options)
        return setup

    of_first = replicas.run_in_all(lambda: read() if first else None)
    return replicas.run_in_all(lambda: of_first or read())

"""`cgru train`: from options to a model, in a folder that a killed run goes on from."""

from __future__ import annotations

import tempfile
from pathlib import Path

from . import model_writer, runtime, train_config
from .errors import UsageError
from .initialization import output_bias
from .run_folder import RunFolder
from .signals import StopRequest
from .starting_model import begin
from .train_options import TrainOptions
from .training_data import Texts, encode
from .training_loop import Training
from .training_plan import Plan
from .training_setup import check_extras, describe


def run(options: TrainOptions, folder: str | None) -> None:
    """Train as the options say, from the start or from where the run was saved last.

    Raises CgruError for bad text, vocabularies, models and folders; Stopped, after saving, where
    a signal ends it.
    """
    if options.dump_config:
        print(train_config.dump(options), end="")
        return
    if options.model is None:
        raise UsageError("name the model: cgru train DATA -m MODEL.npz")
    model_writer.output_path(options.model, "npz")
    texts = Texts.of(options, folder)
    plan = Plan.of(options, can_validate=texts.dev is not None)
    check_extras(options)
    if options.dry_run:
        begun = begin(options, texts)
        with tempfile.TemporaryDirectory(prefix="cgru-") as cache:
            corpus = encode(texts, begun.vocabularies, options, Path(cache))
            describe(options, begun, corpus)
        return
    starting = runtime.Start(compilation_cache=options.jit != "off")
    begun = begin(options, texts)
    runs = RunFolder(Path(options.model))
    with runs.locked():
        runs.remove_interrupted(begun.vocabularies)
        runs.check_new(begun.vocabularies)
        corpus = encode(texts, begun.vocabularies, options, runs.beside(".corpus"))
        if options.pretrained_model is None and options.init == "scaled":
            counts = corpus.target_counts(begun.model.structure.target_vocabulary)
            begun.model.arrays["ff_logit_b"] = output_bias(counts)
        starting.finish(options.device, options.cpu_threads)
        with StopRequest() as stop:
            Training(options, plan, texts, runs, begun, corpus, stop).run()

"""The options of other programs' translators and scorers, as options of cgru."""

from __future__ import annotations

import math
import os
from typing import Any

from ..errors import CgruError, UsageError
from .option_values import OptionValues

_UNCUT = str(10**6)  # words: no line is as long


def extra_defaults(program: str, command: str) -> dict[str, Any]:
    """Defaults of a program's translator that `parameters.program` does not have."""
    if command != "translate":
        return {}
    return {"max_length": "500" if program == "amun" else _UNCUT}


def resolve_translate(o: OptionValues) -> None:
    """Replace what this package's translator does not know by what it does.

    Raises UsageError for what there is not, CgruError for a file of weights that is none.
    """
    _vocabularies(o)
    _batches(o)
    _models(o)
    if o.take("skip_cost"):
        if str(o.values.get("beam_size")) != "1":
            raise UsageError(
                "--skip-cost cannot be honoured: hypotheses of a beam are ranked by the model's "
                "scores; with a beam of 1 it changes nothing"
            )
        o.note("--skip-cost", "the best word is the same with its cost")
    several = o.number("n_best_count") > 1
    count = o.take("n_best_count")
    if several:
        o.values |= {"n_best": True, "n_best_size": count}
    _sampling(o)
    no_debpe = o.take("no_debpe")
    if codes := o.take("bpe_codes"):  # of the source, the first; amun joins the output's sub-words
        o.values["bpe"] = codes[0]
        o.values.setdefault("join_bpe", not no_debpe)
    weights = o.take("load_weights")
    if weights:
        o.values["weights"] = _weights(weights)
    if o.program == "marian" and "max_length_crop" in o.values | dict.fromkeys(o.given):
        if o.take("max_length_crop"):
            if not o.is_given("max_length"):
                o.values["max_length"] = "1000"
        elif o.is_given("max_length"):
            o.note("--max-length", "lines are cut with --max-length-crop only")
            o.values["max_length"] = _UNCUT
    elif o.program == "marian" and o.is_given("max_length"):
        o.note("--max-length", "lines are cut with --max-length-crop only")
        o.values["max_length"] = _UNCUT
    _tabs(o)


def _sampling(o: OptionValues) -> None:
    """Nematus' strategy, and the temperature that goes with it."""
    strategy, temperature = o.values.get("translation_strategy"), o.take("sampling_temperature")
    if strategy == "sampling":
        asked = f"full {temperature or '1.0'}"
        o.replace("output_sampling", asked, by="translation_strategy")
    elif temperature is not None:
        raise UsageError("--sampling_temperature needs --translation_strategy sampling")
    o.take("translation_strategy")


def _tabs(o: OptionValues) -> None:
    fields = int(o.number("tsv_fields"))
    o.take("tsv_fields")
    expected = 2 if o.values.get("force_decode") else 1
    if fields not in (0, expected):
        raise UsageError(
            f"--tsv-fields {fields}: a line has the source alone or, with --force-decode, the "
            "beginning of its translation behind a tab"
        )
    inputs = o.values.get("input", ())
    if o.values.get("force_decode") and len(inputs) == 2 and not o.values.get("tsv"):
        return  # Marian's source and prefixes in a file each
    if o.program == "marian" and len(inputs) > 1:
        raise UsageError(
            f"--input {' '.join(inputs)}: models that read several sources at once are not known"
        )


def resolve_score(o: OptionValues) -> None:
    """Replace what this package's scorer does not know by what it does. Raises UsageError."""
    _batches(o)
    _models(o)
    targets = tuple(o.values.get("target") or ())
    fields = int(o.number("tsv_fields"))
    o.take("tsv_fields")
    tsv = o.take("tsv")
    as_list = o.take("n_best_list")
    targets = tuple("-" if target == "stdin" else target for target in targets)
    if targets:
        o.values["target"] = targets
    if tsv:
        if len(targets) > 1:
            raise UsageError(f"--tsv: one file is expected, or stdin; {len(targets)} are named")
        if fields not in (0, 2):
            raise UsageError(f"--tsv-fields {fields}: a line has two, source and target")
    if as_list:
        if len(targets) != 2:
            raise UsageError("--n-best: Marian's -t names the source and the list")
        o.values |= {"source": targets[:1], "n_best": targets[1]}
        del o.values["target"]
    if o.take("max_length_crop"):
        o.note("--max-length-crop", "longer sources are cut, longer translations refused")
    o.take("maxi_batch_sort")
    _language_model(o)


def _language_model(o: OptionValues) -> None:
    """DL4MT's rescoring of a list: which costs are added, and by which weights."""
    weight, convex = o.number("lm_weight"), o.take("lm_convex")
    o.take("lm_weight")
    vocabulary = o.take("lm_vocabulary")
    o.take("model_options")
    o.take("tm_vocabulary")
    if vocabulary is None:
        for name, flag in (("lm_weight", "-b"), ("lm_convex", "-x")):
            if o.is_given(name):
                raise UsageError(
                    f"{flag} is of rescore_with_lm.py, whose arguments are MODEL MODEL_OPTIONS "
                    "DICTIONARY_LM DICTIONARY_TM SOURCE SAVETO"
                )
        return
    o.note("MODEL_OPTIONS, DICTIONARY_TM", "options lie beside the model, and the list has words")
    o.values["vocabularies"] = (vocabulary,)
    o.values["rerank"] = f"{weight - 1 if convex else -1:g} {-weight:g}"  # of costs


def _models(o: OptionValues) -> None:
    """Models by the names that Nematus-TF gives them, where they were trained here."""
    if o.program == "nematus-tf":
        models = o.values.get("model") or ()
        models = (models,) if isinstance(models, str) else models
        o.values["model"] = tuple(_as_saved_here(model) for model in models)


def _as_saved_here(path: str) -> str:
    if os.path.exists(path) or os.path.exists(f"{path}.index"):
        return path
    for theirs, ours in ((".best-valid-script", ".npz.best-translation.npz"), ("", ".npz")):
        saved = path.removesuffix(theirs) + ours
        if path.endswith(theirs) and os.path.exists(saved):
            return saved
    return path


def _vocabularies(o: OptionValues) -> None:
    """amun's and DL4MT's names for the vocabularies of each side."""
    sources, target = o.take("source_vocabularies"), o.take("target_vocabulary")
    if sources is None and target is None:
        return
    if sources is None or target is None:
        raise UsageError("the vocabularies of source and target go together")
    sources = (sources,) if isinstance(sources, str) else tuple(sources)
    o.values["vocabularies"] = (*sources, target)


def _batches(o: OptionValues) -> None:
    sentences = o.number("maxi_batch_sentences")
    if o.take("maxi_batch_sentences") is not None:
        size = max(o.number("mini_batch"), 1)
        o.values["maxi_batch"] = str(max(1, math.ceil(sentences / size)))
    workspace = str(o.values.get("workspace", ""))
    if workspace.startswith("-") and o.program == "marian":
        o.take("workspace")
        o.note("--workspace", "memory is taken as it is needed")


def _weights(path: str) -> tuple[str, ...]:
    """amun's file of weights: a name and a number a line, in the order of the models."""
    weights = []
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                name, _, value = line.replace("=", " ").strip().partition(" ")
                if not name:
                    continue
                try:
                    weights.append(str(float(value)))
                except ValueError:
                    raise CgruError(
                        f"{path}: line {number}: a name and a weight are expected"
                    ) from None
    except OSError as error:
        raise CgruError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CgruError(f"{path}: not UTF-8") from None
    return tuple(weights)

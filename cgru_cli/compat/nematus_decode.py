"""The options of Nematus' `translate.py`, `score.py` and `rescore.py`, in both versions."""

from __future__ import annotations

import os

from ..errors import UsageError
from .fields import Fields
from .rows import no_effect, one_of, refused, row, rows, switched

STRATEGIES = {name: name for name in ("beam_search", "sampling")}
_BOTH = """
    -m --models FILE... -> model, -o --output FILE, -n --normalization_alpha [1] = 0 -> normalize
""".strip()
TRANSLATE = (
    *rows(f"""
        {_BOTH}, -i --input FILE, -k --beam_size N = 5, -b --minibatch_size N = | 80 -> mini_batch,
        --maxibatch_size N = 20 -> maxi_batch, -c -> char_level, -a --output_alignment FILE,
        --n-best --n_best, --suppress-unk --suppress_unk,
        -wp --print-word-probabilities -> word_scores, -mr --max-ratio X = 0 -> max_length_factor,
        --translation_maxlen N = 200, --sampling_temperature [1] = 1"""),
    row("--json_alignment", switched("alignment_format", "json")),
    row(
        "--translation_strategy X = beam_search",
        one_of("translation_strategy", STRATEGIES, "beam_search or sampling is known"),
    ),
    *no_effect("""
        -v --verbose: warnings are always shown
        -p --num_processes N = 1: one process uses all processors
        -dl --device-list X...: --device selects the device"""),
    *refused("-sg --search_graph X: search graphs are not written"),
)
SCORE = (
    *rows(f"""
        {_BOTH}, -v --verbose -> print_target, -b --minibatch_size N = 80 -> mini_batch,
        -s --source FILE, -t --target FILE, -i --input FILE -> n_best"""),
    *no_effect("-p N = 1: one process uses all processors"),
    *refused("-w --walign: alignments are written with the scores; use --alignment-format nematus"),
)


def settle_translation(o: Fields) -> None:
    """Replace the strategy with --output-sampling. Raises UsageError for contradicting options."""
    temperature = o.take("sampling_temperature")
    if o.values.get("translation_strategy") == "sampling":
        asked = f"full {temperature or '1.0'}"
        o.replace("output_sampling", asked, by="translation_strategy")
    elif temperature is not None:
        raise UsageError("--sampling_temperature needs --translation_strategy sampling")
    o.take("translation_strategy")


def settle_translation_of_tensorflow(o: Fields) -> None:
    """Replace the options of both versions, and look for models under Nematus-TF's names."""
    settle_translation(o)
    settle_models(o)


def settle_models(o: Fields) -> None:
    """Find models trained by cgru under the names that Nematus-TF would have used."""
    models = o.values.get("model") or ()
    models = (models,) if isinstance(models, str) else models
    o.values["model"] = tuple(_as_saved_here(model) for model in models)


def _as_saved_here(path: str) -> str:
    if os.path.exists(path) or os.path.exists(f"{path}.index"):
        return path
    for ending, own in ((".best-valid-script", ".npz.best-translation.npz"), ("", ".npz")):
        saved = path.removesuffix(ending) + own
        if path.endswith(ending) and os.path.exists(saved):
            return saved
    return path

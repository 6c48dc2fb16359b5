"""Compare a model with its description on a command line (`--model-is`)."""

from collections.abc import Sequence

from ..errors import CgruError, UsageError
from ..parameters.structure import Type, Unit
from .configuration_values import MARIAN_KEYS, keyed
from .model import Model

_TRUE = ("true", "1", "yes", "on")
_UNSEEN = ("skip", "enc-type", "best-deep")  # have no effect on models of one level


def check_declared(models: Sequence[Model], declared: Sequence[str]) -> None:
    """Raise CgruError for a model that contradicts `NAME=VALUE`, UsageError for unknown names.

    The names are Marian's options. A vocabulary of 0 words matches any size. Properties without
    effect on models of one level, such as skip connections, are not compared with these.
    """
    for model in models:
        facts = _facts(model)
        for one in declared:
            name, _, value = one.partition("=")
            if name not in facts and name in _UNSEEN:
                continue
            if name == "dim-vocabs":
                fits, real = _vocabularies(model, value)
            elif name in facts:
                known = facts[name]
                fits, real = value.lower() in known, known[0]
            else:
                names = ", ".join((*facts, "dim-vocabs"))
                raise UsageError(f"--model-is {one}: the known names are {names}")
            if not fits:
                raise CgruError(
                    f"{model.path}: its {name} is {real}; the command line says {value}"
                )


def _facts(model: Model) -> dict[str, tuple[str, ...]]:
    """All spellings of each value, the plainest first, by Marian's option names."""
    s = model.structure
    known = keyed(s, MARIAN_KEYS) | {
        "tied-embeddings": s.tied_output,
        "tied-embeddings-src": s.shared_embeddings,
        "tied-embeddings-all": s.tied_output and s.shared_embeddings,
        "right-left": model.settings.right_left,
    }
    if max(s.encoder_depth, s.decoder_depth) == 1:
        del known["skip"]
    facts: dict[str, tuple[str, ...]] = {}
    for name, value in known.items():
        switch = _TRUE if value else ("false", "0", "no", "off")
        facts[name] = switch if isinstance(value, bool) else (str(value),)
    if s.encoder_depth > 1:
        facts["enc-type"] = (s.encoder.value,)
    facts["enc-cell"], facts["dec-cell"] = _cell(s.encoder_unit), _cell(s.decoder_unit)
    facts["type"] = _types(model)
    return facts


def _cell(unit: Unit) -> tuple[str, ...]:
    return ("gru", "gru-nematus") if unit is Unit.GRU else (unit.value.partition("-")[0],)


def _types(model: Model) -> tuple[str, ...]:
    """The names of the model's type; Marian's types amun and nematus read DL4MT and Nematus."""
    if model.structure.type is not Type.CGRU:
        return (model.structure.type.value,)
    if model.program.startswith("marian-"):
        return model.program.removeprefix("marian-"), "cgru"
    return "nematus", "amun", "s2s", "cgru"


def _vocabularies(model: Model, value: str) -> tuple[bool, str]:
    """Whether the declared numbers of words fit the model, and the model's numbers."""
    sizes = model.structure.vocabularies
    try:
        said = [int(number) for number in value.replace(",", " ").split() if number != "[]"]
    except ValueError:
        raise UsageError(f"--model-is dim-vocabs={value}: numbers of words are expected") from None
    fits = all(number == 0 or number >= size for number, size in zip(said, sizes, strict=False))
    return fits and len(said) in (0, len(sizes)), " ".join(map(str, sizes))

"""How to search: what options, a model's program, and configurations decide together."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CgruError, UsageError
from ..formats.read_configuration import Settings, from_marian, parse_yaml
from ..formats.read_model import Model
from ..options import programs
from ..options.feature_weights import of_models
from ..options.flags import REFUSED_BY_TRANSLATE, TranslateOptions
from ..options.programs import PROGRAMS, Program, marian_limit
from ..output.layout import Layout
from ..parameters.structure import Structure

if TYPE_CHECKING:
    from ..search.sampling import Sampling


TEXT_LIMIT = 200  # words of a text that a language model writes, as Nematus' of a translation

# What else of a Marian decoder's configuration is an option here: key, field, kind.
_CONFIGURED = (
    ("n-best", "n_best", bool),
    ("allow-unk", "allow_unk", bool),
    ("word-scores", "word_scores", bool),
    ("alignment", "alignment", str),
    ("max-length-factor", "max_length_factor", float),
    ("force-decode", "force_decode", bool),
)


def _configured(values: Mapping, options: TranslateOptions, path: Path) -> dict:
    """Options that a configuration sets and the command line does not.

    Raises CgruError for a value of the wrong kind, UsageError for what cannot be honoured.
    """
    for key in ("shortlist", "skip-cost"):
        if values.get(key):
            raise UsageError(
                f"{path}: {key} cannot be honoured: {REFUSED_BY_TRANSLATE[f'--{key}']}"
            )
    taken = {}
    for key, name, kind in _CONFIGURED:
        if values.get(key) and getattr(options, name) in (None, False):
            try:
                taken[name] = kind(values[key])
            except (TypeError, ValueError):
                raise CgruError(f"{path}: {key} is {values[key]!r}") from None
    return taken


def with_configuration(options: TranslateOptions) -> tuple[TranslateOptions, Settings]:
    """Take models, vocabularies and search from a Marian or amun `.yml`, where not given."""
    if options.config is None:
        return options, Settings()
    path = Path(options.config)
    try:
        values = parse_yaml(path.read_bytes(), str(path))
    except OSError as error:
        raise CgruError(f"{path}: {error.strerror}") from None
    settings = from_marian(values, str(path))
    named = values.get("models") or [values.get("model")]
    if not isinstance(named, list):
        raise CgruError(f"{path}: models is {named!r}, where a list is expected")
    models = [str(name) for name in named if name]
    scorers = values.get("scorers")
    if isinstance(scorers, dict):  # amun's
        models += [str(scorer["path"]) for scorer in scorers.values() if "path" in scorer]
    folder = path.parent if values.get("relative-paths") else Path()
    weights = values.get("weights")
    return (
        dataclasses.replace(
            options,
            **_configured(values, options, path),
            model=options.model or tuple(str(folder / name) for name in models),
            vocabularies=options.vocabularies
            or tuple(str(folder / name) for name in settings.vocabularies),
            weights=options.weights
            or (tuple(map(float, weights.values())) if isinstance(weights, dict) else ()),
        ),
        settings,
    )


@dataclass(frozen=True)
class Plan:
    """Everything about the search that defaults, options and configurations decide together."""

    program: Program
    beam_size: int
    normalize: float
    word_penalty: float
    suppress_unk: bool
    weights: tuple[float, ...]
    mini_batch: int
    maxi_batch: int
    layout: Layout
    reads_source: bool
    options: TranslateOptions

    @classmethod
    def of(cls, options: TranslateOptions, models: list[Model], configured: Settings) -> Plan:
        compat = options.compat
        program = PROGRAMS[compat] if compat else programs.of_model(models[0].program)
        beside = Settings() if compat else models[0].settings
        sampled = options.output_sampling or options.translation_strategy == "sampling"

        def first(*values, default):
            return next((value for value in values if value is not None), default)

        beam_size = first(
            options.beam_size, configured.beam_size, 1 if sampled else beside.beam_size,
            default=program.beam_size,
        )  # fmt: skip
        normalize = first(
            options.normalize, configured.normalize, beside.normalize, default=program.normalize
        )
        penalty = first(
            options.word_penalty, configured.word_penalty, beside.word_penalty, default=0.0
        )
        mini_batch = first(options.mini_batch, default=program.mini_batch)
        maxi_batch = first(options.maxi_batch, default=program.maxi_batch)
        counts = {
            "beam size": beam_size,
            "mini-batch": mini_batch,
            "maxi-batch": maxi_batch,
            "max-length": options.max_length,
            "workspace": options.workspace,
            "translation-maxlen": first(options.translation_maxlen, default=1),
        }
        for name, value in counts.items():
            if value < 1:
                raise UsageError(f"{name} {value}: at least 1 is needed")
        if (options.max_length_factor or 0) < 0:
            raise UsageError(f"max-length-factor {options.max_length_factor}: is negative")
        if options.allow_unk and options.suppress_unk:
            raise UsageError("--allow-unk and --suppress-unk contradict each other")
        right_left = models[0].settings.right_left
        reads_source = any(model.structure.type.reads_source for model in models)
        if options.max_length_factor and not reads_source:
            raise UsageError("--max-length-factor: a language model has no source; use "
                             "--translation-maxlen")  # fmt: skip
        if options.force_decode and right_left:
            raise UsageError("--force-decode: this model writes from the end of a sentence")
        if options.force_decode and compat and program.search == "nematus-tf":
            raise UsageError("--force-decode: Nematus-TF's search knows no such thing")
        return cls(
            program=program,
            beam_size=beam_size,
            normalize=normalize,
            word_penalty=penalty,
            suppress_unk=options.suppress_unk or not (program.allow_unk or options.allow_unk),
            weights=weights_of(options.weights, options.model, sums=bool(compat) and program.sums),
            mini_batch=mini_batch,
            maxi_batch=maxi_batch,
            layout=_layout(options, program, beam_size, normalize, right_left),
            reads_source=reads_source,
            options=options,
        )

    def limit(self, length: int) -> int:
        """The most words of a translation of a source of this length (both with EOS)."""
        if self.options.translation_maxlen is not None:
            return self.options.translation_maxlen
        if self.options.max_length_factor:  # 0 is Nematus' word for its own limit
            return marian_limit(length, self.options.max_length_factor)
        return self.program.limit(length) if self.reads_source else TEXT_LIMIT

    @property
    def with_alignment(self) -> bool:
        """Whether the attention is needed at all."""
        options = self.options
        return bool(self.layout.alignment is not None or options.unk_replace or options.heatmap)

    @property
    def search(self) -> str:
        """Nematus-TF's search is done only where its output is asked for."""
        return self.program.search if self.options.compat else "shrinking"


def weights_of(
    given: Sequence[float | str], models: Sequence[str], sums: bool
) -> tuple[float, ...]:
    """The weights of an ensemble of these models: as given, else 1 each, or their mean's.

    Raises UsageError for another number of them, or where all are zero; CgruError for a bad file.
    """
    if not given:
        return (1.0 if sums else 1.0 / len(models),) * len(models)
    weights = of_models(given, models)
    if not any(weights):
        raise UsageError("--weights: all are zero")
    return weights


def alignment_of(asked: str | None) -> str | float | None:
    """What --alignment means. Raises UsageError for what it cannot."""
    if asked in (None, "hard", "soft"):
        return asked
    try:
        return float(asked)
    except ValueError:
        raise UsageError(
            f"--alignment {asked}: hard, soft or a number from 0 to 1 is expected"
        ) from None


def _layout(
    options: TranslateOptions, program: Program, beam: int, normalize: float, right_left: bool
) -> Layout:
    alignment = alignment_of(options.alignment)
    kind = "json" if options.json_alignment else options.alignment_format
    if alignment is None and (kind or options.output_alignment):
        alignment = "soft"
    if options.output_alignment and kind is None:
        kind = "nematus"
    if options.output_alignment and kind not in ("nematus", "json"):
        raise UsageError("--output-alignment writes the formats nematus and json only")
    if options.lexicon and not options.unk_replace:
        raise UsageError("--lexicon needs --unk-replace")
    return Layout(
        program=program.layout if options.compat else "cgru",
        n_best=options.n_best,
        word_scores=options.word_scores,
        alignment=alignment,
        alignment_format=kind,
        right_left=right_left,
        beam_size=beam,
        normalize=normalize != 0,
    )


def sampling_of(options: TranslateOptions) -> Sampling | None:
    from ..search.sampling import Sampling

    words = (options.output_sampling or "").split()
    if not words and options.translation_strategy == "sampling":
        words = ["full", str(options.sampling_temperature or 1.0)]
    elif options.sampling_temperature is not None:
        raise UsageError("--sampling-temperature is of --translation-strategy sampling alone")
    if not words:
        return None
    try:
        kind, *rest = words
        top = None
        if kind == "topk":
            top = max(0, int(rest.pop(0)))
        temperature = float(rest.pop(0)) if rest else 1.0
        if (
            not math.isfinite(temperature)
            or kind not in ("full", "topk")
            or rest
            or temperature <= 0
            or top == 0
        ):
            raise ValueError
    except (ValueError, IndexError):
        raise UsageError(
            f"--output-sampling {' '.join(words)}: `full [T]` or `topk K [T]` is expected"
        ) from None
    return Sampling(temperature, top, options.seed % 2**63)


def max_tokens_of(workspace: int, beam_size: int, structures: Iterable[Structure]) -> int:
    """Padded source words that a batch may have to stay within the workspace (MiB).

    A source word takes its annotation's products, and the attention's hidden layer once a
    hypothesis; a hypothesis takes the vocabulary's logits (twice, for the softmax) and its states.
    Sentences are counted as if they were at least ten words long. A part of a batch may be left
    when the next one joins it.
    """
    from ..search.beam import REFILL_BELOW

    per_token = 0.0
    for s in structures:
        attention = 4 * (s.context * (1 + 2 * beam_size) + 3 * s.state + s.target_embedding)
        row = 4 * (3 * s.target_vocabulary + 12 * s.state + 4 * s.context)
        per_token += attention + beam_size * row / 10
    return max(1, int(workspace * 2**20 / ((1 + REFILL_BELOW) * per_token)))

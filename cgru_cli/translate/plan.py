"""How to search: what options, a model's program, and configurations decide together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..formats.model import Model, ModelSettings
from ..options import programs
from ..options.feature_weights import weights_of
from ..options.programs import PROGRAMS, Program, marian_limit
from ..options.translate import TranslateOptions
from ..output.layout import Layout, alignment_of

if TYPE_CHECKING:
    from ..search.sampling import Sampling


TEXT_LIMIT = 200  # words of a text that a language model writes, as Nematus' of a translation


@dataclass(frozen=True)
class SearchPlan:
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
    def of(
        cls, options: TranslateOptions, models: list[Model], configured: ModelSettings
    ) -> SearchPlan:
        compat = options.compat
        program = PROGRAMS[compat] if compat else programs.of_model(models[0].program)
        beside = ModelSettings() if compat else models[0].settings
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

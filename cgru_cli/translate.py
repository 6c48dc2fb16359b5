"""`cgru translate`: a filter from source lines to translations.

Lines are read as they come, sorted by length within a window, translated in batches, and written
in the order of the input as soon as that is possible.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from . import model_file, model_vocabularies, postprocess, programs, runtime
from .errors import CgruError, UsageError, warn
from .lines import InOrder, LineReader, LineWriter, batches, check_distinct, tokens, windows
from .model_file import Model
from .numpy_order import argsort
from .options import TranslateOptions
from .output import Hypothesis, Layout
from .programs import PROGRAMS, Program, marian_limit
from .settings import Settings, from_marian, parse_yaml
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .decoder import Decoder
    from .search import Found, Sampling, SearchSettings

EOS = 0


def run(options: TranslateOptions) -> None:
    """Translate as the options say.

    Raises CgruError for bad models, vocabularies and input; OutputClosed where nobody reads.
    """
    options, configured = _with_configuration(options)
    if not options.model:
        raise UsageError("name a model: cgru translate -m MODEL")
    check_distinct(options.input, options.output)
    starting = runtime.Start()
    with LineReader(*options.input) as reader:
        models = [_Reader.of(path, options) for path in options.model]
        _check_ensemble(models)
        plan = _Plan.of(options, [reader.model for reader in models], configured)
        starting.finish(options.device, options.cpu_threads)
        translator = _Translator(options, plan, models)
        with LineWriter(options.output) as writer:
            apart = LineWriter(options.output_alignment) if options.output_alignment else None
            try:
                _filter(reader, writer, apart, translator, options, plan)
            finally:
                if apart:
                    apart.close()
                translator.report()


def _with_configuration(options: TranslateOptions) -> tuple[TranslateOptions, Settings]:
    """Take models, vocabularies and search from a Marian or amun `.yml`, where not given."""
    if options.config is None:
        return options, Settings()
    path = Path(options.config)
    try:
        values = parse_yaml(path.read_bytes(), str(path))
    except OSError as error:
        raise CgruError(f"{path}: {error.strerror}") from None
    settings = from_marian(values, str(path))
    models = [str(name) for name in values.get("models") or [values.get("model")] if name]
    scorers = values.get("scorers")
    if isinstance(scorers, dict):  # amun's
        models += [str(scorer["path"]) for scorer in scorers.values() if "path" in scorer]
    folder = path.parent if values.get("relative-paths") else Path()
    weights = values.get("weights")
    return (
        dataclasses.replace(
            options,
            model=options.model or tuple(str(folder / name) for name in models),
            vocabularies=options.vocabularies
            or tuple(str(folder / name) for name in settings.vocabularies),
            weights=options.weights
            or (tuple(map(float, weights.values())) if isinstance(weights, dict) else ()),
        ),
        settings,
    )


@dataclass
class _Reader:
    """A model and how it reads source lines."""

    model: Model
    sources: list[Vocabulary]
    target: Vocabulary

    @classmethod
    def of(cls, path: str, options: TranslateOptions) -> _Reader:
        model = model_file.read(path)
        *sources, target = model_vocabularies.find(model, options.vocabularies)
        return cls(model, sources, target)

    def tokens(self, line: str, encode: bool) -> list[str]:
        """Words of a line, or the pieces of raw text."""
        return self.sources[0].tokenize(line) if encode else tokens(line)

    def ids(self, words: Sequence[str], number: int) -> list[tuple[int, ...]]:
        """Word ids, one of each factor, without EOS.

        Raises CgruError where a word has another number of factors than the model.
        """
        if len(self.sources) == 1:
            return [(i,) for i in self.sources[0].encode(words)]
        columns = []
        for word in words:
            factors = word.split("|")
            if len(factors) != len(self.sources):
                raise CgruError(
                    f"line {number + 1}: {word!r} has {len(factors)} factors, "
                    f"{self.model.path} reads {len(self.sources)} (word|factor|..)"
                )
            columns.append(factors)
        by_factor = zip(*columns, strict=True)
        return list(
            zip(
                *(v.encode(column) for v, column in zip(self.sources, by_factor, strict=False)),
                strict=True,
            )
        )


def _check_ensemble(models: list[_Reader]) -> None:
    first, *others = models
    for other in others:
        if other.target.fingerprint != first.target.fingerprint or (
            other.model.structure.target_vocabulary != first.model.structure.target_vocabulary
        ):
            raise CgruError(
                f"{other.model.path}: another target vocabulary than {first.model.path}; "
                "an ensemble needs one and the same"
            )


@dataclass(frozen=True)
class _Plan:
    """Everything about the search that defaults, options and configurations decide together."""

    program: Program
    beam_size: int
    normalize: float
    word_penalty: float
    suppress_unk: bool
    weights: tuple[float, ...]
    mini_batch: int
    maxi_batch: int
    right_left: bool
    layout: Layout
    unk_replace: bool
    options: TranslateOptions

    @classmethod
    def of(cls, options: TranslateOptions, models: list[Model], configured: Settings) -> _Plan:
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
        for name, value in (("beam size", beam_size), ("mini-batch", mini_batch),
                            ("maxi-batch", maxi_batch), ("max-length", options.max_length)):  # fmt: skip
            if value < 1:
                raise UsageError(f"{name} {value}: at least 1 is needed")
        if options.allow_unk and options.suppress_unk:
            raise UsageError("--allow-unk and --suppress-unk contradict each other")
        right_left = models[0].settings.right_left
        return cls(
            program=program,
            beam_size=beam_size,
            normalize=normalize,
            word_penalty=penalty,
            suppress_unk=options.suppress_unk or not (program.allow_unk or options.allow_unk),
            weights=_weights(options, len(models), sums=bool(compat) and program.sums),
            mini_batch=mini_batch,
            maxi_batch=maxi_batch,
            right_left=right_left,
            layout=_layout(options, program, beam_size, normalize, right_left),
            unk_replace=options.unk_replace,
            options=options,
        )

    def limit(self, length: int) -> int:
        """The most words of a translation of a source of this length (both with EOS)."""
        if self.options.translation_maxlen is not None:
            return max(1, self.options.translation_maxlen)
        if self.options.max_length_factor is not None:
            return marian_limit(length, self.options.max_length_factor)
        return self.program.limit(length)

    @property
    def with_alignment(self) -> bool:
        """Whether the attention is needed at all."""
        return self.layout.alignment is not None or self.unk_replace

    @property
    def search(self) -> str:
        """Nematus-TF's search is done only where its output is asked for."""
        return self.program.search if self.options.compat else "shrinking"


def _weights(options: TranslateOptions, count: int, sums: bool) -> tuple[float, ...]:
    weights = options.weights or (1.0,) * count
    if len(weights) != count:
        raise UsageError(f"--weights: {len(weights)} given for {count} models")
    if sums or options.weights:
        return weights
    return tuple(weight / count for weight in weights)


def _layout(
    options: TranslateOptions, program: Program, beam: int, normalize: float, right_left: bool
) -> Layout:
    alignment: str | float | None = options.alignment
    if alignment not in (None, "hard", "soft"):
        try:
            alignment = float(alignment)
        except ValueError:
            raise UsageError(
                f"--alignment {alignment}: hard, soft or a number from 0 to 1 is expected"
            ) from None
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


class _Translator:
    """Batches of lines in, rendered text out."""

    def __init__(self, options: TranslateOptions, plan: _Plan, models: list[_Reader]):
        from .decoder import Decoder
        from .network import Network
        from .search import SearchSettings

        self.plan, self.models = plan, models
        self.target = models[0].target
        networks = []
        for reader in models:
            model = reader.model
            networks.append(Network(model.structure, model.arrays, options.precision))
            model.arrays = {}  # held by the network, in the form it multiplies
        self.decoder: Decoder = Decoder(networks, plan.weights)
        self.settings: SearchSettings = SearchSettings(
            beam_size=plan.beam_size,
            normalize=plan.normalize,
            word_penalty=plan.word_penalty,
            unk=self.target.unk_id if plan.suppress_unk else None,
            best_only=not options.n_best,
            with_alignment=plan.with_alignment,
        )
        self.sampling = _sampling(options)
        self.lexicon = postprocess.read_lexicon(options.lexicon) if options.lexicon else None
        self.encode = not options.no_spm_encode
        decode_pieces = not options.no_spm_decode

        def join(words: Sequence[str]) -> str:
            text = self.target.detokenize(words) if decode_pieces else " ".join(words)
            return postprocess.join_bpe(text) if options.join_bpe else text

        self.layout = dataclasses.replace(plan.layout, join=join)
        self.max_tokens = _max_tokens(options.workspace, plan, [r.model for r in models])
        self.cut = 0

    def words(self, line: str, number: int) -> list[str]:
        """The words of a line, no more than are read."""
        words = self.models[0].tokens(line, self.encode)
        longest = self.plan.options.max_length
        if len(words) > longest:
            if not self.cut:
                warn(f"line {number + 1} has {len(words)} words; cut to --max-length {longest}")
            self.cut += 1
            words = words[:longest]
        return words

    def report(self) -> None:
        """Say how much was cut, once, at the end."""
        if self.cut > 1:
            warn(f"{self.cut} lines were cut to --max-length {self.plan.options.max_length}")

    def batch(self, numbers: Sequence[int], lines: Sequence[list[str]]) -> list[tuple[str, str]]:
        """Translate lines that are not empty: (text, alignments in a file of their own)."""
        ids = [
            [reader.ids(words, n) for words, n in zip(lines, numbers, strict=True)]
            for reader in self.models
        ]
        lattice = self.decoder.begin([_padded(of_model) for of_model in ids])
        lengths = [len(words) + 1 for words in ids[0]]
        found = self._search(lattice, lengths, numbers)
        return [
            self.render(number, words, results)
            for number, words, results in zip(numbers, lines, found, strict=True)
        ]

    def _search(self, lattice, lengths: list[int], numbers: Sequence[int]) -> list[list[Found]]:
        from . import search

        limits = [self.plan.limit(length) for length in lengths]
        if self.sampling:
            return search.sample(lattice, lengths, limits, self.settings, self.sampling, numbers)
        if self.plan.search == "nematus-tf":
            return search.nematus_tf_beam(lattice, lengths, limits, self.settings)
        return search.shrinking_beam(lattice, lengths, limits, self.settings)

    def render(
        self, number: int, source: Sequence[str], results: Sequence[Found]
    ) -> tuple[str, str]:
        """The text of one line."""
        hypotheses = [self._hypothesis(found, source) for found in results]
        surface = [word.split("|")[0] for word in source] if self._has_factors else source
        if self.plan.options.output_alignment:
            return self.layout.render_apart(number, surface, hypotheses)
        return self.layout.render(number, surface, hypotheses), ""

    def empty(self, number: int) -> tuple[str, str]:
        """An empty line gives an empty line (in n-best lists, one empty hypothesis)."""
        hypothesis = Hypothesis((), True, 0.0, 0.0, (), (0.0,) * len(self.models), None)
        if not self.layout.n_best:
            return "\n", ""
        bare = dataclasses.replace(self.layout, alignment=None, word_scores=False)
        return bare.render(number, [], [hypothesis]), ""

    @property
    def _has_factors(self) -> bool:
        return len(self.models[0].sources) > 1

    def _hypothesis(self, found: Found, source: Sequence[str]) -> Hypothesis:
        ids = found.words[:-1] if found.finished else found.words
        words = self.target.decode(int(i) for i in ids)
        if self.plan.unk_replace and found.alignment is not None:
            surface = [word.split("|")[0] for word in source] if self._has_factors else source
            words = postprocess.replace_unknown(
                words, found.alignment, surface, {self.target.unk}, self.lexicon
            )
        return Hypothesis(
            words,
            found.finished,
            found.score,
            found.total,
            found.word_scores.tolist(),
            found.model_scores.tolist(),
            found.alignment,
        )


def _sampling(options: TranslateOptions) -> Sampling | None:
    from .search import Sampling

    words = (options.output_sampling or "").split()
    if not words and options.translation_strategy == "sampling":
        words = ["full", str(options.sampling_temperature or 1.0)]
    if not words:
        return None
    try:
        kind, *rest = words
        top = None
        if kind == "topk":
            top = int(rest.pop(0))
        temperature = float(rest.pop(0)) if rest else 1.0
        if kind not in ("full", "topk") or rest or temperature <= 0 or (top or 1) < 1:
            raise ValueError
    except (ValueError, IndexError):
        raise UsageError(
            f"--output-sampling {' '.join(words)}: `full [T]` or `topk K [T]` is expected"
        ) from None
    return Sampling(temperature, top, options.seed)


def _max_tokens(workspace: int, plan: _Plan, models: Sequence[Model]) -> int:
    """Padded source words that a batch may have to stay within the workspace.

    A source word takes annotations and their projection, and the attention's hidden layer once a
    hypothesis; a hypothesis takes the vocabulary's logits (twice, for the softmax) and its states.
    Sentences are counted as if they were at least ten words long.
    """
    per_token = 0.0
    for model in models:
        s = model.structure
        attention = 4 * s.context * (2 + 2 * plan.beam_size)
        row = 4 * (3 * s.target_vocabulary + 12 * s.state + 4 * s.context)
        per_token += attention + plan.beam_size * row / 10
    return max(1, int(workspace * 2**20 / per_token))


def _padded(lines: Sequence[list[tuple[int, ...]]]) -> tuple[np.ndarray, np.ndarray]:
    """Ids (B,S,F) ended and padded by EOS, and the mask (B,S)."""
    longest = max(len(words) for words in lines) + 1
    factors = len(lines[0][0])
    ids = np.full((len(lines), longest, factors), EOS, np.int32)
    mask = np.zeros((len(lines), longest), np.float32)
    for row, words in enumerate(lines):
        ids[row, : len(words)] = words
        mask[row, : len(words) + 1] = 1
    return ids, mask


def _filter(
    reader: LineReader,
    writer: LineWriter,
    apart: LineWriter | None,
    translator: _Translator,
    options: TranslateOptions,
    plan: _Plan,
) -> None:
    """All lines of the input, in windows."""
    in_order, alignments_in_order = InOrder(), InOrder()
    progress = _Progress(options.quiet)

    def emit(number: int, texts: tuple[str, str]) -> None:
        writer.write(in_order.put(number, texts[0]))
        if apart:
            apart.write(alignments_in_order.put(number, texts[1]))

    start = 0
    for window in _windows(reader, plan):
        lines = [translator.words(line, start + i) for i, line in enumerate(window)]
        filled = []
        for i, words in enumerate(lines):
            if words:
                filled.append(i)
            else:
                emit(start + i, translator.empty(start + i))
        for batch in _batches([len(lines[i]) + 1 for i in filled], translator, options, plan):
            rows = [filled[i] for i in batch]
            numbers = [start + i for i in rows]
            for number, texts in zip(
                numbers, translator.batch(numbers, [lines[i] for i in rows]), strict=True
            ):
                emit(number, texts)
            progress.add(len(rows))
        start += len(window)
    progress.close()


def _windows(reader: LineReader, plan: _Plan) -> Iterator[list[str]]:
    """Lines to be sorted and batched together: growing windows, or Nematus-TF's maxi-batches."""
    if plan.search == "nematus-tf":  # whose batches are cut from whole maxi-batches
        return iter(lambda: reader.window(plan.mini_batch * plan.maxi_batch), [])
    return windows(reader, plan.mini_batch, plan.maxi_batch)


def _batches(
    lengths: Sequence[int], translator: _Translator, options: TranslateOptions, plan: _Plan
) -> list[list[int]]:
    if plan.search == "nematus-tf":  # whose lists depend on what shares a batch
        order = argsort(lengths)
        return [order[i : i + plan.mini_batch] for i in range(0, len(order), plan.mini_batch)]
    if options.maxi_batch_sort == "none":
        every = list(range(len(lengths)))
        return [every[i : i + plan.mini_batch] for i in range(0, len(every), plan.mini_batch)]
    return batches(lengths, plan.mini_batch, translator.max_tokens)


class _Progress:
    """A counter on standard error, at a terminal only."""

    def __init__(self, quiet: bool):
        self.shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self.lines, self.start, self.last = 0, time.monotonic(), 0.0

    def add(self, lines: int) -> None:
        self.lines += lines
        now = time.monotonic()
        if self.shown and now - self.last > 0.5:
            self.last = now
            rate = self.lines / (now - self.start)
            sys.stderr.write(f"\r{self.lines} lines, {rate:.1f} lines/s ")
            sys.stderr.flush()

    def close(self) -> None:
        if self.shown and self.last:
            sys.stderr.write("\n")

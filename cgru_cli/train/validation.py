"""How good a model in training is on a dev set: costs of its translations, and its own scored."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CgruError, UsageError, warn
from ..options.programs import PROGRAMS
from ..parameters.names import parameters
from ..parameters.structure import Structure
from ..system.atomic_files import atomic_write
from ..system.lines import LineReader, tokens
from ..system.windows import batches
from ..text.source_words import pad_ids, source_ids
from ..text.subwords import join_bpe
from ..text.vocabulary import Vocabulary
from .validation_script import Check, command_of, score_of

if TYPE_CHECKING:
    import tensorflow as tf

    from ..network.network import Network, SearchState
    from ..text.pipeline import Preprocessing

COSTS = ("cross-entropy", "ce-mean-words", "perplexity")  # by forced decoding; others translate
WORKSPACE = 2048  # MiB that a batch may take: as `cgru translate`
LOGITS = 1 << 26  # of a batch in forced decoding: 256 MiB, a few times over


@dataclass(frozen=True)
class ValidationSettings:
    """What is measured, and on what.

    metrics: of `patience.LOWER_IS_BETTER`; source, target: prepared as the training data is, words
    between spaces or raw text for `.spm`; reference: raw text for BLEU and chrF, else the target
    without its preparation; script: a command, called with a file of translations; output: a file
    for them, {E} and {U} in its name being epoch and update; beam_size, normalize: of the search,
    as `cgru translate -k -n`; mini_batch: sentences; max_length: words, more are cut.
    """

    metrics: tuple[str, ...]
    source: Path | None  # None of a language model
    target: Path
    reference: Path | None = None
    script: str | None = None
    output: str | None = None
    beam_size: int = 5
    normalize: float = 1.0
    mini_batch: int = 64
    max_length: int = 1000
    right_left: bool = False  # whether the model writes from the end

    @property
    def translates(self) -> bool:
        """Whether any metric needs translations."""
        return any(metric not in COSTS for metric in self.metrics)


class _Network:
    """A `Network` for the `Ensemble` whose arrays may change while what is traced stays.

    It is made ready anew inside each function: joining the matrices costs little beside
    multiplying by them, tracing anew every time costs seconds and memory that is never freed.
    """

    def __init__(self, structure: Structure, precision: str):
        import tensorflow as tf

        self.structure, self.precision = structure, precision
        self.variables = {
            row.name: tf.Variable(tf.zeros(row.size(structure)), trainable=False)
            for row in parameters(structure)
        }

    def assign(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take on other arrays, by their DL4MT/Nematus names."""
        for name, variable in self.variables.items():
            variable.assign(arrays[name])

    def ready(self) -> Network:
        from ..network.network import Network

        return Network(self.structure, self.variables, self.precision, packed=True)

    def encode(self, source: tf.Tensor, mask: tf.Tensor, *, search: bool) -> Any:
        return self.ready().encode(source, mask, search=search)

    def start(self, memory: Any) -> SearchState:
        return self.ready().start(memory)

    def step(
        self, state: SearchState, previous: tf.Tensor, memory: Any
    ) -> tuple[tf.Tensor, SearchState, tf.Tensor]:
        return self.ready().step(state, previous, memory)


class Validator:
    """A dev set, read once, that any weights of one structure are measured on.

    Raises CgruError where the files cannot be read, are empty, or differ in their number of lines,
    and where the script cannot be run; UsageError for settings that exclude each other.
    """

    def __init__(
        self,
        settings: ValidationSettings,
        structure: Structure,
        sources: Sequence[Vocabulary],
        target: Vocabulary,
        preprocessing: Preprocessing | None,
        precision: str,
    ):
        import tensorflow as tf

        from ..search.ensemble import Ensemble

        self.settings, self.structure = settings, structure
        self.target, self.preprocessing = target, preprocessing
        self.script = command_of(settings.script) if "translation" in settings.metrics else []
        if settings.output and not settings.translates:
            raise UsageError("--valid-translation-output needs a metric that translates, as bleu")
        source_lines, target_lines = _parallel(settings.source, settings.target)
        self._sources: list[list] = [[]] * len(target_lines)
        if settings.source:
            self._sources = self._encoded(
                settings.source,
                source_lines,
                lambda line: source_ids(sources[0].tokenize(line), sources),
            )
        self._targets = self._encoded(
            settings.target,
            target_lines,
            lambda line: self._turned(target.encode(target.tokenize(line))),
        )
        if settings.reference:
            _, self._references = _parallel(settings.source, settings.reference)
        else:
            self._references = [self._plain(" ".join(tokens(line))) for line in target_lines]
        self._network = _Network(structure, precision)
        self._decoder = Ensemble([self._network], [1.0])
        words, mask = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None])
        source = tf.TensorSpec([None, None, len(structure.source_embeddings)], tf.int32)
        self._costs = tf.function(
            self._costs_of, input_signature=(source, mask, words, mask), autograph=False
        )

    def run(
        self, arrays: Mapping[str, np.ndarray], epoch: int, update: int, check: Check
    ) -> dict[str, float]:
        """Every metric of these arrays (by their DL4MT/Nematus names), in the settings' order.

        Costs in nats, a sentence or a word with EOS counted; BLEU and chrF from 0 to 100. `check`
        is called between batches. Raises CgruError where the script fails or gives no number, or a
        file cannot be written.
        """
        self._network.assign(arrays)
        metrics = self.settings.metrics
        values: dict[str, float] = {}
        if any(metric in COSTS for metric in metrics):
            values = self._all_costs(check)
        if self.settings.translates:
            values |= self._scores(self._translations(check), epoch, update, check)
        return {metric: values[metric] for metric in metrics}

    def _translations(self, check: Check) -> list[str]:
        """The best translation of each line, as plain text; "" for an empty line."""
        from ..search.beam import shrinking_beam
        from ..search.hypotheses import SearchBatch, SearchSettings

        beam, limit = self.settings.beam_size, PROGRAMS["nematus"].limit
        how = SearchSettings(beam, self.settings.normalize, best_only=True)
        texts = [""] * len(self._sources)
        filled = [i for i, words in enumerate(self._sources) if words]
        from ..search.beam import max_tokens_of

        max_tokens = max_tokens_of(WORKSPACE, beam, [self.structure])
        sizes = [len(self._sources[i]) + 1 for i in filled]
        begun: list[int] = []

        def beginning() -> Iterator[SearchBatch]:
            for batch in batches(sizes, self.settings.mini_batch, max_tokens):
                check()
                rows = [filled[i] for i in batch]
                begun.extend(rows)
                lengths = [sizes[i] for i in batch]
                lattice = self._decoder.begin([self._padded_sources(rows)])
                yield SearchBatch(lattice, lengths, [limit(length) for length in lengths])

        for place, hypotheses in shrinking_beam(beginning(), how):
            if hypotheses:  # none where no number is finite
                words = self._turned(self.target.decode(hypotheses[0].words))
                texts[begun[place]] = self._plain(self.target.detokenize(words))
        return texts

    def _turned(self, words: list) -> list:
        """From the order of reading to that of writing, and back."""
        return words[::-1] if self.settings.right_left else words

    def _encoded(self, path: Path, lines: list[str], encode: Callable[[str], list]) -> list[list]:
        """Ids of each line, those of long ones cut."""
        longest, cut = self.settings.max_length, 0
        ids = []
        for number, line in enumerate(lines, 1):
            try:
                words = encode(line)
            except CgruError as error:
                raise CgruError(f"{path}: line {number}: {error}") from error
            cut += len(words) > longest
            ids.append(words[:longest])
        if cut:
            warn(f"{path}: {cut} lines were cut to {longest} words")
        return ids

    def _plain(self, text: str) -> str:
        """Text as people write it, out of text that a model wrote."""
        return self.preprocessing.undo(text, "target") if self.preprocessing else join_bpe(text)

    def _padded_sources(self, rows: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        factors = len(self.structure.source_embeddings)
        return pad_ids([self._sources[row] for row in rows], factors)

    def _costs_of(
        self, source: tf.Tensor, source_mask: tf.Tensor, target: tf.Tensor, mask: tf.Tensor
    ) -> tf.Tensor:
        """-log p of each sentence's target: (B,) nats."""
        import tensorflow as tf

        from ..network.scorer import score

        log_probs, _ = score(self._network.ready(), source, source_mask, target, mask)
        return -tf.reduce_sum(log_probs, axis=1)

    def _all_costs(self, check: Check) -> dict[str, float]:
        lengths = [
            max(map(len, pair)) + 1 for pair in zip(self._sources, self._targets, strict=True)
        ]
        max_tokens = max(1, LOGITS // self.structure.target_vocabulary)
        total = 0.0
        for rows in batches(lengths, self.settings.mini_batch, max_tokens):
            check()
            targets, mask = pad_ids([[(i,) for i in self._targets[row]] for row in rows])
            costs = self._costs(*self._padded_sources(rows), targets[..., 0], mask)
            total += float(np.sum(costs.numpy(), dtype=np.float64))
        mean = total / sum(len(words) + 1 for words in self._targets)
        return {
            "cross-entropy": total / len(self._targets),
            "ce-mean-words": mean,
            "perplexity": math.exp(mean) if mean < 700 else mean * math.inf,
        }

    def _scores(
        self, texts: Sequence[str], epoch: int, update: int, check: Check
    ) -> dict[str, float]:
        metrics = self.settings.metrics
        scores = {}
        if "bleu" in metrics or "chrf" in metrics:
            from sacrebleu.metrics import BLEU, CHRF

            # force: text without preprocessing is tokenised, which it would warn about
            for name, make in (("bleu", functools.partial(BLEU, force=True)), ("chrf", CHRF)):
                if name in metrics:
                    check()
                    scores[name] = make().corpus_score(texts, [self._references]).score
        with contextlib.ExitStack() as stack:
            output = self.settings.output
            if output:
                path = output.replace("{E}", str(epoch)).replace("{U}", str(update))
                _write(path, texts)
            if "translation" in metrics:
                if not output:
                    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cgru-"))
                    path = os.path.join(folder, "translations.txt")
                    _write(path, texts)
                scores["translation"] = score_of(self.script, path, check)
        return scores


def _parallel(source: Path | None, other: Path) -> tuple[list[str], list[str]]:
    """The lines of two files. Raises CgruError where they are not as many, or none."""
    theirs = _lines(other)
    if source is None:
        source, ours = other, theirs
    else:
        ours = _lines(source)
    if len(ours) != len(theirs):
        raise CgruError(
            f"{source} has {len(ours):,} lines and {other} {len(theirs):,}; line i of one must be "
            "the translation of line i of the other"
        )
    if not ours:
        raise CgruError(f"{source}: is empty; validation needs sentences")
    return ours, theirs


def _lines(path: Path) -> list[str]:
    with LineReader(path) as reader:
        return reader.rest()


def _write(path: str, texts: Sequence[str]) -> None:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CgruError(f"{path}: cannot be written: {error.strerror or error}") from error
    with atomic_write(path) as file:
        file.write("".join(f"{text}\n" for text in texts).encode("utf-8", errors="replace"))
